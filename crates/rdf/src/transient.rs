//! Terms that die: ids for what only windows over streams hold.
//!
//! The dictionary never forgets. Positions of 2,000 people ten times a second would grow it by 30 GB a day, for data that
//! lives a second. So terms that no stored graph has get ids of transient tags from a table in memory, and are dropped
//! when nothing names them any more.
//!
//! ```text
//!  id 10:7 ---- number 7 ----> entries   | .. | IRI "http://e/p7" | .. |       by number, ascending
//!  key of a term --- hash ---> index     entry of that key                     one table for each kind
//! ```
//!
//! **One id.** A term has at most one transient id, and numbers are given once: an id that was dropped comes never back.
//! Whoever gives ids looks a term up in the dictionary first, so a term that is stored keeps the id that it has.
//!
//! **Stored later.** A term of the table may come into the dictionary, by whatever way. [`TransientTerms::stored_since`]
//! finds out which have, from the keys that are new there. The holder of ids then puts the new ones into the place of
//! the old ones ([`Renamed`]), and the table forgets the terms. So a term has one id at any time, and nobody has to
//! compare two.
//!
//! **Dropped.** The table does not count who names what: a mention would cost more than a term. When it has grown enough
//! ([`TransientTerms::is_due`]) the holder of ids is asked for all that it names, and the rest goes
//! ([`TransientTerms::sweep`]). Between two sweeps the table grows by its own size at most, or by a share of what
//! the holder holds, so a sweep costs a constant for each term that came since the last one.
//!
//! Blank nodes need no entry: a number is their text. Inline values are their own.
//!
//! Cost: the bytes of a key and some 40 more a term; a hash and a look at the key to find one.

mod segments;
mod table;
#[cfg(test)]
mod tests;
mod triple;
mod view;

pub use view::TransientView;

use crate::dictionary::{DictionaryView, GrowError, KEY_BYTES_MAX, KeyBatch, TermCounts};
use crate::id::{Tag, VertexId};
use crate::key;
use crate::lexicon::{Lexicon, LexiconError};
use crate::terms::TermBuffer;
use oxrdf::TermRef;
use std::collections::HashMap;
use table::{Kind, TermTable};

/// A table below this size is not swept (bytes).
const SMALL_BYTES: u64 = 256 << 10;
/// The table may grow by this share of what names its terms before it is swept: a sweep looks at all of that.
const NAMING_SHARE: u64 = 8;
/// Keys that are looked up in the dictionary together.
const KEYS_ASKED: usize = 1024;

/// Who brought a term: its bytes are counted there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TermHolder(pub u32);

/// The table; see the module's documentation.
#[derive(Debug, Default)]
pub struct TransientTerms {
    table: TermTable,
    /// Bytes of terms after the last sweep.
    swept_bytes: u64,
    /// The key of the term that is looked at.
    key: Vec<u8>,
}

/// Ids in place of others: terms that were transient and are stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Renamed {
    ids: HashMap<VertexId, VertexId>,
    /// The least number of a term among them.
    oldest: u64,
}

impl Renamed {
    /// Whether nothing is renamed.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// No term with a lower number is renamed. Numbers ascend by first appearance.
    pub fn oldest(&self) -> u64 {
        self.oldest
    }

    /// The new id, or the one that it is.
    #[inline]
    pub fn of(&self, id: VertexId) -> VertexId {
        if id.is_transient() {
            self.ids.get(&id).copied().unwrap_or(id)
        } else {
            id
        }
    }

    /// Says that a transient id becomes another one.
    pub fn add(&mut self, from: VertexId, to: VertexId) {
        assert!(
            from.is_transient() && !to.is_transient(),
            "a term becomes stored, and stays so"
        );
        let number = from.payload();
        self.oldest = if self.ids.is_empty() {
            number
        } else {
            self.oldest.min(number)
        };
        self.ids.insert(from, to);
    }
}

impl TransientTerms {
    /// No term yet.
    pub fn new() -> TransientTerms {
        TransientTerms::default()
    }

    /// The terms of all ids that are here, as they are now, and no ids of terms. What comes later is not there, and what goes is:
    /// keys are shared. O(1) for each 64 KiB of it.
    #[must_use]
    pub fn by_id(&self) -> TransientTerms {
        TransientTerms {
            table: self.table.by_number(),
            ..TransientTerms::default()
        }
    }

    /// How many terms it has, those included that nothing names any more (count).
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory that it holds.
    pub fn bytes(&self) -> u64 {
        self.table.bytes()
    }

    /// Bytes of the terms that a holder brought, as they were named first.
    pub fn bytes_of(&self, holder: TermHolder) -> u64 {
        self.table.bytes_of(holder)
    }

    /// The id of a term; a term that has none gets the next one. The caller has found that the term is not stored and has
    /// no id without a table, as blank nodes and inline values have. Errors: a term that could not be stored either.
    pub fn intern(&mut self, term: TermRef<'_>, holder: TermHolder) -> Result<VertexId, GrowError> {
        let TransientTerms { table, key, .. } = self;
        key.clear();
        let Some(kind) = key_of(term, key)? else {
            let label = term.to_string();
            return Err(GrowError::UnknownBlank { label, count: 0 });
        };
        if key.len() > KEY_BYTES_MAX {
            return Err(GrowError::KeyTooLong { bytes: key.len() });
        }
        let number = match table.find(kind, key) {
            Some(number) => number,
            None => table.add(kind, key, holder),
        };
        Ok(VertexId::new(kind.tag(), number))
    }

    /// The id of a term, if it has one here.
    pub fn find(&self, term: TermRef<'_>) -> Option<VertexId> {
        if self.is_empty() {
            return None;
        }
        let mut key = Vec::new();
        // A term that is nested too deep has no id.
        let kind = key_of(term, &mut key).ok().flatten()?;
        let number = self.table.find(kind, &key)?;
        Some(VertexId::new(kind.tag(), number))
    }

    /// Appends the term of an id.
    pub(crate) fn append(&self, id: VertexId, terms: &mut TermBuffer) -> Result<(), LexiconError> {
        let unknown = || LexiconError::UnknownId(id);
        let kind = id.tag().and_then(Kind::of_tag).ok_or_else(unknown)?;
        let key = self.table.key(id.payload()).ok_or_else(unknown)?;
        match kind {
            Kind::Iri => terms.push_iri(str::from_utf8(key).map_err(|_| unknown())?),
            Kind::Literal => key::decode_literal(key, terms).map_err(|_| unknown())?,
            Kind::Triple => terms.push_triple(triple::decode(key).ok_or_else(unknown)?),
        }
        Ok(())
    }

    /// The terms that are in the dictionary by now, as far as the view sees it: each with the id that it has there. `from`:
    /// the counts of the view that was looked at last. Cost: O(new terms of the dictionary), or O(terms here) where
    /// these are fewer.
    pub fn stored_since(
        &self,
        view: &DictionaryView,
        from: TermCounts,
    ) -> Result<Renamed, LexiconError> {
        let mut renamed = Renamed::default();
        for (kind, stored) in [(Kind::Iri, Tag::Iri), (Kind::Literal, Tag::Literal)] {
            let here = self.table.len_of(kind) as u64;
            let new = view.counts().of(stored).saturating_sub(from.of(stored));
            if here > 0 && new > here {
                self.looked_up(kind, stored, view, &mut renamed)?;
            } else if here > 0 && new > 0 {
                self.scanned(kind, stored, view, from.of(stored), &mut renamed)?;
            }
        }
        if self.table.len_of(Kind::Triple) > 0 {
            self.scanned_triples(view, from.triple_terms, &mut renamed)?;
        }
        Ok(renamed)
    }

    /// Looks at the keys that are new in the dictionary.
    fn scanned(
        &self,
        kind: Kind,
        stored: Tag,
        view: &DictionaryView,
        from: u64,
        renamed: &mut Renamed,
    ) -> Result<(), LexiconError> {
        let mut scan = view.keys(stored, from);
        loop {
            let ordinal = scan.ordinal();
            let Some(key) = scan.next_key()? else {
                return Ok(());
            };
            if let Some(number) = self.table.find(kind, key) {
                let id = VertexId::new(kind.tag(), number);
                renamed.add(id, VertexId::new(stored, ordinal));
            }
        }
    }

    /// Looks for the keys that are here in the dictionary.
    fn looked_up(
        &self,
        kind: Kind,
        stored: Tag,
        view: &DictionaryView,
        renamed: &mut Renamed,
    ) -> Result<(), LexiconError> {
        let numbers: Vec<u64> = self.table.numbers(kind).collect();
        let (mut batch, mut ordinals) = (KeyBatch::new(), Vec::new());
        for numbers in numbers.chunks(KEYS_ASKED) {
            batch.clear();
            ordinals.clear();
            for number in numbers {
                let key = self.table.key(*number);
                batch.push(key.expect("a number of the index is in the table"));
            }
            view.find(stored, &batch, &mut ordinals)?;
            for (number, ordinal) in numbers.iter().zip(&ordinals) {
                if let Some(ordinal) = ordinal {
                    let id = VertexId::new(kind.tag(), *number);
                    renamed.add(id, VertexId::new(stored, *ordinal));
                }
            }
        }
        Ok(())
    }

    /// A triple term's key in the dictionary is made of ids, and here of texts.
    fn scanned_triples(
        &self,
        view: &DictionaryView,
        from: u64,
        renamed: &mut Renamed,
    ) -> Result<(), LexiconError> {
        let mut terms = TermBuffer::new();
        for ordinal in from..view.counts().triple_terms {
            let stored = VertexId::new(Tag::TripleTerm, ordinal);
            terms.clear();
            view.terms(&[stored], &mut terms)?;
            if let Some(id) = terms.get(0).and_then(|term| self.find(term)) {
                renamed.add(id, stored);
            }
        }
        Ok(())
    }

    /// Forgets terms that have other ids now: nobody may name the old ones any more.
    pub fn forget(&mut self, renamed: &Renamed) {
        for id in renamed.ids.keys() {
            let kind = id.tag().and_then(Kind::of_tag);
            let kind = kind.expect("only transient ids are renamed");
            self.table.unlist(kind, id.payload());
        }
    }

    /// Whether a sweep is due, where what names terms holds so many bytes.
    pub fn is_due(&self, naming_bytes: u64) -> bool {
        let growth = self.table.used_bytes().saturating_sub(self.swept_bytes);
        growth > SMALL_BYTES && growth > self.swept_bytes.max(naming_bytes / NAMING_SHARE)
    }

    /// Whether so many terms came since the last sweep that another one may drop a good share of them.
    pub fn has_grown(&self) -> bool {
        let growth = self.table.used_bytes().saturating_sub(self.swept_bytes);
        growth > self.swept_bytes / NAMING_SHARE
    }

    /// Drops all terms but those that `name_all` names, and gives their memory back. Asserts that those are here. Cost:
    /// O(terms), and a look for each name.
    pub fn sweep(&mut self, name_all: impl FnOnce(&mut dyn FnMut(VertexId))) {
        let mut is_named = vec![false; self.table.places()];
        name_all(&mut |id| {
            if id.is_transient() {
                let place = self.table.place(id.payload());
                is_named[place.expect("what is named was not dropped")] = true;
            }
        });
        self.table.keep(&is_named);
        self.swept_bytes = self.table.used_bytes();
    }
}

/// Appends the key of a term; `None` for one that has an id without a table.
fn key_of(term: TermRef<'_>, key: &mut Vec<u8>) -> Result<Option<Kind>, GrowError> {
    Ok(Some(match term {
        TermRef::NamedNode(iri) => {
            key.extend_from_slice(iri.as_str().as_bytes());
            Kind::Iri
        }
        TermRef::Literal(literal) => {
            key::encode_literal(literal, key);
            Kind::Literal
        }
        TermRef::Triple(parts) => {
            triple::encode(parts, key)?;
            Kind::Triple
        }
        TermRef::BlankNode(_) => return Ok(None),
    }))
}
