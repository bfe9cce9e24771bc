//! The golden files: one of each command, reply, event and error of version 1, and the worked exchanges of
//! the protocol. A change of one is a change of the protocol.
//!
//! `GOLDEN=write cargo test -p parlour-protocol --test golden` writes the MessagePack forms anew.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use parlour_protocol::{
    Command, ControlEvent, DurableEvent, EphemeralEvent, ErrorCode, ProtocolError, UserEvent,
    codec::{Codec, decode_command_frame},
    frame::{CommandFrame, ReplyFrame, ServerFrame},
};
use serde::Deserialize;
use serde_json::{Value, json};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1").join(name)
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The files of a folder, by their name without the ending.
fn files(name: &str) -> BTreeMap<String, Value> {
    fs::read_dir(folder(name))
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            (path.file_stem().unwrap().to_str().unwrap().to_owned(), read(&path))
        })
        .collect()
}

fn json_of(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

/// Decodes a command frame and encodes what was understood.
fn recode_command(frame: &Value) -> Value {
    let bytes = frame.to_string();
    let incoming = decode_command_frame(Codec::Json, bytes.as_bytes()).unwrap();
    let command = Command::decode(&incoming.op, &incoming.data).unwrap_or_else(|error| panic!("{frame}: {error:?}"));
    assert_eq!(command.name(), frame["op"]);
    json!({ "id": incoming.id, "op": command.name(), "data": command })
}

fn recode_reply(op: &str, frame: &Value) -> Value {
    let ServerFrame::Reply(reply) = Codec::Json.decode_server_frame(frame.to_string().as_bytes()).unwrap() else {
        panic!("no reply: {frame}");
    };
    let result = reply.result.map(|data| {
        let bytes = Command::recode_reply(op, &data.to_string(), Codec::Json);
        json_of(&bytes.unwrap_or_else(|error| panic!("{op}: {error:?}")))
    });
    json_of(&Codec::Json.encode(&ReplyFrame { id: reply.id, result }))
}

fn recode_event(frame: &Value) -> Value {
    let decoded = Codec::Json.decode_server_frame(frame.to_string().as_bytes()).unwrap();
    let ServerFrame::Event(Some(event)) = decoded else { panic!("no event: {frame}") };
    json_of(&Codec::Json.encode(&event))
}

#[test]
fn every_command_and_reply_reads_and_writes_as_its_golden_file() {
    let files = files("operations");
    let named: BTreeSet<_> = files.keys().map(String::as_str).collect();
    assert_eq!(named, Command::NAMES.iter().copied().collect());
    for (op, file) in &files {
        assert_eq!(recode_command(&file["command"]), file["command"], "{op}");
        assert_eq!(recode_reply(op, &file["reply"]), file["reply"], "{op}");
    }
}

#[test]
fn every_event_reads_and_writes_as_its_golden_file() {
    let files = files("events");
    let named: BTreeSet<_> = files.keys().map(String::as_str).collect();
    let names = [DurableEvent::NAMES, ControlEvent::NAMES, EphemeralEvent::NAMES, UserEvent::NAMES].concat();
    assert_eq!(named, names.into_iter().collect());
    for (name, frames) in &files {
        for frame in frames.as_array().unwrap() {
            assert_eq!(frame["event"], name.as_str());
            assert_eq!(recode_event(frame), *frame, "{name}");
        }
    }
}

#[test]
fn every_error_reads_and_writes_as_its_golden_file() {
    let file = read(&folder("errors.json"));
    let mut codes = Vec::new();
    for entry in file.as_array().unwrap() {
        assert_eq!(recode_reply("message.send", &entry["frame"]), entry["frame"]);
        let error: ProtocolError = serde_json::from_value(entry["frame"]["error"].clone()).unwrap();
        assert_eq!(u64::from(error.code.http_status()), entry["status"], "{}", error.code);
        codes.push(error.code);
    }
    assert_eq!(codes, ErrorCode::ALL);
}

#[test]
fn the_worked_exchanges_read_and_write_as_in_the_protocol() {
    let files = files("worked");
    assert_eq!(files.keys().collect::<Vec<_>>(), ["6.1", "6.2", "6.3", "6.4", "6.5", "6.6"]);
    for (name, steps) in &files {
        let mut asked = BTreeMap::new();
        for step in steps.as_array().unwrap() {
            let frame = &step["frame"];
            match step["sender"].as_str().unwrap() {
                "client" => {
                    assert_eq!(recode_command(frame), *frame, "{name}");
                    asked.insert(frame["id"].as_u64().unwrap(), frame["op"].as_str().unwrap());
                }
                "server" if frame["event"].is_string() => assert_eq!(recode_event(frame), *frame, "{name}"),
                "server" => {
                    let op = asked[&frame["id"].as_u64().unwrap()];
                    let mut recoded = recode_reply(op, frame);
                    if op == "session.hello" {
                        // The protocol's text shows only some of the limits.
                        recoded["data"]["limits"] = frame["data"]["limits"].clone();
                    }
                    assert_eq!(recoded, *frame, "{name}");
                }
                _ => {}
            }
        }
    }
}

#[test]
fn the_defaults_of_the_limits_are_the_protocols() {
    let hello = read(&folder("operations/session.hello.json"));
    let limits = serde_json::to_value(parlour_protocol::limits::Limits::default()).unwrap();
    assert_eq!(limits, hello["reply"]["data"]["limits"]);
}

#[test]
fn the_message_pack_forms_are_the_golden_ones() {
    let path = folder("message_pack.json");
    let mut forms = BTreeMap::new();
    for (op, file) in files("operations") {
        let command = &file["command"];
        let decoded = Command::decode(&op, &command["data"].to_string()).unwrap();
        let frame = CommandFrame { id: 1, op: op.clone(), data: serde_json::to_value(&decoded).unwrap() };
        let bytes = Codec::MessagePack.encode(&frame);
        let incoming = decode_command_frame(Codec::MessagePack, &bytes).unwrap();
        assert_eq!(Command::decode(&incoming.op, &incoming.data).unwrap(), decoded, "{op}");
        forms.insert(format!("{op} command"), hex(&bytes));

        let reply = Command::recode_reply(&op, &file["reply"]["data"].to_string(), Codec::MessagePack).unwrap();
        assert_eq!(rmp_serde::from_slice::<Value>(&reply).unwrap(), file["reply"]["data"], "{op}");
        forms.insert(format!("{op} reply"), hex(&reply));
    }
    for (name, frames) in files("events") {
        for (index, frame) in frames.as_array().unwrap().iter().enumerate() {
            let ServerFrame::Event(Some(event)) =
                Codec::Json.decode_server_frame(frame.to_string().as_bytes()).unwrap()
            else {
                panic!("no event: {frame}");
            };
            let bytes = Codec::MessagePack.encode(&event);
            assert_eq!(rmp_serde::from_slice::<Value>(&bytes).unwrap(), *frame);
            assert_eq!(Codec::MessagePack.decode_server_frame(&bytes).unwrap(), ServerFrame::Event(Some(event)));
            forms.insert(format!("{name} {index}"), hex(&bytes));
        }
    }
    for (index, entry) in read(&folder("errors.json")).as_array().unwrap().iter().enumerate() {
        let error = ProtocolError::deserialize(&entry["frame"]["error"]).unwrap();
        let frame = ReplyFrame::<Value> { id: 8, result: Err(error) };
        let bytes = Codec::MessagePack.encode(&frame);
        assert_eq!(rmp_serde::from_slice::<Value>(&bytes).unwrap(), entry["frame"]);
        assert_eq!(Codec::MessagePack.decode_server_frame(&bytes).unwrap(), ServerFrame::Reply(frame));
        forms.insert(format!("error {index}"), hex(&bytes));
    }
    if std::env::var("GOLDEN").as_deref() == Ok("write") {
        fs::write(&path, serde_json::to_string_pretty(&forms).unwrap() + "\n").unwrap();
    }
    let golden = BTreeMap::<String, String>::deserialize(read(&path)).unwrap();
    for (name, form) in &forms {
        assert_eq!(golden.get(name), Some(form), "{name}");
    }
    assert_eq!(golden.len(), forms.len());
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
