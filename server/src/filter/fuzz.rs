//! Any words over any text, against a search that is too simple to be wrong.

use proptest::{collection::vec, prelude::*};

use super::{
    fold::{Folded, Marks},
    matcher::{Matcher, fold_word},
    visible::Shown,
};

/// Characters that fold to nothing: none of them may hide a word.
const UNSEEN: &[&str] = &["", "\u{200b}", "\u{200d}", "\u{ad}", "\u{feff}", "\u{301}", "<b>", "</i>"];

/// Markup, its broken forms, letters that look alike, and anything else.
fn html() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-dmnr ]{1,4}",
        2 => "[А-яäÅｂ𝐚ﬁﷺß\u{300}\u{200b} ]{1,3}",
        1 => r#"</?(b|p|br|a href="[a-d>]{0,3}"|[a-z]{0,3})>?"#,
        1 => "&(amp|lt|nbsp|[a-z]{0,3});?",
        1 => any::<String>(),
    ];
    vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn words() -> impl Strategy<Value = Vec<(String, bool)>> {
    vec(("[a-dmnrä ]{1,3}|[А-я]{1,2}|\\PC{1,3}", any::<bool>()), 0..8)
}

/// Every place of every word is looked at.
fn simple_search(words: &[(String, bool)], text: &Folded) -> bool {
    let bytes = text.as_bytes();
    words.iter().any(|(word, is_whole_word)| {
        let word = fold_word(word);
        !word.is_empty()
            && bytes.windows(word.len()).enumerate().any(|(start, found)| {
                let end = start + word.len();
                found == word && text.is_whole(start, end) && (!is_whole_word || text.is_word(start, end))
            })
    })
}

proptest! {
    #[test]
    fn the_one_pass_finds_what_a_search_of_each_word_finds(words in words(), html in html()) {
        for shown in [Shown::Html(&html), Shown::Plain(&html)] {
            let matcher = Matcher::new(words.iter().map(|(word, is_whole_word)| (word.as_str(), *is_whole_word)));
            prop_assert_eq!(matcher.matches(shown), simple_search(&words, &shown.fold(Marks::Kept)));
        }
    }

    #[test]
    fn marks_do_not_change_what_a_text_folds_to(html in html()) {
        let (left, kept) = (Shown::Html(&html).fold(Marks::Left), Shown::Html(&html).fold(Marks::Kept));
        prop_assert_eq!(left.as_bytes(), kept.as_bytes());
        prop_assert!(std::str::from_utf8(left.as_bytes()).is_ok());
    }

    #[test]
    fn a_text_folds_as_its_pieces_do(pieces in vec(any::<String>(), 0..40)) {
        let mut apart = Folded::with_capacity(0, Marks::Kept);
        for piece in &pieces {
            apart.push_text(piece);
        }
        let whole = Shown::Plain(&pieces.concat()).fold(Marks::Kept);
        prop_assert_eq!(apart.as_bytes(), whole.as_bytes());
    }

    #[test]
    fn nothing_unseen_and_no_case_hides_a_word(
        before in "[a-z ]{0,600}",
        hidden in vec(any::<(prop::sample::Index, bool)>(), 4),
        after in html(),
    ) {
        let mut text = before;
        for (letter, (unseen, is_upper)) in "quiz".chars().zip(hidden) {
            text.push(if is_upper { letter.to_ascii_uppercase() } else { letter });
            text.push_str(UNSEEN[unseen.index(UNSEEN.len())]);
        }
        text.push_str(&after);
        prop_assert!(Matcher::new([("quiz", false)].into_iter()).matches(Shown::Html(&text)), "{text:?}");
    }
}
