//! A load from end to end, but for where its files become a store.
//!
//! ```text
//! sources --parse--> chunks, hashes, predicates
//!                    hashes --resolve--> ordinals
//! chunks --encode--> edges in bins, keys, (hash, ordinal)
//!                    edges --build--> segments, signatures      pairs --build--> indexes
//! ```

mod job;
mod stage;

pub use job::{Job, Outcome};

use super::buckets::Buckets;
use super::budget::Budget;
use super::chunk::Chunks;
use super::codes::Ranges;
use super::error::LoadError;
use super::ingest::{Ingest, Results};
use super::input::{self, Input, InputOptions};
use super::options::line_bytes_max;
use super::parse::{Scope, TermHasher};
use super::predicates::Predicates;
use super::rejected::{Listed, Rejected};
use super::report::{LoadReport, Phase};
use super::resolve::HashRecord;
use super::scratch::Spill;
use super::source::Source;
use crate::prefixes::Prefixes;
use job::{Parsed, Stopwatch};
use memory::Region;
use stage::Stage;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, PoisonError};

/// Partitions of hashes: with a limit each is small, without one each fits a core's cache.
const PARTITIONS: usize = 256;
/// Partitions under small limits, where every open block counts.
const PARTITIONS_SMALL: usize = 16;
const _: () = assert!(
    PARTITIONS.is_power_of_two() && PARTITIONS_SMALL.is_power_of_two(),
    "a partition is chosen by bits of a hash"
);
/// Limits below this are small.
const SMALL_LIMIT_BYTES: u64 = 64 << 20;

/// Runs a load up to complete files.
pub fn run(job: &Job<'_>, sources: Vec<Source<'_>>) -> Result<Outcome, LoadError> {
    let options = job.options;
    let budget = Budget::new(options.memory_limit_bytes);
    let mut stopwatch = Stopwatch {
        watch: job.watch,
        since: (job.watch.clock)(),
        phases: Vec::new(),
    };
    let is_small = options
        .memory_limit_bytes
        .is_some_and(|limit| limit < SMALL_LIMIT_BYTES);
    let partitions = if is_small {
        PARTITIONS_SMALL
    } else {
        PARTITIONS
    };
    let chunks = Chunks::new(Spill::new(job.scratch, "scratch-chunks"), &budget);
    let hashes = Buckets::new(
        partitions,
        Spill::new(job.scratch, "scratch-hashes"),
        &budget,
    );
    let parsed = parse(job, sources, &chunks, &hashes, &budget)?;
    stopwatch.end(Phase::Parse);
    let stage = Stage {
        job,
        budget: &budget,
        parsed: &parsed,
    };
    let outcome = stage.finish(&chunks, hashes, &mut stopwatch)?;
    let report = LoadReport {
        rejected: parsed.rejected.count,
        rejections: parsed.rejected.first,
        statements: parsed.results.statements,
        read_bytes: parsed.read_bytes,
        phases: stopwatch.phases,
        peak_retained_bytes: budget.peak_bytes(),
        ..outcome.report
    };
    Ok(Outcome { report, ..outcome })
}

fn parse<'l>(
    job: &Job<'l>,
    sources: Vec<Source<'_>>,
    chunks: &Chunks<'l>,
    hashes: &Buckets<'l, HashRecord>,
    budget: &Budget,
) -> Result<Parsed, LoadError> {
    let options = job.options;
    let chunk_bytes = options.chunk_bytes(budget.working_bytes());
    let predicates = Predicates::new(options.seed());
    let ingest = Ingest {
        threads: options.threads.max(1),
        chunks,
        hashes,
        predicates: &predicates,
        hasher: &TermHasher::new(options.hash_key),
        graph: options.graph_name()?,
        strictness: options.strictness,
        seed: options.seed(),
        results: Mutex::default(),
    };
    let mut ranges = Ranges::default();
    let (mut existing_predicates, mut quads_before, mut first_chunk) = (Vec::new(), 0, 0);
    if let Some(existing) = &job.existing {
        first_chunk = existing.feed_terms(&ingest, chunk_bytes)?;
        (existing_predicates, quads_before) = existing.feed_predicates(&predicates, &mut ranges)?;
    }
    let input_options = InputOptions {
        chunk_bytes,
        line_bytes_max: line_bytes_max(budget.working_bytes()),
        first_number: first_chunk,
        base: options.base.clone(),
        strictness: options.strictness,
    };
    let (mut results, rejected, noted) = read(job, sources, ingest, input_options)?;
    let Noted {
        read_bytes,
        mut prefixes,
    } = noted;
    results.ranges.merge(&ranges);
    if let Some(existing) = &job.existing {
        prefixes.extend(existing.prefixes);
        results.has_graphs |= !existing.view.named_graphs()?.is_empty();
    }
    let numbered = predicates.number()?;
    Ok(Parsed {
        results,
        numbered,
        existing_predicates,
        quads_before,
        prefixes,
        rejected,
        read_bytes,
    })
}

/// What is said of the sources as a whole.
struct Noted {
    read_bytes: u64,
    prefixes: Prefixes,
}

/// Reads and parses the sources: what their chunks came to, what was rejected, and what is said of them.
fn read(
    job: &Job<'_>,
    mut sources: Vec<Source<'_>>,
    ingest: Ingest<'_, '_>,
    input_options: InputOptions,
) -> Result<(Results, Listed, Noted), LoadError> {
    let names: Vec<String> = sources.iter().map(|source| source.name.clone()).collect();
    let total_bytes = sources.iter().map(Source::total_bytes).sum();
    let rejected = Rejected::new(&job.options.on_error, input_options.first_number)?;
    let maps = input::turtle_maps(&mut sources);
    let prefixes = Arc::default();
    let (run, read_bytes) = std::thread::scope(|scope| {
        let sources = input::map_turtle(sources, &maps);
        let input = Input::new(scope, sources, input_options, Arc::clone(&prefixes));
        let input = Mutex::new(input);
        let run = ingest.run(&input, &rejected, total_bytes, job.watch);
        let input = input.into_inner().unwrap_or_else(PoisonError::into_inner);
        (run, input.read_bytes())
    });
    // Zeros were parsed in place of what is gone.
    let is_cut = |map: &Option<Region>| {
        map.as_ref()
            .is_some_and(|map| map.is_shortened() || map.is_damaged())
    };
    if let Some(place) = maps.iter().position(is_cut) {
        return Err(LoadError::Read {
            name: names[place].clone(),
            error: io::Error::new(ErrorKind::UnexpectedEof, "it was cut while it was read"),
        });
    }
    let results = ingest
        .results
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    let stops = rejected.stops();
    // After any other error chunks may be missing, by which rejections are placed.
    let run = match run {
        Err(error) if !error.is_of_input() => return Err(error),
        run => run,
    };
    let rejected = rejected.finish(run.is_ok(), |chunk| {
        let (Scope(source), lines) = results.lines_before(chunk)?;
        let name = names.get((source as usize).checked_sub(1)?)?;
        Some((name.clone(), lines))
    })?;
    // Chunks are taken in order, and none after an error of the input: what was rejected comes
    // before it.
    let mut first = rejected.first.first().filter(|_| stops);
    first = first.or(rejected.fatal.as_ref());
    match first {
        Some(first) => Err(LoadError::Malformed(first.clone())),
        None => run.map(|()| {
            let prefixes = prefixes.lock().unwrap_or_else(PoisonError::into_inner);
            let noted = Noted {
                read_bytes,
                prefixes: prefixes.clone(),
            };
            (results, rejected, noted)
        }),
    }
}
