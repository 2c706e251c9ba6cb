//! What an update reads: which quads, if they changed, could change what it does.
//!
//! It is told from the request alone, before anything is evaluated, and conservatively: a pattern reads
//! every quad that its constants and its graph allow, a path every quad of its graph. What operations
//! only write (data, templates) is not read; the turn takes care of it.
//!
//! | operation | reads |
//! |---|---|
//! | `INSERT DATA`, `DELETE DATA`, `LOAD` | nothing |
//! | `DELETE`/`INSERT` | what the patterns of `WHERE` match, `EXISTS` and sub-queries included |
//! | `CLEAR`, `DROP` | the graphs that it empties |
//! | `CREATE` | whether the graph is there |
//! | `ADD`, `COPY`, `MOVE` | the graph that it takes from; `COPY` and `MOVE` also the other one |
//!
//! Constants are kept as terms: one that the dictionary does not know when a request is evaluated may be
//! brought by a commit in between.

use super::write_set::WriteSet;
use crate::error::QueryError;
use crate::moment::Graph;
use oxrdf::{NamedNode, Term};
use query::algebra::{Element, Group, Query};
use query::plan::{ConstantId, Node};
use query::update::{Operation, Target, Transfer, Update};
use rdf::{Lexicon, VertexId};
use std::collections::HashSet;
use store::delta::IdQuad;
use store::view::{GraphScope, GraphView};

/// Patterns times quads that are compared under the turn: some 10 ms.
const COMPARED_MAX: usize = 1 << 22;

/// Which graphs a pattern is matched in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ReadGraph {
    Default,
    EachNamed,
    Named(Term),
}

/// Quads with these terms, where a term is given, in these graphs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct PatternRead {
    triple: [Option<Term>; 3],
    graph: ReadGraph,
}

/// What a request reads.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ReadSet {
    patterns: HashSet<PatternRead>,
    /// Graphs of which it matters whether they are there.
    presence: Vec<NamedNode>,
}

impl ReadSet {
    /// What an update reads.
    pub(crate) fn of_update(update: &Update) -> ReadSet {
        let mut reads = ReadSet::default();
        for operation in &update.operations {
            reads.add_operation(operation);
        }
        reads
    }

    /// Adds all quads of a graph.
    pub(crate) fn add_graph(&mut self, graph: ReadGraph) {
        self.add([None, None, None], graph);
    }

    /// Adds whether a named graph is there.
    pub(crate) fn add_presence(&mut self, graph: &NamedNode) {
        self.presence.push(graph.clone());
    }

    fn add(&mut self, triple: [Option<Term>; 3], graph: ReadGraph) {
        self.patterns.insert(PatternRead { triple, graph });
    }

    fn add_operation(&mut self, operation: &Operation) {
        match operation {
            Operation::InsertData { .. }
            | Operation::DeleteData { .. }
            | Operation::Load { .. } => {}
            Operation::Modify(modify) => {
                let mut patterns = Patterns {
                    reads: self,
                    query: &modify.query,
                };
                patterns.group(modify.query.body());
            }
            Operation::Clear { target, .. } | Operation::Drop { target, .. } => match target {
                Target::Default => self.add_graph(ReadGraph::Default),
                Target::Named => self.add_graph(ReadGraph::EachNamed),
                Target::All => {
                    self.add_graph(ReadGraph::Default);
                    self.add_graph(ReadGraph::EachNamed);
                }
                Target::Graph(graph) => self.add_graph(ReadGraph::Named(graph.clone().into())),
            },
            Operation::Create { graph, .. } => self.add_presence(graph),
            Operation::Transfer { kind, from, to, .. } => {
                self.add_graph(named(from.as_ref()));
                if *kind != Transfer::Add {
                    self.add_graph(named(to.as_ref()));
                }
            }
        }
    }

    /// Whether something that is read has changed between two versions, `before` and `now`.
    pub(crate) fn are_touched(
        &self,
        touched: &WriteSet,
        before: &Graph,
        now: &Graph,
    ) -> Result<bool, QueryError> {
        if touched.is_empty() {
            return Ok(false);
        }
        // Others wait meanwhile: evaluating again is better than comparing for long.
        let patterns = self.patterns.len() + self.presence.len();
        if patterns.saturating_mul(touched.len()) > COMPARED_MAX {
            return Ok(patterns > 0);
        }
        for pattern in &self.patterns {
            if pattern.is_touched(touched, now)? {
                return Ok(true);
            }
        }
        let there = before.snapshot.named_graphs()?;
        for graph in &self.presence {
            let is_there = id_of(now, &graph.clone().into())?
                .is_some_and(|graph| there.binary_search(&graph).is_ok());
            let pattern = PatternRead {
                triple: [None, None, None],
                graph: ReadGraph::Named(graph.clone().into()),
            };
            if !is_there && pattern.is_touched(touched, now)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl PatternRead {
    fn is_touched(&self, touched: &WriteSet, now: &Graph) -> Result<bool, QueryError> {
        let mut wanted = [None; 3];
        for (wanted, term) in wanted.iter_mut().zip(&self.triple) {
            if let Some(term) = term {
                // A term that is still unknown is in no quad.
                let Some(id) = id_of(now, term)? else {
                    return Ok(false);
                };
                *wanted = Some(id);
            }
        }
        let named = match &self.graph {
            ReadGraph::Named(graph) => match id_of(now, graph)? {
                Some(id) => Some(id),
                None => return Ok(false),
            },
            ReadGraph::Default | ReadGraph::EachNamed => None,
        };
        let is_graph = |graph: VertexId| match &self.graph {
            ReadGraph::Default => graph == GraphScope::DEFAULT_GRAPH,
            ReadGraph::EachNamed => graph != GraphScope::DEFAULT_GRAPH,
            ReadGraph::Named(_) => Some(graph) == named,
        };
        let is = |wanted: Option<VertexId>, id: VertexId| wanted.is_none_or(|wanted| wanted == id);
        let [subject, predicate, object] = wanted;
        if let Some(quads) = touched.quads() {
            return Ok(quads.iter().any(|quad: &IdQuad| {
                is(subject, quad.0)
                    && is(predicate, quad.1)
                    && is(object, quad.2)
                    && is_graph(quad.3)
            }));
        }
        let Some(mut pairs) = touched.pairs() else {
            return Ok(true);
        };
        Ok(pairs.any(|(found, graph)| is(predicate, found) && is_graph(graph)))
    }
}

fn id_of(graph: &Graph, term: &Term) -> Result<Option<VertexId>, QueryError> {
    let live = graph.dictionary.live();
    let mut ids = Vec::new();
    live.view(live.counts()).ids(&[term.as_ref()], &mut ids)?;
    Ok(ids.pop().flatten())
}

fn named(graph: Option<&NamedNode>) -> ReadGraph {
    graph.map_or(ReadGraph::Default, |graph| {
        ReadGraph::Named(graph.clone().into())
    })
}

/// Collects the patterns of one query.
struct Patterns<'p> {
    reads: &'p mut ReadSet,
    query: &'p Query,
}

impl Patterns<'_> {
    /// As deep as groups are nested, which the parser bounds.
    fn group(&mut self, group: &Group) {
        group
            .elements
            .iter()
            .for_each(|element| self.element(element));
    }

    fn element(&mut self, element: &Element) {
        match element {
            Element::Pattern(pattern) => {
                let triple = [pattern.subject, pattern.predicate, pattern.object];
                self.pattern(&triple.map(|node| self.term(node)), pattern.graph);
            }
            Element::Path(path) => self.pattern(&[None, None, None], path.graph),
            Element::Graph(node, _) => self.pattern(&[None, None, None], Some(*node)),
            Element::Join(group)
            | Element::Minus(group)
            | Element::Lateral(group)
            | Element::Exists { group, .. }
            | Element::Mark { group, .. } => self.group(group),
            Element::Union(groups) => groups.iter().for_each(|group| self.group(group)),
            Element::Optional { group, condition } => {
                self.group(group);
                for element in condition {
                    self.element(element);
                }
            }
            Element::TripleTerm { .. }
            | Element::Values { .. }
            | Element::Given { .. }
            | Element::Service(_)
            | Element::Filter(_)
            | Element::Bind { .. }
            | Element::Aggregate { .. }
            | Element::Order(_)
            | Element::Project(_)
            | Element::Distinct
            | Element::Slice { .. } => {}
        }
    }

    fn pattern(&mut self, triple: &[Option<Term>; 3], graph: Option<Node>) {
        let constant = |id: &ConstantId| self.query.constants()[id.0 as usize].clone();
        let graphs: Vec<ReadGraph> = match (graph, &self.query.dataset().graphs) {
            (None, None) if self.query.dataset().union_default => {
                vec![ReadGraph::Default, ReadGraph::EachNamed]
            }
            (None, None) => vec![ReadGraph::Default],
            (None, Some((merged, _))) => {
                let each = merged.iter().map(|id| ReadGraph::Named(constant(id)));
                each.collect()
            }
            (Some(Node::Slot(_)), _) => vec![ReadGraph::EachNamed],
            (Some(Node::Constant(id)), _) => vec![ReadGraph::Named(constant(&id))],
        };
        for graph in graphs {
            self.reads.add(triple.clone(), graph);
        }
    }

    fn term(&self, node: Node) -> Option<Term> {
        match node {
            Node::Slot(_) => None,
            Node::Constant(id) => Some(self.query.constants()[id.0 as usize].clone()),
        }
    }
}

/// Whether a request asks other endpoints, which takes as long as they like.
pub(crate) fn asks_others(group: &Group) -> bool {
    group.elements.iter().any(|element| match element {
        Element::Service(_) => true,
        Element::Join(group)
        | Element::Minus(group)
        | Element::Lateral(group)
        | Element::Exists { group, .. }
        | Element::Mark { group, .. }
        | Element::Optional { group, .. } => asks_others(group),
        Element::Union(groups) => groups.iter().any(asks_others),
        _ => false,
    })
}
