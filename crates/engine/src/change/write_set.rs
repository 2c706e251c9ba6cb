//! What commits have changed while a request was evaluated before its turn.
//!
//! | who | touches | when |
//! |---|---|---|
//! | whoever has the turn | begins a [`WriteWatch`]; notes its own commit in all watches | taking a snapshot; staging |
//! | the watch's owner | takes the watch out | under the turn, or when it gives up |
//!
//! Invariant: a watch that was begun in the turn in which its snapshot was taken names every quad that
//! differs between that snapshot and the staged version, or says that it names only their predicates and
//! graphs, or that it names nothing. It may name more.
//!
//! Cost: nothing while nobody watches. A watch holds at most [`QUADS_MAX`] quads of 32 bytes.

use crate::sync::{Mutex, MutexGuard};
use rdf::VertexId;
use std::collections::HashSet;
use std::sync::{Arc, PoisonError};
use store::delta::{Effect, IdQuad};

/// Quads that are named one by one.
const QUADS_MAX: usize = 1 << 17;
/// Different pairs of a predicate and a graph that are named.
const PAIRS_MAX: usize = 1 << 14;

/// What has changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriteSet {
    quads: Vec<IdQuad>,
    /// There were more quads than are named.
    is_cut: bool,
    /// Predicate and graph of every quad.
    pairs: HashSet<(VertexId, VertexId)>,
    /// There were more pairs than are named.
    is_all: bool,
}

impl WriteSet {
    /// Whether nothing has changed.
    pub(crate) fn is_empty(&self) -> bool {
        !self.is_all && self.pairs.is_empty()
    }

    /// How much is named: quads, or else pairs.
    pub(crate) fn len(&self) -> usize {
        if self.is_cut {
            self.pairs.len()
        } else {
            self.quads.len()
        }
    }

    /// All quads, where they are named.
    pub(crate) fn quads(&self) -> Option<&[IdQuad]> {
        (!self.is_cut).then_some(&self.quads)
    }

    /// Predicate and graph of all quads, where they are named.
    pub(crate) fn pairs(&self) -> Option<impl Iterator<Item = (VertexId, VertexId)> + '_> {
        (!self.is_all).then(|| self.pairs.iter().copied())
    }

    /// Adds what an effect changes.
    pub(crate) fn add(&mut self, effect: &Effect) {
        let quads = effect.deletes().len() + effect.inserts().len();
        self.is_cut |= self.quads.len() + quads > QUADS_MAX;
        if self.is_cut {
            self.quads = Vec::new();
        }
        let mut last = None;
        for quad in effect.deletes().chain(effect.inserts()) {
            if !self.is_cut {
                self.quads.push(quad);
            }
            let pair = (quad.1, quad.3);
            if last != Some(pair) {
                last = Some(pair);
                self.add_pair(pair);
            }
        }
        self.check();
    }

    /// What is named stays within its limits, and what is not named takes no memory.
    fn check(&self) {
        assert!(
            self.quads.len() <= if self.is_cut { 0 } else { QUADS_MAX },
            "named quads are few"
        );
        assert!(
            self.pairs.len() <= if self.is_all { 0 } else { PAIRS_MAX },
            "named pairs are few"
        );
    }

    fn add_pair(&mut self, pair: (VertexId, VertexId)) {
        if !self.is_all && self.pairs.insert(pair) && self.pairs.len() > PAIRS_MAX {
            self.is_all = true;
            self.pairs = HashSet::new();
        }
    }

    fn add_all(&mut self, other: &WriteSet) {
        self.is_cut |= other.is_cut || self.quads.len() + other.quads.len() > QUADS_MAX;
        if self.is_cut {
            self.quads = Vec::new();
        } else {
            self.quads.extend_from_slice(&other.quads);
        }
        self.is_all |= other.is_all;
        if self.is_all {
            self.pairs = HashSet::new();
        }
        other.pairs.iter().for_each(|&pair| self.add_pair(pair));
        self.check();
    }
}

/// The requests that are evaluated before their turn, each with what has changed since it began.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    all: Arc<Mutex<Vec<(u64, WriteSet)>>>,
}

/// One request's watch; ends when it is dropped.
#[derive(Debug)]
pub(crate) struct WriteWatch {
    all: Arc<Mutex<Vec<(u64, WriteSet)>>>,
    number: u64,
}

impl Watches {
    /// Notes everything from now on. The caller has the turn.
    pub(crate) fn begin(&self) -> WriteWatch {
        let mut all = lock(&self.all);
        let number = all.last().map_or(0, |(number, _)| number + 1);
        all.push((number, WriteSet::default()));
        WriteWatch {
            all: Arc::clone(&self.all),
            number,
        }
    }

    /// Whether somebody watches, so that a commit has to say what it changes.
    pub(crate) fn are_any(&self) -> bool {
        !lock(&self.all).is_empty()
    }

    /// Notes a commit. The caller has the turn.
    pub(crate) fn note(&self, touched: &WriteSet) {
        let mut all = lock(&self.all);
        all.iter_mut().for_each(|(_, sum)| sum.add_all(touched));
    }
}

impl WriteWatch {
    /// What has changed since it began.
    pub(crate) fn end(self) -> WriteSet {
        let noted = self.take();
        assert!(
            noted.is_some(),
            "what changes is noted until the watch ends"
        );
        noted.unwrap_or_default()
    }

    /// `None` where the watch has ended.
    fn take(&self) -> Option<WriteSet> {
        let mut all = lock(&self.all);
        let place = all.iter().position(|(number, _)| *number == self.number);
        place.map(|place| all.remove(place).1)
    }
}

impl Drop for WriteWatch {
    fn drop(&mut self) {
        drop(self.take());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
