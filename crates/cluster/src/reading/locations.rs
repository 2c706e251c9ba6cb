//! What a node knows of where other nodes' lists lie, kept across queries: the location cache (OSDI'16 section 4.3).
//!
//! An entry is a segment of a peer: the directory of its key index and what else a lookup starts from
//! ([`store::location`]), the names of the regions that hold its columns, and perhaps copies of the columns that are read
//! before the rows. It is asked for once, by a message, beside the first lists of the segment that are asked for so.
//!
//! | an entry | until |
//! |---|---|
//! | is asked for | its owner answers, or goes away |
//! | is nowhere: that segment is asked for by message | its owner goes away |
//! | comes later: its owner is still verifying it | it is asked for again, with the next lists |
//! | is here | its owner goes away, a read says that a region is not there any more, or memory is needed |
//!
//! A region's name carries its owner's life, and no name is given twice ([`fabric::RegionKey`]). So an entry that has outlived
//! its segment is refused by the owner's fabric, and nobody reads other bytes under an old name.
//!
//! **Memory** is drawn on the node's account: some 32 bytes a chunk of an index, which has 16 keys at the very least and
//! mostly thousands. Once all entries together exceed [`LOCATION_BYTES_MAX`], or the account refuses, all are forgotten and
//! asked for again: what is in use comes back at once.
//!
//! **Copies.** Where each read is a journey, a column that is read before the rows is copied once as many bytes of it have
//! been read as it has: so at most twice the bytes are read that the best choice would have, whatever comes.

use explore::MemoryBudget;
use fabric::RegionKey;
use hashbrown::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::location::{COLUMNS, Copies, ListColumn, Location};
use store::view::SegmentKey;

/// What all entries of a node may take (bytes).
pub const LOCATION_BYTES_MAX: u64 = 64 << 20;

/// Bytes of an entry besides its location.
const ENTRY_BYTES: u64 = 256;

/// Columns that are copied where it pays.
const COPIED: [ListColumn; 2] = [ListColumn::Keys, ListColumn::Offsets];

/// When a node reads lists out of the memory of others, instead of asking for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadPolicy {
    /// Never.
    Never,
    /// Where a read takes no time of its owner's processor, as the fabric says.
    #[default]
    OneSided,
    /// On every fabric.
    Always,
}

/// What is kept of where others' lists lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeptLocations {
    /// Segments of peers.
    pub segments: u64,
    /// Bytes that they take, copies included.
    pub bytes: u64,
}

/// A peer's segment, as a lookup begins with it.
#[derive(Clone)]
pub(crate) struct SegmentPlace {
    pub(crate) location: Arc<Location>,
    pub(crate) regions: [Option<RegionKey>; COLUMNS],
    pub(crate) copies: Copies,
}

/// What is known of a peer's segment.
pub(crate) enum Known {
    Here(SegmentPlace),
    /// It is not to be read; `is_to_be_asked`: its owner may say something else when it is asked.
    NotHere {
        is_to_be_asked: bool,
    },
}

enum Entry {
    Coming,
    Nowhere,
    Later,
    Here(Box<HeldEntry>),
}

struct HeldEntry {
    placed: SegmentPlace,
    /// Drawn on the account.
    bytes: u64,
    /// Bytes that were read of each column; `None` once its copy is here or comes.
    read: [Option<u64>; COLUMNS],
}

#[derive(Default)]
struct State {
    entries: HashMap<(u16, SegmentKey), Entry>,
    bytes: u64,
}

/// See the module's documentation.
pub(crate) struct Locations {
    memory: Arc<dyn MemoryBudget + Send>,
    state: Mutex<State>,
}

impl Locations {
    /// None yet; what is kept is drawn on this account.
    pub(crate) fn new(memory: Arc<dyn MemoryBudget + Send>) -> Locations {
        Locations {
            memory,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is kept.
    pub(crate) fn kept(&self) -> KeptLocations {
        let state = self.state();
        let is_here = |entry: &&Entry| matches!(entry, Entry::Here(_));
        KeptLocations {
            segments: state.entries.values().filter(is_here).count() as u64,
            bytes: state.bytes,
        }
    }

    /// What is known of a segment. Whoever is told to ask does so: others are not told meanwhile.
    pub(crate) fn known(&self, node: u16, segment: SegmentKey) -> Known {
        let mut state = self.state();
        let entry = state.entries.get(&(node, segment));
        let is_to_be_asked = match entry {
            Some(Entry::Here(held)) => return Known::Here(held.placed.clone()),
            Some(Entry::Coming | Entry::Nowhere) => false,
            Some(Entry::Later) | None => true,
        };
        if is_to_be_asked {
            state.entries.insert((node, segment), Entry::Coming);
        }
        Known::NotHere { is_to_be_asked }
    }

    /// Whether a segment is here whose owner has changed keys, as its location says.
    pub(crate) fn changed(&self, node: u16, segment: SegmentKey) -> Option<Arc<Location>> {
        match self.state().entries.get(&(node, segment)) {
            Some(Entry::Here(held)) if held.placed.location.has_changes() => {
                Some(Arc::clone(&held.placed.location))
            }
            _ => None,
        }
    }

    /// Its owner has said that a segment cannot be read, now or at all.
    pub(crate) fn is_not_here(&self, node: u16, segment: SegmentKey, is_later: bool) {
        let entry = if is_later {
            Entry::Later
        } else {
            Entry::Nowhere
        };
        let before = self.state().entries.insert((node, segment), entry);
        self.give_back(before);
    }

    /// Keeps where a segment lies, if there is memory for it.
    pub(crate) fn keep(
        &self,
        node: u16,
        segment: SegmentKey,
        location: Location,
        regions: [Option<RegionKey>; COLUMNS],
    ) {
        let bytes = ENTRY_BYTES + location.memory_bytes();
        let placed = SegmentPlace {
            location: Arc::new(location),
            regions,
            copies: Copies::default(),
        };
        let entry = if self.draw(bytes) {
            Entry::Here(Box::new(HeldEntry {
                placed,
                bytes,
                read: [Some(0); COLUMNS],
            }))
        } else {
            Entry::Nowhere
        };
        let before = self.state().entries.insert((node, segment), entry);
        self.give_back(before);
    }

    /// Takes memory; all entries go where there is too little, unless they could not make room for it.
    fn draw(&self, bytes: u64) -> bool {
        if bytes > LOCATION_BYTES_MAX {
            return false;
        }
        for is_second in [false, true] {
            let fits = self.state().bytes + bytes <= LOCATION_BYTES_MAX;
            if fits && self.memory.try_reserve(bytes).is_ok() {
                self.state().bytes += bytes;
                return true;
            }
            if is_second {
                break;
            }
            let here = |_: &(u16, SegmentKey), entry: &mut Entry| matches!(entry, Entry::Here(_));
            let forgotten: Vec<Entry> = {
                let mut state = self.state();
                state
                    .entries
                    .extract_if(here)
                    .map(|(_, entry)| entry)
                    .collect()
            };
            for entry in forgotten {
                self.give_back(Some(entry));
            }
        }
        false
    }

    fn give_back(&self, entry: Option<Entry>) {
        if let Some(Entry::Here(held)) = entry {
            self.state().bytes -= held.bytes;
            self.memory.release(held.bytes);
        }
    }

    /// A segment is not where it was said to be.
    pub(crate) fn forget(&self, node: u16, segment: SegmentKey) {
        let before = self.state().entries.remove(&(node, segment));
        self.give_back(before);
    }

    /// A peer is away.
    pub(crate) fn forget_node(&self, node: u16) {
        let forgotten: Vec<Entry> = {
            let entries = &mut self.state().entries;
            let gone = entries.extract_if(|name, _| name.0 == node);
            gone.map(|(_, entry)| entry).collect()
        };
        for entry in forgotten {
            self.give_back(Some(entry));
        }
    }

    /// Notes how much of each column a lookup has read. Gives a column that is to be copied now, with its length; memory for it
    /// is drawn, and it is said how it ended.
    pub(crate) fn has_read(
        &self,
        node: u16,
        segment: SegmentKey,
        bytes: &[u64; COLUMNS],
    ) -> Option<(ListColumn, u64)> {
        let (column, length) = {
            let mut state = self.state();
            let Some(Entry::Here(held)) = state.entries.get_mut(&(node, segment)) else {
                return None;
            };
            let mut due = None;
            for column in COPIED {
                let length = held.placed.location.column_bytes(column);
                let Some(read) = &mut held.read[column as usize] else {
                    continue;
                };
                *read += bytes[column as usize];
                if *read > 0 && *read >= length && due.is_none() {
                    due = Some((column, length));
                    held.read[column as usize] = None;
                }
            }
            due?
        };
        // A copy is worth no other entry.
        let fits = self.state().bytes + length <= LOCATION_BYTES_MAX / 2;
        if !fits || self.memory.try_reserve(length).is_err() {
            return None;
        }
        self.state().bytes += length;
        Some((column, length))
    }

    /// A copy is here, of the segment that these regions hold, or will not be: `None`.
    pub(crate) fn copied(
        &self,
        node: u16,
        segment: SegmentKey,
        of: (&[Option<RegionKey>; COLUMNS], ListColumn, u64),
        copy: Option<Arc<[u8]>>,
    ) {
        let (regions, column, length) = of;
        let mut state = self.state();
        if let Some(copy) = copy
            && let Some(Entry::Here(held)) = state.entries.get_mut(&(node, segment))
            && held.placed.regions == *regions
        {
            held.placed.copies[column as usize] = Some(copy);
            held.bytes += length;
            return;
        }
        state.bytes -= length;
        drop(state);
        self.memory.release(length);
    }
}

impl Drop for Locations {
    fn drop(&mut self) {
        let bytes = self.state().bytes;
        self.memory.release(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use explore::MemoryExceeded;
    use fabric::NodeId;
    use rdf::{Direction, PredicateId};

    /// An account with so many bytes left.
    struct Purse(Mutex<u64>);

    impl Purse {
        fn left(&self) -> u64 {
            *self.0.lock().expect("nobody panics with it")
        }
    }

    impl MemoryBudget for Purse {
        fn try_reserve(&self, bytes: u64) -> Result<(), MemoryExceeded> {
            let mut left = self.0.lock().expect("nobody panics with it");
            *left = left.checked_sub(bytes).ok_or(MemoryExceeded {
                limit_bytes: 0,
                used_bytes: 0,
                of_all: true,
            })?;
            Ok(())
        }

        fn release(&self, bytes: u64) {
            *self.0.lock().expect("nobody panics with it") += bytes;
        }
    }

    fn segment(number: u32) -> SegmentKey {
        SegmentKey {
            predicate: PredicateId(number),
            direction: Direction::Out,
        }
    }

    fn regions(key: u64) -> [Option<RegionKey>; COLUMNS] {
        let region = RegionKey {
            node: NodeId(1),
            key,
            generation: 5,
        };
        [Some(region); COLUMNS]
    }

    fn is_here(locations: &Locations, node: u16, number: u32) -> bool {
        matches!(locations.known(node, segment(number)), Known::Here(_))
    }

    #[test]
    fn what_is_kept_is_drawn_and_given_back() {
        let entry = ENTRY_BYTES + Location::of_no_edges().memory_bytes();
        let purse = Arc::new(Purse(Mutex::new(3 * entry)));
        let locations = Locations::new(Arc::clone(&purse) as Arc<_>);
        let keep = |node: u16, number: u32| {
            let location = Location::of_no_edges();
            locations.keep(node, segment(number), location, regions(number.into()));
        };
        for number in 0..3 {
            keep(1, number);
        }
        let kept = KeptLocations {
            segments: 3,
            bytes: 3 * entry,
        };
        assert_eq!((locations.kept(), purse.left()), (kept, 0));
        keep(2, 3);
        assert!(is_here(&locations, 2, 3), "all others went for it");
        assert!(!is_here(&locations, 1, 0));
        assert_eq!(purse.left(), 2 * entry);
        keep(1, 0);
        locations.forget(1, segment(0));
        keep(1, 1);
        locations.forget_node(1);
        assert_eq!(purse.left(), 2 * entry);
        keep(2, 3);
        assert_eq!(purse.left(), 2 * entry, "it took the place of itself");
        drop(locations);
        assert_eq!(purse.left(), 3 * entry);
    }

    #[test]
    fn a_segment_is_asked_for_by_one_until_its_owner_has_answered() {
        let locations = Locations::new(Arc::new(Purse(Mutex::new(0))));
        let asks = || match locations.known(1, segment(7)) {
            Known::NotHere { is_to_be_asked } => is_to_be_asked,
            Known::Here(_) => panic!("there is no memory for it"),
        };
        assert!(asks() && !asks());
        locations.is_not_here(1, segment(7), true);
        assert!(asks() && !asks(), "later is now");
        locations.is_not_here(1, segment(7), false);
        assert!(!asks(), "nowhere stays so");
        locations.forget_node(1);
        assert!(asks());
        locations.keep(1, segment(7), Location::of_no_edges(), regions(0));
        assert!(!asks(), "without memory it is nowhere");
    }
}
