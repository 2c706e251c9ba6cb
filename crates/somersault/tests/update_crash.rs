//! Power cuts, failing calls and full disks under updates and checkpoints.
//!
//! A run is a sequence of updates with checkpoints between, on a simulated disk that forgets what was
//! not synced. It is repeated with the power cut at every call that it makes, with every call
//! failing once, and with disks too small for it. An update that fails and may be tried again is tried
//! once more. Whatever happens: what is found afterwards is
//! exactly what the first *n* updates make, *n* is not less than what was acknowledged, the store
//! opens, and takes further updates. Some 2,400 cases a seed: one seed in an ordinary run, five with
//! `SOMERSAULT_LONG=1`.

use oxrdf::dataset::CanonicalizationAlgorithm;
use oxrdf::{Dataset, QuadRef};
use somersault::{Database, Kind, Options, UpdateRequest};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use store::disk::{SimDisk, SimFaults};
use testkit::random::Random;
use testkit::seeds;

const HOME: &str = "/disk/store";
/// Updates of a run.
const UPDATES: usize = 14;

/// What a run does: texts, and after which of them a checkpoint is made.
struct Script {
    /// Whether changes are evaluated before their turn.
    is_beside: bool,
    texts: Vec<String>,
    compacts: Vec<bool>,
    /// What the store holds after the first *n* updates.
    states: Vec<Dataset>,
}

impl Script {
    fn new(seed: u64) -> Script {
        let mut random = Random::new(seed);
        let mut script = Script {
            is_beside: seed % 2 == 1,
            texts: Vec::new(),
            compacts: Vec::new(),
            states: Vec::new(),
        };
        let disk = SimDisk::new(seed, Path::new("/disk"), SimFaults::default());
        let database = open(&disk, script.is_beside).unwrap_or_else(|error| panic!("{error}"));
        script.states.push(dump(&database));
        while script.texts.len() < UPDATES {
            let (s, p) = (random.below(6), random.below(3));
            let long = "x".repeat(random.below(900));
            let text = match random.below(8) {
                0 => format!("DELETE WHERE {{ <http://e/s{s}> <http://e/p{p}> ?o }}"),
                1 => format!(
                    "DELETE {{ ?s <http://e/p{p}> ?o }} INSERT {{ ?s <http://e/q{p}> ?o ; a <http://e/C{s}> }} WHERE {{ ?s <http://e/p{p}> ?o }}"
                ),
                2 => format!(
                    "INSERT {{ GRAPH <http://e/g{p}> {{ ?s ?p [] }} }} WHERE {{ ?s ?p <http://e/o{s}> }}"
                ),
                3 => format!("CLEAR GRAPH <http://e/g{p}>"),
                _ => format!(
                    "INSERT DATA {{ <http://e/s{s}> <http://e/p{p}> \"{long}\", {}, <http://e/o{s}> . GRAPH <http://e/g{p}> {{ <http://e/s{s}> <http://e/p{p}> {s} }} }}",
                    random.below(100)
                ),
            };
            let before = database.snapshot_number();
            if update(&database, &text).unwrap_or_else(|error| panic!("{error}")) == before {
                continue;
            }
            script.texts.push(text);
            script.compacts.push(random.chance(20));
            script.states.push(dump(&database));
        }
        script
    }

    /// Runs on a disk as far as it gets; gives the number of acknowledged updates, and how many of them
    /// had failed before.
    fn run(&self, disk: &SimDisk) -> (usize, usize) {
        let Ok(database) = open(disk, self.is_beside) else {
            return (0, 0);
        };
        let (mut acknowledged, mut retried) = (0, 0);
        for (number, (text, compacts)) in self.texts.iter().zip(&self.compacts).enumerate() {
            let mut tried = update(&database, text);
            // Readers go on whatever the disk does.
            let is_done = tried.is_ok();
            assert_eq!(dump(&database), self.states[number + usize::from(is_done)]);
            if let Err(error) = &tried
                && matches!(error.kind, Kind::DiskFull | Kind::Unavailable)
            {
                tried = update(&database, text);
                retried += usize::from(tried.is_ok());
            }
            match tried {
                Ok(snapshot) => {
                    assert_eq!(snapshot, number as u64 + 1);
                    assert_eq!(dump(&database), self.states[number + 1]);
                    acknowledged = number + 1;
                }
                // Without it the later ones make other states.
                Err(error) => {
                    let ends = [Kind::ReadOnly, Kind::DiskFull, Kind::Unavailable];
                    assert!(ends.contains(&error.kind), "{error}");
                    let is_final = !database.health().is_sound();
                    assert_eq!(is_final, error.kind == Kind::ReadOnly, "{error}");
                    break;
                }
            }
            if *compacts {
                // It may fail; nothing is lost by it.
                let _ = database.compact();
                assert_eq!(dump(&database), self.states[acknowledged]);
            }
        }
        (acknowledged, retried)
    }

    /// What is found on a disk after its power came back.
    fn check(&self, disk: &SimDisk, acknowledged: usize) -> Result<(), String> {
        let database =
            open(disk, self.is_beside).map_err(|error| format!("it does not open: {error}"))?;
        let number = database.snapshot_number() as usize;
        if number < acknowledged {
            return Err(format!(
                "{acknowledged} were acknowledged, {number} are there"
            ));
        }
        let found = dump(&database);
        if self.states.get(number) != Some(&found) {
            return Err(format!("not the state after {number} updates:\n{found}"));
        }
        for text in self.texts.iter().skip(number) {
            update(&database, text).map_err(|error| format!("afterwards: {error}"))?;
        }
        drop(database);
        let database =
            open(disk, self.is_beside).map_err(|error| format!("not a second time: {error}"))?;
        if Some(&dump(&database)) == self.states.last() {
            Ok(())
        } else {
            Err("another end than without the crash".to_owned())
        }
    }
}

#[test]
fn nothing_acknowledged_is_lost_and_nothing_is_half_done() {
    let (mut cases, mut retried) = (0, 0);
    std::thread::scope(|scope| {
        let threads: Vec<_> = seeds::chosen(1, 5)
            .map(|seed| scope.spawn(move || crash_everywhere(seed)))
            .collect();
        for thread in threads {
            let (more, again) = thread.join().unwrap();
            cases += more;
            retried += again;
        }
    });
    eprintln!("crashes under updates: {cases} cases, {retried} updates that were tried again");
    assert!(retried > 20, "{retried}");
}

/// Runs a script once for each fault; how many those are, and how many updates were tried again.
fn crash_everywhere(seed: u64) -> (usize, usize) {
    let script = Script::new(seed);
    let disk = |faults| SimDisk::new(seed, Path::new("/disk"), faults);
    let whole = disk(SimFaults::default());
    assert_eq!(script.run(&whole), (UPDATES, 0));
    let faults = faults_of(whole.calls(), whole.syncs());
    let mut retried = 0;
    for faults in &faults {
        let disk = disk(faults.clone());
        let (acknowledged, again) = script.run(&disk);
        retried += again;
        let after = disk.restart(SimFaults::default());
        if let Err(complaint) = script.check(&after, acknowledged) {
            panic!("SOMERSAULT_SEED={seed} {faults:?}: {complaint}");
        }
    }
    (faults.len(), retried)
}

/// Power cuts and errors at each call, power cuts at each sync, and disks of all sizes.
fn faults_of(calls: u64, syncs: u64) -> Vec<SimFaults> {
    let mut faults = Vec::new();
    for call in 1..=calls {
        faults.push(SimFaults {
            power_cut_at_call: Some(call),
            ..SimFaults::default()
        });
        for kind in [ErrorKind::StorageFull, ErrorKind::Other] {
            faults.push(SimFaults {
                error_at_call: Some((call, kind)),
                ..SimFaults::default()
            });
        }
    }
    for sync in 1..=syncs {
        faults.push(SimFaults {
            power_cut_at_sync: Some(sync),
            ..SimFaults::default()
        });
    }
    for capacity in (0..60_000).step_by(2_500) {
        faults.push(SimFaults {
            capacity_bytes: Some(capacity),
            ..SimFaults::default()
        });
    }
    faults
}

/// Opens the store. Changes are evaluated in their turn, or all before it, whatever time they take: the
/// numbers of blank nodes, which are compared here, depend on how often one is evaluated.
fn open(disk: &SimDisk, is_beside: bool) -> Result<Database, String> {
    let options = Options {
        update_slice: if is_beside {
            Duration::ZERO
        } else {
            Duration::from_hours(1)
        },
        update_turn_quads: if is_beside { 0 } else { usize::MAX },
        ..Options::default()
    };
    let database = Database::open_writable_on(Arc::new(disk.clone()), Path::new(HOME), &options);
    database.map_err(|error| error.to_string())
}

fn update(database: &Database, text: &str) -> Result<u64, somersault::QueryError> {
    let request = UpdateRequest {
        text,
        ..UpdateRequest::default()
    };
    database
        .update(&request)
        .map(|committed| committed.snapshot)
}

fn dump(database: &Database) -> Dataset {
    let mut dataset = Dataset::new();
    let mut has_blanks = false;
    let mut take = |quad: QuadRef<'_>| {
        has_blanks |= quad.subject.is_blank_node() || quad.object.is_blank_node();
        dataset.insert(quad);
        Ok(())
    };
    somersault::dump::all(&database.graph(), &mut take).expect("a graph in memory");
    // An update that is tried again has other labels for its blank nodes.
    if has_blanks {
        dataset.canonicalize(CanonicalizationAlgorithm::Unstable);
    }
    dataset
}
