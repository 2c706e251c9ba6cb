//! The store directory: a load is all or nothing whatever happens, and what cannot be opened says
//! why.

#![allow(clippy::unwrap_used)] // a test's helpers may fail as a test does

use crate::common;

use common::{Numbers, Shape, TYPE, dump, quads_of};
use rdf::Direction;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use store::Snapshot;
use store::directory::manifest::HeadError;
use store::directory::{BeginError, Manifest, OpenError, begin, open};
use store::disk::{Disk, RealDisk, SimDisk, SimFaults};
use store::testing::{IdQuad, write_parts};

const STORE: &str = "/data/store";

fn quads(seed: u64) -> Vec<IdQuad> {
    quads_of(&Shape {
        seed,
        quads: 60,
        predicates: 4,
        graphs: 1,
        vertices: 1,
        hub: 0,
    })
}

fn load(disk: &dyn Disk, path: &Path, quads: &[IdQuad]) -> Result<Manifest, BeginError> {
    let generation = begin(disk, path)?;
    write_parts(&generation, quads, Some(TYPE)).map_err(|error| BeginError::Io {
        file: error.file.into(),
        source: error.source,
    })?;
    generation.commit([("quads".to_owned(), quads.len() as u64)].into())
}

fn read(disk: &dyn Disk, path: &Path) -> Result<BTreeSet<IdQuad>, OpenError> {
    let opened = open(disk, path)?;
    let snapshot = Snapshot::open(&opened).expect("an opened store is whole");
    let out = dump(&snapshot, Direction::Out).unwrap();
    assert_eq!(out, dump(&snapshot, Direction::In).unwrap());
    Ok(out)
}

fn set(quads: &[IdQuad]) -> BTreeSet<IdQuad> {
    quads.iter().copied().collect()
}

fn fresh(seed: u64, faults: SimFaults) -> SimDisk {
    SimDisk::new(seed, Path::new("/data"), faults)
}

/// A disk with a store of the first graph, restarted with these faults.
fn with_store(seed: u64, faults: SimFaults) -> SimDisk {
    let disk = fresh(seed, SimFaults::default());
    load(&disk, Path::new(STORE), &quads(1)).unwrap();
    disk.restart(faults)
}

/// Calls and syncs of a second load.
fn effort() -> (u64, u64) {
    let disk = with_store(0, SimFaults::default());
    load(&disk, Path::new(STORE), &quads(2)).unwrap();
    (disk.calls(), disk.syncs())
}

/// After whatever happened the store is one of the two, and the next load succeeds and cleans up.
fn check_recovery(disk: &SimDisk, what: &str) -> bool {
    let path = Path::new(STORE);
    let found = read(disk, path).unwrap_or_else(|error| panic!("{what}: {error}"));
    let is_new = found == set(&quads(2));
    assert!(
        is_new || found == set(&quads(1)),
        "{what}: neither the old nor the new store"
    );
    load(disk, path, &quads(3)).unwrap_or_else(|error| panic!("{what}: next load: {error}"));
    assert_eq!(read(disk, path).unwrap(), set(&quads(3)), "{what}");
    let names = disk.list(path).unwrap();
    assert_eq!(names.len(), 3, "{what}: {names:?}");
    is_new
}

#[test]
fn power_cut_at_every_call_leaves_the_old_or_the_new_store() {
    let (calls, _) = effort();
    let mut seen = BTreeSet::new();
    for call in 1..=calls {
        for seed in 0..3 {
            let faults = SimFaults {
                power_cut_at_call: Some(call),
                ..SimFaults::default()
            };
            let disk = with_store(seed * 1000 + call, faults);
            let committed = load(&disk, Path::new(STORE), &quads(2)).is_ok();
            let disk = disk.restart(SimFaults::default());
            let is_new = check_recovery(&disk, &format!("call {call} of {calls}, seed {seed}"));
            assert!(is_new || !committed, "what was committed is lost");
            seen.insert(is_new);
        }
    }
    assert_eq!(seen.len(), 2);
}

#[test]
fn power_cut_at_every_sync_leaves_the_old_or_the_new_store() {
    let (_, syncs) = effort();
    assert!(syncs > 20);
    for sync in 1..=syncs {
        for seed in 0..8 {
            let faults = SimFaults {
                power_cut_at_sync: Some(sync),
                ..SimFaults::default()
            };
            let disk = with_store(seed * 1000 + sync, faults);
            assert!(load(&disk, Path::new(STORE), &quads(2)).is_err());
            let disk = disk.restart(SimFaults::default());
            check_recovery(&disk, &format!("sync {sync} of {syncs}, seed {seed}"));
        }
    }
}

#[test]
fn what_is_committed_survives_a_power_cut_right_after() {
    for seed in 0..30 {
        let disk = with_store(seed, SimFaults::default());
        load(&disk, Path::new(STORE), &quads(2)).unwrap();
        assert_eq!(
            read(&disk.restart(SimFaults::default()), Path::new(STORE)).unwrap(),
            set(&quads(2))
        );
        let first = fresh(seed, SimFaults::default());
        load(&first, Path::new(STORE), &quads(1)).unwrap();
        assert_eq!(
            read(&first.restart(SimFaults::default()), Path::new(STORE)).unwrap(),
            set(&quads(1))
        );
    }
}

#[test]
fn power_cut_during_the_first_load_leaves_no_store_or_the_new_one() {
    let disk = fresh(0, SimFaults::default());
    load(&disk, Path::new(STORE), &quads(1)).unwrap();
    for call in 1..=disk.calls() {
        let disk = fresh(
            call,
            SimFaults {
                power_cut_at_call: Some(call),
                ..SimFaults::default()
            },
        );
        let _ = load(&disk, Path::new(STORE), &quads(1));
        let disk = disk.restart(SimFaults::default());
        match read(&disk, Path::new(STORE)) {
            Ok(found) => assert_eq!(found, set(&quads(1)), "call {call}"),
            Err(OpenError::Missing { .. } | OpenError::Empty { .. }) => {}
            Err(error) => panic!("call {call}: {error}"),
        }
        load(&disk, Path::new(STORE), &quads(3)).unwrap();
        assert_eq!(read(&disk, Path::new(STORE)).unwrap(), set(&quads(3)));
    }
}

#[test]
fn any_failing_call_leaves_the_old_or_the_new_store() {
    let (calls, _) = effort();
    for call in 1..=calls {
        let faults = SimFaults {
            error_at_call: Some((call, io::ErrorKind::PermissionDenied)),
            ..SimFaults::default()
        };
        let disk = with_store(call, faults);
        let _ = load(&disk, Path::new(STORE), &quads(2));
        check_recovery(&disk, &format!("call {call} of {calls}"));
    }
}

#[test]
fn a_full_disk_leaves_the_old_store_and_gives_back_its_space() {
    for capacity in [20_000, 22_000, 25_000, 28_000] {
        let faults = SimFaults {
            capacity_bytes: Some(capacity),
            ..SimFaults::default()
        };
        let disk = fresh(7, faults);
        if load(&disk, Path::new(STORE), &quads(1)).is_err() {
            continue;
        }
        let large = quads_of(&Shape {
            seed: 5,
            quads: 9000,
            predicates: 4,
            graphs: 1,
            vertices: 1,
            hub: 0,
        });
        let error = load(&disk, Path::new(STORE), &large).unwrap_err();
        let BeginError::Io { source, .. } = error else {
            panic!("{error}")
        };
        assert_eq!(source.kind(), io::ErrorKind::StorageFull);
        assert_eq!(read(&disk, Path::new(STORE)).unwrap(), set(&quads(1)));
        assert_eq!(disk.list(Path::new(STORE)).unwrap().len(), 3);
    }
}

#[test]
fn one_load_at_a_time_and_readers_are_not_hindered() {
    let disk = with_store(3, SimFaults::default());
    let path = Path::new(STORE);
    let running = begin(&disk, path).unwrap();
    assert!(matches!(begin(&disk, path), Err(BeginError::Locked { .. })));
    assert_eq!(read(&disk, path).unwrap(), set(&quads(1)));
    drop(running);
    let opened = open(&disk, path).unwrap();
    load(&disk, path, &quads(2)).unwrap();
    let old = Snapshot::open(&opened).unwrap();
    assert_eq!(dump(&old, Direction::Out).unwrap(), set(&quads(1)));
    assert_eq!(read(&disk, path).unwrap(), set(&quads(2)));
}

#[test]
fn what_killed_loads_left_goes_when_the_next_load_begins() {
    let path = Path::new(STORE);
    let disk = with_store(4, SimFaults::default());
    for number in [2, 3, 7] {
        let left = path.join(format!("g-{number:016}"));
        disk.create_dir(&left).unwrap();
        let mut file = disk.create(&left.join("keys-out.bin")).unwrap();
        file.append(&[1; 5000]).unwrap();
    }
    let opened = open(&disk, path).unwrap();
    let running = begin(&disk, path).unwrap();
    let names = [
        "CURRENT",
        "LOCK",
        "g-0000000000000001",
        "g-0000000000000008",
    ];
    assert_eq!(disk.list(path).unwrap(), names);
    drop(running);
    assert_eq!(disk.list(path).unwrap(), &names[..3]);
    let old = Snapshot::open(&opened).unwrap();
    assert_eq!(dump(&old, Direction::Out).unwrap(), set(&quads(1)));
    assert_eq!(read(&disk, path).unwrap(), set(&quads(1)));
}

/// A disk that does not rename, or says that it did not although it did.
struct NoRename(SimDisk, bool);

impl Disk for NoRename {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.0.create_dir(path)
    }
    fn create(&self, path: &Path) -> io::Result<Box<dyn store::disk::AppendFile>> {
        self.0.create(path)
    }
    fn map(&self, path: &Path) -> io::Result<memory::Region> {
        self.0.map(path)
    }
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.0.read(path)
    }
    fn open_sectors(&self, path: &Path) -> io::Result<Box<dyn store::disk::SectorFile>> {
        self.0.open_sectors(path)
    }
    fn sync_file(&self, path: &Path) -> io::Result<()> {
        self.0.sync_file(path)
    }
    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.0.list(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        if self.1 {
            self.0.rename(from, to)?;
        }
        Err(io::ErrorKind::PermissionDenied.into())
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.0.remove_file(path)
    }
    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.0.remove_dir(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.0.sync_dir(path)
    }
    fn lock(&self, path: &Path) -> io::Result<Box<dyn store::disk::DiskLock>> {
        self.0.lock(path)
    }
}

#[test]
fn a_failed_rename_leaves_one_store_and_nothing_else() {
    let path = Path::new(STORE);
    for is_done in [false, true] {
        let disk = NoRename(with_store(5, SimFaults::default()), is_done);
        let error = load(&disk, path, &quads(2)).unwrap_err();
        assert!(error.to_string().contains("permission denied"), "{error}");
        let expected = quads(if is_done { 2 } else { 1 });
        assert_eq!(read(&disk, path).unwrap(), set(&expected));
        let generations = if is_done { 2 } else { 1 };
        assert_eq!(disk.list(path).unwrap().len(), 2 + generations);
        check_recovery(&disk.0, "a failed rename");
    }
}

#[test]
fn what_is_no_store_says_so() {
    let disk = fresh(0, SimFaults::default());
    let message = |path: &str| open(&disk, Path::new(path)).unwrap_err().to_string();
    assert!(message("/data/none").contains("there is no store here"));
    disk.create_dir(Path::new("/data/other")).unwrap();
    let mut file = disk.create(Path::new("/data/other/holiday.jpg")).unwrap();
    file.append(b"sea").unwrap();
    assert!(message("/data/other").contains("not a store directory"));
    assert!(message("/data/other").contains("holiday.jpg"));
    assert!(message("/data/other/holiday.jpg").contains("it is a file"));
    let refused = begin(&disk, Path::new("/data/other")).err().unwrap();
    assert!(matches!(
        refused,
        BeginError::Store(OpenError::NotAStore { .. })
    ));
    assert_eq!(
        disk.list(Path::new("/data/other")).unwrap(),
        ["holiday.jpg"]
    );
    let begun = begin(&disk, Path::new("/data/begun")).unwrap();
    assert!(message("/data/begun").contains("no load into it was completed"));
    drop(begun);
    disk.create_dir(Path::new("/data/foreign")).unwrap();
    let mut file = disk.create(Path::new("/data/foreign/CURRENT")).unwrap();
    file.append(b"MANIFEST-000001\n").unwrap();
    assert!(message("/data/foreign").contains("of some other program"));
}

#[test]
fn damage_to_files_is_told_by_name() {
    let generation = format!("{STORE}/g-0000000000000001");
    let after = |harm: &dyn Fn(&SimDisk)| {
        let disk = with_store(1, SimFaults::default());
        harm(&disk);
        open(&disk, Path::new(STORE)).unwrap_err()
    };
    let file = |name: &str| Path::new(&generation).join(name);
    let error = after(&|disk| assert!(disk.damage(&file("MANIFEST"), 70, 1)));
    assert!(
        matches!(
            error,
            OpenError::Head {
                source: HeadError::Damaged(_),
                ..
            }
        ),
        "{error}"
    );
    let error = after(&|disk| assert!(disk.damage(&file("MANIFEST"), 8, 2)));
    assert!(matches!(
        error,
        OpenError::Head {
            source: HeadError::Version { found: 3, .. },
            ..
        }
    ));
    assert!(error.to_string().contains("load the data again"), "{error}");
    let current = Path::new(STORE).join("CURRENT");
    let error = after(&|disk| assert!(disk.damage(&current, 8, 3)));
    assert!(matches!(
        error,
        OpenError::Head {
            source: HeadError::Version { found: 2, .. },
            ..
        }
    ));
    let error = after(&|disk| assert!(disk.truncate(&current, 20)));
    assert!(
        matches!(
            error,
            OpenError::Head {
                source: HeadError::Damaged(_),
                ..
            }
        ),
        "{error}"
    );
    let error = after(&|disk| assert!(disk.truncate(&file("keys-out.bin"), 80)));
    assert!(
        matches!(error, OpenError::Length { found: 80, .. }),
        "{error}"
    );
    let error = after(&|disk| disk.remove_file(&file("keys-in.bin")).unwrap());
    assert!(matches!(error, OpenError::MissingFile { .. }), "{error}");
    let manifest = Manifest::from_bytes(
        with_store(1, SimFaults::default())
            .map(&file("MANIFEST"))
            .unwrap()
            .bytes(),
    );
    let length = manifest
        .unwrap()
        .files
        .iter()
        .find(|part| part.name == "keys-out.bin")
        .unwrap()
        .length_bytes;
    let error = after(&|disk| assert!(disk.damage(&file("keys-out.bin"), length as usize, 1)));
    assert!(matches!(error, OpenError::Sums { .. }), "{error}");
}

#[test]
fn a_changed_byte_is_noticed_or_harmless_and_never_a_panic() {
    let shape = Shape {
        seed: 11,
        quads: 1500,
        predicates: 30,
        graphs: 2,
        vertices: 2,
        hub: 3000,
    };
    let quads = quads_of(&shape);
    let wanted = set(&quads);
    let pristine = fresh(0, SimFaults::default());
    load(&pristine, Path::new(STORE), &quads).unwrap();
    let directory = Path::new(STORE).join("g-0000000000000001");
    let names = pristine.list(&directory).unwrap();
    let mut numbers = Numbers::new(99);
    let (mut noticed, mut harmless) = (0, 0);
    for round in 0..600 {
        let file = directory.join(&names[numbers.below(names.len() as u64) as usize]);
        let length = pristine.map(&file).unwrap().len() as u64;
        let place = numbers.below(length) as usize;
        let flip = 1 << numbers.below(8);
        assert!(pristine.damage(&file, place, flip));
        let found = open(&pristine, Path::new(STORE)).ok().and_then(|opened| {
            let snapshot = Snapshot::open(&opened).ok()?;
            let mut ends = Vec::new();
            let keys: Vec<_> = quads.iter().map(|quad| quad.0).collect();
            let mut predicates = Vec::new();
            let answered = store::GraphView::predicates_of(
                &snapshot,
                Direction::Out,
                &keys,
                &mut predicates,
                &mut ends,
            );
            let _ = answered.ok()?;
            dump(&snapshot, [Direction::Out, Direction::In][round % 2]).ok()
        });
        match found {
            None => noticed += 1,
            Some(found) => {
                assert_eq!(found, wanted, "{} byte {place}", file.display());
                harmless += 1;
            }
        }
        assert!(pristine.damage(&file, place, flip));
    }
    assert!(noticed > 100, "noticed {noticed}, harmless {harmless}");
}

#[test]
fn the_real_disk_keeps_a_store_too() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    load(&RealDisk, &path, &quads(1)).unwrap();
    assert_eq!(read(&RealDisk, &path).unwrap(), set(&quads(1)));
    let opened = open(&RealDisk, &path).unwrap();
    assert_eq!(opened.manifest().counts["quads"], 60);
    load(&RealDisk, &path, &quads(2)).unwrap();
    assert_eq!(read(&RealDisk, &path).unwrap(), set(&quads(2)));
    let old = Snapshot::open(&opened).unwrap();
    assert_eq!(dump(&old, Direction::In).unwrap(), set(&quads(1)));
}
