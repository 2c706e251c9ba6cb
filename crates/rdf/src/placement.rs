//! Who owns what in a cluster: the one value by which every node places a vertex and a term.
//!
//! ```text
//!  vertex   dictionary term, blank node: slot = (ordinal >> shift) mod slots    owner = owners[slot]
//!           inline value:                slot = mixed bits mod slots
//!  key      of a term's text:            slot = its hash mod slots
//! ```
//!
//! Ordinals follow first appearance ([`crate::id`]), so what was described together has ordinals that are close, lies in
//! one block of 2^shift, and its edges mostly stay on one node (OSDI'16 places vertices by hash: three quarters of all edges
//! then cross four nodes). How much stays is a property of the data, and nothing but speed depends on it.
//!
//! Invariant: an owner follows from the id alone, or from the key's hash alone, so nobody is asked. A term's id and its text
//! have an owner each: the id's block has the text, the text's hash has the id.
//!
//! Why slots between blocks and nodes: a node that is added takes slots over, and no vertex moves within one. Why the bits of
//! an inline value are mixed: small integers, years and scaled decimals differ in few bits.

use crate::id::{Tag, VertexId};
use std::sync::Arc;

/// The most nodes of a cluster.
pub const NODES_MAX: u16 = 4096;
/// The most slots: 128 KiB as a table.
pub const SLOTS_MAX: usize = 1 << 16;
/// The largest block: two to the power of it.
pub const SHIFT_MAX: u8 = 40;

/// Who owns what; see the module's documentation. A copy is one pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    shift: u8,
    nodes: u16,
    /// By slot.
    owners: Arc<[u16]>,
}

/// Why a table is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlacementError {
    /// There is nobody, or there are too many.
    #[error("a cluster has 1 to {NODES_MAX} nodes, not {0}")]
    Nodes(u64),
    /// There is no slot, or there are too many.
    #[error("a placement has 1 to {SLOTS_MAX} slots, not {0}")]
    Slots(u64),
    /// A block is too large.
    #[error("a block of a placement has at most 2^{SHIFT_MAX} ids, not 2^{0}")]
    Shift(u64),
    /// A slot belongs to nobody.
    #[error("slot {slot} belongs to node {owner}, but there are {nodes} nodes")]
    Owner {
        /// The slot.
        slot: usize,
        /// Whose it is said to be.
        owner: u16,
        /// Nodes that there are.
        nodes: u16,
    },
    /// Bytes of another length than they say.
    #[error("a placement of {slots} slots has {wanted} bytes, not {found}")]
    Length {
        /// Slots by its head.
        slots: u64,
        /// Bytes that these need.
        wanted: u64,
        /// Bytes that there are.
        found: u64,
    },
}

impl Placement {
    /// Ids of one kind that lie together are two to the power of this, where nobody says otherwise.
    pub const SHIFT: u8 = 14;
    /// Slots, where nobody says otherwise.
    pub const SLOTS: usize = 4096;

    /// Slots dealt out to the nodes in turn.
    pub fn in_turn(nodes: u16, shift: u8, slots: usize) -> Result<Placement, PlacementError> {
        if nodes == 0 {
            return Err(PlacementError::Nodes(0));
        }
        let owners = (0..slots.min(SLOTS_MAX + 1)).map(|slot| (slot % usize::from(nodes)) as u16);
        Placement::new(nodes, shift, owners.collect())
    }

    /// Slots that belong to these nodes.
    pub fn new(nodes: u16, shift: u8, owners: Vec<u16>) -> Result<Placement, PlacementError> {
        if nodes == 0 || nodes > NODES_MAX {
            return Err(PlacementError::Nodes(nodes.into()));
        }
        if owners.is_empty() || owners.len() > SLOTS_MAX {
            return Err(PlacementError::Slots(owners.len() as u64));
        }
        if shift > SHIFT_MAX {
            return Err(PlacementError::Shift(shift.into()));
        }
        let nobody = owners.iter().position(|owner| *owner >= nodes);
        if let Some(slot) = nobody {
            return Err(PlacementError::Owner {
                slot,
                owner: owners[slot],
                nodes,
            });
        }
        Ok(Placement {
            shift,
            nodes,
            owners: owners.into(),
        })
    }

    /// One node, which owns all.
    pub fn whole() -> Placement {
        Placement {
            shift: Self::SHIFT,
            nodes: 1,
            owners: Arc::new([0]),
        }
    }

    /// Nodes.
    pub fn nodes(&self) -> u16 {
        self.nodes
    }

    /// The ids of a block are two to the power of it.
    pub fn shift(&self) -> u8 {
        self.shift
    }

    /// The owner of each slot.
    pub fn owners(&self) -> &[u16] {
        &self.owners
    }

    /// The slot of a vertex. O(1), no memory touched.
    #[inline]
    pub fn slot(&self, vertex: VertexId) -> usize {
        let number = if is_inline(vertex) {
            mixed(vertex.bits())
        } else {
            vertex.payload() >> self.shift
        };
        (number % self.owners.len() as u64) as usize
    }

    /// The node that has a vertex's edges and, where it is a term of the dictionary, its text. O(1).
    #[inline]
    pub fn owner(&self, vertex: VertexId) -> u16 {
        self.owners[self.slot(vertex)]
    }

    /// The node that has the id of a key with this hash ([`crate::dictionary::key_hash`]). O(1).
    #[inline]
    pub fn owner_of_hash(&self, hash: u64) -> u16 {
        // An index scales the hash down by its upper bits and compares its lowest ones: between keys of one owner these stay
        // as they are between all.
        self.owners[((hash >> 8 & 0xffff_ffff) % self.owners.len() as u64) as usize]
    }

    /// Whether this node has all there is of a vertex. A term that exists in a query only has no edges, so everybody does.
    #[inline]
    pub fn is_owned(&self, vertex: VertexId, here: u16) -> bool {
        vertex.has_tag(Tag::QueryLocal) || self.owner(vertex) == here
    }

    /// Appends it as bytes: shift (1), nodes (2), slots (4), an owner (2) each; the least significant byte first.
    pub fn encode(&self, into: &mut Vec<u8>) {
        into.push(self.shift);
        into.extend(self.nodes.to_le_bytes());
        into.extend((self.owners.len() as u32).to_le_bytes());
        into.extend(self.owners.iter().flat_map(|owner| owner.to_le_bytes()));
    }

    /// Reads [`Placement::encode`]'s bytes, all of them. They may come from anybody.
    pub fn decode(bytes: &[u8]) -> Result<Placement, PlacementError> {
        let found = bytes.len() as u64;
        let Some((head, rest)) = bytes.split_first_chunk::<HEAD_BYTES>() else {
            return Err(PlacementError::Length {
                slots: 0,
                wanted: HEAD_BYTES as u64,
                found,
            });
        };
        let slots = u32::from_le_bytes([head[3], head[4], head[5], head[6]]).into();
        let wanted = HEAD_BYTES as u64 + 2 * slots;
        if found != wanted {
            return Err(PlacementError::Length {
                slots,
                wanted,
                found,
            });
        }
        let owners = rest.chunks_exact(2);
        let owners = owners.map(|owner| u16::from_le_bytes([owner[0], owner[1]]));
        Placement::new(
            u16::from_le_bytes([head[1], head[2]]),
            head[0],
            owners.collect(),
        )
    }
}

/// Bytes before the owners.
const HEAD_BYTES: usize = 7;

#[inline]
fn is_inline(vertex: VertexId) -> bool {
    (Tag::Integer as u8..=Tag::DateTime as u8).contains(&vertex.tag_number())
}

/// Bits of which each depends on each of these (the finisher of splitmix64).
#[inline]
fn mixed(bits: u64) -> u64 {
    let bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    fn iri(ordinal: u64) -> VertexId {
        VertexId::new(Tag::Iri, ordinal)
    }

    #[test]
    fn blocks_lie_together_and_are_dealt_out() {
        let placement = Placement::in_turn(3, 4, 8).unwrap();
        for ordinal in 0..1000 {
            let slot = (ordinal / 16 % 8) as usize;
            assert_eq!(placement.slot(iri(ordinal)), slot);
            assert_eq!(usize::from(placement.owner(iri(ordinal))), slot % 3);
        }
    }

    #[test]
    fn values_and_hashes_are_spread_evenly() {
        let placement = Placement::in_turn(4, 14, Placement::SLOTS).unwrap();
        let owners_of = |owner: &dyn Fn(u64) -> u16| {
            let mut counts = [0u32; 4];
            (0..40_000).for_each(|number| counts[usize::from(owner(number))] += 1);
            counts
        };
        let values = owners_of(&|number| placement.owner(VertexId::new(Tag::Integer, number)));
        let scaled = owners_of(&|number| placement.owner(VertexId::new(Tag::Double, number << 40)));
        let keys = owners_of(&|number| {
            placement.owner_of_hash(crate::dictionary::key_hash(&number.to_le_bytes()))
        });
        for counts in [values, scaled, keys] {
            assert!(
                counts.iter().all(|count| (9_000..11_000).contains(count)),
                "{counts:?}"
            );
        }
    }

    #[test]
    fn a_term_of_a_query_is_everybodys() {
        let placement = Placement::in_turn(2, 0, 2).unwrap();
        let local = VertexId::new(Tag::QueryLocal, 1);
        assert!(placement.is_owned(local, 0) && placement.is_owned(local, 1));
        assert!(placement.is_owned(iri(1), 1) && !placement.is_owned(iri(1), 0));
    }

    #[test]
    fn bytes_give_it_back_and_others_are_refused() {
        let placement = Placement::new(3, 2, vec![2, 0, 1, 1, 2]).unwrap();
        let mut bytes = Vec::new();
        placement.encode(&mut bytes);
        assert_eq!(Placement::decode(&bytes), Ok(placement));
        for end in 0..bytes.len() {
            assert!(Placement::decode(&bytes[..end]).is_err(), "{end} bytes");
        }
        bytes[3..7].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(matches!(
            Placement::decode(&bytes),
            Err(PlacementError::Length { .. })
        ));
    }

    #[test]
    fn what_is_no_table_is_refused() {
        let refused = |nodes, shift, owners| Placement::new(nodes, shift, owners).unwrap_err();
        assert_eq!(refused(0, 0, vec![0]), PlacementError::Nodes(0));
        assert_eq!(refused(1, 0, vec![]), PlacementError::Slots(0));
        assert_eq!(refused(1, 41, vec![0]), PlacementError::Shift(41));
        assert!(matches!(
            refused(2, 0, vec![0, 2]),
            PlacementError::Owner { slot: 1, .. }
        ));
        assert!(Placement::in_turn(0, 0, 1).is_err());
        assert!(Placement::in_turn(2, 0, SLOTS_MAX + 1).is_err());
    }
}
