//! The real server as a process of its own, with a data folder of its own.

use std::{
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// The environment variable that names the server's binary.
pub const SERVER_BINARY: &str = "PARLOUR_BIN";

/// A running server; it ends when this is dropped.
#[derive(Debug)]
pub struct ServerProcess {
    binary: PathBuf,
    data_dir: PathBuf,
    address: String,
    settings: Vec<String>,
    child: Child,
}

impl ServerProcess {
    /// The server's binary: as `PARLOUR_BIN` says, else beside `program` in the target folder. None if it
    /// was not built.
    pub fn find_binary(program: &Path) -> Option<PathBuf> {
        let named = std::env::var_os(SERVER_BINARY).map(PathBuf::from);
        let beside = program.ancestors().map(|folder| folder.join("parlour"));
        named.into_iter().chain(beside).find(|path| path.is_file())
    }

    /// Starts a server on a free port of this machine.
    ///
    /// # Errors
    /// When it does not start; its own words are on standard error.
    pub fn start(binary: &Path, data_dir: &Path, settings: &[&str]) -> io::Result<Self> {
        let settings: Vec<_> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let (child, address) = launch(binary, data_dir, "127.0.0.1:0", &settings)?;
        Ok(Self { binary: binary.to_owned(), data_dir: data_dir.to_owned(), address, settings, child })
    }

    /// Its address, `http://127.0.0.1:…`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Kills it without a warning (`kill -9`).
    ///
    /// # Errors
    /// When it has ended already.
    pub fn kill(&mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(drop)
    }

    /// Starts it again, at the same address and with the same data.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn restart(&mut self) -> io::Result<()> {
        let listen = self.address.trim_start_matches("http://").to_owned();
        self.child = launch(&self.binary, &self.data_dir, &listen, &self.settings)?.0;
        Ok(())
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        if let Err(error) = self.kill() {
            tracing::debug!(%error, "the server had ended");
        }
    }
}

fn launch(binary: &Path, data_dir: &Path, listen: &str, settings: &[String]) -> io::Result<(Child, String)> {
    let mut command = Command::new(binary);
    command.arg("--data-dir").arg(data_dir);
    for setting in settings {
        command.arg("--set").arg(setting);
    }
    command.args(["serve", "--listen", listen]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let stdout = child.stdout.take().ok_or_else(|| io::Error::other("no standard output"))?;
    let mut lines = BufReader::new(stdout).lines();
    let address = loop {
        let Some(line) = lines.next().transpose()? else {
            child.wait()?;
            return Err(io::Error::other("the server ended before it said its address"));
        };
        if let Some(address) = line.split_whitespace().find(|word| word.starts_with("http://")) {
            break address.trim_end_matches('/').to_owned();
        }
    };
    // Whatever else it prints is read away, so that it never blocks on that; the thread ends with it.
    std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
    Ok((child, address))
}
