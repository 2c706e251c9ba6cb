//! A mix of queries, asked by several at once: how long each kind takes, how many a second.
//!
//! Invariant: a time is only reported for an answer that was checked. The same text must have as
//! many rows whenever it is asked, by whomever ([`FirstRows`]); an error or another number ends
//! the run. What is measured comes in as a closure (a worker that blocks) or is an endpoint
//! ([`crate::flight`]: many connections on one thread).
//!
//! * *Closed loop*: the next query is asked when the answer to the last has come. Measures what an
//!   engine can do.
//! * *Open loop*: queries arrive when they arrive ([`crate::arrivals`]) and their time counts from
//!   then, so it holds what they waited for others. Those still waiting at the end count with the
//!   time that they have waited.
//!
//! Cost a query, beside asking: a text copied, two looks at the clock, a histogram, a row count
//! looked up: some 0.2 us.

use crate::arrivals::Arrivals;
use crate::figure::{Figure, Session};
use crate::stats::Latencies;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use workload::mix::{Drawn, Instances, Kind, Mix, Template};

/// How near an arrival must be for its worker to look at the clock rather than to sleep.
const SPIN: Duration = Duration::from_micros(200);

/// When the next query is asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// When the last was answered.
    Closed,
    /// When it arrives: so many a second, of all workers together.
    Open {
        /// How many, above 0.
        per_second: f64,
    },
}

/// A run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// What is asked.
    pub kind: Kind,
    /// What is drawn depends on this and the number of workers alone.
    pub seed: u64,
    /// When.
    pub pace: Pace,
    /// Asked before anything counts.
    pub warm_up: Duration,
    /// For how long what is asked counts.
    pub time: Duration,
}

/// Why a run gives no figure.
#[derive(Debug, thiserror::Error)]
pub enum Error<E: std::error::Error + 'static> {
    /// A query failed.
    #[error("{name}: {source}\nthe query was:\n{text}")]
    Query {
        /// Which.
        name: &'static str,
        /// Its text.
        text: String,
        /// How.
        source: E,
    },
    /// The same text had another number of rows.
    #[error("{name} gave {later} rows, {first} are right or came before; the query was:\n{text}")]
    Rows {
        /// Which.
        name: &'static str,
        /// Its text.
        text: String,
        /// Rows of its first answer.
        first: u64,
        /// Rows of the one that differs.
        later: u64,
    },
    /// The data lack what the queries ask about.
    #[error("the data have no instance of a class that the mix draws from: load LUBM data")]
    NoInstances,
}

/// How many rows each text had when it was first answered.
#[derive(Debug)]
pub struct FirstRows {
    templates: Vec<Template>,
    /// Of a template its instances; [`UNKNOWN`] until answered.
    rows: Vec<Vec<AtomicU64>>,
}

const UNKNOWN: u64 = u64::MAX;

impl FirstRows {
    /// Nothing was answered yet.
    pub fn new(kind: Kind, instances: &impl Instances) -> Self {
        let templates = kind.templates();
        let unknown = |template: &Template| {
            let count = template.parameter.map_or(1, |class| instances.count(class));
            (0..count).map(|_| AtomicU64::new(UNKNOWN)).collect()
        };
        Self {
            rows: templates.iter().map(unknown).collect(),
            templates,
        }
    }

    /// Sets what heavy queries must give, by name: where it is known, the first answer is compared
    /// too.
    pub fn expect(&self, known: impl Fn(&str) -> Option<u64>) {
        for (template, rows) in self.templates.iter().zip(&self.rows) {
            if template.parameter.is_none()
                && let Some(right) = known(template.name)
            {
                rows[0].store(right, Ordering::Relaxed);
            }
        }
    }

    /// Compares an answer with the first to the same text.
    ///
    /// # Errors
    /// [`Error::Rows`].
    pub fn check<E: std::error::Error>(
        &self,
        drawn: Drawn,
        text: &str,
        rows: u64,
    ) -> Result<(), Error<E>> {
        assert_ne!(rows, UNKNOWN, "no count of rows says that there is none");
        let first = &self.rows[drawn.template][drawn.instance as usize];
        let known = first.load(Ordering::Relaxed);
        if known == rows {
            return Ok(());
        }
        let exchanged = first.compare_exchange(UNKNOWN, rows, Ordering::Relaxed, Ordering::Relaxed);
        match exchanged {
            Ok(_) => Ok(()),
            Err(first) if first == rows => Ok(()),
            Err(first) => Err(Error::Rows {
                name: self.name(drawn),
                text: text.to_owned(),
                first,
                later: rows,
            }),
        }
    }

    /// An error of the engine as one of the run.
    pub fn failed<E: std::error::Error>(&self, drawn: Drawn, text: &str, source: E) -> Error<E> {
        Error::Query {
            name: self.name(drawn),
            text: text.to_owned(),
            source,
        }
    }

    fn name(&self, drawn: Drawn) -> &'static str {
        self.templates[drawn.template].name
    }
}

/// What came of a run, or of one worker's part in it.
#[derive(Clone, Debug)]
pub struct Tally {
    /// What came of each template.
    pub classes: Vec<ClassTally>,
    /// From the first query that counts to the last answer.
    pub elapsed: Duration,
    /// Processor time of the workers meanwhile, the asking included; none where the system does
    /// not tell. Not that of a server.
    pub processor: Option<Duration>,
}

/// What came of a template.
#[derive(Clone, Debug)]
pub struct ClassTally {
    /// The template's name.
    pub name: &'static str,
    /// Times of its answers, and how long the arrivals that are left have waited.
    pub latencies: Latencies,
    /// Rows of its answers altogether.
    pub rows: u64,
    /// Arrivals that were not asked before the run was over.
    pub left: u64,
}

impl Tally {
    /// Nothing yet.
    pub fn new(kind: Kind) -> Self {
        let class = |template: Template| ClassTally {
            name: template.name,
            latencies: Latencies::new(),
            rows: 0,
            left: 0,
        };
        Self {
            classes: kind.templates().into_iter().map(class).collect(),
            elapsed: Duration::ZERO,
            processor: None,
        }
    }

    /// Adds an answer.
    pub fn record(&mut self, drawn: Drawn, time: Duration, rows: u64) {
        let class = &mut self.classes[drawn.template];
        class.latencies.record(time);
        class.rows += rows;
    }

    /// Adds an arrival that was not asked before the run was over.
    pub fn leave(&mut self, drawn: Drawn, waited: Duration) {
        self.record(drawn, waited, 0);
        self.classes[drawn.template].left += 1;
    }

    /// Adds what another worker did at the same time: its classes beside or into ours.
    pub fn merge(&mut self, other: &Self) {
        let answers = self.answers() + other.answers();
        for theirs in &other.classes {
            let mut classes = self.classes.iter_mut();
            match classes.find(|ours| ours.name == theirs.name) {
                Some(ours) => {
                    ours.latencies.merge(&theirs.latencies);
                    ours.rows += theirs.rows;
                    ours.left += theirs.left;
                }
                None => self.classes.push(theirs.clone()),
            }
        }
        assert_eq!(self.answers(), answers, "each answer is one of a class");
        self.elapsed = self.elapsed.max(other.elapsed);
        self.processor = match (self.processor, other.processor) {
            (Some(ours), Some(theirs)) => Some(ours + theirs),
            (known, None) | (None, known) => known,
        };
    }

    /// How many queries were answered.
    pub fn answers(&self) -> u64 {
        self.classes.iter().map(ClassTally::answers).sum()
    }

    /// How many arrivals were not asked.
    pub fn left(&self) -> u64 {
        self.classes.iter().map(|class| class.left).sum()
    }

    /// The times of all classes.
    pub fn all(&self) -> Latencies {
        let mut all = Latencies::new();
        let classes = self.classes.iter();
        classes.for_each(|class| all.merge(&class.latencies));
        assert_eq!(
            all.runs(),
            self.answers() + self.left(),
            "what was asked is answered or left"
        );
        all
    }

    /// The figures: of all under this name, and of each class. Their rows are those of all answers
    /// together, their rates count answers.
    pub fn figures(&self, session: &Session, name: &str) -> Vec<Figure> {
        let rows = self.classes.iter().map(|class| class.rows).sum();
        let all = Figure::latency(session, name, rows, &self.all());
        let processor = self.processor.filter(|time| !time.is_zero());
        let left = |left: u64| (left > 0).then_some(left);
        let mut figures = vec![Figure {
            per_processor_second: processor.map(|time| self.answers() as f64 / time.as_secs_f64()),
            left: left(self.left()),
            ..all.with_rate("queries", self.answers(), self.elapsed)
        }];
        for class in &self.classes {
            let figure = Figure::latency(session, class.name, class.rows, &class.latencies);
            figures.push(Figure {
                left: left(class.left),
                ..figure.with_rate("queries", class.answers(), self.elapsed)
            });
        }
        figures
    }
}

impl ClassTally {
    /// How many queries were answered.
    pub fn answers(&self) -> u64 {
        assert!(
            self.left <= self.latencies.runs(),
            "what was left is recorded, too"
        );
        self.latencies.runs() - self.left
    }
}

/// One of the run's workers: asks on this thread, blocking, until the time is over.
/// `share`: its number, and how many workers there are.
///
/// # Errors
/// [`Error`], at the first answer that is none or a wrong one.
pub fn work<E: std::error::Error>(
    run: &Run,
    share: (u64, u64),
    instances: &impl Instances,
    first: &FirstRows,
    mut ask: impl FnMut(&str) -> Result<u64, E>,
) -> Result<Tally, Error<E>> {
    let mut mix = draws(run, share, instances).ok_or(Error::NoInstances)?;
    let mut tally = Tally::new(run.kind);
    let mut text = String::new();
    let mut clock = Clock::start(run, share);
    loop {
        let next = clock.next();
        if next == Next::Over {
            break;
        }
        let drawn = mix.draw(&mut text);
        let begin = match next {
            Next::Arrived(arrival) => arrival,
            Next::Now | Next::Over => Instant::now(),
        };
        let answer = ask(&text);
        let end = Instant::now();
        let rows = answer.map_err(|error| first.failed(drawn, &text, error))?;
        first.check(drawn, &text, rows)?;
        if clock.counts(begin) {
            tally.record(drawn, end.saturating_duration_since(begin), rows);
        }
        clock.now = end;
    }
    let now = clock.now;
    for waited in clock.left(now) {
        let drawn = mix.draw(&mut text);
        tally.leave(drawn, waited);
    }
    tally.elapsed = now.saturating_duration_since(clock.counted_from);
    tally.processor = clock.processor();
    Ok(tally)
}

/// The queries of one worker.
pub(crate) fn draws<'a, I: Instances>(
    run: &Run,
    (number, _): (u64, u64),
    instances: &'a I,
) -> Option<Mix<'a, I>> {
    Mix::new(
        run.kind,
        instances,
        own_seed(run.seed, number).cast_signed(),
    )
}

/// The first worker has the run's seed, each other one a random number that follows from it. A sum would not do:
/// workers whose seeds differ by the generator's step have the same arrivals, one after the other.
fn own_seed(seed: u64, number: u64) -> u64 {
    let mut seeds = SplitMix64::seed_from_u64(seed);
    (0..number).fold(seed, |_, _| seeds.next_u64())
}

/// From when the next query's time counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// There is none: the time is over.
    Over,
    /// From when it is asked.
    Now,
    /// From when it arrived.
    Arrived(Instant),
}

/// One worker's times.
pub(crate) struct Clock {
    begin: Instant,
    pub(crate) counted_from: Instant,
    pub(crate) until: Instant,
    time: Duration,
    /// The last look at the clock.
    pub(crate) now: Instant,
    arrivals: Option<Arrivals>,
    /// Of the open loop: the first that was not asked yet.
    pub(crate) arrival: Option<Instant>,
    processor_before: Option<Duration>,
    has_begun: bool,
}

impl Clock {
    pub(crate) fn start(run: &Run, (number, workers): (u64, u64)) -> Self {
        assert!(
            number < workers,
            "the arrivals are shared among the workers"
        );
        let begin = Instant::now();
        let counted_from = begin + run.warm_up;
        let mut clock = Self {
            begin,
            counted_from,
            until: counted_from + run.time,
            time: run.time,
            now: begin,
            arrivals: match run.pace {
                Pace::Closed => None,
                Pace::Open { per_second } => Some(Arrivals::new(
                    per_second / workers as f64,
                    own_seed(run.seed, number),
                )),
            },
            arrival: None,
            processor_before: None,
            has_begun: false,
        };
        clock.advance();
        clock
    }

    /// On to the next arrival.
    pub(crate) fn advance(&mut self) {
        let begin = self.begin;
        let next = self.arrivals.as_mut().and_then(Iterator::next);
        self.arrival = next.map(|after| begin + after);
    }

    pub(crate) fn is_open(&self) -> bool {
        self.arrivals.is_some()
    }

    /// Waits for the next query.
    fn next(&mut self) -> Next {
        self.look_whether_it_counts();
        if self.now >= self.until {
            return Next::Over;
        }
        if !self.is_open() {
            return Next::Now;
        }
        let Some(arrival) = self.arrival.filter(|&arrival| arrival < self.until) else {
            return Next::Over;
        };
        loop {
            let left = arrival.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            if left > SPIN {
                thread::sleep(left.saturating_sub(SPIN));
            }
        }
        self.advance();
        Next::Arrived(arrival)
    }

    /// Reads the processor's time when the warm-up is over.
    pub(crate) fn look_whether_it_counts(&mut self) {
        if !self.has_begun && self.now >= self.counted_from {
            self.has_begun = true;
            self.counted_from = self.now;
            self.until = self.now + self.time;
            self.processor_before = processor_time();
        }
    }

    pub(crate) fn counts(&self, begin: Instant) -> bool {
        self.has_begun && begin >= self.counted_from
    }

    /// How long each arrival has waited that was not asked before the end.
    pub(crate) fn left(&mut self, now: Instant) -> Vec<Duration> {
        let mut waited = Vec::new();
        while let Some(arrival) = self.arrival.filter(|&arrival| arrival < self.until) {
            if arrival >= self.counted_from && arrival < now {
                waited.push(now - arrival);
            }
            self.advance();
        }
        waited
    }

    /// What the processor has spent, where none of it was spent on waiting for an arrival.
    pub(crate) fn processor(&self) -> Option<Duration> {
        if self.is_open() {
            return None;
        }
        Some(processor_time()?.saturating_sub(self.processor_before?))
    }
}

/// What the processor has spent on this thread; none where the system does not tell.
fn processor_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds = text.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

#[cfg(test)]
pub(crate) mod tests;
