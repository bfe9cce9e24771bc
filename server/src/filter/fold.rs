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
        let marks = if kept == Marks::Kept { Vec::with_capacity(bytes) } else { Vec::new() };
        Self { bytes: Vec::with_capacity(bytes), marks, kept }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Adds plain text.
    pub(crate) fn push_text(&mut self, text: &str) {
        // Whole entries are copied, of which the next character covers what is not part of this one: a copy of a
        // fixed size is one instruction.
        let (mut bytes, mut marks) = ([0; BLOCK], [0; BLOCK]);
        let mut filled = 0;
        let mut after_space = self.ends_with_space();
        let mut at = (0, page(0));
        for character in text.chars() {
            let number = character as usize / PAGE;
            if number != at.0 {
                at = (number, page(number));
            }
            let entry = &at.1.entries[character as usize % PAGE];
            if filled + SHORT > BLOCK || entry.length > SHORT {
                self.push_bytes(&bytes[..filled], &marks[..filled]);
                filled = 0;
            }
            if entry.length > SHORT {
                self.push_long(character);
                after_space = self.ends_with_space();
                continue;
            }
            if entry.length == 0 || (after_space && entry.is_space) {
                continue;
            }
            bytes[filled..filled + SHORT].copy_from_slice(&entry.bytes);
            if self.kept == Marks::Kept {
                marks[filled..filled + SHORT].copy_from_slice(&entry.marks);
            }
            filled += entry.length;
            after_space = entry.is_space;
        }
        self.push_bytes(&bytes[..filled], &marks[..filled]);
    }

    /// Adds one character.
    pub(crate) fn push(&mut self, character: char) {
        self.push_text(character.encode_utf8(&mut [0; 4]));
    }

    /// Adds the end of a line, or of a block.
    pub(crate) fn push_space(&mut self) {
        if !self.ends_with_space() {
            self.push_bytes(b" ", &[BEGINS]);
        }
    }

    fn push_long(&mut self, character: char) {
        let folded = fold(character);
        let marks: Vec<u8> = (0..folded.len()).map(|place| mark(character, place)).collect();
        self.push_bytes(folded.as_bytes(), &marks);
    }

    fn push_bytes(&mut self, bytes: &[u8], marks: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        if self.kept == Marks::Kept {
            self.marks.extend_from_slice(marks);
        }
    }

    fn ends_with_space(&self) -> bool {
        self.bytes.last() == Some(&b' ')
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
const SHORT: usize = 8;
/// Bytes that are folded before they are kept.
const BLOCK: usize = 512;

/// What neighbouring characters fold to.
struct Page {
    entries: [Entry; PAGE],
}

#[derive(Clone, Copy)]
struct Entry {
    bytes: [u8; SHORT],
    marks: [u8; SHORT],
    length: usize,
    is_space: bool,
}

/// A page, made when it is first met.
fn page(number: usize) -> &'static Page {
    static PAGES: [OnceLock<Box<Page>>; 0x11_0000 / PAGE] = [const { OnceLock::new() }; 0x11_0000 / PAGE];
    PAGES[number].get_or_init(|| {
        let entries = std::array::from_fn(|index| {
            let character = u32::try_from(number * PAGE + index).ok().and_then(char::from_u32).unwrap_or_default();
            let folded = fold(character);
            let mut bytes = [0; SHORT];
            let kept = folded.len().min(SHORT);
            bytes[..kept].copy_from_slice(&folded.as_bytes()[..kept]);
            let marks = std::array::from_fn(|place| mark(character, place));
            Entry { bytes, marks, length: folded.len(), is_space: folded == " " }
        });
        Box::new(Page { entries })
    })
}

/// The mark of a byte of what a character folds to.
fn mark(character: char, place: usize) -> u8 {
    let begins = if place == 0 { BEGINS } else { 0 };
    let in_word = if character.is_alphanumeric() { IN_WORD } else { 0 };
    begins | in_word
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
