//! Which keys a layer may have, in two to four bytes each.
//!
//! A lookup asks the base and every layer, and most of its keys are in none of the layers. To be told so by a layer's
//! segment takes a hash of the predicate, opening the key index and a search: some 50 ns for a key alone, 10 for each in a
//! batch. A key alone is asked of the filter first, a batch after the index said that some of it may be there. A filter tells it from one word, which is mostly in the first cache, for all predicates of a layer alike. It
//! never says no for a key that is there; of those that are not it lets 1 in 60 pass at the most, which are then
//! looked for. A batch of keys takes about a nanosecond for each, so it is little work that counts: one multiplication, whose
//! upper bits say the word and two of its bits.
//!
//! It is a Bloom filter whose bits of one key lie in one word ("Cache-, Hash- and Space-Efficient Bloom Filters", Putze,
//! Sanders and Singler, WEA'07, section 3). A graph of a layer with more keys than [`FILTERED_KEYS_MAX`] has none: it would take
//! more of the second cache than it saves, and most keys that are asked are in so large a layer.

use crate::snapshot::Snapshot;
use crate::source::Fault;
use crate::view::{GraphView, SegmentKey};
use rdf::{Direction, PredicateId, VertexId};

/// Keys of a graph that is filtered, over all its key sets: a quarter of a mebibyte at most.
const FILTERED_KEYS_MAX: u64 = 1 << 17;
/// Keys that share a word of 64 bits, at most, on average.
const WORD_KEYS: u64 = 4;
/// Odd, half of its bits set: 2^64 over the golden ratio.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// The keys of all key sets of one graph. See the module's documentation.
pub(crate) struct KeyFilter {
    /// As many as a power of two.
    words: Box<[u64]>,
}

/// One key set as a filter has it.
#[derive(Clone, Copy)]
pub(crate) struct FilteredKeys<'f> {
    words: &'f [u64],
    set: u64,
    shift: u32,
}

impl KeyFilter {
    /// Of all keys of a graph, those of its signatures among them; `None` where they are too many. O(keys).
    pub(crate) fn of(graph: &Snapshot) -> Result<Option<KeyFilter>, Fault> {
        let mut sets = Vec::new();
        let mut total = 0;
        let named = graph.predicates().into_iter().map(|predicate| {
            let vertex = graph.predicate_vertex(predicate);
            (predicate, vertex)
        });
        for (predicate, vertex) in named.chain([(PredicateId::SIGNATURE, VertexId::UNBOUND)]) {
            for direction in [Direction::Out, Direction::In] {
                let segment = SegmentKey {
                    predicate,
                    direction,
                };
                if let Some(segment) = graph.segment(segment)? {
                    total += segment.descriptor.keys;
                    sets.push(((vertex, direction), segment));
                }
            }
        }
        if total > FILTERED_KEYS_MAX {
            return Ok(None);
        }
        let words = total.div_ceil(WORD_KEYS).next_power_of_two().max(2);
        let mut words = vec![0; words as usize].into_boxed_slice();
        let shift = shift_of(&words);
        let mut keys = Vec::new();
        for (name, segment) in sets {
            let index = segment.index()?;
            keys.clear();
            index.decode(0, index.keys(), &mut keys)?;
            let set = seeded(name);
            for key in &keys {
                let (word, bits) = place_of(*key, set, shift);
                words[word] |= 1 << bits[0] | 1 << bits[1];
            }
        }
        Ok(Some(KeyFilter { words }))
    }

    /// The keys of one set: of a predicate as a vertex, or all vertices with an edge in this direction
    /// ([`VertexId::UNBOUND`]).
    #[inline]
    pub(crate) fn of_set(&self, name: (VertexId, Direction)) -> FilteredKeys<'_> {
        FilteredKeys {
            words: &self.words,
            set: seeded(name),
            shift: shift_of(&self.words),
        }
    }

    /// Bytes of memory held.
    pub(crate) fn bytes(&self) -> u64 {
        size_of_val(&self.words[..]) as u64
    }
}

impl FilteredKeys<'_> {
    /// False: it is no key of the set. One word is read.
    #[inline]
    pub(crate) fn may_hold(self, key: VertexId) -> bool {
        let (word, bits) = place_of(key, self.set, self.shift);
        let word = self.words[word];
        word >> bits[0] & word >> bits[1] & 1 == 1
    }

    /// The place of the first of these that may be a key.
    #[inline]
    pub(crate) fn first_of(self, keys: &[VertexId]) -> Option<usize> {
        keys.iter().position(|&key| self.may_hold(key))
    }
}

/// What sets the keys of one set apart from those of others.
fn seeded((vertex, direction): (VertexId, Direction)) -> u64 {
    // Not beside the lowest bit: neighbouring predicates would share a set.
    let word = vertex.bits() ^ (direction as u64) << 63;
    let product = u128::from(word) * u128::from(MULTIPLIER);
    product as u64 ^ (product >> 64) as u64
}

/// By how much a mixed key is shifted to be the place of a word.
fn shift_of(words: &[u64]) -> u32 {
    u64::BITS - words.len().trailing_zeros()
}

/// The word of a key, and which of its bits.
#[inline]
fn place_of(key: VertexId, set: u64, shift: u32) -> (usize, [u64; 2]) {
    let mixed = (key.bits() ^ set).wrapping_mul(MULTIPLIER);
    let below = mixed >> (shift - 12);
    ((mixed >> shift) as usize, [below & 63, below >> 6 & 63])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::snapshot_of;
    use crate::view::GraphScope;
    use rdf::Tag;
    use testkit::random::Random;

    fn vertex(number: u64) -> VertexId {
        VertexId::new(Tag::Iri, number)
    }

    /// Ids as a load numbers them, one after the other, and others.
    #[test]
    fn no_key_is_missed_and_few_others_pass() {
        let mut random = Random::new(1);
        for quads in [1, 40, 3_000, 30_000] {
            for is_dense in [true, false] {
                let mut number = |at: u64| if is_dense { at } else { random.bits() >> 20 };
                let quads: Vec<_> = (0..quads)
                    .map(|at| {
                        let [subject, object] = [number(at + 10), number(at / 3 + 10)];
                        (
                            vertex(subject),
                            vertex(at % 5),
                            vertex(object),
                            GraphScope::DEFAULT_GRAPH,
                        )
                    })
                    .collect();
                let graph = snapshot_of(&quads, None);
                let filter = KeyFilter::of(&graph).expect("it is whole");
                let filter = filter.expect("its keys are few");
                for (subject, predicate, object, _) in &quads {
                    for (key, direction) in [(subject, Direction::Out), (object, Direction::In)] {
                        for name in [*predicate, VertexId::UNBOUND] {
                            assert!(filter.of_set((name, direction)).may_hold(*key));
                        }
                    }
                }
                let turned = filter.of_set((vertex(2), Direction::In));
                let subjects = quads.iter().filter(|quad| quad.1 == vertex(3));
                let subjects =
                    subjects.filter(|quad| turned.may_hold(vertex(quad.0.bits() ^ 1 << 40)));
                assert!(subjects.count() <= quads.len() / 150 + 3);
                let others = filter.of_set((vertex(1), Direction::Out));
                let passing = (0..10_000).filter(|at| others.may_hold(vertex((1 << 50) + at)));
                assert!(passing.count() < 300, "{} quads", quads.len());
                let none = filter.of_set((vertex(9), Direction::Out));
                let subjects = quads.iter().filter(|quad| none.may_hold(quad.0));
                assert!(subjects.count() <= quads.len() / 30 + 3);
            }
        }
    }

    #[test]
    fn a_layer_of_many_keys_has_none() {
        let quads: Vec<_> = (0..=FILTERED_KEYS_MAX / 4)
            .map(|at| {
                let keys = [vertex(at), vertex(at + (1 << 40))];
                (keys[0], vertex(1), keys[1], GraphScope::DEFAULT_GRAPH)
            })
            .collect();
        let filter = |quads| KeyFilter::of(&snapshot_of(quads, None)).expect("it is whole");
        assert!(filter(&quads).is_none() && filter(&quads[1..]).is_some());
        assert!(filter(&quads[1..]).is_some_and(|filter| filter.bytes() <= 1 << 18));
    }
}
