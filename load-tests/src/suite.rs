//! Runs the chosen scenarios, reference and Parlour by turns, and writes the table and the plot.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, anyhow, bail, ensure};

use crate::measure::Measured;
use crate::scenario::{self, Pace, Scenario};
use crate::server_process::{LIMITS_PROFILE, Program, ServerProcess};
use crate::venue::Accounts;
use crate::{plot, report};

/// Descriptors beside the sockets: epoll, logs, the setup's own connections; a server's database.
const SPARE_DESCRIPTORS: u64 = 300;
/// Log-ins that senders share, and receivers.
const PUBLISHERS: usize = 8;
const MEMBERS: usize = 24;

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Arguments {
    /// Scenarios to run, all by default; `parlour-load list` names them
    scenarios: Vec<String>,
    /// The server to measure
    #[arg(long, default_value = "target/release/parlour")]
    server_bin: PathBuf,
    /// About a minute in all, with rougher figures
    #[arg(long)]
    quick: bool,
    /// Times each scenario runs on both sides (default 2, with --quick 1)
    #[arg(long)]
    rounds: Option<usize>,
    /// Folder for table and plot
    #[arg(long, default_value = "load-tests/results")]
    out: PathBuf,
    /// Where the servers' data folders are made: on the disk that matters
    #[arg(long)]
    data_root: Option<PathBuf>,
    /// Measure the reference writer alone
    #[arg(long)]
    reference_only: bool,
    /// Measure Parlour alone, without ratios
    #[arg(long, conflicts_with = "reference_only")]
    parlour_only: bool,
    /// Sample Parlour with `perf` while it is measured, a file a scenario into this folder; figures are then not to be trusted
    #[arg(long)]
    profile: Option<PathBuf>,
    /// Make the reference writer commit a fault, which the audit must report: drop-one, double-one or swap-two
    #[arg(long)]
    reference_fault: Option<String>,
}

/// What came of one scenario.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) scenario: Scenario,
    pub(crate) reference: Vec<Measured>,
    pub(crate) parlour: Vec<Measured>,
    pub(crate) failure: Option<String>,
}

/// # Errors
/// A scenario failed (all others have run and are in the table), or nothing could be started.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let scenarios = choose(&arguments.scenarios)?;
    check_descriptors(&scenarios)?;
    if !arguments.reference_only {
        ensure!(
            arguments.server_bin.exists(),
            "{} does not exist: build the server first",
            arguments.server_bin.display()
        );
        eprintln!("limits profile of the measured server (limits are tested apart):\n\n{LIMITS_PROFILE}");
    }
    let rounds = arguments.rounds.unwrap_or(if arguments.quick { 1 } else { 2 });
    let pace = if arguments.quick { Pace::QUICK } else { Pace::FULL };
    let started = Instant::now();
    let mut servers = Servers { arguments, running: HashMap::new() };
    let mut outcomes = Vec::new();
    for (number, scenario) in scenarios.iter().enumerate() {
        let mut outcome = Outcome { scenario: *scenario, reference: Vec::new(), parlour: Vec::new(), failure: None };
        for round in 1..=rounds {
            for side in servers.sides(scenario) {
                let label = format!(
                    "[{}/{} {:>4.0} s] {} · round {round}/{rounds} · {}",
                    number + 1,
                    scenarios.len(),
                    started.elapsed().as_secs_f64(),
                    scenario.name,
                    side.name()
                );
                eprintln!("{label} …");
                match servers.measure(scenario, &side, pace) {
                    Ok(measured) => {
                        eprintln!("{label}: {}", report::line(scenario, &measured));
                        match side {
                            Program::Parlour { .. } => outcome.parlour.push(measured),
                            Program::Reference { .. } => outcome.reference.push(measured),
                        }
                    }
                    Err(error) => {
                        eprintln!("{label}: FAILED: {error:#}");
                        outcome.failure.get_or_insert(format!("{}: {error:#}", side.name()));
                    }
                }
            }
        }
        outcomes.push(outcome);
    }
    drop(servers);
    write_results(&arguments.out, &outcomes)?;
    eprintln!("{:.0} s in all", started.elapsed().as_secs_f64());
    let failed: Vec<&str> =
        outcomes.iter().filter(|outcome| outcome.failure.is_some()).map(|outcome| outcome.scenario.name).collect();
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    Ok(())
}

fn write_results(folder: &Path, outcomes: &[Outcome]) -> Result<()> {
    let table = report::table(outcomes);
    println!("{table}");
    fs::create_dir_all(folder).with_context(|| format!("no folder {}", folder.display()))?;
    let (table_path, plot_path) = (folder.join("results.md"), folder.join("results.svg"));
    fs::write(&table_path, table)?;
    fs::write(&plot_path, plot::draw(outcomes))?;
    eprintln!("written: {}, {}", table_path.display(), plot_path.display());
    Ok(())
}

fn choose(names: &[String]) -> Result<Vec<Scenario>> {
    let all = scenario::all();
    if names.is_empty() {
        return Ok(all);
    }
    let found = names.iter().map(|name| {
        let known = all.iter().find(|scenario| scenario.name == name);
        known.copied().with_context(|| format!("no scenario {name}; `parlour-load list` names them"))
    });
    found.collect()
}

/// Raises the soft descriptor limit to the hard one and refuses scenarios that it cannot hold.
fn check_descriptors(scenarios: &[Scenario]) -> Result<()> {
    let limit = rlimit::increase_nofile_limit(u64::MAX).context("the descriptor limit could not be read")?;
    for scenario in scenarios {
        let needed = scenario.sockets() as u64 + SPARE_DESCRIPTORS;
        if needed > limit {
            bail!(
                "{} needs {needed} file descriptors in one process, the limit is {limit}: raise it (`ulimit -Hn`) or name other scenarios",
                scenario.name
            );
        }
    }
    eprintln!("file descriptors: limit {limit} a process, enough for every scenario chosen");
    Ok(())
}

/// The servers of the suite. Each is started when first needed and kept, with its accounts.
struct Servers<'a> {
    arguments: &'a Arguments,
    running: HashMap<(&'static str, bool), (ServerProcess, Accounts)>,
}

impl Servers<'_> {
    /// Who runs a scenario, in order.
    fn sides(&self, scenario: &Scenario) -> Vec<Program> {
        let fault = self.arguments.reference_fault.clone();
        let mut sides = Vec::new();
        if !self.arguments.parlour_only {
            sides.push(Program::Reference { durable: scenario.is_durable(), fault });
        }
        if !self.arguments.reference_only {
            sides.push(Program::Parlour { binary: self.arguments.server_bin.clone() });
        }
        sides
    }

    fn measure(&mut self, scenario: &Scenario, program: &Program, pace: Pace) -> Result<Measured> {
        let key = (program.name(), matches!(program, Program::Reference { durable: true, .. }));
        let (mut server, accounts) = match self.running.remove(&key) {
            Some(running) => running,
            None => {
                let server = ServerProcess::start(program.clone(), self.arguments.data_root.as_deref())?;
                let accounts = Accounts::register(server.address(), PUBLISHERS, MEMBERS)?;
                (server, accounts)
            }
        };
        if let (Some(folder), Program::Parlour { .. }) = (&self.arguments.profile, program) {
            fs::create_dir_all(folder)?;
            server.profile_into(folder.join(format!("{}.perf.data", scenario.name)));
        }
        let result = scenario.run(&mut server, &accounts, pace);
        match result {
            Ok(measured) => {
                self.running.insert(key, (server, accounts));
                Ok(measured)
            }
            // The next scenario gets a fresh server; this one's last words may tell why.
            Err(error) => match server.log_tail() {
                silent if silent.is_empty() => Err(error),
                words => Err(anyhow!("{error:#}\nlast output of the server:\n{words}")),
            },
        }
    }
}
