//! Property paths: search on the graph, not joins of tables (SPARQL 1.1 Query section 18.4).
//!
//! | step | policy | does |
//! |---|---|---|
//! | `PathSeed` | [`seed`] | merges the key sets of the first edges, or of all vertices |
//! | `PathExpand` | [`expand`] | one breadth-first search for each start of a chunk; over parts of a graph one from [all of them ahead](ahead) |
//! | `PathCheck` | [`check`] | one search for each start of a chunk until the other ends are found, or one from either end |
//! | both, of a negated set at the top | [`edges`] | one row for each edge that is not excluded |
//!
//! What a closure connects is a set. A negated set at the top is a bag, one row for each triple, as
//! section 18.4 evaluates it by its triples: two predicates between two vertices are two rows.
//!
//! **No length.** A path that may have no length connects every term with itself: a start that the
//! graph does not know too, if the pattern has one ("ZeroLengthPath"), and for two variables the
//! subjects and objects of the graph. Where the dataset does not have the graph at all, nothing is
//! connected; an empty graph that it has is [`None`] among [`Edges`].

mod ahead;
pub(crate) mod automaton;
pub(crate) mod check;
pub(crate) mod edges;
pub(crate) mod expand;
mod fetch;
mod search;
pub(crate) mod seed;
pub(crate) mod visited;

use super::PatternOperand;
use crate::chunk::Chunk;
use crate::scope::{Dataset, FixedScope};
use automaton::Automaton;
use query::plan::Slot;
use rdf::VertexId;
use std::ops::Range;

/// The graph that a path runs in; `None`: one without edges.
pub(crate) type Edges = Option<FixedScope>;

/// The graph of each row.
#[derive(Debug)]
pub(crate) enum PathScope {
    /// The same for all rows.
    Fixed(Edges),
    /// The one that the column holds.
    PerRow(Slot, NamedGraphs),
}

/// The named graphs of the dataset.
#[derive(Debug)]
pub(crate) enum NamedGraphs {
    /// It does not matter which there are: a path without an edge connects nothing.
    Any,
    /// Those of the dataset clause.
    Declared,
    /// Those of the store, ascending.
    Stored(Vec<VertexId>),
}

impl NamedGraphs {
    /// The edges of a named graph; `None` where the dataset does not have it.
    pub(crate) fn edges(&self, dataset: &Dataset, graph: VertexId) -> Option<Edges> {
        let has = match self {
            NamedGraphs::Any => true,
            NamedGraphs::Declared => dataset.declared()?.binary_search(&graph).is_ok(),
            NamedGraphs::Stored(graphs) => graphs.binary_search(&graph).is_ok(),
        };
        has.then(|| dataset.named(graph))
    }
}

/// Rows of a chunk that begin a search at one vertex of one graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    pub(crate) edges: Edges,
    pub(crate) start: VertexId,
    /// Places in [`Jobs::order`].
    pub(crate) rows: Range<u64>,
}

/// The rows of a chunk by graph and start, so that none is searched twice.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    pub(crate) list: Vec<Job>,
    /// Row numbers; empty where all rows are one job's, in order.
    order: Vec<u32>,
}

impl Jobs {
    /// Sorts the rows of a chunk. A start that is unbound, or in no graph, is left out.
    pub(crate) fn plan(
        &mut self,
        input: &Chunk,
        start: PatternOperand,
        scope: &PathScope,
        dataset: &Dataset,
    ) {
        self.list.clear();
        self.order.clear();
        if let (PatternOperand::Constant(start), PathScope::Fixed(edges)) = (start, scope) {
            if !start.is_unbound() {
                self.list.push(Job {
                    edges: *edges,
                    start,
                    rows: 0..input.rows(),
                });
            }
            return;
        }
        let key = |row: u32| {
            let start = match start {
                PatternOperand::Constant(start) => start,
                PatternOperand::Slot(slot) => cell(input, slot, row),
            };
            let graph = match scope {
                PathScope::Fixed(_) => VertexId::UNBOUND,
                PathScope::PerRow(slot, _) => cell(input, *slot, row),
            };
            (graph, start)
        };
        self.order.extend(0..input.len() as u32);
        self.order.sort_unstable_by_key(|&row| (key(row), row));
        let mut begin = 0;
        while begin < self.order.len() {
            let (graph, start) = key(self.order[begin]);
            let same = |&row: &u32| key(row) == (graph, start);
            let count = self.order[begin..]
                .iter()
                .take_while(|row| same(row))
                .count();
            let edges = match scope {
                PathScope::Fixed(edges) => Some(*edges),
                PathScope::PerRow(_, named) => named.edges(dataset, graph),
            };
            if let Some(edges) = edges.filter(|_| !start.is_unbound()) {
                let rows = begin as u64..(begin + count) as u64;
                self.list.push(Job { edges, start, rows });
            }
            begin += count;
        }
    }

    /// The row number at a place.
    pub(crate) fn row(&self, place: u64) -> u64 {
        let row = self.order.get(place as usize);
        row.map_or(place, |&row| u64::from(row))
    }
}

/// The cell of a column that may be unbound throughout.
fn cell(input: &Chunk, slot: Slot, row: u32) -> VertexId {
    let column = input.column(slot);
    column.map_or(VertexId::UNBOUND, |cells| cells[row as usize])
}
