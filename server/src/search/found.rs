//! The statement of a search, and the messages that it finds.

use std::{collections::HashMap, fmt::Write};

use parlour_protocol::{ProtocolError, RoomId, RowKey, UserId, limits::PAGE_BYTES, object::Message};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::{
    fill,
    filters::{Has, Wanted},
    words::Word,
};
use crate::{
    accounts::caller::Caller,
    app::AppState,
    error::store_error,
    store::{StoreError, db::Db},
};

/// What is looked for.
#[derive(Debug)]
pub(super) struct Query {
    pub(super) room_ids: Vec<RoomId>,
    /// Words that must all be there; none when any text will do.
    pub(super) words: Option<Vec<Word>>,
    pub(super) wanted: Wanted,
    pub(super) is_ascending: bool,
    pub(super) offset: usize,
    pub(super) limit: usize,
}

/// What was found, in order.
#[derive(Debug, Default)]
pub(super) struct Found {
    keys: Vec<(RoomId, RowKey)>,
    pub(super) has_more: bool,
    pub(super) total: u64,
}

#[derive(Debug)]
enum Value {
    Text(String),
    Id(Uuid),
    Tick(i64),
}

/// A condition with its values.
#[derive(Debug, Default)]
struct Condition {
    sql: String,
    values: Vec<Value>,
}

impl Condition {
    fn value(&mut self, value: Value) -> String {
        self.values.push(value);
        format!("${}", self.values.len())
    }

    /// Adds alternatives, of which one must hold.
    fn any(&mut self, alternatives: &[String]) {
        if !alternatives.is_empty() {
            write!(self.sql, " and ({})", alternatives.join(" or ")).expect("writing to a string cannot fail");
        }
    }

    fn ids(&mut self, column: &str, ids: impl Iterator<Item = Uuid>) {
        let places: Vec<String> = ids.map(|id| self.value(Value::Id(id))).collect();
        if !places.is_empty() {
            self.any(&[format!("{column} in ({})", places.join(","))]);
        }
    }
}

/// What of a room can be searched.
const IS_SEARCHED: &str = "type in ('Message', 'Poll', 'Webhook')";

impl Query {
    pub(super) async fn run(&self, db: &Db) -> Result<Found, StoreError> {
        if self.words.as_ref().is_some_and(Vec::is_empty) {
            return Ok(Found::default());
        }
        let mut condition = Condition::default();
        let source = match &self.words {
            None => "message m".to_owned(),
            Some(words) if db.is_sqlite() => {
                let place = condition.value(Value::Text(fts5(&self.room_ids, words)));
                write!(condition.sql, " and search_text match {place}").expect("writing to a string cannot fail");
                "search_text cross join search_entry e on e.entry_id = search_text.rowid \
                 cross join message m on m.room_id = e.room_id and m.tick = e.tick"
                    .to_owned()
            }
            Some(words) => {
                let place = condition.value(Value::Text(tsquery(&self.room_ids, words)));
                write!(condition.sql, " and e.document @@ {place}::text::tsquery")
                    .expect("writing to a string cannot fail");
                "search_entry e join message m on m.room_id = e.room_id and m.tick = e.tick".to_owned()
            }
        };
        condition.ids("m.room_id", self.room_ids.iter().map(|room_id| room_id.uuid()));
        self.filter(&mut condition);
        let sql = format!("from {source} where m.deleted_at is null and m.{IS_SEARCHED}{}", condition.sql);
        find(db, &sql, condition.values, self.is_ascending, self.offset, self.limit).await
    }

    fn filter(&self, condition: &mut Condition) {
        let Wanted { from, mentions, rooms: _, has, before, after, during, pinned } = &self.wanted;
        condition.ids("m.user_id", from.iter().map(|user_id| user_id.uuid()));
        let alternatives: Vec<String> = mentions
            .iter()
            .map(|user_id| format!("m.mentions like {}", condition.value(Value::Text(format!("%\"{user_id}\"%")))))
            .collect();
        condition.any(&alternatives);
        let of_type = |kind: &str| format!("m.files like '%\"mimetype\":\"{kind}/%'");
        let alternatives: Vec<String> = has
            .iter()
            .map(|has| match has {
                Has::Link => "m.link_preview is not null or (m.type <> 'Poll' and m.body like '%<a href=%')".to_owned(),
                Has::Embed => "m.link_preview is not null".to_owned(),
                Has::File => "m.files is not null".to_owned(),
                Has::Image => of_type("image"),
                Has::Video => of_type("video"),
                Has::Sound => of_type("audio"),
                Has::Forward => "m.is_forward".to_owned(),
            })
            .collect();
        condition.any(&alternatives);
        let alternatives: Vec<String> =
            before.iter().map(|tick| format!("m.tick < {}", condition.value(Value::Tick(*tick)))).collect();
        condition.any(&alternatives);
        let alternatives: Vec<String> =
            after.iter().map(|tick| format!("m.tick > {}", condition.value(Value::Tick(*tick)))).collect();
        condition.any(&alternatives);
        let alternatives: Vec<String> = during
            .iter()
            .map(|(start, end)| {
                let start = condition.value(Value::Tick(*start));
                format!("(m.tick >= {start} and m.tick < {})", condition.value(Value::Tick(*end)))
            })
            .collect();
        condition.any(&alternatives);
        let alternatives: Vec<String> =
            pinned.iter().map(|pinned| if *pinned { "m.is_pinned" } else { "not m.is_pinned" }.to_owned()).collect();
        condition.any(&alternatives);
    }
}

/// Words of alphanumeric characters alone, so that none has a meaning in the language of queries.
fn fts5(room_ids: &[RoomId], words: &[Word]) -> String {
    let rooms: Vec<String> = room_ids.iter().map(|room_id| format!("\"{}\"", room_id.uuid().simple())).collect();
    let words: Vec<String> = words.iter().map(|word| format!("\"{}\"", word.join(" "))).collect();
    format!("room : ({}) AND body : ({})", rooms.join(" OR "), words.join(" AND "))
}

fn tsquery(room_ids: &[RoomId], words: &[Word]) -> String {
    let rooms: Vec<String> = room_ids.iter().map(|room_id| format!("'{}'", room_id.uuid().simple())).collect();
    let phrase = |word: &Word| {
        let tokens: Vec<String> = word.iter().map(|token| format!("'{token}'")).collect();
        format!("({})", tokens.join(" <-> "))
    };
    let words: Vec<String> = words.iter().map(phrase).collect();
    format!("({}) & {}", rooms.join(" | "), words.join(" & "))
}

async fn find(
    db: &Db,
    sql: &str,
    values: Vec<Value>,
    is_ascending: bool,
    offset: usize,
    limit: usize,
) -> Result<Found, StoreError> {
    let direction = if is_ascending { "asc" } else { "desc" };
    let page =
        format!("select m.room_id, m.tick {sql} order by m.tick {direction} limit {} offset {offset}", limit + 1);
    let count = format!("select count(*) {sql}");
    let (mut page, mut count) = (db.read(AssertSqlSafe(page)), db.read(AssertSqlSafe(count)));
    for value in values {
        (page, count) = match value {
            Value::Text(text) => (page.bind(&text), count.bind(&text)),
            Value::Id(id) => (page.bind(id), count.bind(id)),
            Value::Tick(tick) => (page.bind(tick), count.bind(tick)),
        };
    }
    let rows: Vec<(Uuid, i64)> = page.all().await?;
    let (total,): (i64,) = count.one().await?;
    let has_more = rows.len() > limit;
    let keys = rows.into_iter().take(limit);
    let keys = keys.map(|(room_id, tick)| (RoomId::from_uuid(room_id), RowKey::from_tick(tick))).collect();
    Ok(Found { keys, has_more, total: u64::try_from(total).unwrap_or(0) })
}

/// The rooms of a user.
pub(super) async fn joined_rooms(db: &Db, user_id: UserId) -> Result<Vec<RoomId>, StoreError> {
    let rows: Vec<(Uuid,)> = db.read("select room_id from member where user_id = $1").bind(user_id).all().await?;
    Ok(rows.into_iter().map(|(room_id,)| RoomId::from_uuid(room_id)).collect())
}

/// A user's own messages of rooms.
pub(super) async fn sent(
    db: &Db,
    user_id: UserId,
    room_ids: &[RoomId],
    offset: usize,
    limit: usize,
) -> Result<Found, StoreError> {
    if room_ids.is_empty() {
        return Ok(Found::default());
    }
    let mut condition = Condition::default();
    condition.ids("e.user_id", std::iter::once(user_id.uuid()));
    condition.ids("e.room_id", room_ids.iter().map(|room_id| room_id.uuid()));
    let sql = format!(
        "from search_entry e join message m on m.room_id = e.room_id and m.tick = e.tick \
         where m.deleted_at is null{}",
        condition.sql
    );
    find(db, &sql, condition.values, false, offset, limit).await
}

/// The messages that were found, and whether the page was cut.
pub(super) async fn load(
    state: &AppState,
    caller: &Caller,
    found: &Found,
) -> Result<(Vec<Message>, bool), ProtocolError> {
    let mut of_rooms: HashMap<RoomId, Vec<RowKey>> = HashMap::new();
    for (room_id, row_key) in &found.keys {
        of_rooms.entry(*room_id).or_default().push(*row_key);
    }
    let mut messages = HashMap::with_capacity(found.keys.len());
    for (room_id, mut row_keys) in of_rooms {
        row_keys.sort_unstable();
        let mut loaded = state.store.get(room_id, &row_keys).await.map_err(store_error)?;
        fill(state, caller, &mut loaded).await?;
        messages.extend(loaded.into_iter().map(|message| ((room_id, message.row_key), message)));
    }
    let mut bytes = 0;
    let mut page = Vec::with_capacity(found.keys.len());
    for message in found.keys.iter().filter_map(|key| messages.remove(key)) {
        bytes += serde_json::to_vec(&message).map_or(0, |json| json.len() + 1);
        if bytes > PAGE_BYTES && !page.is_empty() {
            return Ok((page, true));
        }
        page.push(message);
    }
    Ok((page, false))
}
