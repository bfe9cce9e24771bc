//! How connections end, and what those do who never begin one.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::{io::AsyncWriteExt, net::TcpStream};

use crate::{
    harness::{Client, Server, unique},
    provider,
};

/// Sends without waiting for each answer.
async fn flood(client: &mut Client, room: &str, count: usize) -> u64 {
    let text = "x".repeat(9_900);
    let mut ids = Vec::new();
    for _ in 0..count {
        ids.push(client.begin("message.send", json!({ "roomId": room, "message": text })).await);
    }
    let mut last = 0;
    for id in ids {
        last = client.reply(id).await.unwrap()["message"]["seq"].as_u64().unwrap();
    }
    last
}

#[tokio::test]
async fn who_is_behind_again_and_again_is_closed_with_4413() {
    let server = Server::shared().await;
    let (room, (_, mut client), (bob, first)) = server.two_in_a_room().await;
    drop(first);
    let mut slow = Client::with_small_buffer(&server, &bob).await;
    slow.subscribe(&room).await;
    let mut resyncs = 0;
    for _ in 0..20 {
        // More than any socket buffer and queue, unread; then all of it is read at once.
        let last = flood(&mut client, &room, 500).await;
        let mut position = 0;
        while position < last {
            match slow.frame_or_close().await {
                Ok(frame) if frame["event"] == "room.behind" => {
                    resyncs += 1;
                    if frame["data"]["verdict"] == "gap" {
                        position = frame["data"]["head"].as_u64().unwrap();
                    }
                }
                Ok(frame) if frame["event"] == "room.catchUp" => {
                    position = frame["data"]["seq"].as_u64().unwrap_or(position);
                }
                Ok(frame) if frame.get("roomId").is_some() => position = frame["seq"].as_u64().unwrap_or(position),
                Ok(_) => {}
                Err(code) => {
                    assert_eq!(code, 4413);
                    assert!(resyncs >= 2, "not at the first time: {resyncs}");
                    // The room goes on, also for the same account.
                    let mut back = Client::of(&server, &bob).await;
                    back.subscribe(&room).await;
                    client.say(&room, "still here").await;
                    assert_eq!(back.event("message.created").await["data"]["message"]["message"], "still here");
                    return;
                }
            }
        }
    }
    panic!("never closed; {resyncs} resyncs");
}

#[tokio::test]
async fn who_ends_the_server_tells_its_clients_1001_and_it_is_gone_in_time() {
    let server = Server::with(&[]).await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    client.say(&room, "before").await;
    let mut silent = Client::open(&server).await;
    let began = Instant::now();
    server.terminate();
    assert_eq!(client.closed().await.0, 1001);
    assert_eq!(silent.closed().await.0, 1001, "before hello too");
    server.ended().await;
    assert!(began.elapsed() < Duration::from_secs(10));
    server.restart().await;
}

#[tokio::test]
async fn bl_117_a_socket_is_told_of_the_end_of_its_token_and_closed_then() {
    let server = provider::server().await;
    // A minute's leeway: these tokens are good for a few seconds more.
    let token = |subject: &str, left: i64| {
        let claims = json!({ "name": unique("Ada"), "sid": subject, "exp": provider::seconds_from_now(left - 60) });
        provider::sign(&provider::claims(subject, claims), provider::SECRET)
    };
    let mut ending = Client::open(&server).await;
    let mut renewed = Client::open(&server).await;
    ending.ok("session.hello", json!({ "token": token("ada", 4) })).await;
    renewed.ok("session.hello", json!({ "token": token("bob", 4) })).await;
    for client in [&mut ending, &mut renewed] {
        let expiring = client.event("session.expiring").await;
        let left = expiring["data"]["inMs"].as_u64().unwrap();
        assert!(left <= 4000, "{left}");
    }
    renewed.ok("session.refresh", json!({ "token": token("bob", 600) })).await;
    assert_eq!(ending.closed().await.0, 4401);
    renewed.ok("session.ping", json!({})).await;
}

#[tokio::test]
async fn thousands_of_silent_sockets_stop_nobody() {
    let server = Server::with(&[("PARLOUR_LIMITS_CONNECTIONS_PER_ADDRESS", "10000")]).await;
    let mut held = Vec::new();
    for number in 0..2000 {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        if number % 2 == 0 {
            stream.write_all(b"GET /v1/ws HTTP/1.1\r\nHost: x\r\nUpgr").await.unwrap();
        }
        held.push(stream);
    }
    let mut upgraded = Vec::new();
    for _ in 0..20 {
        let opened = futures_util::future::join_all((0..50).map(|_| Client::open(&server)));
        upgraded.extend(opened.await);
    }
    let began = Instant::now();
    let (room, (_, mut client), (_, mut other)) = server.two_in_a_room().await;
    other.subscribe(&room).await;
    for number in 0..50 {
        client.say(&room, &number.to_string()).await;
        assert_eq!(other.event("message.created").await["data"]["message"]["message"], number.to_string());
    }
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    drop((held, upgraded));
}
