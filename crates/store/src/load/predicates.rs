//! Predicates of a load: one entry per IRI that stands as a predicate, numbered at the end.
//!
//! Threads enter the predicates of each chunk when they have parsed it, in any order; an entry
//! remembers the smallest (chunk, place in the chunk's list), which is the first appearance as a
//! predicate. Sorted by that, entries become [`PredicateId`]s: `rdf:type` is 1 wherever it appears,
//! the others count from 2.
//!
//! Cost: a lock per chunk, a hash per predicate of the chunk. Entries stay in memory: a load with
//! 100,000 distinct predicates holds some 10 MB of them.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `Predicates::inner` | workers, once a chunk, with its lock | the same; alone when numbers are given |

use super::error::LoadError;
use hashbrown::HashTable;
use rdf::PredicateId;
use std::sync::{Mutex, PoisonError};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The text of `rdf:type`.
pub const RDF_TYPE: &[u8] = b"http://www.w3.org/1999/02/22-rdf-syntax-ns#type";

/// One more than the largest predicate number.
const NUMBERS_MAX: u32 = u32::MAX;

/// A predicate that was met.
#[derive(Clone, Debug)]
pub struct Entry {
    iri: Box<[u8]>,
    /// Where it is met first as a predicate: chunk, place in the chunk's list.
    first: (u32, u32),
    /// How many statements have it, repetitions included.
    rows: u64,
}

/// The growing table; see the module's documentation.
pub struct Predicates {
    seed: u64,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    places: HashTable<u32>,
    entries: Vec<Entry>,
}

impl Predicates {
    /// No predicates; hashes depend on the seed.
    pub fn new(seed: u64) -> Predicates {
        Predicates {
            seed,
            inner: Mutex::default(),
        }
    }

    /// Enters a chunk's predicates, in order of first appearance as such, with their number of
    /// statements, and gives the entry of each.
    pub fn enter<'k, I>(&self, chunk: u32, predicates: I) -> Vec<u32>
    where
        I: Iterator<Item = (&'k [u8], u64)>,
    {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let inner = &mut *inner;
        let mut given = Vec::new();
        for (place, (iri, rows)) in predicates.enumerate() {
            let first = (chunk, place as u32);
            let entries = &mut inner.entries;
            let hash = xxh3_64_with_seed(iri, self.seed);
            let rehash = |&at: &u32| xxh3_64_with_seed(&entries[at as usize].iri, self.seed);
            let found = inner
                .places
                .entry(hash, |&at| *entries[at as usize].iri == *iri, rehash);
            let at = *found.or_insert(entries.len() as u32).get();
            if at as usize == entries.len() {
                entries.push(Entry {
                    iri: iri.into(),
                    first,
                    rows,
                });
            } else {
                let entry = &mut entries[at as usize];
                entry.rows += rows;
                entry.first = entry.first.min(first);
            }
            given.push(at);
        }
        given
    }

    /// Gives out the numbers, when every chunk has been entered.
    pub fn number(self) -> Result<Numbered, LoadError> {
        let inner = self
            .inner
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let entries = inner.entries;
        if entries.len() >= (NUMBERS_MAX - PredicateId::FIRST_FREE.0) as usize {
            return Err(LoadError::TooManyPredicates(NUMBERS_MAX));
        }
        let mut order: Vec<u32> = (0..entries.len() as u32).collect();
        order.sort_unstable_by_key(|&at| entries[at as usize].first);
        let mut numbers = vec![PredicateId::TYPE; entries.len()];
        let mut rows = vec![0; PredicateId::FIRST_FREE.0 as usize];
        for at in order {
            let entry = &entries[at as usize];
            if *entry.iri == *RDF_TYPE {
                rows[PredicateId::TYPE.0 as usize] = entry.rows;
            } else {
                numbers[at as usize] = PredicateId(rows.len() as u32);
                rows.push(entry.rows);
            }
        }
        assert_eq!(
            rows.iter().sum::<u64>(),
            entries.iter().map(|entry| entry.rows).sum::<u64>(),
            "each predicate has a number of its own"
        );
        Ok(Numbered { numbers, rows })
    }
}

/// Numbers of predicates.
pub struct Numbered {
    /// By entry.
    pub numbers: Vec<PredicateId>,
    /// Number of statements, repetitions included, by [`PredicateId`].
    pub rows: Vec<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_by_first_appearance_whoever_enters_first() {
        let predicates = Predicates::new(1);
        let enter = |chunk, iris: &[&str]| {
            predicates.enter(chunk, iris.iter().map(|iri| (iri.as_bytes(), 10)))
        };
        let rdf_type = str::from_utf8(RDF_TYPE).unwrap();
        let later = enter(1, &["c", "b", rdf_type]);
        let earlier = enter(0, &["b", "a"]);
        assert_eq!(later[1], earlier[0]);
        let numbered = predicates.number().unwrap();
        let number = |at: u32| numbered.numbers[at as usize].0;
        assert_eq!(
            later.iter().map(|&at| number(at)).collect::<Vec<_>>(),
            [4, 2, 1]
        );
        assert_eq!(number(earlier[1]), 3);
        assert_eq!(numbered.rows, [0, 10, 20, 10, 10]);
    }
}
