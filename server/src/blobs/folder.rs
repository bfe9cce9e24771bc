//! Bytes in a folder beside the database, served by this server itself.

use std::{
    fs::{self, DirBuilder, File},
    io::{self, Read},
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use parlour_protocol::Timestamp;
use tokio::io::AsyncWriteExt;
use uuid::Uuid;

use super::{Blob, BlobError, Blobs, Declared, HEAD, Measured, Purpose, Shown, Signature, Signer};

/// Bytes that are still coming.
const INCOMING: &str = "incoming";

/// The folder of files of a data folder.
pub(crate) fn files_of(data_dir: &Path) -> PathBuf {
    data_dir.join("files")
}

/// Bytes in a folder.
#[derive(Debug)]
pub(crate) struct FolderBlobs {
    folder: PathBuf,
    signer: Signer,
}

impl FolderBlobs {
    /// Opens the folder, which is made when it does not exist. What was coming when the server ended is forgotten.
    pub(crate) fn open(folder: PathBuf, signer: Signer) -> io::Result<Self> {
        let incoming = folder.join(INCOMING);
        match fs::remove_dir_all(&incoming) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&incoming)?;
        Ok(Self { folder, signer })
    }

    /// Spread over 256 folders.
    fn path(&self, blob: Blob) -> PathBuf {
        let last = blob.file_id.as_bytes()[15];
        self.folder.join(format!("{last:02x}")).join(blob.to_string())
    }

    /// A place for bytes that come; they go with the value unless they are kept.
    pub(crate) async fn receive(&self) -> Result<Incoming, BlobError> {
        let path = self.folder.join(INCOMING).join(Uuid::new_v4().simple().to_string());
        let file = tokio::fs::File::create_new(&path).await.map_err(failed)?;
        Ok(Incoming { file, place: Place { path } })
    }

    /// Puts bytes that have come in their place, durably.
    pub(crate) async fn keep(&self, mut incoming: Incoming, blob: Blob) -> Result<(), BlobError> {
        incoming.file.flush().await.map_err(failed)?;
        let file = incoming.file.into_std().await;
        let path = self.path(blob);
        let place = incoming.place;
        blocking(move || {
            // Whole, so that it does not go before it is moved.
            let place = place;
            file.sync_all()?;
            place_file(&path, |path| fs::rename(&place.path, path))
        })
        .await
    }

    /// Opens bytes to be sent; none when they are not there.
    pub(crate) async fn read(&self, blob: Blob) -> Result<Option<tokio::fs::File>, BlobError> {
        match tokio::fs::File::open(self.path(blob)).await {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }
}

/// Bytes that are coming.
#[derive(Debug)]
pub(crate) struct Incoming {
    file: tokio::fs::File,
    place: Place,
}

impl Incoming {
    /// Takes more.
    pub(crate) async fn take(&mut self, bytes: &[u8]) -> Result<(), BlobError> {
        self.file.write_all(bytes).await.map_err(failed)
    }
}

#[derive(Debug)]
struct Place {
    path: PathBuf,
}

impl Drop for Place {
    fn drop(&mut self) {
        // Nothing is there any more when it was kept; what is left over goes at the next start.
        drop(fs::remove_file(&self.path));
    }
}

#[async_trait]
impl Blobs for FolderBlobs {
    fn upload_url(&self, blob: Blob, declared: Declared<'_>, expires_at: Timestamp) -> String {
        let Declared { mimetype, size } = declared;
        let mimetype = mimetype.to_owned();
        self.signer.address(&Signature { purpose: Purpose::Upload(size), blob, expires_at: Some(expires_at), mimetype })
    }

    fn download_url(&self, blob: Blob, _shown: Shown<'_>, expires_at: Timestamp) -> String {
        self.signer.download_address(blob, Some(expires_at))
    }

    async fn measure(&self, blob: Blob) -> Result<Option<Measured>, BlobError> {
        let path = self.path(blob);
        blocking(move || {
            let file = match File::open(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                file => file?,
            };
            let size = file.metadata()?.len();
            let mut head = Vec::with_capacity(HEAD);
            file.take(HEAD as u64).read_to_end(&mut head)?;
            Ok(Some(Measured { size, head, mimetype: None }))
        })
        .await
    }

    async fn copy(&self, from: Blob, to: Blob) -> Result<bool, BlobError> {
        let (from, to) = (self.path(from), self.path(to));
        blocking(move || {
            // Bytes under a name never change, they are only replaced: two names can share them.
            match place_file(&to, |to| match fs::hard_link(&from, to) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error),
                Err(_) => fs::copy(&from, to).and_then(|_| File::open(to)?.sync_all()),
                Ok(()) => Ok(()),
            }) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
                outcome => outcome.map(|()| true),
            }
        })
        .await
    }

    async fn remove(&self, blob: Blob) -> Result<(), BlobError> {
        let path = self.path(blob);
        blocking(move || match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        })
        .await
    }

    fn origin(&self) -> Option<String> {
        None
    }
}

/// Makes a file in a folder that may not exist yet, and both durable.
fn place_file(path: &Path, place: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let folder = path.parent().expect("a path of this store has a folder");
    if !folder.exists() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        if let Some(above) = folder.parent() {
            File::open(above)?.sync_all()?;
        }
    }
    place(path)?;
    File::open(folder)?.sync_all()
}

async fn blocking<T: Send + 'static>(run: impl FnOnce() -> io::Result<T> + Send + 'static) -> Result<T, BlobError> {
    tokio::task::spawn_blocking(run).await.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(failed)
}

#[expect(clippy::needless_pass_by_value, reason = "a function for map_err")]
fn failed(error: io::Error) -> BlobError {
    BlobError(Arc::from(error.to_string()))
}
