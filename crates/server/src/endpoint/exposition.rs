//! `/metrics`: the counters as text for Prometheus (exposition format 0.0.4).
//!
//! Base units only (seconds, bytes). A few dozen lines do what is needed, so there is no library.

mod nodes;

use crate::metrics::{BOUNDS_US, Metrics, Outcome, Series, get};
use crate::response::{reading, text};
use crate::run::job::Engine;
use crate::state::ServerState;
use axum::body::Body;
use axum::extract::State;
use hyper::{HeaderMap, Method, Response};
use somersault::config::Right;
use somersault::device::DeviceFigures;
use somersault::{ChangeHealth, FollowHealth, Health, StreamFigures, SubscriptionFigures};
use std::fmt::Write;
use std::sync::Arc;
use std::time::SystemTime;

/// `GET /metrics`.
pub(crate) async fn exposition(
    State(server): State<Arc<ServerState>>,
    headers: HeaderMap,
    method: Method,
) -> Response<Body> {
    let granted = server.options().access.grant(&headers, server.address);
    if let Err(problem) = granted.and_then(|granted| granted.need(Right::Read)) {
        return problem.into_response();
    }
    reading(&method, || {
        let page = to_text(&server);
        text("text/plain; version=0.0.4; charset=utf-8", page)
    })
}

/// Everything, as Prometheus reads it. What the engine knows is absent before there is one.
fn to_text(server: &ServerState) -> String {
    let mut page = Page::default();
    write_queries(&mut page, &server.metrics);
    write_server(&mut page, &server.metrics);
    write_gates(&mut page, server);
    let help = "Consumers that wait for reports of registered queries, or are being sent some.";
    let listening = server.live.listening();
    page.single("report_consumers", "gauge", help, listening);
    let help = "WebSockets that are open.";
    page.single("web_sockets", "gauge", help, server.web_sockets_open());
    let help = "Event streams that are open.";
    page.single("event_streams", "gauge", help, server.event_streams_open());
    if let Some(live) = server.live.begun() {
        write_streams(&mut page, &live.figures());
    }
    if let Some(live) = server.subscriptions.begun() {
        write_subscriptions(&mut page, &live.figures());
    }
    if let Ok(engine) = server.engine() {
        write_engine(&mut page, engine.as_ref());
        if let Some(device) = engine.device_figures() {
            write_device(&mut page, device);
        }
        write_changes(&mut page, engine.as_ref());
        nodes::write(&mut page, &engine.node_figures());
    }
    page.text
}

/// A figure of a stream.
type OfStream = fn(&StreamFigures) -> u64;

/// What each stream holds. Absent before somebody asked for streams.
fn write_streams(page: &mut Page, streams: &[StreamFigures]) {
    let figures: [(&str, &str, OfStream); 8] = [
        (
            "stream_items",
            "Sealed items that windows may still reach.",
            |it| it.items,
        ),
        (
            "stream_quads",
            "Statements of these items, as often as they came.",
            |it| it.quads,
        ),
        (
            "stream_held_bytes",
            "Memory of a stream: items, slices, terms and sources.",
            |it| it.held_bytes,
        ),
        (
            "stream_open_bytes",
            "Memory of items that are not sealed yet.",
            |it| it.open_bytes,
        ),
        (
            "stream_item_bytes",
            "Memory of sealed items beside their slices.",
            |it| it.item_bytes,
        ),
        (
            "stream_slice_bytes",
            "Memory of slices of sealed items.",
            |it| it.slice_bytes,
        ),
        (
            "stream_term_bytes",
            "Memory of terms that only a stream's items have.",
            |it| it.term_bytes,
        ),
        (
            "stream_source_bytes",
            "Memory of a stream's sources: names, promises and positions.",
            |it| it.source_bytes,
        ),
    ];
    for (name, help, figure) in figures {
        page.family(name, "gauge", help);
        for stream in streams {
            let label = format!("{{stream=\"{}\"}}", stream.name);
            page.sample(name, &label, figure(stream));
        }
    }
}

/// Live queries. Absent before there was one.
fn write_subscriptions(page: &mut Page, figures: &SubscriptionFigures) {
    for (name, kind, help, value) in [
        (
            "live_queries",
            "gauge",
            "Live queries now.",
            figures.subscriptions,
        ),
        (
            "live_query_consumers",
            "gauge",
            "Consumers of live queries.",
            figures.consumers,
        ),
        (
            "live_query_evaluations_total",
            "counter",
            "Evaluations of live queries, first ones included.",
            figures.evaluations,
        ),
        (
            "live_query_skips_total",
            "counter",
            "Looks at commits that touched nothing that a live query reads.",
            figures.skips,
        ),
        (
            "live_query_failures_total",
            "counter",
            "Live queries that an error has ended.",
            figures.failures,
        ),
    ] {
        page.single(name, kind, help, value);
    }
}

fn write_queries(page: &mut Page, metrics: &Metrics) {
    write_series(
        page,
        &metrics.queries,
        ("queries_total", "Queries by outcome."),
        (
            "query_duration_seconds",
            "Time from a query's request to the end of its answer.",
        ),
    );
    write_series(
        page,
        &metrics.changes,
        ("changes_total", "Updates and writes of graphs by outcome."),
        (
            "change_duration_seconds",
            "Time from a change's request until it is durable.",
        ),
    );
    let help = "Statements that changes have added.";
    page.single(
        "inserted_quads_total",
        "counter",
        help,
        get(&metrics.inserted),
    );
    let help = "Statements that changes have taken away.";
    page.single(
        "deleted_quads_total",
        "counter",
        help,
        get(&metrics.deleted),
    );
    page.single(
        "result_bytes_total",
        "counter",
        "Bytes of answers.",
        get(&metrics.result_bytes),
    );
}

fn write_server(page: &mut Page, metrics: &Metrics) {
    page.family(
        "http_requests_total",
        "counter",
        "HTTP requests by class of status.",
    );
    for (class, count) in metrics.requests.iter().enumerate() {
        let label = format!("{{class=\"{}xx\"}}", class + 1);
        page.sample("http_requests_total", &label, get(count));
    }
    let connections = get(&metrics.connections);
    page.single(
        "http_connections",
        "gauge",
        "Connections open now.",
        connections,
    );
    let help = "Connections closed at once, because each other had a request under way.";
    page.single(
        "http_connections_refused_total",
        "counter",
        help,
        get(&metrics.refused),
    );
    let help = "Panics, each of which is a bug.";
    page.single("panics_total", "counter", help, get(&metrics.panics));
    page.family("build_info", "gauge", "The version that is running.");
    let version = concat!("{version=\"", env!("CARGO_PKG_VERSION"), "\"}");
    page.sample("build_info", version, 1);
    let since = metrics
        .started
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let help = "When the server started, in seconds of the Unix epoch.";
    page.single("start_time_seconds", "gauge", help, since.as_secs_f64());
}

/// `total` and `duration` are names of families with their help.
fn write_series(page: &mut Page, series: &Series, total: (&str, &str), duration: (&str, &str)) {
    page.family(total.0, "counter", total.1);
    for (name, count) in Outcome::NAMES.iter().zip(&series.outcomes) {
        page.sample(total.0, &format!("{{outcome=\"{name}\"}}"), get(count));
    }
    let (name, help) = duration;
    page.family(name, "histogram", help);
    let bucket = format!("{name}_bucket");
    let mut cumulated = 0;
    for (bound, count) in BOUNDS_US.iter().zip(&series.buckets) {
        cumulated += get(count);
        let label = format!("{{le=\"{}\"}}", seconds(*bound));
        page.sample(&bucket, &label, cumulated);
    }
    cumulated += get(&series.buckets[BOUNDS_US.len()]);
    page.sample(&bucket, "{le=\"+Inf\"}", cumulated);
    page.sample(
        &format!("{name}_sum"),
        "",
        seconds(get(&series.duration_us)),
    );
    page.sample(&format!("{name}_count"), "", cumulated);
}

fn write_gates(page: &mut Page, server: &ServerState) {
    let help = "Queries waiting for a place or a share of the processors.";
    let admission = &server.admission;
    page.single("queries_waiting", "gauge", help, admission.waiting());
    let help = "Queries waiting for their clients to take more of the answer.";
    page.single("queries_stalled", "gauge", help, admission.stalled());
    let help = "Queries that have started and not ended.";
    page.single("queries_started", "gauge", help, admission.started());
    let help = "Changes waiting for their turn.";
    let waiting = server.changes.waiting() + server.uploads.waiting();
    page.single("changes_waiting", "gauge", help, waiting);
}

/// How what another process changes is followed; nothing where nobody is.
fn write_following(page: &mut Page, engine: &dyn Engine, health: &Health) {
    let Some(figures) = engine.follow_figures() else {
        return;
    };
    let help = "Commits of another process that were shown.";
    page.single("followed_commits_total", "counter", help, figures.commits);
    let help = "Durable commits of another process that are not shown yet.";
    page.single("followed_behind", "gauge", help, figures.behind);
    let help =
        "Times that the store was opened anew behind a checkpoint or a load of another process.";
    page.single("followed_reopened_total", "counter", help, figures.reopened);
    let help = "Whether commits of another process cannot be shown.";
    let has_failed = u8::from(health.following != FollowHealth::Shown);
    page.single("follow_failed", "gauge", help, has_failed);
}

/// What changes have cost and hold; nothing where the database is for reading only.
fn write_changes(page: &mut Page, engine: &dyn Engine) {
    let health = engine.health();
    let help = "Whether nothing of the store is known to be damaged or lost.";
    page.single("store_sound", "gauge", help, u8::from(health.is_sound()));
    let help = "Whether the database takes changes.";
    let is_writable = matches!(
        health.changes,
        ChangeHealth::Taken | ChangeHealth::Failing(_)
    );
    page.single("writable", "gauge", help, u8::from(is_writable));
    write_following(page, engine, &health);
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
    let help = "Changes evaluated beside others, before their turn.";
    page.single("changes_beside_total", "counter", help, figures.beside);
    let help = "Of these, those evaluated again, because another change touched what they read.";
    page.single("changes_again_total", "counter", help, figures.again);
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

/// The device. Absent where none is to be used.
fn write_device(page: &mut Page, figures: DeviceFigures) {
    let DeviceFigures {
        queries,
        shared,
        failures,
        is_lost,
        image_bytes,
    } = figures;
    let help = "Queries some steps of which the GPU did; on a node, sections of them.";
    page.single("device_queries_total", "counter", help, queries);
    let help = "Those of them that several GPUs, or threads beside one, began.";
    page.single("device_shared_total", "counter", help, shared);
    let help = "Failures of the GPU; the processors made each good.";
    page.single("device_failures_total", "counter", help, failures);
    let help = "Whether the GPU was lost, or did not open: 1, and the processors serve.";
    page.single("device_lost", "gauge", help, u64::from(is_lost));
    let help = "Bytes of the graph that are on the GPU.";
    page.single("device_image_bytes", "gauge", help, image_bytes);
}

fn write_engine(page: &mut Page, engine: &dyn Engine) {
    let (pool, contents) = (engine.pool(), engine.contents());
    let running = engine.running().list().len();
    page.single("queries_running", "gauge", "Queries running now.", running);
    let help = "Memory that requests hold now, and pages of a GPU in this machine.";
    page.single("memory_pool_used_bytes", "gauge", help, pool.used_bytes());
    let help = "Memory that streams hold now.";
    page.single(
        "memory_pool_stream_bytes",
        "gauge",
        help,
        pool.stream_bytes(),
    );
    let help =
        "Memory of changes that are in no file yet, and of versions that are kept for readers.";
    page.single(
        "memory_pool_change_bytes",
        "gauge",
        help,
        pool.change_bytes(),
    );
    let help = "Memory that all requests together may hold.";
    page.single("memory_pool_limit_bytes", "gauge", help, pool.limit_bytes());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_counted() {
        let mut page = Page::default();
        let figures = DeviceFigures {
            queries: 3,
            shared: 1,
            failures: 2,
            is_lost: true,
            image_bytes: 4096,
        };
        write_device(&mut page, figures);
        for line in [
            "# TYPE somersault_device_queries_total counter\nsomersault_device_queries_total 3\n",
            "# TYPE somersault_device_shared_total counter\nsomersault_device_shared_total 1\n",
            "# TYPE somersault_device_failures_total counter\nsomersault_device_failures_total 2\n",
            "# TYPE somersault_device_lost gauge\nsomersault_device_lost 1\n",
            "# TYPE somersault_device_image_bytes gauge\nsomersault_device_image_bytes 4096\n",
        ] {
            assert!(page.text.contains(line), "{line}: {}", page.text);
        }
    }
}
