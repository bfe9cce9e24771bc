//! Bodies that nobody would write: whatever comes in, what is stored is harmless and says what it mentions.

use parlour_protocol::limits::MENTIONS_PER_MESSAGE;
use proptest::prelude::*;

use super::*;

const USER: &str = "0b6f2c1e-4a57-4d0e-9d3a-1f5f0c7a2e01";

/// Pieces of markup, of attacks and of text, to be put together in any way.
fn piece() -> impl Strategy<Value = String> {
    let known = [
        "<p>",
        "</p>",
        "<b>",
        "</b>",
        "<code>",
        "</code>",
        "<pre>",
        "</pre>",
        "<blockquote>",
        "</blockquote>",
        "<span>",
        "</span>",
        "<a href=\"https://example.org\">",
        "<a href=\"javascript:alert(1)\">",
        "</a>",
        "<table><tr><td>",
        "</td></tr></table>",
        "<ul><li>",
        "<img src=x onerror=alert(1)>",
        "<script>alert(1)</script>",
        "<style>",
        "<svg>",
        "<svg><script>",
        "<math><mtext>",
        "<iframe src=x>",
        "<template>",
        "<noscript>",
        "<textarea>",
        "</textarea>",
        "<span data-type=\"mention\" data-id=\"@everyone\">",
        "<span data-type=\"mention\" data-id=\"@here\">",
        "<span data-type=mention data-id=x>",
        "<span data-label='\" data-id=\"@everyone' data-type=\"mention\">",
        "<span data-label=\"a>b\">",
        "<code class=\"language-rust\">",
        "<code class=\"evil\">",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "<",
        ">",
        "&",
        "&lt;",
        "&#60;",
        "&#64;",
        "\"",
        "'",
        "=",
        "/",
        "\\",
        "`",
        "```\n",
        "~~~\n",
        "    ",
        "> ",
        "* ",
        "1. ",
        "**",
        "_",
        "~~",
        "[",
        "](",
        ")",
        "![",
        "\n",
        "\n\n",
        " ",
        "@everyone",
        "@here",
        "<:tea:",
        "| a | b |\n| - | - |\n",
    ];
    let mentions = [
        format!("<@{USER}>"),
        format!("<@&{USER}>"),
        format!("<:tea:{USER}>"),
        format!("<span data-type=\"mention\" data-id=\"{USER}\">"),
        format!("<span data-type=\"mention\" data-mention-type=\"role\" data-id=\"{USER}\">"),
    ];
    let known: Vec<String> = known.iter().map(|text| (*text).to_owned()).chain(mentions).collect();
    prop_oneof![4 => proptest::sample::select(known), 1 => any::<String>(), 1 => "[ -~]{0,8}"]
}

fn source() -> impl Strategy<Value = String> {
    proptest::collection::vec(piece(), 0..24).prop_map(|pieces| pieces.concat())
}

/// Holds a stored form to what a page relies on.
fn check(body: &Body) -> Result<(), TestCaseError> {
    let mut open = Vec::new();
    for piece in pieces(&body.html) {
        let Piece::Tag(tag) = piece else { continue };
        let name = tag.split(' ').next().unwrap();
        if let Some(name) = name.strip_prefix('/') {
            prop_assert_eq!(open.pop(), Some(name), "{}", &body.html);
            continue;
        }
        let is_allowed = !matches!(name, "script" | "style" | "img" | "svg" | "math" | "iframe" | "template" | "!--");
        prop_assert!(is_allowed, "{} in {}", name, &body.html);
        prop_assert!(!tag.contains(" on") || !tag.contains("onerror="), "{}", &body.html);
        if let Some(href) = attribute(tag, "href") {
            let is_known = ["http:", "https:", "mailto:", "tel:"]
                .iter()
                .any(|scheme| href.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
            prop_assert!(is_known, "{}", &body.html);
        }
        if !matches!(name, "br" | "hr" | "wbr") {
            open.push(name);
        }
    }
    prop_assert!(open.is_empty(), "{:?} stay open in {}", open, &body.html);
    let mut distinct: Vec<String> = body.mentions.iter().map(ToString::to_string).collect();
    distinct.sort_unstable();
    distinct.dedup();
    prop_assert_eq!(distinct.len(), body.mentions.len());
    prop_assert!(body.mentions.len() <= MENTIONS_PER_MESSAGE);
    for mention in &body.mentions {
        prop_assert!(body.html.contains(&format!("data-id=\"{mention}\"")), "{}", &body.html);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 512 }))]

    #[test]
    fn any_body_is_harmless(source in source()) {
        for format in [Format::Text, Format::Markdown, Format::Html] {
            for broadcasts in [Broadcasts::Allowed, Broadcasts::Text] {
                let Ok(body) = Body::render(&source, format, broadcasts) else { continue };
                if format == Format::Text {
                    prop_assert!(body.mentions.is_empty());
                }
                check(&body)?;
                let is_broadcast = |mention: &Mention| !matches!(mention, Mention::User(_));
                prop_assert!(broadcasts == Broadcasts::Allowed || !body.mentions.iter().any(is_broadcast));
            }
        }
    }

    #[test]
    fn a_copy_of_a_body_is_the_body(source in source()) {
        for format in [Format::Text, Format::Markdown, Format::Html] {
            let Ok(body) = Body::render(&source, format, Broadcasts::Allowed) else { continue };
            let copy = Body::copy(body.html.clone(), Broadcasts::Allowed);
            prop_assert_eq!(&copy.html, &body.html);
            prop_assert_eq!(copy.mentions, body.mentions);
        }
    }

    #[test]
    fn plain_text_keeps_every_character(source in "[^\r]*") {
        let body = Body::render(&source, Format::Text, Broadcasts::Allowed);
        let Ok(body) = body else { return Ok(()) };
        let text = body.html.replace("<br>", "\n").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        prop_assert_eq!(text, source);
    }

    #[test]
    fn what_is_escaped_or_code_mentions_nobody(
        before in "[a-z ]{0,6}",
        mention in proptest::sample::select(vec!["@everyone".to_owned(), "@here".to_owned(), format!("<@{USER}>")]),
        wrap in 0..5,
    ) {
        let source = match wrap {
            0 => format!("{before}`{mention}`"),
            1 => format!("{before}\n\n```\n{mention}\n```"),
            2 => format!("{before} \\{mention}"),
            3 => format!("{before}\n\n> {mention}"),
            _ => format!("{before}[{mention}](https://example.org)"),
        };
        let body = Body::render(&source, Format::Markdown, Broadcasts::Allowed).unwrap();
        prop_assert_eq!(body.mentions, Vec::new(), "{} became {}", source, body.html);
    }
}
