//! Versions that were superseded a moment ago, readable by number.
//!
//! ```text
//!  kept, oldest first            published
//!  [ 38 ][ 39 ][ 40 ][ 41 ]         42
//!     '-- goes when its time is over, or when there are too many, or they hold too much
//! ```
//!
//! A client that has seen a number may ask for it again: several one-shot queries over one prefix of every stream are
//! one reading (SOSP'17 section 4.3). Versions share nearly everything, so one costs the layers that have been merged since.
//! Their bytes are on the account of changes, and bounded: [`BYTES_MAX`], and a share of the pool.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `Kept` | whoever publishes, and maintenance, under its lock | readers of an older number, under its lock |
//!
//! Invariant: numbers ascend, and all are below the published one. A version is put here before its successor is published,
//! so that a number which was visible is found in one of the two places until it is gone for good.
//!
//! Cost of a commit: its layers are looked up once, some ten of them. What goes is freed outside of the lock.

use crate::moment::Graph;
use crate::sync::{Mutex, MutexGuard};
use rdf::dictionary::LiveDictionary;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};
use store::delta::Layer;

/// Versions that are kept at most (count): at 50 records a second as many as the usual time allows.
const VERSIONS_MAX: usize = 256;
/// What they may hold besides what the published version holds (bytes). 32 MiB are some three million absorbed triples.
const BYTES_MAX: u64 = 32 << 20;
/// The share of the pool that they may hold.
const POOL_SHARE: u64 = 32;

/// See the head of this file.
pub(crate) struct KeptVersions {
    /// How long a version is kept once there is a newer one.
    age: Duration,
    bytes_max: u64,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    versions: VecDeque<Superseded>,
    /// What they hold, by address: how many of them hold it (count), and its size (bytes).
    parts: HashMap<usize, (u32, u64)>,
    /// The sizes of all parts (bytes).
    bytes: u64,
}

struct Superseded {
    graph: Arc<Graph>,
    since: Instant,
}

impl KeptVersions {
    /// None yet. `age`: how long one is kept; zero: none is. `pool_bytes`: the pool that they are drawn from.
    pub(crate) fn new(age: Duration, pool_bytes: u64) -> KeptVersions {
        KeptVersions {
            age,
            bytes_max: BYTES_MAX.min(pool_bytes / POOL_SHARE),
            kept: Mutex::default(),
        }
    }

    /// Keeps versions that `newest` supersedes, oldest first, and lets go of those whose time is over. The caller publishes
    /// `newest` next, and nobody else meanwhile.
    pub(super) fn supersede(&self, older: &[Arc<Graph>], newest: &Graph) {
        if self.age.is_zero() {
            return;
        }
        let since = Instant::now();
        let mut kept = self.kept();
        for graph in older {
            let last = kept.versions.back();
            let last = last.map(|last| last.graph.snapshot.number());
            let number = graph.snapshot.number();
            // One whose layers were exchanged has its number still.
            if number < newest.snapshot.number() && last.is_none_or(|last| last < number) {
                let graph = Arc::clone(graph);
                kept.add(Superseded { graph, since });
            }
        }
        let mut gone = kept.expired(self.age, since);
        while kept.versions.len() > VERSIONS_MAX || kept.bytes_beside(newest) > self.bytes_max {
            gone.extend(kept.drop_oldest());
        }
        drop(kept);
        drop(gone);
    }

    /// Lets go of those whose time is over; whether there were any.
    pub(crate) fn expire(&self) -> bool {
        let gone = self.kept().expired(self.age, Instant::now());
        !gone.is_empty()
    }

    /// Forgets all: what follows has other ids.
    pub(super) fn forget(&self) {
        let gone = std::mem::take(&mut *self.kept());
        drop(gone);
    }

    /// The version of this number, if it is kept.
    pub(crate) fn get(&self, number: u64) -> Option<Arc<Graph>> {
        let kept = self.kept();
        let by_number = |version: &Superseded| version.graph.snapshot.number();
        let place = kept.versions.binary_search_by_key(&number, by_number);
        Some(Arc::clone(&kept.versions[place.ok()?].graph))
    }

    /// All of them, oldest first.
    pub(crate) fn all(&self) -> Vec<Arc<Graph>> {
        let kept = self.kept();
        let graphs = kept.versions.iter().map(|it| Arc::clone(&it.graph));
        graphs.collect()
    }

    /// What they hold besides what this version holds (bytes).
    pub(super) fn bytes_beside(&self, published: &Graph) -> u64 {
        self.kept().bytes_beside(published)
    }

    /// Whole at every moment.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn add(&mut self, version: Superseded) {
        for (address, bytes) in parts(&version.graph) {
            let (holders, size) = self.parts.entry(address).or_insert((0, bytes));
            if *holders == 0 {
                self.bytes += *size;
            }
            *holders += 1;
        }
        self.versions.push_back(version);
    }

    fn drop_oldest(&mut self) -> Option<Superseded> {
        let gone = self.versions.pop_front()?;
        for (address, _) in parts(&gone.graph) {
            let Some((holders, size)) = self.parts.get_mut(&address) else {
                continue;
            };
            *holders -= 1;
            if *holders == 0 {
                self.bytes -= *size;
                self.parts.remove(&address);
            }
        }
        Some(gone)
    }

    fn expired(&mut self, age: Duration, now: Instant) -> Vec<Superseded> {
        let mut gone = Vec::new();
        let is_old = |it: &Superseded| now.saturating_duration_since(it.since) >= age;
        while self.versions.front().is_some_and(is_old) {
            gone.extend(self.drop_oldest());
        }
        gone
    }

    fn bytes_beside(&self, published: &Graph) -> u64 {
        let known = parts(published).filter_map(|(address, _)| self.parts.get(&address));
        let shared: u64 = known.map(|(_, bytes)| bytes).sum();
        self.bytes - shared
    }
}

/// What a version holds in memory: its layers, and the terms that are in no file, by address with their sizes (bytes). Terms
/// are counted as many as there were when the first of them was kept; all versions over one base share them.
fn parts(graph: &Graph) -> impl Iterator<Item = (usize, u64)> + '_ {
    let layers = graph.snapshot.layers().iter();
    let live = graph.dictionary.live();
    let terms = (Arc::<LiveDictionary>::as_ptr(live).addr(), live.bytes());
    layers
        .map(|layer| (Arc::<Layer>::as_ptr(layer).addr(), layer.bytes()))
        .chain(std::iter::once(terms))
}
