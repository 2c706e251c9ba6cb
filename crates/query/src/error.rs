//! Why a text gave no query or update: the one error of lexer, parser, translation and lowering.
//!
//! All of them return this error, and [`mod@crate::parse`] calls them; so the error stands below.
//!
//! Invariant: every error has the place of the token that it is about.

use crate::limits::{Exceeded, Limit};
use crate::position::Position;

/// Why a text gave no query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} at {position}")]
pub struct ParseError {
    /// What kind of failure it is; decides the HTTP status.
    pub kind: ParseErrorKind,
    /// Where in the text.
    pub position: Position,
    /// What is wrong, without the place.
    pub message: String,
}

/// Kinds of [`ParseError`], with the HTTP status that the interface page gives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseErrorKind {
    /// Not SPARQL (400).
    Syntax,
    /// A prefix that is not declared (400); the position is that of the name which has it.
    Undeclared,
    /// SPARQL that this release does not evaluate (400).
    Unsupported,
    /// An update where a query is expected, or a query where an update is (400).
    Update,
    /// A standing query where a query or an update is expected, or one without a window where a standing query is (400).
    Standing,
    /// A base or a prefix of the [`ParseOptions`](crate::ParseOptions) is no IRI (400).
    Option,
    /// A limit (413 for [`Limit::TextBytes`], else 422).
    Limit {
        /// Which one.
        limit: Limit,
        /// What the text has.
        used: u64,
        /// What is allowed.
        max: u64,
    },
}

impl ParseError {
    /// The same error with the declaration that the text lacks, if this knows the IRI of the prefix.
    #[must_use]
    pub fn declared_by(mut self, text: &str, iri: impl Fn(&str) -> Option<String>) -> ParseError {
        if self.kind == ParseErrorKind::Undeclared
            && let Some(name) = text.get(self.position.offset as usize..)
            && let Some((prefix, _)) = name.split_once(':')
            && let Some(iri) = iri(prefix)
        {
            let operation = self.message.rfind(NUMBERED);
            let operation = operation.map_or("", |at| &self.message[at..]);
            self.message = format!("{}{operation}", undeclared(prefix, &iri));
        }
        self
    }
}

impl Exceeded {
    pub(crate) fn kind(self) -> ParseErrorKind {
        let Exceeded { limit, used, max } = self;
        ParseErrorKind::Limit { limit, used, max }
    }

    /// The error of a text.
    pub(crate) fn at(self, position: Position) -> ParseError {
        ParseError {
            kind: self.kind(),
            position,
            message: self.to_string(),
        }
    }
}

/// What stands before the number of an operation in an error.
pub(crate) const NUMBERED: &str = ", in operation ";

/// That a prefix is not declared, and what to declare.
pub(crate) fn undeclared(prefix: &str, iri: &str) -> String {
    format!("prefix `{prefix}:` is not declared: add `PREFIX {prefix}: <{iri}>`")
}
