//! Measures a load: `load_speed UNIVERSITIES|FILE STORE THREADS [LIMIT_MIB]`.
//!
//! With a number, LUBM of that many universities is generated beside the load by one thread for
//! each that loads; with a file, that is read. Prints time, rate and share of each phase, the
//! largest anonymous memory that was seen, and the store's size by part.

use std::path::Path;
use std::time::{Duration, Instant};
use store::disk::RealDisk;
use store::load::{LoadOptions, Source, Syntax, Unwatched, Watch, load_into};
use workload::lubm::{Lubm, Parameters};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, location, threads, rest @ ..] = &arguments[..] else {
        eprintln!("usage: load_speed UNIVERSITIES|FILE STORE THREADS [LIMIT_MIB]");
        std::process::exit(2);
    };
    let threads: usize = threads.parse().expect("a number of threads");
    let mut options = LoadOptions::new(threads, *b"a key of 16 byte");
    options.memory_limit_bytes = rest
        .first()
        .map(|mib| mib.parse::<u64>().expect("a number of MiB") << 20);
    let source = match input.parse::<u32>() {
        Ok(universities) => generated(universities, threads),
        Err(_) => Source::path(input),
    };
    let start = Instant::now();
    let clock = move || start.elapsed();
    let watch = Watch {
        progress: &Unwatched,
        clock: &clock,
    };
    let stop = std::sync::atomic::AtomicBool::new(false);
    let peak_kib = std::thread::scope(|scope| {
        let sampler = scope.spawn(|| {
            let mut peak = 0;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                peak = peak.max(anonymous_kib());
                std::thread::sleep(Duration::from_millis(20));
            }
            peak
        });
        let report = load_into(
            &RealDisk,
            Path::new(location),
            vec![source],
            &options,
            watch,
        );
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        match report {
            Ok(report) => print(&report, start.elapsed()),
            Err(error) => println!("error: {error}"),
        }
        sampler.join().expect("the sampler does not panic")
    });
    println!("peak anonymous memory {} MiB", peak_kib >> 10);
    if let Ok(opened) = store::directory::open(&RealDisk, Path::new(location)) {
        for (name, bytes) in opened.sizes() {
            println!("{bytes:>12} {name}");
        }
    }
}

fn generated(universities: u32, threads: usize) -> Source<'static> {
    let parameters = Parameters::standard(universities);
    let lubm = Lubm::new(parameters, workload::lubm::Syntax::NTriples).expect("valid parameters");
    let chunks = lubm.chunks(threads).expect("threads can be had");
    Source::chunks("lubm", Syntax::NTriples, chunks.map(|chunk| chunk.bytes))
}

fn print(report: &store::load::LoadReport, total: Duration) {
    for (phase, time) in &report.phases {
        println!("{phase:>10?} {:>8.3} s", time.as_secs_f64());
    }
    let rate = report.statements as f64 / total.as_secs_f64();
    println!(
        "{:>10} {:>8.3} s, {rate:.0} statements/s",
        "total",
        total.as_secs_f64()
    );
    println!(
        "{} statements, {} quads, {} terms, {} bytes, retained at most {} MiB",
        report.statements,
        report.quads,
        report.terms,
        report.read_bytes,
        report.peak_retained_bytes >> 20
    );
}

/// Anonymous memory of this process, in KiB.
fn anonymous_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .unwrap_or(0)
}
