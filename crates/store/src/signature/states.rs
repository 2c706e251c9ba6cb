//! A number per vertex while a graph is written: which set has it so far?
//!
//! Dictionary kinds have dense ordinals, so their numbers lie in pages of 4,096, four bytes a
//! vertex; keys arrive ascending within a segment, so the page is nearly always the last one used.
//! Inline values are scattered and found by a hash table. 0 means "nothing yet". Whoever asks for one vertex twice
//! looks it up once.
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
/// Pages for which there is room from the start (count), where they are sparse: those of a commit.
const RESERVED_MAX: u64 = 1 << 10;
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
    /// Id -> place in `values`.
    scattered: HashMap<u64, u32>,
    values: Vec<u32>,
    /// The one of `scattered` that was asked for last.
    last_scattered: Option<(u64, u32)>,
}

/// Pages and scattered vertices, ascending: what [`States::ascending`] goes along.
pub(crate) struct Order {
    pages: Vec<(u64, u32)>,
    scattered: Vec<(u64, u32)>,
}

impl Default for States {
    fn default() -> States {
        States::with_pages(DENSE_BITS, DENSE_BITS)
    }
}

impl States {
    /// For a graph with few of the vertices that its ids span: at most so many.
    pub(crate) fn sparse(vertices_max: u64) -> States {
        let mut states = States::with_pages(SPARSE_BITS, SPARSE_SLAB_BITS);
        states
            .directory
            .reserve(vertices_max.min(RESERVED_MAX) as usize);
        states
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
            values: Vec::new(),
            last_scattered: None,
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
            let place = match self.last_scattered {
                Some((last, place)) if last == vertex.bits() => place,
                _ => self.find_scattered(vertex.bits()),
            };
            return &mut self.values[place as usize];
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

    fn find_scattered(&mut self, id: u64) -> u32 {
        let next = self.values.len();
        let place = *self.scattered.entry(id).or_insert(next as u32);
        if place as usize == next {
            assert!(place < u32::MAX, "fewer than 2^32 scattered vertices");
            self.values.push(0);
        }
        self.last_scattered = Some((id, place));
        place
    }

    /// Replaces every number that is not 0.
    pub(crate) fn replace_all(&mut self, number: u32) {
        let pages = self.slabs.iter_mut().flat_map(|slab| slab.iter_mut());
        pages
            .chain(self.values.iter_mut())
            .filter(|state| **state != 0)
            .for_each(|state| *state = number);
    }

    /// The order of the vertices that have been asked for so far.
    pub(crate) fn order(&self) -> Order {
        let sorted = |places: &HashMap<u64, u32>| {
            let mut order: Vec<(u64, u32)> = places.iter().map(|(&id, &at)| (id, at)).collect();
            order.sort_unstable_by_key(|place| place.0);
            order
        };
        Order {
            pages: sorted(&self.directory),
            scattered: sorted(&self.scattered),
        }
    }

    /// Every vertex with a number, ascending: inline tags are above the others. `order`: made since a vertex was asked for
    /// the first time.
    pub(crate) fn ascending<'s>(
        &'s self,
        order: &'s Order,
    ) -> impl Iterator<Item = (VertexId, u32)> + 's {
        assert!(
            order.pages.len() == self.pages as usize && order.scattered.len() == self.values.len(),
            "the order is of all vertices"
        );
        let paged = order.pages.iter().flat_map(move |&(page, index)| {
            let (bits, slab_bits) = (self.page_bits, self.slab_bits);
            let place = (index as usize) << bits;
            let states = &self.slabs[place >> slab_bits][place & ((1 << slab_bits) - 1)..];
            let states = &states[..1 << bits];
            (page << bits..).zip(states.iter().copied())
        });
        let scattered = order.scattered.iter();
        paged
            .chain(scattered.map(|&(id, place)| (id, self.values[place as usize])))
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
        for mut states in [States::default(), States::sparse(3)] {
            for (&id, number) in ids.iter().zip(1..) {
                *states.get_mut(id) = number;
            }
            assert_eq!(*states.get_mut(VertexId::new(Tag::Blank, 3)), 0);
            let found: Vec<_> = states.ascending(&states.order()).collect();
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
            let order = states.order();
            let replaced: Vec<u32> = states.ascending(&order).map(|(_, state)| state).collect();
            assert_eq!(replaced, [7; 5]);
        }
    }

    #[test]
    fn sparse_vertices_fill_several_slabs() {
        let mut states = States::sparse(10);
        let ids: Vec<VertexId> = (0..100)
            .map(|n| VertexId::new(Tag::Iri, n * 1000 + 7))
            .collect();
        for (&id, number) in ids.iter().zip(1..) {
            *states.get_mut(id) = number;
        }
        assert_eq!(states.slabs.len(), 100_usize.div_ceil(16));
        let found: Vec<_> = states.ascending(&states.order()).collect();
        let written: Vec<_> = ids.into_iter().zip(1..).collect();
        assert_eq!(found, written);
    }
}
