//! The constructor functions of XML Schema datatypes (SPARQL 1.1 Query section 17.1, SEP-0002).
//!
//! A cast is from a value of a type that the table allows, or from a simple literal that is written
//! as the type wants it. `None` is an error. To a string: how the value is written in canonical form.

use super::duration::{Duration, Span};
use super::evaluator::Evaluator;
use super::moment::{Kind, Moment};
use super::number::Number;
use super::value::{self, Value};
use oxrdf::vocab::xsd;
use oxrdf::{Literal, NamedNodeRef, Term};

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
        moment(Kind::DateTime, &operand(term))?.form()
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
        _ => match Kind::of(name) {
            Some(kind) => moment(kind, &value)?.literal(),
            None => duration(name, &value, evaluator)?.literal(),
        },
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
        Value::Text(text) => value::truth_value(text),
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

fn moment(kind: Kind, value: &Value<'_>) -> Option<Moment> {
    match value {
        Value::Moment(moment) => moment.to(kind),
        Value::Text(text) => Moment::parse(kind, text),
        _ => None,
    }
}

/// The part that the type has (F&O 3.1 section 19.1.4).
fn duration(
    name: NamedNodeRef<'_>,
    value: &Value<'_>,
    evaluator: &Evaluator<'_>,
) -> Option<Duration> {
    let span = Span::of(name)?;
    if span != Span::Both {
        evaluator
            .notes
            .spareval_differs("it casts no duration that has another part");
    }
    match value {
        Value::Duration(duration) => Some(duration.to(span)),
        Value::Text(text) => Duration::parse(span, text),
        _ => None,
    }
}
