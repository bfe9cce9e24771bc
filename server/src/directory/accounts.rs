//! Accounts in the database.

use std::collections::HashMap;

use parlour_protocol::{InviteId, Patch, Timestamp, UserId, object::User};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::account_changes;
use crate::store::{
    StoreError,
    db::{Db, DbError, Tx, list},
};

/// The row of `meta` that names the operator: there is only ever one.
const OPERATOR: &str = "operator";

const USER: &str = "user_id, name, image, biography, is_deleted, created_at, updated_at";

#[derive(sqlx::FromRow)]
struct UserRow {
    user_id: Uuid,
    name: String,
    image: String,
    biography: String,
    is_deleted: bool,
    created_at: i64,
    updated_at: i64,
}

impl From<UserRow> for User {
    fn from(row: UserRow) -> Self {
        Self {
            user_id: UserId::from_uuid(row.user_id),
            name: row.name,
            image: row.image,
            biography: row.biography,
            is_deleted: row.is_deleted,
            created_at: Some(Timestamp::from_millis(row.created_at)),
            updated_at: Some(Timestamp::from_millis(row.updated_at)),
        }
    }
}

/// An account name in the forms that are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredName {
    /// As shown.
    pub(crate) name: String,
    /// Look-alike names share it; it is unique.
    pub(crate) key: String,
    /// For searching by its start.
    pub(crate) fold: String,
}

/// An account to be made.
#[derive(Debug)]
pub(crate) struct NewAccount<'a> {
    /// Its id.
    pub(crate) user_id: UserId,
    /// Its name.
    pub(crate) name: &'a StoredName,
    /// None for an account of an identity provider.
    pub(crate) password_hash: Option<&'a str>,
    /// Image address.
    pub(crate) image: &'a str,
    /// Issuer and subject of an account of an identity provider.
    pub(crate) provider: Option<(&'a str, &'a str)>,
    /// When it is made.
    pub(crate) now: Timestamp,
}

/// What a log-in is checked against.
#[derive(Debug)]
pub(crate) struct Credentials {
    /// The account.
    pub(crate) user: User,
    /// None when it cannot log in with a password.
    pub(crate) password_hash: Option<String>,
    /// Whether it may not log in.
    pub(crate) is_disabled: bool,
}

/// Whether the operator's account was ever made.
pub(crate) async fn has_operator(db: &Db) -> Result<bool, DbError> {
    let row: Option<(String,)> = db.read("select value from meta where name = $1").bind(OPERATOR).optional().await?;
    Ok(row.is_some())
}

/// Takes the operator's place; true for the first to come, ever.
///
/// # Errors
/// [`DbError::Unique`] when another transaction took it at the same time: begin again.
pub(crate) async fn take_operator_place(tx: &mut Tx, user_id: UserId) -> Result<bool, DbError> {
    let taken: Option<(String,)> = tx.query("select value from meta where name = $1").bind(OPERATOR).optional().await?;
    if taken.is_some() {
        return Ok(false);
    }
    let sql = "insert into meta (name, value) values ($1, $2)";
    tx.query(sql).bind(OPERATOR).bind(user_id.to_string()).execute().await?;
    Ok(true)
}

/// Makes an account.
///
/// # Errors
/// [`DbError::Unique`] when the name, or a look-alike, is taken (or the id, of an identity provider's account).
pub(crate) async fn insert(tx: &mut Tx, account: &NewAccount<'_>, is_operator: bool) -> Result<User, DbError> {
    let NewAccount { user_id, name, password_hash, image, provider, now } = account;
    let sql = "insert into account (user_id, name, name_key, name_fold, password_hash, image, biography, is_operator, \
               is_disabled, is_deleted, issuer, subject, created_at, updated_at) \
               values ($1, $2, $3, $4, $5, $6, '', $7, false, false, $8, $9, $10, $10)";
    tx.query(sql)
        .bind(*user_id)
        .bind(&name.name)
        .bind(&name.key)
        .bind(&name.fold)
        .bind(*password_hash)
        .bind(*image)
        .bind(is_operator)
        .bind(provider.map(|(issuer, _)| issuer))
        .bind(provider.map(|(_, subject)| subject))
        .bind(*now)
        .execute()
        .await?;
    Ok(User {
        user_id: *user_id,
        name: name.name.clone(),
        image: (*image).to_owned(),
        biography: String::new(),
        is_deleted: false,
        created_at: Some(*now),
        updated_at: Some(*now),
    })
}

/// An account, also a deleted one.
pub(crate) async fn user(db: &Db, user_id: UserId) -> Result<Option<User>, StoreError> {
    Ok(users(db, &[user_id]).await?.pop())
}

/// An account as a transaction sees it, also a deleted one.
pub(crate) async fn user_within(tx: &mut Tx, user_id: UserId) -> Result<Option<User>, DbError> {
    let sql = format!("select {USER} from account where user_id = $1");
    Ok(tx.query(AssertSqlSafe(sql)).bind(user_id).optional::<UserRow>().await?.map(User::from))
}

/// Accounts, deleted ones too, in the order asked; unknown ids are left out.
pub(crate) async fn users(db: &Db, user_ids: &[UserId]) -> Result<Vec<User>, StoreError> {
    let sql = format!("select {USER} from account where user_id in {}", list(1, user_ids.len()));
    let rows: Vec<UserRow> = db.read(AssertSqlSafe(sql)).bind_list(user_ids).all().await?;
    let mut found: HashMap<UserId, User> = rows.into_iter().map(User::from).map(|user| (user.user_id, user)).collect();
    Ok(user_ids.iter().filter_map(|user_id| found.remove(user_id)).collect())
}

/// The account of a name's key, for a log-in. Deleted accounts have no name.
pub(crate) async fn credentials(db: &Db, name_key: &str) -> Result<Option<Credentials>, DbError> {
    find_credentials(db, "name_key", name_key).await
}

/// The account of an id, for a change of its password.
pub(crate) async fn credentials_of(db: &Db, user_id: UserId) -> Result<Option<Credentials>, DbError> {
    find_credentials(db, "user_id", user_id).await
}

async fn find_credentials(
    db: &Db,
    column: &'static str,
    value: impl crate::store::db::Bind,
) -> Result<Option<Credentials>, DbError> {
    #[derive(sqlx::FromRow)]
    struct CredentialsRow {
        #[sqlx(flatten)]
        user: UserRow,
        password_hash: Option<String>,
        is_disabled: bool,
    }

    let sql = format!("select {USER}, password_hash, is_disabled from account where {column} = $1 and not is_deleted");
    let row: Option<CredentialsRow> = db.read(AssertSqlSafe(sql)).bind(value).optional().await?;
    Ok(row.map(|row| Credentials {
        user: row.user.into(),
        password_hash: row.password_hash,
        is_disabled: row.is_disabled,
    }))
}

/// Accounts whose folded name begins with `prefix`, in the order of names, after the account `after`; without one's
/// own and those with a block between, either way.
pub(crate) async fn search(
    db: &Db,
    prefix: &str,
    without: UserId,
    after: Option<UserId>,
    limit: usize,
) -> Result<Vec<User>, DbError> {
    let mut pattern = prefix.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    pattern.push('%');
    let behind = if after.is_some() {
        "and (name_fold, user_id) > (select name_fold, user_id from account where user_id = $4)"
    } else {
        ""
    };
    let sql = format!(
        "select {USER} from account where name_fold like $1 escape '\\' and user_id <> $2 \
         and not is_deleted and not is_disabled and not exists (select 1 from user_block b \
         where (b.blocker_id = $2 and b.blocked_id = account.user_id) \
         or (b.blocker_id = account.user_id and b.blocked_id = $2)) {behind} order by name_fold, user_id limit $3"
    );
    let query = db.read(AssertSqlSafe(sql)).bind(pattern).bind(without).bind(limit as u64);
    let query = if after.is_some() { query.bind(after) } else { query };
    let rows: Vec<UserRow> = query.all().await?;
    Ok(rows.into_iter().map(User::from).collect())
}

/// Whether an invite could be used to join its room now.
pub(crate) async fn is_usable_invite(db: &Db, invite_id: InviteId, now: Timestamp) -> Result<bool, DbError> {
    let sql = "select i.invite_id from invite i join room r on r.room_id = i.room_id where i.invite_id = $1 \
               and (i.expires_at is null or i.expires_at > $2) and (i.max_uses = 0 or i.uses < i.max_uses) \
               and not r.is_invite_paused and r.deleted_at is null";
    let row: Option<(String,)> = db.read(sql).bind(invite_id).bind(now).optional().await?;
    Ok(row.is_some())
}

/// Changes of an account's own description.
#[derive(Debug)]
pub(crate) struct AccountPatch<'a> {
    /// The name.
    pub(crate) name: Option<&'a StoredName>,
    /// Image address.
    pub(crate) image: Patch<String>,
    /// A few words.
    pub(crate) biography: Patch<String>,
}

/// Changes an account; the account then, and whether anything is different. None when it is deleted.
///
/// # Errors
/// [`DbError::Unique`] when the name, or a look-alike, is taken.
pub(crate) async fn update(
    db: &Db,
    user_id: UserId,
    patch: AccountPatch<'_>,
    now: Timestamp,
) -> Result<Option<(User, bool)>, DbError> {
    let mut tx = db.begin().await?;
    let Some(before) = user_within(&mut tx, user_id).await?.filter(|user| !user.is_deleted) else { return Ok(None) };
    let mut after = User {
        image: patch.image.apply(Some(before.image.clone())).unwrap_or_default(),
        biography: patch.biography.apply(Some(before.biography.clone())).unwrap_or_default(),
        ..before.clone()
    };
    if let Some(name) = patch.name {
        after.name.clone_from(&name.name);
    }
    if after == before {
        return Ok(Some((before, false)));
    }
    after.updated_at = Some(now);
    if let Some(name) = patch.name {
        let sql = "update account set name = $2, name_key = $3, name_fold = $4 where user_id = $1";
        tx.query(sql).bind(user_id).bind(&name.name).bind(&name.key).bind(&name.fold).execute().await?;
    }
    let sql = "update account set image = $2, biography = $3, updated_at = $4 where user_id = $1";
    tx.query(sql).bind(user_id).bind(&after.image).bind(&after.biography).bind(now).execute().await?;
    account_changes::record(&mut tx, user_id, None, false, now).await?;
    tx.commit().await?;
    Ok(Some((after, true)))
}

/// Sets a password; false when the account is deleted or another's.
pub(crate) async fn set_password(tx: &mut Tx, user_id: UserId, hash: &str, now: Timestamp) -> Result<bool, DbError> {
    let sql = "update account set password_hash = $2, updated_at = $3 \
               where user_id = $1 and not is_deleted and issuer is null";
    Ok(tx.query(sql).bind(user_id).bind(hash).bind(now).execute().await? == 1)
}

/// Lets an account log in, or not.
pub(crate) async fn set_disabled(tx: &mut Tx, user_id: UserId, disabled: bool, now: Timestamp) -> Result<(), DbError> {
    let sql = "update account set is_disabled = $2, updated_at = $3 where user_id = $1";
    tx.query(sql).bind(user_id).bind(disabled).bind(now).execute().await?;
    Ok(())
}

/// Empties an account. Its row stays: messages name it.
pub(crate) async fn empty(tx: &mut Tx, user_id: UserId, now: Timestamp) -> Result<(), DbError> {
    let sql = "update account set name = 'deleted user', name_key = $2, name_fold = '', password_hash = null, \
               image = '', biography = '', is_operator = false, is_deleted = true, updated_at = $3 where user_id = $1";
    // No name has a key with a control character, so that the emptied ones are in nobody's way.
    tx.query(sql).bind(user_id).bind(format!("\u{1}{user_id}")).bind(now).execute().await?;
    Ok(())
}
