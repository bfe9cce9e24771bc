//! What a push says.

use std::collections::HashMap;

use parlour_protocol::object::Message;
use serde_json::{Map, Value, json};
use unicode_segmentation::UnicodeSegmentation;

use crate::{
    filter::visible::INLINE,
    messages::body::{Piece, pieces},
};

/// UTF-16 units of a body.
const BODY: usize = 100;
const DOTS: &str = "...";
/// The text of a message: its first paragraph, else all of it; a poll's question. Empty when there is none.
pub(super) fn text(message: &Message, names: &HashMap<String, String>) -> String {
    if let Some(poll) = &message.poll {
        return shorten(&poll.question);
    }
    let html = message.message.as_str();
    let paragraph = html.split_once("<p>").map(|(_, rest)| rest.split("</p>").next().unwrap_or_default());
    let first = paragraph.map(|paragraph| plain(paragraph, names)).filter(|text| !text.is_empty());
    shorten(&first.unwrap_or_else(|| plain(html, names)))
}

/// The text of sanitised HTML, with the names of those whom it mentions.
fn plain(html: &str, names: &HashMap<String, String>) -> String {
    let mut text = String::new();
    let mut is_skipped = false;
    for piece in pieces(html) {
        match piece {
            Piece::Tag(tag) => {
                let name = tag.trim_start_matches('/').split(' ').next().unwrap_or_default();
                if !INLINE.contains(&name) {
                    text.push(' ');
                }
                if tag == "/span" {
                    is_skipped = false;
                } else if let Some(id) = tag.split("data-id=\"").nth(1).and_then(|rest| rest.split('"').next())
                    && let Some(name) = names.get(id)
                {
                    text.push('@');
                    text.push_str(name);
                    is_skipped = true;
                }
            }
            Piece::Text(_) if is_skipped => {}
            Piece::Text(piece) => text.push_str(
                &piece
                    .replace("&nbsp;", " ")
                    .replace("&lt;", "<")
                    .replace("&gt;", ">")
                    .replace("&quot;", "\"")
                    .replace("&amp;", "&"),
            ),
        }
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// At most [`BODY`] units, cut between characters as people see them.
pub(super) fn shorten(text: &str) -> String {
    let text = text.trim();
    if text.encode_utf16().count() <= BODY {
        return text.to_owned();
    }
    let mut left = BODY - DOTS.len();
    let mut short = String::new();
    for cluster in text.graphemes(true) {
        let units = cluster.encode_utf16().count();
        if units > left {
            break;
        }
        left -= units;
        short.push_str(cluster);
    }
    short.truncate(short.trim_end().len());
    short + DOTS
}

/// The JSON of a push; what is empty is left out.
pub(super) fn payload(title: &str, body: &str, icon: &str, data: &[(&str, String)]) -> String {
    let data: Map<String, Value> = data
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| ((*name).to_owned(), json!(value)))
        .collect();
    let mut payload = Map::new();
    for (name, value) in [("title", title), ("body", body), ("icon", icon)] {
        if !value.is_empty() {
            payload.insert(name.to_owned(), json!(value));
        }
    }
    payload.insert("data".to_owned(), Value::Object(data));
    Value::Object(payload).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s_130_a_body_is_at_most_100_characters() {
        assert_eq!(shorten(&"å".repeat(100)), "å".repeat(100));
        assert_eq!(shorten(&"ö".repeat(101)), format!("{}...", "ö".repeat(97)));
        let families = "👨‍👩‍👧‍👦".repeat(20);
        let short = shorten(&families);
        assert!(short.encode_utf16().count() <= 100 && short.trim_end_matches("...").ends_with('👦'), "{short}");
    }

    #[test]
    fn s_130_markup_is_not_told_and_mentions_are_named() {
        let names = HashMap::from([("7".to_owned(), "Ada".to_owned())]);
        assert_eq!(plain("a <strong>b</strong>c<br>d &lt;x&gt; &amp;amp;", &names), "a bc d <x> &amp;");
        let html = r#"hej <span data-type="mention" data-id="7">@7</span>!"#;
        assert_eq!(plain(html, &names), "hej @Ada!");
    }
}
