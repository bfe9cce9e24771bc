//! Changes of rooms and members.

use std::sync::Arc;

use parlour_protocol::{
    DurableEvent, MessageType, Patch, Timestamp,
    event::{LeaveReason, RoomDelta},
};

use super::{
    conformance,
    subject::{Subject, nonce, text},
};
use crate::store::{AppendError, Appended, RoomChange};

fn names(appended: &Appended) -> Vec<&'static str> {
    appended.entries.iter().map(|entry| entry.event.name()).collect()
}

async fn a_join_is_followed_by_its_line(mut subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let guest = subject.account("guest").await;
    let invite_id = subject.invite(room_id, owner, "AbCd1234", 2).await;
    let join = RoomChange::Join {
        user_id: guest,
        invite_id: Some(invite_id),
        by: None,
        line: "guest joined".to_owned(),
        nonce: Some(nonce("join")),
    };
    let joined = subject.apply(room_id, join.clone()).await.unwrap();
    assert_eq!(names(&joined), ["member.joined", "message.created"]);
    let DurableEvent::MemberJoined(event) = &*joined.entries[0].event else { panic!("{joined:?}") };
    assert_eq!((event.member.user_id, event.member.user.name.as_str()), (guest, "guest"));
    let line = subject.all(room_id).await.remove(0);
    assert_eq!((line.r#type, line.user_id, line.message.as_str()), (MessageType::System, Some(guest), "guest joined"));
    let told: Vec<u64> = subject.told(room_id).iter().map(|(seq, _)| *seq).collect();
    assert_eq!(told, [1, 2]);
    let again = subject.apply(room_id, join).await;
    assert!(matches!(again, Err(AppendError::AlreadyMember)), "{again:?}");
    assert_eq!(subject.count("select uses from invite where room_id = $1", room_id).await, 1);
    subject.send(room_id, guest, "hello").await;
    let (result,): (String,) = subject
        .db()
        .read("select result from command_nonce where user_id = $1 and op = 'invite.join'")
        .bind(guest)
        .one()
        .await
        .unwrap();
    assert_eq!(result, format!("\"{room_id}\""));
}

async fn an_invite_is_used_no_more_than_it_allows(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let invite_id = subject.invite(room_id, owner, "AbCd1234", 3).await;
    let subject = Arc::new(subject);
    let mut joins = Vec::new();
    for number in 0..8 {
        let user_id = subject.account(&format!("guest {number}")).await;
        let subject = Arc::clone(&subject);
        joins.push(tokio::spawn(async move {
            let line = String::new();
            let join = RoomChange::Join { user_id, invite_id: Some(invite_id), by: None, line, nonce: None };
            subject.apply(room_id, join).await
        }));
    }
    let mut joined = 0;
    for join in joins {
        match join.await.unwrap() {
            Ok(_) => joined += 1,
            Err(AppendError::InviteGone) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(joined, 3);
    assert_eq!(subject.count("select count(*) from member where room_id = $1", room_id).await, 4);
    assert_eq!(subject.count("select uses from invite where room_id = $1", room_id).await, 3);
}

async fn the_banned_and_late_guests_stay_outside(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let guest = subject.account("guest").await;
    let invite_id = subject.invite(room_id, owner, "AbCd1234", 0).await;
    subject
        .db()
        .write("insert into ban (room_id, user_id, reason, created_at) values ($1, $2, '', 1)")
        .bind(room_id)
        .bind(guest)
        .execute()
        .await
        .unwrap();
    let join = |user_id| {
        let line = String::new();
        RoomChange::Join { user_id, invite_id: Some(invite_id), by: None, line, nonce: None }
    };
    let outcome = subject.apply(room_id, join(guest)).await;
    assert!(matches!(outcome, Err(AppendError::Banned)), "{outcome:?}");
    let late = subject.account("late").await;
    subject.set_now(subject.now() + 3_600_000_000_000);
    let outcome = subject.apply(room_id, join(late)).await;
    assert!(matches!(outcome, Err(AppendError::InviteGone)), "{outcome:?}");
    assert_eq!(subject.head(room_id).await.seq, 0);
}

async fn nothing_is_sent_after_leaving(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let guest = subject.account("guest").await;
    subject.join(room_id, guest).await.unwrap();
    subject.send(room_id, guest, "hello").await;
    let leave = RoomChange::Leave {
        user_id: guest,
        reason: LeaveReason::Kicked,
        by: Some(owner),
        line: "guest was removed".to_owned(),
    };
    // Both are in the queue before either is decided.
    let left = subject.store.append(subject.change(room_id, leave.clone())).await;
    let late = subject.store.append(subject.change(room_id, RoomChange::Send(Box::new(text(guest, "late"))))).await;
    assert_eq!(names(&left.await.unwrap()), ["member.left", "message.created"]);
    let late = late.await;
    assert!(matches!(late, Err(AppendError::NoAccess)), "{late:?}");
    assert_eq!(subject.all(room_id).await[0].user_id, Some(owner), "the line is by who did it");
    let again = subject.apply(room_id, leave).await;
    assert!(matches!(again, Err(AppendError::NotFound(_))), "{again:?}");
    subject.join(room_id, guest).await.unwrap();
    subject.send(room_id, guest, "back").await;
}

async fn only_what_differs_of_the_settings_is_told(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let changes = RoomDelta {
        name: Some("Kitchen".to_owned()),
        topic: Patch::Set("Food".to_owned()),
        is_read_only: Some(false),
        slowmode_ms: Patch::Set(3_000),
        ..RoomDelta::default()
    };
    let update = RoomChange::UpdateRoom { changes: Box::new(changes), by: owner };
    let updated = subject.apply(room_id, update.clone()).await.unwrap();
    assert_eq!(names(&updated), ["room.updated", "message.created"]);
    let DurableEvent::RoomUpdated(event) = &*updated.entries[0].event else { panic!("{updated:?}") };
    assert_eq!(event.changes.is_read_only, None, "it was so before");
    assert_eq!(event.changes.slowmode_ms, Patch::Set(3_000));
    assert!(event.changes.updated_at.is_some());
    let line = subject.all(room_id).await.remove(0);
    assert_eq!((line.r#type, line.message.as_str()), (MessageType::EditRoom, "Kitchen"));
    let again = subject.apply(room_id, update).await.unwrap();
    assert!(again.entries.is_empty());
    let cleared = RoomDelta { topic: Patch::Clear, slowmode_ms: Patch::Clear, ..RoomDelta::default() };
    let update = RoomChange::UpdateRoom { changes: Box::new(cleared), by: owner };
    assert_eq!(names(&subject.apply(room_id, update).await.unwrap()), ["room.updated"]);
    let sql = "select count(*) from room where room_id = $1 and topic = '' and slowmode_ms is null";
    assert_eq!(subject.count(sql, room_id).await, 1);
}

async fn a_members_name_and_timeout_are_told_when_they_change(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let until = Timestamp::from_millis(1_800_000_000_000);
    let update = |nickname, timeout_until| RoomChange::UpdateMember { user_id: owner, nickname, timeout_until };
    let set = update(Patch::Set("Boss".to_owned()), Patch::Set(until));
    assert_eq!(names(&subject.apply(room_id, set.clone()).await.unwrap()), ["member.updated"]);
    assert!(subject.apply(room_id, set).await.unwrap().entries.is_empty());
    let cleared = subject.apply(room_id, update(Patch::Clear, Patch::Keep)).await.unwrap();
    let DurableEvent::MemberUpdated(event) = &*cleared.entries[0].event else { panic!("{cleared:?}") };
    assert_eq!((&event.changes.nickname, &event.changes.timeout_until), (&Patch::Clear, &Patch::Keep));
    let sql = "select timeout_until from member where room_id = $1 and nickname = ''";
    assert_eq!(subject.count(sql, room_id).await, until.as_millis());
}

async fn a_deleted_room_has_no_members_and_takes_nothing(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let guest = subject.account("guest").await;
    subject.join(room_id, guest).await.unwrap();
    subject.invite(room_id, owner, "AbCd1234", 0).await;
    let sent = subject.send(room_id, owner, "hello").await;
    let deleted = subject.apply(room_id, RoomChange::DeleteRoom { by: owner }).await.unwrap();
    assert_eq!(names(&deleted), ["room.deleted"]);
    for sql in [
        "select count(*) from member where room_id = $1",
        "select count(*) from invite where room_id = $1",
        "select count(*) from role where room_id = $1",
    ] {
        assert_eq!(subject.count(sql, room_id).await, 0, "{sql}");
    }
    let outcomes = [
        subject.post(room_id, text(owner, "late")).await,
        subject.edit(room_id, sent.row_key, "late").await,
        subject.join(room_id, guest).await,
        subject.apply(room_id, RoomChange::DeleteRoom { by: owner }).await,
    ];
    for outcome in outcomes {
        assert!(matches!(outcome, Err(AppendError::NoAccess)), "{outcome:?}");
    }
    // Whoever watched still reads how it ended.
    let log = subject.log(room_id, 3).await;
    assert!(matches!(&*log[0].event, DurableEvent::RoomDeleted(event) if event.user_id == owner));
}

conformance!(
    a_join_is_followed_by_its_line,
    an_invite_is_used_no_more_than_it_allows,
    the_banned_and_late_guests_stay_outside,
    nothing_is_sent_after_leaving,
    only_what_differs_of_the_settings_is_told,
    a_members_name_and_timeout_are_told_when_they_change,
    a_deleted_room_has_no_members_and_takes_nothing,
);
