//! Spans of queries, given to a collector by OTLP over HTTP, as JSON (OpenTelemetry Protocol 1.3, `/v1/traces`).
//!
//! Best effort: spans wait in a queue of [`BATCHES_MAX`] queries, and what finds it full is dropped and counted, so no query ever waits for a
//! collector. One thread sends what is there in one request; a request that fails is told once in the log, until one succeeds again, and
//! is not repeated.
//!
//! | who | touches | when |
//! |---|---|---|
//! | nodes' threads | the queue's sender, `dropped` | at the end of a query that is followed |
//! | the exporter's thread | the queue's receiver, the connection | until the exporter is dropped |

use crate::outbound::exchange;
use serde_json::{Value, json};
use somersault::nodes::{Span, SpanAt, Spans};
use std::fmt;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};
use ureq::Agent;
use ureq::http::{StatusCode, Uri};

/// Queries whose spans wait to be sent.
const BATCHES_MAX: usize = 1024;

/// Spans of one request, about.
const SPANS_MAX: usize = 512;

/// Longest time of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// Why spans cannot be sent there.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no address of a collector: expected http:// or https:// with a host")]
pub struct BadCollector(String);

/// Spans of the nodes of this process on their way to a collector; see the module's documentation.
pub struct SpanExporter {
    queue: Mutex<Option<SyncSender<Vec<SpanAt>>>>,
    thread: Option<JoinHandle<()>>,
    dropped: AtomicU64,
}

impl fmt::Debug for SpanExporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpanExporter").finish_non_exhaustive()
    }
}

impl SpanExporter {
    /// Begins to send to the collector at this address, below which `/v1/traces` is.
    ///
    /// # Errors
    /// It is none of HTTP.
    pub fn start(collector: &str) -> Result<SpanExporter, BadCollector> {
        let bad = || BadCollector(collector.to_owned());
        let uri: Uri = collector.parse().map_err(|_| bad())?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none() {
            return Err(bad());
        }
        let address = format!("{}/v1/traces", collector.trim_end_matches('/'));
        let (queue, coming) = sync_channel(BATCHES_MAX);
        let thread = std::thread::Builder::new().name("spans".to_owned());
        // Without a thread nothing is sent, and what finds the queue closed is dropped.
        let thread = thread.spawn(move || send_all(&coming, &address)).ok();
        Ok(SpanExporter {
            queue: Mutex::new(Some(queue)),
            thread,
            dropped: AtomicU64::new(0),
        })
    }

    /// Spans that found no place in the queue.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    fn queue(&self) -> std::sync::MutexGuard<'_, Option<SyncSender<Vec<SpanAt>>>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Spans for SpanExporter {
    fn take(&self, spans: Vec<SpanAt>) {
        let len = spans.len() as u64;
        let queue = self.queue();
        let is_taken = queue
            .as_ref()
            .is_some_and(|queue| queue.try_send(spans).is_ok());
        if !is_taken {
            self.dropped.fetch_add(len, Ordering::Relaxed);
        }
    }
}

impl Drop for SpanExporter {
    /// Sends what waits; a collector that says nothing ends that after a request's time.
    fn drop(&mut self) {
        *self.queue() = None;
        if let Some(thread) = self.thread.take() {
            // A panic there has been reported by the thread.
            drop(thread.join());
        }
    }
}

fn send_all(coming: &Receiver<Vec<SpanAt>>, address: &str) {
    let config = exchange::config().timeout_global(Some(REQUEST_TIMEOUT));
    let agent = Agent::new_with_config(config.build());
    let mut was_failing = false;
    while let Ok(mut spans) = coming.recv() {
        while spans.len() < SPANS_MAX
            && let Ok(more) = coming.try_recv()
        {
            spans.extend(more);
        }
        match send(&agent, address, &spans) {
            Ok(()) => was_failing = false,
            Err(why) if !was_failing => {
                was_failing = true;
                tracing::warn!("spans of queries were not taken by {address}: {why}");
            }
            Err(_) => {}
        }
    }
}

fn send(agent: &Agent, address: &str, spans: &[SpanAt]) -> Result<(), String> {
    let body = document(spans).to_string();
    let request = agent.post(address).content_type("application/json");
    let response = request.send(&body).map_err(|error| error.to_string())?;
    match response.status() {
        StatusCode::OK | StatusCode::ACCEPTED | StatusCode::NO_CONTENT => Ok(()),
        status => Err(format!("it answered {status}")),
    }
}

/// An `ExportTraceServiceRequest`.
fn document(spans: &[SpanAt]) -> Value {
    json!({
        "resourceSpans": [{
            "resource": { "attributes": [text("service.name", "somersault")] },
            "scopeSpans": [{
                "scope": { "name": "somersault", "version": env!("CARGO_PKG_VERSION") },
                "spans": spans.iter().map(span).collect::<Vec<_>>(),
            }],
        }],
    })
}

/// `SPAN_KIND_INTERNAL`, and `SPAN_KIND_SERVER` for what another one asked for.
const INTERNAL: u8 = 1;
const SERVER: u8 = 2;

fn span(at: &SpanAt) -> Value {
    let Span {
        of,
        id,
        query,
        node,
        section,
        figures,
        ..
    } = &at.span;
    let (shipped, fetched) = (figures.shipped, figures.fetched);
    let mut attributes = vec![
        text("somersault.query", &query.to_string()),
        number("somersault.node", (*node).into()),
        number("somersault.rows_in", figures.rows_in),
        number("somersault.rows_out", figures.rows_out),
        number("somersault.rows_kept", shipped.kept),
        number("somersault.rows_shipped", shipped.rows),
        number("somersault.bytes_shipped", shipped.bytes),
        number("somersault.questions", fetched.questions),
        number("somersault.bytes_fetched", fetched.bytes),
        number("somersault.messages", figures.messages()),
        number("somersault.worked_nanoseconds", figures.nanoseconds),
    ];
    let (name, kind) = match section {
        None => (format!("query on node {node}"), SERVER),
        Some((section, in_place)) => {
            attributes.push(number("somersault.section", *section as u64 + 1));
            let way = if *in_place { "in place" } else { "at home" };
            attributes.push(text("somersault.walked", way));
            (format!("section {}", section + 1), INTERNAL)
        }
    };
    json!({
        "traceId": format!("{:032x}", of.trace),
        "spanId": format!("{id:016x}"),
        "parentSpanId": format!("{:016x}", of.parent),
        "name": name,
        "kind": kind,
        "startTimeUnixNano": nanoseconds(at.began),
        "endTimeUnixNano": nanoseconds(at.ended),
        "attributes": attributes,
    })
}

/// 64-bit numbers are texts in OTLP's JSON.
fn nanoseconds(moment: SystemTime) -> String {
    let since = moment.duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_nanos().to_string()
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

fn number(key: &str, value: u64) -> Value {
    json!({ "key": key, "value": { "intValue": value.to_string() } })
}
