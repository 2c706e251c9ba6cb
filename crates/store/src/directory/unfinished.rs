//! The marker of a copy that is not finished, and what it proves.
//!
//! A [copy](super::copy) writes the marker, and a [writer](super::generation) refuses a directory that has one. Neither
//! needs the other for that, so the marker stands below both.
//!
//! A copy writes no log. So the marker beside a log was put there by somebody else, as was a marker that is
//! empty or cut off and does not stand alone: nothing is removed on the word of either.

use super::LOCK;
use super::open::OpenError;
use crate::disk::Disk;
use crate::log::{DURABLE, DURABLE_NEXT, LOG};
use std::path::Path;

/// Name of the marker.
pub const UNFINISHED: &str = "UNFINISHED";
/// What stands in it, for people; a file of this name with another text is somebody else's.
pub(super) const MARK: &[u8] =
    b"A backup or restore into this directory was not finished; run it again.\n";

/// What the marker says of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marked {
    /// There is none, or a stray file of its name.
    No,
    /// A copy was begun and not finished.
    Unfinished,
    /// It is there, and this is, too, which no copy writes.
    Beside(&'static str),
}

/// What the marker says of this directory.
pub(super) fn marked(disk: &dyn Disk, path: &Path) -> Marked {
    let Ok(bytes) = disk.read(&path.join(UNFINISHED)) else {
        return Marked::No;
    };
    let names = disk.list(path).unwrap_or_default();
    if bytes == MARK {
        let of_log = [LOG, DURABLE, DURABLE_NEXT];
        let foreign = of_log
            .into_iter()
            .find(|name| names.iter().any(|found| found == name));
        return foreign.map_or(Marked::Unfinished, Marked::Beside);
    }
    // A power cut may have left a part of it, or zeros; then it stands alone.
    let mut pairs = bytes.iter().zip(MARK);
    let is_part = bytes.len() <= MARK.len() && pairs.all(|(byte, mark)| byte == mark || *byte == 0);
    let is_alone = names.iter().all(|name| name == LOCK || name == UNFINISHED);
    if is_part && is_alone {
        Marked::Unfinished
    } else {
        Marked::No
    }
}

/// Whether a copy into this directory was begun and not finished.
pub fn is_unfinished(disk: &dyn Disk, path: &Path) -> bool {
    marked(disk, path) == Marked::Unfinished
}

/// An error where a copy into this directory was begun and not finished, or may have been.
pub fn refuse_unfinished(disk: &dyn Disk, path: &Path) -> Result<(), OpenError> {
    let path = path.to_owned();
    match marked(disk, &path) {
        Marked::No => Ok(()),
        Marked::Unfinished => Err(OpenError::Unfinished { path }),
        Marked::Beside(what) => Err(OpenError::Doubtful { path, what }),
    }
}
