//! A query that was asked here: its rows, as they come from all nodes.
//!
//! Whoever asks for rows works for the node as long as there are none: sections that start here are walked without a thread
//! being woken. It is walked on as an [`explore::Execution`] is: a call gives rows, or says what to wait for. Dropped, it ends everywhere.

use crate::node::{Node, PartsQuery};
use crate::run::figures::SectionOfNode;
use crate::run::work::Advance;
use crate::run::{At, Run, Shipped};
use crate::terms::PartTerms;
use explore::{Chunk, Prepared, Status, StepProfile, Stop, StopReason, WalkError};
use rdf::Ticket;
use std::sync::Arc;
use std::time::Duration;
use store::view::{GraphView, ViewError};

/// See the module's documentation.
pub struct Running<P: GraphView + Send + Sync + 'static, T: PartTerms> {
    node: Arc<Node<P, T>>,
    run: Arc<Run<P, T>>,
    is_over: bool,
}

impl<P: GraphView + Send + Sync + 'static, T: PartTerms> Node<P, T> {
    /// Begins a query here. Errors: the plan cannot be walked over parts, or a node that it needs is away.
    pub fn start(self: &Arc<Self>, query: PartsQuery<P, T>) -> Result<Running<P, T>, ViewError> {
        Ok(Running {
            run: self.begin_here(query)?,
            node: Arc::clone(self),
            is_over: false,
        })
    }
}

impl<P: GraphView + Send + Sync + 'static, T: PartTerms> Running<P, T> {
    fn last(&self) -> At {
        At {
            section: self.run.sections.len() - 1,
            in_place: false,
        }
    }

    /// Fills `out` with the next rows, as [`explore::Execution::next`] does. After [`Status::Done`] or an error there are no
    /// more rows. An answer is whole or an error.
    pub fn next(&mut self, out: &mut Chunk) -> Result<Status, WalkError> {
        if self.is_over {
            return Ok(Status::Done);
        }
        let news = self.news()?;
        let at = self.last();
        let advanced = self.run.stage(at).advance(&self.run, at, out);
        if matches!(advanced, Err(_) | Ok(Advance::Over | Advance::Halted)) {
            let is_whole = matches!(advanced, Ok(Advance::Over));
            let failure = if is_whole {
                self.failed()
            } else {
                self.failure()
            };
            self.finish();
            failure?;
        }
        Ok(match advanced? {
            Advance::Rows => Status::Rows,
            Advance::Again => Status::Yield,
            // Whoever waits does what there is to do meanwhile, first of all the beginning of its own query.
            Advance::Idle | Advance::Waits(_) if self.node.work() => Status::Yield,
            Advance::Idle => Status::Pending(news),
            Advance::Waits(ticket) => Status::Pending(ticket),
            Advance::Over => Status::Done,
            Advance::Halted => return Err(WalkError::Stopped(StopReason::Cancelled)),
        })
    }

    /// A ticket that completes when there is something to do.
    fn news(&mut self) -> Result<Ticket, WalkError> {
        let reason = self.run.halt.reason();
        let stopped = reason.map_or(Ok(()), |reason| Err(WalkError::Stopped(reason)));
        if let Err(failure) = self.failure().and(stopped) {
            self.finish();
            return Err(failure);
        }
        let mut home = self.run.at_home().expect("it was asked here");
        let desk = self.run.ground.desk();
        Ok(*home.news.get_or_insert_with(|| desk.open()))
    }

    /// Why there is no answer. A helper's time is over as soon as ours, and its word of that may come before we look.
    fn failure(&self) -> Result<(), WalkError> {
        if let Some(reason) = self.run.halt.asked_to() {
            return Err(WalkError::Stopped(reason));
        }
        self.failed()
    }

    /// What somebody could not go on for.
    fn failed(&self) -> Result<(), WalkError> {
        let home = self.run.at_home().expect("it was asked here");
        match home.failure.clone() {
            Some(failure) => Err(ViewError::from(failure).into()),
            None => Ok(()),
        }
    }

    /// Blocks until a ticket of its completes, but not much longer than `patience`; whether it has.
    pub fn wait(&self, ticket: Ticket, patience: Duration) -> bool {
        self.run.ground.wait(ticket, patience)
    }

    /// Shows the prepared plan, whose local terms are those of ids in its rows; `None` before it has given rows.
    pub fn prepared<V>(&self, show: impl FnOnce(&Prepared<'_>) -> V) -> Option<V> {
        let stage = self.run.stage(self.last());
        stage.show(|execution| execution.prepared(show)).flatten()
    }

    /// What the node that was asked has shipped so far.
    pub fn shipped(&self) -> Shipped {
        self.run.shipped()
    }

    /// What each section did on each node, as far as they have said it: all of it once all rows were given. Nothing where it is
    /// not profiled.
    pub fn done_by_section(&self) -> Vec<SectionOfNode> {
        self.run.done_by_section()
    }

    /// What each step of the plan did on all nodes, as far as they have said it. Nothing where it is not profiled, as one
    /// that is only followed: of that each node keeps its own spans.
    pub fn profile(&self) -> Vec<StepProfile> {
        if !self.run.is_profiled() {
            return Vec::new();
        }
        let done = self.done_by_section();
        let mut profile = vec![StepProfile::default(); self.run.told().steps.len()];
        for section in &done {
            let start = self.run.sections[section.section].steps.start;
            for (at, step) in (start..).zip(&section.figures.steps) {
                let at_data = &self.run.at_data;
                let Some(sum) = profile.get_mut(at_data.told(at)) else {
                    continue;
                };
                if at_data.gives_rows(at) {
                    sum.add(step);
                } else {
                    // A part of the step that whoever asked ends.
                    sum.nanoseconds = sum.nanoseconds.saturating_add(step.nanoseconds);
                }
            }
        }
        profile
    }

    /// Ends it on all nodes.
    fn finish(&mut self) {
        if !self.is_over {
            self.is_over = true;
            self.run.halt.end();
            self.node.end_elsewhere(&self.run);
        }
    }
}

impl<P: GraphView + Send + Sync + 'static, T: PartTerms> Drop for Running<P, T> {
    fn drop(&mut self) {
        self.finish();
        self.node.close(self.run.id);
        self.run.news();
    }
}
