//! Edges on their way from statements to segments: how they are packed, spread and sorted.
//!
//! | record | holds | used for |
//! |---|---|---|
//! | [`Pair`], 8 bytes | key, neighbour as codes | one predicate, all in the default graph |
//! | [`Quad`], 16 bytes | predicate, key, neighbour, graph as codes | several predicates, or graphs |
//! | [`Wide`], 32 bytes | the same as ids | where codes do not fit 4 bytes |
//!
//! Edges are spread over *bins*, ascending spans of predicates: one large predicate, or many
//! small ones together, so that neither 1 nor 100,000 predicates change the cost. A bin is read
//! once for each direction (subjects as keys, then objects), sorted and rid of repetitions.
//!
//! Invariant: records compare as (predicate, key, neighbour, graph) of ids do.

use super::radix::SortRecord;
use std::ops::Range;

/// A bin is at least this share of all edges (one in ...), if there are that many predicates.
const BINS_WANTED: u64 = 128;
/// Edges that are not worth a bin of their own.
const BIN_ROWS_MIN: u64 = 1 << 14;

/// An edge in codes, from the side of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodedEdge {
    /// The predicate's number.
    pub predicate: u32,
    /// Code of the key.
    pub key: u64,
    /// Code of the neighbour.
    pub neighbour: u64,
    /// Code of the graph.
    pub graph: u64,
}

/// A packed edge.
pub trait EdgeRecord: SortRecord {
    /// Packs an edge.
    fn pack(edge: CodedEdge) -> Self;
    /// The edge of a bin; what the record leaves out is taken from `bin`.
    fn edge(self, bin: &BinConstants) -> CodedEdge;
    /// The edge from its other side.
    fn reversed(self) -> Self;
}

/// What all edges of a bin share, where records leave it out.
#[derive(Clone, Copy, Debug)]
pub struct BinConstants {
    /// The predicate.
    pub predicate: u32,
    /// Code of the default graph.
    pub default_graph: u64,
}

/// Key and neighbour.
pub type Pair = [u64; 1];
/// Predicate and key, neighbour and graph.
pub type Quad = [u64; 2];
/// Predicate, key, neighbour, graph.
pub type Wide = [u64; 4];

const LOW: u64 = u32::MAX as u64;

impl EdgeRecord for Pair {
    #[inline]
    fn pack(edge: CodedEdge) -> Pair {
        [edge.key << 32 | edge.neighbour]
    }

    #[inline]
    fn edge(self, bin: &BinConstants) -> CodedEdge {
        let BinConstants {
            predicate,
            default_graph,
        } = *bin;
        CodedEdge {
            predicate,
            key: self[0] >> 32,
            neighbour: self[0] & LOW,
            graph: default_graph,
        }
    }

    #[inline]
    fn reversed(self) -> Pair {
        [self[0].rotate_left(32)]
    }
}

impl EdgeRecord for Quad {
    #[inline]
    fn pack(edge: CodedEdge) -> Quad {
        [
            u64::from(edge.predicate) << 32 | edge.key,
            edge.neighbour << 32 | edge.graph,
        ]
    }

    #[inline]
    fn edge(self, _bin: &BinConstants) -> CodedEdge {
        CodedEdge {
            predicate: (self[0] >> 32) as u32,
            key: self[0] & LOW,
            neighbour: self[1] >> 32,
            graph: self[1] & LOW,
        }
    }

    #[inline]
    fn reversed(self) -> Quad {
        [
            self[0] & !LOW | self[1] >> 32,
            self[0] << 32 | self[1] & LOW,
        ]
    }
}

impl EdgeRecord for Wide {
    #[inline]
    fn pack(edge: CodedEdge) -> Wide {
        [
            u64::from(edge.predicate),
            edge.key,
            edge.neighbour,
            edge.graph,
        ]
    }

    #[inline]
    fn edge(self, _bin: &BinConstants) -> CodedEdge {
        CodedEdge {
            predicate: self[0] as u32,
            key: self[1],
            neighbour: self[2],
            graph: self[3],
        }
    }

    #[inline]
    fn reversed(self) -> Wide {
        [self[0], self[2], self[1], self[3]]
    }
}

/// Consecutive predicates whose edges are sorted together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bin {
    /// Numbers of the predicates.
    pub predicates: Range<u32>,
    /// Number of edges, repetitions included.
    pub rows: u64,
}

impl Bin {
    /// Whether all edges have the same predicate.
    pub fn is_single(&self) -> bool {
        self.predicates.len() == 1
    }
}

/// The bins for predicates with these numbers of edges: ascending, together all predicates that
/// have any edge.
pub fn bins(rows: &[u64]) -> Vec<Bin> {
    let share = rows.iter().sum::<u64>() / BINS_WANTED;
    let wanted = share.max(BIN_ROWS_MIN);
    let mut bins: Vec<Bin> = Vec::new();
    let mut open = false;
    for (predicate, &rows) in rows.iter().enumerate().filter(|(_, rows)| **rows > 0) {
        let predicate = predicate as u32;
        let alone = rows >= wanted;
        if let Some(bin) = bins
            .last_mut()
            .filter(|bin| open && !alone && bin.rows + rows <= wanted)
        {
            bin.predicates.end = predicate + 1;
            bin.rows += rows;
            continue;
        }
        bins.push(Bin {
            predicates: predicate..predicate + 1,
            rows,
        });
        open = !alone;
    }
    assert_eq!(
        bins.iter().map(|bin| bin.rows).sum::<u64>(),
        rows.iter().sum::<u64>(),
        "each edge is in a bin"
    );
    assert!(
        bins.is_sorted_by(|one, next| one.predicates.end <= next.predicates.start),
        "bins ascend, and no predicate is in two"
    );
    bins
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<R: EdgeRecord + std::fmt::Debug>(edge: CodedEdge) {
        let constants = BinConstants {
            predicate: edge.predicate,
            default_graph: edge.graph,
        };
        let record = R::pack(edge);
        let reversed = CodedEdge {
            key: edge.neighbour,
            neighbour: edge.key,
            ..edge
        };
        assert_eq!(record.edge(&constants), edge);
        assert_eq!(record.reversed().edge(&constants), reversed);
        assert_eq!(record.reversed().reversed(), record);
        assert_eq!(record.reversed(), R::pack(reversed));
    }

    proptest! {
        #[test]
        fn edges_come_back(predicate: u32, key: u32, neighbour: u32, graph: u32) {
            let [key, neighbour, graph] = [key, neighbour, graph].map(u64::from);
            let edge = CodedEdge { predicate, key, neighbour, graph };
            check::<Pair>(edge);
            check::<Quad>(edge);
            check::<Wide>(CodedEdge { key: key << 28, ..edge });
        }

        #[test]
        fn bins_cover_all_predicates_in_order(
            rows in proptest::collection::vec(prop_oneof![Just(0), 1..100_u64, 1..10_000_000_u64], 0..2000),
        ) {
            let bins = bins(&rows);
            let mut end = 0;
            for bin in &bins {
                let Range { start, end: bin_end } = bin.predicates;
                prop_assert!(start >= end && bin_end > start);
                prop_assert!(rows[end as usize..start as usize].iter().all(|&rows| rows == 0));
                prop_assert_eq!(rows[start as usize..bin_end as usize].iter().sum::<u64>(), bin.rows);
                end = bin_end;
            }
            prop_assert!(rows[end as usize..].iter().all(|&rows| rows == 0));
            prop_assert!(bins.len() as u64 <= 2 * BINS_WANTED + 2);
        }
    }
}
