//! Against the stand-in in `tests/service_bus/`, which Microsoft's own client is content with, and, when asked for,
//! against the service itself.

use std::{path::PathBuf, process::Stdio};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
};

use super::*;

const PATIENCE: Duration = Duration::from_secs(20);

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/service_bus")
}

/// The stand-in as a process of its own.
struct Double {
    child: Child,
    said: Lines<BufReader<ChildStdout>>,
    port: u16,
}

impl Double {
    async fn start() -> Option<Self> {
        Self::start_on(0, 30_000).await
    }

    async fn start_on(port: u16, lock_ms: u32) -> Option<Self> {
        if !folder().join("node_modules/rhea").is_dir() {
            let is_required = std::env::var_os("PARLOUR_TEST_REQUIRE_SERVICE_BUS").is_some();
            assert!(!is_required, "scripts/install.sh service_bus has not been run");
            eprintln!("skipped: scripts/install.sh service_bus has not been run");
            return None;
        }
        let mut child = Command::new("node")
            .arg(folder().join("double.mjs"))
            .arg(port.to_string())
            .env("LOCK_MS", lock_ms.to_string())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let said = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut double = Self { child, said, port };
        double.port = u16::try_from(double.said("listening").await["port"].as_u64().unwrap()).unwrap();
        Some(double)
    }

    /// The next thing of this kind that it says.
    async fn said(&mut self, event: &str) -> Value {
        let found = async {
            loop {
                let line = self.said.next_line().await.unwrap().expect("the double goes on");
                let said: Value = serde_json::from_str(&line).unwrap();
                assert_ne!(said["event"], "error", "{said}");
                if said["event"] == event {
                    return said;
                }
            }
        };
        timeout(PATIENCE, found).await.unwrap_or_else(|_| panic!("it never says {event}"))
    }

    fn connection_string(&self, key: &str) -> String {
        format!(
            "Endpoint=sb://127.0.0.1:{};SharedAccessKeyName=Root;SharedAccessKey={key};UseDevelopmentEmulator=true",
            self.port
        )
    }

    fn service(&self, queue: &str) -> ConnectionString {
        ConnectionString::parse(&self.connection_string("correct-horse"), queue).unwrap()
    }
}

/// A queue, and what ends it.
struct Listening {
    queue: Queue,
    planner: Planner,
    _end: tokio_util::sync::DropGuard,
}

fn listen(service: ConnectionString) -> Listening {
    let stop = CancellationToken::new();
    let queue = Queue::start(service, &TaskTracker::new(), stop.clone());
    Listening { planner: queue.planner(), queue, _end: stop.drop_guard() }
}

impl Listening {
    async fn next(&mut self) -> Due {
        timeout(PATIENCE, self.queue.next()).await.expect("something comes").expect("the queue goes on")
    }
}

fn in_ms(millis: i64) -> Timestamp {
    Timestamp::now().plus_millis(millis)
}

#[tokio::test]
async fn microsofts_own_client_is_content_with_the_double() {
    let Some(double) = Double::start().await else { return };
    let client = Command::new("node")
        .arg(folder().join("official.mjs"))
        .arg(double.connection_string("correct-horse"))
        .kill_on_drop(true)
        .output();
    let output = timeout(PATIENCE, client).await.unwrap().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test]
async fn a_text_comes_out_at_its_time_and_not_again_once_completed() {
    let Some(mut double) = Double::start_on(0, 1_000).await else { return };
    let mut listening = listen(double.service("wake-ups"));
    let (later, now) = (in_ms(1_500), in_ms(-1_000));
    assert!(listening.planner.plan("later".into(), later));
    assert!(listening.planner.plan("now".into(), now));
    let first = listening.next().await;
    assert_eq!(first.text, "now");
    first.complete();
    assert_eq!(double.said("completed").await["text"], "now");
    let second = listening.next().await;
    assert_eq!(second.text, "later");
    assert!(Timestamp::now() >= later, "not before its time");
    second.complete();
    assert_eq!(double.said("completed").await["text"], "later");
    // Longer than a lock: neither comes again.
    assert!(timeout(Duration::from_millis(1_500), listening.queue.next()).await.is_err());
}

#[tokio::test]
async fn what_is_abandoned_comes_again() {
    let Some(mut double) = Double::start().await else { return };
    let mut listening = listen(double.service("wake-ups"));
    listening.planner.plan("one".into(), in_ms(0));
    drop(listening.next().await);
    assert_eq!(double.said("back").await["why"], "abandoned");
    let again = listening.next().await;
    assert_eq!(again.text, "one");
    again.complete();
    double.said("completed").await;
}

#[tokio::test]
async fn many_go_in_batches_and_none_is_left_out() {
    const MANY: usize = 2_000;
    let Some(double) = Double::start().await else { return };
    let mut listening = listen(double.service("wake-ups"));
    let at = in_ms(0);
    for number in 0..MANY {
        assert!(listening.planner.plan(number.to_string(), at));
    }
    let mut came = std::collections::BTreeSet::new();
    let began = Instant::now();
    while came.len() < MANY {
        let due = listening.next().await;
        came.insert(due.text.parse::<usize>().unwrap());
        due.complete();
    }
    eprintln!("{MANY} planned and taken in {} ms", began.elapsed().as_millis());
    drop(double);
}

#[tokio::test]
async fn a_lost_connection_is_made_again_and_what_was_planned_meanwhile_goes_out() {
    let Some(mut double) = Double::start().await else { return };
    let mut listening = listen(double.service("wake-ups"));
    listening.planner.plan("before".into(), in_ms(0));
    let held = listening.next().await;
    double.child.kill().await.unwrap();
    listening.planner.plan("meanwhile".into(), in_ms(0));
    let mut double = Double::start_on(double.port, 30_000).await.unwrap();
    // Its lock went with the connection: to complete it does no harm.
    held.complete();
    let due = listening.next().await;
    assert_eq!(due.text, "meanwhile");
    due.complete();
    assert_eq!(double.said("completed").await["text"], "meanwhile");
}

#[tokio::test]
async fn a_wrong_key_and_a_missing_queue_are_refused_at_once() {
    let Some(double) = Double::start().await else { return };
    check(&double.service("wake-ups")).await.unwrap();
    let wrong = ConnectionString::parse(&double.connection_string("wrong-horse"), "wake-ups").unwrap();
    let error = check(&wrong).await.unwrap_err().to_string();
    assert!(error.starts_with("service_bus.connection_string: ") && error.contains("401"), "{error}");
    let error = check(&double.service("no-such-queue")).await.unwrap_err().to_string();
    assert!(error.contains("could not be found") && error.contains("\"no-such-queue\""), "{error}");
    let nowhere = "Endpoint=sb://127.0.0.1:1;SharedAccessKeyName=a;SharedAccessKey=b;UseDevelopmentEmulator=true";
    check(&ConnectionString::parse(nowhere, "q").unwrap()).await.expect("a service that is away may come back");
}

/// `PARLOUR_TEST_SERVICE_BUS` is a connection string with an `EntityPath`: an empty queue of Azure itself.
#[tokio::test]
#[ignore = "needs a queue of Azure: PARLOUR_TEST_SERVICE_BUS"]
async fn the_service_itself_wakes() {
    let text = std::env::var("PARLOUR_TEST_SERVICE_BUS").expect("PARLOUR_TEST_SERVICE_BUS is set");
    let service = ConnectionString::parse(&text, "").expect("it is a connection string with an EntityPath");
    check(&service).await.unwrap();
    let mut listening = listen(service);
    let at = in_ms(5_000);
    listening.planner.plan("one".into(), at);
    drop(listening.next().await);
    let again = listening.next().await;
    assert_eq!(again.text, "one");
    assert!(Timestamp::now().plus_millis(1_000) >= at, "about its time");
    again.complete();
    assert!(timeout(Duration::from_secs(5), listening.queue.next()).await.is_err());
}
