//! What the store says of itself, in the planner's words.
//!
//! `store` and `query` never meet, so this is where one's statistics become the other's: a copy, O(predicates,
//! classes, characteristic sets). Sets that are not all there prove nothing, so an incomplete list is left out. A part's list of
//! in-sets lacks what points at classes, and nothing else: it is kept, because the sum of all parts proves nothing anyway, and
//! without it a planner over parts would expect no row of any expansion towards subjects.

use query::statistics::{CharacteristicSet, PredicateStatistics, Statistics};
use store::delta::Version;
use store::statistics::{SetSizes, SnapshotStatistics};
use store::view::ViewError;

/// Characteristic sets that the planner is given, a direction: graphs without structure have nearly
/// one for each vertex, and planning must stay in microseconds.
const SETS_MAX: usize = 4096;

/// What the planner is told of a version.
pub(crate) fn plan_statistics(version: &Version) -> Result<Statistics, ViewError> {
    let statistics = version.statistics(SETS_MAX)?;
    let (out, into) = (&statistics.out_sets, &statistics.in_sets);
    let are_complete = out.is_complete && into.is_complete && out.has_types == into.has_types;
    let is_part = version.base().part_of().is_some();
    let mut statistics = planner_statistics(statistics, is_part);
    statistics.complete_at = are_complete.then_some(version.number());
    let mut predicates = statistics.predicates.iter();
    assert!(
        predicates.all(|sizes| sizes.vertex.is_stored()),
        "a stored graph has no term that only windows hold"
    );
    Ok(statistics)
}

fn planner_statistics(statistics: SnapshotStatistics, is_part: bool) -> Statistics {
    let predicates = statistics
        .predicates
        .iter()
        .map(|sizes| PredicateStatistics {
            vertex: sizes.vertex,
            subjects: sizes.subjects,
            objects: sizes.objects,
            edges: sizes.edges,
        });
    Statistics {
        quads: statistics.quads,
        predicates: predicates.collect(),
        classes: statistics.classes,
        out_sets: sets(statistics.out_sets, false),
        in_sets: sets(statistics.in_sets, is_part),
        named_graphs: statistics.named_graphs,
        type_vertex: statistics.type_vertex,
        complete_at: None,
    }
}

fn sets(sizes: SetSizes, lacks_classes: bool) -> Vec<CharacteristicSet> {
    let is_whole = sizes.is_complete || lacks_classes && sizes.sets.len() < SETS_MAX;
    if !is_whole {
        return Vec::new();
    }
    let set = |size: store::statistics::SetSize| {
        let mut predicates = size.predicates;
        predicates.sort_unstable();
        CharacteristicSet {
            predicates,
            types: size.types,
            vertices: size.vertices,
        }
    };
    sizes.sets.into_iter().map(set).collect()
}
