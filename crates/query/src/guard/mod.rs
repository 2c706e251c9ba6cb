//! The guard: looks at query text before a recursive parser does, and lets through only what that
//! parser can read on a stack of known size and in a time linear in the text.
//!
//! ```text
//!  text --> lexer --> tokens --> frames (an explicit stack of open brackets) --> Tokens
//!                                   |
//!                                   +--> GuardError: not closed, does not match, a limit exceeded
//! ```
//!
//! The guard is no parser: it follows brackets and the few keywords that decide how a bracket is
//! read, and counts. It never recurses, looks at each byte once and allocates 16 bytes a token. Its
//! counts are upper bounds of what the parser builds: a text may be refused a little early (a
//! sequence path in parentheses counts as a collection until its operator is seen), never late.
//!
//! Why limits of shape at all (interface page, "No input ends the process"): 5,000 parentheses,
//! groups, OPTIONALs or `!` overflow the stack of a thread and end the process. The figures stand in [`limits`].

mod frames;
mod lexer;
pub mod limits;
pub mod token;

pub(crate) use lexer::iri_length;

use crate::position::Position;
use limits::{Limit, Limits};
use token::Tokens;

/// Why the guard refused a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem} at {position}")]
pub struct GuardError {
    /// Where.
    pub position: Position,
    /// What was found.
    pub problem: Problem,
}

/// What the guard found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// A limit was exceeded (HTTP 413 for [`Limit::TextBytes`], else 422).
    #[error("{used} {}, {max} allowed", limit.words())]
    Limit {
        /// Which one.
        limit: Limit,
        /// What the text has, as far as it was read.
        used: u64,
        /// What is allowed.
        max: u64,
    },
    /// A string or a bracket is not closed; the position is where it opens.
    #[error("`{0}` is not closed")]
    NotClosed(&'static str),
    /// A bracket closes what is not open.
    #[error("unexpected `{found}`{}", expected.map(|e| format!(", expected `{e}`")).unwrap_or_default())]
    Unexpected {
        /// The bracket.
        found: &'static str,
        /// What would close the innermost open bracket.
        expected: Option<&'static str>,
    },
}

/// Checks a text against the limits and gives its tokens. O(bytes of the text).
pub fn scan<'t>(text: &'t str, limits: &Limits) -> Result<Tokens<'t>, GuardError> {
    let bytes = text.len() as u64;
    if bytes > limits.text_bytes {
        return Err(GuardError {
            position: Position::of_offset(text, limits.text_bytes as usize),
            problem: Problem::Limit {
                limit: Limit::TextBytes,
                used: bytes,
                max: limits.text_bytes,
            },
        });
    }
    frames::Scanner::new(text, *limits).scan()
}
