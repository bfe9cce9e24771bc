//! Links that break, a NATS that restarts, nodes that die or are restarted in turn.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{
    harness::{Client, nonce},
    nodes::{Nodes, Reader, bus_of, send, wait_for_bus},
};

/// The bound for what the bus did not bring, and what a busy machine of a test may add.
const LATE: Duration = Duration::from_secs(7);

#[tokio::test]
async fn a_link_cut_for_ten_seconds_under_load_loses_and_doubles_nothing() {
    let Some(nodes) = Nodes::start().await else { return };
    let (room, (_, mut owner), (_, member)) = nodes.two_in_a_room().await;
    let mut reader = Reader::of(member, &room).await;
    nodes.link.cut();
    let (mut sent, mut last) = (Vec::new(), 0);
    let cut_at = Instant::now();
    while cut_at.elapsed() < Duration::from_secs(10) {
        let text = format!("{}", sent.len());
        last = send(&mut owner, &room, &text).await.0;
        sent.push(text);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Ready all the while, and honest; what was sent comes by the store.
    assert_eq!((bus_of(&nodes.two).await.as_str(), bus_of(&nodes.one).await.as_str()), ("down", "ok"));
    tokio::time::timeout(LATE, reader.read_to(last)).await.expect("from the store while the link is away");
    nodes.link.mend();
    wait_for_bus(&nodes.two, "ok").await;
    for _ in 0..20 {
        let text = format!("{}", sent.len());
        last = send(&mut owner, &room, &text).await.0;
        sent.push(text);
        reader.read_to(last).await;
    }
    assert_eq!(reader.texts, sent);
    let began = Instant::now();
    let (seq, _) = send(&mut owner, &room, "fast again").await;
    reader.read_to(seq).await;
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
}

#[tokio::test]
async fn bl_005_delivery_resumes_by_itself_after_nats_was_away() {
    let Some(mut nodes) = Nodes::with_own_nats().await else { return };
    let (room, (_, mut owner), (_, member)) = nodes.two_in_a_room().await;
    let mut reader = Reader::of(member, &room).await;
    nodes.nats.as_mut().unwrap().stop();
    wait_for_bus(&nodes.one, "down").await;
    wait_for_bus(&nodes.two, "down").await;
    let (seq, _) = send(&mut owner, &room, "without a bus").await;
    tokio::time::timeout(LATE, reader.read_to(seq)).await.expect("from the store");
    nodes.nats.as_mut().unwrap().start_again().await;
    wait_for_bus(&nodes.one, "ok").await;
    wait_for_bus(&nodes.two, "ok").await;
    // What was subscribed before is heard again, and so is what is subscribed now.
    let began = Instant::now();
    let (seq, _) = send(&mut owner, &room, "with one").await;
    reader.read_to(seq).await;
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    assert_eq!(reader.texts, ["without a bus", "with one"]);
}

#[tokio::test]
async fn a_node_killed_in_mid_send_loses_nothing_for_those_elsewhere() {
    let Some(nodes) = Nodes::start().await else { return };
    let (room, (ada, mut owner), (_, member)) = nodes.two_in_a_room().await;
    let mut reader = Reader::of(member, &room).await;
    let mut asked: Vec<(u64, String, String)> = Vec::new();
    for number in 0..200 {
        let (text, nonce) = (format!("{number}"), nonce());
        let id = owner.begin("message.send", json!({ "roomId": room, "message": text, "nonce": nonce })).await;
        asked.push((id, text, nonce));
    }
    owner.reply(asked[20].0).await.unwrap();
    nodes.one.kill();
    // As a client does: everything once more, at the other node, under the same nonces.
    let mut again = Client::of(&nodes.two, &ada).await;
    let mut last = 0;
    for (_, text, nonce) in &asked {
        let data = json!({ "roomId": room, "message": text, "nonce": nonce });
        let reply = again.ok("message.send", data).await;
        last = last.max(reply["message"]["seq"].as_u64().unwrap());
    }
    tokio::time::timeout(LATE, reader.read_to(last)).await.expect("what died unpublished comes by the store");
    let mut texts: Vec<u32> = reader.texts.iter().map(|text| text.parse().unwrap()).collect();
    texts.sort_unstable();
    assert_eq!(texts, (0..200).collect::<Vec<_>>(), "each once");
    reader.assert_row_keys_are_in_order();
}

#[tokio::test]
async fn bl_023_nodes_restarted_in_turn_under_load_lose_and_double_nothing() {
    let Some(nodes) = Nodes::start().await else { return };
    let (room, (ada, mut owner), (bob, member)) = nodes.two_in_a_room().await;
    let mut reader = Reader::of(member, &room).await;
    let (mut sent, mut last) = (0_u32, 0);
    // Each in turn is the one that goes: first the reader's, then the writer's.
    for round in 0..2 {
        let (going, staying) = if round % 2 == 0 { (&nodes.two, &nodes.one) } else { (&nodes.one, &nodes.two) };
        for _ in 0..20 {
            last = send(&mut owner, &room, &sent.to_string()).await.0;
            sent += 1;
        }
        going.terminate();
        if round % 2 == 0 {
            assert_eq!(reader_until_close(&mut reader).await, 1001);
            reader.resume_with(Client::of(staying, &bob).await).await;
        } else {
            // In flight while its node goes: answered, or asked again elsewhere.
            let nonce = nonce();
            let data = json!({ "roomId": room, "message": sent.to_string(), "nonce": nonce });
            let answered = owner.call_or_closed("message.send", data.clone()).await;
            owner = Client::of(staying, &ada).await;
            if !answered {
                assert!(owner.call("message.send", data.clone()).await.is_ok());
            }
            let again = owner.ok("message.send", data).await;
            last = again["message"]["seq"].as_u64().unwrap();
            sent += 1;
            going.ended().await;
            going.restart().await;
            reader.resume_with(Client::of(going, &bob).await).await;
            continue;
        }
        going.ended().await;
        going.restart().await;
        for _ in 0..20 {
            last = send(&mut owner, &room, &sent.to_string()).await.0;
            sent += 1;
        }
        reader.resume_with(Client::of(going, &bob).await).await;
    }
    tokio::time::timeout(LATE, reader.read_to(last)).await.unwrap();
    assert_eq!(reader.texts, (0..sent).map(|number| number.to_string()).collect::<Vec<_>>());
}

/// Reads on until the socket closes, and answers the code.
async fn reader_until_close(reader: &mut Reader) -> u16 {
    loop {
        match reader.client.frame_or_close().await {
            Ok(event) if event.get("roomId").is_some() => reader.take(&event),
            Ok(_) => {}
            Err(code) => return code,
        }
    }
}

#[tokio::test]
async fn the_metrics_say_whether_the_bus_is_up() {
    let Some(nodes) = Nodes::start().await else { return };
    let up = metric(&nodes, "parlour_bus_up").await;
    nodes.link.cut();
    wait_for_bus(&nodes.two, "down").await;
    let down = metric(&nodes, "parlour_bus_up").await;
    assert_eq!((up, down), (Value::from(1), Value::from(0)));
}

async fn metric(nodes: &Nodes, name: &str) -> Value {
    let request = nodes.two.request(reqwest::Method::GET, "/metrics");
    let text = request.send().await.unwrap().text().await.unwrap();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("no {name}: {text}"));
    line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap().into()
}
