//! Streams and registered queries of a Somersault server, and the nodes of its cluster, by the addresses of `docs/http.md`.
//!
//! All of them are beside the endpoint (`/api/v1/streams`, `/api/v1/continuous`), so the address of a server and that of
//! its endpoint name the same. What is made or looked at comes back as the server's own JSON, which surfaces print or
//! pass on: the server alone decides what a stream has.
//!
//! A push has four ends, because a source does something else after each: it was taken ([`Taken::Whole`]), it may be
//! sent again later ([`Taken::Later`], statuses 429 and 503, and 507 where items are counted), something in it is wrong ([`Taken::Refused`], 400), or the
//! stream takes nothing of this source ([`Taken::Never`]). After a failure nobody knows.

use super::change::{encoded, message};
use super::exchange::{self, Incoming, Message, Sent, Waiting};
use super::{Endpoint, problem};
use crate::exit::Code;
use crate::say::say;
use crate::stop::Stop;
use crate::trouble::Trouble;
use serde_json::{Value, json};
use std::io::{self, Read};
use std::time::Duration;
use ureq::http::{HeaderName, HeaderValue, Method};

/// As much of a document as is read (bytes): a plan and a text are far below it.
const DOCUMENT_BYTES_MAX: u64 = 64 << 20;
const EVENTS: &str = "text/event-stream";
const STREAMS: &str = "api/v1/streams";
const QUERIES: &str = "api/v1/continuous";
const LIVE: &str = "api/v1/subscribe";
const QUERY: &str = "sparql";
const RESULTS: &str = "application/sparql-results+json";

/// What a push says besides its items.
#[derive(Clone, Debug, Default)]
pub struct Delivery {
    /// The media type of the items; empty where there are none.
    pub media_type: &'static str,
    /// Whose items they are; the server's own name for it where nothing is said.
    pub source: Option<String>,
    /// The position of the first item, where the source counts them.
    pub position: Option<u64>,
    /// The time of items that bring none (milliseconds).
    pub time_ms: Option<u64>,
    /// The predicate of triples that say the times of items.
    pub time_predicate: Option<String>,
    /// What the source promises afterwards (milliseconds).
    pub watermark_ms: Option<u64>,
}

/// What became of a push.
#[derive(Debug)]
pub enum Taken {
    /// It was taken, except lines that are malformed: the server's account.
    Whole(Value),
    /// There is no room for now, and nothing was taken.
    Later {
        /// When to try again, where the server says.
        pause: Option<Duration>,
        /// Whether less of it might find room.
        is_full: bool,
        /// What the server says.
        trouble: Trouble,
    },
    /// Something in it is wrong, and nothing was taken.
    Refused(Trouble),
    /// Nothing was taken, whatever is in it: there is no such stream, or no right to push to it.
    Never(Trouble),
}

impl Endpoint {
    /// The nodes of the cluster that the server is one of, as it sees them.
    pub fn cluster(&self, stop: &Stop) -> Result<Value, Trouble> {
        self.document("api/v1/cluster", bare(Method::GET), stop)
    }

    /// Makes a stream, and gives it as it stands.
    pub fn create_stream(&self, definition: &Value, stop: &Stop) -> Result<Value, Trouble> {
        let body = Sent::Text(definition.to_string());
        self.document(STREAMS, message("application/json", body), stop)
    }

    /// The streams; says where the server has none because its database is only read.
    pub fn streams(&self, stop: &Stop) -> Result<Vec<Value>, Trouble> {
        let listed = self.document(STREAMS, bare(Method::GET), stop)?;
        say_only_read(&listed, "streams");
        Ok(members(listed, "streams"))
    }

    /// A stream as it stands.
    pub fn stream(&self, name: &str, stop: &Stop) -> Result<Value, Trouble> {
        self.document(&stream_place(name), bare(Method::GET), stop)
    }

    /// Forgets a stream.
    pub fn drop_stream(&self, name: &str, stop: &Stop) -> Result<(), Trouble> {
        self.done(&stream_place(name), Method::DELETE, stop)
    }

    /// Pushes items of a source.
    pub fn push(
        &self,
        stream: &str,
        delivery: &Delivery,
        items: Vec<u8>,
        stop: &Stop,
    ) -> Result<Taken, Trouble> {
        let mut endpoint = self.beside(&format!("{}/items", stream_place(stream)));
        let number = |number: Option<u64>| number.map(|number| number.to_string());
        let parameters = [
            ("source", delivery.source.clone()),
            ("position", number(delivery.position)),
            ("time", number(delivery.time_ms)),
            ("time-predicate", delivery.time_predicate.clone()),
            ("watermark", number(delivery.watermark_ms)),
        ];
        let given = parameters
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)));
        endpoint.parameters.extend(given);
        // Whoever pushes has a patience of his own for a server that has no room yet.
        let message = Message {
            waiting: Waiting::Listening,
            ..message(delivery.media_type, Sent::Bytes(items))
        };
        let mut response = exchange::send(&endpoint, message, stop)?;
        let (status, pause) = (response.status().as_u16(), response.retry_after());
        if response.is_success() {
            return read_document(&endpoint, &mut response.body).map(Taken::Whole);
        }
        if status == 400 {
            return Ok(Taken::Refused(problem::words(response)));
        }
        let trouble = problem::trouble(&endpoint.url(), response);
        match status {
            // A disk without room: nobody knows what was taken, and what was is passed over where items are counted.
            507 if delivery.position.is_some() => Ok(Taken::Later {
                pause,
                is_full: false,
                trouble,
            }),
            429 | 503 => Ok(Taken::Later {
                pause,
                is_full: status == 429,
                trouble,
            }),
            401..500 => Ok(Taken::Never(trouble)),
            _ => Err(trouble),
        }
    }

    /// Registers a query, and gives its name: that of its text, or else this one, or else one that the server makes.
    pub fn register(&self, text: &str, name: Option<&str>, stop: &Stop) -> Result<String, Trouble> {
        let body = Sent::Text(text.to_owned());
        let made = self.registering(message("application/sparql-query", body), name, stop)?;
        let name = made.get("name").and_then(Value::as_str);
        name.map(str::to_owned)
            .ok_or_else(|| foreign(&self.beside(QUERIES)))
    }

    /// Registers a query with an instance for each row of a table of this media type; gives what was made.
    pub fn register_table(
        &self,
        text: &str,
        (table, media_type): (&str, &str),
        name: Option<&str>,
        stop: &Stop,
    ) -> Result<Value, Trouble> {
        let body = json!({ "query": text, "bindings": table, "bindings_type": media_type });
        let message = message("application/json", Sent::Text(body.to_string()));
        self.registering(message, name, stop)
    }

    fn registering(
        &self,
        message: Message,
        name: Option<&str>,
        stop: &Stop,
    ) -> Result<Value, Trouble> {
        let mut endpoint = self.clone();
        let name = name.map(|name| ("name".to_owned(), name.to_owned()));
        endpoint.parameters.extend(name);
        let made = endpoint.document(QUERIES, message, stop)?;
        let warnings = made.get("warnings").and_then(Value::as_array);
        for warning in warnings.into_iter().flatten().filter_map(Value::as_str) {
            say!("warning: {warning}");
        }
        Ok(made)
    }

    /// The registered queries; says where the server has none because its database is only read.
    pub fn queries(&self, stop: &Stop) -> Result<Vec<Value>, Trouble> {
        let listed = self.document(QUERIES, bare(Method::GET), stop)?;
        say_only_read(&listed, "registered queries");
        Ok(members(listed, "queries"))
    }

    /// The same without a word about it.
    pub fn queries_if_any(&self, stop: &Stop) -> Result<Vec<Value>, Trouble> {
        let listed = self.document(QUERIES, bare(Method::GET), stop)?;
        Ok(members(listed, "queries"))
    }

    /// A registered query, with its plan.
    pub fn registered(&self, name: &str, stop: &Stop) -> Result<Value, Trouble> {
        self.document(&query_place(name), bare(Method::GET), stop)
    }

    /// Evaluates a query no more, or from the next close on again.
    pub fn set_paused(&self, name: &str, is_paused: bool, stop: &Stop) -> Result<(), Trouble> {
        let verb = if is_paused { "pause" } else { "resume" };
        let place = format!("{}/{verb}", query_place(name));
        self.done(&place, Method::POST, stop)
    }

    /// Forgets a query and its reports.
    pub fn drop_query(&self, name: &str, stop: &Stop) -> Result<(), Trouble> {
        self.done(&query_place(name), Method::DELETE, stop)
    }

    /// The reports of a query behind this number as Server-Sent Events, without end. A read fails while `is_stopped` says
    /// so, and goes on afterwards. At the first time it is waited a second until somebody listens; who asks again waits for that himself.
    pub fn reports(
        &self,
        name: &str,
        (seen, is_first): (u64, bool),
        is_stopped: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Result<ReportBytes, Refusal> {
        let endpoint = self.beside(&format!("{}/reports", query_place(name)));
        let seen = HeaderValue::from(seen);
        endpoint.events((bare(Method::GET), is_first), Some(seen), is_stopped)
    }

    /// The answer of a `SELECT` as it is now, as a document of SPARQL's JSON results.
    pub fn answer(&self, text: &str, stop: &Stop) -> Result<Value, Trouble> {
        let mut message = message("application/sparql-query", Sent::Text(text.to_owned()));
        RESULTS.clone_into(&mut message.accept);
        // Whoever asks does so again.
        message.waiting = Waiting::No;
        self.document(QUERY, message, stop)
    }

    /// The answer of a query and its changes behind the event of this id, as [`Endpoint::reports`].
    pub fn changes(
        &self,
        text: &str,
        (seen, is_first): (Option<&str>, bool),
        is_stopped: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Result<ReportBytes, Refusal> {
        let message = message("application/sparql-query", Sent::Text(text.to_owned()));
        // An id that the server gave is a header's value.
        let seen = seen.and_then(|id| HeaderValue::from_str(id).ok());
        self.beside(LIVE)
            .events((message, is_first), seen, is_stopped)
    }

    fn events(
        mut self,
        (mut message, is_first): (Message, bool),
        seen: Option<HeaderValue>,
        is_stopped: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Result<ReportBytes, Refusal> {
        let last_id = HeaderName::from_static("last-event-id");
        self.headers.extend(seen.map(|seen| (last_id, seen)));
        EVENTS.clone_into(&mut message.accept);
        message.waiting = if is_first {
            Waiting::Listening
        } else {
            Waiting::No
        };
        let refusal = |status, pause, trouble| Refusal {
            status,
            pause,
            trouble,
        };
        let sent = exchange::send_watched(&self, message, is_stopped);
        let response = sent.map_err(|trouble| refusal(None, None, trouble))?;
        let (status, pause) = (response.status().as_u16(), response.retry_after());
        if !response.is_success() {
            let trouble = problem::trouble(&self.url(), response);
            return Err(refusal(Some(status), pause, trouble));
        }
        if response.media_type() != EVENTS {
            return Err(refusal(Some(status), None, foreign(&self)));
        }
        Ok(ReportBytes(response.body))
    }

    fn done(&self, place: &str, method: Method, stop: &Stop) -> Result<(), Trouble> {
        let endpoint = self.beside(place);
        endpoint.exchanged(bare(method), stop).map(|_| ())
    }

    fn document(&self, place: &str, message: Message, stop: &Stop) -> Result<Value, Trouble> {
        let endpoint = self.beside(place);
        let mut response = endpoint.exchanged(message, stop)?;
        read_document(&endpoint, &mut response.body)
    }
}

/// Why reports do not come.
#[derive(Debug)]
pub struct Refusal {
    /// The status of the answer; `None` where there was none.
    pub status: Option<u16>,
    /// When to try again, where the server says.
    pub pause: Option<Duration>,
    /// What went wrong.
    pub trouble: Trouble,
}

/// Reports as bytes of events.
pub struct ReportBytes(Incoming);

impl ReportBytes {
    /// Why a read failed, if one did.
    pub fn take_trouble(&mut self) -> Option<Trouble> {
        self.0.take_trouble()
    }
}

impl Read for ReportBytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

fn stream_place(name: &str) -> String {
    format!("{STREAMS}/{}", encoded(name))
}

fn query_place(name: &str) -> String {
    format!("{QUERIES}/{}", encoded(name))
}

/// A request without a body.
fn bare(method: Method) -> Message {
    Message {
        method,
        ..message("", Sent::Bytes(Vec::new()))
    }
}

fn read_document(endpoint: &Endpoint, body: &mut Incoming) -> Result<Value, Trouble> {
    let mut text = Vec::new();
    let read = body.take(DOCUMENT_BYTES_MAX).read_to_end(&mut text);
    if let Some(trouble) = body.take_trouble() {
        return Err(trouble);
    }
    let document = read.ok().and_then(|_| serde_json::from_slice(&text).ok());
    document.ok_or_else(|| foreign(endpoint))
}

fn say_only_read(listed: &Value, what: &str) {
    if listed["is_writable"] == false {
        say!(
            "somersault: the server has opened its database for reading only, so it has no {what}: start it with --allow-update, or with a \
             token that may write"
        );
    }
}

/// The objects of a list that is a member of a document.
fn members(mut document: Value, name: &str) -> Vec<Value> {
    match document.get_mut(name).map(Value::take) {
        Some(Value::Array(members)) => members,
        _ => Vec::new(),
    }
}

fn foreign(endpoint: &Endpoint) -> Trouble {
    let message = format!(
        "{}: the answer is none of a Somersault server; name one with --endpoint",
        endpoint.url()
    );
    Trouble::new(Code::Failed, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parts_of_addresses() {
        assert_eq!(
            stream_place("http://e/s?a"),
            "api/v1/streams/http%3A%2F%2Fe%2Fs%3Fa"
        );
        assert_eq!(query_place("a b"), "api/v1/continuous/a%20b");
    }

    #[test]
    fn lists_are_members() {
        let listed = serde_json::json!({ "streams": [{ "name": "a" }, { "name": "b" }] });
        assert_eq!(members(listed.clone(), "streams").len(), 2);
        assert_eq!(members(listed, "queries"), Vec::<Value>::new());
        assert_eq!(members(Value::Null, "queries"), Vec::<Value>::new());
    }
}
