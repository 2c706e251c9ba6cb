//! The file for rejected lines: the whole of it, or what was there before.
//!
//! Lines go to a file beside it, whose name ends in `.part`, which takes its place when all input
//! is parsed; a load that fails before removes it. So a file of an earlier load is not lost to a
//! mistyped second one. What exists and is no plain file (a pipe, `/dev/stderr`) cannot be replaced
//! and is written to directly.

use super::error::LoadError;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Where the lines for `path` go first.
pub(super) fn part_path(path: &Path) -> PathBuf {
    let mut part = whole_path(path).into_os_string();
    part.push(".part");
    part.into()
}

/// The file behind a link, which is to stay a link.
fn whole_path(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Takes lines; see the module's documentation.
pub(super) struct QuarantineFile {
    path: PathBuf,
    /// Where the lines are until the end, if not at `path`.
    part: Option<PathBuf>,
    lines: BufWriter<File>,
}

impl QuarantineFile {
    /// An empty file, which takes the place of `path` at the end.
    pub fn create(path: &Path) -> Result<QuarantineFile, LoadError> {
        let is_special = path.metadata().is_ok_and(|file| !file.is_file());
        let part = (!is_special).then(|| part_path(path));
        let file = match &part {
            Some(part) => File::create(part),
            None => File::options().write(true).open(path),
        };
        match file {
            Ok(file) => Ok(QuarantineFile {
                path: path.to_owned(),
                part,
                lines: BufWriter::new(file),
            }),
            Err(error) => Err(LoadError::Quarantine {
                path: path.to_owned(),
                error,
            }),
        }
    }

    /// Appends whole lines.
    pub fn write(&mut self, lines: &[u8]) -> Result<(), LoadError> {
        let written = self.lines.write_all(lines);
        written.map_err(|error| self.failed(error))
    }

    /// All lines were written: they become the file.
    pub fn publish(mut self) -> Result<(), LoadError> {
        let flushed = self.lines.flush();
        flushed.map_err(|error| self.failed(error))?;
        if let Some(part) = &self.part {
            let renamed = fs::rename(part, whole_path(&self.path));
            renamed.map_err(|error| self.failed(error))?;
            self.part = None;
        }
        Ok(())
    }

    fn failed(&self, error: io::Error) -> LoadError {
        LoadError::Quarantine {
            path: self.path.clone(),
            error,
        }
    }
}

impl Drop for QuarantineFile {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            // What cannot be removed is overwritten by the next load with this name.
            drop(fs::remove_file(part));
        }
    }
}
