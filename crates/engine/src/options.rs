//! How a database is opened: the limits of its queries and changes, and how its log is written.
//!
//! Opening, queries, changes and upkeep read them, and nothing changes them afterwards. So they stand below all of
//! these. The façade makes them of its configuration.

use crate::accelerator::Accelerator;
use crate::federation::ServiceClient;
use crate::parts::Spans;
use std::sync::Arc;
use std::time::Duration;
use store::log::OpenOptions as LogOptions;

/// Limits of queries.
#[derive(Clone)]
pub struct Options {
    /// Memory of all queries together.
    pub memory_pool_bytes: u64,
    /// Memory of one query.
    pub query_memory_bytes: u64,
    /// Threads of a heavy query.
    pub query_threads: usize,
    /// Time of a query.
    pub timeout: Duration,
    /// How old what a query reads may become where the graph can be changed, whatever its time: what
    /// it sees is kept for it.
    pub max_snapshot_age: Duration,
    /// How long a snapshot can be read by its number when there is a newer one; zero: not at all. As many as there are
    /// in that time, 256 at most, with 32 MiB and a thirty-second of the pool at most.
    pub keep_snapshots: Duration,
    /// Whether patterns outside `GRAPH` are matched in the union of the default graph and all named
    /// graphs, unless a query or an update names its dataset. Templates write the default graph itself.
    pub union_default_graph: bool,
    /// Longest query text.
    pub text_max_bytes: u64,
    /// Longest update text: data is sent in it.
    pub update_text_max_bytes: u64,
    /// Time of a change, its document's arrival included.
    pub update_timeout: Duration,
    /// Time a change is evaluated in its turn while other writers wait; one that takes longer is evaluated
    /// beside them, and committed if nothing that it read has changed. Zero: all are.
    pub update_slice: Duration,
    /// Quads that a change may name to be carried out in its turn; the layer and the record of a larger one
    /// are made beside other writers.
    pub update_turn_quads: usize,
    /// Who asks other endpoints for `SERVICE`, and reads documents for `LOAD`; `None`: both are
    /// refused.
    pub service: Option<Arc<dyn ServiceClient>>,
    /// Who is given what nodes of this process did of queries that are followed.
    pub spans: Option<Arc<dyn Spans>>,
    /// A device that heavy queries begin on.
    pub accelerator: Option<Arc<Accelerator>>,
    /// Bytes of log after which changes are written into the store's files.
    pub checkpoint_log_bytes: u64,
    /// How the log is written.
    pub log: LogOptions,
    /// Whether a graph that was loaded into memory can be changed.
    pub memory_is_writable: bool,
    /// Bytes of plans that are kept for texts of the same shape; 0: each text is planned on its own.
    pub plan_cache_bytes: u64,
    /// The expected time of a walk from which its plan is made by samples of the graph, too;
    /// [`Duration::MAX`]: by statistics alone.
    pub sample_from: Duration,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("memory_pool_bytes", &self.memory_pool_bytes)
            .field("query_memory_bytes", &self.query_memory_bytes)
            .field("query_threads", &self.query_threads)
            .field("timeout", &self.timeout)
            .field("max_snapshot_age", &self.max_snapshot_age)
            .field("keep_snapshots", &self.keep_snapshots)
            .field("union_default_graph", &self.union_default_graph)
            .field("text_max_bytes", &self.text_max_bytes)
            .field("update_text_max_bytes", &self.update_text_max_bytes)
            .field("update_timeout", &self.update_timeout)
            .field("update_slice", &self.update_slice)
            .field("update_turn_quads", &self.update_turn_quads)
            .field("service", &self.service.is_some())
            .field("spans", &self.spans.is_some())
            .field("accelerator", &self.accelerator)
            .field("checkpoint_log_bytes", &self.checkpoint_log_bytes)
            .field("log", &self.log)
            .field("memory_is_writable", &self.memory_is_writable)
            .field("plan_cache_bytes", &self.plan_cache_bytes)
            .field("sample_from", &self.sample_from)
            .finish()
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            memory_pool_bytes: 1 << 30,
            query_memory_bytes: 1 << 28,
            query_threads: 2,
            timeout: Duration::from_secs(30),
            max_snapshot_age: Duration::from_hours(1),
            // Longer than a client takes for some requests one after the other.
            keep_snapshots: Duration::from_secs(5),
            union_default_graph: false,
            text_max_bytes: 1 << 20,
            update_text_max_bytes: 64 << 20,
            update_timeout: Duration::from_mins(5),
            update_slice: Duration::from_millis(10),
            // Some 100 ms.
            update_turn_quads: 1 << 16,
            service: None,
            spans: None,
            accelerator: None,
            checkpoint_log_bytes: 64 << 20,
            // Long enough for clients to come back with their next change, see docs/formats/log.md.
            log: LogOptions {
                gather: Duration::from_millis(1),
                ..LogOptions::default()
            },
            memory_is_writable: false,
            plan_cache_bytes: 32 << 20,
            sample_from: Duration::from_millis(2),
        }
    }
}
