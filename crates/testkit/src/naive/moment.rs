//! Dates, times and parts of dates (XML Schema 1.1 part 2, sections 3.3.7 to 3.3.14 and appendix E).
//!
//! One type for all eight: local year, month, day and second of the day, where what a datatype does not have
//! is filled in as `timeOnTimeline` does (December 31st, 1972, at midnight; the last day of a month), and
//! the timezone's minutes. Seconds are exact rationals, days are counted from the year 0 by the rule of
//! leap years. Shares nothing with what it is compared with.
//!
//! What the specification lets an implementation bound (section 5.4) is bounded as the engine has it:
//! years of 64 bits, and moments that are whole units of 10^-18 seconds in 128 bits.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{ToPrimitive, Zero};
use oxrdf::vocab::xsd;
use oxrdf::{Literal, NamedNodeRef};
use std::cmp::Ordering;

use super::number::Number;

const DAY_SECONDS: i64 = 86_400;

/// Minutes that a timezone is at most away from UTC, to both sides.
const ZONE_MAX: i64 = 14 * 60;

/// A datatype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    DateTime,
    Date,
    Time,
    GYear,
    GYearMonth,
    GMonthDay,
    GMonth,
    GDay,
}

impl Kind {
    /// The kind of a datatype.
    pub(super) fn of(datatype: NamedNodeRef<'_>) -> Option<Kind> {
        Some(match datatype {
            xsd::DATE_TIME | xsd::DATE_TIME_STAMP => Kind::DateTime,
            xsd::DATE => Kind::Date,
            xsd::TIME => Kind::Time,
            xsd::G_YEAR => Kind::GYear,
            xsd::G_YEAR_MONTH => Kind::GYearMonth,
            xsd::G_MONTH_DAY => Kind::GMonthDay,
            xsd::G_MONTH => Kind::GMonth,
            xsd::G_DAY => Kind::GDay,
            _ => return None,
        })
    }

    fn datatype(self) -> NamedNodeRef<'static> {
        match self {
            Kind::DateTime => xsd::DATE_TIME,
            Kind::Date => xsd::DATE,
            Kind::Time => xsd::TIME,
            Kind::GYear => xsd::G_YEAR,
            Kind::GYearMonth => xsd::G_YEAR_MONTH,
            Kind::GMonthDay => xsd::G_MONTH_DAY,
            Kind::GMonth => xsd::G_MONTH,
            Kind::GDay => xsd::G_DAY,
        }
    }

    /// The name of the datatype.
    pub(super) fn name(self) -> &'static str {
        let iri = self.datatype().as_str();
        iri.rsplit_once('#').map_or(iri, |(_, name)| name)
    }

    /// A letter for each field: year, month, day, time.
    fn pattern(self) -> &'static str {
        match self {
            Kind::DateTime => "y-m-dTt",
            Kind::Date => "y-m-d",
            Kind::Time => "t",
            Kind::GYear => "y",
            Kind::GYearMonth => "y-m",
            Kind::GMonthDay => "--m-d",
            Kind::GMonth => "--m",
            Kind::GDay => "---d",
        }
    }

    fn has(self, field: char) -> bool {
        self.pattern().contains(field)
    }
}

/// Year, month from 1, day from 1.
type Day = (i128, i64, i64);

/// A date, a time, or a part of a date.
#[derive(Clone, Debug)]
pub(super) struct Moment {
    pub(super) kind: Kind,
    day: Day,
    /// Of the day, below [`DAY_SECONDS`].
    second: BigRational,
    /// Minutes east of UTC.
    pub(super) zone: Option<i64>,
}

fn is_leap(year: i128) -> bool {
    year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0)
}

/// Days of a month.
fn length(year: i128, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from January 1st of the year 0 to January 1st of another.
fn days_before_year(year: i128) -> i128 {
    // Leap years from 0 to the year before, the year 0 itself among them.
    let leaps = |divisor: i128| (year - 1).div_euclid(divisor) + 1;
    365 * year + leaps(4) - leaps(100) + leaps(400)
}

/// Days from January 1st of the year 0.
fn day_number((year, month, day): Day) -> i128 {
    let months: i64 = (1..month).map(|month| length(year, month)).sum();
    days_before_year(year) + i128::from(months + day - 1)
}

/// The day of a number.
fn day_of(number: i128) -> Day {
    // 400 years have 146,097 days, and no years have two days more or less than their share of them.
    let mut year = (400 * number).div_euclid(146_097) - 1;
    while days_before_year(year + 1) <= number {
        year += 1;
    }
    let mut rest = (number - days_before_year(year)) as i64;
    let mut month = 1;
    while rest >= length(year, month) {
        rest -= length(year, month);
        month += 1;
    }
    (year, month, rest + 1)
}

fn whole(value: i64) -> BigRational {
    BigRational::from_integer(value.into())
}

/// Whether it is a number of units of 10^-18 with 128 bits.
pub(super) fn is_in_units(seconds: &BigRational) -> bool {
    let units = seconds * BigRational::from_integer(BigInt::from(10).pow(18));
    units.is_integer() && units.to_integer().to_i128().is_some()
}

/// Reads a moment from left to right.
struct Reader<'t> {
    rest: &'t str,
}

impl Reader<'_> {
    fn skip(&mut self, character: char) -> Option<()> {
        self.rest = self.rest.strip_prefix(character)?;
        Some(())
    }

    /// So many digits at least.
    fn digits(&mut self, least: usize) -> Option<&str> {
        let length = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.rest.split_at(length);
        self.rest = rest;
        (length >= least).then_some(digits)
    }

    /// Two digits of a number between these.
    fn two(&mut self, least: i64, greatest: i64) -> Option<i64> {
        let digits = self.digits(2).filter(|digits| digits.len() == 2)?;
        let value: i64 = digits.parse().ok()?;
        (least..=greatest).contains(&value).then_some(value)
    }

    /// Production 56, `yearFrag`.
    fn year(&mut self) -> Option<i128> {
        let is_negative = self.skip('-').is_some();
        let digits = self.digits(4)?;
        if digits.len() > 4 && digits.starts_with('0') {
            return None;
        }
        let year: i64 = digits.parse().ok()?;
        Some(i128::from(if is_negative { -year } else { year }))
    }

    /// Hours, minutes and seconds as seconds, [`DAY_SECONDS`] at the end of the day.
    fn time(&mut self) -> Option<BigRational> {
        let hour = self.two(0, 24)?;
        self.skip(':')?;
        let minute = self.two(0, 59)?;
        self.skip(':')?;
        let second = self.two(0, 59)?;
        let mut time = whole((hour * 60 + minute) * 60 + second);
        if self.skip('.').is_some() {
            let digits = self.digits(1)?;
            let scale = BigInt::from(10).pow(u32::try_from(digits.len()).ok()?);
            time += BigRational::new(digits.parse().ok()?, scale);
        }
        (time <= whole(DAY_SECONDS)).then_some(time)
    }

    /// Production 63, `timezoneFrag`, to the end.
    #[expect(clippy::option_option, reason = "a timezone that is none, and none")]
    fn zone(mut self) -> Option<Option<i64>> {
        if self.rest.is_empty() {
            return Some(None);
        }
        if self.rest == "Z" {
            return Some(Some(0));
        }
        let sign = if self.skip('-').is_some() {
            -1
        } else {
            self.skip('+')?;
            1
        };
        let hours = self.two(0, 14)?;
        self.skip(':')?;
        let minutes = hours * 60 + self.two(0, 59)?;
        (self.rest.is_empty() && minutes <= ZONE_MAX).then_some(Some(sign * minutes))
    }
}

impl Moment {
    /// The value of a lexical form.
    pub(super) fn parse(kind: Kind, lexical: &str) -> Option<Moment> {
        let mut reader = Reader { rest: lexical };
        let (mut year, mut month, mut day, mut time) = (None, None, None, None);
        for field in kind.pattern().chars() {
            match field {
                'y' => year = Some(reader.year()?),
                'm' => month = Some(reader.two(1, 12)?),
                'd' => day = Some(reader.two(1, 31)?),
                't' => time = Some(reader.time()?),
                separator => reader.skip(separator)?,
            }
        }
        let zone = reader.zone()?;
        let (year, month) = (year.unwrap_or(1972), month.unwrap_or(12));
        let day = day.unwrap_or_else(|| length(year, month));
        if day > length(year, month) {
            return None;
        }
        let mut moment = Moment {
            kind,
            day: (year, month, day),
            second: time.unwrap_or_else(BigRational::zero),
            zone,
        };
        if moment.second == whole(DAY_SECONDS) {
            moment.second = BigRational::zero();
            if kind == Kind::DateTime {
                moment.day = day_of(day_number(moment.day) + 1);
            }
        }
        moment.bounded()
    }

    /// The moment, if it is within the bounds that an implementation may have.
    fn bounded(self) -> Option<Moment> {
        let year = i64::try_from(self.day.0);
        (year.is_ok() && is_in_units(&self.instant())).then_some(self)
    }

    /// Seconds since the first year 1, local.
    fn local(&self) -> BigRational {
        let days = day_number(self.day) - days_before_year(1);
        BigRational::from_integer(BigInt::from(days) * DAY_SECONDS) + &self.second
    }

    /// Seconds since the first year 1 in UTC: `timeOnTimeline`.
    fn instant(&self) -> BigRational {
        self.local() - whole(self.zone.unwrap_or(0) * 60)
    }

    /// What is so many seconds since the first year 1, local.
    fn at(kind: Kind, local: &BigRational, zone: Option<i64>) -> Option<Moment> {
        let day = (local / whole(DAY_SECONDS)).floor();
        let second = local - &day * whole(DAY_SECONDS);
        let number = day.to_integer().to_i128()? + days_before_year(1);
        let moment = Moment {
            kind,
            day: day_of(number),
            second,
            zone,
        };
        moment.to(kind)?.bounded()
    }

    /// The order; `None` where a timezone that only one of them has decides.
    pub(super) fn order(left: &Moment, right: &Moment) -> Option<Ordering> {
        let (one, other) = (left.instant(), right.instant());
        if left.zone.is_some() == right.zone.is_some() {
            return Some(one.cmp(&other));
        }
        let width = whole(ZONE_MAX * 60);
        if &one + &width < other {
            Some(Ordering::Less)
        } else if one > other + width {
            Some(Ordering::Greater)
        } else {
            None
        }
    }

    /// A cast to another kind (F&O 3.1 section 19.1.5), whose fields the value must have.
    pub(super) fn to(&self, kind: Kind) -> Option<Moment> {
        let is_allowed = match self.kind {
            Kind::DateTime => true,
            Kind::Date => kind != Kind::Time,
            own => own == kind,
        };
        if !is_allowed {
            return None;
        }
        let (year, month, day) = self.day;
        let year = if kind.has('y') { year } else { 1972 };
        let month = if kind.has('m') { month } else { 12 };
        let day = if kind.has('d') {
            day
        } else {
            length(year, month)
        };
        let has_time = kind.has('t');
        let second = if has_time {
            self.second.clone()
        } else {
            BigRational::zero()
        };
        let zone = self.zone;
        Some(Moment {
            kind,
            day: (year, month, day),
            second,
            zone,
        })
    }

    /// `fn:adjust-dateTime-to-timezone` and its kin.
    pub(super) fn adjusted(&self, zone: i64) -> Option<Moment> {
        let local = match self.zone {
            Some(own) => self.local() + whole((zone - own) * 60),
            None => self.local(),
        };
        match self.kind {
            Kind::DateTime | Kind::Date | Kind::Time => Moment::at_as(self.kind, &local, zone),
            _ => None,
        }
    }

    fn at_as(kind: Kind, local: &BigRational, zone: i64) -> Option<Moment> {
        Moment::at(Kind::DateTime, local, Some(zone))?.to(kind)
    }

    /// `dateTimePlusDuration`: months first, on a day that there is, then seconds.
    pub(super) fn plus(&self, months: &BigInt, seconds: &BigRational) -> Option<Moment> {
        if !matches!(self.kind, Kind::DateTime | Kind::Date | Kind::Time) {
            return None;
        }
        let (year, month, day) = self.day;
        let all: BigInt = BigInt::from(year) * 12 + (month - 1) + months;
        let all = all.to_i128()?;
        let (year, month) = (all.div_euclid(12), all.rem_euclid(12) as i64 + 1);
        i64::try_from(year).ok()?;
        let moved = Moment {
            day: (year, month, day.min(length(year, month))),
            ..self.clone()
        };
        Moment::at(Kind::DateTime, &(moved.local() + seconds), self.zone)?.to(self.kind)
    }

    /// The seconds between two of one kind; `None` where only one has a timezone.
    pub(super) fn since(&self, other: &Moment) -> Option<BigRational> {
        let is_time = matches!(self.kind, Kind::DateTime | Kind::Date | Kind::Time);
        let can = is_time && self.kind == other.kind && self.zone.is_some() == other.zone.is_some();
        can.then(|| self.instant() - other.instant())
    }

    /// The year, if the datatype has one.
    pub(super) fn year(&self) -> Option<i64> {
        self.kind.has('y').then(|| i64::try_from(self.day.0).ok())?
    }

    pub(super) fn month(&self) -> Option<i64> {
        self.kind.has('m').then_some(self.day.1)
    }

    pub(super) fn day(&self) -> Option<i64> {
        self.kind.has('d').then_some(self.day.2)
    }

    /// Hours, minutes, seconds.
    pub(super) fn time(&self) -> Option<(i64, i64, BigRational)> {
        if !self.kind.has('t') {
            return None;
        }
        let seconds = self.second.floor().to_integer().to_i64()?;
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        let rest = &self.second - whole(hours * 3600 + minutes * 60);
        Some((hours, minutes, rest))
    }

    /// The timezone as it is written, empty where there is none.
    pub(super) fn zone_form(&self) -> String {
        match self.zone {
            None => String::new(),
            Some(0) => "Z".to_owned(),
            Some(minutes) => {
                let sign = if minutes < 0 { '-' } else { '+' };
                let minutes = minutes.abs();
                format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
            }
        }
    }

    /// The canonical form.
    pub(super) fn form(&self) -> String {
        let (year, month, day) = self.day;
        let field = |field: char| match field {
            'y' if year < 0 => format!("-{:04}", -year),
            'y' => format!("{year:04}"),
            'm' => format!("{month:02}"),
            'd' => format!("{day:02}"),
            't' => self.time_form(),
            separator => separator.to_string(),
        };
        let form: String = self.kind.pattern().chars().map(field).collect();
        form + &self.zone_form()
    }

    fn time_form(&self) -> String {
        let (hours, minutes, seconds) = self.time().expect("it has a time");
        let seconds = Number::Decimal(seconds).literal();
        let seconds = seconds.value();
        let width = if seconds.split('.').next().map_or(0, str::len) < 2 {
            "0"
        } else {
            ""
        };
        format!("{hours:02}:{minutes:02}:{width}{seconds}")
    }

    /// As a literal in canonical form.
    pub(super) fn literal(&self) -> Literal {
        Literal::new_typed_literal(self.form(), self.kind.datatype())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(kind: Kind, lexical: &str) -> Moment {
        Moment::parse(kind, lexical).unwrap_or_else(|| panic!("{lexical}"))
    }

    #[test]
    fn days_are_counted_there_and_back() {
        // From January 1st, 1970: 719,468 days after March 1st of the year 0, which is its 61st day.
        assert_eq!(day_number((1970, 1, 1)), 719_468 + 60);
        let mut next = (-801, 1, 1);
        for number in day_number((-801, 1, 1))..day_number((802, 1, 1)) {
            assert_eq!(day_of(number), next);
            assert_eq!(day_number(next), number);
            let (year, month, day) = next;
            next = match (month, day == length(year, month)) {
                (_, false) => (year, month, day + 1),
                (12, true) => (year + 1, 1, 1),
                (_, true) => (year, month + 1, 1),
            };
        }
        for year in [
            -9_000_000_000_000_000_000,
            4_000_000_000_000,
            i128::from(i64::MAX),
        ] {
            assert_eq!(day_of(day_number((year, 12, 31))), (year, 12, 31));
        }
    }

    #[test]
    fn forms_are_read_by_the_grammar() {
        for (kind, lexical, canonical) in [
            (
                Kind::DateTime,
                "1999-12-31T24:00:00.00+00:00",
                "2000-01-01T00:00:00Z",
            ),
            (
                Kind::DateTime,
                "-0001-02-28T01:02:03.450-00:30",
                "-0001-02-28T01:02:03.45-00:30",
            ),
            (Kind::Date, "0000-02-29+14:00", "0000-02-29+14:00"),
            (Kind::Time, "24:00:00", "00:00:00"),
            (Kind::GYear, "-12020", "-12020"),
            (Kind::GMonthDay, "--02-29Z", "--02-29Z"),
            (Kind::GMonth, "--02", "--02"),
            (Kind::GDay, "---31-05:00", "---31-05:00"),
        ] {
            assert_eq!(moment(kind, lexical).form(), canonical);
        }
        for (kind, lexical) in [
            (Kind::DateTime, "2020-01-01T24:00:00.1"),
            (Kind::DateTime, "2020-01-01T23:59:60"),
            (Kind::DateTime, "2020-01-01T10:00:00.Z"),
            (Kind::DateTime, "2020-01-01 10:00:00"),
            (Kind::Date, "1900-02-29"),
            (Kind::Date, "02020-01-01"),
            (Kind::Date, "2020-1-01"),
            (Kind::Date, "2020-00-00"),
            (Kind::Date, "2020-01-01+14:01"),
            (Kind::Date, "2020-01-01z"),
            (Kind::GMonthDay, "--02-30"),
            (Kind::GYear, "+2020"),
            (Kind::GYear, "99999999999999999999"),
            (Kind::Time, "10:00:00.0000000000000000001"),
        ] {
            assert!(Moment::parse(kind, lexical).is_none(), "{lexical}");
        }
    }

    #[test]
    fn a_missing_timezone_leaves_28_hours_open() {
        let zoned = moment(Kind::DateTime, "2020-01-02T00:00:00Z");
        for (local, order) in [
            ("2020-01-01T09:59:59", Some(Ordering::Less)),
            ("2020-01-01T10:00:00", None),
            ("2020-01-02T14:00:00", None),
            ("2020-01-02T14:00:00.1", Some(Ordering::Greater)),
        ] {
            let local = moment(Kind::DateTime, local);
            assert_eq!(Moment::order(&local, &zoned), order);
            assert_eq!(Moment::order(&zoned, &local), order.map(Ordering::reverse));
        }
    }
}
