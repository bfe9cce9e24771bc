//! What the server tells clients by itself.

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

use crate::{
    ConnectionId, EmojiId, OptionId, Patch, Permissions, RoleId, RoomId, RowKey, Timestamp, UserId,
    object::{
        CustomEmoji, Empty, Job, Member, Membership, Message, MessageChange, MimeCategory, ModerationAction, PollTally,
        Role, RoomView, Status, User,
    },
    operation::Verdict,
};

names! {
    /// How a membership ended.
    pub enum LeaveReason { Left, Kicked, Banned, Removed }

    /// Why a subscription ended.
    pub enum UnsubscribeReason { Left, Kicked, Banned, Deleted, Revoked }

    /// Why a room appeared.
    pub enum AddReason { Created, Joined, Added, Opened, Restored }

    /// Why a room vanished.
    pub enum RemoveReason { Left, Kicked, Banned, Deleted, Hidden }

    /// What happened between friends.
    pub enum FriendChange { Requested, Accepted, Declined, Cancelled, Removed }
}

object! {
    /// A message was stored.
    pub struct MessageCreated {
        /// The message, without `mine`.
        message: Message,
    }

    /// A message was changed.
    pub struct MessageUpdated {
        /// Which.
        row_key: RowKey,
        /// Its revision after the change.
        rev: u32,
        /// What is different.
        changes: MessageChange,
    }

    /// A message was deleted: final.
    pub struct MessageDeleted {
        /// Which.
        row_key: RowKey,
        /// Its revision after the change.
        rev: u32,
    }

    /// Messages were purged: final for each.
    pub struct MessagePurged {
        /// Which; 1 to 100.
        row_keys: Vec<RowKey>,
    }

    /// A reaction was added or removed; replaces the reaction of that emoji.
    pub struct ReactionChanged {
        /// The message.
        row_key: RowKey,
        /// Its revision after the change.
        rev: u32,
        /// The emoji.
        emoji: String,
        /// Who did it.
        user_id: UserId,
        ;
        /// How many after it; none is gone.
        count: u32,
        /// Who, at most 10.
        user_ids: Vec<UserId>,
    }

    /// A vote was given, moved or withdrawn.
    pub struct PollVoted {
        /// The poll.
        row_key: RowKey,
        /// Its revision after the change.
        rev: u32,
        /// Who voted.
        user_id: UserId,
        ;
        /// For what; none is withdrawn.
        option_id: Option<OptionId>,
        /// The tallies after it.
        options: Vec<PollTally>,
    }

    /// Settings were changed.
    pub struct RoomUpdated {
        /// What is different.
        changes: RoomDelta,
        /// By whom.
        user_id: UserId,
    }

    /// Changed settings: absent is unchanged, `null` is cleared.
    #[derive(Default)]
    pub struct RoomDelta {
        ;
        /// The name.
        name: Option<String>,
        /// The topic.
        topic: Patch<String>,
        /// Image address.
        image: Patch<String>,
        /// Whether only ManageMessages may write.
        is_read_only: Option<bool>,
        /// Whether invites are out of use.
        is_invite_paused: Option<bool>,
        /// Time between two sends of a member, in ms.
        slowmode_ms: Patch<u64>,
        /// Largest file in bytes.
        max_file_size_bytes: Patch<u64>,
        /// Kinds of files that are accepted.
        allowed_mime_categories: Option<Vec<MimeCategory>>,
        /// When settings were last changed.
        updated_at: Option<Timestamp>,
    }

    /// The room is gone.
    pub struct RoomDeleted {
        /// By whom.
        user_id: UserId,
    }

    /// Somebody joined.
    pub struct MemberJoined {
        /// Who.
        member: Member,
        ;
        /// Who added them.
        by_user_id: Option<UserId>,
    }

    /// Somebody left.
    pub struct MemberLeft {
        /// Who.
        user_id: UserId,
        /// How.
        reason: LeaveReason,
        ;
        /// Who ended it.
        by_user_id: Option<UserId>,
    }

    /// A member was changed.
    pub struct MemberUpdated {
        /// Who.
        user_id: UserId,
        /// What is different.
        changes: MemberDelta,
    }

    /// Changes of a member: absent is unchanged, `null` is cleared.
    #[derive(Default)]
    pub struct MemberDelta {
        ;
        /// The name shown here.
        nickname: Patch<String>,
        /// Until when they may not write.
        timeout_until: Patch<Timestamp>,
    }

    /// A role was made.
    pub struct RoleCreated {
        /// The role.
        role: Role,
    }

    /// A role was changed.
    pub struct RoleUpdated {
        /// Which.
        role_id: RoleId,
        /// What is different.
        changes: RoleDelta,
    }

    /// Changes of a role: absent is unchanged, `null` is cleared.
    #[derive(Default)]
    pub struct RoleDelta {
        ;
        /// Its name.
        name: Option<String>,
        /// Its colour.
        color: Patch<String>,
        /// What it grants.
        permissions: Option<Permissions>,
        /// Its place.
        position: Option<u32>,
        /// When it was changed.
        updated_at: Option<Timestamp>,
    }

    /// A role was deleted.
    pub struct RoleDeleted {
        /// Which.
        role_id: RoleId,
    }

    /// A role was assigned or revoked.
    pub struct RoleAssignment {
        /// Which.
        role_id: RoleId,
        /// Whose.
        user_id: UserId,
    }

    /// A custom emoji was made.
    pub struct EmojiCreated {
        /// The emoji, without address.
        emoji: CustomEmoji,
    }

    /// A custom emoji was renamed.
    pub struct EmojiUpdated {
        /// Which.
        emoji_id: EmojiId,
        /// What is different.
        changes: EmojiDelta,
    }

    /// Changes of a custom emoji.
    pub struct EmojiDelta {
        ;
        /// Its name.
        name: Option<String>,
    }

    /// A custom emoji was deleted.
    pub struct EmojiDeleted {
        /// Which.
        emoji_id: EmojiId,
    }

    /// What was missed, folded.
    pub struct CatchUp {
        ;
        /// Durable events, oldest first.
        entries: Vec<CatchUpEntry>,
        /// The position after this page.
        seq: u64,
        /// Whether this is the last page.
        done: bool,
    }

    /// Live events were dropped; the room goes on from the store.
    pub struct Behind {
        /// `exact` or `gap`.
        verdict: Verdict,
        ;
        /// The last entry that was delivered.
        seq: u64,
        /// The room's head.
        head: u64,
    }

    /// A subscription ended.
    pub struct Unsubscribed {
        /// Why.
        reason: UnsubscribeReason,
    }

    /// Somebody types.
    pub struct TypingStarted {
        /// Who.
        user_id: UserId,
        /// As shown in the room.
        name: String,
        /// On which socket.
        connection_id: ConnectionId,
    }

    /// One's own membership was changed.
    pub struct MembershipUpdated {
        /// The membership.
        membership: Membership,
    }

    /// A room vanished.
    pub struct RoomRemoved {
        /// Which.
        room_id: RoomId,
        /// Why.
        reason: RemoveReason,
    }

    /// A moderator, or the word filter, acted on the receiver.
    pub struct ModerationActed {
        /// Where.
        room_id: RoomId,
        /// What was done.
        r#type: ModerationAction,
        ;
        /// For how long, in ms.
        duration_ms: Option<u64>,
        /// Why.
        reason: String,
    }

    /// A job changed.
    pub struct JobUpdated {
        /// The job.
        job: Job,
    }

    /// Presence changed.
    pub struct StatusChanged {
        /// The status.
        status: Status,
    }

    /// An account changed.
    pub struct UserUpdated {
        /// The account.
        user: User,
    }

    /// Something happened between friends.
    pub struct FriendChanged {
        /// What.
        change: FriendChange,
        /// The other party.
        user: User,
    }

    /// The session ends soon.
    pub struct SessionExpiring {
        /// In how many ms.
        in_ms: u64,
    }
}

/// A room appeared: a view and the reason.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "codegen", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct RoomAdded {
    /// The room.
    #[serde(flatten)]
    pub view: RoomView,
    /// Why.
    pub reason: AddReason,
}

macro_rules! events {
    ($( $(#[$meta:meta])* pub enum $name:ident { $( $wire:literal $variant:ident($data:ty) ),* $(,)? } )*) => { $(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub enum $name {
            $( #[doc = concat!("`", $wire, "`")] $variant(Box<$data>), )*
        }

        impl $name {
            /// The names of all events of this kind.
            pub const NAMES: &'static [&'static str] = &[$($wire),*];

            /// The event's name.
            pub fn name(&self) -> &'static str {
                match self { $( Self::$variant(_) => $wire, )* }
            }

            /// The event of a name and its data; none for a name of a newer server.
            ///
            /// # Errors
            /// When the data is not of the event's form.
            pub fn decode(name: &str, data: Value) -> Option<Result<Self, serde_json::Error>> {
                Some(match name {
                    $( $wire => serde_json::from_value(data).map(|data| Self::$variant(Box::new(data))), )*
                    _ => return None,
                })
            }

            fn decode_json(name: &str, data: &str) -> Option<Result<Self, serde_json::Error>> {
                Some(match name {
                    $( $wire => serde_json::from_str(data).map(|data| Self::$variant(Box::new(data))), )*
                    _ => return None,
                })
            }

            fn serialize_data<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                match self { $( Self::$variant(data) => map.serialize_entry("data", data), )* }
            }

            /// Schemas of every event's data, by name.
            #[cfg(feature = "codegen")]
            pub(crate) fn schemas(generator: &mut schemars::SchemaGenerator) -> Vec<(&'static str, schemars::Schema)> {
                vec![$( ($wire, generator.subschema_for::<$data>()), )*]
            }
        }
    )* };
}

events! {
    /// A durable room event: it has a `seq` and is never lost.
    pub enum DurableEvent {
        "message.created" MessageCreated(MessageCreated),
        "message.updated" MessageUpdated(MessageUpdated),
        "message.deleted" MessageDeleted(MessageDeleted),
        "message.purged" MessagePurged(MessagePurged),
        "reaction.added" ReactionAdded(ReactionChanged),
        "reaction.removed" ReactionRemoved(ReactionChanged),
        "poll.voted" PollVoted(PollVoted),
        "room.updated" RoomUpdated(RoomUpdated),
        "room.deleted" RoomDeleted(RoomDeleted),
        "member.joined" MemberJoined(MemberJoined),
        "member.left" MemberLeft(MemberLeft),
        "member.updated" MemberUpdated(MemberUpdated),
        "role.created" RoleCreated(RoleCreated),
        "role.updated" RoleUpdated(RoleUpdated),
        "role.deleted" RoleDeleted(RoleDeleted),
        "role.assigned" RoleAssigned(RoleAssignment),
        "role.revoked" RoleRevoked(RoleAssignment),
        "emoji.created" EmojiCreated(EmojiCreated),
        "emoji.updated" EmojiUpdated(EmojiUpdated),
        "emoji.deleted" EmojiDeleted(EmojiDeleted),
    }

    /// A control event: about one subscription of one connection, in order with its durable events.
    pub enum ControlEvent {
        "room.catchUp" CatchUp(CatchUp),
        "room.advanced" Advanced(Empty),
        "room.behind" Behind(Behind),
        "room.unsubscribed" Unsubscribed(Unsubscribed),
    }

    /// An ephemeral room event: a hint, dropped first when a connection is slow.
    pub enum EphemeralEvent {
        "typing.started" TypingStarted(TypingStarted),
    }

    /// A user event: to all connections of one user, not replayed.
    pub enum UserEvent {
        "membership.updated" MembershipUpdated(MembershipUpdated),
        "room.added" RoomAdded(RoomAdded),
        "room.removed" RoomRemoved(RoomRemoved),
        "moderation.action" ModerationAction(ModerationActed),
        "job.updated" JobUpdated(JobUpdated),
        "status.changed" StatusChanged(StatusChanged),
        "user.updated" UserUpdated(UserUpdated),
        "friend.changed" FriendChanged(FriendChanged),
        "user.behind" UserBehind(Empty),
        "session.expiring" SessionExpiring(SessionExpiring),
    }
}

/// An event frame.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A durable room event.
    Durable {
        /// The room.
        room_id: RoomId,
        /// Its place in the room's log.
        seq: u64,
        /// What happened.
        event: DurableEvent,
    },
    /// A control event.
    Control {
        /// The room.
        room_id: RoomId,
        /// The subscription.
        sub: u64,
        /// The position it stands for; `room.advanced` only.
        seq: Option<u64>,
        /// What happened.
        event: ControlEvent,
    },
    /// An ephemeral room event.
    Ephemeral {
        /// The room.
        room_id: RoomId,
        /// What happened.
        event: EphemeralEvent,
    },
    /// A user event.
    User(UserEvent),
}

impl Event {
    /// The event's name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Durable { event, .. } => event.name(),
            Self::Control { event, .. } => event.name(),
            Self::Ephemeral { event, .. } => event.name(),
            Self::User(event) => event.name(),
        }
    }

    /// Decodes the parts of an event frame; none for an event that this version does not know.
    ///
    /// # Errors
    /// When the data is not of the event's form, or a room event names no room.
    pub fn decode(parts: EventParts) -> Result<Option<Self>, serde_json::Error> {
        let EventParts { event: name, room_id, seq, sub, data } = parts;
        let data = if data.is_null() { Value::Object(serde_json::Map::new()) } else { data };
        let place = Place { room_id, seq, sub };
        if DurableEvent::NAMES.contains(&name.as_str()) {
            return DurableEvent::decode(&name, data).transpose()?.map(|event| place.durable(event)).transpose();
        }
        if ControlEvent::NAMES.contains(&name.as_str()) {
            return ControlEvent::decode(&name, data).transpose()?.map(|event| place.control(event)).transpose();
        }
        if EphemeralEvent::NAMES.contains(&name.as_str()) {
            return EphemeralEvent::decode(&name, data).transpose()?.map(|event| place.ephemeral(event)).transpose();
        }
        Ok(UserEvent::decode(&name, data).transpose()?.map(Self::User))
    }

    /// As [`Event::decode`], from JSON text, without a tree in between.
    pub(crate) fn decode_json(name: &str, place: Place, data: &str) -> Result<Option<Self>, serde_json::Error> {
        if let Some(event) = DurableEvent::decode_json(name, data) {
            return place.durable(event?).map(Some);
        }
        if let Some(event) = ControlEvent::decode_json(name, data) {
            return place.control(event?).map(Some);
        }
        if let Some(event) = EphemeralEvent::decode_json(name, data) {
            return place.ephemeral(event?).map(Some);
        }
        Ok(UserEvent::decode_json(name, data).transpose()?.map(Self::User))
    }
}

/// Where an event belongs, as its frame says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) room_id: Option<RoomId>,
    pub(crate) seq: Option<u64>,
    pub(crate) sub: Option<u64>,
}

impl Place {
    fn room_id(self) -> Result<RoomId, serde_json::Error> {
        use serde::de::Error;
        self.room_id.ok_or_else(|| serde_json::Error::custom("a room event without roomId"))
    }

    fn durable(self, event: DurableEvent) -> Result<Event, serde_json::Error> {
        Ok(Event::Durable { room_id: self.room_id()?, seq: self.seq.unwrap_or(0), event })
    }

    fn control(self, event: ControlEvent) -> Result<Event, serde_json::Error> {
        Ok(Event::Control { room_id: self.room_id()?, sub: self.sub.unwrap_or(0), seq: self.seq, event })
    }

    fn ephemeral(self, event: EphemeralEvent) -> Result<Event, serde_json::Error> {
        Ok(Event::Ephemeral { room_id: self.room_id()?, event })
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(match self {
            Self::Durable { .. } => 4,
            Self::Control { seq, event, .. } => {
                3 + usize::from(seq.is_some()) + usize::from(!matches!(event, ControlEvent::Advanced(_)))
            }
            Self::Ephemeral { .. } => 3,
            Self::User(_) => 2,
        }))?;
        map.serialize_entry("event", self.name())?;
        match self {
            Self::Durable { room_id, seq, event } => {
                map.serialize_entry("roomId", room_id)?;
                map.serialize_entry("seq", seq)?;
                event.serialize_data(&mut map)?;
            }
            Self::Control { room_id, sub, seq, event } => {
                map.serialize_entry("roomId", room_id)?;
                map.serialize_entry("sub", sub)?;
                if let Some(seq) = seq {
                    map.serialize_entry("seq", seq)?;
                }
                if !matches!(event, ControlEvent::Advanced(_)) {
                    event.serialize_data(&mut map)?;
                }
            }
            Self::Ephemeral { room_id, event } => {
                map.serialize_entry("roomId", room_id)?;
                event.serialize_data(&mut map)?;
            }
            Self::User(event) => event.serialize_data(&mut map)?,
        }
        map.end()
    }
}

/// The frame of a durable event that is kept elsewhere.
#[derive(Debug, Clone, Copy)]
pub struct DurableFrame<'a> {
    /// The room.
    pub room_id: RoomId,
    /// Its place in the room's log.
    pub seq: u64,
    /// What happened.
    pub event: &'a DurableEvent,
}

impl Serialize for DurableFrame<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("event", self.event.name())?;
        map.serialize_entry("roomId", &self.room_id)?;
        map.serialize_entry("seq", &self.seq)?;
        self.event.serialize_data(&mut map)?;
        map.end()
    }
}

/// The parts of an event frame before its data is understood.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EventParts {
    /// The event's name.
    pub event: String,
    /// The room.
    #[serde(default)]
    pub room_id: Option<RoomId>,
    /// The place in the room's log.
    #[serde(default)]
    pub seq: Option<u64>,
    /// The subscription.
    #[serde(default)]
    pub sub: Option<u64>,
    /// The event's data.
    #[serde(default)]
    pub data: Value,
}

/// A durable event inside of `room.catchUp`.
#[derive(Debug, Clone, PartialEq)]
pub struct CatchUpEntry {
    /// The room.
    pub room_id: RoomId,
    /// The place in the log: of the message's last change.
    pub seq: u64,
    /// What happened; none for an event that this version does not know.
    pub event: Option<DurableEvent>,
}

impl Serialize for CatchUpEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(event) = &self.event {
            map.serialize_entry("event", event.name())?;
            map.serialize_entry("roomId", &self.room_id)?;
            map.serialize_entry("seq", &self.seq)?;
            event.serialize_data(&mut map)?;
        }
        map.end()
    }
}

impl<'de> serde::Deserialize<'de> for CatchUpEntry {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        let parts = EventParts::deserialize(deserializer)?;
        let room_id = parts.room_id.ok_or_else(|| D::Error::missing_field("roomId"))?;
        let event = DurableEvent::decode(&parts.event, parts.data).transpose().map_err(D::Error::custom)?;
        Ok(Self { room_id, seq: parts.seq.unwrap_or(0), event })
    }
}

#[cfg(feature = "codegen")]
impl schemars::JsonSchema for CatchUpEntry {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CatchUpEntry".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let room_id = generator.subschema_for::<RoomId>();
        let events: Vec<_> = DurableEvent::schemas(generator)
            .into_iter()
            .map(|(name, data)| {
                schemars::json_schema!({
                    "type": "object",
                    "properties": {
                        "event": { "const": name }, "roomId": room_id, "seq": { "type": "integer" },
                        "data": data
                    },
                    "required": ["event", "roomId", "seq", "data"]
                })
            })
            .collect();
        schemars::json_schema!({ "description": "A durable event.", "oneOf": events })
    }
}
