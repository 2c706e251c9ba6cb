//! `bench streams --beside`: what streams that flow cost those who ask once.
//!
//! One thread asks one query after the other. Beside it the five streams flow in real time, 100 ms of them every 100 ms, or else
//! loops take the same processor time in the same rhythm: one as long as each of those steps took, and one as much as merges
//! and whatever else streams set going took on other threads. Short stretches of either take turns, now one first and now the other,
//! because the store grows. So a ratio is what streams cost beyond the processor that they need: caches, locks, versions of
//! more layers.
//!
//! Before a stretch its lines are made and the upkeep of the last one comes to rest. The rows of each query are
//! counted: beside loops the store stands still, so they are the same; beside streams the store grows, and so no query may
//! have fewer rows than it had. The answers of the light mix do not change.

use super::super::mix;
use super::super::processor::{burn, of_process, of_thread};
use super::made::{LineSource, parsed};
use super::sink::Sink;
use crate::arguments::StreamsBeside;
use crate::exit::{Code, Failure, Outcome};
use crate::say::say;
use crate::verbs::query;
use bench::figure::{Figure, Session};
use bench::mix::{ClassTally, FirstRows, Pace, Run, Tally, work};
use bench::pairs::Ratios;
use bench::stats::Latencies;
use somersault::{Database, Request};
use std::thread::{Builder, Scope, ScopedJoinHandle, scope, sleep};
use std::time::{Duration, Instant};
use workload::lsbench::{Dialect, Lsbench, Question, SLICE_MS, Slice, Span, StartPoint, Stream};
use workload::mix::{Kind, Listed};

/// Stack of a thread that evaluates.
const STACK_BYTES: usize = 4 << 20;
/// Upkeep is at rest when the process takes less than this of a processor in [`REST_LOOK`].
const REST: Duration = Duration::from_micros(250);
/// How long it is looked at for that.
const REST_LOOK: Duration = Duration::from_millis(5);
/// Looks before a stretch begins all the same: two seconds of them.
const REST_LOOKS: u32 = 400;

/// What is measured.
pub(super) struct Beside<'b> {
    /// Who is asked.
    pub(super) database: &'b Database,
    /// What.
    pub(super) asked: StreamsBeside,
    /// Pairs of stretches (count).
    pub(super) pairs: u16,
    /// Steps of [`SLICE_MS`] in a stretch (count).
    pub(super) steps: u64,
    /// Steps before the first pair (count).
    pub(super) steps_before: u64,
}

impl Beside<'_> {
    /// How long the streams flow in all.
    pub(super) fn span_ms(&self) -> u64 {
        (self.steps_before + u64::from(self.pairs) * self.steps) * SLICE_MS
    }

    /// Measures, with the standing queries that were registered.
    pub(super) fn measure(
        &self,
        sink: Sink,
        lsbench: &Lsbench,
        span: Span,
        session: &Session,
    ) -> Result<Vec<Figure>, Failure> {
        let mut asking = Asking::new(self.database, self.asked, lsbench, span)?;
        let mut feeder = Feeder::new(sink, lsbench, span);
        let mut taken = self
            .beside_streams(&mut asking, &mut feeder, self.steps_before, 0)?
            .1;
        taken.steps.truncate(self.steps as usize);
        let mut compared = Compared::new();
        for pair in 0..self.pairs {
            let seed = u64::from(pair);
            let is_loop_first = pair % 2 == 1;
            let mut beside_loops = |taken: &Taken| self.beside_loops(&mut asking, taken, seed);
            let before = if is_loop_first {
                Some(beside_loops(&taken)?)
            } else {
                None
            };
            let streams;
            (streams, taken) = self.beside_streams(&mut asking, &mut feeder, self.steps, seed)?;
            let loops = match before {
                Some(loops) => loops,
                None => self.beside_loops(&mut asking, &taken, seed)?,
            };
            compared.add(&streams, &loops, &taken);
        }
        compared.say(self.steps);
        Ok(compared.figures(session, feeder.lines))
    }

    /// A stretch beside streams, and what they took.
    fn beside_streams(
        &self,
        asking: &mut Asking,
        feeder: &mut Feeder,
        steps: u64,
        seed: u64,
    ) -> Result<(Tally, Taken), Failure> {
        feeder.make(steps);
        rest();
        let all_before = of_process();
        let begun = Instant::now();
        scope(|scope| {
            let pusher = spawned(scope, move || feeder.flow(begun))?;
            let own_before = of_thread();
            let mut layers = Layers::default();
            let look = &mut || layers.look(self.database);
            let tally = asking.ask(self.database, until(begun, steps), seed, false, look)?;
            let own = since(own_before, of_thread());
            let steps = joined(pusher)??;
            let pushed: Duration = steps.iter().sum();
            let beside = since(all_before, of_process()).saturating_sub(own + pushed);
            Ok((
                tally,
                Taken {
                    steps,
                    beside,
                    layers,
                },
            ))
        })
    }

    /// A stretch beside loops that take the same.
    fn beside_loops(
        &self,
        asking: &mut Asking,
        taken: &Taken,
        seed: u64,
    ) -> Result<Tally, Failure> {
        rest();
        let begun = Instant::now();
        scope(|scope| {
            let pusher = spawned(scope, move || {
                for (step, time) in taken.steps.iter().enumerate() {
                    wait_for(begun, step as u64);
                    burn(*time);
                }
            })?;
            let upkeep = spawned(scope, move || {
                let each = taken.beside / taken.steps.len().max(1) as u32;
                for step in 0..taken.steps.len() {
                    wait_for(begun, step as u64);
                    burn(each);
                }
            })?;
            let look = &mut || {};
            let tally = asking.ask(self.database, until(begun, self.steps), seed, true, look)?;
            joined(pusher)?;
            joined(upkeep)?;
            Ok(tally)
        })
    }
}

/// Processor time that streams took in a stretch.
struct Taken {
    /// Of the thread that pushes, step by step.
    steps: Vec<Duration>,
    /// Of all others but the one that asks.
    beside: Duration,
    /// Of the store meanwhile.
    layers: Layers,
}

/// How many layers a store had when it was looked at.
#[derive(Clone, Copy, Debug, Default)]
struct Layers {
    looks: u64,
    layers: u64,
}

impl Layers {
    fn look(&mut self, database: &Database) {
        self.looks += 1;
        let figures = database.change_figures();
        self.layers += figures.map_or(0, |figures| figures.layers);
    }

    fn add(&mut self, other: Layers) {
        self.looks += other.looks;
        self.layers += other.layers;
    }

    /// On average (count).
    fn mean(self) -> f64 {
        self.layers as f64 / self.looks.max(1) as f64
    }
}

fn since(before: Option<Duration>, now: Option<Duration>) -> Duration {
    now.zip(before)
        .map_or(Duration::ZERO, |(now, before)| now.saturating_sub(before))
}

fn until(begun: Instant, steps: u64) -> Instant {
    begun + Duration::from_millis(steps * SLICE_MS)
}

/// A step is due as long after the begin as there are steps before it.
fn wait_for(begun: Instant, step: u64) {
    sleep(until(begun, step).saturating_duration_since(Instant::now()));
}

/// Returns when nobody works any more.
fn rest() {
    for _ in 0..REST_LOOKS {
        let before = of_process();
        sleep(REST_LOOK);
        if since(before, of_process()) < REST {
            return;
        }
    }
}

fn spawned<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, Failure> {
    let thread = Builder::new().stack_size(STACK_BYTES);
    Ok(thread.spawn_scoped(scope, work)?)
}

fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> Result<T, Failure> {
    let broken = |_| Failure::new(Code::Failed, "a thread beside the queries met a bug");
    thread.join().map_err(broken)
}

/// The streams, and what of them was made and not pushed yet.
struct Feeder {
    sink: Sink,
    source: LineSource,
    /// A step after the other.
    made: Vec<Vec<(Stream, Slice)>>,
    end_ms: u64,
    lines: u64,
}

impl Feeder {
    fn new(sink: Sink, lsbench: &Lsbench, span: Span) -> Feeder {
        Feeder {
            sink,
            source: LineSource::new(lsbench, span),
            made: Vec::new(),
            end_ms: 0,
            lines: 0,
        }
    }

    fn make(&mut self, steps: u64) {
        self.made = (0..steps).map_while(|_| self.source.next_lines()).collect();
    }

    /// Parses and pushes what was made, each step when it is due; gives what each took of a processor.
    fn flow(&mut self, begun: Instant) -> Result<Vec<Duration>, Failure> {
        let steps = std::mem::take(&mut self.made).into_iter().enumerate();
        let taken = steps.map(|(step, lines)| {
            wait_for(begun, step as u64);
            let before = of_thread();
            self.end_ms += SLICE_MS;
            for (stream, slice) in lines {
                self.lines += slice.lines;
                self.sink
                    .feed(stream, &parsed(stream, &slice)?, self.end_ms)?;
            }
            self.sink.answers()?;
            Ok(since(before, of_thread()))
        });
        taken.collect()
    }
}

/// Who asks, on the thread that calls.
enum Asking {
    /// Each in its turn.
    Stored(Vec<Once>),
    /// As drawn.
    Light { listed: Listed, first: FirstRows },
}

/// A query that is asked once, again and again.
struct Once {
    name: &'static str,
    text: String,
    /// Of its last answer.
    rows: u64,
}

impl Asking {
    fn new(
        database: &Database,
        asked: StreamsBeside,
        lsbench: &Lsbench,
        span: Span,
    ) -> Result<Asking, Failure> {
        if asked == StreamsBeside::Light {
            let (listed, universities) = mix::listed_in(database, Kind::Light)?;
            if universities == 0 {
                let message = "`--beside light` asks a store of LUBM data: name one with `-l`";
                return Err(Failure::new(Code::Usage, message));
            }
            let first = FirstRows::new(Kind::Light, &listed);
            return Ok(Asking::Light { listed, first });
        }
        let constants = lsbench.constants(span);
        let once = |question: Question| Once {
            name: question.name(),
            text: question.text(
                Dialect::CSparql,
                StartPoint {
                    user: constants.l1_user,
                    person: match question {
                        Question::S2 => constants.l2_person,
                        _ => constants.l3_person,
                    },
                    group: 1,
                },
            ),
            rows: 0,
        };
        Ok(Asking::Stored(Question::ONCE.map(once).into()))
    }

    /// Asks until then. `is_still`: nobody changes the store meanwhile. `look` is called between two rounds of queries that take
    /// turns.
    fn ask(
        &mut self,
        database: &Database,
        until: Instant,
        seed: u64,
        is_still: bool,
        look: &mut dyn FnMut(),
    ) -> Result<Tally, Failure> {
        match self {
            Asking::Light { listed, first } => {
                let run = Run {
                    kind: Kind::Light,
                    seed,
                    pace: Pace::Closed,
                    warm_up: Duration::ZERO,
                    time: until.saturating_duration_since(Instant::now()),
                };
                let ask = |text: &str| folded(database, text);
                work(&run, (0, 1), listed, first, ask).map_err(mix::failure)
            }
            Asking::Stored(all) => {
                let mut classes: Vec<ClassTally> = all.iter().map(tally_of).collect();
                let begun = Instant::now();
                let mut is_first = true;
                while Instant::now() < until {
                    look();
                    for (once, class) in all.iter_mut().zip(&mut classes) {
                        once.ask(database, class, is_still && !is_first)?;
                    }
                    is_first = false;
                }
                Ok(Tally {
                    classes,
                    elapsed: begun.elapsed(),
                    processor: None,
                })
            }
        }
    }
}

fn folded(database: &Database, text: &str) -> Result<u64, somersault::QueryError> {
    let request = Request {
        threads: Some(1),
        ..Request::new(text)
    };
    Ok(database.start(&request)?.run_folded()?.rows)
}

fn tally_of(once: &Once) -> ClassTally {
    ClassTally {
        name: once.name,
        latencies: Latencies::new(),
        rows: 0,
        left: 0,
    }
}

impl Once {
    fn ask(&mut self, database: &Database, class: &mut ClassTally, is_same: bool) -> Outcome {
        let begun = Instant::now();
        let rows = folded(database, &self.text).map_err(query::failure)?;
        class.latencies.record(begun.elapsed());
        class.rows += rows;
        if rows < self.rows || (is_same && rows != self.rows) {
            let store = if is_same { "stood still" } else { "only grew" };
            let message = format!(
                "{} gave {rows} rows after {}, though the store {store}",
                self.name, self.rows
            );
            return Err(Failure::new(Code::Failed, message));
        }
        self.rows = rows;
        Ok(())
    }
}

/// What all pairs say of a class of queries.
struct Class {
    name: &'static str,
    rows: u64,
    streams: Latencies,
    loops: Latencies,
    ratios: Ratios,
}

struct Compared {
    classes: Vec<Class>,
    /// Of the time that an answer took on average, whichever query it was of.
    all: Ratios,
    /// What a step of the streams took of a processor.
    steps: Latencies,
    beside: Duration,
    layers: Layers,
}

impl Compared {
    fn new() -> Compared {
        Compared {
            classes: Vec::new(),
            all: Ratios::new(),
            steps: Latencies::new(),
            beside: Duration::ZERO,
            layers: Layers::default(),
        }
    }

    fn add(&mut self, streams: &Tally, loops: &Tally, taken: &Taken) {
        let each = |tally: &Tally| tally.elapsed.div_f64(tally.answers().max(1) as f64);
        self.all.record(each(streams), each(loops));
        for (one, other) in streams.classes.iter().zip(&loops.classes) {
            let class = self.class(one.name);
            class.rows += one.rows;
            class.streams.merge(&one.latencies);
            class.loops.merge(&other.latencies);
            if let (Some(one), Some(other)) = (one.latencies.median(), other.latencies.median()) {
                class.ratios.record(one, other);
            }
        }
        for step in &taken.steps {
            self.steps.record(*step);
        }
        self.beside += taken.beside;
        self.layers.add(taken.layers);
    }

    fn class(&mut self, name: &'static str) -> &mut Class {
        let place = self.classes.iter().position(|class| class.name == name);
        let place = place.unwrap_or(self.classes.len());
        if place == self.classes.len() {
            self.classes.push(Class {
                name,
                rows: 0,
                streams: Latencies::new(),
                loops: Latencies::new(),
                ratios: Ratios::new(),
            });
        }
        &mut self.classes[place]
    }

    fn say(&self, steps: u64) {
        let stretches = self.all.pairs().max(1);
        let second = (stretches * steps * SLICE_MS) as f64 / 1e3;
        let pushed: f64 = self
            .steps
            .median()
            .map_or(0.0, |step| step.as_secs_f64() * 1e3 / SLICE_MS as f64);
        say!(
            "somersault: pushing takes {:.0} % of a processor (a step's median), upkeep beside it {:.0} %",
            pushed * 100.0,
            self.beside.as_secs_f64() / second * 100.0
        );
        if self.layers.looks > 0 {
            let layers = self.layers.mean();
            say!("somersault: beside streams the store has {layers:.2} layers on average");
        }
    }

    fn figures(&self, session: &Session, lines: u64) -> Vec<Figure> {
        let mut figures = Vec::new();
        for class in &self.classes {
            let named = |what: &str| format!("{}{what}", class.name);
            let latency =
                |what, latencies| Figure::latency(session, &named(what), class.rows, latencies);
            figures.push(latency("", &class.streams));
            figures.push(latency(" beside loops", &class.loops));
            figures.push(Figure::ratio(session, &named(" ratio"), &class.ratios));
        }
        figures.push(Figure::ratio(session, "all ratio", &self.all));
        figures.push(Figure::latency(
            session,
            "step, processor",
            lines,
            &self.steps,
        ));
        figures
    }
}
