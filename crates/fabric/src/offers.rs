//! The regions that one life of a node offers, and how they are read and written.
//!
//! Invariant: a key is never given twice, so what was withdrawn can never be mistaken for what was offered later; and a
//! key carries the life, so what another life of the node offered is not found. Every piece is compared with its region
//! before a byte is copied: pieces come from other nodes.
//!
//! | what | who may touch it, when |
//! |---|---|
//! | the table | any thread, under its lock, for a look-up; never while bytes are copied |
//! | bytes of a region | read by any thread; nobody writes |
//! | bytes of a buffer | one thread at a time, under the buffer's own lock, for one piece |
//!
//! Cost: a look-up in a tree of the offers for each piece, some 30 ns, and the copy.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use memory::{HeapRegion, Region};

use crate::error::FabricError;
use crate::limits::Limits;
use crate::node::NodeId;
use crate::region::{Buffer, MemoryKind, Offered, Piece, RegionKey};

/// What one life of a node offers.
pub(crate) struct Offers {
    node: NodeId,
    life: u64,
    table: RwLock<Table>,
}

#[derive(Default)]
struct Table {
    next_key: u64,
    offers: BTreeMap<u64, Offer>,
}

#[derive(Clone)]
enum Offer {
    Read(Region),
    Write(Arc<Writable>),
}

/// A buffer that others write to; `None` once it was withdrawn.
struct Writable {
    length: u64,
    buffer: Mutex<Option<Buffer>>,
}

impl Offers {
    /// No offers yet.
    pub(crate) fn new(node: NodeId, life: u64) -> Offers {
        Offers {
            node,
            life,
            table: RwLock::default(),
        }
    }

    /// Lets others read.
    pub(crate) fn offer(&self, region: Region) -> RegionKey {
        self.insert(Offer::Read(region))
    }

    /// Lets others read and write.
    pub(crate) fn offer_for_writing(&self, buffer: Buffer) -> RegionKey {
        self.insert(Offer::Write(Arc::new(Writable {
            length: buffer.len() as u64,
            buffer: Mutex::new(Some(buffer)),
        })))
    }

    fn insert(&self, offer: Offer) -> RegionKey {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let key = table.next_key;
        table.next_key += 1;
        table.offers.insert(key, offer);
        RegionKey {
            node: self.node,
            key,
            generation: self.life,
        }
    }

    /// Takes an offer back.
    pub(crate) fn withdraw(&self, region: RegionKey) -> Option<Offered> {
        if !self.is_ours(region) {
            return None;
        }
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let offer = table.offers.remove(&region.key)?;
        drop(table);
        match offer {
            Offer::Read(region) => Some(Offered::Read(region)),
            Offer::Write(writable) => writable.lock().take().map(Offered::Write),
        }
    }

    /// Copies the pieces to the beginning of `into`, which is long enough (asserted), one after another.
    pub(crate) fn read(&self, pieces: &[Piece], into: &mut [u8]) -> Result<(), FabricError> {
        let mut rest = into;
        // Pieces of one region mostly follow each other.
        let mut last: Option<(RegionKey, Offer)> = None;
        for piece in pieces {
            let offer = match last.take() {
                Some((key, offer)) if key == piece.region => offer,
                _ => self.offered(piece)?,
            };
            let (_, offer) = last.insert((piece.region, offer));
            lies_within(piece, offer)?;
            let (target, after) = rest.split_at_mut(piece.length as usize);
            rest = after;
            match offer {
                Offer::Read(region) => {
                    let bytes = region.get(range(piece)).ok_or_else(|| gone(piece))?;
                    target.copy_from_slice(bytes);
                    if region.is_damaged() {
                        return Err(FabricError::Damaged {
                            region: piece.region,
                        });
                    }
                }
                Offer::Write(writable) => {
                    let buffer = writable.lock();
                    let buffer = buffer.as_ref().ok_or_else(|| gone(piece))?;
                    target.copy_from_slice(&buffer.bytes()[range(piece)]);
                }
            }
        }
        Ok(())
    }

    /// Copies the beginning of `from`, which is long enough (asserted), to the pieces, one after another.
    pub(crate) fn write(&self, pieces: &[Piece], from: &[u8]) -> Result<(), FabricError> {
        let mut rest = from;
        for piece in pieces {
            let offer = self.offered(piece)?;
            lies_within(piece, &offer)?;
            let (source, after) = rest.split_at(piece.length as usize);
            rest = after;
            let Offer::Write(writable) = offer else {
                return Err(FabricError::ReadOnly {
                    region: piece.region,
                });
            };
            let mut buffer = writable.lock();
            let buffer = buffer.as_mut().ok_or_else(|| gone(piece))?;
            buffer.bytes_mut()[range(piece)].copy_from_slice(source);
        }
        Ok(())
    }

    /// The offer that a piece is said to lie in.
    fn offered(&self, piece: &Piece) -> Result<Offer, FabricError> {
        if !self.is_ours(piece.region) {
            return Err(gone(piece));
        }
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        let offer = table.offers.get(&piece.region.key).cloned();
        drop(table);
        offer.ok_or_else(|| gone(piece))
    }

    fn is_ours(&self, region: RegionKey) -> bool {
        region.node == self.node && region.generation == self.life
    }
}

impl Offer {
    fn length(&self) -> u64 {
        match self {
            Offer::Read(region) => region.len() as u64,
            Offer::Write(writable) => writable.length,
        }
    }
}

impl Writable {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Buffer>> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a piece lies within an offer, whole.
fn lies_within(piece: &Piece, offer: &Offer) -> Result<(), FabricError> {
    let region_bytes = offer.length();
    let end = piece.offset.checked_add(piece.length);
    if end.is_some_and(|end| end <= region_bytes) {
        return Ok(());
    }
    Err(FabricError::Outside {
        region: piece.region,
        offset: piece.offset,
        length: piece.length,
        region_bytes,
    })
}

/// Where a piece lies that was found to lie within its region.
fn range(piece: &Piece) -> std::ops::Range<usize> {
    piece.offset as usize..(piece.offset + piece.length) as usize
}

fn gone(piece: &Piece) -> FabricError {
    FabricError::NotOffered {
        region: piece.region,
    }
}

/// Memory of the host, zeroed; what every fabric without devices allocates.
pub(crate) fn allocate_on_host(bytes: usize, kind: MemoryKind) -> Result<Buffer, FabricError> {
    match kind {
        MemoryKind::Device(_) => Err(FabricError::NoSuchMemory { kind }),
        MemoryKind::Host => HeapRegion::zeroed(bytes)
            .map(Buffer::new)
            .map_err(|_| FabricError::NoMemory { bytes }),
    }
}

/// How many bytes some pieces are together, if a fabric with these limits carries them from or to this node and they
/// fit into a buffer.
pub(crate) fn check_pieces(
    pieces: &[Piece],
    asked: NodeId,
    buffer: &[u8],
    limits: &Limits,
) -> Result<u64, FabricError> {
    let bytes = length_of(pieces, asked, limits)?;
    if bytes > buffer.len() as u64 {
        let buffer_bytes = buffer.len();
        return Err(FabricError::BufferTooShort {
            buffer_bytes,
            bytes,
        });
    }
    Ok(bytes)
}

/// How many bytes some pieces are together, if a fabric with these limits carries them from or to this node.
pub(crate) fn length_of(
    pieces: &[Piece],
    asked: NodeId,
    limits: &Limits,
) -> Result<u64, FabricError> {
    let pieces_max = limits.pieces_max;
    if pieces.len() > pieces_max {
        let pieces = pieces.len();
        return Err(FabricError::TooManyPieces { pieces, pieces_max });
    }
    if let Some(other) = pieces.iter().find(|piece| piece.region.node != asked) {
        let of = other.region.node;
        return Err(FabricError::OtherNode { of, asked });
    }
    let lengths = pieces.iter().map(|piece| piece.length);
    let bytes = lengths.fold(0_u64, u64::saturating_add);
    let bytes_max = limits.message_bytes_max as u64;
    if bytes > bytes_max {
        return Err(FabricError::TooLong { bytes, bytes_max });
    }
    Ok(bytes)
}
