//! The server on a Postgres that is restarted in mid-traffic.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::Duration,
};

use crate::{Order, harness::Real, survive};

/// A Postgres of one's own, which keeps what it acknowledged. It ends with its input.
struct Postgres {
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    url: String,
}

/// Tells the address, and restarts for each line.
const SERVE: &str =
    r#"echo "$PARLOUR_TEST_POSTGRES_URL"; while read -r _; do "$PARLOUR_TEST_POSTGRES_RESTART"; echo done; done"#;

impl Postgres {
    /// None, visibly, where Postgres is not installed; a failure then when `PARLOUR_TEST_REQUIRE_POSTGRES` is set.
    fn start() -> Option<Self> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/with-postgres.sh");
        let mut child = Command::new(script)
            .args(["--durable", "bash", "-c", SERVE])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut answers = BufReader::new(child.stdout.take().unwrap());
        let mut url = String::new();
        answers.read_line(&mut url).unwrap();
        let orders = child.stdin.take();
        let postgres = Self { child, orders, answers, url: url.trim().to_owned() };
        if postgres.url.is_empty() {
            assert!(std::env::var_os("PARLOUR_TEST_REQUIRE_POSTGRES").is_none(), "Postgres does not start");
            eprintln!("SKIPPED: Postgres does not start");
            return None;
        }
        Some(postgres)
    }

    /// Kills it in the middle of whatever it does, and starts it again.
    fn restart(&mut self) {
        writeln!(self.orders.as_mut().unwrap(), "restart").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        assert_eq!(answer.trim(), "done");
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        drop(self.orders.take());
        drop(self.child.wait());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgres_restarted_in_mid_traffic_loses_and_doubles_nothing() {
    let Some(mut postgres) = Postgres::start() else { return };
    let database = format!("database_url={}", postgres.url);
    let settings = [database.as_str(), "rates.standard.points=1000000", "rates.auth.points=1000"];
    let Some(mut real) = Real::start(&settings) else { return };
    survive(&mut real, Order::MayChange, async |_| {
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_millis(200)).await;
            tokio::task::block_in_place(|| postgres.restart());
        }
    })
    .await;
}
