//! A number per vertex while a graph is written: which set has it so far?
//!
//! Dictionary kinds have dense ordinals, so their numbers lie in pages of 4,096, four bytes a
//! vertex; keys arrive ascending within a segment, so the page is nearly always the last one used.
//! Inline values are scattered and live in a hash table. 0 means "nothing yet".

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use rdf::VertexId;

const PAGE_BITS: u32 = 12;
const PAGE: usize = 1 << PAGE_BITS;

/// Numbers by vertex.
#[derive(Default)]
pub(crate) struct States {
    /// Page number (id >> 12) -> index in `pages`.
    directory: HashMap<u64, u32>,
    pages: Vec<Box<[u32; PAGE]>>,
    last: Option<(u64, u32)>,
    scattered: HashMap<u64, u32>,
}

impl States {
    /// Whether no vertex has been asked for.
    pub(crate) fn is_empty(&self) -> bool {
        self.pages.is_empty() && self.scattered.is_empty()
    }

    /// The number of a vertex, to be read and changed.
    #[inline]
    pub(crate) fn get_mut(&mut self, vertex: VertexId) -> &mut u32 {
        if vertex.tag().is_some_and(rdf::Tag::is_inline) {
            return self.scattered.entry(vertex.bits()).or_insert(0);
        }
        let page = vertex.bits() >> PAGE_BITS;
        let index = match self.last {
            Some((last, index)) if last == page => index,
            _ => self.find(page),
        };
        &mut self.pages[index as usize][vertex.bits() as usize % PAGE]
    }

    fn find(&mut self, page: u64) -> u32 {
        let index = match self.directory.entry(page) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                self.pages.push(Box::new([0; PAGE]));
                *entry.insert(self.pages.len() as u32 - 1)
            }
        };
        self.last = Some((page, index));
        index
    }

    /// Replaces every number that is not 0.
    pub(crate) fn replace_all(&mut self, number: u32) {
        let pages = self.pages.iter_mut().flat_map(|page| page.iter_mut());
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
            let states = self.pages[index as usize].iter().enumerate();
            states.map(move |(place, &state)| (page << PAGE_BITS | place as u64, state))
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
        let mut states = States::default();
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
        assert!(states.ascending().count() == 5 && states.ascending().all(|(_, state)| state == 7));
    }
}
