//! The socket of a connection, as the protocol's library reads and writes it, with two opinions of its own.
//!
//! It gives up on a client which takes nothing: a query that waits for its client ends at its deadline; what
//! it has printed by then would still lie in buffers for as long as the client pleases. Here a write that makes
//! no progress for the given time is an error, which closes the connection and frees them.
//!
//! And it does not take a client for gone which has only closed its own side: [`crate::half_close`].

use crate::half_close::{Exchange, until_gone};
use crate::prompt::Prompt;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// A stream whose writes may wait so long and no longer.
pub(crate) struct Impatient {
    stream: TcpStream,
    exchange: Arc<Exchange>,
    peer: SocketAddr,
    prompt: Arc<Prompt>,
    patience: Duration,
    /// Runs while a write waits.
    alarm: Option<Pin<Box<Sleep>>>,
    /// Runs while the end of the client's side is held back; ends when the client is gone.
    gone: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

impl Impatient {
    /// Wraps a stream that is connected to `peer`, whose requests tell `exchange` how far they are.
    pub fn new(
        stream: TcpStream,
        (exchange, peer, prompt): (Arc<Exchange>, SocketAddr, Arc<Prompt>),
        patience: Duration,
    ) -> Impatient {
        Impatient {
            stream,
            exchange,
            peer,
            prompt,
            patience,
            alarm: None,
            gone: None,
        }
    }

    /// Passes on what a write came to, and watches over one that waits.
    fn watch<T>(
        &mut self,
        context: &mut Context<'_>,
        write: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        self.exchange.set_blocked(write.is_pending());
        if write.is_ready() {
            self.alarm = None;
            return write;
        }
        let patience = self.patience;
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep(patience)));
        match alarm.as_mut().poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => {
                let why = "the client takes nothing";
                Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, why)))
            }
        }
    }

    /// The client has closed its side: ready when that is to be told.
    fn hold_back(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.gone.is_none() {
            // Where there is no room for looking, who closes its side counts as gone.
            let Ok(gone) = until_gone(&self.stream, Arc::clone(&self.exchange)) else {
                return Poll::Ready(Ok(()));
            };
            self.gone = Some(Box::pin(gone));
        }
        let Some(gone) = self.gone.as_mut() else {
            return Poll::Ready(Ok(()));
        };
        let ended = gone.as_mut().poll(context);
        if ended.is_ready() {
            self.gone = None;
        }
        ended.map(Ok)
    }

    /// Writes what follows a first byte that was sent ahead.
    fn write_rest(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let rest = match bytes {
            [] => {
                self.exchange.put_back_begun();
                return Poll::Ready(Ok(0));
            }
            [_] => return Poll::Ready(Ok(1)),
            [_, rest @ ..] => rest,
        };
        let write = Pin::new(&mut self.stream).poll_write(context, rest);
        if write.is_pending() {
            self.exchange.put_back_begun();
        }
        self.watch(context, write).map_ok(|written| written + 1)
    }
}

impl Drop for Impatient {
    fn drop(&mut self) {
        self.prompt.left(self.peer);
    }
}

impl AsyncRead for Impatient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.gone.is_some() && this.exchange.is_under_way() {
            return this.hold_back(context);
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(context, buffer);
        let has_ended = matches!(read, Poll::Ready(Ok(())))
            && buffer.filled().len() == before
            && buffer.remaining() > 0;
        if has_ended && this.exchange.is_under_way() {
            return this.hold_back(context);
        }
        read
    }
}

impl AsyncWrite for Impatient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.exchange.take_begun() {
            return self.write_rest(context, bytes);
        }
        let write = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch(context, write)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.exchange.take_begun() {
            let first = slices.iter().find(|slice| !slice.is_empty());
            return self.write_rest(context, first.map_or(&[], |slice| slice));
        }
        let write = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.watch(context, write)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.exchange.is_flushed() {
            self.prompt.sent(self.peer, &self.stream);
            // The end that was held back may be told now: somebody has to come and read it.
            if self.gone.is_some() {
                context.waker().wake_by_ref();
            }
        }
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
