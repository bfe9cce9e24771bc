//! Opaque places in lists. A cursor is bound to the operation and its arguments; any other is refused.

use std::{fmt::Display, str::FromStr};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use parlour_protocol::ProtocolError;
use sha2::{Digest, Sha256};

/// Bytes of the scope's digest that a cursor carries.
const MARK: usize = 6;

/// The cursor of a position in the list that `scope` (operation and arguments) names.
pub(crate) fn encode(scope: &str, position: &impl Display) -> String {
    let mut bytes = Sha256::digest(scope)[..MARK].to_vec();
    bytes.extend_from_slice(position.to_string().as_bytes());
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The position of a cursor; none at the start of the list.
///
/// # Errors
/// `bad_request` when the cursor is not one of this list.
pub(crate) fn decode<T: FromStr>(scope: &str, cursor: Option<&str>) -> Result<Option<T>, ProtocolError> {
    let Some(cursor) = cursor.filter(|cursor| !cursor.is_empty()) else { return Ok(None) };
    let position = URL_SAFE_NO_PAD.decode(cursor).ok().and_then(|bytes| {
        let (mark, position) = bytes.split_at_checked(MARK)?;
        (mark == &Sha256::digest(scope)[..MARK]).then_some(())?;
        std::str::from_utf8(position).ok()?.parse().ok()
    });
    position.map(Some).ok_or_else(|| ProtocolError::bad_field("/cursor", "is not a cursor of this list"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_good_for_its_own_list_only() {
        let cursor = encode("room.list a", &42);
        assert_eq!(decode::<i64>("room.list a", Some(&cursor)), Ok(Some(42)));
        assert!(decode::<i64>("room.list b", Some(&cursor)).is_err());
        assert!(decode::<i64>("room.list a", Some("junk")).is_err());
        assert_eq!(decode::<i64>("room.list a", None), Ok(None));
    }
}
