//! A room's custom emoji: names are unique, and an upload becomes one in the commit that makes it.

use parlour_protocol::{
    DurableEvent, EmojiId, FileId, Nonce,
    event::{EmojiCreated, EmojiDeleted, EmojiDelta, EmojiUpdated},
    object::CustomEmoji,
};

use super::{
    files,
    group::{Group, Stop, millis},
    row::to_json,
};
use crate::store::{Append, AppendError, EmojiChange, LogEntry};

impl Group<'_> {
    pub(super) async fn change_emoji(&mut self, append: &Append, change: &EmojiChange) -> Result<Vec<LogEntry>, Stop> {
        match change {
            EmojiChange::Create { emoji, most, nonce } => self.create_emoji(append, emoji, *most, nonce.as_ref()).await,
            EmojiChange::Rename { emoji_id, name } => self.rename_emoji(append, *emoji_id, name).await,
            EmojiChange::Delete { emoji_id } => self.delete_emoji(append, *emoji_id).await,
        }
    }

    async fn create_emoji(
        &mut self,
        append: &Append,
        emoji: &CustomEmoji,
        most: u32,
        nonce: Option<&Nonce>,
    ) -> Result<Vec<LogEntry>, Stop> {
        let (room_id, now) = (append.room_id, millis(append.now));
        let sql = "select count(*) from emoji where room_id = $1";
        let (count,): (i64,) = self.tx.query(sql).bind(room_id).one().await?;
        if count >= i64::from(most) {
            return Err(AppendError::Unfit("the room has as many emoji as it can have").into());
        }
        self.check_emoji_name(append, &emoji.name).await?;
        let taken = self
            .tx
            .query(
                "update file set expires_at = null where file_id = $1 and room_id = $2 and kind = 'Emoji' \
                 and expires_at > $3",
            )
            .bind(emoji.emoji_id)
            .bind(room_id)
            .bind(now)
            .execute()
            .await?;
        if taken == 0 {
            return Err(AppendError::NotFound("upload").into());
        }
        self.tx
            .query(
                "insert into emoji (emoji_id, room_id, user_id, name, mimetype, created_at) \
                 values ($1, $2, $3, $4, $5, $6)",
            )
            .bind(emoji.emoji_id)
            .bind(room_id)
            .bind(emoji.user_id)
            .bind(&emoji.name)
            .bind(&emoji.mimetype)
            .bind(emoji.created_at)
            .execute()
            .await?;
        if let Some(nonce) = nonce {
            self.tx
                .query(
                    "insert into command_nonce (user_id, op, nonce, result, created_at) \
                     values ($1, 'emoji.create', $2, $3, $4) on conflict (user_id, op, nonce) do nothing",
                )
                .bind(emoji.user_id)
                .bind(nonce)
                .bind(to_json(emoji))
                .bind(now)
                .execute()
                .await?;
        }
        let event = DurableEvent::EmojiCreated(Box::new(EmojiCreated { emoji: emoji.clone() }));
        Ok(vec![self.log(append, event, None)?])
    }

    async fn check_emoji_name(&mut self, append: &Append, name: &str) -> Result<(), Stop> {
        let sql = "select count(*) from emoji where room_id = $1 and name = $2";
        let (count,): (i64,) = self.tx.query(sql).bind(append.room_id).bind(name).one().await?;
        if count > 0 { Err(AppendError::NameTaken.into()) } else { Ok(()) }
    }

    async fn rename_emoji(&mut self, append: &Append, emoji_id: EmojiId, name: &str) -> Result<Vec<LogEntry>, Stop> {
        let sql = "select name from emoji where room_id = $1 and emoji_id = $2";
        let found: Option<(String,)> = self.tx.query(sql).bind(append.room_id).bind(emoji_id).optional().await?;
        let (old,) = found.ok_or(AppendError::NotFound("emoji"))?;
        if old == name {
            return Ok(Vec::new());
        }
        self.check_emoji_name(append, name).await?;
        self.tx.query("update emoji set name = $2 where emoji_id = $1").bind(emoji_id).bind(name).execute().await?;
        let changes = EmojiDelta { name: Some(name.to_owned()) };
        let event = DurableEvent::EmojiUpdated(Box::new(EmojiUpdated { emoji_id, changes }));
        Ok(vec![self.log(append, event, None)?])
    }

    async fn delete_emoji(&mut self, append: &Append, emoji_id: EmojiId) -> Result<Vec<LogEntry>, Stop> {
        let sql = "delete from emoji where room_id = $1 and emoji_id = $2";
        if self.tx.query(sql).bind(append.room_id).bind(emoji_id).execute().await? == 0 {
            return Err(AppendError::NotFound("emoji").into());
        }
        files::release(&mut self.tx, append.room_id, FileId::from_uuid(emoji_id.uuid())).await?;
        let event = DurableEvent::EmojiDeleted(Box::new(EmojiDeleted { emoji_id }));
        Ok(vec![self.log(append, event, None)?])
    }
}
