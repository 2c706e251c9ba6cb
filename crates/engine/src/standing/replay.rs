//! Recorded streams, run through standing queries in the time of their items.
//!
//! Recordings are read side by side, so that memory holds one batch of each: all items that come before the next
//! horizon are given in, then every recording promises what it goes on with. The end of a recording promises
//! everything. So the same recordings give the same reports, however fast they are read.

use super::hub::{Hub, Reported};
use super::info::HubStream;
use super::items::{BlankScope, TimedQuads};
use super::report::StandingReport;
use crate::database::Database;
use crate::error::{Kind, QueryError};
use query::standing::{Extent, Late, StandingQuery};
use std::iter::Peekable;
use std::ops::ControlFlow;

/// Items of a recording, in the order of their times but for what its stream's lateness allows.
pub type RecordedItems<'r> = Box<dyn Iterator<Item = Result<TimedQuads, QueryError>> + 'r>;

/// A recorded stream.
pub struct Recording<'r> {
    /// The stream.
    pub stream: HubStream,
    /// Its items.
    pub items: RecordedItems<'r>,
}

/// Which part of the recordings is run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplaySpan {
    /// When the streams begin (milliseconds); `None`: with the first item.
    pub from_ms: Option<u64>,
    /// When the queries are registered (milliseconds): none is evaluated before; `None`: when the streams begin.
    pub registered_ms: Option<u64>,
    /// The last close (milliseconds); `None`: until every window that holds an item has closed.
    pub until_ms: Option<u64>,
}

/// The only source of each stream.
const SOURCE: &str = "";

struct Feed<'r> {
    stream: String,
    items: Peekable<RecordedItems<'r>>,
    scope: BlankScope,
    /// Whether an item may be earlier than one before it.
    is_shuffled: bool,
}

impl Feed<'_> {
    /// The time of its next item that is not after `until`; `None`: there is none.
    fn head(&mut self, until_ms: u64) -> Result<Option<u64>, QueryError> {
        loop {
            match self.items.peek() {
                Some(Ok(item)) if item.time_ms <= until_ms => return Ok(Some(item.time_ms)),
                // What is late may come behind it.
                Some(Ok(_)) if self.is_shuffled => drop(self.items.next()),
                Some(Ok(_)) | None => return Ok(None),
                Some(Err(error)) => return Err(error.clone()),
            }
        }
    }

    /// Takes the items before a moment.
    fn take_before(
        &mut self,
        horizon_ms: u64,
        until_ms: u64,
    ) -> Result<Vec<TimedQuads>, QueryError> {
        let mut taken = Vec::new();
        while self.head(until_ms)?.is_some_and(|head| head < horizon_ms) {
            taken.extend(self.items.next().transpose()?);
        }
        Ok(taken)
    }
}

/// See the head of this file.
pub struct Replay<'r> {
    hub: Hub,
    feeds: Vec<Feed<'r>>,
    span: ReplaySpan,
    /// When the streams began (milliseconds).
    from_ms: u64,
    /// The time of the last item (milliseconds).
    last_ms: u64,
    /// How long after the last item windows may still hold it (milliseconds).
    tail_ms: u64,
    /// The shortest batch (milliseconds).
    grain_ms: u64,
    /// Items that came too late for any window (count).
    late: u64,
}

/// Takes reports, closes ascending; a break ends the replay.
type EachReport<'t> = dyn FnMut(StandingReport) -> ControlFlow<()> + 't;
/// Is told the time up to which items are given in next (milliseconds): whoever wants them at their speed waits.
type Pace<'p> = dyn FnMut(u64) + 'p;

impl<'r> Replay<'r> {
    /// Makes the streams and registers the queries, each with the name that it has where its text gives none. What is
    /// absorbed goes into the database.
    pub fn new(
        database: Database,
        recordings: Vec<Recording<'r>>,
        queries: Vec<(String, StandingQuery)>,
        span: ReplaySpan,
    ) -> Result<Replay<'r>, QueryError> {
        let mut hub = Hub::new(database);
        let mut feeds = Vec::new();
        let mut settings = Vec::new();
        for recording in recordings {
            feeds.push(Feed {
                stream: recording.stream.name.clone(),
                items: recording.items.peekable(),
                scope: BlankScope::default(),
                is_shuffled: recording.stream.lateness_ms > 0,
            });
            settings.push(recording.stream);
        }
        let mut first_ms = None;
        for feed in &mut feeds {
            let head = feed.head(u64::MAX)?;
            first_ms = [first_ms, head].into_iter().flatten().min();
        }
        let from_ms = span.from_ms.or(first_ms).unwrap_or(0);
        let mut tail_ms = 0;
        for stream in &settings {
            hub.create(stream, from_ms)?;
            tail_ms = tail_ms.max(stream.lateness_ms.saturating_add(stream.grain_ms));
        }
        // What one query writes may be read by the next.
        let levels = queries.len() as u64 + 1;
        for (name, query) in queries {
            for stream in query.streams() {
                if !hub.can_read(stream) {
                    let message = format!("no recording of the stream <{stream}> was given");
                    return Err(QueryError::new(Kind::NotFound, message)
                        .with_hint("--stream IRI=FILE gives one"));
                }
            }
            if query.late == Late::Revise {
                // What is late may come behind all else.
                for feed in &mut feeds {
                    feed.is_shuffled = true;
                }
            }
            tail_ms = tail_ms.max(reach_ms(&query));
            hub.register(query, &name, span.registered_ms.unwrap_or(from_ms))?;
        }
        Ok(Replay {
            hub,
            feeds,
            span,
            from_ms,
            last_ms: from_ms,
            tail_ms: tail_ms.saturating_mul(levels),
            late: 0,
            grain_ms: settings.iter().map(|it| it.grain_ms).min().unwrap_or(1),
        })
    }

    /// Runs to the end; gives the number of items that came later than their stream allows, which no window has.
    pub fn run(
        mut self,
        pace: &mut Pace<'_>,
        each: &mut EachReport<'_>,
    ) -> Result<u64, QueryError> {
        let until_ms = self.span.until_ms.unwrap_or(u64::MAX);
        loop {
            let mut next_ms = None;
            for feed in &mut self.feeds {
                next_ms = [next_ms, feed.head(until_ms)?].into_iter().flatten().min();
            }
            let Some(next_ms) = next_ms else {
                break;
            };
            let horizon_ms = next_ms.saturating_add(self.grain_ms);
            pace(horizon_ms);
            if self.give(horizon_ms, until_ms)?.is_none() {
                continue;
            }
            if self.advance(until_ms, false, each)?.is_break() {
                return Ok(self.late);
            }
        }
        let end_ms = match self.span.until_ms {
            // An item at the last close itself may belong to a window.
            Some(until) => until.saturating_add(1).saturating_add(self.tail_ms),
            None => self.last_ms.saturating_add(self.tail_ms).saturating_add(1),
        };
        for feed in &self.feeds {
            self.hub.watermark(&feed.stream, SOURCE, end_ms)?;
        }
        self.advance(until_ms, true, each).map(|_| self.late)
    }

    /// Gives in what comes before a moment; `None` where it all came before the streams began.
    fn give(&mut self, horizon_ms: u64, until_ms: u64) -> Result<Option<()>, QueryError> {
        let mut given = None;
        for feed in &mut self.feeds {
            let mut items = feed.take_before(horizon_ms, until_ms)?;
            items.retain(|item| item.time_ms >= self.from_ms);
            if let Some(last) = items.iter().map(|item| item.time_ms).max() {
                self.last_ms = self.last_ms.max(last);
                let scope = Some(&mut feed.scope);
                let accepted = self.hub.push(&feed.stream, SOURCE, scope, &items, None)?;
                self.late += accepted.late.len() as u64;
                given = Some(());
            }
        }
        for feed in &mut self.feeds {
            let head = feed.head(until_ms)?;
            let promised_ms = head.map_or(horizon_ms, |head| head.min(horizon_ms));
            self.hub
                .watermark(&feed.stream, SOURCE, promised_ms.max(self.from_ms))?;
        }
        Ok(given)
    }

    fn advance(
        &mut self,
        until_ms: u64,
        is_over: bool,
        each: &mut EachReport<'_>,
    ) -> Result<ControlFlow<()>, QueryError> {
        let last_ms = self.last_ms;
        let is_open = self.span.until_ms.is_none();
        self.hub.advance(&mut |Reported { report, .. }| {
            if let Some(failure) = report.failure {
                return Err(failure);
            }
            // Without an end, what comes after the last item and holds none is not asked for.
            let is_empty = report.items == 0 && report.rows.is_empty();
            let is_behind = is_over && is_open && report.close_ms > last_ms && is_empty;
            if report.close_ms > until_ms || is_behind {
                return Ok(ControlFlow::Continue(()));
            }
            Ok(each(report))
        })
    }
}

/// How long after an item a window of the query may still close over it, at most (milliseconds).
fn reach_ms(query: &StandingQuery) -> u64 {
    let of_extent = |extent: Extent| match extent {
        Extent::Time {
            range_ms, step_ms, ..
        } => range_ms.saturating_add(step_ms),
        Extent::Past {
            from_ms, step_ms, ..
        } => from_ms.saturating_add(step_ms),
        Extent::Sliding { range_ms } => range_ms,
        Extent::Count { .. } | Extent::Now | Extent::All => 0,
    };
    let windows = query.windows.iter().map(|window| of_extent(window.extent));
    let windows = windows.max().unwrap_or(0);
    windows
        .saturating_add(query.every_ms.unwrap_or(0))
        .saturating_add(query.lateness_ms.unwrap_or(0))
}
