//! Where the keys of other nodes' terms lie, kept until the node goes away: an entry a node and kind of term, some 200 bytes.
//!
//! Each is asked for once, by a message beside the first keys that are asked for so; what an entry can be is as in
//! [`super::locations`].

use fabric::RegionKey;
use hashbrown::HashMap;
use rdf::Tag;
use rdf::dictionary::part::{HASHED_FILES, HashedPlace};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The half by hash of a node's part, of one kind of term.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TermsPlace {
    pub(crate) place: HashedPlace,
    pub(crate) regions: [RegionKey; HASHED_FILES],
}

enum Entry {
    Coming,
    Nowhere,
    Later,
    Here(TermsPlace),
}

/// What is known of where others' terms lie: an entry a node and kind.
#[derive(Default)]
pub(crate) struct TermsPlaces(Mutex<HashMap<(u16, Tag), Entry>>);

impl TermsPlaces {
    fn entries(&self) -> MutexGuard<'_, HashMap<(u16, Tag), Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where they lie, or whether that is to be asked: whoever is told to does so, and others are not told meanwhile.
    pub(crate) fn known(&self, node: u16, kind: Tag) -> Result<TermsPlace, bool> {
        let mut entries = self.entries();
        match entries.get(&(node, kind)) {
            Some(Entry::Here(place)) => return Ok(*place),
            Some(Entry::Coming | Entry::Nowhere) => return Err(false),
            Some(Entry::Later) | None => {}
        }
        entries.insert((node, kind), Entry::Coming);
        Err(true)
    }

    /// Its owner has said where they lie.
    pub(crate) fn keep(&self, node: u16, kind: Tag, place: TermsPlace) {
        self.entries().insert((node, kind), Entry::Here(place));
    }

    /// Its owner has said that they cannot be read, now or at all.
    pub(crate) fn is_not_here(&self, node: u16, kind: Tag, is_later: bool) {
        let entry = if is_later {
            Entry::Later
        } else {
            Entry::Nowhere
        };
        self.entries().insert((node, kind), entry);
    }

    pub(crate) fn forget(&self, node: u16, kind: Tag) {
        self.entries().remove(&(node, kind));
    }

    pub(crate) fn forget_node(&self, node: u16) {
        self.entries().retain(|name, _| name.0 != node);
    }
}
