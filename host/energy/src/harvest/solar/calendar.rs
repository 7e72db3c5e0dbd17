//! Dates and times of weather archives, to the minute.

use std::fmt::{self, Display, Formatter};

const DAY_MIN: i64 = 24 * 60;
const YEAR_MIN: i64 = 365 * DAY_MIN;
/// Days before each month of a common year.
const BEFORE_MONTH: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];

/// A minute of the Gregorian calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    year: i64,
    month: i64,
    day: i64,
    /// Minutes from midnight, up to 24:00.
    minute: i64,
}

impl Moment {
    /// Reads `MM/DD/YYYY` and `HH:MM`.
    pub(super) fn american(date: &str, time: &str) -> Option<Self> {
        let mut parts = date.split('/').map(digits);
        let (month, day, year) = (parts.next()??, parts.next()??, parts.next()??);
        let (hour, minute) = time.split_once(':')?;
        Self::new(year, month, day, digits(hour)?, digits(minute)?)
            .filter(|_| parts.next().is_none())
    }

    /// Reads a time stamp `YYYYMMDD:HHMM`.
    pub(super) fn stamp(text: &str) -> Option<Self> {
        let (date, time) = text.split_once(':')?;
        if date.len() != 8 || time.len() != 4 {
            return None;
        }
        let (date, time) = (digits(date)?, digits(time)?);
        let (year, month, day) = (date / 10_000, date / 100 % 100, date % 100);
        Self::new(year, month, day, time / 100, time % 100)
    }

    fn new(year: i64, month: i64, day: i64, hour: i64, minute: i64) -> Option<Self> {
        let is_month = (1..=12).contains(&month);
        let is_time = minute < 60 && (hour < 24 || (hour == 24 && minute == 0));
        let is_moment = is_month && is_time && (1..=days_of(year, month)).contains(&day);
        is_moment.then_some(Self {
            year,
            month,
            day,
            minute: hour * 60 + minute,
        })
    }

    /// Returns the minutes from `earlier` to this moment.
    pub(super) fn minutes_after(&self, earlier: &Self) -> i64 {
        self.minutes() - earlier.minutes()
    }

    /// Returns the minutes from `earlier` to the next occurrence of this moment, ignoring years and
    /// 29 February: a typical year joins months of different years.
    pub(super) fn minutes_on_from(&self, earlier: &Self) -> i64 {
        (self.minutes_of_year() - earlier.minutes_of_year()).rem_euclid(YEAR_MIN)
    }

    fn minutes_of_year(&self) -> i64 {
        (BEFORE_MONTH[self.month as usize - 1] + self.day - 1) * DAY_MIN + self.minute
    }

    fn minutes(&self) -> i64 {
        // Leap days before this year, and this year's own once it is past.
        let before = self.year - 1;
        let leaps = before / 4 - before / 100 + before / 400;
        let own = i64::from(self.month > 2 && is_leap(self.year));
        before * YEAR_MIN + (leaps + own) * DAY_MIN + self.minutes_of_year()
    }
}

impl Display for Moment {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (hour, minute) = (self.minute / 60, self.minute % 60);
        let (year, month, day) = (self.year, self.month, self.day);
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}")
    }
}

/// Reads an unsigned number of at most eight digits.
fn digits(text: &str) -> Option<i64> {
    let is_short = text.len() <= 8 && text.bytes().all(|byte| byte.is_ascii_digit());
    is_short.then(|| text.parse().ok()).flatten()
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Moment {
        Moment::stamp(text).unwrap()
    }

    #[test]
    fn hours_follow_each_other_over_midnights_months_and_leap_days() {
        let pairs = [
            ("20210101:0000", "20210101:0100"),
            ("20201231:2310", "20210101:0010"),
            ("20200228:2300", "20200229:0000"),
            ("20200229:2300", "20200301:0000"),
            ("21000228:2300", "21000301:0000"),
        ];
        for (earlier, later) in pairs {
            assert_eq!(at(later).minutes_after(&at(earlier)), 60, "{earlier}");
        }
    }

    #[test]
    fn the_last_hour_of_a_day_may_be_its_24th() {
        let last = Moment::american("01/31/1988", "24:00").unwrap();
        let next = Moment::american("02/01/1979", "01:00").unwrap();
        assert_eq!(next.minutes_on_from(&last), 60);
        assert_eq!(last.to_string(), "1988-01-31 24:00");
        let new_year = Moment::american("01/01/1976", "01:00").unwrap();
        let sylvester = Moment::american("12/31/1980", "24:00").unwrap();
        assert_eq!(new_year.minutes_on_from(&sylvester), 60);
    }

    #[test]
    fn invalid_dates_and_times_are_rejected() {
        for text in [
            "",
            "20210101",
            "2021010:0000",
            "20211301:0000",
            "20210229:0000",
            "20210100:0000",
            "20210101:2401",
            "20210101:0060",
            "2021-101:0000",
            "20210101:00000",
        ] {
            assert_eq!(Moment::stamp(text), None, "{text}");
        }
        for (date, time) in [
            ("13/01/2020", "01:00"),
            ("01/32/2020", "01:00"),
            ("01/01", "01:00"),
            ("01/01/2020/1", "01:00"),
            ("01/01/2020", "25:00"),
            ("01/01/2020", "1"),
            ("01/01/99999999999999999999", "01:00"),
        ] {
            assert_eq!(Moment::american(date, time), None, "{date} {time}");
        }
    }
}
