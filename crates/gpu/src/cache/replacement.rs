//! Who gives its place on the device up: whose next use is farthest.
//!
//! Between pages that nobody waits for, what they are worth decides ([`super::heat`]). Here it is about the others, and about host pages.
//!
//! Needs of queries that wait are known, in the order in which they use segments, so among what they need the optimal rule can be
//! followed (Belady, IBM Systems Journal 5(2), 1966): the farthest next use goes first. What nobody is known to need goes before
//! all that is needed; among such, of two drawn at random the one that was used longer ago, which needs no list in order and, unlike
//! strict least-recent-use, keeps a part of what is walked again and again in one order.
//!
//! The draws follow from a count alone, so that a run can be repeated.

use std::collections::HashMap;

/// The needs of queries that wait, in the order in which they came.
#[derive(Default)]
pub(crate) struct Coming {
    /// A number for each query, and its segments in the order of their use.
    queries: Vec<(u64, Vec<u32>)>,
    next: u64,
}

impl Coming {
    /// Adds a query; gives its number.
    pub(crate) fn add(&mut self, segments: Vec<u32>) -> u64 {
        self.next += 1;
        self.queries.push((self.next, segments));
        self.next
    }

    /// Takes a query away.
    pub(crate) fn remove(&mut self, query: u64) {
        self.queries.retain(|(number, _)| *number != query);
    }

    /// How far off the next use of each segment is, in uses.
    pub(crate) fn distances(&self) -> HashMap<u32, usize> {
        let mut distances = HashMap::new();
        let uses = self.queries.iter().flat_map(|(_, segments)| segments);
        for (distance, segment) in uses.enumerate() {
            distances.entry(*segment).or_insert(distance);
        }
        distances
    }
}

/// See the head of this file.
#[derive(Default)]
pub(crate) struct Replacement {
    clock: u64,
    drawn: u64,
    used: HashMap<u32, u64>,
}

impl Replacement {
    /// A query begins to use these.
    pub(crate) fn touch(&mut self, segments: impl IntoIterator<Item = u32>) {
        self.clock += 1;
        for segment in segments {
            self.used.insert(segment, self.clock);
        }
    }

    /// How many queries there have been.
    pub(crate) fn now(&self) -> u64 {
        self.clock
    }

    /// For how many queries a segment has not been used.
    pub(crate) fn idle(&self, segment: u32) -> u64 {
        self.clock - self.used.get(&segment).copied().unwrap_or(0)
    }

    /// Which of the candidates goes first.
    pub(crate) fn first_to_go(
        &mut self,
        candidates: &[u32],
        distances: &HashMap<u32, usize>,
    ) -> Option<u32> {
        let unknown: Vec<u32> = candidates
            .iter()
            .copied()
            .filter(|segment| !distances.contains_key(segment))
            .collect();
        if unknown.is_empty() {
            return candidates
                .iter()
                .copied()
                .max_by_key(|segment| distances[segment]);
        }
        let two = [self.draw(unknown.len()), self.draw(unknown.len())];
        two.map(|place| unknown[place])
            .into_iter()
            .max_by_key(|segment| self.idle(*segment))
    }

    /// A place below `count`.
    fn draw(&mut self, count: usize) -> usize {
        self.drawn = self.drawn.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.drawn ^ self.drawn >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed >> 33) as usize % count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_needs_goes_before_what_is_needed_late() {
        let (mut coming, mut replacement) = (Coming::default(), Replacement::default());
        let first = coming.add(vec![1, 2, 3]);
        coming.add(vec![3, 1, 4]);
        replacement.touch([1, 2, 3, 4, 5]);
        let distances = coming.distances();
        assert_eq!(
            replacement.first_to_go(&[1, 2, 3, 4, 5], &distances),
            Some(5)
        );
        assert_eq!(replacement.first_to_go(&[1, 2, 3, 4], &distances), Some(4));
        assert_eq!(replacement.first_to_go(&[1, 2, 3], &distances), Some(3));
        coming.remove(first);
        assert_eq!(
            replacement.first_to_go(&[1, 3], &coming.distances()),
            Some(1)
        );
        assert_eq!(replacement.first_to_go(&[], &distances), None);
    }

    #[test]
    fn of_two_that_are_drawn_the_one_used_longer_ago_goes() {
        let mut replacement = Replacement::default();
        for segment in 0..8 {
            replacement.touch([segment]);
        }
        let candidates: Vec<u32> = (0..8).collect();
        let mut gone = [0; 8];
        for _ in 0..8000 {
            let segment = replacement.first_to_go(&candidates, &HashMap::new());
            gone[segment.expect("there are some") as usize] += 1;
        }
        // The oldest goes if it is drawn at all, 15 times of 64; the newest if it is drawn twice.
        assert!((1600..2200).contains(&gone[0]), "{gone:?}");
        assert!((50..250).contains(&gone[7]), "{gone:?}");
        assert!(gone.is_sorted_by(|a, b| a > b), "{gone:?}");
    }
}
