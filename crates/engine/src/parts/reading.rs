//! A graph in parts that is read whole: whom to ask, with which memory, until somebody says stop.

use super::{Part, PartNodes, PartVisit};
use crate::budget::Budget;
use crate::dump::error::DumpError;
use crate::error::QueryError;
use crate::moment::scan::Batch;
use explore::{Limits, Stop, WalkError, wait_for};
use rdf::{PredicateId, VertexId};
use std::sync::Arc;
use store::view::{Progress, Ticket, ViewError};

/// Takes batches of statements; see [`crate::moment::scan`].
pub(crate) type Take<'t> = dyn FnMut(PredicateId, &Batch) -> Result<(), DumpError> + 't;

/// See the module's documentation.
pub(super) struct Reading<'g> {
    pub(super) parts: &'g PartNodes,
    pub(super) budget: Arc<Budget>,
    pub(super) stop: &'g dyn Stop,
}

impl Reading<'_> {
    pub(super) fn limits(&self) -> Limits<'_> {
        Limits {
            memory: &*self.budget,
            stop: self.stop,
        }
    }

    /// A look from the node whose turn it is.
    pub(super) fn visit(&self) -> PartVisit {
        self.parts.visit(&self.budget).1
    }

    /// A look from the owner of a vertex, where that is a node of this process.
    pub(super) fn visit_at(&self, vertex: VertexId) -> PartVisit {
        self.parts.visit_at(vertex, &self.budget).1
    }

    /// A part, which knows the predicates of all.
    pub(super) fn part(&self) -> &Part {
        self.parts.nodes()[0].ground().part()
    }

    /// How many nodes have it.
    pub(super) fn nodes(&self) -> u16 {
        self.parts.nodes()[0].ground().placement().nodes()
    }

    /// Asks until there is an answer.
    pub(super) fn answered<T>(
        &self,
        visit: &PartVisit,
        mut asked: impl FnMut() -> Result<Result<T, Ticket>, ViewError>,
    ) -> Result<T, DumpError> {
        let answered = wait_for(&visit.view(), &self.limits(), || {
            asked()?.map_err(WalkError::Pending)
        });
        Ok(answered.map_err(QueryError::from)?)
    }

    /// Asks until all that was asked for is here.
    pub(super) fn ready(
        &self,
        visit: &PartVisit,
        mut asked: impl FnMut() -> Result<Progress, ViewError>,
    ) -> Result<(), DumpError> {
        self.answered(visit, || {
            Ok(match asked()? {
                Progress::Ready => Ok(()),
                Progress::Pending(ticket) => Err(ticket),
            })
        })
    }
}
