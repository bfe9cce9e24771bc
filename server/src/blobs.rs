//! The seam to where the bytes of files lie. Clients bring and fetch them at signed addresses that expire; the server
//! itself only measures, copies and deletes.

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

/// Bytes as they really are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Measured {
    /// How many.
    pub(crate) size: u64,
    /// The first of them, up to [`HEAD`].
    pub(crate) head: Vec<u8>,
}

/// The store of bytes failed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the store of files failed: {0}")]
pub(crate) struct BlobError(pub(crate) Arc<str>);

/// Where bytes lie.
#[async_trait]
pub(crate) trait Blobs: Send + Sync + fmt::Debug {
    /// An address that takes the bytes, again and again until it expires. What was there is replaced at once and whole.
    fn upload_url(&self, blob: Blob, declared: Declared<'_>, expires_at: Timestamp) -> String;

    /// An address that gives the bytes as an attachment until it expires; one that never does is always the same.
    fn download_url(&self, blob: Blob, expires_at: Option<Timestamp>) -> String;

    /// What is really there; none when nothing was uploaded.
    async fn measure(&self, blob: Blob) -> Result<Option<Measured>, BlobError>;

    /// Copies bytes to another name; false when they are not there.
    async fn copy(&self, from: Blob, to: Blob) -> Result<bool, BlobError>;

    /// Deletes bytes. They may be gone already.
    async fn remove(&self, blob: Blob) -> Result<(), BlobError>;
}
