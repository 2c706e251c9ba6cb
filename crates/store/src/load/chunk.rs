//! A parsed chunk: its distinct terms and its statements in local numbers.
//!
//! Chunks are numbered in the order of the input, whoever parses them; everything that depends on
//! order (ordinals of terms, numbers of predicates) is settled by (chunk, local number). A chunk is
//! kept in memory or, above the budget, packed in a temporary file, and taken back once by the encoder.
//!
//! ```text
//! statement   [subject, number of the predicate within the chunk, object]   12 bytes
//! ```
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `Chunks::slots` | workers that have parsed a chunk, with the lock; whoever encodes it takes it out | the same |

mod table;
mod term;

pub use table::{Keys, TermTable};
pub use term::{LocalTerm, ORDINAL_KINDS, TermKind};

use super::budget::{Budget, Share};
use super::error::LoadError;
use super::scratch::{Packed, Spill};
use std::sync::{Mutex, PoisonError};

/// A statement but for its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Statement {
    /// The subject.
    pub subject: LocalTerm,
    /// The predicate's number within the chunk.
    pub predicate: u32,
    /// The object.
    pub object: LocalTerm,
}

/// A parsed chunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    /// How many terms of each kind with ordinals.
    pub counts: [u32; ORDINAL_KINDS],
    /// Keys of the IRIs.
    pub iris: Keys,
    /// Keys of the literals.
    pub literals: Keys,
    /// Components of the triple terms, inner ones first.
    pub triples: Vec<[LocalTerm; 3]>,
    /// Bits of the inline ids.
    pub inline: Vec<u64>,
    /// The predicates in order of first appearance as such: which IRI, and its entry in the table
    /// of [`Predicates`](super::predicates::Predicates).
    pub predicates: Vec<(LocalTerm, u32)>,
    /// The statements in order.
    pub statements: Vec<Statement>,
    /// Their graphs; empty where all are in the default graph.
    pub graphs: Vec<LocalTerm>,
}

impl Chunk {
    /// Bytes that it takes in memory.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.iris.bytes)
            + size_of_val(&*self.iris.ends)
            + size_of_val(&*self.literals.bytes)
            + size_of_val(&*self.literals.ends)
            + size_of_val(&*self.triples)
            + size_of_val(&*self.inline)
            + size_of_val(&*self.predicates)
            + size_of_val(&*self.statements)
            + size_of_val(&*self.graphs)
            + size_of::<Chunk>()
    }

    /// Asserts that columns which belong together are equally long.
    fn assert_columns(&self) {
        let [iris, _, literals, triples] = self.counts.map(|count| count as usize);
        assert_eq!(
            (self.iris.len(), self.literals.len(), self.triples.len()),
            (iris, literals, triples),
            "a key or components for each term that is counted"
        );
        assert!(
            self.graphs.is_empty() || self.graphs.len() == self.statements.len(),
            "a graph for each statement, or for none"
        );
        assert!(
            self.predicates.len() <= iris,
            "each predicate is an IRI of the chunk"
        );
    }
}

/// All parsed chunks of a load by number.
pub struct Chunks<'l> {
    slots: Mutex<Vec<Option<Stored>>>,
    spill: Spill<'l>,
    share: Share<'l>,
}

enum Stored {
    Kept(Box<Chunk>),
    Spilled(Box<SpilledChunk>),
}

/// Where each part of a chunk lies in the file.
struct SpilledChunk {
    counts: [u32; ORDINAL_KINDS],
    iris: (Packed, Packed),
    literals: (Packed, Packed),
    triples: Packed,
    inline: Packed,
    predicates: Packed,
    statements: Packed,
    graphs: Packed,
}

impl<'l> Chunks<'l> {
    /// No chunks yet; those above the budget go to `spill`.
    pub fn new(spill: Spill<'l>, budget: &'l Budget) -> Chunks<'l> {
        Chunks {
            slots: Mutex::default(),
            spill,
            share: budget.share(),
        }
    }

    /// Number of chunks, which are numbered from 0 without gaps once all are parsed.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Keeps a chunk under its number, once (asserted).
    pub fn put(&self, number: u32, chunk: Chunk) -> Result<(), LoadError> {
        chunk.assert_columns();
        let bytes = chunk.bytes();
        let stored = if self.share.charge(bytes) {
            Stored::Kept(Box::new(chunk))
        } else {
            self.share.release(bytes);
            Stored::Spilled(Box::new(self.write_out(&chunk)?))
        };
        let mut slots = self.lock();
        let number = number as usize;
        if slots.len() <= number {
            slots.resize_with(number + 1, || None);
        }
        let before = slots[number].replace(stored);
        assert!(before.is_none(), "each chunk is put once");
        Ok(())
    }

    /// Gives a chunk back, once.
    pub fn take(&self, number: usize) -> Result<Chunk, LoadError> {
        let stored = self.lock()[number]
            .take()
            .expect("each chunk is put and taken once");
        match stored {
            Stored::Kept(chunk) => {
                self.share.release(chunk.bytes());
                Ok(*chunk)
            }
            Stored::Spilled(spilled) => self.read_back(&spilled),
        }
    }

    fn write_out(&self, chunk: &Chunk) -> Result<SpilledChunk, LoadError> {
        let predicates: Vec<[u32; 2]> = chunk
            .predicates
            .iter()
            .map(|(term, entry)| [term.bits(), *entry])
            .collect();
        Ok(SpilledChunk {
            counts: chunk.counts,
            iris: self.write_keys(&chunk.iris)?,
            literals: self.write_keys(&chunk.literals)?,
            triples: self.spill.write_packed(&chunk.triples)?,
            inline: self.spill.write_packed(&chunk.inline)?,
            predicates: self.spill.write_packed(&predicates)?,
            statements: self.spill.write_packed(&chunk.statements)?,
            graphs: self.spill.write_packed(&chunk.graphs)?,
        })
    }

    fn write_keys(&self, keys: &Keys) -> Result<(Packed, Packed), LoadError> {
        Ok((
            self.spill.write_packed(&keys.bytes)?,
            self.spill.write_packed(&keys.ends)?,
        ))
    }

    fn read_back(&self, spilled: &SpilledChunk) -> Result<Chunk, LoadError> {
        let predicates: Vec<[u32; 2]> = self.spill.read_packed(spilled.predicates)?;
        let predicates = predicates
            .into_iter()
            .map(|[term, entry]| (LocalTerm::from_bits(term), entry))
            .collect();
        Ok(Chunk {
            counts: spilled.counts,
            iris: self.read_keys(spilled.iris)?,
            literals: self.read_keys(spilled.literals)?,
            triples: self.spill.read_packed(spilled.triples)?,
            inline: self.spill.read_packed(spilled.inline)?,
            predicates,
            statements: self.spill.read_packed(spilled.statements)?,
            graphs: self.spill.read_packed(spilled.graphs)?,
        })
    }

    fn read_keys(&self, extents: (Packed, Packed)) -> Result<Keys, LoadError> {
        Ok(Keys {
            bytes: self.spill.read_packed(extents.0)?,
            ends: self.spill.read_packed(extents.1)?,
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Option<Stored>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::scratch::tests::MemoryScratch;

    #[test]
    fn chunks_come_back_from_memory_and_from_the_file() {
        let term = LocalTerm::new(TermKind::Triple, 3);
        let keys = Keys {
            bytes: b"abc".to_vec(),
            ends: vec![1, 3],
        };
        let chunk = Chunk {
            counts: [2, 1, 2, 1],
            iris: keys.clone(),
            literals: keys,
            triples: vec![[term; 3]],
            inline: vec![7, 8, 9],
            predicates: vec![(term, 5)],
            statements: vec![
                Statement {
                    subject: term,
                    predicate: 0,
                    object: term
                };
                300_000
            ],
            graphs: [vec![LocalTerm::NONE; 299_999], vec![term]].concat(),
        };
        for packs_from in [0, 100_000, u64::MAX] {
            come_back(&chunk, packs_from);
        }
    }

    fn come_back(chunk: &Chunk, packs_from: u64) {
        let budget = Budget::new(Some(16 << 20));
        let scratch = MemoryScratch::default();
        let spill = Spill::new(&scratch, "c").packing_from(packs_from);
        let chunks = Chunks::new(spill, &budget);
        for number in [2, 0, 1] {
            chunks.put(number, chunk.clone()).unwrap();
        }
        assert_eq!(chunks.len(), 3);
        assert!(budget.peak_bytes() <= 2 * chunk.bytes() as u64);
        for number in 0..3 {
            assert_eq!(chunks.take(number).unwrap(), *chunk);
        }
    }
}
