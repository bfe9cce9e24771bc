//! The commands: the data and the reply of every operation.
//!
//! [`Command`] is the table of them all. A command's data validates itself while it is decoded.

mod check;
mod message;
mod moderation;
mod people;
mod room;
mod schedule;
mod session;
mod webhook;

use serde::{Serialize, Serializer, de::DeserializeOwned};

use self::check::Checked;
pub use self::{message::*, moderation::*, people::*, room::*, schedule::*, session::*, webhook::*};
use crate::{
    Distinct, ErrorCode, FileId, Maybe, Nonce, ProtocolError, RoomId, RowKey, codec,
    object::{self, Empty, Items, OffsetPage, Page},
};

names! {
    /// How a body is read.
    pub enum Format { Text, Markdown, Html }

    /// The direction of a message list.
    pub enum Order { Desc, Asc }
}

/// What a repeat of a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Changes nothing.
    Read,
    /// Idempotent: a repeat stores and announces nothing and answers the present state.
    Set,
    /// Takes a nonce; with it a repeat answers the first result.
    New,
}

/// Where a command can be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transport {
    /// On the socket alone.
    Socket,
    /// On the socket and as `POST /v1/rpc/{op}`.
    Any,
}

/// A command's data.
pub trait Operation: Serialize + DeserializeOwned + Into<Command> + Send + Sync + 'static {
    /// The `op` of the frame.
    const NAME: &'static str;
    /// What a repeat does.
    const CLASS: Class;
    /// Where it can be given.
    const TRANSPORT: Transport;
    /// The reply's data.
    type Reply: Serialize + DeserializeOwned + Send + 'static;

    /// The nonce that makes a repeat safe.
    fn nonce(&self) -> Option<&Nonce>;

    /// What the fields must be to each other. A decoded command has passed it.
    ///
    /// # Errors
    /// `bad_request`.
    fn check(&self) -> Result<(), ProtocolError>;
}

/// A page's place in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageRequest<'a> {
    /// Where it begins; none is the start.
    pub cursor: Option<&'a str>,
    /// Most items wanted.
    pub limit: usize,
}

macro_rules! operations {
    ($( $variant:ident $name:literal $class:ident $transport:ident $(nonce $nonce:ident)? $(checked $checked:ident)? => $reply:ty; )*) => {
        /// Every command of the protocol; written as its data.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Command {
            $( #[doc = concat!("`", $name, "`")] $variant($variant), )*
        }

        impl Command {
            /// The names of all operations.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// Decodes a command's data from JSON.
            ///
            /// # Errors
            /// `unsupported` for an unknown operation, `bad_request` with the `field` for malformed data.
            pub fn decode(name: &str, data: &str) -> Result<Self, ProtocolError> {
                match name {
                    $( $name => codec::decode_data::<$variant>(data).map(Self::$variant), )*
                    _ => Err(unknown_operation(name)),
                }
            }

            /// The operation's name.
            pub fn name(&self) -> &'static str {
                match self { $( Self::$variant(_) => $name, )* }
            }

            /// What a repeat does.
            pub fn class(&self) -> Class {
                match self { $( Self::$variant(_) => Class::$class, )* }
            }

            /// Where it can be given.
            pub fn transport(&self) -> Transport {
                match self { $( Self::$variant(_) => Transport::$transport, )* }
            }

            /// Reads the JSON of an operation's reply as its type and writes it again: a check of documents
            /// and of other implementations.
            ///
            /// # Errors
            /// `unsupported` for an unknown operation, `bad_request` with the `field` for a malformed reply.
            pub fn recode_reply(name: &str, reply: &str, codec: codec::Codec) -> Result<Vec<u8>, ProtocolError> {
                match name {
                    $( $name => codec::decode_body::<$reply>(reply).map(|reply| codec.encode(&reply)), )*
                    _ => Err(unknown_operation(name)),
                }
            }
        }

        impl Serialize for Command {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self { $( Self::$variant(data) => data.serialize(serializer), )* }
            }
        }

        $(
            impl From<$variant> for Command {
                fn from(data: $variant) -> Self {
                    Self::$variant(data)
                }
            }

            impl Operation for $variant {
                const NAME: &'static str = $name;
                const CLASS: Class = Class::$class;
                const TRANSPORT: Transport = Transport::$transport;
                type Reply = $reply;

                fn nonce(&self) -> Option<&Nonce> {
                    operations!(@nonce self $($nonce)?)
                }

                fn check(&self) -> Result<(), ProtocolError> {
                    operations!(@check self $($checked)?)
                }
            }
        )*

        /// Every operation with the schemas of its data and its reply.
        #[cfg(feature = "codegen")]
        pub(crate) fn schemas(generator: &mut schemars::SchemaGenerator) -> Vec<OperationSchema> {
            vec![$( OperationSchema {
                name: $name,
                class: Class::$class,
                transport: Transport::$transport,
                data: generator.subschema_for::<$variant>(),
                reply: generator.subschema_for::<$reply>(),
            }, )*]
        }
    };
    (@nonce $self:ident nonce) => { $self.nonce.as_ref() };
    (@nonce $self:ident) => { None };
    (@check $self:ident by_hand) => { Checked::check_fields($self) };
    (@check $self:ident) => { Ok(()) };
}

/// An operation, for documents that are made from the types.
#[cfg(feature = "codegen")]
pub(crate) struct OperationSchema {
    pub(crate) name: &'static str,
    pub(crate) class: Class,
    pub(crate) transport: Transport,
    pub(crate) data: schemars::Schema,
    pub(crate) reply: schemars::Schema,
}

fn unknown_operation(name: &str) -> ProtocolError {
    let name: String = name.chars().take(64).collect();
    ProtocolError::new(ErrorCode::Unsupported, format!("unknown operation {name:?}"))
}

operations! {
    SessionHello "session.hello" Set Socket => HelloReply;
    SessionPing "session.ping" Read Socket => PingReply;
    SessionRefresh "session.refresh" Set Socket => RefreshReply;
    SessionList "session.list" Read Any => Items<object::Session>;
    SessionRevoke "session.revoke" Set Any checked by_hand => Empty;
    UserGet "user.get" Read Any => Items<object::User>;
    UserSearch "user.search" Read Any => Page<object::User>;
    UserUpdate "user.update" Set Any checked by_hand => UserReply;

    RoomCreate "room.create" New Any nonce nonce => object::RoomView;
    RoomGet "room.get" Read Any => Maybe<object::RoomView>;
    RoomList "room.list" Read Any => Page<object::RoomView>;
    RoomUpdate "room.update" Set Any checked by_hand => RoomReply;
    RoomDelete "room.delete" Set Any => Empty;
    RoomLeave "room.leave" Set Any => Empty;
    RoomMembers "room.members" Read Any => Page<object::Member>;
    RoomSubscribe "room.subscribe" Set Socket => SubscribeReply;
    RoomUnsubscribe "room.unsubscribe" Set Socket => Empty;
    InviteCreate "invite.create" New Any nonce nonce checked by_hand => InviteReply;
    InviteGet "invite.get" Read Any => InviteGetReply;
    InviteMine "invite.mine" Read Any => Maybe<InviteReply>;
    InviteList "invite.list" Read Any => Page<object::Invite>;
    InviteRevoke "invite.revoke" Set Any => Empty;
    InviteJoin "invite.join" New Any nonce nonce => object::RoomView;
    MembershipGet "membership.get" Read Any => Items<object::Membership>;
    MembershipUpdate "membership.update" Set Any checked by_hand => MembershipUpdateReply;
    MembershipClearMentions "membership.clearMentions" Set Any => MembershipReply;
    CategoryCreate "category.create" New Any nonce nonce => CategoryReply;
    CategoryList "category.list" Read Any => Items<object::Category>;
    CategoryUpdate "category.update" Set Any => CategoryReply;
    CategoryDelete "category.delete" Set Any => Empty;
    CategoryReorder "category.reorder" Set Any => Items<object::Category>;

    MessageSend "message.send" New Any nonce nonce checked by_hand => MessageReply;
    MessageEdit "message.edit" Set Any => MessageReply;
    MessageDelete "message.delete" Set Any => RevReply;
    MessageForward "message.forward" New Any nonce nonce => ForwardReply;
    MessagePin "message.pin" Set Any => RevReply;
    MessageUnpin "message.unpin" Set Any => RevReply;
    MessageList "message.list" Read Any checked by_hand => MessageListReply;
    MessageGet "message.get" Read Any => MessageGetReply;
    MessageThread "message.thread" Read Any => MessageThreadReply;
    MessageSearch "message.search" Read Any => MessageSearchReply;
    MessageSent "message.sent" Read Any => OffsetPage<SentMessage>;
    PollVote "poll.vote" Set Any checked by_hand => PollVoteReply;
    ReactionAdd "reaction.add" Set Any => ReactionReply;
    ReactionRemove "reaction.remove" Set Any => ReactionReply;
    ReactionList "reaction.list" Read Any => Page<ReactionEntry>;
    TypingStart "typing.start" Set Any => Empty;
    ThreadFollow "thread.follow" Set Any => Empty;
    ThreadUnfollow "thread.unfollow" Set Any => Empty;
    ThreadFollowed "thread.followed" Read Any => ThreadFollowedReply;
    PreviewDelete "preview.delete" Set Any => RevReply;

    FileCreateUploads "file.createUploads" New Any nonce nonce => FilesReply;
    FileUrls "file.urls" Read Any => FileUrlsReply;
    FileDiscard "file.discard" Set Any => Empty;
    FileDelete "file.delete" Set Any => RevReply;
    FileCreateImageUpload "file.createImageUpload" New Any nonce nonce checked by_hand => ImageUploadReply;
    EmojiCreateUpload "emoji.createUpload" New Any nonce nonce checked by_hand => EmojiUploadReply;
    EmojiCreate "emoji.create" New Any nonce nonce => EmojiReply;
    EmojiUpdate "emoji.update" Set Any => EmojiReply;
    EmojiDelete "emoji.delete" Set Any => Empty;
    EmojiList "emoji.list" Read Any => Items<object::CustomEmoji>;

    ScheduleReminder "schedule.reminder" New Any nonce nonce => JobReply;
    ScheduleMessage "schedule.message" New Any nonce nonce => JobReply;
    ScheduleReschedule "schedule.reschedule" New Any nonce nonce checked by_hand => JobReply;
    ScheduleCancel "schedule.cancel" Set Any => JobReply;
    ScheduleSendNow "schedule.sendNow" New Any nonce nonce => SendNowReply;
    ScheduleList "schedule.list" Read Any => Page<object::Job>;
    ScheduleMine "schedule.mine" Read Any => Page<JobInRoom>;
    ScheduleCount "schedule.count" Read Any => CountReply;

    RoleCreate "role.create" New Any nonce nonce => RoleReply;
    RoleUpdate "role.update" Set Any checked by_hand => RoleReply;
    RoleDelete "role.delete" Set Any => Empty;
    RoleAssign "role.assign" Set Any => Empty;
    RoleRevoke "role.revoke" Set Any => Empty;
    RoleList "role.list" Read Any => Items<object::Role>;
    RoleMembers "role.members" Read Any => Items<object::MemberRoles>;
    RolePermissions "role.permissions" Read Any => Items<object::RoleSummary>;
    ModerationExecute "moderation.execute" New Any nonce nonce checked by_hand => ModerationReply;
    ModerationBans "moderation.bans" Read Any => Page<object::Ban>;
    ModerationUnban "moderation.unban" Set Any => Empty;
    ModerationLog "moderation.log" Read Any => Page<object::ModerationLogEntry>;
    NoteCreate "note.create" New Any nonce nonce => NoteReply;
    NoteList "note.list" Read Any => Page<object::Note>;
    NoteCount "note.count" Read Any => CountReply;
    FilterGet "filter.get" Read Any => Maybe<FilterReply>;
    FilterSet "filter.set" Set Any checked by_hand => FilterReply;

    WebhookCreate "webhook.create" New Any nonce nonce => WebhookSecretReply;
    WebhookList "webhook.list" Read Any => Items<object::Webhook>;
    WebhookUpdate "webhook.update" Set Any checked by_hand => WebhookReply;
    WebhookRotate "webhook.rotate" New Any nonce nonce => WebhookSecretReply;
    WebhookDelete "webhook.delete" Set Any => Empty;
    AppUserGet "appUser.get" Read Any => Items<object::AppUser>;

    StatusSet "status.set" Set Any checked by_hand => StatusReply;
    StatusGet "status.get" Read Any => Items<object::Status>;
    FriendRequest "friend.request" New Any nonce nonce checked by_hand => FriendRequestReply;
    FriendAccept "friend.accept" Set Any => FriendReply;
    FriendDecline "friend.decline" Set Any => Empty;
    FriendCancel "friend.cancel" Set Any => Empty;
    FriendRemove "friend.remove" Set Any => Empty;
    FriendList "friend.list" Read Any => FriendListReply;
    BlockAdd "block.add" Set Any => Empty;
    BlockRemove "block.remove" Set Any => Empty;
    BlockList "block.list" Read Any => Page<object::User>;
    DmOpen "dm.open" New Any nonce nonce => object::RoomView;
    DmList "dm.list" Read Any => Page<object::RoomView>;
    DmHide "dm.hide" Set Any => Empty;
    DmAdd "dm.add" New Any nonce nonce => object::RoomView;
    DmRemove "dm.remove" Set Any => Empty;
    PushKey "push.key" Read Any => PushKeyReply;
    PushSubscribe "push.subscribe" Set Any checked by_hand => PushSubscriptionReply;
    PushUnsubscribe "push.unsubscribe" Set Any => Empty;
    PushList "push.list" Read Any => Items<object::PushSubscription>;
}

macro_rules! distinct_by {
    ($($type:ty, $key:ty, $field:ident;)*) => { $(
        impl Distinct for $type {
            type Key = $key;

            fn key(&self) -> $key {
                self.$field.clone()
            }
        }
    )* };
}

distinct_by! {
    SubscribeRoom, RoomId, room_id;
    AttachedFile, FileId, file_id;
    FileReference, FileId, file_id;
    FileGrant, FileId, file_id;
}

object! {
    /// A number.
    pub struct CountReply {
        ;
        /// How many.
        count: u64,
    }

    /// The `rev` that a change made.
    pub struct RevReply {
        ;
        /// The message's revision.
        rev: u32,
    }
}

/// A message of a room, named in a command.
pub trait NamesMessage {
    /// The room.
    fn room_id(&self) -> RoomId;
    /// The place in the room.
    fn row_key(&self) -> RowKey;
}

macro_rules! names_message {
    ($($type:ty),* $(,)?) => { $(
        impl NamesMessage for $type {
            fn room_id(&self) -> RoomId {
                self.room_id
            }

            fn row_key(&self) -> RowKey {
                self.row_key
            }
        }
    )* };
}

names_message!(
    MessageEdit,
    MessageDelete,
    MessageForward,
    MessagePin,
    MessageUnpin,
    MessageThread,
    PollVote,
    ReactionAdd,
    ReactionRemove,
    ReactionList,
    ThreadFollow,
    ThreadUnfollow,
    PreviewDelete,
    FileDelete,
);
