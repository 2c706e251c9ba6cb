//! The pipe between an engine thread, which blocks, and a connection, which must not.
//!
//! ```text
//! engine thread: Outlet -> hand_over  |  filling | full full full |  next -> body -> socket
//!                (waits while full)   |                           |  (awaits)
//! ```
//!
//! Invariants: at most [`CHUNKS_MAX`] full chunks and one that fills are held, so a slow client
//! slows the walk down and memory stays flat; the end is set once, after the last byte; whichever
//! side goes away first, the other learns of it at once, and a query whose reader has gone is
//! cancelled. While the engine thread waits for its client it lets others run in its place
//! ([`Turn::step_aside`]). A reader has something to take when a chunk of [`CHUNK_BYTES`] is full, when output
//! has been waiting for [`LINGER`], or at the end: the same rule decides when a response's status
//! is sent, so what fails earlier fails with a status of its own.
//!
//! | who | touches | when |
//! |---|---|---|
//! | the engine thread | `started`, `filling`, `full` (adds), `end` | while the query runs |
//! | the connection's task | `full` and `filling` (takes), `reader_gone` | while it answers |
//!
//! Cost: a lock per batch of rows or per chunk, whichever is more, and no copy of full chunks.

use crate::engine::{Done, Started};
use crate::gate::Turn;
use hyper::body::Bytes;
use somersault::{Kind, QueryError};
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// Bytes from which a chunk counts as full.
pub(crate) const CHUNK_BYTES: usize = 64 << 10;
/// Full chunks that wait for the client at most.
pub(crate) const CHUNKS_MAX: usize = 4;
/// The longest that output waits for more of it.
pub(crate) const LINGER: Duration = Duration::from_millis(50);
/// How often an engine thread that waits for its client looks at its deadline.
const LOOK: Duration = Duration::from_millis(20);

/// A new pipe, for a query with this right to run.
pub(crate) fn pipe(turn: Turn) -> (Writer, Reader) {
    let shared = Arc::new(Shared::default());
    (
        Writer {
            shared: Arc::clone(&shared),
            turn,
        },
        Reader { shared },
    )
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// There is room for a chunk, or the reader has gone. Engine threads wait here.
    room: Condvar,
    /// There is something to take, or to wait for less long. The reader waits here.
    ready: Notify,
}

#[derive(Debug, Default)]
struct State {
    started: Option<Started>,
    full: VecDeque<Bytes>,
    filling: Vec<u8>,
    /// When the oldest byte of `filling` came.
    filling_since: Option<Instant>,
    bytes: u64,
    end: Option<Result<Done, QueryError>>,
    reader_gone: bool,
}

impl Shared {
    /// Every change of the state is whole before it can panic, so a poisoned lock holds no harm.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The engine's end. Dropping it without an end is a bug, and tells the reader so.
#[derive(Debug)]
pub(crate) struct Writer {
    shared: Arc<Shared>,
    turn: Turn,
}

impl Writer {
    /// The query is planned and can be stopped by its token. A reader that has gone already stops
    /// it here.
    pub fn start(&self, started: Started) {
        let mut state = self.shared.state();
        if state.reader_gone {
            started.token.cancel();
        }
        state.started = Some(started);
    }

    /// Takes all bytes of `output`; waits while the client is behind. An error says that nobody
    /// takes it any more, or that the query's time is over.
    pub fn hand_over(&self, output: &mut Vec<u8>) -> io::Result<()> {
        if output.is_empty() {
            return Ok(());
        }
        let mut state = self.wait_for_room()?;
        state.bytes += output.len() as u64;
        if state.filling.is_empty() {
            std::mem::swap(&mut state.filling, output);
        } else {
            state.filling.append(output);
        }
        if state.filling.len() >= CHUNK_BYTES {
            let chunk = std::mem::take(&mut state.filling);
            state.full.push_back(Bytes::from(chunk));
            state.filling_since = None;
            self.shared.ready.notify_one();
        } else if state.filling_since.is_none() {
            state.filling_since = Some(Instant::now());
            self.shared.ready.notify_one();
        }
        Ok(())
    }

    /// Waits for the client; from the second look on without a turn, which is taken up again before
    /// the query computes on. Only this thread fills the pipe, so the room does not go away.
    fn wait_for_room(&self) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.shared.state();
        loop {
            self.check(&state)?;
            if state.full.len() < CHUNKS_MAX {
                break;
            }
            let waited = self.shared.room.wait_timeout(state, LOOK);
            let (woken, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = woken;
            if timeout.timed_out() {
                self.turn.step_aside();
            }
        }
        drop(state);
        let is_over = || self.check(&self.shared.state()).is_err();
        let is_back = self.turn.come_back(LOOK, is_over);
        let state = self.shared.state();
        self.check(&state)?;
        if is_back { Ok(state) } else { Err(stopped()) }
    }

    /// Whether somebody still wants the answer.
    fn check(&self, state: &State) -> io::Result<()> {
        if state.reader_gone {
            let why = "the client has gone";
            return Err(io::Error::new(io::ErrorKind::BrokenPipe, why));
        }
        let token = state.started.as_ref().map(|started| &started.token);
        if token.is_some_and(|token| token.reason().is_some()) || self.turn.is_over() {
            return Err(stopped());
        }
        Ok(())
    }

    /// Whether others took this query's place because its client took nothing.
    pub fn is_out_of_turn(&self) -> bool {
        self.turn.is_over()
    }

    /// What was said at the start.
    pub fn started(&self) -> Option<Started> {
        self.shared.state().started.clone()
    }

    /// Whether the client has gone.
    pub fn is_reader_gone(&self) -> bool {
        self.shared.state().reader_gone
    }

    /// Bytes handed over so far.
    pub fn bytes(&self) -> u64 {
        self.shared.state().bytes
    }

    /// The end: everything has been handed over, or the query has failed.
    pub fn end(self, end: Result<Done, QueryError>) {
        self.turn.end();
        self.shared.state().end = Some(end);
        self.shared.ready.notify_one();
    }
}

fn stopped() -> io::Error {
    let why = "stopped while waiting for the client";
    io::Error::new(io::ErrorKind::TimedOut, why)
}

impl Drop for Writer {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        if state.end.is_none() {
            state.end = Some(Err(QueryError::new(
                Kind::Internal,
                "the query was abandoned",
            )));
            self.shared.ready.notify_one();
        }
    }
}

/// The connection's end. Dropping it cancels the query, if it still runs.
#[derive(Debug)]
pub(crate) struct Reader {
    shared: Arc<Shared>,
}

/// What a query has come to when its response's head must be written.
#[derive(Debug)]
pub(crate) enum Early {
    /// It failed before anything was sent.
    Failed(QueryError),
    /// This is the whole answer.
    Whole(Bytes, Done),
    /// There is output, and more to come.
    Flowing,
}

/// What comes next of an answer.
#[derive(Debug)]
pub(crate) enum Part {
    /// Some of it.
    Data(Bytes),
    /// Its end; asked again, it comes again.
    End(Result<Done, QueryError>),
}

impl Reader {
    /// Waits until the status of the response is known, or cannot be held back any longer.
    pub async fn early(&self) -> Early {
        self.until_ready().await;
        let mut state = self.shared.state();
        match &state.end {
            Some(Err(error)) => Early::Failed(error.clone()),
            Some(Ok(done)) => {
                let done = *done;
                Early::Whole(state.take_all(), done)
            }
            None => Early::Flowing,
        }
    }

    /// The next part of the answer.
    pub async fn next(&self) -> Part {
        self.until_ready().await;
        let mut state = self.shared.state();
        if let Some(chunk) = state.full.pop_front() {
            self.shared.room.notify_one();
            return Part::Data(chunk);
        }
        if !state.filling.is_empty() {
            state.filling_since = None;
            return Part::Data(Bytes::from(std::mem::take(&mut state.filling)));
        }
        let end = state.end.clone();
        Part::End(end.expect("a pipe that is ready has data or its end"))
    }

    /// What was said at the start.
    pub fn started(&self) -> Option<Started> {
        self.shared.state().started.clone()
    }

    async fn until_ready(&self) {
        loop {
            // A notification that comes between looking and waiting is kept by `Notify`.
            let readiness = self.shared.state().readiness();
            let due = match readiness {
                Readiness::Ready => return,
                Readiness::At(due) => due,
                Readiness::Unknown => {
                    self.shared.ready.notified().await;
                    continue;
                }
            };
            tokio::select! {
                () = self.shared.ready.notified() => {}
                () = tokio::time::sleep_until(due.into()) => {}
            }
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.reader_gone = true;
        if let Some(started) = &state.started {
            started.token.cancel();
        }
        self.shared.room.notify_one();
    }
}

enum Readiness {
    Ready,
    At(Instant),
    Unknown,
}

impl State {
    fn readiness(&self) -> Readiness {
        if self.end.is_some() || !self.full.is_empty() {
            return Readiness::Ready;
        }
        match self.filling_since {
            Some(since) if since.elapsed() >= LINGER => Readiness::Ready,
            Some(since) => Readiness::At(since + LINGER),
            None => Readiness::Unknown,
        }
    }

    fn take_all(&mut self) -> Bytes {
        if self.full.is_empty() {
            return Bytes::from(std::mem::take(&mut self.filling));
        }
        let mut all = Vec::new();
        for chunk in self.full.drain(..) {
            all.extend_from_slice(&chunk);
        }
        all.append(&mut self.filling);
        Bytes::from(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::{Bounds, Gate};
    use somersault::running::QueryId;
    use somersault::stop::StopToken;

    fn pipe() -> (Writer, Reader) {
        let gate = Gate::new(Bounds {
            running: 1,
            waiting: 0,
            aside: 1,
        });
        super::pipe(gate.enter_now().unwrap())
    }

    fn started(timeout: Option<Duration>) -> Started {
        let token = StopToken::starting_now(timeout);
        Started {
            id: QueryId(1),
            token,
            parse: Duration::ZERO,
            plan: Duration::ZERO,
            kind: somersault::AnswerKind::Solutions,
            snapshot: 0,
        }
    }

    #[tokio::test]
    async fn a_short_answer_comes_whole() {
        let (writer, reader) = pipe();
        writer.hand_over(&mut b"ab".to_vec()).unwrap();
        writer.hand_over(&mut b"c".to_vec()).unwrap();
        writer.end(Ok(Done::default()));
        let Early::Whole(bytes, _) = reader.early().await else {
            panic!("not whole")
        };
        assert_eq!(&bytes[..], b"abc");
    }

    #[tokio::test]
    async fn output_waits_for_more_of_it_but_not_for_long() {
        let (writer, reader) = pipe();
        let begun = Instant::now();
        writer.hand_over(&mut b"ab".to_vec()).unwrap();
        assert!(matches!(reader.early().await, Early::Flowing));
        assert!(begun.elapsed() >= LINGER);
        assert!(matches!(reader.next().await, Part::Data(bytes) if bytes == "ab"));
        writer.end(Err(QueryError::new(Kind::Memory, "too much")));
        assert!(matches!(reader.next().await, Part::End(Err(_))));
    }

    #[tokio::test]
    async fn a_full_chunk_goes_at_once() {
        let (writer, reader) = pipe();
        writer.hand_over(&mut vec![b'x'; CHUNK_BYTES]).unwrap();
        // Nothing is left to linger, so only the chunk itself can make it ready.
        assert!(reader.shared.state().filling_since.is_none());
        assert!(matches!(reader.early().await, Early::Flowing));
        drop(writer);
        assert!(matches!(reader.next().await, Part::Data(_)));
        assert!(matches!(reader.next().await, Part::End(Err(_))));
    }

    #[test]
    fn a_writer_waits_for_room_until_its_time_is_over() {
        let (writer, reader) = pipe();
        writer.start(started(Some(Duration::from_millis(60))));
        for _ in 0..CHUNKS_MAX {
            writer.hand_over(&mut vec![b'x'; CHUNK_BYTES]).unwrap();
        }
        let begun = Instant::now();
        let error = writer.hand_over(&mut vec![b'x']).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(begun.elapsed() < Duration::from_secs(5));
        drop(reader);
        let error = writer.hand_over(&mut vec![b'x']).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_reader_that_goes_cancels_whenever_it_goes() {
        let (writer, reader) = pipe();
        let early = started(None);
        writer.start(early.clone());
        drop(reader);
        assert!(early.token.reason().is_some());

        let (writer, reader) = pipe();
        drop(reader);
        let late = started(None);
        writer.start(late.clone());
        assert!(late.token.reason().is_some());
    }
}
