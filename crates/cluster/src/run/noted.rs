//! A query that is profiled notes what its sections do, and tells whoever asked; others look at a flag.

use super::figures::{Did, Meter, SectionFigures, SectionOfNode};
use super::{At, Run, nanoseconds};
use crate::message::Message;
use crate::run::span::Span;
use crate::terms::PartTerms;
use crate::trace::{Trace, section_span};
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

    /// Whether it is noted what each section did.
    pub(crate) fn is_noted(&self) -> bool {
        self.meter.is_some()
    }

    /// Counts something of a section, where the query is profiled.
    pub(crate) fn notes(&self, at: At, count: impl FnOnce(&mut SectionFigures)) {
        if let Some(meter) = &self.meter {
            meter.count(at, count);
        }
    }

    /// Notes that a section was worked on from one moment to another, where that is noted, and what its steps have done so far.
    pub(crate) fn worked(
        &self,
        at: At,
        time: (Duration, Duration),
        strips: u64,
        steps: impl FnOnce() -> Vec<StepProfile>,
    ) {
        if let Some(meter) = &self.meter {
            meter.worked(at, time, strips, steps());
        }
    }

    /// Takes what another node says that a section of it did.
    pub(crate) fn said(&self, node: u16, did: Did) {
        if let (Some(meter), true) = (&self.meter, self.home.is_some()) {
            meter.said(node, did, self.plan().steps.len());
        }
    }

    /// Whether its asker wants to be told what each section did.
    pub(crate) fn is_profiled(&self) -> bool {
        self.materials.is_profiled
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
        if let Some(meter) = self.meter.as_ref().filter(|_| self.is_profiled()) {
            meter.count(at, |figures| figures.words += words);
            let figures = meter.own(at);
            let did = Message::Did(self.id, Did { at, figures });
            // Where that does not arrive the one that asked is away, and wants to know nothing.
            let _ = self.ground.send(self.id.home, &did);
        }
    }

    /// What the work of other nodes is part of, where the query is followed.
    pub(super) fn trace_below(&self) -> Option<Trace> {
        let (trace, _) = self.followed?;
        Some(trace.below(trace.span(self.id.numbers(), self.ground.here())))
    }

    /// What this node did of a query that is followed: all of it, then each section.
    pub(crate) fn spans(&self) -> Vec<Span> {
        let (Some(meter), Some((trace, began))) = (&self.meter, self.followed) else {
            return Vec::new();
        };
        let (node, query) = (self.ground.here(), self.id);
        let id = trace.span(query.numbers(), node);
        let mut spans = vec![Span {
            of: trace,
            id,
            query,
            node,
            section: None,
            time: (began, self.ground.fabric().now()),
            figures: SectionFigures::default(),
        }];
        for (section, in_place) in (0..self.sections.len()).flat_map(|it| [(it, false), (it, true)])
        {
            let at = At { section, in_place };
            let Some(time) = meter.time(at) else { continue };
            let figures = meter.own(at);
            spans[0].figures.add(&figures);
            spans.push(Span {
                of: trace.below(id),
                id: section_span(id, section, in_place),
                query,
                node,
                section: Some((section, in_place)),
                time,
                figures,
            });
        }
        spans
    }
}
