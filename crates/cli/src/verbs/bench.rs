//! `bench`: measured runs inside this process, against what the data must give.
//!
//! What is timed is text to last row: parsing, planning and walking, with rows folded into a
//! checksum of their ids, so neither decoding nor printing is in it. Blocks are verified beforehand;
//! a wrong number of rows is an error and gives no figure. Each time stands beside its floor.

mod gpu;
mod load;
mod mix;
mod nodes;
mod output;
mod path;
mod processor;
mod streams;
mod update;

use crate::arguments::{Bench, BenchLubm};
use crate::exit::{Code, Failure, Outcome};
use crate::say::say;
use crate::settings;
use crate::verbs::open;
use bench::figure::{Figure, Session};
use bench::floor::Floor;
use bench::lubm::{Effort, RunOutcome, measure};
use bench::machine::Machine;
use somersault::{Database, QueryError, Request};
use std::path::Path;
use workload::queries::{MEASURED, QUERIES, Query, by_name};

/// Runs the verb.
pub fn run(verb: &Bench, file: Option<&Path>) -> Outcome {
    match verb {
        Bench::Lubm(flags) => lubm(flags, file),
        Bench::Load(flags) => load::run(flags, file),
        Bench::Path(flags) => path::run(flags, file),
        Bench::Mix(flags) => mix::run(flags, file),
        Bench::Update(flags) => update::run(flags, file),
        Bench::Gpu(flags) => gpu::run(flags, file),
        Bench::Streams(flags) => streams::run(flags, file),
        Bench::Nodes(flags) => nodes::run(flags, file),
    }
}

fn lubm(flags: &BenchLubm, file: Option<&Path>) -> Outcome {
    let mut layers = settings::layers(file)?;
    settings::add_gpu(&mut layers, flags.gpu)?;
    let config = settings::check(&layers)?;
    let queries = selected(&flags.only)?;
    let database = open::store_in_nodes(&flags.location, flags.spread, &config)?;
    database
        .wait_until_verified()
        .map_err(|error| Failure::new(Code::Integrity, error))?;
    let universities = match flags.universities {
        Some(universities) => Some(universities),
        None => count_universities(&database)?,
    };
    let machine = Machine::measure(flags.threads);
    let session = Session {
        bench: "lubm".to_owned(),
        data: universities.map_or("lubm".to_owned(), |count| format!("lubm-{count}")),
        threads: flags.threads,
    };
    let effort = Effort {
        runs_min: u64::from(flags.runs),
        ..Effort::default()
    };
    let mut figures = vec![Figure::of_machine(&machine)];
    let mut all_factors = Vec::new();
    for query in queries {
        let (floor, factors) = profile(&database, query)?;
        all_factors.extend_from_slice(&factors);
        let ask = |text: &str| ask(&database, text, flags.threads);
        let measured = measure(query, universities, &effort, ask)
            .map_err(|error| Failure::new(Code::Failed, error))?;
        let figure = measured.figure(&session, query);
        figures.push(figure.with_floor(floor, &machine).with_q_errors(factors));
    }
    output::put(&flags.output, &figures)?;
    say_estimates(all_factors);
    Ok(())
}

fn selected(names: &[String]) -> Result<Vec<&'static Query>, Failure> {
    if names.is_empty() {
        return Ok(QUERIES.iter().collect());
    }
    let find = |name: &String| {
        let unknown = || Failure::new(Code::Usage, format!("`--only {name}`: expected q1 to q12"));
        by_name(name).ok_or_else(unknown)
    };
    names.iter().map(find).collect()
}

/// From text to the last row: parsing, planning, walking; rows are folded into a checksum of
/// their ids and no term is decoded.
fn ask(database: &Database, text: &str, threads: usize) -> Result<RunOutcome, QueryError> {
    let request = Request {
        threads: Some(threads),
        ..Request::new(text)
    };
    let folded = database.start(&request)?.run_folded()?;
    Ok(RunOutcome {
        rows: folded.rows,
        checksum: folded.checksum,
    })
}

/// How far the planner's estimates were off over all queries; for people, not a figure.
fn say_estimates(mut factors: Vec<f64>) {
    factors.sort_unstable_by(f64::total_cmp);
    if let (Some(half), Some(most)) = (factors.get(factors.len() / 2), factors.last()) {
        let steps = factors.len();
        say!(
            "estimates of {steps} steps: half within {half:.1} times, at most {most:.0} times off"
        );
    }
}

/// What a query must touch at least, and how far the estimates of its plan are off.
fn profile(database: &Database, query: &Query) -> Result<(Floor, Vec<f64>), Failure> {
    let request = Request {
        threads: Some(1),
        ..Request::new(query.text)
    };
    let mut run = database
        .start(&request)
        .map_err(crate::verbs::query::failure)?;
    run.enable_profile();
    run.run_folded().map_err(crate::verbs::query::failure)?;
    let floor = run.floor();
    let floor = Floor {
        touched_bytes: floor.touched_bytes,
        dependent_misses: floor.dependent_misses,
    };
    Ok((floor, run.q_errors()))
}

/// The size of the data, where departments tell one of the measured sizes.
fn count_universities(database: &Database) -> Result<Option<u32>, Failure> {
    // Only generated universities have departments; each has its own name beside them.
    const DEPARTED: &str = "PREFIX ub: <http://swat.cse.lehigh.edu/onto/univ-bench.owl#> \
        SELECT DISTINCT ?u WHERE { ?d ub:subOrganizationOf ?u . ?d a ub:Department }";
    let folded = database
        .start(&Request::new(DEPARTED))
        .and_then(|mut query| query.run_folded())
        .map_err(crate::verbs::query::failure)?;
    Ok(MEASURED
        .into_iter()
        .find(|known| u64::from(*known) == folded.rows))
}
