//! Times that lie so far ahead of a stream that its queries could not report all the windows between.
//!
//! A stream that begins in 1970 (`begin: 0`) and is then given an item of today would close 56 years of windows at once. A
//! query that reports empty windows, too, is evaluated for each of them: at ten a second some 18 billion times, while
//! everybody waits, and again after each restart, since the item is in the log. So such an item, or such a promise, is
//! refused before it is said, with what can be done about it. Windows that are not reported while they are empty cost
//! nothing, and are not counted.
//!
//! Idle streams follow those that queries read beside them, and so leap with them.
//!
//! Cost: a comparison a push; a look at the queries that read it where a stream leaps over an hour and more.

use super::Hub;
use crate::error::{Kind, QueryError};
use query::standing::{Extent, StandingQuery, When};
use std::collections::BTreeSet;
use stream::{StreamId, Time};

/// Leaps below this are looked at no closer (milliseconds).
const NEAR_MS: u64 = 60 * 60 * 1000;

/// How many windows of a query may close at once (count). An evaluation of an empty window takes some 10 us, so this is
/// a minute or two of work. Steps of 100 ms reach it after eleven days of silence.
const CLOSES_MAX: u64 = 10_000_000;

impl Hub {
    /// An error where a stream cannot come to this moment, because a query would have too much to report on the way.
    pub(super) fn refuse_leap(&self, stream: StreamId, time_ms: u64) -> Result<(), QueryError> {
        if self.leap_ms(stream, time_ms) < NEAR_MS {
            return Ok(());
        }
        for moved in self.moved_with(stream) {
            let Some(settings) = self.settings.get(&moved) else {
                continue;
            };
            let leap_ms = self.leap_ms(moved, time_ms);
            for query in self.queries.readers(moved) {
                let step_ms = step_ms(&query.planned.query);
                let closes = step_ms.map_or(0, |step_ms| leap_ms / step_ms.max(1));
                if closes > CLOSES_MAX {
                    let covered_ms = time_ms - leap_ms;
                    let message = format!(
                        "the time {time_ms} ms is too far ahead: the stream <{}> has come to {covered_ms} ms, and the query \
                         `{}` would report {closes} windows on the way",
                        settings.name, query.name
                    );
                    let hint = "is the time in milliseconds? make the stream again with `begin` near its first item, or \
                                register the query with `#@ report=close,nonempty`";
                    return Err(QueryError::new(Kind::Syntax, message).with_hint(hint));
                }
            }
        }
        Ok(())
    }

    /// How far behind a moment a stream is (milliseconds).
    fn leap_ms(&self, stream: StreamId, time_ms: u64) -> u64 {
        let covered = self.streams.status(stream).map(|status| status.covered);
        time_ms.saturating_sub(covered.unwrap_or(Time(time_ms)).0)
    }

    /// This stream, and the idle ones that a query reads beside it.
    fn moved_with(&self, stream: StreamId) -> BTreeSet<StreamId> {
        let readers = self.queries.readers(stream);
        let beside = readers.flat_map(|query| &query.reads).copied();
        let is_idle = |id: &StreamId| self.streams.status(*id).is_ok_and(|it| it.is_idle);
        std::iter::once(stream)
            .chain(beside.filter(is_idle))
            .collect()
    }
}

/// How far apart the evaluations are that a query has even if nothing comes (milliseconds); `None`: it has none.
fn step_ms(query: &StandingQuery) -> Option<u64> {
    let extents = || query.windows.iter().map(|window| &window.extent);
    let empties = extents().all(|it| matches!(it, Extent::Time { .. } | Extent::Past { .. }));
    if query.report.nonempty && empties {
        return None;
    }
    let of_window = |extent: &Extent| match extent {
        Extent::Time { step_ms, .. } | Extent::Past { step_ms, .. } => Some(*step_ms),
        Extent::Count { .. } | Extent::Sliding { .. } | Extent::Now | Extent::All => None,
    };
    match query.report.when {
        When::Change => None,
        When::Periodic { period_ms } => Some(period_ms),
        When::Close => query
            .every_ms
            .or_else(|| extents().filter_map(of_window).min()),
    }
}

#[cfg(test)]
mod tests;
