//! Slabs of memory: mapped files, aligned heap regions, checksummed views of them, prefetch.
//!
//! Everything that the store and the dictionary read lies in a [`Region`]: bytes that stay where
//! they are and never change, whether they are a mapped file or memory of this process. A
//! [`CheckedRegion`] adds a checksum per 64 KiB block and checks each block at its first touch, so
//! that opening a store of any size costs nothing and a damaged block is never served.
//!
//! This is the one crate with `unsafe` code (outside the foreign-function modules to come):
//! mapping a file, in `region`, the handler for pages of it that are gone, in `faults`, a call of the
//! allocator, in `heap`, and the prefetch instruction, in `prefetch`, one argument beside each block. All
//! are wrapped so that no caller can misuse them.
//!
//! Deliberately does not know: graphs, networks, devices.

mod checked;
mod faults;
mod growing;
mod heap;
mod prefetch;
mod region;
mod sums;
mod views;

pub use checked::{CheckedRegion, Damage, DamagedBlock};
pub use faults::{fault_count, survive_bus_errors};
pub use growing::GrowingRegion;
pub use heap::give_back;
pub use prefetch::prefetch;
pub use region::{HeapRegion, Region};
pub use sums::{BLOCK_BYTES, BlockSums, block_count, block_sum};
pub use views::cast;

// Files are little-endian and are read in place: a big-endian machine would read them wrongly.
const _: () = assert!(cfg!(target_endian = "little"), "files are little-endian");
// Lengths and offsets of regions are 64 bits wide and are used as indexes.
const _: () = assert!(size_of::<usize>() == 8, "regions exceed 4 GiB");
