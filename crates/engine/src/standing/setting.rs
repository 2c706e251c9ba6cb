//! What one evaluation of a registered query looks at, whether one walk answers it or many.

use super::answer::Evaluating;
use super::planned::WindowTimes;
use crate::budget::Budget;
use crate::moment::Graph;
use crate::stop::StopToken;
use explore::GivenTable;
use query::plan::Plan;
use rdf::VertexId;
use rdf::transient::TransientView;
use std::cell::Cell;
use std::sync::Arc;
use store::delta::Version;
use store::window::StreamView;
use stream::{Evaluation, Time};

/// What an evaluation looks at: the same for all instances of a template.
pub(super) struct Setting<'s> {
    pub(super) graph: &'s Graph,
    pub(super) plan: &'s Plan,
    pub(super) constants: &'s [Option<VertexId>],
    pub(super) views: &'s [StreamView<'s, Version>],
    pub(super) terms: &'s TransientView<'s>,
    pub(super) times: Option<&'s WindowTimes>,
    pub(super) budget: &'s Arc<Budget>,
    pub(super) token: &'s StopToken,
}

impl Setting<'_> {
    /// A walk of it.
    pub(super) fn evaluating<'e>(
        &'e self,
        ready: &Evaluation,
        seed: u64,
        given: &'e [&'e GivenTable],
    ) -> Evaluating<'e> {
        Evaluating {
            plan: self.plan,
            constants: self.constants,
            views: self.views,
            terms: self.terms,
            times: self.times,
            budget: self.budget,
            token: self.token,
            given,
            close_ms: ready.close.0,
            seed,
            decoding: Cell::default(),
        }
    }
}

/// Some window lacks what came before this moment (milliseconds).
pub(super) fn incomplete_before(ready: &Evaluation) -> Option<u64> {
    let windows = ready.windows.iter();
    let incomplete = windows.filter_map(|it| it.incomplete_before).max();
    incomplete.map(|time| time.0)
}

/// A number that follows from a query's name and a close (FNV-1a), the same in each run.
pub(super) fn seed(name: &str, close: Time) -> u64 {
    let bytes = name.bytes().chain(close.0.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
