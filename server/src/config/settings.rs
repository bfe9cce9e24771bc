//! Settings as given: which there are, where they come from, and who wins.

use std::{
    collections::BTreeMap,
    fmt, fs, io,
    path::{Path, PathBuf},
};

use toml::Value;

use super::ConfigError;

/// The prefix of environment variables.
const PREFIX: &str = "PARLOUR_";
/// What variables that are no settings begin with: those of the tests, of the examples and of the page's development,
/// and those that an orchestrator sets for a service of this name.
const FOREIGN_VARIABLES: &[&str] = &[
    "PARLOUR_TEST_",
    "PARLOUR_SERVER",
    "PARLOUR_NAME",
    "PARLOUR_PASSWORD",
    "PARLOUR_URL",
    "PARLOUR_BIN",
    "PARLOUR_CHROMIUM",
    "PARLOUR_PORT",
    "PARLOUR_SERVICE_HOST",
    "PARLOUR_SERVICE_PORT",
];
/// Why a name is refused.
const UNKNOWN: &str = "no such setting; docs/operating.md lists them";
/// The file that is read when none is named.
const FILE_IN_DATA_DIR: &str = "parlour.toml";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Integer,
    List,
}

/// Every setting.
const SETTINGS: &[(&str, Kind)] = &[
    ("listen", Kind::Text),
    ("data_dir", Kind::Text),
    ("database_url", Kind::Text),
    ("database_connections", Kind::Integer),
    ("database_wait", Kind::Text),
    ("database_statement_timeout", Kind::Text),
    #[cfg(feature = "azure-blob")]
    ("azure_blob.connection_string", Kind::Text),
    #[cfg(feature = "azure-blob")]
    ("azure_blob.container", Kind::Text),
    ("nats_url", Kind::Text),
    ("public_url", Kind::Text),
    ("registration", Kind::Text),
    ("allowed_origins", Kind::List),
    ("trusted_proxies", Kind::List),
    ("session_lifetime", Kind::Text),
    ("flush_window", Kind::Text),
    ("previews.enabled", Kind::Text),
    ("previews.networks", Kind::List),
    ("previews.ports", Kind::List),
    ("push.contact", Kind::Text),
    ("push.vapid_private_key", Kind::Text),
    ("push.networks", Kind::List),
    ("push.ports", Kind::List),
    ("push.ca_file", Kind::Text),
    ("service_bus.connection_string", Kind::Text),
    ("service_bus.queue", Kind::Text),
    ("log_level", Kind::Text),
    ("log_format", Kind::Text),
    ("metrics_token", Kind::Text),
    ("limits.frames_per_second", Kind::Integer),
    ("limits.frame_burst", Kind::Integer),
    ("limits.connections_per_user", Kind::Integer),
    ("limits.connections_per_address", Kind::Integer),
    ("limits.max_catch_up", Kind::Integer),
    ("limits.file_bytes", Kind::Integer),
    ("limits.rooms_per_user", Kind::Integer),
    ("rates.standard.points", Kind::Integer),
    ("rates.standard.per_ms", Kind::Integer),
    ("rates.standard.block_ms", Kind::Integer),
    ("rates.slow.points", Kind::Integer),
    ("rates.slow.per_ms", Kind::Integer),
    ("rates.slow.block_ms", Kind::Integer),
    ("rates.webhook.points", Kind::Integer),
    ("rates.webhook.per_ms", Kind::Integer),
    ("rates.webhook.block_ms", Kind::Integer),
    ("rates.auth.points", Kind::Integer),
    ("rates.auth.per_ms", Kind::Integer),
    ("rates.auth.block_ms", Kind::Integer),
    ("jwt.issuer", Kind::Text),
    ("jwt.audience", Kind::List),
    ("jwt.algorithms", Kind::List),
    ("jwt.secret", Kind::Text),
    ("jwt.public_key_file", Kind::Text),
    ("jwt.jwks", Kind::Text),
];

/// A setting given on the command line.
#[derive(Debug, Clone)]
pub(crate) struct Flag {
    /// The flag as typed, for messages.
    pub(crate) flag: String,
    /// The setting.
    pub(crate) name: String,
    /// Its value as text.
    pub(crate) value: String,
}

#[derive(Debug, Clone)]
enum Source {
    Flag(String),
    Environment(String),
    File(PathBuf),
}

#[derive(Clone)]
struct Given {
    value: Value,
    source: Source,
}

/// The raw settings. `Debug` shows names alone, as some values are secrets.
#[derive(Clone, Default)]
pub(crate) struct Settings {
    given: BTreeMap<&'static str, Given>,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.given.keys()).finish()
    }
}

impl Settings {
    /// Collects the settings of flags, environment and file.
    ///
    /// `config` names the file; without it, `parlour.toml` in the data folder is read when it is there.
    ///
    /// # Errors
    /// For an unknown setting, a value of the wrong kind, and a file that cannot be read.
    pub(crate) fn load(
        config: Option<PathBuf>,
        flags: &[Flag],
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ConfigError> {
        let mut stronger = Self::default();
        let mut config = config.map(|file| ("--config".to_owned(), file));
        for (variable, value) in environment {
            match variable.strip_prefix(PREFIX) {
                None => {}
                Some("CONFIG") => config = config.or(Some((variable, value.into()))),
                Some(_) if FOREIGN_VARIABLES.iter().any(|prefix| variable.starts_with(prefix)) => {}
                Some(rest) => stronger.give_variable(&variable, rest, &value)?,
            }
        }
        for flag in flags {
            stronger.give_flag(flag)?;
        }
        let mut settings = match config {
            Some((named_by, file)) => Self::of_file(&file)
                .and_then(|found| found.ok_or(ConfigError::new(named_by, format!("no file {}", file.display()))))?,
            None => {
                let file = stronger.data_dir()?.join(FILE_IN_DATA_DIR);
                let found = Self::of_file(&file)?.unwrap_or_default();
                if found.given.contains_key("data_dir") {
                    let place = format!("data_dir in {}", file.display());
                    return Err(ConfigError::new(place, "a file in the data folder cannot say where that is"));
                }
                found
            }
        };
        settings.given.append(&mut stronger.given);
        Ok(settings)
    }

    /// The data folder, needed before anything else.
    ///
    /// # Errors
    /// When it is not text.
    pub(super) fn data_dir(&self) -> Result<PathBuf, ConfigError> {
        let given = super::Reader(self).text("data_dir")?;
        Ok(given.unwrap_or("./data").into())
    }

    pub(super) fn value(&self, name: &str) -> Option<&Value> {
        self.given.get(name).map(|given| &given.value)
    }

    /// The setting as it is written where it was given.
    pub(super) fn place(&self, name: &str) -> String {
        match self.given.get(name).map(|given| &given.source) {
            Some(Source::Flag(flag)) => flag.clone(),
            Some(Source::Environment(variable)) => variable.clone(),
            Some(Source::File(file)) => format!("{name} in {}", file.display()),
            None => name.to_owned(),
        }
    }

    fn give_variable(&mut self, variable: &str, rest: &str, text: &str) -> Result<(), ConfigError> {
        let known = SETTINGS.iter().find(|(name, _)| rest == name.replace('.', "_").to_uppercase());
        let Some((name, kind)) = known else { return Err(ConfigError::new(variable, UNKNOWN)) };
        let value = read_text(*kind, text).map_err(|reason| ConfigError::new(variable, reason))?;
        self.given.insert(name, Given { value, source: Source::Environment(variable.to_owned()) });
        Ok(())
    }

    fn give_flag(&mut self, Flag { flag, name, value }: &Flag) -> Result<(), ConfigError> {
        let known = SETTINGS.iter().find(|(known, _)| known == name);
        let Some((name, kind)) = known else {
            return Err(ConfigError::new(flag.as_str(), UNKNOWN));
        };
        let value = read_text(*kind, value).map_err(|reason| ConfigError::new(flag.as_str(), reason))?;
        self.given.insert(name, Given { value, source: Source::Flag(flag.clone()) });
        Ok(())
    }

    fn of_file(file: &Path) -> Result<Option<Self>, ConfigError> {
        let text = match fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(ConfigError::new(file.display().to_string(), error.to_string())),
        };
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let line = error.span().map_or(1, |span| text[..span.start].lines().count().max(1));
            ConfigError::new(format!("{} line {line}", file.display()), error.message())
        })?;
        let mut settings = Self::default();
        settings.give_table(file, "", table)?;
        Ok(Some(settings))
    }

    fn give_table(&mut self, file: &Path, prefix: &str, table: toml::Table) -> Result<(), ConfigError> {
        for (key, value) in table {
            let name = format!("{prefix}{key}");
            let place = || format!("{name} in {}", file.display());
            let known = SETTINGS.iter().find(|(known, _)| *known == name);
            match (known, value) {
                (Some((name, kind)), value) => {
                    check_kind(*kind, &value).map_err(|reason| ConfigError::new(place(), reason))?;
                    self.given.insert(name, Given { value, source: Source::File(file.to_owned()) });
                }
                (None, Value::Table(table)) => self.give_table(file, &format!("{name}."), table)?,
                (None, _) => return Err(ConfigError::new(place(), UNKNOWN)),
            }
        }
        Ok(())
    }
}

fn read_text(kind: Kind, text: &str) -> Result<Value, String> {
    Ok(match kind {
        Kind::Text => Value::String(text.to_owned()),
        Kind::Integer => Value::Integer(text.trim().parse().map_err(|_| "must be a whole number".to_owned())?),
        Kind::List => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            Value::Array(items.map(|item| Value::String(item.to_owned())).collect())
        }
    })
}

fn check_kind(kind: Kind, value: &Value) -> Result<(), String> {
    match (kind, value) {
        (Kind::Text, Value::String(_)) | (Kind::Integer, Value::Integer(_)) => Ok(()),
        (Kind::List, Value::Array(items)) if items.iter().all(Value::is_str) => Ok(()),
        (Kind::Text, _) => Err("must be text, in quotes".to_owned()),
        (Kind::Integer, _) => Err("must be a whole number".to_owned()),
        (Kind::List, _) => Err("must be a list of texts".to_owned()),
    }
}

/// The names of all settings, for the test that finds each in the documentation.
#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    SETTINGS.iter().map(|(name, _)| *name)
}
