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
use crate::gate::Gate;
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

/// The counters.
#[derive(Debug)]
pub(crate) struct Metrics {
    started: SystemTime,
    queries: [AtomicU64; Outcome::NAMES.len()],
    buckets: [AtomicU64; BOUNDS_US.len() + 1],
    duration_us: AtomicU64,
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
            queries: Default::default(),
            buckets: Default::default(),
            duration_us: AtomicU64::default(),
            result_bytes: AtomicU64::default(),
            requests: Default::default(),
            connections: AtomicU64::default(),
        }
    }

    /// A query has ended: how, after how long since its request came, with how many bytes sent.
    pub fn query_ended(&self, outcome: Outcome, elapsed: Duration, bytes: u64) {
        let elapsed_us = elapsed.as_micros() as u64;
        let bucket = BOUNDS_US.partition_point(|bound| *bound < elapsed_us);
        add(&self.queries[outcome.place()], 1);
        add(&self.buckets[bucket], 1);
        add(&self.duration_us, elapsed_us);
        add(&self.result_bytes, bytes);
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
        write_gate(&mut page, &edge.gate);
        if let Ok(engine) = edge.engine() {
            write_engine(&mut page, engine.as_ref());
        }
        page.text
    }

    fn write_queries(&self, page: &mut Page) {
        page.family("queries_total", "counter", "Queries by outcome.");
        for (name, count) in Outcome::NAMES.iter().zip(&self.queries) {
            page.sample(
                "queries_total",
                &format!("{{outcome=\"{name}\"}}"),
                get(count),
            );
        }
        let name = "query_duration_seconds";
        page.family(
            name,
            "histogram",
            "Time from a query's request to the end of its answer.",
        );
        let mut cumulated = 0;
        for (bound, count) in BOUNDS_US.iter().zip(&self.buckets) {
            cumulated += get(count);
            let label = format!("{{le=\"{}\"}}", seconds(*bound));
            page.sample("query_duration_seconds_bucket", &label, cumulated);
        }
        cumulated += get(&self.buckets[BOUNDS_US.len()]);
        page.sample("query_duration_seconds_bucket", "{le=\"+Inf\"}", cumulated);
        page.sample(
            "query_duration_seconds_sum",
            "",
            seconds(get(&self.duration_us)),
        );
        page.sample("query_duration_seconds_count", "", cumulated);
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

fn write_gate(page: &mut Page, gate: &Gate) {
    let help = "Queries waiting for their turn.";
    page.single("queries_waiting", "gauge", help, gate.waiting());
    let help = "Queries standing aside until their clients take more of the answer.";
    page.single("queries_stalled", "gauge", help, gate.aside());
}

fn write_engine(page: &mut Page, engine: &dyn Engine) {
    let (memory, contents) = (engine.memory(), engine.contents());
    let running = engine.running().list().len();
    page.single("queries_running", "gauge", "Queries running now.", running);
    let help = "Memory that queries hold now.";
    page.single("memory_pool_used_bytes", "gauge", help, memory.used_bytes);
    let help = "Memory that all queries together may hold.";
    page.single("memory_pool_limit_bytes", "gauge", help, memory.limit_bytes);
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
