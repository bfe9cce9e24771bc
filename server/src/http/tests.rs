//! The HTTP surface against a whole server in this process.

mod accounts;
mod costs;
mod jwt;
mod limits;
mod sockets;
mod surface;

use reqwest::{Method, RequestBuilder, StatusCode, header::HeaderMap};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::{
    app::{App, AppState},
    config::{Config, Flag, Settings},
};

const PASSWORD: &str = "correct horse battery";

/// A server on a free port with a folder of its own.
struct TestServer {
    address: String,
    client: reqwest::Client,
    state: std::sync::Arc<AppState>,
    stop: CancellationToken,
    task: JoinHandle<()>,
    _folder: TempDir,
}

/// An answer that was read whole.
#[derive(Debug)]
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    text: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("not JSON: {}", self.text))
    }

    #[track_caller]
    fn expect(self, status: u16) -> Self {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        self
    }

    /// Checks status and error code.
    #[track_caller]
    fn refused(self, status: u16, code: &str) -> Self {
        let answer = self.expect(status);
        assert_eq!(answer.json()["code"], code, "{}", answer.text);
        answer
    }

    fn text_of(&self, field: &str) -> String {
        self.json()[field].as_str().unwrap_or_else(|| panic!("no {field} in {}", self.text)).to_owned()
    }

    fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The session cookie that was set, as a browser sends it.
    fn cookie(&self) -> String {
        self.header("set-cookie").split(';').next().unwrap_or_default().to_owned()
    }
}

impl TestServer {
    async fn start() -> Self {
        Self::with(&[("rates.auth.points", "1000")]).await
    }

    async fn with(settings: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut flags: Vec<Flag> = settings
            .iter()
            .map(|(name, value)| Flag { flag: String::new(), name: (*name).to_owned(), value: (*value).to_owned() })
            .collect();
        for (name, value) in [("listen", "127.0.0.1:0"), ("data_dir", folder.path().to_str().unwrap())] {
            flags.push(Flag { flag: String::new(), name: name.to_owned(), value: value.to_owned() });
        }
        let config = Config::new(&Settings::load(None, &flags, []).unwrap()).unwrap();
        let app = App::start(config).await.unwrap();
        let (address, state) = (app.address().to_string(), app.state().clone());
        let stop = CancellationToken::new();
        let task = tokio::spawn(app.run(stop.clone().cancelled_owned()));
        drop(rustls::crypto::ring::default_provider().install_default());
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { address, client, state, stop, task, _folder: folder }
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("http://{}{path}", self.address))
    }

    async fn send(&self, request: RequestBuilder) -> Answer {
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        Answer { status, headers, text: response.text().await.unwrap() }
    }

    async fn get(&self, path: &str) -> Answer {
        self.send(self.request(Method::GET, path)).await
    }

    async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(self.request(Method::POST, path).json(&body)).await
    }

    /// With a bearer token.
    async fn post_as(&self, token: &str, path: &str, body: Value) -> Answer {
        self.send(self.request(Method::POST, path).bearer_auth(token).json(&body)).await
    }

    /// With the cookie, from a page of the server.
    async fn post_with_cookie(&self, cookie: &str, path: &str, body: Value) -> Answer {
        let origin = format!("http://{}", self.address);
        let request = self.request(Method::POST, path).header("cookie", cookie).header("origin", origin);
        self.send(request.json(&body)).await
    }

    async fn register(&self, name: &str) -> String {
        let answer = self.post("/v1/auth/register", json!({"name": name, "password": PASSWORD})).await;
        answer.expect(201).text_of("token")
    }

    async fn log_in(&self, name: &str, password: &str) -> Answer {
        self.post("/v1/auth/login", json!({"name": name, "password": password})).await
    }

    /// Whether a token still stands for somebody.
    async fn accepts(&self, token: &str) -> bool {
        self.post_as(token, "/v1/rpc/session.list", json!({})).await.status == 200
    }

    async fn stop(self) {
        self.stop.cancel();
        self.task.await.unwrap();
    }
}
