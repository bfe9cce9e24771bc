//! Words as they are indexed and looked for: lower case, without accents, what is written without spaces sign by sign.

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

use crate::filter::visible::INLINE;

/// Characters of a word that count.
const LONGEST: usize = 64;
/// Words of a query that count.
const MOST: usize = 32;

/// A word: one sign after the other, most often only one.
pub(super) type Word = Vec<String>;

/// The words of a text.
pub(super) fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut is_within = false;
    let mut joins = false;
    for character in text.nfkd().filter(|character| !is_combining_mark(*character)).flat_map(char::to_lowercase) {
        if !character.is_alphanumeric() {
            is_within = false;
            continue;
        }
        if !is_within {
            words.push(Word::new());
            joins = false;
            is_within = true;
        }
        let Some(word) = words.last_mut() else { continue };
        let stands_alone = is_ideograph(character);
        match word.last_mut().filter(|_| joins && !stands_alone) {
            Some(token) if token.chars().count() < LONGEST => token.push(character),
            Some(_) => {}
            None => word.push(character.to_string()),
        }
        joins = !stands_alone;
    }
    words
}

/// The words that a query wants, each once.
pub(super) fn of_query(query: &str) -> Vec<Word> {
    let mut wanted: Vec<Word> = Vec::new();
    for word in words(query) {
        if wanted.len() < MOST && !wanted.contains(&word) {
            wanted.push(word);
        }
    }
    wanted
}

/// Whether words are written with such signs without spaces between them.
fn is_ideograph(character: char) -> bool {
    matches!(u32::from(character), 0x0e00..=0x0eff | 0x3040..=0x30ff | 0x3400..=0x9fff | 0xf900..=0xfaff | 0x20000..=0x3ffff)
}

/// The text of sanitised HTML.
pub(super) fn text_of_html(html: &str) -> String {
    let mut text = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        text.push_str(&rest[..at]);
        let mut is_quoted = false;
        let end = rest[at..].find(|character| {
            is_quoted ^= character == '"';
            character == '>' && !is_quoted
        });
        let Some(end) = end else { return unescape(&text) };
        let tag = &rest[at..at + end];
        let name = tag.trim_start_matches(['<', '/']).split(|c: char| !c.is_ascii_alphanumeric()).next();
        if !name.is_some_and(|name| INLINE.contains(&name)) {
            text.push(' ');
        }
        rest = &rest[at + end + 1..];
    }
    text.push_str(rest);
    unescape(&text)
}

fn unescape(text: &str) -> String {
    text.replace("&nbsp;", " ").replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(text: &str) -> Vec<String> {
        words(text).into_iter().map(|word| word.join("|")).collect()
    }

    #[test]
    fn words_are_folded_and_parted() {
        assert_eq!(joined("Räksmörgås, TEA-time! 42"), ["raksmorgas", "tea", "time", "42"]);
        assert_eq!(joined("世界 hello世"), ["世|界", "hello|世"]);
        assert_eq!(joined("\"' AND * : ()"), ["and"]);
        assert_eq!(joined(&"x".repeat(1000)), ["x".repeat(LONGEST)]);
    }

    #[test]
    fn markup_is_not_text() {
        let html = r#"b<strong>ol</strong>d<br>next<p>a &amp; b</p><a href="https://x/?a=>">link</a>"#;
        assert_eq!(joined(&text_of_html(html)), ["bold", "next", "a", "b", "link"]);
    }
}
