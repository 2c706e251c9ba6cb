//! The key sets that versions have found, and which versions share them.
//!
//! A [version](super::version) holds these, and [`key_sets`](super::key_sets) finds the sets by asking the version; so
//! they stand below both.
//!
//! Sets are kept with the version, and offered to its successors: a
//! version begins from the newest set that is not newer than itself. So beside a writer a reader
//! pays for the commits since the last reader, not for all since the base was written. Versions
//! share as long as each is made from the newest; one made from an older version (the newer ones
//! were thrown away, say) begins afresh, so that no set of another branch can be taken for its own.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `KeySets::own` | a reader of the version that has found a set, with the lock | readers of the version, with the lock |
//! | `Shared::kept` | a reader of any of the versions that share, with the lock | the same |
//! | `Shared::recent`, `newest` | whoever makes the next version, with the lock | readers, with the lock |
//! | `position`, `is_branch` | nobody after the version was made | any thread |
//!
//! Sets are found without a lock: two readers may find the same one.

use super::layer::{KeySet, Layer};
use crate::vertex_set::patch::Patch;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Sets kept per key set, for readers of several versions.
const KEPT: usize = 4;
/// Quads of the latest commits that are kept as they were published.
const RECENT_QUADS_MAX: u64 = 1 << 14;
/// Commits that are kept so.
const RECENT_MAX: usize = 1 << 9;

/// Under which index a set's patches lie.
#[derive(Clone)]
pub(super) enum Ground {
    Base,
    Layer(Weak<Layer>),
}

/// A set as it was in one version.
pub(super) struct Found {
    /// The last commit in it.
    pub number: u64,
    /// Where its version stands among those that share.
    pub position: u64,
    pub ground: Ground,
    pub patches: Vec<Arc<Patch>>,
}

/// What versions made one from the other share.
#[derive(Default)]
struct Shared {
    /// By name; the newest last.
    kept: HashMap<KeySet, VecDeque<Arc<Found>>>,
    /// The layers of the latest commits as they were published; the last led to the newest version.
    recent: VecDeque<Arc<Layer>>,
    recent_quads: u64,
    /// Where the newest version stands.
    newest: u64,
}

impl Shared {
    fn note(&mut self, layer: &Arc<Layer>) {
        self.newest += 1;
        self.recent_quads += layer.quads();
        self.recent.push_back(Arc::clone(layer));
        while self.recent_quads > RECENT_QUADS_MAX || self.recent.len() > RECENT_MAX {
            let Some(oldest) = self.recent.pop_front() else {
                break;
            };
            self.recent_quads -= oldest.quads();
        }
        assert!(
            !self.recent.is_empty() || self.recent_quads == 0,
            "only quads of layers that are kept are counted"
        );
        assert!(
            self.recent.len() as u64 <= self.newest,
            "each version but the first came by a layer"
        );
    }

    fn keep(&mut self, name: KeySet, found: &Arc<Found>) {
        let kept = self.kept.entry(name).or_default();
        let place = kept.partition_point(|other| other.position < found.position);
        match kept.get_mut(place) {
            Some(other) if other.position == found.position => *other = Arc::clone(found),
            _ => kept.insert(place, Arc::clone(found)),
        }
        if kept.len() > KEPT {
            kept.pop_front();
        }
    }
}

/// The key sets that a version and those that it shares with have found.
#[derive(Default)]
pub(crate) struct KeySets {
    own: Mutex<HashMap<KeySet, Arc<Found>>>,
    shared: Arc<Mutex<Shared>>,
    /// Where the version stands among those that share.
    pub(super) position: u64,
    /// Versions after this one may never be published, so they leave what is shared as it is.
    is_branch: bool,
}

impl KeySets {
    /// For another version of the same content over the same base.
    pub(crate) fn of_same(&self) -> KeySets {
        KeySets {
            own: Mutex::default(),
            shared: Arc::clone(&self.shared),
            position: self.position,
            is_branch: self.is_branch,
        }
    }

    /// For another version of the same content, over which only a draft puts layers.
    pub(crate) fn of_branch(&self) -> KeySets {
        KeySets {
            is_branch: true,
            ..self.of_same()
        }
    }

    /// For the version after a commit.
    pub(crate) fn of_next(&self, layer: &Arc<Layer>) -> KeySets {
        if self.is_branch {
            return KeySets::default();
        }
        let mut shared = lock(&self.shared);
        if shared.newest != self.position {
            return KeySets::default();
        }
        shared.note(layer);
        KeySets {
            own: Mutex::default(),
            shared: Arc::clone(&self.shared),
            position: shared.newest,
            is_branch: false,
        }
    }

    /// The layers of the commits after the version at this position, where all are kept.
    pub(super) fn since(&self, position: u64) -> Option<Vec<Arc<Layer>>> {
        let shared = lock(&self.shared);
        assert!(
            position <= self.position && self.position <= shared.newest,
            "sets are found for earlier versions of those that share"
        );
        let oldest = shared.newest - shared.recent.len() as u64;
        let start = position.checked_sub(oldest)?;
        let end = self.position.checked_sub(oldest)?;
        let layers = shared.recent.range(start as usize..end as usize);
        Some(layers.map(Arc::clone).collect())
    }

    /// This version's set, or the newest earlier one.
    pub(super) fn newest(&self, name: KeySet) -> Option<Arc<Found>> {
        if let Some(found) = lock(&self.own).get(&name) {
            return Some(Arc::clone(found));
        }
        let shared = lock(&self.shared);
        let mut kept = shared.kept.get(&name)?.iter().rev();
        kept.find(|found| found.position <= self.position)
            .map(Arc::clone)
    }

    /// Keeps a set with this version, and for those that share.
    pub(super) fn keep(&self, name: KeySet, found: &Arc<Found>) {
        lock(&self.own).insert(name, Arc::clone(found));
        lock(&self.shared).keep(name, found);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
