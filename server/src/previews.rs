//! Link previews: what the first link of a message shows is fetched after the send, in the background, and added to
//! the message. A fetch that fails leaves the message as it is.

pub(crate) mod address;
mod page;

use std::{sync::Arc, time::Duration};

use parlour_protocol::{
    RoomId, RowKey,
    object::{LinkPreview, Message},
};
use reqwest::{Client, header, redirect::Policy};
use tokio::sync::{Mutex, mpsc};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use url::Url;

use self::address::{AddressPolicy, Resolver};
use crate::{
    clock,
    store::{Append, MessageStore, RoomChange},
};

/// Links that wait; beyond it a message gets no preview.
const QUEUE: usize = 256;
/// Fetches at the same time.
const AT_ONCE: usize = 4;
/// Time for one link, its redirects included.
const DEADLINE: Duration = Duration::from_secs(10);
/// Addresses of one link.
const HOPS: usize = 5;
/// Bytes of a page that are read: the head comes first.
const BYTES: usize = 512 * 1024;

/// A link to be looked at.
#[derive(Debug)]
struct Link {
    room_id: RoomId,
    row_key: RowKey,
    body_rev: u32,
    url: Url,
}

/// Takes links to be looked at.
#[derive(Debug)]
pub(crate) struct Previews {
    queue: Option<mpsc::Sender<Link>>,
    policy: AddressPolicy,
}

impl Previews {
    /// Previews are switched off.
    pub(crate) fn off() -> Self {
        Self { queue: None, policy: AddressPolicy::default() }
    }

    /// Starts the workers.
    pub(crate) fn start(
        store: &Arc<dyn MessageStore>,
        policy: AddressPolicy,
        tasks: &TaskTracker,
        stop: &CancellationToken,
    ) -> Result<Self, reqwest::Error> {
        // Only the first one of a process counts.
        drop(rustls::crypto::ring::default_provider().install_default());
        let client = Client::builder()
            .no_proxy()
            .redirect(Policy::none())
            .timeout(DEADLINE)
            .user_agent(concat!("Parlour/", env!("CARGO_PKG_VERSION"), " (link preview)"))
            .dns_resolver(Arc::new(Resolver(policy.clone())))
            .pool_max_idle_per_host(0)
            .build()?;
        let (queue, links) = mpsc::channel(QUEUE);
        let links = Arc::new(Mutex::new(links));
        for _ in 0..AT_ONCE {
            let worker = Worker { store: Arc::clone(store), client: client.clone(), policy: policy.clone() };
            tasks.spawn(worker.run(Arc::clone(&links), stop.clone()));
        }
        Ok(Self { queue: Some(queue), policy })
    }

    /// Looks at the first link of a message that was just stored.
    pub(crate) fn consider(&self, message: &Message) {
        let Some(queue) = self.queue.as_ref().filter(|_| message.r#type.is_markup() && message.link_preview.is_none())
        else {
            return;
        };
        let Some(url) = first_link(&message.message).filter(|url| self.policy.allows_url(url)) else { return };
        let link = Link { room_id: message.room_id, row_key: message.row_key, body_rev: message.body_rev, url };
        if queue.try_send(link).is_err() {
            tracing::debug!("too many links wait for a preview");
        }
    }
}

/// The first link of sanitised HTML.
fn first_link(html: &str) -> Option<Url> {
    let (_, rest) = html.split_once("<a href=\"")?;
    let (address, _) = rest.split_once('"')?;
    Url::parse(&address.replace("&amp;", "&")).ok()
}

struct Worker {
    store: Arc<dyn MessageStore>,
    client: Client,
    policy: AddressPolicy,
}

impl Worker {
    async fn run(self, links: Arc<Mutex<mpsc::Receiver<Link>>>, stop: CancellationToken) {
        loop {
            let next = async { links.lock().await.recv().await };
            let link = tokio::select! {
                () = stop.cancelled() => return,
                link = next => link,
            };
            let Some(link) = link else { return };
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.look_at(link) => {}
            }
        }
    }

    async fn look_at(&self, link: Link) {
        let Link { room_id, row_key, body_rev, url } = link;
        let fetched = tokio::time::timeout(DEADLINE, self.fetch(url)).await;
        let Ok(Ok(Some(preview))) = fetched else {
            tracing::debug!(room.id = %room_id, "a link has no preview");
            return;
        };
        let append = Append {
            room_id,
            now: clock::now_nanos(),
            cause: None,
            generation: self.store.generation(),
            change: RoomChange::SetPreview { row_key, body_rev, preview: Box::new(preview) },
        };
        if let Err(error) = self.store.append(append).await.await {
            tracing::debug!(%error, "a preview was not stored");
        }
    }

    /// Follows a link, looking at every address on the way.
    async fn fetch(&self, mut url: Url) -> Result<Option<LinkPreview>, reqwest::Error> {
        for _ in 0..HOPS {
            if !self.policy.allows_url(&url) {
                return Ok(None);
            }
            let mut answer = self.client.get(url.clone()).header(header::ACCEPT, "text/html,*/*;q=0.5").send().await?;
            if answer.status().is_redirection() {
                let location = answer.headers().get(header::LOCATION).and_then(|location| location.to_str().ok());
                let Some(next) = location.and_then(|location| url.join(location).ok()) else { return Ok(None) };
                url = next;
                continue;
            }
            if !answer.status().is_success() {
                return Ok(None);
            }
            let kind =
                answer.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
            let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
            if kind != "text/html" && kind != "application/xhtml+xml" {
                return Ok(other(&url, &kind));
            }
            let mut bytes = Vec::new();
            while let Some(chunk) = answer.chunk().await? {
                let left = BYTES - bytes.len();
                bytes.extend_from_slice(&chunk[..chunk.len().min(left)]);
                if bytes.len() == BYTES {
                    break;
                }
            }
            return Ok(page::read(&String::from_utf8_lossy(&bytes), &url, &self.policy));
        }
        Ok(None)
    }
}

/// The preview of a picture, sound or film, which is not read.
fn other(url: &Url, kind: &str) -> Option<LinkPreview> {
    let media_type = kind.split('/').next().filter(|kind| matches!(*kind, "image" | "audio" | "video"))?;
    if url.as_str().len() > 2048 {
        return None;
    }
    Some(LinkPreview {
        url: url.to_string(),
        media_type: media_type.to_owned(),
        content_type: kind.to_owned(),
        title: String::new(),
        description: String::new(),
        site_name: String::new(),
        images: if media_type == "image" { vec![url.to_string()] } else { Vec::new() },
        favicons: Vec::new(),
        videos: Vec::new(),
    })
}
