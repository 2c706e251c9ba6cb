//! Which query is ready: streams with who waits for them, and queries with what they wait for.
//!
//! A registered query is in exactly one state, and a stream that moves on looks at those alone that wait for it:
//!
//! ```text
//!              next instant known?              every window covered?
//!   recheck ---- no --> listens to its streams
//!           ---- yes ------ no ---------> waits for the first stream that lags, up to a moment
//!                     '---- yes --------> ready, by (instant, cohort)
//! ```
//!
//! A query whose instants depend on what comes listens to the streams that lag as well, because they may bring an
//! earlier instant. So the cost of a seal is O(log n) and a look at each query that it wakes, however many are
//! registered; a query that names a stalled stream holds up nobody else.
//!
//! Queries of one schedule that have come equally far are in the same state for good, whatever they ask, so they are one
//! entry here: a **cohort**. A look, a wait and a floor are a cohort's, and a thousand queries over the same window cost what one
//! costs. A query joins when it has come as far as the others, which all that are ready together have after their close, and leaves
//! when it is paused. Queries that late items revise stay alone: what comes again is their own.
//!
//! Those that are ready at one close take turns, by their numbers; their windows are made at the first turn of each cohort, and
//! their cohorts go on when the last turn is taken. So what a query sees is kept until it was given it.
//!
//! An **idle** stream is followed: where a query's other streams have come past an instant, the idle one is settled up
//! to it, and the query sees what it has, often nothing. If all streams of a query are idle, its time stands still.
//!
//! Invariant: of each cohort, `floors` says from when on each stream must be kept, before anything is dropped; no two
//! cohorts of one schedule have come equally far, but for those that are paused, take turns or are revised.

mod cohorts;
mod revisions;
mod turns;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::error::StreamError;
use crate::instants::Instants;
use crate::schedule::{CohortId, QueryId, Schedule, StreamId};
use crate::stream::{Seal, Stream};
use crate::time::{SealPoint, Time};
use crate::vector::PartId;
use cohorts::{Cohort, Member};
use turns::Turns;

/// A stream, up to a moment.
type Mark = (StreamId, Time);

/// What a cohort waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    /// Nothing: it is paused.
    Paused,
    /// That something comes.
    Content,
    /// That a stream is covered up to a moment (`Cohort::lagging`).
    Covered,
    /// That its turn comes.
    Ready(Time),
    /// That its members have had their turns.
    Turns,
}

/// What a look at a cohort found.
struct Found {
    wait: Wait,
    lagging: Vec<Mark>,
    from: Time,
    listens: BTreeSet<StreamId>,
    floors: BTreeMap<StreamId, Time>,
    /// An idle stream that is to be settled up to a moment.
    follow: Option<Mark>,
}

/// See the head of this file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Readiness {
    pub(crate) streams: BTreeMap<StreamId, Stream>,
    queries: BTreeMap<QueryId, Member>,
    cohorts: BTreeMap<CohortId, Cohort>,
    /// The cohort that queries of a schedule belong to which have come so far.
    places: HashMap<(Arc<Schedule>, Time), CohortId>,
    /// How many cohorts there ever were.
    made: u64,
    ready: BTreeSet<(Time, CohortId)>,
    turns: Turns,
    /// Instants of queries that late items have changed.
    revisions: BTreeSet<(Time, QueryId)>,
    /// Streams in which something came late that revises.
    late: BTreeSet<StreamId>,
    /// Streams that have a seal to give, by its end.
    seals: BTreeSet<(Time, StreamId)>,
}

impl Readiness {
    /// The stream of this number.
    pub(crate) fn stream(&self, stream: StreamId) -> Result<&Stream, StreamError> {
        self.streams
            .get(&stream)
            .ok_or(StreamError::NoStream(stream))
    }

    /// How far each stream is visible.
    pub(crate) fn vector(&self) -> Vec<(StreamId, SealPoint)> {
        let streams = self.streams.iter();
        streams
            .map(|(&id, stream)| (id, stream.visible()))
            .collect()
    }

    /// The edge's clock says this.
    pub(crate) fn tick(&mut self, now: Time) {
        let streams: Vec<StreamId> = self.streams.keys().copied().collect();
        for stream in streams {
            let tick = |stream: &mut Stream| {
                stream.tick(now);
                Ok(())
            };
            self.change(stream, tick).expect("the stream is there");
        }
    }

    /// Does something to a stream that may settle batches of it, or end or begin its idleness.
    pub(crate) fn change<T>(
        &mut self,
        stream: StreamId,
        change: impl FnOnce(&mut Stream) -> Result<T, StreamError>,
    ) -> Result<T, StreamError> {
        let changed = self.streams.get_mut(&stream);
        let changed = changed.ok_or(StreamError::NoStream(stream))?;
        let was_idle = changed.is_idle();
        let answer = change(changed)?;
        let woken = if changed.is_idle() == was_idle {
            BTreeSet::new()
        } else {
            changed.readers.clone()
        };
        self.offer(stream);
        self.recheck_all(woken);
        Ok(answer)
    }

    /// Forgets a stream that no query names.
    pub(crate) fn remove_stream(&mut self, stream: StreamId) {
        let removed = self.streams.remove(&stream);
        if let Some(end) = removed.and_then(|removed| removed.offered) {
            self.seals.remove(&(end, stream));
        }
    }

    /// When the next seal ends, if there is one.
    pub(crate) fn next_seal_end(&self) -> Option<Time> {
        let &(end, _) = self.seals.first()?;
        Some(end)
    }

    /// The next seal that can be given, the one that ends first.
    pub(crate) fn next_seal(&mut self) -> Option<Seal> {
        let &(_, stream) = self.seals.first()?;
        let seal = self.streams.get_mut(&stream)?.next_seal(stream);
        self.offer(stream);
        seal
    }

    /// A part has sealed its share of a stream.
    pub(crate) fn seal(
        &mut self,
        stream: StreamId,
        part: PartId,
        until: SealPoint,
    ) -> Result<(), StreamError> {
        let sealed = self.streams.get_mut(&stream);
        let sealed = sealed.ok_or(StreamError::NoStream(stream))?;
        let came = sealed.seal(part, until)?;
        let covered = sealed.covered();
        let mut woken = BTreeSet::new();
        while let Some(&(time, cohort)) = sealed.waiting.first() {
            if time > covered {
                break;
            }
            sealed.waiting.pop_first();
            woken.insert(cohort);
        }
        if came {
            woken.extend(sealed.listening.iter().copied());
        }
        self.recheck_all(woken);
        if let Some(sealed) = self.streams.get_mut(&stream) {
            sealed.forget();
        }
        Ok(())
    }

    /// What streams wait for has changed: they may have more to settle.
    fn settle(&mut self, streams: BTreeSet<StreamId>) {
        for id in streams {
            if let Some(stream) = self.streams.get_mut(&id) {
                stream.settle();
            }
            self.offer(id);
        }
    }

    /// Puts a stream where its next seal is.
    pub(crate) fn offer(&mut self, stream: StreamId) {
        let Some(offering) = self.streams.get_mut(&stream) else {
            return;
        };
        let end = offering.next_seal_end();
        let before = std::mem::replace(&mut offering.offered, end);
        if before != end {
            before.map(|before| self.seals.remove(&(before, stream)));
            self.seals.extend(end.map(|end| (end, stream)));
        }
    }

    fn recheck_all(&mut self, cohorts: BTreeSet<CohortId>) {
        for cohort in cohorts {
            self.recheck(cohort);
        }
    }

    /// Looks at a cohort anew.
    fn recheck(&mut self, id: CohortId) {
        let Some(cohort) = self.cohorts.get(&id) else {
            return;
        };
        if matches!(cohort.wait, Wait::Paused | Wait::Turns) {
            return;
        }
        let found = self.look(cohort);
        self.apply(id, found);
    }

    fn instants<'a>(&'a self, schedule: &'a Schedule) -> Instants<'a> {
        Instants::new(schedule, |stream| {
            let stream = self.streams.get(&stream);
            let stream = stream.expect("a stream that a query names is not dropped");
            stream.sight()
        })
    }

    fn look(&self, cohort: &Cohort) -> Found {
        let (schedule, from) = (&cohort.schedule, cohort.from);
        let instants = self.instants(schedule);
        let extra = cohort.extra.range(from..).next().copied();
        // Nothing comes after the last moment, so it is none.
        let next = instants.next(from).into_iter().chain(extra).min();
        let next = next.filter(|instant| *instant < Time::MAX);
        let from = match next {
            None => from.max(instants.covered()),
            Some(_) => from,
        };
        let (lagging, follow) = match next {
            None => (Vec::new(), None),
            Some(instant) => self.lagging(schedule, &instants, instant),
        };
        let wait = match next {
            None => Wait::Content,
            Some(instant) if lagging.is_empty() => Wait::Ready(instant),
            Some(_) => Wait::Covered,
        };
        let mut floors = BTreeMap::new();
        let mut listens = BTreeSet::new();
        let seen_from = from
            .earlier(schedule.revise_ms.unwrap_or(0))
            .max(cohort.first);
        for (place, window) in schedule.windows.iter().enumerate() {
            let floor = instants.floor(place, seen_from.min(from));
            let least = floors.entry(window.stream).or_insert(floor);
            *least = floor.min(*least);
            let lags = |instant| self.covered(window.stream) < instants.need_of_all(place, instant);
            let listened = match wait {
                Wait::Content => true,
                Wait::Covered => !instants.is_fixed() && next.is_some_and(lags),
                Wait::Paused | Wait::Ready(_) | Wait::Turns => false,
            };
            listens.extend(listened.then_some(window.stream));
        }
        Found {
            wait,
            lagging,
            from,
            listens,
            floors,
            follow,
        }
    }

    /// Which streams an evaluation at `instant` waits for, and which idle one is to follow.
    fn lagging(
        &self,
        schedule: &Schedule,
        instants: &Instants<'_>,
        instant: Time,
    ) -> (Vec<Mark>, Option<Mark>) {
        let lagging = |is_idle: bool, need: &dyn Fn(usize) -> Time| {
            let windows = schedule.windows.iter().enumerate();
            let mut lagging = windows.filter_map(|(place, window)| {
                let (stream, need) = (window.stream, need(place));
                let lags = self.covered(stream) < need;
                (self.is_idle(stream) == is_idle && lags).then_some((stream, need))
            });
            lagging.next()
        };
        let need = |place| instants.need(place, instant);
        if let Some(active) = lagging(false, &need) {
            return (vec![active], None);
        }
        let Some(idle) = lagging(true, &need) else {
            return (Vec::new(), None);
        };
        let mut windows = schedule.windows.iter();
        if windows.all(|window| self.is_idle(window.stream)) {
            return (vec![idle], None);
        }
        // The others show how far time has come; or the idle stream is covered meanwhile.
        let need_of_all = |place| instants.need_of_all(place, instant);
        match lagging(false, &need_of_all) {
            Some(active) => (vec![active, idle], None),
            None => (vec![idle], Some(idle)),
        }
    }

    fn covered(&self, stream: StreamId) -> Time {
        self.streams.get(&stream).map_or(Time(0), Stream::covered)
    }

    fn is_idle(&self, stream: StreamId) -> bool {
        self.streams.get(&stream).is_some_and(Stream::is_idle)
    }

    /// Puts a cohort where it belongs now.
    fn apply(&mut self, id: CohortId, found: Found) {
        let Some(cohort) = self.cohorts.get_mut(&id) else {
            return;
        };
        if let Wait::Ready(instant) = cohort.wait {
            self.ready.remove(&(instant, id));
        }
        for (stream, until) in &cohort.lagging {
            if let Some(stream) = self.streams.get_mut(stream) {
                stream.waiting.remove(&(*until, id));
            }
        }
        for stream in cohort.listens.difference(&found.listens) {
            if let Some(stream) = self.streams.get_mut(stream) {
                stream.listening.remove(&id);
            }
        }
        for stream in found.listens.difference(&cohort.listens) {
            if let Some(stream) = self.streams.get_mut(stream) {
                stream.listening.insert(id);
            }
        }
        if let Wait::Ready(instant) = found.wait {
            self.ready.insert((instant, id));
        }
        for (stream, until) in &found.lagging {
            if let Some(stream) = self.streams.get_mut(stream) {
                stream.waiting.insert((*until, id));
            }
        }
        if cohort.floors != found.floors {
            move_floors(&mut self.streams, id, &cohort.floors, &found.floors);
        }
        cohort.wait = found.wait;
        cohort.lagging = found.lagging;
        cohort.from = found.from;
        cohort.extra = cohort.extra.split_off(&found.from);
        cohort.listens = found.listens;
        cohort.floors = found.floors;
        self.place(id);
        if let Some((idle, until)) = found.follow {
            if let Some(stream) = self.streams.get_mut(&idle) {
                stream.follow(until);
            }
            self.offer(idle);
        }
    }
}

/// What a cohort may still see of its streams begins elsewhere.
fn move_floors(
    streams: &mut BTreeMap<StreamId, Stream>,
    cohort: CohortId,
    before: &BTreeMap<StreamId, Time>,
    after: &BTreeMap<StreamId, Time>,
) {
    for (id, &floor) in before {
        if let Some(stream) = streams.get_mut(id) {
            stream.floors.remove(&(floor, cohort));
        }
    }
    for (id, &floor) in after {
        if let Some(stream) = streams.get_mut(id) {
            stream.floors.insert((floor, cohort));
        }
    }
    for id in before.keys() {
        if let Some(stream) = streams.get_mut(id) {
            stream.forget();
        }
    }
}

fn streams_of(schedule: &Schedule) -> BTreeSet<StreamId> {
    schedule
        .windows
        .iter()
        .map(|window| window.stream)
        .collect()
}
