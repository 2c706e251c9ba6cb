//! A store cut into the parts of a cluster's nodes.
//!
//! ```text
//!  load --parts N     files -> a store beside the parts -> parts     the store is removed
//!  cut                a store                           -> parts     the store stays
//! ```
//!
//! Ids are given by one numbering, so files become one store first, whatever the number of parts; so a load in parts takes
//! the room of the whole once more while it runs. Which part an edge lies in: [`store::part_of`].

use crate::load::{LoadProgress, LoadReport, Request, Source, StoreError, fold_log, load};
use std::io;
use std::path::{Path, PathBuf};
use store::cut::{cut_store, is_part_name};
use store::disk::RealDisk;

pub use store::cut::{CutSizes, CutStoreError, Deal, PartSizes, part_name};

/// Where a load in parts has the whole meanwhile, within the directory of parts.
const WHOLE: &str = ".whole";

/// Why a store was not cut, or files not loaded in parts.
#[derive(Debug, thiserror::Error)]
pub enum PartsError {
    /// There are no such parts.
    #[error(transparent)]
    Placement(#[from] rdf::PlacementError),
    /// The files could not be loaded, or the store's log not be written into its files.
    #[error(transparent)]
    Load(#[from] StoreError),
    /// The store could not be cut.
    #[error(transparent)]
    Cut(#[from] CutStoreError),
    /// The place for the whole could not be made or removed.
    #[error("{}: {error}", path.display())]
    Whole {
        /// The place.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

/// Cuts the store at `location` into parts in the directory `parts`. Changes that are in its log only are written into its
/// files before.
pub fn cut(location: &Path, parts: &Path, deal: &Deal) -> Result<CutSizes, PartsError> {
    deal.check()?;
    fold_log(location)?;
    Ok(cut_store(&RealDisk, location, parts, deal)?)
}

/// The names of what lies in a directory and is called as a part is, in order; none where there is no such directory.
pub fn parts_in(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| is_part_name(name)).collect();
    names.sort_unstable();
    names
}

/// Loads sources into parts in the directory `parts`, which take the place of those that are there.
pub fn load_in_parts(
    parts: &Path,
    sources: Vec<Source<'_>>,
    request: &Request,
    deal: &Deal,
    progress: &dyn LoadProgress,
) -> Result<(LoadReport, CutSizes), PartsError> {
    deal.check()?;
    let whole = Whole::begin(parts)?;
    let report = load(&whole.path, sources, request, progress)?;
    let sizes = cut_store(&RealDisk, &whole.path, parts, deal)?;
    whole.remove()?;
    Ok((report, sizes))
}

/// The place of the whole while it is loaded and cut; what is left there is removed when it is dropped.
struct Whole {
    path: PathBuf,
}

impl Whole {
    fn begin(parts: &Path) -> Result<Whole, PartsError> {
        let whole = Whole {
            path: parts.join(WHOLE),
        };
        // One that was killed has left it.
        whole.clear()?;
        let made = match std::fs::create_dir(parts) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        };
        made.map_err(|error| PartsError::Whole {
            path: parts.to_owned(),
            error,
        })?;
        Ok(whole)
    }

    fn clear(&self) -> Result<(), PartsError> {
        match std::fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(PartsError::Whole {
                path: self.path.clone(),
                error,
            }),
            _ => Ok(()),
        }
    }

    fn remove(self) -> Result<(), PartsError> {
        self.clear()
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        // The error that ends the load is the one to be told.
        let _ = self.clear();
    }
}
