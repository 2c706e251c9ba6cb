//! L1 to L6 over data of `generate lsbench`: how long an evaluation takes, from slices of the windows to rows of terms.
//!
//! ```sh
//! somersault generate lsbench --users 10000 --seconds 6 -o social
//! cargo run --release -p somersault --example standing -- social [MS]
//! ```
//!
//! Each query runs alone over its streams up to MS (6,000); windows of 1 s are evaluated every 100 ms. The first ten evaluations,
//! of partial and growing windows, are left out. The whole run's time has reading, terms to ids, seals and commits in it.

use somersault::load::{self, Source, Unwatched, read_decompressed};
use somersault::{
    Database, HubStream, Options, Recording, Replay, ReplaySpan, read_standing, recorded,
};
use std::io::BufReader;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use workload::lsbench::{Constants, Dialect, Lsbench, Question, Rate, Span, StartPoint, Stream};

/// The binary's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Evaluations that are left out.
const GROWING: usize = 10;

fn stored(folder: &Path) -> Database {
    let options = Options {
        memory_is_writable: true,
        ..Options::default()
    };
    let request = load::Request {
        graph: Some("http://lsbench.example/graph/initial".to_owned()),
        ..load::Request::default()
    };
    let source = Source::path(folder.join("initial.nt"));
    let loaded = load::load_in_memory(vec![source], &request, &options, &Unwatched);
    loaded.expect("the stored data").0
}

fn recordings(folder: &Path, text: &str) -> Vec<Recording<'static>> {
    let named = Stream::ALL.into_iter();
    let named = named.filter(|stream| {
        text.contains(&format!("<{}>", stream.iri()))
            || text.contains(&format!("s:{} ", stream.short_name()))
    });
    named
        .map(|stream| {
            let file = folder.join(stream.file_name());
            let bytes = read_decompressed(&file).expect("the recording");
            let name = file.to_string_lossy().into_owned();
            Recording {
                stream: HubStream {
                    absorb: (stream == Stream::Positions).then(Vec::new),
                    ..HubStream::new(&stream.iri())
                },
                items: Box::new(recorded(
                    Some(&name),
                    BufReader::with_capacity(1 << 18, bytes),
                )),
            }
        })
        .collect()
}

fn start(question: Question, constants: Constants) -> StartPoint {
    StartPoint {
        user: constants.l1_user,
        person: match question {
            Question::L3 => constants.l3_person,
            _ => constants.l2_person,
        },
        group: 1,
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().expect("a folder of generate lsbench"));
    let until_ms = arguments
        .next()
        .map_or(6_000, |text| text.parse().expect("milliseconds"));
    let users = arguments
        .next()
        .map_or(1_000, |text| text.parse().expect("a number"));
    let data = Lsbench::new(users, 0).expect("so many users");
    let constants = data.constants(Span::seconds((until_ms / 1000) as u32, Rate::PUBLISHED));
    println!("query  evaluations   rows  median us  p99 us  whole run s");
    for question in Question::MIX_B {
        let database = stored(&folder);
        let text = question.text(Dialect::CSparql, start(question, constants));
        let query = read_standing(&database, &text).expect("a standing query");
        let span = ReplaySpan {
            from_ms: Some(0),
            until_ms: Some(until_ms),
            ..ReplaySpan::default()
        };
        let recordings = recordings(&folder, &text);
        let queries = vec![(question.name().to_owned(), query)];
        let replay = Replay::new(database, recordings, queries, span).expect("it is registered");
        let mut times: Vec<Duration> = Vec::new();
        let mut rows = 0;
        let begun = Instant::now();
        let ran = replay.run(&mut |_| {}, &mut |report| {
            times.push(report.exec);
            rows = report.rows.len();
            ControlFlow::Continue(())
        });
        ran.expect("it runs");
        let mut steady = times.split_off(GROWING.min(times.len()));
        steady.sort_unstable();
        let at = |part: usize| {
            let time = steady.get(steady.len() * part / 100);
            time.map_or(0.0, |time| time.as_nanos() as f64 / 1e3)
        };
        println!(
            "{:5} {:12} {rows:6} {:10.1} {:7.1} {:12.2}",
            question.name(),
            steady.len(),
            at(50),
            at(99),
            begun.elapsed().as_secs_f64(),
        );
    }
}
