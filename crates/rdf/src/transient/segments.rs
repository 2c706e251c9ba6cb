//! Columns that only grow, in segments that copies share.
//!
//! ```text
//!  full:  | 64 KiB | 64 KiB | 64 KiB |      behind counters, never written again
//!  last:  | 11 KiB |                        a copy has its own
//! ```
//!
//! A checkpoint takes a copy of all transient terms while streams wait, and writes it while they go on. Terms of a minute are
//! tens of megabytes; a copy of these segments is a pointer for each and what the last one has. Nor does growing copy
//! more than a segment.
//!
//! Cost: a look at a segment more than a vector's for each access.

use std::sync::Arc;

/// Bytes of a segment.
const SEGMENT_BYTES: usize = 64 << 10;
/// The first segment grows by one part in so many, and by so many elements at least; the others are whole at once.
const GROWTH_SHARE: usize = 8;
const ROOM_MIN: usize = 256;

/// A column of elements that are found by their places.
#[derive(Clone, Debug)]
pub(super) struct Elements<T> {
    full: Vec<Arc<Vec<T>>>,
    last: Vec<T>,
}

impl<T> Default for Elements<T> {
    fn default() -> Self {
        Elements {
            full: Vec::new(),
            last: Vec::new(),
        }
    }
}

impl<T: Copy> Elements<T> {
    /// Elements of a segment (count); a power of two, so that places are parted by a shift.
    const PER_SEGMENT: usize = {
        let count = SEGMENT_BYTES / size_of::<T>();
        assert!(count.is_power_of_two(), "a place is parted by a shift");
        count
    };

    /// How many.
    pub(super) fn len(&self) -> usize {
        self.full.len() * Self::PER_SEGMENT + self.last.len()
    }

    /// That at a place. Asserts that there is one.
    #[inline]
    pub(super) fn get(&self, place: usize) -> T {
        match self.full.get(place / Self::PER_SEGMENT) {
            Some(segment) => segment[place % Self::PER_SEGMENT],
            None => self.last[place - self.full.len() * Self::PER_SEGMENT],
        }
    }

    /// Adds one behind the others.
    pub(super) fn push(&mut self, element: T) {
        if self.last.len() == Self::PER_SEGMENT {
            let next = Vec::with_capacity(Self::PER_SEGMENT);
            self.full
                .push(Arc::new(std::mem::replace(&mut self.last, next)));
        }
        make_room(&mut self.last, 1, Self::PER_SEGMENT);
        self.last.push(element);
    }

    /// Memory behind it (bytes).
    pub(super) fn bytes(&self) -> usize {
        bytes(&self.full, &self.last)
    }
}

/// Where a run of bytes is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    segment: u32,
    begin: u32,
    len: u32,
}

/// Runs of bytes, none of which is parted by the end of a segment. One that is longer than a segment has one of its own.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    full: Vec<Arc<Vec<u8>>>,
    last: Vec<u8>,
}

impl Runs {
    /// Adds a run behind the others. Asserts that it has less than 4 GiB, as any key.
    pub(super) fn push(&mut self, run: &[u8]) -> Run {
        if !self.last.is_empty() && self.last.len() + run.len() > SEGMENT_BYTES {
            let next = Vec::with_capacity(SEGMENT_BYTES);
            self.full
                .push(Arc::new(std::mem::replace(&mut self.last, next)));
        }
        let begin = self.last.len();
        make_room(&mut self.last, run.len(), SEGMENT_BYTES);
        self.last.extend_from_slice(run);
        let number = |count: usize| u32::try_from(count).expect("keys are below 4 GiB");
        Run {
            segment: number(self.full.len()),
            begin: number(begin),
            len: number(run.len()),
        }
    }

    /// The bytes of a run. Asserts that it is one of these.
    #[inline]
    pub(super) fn get(&self, run: Run) -> &[u8] {
        let segment = match self.full.get(run.segment as usize) {
            Some(segment) => segment,
            None => &self.last,
        };
        &segment[run.begin as usize..][..run.len as usize]
    }

    /// Memory behind it (bytes).
    pub(super) fn bytes(&self) -> usize {
        bytes(&self.full, &self.last)
    }
}

fn bytes<T>(full: &[Arc<Vec<T>>], last: &Vec<T>) -> usize {
    let full = full.iter().map(|segment| segment.capacity());
    (full.sum::<usize>() + last.capacity()) * size_of::<T>()
}

/// Room for `more` behind a segment, and for a share of it: one left to itself would double, and of a table that is
/// swept whenever it has doubled half would never be used.
fn make_room<T>(segment: &mut Vec<T>, more: usize, most: usize) {
    if segment.capacity() - segment.len() < more {
        let share = (segment.len() / GROWTH_SHARE).max(ROOM_MIN);
        let share = share.min(most.saturating_sub(segment.len()));
        segment.reserve_exact(more.max(share));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::random::Random;

    #[test]
    fn elements_are_those_of_a_vector_and_copies_share_them() {
        let (mut elements, mut expected) = (Elements::default(), Vec::new());
        let mut copies = Vec::new();
        for number in 0..20_000_u64 {
            elements.push(number * number);
            expected.push(number * number);
            if number % 5000 == 77 {
                copies.push((elements.clone(), expected.len()));
            }
        }
        copies.push((elements.clone(), expected.len()));
        for (copy, len) in &copies {
            assert_eq!(copy.len(), *len);
            assert!((0..*len).all(|place| copy.get(place) == expected[place]));
        }
        let shared = |copy: &Elements<u64>| Arc::ptr_eq(&copy.full[0], &elements.full[0]);
        assert!(
            copies
                .iter()
                .filter(|it| !it.0.full.is_empty())
                .all(|it| shared(&it.0))
        );
        let bytes = elements.bytes();
        assert_eq!(bytes, 3 * SEGMENT_BYTES, "the last is whole at once");
    }

    #[test]
    fn runs_are_whole_whatever_their_lengths() {
        let mut random = Random::new(3);
        let (mut runs, mut expected) = (Runs::default(), Vec::new());
        for number in 0..3000 {
            let len = match random.below(100) {
                0 => SEGMENT_BYTES + random.below(5) - 2,
                1 => 0,
                _ => random.below(300),
            };
            let run = vec![number as u8; len];
            expected.push((runs.push(&run), run));
        }
        let copy = runs.clone();
        for (place, run) in &expected {
            assert_eq!(copy.get(*place), run);
        }
        assert!(runs.full.len() > 10);
        let held: usize = expected.iter().map(|(_, run)| run.len()).sum();
        assert!((held..3 * held).contains(&runs.bytes()));
    }
}
