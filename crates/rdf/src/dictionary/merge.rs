//! A dictionary as the beginning of a larger one: what a checkpoint does with the terms of a store.
//!
//! Ids never change, so the files of keys and records only get longer. What is whole is copied
//! without being decoded: blocks of keys with their offsets (which count from the beginning of the
//! file) and records; the keys of the last block, if it is not full, are written anew with those
//! that follow. So the files are, byte for byte, those that a load of all terms in this order would
//! write.
//!
//! The index cannot be continued: where an entry lies depends on the number of all terms, and it
//! keeps too little of its hash to be moved. So all keys are read and hashed again, which is the
//! caller's to sort in the memory that it has (see `store::delta::dictionary`).
//!
//! Cost: what is read is verified and copied at some GB/s.

use super::error::{MergeError, WriteError, damaged};
use super::{Dictionary, RecordWriter, StreamWriter};
use crate::id::Tag;
use memory::CheckedRegion;
use std::io::Write;
use std::ops::Range;

/// Bytes copied at a time.
const COPY_BYTES: u64 = 1 << 20;

impl Dictionary {
    /// Writes all keys of a kind that has text, IRI or literal, to the two files of a new
    /// dictionary, and gives the writer for those that follow. Its statistics count raw bytes only
    /// of keys that were not copied.
    pub fn continue_keys<W: Write>(
        &self,
        kind: Tag,
        keys: W,
        offsets: W,
    ) -> Result<StreamWriter<W>, MergeError> {
        let stream = match kind {
            Tag::Iri => &self.iris.keys,
            Tag::Literal => &self.literals.keys,
            _ => panic!("only these kinds have text"),
        };
        StreamWriter::resume(kind, stream, keys, offsets)
    }

    /// Writes all triple terms to the records of a new dictionary, and gives the writer for those
    /// that follow.
    pub fn continue_records<W: Write>(&self, records: W) -> Result<RecordWriter<W>, MergeError> {
        RecordWriter::resume(&self.triple_terms.keys, records)
    }
}

/// Copies a range of a file, which its reader has checked to be within it.
pub(super) fn copy(
    file: &CheckedRegion,
    range: Range<u64>,
    out: &mut impl Write,
) -> Result<(), MergeError> {
    let Range { mut start, end } = range;
    assert!(
        start <= end && end <= file.len(),
        "the caller checked the range"
    );
    while start < end {
        let next = end.min(start + COPY_BYTES);
        let bytes = file.bytes(start..next).map_err(|block| damaged(&block))?;
        out.write_all(bytes).map_err(WriteError::Io)?;
        start = next;
    }
    Ok(())
}
