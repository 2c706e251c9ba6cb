//! The builtin functions of SPARQL 1.1 Query section 17.4, one arm each, by their definitions.
//!
//! All arguments are terms already: functions that look at errors (`IF`, `COALESCE`, `BOUND`) are
//! in `expression`. `None` is a type error.

use super::evaluator::Evaluator;
use super::expression::boolean;
use super::notes::Notes;
use super::number::Number;
use super::value::{self, Tag, Value};
use super::{cast, digest, term_function};
use num_traits::{Signed, ToPrimitive};
use oxrdf::{Literal, Term};
use regex::{Regex, RegexBuilder};
use spargebra::algebra::Function;

/// The value of a call; `None` is an error.
pub(super) fn call(
    function: &Function,
    arguments: &[Term],
    evaluator: &Evaluator<'_>,
) -> Option<Term> {
    use Function as F;
    let notes = evaluator.notes;
    if let Some(value) = term_function::call(function, arguments, evaluator) {
        return value;
    }
    match function {
        F::IsIri => Some(boolean(arguments[0].is_named_node())),
        F::IsBlank => Some(boolean(arguments[0].is_blank_node())),
        F::IsLiteral => Some(boolean(arguments[0].is_literal())),
        F::IsNumeric => Some(boolean(matches!(
            Value::of(&arguments[0]),
            Value::Number(_)
        ))),
        F::Str | F::Lang | F::Datatype => part(function, &arguments[0], notes),
        F::StrLen | F::UCase | F::LCase | F::EncodeForUri => {
            Some(of_string(function, string(&arguments[0])?))
        }
        F::StrStarts | F::StrEnds | F::Contains | F::StrBefore | F::StrAfter => {
            of_two_strings(function, string(&arguments[0])?, string(&arguments[1])?)
        }
        F::SubStr => substring(arguments),
        F::Concat => concatenation(arguments),
        F::LangMatches => language_matches(&arguments[0], &arguments[1]),
        F::Regex => {
            let pattern = pattern(&arguments[1], arguments.get(2))?;
            Some(boolean(pattern.is_match(string(&arguments[0])?.0)))
        }
        F::Replace => replacement(arguments),
        F::Abs | F::Round | F::Ceil | F::Floor => rounded(function, &arguments[0]),
        F::Year | F::Month | F::Day | F::Hours | F::Minutes | F::Seconds => {
            part_of_time(function, &arguments[0])
        }
        F::Md5 | F::Sha1 | F::Sha256 | F::Sha384 | F::Sha512 => match Value::of(&arguments[0]) {
            Value::Text(text) => Some(simple(digest::digest(function, text)?)),
            _ => None,
        },
        F::Custom(name) if cast::is_cast(name.as_ref()) && arguments.len() == 1 => {
            cast::cast(name.as_ref(), &arguments[0], evaluator)
        }
        F::Custom(_) => {
            notes.unsupported("a function that is not SPARQL's");
            None
        }
        _ => {
            notes.unsupported("a function that gives something else each time");
            None
        }
    }
}

type Text<'a> = (&'a str, Option<Tag<'a>>);

fn string(term: &Term) -> Option<Text<'_>> {
    Value::of(term).string()
}

fn simple(text: impl Into<String>) -> Term {
    Literal::new_simple_literal(text).into()
}

fn tagged(text: impl Into<String>, tag: Option<Tag<'_>>) -> Term {
    match tag {
        None => simple(text),
        Some((language, None)) => {
            Literal::new_language_tagged_literal_unchecked(text, language).into()
        }
        Some((language, Some(direction))) => {
            let make = Literal::new_directional_language_tagged_literal_unchecked;
            make(text, language, direction).into()
        }
    }
}

fn integer(value: impl Into<i64>) -> Term {
    Literal::from(value.into()).into()
}

/// `STR`, `LANG`, `DATATYPE`.
fn part(function: &Function, term: &Term, notes: &Notes) -> Option<Term> {
    if !matches!(function, Function::Lang) && !value::is_canonical(term) {
        notes.spareval_differs("it forgets how a value was written");
    }
    match (function, term) {
        (Function::Str, Term::NamedNode(iri)) => Some(simple(iri.as_str())),
        (Function::Str, Term::Literal(literal)) => Some(simple(literal.value())),
        (Function::Lang, Term::Literal(literal)) => {
            let tag = recommended(literal.language().unwrap_or(""));
            if literal.language().is_some_and(|given| *given != tag) {
                notes.spareval_differs("it leaves tags in lower case");
            }
            Some(simple(tag))
        }
        (Function::Datatype, Term::Literal(literal)) => {
            Some(literal.datatype().into_owned().into())
        }
        _ => None,
    }
}

/// A language tag as RFC 5646 section 2.1.1 recommends to write it.
fn recommended(tag: &str) -> String {
    let parts: Vec<String> = tag.to_lowercase().split('-').map(str::to_owned).collect();
    let singleton = parts.iter().position(|part| part.len() == 1);
    let written = |(at, part): (usize, &String)| match part.len() {
        2 if at > 0 && singleton.is_none_or(|singleton| at < singleton) => part.to_uppercase(),
        4 if at > 0 && singleton.is_none_or(|singleton| at < singleton) => {
            part[..1].to_uppercase() + &part[1..]
        }
        _ => part.clone(),
    };
    parts
        .iter()
        .enumerate()
        .map(written)
        .collect::<Vec<_>>()
        .join("-")
}

fn of_string(function: &Function, (text, language): Text<'_>) -> Term {
    match function {
        Function::StrLen => integer(text.chars().count() as i64),
        Function::UCase => tagged(text.to_uppercase(), language),
        Function::LCase => tagged(text.to_lowercase(), language),
        _ => simple(percent_encoded(text)),
    }
}

/// RFC 3986: everything but the unreserved characters, byte by byte.
fn percent_encoded(text: &str) -> String {
    let encoded = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encoded).collect()
}

/// The functions on compatible arguments (section 17.4.3.1.2).
fn of_two_strings(
    function: &Function,
    (text, language): Text<'_>,
    (part, part_language): Text<'_>,
) -> Option<Term> {
    if part_language.is_some() && part_language != language {
        return None;
    }
    Some(match function {
        Function::StrStarts => boolean(text.starts_with(part)),
        Function::StrEnds => boolean(text.ends_with(part)),
        Function::Contains => boolean(text.contains(part)),
        Function::StrBefore => match text.split_once(part) {
            Some((before, _)) => tagged(before, language),
            None => simple(""),
        },
        _ => match text.split_once(part) {
            Some((_, after)) => tagged(after, language),
            None => simple(""),
        },
    })
}

/// The characters at positions from `start`, and before `start + length`, counted from one.
fn substring(arguments: &[Term]) -> Option<Term> {
    // A position beyond 64 bits is beyond every text.
    let whole = |term: &Term| match Value::of(term) {
        Value::Number(Number::Integer(value)) => Some(value.to_i64().unwrap_or_else(|| {
            if value.is_negative() {
                i64::MIN
            } else {
                i64::MAX
            }
        })),
        _ => None,
    };
    let (text, language) = string(&arguments[0])?;
    let start = whole(&arguments[1])?;
    let end = match arguments.get(2) {
        Some(length) => start.saturating_add(whole(length)?),
        None => i64::MAX,
    };
    let positions = (1..).zip(text.chars());
    let inside = positions.filter(|&(position, _)| position >= start && position < end);
    Some(tagged(
        inside.map(|(_, character)| character).collect::<String>(),
        language,
    ))
}

/// The language is kept where all arguments have the same.
fn concatenation(arguments: &[Term]) -> Option<Term> {
    let parts: Vec<Text<'_>> = arguments.iter().map(string).collect::<Option<_>>()?;
    let whole: String = parts.iter().map(|(text, _)| *text).collect();
    let language = parts.first().and_then(|(_, language)| *language);
    let is_shared = parts.iter().all(|(_, each)| *each == language);
    Some(tagged(whole, language.filter(|_| is_shared)))
}

/// Basic filtering of RFC 4647 section 3.3.1.
fn language_matches(tag: &Term, range: &Term) -> Option<Term> {
    let (Value::Text(tag), Value::Text(range)) = (Value::of(tag), Value::of(range)) else {
        return None;
    };
    let (tag, range) = (tag.to_ascii_lowercase(), range.to_ascii_lowercase());
    if range == "*" {
        return Some(boolean(!tag.is_empty()));
    }
    Some(boolean(
        tag == range || tag.starts_with(&format!("{range}-")),
    ))
}

/// A pattern of XPath's regular expressions, as far as the `regex` library agrees with them.
fn pattern(pattern: &Term, flags: Option<&Term>) -> Option<Regex> {
    let plain = |term| match Value::of(term) {
        Value::Text(text) => Some(text),
        _ => None,
    };
    let pattern = plain(pattern)?;
    let flags = match flags {
        Some(flags) => plain(flags)?,
        None => "",
    };
    let escaped = regex::escape(pattern);
    let mut builder = RegexBuilder::new(if flags.contains('q') {
        &escaped
    } else {
        pattern
    });
    for flag in flags.chars() {
        match flag {
            's' => builder.dot_matches_new_line(true),
            'm' => builder.multi_line(true),
            'i' => builder.case_insensitive(true),
            'x' => builder.ignore_whitespace(true),
            'q' => &mut builder,
            _ => return None,
        };
    }
    builder.build().ok()
}

/// A pattern that matches the empty string is an error (XPath `err:FORX0003`).
fn replacement(arguments: &[Term]) -> Option<Term> {
    let (text, language) = string(&arguments[0])?;
    let pattern = pattern(&arguments[1], arguments.get(3))?;
    let Value::Text(by) = Value::of(&arguments[2]) else {
        return None;
    };
    if pattern.is_match("") {
        return None;
    }
    Some(tagged(pattern.replace_all(text, by), language))
}

fn rounded(function: &Function, term: &Term) -> Option<Term> {
    let Value::Number(number) = Value::of(term) else {
        return None;
    };
    let result = match function {
        Function::Abs => number.magnitude(),
        Function::Round => number.rounded(),
        Function::Ceil => number.ceiling(),
        _ => number.floor(),
    };
    Some(result.literal().into())
}

/// The parts of a dateTime, and those that a date, a time or a part of a date has.
fn part_of_time(function: &Function, term: &Term) -> Option<Term> {
    let Value::Moment(moment) = Value::of(term) else {
        return None;
    };
    Some(match function {
        Function::Year => integer(moment.year()?),
        Function::Month => integer(moment.month()?),
        Function::Day => integer(moment.day()?),
        Function::Hours => integer(moment.time()?.0),
        Function::Minutes => integer(moment.time()?.1),
        Function::Seconds => Number::Decimal(moment.time()?.2).literal().into(),
        _ => return None,
    })
}
