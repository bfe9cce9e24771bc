//! Filters of a search: of one type any will do, of different types all must hold.

use jiff::{civil::Date, tz::TimeZone};
use parlour_protocol::{
    ProtocolError, RoomId, Timestamp, UserId,
    operation::{SearchFilter, SearchFilterType},
};

/// What a message must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Has {
    Link,
    Embed,
    File,
    Image,
    Video,
    Sound,
    Forward,
}

/// What is wanted; times in nanoseconds.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    pub(super) from: Vec<UserId>,
    pub(super) mentions: Vec<UserId>,
    pub(super) rooms: Vec<RoomId>,
    pub(super) has: Vec<Has>,
    pub(super) before: Vec<i64>,
    pub(super) after: Vec<i64>,
    pub(super) during: Vec<(i64, i64)>,
    pub(super) pinned: Vec<bool>,
}

fn wrong(index: usize, reason: &str) -> ProtocolError {
    ProtocolError::bad_field(format!("/filters/{index}/value"), reason)
}

fn push<T: PartialEq>(values: &mut Vec<T>, value: T) {
    if !values.contains(&value) {
        values.push(value);
    }
}

impl Wanted {
    /// Reads filters; those without a value, and repeats, count for nothing.
    pub(super) fn read(filters: &[SearchFilter], zone: &str) -> Result<Self, ProtocolError> {
        let zone = match zone {
            "UTC" => TimeZone::UTC,
            name => TimeZone::get(name)
                .map_err(|_| ProtocolError::bad_field("/timeZone", "is not the name of a time zone"))?,
        };
        let mut wanted = Self::default();
        for (index, SearchFilter { r#type, value }) in filters.iter().enumerate() {
            let value = value.as_str();
            if value.is_empty() {
                continue;
            }
            let user = || value.parse::<UserId>().map_err(|_| wrong(index, "must be the id of a user"));
            match r#type {
                SearchFilterType::From => push(&mut wanted.from, user()?),
                SearchFilterType::Mentions => push(&mut wanted.mentions, user()?),
                SearchFilterType::In => {
                    push(&mut wanted.rooms, value.parse().map_err(|_| wrong(index, "must be the id of a room"))?);
                }
                SearchFilterType::Has => push(&mut wanted.has, has(value, index)?),
                SearchFilterType::Before => push(&mut wanted.before, moment(value, &zone, index)?),
                SearchFilterType::After => push(&mut wanted.after, moment(value, &zone, index)?),
                SearchFilterType::During => {
                    let day = date(value).ok_or_else(|| wrong(index, "must be a date, YYYY-MM-DD"))?;
                    push(&mut wanted.during, bounds(day, &zone, index)?);
                }
                SearchFilterType::Pinned => {
                    let pinned = value.parse().map_err(|_| wrong(index, "must be true or false"))?;
                    push(&mut wanted.pinned, pinned);
                }
            }
        }
        Ok(wanted)
    }

    pub(super) fn is_empty(&self) -> bool {
        let Self { from, mentions, rooms, has, before, after, during, pinned } = self;
        from.is_empty()
            && mentions.is_empty()
            && rooms.is_empty()
            && has.is_empty()
            && before.is_empty()
            && after.is_empty()
            && during.is_empty()
            && pinned.is_empty()
    }
}

fn has(value: &str, index: usize) -> Result<Has, ProtocolError> {
    Ok(match value {
        "Link" => Has::Link,
        "Embed" => Has::Embed,
        "File" => Has::File,
        "Image" => Has::Image,
        "Video" => Has::Video,
        "Sound" => Has::Sound,
        "Forward" => Has::Forward,
        _ => return Err(wrong(index, "must be Link, Embed, File, Image, Video, Sound or Forward")),
    })
}

fn date(value: &str) -> Option<Date> {
    (value.len() == 10).then(|| value.parse().ok()).flatten()
}

/// The start of a day, and of the next.
fn bounds(day: Date, zone: &TimeZone, index: usize) -> Result<(i64, i64), ProtocolError> {
    let start = |day: Date| {
        let start = zone.to_timestamp(day.at(0, 0, 0, 0)).ok()?;
        // Beyond what a tick can be, the last one will do.
        Some(i64::try_from(start.as_nanosecond()).unwrap_or(if start.as_nanosecond() < 0 {
            i64::MIN
        } else {
            i64::MAX
        }))
    };
    let next = day.tomorrow().ok();
    start(day).zip(next.and_then(start)).ok_or_else(|| wrong(index, "is too far away"))
}

/// A time, or the start of a day.
fn moment(value: &str, zone: &TimeZone, index: usize) -> Result<i64, ProtocolError> {
    if let Some(day) = date(value) {
        return bounds(day, zone, index).map(|(start, _)| start);
    }
    let time: Timestamp = value.parse().map_err(|_| wrong(index, "must be a time, or a date as YYYY-MM-DD"))?;
    Ok(time.as_millis().saturating_mul(1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(r#type: SearchFilterType, value: &str) -> SearchFilter {
        SearchFilter { r#type, value: value.parse().unwrap() }
    }

    #[test]
    fn s_023_empty_values_and_repeats_count_for_nothing() {
        use SearchFilterType::{Has as Holds, Pinned};
        let read = |filters: &[SearchFilter]| Wanted::read(filters, "UTC").unwrap();
        assert!(read(&[filter(Pinned, ""), filter(Holds, "")]).is_empty());
        let wanted = read(&[filter(Pinned, "false"), filter(Pinned, "false"), filter(Pinned, "true")]);
        assert_eq!(wanted.pinned, [false, true]);
        assert!(Wanted::read(&[filter(Holds, "File ")], "UTC").is_err());
    }

    #[test]
    fn a_day_is_one_of_the_time_zone() {
        let read = |zone| Wanted::read(&[filter(SearchFilterType::During, "2026-03-29")], zone);
        let hours = |(start, end): (i64, i64)| (end - start) / 3_600_000_000_000;
        assert_eq!(hours(read("UTC").unwrap().during[0]), 24);
        assert_eq!(hours(read("Europe/Berlin").unwrap().during[0]), 23, "the clocks go forward");
        assert!(read("Europe/Nowhere").is_err());
        assert!(Wanted::read(&[filter(SearchFilterType::During, "2026-3-29")], "UTC").is_err());
        assert!(Wanted::read(&[filter(SearchFilterType::Before, "2026-02-30")], "UTC").is_err());
    }
}
