//! A group of changes in one transaction: what they need to know is read, each is decided in its order, and what
//! follows is written in as few statements as there are kinds of rows.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use parlour_protocol::{
    DurableEvent, FileId, JobId, MessageType, Nonce, RoomId, RowKey, Timestamp, UserId, event::MessageCreated,
    object::Message,
};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::{
    facts::Known,
    files::{self, Attached, FileFacts},
    jobs::{self, JOBS, PostedJob},
    message_change::{AUTHOR_FOLLOWS, Change, MENTIONS, MentionRow, OWN_FOLLOWS},
    notes::{self, Note},
    read,
    row::{COLUMNS, MessageRow, Stored, list_to_json, shows_nonce, signed, to_json, unsigned},
    statement::{Batch, Rows},
    writer::Queued,
};
use crate::{
    directory::room_changes,
    store::{
        Append, AppendError, Appended, LogEntry, NewMessage, Origin, RoomChange, StoreError,
        db::{Db, DbError, Tx},
    },
};

/// What a change came to.
pub(super) type Outcome = Result<Appended, AppendError>;

/// Whether nonces are looked up before. A nonce that was used is rare, and its row would be refused: then the group
/// runs again with all of them looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nonces {
    Trusted,
    LookedUp,
}

/// Why a change does not come about.
pub(super) enum Stop {
    /// It is refused; the rest of its group is not concerned.
    Refused(AppendError),
    /// A statement failed.
    Failed(DbError),
}

impl From<AppendError> for Stop {
    fn from(error: AppendError) -> Self {
        Self::Refused(error)
    }
}

impl From<DbError> for Stop {
    fn from(error: DbError) -> Self {
        Self::Failed(error)
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Failed(error.into())
    }
}

/// Decides and commits changes. `known` is right afterwards only when this succeeds.
pub(super) async fn commit(
    db: &Db,
    known: &mut Known,
    changes: &[Queued],
    nonces: Nonces,
    notes: bool,
) -> Result<Vec<Outcome>, DbError> {
    // Nobody else changes what is known.
    let tx = db.begin_late().await?;
    let (facts, writes) = (Facts::default(), Writes::default());
    let mut group = Group { tx, known, nonces, notes, facts, writes, has_written: false };
    let outcomes = group.run(changes).await?;
    let Group { mut tx, has_written, .. } = group;
    if has_written {
        if !db.is_sqlite() {
            tell_nodes(&mut tx, changes, &outcomes).await?;
        }
        tx.commit().await?;
    }
    Ok(outcomes)
}

/// Other nodes read anew what they remember of rooms whose members, roles or settings changed.
async fn tell_nodes(tx: &mut Tx, changes: &[Queued], outcomes: &[Outcome]) -> Result<(), DbError> {
    let mut rooms: Vec<RoomId> = Vec::new();
    for (queued, outcome) in changes.iter().zip(outcomes) {
        let Ok(appended) = outcome else { continue };
        let room_id = queued.append.room_id;
        if appended.entries.iter().any(|entry| room_changes::concerns(&entry.event)) && !rooms.contains(&room_id) {
            rooms.push(room_id);
        }
    }
    for room_id in rooms {
        room_changes::record(tx, room_id, None).await?;
    }
    Ok(())
}

type NonceKey = (RoomId, Option<UserId>, i64, Nonce);

/// What was read for the changes at hand.
#[derive(Default)]
pub(super) struct Facts {
    pub(super) messages: HashMap<(RoomId, RowKey), Stored>,
    nonces: HashMap<NonceKey, Stored>,
    /// Uploads that are to be attached.
    pub(super) files: HashMap<FileId, FileFacts>,
    /// Claims on jobs that are to be posted, as they stand.
    claims: HashMap<JobId, Uuid>,
    /// Sent in this very group.
    sent: HashMap<NonceKey, Arc<Message>>,
}

pub(super) struct Group<'a> {
    pub(super) tx: Tx,
    pub(super) known: &'a mut Known,
    nonces: Nonces,
    /// Whether somebody may have to be notified of messages.
    notes: bool,
    pub(super) facts: Facts,
    pub(super) writes: Writes,
    pub(super) has_written: bool,
}

impl Group<'_> {
    async fn run(&mut self, changes: &[Queued]) -> Result<Vec<Outcome>, DbError> {
        let mut outcomes = Vec::with_capacity(changes.len());
        self.known.load_rooms(&mut self.tx, changes.iter().map(|queued| queued.append.room_id)).await?;
        let mut rest = changes;
        while let Some(first) = rest.first() {
            let messages = rest.iter().take_while(|queued| is_of_message(&queued.append.change)).count();
            if messages == 0 {
                outcomes.push(settle(self.room_change(&first.append).await)?);
                self.flush().await?;
                rest = &rest[1..];
                continue;
            }
            let (batch, behind) = rest.split_at(messages);
            self.load(batch).await?;
            for queued in batch {
                let outcome = self.message_change(&queued.append).await;
                outcomes.push(settle(outcome)?);
            }
            self.flush().await?;
            rest = behind;
        }
        Ok(outcomes)
    }

    async fn load(&mut self, batch: &[Queued]) -> Result<(), DbError> {
        self.facts.messages.clear();
        self.facts.nonces.clear();
        self.facts.files.clear();
        self.facts.claims.clear();
        let authors = batch.iter().filter_map(|queued| author_of(&queued.append));
        self.known.load_members(&mut self.tx, authors).await?;
        let mut keys: HashSet<(RoomId, RowKey)> = HashSet::new();
        let mut nonces: Vec<NonceKey> = Vec::new();
        let mut file_ids: Vec<FileId> = Vec::new();
        let mut job_ids: Vec<JobId> = Vec::new();
        for Queued { append, .. } in batch {
            match &append.change {
                RoomChange::Send(new) => {
                    keys.extend(new.reply_row_key.map(|row_key| (append.room_id, row_key)));
                    file_ids.extend(new.files.iter().map(|file| file.file_id));
                    job_ids.extend(new.job.map(|job| job.job_id));
                    if self.nonces == Nonces::LookedUp {
                        nonces.extend(nonce_key(append.room_id, new));
                    }
                }
                RoomChange::Purge(purge) => {
                    keys.extend(purge.row_keys.iter().map(|row_key| (append.room_id, *row_key)));
                }
                change => keys.extend(change.row_key().map(|row_key| (append.room_id, row_key))),
            }
        }
        for (room_id, row_key) in keys {
            let sql = format!("select {COLUMNS} from message m where m.room_id = $1 and m.tick = $2");
            let row: Option<MessageRow> =
                self.tx.query(AssertSqlSafe(sql)).bind(room_id).bind(row_key).optional().await?;
            if let Some(row) = row {
                self.facts.messages.insert((room_id, row_key), row.try_into()?);
            }
        }
        if !file_ids.is_empty() {
            self.facts.files = files::load(&mut self.tx, &file_ids).await?;
        }
        if !job_ids.is_empty() {
            self.facts.claims = jobs::claims(&mut self.tx, &job_ids).await?;
        }
        for key in nonces {
            self.load_nonce(key).await?;
        }
        Ok(())
    }

    async fn load_nonce(&mut self, key: NonceKey) -> Result<(), DbError> {
        let (room_id, Some(author), origin, nonce) = &key else { return Ok(()) };
        let sql = format!(
            "select {COLUMNS} from message m \
             where m.room_id = $1 and m.user_id = $2 and m.origin = $3 and m.nonce = $4"
        );
        let query = self.tx.query(AssertSqlSafe(sql)).bind(*room_id).bind(*author).bind(*origin).bind(nonce);
        if let Some(row) = query.optional::<MessageRow>().await? {
            self.facts.nonces.insert(key, row.try_into()?);
        }
        Ok(())
    }

    async fn message_change(&mut self, append: &Append) -> Result<Appended, Stop> {
        match &append.change {
            RoomChange::Send(new) => {
                if let Some(first) = self.first_result(append.room_id, new) {
                    return Ok(first?);
                }
                match self.send(append, new) {
                    Ok(appended) => Ok(appended),
                    // A repeat answers its first result whatever stands in the way today.
                    Err(refusal) => match self.stored_before(append.room_id, new).await? {
                        Some(first) => Ok(first?),
                        None => Err(refusal.into()),
                    },
                }
            }
            _ => self.change_of_message(append).await,
        }
    }

    /// What a nonce of this group, or one that was looked up, answered first.
    fn first_result(&self, room_id: RoomId, new: &NewMessage) -> Option<Outcome> {
        let key = nonce_key(room_id, new)?;
        if let Some(message) = self.facts.sent.get(&key) {
            return Some(Ok(Appended { entries: Vec::new(), rev: message.rev, message: Some(Arc::clone(message)) }));
        }
        let Stored { message, is_deleted } = self.facts.nonces.get(&key)?;
        if *is_deleted {
            return Some(Err(AppendError::DeletedSince(message.row_key)));
        }
        let message = Arc::new(message.clone());
        Some(Ok(Appended { entries: Vec::new(), rev: message.rev, message: Some(message) }))
    }

    /// The first result of a nonce that was not looked up yet.
    async fn stored_before(&mut self, room_id: RoomId, new: &NewMessage) -> Result<Option<Outcome>, DbError> {
        if self.nonces == Nonces::LookedUp {
            return Ok(None);
        }
        let Some(key) = nonce_key(room_id, new) else { return Ok(None) };
        self.load_nonce(key).await?;
        Ok(self.first_result(room_id, new))
    }

    fn send(&mut self, append: &Append, new: &NewMessage) -> Outcome {
        let room_id = append.room_id;
        let room = self.known.rooms.get_mut(&room_id).filter(|room| !room.is_deleted).ok_or(AppendError::NoAccess)?;
        let tick = append.now.max(room.tick + 1);
        let at = tick / 1_000_000;
        if let Some(job) = new.job
            && self.facts.claims.get(&job.job_id) != Some(&job.mark)
        {
            return Err(AppendError::ClaimLost);
        }
        let author = author_of(append);
        if let Some(author) = author {
            let clock = self.known.members.get_mut(&author).ok_or(AppendError::NoAccess)?;
            check_slowmode(new.slowmode_ms, *clock, at)?;
            files::check(&self.facts.files, author, &new.files, at)?;
            if let Some(target) = new.reply_row_key {
                let root = check_live(self.facts.messages.get(&(room_id, target)))?;
                self.writes.follow(author, root, at);
            }
            *clock = Some(at);
            self.writes.clocks.insert(author, at);
        }
        room.tick = tick;
        room.seq += 1;
        if new.message_type.counts_as_unread() {
            room.active_tick = tick;
        }
        let message = Arc::new(new_message(room_id, new, tick, unsigned(room.seq)));
        self.writes.mentions.extend(MentionRow::all(&message, &new.mentions));
        if !new.files.is_empty() {
            self.writes.attached.extend(files::take(&mut self.facts.files, &new.files, tick));
        }
        if let Some(job) = new.job {
            self.facts.claims.remove(&job.job_id);
            self.writes.jobs.push(PostedJob { job_id: job.job_id, tick });
        }
        self.writes.heads.insert(room_id);
        if let Some(key) = nonce_key(room_id, new) {
            self.facts.sent.insert(key, Arc::clone(&message));
        }
        let event = MessageCreated { message: Message::clone(&message) };
        let entry = LogEntry { seq: message.seq, event: Arc::new(DurableEvent::MessageCreated(Box::new(event))) };
        self.writes.messages.push(NewRow {
            message: Arc::clone(&message),
            origin: new.origin as i64,
            nonce: new.nonce.clone(),
        });
        Ok(Appended { entries: vec![entry], rev: 1, message: Some(message) })
    }

    pub(super) fn check_room(&self, room_id: RoomId) -> Result<(), AppendError> {
        self.known.rooms.get(&room_id).filter(|room| !room.is_deleted).map(|_| ()).ok_or(AppendError::NoAccess)
    }

    /// Adds an entry to the room's log.
    pub(super) fn log(
        &mut self,
        append: &Append,
        event: DurableEvent,
        row_key: Option<RowKey>,
    ) -> Result<LogEntry, AppendError> {
        let room_id = append.room_id;
        let room = self.known.rooms.get_mut(&room_id).ok_or(AppendError::NoAccess)?;
        room.seq += 1;
        self.writes.heads.insert(room_id);
        let seq = unsigned(room.seq);
        let payload = row_key.is_none().then(|| read::encode(room_id, seq, &event));
        self.writes.log.push(LogRow { room_id, seq, row_key, payload, at: millis(append.now) });
        Ok(LogEntry { seq, event: Arc::new(event) })
    }

    /// Adds a line that the server writes.
    pub(super) fn line(
        &mut self,
        append: &Append,
        message_type: MessageType,
        user_id: UserId,
        body: String,
    ) -> Result<LogEntry, AppendError> {
        self.line_about(append, message_type, user_id, body, None)
    }

    /// The same about a message.
    pub(super) fn line_about(
        &mut self,
        append: &Append,
        message_type: MessageType,
        user_id: UserId,
        body: String,
        about: Option<RowKey>,
    ) -> Result<LogEntry, AppendError> {
        let new = NewMessage {
            message_type,
            user_id: Some(user_id),
            app_user: None,
            origin: Origin::System,
            nonce: None,
            body,
            files: Vec::new(),
            mentions: Vec::new(),
            reply_row_key: about,
            link_preview: None,
            poll: None,
            is_forward: false,
            slowmode_ms: None,
            job: None,
        };
        let line = Append {
            room_id: append.room_id,
            now: append.now,
            cause: None,
            generation: append.generation,
            change: RoomChange::Send(Box::new(new.clone())),
        };
        let mut entries = self.send(&line, &new)?.entries;
        entries.pop().ok_or(AppendError::NoAccess)
    }

    /// Writes what was decided.
    async fn flush(&mut self) -> Result<(), DbError> {
        let writes = std::mem::take(&mut self.writes);
        self.has_written |= !writes.heads.is_empty();
        let notes = if self.notes { notes::of(writes.messages.iter().map(|row| &*row.message)) } else { Vec::new() };
        writes.write(&mut self.tx, self.known, &notes).await
    }
}

fn settle(outcome: Result<Appended, Stop>) -> Result<Outcome, DbError> {
    match outcome {
        Ok(appended) => Ok(Ok(appended)),
        Err(Stop::Refused(AppendError::Store(error))) => Err(error.into()),
        Err(Stop::Refused(refusal)) => Ok(Err(refusal)),
        Err(Stop::Failed(error)) => Err(error),
    }
}

fn is_of_message(change: &RoomChange) -> bool {
    matches!(change, RoomChange::Send(_) | RoomChange::Purge(_)) || change.row_key().is_some()
}

/// The member who sends; none for the server and for webhooks.
fn author_of(append: &Append) -> Option<(RoomId, UserId)> {
    let RoomChange::Send(new) = &append.change else { return None };
    new.user_id.filter(|_| new.origin.is_by_member()).map(|user_id| (append.room_id, user_id))
}

fn nonce_key(room_id: RoomId, new: &NewMessage) -> Option<NonceKey> {
    new.nonce.clone().map(|nonce| (room_id, new.nonce_author(), new.origin as i64, nonce))
}

pub(super) fn millis(nanos: i64) -> Timestamp {
    Timestamp::from_millis(nanos / 1_000_000)
}

pub(super) fn check_slowmode(slowmode_ms: Option<u64>, clock: Option<i64>, now: i64) -> Result<(), AppendError> {
    let (Some(slowmode), Some(last)) = (slowmode_ms, clock) else { return Ok(()) };
    let next = last.saturating_add(signed(slowmode));
    match u64::try_from(next - now) {
        Ok(retry_after_ms) if retry_after_ms > 0 => Err(AppendError::Slowmode { retry_after_ms }),
        _ => Ok(()),
    }
}

fn check_live(target: Option<&Stored>) -> Result<&Message, AppendError> {
    target
        .filter(|stored| !stored.is_deleted)
        .map(|stored| &stored.message)
        .ok_or(AppendError::NotFound("message to reply to"))
}

fn new_message(room_id: RoomId, new: &NewMessage, tick: i64, seq: u64) -> Message {
    let row_key = RowKey::from_tick(tick);
    let created_at = row_key.created_at();
    Message {
        room_id,
        row_key,
        seq,
        rev: 1,
        body_rev: 1,
        r#type: new.message_type,
        created_at,
        updated_at: created_at,
        user_id: new.user_id,
        app_user: new.app_user.clone(),
        message: new.body.clone(),
        files: new.files.clone(),
        mentions: new.mentions.iter().map(ToString::to_string).collect(),
        reply_row_key: new.reply_row_key,
        link_preview: new.link_preview.clone(),
        reactions: Vec::new(),
        poll: new.poll.clone(),
        reply_count: 0,
        is_edited: false,
        is_forward: new.is_forward,
        is_pinned: false,
        nonce: new.nonce.clone().filter(|_| shows_nonce(new.origin as i64)),
        mine: None,
    }
}

/// Rows to be written.
#[derive(Default)]
pub(super) struct Writes {
    messages: Vec<NewRow>,
    pub(super) changes: Vec<Change>,
    pub(super) mentions: Vec<MentionRow>,
    attached: Vec<Attached>,
    jobs: Vec<PostedJob>,
    /// Threads that who answers follows from now on, with the time.
    pub(super) own_follows: HashMap<(RoomId, UserId, RowKey), i64>,
    /// Threads that the authors of what is answered follow, unless they decided otherwise before.
    pub(super) author_follows: HashMap<(RoomId, UserId, RowKey), i64>,
    log: Vec<LogRow>,
    heads: HashSet<RoomId>,
    clocks: HashMap<(RoomId, UserId), i64>,
}

struct NewRow {
    message: Arc<Message>,
    origin: i64,
    nonce: Option<Nonce>,
}

struct LogRow {
    room_id: RoomId,
    seq: u64,
    row_key: Option<RowKey>,
    payload: Option<String>,
    at: Timestamp,
}

static PLAIN_MESSAGES: Rows = Rows {
    names: "room_id, tick, seq, user_id, nonce, body, mentions, reply_tick",
    statement: "insert into message (room_id, tick, seq, rev, body_rev, type, user_id, origin, nonce, body, mentions, \
         reply_tick, is_edited, is_forward, is_pinned) \
         select v.room_id, v.tick, v.seq, 1, 1, 'Message', v.user_id, 0, v.nonce, v.body, v.mentions, v.reply_tick, \
         false, false, false from v where v.room_id is not null",
    for_one: Some(
        "insert or fail into message (room_id, tick, seq, rev, body_rev, type, user_id, origin, nonce, body, mentions, \
         reply_tick, is_edited, is_forward, is_pinned) \
         values (?1, ?2, ?3, 1, 1, 'Message', ?4, 0, ?5, ?6, ?7, ?8, false, false, false)",
    ),
};

static MESSAGES: Rows = Rows {
    names: "room_id, tick, seq, type, user_id, app_user, origin, nonce, body, files, mentions, reply_tick, link_preview, \
         poll, is_forward",
    statement: "insert into message (room_id, tick, seq, rev, body_rev, type, user_id, app_user, origin, nonce, body, files, \
         mentions, reply_tick, link_preview, poll, is_edited, is_forward, is_pinned) \
         select v.room_id, v.tick, v.seq, 1, 1, v.type, v.user_id, v.app_user, v.origin, v.nonce, v.body, v.files, \
         v.mentions, v.reply_tick, v.link_preview, v.poll, false, v.is_forward, false from v \
         where v.room_id is not null",
    for_one: None,
};

static LOG: Rows = Rows {
    names: "room_id, seq, tick, payload, created_at",
    statement: "insert into room_log (room_id, seq, tick, payload, created_at) \
         select v.room_id, v.seq, v.tick, v.payload, v.created_at from v where v.room_id is not null",
    for_one: Some("insert or fail into room_log (room_id, seq, tick, payload, created_at) values (?1, ?2, ?3, ?4, ?5)"),
};

static HEADS: Rows = Rows {
    names: "room_id, seq, tick, active_tick",
    statement: "update room_head set seq = v.seq, tick = v.tick, active_tick = v.active_tick from v \
         where room_head.room_id = v.room_id",
    for_one: Some("update or fail room_head set seq = ?2, tick = ?3, active_tick = ?4 where room_id = ?1"),
};

static CLOCKS: Rows = Rows {
    names: "room_id, user_id, at",
    statement: "update member set last_message_at = v.at, \
         last_read_at = case when member.last_read_at > v.at then member.last_read_at else v.at end from v \
         where member.room_id = v.room_id and member.user_id = v.user_id",
    for_one: Some(
        "update or fail member set last_message_at = ?3, \
         last_read_at = case when last_read_at > ?3 then last_read_at else ?3 end \
         where room_id = ?1 and user_id = ?2",
    ),
};

impl Writes {
    async fn write(self, tx: &mut Tx, known: &Known, notes: &[Note]) -> Result<(), DbError> {
        let (plain, other): (Vec<NewRow>, Vec<NewRow>) = self.messages.into_iter().partition(NewRow::is_plain);
        for change in &self.changes {
            change.write(tx).await?;
        }
        files::write(tx, &self.attached).await?;
        let mut batch = Batch::new(tx);
        batch = batch
            .add(&PLAIN_MESSAGES, &plain, |query, row| {
                let message = row.map(|row| &*row.message);
                query
                    .bind(message.map(|message| message.room_id))
                    .bind(message.map(|message| message.row_key))
                    .bind(message.map(|message| message.seq))
                    .bind(message.and_then(|message| message.user_id))
                    .bind(row.and_then(|row| row.nonce.as_ref()))
                    .bind(message.map(|message| &message.message))
                    .bind(message.and_then(|message| list_to_json(&message.mentions)))
                    .bind(message.and_then(|message| message.reply_row_key))
            })
            .await?;
        batch = batch
            .add(&MESSAGES, &other, |query, row| {
                let message = row.map(|row| &*row.message);
                query
                    .bind(message.map(|message| message.room_id))
                    .bind(message.map(|message| message.row_key))
                    .bind(message.map(|message| message.seq))
                    .bind(message.map(|message| message.r#type.as_str()))
                    .bind(message.and_then(|message| message.user_id.or(row.and_then(|row| row.app_author()))))
                    .bind(message.and_then(|message| message.app_user.as_ref().map(to_json)))
                    .bind(row.map(|row| row.origin))
                    .bind(row.and_then(|row| row.nonce.as_ref()))
                    .bind(message.map(|message| &message.message))
                    .bind(message.and_then(|message| list_to_json(&message.files)))
                    .bind(message.and_then(|message| list_to_json(&message.mentions)))
                    .bind(message.and_then(|message| message.reply_row_key))
                    .bind(message.and_then(|message| message.link_preview.as_ref().map(to_json)))
                    .bind(message.and_then(|message| message.poll.as_ref().map(to_json)))
                    .bind(message.map(|message| message.is_forward))
            })
            .await?;
        batch = batch
            .add(&LOG, &self.log, |query, row| {
                query
                    .bind(row.map(|row| row.room_id))
                    .bind(row.map(|row| row.seq))
                    .bind(row.and_then(|row| row.row_key))
                    .bind(row.and_then(|row| row.payload.as_ref()))
                    .bind(row.map(|row| row.at))
            })
            .await?;
        let heads: Vec<_> =
            self.heads.iter().filter_map(|room_id| known.rooms.get(room_id).map(|room| (*room_id, *room))).collect();
        batch = batch
            .add(&HEADS, &heads, |query, row| {
                query
                    .bind(row.map(|(room_id, _)| *room_id))
                    .bind(row.map(|(_, room)| room.seq))
                    .bind(row.map(|(_, room)| room.tick))
                    .bind(row.map(|(_, room)| room.active_tick))
            })
            .await?;
        let clocks: Vec<_> = self.clocks.into_iter().collect();
        batch = batch
            .add(&CLOCKS, &clocks, |query, row| {
                query
                    .bind(row.map(|((room_id, _), _)| *room_id))
                    .bind(row.map(|((_, user_id), _)| *user_id))
                    .bind(row.map(|(_, at)| *at))
            })
            .await?;
        batch = batch
            .add(&MENTIONS, &self.mentions, |query, row| {
                query
                    .bind(row.map(|row| row.room_id))
                    .bind(row.map(|row| row.kind))
                    .bind(row.map(|row| row.target))
                    .bind(row.map(|row| row.row_key))
                    .bind(row.and_then(|row| row.author))
            })
            .await?;
        batch = batch
            .add(&JOBS, &self.jobs, |query, row| {
                query
                    .bind(row.map(|row| row.job_id))
                    .bind(row.map(|row| row.tick))
                    .bind(row.map(|row| row.tick / 1_000_000))
            })
            .await?;
        for (rows, follows) in [(&OWN_FOLLOWS, self.own_follows), (&AUTHOR_FOLLOWS, self.author_follows)] {
            let follows: Vec<_> = follows.into_iter().collect();
            batch = batch
                .add(rows, &follows, |query, row| {
                    query
                        .bind(row.map(|((room_id, ..), _)| *room_id))
                        .bind(row.map(|((_, user_id, _), _)| *user_id))
                        .bind(row.map(|((.., row_key), _)| *row_key))
                        .bind(row.map(|(_, at)| *at))
                })
                .await?;
        }
        notes::add(batch, notes).await?.run().await
    }
}

impl NewRow {
    /// The sender of a webhook's message.
    fn app_author(&self) -> Option<UserId> {
        self.message.app_user.as_ref().map(|app_user| UserId::from_uuid(app_user.id.uuid()))
    }

    /// Whether it holds nothing but what most messages hold.
    fn is_plain(&self) -> bool {
        let message = &*self.message;
        self.origin == Origin::Live as i64
            && message.r#type == MessageType::Message
            && message.files.is_empty()
            && message.app_user.is_none()
            && message.link_preview.is_none()
            && message.poll.is_none()
            && !message.is_forward
    }
}
