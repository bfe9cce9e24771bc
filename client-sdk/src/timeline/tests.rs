use parlour_protocol::{
    DurableEvent, OptionId, RoomId, UserId,
    event::{MessageCreated, MessageDeleted, MessageUpdated, PollVoted},
    object::{MessageChange, MessageDelta, Poll, PollOption, PollTally},
};

use super::*;
use crate::test_util::RoomModel;

fn room() -> (RoomModel, UserId) {
    (RoomModel::new(RoomId::new()), UserId::new())
}

fn texts(timeline: &Timeline) -> Vec<String> {
    timeline.messages().map(|message| message.message.clone()).collect()
}

fn finish(timeline: &mut Timeline, read: Read, as_of: u64, items: Vec<Message>, extent: Extent) -> Merge {
    timeline.finish_read(read, live(as_of), Answer { as_of, items, extent })
}

fn live(seq: u64) -> Progress {
    Progress { seq, folding_from: None }
}

fn merged(merge: Merge) -> Vec<Change> {
    match merge {
        Merge::Merged(changes) => changes,
        Merge::Stale => panic!("stale"),
    }
}

#[test]
fn a_second_copy_is_a_no_op_and_a_higher_rev_replaces() {
    let (mut server, me) = room();
    let mut timeline = Timeline::new(Some(me));
    let entry = server.create(me, "one", None, None);
    assert_eq!(timeline.apply(1, &entry.event).len(), 1);
    assert_eq!(timeline.apply(1, &entry.event), []);
    let row_key = *server.messages.keys().next().unwrap();
    server.edit(row_key, "two");
    let whole = server.messages[&row_key].clone();
    let created = DurableEvent::MessageCreated(Box::new(MessageCreated { message: whole }));
    assert_eq!(timeline.apply(2, &created).len(), 1);
    assert_eq!(texts(&timeline), ["two"]);
    assert_eq!(timeline.apply(1, &entry.event), [], "an older state never overwrites a newer one");
}

#[test]
fn bl_055_a_delete_is_final_whatever_comes_after_it() {
    let (mut server, me) = room();
    let mut timeline = Timeline::new(Some(me));
    let created = server.create(me, "one", None, None);
    timeline.apply(1, &created.event);
    let row_key = *server.messages.keys().next().unwrap();
    let held = server.messages[&row_key].clone();
    let deleted = DurableEvent::MessageDeleted(Box::new(MessageDeleted { row_key, rev: 3 }));
    assert_eq!(timeline.apply(3, &deleted), [Change::Deleted(row_key)]);
    for late in [
        MessageChange::Delta(Box::new(MessageDelta { message: Some("late".into()), ..Default::default() })),
        MessageChange::Whole(Box::new(Message { rev: 9, ..held })),
    ] {
        let update = MessageUpdated { row_key, rev: 2, changes: late };
        assert_eq!(timeline.apply(4, &DurableEvent::MessageUpdated(Box::new(update))), []);
    }
    assert_eq!(timeline.apply(5, &created.event), []);
    assert!(timeline.is_empty());
}

#[test]
fn bl_043_an_older_snapshot_that_is_answered_last_is_ignored() {
    let (mut server, me) = room();
    server.create(me, "one", None, None);
    let row_key = *server.messages.keys().next().unwrap();
    let mut timeline = Timeline::new(Some(me));
    let first = timeline.begin_read(1);
    let old = server.list(None, 9).0;
    server.edit(row_key, "two");
    let second = timeline.begin_read(1);
    finish(&mut timeline, second, 2, server.list(None, 9).0, Extent::Newest { older: None });
    assert_eq!(merged(finish(&mut timeline, first, 1, old, Extent::Newest { older: None })), []);
    assert_eq!(texts(&timeline), ["two"]);
}

#[test]
fn a_list_does_not_bring_back_what_was_deleted_while_it_was_read() {
    let (mut server, me) = room();
    server.create(me, "gone", None, None);
    server.create(me, "here", None, None);
    let mut timeline = Timeline::new(Some(me));
    let read = timeline.begin_read(2);
    let rows = server.list(None, 9).0;
    let gone = rows[1].row_key;
    let event = server.delete(gone).unwrap();
    assert_eq!(timeline.apply(3, &event.event), [], "it was not held");
    finish(&mut timeline, read, 2, rows, Extent::Newest { older: None });
    assert_eq!(texts(&timeline), ["here"]);
}

#[test]
fn a_listed_message_with_a_lower_rev_than_an_event_told_is_read_again() {
    let (mut server, me) = room();
    server.create(me, "one", None, None);
    let mut timeline = Timeline::new(Some(me));
    let read = timeline.begin_read(1);
    let rows = server.list(None, 9).0;
    let row_key = rows[0].row_key;
    let edit = server.edit(row_key, "two").unwrap();
    timeline.apply(2, &edit.event);
    finish(&mut timeline, read, 1, rows, Extent::Newest { older: None });
    assert_eq!(timeline.stale().collect::<Vec<_>>(), [row_key]);
    let again = timeline.begin_read(2);
    let rows = vec![server.messages[&row_key].clone()];
    finish(&mut timeline, again, 2, rows, Extent::Exactly(vec![row_key]));
    assert_eq!((texts(&timeline), timeline.stale().count()), (vec!["two".to_owned()], 0));
}

#[test]
fn a_delta_that_skips_a_rev_is_read_again_instead_of_applied() {
    let (mut server, me) = room();
    let mut timeline = Timeline::new(Some(me));
    timeline.apply(1, &server.create(me, "one", None, None).event);
    let row_key = *server.messages.keys().next().unwrap();
    server.edit(row_key, "two");
    let third = server.react(row_key, me, "👍").unwrap();
    assert_eq!(timeline.apply(3, &third.event), []);
    assert_eq!(timeline.stale().collect::<Vec<_>>(), [row_key]);
    assert_eq!(texts(&timeline), ["one"]);
}

#[test]
fn a_read_by_key_that_finds_nothing_means_deleted() {
    let (mut server, me) = room();
    let mut timeline = Timeline::new(Some(me));
    timeline.apply(1, &server.create(me, "one", None, None).event);
    let row_key = *server.messages.keys().next().unwrap();
    let read = timeline.begin_read(1);
    let changes = merged(finish(&mut timeline, read, 2, vec![], Extent::Exactly(vec![row_key])));
    assert_eq!(changes, [Change::Deleted(row_key)]);
}

#[test]
fn answers_from_before_a_reset_or_older_than_the_position_are_stale() {
    let mut timeline = Timeline::new(None);
    let read = timeline.begin_read(10);
    assert_eq!(finish(&mut timeline, read, 9, vec![], Extent::Newest { older: None }), Merge::Stale);
    let read = timeline.begin_read(10);
    timeline.reset();
    assert_eq!(finish(&mut timeline, read, 10, vec![], Extent::Newest { older: None }), Merge::Stale);
    assert!(timeline.has_older());
}

#[test]
fn a_changed_message_that_is_older_than_the_timeline_stays_out_of_it() {
    let (mut server, me) = room();
    for text in ["old", "middle", "new"] {
        server.create(me, text, None, None);
    }
    let mut timeline = Timeline::new(Some(me));
    let read = timeline.begin_read(3);
    let rows = server.list(None, 1).0;
    let end = rows[0].row_key;
    finish(&mut timeline, read, 3, rows, Extent::Newest { older: Some(end) });
    let old = *server.messages.keys().next_back().unwrap();
    server.edit(old, "changed");
    let page = server.catch_up(3, 9).remove(0);
    timeline.apply(4, page.entries[0].event.as_ref().unwrap());
    assert_eq!(texts(&timeline), ["new"]);
}

#[test]
fn a_timeline_keeps_its_newest_messages_and_knows_that_there_are_older_ones() {
    let (mut server, me) = room();
    let mut timeline = Timeline::new(Some(me)).with_capacity(3);
    let read = timeline.begin_read(0);
    finish(&mut timeline, read, 0, vec![], Extent::Newest { older: None });
    assert!(!timeline.has_older());
    for number in 1..=5 {
        timeline.apply(number, &server.create(me, &number.to_string(), None, None).event);
    }
    assert_eq!(texts(&timeline), ["3", "4", "5"]);
    let cursor = timeline.older_cursor();
    let read = timeline.begin_read(5);
    let (rows, _) = server.list(cursor, 9);
    finish(&mut timeline, read, 5, rows, Extent::Older { than: cursor.unwrap(), older: None });
    assert_eq!(texts(&timeline), ["1", "2", "3", "4", "5"]);
}

#[test]
fn replies_are_counted_once_whether_read_or_seen() {
    let (mut server, me) = room();
    server.create(me, "root", None, None);
    let root = *server.messages.keys().next().unwrap();
    let mut timeline = Timeline::new(Some(me));
    let first = server.create(me, "first", None, Some(root));
    let read = timeline.begin_read(1);
    let mut rows = server.list(None, 9).0;
    rows[1].reply_count = 1;
    finish(&mut timeline, read, 2, rows, Extent::Newest { older: None });
    timeline.apply(2, &first.event);
    assert_eq!(timeline.get(root).unwrap().reply_count, 1);
    let second = server.create(me, "second", None, Some(root));
    timeline.apply(3, &second.event);
    assert_eq!(timeline.get(root).unwrap().reply_count, 2);
    let newest = *server.messages.keys().next().unwrap();
    timeline.apply(4, &server.delete(newest).unwrap().event);
    assert_eq!(timeline.get(root).unwrap().reply_count, 1);
}

#[test]
fn own_reactions_and_votes_are_followed() {
    let (mut server, me) = room();
    let mut timeline = Timeline::new(Some(me));
    timeline.apply(1, &server.create(me, "one", None, None).event);
    let row_key = *server.messages.keys().next().unwrap();
    for (seq, expected) in [(2, vec!["👍".to_owned()]), (3, vec![])] {
        timeline.apply(seq, &server.react(row_key, me, "👍").unwrap().event);
        assert_eq!(timeline.get(row_key).unwrap().mine.clone().unwrap().reactions, expected);
    }

    let option = OptionId::new();
    let mut poll = server.messages[&row_key].clone();
    poll.rev = 4;
    let options = vec![PollOption { id: option, label: "tea".into(), count: 0 }];
    poll.poll = Some(Poll { question: "what?".into(), options, votes: Default::default() });
    let whole = MessageUpdated { row_key, rev: 4, changes: MessageChange::Whole(Box::new(poll)) };
    timeline.apply(4, &DurableEvent::MessageUpdated(Box::new(whole)));
    let tally = vec![PollTally { id: option, count: 1 }];
    let vote = PollVoted { row_key, rev: 5, user_id: me, option_id: Some(option), options: tally };
    timeline.apply(5, &DurableEvent::PollVoted(Box::new(vote)));
    let message = timeline.get(row_key).unwrap();
    assert_eq!(message.mine.as_ref().unwrap().option_id, Some(option));
    let poll = message.poll.as_ref().unwrap();
    assert_eq!((poll.options[0].count, poll.votes.get(&me)), (1, Some(&option)));
}

#[test]
fn bl_059_fifty_toggles_end_as_the_server_has_it() {
    let (mut server, me) = room();
    let mut timeline = Timeline::new(None);
    timeline.apply(1, &server.create(me, "one", None, None).event);
    let row_key = *server.messages.keys().next().unwrap();
    let toggles: Vec<_> = (0..50).map(|_| server.react(row_key, me, "👍").unwrap()).collect();
    for toggle in toggles.iter().chain(&toggles[40..]) {
        timeline.apply(toggle.seq, &toggle.event);
    }
    assert_eq!(timeline.get(row_key).unwrap().reactions, server.messages[&row_key].reactions);
}

#[test]
fn what_a_read_brought_ahead_of_the_feed_and_a_catch_up_does_not_tell_of_is_gone() {
    let (mut server, me) = room();
    let mut timeline = Timeline::new(Some(me));
    let lost = server.create(me, "gone", None, None);
    server.create(me, "here", None, None);
    let read = timeline.begin_read(0);
    let rows = server.list(None, 9).0;
    let gone = rows[1].row_key;
    timeline.finish_read(read, live(0), Answer { as_of: 2, items: rows, extent: Extent::Newest { older: None } });
    server.delete(gone);
    let page = server.catch_up(lost.seq - 1, 9).remove(0);
    for entry in &page.entries {
        timeline.apply(entry.seq, entry.event.as_ref().unwrap());
    }
    assert_eq!(timeline.caught_up(0, page.seq), [Change::Deleted(gone)]);
    assert_eq!(texts(&timeline), ["here"]);
}

#[test]
fn a_page_read_before_the_end_of_a_catch_up_is_read_again() {
    let (mut server, me) = room();
    let mut timeline = Timeline::new(Some(me));
    let read = timeline.begin_read(0);
    let gone = server.create(me, "gone", None, None);
    let (rows, _) = server.list(None, 9);
    server.create(me, "here", None, None);
    server.delete(rows[0].row_key);
    let page = server.catch_up(gone.seq - 1, 9).remove(0);
    for entry in &page.entries {
        timeline.apply(entry.seq, entry.event.as_ref().unwrap());
    }
    timeline.caught_up(0, page.seq);
    let answer = Answer { as_of: gone.seq, items: rows, extent: Extent::Newest { older: None } };
    assert_eq!(timeline.finish_read(read, live(page.seq), answer), Merge::Stale);
    assert_eq!(texts(&timeline), ["here"]);
}

#[test]
fn a_page_that_comes_between_two_pages_of_a_catch_up_is_read_again() {
    let (mut server, me) = room();
    let mut timeline = Timeline::new(Some(me));
    let read = timeline.begin_read(0);
    server.create(me, "gone", None, None);
    let answer = Answer { as_of: 1, items: server.list(None, 9).0, extent: Extent::Newest { older: None } };
    let progress = Progress { seq: 1, folding_from: Some(0) };
    assert_eq!(timeline.finish_read(read, progress, answer), Merge::Stale);
}

#[test]
fn the_late_reply_of_a_send_does_not_bring_back_what_a_catch_up_left_out() {
    let (mut server, me) = room();
    let mut timeline = Timeline::new(Some(me));
    server.create(me, "gone", None, None);
    let own = server.list(None, 1).0.remove(0);
    timeline.caught_up(0, 2);
    assert_eq!(timeline.insert_own(live(2), own), []);
    assert_eq!(texts(&timeline), Vec::<String>::new());
}

#[test]
fn an_own_message_that_was_spared_live_is_inserted_after_a_later_catch_up() {
    let (mut server, me) = room();
    let mut timeline = Timeline::new(Some(me));
    server.create(me, "own", None, None);
    let own = server.list(None, 1).0.remove(0);
    timeline.advance(1);
    timeline.caught_up(1, 1);
    assert_eq!(timeline.insert_own(live(1), own).len(), 1);
}
