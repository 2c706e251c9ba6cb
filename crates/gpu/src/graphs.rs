//! The graphs of a segment's edges, as far as kernels need to know: they tell no graphs apart, so a pattern is walked over a segment of which its
//! graphs have every edge, and each neighbour once.
//!
//! That is so of most segments. A store without named graphs has all edges in the default one; a predicate that one source brings is in that
//! source's graph; and what is in several graphs is seen as one where the default graph is the merge of all, if no edge is in two of them.

use bytemuck::Pod;
use rdf::VertexId;
use std::convert::Infallible;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use store::load::workers;
use store::raw::{RawNeighbours, RawNumbers, RawSegment};
use store::{GraphScope, ViewError};

/// Where the edges of a segment are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Graphs {
    /// In this one, all of them; [`GraphScope::DEFAULT_GRAPH`] is one, too.
    One(VertexId),
    /// In several; whether some edge is in two of them.
    Several { repeats: bool },
}

/// How much of a segment's edges some graphs have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    /// None.
    None,
    /// Some, or a neighbour comes several times.
    Some,
    /// Every one, once.
    All,
}

impl Graphs {
    /// Of all edges of a store without named graphs.
    pub(crate) const DEFAULT: Graphs = Graphs::One(GraphScope::DEFAULT_GRAPH);

    /// Those of a segment, where this gives the named graphs by their codes; looked at by so many threads.
    pub(crate) fn of(
        raw: &RawSegment<'_>,
        named: impl FnOnce() -> Result<Vec<VertexId>, ViewError>,
        threads: usize,
    ) -> Result<Graphs, ViewError> {
        let Some((codes, first)) = raw.graphs.and_then(|codes| Some((codes, *codes.first()?)))
        else {
            return Ok(Graphs::DEFAULT);
        };
        if codes.iter().all(|code| *code == first) {
            // The default graph's code is none of theirs.
            let graph = named()?.get(first as usize).copied();
            return Ok(Graphs::One(graph.unwrap_or(GraphScope::DEFAULT_GRAPH)));
        }
        Ok(Graphs::Several {
            repeats: has_repeats(raw, threads),
        })
    }

    /// How much of the edges these graphs have.
    pub(crate) fn share_of(self, scope: GraphScope<'_>) -> Share {
        let has = |graph: VertexId| match scope {
            GraphScope::Default => graph == GraphScope::DEFAULT_GRAPH,
            GraphScope::Named(named) => graph == named,
            GraphScope::Merge(graphs) => graphs.contains(&graph),
            GraphScope::Union => true,
            // Each edge comes with its graph.
            GraphScope::EachNamed | GraphScope::EachOf(_) => false,
        };
        match (self, scope) {
            (_, GraphScope::EachNamed | GraphScope::EachOf(_)) => Share::Some,
            (Graphs::One(graph), _) if has(graph) => Share::All,
            (Graphs::One(_), _) => Share::None,
            (Graphs::Several { repeats: false }, GraphScope::Union) => Share::All,
            (Graphs::Several { .. }, _) => Share::Some,
        }
    }
}

/// Keys whose rows a thread looks at before it takes others.
const KEYS: u64 = 1 << 16;

/// Whether some key has a neighbour in two graphs: rows of a key ascend, so they stand beside each other.
fn has_repeats(raw: &RawSegment<'_>, threads: usize) -> bool {
    let Some(offsets) = &raw.offsets else {
        return false;
    };
    match raw.neighbours {
        RawNeighbours::Codes { codes, .. } => {
            stand_together(codes, offsets, raw.index.keys, threads)
        }
        RawNeighbours::Ids(ids) => stand_together(ids, offsets, raw.index.keys, threads),
    }
}

fn stand_together<T: Pod + PartialEq + Sync>(
    rows: &[T],
    offsets: &RawNumbers<'_>,
    keys: u64,
    threads: usize,
) -> bool {
    let found = AtomicBool::new(false);
    let own = |key: u64| -> Range<usize> {
        let at = |key: u64| offsets.get(key).map_or(rows.len(), |row| row as usize);
        at(key)..at(key + 1)
    };
    let repeats = |key: u64| rows[own(key)].windows(2).any(|two| two[0] == two[1]);
    let looked: Result<(), Infallible> =
        workers::for_each(threads, keys.div_ceil(KEYS) as usize, |part| {
            let first = part as u64 * KEYS;
            let mut part = first..keys.min(first + KEYS);
            if !found.load(Ordering::Relaxed) && part.any(repeats) {
                found.store(true, Ordering::Relaxed);
            }
            Ok(())
        });
    let Ok(()) = looked;
    found.into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_every_edge_once_has_all() {
        use GraphScope::{Default, EachNamed, Merge, Named, Union};
        let [g, h] = [3, 5].map(VertexId::from_bits);
        let default = GraphScope::DEFAULT_GRAPH;
        let of = |graphs: Graphs| {
            let scopes = [Default, Named(g), Named(h), Union, EachNamed];
            scopes.map(|scope| graphs.share_of(scope))
        };
        let (none, some, all) = (Share::None, Share::Some, Share::All);
        assert_eq!(of(Graphs::DEFAULT), [all, none, none, all, some]);
        assert_eq!(of(Graphs::One(g)), [none, all, none, all, some]);
        let once = Graphs::Several { repeats: false };
        assert_eq!(of(once), [some, some, some, all, some]);
        let twice = Graphs::Several { repeats: true };
        assert_eq!(of(twice), [some; 5]);
        for (graph, expected) in [(g, all), (h, none), (default, all)] {
            let merge = [g, default];
            assert_eq!(Graphs::One(graph).share_of(Merge(&merge)), expected);
        }
        assert_eq!(once.share_of(Merge(&[g, h])), some);
    }

    #[test]
    fn neighbours_repeat_within_a_key_alone() {
        // Lists of 3, 1 and 2; equal ones beside each other of two keys are none of one.
        let offsets = RawNumbers::U16(&[0, 3, 4, 6]);
        let of = |rows: &[u32]| stand_together(rows, &offsets, 3, 2);
        assert!(!of(&[1, 2, 3, 3, 3, 4]));
        assert!(of(&[1, 2, 2, 3, 3, 4]));
        assert!(of(&[1, 2, 3, 3, 4, 4]));
    }
}
