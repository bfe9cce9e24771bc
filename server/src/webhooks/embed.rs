//! Discord's embeds, as Markdown: a quotation below the text.

use parlour_protocol::{Int, List, Text, Timestamp};
use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(super) struct Embed {
    title: Option<Text<0, 256>>,
    description: Option<Text<0, 4096>>,
    url: Option<Text<0, 2048>>,
    /// Checked; messages have no colours.
    #[serde(rename = "color")]
    _color: Option<Int<0, 16_777_215>>,
    timestamp: Option<Timestamp>,
    footer: Option<Footer>,
    author: Option<Author>,
    fields: Option<List<Field, 0, 25>>,
    image: Option<Picture>,
    thumbnail: Option<Picture>,
}

#[derive(Debug, Deserialize)]
struct Footer {
    text: Option<Text<0, 2048>>,
}

#[derive(Debug, Deserialize)]
struct Author {
    name: Option<Text<0, 256>>,
}

#[derive(Debug, Deserialize)]
struct Field {
    name: Text<1, 256>,
    value: Text<1, 1024>,
}

#[derive(Debug, Deserialize)]
struct Picture {
    url: Option<Text<0, 2048>>,
}

/// An embed as Markdown; empty when nothing of it can be shown.
pub(super) fn render(embed: &Embed) -> String {
    let mut parts = Vec::new();
    if let Some(name) = embed.author.as_ref().and_then(|author| author.name.as_deref()) {
        parts.push(plain(name));
    }
    let address = embed.url.as_deref().and_then(link);
    match (embed.title.as_deref().map(plain).filter(|title| !title.is_empty()), address) {
        (Some(title), Some(address)) => parts.push(format!("**[{title}]({address})**")),
        (Some(title), None) => parts.push(format!("**{title}**")),
        (None, Some(address)) => parts.push(address),
        (None, None) => {}
    }
    parts.extend(embed.description.as_deref().map(str::to_owned));
    for field in embed.fields.iter().flat_map(|fields| fields.iter()) {
        parts.push(format!("**{}**  \n{}", plain(&field.name), field.value.as_str()));
    }
    for picture in [&embed.image, &embed.thumbnail].into_iter().flatten() {
        if let Some(address) = picture.url.as_deref().and_then(link) {
            parts.push(format!("[image]({address})"));
        }
    }
    let footer = embed.footer.as_ref().and_then(|footer| footer.text.as_deref()).map(plain);
    let last: Vec<String> = footer.into_iter().chain(embed.timestamp.map(|time| time.to_string())).collect();
    parts.push(last.join(" · "));
    parts.retain(|part| !part.trim().is_empty());
    let lines = parts.join("\n\n");
    lines.lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n")
}

/// Text in which nothing has a meaning, on one line.
fn plain(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.trim().chars() {
        match character {
            '\n' | '\r' => escaped.push(' '),
            punctuation if punctuation.is_ascii_punctuation() => escaped.extend(['\\', punctuation]),
            other => escaped.push(other),
        }
    }
    escaped
}

/// An address in the form that Markdown takes between angle brackets.
fn link(address: &str) -> Option<String> {
    let address = url::Url::parse(address).ok().filter(|address| matches!(address.scheme(), "http" | "https"))?;
    let address = address.to_string();
    (!address.contains(['<', '>', '\n'])).then(|| format!("<{address}>"))
}
