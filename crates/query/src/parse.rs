//! Text to [`Query`]: lexer, parser, translation; and the one error type of all three, which
//! [`crate::update`] shares.
//!
//! Every error has the place of the token that it is about.

use crate::algebra::Query;
use crate::lexer;
use crate::lexer::token::{Token, TokenKind, Tokens};
use crate::limits::{Limit, Limits};
use crate::position::Position;
use crate::shape::{Shape, Template};
use crate::{lower, translate};
use oxiri::Iri;
use oxrdf::Term;

/// How a text is to be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParseOptions {
    /// What relative IRIs are resolved against; a BASE in the text replaces it.
    pub base: Option<String>,
    /// Prefixes (without the colon) that are declared beforehand, with their IRIs.
    pub prefixes: Vec<(String, String)>,
    /// Whether a text without a dataset clause sees the merge of all graphs as its default graph
    /// ([`crate::plan::DatasetClause::union_default`]).
    pub union_default_graph: bool,
    /// What the text may hold.
    pub limits: Limits,
}

/// What is said of a query beside its text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// Terms for variables of the text, without question mark: as if `VALUES ?name { TERM }` were the first
    /// element of `WHERE` and of each group in it that has ?name. No blank node is one.
    pub terms: Vec<(String, Term)>,
    /// Solutions of a `SELECT` that are skipped (count), of those that the text's own `OFFSET` and `LIMIT`
    /// leave.
    pub offset: u64,
    /// Solutions after these at most (count); `None`: all.
    pub limit: Option<u64>,
}

impl Given {
    /// Whether nothing is said.
    pub fn is_nothing(&self) -> bool {
        self.terms.is_empty() && !self.is_sliced()
    }

    /// Whether only a part of the solutions is wanted.
    pub(crate) fn is_sliced(&self) -> bool {
        self.offset > 0 || self.limit.is_some()
    }
}

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
    /// A base or a prefix of the [`ParseOptions`] is no IRI (400).
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

/// What stands before the number of an operation in an error.
pub(crate) const NUMBERED: &str = ", in operation ";

/// That a prefix is not declared, and what to declare.
pub(crate) fn undeclared(prefix: &str, iri: &str) -> String {
    format!("prefix `{prefix}:` is not declared: add `PREFIX {prefix}: <{iri}>`")
}

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
    let mut errors = crate::parser::errors_of_query(&tokens, &options.limits);
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
        let tree = crate::parser::query(tokens, &options.limits)?;
        let parsed = translate::query(&tree, options)?;
        lower::lower(parsed, options, given)
    }

    /// The template of the text's shape, which is that of [`Shape::of`] with these options, from one reading of the
    /// text; `None` where a parameter stands in what is sent elsewhere (`SERVICE`), becomes part of a triple term,
    /// or is not what [`Shape::of`] took it for. The text's own query is [`Template::filled`] with the shape's
    /// parameters.
    pub fn template(
        &self,
        shape: &Shape,
        options: &ParseOptions,
    ) -> Result<Option<Template>, ParseError> {
        let tokens = &self.tokens;
        refuse_update(tokens)?;
        let tree = crate::parser::query(tokens, &options.limits)?;
        let (parsed, holes) = translate::query_with_holes(&tree, options, shape.holes())?;
        if !holes.are_all_met() {
            return Ok(None);
        }
        let query = lower::lower(parsed, options, &Given::default())?;
        Ok(shape.template(query))
    }
}

/// Reads one term in the syntax that `VALUES` has for it: an IRI, a literal, a number, a boolean or a
/// triple term of these; an IRI may be relative to the options' base and have their prefixes.
pub fn term(text: &str, options: &ParseOptions) -> Result<Term, ParseError> {
    let tokens = lexer::scan(text, &options.limits)?;
    let tree = crate::parser::term(&tokens, &options.limits)?;
    translate::term(&tree, options)
}

/// Refuses a base or a prefix of the options that is no IRI.
pub(crate) fn check_options(options: &ParseOptions) -> Result<(), ParseError> {
    let refused = |what: &str, iri: &str, error: &dyn std::fmt::Display| ParseError {
        kind: ParseErrorKind::Option,
        position: Position::START,
        message: format!("{what} <{iri}> is not an IRI: {error}"),
    };
    if let Some(base) = &options.base {
        Iri::parse(base.as_str()).map_err(|error| refused("base", base, &error))?;
    }
    for (prefix, iri) in &options.prefixes {
        Iri::parse(iri.as_str())
            .map_err(|error| refused(&format!("prefix {prefix}:"), iri, &error))?;
    }
    Ok(())
}

/// An update begins, after its prologue, with one of its own keywords.
fn refuse_update(tokens: &Tokens<'_>) -> Result<(), ParseError> {
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
