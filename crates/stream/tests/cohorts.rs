//! Queries of one schedule are one entry of the machine. Each of them sees what it would see if it were alone.

use query::standing::{Bounds, Extent};
use stream::{
    Content, Definition, Effect, Items, QueryId, Schedule, ScheduledWindow, SourceId, StreamId,
    Streams, Time,
};
use testkit::random::Random;
use testkit::seeds::chosen;

use crate::common::schedule;
use crate::common::{CLOSE, HERE, NONEMPTY, at, closes, drain, grained, quad, quads_of, range};

const STREAMS: usize = 2;
const SCHEDULES: usize = 4;

/// A machine of two streams that keep all.
fn machine() -> Streams {
    let mut streams = Streams::new();
    for number in 0..STREAMS {
        let definition = Definition {
            retain_ms: u64::MAX,
            ..grained(&format!("s{number}"), 100)
        };
        streams.create(definition, Time(0)).unwrap();
    }
    streams
}

/// One of a few schedules, so that queries meet.
fn one_of_few(number: usize) -> Schedule {
    let [first, second] = [StreamId(0), StreamId(1)];
    let window = |stream, range_ms| range(stream, range_ms, 100, Bounds::LeftClosed);
    let of_items = ScheduledWindow {
        extent: Extent::Count { items: 3, step: 2 },
        ..window(first, 100)
    };
    match number {
        0 => schedule(&[window(first, 300)], CLOSE),
        1 => schedule(&[window(first, 200), window(second, 500)], CLOSE),
        2 => schedule(&[window(second, 200)], NONEMPTY),
        _ => schedule(&[of_items], CLOSE),
    }
}

/// A query, and a machine that has no other.
struct Alone {
    id: QueryId,
    streams: Streams,
}

struct Run {
    random: Random,
    all: Streams,
    queries: Vec<Alone>,
    /// A machine that has seen everything and has no query: new ones begin as copies of it.
    blank: Streams,
    made: u64,
    now: u64,
    evaluations: usize,
    /// Evaluations of the close that the one before was of, too.
    shared: usize,
    close: Option<Time>,
}

fn same(one: &[Content], other: &[Content]) -> bool {
    let same = |(one, other): (&Content, &Content)| {
        (one.stream, one.items, one.incomplete_before)
            == (other.stream, other.items, other.incomplete_before)
            && quads_of(one) == quads_of(other)
    };
    one.len() == other.len() && one.iter().zip(other).all(same)
}

impl Run {
    fn new(seed: u64) -> Run {
        Run {
            random: Random::new(seed),
            all: machine(),
            queries: Vec::new(),
            blank: machine(),
            made: 0,
            now: 0,
            evaluations: 0,
            shared: 0,
            close: None,
        }
    }

    fn machines(&mut self) -> impl Iterator<Item = &mut Streams> {
        let alone = self.queries.iter_mut().map(|alone| &mut alone.streams);
        alone.chain([&mut self.all, &mut self.blank])
    }

    fn some_time_ago(&mut self, most_ms: usize) -> Time {
        Time(self.now.saturating_sub(self.random.below(most_ms) as u64))
    }

    fn step(&mut self) {
        match self.random.below(10) {
            0 | 1 => self.register(),
            2..=4 => self.push(),
            5 => self.change_one(),
            _ => {
                for _ in 0..self.random.below(12) {
                    self.effect();
                }
            }
        }
    }

    fn register(&mut self) {
        if self.queries.len() >= 12 {
            return;
        }
        let id = QueryId(self.made);
        self.made += 1;
        let schedule = one_of_few(self.random.below(SCHEDULES));
        let from = self.some_time_ago(400);
        self.all.register(id, schedule.clone(), from).unwrap();
        let mut streams = self.blank.clone();
        streams.register(id, schedule, from).unwrap();
        self.queries.push(Alone { id, streams });
    }

    fn push(&mut self) {
        self.now += self.random.below(250) as u64;
        let (stream, now) = (self.random.below(STREAMS), self.now);
        let items: Vec<_> = (0..self.random.below(3) as u64)
            .map(|item| (Time(now), quad(now, 0, item)))
            .collect();
        let items = Items::singles(items);
        for streams in self.machines() {
            streams
                .push(StreamId(stream as u32), SourceId(0), &items)
                .unwrap();
            for number in 0..STREAMS {
                let stream = StreamId(number as u32);
                streams.watermark(stream, SourceId(0), Time(now)).unwrap();
            }
        }
    }

    /// Pauses a query, goes on with it, or drops it: also between the turns of its cohort.
    fn change_one(&mut self) {
        if self.queries.is_empty() {
            return;
        }
        let place = self.random.below(self.queries.len());
        let at = self.some_time_ago(300);
        let what = self.random.below(5);
        let Alone { id, streams } = &mut self.queries[place];
        for machine in [&mut self.all, streams] {
            match what {
                0 => machine.unregister(*id).unwrap(),
                1 | 2 => machine.pause(*id).unwrap(),
                _ => machine.resume(*id, at).unwrap(),
            }
        }
        // Others may still have to take turns.
        let progress = |machine: &Streams| machine.progress(*id).ok();
        assert!(progress(&self.all) <= progress(streams));
        if what == 0 {
            self.queries.swap_remove(place);
        }
    }

    /// The next effect of the machine of all is the next one of whom it concerns, if there is one.
    fn effect(&mut self) -> bool {
        match self.all.poll() {
            None => {
                for streams in self.machines() {
                    let due = streams.poll();
                    assert!(due.is_none(), "{due:?} is due");
                }
                return false;
            }
            Some(Effect::Ready(ready)) => {
                let mut queries = self.queries.iter_mut();
                let alone = queries.find(|alone| alone.id == ready.query).unwrap();
                let Some(Effect::Ready(own)) = alone.streams.poll() else {
                    panic!("{ready:?} is not due");
                };
                assert_eq!((own.query, own.close), (ready.query, ready.close));
                assert!(same(&own.windows, &ready.windows), "{own:?} {ready:?}");
                self.evaluations += 1;
                self.shared += usize::from(self.close == Some(ready.close));
                self.close = Some(ready.close);
            }
            Some(Effect::Sealed(seal)) => {
                for alone in &mut self.queries {
                    // One that was paused between turns has not stepped over what is empty.
                    let progress = alone.streams.progress(alone.id);
                    assert!(self.all.progress(alone.id).unwrap() <= progress.unwrap());
                    let own = alone.streams.poll();
                    let Some(Effect::Sealed(own)) = own else {
                        panic!("{own:?} is due where all are at {seal:?}");
                    };
                    assert_eq!(own, seal);
                }
                assert!(matches!(self.blank.poll(), Some(Effect::Sealed(own)) if own == seal));
                for streams in self.machines() {
                    streams.sealed(HERE, seal.stream, seal.until).unwrap();
                }
            }
            Some(Effect::Late(late)) => panic!("nothing revises: {late:?}"),
        }
        true
    }
}

#[test]
fn each_query_sees_what_it_would_see_alone() {
    let (mut evaluations, mut shared) = (0, 0);
    for seed in chosen(300, 20_000) {
        let mut run = Run::new(seed);
        for _ in 0..120 {
            run.step();
        }
        while run.effect() {}
        evaluations += run.evaluations;
        shared += run.shared;
    }
    assert!(shared * 3 > evaluations, "{shared} of {evaluations}");
}

/// Whoever is paused between the turns of a close has not had its own, and comes to it when it goes on.
#[test]
fn a_query_that_is_paused_before_its_turn_has_it_later() {
    let mut streams = machine();
    for query in 0..3 {
        streams
            .register(QueryId(query), one_of_few(0), Time(0))
            .unwrap();
    }
    streams
        .push(StreamId(0), SourceId(0), &at(&[50, 450]))
        .unwrap();
    let first = loop {
        match streams.poll().unwrap() {
            Effect::Sealed(seal) => streams.sealed(HERE, seal.stream, seal.until).unwrap(),
            Effect::Ready(ready) => break ready,
            Effect::Late(late) => panic!("{late:?}"),
        }
    };
    assert_eq!((first.query, first.close), (QueryId(0), Time(300)));
    streams.pause(QueryId(0)).unwrap();
    streams.pause(QueryId(1)).unwrap();
    assert_eq!(streams.progress(QueryId(0)), Ok(Time(301)));
    assert_eq!(streams.progress(QueryId(1)), Ok(Time(0)));
    let others = drain(&mut streams);
    assert_eq!(closes(&others), [300, 400]);
    assert!(others.iter().all(|ready| ready.query == QueryId(2)));
    for query in 0..2 {
        streams.resume(QueryId(query), Time(0)).unwrap();
    }
    let later = drain(&mut streams);
    let later: Vec<(u64, u64)> = later.iter().map(|it| (it.close.0, it.query.0)).collect();
    assert_eq!(later, [(300, 1), (400, 0), (400, 1)]);
}
