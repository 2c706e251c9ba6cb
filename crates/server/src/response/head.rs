//! Heads of responses: the names of our own fields, and the fields that every response carries.
//!
//! `Query-Id` names the query in logs, in the list of running queries and in a bug report;
//! `Server-Timing` says where the time went (milliseconds, W3C Server Timing); `Somersault-Snapshot`
//! says which state of the graph was seen.

use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};
use std::fmt::Write;
use std::time::Duration;

/// Names the query.
pub(crate) const QUERY_ID: HeaderName = HeaderName::from_static("query-id");
/// Where the time went.
pub(crate) const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");
/// The state of the graph that the answer is about.
pub(crate) const SNAPSHOT: HeaderName = HeaderName::from_static("somersault-snapshot");
/// How many warnings an answer comes with, where there are some.
pub(crate) const WARNINGS: HeaderName = HeaderName::from_static("somersault-warnings");
/// The types of body that a `QUERY` may have (draft-ietf-httpbis-safe-method-w-body).
pub(crate) const ACCEPT_QUERY: HeaderName = HeaderName::from_static("accept-query");

/// A header value of a text of our own making.
pub(crate) fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("texts of our own are ASCII without control characters")
}

/// Appends `NAME;dur=MILLISECONDS`, to the microsecond. Whole numbers throughout: formatting a `f64` takes a
/// thousand instructions, and every light answer has four of these.
fn timing(text: &mut String, name: &str, spent: Duration) {
    let micros = spent.as_secs() * 1_000_000 + u64::from(spent.subsec_nanos() + 500) / 1000;
    let _ = write!(text, "{name};dur={}.", micros / 1000);
    let digit = |unit: u64| char::from(b'0' + (micros / unit % 10) as u8);
    text.extend([digit(100), digit(10), digit(1)]);
}

/// What a query's time went to, as far as it is known.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    /// Waiting for its turn.
    pub wait: Option<Duration>,
    /// Checking and parsing the text.
    pub parse: Option<Duration>,
    /// Planning.
    pub plan: Option<Duration>,
    /// Running.
    pub exec: Option<Duration>,
}

impl Spent {
    /// The value of `Server-Timing`.
    pub fn to_value(self) -> HeaderValue {
        let parts = [
            ("wait", self.wait),
            ("parse", self.parse),
            ("plan", self.plan),
            ("exec", self.exec),
        ];
        let mut text = String::with_capacity(64);
        for (name, spent) in parts {
            let Some(spent) = spent else { continue };
            if !text.is_empty() {
                text.push_str(", ");
            }
            timing(&mut text, name, spent);
        }
        value(&text)
    }
}

/// What is known of every response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Signature<'a> {
    /// The request's name.
    pub request_id: &'a str,
    /// Time from the request to its response's head.
    pub total: Duration,
    /// The state of the graph; none before there is a database.
    pub snapshot: Option<u64>,
}

/// Fields of every response: our own three, as far as the handler has not said more, and those by
/// which no browser guesses a type and everybody sees who answers.
pub(crate) fn sign(headers: &mut HeaderMap, signature: Signature<'_>) {
    const SERVER: &str = concat!("somersault/", env!("CARGO_PKG_VERSION"));
    headers.insert(hyper::header::SERVER, HeaderValue::from_static(SERVER));
    headers.insert(
        hyper::header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    let named = headers.entry(QUERY_ID);
    named.or_insert_with(|| value(signature.request_id));
    headers.entry(SERVER_TIMING).or_insert_with(|| {
        let mut text = String::with_capacity(32);
        timing(&mut text, "total", signature.total);
        value(&text)
    });
    if let Some(snapshot) = signature.snapshot {
        let named = headers.entry(SNAPSHOT);
        named.or_insert_with(|| HeaderValue::from(snapshot));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timings_are_listed_as_far_as_they_are_known() {
        let spent = Spent {
            parse: Some(Duration::from_micros(120)),
            exec: Some(Duration::from_millis(3)),
            ..Spent::default()
        };
        assert_eq!(spent.to_value(), "parse;dur=0.120, exec;dur=3.000");
        assert_eq!(Spent::default().to_value(), "");
        let rounded = |nanos: u64| {
            let mut text = String::new();
            timing(&mut text, "total", Duration::from_nanos(nanos));
            text
        };
        assert_eq!(rounded(499), "total;dur=0.000");
        assert_eq!(rounded(500), "total;dur=0.001");
        assert_eq!(rounded(12_345_678_901), "total;dur=12345.679");
        assert_eq!(rounded(1_009_999), "total;dur=1.010");
    }
}
