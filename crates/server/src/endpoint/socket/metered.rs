//! The socket under a WebSocket, which is read no faster than there is memory for what arrives.
//!
//! A message lies in memory until its last byte is here, and its sender decides when that is. So its bytes are drawn on
//! the account of bodies before they are read, twice: in the library a fragment is copied to those before it. Where there
//! is nothing to be drawn the socket is not read, its sender is slowed by TCP, and after the given patience it is an error:
//! messages that all wait for more memory would wait for each other.
//!
//! Invariant: `taken` covers [`COPIES`] times the bytes that have arrived of a message that is not given out yet, or not done
//! with. What was read ahead of the next message is counted with the one before it: [`super::READ_BYTES`] at most.
//!
//! Cost: some additions a read; a time stamp a message.

use crate::run::account::BodyAccount;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// How often the bytes of a message may be there.
const COPIES: u64 = 2;
/// Bytes that are drawn together.
const STEP_BYTES: u64 = 64 << 10;
/// How often memory is asked for again.
const PAUSE: Duration = Duration::from_millis(50);

/// See the head of this file.
pub(super) struct Metered<S> {
    stream: S,
    account: BodyAccount,
    /// Drawn on the account.
    taken: u64,
    /// Bytes of a message that is not done with.
    pending: u64,
    /// When the first of them came.
    began: Option<Instant>,
    /// Bytes that came in all.
    heard_bytes: u64,
    /// How long memory is waited for.
    patience: Duration,
    /// Since when it is.
    short_since: Option<Instant>,
    nap: Option<Pin<Box<Sleep>>>,
}

impl<S> Metered<S> {
    pub fn new(stream: S, account: BodyAccount, patience: Duration) -> Metered<S> {
        Metered {
            stream,
            account,
            taken: 0,
            pending: 0,
            began: None,
            heard_bytes: 0,
            patience,
            short_since: None,
            nap: None,
        }
    }

    /// The message that was given out is done with.
    pub fn settle(&mut self) {
        self.pending = 0;
        self.began = None;
        if self.taken > STEP_BYTES {
            self.account.give_back(self.taken - STEP_BYTES);
            self.taken = STEP_BYTES;
        }
    }

    /// So many of the bytes were no message.
    pub fn forgive(&mut self, bytes: usize) {
        self.pending = self.pending.saturating_sub(bytes as u64);
        if self.pending == 0 {
            self.began = None;
        }
    }

    /// When the first byte came of a message that is not whole.
    pub fn began(&self) -> Option<Instant> {
        self.began
    }

    /// How many bytes came in all. One more while bytes may be there that nobody has the memory to read.
    pub fn heard_bytes(&self) -> u64 {
        self.heard_bytes
    }

    /// The socket itself.
    pub fn stream_mut(&mut self) -> &mut S {
        &mut self.stream
    }

    /// Ready when so many bytes more may be read.
    fn make_room(&mut self, context: &mut Context<'_>, more: u64) -> Poll<io::Result<()>> {
        while self.taken < COPIES * (self.pending + more) {
            if let Some(nap) = &mut self.nap {
                match nap.as_mut().poll(context) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(()) => self.nap = None,
                }
            }
            if self.account.take(STEP_BYTES).is_ok() {
                self.taken += STEP_BYTES;
                self.short_since = None;
                continue;
            }
            // Its silence is our own.
            self.heard_bytes += 1;
            let since = *self.short_since.get_or_insert_with(Instant::now);
            if since.elapsed() > self.patience {
                let why = "the memory for messages is in use";
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::OutOfMemory, why)));
            }
            self.nap = Some(Box::pin(sleep(PAUSE)));
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Metered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        match this.make_room(context, buffer.remaining() as u64) {
            Poll::Ready(Ok(())) => {}
            other => return other,
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(context, buffer);
        let bytes = (buffer.filled().len() - before) as u64;
        if bytes > 0 {
            this.pending += bytes;
            this.heard_bytes += bytes;
            this.began.get_or_insert_with(Instant::now);
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Metered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::account::BodyAccounts;
    use somersault::budget::Pool;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    #[tokio::test]
    async fn bytes_are_drawn_before_they_are_read_and_given_back_when_they_are_done_with() {
        let pool = Pool::new(4 << 20);
        let accounts = BodyAccounts::on(&pool, 1);
        let (near, mut far) = duplex(1 << 20);
        let mut metered = Metered::new(near, accounts.body(), PAUSE);
        let mut piece = vec![0; 16 << 10];
        far.write_all(&vec![7; 400 << 10]).await.unwrap();
        for _ in 0..25 {
            let read = metered.read(&mut piece).await.unwrap();
            assert_eq!(read, piece.len());
            assert!(pool.used_bytes() >= COPIES * metered.pending);
        }
        assert_eq!(
            (metered.pending, metered.heard_bytes()),
            (400 << 10, 400 << 10)
        );
        metered.forgive(6);
        assert!(metered.began().is_some());
        metered.settle();
        assert_eq!((pool.used_bytes(), metered.began()), (STEP_BYTES, None));
        drop(metered);
        assert_eq!(pool.used_bytes(), 0);
    }

    #[tokio::test]
    async fn where_there_is_no_memory_nothing_is_read_until_there_is_some_or_patience_ends() {
        let accounts = BodyAccounts::on(&Pool::new(1 << 20), 1);
        let other = accounts.body();
        other.take(250 << 10).unwrap();
        let (near, mut far) = duplex(1 << 20);
        far.write_all(b"abc").await.unwrap();
        let mut metered = Metered::new(near, accounts.body(), 4 * PAUSE);
        let mut piece = vec![0; 16 << 10];
        let error = metered.read(&mut piece).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::OutOfMemory);
        assert!(metered.heard_bytes() > 1, "its silence is not its own");
        let mut metered = Metered::new(metered.stream, accounts.body(), Duration::from_mins(1));
        let freeing = async {
            sleep(2 * PAUSE).await;
            drop(other);
        };
        let (read, ()) = tokio::join!(metered.read(&mut piece), freeing);
        assert_eq!(read.unwrap(), 3);
    }
}
