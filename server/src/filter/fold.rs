//! Text as the word filter compares it: what a reader sees, after NFKC, case folding, without combining marks and
//! unseen characters, and as the confusable skeleton of UTS 39. Runs of white space are one space.
//!
//! Each character folds by itself, so that pieces of a text fold to pieces of the whole, and what a character folds to
//! can be kept.

use std::sync::OnceLock;

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};
use unicode_security::confusable_detection::skeleton;

use crate::unseen::is_unseen;

/// A character of the source begins at this byte.
const BEGINS: u8 = 1;
/// The byte belongs to a letter or digit of the source.
const IN_WORD: u8 = 2;

/// Whether folded text remembers where its source's characters begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Marks {
    /// Enough to see that nothing matches, which is most often so.
    Left,
    Kept,
}

/// Folded text.
#[derive(Debug)]
pub(crate) struct Folded {
    bytes: Vec<u8>,
    /// One for each byte, when they are kept.
    marks: Vec<u8>,
    kept: Marks,
}

impl Folded {
    /// Room for the folded form of a text of so many bytes.
    pub(crate) fn with_capacity(bytes: usize, kept: Marks) -> Self {
        let marks = if kept == Marks::Kept { Vec::with_capacity(bytes + bytes / 4) } else { Vec::new() };
        Self { bytes: Vec::with_capacity(bytes + bytes / 4), marks, kept }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Adds plain text.
    pub(crate) fn push_text(&mut self, text: &str) {
        let first = page(0);
        for character in text.chars() {
            if character.is_ascii() {
                self.push_from(first, character);
            } else {
                self.push(character);
            }
        }
    }

    /// Adds one character.
    pub(crate) fn push(&mut self, character: char) {
        self.push_from(page(character as usize / PAGE), character);
    }

    #[inline]
    fn push_from(&mut self, page: &Page, character: char) {
        let entry = &page.entries[character as usize % PAGE];
        match entry.length {
            0 => {}
            1 if entry.bytes[0] == b' ' => self.push_space(),
            1 => self.push_byte(entry.bytes[0], BEGINS | entry.in_word),
            2..=SHORT => self.push_bytes(&entry.bytes[..usize::from(entry.length)], entry.in_word),
            _ => self.push_bytes(fold(character).as_bytes(), entry.in_word),
        }
    }

    /// Adds the end of a line, or of a block.
    pub(crate) fn push_space(&mut self) {
        if self.bytes.last() != Some(&b' ') {
            self.push_byte(b' ', BEGINS);
        }
    }

    fn push_bytes(&mut self, bytes: &[u8], in_word: u8) {
        let mut begins = BEGINS;
        for byte in bytes {
            self.push_byte(*byte, begins | in_word);
            begins = 0;
        }
    }

    #[inline]
    fn push_byte(&mut self, byte: u8, mark: u8) {
        self.bytes.push(byte);
        if self.kept == Marks::Kept {
            self.marks.push(mark);
        }
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

/// Characters of a page.
const PAGE: usize = 256;
/// Bytes that an entry holds; what folds to more is folded anew each time, and rare.
const SHORT: u8 = 6;

/// What neighbouring characters fold to.
struct Page {
    entries: [Entry; PAGE],
}

#[derive(Clone, Copy)]
struct Entry {
    bytes: [u8; SHORT as usize],
    length: u8,
    in_word: u8,
}

/// A page, made when it is first met.
fn page(number: usize) -> &'static Page {
    static PAGES: [OnceLock<Box<Page>>; 0x11_0000 / PAGE] = [const { OnceLock::new() }; 0x11_0000 / PAGE];
    PAGES[number].get_or_init(|| {
        let entries = std::array::from_fn(|index| {
            let character = u32::try_from(number * PAGE + index).ok().and_then(char::from_u32);
            let folded = character.map(fold).unwrap_or_default();
            let mut bytes = [0; SHORT as usize];
            let kept = folded.len().min(bytes.len());
            bytes[..kept].copy_from_slice(&folded.as_bytes()[..kept]);
            let in_word = if character.is_some_and(char::is_alphanumeric) { IN_WORD } else { 0 };
            Entry { bytes, length: u8::try_from(folded.len()).unwrap_or(u8::MAX), in_word }
        });
        Box::new(Page { entries })
    })
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
        let mut folded = Folded::with_capacity(text.len(), Marks::Left);
        folded.push_text(text);
        String::from_utf8(folded.bytes).unwrap()
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
    fn what_is_kept_of_a_character_is_what_it_folds_to() {
        for character in (0..0x3_0000).step_by(7).filter_map(char::from_u32) {
            let folded = super::fold(character);
            assert_eq!(fold(&character.to_string()), folded, "{character:?}");
        }
        assert_eq!(fold("\u{fdfa}"), super::fold('\u{fdfa}'), "a long one");
    }
}
