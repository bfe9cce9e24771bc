//! Pages: a walk by cursor equals one full scan, in both directions and with any size of page.

use parlour_protocol::{MessageType, RoomId, RowKey, object::Message, operation::Order};

use super::{
    conformance,
    subject::{Subject, text},
};
use crate::store::{ListQuery, NewMessage, RoomChange};

async fn walk(subject: &Subject, room_id: RoomId, order: Order, size: usize) -> Vec<Message> {
    let mut walked: Vec<Message> = Vec::new();
    loop {
        let from = walked.last().map(|message| message.row_key);
        let page = subject.page(room_id, order, from, size).await;
        if page.is_empty() {
            return walked;
        }
        walked.extend(page);
    }
}

async fn assert_walks(subject: &Subject, room_id: RoomId, count: usize, sizes: &[usize]) {
    let all = subject.all(room_id).await;
    assert_eq!(all.len(), count);
    assert!(all.is_sorted_by(|newer, older| newer.row_key < older.row_key && newer.seq > older.seq));
    let ascending: Vec<Message> = all.iter().rev().cloned().collect();
    for size in sizes {
        assert_eq!(walk(subject, room_id, Order::Desc, *size).await, all, "{size} a page");
        assert_eq!(walk(subject, room_id, Order::Asc, *size).await, ascending, "{size} a page");
    }
}

/// Sends messages `step` nanoseconds apart.
async fn fill(subject: &Subject, room_id: RoomId, user_id: parlour_protocol::UserId, count: i64, step: i64) {
    let start = subject.now();
    for number in 0..count {
        let mut append = subject.change(room_id, RoomChange::Send(Box::new(text(user_id, &number.to_string()))));
        append.now = start + number * step;
        subject.append(append).await.unwrap();
    }
}

async fn bl_045_messages_of_one_instant_are_seen_once_each(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    fill(&subject, room_id, owner, 45, 0).await;
    assert_walks(&subject, room_id, 45, &[1, 7, 20, 45, 46]).await;
}

async fn bl_047_messages_of_one_millisecond_are_seen_once_each(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    fill(&subject, room_id, owner, 30, 10_000).await;
    assert_walks(&subject, room_id, 30, &[7, 10]).await;
}

async fn bl_048_what_comes_late_is_never_older_than_what_is_there(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    fill(&subject, room_id, owner, 10, 1_000_000).await;
    let first = subject.page(room_id, Order::Desc, None, 5).await;
    // A clock that stepped back by an hour.
    for _ in 0..5 {
        let mut append = subject.change(room_id, RoomChange::Send(Box::new(text(owner, "late"))));
        append.now -= 3_600_000_000_000;
        subject.append(append).await.unwrap();
    }
    let second = subject.page(room_id, Order::Desc, first.last().map(|message| message.row_key), 5).await;
    let seqs: Vec<u64> = first.iter().chain(&second).map(|message| message.seq).collect();
    assert_eq!(seqs, (1..=10).rev().collect::<Vec<_>>());
}

async fn bl_051_a_page_that_ends_with_the_room_is_the_last(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let (neighbour, other) = subject.room().await;
    fill(&subject, neighbour, other, 5, 1_000_000).await;
    fill(&subject, room_id, owner, 10, 1_000_000).await;
    assert_walks(&subject, room_id, 10, &[5, 10]).await;
    assert_walks(&subject, neighbour, 5, &[5]).await;
}

async fn deleted_messages_are_in_no_page_and_hold_up_none(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    fill(&subject, room_id, owner, 20, 1_000_000).await;
    for message in subject.all(room_id).await.iter().skip(3).take(14) {
        subject.delete(room_id, message.row_key).await.unwrap();
    }
    assert_walks(&subject, room_id, 6, &[1, 4]).await;
}

async fn any_row_key_is_a_position(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    fill(&subject, room_id, owner, 4, 1_000).await;
    let all = subject.all(room_id).await;
    let tick = all[1].row_key.tick();
    let seqs = |messages: Vec<Message>| messages.iter().map(|message| message.seq).collect::<Vec<_>>();
    for (position, older, newer) in [
        (RowKey::from_tick(tick), vec![2, 1], vec![4]),
        (RowKey::from_tick(tick + 1), vec![3, 2, 1], vec![4]),
        (RowKey::from_tick(0), vec![], vec![1, 2, 3, 4]),
        ("0".repeat(30).parse().unwrap(), vec![4, 3, 2, 1], vec![]),
        ("9".repeat(30).parse().unwrap(), vec![], vec![1, 2, 3, 4]),
    ] {
        assert_eq!(seqs(subject.page(room_id, Order::Desc, Some(position), 9).await), older, "{position}");
        assert_eq!(seqs(subject.page(room_id, Order::Asc, Some(position), 9).await), newer, "{position}");
    }
    let around = ListQuery {
        room_id,
        order: Order::Asc,
        from: Some(all[1].row_key),
        inclusive: true,
        pinned: false,
        reply_to: None,
        limit: 9,
    };
    assert_eq!(seqs(subject.store.list(around).await.unwrap()), [3, 4]);
}

async fn replies_are_listed_and_counted_while_they_live(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let root = subject.send(room_id, owner, "root").await;
    let reply = |body: &str| NewMessage { reply_row_key: Some(root.row_key), ..text(owner, body) };
    let mut replies = Vec::new();
    for body in ["a", "b", "c"] {
        replies.push(subject.post(room_id, reply(body)).await.unwrap().message.unwrap());
        subject.send(room_id, owner, "in between").await;
    }
    // A line of the server about a message is no reply to it.
    let line = NewMessage { message_type: MessageType::PinMessage, origin: crate::store::Origin::System, ..reply("") };
    subject.post(room_id, line).await.unwrap();
    subject.delete(room_id, replies[1].row_key).await.unwrap();
    let thread = ListQuery {
        room_id,
        order: Order::Desc,
        from: None,
        inclusive: false,
        pinned: false,
        reply_to: Some(root.row_key),
        limit: 10,
    };
    let bodies: Vec<String> =
        subject.store.list(thread).await.unwrap().into_iter().map(|message| message.message).collect();
    assert_eq!(bodies, ["c", "a"]);
    let read = subject.store.get(room_id, &[root.row_key]).await.unwrap();
    assert_eq!(read[0].reply_count, 2);
    subject.delete(room_id, root.row_key).await.unwrap();
    assert_eq!(subject.all(room_id).await.iter().filter(|message| message.reply_row_key.is_some()).count(), 3);
}

conformance!(
    bl_045_messages_of_one_instant_are_seen_once_each,
    bl_047_messages_of_one_millisecond_are_seen_once_each,
    bl_048_what_comes_late_is_never_older_than_what_is_there,
    bl_051_a_page_that_ends_with_the_room_is_the_last,
    deleted_messages_are_in_no_page_and_hold_up_none,
    any_row_key_is_a_position,
    replies_are_listed_and_counted_while_they_live,
);
