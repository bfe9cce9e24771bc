//! Times as people write them: `in 2h`, `tomorrow at 9am`, `next friday 14:30`, `dec 24 9am`, `noon`, ISO 8601.
//! They are read in the person's own time zone. The page reads the same grammar; both pass the one table of
//! cases in `protocol/tests/time-phrases.json`.

mod phrase;
mod resolve;

use std::fmt;

use jiff::{civil::DateTime, tz::TimeZone};
use parlour_protocol::Timestamp;

/// What time it is, and where: phrases are read against it.
#[derive(Debug, Clone)]
pub struct Clock {
    zone: TimeZone,
    /// None: whatever the time is when something is read.
    now: Option<Timestamp>,
}

impl Clock {
    /// In the zone of this machine; UTC where it has none.
    pub fn here() -> Self {
        Self { zone: TimeZone::system(), now: None }
    }

    /// In a zone of the IANA database, as `Europe/Vienna`. None when there is no such zone.
    pub fn in_zone(name: &str) -> Option<Self> {
        TimeZone::get(name).ok().map(|zone| Self { zone, now: None })
    }

    /// Stopped at a time.
    #[must_use]
    pub fn stopped_at(mut self, now: Timestamp) -> Self {
        self.now = Some(now);
        self
    }

    /// Reads a whole text as a time.
    ///
    /// # Errors
    /// When it is none, or one that has passed.
    pub fn read(&self, text: &str) -> Result<When, WhenError> {
        let (when, rest) = self.read_prefix(text)?;
        if rest.is_empty() { Ok(when) } else { Err(WhenError::Unknown) }
    }

    /// Reads the time that a text begins with, and answers what follows it: `in 2h take the tea out` is in two
    /// hours, and `take the tea out`.
    ///
    /// # Errors
    /// When it begins with none, or with one that has passed.
    pub fn read_prefix<'a>(&self, text: &'a str) -> Result<(When, &'a str), WhenError> {
        let (phrase, rest) = phrase::read(text).ok_or(WhenError::Unknown)?;
        let now = self.now.unwrap_or_else(Timestamp::now);
        let when = resolve::resolve(&phrase, now, &self.zone)?;
        Ok((when, rest))
    }

    /// An instant as this clock's people read it.
    pub fn show(&self, at: Timestamp) -> When {
        resolve::show(at, &self.zone, None)
    }
}

/// A time that was read: show it before it is confirmed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct When {
    /// The instant.
    pub at: Timestamp,
    /// What that is on the person's clock.
    local: DateTime,
    abbreviation: String,
    /// What a change of the clocks made of what was written.
    pub clock_change: Option<ClockChange>,
}

/// What a change of the clocks did to a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockChange {
    /// The clocks skip what was written that day: it is moved on by as much as they skip.
    Skipped,
    /// The clocks show what was written twice that day: the first is meant.
    Repeated,
}

impl When {
    /// The clock's face, `2026-12-24T09:00:00`.
    pub fn local(&self) -> String {
        self.local.strftime("%Y-%m-%dT%H:%M:%S").to_string()
    }
}

/// `Thu 24 Dec 2026 09:00 CET`, and what a change of the clocks did to it.
impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = if self.local.second() == 0 { "" } else { ":%S" };
        write!(f, "{} {}", self.local.strftime(&format!("%a %-d %b %Y %H:%M{seconds}")), self.abbreviation)?;
        match self.clock_change {
            None => Ok(()),
            Some(ClockChange::Skipped) => f.write_str(" (the clocks skip the time that was asked for)"),
            Some(ClockChange::Repeated) => f.write_str(" (the first of two: the clocks go back)"),
        }
    }
}

/// Why a text is no time to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WhenError {
    /// It is none.
    #[error("not a time; try \"in 2h\", \"tomorrow 9am\", \"next friday 14:30\" or \"2026-12-24 09:00\"")]
    Unknown,
    /// It has passed.
    #[error("this time has passed")]
    Past,
    /// It is further away than there are dates.
    #[error("too far away")]
    TooFar,
}

#[cfg(test)]
mod tests;
