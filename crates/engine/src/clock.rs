//! Moments: the one that `NOW` gives, which is the system's clock, wherever it stands; and those that literals give.
//!
//! A clock may be far off: a board without a battery begins in 1970 or before, a broken one may stand behind the
//! year 9999. The library that makes dates of it panics before 1970; here every moment of the system's clock
//! is a date (`xsd:dateTime` has years of any length, and negative ones).

use oxrdf::{TermRef, vocab::xsd};
use oxsdatatypes::{DateTime, DayTimeDuration, Decimal, Integer};
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

/// The moment that a term gives (milliseconds since the epoch): an `xsd:dateTime`, which is in UTC where it names no zone and
/// is cut to whole milliseconds, or a whole number of milliseconds. `None`: it is no such term, or before 1970.
pub fn milliseconds_of(term: TermRef<'_>) -> Option<u64> {
    let TermRef::Literal(literal) = term else {
        return None;
    };
    let (text, datatype) = (literal.value(), literal.datatype());
    if datatype == xsd::DATE_TIME || datatype == xsd::DATE_TIME_STAMP {
        return milliseconds_of_date(text);
    }
    let whole = [
        xsd::INTEGER,
        xsd::LONG,
        xsd::INT,
        xsd::NON_NEGATIVE_INTEGER,
        xsd::POSITIVE_INTEGER,
        xsd::UNSIGNED_LONG,
        xsd::UNSIGNED_INT,
    ];
    whole.contains(&datatype).then(|| text.parse().ok())?
}

/// The moment of a date in the form of `xsd:dateTime` (milliseconds since the epoch), as [`milliseconds_of`] has it.
pub fn milliseconds_of_date(text: &str) -> Option<u64> {
    let date: DateTime = text.trim().parse().ok()?;
    let epoch = match date.timezone_offset() {
        Some(_) => "1970-01-01T00:00:00Z",
        None => "1970-01-01T00:00:00",
    };
    let epoch = epoch.parse::<DateTime>().expect("it is a date");
    let since = date.checked_sub(epoch)?;
    let parts = [
        (Decimal::from(since.days()), 86_400_000),
        (Decimal::from(since.hours()), 3_600_000),
        (Decimal::from(since.minutes()), 60_000),
        (since.seconds(), 1000),
    ];
    let mut milliseconds = Decimal::from(0);
    for (count, unit) in parts {
        milliseconds = milliseconds.checked_add(count.checked_mul(unit)?)?;
    }
    let whole = Integer::try_from(milliseconds.checked_floor()?).ok()?;
    u64::try_from(i64::from(whole)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxrdf::{Literal, NamedNodeRef};
    use std::time::Duration;

    #[test]
    fn literals_give_moments() {
        let check = |text: &str, datatype: NamedNodeRef<'_>, expected: Option<u64>| {
            let literal = Literal::new_typed_literal(text, datatype);
            let found = milliseconds_of(TermRef::Literal(literal.as_ref()));
            assert_eq!(found, expected, "{literal}");
        };
        check("1970-01-01T00:00:00Z", xsd::DATE_TIME, Some(0));
        check("1970-01-01T00:00:01.5009Z", xsd::DATE_TIME, Some(1500));
        check(
            "1970-01-02T01:00:00+01:00",
            xsd::DATE_TIME,
            Some(86_400_000),
        );
        check("1970-01-01T00:01:00", xsd::DATE_TIME, Some(60_000));
        check(
            "2026-11-26T02:06:06.005Z",
            xsd::DATE_TIME_STAMP,
            Some(1_795_658_766_005),
        );
        check("1969-12-31T23:59:59.999Z", xsd::DATE_TIME, None);
        check("yesterday", xsd::DATE_TIME, None);
        check("1970-01-01", xsd::DATE, None);
        check("1500", xsd::INTEGER, Some(1500));
        check("1500", xsd::LONG, Some(1500));
        check("-1", xsd::INTEGER, None);
        check("1500", xsd::STRING, None);
        check("1.5", xsd::DECIMAL, None);
        let node = NamedNodeRef::new_unchecked("urn:a");
        assert_eq!(milliseconds_of(TermRef::NamedNode(node)), None);
    }

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
