//! From a query's pipe to its response.
//!
//! Three ways: the query fails before anything is sent, then the response is a problem with the
//! status of that failure; it ends early, then the answer goes out in one piece with its length;
//! or it flows, chunk by chunk. A failure after the first byte cannot change the status any more:
//! the reason goes into a last record where the format has room for one (a member `error` after the rows
//! of JSON, a comment in XML and in the line formats of graphs; CSV and TSV have no comments, a line would be
//! a row), and then the body is broken off, never ended, so that every client sees that the answer is not
//! whole. HTTP has trailers after whole bodies only, so a broken one has none; a whole one has `Server-Timing`
//! with the time of running, where the client takes trailers. Who could not see a broken body gets a whole
//! one or a problem: [`crate::run::kept`].

use crate::request::negotiate::Accepted;
use crate::response::format::{AnswerFormat, LastRecord, offered};
use crate::response::head::{self, Spent};
use crate::response::problem::Problem;
use crate::run::job::{Done, Started};
use crate::run::pipe::{Early, PipeItem, Reader};
use axum::body::Body;
use hyper::body::{Bytes, Frame};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, TRAILER, VARY};
use hyper::{HeaderMap, Response};
use somersault::output::ResultFormat;
use somersault::{AnswerKind, Kind, QueryError};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// How long the last record gets to reach the socket before the connection is broken off: hyper
/// drops what it has buffered when a body fails.
const LAST_WORDS: Duration = Duration::from_millis(40);

/// What a response needs to know besides the answer.
#[derive(Clone, Debug)]
pub(crate) struct ResponseContext {
    /// How the answer may be written.
    pub accepted: Accepted,
    /// The client takes trailers.
    pub trailers: bool,
    /// Only the head of the response is wanted.
    pub head_only: bool,
    /// It is a plan, which has one format.
    pub is_plan: bool,
    /// The time of the query.
    pub timeout: Duration,
    /// Time spent waiting for a turn, where there was any.
    pub wait: Option<Duration>,
    /// The request's name, for a query that never gets its own.
    pub request_id: String,
}

/// The response to a query, as soon as its status is known.
pub(crate) async fn respond(reader: Reader, answering: ResponseContext) -> Response<Body> {
    let begun = Instant::now();
    let early = reader.early().await;
    let started = reader.started();
    let mut spent = Spent {
        wait: answering.wait,
        // What failed before it was planned spent its time on its text.
        parse: Some(begun.elapsed()),
        ..Spent::default()
    };
    let mut id = answering.request_id;
    let mut kind = AnswerKind::Solutions;
    let mut snapshot = None;
    let mut warnings = 0;
    if let Some(started) = started {
        kind = started.kind;
        snapshot = Some(started.snapshot);
        warnings = started.warnings;
        id = started.id.to_string();
        spent.parse = Some(started.parse);
        spent.plan = Some(started.plan);
    }
    // A query whose answer has no format for its client has failed above.
    let format = answering.accepted.format(kind);
    let format = format.unwrap_or(AnswerFormat::Rows(ResultFormat::Json));
    let (media_type, last_record) = if answering.is_plan {
        ("application/json", LastRecord::None)
    } else {
        (format.media_type(), format.last_record())
    };
    let mut response = match early {
        Early::Failed(error) => {
            let mut problem = Problem::of_query(&error).with_id(&id);
            if error.kind == Kind::Format {
                problem = problem.with_offered(offered(kind));
            }
            problem.into_response()
        }
        // Nothing was run, so its length is not known either.
        Early::Whole(..) if answering.head_only => {
            with_type(Body::new(Flowing { state: State::Over }), media_type)
        }
        Early::Whole(bytes, done) => {
            spent.exec = Some(done.exec);
            with_type(Body::from(bytes), media_type)
        }
        Early::Kept(kept, done) => {
            spent.exec = Some(done.exec);
            let patience = kept.patience(answering.timeout);
            match kept.into_body(patience) {
                Ok(body) => with_type(Body::new(body), media_type),
                Err(error) => Problem::of_query(&error).with_id(&id).into_response(),
            }
        }
        Early::Flowing => {
            let flow = Flow::new(reader, last_record, answering.trailers);
            let mut response = with_type(Body::new(flow.into_body()), media_type);
            if answering.trailers {
                response
                    .headers_mut()
                    .insert(TRAILER, HeaderValue::from_static("server-timing"));
            }
            response
        }
    };
    say(&mut response, &id, spent, snapshot);
    warn(&mut response, warnings);
    response
}

/// The response to a query that has ended well.
pub(crate) fn whole(
    answer: Bytes,
    format: AnswerFormat,
    started: &Started,
    spent: Spent,
) -> Response<Body> {
    let mut response = with_type(Body::from(answer), format.media_type());
    let id = started.id.to_string();
    say(&mut response, &id, spent, Some(started.snapshot));
    warn(&mut response, started.warnings);
    response
}

/// How many warnings there are, where there are some: formats without room for them have this at least.
fn warn(response: &mut Response<Body>, warnings: usize) {
    if warnings > 0 {
        let count = HeaderValue::from(warnings as u64);
        response.headers_mut().insert(head::WARNINGS, count);
    }
}

/// What the head of every answer says.
fn say(response: &mut Response<Body>, id: &str, spent: Spent, snapshot: Option<u64>) {
    let headers = response.headers_mut();
    headers.insert(head::QUERY_ID, head::value(id));
    headers.insert(head::SERVER_TIMING, spent.to_value());
    if let Some(snapshot) = snapshot {
        headers.insert(head::SNAPSHOT, HeaderValue::from(snapshot));
    }
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(VARY, HeaderValue::from_static("accept"));
}

fn with_type(body: Body, media_type: &'static str) -> Response<Body> {
    let mut response = Response::new(body);
    let media_type = HeaderValue::from_static(media_type);
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response
}

/// The body was broken off on purpose.
#[derive(Debug, thiserror::Error)]
#[error("the answer is not whole")]
pub(crate) struct BrokenOff;

/// An answer that flows. It owns the pipe's reader, so dropping it cancels the query.
struct Flow {
    reader: Reader,
    last_record: LastRecord,
    trailers: bool,
    /// What was sent last ends a line.
    at_line_start: bool,
    /// The query has failed and everything that can be said about it has been sent.
    broken: bool,
}

/// A frame, or nothing at the end, and what follows, if anything.
type Step = (Option<Flow>, Option<Result<Frame<Bytes>, BrokenOff>>);

impl Flow {
    fn new(reader: Reader, last_record: LastRecord, trailers: bool) -> Flow {
        Flow {
            reader,
            last_record,
            trailers,
            at_line_start: true,
            broken: false,
        }
    }

    fn into_body(self) -> Flowing {
        Flowing {
            state: State::Idle(self),
        }
    }

    async fn step(mut self) -> Step {
        if self.broken {
            tokio::time::sleep(LAST_WORDS).await;
            return (None, Some(Err(BrokenOff)));
        }
        let frame = match self.reader.next().await {
            PipeItem::Data(bytes) => {
                self.at_line_start = bytes.ends_with(b"\n");
                Frame::data(bytes)
            }
            PipeItem::End(Ok(done)) => return (None, self.trailers.then(|| Ok(last_timing(done)))),
            PipeItem::End(Err(error)) => {
                self.broken = true;
                Frame::data(self.last_record(&error))
            }
        };
        (Some(self), Some(Ok(frame)))
    }

    /// The reason of a failure, in the format of the answer; empty where it has no room.
    fn last_record(&self, error: &QueryError) -> Bytes {
        let reason = error.to_string().replace(['\r', '\n'], " ");
        let record = match self.last_record {
            LastRecord::None => String::new(),
            // Rows are handed over whole, so this is where their array ends. The object does not.
            LastRecord::Member => format!("]}},\"error\":{}", serde_json::json!(reason)),
            LastRecord::Comment => format!("<!-- error: {} -->", in_comment(&reason)),
            LastRecord::Line if self.at_line_start => format!("# error: {reason}\n"),
            LastRecord::Line => format!("\n# error: {reason}\n"),
        };
        Bytes::from(record)
    }
}

/// A text within an XML comment, which may not hold `--` nor end with `-`.
fn in_comment(text: &str) -> String {
    let mut spaced = String::with_capacity(text.len());
    for character in text.chars() {
        if character == '-' && spaced.ends_with('-') {
            spaced.push(' ');
        }
        // Characters that XML 1.0 does not have, in comments neither.
        let is_control = character.is_control() && character != '\t';
        let is_none = is_control || matches!(character, '\u{FFFE}' | '\u{FFFF}');
        spaced.push(if is_none { '\u{FFFD}' } else { character });
    }
    spaced
}

fn last_timing(done: Done) -> Frame<Bytes> {
    let spent = Spent {
        exec: Some(done.exec),
        ..Spent::default()
    };
    let mut trailers = HeaderMap::new();
    trailers.insert(head::SERVER_TIMING, spent.to_value());
    Frame::trailers(trailers)
}

/// The body of an answer that flows, as hyper wants it.
struct Flowing {
    state: State,
}

enum State {
    Idle(Flow),
    Busy(Pin<Box<dyn Future<Output = Step> + Send>>),
    Over,
}

impl hyper::body::Body for Flowing {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        let mut step: Pin<Box<dyn Future<Output = Step> + Send>> =
            match std::mem::replace(&mut self.state, State::Over) {
                State::Idle(flow) => Box::pin(flow.step()),
                State::Busy(step) => step,
                State::Over => return Poll::Ready(None),
            };
        match step.as_mut().poll(context) {
            Poll::Pending => {
                self.state = State::Busy(step);
                Poll::Pending
            }
            Poll::Ready((flow, frame)) => {
                self.state = flow.map_or(State::Over, State::Idle);
                Poll::Ready(frame)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_hold_any_text() {
        assert_eq!(in_comment("no harm"), "no harm");
        for text in ["--", "---", "a -----> b", "-\u{1}-", "--\u{FFFE}--"] {
            let comment = in_comment(text);
            assert!(!comment.contains("--"), "{text}: {comment}");
            assert!(
                !comment.contains(['\u{1}', '\u{FFFE}']),
                "{text}: {comment}"
            );
        }
        assert_eq!(in_comment("---"), "- - -");
    }
}
