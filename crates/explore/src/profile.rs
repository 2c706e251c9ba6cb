//! What each step of a walk did: plain counters, for `--profile` and metrics.

/// One step's counters. Those of several walks over parts of one seed are added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepProfile {
    /// Times the step was given a chunk to work on.
    pub runs: u64,
    /// Rows that left it.
    pub rows: u64,
    /// Nanoseconds spent in it; zero unless the walk was given a clock.
    pub nanoseconds: u64,
}

impl StepProfile {
    /// Adds another walk's counters of the same step.
    pub fn add(&mut self, other: &StepProfile) {
        self.runs += other.runs;
        self.rows += other.rows;
        self.nanoseconds += other.nanoseconds;
    }
}
