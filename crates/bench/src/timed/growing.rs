//! The same graph with lists that grow in place: a hash table of vectors, as a store like Wukong's appends to its values.
//!
//! A batch is appended in the order of its times, so a list lies in order of time and a window is found by a search from its
//! end. Appending costs a lookup a row and direction, where [`TimedSegment`](super::TimedSegment) has to be made anew.
//!
//! Invariant: stamps never descend, within a list and over all arrivals.

use super::{Stamp, TimeWindow, TimedEdge, distinct_from};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// One multiplication a key: keys are ids that nobody chooses to collide.
#[derive(Clone, Debug, Default)]
struct Multiplied(u64);

impl Hasher for Multiplied {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64((*byte).into());
        }
    }

    fn write_u64(&mut self, word: u64) {
        let mixed = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

/// One predicate in one direction, with the neighbours of each key in a vector that grows.
#[derive(Clone, Debug, Default)]
pub struct GrowingSegment {
    lists: HashMap<u64, Vec<(u64, Stamp)>, BuildHasherDefault<Multiplied>>,
    arrivals: Vec<(u64, Stamp)>,
}

impl GrowingSegment {
    /// Appends an edge. Asserts that none before it came later.
    pub fn push(&mut self, edge: TimedEdge) {
        let last = self.arrivals.last();
        assert!(
            last.is_none_or(|last| last.1 <= edge.stamp),
            "edges come in the order of their times"
        );
        let list = self.lists.entry(edge.key).or_default();
        list.push((edge.neighbour, edge.stamp));
        self.arrivals.push((edge.key, edge.stamp));
    }

    /// Appends the neighbours of a key that came in a window, distinct and ascending.
    #[inline]
    pub fn list(&self, key: u64, window: TimeWindow, out: &mut Vec<u64>) {
        if let Some(list) = self.lists.get(&key) {
            append(list, window, out);
        }
    }

    /// Appends the keys of which something came in a window, distinct and ascending.
    pub fn keys(&self, window: TimeWindow, out: &mut Vec<u64>) {
        append(&self.arrivals, window, out);
    }

    /// Bytes of memory, what vectors have in reserve included.
    pub fn bytes(&self) -> usize {
        let row = size_of::<(u64, Stamp)>();
        let lists = self.lists.values().map(|list| list.capacity() * row);
        let entry = size_of::<(u64, Vec<(u64, Stamp)>)>() + 1;
        lists.sum::<usize>() + self.lists.capacity() * entry + self.arrivals.capacity() * row
    }
}

#[inline]
fn append(rows: &[(u64, Stamp)], window: TimeWindow, out: &mut Vec<u64>) {
    let begin = out.len();
    let within = window.within(rows, |row| row.1);
    let found = rows[within].iter().filter(|row| window.has(row.1));
    out.extend(found.map(|row| row.0));
    out[begin..].sort_unstable();
    distinct_from(out, begin);
}
