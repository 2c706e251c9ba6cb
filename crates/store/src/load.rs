//! Bulk load: text in, a new generation of a store out, all of it or nothing.
//!
//! ```text
//! sources --parse-->   chunks in local numbers, hashes of terms, predicates       (all threads)
//! hashes  --resolve--> which terms of different chunks are the same: ordinals     (all threads)
//! chunks  --encode-->  edges in codes by bin, dictionary keys, (hash, ordinal)    (all threads)
//! edges   --build-->   segments and signatures of both directions; indexes        (a thread each)
//!         --commit-->  manifest, CURRENT
//! ```
//!
//! Invariants: ids are ordinals by first appearance per kind of term, so a store is the same bytes
//! for any number of threads, any size of chunks and any memory limit. That holds by construction:
//! there is one path, whose buffers go to temporary files when the limit is reached, and whatever
//! threads do in any order is sorted by something that only the input decides. Until the commit
//! nothing of the store has changed.
//!
//! # Limits of the input
//!
//! | what | most | where it is exceeded |
//! |---|---|---|
//! | a line of N-Triples or N-Quads | a tenth of the memory limit, at least 16 MiB, at most 256 MiB | malformed, with its line |
//! | a term of Turtle or TriG | 256 MiB | malformed, with the line where reading stood |
//! | a token of JSON-LD | 16 MiB, the library's buffer | malformed, with the line where reading stood |
//! | a statement or a part of a mapped Turtle file, as N-Quads | 512 MiB | malformed |
//!
//! # The floor
//!
//! LUBM-160 (22.09 M statements, 3.62 GB of N-Triples, 5.26 M terms of 61 bytes) on two cores of a
//! 2-core EPYC VM; written down before the first measurement, 2026-11-21:
//!
//! | phase | bytes and steps | floor, both cores |
//! |---|---|---|
//! | parse | 3.62 GB copied at 8 GB/s, tokenized at 0.8 GB/s a core; 1.3 terms a statement hashed, probed, compared at 25 ns | 0.2 + 2.3 + 0.4 s |
//! | resolve | 6 M records of 24 B sorted at 30 ns | 0.1 s |
//! | encode | 22 M statements at 20 ns; 320 MB of keys front-coded at 50 ns | 0.4 s |
//! | build | 2 x 22 M records of 8 B through 5 radix passes at 3 ns, walked twice, written at 20 ns | 0.9 s |
//! | sync | 0.4 GB at 0.2 GB/s of this disk, beside the work but for the rest | 1 to 2 s |
//!
//! So 6 s, or 3.6 M statements/s, is what this design could reach here, with parsing most of it.
//! Measured on the same day with `examples/load_speed.rs` from a cached file, on a machine that
//! others used as well (load averages of 3 to 7; the best of several runs is given, the slowest was
//! 1.04 M/s), and not all of them at the same time, so rows compare only roughly:
//!
//! | | parse | resolve | encode | build | commit | statements/s | anonymous memory |
//! |---|---|---|---|---|---|---|---|
//! | 2 threads | 5.84 s | 0.26 | 0.47 | 2.03 | 0.01 | 2.56 M | 775 MiB |
//! | 2 threads, limit 256 MiB | 8.77 s | 0.71 | 1.25 | 2.60 | 0.00 | 1.65 M | 210 MiB |
//! | 2 threads, limit 64 MiB | 6.43 s | 0.71 | 1.31 | 1.60 | 0.00 | 2.16 M | 100 MiB |
//! | 1 thread | 7.59 s | 0.27 | 0.48 | 2.12 | 0.00 | 2.11 M | 764 MiB |
//!
//! One thread parses a statement in 266 ns: 135 ns are the tokenizer's (7.4 M statements/s by
//! itself), the rest copies from the page cache, the table of terms and what a chunk leaves behind.
//! The store is 13.1 bytes a distinct triple, dictionary included. With more than two cores the
//! build is what does not scale: segments of a direction are written by one thread.

pub(crate) mod buckets;
pub(crate) mod budget;
pub(crate) mod build;
pub(crate) mod chunk;
pub(crate) mod codes;
pub(crate) mod dictionary;
pub(crate) mod edges;
pub(crate) mod encode;
pub(crate) mod error;
pub(crate) mod existing;
pub(crate) mod formats;
pub(crate) mod ingest;
pub(crate) mod input;
pub(crate) mod options;
pub(crate) mod parse;
pub(crate) mod pipeline;
pub(crate) mod predicates;
pub(crate) mod preflight;
pub(crate) mod quarantine;
pub(crate) mod radix;
pub(crate) mod rejected;
pub(crate) mod report;
pub(crate) mod resolve;
pub(crate) mod scratch;
pub(crate) mod sorted;
pub(crate) mod source;
pub mod workers;

pub use dictionary::{BLANK_NODES_COUNT, names, open_dictionary};
pub use error::LoadError;
pub use formats::Syntax;
pub use options::{LoadOptions, LoadWatch, OnError};
pub use report::{Advance, LoadProgress, LoadReport, Phase, Rejection, Unwatched};
pub use source::{Source, read_decompressed};

use crate::cut::part_of::PartOf;
use crate::directory::{self, Opened, SNAPSHOT_COUNT, beside};
use crate::disk::Disk;
use crate::log;
use crate::parts::MemoryParts;
use crate::snapshot::Snapshot;
use crate::source::damaged;
use existing::Existing;
use pipeline::{Job, Outcome};
use rdf::dictionary::Dictionary;
use scratch::{DiskScratch, NoScratch};
use std::collections::BTreeMap;
use std::path::Path;

/// Loads the sources into the store at `location`, which is made where it is missing, on top of
/// what it holds. An error, and a crash at any point, leaves the store as it was.
pub fn load_into(
    disk: &dyn Disk,
    location: &Path,
    sources: Vec<Source<'_>>,
    options: &LoadOptions,
    watch: LoadWatch<'_>,
) -> Result<LoadReport, LoadError> {
    preflight::check(&sources, options)?;
    let generation = directory::begin(disk, location)?;
    let previous = match generation.previous() {
        Some(_) => Some(existing_without_log(disk, location)?),
        None => None,
    };
    let (before, snapshot, kept) = match previous {
        Some((view, dictionary, snapshot, kept)) => {
            (Some((view, dictionary)), Some(snapshot + 1), kept)
        }
        None => (None, None, Vec::new()),
    };
    let scratch = DiskScratch::new(disk, generation.directory());
    let job = Job {
        options,
        watch,
        existing: before.as_ref().map(|(view, dictionary)| Existing {
            view,
            dictionary,
            prefixes: view.prefixes(),
        }),
        files: &generation,
        scratch: &scratch,
    };
    let Outcome {
        mut report,
        blank_nodes,
    } = pipeline::run(&job, sources)?;
    if let Some((view, dictionary)) = &before {
        undamaged(view, dictionary)?;
    }
    beside::write(&generation, &kept).map_err(LoadError::Part)?;
    let start = (watch.clock)();
    let mut counts = BTreeMap::from([
        ("quads".to_owned(), report.quads),
        ("terms".to_owned(), report.terms),
        (BLANK_NODES_COUNT.to_owned(), blank_nodes),
    ]);
    // A load into a store is a commit like any other: the log goes on behind it.
    counts.extend(snapshot.map(|number| (SNAPSHOT_COUNT.to_owned(), number)));
    generation.commit(counts)?;
    report
        .phases
        .push((Phase::Commit, (watch.clock)().saturating_sub(start)));
    Ok(report)
}

/// An error where a file of the existing store was cut while it was read: what was made of it may be of
/// zeros.
fn undamaged(view: &Snapshot, dictionary: &Dictionary) -> Result<(), LoadError> {
    let of_dictionary = || {
        let mut files = dictionary.files().into_iter();
        let block = files.find_map(|file| file.damage())?;
        Some(*damaged(block))
    };
    match view.damage().or_else(of_dictionary) {
        Some(damage) => Err(damage.into()),
        None => Ok(()),
    }
}

/// What the store holds, the number of its last commit, and what it keeps beside. A log whose records no generation holds
/// yet is refused, because they would be behind what is loaded now.
fn existing_without_log(
    disk: &dyn Disk,
    location: &Path,
) -> Result<(Snapshot, Dictionary, u64, Vec<u8>), LoadError> {
    let opened = directory::open(disk, location)?;
    let number = opened.manifest().snapshot();
    if log::pending(disk, location, number + 1)? {
        return Err(LoadError::Pending {
            path: location.to_owned(),
        });
    }
    if let Some(part) = PartOf::open(&opened)? {
        return Err(LoadError::IsPart {
            path: location.to_owned(),
            node: part.node(),
            nodes: part.placement().nodes(),
        });
    }
    let (snapshot, dictionary) = open_parts(&opened)?;
    Ok((snapshot, dictionary, number, beside::read(&opened)?))
}

/// The graph and dictionary of an opened directory.
pub fn open_parts(opened: &Opened) -> Result<(Snapshot, Dictionary), LoadError> {
    let blank_nodes = opened
        .manifest()
        .counts
        .get(BLANK_NODES_COUNT)
        .copied()
        .unwrap_or(0);
    let dictionary = open_dictionary(opened, blank_nodes)?;
    Ok((Snapshot::open(opened)?, dictionary))
}

/// Loads the sources into memory: the same bytes as on a disk, in regions of this process. There is
/// no memory limit.
pub fn load_in_memory(
    sources: Vec<Source<'_>>,
    options: &LoadOptions,
    watch: LoadWatch<'_>,
) -> Result<(Snapshot, Dictionary, LoadReport), LoadError> {
    preflight::check(&sources, options)?;
    let files = MemoryParts::new();
    let options = LoadOptions {
        memory_limit_bytes: None,
        ..options.clone()
    };
    let job = Job {
        options: &options,
        watch,
        existing: None,
        files: &files,
        scratch: &NoScratch,
    };
    let Outcome {
        report,
        blank_nodes,
    } = pipeline::run(&job, sources)?;
    let parts = files.freeze().map_err(LoadError::Memory)?;
    let dictionary = open_dictionary(&parts, blank_nodes)?;
    Ok((Snapshot::open(&parts)?, dictionary, report))
}
