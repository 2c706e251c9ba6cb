//! CityBench: what an evaluation of C1 to C11 takes, beside the figures that Wukong+S published.
//!
//! ```sh
//! cargo run --release -p somersault --example citybench -- [ROUNDS]
//! ```
//!
//! The sensors' rows are replayed at one a second, windows are 3 s by 1 s, and every query runs over the data that are stored
//! for it, ROUNDS (5) times over all 58 windows. Every report is compared with its golden answer: the full query, while the
//! published figures are of its basic graph pattern alone, whose unconnected parts were not joined. What is timed is an
//! evaluation from its windows to rows, as ids and as terms; the first of a round plans.
//!
//! Data and answers lie in `shared/streams` beside the checkout; where they do not, that is said and nothing is measured.

use oxrdf::Dataset;
use somersault::load::{self, Source, Unwatched};
use somersault::{
    Database, HubStream, Options, Recording, Replay, ReplaySpan, StandingReport, TimedQuads,
    read_standing,
};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::time::Duration;
use testkit::Row;
use testkit::standing::goldens::{self, GoldenRun};

/// The binary's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The last close of the golden answers (milliseconds).
const UNTIL_MS: u64 = 60_000;
/// What Wukong+S took for C1 to C11 (milliseconds): table 9 of its paper.
const PUBLISHED_MS: [f64; 11] = [
    0.24, 0.37, 0.26, 0.98, 0.94, 0.26, 0.24, 0.27, 1.15, 0.78, 0.16,
];

fn main() {
    let rounds = std::env::args().nth(1);
    let rounds: u32 = rounds.map_or(5, |text| text.parse().expect("a number of rounds"));
    let Some(folder) = goldens::folder() else {
        println!("SKIPPED: no folder shared/streams beside the checkout");
        return;
    };
    println!(
        "{:4} {:>8} {:>10} {:>10} {:>10} {:>10} {:>10} {:>8}",
        "", "rows", "ids", "least", "p99", "terms", "published", "times"
    );
    let (mut ours, mut theirs) = (0.0, 0.0);
    let runs = goldens::citybench(&folder, UNTIL_MS);
    for (run, published_ms) in runs.zip(PUBLISHED_MS) {
        let run = run.expect("the golden answers can be read");
        let median_ms = measured(&run, rounds, published_ms);
        ours += median_ms.ln();
        theirs += published_ms.ln();
    }
    let mean = |sum: f64| (sum / PUBLISHED_MS.len() as f64).exp();
    println!(
        "geometric mean: {:.4} ms, published {:.3} ms",
        mean(ours),
        mean(theirs)
    );
}

/// Evaluates a query so many times over all windows and prints what it took; gives the median (milliseconds).
fn measured(run: &GoldenRun, rounds: u32, published_ms: f64) -> f64 {
    let database = stored(&run.case.stored);
    let (mut ids, mut terms, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let reports = reports(run, &database);
        assert_eq!(reports.len(), run.wanted.len(), "{}: reports", run.name);
        for (report, wanted) in reports.into_iter().zip(&run.wanted) {
            ids.push(report.exec.saturating_sub(report.decoding));
            terms.push(report.exec);
            rows.push(report.rows.len());
            let given: Vec<Row> = report.rows.into_iter().map(|row| row.0).collect();
            let checked = wanted.rows.check(&given);
            checked.unwrap_or_else(|why| panic!("{} at {} ms: {why}", run.name, report.close_ms));
        }
    }
    for times in [&mut ids, &mut terms] {
        times.sort();
    }
    rows.sort_unstable();
    let median_ms = milliseconds(at(&ids, 0.5));
    println!(
        "{:4} {:8} {:>10} {:>10} {:>10} {:>10} {:>10} {:>8.1}",
        run.name.trim_start_matches("citybench "),
        rows[rows.len() / 2],
        format!("{median_ms:.4}"),
        format!("{:.4}", milliseconds(ids[0])),
        format!("{:.4}", milliseconds(at(&ids, 0.99))),
        format!("{:.4}", milliseconds(at(&terms, 0.5))),
        published_ms,
        published_ms / median_ms
    );
    median_ms
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn at(ascending: &[Duration], share: f64) -> Duration {
    ascending[((ascending.len() - 1) as f64 * share) as usize]
}

/// A database with these quads.
fn stored(dataset: &Dataset) -> Database {
    let mut text = String::new();
    for quad in dataset {
        let _ = writeln!(text, "{quad} .");
    }
    let source = Source::reader("stored.nq", text.as_bytes());
    let options = Options {
        memory_is_writable: true,
        query_threads: 1,
        ..Options::default()
    };
    let request = load::Request::default();
    let loaded = load::load_in_memory(vec![source], &request, &options, &Unwatched);
    loaded.expect("the stored data are loaded").0
}

/// What the published text reports. Nothing is stored of the streams, so that every round finds the same.
fn reports(run: &GoldenRun, database: &Database) -> Vec<StandingReport> {
    let (_, text) = &run.texts[0];
    let query = read_standing(database, text).expect("a standing query");
    let case = &run.case;
    let recording = |(place, stream): (usize, &testkit::standing::PlainStream)| Recording {
        stream: HubStream {
            grain_ms: stream.grain_ms,
            absorb: Some(Vec::new()),
            ..HubStream::new(stream.iri.as_str())
        },
        items: Box::new(
            case.items
                .iter()
                .filter(move |item| item.stream == place)
                .map(|item| {
                    Ok(TimedQuads {
                        time_ms: item.time_ms,
                        quads: item.quads.clone(),
                    })
                }),
        ),
    };
    let recordings = case.streams.iter().enumerate().map(recording).collect();
    let span = ReplaySpan {
        from_ms: Some(0),
        registered_ms: Some(case.question.registered_ms),
        until_ms: Some(run.until_ms),
    };
    let queries = vec![("q".to_owned(), query)];
    let replay = Replay::new(database.clone(), recordings, queries, span);
    let mut reports = Vec::new();
    let ran = replay.expect("a replay").run(&mut |_| {}, &mut |report| {
        reports.push(report);
        ControlFlow::Continue(())
    });
    ran.expect("it is replayed");
    reports
}
