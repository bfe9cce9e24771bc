//! What a reader sees of a body: its text without markup, blocks apart from each other.

use super::fold::{Folded, Marks};

/// Text that somebody wrote, as it is stored.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shown<'a> {
    /// Sanitised HTML.
    Html(&'a str),
    /// Plain text: a poll's question or label.
    Plain(&'a str),
}

/// Elements that stand within a line: a word may go across their borders.
pub(crate) const INLINE: &[&str] = &[
    "a", "abbr", "b", "bdi", "bdo", "cite", "code", "del", "dfn", "em", "i", "ins", "kbd", "mark", "q", "s", "samp",
    "small", "span", "strong", "sub", "sup", "u", "var", "wbr",
];

/// The entities that the sanitiser writes.
const ENTITIES: &[(&str, char)] = &[("&amp;", '&'), ("&lt;", '<'), ("&gt;", '>'), ("&quot;", '"'), ("&nbsp;", ' ')];

impl Shown<'_> {
    /// Its folded text.
    pub(crate) fn fold(self, marks: Marks) -> Folded {
        match self {
            Self::Plain(text) => {
                let mut folded = Folded::with_capacity(text.len(), marks);
                folded.push_text(text);
                folded
            }
            Self::Html(html) => fold_html(html, marks),
        }
    }
}

fn fold_html(html: &str, marks: Marks) -> Folded {
    let mut folded = Folded::with_capacity(html.len(), marks);
    let mut rest = html;
    while let Some(at) = rest.find(['<', '&']) {
        folded.push_text(&rest[..at]);
        rest = &rest[at..];
        if rest.starts_with('<') {
            let tag = tag(rest);
            if !INLINE.contains(&name(tag)) {
                folded.push_space();
            }
            rest = &rest[tag.len()..];
        } else if let Some((entity, character)) = ENTITIES.iter().find(|(entity, _)| rest.starts_with(entity)) {
            folded.push(*character);
            rest = &rest[entity.len()..];
        } else {
            folded.push('&');
            rest = &rest[1..];
        }
    }
    folded.push_text(rest);
    folded
}

/// The tag that a text begins with: up to the first `>` outside of quotes.
fn tag(text: &str) -> &str {
    let mut is_quoted = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'>' if !is_quoted => return &text[..=at],
            _ => {}
        }
    }
    text
}

fn name(tag: &str) -> &str {
    let tag = tag.trim_start_matches(['<', '/']);
    let end = tag.find(|character: char| !character.is_ascii_alphanumeric()).unwrap_or(tag.len());
    &tag[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(html: &str) -> String {
        String::from_utf8(Shown::Html(html).fold(Marks::Left).as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn markup_within_a_line_parts_nothing_and_blocks_do() {
        assert_eq!(shown("b<strong>a</strong>d"), "bad");
        assert_eq!(shown(r#"b<a href="https://x/?a=>">a</a>d"#), "bad");
        assert_eq!(shown("ba<br>d<p>x</p><p>y</p>"), "ba d x y ");
        assert_eq!(shown("<ul><li>b</li><li>ad</li></ul>"), " b ad ");
    }

    #[test]
    fn attributes_are_not_seen_and_entities_are_what_they_stand_for() {
        assert_eq!(shown(r#"<span data-id="bad" data-label="bad">x</span>"#), "x");
        assert_eq!(shown("a &lt;b&gt; &amp;amp; c&nbsp;d &x"), "a <b> &arnp; c d &x");
        assert_eq!(shown("unclosed <b"), "unclosed ");
    }
}
