//! What one window of a query reaches at an evaluation: which part of its stream, and from when on that is decided.
//!
//! A time window closes on a [`Grid`]; between closes it is what it was at the last one. A count window closes when
//! the stream has had a multiple of its step in items, `NOW` and `ALL` whenever something came. An item at `t` belongs
//! to closes after `t` (`[o, c)`), or from `t` on (`(o, c]`); so what a close `c` sees is all before its *horizon*, `c`
//! or `c + 1`, and "covered" is one comparison of times. Several closes of a count window in one millisecond are one.
//!
//! With `report=change` a query is evaluated at the ends of batches, and a window is what the oldest open one holds by
//! then: the one with the least close that the batch's last millisecond may belong to. Batches then come whole, for
//! both kinds of bounds.
//!
//! Invariant: nothing here looks at what is sealed but not visible yet ([`Sight`]). Cost: O(log batches) each.

use std::ops::Range;

use crate::retention::{Cut, Retained};
use crate::schedule::ScheduledWindow;
use crate::time::Time;
use query::standing::{Bounds, Extent, Origin};

/// The first closes of `t0=first` are whole seconds after the first item's second (milliseconds).
const FIRST_ITEM_UNIT_MS: u64 = 1000;

/// Moments at equal distances: `first`, `first + step`, ...
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    pub(crate) first: Time,
    pub(crate) step_ms: u64,
}

impl Grid {
    /// The first moment that is not before `time`.
    pub(crate) fn from(self, time: Time) -> Time {
        let past = time.0.saturating_sub(self.first.0);
        self.first
            .later(past.div_ceil(self.step_ms).saturating_mul(self.step_ms))
    }

    /// The last moment that is not after `time`.
    pub(crate) fn until(self, time: Time) -> Option<Time> {
        let past = time.0.checked_sub(self.first.0)?;
        Some(Time(time.0 - past % self.step_ms))
    }
}

/// What may be seen of a stream.
#[derive(Clone, Copy)]
pub(crate) struct Sight<'a> {
    pub(crate) retained: &'a Retained,
    /// All before this is decided and visible.
    pub(crate) covered: Time,
    /// When the stream began.
    pub(crate) begin: Time,
}

impl Sight<'_> {
    fn seen(self, time: Time) -> Option<Time> {
        (time < self.covered).then_some(time)
    }

    /// The first item that is not before `time`.
    fn first_from(self, time: Time) -> Option<Time> {
        self.seen(self.retained.first_from(time)?)
    }

    /// The last item before `time`.
    fn last_before(self, time: Time) -> Option<Time> {
        self.retained.last_before(time.min(self.covered))
    }

    /// How many items are before `time`.
    fn rank(self, time: Time) -> u64 {
        self.retained.rank(time.min(self.covered))
    }

    fn time_of(self, ordinal: u64) -> Option<Time> {
        self.seen(self.retained.time_of(ordinal)?)
    }

    /// The first end of a batch in which something came that is not before `time`.
    pub(crate) fn batch_end_from(self, time: Time) -> Option<Time> {
        let end = self.retained.batch_end_from(time)?;
        (end <= self.covered).then_some(end)
    }
}

/// A part of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Selection {
    /// What came in a span of time.
    Span(Range<Time>),
    /// Items by their ordinals in the stream.
    Ordinals(Range<u64>),
}

impl Selection {
    const NOTHING: Selection = Selection::Span(Time(0)..Time(0));

    /// Between which cuts it lies.
    pub(crate) fn cuts(&self, retained: &Retained) -> Range<Cut> {
        match self {
            Selection::Span(span) => retained.cut(span.start)..retained.cut(span.end),
            Selection::Ordinals(items) => retained.cut_of(items.start)..retained.cut_of(items.end),
        }
    }

    /// The moment before which something of it is not there: it is no longer kept, or it never found room.
    pub(crate) fn lost(&self, retained: &Retained) -> Option<Time> {
        let dropped = retained.dropped().filter(|_| self.is_cut(retained));
        let gap = match self {
            Selection::Span(span) => retained.gaps().last_in(span),
            Selection::Ordinals(items) => {
                let first = retained.time_of(items.start).filter(|_| items.start > 0);
                let end = retained.time_of(items.end).unwrap_or(Time::MAX);
                retained.gaps().last_in(&(first.unwrap_or(Time(0))..end))
            }
        };
        dropped.max(gap.map(|last| last.later(1)))
    }

    /// Whether it begins before what is still there.
    fn is_cut(&self, retained: &Retained) -> bool {
        let Some(dropped) = retained.dropped() else {
            return false;
        };
        match self {
            Selection::Span(span) => !span.is_empty() && span.start < dropped,
            Selection::Ordinals(items) => {
                !items.is_empty() && items.start < retained.ordinal(retained.cut(dropped))
            }
        }
    }
}

/// One window of a query and its stream.
#[derive(Clone, Copy)]
pub(crate) struct Reach<'a> {
    pub(crate) window: &'a ScheduledWindow,
    pub(crate) sight: Sight<'a>,
}

/// Which moments before its close a time window has: from so many milliseconds until so many.
struct Span {
    from_ms: u64,
    to_ms: u64,
}

impl Reach<'_> {
    /// The closes of a time window; `None` for other windows, and while it is unknown when they begin.
    pub(crate) fn grid(&self) -> Option<Grid> {
        let (origin, step_ms) = match self.window.extent {
            Extent::Time {
                step_ms, origin, ..
            }
            | Extent::Past {
                step_ms, origin, ..
            } => (origin, step_ms),
            Extent::Count { .. } | Extent::Sliding { .. } | Extent::Now | Extent::All => {
                return None;
            }
        };
        let first = match origin {
            Origin::Epoch { offset_ms } => Time(offset_ms),
            Origin::FirstItem => self.first_close(step_ms)?,
        };
        Some(Grid { first, step_ms })
    }

    /// The first close of `t0=first`, once an item came: the first that sees it. Those before it were empty, and nobody
    /// could know of them.
    fn first_close(&self, step_ms: u64) -> Option<Time> {
        let item = self.sight.seen(self.sight.retained.first()?)?;
        let second = Time(item.0 - item.0 % FIRST_ITEM_UNIT_MS);
        let first = second.later(step_ms);
        Some(Grid { first, step_ms }.from(self.sees(item)))
    }

    /// What is before this moment is seen at an evaluation at `instant`.
    fn horizon(&self, instant: Time) -> Time {
        match self.window.bounds {
            Bounds::LeftClosed => instant,
            Bounds::RightClosed => instant.later(1),
        }
    }

    /// The first instant at which an item at `time` is seen.
    fn sees(&self, time: Time) -> Time {
        match self.window.bounds {
            Bounds::LeftClosed => time.later(1),
            Bounds::RightClosed => time,
        }
    }

    /// The first item's time that a close at `instant` brings and an earlier one does not.
    fn brought(&self, instant: Time) -> Time {
        match self.window.bounds {
            Bounds::LeftClosed => instant.earlier(1),
            Bounds::RightClosed => instant,
        }
    }

    fn span(&self) -> Span {
        match self.window.extent {
            Extent::Time { range_ms, .. } => Span {
                from_ms: range_ms,
                to_ms: 0,
            },
            Extent::Past { from_ms, to_ms, .. } => Span { from_ms, to_ms },
            Extent::Count { .. } | Extent::Sliding { .. } | Extent::Now | Extent::All => {
                unreachable!("it has no grid")
            }
        }
    }

    /// What a time window has that closes at `close`.
    fn closed(&self, close: Time) -> Range<Time> {
        let span = self.span();
        self.before(close, span.from_ms)..self.before(close, span.to_ms)
    }

    /// The horizon of a moment so long before an instant.
    fn before(&self, instant: Time, before_ms: u64) -> Time {
        match instant.0.checked_sub(before_ms) {
            Some(moment) => self.horizon(Time(moment)),
            None => Time(0),
        }
    }

    /// Whether its closes depend on an item that has not come yet.
    pub(crate) fn is_unknown(&self) -> bool {
        let is_time = matches!(self.window.extent, Extent::Time { .. });
        is_time && self.grid().is_none()
    }

    /// Before this instant the window is partial and may not be evaluated; `None` while that is unknown.
    pub(crate) fn whole_from(&self) -> Option<Time> {
        if self.window.partial_first {
            return Some(Time(0));
        }
        match self.grid() {
            Some(grid) => {
                let whole = self.sight.begin.later(self.span().from_ms);
                Some(grid.from(whole))
            }
            None => (!self.is_unknown()).then_some(Time(0)),
        }
    }

    /// The first close of this window that is not before `instant`, as far as it is known.
    pub(crate) fn close_from(&self, instant: Time) -> Option<Time> {
        match self.window.extent {
            Extent::Time { .. } | Extent::Past { .. } => Some(self.grid()?.from(instant)),
            Extent::Count { items, step } => {
                let least = if self.window.partial_first { 0 } else { items };
                let before = self.sight.rank(self.brought(instant));
                let next = (before + 1).max(least).div_ceil(step).saturating_mul(step);
                Some(self.sees(self.sight.time_of(next - 1)?))
            }
            Extent::Sliding { .. } | Extent::Now | Extent::All => {
                Some(self.sees(self.sight.first_from(self.brought(instant))?))
            }
        }
    }

    /// The earliest close that may follow when there is none before `instant`, whatever will come.
    pub(crate) fn earliest_close(&self, instant: Time) -> Time {
        self.grid().map_or(instant, |grid| grid.from(instant))
    }

    /// What an evaluation at a close, or at another instant between closes, sees.
    pub(crate) fn at_close(&self, instant: Time) -> Selection {
        match self.window.extent {
            Extent::Time { .. } | Extent::Past { .. } => {
                let close = self.grid().and_then(|grid| grid.until(instant));
                close.map_or(Selection::NOTHING, |close| {
                    Selection::Span(self.closed(close))
                })
            }
            Extent::Count { items, step } => {
                let rank = self.sight.rank(self.horizon(instant));
                last_items(rank - rank % step, items)
            }
            Extent::Sliding { range_ms } => {
                Selection::Span(self.before(instant, range_ms)..self.horizon(instant))
            }
            Extent::Now | Extent::All => self.latest(self.horizon(instant)),
        }
    }

    /// What an evaluation sees at the end of a batch.
    pub(crate) fn at_change(&self, end: Time) -> Selection {
        match self.window.extent {
            Extent::Time { .. } | Extent::Past { .. } => {
                let Some(grid) = self.grid() else {
                    return Selection::NOTHING;
                };
                let open = self.closed(grid.from(self.sees(end.earlier(1))));
                Selection::Span(open.start..open.end.min(end))
            }
            Extent::Count { items, .. } => last_items(self.sight.rank(end), items),
            Extent::Sliding { range_ms } => {
                Selection::Span(self.before(end, range_ms).min(end)..end)
            }
            Extent::Now | Extent::All => self.latest(end),
        }
    }

    /// All before `end`, or of that the latest moment.
    fn latest(&self, end: Time) -> Selection {
        if self.window.extent == Extent::All {
            return Selection::Span(Time(0)..end);
        }
        let last = self.sight.last_before(end);
        last.map_or(Selection::NOTHING, |last| {
            Selection::Span(last..last.later(1))
        })
    }

    /// Up to when its stream must be covered before an evaluation at a close or between closes.
    pub(crate) fn needs_at_close(&self, instant: Time) -> Time {
        match (self.window.extent, self.grid()) {
            (Extent::Time { .. } | Extent::Past { .. }, Some(grid)) => {
                let close = grid.until(instant);
                close.map_or(Time(0), |close| self.closed(close).end)
            }
            _ => self.horizon(instant),
        }
    }

    /// The end of the last batch of its stream that ends by an instant: up to there it is stored as the instant has it.
    pub(crate) fn batches_until(&self, instant: Time) -> Time {
        Time(instant.0 - instant.0 % self.sight.retained.grain_ms())
    }

    /// Up to when its stream must be covered so that nothing of that instant is still open.
    pub(crate) fn needs_all(&self, instant: Time) -> Time {
        self.horizon(instant)
    }

    /// Whether something is to be seen of it at `instant`; else the first instant at which that may be so, of what has
    /// come by now.
    pub(crate) fn is_seen_at(&self, instant: Time) -> Result<(), Option<Time>> {
        match self.at_close(instant) {
            Selection::Ordinals(items) if items.is_empty() => Err(self.filled(instant)),
            Selection::Ordinals(_) => Ok(()),
            Selection::Span(span) => {
                let first = self.sight.first_from(span.start);
                match first {
                    Some(first) if first < span.end => Ok(()),
                    Some(_) => Err(self.sees_from(span.end.max(span.start), instant)),
                    None => Err(None),
                }
            }
        }
    }

    /// The first instant after `instant` at which a count window has had its first step.
    fn filled(&self, instant: Time) -> Option<Time> {
        let Extent::Count { step, .. } = self.window.extent else {
            return None;
        };
        let item = self.sight.time_of(step - 1)?;
        Some(self.sees(item).max(instant.later(1)))
    }

    /// The first instant after `instant` that sees an item which is not before `time`.
    fn sees_from(&self, time: Time, instant: Time) -> Option<Time> {
        let item = self.sight.first_from(time)?;
        let next = match self.grid() {
            Some(grid) => grid.from(self.sees(item).later(self.span().to_ms)),
            None if matches!(
                self.window.extent,
                Extent::Sliding { .. } | Extent::Now | Extent::All
            ) =>
            {
                self.sees(item)
            }
            None => return None,
        };
        Some(next.max(instant.later(1)))
    }

    /// The time of the first item that an evaluation at `instant` or later may see.
    pub(crate) fn floor(&self, instant: Time, on_change: bool) -> Time {
        let selection = match self.grid() {
            Some(grid) if !on_change => {
                let close = grid.until(instant).unwrap_or(grid.first);
                Selection::Span(self.closed(close))
            }
            _ if on_change => self.at_change(instant),
            _ => self.at_close(instant),
        };
        match selection {
            Selection::Span(span) if span.is_empty() => self.unseen(instant),
            Selection::Span(span) => span.start,
            Selection::Ordinals(items) => self.sight.time_of(items.start).unwrap_or(Time(0)),
        }
    }

    /// The same where nothing is to be seen at `instant`.
    fn unseen(&self, instant: Time) -> Time {
        match self.window.extent {
            Extent::Now => self.brought(instant).min(self.sight.covered),
            _ => Time(0),
        }
    }
}

/// The last `count` of so many items.
fn last_items(rank: u64, count: u64) -> Selection {
    Selection::Ordinals(rank.saturating_sub(count)..rank)
}
