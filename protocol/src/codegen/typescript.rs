//! The TypeScript module of the wire types.

use std::fmt::Write;

use serde_json::Value;

use super::Model;
use crate::{
    ErrorCode, Permissions,
    close::CloseCode,
    operation::{Class, Transport},
};

const PRELUDE: &str = r#"// Made from the protocol crate by `make generate`. Do not edit.
//
// An optional field of a reply or an event is left out when it is empty: false, 0, "", [], {} or none.
// In the data of a command, and in the `changes` of an event, `null` clears a field.

/** A page of a list. */
export interface Page<T> {
  /** The items; fewer than asked for says nothing about the end. */
  items?: T[];
  /** Where the next page begins. */
  nextCursor?: string;
  /** Whether there is a next page. */
  hasMore?: boolean;
}

/** A page of a search. */
export interface OffsetPage<T> {
  items?: T[];
  /** Whether there is a next page. */
  hasMore?: boolean;
  /** How many there are in all. */
  total?: number;
}

/** All items of a short list. */
export interface Items<T> {
  items?: T[];
}

/** An object, or `{}` when there is none. */
export type Maybe<T> = Partial<T>;
"#;

const FRAMES: &str = r#"
/** The name of a command. */
export type OperationName = keyof Operations;

/** A command. */
export interface CommandFrame<O extends OperationName = OperationName> {
  /** 1 to 2^53 - 1, unique among the commands in flight. */
  id: number;
  op: O;
  data: Operations[O]["data"];
}

/** The answer to a command. */
export type ReplyFrame<O extends OperationName = OperationName> =
  | { id: number; data: Operations[O]["reply"]; error?: undefined }
  | { id: number; error: ProtocolError; data?: undefined };

/** A change of a room: in order, never lost. */
export type DurableEvent = {
  [E in keyof DurableEvents]: { event: E; roomId: RoomId; seq: number; data: DurableEvents[E] };
}[keyof DurableEvents];

/** About one subscription of this connection. `room.advanced` has a `seq` and no data. */
export type ControlEvent = {
  [E in keyof ControlEvents]: E extends "room.advanced"
    ? { event: E; roomId: RoomId; sub: number; seq: number }
    : { event: E; roomId: RoomId; sub: number; data: ControlEvents[E] };
}[keyof ControlEvents];

/** A hint about a room. */
export type EphemeralEvent = {
  [E in keyof EphemeralEvents]: { event: E; roomId: RoomId; data: EphemeralEvents[E] };
}[keyof EphemeralEvents];

/** To all connections of one user, not replayed. */
export type UserEvent = {
  [E in keyof UserEvents]: { event: E; data: UserEvents[E] };
}[keyof UserEvents];

export type EventFrame = DurableEvent | ControlEvent | EphemeralEvent | UserEvent;

/** What a client receives. */
export type ServerFrame = ReplyFrame | EventFrame;
"#;

pub(super) fn module(model: &Model) -> String {
    let mut out = PRELUDE.to_owned();
    for (name, schema) in &model.definitions {
        if !name.contains("_for_") {
            definition(&mut out, name, schema);
        }
    }
    operations(&mut out, model);
    for (kind, events) in &model.events {
        line(&mut out, format_args!("\nexport interface {kind:?}Events {{"));
        for (name, data) in events {
            line(&mut out, format_args!("  \"{name}\": {};", type_of(data.as_value())));
        }
        line(&mut out, format_args!("}}"));
    }
    out.push_str(FRAMES);
    constants(&mut out);
    out
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    writeln!(out, "{text}").unwrap_or_default();
}

fn operations(out: &mut String, model: &Model) {
    line(out, format_args!("\n/** The data and the reply of every command. */\nexport interface Operations {{"));
    for operation in &model.operations {
        let (data, reply) = (type_of(operation.data.as_value()), type_of(operation.reply.as_value()));
        line(out, format_args!("  \"{}\": {{ data: {data}; reply: {reply} }};", operation.name));
    }
    line(out, format_args!("}}"));
    line(
        out,
        format_args!(
            "\n/** What a repeat does: a read changes nothing, a set is idempotent, a new takes a nonce. */\n\
             export const operationClass = {{"
        ),
    );
    for operation in &model.operations {
        let class = match operation.class {
            Class::Read => "read",
            Class::Set => "set",
            Class::New => "new",
        };
        line(out, format_args!("  \"{}\": \"{class}\",", operation.name));
    }
    line(out, format_args!("}} as const satisfies Record<keyof Operations, \"read\" | \"set\" | \"new\">;"));
    line(out, format_args!("\n/** Commands that exist on the socket alone. */\nexport type SocketOperation ="));
    let socket: Vec<_> = model.operations.iter().filter(|operation| operation.transport == Transport::Socket).collect();
    for (index, operation) in socket.iter().enumerate() {
        let end = if index + 1 == socket.len() { ";" } else { "" };
        line(out, format_args!("  | \"{}\"{end}", operation.name));
    }
}

fn constants(out: &mut String) {
    line(out, format_args!("\n/** The HTTP status of every error code. */\nexport const errorStatus = {{"));
    for code in ErrorCode::ALL {
        line(out, format_args!("  /** {} */\n  {}: {},", code.description(), code, code.http_status()));
    }
    line(out, format_args!("}} as const satisfies Record<ErrorCode, number>;"));
    line(out, format_args!("\n/** Why a socket is closed. */\nexport const closeCode = {{"));
    for code in CloseCode::ALL {
        line(
            out,
            format_args!("  /** {} */\n  {}: {},", code.description(), lower_first(&format!("{code:?}")), code.code()),
        );
    }
    line(out, format_args!("}} as const;"));
    line(out, format_args!("\n/** The bits of a permission set, which is decimal text on the wire. */"));
    line(out, format_args!("export const permission = {{"));
    for (name, bit) in Permissions::NAMED {
        line(out, format_args!("  {name}: {bit},"));
    }
    line(out, format_args!("}} as const;"));
}

fn lower_first(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(letters).collect()
}

fn comment(out: &mut String, indent: &str, schema: &Value) {
    if let Some(text) = schema.get("description").and_then(Value::as_str) {
        let text = text.replace('\n', " ").replace("*/", "* /");
        line(out, format_args!("{indent}/** {text} */"));
    }
}

fn definition(out: &mut String, name: &str, schema: &Value) {
    out.push('\n');
    comment(out, "", schema);
    if name == "CatchUpEntry" {
        line(out, format_args!("export type CatchUpEntry = DurableEvent;"));
        return;
    }
    match fields(schema) {
        Some(fields) if !fields.is_empty() => {
            line(out, format_args!("export interface {name} {{"));
            for Field { name, schema, is_required } in fields {
                comment(out, "  ", schema);
                let mark = if is_required { "" } else { "?" };
                line(out, format_args!("  {name}{mark}: {};", type_of(schema)));
            }
            line(out, format_args!("}}"));
        }
        _ => line(out, format_args!("export type {name} = {};", type_of(schema))),
    }
}

struct Field<'a> {
    name: &'a str,
    schema: &'a Value,
    is_required: bool,
}

fn fields(schema: &Value) -> Option<Vec<Field<'_>>> {
    let properties = schema.get("properties")?.as_object()?;
    let required: Vec<_> = schema.get("required").and_then(Value::as_array).into_iter().flatten().collect();
    let field = |(name, schema)| Field { name, schema, is_required: required.iter().any(|one| *one == name) };
    Some(properties.iter().map(|(name, schema)| field((name.as_str(), schema))).collect())
}

fn type_of(schema: &Value) -> String {
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        return reference_name(reference.rsplit('/').next().unwrap_or(reference));
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    for key in ["enum", "oneOf", "anyOf"] {
        if let Some(choices) = schema.get(key).and_then(Value::as_array) {
            let choices: Vec<_> =
                choices.iter().map(|one| if key == "enum" { one.to_string() } else { type_of(one) }).collect();
            return choices.join(" | ");
        }
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => "string".to_owned(),
        Some("integer" | "number") => "number".to_owned(),
        Some("boolean") => "boolean".to_owned(),
        Some("null") => "null".to_owned(),
        Some("array") => {
            let item = schema.get("items").map_or("unknown".to_owned(), type_of);
            if item.contains(" | ") { format!("({item})[]") } else { format!("{item}[]") }
        }
        Some("object") => object(schema),
        _ => "unknown".to_owned(),
    }
}

fn object(schema: &Value) -> String {
    if let Some(fields) = fields(schema).filter(|fields| !fields.is_empty()) {
        let fields: Vec<_> = fields
            .into_iter()
            .map(|Field { name, schema, is_required }| {
                format!("{name}{}: {}", if is_required { "" } else { "?" }, type_of(schema))
            })
            .collect();
        return format!("{{ {} }}", fields.join("; "));
    }
    let values = schema.get("additionalProperties").or_else(|| {
        schema.get("patternProperties").and_then(Value::as_object).and_then(|patterns| patterns.values().next())
    });
    match values {
        Some(values) if values.is_object() => format!("Record<string, {}>", type_of(values)),
        _ => "Record<string, never>".to_owned(),
    }
}

/// `Page_for_Message` is `Page<Message>`.
fn reference_name(name: &str) -> String {
    match name.split_once("_for_") {
        Some((generic, argument)) => format!("{generic}<{}>", reference_name(argument)),
        None => name.to_owned(),
    }
}
