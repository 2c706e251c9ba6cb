//! Changes: update text, an RDF Patch, a record of changes, the files of a log.
//!
//! An update runs on a small graph in memory; a failure is never an internal error, and its data are
//! read from tokens as by the grammar's library. A record and a
//! log are read from bytes that nobody wrote: whatever is given out of a log whose files were
//! changed is a record that was written, at its place.

use super::query::{NoService, check, database_with};
use memory::Region;
use query::ParseOptions;
use query::update::{
    Operation, PatchTarget, Update, parse_patch, parse_update, parse_update_by_grammar,
};
use somersault::{Database, UpdateRequest};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use store::disk::{Disk, SimDisk, SimFaults};
use store::log::{FileLog, Log, examine};
use store::record::{RecordChunk, RecordReader};

/// Quads above which the graph is made anew.
const QUADS_MAX: u64 = 2_000;
const BASE: &str = "http://example.org/base/";
const STORE: &str = "/disk/store";
/// Bytes of an edit of a log.
const EDIT_BYTES: usize = 4;

/// An update's text, through the whole engine.
pub fn update(data: &[u8]) {
    static DATABASE: Mutex<Option<Database>> = Mutex::new(None);
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    check_data(text);
    let mut held = DATABASE.lock().unwrap_or_else(PoisonError::into_inner);
    if held
        .as_ref()
        .is_none_or(|database| database.graph().quads > QUADS_MAX)
    {
        *held = Some(database_with(Arc::new(NoService), true));
    }
    let database = held.as_ref().expect("it was just made");
    let request = UpdateRequest {
        text,
        base: Some(BASE),
        ..UpdateRequest::default()
    };
    let before = database.snapshot_number();
    match database.update(&request) {
        Ok(committed) => assert_eq!(committed.snapshot, database.snapshot_number()),
        Err(error) => {
            check(&error);
            assert_eq!(
                before,
                database.snapshot_number(),
                "a failure changed the graph"
            );
        }
    }
    assert!(
        database.running().list().is_empty(),
        "an update outlived its call"
    );
    assert_eq!(database.pool().used_bytes(), 0, "an update kept memory");
}

/// An RDF Patch of one graph: whatever it says, it adds to and deletes from that graph only, and holds no more
/// than it has asked for.
pub fn patch(data: &[u8]) {
    const GRAPH: &str = "http://example.org/patched";
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let options = ParseOptions {
        base: Some(BASE.to_owned()),
        ..ParseOptions::default()
    };
    let mut granted = 0;
    let mut room = |bytes| {
        granted = bytes;
        true
    };
    let Ok(update) = parse_patch(text, PatchTarget::Graph(GRAPH), &options, &mut room) else {
        return;
    };
    let mut held = 0;
    for operation in &update.expect("there was room").operations {
        let (Operation::InsertData { data } | Operation::DeleteData { data }) = operation else {
            panic!("{operation:?}");
        };
        held += data.bytes() as u64;
        for quad in data.iter() {
            assert_eq!(quad.graph_name.to_string(), format!("<{GRAPH}>"));
        }
    }
    assert!(held <= granted, "{held} {granted}");
}

/// What is read without the grammar's library is what the library reads.
fn check_data(text: &str) {
    let options = ParseOptions {
        base: Some(BASE.to_owned()),
        ..ParseOptions::default()
    };
    let data = |update: Update| {
        let is_data = |operation: &Operation| {
            matches!(
                operation,
                Operation::InsertData { .. } | Operation::DeleteData { .. }
            )
        };
        let mut operations = update.operations;
        operations.retain(is_data);
        operations
    };
    let read = parse_update(text, &options).map(data);
    assert_eq!(read, parse_update_by_grammar(text, &options).map(data));
}

/// Bytes as a record.
pub fn record(data: &[u8]) {
    let Ok(mut reader) = RecordReader::new(data) else {
        return;
    };
    let mut chunk = RecordChunk::default();
    while let Ok(true) = reader.next(&mut chunk) {
        let places = chunk.terms.len() as u32;
        for (parts, graph) in chunk.deletes.iter().chain(&chunk.inserts) {
            assert!(parts.iter().chain(graph).all(|&place| place < places));
        }
    }
}

/// A log whose file is these bytes, or whose bytes were edited.
pub fn log(data: &[u8]) {
    let (is_edit, data) = match data.split_first() {
        Some((first, rest)) => (first & 1 == 1, rest),
        None => return,
    };
    let disk = SimDisk::new(1, Path::new(STORE), SimFaults::default());
    let file = Path::new(STORE).join("log/00000000000000000001.log");
    let records: Vec<Vec<u8>> = (0..5)
        .map(|number| vec![number + 1; 90 * number as usize])
        .collect();
    if is_edit {
        write_log(&disk, &records);
        for edit in data.chunks_exact(EDIT_BYTES).take(8) {
            let at = usize::from(edit[1]) << 8 | usize::from(edit[2]);
            match edit[0] & 3 {
                0 => drop(disk.truncate(&file, at)),
                _ => drop(disk.damage(&file, at, edit[3])),
            }
        }
    } else {
        let made = disk
            .create_dir(&Path::new(STORE).join("log"))
            .and_then(|()| {
                let mut file = disk.create(&file)?;
                file.append(data)?;
                file.sync()
            });
        made.expect("a disk without faults");
    }
    let examined = examine(&disk, Path::new(STORE), 1);
    let opened = FileLog::open(Arc::new(disk.clone()), Path::new(STORE), 1);
    assert_eq!(examined.is_ok(), opened.is_ok(), "two opinions of one log");
    let Ok((log, _)) = opened else {
        return;
    };
    let mut next = 1;
    let read = log.read(1, &mut |position, bytes| {
        assert_eq!(position, next, "records come in order");
        next += 1;
        if is_edit {
            let written = records.get(position as usize - 1);
            assert_eq!(written.map(Vec::as_slice), Some(bytes), "record {position}");
        }
        ControlFlow::Continue(())
    });
    assert!(read.is_ok(), "what was examined can be read");
    let position = log
        .append(&[b"more"])
        .expect("a log that opened takes records");
    log.sync(position).expect("a disk without faults");
    assert!(disk.map(&file).is_ok_and(|_: Region| true));
}

fn write_log(disk: &SimDisk, records: &[Vec<u8>]) {
    let opened = FileLog::open(Arc::new(disk.clone()), Path::new(STORE), 1);
    let (log, _) = opened.expect("an empty folder is a log");
    for record in records {
        let position = log.append(&[record]).expect("a disk without faults");
        log.sync(position).expect("a disk without faults");
    }
}
