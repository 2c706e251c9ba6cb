//! Texts as `spargebra` reads them: the grammar that ours is compared with.

mod conversion;

use crate::error::{ParseError, ParseErrorKind};
use crate::grammar::lexer::token::{TokenKind, Tokens};
use crate::grammar::translate::Modification;
use crate::lower::{lower, lower_modification};
use crate::options::{Given, ParseOptions};
use crate::parse;
use crate::update::{Modify, Operation, Target};
use crate::{Position, Query};
use conversion::Conversion;
use oxrdf::NamedNode;
use spargebra::algebra::{GraphTarget, QueryDataset};
use spargebra::term::{GraphName, QuadPattern};
use spargebra::{GraphUpdateOperation, SparqlParser};

/// The text with `TRUE` and `FALSE` in lower case: keywords have no case (SPARQL 1.1 Query section
/// 19.8, note 1), which the library does not know of these two. No place in the text moves.
fn with_plain_booleans(tokens: &Tokens<'_>) -> String {
    let mut text = tokens.text.to_owned();
    for token in &tokens.tokens {
        let word = tokens.slice(*token).to_ascii_lowercase();
        if token.kind == TokenKind::Word && matches!(word.as_str(), "true" | "false") {
            text.replace_range(token.start as usize..token.end as usize, &word);
        }
    }
    text
}

fn parser(options: &ParseOptions) -> SparqlParser {
    let mut parser = SparqlParser::new();
    if let Some(base) = &options.base {
        parser = parser.with_base_iri(base).unwrap();
    }
    for (prefix, iri) in &options.prefixes {
        parser = parser.with_prefix(prefix, iri).unwrap();
    }
    parser
}

fn refused(error: &impl ToString) -> ParseError {
    ParseError {
        kind: ParseErrorKind::Syntax,
        position: Position::START,
        message: error.to_string(),
    }
}

/// A query.
pub(super) fn query(text: &str, options: &ParseOptions) -> Result<Query, ParseError> {
    let tokens = &parse::scan(text, options)?.tokens;
    let parsed = parser(options).parse_query(&with_plain_booleans(tokens));
    let parsed = parsed.map_err(|error| refused(&error))?;
    lower(
        conversion::query(&parsed, tokens)?,
        options,
        &Given::default(),
    )
}

/// An update of one operation that is no data; `None` for others, and for `ADD`, `COPY` and `MOVE`, which the
/// library writes as other operations.
pub(super) fn operation(
    text: &str,
    options: &ParseOptions,
) -> Option<Result<Operation, ParseError>> {
    let tokens = match parse::scan(text, options) {
        Ok(scanned) => scanned.tokens,
        Err(error) => return Some(Err(error)),
    };
    let verb = parse::first_keyword(&tokens).map(|token| tokens.slice(token));
    if verb.is_some_and(|verb| parse::is_one(verb, &["ADD", "COPY", "MOVE"])) {
        return None;
    }
    let parsed = parser(options).parse_update(&with_plain_booleans(&tokens));
    let parsed = match parsed {
        Ok(parsed) => parsed,
        Err(error) => return Some(Err(refused(&error))),
    };
    let base = parsed.base_iri.as_ref().map(ToString::to_string);
    match <[GraphUpdateOperation; 1]>::try_from(parsed.operations) {
        Ok([operation]) => converted(operation, base, &tokens, options),
        Err(_) => None,
    }
}

fn converted(
    operation: GraphUpdateOperation,
    base: Option<String>,
    tokens: &Tokens<'_>,
    options: &ParseOptions,
) -> Option<Result<Operation, ParseError>> {
    Some(Ok(match operation {
        GraphUpdateOperation::DeleteInsert {
            delete,
            insert,
            using,
            pattern,
        } => {
            let (with, using) = split(using);
            let names_dataset = using.is_some() || with.is_some();
            let mut conversion = Conversion::new(tokens);
            let delete = delete.into_iter().map(|quad| {
                conversion.quad(&QuadPattern {
                    subject: quad.subject.into(),
                    predicate: quad.predicate,
                    object: quad.object.into(),
                    graph_name: quad.graph_name,
                })
            });
            let delete = delete.collect();
            let pattern = match conversion.pattern(&pattern) {
                Ok(pattern) => pattern,
                Err(error) => return Some(Err(error)),
            };
            let modification = Modification {
                delete,
                insert: insert.iter().map(|quad| conversion.quad(quad)).collect(),
                using: using.map(|using| conversion.dataset(&using)),
                with: with.map(|with| conversion.constant(with)),
                pattern,
                base,
            };
            let lowered = match lower_modification(conversion.finish(modification), options) {
                Ok(lowered) => lowered,
                Err(error) => return Some(Err(error)),
            };
            Operation::Modify(Box::new(Modify {
                query: lowered.query,
                delete: lowered.delete,
                insert: lowered.insert,
                names_dataset,
            }))
        }
        GraphUpdateOperation::Load {
            silent,
            source,
            destination,
        } => Operation::Load {
            silent,
            source,
            graph: match destination {
                GraphName::NamedNode(graph) => Some(graph),
                GraphName::DefaultGraph => None,
            },
        },
        GraphUpdateOperation::Clear { silent, graph } => Operation::Clear {
            silent,
            target: target(graph),
        },
        GraphUpdateOperation::Drop { silent, graph } => Operation::Drop {
            silent,
            target: target(graph),
        },
        GraphUpdateOperation::Create { silent, graph } => Operation::Create { silent, graph },
        GraphUpdateOperation::InsertData { .. } | GraphUpdateOperation::DeleteData { .. } => {
            return None;
        }
    }))
}

/// The graph of `WITH`, for which the library writes a dataset that says nothing of named graphs. Where there
/// is a `USING` as well, the library has no `WITH` left.
fn split(using: Option<QueryDataset>) -> (Option<NamedNode>, Option<QueryDataset>) {
    match using {
        Some(QueryDataset {
            mut default,
            named: None,
        }) => (default.pop(), None),
        using => (None, using),
    }
}

fn target(graph: GraphTarget) -> Target {
    match graph {
        GraphTarget::NamedNode(graph) => Target::Graph(graph),
        GraphTarget::DefaultGraph => Target::Default,
        GraphTarget::NamedGraphs => Target::Named,
        GraphTarget::AllGraphs => Target::All,
    }
}
