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
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

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

impl Statistics {
    /// Those of a graph whose parts have these: every vertex's out-edges are in one part, and its in-edges are, those of
    /// `rdf:type` apart, which are where the members are. So sizes add up, and sets of equal predicates and types; only
    /// classes have to be counted anew. Nothing is proven by the sum, because no part knows of a class both its members and
    /// what else points at it. Keeps the `sets_max` sets with the most vertices, a direction. O(sets log sets).
    pub fn of_parts(parts: &[Statistics], sets_max: usize) -> Statistics {
        let mut predicates: BTreeMap<VertexId, PredicateStatistics> = BTreeMap::new();
        let mut classes: BTreeMap<VertexId, u64> = BTreeMap::new();
        let type_vertex = parts.iter().find_map(|part| part.type_vertex);
        for part in parts {
            for sizes in &part.predicates {
                let sum = predicates
                    .entry(sizes.vertex)
                    .or_insert_with(|| PredicateStatistics {
                        vertex: sizes.vertex,
                        subjects: 0,
                        objects: 0,
                        edges: 0,
                    });
                sum.subjects += sizes.subjects;
                sum.objects += sizes.objects;
                sum.edges += sizes.edges;
            }
            for (class, members) in &part.classes {
                *classes.entry(*class).or_default() += members;
            }
        }
        if let Some(sizes) = type_vertex.and_then(|vertex| predicates.get_mut(&vertex))
            && !classes.is_empty()
        {
            sizes.objects = classes.len() as u64;
        }
        Statistics {
            quads: parts.iter().map(|part| part.quads).sum(),
            predicates: predicates.into_values().collect(),
            classes: classes.into_iter().collect(),
            out_sets: sets_of(parts.iter().flat_map(|part| &part.out_sets), sets_max),
            in_sets: sets_of(parts.iter().flat_map(|part| &part.in_sets), sets_max),
            named_graphs: parts
                .iter()
                .map(|part| part.named_graphs)
                .max()
                .unwrap_or(0),
            type_vertex,
            complete_at: None,
        }
    }
}

/// Sets with those of equal predicates and types put together, the largest first to go last.
fn sets_of<'s>(
    sets: impl Iterator<Item = &'s CharacteristicSet>,
    sets_max: usize,
) -> Vec<CharacteristicSet> {
    let mut sums: BTreeMap<(Vec<VertexId>, Vec<VertexId>), CharacteristicSet> = BTreeMap::new();
    for set in sets {
        let name = set.predicates.iter().map(|predicate| predicate.0).collect();
        match sums.entry((name, set.types.clone())) {
            Entry::Vacant(entry) => {
                entry.insert(set.clone());
            }
            Entry::Occupied(mut entry) => {
                let sum = entry.get_mut();
                sum.vertices += set.vertices;
                for (sum, more) in sum.predicates.iter_mut().zip(&set.predicates) {
                    sum.1 += more.1;
                }
            }
        }
    }
    let mut sets: Vec<CharacteristicSet> = sums.into_values().collect();
    if sets.len() > sets_max {
        sets.sort_by_key(|set| std::cmp::Reverse(set.vertices));
        sets.truncate(sets_max);
    }
    sets
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

#[cfg(test)]
mod tests {
    use super::*;
    use rdf::Tag;

    fn iri(ordinal: u64) -> VertexId {
        VertexId::new(Tag::Iri, ordinal)
    }

    fn part(edges: u64, members: u64, set: &[u64]) -> Statistics {
        let sizes = |vertex| PredicateStatistics {
            vertex: iri(vertex),
            subjects: edges,
            objects: 1,
            edges,
        };
        Statistics {
            quads: edges,
            predicates: vec![sizes(1), sizes(9)],
            classes: vec![(iri(5), members)],
            out_sets: vec![CharacteristicSet {
                predicates: set.iter().map(|vertex| (iri(*vertex), edges)).collect(),
                types: vec![iri(5)],
                vertices: edges,
            }],
            type_vertex: Some(iri(9)),
            complete_at: Some(3),
            ..Statistics::default()
        }
    }

    #[test]
    fn parts_add_up_and_prove_nothing() {
        let sum = Statistics::of_parts(
            &[part(2, 4, &[1]), part(3, 5, &[1]), part(7, 0, &[1, 9])],
            8,
        );
        assert_eq!((sum.quads, sum.complete_at), (12, None));
        assert_eq!(sum.classes, [(iri(5), 9)]);
        assert_eq!(
            (sum.predicates[0].edges, sum.predicates[0].objects),
            (12, 3)
        );
        assert_eq!(
            sum.predicates[1].objects, 1,
            "three parts have members of one class"
        );
        assert_eq!(sum.out_sets.len(), 2);
        assert_eq!(
            (sum.out_sets[0].vertices, sum.out_sets[0].predicates[0].1),
            (5, 5)
        );
        let few = Statistics::of_parts(&[part(2, 4, &[1]), part(7, 0, &[1, 9])], 1);
        assert_eq!(few.out_sets[0].vertices, 7);
    }
}
