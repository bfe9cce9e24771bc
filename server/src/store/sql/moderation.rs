//! What moderators and the word filter do: the effect and its entry in the moderation log in one transaction.
//!
//! Whatever is refused is refused before anything is written: the rest of the group is committed all the same.

use parlour_protocol::{
    Patch, Timestamp, UserId,
    event::{LeaveReason, MemberDelta},
    object::ModerationLogEntry,
};
use uuid::Uuid;

use super::{
    group::{Group, Stop, check_slowmode, millis},
    jobs,
};
use crate::{
    directory::nonces,
    store::{Append, AppendError, Automod, Effect, LogEntry, Moderate, RejectedMessage},
};

/// How long a rejected message is remembered, in ms.
pub(super) const REJECTED_KEPT_MS: i64 = 24 * 3600 * 1000;

impl Group<'_> {
    pub(super) async fn moderate(&mut self, append: &Append, change: &Moderate) -> Result<Vec<LogEntry>, Stop> {
        let Moderate { entry, effect, first } = change;
        let target = entry.target_user_id;
        let shown_name = self.shown_name(append, target).await?;
        match (effect, &shown_name) {
            (Effect::Kick | Effect::Timeout(_), None) => return Err(AppendError::NotFound("member").into()),
            (Effect::Ban { .. }, None) => self.check_account(target).await?,
            (Effect::Unban, _) => self.check_ban(append, target).await?,
            _ => {}
        }
        if let Some(first) = first
            && !nonces::remember_new(&mut self.tx, first).await?
        {
            return Err(AppendError::Repeat.into());
        }
        self.has_written = true;
        self.add_entry(entry).await?;
        let by = Some(entry.actor_user_id);
        match (*effect, shown_name) {
            (Effect::Kick, Some(name)) => {
                self.leave(append, target, LeaveReason::Kicked, by, &format!("{name} was kicked")).await
            }
            (Effect::Timeout(until), _) => self.time_out(append, target, until).await,
            (Effect::Unban, _) => {
                let sql = "delete from ban where room_id = $1 and user_id = $2";
                self.tx.query(sql).bind(append.room_id).bind(target).execute().await?;
                Ok(Vec::new())
            }
            (Effect::Ban { purges }, name) => {
                self.ban(entry).await?;
                let entries = match name {
                    Some(name) => {
                        self.leave(append, target, LeaveReason::Banned, by, &format!("{name} was banned")).await?
                    }
                    None => Vec::new(),
                };
                if purges {
                    self.begin_purge(append, Some(target)).await?;
                }
                Ok(entries)
            }
            (Effect::Nothing | Effect::Kick, _) => Ok(Vec::new()),
        }
    }

    pub(super) async fn automod(&mut self, append: &Append, change: &Automod) -> Result<Vec<LogEntry>, Stop> {
        let Automod { user_id, rejected, entry, until } = change;
        let key = (append.room_id, *user_id);
        self.known.load_members(&mut self.tx, std::iter::once(key)).await?;
        let clock = *self.known.members.get(&key).ok_or(AppendError::NoAccess)?;
        check_slowmode(rejected.slowmode_ms, clock, append.now / 1_000_000)?;
        if let Some(job) = rejected.job {
            if !jobs::cancel(&mut self.tx, job, millis(append.now)).await? {
                return Err(AppendError::ClaimLost.into());
            }
            self.has_written = true;
        }
        let Some(entry) = entry else { return Ok(Vec::new()) };
        if !self.remember_rejected(append, *user_id, rejected).await? {
            return Err(AppendError::Repeat.into());
        }
        self.has_written = true;
        self.add_entry(entry).await?;
        let Some(until) = until else { return Ok(Vec::new()) };
        let sql = "select timeout_until from member where room_id = $1 and user_id = $2";
        let query = self.tx.query(sql).bind(append.room_id).bind(*user_id);
        let (present,): (Option<i64>,) = query.optional().await?.unwrap_or_default();
        let until = present.map_or(*until, |present| Timestamp::from_millis(present).max(*until));
        self.time_out(append, *user_id, until).await
    }

    /// Puts down what is to be removed in the background.
    pub(super) async fn begin_purge(&mut self, append: &Append, user_id: Option<UserId>) -> Result<(), Stop> {
        let tick = self.known.rooms.get(&append.room_id).map_or(i64::MAX, |room| room.tick);
        let sql = "insert into purge (purge_id, room_id, user_id, up_to, created_at) values ($1, $2, $3, $4, $5)";
        let query = self.tx.query(sql).bind(Uuid::now_v7()).bind(append.room_id).bind(user_id).bind(tick);
        query.bind(millis(append.now)).execute().await?;
        Ok(())
    }

    async fn time_out(&mut self, append: &Append, user_id: UserId, until: Timestamp) -> Result<Vec<LogEntry>, Stop> {
        let delta = MemberDelta { nickname: Patch::Keep, timeout_until: Patch::Set(until) };
        self.update_member(append, user_id, delta).await
    }

    /// The name of a member as the room shows it.
    async fn shown_name(&mut self, append: &Append, user_id: UserId) -> Result<Option<String>, Stop> {
        let sql = "select m.nickname, a.name from member m join account a on a.user_id = m.user_id \
            where m.room_id = $1 and m.user_id = $2";
        let row: Option<(String, String)> = self.tx.query(sql).bind(append.room_id).bind(user_id).optional().await?;
        Ok(row.map(|(nickname, name)| if nickname.is_empty() { name } else { nickname }))
    }

    async fn check_account(&mut self, user_id: UserId) -> Result<(), Stop> {
        let sql = "select count(*) from account where user_id = $1";
        let (accounts,): (i64,) = self.tx.query(sql).bind(user_id).one().await?;
        if accounts == 0 { Err(AppendError::NotFound("user").into()) } else { Ok(()) }
    }

    async fn check_ban(&mut self, append: &Append, user_id: UserId) -> Result<(), Stop> {
        let sql = "select count(*) from ban where room_id = $1 and user_id = $2";
        let (bans,): (i64,) = self.tx.query(sql).bind(append.room_id).bind(user_id).one().await?;
        if bans == 0 { Err(AppendError::NotFound("ban").into()) } else { Ok(()) }
    }

    async fn ban(&mut self, entry: &ModerationLogEntry) -> Result<(), Stop> {
        let sql = "insert into ban (room_id, user_id, banned_by_user_id, reason, created_at) \
            values ($1, $2, $3, $4, $5) on conflict (room_id, user_id) do nothing";
        let query = self.tx.query(sql).bind(entry.room_id).bind(entry.target_user_id).bind(entry.actor_user_id);
        query.bind(&entry.reason).bind(entry.created_at).execute().await?;
        Ok(())
    }

    async fn add_entry(&mut self, entry: &ModerationLogEntry) -> Result<(), Stop> {
        self.tx
            .query(
                "insert into moderation_log (log_entry_id, room_id, type, actor_user_id, target_user_id, duration_ms, \
                 reason, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8)",
            )
            .bind(entry.id)
            .bind(entry.room_id)
            .bind(entry.r#type.as_str())
            .bind(entry.actor_user_id)
            .bind(entry.target_user_id)
            .bind(entry.duration_ms)
            .bind(&entry.reason)
            .bind(entry.created_at)
            .execute()
            .await?;
        Ok(())
    }

    /// Whether the message was not rejected before.
    async fn remember_rejected(
        &mut self,
        append: &Append,
        user_id: UserId,
        rejected: &RejectedMessage,
    ) -> Result<bool, Stop> {
        let Some(nonce) = &rejected.nonce else { return Ok(true) };
        let now = millis(append.now);
        let sql = "insert into rejected_message (room_id, user_id, origin, nonce, created_at) \
            values ($1, $2, $3, $4, $5) on conflict (room_id, user_id, origin, nonce) do update \
            set created_at = $5 where rejected_message.created_at <= $6";
        let query = self.tx.query(sql).bind(append.room_id).bind(user_id).bind(rejected.origin as i64).bind(nonce);
        Ok(query.bind(now).bind(now.plus_millis(-REJECTED_KEPT_MS)).execute().await? > 0)
    }
}
