//! Triple terms: records of three ids in the order of their ordinals.
//!
//! ```text
//! records:  header | 24 bytes a triple term: subject, predicate, object (see `rdf::key`)
//! ```
//!
//! Invariant: a component that is a triple term itself has a smaller ordinal than the term that
//! holds it (it appeared first), so following components always ends, and a cycle in a damaged
//! file is refused by [`RecordCursor::components`]. Fixed records need no coding: triple terms are
//! few, and their ids are already small.

use super::error::{FormatProblem, MergeError, OpenError, WriteError, damaged, nonsense};
use super::format::{FileKind, FileScope, HEADER_BYTES, Header};
use super::merge::copy;
use super::table::{KeyCursor, Keys};
use crate::id::{Tag, VertexId};
use crate::key::{TRIPLE_KEY_BYTES, decode_triple, encode_triple};
use crate::lexicon::LexiconError;
use memory::{CheckedRegion, prefetch};
use std::io::Write;
use std::sync::Arc;

const RECORD_BYTES: u64 = TRIPLE_KEY_BYTES as u64;

/// Writes the records of triple terms, front to back.
pub struct RecordWriter<W: Write> {
    out: W,
    count: u64,
}

impl<W: Write> RecordWriter<W> {
    /// A writer of no record yet. The output should be buffered: it writes once a record.
    pub fn new(out: W) -> Result<RecordWriter<W>, WriteError> {
        RecordWriter::of_scope(FileScope::Whole, out)
    }

    /// A writer of those records that have this scope, in the order of their ordinals.
    pub(super) fn of_scope(scope: FileScope, mut out: W) -> Result<RecordWriter<W>, WriteError> {
        let header = Header {
            part: FileKind::Records,
            kind: Tag::TripleTerm,
            scope,
            parameter: 0,
            count: 0,
        };
        out.write_all(&header.to_bytes())?;
        Ok(RecordWriter { out, count: 0 })
    }

    /// A writer that has written these records: they are copied as they are.
    pub(super) fn resume(records: &Records, out: W) -> Result<RecordWriter<W>, MergeError> {
        let mut writer = RecordWriter::new(out)?;
        let end = Records::offset_of(records.count);
        copy(&records.file, HEADER_BYTES as u64..end, &mut writer.out)?;
        writer.count = records.count;
        Ok(writer)
    }

    /// Appends the triple term with the next ordinal and returns that ordinal. A component that is
    /// a triple term must have been appended before (asserted).
    pub fn push(&mut self, components: [VertexId; 3]) -> Result<u64, WriteError> {
        let ordinal = self.count;
        let in_order = |id: &VertexId| !id.has_tag(Tag::TripleTerm) || id.payload() < ordinal;
        assert!(components.iter().all(in_order), "components come first");
        self.push_key(&encode_triple(components))?;
        Ok(ordinal)
    }

    /// Appends the record with this key, whatever it says, as the next one.
    pub(super) fn push_key(&mut self, key: &[u8; TRIPLE_KEY_BYTES]) -> Result<(), WriteError> {
        self.out.write_all(key)?;
        self.count += 1;
        Ok(())
    }

    /// Records written so far.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Ends the file and gives it back, unsynced and unflushed, with its length in bytes.
    pub fn finish(self) -> (W, u64) {
        (self.out, HEADER_BYTES as u64 + self.count * RECORD_BYTES)
    }
}

/// Reads the records of triple terms.
#[derive(Debug)]
pub(super) struct Records {
    file: Arc<CheckedRegion>,
    count: u64,
}

impl Records {
    /// Opens the file; reads its header only.
    pub(super) fn open(scope: FileScope, file: Arc<CheckedRegion>) -> Result<Records, OpenError> {
        Header::read(&file, FileKind::Records, Tag::TripleTerm, scope)?;
        let body = file.len() - HEADER_BYTES as u64;
        if !body.is_multiple_of(RECORD_BYTES) {
            return Err(OpenError::format(&file, FormatProblem::Length));
        }
        Ok(Records {
            file,
            count: body / RECORD_BYTES,
        })
    }

    fn offset_of(ordinal: u64) -> u64 {
        HEADER_BYTES as u64 + ordinal * RECORD_BYTES
    }

    /// The components of a triple term that exists (asserted): an IRI or blank node, an IRI, and
    /// anything, with a smaller ordinal if it is a triple term. So following them is a list and
    /// never a tree, whatever the file says.
    pub(super) fn components(&self, ordinal: u64) -> Result<[VertexId; 3], LexiconError> {
        self.components_at(ordinal, ordinal)
    }

    /// The same, where records have places that are not their ordinals. The place exists (asserted).
    pub(super) fn components_at(
        &self,
        place: u64,
        ordinal: u64,
    ) -> Result<[VertexId; 3], LexiconError> {
        let components = decode_triple(self.record(place)?).ok();
        components
            .filter(|components| is_triple_term(*components, ordinal))
            .ok_or_else(|| self.nonsense(place))
    }

    /// A triple term that exists is none that this release can have written.
    pub(super) fn nonsense(&self, ordinal: u64) -> LexiconError {
        nonsense(&self.file, Records::offset_of(ordinal))
    }

    fn record(&self, ordinal: u64) -> Result<&[u8], LexiconError> {
        assert!(ordinal < self.count, "the caller checked the ordinal");
        let start = Records::offset_of(ordinal);
        self.file
            .bytes(start..start + RECORD_BYTES)
            .map_err(|block| damaged(&block))
    }
}

/// Whether a triple term with this ordinal can have these components.
pub(super) fn is_triple_term(components: [VertexId; 3], ordinal: u64) -> bool {
    let [subject, predicate, object] = components;
    matches!(subject.tag(), Some(Tag::Iri | Tag::Blank))
        && predicate.has_tag(Tag::Iri)
        && (!object.has_tag(Tag::TripleTerm) || object.payload() < ordinal)
}

/// Reads records; keeps nothing, as each is found by itself.
pub(super) struct RecordCursor<'a>(&'a Records);

impl KeyCursor for RecordCursor<'_> {
    fn key(&mut self, ordinal: u64) -> Result<&[u8], LexiconError> {
        self.0.record(ordinal)
    }
}

impl Keys for Records {
    type Cursor<'a> = RecordCursor<'a>;

    fn count(&self) -> u64 {
        self.count
    }

    fn cursor(&self) -> RecordCursor<'_> {
        RecordCursor(self)
    }

    fn prefetch_place(&self, ordinal: u64) {
        prefetch(
            self.file.region().bytes(),
            Records::offset_of(ordinal) as usize,
        );
    }

    fn prefetch_key(&self, _ordinal: u64) {}

    fn files(&self) -> Vec<&Arc<CheckedRegion>> {
        vec![&self.file]
    }
}
