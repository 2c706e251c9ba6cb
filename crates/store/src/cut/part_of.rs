//! Which part of a graph a store holds, where it holds only a part: the mark that a cut leaves in each part.
//!
//! ```text
//!  quad s p o   out-edge s -> o   lies with the owner of s
//!               in-edge  o -> s   lies with the owner of o;   of rdf:type with the owner of s, the member
//! ```
//!
//! So the two directions of a part are edge sets of their own (*half quads*): a quad whose ends are owned by two nodes
//! has its out-edge in one part and its in-edge in the other. Whoever changes, merges, writes or checks a graph asks
//! [`Snapshot::part_of`](crate::Snapshot::part_of) whether it is a part, because in a whole graph both directions hold
//! the same quads.
//!
//! Invariant: which part holds an edge follows from its ends, its predicate and its direction alone. So a part tells its
//! own edges among those of any record, and parts of one cut overlap nowhere.
//!
//! The mark is a file of the generation like any other, so the manifest has its checksum; a whole graph has none. The
//! manifest's features say that there is one, so that a program which knows no parts refuses it.
//!
//! ```text
//!  part   0  version of this layout (1)   1  node (2)   3  fingerprint of the whole (16)   19  the placement's bytes
//! ```
//!
//! Cost: an owner is a division and a look into a table of some kilobytes.

use crate::error::ViewError;
use crate::parts::{PartError, PartFiles, PartSource, PartWriter};
use crate::source::damaged;
use rdf::placement::Placement;
use rdf::{Direction, VertexId};
use std::io;

/// The mark's file within its generation.
pub(crate) const FILE: &str = "part";
/// Version of the mark's layout.
const LAYOUT: u8 = 1;
/// Bytes before the placement.
const HEAD_BYTES: usize = 19;

/// Part `node` of a graph that was cut by a placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartOf {
    placement: Placement,
    node: u16,
    whole: u128,
}

/// Why some parts are not one graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApartError {
    /// A graph is whole.
    #[error("graph {0} is a whole graph, not a part of one")]
    Whole(usize),
    /// Two parts come from different graphs.
    #[error(
        "part {node} was cut from another graph than part {other} ({found:032x}, not {wanted:032x})"
    )]
    Graph {
        /// The part's node.
        node: u16,
        /// The node of the first part.
        other: u16,
        /// The fingerprint of the part's whole.
        found: u128,
        /// The fingerprint of the first part's whole.
        wanted: u128,
    },
    /// Two parts were cut by different placements.
    #[error("part {node} was cut by another placement than part {other}")]
    Placement {
        /// The part's node.
        node: u16,
        /// The node of the first part.
        other: u16,
    },
    /// A part is there twice.
    #[error("part {0} is there twice")]
    Twice(u16),
    /// A part is missing.
    #[error("part {node} of {nodes} is missing")]
    Missing {
        /// The part's node.
        node: u16,
        /// How many parts there are.
        nodes: u16,
    },
}

impl PartOf {
    /// The part of `node`, which is one of the placement's (asserted). `whole`: a fingerprint of the graph that is cut, the
    /// same for each part.
    pub fn new(placement: Placement, node: u16, whole: u128) -> PartOf {
        assert!(node < placement.nodes(), "a part is one node's");
        PartOf {
            placement,
            node,
            whole,
        }
    }

    /// Who owns what.
    pub fn placement(&self) -> &Placement {
        &self.placement
    }

    /// Whose part it is.
    pub fn node(&self) -> u16 {
        self.node
    }

    /// The fingerprint of the graph that was cut.
    pub fn whole(&self) -> u128 {
        self.whole
    }

    /// Whether an edge of this direction lies here. `is_type`: its predicate is `rdf:type`. O(1).
    #[inline]
    pub fn holds(
        &self,
        direction: Direction,
        is_type: bool,
        key: VertexId,
        neighbour: VertexId,
    ) -> bool {
        holder(&self.placement, direction, is_type, key, neighbour) == self.node
    }

    /// Whether these parts, by node, are all parts of one graph, each once. The first thing that is wrong is told.
    pub fn are_one_graph<'p>(
        parts: impl IntoIterator<Item = Option<&'p PartOf>>,
    ) -> Result<(), ApartError> {
        let mut first: Option<&PartOf> = None;
        let mut is_there = Vec::new();
        for (place, part) in parts.into_iter().enumerate() {
            let part = part.ok_or(ApartError::Whole(place))?;
            let first = *first.get_or_insert(part);
            let (node, other) = (part.node, first.node);
            if part.whole != first.whole {
                return Err(ApartError::Graph {
                    node,
                    other,
                    found: part.whole,
                    wanted: first.whole,
                });
            }
            if part.placement != first.placement {
                return Err(ApartError::Placement { node, other });
            }
            is_there.resize(first.placement.nodes().into(), false);
            if std::mem::replace(&mut is_there[usize::from(node)], true) {
                return Err(ApartError::Twice(node));
            }
        }
        let missing = is_there.iter().position(|is_there| !is_there);
        match (missing, first) {
            (Some(node), Some(first)) => Err(ApartError::Missing {
                node: node as u16,
                nodes: first.placement.nodes(),
            }),
            _ => Ok(()),
        }
    }

    /// Writes the mark.
    pub fn write(&self, files: &dyn PartFiles) -> Result<(), PartError> {
        let mut bytes = vec![LAYOUT];
        bytes.extend(self.node.to_le_bytes());
        bytes.extend(self.whole.to_le_bytes());
        self.placement.encode(&mut bytes);
        let mut part = PartWriter::create_raw(files, FILE)?;
        part.append(&bytes)?;
        part.finish(files)?;
        Ok(())
    }

    /// Reads the mark; `None` where there is none. Errors: it cannot be read, is damaged, or is none of this layout. A
    /// part is never taken for a whole graph.
    pub fn open(source: &dyn PartSource) -> Result<Option<PartOf>, ViewError> {
        let inconsistent = |what: String| ViewError::Inconsistent {
            file: FILE.to_owned(),
            what,
        };
        let region = match source.part(FILE) {
            Ok(region) => region,
            Err(error) if error.source.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(inconsistent(error.source.to_string())),
        };
        let bytes = region.all().map_err(|block| *damaged(block))?;
        let Some((head, placement)) = bytes.split_first_chunk::<HEAD_BYTES>() else {
            return Err(inconsistent("a cut mark of a part".to_owned()));
        };
        if head[0] != LAYOUT {
            let what = format!(
                "a mark of layout {}; this program reads layout {LAYOUT}",
                head[0]
            );
            return Err(inconsistent(what));
        }
        let placement =
            Placement::decode(placement).map_err(|error| inconsistent(error.to_string()))?;
        let node = u16::from_le_bytes([head[1], head[2]]);
        if node >= placement.nodes() {
            let what = format!("part {node} of {}", placement.nodes());
            return Err(inconsistent(what));
        }
        let mut whole = [0; 16];
        whole.copy_from_slice(&head[3..]);
        let whole = u128::from_le_bytes(whole);
        Ok(Some(PartOf {
            placement,
            node,
            whole,
        }))
    }
}

/// The node whose part an edge lies in; see the module's documentation. O(1).
#[inline]
pub fn holder(
    placement: &Placement,
    direction: Direction,
    is_type: bool,
    key: VertexId,
    neighbour: VertexId,
) -> u16 {
    placement.owner(match direction {
        Direction::In if is_type => neighbour,
        _ => key,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::MemoryParts;
    use rdf::Tag;

    fn placement() -> Placement {
        Placement::in_turn(3, 2, 6).expect("a placement")
    }

    #[test]
    fn a_mark_comes_back_and_a_whole_graph_has_none() {
        let part = PartOf::new(placement(), 2, 1 << 100 | 7);
        let files = MemoryParts::new();
        part.write(&files).expect("memory");
        let frozen = files.freeze().expect("memory");
        assert_eq!(PartOf::open(&frozen).expect("a mark"), Some(part));
        let empty = MemoryParts::new().freeze().expect("memory");
        assert_eq!(PartOf::open(&empty).expect("nothing"), None);
    }

    #[test]
    fn what_is_no_mark_is_refused() {
        let mut good = vec![LAYOUT, 1, 0];
        good.extend([0; 16]);
        placement().encode(&mut good);
        let with = |place: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[place] = byte;
            bytes
        };
        let opened = |bytes: &[u8]| {
            let files = MemoryParts::new();
            let mut part = PartWriter::create_raw(&files, FILE).expect("memory");
            part.append(bytes).expect("memory");
            part.finish(&files).expect("memory");
            PartOf::open(&files.freeze().expect("memory"))
        };
        assert!(opened(&good).is_ok());
        for bytes in [
            with(0, 2),
            with(1, 3),
            with(20, 0),
            good[..18].to_vec(),
            good[..30].to_vec(),
        ] {
            let error = opened(&bytes).expect_err("it is no mark");
            assert!(error.to_string().contains(FILE), "{error}");
        }
    }

    #[test]
    fn halves_lie_where_they_are_looked_for() {
        let vertex = |ordinal| VertexId::new(Tag::Iri, ordinal);
        let (member, class) = (vertex(0), vertex(9));
        let holder = |direction, is_type, key, neighbour| {
            super::holder(&placement(), direction, is_type, key, neighbour)
        };
        assert_eq!(holder(Direction::Out, false, member, class), 0);
        assert_eq!(holder(Direction::In, false, class, member), 2);
        assert_eq!(holder(Direction::Out, true, member, class), 0);
        assert_eq!(holder(Direction::In, true, class, member), 0);
        let part = PartOf::new(placement(), 2, 0);
        assert!(part.holds(Direction::In, false, class, member));
        assert!(!part.holds(Direction::In, true, class, member));
    }

    #[test]
    fn parts_that_are_not_one_graph_are_told() {
        let part = |node| PartOf::new(placement(), node, 5);
        let told = |parts: &[PartOf]| PartOf::are_one_graph(parts.iter().map(Some));
        assert_eq!(told(&[part(2), part(0), part(1)]), Ok(()));
        assert_eq!(
            told(&[part(2), part(0)]),
            Err(ApartError::Missing { node: 1, nodes: 3 })
        );
        assert_eq!(
            told(&[part(2), part(0), part(2)]),
            Err(ApartError::Twice(2))
        );
        let other = PartOf::new(placement(), 1, 6);
        assert!(matches!(
            told(&[part(0), other]),
            Err(ApartError::Graph {
                node: 1,
                other: 0,
                ..
            })
        ));
        let placed = Placement::in_turn(3, 3, 6).expect("a placement");
        let other = PartOf::new(placed, 1, 5);
        assert_eq!(
            told(&[part(0), other]),
            Err(ApartError::Placement { node: 1, other: 0 })
        );
        let whole = [Some(&part(0)), None].map(Option::<&PartOf>::cloned);
        assert_eq!(
            PartOf::are_one_graph(whole.iter().map(Option::as_ref)),
            Err(ApartError::Whole(1))
        );
    }
}
