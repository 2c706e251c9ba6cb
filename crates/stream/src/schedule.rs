//! What of a standing query is the streams' business: its windows, when it is evaluated, and how long it waits.
//!
//! A [`Schedule`] is made of a [`StandingQuery`] and the ids of the streams that it names. What this crate cannot do is
//! refused here, by name, and nowhere later.

use query::standing::{Bounds, Extent, Freshness, Late, Report, StandingQuery, When};

/// A stream, by its number. Numbers are given in order and never again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u32);

/// A registered query, by the caller's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueryId(pub u64);

/// Queries of one schedule that have come equally far, by a number that is given once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CohortId(pub(crate) u64);

/// When a query is evaluated, and over what.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Schedule {
    /// Its windows, in the order of the text; at least one.
    pub windows: Vec<ScheduledWindow>,
    /// What an evaluation waits for. Whether answers without rows are reported is for whoever evaluates.
    pub report: Report,
    /// Evaluation instants that replace the windows' closes (milliseconds); above 0.
    pub every_ms: Option<u64>,
    /// How much later than its streams' own lateness an item may come (milliseconds).
    pub lateness_ms: u64,
    /// Whether the slices of its windows say when and how often each quad came.
    pub asks_arrivals: bool,
    /// Whether answers see the stored graph as a close leaves it. An evaluation then waits for all batches that end by its
    /// instant, also where its windows closed before: the commit that covers them is what it sees.
    pub sees_stored: bool,
    /// Evaluations are made again for items that come so much too late (milliseconds); `None`: never.
    pub revise_ms: Option<u64>,
}

/// One window of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScheduledWindow {
    /// The stream that it is of.
    pub stream: StreamId,
    /// What it holds.
    pub extent: Extent,
    /// Which end belongs to it.
    pub bounds: Bounds,
    /// Whether windows are evaluated that open before the stream begins.
    pub partial_first: bool,
}

/// Why a query cannot be scheduled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// It has no window, so no stream ever makes it ready.
    #[error("the query has no window")]
    NoWindow,
    /// It names a stream that is not there.
    #[error("there is no stream <{0}>: create it first")]
    NoStream(String),
    /// A number of a window or of the schedule is 0.
    #[error("{0} of window {1} is 0")]
    Zero(&'static str, usize),
    /// Evaluation instants would not move on.
    #[error("the period of evaluations is 0 ms")]
    Period,
    /// A past window ends before it begins.
    #[error(
        "window {window} goes from {from_ms} ms to {to_ms} ms before its close: the first must be the greater"
    )]
    Past {
        /// The window's place.
        window: usize,
        /// Its beginning (milliseconds before the close).
        from_ms: u64,
        /// Its end (milliseconds before the close).
        to_ms: u64,
    },
    /// Nobody would know how long reports may be revised.
    #[error(
        "late=revise needs lateness=SPAN (lateness=10s): how long after its time an item may still revise reports"
    )]
    Revise,
    /// Items of a window are not decided by its span of time.
    #[error(
        "late=revise is for windows of time: what window {0} holds depends on the order of items"
    )]
    ReviseWindow(usize),
}

impl Schedule {
    /// The schedule of a query, whose streams are found by name.
    pub fn of(
        query: &StandingQuery,
        find: impl Fn(&str) -> Option<StreamId>,
    ) -> Result<Schedule, ScheduleError> {
        let is_revised = query.late == Late::Revise;
        if is_revised && query.lateness_ms.is_none_or(|span| span == 0) {
            return Err(ScheduleError::Revise);
        }
        let mut windows = Vec::with_capacity(query.windows.len());
        for clause in &query.windows {
            let stream = find(&clause.stream);
            windows.push(ScheduledWindow {
                stream: stream.ok_or_else(|| ScheduleError::NoStream(clause.stream.clone()))?,
                extent: clause.extent,
                bounds: clause.bounds,
                partial_first: clause.partial_first,
            });
        }
        let schedule = Schedule {
            windows,
            report: query.report,
            every_ms: query.every_ms,
            // What revises need not be waited for.
            lateness_ms: query.lateness_ms.filter(|_| !is_revised).unwrap_or(0),
            revise_ms: query.lateness_ms.filter(|_| is_revised),
            asks_arrivals: query.multiset || query.asks_times,
            sees_stored: query.sees_stored && query.freshness == Freshness::Aligned,
        };
        schedule.validate()?;
        Ok(schedule)
    }

    /// Whether it can be kept.
    pub fn validate(&self) -> Result<(), ScheduleError> {
        if self.windows.is_empty() {
            return Err(ScheduleError::NoWindow);
        }
        for (place, window) in self.windows.iter().enumerate() {
            check(place, &window.extent)?;
            let counts = matches!(window.extent, Extent::Count { .. } | Extent::Now);
            if self.revise_ms.is_some() && counts {
                return Err(ScheduleError::ReviseWindow(place));
            }
        }
        match self.period_ms() {
            Some(0) => Err(ScheduleError::Period),
            _ => Ok(()),
        }
    }

    /// How far apart evaluation instants are that no window gives (milliseconds), if they are such.
    pub(crate) fn period_ms(&self) -> Option<u64> {
        match self.report.when {
            When::Periodic { period_ms } => Some(period_ms),
            When::Close => self.every_ms,
            When::Change => None,
        }
    }

    /// How long after an item's time windows may hold it at most (milliseconds); `None`: for ever.
    pub(crate) fn reach_ms(&self) -> Option<u64> {
        let mut reach = 0;
        for window in &self.windows {
            reach = reach.max(match window.extent {
                Extent::Time {
                    range_ms, step_ms, ..
                } => range_ms.saturating_add(step_ms),
                Extent::Past {
                    from_ms, step_ms, ..
                } => from_ms.saturating_add(step_ms),
                Extent::Sliding { range_ms } => range_ms,
                Extent::Count { .. } | Extent::Now | Extent::All => return None,
            });
        }
        Some(reach.saturating_add(self.period_ms().unwrap_or(0)))
    }

    /// Whether a window of this stream asks for edges.
    pub(crate) fn has_edges_of(&self, stream: StreamId) -> bool {
        let is_right_closed = |window: &ScheduledWindow| window.bounds == Bounds::RightClosed;
        let on_close = self.report.when != When::Change;
        let windows = self.windows.iter();
        on_close
            && windows
                .filter(|window| window.stream == stream)
                .any(is_right_closed)
    }
}

fn check(place: usize, extent: &Extent) -> Result<(), ScheduleError> {
    let numbers = match *extent {
        Extent::Time {
            range_ms, step_ms, ..
        } => [("the range", range_ms), ("the step", step_ms)],
        Extent::Count { items, step } => [("the number of items", items), ("the step", step)],
        Extent::Past {
            from_ms,
            to_ms,
            step_ms,
            ..
        } => {
            if from_ms <= to_ms {
                let window = place;
                return Err(ScheduleError::Past {
                    window,
                    from_ms,
                    to_ms,
                });
            }
            [("the beginning", from_ms), ("the step", step_ms)]
        }
        Extent::Sliding { range_ms } => [("the range", range_ms); 2],
        Extent::Now | Extent::All => return Ok(()),
    };
    match numbers.into_iter().find(|(_, number)| *number == 0) {
        Some((what, _)) => Err(ScheduleError::Zero(what, place)),
        None => Ok(()),
    }
}
