//! The values of terms, as the operators of SPARQL 1.1 Query section 17 see them.
//!
//! Numbers, dates and durations are exact ([`super::number`], [`super::moment`], [`super::duration`]); which
//! operator applies to which types, and when the outcome is an error, is decided here from the
//! specification's tables.
//! Choices that section 17.3.1 leaves open are made as the engine documents them: values of
//! two known datatypes without a common value are unequal (not an error), strings of one language
//! are ordered, identical terms are `<=` and `>=` each other, what is derived from `xsd:string` is a
//! string to operators and functions, and the parts of dates are ordered.

use super::duration::{Duration, Span};
use super::moment::{Kind, Moment};
use super::notes::Notes;
use super::number::Number;
use oxrdf::vocab::xsd;
use oxrdf::{BaseDirection, Literal, NamedNodeRef, Term, Triple};
use regex::Regex;
use std::cmp::Ordering;
use std::sync::LazyLock;

/// A language tag, with the base direction if there is one.
pub(super) type Tag<'a> = (&'a str, Option<BaseDirection>);

/// The value of a term.
#[derive(Clone, Debug)]
pub(super) enum Value<'a> {
    /// An IRI or a blank node: nothing but itself.
    Resource,
    Triple(&'a Triple),
    Text(&'a str),
    /// A string with language tag.
    Language(&'a str, Tag<'a>),
    Boolean(bool),
    Number(Number),
    /// A date, a time or a part of a date.
    Moment(Moment),
    /// A duration of any of the three types.
    Duration(Duration),
    /// A literal of an unknown datatype, or one whose lexical form is not of its datatype.
    Unknown,
}

/// The value of a lexical form of `xsd:boolean`.
pub(super) fn truth_value(lexical: &str) -> Option<bool> {
    match lexical {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

impl<'a> Value<'a> {
    /// The value of a term.
    pub(super) fn of(term: &'a Term) -> Value<'a> {
        match term {
            Term::NamedNode(_) | Term::BlankNode(_) => Value::Resource,
            Term::Triple(triple) => Value::Triple(triple),
            Term::Literal(literal) => Value::of_literal(literal),
        }
    }

    fn of_literal(literal: &'a Literal) -> Value<'a> {
        if let Some(language) = literal.language() {
            return Value::Language(literal.value(), (language, literal.direction()));
        }
        let lexical = literal.value();
        if literal.datatype() == xsd::STRING || is_derived_string(lexical, literal.datatype()) {
            return Value::Text(lexical);
        }
        Value::of_typed(lexical, literal.datatype()).unwrap_or(Value::Unknown)
    }

    fn of_typed(lexical: &str, datatype: NamedNodeRef<'_>) -> Option<Value<'a>> {
        if let Some(kind) = Kind::of(datatype) {
            let moment = Moment::parse(kind, lexical)?;
            let is_whole = datatype != xsd::DATE_TIME_STAMP || moment.zone.is_some();
            return is_whole.then_some(Value::Moment(moment));
        }
        if let Some(span) = Span::of(datatype) {
            return Duration::parse(span, lexical).map(Value::Duration);
        }
        Some(match datatype {
            xsd::BOOLEAN => Value::Boolean(truth_value(lexical)?),
            xsd::DECIMAL => Value::Number(Number::decimal(lexical)?),
            xsd::FLOAT => Value::Number(Number::float(lexical)?),
            xsd::DOUBLE => Value::Number(Number::double(lexical)?),
            _ => {
                let number = Number::integer(lexical)?;
                is_in_range(&number, datatype).then_some(Value::Number(number))?
            }
        })
    }

    /// Whether it is text, with or without language.
    pub(super) fn string(&self) -> Option<(&'a str, Option<Tag<'a>>)> {
        match self {
            Value::Text(text) => Some((text, None)),
            Value::Language(text, language) => Some((text, Some(*language))),
            _ => None,
        }
    }
}

/// Whether this is a text of a datatype that is derived from `xsd:string`, or `xsd:anyURI`, by the patterns
/// of XML Schema part 2, sections 3.3.1 to 3.3.7.
pub(super) fn is_derived_string(lexical: &str, datatype: NamedNodeRef<'_>) -> bool {
    static PATTERNS: LazyLock<Vec<(NamedNodeRef<'static>, Regex)>> = LazyLock::new(|| {
        let patterns = [
            (xsd::NORMALIZED_STRING, r"^[^\t\n\r]*$"),
            (xsd::TOKEN, r"^([^\t\n\r ]+( [^\t\n\r ]+)*)?$"),
            (xsd::LANGUAGE, "^[a-zA-Z]{1,8}(-[a-zA-Z0-9]{1,8})*$"),
            (xsd::NMTOKEN, r"^[\w:.\-]+$"),
            (xsd::NAME, r"^[\p{L}_:][\w:.\-]*$"),
            (xsd::NC_NAME, r"^[\p{L}_][\w.\-]*$"),
            (xsd::ANY_URI, ""),
        ];
        let compiled = patterns.map(|(datatype, pattern)| {
            let pattern = Regex::new(pattern).expect("it is a pattern");
            (datatype, pattern)
        });
        compiled.into()
    });
    let known = PATTERNS.iter().find(|(known, _)| *known == datatype);
    known.is_some_and(|(_, pattern)| pattern.is_match(lexical))
}

/// Whether a number is one of this type, which is `xsd:integer` or derived from it (XML Schema part 2,
/// section 3.4); false for all other types.
fn is_in_range(number: &Number, datatype: NamedNodeRef<'_>) -> bool {
    let between = |least: i128, greatest: i128| {
        let bound = |bound: i128| Number::Integer(bound.into());
        Number::order(&bound(least), number).is_some_and(Ordering::is_le)
            && Number::order(number, &bound(greatest)).is_some_and(Ordering::is_le)
    };
    let sign = Number::order(number, &Number::Integer(0.into()));
    match datatype {
        xsd::INTEGER => true,
        xsd::BYTE => between(i8::MIN.into(), i8::MAX.into()),
        xsd::SHORT => between(i16::MIN.into(), i16::MAX.into()),
        xsd::INT => between(i32::MIN.into(), i32::MAX.into()),
        xsd::LONG => between(i64::MIN.into(), i64::MAX.into()),
        xsd::UNSIGNED_BYTE => between(0, u8::MAX.into()),
        xsd::UNSIGNED_SHORT => between(0, u16::MAX.into()),
        xsd::UNSIGNED_INT => between(0, u32::MAX.into()),
        xsd::UNSIGNED_LONG => between(0, u64::MAX.into()),
        xsd::POSITIVE_INTEGER => sign == Some(Ordering::Greater),
        xsd::NEGATIVE_INTEGER => sign == Some(Ordering::Less),
        xsd::NON_POSITIVE_INTEGER => sign != Some(Ordering::Greater),
        xsd::NON_NEGATIVE_INTEGER => sign != Some(Ordering::Less),
        _ => false,
    }
}

/// The effective boolean value; `None` is a type error. By the draft of SPARQL 1.2 (section 17.2.2)
/// ill-formed numbers and booleans have none, nor have strings with a language.
pub(super) fn truth(term: &Term) -> Option<bool> {
    match Value::of(term) {
        Value::Boolean(value) => Some(value),
        // What is derived from `xsd:string` is not listed there.
        Value::Text(text) if is_simple(term) => Some(!text.is_empty()),
        Value::Number(number) => Some(!number.is_nan() && !number.is_zero()),
        _ => None,
    }
}

fn is_simple(term: &Term) -> bool {
    matches!(term, Term::Literal(literal) if literal.datatype() == xsd::STRING)
}

/// The operator `=`; `None` is a type error.
pub(super) fn equal(left: &Term, right: &Term) -> Option<bool> {
    match (Value::of(left), Value::of(right)) {
        (Value::Number(left), Value::Number(right)) => {
            Some(Number::order(&left, &right) == Some(Ordering::Equal))
        }
        (Value::Boolean(left), Value::Boolean(right)) => Some(left == right),
        (Value::Text(left), Value::Text(right)) => Some(left == right),
        // With a time zone on one side only, some moments may be the same or not.
        (Value::Moment(left), Value::Moment(right)) if left.kind == right.kind => {
            Moment::order(&left, &right).map(Ordering::is_eq)
        }
        (Value::Duration(left), Value::Duration(right)) => Some(left.is_equal(&right)),
        (Value::Triple(left), Value::Triple(right)) => {
            let same = left.subject == right.subject && left.predicate == right.predicate;
            if same {
                equal(&left.object, &right.object)
            } else {
                Some(false)
            }
        }
        (Value::Resource | Value::Triple(_) | Value::Language(..), _)
        | (_, Value::Resource | Value::Triple(_) | Value::Language(..)) => Some(left == right),
        (Value::Unknown, _) | (_, Value::Unknown) => (left == right).then_some(true),
        _ => Some(left == right),
    }
}

/// What the operators `<`, `<=`, `>` and `>=` make of two terms.
pub(super) enum Order {
    /// One of less, equal, greater.
    Is(Ordering),
    /// Comparable types, but none of the three (NaN): each operator is false.
    Neither,
    /// A type error.
    Error,
}

/// The order of two terms' values.
pub(super) fn order(left: &Term, right: &Term, notes: &Notes) -> Order {
    let of = |ordering: Option<Ordering>| ordering.map_or(Order::Error, Order::Is);
    match (Value::of(left), Value::of(right)) {
        (Value::Number(one), Value::Number(other)) => {
            let ordering = Number::order(&one, &other);
            if ordering.is_none() {
                notes.spareval_differs("a NaN is <= itself there, and an error with others");
            }
            ordering.map_or(Order::Neither, Order::Is)
        }
        (Value::Boolean(left), Value::Boolean(right)) => {
            notes.spareval_differs("booleans are not ordered there");
            Order::Is(left.cmp(&right))
        }
        (Value::Text(left), Value::Text(right)) => Order::Is(left.cmp(right)),
        (Value::Moment(left), Value::Moment(right)) if left.kind == right.kind => {
            of(Moment::order(&left, &right))
        }
        (Value::Duration(left), Value::Duration(right)) => of(left.order(&right)),
        (Value::Language(one, language), Value::Language(other, of_other)) => {
            if language == of_other {
                Order::Is(one.cmp(other))
            } else {
                Order::Error
            }
        }
        (Value::Triple(one), Value::Triple(other)) => {
            let same = one.subject == other.subject && one.predicate == other.predicate;
            if same {
                order(&one.object, &other.object, notes)
            } else {
                Order::Error
            }
        }
        _ => of((left == right).then_some(Ordering::Equal)),
    }
}

/// Whether a literal is written in the canonical form of its value, in the datatype that results
/// of operators have; anything that is no typed value is.
pub(super) fn is_canonical(term: &Term) -> bool {
    let canonical: Literal = match Value::of(term) {
        Value::Boolean(value) => value.into(),
        Value::Number(number) => number.literal(),
        Value::Moment(moment) => moment.literal(),
        Value::Duration(duration) => duration.literal(),
        Value::Triple(triple) => return is_canonical(&triple.object),
        _ => return true,
    };
    *term == Term::Literal(canonical)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(lexical: &str, datatype: NamedNodeRef<'_>) -> Term {
        Literal::new_typed_literal(lexical, datatype).into()
    }

    #[test]
    fn equality_is_of_values_and_knows_what_it_does_not_know() {
        let one = typed("1", xsd::INTEGER);
        assert_eq!(equal(&one, &typed("01.0", xsd::DECIMAL)), Some(true));
        assert_eq!(equal(&one, &typed("1", xsd::STRING)), Some(false));
        assert_eq!(equal(&one, &typed("x", xsd::INTEGER)), None);
        assert_eq!(
            equal(&typed("x", xsd::INTEGER), &typed("x", xsd::INTEGER)),
            Some(true)
        );
        assert_eq!(
            equal(&typed("NaN", xsd::DOUBLE), &typed("NaN", xsd::DOUBLE)),
            Some(false)
        );
        assert_eq!(
            equal(&one, &oxrdf::BlankNode::new_unchecked("b").into()),
            Some(false)
        );
    }

    #[test]
    fn truth_of_ill_typed_numbers_is_an_error() {
        assert_eq!(truth(&typed("0.0", xsd::DECIMAL)), Some(false));
        assert_eq!(truth(&typed("x", xsd::INTEGER)), None);
        assert_eq!(truth(&typed("2026-11-21", xsd::DATE)), None);
    }

    #[test]
    fn knows_canonical_forms() {
        assert!(is_canonical(&typed("5", xsd::INTEGER)));
        assert!(!is_canonical(&typed("05", xsd::INTEGER)));
        assert!(!is_canonical(&typed("5", xsd::INT)));
        assert!(is_canonical(&typed("x", xsd::INTEGER)));
    }
}
