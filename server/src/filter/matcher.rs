//! All words of a filter at once, in one pass over the folded text.

use aho_corasick::{AhoCorasick, MatchKind};

use super::{fold::Marks, visible::Shown};

/// The compiled words of a filter.
#[derive(Debug)]
pub(crate) struct Matcher {
    automaton: AhoCorasick,
    /// Whether each matches as a whole word only.
    whole_words: Vec<bool>,
}

impl Matcher {
    /// Compiles words, each with whether it matches as a whole word only. Those of which folding leaves nothing match
    /// nothing.
    pub(crate) fn new<'a>(words: impl Iterator<Item = (&'a str, bool)>) -> Self {
        let (mut patterns, mut whole_words) = (Vec::new(), Vec::new());
        for (word, is_whole_word) in words {
            let folded = fold_word(word);
            if !folded.is_empty() {
                patterns.push(folded);
                whole_words.push(is_whole_word);
            }
        }
        let automaton = AhoCorasick::builder().match_kind(MatchKind::Standard).build(patterns);
        Self { automaton: automaton.expect("a thousand short words fit an automaton"), whole_words }
    }

    /// Whether any word is in the text.
    pub(crate) fn matches(&self, text: Shown<'_>) -> bool {
        if !self.automaton.is_match(text.fold(Marks::Left).as_bytes()) {
            return false;
        }
        let text = text.fold(Marks::Kept);
        // Overlapping: a match that does not count must not hide one that does.
        self.automaton.find_overlapping_iter(text.as_bytes()).any(|found| {
            let is_whole_word = self.whole_words[found.pattern().as_usize()];
            text.is_whole(found.start(), found.end()) && (!is_whole_word || text.is_word(found.start(), found.end()))
        })
    }
}

/// The form in which words are compared, to each other too.
pub(crate) fn fold_word(word: &str) -> Vec<u8> {
    Shown::Plain(word).fold(Marks::Left).as_bytes().trim_ascii().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(words: &[(&str, bool)], html: &str) -> bool {
        Matcher::new(words.iter().copied()).matches(Shown::Html(html))
    }

    #[test]
    fn bl_079_letters_do_not_join_across_spaces_or_lines() {
        for innocent in ["don't i think", "push it", "pa<br>ss", "<p>pa</p><p>ss</p>", "s p a m", "class"] {
            assert!(
                !hits(&[("tith", false), ("shit", false), ("pass", false), ("spam", false)], innocent),
                "{innocent}"
            );
        }
        assert!(hits(&[("free money", false)], "FREE \u{a0}<br> m0ney"));
    }

    #[test]
    fn bl_080_a_word_is_found_in_all_its_cases_widths_and_accents() {
        for text in ["word1", "WORD", "wörd", "ｗｏｒｄ", "swordfish", "\u{1d430}ord"] {
            assert!(hits(&[("word", false)], text), "{text}");
        }
        // What a reader sees is compared, not what was meant: dots and repeated letters make another word.
        for text in ["w.o.r.d", "woord", "wo rd"] {
            assert!(!hits(&[("word", false)], text), "{text}");
        }
    }

    #[test]
    fn bl_081_markup_and_look_alikes_within_a_word_hide_nothing() {
        for text in
            ["sp<b>a</b>m", "sp\u{430}m", "sp\u{200d}am", "s<a href=\"https://x/\">p</a>am", "s&amp;pam spa\u{ad}m"]
        {
            assert!(hits(&[("spam", false)], text), "{text}");
        }
    }

    #[test]
    fn a_whole_word_is_not_found_inside_of_another() {
        for text in ["class", "assume", "bass1", "ass1", "1ass"] {
            assert!(!hits(&[("ass", true)], text), "{text}");
        }
        for text in ["ass", "(ass)", "an ass.", "_ass_", "class ass", "<p>ass</p>", "a\u{301} \u{200b}ass"] {
            assert!(hits(&[("ass", true)], text), "{text}");
        }
        assert!(hits(&[("ass", true), ("class", false)], "class"));
    }

    #[test]
    fn half_of_a_letter_is_no_match() {
        // "m" looks like "rn", but is not a word that ends in "n" or begins with "r".
        assert!(!hits(&[("nice", false)], "mice"));
        assert!(!hits(&[("corn", false), ("or", false)], "cdrom"));
        assert!(hits(&[("modern", false)], "rnodem"));
    }

    #[test]
    fn a_filter_without_words_matches_nothing() {
        assert!(!hits(&[], "anything"));
        assert!(!hits(&[("\u{200b}", false)], "anything"));
    }
}
