//! Documents made from the wire types: TypeScript types and the AsyncAPI document.
//!
//! `make generate` writes them; a test fails when a committed one differs.

mod asyncapi;
mod typescript;

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use crate::{
    ProtocolError,
    account::{AuthReply, Login, PasswordChange, RefreshedToken, Register},
    event::{ControlEvent, DurableEvent, EphemeralEvent, UserEvent},
    object::{Items, Session},
    operation::{self, OperationSchema},
};

/// A generated file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generated {
    /// Its place, relative to the workspace.
    pub path: &'static str,
    /// Its text.
    pub text: String,
}

/// Every generated file.
pub fn generate() -> Vec<Generated> {
    let model = Model::new();
    vec![
        Generated { path: "protocol/generated/asyncapi.json", text: asyncapi::document(&model) },
        Generated { path: "server/web/src/wire/generated.ts", text: typescript::module(&model) },
    ]
}

const DEFINITIONS: &str = "/components/schemas";

/// What a frame of an event carries beside its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EventKind {
    Durable,
    Control,
    Ephemeral,
    User,
}

impl EventKind {
    const ALL: [Self; 4] = [Self::Durable, Self::Control, Self::Ephemeral, Self::User];
}

/// A request of the accounts' HTTP interface.
struct Endpoint {
    request: &'static str,
    body: Option<Schema>,
    status: u16,
    answer: Option<Schema>,
}

/// The wire as schemas.
struct Model {
    operations: Vec<OperationSchema>,
    events: Vec<(EventKind, Vec<(&'static str, Schema)>)>,
    endpoints: Vec<Endpoint>,
    definitions: BTreeMap<String, Value>,
}

impl Model {
    fn new() -> Self {
        let mut settings = SchemaSettings::draft2020_12().for_serialize();
        settings.definitions_path = DEFINITIONS.into();
        let generator = &mut settings.into_generator();
        let operations = operation::schemas(generator);
        let events = EventKind::ALL
            .into_iter()
            .map(|kind| {
                let schemas = match kind {
                    EventKind::Durable => DurableEvent::schemas(generator),
                    EventKind::Control => ControlEvent::schemas(generator),
                    EventKind::Ephemeral => EphemeralEvent::schemas(generator),
                    EventKind::User => UserEvent::schemas(generator),
                };
                (kind, schemas)
            })
            .collect();
        let endpoints = endpoints(generator);
        generator.subschema_for::<ProtocolError>();
        let definitions = generator.take_definitions(true).into_iter().map(|(name, mut schema)| {
            tidy(&mut schema);
            (name, schema)
        });
        Self { operations, events, endpoints, definitions: definitions.collect() }
    }
}

fn endpoints(generator: &mut SchemaGenerator) -> Vec<Endpoint> {
    fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Option<Schema> {
        Some(generator.subschema_for::<T>())
    }
    let mut endpoints = Vec::new();
    let mut add = |request, body, status, answer| endpoints.push(Endpoint { request, body, status, answer });
    add("POST /v1/auth/register", of::<Register>(generator), 201, of::<AuthReply>(generator));
    add("POST /v1/auth/login", of::<Login>(generator), 200, of::<AuthReply>(generator));
    add("POST /v1/auth/refresh", None, 200, of::<RefreshedToken>(generator));
    add("POST /v1/auth/logout", None, 204, None);
    add("POST /v1/auth/password", of::<PasswordChange>(generator), 204, None);
    add("GET /v1/auth/sessions", None, 200, of::<Items<Session>>(generator));
    add("DELETE /v1/auth/sessions/{sessionId}", None, 204, None);
    endpoints
}

/// Removes what says nothing on the wire: defaults, integer widths, and the `null` of a field that is
/// left out rather than `null`. Only a field that can be cleared keeps it.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.remove("default");
            if matches!(
                map.get("format").and_then(Value::as_str),
                Some("uint16" | "uint32" | "uint64" | "int32" | "int64")
            ) {
                map.remove("format");
            }
            if map.remove("x-clearable").is_none() {
                remove_null(map);
            }
            map.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn remove_null(map: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = map.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            map.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = map.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(choices)) = map.get_mut("anyOf") {
        choices.retain(|choice| *choice != json!({ "type": "null" }));
        if let [Value::Object(only)] = choices.as_slice() {
            let only = only.clone();
            map.remove("anyOf");
            for (key, value) in only {
                map.entry(key).or_insert(value);
            }
        }
    }
}
