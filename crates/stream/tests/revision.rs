//! Revisions: with `revise` the last evaluation of each instant has what came late, as if it had been in time; without it
//! no evaluation has, and none is made twice.

use std::collections::BTreeMap;

use query::standing::{Bounds, Report};
use stream::{
    Definition, Evaluation, Items, QueryId, Schedule, ScheduleError, ScheduledWindow, SourceId,
    StreamError, StreamId, Streams, Time,
};
use testkit::random::Random;
use testkit::seeds;

use crate::common::{
    CLOSE, NONEMPTY, arrivals_of, drain, grained, quad, quads_of, range, schedule,
};
use crate::naive::{self, Whole};

const SOURCE: SourceId = SourceId(0);
/// Instants are compared up to this one (milliseconds).
const UNTIL: u64 = 400;
const REVISED: QueryId = QueryId(1);
const PLAIN: QueryId = QueryId(2);

struct Run {
    streams: Streams,
    ids: Vec<StreamId>,
    /// All items of each stream, and those of them that came in time.
    all: BTreeMap<StreamId, Whole>,
    in_time: BTreeMap<StreamId, Whole>,
    schedule: Schedule,
    got: Vec<Evaluation>,
}

fn windows(random: &mut Random, ids: &[StreamId]) -> Vec<ScheduledWindow> {
    let bounds = *random.pick(&[Bounds::LeftClosed, Bounds::RightClosed]);
    let partial_first = random.chance(50);
    let count = random.between(1, 2);
    let window = |_| {
        let step = *random.pick(&[10, 20, 25, 50]);
        let length = step * random.between(1, 4) as u64;
        ScheduledWindow {
            partial_first,
            ..range(*random.pick(ids), length, step, bounds)
        }
    };
    (0..count).map(window).collect()
}

fn started(random: &mut Random) -> Run {
    let mut streams = Streams::new();
    let grain_ms = *random.pick(&[5, 10, 25]);
    let mut ids = Vec::new();
    for number in 0..random.between(1, 2) {
        let definition: Definition = grained(&format!("s{number}"), grain_ms);
        ids.push(streams.create(definition, Time(0)).unwrap());
    }
    let report: Report = *random.pick(&[CLOSE, NONEMPTY]);
    let mut plain = schedule(&windows(random, &ids), report);
    plain.asks_arrivals = random.chance(50);
    let revised = Schedule {
        revise_ms: Some(10_000),
        ..plain.clone()
    };
    streams.register(REVISED, revised, Time(0)).unwrap();
    streams.register(PLAIN, plain.clone(), Time(0)).unwrap();
    let whole = || Whole {
        grain_ms: grain_ms as i64,
        begin: 0,
        items: Vec::new(),
    };
    Run {
        all: ids.iter().map(|id| (*id, whole())).collect(),
        in_time: ids.iter().map(|id| (*id, whole())).collect(),
        streams,
        ids,
        schedule: plain,
        got: Vec::new(),
    }
}

impl Run {
    fn push(&mut self, random: &mut Random) {
        let id = *random.pick(&self.ids);
        let mut clock = random.below(UNTIL as usize) as u64;
        let mut items = Items::new();
        for _ in 0..random.between(1, 3) {
            clock = clock.saturating_sub(random.below(60) as u64);
            let item = quad(random.below(3) as u64, 0, random.below(3) as u64);
            items.add(Time(clock), &[item]);
        }
        let accepted = self.streams.push(id, SOURCE, &items).unwrap();
        let mut late: Vec<_> = accepted.late.iter().collect();
        for item in items.iter() {
            let kept = (item.0.0 as i64, item.1.to_vec());
            self.all.get_mut(&id).unwrap().items.push(kept.clone());
            match late.iter().position(|other| *other == item) {
                Some(place) => drop(late.remove(place)),
                None => self.in_time.get_mut(&id).unwrap().items.push(kept),
            }
        }
        self.got.extend(drain(&mut self.streams));
    }

    fn finish(&mut self) {
        for id in self.ids.clone() {
            self.streams
                .watermark(id, SOURCE, Time(UNTIL + 300))
                .unwrap();
        }
        self.got.extend(drain(&mut self.streams));
        for whole in self.all.values_mut().chain(self.in_time.values_mut()) {
            whole.items.sort_by_key(|item| item.0);
        }
    }

    /// The windows of each evaluation as they should be.
    fn wanted(&self, of: &BTreeMap<StreamId, Whole>) -> BTreeMap<u64, Vec<naive::Arrivals>> {
        let wholes: Vec<&Whole> = self
            .schedule
            .windows
            .iter()
            .map(|it| &of[&it.stream])
            .collect();
        let expected = naive::evaluations(&self.schedule, &wholes, 0, UNTIL as i64);
        let wanted = expected
            .into_iter()
            .map(|it| (it.close as u64, it.arrivals));
        wanted.collect()
    }

    /// The last evaluation of each instant of a query, and how many were revisions.
    fn last(&self, query: QueryId) -> (BTreeMap<u64, Vec<naive::Arrivals>>, usize) {
        let mut last = BTreeMap::new();
        let mut revisions = 0;
        for got in self
            .got
            .iter()
            .filter(|it| it.query == query && it.close.0 <= UNTIL)
        {
            let windows = got.windows.iter().map(|content| {
                if self.schedule.asks_arrivals {
                    return arrivals_of(content);
                }
                quads_of(content)
                    .into_iter()
                    .map(|quad| (quad, (0, 0)))
                    .collect()
            });
            let before = last.insert(got.close.0, windows.collect());
            assert!(got.is_revision || before.is_none(), "an instant comes once");
            revisions += usize::from(got.is_revision);
        }
        (last, revisions)
    }

    fn check(&self, query: QueryId, of: &BTreeMap<StreamId, Whole>, what: &str) -> usize {
        let (last, revisions) = self.last(query);
        let mut wanted = self.wanted(of);
        if !self.schedule.asks_arrivals {
            let times = wanted.values_mut().flatten().flat_map(BTreeMap::values_mut);
            times.for_each(|arrival| *arrival = (0, 0));
        }
        assert_eq!(last, wanted, "{what}, {query:?}: {:?}", self.schedule);
        revisions
    }
}

#[test]
fn what_comes_late_is_seen_by_those_who_ask_as_if_it_were_in_time() {
    let mut revised = 0;
    for seed in seeds::chosen(600, 100_000) {
        let mut random = Random::new(seed);
        let mut run = started(&mut random);
        for _ in 0..random.between(1, 25) {
            run.push(&mut random);
        }
        run.finish();
        let what = format!("seed {seed}");
        revised += run.check(REVISED, &run.all, &what);
        let plain = run.check(PLAIN, &run.in_time, &what);
        assert_eq!(
            plain, 0,
            "{what}: nothing is revised that did not ask for it"
        );
    }
    assert!(revised > 0, "nothing was revised");
}

/// An item that is later than a query allows revises nothing, and what was dropped stays dropped.
#[test]
fn revisions_end_with_what_a_query_allows() {
    let mut streams = Streams::new();
    let id = streams.create(grained("s", 10), Time(0)).unwrap();
    let revised = Schedule {
        revise_ms: Some(50),
        ..schedule(&[range(id, 10, 10, Bounds::LeftClosed)], NONEMPTY)
    };
    streams.register(REVISED, revised, Time(0)).unwrap();
    let mut push = |time: u64| {
        let items = Items::singles([(Time(time), quad(time, 0, 0))]);
        let accepted = streams.push(id, SOURCE, &items).unwrap();
        let again = drain(&mut streams);
        let closes = again.iter().map(|it| (it.close.0, it.is_revision));
        (accepted.late.len(), closes.collect::<Vec<_>>())
    };
    assert_eq!(push(105), (0, vec![]));
    assert_eq!(push(120), (0, vec![(110, false)]));
    assert_eq!(push(104), (1, vec![(110, true)]));
    assert_eq!(
        push(75),
        (1, vec![(80, true)]),
        "a close that was empty before"
    );
    assert_eq!(push(69), (1, vec![]), "more than 50 ms before 120 ms");
}

#[test]
fn only_windows_of_time_are_revised() {
    let mut streams = Streams::new();
    let id = streams.create(Definition::new("s"), Time(0)).unwrap();
    let mut window = range(id, 10, 10, Bounds::LeftClosed);
    window.extent = query::standing::Extent::Count { items: 3, step: 1 };
    let counting = Schedule {
        revise_ms: Some(50),
        ..schedule(&[window], CLOSE)
    };
    let refused = streams.register(REVISED, counting, Time(0));
    assert_eq!(
        refused,
        Err(StreamError::Schedule(ScheduleError::ReviseWindow(0)))
    );
}
