//! What ends on one node ends on the other within a second, also while the bus is away.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::{
    harness::{Server, User, nonce},
    nodes::{Nodes, send, wait_for_bus},
};

/// The bound, and what two busy machines of a test may add to it.
const SOON: Duration = Duration::from_millis(1500);

async fn kick_ends_the_feed(nodes: &Nodes) {
    let (room, (_, mut owner), (bob, mut member)) = nodes.two_in_a_room().await;
    member.subscribe(&room).await;
    send(&mut member, &room, "still here").await;
    member.event("message.created").await;
    let began = Instant::now();
    let kick = json!({ "roomId": room, "type": "KickFromRoom", "userId": bob.id, "nonce": nonce() });
    owner.ok("moderation.execute", kick).await;
    member.event("room.unsubscribed").await;
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    send(&mut owner, &room, "in confidence").await;
    let heard = member.settled().await;
    assert!(heard.iter().all(|event| event["event"] != "message.created"), "{heard:?}");
    let data = json!({ "roomId": room, "message": "again", "nonce": nonce() });
    assert_eq!(member.refused("message.send", data).await, "forbidden");
    assert_eq!(member.refused("typing.start", json!({ "roomId": room })).await, "forbidden");
    assert_eq!(member.refused("message.list", json!({ "roomId": room })).await, "forbidden");
}

#[tokio::test]
async fn bl_068_a_kick_on_one_node_ends_the_feed_on_the_other() {
    let Some(nodes) = Nodes::start().await else { return };
    kick_ends_the_feed(&nodes).await;
}

#[tokio::test]
async fn bl_068_a_kick_ends_the_feed_while_the_bus_is_away() {
    let Some(nodes) = Nodes::start().await else { return };
    nodes.link.cut();
    wait_for_bus(&nodes.two, "down").await;
    kick_ends_the_feed(&nodes).await;
}

/// Asks until it is refused so, and answers how long that took.
async fn refused_within(server: &Server, user: &User, op: &str, data: &serde_json::Value, code: &str) -> Duration {
    let began = Instant::now();
    loop {
        let answer = server.rpc(user, op, data).await;
        if answer.status >= 400 && answer.body["code"] == code {
            return began.elapsed();
        }
        assert!(began.elapsed() < Duration::from_secs(10), "{answer:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn filters_and_logged_out_sessions_reach_the_other_node_while_the_bus_is_away() {
    let Some(nodes) = Nodes::start().await else { return };
    nodes.link.cut();
    wait_for_bus(&nodes.two, "down").await;
    let (room, (_, mut owner), (bob, mut member)) = nodes.two_in_a_room().await;
    send(&mut member, &room, "a heron").await;
    owner.ok("filter.set", json!({ "roomId": room, "words": [{ "word": "heron" }] })).await;
    let began = Instant::now();
    loop {
        let data = json!({ "roomId": room, "message": "another heron", "nonce": nonce() });
        if member.call("message.send", data).await.is_err() {
            break;
        }
        assert!(began.elapsed() < SOON, "the other node never learns of the filter");
    }
    // The same account's other session ends this one from the first node.
    let log_in = json!({ "name": bob.name, "password": bob.password });
    let answer = nodes.one.post("/v1/auth/login", None, &log_in).await;
    let token = answer.ok()["token"].as_str().unwrap().to_owned();
    let revoke = json!({ "sessionId": bob.session_id });
    nodes.one.post("/v1/rpc/session.revoke", Some(&token), &revoke).await.ok();
    let took = refused_within(&nodes.two, &bob, "room.list", &json!({}), "unauthenticated").await;
    assert!(took < SOON, "{took:?}");
    assert_eq!(member.closed().await.0, 4401);
}
