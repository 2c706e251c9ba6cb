//! Text to [`Query`]: guard, parser, translation; and the one error type of all three, which
//! [`crate::update`] shares.
//!
//! The grammar is `spargebra`'s. Its syntax errors carry a line and a column; its algebra does not,
//! so a refused feature is looked up among the guard's tokens. Every error has a place.

use crate::algebra::Query;
use crate::guard::token::{Token, TokenKind, Tokens};
use crate::guard::{self, GuardError, Problem, limits::Limit, limits::Limits};
use crate::position::Position;
use crate::syntax::Reader;
use crate::{dotted, lower, select_reuse, syntax};
use oxrdf::Term;
use spargebra::algebra::GraphPattern;
use spargebra::{SparqlParser, SparqlSyntaxError};
use std::borrow::Cow;
use std::cell::OnceCell;

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

impl From<GuardError> for ParseError {
    fn from(error: GuardError) -> ParseError {
        let kind = match error.problem {
            Problem::Limit { limit, used, max } => ParseErrorKind::Limit { limit, used, max },
            Problem::NotClosed(_) | Problem::Unexpected { .. } => ParseErrorKind::Syntax,
        };
        ParseError {
            kind,
            position: error.position,
            message: error.problem.to_string(),
        }
    }
}

/// A text that the guard let pass, as its tokens.
#[derive(Clone, Debug)]
pub struct Scanned<'t> {
    pub(crate) tokens: Tokens<'t>,
}

/// The guard alone: what [`Scanned::parse`] and [`crate::shape`] begin with. Costs time linear in the
/// text.
pub fn scan<'t>(text: &'t str, options: &ParseOptions) -> Result<Scanned<'t>, ParseError> {
    let tokens = guard::scan(text, &options.limits)?;
    Ok(Scanned { tokens })
}

/// Reads a query. Costs time linear in the text; needs [`guard::limits::STACK_BYTES_MIN`] of stack.
pub fn parse(text: &str, options: &ParseOptions) -> Result<Query, ParseError> {
    scan(text, options)?.parse(options)
}

impl Scanned<'_> {
    /// As [`parse`], with the options that the text was scanned with.
    pub fn parse(&self, options: &ParseOptions) -> Result<Query, ParseError> {
        self.parse_with(options, &Given::default())
    }

    /// The same with what is said beside the text.
    pub fn parse_with(&self, options: &ParseOptions, given: &Given) -> Result<Query, ParseError> {
        let tokens = &self.tokens;
        refuse_update(tokens)?;
        expansion(tokens, options)?;
        let parser = parser(options)?;
        let plain = with_plain_booleans(tokens);
        let parse_query = |text: &str| parser.clone().parse_query(text);
        let parsed = read(tokens, &plain, "query", &parse_query)?;
        lower::lower(parsed, tokens, options, given)
    }
}

/// Reads one term in the syntax that `VALUES` has for it: an IRI, a literal, a number, a boolean or a
/// triple term of these; an IRI may be relative to the options' base and have their prefixes. The
/// position of an error is one in `text`.
pub fn term(text: &str, options: &ParseOptions) -> Result<Term, ParseError> {
    const BEFORE: &str = "SELECT*{VALUES ?t{";
    // A comment ends with its line.
    let whole = format!("{BEFORE}{text}\n}}}}");
    let place = |mut position: Position| {
        let before = BEFORE.len() as u32;
        if position.line == 1 {
            position.column = position.column.saturating_sub(before).max(1);
        }
        position.offset = position.offset.saturating_sub(before);
        position
    };
    let tokens = guard::scan(&whole, &options.limits).map_err(ParseError::from);
    let parsed = tokens.and_then(|tokens| {
        expansion(&tokens, options)?;
        let parser = parser(options)?;
        let plain = with_plain_booleans(&tokens);
        let parse_query = |text: &str| parser.clone().parse_query(text);
        read(&tokens, &plain, "term", &parse_query)
    });
    let parsed = parsed.map_err(|error| ParseError {
        position: place(error.position),
        ..error
    })?;
    // Whatever the text holds, it is one row of one cell or it is no term.
    let row = match parsed {
        spargebra::Query::Select {
            pattern: GraphPattern::Project { inner, .. },
            ..
        } => match *inner {
            GraphPattern::Values { bindings, .. } => <[_; 1]>::try_from(bindings).ok(),
            _ => None,
        },
        _ => None,
    };
    let term = row.and_then(|[row]| row.into_iter().next().flatten());
    term.map(Term::from).ok_or_else(|| ParseError {
        kind: ParseErrorKind::Syntax,
        position: Position::START,
        message: "expected one term: an IRI in <>, a literal or a number".to_owned(),
    })
}

/// Refuses a text whose terms are too long once they are written out.
pub(crate) fn expansion(tokens: &Tokens<'_>, options: &ParseOptions) -> Result<(), ParseError> {
    let base = options.base.as_deref();
    let checked = guard::expansion::check(tokens, &options.limits, base, &options.prefixes);
    Ok(checked?)
}

/// What the library reads in a text, whose `tokens` are those of the text as it was given. `plain` is
/// that text as the library understands it.
pub(crate) fn read<T>(
    tokens: &Tokens<'_>,
    plain: &str,
    what: &'static str,
    parse: &dyn Fn(&str) -> Result<T, SparqlSyntaxError>,
) -> Result<T, ParseError> {
    let is_dotted = OnceCell::new();
    let is_dotted = || *is_dotted.get_or_init(|| dotted::has_any(tokens));
    let parsed = parse(plain).or_else(|error| {
        if is_dotted()
            && let Ok(parsed) = parse(&dotted::escaped(plain, tokens))
        {
            return Ok(parsed);
        }
        let again = select_reuse::written_out(tokens);
        let again = again.and_then(|text| parse(&dotted::escaped_anew(&text)).ok());
        again.ok_or(error)
    });
    match parsed {
        Ok(parsed) => {
            lower::check_tokens(tokens)?;
            Ok(parsed)
        }
        Err(error) => {
            let message = |text: &str| parse(text).map(drop).map_err(|error| error.to_string());
            let read = |text: &str| {
                if is_dotted() {
                    message(&dotted::plain(text, tokens))
                } else {
                    message(text)
                }
            };
            let error = error.to_string();
            let error = if is_dotted() {
                read(plain).err().unwrap_or(error)
            } else {
                error
            };
            let reader = Reader { read: &read, what };
            Err(syntax::error(tokens, &reader, &error))
        }
    }
}

/// The text with `TRUE` and `FALSE` in lower case: keywords have no case (SPARQL 1.1 Query section
/// 19.8, note 1), which the library does not know of these two. No place in the text moves.
pub(crate) fn with_plain_booleans<'t>(tokens: &Tokens<'t>) -> Cow<'t, str> {
    let mut text = Cow::Borrowed(tokens.text);
    let words = tokens.tokens.iter();
    for token in words.filter(|token| token.kind == TokenKind::Word) {
        let word = tokens.slice(*token);
        let plain = ["true", "false"]
            .into_iter()
            .find(|plain| plain.eq_ignore_ascii_case(word) && *plain != word);
        if let Some(plain) = plain {
            let place = token.start as usize..token.end as usize;
            text.to_mut().replace_range(place, plain);
        }
    }
    text
}

/// The library's parser with base and prefixes.
pub(crate) fn parser(options: &ParseOptions) -> Result<SparqlParser, ParseError> {
    let refused = |what: &str, iri: &str, error: &dyn std::fmt::Display| ParseError {
        kind: ParseErrorKind::Option,
        position: Position::START,
        message: format!("{what} <{iri}> is not an IRI: {error}"),
    };
    let mut parser = SparqlParser::new();
    if let Some(base) = &options.base {
        parser = parser
            .with_base_iri(base)
            .map_err(|error| refused("base", base, &error))?;
    }
    for (prefix, iri) in &options.prefixes {
        parser = parser
            .with_prefix(prefix, iri)
            .map_err(|error| refused(&format!("prefix {prefix}:"), iri, &error))?;
    }
    Ok(parser)
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
