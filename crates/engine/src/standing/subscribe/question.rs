//! What a live query asks: its text read once, and which commits its answer may depend on.
//!
//! **Refused** is what has another answer each time it is asked, since its differences would say nothing of the graph:
//! `RAND`, `UUID`, `STRUUID`, `BNODE`, `NOW` and `SERVICE`; and `DESCRIBE`, whose form is up to the engine.
//!
//! **What is read** is told from the algebra alone. A pattern reads the quads with its predicate, in whatever graph: a
//! graph that appears with a known predicate is a quad of that predicate. Everything is read by a pattern whose
//! predicate is a variable, by a path that may have no length or excludes predicates, and by `GRAPH` without a pattern,
//! which asks whether a graph is there.

use crate::error::{Kind, Position, QueryError};
use crate::moment::Graph;
use crate::request::Request;
use crate::request::context::Context;
use crate::request::reading::parse;
use crate::request::shared::Shared;
use oxrdf::Term;
use query::algebra::{Element, Group};
use query::expression::{Expression, Function};
use query::grammar::lexer::cover::pieces;
use query::path::Path;
use query::plan::{ConstantId, Form, Node};
use rdf::{Lexicon, VertexId};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// What a live query was asked with. Equal ones share a subscription.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Asked {
    text: String,
    base: Option<String>,
    default_graphs: Vec<String>,
    named_graphs: Vec<String>,
    union_default_graph: Option<bool>,
    bindings: Vec<(String, String)>,
    offset: u64,
    limit: Option<u64>,
    timeout: Option<Duration>,
    memory_bytes: Option<u64>,
}

impl Asked {
    pub(super) fn of(request: &Request<'_>) -> Asked {
        Asked {
            text: request.text.to_owned(),
            base: request.base.map(str::to_owned),
            default_graphs: request.default_graphs.clone(),
            named_graphs: request.named_graphs.clone(),
            union_default_graph: request.union_default_graph,
            bindings: request.bindings.clone(),
            offset: request.offset,
            limit: request.limit,
            timeout: request.timeout,
            memory_bytes: request.memory_bytes,
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The request of one evaluation, on one thread: nobody waits for it who could not wait a little longer.
    pub(super) fn request(&self) -> Request<'_> {
        Request {
            text: &self.text,
            base: self.base.as_deref(),
            default_graphs: self.default_graphs.clone(),
            named_graphs: self.named_graphs.clone(),
            union_default_graph: self.union_default_graph,
            bindings: self.bindings.clone(),
            offset: self.offset,
            limit: self.limit,
            timeout: self.timeout,
            memory_bytes: self.memory_bytes,
            threads: Some(1),
            ..Request::default()
        }
    }
}

/// A live query that was read.
pub(super) struct Question {
    pub(super) asked: Asked,
    pub(super) parsed: query::Query,
    pub(super) reads: Reads,
}

/// Which commits an answer may depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reads {
    /// Those that touch a quad with one of these predicates.
    Predicates(Vec<Term>),
    /// All.
    Everything,
}

impl Question {
    /// Reads a text, and refuses what cannot be a live query. Needs `query::STACK_BYTES_MIN` (2 MiB) of stack.
    pub(super) fn read(
        shared: &Arc<Shared>,
        request: &Request<'_>,
    ) -> Result<Question, QueryError> {
        let asked = Asked::of(request);
        let request = asked.request();
        // What reading a long text takes is drawn on a budget, as for any query.
        let context = Context::enter(shared, &request);
        context.draw_text(&request)?;
        let options = request.parse_options(&shared.options);
        let scanned = query::scan(request.text, &options)?;
        let parsed = parse(&scanned, &request, &options, &shared.graph())?;
        refuse(&parsed, request.text)?;
        let reads = reads_of(&parsed);
        Ok(Question {
            asked,
            parsed,
            reads,
        })
    }
}

impl Reads {
    /// The predicates, ascending, as far as the graph has them; how many it has not; `None`: everything.
    pub(super) fn ids(&self, graph: &Graph) -> Result<Option<KnownPredicates>, QueryError> {
        let Reads::Predicates(terms) = self else {
            return Ok(None);
        };
        let terms: Vec<_> = terms.iter().map(Term::as_ref).collect();
        let mut ids: Vec<Option<VertexId>> = Vec::with_capacity(terms.len());
        graph.dictionary.ids(&terms, &mut ids)?;
        let mut known: Vec<VertexId> = ids.iter().copied().flatten().collect();
        known.sort_unstable();
        Ok(Some(KnownPredicates {
            known,
            are_all: ids.iter().all(Option::is_some),
        }))
    }
}

/// The predicates of a question by their ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KnownPredicates {
    /// Ascending.
    pub(super) known: Vec<VertexId>,
    /// Whether the dictionary has all of them.
    pub(super) are_all: bool,
}

fn refuse(parsed: &query::Query, text: &str) -> Result<(), QueryError> {
    if matches!(parsed.form(), Form::Describe(_)) {
        let message = "DESCRIBE is no live query: what describes a term is up to the engine";
        let error = at_word(
            QueryError::new(Kind::Unsupported, message),
            text,
            "DESCRIBE",
        );
        return Err(error.with_hint("ask for the triples with CONSTRUCT"));
    }
    let mut found = Found::default();
    found.group(parsed.body());
    let refused = match (found.function, found.asks_others) {
        (Some(function), _) => function.name().unwrap_or_default(),
        (None, true) => "SERVICE",
        (None, false) => return Ok(()),
    };
    let why = match refused {
        "SERVICE" => "another endpoint does not say when its answer changes",
        "NOW" => "it changes with time, not with the graph",
        _ => "it gives something else each time it is evaluated",
    };
    let message = format!("{refused} cannot stand in a live query: {why}");
    Err(at_word(
        QueryError::new(Kind::Unsupported, message),
        text,
        refused,
    ))
}

/// An error with the place of a word, where the text has it.
fn at_word(mut error: QueryError, text: &str, word: &str) -> QueryError {
    let found = pieces(text).find(|piece| piece.is_word(word));
    if let Some(piece) = found {
        let place = query::Position::of_offset(text, piece.start);
        error.position = Some(Position {
            line: u64::from(place.line),
            column: u64::from(place.column),
        });
    }
    error
}

/// What of a query is refused.
#[derive(Default)]
struct Found {
    function: Option<Function>,
    asks_others: bool,
}

impl Found {
    /// As deep as groups are nested, which the parser bounds.
    fn group(&mut self, group: &Group) {
        self.elements(&group.elements);
    }

    fn elements(&mut self, elements: &[Element]) {
        for element in elements {
            match element {
                Element::Service(_) => self.asks_others = true,
                Element::Join(group)
                | Element::Minus(group)
                | Element::Lateral(group)
                | Element::Exists { group, .. }
                | Element::Mark { group, .. } => self.group(group),
                Element::Union(groups) => groups.iter().for_each(|group| self.group(group)),
                Element::Optional { group, condition } => {
                    self.group(group);
                    self.elements(condition);
                }
                Element::Filter(expression) | Element::Bind { expression, .. } => {
                    self.expression(expression);
                }
                Element::Aggregate { aggregates, .. } => {
                    let arguments = aggregates.iter();
                    let arguments = arguments.filter_map(|(it, _)| it.argument.as_ref());
                    arguments.for_each(|argument| self.expression(argument));
                }
                Element::Order(keys) => {
                    let keys = keys.iter();
                    keys.for_each(|key| self.expression(&key.expression));
                }
                Element::Pattern(_)
                | Element::Path(_)
                | Element::Graph(..)
                | Element::TripleTerm { .. }
                | Element::Values { .. }
                | Element::Given { .. }
                | Element::Project(_)
                | Element::Distinct
                | Element::Slice { .. } => {}
            }
        }
    }

    fn expression(&mut self, expression: &Expression) {
        if let Expression::Call(function, _) = expression
            && (function.gives_new() || *function == Function::Now)
        {
            self.function.get_or_insert(*function);
        }
        expression.for_each_operand(&mut |operand| self.expression(operand));
    }
}

fn reads_of(parsed: &query::Query) -> Reads {
    let mut found = BTreeSet::new();
    if reads_all(parsed.body(), &mut found) {
        return Reads::Everything;
    }
    let term = |id: ConstantId| parsed.constants()[id.0 as usize].clone();
    Reads::Predicates(found.into_iter().map(|id| term(ConstantId(id))).collect())
}

/// Whether a group reads everything; else its predicates are among those found.
fn reads_all(group: &Group, found: &mut BTreeSet<u32>) -> bool {
    elements_read_all(&group.elements, found)
}

fn elements_read_all(elements: &[Element], found: &mut BTreeSet<u32>) -> bool {
    elements.iter().any(|element| match element {
        Element::Pattern(pattern) => match pattern.predicate {
            Node::Constant(predicate) => {
                found.insert(predicate.0);
                false
            }
            Node::Slot(_) => true,
        },
        Element::Path(path) => path_reads_all(&path.path, found),
        Element::Graph(..) => true,
        Element::Join(group)
        | Element::Minus(group)
        | Element::Lateral(group)
        | Element::Exists { group, .. }
        | Element::Mark { group, .. } => reads_all(group, found),
        Element::Union(groups) => groups.iter().any(|group| reads_all(group, found)),
        Element::Optional { group, condition } => {
            reads_all(group, found) || elements_read_all(condition, found)
        }
        // It is refused.
        Element::Service(_)
        | Element::TripleTerm { .. }
        | Element::Values { .. }
        | Element::Given { .. }
        | Element::Filter(_)
        | Element::Bind { .. }
        | Element::Aggregate { .. }
        | Element::Order(_)
        | Element::Project(_)
        | Element::Distinct
        | Element::Slice { .. } => false,
    })
}

fn path_reads_all(path: &Path, found: &mut BTreeSet<u32>) -> bool {
    match path {
        Path::Predicate(predicate) => {
            found.insert(predicate.0);
            false
        }
        Path::Inverse(inner) | Path::OneOrMore(inner) => path_reads_all(inner, found),
        Path::Sequence(parts) | Path::Alternative(parts) => {
            parts.iter().any(|part| path_reads_all(part, found))
        }
        // Every vertex of the graph is connected with itself.
        Path::ZeroOrMore(_) | Path::ZeroOrOne(_) | Path::Negated { .. } => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use crate::testing;

    fn read(text: &str) -> Result<Question, QueryError> {
        let database = testing::empty(&Options::default());
        Question::read(database.shared(), &Request::new(text))
    }

    #[test]
    fn what_changes_by_itself_is_refused_with_its_place() {
        for (text, word, line, column) in [
            (
                "SELECT ?x {\n ?x <p:p> ?y FILTER(?y < RAND()) }",
                "RAND",
                2,
                26,
            ),
            ("SELECT (uuid() AS ?u) { ?x <p:p> 1 }", "UUID", 1, 9),
            ("SELECT * { BIND(STRUUID() AS ?u) }", "STRUUID", 1, 17),
            (
                "SELECT * { ?x <p:p> ?y BIND(BNODE() AS ?b) }",
                "BNODE",
                1,
                29,
            ),
            (
                "SELECT * { ?s <p:p> ?o OPTIONAL { ?o <p:q> ?t FILTER(?t < NOW()) } }",
                "NOW",
                1,
                59,
            ),
            ("SELECT ?s { ?s <p:p> ?o } ORDER BY RAND()", "RAND", 1, 36),
            ("SELECT (MAX(RAND()) AS ?m) { ?s <p:p> ?o }", "RAND", 1, 13),
            (
                "ASK { ?s <p:p> ?o FILTER NOT EXISTS { ?o <p:p> ?t FILTER(?t < NOW()) } }",
                "NOW",
                1,
                63,
            ),
            (
                "SELECT * { SERVICE <http://e/> { ?s ?p ?o } }",
                "SERVICE",
                1,
                12,
            ),
            ("DESCRIBE <http://e/>", "DESCRIBE", 1, 1),
        ] {
            let error = read(text).err().unwrap_or_else(|| panic!("{text}"));
            assert_eq!(error.kind, Kind::Unsupported, "{text}: {error}");
            assert!(error.message.starts_with(word), "{text}: {error}");
            assert_eq!(error.position, Some(Position { line, column }), "{text}");
        }
        assert_eq!(read("SELEC ?x {}").err().unwrap().kind, Kind::Syntax);
    }

    #[test]
    fn predicates_are_told_from_the_text_where_they_can_be() {
        let predicates = |text: &str| match read(text).unwrap().reads {
            Reads::Everything => None,
            Reads::Predicates(terms) => {
                let mut names: Vec<String> = terms.iter().map(ToString::to_string).collect();
                names.sort();
                Some(names.concat())
            }
        };
        for (text, expected) in [
            ("ASK { ?s <p:a> ?o ; <p:b> ?t }", Some("<p:a><p:b>")),
            ("ASK { ?s <p:a>/^<p:b> ?o }", Some("<p:a><p:b>")),
            ("ASK { ?s (<p:a>|<p:b>)+ ?o }", Some("<p:a><p:b>")),
            ("ASK { GRAPH ?g { ?s <p:a> ?o } }", Some("<p:a>")),
            (
                "SELECT (COUNT(*) AS ?n) { ?s <p:a> ?o MINUS { ?s <p:b> 1 } FILTER NOT EXISTS { ?s <p:c> 2 } }",
                Some("<p:a><p:b><p:c>"),
            ),
            (
                "ASK { { ?s <p:a> ?o } UNION { { SELECT ?s { ?s <p:b> 1 } } } OPTIONAL { ?s <p:c> 2 FILTER EXISTS { ?s <p:d> 1 } } }",
                Some("<p:a><p:b><p:c><p:d>"),
            ),
            ("SELECT * { VALUES ?x { 1 } }", Some("")),
            ("ASK { ?s ?p ?o }", None),
            ("ASK { ?s <p:a> ?o . ?s ?p 1 }", None),
            ("ASK { ?s <p:a>* ?o }", None),
            ("ASK { ?s <p:a>? 1 }", None),
            ("ASK { ?s !<p:a> ?o }", None),
            ("ASK { GRAPH ?g {} }", None),
        ] {
            assert_eq!(predicates(text).as_deref(), expected, "{text}");
        }
    }
}
