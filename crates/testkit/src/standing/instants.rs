//! When a question is evaluated, and which span of time each of its windows holds then.
//!
//! Invariant: instants are a function of the streams, the items and the question; none depends on the order of arrival.
//! Spans are pairs of signed milliseconds, because a window may open before the epoch.

use super::{Item, PlainExtent, PlainOrigin, PlainWindow, Question, ReportPace, StandingCase};
use query::standing::Bounds;
use std::collections::BTreeSet;

/// A span of time: where it opens and where it closes (milliseconds). Which end belongs to it, the bounds say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WindowSpan {
    pub(super) open_ms: i64,
    pub(super) close_ms: i64,
}

impl WindowSpan {
    /// From minus infinity.
    pub(super) fn until(close_ms: i64) -> WindowSpan {
        WindowSpan {
            open_ms: i64::MIN,
            close_ms,
        }
    }

    /// Whether a time lies in it.
    pub(super) fn holds(self, time_ms: u64, bounds: Bounds) -> bool {
        let time = signed(time_ms);
        match bounds {
            Bounds::LeftClosed => self.open_ms <= time && time < self.close_ms,
            Bounds::RightClosed => self.open_ms < time && time <= self.close_ms,
        }
    }
}

/// Times of tests are far below 2^63 milliseconds.
pub(super) fn signed(time_ms: u64) -> i64 {
    i64::try_from(time_ms).expect("a time of milliseconds since the epoch fits 63 bits")
}

/// All instants up to `until_ms`, that one included, at which the question is evaluated, in order.
pub fn instants(case: &StandingCase, until_ms: u64) -> Vec<u64> {
    let question = &case.question;
    let mut instants = BTreeSet::new();
    for window in &question.windows {
        instants.extend(of_window(case, window, until_ms));
    }
    instants
        .into_iter()
        .filter(|&instant| instant <= until_ms && instant >= question.registered_ms)
        .filter(|&instant| is_whole(case, instant))
        .collect()
}

/// The instants that one window gives the question.
fn of_window(case: &StandingCase, window: &PlainWindow, until_ms: u64) -> Vec<u64> {
    let stream = &case.streams[window.stream];
    match (case.question.pace, window.extent) {
        (ReportPace::Periodic(period_ms), _) => multiples(period_ms, 0, stream.begin_ms, until_ms),
        (ReportPace::Change, _) => changes(case, window.stream),
        (
            ReportPace::Close,
            PlainExtent::Time { step_ms, .. } | PlainExtent::Past { step_ms, .. },
        ) => match start_ms(case, window.stream) {
            Some(start_ms) if is_first_item(&case.question) => {
                let from_ms = known_ms(case, window.stream).unwrap_or(until_ms);
                let from_ms = from_ms.max(stream.begin_ms + 1);
                multiples(step_ms, start_ms, from_ms, until_ms)
            }
            Some(start_ms) => multiples(step_ms, start_ms, stream.begin_ms, until_ms),
            None => Vec::new(),
        },
        (ReportPace::Close, PlainExtent::Count { items, step }) => {
            let least = if case.question.partial_first {
                0
            } else {
                items
            };
            let all = case.in_order(window.stream);
            let counts = (step..=all.len()).step_by(step);
            let closing = counts.filter(|&count| count >= least);
            closing
                .map(|count| sees(&case.question, all[count - 1].time_ms))
                .collect()
        }
        (ReportPace::Close, PlainExtent::Sliding { .. } | PlainExtent::Now | PlainExtent::All) => {
            let all = case.in_order(window.stream);
            all.iter()
                .map(|item| sees(&case.question, item.time_ms))
                .collect()
        }
    }
}

/// The first instant that sees an item of a time.
fn sees(question: &Question, time_ms: u64) -> u64 {
    match question.bounds {
        Bounds::LeftClosed => time_ms + 1,
        Bounds::RightClosed => time_ms,
    }
}

/// Up to where a window sees at an instant. Where every change is reported, an instant is the end of a batch, and what
/// comes at that moment itself is of the next.
pub(super) fn seen_until(question: &Question, instant: u64) -> i64 {
    match (question.pace, question.bounds) {
        (ReportPace::Change, Bounds::RightClosed) => signed(instant) - 1,
        _ => signed(instant),
    }
}

/// All `k * step + start` from a time on.
fn multiples(step_ms: u64, start_ms: u64, from_ms: u64, until_ms: u64) -> Vec<u64> {
    let ahead = (signed(start_ms) - signed(from_ms)).rem_euclid(signed(step_ms));
    let first = from_ms + ahead.unsigned_abs();
    let step = usize::try_from(step_ms).expect("a step fits the address space");
    (first..=until_ms).step_by(step).collect()
}

/// The ends of a stream's batches in which something arrived.
fn changes(case: &StandingCase, stream: usize) -> Vec<u64> {
    let plain = &case.streams[stream];
    let ends = case.in_order(stream);
    let ends = ends.iter().map(|item| plain.batch_end_ms(item.time_ms));
    ends.filter(|&end| end > plain.begin_ms).collect()
}

/// Where the steps of a stream's windows are counted from; nothing where that is an item that never came.
fn start_ms(case: &StandingCase, stream: usize) -> Option<u64> {
    match case.question.origin {
        PlainOrigin::Epoch(offset_ms) => Some(offset_ms),
        PlainOrigin::FirstItem => {
            let first = case.in_order(stream).first()?.time_ms;
            Some(first / 1_000 * 1_000)
        }
    }
}

/// From when on it is known that a stream's windows close which the first item begins: whoever sees no item yet cannot know
/// where their steps are counted from, so before that none of them has closed.
fn known_ms(case: &StandingCase, stream: usize) -> Option<u64> {
    let first = case.in_order(stream).first()?.time_ms;
    let start_ms = start_ms(case, stream)?;
    Some(sees(&case.question, first).max(start_ms + 1))
}

fn is_first_item(question: &Question) -> bool {
    question.origin == PlainOrigin::FirstItem
}

/// Whether all windows hold a content that opened within their streams' lives, where that is asked for.
fn is_whole(case: &StandingCase, instant: u64) -> bool {
    let question = &case.question;
    let is_whole = |window: &PlainWindow| match window.extent {
        PlainExtent::Time { .. } | PlainExtent::Past { .. } => {
            let begin = signed(case.streams[window.stream].begin_ms);
            span(case, window, instant).is_some_and(|span| span.open_ms >= begin)
        }
        _ => true,
    };
    question.partial_first
        || question.pace == ReportPace::Change
        || question.windows.iter().all(is_whole)
}

/// What a window spans at an instant: its latest close's span or, where every change is reported, that of its oldest
/// open one up to now. Nothing where it has not closed yet. Only windows of time have one.
pub(super) fn span(case: &StandingCase, window: &PlainWindow, instant: u64) -> Option<WindowSpan> {
    let now = signed(instant);
    let seen = seen_until(&case.question, instant);
    let stream = &case.streams[window.stream];
    let (from_ms, to_ms, step_ms) = match window.extent {
        PlainExtent::Time { range_ms, step_ms } => (signed(range_ms), 0, signed(step_ms)),
        PlainExtent::Past {
            from_ms,
            to_ms,
            step_ms,
        } => (signed(from_ms), signed(to_ms), signed(step_ms)),
        PlainExtent::Sliding { range_ms } => {
            return Some(WindowSpan {
                open_ms: now - signed(range_ms),
                close_ms: seen,
            });
        }
        PlainExtent::Count { .. } | PlainExtent::Now | PlainExtent::All => return None,
    };
    let start = signed(start_ms(case, window.stream)?);
    if case.question.pace == ReportPace::Change {
        assert!(to_ms == 0, "a window of the past is never open");
        // The least close that the batch's last millisecond may belong to.
        let close = start - (start - seen).div_euclid(step_ms) * step_ms;
        return Some(WindowSpan {
            open_ms: close - from_ms,
            close_ms: seen,
        });
    }
    let close = start + (now - start).div_euclid(step_ms) * step_ms;
    let known = known_ms(case, window.stream).filter(|_| is_first_item(&case.question));
    let is_known = known.is_none_or(|known| close >= signed(known));
    let is_closed = close >= signed(stream.begin_ms) && is_known;
    is_closed.then_some(WindowSpan {
        open_ms: close - from_ms,
        close_ms: close - to_ms,
    })
}

/// The items of a stream within a span, in order.
pub(super) fn before(
    case: &StandingCase,
    stream: usize,
    span: WindowSpan,
    bounds: Bounds,
) -> Vec<&Item> {
    let mut items = case.in_order(stream);
    items.retain(|item| span.holds(item.time_ms, bounds));
    items
}
