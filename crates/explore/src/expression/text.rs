//! String functions (SPARQL 1.1 Query section 17.4.3).
//!
//! A string is an `xsd:string`, one of a datatype derived from it, or a language-tagged string. Two strings are *argument compatible*
//! when the second has no language or the first's (17.4.3.1.2); results carry the first's language.
//! Positions and lengths count code points. What can be a slice of its argument is one; other text is
//! appended to a column's buffer ([`super::column`]).

use super::column::Made;
use super::scalar::Scalar;
use super::value::{Language, Value};
use oxrdf::vocab::xsd;
use query::expression::Function;
use rdf::language;
use std::borrow::Cow;

/// A string literal: its text and its language, if any.
pub(crate) fn string<'a>(value: &Value<'a>) -> Option<(&'a str, Option<Language<'a>>)> {
    match *value {
        Value::Text(text) | Value::Derived(text, _) => Some((text, None)),
        Value::Language(text, language) => Some((text, Some(language))),
        _ => None,
    }
}

/// The text of an `xsd:string`, or of what is derived from it.
pub(crate) fn plain<'a>(value: &Value<'a>) -> Option<&'a str> {
    value.plain_text()
}

/// A string with a language, or without.
pub(crate) fn with_language<'a>(text: &'a str, language: Option<Language<'a>>) -> Value<'a> {
    match language {
        Some(language) => Value::Language(text, language),
        None => Value::Text(text),
    }
}

/// Two argument compatible strings and the first's language; `None` is an error.
pub(crate) fn compatible<'a, 'c>(
    left: &Value<'a>,
    right: &Value<'c>,
) -> Option<(&'a str, &'c str, Option<Language<'a>>)> {
    let (left, language) = string(left)?;
    let (right, other) = string(right)?;
    (other.is_none() || other == language).then_some((left, right, language))
}

/// `STRSTARTS`, `STRENDS`, `CONTAINS`; `None` is an error.
pub(crate) fn has_part(function: Function, text: &Value<'_>, part: &Value<'_>) -> Option<bool> {
    let (text, part, _) = compatible(text, part)?;
    Some(match function {
        Function::StrStarts => text.starts_with(part),
        Function::StrEnds => text.ends_with(part),
        _ => text.contains(part),
    })
}

/// `STRBEFORE`; `None` is an error.
pub(crate) fn before<'a>(text: &Value<'a>, part: &Value<'a>) -> Option<Value<'a>> {
    let (text, part, language) = compatible(text, part)?;
    Some(match text.find(part) {
        Some(at) => with_language(&text[..at], language),
        None => Value::Text(""),
    })
}

/// `STRAFTER`; `None` is an error.
pub(crate) fn after<'a>(text: &Value<'a>, part: &Value<'a>) -> Option<Value<'a>> {
    let (text, part, language) = compatible(text, part)?;
    Some(match text.find(part) {
        Some(at) => with_language(&text[at + part.len()..], language),
        None => Value::Text(""),
    })
}

/// `SUBSTR`, from a position that counts from one; `None` is an error.
pub(crate) fn substring<'a>(
    text: &Value<'a>,
    start: &Value<'a>,
    length: Option<&Value<'a>>,
) -> Option<Value<'a>> {
    let (text, language) = string(text)?;
    let start = integer(start)?.saturating_sub(1);
    let end = match length {
        Some(length) => start.saturating_add(integer(length)?),
        None => i64::MAX,
    };
    let from = byte_of(text, start);
    let to = byte_of(text, end.max(start)).max(from);
    Some(with_language(&text[from..to], language))
}

/// The byte at which the code point with this index begins, or the end.
fn byte_of(text: &str, index: i64) -> usize {
    let Ok(index) = usize::try_from(index) else {
        return 0;
    };
    if text.is_ascii() {
        return index.min(text.len());
    }
    text.char_indices()
        .nth(index)
        .map_or(text.len(), |(at, _)| at)
}

/// An integer, beyond 64 bits the one of its sign that is farthest: no text is as long.
fn integer(value: &Value<'_>) -> Option<i64> {
    match value {
        Value::Scalar(Scalar::Integer(value), _) => Some(*value),
        Value::Large(form, datatype) if *datatype != xsd::DECIMAL.as_str() => {
            Some(if form.starts_with('-') {
                i64::MIN
            } else {
                i64::MAX
            })
        }
        _ => None,
    }
}

/// The most bytes that [`case`] writes: a character becomes at most three.
pub(crate) fn case_bytes(value: &Value<'_>) -> usize {
    match string(value) {
        Some((text, _)) if text.is_ascii() => text.len(),
        Some((text, _)) => 3 * text.len(),
        None => 0,
    }
}

/// `UCASE`, `LCASE`, but for ASCII letters, which [`ascii_case`] changes in the whole buffer at once;
/// `None` is an error.
pub(crate) fn case<'a>(
    function: Function,
    value: &Value<'a>,
    into: &mut String,
) -> Option<Made<'a>> {
    let (text, language) = string(value)?;
    if text.is_ascii() {
        into.push_str(text);
    } else {
        match function {
            Function::UCase => into.extend(text.chars().flat_map(char::to_uppercase)),
            _ => into.push_str(&text.to_lowercase()),
        }
    }
    Some(Made::string(language))
}

/// The rest of `UCASE`, `LCASE`.
pub(crate) fn ascii_case(function: Function, buffer: &mut str) {
    match function {
        Function::UCase => buffer.make_ascii_uppercase(),
        _ => buffer.make_ascii_lowercase(),
    }
}

/// `STRLEN`, in code points; `None` is an error.
pub(crate) fn length(value: &Value<'_>) -> Option<Scalar> {
    let (text, _) = string(value)?;
    Some(Scalar::Integer(i64::try_from(text.chars().count()).ok()?))
}

/// Whether `ENCODE_FOR_URI` leaves a byte as it is.
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte)
}

/// The bytes that [`encode_for_uri`] writes.
pub(crate) fn encoded_bytes(value: &Value<'_>) -> usize {
    let text = string(value).map_or("", |(text, _)| text);
    let escaped = text.bytes().filter(|byte| !is_unreserved(*byte)).count();
    text.len() + 2 * escaped
}

/// `ENCODE_FOR_URI`: all but the unreserved characters of RFC 3986 as percent escapes of UTF-8.
pub(crate) fn encode_for_uri<'a>(value: &Value<'a>, into: &mut String) -> Option<Made<'a>> {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let (text, _) = string(value)?;
    for byte in text.bytes() {
        if is_unreserved(byte) {
            into.push(char::from(byte));
        } else {
            into.push('%');
            into.push(char::from(HEX[usize::from(byte >> 4)]));
            into.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
    Some(Made::Text)
}

/// `langMATCHES`: basic filtering of RFC 4647 section 3.3.1; `None` is an error.
pub(crate) fn language_matches(tag: &Value<'_>, range: &Value<'_>) -> Option<bool> {
    let (tag, range) = (plain(tag)?, plain(range)?);
    if range == "*" {
        return Some(!tag.is_empty());
    }
    let mut subtags = tag.split('-');
    Some(range.split('-').all(|wanted| {
        subtags
            .next()
            .is_some_and(|subtag| subtag.eq_ignore_ascii_case(wanted))
    }))
}

/// `STR`; `None` is an error.
pub(crate) fn text_of<'a>(value: &Value<'a>, into: &mut String) -> Option<Made<'a>> {
    let text = match value {
        Value::Iri(iri) => Some(*iri),
        other => other.borrowed_form(),
    };
    match text {
        Some(text) => Some(Made::Value(Value::Text(text))),
        None => value.write_form(into).map(|()| Made::Text),
    }
}

/// The most bytes that [`language_of`] writes.
pub(crate) fn language_bytes(value: &Value<'_>) -> usize {
    match value {
        Value::Language(_, language) => language.tag.len(),
        _ => 0,
    }
}

/// `LANG`: the tag as BCP 47 recommends to write it, or the empty string for other literals; `None` is an
/// error.
pub(crate) fn language_of<'a>(value: &Value<'a>, into: &mut String) -> Option<Made<'a>> {
    let Value::Language(_, Language { tag, .. }) = *value else {
        return value.is_literal().then_some(Made::Value(Value::Text("")));
    };
    Some(match language::conventional(tag) {
        Cow::Borrowed(tag) => Made::Value(Value::Text(tag)),
        Cow::Owned(tag) => {
            into.push_str(&tag);
            Made::Text
        }
    })
}

/// `LANGDIR`: the base direction, or the empty string for other literals; `None` is an error.
pub(crate) fn direction_of<'a>(value: &Value<'a>) -> Option<Value<'a>> {
    let direction = match value {
        Value::Language(_, language) => match language.rightward {
            Some(true) => "rtl",
            Some(false) => "ltr",
            None => "",
        },
        _ => "",
    };
    value.is_literal().then_some(Value::Text(direction))
}
