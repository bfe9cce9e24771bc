//! Roles, moderation and purges.

use parlour_protocol::{
    DurableEvent, LogEntryId, Permissions, RoleId, RoomId, RowKey, Timestamp, UserId,
    event::RoleDelta,
    object::{ModerationAction, ModerationLogEntry, Role},
};

use super::{
    conformance,
    subject::{Subject, text},
};
use crate::store::{AppendError, Appended, Automod, Effect, Moderate, Origin, RejectedMessage, RoleChange, RoomChange};

fn names(appended: &Appended) -> Vec<&'static str> {
    appended.entries.iter().map(|entry| entry.event.name()).collect()
}

fn entry(room_id: RoomId, action: ModerationAction, actor: UserId, target: UserId) -> ModerationLogEntry {
    ModerationLogEntry {
        id: LogEntryId::new(),
        room_id,
        r#type: action,
        actor_user_id: actor,
        target_user_id: target,
        duration_ms: None,
        reason: "because".to_owned(),
        created_at: Some(Timestamp::from_millis(1)),
    }
}

fn moderate(room_id: RoomId, action: ModerationAction, actor: UserId, target: UserId, effect: Effect) -> RoomChange {
    let entry = entry(room_id, action, actor, target);
    RoomChange::Moderate(Box::new(Moderate { entry, effect, first: None }))
}

fn role(room_id: RoomId) -> Role {
    Role {
        role_id: RoleId::new(),
        room_id,
        name: "keepers".to_owned(),
        color: String::new(),
        position: 3,
        permissions: Permissions::KICK_MEMBERS,
        is_everyone: false,
        created_at: Some(Timestamp::from_millis(1)),
        updated_at: Some(Timestamp::from_millis(1)),
    }
}

const ENTRIES: &str = "select count(*) from moderation_log where room_id = $1";

async fn roles_change_once(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let role = role(room_id);
    let (role_id, change) = (role.role_id, |change| RoomChange::Role(Box::new(change)));
    let create = RoleChange::Create { role: role.clone(), most: 1, first: None };
    let created = subject.apply(room_id, change(create)).await.unwrap();
    assert_eq!(names(&created), ["role.created"]);
    let full = RoleChange::Create { role, most: 1, first: None };
    let full = subject.apply(room_id, change(full)).await;
    assert!(matches!(full, Err(AppendError::TooMany(_))), "{full:?}");
    let changes = RoleDelta { position: Some(5), ..RoleDelta::default() };
    for expected in [vec!["role.updated"], vec![]] {
        let update = RoleChange::Update { role_id, changes: changes.clone() };
        assert_eq!(names(&subject.apply(room_id, change(update)).await.unwrap()), expected);
    }
    for expected in [vec!["role.assigned"], vec![]] {
        let assign = RoleChange::Assign { role_id, user_id: owner };
        assert_eq!(names(&subject.apply(room_id, change(assign)).await.unwrap()), expected);
    }
    let stranger = RoleChange::Assign { role_id, user_id: UserId::new() };
    let stranger = subject.apply(room_id, change(stranger)).await;
    assert!(matches!(stranger, Err(AppendError::NotFound("member"))), "{stranger:?}");
    for expected in [vec!["role.revoked"], vec![]] {
        let revoke = RoleChange::Revoke { role_id, user_id: owner };
        assert_eq!(names(&subject.apply(room_id, change(revoke)).await.unwrap()), expected);
    }
    subject.apply(room_id, change(RoleChange::Assign { role_id, user_id: owner })).await.unwrap();
    let deleted = subject.apply(room_id, change(RoleChange::Delete { role_id })).await.unwrap();
    assert_eq!(names(&deleted), ["role.deleted"]);
    assert_eq!(subject.count("select count(*) from member_role where room_id = $1", room_id).await, 0);
    let gone = subject.apply(room_id, change(RoleChange::Delete { role_id })).await;
    assert!(matches!(gone, Err(AppendError::NotFound("role"))), "{gone:?}");
}

async fn an_action_and_its_entry_are_one_commit(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let guest = subject.account("guest").await;
    let kick = || moderate(room_id, ModerationAction::KickFromRoom, owner, guest, Effect::Kick);
    let early = subject.apply(room_id, kick()).await;
    assert!(matches!(early, Err(AppendError::NotFound("member"))), "{early:?}");
    assert_eq!(subject.count(ENTRIES, room_id).await, 0, "what is refused leaves no entry");
    subject.join(room_id, guest).await.unwrap();
    let warn = moderate(room_id, ModerationAction::Warn, owner, guest, Effect::Nothing);
    assert!(subject.apply(room_id, warn).await.unwrap().entries.is_empty());
    assert_eq!(subject.count(ENTRIES, room_id).await, 1, "an action without an event is stored too");
    let until = Timestamp::from_millis(5_000);
    let timeout = moderate(room_id, ModerationAction::TimeoutUser, owner, guest, Effect::Timeout(until));
    assert_eq!(names(&subject.apply(room_id, timeout).await.unwrap()), ["member.updated"]);
    let kicked = subject.apply(room_id, kick()).await.unwrap();
    assert_eq!(names(&kicked), ["member.left", "message.created"]);
    assert_eq!(subject.all(room_id).await[0].message, "guest was kicked");
    let ban = || moderate(room_id, ModerationAction::CreateBan, owner, guest, Effect::Ban { purges: false });
    for _ in 0..2 {
        assert!(subject.apply(room_id, ban()).await.unwrap().entries.is_empty(), "nobody was in the room");
    }
    assert_eq!(subject.count("select count(*) from ban where room_id = $1", room_id).await, 1);
    assert!(matches!(subject.join(room_id, guest).await, Err(AppendError::Banned)));
    let unban = || moderate(room_id, ModerationAction::DeleteBan, owner, guest, Effect::Unban);
    subject.apply(room_id, unban()).await.unwrap();
    let again = subject.apply(room_id, unban()).await;
    assert!(matches!(again, Err(AppendError::NotFound("ban"))), "{again:?}");
    subject.join(room_id, guest).await.unwrap();
    assert_eq!(subject.count(ENTRIES, room_id).await, 6);
}

async fn the_filter_acts_once_and_never_shortens(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let automod = |nonce: Option<&str>, until: i64, slowmode_ms| {
        let entry = entry(room_id, ModerationAction::TimeoutUser, owner, owner);
        let nonce = nonce.map(str::to_owned);
        RoomChange::Automod(Box::new(Automod {
            user_id: owner,
            rejected: RejectedMessage { origin: Origin::Live, nonce, slowmode_ms, job: None },
            entry: Some(entry),
            until: Some(Timestamp::from_millis(until)),
        }))
    };
    let until = "select timeout_until from member where room_id = $1";
    assert_eq!(names(&subject.apply(room_id, automod(Some("a"), 9_000, None)).await.unwrap()), ["member.updated"]);
    let repeat = subject.apply(room_id, automod(Some("a"), 99_000, None)).await;
    assert!(matches!(repeat, Err(AppendError::Repeat)), "{repeat:?}");
    assert!(subject.apply(room_id, automod(Some("b"), 5_000, None)).await.unwrap().entries.is_empty());
    assert_eq!(subject.count(until, room_id).await, 9_000);
    subject.apply(room_id, automod(None, 10_000, None)).await.unwrap();
    assert_eq!(subject.count(until, room_id).await, 10_000);
    assert_eq!(subject.count(ENTRIES, room_id).await, 3);
    subject.send(room_id, owner, "just now").await;
    let slow = subject.apply(room_id, automod(Some("c"), 99_000, Some(60_000))).await;
    assert!(matches!(slow, Err(AppendError::Slowmode { .. })), "{slow:?}");
    assert_eq!(subject.count(ENTRIES, room_id).await, 3);
}

/// Sends `count` messages of one user among those of another.
async fn fill(subject: &Subject, room_id: RoomId, guest: UserId, owner: UserId, count: usize) -> Vec<RowKey> {
    let mut keys = Vec::new();
    for number in 0..count {
        keys.push(subject.send(room_id, guest, &format!("spam {number}")).await.row_key);
        if number % 50 == 0 {
            subject.send(room_id, owner, "mine").await;
        }
    }
    keys
}

const PURGES: &str = "select count(*) from purge where room_id = $1";
const SPAM: &str = "select count(*) from message where room_id = $1 and body like 'spam%'";

async fn done(subject: &Subject, room_id: RoomId) {
    for _ in 0..2000 {
        if subject.count(PURGES, room_id).await == 0 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    panic!("the purge does not end");
}

async fn a_soft_ban_purges_in_batches_and_goes_on_after_a_restart(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let guest = subject.account("guest").await;
    subject.join(room_id, guest).await.unwrap();
    let keys = fill(&subject, room_id, guest, owner, 230).await;
    let before = subject.head(room_id).await.seq;
    subject.edit(room_id, keys[0], "spam edited").await.unwrap();
    let ban = moderate(room_id, ModerationAction::SoftBan, owner, guest, Effect::Ban { purges: true });
    let banned = subject.apply(room_id, ban).await.unwrap();
    assert_eq!(names(&banned), ["member.left", "message.created"]);
    // Stopped wherever it is, it goes on.
    let subject = subject.reopen().await;
    done(&subject, room_id).await;
    assert_eq!(subject.count(SPAM, room_id).await, 0);
    let left = subject.all(room_id).await;
    assert_eq!(left.iter().filter(|message| message.message == "mine").count(), 5);
    assert!(left.iter().any(|message| message.message == "guest was banned"), "the room's lines stay");
    let mut purged = Vec::new();
    for entry in subject.log(room_id, before).await {
        match &*entry.event {
            DurableEvent::MessagePurged(event) => {
                assert!(event.row_keys.len() <= 100);
                purged.extend(event.row_keys.clone());
            }
            DurableEvent::MessageUpdated(event) => panic!("{event:?} is purged"),
            DurableEvent::MessageDeleted(event) => panic!("{event:?} is purged"),
            _ => {}
        }
    }
    purged.sort_unstable_by_key(|key| key.tick());
    assert_eq!(purged, keys, "each once");
}

async fn a_deleted_room_leaves_nothing_behind(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let (other, _) = subject.room().await;
    let guest = subject.account("guest").await;
    subject.join(room_id, guest).await.unwrap();
    let keys = fill(&subject, room_id, guest, owner, 30).await;
    let emoji = "👍".to_owned();
    subject.apply(room_id, RoomChange::AddReaction { row_key: keys[0], user_id: owner, emoji }).await.unwrap();
    let warn = moderate(room_id, ModerationAction::Warn, owner, guest, Effect::Nothing);
    subject.apply(room_id, warn).await.unwrap();
    subject.join(other, guest).await.unwrap();
    subject.send(other, guest, "spam elsewhere").await;
    subject.apply(room_id, RoomChange::DeleteRoom { by: owner }).await.unwrap();
    let subject = subject.reopen().await;
    done(&subject, room_id).await;
    for table in ["message", "reaction", "moderation_log", "member", "role"] {
        let sql = sqlx::AssertSqlSafe(format!("select count(*) from {table} where room_id = $1"));
        let (left,): (i64,) = subject.db().read(sql).bind(room_id).one().await.unwrap();
        assert_eq!(left, 0, "{table}");
    }
    let log = subject.count("select count(*) from room_log where room_id = $1", room_id).await;
    assert_eq!(log, 1, "only how it ended");
    assert_eq!(subject.count(SPAM, other).await, 1);
    let late = subject.post(room_id, text(guest, "late")).await;
    assert!(matches!(late, Err(AppendError::NoAccess)), "{late:?}");
}

conformance!(
    roles_change_once,
    an_action_and_its_entry_are_one_commit,
    the_filter_acts_once_and_never_shortens,
    a_soft_ban_purges_in_batches_and_goes_on_after_a_restart,
    a_deleted_room_leaves_nothing_behind,
);
