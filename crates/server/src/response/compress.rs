//! Answers compressed on their way, where the client asks for it.
//!
//! A short answer is sent as it is: below [`BYTES_MIN`] the fields that say how it is compressed and the
//! work of both sides cost more than the bytes. A whole one is compressed in one piece and has a length; one
//! that flows is compressed as it comes, and whenever there is nothing more for now, what there is is
//! flushed, so rows arrive when they would arrive without. What an encoder holds is drawn on the
//! memory of all queries; where there is none, the answer goes out as it is.
//!
//! An answer that breaks off breaks off compressed, too: its coding has no end.

use crate::response::coding::{Coding, Encoder, Preferred, SLICE_BYTES};
use crate::response::head;
use crate::response::problem::Problem;
use crate::state::ServerState;
use axum::body::Body;
use http_body_util::BodyExt;
use hyper::body::{Bytes, Frame, SizeHint};
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, ETAG, HeaderValue, VARY};
use hyper::{HeaderMap, Response, StatusCode};
use somersault::budget::Budget;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// Shorter answers are sent as they are (bytes).
const BYTES_MIN: u64 = 1 << 10;
/// Longer ones are compressed as they are sent (bytes).
const WHOLE_BYTES_MAX: u64 = 2 * SLICE_BYTES as u64;
const _: () = assert!(
    BYTES_MIN <= WHOLE_BYTES_MAX,
    "short answers are compressed whole"
);

/// An answer as the client would rather have it.
pub(crate) async fn compressed(
    server: &ServerState,
    preferred: Preferred,
    response: Response<Body>,
) -> Response<Body> {
    let is_answer = response.status() == StatusCode::OK;
    if !is_answer || response.headers().contains_key(CONTENT_ENCODING) {
        return response;
    }
    let Some(coding) = preferred.coding else {
        if preferred.is_plain_taken {
            return response;
        }
        let why = "`Accept-Encoding` takes answers neither as they are nor in gzip, br or zstd";
        return Problem::no_coding(why).into_response();
    };
    let exact = hyper::body::Body::size_hint(response.body()).exact();
    if exact.is_some_and(|bytes| bytes < BYTES_MIN) && preferred.is_plain_taken {
        return response;
    }
    let Some((encoder, account)) = encoder(server, coding).await else {
        return response;
    };
    let (mut head, body) = response.into_parts();
    let body = if exact.is_some_and(|bytes| bytes <= WHOLE_BYTES_MAX) {
        match whole(encoder, body).await {
            Ok(bytes) => Body::from(bytes),
            // A body that is there cannot fail, nor an encoder that writes to memory.
            Err(error) => Body::new(Failed(Some(error))),
        }
    } else {
        Body::new(Encoded {
            body,
            rest: Bytes::new(),
            encoder: Some(encoder),
            is_flushed: true,
            trailers: None,
            _account: account,
        })
    };
    mark(&mut head.headers, coding);
    Response::from_parts(head, body)
}

/// Says of every answer that may be compressed that it depends on what the client takes.
pub(crate) fn vary(headers: &mut HeaderMap) {
    let by = match headers.get(VARY) {
        Some(_) => "accept, accept-encoding",
        None => "accept-encoding",
    };
    headers.insert(VARY, HeaderValue::from_static(by));
}

async fn encoder(server: &ServerState, coding: Coding) -> Option<(Encoder, Budget)> {
    let accounts = server.accounts().ok()?;
    let account = accounts
        .wait_for(coding.encoder_bytes(), Duration::ZERO)
        .await?;
    Some((Encoder::new(coding).ok()?, account))
}

async fn whole(mut encoder: Encoder, body: Body) -> Result<Vec<u8>, axum::Error> {
    let bytes = body.collect().await?.to_bytes();
    let mut compressed = Vec::new();
    encoder.write(&bytes).map_err(axum::Error::new)?;
    compressed.append(&mut encoder.take());
    compressed.append(&mut encoder.finish().map_err(axum::Error::new)?);
    Ok(compressed)
}

fn mark(headers: &mut HeaderMap, coding: Coding) {
    assert!(
        !headers.contains_key(CONTENT_ENCODING),
        "an answer is compressed once"
    );
    headers.remove(CONTENT_LENGTH);
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
    // Compressed it is another representation.
    let tag = headers.get(ETAG).and_then(|tag| tag.to_str().ok());
    if let Some(opaque) = tag.and_then(|tag| tag.strip_suffix('"')) {
        let tag = head::value(&format!("{opaque}.{}\"", coding.name()));
        headers.insert(ETAG, tag);
    }
}

/// A body that is compressed as it comes.
struct Encoded {
    body: Body,
    /// What was taken of the body and not compressed yet.
    rest: Bytes,
    encoder: Option<Encoder>,
    /// Everything that the encoder has taken was given out.
    is_flushed: bool,
    trailers: Option<Frame<Bytes>>,
    _account: Budget,
}

impl Encoded {
    /// Compresses some of what was taken.
    fn slice(&mut self) -> io::Result<Option<Bytes>> {
        let slice = self.rest.split_to(self.rest.len().min(SLICE_BYTES));
        self.is_flushed = false;
        let encoder = self.encoder.as_mut().ok_or(io::ErrorKind::Other)?;
        encoder.write(&slice)?;
        Ok(some(encoder.take()))
    }

    /// Gives out what the encoder keeps.
    fn flush(&mut self) -> io::Result<Option<Bytes>> {
        self.is_flushed = true;
        let encoder = self.encoder.as_mut().ok_or(io::ErrorKind::Other)?;
        encoder.flush()?;
        Ok(some(encoder.take()))
    }

    /// The end of the coding.
    fn finish(&mut self) -> io::Result<Option<Bytes>> {
        let Some(mut encoder) = self.encoder.take() else {
            return Ok(None);
        };
        let mut bytes = encoder.take();
        bytes.append(&mut encoder.finish()?);
        Ok(some(bytes))
    }
}

fn some(bytes: Vec<u8>) -> Option<Bytes> {
    (!bytes.is_empty()).then(|| Bytes::from(bytes))
}

/// What comes of a poll.
type Polled = Poll<Option<Result<Frame<Bytes>, axum::Error>>>;

fn sent(bytes: Bytes) -> Polled {
    Poll::Ready(Some(Ok(Frame::data(bytes))))
}

fn failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Polled {
    Poll::Ready(Some(Err(axum::Error::new(error))))
}

impl hyper::body::Body for Encoded {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Polled {
        if !self.rest.is_empty() {
            return match self.slice() {
                Ok(Some(bytes)) => sent(bytes),
                Ok(None) => {
                    // Others of this thread come first.
                    context.waker().wake_by_ref();
                    Poll::Pending
                }
                Err(error) => failed(error),
            };
        }
        if let Some(trailers) = self.trailers.take() {
            return Poll::Ready(Some(Ok(trailers)));
        }
        let ended = match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                Ok(data) => {
                    self.rest = data;
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Err(trailers) => {
                    self.trailers = Some(trailers);
                    self.finish()
                }
            },
            Poll::Ready(Some(Err(error))) => return failed(error),
            Poll::Ready(None) => self.finish(),
            Poll::Pending if self.is_flushed => return Poll::Pending,
            Poll::Pending => {
                return match self.flush() {
                    Ok(Some(bytes)) => sent(bytes),
                    Ok(None) => Poll::Pending,
                    Err(error) => failed(error),
                };
            }
        };
        match ended {
            Ok(Some(bytes)) => sent(bytes),
            Ok(None) => Poll::Ready(self.trailers.take().map(Ok)),
            Err(error) => failed(error),
        }
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

/// A body that fails.
struct Failed(Option<axum::Error>);

impl hyper::body::Body for Failed {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Polled {
        Poll::Ready(self.0.take().map(Err))
    }
}
