//! Tokens of an identity provider of our own, for users by the thousand: accounts made by password
//! cost a deliberate 20 ms each.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

const SECRET: &str = "a secret that protects nothing but a load test";

/// The server's settings that make it accept [`issue`]'s tokens.
pub(crate) fn settings() -> String {
    format!("[jwt]\nissuer = \"parlour-load\"\naudience = [\"parlour-load\"]\nsecret = \"{SECRET}\"\n")
}

/// A token of user `number`, valid for a day.
pub(crate) fn issue(number: usize) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let expires = now + 86_400;
    let claims = format!(
        r#"{{"iss":"parlour-load","aud":"parlour-load","sub":"user-{number}","name":"Load user {number}","exp":{expires}}}"#
    );
    let signed =
        format!("{}.{}", URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256","typ":"JWT"}"#), URL_SAFE_NO_PAD.encode(claims));
    let signature = hmac_sha256(SECRET.as_bytes(), signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// RFC 2104; `key` is at most a block long.
fn hmac_sha256(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut block = [0; 64];
    block[..key.len()].copy_from_slice(key);
    let inner = Sha256::new().chain_update(block.map(|byte| byte ^ 0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(block.map(|byte| byte ^ 0x5c)).chain_update(inner).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_the_one_of_rfc_4231() {
        let mac = hmac_sha256(b"Jefe", b"what do ya want for nothing?");
        assert_eq!(mac[..4], [0x5b, 0xdc, 0xc1, 0x46]);
        assert_eq!(mac[28..], [0x64, 0xec, 0x38, 0x43]);
    }

    #[test]
    fn tokens_have_three_parts_and_differ_by_user() {
        assert_eq!(issue(1).split('.').count(), 3);
        assert_ne!(issue(1), issue(2));
    }
}
