use serde::Deserialize;

use super::*;

/// A row of the table that the page passes too.
#[derive(Deserialize)]
struct Row {
    text: String,
    now: Timestamp,
    zone: String,
    /// The instant; none when the text is no time, or one that has passed.
    expect: Option<Timestamp>,
    /// What a change of the clocks did: `skipped` or `repeated`.
    #[serde(default)]
    note: String,
}

#[test]
fn every_phrase_of_the_table_is_read_as_the_page_reads_it() {
    let table = include_str!("../../../protocol/tests/time-phrases.json");
    let rows: Vec<Row> = serde_json::from_str(table).unwrap();
    assert!(rows.len() > 50);
    let mut wrong = Vec::new();
    for row in rows {
        let clock = Clock::in_zone(&row.zone).unwrap().stopped_at(row.now);
        let read = clock.read(&row.text);
        let note = match read.as_ref().ok().and_then(|when| when.clock_change) {
            None => "",
            Some(ClockChange::Skipped) => "skipped",
            Some(ClockChange::Repeated) => "repeated",
        };
        if read.as_ref().ok().map(|when| when.at) != row.expect || note != row.note {
            wrong.push(format!(
                "{:?} at {} in {}: {read:?}, not {:?} {}",
                row.text, row.now, row.zone, row.expect, row.note
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn vienna() -> Clock {
    Clock::in_zone("Europe/Vienna").unwrap().stopped_at("2026-03-04T11:00:00.000Z".parse().unwrap())
}

#[test]
fn a_time_says_what_it_will_be() {
    let shown = |text| vienna().read(text).unwrap().to_string();
    assert_eq!(shown("tomorrow at 9"), "Thu 5 Mar 2026 09:00 CET");
    assert_eq!(shown("45s"), "Wed 4 Mar 2026 12:00:45 CET");
    assert_eq!(shown("mar 29 2:30am"), "Sun 29 Mar 2026 03:30 CEST (the clocks skip the time that was asked for)");
    assert_eq!(shown("oct 25 2:30am"), "Sun 25 Oct 2026 02:30 CEST (the first of two: the clocks go back)");
    assert_eq!(vienna().show("2026-07-01T00:00:00.000Z".parse().unwrap()).local(), "2026-07-01T02:00:00");
}

#[test]
fn what_follows_a_time_is_left() {
    for (text, rest) in [
        ("in 2h take the tea out", "take the tea out"),
        ("in 2h, make 3 calls", "make 3 calls"),
        ("tomorrow 9x", "9x"),
        ("tomorrow 9am: call", "call"),
        ("friday 5 eggs", "5 eggs"),
        ("dec 24 2026 presents", "presents"),
        ("9am stand-up", "stand-up"),
        ("2 hours ago", "ago"),
        ("1h and then go", "and then go"),
    ] {
        assert_eq!(vienna().read_prefix(text).unwrap().1, rest, "{text}");
    }
    assert_eq!(vienna().read_prefix("call Ada").unwrap_err(), WhenError::Unknown);
    assert_eq!(vienna().read("in 2h tea").unwrap_err(), WhenError::Unknown);
    assert!(Clock::in_zone("Europe/Nowhere").is_none());
}

#[test]
fn an_unstopped_clock_goes_on() {
    let when = Clock::here().read("in 1h").unwrap();
    let until = when.at.since(Timestamp::now());
    assert!((3590..=3600).contains(&until.as_secs()), "{until:?}");
}

proptest::proptest! {
    #[test]
    fn whatever_is_typed_it_ends(text in "(in |at |on |next |[0-9]{1,9}|[hmdw:.+-]|am|pm|T|Z|dec|fri| |,|\\PC){0,12}") {
        if let Ok((when, rest)) = vienna().read_prefix(&text) {
            assert!(when.at > "2026-03-04T11:00:00.000Z".parse().unwrap());
            assert!(text.trim_end().ends_with(rest));
        }
    }
}
