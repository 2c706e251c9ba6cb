//! Counters of the edge, and their text for Prometheus (exposition format 0.0.4).
//!
//! Base units only (seconds, bytes), a counter per question that an operator asks: how many queries
//! of which outcome, how long they take, what runs, what waits, how much memory is out, how much
//! has been sent. Everything is an atomic added to once per query or per request; reading takes no
//! lock that a query could wait for. A few dozen lines do what is needed, so there is no library.
//!
//! | who | touches | when |
//! |---|---|---|
//! | engine threads | queries, durations, bytes | once per query, at its end |
//! | connections | requests, connections | once per request, per connection |
//! | `/metrics` | reads all | when it is asked for; figures may be of slightly different moments |

use crate::edge::Edge;
use crate::engine::Engine;
use hyper::StatusCode;
use somersault::Kind;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// Upper bounds of the buckets of durations, in microseconds; the last one is open.
const BOUNDS_US: [u64; 14] = [
    100,
    250,
    1_000,
    2_500,
    10_000,
    25_000,
    100_000,
    250_000,
    1_000_000,
    2_500_000,
    10_000_000,
    30_000_000,
    60_000_000,
    300_000_000,
];

/// How a query ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// With a whole answer.
    Answered,
    /// Its client went away first.
    Disconnected,
    /// It was not let in.
    TurnedAway,
    /// With an error.
    Failed(Kind),
}

impl Outcome {
    const NAMES: [&'static str; 19] = [
        "answered",
        "disconnected",
        "turned_away",
        "syntax",
        "unsupported",
        "too_long",
        "shape",
        "timeout",
        "cancelled",
        "memory",
        "damaged",
        "policy",
        "remote",
        "not_found",
        "format",
        "output",
        "internal",
        "conflict",
        "read_only",
    ];

    /// Place in [`Outcome::NAMES`].
    fn place(self) -> usize {
        match self {
            Outcome::Answered => 0,
            Outcome::Disconnected => 1,
            Outcome::TurnedAway => 2,
            Outcome::Failed(kind) => match kind {
                Kind::Syntax => 3,
                Kind::Unsupported => 4,
                Kind::TooLong => 5,
                Kind::Shape => 6,
                Kind::Timeout => 7,
                Kind::Cancelled => 8,
                Kind::Memory => 9,
                Kind::Damaged => 10,
                Kind::Policy => 11,
                Kind::Remote => 12,
                Kind::NotFound => 13,
                Kind::Format => 14,
                Kind::Output => 15,
                Kind::Internal => 16,
                Kind::Conflict => 17,
                Kind::ReadOnly => 18,
            },
        }
    }
}

/// Ends by outcome, and how long it took.
#[derive(Debug, Default)]
struct Series {
    outcomes: [AtomicU64; Outcome::NAMES.len()],
    buckets: [AtomicU64; BOUNDS_US.len() + 1],
    duration_us: AtomicU64,
}

impl Series {
    fn add(&self, outcome: Outcome, elapsed: Duration) {
        let elapsed_us = elapsed.as_micros() as u64;
        let bucket = BOUNDS_US.partition_point(|bound| *bound < elapsed_us);
        add(&self.outcomes[outcome.place()], 1);
        add(&self.buckets[bucket], 1);
        add(&self.duration_us, elapsed_us);
    }

    /// `total` and `duration` are names of families with their help.
    fn write(&self, page: &mut Page, total: (&str, &str), duration: (&str, &str)) {
        page.family(total.0, "counter", total.1);
        for (name, count) in Outcome::NAMES.iter().zip(&self.outcomes) {
            page.sample(total.0, &format!("{{outcome=\"{name}\"}}"), get(count));
        }
        let (name, help) = duration;
        page.family(name, "histogram", help);
        let bucket = format!("{name}_bucket");
        let mut cumulated = 0;
        for (bound, count) in BOUNDS_US.iter().zip(&self.buckets) {
            cumulated += get(count);
            let label = format!("{{le=\"{}\"}}", seconds(*bound));
            page.sample(&bucket, &label, cumulated);
        }
        cumulated += get(&self.buckets[BOUNDS_US.len()]);
        page.sample(&bucket, "{le=\"+Inf\"}", cumulated);
        page.sample(&format!("{name}_sum"), "", seconds(get(&self.duration_us)));
        page.sample(&format!("{name}_count"), "", cumulated);
    }
}

/// The counters.
#[derive(Debug)]
pub(crate) struct Metrics {
    started: SystemTime,
    queries: Series,
    changes: Series,
    inserted: AtomicU64,
    deleted: AtomicU64,
    result_bytes: AtomicU64,
    /// By hundreds of the status: 1xx to 5xx.
    requests: [AtomicU64; 5],
    connections: AtomicU64,
}

impl Metrics {
    /// All zero, from now on.
    pub fn new() -> Metrics {
        Metrics {
            started: SystemTime::now(),
            queries: Series::default(),
            changes: Series::default(),
            inserted: AtomicU64::default(),
            deleted: AtomicU64::default(),
            result_bytes: AtomicU64::default(),
            requests: Default::default(),
            connections: AtomicU64::default(),
        }
    }

    /// A query has ended: how, after how long since its request came, with how many bytes sent.
    pub fn query_ended(&self, outcome: Outcome, elapsed: Duration, bytes: u64) {
        self.queries.add(outcome, elapsed);
        add(&self.result_bytes, bytes);
    }

    /// A change has ended: how, after how long since its request came.
    pub fn change_ended(&self, outcome: Outcome, elapsed: Duration) {
        self.changes.add(outcome, elapsed);
    }

    /// A change was made: so many statements are new, so many are gone.
    pub fn changed(&self, inserted: u64, deleted: u64) {
        add(&self.inserted, inserted);
        add(&self.deleted, deleted);
    }

    /// A request has its response.
    pub fn request_answered(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).clamp(1, self.requests.len());
        add(&self.requests[class - 1], 1);
    }

    /// A connection came.
    pub fn connection_opened(&self) {
        add(&self.connections, 1);
    }

    /// A connection ended.
    pub fn connection_closed(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    /// Everything, as Prometheus reads it. What the engine knows is absent before there is one.
    pub fn to_text(&self, edge: &Edge) -> String {
        let mut page = Page::default();
        self.write_queries(&mut page);
        self.write_edge(&mut page);
        write_gates(&mut page, edge);
        if let Ok(engine) = edge.engine() {
            write_engine(&mut page, engine.as_ref());
            write_changes(&mut page, engine.as_ref(), edge.read_only.get().is_some());
        }
        page.text
    }

    fn write_queries(&self, page: &mut Page) {
        self.queries.write(
            page,
            ("queries_total", "Queries by outcome."),
            (
                "query_duration_seconds",
                "Time from a query's request to the end of its answer.",
            ),
        );
        self.changes.write(
            page,
            ("changes_total", "Updates and writes of graphs by outcome."),
            (
                "change_duration_seconds",
                "Time from a change's request until it is durable.",
            ),
        );
        let help = "Statements that changes have added.";
        page.single("inserted_quads_total", "counter", help, get(&self.inserted));
        let help = "Statements that changes have taken away.";
        page.single("deleted_quads_total", "counter", help, get(&self.deleted));
        page.single(
            "result_bytes_total",
            "counter",
            "Bytes of answers.",
            get(&self.result_bytes),
        );
    }

    fn write_edge(&self, page: &mut Page) {
        page.family(
            "http_requests_total",
            "counter",
            "HTTP requests by class of status.",
        );
        for (class, count) in self.requests.iter().enumerate() {
            let label = format!("{{class=\"{}xx\"}}", class + 1);
            page.sample("http_requests_total", &label, get(count));
        }
        let connections = get(&self.connections);
        page.single(
            "http_connections",
            "gauge",
            "Connections open now.",
            connections,
        );
        page.family("build_info", "gauge", "The version that is running.");
        let version = concat!("{version=\"", env!("CARGO_PKG_VERSION"), "\"}");
        page.sample("build_info", version, 1);
        let since = self
            .started
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        let help = "When the server started, in seconds of the Unix epoch.";
        page.single("start_time_seconds", "gauge", help, since.as_secs_f64());
    }
}

fn write_gates(page: &mut Page, edge: &Edge) {
    let help = "Queries waiting for their turn.";
    page.single("queries_waiting", "gauge", help, edge.gate.waiting());
    let help = "Queries standing aside until their clients take more of the answer.";
    page.single("queries_stalled", "gauge", help, edge.gate.aside());
    let help = "Changes waiting for their turn.";
    let waiting = edge.changes.waiting() + edge.uploads.waiting();
    page.single("changes_waiting", "gauge", help, waiting);
}

/// What changes have cost and hold; nothing where the database is for reading only.
fn write_changes(page: &mut Page, engine: &dyn Engine, has_failed: bool) {
    let help = "Whether the database takes changes.";
    let is_writable = engine.is_writable() && !has_failed;
    page.single("writable", "gauge", help, u8::from(is_writable));
    let Some(figures) = engine.change_figures() else {
        return;
    };
    let gauges = [
        ("layers", "Layers over the store's files.", figures.layers),
        (
            "layer_quads",
            "Statements that layers add or take away.",
            figures.layer_quads,
        ),
        (
            "layer_bytes",
            "Memory that layers hold.",
            figures.layer_bytes,
        ),
        (
            "dictionary_memory_bytes",
            "Memory of terms that are in no file yet.",
            figures.term_bytes,
        ),
    ];
    for (name, help, value) in gauges {
        page.single(name, "gauge", help, value);
    }
    let help = "Merges of layers.";
    page.single("merges_total", "counter", help, figures.merges);
    let help = "Checkpoints, which write layers into the store's files.";
    page.single("checkpoints_total", "counter", help, figures.checkpoints);
    let help = "Whether the last merge of layers or checkpoint failed.";
    let has_failed = u8::from(figures.upkeep_failure.is_some());
    page.single("upkeep_failed", "gauge", help, has_failed);
    let Some(log) = figures.log else {
        return;
    };
    let help = "Records that the log has taken.";
    page.single("log_records_total", "counter", help, log.records);
    let help = "Bytes of these records.";
    page.single(
        "log_payload_bytes_total",
        "counter",
        help,
        log.payload_bytes,
    );
    let help = "Syncs of the log; records over syncs is the mean group.";
    page.single("log_syncs_total", "counter", help, log.syncs);
    page.single("log_files", "gauge", "Files of the log.", log.files);
    let help = "Bytes of the log's files.";
    page.single("log_kept_bytes", "gauge", help, log.kept_bytes);
}

fn write_engine(page: &mut Page, engine: &dyn Engine) {
    let (memory, contents) = (engine.memory(), engine.contents());
    let running = engine.running().list().len();
    page.single("queries_running", "gauge", "Queries running now.", running);
    let help = "Memory that queries hold now.";
    page.single("memory_pool_used_bytes", "gauge", help, memory.used_bytes);
    let help = "Memory that all queries together may hold.";
    page.single("memory_pool_limit_bytes", "gauge", help, memory.limit_bytes);
    let plans = engine.plans();
    let help = "Queries that were answered with a kept plan, without parsing.";
    page.single("plan_cache_hits_total", "counter", help, plans.hits);
    let help = "Queries that were parsed and planned.";
    page.single("plan_cache_misses_total", "counter", help, plans.misses);
    let help = "Bytes of kept plans.";
    page.single("plan_cache_bytes", "gauge", help, plans.bytes);
    page.single(
        "store_quads",
        "gauge",
        "Statements in the store.",
        contents.quads,
    );
    page.single(
        "store_terms",
        "gauge",
        "Distinct terms in the store.",
        contents.terms,
    );
    page.single(
        "store_predicates",
        "gauge",
        "Distinct predicates.",
        contents.predicates,
    );
    page.single(
        "store_bytes",
        "gauge",
        "Bytes of the store.",
        contents.bytes,
    );
    page.single(
        "snapshot",
        "gauge",
        "Number of the newest snapshot.",
        engine.snapshot(),
    );
}

/// A page of the exposition format.
#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    const TAKES: &'static str = "a string takes everything";

    fn family(&mut self, name: &str, kind: &str, help: &str) {
        writeln!(
            self.text,
            "# HELP somersault_{name} {help}\n# TYPE somersault_{name} {kind}"
        )
        .expect(Self::TAKES);
    }

    fn sample(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        writeln!(self.text, "somersault_{name}{labels} {value}").expect(Self::TAKES);
    }

    fn single(&mut self, name: &str, kind: &str, help: &str, value: impl std::fmt::Display) {
        self.family(name, kind, help);
        self.sample(name, "", value);
    }
}

fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Ordering::Relaxed);
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
