//! Presence and custom status: what is answered, and who is told.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{Client, Server, User, items};

/// Two people who listen to one room.
async fn two(server: &Server) -> ((User, Client), (User, Client), String) {
    let (ada, mut one) = server.client("Ada").await;
    let (bob, mut two) = server.client("Bob").await;
    let room = one.room("Tea").await;
    one.bring(&room, &mut two).await;
    one.subscribe(&room).await;
    two.subscribe(&room).await;
    // Whether they hear of each other's coming depends on who subscribed first: that is over now.
    one.status_of(&ada, "Online").await;
    two.status_of(&bob, "Online").await;
    one.statuses().await;
    two.statuses().await;
    ((ada, one), (bob, two), room)
}

async fn status(client: &mut Client, user: &User) -> Value {
    items(&client.ok("status.get", json!({ "userIds": [user.id] })).await)[0].clone()
}

/// The time in so many milliseconds, as the protocol writes it.
fn in_ms(ms: u64) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let at = u64::try_from(now.as_millis()).unwrap() + ms;
    let (day, of_day) = (at / 86_400_000, at % 86_400_000);
    // From days to a date: years begin in March, so that the leap day is their last.
    let days = day + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    let (hour, minute) = (of_day / 3_600_000, of_day / 60_000 % 60);
    format!("{year}-{month:02}-{date:02}T{hour:02}:{minute:02}:{:02}.{:03}Z", of_day / 1000 % 60, of_day % 1000)
}

#[tokio::test]
async fn s_171_one_is_online_as_long_as_one_is_connected() {
    let server = Server::shared().await;
    let ((_, mut one), ..) = two(&server).await;
    let bob = server.user("Bob").await;
    assert_eq!(status(&mut one, &bob).await["status"], "Offline");
    let mut two = Client::of(&server, &bob).await;
    assert_eq!(status(&mut one, &bob).await, json!({ "userId": bob.id, "status": "Online" }));
    two.status_of(&bob, "Online").await;
    let nobody = uuid::Uuid::new_v4().to_string();
    assert_eq!(one.ok("status.get", json!({ "userIds": [nobody] })).await, json!({}), "unknown ones are left out");
}

#[tokio::test]
async fn s_171_who_comes_and_goes_is_told_to_those_who_share_a_room_once() {
    let server = Server::shared().await;
    let ((_, mut one), (bob, two), room) = two(&server).await;
    let (_, mut stranger) = server.client("Eve").await;
    drop(two);
    one.status_of(&bob, "Offline").await;
    assert_eq!(status(&mut one, &bob).await["status"], "Offline");
    let mut two = Client::of(&server, &bob).await;
    one.status_of(&bob, "Online").await;
    // A second connection, and a second room, change nothing.
    let tea = one.room("More tea").await;
    one.bring(&tea, &mut two).await;
    one.subscribe(&tea).await;
    let _second = Client::of(&server, &bob).await;
    two.ok("status.set", json!({ "status": "Idle" })).await;
    one.status_of(&bob, "Idle").await;
    assert!(one.statuses().await.is_empty(), "once");
    assert!(stranger.statuses().await.iter().all(|status| status["userId"] != bob.id));
    drop(room);
}

#[tokio::test]
async fn s_171_a_reconnect_within_the_grace_is_no_news() {
    let server = Server::shared().await;
    let ((ada, mut one), (bob, two), room) = two(&server).await;
    drop(two);
    let mut two = Client::of(&server, &bob).await;
    two.subscribe(&room).await;
    // What comes after it shows that nothing came before.
    one.ok("status.set", json!({ "message": "tea" })).await;
    assert_eq!(two.status_of(&ada, "Online").await["message"], "tea");
    assert_eq!(one.status_of(&ada, "Online").await["message"], "tea");
    assert!(one.statuses().await.is_empty());
}

#[tokio::test]
async fn s_171_an_override_is_reported_until_it_ends() {
    let server = Server::shared().await;
    let ((ada, mut one), (_, mut two), _) = two(&server).await;
    let until = in_ms(1500);
    let set = json!({ "status": "DoNotDisturb", "message": "at work", "expiresAt": until });
    let reply = one.ok("status.set", set.clone()).await;
    assert_eq!(reply["status"]["status"], "DoNotDisturb");
    assert_eq!((&reply["status"]["message"], reply["status"]["expiresAt"].is_string()), (&json!("at work"), true));
    let told = two.status_of(&ada, "DoNotDisturb").await;
    assert_eq!(told, reply["status"]);
    assert_eq!(one.status_of(&ada, "DoNotDisturb").await, told, "one's other devices too");
    assert_eq!(status(&mut two, &ada).await, told);
    one.ok("status.set", set).await;
    let told = two.status_of(&ada, "Online").await;
    assert_eq!((&told["message"], told.get("expiresAt")), (&json!("at work"), None));
    assert_eq!(status(&mut two, &ada).await, told);
}

#[tokio::test]
async fn s_171_without_the_override_the_connection_counts() {
    let server = Server::shared().await;
    let ((ada, mut one), (_, mut two), _) = two(&server).await;
    one.ok("status.set", json!({ "status": "Offline" })).await;
    two.status_of(&ada, "Offline").await;
    let invisible = Client::of(&server, &ada).await;
    one.ok("status.set", json!({ "status": null })).await;
    two.status_of(&ada, "Online").await;
    one.ok("status.set", json!({ "status": null })).await;
    assert!(two.statuses().await.iter().all(|status| status["userId"] != ada.id), "nothing changed");
    assert_eq!(one.refused("status.set", json!({})).await, "bad_request");
    assert_eq!(one.refused("status.set", json!({ "message": "x".repeat(65) })).await, "bad_request");
    assert_eq!(one.refused("status.set", json!({ "status": "Asleep" })).await, "bad_request");
    drop(invisible);
}

#[tokio::test]
async fn a_changed_account_is_told_to_the_same_people() {
    let server = Server::shared().await;
    let ((ada, mut one), (_, mut two), _) = two(&server).await;
    let (_, mut stranger) = server.client("Eve").await;
    let reply = one.ok("user.update", json!({ "biography": "tea" })).await;
    for client in [&mut one, &mut two] {
        assert_eq!(client.event("user.updated").await["data"]["user"], reply["user"]);
    }
    assert!(!stranger.settled_names().await.contains(&"user.updated".to_owned()));
    drop(ada);
}

#[tokio::test]
async fn a_deleted_account_leaves_its_rooms_and_friends_but_not_its_messages() {
    let server = Server::with(&[]).await;
    let ((ada, mut one), (bob, mut two), room) = two(&server).await;
    two.befriend(&bob, &mut one, &ada).await;
    let view = one.ok("dm.open", json!({ "userIds": [bob.id] })).await;
    let direct = view["room"]["roomId"].as_str().unwrap().to_owned();
    two.say(&direct, "still here").await;
    two.say(&room, "me too").await;
    let own = two.room("Bob's").await;
    two.bring(&own, &mut one).await;
    one.subscribe(&own).await;
    server.command(&["user", "delete", &bob.name]);
    assert_eq!(two.closed().await.0, 4401);
    loop {
        if one.event("friend.changed").await["data"]["change"] == "Removed" {
            break;
        }
    }
    let left = one.event("member.left").await;
    assert_eq!((&left["roomId"], &left["data"]), (&json!(room), &json!({ "userId": bob.id, "reason": "Left" })));
    assert_eq!(one.event("room.deleted").await["roomId"], own, "its own rooms end");
    assert_eq!(one.event("room.removed").await["data"], json!({ "roomId": own, "reason": "Deleted" }));
    assert_eq!(one.ok("friend.list", json!({})).await, json!({}));
    // What it said stays, by "deleted user"; so does the direct message.
    let user = one.ok("user.get", json!({ "userIds": [bob.id] })).await;
    assert_eq!(items(&user)[0]["name"], "deleted user");
    let messages = one.ok("message.list", json!({ "roomId": room })).await;
    assert!(items(&messages).iter().any(|message| message["message"] == "me too"));
    let view = one.ok("room.get", json!({ "roomId": direct })).await;
    assert_eq!(view["participants"][0]["isDeleted"], true);
    one.say(&direct, "bye").await;
    tokio::time::timeout(Duration::from_secs(1), one.settled()).await.unwrap();
}
