use parlour_protocol::RoomId;

use super::*;

fn answer(verdict: Verdict, sub: u64, epoch: &str, seq: u64) -> Subscribed {
    Subscribed { room_id: RoomId::new(), verdict, sub, epoch: epoch.into(), seq, error: None }
}

fn live_at(seq: u64) -> Feed {
    let mut feed = Feed::default();
    feed.ask();
    feed.subscribed(&answer(Verdict::Live, 1, "e", seq));
    feed
}

fn page(seq: u64, done: bool) -> CatchUp {
    CatchUp { entries: vec![], seq, done }
}

#[test]
fn the_next_event_moves_the_position_and_an_old_one_does_not() {
    let mut feed = live_at(4);
    assert_eq!([feed.durable(5), feed.durable(5), feed.durable(2)], [Step::Apply, Step::Ignore, Step::Ignore]);
    assert_eq!(feed.seq(), 5);
}

#[test]
fn a_hole_is_asked_for_once() {
    let mut feed = live_at(4);
    assert_eq!(feed.durable(6), Step::Resubscribe);
    let since = feed.ask().unwrap();
    assert_eq!(since.seq.unsigned(), 4);
    assert_eq!(feed.durable(7), Step::Ignore);
    assert_eq!(feed.subscribed(&answer(Verdict::Exact, 2, "e", 7)), Begin::Continue);
    assert!(!feed.is_live());
    feed.turn_page(&page(7, true));
    assert!(feed.is_live());
    assert_eq!(feed.durable(8), Step::Apply);
}

#[test]
fn bl_006_an_empty_room_resumes_as_exact_with_nothing_to_read() {
    let mut feed = live_at(0);
    feed.detach();
    assert_eq!(feed.ask().unwrap().seq.unsigned(), 0);
    assert_eq!(feed.subscribed(&answer(Verdict::Exact, 1, "e", 0)), Begin::Continue);
    feed.turn_page(&page(0, true));
    assert_eq!((feed.seq(), feed.is_live()), (0, true));
}

#[test]
fn bl_008_a_position_at_the_head_resumes_however_old_it_is() {
    let mut feed = live_at(41);
    assert_eq!(feed.durable(42), Step::Apply);
    feed.detach();
    assert_eq!(feed.ask().unwrap().seq.unsigned(), 42);
    assert_eq!(feed.subscribed(&answer(Verdict::Exact, 1, "e", 42)), Begin::Continue);
    feed.turn_page(&page(42, true));
    assert!(feed.is_live());
}

#[test]
fn bl_024_unsubscribed_clears_the_room_so_that_the_next_subscription_starts_clean() {
    let mut feed = live_at(9);
    assert!(!feed.unsubscribed(7), "another subscription's end");
    assert!(feed.unsubscribed(1));
    assert_eq!(feed.ask(), None);
    assert_eq!(feed.subscribed(&answer(Verdict::Live, 2, "e", 12)), Begin::Continue);
    assert_eq!(feed.durable(13), Step::Apply);
}

#[test]
fn gap_and_reset_discard_and_take_the_head() {
    for (verdict, epoch, head) in [(Verdict::Gap, "e", 5000), (Verdict::Reset, "f", 3)] {
        let mut feed = live_at(40);
        feed.detach();
        feed.ask();
        assert_eq!(feed.subscribed(&answer(verdict, 2, epoch, head)), Begin::Discard);
        assert_eq!(feed.place(), Some(&Place { epoch: epoch.into(), seq: head }));
    }
}

#[test]
fn control_frames_of_an_older_subscription_are_ignored() {
    let mut feed = live_at(4);
    feed.ask();
    feed.subscribed(&answer(Verdict::Exact, 2, "e", 9));
    assert_eq!(feed.advanced(1, 5), Step::Ignore);
    assert!(!feed.is_current(1));
    let behind = Behind { verdict: Verdict::Gap, seq: 4, head: 99 };
    assert_eq!(feed.behind(1, &behind), Begin::Ignore);
    assert_eq!(feed.seq(), 4);
}

#[test]
fn behind_goes_on_from_the_store_or_discards() {
    let mut feed = live_at(120);
    let exact = Behind { verdict: Verdict::Exact, seq: 120, head: 122 };
    assert_eq!(feed.behind(1, &exact), Begin::Continue);
    feed.turn_page(&page(122, true));
    assert_eq!((feed.seq(), feed.is_live()), (122, true));
    let unseen = Behind { verdict: Verdict::Exact, seq: 130, head: 140 };
    assert_eq!(feed.behind(1, &unseen), Begin::Resubscribe);
    let gap = Behind { verdict: Verdict::Gap, seq: 122, head: 4210 };
    assert_eq!(feed.behind(1, &gap), Begin::Discard);
    assert_eq!(feed.durable(4211), Step::Apply);
}

#[test]
fn a_head_that_stays_ahead_until_the_next_ping_is_a_reason_to_subscribe_again() {
    let mut feed = live_at(4);
    assert!(!feed.pinged(Some(6)), "the events may be under way");
    assert!(feed.pinged(None));
    let mut feed = live_at(4);
    assert!(!feed.pinged(Some(5)));
    assert_eq!(feed.durable(5), Step::Apply);
    assert!(!feed.pinged(None), "they came");
}

#[test]
fn a_catch_up_that_stands_still_is_asked_for_again() {
    let mut feed = live_at(4);
    feed.detach();
    feed.ask();
    feed.subscribed(&answer(Verdict::Exact, 1, "e", 900));
    assert!(!feed.pinged(Some(900)));
    feed.turn_page(&page(100, false));
    assert!(!feed.pinged(None), "it moves");
    assert!(feed.pinged(None), "it does not");
}

#[test]
fn events_before_any_subscription_are_not_for_us() {
    let mut feed = Feed::resume(Some(Place { epoch: "e".into(), seq: 4 }));
    assert_eq!(feed.durable(5), Step::Ignore);
}
