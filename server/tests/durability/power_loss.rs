//! A conversation that outlives power losses: what was asked for, what was acknowledged, and
//! what the store may hold because of it.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use crate::{
    server::{Server, Socket},
    unsynced::next_random,
};

const IN_FLIGHT: usize = 32;

/// What is known of a change that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    NotAsked,
    /// Asked for and not answered: either is right.
    Open,
    Acknowledged,
}

#[derive(Debug)]
struct Expected {
    /// Row key and seq, once acknowledged.
    key: Option<(String, u64)>,
    edit: Outcome,
    delete: Outcome,
}

#[derive(Debug, Clone)]
enum Step {
    Send(String),
    Edit(String),
    Delete(String),
}

/// One room, its only author and everything they did in it.
#[derive(Debug)]
pub(crate) struct Conversation {
    token: String,
    room: String,
    epoch: Value,
    messages: BTreeMap<String, Expected>,
    random: u64,
}

impl Conversation {
    pub(crate) async fn begin(server: &Server, seed: u64) -> Conversation {
        let token = server.register("Ada").await;
        let view = server.call(&token, "room.create", json!({"name": "Tea", "nonce": "room"})).await;
        let room = view["room"]["roomId"].as_str().expect("roomId").to_owned();
        Conversation { token, room, epoch: view["head"]["epoch"].clone(), messages: BTreeMap::new(), random: seed }
    }

    /// Talks until the server is gone: killed here in mid-traffic once `answers` changes were answered, or by its disk.
    /// What is answered up to the socket's end counts: it left the server. Answers how much was acknowledged.
    pub(crate) async fn talk_until_killed(&mut self, server: &mut Server, answers: Option<u64>) -> u64 {
        let mut socket = server.connect(&self.token).await;
        let mut waiting: HashMap<u64, Step> = HashMap::new();
        // What the last power loss left open is asked again, under the same nonce.
        let unanswered = self.messages.iter().filter(|(_, expected)| expected.key.is_none());
        let mut next: Vec<Step> = unanswered.map(|(nonce, _)| Step::Send(nonce.clone())).collect();
        let (mut id, mut answered) = (1, 0);
        loop {
            while answers.is_none_or(|enough| answered < enough) && waiting.len() < IN_FLIGHT {
                let step = next.pop().unwrap_or_else(|| self.new_message());
                id += 1;
                if self.ask(&mut socket, id, &step).await.is_err() {
                    break;
                }
                waiting.insert(id, step);
            }
            let Some(frame) = socket.next().await else { break };
            let Some(step) = frame["id"].as_u64().and_then(|id| waiting.remove(&id)) else { continue };
            next.extend(self.acknowledge(step, &frame));
            answered += 1;
            if answers == Some(answered) {
                server.kill();
            }
        }
        assert!(answers.is_none_or(|enough| answered >= enough), "the connection ended too early");
        // Its connections may end before it does, and it holds the folder until then.
        server.kill();
        answered
    }

    fn new_message(&mut self) -> Step {
        let nonce = format!("n-{:06}", self.messages.len());
        let expected = Expected { key: None, edit: Outcome::NotAsked, delete: Outcome::NotAsked };
        self.messages.insert(nonce.clone(), expected);
        Step::Send(nonce)
    }

    fn expected(&mut self, nonce: &str) -> &mut Expected {
        self.messages.get_mut(nonce).expect("a message that was asked for")
    }

    async fn ask(&mut self, socket: &mut Socket, id: u64, step: &Step) -> Result<(), ()> {
        let (room, op) = (self.room.clone(), step.op());
        let data = match step {
            Step::Send(nonce) => json!({"roomId": room, "message": first_body(nonce), "nonce": nonce}),
            Step::Edit(nonce) => {
                let expected = self.expected(nonce);
                expected.edit = Outcome::Open;
                json!({"roomId": room, "rowKey": expected.row_key(), "message": edited_body(nonce)})
            }
            Step::Delete(nonce) => {
                let expected = self.expected(nonce);
                expected.delete = Outcome::Open;
                json!({"roomId": room, "rowKey": expected.row_key()})
            }
        };
        socket.send(id, op, data).await
    }

    /// Notes an answer; some messages are changed next.
    fn acknowledge(&mut self, step: Step, frame: &Value) -> Option<Step> {
        assert!(frame.get("error").is_none(), "{step:?}: {frame}");
        let data = &frame["data"];
        match step {
            Step::Send(nonce) => {
                let message = &data["message"];
                let key = (text(&message["rowKey"]), message["seq"].as_u64().expect("seq"));
                self.expected(&nonce).key = Some(key);
                match next_random(&mut self.random) % 8 {
                    0 => Some(Step::Edit(nonce)),
                    1 => Some(Step::Delete(nonce)),
                    _ => None,
                }
            }
            Step::Edit(nonce) => {
                self.expected(&nonce).edit = Outcome::Acknowledged;
                None
            }
            Step::Delete(nonce) => {
                self.expected(&nonce).delete = Outcome::Acknowledged;
                None
            }
        }
    }

    /// How many acknowledged messages the server does not hold as acknowledged.
    /// Panics on what must not be under any circumstances: doubles, wrong order, a new epoch.
    pub(crate) async fn missing(&mut self, server: &Server) -> usize {
        let view = server.call(&self.token, "room.get", json!({"roomId": self.room})).await;
        assert_eq!(view["head"]["epoch"], self.epoch, "a crash keeps the epoch");
        let head = view["head"]["seq"].as_u64().unwrap_or(0);

        let mut found: HashMap<String, Value> = HashMap::new();
        let mut last_seq = 0;
        for message in self.read_all(server).await {
            let seq = message["seq"].as_u64().expect("seq");
            assert!(seq > last_seq && seq <= head, "seq {seq} after {last_seq}, head {head}");
            last_seq = seq;
            let nonce = text(&message["nonce"]);
            assert!(self.messages.contains_key(&nonce), "nobody asked for {message}");
            let double = found.insert(nonce, message);
            assert!(double.is_none(), "stored twice: {double:?}");
        }

        let mut missing = 0;
        for (nonce, expected) in &mut self.messages {
            missing += usize::from(!expected.agrees_with(nonce, found.get(nonce)));
            expected.settle(nonce, found.get(nonce));
        }
        missing
    }

    /// The room's epoch, and the bodies of its messages.
    pub(crate) async fn stored(&self, server: &Server) -> (String, Vec<String>) {
        let view = server.call(&self.token, "room.get", json!({"roomId": self.room})).await;
        let messages = self.read_all(server).await;
        (text(&view["head"]["epoch"]), messages.iter().map(|message| text(&message["message"])).collect())
    }

    async fn read_all(&self, server: &Server) -> Vec<Value> {
        let mut all = Vec::new();
        let mut cursor = Value::Null;
        loop {
            let mut data = json!({"roomId": self.room, "order": "Asc", "limit": 1000});
            if !cursor.is_null() {
                data["cursor"] = cursor;
            }
            let mut page = server.call(&self.token, "message.list", data).await;
            if let Value::Array(items) = page["items"].take() {
                all.extend(items);
            }
            if page["hasMore"] != true {
                return all;
            }
            cursor = page["nextCursor"].take();
        }
    }
}

impl Expected {
    fn row_key(&self) -> &str {
        self.key.as_ref().map(|(row_key, _)| row_key.as_str()).expect("acknowledged before it is changed")
    }

    fn agrees_with(&self, nonce: &str, stored: Option<&Value>) -> bool {
        let Some(stored) = stored else { return self.key.is_none() || self.delete != Outcome::NotAsked };
        let same_key =
            self.key.as_ref().is_none_or(|(row_key, seq)| stored["rowKey"] == *row_key && stored["seq"] == *seq);
        let (first, edited) = (stored["message"] == first_body(nonce), stored["message"] == edited_body(nonce));
        let body = match self.edit {
            Outcome::NotAsked => first,
            Outcome::Open => first || edited,
            Outcome::Acknowledged => edited,
        };
        same_key && body && self.delete != Outcome::Acknowledged
    }

    /// What was open is decided by what is stored.
    fn settle(&mut self, nonce: &str, stored: Option<&Value>) {
        if let (Some(stored), Outcome::Open) = (stored, self.edit) {
            self.edit = if stored["message"] == edited_body(nonce) { Outcome::Acknowledged } else { Outcome::NotAsked };
        }
        if self.delete == Outcome::Open {
            self.delete = if stored.is_none() { Outcome::Acknowledged } else { Outcome::NotAsked };
        }
    }
}

impl Step {
    fn op(&self) -> &'static str {
        match self {
            Step::Send(_) => "message.send",
            Step::Edit(_) => "message.edit",
            Step::Delete(_) => "message.delete",
        }
    }
}

fn first_body(nonce: &str) -> String {
    format!("body of {nonce}")
}

fn edited_body(nonce: &str) -> String {
    format!("edited body of {nonce}")
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
