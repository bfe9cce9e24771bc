//! A server under test as a child process: started on a port and data folder of its own, measured
//! through /proc, killed at will and always at the end.

use std::collections::HashMap;
use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use tempfile::TempDir;

use crate::tokens;

const START_DEADLINE: Duration = Duration::from_secs(20);

/// What the two sides of a comparison are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Program {
    Parlour {
        binary: PathBuf,
    },
    /// The reference writer: this very binary. `durable` syncs every send to a file first.
    Reference {
        durable: bool,
        fault: Option<String>,
    },
}

impl Program {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Parlour { .. } => "parlour",
            Self::Reference { .. } => "reference",
        }
    }
}

/// Limits of the server while it is measured: none of them may be what is measured.
/// `max_catch_up` keeps its default.
pub(crate) const LIMITS_PROFILE: &str = "\
[limits]
frames_per_second = 10000000
frame_burst = 10000000
connections_per_user = 20000
connections_per_address = 20000

[rates.standard]
points = 1000000000

[rates.slow]
points = 1000000000

[rates.auth]
points = 1000000000

";

#[derive(Debug)]
pub(crate) struct ServerProcess {
    program: Program,
    address: SocketAddr,
    folder: TempDir,
    child: Option<Child>,
    /// Scheduler time of each thread seen, so that a thread that ends is not forgotten.
    thread_ns: HashMap<String, u64>,
    /// Where `perf` writes what it samples while something is measured.
    profile: Option<PathBuf>,
    profiler: Option<Child>,
}

impl ServerProcess {
    /// Starts `program` on a free loopback port and a fresh folder inside `root` (default: the system's temporary one).
    ///
    /// # Errors
    /// It ended, or did not accept connections within 20 s; the text ends with its last output.
    pub(crate) fn start(program: Program, root: Option<&Path>) -> Result<Self> {
        let folder = match root {
            Some(root) => tempfile::Builder::new().prefix("parlour-load-").tempdir_in(root),
            None => tempfile::Builder::new().prefix("parlour-load-").tempdir(),
        }
        .context("no temporary folder")?;
        fs::write(folder.path().join("bench.toml"), LIMITS_PROFILE.to_owned() + &tokens::settings())?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
        let mut server =
            Self { program, address, folder, child: None, thread_ns: HashMap::new(), profile: None, profiler: None };
        server.launch()?;
        Ok(server)
    }

    pub(crate) fn program(&self) -> &Program {
        &self.program
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.as_ref().map_or(0, Child::id)
    }

    /// Stops the server (SIGKILL, as nothing it acknowledged may depend on a goodbye) and starts it on the same data.
    pub(crate) fn restart(&mut self) -> Result<()> {
        self.kill()?;
        self.launch()
    }

    /// SIGKILL, and waits until the process is gone.
    pub(crate) fn kill(&mut self) -> Result<()> {
        if let Some(mut child) = self.child.take() {
            child.kill().context("the server could not be killed")?;
            child.wait().context("the server was not reaped")?;
        }
        Ok(())
    }

    /// Starts the process again after [`Self::kill`].
    pub(crate) fn launch(&mut self) -> Result<()> {
        let log = File::options().create(true).append(true).open(self.log_path())?;
        let mut command = match &self.program {
            Program::Parlour { binary } => {
                let mut command = Command::new(binary);
                command.arg("serve").arg("--listen").arg(self.address.to_string());
                command.arg("--data-dir").arg(self.folder.path().join("data"));
                command.arg("--config").arg(self.folder.path().join("bench.toml"));
                command
            }
            Program::Reference { durable, fault } => {
                let mut command = Command::new(std::env::current_exe().context("own path unknown")?);
                command.arg("reference").arg("--listen").arg(self.address.to_string());
                if *durable {
                    command.arg("--durable").arg(self.folder.path().join("reference.log"));
                }
                if let Some(fault) = fault {
                    command.arg("--fault").arg(fault);
                }
                command
            }
        };
        let child = command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("{} could not be started", command.get_program().display()))?;
        self.child = Some(child);
        self.thread_ns.clear();
        self.await_port()
    }

    fn await_port(&mut self) -> Result<()> {
        let deadline = Instant::now() + START_DEADLINE;
        loop {
            if TcpStream::connect_timeout(&self.address, Duration::from_secs(1)).is_ok() {
                return Ok(());
            }
            if let Some(status) = self.child.as_mut().map(Child::try_wait).transpose()?.flatten() {
                bail!("the {} ended at start ({status}):\n{}", self.program.name(), self.log_tail());
            }
            if Instant::now() > deadline {
                bail!("the {} accepts no connections after 20 s:\n{}", self.program.name(), self.log_tail());
            }
            pause(Duration::from_millis(10));
        }
    }

    /// From now on [`Self::begin_measurement`] samples the server with `perf` into this file.
    pub(crate) fn profile_into(&mut self, file: PathBuf) {
        self.profile = Some(file);
    }

    /// Says that what is measured begins now and lasts so long. It costs nothing without a profile.
    pub(crate) fn begin_measurement(&mut self, time: Duration) -> Result<()> {
        let Some(file) = self.profile.take() else {
            return Ok(());
        };
        self.end_profile();
        let profiler = Command::new("perf")
            .args(["record", "-e", "cpu-clock", "-F", "997", "--call-graph", "dwarf,16384", "-o"])
            .arg(file)
            .args(["-p", &self.pid().to_string(), "--", "sleep", &time.as_secs_f64().to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("perf could not be started")?;
        self.profiler = Some(profiler);
        Ok(())
    }

    fn end_profile(&mut self) {
        if let Some(mut profiler) = self.profiler.take()
            && let Err(error) = profiler.wait()
        {
            eprintln!("warning: perf: {error}");
        }
    }

    /// Scheduler time of all its threads in nanoseconds since it started.
    pub(crate) fn cpu_ns(&mut self) -> Result<u64> {
        let folder = format!("/proc/{}/task", self.pid());
        for thread in fs::read_dir(&folder).with_context(|| format!("the server is gone:\n{}", self.log_tail()))? {
            let thread = thread?;
            if let Some(time) = schedstat(&thread.path().join("schedstat")) {
                self.thread_ns.insert(thread.file_name().to_string_lossy().into_owned(), time);
            }
        }
        Ok(self.thread_ns.values().sum())
    }

    /// Resident memory in KiB.
    pub(crate) fn resident_kib(&self) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS in /proc")?;
        Ok(line.trim().trim_end_matches("kB").trim().parse()?)
    }

    /// The last lines of what it printed.
    pub(crate) fn log_tail(&self) -> String {
        let log = fs::read(self.log_path()).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    fn log_path(&self) -> PathBuf {
        self.folder.path().join("server.log")
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.end_profile();
        if let Err(error) = self.kill() {
            eprintln!("warning: {error:#}");
        }
    }
}

/// Scheduler time of the calling process's main thread in nanoseconds.
pub(crate) fn own_cpu_ns() -> u64 {
    schedstat(Path::new("/proc/thread-self/schedstat")).unwrap_or(0)
}

fn schedstat(path: &Path) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    text.split_ascii_whitespace().next()?.parse().ok()
}

/// A port below the range that outgoing connections use, so that clients cannot take it between two starts.
fn free_port() -> Result<u16> {
    let first = 20_000 + u16::try_from(std::process::id() % 10_000).unwrap_or(0);
    (first..32_000)
        .find(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok())
        .context("no free port between 20000 and 32000")
}

/// Waits without anything to wait for: between two looks at a process.
pub(crate) fn pause(time: Duration) {
    let (_hold, never) = mpsc::channel::<()>();
    let _timeout = never.recv_timeout(time);
}
