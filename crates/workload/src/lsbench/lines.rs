//! Lines of N-Triples: with a time before them, with a stream's IRI behind them, or bare.
//!
//! Invariant: every line is whole, and its time is `floor(i * 1000 / rate)` milliseconds for the `i`-th line of a
//! stream. IRIs and literals are plain ASCII without a character that needs an escape.
//!
//! Cost: a line is five or six copies of constant text and one or two decimal numbers, some 100 bytes; the time's text
//! is made once a millisecond.

use super::vocabulary::{Predicate, SocialNode, TYPE, XSD_DATE, XSD_DATE_TIME, XSD_DOUBLE};

/// Seconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Seconds(pub(super) u64);

/// A millionth of a degree of latitude or longitude.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MicroDegrees(pub(super) i32);

/// Where lines go.
#[derive(Debug, Default)]
pub(super) struct Lines {
    pub(super) out: Vec<u8>,
    /// Lines begun.
    pub(super) count: u64,
    clock: Option<Clock>,
    /// What ends a line after its object: ` .` or ` <stream> .` with a line feed.
    end: Vec<u8>,
}

/// Times of a stream's lines.
#[derive(Debug)]
struct Clock {
    /// Lines in 1,000 seconds.
    rate: u64,
    /// The time of the line that was begun last (milliseconds).
    now_ms: u64,
    /// The first line that has a later time.
    changes_at: u64,
    /// `now_ms` and a tab.
    text: Vec<u8>,
    /// The times that lines of `out` have, ascending, and where the first line of each begins.
    begins: Vec<(u64, usize)>,
}

impl Lines {
    /// Lines without times.
    pub(super) fn bare() -> Self {
        Self {
            end: b" .\n".to_vec(),
            ..Self::default()
        }
    }

    /// Lines of a stream, `rate` of them in 1,000 seconds; they end with the stream's IRI where one is given.
    pub(super) fn timed(rate: u64, stream: Option<&str>) -> Self {
        let end = stream.map_or_else(|| " .\n".to_owned(), |iri| format!(" <{iri}> .\n"));
        Self {
            end: end.into_bytes(),
            clock: Some(Clock {
                rate,
                now_ms: 0,
                changes_at: 0,
                text: Vec::new(),
                begins: Vec::new(),
            }),
            ..Self::default()
        }
    }

    /// Where the first line of `out` that has this time or a later one begins; `None` where none has.
    pub(super) fn begin_of(&self, at_ms: u64) -> Option<usize> {
        let begins = &self.clock.as_ref()?.begins;
        let at = begins.partition_point(|&(ms, _)| ms < at_ms);
        begins.get(at).map(|&(_, begin)| begin)
    }

    /// Moves the first `bytes` bytes of `out` to the end of `into`.
    pub(super) fn take(&mut self, bytes: usize, into: &mut Vec<u8>) {
        into.extend_from_slice(&self.out[..bytes]);
        let rest = self.out.len() - bytes;
        self.out.copy_within(bytes.., 0);
        self.out.truncate(rest);
        if let Some(clock) = &mut self.clock {
            clock.begins.retain(|&(_, begin)| begin >= bytes);
            for (_, begin) in &mut clock.begins {
                *begin -= bytes;
            }
        }
    }

    /// A link to another entity.
    #[inline]
    pub(super) fn link(&mut self, subject: SocialNode, predicate: Predicate, object: SocialNode) {
        self.begin(subject, predicate);
        self.push_node(object);
        self.end();
    }

    /// A triple with a constant object, an IRI without its brackets.
    #[inline]
    pub(super) fn iri(&mut self, subject: SocialNode, predicate: Predicate, iri: &str) {
        self.begin(subject, predicate);
        self.out.push(b'<');
        self.out.extend_from_slice(iri.as_bytes());
        self.out.push(b'>');
        self.end();
    }

    /// The type of an entity.
    #[inline]
    pub(super) fn class(&mut self, subject: SocialNode, class: &str) {
        self.iri(subject, TYPE, class);
    }

    /// A plain literal of several pieces.
    #[inline]
    pub(super) fn text(&mut self, subject: SocialNode, predicate: Predicate, pieces: &[&str]) {
        self.begin(subject, predicate);
        self.out.push(b'"');
        for piece in pieces {
            self.out.extend_from_slice(piece.as_bytes());
        }
        self.out.push(b'"');
        self.end();
    }

    /// A plain literal that `write` appends.
    pub(super) fn written(
        &mut self,
        subject: SocialNode,
        predicate: Predicate,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        self.begin(subject, predicate);
        self.out.push(b'"');
        write(&mut self.out);
        self.out.push(b'"');
        self.end();
    }

    /// A year, as the original writes it: an `xsd:date` of four digits.
    pub(super) fn year(&mut self, subject: SocialNode, predicate: Predicate, year: u64) {
        self.begin(subject, predicate);
        self.out.push(b'"');
        push_decimal(&mut self.out, year);
        self.out.extend_from_slice(XSD_DATE.as_bytes());
        self.end();
    }

    /// The day of a moment, an `xsd:date`.
    pub(super) fn date(&mut self, subject: SocialNode, predicate: Predicate, at: Seconds) {
        self.begin(subject, predicate);
        self.out.push(b'"');
        push_day(&mut self.out, at);
        self.out.extend_from_slice(XSD_DATE.as_bytes());
        self.end();
    }

    /// A moment, an `xsd:dateTime` in UTC.
    #[inline]
    pub(super) fn moment(&mut self, subject: SocialNode, predicate: Predicate, at: Seconds) {
        self.begin(subject, predicate);
        self.out.push(b'"');
        push_day(&mut self.out, at);
        let second = at.0 % 86_400;
        for (mark, part) in [
            (b'T', second / 3600),
            (b':', second / 60 % 60),
            (b':', second % 60),
        ] {
            self.out.push(mark);
            push_two(&mut self.out, part);
        }
        self.out.extend_from_slice(XSD_DATE_TIME.as_bytes());
        self.end();
    }

    /// A coordinate, an `xsd:double` with six decimals.
    #[inline]
    pub(super) fn degrees(
        &mut self,
        subject: SocialNode,
        predicate: Predicate,
        value: MicroDegrees,
    ) {
        self.begin(subject, predicate);
        self.out.push(b'"');
        if value.0 < 0 {
            self.out.push(b'-');
        }
        let magnitude = u64::from(value.0.unsigned_abs());
        push_decimal(&mut self.out, magnitude / 1_000_000);
        self.out.push(b'.');
        let decimals = magnitude % 1_000_000;
        push_two(&mut self.out, decimals / 10_000);
        push_two(&mut self.out, decimals / 100 % 100);
        push_two(&mut self.out, decimals % 100);
        self.out.extend_from_slice(XSD_DOUBLE.as_bytes());
        self.end();
    }

    #[inline]
    fn begin(&mut self, subject: SocialNode, predicate: Predicate) {
        if let Some(clock) = &mut self.clock {
            if self.count >= clock.changes_at {
                clock.advance(self.count, self.out.len());
            }
            self.out.extend_from_slice(&clock.text);
        }
        self.count += 1;
        self.push_node(subject);
        self.out.extend_from_slice(predicate.0.as_bytes());
    }

    #[inline]
    fn push_node(&mut self, node: SocialNode) {
        self.out.extend_from_slice(node.kind.text().as_bytes());
        push_decimal(&mut self.out, node.id);
        self.out.push(b'>');
    }

    #[inline]
    fn end(&mut self) {
        self.out.extend_from_slice(&self.end);
    }
}

impl Clock {
    /// Goes on to the time of this line, which begins at this byte.
    #[cold]
    fn advance(&mut self, line: u64, begin: usize) {
        self.now_ms = time_ms(line, self.rate);
        self.changes_at = lines_until(self.now_ms + 1, self.rate);
        self.text.clear();
        push_decimal(&mut self.text, self.now_ms);
        self.text.push(b'\t');
        self.begins.push((self.now_ms, begin));
    }
}

/// The time of a stream's line (milliseconds), at `rate` lines in 1,000 seconds.
pub(super) fn time_ms(line: u64, rate: u64) -> u64 {
    (u128::from(line) * 1_000_000 / u128::from(rate)) as u64
}

/// How many lines of a stream have a time below this one (milliseconds).
pub(super) fn lines_until(end_ms: u64, rate: u64) -> u64 {
    (u128::from(end_ms) * u128::from(rate)).div_ceil(1_000_000) as u64
}

const DECIMAL_DIGITS_MAX: usize = 20;

/// Appends `number` in decimal, without padding.
#[inline]
pub(super) fn push_decimal(out: &mut Vec<u8>, number: u64) {
    let mut digits = [0; DECIMAL_DIGITS_MAX];
    let mut first = DECIMAL_DIGITS_MAX;
    let mut rest = number;
    loop {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[first..]);
}

/// Appends a number below 100 with two digits.
#[inline]
fn push_two(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&[b'0' + (number / 10) as u8, b'0' + (number % 10) as u8]);
}

/// Appends `yyyy-mm-dd`: Hinnant, "chrono-compatible low-level date algorithms", `civil_from_days`.
fn push_day(out: &mut Vec<u8>, at: Seconds) {
    let days = at.0 / 86_400 + 719_468;
    let day_of_era = days % 146_097;
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
    let year = days / 146_097 * 400 + year_of_era + u64::from(month <= 2);
    push_decimal(out, year);
    out.push(b'-');
    push_two(out, month);
    out.push(b'-');
    push_two(out, day);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        let day = |seconds| {
            let mut out = Vec::new();
            push_day(&mut out, Seconds(seconds));
            String::from_utf8(out).unwrap()
        };
        assert_eq!(day(0), "1970-01-01");
        assert_eq!(day(951_782_400), "2000-02-29");
        assert_eq!(day(1_264_982_400), "2010-02-01");
        assert_eq!(day(1_291_161_599), "2010-11-30");
    }

    #[test]
    fn times_follow_the_rate() {
        let rate = 86_000_000;
        for line in 0..1000 {
            let ms = time_ms(line, rate);
            assert!(lines_until(ms, rate) <= line && line < lines_until(ms + 1, rate));
        }
        assert_eq!(time_ms(86, rate), 1);
        assert_eq!(lines_until(1000, rate), 86_000);
    }
}
