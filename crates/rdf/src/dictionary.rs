//! The dictionary: between terms and ids, both ways, from files that are mapped.
//!
//! Each kind of term with text (IRIs, literals, RDF 1.2 triple terms) has a dense sequence of
//! ordinals by first appearance, and so a stream of its own:
//!
//! ```text
//!                 id -> term                              term -> id
//! IRIs            keys: coded by 16, offsets: 5 B a 16    index: hash -> ordinal
//! literals        keys: coded by 16, offsets: 5 B a 16    index: hash -> ordinal
//! triple terms    records of 24 bytes                     index: hash -> ordinal
//! blank nodes     the number is the label: b0, b1, ...    the same
//! inline values   the id is the value (`rdf::inline`)     the same
//! ```
//!
//! Invariant: a term has one key ([`crate::key`]), a key one ordinal, so equality of ids is
//! equality of terms. Keys are in order of ordinals and not of text, so that things described
//! together decode together and loading needs no renumbering.
//!
//! Cost on LUBM-160 and how the layout was chosen: docs/decisions/2026-11-21-dictionary-layout.md.
//! All files are written front to back with memory for one block ([`StreamWriter`],
//! [`RecordWriter`], [`IndexWriter`]) and opened in constant time; blocks are verified at first
//! touch, and bytes that match their checksum are still not trusted: nothing read here can panic
//! or take memory out of proportion.
//!
//! Files do not change. Where terms come while others are read, a [`LiveDictionary`] keeps the new
//! ones in memory over them, a [`DictionaryView`] is what a reader sees of both, and
//! [`Dictionary::continue_keys`] writes both as the files of the next generation. What a node of a cluster has of a
//! dictionary is a [part](part).

mod arena;
mod builder;
mod check;
mod entry;
mod error;
mod format;
mod grown;
mod index;
mod intern;
mod live;
mod lookup;
mod merge;
#[cfg(all(test, feature = "model"))]
mod model;
pub mod part;
mod records;
mod scan;
mod slots;
mod stream;
mod table;
#[cfg(test)]
mod tests;
mod view;

pub use builder::{BuildError, DictionaryBuilder};
pub use check::{DictionaryFault, FaultKind};
pub use error::{FormatProblem, GrowError, MergeError, OpenError, WriteError};
pub use index::{IndexWriter, key_hash};
pub use live::LiveDictionary;
pub use records::RecordWriter;
pub use scan::KeyScan;
pub use stream::{StreamStats, StreamWriter};
pub use table::KeyBatch;
pub use view::{DictionaryView, ViewScan};

use crate::id::{Tag, VertexId};
use crate::lexicon::LexiconError;
use format::FileScope;
use index::HashIndex;
use memory::CheckedRegion;
use records::Records;
use std::sync::Arc;
use stream::KeyStream;
use table::{Keys, Table};

/// The longest key: 1 GiB. Longer terms are refused when they are written.
pub const KEY_BYTES_MAX: usize = 1 << 30;
/// How deep triple terms may hold one another. The loader refuses deeper ones: terms are built and
/// dropped by recursion, which must not exhaust a thread's stack.
pub const TRIPLE_TERM_DEPTH_MAX: usize = 64;
/// What stands before the number in a blank node's label.
const BLANK_PREFIX: &str = "b";

/// The files of a kind of term with text.
#[derive(Clone, Debug)]
pub struct TextFiles {
    /// What [`StreamWriter`] wrote to its first output.
    pub keys: Arc<CheckedRegion>,
    /// What [`StreamWriter`] wrote to its second output.
    pub offsets: Arc<CheckedRegion>,
    /// What [`IndexWriter`] wrote.
    pub index: Arc<CheckedRegion>,
}

/// The files of the triple terms.
#[derive(Clone, Debug)]
pub struct TripleTermFiles {
    /// What [`RecordWriter`] wrote.
    pub records: Arc<CheckedRegion>,
    /// What [`IndexWriter`] wrote.
    pub index: Arc<CheckedRegion>,
}

/// All that a dictionary consists of.
#[derive(Clone, Debug)]
pub struct DictionaryFiles {
    /// The IRIs.
    pub iris: TextFiles,
    /// The literals that are not inline values.
    pub literals: TextFiles,
    /// The triple terms.
    pub triple_terms: TripleTermFiles,
    /// Number of blank nodes, of which nothing else is stored.
    pub blank_nodes: u64,
}

/// Number of terms of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TermCounts {
    /// IRIs.
    pub iris: u64,
    /// Blank nodes.
    pub blank_nodes: u64,
    /// Literals that are not inline values.
    pub literals: u64,
    /// Triple terms.
    pub triple_terms: u64,
}

impl TermCounts {
    /// The number of terms of a kind, 0 where it is not counted.
    #[inline]
    pub fn of(&self, kind: Tag) -> u64 {
        match kind {
            Tag::Iri => self.iris,
            Tag::Blank => self.blank_nodes,
            Tag::Literal => self.literals,
            Tag::TripleTerm => self.triple_terms,
            _ => 0,
        }
    }

    /// The blank node that a dictionary of so many gives this label, if there is one.
    pub fn blank_node(&self, label: &str) -> Option<VertexId> {
        let number = lookup::blank_number(label);
        let number = number.filter(|&number| number < self.blank_nodes);
        number.map(|number| VertexId::new(Tag::Blank, number))
    }

    /// Of each kind the greater number: what somebody sees who sees both.
    #[must_use]
    pub fn or_more(&self, other: TermCounts) -> TermCounts {
        TermCounts {
            iris: self.iris.max(other.iris),
            blank_nodes: self.blank_nodes.max(other.blank_nodes),
            literals: self.literals.max(other.literals),
            triple_terms: self.triple_terms.max(other.triple_terms),
        }
    }
}

/// An opened dictionary: the local [`Lexicon`](crate::Lexicon). Shared between threads as it is.
#[derive(Debug)]
pub struct Dictionary {
    iris: Table<KeyStream>,
    literals: Table<KeyStream>,
    triple_terms: Table<Records>,
    blank_nodes: u64,
}

impl Dictionary {
    /// A dictionary of no term, in memory.
    pub fn empty() -> Result<Dictionary, BuildError> {
        DictionaryBuilder::new().finish()
    }

    /// Opens a dictionary. Reads the headers of its files and no more; O(1).
    pub fn open(files: DictionaryFiles) -> Result<Dictionary, OpenError> {
        let triple_terms = files.triple_terms;
        Ok(Dictionary {
            iris: open_text(Tag::Iri, files.iris)?,
            literals: open_text(Tag::Literal, files.literals)?,
            triple_terms: Table::new(
                Records::open(FileScope::Whole, triple_terms.records)?,
                HashIndex::open(Tag::TripleTerm, FileScope::Whole, triple_terms.index)?,
            )?,
            blank_nodes: files.blank_nodes,
        })
    }

    /// Number of terms of each kind.
    pub fn counts(&self) -> TermCounts {
        TermCounts {
            iris: self.iris.keys.count(),
            blank_nodes: self.blank_nodes,
            literals: self.literals.keys.count(),
            triple_terms: self.triple_terms.keys.count(),
        }
    }

    /// The keys of one kind from an ordinal on, in order: for a merge, a dump or a check. Kinds
    /// without text have none.
    pub fn keys(&self, kind: Tag, from_ordinal: u64) -> KeyScan<'_> {
        KeyScan::new(self, kind, from_ordinal)
    }

    /// Appends to `ordinals`, for each key in order, its ordinal among the terms of this kind, or
    /// `None` where it is not stored. Kinds without text store none. Batched as `Lexicon::ids` is.
    pub fn find(
        &self,
        kind: Tag,
        keys: &KeyBatch,
        ordinals: &mut Vec<Option<u64>>,
    ) -> Result<(), LexiconError> {
        let first = ordinals.len();
        ordinals.resize(first + keys.len(), None);
        self.find_each(kind, keys, |position, ordinal| {
            ordinals[first + position] = Some(ordinal);
        })
    }

    /// Calls `found` with the position in the batch and the ordinal of each key that is stored, in
    /// order of positions.
    fn find_each(
        &self,
        kind: Tag,
        keys: &KeyBatch,
        found: impl FnMut(usize, u64),
    ) -> Result<(), LexiconError> {
        match kind {
            Tag::Iri => self.iris.find(keys, found),
            Tag::Literal => self.literals.find(keys, found),
            Tag::TripleTerm => self.triple_terms.find(keys, found),
            _ => Ok(()),
        }
    }

    /// The files, in a fixed order: what a scrubber verifies.
    pub fn files(&self) -> Vec<&Arc<CheckedRegion>> {
        let mut files = self.iris.keys.files();
        files.push(self.iris.index.file());
        files.extend(self.literals.keys.files());
        files.push(self.literals.index.file());
        files.extend(self.triple_terms.keys.files());
        files.push(self.triple_terms.index.file());
        files
    }
}

fn open_text(kind: Tag, files: TextFiles) -> Result<Table<KeyStream>, OpenError> {
    let scope = FileScope::Whole;
    let keys = KeyStream::open(kind, scope, files.keys, files.offsets)?;
    Table::new(keys, HashIndex::open(kind, scope, files.index)?)
}
