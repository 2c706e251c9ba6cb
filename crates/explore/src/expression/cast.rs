//! Casts by the constructor functions of XML Schema datatypes (SPARQL 1.1 Query section 17.5; XPath and
//! XQuery Functions and Operators 3.1 section 19).
//!
//! From strings by the datatype's lexical mapping, after white space at both ends is gone (section
//! 19.2); between numbers and booleans by value; between dates, times and durations by their parts.
//! The result is a computed value, so it is written in its canonical form. What F&O does not allow is
//! an error: a dateTime is no number, an IRI only a string.
//!
//! Integers are 64 bits and decimals 18 digits behind the point, as everywhere here: a double beyond
//! them cannot be cast to them.

use super::arena::Made;
use super::scalar::{Scalar, floating};
use super::value::Value;
use oxsdatatypes::{
    Boolean, Date, DateTime, DayTimeDuration, Decimal, Duration, Integer, Time, YearMonthDuration,
};
use query::expression::Cast;
use std::str::FromStr;

/// The value cast; `None` is an error. A string is written `into`.
pub(crate) fn cast<'b>(to: Cast, value: &Value<'b>, into: &mut String) -> Option<Made<'b>> {
    if to == Cast::String {
        return match value {
            Value::Iri(iri) => Some(Made::Value(Value::Text(iri))),
            Value::Scalar(scalar, _) => {
                scalar.write_as_string(into)?;
                Some(Made::Text)
            }
            other => Some(Made::Value(Value::Text(other.borrowed_form()?))),
        };
    }
    let scalar = match value {
        Value::Text(text) => parse(to, text)?,
        Value::Scalar(scalar, _) => match to {
            Cast::Boolean | Cast::Integer | Cast::Decimal | Cast::Float | Cast::Double => {
                number(to, *scalar)?
            }
            Cast::DateTime | Cast::Date | Cast::Time => moment(to, *scalar)?,
            _ => duration(to, *scalar)?,
        },
        _ => return None,
    };
    Some(Made::Value(Value::computed(scalar)))
}

fn parse(to: Cast, text: &str) -> Option<Scalar> {
    fn of<T: FromStr>(text: &str) -> Option<T> {
        text.parse().ok()
    }
    let text = text.trim_matches(['\t', '\n', '\r', ' ']);
    Some(match to {
        Cast::Boolean => Scalar::Boolean(of::<Boolean>(text)?.into()),
        Cast::Integer => Scalar::Integer(of::<Integer>(text)?),
        Cast::Decimal => Scalar::Decimal(of::<Decimal>(text)?),
        Cast::Float => Scalar::Float(floating(text)?),
        Cast::Double => Scalar::Double(floating(text)?),
        Cast::DateTime => Scalar::DateTime(of::<DateTime>(text)?),
        Cast::Date => Scalar::Date(of::<Date>(text)?),
        Cast::Time => Scalar::Time(of::<Time>(text)?),
        Cast::Duration => Scalar::Duration(of::<Duration>(text)?),
        Cast::YearMonthDuration => Scalar::YearMonth(of::<YearMonthDuration>(text)?),
        Cast::DayTimeDuration => Scalar::DayTime(of::<DayTimeDuration>(text)?),
        Cast::String => return None,
    })
}

/// Between booleans and numbers.
fn number(to: Cast, from: Scalar) -> Option<Scalar> {
    use Scalar as S;
    Some(match to {
        Cast::Boolean => S::Boolean(match from {
            S::Boolean(value) => value,
            S::Integer(value) => Boolean::from(value).into(),
            S::Decimal(value) => Boolean::from(value).into(),
            S::Float(value) => Boolean::from(value).into(),
            S::Double(value) => Boolean::from(value).into(),
            _ => return None,
        }),
        Cast::Integer => S::Integer(match from {
            S::Boolean(value) => value.into(),
            S::Integer(value) => value,
            S::Decimal(value) => value.try_into().ok()?,
            S::Float(value) => value.try_into().ok()?,
            S::Double(value) => value.try_into().ok()?,
            _ => return None,
        }),
        Cast::Decimal => S::Decimal(match from {
            S::Boolean(value) => value.into(),
            S::Integer(value) => value.into(),
            S::Decimal(value) => value,
            S::Float(value) => value.try_into().ok()?,
            S::Double(value) => value.try_into().ok()?,
            _ => return None,
        }),
        Cast::Float => S::Float(match from {
            S::Boolean(value) => Boolean::from(value).into(),
            S::Integer(value) => value.into(),
            S::Decimal(value) => value.into(),
            S::Float(value) => value,
            S::Double(value) => value.into(),
            _ => return None,
        }),
        _ => S::Double(match from {
            S::Boolean(value) => Boolean::from(value).into(),
            S::Integer(value) => value.into(),
            S::Decimal(value) => value.into(),
            S::Float(value) => value.into(),
            S::Double(value) => value,
            _ => return None,
        }),
    })
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
