//! A store as a value, its streams and standing queries included: what a copy is made of.
//!
//! ```text
//!  generation, log --> graph, hub --> what is ready is reported --> graph', image
//!                      (as a restart would)      in memory alone
//! ```
//!
//! The store is read beside whoever changes it, up to the last record that is there when this begins. It is then as after a
//! stop at that moment and a start: what was ready and not reported is reported, what was decided and not stored is stored,
//! in memory, and an image of that is what the copy keeps. A copy that is opened goes on from there: with the same streams,
//! queries, positions of sources and kept reports, and the same numbers of reports. No clock is told, so nothing is decided
//! that the log does not decide.
//!
//! Cost: that of opening the store for changes.

use super::hub::{Hub, Reported};
use super::journal::Journals;
use super::recovery::{Recovered, Recovery};
use crate::change::{Image, open};
use crate::database::Database;
use crate::error::{Kind, QueryError};
use crate::moment::Graph;
use crate::open_error::OpenError;
use crate::options::Options;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use store::disk::Disk;

/// See the head of this file.
pub struct WholeStore {
    /// The graph.
    pub graph: Arc<Graph>,
    /// What a generation of it keeps beside the graph (`store::directory::beside`); empty where there are no streams and no
    /// queries.
    pub beside: Vec<u8>,
}

/// A store as its last commit left it, read beside whoever changes it, with all that it keeps. `options`: the bounds of
/// evaluations that are due. `is_stopped` is asked now and then. Needs `query::STACK_BYTES_MIN` (2 MiB) of stack. Errors: the
/// store cannot be read, or it was stopped.
pub fn whole_store(
    disk: &dyn Disk,
    location: &Path,
    options: &Options,
    is_stopped: &dyn Fn() -> bool,
) -> Result<WholeStore, OpenError> {
    let (graph, recovery) = open::for_reading_told(disk, location, &|| Recovery::new(options))?;
    let has_any = |(hub, _): &Recovered| !(hub.streams().is_empty() && hub.queries().is_empty());
    let Some((hub, journals)) = recovery.finish().filter(has_any) else {
        return Ok(WholeStore {
            graph: Arc::new(graph),
            beside: Vec::new(),
        });
    };
    let database = Database::unkept(graph, options);
    advanced(&database, hub, &journals, is_stopped).map_err(OpenError::Replay)
}

fn advanced(
    database: &Database,
    mut hub: Hub,
    journals: &Arc<Journals>,
    is_stopped: &dyn Fn() -> bool,
) -> Result<WholeStore, QueryError> {
    hub.attach(database.clone());
    hub.keep_in(Arc::clone(journals));
    let mut keep = |Reported { report, .. }: Reported| {
        if is_stopped() {
            return Err(QueryError::new(Kind::Cancelled, "it was stopped"));
        }
        let line = report.json();
        let line = line.map_err(|error| QueryError::new(Kind::Internal, error))?;
        journals.add(&report.query, line.into(), report.instance.clone());
        Ok(ControlFlow::Continue(()))
    };
    let advanced = hub.advance(&mut keep)?;
    assert!(advanced.is_continue(), "whoever keeps reports takes all");
    let mut image = hub.image()?;
    image.journals = journals.lock().clone();
    let graph = database.graph();
    let beside = image.encode(&graph.dictionary)?;
    Ok(WholeStore { graph, beside })
}
