//! Durations (XML Schema 1.1 part 2, sections 3.3.6, 3.4.26 and 3.4.27): months and exact seconds.
//!
//! Two durations are ordered where adding them to each of four dateTimes orders the sums alike (section
//! 3.3.6.1). Bounded as the engine has them: months of 64 bits, seconds of whole units of 10^-18 in 128.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, ToPrimitive, Zero};
use oxrdf::vocab::xsd;
use oxrdf::{Literal, NamedNodeRef};
use std::cmp::Ordering;

use super::moment::{Kind, Moment, is_in_units};
use super::number::Number;

/// The datatype of a duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Span {
    YearMonth,
    DayTime,
    Both,
}

impl Span {
    /// The span of a datatype.
    pub(super) fn of(datatype: NamedNodeRef<'_>) -> Option<Span> {
        Some(match datatype {
            xsd::YEAR_MONTH_DURATION => Span::YearMonth,
            xsd::DAY_TIME_DURATION => Span::DayTime,
            xsd::DURATION => Span::Both,
            _ => return None,
        })
    }
}

/// A duration; its two parts have no opposite signs.
#[derive(Clone, Debug)]
pub(super) struct Duration {
    pub(super) span: Span,
    pub(super) months: BigInt,
    pub(super) seconds: BigRational,
}

/// The numbers before each of these letters, which come in this order and each at most once, and at least
/// one of which is there.
fn fields<const N: usize>(mut text: &str, letters: [char; N]) -> Option<[BigRational; N]> {
    let mut found = [const { None }; N];
    for (letter, field) in letters.into_iter().zip(&mut found) {
        let Some((number, rest)) = text.split_once(letter) else {
            continue;
        };
        let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit());
        let is_number = match number.split_once('.') {
            Some((whole, fraction)) => letter == 'S' && is_digits(whole) && is_digits(fraction),
            None => is_digits(number),
        };
        // What is not this letter's may be a later one's.
        if !is_number {
            continue;
        }
        *field = Number::decimal(number)?.to_rational();
        text = rest;
    }
    let is_all = text.is_empty() && found.iter().any(Option::is_some);
    is_all.then(|| found.map(|field| field.unwrap_or_else(BigRational::zero)))
}

impl Duration {
    /// A duration of seconds alone.
    pub(super) fn of_seconds(seconds: BigRational) -> Option<Duration> {
        Duration::new(Span::DayTime, BigInt::zero(), seconds)
    }

    /// `None` where the signs of the parts differ, or one is beyond the bounds.
    pub(super) fn new(span: Span, months: BigInt, seconds: BigRational) -> Option<Duration> {
        let is_mixed = months.is_negative() && seconds.is_positive()
            || months.is_positive() && seconds.is_negative();
        let is_bounded = months.to_i64().is_some() && is_in_units(&seconds);
        (!is_mixed && is_bounded).then_some(Duration {
            span,
            months,
            seconds,
        })
    }

    /// The value of a lexical form.
    pub(super) fn parse(span: Span, lexical: &str) -> Option<Duration> {
        let (is_negative, text) = match lexical.strip_prefix('-') {
            Some(text) => (true, text),
            None => (false, lexical),
        };
        let text = text.strip_prefix('P')?;
        let (date, time) = match text.split_once('T') {
            Some((date, time)) => (date, Some(time)),
            None => (text, None),
        };
        let [mut months, mut seconds] = [const { None }; 2];
        if !date.is_empty() {
            let [years, rest, days] = fields(date, ['Y', 'M', 'D'])?;
            if date.contains(['Y', 'M']) {
                months = Some(years * BigRational::from_integer(12.into()) + rest);
            }
            if date.contains('D') {
                seconds = Some(days * BigRational::from_integer(86_400.into()));
            }
        }
        if let Some(time) = time {
            let [hours, minutes, rest] = fields(time, ['H', 'M', 'S'])?;
            let sixty = BigRational::from_integer(60.into());
            let time = (hours * &sixty + minutes) * &sixty + rest;
            seconds = Some(seconds.unwrap_or_else(BigRational::zero) + time);
        }
        let is_one = match span {
            Span::YearMonth => months.is_some() && seconds.is_none(),
            Span::DayTime => months.is_none() && seconds.is_some(),
            Span::Both => months.is_some() || seconds.is_some(),
        };
        if !is_one {
            return None;
        }
        let months = months.unwrap_or_else(BigRational::zero).to_integer();
        let seconds = seconds.unwrap_or_else(BigRational::zero);
        let duration = Duration::new(span, months, seconds)?;
        if is_negative {
            duration.negated()
        } else {
            Some(duration)
        }
    }

    /// Unary minus.
    pub(super) fn negated(&self) -> Option<Duration> {
        Duration::new(self.span, -&self.months, -&self.seconds)
    }

    /// The sum, of the datatype that both have, or else `xsd:duration`.
    pub(super) fn plus(&self, other: &Duration) -> Option<Duration> {
        let span = if self.span == other.span {
            self.span
        } else {
            Span::Both
        };
        let (months, seconds) = (&self.months + &other.months, &self.seconds + &other.seconds);
        Duration::new(span, months, seconds)
    }

    /// A cast: the part that the datatype has.
    pub(super) fn to(&self, span: Span) -> Duration {
        let mut cast = self.clone();
        cast.span = span;
        match span {
            Span::YearMonth => cast.seconds = BigRational::zero(),
            Span::DayTime => cast.months = BigInt::zero(),
            Span::Both => {}
        }
        cast
    }

    /// Whether both parts are the same.
    pub(super) fn is_equal(&self, other: &Duration) -> bool {
        self.months == other.months && self.seconds == other.seconds
    }

    /// The partial order.
    pub(super) fn order(&self, other: &Duration) -> Option<Ordering> {
        // All four begin with a month, so the sums are ordered as the parts are where these agree.
        let (months, seconds) = (
            self.months.cmp(&other.months),
            self.seconds.cmp(&other.seconds),
        );
        match (months, seconds) {
            (order, Ordering::Equal) | (Ordering::Equal, order) => return Some(order),
            (order, same) if order == same => return Some(order),
            _ => {}
        }
        let mut orders = ["1696-09-01", "1697-02-01", "1903-03-01", "1903-07-01"].map(|start| {
            let start = Moment::parse(Kind::DateTime, &format!("{start}T00:00:00Z"))?;
            let [one, two] = [self, other].map(|by| start.plus(&by.months, &by.seconds));
            Moment::order(&one?, &two?)
        });
        let first = orders[0].take()?;
        orders[1..]
            .iter()
            .all(|order| *order == Some(first))
            .then_some(first)
    }

    /// The timezone, in minutes, that this stands for.
    pub(super) fn zone(&self) -> Option<i64> {
        let minutes = &self.seconds / BigRational::from_integer(60.into());
        let is_zone = self.span != Span::YearMonth && self.months.is_zero() && minutes.is_integer();
        let minutes = minutes.to_integer().to_i64()?;
        (is_zone && minutes.abs() <= 14 * 60).then_some(minutes)
    }

    /// The canonical form.
    fn form(&self) -> String {
        let is_negative = self.months.is_negative() || self.seconds.is_negative();
        let mut form = String::from(if is_negative { "-P" } else { "P" });
        let (months, seconds) = (self.months.abs(), self.seconds.abs());
        if self.span == Span::YearMonth && months.is_zero() {
            return "P0M".to_owned();
        }
        if months.is_zero() && seconds.is_zero() {
            return "PT0S".to_owned();
        }
        let whole: BigInt = seconds.floor().to_integer();
        let fraction = &seconds - BigRational::from_integer(whole.clone());
        let rest = BigRational::from_integer(&whole % 60) + fraction;
        let rest = Number::Decimal(rest).literal();
        let date: [(BigInt, char); 3] = [
            (&months / 12, 'Y'),
            (&months % 12, 'M'),
            (&whole / 86_400, 'D'),
        ];
        let time: [(BigInt, char); 2] = [(&whole / 3600 % 24, 'H'), (&whole / 60 % 60, 'M')];
        let written = |(number, letter): &(BigInt, char)| {
            if number.is_zero() {
                String::new()
            } else {
                format!("{number}{letter}")
            }
        };
        form.extend(date.iter().map(written));
        let mut time: String = time.iter().map(written).collect();
        if rest.value() != "0" {
            time = format!("{time}{}S", rest.value());
        }
        if !time.is_empty() {
            form.push('T');
        }
        form + &time
    }

    /// As a literal in canonical form.
    pub(super) fn literal(&self) -> Literal {
        let datatype = match self.span {
            Span::YearMonth => xsd::YEAR_MONTH_DURATION,
            Span::DayTime => xsd::DAY_TIME_DURATION,
            Span::Both => xsd::DURATION,
        };
        Literal::new_typed_literal(self.form(), datatype)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(lexical: &str) -> Duration {
        Duration::parse(Span::Both, lexical).unwrap_or_else(|| panic!("{lexical}"))
    }

    #[test]
    fn forms_are_read_by_the_grammar() {
        for (lexical, canonical) in [
            ("P1Y2M3DT4H5M6.70S", "P1Y2M3DT4H5M6.7S"),
            ("-P13M", "-P1Y1M"),
            ("PT3600S", "PT1H"),
            ("P0Y", "PT0S"),
            ("PT1M", "PT1M"),
            ("P1M", "P1M"),
            ("-PT0.5S", "-PT0.5S"),
        ] {
            assert_eq!(both(lexical).form(), canonical);
        }
        for none in [
            "P", "-P", "PT", "P1YT", "P1DT", "1Y", "P1", "P1S", "PT1D", "P1M1Y", "PT1S1M", "P-1Y",
            "P1.5Y", "PT1.5M", "PT1.S", "PT.5S", "P1Y1Y", "+P1Y", "P1H", "PT1Y", "p1y", "P 1Y",
        ] {
            assert!(Duration::parse(Span::Both, none).is_none(), "{none}");
        }
        assert!(Duration::parse(Span::YearMonth, "P1D").is_none());
        assert!(Duration::parse(Span::DayTime, "P1Y").is_none());
    }

    #[test]
    fn months_have_28_to_31_days() {
        for (one, other, order) in [
            ("P1M", "P27D", Some(Ordering::Greater)),
            ("P1M", "P28D", None),
            ("P1M", "P31D", None),
            ("P1M", "P32D", Some(Ordering::Less)),
            ("P1Y", "P365D", None),
            ("P1Y", "P12M", Some(Ordering::Equal)),
        ] {
            assert_eq!(both(one).order(&both(other)), order, "{one} {other}");
        }
    }
}
