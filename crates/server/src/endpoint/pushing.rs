//! `/api/v1/streams/{IRI}/items` as a WebSocket: a source that goes on.
//!
//! Each message of the source is what the body of a push is ([`crate::request::items`]), in the form that `format` of the address
//! names: lines of `.nt.ts` where it names none. Each gets an answer, in their order:
//!
//! | `type` | says |
//! |---|---|
//! | `taken` | the message is in the log, as the answer to a push says it; what was malformed is in `rejections`, with its place in the message. `durable` is the position behind everything that is in the log, where the source counts its items, else the items of this socket so far; `sealed` the moment up to which the stream is settled |
//! | `waiting` | there is no room for it: it is kept and tried again |
//! | `refused` | a problem document says why it cannot be taken; the socket is closed |
//!
//! A message `{"watermark": MS}` is a promise of the source, in every form.
//!
//! **Flow.** The next message is read when the one before it was answered. So where the budget of a stream is full the
//! socket is not read, which slows its source down; nothing of it is let go. What does not fit at once is taken in halves. An item that is larger than the
//! budget would wait without end, so it is refused.
//!
//! Needs the right to change, as a push does. Cost: one task, no thread while it is silent; a message that waits is parsed again with each attempt.

use crate::endpoint::call::{Call, Named, answered, name, pushed, with};
use crate::endpoint::socket::handshake::is_asked;
use crate::endpoint::socket::{SocketEnd, SocketLimits, WebSocket, over};
use crate::endpoint::streams;
use crate::endpoint::taking::{PushAccount, delivery, failed, feed, is_hopeless};
use crate::request::intake::Intake;
use crate::request::items::{Delivery, ItemsForm, ReadItems};
use crate::response::problem::Problem;
use crate::state::{RequestId, ServerState};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use hyper::{Request, Response, StatusCode};
use serde::Deserialize;
use serde_json::json;
use somersault::config::Right;
use somersault::{Live, Positions, Pushed};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Utf8Bytes;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

/// What is said of all messages in the address.
pub(crate) const PARAMETERS: [&str; 5] = ["source", "position", "time", "time-predicate", "format"];

/// A message that has no room is tried again after a pause that grows between these.
const PAUSE_MIN: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// Bytes of a message that are taken at any pace.
const SMALL_BYTES: usize = 64 << 10;

/// Answers, or passes on what is no WebSocket.
pub(crate) async fn items(
    State(server): State<Arc<ServerState>>,
    Extension(RequestId(id)): Extension<RequestId>,
    named: Named,
    request: Request<Body>,
) -> Response<Body> {
    if !is_asked(request.method(), request.headers()) {
        let (server, id) = (State(server), Extension(RequestId(id)));
        return streams::items(server, id, named, request).await;
    }
    let opened = Call::open_socket(&server, &id, request, &PARAMETERS, Right::Write).await;
    let (call, handshake) = match opened {
        Ok(opened) => opened,
        Err(answer) => return answer,
    };
    let pushing = match name(named) {
        Ok(stream) => Pushing::open(call, stream).await,
        Err(problem) => Err(problem),
    };
    let answer = pushing.map(|pushing| {
        let options = server.options();
        let limits = SocketLimits::of(&options, options.update_text_bytes_max);
        handshake.switch(limits, |socket| pushing.serve(socket))
    });
    answered(&server, &id, answer)
}

/// A source and what has become of it.
struct Pushing {
    server: Arc<ServerState>,
    stream: String,
    /// What is said of the next message.
    delivery: Delivery,
    form: ItemsForm,
    is_arrival_time: bool,
    ending: watch::Receiver<bool>,
    /// Messages so far (count).
    messages: u64,
    /// Items that were taken so far (count).
    taken: u64,
}

/// A message on its way to an engine thread.
struct Attempt {
    stream: String,
    delivery: Delivery,
    form: ItemsForm,
    is_arrival_time: bool,
    text: Utf8Bytes,
    /// What the items hold is drawn on it.
    body: Intake,
    /// Items that were taken before (count).
    done: usize,
    /// Items to be taken now, at most (count).
    batch: usize,
}

/// What has come of an attempt.
struct Step {
    read: ReadItems,
    pushed: Pushed,
    /// Items that are taken now, in all (count).
    done: usize,
}

/// What could not be taken.
struct Refusal {
    problem: Problem,
    /// Items that would have been taken (count); 0: it is not about them.
    items: usize,
    /// It could not be taken later either.
    is_final: bool,
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Refusal {
        Refusal {
            is_final: !problem.is_for_now(),
            problem,
            items: 0,
        }
    }
}

impl Pushing {
    /// That there is such a stream, and that items of this form can have a time.
    async fn open(call: Call, stream: String) -> Result<Pushing, Problem> {
        let delivery = delivery(&call)?;
        let form = ItemsForm::named(call.parameters.single("format")?)?;
        let empty = Intake {
            bytes: Vec::new(),
            account: call.server.accounts()?.body(),
        };
        let (name, said) = (stream.clone(), delivery.clone());
        let look = move |live: &Live| {
            let is_arrival_time = live.has_arrival_time(&name).map_err(failed)?;
            match said.read(Some(form), &empty, is_arrival_time) {
                // Nothing is no document in some formats.
                Err(problem) if problem.malformed().is_none() => Err(problem),
                _ => Ok(is_arrival_time),
            }
        };
        let is_arrival_time = with(&call.server, look).await?;
        Ok(Pushing {
            ending: call.server.live.ending(),
            server: call.server,
            stream,
            delivery,
            form,
            is_arrival_time,
            messages: 0,
            taken: 0,
        })
    }

    async fn serve(mut self, mut socket: WebSocket) {
        let ended = loop {
            let heard = tokio::select! {
                heard = socket.hear() => heard,
                () = over(&mut self.ending) => Err(SocketEnd::Ending),
            };
            let told = match heard {
                Ok(text) => self.take(&mut socket, text).await,
                Err(ended) => Err(ended),
            };
            if let Err(ended) = told {
                break ended;
            }
        };
        socket.close(ended).await;
    }

    /// Takes a message and answers it.
    async fn take(&mut self, socket: &mut WebSocket, text: Utf8Bytes) -> Result<(), SocketEnd> {
        self.messages += 1;
        match self.taken_all(socket, text).await? {
            Ok((pushed, read)) => {
                let mut answer = PushAccount::of(pushed, read).json();
                answer["type"] = json!("taken");
                answer["message"] = json!(self.messages);
                answer["durable"] = json!(self.delivery.position.unwrap_or(self.taken));
                socket.say(answer.to_string()).await
            }
            Err(problem) => {
                let code = code(problem.status());
                let (kind, problem) = ("refused", problem.to_value());
                let answer = json!({ "type": kind, "message": self.messages, "problem": problem });
                socket.say(answer.to_string()).await?;
                Err(SocketEnd::Refused(code))
            }
        }
    }

    /// Takes all items of a message, as soon as there is room for them.
    async fn taken_all(
        &mut self,
        socket: &mut WebSocket,
        text: Utf8Bytes,
    ) -> Result<Result<(Pushed, ReadItems), Problem>, SocketEnd> {
        let mut all = Pushed::default();
        let (mut done, mut batch, mut pause) = (0, usize::MAX, PAUSE_MIN);
        let mut told = None;
        loop {
            match self.attempt(&text, done, batch).await {
                Ok(step) => {
                    all.taken += step.pushed.taken;
                    all.late += step.pushed.late;
                    all.settled_ms = step.pushed.settled_ms;
                    all.latest_ms = all.latest_ms.max(step.pushed.latest_ms);
                    all.is_durable = step.pushed.is_durable;
                    all.next_position = step.pushed.next_position;
                    all.missing += step.pushed.missing;
                    self.taken += (step.done - done) as u64;
                    (done, pause) = (step.done, PAUSE_MIN);
                    batch = batch.saturating_mul(2);
                    if done == step.read.items.len() {
                        let positions = step.read.positions;
                        let next = self.delivery.position.map(|first| first + positions);
                        self.delivery.position = next;
                        return Ok(Ok((all, step.read)));
                    }
                }
                Err(refusal) if refusal.is_final => return Ok(Err(refusal.problem)),
                Err(refusal) => {
                    if refusal.items > 0 {
                        batch = (refusal.items / 2).max(1);
                    }
                    let is_due = told.is_none_or(|at: Instant| at.elapsed() > socket.beat());
                    if pause > PAUSE_MIN && is_due {
                        let waiting = json!({
                            "type": "waiting",
                            "message": self.messages,
                            "problem": refusal.problem.to_value(),
                        });
                        socket.say(waiting.to_string()).await?;
                        told = Some(Instant::now());
                    }
                    tokio::select! {
                        () = tokio::time::sleep(pause) => {}
                        () = over(&mut self.ending) => return Err(SocketEnd::Ending),
                    }
                    pause = (2 * pause).min(PAUSE_MAX);
                }
            }
        }
    }

    async fn attempt(&self, text: &Utf8Bytes, done: usize, batch: usize) -> Result<Step, Refusal> {
        let account = self.server.accounts()?.body();
        account.wait_for(text.len() as u64).await?;
        if text.len() > SMALL_BYTES && done == 0 && batch == usize::MAX {
            account.arrived(text.len() as u64).await;
        }
        let attempt = Attempt {
            stream: self.stream.clone(),
            delivery: self.delivery.clone(),
            form: self.form,
            is_arrival_time: self.is_arrival_time,
            text: text.clone(),
            body: Intake {
                bytes: text.as_bytes().to_vec(),
                account,
            },
            done,
            batch,
        };
        pushed(&self.server, move |live| Ok(attempt.make(live))).await?
    }
}

impl Attempt {
    fn make(self, live: &Live) -> Result<Step, Refusal> {
        let read = match promise(&self.text) {
            Some(watermark_ms) => ReadItems {
                watermark_ms: Some(watermark_ms),
                ..ReadItems::default()
            },
            None => self.read()?,
        };
        let left = read.items.len() - self.done;
        // Positions are known of items alone where none was malformed.
        let is_counted = self.delivery.position.is_some();
        let is_whole = self.batch >= left || (is_counted && read.rejected > 0);
        let count = if is_whole { left } else { self.batch };
        let items = &read.items[self.done..self.done + count];
        let is_message = is_whole && self.done == 0;
        let positions = self.delivery.position.map(|first| Positions {
            first: first + self.done as u64,
            count: if is_message {
                read.positions
            } else {
                count as u64
            },
            rejected: if is_message { &read.unfilled } else { &[] },
        });
        let watermark_ms = read.watermark_ms.filter(|_| is_whole);
        let held_bytes = live.held_bytes(&self.stream).map_err(failed)?;
        let source = &self.delivery.source;
        match feed(live, &self.stream, source, items, watermark_ms, positions) {
            Ok(pushed) => {
                if read.rejected > 0 && self.done == 0 {
                    live.count_rejected(&self.stream, read.rejected)
                        .map_err(failed)?;
                }
                Ok(Step {
                    pushed,
                    done: self.done + count,
                    read,
                })
            }
            Err(problem) => {
                let is_indivisible = count <= 1 || (is_counted && read.rejected > 0);
                let problem = if is_indivisible && is_hopeless(&problem, held_bytes) {
                    problem.for_good()
                } else {
                    problem
                };
                // Nobody knows what of it was taken, and what was is passed over.
                let is_again = is_counted && problem.is_of_disk();
                Err(Refusal {
                    is_final: !problem.is_for_now() && !is_again,
                    problem,
                    items: count,
                })
            }
        }
    }

    /// The items of the message. A document that is malformed is one item that is.
    fn read(&self) -> Result<ReadItems, Refusal> {
        let form = Some(self.form);
        let read = self.delivery.read(form, &self.body, self.is_arrival_time);
        match read {
            Ok(read) => Ok(read),
            Err(problem) => {
                let Some((position, message)) = problem.malformed() else {
                    return Err(problem.into());
                };
                let mut read = ReadItems::default();
                read.reject(position, message.to_owned());
                Ok(read)
            }
        }
    }
}

/// What a message promises that is nothing else.
fn promise(text: &str) -> Option<u64> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Promise {
        watermark: u64,
    }
    let is_object = text.trim_start().starts_with('{');
    let promise = is_object.then(|| serde_json::from_str::<Promise>(text).ok());
    promise.flatten().map(|promise| promise.watermark)
}

/// How a socket ends after such a problem.
fn code(status: StatusCode) -> CloseCode {
    match status {
        StatusCode::PAYLOAD_TOO_LARGE | StatusCode::TOO_MANY_REQUESTS => CloseCode::Size,
        StatusCode::SERVICE_UNAVAILABLE => CloseCode::Again,
        status if status.is_client_error() => CloseCode::Policy,
        _ => CloseCode::Error,
    }
}
