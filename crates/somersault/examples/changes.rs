//! What changes cost: insertion, layers under the LUBM queries, a large document, many writers.
//!
//! `cargo run --release -p somersault --example changes -- [UNIVERSITIES] [BATCHES] [DIRECTORY] [insert]`
//!
//! With `insert` it ends after its first figure, which is nothing but insertion.
//! The graph is inserted in batches of `INSERT DATA`, each durable, into an empty store; then the
//! queries run over the layers as they are, after a checkpoint, and over the same graph bulk loaded.
//! Floors: a triple is two edges of 4 to 12 bytes in segments, its text about 150 bytes to be read
//! and about 40 in the log; a sync of the log costs what the disk takes.

use somersault::load::{self, Source, Syntax, Unwatched};
use somersault::terms::format::Format;
use somersault::{
    Committed, Database, GraphTarget, GraphWrite, Options, Request, UpdateRequest, WriteMode,
};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use workload::lubm::{Lubm, Parameters};
use workload::queries::QUERIES;

/// Threads of single insertions.
const WRITERS: usize = 16;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let universities: u32 = arguments
        .next()
        .map_or(5, |text| text.parse().expect("a number"));
    let batches: usize = arguments
        .next()
        .map_or(1000, |text| text.parse().expect("a number"));
    let home = arguments
        .next()
        .map_or_else(std::env::temp_dir, PathBuf::from);
    let home = home.join(format!("somersault-changes-{}", std::process::id()));
    std::fs::create_dir(&home).expect("a directory that can be written");
    let text = lubm(universities);
    let lines: Vec<&str> = text.lines().collect();
    println!(
        "LUBM-{universities}: {} lines, {} bytes",
        lines.len(),
        text.len()
    );
    if arguments.next().is_some_and(|only| only == "insert") {
        insert(&home.join("evolving"), &lines, batches);
        std::fs::remove_dir_all(&home).expect("what was made can be removed");
        return;
    }
    let bulk = bulk(&text);
    evolve(&home.join("evolving"), &lines, batches, &bulk);
    document(&home.join("document"), &lines);
    writers(&home.join("writers"));
    std::fs::remove_dir_all(&home).expect("what was made can be removed");
}

fn lubm(universities: u32) -> String {
    let parameters = Parameters::standard(universities);
    let lubm = Lubm::new(parameters, workload::lubm::Syntax::NTriples).expect("a generator");
    let mut text = lubm.header().to_vec();
    for university in lubm.parameters().indices() {
        lubm.append_university(university, &mut text);
    }
    String::from_utf8(text).expect("N-Triples are UTF-8")
}

fn bulk(text: &str) -> Database {
    let source = Source::reader("lubm.nt", text.as_bytes()).with_syntax(Syntax::NTriples);
    let request = load::Request::default();
    let loaded = load::load_in_memory(vec![source], &request, &options(), &Unwatched);
    loaded.expect("it loads").0
}

fn options() -> Options {
    Options {
        query_threads: 1,
        query_memory_bytes: 4 << 30,
        memory_pool_bytes: 8 << 30,
        text_max_bytes: 1 << 30,
        ..Options::default()
    }
}

fn insert(home: &Path, lines: &[&str], batches: usize) -> Database {
    let database = Database::open_writable(home, &options()).expect("a new store");
    let size = lines.len().div_ceil(batches);
    let (mut elapsed, mut parse, mut slowest) = <(Duration, Duration, Duration)>::default();
    for batch in lines.chunks(size) {
        let text = format!("INSERT DATA {{\n{}\n}}", batch.join("\n"));
        let begun = Instant::now();
        parse += update(&database, &text).parse;
        let taken = begun.elapsed();
        elapsed += taken;
        slowest = slowest.max(taken);
    }
    println!(
        "INSERT DATA, {size} triples a batch: {:.0} triples/s, slowest batch {slowest:?}; reading \
         the text is {:.0} % of it",
        lines.len() as f64 / elapsed.as_secs_f64(),
        100.0 * parse.as_secs_f64() / elapsed.as_secs_f64()
    );
    database
}

fn evolve(home: &Path, lines: &[&str], batches: usize, bulk: &Database) {
    let database = insert(home, lines, batches);
    figures("after the last batch", &database);
    let layered = medians(&database);
    std::thread::sleep(Duration::from_secs(2));
    figures("two seconds later", &database);
    let settled = medians(&database);
    let begun = Instant::now();
    database.compact().expect("a checkpoint");
    println!("checkpoint: {:?}", begun.elapsed());
    let compacted = medians(&database);
    let loaded = medians(bulk);
    println!("query  bulk loaded  layers  later  written out");
    for (number, query) in QUERIES.iter().enumerate() {
        let base = loaded[number].as_secs_f64();
        let ratio = |times: &[Duration]| times[number].as_secs_f64() / base;
        println!(
            "{:5}  {:>9.1} us  {:.2}x  {:.2}x  {:.2}x",
            query.name,
            base * 1e6,
            ratio(&layered),
            ratio(&settled),
            ratio(&compacted)
        );
    }
    drop(database);
    let begun = Instant::now();
    let database = Database::open_writable(home, &options()).expect("the store");
    println!(
        "open, written out: {:?}, {} quads",
        begun.elapsed(),
        database.graph().quads
    );
}

fn update(database: &Database, text: &str) -> Committed {
    let request = UpdateRequest {
        text,
        ..UpdateRequest::default()
    };
    database.update(&request).expect("an update")
}

fn figures(when: &str, database: &Database) {
    let figures = database.change_figures().expect("a store that changes");
    let quads = figures.layer_quads.max(1) as f64;
    println!(
        "{when}: {} layers, {} quads at {:.1} bytes, terms {:.1} bytes a quad, {} merges, {} \
         checkpoints, log {:?}",
        figures.layers,
        figures.layer_quads,
        figures.layer_bytes as f64 / quads,
        figures.term_bytes as f64 / quads,
        figures.merges,
        figures.checkpoints,
        figures
            .log
            .map(|log| (log.records, log.syncs, log.kept_bytes)),
    );
}

/// The median time of each query, text to last id.
fn medians(database: &Database) -> Vec<Duration> {
    let median = |text: &str| {
        let mut times: Vec<Duration> = Vec::new();
        let begun = Instant::now();
        while times.len() < 9 || begun.elapsed() < Duration::from_millis(200) {
            let run = Instant::now();
            let mut query = database.start(&Request::new(text)).expect("a query");
            query.run_folded().expect("an answer");
            times.push(run.elapsed());
        }
        times.sort();
        times[times.len() / 2]
    };
    QUERIES.iter().map(|query| median(query.text)).collect()
}

/// A million lines as one document.
fn document(home: &Path, lines: &[&str]) {
    let database = Database::open_writable(home, &options()).expect("a new store");
    let lines = &lines[..lines.len().min(1_000_000)];
    let text = lines.join("\n") + "\n";
    let begun = Instant::now();
    let written = database.write_graph(GraphWrite {
        target: GraphTarget::Default,
        mode: WriteMode::Add,
        format: Format::NTriples,
        base: None,
        body: &mut text.as_bytes(),
        timeout: None,
    });
    let inserted = written.expect("a document").committed.inserted;
    let elapsed = begun.elapsed();
    println!(
        "document of {} lines ({inserted} new): {:.0} triples/s",
        lines.len(),
        lines.len() as f64 / elapsed.as_secs_f64()
    );
    figures("after the document", &database);
    drop(database);
    let begun = Instant::now();
    let database = Database::open_writable(home, &options()).expect("the store");
    println!(
        "open, replayed: {:?}, {} quads",
        begun.elapsed(),
        database.graph().quads
    );
}

/// Single insertions of many threads, each durable.
fn writers(home: &Path) {
    let database = Database::open_writable(home, &options()).expect("a new store");
    let begun = Instant::now();
    let time = Duration::from_secs(3);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let database = &database;
            let work = move || {
                let mut number = 0;
                while begun.elapsed() < time {
                    let text =
                        format!("INSERT DATA {{ <http://e/{writer}> <http://e/p> {number} }}");
                    update(database, &text);
                    number += 1;
                }
            };
            let thread = std::thread::Builder::new().stack_size(4 << 20);
            thread.spawn_scoped(scope, work).expect("a thread");
        }
    });
    let elapsed = begun.elapsed().as_secs_f64();
    let log = database
        .change_figures()
        .and_then(|figures| figures.log)
        .expect("a log");
    println!(
        "{WRITERS} writers of single triples: {:.0} updates/s, {:.0} syncs/s, {:.1} updates a sync",
        log.records as f64 / elapsed,
        log.syncs as f64 / elapsed,
        log.records as f64 / log.syncs.max(1) as f64
    );
    figures("after them", &database);
}
