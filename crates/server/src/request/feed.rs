//! A request's body on its way to an engine thread: the connection's task feeds, the thread reads
//! and may block.
//!
//! Invariants: at most [`PIECES_MAX`] pieces are under way, so memory is flat and a slow reader slows
//! its client down; the reader's end is an end only when the feeder said so, because a client that
//! goes away must not make half a document look whole; a reader whose change was stopped gets an
//! error within [`LOOK`].
//!
//! `tokio_util::io::SyncIoBridge` waits in `Handle::block_on` for the client's next byte, and nothing can end that
//! wait: a change that was cancelled, or lost its place to another, would hold its thread as long as its client is
//! silent. It also takes the body away from the connection's task, which tells a slow client from one that broke off.

use crate::run::gate::{ChangePermit, block_on};
use axum::body::Body;
use http_body_util::BodyExt;
use hyper::body::Bytes;
use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{Instant, timeout_at};

/// Pieces of a body under way; each is what came at once, some tens of kilobytes.
const PIECES_MAX: usize = 8;
/// How often a thread that waits for its client looks whether it is stopped.
const LOOK: Duration = Duration::from_millis(20);

/// Bytes that a client sends at least within the time that it may stall: one that sends a byte a minute
/// holds a thread as long as one that sends none.
const BYTES_MIN: usize = 16 << 10;

enum FeedItem {
    Data(Bytes),
    End,
}

/// How feeding has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fed {
    /// With the body's end.
    Whole,
    /// The client sent nothing for too long.
    TooSlow,
    /// The body broke off.
    BrokenOff,
    /// Nobody reads it any more.
    Unwanted,
}

/// The connection's end.
pub(crate) struct Feeder {
    pieces: Sender<FeedItem>,
}

/// The engine's end. `is_stopped` says whether to give up.
pub(crate) struct BodyReader<S> {
    pieces: Receiver<FeedItem>,
    current: Bytes,
    has_ended: bool,
    /// Told while the client is waited for.
    place: Arc<ChangePermit>,
    is_stopped: S,
}

/// Both ends.
pub(crate) fn feed<S: Fn() -> bool>(
    place: Arc<ChangePermit>,
    is_stopped: S,
) -> (Feeder, BodyReader<S>) {
    let (sender, receiver) = channel(PIECES_MAX);
    let reader = BodyReader {
        pieces: receiver,
        current: Bytes::new(),
        has_ended: false,
        place,
        is_stopped,
    };
    (Feeder { pieces: sender }, reader)
}

impl Feeder {
    /// Gives the body to the reader until one of them ends. A client may send less than [`BYTES_MIN`] for
    /// so long.
    pub async fn run(self, body: &mut Body, stall: Duration) -> Fed {
        let mut due = Instant::now() + stall;
        let mut bytes = 0;
        loop {
            let piece = match timeout_at(due, body.frame()).await {
                Err(_) => return Fed::TooSlow,
                Ok(None) => FeedItem::End,
                Ok(Some(Err(_))) => return Fed::BrokenOff,
                Ok(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => {
                        bytes += data.len();
                        FeedItem::Data(data)
                    }
                    Err(_) => continue,
                },
            };
            let is_end = matches!(piece, FeedItem::End);
            let waits_for_reader = self.pieces.capacity() == 0;
            if self.pieces.send(piece).await.is_err() {
                return Fed::Unwanted;
            }
            if bytes >= BYTES_MIN || waits_for_reader {
                due = Instant::now() + stall;
                bytes = 0;
            }
            if is_end {
                return Fed::Whole;
            }
        }
    }
}

impl<S: Fn() -> bool> Read for BodyReader<S> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() && !self.has_ended {
            let is_stopped = || (self.is_stopped)() || self.place.is_over();
            let pieces = &mut self.pieces;
            let piece = match pieces.try_recv() {
                Ok(piece) => Some(Some(piece)),
                Err(_) => self
                    .place
                    .waiting(|| block_on(pieces.recv(), LOOK, is_stopped)),
            };
            let piece =
                piece.ok_or_else(|| io::Error::other("stopped while waiting for the client"))?;
            match piece {
                Some(FeedItem::Data(data)) => self.current = data,
                Some(FeedItem::End) => self.has_ended = true,
                None => {
                    let why = "the body of the request broke off";
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
                }
            }
        }
        let count = into.len().min(self.current.len());
        into[..count].copy_from_slice(&self.current.split_to(count));
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::gate::Gate;

    fn place() -> Arc<ChangePermit> {
        let entering = Gate::new(1, 0);
        let place = block_on(entering.enter(LOOK), LOOK, || false);
        place.unwrap().unwrap()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_body_arrives_whole() {
        let (feeder, mut reader) = feed(place(), || false);
        let reading = tokio::task::spawn_blocking(move || {
            let mut text = String::new();
            reader.read_to_string(&mut text).map(|_| text)
        });
        let mut body = Body::from("abc");
        assert_eq!(feeder.run(&mut body, LOOK).await, Fed::Whole);
        assert_eq!(reading.await.unwrap().unwrap(), "abc");
    }

    #[test]
    fn a_body_that_nobody_ends_is_not_whole() {
        let (feeder, mut reader) = feed(place(), || false);
        feeder
            .pieces
            .try_send(FeedItem::Data("ab".into()))
            .ok()
            .unwrap();
        drop(feeder);
        let mut text = String::new();
        let error = reader.read_to_string(&mut text).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_reader_that_is_stopped_does_not_wait() {
        let begun = std::time::Instant::now();
        let (feeder, mut reader) = feed(place(), move || begun.elapsed() > LOOK);
        assert!(reader.read(&mut [0; 8]).is_err());
        assert!(begun.elapsed() < Duration::from_secs(5));
        drop(feeder);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_body_that_trickles_is_too_slow() {
        let (feeder, mut reader) = feed(place(), || false);
        let reading = tokio::task::spawn_blocking(move || io::copy(&mut reader, &mut io::sink()));
        let (sender, receiver) = channel::<Result<hyper::body::Frame<Bytes>, io::Error>>(1);
        let trickling = async move {
            while sender
                .send(Ok(hyper::body::Frame::data("x".into())))
                .await
                .is_ok()
            {
                tokio::time::sleep(LOOK).await;
            }
        };
        let frames = Trickle(receiver);
        let mut body = Body::new(frames);
        tokio::spawn(trickling);
        assert_eq!(feeder.run(&mut body, 10 * LOOK).await, Fed::TooSlow);
        assert!(reading.await.unwrap().is_err());
    }

    struct Trickle(Receiver<Result<hyper::body::Frame<Bytes>, io::Error>>);

    impl hyper::body::Body for Trickle {
        type Data = Bytes;
        type Error = io::Error;

        fn poll_frame(
            mut self: std::pin::Pin<&mut Self>,
            context: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Result<hyper::body::Frame<Bytes>, io::Error>>> {
            self.0.poll_recv(context)
        }
    }
}
