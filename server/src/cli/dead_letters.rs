//! `parlour dead-letters …`.

use parlour_protocol::Timestamp;
use uuid::Uuid;

use super::{CliError, DeadLetterAction};
use crate::{
    app::attach_database,
    config::Config,
    directory::notifications::{self, Fate},
};

/// Most that are listed.
const LISTED: u64 = 1000;

/// Lists or acts on what was given up on. A running server looks again within a minute.
pub(super) async fn act(config: &Config, action: DeadLetterAction) -> Result<(), CliError> {
    let (ids, all, fate, done) = match action {
        DeadLetterAction::List => return list(config).await,
        DeadLetterAction::Replay { ids, all } => (ids, all, Fate::Replay, "will be tried again"),
        DeadLetterAction::Drop { ids, all } => (ids, all, Fate::Drop, "are dropped"),
    };
    if ids.is_empty() != all {
        return Err(CliError::Failed("name the ids of dead letters, or give --all".to_owned()));
    }
    let db = attach_database(config).await?;
    let count = notifications::act_on_dead(&db, (!all).then_some(ids.as_slice()), fate, Timestamp::now()).await;
    db.close().await;
    println!("{} {done}", count?);
    Ok(())
}

async fn list(config: &Config) -> Result<(), CliError> {
    let db = attach_database(config).await?;
    let letters = notifications::dead_letters(&db, LISTED).await;
    db.close().await;
    for letter in letters? {
        let (reason, at) = (letter.last_error.unwrap_or_default(), Timestamp::from_millis(letter.dead_at));
        println!("{} {at} {} after {} tries: {reason} {}", letter.id, letter.what, letter.tries, host(&letter.place));
    }
    Ok(())
}

/// Where it was to go, without what only the browser's user may know.
fn host(place: &str) -> String {
    url::Url::parse(place).ok().and_then(|url| url.host_str().map(str::to_owned)).unwrap_or_default()
}

/// An id as it is typed.
pub(super) fn id(text: &str) -> Result<Uuid, String> {
    text.parse().map_err(|_| "is no id of a dead letter".to_owned())
}
