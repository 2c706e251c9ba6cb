//! Plans by the contract of [`query::plan`], row after row over a few quads: too simple to be wrong.
//!
//! The one interpreter of plans. The planner is checked with it (its plans mean what the algebra says),
//! and so is the engine (it walks any plan as this does). What a plan means is therefore said once in
//! code, beside the words of its documentation. Every look-up tries every quad, so worlds are small.
//!
//! ```text
//! mod (a step) ── patterns: edges and paths of a scope
//!              ├─ tables:   steps that look at rows together
//!              ├─ blocks:   steps that hold steps
//!              └─ value:    expressions, aggregates, pairs of a path
//! ```

mod blocks;
mod patterns;
mod tables;
mod value;

use query::plan::{Action, ConstantId, DatasetClause, Node, Slot, Source, Step};
use rdf::VertexId;
use std::collections::{BTreeMap, BTreeSet};

/// A row: the value of each bound column. A column that is not there is unbound.
pub type Row = BTreeMap<Slot, VertexId>;

/// Subject, predicate, object, and the graph: `None` is the default graph.
pub type Quad = (VertexId, VertexId, VertexId, Option<VertexId>);

/// Subject, predicate, object.
pub type Triple = (VertexId, VertexId, VertexId);

/// What a look-up from an unbound column is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unbound {
    /// A mistake of the plan: it panics. Plans of the planner look up bound columns only.
    Mistake,
    /// No edge is found. The engine promises this for any plan.
    FindsNothing,
}

/// The characters of a string; `None` for other terms.
pub type Strings<'a> = dyn Fn(VertexId) -> Option<String> + 'a;

/// A small graph for each source, and what a plan's constants are in them.
pub struct World<'a> {
    /// All quads of each source, the store's first.
    pub quads: Vec<BTreeSet<Quad>>,
    /// The dataset clause of the plan, which is of the store.
    pub dataset: DatasetClause,
    /// The ids of the plan's constants. One that the graph lacks has an id that no quad holds.
    pub constants: Vec<VertexId>,
    /// The text of strings, for their order.
    pub strings: &'a Strings<'a>,
    /// What a look-up from an unbound column is.
    pub unbound: Unbound,
}

impl World<'_> {
    /// The last table of steps that begin with these rows.
    ///
    /// # Panics
    ///
    /// If the steps break the contract of plans, or hold an action or an expression that neither the
    /// random texts nor the random plans have.
    pub fn walk(&self, steps: &[Step], begins: Vec<Row>) -> Vec<Row> {
        let mut table = begins;
        for step in steps {
            table = self.action(&step.action, table);
            for row in &mut table {
                row.retain(|slot, _| step.keep.contains(slot));
            }
        }
        table
    }

    fn action(&self, action: &Action, table: Vec<Row>) -> Vec<Row> {
        match action {
            Action::Expand { .. }
            | Action::Intersect { .. }
            | Action::ExpandKeys { .. }
            | Action::ExpandPredicates { .. }
            | Action::AllPredicates { .. }
            | Action::AllGraphs { .. }
            | Action::Check { .. }
            | Action::PathSeed { .. }
            | Action::PathExpand { .. }
            | Action::PathCheck { .. } => {
                let rows = table.iter();
                rows.flat_map(|row| self.pattern(action, row)).collect()
            }
            Action::Sizes { .. } | Action::Degree { .. } => {
                let rows = table.iter();
                rows.filter_map(|row| self.counted(action, row)).collect()
            }
            Action::Nested { .. } => self.nested(action, &table),
            Action::Probe {
                table: block,
                keys,
                exports,
            } => self.probe(block, keys, exports, &table),
            of_rows => self.of_rows(of_rows, table),
        }
    }

    /// The id of a constant.
    pub fn constant(&self, id: ConstantId) -> VertexId {
        self.constants[id.0 as usize]
    }

    /// The value of a constant or of a column, if it is bound.
    pub fn value(&self, node: Node, row: &Row) -> Option<VertexId> {
        match node {
            Node::Slot(slot) => row.get(&slot).copied(),
            Node::Constant(id) => Some(self.constant(id)),
        }
    }

    /// The value of what is looked up.
    fn known(&self, node: Node, row: &Row) -> Option<VertexId> {
        let value = self.value(node, row);
        let may_be_unbound = self.unbound == Unbound::FindsNothing;
        assert!(value.is_some() || may_be_unbound, "{node:?} is bound");
        value
    }

    /// The quads of a source.
    pub fn quads(&self, source: Source) -> &BTreeSet<Quad> {
        &self.quads[usize::from(source.0)]
    }

    /// The clause that a source's graphs are chosen by: it is the store's alone.
    fn clause(&self, source: Source) -> Option<&(Vec<ConstantId>, Vec<ConstantId>)> {
        self.dataset.graphs.as_ref().filter(|_| source.is_store())
    }

    /// The named graphs of the dataset; without a clause, and of another source than the store, those of the source.
    pub fn graphs(&self, source: Source) -> BTreeSet<VertexId> {
        match self.clause(source) {
            Some((_, named)) => named.iter().map(|&graph| self.constant(graph)).collect(),
            None => self
                .quads(source)
                .iter()
                .filter_map(|quad| quad.3)
                .collect(),
        }
    }

    /// Whether the quads of a graph are in the default graph of a source: of another one than the store, all are.
    pub fn is_in_default(&self, source: Source, graph: Option<VertexId>) -> bool {
        match (self.clause(source), graph) {
            (None, _) if self.dataset.union_default || !source.is_store() => true,
            (None, graph) => graph.is_none(),
            (Some(_), None) => false,
            (Some((merged, _)), Some(graph)) => {
                merged.iter().any(|&one| self.constant(one) == graph)
            }
        }
    }
}

/// Two compatible rows as one.
pub fn merge(a: &Row, b: &Row) -> Option<Row> {
    let mut row = a.clone();
    for (slot, value) in b {
        if *row.entry(*slot).or_insert(*value) != *value {
            return None;
        }
    }
    Some(row)
}

/// Some columns of a row.
fn cut(row: Row, columns: &[Slot]) -> Row {
    row.into_iter()
        .filter(|(slot, _)| columns.contains(slot))
        .collect()
}

/// A row with one more column.
fn with(row: &Row, slot: Slot, value: VertexId) -> Row {
    let mut row = row.clone();
    assert!(row.insert(slot, value).is_none(), "{slot:?} is new");
    row
}
