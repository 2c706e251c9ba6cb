//! Inline dates and dateTimes.
//!
//! Inline are years 0001 to 9999, real days of the proleptic Gregorian calendar, times from
//! 00:00:00 to 23:59:59 with up to three decimals of seconds, and no timezone, `Z`, or an offset
//! within ±14:00. `-00:00` and `-00:01` go to the dictionary: the first is written `+00:00`
//! otherwise, the second cannot be told from "none" in the 18-byte form of `oxsdatatypes`.
//!
//! A date is year, month, day and timezone in bit fields. A dateTime in bit fields would need 62
//! bits, so its fields are digits of a mixed radix: 10,000 x 12 x 31 x 86,400 x 1,111 x 1,682 is
//! 6.006e17, below 2^60 = 1.153e18. Within one timezone and one number of decimals, ids order like
//! values.

use super::Text;
use oxsdatatypes::{Date, DateTime, Decimal};

const YEARS: u64 = 10_000;
const MONTHS: u64 = 12;
const DAYS: u64 = 31;
const SECONDS: u64 = 86_400;
/// No decimals, then 10 of one digit, 100 of two, 1,000 of three.
const FRACTIONS: u64 = 1 + 10 + 100 + 1000;
/// None, `Z`, then an offset of -840 to 840 minutes.
const ZONES: u64 = 2 + OFFSET_MAX * 2 + 1;
const OFFSET_MAX: u64 = 14 * 60;
const ZONE_BITS: u32 = 11;

const _: () = assert!(ZONES <= 1 << ZONE_BITS);
const _: () = assert!(YEARS * MONTHS * DAYS * SECONDS * FRACTIONS < (1 << 60) / ZONES);

/// Year 1 to 9999, month 1 to 12, day 1 to 31.
#[derive(Clone, Copy)]
struct CalendarDate {
    year: u64,
    month: u64,
    day: u64,
}

impl CalendarDate {
    fn is_real(self) -> bool {
        let is_leap = self.year.is_multiple_of(4)
            && (!self.year.is_multiple_of(100) || self.year.is_multiple_of(400));
        let length = match self.month {
            2 => 28 + u64::from(is_leap),
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        (1..YEARS).contains(&self.year)
            && (1..=MONTHS).contains(&self.month)
            && (1..=length).contains(&self.day)
    }

    /// Days since 0001-01-01.
    fn number(self) -> u64 {
        // Months from March, so that the leap day is a year's last: the usual closed form.
        let (year, month) = if self.month > 2 {
            (self.year, self.month - 3)
        } else {
            (self.year - 1, self.month + 9)
        };
        365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + self.day - 307
    }

    /// Takes `YYYY-MM-DD` off the front.
    fn parse(text: &[u8]) -> Option<(CalendarDate, &[u8])> {
        let (date, rest) = text.split_at_checked(10)?;
        let day = CalendarDate {
            year: digits(&date[..4])?,
            month: digits(&date[5..7])?,
            day: digits(&date[8..])?,
        };
        (date[4] == b'-' && date[7] == b'-' && day.is_real()).then_some((day, rest))
    }

    fn write(self, text: &mut Text) {
        text.unsigned(self.year, 4);
        text.push(b'-');
        text.unsigned(self.month, 2);
        text.push(b'-');
        text.unsigned(self.day, 2);
    }
}

pub(super) fn encode_date(lexical: &[u8]) -> Option<u64> {
    let (day, rest) = CalendarDate::parse(lexical)?;
    let zone = encode_zone(rest)?;
    Some(((day.year << 4 | day.month) << 5 | day.day) << ZONE_BITS | zone)
}

fn date_parts(payload: u64) -> Option<(CalendarDate, u64)> {
    let zone = payload & ((1 << ZONE_BITS) - 1);
    let bits = payload >> ZONE_BITS;
    let day = CalendarDate {
        year: bits >> 9,
        month: bits >> 5 & 15,
        day: bits & 31,
    };
    (day.is_real() && is_zone(zone)).then_some((day, zone))
}

pub(super) fn write_date(payload: u64, text: &mut Text) -> Option<()> {
    let (day, zone) = date_parts(payload)?;
    day.write(text);
    write_zone(zone, text);
    Some(())
}

pub(super) fn date(payload: u64) -> Option<Date> {
    let (day, zone) = date_parts(payload)?;
    let seconds = Decimal::from((day.number() * SECONDS) as i64 - zone_seconds(zone));
    Some(Date::from_be_bytes(timestamp(seconds, zone)))
}

/// The parts of a dateTime: `second` counts from midnight, `fraction` is a code below
/// [`FRACTIONS`], `zone` one below [`ZONES`].
struct Instant {
    day: CalendarDate,
    second: u64,
    fraction: u64,
    zone: u64,
}

impl Instant {
    fn pack(&self) -> u64 {
        let day = (self.day.year * MONTHS + self.day.month - 1) * DAYS + self.day.day - 1;
        ((day * SECONDS + self.second) * FRACTIONS + self.fraction) * ZONES + self.zone
    }

    fn unpack(payload: u64) -> Option<Instant> {
        let (rest, zone) = (payload / ZONES, payload % ZONES);
        let (rest, fraction) = (rest / FRACTIONS, rest % FRACTIONS);
        let (rest, second) = (rest / SECONDS, rest % SECONDS);
        let (rest, day) = (rest / DAYS, rest % DAYS + 1);
        let day = CalendarDate {
            year: rest / MONTHS,
            month: rest % MONTHS + 1,
            day,
        };
        (day.is_real() && is_zone(zone)).then_some(Instant {
            day,
            second,
            fraction,
            zone,
        })
    }
}

pub(super) fn encode_date_time(lexical: &[u8]) -> Option<u64> {
    let (day, rest) = CalendarDate::parse(lexical)?;
    let (time, rest) = rest.split_at_checked(9)?;
    if time[0] != b'T' || time[3] != b':' || time[6] != b':' {
        return None;
    }
    let (hour, minute, second) = (
        digits(&time[1..3])?,
        digits(&time[4..6])?,
        digits(&time[7..])?,
    );
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let (fraction, rest) = encode_fraction(rest)?;
    let second = (hour * 60 + minute) * 60 + second;
    Some(
        Instant {
            day,
            second,
            fraction,
            zone: encode_zone(rest)?,
        }
        .pack(),
    )
}

pub(super) fn write_date_time(payload: u64, text: &mut Text) -> Option<()> {
    let Instant {
        day,
        second,
        fraction,
        zone,
    } = Instant::unpack(payload)?;
    day.write(text);
    for (separator, value) in [
        (b'T', second / 3600),
        (b':', second / 60 % 60),
        (b':', second % 60),
    ] {
        text.push(separator);
        text.unsigned(value, 2);
    }
    let (value, scale) = fraction_parts(fraction);
    if scale > 0 {
        text.push(b'.');
        text.unsigned(value, scale);
    }
    write_zone(zone, text);
    Some(())
}

pub(super) fn date_time(payload: u64) -> Option<DateTime> {
    let Instant {
        day,
        second,
        fraction,
        zone,
    } = Instant::unpack(payload)?;
    let whole = (day.number() * SECONDS + second) as i64 - zone_seconds(zone);
    let (value, scale) = fraction_parts(fraction);
    let power = 10_i128.pow(scale as u32);
    let seconds = Decimal::new(i128::from(whole) * power + i128::from(value), scale as u32).ok()?;
    Some(DateTime::from_be_bytes(timestamp(seconds, zone)))
}

/// The 18-byte form of `oxsdatatypes`: seconds since 0001-01-01T00:00:00Z and the offset in
/// minutes, -1 standing for none.
fn timestamp(seconds: Decimal, zone: u64) -> [u8; 18] {
    let offset = if zone == 0 {
        -1
    } else {
        (zone_seconds(zone) / 60) as i16
    };
    let mut bytes = [0; 18];
    bytes[..16].copy_from_slice(&seconds.to_be_bytes());
    bytes[16..].copy_from_slice(&offset.to_be_bytes());
    bytes
}

/// Takes `.` and one to three digits off the front, if they are there.
fn encode_fraction(text: &[u8]) -> Option<(u64, &[u8])> {
    let Some(text) = text.strip_prefix(b".") else {
        return Some((0, text));
    };
    let scale = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let base = match scale {
        1 => 1,
        2 => 11,
        3 => 111,
        _ => return None,
    };
    Some((base + digits(&text[..scale])?, &text[scale..]))
}

/// The decimals as a number, and how many there are.
fn fraction_parts(fraction: u64) -> (u64, usize) {
    match fraction {
        0 => (0, 0),
        1..=10 => (fraction - 1, 1),
        11..=110 => (fraction - 11, 2),
        _ => (fraction - 111, 3),
    }
}

fn encode_zone(text: &[u8]) -> Option<u64> {
    match text {
        [] => Some(0),
        b"Z" => Some(1),
        [sign, h1, h0, b':', m1, m0] => {
            let (hour, minute) = (digits(&[*h1, *h0])?, digits(&[*m1, *m0])?);
            let offset = hour * 60 + minute;
            if minute > 59 || offset > OFFSET_MAX {
                return None;
            }
            let zone = match sign {
                b'+' => 2 + OFFSET_MAX + offset,
                b'-' if offset > 1 => 2 + OFFSET_MAX - offset,
                _ => return None,
            };
            Some(zone)
        }
        _ => None,
    }
}

/// Whether [`encode_zone`] gives this code.
fn is_zone(zone: u64) -> bool {
    zone < ZONES && zone != 2 + OFFSET_MAX - 1
}

fn zone_seconds(zone: u64) -> i64 {
    if zone < 2 {
        0
    } else {
        (zone as i64 - 2 - OFFSET_MAX as i64) * 60
    }
}

fn write_zone(zone: u64, text: &mut Text) {
    match zone {
        0 => {}
        1 => text.push(b'Z'),
        _ => {
            let minutes = zone_seconds(zone) / 60;
            text.push(if minutes < 0 { b'-' } else { b'+' });
            text.unsigned(minutes.unsigned_abs() / 60, 2);
            text.push(b':');
            text.unsigned(minutes.unsigned_abs() % 60, 2);
        }
    }
}

fn digits(text: &[u8]) -> Option<u64> {
    text.iter().try_fold(0, |value, &digit| {
        digit
            .is_ascii_digit()
            .then(|| value * 10 + u64::from(digit - b'0'))
    })
}
