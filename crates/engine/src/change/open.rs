//! Opening a store: its generation, then the log's tail.
//!
//! A reader takes no lock and changes nothing. Where a checkpoint is made while it opens, the log
//! may be trimmed behind the generation that it has read; then it begins again with the new one. One that
//! [follows](super::follow) the store takes no record that is not known to be durable: another one may get
//! its number.
//! A writer holds the lock as long as it lives, and cuts a torn tail off.

use super::replay::{Applying, Listener};
use super::writer::StoreHandle;
use crate::error::{Kind, QueryError};
use crate::moment::Graph;
use crate::moment::files::write_graph;
use crate::open_error::OpenError;
use crate::options::Options;
use rdf::dictionary::DictionaryBuilder;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use store::PartOf;
use store::delta::Unlimited;
use store::delta::dictionary::Spilling;
use store::directory::{self, Current, Opened, begin, lock_writer};
use store::disk::Disk;
use store::load::open_parts;
use store::log::{self, FileLog, Follower, Log};
use store::testing::snapshot_of;

/// How often a reader begins again.
const TRIES: u32 = 10;

/// The graph as it is now, read beside whoever changes it.
pub fn for_reading(disk: &dyn Disk, location: &Path) -> Result<Graph, OpenError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let (graph, generation) = checkpointed(disk, location)?;
        let first = graph.snapshot.number() + 1;
        let mut replay = Applying::new(graph, Unlimited);
        let read = log::read_tail(disk, location, first, &mut |number, record| {
            replay.apply(number, record)
        });
        match read {
            Ok(_) => return replay.finish(),
            Err(error) => {
                let is_new = directory::open(disk, location)?.manifest().generation != generation;
                if !is_new || tries == TRIES {
                    return Err(error.into());
                }
            }
        }
    }
}

/// The graph as it is now, read beside whoever changes it, and one who was told what the generation keeps beside the graph and
/// what the log says since. `listener` makes one for each attempt.
pub(crate) fn for_reading_told<L: Listener>(
    disk: &dyn Disk,
    location: &Path,
    listener: &dyn Fn() -> L,
) -> Result<(Graph, L), OpenError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let opened = directory::open(disk, location)?;
        let mut told = listener();
        match read_told(disk, location, &opened, &mut told) {
            Ok(graph) => return Ok((graph, told)),
            Err(error) => {
                let newest = directory::open(disk, location)?.manifest().generation;
                if newest == opened.manifest().generation || tries == TRIES {
                    return Err(error);
                }
            }
        }
    }
}

fn read_told(
    disk: &dyn Disk,
    location: &Path,
    opened: &Opened,
    listener: &mut dyn Listener,
) -> Result<Graph, OpenError> {
    let graph = graph_of(opened)?;
    let kept = kept_of(opened)?;
    let first = graph.snapshot.number() + 1;
    // The log is read several times, and what comes meanwhile is of another moment.
    let mut last = 0;
    log::read_tail(disk, location, first, &mut |number, _| {
        last = number;
        ControlFlow::Continue(())
    })?;
    let records = |from: u64, each: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>| {
        let mut known = |number: u64, record: &[u8]| {
            if number > last {
                return ControlFlow::Break(());
            }
            each(number, record)
        };
        log::read_tail(disk, location, from, &mut known).map(drop)
    };
    listener
        .begin(&kept, &graph, &records)
        .map_err(OpenError::Replay)?;
    let mut replay = Applying::new(graph, Unlimited);
    records(first, &mut |number, record| {
        replay.apply_told(number, record, listener)
    })?;
    replay.finish()
}

/// What a generation keeps beside its graph.
fn kept_of(opened: &Opened) -> Result<Vec<u8>, OpenError> {
    directory::beside::read(opened).map_err(|error| OpenError::Replay(error.into()))
}

/// The graph as far as its log is known to be durable, with the place from where it goes on. An error once
/// `is_stopped`, which is asked between the steps of opening, and before each record.
pub(crate) fn for_following(
    disk: &dyn Disk,
    location: &Path,
    is_stopped: &dyn Fn() -> bool,
) -> Result<(Graph, ReadPosition), OpenError> {
    let go_on = || {
        if is_stopped() {
            let stopped = QueryError::new(Kind::Cancelled, "it is being closed");
            return Err(OpenError::Replay(stopped));
        }
        Ok(())
    };
    let mut tries = 0;
    loop {
        tries += 1;
        go_on()?;
        // Before the generation is opened: a newer one than this says is opened again, and an older one
        // would never be left.
        let current = directory::current(disk, location)?;
        let (graph, _) = checkpointed(disk, location)?;
        let first = graph.snapshot.number() + 1;
        let mut replay = Applying::new(graph, Unlimited);
        let read = log::read_durable(disk, location, first, &mut |number, record| match go_on() {
            Ok(()) => replay.apply(number, record),
            Err(_) => ControlFlow::Break(()),
        });
        // What was broken off is not all there is.
        go_on()?;
        match read {
            Ok(log) => return Ok((replay.finish()?, ReadPosition { current, log })),
            Err(error) => {
                let is_new = directory::current(disk, location)? != current;
                if !is_new || tries == TRIES {
                    return Err(error.into());
                }
            }
        }
    }
}

/// Where in a store somebody reads who follows it.
pub(crate) struct ReadPosition {
    /// The generation whose files are mapped.
    pub(crate) current: Current,
    /// The records that are applied to it.
    pub(crate) log: Follower,
}

/// A store that was opened for changes.
pub(crate) struct OpenedForWriting {
    pub(crate) graph: Graph,
    pub(crate) home: StoreHandle,
    /// What its generation keeps beside the graph.
    pub(crate) kept: Vec<u8>,
}

/// The graph, and the right to change it. An empty store is made where there is none. `listener` is told what the
/// generation keeps beside the graph, and what the log says since.
pub(crate) fn for_writing(
    disk: Arc<dyn Disk>,
    location: &Path,
    options: &Options,
    listener: &mut dyn Listener,
) -> Result<OpenedForWriting, OpenError> {
    match directory::open(&*disk, location) {
        Err(directory::OpenError::Missing { .. } | directory::OpenError::Empty { .. }) => {
            create(&*disk, location)?;
        }
        found => drop(found?),
    }
    let lock = lock_writer(&*disk, location)?;
    let opened = directory::open(&*disk, location)?;
    let graph = graph_of(&opened)?;
    let kept = kept_of(&opened)?;
    let first = graph.snapshot.number() + 1;
    let (log, _) = FileLog::open_with(Arc::clone(&disk), location, first, options.log.clone())?;
    listener
        .begin(&kept, &graph, &|from, each| log.read(from, each))
        .map_err(OpenError::Replay)?;
    let mut replay = Applying::new(graph, Unlimited);
    log.read(first, &mut |number, record| {
        replay.apply_told(number, record, listener)
    })?;
    let graph = replay.finish()?;
    let home = StoreHandle {
        disk,
        location: location.to_owned(),
        lock,
        log: Box::new(log),
    };
    Ok(OpenedForWriting { graph, home, kept })
}

/// Makes a store without a quad.
pub(crate) fn create(disk: &dyn Disk, location: &Path) -> Result<(), OpenError> {
    let failed = |what: &dyn std::fmt::Display| OpenError::Create {
        path: location.to_owned(),
        what: what.to_string(),
    };
    let dictionary = DictionaryBuilder::new().finish();
    let dictionary = dictionary.map_err(|error| failed(&error))?;
    let graph = Graph::new(snapshot_of(&[], None), dictionary, 0, 0)?;
    let generation = begin(disk, location)?;
    write_graph(&graph, &generation, Spilling::Never, &|| false).map_err(|error| failed(&error))?;
    generation.commit(graph.manifest_counts())?;
    Ok(())
}

/// The graph of the current generation, and the generation's number.
fn checkpointed(disk: &dyn Disk, location: &Path) -> Result<(Graph, u64), OpenError> {
    let opened = directory::open(disk, location)?;
    Ok((graph_of(&opened)?, opened.manifest().generation))
}

fn graph_of(opened: &Opened) -> Result<Graph, OpenError> {
    if let Some(part) = PartOf::open(opened)? {
        let directory = opened.directory();
        return Err(OpenError::Part {
            path: directory.parent().unwrap_or(directory).to_owned(),
            node: part.node(),
            nodes: part.placement().nodes(),
        });
    }
    let (snapshot, dictionary) = open_parts(opened)?;
    let stored_bytes = opened.sizes().iter().map(|(_, bytes)| bytes).sum();
    let number = opened.manifest().snapshot();
    Graph::new(snapshot, dictionary, number, stored_bytes)
}
