//! The stored form of a body: sanitised HTML, its mentions, and whether a reader sees anything.

use std::{borrow::Cow, collections::HashSet, sync::LazyLock};

use parlour_protocol::{
    ProtocolError, UserId,
    limits::{MENTIONS_PER_MESSAGE, STORED_UNITS},
    operation::Format,
};
use pulldown_cmark::{CowStr, Event, Options, Parser, TextMergeStream, html};

/// A body as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Body {
    /// Sanitised HTML.
    pub(crate) html: String,
    /// Distinct mentioned ids in the order of the text.
    pub(crate) mentions: Vec<String>,
}

impl Body {
    /// Renders what a member sent.
    ///
    /// # Errors
    /// `bad_request` when the stored form is longer than [`STORED_UNITS`] UTF-16 units.
    pub(crate) fn render(source: &str, format: Format) -> Result<Self, ProtocolError> {
        let html = match format {
            Format::Text => escape(source).into_owned(),
            Format::Markdown => SANITISER.clean(&markdown_to_html(source)).to_string(),
            Format::Html => SANITISER.clean(source).to_string(),
        };
        // A text of so many bytes cannot have more UTF-16 units.
        if html.len() > STORED_UNITS && html.encode_utf16().count() > STORED_UNITS {
            let reason = format!("is longer than {STORED_UNITS} UTF-16 units once stored");
            return Err(ProtocolError::bad_field("/message", reason));
        }
        let mentions = if format == Format::Text { Vec::new() } else { mentions_of(&html) };
        Ok(Self { html, mentions })
    }

    /// Whether a reader sees nothing of it.
    pub(crate) fn is_blank(&self) -> bool {
        is_blank(&self.html)
    }
}

/// Escapes plain text and keeps its line breaks.
fn escape(text: &str) -> Cow<'_, str> {
    if !text.bytes().any(|byte| matches!(byte, b'&' | b'<' | b'>' | b'\n' | b'\r')) {
        return Cow::Borrowed(text);
    }
    let mut html = String::with_capacity(text.len() + 16);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '\r' => {
                characters.next_if_eq(&'\n');
                html.push_str("<br>");
            }
            '\n' => html.push_str("<br>"),
            other => html.push(other),
        }
    }
    Cow::Owned(html)
}

/// CommonMark without raw HTML, with mentions and custom emoji in running text.
fn markdown_to_html(source: &str) -> String {
    let events = TextMergeStream::new(Parser::new_ext(source, Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES));
    let mut is_code = false;
    let events = events.map(|event| match event {
        Event::Start(pulldown_cmark::Tag::CodeBlock(kind)) => {
            is_code = true;
            Event::Start(pulldown_cmark::Tag::CodeBlock(kind))
        }
        Event::End(pulldown_cmark::TagEnd::CodeBlock) => {
            is_code = false;
            Event::End(pulldown_cmark::TagEnd::CodeBlock)
        }
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Text(text) if !is_code => match mark_mentions(&text) {
            Cow::Borrowed(_) => Event::Text(text),
            Cow::Owned(html) => Event::InlineHtml(CowStr::from(html)),
        },
        other => other,
    });
    let mut rendered = String::with_capacity(source.len() * 3 / 2);
    html::push_html(&mut rendered, events);
    rendered.truncate(rendered.trim_end().len());
    rendered
}

/// Turns `<@id>`, `<@&id>`, `@everyone`, `@here` and `<:name:id>` in plain text into spans.
fn mark_mentions(text: &str) -> Cow<'_, str> {
    if !text.contains(['@', '<']) {
        return Cow::Borrowed(text);
    }
    let mut html = String::new();
    let mut rest = text;
    let mut before = ' ';
    let mut found = false;
    while let Some(character) = rest.chars().next() {
        if let Some((span, length)) = mention_at(rest, before) {
            html.push_str(&span);
            rest = &rest[length..];
            before = '>';
            found = true;
        } else {
            html.push_str(&escape(&rest[..character.len_utf8()]));
            rest = &rest[character.len_utf8()..];
            before = character;
        }
    }
    if found { Cow::Owned(html) } else { Cow::Borrowed(text) }
}

/// The span of a mention that `text` begins with, and how much of the text it stands for.
fn mention_at(text: &str, before: char) -> Option<(String, usize)> {
    for broadcast in ["@everyone", "@here"] {
        let follows = |rest: &str| rest.chars().next().is_none_or(|next| !next.is_alphanumeric() && next != '_');
        if !before.is_alphanumeric() && text.strip_prefix(broadcast).is_some_and(follows) {
            let span = format!(r#"<span data-type="mention" data-id="{broadcast}">{broadcast}</span>"#);
            return Some((span, broadcast.len()));
        }
    }
    let inner = text.strip_prefix('<')?.split_once('>')?.0;
    let length = inner.len() + 2;
    if let Some(id) = inner.strip_prefix("@&").filter(|id| is_id(id)) {
        let span = format!(r#"<span data-type="mention" data-mention-type="role" data-id="{id}">@{id}</span>"#);
        return Some((span, length));
    }
    if let Some(id) = inner.strip_prefix('@').filter(|id| is_id(id)) {
        let span = format!(r#"<span data-type="mention" data-mention-type="user" data-id="{id}">@{id}</span>"#);
        return Some((span, length));
    }
    let (name, id) = inner.strip_prefix(':')?.split_once(':')?;
    let named = name.parse::<parlour_protocol::operation::EmojiName>().is_ok();
    (named && is_id(id)).then(|| {
        let attributes = format!(r#"data-custom-emoji-id="{id}" data-custom-emoji-name="{name}""#);
        (format!("<span {attributes}>:{name}:</span>"), length)
    })
}

fn is_id(text: &str) -> bool {
    text.parse::<UserId>().is_ok()
}

/// The ids of the mention spans in sanitised HTML, whose form is the serialiser's: lower-case names, attributes in
/// double quotes.
fn mentions_of(html: &str) -> Vec<String> {
    let mut mentions = Vec::new();
    let mut seen = HashSet::new();
    for tag in html.split("<span").skip(1) {
        let tag = tag.split('>').next().unwrap_or_default();
        if attribute(tag, "data-type") != Some("mention") {
            continue;
        }
        let Some(id) = attribute(tag, "data-id") else { continue };
        let known = id == "@everyone" || id == "@here" || is_id(id);
        if known && mentions.len() < MENTIONS_PER_MESSAGE && seen.insert(id) {
            mentions.push(id.to_owned());
        }
    }
    mentions
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let start = tag.find(&format!(" {name}=\""))? + name.len() + 3;
    tag[start..].split('"').next()
}

fn is_blank(html: &str) -> bool {
    let mut is_tag = false;
    let text: String = html
        .chars()
        .filter(|character| match character {
            '<' => {
                is_tag = true;
                false
            }
            '>' if is_tag => {
                is_tag = false;
                false
            }
            _ => !is_tag,
        })
        .take(64)
        .collect();
    text.replace("&nbsp;", " ").chars().all(|character| character.is_whitespace() || is_invisible(character))
}

/// Characters that leave nothing on the screen.
fn is_invisible(character: char) -> bool {
    matches!(character, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

static SANITISER: LazyLock<ammonia::Builder<'static>> = LazyLock::new(|| {
    let mut sanitiser = ammonia::Builder::empty();
    sanitiser
        .add_tags([
            "a",
            "abbr",
            "b",
            "bdi",
            "bdo",
            "blockquote",
            "br",
            "cite",
            "code",
            "dd",
            "del",
            "dfn",
            "div",
            "dl",
            "dt",
            "em",
            "figcaption",
            "figure",
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
            "hr",
            "i",
            "ins",
            "kbd",
            "li",
            "mark",
            "ol",
            "p",
            "pre",
            "q",
            "s",
            "samp",
            "small",
            "span",
            "strong",
            "sub",
            "sup",
            "table",
            "tbody",
            "td",
            "tfoot",
            "th",
            "thead",
            "tr",
            "u",
            "ul",
            "var",
            "wbr",
        ])
        .rm_clean_content_tags::<&str, _>([])
        .add_clean_content_tags(["script", "style", "textarea", "option", "noscript", "title", "iframe", "template"])
        .add_url_schemes(["http", "https", "mailto", "tel"])
        .url_relative(ammonia::UrlRelative::Deny)
        .add_tag_attributes("a", ["href"])
        .add_tag_attributes("code", ["class"])
        .add_tag_attributes("ol", ["start"])
        .add_tag_attributes(
            "span",
            [
                "data-type",
                "data-id",
                "data-label",
                "data-mention-type",
                "data-custom-emoji-id",
                "data-custom-emoji-name",
            ],
        )
        .link_rel(Some("noopener noreferrer nofollow"))
        .attribute_filter(|element, attribute, value| match (element, attribute) {
            // Only what a highlighter needs; a class of the page's own style sheet would be a disguise.
            ("code", "class") => value.starts_with("language-").then_some(value.into()),
            _ => Some(value.into()),
        });
    sanitiser
});

#[cfg(test)]
mod tests {
    use super::*;

    fn render(source: &str, format: Format) -> Body {
        Body::render(source, format).expect("the body is short")
    }

    #[test]
    fn plain_text_is_shown_as_typed() {
        let body = render("hello <all> & @everyone\r\nsecond\nthird **bold**", Format::Text);
        assert_eq!(body.html, "hello &lt;all&gt; &amp; @everyone<br>second<br>third **bold**");
        assert!(body.mentions.is_empty());
    }

    #[test]
    fn markdown_has_no_raw_html() {
        let body = render("**bold** <b onclick=x>raw</b>\n\n<script>alert(1)</script>", Format::Markdown);
        assert!(body.html.contains("<strong>bold</strong>"), "{}", body.html);
        assert!(!body.html.contains("<b") && !body.html.contains("<script"), "{}", body.html);
        assert!(body.html.contains("&lt;script&gt;"), "{}", body.html);
    }

    #[test]
    fn markdown_mentions_become_spans_outside_of_code() {
        let id = "0b6f2c1e-4a57-4d0e-9d3a-1f5f0c7a2e01";
        let body = render(&format!("hi <@{id}>, `<@{id}>` and\n\n```\n@everyone\n```\n@here"), Format::Markdown);
        assert_eq!(body.mentions, [id, "@here"]);
    }

    #[test]
    fn scripts_handlers_and_foreign_schemes_are_removed() {
        let source = r#"<p onclick="x()">a<script>alert(1)</script><a href="javascript:x()">b</a><img src=x onerror=y><style>p{}</style></p>"#;
        let body = render(source, Format::Html);
        assert_eq!(body.html, r#"<p>a<a rel="noopener noreferrer nofollow">b</a></p>"#);
    }

    #[test]
    fn a_body_without_visible_text_is_blank() {
        for source in ["", " \n ", "\u{200b}\u{feff}", "&nbsp;"] {
            assert!(Body::render(source, Format::Html).expect("short").is_blank(), "{source:?}");
        }
        assert!(render("<p><br></p><script>x</script>", Format::Html).is_blank());
        assert!(!render("&nbsp;", Format::Text).is_blank());
        assert!(!render("a", Format::Text).is_blank());
    }

    #[test]
    fn the_stored_form_is_bounded() {
        assert!(Body::render(&"<".repeat(7500), Format::Text).is_ok());
        let error = Body::render(&"<".repeat(7501), Format::Text).expect_err("four units each");
        assert_eq!(error.field.as_deref(), Some("/message"));
    }
}
