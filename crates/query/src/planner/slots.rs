//! Sets of slots, as bits: a plan has few slots, and the planner copies and intersects such sets for
//! every block.

use crate::plan::Slot;

/// A set of slots.
#[derive(Clone, Debug, Default)]
pub(super) struct Slots {
    words: Vec<u64>,
}

impl Slots {
    fn place(slot: Slot) -> (usize, u64) {
        (usize::from(slot.0) / 64, 1 << (slot.0 % 64))
    }

    /// Adds a slot; says whether it is new.
    pub(super) fn insert(&mut self, slot: Slot) -> bool {
        let (at, bit) = Slots::place(slot);
        if at >= self.words.len() {
            self.words.resize(at + 1, 0);
        }
        let is_new = self.words[at] & bit == 0;
        self.words[at] |= bit;
        is_new
    }

    pub(super) fn remove(&mut self, slot: Slot) {
        let (at, bit) = Slots::place(slot);
        if let Some(word) = self.words.get_mut(at) {
            *word &= !bit;
        }
    }

    pub(super) fn contains(&self, slot: Slot) -> bool {
        let (at, bit) = Slots::place(slot);
        self.words.get(at).is_some_and(|word| word & bit != 0)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Adds all of another set.
    pub(super) fn add(&mut self, other: &Slots) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (word, more) in self.words.iter_mut().zip(&other.words) {
            *word |= more;
        }
    }

    /// Takes all of another set away.
    pub(super) fn subtract(&mut self, other: &Slots) {
        for (word, less) in self.words.iter_mut().zip(&other.words) {
            *word &= !less;
        }
    }

    /// Leaves what is in both.
    pub(super) fn intersect(&mut self, other: &Slots) {
        self.words.truncate(other.words.len());
        for (word, with) in self.words.iter_mut().zip(&other.words) {
            *word &= with;
        }
    }

    /// What is in either.
    pub(super) fn or(&self, other: &Slots) -> Slots {
        let mut set = self.clone();
        set.add(other);
        set
    }

    /// What is in both.
    pub(super) fn and(&self, other: &Slots) -> Slots {
        let mut set = self.clone();
        set.intersect(other);
        set
    }

    /// What is here and not there.
    pub(super) fn without(&self, other: &Slots) -> Slots {
        let mut set = self.clone();
        set.subtract(other);
        set
    }

    pub(super) fn intersects(&self, other: &Slots) -> bool {
        let mut words = self.words.iter().zip(&other.words);
        words.any(|(a, b)| a & b != 0)
    }

    /// Whether each slot that is in both of the first two is in the third.
    pub(super) fn shared_within(&self, other: &Slots, within: &Slots) -> bool {
        let mut words = self.words.iter().zip(&other.words).enumerate();
        words.all(|(at, (a, b))| a & b & !within.words.get(at).copied().unwrap_or(0) == 0)
    }

    pub(super) fn is_within(&self, other: &Slots) -> bool {
        self.shared_within(self, other)
    }

    /// The slots, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = Slot> + '_ {
        self.words.iter().enumerate().flat_map(|(at, word)| {
            (0..64_u16)
                .filter(move |bit| word >> bit & 1 == 1)
                .map(move |bit| Slot(at as u16 * 64 + bit))
        })
    }

    /// The slots, ascending.
    pub(super) fn to_vec(&self) -> Vec<Slot> {
        self.iter().collect()
    }
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
