//! Single messages: sending, editing, deleting, replying.

use std::sync::Arc;

use parlour_protocol::{
    AppUserId, ConnectionId, DurableEvent, MessageType, OptionId,
    object::{LinkPreview, MessageAppUser, MessageChange, Poll, PollOption},
};

use super::{
    conformance,
    subject::{Subject, nonce, text},
};
use crate::{
    bus::BusEvent,
    store::{AppendError, Mention, NewMessage, Origin, RoomChange},
};

async fn a_sent_message_is_read_back(mut subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let target = subject.send(room_id, owner, "first").await;
    let new = NewMessage {
        nonce: Some(nonce("one")),
        mentions: vec![Mention::Everyone],
        reply_row_key: Some(target.row_key),
        ..text(owner, "a <b>bold</b> 👋 body")
    };
    let appended = subject.post(room_id, new).await.unwrap();
    let sent = appended.message.unwrap();
    assert_eq!((sent.seq, sent.rev, sent.body_rev), (2, 1, 1));
    assert_eq!(sent.nonce, Some(nonce("one")));
    assert_eq!(sent.reply_row_key, Some(target.row_key));
    assert_eq!(appended.entries.len(), 1);
    let read = subject.store.get(room_id, &[sent.row_key, target.row_key]).await.unwrap();
    assert_eq!(read[0], *sent);
    assert_eq!(read[1].reply_count, 1);
    assert_eq!(subject.all(room_id).await, read);
    assert_eq!(subject.head(room_id).await.seq, 2);
    let told = subject.told(room_id);
    let seqs: Vec<u64> = told.iter().map(|(seq, _)| *seq).collect();
    assert_eq!(seqs, [1, 2]);
    assert!(matches!(&*told[1].1, DurableEvent::MessageCreated(created) if created.message == *sent));
}

async fn all_parts_of_a_message_are_kept(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let option = |label: &str| PollOption { id: OptionId::new(), label: label.to_owned(), count: 0 };
    let new = NewMessage {
        message_type: MessageType::Poll,
        app_user: Some(MessageAppUser { id: AppUserId::new(), name: "Bot".to_owned(), image: String::new() }),
        origin: Origin::Forward,
        nonce: Some(nonce("hidden")),
        files: vec![subject.upload(room_id, owner, "a.png").await],
        link_preview: Some(LinkPreview {
            url: "https://example.org".to_owned(),
            media_type: String::new(),
            content_type: String::new(),
            title: "Example".to_owned(),
            description: String::new(),
            site_name: String::new(),
            images: Vec::new(),
            favicons: Vec::new(),
            videos: Vec::new(),
        }),
        poll: Some(Poll {
            question: "Tea?".to_owned(),
            options: vec![option("yes"), option("no")],
            votes: Default::default(),
        }),
        is_forward: true,
        ..text(owner, "")
    };
    let sent = subject.post(room_id, new).await.unwrap().message.unwrap();
    assert_eq!(sent.nonce, None, "only the author's own nonce is shown");
    assert_eq!(subject.all(room_id).await, [(*sent).clone()]);
}

async fn an_edit_moves_rev_and_stores_nothing_when_nothing_changes(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let sent = subject.send(room_id, owner, "one").await;
    let edited = subject.edit(room_id, sent.row_key, "two").await.unwrap();
    assert_eq!(edited.rev, 2);
    let entry = &edited.entries[0];
    assert_eq!(entry.seq, 2);
    let DurableEvent::MessageUpdated(updated) = &*entry.event else { panic!("{:?}", entry.event) };
    let MessageChange::Delta(delta) = &updated.changes else { panic!("a whole message") };
    assert_eq!(delta.message.as_deref(), Some("two"));
    assert_eq!((delta.body_rev, delta.is_edited), (Some(2), Some(true)));
    let mut expected = (*sent).clone();
    expected.apply((**delta).clone());
    expected.rev = 2;
    assert_eq!(subject.all(room_id).await, [expected.clone()]);
    assert_eq!(*edited.message.unwrap(), expected);
    let repeated = subject.edit(room_id, sent.row_key, "two").await.unwrap();
    assert_eq!((repeated.rev, repeated.entries.len()), (2, 0));
    assert_eq!(subject.head(room_id).await.seq, 2);
}

async fn an_edit_of_an_older_body_is_a_conflict(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let sent = subject.send(room_id, owner, "one").await;
    let edit = |body: &str, if_rev| RoomChange::Edit {
        row_key: sent.row_key,
        body: body.to_owned(),
        mentions: Vec::new(),
        if_rev: Some(if_rev),
    };
    subject.apply(room_id, edit("two", 1)).await.unwrap();
    let late = subject.apply(room_id, edit("three", 1)).await;
    assert!(matches!(late, Err(AppendError::Conflict)), "{late:?}");
    subject.apply(room_id, edit("three", 2)).await.unwrap();
}

async fn bl_054_a_deleted_message_stays_deleted(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let subject = Arc::new(subject);
    for round in 0..50 {
        let row_key = subject.send(room_id, owner, "to go").await.row_key;
        let (one, two) = (Arc::clone(&subject), Arc::clone(&subject));
        let edit = tokio::spawn(async move { one.edit(room_id, row_key, "late").await });
        let delete = tokio::spawn(async move { two.delete(room_id, row_key).await });
        let (edit, delete) = if round % 2 == 0 {
            let edit = edit.await.unwrap();
            (edit, delete.await.unwrap())
        } else {
            let delete = delete.await.unwrap();
            (edit.await.unwrap(), delete)
        };
        delete.unwrap();
        assert!(matches!(edit, Ok(_) | Err(AppendError::NotFound(_))), "{edit:?}");
        assert!(subject.store.get(room_id, &[row_key]).await.unwrap().is_empty());
        let again = subject.delete(room_id, row_key).await;
        assert!(matches!(again, Err(AppendError::NotFound(_))), "{again:?}");
    }
    assert!(subject.all(room_id).await.is_empty());
}

async fn only_a_live_message_of_the_room_can_be_answered(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let (other, stranger) = subject.room().await;
    let elsewhere = subject.send(other, stranger, "elsewhere").await;
    let gone = subject.send(room_id, owner, "gone").await;
    subject.delete(room_id, gone.row_key).await.unwrap();
    for target in [elsewhere.row_key, gone.row_key] {
        let reply = NewMessage { reply_row_key: Some(target), ..text(owner, "re") };
        let outcome = subject.post(room_id, reply).await;
        assert!(matches!(outcome, Err(AppendError::NotFound(_))), "{outcome:?}");
    }
    assert_eq!(subject.head(room_id).await.seq, 2);
}

async fn slowmode_lets_exactly_one_send_of_a_window_through(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let subject = Arc::new(subject);
    let now = subject.now();
    let sends = (0..8).map(|number| {
        let subject = Arc::clone(&subject);
        let new = NewMessage { slowmode_ms: Some(5_000), ..text(owner, &number.to_string()) };
        tokio::spawn(async move {
            let mut append = subject.change(room_id, RoomChange::Send(Box::new(new)));
            append.now = now;
            subject.append(append).await
        })
    });
    let mut accepted = 0;
    for send in sends.collect::<Vec<_>>() {
        match send.await.unwrap() {
            Ok(_) => accepted += 1,
            Err(AppendError::Slowmode { retry_after_ms }) => assert!((4_900..=5_000).contains(&retry_after_ms)),
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(accepted, 1);
    subject.set_now(now + 5_000_000_000);
    subject.post(room_id, NewMessage { slowmode_ms: Some(5_000), ..text(owner, "later") }).await.unwrap();
    let read_at = subject.count("select last_read_at from member where room_id = $1", room_id).await;
    let sent_at = subject.count("select last_message_at from member where room_id = $1", room_id).await;
    assert_eq!((read_at, sent_at), ((now + 5_000_000_000) / 1_000_000, (now + 5_000_000_000) / 1_000_000));
}

async fn the_bus_names_the_cause_of_a_change(mut subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let cause = ConnectionId::new();
    let mut append = subject.change(room_id, RoomChange::Send(Box::new(text(owner, "hi"))));
    append.cause = Some(cause);
    subject.append(append).await.unwrap();
    let BusEvent::Room { cause: told, .. } = subject.heard.try_recv().unwrap() else { panic!("no room event") };
    assert_eq!(told, Some(cause));
}

conformance!(
    a_sent_message_is_read_back,
    all_parts_of_a_message_are_kept,
    an_edit_moves_rev_and_stores_nothing_when_nothing_changes,
    an_edit_of_an_older_body_is_a_conflict,
    bl_054_a_deleted_message_stays_deleted,
    only_a_live_message_of_the_room_can_be_answered,
    slowmode_lets_exactly_one_send_of_a_window_through,
    the_bus_names_the_cause_of_a_change,
);
