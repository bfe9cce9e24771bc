//! Changes of a message that is there: reactions, votes, pins, files, previews, mentions.

use std::sync::Arc;

use parlour_protocol::{
    DurableEvent, FileId, MessageType, OptionId, RoomId, RowKey, UserId,
    object::{LinkPreview, Message, MessageChange, Poll, PollOption},
};

use super::{
    conformance,
    subject::{Subject, text},
};
use crate::store::{AppendError, Mention, NewMessage, RoomChange};

const THUMB: &str = "👍";

fn add(row_key: RowKey, user_id: UserId, emoji: &str) -> RoomChange {
    RoomChange::AddReaction { row_key, user_id, emoji: emoji.to_owned() }
}

fn remove(row_key: RowKey, user_id: UserId, emoji: &str) -> RoomChange {
    RoomChange::RemoveReaction { row_key, user_id, emoji: emoji.to_owned() }
}

async fn stored(subject: &Subject, room_id: RoomId, row_key: RowKey) -> Message {
    subject.store.get(room_id, &[row_key]).await.unwrap().pop().expect("a live message")
}

fn preview(title: &str) -> LinkPreview {
    LinkPreview {
        url: "https://example.org".to_owned(),
        media_type: String::new(),
        content_type: String::new(),
        title: title.to_owned(),
        description: String::new(),
        site_name: String::new(),
        images: Vec::new(),
        favicons: Vec::new(),
        videos: Vec::new(),
    }
}

fn poll(options: &[OptionId]) -> Poll {
    let option = |id: &OptionId| PollOption { id: *id, label: "a".to_owned(), count: 0 };
    Poll { question: "Tea?".to_owned(), options: options.iter().map(option).collect(), votes: Default::default() }
}

async fn send_poll(subject: &Subject, room_id: RoomId, owner: UserId, options: &[OptionId]) -> RowKey {
    let new = NewMessage { message_type: MessageType::Poll, poll: Some(poll(options)), ..text(owner, "") };
    subject.post(room_id, new).await.unwrap().message.unwrap().row_key
}

fn counts(message: &Message) -> Vec<u32> {
    message.poll.as_ref().expect("a poll").options.iter().map(|option| option.count).collect()
}

async fn a_reaction_is_a_set_of_people(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let row_key = subject.send(room_id, owner, "hi").await.row_key;
    let ada = UserId::new();
    let added = subject.apply(room_id, add(row_key, ada, THUMB)).await.unwrap();
    assert_eq!((added.rev, added.entries.len()), (2, 1));
    let DurableEvent::ReactionAdded(event) = &*added.entries[0].event else { panic!("{added:?}") };
    assert_eq!((event.rev, event.count, &*event.user_ids, event.user_id), (2, 1, &[ada][..], ada));
    let again = subject.apply(room_id, add(row_key, ada, THUMB)).await.unwrap();
    assert_eq!((again.rev, again.entries.len()), (2, 0), "a repeat stores nothing");
    assert_eq!(again.message.unwrap().reactions, added.message.unwrap().reactions);
    subject.apply(room_id, add(row_key, owner, THUMB)).await.unwrap();
    subject.apply(room_id, add(row_key, owner, "👍🏽")).await.unwrap();
    let message = stored(&subject, room_id, row_key).await;
    assert_eq!(message.rev, 4);
    let shown: Vec<_> = message.reactions.iter().map(|r| (&*r.emoji, r.count, &*r.user_ids)).collect();
    assert_eq!(shown, [(THUMB, 2, &[ada, owner][..]), ("👍🏽", 1, &[owner][..])]);
    let removed = subject.apply(room_id, remove(row_key, ada, THUMB)).await.unwrap();
    let DurableEvent::ReactionRemoved(event) = &*removed.entries[0].event else { panic!("{removed:?}") };
    assert_eq!((event.rev, event.count, &*event.user_ids), (5, 1, &[owner][..]));
    let again = subject.apply(room_id, remove(row_key, ada, THUMB)).await.unwrap();
    assert_eq!((again.rev, again.entries.len()), (5, 0));
    subject.apply(room_id, remove(row_key, owner, THUMB)).await.unwrap();
    let message = stored(&subject, room_id, row_key).await;
    assert_eq!(message.reactions.len(), 1, "a reaction of nobody is gone");
    assert_eq!(message.updated_at, message.created_at, "reactions are no edit");
}

async fn of_many_reactors_the_first_ten_are_shown(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let row_key = subject.send(room_id, owner, "hi").await.row_key;
    let people: Vec<UserId> = (0..13).map(|_| UserId::new()).collect();
    for user_id in &people {
        subject.apply(room_id, add(row_key, *user_id, THUMB)).await.unwrap();
    }
    let reaction = stored(&subject, room_id, row_key).await.reactions.remove(0);
    assert_eq!((reaction.count, &*reaction.user_ids), (13, &people[..10]));
    subject.apply(room_id, remove(row_key, people[12], THUMB)).await.unwrap();
    subject.apply(room_id, remove(row_key, people[3], THUMB)).await.unwrap();
    let reaction = stored(&subject, room_id, row_key).await.reactions.remove(0);
    let expected: Vec<UserId> = people[..3].iter().chain(&people[4..11]).copied().collect();
    assert_eq!((reaction.count, reaction.user_ids), (11, expected), "somebody moves up");
}

async fn a_message_has_at_most_twenty_emoji(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let row_key = subject.send(room_id, owner, "hi").await.row_key;
    for number in 0..20 {
        subject.apply(room_id, add(row_key, owner, &format!("custom:{number}"))).await.unwrap();
    }
    let refused = subject.apply(room_id, add(row_key, owner, THUMB)).await;
    assert!(matches!(refused, Err(AppendError::Unfit(_))), "{refused:?}");
    subject.apply(room_id, add(row_key, UserId::new(), "custom:3")).await.unwrap();
    subject.apply(room_id, remove(row_key, owner, "custom:0")).await.unwrap();
    subject.apply(room_id, add(row_key, owner, THUMB)).await.unwrap();
    assert_eq!(stored(&subject, room_id, row_key).await.reactions.len(), 20);
}

async fn a_vote_replaces_the_voters_earlier_one(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let options = [OptionId::new(), OptionId::new()];
    let row_key = send_poll(&subject, room_id, owner, &options).await;
    let ada = UserId::new();
    let vote = |user_id, option_id| RoomChange::Vote { row_key, user_id, option_id };
    subject.apply(room_id, vote(ada, Some(options[0]))).await.unwrap();
    subject.apply(room_id, vote(owner, Some(options[1]))).await.unwrap();
    let moved = subject.apply(room_id, vote(ada, Some(options[1]))).await.unwrap();
    let DurableEvent::PollVoted(event) = &*moved.entries[0].event else { panic!("{moved:?}") };
    let tallies: Vec<u32> = event.options.iter().map(|tally| tally.count).collect();
    assert_eq!((event.rev, event.option_id, tallies), (4, Some(options[1]), vec![0, 2]));
    let again = subject.apply(room_id, vote(ada, Some(options[1]))).await.unwrap();
    assert_eq!((again.rev, again.entries.len()), (4, 0));
    assert_eq!(again.message.unwrap().poll.as_ref().unwrap().votes.len(), 2);
    let message = stored(&subject, room_id, row_key).await;
    assert_eq!(counts(&message), [0, 2]);
    let votes: Vec<_> = message.poll.unwrap().votes.into_iter().collect();
    assert!(votes.contains(&(ada, options[1])) && votes.contains(&(owner, options[1])));
    subject.apply(room_id, vote(ada, None)).await.unwrap();
    assert_eq!(counts(&stored(&subject, room_id, row_key).await), [0, 1]);
    let unknown = subject.apply(room_id, vote(ada, Some(OptionId::new()))).await;
    assert!(matches!(unknown, Err(AppendError::Unfit(_))), "{unknown:?}");
    let plain = subject.send(room_id, owner, "no poll").await.row_key;
    let none = RoomChange::Vote { row_key: plain, user_id: ada, option_id: None };
    assert!(matches!(subject.apply(room_id, none).await, Err(AppendError::Unfit(_))));
}

async fn bl_060_votes_at_once_are_one_ballot_each(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let options = [OptionId::new(), OptionId::new(), OptionId::new()];
    let row_key = send_poll(&subject, room_id, owner, &options).await;
    let voters: Vec<UserId> = (0..4).map(|_| UserId::new()).collect();
    let mut pending = Vec::new();
    for round in 0..20 {
        for (place, user_id) in voters.iter().enumerate() {
            let option_id = Some(options[(round + place) % 3]);
            let change = RoomChange::Vote { row_key, user_id: *user_id, option_id };
            pending.push(subject.store.append(subject.change(room_id, change)).await);
        }
    }
    for pending in pending {
        pending.await.unwrap();
    }
    let message = stored(&subject, room_id, row_key).await;
    assert_eq!(counts(&message).iter().sum::<u32>(), 4);
    let poll = message.poll.unwrap();
    for (place, user_id) in voters.iter().enumerate() {
        assert_eq!(poll.votes[user_id], options[(19 + place) % 3], "the last accepted choice wins");
    }
}

async fn above_a_hundred_voters_only_the_tallies_are_shown(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let options = [OptionId::new(), OptionId::new()];
    let row_key = send_poll(&subject, room_id, owner, &options).await;
    for _ in 0..100 {
        let change = RoomChange::Vote { row_key, user_id: UserId::new(), option_id: Some(options[0]) };
        subject.apply(room_id, change).await.unwrap();
    }
    assert_eq!(stored(&subject, room_id, row_key).await.poll.unwrap().votes.len(), 100);
    let change = RoomChange::Vote { row_key, user_id: owner, option_id: Some(options[1]) };
    let answer = subject.apply(room_id, change).await.unwrap().message.unwrap();
    assert!(answer.poll.as_ref().unwrap().votes.is_empty());
    let message = stored(&subject, room_id, row_key).await;
    assert_eq!(counts(&message), [100, 1]);
    assert!(message.poll.unwrap().votes.is_empty());
    subject.apply(room_id, RoomChange::Vote { row_key, user_id: owner, option_id: None }).await.unwrap();
    assert_eq!(stored(&subject, room_id, row_key).await.poll.unwrap().votes.len(), 100);
}

async fn a_pin_comes_with_a_line_once(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let row_key = subject.send(room_id, owner, "keep").await.row_key;
    let pinned = subject.apply(room_id, RoomChange::Pin { row_key, by: owner }).await.unwrap();
    assert_eq!((pinned.rev, pinned.entries.len()), (2, 2));
    let DurableEvent::MessageUpdated(updated) = &*pinned.entries[0].event else { panic!("{pinned:?}") };
    let MessageChange::Delta(delta) = &updated.changes else { panic!("a whole message") };
    assert_eq!((delta.is_pinned, delta.is_edited, delta.body_rev), (Some(true), None, None));
    let DurableEvent::MessageCreated(line) = &*pinned.entries[1].event else { panic!("{pinned:?}") };
    assert_eq!((line.message.r#type, line.message.reply_row_key), (MessageType::PinMessage, Some(row_key)));
    let again = subject.apply(room_id, RoomChange::Pin { row_key, by: owner }).await.unwrap();
    assert_eq!((again.rev, again.entries.len()), (2, 0));
    assert!(stored(&subject, room_id, row_key).await.is_pinned);
    let unpinned = subject.apply(room_id, RoomChange::Unpin { row_key }).await.unwrap();
    assert_eq!((unpinned.rev, unpinned.entries.len()), (3, 1));
    assert_eq!(subject.apply(room_id, RoomChange::Unpin { row_key }).await.unwrap().entries.len(), 0);
    let message = stored(&subject, room_id, row_key).await;
    assert!(!message.is_pinned && !message.is_edited);
    assert_eq!(message.reply_count, 0, "a line about a message is no reply");
}

async fn files_and_previews_go_one_by_one(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let files = [subject.upload(room_id, owner, "a.png").await, subject.upload(room_id, owner, "b.png").await];
    let new = NewMessage { files: files.to_vec(), ..text(owner, "look") };
    let row_key = subject.post(room_id, new).await.unwrap().message.unwrap().row_key;
    let shown = RoomChange::SetPreview { row_key, body_rev: 1, preview: Box::new(preview("one")) };
    assert_eq!(subject.apply(room_id, shown.clone()).await.unwrap().rev, 2);
    assert_eq!(subject.apply(room_id, shown).await.unwrap().entries.len(), 0);
    let message = stored(&subject, room_id, row_key).await;
    assert_eq!((message.link_preview, message.is_edited), (Some(preview("one")), false));
    let gone = subject.apply(room_id, RoomChange::RemoveFile { row_key, file_id: files[0].file_id }).await.unwrap();
    let DurableEvent::MessageUpdated(updated) = &*gone.entries[0].event else { panic!("{gone:?}") };
    let MessageChange::Delta(delta) = &updated.changes else { panic!("a whole message") };
    assert_eq!((&delta.files, delta.is_edited), (&Some(vec![files[1].clone()]), Some(true)));
    let twice = subject.apply(room_id, RoomChange::RemoveFile { row_key, file_id: files[0].file_id }).await;
    assert!(matches!(twice, Err(AppendError::NotFound("file"))), "{twice:?}");
    subject.apply(room_id, RoomChange::RemovePreview { row_key }).await.unwrap();
    assert_eq!(subject.apply(room_id, RoomChange::RemovePreview { row_key }).await.unwrap().entries.len(), 0);
    subject.edit(room_id, row_key, "other").await.unwrap();
    let late = RoomChange::SetPreview { row_key, body_rev: 1, preview: Box::new(preview("late")) };
    assert_eq!(subject.apply(room_id, late).await.unwrap().entries.len(), 0, "the link may be gone");
    let message = stored(&subject, room_id, row_key).await;
    assert_eq!((message.files, message.link_preview, message.is_edited), (vec![files[1].clone()], None, true));
}

/// Holds the room's writes while changes that read and write one message pile up behind.
async fn changes_that_meet_all_land(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let mut files = Vec::new();
    for name in ["a.png", "b.png", "c.png"] {
        files.push(subject.upload(room_id, owner, name).await);
    }
    let subject = Arc::new(subject);
    let new = NewMessage { files: files.to_vec(), link_preview: Some(preview("one")), ..text(owner, "look") };
    let row_key = subject.post(room_id, new).await.unwrap().message.unwrap().row_key;
    subject.apply(room_id, RoomChange::Pin { row_key, by: owner }).await.unwrap();
    let people: Vec<UserId> = (0..5).map(|_| UserId::new()).collect();
    let mut changes = vec![
        RoomChange::Unpin { row_key },
        RoomChange::RemoveFile { row_key, file_id: files[0].file_id },
        RoomChange::RemovePreview { row_key },
        RoomChange::RemoveFile { row_key, file_id: files[2].file_id },
        RoomChange::Edit { row_key, body: "new".to_owned(), mentions: vec![Mention::Here], if_rev: Some(2) },
    ];
    changes.extend(people.iter().map(|user_id| add(row_key, *user_id, THUMB)));
    let mut held = subject.db().begin().await.unwrap();
    let sql = "update room_head set epoch = epoch where room_id = $1";
    held.query(sql).bind(room_id).execute().await.unwrap();
    let mut pending = Vec::new();
    for change in changes {
        pending.push(subject.store.append(subject.change(room_id, change)).await);
    }
    held.commit().await.unwrap();
    for pending in pending {
        pending.await.expect("no change is refused for another's sake");
    }
    let message = stored(&subject, room_id, row_key).await;
    assert_eq!(message.rev, 12);
    assert_eq!((message.is_pinned, &message.link_preview, &*message.message), (false, &None, "new"));
    assert_eq!(message.files, [files[1].clone()]);
    assert_eq!((message.reactions[0].count, &message.reactions[0].user_ids), (5, &people));
}

async fn nothing_hangs_on_a_deleted_message(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let options = [OptionId::new(), OptionId::new()];
    let row_key = send_poll(&subject, room_id, owner, &options).await;
    subject.apply(room_id, RoomChange::Vote { row_key, user_id: owner, option_id: Some(options[0]) }).await.unwrap();
    subject.apply(room_id, add(row_key, owner, THUMB)).await.unwrap();
    subject.apply(room_id, RoomChange::Pin { row_key, by: owner }).await.unwrap();
    let mentions = vec![Mention::User(owner), Mention::Everyone];
    let other = subject.post(room_id, NewMessage { mentions, ..text(owner, "@") }).await.unwrap().message.unwrap();
    subject.delete(room_id, row_key).await.unwrap();
    subject.delete(room_id, other.row_key).await.unwrap();
    for sql in [
        "select count(*) from reaction where room_id = $1",
        "select count(*) from vote where room_id = $1",
        "select count(*) from mention where room_id = $1",
        "select count(*) from message where room_id = $1 and is_pinned",
        "select count(*) from message where room_id = $1 and reactions is not null",
    ] {
        assert_eq!(subject.count(sql, room_id).await, 0, "{sql}");
    }
    let changes = [
        add(row_key, owner, THUMB),
        remove(row_key, owner, THUMB),
        RoomChange::Vote { row_key, user_id: owner, option_id: None },
        RoomChange::Pin { row_key, by: owner },
        RoomChange::Unpin { row_key },
        RoomChange::RemovePreview { row_key },
        RoomChange::RemoveFile { row_key, file_id: FileId::new() },
        RoomChange::SetPreview { row_key, body_rev: 1, preview: Box::new(preview("late")) },
    ];
    let head = subject.head(room_id).await.seq;
    for change in changes {
        let outcome = subject.apply(room_id, change).await;
        assert!(matches!(outcome, Err(AppendError::NotFound("message"))), "{outcome:?}");
    }
    assert_eq!(subject.head(room_id).await.seq, head);
}

async fn an_edit_replaces_the_mentions(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let (ada, bob) = (UserId::new(), UserId::new());
    let new = NewMessage { mentions: vec![Mention::User(ada), Mention::Here], ..text(owner, "one") };
    let row_key = subject.post(room_id, new).await.unwrap().message.unwrap().row_key;
    let all = "select count(*) from mention where room_id = $1";
    assert_eq!(subject.count(all, room_id).await, 2);
    let mentions = vec![Mention::User(bob), Mention::User(ada), Mention::Everyone];
    let edit = |body: &str, mentions: &[Mention]| RoomChange::Edit {
        row_key,
        body: body.to_owned(),
        mentions: mentions.to_vec(),
        if_rev: None,
    };
    let edited = subject.apply(room_id, edit("two", &mentions)).await.unwrap().message.unwrap();
    assert_eq!(edited.mentions, [bob.to_string(), ada.to_string(), "@everyone".to_owned()]);
    assert_eq!(subject.count(all, room_id).await, 3);
    assert_eq!(subject.count("select count(*) from mention where room_id = $1 and kind = 3", room_id).await, 0);
    subject.apply(room_id, edit("three", &[])).await.unwrap();
    assert_eq!(subject.count(all, room_id).await, 0);
}

async fn who_answers_follows_and_so_does_the_author(subject: Subject) {
    let (room_id, owner) = subject.room().await;
    let bob = subject.account("bob").await;
    subject.join(room_id, bob).await.unwrap();
    let root = subject.send(room_id, owner, "root").await.row_key;
    let reply = |user_id| NewMessage { reply_row_key: Some(root), ..text(user_id, "re") };
    let follows = "select count(*) from thread_follow where room_id = $1 and not is_unfollowed";
    subject.post(room_id, reply(owner)).await.unwrap();
    assert_eq!(subject.count(follows, room_id).await, 1);
    subject.post(room_id, reply(bob)).await.unwrap();
    assert_eq!(subject.count(follows, room_id).await, 2);
    let sql = "update thread_follow set is_unfollowed = (1 = 1) where room_id = $1";
    subject.db().write(sql).bind(room_id).execute().await.unwrap();
    subject.post(room_id, reply(bob)).await.unwrap();
    assert_eq!(subject.count(follows, room_id).await, 1, "the author stays out, who answers is in again");
}

conformance!(
    a_reaction_is_a_set_of_people,
    of_many_reactors_the_first_ten_are_shown,
    a_message_has_at_most_twenty_emoji,
    a_vote_replaces_the_voters_earlier_one,
    bl_060_votes_at_once_are_one_ballot_each,
    above_a_hundred_voters_only_the_tallies_are_shown,
    a_pin_comes_with_a_line_once,
    files_and_previews_go_one_by_one,
    changes_that_meet_all_land,
    nothing_hangs_on_a_deleted_message,
    an_edit_replaces_the_mentions,
    who_answers_follows_and_so_does_the_author,
);
