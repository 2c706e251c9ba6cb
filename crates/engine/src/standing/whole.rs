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
//! Whoever copies may stop it: that is asked before each record of the log, and meanwhile by a thread that ends what is being
//! evaluated, too.
//!
//! Cost: that of opening the store for changes.

use super::hub::{Hub, Reported};
use super::journal::Journals;
use super::recovery::{Recovered, Recovery};
use crate::change::{Image, Listener, LogRecords, ReplayMoment, open};
use crate::database::Database;
use crate::error::{Kind, QueryError};
use crate::moment::Graph;
use crate::open_error::OpenError;
use crate::options::Options;
use crate::stop::StopToken;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{Builder, scope};
use std::time::Duration;
use store::disk::Disk;
use store::record::RecordReader;

/// How often it is asked whether to stop while something is evaluated.
const LOOK: Duration = Duration::from_millis(20);

/// See the head of this file.
pub struct WholeStore {
    /// The graph.
    pub graph: Arc<Graph>,
    /// What a generation of it keeps beside the graph (`store::directory::beside`); empty where there are no streams and no
    /// queries.
    pub beside: Vec<u8>,
}

/// Asked whether to stop; by several threads.
type IsStopped<'s> = dyn Fn() -> bool + Sync + 's;

/// A store as its last commit left it, read beside whoever changes it, with all that it keeps. `options`: the bounds of
/// evaluations that are due. `is_stopped` is asked before each record of the log and every 20 ms of evaluations. Needs
/// `query::STACK_BYTES_MIN` (2 MiB) of stack. Errors: the store cannot be read, or it was stopped ([`Kind::Cancelled`]).
pub fn whole_store(
    disk: &dyn Disk,
    location: &Path,
    options: &Options,
    is_stopped: &(dyn Fn() -> bool + Sync),
) -> Result<WholeStore, OpenError> {
    let listener = || Stoppable {
        recovery: Recovery::new(options),
        is_stopped,
    };
    let (graph, told) = open::for_reading_told(disk, location, &listener)?;
    let has_any = |(hub, _): &Recovered| !(hub.streams().is_empty() && hub.queries().is_empty());
    let Some((mut hub, journals)) = told.recovery.finish().filter(has_any) else {
        return Ok(WholeStore {
            graph: Arc::new(graph),
            beside: Vec::new(),
        });
    };
    let database = Database::unkept(graph, options);
    let stop = StopToken::starting_now(None);
    hub.stop_by(stop.clone());
    watched(is_stopped, &stop, || advanced(&database, hub, &journals)).map_err(OpenError::Replay)
}

/// A recovery that is stopped between records.
struct Stoppable<'s> {
    recovery: Recovery,
    is_stopped: &'s IsStopped<'s>,
}

impl Stoppable<'_> {
    fn may_go_on(&self) -> Result<(), QueryError> {
        if (self.is_stopped)() {
            return Err(QueryError::new(Kind::Cancelled, "it was stopped"));
        }
        Ok(())
    }
}

impl Listener for Stoppable<'_> {
    fn begin(
        &mut self,
        kept: &[u8],
        graph: &Graph,
        log: &LogRecords<'_>,
    ) -> Result<(), QueryError> {
        self.may_go_on()?;
        self.recovery.begin(kept, graph, log)
    }

    fn hear(
        &mut self,
        record: &RecordReader<'_>,
        moment: &mut dyn ReplayMoment,
    ) -> Result<(), QueryError> {
        self.may_go_on()?;
        self.recovery.hear(record, moment)
    }
}

/// Works, and cancels `stop` as soon as somebody says so. Where there is no thread to ask meanwhile, it is asked once.
fn watched<T>(is_stopped: &IsStopped<'_>, stop: &StopToken, work: impl FnOnce() -> T) -> T {
    scope(|scope| {
        // Gone when the work is done, however it ends.
        let (_working, is_over) = channel::<()>();
        let watch = move || {
            while is_over.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                if is_stopped() {
                    stop.cancel();
                    return;
                }
            }
        };
        if is_stopped() {
            stop.cancel();
        }
        drop(
            Builder::new()
                .name("copy".to_owned())
                .spawn_scoped(scope, watch),
        );
        work()
    })
}

fn advanced(
    database: &Database,
    mut hub: Hub,
    journals: &Arc<Journals>,
) -> Result<WholeStore, QueryError> {
    hub.attach(database.clone());
    hub.keep_in(Arc::clone(journals));
    let mut keep = |Reported { report, .. }: Reported| {
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
    let mut beside = Vec::new();
    image.encode(&graph.dictionary, &mut |piece| {
        beside.extend_from_slice(piece);
        Ok(())
    })?;
    Ok(WholeStore { graph, beside })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::standing::{HubStream, read_standing, recorded};
    use crate::{UpdateRequest, testing};
    use std::fmt::Write;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Instant;

    /// A query whose answer takes hours, over an item that is sealed.
    fn endless() -> Hub {
        let options = Options {
            memory_is_writable: true,
            timeout: Duration::from_mins(1),
            ..Options::default()
        };
        let database = testing::empty(&options);
        let mut text = String::from("INSERT DATA {");
        for number in 0..1000 {
            write!(text, " <urn:s> <urn:q> {number} .").unwrap();
        }
        text.push('}');
        let request = UpdateRequest {
            text: &text,
            ..UpdateRequest::default()
        };
        database.update(&request).unwrap();
        let mut hub = Hub::new(database.clone());
        hub.create(&HubStream::new("urn:a"), 0).unwrap();
        let text = "SELECT (COUNT(*) AS ?n) FROM NAMED WINDOW <urn:w> ON <urn:a> [RANGE PT1S STEP PT1S] WHERE { \
                    WINDOW <urn:w> { ?s ?p ?o } ?a <urn:q> ?b . ?c <urn:q> ?d . ?e <urn:q> ?f . ?g <urn:q> ?h \
                    FILTER(?b + ?d + ?f + ?h < 0) }";
        let query = read_standing(&database, text).unwrap();
        hub.register(query, "endless", 0).unwrap();
        let line = "100\t<urn:s> <urn:p> <urn:o> .";
        let items: Vec<_> = recorded(Some("test"), line.as_bytes())
            .map(Result::unwrap)
            .collect();
        hub.push("urn:a", "", None, &items, None).unwrap();
        hub.watermark("urn:a", "", 5_000).unwrap();
        hub
    }

    #[test]
    fn what_is_evaluated_ends_when_it_is_stopped() {
        let mut hub = endless();
        let stop = StopToken::starting_now(None);
        hub.stop_by(stop.clone());
        let is_stopped = AtomicBool::new(false);
        let begun = Instant::now();
        let asked = || is_stopped.swap(true, Ordering::Relaxed);
        let mut take = |_: Reported| Ok(ControlFlow::Continue(()));
        let ended = watched(&asked, &stop, || hub.advance(&mut take));
        assert_eq!(ended.unwrap_err().kind, Kind::Cancelled);
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "before its time was over"
        );
    }
}
