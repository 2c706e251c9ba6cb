//! Text to [`Query`]: lexer, parser, translation, one after the other.
//!
//! How a text is read is told by [`ParseOptions`], and why it gave no query by [`ParseError`]; both stand below all
//! that read, [`crate::update`] among them.

use crate::algebra::Query;
pub use crate::error::{ParseError, ParseErrorKind};
use crate::grammar::lexer;
use crate::grammar::lexer::token::{Token, TokenKind, Tokens};
use crate::grammar::translate;
use crate::lower;
pub use crate::options::{Given, ParseOptions};
use crate::position::Position;
use oxrdf::Term;

/// A text as its tokens.
#[derive(Clone, Debug)]
pub struct Scanned<'t> {
    pub(crate) tokens: Tokens<'t>,
}

/// The lexer alone: what [`Scanned::parse`] and [`crate::shape`] begin with. Costs time linear in the
/// text.
pub fn scan<'t>(text: &'t str, options: &ParseOptions) -> Result<Scanned<'t>, ParseError> {
    let tokens = lexer::scan(text, &options.limits)?;
    Ok(Scanned { tokens })
}

/// Reads a query. Costs time linear in the text; needs [`crate::STACK_BYTES_MIN`] of stack.
pub fn parse(text: &str, options: &ParseOptions) -> Result<Query, ParseError> {
    scan(text, options)?.parse(options)
}

/// What else is wrong with the grammar of a query, beside the error that [`parse`] gave of it, in the order of the text;
/// eight errors in all at most. Nothing where that is no error of grammar. For texts that were refused: costs another
/// reading.
pub fn further_errors(text: &str, options: &ParseOptions, first: &ParseError) -> Vec<ParseError> {
    if first.kind != ParseErrorKind::Syntax {
        return Vec::new();
    }
    let Ok(tokens) = lexer::scan(text, &options.limits) else {
        return Vec::new();
    };
    let mut errors = crate::grammar::parser::errors_of_query(&tokens, &options.limits);
    errors.retain(|error| error.position != first.position);
    errors
}

/// A text and its tokens, for whoever reads it next.
#[derive(Clone, Debug)]
pub struct Cut {
    text: Box<str>,
    tokens: Vec<Token>,
}

impl Cut {
    /// The tokens of this text; `None` of any other than the one that was cut.
    pub fn of(self, text: &str) -> Option<Scanned<'_>> {
        (*self.text == *text).then_some(Scanned {
            tokens: Tokens {
                text,
                tokens: self.tokens,
            },
        })
    }
}

impl Scanned<'_> {
    /// What was cut, to be kept.
    pub fn into_cut(self) -> Cut {
        Cut {
            text: self.tokens.text.into(),
            tokens: self.tokens.tokens,
        }
    }

    /// As [`parse`], with the options that the text was scanned with.
    pub fn parse(&self, options: &ParseOptions) -> Result<Query, ParseError> {
        self.parse_with(options, &Given::default())
    }

    /// The same with what is said beside the text.
    pub fn parse_with(&self, options: &ParseOptions, given: &Given) -> Result<Query, ParseError> {
        let tokens = &self.tokens;
        refuse_update(tokens)?;
        let tree = crate::grammar::parser::query(tokens, &options.limits)?;
        let parsed = translate::query(&tree, options)?;
        lower::lower(parsed, options, given)
    }
}

/// Reads one term in the syntax that `VALUES` has for it: an IRI, a literal, a number, a boolean or a
/// triple term of these; an IRI may be relative to the options' base and have their prefixes.
pub fn term(text: &str, options: &ParseOptions) -> Result<Term, ParseError> {
    let tokens = lexer::scan(text, &options.limits)?;
    let tree = crate::grammar::parser::term(&tokens, &options.limits)?;
    translate::term(&tree, options)
}

/// An update begins, after its prologue, with one of its own keywords.
pub(crate) fn refuse_update(tokens: &Tokens<'_>) -> Result<(), ParseError> {
    match first_keyword(tokens) {
        Some(token) if is_one(tokens.slice(token), &UPDATES) => Err(ParseError {
            kind: ParseErrorKind::Update,
            position: Position::of_offset(tokens.text, token.start as usize),
            message: format!(
                "{} is an update, not a query: send it where updates are accepted",
                tokens.slice(token).to_ascii_uppercase()
            ),
        }),
        _ => Ok(()),
    }
}

/// The keywords that operations of an update begin with, and `USING`.
pub(crate) const UPDATES: [&str; 11] = [
    "INSERT", "DELETE", "LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY", "WITH", "USING",
];

/// The first keyword after the prologue.
pub(crate) fn first_keyword(tokens: &Tokens<'_>) -> Option<Token> {
    const PROLOGUE: [&str; 3] = ["PREFIX", "BASE", "VERSION"];
    tokens.find(|kind, slice| kind == TokenKind::Word && !is_one(slice, &PROLOGUE))
}

/// Whether a word is one of these, whatever its case.
pub(crate) fn is_one(word: &str, of: &[&str]) -> bool {
    of.iter().any(|keyword| keyword.eq_ignore_ascii_case(word))
}
