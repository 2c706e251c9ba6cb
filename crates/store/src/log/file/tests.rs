//! Group commit, with the file in the test's hand, so that who waits for whom is no matter of time.

#![allow(clippy::unwrap_used)]

use super::{FileLog, LogFileState, OpenOptions};
use crate::disk::{SimDisk, SimFaults};
use crate::log::Log;
use std::path::Path;
use std::sync::Arc;
use std::thread::{Scope, yield_now};
use std::time::Duration;

const WRITERS: u64 = 16;

/// Writers that each append a record and wait until it is durable.
fn write<'s>(scope: &'s Scope<'s, '_>, log: &'s FileLog) {
    for _ in 0..WRITERS {
        scope.spawn(|| {
            let position = log.append(&[b"text"]).unwrap();
            log.sync(position).unwrap();
            assert!(log.durable() >= position);
        });
    }
}

#[test]
fn writers_share_syncs() {
    let disk = SimDisk::new(1, Path::new("/data"), SimFaults::default());
    let options = OpenOptions {
        // Nobody waits as long on any machine: a leader that did would fail the counts below late.
        gather: Duration::from_mins(5),
        ..OpenOptions::default()
    };
    let (log, _) = FileLog::open_with(Arc::new(disk), Path::new("/data"), 1, options).unwrap();
    let position = log.append(&[b"the first begins a file"]).unwrap();
    log.sync(position).unwrap();
    let before = log.figures().syncs;

    // As if another wrote: all come, then one of them writes for all.
    let file = std::mem::replace(&mut log.lock().file, LogFileState::Syncing);
    std::thread::scope(|scope| {
        write(scope, &log);
        while log.lock().callers < WRITERS {
            yield_now();
        }
        log.lock().file = file;
        log.turned.notify_all();
    });
    assert_eq!(log.figures().syncs, before + 1);

    // A leader waits for as many as came last, however late they are.
    std::thread::scope(|scope| write(scope, &log));
    assert_eq!(log.figures().syncs, before + 2);
    assert_eq!(log.figures().records, 1 + 2 * WRITERS);
}
