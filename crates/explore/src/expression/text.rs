//! String functions (SPARQL 1.1 Query section 17.4.3).
//!
//! A string is an `xsd:string` or a language-tagged string. Two strings are *argument compatible*
//! when the second has no language or the first's (17.4.3.1.2); results carry the first's language.
//! Positions and lengths count code points. What can be a slice of its argument is one.

use super::value::{Language, Scalar, Value};
use query::expression::Function;
use std::borrow::Cow;

/// A string literal: its text and its language, if any.
pub(crate) fn string<'v, 'a>(
    value: &'v Value<'a>,
) -> Option<(&'v Cow<'a, str>, Option<Language<'a>>)> {
    match value {
        Value::Text(text) => Some((text, None)),
        Value::Language(text, language) => Some((text, Some(*language))),
        _ => None,
    }
}

/// The text of an `xsd:string`.
pub(crate) fn plain<'v>(value: &'v Value<'_>) -> Option<&'v str> {
    match value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

/// A string with a language, or without.
pub(crate) fn with_language<'a>(text: Cow<'a, str>, language: Option<Language<'a>>) -> Value<'a> {
    match language {
        Some(language) => Value::Language(text, language),
        None => Value::Text(text),
    }
}

fn compatible<'v, 'a>(
    left: &'v Value<'a>,
    right: &'v Value<'a>,
) -> Option<(&'v Cow<'a, str>, &'v str, Option<Language<'a>>)> {
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
        Some(at) => with_language(slice(text, 0, at), language),
        None => Value::Text(Cow::Borrowed("")),
    })
}

/// `STRAFTER`; `None` is an error.
pub(crate) fn after<'a>(text: &Value<'a>, part: &Value<'a>) -> Option<Value<'a>> {
    let (text, part, language) = compatible(text, part)?;
    Some(match text.find(part) {
        Some(at) => with_language(slice(text, at + part.len(), text.len()), language),
        None => Value::Text(Cow::Borrowed("")),
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
    Some(with_language(slice(text, from, to), language))
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

fn integer(value: &Value<'_>) -> Option<i64> {
    match value {
        Value::Scalar(Scalar::Integer(value), _) => Some((*value).into()),
        _ => None,
    }
}

fn slice<'a>(text: &Cow<'a, str>, from: usize, to: usize) -> Cow<'a, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(&text[from..to]),
        Cow::Owned(text) => Cow::Owned(text[from..to].to_owned()),
    }
}

/// `UCASE`, `LCASE`; `None` is an error.
pub(crate) fn case<'a>(function: Function, value: &Value<'a>) -> Option<Value<'a>> {
    let (text, language) = string(value)?;
    let text = match function {
        Function::UCase => text.to_uppercase(),
        _ => text.to_lowercase(),
    };
    Some(with_language(Cow::Owned(text), language))
}

/// `STRLEN`, in code points; `None` is an error.
pub(crate) fn length(value: &Value<'_>) -> Option<Scalar> {
    let (text, _) = string(value)?;
    Some(Scalar::Integer(
        i64::try_from(text.chars().count()).ok()?.into(),
    ))
}

/// `ENCODE_FOR_URI`: all but the unreserved characters of RFC 3986 as percent escapes of UTF-8.
pub(crate) fn encode_for_uri<'a>(value: &Value<'a>) -> Option<Value<'a>> {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let (text, _) = string(value)?;
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            encoded.push(char::from(HEX[usize::from(byte >> 4)]));
            encoded.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
    Some(Value::Text(Cow::Owned(encoded)))
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
pub(crate) fn text_of<'a>(value: &Value<'a>) -> Option<Value<'a>> {
    let text = match value {
        Value::Iri(iri) => iri.clone(),
        other => other.lexical_form()?,
    };
    Some(Value::Text(text))
}

/// `LANG`: the tag, or the empty string for other literals; `None` is an error.
pub(crate) fn language_of<'a>(value: &Value<'a>) -> Option<Value<'a>> {
    match value {
        Value::Language(_, language) => Some(Value::Text(Cow::Borrowed(language.tag))),
        value if value.is_literal() => Some(Value::Text(Cow::Borrowed(""))),
        _ => None,
    }
}

/// What `CONCAT` gathers of one row.
#[derive(Default)]
pub(crate) struct Concatenation<'a> {
    text: String,
    parts: usize,
    language: Option<Language<'a>>,
}

impl<'a> Concatenation<'a> {
    /// Appends a string; `None` is an error.
    pub(crate) fn push(&mut self, value: &Value<'a>) -> Option<()> {
        let (text, language) = string(value)?;
        self.text.push_str(text);
        let agrees = self.parts == 0 || self.language == language;
        self.language = if agrees { language } else { None };
        self.parts += 1;
        Some(())
    }

    /// Bytes allocated so far.
    pub(crate) fn capacity(&self) -> usize {
        self.text.capacity()
    }

    /// Bytes so far.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// The string, in the language that all parts share.
    pub(crate) fn finish(self) -> Value<'a> {
        with_language(Cow::Owned(self.text), self.language)
    }
}
