//! Two nodes, what is between them, and somebody who reads a room without losing count.

use std::{
    collections::BTreeSet,
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};
use tokio::net::TcpStream;

use crate::{
    harness::{Client, PATIENCE, Server, User, nonce},
    proxy::Proxy,
};

/// Two nodes. The second has its link to NATS through a proxy.
pub(crate) struct Nodes {
    pub(crate) one: Server,
    pub(crate) two: Server,
    pub(crate) link: Proxy,
    pub(crate) nats: Option<Nats>,
}

impl Nodes {
    /// None when the services are not there and may be missing.
    pub(crate) async fn start() -> Option<Self> {
        let (database, nats) = services()?;
        let address = nats.trim_start_matches("nats://").parse().unwrap();
        Some(Self::on(&database, &nats, Proxy::to(address).await, None, &[]).await)
    }

    /// The second node's clock is three seconds behind.
    pub(crate) async fn with_skewed_clocks() -> Option<Self> {
        let (database, nats) = services()?;
        let library = std::fs::read_dir("/usr/lib").unwrap().find_map(|folder| {
            let library = folder.unwrap().path().join("faketime/libfaketime.so.1");
            library.exists().then_some(library)
        });
        let Some(library) = library else {
            assert!(std::env::var("PARLOUR_TEST_REQUIRE_NATS").is_err(), "required: scripts/install.sh faketime");
            eprintln!("skipped: needs scripts/install.sh faketime");
            return None;
        };
        let clock =
            [("LD_PRELOAD", library.to_str().unwrap()), ("FAKETIME", "-3s"), ("FAKETIME_DONT_FAKE_MONOTONIC", "1")];
        let address = nats.trim_start_matches("nats://").parse().unwrap();
        Some(Self::on(&database, &nats, Proxy::to(address).await, None, &clock).await)
    }

    /// On a NATS of their own, which a test may stop.
    pub(crate) async fn with_own_nats() -> Option<Self> {
        let (database, _) = services()?;
        let nats = Nats::start().await;
        let url = format!("nats://127.0.0.1:{}", nats.port);
        let link = Proxy::to(([127, 0, 0, 1], nats.port).into()).await;
        Some(Self::on(&database, &url, link, Some(nats), &[]).await)
    }

    async fn on(database: &str, nats: &str, link: Proxy, own: Option<Nats>, of_two: &[(&str, &str)]) -> Self {
        let name = format!("cluster_{}", uuid::Uuid::new_v4().simple());
        let mut admin = PgConnection::connect(database).await.unwrap();
        sqlx::raw_sql(sqlx::AssertSqlSafe(format!("create database {name}"))).execute(&mut admin).await.unwrap();
        let database = format!("{}/{name}", database.rsplit_once('/').unwrap().0);
        let through = format!("nats://{}", link.address);
        let settings = |nats| [("PARLOUR_DATABASE_URL", database.as_str()), ("PARLOUR_NATS_URL", nats)];
        let (one, two) = (settings(nats), [&settings(&through), of_two].concat());
        // Both bring the new database up to date at once.
        let (one, two) = tokio::join!(Server::with(&one), Server::with(&two));
        Self { one, two, link, nats: own }
    }

    /// Somebody at the first node and somebody at the second, in one room.
    pub(crate) async fn two_in_a_room(&self) -> (String, (User, Client), (User, Client)) {
        let (ada, mut owner) = self.one.client("Ada").await;
        let (bob, mut member) = self.two.client("Bob").await;
        let room = owner.room("Tea").await;
        owner.bring(&room, &mut member).await;
        (room, (ada, owner), (bob, member))
    }
}

fn services() -> Option<(String, String)> {
    let (database, nats) = (std::env::var("PARLOUR_TEST_POSTGRES_URL"), std::env::var("PARLOUR_TEST_NATS_URL"));
    match (database, nats) {
        (Ok(database), Ok(nats)) => Some((database, nats)),
        _ if std::env::var("PARLOUR_TEST_REQUIRE_NATS").is_ok() => {
            panic!("Postgres and NATS are required: scripts/with-postgres.sh scripts/with-nats.sh")
        }
        _ => {
            eprintln!("skipped: needs scripts/with-postgres.sh scripts/with-nats.sh");
            None
        }
    }
}

/// A NATS of a test's own.
pub(crate) struct Nats {
    port: u16,
    child: Child,
}

impl Nats {
    async fn start() -> Self {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let nats = Self { port, child: spawn(port) };
        nats.answers().await;
        nats
    }

    pub(crate) fn stop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) async fn start_again(&mut self) {
        self.child = spawn(self.port);
        self.answers().await;
    }

    async fn answers(&self) {
        let answers = async {
            while TcpStream::connect(("127.0.0.1", self.port)).await.is_err() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, answers).await.expect("NATS answers");
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn spawn(port: u16) -> Child {
    let program = std::env::var("PARLOUR_TEST_NATS_SERVER").unwrap();
    let mut command = Command::new(program);
    command.args(["--addr", "127.0.0.1", "--port", &port.to_string()]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// What `/readyz` says of a node's bus, which has to be ready whatever it says.
pub(crate) async fn bus_of(server: &Server) -> String {
    let ready = server.get("/readyz", None).await;
    ready.ok()["backends"]["bus"].as_str().unwrap().to_owned()
}

/// Waits until a node says so of its bus.
pub(crate) async fn wait_for_bus(server: &Server, word: &str) {
    let said = async {
        while bus_of(server).await != word {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, said).await.unwrap_or_else(|_| panic!("the bus is not said to be {word}"));
}

/// Sends a text until it is acknowledged, under one nonce, and answers its `seq` and row key.
pub(crate) async fn send(client: &mut Client, room: &str, text: &str) -> (u64, String) {
    let data = json!({ "roomId": room, "message": text, "nonce": nonce() });
    let reply = client.ok("message.send", data).await;
    let message = &reply["message"];
    (message["seq"].as_u64().unwrap(), message["rowKey"].as_str().unwrap().to_owned())
}

/// Reads one room by the rules of the protocol and counts along: no entry may come twice, none may be missing.
pub(crate) struct Reader {
    pub(crate) client: Client,
    room: String,
    pub(crate) epoch: Value,
    pub(crate) position: u64,
    is_live: bool,
    /// The texts of messages, in their order.
    pub(crate) texts: Vec<String>,
    pub(crate) row_keys: Vec<String>,
    /// How often it had to catch up.
    pub(crate) behind: usize,
    seen: BTreeSet<u64>,
}

impl Reader {
    pub(crate) async fn of(mut client: Client, room: &str) -> Self {
        let entry = client.subscribe(room).await;
        let (epoch, position) = (entry["epoch"].clone(), entry["seq"].as_u64().unwrap());
        Self {
            client,
            room: room.to_owned(),
            epoch,
            position,
            is_live: true,
            texts: Vec::new(),
            row_keys: Vec::new(),
            behind: 0,
            seen: BTreeSet::new(),
        }
    }

    /// Goes on with another connection, maybe on another node.
    pub(crate) async fn resume_with(&mut self, client: Client) {
        self.client = client;
        let since = json!({ "epoch": self.epoch, "seq": self.position });
        let rooms = json!([{ "roomId": self.room, "since": since }]);
        let reply = self.client.ok("room.subscribe", json!({ "rooms": rooms })).await;
        assert_eq!(reply["rooms"][0]["verdict"], "exact", "{reply}");
        self.is_live = false;
    }

    /// Reads up to a position.
    pub(crate) async fn read_to(&mut self, position: u64) {
        while self.position < position {
            let event = self.client.room_event().await;
            self.take(&event);
        }
    }

    pub(crate) fn take(&mut self, event: &Value) {
        assert_eq!(event["roomId"], self.room.as_str());
        match event["event"].as_str().unwrap() {
            "room.behind" => {
                self.behind += 1;
                assert_eq!(event["data"]["verdict"], "exact", "{event}");
                assert_eq!(event["data"]["seq"].as_u64(), Some(self.position), "{event}");
                self.is_live = false;
            }
            "room.catchUp" => {
                for entry in event["data"]["entries"].as_array().into_iter().flatten() {
                    self.take_entry(entry);
                }
                self.position = event["data"]["seq"].as_u64().unwrap_or(self.position).max(self.position);
                self.is_live |= event["data"]["done"] == true;
            }
            "room.advanced" => self.position += 1,
            "room.unsubscribed" => panic!("{event}"),
            _ if event.get("seq").is_none() => {}
            _ => {
                assert!(self.is_live, "{event}");
                assert_eq!(event["seq"].as_u64(), Some(self.position + 1), "a hole or a repeat: {event}");
                self.take_entry(event);
            }
        }
    }

    fn take_entry(&mut self, entry: &Value) {
        let seq = entry["seq"].as_u64().unwrap();
        assert!(seq > self.position, "an entry twice: {entry}");
        assert!(self.seen.insert(seq));
        self.position = seq;
        if entry["event"] == "message.created" {
            let message = &entry["data"]["message"];
            self.texts.push(message["message"].as_str().unwrap_or_default().to_owned());
            self.row_keys.push(message["rowKey"].as_str().unwrap().to_owned());
        }
    }

    /// Row keys sort the newest first.
    pub(crate) fn assert_row_keys_are_in_order(&self) {
        assert!(self.row_keys.windows(2).all(|pair| pair[0] > pair[1]), "row keys and seq have different orders");
    }
}
