//! `bench streams`: the five streams of LSBench beside their stored data, and L1 to L6 or a mix of them, in this process.
//!
//! Application time runs as fast as the work is done. For each 100 ms of it every stream's lines are made, parsed and
//! pushed, sealed and absorbed, and then the queries whose windows have closed are evaluated. So nothing waits for a
//! clock, and what is reported is work:
//!
//! * of each query the time from the window's slices to rows as ids (`L1`) and to rows of terms (`L1 terms`);
//! * of all of them executions a second of one core, windows included (`executions`);
//! * of each stream the time from ids to visible of a batch (`PO inject`), what of that is the commit of what is
//!   absorbed (`PO store`), and of all five of a step (`inject`); beside it `parse`, `number` (ids for terms), `windows` (panes and which slices a window has).
//!
//! Nothing is kept: with `--location` the store is read, and changed by nobody. So no log is written, and the disk is
//! in no figure.

use super::output;
use crate::arguments::{BenchStreams, StreamMix};
use crate::exit::{Code, Failure, Outcome};
use crate::say::say;
use crate::settings;
use crate::trouble::Trouble;
use crate::verbs::input::Input;
use crate::verbs::open;
use bench::figure::{Figure, Session};
use bench::mix::{ClassTally, Tally};
use bench::stats::Latencies;
use somersault::config::Config;
use somersault::units::parse_duration;
use somersault::{
    Database, Hub, HubCosts, HubStream, QueryError, Reported, StandingReport, TimedQuads,
    read_standing, recorded,
};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufWriter;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};
use workload::lsbench::{
    Dialect, LineForm, Lsbench, Question, Rate, SLICE_MS, STORED_GRAPH, Slices, Span, StartPoint,
    Stream,
};

/// The only source of each stream.
const SOURCE: &str = "";
/// The windows of the queries (milliseconds): no figure before they are full.
const RANGE_MS: u64 = 1000;

/// Runs the verb.
pub fn run(flags: &BenchStreams, file: Option<&Path>) -> Outcome {
    let config = settings::check(&settings::layers(file)?)?;
    for path in &flags.cdf {
        output::check_distribution(path)?;
    }
    let rate: Rate = parsed("--rate", &flags.rate)?;
    let warm_up_ms = milliseconds("--warm-up", &flags.warm_up)?.max(RANGE_MS);
    let span = Span {
        milliseconds: warm_up_ms + milliseconds("--time", &flags.time)?,
        rate,
    };
    let lsbench =
        Lsbench::new(flags.users, flags.seed).map_err(|error| Failure::new(Code::Usage, error))?;
    let database = match &flags.location {
        Some(location) => open::unkept(location, &config)?,
        None => generated(&lsbench, &config)?,
    };
    let mut hub = Hub::new(database.clone());
    for stream in Stream::ALL {
        hub.create(&settings_of(stream), 0).map_err(failure)?;
    }
    let queries = questions(flags, &lsbench, span)?;
    register(&mut hub, &database, &queries)?;
    let mut run = Run::new(&lsbench, span, &queries);
    while run.step(&mut hub, warm_up_ms)? {}
    if flags.explain {
        explain(&hub, &queries)?;
    }
    let session = Session {
        bench: "streams".to_owned(),
        data: format!("lsbench-{}-{}", flags.users, flags.rate),
        threads: 1,
    };
    let tally = run.tally();
    for path in &flags.cdf {
        output::write_distribution(path, &[&tally])?;
    }
    output::put(&flags.output, &run.figures(&session, flags.mix))
}

fn failure(error: QueryError) -> Failure {
    Trouble::from(error).into_failure("")
}

fn parsed<T: std::str::FromStr<Err = String>>(flag: &str, text: &str) -> Result<T, Failure> {
    let parsed = text.parse();
    parsed.map_err(|error| Failure::new(Code::Usage, format!("`{flag}`: {error}")))
}

fn milliseconds(flag: &str, text: &str) -> Result<u64, Failure> {
    let parsed = parse_duration(text);
    let time =
        parsed.map_err(|error| Failure::new(Code::Usage, format!("{flag} {text}: {error}")))?;
    let whole = time.as_millis() as u64 / SLICE_MS * SLICE_MS;
    if whole == 0 {
        let message = format!("{flag} {text}: expected at least {SLICE_MS} ms");
        return Err(Failure::new(Code::Usage, message));
    }
    Ok(whole)
}

/// The stored data in memory, in the graph that the queries name.
fn generated(lsbench: &Lsbench, config: &Config) -> Result<Database, Failure> {
    let failed = |error: std::io::Error| {
        Failure::new(Code::Failed, format!("no file for the data: {error}"))
    };
    let folder = tempfile::tempdir().map_err(failed)?;
    let path = folder.path().join("initial.nt");
    let mut file = BufWriter::with_capacity(1 << 20, File::create(&path).map_err(failed)?);
    let written = lsbench.write_stored(&mut file, settings::machine().cores, &mut |_| {});
    written.map_err(|error| Failure::new(Code::Failed, error))?;
    let input = Input {
        files: &[path],
        format: None,
        base: None,
        is_lenient: false,
    };
    open::files_into(input, Some(STORED_GRAPH), config)
}

/// Positions live in windows alone; the rest is absorbed.
fn settings_of(stream: Stream) -> HubStream {
    HubStream {
        absorb: (stream == Stream::Positions).then(Vec::new),
        ..HubStream::new(&stream.iri())
    }
}

/// What is registered: each question with its text and the name of the query.
struct Asked {
    question: Question,
    name: String,
    text: String,
}

/// L1 to L6 from start points with answers, or instances of a mix from random ones.
fn questions(flags: &BenchStreams, lsbench: &Lsbench, span: Span) -> Result<Vec<Asked>, Failure> {
    let asked = |question: Question, name: String, start| Asked {
        // The name is given beside it.
        text: unnamed(&question.text(Dialect::CSparql, start)),
        question,
        name,
    };
    if let Some(mix) = flags.mix {
        let questions: &[Question] = match mix {
            StreamMix::A => &Question::MIX_A,
            StreamMix::B => &Question::MIX_B,
        };
        let drawn = lsbench
            .start_points(flags.seed)
            .take(flags.instances as usize);
        let questions = questions.iter().cycle().zip(drawn).enumerate();
        return Ok(questions
            .map(|(number, (question, start))| {
                asked(*question, format!("{}-{number}", question.name()), start)
            })
            .collect());
    }
    let constants = lsbench.constants(span);
    let known = |question: &Question| StartPoint {
        user: constants.l1_user,
        person: match question {
            Question::L2 => constants.l2_person,
            _ => constants.l3_person,
        },
        group: 1,
    };
    let is_wanted = |question: &&Question| {
        let mut only = flags.only.iter();
        flags.only.is_empty() || only.any(|name| name.eq_ignore_ascii_case(question.name()))
    };
    let wanted: Vec<Asked> = Question::MIX_B
        .iter()
        .filter(is_wanted)
        .map(|question| asked(*question, question.name().to_owned(), known(question)))
        .collect();
    let unknown = flags.only.iter().find(|name| {
        let mut known = Question::MIX_B.iter();
        !known.any(|known| name.eq_ignore_ascii_case(known.name()))
    });
    match unknown {
        Some(name) => Err(Failure::new(
            Code::Usage,
            format!("`--only {name}`: expected L1 to L6"),
        )),
        None => Ok(wanted),
    }
}

/// A text without its `REGISTER` line.
fn unnamed(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with("REGISTER"));
    lines.collect::<Vec<_>>().join("\n")
}

fn register(hub: &mut Hub, database: &Database, queries: &[Asked]) -> Outcome {
    for asked in queries {
        let query = read_standing(database, &asked.text);
        let query = query.map_err(|error| Trouble::from(error).into_failure(&asked.text))?;
        hub.register(query, &asked.name, 0).map_err(failure)?;
    }
    Ok(())
}

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
    slices: Slices,
    inject: Latencies,
    store: Latencies,
    lines: u64,
}

/// See the head of this file.
struct Run {
    fed: Vec<Fed>,
    /// The question of each query, by name.
    asked: BTreeMap<String, Question>,
    timed: Vec<Timed>,
    /// Of all streams, a step.
    parse: Latencies,
    number: Latencies,
    inject: Latencies,
    windows: Latencies,
    /// Executions, and what they took: windows and walks, without terms.
    executions: u64,
    executing: Duration,
    /// From the first measured step on.
    measured: Duration,
    end_ms: u64,
}

impl Run {
    fn new(lsbench: &Lsbench, span: Span, queries: &[Asked]) -> Run {
        let fed = Stream::ALL.map(|stream| Fed {
            stream,
            slices: lsbench.slices(stream, span, LineForm::Triples),
            inject: Latencies::new(),
            store: Latencies::new(),
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
            fed: fed.into(),
            asked: asked.collect(),
            timed,
            parse: Latencies::new(),
            number: Latencies::new(),
            inject: Latencies::new(),
            windows: Latencies::new(),
            executions: 0,
            executing: Duration::ZERO,
            measured: Duration::ZERO,
            end_ms: 0,
        }
    }

    /// The next 100 ms; false at the end.
    fn step(&mut self, hub: &mut Hub, warm_up_ms: u64) -> Result<bool, Failure> {
        self.end_ms += SLICE_MS;
        let is_measured = self.end_ms > warm_up_ms;
        let before = hub.costs();
        let begun = Instant::now();
        let (mut parse, mut making) = (Duration::ZERO, Duration::ZERO);
        let mut reports = Vec::new();
        for place in 0..self.fed.len() {
            let fed = &mut self.fed[place];
            let made = Instant::now();
            let Some(slice) = fed.slices.next() else {
                return Ok(false);
            };
            making += made.elapsed();
            let parsing = Instant::now();
            let items = recorded(fed.stream.short_name(), &slice.bytes[..]);
            let items = items
                .collect::<Result<Vec<TimedQuads>, _>>()
                .map_err(failure)?;
            parse += parsing.elapsed();
            let before = hub.costs();
            let name = fed.stream.iri();
            hub.push(&name, SOURCE, None, &items, None)
                .map_err(failure)?;
            hub.watermark(&name, SOURCE, self.end_ms).map_err(failure)?;
            advance(hub, &mut reports)?;
            if is_measured {
                let cost = hub.costs() - before;
                fed.inject.record(cost.injecting());
                fed.store.record(cost.storing);
                fed.lines += slice.lines;
            }
        }
        if is_measured {
            self.measured += begun.elapsed().saturating_sub(making);
            self.parse.record(parse);
            self.take(hub.costs() - before, &reports);
        }
        Ok(true)
    }

    fn take(&mut self, cost: HubCosts, reports: &[StandingReport]) {
        self.number.record(cost.numbering);
        self.inject.record(cost.injecting());
        self.windows.record(cost.windows);
        self.executing += cost.windows + cost.evaluating;
        for report in reports {
            let question = self.asked[&report.query];
            let mut timed = self.timed.iter_mut();
            let timed = timed.find(|it| it.question == question);
            let timed = timed.expect("each question that is asked is timed");
            timed
                .ids
                .record(report.exec.saturating_sub(report.decoding));
            timed.terms.record(report.exec);
            timed.rows += report.rows.len() as u64;
            self.executions += 1;
            self.executing -= report.decoding;
        }
    }

    /// The queries' times, for a distribution.
    fn tally(&self) -> Tally {
        let classes = self.timed.iter().map(|timed| ClassTally {
            name: timed.question.name(),
            latencies: timed.ids.clone(),
            rows: timed.rows,
            left: 0,
        });
        Tally {
            classes: classes.collect(),
            elapsed: self.measured,
            processor: None,
        }
    }

    fn figures(&self, session: &Session, mix: Option<StreamMix>) -> Vec<Figure> {
        let mut figures = Vec::new();
        for timed in &self.timed {
            let name = timed.question.name();
            figures.push(Figure::latency(session, name, timed.rows, &timed.ids));
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
        let mut lines = 0;
        for fed in &self.fed {
            let name = format!("{} inject", fed.stream.short_name().to_uppercase());
            figures.push(Figure::latency(session, &name, fed.lines, &fed.inject));
            let name = format!("{} store", fed.stream.short_name().to_uppercase());
            figures.push(Figure::latency(session, &name, fed.lines, &fed.store));
            lines += fed.lines;
        }
        for (name, latencies) in [
            ("inject", &self.inject),
            ("parse", &self.parse),
            ("number", &self.number),
            ("windows", &self.windows),
        ] {
            figures.push(Figure::latency(session, name, lines, latencies));
        }
        figures.push(Figure::rate(
            session,
            "all",
            "triples",
            lines,
            self.measured,
        ));
        figures
    }
}

/// The first plan of each question, for people.
fn explain(hub: &Hub, queries: &[Asked]) -> Outcome {
    let mut shown: Vec<Question> = Vec::new();
    for asked in queries {
        if shown.contains(&asked.question) {
            continue;
        }
        shown.push(asked.question);
        if let Some(plan) = hub.explain(&asked.name).map_err(failure)? {
            say!("{}\n{plan}", asked.name);
        }
    }
    Ok(())
}

/// What has become possible. A report that failed is an error.
fn advance(hub: &mut Hub, reports: &mut Vec<StandingReport>) -> Outcome {
    let advanced = hub.advance(&mut |Reported { mut report, .. }| {
        if let Some(failure) = report.failure.take() {
            return Err(failure);
        }
        reports.push(report);
        Ok(ControlFlow::Continue(()))
    });
    advanced.map(|_| ()).map_err(failure)
}
