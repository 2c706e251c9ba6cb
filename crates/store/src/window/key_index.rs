//! An index of the keys of one predicate and direction of a window, over all its slices.
//!
//! A list of a window of ten slices is ten binary searches and a merge. Where a window is asked for many lists, by one query over
//! many rows or by a thousand queries with a start point each, all keys are gathered once instead: a hash table leads to
//! a key's neighbours, which stand in one place, in order and each once. This is what the stream index of Wukong+S (SOSP'17,
//! section 4.2) is for, made where it pays.
//!
//! **When.** Each window counts what was searched. When as many searches were made as there are keys in its slices, the index
//! is made; so the two together cost at most about twice what the better of them alone would have. Windows of one slice
//! have nothing to gather, and those of more than [`ROWS_MAX`] rows would not stay in the caches.
//!
//! Invariant: only segments whose rows are all of the default graph are gathered, so a list is the same in all scopes that have
//! that graph and do not bind it.
//!
//! Cost: two cache misses a key of a slice to make it, and one a list to ask it; some 16 bytes a key, 8 bytes an edge.

use crate::slice::SliceSegment;
use rdf::VertexId;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// A window with more rows of a predicate has no index of it: 2 MiB of neighbours.
const ROWS_MAX: usize = 1 << 18;

/// Fibonacci hashing: the golden ratio in 64 bits.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The index of a predicate and direction, once it pays.
#[derive(Debug, Default)]
pub(super) struct LazyIndex {
    /// With so many searches it pays; 0: never.
    keys: u32,
    /// Binary searches that were made.
    searches: AtomicU32,
    made: OnceLock<Option<KeyIndex>>,
}

/// See the head of this file.
#[derive(Debug)]
pub(super) struct KeyIndex {
    /// By hash, the number of a key and one more; 0: nothing. A power of two, half of it empty at least.
    table: Vec<u32>,
    shift: u32,
    keys: Vec<VertexId>,
    /// By key, where its neighbours begin; one more at the end.
    starts: Vec<u32>,
    neighbours: Vec<VertexId>,
}

impl LazyIndex {
    /// That of segments which have so many keys, one after the other.
    pub(super) fn new(keys: impl ExactSizeIterator<Item = u32>) -> LazyIndex {
        let is_gathered = keys.len() > 1;
        LazyIndex {
            keys: if is_gathered { keys.sum() } else { 0 },
            ..LazyIndex::default()
        }
    }

    /// The index, if it was made before or so many further searches make it pay.
    #[inline]
    pub(super) fn paying<'s, R>(
        &self,
        searches: usize,
        runs: impl FnOnce() -> R,
    ) -> Option<&KeyIndex>
    where
        R: Iterator<Item = SliceSegment<'s>> + Clone,
    {
        if let Some(made) = self.made.get() {
            return made.as_ref();
        }
        if self.keys == 0 {
            return None;
        }
        let more = u32::try_from(searches).unwrap_or(u32::MAX);
        let before = self.searches.fetch_add(more, Ordering::Relaxed);
        if before.saturating_add(more) < self.keys {
            return None;
        }
        self.made.get_or_init(|| KeyIndex::of(runs())).as_ref()
    }

    /// What it holds (bytes).
    pub(super) fn bytes(&self) -> u64 {
        let made = self.made.get().and_then(Option::as_ref);
        made.map_or(0, KeyIndex::bytes)
    }
}

impl KeyIndex {
    fn bytes(&self) -> u64 {
        let words = self.table.capacity() + self.starts.capacity();
        let ids = self.keys.capacity() + self.neighbours.capacity();
        (words * size_of::<u32>() + ids * size_of::<VertexId>()) as u64
    }

    /// That of these segments, each of one slice; `None` where it would be too large, or one of them names a graph.
    fn of<'s>(runs: impl Iterator<Item = SliceSegment<'s>> + Clone) -> Option<KeyIndex> {
        let keys: usize = runs.clone().map(|run| run.keys_count() as usize).sum();
        let rows: usize = runs.clone().map(|run| run.rows_count() as usize).sum();
        if rows > ROWS_MAX || !runs.clone().all(|run| run.is_plain()) {
            return None;
        }
        let slots = (2 * keys).next_power_of_two();
        let mut index = KeyIndex {
            table: vec![0; slots],
            shift: u64::BITS - slots.trailing_zeros(),
            keys: Vec::new(),
            starts: Vec::new(),
            neighbours: Vec::new(),
        };
        let numbers = index.count(runs.clone(), keys);
        index.gather(runs, &numbers, rows);
        Some(index)
    }

    /// Numbers the keys, in `starts` how many rows each has. The numbers of the keys of all segments, one after the other.
    fn count<'s>(&mut self, runs: impl Iterator<Item = SliceSegment<'s>>, keys: usize) -> Vec<u32> {
        let mut numbers = Vec::with_capacity(keys);
        let mut of_run = Vec::new();
        for run in runs {
            of_run.clear();
            run.append_keys(&mut of_run);
            for (ordinal, &key) in (0_u32..).zip(&of_run) {
                let slot = self.slot(key);
                let number = match self.table[slot] {
                    0 => {
                        self.keys.push(key);
                        self.starts.push(0);
                        self.table[slot] = self.keys.len() as u32;
                        self.keys.len() - 1
                    }
                    known => known as usize - 1,
                };
                self.starts[number] += run.rows(ordinal).len() as u32;
                numbers.push(number as u32);
            }
        }
        numbers
    }

    /// Puts all neighbours where they belong.
    fn gather<'s>(
        &mut self,
        runs: impl Iterator<Item = SliceSegment<'s>>,
        numbers: &[u32],
        rows: usize,
    ) {
        let mut sum = 0;
        for start in &mut self.starts {
            sum += std::mem::replace(start, sum);
        }
        self.starts.push(sum);
        let mut ends = self.starts.clone();
        let mut gathered = vec![VertexId::from_bits(0); rows];
        let mut of_run = Vec::new();
        let mut numbers = numbers.iter();
        for run in runs {
            of_run.clear();
            run.append_neighbours(0..run.rows_count(), &mut of_run);
            for (ordinal, &number) in (0..run.keys_count()).zip(numbers.by_ref()) {
                let rows = run.rows(ordinal);
                let end = &mut ends[number as usize];
                let to = *end as usize..*end as usize + rows.len();
                gathered[to].copy_from_slice(&of_run[rows.start as usize..rows.end as usize]);
                *end += rows.len() as u32;
            }
        }
        self.neighbours = gathered;
        self.unite();
    }

    /// Neighbours of a key ascend from now on, each once.
    fn unite(&mut self) {
        let mut kept = 0;
        let mut begin = self.starts[0] as usize;
        for number in 0..self.keys.len() {
            let end = self.starts[number + 1] as usize;
            let list = &mut self.neighbours[begin..end];
            if !list.is_sorted_by(|one, next| one < next) {
                // The stable sort merges the runs of the slices.
                list.sort();
            }
            let first = kept;
            for at in begin..end {
                let neighbour = self.neighbours[at];
                if kept == first || self.neighbours[kept - 1] != neighbour {
                    self.neighbours[kept] = neighbour;
                    kept += 1;
                }
            }
            begin = end;
            self.starts[number + 1] = kept as u32;
        }
        self.neighbours.truncate(kept);
    }

    /// Where a key is in the table, or would be.
    #[inline]
    fn slot(&self, key: VertexId) -> usize {
        let mask = self.table.len() - 1;
        let hash = key.bits().wrapping_mul(GOLDEN);
        let mut slot = hash.checked_shr(self.shift).unwrap_or(0) as usize;
        loop {
            match self.table[slot] {
                0 => return slot,
                number if self.keys[number as usize - 1] == key => return slot,
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    /// The neighbours of a key, ascending, each once.
    #[inline]
    pub(super) fn list(&self, key: VertexId) -> &[VertexId] {
        match self.table[self.slot(key)] {
            0 => &[],
            number => {
                let number = number as usize;
                &self.neighbours[self.starts[number - 1] as usize..self.starts[number] as usize]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slice::Slice;
    use crate::view::GraphScope;
    use rdf::{Direction, Tag};
    use std::collections::{BTreeMap, BTreeSet};
    use testkit::random::Random;

    fn id(number: usize) -> VertexId {
        VertexId::new(Tag::Iri, number as u64)
    }

    /// Random slices that repeat each other: lists are those of a map, whatever was searched before.
    #[test]
    fn lists_are_those_of_all_slices() {
        let mut random = Random::new(5);
        for _ in 0..200 {
            let keys = random.between(1, 60);
            let mut lists: BTreeMap<VertexId, BTreeSet<VertexId>> = BTreeMap::new();
            let mut slice = || {
                let mut quad = || {
                    let [key, other] = [id(random.below(keys) * 3000), id(random.below(40))];
                    lists.entry(key).or_default().insert(other);
                    (key, id(7), other, GraphScope::DEFAULT_GRAPH)
                };
                let quads: Vec<_> = (0..40).map(|_| quad()).collect();
                Slice::of(&quads)
            };
            let slices: Vec<Slice> = (0..4).map(|_| slice()).collect();
            let runs = slices.iter().map(|it| it.segment(Direction::Out, 0));
            let counts: Vec<u32> = runs.clone().map(|run| run.keys_count()).collect();
            let all = counts.iter().sum::<u32>() as usize;
            let lazy = LazyIndex::new(counts.into_iter());
            assert!(lazy.paying(all - 1, || runs.clone()).is_none());
            assert_eq!(lazy.bytes(), 0);
            let index = lazy.paying(1, || runs).expect("it pays");
            assert!(lazy.bytes() >= 8 * index.neighbours.len() as u64);
            for number in 0..=3000 * keys {
                let known = lists.get(&id(number));
                assert!(
                    index
                        .list(id(number))
                        .iter()
                        .eq(known.into_iter().flatten())
                );
            }
        }
    }

    #[test]
    fn rows_of_graphs_are_not_gathered() {
        let [in_graph, plain] = [id(9), GraphScope::DEFAULT_GRAPH];
        let slice = |graph| Slice::of(&[(id(1), id(7), id(2), graph)]);
        let slices = [slice(in_graph), slice(plain)];
        let runs = slices.iter().map(|it| it.segment(Direction::Out, 0));
        let lazy = LazyIndex::new([1, 1].into_iter());
        assert!(lazy.paying(1000, || runs.clone()).is_none());
        let lazy = LazyIndex::new([1].into_iter());
        let one = || runs.clone().skip(1);
        assert!(lazy.paying(1000, one).is_none(), "one slice is searched");
    }
}
