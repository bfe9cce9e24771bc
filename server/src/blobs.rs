//! The seam to where the bytes of files lie. Clients bring and fetch them at signed addresses that expire; the server
//! itself only measures, copies and deletes.

#[cfg(feature = "azure-blob")]
pub(crate) mod azure;
#[cfg(test)]
mod conformance;
pub(crate) mod folder;
mod signature;

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use parlour_protocol::Timestamp;
use uuid::Uuid;

pub(crate) use self::signature::{Purpose, Signature, Signer};

/// The first bytes of a file by which its kind is known.
pub(crate) const HEAD: usize = 64;

/// Which bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    /// The file itself.
    Original,
    /// The small picture that a client made of it.
    Thumbnail,
}

/// The bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Blob {
    /// The file.
    pub(crate) file_id: Uuid,
    /// Which of its bytes.
    pub(crate) part: Part,
}

impl Blob {
    /// The file itself.
    pub(crate) fn original(file_id: Uuid) -> Self {
        Self { file_id, part: Part::Original }
    }

    /// Its thumbnail.
    pub(crate) fn thumbnail(file_id: Uuid) -> Self {
        Self { file_id, part: Part::Thumbnail }
    }
}

impl fmt::Display for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = if self.part == Part::Thumbnail { ".thumb" } else { "" };
        write!(f, "{}{suffix}", self.file_id.as_hyphenated())
    }
}

/// What an upload address takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Declared<'a> {
    /// The `Content-Type`, exactly.
    pub(crate) mimetype: &'a str,
    /// How many bytes.
    pub(crate) size: DeclaredSize,
}

/// How many bytes an upload has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeclaredSize {
    /// So many.
    Exact(u64),
    /// So many at most.
    UpTo(u64),
}

/// What is said of bytes that are fetched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown<'a> {
    /// The name to keep them under.
    pub(crate) filename: &'a str,
    /// Their type.
    pub(crate) mimetype: &'a str,
}

/// Bytes as they really are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Measured {
    /// How many.
    pub(crate) size: u64,
    /// The first of them, up to [`HEAD`].
    pub(crate) head: Vec<u8>,
    /// The type that came with them, where it was not checked while they came.
    pub(crate) mimetype: Option<String>,
}

impl Measured {
    /// Whether nothing else than this type came with them.
    pub(crate) fn came_as(&self, mimetype: &str) -> bool {
        self.mimetype.as_deref().is_none_or(|came| came == mimetype)
    }
}

/// The store of bytes failed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the store of files failed: {0}")]
pub(crate) struct BlobError(pub(crate) Arc<str>);

/// Where bytes lie.
#[async_trait]
pub(crate) trait Blobs: Send + Sync + fmt::Debug {
    /// An address that takes the bytes, whole or not at all, until it expires. What is attached is never replaced.
    fn upload_url(&self, blob: Blob, declared: Declared<'_>, expires_at: Timestamp) -> String;

    /// An address that gives the bytes as an attachment until it expires.
    fn download_url(&self, blob: Blob, shown: Shown<'_>, expires_at: Timestamp) -> String;

    /// What is really there; none when nothing was uploaded.
    async fn measure(&self, blob: Blob) -> Result<Option<Measured>, BlobError>;

    /// Copies bytes to another name; false when they are not there.
    async fn copy(&self, from: Blob, to: Blob) -> Result<bool, BlobError>;

    /// Deletes bytes. They may be gone already.
    async fn remove(&self, blob: Blob) -> Result<(), BlobError>;

    /// The origin of its addresses, where that is not this server.
    fn origin(&self) -> Option<String>;
}

/// An attachment with its name, also for those who read ASCII alone.
pub(crate) fn disposition(filename: &str) -> String {
    let plain = |character: char| {
        if character.is_ascii_graphic() && !"\"\\%".contains(character) || character == ' ' { character } else { '_' }
    };
    let ascii: String = filename.chars().map(plain).collect();
    let mut encoded = String::new();
    for byte in filename.bytes() {
        if byte.is_ascii_alphanumeric() || b"!#$&+-.^_`|~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    format!("attachment; filename=\"{ascii}\"; filename*=UTF-8''{encoded}")
}
