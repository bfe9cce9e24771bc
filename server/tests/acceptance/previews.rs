//! Link previews: fetched after the send, from public addresses alone.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::harness::{Server, nonce};

/// A web server that answers every path with what it is given, and counts who connects.
async fn site(address: &str, answer: impl Fn(&str) -> String + Send + Sync + 'static) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind(address).await.unwrap();
    let (port, calls) = (listener.local_addr().unwrap().port(), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&calls);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let mut request = vec![0; 4096];
            let length = stream.read(&mut request).await.unwrap_or(0);
            let request = String::from_utf8_lossy(&request[..length]).into_owned();
            let path = request.split(' ').nth(1).unwrap_or("/").to_owned();
            drop(stream.write_all(answer(&path).as_bytes()).await);
        }
    });
    (port, calls)
}

fn page(html: &str) -> String {
    let length = html.len();
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{html}")
}

#[tokio::test]
async fn a_preview_follows_its_message_and_can_be_taken_off() {
    let (port, _) = site("127.0.0.1:0", |path| match path {
        "/moved" => {
            "HTTP/1.1 302 Found\r\nLocation: /page\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_owned()
        }
        _ => page("<title>A page</title><meta property='og:description' content='about tea'>"),
    })
    .await;
    let ports = port.to_string();
    let server = Server::with(&[("PARLOUR_PREVIEWS_NETWORKS", "127.0.0.1"), ("PARLOUR_PREVIEWS_PORTS", &ports)]).await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    client.subscribe(&room).await;
    let text = format!("see [this](http://127.0.0.1:{port}/moved)");
    let send = json!({ "roomId": room, "message": text, "format": "Markdown", "nonce": nonce() });
    let sent = client.ok("message.send", send).await["message"].clone();
    assert!(sent.get("linkPreview").is_none(), "a send waits for nobody");
    let updated = client.event("message.updated").await;
    assert_eq!(updated["data"]["rowKey"], sent["rowKey"]);
    let preview = &updated["data"]["changes"]["linkPreview"];
    assert_eq!((&preview["title"], &preview["description"]), (&json!("A page"), &json!("about tea")));
    assert_eq!(preview["url"], format!("http://127.0.0.1:{port}/page"));
    // s_031
    client.ok("preview.delete", json!({ "roomId": room, "rowKey": sent["rowKey"] })).await;
    let changes = client.event("message.updated").await["data"]["changes"].clone();
    assert_eq!((changes.get("linkPreview"), &changes["isEdited"]), (Some(&json!(null)), &json!(true)));
    let read = client.ok("message.get", json!({ "roomId": room, "rowKeys": [sent["rowKey"]] })).await;
    assert!(read["items"][0].get("linkPreview").is_none());
}

#[tokio::test]
async fn bl_122_nothing_private_is_connected_to() {
    let (trap, caught) = site("127.0.0.2:0", |_| page("<title>secret</title>")).await;
    let (port, calls) = site("127.0.0.1:0", move |path| match path {
        "/redirect" => format!(
            "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.2:{trap}/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        ),
        "/image" => page(&format!("<title>image</title><meta property='og:image' content='http://127.0.0.2:{trap}/'>")),
        _ => page("<title>last</title>"),
    })
    .await;
    let ports = format!("{port},{trap}");
    let server = Server::with(&[("PARLOUR_PREVIEWS_NETWORKS", "127.0.0.1"), ("PARLOUR_PREVIEWS_PORTS", &ports)]).await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    client.subscribe(&room).await;
    for link in [
        format!("http://127.0.0.2:{trap}/"),
        format!("http://[::ffff:127.0.0.2]:{trap}/"),
        format!("http://0.0.0.0:{trap}/"),
        format!("http://169.254.169.254:{trap}/"),
        format!("http://2130706434:{trap}/"),
        format!("http://127.0.0.1:{port}/redirect"),
        format!("http://127.0.0.1:{port}/image"),
        format!("http://127.0.0.1:{port}/last"),
    ] {
        let send = json!({ "roomId": room, "message": format!("<{link}>"), "format": "Markdown", "nonce": nonce() });
        client.ok("message.send", send).await;
    }
    let mut titles = Vec::new();
    for _ in 0..2 {
        let preview = client.event("message.updated").await["data"]["changes"]["linkPreview"].clone();
        assert!(preview.get("images").is_none(), "nobody is told to load a private address: {preview}");
        titles.push(preview["title"].as_str().unwrap().to_owned());
    }
    titles.sort();
    assert_eq!(titles, ["image", "last"]);
    assert_eq!(caught.load(Ordering::SeqCst), 0);
    assert_eq!(calls.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn previews_can_be_switched_off() {
    let (port, calls) = site("127.0.0.1:0", |_| page("<title>x</title>")).await;
    let ports = port.to_string();
    let settings = [
        ("PARLOUR_PREVIEWS_ENABLED", "off"),
        ("PARLOUR_PREVIEWS_NETWORKS", "127.0.0.1"),
        ("PARLOUR_PREVIEWS_PORTS", ports.as_str()),
    ];
    let server = Server::with(&settings).await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    let text = format!("<http://127.0.0.1:{port}/>");
    client.ok("message.send", json!({ "roomId": room, "message": text, "format": "Markdown" })).await;
    assert_eq!(calls.load(Ordering::SeqCst), 0);
}
