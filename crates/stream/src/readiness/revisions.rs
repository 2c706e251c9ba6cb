//! Revisions: evaluations that are made again because something came late.
//!
//! Only queries that ask for it are revised (`late=revise`). What comes late, but within what they allow, is a further slice
//! of its old batch: their windows hold it from then on, and the instants at which they were evaluated and would have seen it
//! come again. Windows of other queries never change.
//!
//! ```text
//!             item at t                 late: its batch is sealed
//!  closes  |-----x-----|-----------|--------------|
//!               [  window of close 1  ]           ^ from: next close
//!                          [  window of close 2   ]
//!  again: every close before `from` whose window has t, each with all that came late by then
//! ```
//!
//! A close that was stepped over because all windows were empty (`nonempty`) is one of them; closes to come that only late
//! items fill are instants as well (`Standing::extra`). What a window is at an instant is decided by what came in time:
//! closes of `t0=first` and of `report=change` stay where they are.
//!
//! Cost: of a late item, its closes; nothing where none comes.

use super::{Readiness, Wait};
use crate::content::Evaluation;
use crate::error::StreamError;
use crate::instants::Instants;
use crate::reach::Selection;
use crate::schedule::{CohortId, Schedule, StreamId};
use crate::stream::{Accepted, LateSeal, Stream};
use crate::time::Time;
use query::standing::Report;
use std::collections::BTreeSet;
use std::sync::Arc;

impl Readiness {
    /// Something was pushed that may have been late.
    pub(crate) fn note_late(&mut self, stream: StreamId, accepted: &Accepted) {
        if !accepted.late.is_empty() {
            self.late.insert(stream);
        }
    }

    /// The stream of which [`Readiness::next_late`] gives something.
    pub(crate) fn next_late_stream(&mut self) -> Option<StreamId> {
        while let Some(stream) = self.late.first().copied() {
            if self.streams.get(&stream).is_some_and(Stream::has_late) {
                return Some(stream);
            }
            self.late.pop_first();
        }
        None
    }

    /// What came late in a stream and revises something.
    pub(crate) fn next_late(&mut self) -> Option<LateSeal> {
        while let Some(stream) = self.late.pop_first() {
            let items = self.streams.get_mut(&stream).and_then(Stream::take_late);
            if let Some(items) = items {
                let items = Arc::new(items);
                return Some(LateSeal { stream, items });
            }
        }
        None
    }

    /// What came late is kept: whoever it revises sees it.
    pub(crate) fn reveal(&mut self, late: &LateSeal) -> Result<(), StreamError> {
        let stream = self.streams.get_mut(&late.stream);
        let stream = stream.ok_or(StreamError::NoStream(late.stream))?;
        stream.retained.reveal(&late.items);
        let revisers: BTreeSet<CohortId> = stream.revisers.iter().map(|it| it.1).collect();
        let mut times = late.items.times().to_vec();
        times.dedup();
        for cohort in revisers {
            for time in &times {
                self.revise(cohort, late.stream, *time);
            }
            self.recheck(cohort);
        }
        Ok(())
    }

    /// Notes the instants at which the query of a cohort is to see an item.
    fn revise(&mut self, id: CohortId, stream: StreamId, time: Time) {
        let Some(standing) = self.cohorts.get(&id) else {
            return;
        };
        let query = standing.members.first();
        let Some((&query, from)) = query.and_then(|query| Some((query, self.progress(*query)?)))
        else {
            return;
        };
        if standing.wait == Wait::Paused {
            return;
        }
        // Also those at which nothing else is to be seen.
        let schedule = Schedule {
            report: Report {
                nonempty: false,
                ..standing.schedule.report
            },
            ..Schedule::clone(&standing.schedule)
        };
        let revise_ms = schedule.revise_ms.unwrap_or(0);
        let instants = self.instants(&schedule);
        let mut at = time.max(standing.first).max(from.earlier(revise_ms));
        let last = schedule
            .reach_ms()
            .map_or(from, |reach_ms| time.later(reach_ms));
        let last = if standing.schedule.report.nonempty {
            last
        } else {
            last.min(from)
        };
        let mut touched = Vec::new();
        while let Some(instant) = instants.next(at).filter(|instant| *instant <= last) {
            if sees(&instants, &schedule, instant, stream, time) {
                touched.push(instant);
            }
            at = instant.later(1);
        }
        drop(instants);
        let (again, to_come): (Vec<Time>, Vec<Time>) =
            touched.into_iter().partition(|instant| *instant < from);
        self.revisions
            .extend(again.into_iter().map(|instant| (instant, query)));
        if let Some(standing) = self.cohorts.get_mut(&id)
            && standing.schedule.report.nonempty
        {
            standing.extra.extend(to_come);
        }
    }

    /// The next evaluation that is made again, the earliest first.
    pub(super) fn next_revision(&mut self) -> Option<Evaluation> {
        while let Some((close, query)) = self.revisions.pop_first() {
            let member = self.queries.get(&query);
            if let Some(cohort) = member.and_then(|member| self.cohorts.get(&member.cohort)) {
                let schedule = Arc::clone(&cohort.schedule);
                return Some(Evaluation {
                    query,
                    close,
                    windows: self.contents(&schedule, close),
                    is_revision: true,
                });
            }
        }
        None
    }
}

/// Whether an item of a stream at `time` is in a window at an instant.
fn sees(
    instants: &Instants<'_>,
    schedule: &Schedule,
    instant: Time,
    stream: StreamId,
    time: Time,
) -> bool {
    let mut windows = schedule.windows.iter().enumerate();
    windows.any(|(place, window)| {
        let selected = || instants.selection(place, instant);
        window.stream == stream
            && matches!(selected(), Selection::Span(span) if span.contains(&time))
    })
}
