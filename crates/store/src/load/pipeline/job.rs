//! What a load is given, what it makes, and what its first half hands to the second.
//!
//! The pipeline runs the phases, and the [stage](super::stage) those after parsing. Jobs and outcomes pass between the
//! two, so they stand below both. Nothing of a job changes while it runs.

use super::super::existing::Existing;
use super::super::ingest::Results;
use super::super::options::{LoadOptions, LoadWatch};
use super::super::predicates::Numbered;
use super::super::rejected::Listed;
use super::super::report::{LoadReport, Phase};
use super::super::scratch::ScratchSpace;
use crate::parts::PartFiles;
use crate::prefixes::Prefixes;
use rdf::PredicateId;
use std::time::Duration;

/// Everything that a load is given.
pub struct Job<'j> {
    /// What is asked for.
    pub options: &'j LoadOptions,
    /// Who watches.
    pub watch: LoadWatch<'j>,
    /// What the store holds already.
    pub existing: Option<Existing<'j>>,
    /// Where the new graph's parts go.
    pub files: &'j dyn PartFiles,
    /// Where temporary files go.
    pub scratch: &'j dyn ScratchSpace,
}

/// What a load made, besides its files.
pub struct Outcome {
    /// For the caller of the load.
    pub report: LoadReport,
    /// Number of blank nodes, which no file tells.
    pub blank_nodes: u64,
}

/// What is known when everything is parsed.
pub struct Parsed {
    /// What chunks came to.
    pub results: Results,
    /// Numbers of predicates.
    pub numbered: Numbered,
    /// Predicates of the store before, with their entries.
    pub existing_predicates: Vec<(PredicateId, u32)>,
    /// Quads of the store before.
    pub quads_before: u64,
    /// Prefixes of the sources and of the store before.
    pub prefixes: Prefixes,
    /// What was rejected.
    pub rejected: Listed,
    /// Bytes of the sources.
    pub read_bytes: u64,
}

/// Measures phases.
pub struct Stopwatch<'w> {
    pub(super) watch: LoadWatch<'w>,
    pub(super) since: Duration,
    pub(super) phases: Vec<(Phase, Duration)>,
}

impl Stopwatch<'_> {
    /// A phase is over, the next one begins.
    pub fn end(&mut self, phase: Phase) {
        let now = (self.watch.clock)();
        self.phases.push((phase, now.saturating_sub(self.since)));
        self.since = now;
    }
}
