//! The configuration: flags before `PARLOUR_*` environment before one TOML file.
//!
//! [`Settings`] is the raw form, [`Config`] the checked one. Nothing else reads the environment.

mod settings;
mod value;

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use ipnet::IpNet;
use parlour_protocol::{Secret, limits::Limits};

pub(crate) use self::settings::{Flag, Settings};
use self::value::Reader;
#[cfg(feature = "azure-blob")]
use crate::azure::StorageAccount;
use crate::{previews::address::AddressPolicy, push::vapid::Vapid, store::db::ServerLimits};

/// A setting that is unknown or has a value that it cannot have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{setting}: {reason}")]
pub(crate) struct ConfigError {
    /// The setting, as it is written where it was given.
    setting: String,
    reason: String,
}

impl ConfigError {
    pub(crate) fn new(setting: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { setting: setting.into(), reason: reason.into() }
    }
}

/// Who can make an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Registration {
    /// Everybody.
    Open,
    /// Who has an invite to a room.
    Invite,
    /// Nobody, but for the very first account.
    Closed,
}

/// How the log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// For people on a terminal, JSON else.
    Auto,
    /// For people.
    Pretty,
    /// One JSON object a line.
    Json,
}

/// The log.
#[derive(Debug, Clone)]
pub(crate) struct LogConfig {
    /// How it is written.
    pub(crate) format: LogFormat,
    /// What is written: a level, or directives such as `info,parlour_server::ws=debug`.
    pub(crate) level: String,
}

/// A signature algorithm that can be accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JwtAlgorithm {
    /// HMAC with SHA-256: provider and server share a secret.
    Hs256,
    /// RSA with SHA-256.
    Rs256,
    /// ECDSA on P-256 with SHA-256.
    Es256,
}

/// What verifies signatures.
#[derive(Debug, Clone)]
pub(crate) enum JwtKeys {
    /// The shared secret of HS256.
    Secret(Secret),
    /// A PEM file with one public key.
    PublicKey(PathBuf),
    /// A JSON Web Key Set in a file, read again when a key is unknown.
    JwksFile(PathBuf),
    /// A JSON Web Key Set at an address, fetched when a key is unknown.
    JwksUrl(String),
}

/// Acceptance of an identity provider's tokens.
#[derive(Debug, Clone)]
pub(crate) struct JwtConfig {
    /// The `iss` of its tokens.
    pub(crate) issuer: String,
    /// Accepted values of `aud`.
    pub(crate) audience: Vec<String>,
    /// Accepted values of `alg`.
    pub(crate) algorithms: Vec<JwtAlgorithm>,
    /// What verifies signatures.
    pub(crate) keys: JwtKeys,
}

/// Web push.
#[derive(Debug, Clone)]
pub(crate) struct PushConfig {
    /// Who answers for it, told to push services: an address of mail or of the web.
    pub(crate) contact: String,
    /// The key that is made at the first start otherwise: 32 bytes, base64url.
    pub(crate) vapid_private_key: Option<Secret>,
    /// Where pushes may go.
    pub(crate) policy: AddressPolicy,
    /// A PEM file with an authority that is trusted besides the system's.
    pub(crate) ca_file: Option<PathBuf>,
}

/// A Postgres database.
#[derive(Debug, Clone)]
pub(crate) struct DatabaseConfig {
    /// Its address.
    pub(crate) url: Secret,
    /// How it is used.
    pub(crate) limits: ServerLimits,
    /// Where the address was given.
    pub(crate) setting: String,
}

/// Files in a container of Azure's storage.
#[cfg(feature = "azure-blob")]
#[derive(Debug, Clone)]
pub(crate) struct AzureBlobConfig {
    /// The account.
    pub(crate) account: StorageAccount,
    /// The container.
    pub(crate) container: String,
    /// Where the account was given.
    pub(crate) setting: String,
}

/// The checked configuration.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    /// Where HTTP is served.
    pub(crate) listen: SocketAddr,
    /// The folder of everything embedded.
    pub(crate) data_dir: PathBuf,
    /// A Postgres to use in place of the embedded database.
    pub(crate) database: Option<DatabaseConfig>,
    /// A NATS server that carries events between several nodes on one Postgres.
    pub(crate) nats_url: Option<Secret>,
    /// The server's own address as browsers see it (`https://chat.example.org`), where it cannot be told from requests.
    pub(crate) public_url: Option<String>,
    /// Who can make an account.
    pub(crate) registration: Registration,
    /// Origins besides the server's own whose pages may use the cookie.
    pub(crate) allowed_origins: Vec<String>,
    /// Networks whose `X-Forwarded-For` and `X-Forwarded-Proto` count.
    pub(crate) trusted_proxies: Vec<IpNet>,
    /// How long a token is valid without a refresh.
    pub(crate) session_lifetime: Duration,
    /// Longest wait for company of events in busy rooms; zero writes at once.
    pub(crate) flush_window: Duration,
    /// What link previews may be fetched from; none when they are off.
    pub(crate) previews: Option<AddressPolicy>,
    /// Web push.
    pub(crate) push: PushConfig,
    /// A container for files in place of the folder.
    #[cfg(feature = "azure-blob")]
    pub(crate) azure_blob: Option<AzureBlobConfig>,
    /// What wakes whoever posts scheduled messages, in place of this process's own clock.
    #[cfg(feature = "service-bus")]
    pub(crate) service_bus: Option<crate::service_bus::ConnectionString>,
    /// The log.
    pub(crate) log: LogConfig,
    /// Lets anybody who has it read the metrics.
    pub(crate) metrics_token: Option<Secret>,
    /// Every limit a client can meet.
    pub(crate) limits: Limits,
    /// Acceptance of an identity provider's tokens.
    pub(crate) jwt: Option<JwtConfig>,
}

impl Config {
    /// Checks the settings.
    ///
    /// # Errors
    /// At the first one with a value that it cannot have.
    pub(crate) fn new(settings: &Settings) -> Result<Self, ConfigError> {
        let read = Reader(settings);
        #[cfg(not(feature = "service-bus"))]
        if read.is_set("service_bus.connection_string") {
            let reason = "this program was built without Service Bus: build it with --features service-bus";
            return Err(read.wrong("service_bus.connection_string", reason));
        }
        let listen = read.address("listen")?.unwrap_or(SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)));
        Ok(Self {
            listen,
            data_dir: settings.data_dir()?,
            database: database(read)?,
            nats_url: nats_url(read)?,
            public_url: read.origin("public_url")?,
            registration: registration(read, listen.ip())?,
            allowed_origins: read.origins("allowed_origins")?,
            trusted_proxies: read.networks("trusted_proxies")?,
            session_lifetime: read
                .duration("session_lifetime", Duration::from_secs(60), Duration::from_secs(366 * 86_400))?
                .unwrap_or(Duration::from_secs(30 * 86_400)),
            flush_window: read
                .duration("flush_window", Duration::ZERO, Duration::from_millis(100))?
                .unwrap_or(Duration::from_millis(10)),
            previews: previews(read)?,
            push: push(read)?,
            #[cfg(feature = "azure-blob")]
            azure_blob: azure_blob(read)?,
            #[cfg(feature = "service-bus")]
            service_bus: service_bus(read)?,
            log: log(read)?,
            metrics_token: read.secret("metrics_token", 16)?,
            limits: limits(read)?,
            jwt: jwt(read)?,
        })
    }
}

fn database(read: Reader<'_>) -> Result<Option<DatabaseConfig>, ConfigError> {
    let mut limits = ServerLimits::default();
    read.limit("database_connections", 4, &mut limits.connections)?;
    let (shortest, longest) = (Duration::from_millis(100), Duration::from_secs(30));
    limits.wait = read.duration("database_wait", shortest, longest)?.unwrap_or(limits.wait);
    let statement = read.duration("database_statement_timeout", shortest, longest)?;
    limits.statement = statement.unwrap_or(limits.statement);
    let Some(url) = read.secret("database_url", 1)? else { return Ok(None) };
    if !["postgres://", "postgresql://"].iter().any(|scheme| url.expose().starts_with(scheme)) {
        return Err(read.wrong("database_url", "must begin with postgres://; leave it out for the embedded database"));
    }
    Ok(Some(DatabaseConfig { url, limits, setting: read.place("database_url") }))
}

#[cfg(feature = "azure-blob")]
fn azure_blob(read: Reader<'_>) -> Result<Option<AzureBlobConfig>, ConfigError> {
    const ACCOUNT: &str = "azure_blob.connection_string";
    const CONTAINER: &str = "azure_blob.container";
    let container = read.text(CONTAINER)?.unwrap_or("parlour").to_owned();
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if !(3..=63).contains(&container.len()) || !container.bytes().all(is_name) || container.starts_with('-') {
        return Err(read.wrong(CONTAINER, "must be 3 to 63 small letters, digits and hyphens"));
    }
    let Some(text) = read.secret(ACCOUNT, 1)? else { return Ok(None) };
    let account = StorageAccount::parse(text.expose()).map_err(|reason| read.wrong(ACCOUNT, reason))?;
    Ok(Some(AzureBlobConfig { account, container, setting: read.place(ACCOUNT) }))
}

fn nats_url(read: Reader<'_>) -> Result<Option<Secret>, ConfigError> {
    let Some(url) = read.secret("nats_url", 1)? else { return Ok(None) };
    if !url.expose().split(',').all(|url| ["nats://", "tls://"].iter().any(|scheme| url.trim().starts_with(scheme))) {
        return Err(read.wrong("nats_url", "must begin with nats:// or tls://; several are separated by commas"));
    }
    if read.secret("database_url", 1)?.is_none() {
        return Err(read.wrong("nats_url", "joins several nodes, which share a Postgres: set database_url too"));
    }
    if cfg!(not(feature = "nats")) {
        return Err(read.wrong("nats_url", "this program was built without NATS: build it with the feature `nats`"));
    }
    Ok(Some(url))
}

fn registration(read: Reader<'_>, listen: IpAddr) -> Result<Registration, ConfigError> {
    let choice = read.choice(
        "registration",
        &[("open", Registration::Open), ("invite", Registration::Invite), ("closed", Registration::Closed)],
    )?;
    Ok(choice.unwrap_or(if listen.is_loopback() { Registration::Open } else { Registration::Invite }))
}

fn previews(read: Reader<'_>) -> Result<Option<AddressPolicy>, ConfigError> {
    let enabled = read.choice("previews.enabled", &[("on", true), ("off", false)])?.unwrap_or(true);
    let policy = address_policy(read, "previews")?;
    Ok(enabled.then_some(policy))
}

fn address_policy(read: Reader<'_>, area: &str) -> Result<AddressPolicy, ConfigError> {
    let networks = read.networks(&format!("{area}.networks"))?;
    let name = format!("{area}.ports");
    let port =
        |text: &String| text.parse::<u16>().map_err(|_| read.wrong(&name, format!("must hold ports, not {text:?}")));
    let ports = read.list(&name)?.iter().map(port).collect::<Result<_, _>>()?;
    Ok(AddressPolicy { networks, ports })
}

fn push(read: Reader<'_>) -> Result<PushConfig, ConfigError> {
    let contact = match (read.text("push.contact")?, read.origin("public_url")?) {
        (Some(contact), _) if contact.starts_with("mailto:") || contact.starts_with("https://") => contact.to_owned(),
        (Some(contact), _) => {
            let reason = format!("must begin with mailto: or https://, not {contact:?}");
            return Err(read.wrong("push.contact", reason));
        }
        (None, Some(origin)) if origin.starts_with("https://") => origin,
        (None, _) => "mailto:nobody@parlour.invalid".to_owned(),
    };
    let vapid_private_key = read.secret("push.vapid_private_key", 1)?;
    if vapid_private_key.as_ref().is_some_and(|key| Vapid::new(key.expose(), "").is_none()) {
        return Err(read.wrong(
            "push.vapid_private_key",
            "must be a P-256 private key, 32 bytes in base64url; leave it out to have one made",
        ));
    }
    let ca_file = read.text("push.ca_file")?.map(PathBuf::from);
    Ok(PushConfig { contact, vapid_private_key, policy: address_policy(read, "push")?, ca_file })
}

#[cfg(feature = "service-bus")]
fn service_bus(read: Reader<'_>) -> Result<Option<crate::service_bus::ConnectionString>, ConfigError> {
    let queue = read.text("service_bus.queue")?;
    let Some(text) = read.secret("service_bus.connection_string", 1)? else {
        let stray = || read.wrong("service_bus.queue", "is of no use without service_bus.connection_string");
        return queue.map_or(Ok(None), |_| Err(stray()));
    };
    crate::service_bus::ConnectionString::parse(text.expose(), queue.unwrap_or("parlour"))
        .map(Some)
        .map_err(|reason| read.wrong("service_bus.connection_string", reason))
}

fn log(read: Reader<'_>) -> Result<LogConfig, ConfigError> {
    let format = read
        .choice("log_format", &[("auto", LogFormat::Auto), ("pretty", LogFormat::Pretty), ("json", LogFormat::Json)])?;
    let level = read.text("log_level")?.unwrap_or("info");
    if let Err(error) = tracing_subscriber::filter::EnvFilter::try_new(level) {
        return Err(read.wrong("log_level", error.to_string()));
    }
    Ok(LogConfig { format: format.unwrap_or(LogFormat::Auto), level: level.to_owned() })
}

fn limits(read: Reader<'_>) -> Result<Limits, ConfigError> {
    let mut limits = Limits::default();
    read.limit("limits.frames_per_second", 1, &mut limits.frames_per_second)?;
    read.limit("limits.frame_burst", 1, &mut limits.frame_burst)?;
    read.limit("limits.connections_per_user", 1, &mut limits.connections_per_user)?;
    read.limit("limits.connections_per_address", 1, &mut limits.connections_per_address)?;
    read.limit("limits.max_catch_up", 0, &mut limits.max_catch_up)?;
    read.limit("limits.file_bytes", 1, &mut limits.file_bytes)?;
    read.limit("limits.rooms_per_user", 1, &mut limits.rooms_per_user)?;
    for (name, rate) in &mut limits.rates {
        read.limit(&format!("rates.{name}.points"), 1, &mut rate.points)?;
        read.limit(&format!("rates.{name}.per_ms"), 1, &mut rate.per_ms)?;
        read.limit(&format!("rates.{name}.block_ms"), 1, &mut rate.block_ms)?;
    }
    Ok(limits)
}

fn jwt(read: Reader<'_>) -> Result<Option<JwtConfig>, ConfigError> {
    let Some(issuer) = read.text("jwt.issuer")? else {
        let stray = ["jwt.audience", "jwt.algorithms", "jwt.secret", "jwt.public_key_file", "jwt.jwks"]
            .into_iter()
            .find(|name| read.is_set(name));
        return stray.map_or(Ok(None), |name| Err(read.wrong(name, "is of no use without jwt.issuer")));
    };
    let audience = read.list("jwt.audience")?;
    if audience.is_empty() {
        return Err(ConfigError::new(
            "jwt.audience",
            "is needed with jwt.issuer: tokens made for others must not work here",
        ));
    }
    let keys = match (read.secret("jwt.secret", 32)?, read.text("jwt.public_key_file")?, read.text("jwt.jwks")?) {
        (Some(secret), None, None) => JwtKeys::Secret(secret),
        (None, Some(file), None) => JwtKeys::PublicKey(file.into()),
        (None, None, Some(jwks)) => jwks_source(read, jwks)?,
        _ => {
            return Err(ConfigError::new(
                "jwt.issuer",
                "needs exactly one of jwt.secret, jwt.public_key_file and jwt.jwks",
            ));
        }
    };
    let shared = matches!(keys, JwtKeys::Secret(_));
    let mut algorithms = read.choices(
        "jwt.algorithms",
        &[("HS256", JwtAlgorithm::Hs256), ("RS256", JwtAlgorithm::Rs256), ("ES256", JwtAlgorithm::Es256)],
    )?;
    if algorithms.is_empty() {
        algorithms = if shared { vec![JwtAlgorithm::Hs256] } else { vec![JwtAlgorithm::Rs256, JwtAlgorithm::Es256] };
    }
    if algorithms.iter().any(|algorithm| (*algorithm == JwtAlgorithm::Hs256) != shared) {
        return Err(
            read.wrong("jwt.algorithms", "HS256 goes with jwt.secret, RS256 and ES256 with a public key or jwt.jwks")
        );
    }
    Ok(Some(JwtConfig { issuer: issuer.to_owned(), audience, algorithms, keys }))
}

fn jwks_source(read: Reader<'_>, jwks: &str) -> Result<JwtKeys, ConfigError> {
    let on_this_machine = ["http://127.0.0.1", "http://localhost", "http://[::1]"]
        .iter()
        .filter_map(|start| jwks.strip_prefix(start))
        .any(|rest| rest.starts_with([':', '/']));
    if jwks.starts_with("https://") || on_this_machine {
        Ok(JwtKeys::JwksUrl(jwks.to_owned()))
    } else if jwks.contains("://") {
        Err(read.wrong("jwt.jwks", "must be a file or an https address"))
    } else {
        Ok(JwtKeys::JwksFile(jwks.into()))
    }
}

/// The variables of the environment that are text; others are of no use to a setting.
pub fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

#[cfg(test)]
mod tests;
