use proptest::prelude::*;
use serde_json::json;

use super::*;

fn letter(lane: Option<RoomId>, patience: Patience) -> Letter {
    let nonce = Nonce::random();
    Letter { op: "message.send".into(), data: json!({}), nonce, lane, patience, added_at: Timestamp::from_millis(0) }
}

fn outbox(count: usize) -> (Outbox, Vec<EntryId>) {
    let room = RoomId::new();
    let mut outbox = Outbox::new(1000);
    let ids = (0..count).map(|_| outbox.add(letter(Some(room), Patience::Wait)).unwrap()).collect();
    (outbox, ids)
}

fn error(code: ErrorCode) -> ProtocolError {
    ProtocolError::new(code, "")
}

#[tokio::test(start_paused = true)]
async fn sends_of_a_room_are_pipelined_in_order() {
    let now = Instant::now();
    let (mut outbox, ids) = outbox(40);
    assert_eq!(outbox.take_ready(now, 100), ids[..WINDOW]);
    assert!(outbox.take_ready(now, 100).is_empty());
    assert_eq!(outbox.answered(ids[0], None, now, 0.5), Fate::Settled);
    assert_eq!(outbox.take_ready(now, 100), [ids[WINDOW]]);
}

#[tokio::test(start_paused = true)]
async fn after_an_ambiguous_answer_the_room_halts_and_repeats_in_order() {
    let now = Instant::now();
    let (mut outbox, ids) = outbox(5);
    assert_eq!(outbox.take_ready(now, 3), ids[..3]);
    assert_eq!(outbox.answered(ids[1], Some(&error(ErrorCode::Unavailable)), now, 1.0), Fate::Kept);
    assert!(outbox.take_ready(now, 100).is_empty(), "halted while others are under way");
    outbox.answered(ids[0], None, now, 1.0);
    assert_eq!(outbox.answered(ids[2], Some(&error(ErrorCode::Unavailable)), now, 1.0), Fate::Kept);
    assert!(outbox.take_ready(now, 100).is_empty(), "backing off");
    let wake = outbox.next_wake(now).unwrap();
    assert_eq!(wake - now, Duration::from_millis(500), "two failures at once are one");
    assert_eq!(outbox.take_ready(wake, 100), ids[1..]);
}

#[tokio::test(start_paused = true)]
async fn another_room_is_not_halted() {
    let now = Instant::now();
    let (mut outbox, ids) = outbox(2);
    let other = outbox.add(letter(Some(RoomId::new()), Patience::Wait)).unwrap();
    outbox.take_ready(now, 1);
    outbox.answered(ids[0], Some(&error(ErrorCode::Internal)), now, 1.0);
    assert_eq!(outbox.take_ready(now, 100), [other]);
}

#[tokio::test(start_paused = true)]
async fn a_lost_connection_repeats_everything_unanswered_in_order() {
    let now = Instant::now();
    let (mut outbox, ids) = outbox(4);
    outbox.take_ready(now, 3);
    outbox.answered(ids[1], None, now, 0.5);
    outbox.disconnected();
    assert_eq!(outbox.take_ready(now, 100), [ids[0], ids[2], ids[3]]);
}

#[tokio::test(start_paused = true)]
async fn slowmode_is_waited_for_or_told_as_the_caller_chose() {
    let now = Instant::now();
    let (mut outbox, ids) = outbox(3);
    outbox.take_ready(now, 2);
    let wait = error(ErrorCode::Slowmode).retry_after(4000);
    assert_eq!(outbox.answered(ids[0], Some(&wait), now, 0.5), Fate::Kept);
    assert_eq!(outbox.answered(ids[1], Some(&wait), now, 0.5), Fate::Kept);
    assert!(outbox.take_ready(now + Duration::from_millis(3999), 9).is_empty());
    assert_eq!(outbox.take_ready(now + Duration::from_secs(4), 9), [ids[0]], "one at a time from now on");

    let told = outbox.add(letter(Some(RoomId::new()), Patience::Tell)).unwrap();
    outbox.take_ready(now, 1);
    assert_eq!(outbox.answered(told, Some(&wait), now, 0.5), Fate::Settled);
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_leaves_an_ambiguous_first_outcome_ambiguous() {
    let now = Instant::now();
    let mut outbox = Outbox::new(10);
    let id = outbox.add(letter(Some(RoomId::new()), Patience::Tell)).unwrap();
    outbox.take_ready(now, 1);
    outbox.disconnected();
    outbox.take_ready(now, 1);
    let limited = error(ErrorCode::RateLimited).retry_after(60_000);
    assert_eq!(outbox.answered(id, Some(&limited), now, 0.5), Fate::Kept);
    assert_eq!(outbox.take_ready(now + Duration::from_secs(60), 1), [id]);
    assert_eq!(outbox.answered(id, Some(&error(ErrorCode::Unauthenticated)), now, 0.5), Fate::Kept);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_settles_and_does_not_hold_up_what_is_behind_it() {
    let now = Instant::now();
    let (mut outbox, ids) = outbox(2);
    outbox.take_ready(now, 1);
    assert_eq!(outbox.answered(ids[0], Some(&error(ErrorCode::WordFiltered)), now, 0.5), Fate::Settled);
    assert_eq!(outbox.take_ready(now, 9), [ids[1]]);
}

#[test]
fn only_what_was_never_sent_can_be_taken_back() {
    let (mut outbox, ids) = outbox(2);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let now = runtime.block_on(async { Instant::now() });
    outbox.take_ready(now, 1);
    assert_eq!([outbox.can_withdraw(ids[0]), outbox.can_withdraw(ids[1])], [false, true]);
    outbox.disconnected();
    assert!(!outbox.can_withdraw(ids[0]), "it may be stored");
    assert_eq!(Outbox::new(0).add(letter(None, Patience::Wait)), Err(Full));
}

/// What the server of the property does with a send.
#[derive(Debug, Clone, Copy)]
enum Answer {
    Store,
    StoreAndFail,
    Fail,
    StoreAndDrop,
    Drop,
    Cut,
    Slow,
}

fn answers() -> impl Strategy<Value = Vec<Answer>> {
    let one = prop_oneof![
        6 => Just(Answer::Store),
        1 => Just(Answer::StoreAndFail),
        1 => Just(Answer::Fail),
        1 => Just(Answer::StoreAndDrop),
        1 => Just(Answer::Drop),
        1 => Just(Answer::Cut),
        1 => Just(Answer::Slow),
    ];
    prop::collection::vec(one, 0..80)
}

proptest! {
    /// Whatever is lost, every send is stored once, in order. As the protocol says: behind a send that
    /// fails, those received after it fail too.
    #[test]
    fn every_send_is_stored_once_and_in_order(answers in answers(), count in 1usize..30, window in 1usize..8) {
        let runtime = tokio::runtime::Builder::new_current_thread().start_paused(true).enable_time().build().unwrap();
        let mut now = runtime.block_on(async { Instant::now() });
        let (mut outbox, ids) = outbox(count);
        let mut stored: Vec<EntryId> = Vec::new();
        let mut script = answers.into_iter();
        let mut rounds = 0;
        while outbox.len() > 0 {
            rounds += 1;
            prop_assert!(rounds < 10_000, "it ends");
            let batch = outbox.take_ready(now, window);
            if batch.is_empty() {
                now = outbox.next_wake(now).expect("something is waited for");
            }
            let mut is_failing = false;
            for id in batch {
                let answer = if is_failing { Answer::Fail } else { script.next().unwrap_or(Answer::Store) };
                let is_stored = stored.contains(&id);
                if matches!(answer, Answer::Store | Answer::StoreAndFail | Answer::StoreAndDrop) && !is_stored {
                    stored.push(id);
                }
                match answer {
                    Answer::Store => {
                        outbox.answered(id, None, now, 0.5);
                    }
                    // A nonce that is known is looked up before slowmode.
                    Answer::Slow if is_stored => {
                        outbox.answered(id, None, now, 0.5);
                    }
                    Answer::Slow => {
                        is_failing = true;
                        outbox.answered(id, Some(&error(ErrorCode::Slowmode).retry_after(1000)), now, 0.5);
                    }
                    Answer::StoreAndFail | Answer::Fail => {
                        is_failing = true;
                        outbox.answered(id, Some(&error(ErrorCode::Unavailable)), now, 0.5);
                    }
                    Answer::StoreAndDrop | Answer::Drop => {
                        is_failing = true;
                        outbox.unanswered(id, now, 0.5);
                    }
                    Answer::Cut => {
                        outbox.disconnected();
                        break;
                    }
                }
            }
        }
        prop_assert_eq!(stored, ids);
    }
}
