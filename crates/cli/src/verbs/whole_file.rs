//! A file that is there whole or not at all.
//!
//! It is written beside its name and renamed at its end. So work that fails, or is killed, leaves
//! neither half a file under the name that was asked for nor the loss of what was there before. What
//! is no ordinary file (a pipe, a device) is written as it is.

use crate::exit::{Code, Failure, Outcome};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Writes `path` by `write`.
pub fn whole_file(path: &Path, write: impl FnOnce(File) -> Outcome) -> Outcome {
    let named =
        |error: io::Error| Failure::new(Code::Failed, format!("{}: {error}", path.display()));
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        return write(File::create(path).map_err(named)?);
    }
    let mut unfinished = path.to_owned().into_os_string();
    unfinished.push(".unfinished");
    let unfinished = PathBuf::from(unfinished);
    let written = write(File::create(&unfinished).map_err(named)?);
    if written.is_err() {
        // What failed before matters more than whether this goes well.
        let _ = fs::remove_file(&unfinished);
        return written;
    }
    fs::rename(&unfinished, path).map_err(named)
}
