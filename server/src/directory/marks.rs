//! What a reader did with messages: own reactions and votes.

use std::collections::{HashMap, HashSet};

use parlour_protocol::{
    OptionId, RowKey, UserId,
    object::{Message, Mine},
};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use crate::store::{
    StoreError,
    db::{Db, list},
};

/// Fills in `mine` of messages of one room. Most need no query: what is shown of few reactors and voters tells.
pub(crate) async fn fill(db: &Db, user_id: UserId, messages: &mut [Message]) -> Result<(), StoreError> {
    let crowded = crowded_reactions(db, user_id, messages).await?;
    let votes = hidden_votes(db, user_id, messages).await?;
    for message in messages {
        let row_key = message.row_key;
        let reactions = message.reactions.iter().filter(|reaction| {
            reaction.user_ids.contains(&user_id) || crowded.contains(&(row_key, reaction.emoji.clone()))
        });
        let reactions: Vec<String> = reactions.map(|reaction| reaction.emoji.clone()).collect();
        let shown = message.poll.as_ref().and_then(|poll| poll.votes.get(&user_id).copied());
        let option_id = shown.or_else(|| votes.get(&row_key).copied());
        if !reactions.is_empty() || option_id.is_some() {
            message.mine = Some(Mine { reactions, option_id });
        }
    }
    Ok(())
}

/// Own reactions among those that more people gave than are shown.
async fn crowded_reactions(
    db: &Db,
    user_id: UserId,
    messages: &[Message],
) -> Result<HashSet<(RowKey, String)>, StoreError> {
    let mut row_keys = Vec::new();
    let mut emoji = HashSet::new();
    for message in messages {
        let crowded = message.reactions.iter().filter(|reaction| reaction.count as usize > reaction.user_ids.len());
        let crowded: Vec<&str> = crowded.map(|reaction| reaction.emoji.as_str()).collect();
        if !crowded.is_empty() {
            row_keys.push(message.row_key);
        }
        emoji.extend(crowded);
    }
    let Some(room_id) = messages.first().map(|message| message.room_id).filter(|_| !row_keys.is_empty()) else {
        return Ok(HashSet::new());
    };
    let emoji: Vec<&str> = emoji.into_iter().collect();
    let sql = format!(
        "select tick, emoji from reaction where room_id = $1 and user_id = $2 and tick in {} and emoji in {}",
        list(3, row_keys.len()),
        list(3 + row_keys.len().next_power_of_two(), emoji.len())
    );
    let query = db.read(AssertSqlSafe(sql)).bind(room_id).bind(user_id).bind_list(&row_keys).bind_list(&emoji);
    let rows: Vec<(i64, String)> = query.all().await?;
    Ok(rows.into_iter().map(|(tick, emoji)| (RowKey::from_tick(tick), emoji)).collect())
}

/// Own votes in polls whose votes are too many to be shown.
async fn hidden_votes(db: &Db, user_id: UserId, messages: &[Message]) -> Result<HashMap<RowKey, OptionId>, StoreError> {
    let hidden = messages.iter().filter(|message| {
        message.poll.as_ref().is_some_and(|poll| {
            let voters: u32 = poll.options.iter().map(|option| option.count).sum();
            voters as usize > poll.votes.len()
        })
    });
    let row_keys: Vec<RowKey> = hidden.map(|message| message.row_key).collect();
    let Some(room_id) = messages.first().map(|message| message.room_id).filter(|_| !row_keys.is_empty()) else {
        return Ok(HashMap::new());
    };
    let sql = format!(
        "select tick, option_id from vote where room_id = $1 and user_id = $2 and tick in {}",
        list(3, row_keys.len())
    );
    let query = db.read(AssertSqlSafe(sql)).bind(room_id).bind(user_id).bind_list(&row_keys);
    let rows: Vec<(i64, Uuid)> = query.all().await?;
    Ok(rows.into_iter().map(|(tick, id)| (RowKey::from_tick(tick), OptionId::from_uuid(id))).collect())
}
