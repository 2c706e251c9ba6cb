//! Reports and answers as documents in the formats of one-shot queries, behind every door that has them.
//!
//! | door | where the document is | what is said beside it |
//! |---|---|---|
//! | long poll | the body | fields of the head: `Somersault-Report`, `-Close`, `-Instance`, `-Revision`, `-Missed` |
//! | events | the data, line by line | fields of the event |
//! | WebSocket | a string in JSON | members of that JSON |
//!
//! Which format: the parameter `format`, else `Accept` where the response is the document itself ([`negotiate`]). Nothing that
//! is asked, or JSON, is JSON of our own, which has all of it in one piece.
//!
//! Cost: a document is made of the report's JSON, so its memory is asked for first ([`GROWTH`] times that), and a long one is made
//! on a thread that may block.

use crate::endpoint::call::with;
use crate::request::negotiate::Preference;
use crate::request::parameters::{Parameters, quoted};
use crate::response::format::offered;
use crate::response::head;
use crate::response::problem::Problem;
use crate::response::text;
use crate::state::ServerState;
use axum::body::Body;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{HeaderMap, Response, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use somersault::budget::Budget;
use somersault::{AnswerFormat, AnswerKind, JournalEntry, Kind, Live, QueryError, ReportDocument};
use std::sync::Arc;
use std::time::Duration;

const REPORT: HeaderName = HeaderName::from_static("somersault-report");
const MISSED: HeaderName = HeaderName::from_static("somersault-missed");

/// How much longer than its JSON a document may be while it is made, about: RDF/XML says names of elements twice.
const GROWTH: u64 = 4;
/// How long the memory for a document is waited for.
const PATIENCE: Duration = Duration::from_secs(1);
/// A document of so much JSON (bytes) is made at once, where its consumer is.
const SMALL_BYTES: usize = 16 << 10;
/// Besides formats of answers.
pub(crate) const JSON: &str = "application/json";

/// What a client wants documents to be, before it is known what kind they are of.
pub(crate) struct WantedFormat {
    rows: Result<Preference, Problem>,
    graph: Result<Preference, Problem>,
}

impl WantedFormat {
    /// JSON of our own.
    pub fn json() -> WantedFormat {
        WantedFormat {
            rows: Ok(Preference::Json),
            graph: Ok(Preference::Json),
        }
    }

    /// What `format` says alone.
    pub fn named(parameters: &Parameters) -> Result<WantedFormat, Problem> {
        WantedFormat::read(&HeaderMap::new(), parameters, &[])
    }

    /// What `format` says, or `Accept`; a refusal lists `others`, too.
    pub fn read(
        headers: &HeaderMap,
        parameters: &Parameters,
        others: &[&'static str],
    ) -> Result<WantedFormat, Problem> {
        let of_kind = |kind: AnswerKind| {
            let preferred = Preference::read(headers, parameters, kind)?;
            Ok(preferred
                .ok_or_else(|| Problem::not_acceptable([&[JSON], others, &offered(kind)].concat())))
        };
        Ok(WantedFormat {
            rows: of_kind(AnswerKind::Solutions)?,
            graph: of_kind(AnswerKind::Graph)?,
        })
    }

    /// The format for this kind of answers; `None`: JSON of our own.
    pub fn of_kind(self, is_graph: bool) -> Result<Option<AnswerFormat>, Problem> {
        let preferred = if is_graph { self.graph } else { self.rows };
        Ok(match preferred? {
            Preference::Json => None,
            Preference::Format(format) => Some(format),
        })
    }

    /// What is made of the reports of a query; `None`: JSON of our own.
    pub async fn of_query(
        self,
        server: &Arc<ServerState>,
        name: &str,
    ) -> Result<Option<Documents>, Problem> {
        if let (Ok(Preference::Json), Ok(Preference::Json)) = (&self.rows, &self.graph) {
            return Ok(None);
        }
        let name = name.to_owned();
        let look = move |live: &Live| {
            let looked = live.gives_graphs(&name);
            looked.map_err(|error| Problem::of_query(&error))
        };
        let is_graph = with(server, look).await?;
        let format = self.of_kind(is_graph)?;
        Ok(format.map(|format| Documents {
            server: Arc::clone(server),
            format,
            is_graph,
        }))
    }
}

/// Makes documents of the reports of a query.
#[derive(Clone)]
pub(crate) struct Documents {
    server: Arc<ServerState>,
    format: AnswerFormat,
    is_graph: bool,
}

/// A report that was made, with its memory.
pub(crate) struct Made {
    pub report: ReportDocument,
    _memory: Budget,
}

/// Which of the two documents of a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// What is told.
    Told,
    /// What is taken back.
    Removed,
}

impl Part {
    /// What `part` of the address names.
    pub fn named(name: Option<&str>) -> Result<Part, Problem> {
        match name {
            None | Some("told") => Ok(Part::Told),
            Some("removed") => Ok(Part::Removed),
            Some(other) => {
                let why = format!("`part` is {}: it is `told` or `removed`", quoted(other));
                Err(Problem::bad_request(why))
            }
        }
    }
}

impl Documents {
    pub fn format(&self) -> AnswerFormat {
        self.format
    }

    /// The document of a report.
    pub async fn of(&self, entry: &JournalEntry) -> Result<Made, Problem> {
        let bytes = entry.line.len();
        let memory = memory(&self.server, bytes as u64).await?;
        let (format, is_graph) = (self.format, self.is_graph);
        let line = Arc::clone(&entry.line);
        let make = move || ReportDocument::of(&line, is_graph, format);
        let report = at_length(bytes, make).await?;
        Ok(Made {
            report,
            _memory: memory,
        })
    }

    /// A report as a response.
    pub async fn response(
        &self,
        entry: &JournalEntry,
        missed: u64,
        part: Part,
    ) -> Result<Response<Body>, Problem> {
        let made = self.of(entry).await?;
        let mut response = match made.report.answer.clone() {
            Ok(rows) if part == Part::Told => text(self.format.media_type(), rows.told),
            Ok(rows) => {
                let why = "the report is no revision of rows, so nothing is taken back by it";
                let removed = rows.removed.ok_or_else(|| Problem::not_found(why))?;
                text(self.format.media_type(), removed)
            }
            Err(why) => {
                let status = StatusCode::UNPROCESSABLE_ENTITY;
                let title = "The evaluation of this close failed";
                Problem::new(status, "failed-report", title, why).into_response()
            }
        };
        let headers = response.headers_mut();
        headers.insert(REPORT, HeaderValue::from(entry.number));
        headers.insert(MISSED, HeaderValue::from(missed));
        for (name, value) in made.report.heads() {
            let name = format!("somersault-{}", name.replace('_', "-"));
            let value = utf8_percent_encode(&value, NON_ALPHANUMERIC).to_string();
            if let Ok(name) = HeaderName::try_from(name) {
                headers.insert(name, head::value(&value));
            }
        }
        Ok(response)
    }
}

/// What is said of a report beside its document.
pub(crate) trait Heads {
    /// Names and values.
    fn heads(&self) -> Vec<(&'static str, String)>;
}

impl Heads for ReportDocument {
    fn heads(&self) -> Vec<(&'static str, String)> {
        let mut heads = vec![
            ("close", self.close_ms.to_string()),
            ("query", self.query.clone()),
        ];
        heads.extend(self.instance.iter().map(|name| ("instance", name.clone())));
        if self.revision > 0 {
            heads.push(("revision", self.revision.to_string()));
        }
        let incomplete = self.incomplete_before_ms;
        heads.extend(incomplete.map(|before| ("window_incomplete", before.to_string())));
        heads
    }
}

/// The memory for a document of so many bytes of JSON.
pub(crate) async fn memory(server: &ServerState, bytes: u64) -> Result<Budget, Problem> {
    let memory = server.accounts()?.wait_for(GROWTH * bytes, PATIENCE).await;
    memory.ok_or_else(|| Problem::overloaded("the memory for a document is in use"))
}

/// Makes a document of so many bytes, where making it holds up nobody.
pub(crate) async fn at_length<T: Send + 'static>(
    bytes: usize,
    make: impl FnOnce() -> Result<T, QueryError> + Send + 'static,
) -> Result<T, Problem> {
    let made = if bytes <= SMALL_BYTES {
        make()
    } else {
        let bug = |_| {
            Err(QueryError::new(
                Kind::Internal,
                "making a document met a bug of the server",
            ))
        };
        tokio::task::spawn_blocking(make).await.unwrap_or_else(bug)
    };
    made.map_err(|error| Problem::of_query(&error))
}
