//! The outbox of notifications, and their deliveries to browsers.

use parlour_protocol::{RoomId, RowKey, Timestamp, UserId};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::push::Target;
use crate::{
    notifications::{Notification, Subject},
    store::{
        StoreError,
        db::{Db, DbError, Tx, list},
    },
};

/// How long a node has for what it takes, in ms; then others may take it. (A file has one process: nothing is taken.)
const LEASE_MS: i64 = 60_000;
/// How long what was given up on is kept, in ms.
const DEAD_KEPT_MS: i64 = 30 * 86_400_000;
/// Ids of one statement.
const CHUNK: usize = 256;

const KINDS: [&str; 3] = ["Message", "Reminder", "FriendRequest"];

/// A push to one browser.
#[derive(Debug, Clone)]
pub(crate) struct Delivery {
    pub(crate) id: Uuid,
    pub(crate) subscription_id: Uuid,
    pub(crate) target: Target,
    pub(crate) payload: String,
    pub(crate) topic: String,
    pub(crate) is_urgent: bool,
    /// How often it was tried before.
    pub(crate) tries: u32,
}

/// A push to be noted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NewDelivery {
    pub(crate) notification_id: Uuid,
    pub(crate) subscription_id: Uuid,
    pub(crate) payload: String,
    pub(crate) topic: String,
    pub(crate) is_urgent: bool,
}

/// Another try of a notification or a delivery, or the end of trying.
#[derive(Debug, Clone)]
pub(crate) struct Retry {
    pub(crate) id: Uuid,
    pub(crate) reason: String,
    pub(crate) due_at: Timestamp,
    pub(crate) is_dead: bool,
}

#[derive(sqlx::FromRow)]
struct EventRow {
    notification_id: Uuid,
    kind: i64,
    room_id: Option<Uuid>,
    tick: Option<i64>,
    user_id: Option<Uuid>,
    sender_id: Option<Uuid>,
    body: Option<String>,
    tries: i64,
    created_at: i64,
}

impl EventRow {
    fn into_notification(self) -> Option<Notification> {
        let user_id = self.user_id.map(UserId::from_uuid);
        let room_id = self.room_id.map(RoomId::from_uuid);
        let subject = match self.kind {
            0 => Subject::Message { room_id: room_id?, row_key: RowKey::from_tick(self.tick?) },
            1 => Subject::Reminder { user_id: user_id?, room_id: room_id?, text: self.body.unwrap_or_default() },
            2 => Subject::FriendRequest { user_id: user_id?, sender_id: UserId::from_uuid(self.sender_id?) },
            _ => return None,
        };
        Some(Notification {
            id: self.notification_id,
            subject,
            created_at: Timestamp::from_millis(self.created_at),
            tries: u32::try_from(self.tries).unwrap_or(u32::MAX),
        })
    }
}

/// Notes what is told to one person, beside what it is about. Once for each id.
pub(crate) async fn note(tx: &mut Tx, notification: &Notification) -> Result<(), DbError> {
    let (kind, room_id, row_key, user_id, sender_id, body) = match &notification.subject {
        Subject::Message { room_id, row_key } => (0_i64, Some(*room_id), Some(*row_key), None, None, None),
        Subject::Reminder { user_id, room_id, text } => (1, Some(*room_id), None, Some(*user_id), None, Some(text)),
        Subject::FriendRequest { user_id, sender_id } => (2, None, None, Some(*user_id), Some(*sender_id), None),
    };
    tx.query(
        "insert into notification (notification_id, kind, room_id, tick, user_id, sender_id, body, due_at, created_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $8) on conflict (notification_id) do nothing",
    )
    .bind(notification.id)
    .bind(kind)
    .bind(room_id)
    .bind(row_key)
    .bind(user_id)
    .bind(sender_id)
    .bind(body.map(String::as_str))
    .bind(notification.created_at)
    .execute()
    .await?;
    Ok(())
}

/// Takes notifications that are due, oldest first.
pub(crate) async fn take(db: &Db, now: Timestamp, limit: usize) -> Result<Vec<Notification>, DbError> {
    const COLUMNS: &str = "notification_id, kind, room_id, tick, user_id, sender_id, body, tries, created_at";
    let due = "from notification where dead_at is null and due_at <= $1 order by due_at, notification_id limit $2";
    let limit = u64::try_from(limit).unwrap_or(u64::MAX);
    let rows: Vec<EventRow> = if db.is_sqlite() {
        let sql = format!("select {COLUMNS} {due}");
        db.read(AssertSqlSafe(sql)).bind(now).bind(limit).all().await?
    } else {
        let sql = format!(
            "update notification set due_at = $3 where notification_id in (select notification_id {due} \
             for update skip locked) returning {COLUMNS}"
        );
        let until = now.plus_millis(LEASE_MS);
        db.write(AssertSqlSafe(sql)).bind(now).bind(limit).bind(until).all().await?
    };
    let mut taken: Vec<_> = rows.into_iter().filter_map(EventRow::into_notification).collect();
    taken.sort_unstable_by_key(|notification| (notification.created_at, notification.id));
    Ok(taken)
}

/// Takes deliveries that are due, but for those that this process works on already.
pub(crate) async fn take_deliveries(
    db: &Db,
    now: Timestamp,
    limit: usize,
    but: impl Fn(Uuid) -> bool,
    busy: usize,
) -> Result<Vec<Delivery>, DbError> {
    #[derive(sqlx::FromRow)]
    struct DeliveryRow {
        delivery_id: Uuid,
        subscription_id: Uuid,
        endpoint: String,
        p256dh: Vec<u8>,
        auth: Vec<u8>,
        payload: String,
        topic: String,
        is_urgent: bool,
        tries: i64,
    }
    const COLUMNS: &str = "d.delivery_id, d.subscription_id, p.endpoint, p.p256dh, p.auth, d.payload, d.topic, \
        d.is_urgent, d.tries";
    let rows: Vec<DeliveryRow> = if db.is_sqlite() {
        let sql = format!(
            "select {COLUMNS} from push_delivery d join push_subscription p on p.subscription_id = d.subscription_id \
             where d.dead_at is null and d.due_at <= $1 order by d.due_at, d.delivery_id limit $2"
        );
        let limit = u64::try_from(limit + busy).unwrap_or(u64::MAX);
        db.read(AssertSqlSafe(sql)).bind(now).bind(limit).all().await?
    } else {
        let sql = format!(
            "update push_delivery d set due_at = $3 from push_subscription p where p.subscription_id = d.subscription_id \
             and d.delivery_id in (select delivery_id from push_delivery where dead_at is null and due_at <= $1 \
             order by due_at, delivery_id limit $2 for update skip locked) returning {COLUMNS}"
        );
        let (limit, until) = (u64::try_from(limit).unwrap_or(u64::MAX), now.plus_millis(LEASE_MS));
        db.write(AssertSqlSafe(sql)).bind(now).bind(limit).bind(until).all().await?
    };
    let delivery = |row: DeliveryRow| Delivery {
        id: row.delivery_id,
        subscription_id: row.subscription_id,
        target: Target { endpoint: row.endpoint, p256dh: row.p256dh, auth: row.auth },
        payload: row.payload,
        topic: row.topic,
        is_urgent: row.is_urgent,
        tries: u32::try_from(row.tries).unwrap_or(u32::MAX),
    };
    Ok(rows.into_iter().filter(|row| !but(row.delivery_id)).take(limit).map(delivery).collect())
}

/// When the next notification is due.
pub(crate) async fn next_due(db: &Db) -> Result<Option<Timestamp>, StoreError> {
    let sql = "select min(due_at) from notification where dead_at is null";
    let (due,): (Option<i64>,) = db.read(sql).one().await?;
    Ok(due.map(Timestamp::from_millis))
}

/// When the next delivery after `now` is due.
pub(crate) async fn next_delivery_due(db: &Db, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
    let sql = "select min(due_at) from push_delivery where dead_at is null and due_at > $1";
    let (due,): (Option<i64>,) = db.read(sql).bind(now).one().await?;
    Ok(due.map(Timestamp::from_millis))
}

/// What became of notifications: those carried go, together with the noting of the deliveries that they came to.
pub(crate) async fn settle(
    db: &Db,
    carried: &[Uuid],
    deliveries: &[NewDelivery],
    retries: &[Retry],
    now: Timestamp,
) -> Result<(), DbError> {
    let mut tx = db.begin_late().await?;
    insert(&mut tx, deliveries, now).await?;
    for carried in carried.chunks(CHUNK) {
        let sql = format!("delete from notification where notification_id in {}", list(1, carried.len()));
        tx.query(AssertSqlSafe(sql)).bind_list(carried).execute().await?;
    }
    retry(&mut tx, ("notification", "notification_id"), retries, now).await?;
    tx.commit().await
}

async fn insert(tx: &mut Tx, deliveries: &[NewDelivery], now: Timestamp) -> Result<(), DbError> {
    // An address that ended meanwhile is left out.
    let sql = "insert into push_delivery (delivery_id, notification_id, subscription_id, payload, topic, is_urgent, \
        due_at, created_at) select $1, $2, p.subscription_id, $4, $5, $6, $7, $7 from push_subscription p \
        where p.subscription_id = $3 on conflict (subscription_id, notification_id) do nothing";
    tx.each(sql, deliveries, |query, delivery| {
        query
            .bind(Uuid::now_v7())
            .bind(delivery.notification_id)
            .bind(delivery.subscription_id)
            .bind(&delivery.payload)
            .bind(&delivery.topic)
            .bind(delivery.is_urgent)
            .bind(now)
    })
    .await
}

/// What became of deliveries: those that arrived go; with an address that has ended goes all that is for it.
pub(crate) async fn settle_deliveries(
    db: &Db,
    arrived: &[Uuid],
    ended: &[Uuid],
    retries: &[Retry],
    now: Timestamp,
) -> Result<(), DbError> {
    let mut tx = db.begin().await?;
    for arrived in arrived.chunks(CHUNK) {
        let sql = format!("delete from push_delivery where delivery_id in {}", list(1, arrived.len()));
        tx.query(AssertSqlSafe(sql)).bind_list(arrived).execute().await?;
    }
    for ended in ended.chunks(CHUNK) {
        let sql = format!("delete from push_subscription where subscription_id in {}", list(1, ended.len()));
        tx.query(AssertSqlSafe(sql)).bind_list(ended).execute().await?;
    }
    retry(&mut tx, ("push_delivery", "delivery_id"), retries, now).await?;
    tx.commit().await
}

async fn retry(tx: &mut Tx, (table, id): (&str, &str), retries: &[Retry], now: Timestamp) -> Result<(), DbError> {
    let sql =
        format!("update {table} set tries = tries + 1, last_error = $2, due_at = $3, dead_at = $4 where {id} = $1");
    for retry in retries {
        tx.query(AssertSqlSafe(sql.clone()))
            .bind(retry.id)
            .bind(&retry.reason)
            .bind(retry.due_at)
            .bind(retry.is_dead.then_some(now))
            .execute()
            .await?;
    }
    Ok(())
}

/// Something that was given up on.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub(crate) struct DeadLetter {
    pub(crate) id: Uuid,
    /// What it was to be.
    pub(crate) what: String,
    /// Where it was to go.
    pub(crate) place: String,
    pub(crate) tries: i64,
    pub(crate) last_error: Option<String>,
    pub(crate) dead_at: i64,
}

/// What was given up on, oldest first.
pub(crate) async fn dead_letters(db: &Db, limit: u64) -> Result<Vec<DeadLetter>, DbError> {
    let pushes = "select d.delivery_id as id, 'push' as what, p.endpoint as place, d.tries, d.last_error, d.dead_at \
        from push_delivery d join push_subscription p on p.subscription_id = d.subscription_id \
        where d.dead_at is not null order by d.dead_at, d.delivery_id limit $1";
    let mut letters: Vec<DeadLetter> = db.read(pushes).bind(limit).all().await?;
    let events = "select notification_id as id, cast(kind as text) as what, '' as place, tries, last_error, dead_at \
        from notification where dead_at is not null order by dead_at, notification_id limit $1";
    let events: Vec<DeadLetter> = db.read(events).bind(limit).all().await?;
    letters.extend(events.into_iter().map(|letter| {
        let kind = letter.what.parse().ok().and_then(|kind: usize| KINDS.get(kind));
        DeadLetter { what: kind.map_or(letter.what, |kind| (*kind).to_owned()), ..letter }
    }));
    letters.sort_unstable_by_key(|letter| (letter.dead_at, letter.id));
    letters.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(letters)
}

/// Whether dead letters are to be tried again or thrown away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Replay,
    Drop,
}

/// Acts on dead letters, or on all of them; how many there were.
pub(crate) async fn act_on_dead(db: &Db, ids: Option<&[Uuid]>, fate: Fate, now: Timestamp) -> Result<u64, DbError> {
    let mut tx = db.begin().await?;
    let mut count = 0;
    for (table, id) in [("push_delivery", "delivery_id"), ("notification", "notification_id")] {
        let act = match fate {
            Fate::Replay => format!("update {table} set dead_at = null, tries = 0, due_at = $1"),
            Fate::Drop => format!("delete from {table}"),
        };
        let chunks: Vec<Option<&[Uuid]>> = ids.map_or(vec![None], |ids| ids.chunks(CHUNK).map(Some).collect());
        for ids in chunks {
            let only = ids.map_or(String::new(), |ids| format!("and {id} in {}", list(2, ids.len())));
            let sql = format!("{act} where dead_at <= $1 {only}");
            let query = tx.query(AssertSqlSafe(sql)).bind(now).bind_list(ids.unwrap_or_default());
            count += query.execute().await?;
        }
    }
    tx.commit().await?;
    Ok(count)
}

/// Forgets what has been kept long enough.
pub(crate) async fn forget_old(db: &Db, now: Timestamp) -> Result<(), DbError> {
    for sql in ["delete from push_delivery where dead_at < $1", "delete from notification where dead_at < $1"] {
        db.write(sql).bind(now.plus_millis(-DEAD_KEPT_MS)).execute().await?;
    }
    Ok(())
}
