//! Lists that were put together as sets, kept with their version.
//!
//! A [version](super::version) holds these lists, and the [view](super::view) of it puts them together; so they stand
//! below both. What keeping them saves: the header of [`view`](super::view).
//!
//! Invariant: a list is kept for one version only, in which it never changes. Its readers add to `KeptLists::known` and look
//! there, with its lock; they put lists together without it, so two may put together the same one.

use crate::vertex_set::patch::Patch;
use crate::view::SegmentKey;
use rdf::VertexId;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Elements of lists that are kept, and changes, all together: 8 MiB of ids.
const KEPT_ELEMENTS_MAX: usize = 1 << 20;
/// Lists of the default graph that were asked for as sets: those of classes and hubs, again and again
/// by every query that names them. They belong to one version.
#[derive(Default)]
pub(super) struct KeptLists {
    known: Mutex<CachedLists>,
}

#[derive(Default)]
struct CachedLists {
    lists: HashMap<(SegmentKey, VertexId), KeptList>,
    elements: usize,
}

/// A list as it is in a version.
#[derive(Clone)]
pub(super) enum KeptList {
    /// What is different from its largest part.
    Patch(Arc<Patch>),
    /// All of it.
    Whole(Arc<[VertexId]>),
}

impl KeptLists {
    /// A list that was kept.
    pub(super) fn get(&self, list: (SegmentKey, VertexId)) -> Option<KeptList> {
        self.lock().lists.get(&list).cloned()
    }

    /// Keeps a list, where there is room.
    pub(super) fn keep(&self, name: (SegmentKey, VertexId), list: KeptList) {
        let elements = match &list {
            KeptList::Patch(patch) => 2 * patch.changes(),
            KeptList::Whole(whole) => whole.len(),
        };
        let mut known = self.lock();
        let fits = known.elements + elements <= KEPT_ELEMENTS_MAX;
        if fits && known.lists.insert(name, list).is_none() {
            known.elements += elements;
        }
    }

    fn lock(&self) -> MutexGuard<'_, CachedLists> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
