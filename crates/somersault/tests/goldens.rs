//! Standing queries over recorded streams, in process: golden answers of others, and random cases against the naive
//! oracle, each in every dialect that can say it.
//!
//! Golden files lie in the folder of the streams beside the checkout; where it is not there, that is said and nothing of
//! them is checked.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use oxrdf::Dataset;
use somersault::load::{self, Source, Unwatched};
use somersault::{
    Database, HubStream, Options, Recording, Replay, ReplaySpan, ReportKind, StandingReport,
    TimedQuads, read_standing,
};
use std::fmt::Write;
use std::ops::ControlFlow;
use testkit::compare::Blanks;
use testkit::naive::WORK_MAX;
use testkit::random::Random;
use testkit::standing::goldens::{self, GoldenRun};
use testkit::standing::{
    Absorbed, Reported, StandingCase, check, expected, random_standing, smaller,
};
use testkit::{Answer, TRIPLE_COLUMNS, seeds};

/// A database in memory that can be changed, with these quads.
fn stored(dataset: &Dataset) -> Database {
    let mut text = String::new();
    for quad in dataset {
        let _ = writeln!(text, "{quad} .");
    }
    let source = Source::reader("stored.nq", text.as_bytes());
    let options = Options {
        memory_is_writable: true,
        ..Options::default()
    };
    let request = load::Request {
        threads: 1,
        ..load::Request::default()
    };
    let loaded = load::load_in_memory(vec![source], &request, &options, &Unwatched);
    loaded.expect("the case's data are loaded").0
}

/// The recordings of a case: each stream's items in the order of their arrival.
fn recordings(case: &StandingCase) -> Vec<Recording<'_>> {
    let recording = |(place, stream): (usize, &testkit::standing::PlainStream)| Recording {
        stream: HubStream {
            grain_ms: stream.grain_ms,
            lateness_ms: stream.lateness_ms,
            absorb: match &stream.absorbed {
                Absorbed::All => None,
                Absorbed::Nothing => Some(Vec::new()),
                Absorbed::Only(predicates) => {
                    Some(predicates.iter().map(|it| it.as_str().to_owned()).collect())
                }
            },
            into: match &stream.into {
                oxrdf::GraphName::NamedNode(graph) => Some(graph.as_str().to_owned()),
                _ => None,
            },
            ..HubStream::new(stream.iri.as_str())
        },
        items: Box::new(
            case.items
                .iter()
                .filter(move |it| it.stream == place)
                .map(|item| {
                    Ok(TimedQuads {
                        time_ms: item.time_ms,
                        quads: item.quads.clone(),
                    })
                }),
        ),
    };
    case.streams.iter().enumerate().map(recording).collect()
}

/// What a text reports over the streams of a case up to a moment.
fn reports(case: &StandingCase, text: &str, until_ms: u64) -> Result<Vec<Reported>, String> {
    let database = stored(&case.stored);
    let query = read_standing(&database, text).map_err(|error| error.to_string())?;
    let span = ReplaySpan {
        from_ms: case.streams.iter().map(|stream| stream.begin_ms).min(),
        registered_ms: Some(case.question.registered_ms),
        until_ms: Some(until_ms),
    };
    let queries = vec![("q".to_owned(), query)];
    let replay = Replay::new(database, recordings(case), queries, span);
    let replay = replay.map_err(|error| error.to_string())?;
    let mut reports = Vec::new();
    let ran = replay.run(&mut |_| {}, &mut |report| {
        reports.push(reported(report));
        ControlFlow::Continue(())
    });
    ran.map_err(|error| error.to_string())?;
    Ok(reports)
}

fn reported(report: StandingReport) -> Reported {
    let rows: Vec<testkit::Row> = report.rows.into_iter().map(|row| row.0).collect();
    Reported {
        close_ms: report.close_ms,
        answer: match report.kind {
            ReportKind::Boolean => Answer::Boolean(!rows.is_empty()),
            ReportKind::Solutions => Answer::Rows {
                variables: report.variables,
                rows,
            },
            ReportKind::Graph => Answer::Rows {
                variables: TRIPLE_COLUMNS.map(str::to_owned).to_vec(),
                rows,
            },
        },
    }
}

/// Checks golden runs in every dialect; gives the number of reports compared.
fn check_golden(
    name: &str,
    runs: impl Iterator<Item = Result<GoldenRun, goldens::GoldenError>>,
) -> usize {
    let mut compared = 0;
    for run in runs {
        let run = run.unwrap();
        let printed = run.case.question.texts(&run.case.streams);
        assert!(!printed.is_empty(), "{} can be said", run.name);
        for (dialect, text) in printed.iter().chain(&run.texts) {
            let checked = goldens::check(std::iter::once(Ok(run.clone())), &mut |run| {
                reports(&run.case, text, run.until_ms)
            });
            compared += checked.unwrap_or_else(|why| panic!("{dialect:?}: {why}\n{text}"));
        }
    }
    eprintln!("{name}: {compared} reports");
    compared
}

/// The folder of the streams; where it is absent, says so.
fn streams(test: &str) -> Option<std::path::PathBuf> {
    let folder = goldens::folder();
    if folder.is_none() {
        eprintln!("SKIPPED {test}: no folder shared/streams beside the checkout");
    }
    folder
}

#[test]
fn boundary_vectors_are_reported() {
    let Some(folder) = streams("the boundary vectors") else {
        return;
    };
    let runs = goldens::boundary_vectors(&folder).unwrap();
    assert!(check_golden("boundary vectors", runs.into_iter().map(Ok)) > 150);
}

#[test]
fn csrbench_is_reported() {
    let Some(folder) = streams("CSRBench") else {
        return;
    };
    assert!(check_golden("CSRBench", goldens::csrbench(&folder)) > 100);
}

#[test]
fn citybench_is_reported() {
    let Some(folder) = streams("CityBench") else {
        return;
    };
    let until_ms = if seeds::is_long() { 60_000 } else { 8_000 };
    assert!(check_golden("CityBench", goldens::citybench(&folder, until_ms)) > 50);
}

#[test]
fn lsbench_is_reported() {
    let Some(folder) = streams("LSBench") else {
        return;
    };
    let until_ms = if seeds::is_long() { 6_000 } else { 1_200 };
    assert!(check_golden("LSBench", goldens::lsbench(&folder, until_ms)) > 30);
}

/// What is wrong with the reports of a case, in any dialect.
fn complaint(case: &StandingCase, until_ms: u64) -> Option<String> {
    let Ok(Some(wanted)) = expected(case, until_ms, WORK_MAX) else {
        return None;
    };
    for (dialect, text) in case.question.texts(&case.streams) {
        let complaint = match reports(case, &text, until_ms) {
            Ok(given) => check(&wanted, &given, &Blanks::Search).err(),
            Err(error) => Some(error),
        };
        if let Some(complaint) = complaint {
            return Some(format!("{dialect:?}: {complaint}\n{text}"));
        }
    }
    None
}

#[test]
fn random_cases_are_reported_as_by_definition() {
    let mut asked = 0;
    for seed in seeds::chosen(500, 200_000) {
        let mut random = Random::new(seed);
        let (case, until_ms) = random_standing(&mut random);
        if expected(&case, until_ms, WORK_MAX).is_ok_and(|wanted| wanted.is_some()) {
            asked += 1;
        }
        if complaint(&case, until_ms).is_some() {
            let small = smaller(&case, &mut |case| complaint(case, until_ms).is_some());
            let why = complaint(&small, until_ms).unwrap_or_default();
            panic!("seed {seed}: {why}\nuntil {until_ms}\n{small}");
        }
    }
    assert!(asked > 0, "no case was asked");
    eprintln!("{asked} random cases");
}
