//! The timer, in a time that stands still.

use std::{future::ready, sync::Mutex, time::Duration};

use parlour_protocol::{JobId, Timestamp};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::schedule::{timer::Timer, wake_ups::WakeUps};

const START: i64 = 2_000_000_000_000;

/// When the timer looked, in ms, while `next` says what is due next and `meanwhile` goes on.
async fn looks<M: Future<Output = ()>>(
    next: impl Fn(i64) -> Option<i64>,
    meanwhile: impl FnOnce(&'static Timer) -> M,
) -> Vec<i64> {
    let timer: &'static Timer = Box::leak(Box::default());
    let (begun, stop, looks) = (Instant::now(), CancellationToken::new(), Mutex::new(Vec::new()));
    let passed = || i64::try_from(begun.elapsed().as_millis()).unwrap();
    let look = || {
        looks.lock().unwrap().push(passed());
        ready(next(passed()).map(|at| Timestamp::from_millis(START + at)))
    };
    let now = || Timestamp::from_millis(START + passed());
    tokio::join!(timer.run_with(look, now, &stop), async {
        meanwhile(timer).await;
        stop.cancel();
    });
    looks.into_inner().unwrap()
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(START + millis)
}

#[tokio::test(start_paused = true)]
async fn an_idle_timer_looks_once_a_minute_and_not_otherwise() {
    let seen = looks(|_| None, |_| sleep(Duration::from_secs(301))).await;
    assert_eq!(seen, [0, 60_000, 120_000, 180_000, 240_000, 300_000]);
}

#[tokio::test(start_paused = true)]
async fn it_sleeps_until_the_next_job_is_due() {
    let next = |now| [1500, 20_000, 500_000].into_iter().find(|at| *at > now);
    let seen = looks(next, |_| sleep(Duration::from_secs(70))).await;
    assert_eq!(seen, [0, 1500, 20_000]);
}

#[tokio::test(start_paused = true)]
async fn an_earlier_job_wakes_it_and_a_later_one_does_not() {
    let seen = looks(
        |now| (now < 30_000).then_some(30_000),
        |timer| async {
            sleep(Duration::from_secs(5)).await;
            timer.schedule(JobId::new(), at(50_000));
            sleep(Duration::from_secs(5)).await;
            timer.schedule(JobId::new(), at(12_000));
            sleep(Duration::from_secs(5)).await;
        },
    )
    .await;
    assert_eq!(seen, [0, 10_000]);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_cannot_be_taken_does_not_keep_it_busy() {
    let seen = looks(Some, |_| sleep(Duration::from_millis(99))).await;
    assert!((15..=25).contains(&seen.len()), "{}", seen.len());
}
