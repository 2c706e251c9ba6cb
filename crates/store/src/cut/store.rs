//! A store directory cut into a directory of parts, each of which is a store directory.
//!
//! ```text
//! PARTS/
//!   part-0000/   a store: the part of node 0, with its mark
//!   part-0001/   ...
//! ```
//!
//! The graph's parts are written one after the other, then all parts of the dictionary in one pass, and then each part
//! becomes current; a cut that is interrupted is run again. A part that is there is replaced, a store that is no part is left alone. Parts that were left by a cut into more nodes are seen where
//! parts are put together ([`PartOf::are_one_graph`](crate::PartOf::are_one_graph)).
//!
//! The fingerprint of the whole is a hash of its files' names, lengths and checksums, and of its last commit. So parts of two
//! loads of one input are parts of one graph, and those of two states of one store are not.
//!
//! A store's log is not cut: its changes have to be in its files ([`CutStoreError::Pending`]).

use super::deal::Deal;
use super::dictionary::{DictionaryCut, open_part_dictionary};
use super::part_of::PartOf;
use super::sizes::CutSizes;
use super::{Cut, CutError, refuse_part};
use crate::directory::{
    self, BeginError, Manifest, NewGeneration, OpenError, Opened, SNAPSHOT_COUNT, beside,
};
use crate::disk::Disk;
use crate::error::ViewError;
use crate::load::{BLANK_NODES_COUNT, LoadError};
use crate::log::{self, LogError};
use crate::parts::PartFiles;
use crate::snapshot::{Snapshot, SnapshotError};
use rdf::dictionary::part::PartDictionary;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

/// Why a store could not be cut. The store is as it was; parts that became current before stay.
#[derive(Debug, thiserror::Error)]
pub enum CutStoreError {
    /// The store, or a part, could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The store's graph could not be opened.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The store's log could not be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The store's log holds changes that its files do not.
    #[error("{}: its log holds changes that are not in its files yet; compact it first", path.display())]
    Pending {
        /// The store.
        path: PathBuf,
    },
    /// The store keeps streams and standing queries.
    #[error("{}: it has streams or standing queries, which no cluster serves", path.display())]
    Streams {
        /// The store.
        path: PathBuf,
    },
    /// Where a part was to be written, there is a store that is no part.
    #[error("{}: there is a store, and it is no part of a graph: parts go into a directory of their own", path.display())]
    Occupied {
        /// The store that is there.
        path: PathBuf,
    },
    /// A part could not be begun or completed.
    #[error(transparent)]
    Begin(#[from] BeginError),
    /// A part could not be written.
    #[error("{}: {source}", path.display())]
    Cut {
        /// The part.
        path: PathBuf,
        /// Why.
        source: CutError,
    },
    /// A file of the store could not be read.
    #[error(transparent)]
    View(#[from] ViewError),
    /// The dictionary could not be read, or its parts not be written.
    #[error(transparent)]
    Dictionary(#[from] LoadError),
}

/// The name of a node's part within the directory of parts.
pub fn part_name(node: u16) -> String {
    format!("part-{node:04}")
}

/// Whether a directory entry is called as a part is.
pub fn is_part_name(name: &str) -> bool {
    (0..rdf::placement::NODES_MAX).any(|node| *name == part_name(node))
}

/// Cuts the store at `store` into parts in the directory `parts`, which is made where it is missing (in one that exists).
pub fn cut_store(
    disk: &dyn Disk,
    store: &Path,
    parts: &Path,
    deal: &Deal,
) -> Result<CutSizes, CutStoreError> {
    let opened = directory::open(disk, store)?;
    let path = || store.to_owned();
    if log::pending(disk, store, opened.manifest().snapshot() + 1)? {
        return Err(CutStoreError::Pending { path: path() });
    }
    if !beside::read(&opened)?.is_empty() {
        return Err(CutStoreError::Streams { path: path() });
    }
    let whole = Snapshot::open(&opened)?;
    let failed = |source| CutStoreError::Cut {
        path: path(),
        source,
    };
    refuse_part(&whole).map_err(failed)?;
    let dictionary = DictionaryCut::open(&opened)?;
    let placement = deal.placement(&whole, dictionary.counts().iris);
    let placement = &placement.map_err(failed)?;
    let cut = Cut::new(&whole, placement.clone(), fingerprint(opened.manifest()));
    let cut = cut.map_err(failed)?;
    directory::make_directory(disk, parts)?;
    let mut sizes = CutSizes::default();
    let mut generations = Vec::new();
    for node in 0..placement.nodes() {
        let path = parts.join(part_name(node));
        let generation = begin_part(disk, &path)?;
        let part = cut.part(node, &generation);
        sizes
            .parts
            .push(part.map_err(|source| CutStoreError::Cut { path, source })?);
        generations.push(generation);
    }
    let scratch = generations[0].directory();
    let files = generations.iter().map(|files| files as &dyn PartFiles);
    DictionaryCut::new(dictionary, placement, files.collect(), disk, scratch).write()?;
    for (generation, part) in generations.into_iter().zip(&sizes.parts) {
        let mut counts = BTreeMap::from([("quads".to_owned(), part.out_edges)]);
        for name in ["terms", BLANK_NODES_COUNT, SNAPSHOT_COUNT] {
            let count = opened.manifest().counts.get(name);
            counts.extend(count.map(|count| (name.to_owned(), *count)));
        }
        generation.commit(counts)?;
    }
    Ok(sizes)
}

fn begin_part<'d>(disk: &'d dyn Disk, path: &Path) -> Result<NewGeneration<'d>, CutStoreError> {
    let generation = directory::begin(disk, path)?;
    if generation.previous().is_some() && PartOf::open(&directory::open(disk, path)?)?.is_none() {
        return Err(CutStoreError::Occupied {
            path: path.to_owned(),
        });
    }
    Ok(generation)
}

/// The graph and the dictionary of an opened part.
pub fn open_part(opened: &Opened) -> Result<(Snapshot, PartDictionary), LoadError> {
    Ok((Snapshot::open(opened)?, open_part_dictionary(opened)?))
}

/// What tells a generation from others; see the module.
fn fingerprint(manifest: &Manifest) -> u128 {
    let mut hash = Xxh3::new();
    hash.update(&manifest.snapshot().to_le_bytes());
    for file in &manifest.files {
        hash.update(&(file.name.len() as u64).to_le_bytes());
        hash.update(file.name.as_bytes());
        hash.update(&file.length_bytes.to_le_bytes());
        hash.update(&file.sums_sum.to_le_bytes());
    }
    hash.digest128()
}
