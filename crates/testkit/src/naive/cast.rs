//! The constructor functions of XML Schema datatypes (SPARQL 1.1 Query section 17.1, SEP-0002).
//!
//! A cast is from a value of a type that the table allows, or from a simple literal that is written
//! as the type wants it. `None` is an error. To a string: how the value is written in canonical form.

use super::evaluator::Evaluator;
use super::value::{self, Number, Value};
use oxrdf::vocab::xsd;
use oxrdf::{Literal, NamedNodeRef, Term};
use oxsdatatypes::{Boolean, Decimal, Double, Float, Integer};
use oxsdatatypes::{Date, DateTime, DayTimeDuration, Duration, Time, YearMonthDuration};

/// Whether a function of this name is a cast.
pub(super) fn is_cast(name: NamedNodeRef<'_>) -> bool {
    [
        xsd::STRING,
        xsd::BOOLEAN,
        xsd::INTEGER,
        xsd::DECIMAL,
        xsd::FLOAT,
        xsd::DOUBLE,
        xsd::DATE_TIME,
        xsd::DATE,
        xsd::TIME,
        xsd::DURATION,
        xsd::YEAR_MONTH_DURATION,
        xsd::DAY_TIME_DURATION,
    ]
    .contains(&name)
}

/// The value of a cast.
pub(super) fn cast(name: NamedNodeRef<'_>, term: &Term, evaluator: &Evaluator<'_>) -> Option<Term> {
    if name == xsd::STRING {
        return string(term, evaluator);
    }
    let value = Value::of(term);
    let literal: Literal = match name {
        xsd::BOOLEAN => boolean(value)?.into(),
        xsd::INTEGER => integer(value)?.into(),
        xsd::DECIMAL => decimal(value)?.into(),
        xsd::FLOAT => float(value)?.into(),
        xsd::DOUBLE => double(value)?.into(),
        xsd::DATE_TIME => date_time(value)?.into(),
        xsd::DATE => date(value)?.into(),
        xsd::TIME => time(value)?.into(),
        xsd::DURATION => duration(value)?.into(),
        xsd::YEAR_MONTH_DURATION => year_month(value)?.into(),
        xsd::DAY_TIME_DURATION => day_time(value)?.into(),
        _ => return None,
    };
    Some(literal.into())
}

fn string(term: &Term, evaluator: &Evaluator<'_>) -> Option<Term> {
    if !value::is_canonical(term) {
        evaluator
            .notes
            .undetermined("whether a cast to a string sees how a value was written");
    }
    match term {
        Term::NamedNode(iri) => Some(Literal::from(iri.as_str()).into()),
        Term::Literal(literal) => Some(Literal::from(literal.value()).into()),
        Term::BlankNode(_) | Term::Triple(_) => None,
    }
}

fn boolean(value: Value<'_>) -> Option<bool> {
    let value: Boolean = match value {
        Value::Boolean(value) => return Some(value),
        Value::Number(Number::Integer(value)) => value.into(),
        Value::Number(Number::Decimal(value)) => value.into(),
        Value::Number(Number::Float(value)) => value.into(),
        Value::Number(Number::Double(value)) => value.into(),
        Value::Text(text) => text.parse().ok()?,
        _ => return None,
    };
    Some(value.into())
}

fn integer(value: Value<'_>) -> Option<Integer> {
    match value {
        Value::Boolean(value) => Some(value.into()),
        Value::Number(Number::Integer(value)) => Some(value),
        Value::Number(Number::Decimal(value)) => value.try_into().ok(),
        Value::Number(Number::Float(value)) => value.try_into().ok(),
        Value::Number(Number::Double(value)) => value.try_into().ok(),
        Value::Text(text) => text.parse().ok(),
        _ => None,
    }
}

fn decimal(value: Value<'_>) -> Option<Decimal> {
    match value {
        Value::Boolean(value) => Some(value.into()),
        Value::Number(Number::Integer(value)) => Some(value.into()),
        Value::Number(Number::Decimal(value)) => Some(value),
        Value::Number(Number::Float(value)) => value.try_into().ok(),
        Value::Number(Number::Double(value)) => value.try_into().ok(),
        Value::Text(text) => text.parse().ok(),
        _ => None,
    }
}

fn float(value: Value<'_>) -> Option<Float> {
    match value {
        Value::Boolean(value) => Some(Boolean::from(value).into()),
        Value::Number(Number::Integer(value)) => Some(value.into()),
        Value::Number(Number::Decimal(value)) => Some(value.into()),
        Value::Number(Number::Float(value)) => Some(value),
        Value::Number(Number::Double(value)) => Some(value.into()),
        Value::Text(text) => text.parse().ok(),
        _ => None,
    }
}

fn double(value: Value<'_>) -> Option<Double> {
    match value {
        Value::Boolean(value) => Some(Boolean::from(value).into()),
        Value::Number(Number::Integer(value)) => Some(value.into()),
        Value::Number(Number::Decimal(value)) => Some(value.into()),
        Value::Number(Number::Float(value)) => Some(value.into()),
        Value::Number(Number::Double(value)) => Some(value),
        Value::Text(text) => text.parse().ok(),
        _ => None,
    }
}

fn date_time(value: Value<'_>) -> Option<DateTime> {
    match value {
        Value::DateTime(value) => Some(value),
        Value::Date(value) => value.try_into().ok(),
        Value::Text(text) => text.parse().ok(),
        _ => None,
    }
}

fn date(value: Value<'_>) -> Option<Date> {
    match value {
        Value::Date(value) => Some(value),
        Value::DateTime(value) => value.try_into().ok(),
        Value::Text(text) => text.parse().ok(),
        _ => None,
    }
}

fn time(value: Value<'_>) -> Option<Time> {
    match value {
        Value::Time(value) => Some(value),
        Value::DateTime(value) => Some(value.into()),
        Value::Text(text) => text.parse().ok(),
        _ => None,
    }
}

fn duration(value: Value<'_>) -> Option<Duration> {
    match value {
        Value::Text(text) => text.parse().ok(),
        other => other.duration(),
    }
}

fn year_month(value: Value<'_>) -> Option<YearMonthDuration> {
    match value {
        Value::YearMonth(value) => Some(value),
        Value::Duration(value) => value.try_into().ok(),
        Value::Text(text) => text.parse().ok(),
        _ => None,
    }
}

fn day_time(value: Value<'_>) -> Option<DayTimeDuration> {
    match value {
        Value::DayTime(value) => Some(value),
        Value::Duration(value) => value.try_into().ok(),
        Value::Text(text) => text.parse().ok(),
        _ => None,
    }
}
