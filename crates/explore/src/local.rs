//! Terms that exist in one query only: constants of its text that the store does not hold.
//!
//! Such a term matches no pattern, but filters see it and it may travel to the result. Its id
//! carries [`Tag::QueryLocal`] and indexes this table. Invariant: equal terms have one id, so that
//! equality of ids stays equality of terms within the query.
//!
//! What a query computes will join this table (`BIND`, aggregates): an inline id where
//! [`rdf::inline`] has one, else the dictionary's, which is the caller's to ask, else an id of this
//! table.

use hashbrown::HashTable;
use oxrdf::Term;
use rdf::{Tag, VertexId};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The table; see the module's documentation.
#[derive(Debug, Default)]
pub struct LocalTerms<'a> {
    terms: Vec<&'a Term>,
    index: HashTable<u32>,
}

impl<'a> LocalTerms<'a> {
    /// The id of `term`, new or known. Expected O(1).
    pub(crate) fn id_of(&mut self, term: &'a Term) -> VertexId {
        let terms = &self.terms;
        let known = self
            .index
            .find(hash(term), |&at| terms[at as usize] == term)
            .copied();
        let at = known.unwrap_or_else(|| self.append(term));
        VertexId::new(Tag::QueryLocal, u64::from(at))
    }

    /// The term of an id of this table; `None` for any other id.
    pub fn term(&self, id: VertexId) -> Option<&'a Term> {
        if !id.has_tag(Tag::QueryLocal) {
            return None;
        }
        self.terms.get(usize::try_from(id.payload()).ok()?).copied()
    }

    fn append(&mut self, term: &'a Term) -> u32 {
        let at = u32::try_from(self.terms.len()).expect("a query text has fewer constants");
        self.terms.push(term);
        let terms = &self.terms;
        self.index
            .insert_unique(hash(term), at, |&at| hash(terms[at as usize]));
        at
    }
}

fn hash(term: &Term) -> u64 {
    let mut hasher = DefaultHasher::new();
    term.hash(&mut hasher);
    hasher.finish()
}
