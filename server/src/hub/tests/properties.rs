//! Random histories: appends, losses, slow readers and subscriptions of all kinds in any order.

use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::*;

const ROOMS: usize = 3;

/// Plays one history and checks that every client ends at every head with nothing lost or doubled.
///
/// The rules of `Client` are the assertion: each live event is the next one, no entry comes twice, a jump is
/// announced.
async fn play(seed: u64) -> Reached {
    let mut random = StdRng::seed_from_u64(seed);
    let world = World::with(|limits| {
        limits.max_catch_up = 40;
        limits.strikes = u8::MAX;
        limits.connection.queue_bytes = 16 * 1024;
    });
    let rooms: Vec<RoomId> = (0..ROOMS).map(|_| world.store.create()).collect();
    let mut clients = Vec::new();
    for n in 0..4 {
        let codec = if n % 2 == 0 { Codec::Json } else { Codec::MessagePack };
        let client = world.connect(codec).await;
        for room in &rooms {
            world.store.join(*room, client.user_id);
        }
        clients.push(client);
    }
    for _ in 0..300 {
        let room = rooms[random.random_range(0..ROOMS)];
        let client = random.random_range(0..clients.len());
        match random.random_range(0..100) {
            0..40 => {
                for _ in 0..random.random_range(1..20) {
                    let event = match random.random_range(0..10) {
                        0 => folding(),
                        1 | 2 => reaction(),
                        3 => long(random.random_range(1..30_000)),
                        _ => plain(),
                    };
                    let cause = clients[random.random_range(0..clients.len())].id;
                    world.store.append_entry(room, event, Some(cause), random.random_ratio(1, 50));
                }
            }
            40..60 => tokio::task::yield_now().await,
            60..75 => {
                let since = clients[client].views.get(&room).map(|view| view.position);
                let since = since.filter(|_| random.random_ratio(3, 4));
                let echo = random.random_ratio(3, 4);
                clients[client].ask(&[(room, since)], echo).await;
                let id = clients[client].last_id;
                // The position must not move between asking and the reply, or the client could not tell
                // what the old subscription brought meanwhile.
                while clients[client].asked.contains_key(&id) {
                    clients[client].step().await;
                }
            }
            75..80 => world.hub.compare_heads().await,
            _ => {
                let client = &mut clients[client];
                let mut chunk = 0;
                while chunk < 20 && client.is_readable().await {
                    client.step().await;
                    chunk += 1;
                }
            }
        }
    }
    for client in &mut clients {
        let subscribed: Vec<RoomId> = client.views.keys().copied().collect();
        world.hub.compare_heads().await;
        world.hub.compare_heads().await;
        for room in subscribed {
            client.read_to(room, world.store.head(room)).await;
        }
    }
    // And live again, all of them.
    for room in &rooms {
        world.store.say(*room);
    }
    for client in &mut clients {
        let subscribed: Vec<RoomId> = client.views.keys().copied().collect();
        for room in subscribed {
            client.read_to(room, world.store.head(room)).await;
        }
    }
    let mut reached = Reached::default();
    for view in clients.iter().flat_map(|client| client.views.values()) {
        reached.behind += view.behind;
        reached.gaps += view.gaps;
        reached.pages += view.pages;
        reached.advanced += view.advanced.len();
    }
    reached
}

/// How often the rare things happened.
#[derive(Debug, Default)]
struct Reached {
    behind: usize,
    gaps: usize,
    pages: usize,
    advanced: usize,
}

async fn play_all(seeds: std::ops::Range<u64>) {
    let mut all = Reached::default();
    for seed in seeds {
        let reached = tokio::time::timeout(Duration::from_secs(20), play(seed))
            .await
            .unwrap_or_else(|_| panic!("seed {seed} does not end"));
        all.behind += reached.behind;
        all.gaps += reached.gaps;
        all.pages += reached.pages;
        all.advanced += reached.advanced;
    }
    assert!(all.behind > 0 && all.gaps > 0 && all.pages > 0 && all.advanced > 0, "{all:?}");
}

impl Client {
    /// Whether something waits to be read right now.
    async fn is_readable(&self) -> bool {
        let poll = Duration::ZERO;
        self.peer.has_frame() || tokio::time::timeout(poll, self.peer.stream.readable()).await.is_ok()
    }
}

#[tokio::test]
async fn nothing_is_lost_doubled_or_reordered_in_random_histories() {
    play_all(0..8).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_same_holds_on_many_threads() {
    play_all(100..106).await;
}
