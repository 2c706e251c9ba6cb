//! `bench streams`: the five streams of LSBench beside their stored data, and L1 to L6 or a mix of them, in this process.
//!
//! Application time runs as fast as the work is done. For each 100 ms of it every stream's lines are made, parsed and
//! pushed, sealed and absorbed, and then the queries whose windows have closed are evaluated. So nothing waits for a
//! clock, and what is reported is work:
//!
//! * of each query the time from the window's slices to rows as ids (`L1`) and to rows of terms (`L1 terms`);
//! * of all of them executions a second of one core, windows included (`executions`);
//! * of each stream the time from ids to visible of a batch (`PO inject`), what of that is the commit of what is
//!   absorbed (`PO store`), and of all five of a step (`inject`); beside it `parse`, `number` (ids for terms), `windows` (panes and which slices a window has),
//!   and all but parsing (`step`).
//!
//! With `--apart` queries are evaluated on a core of their own ([`apart`]). With `--beside` it is about others who ask meanwhile ([`beside`]).
//!
//! Nothing is kept unless `--keep` says so: with `--location` the store is read, and changed by nobody. With `--keep` the
//! streams are those of a server: what is pushed is in the log before it is taken, and what that and waiting for the
//! disk take stands apart (`PO log`, `log`, `sync`). `--checkpoint` makes checkpoints meanwhile, and `--paced` lets
//! time pass as it does: then `behind` says how late steps began, which is how far a source would be slowed.
//! `--log-cost` takes each step a second time, without a log, and says how many times as long the first one took.

mod apart;
mod beside;
mod made;
mod sink;
mod timed;

use super::output;
use crate::arguments::{BenchStreams, StreamMix, StreamsBeside};
use crate::exit::{Code, Failure, Outcome};
use crate::say::say;
use crate::settings;
use crate::trouble::Trouble;
use crate::verbs::input::Input;
use crate::verbs::open;
use bench::figure::{Figure, Session};
use bench::pairs::Ratios;
use bench::stats::Latencies;
use beside::Beside;
use made::Steps;
use sink::Sink;
use somersault::config::Config;
use somersault::units::parse_duration;
use somersault::{Database, QueryError};
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};
use timed::Run;
use workload::lsbench::{
    Dialect, Lsbench, Question, Rate, SLICE_MS, STORED_GRAPH, Span, StartPoint,
};

/// The windows of the queries (milliseconds): no figure before they are full.
const RANGE_MS: u64 = 1000;
/// How often it is looked whether a checkpoint is due.
const LOOK: Duration = Duration::from_millis(20);

/// Runs the verb.
pub fn run(flags: &BenchStreams, file: Option<&Path>) -> Outcome {
    let config = settings::check(&settings::layers(file)?)?;
    for path in &flags.cdf {
        output::check_distribution(path)?;
    }
    let rate: Rate = parsed("--rate", &flags.rate)?;
    let warm_up_ms = milliseconds("--warm-up", &flags.warm_up)?.max(RANGE_MS);
    let lsbench =
        Lsbench::new(flags.users, flags.seed).map_err(|error| Failure::new(Code::Usage, error))?;
    let database = match &flags.location {
        Some(location) if flags.keep => open::living(location, &config)?,
        Some(location) => open::unkept(location, &config)?,
        None => generated(&lsbench, flags.beside.is_some(), &config)?,
    };
    if let Some(asked) = flags.beside {
        let beside = Beside {
            database: &database,
            asked,
            pairs: flags.pairs,
            steps: milliseconds("--stretch", &flags.stretch)? / SLICE_MS,
            steps_before: warm_up_ms / SLICE_MS,
        };
        return run_beside(flags, &lsbench, rate, &beside);
    }
    let span = Span {
        milliseconds: warm_up_ms + milliseconds("--time", &flags.time)?,
        rate,
    };
    let run = Measured {
        flags,
        database: &database,
        lsbench: &lsbench,
        span,
        warm_up_ms,
        queries: questions(flags, &lsbench, span)?,
    };
    let session = Session {
        bench: "streams".to_owned(),
        data: format!("lsbench-{}-{}", flags.users, flags.rate),
        threads: if flags.apart { 2 } else { 1 },
    };
    let figures = match (&flags.location, flags.log_cost) {
        (Some(location), true) => run.log_cost(&open::unkept(location, &config)?, &session)?,
        _ => run.alone(&session)?,
    };
    output::put(&flags.output, &figures)
}

/// What is measured.
struct Measured<'m> {
    flags: &'m BenchStreams,
    database: &'m Database,
    lsbench: &'m Lsbench,
    span: Span,
    warm_up_ms: u64,
    queries: Vec<Asked>,
}

impl Measured<'_> {
    /// One run, with checkpoints beside it where they are wanted.
    fn alone(&self, session: &Session) -> Result<Vec<Figure>, Failure> {
        let mut sink = self.sink(self.database, self.flags.keep)?;
        let every = self.flags.checkpoint.as_deref();
        let every = every.map(|text| milliseconds("--checkpoint", text));
        let every = every.transpose()?.map(Duration::from_millis);
        let (is_under_way, is_over) = (&AtomicBool::new(false), &AtomicBool::new(false));
        let steps = if self.flags.paced {
            Steps::ahead(self.lsbench, self.span)?
        } else {
            Steps::here(self.lsbench, self.span)
        };
        let (run, checkpoints) = scope(|scope| {
            let checkpoints = every.map(|every| {
                scope.spawn(move || checkpoints(self.database, every, is_under_way, is_over))
            });
            let ended = self.steps(&mut sink, steps, is_under_way);
            is_over.store(true, Ordering::Relaxed);
            let broken = |_| Failure::new(Code::Failed, "the thread of checkpoints met a bug");
            let checkpoints = checkpoints.map(|it| it.join().map_err(broken));
            Ok::<_, Failure>((ended?, checkpoints.transpose()?))
        })?;
        if self.flags.explain {
            explain(&sink, &self.queries)?;
        }
        let tally = run.tally();
        for path in &self.flags.cdf {
            output::write_distribution(path, &[&tally])?;
        }
        let mut figures = run.figures(session, self.flags.mix);
        if let Some(latencies) = checkpoints.filter(|it| it.runs() > 0) {
            figures.push(Figure::latency(session, "checkpoint", 0, &latencies));
        }
        Ok(figures)
    }

    fn steps<'r>(
        &self,
        sink: &mut Sink,
        steps: Steps,
        is_under_way: &'r AtomicBool,
    ) -> Result<Run<'r>, Failure> {
        let mut run = Run::new(
            steps,
            self.flags.paced,
            is_under_way,
            self.warm_up_ms,
            &self.queries,
        );
        while run.step(sink)?.is_some() {}
        Ok(run)
    }

    /// Each step with a log and without, in turns.
    fn log_cost(&self, unkept: &Database, session: &Session) -> Result<Vec<Figure>, Failure> {
        let mut sinks = [self.sink(self.database, true)?, self.sink(unkept, false)?];
        let is_under_way = AtomicBool::new(false);
        let mut runs = [0, 1].map(|_| {
            let steps = Steps::here(self.lsbench, self.span);
            Run::new(steps, false, &is_under_way, self.warm_up_ms, &self.queries)
        });
        let (mut all, mut without_disk) = (Ratios::new(), Ratios::new());
        for number in 0_u64.. {
            let mut took = [None, None];
            // Now one first and now the other.
            for place in if number % 2 == 0 { [0, 1] } else { [1, 0] } {
                took[place] = runs[place].step(&mut sinks[place])?;
            }
            let [Some(kept), Some(other)] = took else {
                break;
            };
            if kept.is_measured {
                all.record(kept.step, other.step);
                without_disk.record(kept.step.saturating_sub(kept.sync), other.step);
            }
        }
        let mut figures = runs[0].figures(session, self.flags.mix);
        let other = Session {
            data: format!("{}, no log", session.data),
            ..session.clone()
        };
        figures.extend(runs[1].figures(&other, self.flags.mix));
        figures.push(Figure::ratio(session, "step, log to none", &all));
        let name = "the same without the disk";
        figures.push(Figure::ratio(session, name, &without_disk));
        Ok(figures)
    }

    fn sink(&self, database: &Database, is_kept: bool) -> Result<Sink, Failure> {
        let mut sink = if is_kept {
            Sink::kept(database)?
        } else {
            Sink::unkept(database, self.flags.apart)?
        };
        sink.register(database, &self.queries)?;
        Ok(sink)
    }
}

/// Makes checkpoints until it is over; gives what each took. One that maintenance makes at the moment counts for none.
fn checkpoints(
    database: &Database,
    every: Duration,
    is_under_way: &AtomicBool,
    is_over: &AtomicBool,
) -> Latencies {
    let mut latencies = Latencies::new();
    let mut due = Instant::now() + every;
    while !is_over.load(Ordering::Relaxed) {
        if Instant::now() < due {
            sleep(LOOK);
            continue;
        }
        due += every;
        let begun = Instant::now();
        is_under_way.store(true, Ordering::Relaxed);
        let made = database.compact();
        is_under_way.store(false, Ordering::Relaxed);
        match made {
            Ok(()) => latencies.record(begun.elapsed()),
            Err(error) => say!("somersault: no checkpoint: {error}"),
        }
    }
    latencies
}

fn run_beside(flags: &BenchStreams, lsbench: &Lsbench, rate: Rate, beside: &Beside<'_>) -> Outcome {
    let span = Span {
        milliseconds: beside.span_ms(),
        rate,
    };
    let mut sink = if flags.keep {
        Sink::kept(beside.database)?
    } else {
        Sink::unkept(beside.database, false)?
    };
    if flags.mix.is_some() || !flags.only.is_empty() {
        sink.register(beside.database, &questions(flags, lsbench, span)?)?;
    }
    let session = Session {
        bench: "streams".to_owned(),
        data: match beside.asked {
            StreamsBeside::S => format!("lsbench-{}-{}", flags.users, flags.rate),
            StreamsBeside::Light => format!("lubm, lsbench-{}-{}", flags.users, flags.rate),
        },
        threads: 1,
    };
    let figures = beside.measure(sink, lsbench, span, &session)?;
    output::put(&flags.output, &figures)
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

/// The stored data in memory, in the graph that the queries name and, for those that are asked once, in the default
/// graph.
fn generated(lsbench: &Lsbench, in_default: bool, config: &Config) -> Result<Database, Failure> {
    let failed = |error: std::io::Error| {
        Failure::new(Code::Failed, format!("no file for the data: {error}"))
    };
    let folder = tempfile::tempdir().map_err(failed)?;
    let path = folder.path().join("initial.nt");
    let mut file = BufWriter::with_capacity(1 << 20, File::create(&path).map_err(failed)?);
    let written = lsbench.write_stored(&mut file, settings::machine().cores, &mut |_| {});
    written.map_err(|error| Failure::new(Code::Failed, error))?;
    let input = |files| Input {
        files,
        format: None,
        base: None,
        is_lenient: false,
    };
    if !in_default {
        return open::files_into(input(&[path]), Some(STORED_GRAPH), config);
    }
    let named = folder.path().join("initial.nq");
    name_graph(&path, &named).map_err(failed)?;
    open::files_into(input(&[path, named]), None, config)
}

/// Writes the triples of a file into another one, in the graph that the queries name.
fn name_graph(triples: &Path, quads: &Path) -> std::io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(quads)?);
    for line in BufReader::new(File::open(triples)?).lines() {
        let line = line?;
        let triple = line.trim_end().trim_end_matches('.');
        writeln!(file, "{triple}<{STORED_GRAPH}> .")?;
    }
    file.flush()
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

/// The first plan of each question, for people.
fn explain(sink: &Sink, queries: &[Asked]) -> Outcome {
    let mut shown: Vec<Question> = Vec::new();
    for asked in queries {
        if shown.contains(&asked.question) {
            continue;
        }
        shown.push(asked.question);
        if let Some(plan) = sink.explain(&asked.name)? {
            say!("{}\n{plan}", asked.name);
        }
    }
    Ok(())
}
