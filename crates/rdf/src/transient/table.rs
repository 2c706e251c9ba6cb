//! The entries of transient terms: keys by number, and numbers by key.
//!
//! ```text
//!  survivors:  3 | 8 | 9          numbers of the entries that the last sweep left, ascending
//!  entries:    3 | 8 | 9 | 17 | 18 | 19     since then numbers follow one another from 17 on
//!  keys:       the bytes of all keys, one behind the other
//! ```
//!
//! Entries are added behind one another and go in sweeps alone, which write those that stay anew. So the place of a new
//! number is a subtraction, that of an old one a binary search, and memory is given back in whole.

use super::{TermHolder, VertexId};
use crate::dictionary::key_hash;
use crate::id::Tag;
use hashbrown::HashTable;
use std::collections::BTreeMap;

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

/// A column grows by one part in so many; each element is copied so many times on average.
const GROWTH_SHARE: usize = 8;
/// And by so many elements at least.
const ROOM_MIN: usize = 256;

/// A term: where its key ends, and who brought it.
#[derive(Clone, Copy, Debug)]
struct Entry {
    end: usize,
    holder: TermHolder,
}

/// See the head of this file.
#[derive(Clone, Debug, Default)]
pub(super) struct TermTable {
    survivors: Vec<u64>,
    /// The number of the first entry behind the survivors.
    first: u64,
    entries: Vec<Entry>,
    keys: Vec<u8>,
    /// The place of each key, by kind.
    index: [HashTable<u32>; 3],
    held: BTreeMap<TermHolder, u64>,
    /// The sum over holders.
    used_bytes: u64,
}

impl TermTable {
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
            + self.entries.capacity() * size_of::<Entry>()
            + self.keys.capacity()
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
        let bytes = (0..self.entries.len()).filter(|place| is_kept[*place]);
        let bytes: usize = bytes.map(|place| self.key_at(place).len()).sum();
        let mut smaller = TermTable {
            survivors: Vec::with_capacity(kept),
            first: next,
            entries: Vec::with_capacity(kept),
            keys: Vec::with_capacity(bytes),
            ..TermTable::default()
        };
        for place in (0..self.entries.len()).filter(|place| is_kept[*place]) {
            let (key, holder) = (self.key_at(place), self.entries[place].holder);
            let kind = kinds[place].expect("what is named can be found");
            smaller.survivors.push(self.number(place));
            smaller.push(kind, key, holder);
        }
        *self = smaller;
    }

    /// Adds an entry behind the others.
    fn push(&mut self, kind: Kind, key: &[u8], holder: TermHolder) {
        make_room(&mut self.keys, key.len());
        self.keys.extend_from_slice(key);
        let end = self.keys.len();
        make_room(&mut self.entries, 1);
        self.entries.push(Entry { end, holder });
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
        let hash = |place: usize| key_hash(key_of(entries, keys, place));
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
        key_of(&self.entries, &self.keys, place)
    }
}

/// Room for `more` behind a column, and for a share of it: a vector left to itself would double, and of a table that is
/// swept whenever it has doubled half would never be used.
fn make_room<T>(column: &mut Vec<T>, more: usize) {
    if column.capacity() - column.len() < more {
        let share = column.len() / GROWTH_SHARE;
        column.reserve_exact(more.max(share).max(ROOM_MIN));
    }
}

fn key_of<'k>(entries: &[Entry], keys: &'k [u8], place: usize) -> &'k [u8] {
    let start = place.checked_sub(1).map_or(0, |before| entries[before].end);
    &keys[start..entries[place].end]
}
