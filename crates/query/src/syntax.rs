//! Where and what a syntax error is.
//!
//! The parser reports the furthest byte at which something failed. It tries a keyword by reading as
//! many characters as the keyword has, so that byte may lie up to [`KEYWORD_BYTES_MAX`] beyond the
//! token that it could not use, and what it lists as expected are the longest keywords. So the token
//! is found by trial: the text up to and with a token, padded with blanks, fails at its very end
//! exactly when the token was usable. The few tokens before the reported byte are searched by
//! halving, at most four trials, for errors in texts up to [`TRIAL_BYTES_MAX`]; of longer texts
//! the reported byte is given.

use crate::guard::token::{Token, TokenKind, Tokens};
use crate::parse::{ParseError, ParseErrorKind};
use crate::position::Position;
use oxrdf::NamedNode;
use std::ops::Range;

/// The longest keyword of the grammar, `ENCODE_FOR_URI`, and some room.
const KEYWORD_BYTES_MAX: usize = 20;

/// Longer texts are not parsed again to find the token.
const TRIAL_BYTES_MAX: usize = 1 << 16;

/// What reads a text, to try again.
pub(crate) struct Reader<'r> {
    /// The parser: its message, if it refuses the text.
    pub(crate) read: &'r dyn Fn(&str) -> Result<(), String>,
    /// What the text is to be.
    pub(crate) what: &'static str,
}

/// The error for a parser's message, `error at LINE:COLUMN: expected ...`.
pub(crate) fn error(tokens: &Tokens<'_>, parser: &Reader<'_>, message: &str) -> ParseError {
    let (reported, expected) = read(tokens.text, message);
    let culprit = culprit(tokens, parser, reported.offset as usize);
    let hidden = culprit.and_then(|token| hidden_reason(tokens, parser, token));
    let reason = reason(expected).or(hidden.as_deref());
    let (position, message) = match (culprit, reason) {
        (Some(token), Some("Prefix not found")) => {
            let prefix = tokens.slice(token).split(':').next().unwrap_or_default();
            (
                at(tokens, token),
                format!("prefix `{prefix}:` is not declared"),
            )
        }
        (Some(token), reason) if let Some(iri) = bad_iri(tokens, token, reason) => (
            Position::of_offset(tokens.text, iri.start),
            format!(
                "{} is not a valid absolute IRI",
                describe(&tokens.text[iri])
            ),
        ),
        (Some(token), reason) => (
            at(tokens, token),
            with_reason(
                &format!("unexpected {}", describe(tokens.slice(token))),
                reason,
            ),
        ),
        // The text is complete but means nothing, as a SELECT that lists a variable twice.
        (None, Some(reason)) => {
            let select = tokens.find_word(&["SELECT"]).map(|token| at(tokens, token));
            (select.unwrap_or(reported), reason.to_lowercase())
        }
        (None, None) => (
            Position::of_offset(tokens.text, tokens.text.len()),
            format!("unexpected end of the {}", parser.what),
        ),
    };
    ParseError {
        kind: ParseErrorKind::Syntax,
        position,
        message,
    }
}

/// The place and the expectation of a message.
fn read<'m>(text: &str, message: &'m str) -> (Position, &'m str) {
    let (place, expected) = message
        .strip_prefix("error at ")
        .and_then(|rest| rest.split_once(": expected "))
        .unwrap_or(("1:1", message));
    let position = place
        .split_once(':')
        .and_then(|(line, column)| Some((line.parse().ok()?, column.parse().ok()?)))
        .map_or(Position::START, |(line, column)| {
            Position::of_line_and_column(text, line, column)
        });
    (position, expected)
}

/// A reason among what was expected: the parser lists its own objections like tokens, as phrases.
fn reason(expected: &str) -> Option<&str> {
    let is_phrase = |phrase: &&str| {
        phrase.contains(' ')
            && phrase
                .chars()
                .all(|c| c.is_alphabetic() || " -,.()".contains(c))
    };
    let list = expected.strip_prefix("one of ").unwrap_or(expected);
    list.split(", ").find(is_phrase)
}

/// An objection that the message does not list, because keywords were tried further on: at the end of a
/// text that stops before the token, or after it, nothing is further on.
fn hidden_reason(tokens: &Tokens<'_>, parser: &Reader<'_>, token: Token) -> Option<String> {
    if tokens.text.len() > TRIAL_BYTES_MAX {
        return None;
    }
    [token.start, token.end].into_iter().find_map(|end| {
        let start = &tokens.text[..end as usize];
        let message = (parser.read)(start).err()?;
        reason(read(start, &message).1).map(str::to_owned)
    })
}

/// The first token that the parser cannot use; `None` where the text only ends too early.
fn culprit(tokens: &Tokens<'_>, parser: &Reader<'_>, reported: usize) -> Option<Token> {
    let list = &tokens.tokens;
    let last = list.partition_point(|token| (token.start as usize) <= reported);
    if tokens.text.len() > TRIAL_BYTES_MAX {
        return list.get(last.saturating_sub(1)).copied();
    }
    let from = reported.saturating_sub(KEYWORD_BYTES_MAX);
    let mut usable = list.partition_point(|token| (token.end as usize) < from);
    let mut unusable = (last + 1).min(list.len());
    while usable < unusable {
        let middle = usize::midpoint(usable, unusable);
        if is_usable(tokens, parser, list[middle]) {
            usable = middle + 1;
        } else {
            unusable = middle;
        }
    }
    list.get(usable).copied()
}

/// Whether the parser, given the text up to and with a token, asks for more after it.
fn is_usable(tokens: &Tokens<'_>, parser: &Reader<'_>, token: Token) -> bool {
    let mut start = tokens.text[..token.end as usize].to_owned();
    // A name may go on: what counts is the token as it stands.
    start.push_str(&" ".repeat(2 * KEYWORD_BYTES_MAX));
    match (parser.read)(&start) {
        Ok(()) => true,
        Err(error) => {
            let (reported, _) = read(&start, &error);
            reported.offset as usize == start.len()
        }
    }
}

/// The bytes of an IRI that is none: with a forbidden character, or relative without a base.
fn bad_iri(tokens: &Tokens<'_>, token: Token, reason: Option<&str>) -> Option<Range<usize>> {
    let end = token.end as usize;
    let slice = tokens.slice(token);
    if token.kind == TokenKind::Iri {
        let is_iri = NamedNode::new(&slice[1..slice.len() - 1]).is_ok();
        return (!is_iri).then_some(token.start as usize..end);
    }
    if reason != Some("IRI parsing failed") {
        return None;
    }
    let start = match token.kind {
        TokenKind::PrefixedName => token.start as usize,
        _ => tokens.text[..end].rfind('<')?,
    };
    Some(start..end)
}

fn at(tokens: &Tokens<'_>, token: Token) -> Position {
    Position::of_offset(tokens.text, token.start as usize)
}

fn with_reason(message: &str, reason: Option<&str>) -> String {
    match reason {
        Some(reason) => format!("{message}: {}", reason.to_lowercase()),
        None => message.to_owned(),
    }
}

/// A token for a message, shortened.
fn describe(slice: &str) -> String {
    const CHARACTERS_MAX: usize = 40;
    if slice.chars().count() <= CHARACTERS_MAX {
        return format!("`{slice}`");
    }
    let start: String = slice.chars().take(CHARACTERS_MAX).collect();
    format!("`{start}...`")
}
