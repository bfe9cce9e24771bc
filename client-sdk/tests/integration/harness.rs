//! What the tests share: a client in a room, and waiting for what users see.

use std::time::Duration;

use parlour_client::{Client, ClientBuilder, Room, RoomEvent, RoomEvents, RoomItem, test_util::FakeServer};
use parlour_protocol::RoomId;
use tokio::time::timeout;

/// Virtual time: far more than any wait of the protocol.
const PATIENCE: Duration = Duration::from_secs(600);

pub(crate) struct Scene {
    pub(crate) server: FakeServer,
    pub(crate) room_id: RoomId,
    pub(crate) client: Client,
    pub(crate) room: Room,
    pub(crate) events: RoomEvents,
}

/// A client that is subscribed to a room.
pub(crate) async fn scene() -> Scene {
    scene_with(|builder| builder).await
}

pub(crate) async fn scene_with(change: impl FnOnce(ClientBuilder) -> ClientBuilder) -> Scene {
    let server = FakeServer::new();
    let room_id = server.create_room();
    scene_on(server, room_id, change).await
}

pub(crate) async fn scene_on(
    server: FakeServer,
    room_id: RoomId,
    change: impl FnOnce(ClientBuilder) -> ClientBuilder,
) -> Scene {
    let client = change(server.client()).connect().await.unwrap();
    let room = client.room(room_id);
    let events = room.events();
    room.subscribe().await.unwrap();
    let mut scene = Scene { server, room_id, client, room, events };
    scene.caught_up().await;
    scene
}

impl Scene {
    /// The next event that `pick` takes.
    pub(crate) async fn next<T>(&mut self, mut pick: impl FnMut(RoomEvent) -> Option<T>) -> T {
        let found = async {
            loop {
                match self.events.next().await.expect("the client lives") {
                    RoomItem::Event(event) => {
                        if let Some(found) = pick(event) {
                            return found;
                        }
                    }
                    RoomItem::Lagged(count) => panic!("{count} events were dropped"),
                }
            }
        };
        timeout(PATIENCE, found).await.expect("the event comes")
    }

    pub(crate) async fn caught_up(&mut self) {
        self.next(|event| matches!(event, RoomEvent::CaughtUp).then_some(())).await;
    }

    pub(crate) async fn loaded(&mut self) {
        self.next(|event| matches!(event, RoomEvent::Loaded).then_some(())).await;
    }

    /// The texts of the next `count` messages that appear.
    pub(crate) async fn created(&mut self, count: usize) -> Vec<String> {
        let mut texts = Vec::new();
        while texts.len() < count {
            texts.push(self.next(created_text).await);
        }
        texts
    }

    pub(crate) async fn texts(&self) -> Vec<String> {
        let timeline = self.room.timeline().await.unwrap();
        timeline.messages.iter().map(|message| message.message.clone()).collect()
    }

    /// What the server has, oldest first.
    pub(crate) fn truth(&self) -> Vec<String> {
        self.server.messages(self.room_id).into_iter().map(|message| message.message).collect()
    }
}

fn created_text(event: RoomEvent) -> Option<String> {
    match event {
        RoomEvent::Created { message, .. } => Some(message.message.clone()),
        _ => None,
    }
}

pub(crate) fn numbers(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|number| number.to_string()).collect()
}
