//! The stored form of a body: sanitised HTML, its mentions, and whether a reader sees anything.

use std::{borrow::Cow, collections::HashSet, sync::LazyLock};

use parlour_protocol::{
    ProtocolError, RoleId, UserId,
    limits::{MENTIONS_PER_MESSAGE, STORED_UNITS},
    operation::Format,
};
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use crate::store::Mention;

/// A body as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Body {
    /// Sanitised HTML.
    pub(crate) html: String,
    /// Distinct mentions in the order of the text.
    pub(crate) mentions: Vec<Mention>,
}

/// What an author's mentions of roles, of everyone and of who is here are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broadcasts {
    /// Mentions.
    Allowed,
    /// Text like any other.
    Text,
}

impl Body {
    /// Renders what was sent.
    ///
    /// # Errors
    /// `bad_request` when the stored form is longer than [`STORED_UNITS`] UTF-16 units.
    pub(crate) fn render(source: &str, format: Format, broadcasts: Broadcasts) -> Result<Self, ProtocolError> {
        let body = match format {
            Format::Text => Self { html: escape(source).into_owned(), mentions: Vec::new() },
            Format::Markdown => find_mentions(SANITISER.clean(&markdown_to_html(source)).to_string(), broadcasts),
            Format::Html => find_mentions(SANITISER.clean(source).to_string(), broadcasts),
        };
        // A text of so many bytes cannot have more UTF-16 units.
        if body.html.len() > STORED_UNITS && body.html.encode_utf16().count() > STORED_UNITS {
            let reason = format!("is longer than {STORED_UNITS} UTF-16 units once stored");
            return Err(ProtocolError::bad_field("/message", reason));
        }
        Ok(body)
    }

    /// The stored form of another message, with the mentions that are this author's to make.
    pub(crate) fn copy(html: String, broadcasts: Broadcasts) -> Self {
        find_mentions(html, broadcasts)
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
    let mut events = Vec::new();
    let mut run = Run::default();
    let mut is_code = false;
    let parser = Parser::new_ext(source, Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES);
    for (event, range) in parser.into_offset_iter() {
        match event {
            Event::Text(piece) if !is_code => {
                run.push(&piece, source, range);
                continue;
            }
            Event::Start(Tag::CodeBlock(_)) => is_code = true,
            Event::End(TagEnd::CodeBlock) => is_code = false,
            _ => {}
        }
        events.extend(run.take());
        events.push(match event {
            Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
            other => other,
        });
    }
    events.extend(run.take());
    let mut rendered = String::with_capacity(source.len() * 3 / 2);
    html::push_html(&mut rendered, events.into_iter());
    rendered.truncate(rendered.trim_end().len());
    rendered
}

/// Pieces of text without anything between them.
#[derive(Default)]
struct Run {
    text: String,
    /// Where characters stand that were escaped, or written as an entity: they begin nothing.
    literal: Vec<usize>,
    /// Where the last piece ends in the source.
    end: usize,
}

impl Run {
    fn push(&mut self, piece: &str, source: &str, range: std::ops::Range<usize>) {
        let is_escaped = self.end != range.start && source[..range.start].ends_with('\\');
        if is_escaped || source[range.clone()] != *piece {
            self.literal.push(self.text.len());
        }
        self.text.push_str(piece);
        self.end = range.end;
    }

    fn take(&mut self) -> Option<Event<'static>> {
        let Self { text, literal, .. } = std::mem::take(self);
        if text.is_empty() {
            return None;
        }
        Some(match mark_mentions(&text, &literal) {
            Some(html) => Event::InlineHtml(CowStr::from(html)),
            None => Event::Text(CowStr::from(text)),
        })
    }
}

/// Turns `<@id>`, `<@&id>`, `@everyone`, `@here` and `<:name:id>` in plain text into spans; none when there are none.
fn mark_mentions(text: &str, literal: &[usize]) -> Option<String> {
    if !text.contains(['@', '<']) {
        return None;
    }
    let mut html = String::new();
    let mut at = 0;
    let mut before = ' ';
    let mut found = false;
    while let Some(character) = text[at..].chars().next() {
        let mention = mention_at(&text[at..], before);
        let mention = mention.filter(|(_, length)| !literal.iter().any(|literal| (at..at + length).contains(literal)));
        if let Some((span, length)) = mention {
            html.push_str(&span);
            at += length;
            before = '>';
            found = true;
        } else {
            let end = at + character.len_utf8();
            html.push_str(&escape(&text[at..end]));
            at = end;
            before = character;
        }
    }
    found.then_some(html)
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

/// A piece of sanitised HTML, whose form is the serialiser's: lower-case names, attributes in double quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// What stands between `<` and `>`.
    Tag(&'a str),
    /// Text with its entities.
    Text(&'a str),
}

/// Takes sanitised HTML to pieces.
pub(crate) fn pieces(html: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = html;
    std::iter::from_fn(move || {
        let Some(inner) = rest.strip_prefix('<') else {
            let text = &rest[..rest.find('<').unwrap_or(rest.len())];
            rest = &rest[text.len()..];
            return (!text.is_empty()).then_some(Piece::Text(text));
        };
        let mut is_quoted = false;
        let end = inner.find(|character| {
            is_quoted ^= character == '"';
            character == '>' && !is_quoted
        });
        let tag = &inner[..end.unwrap_or(inner.len())];
        rest = inner.get(tag.len() + 1..).unwrap_or_default();
        Some(Piece::Tag(tag))
    })
}

/// Finds the mentions of sanitised HTML. What only looks like one, because it stands in code, in a link or in a
/// quotation, or is not the author's to make, becomes text.
fn find_mentions(html: String, broadcasts: Broadcasts) -> Body {
    if !html.contains("data-type") {
        return Body { html, mentions: Vec::new() };
    }
    let mut mentions = Vec::new();
    let mut seen = HashSet::new();
    let mut rendered = String::with_capacity(html.len());
    // Elements in which nothing is a mention, and for each open span whether it is left out.
    let mut sheltered = 0_usize;
    let mut spans = Vec::new();
    for piece in pieces(&html) {
        let Piece::Tag(tag) = piece else {
            let (Piece::Text(text) | Piece::Tag(text)) = piece;
            rendered.push_str(text);
            continue;
        };
        let name = tag.split(' ').next().unwrap_or_default();
        match name {
            "a" | "blockquote" | "code" | "kbd" | "pre" | "q" | "samp" => sheltered += 1,
            "/a" | "/blockquote" | "/code" | "/kbd" | "/pre" | "/q" | "/samp" => {
                sheltered = sheltered.saturating_sub(1)
            }
            "/span" if spans.pop() == Some(true) => continue,
            "span" => {
                let is_meant = attribute(tag, "data-type") == Some("mention");
                let mention = mention_of(tag, broadcasts).filter(|_| sheltered == 0);
                spans.push(is_meant && mention.is_none());
                match mention {
                    Some(mention) if mentions.len() < MENTIONS_PER_MESSAGE && seen.insert(mention.to_string()) => {
                        mentions.push(mention);
                    }
                    None if is_meant => continue,
                    Some(_) | None => {}
                }
            }
            _ => {}
        }
        rendered.push('<');
        rendered.push_str(tag);
        rendered.push('>');
    }
    Body { html: rendered, mentions }
}

/// The mention that a span's tag makes.
fn mention_of(tag: &str, broadcasts: Broadcasts) -> Option<Mention> {
    if attribute(tag, "data-type") != Some("mention") {
        return None;
    }
    let id = attribute(tag, "data-id")?;
    let mention = match id {
        "@everyone" => Mention::Everyone,
        "@here" => Mention::Here,
        id if attribute(tag, "data-mention-type") == Some("role") => Mention::Role(id.parse::<RoleId>().ok()?),
        id => return id.parse().ok().map(Mention::User),
    };
    (broadcasts == Broadcasts::Allowed).then_some(mention)
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let start = tag.find(&format!(" {name}=\""))? + name.len() + 3;
    tag[start..].split('"').next()
}

fn is_blank(html: &str) -> bool {
    pieces(html).all(|piece| match piece {
        Piece::Tag(_) => true,
        Piece::Text(text) => {
            let text = text.replace("&nbsp;", " ");
            text.chars().all(|character| character.is_whitespace() || is_invisible(character))
        }
    })
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
mod fuzz;

#[cfg(test)]
mod tests {
    use super::*;

    fn render(source: &str, format: Format) -> Body {
        Body::render(source, format, Broadcasts::Allowed).expect("the body is short")
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
        assert_eq!(body.mentions, [Mention::User(id.parse().unwrap()), Mention::Here]);
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
            assert!(Body::render(source, Format::Html, Broadcasts::Allowed).expect("short").is_blank(), "{source:?}");
        }
        assert!(render("<p><br></p><script>x</script>", Format::Html).is_blank());
        assert!(!render("&nbsp;", Format::Text).is_blank());
        assert!(!render("a", Format::Text).is_blank());
    }

    #[test]
    fn the_stored_form_is_bounded() {
        assert!(Body::render(&"<".repeat(7500), Format::Text, Broadcasts::Text).is_ok());
        let error = Body::render(&"<".repeat(7501), Format::Text, Broadcasts::Text).expect_err("four units each");
        assert_eq!(error.field.as_deref(), Some("/message"));
    }
}
