//! Steps of a plan over rows that are loaded: walked on the device between steps before and behind them on the processor, they give what
//! the processor gives.

use crate::graphs::{Texts, World};
use crate::walk::{Bag, Case, Devices, columns_of, seeds_are_few, text_of};
use explore::{Chunk, Environment, Limits, Options, Status, Walk, prepare};
use gpu::{CacheOptions, Gives, Gpu, GpuError, Memory, Over, Section};
use query::plan::Slot;
use rdf::VertexId;
use std::sync::Arc;
use testkit::random::Random;
use testkit::seeds;

/// Graphs, and queries for each.
const GRAPHS: u64 = 40;
const LONG: u64 = 4000;
const QUERIES: usize = 12;

/// Rows that come to the device, at most.
const ROWS_MAX: u64 = 20_000;

/// What became of queries.
#[derive(Default)]
struct Share {
    begun: usize,
    steps: usize,
    strips: u64,
    /// Rows that had to be loaded in several tables.
    tables: usize,
    paged: usize,
}

/// The rows before a step; `None`: too many for a test.
fn rows_before(case: &Case<'_>, step: usize) -> Option<Vec<Chunk>> {
    let (limits, options) = (Limits::none(), Options::default());
    let steps = 0..step;
    let mut walk = Walk::section(
        &case.prepared,
        case.version,
        case.terms,
        limits,
        options,
        steps,
    );
    let (mut chunks, mut rows) = (Vec::new(), 0);
    loop {
        let mut chunk = Chunk::new();
        match walk.next(&mut chunk).expect("nothing fails") {
            Status::Rows => {
                rows += chunk.rows();
                chunks.push(chunk);
            }
            Status::Done => return Some(chunks),
            Status::Yield => {}
            Status::Starved | Status::Pending(_) => unreachable!("all is there"),
        }
        if rows > ROWS_MAX {
            return None;
        }
    }
}

/// The rows in one table.
fn together(chunks: &[Chunk], columns: &[Slot]) -> (u64, Vec<Vec<VertexId>>) {
    let rows = chunks.iter().map(Chunk::rows).sum();
    let cells = columns.iter().map(|slot| {
        let of = |chunk: &Chunk| chunk.column(*slot).expect("it is alive").to_vec();
        chunks.iter().flat_map(of).collect()
    });
    (rows, cells.collect())
}

/// Loads rows, as many at once as the section takes, walks them on the device and what follows behind it.
fn on_device(
    case: &Case<'_>,
    section: &mut Section,
    (rows, columns): (u64, Vec<Vec<VertexId>>),
    share: &mut Share,
) -> Result<Bag, GpuError> {
    let most = section.loads().expect("it loads its rows");
    share.tables += usize::from(rows > most);
    let mut from = 0;
    let bag = case.on_device(section, &mut |section| {
        let to = rows.min(from + most);
        let range = from as usize..to as usize;
        from = to;
        if range.is_empty() {
            return Ok(false);
        }
        let cells: Vec<&[VertexId]> = columns.iter().map(|it| &it[range.clone()]).collect();
        section.load(range.len() as u64, &cells)?;
        Ok(true)
    })?;
    share.strips += section.launches();
    Ok(bag)
}

fn run_query(world: &World, gpu: &Gpu, text: &str, random: &mut Random, share: &mut Share) {
    let (plan, ids) = world.plan(text);
    if plan.steps.len() < 2 {
        return;
    }
    let (environment, terms) = (Environment::fixed(), Texts);
    let version = world.version();
    let prepared = prepare(&plan, &ids, version, Limits::none(), &environment);
    let prepared = prepared.expect("nothing fails");
    let columns = columns_of(&prepared);
    let case = Case {
        prepared,
        version,
        terms: &terms,
        columns,
    };
    let start = random.between(1, plan.steps.len() - 1);
    let end = random.between(start + 1, plan.steps.len());
    let over = Over {
        steps: start..end,
        device: Some(random.below(gpu.devices())),
        ..world.over()
    };
    let gives = *random.pick(&[Gives::Rows, Gives::Needed]);
    let mut section = match gpu.section_over(&case.prepared, gives, &over) {
        Ok(section) => section,
        Err(GpuError::Nothing { step, .. }) => return assert_eq!(step, start),
        Err(error) => panic!("{error}"),
    };
    assert!(section.covered() <= end);
    let Some((expected, _)) = case.on_processor() else {
        return;
    };
    let Some(chunks) = rows_before(&case, start) else {
        return;
    };
    let before = together(&chunks, case.prepared.columns_before(start));
    match on_device(&case, &mut section, before, share) {
        Ok(bag) => assert_eq!(bag, expected, "steps {start} to {}", section.covered()),
        Err(GpuError::TooManyRows { .. }) => return,
        Err(error) => panic!("{error}"),
    }
    share.begun += 1;
    share.steps += section.covered() - start;
}

fn run_world(seed: u64, devices: &Devices, share: &mut Share) {
    let mut random = Random::new(seed ^ 1 << 41);
    let world = World::random(&mut random);
    let is_paged = random.chance(25);
    let memory = Memory {
        images: if is_paged { 16 << 10 } else { 64 << 20 },
        host: 64 << 20,
        tables: *random.pick(&[4 << 10, 64 << 10, 4 << 20]),
        sections: 1,
    };
    let options = CacheOptions {
        page_bits: is_paged.then_some(10),
        ..CacheOptions::default()
    };
    let devices = devices.some(seed);
    let gpu = Gpu::of_several(&devices, Arc::clone(&world.snapshot), memory, options);
    let gpu = gpu
        .expect("there is memory")
        .with_long_lists(*random.pick(&[3, 700]));
    let gpu = gpu.with_collapses(64);
    for _ in 0..QUERIES {
        let text = text_of(&world, &mut random);
        world.turn(&mut random);
        let walked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            run_query(&world, &gpu, &text, &mut random, share);
        }));
        if let Err(cause) = walked {
            eprintln!("seed {seed}: {text}");
            std::panic::resume_unwind(cause);
        }
    }
    share.paged += usize::from(gpu.traffic().hosted_bytes > 0);
}

#[test]
fn random_sections_over_loaded_rows_are_walked_as_on_the_processor() {
    let Some(devices) = Devices::found() else {
        return;
    };
    let mut share = Share::default();
    for seed in seeds::chosen(GRAPHS, LONG) {
        run_world(seed, &devices, &mut share);
    }
    let Share {
        begun,
        steps,
        strips,
        tables,
        paged,
    } = share;
    eprintln!(
        "{begun} sections of {steps} steps over loaded rows, {strips} strips, {tables} of several tables, {paged} graphs in pages"
    );
    assert!(
        (begun >= 100 && tables >= 10 && paged >= 3) || seeds_are_few(),
        "rows are loaded, in several tables, over pages, too"
    );
}
