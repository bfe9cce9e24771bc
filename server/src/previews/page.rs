//! What the head of an HTML page says of it.

use std::cell::RefCell;

use html5ever::{
    buffer_queue::BufferQueue,
    tendril::StrTendril,
    tokenizer::{
        Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
        states::{RawKind, State},
    },
};
use parlour_protocol::object::{LinkPreview, LinkPreviewVideo};
use url::Url;

use super::address::AddressPolicy;

/// Most bytes of a stored preview.
pub(super) const MOST: usize = 8192;
/// Parts in which a page is read at most.
const PARTS: usize = 100;
/// Most addresses of a kind.
const ADDRESSES: usize = 3;

#[derive(Debug, Default)]
struct Facts {
    /// Of `meta`: name and content.
    named: Vec<(String, String)>,
    icons: Vec<String>,
    title: Option<String>,
    in_title: bool,
}

#[derive(Debug, Default)]
struct Head(RefCell<Facts>);

impl TokenSink for Head {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut facts = self.0.borrow_mut();
        match token {
            Token::TagToken(tag) => return tag_seen(&mut facts, &tag),
            Token::CharacterTokens(text) if facts.in_title => {
                facts.title.get_or_insert_default().push_str(&text);
            }
            _ => {}
        }
        TokenSinkResult::Continue
    }
}

fn tag_seen(facts: &mut Facts, tag: &Tag) -> TokenSinkResult<()> {
    let value = |name: &str| {
        tag.attrs.iter().find(|attribute| &*attribute.name.local == name).map(|attribute| attribute.value.to_string())
    };
    match (tag.kind, &*tag.name) {
        (TagKind::StartTag, "title") => {
            facts.in_title = facts.title.is_none();
            return TokenSinkResult::RawData(RawKind::Rcdata);
        }
        (TagKind::EndTag, "title") => facts.in_title = false,
        (TagKind::StartTag, "script") => return TokenSinkResult::RawData(RawKind::ScriptData),
        (TagKind::StartTag, "style" | "noscript" | "iframe" | "xmp") => {
            return TokenSinkResult::RawData(RawKind::Rawtext);
        }
        (TagKind::StartTag, "meta") if facts.named.len() < 200 => {
            if let (Some(name), Some(content)) = (value("property").or_else(|| value("name")), value("content")) {
                facts.named.push((name.to_ascii_lowercase(), content));
            }
        }
        (TagKind::StartTag, "link") if facts.icons.len() < ADDRESSES => {
            let rel = value("rel").unwrap_or_default().to_ascii_lowercase();
            if rel.split_ascii_whitespace().any(|rel| rel == "icon" || rel == "apple-touch-icon") {
                facts.icons.extend(value("href"));
            }
        }
        _ => {}
    }
    TokenSinkResult::Continue
}

/// Reads a page that was found at `url`; none when it says nothing of itself.
pub(super) fn read(html: &str, url: &Url, policy: &AddressPolicy) -> Option<LinkPreview> {
    let options = TokenizerOpts { initial_state: Some(State::Data), ..TokenizerOpts::default() };
    let tokenizer = Tokenizer::new(Head::default(), options);
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(html));
    // It stops where a page names its encoding.
    for _ in 0..PARTS {
        if input.is_empty() {
            break;
        }
        drop(tokenizer.feed(&input));
    }
    tokenizer.end();
    let facts = tokenizer.sink.0.take();
    let all = |names: &[&str]| -> Vec<&str> {
        let named = names.iter().flat_map(|name| facts.named.iter().filter(move |(found, _)| found == name));
        named.map(|(_, content)| content.trim()).filter(|content| !content.is_empty()).collect()
    };
    let first = |names: &[&str]| all(names).first().map(|content| (*content).to_owned());
    let addresses = |found: Vec<&str>| -> Vec<String> {
        let mut kept: Vec<String> = Vec::new();
        for address in found.into_iter().filter_map(|address| safe(address, url, policy)) {
            if kept.len() < ADDRESSES && !kept.contains(&address) {
                kept.push(address);
            }
        }
        kept
    };
    let title = first(&["og:title", "twitter:title"]).or(facts.title.clone()).unwrap_or_default();
    let images = addresses(all(&["og:image:secure_url", "og:image", "twitter:image"]));
    let title = cut(&title, 300);
    if title.is_empty() && images.is_empty() {
        return None;
    }
    let number = |name: &str| first(&[name]).and_then(|number| number.parse().ok()).unwrap_or(0);
    let video = addresses(all(&["og:video:secure_url", "og:video:url", "og:video"])).into_iter().next();
    let video = video.map(|url| LinkPreviewVideo {
        secure_url: if url.starts_with("https:") { url.clone() } else { String::new() },
        url,
        r#type: cut(&first(&["og:video:type"]).unwrap_or_default(), 100),
        width: number("og:video:width"),
        height: number("og:video:height"),
    });
    let mut favicons = addresses(facts.icons.iter().map(String::as_str).collect());
    if favicons.is_empty() {
        favicons.extend(safe("/favicon.ico", url, policy));
    }
    let mut preview = LinkPreview {
        url: url.to_string(),
        media_type: cut(&first(&["og:type"]).unwrap_or_else(|| "website".to_owned()), 100),
        content_type: "text/html".to_owned(),
        title,
        description: cut(&first(&["og:description", "twitter:description", "description"]).unwrap_or_default(), 1000),
        site_name: cut(&first(&["og:site_name"]).unwrap_or_default(), 100),
        images,
        favicons,
        videos: video.into_iter().collect(),
    };
    shorten(&mut preview);
    Some(preview)
}

/// Drops what is least missed until it fits.
fn shorten(preview: &mut LinkPreview) {
    while serde_json::to_vec(preview).map_or(0, |json| json.len()) > MOST {
        if preview.videos.pop().is_none() && preview.favicons.pop().is_none() && preview.images.pop().is_none() {
            preview.description = String::new();
            return;
        }
    }
}

/// An address that a reader's program may be told to load.
fn safe(address: &str, base: &Url, policy: &AddressPolicy) -> Option<String> {
    let address = base.join(address).ok().filter(|address| policy.allows_url(address))?.to_string();
    (address.len() <= 2048).then_some(address)
}

fn cut(text: &str, most: usize) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.chars().take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(html: &str) -> Option<LinkPreview> {
        read(html, &Url::parse("https://a.example/dir/page").unwrap(), &AddressPolicy::default())
    }

    #[test]
    fn a_page_says_what_it_is() {
        let preview = page(
            r#"<!doctype html><head><title> A &amp; B
               </title><script>var x = "<title>no</title><meta property='og:title' content='no'>"</script>
               <meta name=description content="plain"><meta property="og:description" content="better">
               <meta property="og:image" content="../pic.png"><meta property="og:image" content="http://127.0.0.1/x">
               <meta property="og:site_name" content="Site"><link rel="shortcut icon" href="/i.ico"></head>"#,
        );
        let preview = preview.unwrap();
        assert_eq!((preview.title.as_str(), preview.description.as_str()), ("A & B", "better"));
        assert_eq!(preview.images, ["https://a.example/pic.png"], "bl_122: nobody is told to load a private address");
        assert_eq!((preview.site_name.as_str(), &preview.favicons[0]), ("Site", &"https://a.example/i.ico".to_owned()));
        assert!(page("<p>nothing</p>").is_none());
    }

    #[test]
    fn a_preview_has_a_bound() {
        let long = "\u{1f375}".repeat(100_000);
        let html = format!(
            "<title>{long}</title><meta name=description content='{long}'><meta property=og:image content='/{}'>",
            "\"".repeat(100)
        );
        let preview = page(&html).unwrap();
        assert!(serde_json::to_vec(&preview).unwrap().len() <= MOST);
    }
}
