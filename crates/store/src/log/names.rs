//! The names of a log's files, and which of them are there.
//!
//! A file is named by the position of its first record, in so many digits that names sort as positions do. Recovery
//! lists these names, the writer makes them, and the [count](super::durable) beside the log tells which one is missing.
//! So the names stand below all three.
//!
//! Invariant: [`list`] takes exactly the names that [`file_name`] gives, and refuses every other name that ends alike.

use super::LogError;
use crate::disk::Disk;
use std::io;
use std::path::Path;

/// Behind a file's number.
const SUFFIX: &str = ".log";
/// Behind the name of a file that is being begun.
pub(super) const NEXT_SUFFIX: &str = ".next";
/// Behind the name of a file that was cut away.
pub(super) const CUT_SUFFIX: &str = ".cut";
const DIGITS: usize = 20;

/// Name of the file that begins with record `first`.
pub(super) fn file_name(first: u64) -> String {
    format!("{first:0DIGITS$}{SUFFIX}")
}

/// First positions of the files in the folder, ascending. A missing folder has none.
pub(super) fn list(disk: &dyn Disk, folder: &Path) -> Result<Vec<u64>, LogError> {
    let names = match disk.list(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        names => names.map_err(LogError::io(folder))?,
    };
    let mut firsts = Vec::new();
    for name in names.iter().filter(|name| name.ends_with(SUFFIX)) {
        let digits = &name[..name.len() - SUFFIX.len()];
        match digits.parse() {
            Ok(first) if file_name(first) == *name && first > 0 => firsts.push(first),
            _ => {
                let file = folder.join(name);
                return Err(LogError::Stray { file });
            }
        }
    }
    firsts.sort_unstable();
    Ok(firsts)
}
