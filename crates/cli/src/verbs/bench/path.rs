//! `bench path`: paths and cycles on a random graph of skewed degrees, in memory, on one thread.
//!
//! * `+` from the vertex with the most neighbours, beside a breadth-first search over the same edges
//!   in two arrays, which says what the machine needs for it;
//! * triangles and 4-cliques, as planned and with the intersections taken apart into expansions and
//!   checks (`Request::keep_checks`).
//!
//! Each pair must give the same rows, and every run those of the first.

use super::output;
use crate::arguments::BenchPath;
use crate::exit::{Code, Failure, Outcome};
use crate::settings;
use crate::verbs::{input, query};
use bench::figure::{Figure, Session};
use bench::graph::{Graph, VERTICES_MAX, vertex};
use bench::stats::Latencies;
use somersault::load::{Source, Syntax, Unwatched, load_in_memory};
use somersault::{Database, Options, Request};
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

const PREDICATE: &str = "urn:knows";
/// Time spent on the runs of a figure, at least, after [`RUNS_MIN`] of them.
const TIME_MIN: Duration = Duration::from_millis(500);
const RUNS_MIN: u64 = 5;
const _: () = assert!(
    VERTICES_MAX == 1_073_741_824,
    "the flags take what can be generated"
);

/// Each pattern with its name.
const CYCLES: [(&str, &str); 2] = [
    ("triangles", "?a <K> ?b . ?b <K> ?c . ?a <K> ?c"),
    (
        "4-cliques",
        "?a <K> ?b . ?a <K> ?c . ?a <K> ?d . ?b <K> ?c . ?b <K> ?d . ?c <K> ?d",
    ),
];

/// Runs the verb.
pub fn run(flags: &BenchPath, file: Option<&Path>) -> Outcome {
    let config = settings::check(&settings::layers(file)?)?;
    let options = Options::from(&config);
    let request = input::request(&config);
    let reached = Graph::skewed(flags.vertices, flags.edges, flags.seed);
    let mut figures = Vec::new();
    {
        let database = loaded(&reached, &request, &options)?;
        let session = session(&reached, flags.vertices);
        figures.extend(closure(&reached, &database, &session)?);
    }
    let listed = Graph::skewed(flags.clique_vertices, flags.clique_edges, flags.seed);
    let database = loaded(&listed, &request, &options)?;
    let session = session(&listed, flags.clique_vertices);
    for (name, pattern) in CYCLES {
        figures.extend(cycles(name, pattern, &database, &session)?);
    }
    output::put(&flags.output, &figures)
}

fn session(graph: &Graph, vertices: u32) -> Session {
    Session {
        bench: "path".to_owned(),
        data: format!("skewed-{vertices}-{}", graph.edges().len()),
        threads: 1,
    }
}

fn loaded(
    graph: &Graph,
    request: &somersault::load::Request,
    options: &Options,
) -> Result<Database, Failure> {
    let source = Source::reader("generated", graph.reader(PREDICATE));
    let syntax = Syntax::of_name("x.nt").expect("N-Triples is known");
    let sources = vec![source.with_syntax(syntax)];
    let loaded = load_in_memory(sources, request, options, &Unwatched);
    let (database, _) = loaded.map_err(|error| Failure::new(Code::Failed, error))?;
    Ok(database)
}

/// Everything that is reached from the vertex with the most neighbours, by both.
fn closure(graph: &Graph, database: &Database, session: &Session) -> Result<[Figure; 2], Failure> {
    let arrays = graph.arrays();
    let (expected, plain) = timed(|| Ok(black_box(&arrays).reached(0)))?;
    let text = format!("SELECT ?x {{ <{}> <{PREDICATE}>+ ?x }}", vertex(0));
    let (rows, walked) = timed(|| rows(database, &text, false))?;
    same("+", expected, rows)?;
    Ok([
        Figure::latency(session, "closure", rows, &walked),
        Figure::latency(session, "closure-arrays", expected, &plain),
    ])
}

/// A pattern as planned, and with its checks kept apart.
fn cycles(
    name: &str,
    pattern: &str,
    database: &Database,
    session: &Session,
) -> Result<[Figure; 2], Failure> {
    let pattern = pattern.replace("<K>", &format!("<{PREDICATE}>"));
    let text = format!("SELECT * {{ {pattern} }}");
    let (found, intersected) = timed(|| rows(database, &text, false))?;
    let (checked, apart) = timed(|| rows(database, &text, true))?;
    same(name, checked, found)?;
    let apart_name = format!("{name}-checks");
    Ok([
        Figure::latency(session, name, found, &intersected),
        Figure::latency(session, &apart_name, checked, &apart),
    ])
}

fn rows(database: &Database, text: &str, keep_checks: bool) -> Result<u64, Failure> {
    let request = Request {
        threads: Some(1),
        keep_checks,
        // By statistics alone, so that plans do not depend on what samples cost.
        sample_from: Some(Duration::MAX),
        ..Request::new(text)
    };
    let mut started = database.start(&request).map_err(query::failure)?;
    Ok(started.run_folded().map_err(query::failure)?.rows)
}

/// The times of several runs after a first, all of which must give the same.
fn timed(mut run: impl FnMut() -> Result<u64, Failure>) -> Result<(u64, Latencies), Failure> {
    let first = run()?;
    let mut latencies = Latencies::new();
    let begin = Instant::now();
    while latencies.runs() < RUNS_MIN || begin.elapsed() < TIME_MIN {
        let from = Instant::now();
        let rows = run()?;
        latencies.record(from.elapsed());
        same("two runs", first, rows)?;
    }
    Ok((first, latencies))
}

fn same(what: &str, expected: u64, found: u64) -> Outcome {
    if expected == found {
        return Ok(());
    }
    let message = format!("{what}: {found} rows where {expected} are right");
    Err(Failure::new(Code::Failed, message))
}
