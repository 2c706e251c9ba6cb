//! Answers that are finished before any of them is sent.
//!
//! A client of HTTP/1.0 learns of the end of an answer by its length, or by the end of the connection, which
//! looks the same when an answer is cut. JSON-LD has no triple terms, and whether there will be one is known at
//! the end. So these answers are kept until they are complete and sent with their length; what fails on the way
//! is a problem document with a status of its own, as it should be.
//!
//! Invariants: of one answer [`MEMORY_BYTES`] lie in memory (as much as the pipe would hold), the rest in a
//! temporary file, which has no name (`TMPDIR` says where); all files together are within the limit of their
//! [`Spool`], which is asked before a file grows, and get back what they had when their answer is dropped.
//!
//! Cost: the answer is written and read once more, mostly in the system's cache of files, and its first byte
//! waits for its last. Files are written on the engine's thread and read on a thread for blocking work.

use hyper::body::{Body, Bytes, Frame, SizeHint};
use somersault::units::format_size;
use somersault::{Kind, QueryError};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use tokio::task::JoinHandle;

/// Bytes of an answer in memory.
const MEMORY_BYTES: usize = super::pipe::HELD_BYTES_MAX;
/// Bytes of a file that are read at once.
const READ_BYTES: u64 = 256 << 10;

/// What all kept answers may take of the disk.
#[derive(Debug)]
pub(crate) struct Spool {
    limit_bytes: u64,
    used_bytes: AtomicU64,
}

impl Spool {
    /// A spool of so many bytes.
    pub fn new(limit_bytes: u64) -> Arc<Spool> {
        Arc::new(Spool {
            limit_bytes,
            used_bytes: AtomicU64::new(0),
        })
    }

    fn take(&self, bytes: u64) -> Result<(), QueryError> {
        let within = |used: u64| {
            used.checked_add(bytes)
                .filter(|used| *used <= self.limit_bytes)
        };
        let taken = self
            .used_bytes
            .try_update(Ordering::Relaxed, Ordering::Relaxed, within);
        taken.map(drop).map_err(|_| {
            let limit = format_size(self.limit_bytes);
            let why = format!(
                "the answer has to be finished before it is sent, and all such answers together may take {limit}"
            );
            QueryError::new(Kind::DiskFull, why).with_hint(
                "ask by HTTP/1.1 and in a format other than JSON-LD, so that the answer flows, or raise `server.spool_limit`",
            )
        })
    }

    fn give_back(&self, bytes: u64) {
        self.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// An answer, as far as there is one.
#[derive(Debug)]
pub(crate) struct Kept {
    spool: Arc<Spool>,
    memory: Vec<u8>,
    file: Option<File>,
    file_bytes: u64,
}

impl Kept {
    /// An answer without a byte.
    pub fn new(spool: Arc<Spool>) -> Kept {
        Kept {
            spool,
            memory: Vec::new(),
            file: None,
            file_bytes: 0,
        }
    }

    /// Takes all bytes of `output`.
    pub fn add(&mut self, output: &mut Vec<u8>) -> Result<(), QueryError> {
        if self.file.is_none() && self.memory.len() + output.len() <= MEMORY_BYTES {
            self.memory.append(output);
            return Ok(());
        }
        let bytes = output.len() as u64;
        self.spool.take(bytes)?;
        self.file_bytes += bytes;
        self.write(output).map_err(|error| failed(&error))?;
        output.clear();
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(tempfile::tempfile()?),
        };
        file.write_all(bytes)
    }

    /// The whole answer, as a body that knows its length.
    pub fn into_body(mut self) -> Result<Replay, QueryError> {
        if let Some(file) = &mut self.file {
            file.rewind().map_err(|error| failed(&error))?;
        }
        Ok(Replay {
            left: self.memory.len() as u64 + self.file_bytes,
            memory: Bytes::from(std::mem::take(&mut self.memory)),
            kept: self,
            reading: None,
        })
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.spool.give_back(self.file_bytes);
    }
}

fn failed(error: &io::Error) -> QueryError {
    let why = format!("the answer could not be kept until it is complete: {error}");
    QueryError::new(Kind::of_io(error), why)
}

/// The body of a kept answer.
#[derive(Debug)]
pub(crate) struct Replay {
    memory: Bytes,
    kept: Kept,
    /// Bytes that are still to come.
    left: u64,
    reading: Option<JoinHandle<io::Result<Part>>>,
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
        let reading = match (&mut self.reading, self.kept.file.take()) {
            (Some(reading), _) => reading,
            (none, Some(file)) => {
                let bytes = self.left.min(READ_BYTES);
                none.insert(tokio::task::spawn_blocking(move || read(file, bytes)))
            }
            (None, None) => return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
        };
        let read = ready!(Pin::new(reading).poll(context));
        self.reading = None;
        let (file, bytes) = read.map_err(io::Error::other)??;
        self.kept.file = Some(file);
        Poll::Ready(Ok(Bytes::from(bytes)))
    }
}

/// The file, and what was read of it.
type Part = (File, Vec<u8>);

fn read(mut file: File, bytes: u64) -> io::Result<Part> {
    // A quarter of a mebibyte at most.
    let mut buffer = vec![0; bytes as usize];
    file.read_exact(&mut buffer)?;
    Ok((file, buffer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;

    #[tokio::test]
    async fn what_is_kept_comes_back_from_memory_and_file() {
        let spool = Spool::new(4 << 20);
        let mut kept = Kept::new(Arc::clone(&spool));
        let mut all = Vec::new();
        for number in 0..20_u8 {
            let piece = vec![number; 100 << 10];
            all.extend_from_slice(&piece);
            kept.add(&mut piece.clone()).unwrap();
        }
        let used = spool.used_bytes.load(Ordering::Relaxed);
        assert!(used > 1 << 20 && used + MEMORY_BYTES as u64 >= all.len() as u64);
        let body = kept.into_body().unwrap();
        assert_eq!(body.size_hint().exact(), Some(all.len() as u64));
        let read = body.collect().await.unwrap().to_bytes();
        assert!(read == all);
        assert_eq!(spool.used_bytes.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn all_answers_share_one_limit() {
        let spool = Spool::new(2 << 20);
        let mut first = Kept::new(Arc::clone(&spool));
        first.add(&mut vec![0; 1 << 20]).unwrap();
        let mut second = Kept::new(Arc::clone(&spool));
        let error = second.add(&mut vec![0; (1 << 20) + 1]).unwrap_err();
        assert_eq!(error.kind, Kind::DiskFull);
        assert!(error.message.contains("2.0 MiB"), "{error}");
        drop(first);
        second.add(&mut vec![0; (1 << 20) + 1]).unwrap();
    }
}
