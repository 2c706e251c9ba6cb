//! Whoever follows a log that somebody else writes gets each durable record once, in order, and no other,
//! whatever the writer does: fill the disk, give up, begin files, trim, end and come back.

#![allow(clippy::unwrap_used)]

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use store::disk::{Disk, SimDisk, SimFaults};
use store::log::{FileLog, Follower, Log, LogError, OpenOptions, read_durable};
use testkit::random::Random;
use testkit::seeds;

const STORE: &str = "/data";
const STEPS: usize = 400;

fn store() -> &'static Path {
    Path::new(STORE)
}

fn opened(disk: &SimDisk, first: u64) -> FileLog {
    let options = OpenOptions {
        file_bytes: 20_000,
        gather: Duration::ZERO,
        accept_damage: false,
    };
    let opened = FileLog::open_with(Arc::new(disk.clone()), store(), first, options);
    opened.unwrap().0
}

struct Session {
    disk: SimDisk,
    random: Random,
    log: FileLog,
    /// Payloads of the records that are durable, from the first one on.
    durable: Vec<Vec<u8>>,
    /// Appended, not known to be durable.
    pending: Vec<Vec<u8>>,
    /// What a checkpoint holds: records up to this one.
    held: u64,
    follower: Follower,
    /// What the follower was given since the checkpoint that it began with.
    seen: Vec<Vec<u8>>,
    begun: u64,
    reopened: usize,
    given_up: usize,
}

impl Session {
    fn new(seed: u64) -> Session {
        let disk = SimDisk::new(seed, store(), SimFaults::default());
        let log = opened(&disk, 1);
        let follower = read_durable(&disk, store(), 1, &mut |_, _| ControlFlow::Continue(()));
        Session {
            log,
            random: Random::new(seed),
            durable: Vec::new(),
            pending: Vec::new(),
            held: 0,
            follower: follower.unwrap(),
            seen: Vec::new(),
            begun: 0,
            reopened: 0,
            given_up: 0,
            disk,
        }
    }

    fn step(&mut self) {
        match self.random.below(20) {
            0..6 => self.append(),
            6..10 => self.sync(),
            10 => self.fill(),
            11 => self.disk.set_faults(SimFaults::default()),
            12 => self.trim(),
            13 if self.random.chance(30) => self.restart(),
            _ => self.follow(),
        }
    }

    fn append(&mut self) {
        let bytes = match self.random.below(20) {
            // Larger than the buffer: it goes to the file before anybody syncs.
            0 => 1_100_000,
            1..5 => self.random.below(9000),
            _ => self.random.below(300),
        };
        let payload = vec![(self.random.bits() % 251) as u8; bytes];
        match self.log.append(&[&payload]) {
            Ok(position) => {
                self.pending.push(payload);
                let count = self.durable.len() + self.pending.len();
                assert_eq!(position, count as u64);
                // A file that is begun makes everything before it durable.
                self.settle();
            }
            Err(_) => self.given_up(),
        }
    }

    fn sync(&mut self) {
        if self.log.sync(self.log.next() - 1).is_err() {
            self.given_up();
        }
        self.settle();
    }

    /// Moves what is durable by now.
    fn settle(&mut self) {
        let durable = self.log.durable() as usize - self.durable.len();
        self.durable.extend(self.pending.drain(..durable));
    }

    fn given_up(&mut self) {
        self.settle();
        if self.log.given_up().is_some() {
            self.pending.clear();
            self.given_up += 1;
            self.disk.set_faults(SimFaults::default());
            self.log.resume().unwrap();
        }
    }

    fn fill(&mut self) {
        let room = self.disk.used_bytes() + self.random.below(5000) as u64;
        self.disk.set_faults(SimFaults {
            capacity_bytes: Some(room),
            ..SimFaults::default()
        });
    }

    fn trim(&mut self) {
        self.disk.set_faults(SimFaults::default());
        self.held += self
            .random
            .below(self.durable.len() + 1 - self.held as usize) as u64;
        if self.log.trim(self.held + 1).is_err() {
            self.given_up();
        }
        self.settle();
    }

    /// The writer is killed; the next one finds what is in the files.
    fn restart(&mut self) {
        self.disk.set_faults(SimFaults::default());
        let first = self.held + 1;
        let spare = FileLog::open(
            Arc::new(SimDisk::new(0, store(), SimFaults::default())),
            store(),
            1,
        );
        drop(std::mem::replace(&mut self.log, spare.unwrap().0));
        self.log = opened(&self.disk, first);
        self.pending.clear();
        let mut found = Vec::new();
        let mut each = |_, record: &[u8]| {
            found.push(record.to_vec());
            ControlFlow::Continue(())
        };
        self.log.read(first, &mut each).unwrap();
        assert!(found.len() >= self.durable.len() - self.held as usize);
        self.durable.truncate(self.held as usize);
        self.durable.append(&mut found);
    }

    fn follow(&mut self) {
        let mut follower = self.follower.clone();
        let durable = follower.durable(&self.disk).unwrap();
        assert!(durable <= self.log.durable());
        let mut new = Vec::new();
        let first = self.follower.next();
        let read = follower.read(&self.disk, durable, &mut |number, record: &[u8]| {
            assert_eq!(number, first + new.len() as u64);
            new.push(record.to_vec());
            ControlFlow::Continue(())
        });
        match read {
            Ok(_) => {
                self.follower = follower;
                self.seen.append(&mut new);
            }
            Err(LogError::Trimmed { from, .. }) => {
                assert!(from <= self.held, "only what a checkpoint holds is gone");
                self.open_anew();
            }
            Err(error) => panic!("{error}"),
        }
        let known = self.begun as usize + self.seen.len();
        assert_eq!(self.follower.next(), known as u64 + 1);
        assert_eq!(self.seen, self.durable[self.begun as usize..known]);
        // The count is as far as the writer, from its first record on.
        let is_counted = self.disk.exists(&store().join("DURABLE"));
        assert!(!is_counted || known == self.log.durable() as usize);
    }

    fn open_anew(&mut self) {
        self.seen.clear();
        self.begun = self.held;
        let seen = &mut self.seen;
        let mut each = |_, record: &[u8]| {
            seen.push(record.to_vec());
            ControlFlow::Continue(())
        };
        let read = read_durable(&self.disk, store(), self.held + 1, &mut each);
        self.follower = read.unwrap();
        self.reopened += 1;
    }
}

#[test]
fn each_durable_record_is_given_once_and_no_other() {
    let (mut reopened, mut given_up) = (0, 0);
    for seed in seeds::chosen(60, 3000) {
        let mut session = Session::new(seed);
        for _ in 0..STEPS {
            session.step();
        }
        session.disk.set_faults(SimFaults::default());
        session.sync();
        session.follow();
        reopened += session.reopened;
        given_up += session.given_up;
    }
    println!("{reopened} times opened anew, {given_up} times given up");
    assert!(reopened > 10 && given_up > 50, "{reopened}, {given_up}");
}

/// What the count knows of and the log lacks is damage, and nothing of it is given.
#[test]
fn what_is_counted_and_missing_is_an_error() {
    let disk = SimDisk::new(1, store(), SimFaults::default());
    let log = opened(&disk, 1);
    let write = |bytes: usize| {
        let position = log.append(&[&vec![b'x'; bytes]]).unwrap();
        log.sync(position).unwrap();
    };
    write(100);
    let read = read_durable(&disk, store(), 1, &mut |_, _| ControlFlow::Continue(()));
    let mut follower = read.unwrap();
    assert_eq!(follower.next(), 2);
    write(1000);
    let file = store().join("log/00000000000000000001.log");
    let whole = disk.map(&file).unwrap().len();
    assert!(disk.damage(&file, whole - 100, 1));
    let durable = follower.durable(&disk).unwrap();
    assert_eq!(durable, 2);
    let mut given = 0;
    let mut read = |follower: &Follower| {
        let mut each = |_, _: &[u8]| {
            given += 1;
            ControlFlow::Continue(())
        };
        follower
            .clone()
            .read(&disk, durable, &mut each)
            .unwrap_err()
    };
    let error = read(&follower);
    assert!(
        error.is_damage() && error.to_string().contains(".log"),
        "{error}"
    );
    assert!(disk.damage(&file, whole - 100, 1));
    assert!(disk.truncate(&file, whole - 500));
    assert!(read(&follower).is_damage());
    assert_eq!(given, 0);
}
