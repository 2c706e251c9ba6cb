//! Memory that a fabric reads from and writes to, and the names by which others reach it.
//!
//! A [`Buffer`] is memory that one owner fills; reads and writes take it by value and give it back when they complete, so
//! that nobody can touch it while a device might. Memory that others may read is an immutable [`memory::Region`], a
//! mapped file as well as a filled buffer. The owner of a region has verified it before it offers it: a reader of 64 bytes
//! cannot compare a checksum of 64 KiB.

use std::fmt;

use memory::{HeapRegion, Region};

use crate::node::NodeId;

/// Where memory lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryKind {
    /// Memory of the processor.
    Host,
    /// Memory of a device, by its number.
    Device(u16),
}

impl fmt::Display for MemoryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemoryKind::Host => write!(f, "memory of the host"),
            MemoryKind::Device(number) => write!(f, "memory of device {number}"),
        }
    }
}

/// Memory from [`Fabric::allocate`](crate::Fabric::allocate), in one owner's hands.
pub struct Buffer {
    memory: HeapRegion,
}

impl Buffer {
    pub(crate) fn new(memory: HeapRegion) -> Buffer {
        Buffer { memory }
    }

    /// All bytes.
    pub fn bytes(&self) -> &[u8] {
        self.memory.bytes()
    }

    /// The bytes, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.memory.bytes_mut()
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.memory.len()
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ends the writing, so that the bytes can be offered. They do not move.
    pub fn freeze(self) -> Region {
        self.memory.freeze()
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes)", self.len())
    }
}

/// The name of a region that a node offers. It means nothing to another life of that node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegionKey {
    /// Whose region.
    pub node: NodeId,
    /// Which of the regions of that life. Never given twice.
    pub key: u64,
    /// Which life of the node: [`Incarnation::life`](crate::Incarnation::life).
    pub generation: u64,
}

/// Some bytes of an offered region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    /// Which region.
    pub region: RegionKey,
    /// Where they begin in it (bytes).
    pub offset: u64,
    /// How many (bytes).
    pub length: u64,
}

/// What was offered, back in its owner's hands.
#[derive(Debug)]
pub enum Offered {
    /// It was offered for reading. Reads that are being answered may still hold a handle.
    Read(Region),
    /// It was offered for writing. Nobody writes to it any more.
    Write(Buffer),
}
