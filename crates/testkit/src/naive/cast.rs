//! The constructor functions of XML Schema datatypes (SPARQL 1.1 Query section 17.1, SEP-0002).
//!
//! A cast is from a value of a type that the table allows, or from a simple literal that is written
//! as the type wants it. `None` is an error. To a string: how the value is written in canonical form.

use super::evaluator::Evaluator;
use super::number::Number;
use super::value::{self, Value};
use oxrdf::vocab::xsd;
use oxrdf::{Literal, NamedNodeRef, Term};
use oxsdatatypes::{
    Boolean, Date, DateTime, DayTimeDuration, Decimal, Duration, GDay, GMonth, GMonthDay, GYear,
    GYearMonth, Time, YearMonthDuration,
};

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
        xsd::DATE_TIME_STAMP,
        xsd::G_YEAR,
        xsd::G_YEAR_MONTH,
        xsd::G_MONTH_DAY,
        xsd::G_MONTH,
        xsd::G_DAY,
    ]
    .contains(&name)
        || INTEGERS.contains(&name)
        || STRINGS.contains(&name)
}

/// What is derived from `xsd:integer`.
const INTEGERS: [NamedNodeRef<'static>; 12] = [
    xsd::BYTE,
    xsd::SHORT,
    xsd::INT,
    xsd::LONG,
    xsd::UNSIGNED_BYTE,
    xsd::UNSIGNED_SHORT,
    xsd::UNSIGNED_INT,
    xsd::UNSIGNED_LONG,
    xsd::POSITIVE_INTEGER,
    xsd::NEGATIVE_INTEGER,
    xsd::NON_POSITIVE_INTEGER,
    xsd::NON_NEGATIVE_INTEGER,
];

/// What is derived from `xsd:string`, and `xsd:anyURI`.
const STRINGS: [NamedNodeRef<'static>; 7] = [
    xsd::NORMALIZED_STRING,
    xsd::TOKEN,
    xsd::LANGUAGE,
    xsd::NMTOKEN,
    xsd::NAME,
    xsd::NC_NAME,
    xsd::ANY_URI,
];

/// A cast to a derived type: to what it is derived from, and then it has to be one of its own values.
fn derived(name: NamedNodeRef<'_>, term: &Term, evaluator: &Evaluator<'_>) -> Option<Term> {
    let lexical = if INTEGERS.contains(&name) {
        number(xsd::INTEGER, operand(term))?
            .literal()
            .value()
            .to_owned()
    } else if name == xsd::DATE_TIME_STAMP {
        date_time(&operand(term))?.to_string()
    } else {
        let is_text = matches!(
            Value::of(term),
            Value::Text(_) | Value::Language(..) | Value::Resource | Value::Unknown
        );
        if name == xsd::ANY_URI && !is_text {
            return None;
        }
        let Some(Term::Literal(text)) = string(term, evaluator) else {
            return None;
        };
        let text = text.value().replace(['\t', '\n', '\r'], " ");
        if name == xsd::NORMALIZED_STRING {
            text
        } else {
            text.split(' ')
                .filter(|word| !word.is_empty())
                .collect::<Vec<_>>()
                .join(" ")
        }
    };
    let literal = Term::from(Literal::new_typed_literal(lexical, name));
    (!matches!(Value::of(&literal), Value::Unknown)).then_some(literal)
}

/// The value that is cast: of a string without white space at its ends (F&O 3.1 section 19.2).
fn operand(term: &Term) -> Value<'_> {
    match Value::of(term) {
        Value::Text(text) => Value::Text(text.trim_matches([' ', '\t', '\n', '\r'])),
        other => other,
    }
}

/// The value of a cast.
pub(super) fn cast(name: NamedNodeRef<'_>, term: &Term, evaluator: &Evaluator<'_>) -> Option<Term> {
    if name == xsd::STRING {
        return string(term, evaluator);
    }
    if name == xsd::DATE_TIME_STAMP || INTEGERS.contains(&name) || STRINGS.contains(&name) {
        evaluator
            .notes
            .spareval_differs("it has no casts to derived types");
        return derived(name, term, evaluator);
    }
    let value = operand(term);
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
        // The part that the type has (F&O 3.1 section 19.1.4).
        xsd::YEAR_MONTH_DURATION | xsd::DAY_TIME_DURATION => {
            evaluator
                .notes
                .spareval_differs("it casts no duration that has another part");
            if name == xsd::YEAR_MONTH_DURATION {
                year_month(&value)?.into()
            } else {
                day_time(&value)?.into()
            }
        }
        _ => part_of_date(name, &value)?,
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

/// The parts of a date are cast from it, from a dateTime, from text and from themselves.
fn part_of_date(name: NamedNodeRef<'_>, value: &Value<'_>) -> Option<Literal> {
    if let Value::Text(text) = value {
        return Some(match name {
            xsd::G_YEAR => text.parse::<GYear>().ok()?.into(),
            xsd::G_YEAR_MONTH => text.parse::<GYearMonth>().ok()?.into(),
            xsd::G_MONTH_DAY => value::month_day(text)?.into(),
            xsd::G_MONTH => text.parse::<GMonth>().ok()?.into(),
            xsd::G_DAY => text.parse::<GDay>().ok()?.into(),
            _ => return None,
        });
    }
    Some(match (name, value) {
        (xsd::G_YEAR, Value::GYear(value)) => (*value).into(),
        (xsd::G_YEAR_MONTH, Value::GYearMonth(value)) => (*value).into(),
        (xsd::G_MONTH_DAY, Value::GMonthDay(value)) => (*value).into(),
        (xsd::G_MONTH, Value::GMonth(value)) => (*value).into(),
        (xsd::G_DAY, Value::GDay(value)) => (*value).into(),
        _ => {
            let moment = date_time(value)?;
            match name {
                xsd::G_YEAR => GYear::try_from(moment).ok()?.into(),
                xsd::G_YEAR_MONTH => GYearMonth::try_from(moment).ok()?.into(),
                xsd::G_MONTH_DAY => GMonthDay::from(moment).into(),
                xsd::G_MONTH => GMonth::from(moment).into(),
                xsd::G_DAY => GDay::from(moment).into(),
                _ => return None,
            }
        }
    })
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
        Value::Text(text) => text.parse().ok(),
        other => {
            let whole = other.duration()?;
            Some(YearMonthDuration::new(whole.years() * 12 + whole.months()))
        }
    }
}

fn day_time(value: &Value<'_>) -> Option<DayTimeDuration> {
    match value {
        Value::DayTime(value) => Some(*value),
        Value::Text(text) => text.parse().ok(),
        other => {
            let whole = other.duration()?;
            let minutes = (whole.days() * 24 + whole.hours()) * 60 + whole.minutes();
            let seconds = Decimal::from(minutes * 60).checked_add(whole.seconds())?;
            Some(DayTimeDuration::new(seconds))
        }
    }
}
