//! Seeded simulations: streams, sources, parts and queries at random, in virtual time, against the naive filter.
//!
//! Each seed is a run of some dozen messages: items out of order within the lateness and sometimes beyond, watermarks,
//! silences, seals that parts confirm late, queries that come and go. Held after it, of every query and every window:
//! the closes are those of the letter, none left out and none doubled (C-2); each window has exactly the items of its
//! span (C-1); each evaluation came in the first step in which its windows were covered (C-2); what is visible never
//! shrank (C-3); where it is asked for, slices say when and how often each quad came; and the same messages give the same
//! effects.

use std::collections::BTreeMap;

use query::standing::{Bounds, Extent, Origin, Report, When};
use store::delta::IdQuad;
use stream::{
    Definition, Effect, Evaluation, Items, PartId, QueryId, Schedule, ScheduledWindow, SealPoint,
    SourceId, StreamId, Streams, Time,
};
use testkit::random::Random;
use testkit::seeds;

use crate::common::{HERE, arrivals_of, grained, quad, quads_of};
use crate::naive::{self, Whole};

/// Evaluations are compared up to this close (milliseconds).
const UNTIL: i64 = 400;
/// How many messages a run has.
const STEPS: usize = 60;

struct Source {
    stream: StreamId,
    clock: u64,
    lateness_ms: u64,
    silent_until: usize,
}

struct Query {
    schedule: Schedule,
    at: u64,
    registered: usize,
    removed: usize,
    got: Vec<(usize, Evaluation)>,
}

/// A run and all that is known of it afterwards.
struct Run {
    random: Random,
    streams: Streams,
    parts: u16,
    /// Whether everything is retained, so that queries may come late.
    retains: bool,
    wholes: BTreeMap<StreamId, Whole>,
    sources: Vec<Source>,
    queries: BTreeMap<QueryId, Query>,
    /// Seals that each part has not confirmed.
    unconfirmed: Vec<Vec<(StreamId, SealPoint)>>,
    /// Up to when each stream was covered after each step.
    covered: Vec<BTreeMap<StreamId, i64>>,
    now: u64,
    /// Chooses where the run is stopped and goes on from an image; `None`: nowhere.
    stops: Option<Random>,
}

impl Run {
    fn new(seed: u64) -> Run {
        let mut random = Random::new(seed);
        let parts = *random.pick(&[1, 1, 1, 2, 3]);
        Run {
            streams: Streams::of_parts(parts, HERE),
            parts,
            retains: random.chance(50),
            wholes: BTreeMap::new(),
            sources: Vec::new(),
            queries: BTreeMap::new(),
            unconfirmed: vec![Vec::new(); usize::from(parts)],
            covered: Vec::new(),
            now: 0,
            stops: None,
            random,
        }
    }

    /// Puts what is made of the streams' images in their place, where all of them lie here.
    fn restart(&mut self) {
        if self.parts > 1 {
            return;
        }
        let mut next = Streams::new();
        next.tick(Time(self.now));
        for stream in self.wholes.keys() {
            let definition = self.streams.definition(*stream).unwrap().clone();
            let image = self.streams.image(*stream).unwrap();
            assert_eq!(next.resume_stream(definition, &image), Ok(*stream));
        }
        for (id, query) in &self.queries {
            if query.removed == usize::MAX {
                let progress = self.streams.progress(*id).unwrap();
                next.register(*id, query.schedule.clone(), progress)
                    .unwrap();
                let (first, extra) = self.streams.history(*id).unwrap();
                next.remember(*id, first, &extra);
            }
        }
        next.resumed();
        // What was handed out and not confirmed is handed out again.
        self.unconfirmed[0].clear();
        self.streams = next;
    }

    fn create(&mut self, number: usize) {
        let random = &mut self.random;
        let definition = Definition {
            lateness_ms: *random.pick(&[0, 0, 5, 20]),
            idle_ms: *random.pick(&[None, None, Some(30)]),
            retain_ms: if self.retains { 1 << 40 } else { 0 },
            ..grained(&format!("s{number}"), *random.pick(&[1, 3, 7, 10, 25, 100]))
        };
        let begin = *random.pick(&[0, 0, random.clone().below(40) as u64]);
        let (grain_ms, lateness_ms) = (definition.grain_ms, definition.lateness_ms);
        let stream = self.streams.create(definition, Time(begin)).unwrap();
        let whole = Whole {
            grain_ms: grain_ms as i64,
            begin: begin as i64,
            items: Vec::new(),
        };
        self.wholes.insert(stream, whole);
        for _ in 0..random.between(1, 3) {
            self.sources.push(Source {
                stream,
                clock: begin,
                lateness_ms,
                silent_until: if random.chance(20) {
                    random.below(STEPS)
                } else {
                    0
                },
            });
        }
    }

    fn register(&mut self, step: usize) {
        let query = QueryId(self.queries.len() as u64);
        let streams: Vec<StreamId> = self.wholes.keys().copied().collect();
        let schedule = random_schedule(&mut self.random, &streams);
        let at = self.random.below(80) as u64;
        self.streams
            .register(query, schedule.clone(), Time(at))
            .unwrap();
        let query_run = Query {
            schedule,
            at,
            registered: step,
            removed: usize::MAX,
            got: Vec::new(),
        };
        self.queries.insert(query, query_run);
    }

    fn step(&mut self, step: usize) {
        self.now += self.random.below(12) as u64;
        self.streams.tick(Time(self.now));
        if self.retains && self.random.chance(5) {
            self.create(self.wholes.len());
        }
        if self.retains && self.random.chance(10) && self.queries.len() < 6 {
            self.register(step);
        }
        let place = self.random.below(self.sources.len());
        if self.sources[place].silent_until <= step {
            self.speak(place);
        }
        self.drain(step);
        self.confirm(60);
        self.drain(step);
        self.look();
        self.remove_one(step);
        if self.stops.as_mut().is_some_and(|stops| stops.chance(15)) {
            self.restart();
        }
    }

    fn speak(&mut self, place: usize) {
        let (random, source) = (&mut self.random, &mut self.sources[place]);
        source.clock += random.below(25) as u64;
        let (id, stream) = (SourceId(place as u64), source.stream);
        if random.chance(20) {
            self.streams
                .watermark(stream, id, Time(source.clock))
                .unwrap();
            return;
        }
        let mut items = Items::new();
        for _ in 0..random.below(5) {
            let lateness_ms = if random.chance(4) {
                60
            } else {
                source.lateness_ms
            };
            let time = source
                .clock
                .saturating_sub(random.below(lateness_ms as usize + 1) as u64);
            let quads: Vec<IdQuad> = (0..random.between(0, 2))
                .map(|_| random_quad(random))
                .collect();
            items.add(Time(time), &quads);
        }
        let accepted = self.streams.push(stream, id, &items).unwrap();
        let mut late: Vec<_> = accepted.late.iter().collect();
        assert_eq!(accepted.taken + late.len(), items.len());
        let whole = self.wholes.get_mut(&stream).unwrap();
        for item in items.iter() {
            if let Some(place) = late.iter().position(|other| *other == item) {
                late.remove(place);
                continue;
            }
            whole.items.push((item.0.0 as i64, item.1.to_vec()));
        }
        assert!(late.is_empty(), "what is late was pushed");
    }

    fn drain(&mut self, step: usize) {
        while let Some(effect) = self.streams.poll() {
            match effect {
                Effect::Ready(evaluation) => {
                    if evaluation.close.0 as i64 > UNTIL + 500 {
                        break;
                    }
                    let query = self.queries.get_mut(&evaluation.query).unwrap();
                    query.got.push((step, evaluation));
                }
                Effect::Late(late) => panic!("nobody revises: {late:?}"),
                Effect::Sealed(seal) => {
                    for part in &mut self.unconfirmed {
                        part.push((seal.stream, seal.until));
                    }
                }
            }
        }
    }

    /// Parts confirm some of their seals, in order.
    fn confirm(&mut self, percent: usize) {
        for part in 0..self.parts {
            let seals = &mut self.unconfirmed[usize::from(part)];
            let count = if self.random.chance(percent) {
                seals.len()
            } else {
                self.random.below(seals.len() + 1)
            };
            for (stream, until) in seals.drain(..count) {
                self.streams.sealed(PartId(part), stream, until).unwrap();
            }
        }
    }

    fn look(&mut self) {
        let covered = |stream: &StreamId| self.streams.status(*stream).unwrap().covered.0 as i64;
        let now: BTreeMap<_, _> = self
            .wholes
            .keys()
            .map(|stream| (*stream, covered(stream)))
            .collect();
        for (stream, before) in self.covered.last().into_iter().flatten() {
            assert!(now[stream] >= *before, "what was visible is visible");
        }
        self.covered.push(now);
    }

    fn remove_one(&mut self, step: usize) {
        if !self.random.chance(2) {
            return;
        }
        let ids: Vec<QueryId> = self.queries.keys().copied().collect();
        let query = *self.random.pick(&ids);
        if self.queries[&query].removed == usize::MAX {
            self.streams.unregister(query).unwrap();
            self.queries.get_mut(&query).unwrap().removed = step;
        }
    }

    /// All sources say that nothing more comes that is compared, and all parts confirm.
    fn finish(&mut self) {
        for (place, source) in self.sources.iter().enumerate() {
            let promised = Time(UNTIL as u64 + 200);
            self.streams
                .watermark(source.stream, SourceId(place as u64), promised)
                .unwrap();
        }
        loop {
            self.drain(STEPS);
            if self.unconfirmed.iter().all(Vec::is_empty) {
                break;
            }
            self.confirm(100);
        }
        self.look();
    }

    /// Compares all evaluations with the letter; how many windows of how many evaluations.
    fn check(&mut self, seed: u64) -> (usize, usize) {
        for whole in self.wholes.values_mut() {
            whole.items.sort_by_key(|item| item.0);
        }
        let mut counts = (0, 0);
        for (id, query) in &self.queries {
            let windows = query.schedule.windows.iter();
            let wholes: Vec<&Whole> = windows.map(|window| &self.wholes[&window.stream]).collect();
            let expected = naive::evaluations(&query.schedule, &wholes, query.at as i64, UNTIL);
            let due = expected.into_iter().filter_map(|expected| {
                let step = self.due(query, &expected.needs)?;
                Some((step, expected))
            });
            let due: Vec<_> = due.collect();
            let got = query
                .got
                .iter()
                .filter(|(_, got)| got.close.0 as i64 <= UNTIL);
            let got: Vec<_> = got.collect();
            let closes = |evaluation: &(usize, i64)| *evaluation;
            let due_closes: Vec<_> = due
                .iter()
                .map(|(step, due)| closes(&(*step, due.close)))
                .collect();
            let got_closes: Vec<_> = got
                .iter()
                .map(|(step, got)| closes(&(*step, got.close.0 as i64)))
                .collect();
            assert_eq!(
                got_closes, due_closes,
                "seed {seed}, {id:?}: {:?}",
                query.schedule
            );
            for ((_, got), (_, due)) in got.iter().zip(&due) {
                for (content, (quads, items)) in got.windows.iter().zip(&due.windows) {
                    let what =
                        format!("seed {seed}, {id:?} at {}: {:?}", due.close, query.schedule);
                    assert_eq!(content.incomplete_before, None, "{what}");
                    assert_eq!(content.items, *items, "{what}");
                    assert_eq!(quads_of(content), *quads, "{what}");
                    assert!(content.slices.iter().all(|slice| !slice.is_empty()));
                }
                if query.schedule.asks_arrivals {
                    let found: Vec<_> = got.windows.iter().map(arrivals_of).collect();
                    let what = format!("seed {seed}, {id:?} at {}", due.close);
                    assert_eq!(found, due.arrivals, "{what}");
                }
            }
            counts.0 += query.schedule.windows.len();
            counts.1 += due.len();
        }
        counts
    }

    /// The first step in which a query was there and its windows were covered, if it was not removed before.
    fn due(&self, query: &Query, needs: &[i64]) -> Option<usize> {
        let is_covered = |step: &usize| {
            let mut windows = query.schedule.windows.iter().zip(needs);
            windows.all(|(window, need)| {
                let covered = self.covered[*step].get(&window.stream);
                covered.is_some_and(|covered| covered >= need)
            })
        };
        let mut steps = query.registered..self.covered.len();
        let step = steps.find(is_covered)?;
        (step <= query.removed).then_some(step)
    }
}

fn random_quad(random: &mut Random) -> IdQuad {
    let (subject, predicate, object) = (random.below(3), random.below(2), random.below(3));
    quad(subject as u64, predicate as u64, object as u64)
}

fn random_window(random: &mut Random, streams: &[StreamId]) -> ScheduledWindow {
    let number = |random: &mut Random, most: usize| random.between(1, most) as u64;
    let step_ms = *random.pick(&[5, 10, 20, 50, 100, random.clone().between(1, 60) as u64]);
    let extent = match random.below(11) {
        0..6 => Extent::Time {
            range_ms: *random.pick(&[10, 50, 100, number(&mut random.clone(), 150)]),
            step_ms,
            origin: match random.below(4) {
                0 => Origin::FirstItem,
                1 => Origin::Epoch {
                    offset_ms: random.below(step_ms as usize) as u64,
                },
                _ => Origin::Epoch { offset_ms: 0 },
            },
        },
        6 => Extent::Count {
            items: number(random, 6),
            step: number(random, 4),
        },
        7 => {
            let to_ms = random.below(40) as u64;
            Extent::Past {
                from_ms: to_ms + number(random, 60),
                to_ms,
                step_ms,
                origin: Origin::Epoch {
                    offset_ms: random.below(step_ms as usize) as u64,
                },
            }
        }
        8 => Extent::Now,
        9 => Extent::Sliding {
            range_ms: number(random, 60),
        },
        _ => Extent::All,
    };
    ScheduledWindow {
        stream: *random.pick(streams),
        extent,
        bounds: *random.pick(&[Bounds::LeftClosed, Bounds::RightClosed]),
        partial_first: random.chance(50),
    }
}

fn random_schedule(random: &mut Random, streams: &[StreamId]) -> Schedule {
    let windows = (0..random.between(1, 3))
        .map(|_| random_window(random, streams))
        .collect();
    let when = match random.below(10) {
        0 | 1 => When::Change,
        2 => When::Periodic {
            period_ms: random.between(1, 50) as u64,
        },
        _ => When::Close,
    };
    Schedule {
        windows,
        report: Report {
            when,
            nonempty: random.chance(50),
            rows: false,
        },
        every_ms: *random.pick(&[None, None, None, Some(15)]),
        asks_arrivals: random.chance(30),
        revise_ms: None,
        lateness_ms: *random.pick(&[0, 0, 0, 10]),
        sees_stored: random.chance(50),
    }
}

fn run(seed: u64) -> Run {
    run_stopped(seed, None)
}

fn run_stopped(seed: u64, stops: Option<Random>) -> Run {
    let mut run = Run::new(seed);
    run.stops = stops;
    for number in 0..run.random.between(1, 3) {
        run.create(number);
    }
    for _ in 0..run.random.between(2, 4) {
        run.register(0);
    }
    for step in 0..STEPS {
        run.step(step);
    }
    run.finish();
    run
}

#[test]
fn evaluations_are_those_of_the_letter_and_come_at_once() {
    let seeds = seeds::chosen(2_000, 100_000);
    let is_sample = seeds.end - seeds.start > 1;
    let mut counts = (0, 0);
    for seed in seeds {
        let (windows, evaluations) = run(seed).check(seed);
        counts = (counts.0 + windows, counts.1 + evaluations);
    }
    println!("{} windows, {} evaluations", counts.0, counts.1);
    assert!(!is_sample || counts.0 >= 10_000, "windows: {}", counts.0);
    assert!(
        !is_sample || counts.1 >= 50_000,
        "evaluations: {}",
        counts.1
    );
}

/// Streams that are made of their images go on as if nothing had happened.
#[test]
fn a_restart_changes_nothing() {
    for seed in seeds::chosen(500, 100_000) {
        run_stopped(seed, Some(Random::new(seed + 1))).check(seed);
    }
}

#[test]
fn the_same_messages_give_the_same_effects() {
    let digest = |seed| {
        let run = run(seed);
        let queries = run.queries.into_values();
        let got = queries.flat_map(|query| query.got);
        let got = got.map(|(step, got)| {
            let slices = got
                .windows
                .iter()
                .map(|content| (content.slices.len(), quads_of(content)));
            (step, got.query, got.close, slices.collect::<Vec<_>>())
        });
        got.collect::<Vec<_>>()
    };
    for seed in 0..50 {
        assert_eq!(digest(seed), digest(seed), "seed {seed}");
    }
}
