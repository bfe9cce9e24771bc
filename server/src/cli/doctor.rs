//! `parlour doctor`.

use parlour_protocol::Timestamp;

use super::{CliError, serve::raise_descriptor_limit};
use crate::{
    app::attach_database,
    config::{Config, Registration},
    directory,
};

/// Descriptors that are used for other things than connections.
const SPARE_DESCRIPTORS: u64 = 100;

/// Examines settings, limits and the store; fails when something has to be done.
pub(super) async fn examine(config: &Config) -> Result<(), CliError> {
    let mut worries = 0;
    let mut tell = |is_fine: bool, what: &str, advice: &str| {
        if is_fine {
            println!("ok    {what}");
        } else {
            worries += 1;
            println!("CHECK {what}: {advice}");
        }
    };
    println!("Parlour {} with its data in {}", env!("CARGO_PKG_VERSION"), config.data_dir.display());
    let descriptors = raise_descriptor_limit();
    let wanted = u64::from(config.limits.connections_per_address) + SPARE_DESCRIPTORS;
    let advice = "too few for the connections of one address; raise it with `ulimit -n` or LimitNOFILE=";
    tell(descriptors >= wanted, &format!("{descriptors} open files are allowed"), advice);
    let reaches_out = !config.listen.ip().is_loopback();
    let has_tls = config.public_url.as_deref().is_some_and(|url| url.starts_with("https://"))
        || !config.trusted_proxies.is_empty();
    let advice = "passwords would travel in the clear; put a TLS proxy in front and set public_url or trusted_proxies";
    tell(!reaches_out || has_tls, &format!("the address to listen on is {}", config.listen), advice);
    let who = match config.registration {
        Registration::Open => "everybody",
        Registration::Invite => "whoever has an invite",
        Registration::Closed => "nobody",
    };
    tell(true, &format!("{who} can register"), "");
    let now = Timestamp::now();
    let advice = "set the clock of this machine";
    tell(now.as_millis() > 1_700_000_000_000, &format!("the clock says {now}"), advice);
    match attach_database(config).await {
        Ok(db) => {
            tell(true, "the database opens", "");
            let operator = directory::accounts::has_operator(&db).await;
            let advice = "nobody has registered yet; the first account becomes the operator's, so register it yourself";
            tell(operator.unwrap_or(false), "the operator's account", advice);
            db.close().await;
        }
        Err(error) => tell(false, "the database", &error.to_string()),
    }
    match worries {
        0 => Ok(()),
        _ => Err(CliError::Failed(format!("{worries} to look at"))),
    }
}
