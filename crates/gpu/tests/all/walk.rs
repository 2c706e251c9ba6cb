//! Random queries over random graphs: what the device gives, walked to the end on the processor, is what the processor gives.

use crate::graphs::{self, Texts, World};
use device::Device;
use device::cuda::Cuda;
use device::twin::Twin;
use explore::{Checksum, Chunk, Environment, Limits, Options, Prepared, Status, Walk, prepare};
use gpu::{CacheOptions, Gives, Gpu, GpuError, Memory, Over, Section, Traffic};
use query::plan::{Action, Form, Mode, Scope, Slot};
use rdf::VertexId;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::delta::Version;
use testkit::random::Random;
use testkit::seeds;

/// Graphs, and queries for each.
const GRAPHS: u64 = 200;
const LONG: u64 = 4000;
const QUERIES: usize = 12;

/// Runs of steps, of a thousand rows each at most, after which a query is not compared.
const RUNS_MAX: usize = 150;

/// How often each row comes.
pub type Bag = BTreeMap<Vec<VertexId>, u64>;

/// What was asked of the device, over all queries.
#[derive(Default)]
struct Share {
    steps: usize,
    covered: usize,
    /// Filters, and steps with blocks, among the steps that are covered.
    filters: usize,
    blocks: BTreeMap<&'static str, usize>,
    /// Patterns in a named graph among them.
    named: usize,
    launches: u64,
    /// Queries whose equal rows became one there.
    collapsed: usize,
    /// Queries that looked at what layers have changed.
    changed: usize,
    /// Queries whose segments had no room.
    no_room: usize,
    /// Queries that were asked of a device.
    turn: usize,
    /// Queries whose data were brought by somebody else.
    brought: usize,
    /// Those that ran on another device than the first.
    elsewhere: usize,
    /// Steps that the device does not do, by the reason for the first of them.
    ends: BTreeMap<String, usize>,
}

fn add(bag: &mut Bag, chunk: &Chunk, columns: &[Slot]) {
    for row in 0..chunk.rows() as usize {
        let cell = |slot: &Slot| {
            chunk
                .column(*slot)
                .map_or(VertexId::UNBOUND, |cells| cells[row])
        };
        *bag.entry(columns.iter().map(cell).collect()).or_default() += 1;
    }
}

pub fn columns_of(prepared: &Prepared<'_>) -> Vec<Slot> {
    match &prepared.plan().form {
        Form::Select(columns) => columns.clone(),
        other => panic!("{other:?}"),
    }
}

/// A prepared query with what it is walked in.
pub struct Case<'a> {
    pub prepared: Prepared<'a>,
    pub version: &'a Version,
    pub terms: &'a Texts,
    pub columns: Vec<Slot>,
}

impl Case<'_> {
    /// `None`, where that takes too long for a test.
    pub fn on_processor(&self) -> Option<(Bag, Checksum)> {
        let (mut bag, mut sum) = (Bag::new(), Checksum::new(&self.columns));
        let options = Options {
            runs_per_call: 1,
            ..Options::default()
        };
        let limits = Limits::none();
        let mut walk = Walk::new(&self.prepared, self.version, self.terms, limits, options);
        let mut chunk = Chunk::new();
        for _ in 0..RUNS_MAX {
            match walk.next(&mut chunk).expect("nothing fails") {
                Status::Rows => {
                    add(&mut bag, &chunk, &self.columns);
                    sum.add(&chunk);
                }
                Status::Done => return Some((bag, sum)),
                Status::Yield => {}
                Status::Starved | Status::Pending(_) => unreachable!("all is there"),
            }
        }
        None
    }

    /// The section's rows, walked on from where it ends: of its seed, or of one table after the other as long as `load` says that one was loaded.
    pub fn on_device(
        &self,
        section: &mut Section,
        load: &mut dyn FnMut(&mut Section) -> Result<bool, GpuError>,
    ) -> Result<Bag, GpuError> {
        let steps = section.covered()..self.prepared.plan().steps.len();
        let is_all = steps.is_empty();
        let (limits, options) = (Limits::none(), Options::default());
        let mut rest = Walk::section(
            &self.prepared,
            self.version,
            self.terms,
            limits,
            options,
            steps,
        );
        let (mut bag, mut out) = (Bag::new(), Chunk::new());
        let width = self.prepared.plan().variables.len();
        while load(section)? {
            section.run_all(|section, ran| {
                let mut pieces = section.rows(ran);
                while let Some(piece) = pieces.piece(&mut || true)? {
                    let rows = Chunk::from_columns(width, piece.rows, piece.columns);
                    let mut rows = rows.expect("a table");
                    if let Some(counts) = piece.counts {
                        assert!(!is_all, "somebody asks how many");
                        rows = rows.with_counts(counts);
                    }
                    if is_all {
                        add(&mut bag, &rows, &self.columns);
                        continue;
                    }
                    rest.push(&mut rows).expect("nothing fails");
                    drain(&mut rest, &mut out, &mut bag, &self.columns);
                }
                Ok(())
            })?;
        }
        if !is_all {
            rest.end_input();
            drain(&mut rest, &mut out, &mut bag, &self.columns);
        }
        Ok(bag)
    }
}

fn drain(
    walk: &mut Walk<'_, '_, Version, Texts>,
    out: &mut Chunk,
    bag: &mut Bag,
    columns: &[Slot],
) {
    loop {
        match walk.next(out).expect("nothing fails") {
            Status::Rows => add(bag, out, columns),
            Status::Done | Status::Starved => return,
            Status::Yield | Status::Pending(_) => unreachable!("a snapshot lets nobody wait"),
        }
    }
}

pub fn text_of(world: &World, random: &mut Random) -> String {
    let (mut patterns, mut variables) = world.patterns(random);
    while random.chance(35) {
        if random.chance(45) {
            patterns += &graphs::filter(random, variables);
        } else {
            patterns += &world.block(random, &mut variables);
        }
    }
    let mut one = || random.below(variables.max(1));
    let (left, right) = (one(), one());
    match random.below(12) {
        0 => format!("SELECT (COUNT(*) AS ?n) {{ {patterns} }}"),
        1 => format!("SELECT DISTINCT ?v{left} {{ {patterns} }}"),
        2 => format!("SELECT ?v{left} {{ {patterns} }}"),
        3 => together(random, &patterns, [left, right]),
        _ => format!("SELECT * {}{{ {patterns} }}", world.dataset(random)),
    }
}

/// A query that looks at equal rows together.
fn together(random: &mut Random, patterns: &str, [left, right]: [usize; 2]) -> String {
    let by = format!("{{ {patterns} }} GROUP BY ?v{left}");
    match random.below(5) {
        0 => format!("SELECT DISTINCT * {{ {patterns} }}"),
        1 => format!("SELECT (COUNT(DISTINCT ?v{right}) AS ?n) {{ {patterns} }}"),
        2 => format!(
            "SELECT ?v{left} (COUNT(DISTINCT ?v{right}) AS ?n) (COUNT(?v{right}) AS ?m) {by}"
        ),
        3 => format!("SELECT ?v{left} (SUM(?v{right}) AS ?n) (COUNT(?v{right}) AS ?m) {by}"),
        _ => format!("SELECT ?v{left} (COUNT(*) AS ?n) {by}"),
    }
}

fn is_named(action: &Action) -> bool {
    match action {
        Action::Expand { scope, .. }
        | Action::ExpandKeys { scope, .. }
        | Action::Check { scope, .. } => matches!(scope, Scope::Named(_)),
        _ => false,
    }
}

fn name_of(mode: Mode) -> &'static str {
    match mode {
        Mode::Inner => "UNION",
        Mode::Left => "OPTIONAL",
        Mode::Semi => "EXISTS",
        Mode::Anti => "NOT EXISTS",
        Mode::Mark(_) => unreachable!("no program has that"),
    }
}

/// What a device does of a query; none, and why, is put down.
fn begun(world: &World, gpu: &Gpu, prepared: &Prepared<'_>, share: &mut Share) -> Option<Section> {
    let plan = prepared.plan();
    // Each device in turn, where there are several.
    share.turn += 1;
    let (told, stop) = (RefCell::new(None), AtomicBool::new(false));
    let tell = |need| drop(told.replace(Some(need)));
    let over = Over {
        device: (gpu.devices() > 1 && !share.turn.is_multiple_of(4))
            .then(|| share.turn % gpu.devices()),
        misses: share.turn.is_multiple_of(3).then_some(&tell),
        ..world.over()
    };
    let mut missed = 0;
    let begun = loop {
        match gpu.section_over(prepared, Gives::Needed, &over) {
            Err(GpuError::Away) => {
                gpu.bring(told.take().expect("it was told"), &stop, &|| {});
            }
            begun => break begun,
        }
        missed += 1;
        // What is looked through, or a segment that no step names; then all of them at once.
        assert!(missed < 20, "what was brought is there");
    };
    share.brought += usize::from(missed > 0);
    match begun {
        Ok(section) => return Some(section),
        // A check of constants that does not hold: nobody walks anything.
        Err(GpuError::Nothing { step: 0, .. })
            if matches!(plan.steps[0].action, Action::Check { .. }) => {}
        Err(GpuError::Nothing { step, why }) => {
            *share
                .ends
                .entry(format!("at step {step}: {why}"))
                .or_default() += plan.steps.len().min(prepared.cut());
            share.steps += plan.steps.len().min(prepared.cut());
        }
        Err(GpuError::NoRoom { .. }) => {
            share.no_room += 1;
        }
        Err(error) => panic!("{error}"),
    }
    None
}

fn run_query(world: &World, gpu: &Gpu, text: &str, share: &mut Share) {
    let (plan, ids) = world.plan(text);
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
    let Some(mut section) = begun(world, gpu, &case.prepared, share) else {
        return;
    };
    let Some((expected, sum)) = case.on_processor() else {
        return;
    };
    share.steps += plan.steps.len().min(case.prepared.cut());
    let mut seeds = 0..1;
    match case.on_device(&mut section, &mut |_| Ok(seeds.next().is_some())) {
        Ok(bag) => assert_eq!(
            bag,
            expected,
            "{} steps, then {}",
            section.covered(),
            section.why()
        ),
        Err(GpuError::TooManyRows { .. }) => return,
        Err(error) => panic!("{error}"),
    }
    share.covered += section.covered();
    share.collapsed += usize::from(section.makes_equal_rows_one());
    share.elsewhere += usize::from(section.device() > 0);
    share.changed += usize::from(section.changes() > 0);
    for step in &plan.steps[..section.covered()] {
        share.filters += usize::from(matches!(step.action, Action::Filter(_)));
        share.named += usize::from(is_named(&step.action));
        if let Action::Nested { mode, .. } = &step.action {
            *share.blocks.entry(name_of(*mode)).or_default() += 1;
        }
    }
    let left = plan.steps.len().min(case.prepared.cut()) - section.covered();
    if left > 0 {
        *share
            .ends
            .entry(format!("later: {}", section.why()))
            .or_default() += left;
    }
    share.launches += section.launches();
    if section.covered() == plan.steps.len() {
        let mut summed = gpu
            .section_over(&case.prepared, Gives::Sum(&case.columns), &world.over())
            .expect("as before");
        let (mut rows, mut total) = (0, 0u64);
        let all = summed.run_all(|_, ran| {
            rows += ran.rows;
            total = total.wrapping_add(ran.checksum);
            Ok(())
        });
        all.expect("as before");
        assert_eq!((rows, total), (sum.rows(), sum.sum()));
    }
}

/// The card that `SOMERSAULT_DEVICE=cuda` says is there, or twins.
pub struct Devices(Option<Arc<Cuda>>);

impl Devices {
    /// `None`, said loudly, where there is neither.
    pub fn found() -> Option<Devices> {
        if std::env::var("SOMERSAULT_DEVICE").as_deref() == Ok("cuda") {
            let card = Cuda::open(0).expect("SOMERSAULT_DEVICE says that there is a card");
            return Some(Devices(Some(Arc::new(card))));
        }
        if let Err(error) = Twin::new(1 << 20, 0) {
            eprintln!("SKIPPED: {error}");
            return None;
        }
        Some(Devices(None))
    }

    /// One, two or three, by the seed.
    pub fn some(&self, seed: u64) -> Vec<Arc<dyn Device>> {
        let count = [1, 2, 1, 3, 1][seed as usize % 5];
        (0..count).map(|number| self.one(seed + number)).collect()
    }

    pub fn one(&self, seed: u64) -> Arc<dyn Device> {
        match &self.0 {
            Some(card) => Arc::<Cuda>::clone(card),
            None => Arc::new(Twin::new(1 << 30, seed).expect("there is one")),
        }
    }
}

/// Random queries over a random graph, some of whose segments layers have changed.
fn run_world(seed: u64, devices: &Devices, share: &mut Share) {
    let mut random = Random::new(seed);
    let world = World::random(&mut random);
    let devices = devices.some(seed);
    let tables = *random.pick(&[4 << 10, 64 << 10, 4 << 20]);
    let memory = Memory {
        images: 64 << 20,
        host: 64 << 20,
        tables,
        sections: 2,
    };
    let options = CacheOptions::default();
    let gpu = Gpu::of_several(&devices, Arc::clone(&world.snapshot), memory, options);
    let long_lists = *random.pick(&[3, 700, 1 << 14]);
    let gpu = gpu.expect("there is memory").with_long_lists(long_lists);
    let gpu = gpu.with_collapses(*random.pick(&[1, 64, 1 << 16]));
    for _ in 0..QUERIES {
        let text = text_of(&world, &mut random);
        world.turn(&mut random);
        run_named(seed, &world, &gpu, &text, share);
    }
}

/// A later strip of a seed that is read where it lies is read by all branches of the first step: a list of a constant that layers have
/// changed, where the first strip had no room.
#[test]
fn every_branch_reads_the_strip() {
    if let Some(devices) = Devices::found() {
        run_world(1396, &devices, &mut Share::default());
    }
}

#[test]
fn random_queries_are_answered_as_on_the_processor() {
    let Some(devices) = Devices::found() else {
        return;
    };
    let mut share = Share::default();
    for seed in seeds::chosen(GRAPHS, LONG) {
        run_world(seed, &devices, &mut share);
    }
    assert_eq!(share.no_room, 0, "there is room for all");
    let percent = 100 * share.covered / share.steps.max(1);
    eprintln!(
        "{:#?}, blocks: {:?}, patterns in a named graph: {}",
        share.ends, share.blocks, share.named
    );
    eprintln!(
        "{percent} % of {} steps of patterns on the device, {} filters among them, {} launches; equal rows became one in {} queries, {} looked at changes, of {} others brought the data",
        share.steps, share.filters, share.launches, share.collapsed, share.changed, share.brought
    );
    assert!(
        share.elsewhere >= 50 || seeds_are_few(),
        "several devices have images together"
    );
    assert!(
        share.filters >= 20 || seeds_are_few(),
        "filters are made there"
    );
    assert!(
        share.named >= 5 || seeds_are_few(),
        "named graphs are looked at there"
    );
    let often = |mode| share.blocks.get(mode).is_some_and(|count| *count >= 5);
    assert!(
        ["OPTIONAL", "UNION", "EXISTS", "NOT EXISTS"]
            .into_iter()
            .all(often)
            || seeds_are_few(),
        "blocks are walked there"
    );
    assert!(
        share.collapsed >= 10 || seeds_are_few(),
        "equal rows become one there"
    );
    assert!(
        share.changed >= 50 || seeds_are_few(),
        "changes are looked at there"
    );
    assert!(
        share.brought >= 50 || seeds_are_few(),
        "data are brought by somebody else"
    );
    assert!(
        percent >= 60 || seeds_are_few(),
        "{percent} % of the steps ran on the device"
    );
}

/// Says which query it was that failed.
fn run_named(seed: u64, world: &World, gpu: &Gpu, text: &str, share: &mut Share) {
    let walked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        run_query(world, gpu, text, share);
    }));
    if let Err(cause) = walked {
        eprintln!("seed {seed}: {text}");
        std::panic::resume_unwind(cause);
    }
}

/// Parts of what the queries of a graph need, in hundredths.
const CAPS: [u64; 6] = [5, 10, 25, 50, 75, 100];

#[test]
fn random_queries_are_answered_where_their_segments_have_no_room() {
    let Some(devices) = Devices::found() else {
        return;
    };
    let (mut share, mut traffic) = (Share::default(), Traffic::default());
    let mut without = Share::default();
    for seed in seeds::chosen(GRAPHS, LONG) {
        let mut random = Random::new(seed ^ 1 << 40);
        let world = World::random(&mut random);
        let texts: Vec<String> = (0..QUERIES).map(|_| text_of(&world, &mut random)).collect();
        let memory = Memory {
            images: 4 << 20,
            host: 0,
            tables: *random.pick(&[4 << 10, 64 << 10, 4 << 20]),
            sections: 2,
        };
        let gpu = |memory: Memory, options: CacheOptions| {
            let devices = devices.some(seed);
            let gpu = Gpu::of_several(&devices, Arc::clone(&world.snapshot), memory, options);
            let gpu = gpu.expect("there is memory").with_long_lists(700);
            gpu.with_collapses(64)
        };
        let page_bits = *random.pick(&[8, 10, 12]);
        let mut options = CacheOptions {
            page_bits: Some(page_bits),
            poison: true,
            ..CacheOptions::default()
        };
        let all = gpu(memory, options);
        for text in &texts {
            let (plan, ids) = world.plan(text);
            let environment = Environment::fixed();
            let prepared = prepare(&plan, &ids, world.version(), Limits::none(), &environment);
            let prepared = prepared.expect("nothing fails");
            let _ = all.section_over(&prepared, Gives::Rows, &world.over());
        }
        let needed = all.image_bytes();
        options.lookahead = random.chance(70);
        options.pipeline = random.chance(70);
        options.pairwise = random.chance(30);
        options.inplace = random.chance(80);
        let capped = Memory {
            images: (needed * random.pick(&CAPS) / 100).max(1 << page_bits),
            host: 8 << 20,
            ..memory
        };
        let gpu = gpu(capped, options);
        let share = if options.inplace {
            &mut share
        } else {
            &mut without
        };
        for text in &texts {
            world.turn(&mut random);
            run_named(seed, &world, &gpu, text, share);
        }
        let own = gpu.traffic();
        traffic.copies += own.copies;
        traffic.copied_bytes += own.copied_bytes;
        traffic.hosted_bytes += own.hosted_bytes;
        traffic.evictions += own.evictions;
    }
    eprintln!(
        "{traffic:?}, {} without room, {} of those that read nothing in place",
        share.no_room, without.no_room
    );
    assert_eq!(share.no_room, 0, "any arena does");
    assert!(seeds_are_few() || (traffic.evictions > 100 && traffic.hosted_bytes > 1 << 20));
}

/// Whether a seed is replayed, which says nothing of shares.
pub fn seeds_are_few() -> bool {
    seeds::chosen(GRAPHS, LONG).count() < GRAPHS as usize
}
