//! A device that fails at any call: an error, no panic, no other rows, and all memory is given back.

use crate::graphs::{World, plan};
use device::twin::Twin;
use device::{Device, DeviceError};
use explore::{Environment, Limits, prepare};
use gpu::{Gpu, GpuError, Memory, Piece};
use rdf::VertexId;
use std::sync::Arc;
use testkit::random::Random;

/// Graphs, each with a query.
const CASES: u64 = 12;

const MEMORY: Memory = Memory {
    images: 4 << 20,
    host: 4 << 20,
    tables: 16 << 10,
    sections: 2,
};

/// Segments have no room on the device, so they lie in pages, and most of them are read in the host's memory.
const SMALL: Memory = Memory {
    images: 2 << 10,
    ..MEMORY
};

/// All rows that a device gives for the beginning of a query, ascending; whatever was taken of it is given back on the way out.
fn rows(
    device: &Arc<Twin>,
    world: &World,
    text: &str,
    memory: Memory,
) -> Result<Vec<Vec<VertexId>>, GpuError> {
    let (plan, ids) = plan(text);
    let environment = Environment::fixed();
    let prepared = prepare(&plan, &ids, &*world.snapshot, Limits::none(), &environment);
    let prepared = prepared.expect("nothing of it is the device's");
    let device: Arc<dyn Device> = Arc::<Twin>::clone(device);
    let gpu = Gpu::new(device, Arc::clone(&world.snapshot), memory)?;
    let mut section = gpu.section(&prepared)?;
    let mut rows = Vec::new();
    section.run_all(|section, ran| {
        let mut pieces = section.rows(ran);
        while let Some(Piece {
            rows: count,
            columns,
            ..
        }) = pieces.piece(&mut || true)?
        {
            for row in 0..count as usize {
                rows.push(columns.iter().map(|(_, ids)| ids[row]).collect());
            }
        }
        Ok(())
    })?;
    rows.sort_unstable();
    Ok(rows)
}

/// How many steps of a query's plan a device with so much memory does.
fn covered(world: &World, text: &str, memory: Memory) -> usize {
    let (plan, ids) = plan(text);
    let environment = Environment::fixed();
    let prepared = prepare(&plan, &ids, &*world.snapshot, Limits::none(), &environment);
    let prepared = prepared.expect("nothing of it is the device's");
    let device = Twin::new(1 << 30, 0).expect("there is one");
    let gpu = Gpu::new(Arc::new(device), Arc::clone(&world.snapshot), memory);
    let section = gpu.and_then(|gpu| gpu.section(&prepared));
    section.expect("no call fails").covered()
}

/// Graphs and queries that the device begins.
fn cases() -> Vec<(u64, World, String)> {
    let mut cases = Vec::new();
    for seed in 0.. {
        let mut random = Random::new(seed);
        let world = World::random(&mut random);
        let (patterns, _) = world.patterns(&mut random);
        let text = format!("SELECT * {{ {patterns} }}");
        let device = Arc::new(Twin::new(1 << 30, seed).expect("there is one"));
        match rows(&device, &world, &text, MEMORY) {
            Ok(rows) if rows.len() < 20_000 => cases.push((seed, world, text)),
            Ok(_) | Err(GpuError::Nothing { .. } | GpuError::TooManyRows { .. }) => {}
            Err(error) => panic!("seed {seed}: {error}"),
        }
        if cases.len() as u64 == CASES {
            break;
        }
    }
    cases
}

#[test]
fn a_call_that_fails_is_an_error_and_nothing_stays_taken() {
    if let Err(error) = Twin::new(1 << 20, 0) {
        eprintln!("SKIPPED: {error}");
        return;
    }
    for (seed, world, text) in cases() {
        let device = Arc::new(Twin::new(1 << 30, seed).expect("there is one"));
        let expected = rows(&device, &world, &text, MEMORY).expect("no call fails");
        for memory in [MEMORY, SMALL] {
            fail_each(seed, &world, &text, memory);
            let again = Arc::new(Twin::new(1 << 30, seed + 99).expect("there is one"));
            let rows = rows(&again, &world, &text, memory).expect("no call fails");
            // Kernels that read no pages end a section sooner.
            let covers_less = covered(&world, &text, memory) < covered(&world, &text, MEMORY);
            assert!(covers_less || rows == expected, "another order of fibers");
        }
    }
}

/// Lets call after call fail.
fn fail_each(seed: u64, world: &World, text: &str, memory: Memory) {
    let errors = [
        DeviceError::Lost {
            reason: "it was pulled out".into(),
        },
        DeviceError::OutOfMemory { asked: 77 },
        DeviceError::Refused {
            call: "work",
            reason: "no".into(),
        },
    ];
    let device = Arc::new(Twin::new(1 << 30, seed).expect("there is one"));
    rows(&device, world, text, memory).expect("no call fails");
    assert_eq!(device.used(), 0, "seed {seed}: {text}");
    let calls = device.calls();
    assert!(calls > 5, "seed {seed}: {calls} calls");
    // Walks of many strips are the same call again and again.
    let step = (calls / 60).max(1) as usize;
    for call in (0..calls.min(40)).chain((40..calls).step_by(step)) {
        let error = errors[call as usize % errors.len()].clone();
        let device = Twin::new(1 << 30, seed).expect("there is one");
        let device = Arc::new(device.failing(call, error.clone()));
        match rows(&device, world, text, memory) {
            Err(GpuError::Device(told)) => assert_eq!(told, error),
            Err(other) => panic!("seed {seed}, call {call} of {calls}: {other}"),
            Ok(_) => panic!("seed {seed}: call {call} of {calls} failed, and nobody knows"),
        }
        assert_eq!(device.used(), 0, "seed {seed}, call {call}: {text}");
    }
}

/// Whoever does not wait gets an error, and nobody the room until the device has ended.
#[test]
fn a_room_that_was_not_waited_for_is_free_once_the_device_has_ended() {
    if let Err(error) = Twin::new(1 << 20, 0) {
        eprintln!("SKIPPED: {error}");
        return;
    }
    let questions = 40;
    let one_room = Memory {
        sections: 1,
        ..MEMORY
    };
    for (seed, world, text) in cases() {
        let (plan, ids) = plan(&text);
        let environment = Environment::fixed();
        let prepared = prepare(&plan, &ids, &*world.snapshot, Limits::none(), &environment);
        let prepared = prepared.expect("nothing fails");
        let twin = Twin::new(1 << 30, seed).expect("there is one");
        let expected = rows(&Arc::new(twin), &world, &text, MEMORY).expect("no call fails");
        let device = Twin::new(1 << 30, seed)
            .expect("there is one")
            .slow(questions);
        let gpu = Gpu::new(Arc::new(device), Arc::clone(&world.snapshot), one_room);
        let gpu = gpu.expect("there is room");
        let mut section = gpu.section(&prepared).expect("as before");
        if section.seeds() == 0 {
            continue;
        }
        let given_up = section.next(0..section.seeds(), &mut || false);
        assert!(
            matches!(given_up, Err(GpuError::GivenUp)),
            "seed {seed}: {given_up:?}"
        );
        drop(section);
        let mut refused = 0;
        let mut section = loop {
            match gpu.section(&prepared) {
                Err(GpuError::Busy) => refused += 1,
                other => break other.expect("the device has ended"),
            }
        };
        assert!(refused > questions / 2, "refused {refused} times");
        let mut count = 0;
        let walked = section.run_all(|_, ran| {
            count += ran.rows as usize;
            Ok(())
        });
        walked.expect("as before");
        assert_eq!(count, expected.len(), "seed {seed}: {text}");
    }
}

#[test]
fn a_section_keeps_what_it_walks_over() {
    if let Err(error) = Twin::new(1 << 20, 0) {
        eprintln!("SKIPPED: {error}");
        return;
    }
    for (seed, world, text) in cases() {
        let (plan, ids) = plan(&text);
        let environment = Environment::fixed();
        let prepared = prepare(&plan, &ids, &*world.snapshot, Limits::none(), &environment);
        let prepared = prepared.expect("nothing fails");
        let device = Arc::new(Twin::new(1 << 30, seed).expect("there is one"));
        let expected = rows(&device, &world, &text, MEMORY)
            .expect("no call fails")
            .len();
        let shared: Arc<dyn Device> = Arc::<Twin>::clone(&device);
        let gpu = Gpu::new(shared, Arc::clone(&world.snapshot), MEMORY).expect("there is room");
        let mut section = gpu.section(&prepared).expect("as before");
        drop(gpu);
        assert!(device.used() >= MEMORY.images, "images were given back");
        let mut count = 0;
        let walked = section.run_all(|_, ran| {
            count += ran.rows as usize;
            Ok(())
        });
        walked.expect("as before");
        assert_eq!(count, expected, "seed {seed}: {text}");
        drop(section);
        assert_eq!(device.used(), 0);
    }
}
