//! What a load is asked for: a checked value that comes from the edge.

use super::error::LoadError;
use super::report::LoadProgress;
use oxrdf::NamedNode;
use rdf::{Strictness, is_loadable_iri};
use std::path::PathBuf;
use std::time::Duration;

/// Text that one worker parses at a time, where memory permits.
const CHUNK_BYTES_MAX: u64 = 8 << 20;
/// ... and where it does not.
const CHUNK_BYTES_MIN: u64 = 64 << 10;
/// A chunk's text, its tables and what it leaves behind take about this many times its bytes.
const CHUNK_FACTOR: u64 = 16;
const _: () = assert!(CHUNK_BYTES_MIN <= CHUNK_BYTES_MAX, "sizes are clamped");

/// The longest line that is taken, where memory permits.
const LINE_BYTES_MAX: u64 = 256 << 20;
/// ... and where it does not.
const LINE_BYTES_MIN: u64 = 16 << 20;
const _: () = assert!(
    CHUNK_BYTES_MAX <= LINE_BYTES_MIN && LINE_BYTES_MIN <= LINE_BYTES_MAX,
    "a line may be longer than a chunk, and sizes are clamped"
);

/// What to do about a malformed statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// End the load and leave the store as it was.
    #[default]
    Stop,
    /// Leave the statement out, count it and list the first ones.
    Skip,
    /// As `Skip`, and write the lines as they are to this file. Formats that are not of lines are
    /// only listed.
    Quarantine(PathBuf),
}

/// What a load is asked for.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// Threads that work, at least 1.
    pub threads: usize,
    /// Memory that the load may use, in bytes; above it, temporary files. `None` is no limit. What
    /// a load needs in any case, whatever is said here: about 1 MiB for each thread (16 times the
    /// smallest chunk of 64 KiB), and some four times the longest line, document part or term of
    /// the input. Lines are taken up to about a tenth of the limit, but at least 16 MiB and at most 256 MiB.
    pub memory_limit_bytes: Option<u64>,
    /// What to do about malformed statements.
    pub on_error: OnError,
    /// An IRI that takes the place of the default graph.
    pub graph: Option<String>,
    /// An absolute IRI against which relative ones are resolved, in formats that have them.
    pub base: Option<String>,
    /// Which IRIs and language tags are taken; the graph's too.
    pub strictness: Strictness,
    /// Key of the hashes by which equal terms are found: whoever wrote the input must not know it.
    /// Nothing that is stored depends on it.
    pub hash_key: [u8; 16],
    /// Text that one worker parses at a time; `None` chooses by the memory limit.
    pub chunk_bytes: Option<usize>,
}

impl LoadOptions {
    /// One or more threads, no limit, stop at the first error, default graph.
    pub fn new(threads: usize, hash_key: [u8; 16]) -> LoadOptions {
        LoadOptions {
            threads,
            memory_limit_bytes: None,
            on_error: OnError::Stop,
            graph: None,
            base: None,
            strictness: Strictness::Strict,
            hash_key,
            chunk_bytes: None,
        }
    }

    /// Text of a chunk, given what all threads may use for work in progress.
    pub(super) fn chunk_bytes(&self, working_bytes: u64) -> usize {
        let share = working_bytes / (self.threads.max(1) as u64 * CHUNK_FACTOR);
        let chosen = share.clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX) as usize;
        self.chunk_bytes.unwrap_or(chosen).max(1)
    }

    /// The graph that takes the place of the default graph.
    pub(super) fn graph_name(&self) -> Result<Option<NamedNode>, LoadError> {
        let parse = |iri: &String| match NamedNode::new(iri) {
            Err(_) if self.strictness.is_lenient() && is_loadable_iri(iri) => {
                Ok(NamedNode::new_unchecked(iri))
            }
            parsed => parsed.map_err(|error| LoadError::Graph {
                iri: iri.clone(),
                message: error.to_string(),
            }),
        };
        self.graph.as_ref().map(parse).transpose()
    }

    /// A seed for tables in memory, from the key.
    pub(super) fn seed(&self) -> u64 {
        let (words, _) = self.hash_key.as_chunks::<8>();
        u64::from_le_bytes(words[0])
    }
}

/// The longest line that is taken, given what all threads may use for work in progress.
pub(super) fn line_bytes_max(working_bytes: u64) -> usize {
    (working_bytes / 4).clamp(LINE_BYTES_MIN, LINE_BYTES_MAX) as usize
}

/// Who watches a load, and its clock.
#[derive(Clone, Copy)]
pub struct LoadWatch<'w> {
    /// Told about progress, asked about cancellation.
    pub progress: &'w dyn LoadProgress,
    /// Time since any fixed moment.
    pub clock: &'w (dyn Fn() -> Duration + Sync),
}

impl LoadWatch<'_> {
    /// An error where the load is to be cancelled.
    pub(super) fn check(&self) -> Result<(), LoadError> {
        if self.progress.is_cancelled() {
            Err(LoadError::Cancelled)
        } else {
            Ok(())
        }
    }
}
