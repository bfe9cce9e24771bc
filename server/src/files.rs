//! Files: brought and fetched at signed addresses, held by messages, emoji, users and rooms, and deleted when nothing
//! holds them.
//!
//! A row of `file` is an upload until something takes it; what lets go of it sets `expires_at` to 0 in the same commit.
//! `sweep` deletes the bytes of what has expired, then the row, so that a crash leaves nothing behind.

pub(crate) mod attach;
pub(crate) mod delete;
pub(crate) mod discard;
pub(crate) mod images;
mod kind;
pub(crate) mod sweep;
pub(crate) mod uploads;
pub(crate) mod urls;

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use parlour_protocol::{ErrorCode, FileId, ProtocolError, limits::Limits};
use tokio::sync::Notify;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub(crate) use self::kind::{check_mimetype, looks_like};
use crate::{
    blobs::{Blob, BlobError, Blobs, Signer, folder::FolderBlobs},
    store::db::{Db, DbError},
};

/// The type of every thumbnail.
pub(crate) const THUMBNAIL_TYPE: &str = "image/webp";

/// What handlers need of files.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) blobs: Arc<dyn Blobs>,
    /// The same, where this server serves the addresses.
    pub(crate) folder: Option<Arc<FolderBlobs>>,
    /// Signs grants and addresses of this server.
    pub(crate) signer: Signer,
    /// Something was let go of.
    released: Arc<Notify>,
}

impl Files {
    /// Files in a folder of this server.
    pub(crate) fn here(folder: FolderBlobs, signer: Signer) -> Self {
        let folder = Arc::new(folder);
        let blobs: Arc<dyn Blobs> = Arc::clone(&folder) as Arc<dyn Blobs>;
        Self { blobs, folder: Some(folder), signer, released: Arc::default() }
    }

    /// Files that clients bring and fetch elsewhere.
    pub(crate) fn elsewhere(blobs: Arc<dyn Blobs>, signer: Signer) -> Self {
        Self { blobs, folder: None, signer, released: Arc::default() }
    }

    /// The lasting address under which everybody sees an image.
    pub(crate) fn public_address(&self, file_id: FileId) -> String {
        self.signer.download_address(Blob::original(file_id.uuid()), None)
    }

    /// Starts the deletion of what nothing holds.
    pub(crate) fn start(&self, db: &Db, limits: &Limits, tasks: &TaskTracker, stop: CancellationToken) {
        let keep_ms = limits.upload_keep_ms;
        let sweeper = sweep::Sweeper::new(db.clone(), Arc::clone(&self.blobs), self.signer.clone(), keep_ms);
        tasks.spawn(sweeper.run(Arc::clone(&self.released), stop));
    }

    /// Tells that something was let go of: its bytes can be deleted at once.
    pub(crate) fn released(&self) {
        self.released.notify_one();
    }
}

/// The name to keep a thumbnail under.
pub(crate) fn thumbnail_name(filename: &str) -> String {
    format!("{filename}.webp")
}

/// Signs with the key of this database.
pub(crate) async fn signer(db: &Db) -> Result<Signer, DbError> {
    Ok(Signer::new(key(db).await?))
}

/// The key of signatures, made when it is first needed.
async fn key(db: &Db) -> Result<[u8; 32], DbError> {
    let mut fresh = [0; 32];
    getrandom::fill(&mut fresh).expect("the operating system has random bytes");
    db.write("insert into meta (name, value) values ('file_key', $1) on conflict (name) do nothing")
        .bind(STANDARD.encode(fresh))
        .execute()
        .await?;
    let (text,): (String,) = db.write("select value from meta where name = 'file_key'").one().await?;
    let key = STANDARD.decode(text).ok().and_then(|key| key.try_into().ok());
    key.ok_or_else(|| crate::store::StoreError::Internal("the key of file addresses is damaged".into()).into())
}

/// What a client is told of a fault of the store of files.
#[expect(clippy::needless_pass_by_value, reason = "a function for map_err")]
pub(crate) fn blob_error(error: BlobError) -> ProtocolError {
    tracing::warn!(%error, "files are unavailable");
    ProtocolError::new(ErrorCode::Unavailable, "the store of files does not answer; try again")
}
