//! Mentions, unread counts and the read marker.

use serde_json::{Value, json};

use crate::harness::{Client, Server, items, nonce};

async fn markdown(client: &mut Client, room: &str, text: &str) -> Value {
    let data = json!({ "roomId": room, "message": text, "format": "Markdown", "nonce": nonce() });
    client.ok("message.send", data).await["message"].take()
}

/// Unread and mention count.
async fn counts(client: &mut Client, room: &str) -> (u64, u64) {
    let reply = client.ok("membership.get", json!({ "roomIds": [room] })).await;
    let membership = &items(&reply)[0];
    (membership["unreadCount"].as_u64().unwrap_or(0), membership["mentionCount"].as_u64().unwrap_or(0))
}

#[tokio::test]
async fn s_025_a_self_mention_is_stored_and_counts_for_nobody() {
    let server = Server::shared().await;
    let (ada, mut owner) = server.client("Ada").await;
    let room = owner.room("Tea").await;
    let message = markdown(&mut owner, &room, &format!("me: <@{}> <@{}>", ada.id, ada.id)).await;
    assert_eq!(message["mentions"], json!([ada.id]), "distinct");
    assert_eq!(message["createdAt"], message["updatedAt"]);
    assert_eq!(counts(&mut owner, &room).await, (0, 0));
    // s_027: an edit replaces them.
    let edit = json!({ "roomId": room, "rowKey": message["rowKey"], "message": "nobody" });
    let edited = owner.ok("message.edit", edit).await["message"].take();
    assert_eq!((&edited["isEdited"], edited.get("mentions")), (&json!(true), None));
}

#[tokio::test]
async fn s_087_s_088_mentions_by_name_count_for_everyone_named() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let (bob, mut client) = server.client("Bob").await;
    let (_, mut third) = server.client("Cleo").await;
    let room = owner.room("Tea").await;
    owner.bring(&room, &mut client).await;
    owner.bring(&room, &mut third).await;
    client.ok("membership.update", json!({ "roomId": room, "notificationType": "Never" })).await;
    client.event("membership.updated").await;
    owner.say(&room, "no mention").await;
    assert_eq!(counts(&mut client, &room).await, (1, 0));
    markdown(&mut owner, &room, &format!("<@{}>", bob.id)).await;
    let told = client.event("membership.updated").await["data"]["membership"].take();
    assert_eq!((&told["unreadCount"], &told["mentionCount"]), (&json!(2), &json!(1)), "also who set Never");
    assert_eq!(counts(&mut client, &room).await, (2, 1));
    assert_eq!(counts(&mut third, &room).await, (2, 0));
    assert!(!third.settled_names().await.contains(&"membership.updated".to_owned()));
    // Text and plain-text bodies mention nobody.
    owner.say(&room, &format!("<@{}> @everyone", bob.id)).await;
    assert_eq!(counts(&mut client, &room).await, (3, 1));
}

#[tokio::test]
async fn s_089_broadcasts_count_once_and_not_for_those_who_set_never() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let (bob, mut client) = server.client("Bob").await;
    let (_, mut silent) = server.client("Cleo").await;
    let room = owner.room("Tea").await;
    owner.bring(&room, &mut client).await;
    owner.bring(&room, &mut silent).await;
    silent.ok("membership.update", json!({ "roomId": room, "notificationType": "Never" })).await;
    let message = markdown(&mut owner, &room, &format!("@everyone, @here and <@{}>", bob.id)).await;
    assert_eq!(message["mentions"], json!(["@everyone", "@here", bob.id]));
    assert_eq!(counts(&mut client, &room).await, (1, 1), "s_090: once a message");
    assert_eq!(counts(&mut silent, &room).await, (1, 0));
    assert_eq!(counts(&mut owner, &room).await, (0, 0));
    markdown(&mut owner, &room, "@here").await;
    assert_eq!(counts(&mut client, &room).await, (2, 2));
    // Deleted, it counts no more.
    owner.ok("message.delete", json!({ "roomId": room, "rowKey": message["rowKey"] })).await;
    assert_eq!(counts(&mut client, &room).await, (1, 1));
}

#[tokio::test]
async fn s_090_a_role_is_mentioned_by_those_who_may() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let (bob, mut client) = server.client("Bob").await;
    let (_, mut third) = server.client("Cleo").await;
    let room = owner.room("Tea").await;
    owner.bring(&room, &mut client).await;
    owner.bring(&room, &mut third).await;
    let role = owner.ok("role.create", json!({ "roomId": room, "name": "Brewers", "nonce": nonce() })).await;
    let role_id = role["role"]["roleId"].as_str().unwrap();
    owner.ok("role.assign", json!({ "roomId": room, "roleId": role_id, "userId": bob.id })).await;
    client.settled().await;
    let text = format!("<@&{role_id}> @here <@{}>", bob.id);
    let message = markdown(&mut owner, &room, &text).await;
    assert_eq!(message["mentions"], json!([role_id, "@here", bob.id]));
    assert_eq!(client.event("membership.updated").await["data"]["membership"]["mentionCount"], 1);
    let message = markdown(&mut third, &room, &format!("<@&{role_id}>")).await;
    assert_eq!(message["mentions"], json!([role_id]));
    assert_eq!(counts(&mut client, &room).await, (2, 2));
    // Without MentionEveryone all but users is text, in edits and in forwards too.
    let roles = owner.ok("role.list", json!({ "roomIds": [room] })).await;
    let everyone = items(&roles).iter().find(|role| role["isEveryone"] == true).unwrap()["roleId"].clone();
    owner.ok("role.update", json!({ "roomId": room, "roleId": everyone, "permissions": "3" })).await;
    let silent = markdown(&mut third, &room, &text).await;
    assert_eq!(silent["mentions"], json!([bob.id]));
    assert!(silent["message"].as_str().unwrap().contains("@here"), "{silent}");
    let edit = json!({ "roomId": room, "rowKey": silent["rowKey"], "message": "@everyone", "format": "Markdown" });
    assert!(third.ok("message.edit", edit).await["message"].get("mentions").is_none());
    let forward = json!({ "roomId": room, "rowKey": message["rowKey"], "roomIds": [room], "nonce": nonce() });
    let copy = third.ok("message.forward", forward.clone()).await["results"][0]["message"].take();
    assert!(copy.get("mentions").is_none(), "{copy}");
    let mut by_owner = forward;
    by_owner["nonce"] = json!(nonce());
    let copy = owner.ok("message.forward", by_owner).await["results"][0]["message"].take();
    assert_eq!(copy["mentions"], json!([role_id]));
}

#[tokio::test]
async fn bl_076_nothing_in_code_links_or_quotations_mentions() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let (bob, mut client) = server.client("Bob").await;
    let room = owner.room("Tea").await;
    owner.bring(&room, &mut client).await;
    let id = &bob.id;
    for text in [
        format!("`@everyone` `<@{id}>`"),
        format!("```\n@everyone <@{id}>\n```"),
        format!("    @everyone <@{id}>"),
        format!("[@everyone](https://example.org/@everyone) [<@{id}>](https://example.org)"),
        format!("> @everyone <@{id}>"),
        format!("\\@everyone \\<@{id}> &#64;everyone &lt;@{id}>"),
        "mail@everyone @everyones".to_owned(),
    ] {
        let message = markdown(&mut owner, &room, &text).await;
        assert!(message.get("mentions").is_none(), "{text}: {message}");
    }
    for html in [
        format!(r#"<code><span data-type="mention" data-id="{id}">@Bob</span></code>"#),
        r#"<a href="https://example.org"><span data-type="mention" data-id="@everyone">all</span></a>"#.to_owned(),
        r#"<span data-type="mention">nobody</span>"#.to_owned(),
        r#"<span data-type="mention" data-id="@all">nobody</span>"#.to_owned(),
    ] {
        let data = json!({ "roomId": room, "message": html, "format": "Html", "nonce": nonce() });
        let message = owner.ok("message.send", data).await["message"].take();
        assert!(message.get("mentions").is_none(), "{html}: {message}");
        assert!(!message["message"].as_str().unwrap().contains("mention"), "{message}");
    }
    assert_eq!(counts(&mut client, &room).await.1, 0);
    let message = markdown(&mut owner, &room, &format!("`@here` but @everyone and **<@{id}>**")).await;
    assert_eq!(message["mentions"], json!(["@everyone", id]), "outside of code it still pings");
    assert_eq!(counts(&mut client, &room).await.1, 1);
}

#[tokio::test]
async fn s_095_clearing_mentions_is_told_once() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let (bob, mut client) = server.client("Bob").await;
    let room = owner.room("Tea").await;
    owner.bring(&room, &mut client).await;
    markdown(&mut owner, &room, &format!("<@{}>", bob.id)).await;
    client.event("membership.updated").await;
    assert_eq!(counts(&mut client, &room).await, (1, 1));
    // The clearing is later than the message by the clock, which counts in milliseconds.
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    let cleared = client.ok("membership.clearMentions", json!({ "roomId": room })).await;
    let membership = &cleared["membership"];
    assert_eq!((membership.get("mentionCount"), &membership["unreadCount"]), (None, &json!(1)));
    client.event("membership.updated").await;
    client.ok("membership.clearMentions", json!({ "roomId": room })).await;
    assert!(!client.settled_names().await.contains(&"membership.updated".to_owned()));
}

#[tokio::test]
async fn marking_unread_goes_back_and_counts_again() {
    let server = Server::shared().await;
    let (_, mut owner) = server.client("Ada").await;
    let (bob, mut client) = server.client("Bob").await;
    let room = owner.room("Tea").await;
    owner.bring(&room, &mut client).await;
    let first = markdown(&mut owner, &room, &format!("<@{}>", bob.id)).await;
    tokio::time::sleep(std::time::Duration::from_millis(3)).await;
    let last = owner.say(&room, "two").await;
    let read = json!({ "roomId": room, "lastReadAt": last["createdAt"] });
    client.ok("membership.update", read).await;
    assert_eq!(counts(&mut client, &room).await, (0, 0));
    let created = first["createdAt"].as_str().unwrap();
    let millis: u64 = created[20..23].parse().unwrap();
    let earlier = if millis == 0 { created.to_owned() } else { format!("{}{:03}Z", &created[..20], millis - 1) };
    client.ok("membership.update", json!({ "roomId": room, "lastReadAt": earlier })).await;
    let expected = if millis == 0 { (1, 0) } else { (2, 1) };
    assert_eq!(counts(&mut client, &room).await, expected);
    // s_061: sending reads all.
    client.say(&room, "here").await;
    assert_eq!(counts(&mut client, &room).await, (0, 0));
    // Counting stops at 100.
    for _ in 0..101 {
        owner.say(&room, "x").await;
    }
    assert_eq!(counts(&mut client, &room).await, (100, 0));
}
