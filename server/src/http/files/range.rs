//! The `Range` of a request.

/// What is wanted of some bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// All of them.
    Everything,
    /// From the first to the last, both included.
    Part(u64, u64),
    /// A range that they do not have.
    Nothing,
}

/// What a range of `size` bytes is. Several ranges at once, and what is no range of bytes, count for nothing.
pub(super) fn wanted(range: Option<&str>, size: u64) -> Wanted {
    let Some(range) = range.and_then(|range| range.trim().strip_prefix("bytes=")) else { return Wanted::Everything };
    let Some((first, last)) = range.split_once('-') else { return Wanted::Everything };
    match (number(first), number(last)) {
        (Some(Some(first)), Some(last)) => {
            if last.is_some_and(|last| last < first) {
                Wanted::Everything
            } else if first >= size {
                Wanted::Nothing
            } else {
                Wanted::Part(first, last.unwrap_or(u64::MAX).min(size - 1))
            }
        }
        (Some(None), Some(Some(count))) => {
            if count == 0 || size == 0 {
                Wanted::Nothing
            } else {
                Wanted::Part(size.saturating_sub(count), size - 1)
            }
        }
        _ => Wanted::Everything,
    }
}

/// A number, or none for an empty text; nothing for anything else.
fn number(text: &str) -> Option<Option<u64>> {
    let text = text.trim();
    if text.is_empty() {
        return Some(None);
    }
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(Some(text.parse().unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::{Wanted::*, *};

    #[test]
    fn a_range_is_what_the_bytes_have_of_it() {
        for (range, expected) in [
            ("bytes=0-4", Part(0, 4)),
            ("bytes=5-", Part(5, 9)),
            ("bytes=-3", Part(7, 9)),
            ("bytes=-30", Part(0, 9)),
            ("bytes=8-99999999999999999999999", Part(8, 9)),
            ("bytes=10-", Nothing),
            ("bytes=-0", Nothing),
            ("bytes=4-2", Everything),
            ("bytes=0-1,4-5", Everything),
            ("bytes=-", Everything),
            ("bytes=a-b", Everything),
            ("items=0-1", Everything),
        ] {
            assert_eq!(wanted(Some(range), 10), expected, "{range}");
        }
        assert_eq!(wanted(None, 10), Everything);
        assert_eq!(wanted(Some("bytes=0-"), 0), Nothing);
    }
}
