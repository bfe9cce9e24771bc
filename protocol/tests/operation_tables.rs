//! The tables of the protocol: which operation exists of which class, and what can be done with which message.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;

use parlour_protocol::{
    Command, MessageType,
    message_type::{MessageOperation, Permitted},
    operation::{Class, Transport},
};

const READS: &[&str] = &[
    "session.ping",
    "session.list",
    "user.get",
    "user.search",
    "room.get",
    "room.list",
    "room.members",
    "invite.get",
    "invite.mine",
    "invite.list",
    "membership.get",
    "category.list",
    "message.list",
    "message.get",
    "message.thread",
    "message.search",
    "message.sent",
    "reaction.list",
    "thread.followed",
    "file.urls",
    "emoji.list",
    "schedule.list",
    "schedule.mine",
    "schedule.count",
    "role.list",
    "role.members",
    "role.permissions",
    "moderation.bans",
    "moderation.log",
    "note.list",
    "note.count",
    "filter.get",
    "webhook.list",
    "appUser.get",
    "status.get",
    "friend.list",
    "block.list",
    "dm.list",
    "push.key",
    "push.list",
];
const SETS: &[&str] = &[
    "session.hello",
    "session.refresh",
    "session.revoke",
    "user.update",
    "room.update",
    "room.delete",
    "room.leave",
    "room.subscribe",
    "room.unsubscribe",
    "invite.revoke",
    "membership.update",
    "membership.clearMentions",
    "category.update",
    "category.delete",
    "category.reorder",
    "message.edit",
    "message.delete",
    "message.pin",
    "message.unpin",
    "poll.vote",
    "reaction.add",
    "reaction.remove",
    "typing.start",
    "thread.follow",
    "thread.unfollow",
    "preview.delete",
    "file.discard",
    "file.delete",
    "emoji.update",
    "emoji.delete",
    "schedule.cancel",
    "role.update",
    "role.delete",
    "role.assign",
    "role.revoke",
    "moderation.unban",
    "filter.set",
    "webhook.update",
    "webhook.delete",
    "status.set",
    "friend.accept",
    "friend.decline",
    "friend.cancel",
    "friend.remove",
    "block.add",
    "block.remove",
    "dm.hide",
    "dm.remove",
    "push.subscribe",
    "push.unsubscribe",
];
const NEWS: &[&str] = &[
    "room.create",
    "invite.create",
    "invite.join",
    "category.create",
    "message.send",
    "message.forward",
    "file.createUploads",
    "file.createImageUpload",
    "emoji.createUpload",
    "emoji.create",
    "schedule.reminder",
    "schedule.message",
    "schedule.reschedule",
    "schedule.sendNow",
    "role.create",
    "moderation.execute",
    "note.create",
    "webhook.create",
    "webhook.rotate",
    "friend.request",
    "dm.open",
    "dm.add",
];
const ON_THE_SOCKET_ALONE: &[&str] =
    &["session.hello", "session.ping", "session.refresh", "room.subscribe", "room.unsubscribe"];

fn command(op: &str) -> Command {
    let path = format!("{}/tests/golden/v1/operations/{op}.json", env!("CARGO_MANIFEST_DIR"));
    let file: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    Command::decode(op, &file["command"]["data"].to_string()).unwrap()
}

#[test]
fn every_operation_has_the_class_and_transport_of_the_table() {
    let named: BTreeSet<_> = [READS, SETS, NEWS].concat().into_iter().collect();
    assert_eq!(named, Command::NAMES.iter().copied().collect());
    assert_eq!(named.len(), Command::NAMES.len());
    for (class, names) in [(Class::Read, READS), (Class::Set, SETS), (Class::New, NEWS)] {
        for op in names {
            let command = command(op);
            assert_eq!(command.class(), class, "{op}");
            assert_eq!(command.transport() == Transport::Socket, ON_THE_SOCKET_ALONE.contains(op), "{op}");
        }
    }
}

#[test]
fn every_creating_command_takes_a_nonce() {
    for op in NEWS {
        let path = format!("{}/tests/golden/v1/operations/{op}.json", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.contains("\"nonce\": \""), "{op}");
    }
}

#[test]
fn s_034_the_operation_map_is_the_protocols() {
    // type | Update | Delete | Pin | Vote | Forward | Respond
    let table = "
        Message    | author         | author         | author         | -      | reader | reader
        Poll       | -              | author         | author         | reader | -      | reader
        Webhook    | ManageMessages | ManageMessages | ManageMessages | -      | reader | reader
        System     | -              | -              | -              | -      | -      | reader
        EditRoom   | -              | -              | -              | -      | -      | reader
        PinMessage | -              | -              | -              | -      | -      | reader
        Call       | -              | -              | -              | -      | -      | reader";
    let operations = [
        MessageOperation::Update,
        MessageOperation::Delete,
        MessageOperation::Pin,
        MessageOperation::Vote,
        MessageOperation::Forward,
        MessageOperation::Respond,
    ];
    let rows: Vec<_> = table.trim().lines().collect();
    assert_eq!(rows.len(), MessageType::ALL.len());
    for row in rows {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let message_type = MessageType::parse(cells[0]).unwrap();
        for (operation, cell) in operations.into_iter().zip(&cells[1..]) {
            let expected = match *cell {
                "author" => Permitted::Author,
                "reader" => Permitted::Reader,
                "ManageMessages" => Permitted::ManageMessages,
                _ => Permitted::Nobody,
            };
            assert_eq!(message_type.permitted(operation), expected, "{message_type:?} {operation:?}");
        }
    }
}
