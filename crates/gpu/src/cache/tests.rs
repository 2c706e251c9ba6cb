//! The cache against a model: what sections have pinned stays, the table names what has a page, frames have one holder.

use super::host::tests::Left;
use super::*;
use crate::access::Accessed;
use device::DeviceError;
use device::twin::Twin;
use rdf::{Direction, Tag, VertexId};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use store::testing::snapshot_of;
use store::{GraphScope, GraphView};
use testkit::random::Random;
use testkit::seeds;

const SEEDS: u64 = 24;
const LONG: u64 = 5000;
const OPERATIONS: usize = 200;
const PREDICATES: u64 = 8;
const PAGE_BITS: u32 = 8;

/// For a query that waits.
const NEW: Placing<'static> = Placing {
    is_new: true,
    may_move: true,
    stop: None,
};

fn iri(number: u64) -> VertexId {
    VertexId::new(Tag::Iri, number)
}

/// Segments of half a page to some forty pages.
fn snapshot(random: &mut Random) -> (Arc<Snapshot>, Vec<SegmentKey>) {
    let mut quads = Vec::new();
    for number in 0..PREDICATES {
        for _ in 0..random.between(20, 1500) {
            let end = |random: &mut Random| iri(1 + random.bits() % 3000);
            let (subject, object) = (end(random), end(random));
            let predicate = iri(1 << 30 | number);
            quads.push((subject, predicate, object, GraphScope::DEFAULT_GRAPH));
        }
    }
    let snapshot = snapshot_of(&quads, None);
    let mut keys = Vec::new();
    for number in 0..PREDICATES {
        let predicate = snapshot.predicate_id(iri(1 << 30 | number));
        for direction in [Direction::Out, Direction::In] {
            keys.push(SegmentKey {
                predicate: predicate.expect("it has edges"),
                direction,
            });
        }
    }
    (Arc::new(snapshot), keys)
}

/// A cache, and what became of the segments that were pinned.
struct Model {
    cache: Cache,
    keys: Vec<SegmentKey>,
    /// The pinned segments of each section.
    sections: Vec<Vec<u32>>,
    waiting: Vec<u64>,
    device: Arc<Twin>,
}

/// Where a segment was: its run, or the addresses of its host pages and its frames.
type Lies = (Option<Range<usize>>, Vec<u64>, Vec<Option<usize>>);

impl Model {
    fn new(seed: u64, device: Twin, options: CacheOptions, images: u64, host: u64) -> Model {
        let mut random = Random::new(seed);
        let (snapshot, keys) = snapshot(&mut random);
        let device = Arc::new(device);
        let shared: Arc<dyn Device> = Arc::<Twin>::clone(&device);
        let cache = Cache::new(&[shared], snapshot, (images, host), options);
        let mut cache = cache.expect("there is memory");
        for key in &keys {
            cache.number(*key).expect("the store is sound");
        }
        Model {
            cache,
            keys,
            sections: Vec::new(),
            waiting: Vec::new(),
            device,
        }
    }

    fn numbers_of(&self, keys: &[SegmentKey]) -> Vec<u32> {
        let numbers = keys.iter().map(|key| self.cache.numbers[key]);
        numbers
            .map(|number| number.expect("it has edges"))
            .collect()
    }

    /// So many lookups of lists, in each of these.
    fn lookups(&self, keys: &[SegmentKey], times: f64) -> Vec<Access> {
        let numbers = self.numbers_of(keys).into_iter();
        let lookups = numbers.map(|number| Access {
            number,
            what: Accessed::List { rows: 3.0 },
            times,
        });
        lookups.collect()
    }

    fn some(&self, random: &mut Random) -> Vec<SegmentKey> {
        let count = random.between(1, 4);
        (0..count).map(|_| *random.pick(&self.keys)).collect()
    }

    fn placed(&self, number: u32) -> Lies {
        match &self.cache.entries[number as usize].place {
            Place::Nowhere => panic!("a pinned segment is nowhere"),
            Place::Whole(run, _) => (Some(run.clone()), Vec::new(), Vec::new()),
            Place::Paged(paged) => {
                let host = paged.host.iter().map(|page| self.cache.host.address(*page));
                (None, host.collect(), paged.frames.clone())
            }
        }
    }

    /// What lies whole and was used of late, or has just come.
    fn whole(&self) -> Vec<u32> {
        let numbers = (0..).zip(&self.cache.entries);
        let whole = numbers.filter(|(number, entry)| {
            matches!(entry.place, Place::Whole(..)) && self.cache.replacement.idle(*number) < IDLE
        });
        whole.map(|(number, _)| number).collect()
    }

    fn pinned(&self) -> HashMap<u32, Lies> {
        let numbers: HashSet<u32> = self.sections.iter().flatten().copied().collect();
        numbers
            .into_iter()
            .map(|number| (number, self.placed(number)))
            .collect()
    }

    /// What was pinned is where it was, but for pages that came to the device.
    fn compare(&self, before: &HashMap<u32, Lies>) {
        for (number, (run, host, frames)) in before {
            let now = self.placed(*number);
            assert_eq!((&now.0, &now.1), (run, host), "a pinned segment was moved");
            for (was, is) in frames.iter().zip(&now.2) {
                assert!(was.is_none() || was == is, "a page of it was taken");
            }
        }
    }

    /// Each frame has the holder that it is said to have, and nobody else.
    fn count(&self) {
        let arena = &self.cache.arena;
        let mut held = HashMap::new();
        let mut hosted = 0;
        for (number, entry) in (0..).zip(&self.cache.entries) {
            let pins = self.sections.iter().flatten().filter(|it| **it == number);
            assert_eq!(entry.pins as usize, pins.count());
            let mut own = Vec::new();
            match &entry.place {
                Place::Nowhere => assert!(entry.view.is_none()),
                Place::Whole(run, _) => own.extend(run.clone()),
                Place::Paged(paged) => {
                    own.extend(paged.frames.iter().flatten());
                    hosted += paged.host.len() as u64;
                    if let Directory::Frames(run) = &paged.directory {
                        own.extend(run.clone());
                    }
                }
            }
            for frame in own {
                assert_eq!(arena.holders(frame..frame + 1), [number]);
                assert!(held.insert(frame, number).is_none(), "a frame of two");
            }
        }
        assert_eq!(
            arena.used(),
            (held.len() as u64) << PAGE_BITS,
            "a frame of nobody"
        );
        let all = self.cache.pages / 2 - PAGES_MORE - arena.frames() as u64;
        assert_eq!(
            self.cache.host.available() + hosted,
            all,
            "host pages of nobody"
        );
    }

    /// Every entry of the table leads to the bytes of its page.
    fn read(&self) {
        let Some(space) = &self.cache.space else {
            return;
        };
        let cache = &self.cache;
        for entry in &cache.entries {
            let Some(view) = &entry.view else { continue };
            let raw = cache.snapshot.raw_segment_again(entry.key);
            let raw = raw.expect("the store is sound").expect("it is there");
            let contents = Contents::of(&raw, &entry.outline);
            let behind = entry.outline.directory_bytes();
            for (place, page) in view.pages.clone().enumerate() {
                let from = behind + ((place as u64) << PAGE_BITS);
                let blank: Vec<AtomicU64> = (0..32).map(|_| AtomicU64::new(u64::MAX)).collect();
                contents.fill(from..from + 256, &blank);
                let address = space.address(&*cache.device, &cache.copies, page);
                let found = self.words_at(entry, place, address);
                for (word, found) in blank.iter().zip(found) {
                    let expected = word.load(Ordering::Relaxed);
                    // What lies between parts may be anything.
                    assert!(expected == u64::MAX || expected == found, "other bytes");
                }
            }
        }
    }

    /// The words of a page, where the table says that they are.
    fn words_at(&self, entry: &Entry, place: usize, address: u64) -> Vec<u64> {
        let arena = &self.cache.arena;
        let download = |frame: usize, skip: u64| {
            let mut words = vec![0u64; 32];
            let slice = arena.slice(frame, skip + 256).slice(skip..skip + 256);
            let bytes = bytemuck::cast_slice_mut(&mut words);
            let done = self
                .cache
                .device
                .download(&self.cache.copies, &slice, bytes);
            done.expect("it does not fail now");
            words
        };
        match &entry.place {
            Place::Nowhere => panic!("a view of nothing"),
            Place::Whole(run, _) => {
                let skip = entry.outline.directory_bytes() + ((place as u64) << PAGE_BITS);
                assert_eq!(address, arena.address(run.start) + skip);
                download(run.start, skip)
            }
            Place::Paged(paged) => {
                if let Some(frame) = paged.frames[place]
                    && address == arena.address(frame)
                {
                    return download(frame, 0);
                }
                assert!(
                    paged.frames[place].is_none(),
                    "it does not know that a page has arrived"
                );
                let page = paged.host[place];
                assert_eq!(address, self.cache.host.address(page));
                let words = self.cache.host.words(page).iter();
                words.map(|word| word.load(Ordering::Relaxed)).collect()
            }
        }
    }

    fn operate(&mut self, random: &mut Random) -> Result<bool, GpuError> {
        match random.below(10) {
            0..4 if self.sections.len() < 3 => {
                let keys = self.some(random);
                let times = *random.pick(&[0.0, 1.0, 30.0, 1e6]);
                let lookups = self.lookups(&keys, times);
                let numbers = self.numbers_of(&keys);
                let how = Placing {
                    may_move: random.chance(70),
                    ..NEW
                };
                let lay = self.whole();
                let placed = self.cache.place((&numbers, &lookups), how)?;
                let (numbers, pages) = (placed.numbers, placed.pages);
                if !how.may_move {
                    let stays = |number: &u32| self.whole().contains(number);
                    assert!(lay.iter().all(stays), "what lay whole does");
                }
                let is_paged = |number: &u32| {
                    matches!(self.cache.entries[*number as usize].place, Place::Paged(_))
                };
                assert_eq!(pages.is_some(), numbers.iter().any(is_paged));
                for number in &numbers {
                    assert!(self.cache.placed(*number, pages.is_some()).is_some());
                }
                self.sections.push(numbers);
                return Ok(pages.is_some());
            }
            0..8 if !self.sections.is_empty() => {
                let place = random.below(self.sections.len());
                let numbers = self.sections.swap_remove(place);
                self.cache.unpin(&numbers);
            }
            8 if self.waiting.len() < 4 => {
                let numbers = self.numbers_of(&self.some(random));
                self.waiting.push(self.cache.expect(&numbers));
            }
            _ if !self.waiting.is_empty() => {
                let query = self.waiting.remove(0);
                self.cache.not_expected(query);
            }
            _ => {}
        }
        Ok(false)
    }
}

/// Options that switch techniques off now and then.
fn options(random: &mut Random) -> CacheOptions {
    CacheOptions {
        page_bits: Some(PAGE_BITS),
        lookahead: random.chance(70),
        pipeline: random.chance(70),
        pairwise: random.chance(30),
        inplace: random.chance(80),
        poison: true,
        threads: *random.pick(&[1, 3]),
    }
}

#[test]
fn what_is_pinned_stays_and_the_table_names_what_has_the_page() {
    if let Err(error) = Twin::new(1 << 20, 0) {
        eprintln!("SKIPPED: {error}");
        return;
    }
    let (mut traffic, mut refused) = (Traffic::default(), 0);
    for seed in seeds::chosen(SEEDS, LONG) {
        let mut random = Random::new(seed);
        let device = Twin::new(1 << 28, seed).expect("there is one");
        let images = *random.pick(&[1 << 8, 3 << 10, 20 << 10, 100 << 10]);
        let host = *random.pick(&[30 << 10, 100 << 10, 1 << 20]);
        let mut model = Model::new(seed, device, options(&mut random), images, host);
        for _ in 0..OPERATIONS {
            let before = model.pinned();
            let had = model.sections.len();
            match model.operate(&mut random) {
                Ok(is_paged) => {
                    if is_paged {
                        model.read();
                    }
                }
                Err(GpuError::NoRoom { .. }) => refused += 1,
                Err(error) => panic!("seed {seed}: {error}"),
            }
            if model.sections.len() >= had {
                model.compare(&before);
            }
            model.count();
        }
        let own = model.cache.traffic();
        traffic.evictions += own.evictions;
        traffic.copies += own.copies;
    }
    eprintln!("{traffic:?}, {refused} without room");
    assert!(traffic.evictions > 0 && traffic.copies > 0);
}

#[test]
fn after_a_call_that_failed_all_is_as_it_is_said_to_be() {
    if let Err(error) = Twin::new(1 << 20, 0) {
        eprintln!("SKIPPED: {error}");
        return;
    }
    let mut failures = 0;
    for seed in seeds::chosen(4 * SEEDS, LONG) {
        let mut random = Random::new(seed);
        let error = DeviceError::Refused {
            call: "work",
            reason: "no".into(),
        };
        let device = Twin::new(1 << 28, seed).expect("there is one");
        // The first calls are those of memory that is taken at the start.
        let at = 8 + random.bits() % 300;
        let device = device.failing(at, error);
        let images = *random.pick(&[1 << 8, 3 << 10, 20 << 10]);
        let options = CacheOptions {
            poison: random.chance(50),
            ..options(&mut random)
        };
        let mut model = Model::new(seed, device, options, images, 1 << 20);
        for _ in 0..OPERATIONS / 4 {
            let before = model.pinned();
            let had = model.sections.len();
            match model.operate(&mut random) {
                Err(GpuError::Device(_)) => failures += 1,
                Ok(is_paged) => {
                    if is_paged && model.device.calls() > at {
                        model.read();
                    }
                }
                Err(GpuError::NoRoom { .. }) => {}
                Err(error) => panic!("seed {seed}: {error}"),
            }
            if model.sections.len() >= had {
                model.compare(&before);
            }
            model.count();
        }
    }
    assert!(failures > 0 || seeds::chosen(4 * SEEDS, LONG).count() == 1);
}

#[test]
fn an_arena_below_one_page_is_refused() {
    let Ok(device) = Twin::new(1 << 20, 0) else {
        eprintln!("SKIPPED: there is no twin");
        return;
    };
    let (snapshot, _) = snapshot(&mut Random::new(1));
    let options = CacheOptions {
        page_bits: Some(12),
        ..CacheOptions::default()
    };
    let refused = Cache::new(&[Arc::new(device)], snapshot, (4095, 1 << 20), options);
    let said = refused.err().expect("there is no page").to_string();
    let expected = "the device's memory for images, 4095 bytes, has no room for a page of 4096";
    assert_eq!(said, expected);
}

/// Pages that the best rule of all has to transfer: whoever knows all uses gives up what is used last, or does not keep what
/// comes (Belady).
fn optimum(uses: &[(u32, usize)], frames: usize) -> usize {
    let mut next = vec![usize::MAX; uses.len()];
    let mut seen = HashMap::new();
    for (at, page) in uses.iter().enumerate().rev() {
        next[at] = seen.insert(*page, at).unwrap_or(usize::MAX);
    }
    let (mut here, mut transfers) = (HashMap::new(), 0);
    for (at, page) in uses.iter().enumerate() {
        transfers += usize::from(here.insert(*page, next[at]).is_none());
        if here.len() > frames {
            let last = here.iter().max_by_key(|(_, next)| **next);
            let last = *last.expect("there are some").0;
            here.remove(&last);
        }
    }
    transfers
}

#[test]
fn who_knows_what_waits_transfers_little_more_than_who_knows_all() {
    if let Err(error) = Twin::new(1 << 20, 0) {
        eprintln!("SKIPPED: {error}");
        return;
    }
    for percent in [5, 10, 25, 50, 75, 100] {
        let (mut knowing, mut blind, mut best) = (0, 0, 0);
        for seed in seeds::chosen(4, 60) {
            let transfers = transfers(seed, percent, true);
            knowing += transfers.0;
            best += transfers.1;
            blind += self::transfers(seed, percent, false).0;
        }
        eprintln!("{percent} %: {knowing} pages, {blind} blind, {best} at best");
        assert!(
            10 * knowing <= 11 * best,
            "{percent} %: {knowing} of {best}"
        );
        assert!(knowing <= blind);
    }
}

/// Queries that wait beside one that runs.
const WAITING: usize = 12;

/// Pages that were copied or read in place, and those that the best rule transfers, where the arena has so many hundredths of all.
fn transfers(seed: u64, percent: u64, lookahead: bool) -> (usize, usize) {
    let mut random = Random::new(seed);
    let options = CacheOptions {
        page_bits: Some(PAGE_BITS),
        pairwise: true,
        lookahead,
        ..CacheOptions::default()
    };
    let device = Twin::new(1 << 28, seed).expect("there is one");
    let probe = Model::new(seed, device, options, 1 << 20, 1 << 20);
    let entries = probe.cache.entries.iter();
    let all: u64 = entries.map(|entry| entry.outline.bytes()).sum();
    let device = Twin::new(1 << 28, seed).expect("there is one");
    let images = (all * percent / 100).max(256);
    let mut model = Model::new(seed, device, options, images, 4 << 20);
    let queries: Vec<Vec<SegmentKey>> = (0..80).map(|_| model.some(&mut random)).collect();
    let mut waiting: Vec<u64> = Vec::new();
    let (mut transfers, mut uses) = (0, Vec::new());
    for at in 0..queries.len() {
        while waiting.len() < WAITING && at + waiting.len() < queries.len() {
            let numbers = model.numbers_of(&queries[at + waiting.len()]);
            waiting.push(model.cache.expect(&numbers));
        }
        model.cache.not_expected(waiting.remove(0));
        transfers += transfers_of(&mut model, &queries[at], &mut uses);
    }
    // Directories are where they are, so there is less for pages.
    let directories = model.cache.entries.iter().map(|entry| match &entry.place {
        Place::Whole(run, _) => run.len() - model.cache.arena.frames_of(entry.outline.data_bytes()),
        Place::Paged(Paged {
            directory: Directory::Frames(run),
            ..
        }) => run.len(),
        _ => 0,
    });
    let frames = model.cache.arena.frames() - directories.sum::<usize>();
    (transfers, optimum(&uses, frames.max(1)))
}

/// Runs a query that reads each page of its segments once; gives how many of them were not on the device before.
fn transfers_of(model: &mut Model, keys: &[SegmentKey], uses: &mut Vec<(u32, usize)>) -> usize {
    let mut missing = 0;
    let mut accesses = Vec::new();
    let needed = model.numbers_of(keys);
    for &number in &each_once(&needed) {
        let entry = &model.cache.entries[number as usize];
        let pages = model.cache.arena.frames_of(entry.outline.data_bytes());
        uses.extend((0..pages).map(|page| (number, page)));
        missing += match &entry.place {
            Place::Nowhere => pages,
            Place::Whole(..) => 0,
            Place::Paged(paged) => paged.frames.iter().filter(|frame| frame.is_none()).count(),
        };
        accesses.push(Access {
            number,
            what: Accessed::All,
            times: 0.8,
        });
    }
    let placed = model.cache.place((&needed, &accesses), NEW);
    let placed = placed.expect("any arena does");
    model.cache.unpin(&placed.numbers);
    missing
}

/// Turns of some queries, each of which looks so often into each of its segments; gives the pages that were copied in each turn.
fn copies_by_turn(model: &mut Model, queries: &[(Vec<SegmentKey>, f64)], turns: usize) -> Vec<u64> {
    let turn = |_| {
        let before = model.cache.traffic().copies;
        for (keys, lookups) in queries {
            let lookups = model.lookups(keys, *lookups);
            let needed = model.numbers_of(keys);
            let placed = model.cache.place((&needed, &lookups), NEW);
            let placed = placed.expect("any arena does");
            model.cache.unpin(&placed.numbers);
        }
        model.cache.traffic().copies - before
    };
    (0..turns).map(turn).collect()
}

#[test]
fn queries_in_turns_come_to_rest_and_make_way_for_others() {
    if let Err(error) = Twin::new(1 << 20, 0) {
        eprintln!("SKIPPED: {error}");
        return;
    }
    let mut moved = 0;
    for seed in seeds::chosen(SEEDS, LONG) {
        let mut random = Random::new(seed);
        let options = CacheOptions {
            page_bits: Some(PAGE_BITS),
            ..CacheOptions::default()
        };
        let device = Twin::new(1 << 28, seed).expect("there is one");
        let probe = Model::new(seed, device, options, 1 << 20, 1 << 20);
        let entries = probe.cache.entries.iter();
        let all: u64 = entries.map(|entry| entry.outline.bytes()).sum();
        let device = Twin::new(1 << 28, seed).expect("there is one");
        let mut model = Model::new(seed, device, options, all / 4, 4 << 20);
        let (first, others) = model.keys.split_at(model.keys.len() / 2);
        let (first, others) = (first.to_vec(), others.to_vec());
        let mut lookups = || *random.pick(&[20.0, 100.0, 1000.0]);
        let queries: Vec<_> = first.chunks(3).map(|it| (it.to_vec(), lookups())).collect();
        let copies = copies_by_turn(&mut model, &queries, 80);
        assert!(copies[0] > 0);
        assert_eq!(
            copies[60..].iter().sum::<u64>(),
            0,
            "seed {seed}: {copies:?}"
        );
        // Nobody asks the first ones any more.
        let queries: Vec<_> = others
            .chunks(3)
            .map(|it| (it.to_vec(), lookups()))
            .collect();
        let copies = copies_by_turn(&mut model, &queries, 160);
        moved += copies.iter().sum::<u64>();
        assert_eq!(
            copies[140..].iter().sum::<u64>(),
            0,
            "seed {seed}: {copies:?}"
        );
        let here = |key: &SegmentKey| {
            let number = model.cache.numbers[key].expect("it is there");
            (0..model.cache.pages(number))
                .filter(|page| model.cache.is_here(number, *page))
                .count()
        };
        let [before, now] = [&first, &others].map(|keys| keys.iter().map(here).sum::<usize>());
        assert!(
            now > 4 * before,
            "seed {seed}: {before} pages of before, {now}"
        );
    }
    assert!(moved > 0);
}

/// Half of what a query looks at is never read: it makes way for the other half, also where it lay whole and the query itself has it.
#[test]
fn what_a_query_does_not_read_makes_way_for_what_it_reads() {
    if let Err(error) = Twin::new(1 << 20, 0) {
        eprintln!("SKIPPED: {error}");
        return;
    }
    for was_whole in [false, true] {
        let options = CacheOptions {
            page_bits: Some(PAGE_BITS),
            poison: true,
            ..CacheOptions::default()
        };
        let probe = Model::new(3, twin(3), options, 1 << 20, 1 << 20);
        let mut keys = probe.keys.clone();
        let outline = |key: &SegmentKey| {
            let number = probe.cache.numbers[key].expect("it has edges");
            &probe.cache.entries[number as usize].outline
        };
        keys.sort_by_key(|key| outline(key).data_bytes());
        let (idle, read) = (keys[keys.len() - 2], keys[keys.len() - 1]);
        // Room for one of them, and a directory's.
        let images = outline(&read).bytes() + outline(&idle).directory_bytes();
        let mut model = Model::new(3, twin(3), options, images, 1 << 20);
        let place = |model: &mut Model, keys: &[SegmentKey], accesses: &[Access]| {
            let needed = model.numbers_of(keys);
            let placed = model.cache.place((&needed, accesses), NEW);
            let placed = placed.expect("any arena does");
            model.read();
            model.cache.unpin(&placed.numbers);
            model.count();
        };
        if was_whole {
            let all = model.lookups(&[idle], 1.0);
            place(&mut model, &[idle], &all);
            let number = model.cache.numbers[&idle].expect("it has edges");
            let entry = &model.cache.entries[number as usize];
            assert!(matches!(entry.place, Place::Whole(..)));
        }
        let lookups = model.lookups(&[read], 1000.0);
        for _ in 0..2 {
            place(&mut model, &[idle, read], &lookups);
        }
        let here = |key: &SegmentKey| {
            let number = model.cache.numbers[key].expect("it has edges");
            let pages = 0..model.cache.pages(number);
            let all = pages.len();
            let here = pages.filter(|page| model.cache.is_here(number, *page));
            (here.count(), all)
        };
        let (now, all) = here(&read);
        assert_eq!(now, all, "all that is read is there, {was_whole}");
        assert_eq!(here(&idle).0, 0, "nothing else has room, {was_whole}");
    }
}

fn twin(seed: u64) -> Twin {
    Twin::new(1 << 28, seed).expect("there is one")
}

/// A segment is brought for a second; who begins meanwhile is told so, and who ends does not wait.
#[test]
fn nobody_waits_for_whoever_has_the_cache() {
    let Ok(device) = Twin::new(1 << 28, 3) else {
        eprintln!("SKIPPED: there is no host twin");
        return;
    };
    let options = CacheOptions::default();
    let model = Model::new(3, device, options, 1 << 20, 1 << 20);
    let needed = model.numbers_of(&model.keys[..2]);
    let shared: Shared = Arc::new(SharedCache::new(model.cache));
    let placed = shared.held().place((&needed, &[]), NEW);
    let numbers = placed.expect("there is room").numbers;
    let query = shared.held().expect(&needed[..1]);
    let pins = |cache: &Cache| {
        numbers
            .iter()
            .map(|&it| cache.entries[it as usize].pins)
            .sum::<u32>()
    };
    let lease = Lease::new(&shared, numbers.clone(), None);
    let waiting = Expected::new(&shared, query);
    let held = shared.held();
    let other = Arc::clone(&shared);
    let ended = std::thread::spawn(move || {
        let begun = other.held_soon().map(drop);
        assert!(matches!(begun, Err(GpuError::Busy)), "{begun:?}");
        drop((lease, waiting));
    });
    ended.join().expect("it ends, though the cache is in hand");
    assert_eq!(pins(&held), 2, "nobody else changes what is in hand");
    assert!(!held.coming.distances().is_empty());
    drop(held);
    let held = shared.held_soon().expect("nobody has it");
    assert_eq!(pins(&held), 0, "what ended meanwhile is put down");
    assert!(held.coming.distances().is_empty());
    assert!(held.used() > 0 && shared.used() == held.used());
}

/// A segment for which the account has nothing is not there, and nobody has given a place up for it.
#[test]
fn who_gets_no_memory_takes_nobodys_place() {
    let Ok(device) = Twin::new(1 << 28, 3) else {
        eprintln!("SKIPPED: there is no host twin");
        return;
    };
    let options = CacheOptions {
        page_bits: Some(PAGE_BITS),
        ..CacheOptions::default()
    };
    let mut model = Model::new(3, device, options, 4 << PAGE_BITS, 1 << 20);
    let pages = |model: &Model, key: &SegmentKey| {
        let number = model.cache.numbers[key].expect("it has edges");
        let outline = &model.cache.entries[number as usize].outline;
        model.cache.arena.frames_of(outline.data_bytes()) as u64
    };
    let mut keys = model.keys.clone();
    keys.sort_by_key(|key| pages(&model, key));
    let large = keys[keys.len() - 1];
    let middle = keys[keys.len() / 2];
    assert!(pages(&model, &middle) > 4 && pages(&model, &large) > pages(&model, &middle));
    let left = Arc::new(Left(AtomicU64::new(pages(&model, &middle) << PAGE_BITS)));
    model.cache.draw_on(Arc::<Left>::clone(&left));
    let needed = model.numbers_of(&[middle]);
    let placed = model.cache.place((&needed, &[]), NEW);
    let numbers = placed.expect("the account has just as much").numbers;
    assert_eq!(left.0.load(Ordering::Relaxed), 0, "and no slab");
    model.cache.unpin(&numbers);
    let needed = model.numbers_of(&[large]);
    let refused = model.cache.place((&needed, &[]), NEW);
    assert!(
        matches!(refused, Err(GpuError::NoRoom { .. })),
        "{refused:?}"
    );
    assert!(matches!(
        model.cache.entries[numbers[0] as usize].place,
        Place::Paged(_)
    ));
    model.count();
    let smaller = keys[0];
    let needed = model.numbers_of(&[smaller]);
    let placed = model.cache.place((&needed, &[]), NEW);
    let placed = placed.expect("the other one gives its place up");
    model.cache.unpin(&placed.numbers);
    model.count();
    drop(model);
    assert!(left.0.load(Ordering::Relaxed) > 0, "all is given back");
}
