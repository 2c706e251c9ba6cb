//! The constructor functions of XML Schema datatypes (SPARQL 1.1 Query section 17.1, SEP-0002).
//!
//! A cast is from a value of a type that the table allows, or from a simple literal that is written
//! as the type wants it. `None` is an error. To a string: how the value is written in canonical form.

use super::evaluator::Evaluator;
use super::number::Number;
use super::value::{self, Value};
use oxrdf::vocab::xsd;
use oxrdf::{Literal, NamedNodeRef, Term};
use oxsdatatypes::{Boolean, Date, DateTime, DayTimeDuration, Duration, Time, YearMonthDuration};

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
        xsd::INTEGER | xsd::DECIMAL | xsd::FLOAT | xsd::DOUBLE => {
            evaluator
                .notes
                .spareval_differs("its casts between numbers are not exact");
            number(name, value)?.literal()
        }
        xsd::DATE_TIME => date_time(&value)?.into(),
        xsd::DATE => date(&value)?.into(),
        xsd::TIME => time(&value)?.into(),
        xsd::DURATION => duration(&value)?.into(),
        xsd::YEAR_MONTH_DURATION => year_month(&value)?.into(),
        xsd::DAY_TIME_DURATION => day_time(&value)?.into(),
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
    if let Value::Number(number @ (Number::Float(_) | Number::Double(_))) = Value::of(term) {
        return Some(Literal::from(floating_string(&number)).into());
    }
    match term {
        Term::NamedNode(iri) => Some(Literal::from(iri.as_str()).into()),
        Term::Literal(literal) => Some(Literal::from(literal.value()).into()),
        Term::BlankNode(_) | Term::Triple(_) => None,
    }
}

/// A floating number as a string (F&O 3.1 section 19.1.2.2): with an exponent where it is large or small.
fn floating_string(number: &Number) -> String {
    let form = match number {
        Number::Float(value) => format!("{value:E}"),
        other => format!("{:E}", other.to_double()),
    };
    let magnitude = number.to_double().abs();
    let is_plain = magnitude == 0.0 || (1e-6..1e6).contains(&magnitude);
    match form.split_once('E') {
        Some((coefficient, exponent)) if !is_plain => {
            let point = if coefficient.contains('.') { "" } else { ".0" };
            format!("{coefficient}{point}E{exponent}")
        }
        _ => number.literal().value().to_owned(),
    }
}

fn boolean(value: Value<'_>) -> Option<bool> {
    match value {
        Value::Boolean(value) => Some(value),
        Value::Number(number) => Some(!number.is_nan() && !number.is_zero()),
        Value::Text(text) => Some(text.parse::<Boolean>().ok()?.into()),
        _ => None,
    }
}

fn number(name: NamedNodeRef<'_>, value: Value<'_>) -> Option<Number> {
    let number = match value {
        Value::Text(text) => {
            return match name {
                xsd::INTEGER => Number::integer(text),
                xsd::DECIMAL => Number::decimal(text),
                xsd::FLOAT => Number::float(text),
                _ => Number::double(text),
            };
        }
        Value::Boolean(value) => Number::Integer(i32::from(value).into()),
        Value::Number(number) => number,
        _ => return None,
    };
    Some(match name {
        xsd::INTEGER => number.truncated()?,
        xsd::DECIMAL => Number::Decimal(number.to_rational()?),
        xsd::FLOAT => Number::Float(number.to_float()),
        _ => Number::Double(number.to_double()),
    })
}

fn date_time(value: &Value<'_>) -> Option<DateTime> {
    match value {
        Value::DateTime(value) => Some(*value),
        Value::Date(value) => (*value).try_into().ok(),
        Value::Text(text) => text.parse().ok(),
        _ => None,
    }
}

fn date(value: &Value<'_>) -> Option<Date> {
    match value {
        Value::Date(value) => Some(*value),
        Value::DateTime(value) => (*value).try_into().ok(),
        Value::Text(text) => text.parse().ok(),
        _ => None,
    }
}

fn time(value: &Value<'_>) -> Option<Time> {
    match value {
        Value::Time(value) => Some(*value),
        Value::DateTime(value) => Some((*value).into()),
        Value::Text(text) => text.parse().ok(),
        _ => None,
    }
}

fn duration(value: &Value<'_>) -> Option<Duration> {
    match value {
        Value::Text(text) => text.parse().ok(),
        other => other.duration(),
    }
}

fn year_month(value: &Value<'_>) -> Option<YearMonthDuration> {
    match value {
        Value::YearMonth(value) => Some(*value),
        Value::Duration(value) => (*value).try_into().ok(),
        Value::Text(text) => text.parse().ok(),
        _ => None,
    }
}

fn day_time(value: &Value<'_>) -> Option<DayTimeDuration> {
    match value {
        Value::DayTime(value) => Some(*value),
        Value::Duration(value) => (*value).try_into().ok(),
        Value::Text(text) => text.parse().ok(),
        _ => None,
    }
}
