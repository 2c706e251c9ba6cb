//! A node's part of a dictionary that a cluster shares: the texts of the ids, and the ids of the hashes, that it owns.
//!
//! ```text
//!                      by id: the node owns the id's block           by hash: the node owns the hash of the key
//! IRIs, literals       keys, offsets     place -> key                keys, offsets   place -> key
//!                                                                    index           hash  -> place
//!                                                                    ordinals        place -> ordinal
//! triple terms         records           place -> three ids          records, index, ordinals
//! blank nodes          their number, which every node knows          the same
//! ```
//!
//! The two halves are independent: the [placement](crate::placement) deals out blocks of ordinals and slots of hashes, so a
//! term's text and its id are mostly at two nodes. Both halves are tables by *place*: a key's place is the number of keys
//! before it, in the order of ordinals, that the half has. From ordinal to place by id is arithmetic ([`owned`]);
//! from place to ordinal by hash is a column ([`ordinals`]).
//!
//! Invariant: each term is in one node's half by id and in one node's half by hash; what a node has follows from its
//! head alone ([`head`]). So a node that does not own an id or a key says so ([`PartLookupError`]), and "no such term" is
//! said by the owner only. A half answers by itself: the half by hash compares whole keys, as a whole dictionary does.
//! A hash of 128 bits in their place would be smaller where keys share little, but wrong for data that was made to
//! collide, or else secret; asking the owner of the id would cost a round of messages. What each costs:
//! docs/decisions/2026-11-26-part-dictionary.md.
//!
//! Parts are [cut](cut_texts) out of a whole dictionary, one of which may have [grown](super::LiveDictionary); a part
//! itself does not change. Files as those of a whole dictionary: written front to back, opened in constant time, verified at
//! first touch, never trusted.

mod check;
mod cut;
mod error;
mod head;
mod lookup;
mod ordinals;
mod owned;
mod place;

pub use check::{HashedProblem, PartFault, check_parts};
pub use cut::{CutError, CutPair, CutPart, cut_head, cut_in_memory, cut_records, cut_texts};
pub use error::PartLookupError;
pub use place::{HASHED_FILES, HashedFile, HashedPlace, LocatedTerms, Misplaced};

use super::format::FileScope;
use super::index::{HashIndex, key_hash};
use super::records::Records;
use super::stream::KeyStream;
use super::table::{Keys, Table};
use super::{FormatProblem, OpenError, TermCounts};
use crate::id::{Tag, VertexId};
use crate::placement::Placement;
use head::PartHead;
use memory::CheckedRegion;
use ordinals::Ordinals;
use owned::OwnedOrdinals;
use std::sync::Arc;

/// The files of the keys of one kind of text in a part: outputs of a cut, or what was written there.
#[derive(Clone, Debug)]
pub struct PartKeyFiles<F = Arc<CheckedRegion>> {
    /// Keys by id.
    pub keys: F,
    /// Offsets of their blocks.
    pub offsets: F,
    /// Keys by hash.
    pub hashed_keys: F,
    /// Offsets of their blocks.
    pub hashed_offsets: F,
    /// Ordinals of the keys by hash.
    pub ordinals: F,
}

/// The files of the triple terms of a part, without their index.
#[derive(Clone, Debug)]
pub struct PartRecordFiles<F = Arc<CheckedRegion>> {
    /// Records by id.
    pub records: F,
    /// Records by hash.
    pub hashed_records: F,
    /// Ordinals of the records by hash.
    pub ordinals: F,
}

/// All that a part of a dictionary consists of. An index is what [`IndexWriter::of_part`](super::IndexWriter::of_part)
/// wrote.
#[derive(Clone, Debug)]
pub struct PartDictionaryFiles<F = Arc<CheckedRegion>> {
    /// Whose part it is.
    pub head: F,
    /// Keys of the IRIs.
    pub iris: PartKeyFiles<F>,
    /// From hashes to IRIs.
    pub iri_index: F,
    /// Keys of the literals that are not inline values.
    pub literals: PartKeyFiles<F>,
    /// From hashes to literals.
    pub literal_index: F,
    /// The triple terms.
    pub triple_terms: PartRecordFiles<F>,
    /// From hashes to triple terms.
    pub triple_term_index: F,
}

/// An opened part; see the module's documentation. Shared between threads as it is.
#[derive(Debug)]
pub struct PartDictionary {
    head: PartHead,
    head_file: Arc<CheckedRegion>,
    owned: OwnedOrdinals,
    iris: PartTerms<KeyStream>,
    literals: PartTerms<KeyStream>,
    triple_terms: PartTerms<Records>,
}

/// The terms of one kind, both halves.
#[derive(Debug)]
struct PartTerms<K> {
    /// By place among the ordinals that the node owns.
    by_id: K,
    /// By place among the keys whose hash it owns.
    by_hash: Table<K>,
    ordinals: Ordinals,
}

impl PartDictionary {
    /// Opens a part. Reads its head and the headers of its files and no more; O(slots of the placement).
    pub fn open(files: PartDictionaryFiles) -> Result<PartDictionary, OpenError> {
        let head = PartHead::read(&files.head)?;
        let owned = OwnedOrdinals::new(&head.placement, head.node);
        let opening = Opening {
            head: &head,
            owned: &owned,
        };
        let iris = opening.texts(Tag::Iri, files.iris, files.iri_index)?;
        let literals = opening.texts(Tag::Literal, files.literals, files.literal_index)?;
        let triple_terms = opening.records(files.triple_terms, files.triple_term_index)?;
        Ok(PartDictionary {
            head,
            head_file: files.head,
            owned,
            iris,
            literals,
            triple_terms,
        })
    }

    /// The node whose part it is.
    pub fn node(&self) -> u16 {
        self.head.node
    }

    /// The placement by which it was cut.
    pub fn placement(&self) -> &Placement {
        &self.head.placement
    }

    /// Number of terms of each kind in the whole cluster.
    pub fn counts(&self) -> TermCounts {
        self.head.counts
    }

    /// Number of terms of each kind whose text is here. Of blank nodes there is none.
    pub fn counts_by_id(&self) -> TermCounts {
        TermCounts {
            iris: self.iris.by_id.count(),
            blank_nodes: 0,
            literals: self.literals.by_id.count(),
            triple_terms: self.triple_terms.by_id.count(),
        }
    }

    /// Number of terms of each kind whose id is found here by their key. Of blank nodes there is none.
    pub fn counts_by_hash(&self) -> TermCounts {
        TermCounts {
            iris: self.iris.ordinals.count(),
            blank_nodes: 0,
            literals: self.literals.ordinals.count(),
            triple_terms: self.triple_terms.ordinals.count(),
        }
    }

    /// Whether the text of an id is here, if there is such an id.
    pub fn owns_id(&self, id: VertexId) -> bool {
        self.head.placement.owner(id) == self.head.node
    }

    /// Whether this node knows the id of a key, or that there is none.
    pub fn owns_key(&self, key: &[u8]) -> bool {
        self.head.placement.owner_of_hash(key_hash(key)) == self.head.node
    }

    /// The files, in a fixed order: what a scrubber verifies.
    pub fn files(&self) -> Vec<&Arc<CheckedRegion>> {
        let mut files = vec![&self.head_file];
        self.iris.push_files(&mut files);
        self.literals.push_files(&mut files);
        self.triple_terms.push_files(&mut files);
        files
    }
}

impl<K: Keys> PartTerms<K> {
    fn push_files<'a>(&'a self, files: &mut Vec<&'a Arc<CheckedRegion>>) {
        files.extend(self.by_id.files());
        files.extend(self.by_hash.keys.files());
        files.push(self.ordinals.file());
        files.push(self.by_hash.index.file());
    }
}

/// Opens the files of each kind by what the head says.
struct Opening<'h> {
    head: &'h PartHead,
    owned: &'h OwnedOrdinals,
}

impl Opening<'_> {
    fn texts(
        &self,
        kind: Tag,
        files: PartKeyFiles,
        index: Arc<CheckedRegion>,
    ) -> Result<PartTerms<KeyStream>, OpenError> {
        let node = self.head.node;
        let by_id = KeyStream::open(kind, FileScope::ById(node), files.keys, files.offsets)?;
        let scope = FileScope::ByHash(node);
        let hashed = KeyStream::open(kind, scope, files.hashed_keys, files.hashed_offsets)?;
        self.terms(kind, by_id, hashed, files.ordinals, index)
    }

    fn records(
        &self,
        files: PartRecordFiles,
        index: Arc<CheckedRegion>,
    ) -> Result<PartTerms<Records>, OpenError> {
        let node = self.head.node;
        let by_id = Records::open(FileScope::ById(node), files.records)?;
        let hashed = Records::open(FileScope::ByHash(node), files.hashed_records)?;
        self.terms(Tag::TripleTerm, by_id, hashed, files.ordinals, index)
    }

    /// Puts the tables of a kind together, which must have as many terms as the head and each other say.
    fn terms<K: Keys>(
        &self,
        kind: Tag,
        by_id: K,
        hashed: K,
        ordinals: Arc<CheckedRegion>,
        index: Arc<CheckedRegion>,
    ) -> Result<PartTerms<K>, OpenError> {
        let (node, count) = (self.head.node, self.head.counts.of(kind));
        let mismatch = |file: &CheckedRegion| OpenError::format(file, FormatProblem::Mismatch);
        if by_id.count() != self.owned.count_below(count) {
            return Err(mismatch(by_id.files()[0]));
        }
        let ordinals = Ordinals::open(kind, node, count, ordinals)?;
        if ordinals.count() != hashed.count() {
            return Err(mismatch(ordinals.file()));
        }
        let index = HashIndex::open(kind, FileScope::ByHash(node), index)?;
        Ok(PartTerms {
            by_id,
            by_hash: Table::new(hashed, index)?,
            ordinals,
        })
    }
}
