//! What the planner knows about a graph: a plain value, filled by the engine from what the store
//! exports about itself. `query` never meets `store`.
//!
//! The main statistic are the characteristic sets (signatures): for each set of predicates and
//! types that some vertex has, how many vertices have exactly it. They give the fan-out of a
//! predicate by the type of its source, and prove emptiness: a star that no set covers has no
//! answer.
//!
//! They are the store's. Another source has [`SourceStatistics`]: sizes alone, of which nothing is proven.

use rdf::{Direction, VertexId};

/// Statistics of one store at one snapshot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Distinct quads.
    pub quads: u64,
    /// Per predicate, ascending by vertex.
    pub predicates: Vec<PredicateStatistics>,
    /// Members of each class (objects of `rdf:type`), ascending by vertex.
    pub classes: Vec<(VertexId, u64)>,
    /// Characteristic sets of subjects: out-predicates and types.
    pub out_sets: Vec<CharacteristicSet>,
    /// Characteristic sets of objects: in-predicates, and (the same vertex's) types.
    pub in_sets: Vec<CharacteristicSet>,
    /// Number of named graphs.
    pub named_graphs: u64,
    /// The vertex of `rdf:type`, where the store has it as a predicate.
    pub type_vertex: Option<VertexId>,
    /// The snapshot of which the sets are complete, in both directions and with all types: each vertex
    /// has at most what some set has, so a star that no set covers has no answer there.
    pub complete_at: Option<u64>,
}

/// What is known of one source other than the store, at one moment: for a window, what its slices count.
///
/// Nothing in it is a proof. What a window holds changes with every close, while its plan stays, and counts of several
/// slices are sums, which count what is in two of them twice. So there are no characteristic sets either: a window is
/// too short-lived for them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SourceStatistics {
    /// Quads, about.
    pub quads: u64,
    /// Per predicate, ascending by vertex. One that is not listed, or that has no edges, has few.
    pub predicates: Vec<PredicateStatistics>,
}

impl SourceStatistics {
    /// Sizes of a predicate, if it is listed. O(log predicates).
    pub(crate) fn predicate(&self, vertex: VertexId) -> Option<&PredicateStatistics> {
        let predicates = &self.predicates;
        let at = predicates.binary_search_by_key(&vertex, |it| it.vertex);
        at.ok().map(|at| &predicates[at])
    }
}

/// One predicate's sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct PredicateStatistics {
    /// The predicate as a vertex.
    pub vertex: VertexId,
    /// Distinct subjects.
    pub subjects: u64,
    /// Distinct objects.
    pub objects: u64,
    /// Edges over all graphs.
    pub edges: u64,
}

/// Sizes of a table that is given from outside of a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableStatistics {
    /// Its rows.
    pub rows: u64,
    /// Distinct terms of each of its columns.
    pub distinct: Vec<u64>,
}

/// One characteristic set.
#[derive(Clone, Debug, PartialEq)]
pub struct CharacteristicSet {
    /// Its predicates as vertices, ascending, each with the edges that its vertices have of it.
    pub predicates: Vec<(VertexId, u64)>,
    /// Its types, ascending; empty where types are not recorded.
    pub types: Vec<VertexId>,
    /// Vertices that have exactly this set.
    pub vertices: u64,
}

/// A question that the planner has about a constant: how many neighbours has it? Asked for every
/// pattern with a constant end before planning, answered by the engine in one batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DegreeQuestion {
    /// The constant end.
    pub vertex: VertexId,
    /// The predicate; `None` asks for the sum over all predicates (or a bound on it).
    pub predicate: Option<VertexId>,
    /// [`Direction::Out`]: the constant is the subject.
    pub direction: Direction,
}
