//! Durable sends per second straight on the message store, as many in flight as the scenario says.
//!
//! `cargo bench -p parlour-server --bench store [-- FOLDER SECONDS]`: the folder must be on the disk to be measured.

use std::{
    env,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use parlour_protocol::{MessageType, Nonce, RoomId, UserId};
use parlour_server::{
    bus::{Bus, BusEvent},
    store::{
        Append, ListQuery, LogRead, MessageStore, NewMessage, Origin, RoomChange,
        db::{Db, open_sqlite},
        sql::SqlStore,
    },
};
use tokio::sync::broadcast;
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use uuid::Uuid;

/// A bus that only counts.
#[derive(Debug)]
struct Counter(AtomicU64);

impl Bus for Counter {
    fn publish(&self, _: BusEvent) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn sent(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn listen(&self) -> broadcast::Receiver<BusEvent> {
        broadcast::Sender::new(1).subscribe()
    }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a clock after 1970");
    i64::try_from(since.as_nanos()).expect("a clock before 2262")
}

/// CPU time of this process, in ms.
fn cpu() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    // Ticks of 10 ms, user and system.
    [11, 12].iter().filter_map(|field| fields.get(*field)?.parse::<u64>().ok()).sum::<u64>() * 10
}

async fn account(db: &Db) -> UserId {
    let user_id = UserId::new();
    db.write(
        "insert into account (user_id, name, name_key, name_fold, image, biography, is_operator, is_disabled, \
         is_deleted, created_at, updated_at) values ($1, 'x', $2, 'x', '', '', false, false, false, 1, 1)",
    )
    .bind(user_id)
    .bind(user_id.to_string())
    .execute()
    .await
    .expect("an account");
    user_id
}

async fn room(db: &Db, members: &[UserId]) -> RoomId {
    let room_id = RoomId::new();
    let mut tx = db.begin().await.expect("a transaction");
    tx.query(
        "insert into room (room_id, type, name, topic, image, is_read_only, is_invite_paused, \
         allowed_mime_categories, created_at, updated_at) values ($1, 'Room', '', '', '', false, false, '[]', 1, 1)",
    )
    .bind(room_id)
    .execute()
    .await
    .expect("a room");
    tx.query("insert into room_head (room_id, epoch, seq, tick, active_tick) values ($1, 'e', 0, 0, 0)")
        .bind(room_id)
        .execute()
        .await
        .expect("a head");
    for member in members {
        tx.query(
            "insert into member (room_id, user_id, nickname, notification_type, is_hidden, created_at) \
             values ($1, $2, '', 'DirectMessage', false, 1)",
        )
        .bind(room_id)
        .bind(*member)
        .execute()
        .await
        .expect("a member");
    }
    tx.commit().await.expect("a commit");
    room_id
}

fn message(user_id: UserId) -> NewMessage {
    let nonce: Nonce = Uuid::new_v4().to_string().parse().expect("a nonce");
    NewMessage {
        message_type: MessageType::Message,
        user_id: Some(user_id),
        app_user: None,
        origin: Origin::Live,
        nonce: Some(nonce),
        body: "The quick brown fox jumps over the lazy dog, and then it does so again and again. 1234567890".to_owned(),
        files: Vec::new(),
        mentions: Vec::new(),
        reply_row_key: None,
        link_preview: None,
        poll: None,
        is_forward: false,
        slowmode_ms: None,
        job: None,
    }
}

async fn sends(folder: &Path, rooms: usize, in_flight: usize, length: Duration) {
    let place = tempfile::Builder::new().prefix("store-bench").tempdir_in(folder).expect("a folder");
    let db = open_sqlite(place.path()).await.expect("a database");
    let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
    let bus = Arc::new(Counter(AtomicU64::new(0)));
    let store: Arc<dyn MessageStore> =
        Arc::new(SqlStore::start(db.clone(), Arc::clone(&bus) as Arc<dyn Bus>, &tasks, stop.clone()));
    let mut users = Vec::new();
    for _ in 0..64 {
        users.push(account(&db).await);
    }
    let mut room_ids = Vec::new();
    for _ in 0..rooms {
        room_ids.push(room(&db, &users).await);
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let (started, cpu_before) = (Instant::now(), cpu());
    let mut senders = Vec::new();
    for number in 0..in_flight {
        let (store, is_over) = (Arc::clone(&store), Arc::clone(&is_over));
        let (room_id, user_id) = (room_ids[number % rooms], users[number % users.len()]);
        senders.push(tokio::spawn(async move {
            let mut latencies = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                let begun = Instant::now();
                let change = RoomChange::Send(Box::new(message(user_id)));
                let append = Append { room_id, now: now(), cause: None, generation: store.generation(), change };
                store.append(append).await.await.expect("a stored message");
                latencies.push(begun.elapsed());
            }
            latencies
        }));
    }
    tokio::time::sleep(length).await;
    is_over.store(true, Ordering::Relaxed);
    let mut latencies = Vec::new();
    for sender in senders {
        latencies.extend(sender.await.expect("a sender"));
    }
    let (elapsed, spent) = (started.elapsed(), cpu() - cpu_before);
    latencies.sort_unstable();
    let count = latencies.len();
    let at = |share: usize| latencies[(count - 1) * share / 100].as_secs_f64() * 1e3;
    println!(
        "{rooms:>3} rooms, {in_flight:>4} in flight: {:>8.0} sends/s, {:>5.1} µs CPU, p50 {:.2} ms, p99 {:.2} ms",
        count as f64 / elapsed.as_secs_f64(),
        spent as f64 * 1e3 / count as f64,
        at(50),
        at(99)
    );
    reads(&store, room_ids[0]).await;
    stop.cancel();
    tasks.close();
    tasks.wait().await;
    db.close().await;
}

async fn reads(store: &Arc<dyn MessageStore>, room_id: RoomId) {
    const ROUNDS: u32 = 500;
    let head = store.heads(&[room_id]).await.expect("a head")[0].1.seq;
    let begun = Instant::now();
    for _ in 0..ROUNDS {
        let read = store.read_log(room_id, head.saturating_sub(100), head, 1_000).await.expect("a log");
        assert!(matches!(read, LogRead::Entries { .. }));
    }
    let log = begun.elapsed() / ROUNDS;
    let begun = Instant::now();
    for _ in 0..ROUNDS {
        let query = ListQuery {
            room_id,
            order: parlour_protocol::operation::Order::Desc,
            from: None,
            inclusive: false,
            pinned: false,
            reply_to: None,
            limit: 50,
        };
        store.list(query).await.expect("a page");
    }
    println!("    catch-up of 100: {log:.0?}; page of 50: {:.0?}", begun.elapsed() / ROUNDS);
}

fn main() {
    // Cargo adds a flag of its own.
    let mut arguments = env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let folder = arguments.next().map_or_else(env::temp_dir, PathBuf::from);
    let seconds = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(5);
    let wanted: Vec<usize> = arguments.filter_map(|text| text.parse().ok()).collect();
    let scenarios = [(64, 1), (64, 64), (64, 512), (1, 1), (1, 64), (1, 512)];
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    for (number, (rooms, in_flight)) in scenarios.into_iter().enumerate() {
        if wanted.is_empty() || wanted.contains(&number) {
            runtime.block_on(sends(&folder, rooms, in_flight, Duration::from_secs(seconds)));
        }
    }
}
