//! A disk without room, for a while: what is done meanwhile may fail, and nothing that is said or acknowledged is lost.

use super::*;

/// Does steps while the disk has no room, which may fail or not, and again when it has.
fn through_want(disk: &SimDisk, room_bytes: u64, database: &Database, live: &Live, steps: &[Step]) {
    disk.set_faults(SimFaults {
        capacity_bytes: Some(disk.used_bytes() + room_bytes),
        ..SimFaults::default()
    });
    for step in steps {
        drop(done(database, live, step));
    }
    disk.set_faults(SimFaults::default());
    for step in steps {
        done(database, live, step).expect("there is room");
    }
}

/// What a store says before a stop it says after it.
fn goes_on_as_it_was(disk: &SimDisk, database: Database, live: Live, of: &str) {
    let expected = outcome(&database, &live);
    let next = disk.restart(SimFaults::default());
    drop((database, live));
    let opened = open(&next).unwrap_or_else(|error| panic!("{of}: it does not open: {error}"));
    let found = outcome(&opened.0, &opened.1);
    if let Some(difference) = difference(&found, &expected) {
        panic!("{of}: {difference}");
    }
}

/// While a disk is full sources go on to promise, which is remembered, and seals wait for room: the log has them behind each other.
#[test]
fn promises_over_a_full_disk_are_obeyed_again() {
    let disk = disk(1, SimFaults::default());
    let (database, live) = open(&disk).expect("it opens");
    for step in beginning() {
        done(&database, &live, &step).expect("it is done");
    }
    let promises = [600, 700, 850].map(promise_of);
    through_want(&disk, 0, &database, &live, &promises);
    done(&database, &live, &push_of(0, 950, 2..3)).expect("it is done");
    done(&database, &live, &promise_of(2000)).expect("it is done");
    goes_on_as_it_was(&disk, database, live, "three promises");
}

/// Whatever is done while the disk is full, the store opens again and says what it said.
#[test]
fn a_disk_that_is_full_for_a_while_loses_nothing() {
    for seed in seeds::chosen(40, 2_000) {
        let mut random = Random::new(seed ^ 0xf0_11);
        let steps = script(seed);
        let disk = disk(seed, SimFaults::default());
        let (database, live) = open(&disk).expect("it opens");
        let mut from = 0;
        while from < steps.len() {
            let until = (from + random.between(1, 5)).min(steps.len());
            if from >= beginning().len() && random.chance(40) {
                let room_bytes = random.below(400) as u64;
                through_want(&disk, room_bytes, &database, &live, &steps[from..until]);
            } else {
                for step in &steps[from..until] {
                    done(&database, &live, step).expect("there is room");
                }
            }
            from = until;
        }
        goes_on_as_it_was(&disk, database, live, &format!("seed {seed}"));
    }
}
