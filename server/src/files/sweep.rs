//! Deletes what nothing holds: first the bytes, then the row, so that what a crash breaks off is done again.

use std::{sync::Arc, time::Duration};

use parlour_protocol::{Timestamp, limits};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::uploads::after;
use crate::{
    blobs::{Blob, BlobError, Blobs, Signer},
    directory::files::{self, FileKind, StoredFile},
    store::{StoreError, db::Db},
};

/// Time between two rounds when nothing is let go of.
const PAUSE: Duration = Duration::from_secs(60);
/// Files of one step.
const FILES: u32 = 100;
/// Steps of one round.
const STEPS: usize = 1000;

/// Why a file was not deleted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SweepError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Blobs(#[from] BlobError),
}

/// Deletes files.
#[derive(Debug)]
pub(crate) struct Sweeper {
    db: Db,
    blobs: Arc<dyn Blobs>,
    signer: Signer,
    keep_ms: u64,
}

impl Sweeper {
    pub(crate) fn new(db: Db, blobs: Arc<dyn Blobs>, signer: Signer, keep_ms: u64) -> Self {
        Self { db, blobs, signer, keep_ms: keep_ms.min(limits::NONCE_KEEP_MS.unsigned_abs()) }
    }

    /// Goes on until `stop`.
    pub(crate) async fn run(self, released: Arc<Notify>, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = released.notified() => {}
                () = tokio::time::sleep(PAUSE) => {}
            }
            for _ in 0..STEPS {
                match self.step(Timestamp::now()).await {
                    _ if stop.is_cancelled() => return,
                    Ok(0) => break,
                    Ok(_) => {}
                    Err(error) => {
                        tracing::warn!(%error, "failed to delete files");
                        break;
                    }
                }
            }
        }
    }

    /// Deletes a few; how many were found.
    pub(crate) async fn step(&self, now: Timestamp) -> Result<usize, SweepError> {
        files::release_deleted_rooms(&self.db, FILES).await?;
        let expired = files::expired(&self.db, now, FILES).await?;
        for file in &expired {
            self.delete(file, now).await?;
        }
        Ok(expired.len())
    }

    async fn delete(&self, file: &StoredFile, now: Timestamp) -> Result<(), SweepError> {
        let original = Blob::original(file.file_id.uuid());
        if file.kind == FileKind::Image && file.expires_at != Some(Timestamp::from_millis(0)) {
            let image = self.signer.download_address(original, None);
            if files::is_shown(&self.db, &image, file.user_id).await? {
                return Ok(files::prolong(&self.db, file.file_id, after(now, self.keep_ms)).await?);
            }
        }
        if files::claim(&self.db, file.file_id, now).await? {
            self.blobs.remove(original).await?;
            self.blobs.remove(Blob::thumbnail(file.file_id.uuid())).await?;
            files::forget(&self.db, file.file_id).await?;
        }
        Ok(())
    }
}
