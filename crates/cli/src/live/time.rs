//! Times of streams: spans and speeds as flags say them, moments as people read them.
//!
//! Times of items are whole milliseconds since 1970, and so is every span that is compared with them.

use crate::exit::{Code, Failure};
use somersault::units::parse_duration;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Moments before this (in 1973) are numbers of a recording rather than dates (milliseconds).
const DATES_FROM_MS: u64 = 100_000_000_000;
/// So far the clocks of two machines may differ (milliseconds).
const AHEAD_MIN_MS: u64 = 10_000;
const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// A span of time of a flag (milliseconds).
pub fn milliseconds(flag: &str, text: &str) -> Result<u64, Failure> {
    let duration = span(flag, text)?;
    let milliseconds = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    if Duration::from_millis(milliseconds) != duration {
        let message = format!("`{flag} {text}`: times of streams are whole milliseconds");
        return Err(Failure::new(Code::Usage, message));
    }
    Ok(milliseconds)
}

/// A span of time of a flag.
pub fn span(flag: &str, text: &str) -> Result<Duration, Failure> {
    parse_duration(text)
        .map_err(|error| Failure::new(Code::Usage, format!("`{flag} {text}`: {error}")))
}

/// How many times as fast as the items' own time `--speed` is; `None`: as fast as can be.
pub fn speed(text: &str) -> Result<Option<f64>, Failure> {
    if text == "max" {
        return Ok(None);
    }
    let times = text
        .strip_suffix('x')
        .and_then(|times| times.parse::<f64>().ok());
    match times {
        Some(times) if times.is_finite() && times > 0.0 => Ok(Some(times)),
        _ => {
            let message = format!("`--speed {text}`: expected max, or a multiple such as 1x");
            Err(Failure::new(Code::Usage, message))
        }
    }
}

/// The clock (milliseconds since 1970).
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_millis() as u64
}

/// A moment for people: a date in UTC, or the number where it is none.
pub fn moment(ms: u64) -> String {
    // Four digits of the year, as RFC 3339 has them.
    if !(DATES_FROM_MS..253_402_300_800_000).contains(&ms) {
        return format!("{ms} ms");
    }
    let (year, month, day) = date(ms / DAY_MS);
    let (seconds, thousandths) = (ms % DAY_MS / 1000, ms % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{thousandths:03}Z")
}

/// How far a moment is ahead of the clock, for people; `None` where it is not, or as clocks of two machines differ.
pub fn ahead(ms: u64) -> Option<String> {
    let ahead_ms = ms.saturating_sub(now_ms());
    let unit = |unit_ms: u64, name: &str| {
        (ahead_ms >= 2 * unit_ms).then(|| format!("{} {name}", ahead_ms / unit_ms))
    };
    let whole = unit(60 * 60 * 1000, "h").or_else(|| unit(60 * 1000, "min"));
    whole.or_else(|| (ahead_ms >= AHEAD_MIN_MS).then(|| format!("{} s", ahead_ms / 1000)))
}

/// The date (year, month, day) of a day since 1970, by Hinnant's "chrono-compatible low-level date algorithms" (2013): a
/// year that begins in March ends with the day that leap years add.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_dates_where_they_can_be() {
        assert_eq!(moment(0), "0 ms");
        assert_eq!(moment(2000), "2000 ms");
        assert_eq!(moment(u64::MAX), "18446744073709551615 ms");
        assert_eq!(moment(951_782_400_000), "2000-02-29 00:00:00.000Z");
        assert_eq!(moment(951_868_799_999), "2000-02-29 23:59:59.999Z");
        assert_eq!(moment(1_795_658_766_005), "2026-11-26 02:06:06.005Z");
        assert_eq!(moment(253_402_300_799_999), "9999-12-31 23:59:59.999Z");
    }

    #[test]
    fn speeds_and_spans_are_read() {
        assert_eq!(speed("max").ok().flatten(), None);
        assert_eq!(speed("0.5x").ok().flatten(), Some(0.5));
        for text in ["", "x", "0x", "-1x", "infx", "2"] {
            assert_eq!(speed(text).expect_err(text).code, Code::Usage);
        }
        assert_eq!(milliseconds("--grain", "2s").ok(), Some(2000));
        let finer = milliseconds("--grain", "1us").expect_err("finer than a millisecond");
        assert!(finer.message.contains("whole milliseconds"));
        let bare = milliseconds("--grain", "100").expect_err("no unit");
        assert!(bare.message.contains("--grain 100"), "{}", bare.message);
    }
}
