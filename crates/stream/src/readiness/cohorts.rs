//! Cohorts: which queries are one entry, and how they come together and part.
//!
//! ```text
//!   register --> a cohort of its own --look--> joins the one of its place   (schedule, how far it has come)
//!   pause, unregister <-- leaves it            two that come to one place are one from then on
//! ```
//!
//! Whoever joins brings nothing but its name: what a look finds follows from the schedule, from how far the cohort has come, and
//! from the streams. So the smaller of two is moved, and each query is moved O(log n) times for a place that n come to.

use super::{Found, Mark, Readiness, Wait, streams_of};
use crate::error::StreamError;
use crate::schedule::{CohortId, QueryId, Schedule, StreamId};
use crate::stream::Stream;
use crate::time::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Queries of one schedule that have come equally far.
#[derive(Clone, Debug)]
pub(super) struct Cohort {
    pub(super) schedule: Arc<Schedule>,
    pub(super) members: BTreeSet<QueryId>,
    /// The next instant is not before this.
    pub(super) from: Time,
    pub(super) wait: Wait,
    /// Streams that it waits for, each up to a moment: it is looked at when one of them is covered.
    pub(super) lagging: Vec<Mark>,
    /// The streams that it listens to.
    pub(super) listens: BTreeSet<StreamId>,
    /// What it may still see of each of its streams begins here.
    pub(super) floors: BTreeMap<StreamId, Time>,
    /// The first instant was not before this. Asked only where late items revise.
    pub(super) first: Time,
    /// Instants to come at which only late items are to be seen.
    pub(super) extra: BTreeSet<Time>,
    /// It is found by its schedule and this.
    placed: Option<Time>,
}

/// A registered query.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub(super) cohort: CohortId,
    /// Its first instant was not before this.
    first: Time,
}

impl Readiness {
    /// Whether there is such a query.
    pub(crate) fn has_query(&self, query: QueryId) -> bool {
        self.queries.contains_key(&query)
    }

    /// How many queries name a stream.
    pub(crate) fn queries_of(&self, stream: &Stream) -> usize {
        let cohorts = stream.readers.iter();
        let members = cohorts.filter_map(|id| Some(self.cohorts.get(id)?.members.len()));
        members.sum()
    }

    /// The first moment that a query is evaluated from, and instants to come at which only late items are to be seen.
    pub(crate) fn history(&self, query: QueryId) -> Option<(Time, Vec<Time>)> {
        let member = self.queries.get(&query)?;
        let cohort = self.cohorts.get(&member.cohort)?;
        Some((member.first, cohort.extra.iter().copied().collect()))
    }

    /// A query that goes on has this behind it.
    pub(crate) fn remember(&mut self, query: QueryId, first: Time, extra: &[Time]) {
        let Some(member) = self.queries.get_mut(&query) else {
            return;
        };
        member.first = first;
        if let Some(cohort) = self.cohorts.get_mut(&member.cohort)
            && cohort.schedule.revise_ms.is_some()
        {
            cohort.first = first;
            cohort.extra = extra.iter().copied().collect();
        }
    }

    /// The next instant of a query is not before this.
    pub(crate) fn progress(&self, query: QueryId) -> Option<Time> {
        let id = self.queries.get(&query)?.cohort;
        let cohort = self.cohorts.get(&id)?;
        let has_had = cohort.wait == Wait::Turns && self.turns.has_had(query);
        Some(if has_had {
            self.turns.close().later(1)
        } else {
            cohort.from
        })
    }

    /// See [`Streams::next_closes`](crate::Streams::next_closes).
    pub(crate) fn next_closes(&self) -> BTreeMap<BTreeSet<StreamId>, Time> {
        let cohorts = self.cohorts.values();
        let asked = cohorts.filter(|it| it.wait != Wait::Paused && it.schedule.sees_stored);
        let asked = asked.map(|cohort| (streams_of(&cohort.schedule), self.next_close(cohort)));
        let streams = self.streams.iter();
        let open = streams.map(|(id, stream)| (BTreeSet::from([*id]), stream.covered()));
        let mut next = BTreeMap::new();
        for (streams, close) in asked.chain(open) {
            let least = next.entry(streams).or_insert(close);
            *least = close.min(*least);
        }
        next
    }

    /// No instant of a cohort that is still to come is before this: the next one as far as is known. Where instants are not fixed,
    /// what comes may bring an earlier one, from what is covered on; and what comes late, where that revises, from where it stands on.
    fn next_close(&self, cohort: &Cohort) -> Time {
        let instants = self.instants(&cohort.schedule);
        if cohort.schedule.revise_ms.is_some() && !instants.is_fixed() {
            return cohort.from;
        }
        let extra = cohort.extra.range(cohort.from..).next().copied();
        let next = instants.next(cohort.from).into_iter().chain(extra).min();
        match next {
            Some(next) if instants.is_fixed() => next,
            next => next
                .unwrap_or(Time::MAX)
                .min(instants.covered())
                .max(cohort.from),
        }
    }

    /// Registers a query of which every stream is there; its first instant is not before `from`.
    pub(crate) fn register(&mut self, query: QueryId, schedule: Schedule, from: Time) {
        let begins = schedule
            .windows
            .iter()
            .filter_map(|window| self.streams.get(&window.stream));
        let begin = begins.map(Stream::begin).min().unwrap_or_default();
        let from = from.max(begin);
        let streams = streams_of(&schedule);
        let cohort = self.found(query, Arc::new(schedule), from, from, Wait::Content);
        self.settle(streams);
        self.recheck(cohort);
    }

    /// Forgets a query.
    pub(crate) fn unregister(&mut self, query: QueryId) -> Result<(), StreamError> {
        let schedule = self.leave(query)?;
        self.queries.remove(&query);
        self.settle(streams_of(&schedule));
        Ok(())
    }

    /// A query is evaluated no more, and nothing is kept for it, until it goes on.
    pub(crate) fn rest(&mut self, query: QueryId) -> Result<(), StreamError> {
        let from = self.progress(query).ok_or(StreamError::NoQuery(query))?;
        let (first, extra) = self.history(query).unwrap_or_default();
        let schedule = self.leave(query)?;
        let streams = streams_of(&schedule);
        let id = self.found(query, schedule, from, first, Wait::Paused);
        if let Some(cohort) = self.cohorts.get_mut(&id) {
            cohort.extra = extra.into_iter().collect();
        }
        self.settle(streams);
        Ok(())
    }

    /// A query goes on; its next instant is not before `from`, nor is one that it has had.
    pub(crate) fn go_on(&mut self, query: QueryId, from: Time) -> Result<(), StreamError> {
        let member = self.queries.get(&query);
        let id = member.ok_or(StreamError::NoQuery(query))?.cohort;
        if let Some(cohort) = self.cohorts.get_mut(&id)
            && cohort.wait == Wait::Paused
        {
            cohort.from = cohort.from.max(from);
            cohort.wait = Wait::Content;
            let schedule = Arc::clone(&cohort.schedule);
            self.ask_streams(id, &schedule);
            self.settle(streams_of(&schedule));
            self.recheck(id);
        }
        Ok(())
    }

    /// Puts a query into a cohort of its own.
    fn found(
        &mut self,
        query: QueryId,
        schedule: Arc<Schedule>,
        from: Time,
        first: Time,
        wait: Wait,
    ) -> CohortId {
        let cohort = CohortId(self.made);
        self.made += 1;
        for window in &schedule.windows {
            if let Some(stream) = self.streams.get_mut(&window.stream) {
                stream.readers.insert(cohort);
            }
        }
        if wait != Wait::Paused {
            self.ask_streams(cohort, &schedule);
        }
        let founded = Cohort {
            schedule,
            members: BTreeSet::from([query]),
            from,
            wait,
            lagging: Vec::new(),
            listens: BTreeSet::new(),
            floors: BTreeMap::new(),
            first,
            extra: BTreeSet::new(),
            placed: None,
        };
        self.cohorts.insert(cohort, founded);
        self.queries.insert(query, Member { cohort, first });
        cohort
    }

    /// Streams wait, cut and keep as a cohort needs it, from now on.
    fn ask_streams(&mut self, cohort: CohortId, schedule: &Schedule) {
        for window in &schedule.windows {
            let has_edges = schedule.has_edges_of(window.stream);
            let Some(stream) = self.streams.get_mut(&window.stream) else {
                continue;
            };
            stream.patience.insert((schedule.lateness_ms, cohort));
            if has_edges {
                stream.edge_readers.insert(cohort);
            }
            if let Some(revise_ms) = schedule.revise_ms {
                stream.revisers.insert((revise_ms, cohort));
            }
            if schedule.asks_arrivals {
                stream.arrival_readers.insert(cohort);
                stream.retained.note_arrivals(true);
            }
        }
    }

    /// A query belongs to its cohort no more, and to none until it is put into one; nothing of it is due.
    fn leave(&mut self, query: QueryId) -> Result<Arc<Schedule>, StreamError> {
        let member = self.queries.get(&query);
        let id = member.ok_or(StreamError::NoQuery(query))?.cohort;
        self.revisions.retain(|(_, revised)| *revised != query);
        let cohort = self.cohorts.get_mut(&id);
        let cohort = cohort.ok_or(StreamError::NoQuery(query))?;
        cohort.members.remove(&query);
        let schedule = Arc::clone(&cohort.schedule);
        if cohort.members.is_empty() {
            self.dissolve(id);
        }
        Ok(schedule)
    }

    /// A cohort has come to a place: if another one is there, the two are one from now on.
    pub(super) fn place(&mut self, id: CohortId) {
        self.unplace(id);
        let Some(cohort) = self.cohorts.get_mut(&id) else {
            return;
        };
        let is_alone = cohort.schedule.revise_ms.is_some();
        if is_alone || matches!(cohort.wait, Wait::Paused | Wait::Turns) {
            return;
        }
        cohort.placed = Some(cohort.from);
        let place = (Arc::clone(&cohort.schedule), cohort.from);
        let members = cohort.members.len();
        let Some(there) = self.places.insert(place, id) else {
            return;
        };
        let is_larger = |other: &Cohort| other.members.len() > members;
        if self.cohorts.get(&there).is_some_and(is_larger) {
            self.merge(there, id);
        } else {
            self.merge(id, there);
        }
    }

    pub(super) fn unplace(&mut self, id: CohortId) {
        if let Some(cohort) = self.cohorts.get_mut(&id)
            && let Some(from) = cohort.placed.take()
        {
            self.places.remove(&(Arc::clone(&cohort.schedule), from));
        }
    }

    /// The members of `gone` are members of `kept` from now on, which is at the same place and keeps it.
    fn merge(&mut self, kept: CohortId, gone: CohortId) {
        let Some(moved) = self.cohorts.get_mut(&gone) else {
            return;
        };
        let members = std::mem::take(&mut moved.members);
        let place = moved.placed.take();
        for query in &members {
            if let Some(member) = self.queries.get_mut(query) {
                member.cohort = kept;
            }
        }
        self.dissolve(gone);
        if let Some(cohort) = self.cohorts.get_mut(&kept) {
            cohort.members.extend(members);
            cohort.placed = place;
            let place = place.map(|from| (Arc::clone(&cohort.schedule), from));
            self.places.extend(place.map(|place| (place, kept)));
        }
    }

    /// Forgets a cohort that has no members.
    fn dissolve(&mut self, id: CohortId) {
        self.unplace(id);
        let Some(cohort) = self.cohorts.get(&id) else {
            return;
        };
        let nothing = Found {
            wait: Wait::Paused,
            lagging: Vec::new(),
            from: cohort.from,
            listens: BTreeSet::new(),
            floors: BTreeMap::new(),
            follow: None,
        };
        self.apply(id, nothing);
        let Some(cohort) = self.cohorts.remove(&id) else {
            return;
        };
        for name in streams_of(&cohort.schedule) {
            let Some(stream) = self.streams.get_mut(&name) else {
                continue;
            };
            stream.readers.remove(&id);
            stream.edge_readers.remove(&id);
            stream.arrival_readers.remove(&id);
            stream.revisers.retain(|(_, reviser)| *reviser != id);
            let is_asked = !stream.arrival_readers.is_empty();
            stream.retained.note_arrivals(is_asked);
            stream.patience.remove(&(cohort.schedule.lateness_ms, id));
            stream.forget();
        }
    }
}
