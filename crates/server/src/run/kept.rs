//! Answers that are finished before any of them is sent.
//!
//! A client of HTTP/1.0 learns of the end of an answer by its length, or by the end of the connection, which
//! looks the same when an answer is cut. JSON-LD has no triple terms, and whether there will be one is known at
//! the end. So these answers are kept until they are complete and sent with their length; what fails on the way
//! is a problem document with a status of its own, as it should be.
//!
//! Invariants:
//! - Of one answer [`MEMORY_BYTES`] lie in memory (as much as the pipe would hold), which is drawn on the memory of all
//!   queries before it grows; the rest, and all of it where there is no memory, in a file of the [`Spool`].
//! - A file is given back when the answer was sent, when its client is gone, when the client takes nothing for the
//!   time after which any connection is closed ([`crate::stall`]), and after a time that follows from the answer's
//!   length ([`PACE_BYTES`]): who takes a byte a minute holds no disk for days. An answer that flows would have
//!   ended with its query's time.
//!
//! Cost: the answer is written and read once more, mostly in the system's cache of files, and its first byte
//! waits for its last. Files are written on the engine's thread and read on a thread for blocking work.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `Replay::file` | taken with its lock by a thread for blocking work, by the watch when the time is over, and at the end | the same |

use crate::run::sizes::{CHUNK_BYTES, HELD_BYTES_MAX};
use crate::run::spool::{Spool, SpoolFile};
use hyper::body::{Body, Bytes, Frame, SizeHint};
use somersault::QueryError;
use somersault::budget::{Budget, Pool};
use std::fs::File;
use std::io::{self, Read};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::task::{AbortHandle, JoinHandle};

/// Bytes of an answer in memory.
const MEMORY_BYTES: usize = HELD_BYTES_MAX;
/// Bytes of a file that are read at once, where as many have been taken of the memory, and elsewhere.
const READ_BYTES: u64 = 256 << 10;
const READ_BYTES_MIN: u64 = CHUNK_BYTES as u64;
const _: () = assert!(
    0 < READ_BYTES_MIN && READ_BYTES_MIN <= READ_BYTES,
    "a read brings some"
);

/// Bytes a second that a client takes at least, once the time of a query is over.
const PACE_BYTES: u64 = 1 << 20;

/// An answer, as far as there is one.
#[derive(Debug)]
pub(crate) struct Kept {
    spool: Arc<Spool>,
    pool: Arc<Pool>,
    memory: Vec<u8>,
    /// What `memory` holds, and afterwards what is read of the file.
    account: Budget,
    file: Option<SpoolFile>,
}

impl Kept {
    /// An answer without a byte.
    pub fn new(spool: Arc<Spool>, pool: &Arc<Pool>) -> Kept {
        Kept {
            spool,
            pool: Arc::clone(pool),
            memory: Vec::new(),
            account: Budget::new(pool, u64::MAX),
            file: None,
        }
    }

    /// Takes all bytes of `output`.
    pub fn add(&mut self, output: &mut Vec<u8>) -> Result<(), QueryError> {
        if self.file.is_none() && self.has_room(output.len()) {
            self.memory.append(output);
            assert!(
                self.memory.len() <= MEMORY_BYTES,
                "what is more goes to a file"
            );
            return Ok(());
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(self.spool.file(&self.pool)?),
        };
        file.append(output)?;
        output.clear();
        Ok(())
    }

    /// Whether so many bytes more fit into memory, which has grown for them then.
    fn has_room(&mut self, bytes: usize) -> bool {
        let needed = self.memory.len() + bytes;
        let before = self.memory.capacity();
        if needed <= before || needed > MEMORY_BYTES {
            return needed <= before.min(MEMORY_BYTES);
        }
        let capacity = needed.max(2 * before).min(MEMORY_BYTES);
        if self.account.take((capacity - before) as u64).is_err() {
            return false;
        }
        self.memory.reserve_exact(capacity - self.memory.len());
        true
    }

    /// How long its client has to take it, of a query with this time.
    pub fn patience(&self, timeout: Duration) -> Duration {
        let bytes = self.file.as_ref().map_or(0, SpoolFile::bytes);
        timeout.saturating_add(Duration::from_secs(bytes / PACE_BYTES))
    }

    /// The whole answer, as a body that knows its length; its file lasts so long and no longer.
    pub fn into_body(mut self, patience: Duration) -> Result<Replay, QueryError> {
        let (mut file_bytes, mut watch) = (0, None);
        let file = Arc::new(Mutex::new(self.file.take()));
        if let Some(file) = &mut *locked(&file) {
            file.rewind()?;
            file_bytes = file.bytes();
        }
        if file_bytes > 0 {
            let file = Arc::clone(&file);
            let ending = tokio::spawn(async move {
                tokio::time::sleep(patience).await;
                drop(locked(&file).take());
            });
            watch = Some(ending.abort_handle());
        }
        let read_bytes = match self.memory.capacity() as u64 {
            READ_BYTES.. => READ_BYTES,
            _ => READ_BYTES_MIN,
        };
        Ok(Replay {
            left: self.memory.len() as u64 + file_bytes,
            memory: Bytes::from(self.memory),
            file,
            read_bytes,
            reading: None,
            watch,
            _account: self.account,
        })
    }
}

/// Every change of the file is whole before it can panic.
fn locked(file: &Mutex<Option<SpoolFile>>) -> MutexGuard<'_, Option<SpoolFile>> {
    file.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The body of a kept answer.
#[derive(Debug)]
pub(crate) struct Replay {
    memory: Bytes,
    /// Shared with whoever watches the time; nothing once that is over.
    file: Arc<Mutex<Option<SpoolFile>>>,
    read_bytes: u64,
    /// Bytes that are still to come.
    left: u64,
    reading: Option<JoinHandle<io::Result<ReadFile>>>,
    watch: Option<AbortHandle>,
    _account: Budget,
}

impl Body for Replay {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = &mut *self;
        if this.left == 0 {
            return Poll::Ready(None);
        }
        let bytes = if this.memory.is_empty() {
            ready!(this.poll_file(context))?
        } else {
            std::mem::take(&mut this.memory)
        };
        assert!(
            !bytes.is_empty() && bytes.len() as u64 <= this.left,
            "the answer is as long as its head said"
        );
        this.left -= bytes.len() as u64;
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

impl Replay {
    fn poll_file(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        let reading = match &mut self.reading {
            Some(reading) => reading,
            none => {
                let lent = locked(&self.file).as_mut().and_then(SpoolFile::lend);
                let Some(file) = lent else {
                    return Poll::Ready(Err(too_slow()));
                };
                let bytes = self.left.min(self.read_bytes);
                none.insert(tokio::task::spawn_blocking(move || read(file, bytes)))
            }
        };
        let read = ready!(Pin::new(reading).poll(context));
        self.reading = None;
        let (file, bytes) = read.map_err(io::Error::other)??;
        match &mut *locked(&self.file) {
            Some(owner) => owner.return_it(file),
            None => return Poll::Ready(Err(too_slow())),
        }
        Poll::Ready(Ok(Bytes::from(bytes)))
    }
}

impl Drop for Replay {
    fn drop(&mut self) {
        if let Some(watch) = &self.watch {
            watch.abort();
        }
        drop(locked(&self.file).take());
    }
}

fn too_slow() -> io::Error {
    let why = "the client took the answer too slowly";
    io::Error::new(io::ErrorKind::TimedOut, why)
}

/// The file, and what was read of it.
type ReadFile = (File, Vec<u8>);

fn read(mut file: File, bytes: u64) -> io::Result<ReadFile> {
    // A quarter of a mebibyte at most.
    let mut buffer = vec![0; bytes as usize];
    file.read_exact(&mut buffer)?;
    Ok((file, buffer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::spool::Folders;
    use http_body_util::BodyExt;

    const PATIENCE: Duration = Duration::from_mins(1);

    fn spool() -> Arc<Spool> {
        Spool::new(4 << 20, Folders::default())
    }

    #[tokio::test]
    async fn what_is_kept_comes_back_from_memory_and_file() {
        let (spool, pool) = (spool(), Pool::new(64 << 20));
        let mut kept = Kept::new(Arc::clone(&spool), &pool);
        let mut all = Vec::new();
        for number in 0..20_u8 {
            let piece = vec![number; 100 << 10];
            all.extend_from_slice(&piece);
            kept.add(&mut piece.clone()).unwrap();
        }
        let used = spool.used_bytes();
        assert!(used > 1 << 20 && used + MEMORY_BYTES as u64 >= all.len() as u64);
        let body = kept.into_body(PATIENCE).unwrap();
        assert_eq!(body.size_hint().exact(), Some(all.len() as u64));
        let read = body.collect().await.unwrap().to_bytes();
        assert!(read == all);
        assert_eq!((spool.used_bytes(), pool.used_bytes()), (0, 0));
    }

    #[tokio::test]
    async fn memory_is_asked_for_before_it_grows_and_a_file_takes_what_it_does_not_get() {
        let (spool, pool) = (spool(), Pool::new(300 << 10));
        let mut kept = Kept::new(Arc::clone(&spool), &pool);
        for number in 1..=3_u64 {
            kept.add(&mut vec![b'x'; 100 << 10]).unwrap();
            assert!(pool.used_bytes() >= number.min(2) * (100 << 10));
            assert!(pool.used_bytes() >= kept.memory.capacity() as u64);
        }
        assert!(pool.used_bytes() <= pool.limit_bytes());
        assert_eq!(kept.memory.len() as u64 + spool.used_bytes(), 300 << 10);
        kept.add(&mut vec![b'x'; 100 << 10]).unwrap();
        assert!(spool.used_bytes() >= 100 << 10);
        let body = kept.into_body(PATIENCE).unwrap();
        assert!(pool.used_bytes() > 0, "its client has not taken it yet");
        let read = body.collect().await.unwrap().to_bytes();
        assert_eq!(read.len(), 400 << 10);
        assert_eq!((spool.used_bytes(), pool.used_bytes()), (0, 0));
    }

    #[tokio::test]
    async fn who_takes_too_long_loses_the_rest() {
        let (spool, pool) = (spool(), Pool::new(64 << 20));
        let mut kept = Kept::new(Arc::clone(&spool), &pool);
        for _ in 0..20 {
            kept.add(&mut vec![b'x'; 100 << 10]).unwrap();
        }
        assert!(kept.patience(PATIENCE) >= PATIENCE + Duration::from_secs(1));
        let mut body = kept.into_body(Duration::from_millis(50)).unwrap();
        assert!(body.frame().await.unwrap().is_ok());
        assert!(spool.used_bytes() > 0);
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(
            spool.used_bytes(),
            0,
            "given back, although nobody asked for more"
        );
        let error = body.frame().await.unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
