//! What every store of bytes promises, run against each.

use std::sync::Arc;

use parlour_protocol::Timestamp;
use tempfile::TempDir;
use uuid::Uuid;

use super::{
    Blob, Blobs, Declared, DeclaredSize, HEAD, Purpose, Shown, Signer,
    folder::{FolderBlobs, files_of},
};

const TEXT: Shown<'_> = Shown { filename: "tea \"ü\".txt", mimetype: "text/plain" };

/// A store, and how a client reaches it.
struct Subject {
    blobs: Arc<dyn Blobs>,
    way: Way,
}

enum Way {
    Folder {
        folder: Arc<FolderBlobs>,
        signer: Signer,
        _place: TempDir,
    },
    #[cfg(feature = "azure-blob")]
    Http(reqwest::Client),
}

impl Subject {
    fn folder() -> Self {
        let place = TempDir::new().unwrap();
        let signer = Signer::new([7; 32]);
        let folder = Arc::new(FolderBlobs::open(files_of(place.path()), signer.clone()).unwrap());
        let blobs = Arc::clone(&folder) as Arc<dyn Blobs>;
        Self { blobs, way: Way::Folder { folder, signer, _place: place } }
    }

    /// A container of its own in the account of `PARLOUR_TEST_AZURITE`. None, visibly, without it; a failure then when
    /// `PARLOUR_TEST_REQUIRE_AZURITE` is set.
    #[cfg(feature = "azure-blob")]
    async fn azure() -> Option<Self> {
        let Ok(account) = std::env::var("PARLOUR_TEST_AZURITE") else {
            assert!(std::env::var_os("PARLOUR_TEST_REQUIRE_AZURITE").is_none(), "PARLOUR_TEST_AZURITE is not set");
            eprintln!("SKIPPED: PARLOUR_TEST_AZURITE is not set");
            return None;
        };
        // Another test of this process may have been first.
        drop(rustls::crypto::ring::default_provider().install_default());
        let account = crate::azure::StorageAccount::parse(&account).unwrap();
        let container = format!("test-{}", Uuid::new_v4().simple());
        let blobs = super::azure::AzureBlobs::open(account.clone(), container.clone()).await.unwrap();
        blobs.try_out().await.unwrap();
        drop(blobs);
        // One that is there is opened as well.
        let blobs = super::azure::AzureBlobs::open(account, container).await.unwrap();
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Some(Self { blobs: Arc::new(blobs), way: Way::Http(http) })
    }

    fn upload_url(&self, blob: Blob, mimetype: &str, expires_at: Timestamp) -> String {
        self.blobs.upload_url(blob, Declared { mimetype, size: DeclaredSize::UpTo(1 << 20) }, expires_at)
    }

    /// Brings bytes; whether they are taken.
    async fn bring(&self, url: &str, mimetype: &str, bytes: &[u8]) -> bool {
        match &self.way {
            Way::Folder { folder, signer, .. } => {
                let signed = url.rsplit('/').next().unwrap();
                let Some(signature) = signer.open(signed, Timestamp::now()) else { return false };
                if !matches!(signature.purpose, Purpose::Upload(_)) || signature.mimetype != mimetype {
                    return false;
                }
                let mut incoming = folder.receive().await.unwrap();
                incoming.take(bytes).await.unwrap();
                folder.keep(incoming, signature.blob).await.unwrap();
                true
            }
            #[cfg(feature = "azure-blob")]
            Way::Http(http) => {
                let request = http.put(url).header("content-type", mimetype).header("x-ms-blob-type", "BlockBlob");
                let request = request.header("content-length", bytes.len());
                request.body(bytes.to_vec()).send().await.unwrap().status() == 201
            }
        }
    }

    /// Fetches bytes; none when they are refused.
    async fn fetch(&self, url: &str) -> Option<Vec<u8>> {
        match &self.way {
            Way::Folder { folder, signer, .. } => {
                use tokio::io::AsyncReadExt;
                let signature = signer.open(url.rsplit('/').next().unwrap(), Timestamp::now())?;
                if signature.purpose != Purpose::Download {
                    return None;
                }
                let mut bytes = Vec::new();
                folder.read(signature.blob).await.unwrap()?.read_to_end(&mut bytes).await.unwrap();
                Some(bytes)
            }
            #[cfg(feature = "azure-blob")]
            Way::Http(http) => {
                let answer = http.get(url).send().await.unwrap();
                if !answer.status().is_success() {
                    return None;
                }
                assert_eq!(answer.headers()["content-type"], "text/plain", "whatever it came as");
                let disposition = answer.headers()["content-disposition"].to_str().unwrap();
                assert_eq!(
                    disposition,
                    "attachment; filename=\"tea ___.txt\"; filename*=UTF-8''tea%20%22%C3%BC%22.txt"
                );
                Some(answer.bytes().await.unwrap().to_vec())
            }
        }
    }
}

fn later() -> Timestamp {
    Timestamp::now().plus_millis(60_000)
}

fn blob() -> Blob {
    Blob::original(Uuid::new_v4())
}

async fn what_is_brought_is_measured_and_fetched(subject: Subject) {
    let blob = blob();
    assert_eq!(subject.blobs.measure(blob).await.unwrap(), None);
    let bytes: Vec<u8> = (0..10_000_u32).map(|number| (number % 251) as u8).collect();
    let url = subject.upload_url(blob, "text/plain", later());
    assert!(subject.bring(&url, "text/plain", &bytes).await);
    let measured = subject.blobs.measure(blob).await.unwrap().unwrap();
    assert_eq!((measured.size, measured.head.as_slice()), (10_000, &bytes[..HEAD]));
    assert!(measured.came_as("text/plain"));
    let url = subject.blobs.download_url(blob, TEXT, later());
    assert_eq!(subject.fetch(&url).await, Some(bytes));
    let thumbnail = Blob::thumbnail(blob.file_id);
    assert_eq!(subject.blobs.measure(thumbnail).await.unwrap(), None, "another part");
}

async fn few_bytes_and_none_are_measured(subject: Subject) {
    for bytes in [&b"tea"[..], b""] {
        let blob = blob();
        assert!(subject.bring(&subject.upload_url(blob, "text/plain", later()), "text/plain", bytes).await);
        let measured = subject.blobs.measure(blob).await.unwrap().unwrap();
        assert_eq!((measured.size, measured.head.as_slice()), (bytes.len() as u64, bytes));
    }
}

async fn a_type_that_was_not_declared_does_not_pass(subject: Subject) {
    let blob = blob();
    let url = subject.upload_url(blob, "text/plain", later());
    if subject.bring(&url, "text/html", b"<script>").await {
        assert!(!subject.blobs.measure(blob).await.unwrap().unwrap().came_as("text/plain"));
    }
}

async fn an_address_is_good_for_one_thing_until_it_expires(subject: Subject) {
    let (blob, over) = (blob(), Timestamp::now().plus_millis(-2_000));
    let stale = subject.upload_url(blob, "text/plain", over);
    assert!(!subject.bring(&stale, "text/plain", b"tea").await);
    let upload = subject.upload_url(blob, "text/plain", later());
    assert!(subject.bring(&upload, "text/plain", b"tea").await);
    let download = subject.blobs.download_url(blob, TEXT, later());
    assert_eq!(subject.fetch(&upload).await, None, "an upload address gives nothing");
    assert!(!subject.bring(&download, "text/plain", b"other").await, "a download address takes nothing");
    assert_eq!(subject.fetch(&subject.blobs.download_url(blob, TEXT, over)).await, None);
    // Nor for another name: the end of the path is what is signed.
    let other = download.replace(&blob.to_string(), &Uuid::new_v4().to_string());
    assert!(other == download || subject.fetch(&other).await.is_none());
    assert_eq!(subject.fetch(&download).await, Some(b"tea".to_vec()));
}

async fn a_copy_lives_by_itself(subject: Subject) {
    let (from, to) = (blob(), blob());
    assert!(!subject.blobs.copy(from, to).await.unwrap(), "there is nothing to copy");
    assert!(subject.bring(&subject.upload_url(from, "text/plain", later()), "text/plain", b"tea").await);
    for _ in 0..2 {
        assert!(subject.blobs.copy(from, to).await.unwrap(), "a repeat does no harm");
    }
    for _ in 0..2 {
        subject.blobs.remove(from).await.unwrap();
    }
    assert_eq!(subject.blobs.measure(from).await.unwrap(), None);
    assert_eq!(subject.fetch(&subject.blobs.download_url(from, TEXT, later())).await, None);
    assert_eq!(subject.fetch(&subject.blobs.download_url(to, TEXT, later())).await, Some(b"tea".to_vec()));
}

macro_rules! conformance {
    ($($name:ident),* $(,)?) => {
        mod folder {
            $(
                #[tokio::test]
                async fn $name() {
                    super::$name(super::Subject::folder()).await;
                }
            )*
        }

        #[cfg(feature = "azure-blob")]
        mod azure {
            $(
                #[tokio::test]
                async fn $name() {
                    if let Some(subject) = super::Subject::azure().await {
                        super::$name(subject).await;
                    }
                }
            )*
        }
    };
}

conformance!(
    what_is_brought_is_measured_and_fetched,
    few_bytes_and_none_are_measured,
    a_type_that_was_not_declared_does_not_pass,
    an_address_is_good_for_one_thing_until_it_expires,
    a_copy_lives_by_itself,
);
