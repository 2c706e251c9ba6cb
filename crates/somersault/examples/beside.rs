//! Readers beside a writer, and a reader that holds a snapshot for long.
//!
//! `cargo run --release -p somersault --example beside -- STORE.nt|.ttl [PAIRS] [SECONDS]`
//!
//! The file is loaded into a new store. Then runs of queries beside a writer of 50,000 triples a second
//! take turns with runs beside a loop that spends the same processor time on nothing; what is printed
//! is the median of the ratios of their times, with the interval that holds 95 % of medians
//! (order statistics). Then one snapshot is held while 500 commits a second are made.

use somersault::Graph;
use somersault::load::{self, Source, Unwatched};
use somersault::{Database, Options, Request, UpdateRequest};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use workload::queries::by_name;

/// Triples a second, in batches.
const RATE: u64 = 50_000;
/// Triples of a batch.
const BATCH: u64 = 500;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().expect("a file of LUBM data");
    let pairs: usize = arguments
        .next()
        .map_or(200, |text| text.parse().expect("a number"));
    let seconds: u64 = arguments
        .next()
        .map_or(60, |text| text.parse().expect("a number"));
    let home = std::env::temp_dir().join(format!("somersault-beside-{}", std::process::id()));
    let sources = vec![Source::path(&file)];
    load::load(&home, sources, &load::Request::default(), &Unwatched).expect("it loads");
    let options = Options {
        query_threads: 1,
        ..Options::default()
    };
    let database = Database::open_writable(&home, &options).expect("the store");
    database.wait_until_verified().expect("a sound store");
    beside(
        &database,
        "light",
        &["q4", "q5", "q6", "q9", "q10", "q11"],
        40,
        pairs,
    );
    beside(&database, "heavy", &["q1", "q2", "q3", "q7"], 1, pairs);
    hold(&database, Duration::from_secs(seconds));
    drop(database);
    std::fs::remove_dir_all(&home).expect("what was made can be removed");
}

/// What runs beside the queries.
#[derive(Clone, Copy, PartialEq)]
enum Other {
    Writer,
    /// Spends so many nanoseconds in a second.
    Loop(u64),
}

fn beside(database: &Database, name: &str, queries: &[&str], repeats: usize, pairs: usize) {
    let texts: Vec<&str> = queries
        .iter()
        .map(|name| by_name(name).expect("a query").text)
        .collect();
    let run = || {
        let begun = Instant::now();
        for _ in 0..repeats {
            for text in &texts {
                let mut query = database.start(&Request::new(text)).expect("a query");
                query.run_folded().expect("an answer");
            }
        }
        begun.elapsed()
    };
    run();
    let spent = AtomicU64::new(0);
    let mut ratios: Vec<f64> = Vec::with_capacity(pairs);
    let mut share = RATE;
    for pair in 0..pairs {
        let writer = with(database, Other::Writer, &spent, &run);
        share = spent.load(Ordering::Relaxed).max(1);
        let idle = with(database, Other::Loop(share), &spent, &run);
        if pair > 0 {
            ratios.push(writer.as_secs_f64() / idle.as_secs_f64());
        }
    }
    ratios.sort_by(f64::total_cmp);
    let place = |share: f64| ratios[((ratios.len() - 1) as f64 * share) as usize];
    let half = 0.98 / (ratios.len() as f64).sqrt();
    println!(
        "{name}: median ratio {:.3} [{:.3}, {:.3}] over {} pairs; the writer spends {:.0} % of a \
         processor",
        place(0.5),
        place((0.5 - half).max(0.0)),
        place((0.5 + half).min(1.0)),
        ratios.len(),
        share as f64 / 1e7
    );
}

/// Runs the queries beside something else; gives their time, and leaves in `spent` the nanoseconds of
/// a second that the other spent.
fn with(
    database: &Database,
    other: Other,
    spent: &AtomicU64,
    run: &dyn Fn() -> Duration,
) -> Duration {
    let stop = AtomicBool::new(false);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(4 << 20);
        let work = || {
            let mut number = 0;
            let mut busy = Duration::ZERO;
            while !stop.load(Ordering::Relaxed) {
                let tick = Duration::from_nanos(1_000_000_000 * BATCH / RATE);
                let started = Instant::now();
                match other {
                    Other::Writer => insert(database, BATCH, &mut number),
                    Other::Loop(nanos) => {
                        let most = Duration::from_nanos(nanos * BATCH / RATE);
                        while started.elapsed() < most {
                            std::hint::spin_loop();
                        }
                    }
                }
                let elapsed = started.elapsed();
                busy += elapsed;
                std::thread::sleep(tick.saturating_sub(elapsed));
            }
            busy
        };
        let other_thread = thread.spawn_scoped(scope, work).expect("a thread");
        // Until it is at work.
        std::thread::sleep(Duration::from_millis(5));
        let time = run();
        stop.store(true, Ordering::Relaxed);
        let busy = other_thread.join().expect("no panic");
        if other == Other::Writer {
            let share = busy.as_secs_f64() / begun.elapsed().as_secs_f64();
            spent.store((share * 1e9) as u64, Ordering::Relaxed);
        }
        time
    })
}

/// Inserts a batch of triples nobody has.
fn insert(database: &Database, count: u64, number: &mut u64) {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let first = NEXT.fetch_add(count, Ordering::Relaxed);
    let mut text = String::from("INSERT DATA {");
    for number in first..first + count {
        let student = number / 5;
        let _ = write!(
            text,
            " <http://www.Live.edu/Student{student}> \
             <http://swat.cse.lehigh.edu/onto/univ-bench.owl#takesCourse> \
             <http://www.Live.edu/Course{}> .",
            number % 10_007
        );
    }
    text.push_str(" }");
    *number += count;
    let request = UpdateRequest {
        text: &text,
        ..UpdateRequest::default()
    };
    database.update(&request).expect("an update");
}

/// Holds a snapshot while others commit.
fn hold(database: &Database, time: Duration) {
    let held = database.graph();
    let before = (quads(&held), resident());
    let begun = Instant::now();
    let mut times: Vec<Duration> = Vec::new();
    let mut number = 0;
    let mut most = 0;
    while begun.elapsed() < time {
        let commit = Instant::now();
        insert(database, 1, &mut number);
        times.push(commit.elapsed());
        most = most.max(resident());
        let due = begun + Duration::from_millis(2) * times.len() as u32;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    times.sort();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!(
        "held for {time:?}: {} commits, {:.0} a second, p50 {:?}, p99 {:?}; resident {} MiB before, \
         {} MiB at most; the snapshot holds {} quads as before: {}",
        times.len(),
        times.len() as f64 / begun.elapsed().as_secs_f64(),
        at(0.5),
        at(0.99),
        before.1 >> 20,
        most >> 20,
        before.0,
        quads(&held) == before.0
    );
}

fn quads(graph: &Graph) -> u64 {
    somersault::dump::all(graph, &mut |_| Ok(())).expect("a graph")
}

/// Bytes resident, by the kernel.
fn resident() -> u64 {
    let status = std::fs::read_to_string(Path::new("/proc/self/statm")).unwrap_or_default();
    let pages = status
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}
