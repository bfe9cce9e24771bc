//! The AsyncAPI 3.0 document of the socket, served as `/v1/asyncapi.json`.

use serde_json::{Map, Value, json};

use super::{EventKind, Model};
use crate::{
    ErrorCode,
    close::CloseCode,
    codec::Codec,
    frame::LARGEST_ID,
    operation::{Class, Transport},
};

pub(super) fn document(model: &Model) -> String {
    let mut messages = Map::new();
    let mut operations = Map::new();
    for operation in &model.operations {
        let name = operation.name;
        messages.insert(name.to_owned(), command(name, &operation.data));
        messages.insert(format!("{name}.reply"), reply(name, &operation.reply));
        operations.insert(
            name.to_owned(),
            json!({
                "action": "receive",
                "channel": { "$ref": "#/channels/socket" },
                "messages": [in_channel(name)],
                "reply": {
                    "channel": { "$ref": "#/channels/socket" },
                    "messages": [in_channel(&format!("{name}.reply")), in_channel("error")]
                },
                "x-class": match operation.class { Class::Read => "read", Class::Set => "set", Class::New => "new" },
                "x-http": match operation.transport {
                    Transport::Any => Value::from(format!("POST /v1/rpc/{name}")),
                    Transport::Socket => Value::Null,
                },
            }),
        );
    }
    messages.insert("error".to_owned(), error());
    for (kind, events) in &model.events {
        let mut names = Vec::new();
        for (name, data) in events {
            messages.insert((*name).to_owned(), event(*kind, name, &serde_json::json!(data)));
            names.push(in_channel(name));
        }
        let (key, summary) = match kind {
            EventKind::Durable => ("durableEvents", "Changes of a room: in order, never lost"),
            EventKind::Control => ("controlEvents", "About one subscription of one connection"),
            EventKind::Ephemeral => ("ephemeralEvents", "Hints, dropped first when a connection is slow"),
            EventKind::User => ("userEvents", "To all connections of one user, not replayed"),
        };
        operations.insert(
            key.to_owned(),
            json!({
                "action": "send", "summary": summary, "channel": { "$ref": "#/channels/socket" }, "messages": names
            }),
        );
    }
    let in_channel: Map<_, _> = messages
        .keys()
        .map(|name| (name.clone(), json!({ "$ref": format!("#/components/messages/{name}") })))
        .collect();
    let document = json!({
        "asyncapi": "3.0.0",
        "info": {
            "title": "Parlour",
            "version": "1.0.0",
            "description": "Rooms in real time. A client sends commands and receives one reply for each, and events. \
                Empty fields (false, 0, \"\", [], {}, none) are left out of replies and events."
        },
        "defaultContentType": "application/json",
        "channels": {
            "socket": {
                "address": "/v1/ws",
                "description": "One JSON object in each text frame, or one MessagePack map in each binary frame.",
                "messages": in_channel,
                "bindings": { "ws": { "method": "GET" } },
                "x-subprotocols": [Codec::Json.subprotocol(), Codec::MessagePack.subprotocol()],
                "x-close-codes": CloseCode::ALL
                    .iter()
                    .map(|code| (code.code().to_string(), code.description().into()))
                    .collect::<Map<String, Value>>(),
            }
        },
        "operations": operations,
        "components": { "messages": messages, "schemas": model.definitions },
        "x-errors": ErrorCode::ALL
            .iter()
            .map(|code| {
                (code.as_str().to_owned(), json!({ "httpStatus": code.http_status(), "when": code.description() }))
            })
            .collect::<Map<_, _>>(),
        "x-accounts": model
            .endpoints
            .iter()
            .map(|endpoint| {
                let described = json!({ "body": endpoint.body, "status": endpoint.status, "answer": endpoint.answer });
                (endpoint.request.to_owned(), described)
            })
            .collect::<Map<_, _>>(),
    });
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

fn in_channel(name: &str) -> Value {
    json!({ "$ref": format!("#/channels/socket/messages/{name}") })
}

fn command_id() -> Value {
    json!({ "type": "integer", "minimum": 1, "maximum": LARGEST_ID })
}

fn command(name: &str, data: &schemars::Schema) -> Value {
    json!({
        "title": name,
        "payload": {
            "type": "object",
            "properties": { "id": command_id(), "op": { "const": name }, "data": data },
            "required": ["id", "op"]
        }
    })
}

fn reply(name: &str, data: &schemars::Schema) -> Value {
    json!({
        "title": format!("Reply to {name}"),
        "payload": {
            "type": "object",
            "properties": { "id": command_id(), "data": data },
            "required": ["id", "data"]
        }
    })
}

fn error() -> Value {
    json!({
        "title": "Error reply",
        "payload": {
            "type": "object",
            "properties": { "id": command_id(), "error": { "$ref": "#/components/schemas/ProtocolError" } },
            "required": ["id", "error"]
        }
    })
}

fn event(kind: EventKind, name: &str, data: &Value) -> Value {
    let mut properties = Map::from_iter([("event".to_owned(), json!({ "const": name }))]);
    let mut required = vec!["event"];
    let room = json!({ "$ref": "#/components/schemas/RoomId" });
    let position = json!({ "type": "integer", "minimum": 0 });
    match kind {
        EventKind::Durable => {
            properties.extend([("roomId".to_owned(), room), ("seq".to_owned(), position)]);
            required.extend(["roomId", "seq"]);
        }
        EventKind::Control => {
            properties.extend([("roomId".to_owned(), room), ("sub".to_owned(), position.clone())]);
            required.extend(["roomId", "sub"]);
            if name == "room.advanced" {
                properties.insert("seq".to_owned(), position);
                required.push("seq");
            }
        }
        EventKind::Ephemeral => {
            properties.insert("roomId".to_owned(), room);
            required.push("roomId");
        }
        EventKind::User => {}
    }
    if name != "room.advanced" {
        properties.insert("data".to_owned(), data.clone());
        required.push("data");
    }
    json!({ "title": name, "payload": { "type": "object", "properties": properties, "required": required } })
}
