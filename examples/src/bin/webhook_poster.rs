//! Posts each line of its input to a room through a webhook. The address is all it needs.
//!
//! echo "build 42 is green" | cargo run -p parlour-examples --bin webhook_poster -- "http://127.0.0.1:8080/v1/webhooks/…/…"

use std::{io::BufRead as _, time::Duration};

use anyhow::{Context as _, bail};
use clap::Parser;
use parlour_client::protocol::Nonce;
use reqwest::{Client, StatusCode, header::RETRY_AFTER};
use serde_json::json;

/// Posts each line of its input to a room through a webhook.
#[derive(Debug, Parser)]
struct Arguments {
    /// The webhook's address, as it was shown when the webhook was made
    #[arg(env = "PARLOUR_WEBHOOK", hide_env_values = true)]
    url: String,
    /// The sender's name; the webhook's own by default
    #[arg(long)]
    name: Option<String>,
    /// How often a line is tried
    #[arg(long, default_value_t = 5)]
    tries: u32,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let tls = rustls::crypto::ring::default_provider().install_default();
    tls.ok().context("another implementation of TLS is in place")?;
    let http = Client::builder().timeout(Duration::from_secs(20)).build()?;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        if !line.trim().is_empty() {
            post(&http, &arguments, &line).await?;
        }
    }
    Ok(())
}

/// Posts one line. All its tries carry one key, so that it is posted once.
async fn post(http: &Client, arguments: &Arguments, line: &str) -> anyhow::Result<()> {
    let key = Nonce::random();
    let mut body = json!({ "content": line });
    if let Some(name) = &arguments.name {
        body["username"] = json!(name);
    }
    for attempt in 1..=arguments.tries {
        let request = http.post(&arguments.url).header("Idempotency-Key", key.as_str()).json(&body);
        let wait = match request.send().await {
            Ok(answer) if answer.status().is_success() => return Ok(()),
            Ok(answer) if answer.status() == StatusCode::TOO_MANY_REQUESTS || answer.status().is_server_error() => {
                let seconds = answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
                Duration::from_secs(seconds.unwrap_or(u64::from(attempt)))
            }
            Ok(answer) => {
                let status = answer.status();
                bail!("the webhook refused with {status}: {}", answer.text().await.unwrap_or_default());
            }
            Err(error) if attempt == arguments.tries => return Err(error).context("the server cannot be reached"),
            Err(_) => Duration::from_secs(u64::from(attempt)),
        };
        tokio::time::sleep(wait).await;
    }
    bail!("the webhook did not take the line in {} tries", arguments.tries)
}
