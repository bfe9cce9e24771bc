//! `reaction.add`, `reaction.remove`, `reaction.list`.

use parlour_protocol::{
    EmojiId, ProtocolError,
    object::{Message, Page, Reaction},
    operation::{ReactionAdd, ReactionEntry, ReactionList, ReactionRemove, ReactionReply},
};
use unicode_segmentation::UnicodeSegmentation;

use super::append;
use crate::{
    accounts::caller::Caller,
    app::AppState,
    directory::reactions::{self, Reacted},
    error::store_error,
    page::PageOf,
    store::RoomChange,
};

/// Reacts to a message. A reaction that is there already stores nothing.
///
/// # Errors
/// `not_found`; `bad_request` when it is not an emoji, an unknown custom one, or one too many.
pub(crate) async fn add(state: &AppState, caller: &Caller, data: ReactionAdd) -> Result<ReactionReply, ProtocolError> {
    let emoji = data.emoji.as_str();
    let custom = parse(emoji)?;
    state.rooms.reader(data.room_id, caller.user_id).await?;
    if let Emoji::Custom(emoji_id) = custom
        && !reactions::has_custom_emoji(&state.db, data.room_id, emoji_id).await.map_err(store_error)?
    {
        return Err(match super::find(state, data.room_id, data.row_key).await {
            Ok(_) => ProtocolError::bad_field("/emoji", "the room has no such emoji"),
            Err(error) => error,
        });
    }
    let change = RoomChange::AddReaction { row_key: data.row_key, user_id: caller.user_id, emoji: emoji.to_owned() };
    reply(append(state, caller, data.room_id, change).await?.message.as_deref(), emoji)
}

/// Takes back a reaction. One that is not there stores nothing.
///
/// # Errors
/// `not_found`; `bad_request` when it is not an emoji.
pub(crate) async fn remove(
    state: &AppState,
    caller: &Caller,
    data: ReactionRemove,
) -> Result<ReactionReply, ProtocolError> {
    let emoji = data.emoji.as_str();
    parse(emoji)?;
    state.rooms.reader(data.room_id, caller.user_id).await?;
    let change = RoomChange::RemoveReaction { row_key: data.row_key, user_id: caller.user_id, emoji: emoji.to_owned() };
    reply(append(state, caller, data.room_id, change).await?.message.as_deref(), emoji)
}

/// Who reacted, first come first.
///
/// # Errors
/// `not_found`; `bad_request` for an unknown cursor.
pub(crate) async fn list(
    state: &AppState,
    caller: &Caller,
    data: ReactionList,
) -> Result<Page<ReactionEntry>, ProtocolError> {
    let ReactionList { room_id, row_key, emoji, cursor, limit } = data;
    let emoji = emoji.as_ref().map(|emoji| emoji.as_str());
    emoji.map(parse).transpose()?;
    state.rooms.reader(room_id, caller.user_id).await?;
    let scope = format!("reaction.list {room_id} {row_key} {}", emoji.unwrap_or_default());
    let page = PageOf::<u64>::new(scope, cursor.as_ref(), limit)?;
    super::find(state, room_id, row_key).await?;
    let after = page.after.unwrap_or(0);
    let found = reactions::page(&state.db, (room_id, row_key), emoji, after, page.to_read()).await;
    let Page { items, next_cursor, has_more } = page.of(found.map_err(store_error)?, |reacted| reacted.seq);
    let items = items.into_iter().map(|Reacted { emoji, user_id, created_at, .. }| ReactionEntry {
        emoji,
        user_id,
        created_at,
    });
    Ok(Page { items: items.collect(), next_cursor, has_more })
}

/// The present state of one reaction.
fn reply(message: Option<&Message>, emoji: &str) -> Result<ReactionReply, ProtocolError> {
    let message = message.ok_or_else(|| ProtocolError::not_found("no such message"))?;
    let none = || Reaction { emoji: emoji.to_owned(), count: 0, user_ids: Vec::new() };
    let reaction = message.reactions.iter().find(|reaction| reaction.emoji == emoji).cloned().unwrap_or_else(none);
    Ok(ReactionReply { reaction, rev: message.rev })
}

/// What a reaction can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Emoji {
    Unicode,
    Custom(EmojiId),
}

/// One grapheme cluster of an emoji, or `custom:` and an id.
fn parse(text: &str) -> Result<Emoji, ProtocolError> {
    if let Some(id) = text.strip_prefix("custom:") {
        let id = id.parse().map_err(|_| ProtocolError::bad_field("/emoji", "is no id of a custom emoji"))?;
        return Ok(Emoji::Custom(id));
    }
    if text.graphemes(true).count() == 1 && emojis::get(text).is_some() {
        return Ok(Emoji::Unicode);
    }
    Err(ProtocolError::bad_field("/emoji", "must be one emoji"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emoji_is_one_cluster() {
        for text in ["👍", "👍🏽", "❤️", "❤", "👩‍👩‍👧‍👦", "🇪🇺", "1️⃣", "🏴‍☠️"]
        {
            assert_eq!(parse(text).ok(), Some(Emoji::Unicode), "{text}");
        }
        for text in ["", "a", "1", "👍👍", "👍 ", ":+1:", "👍\u{200b}", "\u{200d}", "🏽🏽", "custom:", "custom:x"]
        {
            assert!(parse(text).is_err(), "{text:?}");
        }
        let id = EmojiId::new();
        assert_eq!(parse(&format!("custom:{id}")).ok(), Some(Emoji::Custom(id)));
    }
}
