//! What a node knows of its rooms: settings, roles and the members that act. Guards read it instead of the store.
//!
//! It holds what the store said; whatever changes a room forgets the part that changed before it is announced, and a
//! load that overlaps such a change is not kept. What must be exact is decided again in the commit.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
};

use parlour_protocol::{
    DurableEvent, Permissions, ProtocolError, RoleId, RoomId, Timestamp, UserId,
    object::{Membership, Role, Room, RoomType},
};

use crate::{directory, error::store_error, filter::WordFilter, store::db::Db};

/// Rooms that are remembered at once; beyond it those that nobody used of late are forgotten.
const CAPACITY: usize = 20_000;
/// Members of one room that are remembered at once.
const MEMBERS_CAPACITY: usize = 20_000;
/// Times a load is repeated when changes overlap it.
const LOAD_ATTEMPTS: usize = 8;

/// A room's settings and roles.
#[derive(Debug)]
pub(crate) struct RoomSettings {
    pub(crate) room: Room,
    pub(crate) everyone: Permissions,
    /// The roles that members are assigned.
    pub(crate) roles: HashMap<RoleId, Role>,
    everyone_role: Option<Role>,
    pub(crate) filter: Option<Arc<WordFilter>>,
}

impl RoomSettings {
    pub(crate) fn new(room: Room, roles: Vec<Role>) -> Self {
        let everyone_role = roles.iter().find(|role| role.is_everyone).cloned();
        let everyone = match room.r#type {
            RoomType::Room => everyone_role.as_ref().map(|role| role.permissions).unwrap_or_default(),
            RoomType::DirectMessage => Permissions::DIRECT_MESSAGE,
        };
        let roles = roles.into_iter().filter(|role| !role.is_everyone).map(|role| (role.role_id, role)).collect();
        Self { room, everyone, roles, everyone_role, filter: None }
    }

    /// A role of the room, `@everyone` included.
    pub(crate) fn role(&self, role_id: RoleId) -> Option<&Role> {
        self.roles.get(&role_id).or_else(|| self.everyone_role.as_ref().filter(|role| role.role_id == role_id))
    }

    pub(crate) fn is_owner(&self, user_id: UserId) -> bool {
        self.room.user_id == Some(user_id)
    }

    /// The bits of a member with these roles.
    pub(crate) fn permissions(&self, user_id: UserId, role_ids: &[RoleId]) -> Permissions {
        if self.is_owner(user_id) {
            return Permissions::ALL;
        }
        let granted = role_ids.iter().filter_map(|role_id| self.roles.get(role_id)).map(|role| role.permissions);
        granted.fold(self.everyone, |all, permissions| all | permissions).effective()
    }

    /// The highest position of these roles; −1 without a role.
    pub(crate) fn top_role_position(&self, role_ids: &[RoleId]) -> i32 {
        let positions = role_ids.iter().filter_map(|role_id| self.roles.get(role_id)).map(|role| role.position);
        positions.max().map_or(-1, |position| i32::try_from(position).unwrap_or(i32::MAX))
    }
}

/// A member as the guards need them.
#[derive(Debug)]
pub(crate) struct MemberState {
    /// The membership without counts.
    pub(crate) membership: Membership,
    /// The account's name.
    user_name: String,
    pub(crate) role_ids: Vec<RoleId>,
    /// Whether there is a block, either way, between the member and anybody in this direct message.
    pub(crate) has_block: bool,
    /// When the member was last told of their own moved marker, in milliseconds.
    marker_told_at: AtomicI64,
}

impl MemberState {
    pub(crate) fn new(membership: Membership, user_name: String, role_ids: Vec<RoleId>) -> Self {
        Self { membership, user_name, role_ids, has_block: false, marker_told_at: AtomicI64::new(0) }
    }

    /// The name shown in the room.
    pub(crate) fn shown_name(&self) -> &str {
        if self.membership.nickname.is_empty() { &self.user_name } else { &self.membership.nickname }
    }

    /// Whether the member is to be told of a marker moved at `now`: at most once a second.
    pub(crate) fn tell_marker(&self, now: Timestamp) -> bool {
        let last = self.marker_told_at.load(Ordering::Relaxed);
        let due = now.as_millis() >= last.saturating_add(1000);
        due && self.marker_told_at.compare_exchange(last, now.as_millis(), Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }
}

/// A member's access to a room.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    pub(crate) settings: Arc<RoomSettings>,
    pub(crate) member: Arc<MemberState>,
    pub(crate) permissions: Permissions,
}

impl Access {
    fn new(settings: Arc<RoomSettings>, member: Arc<MemberState>) -> Self {
        let permissions = settings.permissions(member.membership.user_id, &member.role_ids);
        Self { settings, member, permissions }
    }

    pub(crate) fn room(&self) -> &Room {
        &self.settings.room
    }

    pub(crate) fn is_owner(&self) -> bool {
        self.settings.is_owner(self.member.membership.user_id)
    }

    /// Whether the member has the bits; the owner and Administrator have all.
    pub(crate) fn allows(&self, permissions: Permissions) -> bool {
        self.permissions.allows(permissions)
    }

    /// The same access, if it carries the bits.
    ///
    /// # Errors
    /// `forbidden`, naming the missing right.
    pub(crate) fn require(self, permissions: Permissions) -> Result<Self, ProtocolError> {
        if self.allows(permissions) {
            return Ok(self);
        }
        let reason = format!("this needs the permission {permissions:?}");
        Err(ProtocolError::new(parlour_protocol::ErrorCode::Forbidden, reason))
    }

    /// The same access, if the room is not a direct message.
    ///
    /// # Errors
    /// `bad_request`.
    pub(crate) fn require_room(self) -> Result<Self, ProtocolError> {
        match self.room().r#type {
            RoomType::Room => Ok(self),
            RoomType::DirectMessage => Err(ProtocolError::bad_request("a direct message does not have this")),
        }
    }
}

impl Access {
    /// The same access, if the room is a direct message.
    ///
    /// # Errors
    /// `bad_request`.
    pub(crate) fn require_direct_message(self) -> Result<Self, ProtocolError> {
        match self.room().r#type {
            RoomType::DirectMessage => Ok(self),
            RoomType::Room => Err(ProtocolError::bad_request("only a direct message has this")),
        }
    }
}

/// The rooms that this node remembers.
#[derive(Debug)]
pub(crate) struct RoomStates {
    db: Db,
    rooms: Mutex<HashMap<RoomId, Arc<RoomEntry>>>,
    clock: AtomicU64,
}

#[derive(Debug, Default)]
struct RoomEntry {
    known: Mutex<Known>,
    last_used: AtomicU64,
    /// Held while settings are read: after a change of roles all members ask for them at once.
    loading: tokio::sync::Mutex<()>,
}

/// What is known of a room. `version` counts what was forgotten, so that an overlapping load is noticed.
#[derive(Debug, Default)]
struct Known {
    version: u64,
    settings: Option<Arc<RoomSettings>>,
    members: HashMap<UserId, Arc<MemberState>>,
}

impl RoomStates {
    pub(crate) fn new(db: Db) -> Self {
        Self { db, rooms: Mutex::default(), clock: AtomicU64::new(0) }
    }

    /// A member's access, from memory alone.
    pub(crate) fn known_access(&self, room_id: RoomId, user_id: UserId) -> Option<Access> {
        let entry = lock(&self.rooms).get(&room_id).cloned()?;
        entry.last_used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        let known = lock(&entry.known);
        Some(Access::new(known.settings.clone()?, known.members.get(&user_id).cloned()?))
    }

    /// A member's access.
    ///
    /// # Errors
    /// `forbidden` alike for an unknown room and for one that the user is not in; `unavailable`.
    pub(crate) async fn access(&self, room_id: RoomId, user_id: UserId) -> Result<Access, ProtocolError> {
        if let Some(access) = self.known_access(room_id, user_id) {
            return Ok(access);
        }
        for _ in 0..LOAD_ATTEMPTS {
            let entry = self.entry(room_id);
            let Some((version, settings)) = self.settings(room_id, &entry).await? else { continue };
            let settings = settings.ok_or_else(ProtocolError::no_access)?;
            let member = lock(&entry.known).members.get(&user_id).cloned();
            let member = match member {
                Some(member) => member,
                None => {
                    let member =
                        directory::members::member(&self.db, room_id, user_id, !settings.roles.is_empty()).await;
                    let mut member = member.map_err(store_error)?.ok_or_else(ProtocolError::no_access)?;
                    if settings.room.r#type == RoomType::DirectMessage {
                        let stands = directory::blocks::stands_in_room(&self.db, room_id, user_id).await;
                        member.has_block = stands.map_err(store_error)?;
                    }
                    Arc::new(member)
                }
            };
            let mut known = lock(&entry.known);
            if known.version != version {
                continue;
            }
            if known.members.len() >= MEMBERS_CAPACITY {
                known.members.clear();
            }
            known.settings = Some(settings.clone());
            known.members.insert(user_id, member.clone());
            return Ok(Access::new(settings, member));
        }
        Err(ProtocolError::new(parlour_protocol::ErrorCode::Unavailable, "the room is being changed; try again"))
    }

    /// A room's settings and what was forgotten before they were right; none when a change overlapped the reading.
    async fn settings(
        &self,
        room_id: RoomId,
        entry: &RoomEntry,
    ) -> Result<Option<(u64, Option<Arc<RoomSettings>>)>, ProtocolError> {
        let known = |entry: &RoomEntry| {
            let known = lock(&entry.known);
            (known.version, known.settings.clone())
        };
        if let (version, Some(settings)) = known(entry) {
            return Ok(Some((version, Some(settings))));
        }
        let _loading = entry.loading.lock().await;
        let (version, settings) = known(entry);
        if settings.is_some() {
            return Ok(Some((version, settings)));
        }
        let settings = directory::rooms::settings(&self.db, room_id).await.map_err(store_error)?.map(Arc::new);
        let mut known = lock(&entry.known);
        if known.version != version {
            return Ok(None);
        }
        known.settings.clone_from(&settings);
        Ok(Some((version, settings)))
    }

    /// A reader's access: a member with ReadMessages.
    ///
    /// # Errors
    /// As [`Self::access`].
    pub(crate) async fn reader(&self, room_id: RoomId, user_id: UserId) -> Result<Access, ProtocolError> {
        self.access(room_id, user_id).await?.require(Permissions::READ_MESSAGES)
    }

    /// Forgets what an entry of the room's log changes. Called before the entry is delivered, and by whoever caused
    /// it before they are answered.
    pub(crate) fn apply(&self, room_id: RoomId, event: &DurableEvent) {
        match event {
            DurableEvent::MessageCreated(_)
            | DurableEvent::MessageUpdated(_)
            | DurableEvent::MessageDeleted(_)
            | DurableEvent::MessagePurged(_)
            | DurableEvent::ReactionAdded(_)
            | DurableEvent::ReactionRemoved(_)
            | DurableEvent::PollVoted(_)
            | DurableEvent::EmojiCreated(_)
            | DurableEvent::EmojiUpdated(_)
            | DurableEvent::EmojiDeleted(_) => {}
            DurableEvent::RoomUpdated(_) | DurableEvent::RoleCreated(_) | DurableEvent::RoleUpdated(_) => {
                self.forget_settings(room_id);
            }
            DurableEvent::RoomDeleted(_) | DurableEvent::RoleDeleted(_) => self.forget_room(room_id),
            DurableEvent::MemberJoined(joined) => self.forget_present(room_id, joined.member.user_id),
            DurableEvent::MemberLeft(left) => self.forget_present(room_id, left.user_id),
            DurableEvent::MemberUpdated(updated) => self.forget_member(room_id, updated.user_id),
            DurableEvent::RoleAssigned(role) | DurableEvent::RoleRevoked(role) => {
                self.forget_member(room_id, role.user_id);
            }
        }
    }

    /// Forgets a room's settings, roles and filter.
    pub(crate) fn forget_settings(&self, room_id: RoomId) {
        self.forget(room_id, |known| known.settings = None);
    }

    /// Forgets one member of a room.
    pub(crate) fn forget_member(&self, room_id: RoomId, user_id: UserId) {
        self.forget(room_id, |known| drop(known.members.remove(&user_id)));
    }

    /// Forgets somebody who came or went; in a direct message the others too, whose blocks may concern them.
    fn forget_present(&self, room_id: RoomId, user_id: UserId) {
        self.forget(room_id, |known| {
            known.members.remove(&user_id);
            let is_room = |settings: &Arc<RoomSettings>| settings.room.r#type == RoomType::Room;
            if !known.settings.as_ref().is_some_and(is_room) {
                known.members.clear();
            }
        });
    }

    /// Forgets an account in all rooms: its name or standing changed.
    pub(crate) fn forget_user(&self, user_id: UserId) {
        let entries: Vec<_> = lock(&self.rooms).values().cloned().collect();
        for entry in entries {
            let mut known = lock(&entry.known);
            known.version += 1;
            known.members.remove(&user_id);
        }
    }

    /// Forgets a room whole: entries of its log were missed.
    pub(crate) fn forget_room(&self, room_id: RoomId) {
        self.forget(room_id, |known| {
            known.settings = None;
            known.members.clear();
        });
    }

    fn forget(&self, room_id: RoomId, change: impl FnOnce(&mut Known)) {
        let Some(entry) = lock(&self.rooms).get(&room_id).cloned() else { return };
        let mut known = lock(&entry.known);
        known.version += 1;
        change(&mut known);
    }

    fn entry(&self, room_id: RoomId) -> Arc<RoomEntry> {
        let mut rooms = lock(&self.rooms);
        if rooms.len() >= CAPACITY && !rooms.contains_key(&room_id) {
            let horizon = self.clock.load(Ordering::Relaxed).saturating_sub(CAPACITY as u64 / 2);
            // An entry that somebody holds is being loaded or forgotten from: it must not be replaced.
            rooms.retain(|_, entry| Arc::strong_count(entry) > 1 || entry.last_used.load(Ordering::Relaxed) >= horizon);
        }
        let entry = rooms.entry(room_id).or_default().clone();
        entry.last_used.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        entry
    }
}

/// A panic while the lock was held left plain values behind: they are as good as before.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
