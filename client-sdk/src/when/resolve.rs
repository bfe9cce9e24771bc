//! What a phrase means now and here.

use jiff::{
    Span,
    civil::{Date, DateTime, Time, Weekday, time},
    tz::{AmbiguousOffset, Offset, TimeZone},
};
use parlour_protocol::Timestamp;

use super::{
    ClockChange, When, WhenError,
    phrase::{Amount, Day, Phrase},
};

/// When a day begins that is named without a time.
const MORNING: Time = time(9, 0, 0, 0);

pub(super) fn resolve(phrase: &Phrase, now: Timestamp, zone: &TimeZone) -> Result<When, WhenError> {
    let when = match phrase {
        Phrase::In(amount) => after(*amount, now, zone)?,
        Phrase::Exact(date, time, offset) => {
            let offset = Offset::from_seconds(*offset).map_err(|_| WhenError::Unknown)?;
            let at = offset.to_timestamp(date.to_datetime(*time)).map_err(|_| WhenError::TooFar)?;
            show(Timestamp::from_millis(at.as_millisecond()), zone, None)
        }
        Phrase::At(day, time) => moment(*day, *time, now, zone)?,
    };
    if when.at <= now { Err(WhenError::Past) } else { Ok(when) }
}

/// An instant on the clocks of a zone.
pub(super) fn show(at: Timestamp, zone: &TimeZone, clock_change: Option<ClockChange>) -> When {
    let instant = jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or_default();
    let info = zone.to_offset_info(instant);
    When { at, local: info.offset().to_datetime(instant), abbreviation: info.abbreviation().to_owned(), clock_change }
}

/// Days and longer by the calendar, so that the clock's face stays; hours and shorter as they pass.
fn after(amount: Amount, now: Timestamp, zone: &TimeZone) -> Result<When, WhenError> {
    let too_far = |_| WhenError::TooFar;
    let Amount { years, months, days, seconds } = amount;
    let (mut at, mut change) = (now, None);
    if (years, months, days) != (0, 0, 0) {
        let span = Span::new().try_years(years).and_then(|span| span.try_months(months));
        let span = span.and_then(|span| span.try_days(days)).map_err(too_far)?;
        let face = show(now, zone, None).local.checked_add(span).map_err(too_far)?;
        let when = on_the_clock(face, zone)?;
        (at, change) = (when.at, when.clock_change);
    }
    let millis = seconds.checked_mul(1000).and_then(|millis| at.as_millis().checked_add(millis));
    let at = jiff::Timestamp::from_millisecond(millis.ok_or(WhenError::TooFar)?).map_err(too_far)?;
    Ok(show(Timestamp::from_millis(at.as_millisecond()), zone, change.filter(|_| seconds == 0)))
}

fn moment(day: Option<Day>, time: Option<Time>, now: Timestamp, zone: &TimeZone) -> Result<When, WhenError> {
    let today = show(now, zone, None).local.date();
    let at = time.unwrap_or(MORNING);
    let on = |date: Date| on_the_clock(date.to_datetime(at), zone);
    let in_days = |days: i64| {
        let date = Span::new().try_days(days).and_then(|span| today.checked_add(span));
        on(date.map_err(|_| WhenError::TooFar)?)
    };
    match day {
        Some(Day::Today) => in_days(0),
        Some(Day::Tomorrow) => in_days(1),
        Some(Day::Date(date)) => on(date),
        Some(Day::Weekday { weekday, is_next }) => {
            let days = days_until(today.weekday(), weekday);
            let first = in_days(days)?;
            if days == 0 && (is_next || first.at <= now) { in_days(7) } else { Ok(first) }
        }
        Some(Day::Yearly { month, day }) => {
            // The 29th of February is up to eight years away.
            for year in today.year()..=today.year().saturating_add(8) {
                if let Ok(date) = Date::new(year, month, day)
                    && let when = on(date)?
                    && when.at > now
                {
                    return Ok(when);
                }
            }
            Err(WhenError::TooFar)
        }
        None => {
            let first = in_days(0)?;
            if first.at <= now { in_days(1) } else { Ok(first) }
        }
    }
}

fn days_until(from: Weekday, to: Weekday) -> i64 {
    i64::from((to.to_monday_zero_offset() - from.to_monday_zero_offset()).rem_euclid(7))
}

/// What a face of the clock is, and what a change of the clocks makes of it.
fn on_the_clock(face: DateTime, zone: &TimeZone) -> Result<When, WhenError> {
    let ambiguous = zone.to_ambiguous_timestamp(face);
    let change = match ambiguous.offset() {
        AmbiguousOffset::Unambiguous { .. } => None,
        AmbiguousOffset::Gap { .. } => Some(ClockChange::Skipped),
        AmbiguousOffset::Fold { .. } => Some(ClockChange::Repeated),
    };
    let at = ambiguous.compatible().map_err(|_| WhenError::TooFar)?;
    Ok(show(Timestamp::from_millis(at.as_millisecond()), zone, change))
}
