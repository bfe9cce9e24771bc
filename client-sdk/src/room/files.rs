//! Files: up to the server and down from it, in pieces.

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use parlour_protocol::{
    ErrorCode, FileId, Int, List, ProtocolError, RowKey, Secret, Set, Text,
    object::Upload,
    operation::{FileCreateUploads, FileDiscard, FileGrant, FileReference, FileToUpload, FileUrl, FileUrls},
};

use super::Room;
use crate::{
    error::{RequestError, RequestErrorKind},
    transfer::{self, Download},
};

impl Room {
    /// Uploads a file that is in memory. [`Send::file`](crate::Send::file) attaches it to a message.
    ///
    /// # Errors
    /// See [`RequestErrorKind`].
    pub async fn upload(&self, filename: &str, mimetype: &str, bytes: Bytes) -> Result<Upload, RequestError> {
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.upload_stream(filename, mimetype, size, futures_util::stream::iter([Ok(bytes)])).await
    }

    /// Uploads a file piece by piece: `size` bytes in all.
    ///
    /// # Errors
    /// See [`RequestErrorKind`].
    pub async fn upload_stream(
        &self,
        filename: &str,
        mimetype: &str,
        size: u64,
        pieces: impl Stream<Item = std::io::Result<Bytes>> + Send + 'static,
    ) -> Result<Upload, RequestError> {
        let file = FileToUpload {
            filename: Text::new(filename)?,
            mimetype: Text::new(mimetype)?,
            size: Int::new(i64::try_from(size).unwrap_or(i64::MAX))?,
        };
        let create = FileCreateUploads { room_id: self.room_id, files: List::new(vec![file])?, nonce: None };
        let uploads = self.client.request(create).await?.files;
        let upload = uploads.into_iter().next().ok_or_else(|| RequestError::new(RequestErrorKind::Malformed))?;
        transfer::put(&self.client, &upload.upload_url, mimetype, size, pieces.boxed()).await?;
        Ok(upload)
    }

    /// Uploads the thumbnail of an image, which is WebP, before [`Send::image`](crate::Send::image) attaches both.
    ///
    /// # Errors
    /// See [`RequestErrorKind`]; `bad_request` when the upload is of no image.
    pub async fn upload_thumbnail(&self, upload: &Upload, webp: Bytes) -> Result<(), RequestError> {
        let no_image = || ProtocolError::new(ErrorCode::BadRequest, "only images have thumbnails");
        let url = upload.thumbnail_upload_url.as_deref().ok_or_else(no_image)?;
        transfer::put_bytes(&self.client, url, "image/webp", webp).await
    }

    /// Takes back an upload that no message has.
    ///
    /// # Errors
    /// See [`RequestErrorKind`].
    pub async fn discard(&self, upload: &Upload) -> Result<(), RequestError> {
        let grant = FileGrant { file_id: upload.file_id, grant: Secret::new(upload.grant.clone()) };
        let discard = FileDiscard { room_id: self.room_id, files: Set::new(vec![grant])? };
        self.client.request(discard).await.map(drop)
    }

    /// Where the files of a message can be fetched for a while; gone ones are left out.
    ///
    /// # Errors
    /// See [`RequestErrorKind`].
    pub async fn file_urls(&self, row_key: RowKey, file_ids: &[FileId]) -> Result<Vec<FileUrl>, RequestError> {
        let files = file_ids.iter().map(|file_id| FileReference { file_id: *file_id, row_key: Some(row_key) });
        let urls = FileUrls { room_id: self.room_id, files: Set::new(files.collect())? };
        self.client.request(urls).await.map(|reply| reply.files)
    }

    /// Fetches a file of a message, piece by piece.
    ///
    /// # Errors
    /// See [`RequestErrorKind`]; `not_found` when it is gone.
    pub async fn download(&self, row_key: RowKey, file_id: FileId) -> Result<Download, RequestError> {
        let urls = self.file_urls(row_key, &[file_id]).await?;
        let url = urls.first().ok_or_else(|| ProtocolError::not_found("no such file"))?;
        transfer::get(&self.client, &url.url).await
    }

    /// Fetches the thumbnail of an image of a message.
    ///
    /// # Errors
    /// See [`RequestErrorKind`]; `not_found` when there is none.
    pub async fn download_thumbnail(&self, row_key: RowKey, file_id: FileId) -> Result<Download, RequestError> {
        let urls = self.file_urls(row_key, &[file_id]).await?;
        let url = urls.first().and_then(|file| file.thumbnail_url.as_deref());
        transfer::get(&self.client, url.ok_or_else(|| ProtocolError::not_found("no thumbnail"))?).await
    }
}
