//! When what the planner knows is made anew.
//!
//! Statistics that are somewhat old cost time at most, never an answer: plans promise nothing of the
//! data. What they prove holds for their own version alone. So they are made anew
//!
//! | when | by | because |
//! |---|---|---|
//! | the graph has changed by a quarter, and the layers are small or it has more than doubled | the committing thread | the next query should not be planned for another graph |
//! | the graph has changed by a quarter, by a large change | the committing thread, before its turn | nobody waits for it then |
//! | the graph has changed by a quarter | maintenance | reading large layers takes longer than a commit should |
//! | nobody has written for a moment | maintenance | only statistics of the present version prove a star empty |
//!
//! A checkpoint changes no content, so the statistics from before stay until maintenance reads better ones.
//! Reading them takes about 50 ns for each vertex of a layer (`store::statistics`). Maintenance rests in
//! proportion, so that a trickle of commits over large layers does not keep a core busy.

use super::planner_statistics::plan_statistics;
use super::{Graph, StatisticsVersion};
use crate::error::QueryError;
use query::planner::Planner;
use std::sync::Arc;

/// What a version has grown or shrunk by, besides a quarter, when its statistics are made anew.
const DRIFT_QUADS: u64 = 1000;
/// Quads in layers up to which a committing thread reads them: some 10 ms.
const INLINE_QUADS: u64 = 1 << 18;

/// The same, its statistics made anew if a commit should wait for that.
pub(crate) fn planned_in_time(graph: Arc<Graph>) -> Result<Arc<Graph>, QueryError> {
    let layered: u64 = graph
        .snapshot
        .layers()
        .iter()
        .map(|layer| layer.quads())
        .sum();
    let is_unlike = graph.drift() > graph.planned.quads;
    if graph.has_drifted() && (layered <= INLINE_QUADS || is_unlike) {
        return Ok(Arc::new(graph.planned_anew()?));
    }
    Ok(graph)
}

/// The same, its statistics made anew where much has changed: by a thread that nobody waits for.
pub(crate) fn planned_beside(graph: Arc<Graph>) -> Result<Arc<Graph>, QueryError> {
    if graph.has_drifted() {
        return Ok(Arc::new(graph.planned_anew()?));
    }
    Ok(graph)
}

impl Graph {
    fn drift(&self) -> u64 {
        self.quads.abs_diff(self.planned.quads)
    }

    /// Whether much has changed since the statistics were made.
    pub(crate) fn has_drifted(&self) -> bool {
        self.drift() > self.planned.quads / 4 + DRIFT_QUADS
    }

    /// The same with statistics of its own.
    pub(crate) fn planned_anew(&self) -> Result<Graph, QueryError> {
        let planner = Planner::new(plan_statistics(&self.snapshot)?);
        Ok(self.planned_by(Arc::new(planner), StatisticsVersion::of(self)))
    }

    /// The same with these statistics.
    pub(crate) fn planned_by(&self, planner: Arc<Planner>, planned: StatisticsVersion) -> Graph {
        Graph {
            planner,
            planned,
            ..self.with_version(self.version.clone())
        }
    }
}
