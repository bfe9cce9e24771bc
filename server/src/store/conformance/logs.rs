//! The log: contiguous, in the order of keys, and folded so that it leads from any position to the present state.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use parlour_protocol::{
    DurableEvent, MessageType, OptionId, RoomId, RowKey, UserId,
    object::{Message, MessageChange, Poll, PollOption, Reaction},
};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::{
    conformance,
    subject::{Subject, nonce, text},
};
use crate::store::{AppendError, LogEntry, LogRead, NewMessage, RoomChange, moderation::Purge};

type Timeline = BTreeMap<RowKey, Message>;

/// What a client does with entries, live or folded.
fn apply(timeline: &mut Timeline, entries: &[LogEntry]) {
    for entry in entries {
        match &*entry.event {
            DurableEvent::MessageCreated(created) => {
                timeline.insert(created.message.row_key, created.message.clone());
            }
            DurableEvent::MessageUpdated(updated) => match &updated.changes {
                MessageChange::Whole(message) => {
                    timeline.insert(updated.row_key, (**message).clone());
                }
                MessageChange::Delta(delta) => {
                    next(timeline, updated.row_key, updated.rev).apply((**delta).clone());
                }
            },
            DurableEvent::MessageDeleted(deleted) => {
                timeline.remove(&deleted.row_key);
            }
            DurableEvent::MessagePurged(purged) => {
                for row_key in &purged.row_keys {
                    timeline.remove(row_key);
                }
            }
            DurableEvent::ReactionAdded(event) | DurableEvent::ReactionRemoved(event) => {
                let reactions = &mut next(timeline, event.row_key, event.rev).reactions;
                let (emoji, user_ids) = (event.emoji.clone(), event.user_ids.clone());
                let reaction = Reaction { emoji, count: event.count, user_ids };
                match reactions.iter().position(|held| held.emoji == event.emoji) {
                    Some(place) if event.count == 0 => drop(reactions.remove(place)),
                    Some(place) => reactions[place] = reaction,
                    None => reactions.push(reaction),
                }
            }
            DurableEvent::PollVoted(event) => {
                let poll = next(timeline, event.row_key, event.rev).poll.as_mut().expect("a poll");
                for (option, tally) in poll.options.iter_mut().zip(&event.options) {
                    assert_eq!(option.id, tally.id);
                    option.count = tally.count;
                }
                match event.option_id {
                    Some(option_id) => drop(poll.votes.insert(event.user_id, option_id)),
                    None => drop(poll.votes.remove(&event.user_id)),
                }
            }
            _ => {}
        }
    }
}

/// The message that a delta makes into the next one.
fn next(timeline: &mut Timeline, row_key: RowKey, rev: u32) -> &mut Message {
    let message = timeline.get_mut(&row_key).expect("a change of a message that is there");
    assert_eq!(rev, message.rev + 1);
    message.rev = rev;
    message
}

async fn present(subject: &Subject, room_id: RoomId) -> Timeline {
    let live = subject.all(room_id).await;
    live.into_iter().map(|message| (message.row_key, Message { reply_count: 0, ..message })).collect()
}

fn new_poll(user_id: UserId) -> NewMessage {
    let option = || PollOption { id: OptionId::new(), label: "a".to_owned(), count: 0 };
    let poll = Poll { question: "?".to_owned(), options: vec![option(), option()], votes: Default::default() };
    NewMessage { message_type: MessageType::Poll, poll: Some(poll), ..text(user_id, "") }
}

/// One random change; a refusal is none.
async fn change(subject: &Subject, room_id: RoomId, user_id: UserId, random: &mut StdRng) -> Vec<LogEntry> {
    let live = subject.page(room_id, parlour_protocol::operation::Order::Desc, None, 20).await;
    let target = (!live.is_empty()).then(|| &live[random.random_range(0..live.len())]);
    let any = target.map(|message| message.row_key);
    // A clock that jumps, also back.
    let now = subject.now() + random.random_range(-5_000_000_000..5_000_000_000_i64);
    let body = format!("body {}", random.random_range(0..1_000));
    let emoji = ["a", "b", "c"][random.random_range(0..3)].to_owned();
    let poll = live.iter().find_map(|message| Some((message.row_key, message.poll.as_ref()?)));
    let change = match (random.random_range(0..18), any) {
        (0 | 1, Some(row_key)) => RoomChange::Edit { row_key, body, mentions: Vec::new(), if_rev: None },
        (2, Some(row_key)) => RoomChange::Delete { row_key },
        (3, _) => RoomChange::UpdateMember {
            user_id,
            nickname: parlour_protocol::Patch::Set(body),
            timeout_until: parlour_protocol::Patch::Keep,
        },
        (4, _) => {
            let nonce = Some(nonce(&random.random_range(0..20).to_string()));
            RoomChange::Send(Box::new(NewMessage { nonce, ..text(user_id, &body) }))
        }
        (5, Some(row_key)) => {
            RoomChange::Send(Box::new(NewMessage { reply_row_key: Some(row_key), ..text(user_id, &body) }))
        }
        (10 | 11, Some(row_key)) => RoomChange::AddReaction { row_key, user_id, emoji },
        (12, Some(row_key)) => RoomChange::RemoveReaction { row_key, user_id, emoji },
        (13, Some(row_key)) => RoomChange::Pin { row_key, by: user_id },
        (14, Some(row_key)) => RoomChange::Unpin { row_key },
        (15 | 16, _) if poll.is_some() => {
            let (row_key, poll) = poll.expect("a poll");
            let options = &poll.options;
            let option_id = options.get(random.random_range(0..=options.len())).map(|option| option.id);
            RoomChange::Vote { row_key, user_id, option_id }
        }
        (17, Some(row_key)) => RoomChange::Purge(Purge { row_keys: vec![row_key] }),
        (15..=17, _) => RoomChange::Send(Box::new(new_poll(user_id))),
        _ => RoomChange::Send(Box::new(text(user_id, &body))),
    };
    let mut append = subject.change(room_id, change);
    append.now = now;
    match subject.append(append).await {
        Ok(appended) => appended.entries,
        Err(AppendError::NotFound(_) | AppendError::DeletedSince(_)) => Vec::new(),
        Err(error) => panic!("{error}"),
    }
}

async fn the_log_of_many_writers_has_no_hole_and_the_order_of_keys(mut subject: Subject) {
    const WRITERS: u64 = 8;
    const CHANGES: u64 = 40;
    let (room_id, owner) = subject.room().await;
    let shared = Arc::new(subject);
    let mut writers = Vec::new();
    for writer in 0..WRITERS {
        let user_id = shared.account(&format!("writer {writer}")).await;
        shared.join(room_id, user_id).await.unwrap();
        let subject = Arc::clone(&shared);
        writers.push(tokio::spawn(async move {
            let mut random = StdRng::seed_from_u64(writer);
            let mut entries = Vec::new();
            for _ in 0..CHANGES {
                entries.extend(change(&subject, room_id, user_id, &mut random).await);
            }
            entries
        }));
    }
    let mut answered = Vec::new();
    for writer in writers {
        answered.extend(writer.await.unwrap());
    }
    subject = Arc::into_inner(shared).unwrap();
    let told = subject.told(room_id);
    let head = subject.head(room_id).await.seq;
    let seqs: Vec<u64> = told.iter().map(|(seq, _)| *seq).collect();
    assert_eq!(seqs, (1..=head).collect::<Vec<_>>(), "told in order, each once");
    answered.sort_unstable_by_key(|entry| entry.seq);
    for entry in &answered {
        assert_eq!(entry.event, told[usize::try_from(entry.seq).unwrap() - 1].1);
    }
    let created: Vec<RowKey> = told
        .iter()
        .filter_map(|(seq, event)| match &**event {
            DurableEvent::MessageCreated(created) => {
                assert_eq!(created.message.seq, *seq);
                Some(created.message.row_key)
            }
            _ => None,
        })
        .collect();
    assert!(created.is_sorted_by(|earlier, later| earlier > later), "later is a smaller key");

    // The fold from every position leads to the present state.
    let present = present(&subject, room_id).await;
    let mut timeline = Timeline::new();
    for position in 0..=head {
        if position > 0 {
            let (seq, event) = &told[usize::try_from(position).unwrap() - 1];
            apply(&mut timeline, &[LogEntry { seq: *seq, event: Arc::clone(event) }]);
        }
        let folded = subject.log(room_id, position).await;
        assert!(folded.is_sorted_by(|earlier, later| earlier.seq < later.seq));
        assert!(folded.iter().all(|entry| entry.seq > position && entry.seq <= head));
        let mut caught_up = timeline.clone();
        apply(&mut caught_up, &folded);
        assert_eq!(caught_up, present, "from {position}");
    }
    assert_eq!(timeline, present);
    subject.send(room_id, owner, "after all that").await;
}

async fn folding_tells_each_message_once(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let old = subject.send(room_id, owner, "old").await;
    let doomed = subject.send(room_id, owner, "doomed").await;
    let kept = subject.send(room_id, owner, "kept").await;
    let position = subject.head(room_id).await.seq;
    subject.edit(room_id, old.row_key, "old 2").await.unwrap();
    subject.edit(room_id, old.row_key, "old 3").await.unwrap();
    let new = subject.send(room_id, owner, "new").await;
    let brief = subject.send(room_id, owner, "brief").await;
    subject.delete(room_id, doomed.row_key).await.unwrap();
    subject.delete(room_id, brief.row_key).await.unwrap();
    subject.edit(room_id, new.row_key, "new 2").await.unwrap();
    let folded = subject.log(room_id, position).await;
    let summary: Vec<_> = folded.iter().map(|entry| (entry.seq, entry.event.name())).collect();
    assert_eq!(summary, [(5, "message.updated"), (8, "message.deleted"), (10, "message.created")]);
    let DurableEvent::MessageUpdated(updated) = &*folded[0].event else { panic!("{folded:?}") };
    let MessageChange::Whole(whole) = &updated.changes else { panic!("a delta") };
    assert_eq!((updated.rev, whole.message.as_str()), (3, "old 3"));
    let DurableEvent::MessageCreated(created) = &*folded[2].event else { panic!("{folded:?}") };
    assert_eq!((created.message.rev, created.message.message.as_str(), created.message.seq), (2, "new 2", 6));
    assert!(subject.log(room_id, subject.head(room_id).await.seq).await.is_empty());
    assert_eq!(subject.all(room_id).await.last().map(|message| message.row_key), Some(old.row_key));
    assert_eq!(kept.seq, 3);
}

async fn what_is_too_far_back_is_out_of_reach(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    for number in 0..10 {
        subject.send(room_id, owner, &number.to_string()).await;
    }
    let read = |after, up_to, most| subject.store.read_log(room_id, after, up_to, most);
    assert!(matches!(read(0, 10, 9).await.unwrap(), LogRead::OutOfReach));
    assert!(matches!(read(0, 10, 10).await.unwrap(), LogRead::Entries { entries, seq: 10 } if entries.len() == 10));
    assert!(matches!(read(2, 5, 3).await.unwrap(), LogRead::Entries { entries, seq: 5 } if entries.len() == 3));
    assert!(matches!(read(10, 10, 0).await.unwrap(), LogRead::Entries { entries, seq: 10 } if entries.is_empty()));
    // The log is not kept for ever.
    subject.db().write("update room_head set log_floor = 6").execute().await.unwrap();
    assert!(matches!(read(5, 10, 100).await.unwrap(), LogRead::OutOfReach));
    assert!(matches!(read(6, 10, 100).await.unwrap(), LogRead::Entries { entries, .. } if entries.len() == 4));
}

async fn a_reader_never_sees_an_entry_without_those_before(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let subject = Arc::new(subject);
    let is_done = Arc::new(AtomicBool::new(false));
    let reader = {
        let (subject, is_done) = (Arc::clone(&subject), Arc::clone(&is_done));
        tokio::spawn(async move {
            let mut position = 0;
            let mut timeline = Timeline::new();
            loop {
                let was_done = is_done.load(Ordering::Acquire);
                let head = subject.head(room_id).await.seq;
                let LogRead::Entries { entries, seq } =
                    subject.store.read_log(room_id, position, head, usize::MAX).await.unwrap()
                else {
                    panic!("out of reach");
                };
                let seqs: Vec<u64> = entries.iter().map(|entry| entry.seq).collect();
                assert_eq!(seqs, (position + 1..=head).collect::<Vec<_>>());
                apply(&mut timeline, &entries);
                position = seq;
                if was_done {
                    return timeline;
                }
            }
        })
    };
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let subject = Arc::clone(&subject);
            tokio::spawn(async move {
                for number in 0..100 {
                    subject.send(room_id, owner, &format!("{writer} {number}")).await;
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    is_done.store(true, Ordering::Release);
    assert_eq!(reader.await.unwrap(), present(&subject, room_id).await);
}

async fn bl_053_the_same_catch_up_is_read_every_time(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let subject = Arc::new(subject);
    let sends: Vec<_> = (0..1_001)
        .map(|number| {
            let subject = Arc::clone(&subject);
            tokio::spawn(async move { subject.send(room_id, owner, &number.to_string()).await })
        })
        .collect();
    for send in sends {
        send.await.unwrap();
    }
    assert!(matches!(subject.store.read_log(room_id, 0, 1_001, 1_000).await.unwrap(), LogRead::OutOfReach));
    for _ in 0..20 {
        let read = subject.store.read_log(room_id, 1, 1_001, 1_000).await.unwrap();
        let LogRead::Entries { entries, .. } = read else { panic!("out of reach") };
        let seqs: Vec<u64> = entries.iter().map(|entry| entry.seq).collect();
        assert_eq!(seqs, (2..=1_001).collect::<Vec<_>>());
    }
}

async fn what_was_purged_comes_in_no_other_entry(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let (old, kept) = (subject.send(room_id, owner, "old").await, subject.send(room_id, owner, "kept").await);
    let position = subject.head(room_id).await.seq;
    let new = subject.send(room_id, owner, "new").await;
    for row_key in [old.row_key, kept.row_key, new.row_key] {
        let change = RoomChange::AddReaction { row_key, user_id: owner, emoji: "a".to_owned() };
        subject.apply(room_id, change).await.unwrap();
    }
    let row_keys = vec![old.row_key, new.row_key];
    subject.apply(room_id, RoomChange::Purge(Purge { row_keys: row_keys.clone() })).await.unwrap();
    let entries = subject.log(room_id, position).await;
    assert_eq!(entries.len(), 2, "{entries:?}");
    let DurableEvent::MessageUpdated(updated) = &*entries[0].event else { panic!("{entries:?}") };
    assert_eq!((entries[0].seq, updated.row_key), (position + 3, kept.row_key));
    let DurableEvent::MessagePurged(purged) = &*entries[1].event else { panic!("{entries:?}") };
    assert_eq!(purged.row_keys, row_keys);
}

conformance!(
    what_was_purged_comes_in_no_other_entry,
    the_log_of_many_writers_has_no_hole_and_the_order_of_keys,
    folding_tells_each_message_once,
    what_is_too_far_back_is_out_of_reach,
    a_reader_never_sees_an_entry_without_those_before,
    bl_053_the_same_catch_up_is_read_every_time,
);
