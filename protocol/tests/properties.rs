//! Properties of keys, times and frames for values of any kind.

#![expect(clippy::unwrap_used, reason = "tests")]

use parlour_protocol::{
    Command, DurableEvent, Event, Permissions, RowKey, Text, Timestamp,
    codec::{Codec, decode_command_frame},
    event::{MessageCreated, MessageUpdated},
    frame::{CommandFrame, ReplyFrame, ServerFrame},
    object::{Message, MessageChange, MessageDelta, Reaction},
};
use proptest::prelude::*;
use serde_json::json;

fn any_message() -> impl Strategy<Value = Message> {
    let emoji = prop_oneof![Just("👍".to_owned()), "\\PC{1,8}"];
    let reaction = (emoji, 0..50u32).prop_map(|(emoji, count)| Reaction { emoji, count, user_ids: Vec::new() });
    (any::<[u8; 16]>(), 0..i64::MAX, any::<u64>(), any::<u32>(), any::<String>(), prop::collection::vec(reaction, 0..3))
        .prop_map(|(room, tick, seq, rev, body, reactions)| {
            let row_key = RowKey::from_tick(tick);
            let at = row_key.created_at();
            let value = json!({
                "roomId": uuid::Uuid::from_bytes(room), "rowKey": row_key, "seq": seq, "rev": rev, "bodyRev": rev,
                "type": "Message", "message": body, "reactions": reactions, "createdAt": at, "updatedAt": at,
            });
            serde_json::from_value(value).unwrap()
        })
}

fn round_trip(event: &Event) {
    for codec in [Codec::Json, Codec::MessagePack] {
        let bytes = codec.encode(event);
        assert_eq!(codec.decode_server_frame(&bytes).unwrap(), ServerFrame::Event(Some(event.clone())));
    }
}

proptest! {
    #[test]
    fn a_newer_message_has_a_smaller_key(a in 0..i64::MAX, b in 0..i64::MAX) {
        let (key_a, key_b) = (RowKey::from_tick(a), RowKey::from_tick(b));
        prop_assert_eq!(a.cmp(&b), key_b.cmp(&key_a));
        prop_assert_eq!(a.cmp(&b), key_b.to_string().cmp(&key_a.to_string()));
        prop_assert_eq!(key_a.tick(), a);
        prop_assert_eq!(key_a.created_at().as_millis(), a / 1_000_000);
    }

    #[test]
    fn any_thirty_digits_are_a_key(text in "[0-9]{30}") {
        let key: RowKey = text.parse().unwrap();
        prop_assert_eq!(key.to_string(), text.clone());
        prop_assert_eq!(serde_json::to_string(&key).unwrap(), format!("\"{text}\""));
        prop_assert_eq!(serde_json::from_str::<RowKey>(&format!("\"{text}\"")).unwrap(), key);
    }

    #[test]
    fn nothing_else_is_a_key(text in "\\PC{0,40}") {
        let is_key = text.len() == 30 && text.bytes().all(|byte| byte.is_ascii_digit());
        prop_assert_eq!(text.parse::<RowKey>().is_ok(), is_key);
    }

    #[test]
    fn a_time_reads_as_it_is_written(millis in -62_167_219_200_000i64..=253_402_207_200_999) {
        let time = Timestamp::from_millis(millis);
        let text = time.to_string();
        prop_assert_eq!(text.len(), 24);
        prop_assert_eq!(text.parse::<Timestamp>().unwrap(), time);
        let expected = jiff::Timestamp::from_millisecond(millis).unwrap();
        prop_assert_eq!(text, format!("{expected:.3}"));
    }

    #[test]
    fn any_other_time_is_written_at_the_edge(millis in any::<i64>()) {
        let text = Timestamp::from_millis(millis).to_string();
        prop_assert_eq!(text.len(), 24);
        prop_assert!(text.parse::<Timestamp>().is_ok());
    }

    #[test]
    fn permissions_read_as_they_are_written(bits in 0..1u64 << 15) {
        let permissions = Permissions::from_bits(bits);
        prop_assert_eq!(permissions.to_string().parse::<Permissions>().unwrap(), permissions);
        prop_assert!((bits + (1 << 15)).to_string().parse::<Permissions>().is_err());
    }

    #[test]
    fn a_text_is_as_long_as_its_characters(text in any::<String>()) {
        let length = text.chars().count();
        let fits = (3..=20).contains(&length) && !text.contains('\0');
        prop_assert_eq!(Text::<3, 20>::new(&text).is_ok(), fits);
    }

    #[test]
    fn created_messages_survive_both_encodings(message in any_message(), seq in any::<u64>()) {
        let room_id = message.room_id;
        let event = DurableEvent::MessageCreated(Box::new(MessageCreated { message }));
        round_trip(&Event::Durable { room_id, seq, event });
    }

    #[test]
    fn changes_survive_both_encodings(message in any_message(), seq in any::<u64>(), is_whole in any::<bool>()) {
        let (room_id, row_key, rev) = (message.room_id, message.row_key, message.rev);
        let changes = if is_whole {
            MessageChange::Whole(Box::new(message))
        } else {
            let reaction = MessageDelta { message: Some(message.message), is_pinned: Some(false), ..Default::default() };
            MessageChange::Delta(Box::new(reaction))
        };
        let event = DurableEvent::MessageUpdated(Box::new(MessageUpdated { row_key, rev, changes }));
        round_trip(&Event::Durable { room_id, seq, event });
    }

    #[test]
    fn sends_survive_both_encodings(id in 1u64..1 << 53, body in "[^\0]{0,200}", nonce in "[ -~]{1,64}") {
        let room_id = "3f9e7b20-6c1d-4e5a-b8f2-0a4d5c6e7f03";
        let data = json!({ "roomId": room_id, "message": body, "nonce": nonce });
        let frame = CommandFrame { id, op: "message.send".to_owned(), data };
        for codec in [Codec::Json, Codec::MessagePack] {
            let bytes = codec.encode(&frame);
            let incoming = decode_command_frame(codec, &bytes).unwrap();
            prop_assert_eq!(incoming.id, id);
            let Command::MessageSend(send) = Command::decode(&incoming.op, &incoming.data).unwrap() else { panic!() };
            prop_assert_eq!(send.message.as_deref(), Some(body.as_str()));
            prop_assert_eq!(send.nonce.map(|nonce| nonce.to_string()), Some(nonce.clone()));
        }
    }

    #[test]
    fn replies_survive_both_encodings(id in 1u64..1 << 53, message in any_message()) {
        let frame = ReplyFrame { id, result: Ok(serde_json::to_value(message).unwrap()) };
        for codec in [Codec::Json, Codec::MessagePack] {
            let decoded = codec.decode_server_frame(&codec.encode(&frame)).unwrap();
            prop_assert_eq!(decoded, ServerFrame::Reply(frame.clone()));
        }
    }

    #[test]
    fn bytes_of_any_kind_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        for codec in [Codec::Json, Codec::MessagePack] {
            if let Ok(incoming) = decode_command_frame(codec, &bytes) {
                let _outcome = Command::decode(&incoming.op, &incoming.data);
            }
            let _outcome = codec.decode_server_frame(&bytes);
        }
    }

    #[test]
    fn message_pack_of_any_form_does_no_harm(tail in prop::collection::vec(any::<u8>(), 0..300)) {
        let bytes = [b"\x83\xa2id\x01\xa2op\xabmember.list\xa4data".as_slice(), &tail].concat();
        if let Ok(incoming) = decode_command_frame(Codec::MessagePack, &bytes) {
            prop_assert!(serde_json::from_str::<serde_json::Value>(&incoming.data).is_ok());
        }
    }
}

#[test]
fn s_001_the_first_instant_has_the_last_key() {
    assert_eq!(RowKey::from_tick(0).to_string(), "9".repeat(30));
    assert_eq!("9".repeat(30).parse::<RowKey>().unwrap().tick(), 0);
    let example: RowKey = "999999999998227633539749999999".parse().unwrap();
    assert_eq!(example.created_at().to_string(), "2026-03-01T12:01:00.250Z");
}

#[test]
fn a_time_can_be_given_with_another_offset_or_less_precision() {
    let parse = |text: &str| text.parse::<Timestamp>().map(|time| time.to_string()).ok();
    for same in [
        "2026-03-01T12:00:00.000Z",
        "2026-03-01T12:00:00Z",
        "2026-03-01T13:00:00+01:00",
        "2026-03-01t12:00:00z",
        "2026-03-01T12:00:00.0004Z",
        "2026-03-01T06:30:00.000-05:30",
    ] {
        assert_eq!(parse(same).as_deref(), Some("2026-03-01T12:00:00.000Z"), "{same}");
    }
    for bad in [
        "",
        "2026-03-01",
        "2026-03-01T12:00:00",
        "2026-02-30T12:00:00Z",
        "2026-03-01 12:00:00Z",
        "+002026-03-01T12:00:00Z",
        "2026-03-01T12:00:00+01:00[Europe/Berlin]",
        "1772366400000",
        "2026-03-01T25:00:00Z",
        "-000001-01-01T00:00:00Z",
        "9999-12-31T23:59:59-01:00",
        "０026-03-01T12:00:00Z",
    ] {
        assert_eq!(parse(bad), None, "{bad}");
    }
}
