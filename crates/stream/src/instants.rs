//! When a standing query is evaluated.
//!
//! Instants are the closes of all its windows, together; or every so many milliseconds; or the ends of batches that
//! brought something (`report=change`). At each, a time window contributes its latest closed content. With `nonempty`
//! an instant at which all windows are empty is none: those are stepped over by asking for the next item, not one by
//! one, so a silent year costs nothing. Without it every one is due.
//!
//! What is found is the next instant *as far as is known*: a stream that lags may still bring an earlier one. So an
//! instant is taken only when every window is covered up to it ([`Instants::need`]); then nothing can come before it.
//! Invariant: of what is covered, no instant is skipped and none comes twice, as long as each is asked for from one
//! past the last.
//!
//! Sources: Dell'Aglio et al., "RSP-QL semantics" (IJSWIS 2014), report policies; Botan et al., "SECRET" (VLDB 2010).

use crate::reach::{Grid, Reach, Selection, Sight};
use crate::schedule::{Schedule, StreamId};
use crate::time::Time;
use query::standing::When;
use smallvec::SmallVec;

/// The instants of one query, as its streams are now.
pub(crate) struct Instants<'a> {
    schedule: &'a Schedule,
    reaches: SmallVec<[Reach<'a>; 2]>,
}

impl<'a> Instants<'a> {
    /// Of a query whose streams look like this.
    pub(crate) fn new(schedule: &'a Schedule, sight: impl Fn(StreamId) -> Sight<'a>) -> Self {
        let reach = |window| Reach {
            window,
            sight: sight(window.stream),
        };
        Instants {
            schedule,
            reaches: schedule.windows.iter().map(reach).collect(),
        }
    }

    /// The first instant that is not before `from`, of what has come by now. `None` until more comes.
    pub(crate) fn next(&self, from: Time) -> Option<Time> {
        let from = self.whole_from(from)?;
        if self.on_change() {
            let ends = self.reaches.iter();
            return ends
                .filter_map(|reach| reach.sight.batch_end_from(from))
                .min();
        }
        if !self.schedule.report.nonempty {
            return self.instant_from(from);
        }
        let seen = self
            .reaches
            .iter()
            .filter_map(|reach| self.seen_from(reach, from));
        seen.min()
    }

    /// Up to when the stream of a window must be covered before the query is evaluated at `instant`.
    pub(crate) fn need(&self, window: usize, instant: Time) -> Time {
        if self.on_change() {
            return instant;
        }
        let reach = &self.reaches[window];
        let needed = reach.needs_at_close(instant);
        if self.schedule.sees_stored {
            needed.max(reach.batches_until(instant))
        } else {
            needed
        }
    }

    /// Up to when a stream must be covered to have nothing open that `instant` might see.
    pub(crate) fn need_of_all(&self, window: usize, instant: Time) -> Time {
        if self.on_change() {
            instant
        } else {
            self.reaches[window].needs_all(instant)
        }
    }

    /// What the query sees of a window at `instant`.
    pub(crate) fn selection(&self, window: usize, instant: Time) -> Selection {
        if self.on_change() {
            self.reaches[window].at_change(instant)
        } else {
            self.reaches[window].at_close(instant)
        }
    }

    /// What came before this is seen of a window by no instant that is not before `from`.
    pub(crate) fn floor(&self, window: usize, from: Time) -> Time {
        let from = self.whole_from(from).unwrap_or(from);
        let earliest = match self.period() {
            _ if self.on_change() => from,
            Some(grid) => grid.from(from),
            None => {
                let closes = self.reaches.iter().map(|reach| reach.earliest_close(from));
                closes.min().unwrap_or(from)
            }
        };
        self.reaches[window].floor(earliest, self.on_change())
    }

    /// Whether what comes can bring no instant that is not known already.
    pub(crate) fn is_fixed(&self) -> bool {
        if self.on_change() || self.schedule.report.nonempty {
            return false;
        }
        let has_period = self.schedule.period_ms().is_some();
        let is_fixed = |reach: &Reach<'_>| reach.grid().is_some() || has_period;
        let mut reaches = self.reaches.iter();
        reaches.all(|reach| !reach.is_unknown() && is_fixed(reach))
    }

    /// All before this is visible of every stream of the query.
    pub(crate) fn covered(&self) -> Time {
        let covered = self.reaches.iter().map(|reach| reach.sight.covered);
        covered.min().unwrap_or_default()
    }

    fn on_change(&self) -> bool {
        self.schedule.report.when == When::Change
    }

    /// `from`, or the first instant at which all windows are whole that may not be partial; `None` while that is unknown.
    /// With `report=change` windows are open, and none is whole.
    fn whole_from(&self, from: Time) -> Option<Time> {
        if self.on_change() {
            return Some(from);
        }
        let mut whole = from;
        for reach in &self.reaches {
            whole = whole.max(reach.whole_from()?);
        }
        Some(whole)
    }

    fn period(&self) -> Option<Grid> {
        let step_ms = self.schedule.period_ms()?;
        Some(Grid {
            first: Time(0),
            step_ms,
        })
    }

    /// The first instant that is not before `from`, whether windows are empty or not.
    fn instant_from(&self, from: Time) -> Option<Time> {
        if let Some(grid) = self.period() {
            return Some(grid.from(from));
        }
        let closes = self.reaches.iter();
        closes.filter_map(|reach| reach.close_from(from)).min()
    }

    /// The first of them at which something is to be seen of a window. Each turn steps over items that no instant sees.
    fn seen_from(&self, reach: &Reach<'_>, from: Time) -> Option<Time> {
        let mut instant = self.instant_from(from)?;
        loop {
            match reach.is_seen_at(instant) {
                Ok(()) => return Some(instant),
                Err(next) => instant = self.instant_from(next?)?,
            }
        }
    }
}
