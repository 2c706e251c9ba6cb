//! A store directory: generations of files, one of which is current.
//!
//! ```text
//! STORE/
//!   CURRENT                 64 bytes: which generation, and the checksum of its manifest
//!   LOCK                    held by whoever writes
//!   UNFINISHED              while a copy is made here
//!   DURABLE                 how far the log was durable
//!   log/                    changes since the generation was written (see [`log`](crate::log))
//!   g-0000000000000001/     a generation: immutable once CURRENT names it
//!     MANIFEST              every file's length and checksum, counts
//!     segments-out.bin ...  parts
//! ```
//!
//! Invariant: CURRENT names a generation whose files were all synced, with their names, before
//! CURRENT was renamed into place. So a load that fails, is killed, or loses power leaves the store
//! as it was, and whatever it left behind is an unnamed generation, which the next successful load
//! removes. Readers never remove and never lock: files that they have mapped stay readable after
//! they are unlinked.
//!
//! Cost of opening: one read of CURRENT and MANIFEST, one map and one table of checksums (8 bytes
//! in 65,536) per file; no content is touched but headers.
//!
//! - [`manifest`]: CURRENT and MANIFEST, their bytes;
//! - [`generation`]: writing a generation and making it current;
//! - [`open`]: finding the current one;
//! - [`copy`]: a store that is made as a copy, and [`unfinished`], its marker until it is whole.

pub mod beside;
pub mod copy;
pub mod generation;
pub mod manifest;
pub mod open;
pub mod unfinished;

pub use copy::{Copying, begin_copy, in_the_way};
pub(crate) use generation::make_directory;
pub use generation::{
    BeginError, LostError, NewGeneration, WriterLock, begin, begin_locked, lock_writer,
};
pub use manifest::{Manifest, SNAPSHOT_COUNT};
pub use open::{Current, OpenError, Opened, current, open};
pub use unfinished::{UNFINISHED, is_unfinished, refuse_unfinished};

/// Name of the file that names the current generation.
pub const CURRENT: &str = "CURRENT";
/// The name under which the next CURRENT is written.
pub(crate) const CURRENT_NEXT: &str = "CURRENT.next";
/// Name of the writers' lock.
pub const LOCK: &str = "LOCK";
/// Name of a generation's manifest.
pub const MANIFEST: &str = "MANIFEST";

/// Name of a generation's directory.
pub fn generation_name(number: u64) -> String {
    format!("g-{number:016}")
}

/// The number of a generation's directory, if it is one.
pub(crate) fn generation_number(name: &str) -> Option<u64> {
    let number = name
        .strip_prefix("g-")
        .filter(|digits| digits.len() == 16)?
        .parse()
        .ok()?;
    (generation_name(number) == name).then_some(number)
}
