//! The seam between terms and ids: what is this term's id, and this id's term?
//!
//! Called per batch, never per row. Implementations: the local [dictionary](crate::dictionary) now,
//! a cached remote one with the cluster. Inline ids are answered here too, without looking
//! anything up, so that callers need not know which ids are inline.

use crate::id::VertexId;
use crate::node_error::NodeError;
use crate::progress::Progress;
use crate::terms::TermBuffer;
use oxrdf::TermRef;

/// Why a lookup between terms and ids failed. A term that is merely absent is not an error.
#[derive(Debug, thiserror::Error)]
pub enum LexiconError {
    /// A block of a dictionary file does not match its checksum.
    #[error("dictionary file {file}: block {block} is damaged; run `somersault check`")]
    Damaged {
        /// The file's name within the store directory.
        file: String,
        /// The number of the damaged block.
        block: u64,
    },
    /// An id that this dictionary never gave out, so that the store's parts do not fit together.
    #[error("id {0:?} is not in the dictionary; run `somersault check`")]
    UnknownId(VertexId),
    /// A part of the dictionary could not be read.
    #[error("dictionary: {0}")]
    Io(#[from] std::io::Error),
    /// The node of a cluster that has it did not do its share.
    #[error(transparent)]
    Elsewhere(Box<NodeError>),
    /// What others answered is more than the query may have in memory.
    #[error(
        "terms of other nodes need more than {limit_bytes} bytes of memory ({used_bytes} are in use)"
    )]
    OutOfMemory {
        /// The budget, in bytes.
        limit_bytes: u64,
        /// Bytes in use when it was refused.
        used_bytes: u64,
        /// The budget is that of all queries together.
        of_all: bool,
    },
}

/// Terms to ids and back, in batches.
///
/// A lexicon that gets its answers from elsewhere has those that were [asked for ahead](Lexicon::fetch) and no others; its
/// methods answer at once.
pub trait Lexicon: Sync {
    /// Says what will be asked: the terms of these ids, the ids of these terms. Once that is ready, the other methods
    /// answer it. Whoever had to wait asks from its beginning again, so what has come has to be kept until a batch of
    /// rows is through. By default everything is there.
    fn fetch(&self, ids: &[VertexId], terms: &[TermRef<'_>]) -> Result<Progress, LexiconError> {
        let _ = (ids, terms);
        Ok(Progress::Ready)
    }

    /// Appends to `ids`, for each term in order, its id, or `None` where the term is stored nowhere.
    /// Blank nodes are looked up by the label that [`Lexicon::terms`] gives them.
    fn ids(
        &self,
        terms: &[TermRef<'_>],
        ids: &mut Vec<Option<VertexId>>,
    ) -> Result<(), LexiconError>;

    /// Appends to `terms`, for each id in order, its term; [`VertexId::UNBOUND`] gives an empty
    /// cell. Query-local ids are the caller's to answer and are an [`LexiconError::UnknownId`]
    /// here.
    fn terms(&self, ids: &[VertexId], terms: &mut TermBuffer) -> Result<(), LexiconError>;

    /// As [`Lexicon::terms`], until the texts of `terms` pass so many bytes: gives the number of ids
    /// whose terms were appended, at least one where there is one. So a caller bounds its memory by
    /// the longest term and not by the number of ids.
    fn terms_within(
        &self,
        ids: &[VertexId],
        text_bytes_max: usize,
        terms: &mut TermBuffer,
    ) -> Result<usize, LexiconError> {
        for (done, id) in ids.iter().enumerate() {
            self.terms(std::slice::from_ref(id), terms)?;
            if terms.text_bytes() > text_bytes_max {
                return Ok(done + 1);
            }
        }
        Ok(ids.len())
    }
}
