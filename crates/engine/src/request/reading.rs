//! From the text of a request to its algebra, and what is said where that fails.
//!
//! Queries and updates are read with the same options and fail in the same words. An error carries its place in the
//! text, what else is wrong there, and the declaration that the text lacks where a loaded document has it.

use super::Request;
use crate::error::{Further, Kind, Position, QueryError, Unit};
use crate::moment::Graph;
use oxrdf::{NamedNode, Term};
use query::parse::{ParseError, ParseErrorKind, ParseOptions};
use query::{Given, Scanned};

/// The algebra of a request, whose text is cut into tokens already.
pub(crate) fn parse(
    scanned: &Scanned<'_>,
    request: &Request<'_>,
    options: &ParseOptions,
    graph: &Graph,
) -> Result<query::Query, QueryError> {
    let parsed = scanned.parse_with(options, &given(request, options)?);
    let mut parsed = parsed.map_err(|error| unreadable(error, request.text, options, graph))?;
    if !(request.default_graphs.is_empty() && request.named_graphs.is_empty()) {
        let default = graph_terms(&request.default_graphs)?;
        let named = graph_terms(&request.named_graphs)?;
        parsed.set_dataset(&default, &named);
    }
    Ok(parsed)
}

/// The error of a query, with the declaration that it lacks where a loaded document has it, or with what else is wrong.
pub(crate) fn unreadable(
    error: ParseError,
    text: &str,
    options: &ParseOptions,
    graph: &Graph,
) -> QueryError {
    let further = query::parse::further_errors(text, options, &error);
    declared(error, text, graph).with_further(also(further))
}

/// The error of a text, with the declaration that it lacks where a loaded document has it.
pub(crate) fn declared(error: ParseError, text: &str, graph: &Graph) -> QueryError {
    error
        .declared_by(text, |name| graph.prefix_iri(name))
        .into()
}

fn place(position: query::Position) -> Position {
    Position {
        line: u64::from(position.line),
        column: u64::from(position.column),
    }
}

/// What else is wrong with a text.
pub(crate) fn also(errors: Vec<ParseError>) -> Vec<Further> {
    let further = errors.into_iter().map(|error| Further {
        message: error.message,
        position: place(error.position),
    });
    further.collect()
}

/// What a request says beside its text.
fn given(request: &Request<'_>, options: &ParseOptions) -> Result<Given, QueryError> {
    let term = |(name, text): &(String, String)| {
        let term = query::term(text, options);
        let term = term.map_err(|error| {
            let ParseError {
                message, position, ..
            } = error;
            let place = format!("at {position} of the term for ?{name}");
            let error = QueryError::new(Kind::Syntax, format!("{message} ({place})"));
            error.with_hint(
                "a term is written as in a query: an IRI in <>, a string in quotation marks",
            )
        })?;
        Ok((name.clone(), term))
    };
    Ok(Given {
        terms: request
            .bindings
            .iter()
            .map(term)
            .collect::<Result<_, QueryError>>()?,
        offset: request.offset,
        limit: request.limit,
    })
}

/// How a text is read.
pub(crate) fn parse_options(
    base: Option<&str>,
    text_max_bytes: u64,
    union_default_graph: bool,
) -> ParseOptions {
    let mut options = ParseOptions {
        base: base.map(str::to_owned),
        union_default_graph,
        ..Default::default()
    };
    options.limits.text_bytes = text_max_bytes;
    options
}

/// Names of graphs as terms.
pub(crate) fn graph_terms(names: &[String]) -> Result<Vec<Term>, QueryError> {
    let term = |name: &String| match NamedNode::new(name) {
        Ok(iri) => Ok(Term::from(iri)),
        Err(error) => Err(QueryError::new(
            Kind::Syntax,
            format!("graph <{name}> is not an IRI: {error}"),
        )),
    };
    names.iter().map(term).collect()
}

impl From<ParseError> for QueryError {
    fn from(error: ParseError) -> QueryError {
        let kind = match error.kind {
            ParseErrorKind::Syntax
            | ParseErrorKind::Undeclared
            | ParseErrorKind::Update
            | ParseErrorKind::Standing
            | ParseErrorKind::Option => Kind::Syntax,
            ParseErrorKind::Unsupported => Kind::Unsupported,
            ParseErrorKind::Limit {
                limit: query::Limit::TextBytes,
                ..
            } => Kind::TooLong,
            ParseErrorKind::Limit { .. } => Kind::Shape,
        };
        let mut converted = QueryError::new(kind, error.message);
        // What is said beside the text has no place in it.
        let has_place = error.kind != ParseErrorKind::Option;
        converted.position = has_place.then(|| place(error.position));
        if let ParseErrorKind::Limit { limit, used, max } = error.kind {
            let unit = match limit {
                query::Limit::TextBytes => Unit::Bytes,
                _ => Unit::Count,
            };
            converted = converted.with_limit(unit, max, used);
        }
        converted
    }
}
