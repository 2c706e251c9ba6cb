//! Opening a store directory: the current generation, its files mapped.
//!
//! Nothing is changed and nothing is locked, so any number of readers may open a store while a load
//! runs. A load that becomes current between the reading of CURRENT and the mapping of files
//! removes what was current before; then CURRENT is read again.

use super::manifest::{FileHead, HeadError, KIND_CURRENT, Manifest, check_identity};
use super::{CURRENT, LOCK, MANIFEST, generation_name, generation_number};
use crate::disk::Disk;
use crate::log::{DURABLE, DURABLE_NEXT, LOG};
use crate::parts::{PartError, PartSource};
use memory::{CheckedRegion, Region, block_count};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// How often CURRENT is read again when a load has replaced what it named.
const ATTEMPTS: usize = 8;

/// Why a store directory could not be opened. Says what to do where something can be done.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is nothing at this path.
    #[error(
        "{path}: there is no store here; make one with `somersault load`, or parts of a cluster's with `load --parts`"
    )]
    Missing {
        /// The path asked for.
        path: PathBuf,
    },
    /// The path is not a store directory.
    #[error("{path}: not a store directory: {what}")]
    NotAStore {
        /// The path asked for.
        path: PathBuf,
        /// What was found instead.
        what: String,
    },
    /// No load into this directory has been completed.
    #[error("{path}: the store is empty: no load into it was completed")]
    Empty {
        /// The path asked for.
        path: PathBuf,
    },
    /// A copy into this directory was begun and not finished.
    #[error(
        "{path}: a backup or restore into it was not finished: run that again, or remove the directory"
    )]
    Unfinished {
        /// The path asked for.
        path: PathBuf,
    },
    /// It is marked as an unfinished copy, and has what no copy has.
    #[error(
        "{path}: UNFINISHED says that a backup or restore into it was not finished, but there is {what}, which \
         neither of them writes; if the store is known to be whole, remove the file UNFINISHED, otherwise the \
         directory"
    )]
    Doubtful {
        /// The path asked for.
        path: PathBuf,
        /// What is there.
        what: &'static str,
    },
    /// A file's head was not accepted.
    #[error("{file}: {source}")]
    Head {
        /// The file.
        file: PathBuf,
        /// Why.
        source: HeadError,
    },
    /// A file is shorter or longer than the manifest says.
    #[error("{file}: it has {found} bytes and should have {expected}: it was cut or written to")]
    Length {
        /// The file.
        file: PathBuf,
        /// Its length in bytes.
        found: u64,
        /// The length that fits the manifest.
        expected: u64,
    },
    /// A file that the manifest names is missing.
    #[error("{file}: the manifest names it, but it is missing")]
    MissingFile {
        /// The file.
        file: PathBuf,
    },
    /// A file's table of checksums is damaged.
    #[error("{file}: its table of checksums is damaged")]
    Sums {
        /// The file.
        file: PathBuf,
    },
    /// The system did not give a file's bytes.
    #[error("{file}: {source}")]
    Io {
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// The current generation of a store, its files mapped.
#[derive(Debug)]
pub struct Opened {
    manifest: Manifest,
    directory: PathBuf,
    parts: BTreeMap<String, (Region, Vec<u64>)>,
}

/// Opens the current generation of the store at `path`.
pub fn open(disk: &dyn Disk, path: &Path) -> Result<Opened, OpenError> {
    let mut current = read_current(disk, path)?;
    for _ in 0..ATTEMPTS {
        let opened = open_generation(disk, path, &current);
        let Err(OpenError::MissingFile { .. }) = opened else {
            return opened;
        };
        let next = read_current(disk, path)?;
        if next == current {
            return opened;
        }
        current = next;
    }
    open_generation(disk, path, &current)
}

/// Which generation is current: equal as long as it is the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Current(FileHead);

/// Which generation of the store at `path` is current. One small file is read.
pub fn current(disk: &dyn Disk, path: &Path) -> Result<Current, OpenError> {
    read_current(disk, path).map(Current)
}

/// What CURRENT says.
pub(crate) fn read_current(disk: &dyn Disk, path: &Path) -> Result<FileHead, OpenError> {
    let file = path.join(CURRENT);
    match disk.map(&file) {
        Ok(region) => FileHead::read(region.bytes(), KIND_CURRENT).map_err(|source| match source {
            // Beside generations it is ours and damaged.
            HeadError::Foreign if !has_generations(disk, path) => OpenError::NotAStore {
                path: path.to_owned(),
                what: format!("its {CURRENT} is of some other program"),
            },
            source => OpenError::Head { file, source },
        }),
        Err(error) if is_absent(&error) => Err(without_current(disk, path)),
        Err(source) => Err(OpenError::Io { file, source }),
    }
}

fn has_generations(disk: &dyn Disk, path: &Path) -> bool {
    let names = disk.list(path).unwrap_or_default();
    names.iter().any(|name| generation_number(name).is_some())
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Says what a path without CURRENT is.
fn without_current(disk: &dyn Disk, path: &Path) -> OpenError {
    let path = path.to_owned();
    match disk.list(&path) {
        Ok(names) => match names.iter().find(|name| !is_ours(name)) {
            None if names.is_empty() => OpenError::Missing { path },
            None => OpenError::Empty { path },
            Some(name) => {
                let what = format!("it has no {CURRENT}, but other things such as {name}");
                OpenError::NotAStore { path, what }
            }
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => OpenError::Missing { path },
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => OpenError::NotAStore {
            path,
            what: "it is a file".to_owned(),
        },
        Err(source) => OpenError::Io { file: path, source },
    }
}

/// Whether a writer may have left something of this name in a store directory.
pub(crate) fn is_ours(name: &str) -> bool {
    let names = [
        CURRENT,
        super::CURRENT_NEXT,
        LOCK,
        LOG,
        DURABLE,
        DURABLE_NEXT,
        super::UNFINISHED,
    ];
    names.contains(&name) || generation_number(name).is_some()
}

fn open_generation(disk: &dyn Disk, path: &Path, current: &FileHead) -> Result<Opened, OpenError> {
    let directory = path.join(generation_name(current.generation));
    let file = directory.join(MANIFEST);
    let region = map(disk, &file)?;
    let head_error = |source| OpenError::Head {
        file: file.clone(),
        source,
    };
    check_identity(region.bytes()).map_err(head_error)?;
    if !current.speaks_of(region.bytes()) {
        let source = HeadError::Damaged("it is not the one that CURRENT names");
        return Err(head_error(source));
    }
    let manifest = Manifest::from_bytes(region.bytes()).map_err(head_error)?;
    let mut parts = BTreeMap::new();
    for part in &manifest.files {
        let file = directory.join(part.name.as_ref());
        let region = map(disk, &file)?;
        parts.insert(
            part.name.clone().into_owned(),
            cut(&region, part.length_bytes, part.sums_sum, file)?,
        );
    }
    Ok(Opened {
        manifest,
        directory,
        parts,
    })
}

fn map(disk: &dyn Disk, file: &Path) -> Result<Region, OpenError> {
    disk.map(file).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => OpenError::MissingFile {
            file: file.to_owned(),
        },
        _ => OpenError::Io {
            file: file.to_owned(),
            source,
        },
    })
}

/// Cuts a file into its content and its table of checksums.
fn cut(
    region: &Region,
    length_bytes: u64,
    sums_sum: u64,
    file: PathBuf,
) -> Result<(Region, Vec<u64>), OpenError> {
    let found = region.len() as u64;
    let expected = length_bytes.saturating_add(block_count(length_bytes) * 8);
    let content = usize::try_from(length_bytes)
        .ok()
        .and_then(|length| region.slice(0..length));
    let (Some(content), true) = (content, found == expected) else {
        return Err(OpenError::Length {
            file,
            found,
            expected,
        });
    };
    let table = &region.bytes()[content.len()..];
    if memory::block_sum(table) != sums_sum {
        return Err(OpenError::Sums { file });
    }
    let sums = table
        .chunks_exact(8)
        .map(bytemuck::pod_read_unaligned)
        .collect();
    Ok((content, sums))
}

impl Opened {
    /// What is in the generation.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The generation's directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Bytes of every file with its checksums, ascending by name.
    pub fn sizes(&self) -> Vec<(String, u64)> {
        let size = |part: &(Region, Vec<u64>)| part.0.len() as u64 + 8 * part.1.len() as u64;
        self.parts
            .iter()
            .map(|(name, part)| (name.clone(), size(part)))
            .collect()
    }
}

impl PartSource for Opened {
    fn part(&self, name: &str) -> Result<CheckedRegion, PartError> {
        let error = |source| PartError {
            file: name.to_owned(),
            source,
        };
        let Some((region, sums)) = self.parts.get(name) else {
            return Err(error(io::ErrorKind::NotFound.into()));
        };
        CheckedRegion::new(name, region.clone(), sums.clone())
            .map_err(|block| error(io::Error::new(io::ErrorKind::InvalidData, block)))
    }
}
