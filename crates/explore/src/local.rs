//! Terms that exist in one query only: constants of its text that the store does not hold, and terms
//! that it computes.
//!
//! Such a term matches no pattern, but expressions see it and it may travel to the result. Its id
//! carries [`Tag::QueryLocal`] and indexes this table. Invariant: equal terms have one id, so that
//! equality of ids stays equality of terms within the query. So a computed term gets an inline id
//! where [`rdf::inline`] has one, else the dictionary's, which is the caller's to ask first, else an id
//! of this table.
//!
//! Shared by the workers of a query: appending takes a lock, reading takes none, and a term stays
//! where it is until the query ends. Every term is drawn on the query's budget.

use crate::error::WalkError;
use crate::limits::{Limits, MemoryBudget};
use hashbrown::HashTable;
use oxrdf::{Term, TermRef};
use rdf::{Tag, VertexId};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

/// Bytes of a term's entry besides its text: the cell, the index, and what allocators add.
const ENTRY_BYTES: u64 = 128;

/// The table; see the module's documentation.
pub struct LocalTerms<'a> {
    terms: boxcar::Vec<Term>,
    index: Mutex<Index>,
    memory: &'a dyn MemoryBudget,
}

struct Index {
    numbers: HashTable<u32>,
    /// Bytes reserved.
    bytes: u64,
}

impl<'a> LocalTerms<'a> {
    /// An empty table that draws on this budget.
    pub(crate) fn new(limits: Limits<'a>) -> LocalTerms<'a> {
        LocalTerms {
            terms: boxcar::Vec::new(),
            index: Mutex::new(Index {
                numbers: HashTable::new(),
                bytes: 0,
            }),
            memory: limits.memory,
        }
    }

    /// The id of `term`, new or known. Expected O(1). The caller has found that neither an inline id
    /// nor the dictionary has it.
    pub(crate) fn id_of(&self, term: TermRef<'_>) -> Result<VertexId, WalkError> {
        // A thread that panicked here has ended the query; what is in the table is whole.
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        self.add(&mut index, hash(term), term)
    }

    /// Appends the id of each of these terms, as [`LocalTerms::id_of`] gives it, under one lock.
    pub(crate) fn ids_of<'t>(
        &self,
        terms: impl Iterator<Item = TermRef<'t>>,
        ids: &mut Vec<VertexId>,
    ) -> Result<(), WalkError> {
        let hashed: Vec<(u64, TermRef<'t>)> = terms.map(|term| (hash(term), term)).collect();
        if hashed.is_empty() {
            return Ok(());
        }
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        for (hash, term) in hashed {
            ids.push(self.add(&mut index, hash, term)?);
        }
        Ok(())
    }

    fn add(&self, index: &mut Index, hash: u64, term: TermRef<'_>) -> Result<VertexId, WalkError> {
        let is_same = |&at: &u32| self.at(at).is_some_and(|known| known.as_ref() == term);
        if let Some(&at) = index.numbers.find(hash, is_same) {
            return Ok(VertexId::new(Tag::QueryLocal, u64::from(at)));
        }
        let bytes = ENTRY_BYTES + text_bytes(term);
        self.memory
            .try_reserve(bytes)
            .map_err(|refused| WalkError::OutOfMemory {
                limit_bytes: refused.limit_bytes,
                used_bytes: refused.used_bytes,
            })?;
        index.bytes += bytes;
        let at = u32::try_from(self.terms.push(term.into_owned()))
            .map_err(|_| WalkError::TooManyRows)?;
        let rehash = |&at: &u32| self.at(at).map_or(0, |known| self::hash(known.as_ref()));
        index.numbers.insert_unique(hash, at, rehash);
        Ok(VertexId::new(Tag::QueryLocal, u64::from(at)))
    }

    /// The term of an id of this table; `None` for any other id.
    pub fn term(&self, id: VertexId) -> Option<&Term> {
        if !id.has_tag(Tag::QueryLocal) {
            return None;
        }
        self.terms.get(usize::try_from(id.payload()).ok()?)
    }

    fn at(&self, number: u32) -> Option<&Term> {
        self.terms.get(number as usize)
    }
}

impl Drop for LocalTerms<'_> {
    fn drop(&mut self) {
        let index = self.index.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.memory.release(index.bytes);
    }
}

/// Bytes of a term's text.
pub(crate) fn text_bytes(term: TermRef<'_>) -> u64 {
    match term {
        TermRef::NamedNode(iri) => iri.as_str().len() as u64,
        TermRef::BlankNode(blank) => blank.as_str().len() as u64,
        TermRef::Literal(literal) => {
            (literal.value().len() + literal.datatype().as_str().len()) as u64
        }
        TermRef::Triple(triple) => {
            let ends = [triple.subject.as_ref().into(), triple.object.as_ref()];
            let nested: u64 = ends.into_iter().map(text_bytes).sum();
            nested + triple.predicate.as_str().len() as u64 + ENTRY_BYTES
        }
    }
}

fn hash(term: TermRef<'_>) -> u64 {
    let mut hasher = DefaultHasher::new();
    term.hash(&mut hasher);
    hasher.finish()
}
