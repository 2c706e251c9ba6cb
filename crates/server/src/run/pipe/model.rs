//! Models of an engine thread and a connection, with a pipe between, checked by `shuttle`.
//!
//! | model | threads | they do | invariant |
//! |---|---|---|---|
//! | `an_answer_arrives_whole` | 2 | hand over 40 bytes in pieces through a pipe of 16, end; take until the end | all bytes, in order, then the end; what is held is bounded; the account is even |
//! | `memory_that_is_short_slows_an_answer_down` | 2 | the same, with an account that is smaller than most pieces, each of which is worth sending | the same |
//! | `a_reader_that_goes_is_noticed` | 2 | the reader goes after a part | the writer is told, or was through; nobody hangs |
//! | `a_writer_that_is_gone_is_noticed` | 2 | the writer is dropped without an end | the reader gets an error |
//!
//! Each is run in a world in which no time passes, so that being woken alone must do, and in one in which every limit of
//! time may be reached: then an answer may end with an error, and is never a part that is called whole.
//!
//! Planted and found: no thread is woken; no task is woken. Run by `cargo xtask model`.

use super::*;
use crate::run::admission::alone;
use crate::run::sync::model::{Fault, World, check, finds};
use shuttle::future::block_on;
use shuttle::rand::{Rng, thread_rng};
use shuttle::thread;
use somersault::running::QueryId;

const STILL: World = World {
    time_passes: false,
    fault: None,
};
const PASSING: World = World {
    time_passes: true,
    fault: None,
};
/// Lengths of what is handed over: more than the pipe holds, more than a chunk and less.
const PIECES: [usize; 8] = [3, 1, 6, 9, 2, 11, 7, 1];
/// Lengths of pieces each of which is worth sending: a smaller one that memory holds up goes when it has lingered.
const CHUNKS: [usize; 6] = [5, 6, 9, 4, 11, 7];
const TIMEOUT: Duration = Duration::from_hours(1000);

/// A pipe for a query that is alone, with so much memory.
fn pipe_with(account_bytes: u64) -> (Arc<Pool>, Writer, Reader) {
    let pool = Pool::new(1 << 30);
    let account = Budget::new(&pool, account_bytes);
    let (writer, reader) = pipe(alone(), account, 0, TIMEOUT);
    writer.start(Started {
        id: QueryId(1),
        token: StopToken::starting_now(None),
        parse: Duration::ZERO,
        plan: Duration::ZERO,
        kind: somersault::AnswerKind::Solutions,
        snapshot: 0,
        warnings: 0,
    });
    (pool, writer, reader)
}

/// All bytes of the answer.
fn answer(pieces: &[usize]) -> Vec<u8> {
    (0..pieces.iter().sum::<usize>() as u8).collect()
}

/// Hands all over, and ends well; or is told why not.
fn write(writer: Writer, pieces: &[usize]) {
    let answer = answer(pieces);
    let mut at = 0;
    for &length in pieces {
        let mut piece = answer[at..at + length].to_vec();
        at += length;
        if let Err(error) = writer.hand_over(&mut piece) {
            writer.end(Err(QueryError::new(Kind::Cancelled, error)));
            return;
        }
    }
    writer.complete();
    writer.end(Ok(Done::default()));
}

/// Takes what comes, until the end.
fn read(reader: &Reader) -> (Vec<u8>, Result<Done, QueryError>) {
    let mut bytes = Vec::new();
    match block_on(reader.early()) {
        Early::Failed(error) => return (bytes, Err(error)),
        Early::Whole(whole, done) => return (whole.to_vec(), Ok(done)),
        Early::Kept(..) => unreachable!("nobody asked for that"),
        Early::Flowing => {}
    }
    loop {
        let longest = PIECES.iter().max().copied().unwrap_or(0);
        let held = reader.shared.state().held_bytes;
        assert!(held < HELD_BYTES_MAX + longest, "{held} bytes are held");
        match block_on(reader.next()) {
            PipeItem::Data(data) => bytes.extend_from_slice(&data),
            PipeItem::End(end) => return (bytes, end),
        }
    }
}

fn flowing(account_bytes: u64, pieces: &'static [usize], may_fail: bool) {
    let (pool, writer, reader) = pipe_with(account_bytes);
    let writing = thread::spawn(move || write(writer, pieces));
    let (bytes, end) = read(&reader);
    match end {
        Ok(_) => {
            assert_eq!(bytes, answer(pieces));
            assert_eq!(pool.used_bytes(), 0, "what was taken was given back");
        }
        Err(error) => assert!(may_fail, "{error}"),
    }
    drop(reader);
    writing.join().unwrap();
}

fn with_memory() {
    flowing(1 << 20, &PIECES, false);
}

fn with_memory_in_time() {
    flowing(1 << 20, &PIECES, true);
}

fn with_little_memory() {
    flowing(4, &CHUNKS, false);
}

fn with_little_memory_in_time() {
    flowing(4, &PIECES, true);
}

fn reader_goes() {
    let (_, writer, reader) = pipe_with(1 << 20);
    let token = writer.started().unwrap().token;
    let writing = thread::spawn(move || write(writer, &PIECES));
    if thread_rng().gen_ratio(1, 2) {
        drop(block_on(reader.early()));
    }
    drop(reader);
    writing.join().unwrap();
    assert!(token.reason().is_some(), "the query is cancelled");
}

fn writer_goes() {
    let (_, writer, reader) = pipe_with(1 << 20);
    let writing = thread::spawn(move || {
        let handed = writer.hand_over(&mut vec![0; CHUNK_BYTES]);
        drop((handed, writer));
    });
    let (_, end) = read(&reader);
    assert!(end.is_err(), "a part is not called whole");
    writing.join().unwrap();
}

#[test]
fn an_answer_arrives_whole() {
    check("an answer without time", STILL, with_memory);
    check("an answer while time passes", PASSING, with_memory_in_time);
}

#[test]
fn memory_that_is_short_slows_an_answer_down() {
    check("little memory without time", STILL, with_little_memory);
    check(
        "little memory while time passes",
        PASSING,
        with_little_memory_in_time,
    );
}

#[test]
fn a_reader_that_goes_is_noticed() {
    check("a reader goes without time", STILL, reader_goes);
    check("a reader goes while time passes", PASSING, reader_goes);
}

#[test]
fn a_writer_that_is_gone_is_noticed() {
    check("a writer goes without time", STILL, writer_goes);
    check("a writer goes while time passes", PASSING, writer_goes);
}

#[test]
fn wake_ups_that_are_lost_are_found() {
    for fault in [Fault::NoThreadWoken, Fault::NoTaskWoken] {
        let world = World {
            fault: Some(fault),
            ..STILL
        };
        finds("nobody is woken", world, with_memory);
    }
}
