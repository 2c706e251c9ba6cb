//! Turns: the queries that are ready at one close, one after the other.
//!
//! They are taken by their numbers, whatever cohorts they are of, so that what they write comes in one order, also after a
//! crash has parted those that had their turn from those that had not. A cohort stands still until all have had theirs: its
//! floors keep what the last of them is to see.
//!
//! Invariant: a query has had its turn if its number is below that of the next one. None joins a cohort that takes turns.
//! What its windows hold is found at its first turn and shared; ids that change meanwhile have it found again.

use super::{Readiness, Wait};
use crate::content::{Content, Evaluation};
use crate::reach::Selection;
use crate::schedule::{CohortId, QueryId, Schedule};
use crate::time::Time;
use rdf::transient::Renamed;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::Arc;

/// See the head of this file.
#[derive(Clone, Debug, Default)]
pub(super) struct Turns {
    close: Time,
    /// By query.
    order: Vec<(QueryId, CohortId)>,
    /// So many have had their turn.
    had: usize,
    /// What windows hold that were asked for.
    contents: BTreeMap<CohortId, Arc<[Content]>>,
}

impl Turns {
    /// The close of the turns that are taken.
    pub(super) fn close(&self) -> Time {
        self.close
    }

    /// Whether a query of a cohort that takes turns has had its own.
    pub(super) fn has_had(&self, query: QueryId) -> bool {
        let next = self.order.get(self.had);
        next.is_none_or(|(next, _)| query < *next)
    }
}

impl Readiness {
    /// Whether an evaluation is due, as far as is known without a look at each: one of a query that is gone may be among them.
    pub(crate) fn has_ready(&self) -> bool {
        let has_turns = self.turns.had < self.turns.order.len();
        has_turns || !(self.ready.is_empty() && self.revisions.is_empty())
    }

    /// The next evaluation that is due: revisions, and then the earliest first.
    pub(crate) fn next_ready(&mut self) -> Option<Evaluation> {
        if let Some(revision) = self.next_revision() {
            return Some(revision);
        }
        loop {
            let Some(&(query, id)) = self.turns.order.get(self.turns.had) else {
                if !self.begin_turns() {
                    return None;
                }
                continue;
            };
            self.turns.had += 1;
            // It may have been paused meanwhile, or dropped.
            let is_there = self.queries.get(&query).is_some_and(|it| it.cohort == id);
            let windows = is_there.then(|| self.windows_of(id)).flatten();
            let close = self.turns.close;
            if self.turns.had == self.turns.order.len() {
                self.end_turns();
            }
            if let Some(windows) = windows {
                return Some(Evaluation {
                    query,
                    close,
                    windows,
                    is_revision: false,
                });
            }
        }
    }

    /// All cohorts that are ready at the earliest close take turns from now on; false: there is none.
    fn begin_turns(&mut self) -> bool {
        let Some(&(close, _)) = self.ready.first() else {
            return false;
        };
        let mut turns = Turns {
            close,
            order: std::mem::take(&mut self.turns.order),
            ..Turns::default()
        };
        turns.order.clear();
        let later = self.ready.split_off(&(close, CohortId(u64::MAX)));
        for (_, id) in std::mem::replace(&mut self.ready, later) {
            self.unplace(id);
            if let Some(cohort) = self.cohorts.get_mut(&id) {
                cohort.wait = Wait::Turns;
                turns
                    .order
                    .extend(cohort.members.iter().map(|query| (*query, id)));
            }
        }
        turns.order.sort_unstable();
        self.turns = turns;
        true
    }

    /// All have had their turn: their cohorts go on.
    fn end_turns(&mut self) {
        let Turns {
            close,
            order,
            contents,
            ..
        } = &mut self.turns;
        contents.clear();
        let after = close.later(1);
        let mut cohorts: Vec<CohortId> = order.drain(..).map(|(_, id)| id).collect();
        self.turns.had = 0;
        cohorts.sort_unstable();
        cohorts.dedup();
        for id in cohorts {
            if let Some(cohort) = self.cohorts.get_mut(&id) {
                cohort.from = after;
                cohort.wait = Wait::Content;
                self.recheck(id);
            }
        }
    }

    fn windows_of(&mut self, id: CohortId) -> Option<Arc<[Content]>> {
        if let Some(windows) = self.turns.contents.get(&id) {
            return Some(Arc::clone(windows));
        }
        let schedule = Arc::clone(&self.cohorts.get(&id)?.schedule);
        let windows = self.contents(&schedule, self.turns.close);
        self.turns.contents.insert(id, Arc::clone(&windows));
        Some(windows)
    }

    pub(super) fn contents(&mut self, schedule: &Schedule, close: Time) -> Arc<[Content]> {
        let instants = self.instants(schedule);
        let windows = 0..schedule.windows.len();
        let selections: SmallVec<[Selection; 2]> =
            windows.map(|at| instants.selection(at, close)).collect();
        drop(instants);
        let windows = schedule.windows.iter().zip(selections);
        windows
            .map(|(window, selection)| {
                let stream = self.streams.get_mut(&window.stream);
                let stream = stream.expect("a stream that a query names is not dropped");
                let sees_late = schedule.revise_ms.is_some();
                Content::of(window.stream, &selection, &mut stream.retained, sees_late)
            })
            .collect()
    }

    /// Puts stored ids in place of transient ones, in all that is kept and in what evaluations get from now on.
    pub(crate) fn rename(&mut self, renamed: &Renamed) {
        for stream in self.streams.values_mut() {
            stream.rename(renamed);
        }
        self.turns.contents.clear();
    }
}
