//! Bodies of requests, read with a bound on their length and on the time they take.
//!
//! Invariant: no more of a body is kept than the bound. A body beyond it is refused as soon as that
//! is seen; what is still under way is then read and thrown away for a moment, because closing a
//! connection with unread bytes makes the system reset it, and the client would see a broken
//! connection instead of the 413. A client that asked with `Expect: 100-continue` is told at once.
//!
//! `http_body_util::Limited` would take the place of one comparison, in `collect`, and give its error in a box to be told
//! from a body that broke off. The account is asked for each piece either way, and decoded bytes have the same bound.

use crate::response::coding::Coding;
use crate::response::problem::Problem;
use crate::run::account::BodyAccount;
use axum::body::Body;
use http_body_util::BodyExt;
use hyper::HeaderMap;
use hyper::header::{CONTENT_LENGTH, EXPECT};
use std::io::{self, Read};
use std::time::Duration;
use tokio::time::timeout;

/// The most that is read and thrown away of a body that is refused.
const DRAIN_BYTES_MAX: u64 = 16 << 20;
/// The longest that a refused body is read.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(2);

/// Bytes that are decompressed at once.
const PIECE_BYTES: usize = 32 << 10;

/// Bytes of a body that come at any pace.
const SMALL_BYTES: usize = 64 << 10;

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

/// A body that was read, with its account.
#[derive(Debug)]
pub(crate) struct Intake {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// What they hold; to be kept as long as they are, or what is made of them.
    pub account: BodyAccount,
}

/// Reads a body: 413 when it is too long, 408 when it takes too long, 400 when it breaks off, 503 when
/// there is no memory for it.
pub(crate) async fn read(
    headers: &HeaderMap,
    mut body: Body,
    bound: Bound,
    account: BodyAccount,
) -> Result<Intake, Problem> {
    let announced = announced_bytes(headers).unwrap_or(0);
    if announced > bound.body_bytes {
        refuse(headers, body).await;
        return Err(Problem::too_long(bound.text_bytes).closing());
    }
    if let Err(problem) = account.wait_for(announced).await {
        // Not read: it would cost what there is too little of, and whoever sends much is told by the end of
        // the connection.
        return Err(problem.closing());
    }
    let mut intake = Intake {
        bytes: Vec::with_capacity(announced as usize),
        account,
    };
    match timeout(
        bound.time,
        collect(&mut body, &mut intake, bound.body_bytes),
    )
    .await
    {
        Err(_) => Err(Problem::too_slow()),
        Ok(Collected::Whole) => Ok(intake),
        Ok(Collected::BrokenOff) => Err(Problem::bad_request("the body of the request broke off")),
        Ok(Collected::TooLong) => {
            drop(intake);
            drain(body).await;
            Err(Problem::too_long(bound.text_bytes).closing())
        }
        Ok(Collected::NoMemory(problem)) => Err(problem.closing()),
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
    NoMemory(Problem),
}

async fn collect(body: &mut Body, intake: &mut Intake, bytes_max: u64) -> Collected {
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else {
            return Collected::BrokenOff;
        };
        let Some(data) = frame.data_ref() else {
            continue;
        };
        if (intake.bytes.len() + data.len()) as u64 > bytes_max {
            return Collected::TooLong;
        }
        if let Err(problem) = intake.make_room(data.len()) {
            return Collected::NoMemory(problem);
        }
        intake.bytes.extend_from_slice(data);
        if intake.bytes.len() > SMALL_BYTES {
            intake.account.arrived(data.len() as u64).await;
        }
    }
    Collected::Whole
}

impl Intake {
    /// What compressed bytes stand for, within the same bound: 400 where they are not what they are said
    /// to be, 413 where they stand for more. Takes as long as that is long.
    pub fn decoded(self, coding: Coding, bound: Bound) -> Result<Intake, Problem> {
        let Intake { bytes, account } = self;
        account.take(coding.decoder_bytes())?;
        let mut decoded = Intake {
            bytes: Vec::new(),
            account,
        };
        let filled = decoded.fill(coding, &bytes, bound);
        let held = coding.decoder_bytes() + bytes.capacity() as u64;
        decoded.account.give_back(held);
        filled.map(|()| decoded)
    }

    fn fill(&mut self, coding: Coding, bytes: &[u8], bound: Bound) -> Result<(), Problem> {
        let broken = |error: io::Error| {
            let why = format!("the body is not what {} makes: {error}", coding.name());
            Problem::bad_request(why)
        };
        let mut reader = coding.decoder(bytes).map_err(broken)?;
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let len = reader.read(&mut piece).map_err(broken)?;
            if len == 0 {
                return Ok(());
            }
            if (self.bytes.len() + len) as u64 > bound.body_bytes {
                return Err(Problem::too_long(bound.text_bytes));
            }
            self.make_room(len)?;
            self.bytes.extend_from_slice(&piece[..len]);
        }
    }

    /// Room for more bytes, drawn on the account before it is there; while they are moved, the bytes have
    /// their old room as well.
    fn make_room(&mut self, more: usize) -> Result<(), Problem> {
        let (before, needed) = (self.bytes.capacity(), self.bytes.len() + more);
        if needed <= before {
            return Ok(());
        }
        let room = needed.max(2 * before);
        self.account.take(room as u64)?;
        self.bytes.reserve_exact(room - self.bytes.len());
        self.account.give_back(before as u64);
        Ok(())
    }
}

/// The length of a body, where its head says so.
pub(crate) fn announced_bytes(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
