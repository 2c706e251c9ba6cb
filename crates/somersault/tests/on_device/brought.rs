//! Under `auto` data are brought beside queries: whoever asks meanwhile, whatever changes, and whatever fails, answers are the same, and a
//! database ends.

use super::changes::{change, changing_beside};
use super::{HEAVY, MEMORY, beside, figures, ring, ring_count, rows, twin};
use device::twin::Twin;
use device::{Device, DeviceError};
use somersault::device::{Memory, Offload};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use testkit::seeds;

const SEEDS: u64 = 6;
const LONG: u64 = 300;

/// Clients, and what each of them asks.
const CLIENTS: u64 = 3;
const ASKED_EACH: usize = 6;

/// A step more, in other segments.
const OTHER: &str =
    "SELECT (COUNT(*) AS ?n) { ?a <urn:q> ?b . ?b <urn:p> ?c . ?c <urn:p> ?d . ?d <urn:p> ?e }";

/// Whole, in pages, and without room in the host's memory.
const MEMORIES: [Memory; 3] = [
    MEMORY,
    Memory {
        images: 8 << 10,
        ..MEMORY
    },
    Memory {
        images: 8 << 10,
        host: 4 << 10,
        ..MEMORY
    },
];

fn device(seed: u64) -> Arc<dyn Device> {
    let twin = Twin::new(64 << 20, seed).expect("there is one");
    let reason = || "as planned".to_owned();
    let refused = || DeviceError::Refused {
        call: "work",
        reason: reason(),
    };
    let at = 20 + seed * 7 % 90;
    Arc::new(match seed % 4 {
        0 => twin.failing(at, DeviceError::Lost { reason: reason() }),
        1 => twin.failing(at, refused()),
        _ => twin,
    })
}

fn run(seed: u64) -> u64 {
    let text = ring(400, 12);
    let memory = MEMORIES[seed as usize % MEMORIES.len()];
    let device = beside(device(seed), memory, Offload::Auto);
    let database = changing_beside(&text, Some(device));
    let expected = rows(&changing_beside(&text, None), OTHER);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut number = 0u64;
            while !is_over.load(Ordering::Relaxed) {
                // In a segment that is looked at, and where no step goes on.
                let edge = format!("<urn:m{number}> <urn:q> <urn:m{number}>");
                change(&database, &format!("INSERT DATA {{ {edge} }}"));
                number += 1;
                if seed.is_multiple_of(2) && number.is_multiple_of(8) {
                    // Another base.
                    database.compact().expect("it is merged");
                }
                std::thread::sleep(Duration::from_millis(3));
            }
        });
        let clients = (0..CLIENTS).map(|client| {
            let (database, expected) = (&database, &expected);
            scope.spawn(move || {
                for asked in 0..ASKED_EACH {
                    if (asked as u64 + client).is_multiple_of(2) {
                        let count = ring_count(400, 12);
                        assert!(rows(database, HEAVY)[0].contains(&count), "seed {seed}");
                    } else {
                        assert_eq!(rows(database, OTHER), *expected, "seed {seed}");
                    }
                }
            })
        });
        let clients: Vec<_> = clients.collect();
        for client in clients {
            client.join().expect("a client");
        }
        is_over.store(true, Ordering::Relaxed);
        writer.join().expect("the writer");
    });
    let queries = figures(&database).queries;
    let since = Instant::now();
    drop(database);
    assert!(since.elapsed() < Duration::from_secs(30), "it ends");
    queries
}

#[test]
fn whoever_asks_meanwhile_gets_the_same() {
    if twin().is_none() {
        return;
    }
    let queries: u64 = seeds::chosen(SEEDS, LONG).map(run).sum();
    eprintln!("{queries} queries began on the device");
    assert!(queries > 0 || seeds::chosen(SEEDS, LONG).count() < SEEDS as usize);
}
