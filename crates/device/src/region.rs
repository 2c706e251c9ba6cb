//! Memory of a device, and memory of the host that it reaches, as ranges that cannot be left.

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Memory of a device. It lives as long as any clone or slice of it.
#[derive(Clone)]
pub struct Region {
    address: u64,
    bytes: u64,
    /// Gives the memory back.
    owner: Arc<dyn Any + Send + Sync>,
}

impl Region {
    /// Memory that `owner` gives back when it is dropped.
    pub(crate) fn new(address: u64, bytes: u64, owner: Arc<dyn Any + Send + Sync>) -> Region {
        Region {
            address,
            bytes,
            owner,
        }
    }

    /// Bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// All of it.
    pub fn whole(&self) -> Slice {
        Slice {
            address: self.address,
            bytes: self.bytes,
            owner: Arc::clone(&self.owner),
        }
    }

    /// A part. Asserts that it lies within.
    pub fn slice(&self, range: Range<u64>) -> Slice {
        self.whole().slice(range)
    }
}

/// A part of a [`Region`], which it keeps alive.
#[derive(Clone)]
pub struct Slice {
    address: u64,
    bytes: u64,
    owner: Arc<dyn Any + Send + Sync>,
}

impl Slice {
    /// Where it lies, as a kernel sees it.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A part. Asserts that it lies within.
    #[must_use]
    pub fn slice(&self, range: Range<u64>) -> Slice {
        assert!(
            range.start <= range.end && range.end <= self.bytes,
            "a slice of {range:?} of {} bytes",
            self.bytes
        );
        Slice {
            address: self.address + range.start,
            bytes: range.end - range.start,
            owner: Arc::clone(&self.owner),
        }
    }
}

impl fmt::Debug for Slice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} bytes at {:#x}", self.bytes, self.address)
    }
}

/// Host memory that a device reaches; zeroed at first.
///
/// It is read and written as words of 8 bytes that change under nobody's hands but those of the device, so the words
/// are atomic: a word is always whole, and whoever waited for a mark sees all that was written before it.
#[derive(Clone)]
pub struct HostRegion {
    words: Arc<dyn Words>,
    /// Where the device sees it.
    address: u64,
}

/// Who owns staged words.
pub(crate) trait Words: Send + Sync {
    fn words(&self) -> &[std::sync::atomic::AtomicU64];

    /// What it is, for the device that made it.
    fn any(&self) -> &dyn Any;
}

impl HostRegion {
    pub(crate) fn new(words: Arc<dyn Words>, address: u64) -> HostRegion {
        HostRegion { words, address }
    }

    /// Its words.
    pub fn words(&self) -> &[std::sync::atomic::AtomicU64] {
        self.words.words()
    }

    /// Who owns them.
    pub(crate) fn owner(&self) -> &dyn Any {
        self.words.any()
    }

    /// Bytes.
    pub fn bytes(&self) -> u64 {
        size_of_val(self.words()) as u64
    }

    /// Where the device sees it.
    pub fn address(&self) -> u64 {
        self.address
    }
}

impl fmt::Debug for HostRegion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} staged bytes", self.bytes())
    }
}
