//! Where readers of documents give their quads and prefixes, and the error that ends them.
//!
//! Every format is read by a parser of its own, and [`read`](super::read) calls them all. What they have in common
//! stands below them, here.
//!
//! Invariant: triple terms of a quad that is given nest no deeper than [`NESTING_MAX`].

use super::guard::{LineColumn, Refusal};
use crate::nt::{NESTING_MAX, SyntaxError};
use crate::strictness::{self, Strictness, is_of_strictness};
use oxrdf::{QuadRef, Term, TermRef};
use oxttl::TurtleSyntaxError;
use std::io;
use std::ops::ControlFlow;

/// What each quad is given to; breaking ends the reading without an error.
pub(super) type OnQuad<'f> = dyn FnMut(QuadRef<'_>) -> ControlFlow<()> + 'f;

/// What each prefix of a document is given to: its name without the colon, and its IRI.
pub type OnPrefix<'f> = dyn FnMut(&str, &str) + 'f;

/// Why a document could not be read to its end.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The document is malformed, or nests or expands beyond the bounds.
    #[error("{}{message}", Prefix(*line, *column))]
    Syntax {
        /// From 1; absent where the library does not tell.
        line: Option<u64>,
        /// From 1; absent where the library does not tell.
        column: Option<u64>,
        /// What is wrong.
        message: String,
        /// Whether a lenient reader ([`read_quads_with`](super::read_quads_with)) takes what is refused here, as far as is known.
        is_unusual: bool,
    },
    /// The input could not be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl ReadError {
    /// Malformed here.
    pub(super) fn at(place: LineColumn, message: String) -> ReadError {
        ReadError::Syntax {
            line: Some(place.line),
            column: Some(place.column),
            message,
            is_unusual: false,
        }
    }

    /// Malformed, at a place that is not known.
    pub(super) fn nowhere(message: String) -> ReadError {
        ReadError::Syntax {
            line: None,
            column: None,
            message,
            is_unusual: false,
        }
    }

    /// The same error of something that a lenient reader takes, or does not.
    pub(super) fn unusual(mut self, is_it: bool) -> ReadError {
        if let ReadError::Syntax { is_unusual, .. } = &mut self {
            *is_unusual = is_it;
        }
        self
    }

    /// The document's base is no IRI.
    pub(super) fn base(iri: &str, error: &impl std::fmt::Display) -> ReadError {
        ReadError::nowhere(format!("invalid IRI '{iri}': {error}"))
    }
}

impl From<Refusal> for ReadError {
    fn from(refusal: Refusal) -> ReadError {
        ReadError::at(refusal.place, refusal.message)
    }
}

impl From<SyntaxError> for ReadError {
    fn from(error: SyntaxError) -> ReadError {
        ReadError::at(
            LineColumn {
                line: error.line,
                column: error.column,
            },
            error.message,
        )
        .unusual(error.is_unusual)
    }
}

/// The place in front of a message, as much of it as is known.
struct Prefix(Option<u64>, Option<u64>);

impl std::fmt::Display for Prefix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.0, self.1) {
            (Some(line), Some(column)) => write!(f, "line {line}, column {column}: "),
            (Some(line), None) => write!(f, "line {line}: "),
            _ => Ok(()),
        }
    }
}

/// Gives on a quad of a library's parser that was as strict as this.
pub(super) fn give(
    quad: QuadRef<'_>,
    strictness: Strictness,
    on_quad: &mut OnQuad<'_>,
) -> Result<ControlFlow<()>, ReadError> {
    check_depth(quad)?;
    if strictness.is_lenient() {
        strictness::check(quad).map_err(ReadError::nowhere)?;
    }
    Ok(on_quad(quad))
}

/// Whoever gets a quad may rely on triple terms nesting no deeper than [`NESTING_MAX`].
pub(super) fn check_depth(quad: QuadRef<'_>) -> Result<(), ReadError> {
    let TermRef::Triple(mut triple) = quad.object else {
        return Ok(());
    };
    for _ in 0..NESTING_MAX {
        let Term::Triple(inner) = &triple.object else {
            return Ok(());
        };
        triple = inner;
    }
    Err(ReadError::nowhere(format!(
        "triple terms nest deeper than {NESTING_MAX}"
    )))
}

/// A scanner's refusal comes back out of the library as an I/O error.
pub(super) fn io_error(error: io::Error) -> ReadError {
    match error.downcast::<Refusal>() {
        Ok(refusal) => refusal.into(),
        Err(error) => error.into(),
    }
}

/// An error of a parser that was as strict as this; the library counts lines and columns from 0.
pub(super) fn turtle_error(
    error: &TurtleSyntaxError,
    first_line_number: u64,
    strictness: Strictness,
) -> ReadError {
    let start = error.location().start;
    let place = LineColumn {
        line: first_line_number + start.line,
        column: start.column + 1,
    };
    let is_unusual = !strictness.is_lenient() && is_of_strictness(error.message());
    ReadError::at(place, error.message().to_owned()).unusual(is_unusual)
}
