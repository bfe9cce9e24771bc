//! Friends and the requests that make them. A pair of users is one row.

use parlour_protocol::{Timestamp, UserId, object::FriendRequestDirection};
use uuid::Uuid;

use super::{
    blocks,
    nonces::{self, FirstResult},
};
use crate::store::{
    StoreError,
    db::{Db, DbError, Tx},
};

/// Two users in the order in which rows name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) low: UserId,
    pub(super) high: UserId,
}

impl Pair {
    pub(super) fn of(one: UserId, other: UserId) -> Self {
        if one.uuid() < other.uuid() { Self { low: one, high: other } } else { Self { low: other, high: one } }
    }

    /// Makes whoever else changes something between the two wait; false when one of them is unknown or deleted.
    pub(super) async fn lock(self, tx: &mut Tx) -> Result<bool, DbError> {
        let mut found = 0;
        for user_id in [self.low, self.high] {
            let sql = "update account set is_deleted = is_deleted where user_id = $1 and not is_deleted";
            found += tx.query(sql).bind(user_id).execute().await?;
        }
        Ok(found == 2)
    }
}

/// Why nothing came to be between two users.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FriendError {
    /// The command was given before.
    #[error("the command was given before")]
    Repeat,
    /// The other one is unknown or deleted.
    #[error("no such user")]
    NoUser,
    /// There is no such request.
    #[error("no such request")]
    NoRequest,
    /// It cannot be, as things are.
    #[error("{0}")]
    Refused(&'static str),
    #[error(transparent)]
    Db(#[from] DbError),
}

/// How many friends and requests one user may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FriendLimits {
    pub(crate) friends: u32,
    pub(crate) requests: u32,
}

/// A request that is pending now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Requested {
    pub(crate) created_at: Timestamp,
    pub(crate) is_new: bool,
}

/// Asks for a friendship. A request that is pending already is answered; `result` is what a repeat will answer.
pub(crate) async fn request(
    db: &Db,
    sender: UserId,
    receiver: UserId,
    limits: FriendLimits,
    result: impl FnOnce(Timestamp) -> Option<FirstResult>,
) -> Result<Requested, FriendError> {
    let pair = Pair::of(sender, receiver);
    let mut tx = db.begin().await?;
    if !pair.lock(&mut tx).await? {
        return Err(FriendError::NoUser);
    }
    if blocks::is_between(&mut tx, sender, receiver).await? {
        return Err(FriendError::Refused("one of you has blocked the other"));
    }
    if friends_since(&mut tx, pair).await?.is_some() {
        return Err(FriendError::Refused("you are friends already"));
    }
    let sql = "select sender_id, created_at from friend_request where user_low = $1 and user_high = $2";
    let pending: Option<(Uuid, i64)> = tx.query(sql).bind(pair.low).bind(pair.high).optional().await?;
    let requested = match pending {
        Some((pending, created_at)) if pending == sender.uuid() => {
            Requested { created_at: Timestamp::from_millis(created_at), is_new: false }
        }
        Some(_) => return Err(FriendError::Refused("their request is waiting for your answer")),
        None => {
            for user_id in [sender, receiver] {
                let sql = "select count(*) from friend_request where user_low = $1 or user_high = $1";
                let (count,): (i64,) = tx.query(sql).bind(user_id).one().await?;
                if count >= i64::from(limits.requests) {
                    return Err(FriendError::Refused("too many friend requests are pending"));
                }
            }
            let now = Timestamp::now();
            let sql = "insert into friend_request (user_low, user_high, sender_id, created_at) values ($1, $2, $3, $4)";
            tx.query(sql).bind(pair.low).bind(pair.high).bind(sender).bind(now).execute().await?;
            Requested { created_at: now, is_new: true }
        }
    };
    nonces::remember(&mut tx, result(requested.created_at)).await.map_err(|error| match error {
        DbError::Unique => FriendError::Repeat,
        error => error.into(),
    })?;
    tx.commit().await?;
    Ok(requested)
}

/// Makes a request a friendship; since when they are friends, and whether that is new.
pub(crate) async fn accept(
    db: &Db,
    receiver: UserId,
    sender: UserId,
    limits: FriendLimits,
) -> Result<(Timestamp, bool), FriendError> {
    let pair = Pair::of(sender, receiver);
    let mut tx = db.begin().await?;
    if !pair.lock(&mut tx).await? {
        return Err(FriendError::NoRequest);
    }
    if !take_request(&mut tx, pair, sender).await? {
        // A repeat answers what is.
        let since = friends_since(&mut tx, pair).await?.ok_or(FriendError::NoRequest)?;
        return Ok((since, false));
    }
    for user_id in [sender, receiver] {
        let sql = "select count(*) from friendship where user_low = $1 or user_high = $1";
        let (count,): (i64,) = tx.query(sql).bind(user_id).one().await?;
        if count >= i64::from(limits.friends) {
            return Err(FriendError::Refused("one of you has too many friends already"));
        }
    }
    let now = Timestamp::now();
    let sql = "insert into friendship (user_low, user_high, created_at) values ($1, $2, $3)";
    tx.query(sql).bind(pair.low).bind(pair.high).bind(now).execute().await?;
    tx.commit().await?;
    Ok((now, true))
}

/// Takes a request away; false when there was none.
pub(crate) async fn end_request(db: &Db, sender: UserId, receiver: UserId) -> Result<bool, DbError> {
    let mut tx = db.begin().await?;
    let ended = take_request(&mut tx, Pair::of(sender, receiver), sender).await?;
    tx.commit().await?;
    Ok(ended)
}

/// Ends a friendship; false when there was none.
pub(crate) async fn end(db: &Db, one: UserId, other: UserId) -> Result<bool, DbError> {
    let Pair { low, high } = Pair::of(one, other);
    let sql = "delete from friendship where user_low = $1 and user_high = $2";
    Ok(db.write(sql).bind(low).bind(high).execute().await? > 0)
}

async fn take_request(tx: &mut Tx, pair: Pair, sender: UserId) -> Result<bool, DbError> {
    let sql = "delete from friend_request where user_low = $1 and user_high = $2 and sender_id = $3";
    Ok(tx.query(sql).bind(pair.low).bind(pair.high).bind(sender).execute().await? > 0)
}

async fn friends_since(tx: &mut Tx, pair: Pair) -> Result<Option<Timestamp>, DbError> {
    let sql = "select created_at from friendship where user_low = $1 and user_high = $2";
    let row: Option<(i64,)> = tx.query(sql).bind(pair.low).bind(pair.high).optional().await?;
    Ok(row.map(|(created_at,)| Timestamp::from_millis(created_at)))
}

/// Which of `others` are friends of a user.
pub(crate) async fn among(db: &Db, user_id: UserId, others: &[UserId]) -> Result<Vec<UserId>, StoreError> {
    let rows: Vec<(Uuid,)> = db
        .read(
            "select case when user_low = $1 then user_high else user_low end from friendship \
             where user_low = $1 or user_high = $1",
        )
        .bind(user_id)
        .all()
        .await?;
    let friends: std::collections::HashSet<Uuid> = rows.into_iter().map(|(friend,)| friend).collect();
    Ok(others.iter().copied().filter(|other| friends.contains(&other.uuid())).collect())
}

/// A page of a user's friends by name, with the beginning of each friendship.
pub(crate) async fn page(
    db: &Db,
    user_id: UserId,
    after: Option<UserId>,
    limit: usize,
) -> Result<Vec<(UserId, Timestamp)>, StoreError> {
    let sql = "select a.user_id, f.created_at from friendship f \
        join account a on a.user_id = case when f.user_low = $1 then f.user_high else f.user_low end \
        where (f.user_low = $1 or f.user_high = $1) \
        and ($2 or (a.name_fold, a.user_id) > (select b.name_fold, b.user_id from account b where b.user_id = $3)) \
        order by a.name_fold, a.user_id limit $4";
    let rows: Vec<(Uuid, i64)> = db
        .read(sql)
        .bind(user_id)
        .bind(after.is_none())
        .bind(after)
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .all()
        .await?;
    Ok(rows.into_iter().map(|(friend, since)| (UserId::from_uuid(friend), Timestamp::from_millis(since))).collect())
}

/// A user's pending requests, newest first, with the other party of each.
pub(crate) async fn requests(
    db: &Db,
    user_id: UserId,
) -> Result<Vec<(UserId, FriendRequestDirection, Timestamp)>, StoreError> {
    let sql = "select case when user_low = $1 then user_high else user_low end, sender_id, created_at \
        from friend_request where user_low = $1 or user_high = $1 order by created_at desc";
    let rows: Vec<(Uuid, Uuid, i64)> = db.read(sql).bind(user_id).all().await?;
    let request = |(other, sender, created_at): (Uuid, Uuid, i64)| {
        let direction =
            if sender == user_id.uuid() { FriendRequestDirection::Outgoing } else { FriendRequestDirection::Incoming };
        (UserId::from_uuid(other), direction, Timestamp::from_millis(created_at))
    };
    Ok(rows.into_iter().map(request).collect())
}

/// Ends everything between a user and others; who was a friend.
pub(crate) async fn forget(tx: &mut Tx, user_id: UserId) -> Result<Vec<UserId>, DbError> {
    let sql = "select case when user_low = $1 then user_high else user_low end from friendship \
        where user_low = $1 or user_high = $1";
    let friends: Vec<(Uuid,)> = tx.query(sql).bind(user_id).all().await?;
    for sql in [
        "delete from friendship where user_low = $1 or user_high = $1",
        "delete from friend_request where user_low = $1 or user_high = $1",
        "delete from user_block where blocker_id = $1 or blocked_id = $1",
        "delete from user_status where user_id = $1",
    ] {
        tx.query(sql).bind(user_id).execute().await?;
    }
    Ok(friends.into_iter().map(|(friend,)| UserId::from_uuid(friend)).collect())
}
