//! A query, walked over the parts of a graph.
//!
//! The calling thread walks the last section, and waits for what comes from the others, as it would for a device.

use crate::error::QueryError;
use crate::parts::PartNodes;
use crate::prepared::{Answered, Query};
use crate::request::walking::explained;
use crate::run::{AtEnd, Consumer};
use cluster::PartsQuery;
use explore::{Chunk, Limits, Status, wait};
use std::sync::Arc;
use std::time::Duration;

/// Rows of a full chunk.
const CHUNK_ROWS: usize = 1024;

impl Query {
    /// Walks the plan over parts, and shows every chunk of the result to `consume`.
    pub(crate) fn walk_parts(
        &self,
        parts: &PartNodes,
        consume: &mut Consumer<'_>,
        end: &mut AtEnd<'_>,
    ) -> Result<Answered, QueryError> {
        let walked = self.over_parts(parts, consume, end);
        walked.map_err(|error| explained(&self.context.token, error))
    }

    fn over_parts(
        &self,
        parts: &PartNodes,
        consume: &mut Consumer<'_>,
        end: &mut AtEnd<'_>,
    ) -> Result<Answered, QueryError> {
        let token = &self.context.token;
        let limits = Limits {
            memory: &*self.context.budget,
            stop: token,
        };
        let (node, visit) = parts.visit_for(&self.plan, &self.constants, &self.context.budget);
        let left = token
            .timeout()
            .map(|timeout| timeout.saturating_sub(token.elapsed()));
        let mut running = node.start(PartsQuery {
            plan: Arc::clone(&self.plan),
            ids: self.constants.clone(),
            mode: self.context.mode.unwrap_or(parts.mode()),
            now: crate::clock::now(),
            seed: self.chance(),
            chunk_rows: CHUNK_ROWS,
            memory: Arc::clone(&self.context.budget) as Arc<_>,
            visit: visit.clone(),
            memory_bytes: self.context.shared.options.query_memory_bytes,
            stop: Arc::new(token.clone()),
            time: left.map(|left| left.max(Duration::from_millis(1))),
            is_profiled: self.profiling,
            trace: self.context.trace.as_deref().copied(),
        })?;
        let view = visit.view();
        let mut chunk = Chunk::new();
        loop {
            match running.next(&mut chunk)? {
                Status::Rows => {
                    let shown = running.prepared(|prepared| consume(prepared, &chunk));
                    if shown.expect("it gave rows, so it is prepared")?.is_break() {
                        break;
                    }
                }
                Status::Done => break,
                Status::Pending(ticket) => wait(&view, ticket, &limits)?,
                Status::Yield | Status::Starved => limits.check()?,
            }
        }
        let ended = running.prepared(|prepared| end(prepared, limits));
        ended.expect("it has ended, so it was prepared")?;
        if !self.profiling {
            return Ok(Answered::default());
        }
        Ok(Answered {
            profile: running.profile(),
            sections: running.done_by_section(),
            device: None,
        })
    }
}
