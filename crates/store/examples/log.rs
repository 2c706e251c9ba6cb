//! Measures the log on a real disk: `log FOLDER [SECONDS]`. The folder must exist; what is written
//! into it is removed. Records and syncs a second by number of writers, alone and with work between
//! a writer's records; large records; replay.

use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use store::disk::RealDisk;
use store::log::{FileLog, Log, OpenOptions};

fn open(store: &Path, gather: Duration) -> FileLog {
    let options = OpenOptions {
        gather,
        ..OpenOptions::default()
    };
    let _ = std::fs::remove_dir_all(store.join("log"));
    let (log, _) = FileLog::open_with(Arc::new(RealDisk), store, 1, options).expect("a log");
    log
}

fn work(duration: Duration) {
    let start = Instant::now();
    while start.elapsed() < duration {
        black_box(0);
    }
}

/// Writers who each append a record, wait for it, and do something before the next one.
fn group(store: &Path, seconds: u64, writers: u64, gather: Duration, between: Duration) {
    let log = open(store, gather);
    let until = Instant::now() + Duration::from_secs(seconds);
    let waited = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..writers {
            scope.spawn(|| {
                while Instant::now() < until {
                    work(between);
                    let start = Instant::now();
                    let position = log.append(&[&[b'x'; 200]]).expect("an append");
                    log.sync(position).expect("a sync");
                    let took = start.elapsed().as_micros() as u64;
                    waited.fetch_add(took, Ordering::Relaxed);
                }
            });
        }
    });
    let figures = log.figures();
    println!(
        "{writers:>3} writers, gather {:>4} us, work {:>4} us: {:>7.0} records/s, {:>5.0} syncs/s, \
         {:>5.1} records a sync, {:>6.0} us a record",
        gather.as_micros(),
        between.as_micros(),
        figures.records as f64 / seconds as f64,
        figures.syncs as f64 / seconds as f64,
        figures.records as f64 / figures.syncs as f64,
        waited.load(Ordering::Relaxed) as f64 / figures.records as f64,
    );
}

/// One writer of large records, synced every so often; then all of them read.
fn bulk(store: &Path, record_bytes: usize, records: u64, synced_every: u64) {
    let log = open(store, Duration::ZERO);
    let record: Vec<u8> = (0..record_bytes).map(|at| (at * 31 % 251) as u8).collect();
    let start = Instant::now();
    for number in 1..=records {
        let position = log.append(&[&record]).expect("an append");
        if number % synced_every == 0 {
            log.sync(position).expect("a sync");
        }
    }
    log.sync(records).expect("a sync");
    let wrote = start.elapsed().as_secs_f64();
    drop(log);
    let start = Instant::now();
    let (log, recovery) = FileLog::open(Arc::new(RealDisk), store, 1).expect("a log");
    let opened = start.elapsed().as_secs_f64();
    assert_eq!(recovery.records, records);
    let start = Instant::now();
    log.read(1, &mut |_, payload| {
        black_box(payload.len());
        ControlFlow::Continue(())
    })
    .expect("a replay");
    let read = start.elapsed().as_secs_f64();
    let bytes = record_bytes as f64 * records as f64;
    println!(
        "{records:>8} records of {record_bytes:>9} bytes, synced every {synced_every}: written \
         {:.3} GB/s ({:.0} records/s), opened {:.2} GB/s, read {:.2} GB/s",
        bytes / wrote / 1e9,
        records as f64 / wrote,
        bytes / opened / 1e9,
        bytes / read / 1e9,
    );
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().expect("a folder to write into");
    let seconds = arguments
        .next()
        .map_or(3, |text| text.parse().expect("seconds"));
    let store = Path::new(&folder);
    let micros = Duration::from_micros;
    for gather in [0, 500, 1000] {
        for between in [0, 100] {
            for writers in [1, 4, 16] {
                group(store, seconds, writers, micros(gather), micros(between));
            }
        }
    }
    bulk(store, 200, 2_000_000, 10_000);
    bulk(store, 1_000_000, 500, 1);
    bulk(store, 64 << 20, 8, 1);
    let _ = std::fs::remove_dir_all(store.join("log"));
}
