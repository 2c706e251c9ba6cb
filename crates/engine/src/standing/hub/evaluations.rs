//! Evaluations of a hub: a query that is ready, its report, and what it writes into a stream.

use super::super::items::{BlankScope, ids_of};
use super::super::registered::{evaluated, quad_of};
use super::{Hub, OF_QUERIES, Take, refused};
use crate::change::with_dictionary;
use crate::error::QueryError;
use crate::panics::guarded;
use oxrdf::Quad;
use std::ops::ControlFlow;
use stream::{Evaluation, Items, SourceId, StreamId};

impl Hub {
    /// Evaluates a query and shows its report. What fails is in the report: other queries go on.
    pub(super) fn evaluate(
        &mut self,
        ready: &Evaluation,
        take: &mut Take<'_>,
    ) -> Result<ControlFlow<()>, QueryError> {
        let Some(query) = self.queries.get(&ready.query) else {
            return Ok(ControlFlow::Continue(()));
        };
        let graph = self.graph_at(ready.close, query);
        let Some(query) = self.queries.get_mut(&ready.query) else {
            return Ok(ControlFlow::Continue(()));
        };
        let evaluated = guarded(|| evaluated(&self.database, &graph, query, ready));
        query.evaluations += 1;
        query.close = Some(ready.close);
        query.failure = evaluated.as_ref().err().map(|error| error.message.clone());
        let policy = query.planned.query.report;
        let report = evaluated.unwrap_or_else(|error| Some(query.failed(ready, error)));
        let writes = query.writes;
        let mut quads: Vec<Quad> = Vec::new();
        if writes.is_some() {
            let rows = report.as_ref().map_or(&[][..], |report| &report.rows);
            quads.extend(rows.iter().filter_map(quad_of));
        }
        let taken = match report {
            Some(report) if policy.rows && report.has_no_rows() => ControlFlow::Continue(()),
            Some(report) => take(report)?,
            None => ControlFlow::Continue(()),
        };
        if let Some(target) = writes
            && let Err(error) = self.write(target, ready, &quads)
            && let Some(query) = self.queries.get_mut(&ready.query)
        {
            query.failure = Some(error.message);
        }
        Ok(taken)
    }

    /// Gives the triples of a report to the stream that its query writes, as one item at its close.
    pub(super) fn write(
        &mut self,
        target: StreamId,
        ready: &Evaluation,
        quads: &[Quad],
    ) -> Result<(), QueryError> {
        if quads.is_empty() {
            return Ok(());
        }
        let source = SourceId(ready.query.0 + OF_QUERIES);
        let ids = with_dictionary(&self.database, |live| {
            ids_of(live, &mut BlankScope::default(), quads)
        })?;
        let mut items = Items::new();
        items.add(ready.close, &ids);
        self.streams.push(target, source, &items).map_err(refused)?;
        Ok(())
    }
}
