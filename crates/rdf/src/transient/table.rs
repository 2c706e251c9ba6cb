//! The entries of transient terms: keys by number, and numbers by key.
//!
//! ```text
//!  survivors:  3 | 8 | 9          numbers of the entries that the last sweep left, ascending
//!  entries:    3 | 8 | 9 | 17 | 18 | 19     since then numbers follow one another from 17 on
//!  keys:       the bytes of all keys, one behind the other    (in segments that copies share: `segments`)
//! ```
//!
//! Entries are added behind one another and go in sweeps alone, which write those that stay anew. So the place of a new
//! number is a subtraction, that of an old one a binary search, and memory is given back in whole.

use super::segments::{Elements, Run, Runs};
use super::{TermHolder, VertexId};
use crate::dictionary::key_hash;
use crate::id::Tag;
use hashbrown::HashTable;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Bytes that a term takes beside its key, about: its entry, and its places in the index and among the survivors.
pub(super) const ENTRY_BYTES: u64 = 40;

/// What kind of term an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Iri = 0,
    Literal = 1,
    Triple = 2,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Iri, Kind::Literal, Kind::Triple];

    pub(super) fn tag(self) -> Tag {
        match self {
            Kind::Iri => Tag::TransientIri,
            Kind::Literal => Tag::TransientLiteral,
            Kind::Triple => Tag::TransientTriple,
        }
    }

    pub(super) fn of_tag(tag: Tag) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.tag() == tag)
    }
}

/// A term: where its key is, and who brought it.
#[derive(Clone, Copy, Debug)]
struct Entry {
    key: Run,
    holder: TermHolder,
}

/// See the head of this file.
#[derive(Debug, Default)]
pub(super) struct TermTable {
    survivors: Arc<Vec<u64>>,
    /// The number of the first entry behind the survivors.
    first: u64,
    entries: Elements<Entry>,
    keys: Runs,
    /// The place of each key, by kind.
    index: [HashTable<u32>; 3],
    held: BTreeMap<TermHolder, u64>,
    /// The sum over holders.
    used_bytes: u64,
}

impl TermTable {
    /// The same entries by their numbers, and none by its key. O(segments).
    pub(super) fn by_number(&self) -> TermTable {
        TermTable {
            survivors: Arc::clone(&self.survivors),
            first: self.first,
            entries: self.entries.clone(),
            keys: self.keys.clone(),
            ..TermTable::default()
        }
    }

    /// Terms that can be found.
    pub(super) fn len(&self) -> usize {
        self.index.iter().map(HashTable::len).sum()
    }

    /// Those of one kind.
    pub(super) fn len_of(&self, kind: Kind) -> usize {
        self.index[kind as usize].len()
    }

    /// Entries, those of terms included that were forgotten since the last sweep.
    pub(super) fn places(&self) -> usize {
        self.entries.len()
    }

    /// Bytes of memory held.
    pub(super) fn bytes(&self) -> u64 {
        let index: usize = self.index.iter().map(HashTable::allocation_size).sum();
        let bytes = self.survivors.capacity() * size_of::<u64>()
            + self.entries.bytes()
            + self.keys.bytes()
            + index;
        bytes as u64
    }

    /// Bytes of all terms, without room for more.
    pub(super) fn used_bytes(&self) -> u64 {
        self.used_bytes
    }

    /// Bytes of the terms that a holder brought.
    pub(super) fn bytes_of(&self, holder: TermHolder) -> u64 {
        self.held.get(&holder).copied().unwrap_or_default()
    }

    /// The place of a number, if its entry is there.
    #[inline]
    pub(super) fn place(&self, number: u64) -> Option<usize> {
        match number.checked_sub(self.first) {
            Some(behind) => {
                let place = self.survivors.len() + usize::try_from(behind).ok()?;
                (place < self.entries.len()).then_some(place)
            }
            None => self.survivors.binary_search(&number).ok(),
        }
    }

    /// The key of a number, if its entry is there.
    pub(super) fn key(&self, number: u64) -> Option<&[u8]> {
        Some(self.key_at(self.place(number)?))
    }

    /// The number of a key.
    pub(super) fn find(&self, kind: Kind, key: &[u8]) -> Option<u64> {
        let is_same = |place: &u32| self.key_at(*place as usize) == key;
        let place = self.index[kind as usize].find(key_hash(key), is_same)?;
        Some(self.number(*place as usize))
    }

    /// Adds a key that is not there; gives its number. Asserts that there are fewer than 2^32: a stream's budget is far
    /// below.
    pub(super) fn add(&mut self, kind: Kind, key: &[u8], holder: TermHolder) -> u64 {
        let place = self.entries.len();
        let number = self.number(place);
        assert!(number < VertexId::PAYLOAD_MAX, "numbers last for ever");
        self.push(kind, key, holder);
        number
    }

    /// A key is found no more. Its entry stays until the next sweep.
    pub(super) fn unlist(&mut self, kind: Kind, number: u64) {
        let Some(place) = self.place(number) else {
            return;
        };
        let hash = key_hash(self.key_at(place));
        let found = self.index[kind as usize].find_entry(hash, |other| *other as usize == place);
        if let Ok(found) = found {
            found.remove();
        }
    }

    /// The numbers of one kind that can be found, in any order.
    pub(super) fn numbers(&self, kind: Kind) -> impl Iterator<Item = u64> {
        let places = self.index[kind as usize].iter();
        places.map(|place| self.number(*place as usize))
    }

    /// Keeps the entries of these places alone.
    pub(super) fn keep(&mut self, is_kept: &[bool]) {
        assert_eq!(is_kept.len(), self.entries.len(), "each place is judged");
        let kept: usize = is_kept.iter().map(|kept| usize::from(*kept)).sum();
        if kept == self.entries.len() {
            return;
        }
        let mut kinds = vec![None; self.entries.len()];
        for kind in Kind::ALL {
            for place in &self.index[kind as usize] {
                kinds[*place as usize] = Some(kind);
            }
        }
        let next = self.number(self.entries.len());
        let mut smaller = TermTable {
            first: next,
            ..TermTable::default()
        };
        let mut survivors = Vec::with_capacity(kept);
        for place in (0..self.entries.len()).filter(|place| is_kept[*place]) {
            let (key, holder) = (self.key_at(place), self.entries.get(place).holder);
            let kind = kinds[place].expect("what is named can be found");
            survivors.push(self.number(place));
            smaller.push(kind, key, holder);
        }
        smaller.survivors = Arc::new(survivors);
        *self = smaller;
    }

    /// Adds an entry behind the others.
    fn push(&mut self, kind: Kind, key: &[u8], holder: TermHolder) {
        self.entries.push(Entry {
            key: self.keys.push(key),
            holder,
        });
        let bytes = key.len() as u64 + ENTRY_BYTES;
        *self.held.entry(holder).or_default() += bytes;
        self.used_bytes += bytes;
        let TermTable {
            index,
            entries,
            keys,
            ..
        } = self;
        let place = entries.len() - 1;
        let hash = |place: usize| key_hash(keys.get(entries.get(place).key));
        let number = u32::try_from(place).expect("a table has fewer than 2^32 terms");
        index[kind as usize].insert_unique(hash(place), number, |other| hash(*other as usize));
    }

    fn number(&self, place: usize) -> u64 {
        match self.survivors.get(place) {
            Some(number) => *number,
            None => self.first + (place - self.survivors.len()) as u64,
        }
    }

    fn key_at(&self, place: usize) -> &[u8] {
        self.keys.get(self.entries.get(place).key)
    }
}
