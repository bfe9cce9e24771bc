//! What is refused, and which place of the data the refusal names.

use std::time::{Duration, Instant};

use parlour_protocol::{
    Command, ErrorCode, ProtocolError,
    codec::{Codec, FrameError, decode_command_frame},
};
use serde_json::{Value, json};

const ROOM: &str = "3f9e7b20-6c1d-4e5a-b8f2-0a4d5c6e7f03";
const USER: &str = "0b6f2c1e-4a57-4d0e-9d3a-1f5f0c7a2e01";
const KEY: &str = "999999999998227633539749999999";

fn decode(op: &str, data: &Value) -> Result<Command, ProtocolError> {
    Command::decode(op, &data.to_string())
}

/// The `field` of a refusal; empty when it names none.
fn refused(op: &str, data: &Value) -> String {
    match decode(op, data) {
        Ok(command) => panic!("{op} {data} was taken as {command:?}"),
        Err(error) => {
            assert_eq!(error.code, ErrorCode::BadRequest, "{op} {data}");
            error.field.unwrap_or_default()
        }
    }
}

fn taken(op: &str, data: &Value) -> Command {
    decode(op, data).unwrap_or_else(|error| panic!("{op} {data}: {error:?}"))
}

fn frame(text: &str) -> Result<(u64, String, String), FrameError> {
    decode_command_frame(Codec::Json, text.as_bytes())
        .map(|frame| (frame.id, frame.op.into_owned(), frame.data.into_owned()))
}

#[test]
fn a_frame_is_an_object_with_an_id_and_an_op() {
    assert_eq!(frame(r#"{"id":1,"op":"session.ping"}"#).unwrap(), (1, "session.ping".into(), "{}".into()));
    assert_eq!(frame(r#"{"id":1,"op":"session.ping","data":null}"#).unwrap().2, "{}");
    assert_eq!(frame(r#" {"id":9007199254740991,"op":"x","more":[1]} "#).unwrap().0, (1 << 53) - 1);
    for bad in [
        "",
        " ",
        "{",
        "nonsense",
        "1",
        "null",
        "\"op\"",
        "[]",
        r#"[1,"session.ping",{}]"#,
        r#"{"op":"session.ping"}"#,
        r#"{"id":1}"#,
        r#"{"id":0,"op":"x"}"#,
        r#"{"id":-1,"op":"x"}"#,
        r#"{"id":1.5,"op":"x"}"#,
        r#"{"id":9007199254740992,"op":"x"}"#,
        r#"{"id":1e400,"op":"x"}"#,
        r#"{"id":"1","op":"x"}"#,
        r#"{"id":null,"op":"x"}"#,
        r#"{"id":1,"op":7}"#,
        r#"{"id":1,"op":null}"#,
        r#"{"id":1,"id":2,"op":"x"}"#,
        r#"{"id":1,"op":"x","op":"y"}"#,
        r#"{"id":1,"op":"x","data":}"#,
        r#"{"id":1,"op":"x"} {}"#,
        r#"{"id":1,"op":"x","data":{}"#,
        "{\"id\":1,\"op\":\"x\",\"data\":\"\u{1}\"}",
    ] {
        assert!(frame(bad).is_err(), "{bad}");
    }
    assert!(decode_command_frame(Codec::Json, b"{\"id\":1,\"op\":\"\xff\"}").is_err());
}

#[test]
fn an_unknown_operation_is_unsupported() {
    for op in ["message.shout", "Message.send", "", "message.send ", &"x".repeat(60_000)] {
        let error = decode(op, &json!({})).unwrap_err();
        assert_eq!(error.code, ErrorCode::Unsupported, "{op}");
        assert!(error.message.len() < 400);
    }
}

#[test]
fn a_refusal_points_at_its_place() {
    let send = |field: &str, value: Value| {
        let mut data = json!({ "roomId": ROOM, "message": "x" });
        data[field] = value;
        data
    };
    for (data, field) in [
        (json!({ "message": "x" }), "/roomId"),
        (send("roomId", json!("x")), "/roomId"),
        (send("roomId", Value::Null), "/roomId"),
        (send("roomId", json!(ROOM.to_uppercase())), "/roomId"),
        (send("roomId", json!(ROOM.replace('-', ""))), "/roomId"),
        (send("roomId", json!(format!("{{{ROOM}}}"))), "/roomId"),
        (send("message", json!(7)), "/message"),
        (send("message", json!(["x"])), "/message"),
        (send("message", json!("a\0b")), "/message"),
        (send("type", json!("System")), "/type"),
        (send("type", json!({ "Message": null })), "/type"),
        (send("format", json!("text")), "/format"),
        (send("nonce", json!("")), "/nonce"),
        (send("nonce", json!("ü")), "/nonce"),
        (send("nonce", json!("a\nb")), "/nonce"),
        (send("replyRowKey", json!("1")), "/replyRowKey"),
        (send("files", json!({})), "/files"),
        (send("files", json!([{ "fileId": USER }, {}])), "/files/1/fileId"),
        (send("files", json!([{ "fileId": USER }, { "fileId": USER }])), "/files"),
        (send("poll", json!({ "question": "q", "options": [{ "label": "a" }, { "label": "b" }] })), "/poll"),
    ] {
        assert_eq!(refused("message.send", &data), field, "{data}");
    }
    let rooms = json!({ "rooms": [{ "roomId": ROOM, "since": { "epoch": "e", "seq": -1 } }] });
    assert_eq!(refused("room.subscribe", &rooms), "/rooms/0/since/seq");
    let rooms = json!({ "rooms": [{ "roomId": ROOM, "since": { "epoch": "e".repeat(33), "seq": 1 } }] });
    assert_eq!(refused("room.subscribe", &rooms), "/rooms/0/since/epoch");
}

#[test]
fn an_object_is_no_array_of_its_fields() {
    refused("typing.start", &json!([ROOM]));
    refused("session.ping", &json!([]));
    assert_eq!(refused("room.subscribe", &json!({ "rooms": [[ROOM]] })), "/rooms/0");
    for scalar in [json!(1), json!("x"), json!(true), Value::Null] {
        refused("typing.start", &scalar);
        refused("session.ping", &scalar);
    }
}

#[test]
fn null_is_not_given_but_where_it_clears() {
    taken("message.send", &json!({ "roomId": ROOM, "message": "x", "format": null, "nonce": null, "files": null }));
    taken("room.subscribe", &json!({ "rooms": [{ "roomId": ROOM, "since": null }], "echo": null }));
    // A null that clears is something to change, one that is not given is nothing.
    taken("user.update", &json!({ "biography": null }));
    refused("user.update", &json!({ "name": null }));
    refused("room.update", &json!({ "roomId": ROOM, "isReadOnly": null }));
    taken("room.update", &json!({ "roomId": ROOM, "slowmodeMs": null }));
    taken("poll.vote", &json!({ "roomId": ROOM, "rowKey": KEY, "optionId": null }));
    assert_eq!(refused("poll.vote", &json!({ "roomId": ROOM, "rowKey": KEY })), "/optionId");
}

#[test]
fn unknown_fields_are_ignored() {
    taken("typing.start", &json!({ "roomId": ROOM, "lastMessageAt": "x", "deep": [[[{ "a": 1e300 }]]] }));
}

#[test]
fn a_field_that_stands_twice_is_refused() {
    let error = Command::decode("typing.start", &format!(r#"{{"roomId":"{ROOM}","roomId":"{ROOM}"}}"#)).unwrap_err();
    assert_eq!(error.code, ErrorCode::BadRequest);
}

#[test]
fn numbers_have_their_range_and_no_fraction() {
    let list = |limit: &str| Command::decode("room.list", &format!(r#"{{"limit":{limit}}}"#));
    for good in ["1", "1000"] {
        list(good).unwrap();
    }
    for bad in ["0", "1001", "-1", "1.5", "1.0", "1e2", "1e999", "18446744073709551616", "\"5\"", "true", "[5]"] {
        let error = list(bad).unwrap_err();
        assert_eq!((error.code, error.field.as_deref()), (ErrorCode::BadRequest, Some("/limit")), "{bad}");
    }
    let edit = |rev: i64| json!({ "roomId": ROOM, "rowKey": KEY, "message": "x", "rev": rev });
    taken("message.edit", &edit(i64::from(u32::MAX)));
    refused("message.edit", &edit(i64::from(u32::MAX) + 1));
}

#[test]
fn names_are_trimmed_before_they_are_counted() {
    let Command::RoomCreate(create) = taken("room.create", &json!({ "name": "  Tea \u{3000}" })) else { panic!() };
    assert_eq!(create.name.as_str(), "Tea");
    assert_eq!(refused("room.create", &json!({ "name": " \t " })), "/name");
    taken("room.create", &json!({ "name": format!(" {} ", "茶".repeat(100)) }));
    assert_eq!(refused("room.create", &json!({ "name": "茶".repeat(101) })), "/name");
}

#[test]
fn bl_083_a_body_is_counted_in_characters_whatever_their_bytes() {
    for letter in ["a", "ß", "茶", "ش", "👍", "\u{1F1E9}"] {
        let at = |count: usize| json!({ "roomId": ROOM, "message": letter.repeat(count) });
        taken("message.send", &at(10_000));
        assert_eq!(refused("message.send", &at(10_001)), "/message", "{letter}");
    }
}

#[test]
fn arrays_have_their_bounds_and_distinct_items() {
    let ids =
        |count: u32| -> Vec<String> { (0..count).map(|id| format!("00000000-0000-4000-8000-{id:012}")).collect() };
    for (op, field, most) in [
        ("user.get", "userIds", 1000),
        ("room.unsubscribe", "roomIds", 1000),
        ("membership.get", "roomIds", 1000),
        ("dm.open", "userIds", 999),
    ] {
        taken(op, &json!({ field: ids(1) }));
        taken(op, &json!({ field: ids(most) }));
        for bad in [json!([]), json!(ids(most + 1)), json!([USER, USER]), json!(USER), json!({ "0": USER })] {
            let place = refused(op, &json!({ field: bad }));
            assert!(place.starts_with(&format!("/{field}")), "{op} {place}");
        }
    }
    let rooms = |count| json!({ "rooms": ids(count).iter().map(|id| json!({ "roomId": id })).collect::<Vec<_>>() });
    taken("room.subscribe", &rooms(1000));
    assert!(refused("room.subscribe", &rooms(1001)).starts_with("/rooms"));
    assert_eq!(refused("room.subscribe", &json!({ "rooms": [{ "roomId": ROOM }, { "roomId": ROOM }] })), "/rooms");
    let keys: Vec<_> = (0..1001).map(|key| format!("{key:030}")).collect();
    taken("message.get", &json!({ "roomId": ROOM, "rowKeys": keys[..1000] }));
    refused("message.get", &json!({ "roomId": ROOM, "rowKeys": keys }));
    refused("message.get", &json!({ "roomId": ROOM, "rowKeys": [KEY, KEY] }));
    // Files to upload may have one name.
    let file = json!({ "filename": "a", "mimetype": "image/png", "size": 1 });
    taken("file.createUploads", &json!({ "roomId": ROOM, "files": [file, file] }));
}

#[test]
fn text_limits_hold_at_their_edge() {
    let (room, at) = (json!({ "roomId": ROOM }), "2026-03-01T12:00:00Z");
    for (op, others, pointer, limit) in [
        ("room.create", json!({ "name": "x" }), "/topic", 500),
        ("room.create", json!({}), "/name", 100),
        ("room.update", room.clone(), "/topic", 500),
        ("room.update", room.clone(), "/image", 2048),
        ("room.members", room.clone(), "/query", 100),
        ("membership.update", room.clone(), "/nickname", 32),
        ("user.update", json!({}), "/name", 100),
        ("user.update", json!({}), "/image", 2048),
        ("user.update", json!({}), "/biography", 160),
        ("user.search", json!({}), "/query", 100),
        ("category.create", json!({}), "/name", 100),
        ("status.set", json!({}), "/message", 64),
        ("schedule.reminder", json!({ "roomId": ROOM, "runAt": at }), "/text", 10_000),
        ("schedule.message", json!({ "roomId": ROOM, "runAt": at }), "/message", 10_000),
        ("note.create", json!({ "roomId": ROOM, "userId": USER }), "/note", 2000),
        ("moderation.execute", json!({ "roomId": ROOM, "userId": USER, "type": "Warn" }), "/reason", 2000),
        ("message.send", json!({ "roomId": ROOM, "message": "x" }), "/nonce", 64),
        ("message.search", room.clone(), "/query", 10_000),
        ("session.hello", json!({ "client": { "version": "1" } }), "/client/name", 100),
        ("session.hello", json!({ "client": { "name": "x" } }), "/client/version", 50),
        ("emoji.update", json!({ "roomId": ROOM, "emojiId": ROOM }), "/name", 32),
        ("role.create", json!({ "roomId": ROOM }), "/name", 100),
        ("role.create", json!({ "roomId": ROOM, "name": "x" }), "/color", 9),
        ("filter.set", json!({ "roomId": ROOM, "words": [{ "word": "" }] }), "/words/0/word", 100),
        ("webhook.create", room, "/name", 100),
        (
            "file.createUploads",
            json!({ "roomId": ROOM, "files": [{ "mimetype": "a/b", "size": 1 }] }),
            "/files/0/filename",
            1000,
        ),
    ] {
        let with = |length: usize| {
            let mut data = others.clone();
            let (parent, field) = pointer.rsplit_once('/').unwrap();
            data.pointer_mut(parent).unwrap()[field] = json!("x".repeat(length));
            data
        };
        taken(op, &with(limit));
        assert_eq!(refused(op, &with(limit + 1)), pointer, "{op}");
    }
}

#[test]
fn fields_that_need_or_exclude_each_other_are_checked() {
    refused("session.revoke", &json!({}));
    refused("session.revoke", &json!({ "sessionId": ROOM, "others": true }));
    assert_eq!(refused("session.revoke", &json!({ "others": false })), "/others");
    taken("session.revoke", &json!({ "others": true }));
    for (op, id) in [("room.update", "roomId"), ("schedule.reschedule", "jobId")] {
        refused(op, &json!({ id: ROOM }));
    }
    refused("user.update", &json!({}));
    refused("status.set", &json!({}));
    refused("role.update", &json!({ "roomId": ROOM, "roleId": ROOM }));
    refused("webhook.update", &json!({ "roomId": ROOM, "webhookId": ROOM }));
    refused("friend.request", &json!({}));
    refused("friend.request", &json!({ "userId": USER, "name": "Bob" }));
    assert_eq!(refused("invite.create", &json!({ "roomId": ROOM, "expiresInMs": 1 })), "/expiresInMs");
    assert_eq!(refused("invite.create", &json!({ "roomId": ROOM, "maxUses": 2 })), "/maxUses");
    refused("membership.update", &json!({ "roomId": ROOM, "userId": USER, "notificationType": "All" }));
    taken("membership.update", &json!({ "roomId": ROOM, "userId": USER, "nickname": null }));
    for other in [json!({ "cursor": KEY }), json!({ "order": "Asc" }), json!({ "isPinned": true })] {
        let mut data = json!({ "roomId": ROOM, "around": KEY, "limit": 5 });
        taken("message.list", &data);
        data.as_object_mut().unwrap().extend(other.as_object().unwrap().clone());
        assert_eq!(refused("message.list", &data), "/around");
    }
    assert_eq!(refused("message.list", &json!({ "roomId": ROOM, "isPinned": false })), "/isPinned");
    let execute = |kind: &str| json!({ "roomId": ROOM, "userId": USER, "type": kind });
    assert_eq!(refused("moderation.execute", &execute("TimeoutUser")), "/durationMs");
    assert_eq!(refused("moderation.execute", &execute("DeleteBan")), "/type");
    taken("moderation.execute", &execute("Warn"));
    let filter = |action: &str, duration: Value| json!({ "roomId": ROOM, "words": [], "action": action, "timeoutDurationMs": duration });
    taken("filter.set", &filter("Timeout", json!(1)));
    refused("filter.set", &filter("Timeout", Value::Null));
    refused("filter.set", &filter("Warn", json!(1)));
    refused("filter.set", &json!({ "roomId": ROOM, "words": [{ "word": "Mud" }, { "word": "mud " }] }));
    refused("push.subscribe", &json!({ "endpoint": "http://example.org", "keys": { "auth": "a", "p256dh": "p" } }));
}

#[test]
fn a_poll_has_two_to_ten_options_and_nothing_else() {
    let poll = |options: usize| {
        let options: Vec<_> = (0..options).map(|option| json!({ "label": format!("{option}") })).collect();
        json!({ "roomId": ROOM, "type": "Poll", "poll": { "question": "Tea?", "options": options } })
    };
    taken("message.send", &poll(2));
    taken("message.send", &poll(10));
    assert!(refused("message.send", &poll(1)).starts_with("/poll/options"));
    assert!(refused("message.send", &poll(11)).starts_with("/poll/options"));
    assert_eq!(refused("message.send", &json!({ "roomId": ROOM, "type": "Poll" })), "/poll");
    let mut data = poll(2);
    data["message"] = json!("x");
    assert_eq!(refused("message.send", &data), "/message");
    let mut data = poll(2);
    data["files"] = json!([{ "fileId": USER }]);
    assert_eq!(refused("message.send", &data), "/files");
    let mut data = poll(2);
    data["poll"]["options"][0]["id"] = json!(USER);
    taken("message.send", &data);
    data["poll"]["options"][1]["id"] = json!(USER);
    assert_eq!(refused("message.send", &data), "/poll/options");
    let mut data = poll(2);
    data["poll"]["question"] = json!("?".repeat(301));
    assert_eq!(refused("message.send", &data), "/poll/question");
    let mut data = poll(2);
    data["poll"]["options"][1]["label"] = json!(" ");
    assert_eq!(refused("message.send", &data), "/poll/options/1/label");
}

#[test]
fn malformed_json_in_the_data_is_refused_without_harm() {
    for data in ["", "{", "{\"roomId\":", "nonsense", "{\"roomId\":\"\\ud800\"}", "{}x"] {
        let error = Command::decode("typing.start", data).unwrap_err();
        assert_eq!(error.code, ErrorCode::BadRequest, "{data}");
    }
}

#[test]
fn deep_nesting_is_read_within_bounds() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let depth = 64 * 1024 / open.len() / 2;
        let nested = format!("{}1{}", open.repeat(depth), close.repeat(depth));
        // In a field that nobody reads it does no harm, in one that is read it is refused.
        let ignored = format!(r#"{{"id":1,"op":"typing.start","data":{{"roomId":"{ROOM}","x":{nested}}}}}"#);
        let (_, op, data) = frame(&ignored).unwrap();
        assert!(Command::decode(&op, &data).is_ok_and(|command| command.name() == "typing.start"));
        let error = Command::decode("typing.start", &format!(r#"{{"roomId":{nested}}}"#)).unwrap_err();
        assert_eq!(error.field.as_deref(), Some("/roomId"));
    }
}

fn message_pack(bytes: &[u8]) -> Result<(u64, String, String), FrameError> {
    decode_command_frame(Codec::MessagePack, bytes)
        .map(|frame| (frame.id, frame.op.into_owned(), frame.data.into_owned()))
}

/// `{"id": 1, "op": "x", "data": <value>}`.
fn with_data(value: &[u8]) -> Vec<u8> {
    [b"\x83\xa2id\x01\xa2op\xa1x\xa4data".as_slice(), value].concat()
}

#[test]
fn bl_111_a_claimed_length_costs_nothing() {
    let began = Instant::now();
    for lie in [
        b"\xdb\x7f\xff\xff\xff".as_slice(), // a text of 2 GiB
        b"\xdb\xff\xff\xff\xff",
        b"\xdd\xff\xff\xff\xff", // an array of 4 Gi items
        b"\xdf\xff\xff\xff\xff", // a map of 4 Gi entries
        b"\xdd\x00\x00\xff\xff\xdd\x00\x00\xff\xff\xdd\x00\x00\xff\xff",
        b"\xc6\x7f\xff\xff\xff", // a binary of 2 GiB
        b"\xc9\x7f\xff\xff\xff\x01",
        b"\xda\xff\xff",
        b"\xd9\xff",
    ] {
        for _ in 0..1000 {
            assert!(message_pack(lie).is_err());
            assert!(message_pack(&with_data(lie)).is_err(), "{lie:x?}");
        }
    }
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[test]
fn message_pack_holds_text_keys_finite_numbers_and_nothing_foreign() {
    assert_eq!(message_pack(&with_data(b"\x80")).unwrap(), (1, "x".into(), "{}".into()));
    assert_eq!(message_pack(&with_data(b"\xc0")).unwrap().2, "{}");
    assert_eq!(message_pack(b"\x82\xa2id\x01\xa2op\xa1x").unwrap().2, "{}");
    assert_eq!(message_pack(&with_data(b"\x92\xcb\x3f\xf8\0\0\0\0\0\0\xd0\xff")).unwrap().2, "[1.5,-1]");
    assert!(message_pack(&with_data(b"\x81\xa1\"\xa2\n\xc2")).is_err());
    assert_eq!(message_pack(&with_data(b"\x81\xa1\"\xa1\n")).unwrap().2, r#"{"\"":"\n"}"#);
    for id in [b"\xcf\0\0\0\0\0\0\0\x07".as_slice(), b"\xd3\0\0\0\0\0\0\0\x07", b"\xcc\x07", b"\xd0\x07"] {
        let bytes = [b"\x82\xa2id".as_slice(), id, b"\xa2op\xa1x"].concat();
        assert_eq!(message_pack(&bytes).unwrap().0, 7);
    }
    for bad in [
        b"".as_slice(),
        b"\xc1",
        b"\x01",
        b"\x93\x01\xa1x\x80",                             // an array
        b"\x82\xa2id\x00\xa2op\xa1x",                     // id 0
        b"\x82\xa2id\xff\xa2op\xa1x",                     // id -1
        b"\x82\xa2id\xcb\x3f\xf0\0\0\0\0\0\0\xa2op\xa1x", // id 1.0
        b"\x82\xa2id\x01\xa2op\x01",                      // op 1
        b"\x81\xa2id\x01",                                // no op
        b"\x82\xa2id\x01\xa2op\xa1x\x00",                 // bytes after the frame
        b"\x83\xa2id\x01\xa2op\xa1x\x01\x01",             // a number as a key
        b"\x83\xa2id\x01\xa2id\x02\xa2op\xa1x",           // id twice
        b"\x82\xa2id\x01\xa2op\xa1\xff",                  // no UTF-8
        b"\x82\xa2id\x01\xa2op",                          // cut
    ] {
        assert!(message_pack(bad).is_err(), "{bad:x?}");
    }
    for bad in [
        b"\xc4\x01x".as_slice(),     // a binary
        b"\xd4\x01x",                // an extension
        b"\xd6\xff\0\0\0\0",         // a timestamp
        b"\x81\x01\x01",             // a number as a key
        b"\xcb\x7f\xf8\0\0\0\0\0\0", // NaN
        b"\xca\x7f\x80\0\0",         // infinity
        b"\x92\x01",                 // cut
    ] {
        assert!(message_pack(&with_data(bad)).is_err(), "{bad:x?}");
    }
}

#[test]
fn deep_message_pack_is_refused() {
    assert!(message_pack(&with_data(&[[0x91; 60].as_slice(), &[0x01]].concat())).is_ok());
    assert!(message_pack(&with_data(&[[0x91; 60_000].as_slice(), &[0x01]].concat())).is_err());
}
