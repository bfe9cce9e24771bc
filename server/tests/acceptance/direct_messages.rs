//! Direct messages: one room for each set of people.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::harness::{Client, Server, User, items, nonce, texts};

/// Three friends of each other.
async fn three(server: &Server) -> [(User, Client); 3] {
    let (ada, mut one) = server.client("Ada").await;
    let (bob, mut two) = server.client("Bob").await;
    let (cid, mut three) = server.client("Cid").await;
    one.befriend(&ada, &mut two, &bob).await;
    one.befriend(&ada, &mut three, &cid).await;
    two.befriend(&bob, &mut three, &cid).await;
    [(ada, one), (bob, two), (cid, three)]
}

async fn open(client: &mut Client, users: &[&User]) -> Value {
    let ids: Vec<_> = users.iter().map(|user| &user.id).collect();
    client.ok("dm.open", json!({ "userIds": ids, "nonce": nonce() })).await
}

fn room_of(view: &Value) -> String {
    view["room"]["roomId"].as_str().unwrap().to_owned()
}

async fn listed(client: &mut Client) -> Vec<String> {
    items(&client.ok("dm.list", json!({})).await).iter().map(room_of).collect()
}

#[tokio::test]
async fn s_168_a_set_of_people_has_one_direct_message() {
    let server = Server::shared().await;
    let [(ada, mut one), (bob, mut two), (cid, mut three)] = three(&server).await;
    let data = json!({ "userIds": [bob.id, cid.id, ada.id], "nonce": nonce() });
    let view = one.ok("dm.open", data.clone()).await;
    let room = room_of(&view);
    assert_eq!(view["room"]["type"], "DirectMessage");
    assert_eq!((view["room"].get("name"), view["room"].get("userId")), (None, None), "no name, no owner");
    assert_eq!((view["permissions"].as_str(), view.get("isRoomOwner")), (Some("11"), None));
    assert_eq!(view["topRolePosition"], -1);
    let others: HashSet<_> =
        view["participants"].as_array().unwrap().iter().map(|user| user["userId"].clone()).collect();
    assert_eq!(others, HashSet::from([json!(bob.id), json!(cid.id)]), "without oneself");
    assert_eq!(view["participantCount"], 2);
    for client in [&mut one, &mut two, &mut three] {
        let added = client.event("room.added").await;
        assert_eq!((&added["data"]["reason"], room_of(&added["data"])), (&json!("Created"), room.clone()));
    }

    // By its nonce, in any order, by anybody: the same room, announced to nobody again.
    assert_eq!(room_of(&one.ok("dm.open", data).await), room);
    assert_eq!(room_of(&open(&mut one, &[&cid, &bob]).await), room);
    assert_eq!(room_of(&open(&mut two, &[&cid, &ada]).await), room);
    let pair = open(&mut three, &[&ada]).await;
    assert_ne!(room_of(&pair), room, "another set");
    assert_eq!(pair["participants"][0]["userId"], ada.id);
    assert!(!two.settled_names().await.contains(&"room.added".to_owned()));

    // It is no Room of the room list; it has no roles.
    assert!(items(&one.ok("room.list", json!({})).await).is_empty());
    assert_eq!(one.ok("room.get", json!({})).await, json!({}));
    assert_eq!(one.ok("role.list", json!({ "roomIds": [room] })).await, json!({}));
    assert_eq!(listed(&mut one).await.into_iter().collect::<HashSet<_>>(), HashSet::from([room, room_of(&pair)]));
}

#[tokio::test]
async fn s_168_only_friends_are_reached() {
    let server = Server::shared().await;
    let [(ada, mut one), (bob, _), (cid, _)] = three(&server).await;
    let dan = server.user("Dan").await;
    assert_eq!(one.refused("dm.open", json!({ "userIds": [ada.id] })).await, "bad_request");
    assert_eq!(one.refused("dm.open", json!({ "userIds": [dan.id] })).await, "bad_request");
    assert_eq!(one.refused("dm.open", json!({ "userIds": [bob.id, dan.id] })).await, "bad_request");
    let room = room_of(&open(&mut one, &[&bob]).await);
    assert_eq!(one.refused("dm.add", json!({ "roomId": room, "userIds": [dan.id] })).await, "bad_request");
    assert_eq!(one.refused("dm.add", json!({ "roomId": room, "userIds": [bob.id] })).await, "bad_request");
    assert_eq!(one.refused("dm.add", json!({ "roomId": room, "userIds": [cid.id, dan.id] })).await, "bad_request");
    assert_eq!(one.ok("room.members", json!({ "roomId": room })).await["items"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn s_168_it_is_hidden_and_opened_again() {
    let server = Server::shared().await;
    let [(_, mut one), (bob, mut two), _] = three(&server).await;
    let room = room_of(&open(&mut one, &[&bob]).await);
    one.settled().await;
    two.settled().await;
    one.ok("dm.hide", json!({ "roomId": room })).await;
    let removed = one.event("room.removed").await;
    assert_eq!(removed["data"], json!({ "roomId": room, "reason": "Hidden" }));
    one.ok("dm.hide", json!({ "roomId": room })).await;
    assert!(one.settled().await.is_empty(), "hidden already");
    assert!(listed(&mut one).await.is_empty());
    assert_eq!(listed(&mut two).await, std::slice::from_ref(&room), "for oneself alone");
    assert!(two.settled().await.is_empty());

    let view = open(&mut one, &[&bob]).await;
    assert_eq!(room_of(&view), room);
    assert_eq!(one.event("room.added").await["data"]["reason"], "Opened");
    assert_eq!(listed(&mut one).await, [room]);
    assert!(two.settled().await.is_empty());
}

#[tokio::test]
async fn s_168_people_are_added_and_removed() {
    let server = Server::shared().await;
    let [(ada, mut one), (bob, mut two), (cid, mut three)] = three(&server).await;
    let room = room_of(&open(&mut one, &[&bob]).await);
    two.subscribe(&room).await;
    let data = json!({ "roomId": room, "userIds": [cid.id], "nonce": nonce() });
    let view = one.ok("dm.add", data.clone()).await;
    assert_eq!(view["participantCount"], 2);
    assert_eq!(room_of(&one.ok("dm.add", data).await), room, "a repeat answers it");
    let joined = two.room_event().await;
    assert_eq!((&joined["event"], &joined["data"]["member"]["userId"]), (&json!("member.joined"), &json!(cid.id)));
    assert_eq!(joined["data"]["byUserId"], ada.id);
    let line = two.room_event().await;
    let message = &line["data"]["message"];
    assert_eq!((&message["type"], &message["userId"]), (&json!("System"), &json!(ada.id)));
    assert_eq!(message["message"], format!("{} was added", cid.name));
    assert!(two.is_quiet().await);
    assert_eq!(three.event("room.added").await["data"]["reason"], "Added");
    // The set is another now: the old one makes a new room.
    let pair = room_of(&open(&mut one, &[&bob]).await);
    assert_ne!(pair, room);
    assert_eq!(one.refused("dm.add", json!({ "roomId": pair, "userIds": [cid.id] })).await, "conflict");
    assert_eq!(room_of(&open(&mut three, &[&ada, &bob]).await), room);

    // Anybody takes anybody out, but not into a set that has its room.
    three.subscribe(&room).await;
    assert_eq!(two.refused("dm.remove", json!({ "roomId": room, "userId": cid.id })).await, "conflict");
    two.ok("dm.remove", json!({ "roomId": room, "userId": ada.id })).await;
    assert_eq!(one.event("room.removed").await["data"], json!({ "roomId": room, "reason": "Left" }));
    let left = three.room_event().await;
    assert_eq!(left["event"], "member.left");
    assert_eq!(left["data"], json!({ "userId": ada.id, "reason": "Removed", "byUserId": bob.id }));
    assert_eq!(three.room_event().await["data"]["message"]["message"], format!("{} was removed", ada.name));
    assert_eq!(one.refused("message.list", json!({ "roomId": room })).await, "forbidden");
    assert_eq!(two.refused("dm.remove", json!({ "roomId": room, "userId": ada.id })).await, "not_found");
    assert_eq!(room_of(&open(&mut two, &[&cid]).await), room);

    // Oneself.
    three.ok("dm.remove", json!({ "roomId": room, "userId": cid.id })).await;
    assert_eq!(three.event("room.unsubscribed").await["data"]["reason"], "Left");
    assert_eq!(listed(&mut three).await, Vec::<String>::new());
    two.ok("dm.remove", json!({ "roomId": room, "userId": bob.id })).await;
    assert_ne!(room_of(&open(&mut two, &[&cid]).await), room, "an empty one has ended");
}

#[tokio::test]
async fn s_168_what_a_room_has_a_direct_message_refuses_and_the_other_way() {
    let server = Server::shared().await;
    let [(ada, mut one), (bob, _), (cid, _)] = three(&server).await;
    let (_, mut stranger) = server.client("Dan").await;
    let direct = room_of(&open(&mut one, &[&bob]).await);
    let room = one.room("Tea").await;
    for (op, more) in
        [("dm.hide", json!({})), ("dm.add", json!({ "userIds": [bob.id] })), ("dm.remove", json!({ "userId": ada.id }))]
    {
        let mut data = json!({ "roomId": room });
        data.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        assert_eq!(stranger.refused(op, data.clone()).await, "forbidden", "{op}: membership comes first");
        assert_eq!(one.refused(op, data.clone()).await, "bad_request", "{op}");
        data["roomId"] = json!(direct);
        assert_eq!(stranger.refused(op, data).await, "forbidden", "{op}");
    }
    for (op, data) in [
        ("room.update", json!({ "roomId": direct, "name": "Tea" })),
        ("room.delete", json!({ "roomId": direct })),
        ("room.leave", json!({ "roomId": direct })),
        ("invite.create", json!({ "roomId": direct })),
    ] {
        assert_eq!(one.refused(op, data).await, "bad_request", "{op}");
    }
    drop(cid);
}

#[tokio::test]
async fn messages_pass_in_a_direct_message() {
    let server = Server::shared().await;
    let [(_, mut one), (bob, mut two), _] = three(&server).await;
    let room = room_of(&open(&mut one, &[&bob]).await);
    two.subscribe(&room).await;
    one.say(&room, "hello").await;
    assert_eq!(two.event("message.created").await["data"]["message"]["message"], "hello");
    assert_eq!(texts(&two.ok("message.list", json!({ "roomId": room })).await), ["hello"]);
    assert_eq!(items(&two.ok("dm.list", json!({})).await)[0]["membership"]["unreadCount"], 1);
}

#[tokio::test]
async fn nothing_is_sent_across_a_block_until_it_ends() {
    let server = Server::shared().await;
    let [(ada, mut one), (bob, mut two), (cid, mut three)] = three(&server).await;
    let room = room_of(&open(&mut one, &[&bob]).await);
    let group = room_of(&open(&mut one, &[&bob, &cid]).await);
    let own = one.say(&room, "before").await;
    two.say(&room, "before").await;
    three.say(&group, "before").await;
    two.ok("block.add", json!({ "userId": ada.id })).await;
    for client in [&mut one, &mut two] {
        for room in [&room, &group] {
            let data = json!({ "roomId": room, "message": "hello" });
            assert_eq!(client.refused("message.send", data).await, "forbidden");
            assert_eq!(client.refused("typing.start", json!({ "roomId": room })).await, "forbidden");
        }
    }
    let edit = json!({ "roomId": room, "rowKey": own["rowKey"], "message": "after" });
    assert_eq!(one.refused("message.edit", edit.clone()).await, "forbidden");
    three.say(&group, "nothing between me and you").await;
    // What was said stays readable, and in a room of many a block refuses nothing.
    assert_eq!(texts(&one.ok("message.list", json!({ "roomId": room })).await), ["before", "before"]);
    let tea = one.room("Tea").await;
    one.bring(&tea, &mut two).await;
    two.say(&tea, "hello").await;
    assert_eq!(three.refused("dm.add", json!({ "roomId": group, "userIds": [bob.id] })).await, "bad_request");

    two.ok("block.remove", json!({ "userId": ada.id })).await;
    one.say(&room, "again").await;
    one.ok("message.edit", edit).await;
    two.say(&group, "again").await;
}

#[tokio::test]
async fn nobody_is_added_to_whom_a_participant_has_a_block() {
    let server = Server::shared().await;
    let [(_, mut one), (bob, mut two), (cid, _)] = three(&server).await;
    let room = room_of(&open(&mut one, &[&bob]).await);
    two.ok("block.add", json!({ "userId": cid.id })).await;
    let data = json!({ "roomId": room, "userIds": [cid.id] });
    assert_eq!(one.refused("dm.add", data.clone()).await, "bad_request");
    two.ok("block.remove", json!({ "userId": cid.id })).await;
    one.ok("dm.add", data).await;
    two.ok("block.add", json!({ "userId": cid.id })).await;
    assert_eq!(two.refused("message.send", json!({ "roomId": room, "message": "no" })).await, "forbidden");
    one.say(&room, "yes").await;
    // With the blocked one gone it is open again.
    one.ok("dm.remove", json!({ "roomId": room, "userId": cid.id })).await;
    two.say(&room, "yes").await;
}

#[tokio::test]
async fn two_who_open_at_once_get_one_room() {
    let server = Server::shared().await;
    let [(ada, mut one), (bob, mut two), (cid, mut three)] = three(&server).await;
    for users in [vec![&ada, &bob], vec![&ada, &bob, &cid]] {
        let (there, back) = tokio::join!(open(&mut one, &users), open(&mut two, &users));
        assert_eq!(room_of(&there), room_of(&back));
    }
    let all = [&ada, &bob, &cid];
    let (first, second, third) = tokio::join!(open(&mut one, &all), open(&mut two, &all), open(&mut three, &all));
    assert!(room_of(&first) == room_of(&second) && room_of(&second) == room_of(&third));
    assert_eq!(listed(&mut one).await.len(), 2);
}
