//! When what the planner knows is made anew.
//!
//! Statistics that are somewhat old cost time at most, never an answer: plans promise nothing of the
//! data. What they prove holds for their own version alone. So they are made anew
//!
//! | when | by | because |
//! |---|---|---|
//! | the graph has changed by a quarter, and the layers are small or it has more than doubled | the committing thread | the next query should not be planned for another graph |
//! | the graph has changed by a quarter, by a large change | the committing thread, before its turn | nobody waits for it then |
//! | the graph has changed by a quarter | the keeper | reading large layers takes longer than a commit should |
//! | nobody has written for a moment | the keeper | only statistics of the present version prove a star empty |
//!
//! A checkpoint changes no content, so the statistics from before stay until the keeper reads better ones.
//! Reading them takes about 50 ns for each vertex of a layer (`store::statistics`). The keeper rests in
//! proportion, so that a trickle of commits over large layers does not keep a core busy.

use super::writer::Writer;
use crate::database::{Graph, Planned};
use crate::error::QueryError;
use crate::planner_statistics::plan_statistics;
use query::planner::Planner;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a version has grown or shrunk by, besides a quarter, when its statistics are made anew.
const DRIFT_QUADS: u64 = 1000;
/// Quads in layers up to which a committing thread reads them: some 10 ms.
const INLINE_QUADS: u64 = 1 << 18;
/// The keeper rests so many times as long as its last statistics took.
const REST: u32 = 32;
/// How long it rests after statistics that could not be read.
const PAUSE: Duration = Duration::from_secs(30);

/// The same, its statistics made anew if a commit should wait for that.
pub(super) fn planned_in_time(graph: Arc<Graph>) -> Result<Arc<Graph>, QueryError> {
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
pub(super) fn planned_beside(graph: Arc<Graph>) -> Result<Arc<Graph>, QueryError> {
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
    fn has_drifted(&self) -> bool {
        self.drift() > self.planned.quads / 4 + DRIFT_QUADS
    }

    /// The same with statistics of its own.
    pub(crate) fn planned_anew(&self) -> Result<Graph, QueryError> {
        let planner = Planner::new(plan_statistics(&self.snapshot)?);
        Ok(self.planned_by(Arc::new(planner), Planned::of(self)))
    }

    fn planned_by(&self, planner: Arc<Planner>, planned: Planned) -> Graph {
        let version = self.snapshot.with_layers(self.snapshot.layers().to_vec());
        Graph {
            planner,
            planned,
            ..self.with_snapshot(version)
        }
    }
}

/// When the keeper may read statistics again.
pub(super) struct Rest {
    until: Instant,
}

impl Rest {
    pub(super) fn over() -> Rest {
        Rest {
            until: Instant::now(),
        }
    }
}

impl Writer {
    /// Gives what is published statistics of its own where they are due. `is_quiet`: nobody writes.
    pub(super) fn plan_anew(&self, is_quiet: bool, rest: &mut Rest) -> Result<(), QueryError> {
        let graph = self.published();
        let is_old = is_quiet && graph.planned != Planned::of(&graph);
        let begun = Instant::now();
        if begun < rest.until || !(is_old || graph.has_drifted()) {
            return Ok(());
        }
        rest.until = begun + PAUSE;
        let planner = Arc::new(Planner::new(plan_statistics(&graph.snapshot)?));
        rest.until = Instant::now() + begun.elapsed() * REST;
        let planned = Planned::of(&graph);
        let mut staged = self.turn.wait();
        self.exchange(&mut staged, &|graph| {
            let is_newer = graph.planned.number < planned.number;
            is_newer.then(|| graph.planned_by(Arc::clone(&planner), planned))
        });
        Ok(())
    }
}
