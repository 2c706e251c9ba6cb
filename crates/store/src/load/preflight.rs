//! What a load can be refused for before it touches anything.
//!
//! A missing file among many, an unknown extension, a graph that is no IRI or a file for rejected
//! lines that is one of the inputs should cost neither an hour of reading nor a store directory
//! with nothing in it, and never an input. So all of it is looked at first.
//!
//! Files are opened and closed again; what is no plain file (a pipe, a terminal) need only be
//! there, since opening a pipe waits for its writer and closing it ends him. A file may go between
//! this look and its turn: then the load fails at its turn.

use super::error::LoadError;
use super::options::{LoadOptions, OnError};
use super::quarantine;
use super::source::{self, Origin, Source};
use std::fs;
use std::io;
use std::path::Path;

/// An error where a load of these sources cannot succeed.
pub(super) fn check(sources: &[Source<'_>], options: &LoadOptions) -> Result<(), LoadError> {
    options.graph_name()?;
    for source in sources {
        source.known_syntax()?;
        if let Origin::Path(path) = &source.origin {
            can_open(path).map_err(|error| LoadError::Open {
                name: source.name.clone(),
                error,
            })?;
        }
    }
    if let OnError::Quarantine(path) = &options.on_error {
        check_quarantine(path, sources)?;
    }
    Ok(())
}

fn can_open(path: &Path) -> io::Result<()> {
    let kind = path.metadata()?.file_type();
    if kind.is_file() || kind.is_dir() {
        source::open_path(path)?;
    }
    Ok(())
}

/// Refuses a file that is an input, by whatever name, or that would be written beside it.
fn check_quarantine(path: &Path, sources: &[Source<'_>]) -> Result<(), LoadError> {
    for source in sources {
        let Origin::Path(input) = &source.origin else {
            continue;
        };
        let written = [path.to_owned(), quarantine::part_path(path)];
        if written.iter().any(|written| is_same_file(written, input)) {
            return Err(LoadError::QuarantineIsInput {
                path: path.to_owned(),
                name: source.name.clone(),
            });
        }
    }
    Ok(())
}

/// Whether two paths lead to one plain file, links of both kinds included.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let (Ok(first), Ok(second)) = (one.metadata(), other.metadata()) else {
        return false;
    };
    first.is_file()
        && second.is_file()
        && (is_same_inode(&first, &second) || is_same_path(one, other))
}

#[cfg(unix)]
fn is_same_inode(one: &fs::Metadata, other: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same_inode(_one: &fs::Metadata, _other: &fs::Metadata) -> bool {
    false
}

fn is_same_path(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}
