//! What evaluations should be, by the letter and by filters: no batches, no seals, no indexes.
//!
//! All items of a run are at hand, and every millisecond is asked whether it is an instant.

use std::collections::{BTreeMap, BTreeSet};

use query::standing::{Bounds, Extent, Origin, When};
use store::delta::IdQuad;
use stream::{Schedule, ScheduledWindow};

/// A stream whose items are all known: those that were not late, sorted by time, stably.
#[derive(Clone, Debug, Default)]
pub struct Whole {
    pub grain_ms: i64,
    pub begin: i64,
    pub items: Vec<(i64, Vec<IdQuad>)>,
}

impl Whole {
    /// How many items are before `time`.
    fn rank(&self, time: i64) -> usize {
        self.items.partition_point(|item| item.0 < time)
    }
}

/// The items of a window, as places in its stream.
type Found = std::ops::Range<usize>;

/// A window and its stream.
struct Naive<'a> {
    window: &'a ScheduledWindow,
    stream: &'a Whole,
}

impl Naive<'_> {
    fn is_left_closed(&self) -> bool {
        self.window.bounds == Bounds::LeftClosed
    }

    /// What is before this is seen at `instant`.
    fn horizon(&self, instant: i64) -> i64 {
        instant + i64::from(!self.is_left_closed())
    }

    /// The first close, the step, and the span before a close; of a time window.
    fn time(&self) -> Option<(i64, i64, i64, i64)> {
        match self.window.extent {
            Extent::Time {
                range_ms,
                step_ms,
                origin,
            } => {
                let first = match origin {
                    Origin::Epoch { offset_ms } => offset_ms as i64,
                    Origin::FirstItem => {
                        let step = step_ms as i64;
                        let item = self.stream.items.first().map(|item| item.0);
                        item.map_or(i64::MAX / 2, |item| {
                            let mut closes = (1..).map(|k| item / 1000 * 1000 + k * step);
                            let is_seen = |close: &i64| item < self.horizon(*close);
                            closes.find(is_seen).expect("there are many")
                        })
                    }
                };
                Some((first, step_ms as i64, range_ms as i64, 0))
            }
            Extent::Past {
                from_ms,
                to_ms,
                step_ms,
                origin,
            } => {
                let Origin::Epoch { offset_ms } = origin else {
                    unreachable!("windows of the past have no first item in these tests")
                };
                let first = offset_ms as i64;
                Some((first, step_ms as i64, from_ms as i64, to_ms as i64))
            }
            _ => None,
        }
    }

    fn is_grid_close(&self, instant: i64) -> bool {
        let (first, step, _, _) = self.time().expect("a time window");
        instant >= first && (instant - first) % step == 0
    }

    fn is_close(&self, instant: i64) -> bool {
        match self.window.extent {
            Extent::Time { .. } | Extent::Past { .. } => self.is_grid_close(instant),
            Extent::Count { items, step } => {
                let (items, step) = (items as usize, step as usize);
                let closed = |time| self.stream.rank(self.horizon(time)) / step;
                let least = if self.window.partial_first { 0 } else { items };
                closed(instant) > closed(instant - 1) && closed(instant) * step >= least
            }
            Extent::Sliding { .. } | Extent::Now | Extent::All => {
                let seen = |time| self.stream.rank(self.horizon(time));
                seen(instant) > seen(instant - 1)
            }
        }
    }

    /// Whether windows before `instant` open before the stream begins and are not reported therefore.
    fn is_partial(&self, instant: i64) -> bool {
        let Some((_, _, from, _)) = self.time().filter(|_| !self.window.partial_first) else {
            return false;
        };
        let whole = |close: &i64| self.is_grid_close(*close) && close - from >= self.stream.begin;
        !(0..=instant).rev().any(|close| whole(&close))
    }

    fn within(&self, from: i64, to: i64) -> Found {
        let (from, to) = if self.is_left_closed() {
            (from, to)
        } else {
            (from + 1, to + 1)
        };
        let start = self.stream.rank(from);
        start..self.stream.rank(to).max(start)
    }

    fn at_close(&self, instant: i64) -> Found {
        match self.window.extent {
            Extent::Time { .. } | Extent::Past { .. } => {
                let (first, step, from, to) = self.time().expect("a time window");
                if instant < first {
                    return 0..0;
                }
                let close = instant - (instant - first) % step;
                self.within(close - from, close - to)
            }
            Extent::Count { items, step } => {
                let rank = self.stream.rank(self.horizon(instant));
                let end = rank - rank % step as usize;
                end.saturating_sub(items as usize)..end
            }
            Extent::Sliding { range_ms } => self.within(instant - range_ms as i64, instant),
            Extent::Now | Extent::All => self.latest(self.horizon(instant)),
        }
    }

    fn latest(&self, before: i64) -> Found {
        let end = self.stream.rank(before);
        match (self.window.extent, end) {
            (Extent::All, _) | (_, 0) => 0..end,
            _ => self.stream.rank(self.stream.items[end - 1].0)..end,
        }
    }

    fn at_change(&self, end: i64) -> Found {
        match self.window.extent {
            Extent::Time { .. } | Extent::Past { .. } => {
                let (first, step, from, to) = self.time().expect("a time window");
                if first >= i64::MAX / 2 {
                    return 0..0;
                }
                let last = if self.is_left_closed() { end } else { end - 1 };
                let mut close = first;
                while close < last {
                    close += step;
                }
                let found = self.within(close - from, close - to);
                let seen = self.stream.rank(end);
                found.start.min(seen)..found.end.min(seen)
            }
            Extent::Count { items, .. } => {
                let rank = self.stream.rank(end);
                rank.saturating_sub(items as usize)..rank
            }
            Extent::Sliding { range_ms } => {
                let found = self.within(end - range_ms as i64, end);
                let seen = self.stream.rank(end);
                found.start.min(seen)..found.end.min(seen)
            }
            Extent::Now | Extent::All => self.latest(end),
        }
    }

    /// Up to when the stream must be known before an evaluation at `instant`.
    fn need(&self, instant: i64) -> i64 {
        let Some((first, step, _, to)) = self.time() else {
            return self.horizon(instant);
        };
        if instant >= first {
            let end = instant - (instant - first) % step - to;
            return if end < 0 { 0 } else { self.horizon(end) };
        }
        let is_first_item = matches!(
            self.window.extent,
            Extent::Time {
                origin: Origin::FirstItem,
                ..
            }
        );
        let known = self
            .stream
            .items
            .first()
            .map_or(i64::MAX, |item| item.0 + 1);
        if is_first_item {
            self.horizon(instant).min(known)
        } else {
            0
        }
    }
}

/// When each quad came last (milliseconds), and how often.
pub type Arrivals = BTreeMap<IdQuad, (u64, u32)>;

/// One evaluation as it should be.
#[derive(Clone, Debug)]
pub struct Expected {
    pub close: i64,
    /// Of each window, its quads and how many items they came in.
    pub windows: Vec<(BTreeSet<IdQuad>, u64)>,
    /// Of each window, when each quad came last (milliseconds), and how often.
    pub arrivals: Vec<Arrivals>,
    /// Of each window, up to when its stream must be known.
    pub needs: Vec<i64>,
}

/// All evaluations of a query from `from` until `until`, both included. `streams` are those of its windows, in order.
pub fn evaluations(
    schedule: &Schedule,
    streams: &[&Whole],
    from: i64,
    until: i64,
) -> Vec<Expected> {
    let windows = schedule.windows.iter().zip(streams);
    let naive: Vec<Naive<'_>> = windows
        .map(|(window, stream)| Naive { window, stream })
        .collect();
    let begin = streams.iter().map(|stream| stream.begin).min();
    let from = from.max(begin.expect("there is a window"));
    let instants = (from..=until).filter(|&instant| is_instant(schedule, &naive, instant));
    instants
        .map(|instant| expected(schedule, &naive, instant))
        .collect()
}

fn is_instant(schedule: &Schedule, naive: &[Naive<'_>], instant: i64) -> bool {
    let is_due = match (schedule.report.when, schedule.every_ms) {
        (When::Change, _) => {
            return naive.iter().any(|one| {
                let grain_ms = one.stream.grain_ms;
                let rank = |time| one.stream.rank(time);
                instant % grain_ms == 0 && rank(instant) > rank(instant - grain_ms)
            });
        }
        (When::Periodic { period_ms }, _) | (When::Close, Some(period_ms)) => {
            instant % period_ms as i64 == 0
        }
        (When::Close, None) => naive.iter().any(|one| one.is_close(instant)),
    };
    let nonempty = || naive.iter().any(|one| !one.at_close(instant).is_empty());
    is_due
        && (!schedule.report.nonempty || nonempty())
        && !naive.iter().any(|one| one.is_partial(instant))
}

fn expected(schedule: &Schedule, naive: &[Naive<'_>], close: i64) -> Expected {
    let on_change = schedule.report.when == When::Change;
    let found = |one: &Naive<'_>| {
        if on_change {
            one.at_change(close)
        } else {
            one.at_close(close)
        }
    };
    let arrivals = |one: &Naive<'_>| {
        let mut arrivals = Arrivals::new();
        for (time, quads) in &one.stream.items[found(one)] {
            for quad in quads {
                let arrival = arrivals.entry(*quad).or_default();
                *arrival = (arrival.0.max(*time as u64), arrival.1 + 1);
            }
        }
        arrivals
    };
    let content = |one: &Naive<'_>| {
        let found = found(one);
        let items = &one.stream.items[found.clone()];
        let quads = items.iter().flat_map(|item| item.1.iter().copied());
        (quads.collect(), found.len() as u64)
    };
    let need = |one: &Naive<'_>| {
        let grain_ms = one.stream.grain_ms;
        match schedule.sees_stored {
            _ if on_change => close,
            true => one.need(close).max(close / grain_ms * grain_ms),
            false => one.need(close),
        }
    };
    Expected {
        close,
        windows: naive.iter().map(content).collect(),
        arrivals: naive.iter().map(arrivals).collect(),
        needs: naive.iter().map(need).collect(),
    }
}
