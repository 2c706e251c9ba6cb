//! What a node reads others' memory with: what it knows of where lists lie, the reads that are under way, and what it lets others
//! read itself.
//!
//! | what | who may touch it, when |
//! |---|---|
//! | `is_on`, the account of `locations` | whoever makes the node, before it is one |
//! | `locations`, `terms` | any thread, under their own locks |
//! | `under_way` | whoever starts a read, before it does; whoever polls, when it ends |
//! | `offered` | whoever answers another node; the last one, to withdraw |
//!
//! A reading is owned by one thread at a time: by the map while its read is under way, else by whoever took it out.

use crate::error::Failure;
use crate::question::Spot;
use crate::reading::locations::Locations;
use crate::reading::terms::TermsPlaces;
use crate::session::{Asked, Session};
use explore::limits::Unlimited;
use fabric::{Fabric, RegionKey};
use hashbrown::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use store::location::{COLUMNS, ListColumn, Location, Lookup};
use store::view::SegmentKey;

/// A question for lists that is being read, or a column that is being copied.
pub(crate) enum Reading {
    Lists(Box<ListReading>),
    Copy(Box<CopyReading>),
}

/// Lists of one question on their way.
pub(crate) struct ListReading {
    pub(crate) to: u16,
    /// At the desk: it is asked by message under this number, if need be.
    pub(crate) request: u64,
    pub(crate) asked: Arc<Asked>,
    pub(crate) place: usize,
    pub(crate) segment: SegmentKey,
    pub(crate) regions: [Option<RegionKey>; COLUMNS],
    pub(crate) lookup: Lookup,
    pub(crate) drawn: Drawn,
    pub(crate) tally: ReadTally,
    /// Bytes of the read that is under way.
    pub(crate) bytes: usize,
}

/// What a lookup has read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReadTally {
    pub(crate) reads: u64,
    /// Of each column.
    pub(crate) bytes: [u64; COLUMNS],
}

/// Memory of a query that is given back when a reading has ended, or with the query: what a fabric still reads for one that is
/// over is its fabric's.
pub(crate) struct Drawn {
    session: Weak<Session>,
    bytes: u64,
}

impl Drawn {
    /// Nothing yet.
    pub(crate) fn on(session: &Arc<Session>) -> Drawn {
        Drawn {
            session: Arc::downgrade(session),
            bytes: 0,
        }
    }

    /// Draws more; `None`: the query is over.
    pub(crate) fn more(&mut self, bytes: u64) -> Option<Result<(), Failure>> {
        let drawn = self.session.upgrade()?.draw(bytes);
        self.bytes += if drawn.is_ok() { bytes } else { 0 };
        Some(drawn)
    }
}

impl Drop for Drawn {
    fn drop(&mut self) {
        if let Some(session) = self.session.upgrade() {
            session.give_back(self.bytes);
        }
    }
}

/// A column on its way.
pub(crate) struct CopyReading {
    pub(crate) to: u16,
    pub(crate) segment: SegmentKey,
    pub(crate) regions: [Option<RegionKey>; COLUMNS],
    pub(crate) column: ListColumn,
    /// Bytes of the column.
    pub(crate) length: u64,
    pub(crate) copy: Vec<u8>,
    /// Bytes of the read that is under way.
    pub(crate) bytes: usize,
}

/// What a node reads with, and what it lets others read.
pub(crate) struct PeerReader {
    fabric: Arc<dyn Fabric>,
    pub(crate) is_on: bool,
    pub(crate) locations: Locations,
    pub(crate) terms: TermsPlaces,
    under_way: Mutex<UnderWay>,
    /// The regions of this part that others may read.
    offered: Mutex<HashMap<Spot, [Option<RegionKey>; COLUMNS]>>,
}

#[derive(Default)]
struct UnderWay {
    last: u64,
    /// By token.
    readings: HashMap<u64, Reading>,
}

impl PeerReader {
    /// One that reads where that is one-sided, and draws what it keeps on nobody.
    pub(crate) fn new(fabric: &Arc<dyn Fabric>) -> PeerReader {
        PeerReader {
            is_on: fabric.facts().is_one_sided,
            fabric: Arc::clone(fabric),
            locations: Locations::new(Arc::new(Unlimited)),
            terms: TermsPlaces::default(),
            under_way: Mutex::default(),
            offered: Mutex::default(),
        }
    }

    fn under_way(&self) -> MutexGuard<'_, UnderWay> {
        self.under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn offered(&self) -> MutexGuard<'_, HashMap<Spot, [Option<RegionKey>; COLUMNS]>> {
        self.offered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn begin(&self, reading: Reading) -> u64 {
        let mut under_way = self.under_way();
        under_way.last += 1;
        let token = under_way.last;
        under_way.readings.insert(token, reading);
        token
    }

    pub(crate) fn end(&self, token: u64) -> Option<Reading> {
        self.under_way().readings.remove(&token)
    }

    /// The locations, by node, of a segment some of whose keys layers hold.
    pub(crate) fn changed(&self, segment: SegmentKey, nodes: u16) -> HashMap<u16, Arc<Location>> {
        if !self.is_on {
            return HashMap::new();
        }
        let changed = (0..nodes).filter_map(|node| {
            let location = self.locations.changed(node, segment)?;
            Some((node, location))
        });
        changed.collect()
    }

    /// A peer is away, and so is its memory.
    pub(crate) fn is_away(&self, node: u16) {
        self.locations.forget_node(node);
        self.terms.forget_node(node);
    }

    pub(crate) fn withdraw(&self) {
        for (_, regions) in self.offered().drain() {
            for region in regions.into_iter().flatten() {
                self.fabric.withdraw(region);
            }
        }
    }
}

impl Drop for PeerReader {
    fn drop(&mut self) {
        self.withdraw();
    }
}
