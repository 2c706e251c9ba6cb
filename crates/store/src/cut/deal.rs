//! How the slots of a placement are dealt out, so that parts are even.
//!
//! Dealt out in turn, slots are even where vertices are alike. They are not: one literal may be everybody's telephone number,
//! and the first thousand literals of a graph the names that all of it shares. A list lies with its key, so the node that has
//! such a block has more than the others, however small blocks are. So slots are weighed first, and the heaviest ones dealt
//! out first, each to the node that has least: what has very many edges lies with a node that has little else.
//!
//! A slot weighs the half quads that its vertices have, and a little for what is placed by hash (the ids of terms), which all
//! slots have alike: else a slot without edges would weigh nothing, and one node could get all of them.
//!
//! Blocks are as large as they may be, because links within a block stay on one node; but a graph that is small has smaller
//! ones, so that each node gets some.
//!
//! Cost: a look at the keys of all segments, none of the rows. Deterministic.

use super::CutError;
use crate::snapshot::Snapshot;
use crate::view::SegmentKey;
use rdf::placement::{Placement, PlacementError};
use rdf::{Direction, PredicateId};

/// Blocks of IRIs that a node should have at least.
const BLOCKS_MIN: u64 = 16;
/// What is placed by hash is worth this share of all edges.
const HASHED_SHARE: u64 = 512;
/// Keys looked at together.
const BATCH_KEYS: u64 = 1 << 12;

/// How a graph is dealt out to nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deal {
    /// As this placement says.
    By(Placement),
    /// So that each node has as much as the others.
    Evenly {
        /// Nodes.
        nodes: u16,
        /// Ids of one kind that lie together are two to the power of it; `None`: as many as leave each node some blocks.
        shift: Option<u8>,
    },
}

impl Deal {
    /// Whether there are such nodes and blocks, whatever the graph.
    pub fn check(&self) -> Result<(), PlacementError> {
        match self {
            Deal::By(_) => Ok(()),
            Deal::Evenly { nodes, shift } => {
                let shift = shift.unwrap_or(Placement::SHIFT);
                Placement::in_turn(*nodes, shift, Placement::SLOTS).map(drop)
            }
        }
    }

    /// The placement of a whole graph with so many IRIs. Errors: there are no such nodes or blocks, or the graph is damaged.
    pub fn placement(&self, whole: &Snapshot, iris: u64) -> Result<Placement, CutError> {
        let (nodes, shift) = match self {
            Deal::By(placement) => return Ok(placement.clone()),
            Deal::Evenly { nodes, shift } => (*nodes, *shift),
        };
        let shift = shift.unwrap_or_else(|| usual_shift(iris, nodes));
        // A table is checked before anything is weighed by it.
        let in_turn = Placement::in_turn(nodes, shift, Placement::SLOTS)?;
        let weights = weights(whole, &in_turn)?;
        Ok(Placement::new(nodes, shift, dealt(nodes, &weights))?)
    }
}

impl From<PlacementError> for CutError {
    fn from(error: PlacementError) -> CutError {
        CutError::Placement(error)
    }
}

/// Blocks as large as usual, or smaller where so many IRIs would not be enough of them for so many nodes.
fn usual_shift(iris: u64, nodes: u16) -> u8 {
    let most = iris / (u64::from(nodes).max(1) * BLOCKS_MIN);
    let shift = most.checked_ilog2().unwrap_or(0) as u8;
    shift.min(Placement::SHIFT)
}

/// The half quads of each slot, and its share of what is placed by hash.
fn weights(whole: &Snapshot, placement: &Placement) -> Result<Vec<u64>, CutError> {
    let mut weights = vec![0; placement.owners().len()];
    let (mut keys, mut ends) = (Vec::new(), Vec::new());
    for (number, vertex) in (0..).zip(whole.predicate_table()) {
        for direction in [Direction::Out, Direction::In] {
            let predicate = PredicateId(number);
            let is_type = predicate == PredicateId::TYPE;
            if vertex.is_unbound() || is_type && direction == Direction::In {
                continue;
            }
            let segment = SegmentKey {
                predicate,
                direction,
            };
            let Some(segment) = whole.segment(segment)? else {
                continue;
            };
            // What classes have lies with the members.
            let row = if is_type { 2 } else { 1 };
            let index = segment.index()?;
            let mut start = 0;
            for from in (0..index.keys()).step_by(BATCH_KEYS as usize) {
                let to = (from + BATCH_KEYS).min(index.keys());
                keys.clear();
                ends.clear();
                index.decode(from, to, &mut keys)?;
                segment.row_ends(from..to, &mut ends)?;
                for (&key, &end) in keys.iter().zip(&ends) {
                    weights[placement.slot(key)] += row * end.saturating_sub(start);
                    start = end;
                }
            }
        }
    }
    let hashed = weights.iter().sum::<u64>() / HASHED_SHARE / weights.len() as u64;
    for weight in &mut weights {
        *weight += hashed.max(1);
    }
    Ok(weights)
}

/// The owner of each slot: the heaviest first, each to the node that has least.
fn dealt(nodes: u16, weights: &[u64]) -> Vec<u16> {
    let mut slots: Vec<usize> = (0..weights.len()).collect();
    slots.sort_by_key(|&slot| (std::cmp::Reverse(weights[slot]), slot));
    let mut loads = vec![0_u64; usize::from(nodes)];
    let mut owners = vec![0; weights.len()];
    for slot in slots {
        let least = (0..nodes).min_by_key(|node| loads[usize::from(*node)]);
        let node = least.expect("a placement has nodes");
        loads[usize::from(node)] += weights[slot];
        owners[slot] = node;
    }
    owners
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_heaviest_lies_with_who_has_little_else() {
        let mut weights = vec![10; 100];
        weights[7] = 300;
        let owners = dealt(4, &weights);
        let load = |node| {
            let of = |slot: &usize| owners[*slot] == node;
            (0..100).filter(of).map(|slot| weights[slot]).sum::<u64>()
        };
        let loads: Vec<u64> = (0..4).map(load).collect();
        assert_eq!(loads.iter().sum::<u64>(), 1290);
        assert!(
            loads.iter().all(|load| (310..=330).contains(load)),
            "{loads:?}"
        );
    }

    #[test]
    fn a_small_graph_has_small_blocks() {
        assert_eq!(usual_shift(0, 4), 0);
        assert_eq!(usual_shift(3, 4), 0);
        assert_eq!(usual_shift(17_000, 4), 8);
        assert_eq!(usual_shift(u64::MAX, 4), Placement::SHIFT);
    }
}
