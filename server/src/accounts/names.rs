//! Account names: cleaned of what cannot be seen, and alike when they look alike.

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};
use unicode_security::confusable_detection::skeleton;

use crate::{directory::accounts::StoredName, unseen::is_unseen};

/// Combining marks that one letter keeps; more of them would reach into other lines.
const MARKS: usize = 4;

/// The stored forms of a name; none when nothing is left that can be seen.
pub(crate) fn stored(name: &str) -> Option<StoredName> {
    let name = clean(name);
    let fold = fold(&name);
    let key: String = skeleton(&fold).collect::<String>().to_lowercase();
    let seen = |character: char| !is_combining_mark(character) && !character.is_whitespace();
    (name.chars().any(seen) && !key.is_empty()).then_some(StoredName { name, key, fold })
}

/// The folded form, by which names are searched.
pub(crate) fn fold(name: &str) -> String {
    let folded: String = clean(name).nfkc().collect::<String>().to_uppercase().to_lowercase();
    folded.nfkc().collect()
}

/// A name as it is shown: one line without controls, runs of spaces collapsed, few marks a letter.
pub(crate) fn clean(name: &str) -> String {
    let mut cleaned = String::with_capacity(name.len());
    let mut marks = 0;
    for character in name.nfc() {
        if character.is_whitespace() || character.is_control() {
            if !cleaned.ends_with(' ') {
                cleaned.push(' ');
            }
            marks = 0;
        } else if is_unseen(character) {
            // Marks before and after it land on the same letter.
        } else if is_combining_mark(character) {
            marks += 1;
            if marks <= MARKS {
                cleaned.push(character);
            }
        } else {
            marks = 0;
            cleaned.push(character);
        }
    }
    cleaned.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> String {
        stored(name).unwrap().key
    }

    #[test]
    fn bl_084_look_alike_names_are_one_name() {
        for twin in ["mark", "MARK", "M\u{430}rk", "Mark \u{200b}", "\u{202e}Mark", "Ma\u{200d}rk", "ｍａｒｋ", "𝐌𝐚𝐫𝐤"]
        {
            assert_eq!(key(twin), key("Mark"), "{twin:?}");
        }
        assert_ne!(key("Mark"), key("Marc"));
        assert_eq!(key("Straße"), key("STRASSE"));
    }

    #[test]
    fn bl_085_spaces_between_zero_width_characters_collapse() {
        let name = format!("a{}b", " \u{200b}".repeat(20));
        assert_eq!(clean(&name), "a b");
        for nothing in
            ["", " ", "\u{200b}\u{200c}", "\u{200d}", "\u{3164}", "\u{301}\u{301}", "\u{2800}", "\u{feff} \u{2028}"]
        {
            assert_eq!(stored(nothing), None, "{nothing:?}");
        }
    }

    #[test]
    fn bl_086_a_name_stays_on_one_line_and_within_its_height() {
        assert_eq!(clean("a\u{202e}b\nc\u{2029}d\te\u{7}f"), "ab c d e f");
        let tall = format!("a{}b", "\u{30d}".repeat(200));
        assert!(clean(&tall).chars().count() <= 2 + MARKS);
        let hidden = format!("a{}b", "\u{200b}\u{30d}".repeat(200));
        assert!(clean(&hidden).chars().count() <= 2 + MARKS);
    }

    #[test]
    fn names_of_many_scripts_stay_as_they_are() {
        for name in ["Ada Lovelace", "Zoë", "Дмитрий", "李小龍", "نور", "अनिता", "🦊 fox", "O'Neil-Smith_42"]
        {
            assert_eq!(clean(name), name);
            assert!(stored(name).is_some());
        }
    }
}
