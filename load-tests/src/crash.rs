//! `kill -9` in a loop under traffic: writers repeat what was not answered, readers resume from
//! their positions, and at the end every account of what happened must agree.

mod reader;
mod verdict;
mod writer;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use serde_json::{Value, json};

use crate::payload::Payload;
use crate::server_process::{Program, ServerProcess, pause};
use crate::session::Session;
use crate::venue::Accounts;
use verdict::Listed;

const RECOVERY_DEADLINE: Duration = Duration::from_secs(30);
const DRAIN_DEADLINE: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Arguments {
    /// The server to kill
    #[arg(long, default_value = "target/release/parlour")]
    server_bin: PathBuf,
    /// Kills
    #[arg(long, default_value_t = 20)]
    rounds: usize,
    /// Seed of the moments to kill at (default: from the clock; it is printed)
    #[arg(long)]
    seed: Option<u64>,
    #[arg(long, default_value_t = 4)]
    rooms: usize,
    /// Each writes to one room
    #[arg(long, default_value_t = 8)]
    writers: usize,
    /// Each is subscribed to all rooms
    #[arg(long, default_value_t = 4)]
    readers: usize,
    /// Unanswered sends of one writer
    #[arg(long, default_value_t = 8)]
    window: usize,
    /// New messages a second of one writer, at most
    #[arg(long, default_value_t = 400)]
    rate: u64,
    /// Where the server's data folder is made
    #[arg(long)]
    data_root: Option<PathBuf>,
}

/// What the threads of one test share.
#[derive(Debug)]
struct Scene {
    address: SocketAddr,
    rooms: Vec<String>,
    /// Writers send nothing new, and end when all is answered.
    draining: AtomicBool,
    /// Everybody ends at once: something is wrong.
    abandoned: AtomicBool,
    /// Answers to each writer so far.
    answered: Vec<AtomicU64>,
    /// The last `seq` of each room, once it is known: readers end there.
    goal: Mutex<Option<Vec<u64>>>,
}

impl Scene {
    fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::Relaxed)
    }
}

/// # Errors
/// A message was lost, doubled, moved or seen in two orders; or the server did not come back.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    ensure!(
        arguments.rooms > 0
            && arguments.writers > 0
            && arguments.readers > 0
            && arguments.window > 0
            && arguments.rate > 0,
        "rooms, writers, readers, window and rate are at least 1"
    );
    let seed = arguments.seed.unwrap_or_else(|| {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_secs() ^ u64::from(time.subsec_nanos()))
    });
    eprintln!("crash test: {} rounds, seed {seed}", arguments.rounds);
    let program = Program::Parlour { binary: arguments.server_bin.clone() };
    let mut server = ServerProcess::start(program, arguments.data_root.as_deref())?;
    let accounts = Accounts::register(server.address(), arguments.writers, arguments.readers)?;
    let all_rooms = |_| (0..arguments.rooms).collect();
    let rooms = accounts.open_rooms(server.address(), arguments.rooms, arguments.readers, all_rooms)?;
    let scene = Scene {
        address: server.address(),
        rooms,
        draining: AtomicBool::new(false),
        abandoned: AtomicBool::new(false),
        answered: (0..arguments.writers).map(|_| AtomicU64::new(0)).collect(),
        goal: Mutex::new(None),
    };
    let result = act(arguments, seed, &scene, &accounts, &mut server);
    result.map_err(|error| anyhow!("{error:#}\nseed {seed}; last output of the server:\n{}", server.log_tail()))
}

fn act(arguments: &Arguments, seed: u64, scene: &Scene, accounts: &Accounts, server: &mut ServerProcess) -> Result<()> {
    thread::scope(|scope| {
        let readers: Vec<_> = (0..arguments.readers)
            .map(|number| {
                let token = &accounts.member(number).token;
                scope.spawn(move || reader::run(scene, number, token))
            })
            .collect();
        let writers: Vec<_> = (0..arguments.writers)
            .map(|number| {
                let task = writer::Task {
                    number,
                    room: number % arguments.rooms,
                    token: &accounts.publisher(number).token,
                    window: arguments.window,
                    rate: arguments.rate,
                };
                scope.spawn(move || writer::run(scene, task))
            })
            .collect();

        // Whatever goes wrong, the threads must end before the scope can.
        let killed = kill_in_a_loop(arguments, Random(seed | 1), scene, server);
        scene.draining.store(true, Ordering::Relaxed);
        if killed.is_err() {
            scene.abandoned.store(true, Ordering::Relaxed);
        }
        let written: Result<Vec<_>> =
            writers.into_iter().map(|writer| writer.join().map_err(|_| anyhow!("a writer panicked"))?).collect();
        let history = match (&killed, &written) {
            (Ok(()), Ok(_)) => read_history(scene, &accounts.publisher(0).token),
            _ => Err(anyhow!("not reached")),
        };
        match &history {
            Ok(history) => {
                *scene.goal.lock().map_err(|_| anyhow!("a reader panicked"))? = Some(verdict::heads(history))
            }
            Err(_) => scene.abandoned.store(true, Ordering::Relaxed),
        }
        let read: Result<Vec<_>> =
            readers.into_iter().map(|reader| reader.join().map_err(|_| anyhow!("a reader panicked"))?).collect();
        killed?;
        let (written, history, read) = (written?, history?, read?);
        let summary = verdict::judge(&history, &written, &read)?;
        println!("{} kills survived: {summary}", arguments.rounds);
        Ok(())
    })
}

fn kill_in_a_loop(arguments: &Arguments, mut random: Random, scene: &Scene, server: &mut ServerProcess) -> Result<()> {
    for round in 1..=arguments.rounds {
        // One round in four does not wait until everybody is back: recovery is interrupted, too.
        let early = round > 1 && random.below(4) == 0;
        let delay = if early {
            random.below(150)
        } else {
            await_answers(scene, server)?;
            50 + random.below(1_000)
        };
        pause(Duration::from_millis(delay));
        if scene.is_abandoned() {
            return Ok(());
        }
        let answered = total(scene);
        server.kill()?;
        let started = Instant::now();
        server.launch()?;
        eprintln!(
            "[{round}/{}] killed {}after {delay} ms with {answered} sends answered; back after {} ms",
            arguments.rounds,
            if early { "early " } else { "" },
            started.elapsed().as_millis()
        );
    }
    await_answers(scene, server)
}

/// Waits until every writer has had an answer from now on.
fn await_answers(scene: &Scene, server: &ServerProcess) -> Result<()> {
    let before: Vec<u64> = scene.answered.iter().map(|count| count.load(Ordering::Relaxed)).collect();
    let deadline = Instant::now() + RECOVERY_DEADLINE;
    loop {
        let waiting = scene
            .answered
            .iter()
            .zip(&before)
            .filter(|(count, before)| count.load(Ordering::Relaxed) <= **before)
            .count();
        if waiting == 0 || scene.is_abandoned() {
            return Ok(());
        }
        if Instant::now() > deadline {
            bail!("{waiting} writers got no answer within 30 s (server process {})", server.pid());
        }
        pause(Duration::from_millis(5));
    }
}

fn total(scene: &Scene) -> u64 {
    scene.answered.iter().map(|count| count.load(Ordering::Relaxed)).sum()
}

/// Every room's messages, oldest first, as `message.list` shows them.
fn read_history(scene: &Scene, token: &str) -> Result<Vec<Vec<Listed>>> {
    let mut session = Session::connect(scene.address, token)?;
    scene.rooms.iter().map(|room_id| read_room(&mut session, room_id)).collect()
}

fn read_room(session: &mut Session, room_id: &str) -> Result<Vec<Listed>> {
    let mut listed = Vec::new();
    let mut data = json!({"roomId": room_id, "order": "Asc", "limit": 1000});
    loop {
        let page = session.call("message.list", &data)?;
        for message in page["items"].as_array().into_iter().flatten() {
            listed.extend(message_of(message)?);
        }
        if page["hasMore"] != true {
            return Ok(listed);
        }
        let next = page["nextCursor"].clone();
        ensure!(next.is_string() && next != data["cursor"], "message.list of {room_id} does not advance");
        data["cursor"] = next;
    }
}

/// A message of ours in a reply or event; `None` for system lines.
fn message_of(message: &Value) -> Result<Option<Listed>> {
    let text = message["message"].as_str().unwrap_or_default();
    let Some(payload) = Payload::find(text.as_bytes(), &mut 0) else {
        return Ok(None);
    };
    Ok(Some(Listed {
        seq: message["seq"].as_u64().context("a message without seq")?,
        row_key: message["rowKey"].as_str().context("a message without rowKey")?.to_owned(),
        nonce: message["nonce"].as_str().unwrap_or_default().to_owned(),
        writer: payload.publisher(),
        sequence: payload.sequence(),
    }))
}

/// Xorshift: the same moments for the same seed.
#[derive(Debug)]
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
}
