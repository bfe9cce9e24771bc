//! Kicks, timeouts, bans, warnings, the log and notes.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{
    harness::{Client, Server, User, items, nonce, texts},
    roles::{assign, role},
};

/// A room of Ada with Bob, who may moderate, and Cid, who may not.
struct Scene {
    room: String,
    ada: (User, Client),
    bob: (User, Client),
    cid: (User, Client),
}

/// KickMembers, BanMembers, ManageMessages.
const MODERATOR: u32 = 128 | 256 | 4;

impl Scene {
    async fn new(server: &Server) -> Self {
        let mut ada = server.client("Ada").await;
        let mut bob = server.client("Bob").await;
        let mut cid = server.client("Cid").await;
        let room = ada.1.room("Tea").await;
        ada.1.bring(&room, &mut bob.1).await;
        ada.1.bring(&room, &mut cid.1).await;
        let id = role(&mut ada.1, &room, 5, MODERATOR).await;
        assign(&mut ada.1, &room, &id, &bob.0).await;
        for client in [&mut ada.1, &mut bob.1, &mut cid.1] {
            client.subscribe(&room).await;
            client.settled().await;
        }
        Self { room, ada, bob, cid }
    }

    fn action(&self, kind: &str, user: &User) -> Value {
        action(&self.room, kind, user)
    }
}

fn action(room: &str, kind: &str, user: &User) -> Value {
    json!({ "roomId": room, "userId": user.id, "type": kind, "reason": "spam", "nonce": nonce() })
}

#[tokio::test]
async fn bl_068_a_kick_ends_delivery_everywhere_within_a_second() {
    let server = Server::shared().await;
    let mut scene = Scene::new(&server).await;
    let room = scene.room.clone();
    scene.cid.1.ok("membership.update", json!({ "roomId": room, "nickname": "Cidney" })).await;
    let mut second = Client::of(&server, &scene.cid.0).await;
    second.subscribe(&room).await;
    scene.bob.1.settled().await;
    scene.cid.1.settled().await;
    let data = scene.action("KickFromRoom", &scene.cid.0);
    let began = Instant::now();
    let reply = scene.bob.1.ok("moderation.execute", data.clone()).await;
    let entry = &reply["entry"];
    assert_eq!((&entry["type"], &entry["reason"]), (&json!("KickFromRoom"), &json!("spam")));
    assert_eq!((&entry["actorUserId"], &entry["targetUserId"]), (&json!(scene.bob.0.id), &json!(scene.cid.0.id)));
    for client in [&mut scene.cid.1, &mut second] {
        let mut names = Vec::new();
        for _ in 0..3 {
            let event = client.frame().await;
            names.push((event["event"].as_str().unwrap().to_owned(), event["data"].clone()));
        }
        assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
        assert_eq!(names[0], ("room.unsubscribed".to_owned(), json!({ "reason": "Kicked" })));
        let acted = json!({ "roomId": room, "type": "KickFromRoom", "reason": "spam" });
        assert_eq!(names[1], ("moderation.action".to_owned(), acted));
        assert_eq!(names[2], ("room.removed".to_owned(), json!({ "roomId": room, "reason": "Kicked" })));
    }
    let left = scene.bob.1.room_event().await;
    let told = json!({ "userId": scene.cid.0.id, "reason": "Kicked", "byUserId": scene.bob.0.id });
    assert_eq!((&left["event"], &left["data"]), (&json!("member.left"), &told));
    let line = scene.bob.1.room_event().await["data"]["message"].clone();
    assert_eq!((&line["type"], &line["message"]), (&json!("System"), &json!("Cidney was kicked")));
    assert_eq!(line["userId"], scene.bob.0.id);
    // Nothing after it, and nothing more to do there.
    scene.ada.1.say(&room, "quiet now").await;
    for client in [&mut scene.cid.1, &mut second] {
        assert!(client.is_quiet().await);
    }
    for op in ["message.send", "typing.start", "message.list"] {
        assert_eq!(scene.cid.1.refused(op, json!({ "roomId": room, "message": "why?" })).await, "forbidden");
    }
    // The repeat answers the first result although nobody is there to be kicked.
    assert_eq!(scene.bob.1.ok("moderation.execute", data).await, reply);
    assert_eq!(
        scene.bob.1.refused("moderation.execute", scene.action("KickFromRoom", &scene.cid.0)).await,
        "not_found"
    );
    scene.ada.1.bring(&room, &mut scene.cid.1).await;
}

#[tokio::test]
async fn s_151_a_timeout_is_exact_and_nobody_is_exempt() {
    let server = Server::shared().await;
    let mut scene = Scene::new(&server).await;
    let room = scene.room.clone();
    let sent = scene.cid.1.say(&room, "before").await;
    for duration in [60_000_i64, 10_000] {
        scene.ada.1.settled().await;
        scene.cid.1.settled().await;
        let mut data = scene.action("TimeoutUser", &scene.cid.0);
        data["durationMs"] = json!(duration);
        let entry = scene.bob.1.ok("moderation.execute", data).await["entry"].clone();
        assert_eq!(entry["durationMs"], duration);
        let event = scene.ada.1.event("member.updated").await;
        let until = event["data"]["changes"]["timeoutUntil"].clone();
        let time = |value: &Value| value.as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
        assert_eq!(time(&until).as_millisecond() - time(&entry["createdAt"]).as_millisecond(), duration, "exact");
        // Their own send told them of a moved marker too.
        while scene.cid.1.event("membership.updated").await["data"]["membership"]["timeoutUntil"] != until {}
        let acted = scene.cid.1.event("moderation.action").await;
        assert_eq!((&acted["data"]["type"], &acted["data"]["durationMs"]), (&json!("TimeoutUser"), &json!(duration)));
    }
    let error = scene.cid.1.error("message.send", json!({ "roomId": room, "message": "x", "nonce": nonce() })).await;
    assert_eq!(error["code"], "timed_out");
    let wait = error["retryAfterMs"].as_u64().unwrap();
    assert!(wait > 5_000 && wait <= 10_000, "the shorter one holds: {wait}");
    let edit = json!({ "roomId": room, "rowKey": sent["rowKey"], "message": "x" });
    assert_eq!(scene.cid.1.refused("message.edit", edit).await, "timed_out");
    assert_eq!(scene.cid.1.refused("typing.start", json!({ "roomId": room })).await, "timed_out");
    scene.cid.1.ok("message.delete", json!({ "roomId": room, "rowKey": sent["rowKey"] })).await;
    // A moderator is not exempt (s_054).
    let mut data = scene.action("TimeoutUser", &scene.bob.0);
    data["durationMs"] = json!(60_000);
    scene.ada.1.ok("moderation.execute", data).await;
    let send = json!({ "roomId": room, "message": "x", "nonce": nonce() });
    assert_eq!(scene.bob.1.refused("message.send", send).await, "timed_out");
}

#[tokio::test]
async fn bl_069_a_ban_is_told_and_nobody_comes_back_before_its_end() {
    let server = Server::shared().await;
    let mut scene = Scene::new(&server).await;
    let room = scene.room.clone();
    let invite = scene.ada.1.ok("invite.create", json!({ "roomId": room, "nonce": nonce() })).await;
    let join = json!({ "inviteId": invite["invite"]["inviteId"], "nonce": nonce() });
    scene.bob.1.ok("moderation.execute", scene.action("CreateBan", &scene.cid.0)).await;
    assert_eq!(scene.cid.1.event("room.unsubscribed").await["data"]["reason"], "Banned");
    assert_eq!(scene.cid.1.event("moderation.action").await["data"]["type"], "CreateBan");
    assert_eq!(scene.cid.1.event("room.removed").await["data"]["reason"], "Banned");
    let left = scene.ada.1.event("member.left").await;
    assert_eq!(left["data"]["reason"], "Banned");
    let line = scene.ada.1.event("message.created").await["data"]["message"]["message"].clone();
    assert_eq!(line, format!("{} was banned", scene.cid.0.name));
    assert_eq!(scene.cid.1.refused("message.send", json!({ "roomId": room, "message": "x" })).await, "forbidden");
    assert_eq!(scene.cid.1.refused("invite.join", join.clone()).await, "forbidden", "s_165");
    // Again, and of somebody who was never here: no line, no second ban.
    scene.bob.1.ok("moderation.execute", scene.action("CreateBan", &scene.cid.0)).await;
    let stranger = server.user("Eve").await;
    scene.bob.1.ok("moderation.execute", scene.action("CreateBan", &stranger)).await;
    assert!(scene.ada.1.is_quiet().await);
    let mut nobody = scene.action("CreateBan", &stranger);
    nobody["userId"] = json!("00000000-0000-4000-8000-000000000001");
    assert_eq!(scene.bob.1.refused("moderation.execute", nobody).await, "not_found");
    let bans = |more: Value| {
        let mut data = json!({ "roomId": room });
        data.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        data
    };
    let list = scene.bob.1.ok("moderation.bans", bans(json!({}))).await;
    let banned: Vec<_> = items(&list).iter().map(|ban| ban["user"]["userId"].clone()).collect();
    assert_eq!(banned, [json!(stranger.id), json!(scene.cid.0.id)], "newest first, each once");
    assert_eq!(
        (&items(&list)[0]["reason"], &items(&list)[0]["bannedByUserId"]),
        (&json!("spam"), &json!(scene.bob.0.id))
    );
    let found = scene.bob.1.ok("moderation.bans", bans(json!({ "query": scene.cid.0.name.to_uppercase() }))).await;
    assert_eq!(items(&found).len(), 1);
    let page = scene.bob.1.ok("moderation.bans", bans(json!({ "limit": 1 }))).await;
    let next = bans(json!({ "limit": 1, "cursor": page["nextCursor"] }));
    let second = scene.bob.1.ok("moderation.bans", next).await;
    assert_eq!((&items(&second)[0], second.get("hasMore")), (&items(&list)[1], None));
    // s_156
    let unban = json!({ "roomId": room, "userId": scene.cid.0.id });
    scene.bob.1.ok("moderation.unban", unban.clone()).await;
    assert_eq!(scene.bob.1.refused("moderation.unban", unban).await, "not_found");
    scene.cid.1.ok("invite.join", join).await;
}

#[tokio::test]
async fn s_152_a_soft_ban_purges_the_members_messages_and_keeps_the_rooms_lines() {
    let server = Server::shared().await;
    let mut scene = Scene::new(&server).await;
    let room = scene.room.clone();
    let mut keys = Vec::new();
    for number in 0..103 {
        let data = json!({ "roomId": room, "message": format!("spam {number}"), "nonce": nonce() });
        let id = scene.cid.1.begin("message.send", data).await;
        keys.push(scene.cid.1.reply(id).await.unwrap()["message"]["rowKey"].as_str().unwrap().to_owned());
    }
    scene.ada.1.say(&room, "mine").await;
    scene.ada.1.settled().await;
    scene.bob.1.ok("moderation.execute", scene.action("SoftBan", &scene.cid.0)).await;
    let mut purged = Vec::new();
    let mut sizes = Vec::new();
    while purged.len() < keys.len() {
        let event = scene.ada.1.event("message.purged").await;
        let batch = event["data"]["rowKeys"].as_array().unwrap().clone();
        sizes.push(batch.len());
        purged.extend(batch.iter().map(|key| key.as_str().unwrap().to_owned()));
    }
    assert_eq!(sizes, [100, 3]);
    keys.reverse();
    assert_eq!(purged, keys, "newest first, each once");
    let list = scene.ada.1.ok("message.list", json!({ "roomId": room, "limit": 1000 })).await;
    assert!(texts(&list).iter().all(|text| !text.starts_with("spam")));
    assert!(texts(&list).contains(&"mine"));
    assert!(texts(&list).contains(&format!("{} was banned", scene.cid.0.name).as_str()));
    assert!(texts(&list).contains(&format!("{} joined", scene.cid.0.name).as_str()));
}

#[tokio::test]
async fn s_150_refusals_come_in_their_order() {
    let server = Server::shared().await;
    let mut scene = Scene::new(&server).await;
    let stranger = server.user("Eve").await;
    let room = scene.room.clone();
    let (ada, bob, cid) = (&scene.ada.0, &scene.bob.0, &scene.cid.0);
    let kick = |user: &User| action(&room, "KickFromRoom", user);
    // Oneself before the right, the right before whether they are there, and that before what is not built.
    assert_eq!(scene.cid.1.refused("moderation.execute", kick(cid)).await, "bad_request");
    assert_eq!(scene.cid.1.refused("moderation.execute", kick(&stranger)).await, "forbidden");
    assert_eq!(scene.bob.1.refused("moderation.execute", kick(ada)).await, "forbidden", "the owner");
    let mute = |user: &User| action(&room, "ForceMute", user);
    assert_eq!(scene.bob.1.refused("moderation.execute", mute(cid)).await, "forbidden", "no MuteMembers");
    assert_eq!(scene.ada.1.refused("moderation.execute", mute(&stranger)).await, "not_found");
    assert_eq!(scene.ada.1.refused("moderation.execute", mute(cid)).await, "unsupported");
    assert_eq!(scene.ada.1.refused("moderation.execute", scene.action("DeleteBan", cid)).await, "bad_request");
    let error = scene.bob.1.error("moderation.execute", scene.action("TimeoutUser", cid)).await;
    assert_eq!(error["field"], "/durationMs");
    for duration in [0_i64, 604_800_001] {
        let mut data = scene.action("TimeoutUser", cid);
        data["durationMs"] = json!(duration);
        assert_eq!(scene.bob.1.error("moderation.execute", data).await["field"], "/durationMs");
    }
    // s_153: an equal is not below.
    let roles = scene.ada.1.ok("role.list", json!({ "roomIds": [scene.room] })).await;
    let moderators = items(&roles)[0]["roleId"].as_str().unwrap().to_owned();
    assign(&mut scene.ada.1, &scene.room, &moderators, cid).await;
    for kind in ["KickFromRoom", "CreateBan", "SoftBan", "Warn"] {
        assert_eq!(scene.bob.1.refused("moderation.execute", scene.action(kind, cid)).await, "forbidden");
        assert_eq!(scene.cid.1.refused("moderation.execute", scene.action(kind, bob)).await, "forbidden");
    }
    let note = json!({ "roomId": scene.room, "userId": cid.id, "note": "x" });
    for op in ["note.create", "note.list", "note.count"] {
        assert_eq!(scene.bob.1.refused(op, note.clone()).await, "forbidden");
    }
}

#[tokio::test]
async fn s_155_the_log_is_read_by_actor_target_and_type() {
    let server = Server::shared().await;
    let mut scene = Scene::new(&server).await;
    scene.bob.1.ok("moderation.execute", scene.action("Warn", &scene.cid.0)).await;
    assert_eq!(scene.cid.1.event("moderation.action").await["data"]["reason"], "spam");
    scene.ada.1.ok("moderation.execute", scene.action("Warn", &scene.bob.0)).await;
    scene.bob.1.ok("moderation.execute", scene.action("CreateBan", &scene.cid.0)).await;
    scene.bob.1.ok("moderation.unban", json!({ "roomId": scene.room, "userId": scene.cid.0.id })).await;
    let (room, bob, cid) = (&scene.room, &scene.bob.0.id, &scene.cid.0.id);
    let kinds = |reply: &Value| -> Vec<String> {
        items(reply).iter().map(|entry| entry["type"].as_str().unwrap().to_owned()).collect()
    };
    let client = &mut scene.ada.1;
    let all = client.ok("moderation.log", json!({ "roomId": room })).await;
    assert_eq!(kinds(&all), ["DeleteBan", "CreateBan", "Warn", "Warn"], "newest first");
    let by = client.ok("moderation.log", json!({ "roomId": room, "actorUserId": bob })).await;
    assert_eq!(kinds(&by), ["DeleteBan", "CreateBan", "Warn"]);
    let of = client.ok("moderation.log", json!({ "roomId": room, "targetUserId": bob })).await;
    assert_eq!(kinds(&of), ["Warn"]);
    let both = json!({ "roomId": room, "actorUserId": bob, "targetUserId": cid, "type": "Warn" });
    assert_eq!(kinds(&client.ok("moderation.log", both).await), ["Warn"]);
    let nobody = client.ok("moderation.log", json!({ "roomId": room, "actorUserId": cid })).await;
    assert!(items(&nobody).is_empty(), "who did nothing");
    let mut pages = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let page = client.ok("moderation.log", json!({ "roomId": room, "limit": 3, "cursor": cursor })).await;
        pages.extend(items(&page).to_vec());
        if page.get("hasMore").is_none() {
            break;
        }
        cursor = page["nextCursor"].clone();
    }
    assert_eq!(pages, items(&all));
    let foreign = json!({ "roomId": room, "type": "Warn", "cursor": cursor });
    assert_eq!(client.refused("moderation.log", foreign).await, "bad_request");
    // s_154: it is for those who manage the room.
    assert_eq!(scene.bob.1.refused("moderation.log", json!({ "roomId": room })).await, "forbidden");
}

#[tokio::test]
async fn s_157_notes_are_about_one_member_and_counted_whole() {
    let server = Server::shared().await;
    let mut scene = Scene::new(&server).await;
    let stranger = server.user("Eve").await;
    let note =
        |user: &User, text: &str| json!({ "roomId": scene.room, "userId": user.id, "note": text, "nonce": nonce() });
    let first = note(&scene.cid.0, " late again ");
    let made = scene.bob.1.ok("note.create", first.clone()).await;
    assert_eq!(made["note"]["note"], "late again");
    assert_eq!(scene.bob.1.ok("note.create", first).await, made, "a repeat is the same note");
    scene.ada.1.ok("note.create", note(&scene.cid.0, "and loud")).await;
    scene.bob.1.ok("note.create", note(&stranger, "of one who is not here")).await;
    let about = json!({ "roomId": scene.room, "userId": scene.cid.0.id, "limit": 1 });
    let page = scene.bob.1.ok("note.list", about.clone()).await;
    assert_eq!((&items(&page)[0]["note"], &page["hasMore"]), (&json!("and loud"), &json!(true)));
    assert_eq!(
        scene.bob.1.ok("note.count", json!({ "roomId": scene.room, "userId": scene.cid.0.id })).await["count"],
        2
    );
    assert_eq!(scene.cid.1.refused("note.list", about).await, "forbidden");
    let empty = json!({ "roomId": scene.room, "userId": scene.cid.0.id, "note": "  " });
    assert_eq!(scene.bob.1.error("note.create", empty).await["field"], "/note");
}
