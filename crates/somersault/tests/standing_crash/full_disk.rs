//! A disk without room, for a while: what is done meanwhile may fail, and nothing that is said or acknowledged is lost.

use super::*;

/// A stream that nobody reads and that stores nothing: its seals are not waited for.
const UNREAD: &str = "urn:unread";

/// Does steps while the disk has no room, which may fail or not. Gives those that failed.
fn failed_for_want<'s>(
    disk: &SimDisk,
    room_bytes: u64,
    (database, live): &(Database, Live),
    steps: &'s [Step],
) -> Vec<&'s Step> {
    disk.set_faults(SimFaults {
        capacity_bytes: Some(disk.used_bytes() + room_bytes),
        ..SimFaults::default()
    });
    let failed = steps
        .iter()
        .filter(|step| done(database, live, step).is_err());
    let failed = failed.collect();
    disk.set_faults(SimFaults::default());
    failed
}

/// The steps of a script, and among them what becomes of a stream that nobody reads, and changes that are larger than what else is
/// said.
fn script_beside(seed: u64) -> Vec<Step> {
    let mut random = Random::new(seed ^ 0x5ca1_ab1e);
    let unread = Step::Stream(HubStream {
        absorb: Some(Vec::new()),
        ..HubStream::new(UNREAD)
    });
    let mut steps = beginning();
    steps.push(unread.clone());
    let (mut time_ms, mut first) = (0, 0);
    for step in script(seed).split_off(beginning().len()) {
        steps.push(step);
        time_ms += random.below(300) as u64;
        steps.extend(match random.below(8) {
            0..=2 => {
                first += 1;
                Some(Step::Push {
                    stream: UNREAD,
                    source: "a",
                    first: first - 1,
                    items: vec![item(&mut random, time_ms)],
                })
            }
            3 | 4 => Some(Step::Promise {
                stream: UNREAD,
                source: "a",
                time_ms,
            }),
            5 if random.chance(30) => Some(Step::Drop(UNREAD)),
            5 => Some(unread.clone()),
            6 => {
                let number = random.below(40);
                let triples = (0..number).map(|it| format!("<urn:big> <urn:p{it}> {number} . "));
                Some(Step::Update(format!(
                    "INSERT DATA {{ {} }}",
                    triples.collect::<String>()
                )))
            }
            _ => None,
        });
    }
    steps
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
    let opened = open(&disk).expect("it opens");
    for step in beginning() {
        done(&opened.0, &opened.1, &step).expect("it is done");
    }
    let promises = [600, 700, 850].map(promise_of);
    let failed = failed_for_want(&disk, 0, &opened, &promises);
    assert!(!failed.is_empty(), "the disk is full");
    for step in [push_of(0, 950, 2..3), promise_of(2000)] {
        done(&opened.0, &opened.1, &step).expect("it is done");
    }
    goes_on_as_it_was(&disk, opened.0, opened.1, "three promises");
}

/// Whatever is done while the disk is full, what was acknowledged is stored, also where the power is cut before there is room; the
/// store opens again, and says what it said.
#[test]
fn a_disk_that_is_full_for_a_while_loses_nothing() {
    let mut failures = 0;
    let seeds = seeds::chosen(60, 3_000);
    let is_sample = seeds.end - seeds.start >= 60;
    for seed in seeds {
        let mut random = Random::new(seed ^ 0xf0_11);
        let steps = script_beside(seed);
        let whole = run(&disk(seed, SimFaults::default()), &steps, 0);
        let (_, expected) = whole.expect("nothing fails");
        let mut disk = disk(seed, SimFaults::default());
        let mut opened = open(&disk).expect("it opens");
        let mut from = 0;
        while from < steps.len() {
            let until = (from + random.between(1, 5)).min(steps.len());
            let steps = &steps[from..until];
            let mut left: Vec<&Step> = steps.iter().collect();
            if from >= beginning().len() && random.chance(40) {
                let room_bytes = random.below(400) as u64;
                left = failed_for_want(&disk, room_bytes, &opened, steps);
                failures += left.len();
                if random.chance(30) {
                    disk = disk.restart(SimFaults::default());
                    opened = open(&disk).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
                }
            }
            for step in left {
                done(&opened.0, &opened.1, step).expect("there is room");
            }
            from = until;
        }
        // What the last of them made possible may have found no room.
        done(&opened.0, &opened.1, &promise_of(0)).expect("there is room");
        let stored = outcome(&opened.0, &opened.1).1;
        assert_eq!(stored, expected.1, "seed {seed}");
        goes_on_as_it_was(&disk, opened.0, opened.1, &format!("seed {seed}"));
    }
    assert!(!is_sample || failures > 0, "some disk was full");
}

/// A late item is in the log, and there was no room to say that it revises; another one comes before that is tried again.
#[test]
fn late_items_over_a_full_disk_are_revealed_as_they_were() {
    let late = |first, time_ms, subject| push_of(first, time_ms, subject..subject + 1);
    for room_bytes in (0..1200).step_by(20) {
        let disk = disk(1, SimFaults::default());
        let opened = open(&disk).expect("it opens");
        let mut before = beginning();
        before.extend([push_of(0, 550, 0..1), promise_of(600)]);
        for step in before {
            done(&opened.0, &opened.1, &step).expect("it is done");
        }
        let first = [late(1, 450, 1)];
        for step in failed_for_want(&disk, room_bytes, &opened, &first) {
            done(&opened.0, &opened.1, step).expect("there is room");
        }
        for step in [late(2, 460, 2), promise_of(2000), promise_of(2100)] {
            done(&opened.0, &opened.1, &step).expect("there is room");
        }
        let of = format!("{room_bytes} bytes of room");
        goes_on_as_it_was(&disk, opened.0, opened.1, &of);
    }
}
