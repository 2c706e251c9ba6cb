//! Spans of time as the dialects of standing queries write them: `10s`, `1m30s`, `100 ms` and `PT0.1S`.
//!
//! C-SPARQL and CQELS-QL write a number and a unit, CQELS-QL several of these. RSP-QL writes an `xsd:duration` (XML Schema
//! 1.1 part 2, section 3.3.6). Either form is accepted in each dialect, because no text can mean both.
//!
//! Invariant: a span is whole milliseconds, finer parts are cut; a span that is written as more than nothing is never
//! cut to nothing. Years and months have no fixed length and are refused.
//!
//! Cost: one pass over the text of the span.

/// The longest span (milliseconds): 36,525 days, which are a hundred years. Sums of a time since the epoch and a few
/// spans stay far below 2^63.
pub(crate) const SPAN_MS_MAX: u64 = 36_525 * 24 * 3_600_000;

/// Digits of a number at most, so that products with a unit fit 128 bits.
const DIGITS_MAX: usize = 18;

const MILLISECOND: u128 = 1_000_000;
const SECOND: u128 = 1_000 * MILLISECOND;
const MINUTE: u128 = 60 * SECOND;
const HOUR: u128 = 60 * MINUTE;
const DAY: u128 = 24 * HOUR;

/// The milliseconds of a span; else what is wrong with it.
pub(crate) fn milliseconds(text: &str) -> Result<u64, String> {
    let nanoseconds = match text.strip_prefix(['P', 'p']) {
        Some(rest) => of_duration(text, rest)?,
        None => of_units(text)?,
    };
    let milliseconds = nanoseconds / MILLISECOND;
    if milliseconds > u128::from(SPAN_MS_MAX) {
        return Err(format!("`{text}` is longer than 36525 days"));
    }
    if milliseconds == 0 && nanoseconds > 0 {
        return Err(format!(
            "`{text}` is shorter than a millisecond, and times are whole milliseconds"
        ));
    }
    Ok(milliseconds as u64)
}

/// Numbers with units, in nanoseconds.
fn of_units(text: &str) -> Result<u128, String> {
    let mut rest = text;
    let mut total = 0;
    while !rest.is_empty() {
        let (number, behind) = number(rest);
        if number.is_empty() {
            return Err(no_span(text));
        }
        let behind = behind.trim_start();
        let letters = behind.find(|c: char| !c.is_ascii_alphabetic());
        let (unit, behind) = behind.split_at(letters.unwrap_or(behind.len()));
        let unit = match &*unit.to_ascii_lowercase() {
            "" => {
                return Err(format!(
                    "`{number}` has no unit: write {number}ms, {number}s, {number}min (or {number}m), {number}h or \
                     {number}d"
                ));
            }
            "ns" => 1,
            "ms" => MILLISECOND,
            "s" => SECOND,
            "m" | "min" => MINUTE,
            "h" => HOUR,
            "d" => DAY,
            _ => {
                return Err(format!(
                    "`{unit}` is no unit of time: there are ms, s, min (or m), h and d"
                ));
            }
        };
        total += product(text, number, unit)?;
        rest = behind.trim_start();
    }
    Ok(total)
}

/// An `xsd:duration` behind its `P`, in nanoseconds.
fn of_duration(text: &str, mut rest: &str) -> Result<u128, String> {
    let mut total = 0;
    let mut is_time = false;
    // A unit is shorter than the one before it.
    let mut before = u128::MAX;
    let mut parts = 0;
    while !rest.is_empty() {
        if let Some(time) = rest.strip_prefix(['T', 't']).filter(|_| !is_time) {
            (is_time, parts, rest) = (true, 0, time);
            continue;
        }
        let (number, behind) = number(rest);
        let unit = behind.chars().next().map(|unit| unit.to_ascii_uppercase());
        let unit = match (is_time, unit) {
            (false, Some('Y' | 'M')) => {
                return Err(format!(
                    "`{text}` has years or months, which have no fixed length: write days, as in P30D"
                ));
            }
            (false, Some('D')) => DAY,
            (true, Some('H')) => HOUR,
            (true, Some('M')) => MINUTE,
            (true, Some('S')) => SECOND,
            _ => return Err(no_span(text)),
        };
        let is_whole = !number.contains('.');
        if number.is_empty() || unit >= before || !(is_whole || unit == SECOND) {
            return Err(no_span(text));
        }
        total += product(text, number, unit)?;
        (before, parts, rest) = (unit, parts + 1, &behind[1..]);
    }
    // Neither `P` nor `P1DT` is one.
    if parts == 0 {
        return Err(no_span(text));
    }
    Ok(total)
}

/// The digits that a text begins with, with a fraction; and what is behind them.
fn number(text: &str) -> (&str, &str) {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(text);
    let fraction = match text[whole..].strip_prefix('.') {
        Some(fraction) => digits(fraction),
        None => 0,
    };
    let end = if fraction == 0 {
        whole
    } else {
        whole + 1 + fraction
    };
    text.split_at(end)
}

/// A number of units, in nanoseconds, cut to whole ones.
fn product(text: &str, number: &str, unit: u128) -> Result<u128, String> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let too_long = || format!("`{text}` has too many digits");
    if whole.len() > DIGITS_MAX || fraction.len() > DIGITS_MAX {
        return Err(too_long());
    }
    let value = |digits: &str| -> Result<u128, String> {
        match digits {
            "" => Ok(0),
            digits => digits.parse().map_err(|_| too_long()),
        }
    };
    let scale = 10_u128.pow(fraction.len() as u32);
    Ok(value(whole)? * unit + value(fraction)? * unit / scale)
}

fn no_span(text: &str) -> String {
    format!("`{text}` is no span of time: write it as 100ms, 10s, 5min, 1h or 1d, or as PT10S")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_in_milliseconds() {
        for (text, expected) in [
            ("10s", 10_000),
            ("100 ms", 100),
            ("1m30s", 90_000),
            ("1min 500ms", 60_500),
            ("0.5s", 500),
            (".25h", 900_000),
            ("2D", 172_800_000),
            ("1999999ns", 1),
            ("0s", 0),
            ("PT10S", 10_000),
            ("PT0.1S", 100),
            ("P1DT2H3M4.5S", 93_784_500),
            ("pt1m", 60_000),
            ("P36525D", SPAN_MS_MAX),
        ] {
            assert_eq!(milliseconds(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_span() {
        for (text, expected) in [
            ("10", "`10` has no unit: write 10ms"),
            ("10 20s", "`10` has no unit: write 10ms"),
            ("10y", "`y` is no unit of time"),
            ("s", "`s` is no span of time"),
            ("1e3s", "`e` is no unit of time"),
            ("20ns", "`20ns` is shorter than a millisecond"),
            ("P1M", "`P1M` has years or months"),
            ("P", "`P` is no span of time"),
            ("P1DT", "`P1DT` is no span of time"),
            ("PT1S1M", "`PT1S1M` is no span of time"),
            ("PT1.5M", "`PT1.5M` is no span of time"),
            ("PTS", "`PTS` is no span of time"),
            ("PT1", "`PT1` is no span of time"),
            ("36526d", "`36526d` is longer than 36525 days"),
            ("1234567890123456789s", "too many digits"),
        ] {
            let found = milliseconds(text).expect_err(text);
            assert!(found.contains(expected), "{text}: {found}");
        }
    }
}
