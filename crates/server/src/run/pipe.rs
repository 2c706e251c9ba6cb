//! The pipe between an engine thread, which blocks, and a connection, which must not.
//!
//! ```text
//! engine thread: Outlet -> hand_over  |  piece piece piece  |  next -> body -> socket
//!                (waits while full)   |                     |  (awaits)
//! ```
//!
//! Invariants: at most [`HELD_BYTES_MAX`] and what is handed over at once are held, so a slow client
//! slows the walk down and memory stays flat; the end is set once, after the last byte; whichever
//! side goes away first, the other learns of it at once, and a query whose reader has gone is
//! cancelled. A reader does not wait for a query beyond its time and [`PAST_DEADLINE`]: giving gigabytes
//! back takes as long as touching them did, and that is not its client's to wait for; but an answer that is
//! complete is not called late for that. While the engine
//! thread waits for its client it lets others run in its place ([`Permit::step_aside`]). A reader has
//! something to take when [`CHUNK_BYTES`] are held, when output has been waiting for [`LINGER`], or at
//! the end: the same rule decides when a response's status is sent, so what fails earlier fails with a
//! status of its own.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `started`, `bytes`, `kept`, `end` | the engine thread | both sides (`kept` is taken by the connection's task, with the end) |
//! | `pieces`, `held_bytes`, `held_since`, `owed_bytes` | added to by the engine thread, taken from by the connection's task | both |
//! | `waits` | set by the engine thread, taken back by the connection's task when it wakes it | the connection's task |
//! | `time` | whoever is first: the engine thread when all is handed over, the connection's task when time is over | both |
//! | `reader_gone` | the connection's task, once, last of all | the engine thread |
//! | `room` | told by the connection's task, with the state's lock; by admission, without | the engine thread waits there |
//! | `ready` | told by the engine thread | the connection's task waits there |
//! | `Writer::kept` | the engine thread | the same |
//!
//! All fields of the state are touched with its lock, which nobody holds while waiting.
//!
//! Cost: a lock per batch of rows or per piece, whichever is more, and no copy but of small pieces.
//! Waking the other side is what costs (several microseconds with the switch that follows), so it is
//! done when there is a chunk to take where there was none, and when half of what may be held has been
//! taken: an engine thread that shares a core with its connection fills and drains by halves.

use crate::run::admission::Permit;
use crate::run::give_back;
use crate::run::job::{Done, Started};
use crate::run::kept::Kept;
use crate::run::sizes::{CHUNK_BYTES, HELD_BYTES_MAX};
use crate::run::spool::Spool;
use crate::run::sync::{
    Condvar, Mutex, MutexGuard, Notify, now, since, sized, sleep_until, timeout,
};
use hyper::body::Bytes;
use somersault::budget::{Budget, Pool};
use somersault::stop::{Pace, StopToken};
use somersault::{Kind, QueryError};
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// Bytes up to which pieces are put together.
const PIECE_BYTES: usize = sized(16 << 10, 2);
const _: () = assert!(
    PIECE_BYTES <= CHUNK_BYTES,
    "a piece is no more than is sent at once"
);

/// The longest that output waits for more of it.
pub(crate) const LINGER: Duration = Duration::from_millis(50);
/// How long an engine thread waits for its client before it lets others have its turn.
const GRACE: Duration = Duration::from_millis(20);
/// How often it then looks whether its query was cancelled.
const LOOK: Duration = Duration::from_millis(200);
/// How long a query has after its time to say so itself.
pub(crate) const PAST_DEADLINE: Duration = Duration::from_millis(30);

/// A new pipe, for a query with this place and this account, whose time begins now. `own_bytes` of the account
/// are given back when the query ends.
pub(crate) fn pipe(
    turn: Permit,
    account: Budget,
    own_bytes: u64,
    timeout: Duration,
) -> (Writer, Reader) {
    let shared = Arc::new(Shared {
        state: Mutex::default(),
        room: turn.room(),
        ready: Notify::default(),
        account,
    });
    (
        Writer {
            shared: Arc::clone(&shared),
            turn,
            own_bytes,
            kept: Mutex::default(),
        },
        Reader {
            shared,
            begun: now(),
            timeout,
        },
    )
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// There is room for a chunk, the reader has gone, or others took the query's place. Engine threads wait
    /// here.
    room: Arc<Condvar>,
    /// There is something to take, or to wait for less long. The reader waits here.
    ready: Notify,
    /// What the pieces hold is drawn on it.
    account: Budget,
}

#[derive(Debug, Default)]
struct State {
    started: Option<Started>,
    /// Output in order, no piece of it empty.
    pieces: VecDeque<Vec<u8>>,
    /// Bytes of all pieces.
    held_bytes: usize,
    /// Since when the oldest of the pieces has been waiting for more; `None` where there is none.
    held_since: Option<Instant>,
    /// The engine thread waits for room.
    waits: bool,
    /// Bytes of the pieces that are not on the account.
    owed_bytes: u64,
    bytes: u64,
    /// The whole answer, where that was finished first.
    kept: Option<Kept>,
    time: Time,
    end: Option<Result<Done, QueryError>>,
    reader_gone: bool,
}

/// What has become of the query's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Time {
    #[default]
    Runs,
    /// It was enough: the whole answer has been handed over.
    Enough,
    /// The reader has answered that it is over.
    Over,
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
    turn: Permit,
    own_bytes: u64,
    /// The answer, where it is finished before it is sent; only the engine thread asks.
    kept: Mutex<Option<Result<Kept, QueryError>>>,
}

impl Writer {
    /// The query is planned and can be stopped by its token. A reader that has gone already stops
    /// it here.
    pub fn start(&self, started: Started) {
        let mut state = self.shared.state();
        if state.reader_gone {
            started.token.cancel();
        }
        assert!(state.started.is_none(), "a query starts once");
        state.started = Some(started);
    }

    /// From now on nothing is sent before everything is there.
    pub fn keep(&self, spool: &Arc<Spool>, pool: &Arc<Pool>) {
        assert_eq!(self.bytes(), 0, "an answer is kept from its first byte on");
        *self.kept() = Some(Ok(Kept::new(Arc::clone(spool), pool)));
    }

    fn kept(&self) -> MutexGuard<'_, Option<Result<Kept, QueryError>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why an answer that was to be kept could not be.
    pub fn why_not_kept(&self) -> Option<QueryError> {
        self.kept().as_ref()?.as_ref().err().cloned()
    }

    fn add_to(&self, kept: &mut Result<Kept, QueryError>, output: &mut Vec<u8>) -> io::Result<()> {
        let mut state = self.shared.state();
        self.check(&state)?;
        state.bytes += output.len() as u64;
        drop(state);
        let added = match kept {
            Ok(whole) => whole.add(output),
            Err(error) => Err(error.clone()),
        };
        added.map_err(|error| {
            let why = error.message.clone();
            *kept = Err(error);
            io::Error::other(why)
        })
    }

    /// Takes all bytes of `output`; waits while the client is behind. An error says that nobody
    /// takes it any more, or that the query's time is over.
    pub fn hand_over(&self, output: &mut Vec<u8>) -> io::Result<()> {
        if output.is_empty() {
            return Ok(());
        }
        if let Some(kept) = &mut *self.kept() {
            return self.add_to(kept, output);
        }
        let bytes = output.len() as u64;
        let mut state = self.wait_for_room(bytes)?;
        state.bytes += output.len() as u64;
        let before = state.held_bytes;
        state.add(std::mem::take(output));
        let is_chunk = before < CHUNK_BYTES && state.held_bytes >= CHUNK_BYTES;
        if is_chunk || state.held_since.is_none() {
            state.held_since.get_or_insert_with(now);
            self.shared.ready.notify_one();
        }
        Ok(())
    }

    /// The whole answer has been handed over. Its reader then waits for the end, however late: what is left is
    /// to give memory back.
    pub fn complete(&self) {
        let mut state = self.shared.state();
        if state.time == Time::Runs {
            state.time = Time::Enough;
        }
    }

    /// Waits for the client; from the second look on without a turn, which is taken up again before
    /// the query computes on. Only this thread fills the pipe, so the room does not go away.
    fn wait_for_room(&self, bytes: u64) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.shared.state();
        let mut patience = GRACE;
        let mut has_given_back = false;
        let is_taken = loop {
            self.check(&state)?;
            let has_room = state.held_bytes < HELD_BYTES_MAX;
            if has_room && self.shared.account.take(bytes).is_ok() {
                break true;
            }
            // Where memory is short, a piece at a time is sent, which was there before it was asked for.
            if state.held_bytes == 0 {
                state.owed_bytes += bytes;
                break false;
            }
            state.waits = true;
            let until = patience.min(state.left());
            let waited = self.shared.room.wait_timeout(state, until);
            let (woken, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = woken;
            if timeout.timed_out() {
                // The connection's task must not wait for what follows.
                drop(state);
                patience = LOOK;
                self.turn.step_aside();
                has_given_back = has_given_back || give_back::before_a_wait();
                state = self.shared.state();
            }
        };
        let token = state.started.as_ref().map(|started| started.token.clone());
        drop(state);
        let left = || token.as_ref().map_or(Duration::MAX, StopToken::left);
        self.turn.come_back(&left);
        let state = self.shared.state();
        if let Err(error) = self.check(&state) {
            if is_taken {
                self.shared.account.give_back(bytes);
            }
            return Err(error);
        }
        Ok(state)
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

    /// The pace of the query, for its token.
    pub fn pace(&self) -> Arc<dyn Pace> {
        self.turn.pace()
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

    /// Whether the client has been told that the query's time is over.
    pub fn is_late(&self) -> bool {
        self.shared.state().time == Time::Over
    }

    /// Bytes handed over so far.
    pub fn bytes(&self) -> u64 {
        self.shared.state().bytes
    }

    /// The end: everything has been handed over, or the query has failed.
    pub fn end(self, end: Result<Done, QueryError>) {
        self.turn.end();
        // Before the end is seen: whoever has the answer finds the memory free.
        self.shared.account.give_back(self.own_bytes);
        let kept = self.kept().take().and_then(Result::ok);
        let mut state = self.shared.state();
        assert!(state.end.is_none(), "a query ends once");
        assert!(
            kept.is_none() || state.pieces.is_empty(),
            "an answer is kept, or it flows"
        );
        state.kept = kept;
        state.end = Some(end);
        drop(state);
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
    begun: Instant,
    timeout: Duration,
}

/// What a query has come to when its response's head must be written.
#[derive(Debug)]
pub(crate) enum Early {
    /// It failed before anything was sent.
    Failed(QueryError),
    /// This is the whole answer.
    Whole(Bytes, Done),
    /// This is the whole answer, which was to be finished first.
    Kept(Kept, Done),
    /// There is output, and more to come.
    Flowing,
}

/// What comes next of an answer.
#[derive(Debug)]
pub(crate) enum PipeItem {
    /// Some of it.
    Data(Bytes),
    /// Its end, after which nothing is asked any more.
    End(Result<Done, QueryError>),
}

impl Reader {
    /// Waits until the status of the response is known, or cannot be held back any longer.
    pub async fn early(&self) -> Early {
        if let Err(error) = self.in_time().await {
            return Early::Failed(error);
        }
        let mut state = self.shared.state();
        let Some(end) = state.end.clone() else {
            return Early::Flowing;
        };
        let kept = state.kept.take();
        let held_bytes = state.held_bytes as u64;
        let bytes = state.take_all();
        self.shared.account.give_back(state.settle(held_bytes));
        match (end, kept) {
            (Err(error), _) => Early::Failed(error),
            (Ok(done), Some(kept)) => Early::Kept(kept, done),
            // With the response from now on, and no more than the pipe may hold.
            (Ok(done), None) => Early::Whole(bytes, done),
        }
    }

    /// The next part of the answer.
    pub async fn next(&self) -> PipeItem {
        if let Err(error) = self.in_time().await {
            return PipeItem::End(Err(error));
        }
        let mut state = self.shared.state();
        if let Some(piece) = state.pieces.pop_front() {
            assert!(piece.len() <= state.held_bytes, "what is held is counted");
            state.held_bytes -= piece.len();
            assert_eq!(
                state.pieces.is_empty(),
                state.held_bytes == 0,
                "the bytes that are held are those of the pieces"
            );
            self.shared
                .account
                .give_back(state.settle(piece.len() as u64));
            // What is left waits for more again, from now on.
            state.held_since = state.held_since.filter(|_| !state.pieces.is_empty());
            if let Some(begun) = &mut state.held_since {
                *begun = now();
            }
            if state.waits && state.held_bytes <= HELD_BYTES_MAX / 2 {
                state.waits = false;
                self.shared.room.notify_one();
            }
            return PipeItem::Data(Bytes::from(piece));
        }
        let end = state.end.clone();
        PipeItem::End(end.expect("a pipe that is ready has data or its end"))
    }

    /// What was said at the start.
    pub fn started(&self) -> Option<Started> {
        self.shared.state().started.clone()
    }

    /// Waits until there is something to take, but no longer than the query may.
    async fn in_time(&self) -> Result<(), QueryError> {
        let patience = self.timeout.saturating_add(PAST_DEADLINE);
        let left = patience.saturating_sub(since(self.begun));
        if timeout(left, self.until_ready()).await.is_ok() {
            return Ok(());
        }
        if !self.is_time_enough() {
            return Err(QueryError::out_of_time(self.timeout, since(self.begun)));
        }
        self.until_ready().await;
        Ok(())
    }

    /// The query's time is over, unless it was enough.
    fn is_time_enough(&self) -> bool {
        let mut state = self.shared.state();
        if state.time == Time::Runs {
            state.time = Time::Over;
        }
        state.time == Time::Enough
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
                () = sleep_until(due) => {}
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
        if std::mem::take(&mut state.waits) {
            self.shared.room.notify_one();
        }
    }
}

enum Readiness {
    Ready,
    At(Instant),
    Unknown,
}

impl State {
    /// For how long the query may still run.
    fn left(&self) -> Duration {
        let started = self.started.as_ref();
        started.map_or(Duration::MAX, |started| started.token.left())
    }

    /// Adds output to the last piece, where both are small, or as one of its own.
    fn add(&mut self, output: Vec<u8>) {
        assert!(!output.is_empty(), "no piece is empty");
        self.held_bytes += output.len();
        match self.pieces.back_mut() {
            Some(last) if last.len() + output.len() <= PIECE_BYTES => {
                last.extend_from_slice(&output);
            }
            _ => self.pieces.push_back(output),
        }
    }

    /// What is to be given back to the account for bytes that have been taken.
    fn settle(&mut self, bytes: u64) -> u64 {
        let owed = bytes.min(self.owed_bytes);
        self.owed_bytes -= owed;
        bytes - owed
    }

    fn readiness(&self) -> Readiness {
        if self.end.is_some() || self.held_bytes >= CHUNK_BYTES {
            return Readiness::Ready;
        }
        match self.held_since {
            Some(held) if since(held) >= LINGER => Readiness::Ready,
            Some(held) => Readiness::At(held + LINGER),
            None => Readiness::Unknown,
        }
    }

    fn take_all(&mut self) -> Bytes {
        let held_bytes = self.held_bytes;
        self.held_bytes = 0;
        self.held_since = None;
        let mut all = self.pieces.pop_front().unwrap_or_default();
        for piece in self.pieces.drain(..) {
            all.extend_from_slice(&piece);
        }
        assert_eq!(
            all.len(),
            held_bytes,
            "the bytes that are held are those of the pieces"
        );
        Bytes::from(all)
    }
}

#[cfg(all(test, feature = "model"))]
mod model;

#[cfg(test)]
mod tests {
    use super::*;
    use somersault::running::QueryId;

    const TIMEOUT: Duration = Duration::from_mins(1);

    fn pipe() -> (Writer, Reader) {
        pipe_for(TIMEOUT)
    }

    fn pipe_for(timeout: Duration) -> (Writer, Reader) {
        let pool = somersault::budget::Pool::new(1 << 30);
        let account = Budget::new(&pool, u64::MAX);
        super::pipe(crate::run::admission::alone(), account, 0, timeout)
    }

    #[tokio::test]
    async fn a_reader_does_not_wait_for_a_query_that_says_nothing_after_its_time() {
        let timeout = Duration::from_millis(20);
        let (writer, reader) = pipe_for(timeout);
        let Early::Failed(error) = reader.early().await else {
            panic!("there was nothing")
        };
        assert_eq!(error.kind, Kind::Timeout);
        assert!(reader.begun.elapsed() >= timeout + PAST_DEADLINE);
        assert!(writer.is_late());
        writer.hand_over(&mut vec![b'x'; CHUNK_BYTES]).unwrap();
        // What is there is taken all the same.
        assert!(matches!(reader.next().await, PipeItem::Data(_)));
        assert!(matches!(reader.next().await, PipeItem::End(Err(_))));
    }

    #[tokio::test]
    async fn a_complete_answer_is_not_late_however_long_its_query_gives_back() {
        let timeout = Duration::from_millis(20);
        let (writer, reader) = pipe_for(timeout);
        writer.hand_over(&mut b"all".to_vec()).unwrap();
        assert!(matches!(reader.early().await, Early::Flowing));
        assert!(matches!(reader.next().await, PipeItem::Data(_)));
        writer.complete();
        let ending = std::thread::spawn(move || {
            std::thread::sleep(timeout + 4 * PAST_DEADLINE);
            assert!(!writer.is_late());
            writer.end(Ok(Done::default()));
        });
        assert!(matches!(reader.next().await, PipeItem::End(Ok(_))));
        ending.join().unwrap();
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
            warnings: 0,
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
        assert!(matches!(reader.next().await, PipeItem::Data(bytes) if bytes == "ab"));
        writer.end(Err(QueryError::new(Kind::Memory, "too much")));
        assert!(matches!(reader.next().await, PipeItem::End(Err(_))));
    }

    #[tokio::test]
    async fn a_full_chunk_goes_at_once() {
        // Of a few times one: a busy machine takes a thread away for longer than that.
        let mut soonest = Duration::MAX;
        for _ in 0..50 {
            let (writer, reader) = pipe();
            writer.hand_over(&mut vec![b'x'; CHUNK_BYTES]).unwrap();
            let begun = Instant::now();
            assert!(matches!(reader.early().await, Early::Flowing));
            soonest = soonest.min(begun.elapsed());
            drop(writer);
            assert!(matches!(reader.next().await, PipeItem::Data(_)));
            assert!(matches!(reader.next().await, PipeItem::End(Err(_))));
        }
        assert!(soonest < LINGER);
    }

    #[test]
    fn a_writer_waits_for_room_until_its_time_is_over() {
        let (writer, reader) = pipe();
        writer.start(started(Some(Duration::from_millis(60))));
        for _ in 0..HELD_BYTES_MAX / CHUNK_BYTES {
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

    #[tokio::test]
    async fn small_pieces_are_put_together_and_large_ones_pass_as_they_are() {
        let (writer, reader) = pipe();
        let mut written = Vec::new();
        for (number, len) in [3, 5, CHUNK_BYTES, 7, PIECE_BYTES, 11, 1]
            .into_iter()
            .enumerate()
        {
            let piece = vec![b'a' + number as u8; len];
            written.extend_from_slice(&piece);
            writer.hand_over(&mut piece.clone()).unwrap();
        }
        writer.end(Ok(Done::default()));
        let mut lengths = Vec::new();
        let mut read = Vec::new();
        while let PipeItem::Data(piece) = reader.next().await {
            lengths.push(piece.len());
            read.extend_from_slice(&piece);
        }
        assert_eq!(lengths, [8, CHUNK_BYTES, 7, PIECE_BYTES, 12]);
        assert!(read == written);
    }

    #[tokio::test]
    async fn a_writer_that_waits_is_woken_when_half_has_been_taken() {
        let (writer, reader) = pipe();
        let filling = std::thread::spawn(move || {
            for _ in 0..4 * HELD_BYTES_MAX / CHUNK_BYTES {
                writer.hand_over(&mut vec![b'x'; CHUNK_BYTES]).unwrap();
            }
            writer.end(Ok(Done::default()));
        });
        let mut read = 0;
        while let PipeItem::Data(piece) = reader.next().await {
            let state = reader.shared.state();
            assert!(state.held_bytes <= HELD_BYTES_MAX);
            let is_woken = !state.waits || state.held_bytes > HELD_BYTES_MAX / 2;
            assert!(is_woken, "it waits with {} held", state.held_bytes);
            read += piece.len();
        }
        assert_eq!(read, 4 * HELD_BYTES_MAX);
        filling.join().unwrap();
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
