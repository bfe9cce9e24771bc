//! Text as the word filter compares it: what a reader sees, after NFKC, case folding, without combining marks and
//! unseen characters, and as the confusable skeleton of UTS 39. Runs of white space are one space.
//!
//! Each character folds by itself, so that pieces of a text fold to pieces of the whole, and what a character folds to
//! can be kept.

use std::sync::{LazyLock, OnceLock};

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};
use unicode_security::confusable_detection::skeleton;

use crate::unseen::is_unseen;

/// A character of the source begins at this byte.
const BEGINS: u8 = 1;
/// The byte belongs to a letter or digit of the source.
const IN_WORD: u8 = 2;

/// Folded text that remembers where its source's characters begin.
#[derive(Debug, Default)]
pub(crate) struct Folded {
    bytes: Vec<u8>,
    marks: Vec<u8>,
}

impl Folded {
    /// The folded form of plain text.
    pub(crate) fn of(text: &str) -> Self {
        let mut folded = Self::with_capacity(text.len());
        folded.push_text(text);
        folded
    }

    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes + bytes / 4), marks: Vec::with_capacity(bytes + bytes / 4) }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Removes the white space at both ends.
    pub(crate) fn trim(&mut self) {
        while self.bytes.last() == Some(&b' ') {
            self.bytes.pop();
            self.marks.pop();
        }
        if self.bytes.first() == Some(&b' ') {
            self.bytes.remove(0);
            self.marks.remove(0);
        }
    }

    /// Adds plain text.
    pub(crate) fn push_text(&mut self, text: &str) {
        for character in text.chars() {
            self.push(character);
        }
    }

    /// Adds one character.
    pub(crate) fn push(&mut self, character: char) {
        if let Some(Short { bytes, length, in_word }) = SHORT.get(character as usize) {
            if bytes[0] == b' ' {
                return self.push_space();
            }
            let mut begins = BEGINS;
            for byte in &bytes[..usize::from(*length)] {
                self.push_byte(*byte, begins | in_word);
                begins = 0;
            }
            return;
        }
        let (page, index) = page_of(character);
        let entry = page.entry(index);
        if entry == " " {
            return self.push_space();
        }
        let in_word = if character.is_alphanumeric() { IN_WORD } else { 0 };
        for (number, byte) in entry.bytes().enumerate() {
            self.push_byte(byte, in_word | if number == 0 { BEGINS } else { 0 });
        }
    }

    /// Adds the end of a line, or of a block.
    pub(crate) fn push_space(&mut self) {
        if self.bytes.last() != Some(&b' ') {
            self.push_byte(b' ', BEGINS);
        }
    }

    fn push_byte(&mut self, byte: u8, mark: u8) {
        self.bytes.push(byte);
        self.marks.push(mark);
    }

    /// Whether a stretch holds whole characters of the source.
    pub(crate) fn is_whole(&self, start: usize, end: usize) -> bool {
        self.has(start, BEGINS) && (end == self.bytes.len() || self.has(end, BEGINS))
    }

    /// Whether no letter or digit touches a stretch from outside.
    pub(crate) fn is_word(&self, start: usize, end: usize) -> bool {
        (start == 0 || !self.has(start - 1, IN_WORD)) && (end == self.bytes.len() || !self.has(end, IN_WORD))
    }

    fn has(&self, at: usize, mark: u8) -> bool {
        self.marks.get(at).is_some_and(|marks| marks & mark != 0)
    }
}

/// What an ASCII character folds to.
struct Short {
    bytes: [u8; SHORT_BYTES],
    length: u8,
    in_word: u8,
}

const SHORT_BYTES: usize = 8;

static SHORT: LazyLock<[Short; 128]> = LazyLock::new(|| {
    std::array::from_fn(|code| {
        let character = char::from(u8::try_from(code).unwrap_or(0));
        let folded = fold(character);
        let length = folded.len().min(SHORT_BYTES);
        let mut bytes = [0; SHORT_BYTES];
        bytes[..length].copy_from_slice(&folded.as_bytes()[..length]);
        let in_word = if character.is_alphanumeric() { IN_WORD } else { 0 };
        Short { bytes, length: u8::try_from(length).unwrap_or(0), in_word }
    })
});

const PAGE: usize = 256;

/// What 256 neighbouring characters fold to.
struct Page {
    ends: [u16; PAGE],
    text: String,
}

impl Page {
    fn entry(&self, index: usize) -> &str {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.text[usize::from(start)..usize::from(self.ends[index])]
    }
}

/// The page of a character, made when it is first met, and its place there.
fn page_of(character: char) -> (&'static Page, usize) {
    static PAGES: [OnceLock<Box<Page>>; 0x11_0000 / PAGE] = [const { OnceLock::new() }; 0x11_0000 / PAGE];
    let code = character as usize;
    let page = PAGES[code / PAGE].get_or_init(|| {
        let first = code / PAGE * PAGE;
        let mut page = Box::new(Page { ends: [0; PAGE], text: String::new() });
        for index in 0..PAGE {
            let character = u32::try_from(first + index).ok().and_then(char::from_u32);
            page.text.extend(character.map(fold));
            page.ends[index] = u16::try_from(page.text.len()).unwrap_or(u16::MAX);
        }
        page
    });
    (page, code % PAGE)
}

/// What one character folds to.
fn fold(character: char) -> String {
    if character.is_whitespace() {
        return " ".to_owned();
    }
    if is_unseen(character) || character.is_control() {
        return String::new();
    }
    let is_shown = |character: &char| !is_combining_mark(*character) && !is_unseen(*character);
    let cases = |character: char| character.to_uppercase().flat_map(char::to_lowercase);
    let folded: String = character.nfkd().filter(is_shown).flat_map(cases).nfkd().filter(is_shown).collect();
    skeleton(&folded).filter(is_shown).flat_map(cases).nfkd().filter(is_shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(text: &str) -> String {
        String::from_utf8(Folded::of(text).bytes).unwrap()
    }

    #[test]
    fn what_looks_alike_folds_alike() {
        for twin in [
            "SPAM",
            "ѕраm",
            "s\u{200b}p\u{200d}a\u{ad}m",
            "ｓｐａｍ",
            "𝐬𝐩𝐚𝐦",
            "spa\u{301}m",
            "śpàm",
            "ＳＰＡＭ",
            "spαm",
        ] {
            assert_eq!(fold(twin), fold("spam"), "{twin:?}");
        }
        assert_eq!(fold("Straße"), fold("STRASSE"));
        assert_eq!(fold("l0l"), fold("1Ol"));
        assert_eq!(fold("modern"), fold("rnodern"));
        assert_ne!(fold("spam"), fold("span"));
    }

    #[test]
    fn white_space_is_one_space() {
        assert_eq!(fold("a \u{a0}\t\r\n b"), "a b");
    }

    #[test]
    fn ascii_folds_to_few_bytes() {
        for code in 0..128_u8 {
            assert!(super::fold(char::from(code)).len() <= SHORT_BYTES, "{code}");
        }
    }

    #[test]
    fn every_page_holds_what_each_character_folds_to() {
        for character in (0x80..0x3_0000).step_by(37).filter_map(char::from_u32) {
            let (page, index) = page_of(character);
            assert_eq!(page.entry(index), super::fold(character), "{character:?}");
        }
    }
}
