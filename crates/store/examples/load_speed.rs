//! Measures a load: `load_speed UNIVERSITIES|FILE STORE THREADS [LIMIT_MIB]`.
//!
//! With a number, LUBM of that many universities is generated beside the load by one thread for
//! each that loads; with a file, that is read. Prints time and largest anonymous memory of each
//! phase (that of resolving counts as parsing), the rate, and the store's size by part.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use store::disk::RealDisk;
use store::load::{
    Advance, LoadOptions, LoadProgress, LoadReport, LoadWatch, Phase, Source, Syntax, load_into,
};
use workload::lubm::{Lubm, Parameters};

/// Notes the phase, and the largest anonymous memory seen in each.
#[derive(Default)]
struct Meter {
    phase: AtomicUsize,
    peaks_kib: [AtomicU64; Phase::ALL.len()],
    is_done: AtomicBool,
}

impl LoadProgress for Meter {
    fn advanced(&self, advance: Advance) {
        self.phase.store(advance.phase as usize, Ordering::Relaxed);
    }
}

impl Meter {
    fn sample(&self) {
        while !self.is_done.load(Ordering::Relaxed) {
            let phase = self.phase.load(Ordering::Relaxed);
            self.peaks_kib[phase].fetch_max(anonymous_kib(), Ordering::Relaxed);
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

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
    let meter = Meter::default();
    let watch = LoadWatch {
        progress: &meter,
        clock: &clock,
    };
    std::thread::scope(|scope| {
        scope.spawn(|| meter.sample());
        let report = load_into(
            &RealDisk,
            Path::new(location),
            vec![source],
            &options,
            watch,
        );
        let total = start.elapsed();
        meter.is_done.store(true, Ordering::Relaxed);
        match report {
            Ok(report) => print(&report, total, &meter),
            Err(error) => println!("error: {error}"),
        }
    });
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

fn print(report: &LoadReport, total: Duration, meter: &Meter) {
    for (phase, time) in &report.phases {
        let peak_mib = meter.peaks_kib[*phase as usize].load(Ordering::Relaxed) >> 10;
        println!(
            "{:>10} {:>8.3} s {peak_mib:>8} MiB",
            format!("{phase:?}"),
            time.as_secs_f64()
        );
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
