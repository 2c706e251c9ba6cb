//! Casts by the constructor functions of XML Schema datatypes (SPARQL 1.1 Query section 17.5; XPath and
//! XQuery Functions and Operators 3.1 section 19).
//!
//! From strings by the datatype's lexical mapping, after white space at both ends is gone (section
//! 19.2); between numbers and booleans by value; between dates, times and durations by their parts.
//! The result is a computed value, so it is written in its canonical form. What F&O does not allow is
//! an error: a dateTime is no number, an IRI only a string.
//!
//! A floating number is cast to the decimal, or the integer, that it is: the nearest one that there is
//! (section 19.1.2.3), because there are decimals of any length here.

use super::column::Made;
use super::compare::{double, float};
use super::derived::normalize;
use super::fixed::Fixed;
use super::large::{Computed, DIGITS_MAX, Large};
use super::scalar::{
    Scalar, XSD, duration as written_duration, floating, integer_range, month_day,
};
use super::value::Value;
use oxsdatatypes::{
    Boolean, Date, DateTime, DayTimeDuration, GDay, GMonth, GYear, GYearMonth, Time,
    YearMonthDuration,
};
use query::expression::Cast;
use std::str::FromStr;

/// Bytes that a cast writes at most: digits of a floating number, or the form of a date.
const FORM_BYTES_MAX: usize = 1100;

/// Bytes that the cast of a value writes at most.
pub(crate) fn bytes(to: Cast, value: &Value<'_>) -> usize {
    match value {
        Value::Text(text)
        | Value::Derived(text, _)
        | Value::Language(text, _)
        | Value::Iri(text)
            if matches!(to, Cast::Derived(_)) =>
        {
            FORM_BYTES_MAX.max(text.len())
        }
        Value::Other(text, _) => text.len(),
        // Sign, zero and point beside the digits.
        Value::Text(text) | Value::Derived(text, _) => {
            FORM_BYTES_MAX.max(text.len().min(DIGITS_MAX) + 3)
        }
        Value::Large(form, _) => form.len() + 3,
        _ => FORM_BYTES_MAX,
    }
}

/// The value cast; `None` is an error. A string, a number without bound, and what is of a derived datatype
/// is written `into`.
pub(crate) fn cast<'b>(to: Cast, value: &Value<'b>, into: &mut String) -> Option<Made<'b>> {
    let value = &value.plain_text().map_or(*value, Value::Text);
    match to {
        Cast::Derived(datatype) => derived(datatype.as_str(), value, into),
        Cast::String => string(value, into),
        Cast::Integer | Cast::Decimal => match exact(to, value)? {
            Computed::Scalar(scalar) => Some(Made::Value(Value::computed(scalar))),
            Computed::Large(form, datatype) => {
                into.push_str(&form);
                Some(Made::Large(datatype))
            }
        },
        _ => Some(Made::Value(Value::computed(scalar(to, value)?))),
    }
}

fn string<'b>(value: &Value<'b>, into: &mut String) -> Option<Made<'b>> {
    match value {
        Value::Iri(iri) => Some(Made::Value(Value::Text(iri))),
        Value::Scalar(scalar, _) => {
            scalar.write_as_string(into)?;
            Some(Made::Text)
        }
        Value::Large(..) => {
            let canonical = Large::of(value)?.finish()?;
            canonical.value().write_form(into)?;
            Some(Made::Text)
        }
        other => Some(Made::Value(Value::Text(other.borrowed_form()?))),
    }
}

/// To a derived datatype: to what it is derived from, and then it has to be in its range (section 19.3).
fn derived<'b>(datatype: &'static str, value: &Value<'b>, into: &mut String) -> Option<Made<'b>> {
    let local_name = datatype.strip_prefix(XSD)?;
    let start = into.len();
    if integer_range(local_name).is_some() {
        exact(Cast::Integer, value)?.value().write_form(into)?;
    } else if local_name == "dateTimeStamp" {
        scalar(Cast::DateTime, value)?.write(into)?;
    } else {
        let is_number = matches!(value, Value::Scalar(..) | Value::Large(..));
        if local_name == "anyURI" && is_number {
            return None;
        }
        // What is written is in its canonical form, which has no white space.
        if let Made::Value(Value::Text(text)) = string(value, into)? {
            normalize(local_name, text, into);
        }
    }
    let is_one = !matches!(Value::typed(&into[start..], datatype), Value::Other(..));
    is_one.then_some(Made::Typed(datatype))
}

/// To an integer or a decimal.
fn exact(to: Cast, value: &Value<'_>) -> Option<Computed> {
    let large = match value {
        Value::Text(text) => {
            let text = trimmed(text);
            if let Some(scalar) = parse(to, text) {
                return Some(Computed::Scalar(scalar));
            }
            let is_integer = to == Cast::Integer;
            if is_integer && text.contains('.') {
                return None;
            }
            Large::parse(text)?
        }
        Value::Scalar(scalar, _) => match number(to, *scalar) {
            Some(scalar) => return Some(Computed::Scalar(scalar)),
            None => match *scalar {
                Scalar::Float(value) => Large::of_double(value.into())?,
                Scalar::Double(value) => Large::of_double(value.into())?,
                _ => Large::of(value)?,
            },
        },
        value => Large::of(value)?,
    };
    match to {
        Cast::Integer => large.truncated(),
        _ => large.into_decimal(),
    }
    .finish()
}

/// To anything else.
fn scalar(to: Cast, value: &Value<'_>) -> Option<Scalar> {
    match value {
        Value::Text(text) => parse(to, trimmed(text)),
        Value::Scalar(scalar, _) => match to {
            Cast::Boolean | Cast::Float | Cast::Double => number(to, *scalar),
            Cast::DateTime | Cast::Date | Cast::Time => moment(to, *scalar),
            Cast::GYear | Cast::GYearMonth | Cast::GMonthDay | Cast::GMonth | Cast::GDay => {
                part_of_date(to, *scalar)
            }
            _ => duration(to, *scalar),
        },
        Value::Large(..) => Some(match to {
            Cast::Boolean => Scalar::Boolean(true),
            Cast::Float => Scalar::Float(Large::of(value)?.to_float()?.into()),
            Cast::Double => Scalar::Double(Large::of(value)?.to_double()?.into()),
            _ => return None,
        }),
        _ => None,
    }
}

fn trimmed(text: &str) -> &str {
    text.trim_matches(['\t', '\n', '\r', ' '])
}

fn parse(to: Cast, text: &str) -> Option<Scalar> {
    fn of<T: FromStr>(text: &str) -> Option<T> {
        text.parse().ok()
    }
    Some(match to {
        Cast::Boolean => Scalar::Boolean(of::<Boolean>(text)?.into()),
        Cast::Integer => Scalar::Integer(of::<i64>(text)?),
        Cast::Decimal => Scalar::Decimal(Fixed::parse(text)?),
        Cast::Float => Scalar::Float(floating(text)?),
        Cast::Double => Scalar::Double(floating(text)?),
        Cast::DateTime => Scalar::DateTime(of::<DateTime>(text)?),
        Cast::Date => Scalar::Date(of::<Date>(text)?),
        Cast::Time => Scalar::Time(of::<Time>(text)?),
        Cast::Duration => Scalar::Duration(written_duration(text)?),
        Cast::YearMonthDuration => Scalar::YearMonth(written_duration(text)?),
        Cast::DayTimeDuration => Scalar::DayTime(written_duration(text)?),
        Cast::GYear => Scalar::GYear(of::<GYear>(text)?),
        Cast::GYearMonth => Scalar::GYearMonth(of::<GYearMonth>(text)?),
        Cast::GMonthDay => Scalar::GMonthDay(month_day(text)?),
        Cast::GMonth => Scalar::GMonth(of::<GMonth>(text)?),
        Cast::GDay => Scalar::GDay(of::<GDay>(text)?),
        Cast::String | Cast::Derived(_) => return None,
    })
}

/// Between booleans and numbers; `None` also where the result is no scalar.
fn number(to: Cast, from: Scalar) -> Option<Scalar> {
    use Scalar as S;
    let one_or_zero = |value: bool| Scalar::Integer(i64::from(value));
    let from = match from {
        S::Boolean(value) => one_or_zero(value),
        number => number,
    };
    Some(match to {
        Cast::Boolean => S::Boolean(match from {
            S::Integer(value) => value != 0,
            S::Decimal(value) => !value.is_zero(),
            S::Float(value) => Boolean::from(value).into(),
            S::Double(value) => Boolean::from(value).into(),
            _ => return None,
        }),
        Cast::Integer => S::Integer(match from {
            S::Integer(value) => value,
            S::Decimal(value) => i64::try_from(value.truncated()).ok()?,
            S::Float(value) => truncated(f32::from(value).into())?,
            S::Double(value) => truncated(value.into())?,
            _ => return None,
        }),
        Cast::Decimal => S::Decimal(match from {
            S::Integer(value) => value.into(),
            S::Decimal(value) => value,
            S::Float(value) => whole(f32::from(value).into())?.into(),
            S::Double(value) => whole(value.into())?.into(),
            _ => return None,
        }),
        Cast::Float => S::Float(match from {
            S::Double(value) => value.into(),
            S::Float(value) => value,
            exact => float(exact)?,
        }),
        _ => S::Double(double(from)?),
    })
}

/// The same of a number that is an integer.
fn whole(value: f64) -> Option<i64> {
    truncated(value).filter(|_| value.fract().abs() <= 0.0)
}

/// The integer part of a number that 53 bits hold; `None` of others.
fn truncated(value: f64) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    (value.abs() <= EXACT).then_some(value as i64)
}

/// Between dateTimes and their parts.
fn moment(to: Cast, from: Scalar) -> Option<Scalar> {
    use Scalar as S;
    Some(match (to, from) {
        (Cast::DateTime, S::DateTime(_)) | (Cast::Date, S::Date(_)) | (Cast::Time, S::Time(_)) => {
            from
        }
        (Cast::DateTime, S::Date(value)) => S::DateTime(value.try_into().ok()?),
        (Cast::Date, S::DateTime(value)) => S::Date(value.try_into().ok()?),
        (Cast::Time, S::DateTime(value)) => S::Time(value.into()),
        _ => return None,
    })
}

/// From dates and dateTimes to their parts, each of which is cast to itself only (section 19.1.5).
fn part_of_date(to: Cast, from: Scalar) -> Option<Scalar> {
    use Scalar as S;
    Some(match (to, from) {
        (Cast::GYear, S::GYear(_))
        | (Cast::GYearMonth, S::GYearMonth(_))
        | (Cast::GMonthDay, S::GMonthDay(_))
        | (Cast::GMonth, S::GMonth(_))
        | (Cast::GDay, S::GDay(_)) => from,
        (Cast::GYear, S::DateTime(value)) => S::GYear(value.try_into().ok()?),
        (Cast::GYear, S::Date(value)) => S::GYear(value.try_into().ok()?),
        (Cast::GYearMonth, S::DateTime(value)) => S::GYearMonth(value.try_into().ok()?),
        (Cast::GYearMonth, S::Date(value)) => S::GYearMonth(value.into()),
        (Cast::GMonthDay, S::DateTime(value)) => S::GMonthDay(value.into()),
        (Cast::GMonthDay, S::Date(value)) => S::GMonthDay(value.into()),
        (Cast::GMonth, S::DateTime(value)) => S::GMonth(value.into()),
        (Cast::GMonth, S::Date(value)) => S::GMonth(value.into()),
        (Cast::GDay, S::DateTime(value)) => S::GDay(value.into()),
        (Cast::GDay, S::Date(value)) => S::GDay(value.into()),
        _ => return None,
    })
}

/// Between durations: the more special ones keep their part of a general one (section 19.1.4).
fn duration(to: Cast, from: Scalar) -> Option<Scalar> {
    let whole = super::compare::duration(from)?;
    let bytes = whole.to_be_bytes();
    let (months, seconds) = bytes.split_first_chunk::<8>()?;
    Some(match to {
        Cast::YearMonthDuration => Scalar::YearMonth(YearMonthDuration::from_be_bytes(*months)),
        Cast::DayTimeDuration => {
            Scalar::DayTime(DayTimeDuration::from_be_bytes(seconds.try_into().ok()?))
        }
        _ => Scalar::Duration(whole),
    })
}
