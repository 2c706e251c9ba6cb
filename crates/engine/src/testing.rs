//! An empty database for tests of this crate, which must not reach up to the façade's loading.

use crate::{Database, Options};
use std::time::Duration;
use store::load::{LoadOptions, LoadWatch, Unwatched, load_in_memory};

/// A database in memory without a quad.
pub(crate) fn empty(options: &Options) -> Database {
    let watch = LoadWatch {
        progress: &Unwatched,
        clock: &|| Duration::ZERO,
    };
    let (snapshot, dictionary, _) =
        load_in_memory(Vec::new(), &LoadOptions::new(1, [0; 16]), watch).expect("nothing to load");
    Database::in_memory(snapshot, dictionary, options).expect("nothing to open")
}
