//! Sending, repeating, editing, deleting, and what becomes of a body.

use serde_json::{Value, json};

use crate::harness::{Client, Server, items, nonce, texts};

const NEVER: &str = "000000000000000000000000000000";

#[tokio::test]
async fn s_025_a_sent_message_is_the_same_for_all() {
    let server = Server::shared().await;
    let (ada, mut client) = server.client("Ada").await;
    let (_, mut bob) = server.client("Bob").await;
    let room = client.room("Tea").await;
    client.bring(&room, &mut bob).await;
    bob.subscribe(&room).await;
    client.subscribe(&room).await;
    let data = json!({ "roomId": room, "message": "hello <all>\nline two", "nonce": "n-77" });
    let message = client.ok("message.send", data).await["message"].take();
    assert_eq!(message["message"], "hello &lt;all&gt;<br>line two");
    assert_eq!(
        (&message["roomId"], &message["userId"], &message["type"]),
        (&json!(room), &json!(ada.id), &json!("Message"))
    );
    assert_eq!((&message["seq"], &message["rev"], &message["bodyRev"]), (&json!(3), &json!(1), &json!(1)));
    assert_eq!((&message["nonce"], &message["createdAt"]), (&json!("n-77"), &message["updatedAt"]));
    let key = message["rowKey"].as_str().unwrap();
    assert!(key.len() == 30 && key.bytes().all(|byte| byte.is_ascii_digit()), "{key}");
    let nanos: u128 = 10u128.pow(30) - 1 - key.parse::<u128>().unwrap();
    let millis = i64::try_from(nanos / 1_000_000).unwrap();
    let created: jiff::Timestamp = message["createdAt"].as_str().unwrap().parse().unwrap();
    assert_eq!(created.as_millisecond(), millis, "createdAt is the key's time");
    for client in [&mut client, &mut bob] {
        let event = client.room_event().await;
        assert_eq!(
            event,
            json!({
                "event": "message.created", "roomId": room, "seq": 3, "data": { "message": message }
            })
        );
    }
    let moved = client.event("membership.updated").await;
    assert_eq!(moved["data"]["membership"]["lastMessageAt"], message["createdAt"]);
}

#[tokio::test]
async fn a_repeat_with_a_nonce_answers_the_first_result_and_does_nothing() {
    let server = Server::shared().await;
    let (ada, mut client) = server.client("Ada").await;
    let (_, mut bob) = server.client("Bob").await;
    let room = client.room("Tea").await;
    client.bring(&room, &mut bob).await;
    bob.subscribe(&room).await;
    let data = json!({ "roomId": room, "message": "once", "nonce": "n-1" });
    let first = client.ok("message.send", data.clone()).await;
    // Even with another text, over another transport and from another connection.
    let other = json!({ "roomId": room, "message": "twice", "nonce": "n-1" });
    assert_eq!(client.ok("message.send", other.clone()).await, first);
    assert_eq!(server.rpc(&ada, "message.send", &data).await.ok(), &first);
    assert_eq!(Client::of(&server, &ada).await.ok("message.send", other).await, first);
    assert_eq!(bob.room_event().await["data"]["message"], first["message"]);
    assert!(bob.settled().await.iter().all(|event| event["event"] != "message.created"), "announced once");
    // A nonce belongs to a room and an author.
    let second = client.room("Coffee").await;
    let elsewhere = client.ok("message.send", json!({ "roomId": second, "message": "once", "nonce": "n-1" })).await;
    assert_ne!(elsewhere["message"]["roomId"], first["message"]["roomId"]);
    let by_bob = bob.ok("message.send", data.clone()).await;
    assert_ne!(by_bob["message"]["rowKey"], first["message"]["rowKey"]);
    // The first result is the message as it is now.
    let edit = json!({ "roomId": room, "rowKey": first["message"]["rowKey"], "message": "changed" });
    let edited = client.ok("message.edit", edit).await;
    assert_eq!(client.ok("message.send", data.clone()).await["message"]["rev"], edited["message"]["rev"]);
    // And when it is deleted, the repeat says so and tells which it was.
    client.ok("message.delete", json!({ "roomId": room, "rowKey": first["message"]["rowKey"] })).await;
    let error = client.error("message.send", data.clone()).await;
    assert_eq!((&error["code"], &error["rowKey"]), (&json!("not_found"), &first["message"]["rowKey"]));
    let answer = server.rpc(&ada, "message.send", &data).await;
    assert_eq!((answer.refused(), &answer.body["rowKey"]), ((404, "not_found"), &first["message"]["rowKey"]));
}

#[tokio::test]
async fn twenty_repeats_at_once_store_one_message() {
    let server = Server::shared().await;
    let (ada, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    let data = json!({ "roomId": room, "message": "once", "nonce": "n-1" });
    let mut ids = Vec::new();
    for _ in 0..10 {
        ids.push(client.begin("message.send", data.clone()).await);
    }
    let over_http = futures_util::future::join_all((0..10).map(|_| server.rpc(&ada, "message.send", &data))).await;
    let mut keys: Vec<Value> = over_http.iter().map(|answer| answer.ok()["message"]["rowKey"].clone()).collect();
    for id in ids {
        keys.push(client.reply(id).await.unwrap()["message"]["rowKey"].clone());
    }
    assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    assert_eq!(items(&client.ok("message.list", json!({ "roomId": room })).await).len(), 1);
}

#[tokio::test]
async fn sends_of_one_connection_are_stored_in_the_order_received() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    client.subscribe(&room).await;
    let mut ids = Vec::new();
    for number in 0..200 {
        let data = json!({ "roomId": room, "message": format!("{number}"), "nonce": format!("{number}") });
        ids.push(client.begin("message.send", data).await);
    }
    for id in ids {
        client.reply(id).await.unwrap();
    }
    let mut keys = Vec::new();
    for number in 0..200u64 {
        let event = client.event("message.created").await;
        assert_eq!(
            (&event["seq"], &event["data"]["message"]["message"]),
            (&json!(number + 1), &json!(number.to_string()))
        );
        keys.push(event["data"]["message"]["rowKey"].as_str().unwrap().to_owned());
    }
    assert!(keys.is_sorted_by(|older, newer| older > newer), "row keys and seq agree");
}

#[tokio::test]
async fn s_026_a_message_needs_something_in_it() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    for data in [
        json!({ "roomId": room }),
        json!({ "roomId": room, "message": "" }),
        json!({ "roomId": room, "message": "  \n " }),
        json!({ "roomId": room, "message": "<script>alert(1)</script>", "format": "Html" }),
        json!({ "roomId": room, "message": "<p> </p>", "format": "Html" }),
    ] {
        assert_eq!(client.refused("message.send", data.clone()).await, "bad_request", "{data}");
    }
    assert_eq!(items(&client.ok("message.list", json!({ "roomId": room })).await).len(), 0);
}

#[tokio::test]
async fn s_036_only_messages_and_polls_can_be_made_by_members() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    for kind in ["System", "Call", "EditRoom", "PinMessage", "Webhook", "message", ""] {
        let error = client.error("message.send", json!({ "roomId": room, "message": "x", "type": kind })).await;
        assert_eq!((&error["code"], &error["field"]), (&json!("bad_request"), &json!("/type")), "{kind}");
    }
}

#[tokio::test]
async fn bodies_are_read_by_their_format() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    let mut stored = Vec::new();
    for (format, body) in [
        ("Text", "**a** <b>b</b> & \"c\""),
        ("Markdown", "**a** <b>b</b>"),
        ("Html", "<strong>a</strong><script>x</script>"),
    ] {
        let data = json!({ "roomId": room, "message": body, "format": format, "nonce": nonce() });
        stored.push(client.ok("message.send", data).await["message"]["message"].as_str().unwrap().to_owned());
    }
    assert!(stored[0].contains("**a** &lt;b&gt;b&lt;/b&gt; &amp;"), "{}", stored[0]);
    assert!(stored[1].contains("<strong>a</strong>") && !stored[1].contains("<b>"), "{}", stored[1]);
    assert!(stored[2].contains("<strong>a</strong>") && !stored[2].contains("script"), "{}", stored[2]);
}

#[tokio::test]
async fn s_093_nothing_that_runs_is_stored() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    for (format, body) in [
        ("Html", "x<img src=x onerror=alert(1)>"),
        ("Html", "x<a href=\"javascript:alert(1)\">y</a>"),
        ("Html", "x<a href=\" jAvAsCrIpT:alert(1)\">y</a>"),
        ("Html", "x<iframe src=\"https://evil.example\"></iframe>"),
        ("Html", "x<svg><script>alert(1)</script></svg>"),
        ("Html", "x<style>*{}</style><object data=x></object><form action=x><input></form>"),
        ("Html", "x<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>"),
        ("Html", "x<div onclick='alert(1)' style='position:fixed'>y</div>"),
        ("Markdown", "x [y](javascript:alert(1)) ![z](data:text/html,x)"),
        ("Markdown", "x <script>alert(1)</script>"),
        ("Markdown", "x <javascript:alert(1)>"),
    ] {
        let data = json!({ "roomId": room, "message": body, "format": format, "nonce": nonce() });
        let reply = client.ok("message.send", data).await;
        let stored = reply["message"]["message"].as_str().unwrap().to_lowercase();
        for bad in [
            "<script",
            "onerror=",
            "onclick=",
            "href=\"javascript",
            "<iframe",
            "<svg",
            "<style",
            "<object",
            "<form",
            "position",
        ] {
            assert!(!stored.contains(bad), "{body} became {stored}");
        }
    }
}

#[tokio::test]
async fn bl_083_a_body_is_counted_in_characters_and_stored_within_its_bound() {
    let server = Server::shared().await;
    let (ada, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    for letter in ["a", "茶", "ش", "👍"] {
        let body = |count: usize| json!({ "roomId": room, "message": letter.repeat(count), "nonce": nonce() });
        let stored = client.ok("message.send", body(10_000)).await;
        assert_eq!(stored["message"]["message"].as_str().unwrap().chars().count(), 10_000);
        let error = client.error("message.send", body(10_001)).await;
        assert_eq!((&error["code"], &error["field"]), (&json!("bad_request"), &json!("/message")));
    }
    // Within the characters, but stored as four times as many.
    let body = json!({ "roomId": room, "message": "<".repeat(10_000), "nonce": nonce() });
    assert_eq!(client.refused("message.send", body.clone()).await, "bad_request");
    assert_eq!(server.rpc(&ada, "message.send", &body).await.refused(), (400, "bad_request"));
}

#[tokio::test]
async fn mentions_are_those_a_reader_sees() {
    let server = Server::shared().await;
    let (ada, mut client) = server.client("Ada").await;
    let (bob, mut other) = server.client("Bob").await;
    let room = client.room("Tea").await;
    client.bring(&room, &mut other).await;
    let send = |text: String| json!({ "roomId": room, "message": text, "format": "Markdown", "nonce": nonce() });
    let mentions = |reply: Value| reply["message"].get("mentions").cloned().unwrap_or(json!([]));
    let sent = client.ok("message.send", send(format!("<@{}> @here <@{}>", bob.id, ada.id))).await;
    assert_eq!(mentions(sent), json!([bob.id, "@here", ada.id]));
    // bl_076: in code it is text; beside code it still counts.
    let sent = client.ok("message.send", send(format!("`@everyone <@{}>`\n\n```\n@here\n```\n", ada.id))).await;
    assert_eq!(mentions(sent), json!([]));
    let sent = client.ok("message.send", send(format!("`@everyone` <@{}>", bob.id))).await;
    assert_eq!(mentions(sent), json!([bob.id]));
    // As plain text nothing is a mention.
    let plain = json!({ "roomId": room, "message": format!("<@{}> @everyone", bob.id), "nonce": nonce() });
    assert_eq!(mentions(client.ok("message.send", plain).await), json!([]));
}

#[tokio::test]
async fn s_027_and_s_028_an_edit_is_the_authors() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let (_, mut bob) = server.client("Bob").await;
    let (_, mut cy) = server.client("Cy").await;
    let room = owner.room("Tea").await;
    owner.bring(&room, &mut bob).await;
    owner.bring(&room, &mut cy).await;
    cy.subscribe(&room).await;
    let message = bob.say(&room, "first").await;
    cy.room_event().await;
    let edit = |text: &str| json!({ "roomId": room, "rowKey": message["rowKey"], "message": text });
    assert_eq!(cy.refused("message.edit", edit("mine")).await, "forbidden");
    let reply = bob.ok("message.edit", edit("second")).await;
    let edited = &reply["message"];
    assert_eq!((&edited["message"], &edited["isEdited"]), (&json!("second"), &json!(true)));
    assert_eq!((&edited["rev"], &edited["bodyRev"], &edited["seq"]), (&json!(2), &json!(2), &message["seq"]));
    assert_eq!(edited["createdAt"], message["createdAt"]);
    let event = cy.room_event().await;
    assert_eq!(event["event"], "message.updated");
    assert_eq!((&event["data"]["rowKey"], &event["data"]["rev"]), (&message["rowKey"], &json!(2)));
    let changes = &event["data"]["changes"];
    assert_eq!(
        (&changes["message"], &changes["bodyRev"], &changes["isEdited"]),
        (&json!("second"), &json!(2), &json!(true))
    );
    assert_eq!(changes["updatedAt"], edited["updatedAt"]);
    assert!(changes.get("roomId").is_none(), "a live change is a delta");
    // The same text again changes nothing.
    assert_eq!(bob.ok("message.edit", edit("second")).await["message"]["rev"], 2);
    assert!(cy.is_quiet().await);
    // ManageMessages edits what others wrote.
    assert_eq!(owner.ok("message.edit", edit("third")).await["message"]["rev"], 3);
    // An edit that names the state it saw loses against a newer body.
    let seen = |rev: u64| json!({ "roomId": room, "rowKey": message["rowKey"], "message": "late", "rev": rev });
    assert_eq!(bob.refused("message.edit", seen(2)).await, "conflict");
    assert_eq!(bob.ok("message.edit", seen(3)).await["message"]["rev"], 4);
    assert_eq!(bob.refused("message.edit", edit("")).await, "bad_request");
    let absent = json!({ "roomId": room, "rowKey": NEVER, "message": "x" });
    assert_eq!(bob.refused("message.edit", absent).await, "not_found");
}

#[tokio::test]
async fn an_edit_replaces_the_mentions() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let (bob, mut client) = server.client("Bob").await;
    let room = owner.room("Tea").await;
    owner.bring(&room, &mut client).await;
    client.subscribe(&room).await;
    let data = json!({ "roomId": room, "message": format!("<@{}>", bob.id), "format": "Markdown", "nonce": nonce() });
    let message = owner.ok("message.send", data).await["message"].take();
    client.room_event().await;
    let edit = json!({ "roomId": room, "rowKey": message["rowKey"], "message": "nobody" });
    let reply = owner.ok("message.edit", edit).await;
    assert!(reply["message"].get("mentions").is_none());
    let event = client.room_event().await;
    assert_eq!(event["data"]["changes"]["mentions"], json!([]), "what was emptied is written out: {event}");
}

#[tokio::test]
async fn s_029_a_deleted_message_is_absent_to_everything() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let (_, mut bob) = server.client("Bob").await;
    let room = owner.room("Tea").await;
    owner.bring(&room, &mut bob).await;
    owner.subscribe(&room).await;
    let message = owner.say(&room, "hello").await;
    owner.room_event().await;
    let key = json!({ "roomId": room, "rowKey": message["rowKey"] });
    assert_eq!(bob.refused("message.delete", key.clone()).await, "forbidden");
    assert_eq!(owner.ok("message.delete", key.clone()).await, json!({ "rev": 2 }));
    let event = owner.room_event().await;
    assert_eq!(event["event"], "message.deleted");
    assert_eq!(event["data"], json!({ "rowKey": message["rowKey"], "rev": 2 }));
    assert_eq!(owner.refused("message.delete", key.clone()).await, "not_found");
    // s_035: absence comes before the right to it.
    assert_eq!(bob.refused("message.delete", key.clone()).await, "not_found");
    let edit = json!({ "roomId": room, "rowKey": message["rowKey"], "message": "x" });
    assert_eq!(bob.refused("message.edit", edit).await, "not_found");
    let reply = owner.ok("message.get", json!({ "roomId": room, "rowKeys": [message["rowKey"]] })).await;
    assert_eq!((items(&reply).len(), reply.get("rest")), (0, None));
    assert!(!texts(&owner.ok("message.list", json!({ "roomId": room })).await).contains(&"hello"));
    let answer = json!({ "roomId": room, "message": "x", "replyRowKey": message["rowKey"] });
    assert_eq!(owner.refused("message.send", answer).await, "not_found");
}

#[tokio::test]
async fn what_the_server_wrote_cannot_be_changed_by_anybody() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let (_, mut bob) = server.client("Bob").await;
    let room = owner.room("Tea").await;
    owner.bring(&room, &mut bob).await;
    let list = owner.ok("message.list", json!({ "roomId": room })).await;
    let line = &items(&list)[0];
    assert_eq!(line["type"], "System");
    let key = json!({ "roomId": room, "rowKey": line["rowKey"] });
    let edit = json!({ "roomId": room, "rowKey": line["rowKey"], "message": "x" });
    for client in [&mut owner, &mut bob] {
        assert_eq!(client.refused("message.delete", key.clone()).await, "bad_request");
        assert_eq!(client.refused("message.edit", edit.clone()).await, "bad_request");
    }
    // It can be answered.
    let answer = json!({ "roomId": room, "message": "welcome", "replyRowKey": line["rowKey"], "nonce": nonce() });
    assert_eq!(bob.ok("message.send", answer).await["message"]["replyRowKey"], line["rowKey"]);
}

#[tokio::test]
async fn bl_054_an_edit_and_a_delete_at_once_leave_it_deleted() {
    let server = Server::shared().await;
    let (ada, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    client.subscribe(&room).await;
    for round in 0..20 {
        let message = client.say(&room, "hello").await;
        let key = json!({ "roomId": room, "rowKey": message["rowKey"] });
        let edit = json!({ "roomId": room, "rowKey": message["rowKey"], "message": format!("edit {round}") });
        let (edited, deleted) =
            tokio::join!(server.rpc(&ada, "message.edit", &edit), server.rpc(&ada, "message.delete", &key));
        assert_eq!(deleted.status, 200);
        assert!(edited.status == 200 || edited.refused() == (404, "not_found"));
        let get = client.ok("message.get", json!({ "roomId": room, "rowKeys": [message["rowKey"]] })).await;
        assert_eq!(items(&get).len(), 0);
        let last = client.settled().await.pop().unwrap();
        assert_eq!(last["event"], "message.deleted", "an edit never follows");
        assert_eq!(last["data"]["rev"], if edited.status == 200 { 3 } else { 2 });
    }
}

#[tokio::test]
async fn typing_is_a_hint_for_the_room() {
    let server = Server::shared().await;
    let (ada, mut client) = server.client("Ada").await;
    let (_, mut bob) = server.client("Bob").await;
    let room = client.room("Tea").await;
    client.bring(&room, &mut bob).await;
    client.ok("membership.update", json!({ "roomId": room, "nickname": "Countess" })).await;
    bob.subscribe(&room).await;
    client.ok("typing.start", json!({ "roomId": room })).await;
    let event = bob.event("typing.started").await;
    assert!(event.get("seq").is_none());
    let connection = &client.hello["connectionId"];
    assert_eq!(event["data"], json!({ "userId": ada.id, "name": "Countess", "connectionId": connection }));
}

#[tokio::test]
async fn bl_072_a_member_cannot_overwrite_another() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let (_, mut bob) = server.client("Bob").await;
    let room = owner.room("Tea").await;
    owner.bring(&room, &mut bob).await;
    let message = owner.say(&room, "mine").await;
    let edit = json!({ "roomId": room, "rowKey": message["rowKey"], "message": "yours" });
    assert_eq!(bob.refused("message.edit", edit).await, "forbidden");
    let list = bob.ok("message.list", json!({ "roomId": room })).await;
    assert_eq!(texts(&list)[0], "mine");
}
