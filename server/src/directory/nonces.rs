//! The first results of commands that create no message, kept for seven days and remembered in the commit that made
//! them.

use parlour_protocol::{Nonce, Operation, ProtocolError, Timestamp, UserId};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    error::store_error,
    store::db::{Db, DbError, Tx},
};

/// A result to be remembered.
#[derive(Debug, Clone)]
pub struct FirstResult {
    user_id: UserId,
    op: &'static str,
    nonce: Nonce,
    result: String,
}

impl FirstResult {
    /// What a repeat of this command will find, such as the id of what it made; none when it has no nonce.
    pub(crate) fn naming<T: Operation>(user_id: UserId, data: &T, kept: &impl Serialize) -> Option<Self> {
        let nonce = data.nonce()?.clone();
        let result = serde_json::to_string(kept).expect("an id encodes");
        Some(Self { user_id, op: T::NAME, nonce, result })
    }

    /// What a repeat of this command will answer; none when it has no nonce.
    pub(crate) fn of<T: Operation>(user_id: UserId, data: &T, reply: &T::Reply) -> Option<Self> {
        let nonce = data.nonce()?.clone();
        let result = serde_json::to_string(reply).expect("a reply of the protocol encodes");
        Some(Self { user_id, op: T::NAME, nonce, result })
    }
}

/// Remembers a result beside other commands in one transaction; false when the command was given before.
pub(crate) async fn remember_new(tx: &mut Tx, first: &FirstResult) -> Result<bool, DbError> {
    let FirstResult { user_id, op, nonce, result } = first;
    let sql = "insert into command_nonce (user_id, op, nonce, result, created_at) values ($1, $2, $3, $4, $5) \
        on conflict (user_id, op, nonce) do nothing";
    let query = tx.query(sql).bind(*user_id).bind(*op).bind(nonce).bind(result).bind(Timestamp::now());
    Ok(query.execute().await? > 0)
}

/// Remembers a result.
///
/// # Errors
/// [`DbError::Unique`] when the command was given before.
pub(super) async fn remember(tx: &mut Tx, first: Option<FirstResult>) -> Result<(), DbError> {
    let Some(FirstResult { user_id, op, nonce, result }) = first else { return Ok(()) };
    let sql = "insert into command_nonce (user_id, op, nonce, result, created_at) values ($1, $2, $3, $4, $5)";
    tx.query(sql).bind(user_id).bind(op).bind(&nonce).bind(result).bind(Timestamp::now()).execute().await?;
    Ok(())
}

/// What a command answered when it was first given; none when it is new or has no nonce.
///
/// # Errors
/// `unavailable`.
pub(crate) async fn first_result<T: Operation>(
    db: &Db,
    user_id: UserId,
    data: &T,
) -> Result<Option<T::Reply>, ProtocolError> {
    let Some(nonce) = data.nonce() else { return Ok(None) };
    let result = result(db, user_id, T::NAME, nonce).await?;
    // A result that an older version wrote may have another form: then the command counts as new.
    Ok(result.and_then(|result| serde_json::from_str(&result).ok()))
}

/// The remembered result of a command that keeps no more than an id.
///
/// # Errors
/// `unavailable`.
pub(crate) async fn find<T: DeserializeOwned>(
    db: &Db,
    user_id: UserId,
    op: &'static str,
    nonce: &Nonce,
) -> Result<Option<T>, ProtocolError> {
    Ok(result(db, user_id, op, nonce).await?.and_then(|result| serde_json::from_str(&result).ok()))
}

async fn result(db: &Db, user_id: UserId, op: &'static str, nonce: &Nonce) -> Result<Option<String>, ProtocolError> {
    let sql = "select result from command_nonce where user_id = $1 and op = $2 and nonce = $3";
    let row = db.read(sql).bind(user_id).bind(op).bind(nonce).optional::<(String,)>().await;
    Ok(row.map_err(|error| store_error(error.into()))?.map(|(result,)| result))
}
