//! Sizes and durations with their units, as people write them in a configuration.
//!
//! A unit is mandatory: `4GiB`, `512 MiB`, `1GB`, `0B`; `30s`, `250ms`, `2m`, `1h`. A bare number is
//! refused, because a reader cannot see whether 30 means seconds or milliseconds, and the error
//! says which units there are.

use std::time::Duration;

/// Why a size or duration could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// There is no number in front.
    #[error("`{0}` does not begin with a number")]
    NoNumber(String),
    /// There is no unit behind, or one that is not known.
    #[error("`{text}` needs one of the units {units}")]
    NoUnit {
        /// What was given.
        text: String,
        /// The units that would do.
        units: &'static str,
    },
    /// The number with its unit is out of range.
    #[error("`{0}` is too large")]
    TooLarge(String),
}

const SIZE_UNITS: &str = "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB";
const DURATION_UNITS: &str = "us, ms, s, m, h";

/// Reads a size in bytes.
///
/// ```
/// assert_eq!(engine::units::parse_size("4GiB"), Ok(4 << 30));
/// assert!(engine::units::parse_size("4").is_err());
/// ```
pub fn parse_size(text: &str) -> Result<u64, UnitError> {
    let (number, unit) = split(text)?;
    let factor: u64 = match unit {
        "B" => 1,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        _ => {
            return Err(UnitError::NoUnit {
                text: text.to_owned(),
                units: SIZE_UNITS,
            });
        }
    };
    scaled(text, number, factor)
}

/// Reads a duration.
///
/// ```
/// # use std::time::Duration;
/// assert_eq!(engine::units::parse_duration("1.5s"), Ok(Duration::from_millis(1500)));
/// ```
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let (number, unit) = split(text)?;
    let micros: u64 = match unit {
        "us" | "µs" => 1,
        "ms" => 1_000,
        "s" => 1_000_000,
        "m" | "min" => 60_000_000,
        "h" => 3_600_000_000,
        _ => {
            return Err(UnitError::NoUnit {
                text: text.to_owned(),
                units: DURATION_UNITS,
            });
        }
    };
    scaled(text, number, micros).map(Duration::from_micros)
}

/// Reads the expected time from which plans are sampled: a duration, or `never`, which is the longest one.
///
/// ```
/// # use std::time::Duration;
/// assert_eq!(engine::units::parse_sample_from("never"), Ok(Duration::MAX));
/// assert_eq!(engine::units::parse_sample_from("0ms"), Ok(Duration::ZERO));
/// ```
pub fn parse_sample_from(text: &str) -> Result<Duration, UnitError> {
    match text.trim() {
        "never" => Ok(Duration::MAX),
        text => parse_duration(text),
    }
}

/// A duration for people, with up to three decimals: milliseconds below a second, minutes from two
/// of them on.
///
/// ```
/// # use std::time::Duration;
/// assert_eq!(engine::units::format_duration(Duration::from_millis(1500)), "1.5 s");
/// ```
pub fn format_duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    let (value, unit) = if seconds < 1.0 {
        (seconds * 1e3, "ms")
    } else if seconds < 120.0 {
        (seconds, "s")
    } else {
        (seconds / 60.0, "min")
    };
    let digits = format!("{value:.3}");
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    format!("{digits} {unit}")
}

/// A size for people: the largest binary unit that leaves at least one before the point.
pub fn format_size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{bytes} B")
    } else {
        format!("{value:.1} {}", UNITS[unit])
    }
}

fn split(text: &str) -> Result<(&str, &str), UnitError> {
    let text = text.trim();
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(text.len());
    if end == 0 {
        return Err(UnitError::NoNumber(text.to_owned()));
    }
    Ok((&text[..end], text[end..].trim_start()))
}

fn scaled(text: &str, number: &str, factor: u64) -> Result<u64, UnitError> {
    if let Ok(whole) = number.parse::<u64>() {
        return whole
            .checked_mul(factor)
            .ok_or_else(|| UnitError::TooLarge(text.to_owned()));
    }
    let value: f64 = number
        .parse()
        .map_err(|_| UnitError::NoNumber(text.to_owned()))?;
    let scaled = value * factor as f64;
    if scaled >= u64::MAX as f64 {
        return Err(UnitError::TooLarge(text.to_owned()));
    }
    Ok(scaled.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(parse_size("256MiB"), Ok(256 << 20));
        assert_eq!(parse_size("1.5 GiB"), Ok(3 << 29));
        assert_eq!(parse_size("10kB"), Ok(10_000));
        assert!(matches!(parse_size("10"), Err(UnitError::NoUnit { .. })));
        assert!(matches!(parse_size("GiB"), Err(UnitError::NoNumber(_))));
        assert!(matches!(
            parse_size("99999999999TiB"),
            Err(UnitError::TooLarge(_))
        ));
    }

    #[test]
    fn durations() {
        assert_eq!(parse_duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(parse_duration("2m"), Ok(Duration::from_mins(2)));
        assert!(parse_duration("30").is_err());
        assert!(parse_duration("-3s").is_err());
    }

    #[test]
    fn durations_for_people() {
        let table = [
            (Duration::ZERO, "0 ms"),
            (Duration::from_nanos(1_234_567), "1.235 ms"),
            (Duration::from_millis(250), "250 ms"),
            (Duration::from_secs(30), "30 s"),
            (Duration::from_secs(100), "100 s"),
            (Duration::from_mins(5), "5 min"),
        ];
        for (duration, text) in table {
            assert_eq!(format_duration(duration), text);
        }
    }

    #[test]
    fn sizes_for_people() {
        assert_eq!(format_size(12), "12 B");
        assert_eq!(format_size(3 << 29), "1.5 GiB");
    }
}
