//! What a hub's work has cost, by phase: for whoever measures, and for metrics.
//!
//! Times are summed since the hub was made; whoever wants those of a span subtracts. A phase is timed as a whole, some tens
//! of nanoseconds a push, a commit or an evaluation.

use std::ops::Sub;
use std::time::{Duration, Instant};

/// See the head of this file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HubCosts {
    /// Ids for the terms of items.
    pub numbering: Duration,
    /// What the log is told outside of commits: above all the items of a push, before they are taken. Making their text is a part of
    /// [`Self::numbering`].
    pub logging: Duration,
    /// Waiting for the disk, wherever: it is in no other cost.
    pub syncing: Duration,
    /// Items with ids into the open batches of their streams.
    pub opening: Duration,
    /// Batches out of those, in the order of time, and their slices: keys, offsets and neighbours in both directions.
    pub sealing: Duration,
    /// Commits of what is stored, and of what the log is told with them.
    pub storing: Duration,
    /// Windows for evaluations: panes that are merged for them, and which slices they have.
    pub windows: Duration,
    /// Evaluations.
    pub evaluating: Duration,
}

impl HubCosts {
    /// From ids to visible: all but the terms, what is logged before, the disk, windows and evaluations.
    pub fn injecting(&self) -> Duration {
        self.opening + self.sealing + self.storing
    }
}

impl Sub for HubCosts {
    type Output = HubCosts;

    /// What was spent since `before`.
    fn sub(self, before: HubCosts) -> HubCosts {
        HubCosts {
            numbering: self.numbering.saturating_sub(before.numbering),
            logging: self.logging.saturating_sub(before.logging),
            syncing: self.syncing.saturating_sub(before.syncing),
            opening: self.opening.saturating_sub(before.opening),
            sealing: self.sealing.saturating_sub(before.sealing),
            storing: self.storing.saturating_sub(before.storing),
            windows: self.windows.saturating_sub(before.windows),
            evaluating: self.evaluating.saturating_sub(before.evaluating),
        }
    }
}

/// Adds what `work` takes to `cost`.
pub(super) fn timed<T>(cost: &mut Duration, work: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let done = work();
    *cost += begun.elapsed();
    done
}
