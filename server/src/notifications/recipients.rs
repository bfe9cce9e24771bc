//! Who is told of what, found when its turn comes: settings, mentions, roles and blocks as they are then.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use async_trait::async_trait;
use parlour_protocol::{
    RoomId, RowKey, Timestamp, UserId,
    object::{Message, NotificationType, PresenceStatus},
};
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::{Carried, Notification, Notifications, Subject, content};
use crate::{
    directory::{accounts, members, notifications::NewDelivery, push},
    rooms::state::RoomStates,
    store::{
        MessageStore, StoreError,
        db::{Db, list},
    },
};

/// Finds recipients. As a carrier it is the database itself: what is noted is resolved where it lies.
#[derive(Debug)]
pub(crate) struct Resolver {
    pub(crate) db: Db,
    pub(crate) store: Arc<dyn MessageStore>,
    pub(crate) rooms: Arc<RoomStates>,
    /// The server's own address; links begin with a slash without it.
    pub(crate) public_url: Option<String>,
}

/// A member of a room who has a push address.
struct Candidate {
    user_id: UserId,
    notification_type: NotificationType,
    last_read_at: Option<i64>,
    joined_at: i64,
    /// The override; none = by connection.
    status: Option<PresenceStatus>,
}

#[async_trait]
impl Notifications for Resolver {
    async fn carry(&self, notifications: &[Notification], now: Timestamp) -> Vec<Carried> {
        let mut rooms: HashMap<RoomId, Vec<Candidate>> = HashMap::new();
        let mut carried = Vec::with_capacity(notifications.len());
        for notification in notifications {
            let resolved = self.resolve(notification, &mut rooms, now).await;
            carried.push(match resolved {
                Ok(deliveries) => Carried::Resolved(deliveries),
                Err(error) => Carried::Failed(error.to_string()),
            });
        }
        carried
    }
}

impl Resolver {
    async fn resolve(
        &self,
        notification: &Notification,
        rooms: &mut HashMap<RoomId, Vec<Candidate>>,
        now: Timestamp,
    ) -> Result<Vec<NewDelivery>, StoreError> {
        match &notification.subject {
            Subject::Message { room_id, row_key } => {
                if !rooms.contains_key(room_id) {
                    rooms.insert(*room_id, self.candidates(*room_id, now).await?);
                }
                self.message(notification.id, (*room_id, *row_key), &rooms[room_id], now).await
            }
            Subject::Reminder { user_id, room_id, text } => {
                let url = self.link(&format!("/room/{room_id}"));
                let data = [("type", "Reminder".to_owned()), ("url", url), ("roomId", room_id.to_string())];
                let payload = content::payload("Reminder", &content::shorten(text), "", &data);
                self.deliveries(notification.id, &[(*user_id, true)], &payload, *room_id, now).await
            }
            Subject::FriendRequest { user_id, sender_id } => {
                if self.blockers(*sender_id, &[*user_id]).await?.contains(user_id)
                    || self.is_disturbed(*user_id, now).await?
                {
                    return Ok(Vec::new());
                }
                let Some(sender) = accounts::user(&self.db, *sender_id).await? else { return Ok(Vec::new()) };
                let url = self.link("/");
                let data = [("type", "FriendRequest".to_owned()), ("url", url), ("userId", sender_id.to_string())];
                let payload =
                    content::payload(&sender.name, "asks to be your friend", &self.icon(&sender.image), &data);
                let topic = RoomId::from_uuid(sender_id.uuid());
                self.deliveries(notification.id, &[(*user_id, true)], &payload, topic, now).await
            }
        }
    }

    async fn message(
        &self,
        id: Uuid,
        (room_id, row_key): (RoomId, RowKey),
        candidates: &[Candidate],
        now: Timestamp,
    ) -> Result<Vec<NewDelivery>, StoreError> {
        if candidates.is_empty() {
            return Ok(Vec::new());
        }
        // Deleted meanwhile: nobody has to know.
        let Some(message) = self.store.get(room_id, &[row_key]).await?.pop() else { return Ok(Vec::new()) };
        let told = self.told(&message, candidates).await?;
        if told.is_empty() {
            return Ok(Vec::new());
        }
        let body = content::text(&message, &self.names(&message).await?);
        if body.is_empty() {
            return Ok(Vec::new());
        }
        let (title, icon) = self.author(&message).await?;
        let first = message.reply_row_key.unwrap_or(row_key);
        let data = [
            ("type", "Message".to_owned()),
            ("url", self.link(&format!("/room/{room_id}/{first}"))),
            ("roomId", room_id.to_string()),
            ("rowKey", row_key.to_string()),
            ("replyRowKey", message.reply_row_key.map(|key| key.to_string()).unwrap_or_default()),
            ("userId", message.user_id.map(|user_id| user_id.to_string()).unwrap_or_default()),
        ];
        let payload = content::payload(&title, &body, &icon, &data);
        self.deliveries(id, &told, &payload, room_id, now).await
    }

    /// Members with a push address.
    async fn candidates(&self, room_id: RoomId, now: Timestamp) -> Result<Vec<Candidate>, StoreError> {
        let sql = "select m.user_id, m.notification_type, m.last_read_at, m.created_at, s.status, s.expires_at \
            from member m left join user_status s on s.user_id = m.user_id \
            where m.room_id = $1 and m.user_id in (select user_id from push_subscription)";
        type MemberRow = (Uuid, String, Option<i64>, i64, Option<String>, Option<i64>);
        let rows: Vec<MemberRow> = self.db.read(sql).bind(room_id).all().await?;
        let candidate = |(user_id, notification_type, last_read_at, joined_at, status, until): MemberRow| Candidate {
            user_id: UserId::from_uuid(user_id),
            notification_type: notification_type.parse().unwrap_or(NotificationType::DirectMessage),
            last_read_at,
            joined_at,
            status: status
                .filter(|_| until.is_none_or(|until| until > now.as_millis()))
                .and_then(|status| status.parse().ok()),
        };
        Ok(rows.into_iter().map(candidate).collect())
    }

    /// Whom a message is told to, and whether it means them.
    async fn told(&self, message: &Message, candidates: &[Candidate]) -> Result<Vec<(UserId, bool)>, StoreError> {
        let sent_at = message.created_at.as_millis();
        let ids: HashSet<&str> = message.mentions.iter().map(String::as_str).collect();
        let possible: Vec<&Candidate> = candidates
            .iter()
            .filter(|candidate| Some(candidate.user_id) != message.user_id)
            .filter(|candidate| candidate.notification_type != NotificationType::Never)
            .filter(|candidate| candidate.status != Some(PresenceStatus::DoNotDisturb))
            .filter(|candidate| candidate.last_read_at.is_none_or(|read| read < sent_at))
            .filter(|candidate| candidate.joined_at <= sent_at)
            .collect();
        let user_ids: Vec<UserId> = possible.iter().map(|candidate| candidate.user_id).collect();
        let mut by_role: HashSet<UserId> = HashSet::new();
        if ids.iter().any(|id| !id.starts_with('@')) {
            for some in user_ids.chunks(256) {
                let held = members::roles_of(&self.db, message.room_id, some).await?;
                let holders =
                    held.iter().filter(|held| held.role_ids.iter().any(|id| ids.contains(id.to_string().as_str())));
                by_role.extend(holders.map(|held| held.user_id));
            }
        }
        let follows = match message.reply_row_key {
            Some(root) => self.followers(message.room_id, root).await?,
            None => HashSet::new(),
        };
        let mut told = Vec::new();
        for candidate in possible {
            let user_id = candidate.user_id;
            let is_here = candidate.status.is_none_or(|status| status == PresenceStatus::Online);
            let is_meant = ids.contains(user_id.to_string().as_str())
                || by_role.contains(&user_id)
                || ids.contains("@everyone")
                || (ids.contains("@here") && is_here);
            if is_meant || candidate.notification_type == NotificationType::All || follows.contains(&user_id) {
                told.push((user_id, is_meant));
            }
        }
        if let Some(author) = message.user_id {
            let user_ids: Vec<UserId> = told.iter().map(|(user_id, _)| *user_id).collect();
            let blockers = self.blockers(author, &user_ids).await?;
            told.retain(|(user_id, _)| !blockers.contains(user_id));
        }
        let mut readers = Vec::with_capacity(told.len());
        for (user_id, is_meant) in told {
            // Whoever may not read the room is not told either.
            if self.rooms.reader(message.room_id, user_id).await.is_ok() {
                readers.push((user_id, is_meant));
            }
        }
        Ok(readers)
    }

    async fn followers(&self, room_id: RoomId, root: RowKey) -> Result<HashSet<UserId>, StoreError> {
        let sql = "select user_id from thread_follow where room_id = $1 and tick = $2 and is_unfollowed = $3 \
            and user_id in (select user_id from push_subscription)";
        let rows: Vec<(Uuid,)> = self.db.read(sql).bind(room_id).bind(root).bind(false).all().await?;
        Ok(rows.into_iter().map(|(user_id,)| UserId::from_uuid(user_id)).collect())
    }

    /// Those of users who have blocked another.
    async fn blockers(&self, blocked: UserId, user_ids: &[UserId]) -> Result<HashSet<UserId>, StoreError> {
        let mut blockers = HashSet::new();
        for user_ids in user_ids.chunks(256) {
            let sql = format!(
                "select blocker_id from user_block where blocked_id = $1 and blocker_id in {}",
                list(2, user_ids.len())
            );
            let rows: Vec<(Uuid,)> = self.db.read(AssertSqlSafe(sql)).bind(blocked).bind_list(user_ids).all().await?;
            blockers.extend(rows.into_iter().map(|(user_id,)| UserId::from_uuid(user_id)));
        }
        Ok(blockers)
    }

    async fn is_disturbed(&self, user_id: UserId, now: Timestamp) -> Result<bool, StoreError> {
        let set = crate::directory::statuses::of(&self.db, &[user_id], now).await?;
        Ok(set.get(&user_id).is_some_and(|set| set.status == Some(PresenceStatus::DoNotDisturb)))
    }

    /// The name and picture that a message shows.
    async fn author(&self, message: &Message) -> Result<(String, String), StoreError> {
        if let Some(app_user) = &message.app_user {
            return Ok((app_user.name.clone(), self.icon(&app_user.image)));
        }
        let Some(user_id) = message.user_id else { return Ok((String::new(), String::new())) };
        let user = accounts::user(&self.db, user_id).await?;
        let image = user.as_ref().map(|user| self.icon(&user.image)).unwrap_or_default();
        let name = match self.rooms.access(message.room_id, user_id).await {
            Ok(access) => access.member.shown_name().to_owned(),
            Err(_) => user.map(|user| user.name).unwrap_or_default(),
        };
        Ok((name, image))
    }

    /// The names of those whom a message mentions.
    async fn names(&self, message: &Message) -> Result<HashMap<String, String>, StoreError> {
        let user_ids: Vec<UserId> = message.mentions.iter().filter_map(|id| id.parse().ok()).collect();
        let mut names = HashMap::new();
        if user_ids.is_empty() {
            return Ok(names);
        }
        for user in accounts::users(&self.db, &user_ids).await? {
            names.insert(user.user_id.to_string(), user.name);
        }
        for user_id in user_ids {
            if let Ok(access) = self.rooms.access(message.room_id, user_id).await {
                names.insert(user_id.to_string(), access.member.shown_name().to_owned());
            }
        }
        Ok(names)
    }

    /// One delivery for each address of those who are told. What does not mean them is replaced by what comes after
    /// it in the room, as long as their service has not passed it on.
    async fn deliveries(
        &self,
        notification_id: Uuid,
        told: &[(UserId, bool)],
        payload: &str,
        room_id: RoomId,
        now: Timestamp,
    ) -> Result<Vec<NewDelivery>, StoreError> {
        let user_ids: Vec<UserId> = told.iter().map(|(user_id, _)| *user_id).collect();
        let meant: HashSet<UserId> = told.iter().filter(|(_, meant)| *meant).map(|(user_id, _)| *user_id).collect();
        let addresses = push::of_users(&self.db, &user_ids, now).await?;
        let delivery = |(user_id, subscription_id): (UserId, Uuid)| {
            let is_urgent = meant.contains(&user_id);
            let topic = if is_urgent { notification_id } else { room_id.uuid() };
            NewDelivery {
                notification_id,
                subscription_id,
                payload: payload.to_owned(),
                topic: topic.simple().to_string(),
                is_urgent,
            }
        };
        Ok(addresses.into_iter().map(delivery).collect())
    }

    fn link(&self, path: &str) -> String {
        format!("{}{path}", self.public_url.as_deref().unwrap_or_default())
    }

    fn icon(&self, image: &str) -> String {
        if image.starts_with('/') { self.link(image) } else { image.to_owned() }
    }
}
