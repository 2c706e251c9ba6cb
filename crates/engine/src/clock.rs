//! The moment that `NOW` gives: the system's clock, wherever it stands.
//!
//! A clock may be far off: a board without a battery begins in 1970 or before, a broken one may stand behind the
//! year 9999. The library that makes dates of it panics before 1970; here every moment of the system's clock
//! is a date (`xsd:dateTime` has years of any length, and negative ones).

use oxsdatatypes::{DateTime, DayTimeDuration, Decimal};
use std::time::{SystemTime, UNIX_EPOCH};

/// Now.
pub(crate) fn now() -> DateTime {
    at(SystemTime::now())
}

/// A moment of the system's clock in UTC.
pub(crate) fn at(time: SystemTime) -> DateTime {
    // The clock counts in nanoseconds, its seconds in 64 bits: far within a decimal of 128.
    let nanoseconds = match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i128::try_from(after.as_nanos()).unwrap_or(i128::MAX),
        Err(before) => i128::try_from(before.duration().as_nanos()).map_or(i128::MIN, |n| -n),
    };
    let seconds = Decimal::new(nanoseconds, 9).unwrap_or_default();
    let epoch = "1970-01-01T00:00:00Z".parse::<DateTime>();
    let epoch = epoch.expect("it is a date");
    let duration = DayTimeDuration::new(seconds);
    let moment = epoch.checked_add_day_time_duration(duration);
    moment.expect("300,000 million years are within the calendar")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn every_moment_of_a_clock_is_a_date() {
        let seconds = Duration::from_secs;
        for (time, expected) in [
            (UNIX_EPOCH, "1970-01-01T00:00:00Z"),
            (UNIX_EPOCH - seconds(1), "1969-12-31T23:59:59Z"),
            (
                UNIX_EPOCH - Duration::from_millis(500),
                "1969-12-31T23:59:59.5Z",
            ),
            (UNIX_EPOCH - seconds(62_135_596_801), "0000-12-31T23:59:59Z"),
            (UNIX_EPOCH + seconds(1_795_417_200), "2026-11-23T07:00:00Z"),
            (
                UNIX_EPOCH + seconds(253_402_300_800),
                "10000-01-01T00:00:00Z",
            ),
        ] {
            assert_eq!(at(time).to_string(), expected);
        }
        let ends = [
            UNIX_EPOCH.checked_add(seconds(i64::MAX as u64)),
            UNIX_EPOCH.checked_sub(seconds(i64::MAX as u64)),
        ];
        for end in ends.into_iter().flatten() {
            let year = at(end).year();
            assert!(year.abs() > 292_000_000_000, "{year}");
        }
    }

    #[test]
    fn it_is_now() {
        let known = DateTime::now();
        let now = now();
        assert!(now >= known);
        assert_eq!(now.timezone_offset(), known.timezone_offset());
    }
}
