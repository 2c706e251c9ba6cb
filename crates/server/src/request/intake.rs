//! Bodies of requests, read with a bound on their length and on the time they take.
//!
//! Invariant: no more of a body is kept than the bound. A body beyond it is refused as soon as that
//! is seen; what is still under way is then read and thrown away for a moment, because closing a
//! connection with unread bytes makes the system reset it, and the client would see a broken
//! connection instead of the 413. A client that asked with `Expect: 100-continue` is told at once.

use crate::response::problem::Problem;
use axum::body::Body;
use http_body_util::BodyExt;
use hyper::HeaderMap;
use hyper::header::{CONTENT_LENGTH, EXPECT};
use std::time::Duration;
use tokio::time::timeout;

/// The most that is read and thrown away of a body that is refused.
const DRAIN_BYTES_MAX: u64 = 16 << 20;
/// The longest that a refused body is read.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(2);

/// A bound on a body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    /// Most bytes that are kept.
    pub body_bytes: u64,
    /// The limit on the text, which the refusal names.
    pub text_bytes: u64,
    /// Time in which it must arrive.
    pub time: Duration,
}

/// Reads a body: 413 when it is too long, 408 when it takes too long, 400 when it breaks off.
pub(crate) async fn read(
    headers: &HeaderMap,
    mut body: Body,
    bound: Bound,
) -> Result<Vec<u8>, Problem> {
    let announced = announced_bytes(headers).unwrap_or(0);
    if announced > bound.body_bytes {
        refuse(headers, body).await;
        return Err(Problem::too_long(bound.text_bytes).closing());
    }
    let mut kept = Vec::with_capacity(announced as usize);
    match timeout(bound.time, collect(&mut body, &mut kept, bound.body_bytes)).await {
        Err(_) => Err(Problem::too_slow()),
        Ok(Collected::Whole) => Ok(kept),
        Ok(Collected::BrokenOff) => Err(Problem::bad_request("the body of the request broke off")),
        Ok(Collected::TooLong) => {
            drop(kept);
            drain(body).await;
            Err(Problem::too_long(bound.text_bytes).closing())
        }
    }
}

/// Lets go of a body of which nothing was read; a client that asked first sends none.
pub(crate) async fn refuse(headers: &HeaderMap, body: Body) {
    if !headers.contains_key(EXPECT) {
        drain(body).await;
    }
}

/// Takes what is under way of a body that nobody wants, see the head of this file.
pub(crate) async fn drain(mut body: Body) {
    let all = async {
        let mut bytes = 0;
        while let Some(Ok(frame)) = body.frame().await {
            bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
            if bytes > DRAIN_BYTES_MAX {
                break;
            }
        }
    };
    // Whether it came to its end or not, it has been refused.
    let _ = timeout(DRAIN_TIME_MAX, all).await;
}

enum Collected {
    Whole,
    TooLong,
    BrokenOff,
}

async fn collect(body: &mut Body, kept: &mut Vec<u8>, bytes_max: u64) -> Collected {
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else {
            return Collected::BrokenOff;
        };
        let Some(data) = frame.data_ref() else {
            continue;
        };
        if (kept.len() + data.len()) as u64 > bytes_max {
            return Collected::TooLong;
        }
        kept.extend_from_slice(data);
    }
    Collected::Whole
}

/// The length of a body, where its head says so.
pub(crate) fn announced_bytes(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
