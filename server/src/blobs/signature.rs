//! What stands in a signed address: what it is good for, and a code that only this server can make.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use parlour_protocol::Timestamp;
use sha2::Sha256;
use uuid::Uuid;

use super::{Blob, DeclaredSize, Part};

/// Bytes of the code.
const CODE: usize = 32;
/// Bytes before the type: purpose, file, expiry, size.
const FIXED: usize = 1 + 16 + 8 + 8;
/// Where addresses of this server begin.
const ADDRESSES: &str = "/v1/files/";
/// Longest address that is looked at.
const LONGEST: usize = 1024;

/// What an address is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Bringing bytes.
    Upload(DeclaredSize),
    /// Fetching them.
    Download,
}

/// The content of a signed address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Signature {
    /// What for.
    pub(crate) purpose: Purpose,
    /// Which bytes.
    pub(crate) blob: Blob,
    /// When it ends; none is never.
    pub(crate) expires_at: Option<Timestamp>,
    /// The type of an upload.
    pub(crate) mimetype: String,
}

/// Signs with a key that only this server knows.
#[derive(Clone)]
pub(crate) struct Signer([u8; 32]);

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Signer(…)")
    }
}

impl Signer {
    /// A signer with this key.
    pub(crate) fn new(key: [u8; 32]) -> Self {
        Self(key)
    }

    fn mac(&self, scope: &str, bytes: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("a key of any length will do");
        // Codes of one scope mean nothing in another.
        mac.update(scope.as_bytes());
        mac.update(&[0]);
        mac.update(bytes);
        mac
    }

    /// The code of bytes.
    pub(crate) fn code(&self, scope: &str, bytes: &[u8]) -> [u8; CODE] {
        self.mac(scope, bytes).finalize().into_bytes().into()
    }

    /// Whether this is the code of bytes, in a time that tells nothing.
    pub(crate) fn is_code(&self, scope: &str, bytes: &[u8], code: &[u8]) -> bool {
        self.mac(scope, bytes).verify_slice(code).is_ok()
    }

    /// The address of this server that gives bytes; one that never expires is always the same.
    pub(crate) fn download_address(&self, blob: Blob, expires_at: Option<Timestamp>) -> String {
        self.address(&Signature { purpose: Purpose::Download, blob, expires_at, mimetype: String::new() })
    }

    /// An address of this server.
    pub(crate) fn address(&self, signature: &Signature) -> String {
        format!("{ADDRESSES}{}", self.sign(signature))
    }

    /// What an address is good for; none when it is not one of this server, or over.
    pub(crate) fn open(&self, signed: &str, now: Timestamp) -> Option<Signature> {
        let signature = self.verify(signed)?;
        signature.expires_at.is_none_or(|expires_at| expires_at > now).then_some(signature)
    }

    /// The text of a signature.
    pub(crate) fn sign(&self, signature: &Signature) -> String {
        let Signature { purpose, blob, expires_at, mimetype } = signature;
        let (purpose, size) = match purpose {
            Purpose::Upload(DeclaredSize::Exact(size)) => (0_u8, *size),
            Purpose::Upload(DeclaredSize::UpTo(size)) => (1, *size),
            Purpose::Download => (2, 0),
        };
        let part = if blob.part == Part::Thumbnail { 4 } else { 0 };
        let mut bytes = vec![purpose | part];
        bytes.extend_from_slice(blob.file_id.as_bytes());
        bytes.extend_from_slice(&expires_at.map_or(i64::MAX, Timestamp::as_millis).to_be_bytes());
        bytes.extend_from_slice(&size.to_be_bytes());
        bytes.extend_from_slice(mimetype.as_bytes());
        let mut signed = self.code(ADDRESS, &bytes).to_vec();
        signed.append(&mut bytes);
        URL_SAFE_NO_PAD.encode(signed)
    }

    /// The signature of a text; none when this server did not make it.
    pub(crate) fn verify(&self, text: &str) -> Option<Signature> {
        if text.len() > LONGEST {
            return None;
        }
        let signed = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (code, bytes) = signed.split_at_checked(CODE)?;
        if !self.is_code(ADDRESS, bytes, code) {
            return None;
        }
        let (fixed, mimetype) = bytes.split_at_checked(FIXED)?;
        let size = u64::from_be_bytes(fixed[25..].try_into().ok()?);
        let expires_at = i64::from_be_bytes(fixed[17..25].try_into().ok()?);
        let purpose = match fixed[0] & 3 {
            0 => Purpose::Upload(DeclaredSize::Exact(size)),
            1 => Purpose::Upload(DeclaredSize::UpTo(size)),
            _ => Purpose::Download,
        };
        Some(Signature {
            purpose,
            blob: Blob {
                file_id: Uuid::from_slice(&fixed[1..17]).ok()?,
                part: if fixed[0] & 4 == 0 { Part::Original } else { Part::Thumbnail },
            },
            expires_at: (expires_at != i64::MAX).then(|| Timestamp::from_millis(expires_at)),
            mimetype: std::str::from_utf8(mimetype).ok()?.to_owned(),
        })
    }
}

const ADDRESS: &str = "address";

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn signature() -> impl Strategy<Value = Signature> {
        let purpose = prop_oneof![
            any::<u64>().prop_map(|size| Purpose::Upload(DeclaredSize::Exact(size))),
            any::<u64>().prop_map(|size| Purpose::Upload(DeclaredSize::UpTo(size))),
            Just(Purpose::Download),
        ];
        let part = prop_oneof![Just(Part::Original), Just(Part::Thumbnail)];
        (purpose, any::<u128>(), part, proptest::option::of(0..i64::MAX / 2), "[a-z/+.]{0,40}").prop_map(
            |(purpose, id, part, expires_at, mimetype)| Signature {
                purpose,
                blob: Blob { file_id: Uuid::from_u128(id), part },
                expires_at: expires_at.map(Timestamp::from_millis),
                mimetype,
            },
        )
    }

    proptest! {
        #[test]
        fn what_was_signed_comes_back(signature in signature()) {
            let signer = Signer::new([7; 32]);
            prop_assert_eq!(signer.verify(&signer.sign(&signature)), Some(signature));
        }

        #[test]
        fn what_was_altered_does_not(signature in signature(), at in any::<prop::sample::Index>(), to in any::<u8>()) {
            let signer = Signer::new([7; 32]);
            let mut bytes = URL_SAFE_NO_PAD.decode(signer.sign(&signature)).unwrap();
            let at = at.index(bytes.len());
            prop_assume!(bytes[at] != to);
            bytes[at] = to;
            prop_assert_eq!(signer.verify(&URL_SAFE_NO_PAD.encode(&bytes)), None);
            prop_assert_eq!(Signer::new([8; 32]).verify(&signer.sign(&signature)), None);
        }
    }
}
