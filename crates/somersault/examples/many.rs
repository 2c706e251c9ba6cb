//! L1 to L3 over data of `generate lsbench`, for few and for many start points at once: what a step costs when the same
//! matches, and what registering takes.
//!
//! ```sh
//! somersault generate lsbench --users 10000 --seconds 6 -o social
//! cargo run --release -p somersault --example many -- social [FEW] [MANY] [MS]
//! ```
//!
//! Each of the three is registered as one template, once with FEW (1,000) start points, all of which are in the data, and
//! once with these and further ones that are not, MANY (1,000,000) in all. Each runs over its streams up to MS (6,000);
//! windows of 1 s are evaluated every 100 ms. The first ten evaluations, of partial and growing windows, are left out. An evaluation
//! is from slices of the windows to rows of terms, dealt out to the instances. What matched has to be the same.

use somersault::load::{self, Source, Unwatched, read_decompressed};
use somersault::{Binding, Bindings, Database, Hub, HubStream, Options, TimedQuads, recorded};
use std::collections::BTreeMap;
use std::io::BufReader;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use workload::lsbench::{Dialect, Question, Stream};

/// The binary's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Evaluations that are left out.
const GROWING: usize = 10;
/// No data set has users or persons of such numbers.
const NOWHERE: u64 = 1 << 40;
/// The grain of all streams (milliseconds).
const STEP_MS: u64 = 100;

fn stored(folder: &Path) -> Database {
    let options = Options {
        memory_is_writable: true,
        query_memory_bytes: 2 << 30,
        memory_pool_bytes: 4 << 30,
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

/// The items of a stream up to a moment, by batch.
fn items(folder: &Path, stream: Stream, until_ms: u64) -> BTreeMap<u64, Vec<TimedQuads>> {
    let file = folder.join(stream.file_name());
    let bytes = read_decompressed(&file).expect("the recording");
    let name = file.to_string_lossy().into_owned();
    let mut batches: BTreeMap<u64, Vec<TimedQuads>> = BTreeMap::new();
    for item in recorded(Some(&name), BufReader::with_capacity(1 << 18, bytes)) {
        let item = item.expect("a line of a recording");
        if item.time_ms >= until_ms {
            break;
        }
        batches
            .entry(item.time_ms / STEP_MS)
            .or_default()
            .push(item);
    }
    batches
}

/// The text with a parameter for its start point.
fn template(question: Question) -> String {
    let text = question.template(Dialect::CSparql);
    let text = text.replace("%User", "?start").replace("%Person", "?start");
    format!("#@ report=close,rows\n{text}")
}

fn start(question: Question, number: u64) -> Binding {
    let iri = match question {
        Question::L1 => format!("http://www.ins.cwi.nl/sib/user/u{number}"),
        _ => format!("http://www.ins.cwi.nl/sib/person/p{number}"),
    };
    Binding {
        name: None,
        terms: vec![oxrdf::NamedNode::new_unchecked(iri).into()],
    }
}

struct Found {
    registered: Duration,
    held_bytes: u64,
    resident_bytes: u64,
    rows: usize,
    median: Duration,
    slowest: Duration,
}

/// Resident memory of the process (bytes); 0 where the system does not say.
fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split_whitespace().nth(1);
    pages.and_then(|it| it.parse::<u64>().ok()).unwrap_or(0) * 4096
}

/// Few instances that match, and others that do not.
fn starts<'b>(question: Question, [few, instances]: [u64; 2]) -> Bindings<'b> {
    Bindings {
        parameters: vec!["start".to_owned()],
        rows: Box::new((0..instances).map(move |number| {
            let nowhere = if number < few { 0 } else { NOWHERE };
            Ok(start(question, nowhere + number))
        })),
    }
}

fn run(folder: &Path, question: Question, [few, instances]: [u64; 2], until_ms: u64) -> Found {
    let mut hub = Hub::new(stored(folder));
    let text = template(question);
    let streams: Vec<Stream> = Stream::ALL
        .into_iter()
        .filter(|stream| text.contains(&format!("<{}>", stream.iri())))
        .collect();
    for stream in &streams {
        let settings = HubStream {
            absorb: (*stream == Stream::Positions).then(Vec::new),
            ..HubStream::new(&stream.iri())
        };
        hub.create(&settings, 0).expect("it is made");
    }
    let before = resident_bytes();
    let begun = Instant::now();
    let bindings = starts(question, [few, instances]);
    let made = hub.register_table(&text, question.name(), bindings, 0);
    let registered = begun.elapsed();
    assert_eq!(made.expect("it is registered").1, instances);
    let resident = resident_bytes().saturating_sub(before);
    let held = hub.queries()[0].template.as_ref().map_or(0, |it| it.bytes);
    let mut batches: Vec<_> = streams
        .iter()
        .map(|stream| (stream.iri(), items(folder, *stream, until_ms)))
        .collect();
    let (mut rows, mut times) = (0, BTreeMap::<u64, Duration>::new());
    for step in 0..until_ms / STEP_MS {
        for (stream, batches) in &mut batches {
            if let Some(items) = batches.remove(&step) {
                hub.push(stream, "source", None, &items, None)
                    .expect("they are taken");
            }
            let until = (step + 1) * STEP_MS;
            hub.watermark(stream, "source", until).expect("it is there");
        }
        let ran = hub.advance(&mut |somersault::Reported { report, .. }| {
            assert_eq!(report.failure, None);
            rows += report.rows.len();
            times.insert(report.close_ms, report.exec);
            Ok(ControlFlow::Continue(()))
        });
        assert!(ran.expect("it runs").is_continue());
    }
    let mut steady: Vec<Duration> = times.into_values().skip(GROWING).collect();
    steady.sort_unstable();
    let at = |part: usize| {
        steady
            .get(steady.len() * part / 100)
            .copied()
            .unwrap_or_default()
    };
    if std::env::var_os("SHOW_PLAN").is_some() {
        let plan = hub.explain(question.name()).expect("it is there");
        println!("{}", plan.unwrap_or_default());
    }
    Found {
        registered,
        held_bytes: held,
        resident_bytes: resident,
        rows,
        median: at(50),
        slowest: at(99),
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().expect("a folder of generate lsbench"));
    let mut number = |otherwise: u64| {
        let text = arguments.next();
        text.map_or(otherwise, |text| text.parse().expect("a number"))
    };
    let (few, many, until_ms) = (number(1_000), number(1_000_000), number(6_000));
    println!("query  instances  registered s  held MB  resident MB     rows  median us    p99 us");
    for question in Question::MIX_A {
        for instances in [few, many] {
            let found = run(&folder, question, [few, instances], until_ms);
            let us = |time: Duration| time.as_nanos() as f64 / 1e3;
            println!(
                "{:5} {instances:10} {:13.2} {:8.1} {:12.1} {:8} {:10.1} {:9.1}",
                question.name(),
                found.registered.as_secs_f64(),
                found.held_bytes as f64 / 1e6,
                found.resident_bytes as f64 / 1e6,
                found.rows,
                us(found.median),
                us(found.slowest),
            );
        }
    }
}
