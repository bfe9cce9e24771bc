//! Who may do what: every operation of the protocol, for every kind of caller, in one table.

use std::collections::HashMap;

use parlour_protocol::{Command, Timestamp};
use serde_json::{Value, json};

use crate::harness::{Client, Server, User, nonce};

/// | column | who |
/// | --- | --- |
/// | owner | made the room |
/// | admin | a role at 3 with Administrator |
/// | mod | a role at 2 with ManageMessages, KickMembers, BanMembers and what a member has |
/// | author | a member; wrote the message at hand |
/// | member | a role at 0 with ReadMessages, SendMessages, MentionEveryone, ManageInvites |
/// | bare | in the room without any right |
/// | timed | a member under a timeout |
/// | kicked, banned | were in the room |
/// | stranger | never was |
/// | anon | not logged in |
///
/// Cells: `ok`, `no` = forbidden, `auth` = unauthenticated, `404` = not_found, `bad` = bad_request, `late` = timed_out,
/// `dup` = conflict, `nyi` = unsupported. What an operation is about is in [`Scene::data`].
const TABLE: &str = "
                           owner admin mod  author member bare timed kicked banned stranger anon
session.hello              bad   bad   bad  bad    bad    bad  bad   bad    bad    bad      auth
session.ping               ok    ok    ok   ok     ok     ok   ok    ok     ok     ok       auth
session.refresh            auth  auth  auth auth   auth   auth auth  auth   auth   auth     auth
session.list               ok    ok    ok   ok     ok     ok   ok    ok     ok     ok       auth
session.revoke             404   404   404  404    404    404  404   404    404    404      auth
user.get                   ok    ok    ok   ok     ok     ok   ok    ok     ok     ok       auth
user.search                ok    ok    ok   ok     ok     ok   ok    ok     ok     ok       auth
user.update                ok    ok    ok   ok     ok     ok   ok    ok     ok     ok       auth
room.create                ok    ok    ok   ok     ok     ok   ok    ok     ok     ok       auth
room.get                   ok    ok    ok   ok     ok     ok   ok    no     no     no       auth
room.list                  ok    ok    ok   ok     ok     ok   ok    ok     ok     ok       auth
room.update                ok    ok    no   no     no     no   no    no     no     no       auth
room.delete                ok    no    no   no     no     no   no    no     no     no       auth
room.leave                 ok    ok    ok   ok     ok     ok   ok    no     no     no       auth
room.members               ok    ok    ok   ok     ok     ok   ok    no     no     no       auth
room.subscribe             ok    ok    ok   ok     ok     no   ok    no     no     no       auth
room.unsubscribe           ok    ok    ok   ok     ok     ok   ok    ok     ok     ok       auth
invite.create              ok    ok    ok   ok     ok     no   ok    no     no     no       auth
invite.get                 ok    ok    ok   ok     ok     ok   ok    ok     ok     ok       auth
invite.mine                ok    ok    ok   ok     ok     ok   ok    no     no     no       auth
invite.list                ok    ok    no   no     no     no   no    no     no     no       auth
invite.revoke              ok    ok    no   no     no     no   no    no     no     no       auth
invite.join                dup   dup   dup  dup    dup    dup  dup   ok     no     ok       auth
membership.get             ok    ok    ok   ok     ok     ok   ok    no     no     no       auth
membership.update          ok    ok    ok   ok     ok     ok   ok    no     no     no       auth
membership.clearMentions   ok    ok    ok   ok     ok     ok   ok    no     no     no       auth
category.create            ok    ok    ok   ok     ok     ok   ok    ok     ok     ok       auth
category.list              ok    ok    ok   ok     ok     ok   ok    ok     ok     ok       auth
category.update            404   404   404  404    404    404  404   404    404    404      auth
category.delete            404   404   404  404    404    404  404   404    404    404      auth
category.reorder           404   404   404  404    404    404  404   404    404    404      auth
message.send               ok    ok    ok   ok     ok     no   late  no     no     no       auth
message.edit               ok    ok    ok   ok     no     no   no    no     no     no       auth
message.delete             ok    ok    ok   ok     no     no   no    no     no     no       auth
message.forward            ok    ok    ok   ok     ok     no   ok    no     no     no       auth
message.pin                ok    ok    ok   ok     no     no   no    no     no     no       auth
message.unpin              ok    ok    ok   ok     no     no   no    no     no     no       auth
message.list               ok    ok    ok   ok     ok     no   ok    no     no     no       auth
message.get                ok    ok    ok   ok     ok     no   ok    no     no     no       auth
message.thread             ok    ok    ok   ok     ok     no   ok    no     no     no       auth
message.search             ok    ok    ok   ok     ok     no   ok    no     no     no       auth
message.sent               ok    ok    ok   ok     ok     ok   ok    ok     ok     ok       auth
poll.vote                  ok    ok    ok   ok     ok     no   ok    no     no     no       auth
reaction.add               ok    ok    ok   ok     ok     no   ok    no     no     no       auth
reaction.remove            ok    ok    ok   ok     ok     no   ok    no     no     no       auth
reaction.list              ok    ok    ok   ok     ok     no   ok    no     no     no       auth
typing.start               ok    ok    ok   ok     ok     no   late  no     no     no       auth
thread.follow              ok    ok    ok   ok     ok     no   ok    no     no     no       auth
thread.unfollow            ok    ok    ok   ok     ok     no   ok    no     no     no       auth
thread.followed            ok    ok    ok   ok     ok     no   ok    no     no     no       auth
preview.delete             ok    ok    ok   ok     no     no   no    no     no     no       auth
file.createUploads         ok    ok    ok   ok     ok     no   ok    no     no     no       auth
file.urls                  ok    ok    ok   ok     ok     no   ok    no     no     no       auth
file.discard               no    no    no   no     no     no   no    no     no     no       auth
file.delete                bad   bad   bad  bad    no     no   no    no     no     no       auth
file.createImageUpload     ok    ok    no   no     no     no   no    no     no     no       auth
emoji.createUpload         ok    ok    no   no     no     no   no    no     no     no       auth
emoji.create               404   404   no   no     no     no   no    no     no     no       auth
emoji.update               404   404   no   no     no     no   no    no     no     no       auth
emoji.delete               404   404   no   no     no     no   no    no     no     no       auth
emoji.list                 ok    ok    ok   ok     ok     ok   ok    no     no     no       auth
schedule.reminder          ok    ok    ok   ok     ok     ok   ok    no     no     no       auth
schedule.message           ok    ok    ok   ok     ok     no   late  no     no     no       auth
schedule.reschedule        404   404   404  404    404    404  404   404    404    404      auth
schedule.cancel            404   404   404  404    404    404  404   404    404    404      auth
schedule.sendNow           404   404   404  404    404    404  404   404    404    404      auth
schedule.list              ok    ok    ok   ok     ok     ok   ok    no     no     no       auth
schedule.mine              ok    ok    ok   ok     ok     ok   ok    ok     ok     ok       auth
schedule.count             ok    ok    ok   ok     ok     ok   ok    ok     ok     ok       auth
role.create                ok    ok    no   no     no     no   no    no     no     no       auth
role.update                ok    ok    no   no     no     no   no    no     no     no       auth
role.delete                ok    ok    no   no     no     no   no    no     no     no       auth
role.assign                ok    ok    no   no     no     no   no    no     no     no       auth
role.revoke                ok    ok    no   no     no     no   no    no     no     no       auth
role.list                  ok    ok    ok   ok     ok     ok   ok    no     no     no       auth
role.members               ok    ok    ok   ok     ok     ok   ok    no     no     no       auth
role.permissions           ok    ok    ok   ok     ok     ok   ok    ok     ok     ok       auth
moderation.execute         ok    ok    ok   no     no     no   no    no     no     no       auth
moderation.bans            ok    ok    ok   no     no     no   no    no     no     no       auth
moderation.unban           404   404   404  no     no     no   no    no     no     no       auth
moderation.log             ok    ok    no   no     no     no   no    no     no     no       auth
note.create                ok    ok    ok   no     no     no   no    no     no     no       auth
note.list                  ok    ok    ok   no     no     no   no    no     no     no       auth
note.count                 ok    ok    ok   no     no     no   no    no     no     no       auth
filter.get                 ok    ok    no   no     no     no   no    no     no     no       auth
filter.set                 ok    ok    no   no     no     no   no    no     no     no       auth
webhook.create             ok    ok    no   no     no     no   no    no     no     no       auth
webhook.list               ok    ok    no   no     no     no   no    no     no     no       auth
webhook.update             404   404   no   no     no     no   no    no     no     no       auth
webhook.rotate             404   404   no   no     no     no   no    no     no     no       auth
webhook.delete             404   404   no   no     no     no   no    no     no     no       auth
appUser.get                ok    ok    ok   ok     ok     ok   ok    no     no     no       auth
status.set                 ok    ok    ok   ok     ok     ok   ok    ok     ok     ok       auth
status.get                 ok    ok    ok   ok     ok     ok   ok    ok     ok     ok       auth
friend.request             ok    ok    ok   ok     ok     ok   ok    ok     ok     ok       auth
friend.accept              404   404   404  404    404    404  404   404    404    404      auth
friend.decline             404   404   404  404    404    404  404   404    404    404      auth
friend.cancel              404   404   404  404    404    404  404   404    404    404      auth
friend.remove              404   404   404  404    404    404  404   404    404    404      auth
friend.list                ok    ok    ok   ok     ok     ok   ok    ok     ok     ok       auth
block.add                  ok    ok    ok   ok     ok     ok   ok    ok     ok     ok       auth
block.remove               404   404   404  404    404    404  404   404    404    404      auth
block.list                 ok    ok    ok   ok     ok     ok   ok    ok     ok     ok       auth
dm.open                    bad   bad   bad  bad    bad    bad  bad   bad    bad    bad      auth
dm.list                    ok    ok    ok   ok     ok     ok   ok    ok     ok     ok       auth
dm.hide                    bad   bad   bad  bad    bad    bad  bad   no     no     no       auth
dm.add                     bad   bad   bad  bad    bad    bad  bad   no     no     no       auth
dm.remove                  bad   bad   bad  bad    bad    bad  bad   no     no     no       auth
push.key                   ok    ok    ok   ok     ok     ok   ok    ok     ok     ok       auth
push.subscribe             ok    ok    ok   ok     ok     ok   ok    ok     ok     ok       auth
push.unsubscribe           404   404   404  404    404    404  404   404    404    404      auth
push.list                  ok    ok    ok   ok     ok     ok   ok    ok     ok     ok       auth
";

/// The callers of the table that are logged in, in its order.
const CALLERS: [&str; 10] =
    ["owner", "admin", "mod", "author", "member", "bare", "timed", "kicked", "banned", "stranger"];

const ON_SOCKETS: [&str; 5] =
    ["session.hello", "session.ping", "session.refresh", "room.subscribe", "room.unsubscribe"];

#[tokio::test]
async fn every_operation_is_for_whom_the_table_says() {
    let server = Server::with(&[("PARLOUR_RATES_SLOW_POINTS", "100000")]).await;
    let mut rows: HashMap<&str, Vec<&str>> = TABLE
        .lines()
        .skip(2)
        .map(|line| {
            let mut cells = line.split_whitespace();
            (cells.next().unwrap_or_default(), cells.collect())
        })
        .collect();
    let world = World::new(&server).await;
    let mut wrong = Vec::new();
    for op in Command::NAMES.iter().copied() {
        let expected = rows.remove(op).unwrap_or_else(|| panic!("{op} is missing from the table"));
        assert_eq!(expected.len(), CALLERS.len() + 1, "{op}");
        let scene = world.scene(&server).await;
        // The mightiest last: what they do may end the room.
        let mut seen = vec![world.anonymous(&server, op, &scene).await];
        for caller in CALLERS.iter().rev() {
            seen.insert(0, world.call(&server, op, caller, &scene).await);
        }
        if seen != expected {
            wrong.push(format!("{op}\n  table  {}\n  server {}", expected.join(" "), seen.join(" ")));
        }
    }
    assert!(rows.keys().all(|op| op.is_empty()), "no operations of the protocol: {:?}", rows.keys());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

struct World {
    users: HashMap<&'static str, User>,
    /// In every room without a role, and in none.
    victim: User,
    outsider: User,
}

/// A room with everybody in their place.
struct Scene {
    room: String,
    /// A message and a poll of the author.
    message: Value,
    poll: Value,
    invite: Value,
    role: Value,
    victim: String,
    outsider: String,
}

impl World {
    async fn new(server: &Server) -> Self {
        let mut users = HashMap::new();
        for name in CALLERS {
            users.insert(name, server.user(name).await);
        }
        let (victim, outsider) = (server.user("victim").await, server.user("outsider").await);
        Self { users, victim, outsider }
    }

    async fn rpc(&self, server: &Server, caller: &str, op: &str, data: Value) -> Value {
        server.rpc(&self.users[caller], op, &data).await.ok().clone()
    }

    async fn scene(&self, server: &Server) -> Scene {
        let owner = "owner";
        let view = self.rpc(server, owner, "room.create", json!({ "name": "Tea" })).await;
        let room = view["room"]["roomId"].as_str().unwrap().to_owned();
        let invite = self.rpc(server, owner, "invite.create", json!({ "roomId": room })).await;
        let join = json!({ "inviteId": invite["invite"]["inviteId"] });
        for user in CALLERS[1..9].iter().map(|name| &self.users[name]).chain([&self.victim]) {
            server.rpc(user, "invite.join", &join).await.ok();
        }
        let roles = self.rpc(server, owner, "role.list", json!({ "roomIds": [room] })).await;
        let bare = json!({ "roomId": room, "roleId": roles["items"][0]["roleId"], "permissions": "0" });
        self.rpc(server, owner, "role.update", bare).await;
        for (position, permissions, holders) in [
            (3, "16384", &["admin"][..]),
            (2, "463", &["mod"]),
            (0, "75", &["author", "member", "timed", "kicked", "banned"]),
        ] {
            let data = json!({ "roomId": room, "name": "x", "position": position, "permissions": permissions });
            let role = self.rpc(server, owner, "role.create", data).await["role"]["roleId"].clone();
            for holder in holders {
                let data = json!({ "roomId": room, "roleId": role, "userId": self.users[holder].id });
                self.rpc(server, owner, "role.assign", data).await;
            }
        }
        for (who, action) in [("timed", "TimeoutUser"), ("kicked", "KickFromRoom"), ("banned", "CreateBan")] {
            let mut data = json!({ "roomId": room, "userId": self.users[who].id, "type": action });
            if who == "timed" {
                data["durationMs"] = json!(600_000);
            }
            self.rpc(server, owner, "moderation.execute", data).await;
        }
        Scene {
            room,
            message: Value::Null,
            poll: Value::Null,
            invite: invite["invite"]["inviteId"].clone(),
            role: Value::Null,
            victim: self.victim.id.clone(),
            outsider: self.outsider.id.clone(),
        }
    }

    /// The scene with what an operation uses up made anew.
    async fn ready(&self, server: &Server, op: &str, scene: &Scene) -> Scene {
        let room = &scene.room;
        let mut now = Scene {
            room: room.clone(),
            victim: scene.victim.clone(),
            outsider: scene.outsider.clone(),
            invite: scene.invite.clone(),
            message: Value::Null,
            poll: Value::Null,
            role: Value::Null,
        };
        let area = op.split('.').next().unwrap_or_default();
        if matches!(area, "message" | "reaction" | "thread" | "preview" | "file") {
            let sent = self.rpc(server, "author", "message.send", json!({ "roomId": room, "message": "x" })).await;
            now.message = sent["message"]["rowKey"].clone();
        }
        if area == "poll" {
            let poll = json!({ "question": "x", "options": [{ "label": "a" }, { "label": "b" }] });
            let data = json!({ "roomId": room, "type": "Poll", "poll": poll });
            now.poll = self.rpc(server, "author", "message.send", data).await["message"].clone();
        }
        if area == "role" {
            let data = json!({ "roomId": room, "name": "low", "position": 1 });
            now.role = self.rpc(server, "owner", "role.create", data).await["role"]["roleId"].clone();
        }
        if area == "moderation" || op == "invite.revoke" {
            let invite = self.rpc(server, "owner", "invite.create", json!({ "roomId": room })).await;
            now.invite = invite["invite"]["inviteId"].clone();
            // Whoever was kicked by the caller before is there again.
            server.rpc(&self.victim, "invite.join", &json!({ "inviteId": now.invite })).await;
        }
        now
    }

    async fn call(&self, server: &Server, op: &str, caller: &str, scene: &Scene) -> String {
        let data = self.ready(server, op, scene).await.data(op);
        if ON_SOCKETS.contains(&op) {
            let outcome = Client::of(server, &self.users[caller]).await.call(op, data).await;
            let refused = outcome.as_ref().ok().and_then(|reply| reply["rooms"][0].get("error"));
            return cell(refused.or(outcome.as_ref().err()));
        }
        let answer = server.rpc(&self.users[caller], op, &data).await;
        cell((answer.status >= 400).then_some(&answer.body))
    }

    async fn anonymous(&self, server: &Server, op: &str, scene: &Scene) -> String {
        let data = scene.data(op);
        if ON_SOCKETS.contains(&op) {
            let outcome = Client::open(server).await.call(op, data).await;
            return cell(outcome.as_ref().err());
        }
        let answer = server.post(&format!("/v1/rpc/{op}"), None, &data).await;
        cell((answer.status >= 400).then_some(&answer.body))
    }
}

fn cell(error: Option<&Value>) -> String {
    let Some(error) = error else { return "ok".to_owned() };
    let code = error["code"].as_str().unwrap_or("none");
    let known = match code {
        "forbidden" => "no",
        "unauthenticated" => "auth",
        "not_found" => "404",
        "bad_request" => "bad",
        "timed_out" => "late",
        "conflict" => "dup",
        "unsupported" => "nyi",
        other => other,
    };
    known.to_owned()
}

impl Scene {
    /// What each operation is given.
    fn data(&self, op: &str) -> Value {
        let Self { room, message, poll, invite, role, victim, outsider } = self;
        let key = if message.is_null() { json!("9".repeat(30)) } else { message.clone() };
        let poll_key = poll.get("rowKey").cloned().unwrap_or_else(|| json!("9".repeat(30)));
        let option = poll["poll"]["options"][0].get("id").cloned().unwrap_or_else(|| json!(outsider));
        let role = if role.is_null() { json!(outsider) } else { role.clone() };
        let of_room = json!({ "roomId": room });
        let of_message = json!({ "roomId": room, "rowKey": key });
        let of_victim = json!({ "roomId": room, "userId": victim });
        let of_outsider = json!({ "userId": outsider });
        let unknown = outsider;
        match op {
            "session.hello" | "session.ping" | "session.list" | "category.list" | "room.list" | "message.sent"
            | "schedule.mine" | "schedule.count" | "friend.list" | "block.list" | "dm.list" | "push.key"
            | "push.list" => json!({}),
            "session.refresh" => json!({ "token": "x" }),
            "session.revoke" => json!({ "sessionId": unknown }),
            "user.get" | "status.get" => json!({ "userIds": [outsider] }),
            "user.search" => json!({ "query": "x" }),
            "user.update" => json!({ "biography": "x" }),
            "room.create" | "category.create" => json!({ "name": "x" }),
            "room.get"
            | "room.delete"
            | "room.leave"
            | "room.members"
            | "invite.create"
            | "invite.mine"
            | "invite.list"
            | "membership.clearMentions"
            | "message.list"
            | "typing.start"
            | "thread.followed"
            | "emoji.list"
            | "schedule.list"
            | "moderation.bans"
            | "moderation.log"
            | "filter.get"
            | "webhook.create"
            | "webhook.list"
            | "dm.hide" => of_room,
            "room.update" => json!({ "roomId": room, "topic": "x" }),
            "room.subscribe" => json!({ "rooms": [of_room] }),
            "room.unsubscribe" | "membership.get" | "role.list" | "role.permissions" => json!({ "roomIds": [room] }),
            "invite.get" | "invite.join" => json!({ "inviteId": invite }),
            "invite.revoke" => json!({ "roomId": room, "inviteId": invite }),
            "membership.update" => json!({ "roomId": room, "nickname": "x" }),
            "category.update" => json!({ "categoryId": unknown, "name": "x" }),
            "category.delete" => json!({ "categoryId": unknown }),
            "category.reorder" => json!({ "categoryIds": [unknown] }),
            "message.send" => json!({ "roomId": room, "message": "x", "nonce": nonce() }),
            "message.edit" => json!({ "roomId": room, "rowKey": key, "message": "y" }),
            "message.forward" => json!({ "roomId": room, "rowKey": key, "roomIds": [room] }),
            "message.get" => json!({ "roomId": room, "rowKeys": [key] }),
            "message.search" => json!({ "roomId": room, "query": "x" }),
            "message.delete" | "message.pin" | "message.unpin" | "message.thread" | "reaction.list"
            | "thread.follow" | "thread.unfollow" | "preview.delete" => of_message,
            "poll.vote" => json!({ "roomId": room, "rowKey": poll_key, "optionId": option }),
            "reaction.add" | "reaction.remove" => json!({ "roomId": room, "rowKey": key, "emoji": "👍" }),
            "file.createUploads" => {
                json!({ "roomId": room, "files": [{ "filename": "x.png", "mimetype": "image/png", "size": 1 }] })
            }
            "file.urls" => json!({ "roomId": room, "files": [{ "fileId": unknown }] }),
            "file.discard" => json!({ "roomId": room, "files": [{ "fileId": unknown, "grant": "x" }] }),
            "file.delete" => json!({ "roomId": room, "rowKey": key, "fileId": unknown }),
            "file.createImageUpload" | "emoji.createUpload" => {
                json!({ "roomId": room, "mimetype": "image/png", "size": 1 })
            }
            "emoji.create" | "emoji.update" => json!({ "roomId": room, "emojiId": unknown, "name": "tea_party" }),
            "emoji.delete" => json!({ "roomId": room, "emojiId": unknown }),
            "schedule.reminder" => json!({ "roomId": room, "runAt": tomorrow(), "text": "x" }),
            "schedule.message" => json!({ "roomId": room, "runAt": tomorrow(), "message": "x" }),
            "schedule.reschedule" => json!({ "jobId": unknown, "message": "x" }),
            "schedule.cancel" | "schedule.sendNow" => json!({ "jobId": unknown }),
            "role.create" => json!({ "roomId": room, "name": "x", "position": 1 }),
            "role.update" => json!({ "roomId": room, "roleId": role, "name": "y" }),
            "role.delete" => json!({ "roomId": room, "roleId": role }),
            "role.assign" | "role.revoke" => json!({ "roomId": room, "roleId": role, "userId": victim }),
            "role.members" => json!({ "roomId": room, "userIds": [victim] }),
            "moderation.execute" => json!({ "roomId": room, "userId": victim, "type": "KickFromRoom" }),
            "moderation.unban" | "note.list" | "note.count" | "dm.remove" => of_victim,
            "note.create" => json!({ "roomId": room, "userId": victim, "note": "x" }),
            "filter.set" => json!({ "roomId": room, "words": [{ "word": "x" }] }),
            "webhook.update" => json!({ "roomId": room, "webhookId": unknown, "name": "x" }),
            "webhook.rotate" | "webhook.delete" => json!({ "roomId": room, "webhookId": unknown }),
            "appUser.get" => json!({ "roomId": room, "appUserIds": [unknown] }),
            "status.set" => json!({ "message": "x" }),
            "friend.request" => json!({ "userId": victim }),
            "friend.accept" | "friend.decline" | "friend.cancel" | "friend.remove" | "block.add" => of_outsider,
            "block.remove" => json!({ "userId": victim }),
            "dm.open" => json!({ "userIds": [outsider] }),
            "dm.add" => json!({ "roomId": room, "userIds": [outsider] }),
            "push.subscribe" => {
                // The keys of RFC 8291's example.
                let p256dh = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
                let keys = json!({ "auth": "BTBZMqHH6r4Tts7J_aSIgg", "p256dh": p256dh });
                json!({ "endpoint": "https://1.1.1.1/x", "keys": keys })
            }
            "push.unsubscribe" => json!({ "endpoint": "https://1.1.1.1/y" }),
            _ => panic!("what is {op} given?"),
        }
    }
}

fn tomorrow() -> String {
    Timestamp::now().plus_millis(86_400_000).to_string()
}
