//! Who is in a direct message. Its key names the set of its people, and no two direct messages have the same.

use parlour_protocol::{Nonce, RoomId, UserId, event::LeaveReason};
use uuid::Uuid;

use super::{
    group::{Group, Stop, millis},
    room_change::Joining,
    row::to_json,
};
use crate::{
    directory::direct_messages::set_key,
    store::{Append, AppendError, LogEntry},
};

impl Group<'_> {
    /// Adds people, each with the server's line.
    pub(super) async fn add_participants(
        &mut self,
        append: &Append,
        user_ids: &[UserId],
        by: UserId,
        nonce: Option<&Nonce>,
    ) -> Result<Vec<LogEntry>, Stop> {
        let room_id = append.room_id;
        let mut participants = self.participants(room_id).await?;
        if user_ids.iter().any(|user_id| participants.contains(user_id)) {
            return Err(AppendError::AlreadyMember.into());
        }
        participants.extend(user_ids);
        self.rekey(room_id, &participants).await?;
        let mut entries = Vec::with_capacity(2 * user_ids.len());
        for user_id in user_ids {
            let sql = "select name from account where user_id = $1";
            let name: Option<(String,)> = self.tx.query(sql).bind(*user_id).optional().await?;
            let line = format!("{} was added", name.ok_or(AppendError::NotFound("account"))?.0);
            let joining = Joining { user_id: *user_id, invite_id: None, by: Some(by), line: &line, nonce: None };
            entries.extend(self.join(append, joining).await?);
        }
        if let Some(nonce) = nonce {
            self.tx
                .query(
                    "insert into command_nonce (user_id, op, nonce, result, created_at) \
                     values ($1, 'dm.add', $2, $3, $4) on conflict (user_id, op, nonce) do nothing",
                )
                .bind(by)
                .bind(nonce)
                .bind(to_json(&room_id))
                .bind(millis(append.now))
                .execute()
                .await?;
        }
        Ok(entries)
    }

    /// Takes somebody out. When nobody is left the direct message ends.
    pub(super) async fn remove_participant(
        &mut self,
        append: &Append,
        user_id: UserId,
        by: UserId,
        line: &str,
    ) -> Result<Vec<LogEntry>, Stop> {
        let room_id = append.room_id;
        let mut participants = self.participants(room_id).await?;
        participants.retain(|participant| *participant != user_id);
        if !participants.is_empty() {
            self.rekey(room_id, &participants).await?;
        }
        let (reason, by_other) =
            if by == user_id { (LeaveReason::Left, None) } else { (LeaveReason::Removed, Some(by)) };
        let entries = self.leave(append, user_id, reason, by_other, line).await?;
        if participants.is_empty() {
            let sql = "update room set participant_key = null, deleted_at = $2 where room_id = $1";
            self.tx.query(sql).bind(room_id).bind(millis(append.now)).execute().await?;
            if let Some(room) = self.known.rooms.get_mut(&room_id) {
                room.is_deleted = true;
            }
        }
        Ok(entries)
    }

    async fn participants(&mut self, room_id: RoomId) -> Result<Vec<UserId>, Stop> {
        let sql = "select user_id from member where room_id = $1";
        let rows: Vec<(Uuid,)> = self.tx.query(sql).bind(room_id).all().await?;
        Ok(rows.into_iter().map(|(user_id,)| UserId::from_uuid(user_id)).collect())
    }

    async fn rekey(&mut self, room_id: RoomId, participants: &[UserId]) -> Result<(), Stop> {
        let key = set_key(participants.iter().copied());
        let sql = "select count(*) from room where participant_key = $1 and room_id <> $2";
        let (others,): (i64,) = self.tx.query(sql).bind(&key).bind(room_id).one().await?;
        if others > 0 {
            return Err(AppendError::SameSet.into());
        }
        // One that is made at this very moment fails the group, which then runs again and finds it.
        let sql = "update room set participant_key = $2 where room_id = $1";
        self.tx.query(sql).bind(room_id).bind(&key).execute().await?;
        Ok(())
    }
}
