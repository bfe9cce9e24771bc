//! Every operation on one screen. Both transports come here; what belongs to a socket alone is in `ws/dispatch.rs`.

use parlour_protocol::{Command, ErrorCode, ProtocolError, codec::Codec};
use serde::Serialize;

use crate::{
    accounts, accounts::caller::Caller, app::AppState, files, filter, messages, moderation, people, push, rooms,
    schedule, search, webhooks,
};

/// Runs a command; the encoded `data` of its reply.
///
/// # Errors
/// What the operation refuses; `unsupported` for what exists on the socket alone.
pub(crate) async fn dispatch(
    state: &AppState,
    caller: &Caller,
    command: Command,
    codec: Codec,
) -> Result<Vec<u8>, ProtocolError> {
    let reply = Reply(codec);
    match command {
        Command::SessionList(data) => reply.of(accounts::operations::session_list(state, caller, data).await),
        Command::SessionRevoke(data) => reply.of(accounts::operations::session_revoke(state, caller, data).await),
        Command::UserGet(data) => reply.of(accounts::operations::user_get(state, caller, data).await),
        Command::UserSearch(data) => reply.of(accounts::operations::user_search(state, caller, data).await),
        Command::UserUpdate(data) => reply.of(accounts::operations::user_update(state, caller, data).await),

        Command::RoomCreate(data) => reply.of(rooms::create::create(state, caller, data).await),
        Command::RoomGet(data) => reply.of(rooms::read::get(state, caller, data).await),
        Command::RoomList(data) => reply.of(rooms::read::list(state, caller, data).await),
        Command::RoomUpdate(data) => reply.of(rooms::update::update(state, caller, data).await),
        Command::RoomDelete(data) => reply.of(rooms::update::delete(state, caller, data).await),
        Command::RoomLeave(data) => reply.of(rooms::leave::leave(state, caller, data).await),
        Command::RoomMembers(data) => reply.of(rooms::members::list(state, caller, data).await),

        Command::InviteCreate(data) => reply.of(rooms::invites::create(state, caller, data).await),
        Command::InviteGet(data) => reply.of(rooms::invites::get(state, caller, data).await),
        Command::InviteMine(data) => reply.of(rooms::invites::mine(state, caller, data).await),
        Command::InviteList(data) => reply.of(rooms::invites::list(state, caller, data).await),
        Command::InviteRevoke(data) => reply.of(rooms::invites::revoke(state, caller, data).await),
        Command::InviteJoin(data) => reply.of(rooms::join::join(state, caller, data).await),

        Command::MembershipGet(data) => reply.of(rooms::memberships::get(state, caller, data).await),
        Command::MembershipUpdate(data) => reply.of(rooms::memberships::update(state, caller, data).await),
        Command::MembershipClearMentions(data) => {
            reply.of(rooms::memberships::clear_mentions(state, caller, data).await)
        }
        Command::CategoryCreate(data) => reply.of(rooms::categories::create(state, caller, data).await),
        Command::CategoryList(data) => reply.of(rooms::categories::list(state, caller, data).await),
        Command::CategoryUpdate(data) => reply.of(rooms::categories::update(state, caller, data).await),
        Command::CategoryDelete(data) => reply.of(rooms::categories::delete(state, caller, data).await),
        Command::CategoryReorder(data) => reply.of(rooms::categories::reorder(state, caller, data).await),
        Command::RoleList(data) => reply.of(rooms::roles::list(state, caller, data).await),
        Command::RoleMembers(data) => reply.of(rooms::roles::of_members(state, caller, data).await),
        Command::RolePermissions(data) => reply.of(rooms::roles::permissions(state, caller, data).await),
        Command::RoleCreate(data) => reply.of(rooms::role_changes::create(state, caller, data).await),
        Command::RoleUpdate(data) => reply.of(rooms::role_changes::update(state, caller, data).await),
        Command::RoleDelete(data) => reply.of(rooms::role_changes::delete(state, caller, data).await),
        Command::RoleAssign(data) => reply.of(rooms::role_changes::assign(state, caller, data).await),
        Command::RoleRevoke(data) => reply.of(rooms::role_changes::revoke(state, caller, data).await),
        Command::ModerationExecute(data) => reply.of(moderation::actions::execute(state, caller, data).await),
        Command::ModerationBans(data) => reply.of(moderation::records::bans(state, caller, data).await),
        Command::ModerationUnban(data) => reply.of(moderation::actions::unban(state, caller, data).await),
        Command::ModerationLog(data) => reply.of(moderation::records::log(state, caller, data).await),
        Command::NoteCreate(data) => reply.of(moderation::notes::create(state, caller, data).await),
        Command::NoteList(data) => reply.of(moderation::notes::list(state, caller, data).await),
        Command::NoteCount(data) => reply.of(moderation::notes::count(state, caller, data).await),
        Command::FilterGet(data) => reply.of(filter::settings::get(state, caller, data).await),
        Command::FilterSet(data) => reply.of(filter::settings::set(state, caller, data).await),

        Command::MessageSend(data) => reply.of(messages::send::send(state, caller, data).await),
        Command::MessageEdit(data) => reply.of(messages::edit::edit(state, caller, data).await),
        Command::MessageDelete(data) => reply.of(messages::delete::delete(state, caller, data).await),
        Command::MessageList(data) => reply.of(messages::read::list(state, caller, data).await),
        Command::MessageGet(data) => reply.of(messages::read::get(state, caller, data).await),
        Command::MessageThread(data) => reply.of(messages::read::thread(state, caller, data).await),
        Command::MessageForward(data) => reply.of(messages::forward::forward(state, caller, data).await),
        Command::MessagePin(data) => reply.of(messages::pins::pin(state, caller, data).await),
        Command::MessageUnpin(data) => reply.of(messages::pins::unpin(state, caller, data).await),
        Command::PollVote(data) => reply.of(messages::polls::vote(state, caller, data).await),
        Command::ReactionAdd(data) => reply.of(messages::reactions::add(state, caller, data).await),
        Command::ReactionRemove(data) => reply.of(messages::reactions::remove(state, caller, data).await),
        Command::ReactionList(data) => reply.of(messages::reactions::list(state, caller, data).await),
        Command::ThreadFollow(data) => reply.of(messages::threads::follow(state, caller, data).await),
        Command::ThreadUnfollow(data) => reply.of(messages::threads::unfollow(state, caller, data).await),
        Command::ThreadFollowed(data) => reply.of(messages::threads::followed(state, caller, data).await),
        Command::PreviewDelete(data) => reply.of(messages::previews::delete(state, caller, data).await),
        Command::TypingStart(data) => reply.of(messages::typing::start(state, caller, data).await),

        Command::StatusSet(data) => reply.of(people::status::set(state, caller, data).await),
        Command::StatusGet(data) => reply.of(people::status::get(state, caller, data).await),
        Command::FriendRequest(data) => reply.of(people::friends::request(state, caller, data).await),
        Command::FriendAccept(data) => reply.of(people::friends::accept(state, caller, data).await),
        Command::FriendDecline(data) => reply.of(people::friends::decline(state, caller, data).await),
        Command::FriendCancel(data) => reply.of(people::friends::cancel(state, caller, data).await),
        Command::FriendRemove(data) => reply.of(people::friends::remove(state, caller, data).await),
        Command::FriendList(data) => reply.of(people::friends::list(state, caller, data).await),
        Command::BlockAdd(data) => reply.of(people::blocks::add(state, caller, data).await),
        Command::BlockRemove(data) => reply.of(people::blocks::remove(state, caller, data).await),
        Command::BlockList(data) => reply.of(people::blocks::list(state, caller, data).await),

        Command::DmOpen(data) => reply.of(people::direct_messages::open(state, caller, data).await),
        Command::DmList(data) => reply.of(people::direct_messages::list(state, caller, data).await),
        Command::DmHide(data) => reply.of(people::direct_messages::hide(state, caller, data).await),
        Command::DmAdd(data) => reply.of(people::direct_messages::add(state, caller, data).await),
        Command::DmRemove(data) => reply.of(people::direct_messages::remove(state, caller, data).await),

        Command::EmojiCreateUpload(data) => reply.of(rooms::emoji::create_upload(state, caller, data).await),
        Command::EmojiCreate(data) => reply.of(rooms::emoji::create(state, caller, data).await),
        Command::EmojiUpdate(data) => reply.of(rooms::emoji::update(state, caller, data).await),
        Command::EmojiDelete(data) => reply.of(rooms::emoji::delete(state, caller, data).await),
        Command::EmojiList(data) => reply.of(rooms::emoji::list(state, caller, data).await),

        Command::WebhookCreate(data) => reply.of(webhooks::create(state, caller, data).await),
        Command::WebhookList(data) => reply.of(webhooks::list(state, caller, data).await),
        Command::WebhookUpdate(data) => reply.of(webhooks::update(state, caller, data).await),
        Command::WebhookRotate(data) => reply.of(webhooks::rotate(state, caller, data).await),
        Command::WebhookDelete(data) => reply.of(webhooks::delete(state, caller, data).await),
        Command::AppUserGet(data) => reply.of(webhooks::app_users(state, caller, data).await),

        Command::MessageSearch(data) => reply.of(search::search(state, caller, data).await),
        Command::MessageSent(data) => reply.of(search::sent(state, caller, data).await),

        Command::FileCreateUploads(data) => reply.of(files::uploads::create(state, caller, data).await),
        Command::FileUrls(data) => reply.of(files::urls::urls(state, caller, data).await),
        Command::FileDiscard(data) => reply.of(files::discard::discard(state, caller, data).await),
        Command::FileDelete(data) => reply.of(files::delete::delete(state, caller, data).await),
        Command::FileCreateImageUpload(data) => reply.of(files::images::create(state, caller, data).await),

        Command::PushKey(data) => reply.of(push::key(state, caller, data).await),
        Command::PushSubscribe(data) => reply.of(push::subscribe(state, caller, data).await),
        Command::PushUnsubscribe(data) => reply.of(push::unsubscribe(state, caller, data).await),
        Command::PushList(data) => reply.of(push::list(state, caller, data).await),

        Command::SessionHello(_)
        | Command::SessionPing(_)
        | Command::SessionRefresh(_)
        | Command::RoomSubscribe(_)
        | Command::RoomUnsubscribe(_) => Err(unsupported(command.name(), "exists on the socket alone")),

        Command::ScheduleReminder(data) => reply.of(schedule::reminder::reminder(state, caller, data).await),
        Command::ScheduleMessage(data) => reply.of(schedule::message::message(state, caller, data).await),
        Command::ScheduleReschedule(data) => reply.of(schedule::reschedule::reschedule(state, caller, data).await),
        Command::ScheduleCancel(data) => reply.of(schedule::cancel::cancel(state, caller, data).await),
        Command::ScheduleSendNow(data) => reply.of(schedule::send_now::send_now(state, caller, data).await),
        Command::ScheduleList(data) => reply.of(schedule::list::list(state, caller, data).await),
        Command::ScheduleMine(data) => reply.of(schedule::list::mine(state, caller, data).await),
        Command::ScheduleCount(data) => reply.of(schedule::list::count(state, caller, data).await),
    }
}

struct Reply(Codec);

impl Reply {
    fn of<T: Serialize>(&self, outcome: Result<T, ProtocolError>) -> Result<Vec<u8>, ProtocolError> {
        outcome.map(|reply| self.0.encode(&reply))
    }
}

fn unsupported(operation: &str, reason: &str) -> ProtocolError {
    ProtocolError::new(ErrorCode::Unsupported, format!("{operation} {reason}"))
}
