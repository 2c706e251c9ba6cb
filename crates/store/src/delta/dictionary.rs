//! The dictionary's files of a new generation: those of the base, and the terms that are new.
//!
//! Ids stay as they are, so keys, offsets and records are continued: what is whole in the base is
//! copied, new keys follow (see [`Dictionary::continue_keys`]). The hash indexes are made anew,
//! because where an entry lies depends on the number of all terms: all keys are read in order, their
//! (hash, ordinal) pairs spread by the top bits of the hash, and each bucket sorted, as a load does
//! it, with temporary files above a limit of memory.
//!
//! Invariant: the files are those that a load of the same terms in the same order writes, byte for
//! byte. Terms of the base are never left out, also where the view is of an earlier moment: an id
//! that was given means its term for ever.
//!
//! Cost: the bytes of the base once, and some 100 ns a term for its index. The three kinds are
//! independent and may be written by as many threads ([`write_kind`]).
//!
//! [`Dictionary::continue_keys`]: rdf::dictionary::Dictionary::continue_keys

use crate::disk::Disk;
use crate::load::LoadError;
use crate::load::budget::Budget;
use crate::load::dictionary::{IndexPairs, IndexSpreader, names};
use crate::load::scratch::{DiskScratch, NoScratch, ScratchSpace, Spill};
use crate::parts::{PartFiles, PartWriter};
use rdf::dictionary::{BuildError, Dictionary, DictionaryView, LiveDictionary, MergeError};
use rdf::{Tag, key};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// Keys after which is asked whether to stop.
pub(super) const HALT_KEYS: u64 = 1 << 14;
/// Bytes copied after which is asked whether to stop.
const HALT_BYTES: usize = 1 << 22;

/// Why the files of a dictionary could not be written.
#[derive(Debug, thiserror::Error)]
pub enum DictionaryError {
    /// The dictionary could not be read, or its files not be written.
    #[error(transparent)]
    Files(#[from] LoadError),
    /// Memory for a dictionary of no term could not be had.
    #[error(transparent)]
    Empty(#[from] BuildError),
    /// The caller asked for a stop.
    #[error("stopped before it was done")]
    Halted,
}

/// Where pairs go that memory does not hold.
#[derive(Clone, Copy)]
pub enum Spilling<'s> {
    /// Memory holds them all: 16 bytes a term of one kind, and more while a 64th of them is sorted.
    Never,
    /// Above a limit of memory to temporary files in this directory, for instance that of the new
    /// generation.
    Above {
        /// Bytes of memory for all that is written at a time.
        limit_bytes: u64,
        /// Where the directory is.
        disk: &'s dyn Disk,
        /// The directory, which exists.
        directory: &'s Path,
    },
}

/// Writes all files of a dictionary of what a view sees. `is_halted` is asked now and then, and
/// ends the writing.
pub fn write_dictionary(
    view: &DictionaryView,
    files: &dyn PartFiles,
    spilling: Spilling<'_>,
    is_halted: &(dyn Fn() -> bool + Sync),
) -> Result<(), DictionaryError> {
    [Tag::Iri, Tag::Literal, Tag::TripleTerm]
        .into_iter()
        .try_for_each(|kind| write_kind(view, kind, files, spilling, is_halted))
}

/// Writes the files of a dictionary of no term.
pub fn write_empty_dictionary(files: &dyn PartFiles) -> Result<(), DictionaryError> {
    let live = Arc::new(LiveDictionary::new(Arc::new(Dictionary::empty()?)));
    let view = live.view(live.counts());
    write_dictionary(&view, files, Spilling::Never, &|| false)
}

/// Writes the files of one kind of term that has keys: IRI, literal or triple term (asserted).
pub fn write_kind(
    view: &DictionaryView,
    kind: Tag,
    files: &dyn PartFiles,
    spilling: Spilling<'_>,
    is_halted: &(dyn Fn() -> bool + Sync),
) -> Result<(), DictionaryError> {
    assert!(kind.is_dictionary(), "only these kinds have files");
    let disk_scratch;
    let (scratch, limit_bytes): (&dyn ScratchSpace, _) = match spilling {
        Spilling::Never => (&NoScratch, None),
        Spilling::Above {
            limit_bytes,
            disk,
            directory,
        } => {
            disk_scratch = DiskScratch::new(disk, directory);
            (&disk_scratch, Some(limit_bytes))
        }
    };
    let writing = Writing {
        view,
        kind,
        files,
        is_halted,
    };
    let written = match kind {
        Tag::TripleTerm => writing.triple_terms(scratch, &Budget::new(limit_bytes)),
        _ => writing.texts(scratch, &Budget::new(limit_bytes)),
    };
    // A stop reaches this place as an error of the output that noticed it.
    written.map_err(|error| match error {
        LoadError::Cancelled => DictionaryError::Halted,
        _ if is_halted() => DictionaryError::Halted,
        error => DictionaryError::Files(error),
    })
}

/// The files of one kind while they are written.
struct Writing<'w> {
    view: &'w DictionaryView,
    kind: Tag,
    files: &'w dyn PartFiles,
    is_halted: &'w (dyn Fn() -> bool + Sync),
}

impl Writing<'_> {
    fn texts(&self, scratch: &dyn ScratchSpace, budget: &Budget) -> Result<(), LoadError> {
        let (keys, offsets, index) = match self.kind {
            Tag::Iri => (names::IRI_KEYS, names::IRI_OFFSETS, names::IRI_INDEX),
            _ => (
                names::LITERAL_KEYS,
                names::LITERAL_OFFSETS,
                names::LITERAL_INDEX,
            ),
        };
        let (keys, offsets) = (self.output(keys)?, self.output(offsets)?);
        let mut stream = self.view.base().continue_keys(self.kind, keys, offsets)?;
        let spill = Spill::new(scratch, format!("scratch-{index}"));
        let pairs = IndexPairs::new(self.kind, spill, budget);
        let mut spreader = pairs.spreader();
        let count = self.each_key(&mut spreader, |key| {
            stream.push(key)?;
            Ok(())
        })?;
        spreader.finish()?;
        let (keys, offsets, written) = stream.finish()?;
        assert_eq!(written.keys, count, "each key that was hashed is written");
        keys.part.finish(self.files)?;
        offsets.part.finish(self.files)?;
        pairs.write_while(count, index, self.files, || self.go_on())
    }

    fn triple_terms(&self, scratch: &dyn ScratchSpace, budget: &Budget) -> Result<(), LoadError> {
        let output = self.output(names::TRIPLE_TERMS)?;
        let mut records = self.view.base().continue_records(output)?;
        let index = names::TRIPLE_TERM_INDEX;
        let spill = Spill::new(scratch, format!("scratch-{index}"));
        let pairs = IndexPairs::new(self.kind, spill, budget);
        let mut spreader = pairs.spreader();
        let count = self.each_key(&mut spreader, |key| {
            let components = key::decode_triple(key).expect("the dictionary encoded a new term");
            records.push(components)?;
            Ok(())
        })?;
        spreader.finish()?;
        assert_eq!(
            records.count(),
            count,
            "each key that was hashed is written"
        );
        let (output, _) = records.finish();
        output.part.finish(self.files)?;
        pairs.write_while(count, index, self.files, || self.go_on())
    }

    /// Spreads the pairs of all keys, calls `new` with those that the base does not have, in order,
    /// and gives their number.
    fn each_key(
        &self,
        spreader: &mut IndexSpreader<'_, '_>,
        mut new: impl FnMut(&[u8]) -> Result<(), LoadError>,
    ) -> Result<u64, LoadError> {
        let mut ordinal = 0;
        let mut next = |spreader: &mut IndexSpreader<'_, '_>, key: &[u8]| {
            if ordinal % HALT_KEYS == 0 {
                self.go_on()?;
            }
            spreader.push(key, ordinal)?;
            ordinal += 1;
            Ok::<(), LoadError>(())
        };
        let mut scan = self.view.base().keys(self.kind, 0);
        while let Some(key) = scan.next_key()? {
            next(spreader, key)?;
        }
        let mut scan = self.view.keys(self.kind, scan.ordinal());
        while let Some(key) = scan.next_key()? {
            next(spreader, key)?;
            new(key)?;
        }
        let (seen, base) = (self.view.counts(), self.view.base().counts());
        assert_eq!(
            ordinal,
            seen.of(self.kind).max(base.of(self.kind)),
            "ordinals are dense: those of the base, then the new ones that are seen"
        );
        Ok(ordinal)
    }

    fn go_on(&self) -> Result<(), LoadError> {
        if (self.is_halted)() {
            return Err(LoadError::Cancelled);
        }
        Ok(())
    }

    fn output(&self, name: &'static str) -> Result<Output<'_>, LoadError> {
        Output::create(self.files, name, self.is_halted)
    }
}

/// A part as the dictionary's writers see it, which refuses to go on after a stop.
pub(super) struct Output<'h> {
    pub(super) part: PartWriter,
    is_halted: &'h (dyn Fn() -> bool + Sync),
    unasked_bytes: usize,
}

impl<'h> Output<'h> {
    pub(super) fn create(
        files: &dyn PartFiles,
        name: &'static str,
        is_halted: &'h (dyn Fn() -> bool + Sync),
    ) -> Result<Output<'h>, LoadError> {
        Ok(Output {
            part: PartWriter::create_raw(files, name)?,
            is_halted,
            unasked_bytes: 0,
        })
    }
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unasked_bytes += bytes.len();
        if self.unasked_bytes >= HALT_BYTES {
            self.unasked_bytes = 0;
            if (self.is_halted)() {
                return Err(io::Error::other("stopped"));
            }
        }
        self.part.append(bytes).map_err(|error| error.source)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl From<MergeError> for LoadError {
    fn from(error: MergeError) -> LoadError {
        match error {
            MergeError::Lexicon(error) => LoadError::Lexicon(error),
            MergeError::Write(error) => LoadError::Dictionary(error),
        }
    }
}
