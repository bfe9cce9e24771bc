//! Hello, frames, close codes, encodings, limits of connections and rates.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_tungstenite::tungstenite::Message;

use crate::harness::{Answer, Client, Server, nonce};

#[tokio::test]
async fn hello_tells_who_where_and_every_limit() {
    let server = Server::shared().await;
    let (user, client) = server.client("Ada").await;
    let hello = &client.hello;
    assert_eq!(hello["user"]["userId"], user.id);
    assert_eq!(hello["sessionId"], user.session_id);
    assert_eq!(hello["heartbeatMs"], 15_000);
    assert!(hello["connectionId"].is_string() && hello["server"]["version"].is_string());
    assert!(hello["server"]["time"].as_str().unwrap().ends_with('Z'));
    let limits = &hello["limits"];
    for (name, value) in [
        ("frameBytes", json!(65_536)),
        ("roomsPerSubscribe", json!(1000)),
        ("maxCatchUp", json!(1000)),
        ("messageLength", json!(10_000)),
        ("passwordLength", json!([8, 256])),
        ("inviteMaxUses", json!([1, 5, 10, 25, 50, 100, 0])),
        ("countCap", json!(100)),
        ("nonceKeepMs", json!(604_800_000)),
    ] {
        assert_eq!(limits[name], value, "{name}");
    }
    assert_eq!(limits.as_object().unwrap().len(), 75);
    assert_eq!(limits["rates"]["webhook"], json!({ "points": 30, "perMs": 60_000, "blockMs": 60_000 }));
}

#[tokio::test]
async fn nothing_is_answered_before_hello_and_hello_is_said_once() {
    let server = Server::shared().await;
    let user = server.user("Ada").await;
    let mut client = Client::open(&server).await;
    assert_eq!(client.refused("room.list", json!({})).await, "unauthenticated");
    assert_eq!(client.refused("session.ping", json!({})).await, "unauthenticated");
    client.ok("session.hello", json!({ "token": user.token, "client": { "name": "t", "version": "1" } })).await;
    assert_eq!(client.refused("session.hello", json!({ "token": user.token })).await, "bad_request");
    client.ok("session.ping", json!({})).await;
}

#[tokio::test]
async fn a_hello_with_a_bad_token_is_answered_and_closed() {
    let server = Server::shared().await;
    for data in [json!({ "token": "nonsense" }), json!({ "token": "" }), json!({})] {
        let mut client = Client::open(&server).await;
        assert_eq!(client.refused("session.hello", data).await, "unauthenticated");
        assert_eq!(client.closed().await.0, 4401);
    }
}

#[tokio::test]
async fn a_connection_that_says_no_hello_is_closed() {
    let server = Server::shared().await;
    let began = Instant::now();
    let mut client = Client::open(&server).await;
    assert_eq!(client.closed().await.0, 4408);
    let waited = began.elapsed();
    assert!(waited > Duration::from_secs(8) && waited < Duration::from_secs(13), "{waited:?}");
}

#[tokio::test]
async fn subprotocols_are_chosen_among_those_that_are_known() {
    let server = Server::shared().await;
    for (offered, chosen) in [
        (None, Value::Null),
        (Some("parlour.v1.json"), json!("parlour.v1.json")),
        (Some("parlour.v1.msgpack"), json!("parlour.v1.msgpack")),
        (Some("other, parlour.v1.json"), json!("parlour.v1.json")),
    ] {
        let headers: Vec<_> = offered.iter().map(|name| ("sec-websocket-protocol", *name)).collect();
        // A strict client refuses an answer that it did not ask for.
        let client = Client::open_with(&server, &headers).await.unwrap();
        assert_eq!(client.hello["subprotocol"], chosen, "{offered:?}");
    }
    let refused = Client::open_with(&server, &[("sec-websocket-protocol", "parlour.v9.json, soap")]).await;
    let refused = refused.err().unwrap();
    assert_eq!((refused.status, &refused.body["code"]), (400, &json!("unsupported")));
}

#[tokio::test]
async fn a_plain_get_of_the_socket_is_refused() {
    let server = Server::shared().await;
    let answer = server.get("/v1/ws", None).await;
    assert!((400..500).contains(&answer.status), "{answer:?}");
}

#[tokio::test]
async fn what_is_no_frame_closes_with_4400() {
    let server = Server::shared().await;
    let user = server.user("Ada").await;
    for bad in [
        "",
        "nonsense",
        "[]",
        "7",
        "null",
        r#"{"op":"session.ping"}"#,
        r#"{"id":1}"#,
        r#"{"id":0,"op":"session.ping"}"#,
        r#"{"id":-1,"op":"session.ping"}"#,
        r#"{"id":1.5,"op":"session.ping"}"#,
        r#"{"id":"1","op":"session.ping"}"#,
        r#"{"id":9007199254740992,"op":"session.ping"}"#,
        r#"[1,"session.ping",{}]"#,
        r#"{"id":1,"op":7}"#,
    ] {
        let mut client = Client::of(&server, &user).await;
        client.send_text(bad).await;
        assert_eq!(client.closed().await.0, 4400, "{bad}");
    }
    // Also before hello.
    let mut client = Client::open(&server).await;
    client.send_text("nonsense").await;
    assert_eq!(client.closed().await.0, 4400);
}

#[tokio::test]
async fn malformed_data_under_a_good_id_is_an_error_and_no_close() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    for (op, data, field) in [
        ("message.send", json!({ "message": "x" }), json!("/roomId")),
        ("message.send", json!({ "roomId": "x", "message": "x" }), json!("/roomId")),
        ("message.send", json!({ "roomId": room, "message": 7 }), json!("/message")),
        ("message.send", json!({ "roomId": room, "message": "x", "nonce": "" }), json!("/nonce")),
        ("message.send", json!({ "roomId": room, "message": "x", "nonce": "n".repeat(65) }), json!("/nonce")),
        ("message.send", json!({ "roomId": room, "message": "x", "type": "System" }), json!("/type")),
        ("message.send", json!({ "roomId": room, "message": "a\u{0}b" }), json!("/message")),
        ("message.list", json!({ "roomId": room, "limit": 0 }), json!("/limit")),
        ("message.list", json!({ "roomId": room, "limit": 1001 }), json!("/limit")),
        ("message.list", json!({ "roomId": room, "cursor": "1" }), json!("/cursor")),
        ("room.create", json!({ "name": " " }), json!("/name")),
        ("room.create", json!({ "name": "x", "slowmodeMs": 0 }), json!("/slowmodeMs")),
        (
            "room.subscribe",
            json!({ "rooms": [{ "roomId": room, "since": { "epoch": "e", "seq": -1 } }] }),
            json!("/rooms/0/since/seq"),
        ),
        ("room.list", json!([]), Value::Null),
        ("room.list", json!("x"), Value::Null),
    ] {
        let error = client.error(op, data.clone()).await;
        assert_eq!(error["code"], "bad_request", "{op} {data}");
        assert_eq!(error.get("field").unwrap_or(&Value::Null), &field, "{op} {data}");
    }
    client.ok("session.ping", json!({})).await;
}

#[tokio::test]
async fn unknown_operations_are_unsupported() {
    let server = Server::shared().await;
    let (user, mut client) = server.client("Ada").await;
    for op in ["message.shout", "", "Message.send", "session"] {
        assert_eq!(client.refused(op, json!({ "any": [1] })).await, "unsupported", "{op}");
    }
    assert_eq!(server.rpc(&user, "message.shout", &json!({})).await.refused(), (400, "unsupported"));
    let ops = ["session.hello", "session.ping", "session.refresh", "room.subscribe", "room.unsubscribe"];
    for op in ops {
        let data = json!({ "token": "x", "rooms": [{ "roomId": user.id }], "roomIds": [user.id] });
        assert_eq!(server.rpc(&user, op, &data).await.refused(), (400, "unsupported"), "{op} exists on sockets alone");
    }
}

#[tokio::test]
async fn an_absent_data_is_empty() {
    let server = Server::shared().await;
    let (user, mut client) = server.client("Ada").await;
    client.send_text(r#"{"id":900,"op":"room.list"}"#).await;
    assert!(client.reply(900).await.is_ok());
    client.send_text(r#"{"id":901,"op":"room.list","data":null,"extra":[{}]}"#).await;
    assert!(client.reply(901).await.is_ok());
    let request = server.request(Method::POST, "/v1/rpc/room.list").bearer_auth(&user.token);
    let answer = Answer::of(request.header("content-type", "application/json").body("")).await;
    assert_eq!(answer.ok(), &json!({}));
}

#[tokio::test]
async fn an_id_can_be_used_again_once_it_is_answered() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    for _ in 0..3 {
        client.send_text(r#"{"id":9007199254740991,"op":"room.list"}"#).await;
        assert!(client.reply(9_007_199_254_740_991).await.is_ok());
    }
}

#[tokio::test]
async fn an_id_in_flight_cannot_be_used_again() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    let send = |nonce: String| {
        json!({ "id": 77, "op": "message.send", "data": { "roomId": room, "message": "x", "nonce": nonce } })
            .to_string()
    };
    // Both lie in the server's buffer before the first can be stored.
    client.begin("room.list", json!({})).await;
    client.send_text(&send(nonce())).await;
    client.send_text(&send(nonce())).await;
    let (mut answers, mut refused) = (0, 0);
    while answers < 2 {
        let frame = client.frame().await;
        if frame["id"] == 77 {
            answers += 1;
            refused += u32::from(frame["error"]["code"] == "bad_request");
        }
    }
    assert_eq!(refused, 1);
}

#[tokio::test]
async fn frames_over_the_limit_close_with_1009() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let frame = |bytes: usize| {
        let empty = r#"{"id":5,"op":"room.list","x":""}"#.len();
        format!(r#"{{"id":5,"op":"room.list","x":"{}"}}"#, "x".repeat(bytes - empty))
    };
    client.send_text(&frame(65_536)).await;
    assert!(client.reply(5).await.is_ok());
    client.send_text(&frame(65_537)).await;
    assert_eq!(client.closed().await.0, 1009);
    let mut early = Client::open(&server).await;
    early.send_text(&frame(16_384)).await;
    assert_eq!(early.reply(5).await.unwrap_err()["code"], "unauthenticated");
    early.send_text(&frame(16_385)).await;
    assert_eq!(early.closed().await.0, 1009);
}

#[tokio::test]
async fn frames_of_the_wrong_kind_close_with_1003() {
    let server = Server::shared().await;
    let (user, mut client) = server.client("Ada").await;
    client.send(Message::binary(br#"{"id":1,"op":"room.list"}"#.to_vec())).await;
    assert_eq!(client.closed().await.0, 1003);
    let mut client = Client::open_with(&server, &[("sec-websocket-protocol", "parlour.v1.msgpack")]).await.unwrap();
    client.send_text(&json!({ "id": 1, "op": "session.hello", "data": { "token": user.token } }).to_string()).await;
    assert_eq!(client.closed().await.0, 1003);
}

#[tokio::test]
async fn invalid_utf_8_closes_with_1007() {
    let server = Server::shared().await;
    let (mut client, mut raw) = raw_client(&server).await;
    // A masked text frame of two bytes that are no UTF-8; the mask is zero.
    raw.write_all(&[0x81, 0x82, 0, 0, 0, 0, 0xff, 0xfe]).await.unwrap();
    assert_eq!(client.closed().await.0, 1007);
}

#[tokio::test]
async fn bl_107_fragments_count_together() {
    let server = Server::shared().await;
    let (mut client, mut raw) = raw_client(&server).await;
    let mut fragment = vec![0x01, 0xfe, 0x20, 0x00, 0, 0, 0, 0];
    fragment.extend([b'x'; 0x2000]);
    for _ in 0..12 {
        if raw.write_all(&fragment).await.is_err() {
            break;
        }
        fragment[0] = 0x00;
    }
    assert_eq!(client.closed().await.0, 1009);
}

/// A client with a second handle on its stream, to write bytes that are no good frames.
async fn raw_client(server: &Server) -> (Client, tokio::net::TcpStream) {
    let user = server.user("Ada").await;
    Client::with_raw(server, &user).await
}

#[tokio::test]
async fn bl_115_a_connection_that_answers_no_ping_is_closed() {
    let server = Server::shared().await;
    let (client, mut raw) = raw_client(&server).await;
    let began = Instant::now();
    // Read by hand, so that nothing answers the pings.
    let (mut pings, mut code) = (0, 0);
    while code == 0 {
        let [head, length] = [raw.read_u8().await.unwrap(), raw.read_u8().await.unwrap()];
        let length = match length {
            126 => usize::from(raw.read_u16().await.unwrap()),
            short => usize::from(short),
        };
        let mut payload = vec![0; length];
        raw.read_exact(&mut payload).await.unwrap();
        match head {
            0x89 => pings += 1,
            0x88 => code = u16::from_be_bytes([payload[0], payload[1]]),
            _ => {}
        }
    }
    assert_eq!(code, 4408);
    assert!(pings >= 1);
    let waited = began.elapsed();
    assert!(waited > Duration::from_secs(30) && waited < Duration::from_secs(45), "{waited:?}");
    drop(client);
}

#[tokio::test]
async fn too_many_connections_of_a_user_are_turned_away() {
    let server = Server::with(&[("PARLOUR_LIMITS_CONNECTIONS_PER_USER", "2")]).await;
    let user = server.user("Ada").await;
    let (first, _second) = (Client::of(&server, &user).await, Client::of(&server, &user).await);
    let mut third = Client::open(&server).await;
    third.begin("session.hello", json!({ "token": user.token })).await;
    let (code, reason) = third.closed().await;
    assert_eq!(code, 4429);
    assert!(reason.starts_with("retryAfterMs="), "{reason}");
    // Others are not concerned, and a place that becomes free can be taken.
    let other = server.user("Bob").await;
    Client::of(&server, &other).await;
    drop(first);
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let mut again = Client::open(&server).await;
        if again.call_or_closed("session.hello", json!({ "token": user.token })).await {
            break;
        }
        assert!(Instant::now() < deadline, "the place is not given back");
    }
}

#[tokio::test]
async fn too_many_frames_close_with_4429() {
    let server =
        Server::with(&[("PARLOUR_LIMITS_FRAMES_PER_SECOND", "10"), ("PARLOUR_LIMITS_FRAME_BURST", "50")]).await;
    let (_, mut client) = server.client("Ada").await;
    for id in 1000..1200 {
        client.send_text_leniently(&format!(r#"{{"id":{id},"op":"session.ping"}}"#)).await;
    }
    let (code, reason) = client.closed().await;
    assert_eq!(code, 4429);
    let wait: u64 = reason.strip_prefix("retryAfterMs=").unwrap().parse().unwrap();
    assert!(wait <= 60_000);
}

#[tokio::test]
async fn commands_over_the_budget_are_refused_with_a_time_to_wait() {
    let server = Server::with(&[("PARLOUR_RATES_STANDARD_POINTS", "10")]).await;
    let (user, mut client) = server.client("Ada").await;
    for _ in 0..30 {
        client.ok("session.ping", json!({})).await;
    }
    let mut taken = 0;
    let error = loop {
        match client.call("room.list", json!({})).await {
            Ok(_) => taken += 1,
            Err(error) => break error,
        }
        assert!(taken <= 10);
    };
    assert_eq!(taken, 10, "pings and hello cost nothing");
    assert_eq!(error["code"], "rate_limited");
    let wait = error["retryAfterMs"].as_u64().unwrap();
    assert!(wait > 0 && wait <= 60_000, "{wait}");
    let answer = server.rpc(&user, "room.list", &json!({})).await;
    assert_eq!(answer.refused(), (429, "rate_limited"), "one budget for both ways in");
    let wait = answer.body["retryAfterMs"].as_u64().unwrap();
    assert_eq!(answer.header("retry-after"), wait.div_ceil(1000).to_string());
    // A budget is one person's.
    let other = server.user("Bob").await;
    server.rpc(&other, "room.list", &json!({})).await.ok();
}

#[tokio::test]
async fn a_ping_tells_the_heads_that_changed() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    client.subscribe(&room).await;
    let reply = client.ok("session.ping", json!({})).await;
    assert!(reply["time"].as_str().unwrap().ends_with('Z'));
    client.say(&room, "one").await;
    client.say(&room, "two").await;
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let reply = client.ok("session.ping", json!({})).await;
        if reply["heads"] == json!({ (room.clone()): 2 }) {
            break;
        }
        assert!(Instant::now() < deadline, "{reply}");
    }
    let reply = client.ok("session.ping", json!({})).await;
    assert!(reply.get("heads").is_none(), "told once: {reply}");
}

#[tokio::test]
async fn message_pack_carries_the_same_model() {
    let server = Server::shared().await;
    let user = server.user("Ada").await;
    let mut client = Client::open_with(&server, &[("sec-websocket-protocol", "parlour.v1.msgpack")]).await.unwrap();
    let hello = client.packed("session.hello", json!({ "token": user.token })).await;
    assert_eq!(hello["data"]["user"]["userId"], user.id);
    assert_eq!(hello["data"]["limits"]["frameBytes"], 65_536);
    let room = client.packed("room.create", json!({ "name": "Tea" })).await["data"]["room"]["roomId"].clone();
    let reply = client.packed("room.subscribe", json!({ "rooms": [{ "roomId": room }] })).await;
    assert_eq!(reply["data"]["rooms"][0]["verdict"], "live");
    let reply = client.packed("message.send", json!({ "roomId": room, "message": "hëllo <b>", "nonce": "n" })).await;
    let message = reply["data"]["message"].clone();
    assert_eq!(message["message"], "hëllo &lt;b&gt;");
    assert_eq!((&message["seq"], message["rowKey"].as_str().unwrap().len()), (&json!(1), 30));
    let event = client.packed_event("message.created").await;
    assert_eq!(event["data"]["message"], message);
    let error = client.packed("message.send", json!({ "roomId": "x" })).await;
    assert_eq!((&error["error"]["code"], &error["error"]["field"]), (&json!("bad_request"), &json!("/roomId")));
    // The same by JSON.
    let mut other = Client::of(&server, &user).await;
    let list = other.ok("message.list", json!({ "roomId": room })).await;
    assert_eq!(list["items"][0], message);
}

#[tokio::test]
async fn bl_111_bad_message_pack_closes_with_4400() {
    let server = Server::shared().await;
    let user = server.user("Ada").await;
    for bad in [
        b"\xc1".as_slice(),
        b"",
        b"\x93\x01\x02\x03",
        b"\xdb\x7f\xff\xff\xff",
        b"\xdd\xff\xff\xff\xff",
        b"\x83\xa2id\x01\xa2op\xa9room.list\xa4data\xc4\x01x",
        b"\x83\xa2id\x01\xa2op\xa9room.list\xa4data\xd4\x01x",
        b"\x82\xa2id\x00\xa2op\xa9room.list",
    ] {
        let mut client = Client::open_with(&server, &[("sec-websocket-protocol", "parlour.v1.msgpack")]).await.unwrap();
        client.packed("session.hello", json!({ "token": user.token })).await;
        client.send(Message::binary(bad.to_vec())).await;
        assert_eq!(client.closed().await.0, 4400, "{bad:x?}");
    }
}

#[tokio::test]
async fn the_server_tells_how_it_is() {
    let server = Server::shared().await;
    assert_eq!(server.get("/healthz", None).await.ok()["status"], "ok");
    let ready = server.get("/readyz", None).await;
    assert_eq!((&ready.ok()["status"], &ready.body["backends"]["store"]), (&json!("ready"), &json!("ok")));
    let document = server.get("/v1/asyncapi.json", None).await;
    assert_eq!(document.ok()["asyncapi"], "3.0.0");
    assert!(document.body["operations"]["message.send"].is_object());
    let metrics = Answer::of(server.request(Method::GET, "/metrics")).await;
    assert_eq!(metrics.status, 200, "metrics are there on loopback");
    assert!(
        metrics.header("content-type").starts_with("text/plain")
            || metrics.header("content-type").contains("openmetrics")
    );
    let lost = server.get("/v1/nowhere", None).await;
    assert_eq!(lost.status, 404);
}

#[tokio::test]
async fn commands_over_http_answer_the_same_as_on_the_socket() {
    let server = Server::shared().await;
    let (user, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    let data = json!({ "roomId": room, "message": "hello", "nonce": nonce() });
    let answer = server.rpc(&user, "message.send", &data).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.body, client.ok("message.send", data).await, "the repeat answers the first result");
    let bad = server.rpc(&user, "message.send", &json!({ "roomId": room, "message": 7 })).await;
    assert_eq!(bad.refused(), (400, "bad_request"));
    assert_eq!(bad.body["field"], "/message");
    let absent = json!({ "roomId": room, "rowKey": "0".repeat(30), "message": "x" });
    assert_eq!(server.rpc(&user, "message.edit", &absent).await.refused(), (404, "not_found"));
    let foreign = json!({ "roomId": "00000000-0000-4000-8000-000000000001" });
    assert_eq!(server.rpc(&user, "room.get", &foreign).await.refused(), (403, "forbidden"));
    let request = server.request(Method::POST, "/v1/rpc/room.list").bearer_auth(&user.token);
    assert_eq!(Answer::of(request.header("content-type", "text/plain").body("{}")).await.refused().0, 415);
    let big = json!({ "roomId": room, "message": "x".repeat(2_097_152) });
    assert_eq!(server.rpc(&user, "message.send", &big).await.status, 413);
    // Over HTTP a body may be larger than a frame.
    let long = json!({ "roomId": room, "message": "👍".repeat(10_000), "extra": "x".repeat(100_000) });
    server.rpc(&user, "message.send", &long).await.ok();
}

#[tokio::test]
async fn a_bad_neighbour_harms_nobody() {
    let server = Server::shared().await;
    let (_, mut ada) = server.client("Ada").await;
    let (eve, mut bob) = server.client("Bob").await;
    let room = ada.room("Tea").await;
    ada.bring(&room, &mut bob).await;
    bob.subscribe(&room).await;
    for bad in ["nonsense", "[]", "{}", r#"{"id":1}"#] {
        let mut neighbour = Client::of(&server, &eve).await;
        neighbour.subscribe(&room).await;
        neighbour.send_text(bad).await;
        ada.say(&room, bad).await;
        assert_eq!(neighbour.closed().await.0, 4400);
    }
    for seq in 3..7 {
        assert_eq!(bob.event("message.created").await["seq"], seq);
    }
}
