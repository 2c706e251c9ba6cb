//! `bench gpu`: LUBM's heavy queries on a card, beside the same plans on processors.
//!
//! What is timed on the card is the prepared plan to the count and the checksum of ids on the host: one launch a strip. On processors
//! it is what `bench lubm` times, reading the text besides, which is microseconds. q3 is walked on both, although the signatures prove it empty. Rows and checksums are compared; a query whose
//! steps the card does not all cover gets no figure there, and is named.

mod caps;
mod together;

use super::{count_universities, output};
use crate::arguments::BenchGpu;
use crate::exit::{Code, Failure, Outcome};
use crate::say::say;
use crate::settings;
use crate::verbs::open;
use bench::figure::{Figure, Session};
use bench::lubm::{Effort, RunOutcome, measure};
use bench::machine::Machine;
use bench::stats::Latencies;
use somersault::device::{Accelerator, Cuda, Device, DeviceRuns, Memory, Offload, Opened};
use somersault::units::{format_size, parse_size};
use somersault::{Database, QueryError, Request};
use std::path::Path;
use std::sync::Arc;
use workload::queries::{Query, by_name};

/// The queries that the paper's tables are of.
const HEAVY: [&str; 4] = ["q1", "q2", "q3", "q7"];

/// Bytes of this machine's memory for images that have no room on the card; they are taken when they are needed.
const HOST: u64 = 16 << 30;

/// Runs that are not counted.
const WARM_UP: usize = 3;

/// Runs the verb.
pub(super) fn run(flags: &BenchGpu, file: Option<&Path>) -> Outcome {
    let layers = settings::layers(file)?;
    let config = settings::check(&layers)?;
    let queries = selected(&flags.only)?;
    let failed = |error| Failure::new(Code::Failed, error);
    let card = Cuda::open(flags.device).map_err(failed)?;
    let memory = memory(flags, card.free_bytes().map_err(failed)?)?;
    say!(
        "{}: {} for images, {} for tables",
        card.facts().name,
        format_size(memory.images),
        format_size(memory.tables)
    );
    // On processors first, which the card must not take queries from.
    let card: Arc<dyn Device> = Arc::new(card);
    let device = Accelerator::new(vec![Opened::one(Arc::clone(&card), memory)], Offload::Never);
    let database = open::store_with(&flags.location, &config, device)?;
    database
        .wait_until_verified()
        .map_err(|error| Failure::new(Code::Integrity, error))?;
    let universities = count_universities(&database)?;
    let data = universities.map_or("lubm".to_owned(), |count| format!("lubm-{count}"));
    let mut figures = vec![Figure::of_machine(&Machine::measure(1))];
    let mut whole = Vec::new();
    for query in queries {
        let mut answer = None;
        for &threads in &flags.threads {
            let session = session(&data, threads);
            let effort = Effort {
                runs_min: 5,
                runs_max: u64::from(flags.runs),
                ..Effort::default()
            };
            let measured = measure(query, universities, &effort, |text| {
                ask(&database, text, threads)
            });
            let measured = measured.map_err(|error| Failure::new(Code::Failed, error))?;
            answer = Some((measured.outcome.rows, measured.outcome.checksum));
            figures.push(measured.figure(&session, query));
        }
        let figure = on_card(&database, query, flags, &data, answer)?;
        if figure.is_some() {
            whole.push(query);
        }
        figures.extend(figure);
    }
    for &clients in &flags.clients {
        figures.extend(together::figures(&database, &whole, clients, &data)?);
    }
    figures.extend(capped(flags, &database, card, memory, &data, &whole)?);
    output::put(&flags.output, &figures)
}

/// The queries with less room than their data need; beside what the database has taken of the card.
fn capped(
    flags: &BenchGpu,
    database: &Database,
    device: Arc<dyn Device>,
    memory: Memory,
    data: &str,
    whole: &[&Query],
) -> Result<Vec<Figure>, Failure> {
    let free = device.free_bytes();
    let free = free.map_err(|error| Failure::new(Code::Failed, error))?;
    let caps = caps::Caps {
        database,
        device,
        memory: Memory {
            sections: 1,
            images: free / 2,
            tables: free / 8,
            ..memory
        },
        options: caps::options(&flags.without)?,
        data,
        turns: flags.runs,
    };
    let mut figures = Vec::new();
    for &percent in &flags.caps {
        for query in whole {
            figures.extend(caps.figures(&[query], percent)?);
        }
        if whole.len() > 1 {
            figures.extend(caps.figures(whole, percent)?);
        }
    }
    Ok(figures)
}

/// A request whose plan is walked even where the signatures prove that there is nothing, as they do of q3.
fn walked(text: &str) -> Request<'_> {
    Request {
        threads: Some(1),
        keep_empty: true,
        ..Request::new(text)
    }
}

/// One run on processors, likewise.
fn ask(database: &Database, text: &str, threads: usize) -> Result<RunOutcome, QueryError> {
    let request = Request {
        threads: Some(threads),
        ..walked(text)
    };
    let folded = database.start(&request)?.run_folded()?;
    Ok(RunOutcome {
        rows: folded.rows,
        checksum: folded.checksum,
    })
}

fn session(data: &str, threads: usize) -> Session {
    Session {
        bench: "gpu".to_owned(),
        data: data.to_owned(),
        threads,
    }
}

fn memory(flags: &BenchGpu, free: u64) -> Result<Memory, Failure> {
    let bytes = |name: &str, text: &Option<String>, usual: u64| match text {
        None => Ok(usual),
        Some(text) => parse_size(text)
            .map_err(|error| Failure::new(Code::Usage, format!("`--{name} {text}`: {error}"))),
    };
    // Each client keeps its walks.
    let clients = flags.clients.iter().copied().max().unwrap_or(0);
    let sections = 1 + usize::from(clients) * HEAVY.len();
    Ok(Memory {
        images: bytes("images", &flags.images, free / 5 * 3)?,
        host: bytes("host", &flags.host, HOST)?,
        tables: bytes("tables", &flags.tables, free / 5)? / sections as u64,
        sections,
    })
}

fn selected(names: &[String]) -> Result<Vec<&'static Query>, Failure> {
    if names.is_empty() {
        return Ok(HEAVY.iter().filter_map(|name| by_name(name)).collect());
    }
    super::selected(names)
}

/// The query's figure on the card; none where the card does not do all of it.
fn on_card(
    database: &Database,
    query: &Query,
    flags: &BenchGpu,
    data: &str,
    answer: Option<(u64, u64)>,
) -> Result<Option<Figure>, Failure> {
    let started = database
        .start(&walked(query.text))
        .map_err(crate::verbs::query::failure)?;
    let runs = match started.run_on_device(WARM_UP + flags.runs as usize) {
        Ok(runs) => runs,
        Err(error) => {
            say!("{}: {error}", query.name);
            return Ok(None);
        }
    };
    say_runs(query.name, &runs);
    if runs.covered < runs.steps {
        return Ok(None);
    }
    let found = (runs.folded.rows, runs.folded.checksum);
    if answer.is_some_and(|answer| answer != found) {
        let wrong = format!(
            "{}: the card found {found:?}, processors {answer:?}",
            query.name
        );
        return Err(Failure::new(Code::Failed, wrong));
    }
    let mut latencies = Latencies::new();
    for &time in &runs.times[WARM_UP..] {
        latencies.record(time);
    }
    let name = format!("{} card", query.name);
    let session = session(data, 1);
    Ok(Some(Figure::latency(
        &session,
        &name,
        runs.folded.rows,
        &latencies,
    )))
}

fn say_runs(name: &str, runs: &DeviceRuns) {
    let DeviceRuns {
        covered,
        steps,
        why,
        compiled,
        launches,
        ..
    } = runs;
    let first = runs.times.first().copied().unwrap_or_default();
    let runs = runs.times.len();
    say!(
        "{name}: {covered} of {steps} steps on the card (then {why}); made ready in {compiled:.1?}, first run {first:.1?}, \
         {launches} launches for {runs} runs"
    );
}
