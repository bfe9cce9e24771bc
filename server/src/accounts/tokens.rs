//! Opaque tokens. Only their hashes are kept.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use parlour_protocol::Secret;
use sha2::{Digest, Sha256};

/// SHA-256 of a token. A token has 256 random bits, so that a plain hash hides it.
pub(crate) type TokenHash = [u8; 32];

/// A fresh token.
pub(crate) fn new_token() -> Secret {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).expect("the operating system has random bytes");
    Secret::new(URL_SAFE_NO_PAD.encode(bytes))
}

/// The hash under which a token is kept.
pub(crate) fn hash(token: &str) -> TokenHash {
    Sha256::digest(token.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_long_unlike_and_fit_a_header() {
        let (one, other) = (new_token(), new_token());
        assert_ne!(one, other);
        assert_eq!(one.expose().len(), 43);
        assert!(one.expose().bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
        assert_ne!(hash(one.expose()), hash(other.expose()));
    }
}
