//! Which query is ready: streams with who waits for them, and queries with what they wait for.
//!
//! A registered query is in exactly one state, and a stream that moves on looks at those alone that wait for it:
//!
//! ```text
//!              next instant known?              every window covered?
//!   recheck ---- no --> listens to its streams
//!           ---- yes ------ no ---------> waits for the first stream that lags, up to a moment
//!                     '---- yes --------> ready, by (instant, query)
//! ```
//!
//! A query whose instants depend on what comes listens to the streams that lag as well, because they may bring an
//! earlier instant. So the cost of a seal is O(log n) and a look at each query that it wakes, however many are
//! registered; a query that names a stalled stream holds up nobody else.
//!
//! An **idle** stream is followed: where a query's other streams have come past an instant, the idle one is settled up
//! to it, and the query sees what it has, often nothing. If all streams of a query are idle, its time stands still.
//!
//! Invariant: of each query, `floors` says from when on each stream must be kept, before anything is dropped.

mod revisions;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::content::{Content, Evaluation};
use crate::error::StreamError;
use crate::instants::Instants;
use crate::reach::Selection;
use crate::schedule::{QueryId, Schedule, StreamId};
use crate::stream::{Seal, Stream};
use crate::time::{SealPoint, Time};
use crate::vector::PartId;
use smallvec::SmallVec;

/// A stream, up to a moment.
type Mark = (StreamId, Time);

/// What a query waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    /// Nothing: it is paused.
    Paused,
    /// That something comes.
    Content,
    /// That a stream is covered up to a moment (`Standing::lagging`).
    Covered,
    /// To be taken.
    Ready(Time),
}

/// A registered query.
#[derive(Clone, Debug)]
struct Standing {
    schedule: Arc<Schedule>,
    /// Its next instant is not before this.
    from: Time,
    wait: Wait,
    /// Streams that it waits for, each up to a moment: it is looked at when one of them is covered.
    lagging: Vec<Mark>,
    /// The streams that it listens to.
    listens: BTreeSet<StreamId>,
    /// What it may still see of each of its streams begins here.
    floors: BTreeMap<StreamId, Time>,
    /// Its first instant was not before this.
    first: Time,
    /// Instants to come at which only late items are to be seen.
    extra: BTreeSet<Time>,
}

/// What a look at a query found.
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
    queries: BTreeMap<QueryId, Standing>,
    ready: BTreeSet<(Time, QueryId)>,
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
        while let Some(&(time, query)) = sealed.waiting.first() {
            if time > covered {
                break;
            }
            sealed.waiting.pop_first();
            woken.insert(query);
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

    /// The next evaluation that is due: revisions, and then the earliest first.
    pub(crate) fn next_ready(&mut self) -> Option<Evaluation> {
        if let Some(revision) = self.next_revision() {
            return Some(revision);
        }
        let (close, query) = self.ready.pop_first()?;
        let standing = self.queries.get(&query)?;
        let schedule = Arc::clone(&standing.schedule);
        let windows = self.contents(&schedule, close);
        if let Some(standing) = self.queries.get_mut(&query) {
            standing.from = close.later(1);
        }
        self.recheck(query);
        Some(Evaluation {
            query,
            close,
            windows,
            is_revision: false,
        })
    }

    pub(super) fn contents(&mut self, schedule: &Schedule, close: Time) -> Vec<Content> {
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

    /// Whether there is such a query.
    pub(crate) fn has_query(&self, query: QueryId) -> bool {
        self.queries.contains_key(&query)
    }

    /// The first moment that a query is evaluated from, and instants to come at which only late items are to be seen.
    pub(crate) fn history(&self, query: QueryId) -> Option<(Time, Vec<Time>)> {
        let standing = self.queries.get(&query)?;
        Some((standing.first, standing.extra.iter().copied().collect()))
    }

    /// A query that goes on has this behind it.
    pub(crate) fn remember(&mut self, query: QueryId, first: Time, extra: &[Time]) {
        if let Some(standing) = self.queries.get_mut(&query) {
            standing.first = first;
            standing.extra = extra.iter().copied().collect();
        }
    }

    /// The next instant of a query is not before this.
    pub(crate) fn progress(&self, query: QueryId) -> Option<Time> {
        Some(self.queries.get(&query)?.from)
    }

    /// Registers a query of which every stream is there; its first instant is not before `from`.
    pub(crate) fn register(&mut self, query: QueryId, schedule: Schedule, from: Time) {
        for window in &schedule.windows {
            let has_edges = schedule.has_edges_of(window.stream);
            let Some(stream) = self.streams.get_mut(&window.stream) else {
                continue;
            };
            stream.readers.insert(query);
            stream.patience.insert((schedule.lateness_ms, query));
            if has_edges {
                stream.edge_readers.insert(query);
            }
            if let Some(revise_ms) = schedule.revise_ms {
                stream.revisers.insert((revise_ms, query));
            }
            if schedule.asks_arrivals {
                stream.arrival_readers.insert(query);
                stream.retained.note_arrivals(true);
            }
        }
        let begins = schedule
            .windows
            .iter()
            .filter_map(|window| self.streams.get(&window.stream));
        let begin = begins.map(Stream::begin).min().unwrap_or_default();
        let standing = Standing {
            wait: Wait::Content,
            lagging: Vec::new(),
            from: from.max(begin),
            listens: BTreeSet::new(),
            floors: BTreeMap::new(),
            first: from.max(begin),
            extra: BTreeSet::new(),
            schedule: Arc::new(schedule),
        };
        let streams = streams_of(&standing.schedule);
        self.queries.insert(query, standing);
        self.settle(streams);
        self.recheck(query);
    }

    /// Forgets a query.
    pub(crate) fn unregister(&mut self, query: QueryId) -> Result<(), StreamError> {
        self.rest(query)?;
        let standing = self.queries.remove(&query);
        let standing = standing.ok_or(StreamError::NoQuery(query))?;
        let streams = streams_of(&standing.schedule);
        for id in &streams {
            if let Some(stream) = self.streams.get_mut(id) {
                stream.readers.remove(&query);
                stream.edge_readers.remove(&query);
                stream.arrival_readers.remove(&query);
                stream.revisers.retain(|(_, reviser)| *reviser != query);
                let is_asked = !stream.arrival_readers.is_empty();
                stream.retained.note_arrivals(is_asked);
                stream
                    .patience
                    .remove(&(standing.schedule.lateness_ms, query));
                stream.forget();
            }
        }
        self.settle(streams);
        Ok(())
    }

    /// A query is evaluated no more, and nothing is kept for it, until it goes on.
    pub(crate) fn rest(&mut self, query: QueryId) -> Result<(), StreamError> {
        let standing = self.queries.get(&query);
        let standing = standing.ok_or(StreamError::NoQuery(query))?;
        let found = Found {
            wait: Wait::Paused,
            lagging: Vec::new(),
            from: standing.from,
            listens: BTreeSet::new(),
            floors: BTreeMap::new(),
            follow: None,
        };
        self.revisions.retain(|(_, revised)| *revised != query);
        self.apply(query, found);
        Ok(())
    }

    /// A query goes on; its next instant is not before `from`, nor is one that it has had.
    pub(crate) fn go_on(&mut self, query: QueryId, from: Time) -> Result<(), StreamError> {
        let standing = self.queries.get_mut(&query);
        let standing = standing.ok_or(StreamError::NoQuery(query))?;
        if standing.wait == Wait::Paused {
            standing.from = standing.from.max(from);
            standing.wait = Wait::Content;
            self.recheck(query);
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

    fn recheck_all(&mut self, queries: BTreeSet<QueryId>) {
        for query in queries {
            self.recheck(query);
        }
    }

    /// Looks at a query anew.
    fn recheck(&mut self, query: QueryId) {
        let Some(standing) = self.queries.get(&query) else {
            return;
        };
        if standing.wait == Wait::Paused {
            return;
        }
        let found = self.look(standing);
        self.apply(query, found);
    }

    pub(super) fn instants<'a>(&'a self, schedule: &'a Schedule) -> Instants<'a> {
        Instants::new(schedule, |stream| {
            let stream = self.streams.get(&stream);
            let stream = stream.expect("a stream that a query names is not dropped");
            stream.sight()
        })
    }

    fn look(&self, standing: &Standing) -> Found {
        let (schedule, from) = (&standing.schedule, standing.from);
        let instants = self.instants(schedule);
        let extra = standing.extra.range(from..).next().copied();
        let next = instants.next(from).into_iter().chain(extra).min();
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
            .max(standing.first);
        for (place, window) in schedule.windows.iter().enumerate() {
            let floor = instants.floor(place, seen_from.min(from));
            let least = floors.entry(window.stream).or_insert(floor);
            *least = floor.min(*least);
            let lags = |instant| self.covered(window.stream) < instants.need_of_all(place, instant);
            let listened = match wait {
                Wait::Content => true,
                Wait::Covered => !instants.is_fixed() && next.is_some_and(lags),
                Wait::Paused | Wait::Ready(_) => false,
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

    /// Puts a query where it belongs now.
    fn apply(&mut self, query: QueryId, found: Found) {
        let Some(standing) = self.queries.get_mut(&query) else {
            return;
        };
        if let Wait::Ready(instant) = standing.wait {
            self.ready.remove(&(instant, query));
        }
        for (stream, until) in &standing.lagging {
            if let Some(stream) = self.streams.get_mut(stream) {
                stream.waiting.remove(&(*until, query));
            }
        }
        for stream in standing.listens.difference(&found.listens) {
            if let Some(stream) = self.streams.get_mut(stream) {
                stream.listening.remove(&query);
            }
        }
        for stream in found.listens.difference(&standing.listens) {
            if let Some(stream) = self.streams.get_mut(stream) {
                stream.listening.insert(query);
            }
        }
        if let Wait::Ready(instant) = found.wait {
            self.ready.insert((instant, query));
        }
        for (stream, until) in &found.lagging {
            if let Some(stream) = self.streams.get_mut(stream) {
                stream.waiting.insert((*until, query));
            }
        }
        if standing.floors != found.floors {
            move_floors(&mut self.streams, query, &standing.floors, &found.floors);
        }
        standing.wait = found.wait;
        standing.lagging = found.lagging;
        standing.from = found.from;
        standing.extra = standing.extra.split_off(&found.from);
        standing.listens = found.listens;
        standing.floors = found.floors;
        if let Some((idle, until)) = found.follow {
            if let Some(stream) = self.streams.get_mut(&idle) {
                stream.follow(until);
            }
            self.offer(idle);
        }
    }
}

/// What a query may still see of its streams begins elsewhere.
fn move_floors(
    streams: &mut BTreeMap<StreamId, Stream>,
    query: QueryId,
    before: &BTreeMap<StreamId, Time>,
    after: &BTreeMap<StreamId, Time>,
) {
    for (id, &floor) in before {
        if let Some(stream) = streams.get_mut(id) {
            stream.floors.remove(&(floor, query));
        }
    }
    for (id, &floor) in after {
        if let Some(stream) = streams.get_mut(id) {
            stream.floors.insert((floor, query));
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
