//! The grammar: what is written, before anything is known of now and here.

use jiff::civil::{Date, Time, Weekday, date, time};

/// A time as it was written.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Phrase {
    In(Amount),
    /// A date and time with an offset from UTC, in seconds.
    Exact(Date, Time, i32),
    At(Option<Day>, Option<Time>),
}

/// A length: calendar units by the calendar, the rest by the clock.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Amount {
    pub(super) years: i64,
    pub(super) months: i64,
    pub(super) days: i64,
    pub(super) seconds: i64,
}

/// A day as it was written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Day {
    Today,
    Tomorrow,
    /// The next such day; with `next` never today.
    Weekday {
        weekday: Weekday,
        is_next: bool,
    },
    /// Of this year, or of the next.
    Yearly {
        month: i8,
        day: i8,
    },
    Date(Date),
}

/// Reads what a text begins with; answers what follows.
pub(super) fn read(text: &str) -> Option<(Phrase, &str)> {
    let mut reader = Reader { rest: text };
    let phrase = reader.phrase()?;
    let rest = reader.rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ':' | ';'));
    Some((phrase, rest.trim_end()))
}

/// What is left to read. Readers take it by value where they may fail: nothing is taken then.
#[derive(Debug, Clone, Copy)]
struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    /// Reads, or leaves everything as it was.
    fn attempt<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let mut ahead = *self;
        let found = read(&mut ahead)?;
        *self = ahead;
        Some(found)
    }

    fn skip(&mut self) {
        self.rest = self.rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
    }

    /// Whether nothing is glued to what was read.
    fn boundary(&self) -> Option<()> {
        let next = self.rest.chars().next();
        next.is_none_or(|c| c.is_whitespace() || matches!(c, ',' | ';' | ':' | '.' | '!' | '?' | ')')).then_some(())
    }

    fn literal(&mut self, text: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(text)?;
        Some(())
    }

    /// Reads one of these words if it comes next.
    fn takes(&mut self, words: &[&str]) -> bool {
        self.one_of(words).is_some()
    }

    /// A run of letters, in lower case.
    fn word(&mut self) -> Option<String> {
        self.skip();
        let end = self.rest.find(|c: char| !c.is_alphabetic()).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then(|| word.to_lowercase())
    }

    fn one_of(&mut self, words: &[&str]) -> Option<()> {
        self.attempt(|reader| reader.word().filter(|word| words.contains(&word.as_str())).map(drop))
    }

    /// A run of digits, so many at least and at most.
    fn digits(&mut self, least: usize, most: usize) -> Option<i64> {
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        if !(least..=most).contains(&end) {
            return None;
        }
        let (number, rest) = self.rest.split_at(end);
        self.rest = rest;
        number.parse().ok()
    }

    fn phrase(&mut self) -> Option<Phrase> {
        self.attempt(|reader| {
            reader.one_of(&["in"])?;
            reader.amount(true).map(Phrase::In)
        })
        .or_else(|| self.attempt(|reader| reader.amount(false)).map(Phrase::In))
        .or_else(|| self.attempt(Self::exact))
        .or_else(|| self.attempt(Self::moment))
    }

    /// `2h`, `1h30m`, `2 hours and 30 minutes`; after `in` also `an hour` and `half an hour`.
    fn amount(&mut self, after_in: bool) -> Option<Amount> {
        if after_in && let Some(half) = self.attempt(Self::half_an_hour) {
            return Some(half);
        }
        let mut amount = self.attempt(|reader| reader.part(after_in))?;
        while let Some(part) = self.attempt(|reader| {
            reader.takes(&["and"]);
            reader.part(false)
        }) {
            amount.years = amount.years.checked_add(part.years)?;
            amount.months = amount.months.checked_add(part.months)?;
            amount.days = amount.days.checked_add(part.days)?;
            amount.seconds = amount.seconds.checked_add(part.seconds)?;
        }
        self.boundary()?;
        Some(amount)
    }

    fn half_an_hour(&mut self) -> Option<Amount> {
        self.one_of(&["half"])?;
        self.one_of(&["an"])?;
        self.one_of(&["hour"])?;
        self.boundary()?;
        Some(Amount { seconds: 1800, ..Amount::default() })
    }

    fn part(&mut self, may_be_one: bool) -> Option<Amount> {
        self.skip();
        // In thousandths, for `1.5h`.
        let number = if may_be_one && self.takes(&["a", "an"]) { 1000 } else { self.decimal()? };
        let unit = self.word()?;
        let whole = (number % 1000 == 0).then_some(number / 1000);
        let seconds = |length: i64| Some(Amount { seconds: number.checked_mul(length)? / 1000, ..Amount::default() });
        let days = |length: i64| Some(Amount { days: whole?.checked_mul(length)?, ..Amount::default() });
        match unit.as_str() {
            "s" | "sec" | "secs" | "second" | "seconds" => seconds(1),
            "m" | "min" | "mins" | "minute" | "minutes" => seconds(60),
            "h" | "hr" | "hrs" | "hour" | "hours" => seconds(3600),
            "d" | "day" | "days" => days(1),
            "w" | "wk" | "wks" | "week" | "weeks" => days(7),
            "month" | "months" => Some(Amount { months: whole?, ..Amount::default() }),
            "y" | "year" | "years" => Some(Amount { years: whole?, ..Amount::default() }),
            _ => None,
        }
    }

    /// A number with up to three decimals, in thousandths.
    fn decimal(&mut self) -> Option<i64> {
        let whole = self.digits(1, 9)?;
        let fraction = self.attempt(|reader| {
            reader.literal(".")?;
            let before = reader.rest.len();
            let digits = reader.digits(1, 3)?;
            let read = u32::try_from(before - reader.rest.len()).ok()?;
            Some(digits * 10_i64.pow(3 - read))
        });
        Some(whole * 1000 + fraction.unwrap_or(0))
    }

    /// ISO 8601 with an offset.
    fn exact(&mut self) -> Option<Phrase> {
        self.skip();
        let day = self.iso_date()?;
        self.separator()?;
        let at = self.clock()?;
        self.attempt(|reader| {
            reader.literal(".")?;
            reader.digits(1, 9)
        });
        let offset = self.offset()?;
        self.boundary()?;
        Some(Phrase::Exact(day, at, offset))
    }

    /// Between an ISO date and its time.
    fn separator(&mut self) -> Option<()> {
        let rest = self.rest.strip_prefix(['T', 't']).unwrap_or_else(|| self.rest.trim_start());
        (rest.len() < self.rest.len()).then(|| self.rest = rest)
    }

    fn offset(&mut self) -> Option<i32> {
        let mut ahead = *self;
        ahead.rest = ahead.rest.trim_start();
        if let Some(rest) = ahead.rest.strip_prefix(['Z', 'z']) {
            self.rest = rest;
            return Some(0);
        }
        let sign = if ahead.literal("+").is_some() { 1 } else { ahead.literal("-").map(|()| -1)? };
        let hours = ahead.digits(2, 2).or_else(|| {
            // `+0100`: the digits of both are one run.
            let hours = ahead.rest.get(..2)?.parse().ok()?;
            ahead.rest = ahead.rest.get(2..)?;
            Some(hours)
        })?;
        ahead.rest = ahead.rest.strip_prefix(':').unwrap_or(ahead.rest);
        let minutes = ahead.digits(2, 2).unwrap_or(0);
        let seconds = (hours <= 23 && minutes <= 59).then_some(hours * 3600 + minutes * 60)?;
        *self = ahead;
        i32::try_from(sign * seconds).ok()
    }

    /// A day, a time, or both, in either order.
    fn moment(&mut self) -> Option<Phrase> {
        let (mut day, mut at, mut usual) = (None, None, None);
        loop {
            if day.is_none()
                && let Some((found, time)) = self.attempt(Self::day)
            {
                (day, usual) = (Some(found), time);
                continue;
            }
            if at.is_none()
                && let Some(found) = self.attempt(|reader| reader.time(day.is_some()))
            {
                at = Some(found);
                continue;
            }
            break;
        }
        (day.is_some() || at.is_some()).then_some(Phrase::At(day, at.or(usual)))
    }

    /// A day, and the time of it that is meant when none is named.
    fn day(&mut self) -> Option<(Day, Option<Time>)> {
        let has_on = self.takes(&["on"]);
        self.skip();
        if let Some(day) = self.attempt(|reader| {
            let day = reader.iso_date()?;
            // The time that follows a `T` is read next.
            if reader.rest.starts_with(['T', 't']) && reader.rest[1..].starts_with(|c: char| c.is_ascii_digit()) {
                reader.rest = &reader.rest[1..];
                return Some(day);
            }
            reader.boundary().map(|()| day)
        }) {
            return Some((Day::Date(day), None));
        }
        if let Some(day) = self.attempt(Self::day_of_month) {
            return Some((day, None));
        }
        let word = self.word()?;
        let (day, at) = match word.as_str() {
            "today" if !has_on => (Day::Today, None),
            "tonight" if !has_on => (Day::Today, Some(time(20, 0, 0, 0))),
            "tomorrow" | "tmr" | "tmrw" if !has_on => (Day::Tomorrow, None),
            "next" => (Day::Weekday { weekday: weekday(&self.word()?)?, is_next: true }, None),
            "this" => (Day::Weekday { weekday: weekday(&self.word()?)?, is_next: false }, None),
            name => (Day::Weekday { weekday: weekday(name)?, is_next: false }, None),
        };
        self.boundary()?;
        Some((day, at))
    }

    /// `dec 24`, `24 dec`, `24th of december 2026`.
    fn day_of_month(&mut self) -> Option<Day> {
        let first = self.attempt(|reader| month(&reader.word()?));
        let day = self.ordinal()?;
        let month = match first {
            Some(month) => month,
            None => {
                self.takes(&["of"]);
                month(&self.word()?)?
            }
        };
        self.boundary()?;
        let year = self.attempt(|reader| {
            reader.skip();
            let year = reader.digits(4, 4)?;
            reader.boundary().map(|()| year)
        });
        match year {
            Some(year) => Some(Day::Date(Date::new(i16::try_from(year).ok()?, month, day).ok()?)),
            // The year after a leap year may be none.
            None => date(2024, month, 1).with().day(day).build().ok().map(|_| Day::Yearly { month, day }),
        }
    }

    fn ordinal(&mut self) -> Option<i8> {
        self.skip();
        self.takes(&["the"]);
        self.skip();
        let day = self.digits(1, 2)?;
        for ending in ["st", "nd", "rd", "th"] {
            if self.rest.get(..2).is_some_and(|start| start.eq_ignore_ascii_case(ending)) {
                self.rest = &self.rest[2..];
                break;
            }
        }
        i8::try_from(day).ok().filter(|day| (1..=31).contains(day))
    }

    fn iso_date(&mut self) -> Option<Date> {
        let year = self.digits(4, 4)?;
        self.literal("-")?;
        let month = self.digits(2, 2)?;
        self.literal("-")?;
        let day = self.digits(2, 2)?;
        Date::new(i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
    }

    /// `9am`, `14:30`, `noon`; a bare hour only after `at`, or `tomorrow 9`.
    fn time(&mut self, has_day: bool) -> Option<Time> {
        let has_at = self.takes(&["at"]) || self.attempt(Self::at_sign).is_some();
        self.skip();
        let named = self.attempt(|reader| match reader.word()?.as_str() {
            "noon" | "midday" => Some(time(12, 0, 0, 0)),
            "midnight" => Some(time(0, 0, 0, 0)),
            "morning" if has_day => Some(time(9, 0, 0, 0)),
            "afternoon" if has_day => Some(time(15, 0, 0, 0)),
            "evening" if has_day => Some(time(20, 0, 0, 0)),
            _ => None,
        });
        let found =
            named.or_else(|| self.attempt(Self::twelve_hours)).or_else(|| self.attempt(Self::clock)).or_else(|| {
                let hour = self.digits(1, 2).filter(|hour| has_at && *hour <= 23)?;
                Time::new(i8::try_from(hour).ok()?, 0, 0, 0).ok()
            })?;
        self.boundary()?;
        Some(found)
    }

    fn at_sign(&mut self) -> Option<()> {
        self.skip();
        self.literal("@")
    }

    /// `9am`, `9:30 pm`.
    fn twelve_hours(&mut self) -> Option<Time> {
        let hour = self.digits(1, 2).filter(|hour| (1..=12).contains(hour))?;
        let minute = self.attempt(|reader| {
            reader.literal(":")?;
            reader.digits(2, 2)
        });
        let is_afternoon = match self.word()?.as_str() {
            "am" => false,
            "pm" => true,
            half @ ("a" | "p") => {
                self.literal(".")?;
                self.literal("m").or_else(|| self.literal("M"))?;
                self.rest = self.rest.strip_prefix('.').unwrap_or(self.rest);
                half == "p"
            }
            _ => return None,
        };
        let hour = hour % 12 + if is_afternoon { 12 } else { 0 };
        Time::new(i8::try_from(hour).ok()?, i8::try_from(minute.unwrap_or(0)).ok()?, 0, 0).ok()
    }

    /// `14:30`, `14:30:15`.
    fn clock(&mut self) -> Option<Time> {
        let hour = self.digits(1, 2)?;
        self.literal(":")?;
        let minute = self.digits(2, 2)?;
        let second = self.attempt(|reader| {
            reader.literal(":")?;
            reader.digits(2, 2)
        });
        let part = |number: i64| i8::try_from(number).ok();
        Time::new(part(hour)?, part(minute)?, part(second.unwrap_or(0))?, 0).ok()
    }
}

fn weekday(name: &str) -> Option<Weekday> {
    Some(match name {
        "monday" | "mon" => Weekday::Monday,
        "tuesday" | "tue" | "tues" => Weekday::Tuesday,
        "wednesday" | "wed" => Weekday::Wednesday,
        "thursday" | "thu" | "thur" | "thurs" => Weekday::Thursday,
        "friday" | "fri" => Weekday::Friday,
        "saturday" | "sat" => Weekday::Saturday,
        "sunday" | "sun" => Weekday::Sunday,
        _ => return None,
    })
}

fn month(name: &str) -> Option<i8> {
    const NAMES: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let place =
        NAMES.iter().position(|full| *full == name || full[..3] == *name || (name == "sept" && *full == "september"));
    place.and_then(|place| i8::try_from(place + 1).ok())
}
