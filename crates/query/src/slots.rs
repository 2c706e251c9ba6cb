//! Sets of slots, as bits: a query has few slots, and lowering and planner copy and intersect such sets for every
//! group. The first 64 slots, which are all that most queries have, take no memory of their own.

use crate::node::Slot;

/// A set of slots.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots {
    /// Slots 0 to 63.
    first: u64,
    /// 64 further ones each.
    others: Vec<u64>,
}

impl Slots {
    fn place(slot: Slot) -> (usize, u64) {
        (usize::from(slot.0) / 64, 1 << (slot.0 % 64))
    }

    fn word(&self, at: usize) -> u64 {
        match at.checked_sub(1) {
            None => self.first,
            Some(at) => self.others.get(at).copied().unwrap_or(0),
        }
    }

    /// Adds a slot; says whether it is new.
    pub(crate) fn insert(&mut self, slot: Slot) -> bool {
        let (at, bit) = Slots::place(slot);
        let word = match at.checked_sub(1) {
            None => &mut self.first,
            Some(at) => {
                if at >= self.others.len() {
                    self.others.resize(at + 1, 0);
                }
                &mut self.others[at]
            }
        };
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    pub(crate) fn remove(&mut self, slot: Slot) {
        let (at, bit) = Slots::place(slot);
        match at.checked_sub(1) {
            None => self.first &= !bit,
            Some(at) => {
                if let Some(word) = self.others.get_mut(at) {
                    *word &= !bit;
                }
            }
        }
    }

    pub(crate) fn contains(&self, slot: Slot) -> bool {
        let (at, bit) = Slots::place(slot);
        self.word(at) & bit != 0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first == 0 && self.others.iter().all(|word| *word == 0)
    }

    /// Adds all of another set.
    pub(crate) fn add(&mut self, other: &Slots) {
        self.first |= other.first;
        if self.others.len() < other.others.len() {
            self.others.resize(other.others.len(), 0);
        }
        for (word, more) in self.others.iter_mut().zip(&other.others) {
            *word |= more;
        }
    }

    /// Takes all of another set away.
    pub(crate) fn subtract(&mut self, other: &Slots) {
        self.first &= !other.first;
        for (word, less) in self.others.iter_mut().zip(&other.others) {
            *word &= !less;
        }
    }

    /// Leaves what is in both.
    pub(crate) fn intersect(&mut self, other: &Slots) {
        self.first &= other.first;
        self.others.truncate(other.others.len());
        for (word, with) in self.others.iter_mut().zip(&other.others) {
            *word &= with;
        }
    }

    /// What is in either.
    pub(crate) fn or(&self, other: &Slots) -> Slots {
        let mut set = self.clone();
        set.add(other);
        set
    }

    /// What is in both.
    pub(crate) fn and(&self, other: &Slots) -> Slots {
        let mut set = self.clone();
        set.intersect(other);
        set
    }

    /// What is here and not there.
    pub(crate) fn without(&self, other: &Slots) -> Slots {
        let mut set = self.clone();
        set.subtract(other);
        set
    }

    pub(crate) fn intersects(&self, other: &Slots) -> bool {
        let mut words = self.others.iter().zip(&other.others);
        self.first & other.first != 0 || words.any(|(a, b)| a & b != 0)
    }

    /// Whether each slot that is in both of the first two is in the third.
    pub(crate) fn shared_within(&self, other: &Slots, within: &Slots) -> bool {
        let is_within = |at: usize| self.word(at) & other.word(at) & !within.word(at) == 0;
        (0..=self.others.len()).all(is_within)
    }

    pub(crate) fn is_within(&self, other: &Slots) -> bool {
        self.shared_within(self, other)
    }

    /// The slots, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Slot> + '_ {
        (0..=self.others.len())
            .flat_map(|at| bits(self.word(at)).map(move |bit| Slot(at as u16 * 64 + bit)))
    }

    /// The slots, ascending.
    pub(crate) fn to_vec(&self) -> Vec<Slot> {
        let words = std::iter::once(&self.first).chain(&self.others);
        let length: u32 = words.map(|word| word.count_ones()).sum();
        let mut slots = Vec::with_capacity(length as usize);
        slots.extend(self.iter());
        slots
    }
}

/// The numbers of the bits that are set, ascending.
fn bits(mut word: u64) -> impl Iterator<Item = u16> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros() as u16;
        let is_any = word != 0;
        word &= word.wrapping_sub(1);
        is_any.then_some(bit)
    })
}

impl FromIterator<Slot> for Slots {
    fn from_iter<I: IntoIterator<Item = Slot>>(slots: I) -> Slots {
        let mut set = Slots::default();
        for slot in slots {
            set.insert(slot);
        }
        set
    }
}

impl Extend<Slot> for Slots {
    fn extend<I: IntoIterator<Item = Slot>>(&mut self, slots: I) {
        for slot in slots {
            self.insert(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn slots(list: &[u16]) -> impl Iterator<Item = Slot> {
        list.iter().copied().map(Slot)
    }

    /// What sets of small and of large slots do is what sets do.
    #[test]
    fn sets_are_sets() {
        let lists: [&[u16]; 7] = [
            &[],
            &[0],
            &[3, 5, 63],
            &[64],
            &[3, 64, 200],
            &[5, 63, 127, 128, 1000],
            &[0, 3, 63, 64, 65, 200],
        ];
        for left in lists {
            for right in lists {
                let sets = [left, right].map(|list| slots(list).collect::<Slots>());
                let known = [left, right].map(|list| slots(list).collect::<BTreeSet<Slot>>());
                let same = |set: Slots, of: Vec<Slot>| {
                    assert_eq!(set.to_vec(), of, "{left:?} {right:?}");
                    assert_eq!(set.is_empty(), of.is_empty());
                    assert!(of.iter().all(|slot| set.contains(*slot)));
                };
                let [a, b] = &sets;
                let [x, y] = &known;
                same(a.or(b), x.union(y).copied().collect());
                same(a.and(b), x.intersection(y).copied().collect());
                same(a.without(b), x.difference(y).copied().collect());
                assert_eq!(a.intersects(b), !x.is_disjoint(y));
                assert_eq!(a.is_within(b), x.is_subset(y));
                let mut less = a.clone();
                slots(right).for_each(|slot| less.remove(slot));
                same(less, x.difference(y).copied().collect());
            }
        }
    }
}
