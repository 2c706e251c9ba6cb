//! What is new for whoever evaluates after commits: that there is another version, and which predicates it changed.
//!
//! A live query is evaluated again when a commit touches a predicate that it reads. The layers of a version cannot say
//! which commits those were, because small layers are merged as they are staged; so each commit is noted when it is
//! staged, by the predicates of its own layer, whose number the layer knows without a look at its edges.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `Notes` | whoever has the turn, while somebody watches, under the lock | watchers, under the lock |
//! | `rung` | whoever publishes, and whoever else wants watchers to look, under the lock | watchers, who wait for more |
//!
//! Invariant: [`News::are_touched`] is false only where every commit between the two numbers is noted and none of them
//! touches one of the predicates. Where a commit is not noted (nobody watched, or the notes were too many), it is true.
//!
//! Cost of a commit: a look whether somebody watches; then its predicates are copied once. The notes are bounded by
//! [`COMMITS_MAX`] and [`PREDICATES_MAX`]: at most 600 KiB.

use crate::sync::{Condvar, Mutex, MutexGuard};
use rdf::VertexId;
use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};
use store::Snapshot;
use store::delta::Layer;
use store::view::GraphView;

/// Commits that are noted (count); of earlier ones nothing is known.
const COMMITS_MAX: usize = 1 << 12;
/// Predicates that are noted, those of all commits together (count).
const PREDICATES_MAX: usize = 1 << 16;
/// The longest time that a watcher waits without a look at its own business.
const WAIT_MAX: Duration = Duration::from_mins(1);

/// See the head of this file.
#[derive(Default)]
pub(crate) struct News {
    notes: Mutex<Notes>,
    rung: Mutex<u64>,
    heard: Condvar,
}

#[derive(Default)]
struct Notes {
    watchers: usize,
    commits: VecDeque<Note>,
    /// Predicates of all of them (count).
    predicates: usize,
}

/// What some commits, mostly one, changed.
struct Note {
    /// They come after this one.
    after: u64,
    /// The last of them.
    last: u64,
    /// Ascending, distinct.
    predicates: Box<[VertexId]>,
}

/// Somebody for whom commits are noted; ends when it is dropped.
pub(crate) struct Watching {
    news: Arc<News>,
}

impl Drop for Watching {
    fn drop(&mut self) {
        let mut notes = self.news.notes();
        notes.watchers -= 1;
        if notes.watchers == 0 {
            *notes = Notes::default();
        }
    }
}

impl News {
    /// Commits are noted from now on.
    pub(crate) fn watch(self: &Arc<News>) -> Watching {
        self.notes().watchers += 1;
        Watching {
            news: Arc::clone(self),
        }
    }

    /// Notes what the commits behind `after` changed, which these layers are of. The caller has the turn. `layers` may
    /// begin with earlier ones; a layer that holds commits of both sides says too much, and nothing wrong.
    pub(super) fn note(&self, layers: &[Arc<Layer>], after: u64, last: u64) {
        let mut notes = self.notes();
        if notes.watchers == 0 || last <= after {
            return;
        }
        let new = layers.iter().filter(|layer| *layer.commits().end() > after);
        let mut predicates: Vec<VertexId> = Vec::new();
        for layer in new {
            for graph in [layer.adds(), layer.dels()].into_iter().flatten() {
                predicates.extend(predicates_of(graph));
            }
        }
        predicates.sort_unstable();
        predicates.dedup();
        notes.add(Note {
            after,
            last,
            predicates: predicates.into(),
        });
    }

    /// Forgets commits behind `durable`, which were given up: their numbers are given again. The caller has the turn.
    pub(super) fn forget_behind(&self, durable: u64) {
        let mut notes = self.notes();
        while notes.commits.back().is_some_and(|it| it.last > durable) {
            notes.drop_newest();
        }
    }

    /// Forgets all: what follows is another history, or has other ids. The caller has the turn.
    pub(super) fn forget(&self) {
        self.forget_behind(0);
    }

    /// Whether a commit behind `after`, up to `last`, may have changed a quad with one of these predicates.
    pub(crate) fn are_touched(&self, predicates: &[VertexId], after: u64, last: u64) -> bool {
        let notes = self.notes();
        let mut reached = after;
        for note in notes.commits.iter().skip_while(|note| note.last <= after) {
            if reached >= last {
                break;
            }
            let has = |it: &VertexId| note.predicates.binary_search(it).is_ok();
            if note.after > reached || predicates.iter().any(has) {
                return true;
            }
            reached = note.last;
        }
        reached < last
    }

    /// Lets watchers look: there is another version, or something else to do.
    pub(crate) fn ring(&self) {
        *self.rung() += 1;
        self.heard.notify_all();
    }

    /// Waits until it rings once more than `heard` times, at most until `due`; says how often it has rung.
    pub(crate) fn wait(&self, heard: u64, due: Option<Instant>) -> u64 {
        let mut rung = self.rung();
        while *rung == heard {
            let left = due.map_or(WAIT_MAX, |due| {
                due.saturating_duration_since(Instant::now()).min(WAIT_MAX)
            });
            if left.is_zero() {
                break;
            }
            let waited = self.heard.wait_timeout(rung, left);
            rung = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *rung
    }

    fn rung(&self) -> MutexGuard<'_, u64> {
        self.rung.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whole at every moment.
    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Notes {
    fn add(&mut self, note: Note) {
        self.predicates += note.predicates.len();
        self.commits.push_back(note);
        while self.commits.len() > COMMITS_MAX || self.predicates > PREDICATES_MAX {
            let gone = self.commits.pop_front();
            self.predicates -= gone.map_or(0, |note| note.predicates.len());
        }
    }

    fn drop_newest(&mut self) {
        let gone = self.commits.pop_back();
        self.predicates -= gone.map_or(0, |note| note.predicates.len());
    }
}

fn predicates_of(graph: &Snapshot) -> impl Iterator<Item = VertexId> + '_ {
    let numbers = graph.predicates().into_iter();
    numbers.map(|number| graph.predicate_vertex(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rdf::Tag;

    fn id(number: u64) -> VertexId {
        VertexId::new(Tag::Iri, number)
    }

    fn noted(news: &News, after: u64, last: u64, predicates: &[u64]) {
        news.notes().add(Note {
            after,
            last,
            predicates: predicates.iter().map(|number| id(*number)).collect(),
        });
    }

    #[test]
    fn what_is_not_noted_may_have_been_touched() {
        let news = Arc::new(News::default());
        assert!(news.are_touched(&[id(1)], 3, 4));
        assert!(!news.are_touched(&[id(1)], 4, 4));
        noted(&news, 3, 4, &[1, 2]);
        noted(&news, 4, 6, &[3]);
        assert!(news.are_touched(&[id(1)], 3, 4) && news.are_touched(&[id(9), id(3)], 3, 6));
        assert!(!news.are_touched(&[id(1)], 4, 6) && !news.are_touched(&[id(4)], 3, 6));
        // Before the first, behind the last, and between two that do not follow each other.
        assert!(news.are_touched(&[id(4)], 2, 4) && news.are_touched(&[id(4)], 3, 7));
        noted(&news, 7, 8, &[1]);
        assert!(news.are_touched(&[id(4)], 4, 8) && !news.are_touched(&[id(4)], 7, 8));
        news.forget_behind(6);
        assert!(news.are_touched(&[id(4)], 7, 8) && !news.are_touched(&[id(4)], 3, 6));
    }

    #[test]
    fn notes_are_bounded() {
        let news = Arc::new(News::default());
        for number in 0..2 * COMMITS_MAX as u64 {
            noted(&news, number, number + 1, &[1]);
        }
        let last = 2 * COMMITS_MAX as u64;
        let kept = last - COMMITS_MAX as u64;
        assert!(!news.are_touched(&[id(2)], kept, last));
        assert!(news.are_touched(&[id(2)], kept - 1, last));
        let many: Vec<u64> = (0..PREDICATES_MAX as u64).collect();
        noted(&news, last, last + 1, &many);
        assert_eq!(news.notes().commits.len(), 1);
        drop(news.watch());
        assert_eq!(news.notes().predicates, 0);
    }
}
