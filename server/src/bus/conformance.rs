//! What every bus has to do. A pair is what two nodes hold; in a single process both hold the same.

use std::{sync::Arc, time::Duration};

use parlour_protocol::{
    ConnectionId, DurableEvent, EphemeralEvent, RoomId, SessionId, UserEvent, UserId, event::TypingStarted,
    object::Empty,
};
use serde_json::json;
use tokio::{sync::broadcast::Receiver, time};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Bus, BusEvent, Link, NodePresence, in_process::InProcessBus};

struct Pair {
    one: Arc<dyn Bus>,
    two: Arc<dyn Bus>,
    stop: CancellationToken,
}

impl Drop for Pair {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Pair {
    fn in_process() -> Self {
        let bus: Arc<dyn Bus> = Arc::new(InProcessBus::new());
        Self { one: Arc::clone(&bus), two: bus, stop: CancellationToken::new() }
    }

    /// None without a NATS, which `scripts/with-nats.sh` starts.
    #[cfg(feature = "nats")]
    async fn nats() -> Option<Self> {
        let Ok(url) = std::env::var("PARLOUR_TEST_NATS_URL") else {
            assert!(std::env::var("PARLOUR_TEST_REQUIRE_NATS").is_err(), "NATS is required: scripts/with-nats.sh");
            eprintln!("skipped: needs scripts/with-nats.sh");
            return None;
        };
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let one = super::nats::NatsBus::start(&url, &tasks, stop.clone()).await.unwrap();
        let two = super::nats::NatsBus::start(&url, &tasks, stop.clone()).await.unwrap();
        Some(Self { one, two, stop })
    }
}

fn room_event(room_id: RoomId, seq: u64) -> BusEvent {
    let data = json!({ "emojiId": uuid::Uuid::new_v4() });
    let event = DurableEvent::decode("emoji.deleted", data).unwrap().unwrap();
    BusEvent::Room { room_id, seq, event: Arc::new(event), cause: seq.is_multiple_of(2).then(ConnectionId::new) }
}

async fn next(listener: &mut Receiver<BusEvent>) -> BusEvent {
    time::timeout(Duration::from_secs(10), listener.recv()).await.expect("an event in time").unwrap()
}

async fn what_one_tells_the_other_hears_in_order(pair: Pair) {
    let room_id = RoomId::new();
    let mut here = pair.one.listen();
    let mut there = pair.two.listen();
    pair.two.follow(room_id);
    pair.two.followed().await;
    let before = pair.one.sent();
    let told: Vec<BusEvent> = (1..=2000).map(|seq| room_event(room_id, seq)).collect();
    for event in &told {
        pair.one.publish(event.clone());
    }
    assert_eq!(pair.one.sent() - before, 2000);
    for listener in [&mut here, &mut there] {
        for event in &told {
            assert_eq!(format!("{:?}", next(listener).await), format!("{event:?}"));
        }
    }
}

async fn every_kind_of_event_arrives_as_it_was(pair: Pair) {
    let (room_id, user_id) = (RoomId::new(), UserId::new());
    let mut there = pair.two.listen();
    pair.two.follow(room_id);
    pair.two.followed().await;
    let typing = TypingStarted { user_id, name: "Ada".to_owned(), connection_id: ConnectionId::new() };
    let behind = Arc::new(UserEvent::UserBehind(Box::new(Empty {})));
    let presence = NodePresence {
        node: uuid::Uuid::new_v4(),
        is_whole: true,
        here: vec![user_id],
        gone: Vec::new(),
        changed: vec![UserId::new(), UserId::new()],
    };
    let hint = EphemeralEvent::TypingStarted(Box::new(typing));
    let told = [
        room_event(room_id, 1),
        room_event(room_id, 2),
        BusEvent::Ephemeral { room_id, event: Arc::new(hint), cause: ConnectionId::new() },
        BusEvent::Users { user_ids: vec![user_id, UserId::new()].into(), event: behind },
        BusEvent::SessionEnded { session_id: SessionId::new() },
        BusEvent::UserEnded { user_id },
        BusEvent::Presence(Arc::new(presence)),
    ];
    for event in told {
        pair.one.publish(event.clone());
        // Other tests' nodes may share the NATS: theirs name other people.
        loop {
            if format!("{:?}", next(&mut there).await) == format!("{event:?}") {
                break;
            }
        }
    }
}

async fn what_is_for_this_node_alone_is_heard_here(pair: Pair) {
    let mut here = pair.one.listen();
    pair.one.publish_here(BusEvent::UserEnded { user_id: UserId::new() });
    assert!(matches!(next(&mut here).await, BusEvent::UserEnded { .. }));
    assert_eq!(pair.one.link(), Link::Up);
}

macro_rules! suite {
    ($($name:ident),* $(,)?) => {
        mod in_process {
            $( #[tokio::test] async fn $name() { super::$name(super::Pair::in_process()).await; } )*
        }

        #[cfg(feature = "nats")]
        mod nats {
            $( #[tokio::test] async fn $name() {
                if let Some(pair) = super::Pair::nats().await {
                    super::$name(pair).await;
                }
            } )*
        }
    };
}

suite! {
    what_one_tells_the_other_hears_in_order,
    every_kind_of_event_arrives_as_it_was,
    what_is_for_this_node_alone_is_heard_here,
}

#[cfg(feature = "nats")]
#[tokio::test]
async fn a_room_is_heard_while_it_is_followed_and_ones_own_events_come_once() {
    let Some(pair) = Pair::nats().await else { return };
    let (followed, other) = (RoomId::new(), RoomId::new());
    let mut there = pair.two.listen();
    let mut here = pair.one.listen();
    for room_id in [followed, other] {
        pair.one.follow(room_id);
        pair.two.follow(room_id);
    }
    pair.two.unfollow(other);
    pair.one.followed().await;
    pair.two.followed().await;
    pair.one.publish(room_event(other, 1));
    pair.one.publish(room_event(followed, 1));
    pair.one.publish(room_event(followed, 2));
    let seen = async |listener: &mut Receiver<BusEvent>, count: usize| {
        let mut seen = Vec::new();
        while seen.len() < count {
            if let BusEvent::Room { room_id, seq, .. } = next(listener).await {
                seen.push((room_id, seq));
            }
        }
        seen
    };
    assert_eq!(seen(&mut there, 2).await, [(followed, 1), (followed, 2)]);
    assert_eq!(seen(&mut here, 3).await, [(other, 1), (followed, 1), (followed, 2)]);
    // What the other says now comes behind an echo, if there were one.
    pair.two.publish(room_event(followed, 3));
    assert_eq!(seen(&mut here, 1).await, [(followed, 3)]);
}

#[cfg(feature = "nats")]
#[tokio::test]
async fn an_unreachable_nats_is_named_by_its_setting() {
    let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let started = super::nats::NatsBus::start(&format!("nats://127.0.0.1:{port}"), &tasks, stop).await;
    assert!(started.unwrap_err().to_string().contains("nats_url"));
}
