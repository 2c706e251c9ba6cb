//! A query that is profiled notes what its sections do, and tells whoever asked; others look at a flag.

use super::figures::{Did, Meter, SectionFigures, SectionOfNode};
use super::{At, Run, nanoseconds};
use crate::message::Message;
use crate::terms::PartTerms;
use explore::{StepProfile, Ticks};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;
use store::view::GraphView;

impl<P: GraphView + Send + Sync + 'static, T: PartTerms> Run<P, T> {
    /// The fabric's clock.
    pub(super) fn ticks(&self) -> Arc<Ticks> {
        let fabric = Arc::clone(self.ground.fabric());
        Arc::new(move || nanoseconds(fabric.now()))
    }

    /// Whether it is told what each section did.
    pub(crate) fn is_profiled(&self) -> bool {
        self.meter.is_some()
    }

    /// Counts something of a section, where the query is profiled.
    pub(crate) fn notes(&self, at: At, count: impl FnOnce(&mut SectionFigures)) {
        if let Some(meter) = &self.meter {
            meter.count(at, count);
        }
    }

    /// Notes that a section was worked on for so long, where the query is profiled, and what its steps have done so far.
    pub(crate) fn worked(&self, at: At, time: Duration, steps: impl FnOnce() -> Vec<StepProfile>) {
        if let Some(meter) = &self.meter {
            meter.worked(at, time, steps());
        }
    }

    /// Takes what another node says that a section of it did.
    pub(crate) fn said(&self, node: u16, did: Did) {
        if let (Some(meter), true) = (&self.meter, self.home.is_some()) {
            meter.said(node, did, self.plan().steps.len());
        }
    }

    /// What each section did on each node, as far as this one knows; nothing where the query is not profiled.
    pub(crate) fn done_by_section(&self) -> Vec<SectionOfNode> {
        let meter = self.meter.as_ref();
        meter.map_or_else(Vec::new, |meter| meter.all(self.ground.here()))
    }

    /// Held by who says what sections did and what was worked off, of a query that is profiled: figures are of all that was done so
    /// far, and older ones must not come after newer ones.
    pub(crate) fn saying(&self) -> Option<MutexGuard<'_, ()>> {
        self.meter.as_ref().map(Meter::saying)
    }

    /// Says what a section of this node has done, before the word about what it has worked off; so many words are its own.
    pub(crate) fn says(&self, at: At, words: u64) {
        if let Some(meter) = &self.meter {
            meter.count(at, |figures| figures.words += words);
            let figures = meter.own(at);
            let did = Message::Did(self.id, Did { at, figures });
            // Where that does not arrive the one that asked is away, and wants to know nothing.
            let _ = self.ground.send(self.id.home, &did);
        }
    }
}
