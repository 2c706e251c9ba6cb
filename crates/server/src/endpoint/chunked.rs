//! Items of a body that comes in chunks and need have no end: lines are taken as they come, and the answer at the end is about
//! all of them.
//!
//! ```text
//! frames of the body -> whole lines, at most BATCH_BYTES of them -> one push -> the next frame
//! ```
//!
//! Nothing is read while a batch is taken, so a source is slowed down by TCP, and by nothing else where the stream's budget is
//! full or the server is busy: the batch is tried again, in halves where its stream is full, and no answer says 429 in the
//! middle of a body. Each batch is taken whole or not at all. What cannot be taken by waiting ends the request with its problem,
//! also a line that alone is more than its stream may hold (413); what came before it stays.
//!
//! Memory: a batch, or one longer line, drawn on the account of bodies.

use crate::endpoint::call::{Call, json_text};
use crate::endpoint::taking::{PushAccount, taken};
use crate::request::intake::Intake;
use crate::request::items::{Delivery, ItemsForm};
use crate::response::problem::Problem;
use crate::state::ServerState;
use axum::body::Body;
use http_body_util::BodyExt;
use hyper::HeaderMap;
use hyper::Response;
use hyper::header::{CONTENT_ENCODING, TRANSFER_ENCODING};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// Lines that are taken at once (bytes), unless a single one is longer.
const BATCH_BYTES: usize = 1 << 20;
/// The pause before a batch is tried again.
const PAUSE: Duration = Duration::from_millis(250);

/// Whether the items of a body are taken as they come: lines, whose number nobody announces.
pub(crate) fn is_endless(headers: &HeaderMap, form: ItemsForm) -> bool {
    let is_lines = matches!(form, ItemsForm::Lines | ItemsForm::Objects);
    is_lines && headers.contains_key(TRANSFER_ENCODING) && !headers.contains_key(CONTENT_ENCODING)
}

/// Takes items until the body's end.
pub(crate) async fn push(
    mut call: Call,
    stream: String,
    delivery: Delivery,
    form: ItemsForm,
) -> Result<Response<Body>, Problem> {
    let mut lines = Lines {
        line_bytes_max: call.server.options().update_text_bytes_max,
        body: call.take_body(),
        bytes: Vec::new(),
        is_ended: false,
    };
    let mut pushing = Pushing {
        server: Arc::clone(&call.server),
        stream,
        form,
        delivery,
        batch_bytes: BATCH_BYTES,
        line: 0,
        account: None,
    };
    while let Some(batch) = lines.next(pushing.batch_bytes).await? {
        pushing.take(batch).await?;
    }
    let account = pushing.end().await?;
    Ok(json_text(&account.json()))
}

/// Whole lines of a body.
struct Lines {
    body: Body,
    bytes: Vec<u8>,
    is_ended: bool,
    line_bytes_max: u64,
}

impl Lines {
    /// The next lines, as many bytes at most unless one is longer; waits for them. `None` at the end.
    async fn next(&mut self, bytes_max: usize) -> Result<Option<Vec<u8>>, Problem> {
        loop {
            if let Some(len) = self.whole(bytes_max) {
                let rest = self.bytes.split_off(len);
                return Ok(Some(std::mem::replace(&mut self.bytes, rest)));
            }
            if self.is_ended {
                let rest = std::mem::take(&mut self.bytes);
                return Ok((!rest.is_empty()).then_some(rest));
            }
            if self.bytes.len() as u64 > self.line_bytes_max {
                return Err(Problem::too_long(self.line_bytes_max).closing());
            }
            self.gather(bytes_max).await?;
        }
    }

    /// How many bytes of whole lines can be taken now.
    fn whole(&self, bytes_max: usize) -> Option<usize> {
        let within = &self.bytes[..self.bytes.len().min(bytes_max)];
        let last = within.iter().rposition(|byte| *byte == b'\n');
        let first = || self.bytes.iter().position(|byte| *byte == b'\n');
        last.or_else(first).map(|end| end + 1)
    }

    /// Waits for a frame, and takes what else has come.
    async fn gather(&mut self, bytes_max: usize) -> Result<(), Problem> {
        let mut next = Some(self.body.frame().await);
        while let Some(frame) = next.take() {
            let Some(frame) = frame else {
                self.is_ended = true;
                break;
            };
            let broken = |_| Problem::bad_request("the body of the request broke off");
            if let Some(data) = frame.map_err(broken)?.data_ref() {
                self.bytes.extend_from_slice(data);
            }
            if self.bytes.len() < bytes_max {
                next = timeout(Duration::ZERO, self.body.frame()).await.ok();
            }
        }
        Ok(())
    }
}

/// A push that goes on.
struct Pushing {
    server: Arc<ServerState>,
    stream: String,
    form: ItemsForm,
    /// What is said of all items. What is promised is promised at the end.
    delivery: Delivery,
    /// What is taken at once: less where the stream had no room for more (bytes).
    batch_bytes: usize,
    /// Lines before the batch (count).
    line: u64,
    /// What has become of what came so far.
    account: Option<PushAccount>,
}

impl Pushing {
    /// Takes lines, in parts where the stream has no room for all.
    async fn take(&mut self, lines: Vec<u8>) -> Result<(), Problem> {
        let mut parts = vec![lines];
        while let Some(part) = parts.pop() {
            let (len, count) = (part.len(), lines_of(&part));
            let intake = self.intake(part).await?;
            match self.once(&intake, false).await {
                Ok(()) => {
                    self.line += count;
                    self.batch_bytes = (self.batch_bytes + self.batch_bytes / 8).min(BATCH_BYTES);
                }
                Err(problem) if self.waits(&problem) => {
                    let part = match Arc::try_unwrap(intake) {
                        Ok(intake) => intake.bytes,
                        Err(shared) => shared.bytes.clone(),
                    };
                    if problem.status().as_u16() == 429 && count > 1 {
                        self.batch_bytes = (len / 2).max(1);
                        parts.extend(halves(part).into_iter().rev());
                    } else {
                        parts.push(part);
                    }
                    sleep(PAUSE).await;
                }
                Err(problem) => return Err(problem.closing()),
            }
        }
        Ok(())
    }

    /// Whether what was refused is tried again. After a write that failed nobody knows what of it was taken, and what was is passed over
    /// where items are counted.
    fn waits(&self, problem: &Problem) -> bool {
        let is_counted = self.delivery.position.is_some();
        problem.is_for_now() || is_counted && problem.is_of_disk()
    }

    /// Promises what was to be promised, and gives the account of all. A body without a line and without a promise is refused.
    async fn end(mut self) -> Result<PushAccount, Problem> {
        if self.delivery.watermark_ms.is_some() || self.account.is_none() {
            let nothing = self.intake(Vec::new()).await?;
            loop {
                match self.once(&nothing, true).await {
                    Err(problem) if self.waits(&problem) => sleep(PAUSE).await,
                    Err(problem) => return Err(problem),
                    Ok(()) => break,
                }
            }
        }
        Ok(self.account.expect("the last push has one"))
    }

    async fn intake(&self, bytes: Vec<u8>) -> Result<Arc<Intake>, Problem> {
        let account = self.server.accounts()?.body();
        account.wait_for(bytes.len() as u64).await?;
        Ok(Arc::new(Intake { bytes, account }))
    }

    /// One push: of lines, or of the promise at the end.
    async fn once(&mut self, intake: &Arc<Intake>, is_end: bool) -> Result<(), Problem> {
        let delivery = Arc::new(Delivery {
            watermark_ms: self.delivery.watermark_ms.filter(|_| is_end),
            ..self.delivery.clone()
        });
        let form = (!is_end).then_some(self.form);
        let account = taken(&self.server, &self.stream, &delivery, (form, true), intake).await?;
        if let Some(position) = &mut self.delivery.position {
            *position += account.positions;
        }
        match &mut self.account {
            Some(before) => before.go_on(account, self.line),
            None => self.account = Some(account),
        }
        Ok(())
    }
}

/// How many lines end in these bytes.
fn lines_of(bytes: &[u8]) -> u64 {
    let pieces = bytes.split(|byte| *byte == b'\n').count();
    pieces as u64 - 1
}

/// Two parts of whole lines, the first about half.
fn halves(mut lines: Vec<u8>) -> [Vec<u8>; 2] {
    let half = lines.len() / 2;
    let before = lines[..half].iter().rposition(|byte| *byte == b'\n');
    let behind = || {
        lines[half..]
            .iter()
            .position(|byte| *byte == b'\n')
            .map(|end| end + half)
    };
    let end = before.or_else(behind).map_or(lines.len(), |end| end + 1);
    let rest = lines.split_off(end);
    [lines, rest]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_whole_lines() {
        let check = |text: &str, expected: [&str; 2]| {
            let halves = halves(text.as_bytes().to_vec());
            assert_eq!(
                halves,
                expected.map(|half| half.as_bytes().to_vec()),
                "{text:?}"
            );
        };
        check("a\nb\n", ["a\n", "b\n"]);
        check("aaaaaaaa\nb\n", ["aaaaaaaa\n", "b\n"]);
        check("a\nbbbbbbbb\n", ["a\n", "bbbbbbbb\n"]);
        check("a\nb\nc", ["a\n", "b\nc"]);
        check("abc", ["abc", ""]);
        check("", ["", ""]);
    }

    #[tokio::test]
    async fn lines_come_whole_however_they_are_cut() {
        for bytes_max in [1, 3, 100] {
            let mut lines = Lines {
                body: Body::from("one\ntwo\n\nthree"),
                bytes: Vec::new(),
                is_ended: false,
                line_bytes_max: 100,
            };
            let mut parts = Vec::new();
            while let Some(part) = lines.next(bytes_max).await.unwrap() {
                parts.push(String::from_utf8(part).unwrap());
            }
            let (last, whole) = parts.split_last().unwrap();
            assert!(whole.iter().all(|part| part.ends_with('\n')), "{parts:?}");
            assert_eq!(
                (parts.concat().as_str(), last.as_str()),
                ("one\ntwo\n\nthree", "three")
            );
        }
    }
}
