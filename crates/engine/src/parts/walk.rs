//! A query, walked over the parts of a graph.
//!
//! The calling thread walks the last section, and waits for what comes from the others, as it would for a device. A plan that
//! one node walks alone ([`Ground::walks_alone`](cluster::Ground::walks_alone)) is walked as over a whole graph: no sections,
//! no tables, no thread that has to be woken.

use crate::error::QueryError;
use crate::federation::Federation;
use crate::parts::{Mode, PartNode, PartNodes, PartVisit};
use crate::prepared::{Answered, Query};
use crate::request::walking::explained;
use crate::run::{AtEnd, Consumer};
use cluster::PartsQuery;
use cluster::home::Homes;
use explore::{Chunk, Environment, Options, Service, Status, Walk, prepare, wait, wait_for};
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
        let limits = self.context.limits();
        let (node, visit) = parts.visit_for(&self.plan, &self.constants, &self.context.budget);
        let mode = self.context.mode.unwrap_or(parts.mode());
        if self.is_walked_alone(&node, mode) {
            return self.alone_over_parts(&node, &visit, consume, end);
        }
        let left = token
            .timeout()
            .map(|timeout| timeout.saturating_sub(token.elapsed()));
        let mut running = node.start(PartsQuery {
            plan: Arc::clone(&self.plan),
            ids: self.constants.clone(),
            mode,
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

    /// Whether this node walks all of it, nobody wants to know what it did, and no device helps.
    fn is_walked_alone(&self, node: &PartNode, mode: Mode) -> bool {
        let homes = Homes {
            plan: &self.plan,
            ids: &self.constants,
            kind: node.ground().kind(),
        };
        let is_followed = self.profiling || self.context.trace.is_some();
        let is_of_store = self.plan.views() <= 1 && self.plan.tables().is_empty();
        let is_alone = !is_followed && is_of_store && node.ground().walks_alone(mode, &homes);
        let memory = || Arc::clone(&self.context.budget) as Arc<_>;
        let is_only = node.ground().placement().nodes() == 1;
        is_alone && !(is_only && node.has_offloader(&self.plan, &memory()))
    }

    /// Walks the whole plan in this thread.
    fn alone_over_parts(
        &self,
        node: &PartNode,
        visit: &PartVisit,
        consume: &mut Consumer<'_>,
        end: &mut AtEnd<'_>,
    ) -> Result<Answered, QueryError> {
        let token = &self.context.token;
        let limits = self.context.limits();
        let client = self.context.shared.options.service.as_deref();
        let federation = client.map(|client| Federation { client, token });
        let service = federation
            .as_ref()
            .map(|federation| federation as &dyn Service);
        let environment = Environment::new(&crate::clock::now, self.chance(), service);
        let (view, lexicon) = (visit.view_alone(), visit.lexicon());
        let prepared = wait_for(&view, &limits, || {
            prepare(&self.plan, &self.constants, &view, limits, &environment)
        })?;
        view.begin_walk();
        let mut walk = Walk::new(&prepared, &view, &lexicon, limits, Options::default());
        let mut chunk = Chunk::new();
        loop {
            match walk.next(&mut chunk)? {
                Status::Rows => {
                    if consume(&prepared, &chunk)?.is_break() {
                        break;
                    }
                }
                Status::Done => break,
                Status::Yield => limits.check()?,
                Status::Pending(ticket) => wait(&view, ticket, &limits)?,
                Status::Starved => unreachable!("a whole walk feeds itself"),
            }
        }
        node.walked_alone(visit)?;
        end(&prepared, limits)?;
        Ok(Answered::default())
    }
}
