//! A run of `bench streams`: what each step of 100 ms took, by query, by stream and by phase.

use super::apart::Answer;
use super::made::Steps;
use super::sink::Sink;
use super::{Asked, SLICE_MS};
use crate::arguments::StreamMix;
use crate::exit::Failure;
use bench::figure::{Figure, Session};
use bench::mix::{ClassTally, Tally};
use bench::stats::Latencies;
use somersault::HubCosts;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};
use workload::lsbench::{Question, Stream};

/// What one question's reports took.
struct Timed {
    question: Question,
    ids: Latencies,
    terms: Latencies,
    rows: u64,
}

/// A stream and what its batches took.
struct Fed {
    stream: Stream,
    inject: Latencies,
    store: Latencies,
    log: Latencies,
    lines: u64,
}

/// Of all streams, a step.
#[derive(Default)]
struct Phases {
    parse: Latencies,
    number: Latencies,
    inject: Latencies,
    /// Where a checkpoint was under way.
    beside: Latencies,
    windows: Latencies,
    log: Latencies,
    sync: Latencies,
    /// All of it but parsing.
    step: Latencies,
    /// How late it began.
    behind: Latencies,
}

/// See the head of this file.
pub(super) struct Run<'r> {
    steps: Steps,
    /// In real time, from here on.
    paced: Option<Instant>,
    /// Whether a checkpoint is under way.
    checkpoint: &'r AtomicBool,
    warm_up_ms: u64,
    fed: Vec<Fed>,
    /// The question of each query, by name.
    asked: BTreeMap<String, Question>,
    timed: Vec<Timed>,
    phases: Phases,
    /// Executions, and what they took: windows and walks, without terms where those are known apart.
    executions: u64,
    executing: Duration,
    /// From the first measured step on, without what making the lines took.
    measured: Duration,
    end_ms: u64,
}

/// What a step took, and of that the disk.
pub(super) struct Took {
    pub(super) step: Duration,
    pub(super) sync: Duration,
    pub(super) is_measured: bool,
}

impl<'r> Run<'r> {
    pub(super) fn new(
        steps: Steps,
        is_paced: bool,
        checkpoint: &'r AtomicBool,
        warm_up_ms: u64,
        queries: &[Asked],
    ) -> Run<'r> {
        let fed = Stream::ALL.map(|stream| Fed {
            stream,
            inject: Latencies::new(),
            store: Latencies::new(),
            log: Latencies::new(),
            lines: 0,
        });
        let mut timed: Vec<Timed> = Vec::new();
        for Asked { question, .. } in queries {
            if !timed.iter().any(|known| known.question == *question) {
                timed.push(Timed {
                    question: *question,
                    ids: Latencies::new(),
                    terms: Latencies::new(),
                    rows: 0,
                });
            }
        }
        let asked = queries.iter().map(|it| (it.name.clone(), it.question));
        Run {
            steps,
            paced: is_paced.then(Instant::now),
            checkpoint,
            warm_up_ms,
            fed: fed.into(),
            asked: asked.collect(),
            timed,
            phases: Phases::default(),
            executions: 0,
            executing: Duration::ZERO,
            measured: Duration::ZERO,
            end_ms: 0,
        }
    }

    /// The next 100 ms; none at the end.
    pub(super) fn step(&mut self, sink: &mut Sink) -> Result<Option<Took>, Failure> {
        let Some(step) = self.steps.next_step()? else {
            return Ok(None);
        };
        self.end_ms += SLICE_MS;
        let is_measured = self.end_ms > self.warm_up_ms;
        let behind = self.wait();
        let before = sink.costs();
        let is_beside = self.checkpoint.load(Ordering::Relaxed);
        let begun = Instant::now();
        let mut last = before;
        for (said, fed) in step.streams.iter().zip(&mut self.fed) {
            assert_eq!(
                said.stream, fed.stream,
                "a step has the streams in their order"
            );
            sink.feed(said.stream, &said.items, self.end_ms)?;
            let now = sink.costs();
            if is_measured {
                fed.take(now - last, said.lines);
            }
            last = now;
        }
        let took = begun.elapsed();
        let answers = sink.answers()?;
        let cost = last - before;
        if is_measured {
            self.measured += step.parse + took;
            self.phases.parse.record(step.parse);
            self.phases.step.record(took);
            if let Some(behind) = behind {
                self.phases.behind.record(behind);
            }
            if is_beside || self.checkpoint.load(Ordering::Relaxed) {
                self.phases.beside.record(cost.injecting());
            }
            self.take(cost, &answers);
        }
        Ok(Some(Took {
            step: took,
            sync: cost.syncing,
            is_measured,
        }))
    }

    /// Waits until the step is over in real time; gives how long that was ago, where it is waited for at all.
    fn wait(&self) -> Option<Duration> {
        let due = self.paced? + Duration::from_millis(self.end_ms);
        sleep(due.saturating_duration_since(Instant::now()));
        Some(due.elapsed())
    }

    fn take(&mut self, cost: HubCosts, answers: &[Answer]) {
        self.phases.number.record(cost.numbering);
        self.phases.inject.record(cost.injecting());
        self.phases.windows.record(cost.windows);
        self.phases.log.record(cost.logging);
        self.phases.sync.record(cost.syncing);
        self.executing += cost.windows + cost.evaluating;
        for answer in answers {
            let question = self.asked[&answer.query];
            let mut timed = self.timed.iter_mut();
            let timed = timed.find(|it| it.question == question);
            let timed = timed.expect("each question that is asked is timed");
            if let Some(ids) = answer.ids {
                timed.ids.record(ids);
                self.executing = self
                    .executing
                    .saturating_sub(answer.terms.saturating_sub(ids));
            }
            timed.terms.record(answer.terms);
            timed.rows += answer.rows;
            self.executions += 1;
        }
    }

    /// The queries' times, for a distribution.
    pub(super) fn tally(&self) -> Tally {
        let classes = self.timed.iter().map(|timed| ClassTally {
            name: timed.question.name(),
            latencies: if timed.ids.runs() > 0 {
                &timed.ids
            } else {
                &timed.terms
            }
            .clone(),
            rows: timed.rows,
            left: 0,
        });
        Tally {
            classes: classes.collect(),
            elapsed: self.measured,
            processor: None,
        }
    }

    pub(super) fn figures(&self, session: &Session, mix: Option<StreamMix>) -> Vec<Figure> {
        let mut figures = self.of_queries(session, mix);
        let mut lines = 0;
        for fed in &self.fed {
            figures.extend(fed.figures(session));
            lines += fed.lines;
        }
        figures.extend(self.phases.figures(session, lines));
        let all = Figure::rate(session, "all", "triples", lines, self.measured);
        figures.push(all);
        figures
    }

    fn of_queries(&self, session: &Session, mix: Option<StreamMix>) -> Vec<Figure> {
        let mut figures = Vec::new();
        for timed in &self.timed {
            let name = timed.question.name();
            if timed.ids.runs() > 0 {
                figures.push(Figure::latency(session, name, timed.rows, &timed.ids));
            }
            let name = format!("{name} terms");
            figures.push(Figure::latency(session, &name, timed.rows, &timed.terms));
        }
        let name = match mix {
            None => "executions",
            Some(StreamMix::A) => "executions of mix A",
            Some(StreamMix::B) => "executions of mix B",
        };
        let executions = self.executions;
        if executions > 0 {
            let rate = Figure::rate(session, name, "queries", executions, self.executing);
            figures.push(rate);
        }
        figures
    }
}

impl Fed {
    fn take(&mut self, cost: HubCosts, lines: u64) {
        self.inject.record(cost.injecting());
        self.store.record(cost.storing);
        if !cost.logging.is_zero() {
            self.log.record(cost.logging);
        }
        self.lines += lines;
    }

    fn figures(&self, session: &Session) -> Vec<Figure> {
        let name = self.stream.short_name().to_uppercase();
        let named = [
            ("inject", &self.inject),
            ("store", &self.store),
            ("log", &self.log),
        ];
        let filled = named.into_iter().filter(|(_, it)| it.runs() > 0);
        filled
            .map(|(what, latencies)| {
                Figure::latency(session, &format!("{name} {what}"), self.lines, latencies)
            })
            .collect()
    }
}

impl Phases {
    /// Those that there were.
    fn figures(&self, session: &Session, lines: u64) -> Vec<Figure> {
        let named = [
            ("inject", &self.inject),
            ("inject beside a checkpoint", &self.beside),
            ("parse", &self.parse),
            ("number", &self.number),
            ("windows", &self.windows),
            ("log", &self.log),
            ("sync", &self.sync),
            ("step", &self.step),
            ("behind", &self.behind),
        ];
        let is_there =
            |it: &Latencies| it.most().is_some_and(|most| most > Duration::from_nanos(1));
        let filled = named.into_iter().filter(|(_, it)| is_there(it));
        filled
            .map(|(name, latencies)| Figure::latency(session, name, lines, latencies))
            .collect()
    }
}
