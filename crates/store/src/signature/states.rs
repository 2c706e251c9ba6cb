//! A number per vertex while a graph is written: which set has it so far?
//!
//! Dictionary kinds have dense ordinals, so their numbers lie in pages of 4,096, four bytes a
//! vertex; keys arrive ascending within a segment, so the page is nearly always the last one used.
//! Inline values are scattered and live in a hash table. 0 means "nothing yet".
//!
//! A small graph over the ids of a large one touches vertices far apart, and a page for each would
//! be a thousand times what it needs. There pages are one cache line ([`States::sparse`]), in slabs of sixteen. So both
//! kinds are found by the same shifts, and the graph of a commit clears one KiB and not sixteen.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use rdf::VertexId;

/// Vertices of a page, and of a slab, where they are dense.
const DENSE_BITS: u32 = 12;
/// Vertices of a page where they are sparse: 64 bytes.
const SPARSE_BITS: u32 = 4;
/// Vertices of a slab where they are sparse: 1 KiB.
const SPARSE_SLAB_BITS: u32 = 8;
const _: () = assert!(SPARSE_BITS <= SPARSE_SLAB_BITS, "a page lies in one slab");

/// Numbers by vertex.
pub(crate) struct States {
    page_bits: u32,
    slab_bits: u32,
    /// Page number (id >> page_bits) -> number of the page in the slabs.
    directory: HashMap<u64, u32>,
    pages: u32,
    slabs: Vec<Box<[u32]>>,
    last: Option<(u64, u32)>,
    scattered: HashMap<u64, u32>,
}

impl Default for States {
    fn default() -> States {
        States::with_pages(DENSE_BITS, DENSE_BITS)
    }
}

impl States {
    /// For a graph with few of the vertices that its ids span.
    pub(crate) fn sparse() -> States {
        States::with_pages(SPARSE_BITS, SPARSE_SLAB_BITS)
    }

    fn with_pages(page_bits: u32, slab_bits: u32) -> States {
        States {
            page_bits,
            slab_bits,
            directory: HashMap::new(),
            pages: 0,
            slabs: Vec::new(),
            last: None,
            scattered: HashMap::new(),
        }
    }

    /// No numbers, in pages of the same size.
    pub(crate) fn cleared(&self) -> States {
        States::with_pages(self.page_bits, self.slab_bits)
    }

    /// Whether no vertex has been asked for.
    pub(crate) fn is_empty(&self) -> bool {
        self.pages == 0 && self.scattered.is_empty()
    }

    /// The number of a vertex, to be read and changed.
    #[inline]
    pub(crate) fn get_mut(&mut self, vertex: VertexId) -> &mut u32 {
        if vertex.tag().is_some_and(rdf::Tag::is_inline) {
            return self.scattered.entry(vertex.bits()).or_insert(0);
        }
        let page = vertex.bits() >> self.page_bits;
        let index = match self.last {
            Some((last, index)) if last == page => index,
            _ => self.find(page),
        };
        let within = vertex.bits() as usize & ((1 << self.page_bits) - 1);
        let place = (index as usize) << self.page_bits | within;
        &mut self.slabs[place >> self.slab_bits][place & ((1 << self.slab_bits) - 1)]
    }

    fn find(&mut self, page: u64) -> u32 {
        let index = match self.directory.entry(page) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                if (self.pages as usize) << self.page_bits == self.slabs.len() << self.slab_bits {
                    self.slabs.push(vec![0; 1 << self.slab_bits].into());
                }
                self.pages += 1;
                assert!(
                    (self.pages as usize) << self.page_bits <= self.slabs.len() << self.slab_bits,
                    "pages lie in the slabs"
                );
                *entry.insert(self.pages - 1)
            }
        };
        self.last = Some((page, index));
        index
    }

    /// Replaces every number that is not 0.
    pub(crate) fn replace_all(&mut self, number: u32) {
        let pages = self.slabs.iter_mut().flat_map(|slab| slab.iter_mut());
        pages
            .chain(self.scattered.values_mut())
            .filter(|state| **state != 0)
            .for_each(|state| *state = number);
    }

    /// Every vertex with a number, ascending: inline tags are above the others.
    pub(crate) fn ascending(&self) -> impl Iterator<Item = (VertexId, u32)> + '_ {
        let mut order: Vec<(u64, u32)> = self
            .directory
            .iter()
            .map(|(&page, &index)| (page, index))
            .collect();
        order.sort_unstable();
        let mut scattered: Vec<(u64, u32)> = self
            .scattered
            .iter()
            .map(|(&id, &state)| (id, state))
            .collect();
        scattered.sort_unstable();
        let paged = order.into_iter().flat_map(move |(page, index)| {
            let (bits, slab_bits) = (self.page_bits, self.slab_bits);
            let place = (index as usize) << bits;
            let states = &self.slabs[place >> slab_bits][place & ((1 << slab_bits) - 1)..];
            let states = &states[..1 << bits];
            (page << bits..).zip(states.iter().copied())
        });
        paged
            .chain(scattered)
            .filter(|&(_, state)| state != 0)
            .map(|(id, state)| (VertexId::from_bits(id), state))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rdf::Tag;

    #[test]
    fn numbers_come_back_in_order() {
        let ids = [
            VertexId::new(Tag::Double, 1 << 50),
            VertexId::new(Tag::Iri, 9999),
            VertexId::new(Tag::Iri, 3),
            VertexId::new(Tag::Literal, 3),
            VertexId::new(Tag::Integer, 3),
        ];
        for mut states in [States::default(), States::sparse()] {
            for (&id, number) in ids.iter().zip(1..) {
                *states.get_mut(id) = number;
            }
            assert_eq!(*states.get_mut(VertexId::new(Tag::Blank, 3)), 0);
            let found: Vec<_> = states.ascending().collect();
            assert_eq!(
                found,
                [
                    (ids[2], 3),
                    (ids[1], 2),
                    (ids[3], 4),
                    (ids[4], 5),
                    (ids[0], 1)
                ]
            );
            states.replace_all(7);
            assert!(
                states.ascending().count() == 5 && states.ascending().all(|(_, state)| state == 7)
            );
        }
    }

    #[test]
    fn sparse_vertices_fill_several_slabs() {
        let mut states = States::sparse();
        let ids: Vec<VertexId> = (0..100)
            .map(|n| VertexId::new(Tag::Iri, n * 1000 + 7))
            .collect();
        for (&id, number) in ids.iter().zip(1..) {
            *states.get_mut(id) = number;
        }
        assert_eq!(states.slabs.len(), 100_usize.div_ceil(16));
        let found: Vec<_> = states.ascending().collect();
        let written: Vec<_> = ids.into_iter().zip(1..).collect();
        assert_eq!(found, written);
    }
}
