//! Ids as 4-byte codes that order as they do, for the time of one load.
//!
//! When parsing is done it is known how many terms of each kind there are and between which ids
//! the inline values lie. If all of that fits 2^32 - 1 numbers, every id gets one: kind after kind
//! (the tags' order), value after value within. Edges are then sorted as 8 bytes instead of 16 and
//! more. Otherwise ids stand for themselves.
//!
//! Invariant: codes compare as ids do; the default graph has the largest code as it has the largest
//! id.
//!
//! Cost: a code is made once per distinct term of a chunk, and taken back once per edge and end.

use rdf::VertexId;

const TAGS: usize = 16;
/// The code of the default graph, where codes are narrow.
const DEFAULT_GRAPH: u64 = u32::MAX as u64;
const _: () = assert!(
    TAGS == 1 << (u64::BITS - VertexId::PAYLOAD_BITS),
    "a tag's number"
);

/// Between which ids the ids of each tag lie: first and last bits, `None` where there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ranges([Option<(u64, u64)>; TAGS]);

impl Ranges {
    /// Widens the range of the id's tag to hold it.
    #[inline]
    pub fn observe(&mut self, id: VertexId) {
        let range = &mut self.0[id.tag_number() as usize];
        let (first, last) = range.unwrap_or((id.bits(), id.bits()));
        *range = Some((first.min(id.bits()), last.max(id.bits())));
    }

    /// Widens the ranges to hold the other's.
    pub fn merge(&mut self, other: &Ranges) {
        for (first, last) in other.0.iter().flatten() {
            self.observe(VertexId::from_bits(*first));
            self.observe(VertexId::from_bits(*last));
        }
    }
}

/// A run of codes: the ids of one tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Plane {
    first_code: u64,
    first_id: u64,
    last_id: u64,
}

/// The codes of a load.
#[derive(Clone, Debug)]
pub struct Codes {
    planes: Vec<Plane>,
    narrow: bool,
    default_graph: u64,
}

impl Codes {
    /// Codes for ids within these ranges.
    pub fn new(ranges: &Ranges) -> Codes {
        let mut next = 0_u64;
        let mut planes = Vec::new();
        for (first_id, last_id) in ranges.0.iter().flatten().copied() {
            planes.push(Plane {
                first_code: next,
                first_id,
                last_id,
            });
            next = next.saturating_add(last_id - first_id + 1);
        }
        assert!(
            planes.is_sorted_by(|one: &Plane, next: &Plane| one.last_id < next.first_id),
            "codes order as ids do"
        );
        let narrow = next <= DEFAULT_GRAPH;
        let default_graph = if narrow {
            DEFAULT_GRAPH
        } else {
            VertexId::UNBOUND.bits()
        };
        Codes {
            planes,
            narrow,
            default_graph,
        }
    }

    /// Whether codes have 32 bits.
    pub fn is_narrow(&self) -> bool {
        self.narrow
    }

    /// The code of the default graph.
    pub fn default_graph(&self) -> u64 {
        self.default_graph
    }

    /// The code of an id within the ranges.
    #[inline]
    pub fn code(&self, id: VertexId) -> u64 {
        let bits = id.bits();
        if !self.narrow {
            return bits;
        }
        let plane = self.planes.iter().find(|plane| bits <= plane.last_id);
        let plane = plane.expect("ids lie within the ranges");
        plane.first_code + (bits - plane.first_id)
    }

    /// The id of a code.
    #[inline]
    pub fn id(&self, code: u64) -> VertexId {
        if !self.narrow {
            return VertexId::from_bits(code);
        }
        if code == DEFAULT_GRAPH {
            return VertexId::UNBOUND;
        }
        let plane = self
            .planes
            .iter()
            .rev()
            .find(|plane| plane.first_code <= code);
        let plane = plane.expect("the first code is 0");
        VertexId::from_bits(plane.first_id + (code - plane.first_code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rdf::Tag;

    fn check(ids: &[VertexId], narrow: bool) {
        let mut ranges = Ranges::default();
        for &id in ids {
            ranges.observe(id);
        }
        let codes = Codes::new(&ranges);
        assert_eq!(codes.is_narrow(), narrow);
        let mut sorted = ids.to_vec();
        sorted.sort_unstable();
        sorted.push(VertexId::UNBOUND);
        let coded: Vec<u64> = sorted[..sorted.len() - 1]
            .iter()
            .map(|&id| codes.code(id))
            .chain([codes.default_graph()])
            .collect();
        assert!(coded.is_sorted());
        assert!(!narrow || coded.iter().all(|&code| code <= DEFAULT_GRAPH));
        let back: Vec<VertexId> = coded.iter().map(|&code| codes.id(code)).collect();
        assert_eq!(back, sorted);
    }

    #[test]
    fn codes_come_back_and_order() {
        let id = VertexId::new;
        check(
            &[
                id(Tag::Iri, 0),
                id(Tag::Iri, 5),
                id(Tag::Literal, 7),
                id(Tag::Integer, 9),
            ],
            true,
        );
        check(&[id(Tag::Iri, 0), id(Tag::Iri, DEFAULT_GRAPH - 1)], true);
        check(&[id(Tag::Iri, 0), id(Tag::Iri, DEFAULT_GRAPH)], false);
        check(
            &[
                id(Tag::Double, 0),
                id(Tag::Double, VertexId::PAYLOAD_MAX),
                id(Tag::Iri, 0),
            ],
            false,
        );
        check(&[], true);
    }
}
