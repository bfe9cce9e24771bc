//! Search and one's own messages.

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, Client, Server, items, nonce, texts};

async fn found(client: &mut Client, room: &str, query: &str, filters: Value) -> Vec<String> {
    let reply = client.ok("message.search", json!({ "roomId": room, "query": query, "filters": filters })).await;
    let found: Vec<String> = texts(&reply).into_iter().map(str::to_owned).collect();
    assert_eq!(reply["total"].as_u64().unwrap_or(0), found.len() as u64);
    assert!(reply["asOf"][room].is_u64(), "{reply}");
    found
}

#[tokio::test]
async fn an_acknowledged_message_is_found_at_once_as_it_is_now() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    let first = client.say(&room, "Räksmörgås for two").await;
    client.say(&room, "green tea").await;
    assert_eq!(found(&mut client, &room, "raksmorgas", json!([])).await, ["Räksmörgås for two"]);
    assert_eq!(found(&mut client, &room, "TWO räksmörgås", json!([])).await, ["Räksmörgås for two"]);
    assert_eq!(found(&mut client, &room, "raks", json!([])).await, [""; 0]);
    assert_eq!(found(&mut client, &room, "two tea", json!([])).await, [""; 0], "all words");
    for harmless in ["\"", "tea OR two", "room:x", "*", "a\" AND body:\"", "'", "(", "tea | two & !x:*"] {
        found(&mut client, &room, harmless, json!([])).await;
    }
    let edit =
        json!({ "roomId": room, "rowKey": first["rowKey"], "message": "<b>bo</b>ld <i>cake</i>", "format": "Html" });
    client.ok("message.edit", edit).await;
    assert_eq!(found(&mut client, &room, "raksmorgas", json!([])).await, [""; 0]);
    assert_eq!(found(&mut client, &room, "bold cake", json!([])).await.len(), 1);
    assert_eq!(found(&mut client, &room, "b", json!([])).await, [""; 0], "markup is not text");
    client.ok("message.delete", json!({ "roomId": room, "rowKey": first["rowKey"] })).await;
    assert_eq!(found(&mut client, &room, "cake", json!([])).await, [""; 0]);
    let poll = json!({ "question": "Which kettle?", "options": [{ "label": "steel" }, { "label": "glass" }] });
    client.ok("message.send", json!({ "roomId": room, "type": "Poll", "poll": poll, "nonce": nonce() })).await;
    assert_eq!(found(&mut client, &room, "glass", json!([])).await.len(), 1);
}

#[tokio::test]
async fn s_022_something_must_be_looked_for() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let room = client.room("Tea").await;
    for data in [
        json!({ "roomId": room }),
        json!({ "roomId": room, "query": "  " }),
        json!({ "roomId": room, "filters": [{ "type": "Has", "value": "" }] }),
        json!({ "roomId": room, "filters": [{ "type": "Has", "value": "Nothing" }] }),
        json!({ "roomId": room, "filters": [{ "type": "Pinned", "value": "yes" }] }),
        json!({ "roomId": room, "filters": [{ "type": "From", "value": "me" }] }),
        json!({ "roomId": room, "filters": [{ "type": "During", "value": "today" }] }),
        json!({ "roomId": room, "query": "x", "timeZone": "Nowhere/Town" }),
    ] {
        assert_eq!(client.refused("message.search", data.clone()).await, "bad_request", "{data}");
    }
}

#[tokio::test]
async fn s_024_filters_of_one_type_widen_and_of_different_types_narrow() {
    let server = Server::shared().await;
    let (ada, mut client) = server.client("Ada").await;
    let (bob, mut other) = server.client("Bob").await;
    let room = client.room("Tea").await;
    client.bring(&room, &mut other).await;
    client.say(&room, "from ada").await;
    let pinned = other.say(&room, "from bob").await;
    client.ok("message.pin", json!({ "roomId": room, "rowKey": pinned["rowKey"] })).await;
    let mention =
        json!({ "roomId": room, "message": format!("hi <@{}>", bob.id), "format": "Markdown", "nonce": nonce() });
    client.ok("message.send", mention).await;
    let link = json!({ "roomId": room, "message": "<https://a.invalid/>", "format": "Markdown", "nonce": nonce() });
    client.ok("message.send", link).await;
    let files = json!([{ "filename": "harbour.png", "mimetype": "image/png", "size": 4 }]);
    let upload = client.ok("file.createUploads", json!({ "roomId": room, "files": files })).await["files"][0].clone();
    let put = server.request(Method::PUT, upload["uploadUrl"].as_str().unwrap()).header("content-type", "image/png");
    assert_eq!(Answer::of(put.body("data")).await.status, 201);
    let send = json!({ "roomId": room, "message": "pic", "files": [{ "fileId": upload["fileId"] }], "nonce": nonce() });
    client.ok("message.send", send).await;
    let count = async |client: &mut Client, filters: Value| found(client, &room, "", filters).await.len();
    let one = |kind: &str, value: &str| json!({ "type": kind, "value": value });
    for (filters, expected) in [
        (json!([one("From", &ada.id)]), 4),
        (json!([one("From", &ada.id), one("From", &bob.id), one("From", &bob.id), one("From", "")]), 5),
        (json!([one("From", &bob.id), one("Pinned", "true")]), 1),
        (json!([one("From", &ada.id), one("Pinned", "true")]), 0),
        (json!([one("Pinned", "false")]), 4),
        (json!([one("Mentions", &bob.id)]), 1),
        (json!([one("Mentions", &ada.id)]), 0),
        (json!([one("Has", "File")]), 1),
        (json!([one("Has", "Image")]), 1),
        (json!([one("Has", "Video")]), 0),
        (json!([one("Has", "Video"), one("Has", "Link")]), 1),
        (json!([one("Has", "Forward")]), 0),
        (json!([one("Before", "2001-01-01")]), 0),
        (json!([one("After", "2001-01-01")]), 5),
        (json!([one("After", "2001-01-01T00:00:00Z"), one("Before", "9999-01-01")]), 5),
        (json!([one("During", "2001-01-01")]), 0),
    ] {
        assert_eq!(count(&mut client, filters.clone()).await, expected, "{filters}");
    }
    assert_eq!(found(&mut client, &room, "harbour", json!([])).await, ["pic"], "names of files are found");
    assert_eq!(found(&mut client, &room, "from", json!([one("From", &bob.id)])).await, ["from bob"]);
    let page = json!({ "roomId": room, "query": "from", "order": "Asc", "limit": 1, "offset": 1 });
    let reply = client.ok("message.search", page).await;
    assert_eq!((texts(&reply), &reply["total"], reply.get("hasMore")), (vec!["from bob"], &json!(2), None));
    let reply = client.ok("message.search", json!({ "roomId": room, "query": "from", "limit": 1 })).await;
    assert_eq!((texts(&reply), &reply["hasMore"]), (vec!["from bob"], &json!(true)));
}

#[tokio::test]
async fn nobody_finds_what_they_cannot_read() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let (_, mut bob) = server.client("Bob").await;
    let (room, other) = (client.room("Tea").await, client.room("Coffee").await);
    client.bring(&room, &mut bob).await;
    client.say(&room, "common word").await;
    client.say(&other, "common secret").await;
    let in_other = json!([{ "type": "In", "value": other }]);
    assert_eq!(found(&mut bob, &room, "common", json!([])).await, ["common word"]);
    let search = json!({ "roomId": room, "query": "common", "filters": in_other });
    assert_eq!(bob.refused("message.search", search.clone()).await, "forbidden");
    assert_eq!(texts(&client.ok("message.search", search).await), ["common secret"]);
    let both = json!([{ "type": "In", "value": other }, { "type": "In", "value": room }]);
    let reply = client.ok("message.search", json!({ "roomId": room, "query": "common", "filters": both })).await;
    assert_eq!(texts(&reply), ["common secret", "common word"]);
    assert_eq!(bob.refused("message.search", json!({ "roomId": other, "query": "common" })).await, "forbidden");
}

#[tokio::test]
async fn s_020_own_messages_of_all_rooms_newest_first() {
    let server = Server::shared().await;
    let (_, mut client) = server.client("Ada").await;
    let (_, mut bob) = server.client("Bob").await;
    let (room, other) = (client.room("Tea").await, client.room("Coffee").await);
    client.bring(&room, &mut bob).await;
    client.say(&room, "one").await;
    bob.say(&room, "foreign").await;
    let gone = client.say(&room, "gone").await;
    client.say(&other, "two").await;
    client.ok("message.delete", json!({ "roomId": room, "rowKey": gone["rowKey"] })).await;
    let sent = client.ok("message.sent", json!({ "limit": 1 })).await;
    assert_eq!((items(&sent).len(), &sent["total"], &sent["hasMore"]), (1, &json!(2), &json!(true)));
    assert_eq!(
        (&sent["items"][0]["message"]["message"], &sent["items"][0]["room"]["name"]),
        (&json!("two"), &json!("Coffee"))
    );
    let sent = client.ok("message.sent", json!({ "offset": 1 })).await;
    assert_eq!(
        (&sent["items"][0]["message"]["message"], &sent["items"][0]["room"]["roomId"]),
        (&json!("one"), &json!(room))
    );
    let sent = bob.ok("message.sent", json!({})).await;
    assert_eq!(sent["total"], 1);
    bob.ok("room.leave", json!({ "roomId": room })).await;
    assert_eq!(bob.ok("message.sent", json!({})).await, json!({}));
}
