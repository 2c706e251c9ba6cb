//! The commits of a hub: seals of one moment are one, and the last are remembered for evaluations that see an earlier
//! graph than the newest.

use super::super::costs::timed;
use super::super::log::codec::Put;
use super::super::log::messages::Message;
use super::super::registered::Registered;
use super::{CommitMoment, Hub, refused};
use crate::error::QueryError;
use crate::moment::Graph;
use query::standing::Freshness;
use std::sync::Arc;
use store::delta::IdQuad;
use stream::{PartId, Time};

/// Commits that are remembered. A close within a batch sees the commit before that batch's, and until that batch is sealed
/// streams of a finer grain may have as many as their batches are shorter. So many are 3 s of the usual grain, 100 ms.
const MOMENTS_MAX: usize = 32;

impl Hub {
    /// Commits what is stored of the next seals, all that end at one moment; false where there is none. If it fails, the
    /// seals are committed next time.
    pub(super) fn commit(&mut self) -> Result<bool, QueryError> {
        if self.taken.is_empty() {
            let Some(end) = self.streams.next_seal_end() else {
                return Ok(false);
            };
            // One that ends later is left there: what this one makes ready may bring another before it.
            timed(&mut self.costs.sealing, || {
                while self.streams.next_seal_end().is_some_and(|next| next <= end) {
                    self.taken.extend(self.streams.next_seal());
                }
            });
        }
        if self.moments.is_empty() {
            self.note_moment(self.base.database()?.graph());
        }
        self.costing(|costs| &mut costs.storing, Hub::keep_seals)?;
        timed(&mut self.costs.sealing, || {
            std::mem::take(&mut self.taken)
                .iter()
                .try_for_each(|seal| self.streams.sealed(PartId(0), seal.stream, seal.until))
        })
        .map_err(refused)?;
        self.note_moment(self.base.database()?.graph());
        Ok(true)
    }

    /// One record says what is sealed and what was not said before, and changes what is stored of it. It is durable
    /// before a query sees the seals: what it reports is not to be decided again.
    fn keep_seals(&mut self) -> Result<(), QueryError> {
        let mut quads: Vec<IdQuad> = Vec::new();
        let mut is_awaited = false;
        let mut messages = Put {
            bytes: self.unsaid.clone(),
        };
        for seal in &self.taken {
            let definition = self.streams.definition(seal.stream).map_err(refused)?;
            quads.extend(definition.absorbed(&seal.items));
            is_awaited |= self.streams.is_read(seal.stream);
            if self.base.keeps_log() {
                let message = Message::Seal {
                    stream: definition.name.clone(),
                    until: seal.until,
                };
                message.put(&mut messages);
            }
        }
        quads.extend(&self.late_quads);
        is_awaited |= self.is_needed || !quads.is_empty();
        if !messages.bytes.is_empty() || !quads.is_empty() {
            self.record(&messages.bytes, quads, is_awaited)?;
        } else {
            self.reach();
        }
        self.late_quads.clear();
        Ok(())
    }

    /// Remembers the graph as it is with what is sealed. Seals of which nothing was stored anew have left it as it was: they are
    /// no commit of their own.
    pub(super) fn note_moment(&mut self, graph: Arc<Graph>) {
        let vector = self.streams.vector();
        if let Some(last) = self.moments.back_mut()
            && last.graph.snapshot.number() == graph.snapshot.number()
        {
            *last = CommitMoment { vector, graph };
            return;
        }
        if self.moments.len() == MOMENTS_MAX {
            self.moments.pop_front();
        }
        self.moments.push_back(CommitMoment { vector, graph });
    }

    /// The graph that an evaluation sees: that of the first commit which covers every batch of the query's streams that ends
    /// by its close, as far as it is remembered; else the newest.
    pub(super) fn graph_at(
        &self,
        close: Time,
        query: &Registered,
        newest: &Arc<Graph>,
    ) -> Arc<Graph> {
        let known = match query.planned.query.freshness {
            Freshness::Aligned => self.remembered(close, query),
            Freshness::Latest => None,
        };
        known.unwrap_or_else(|| Arc::clone(newest))
    }

    /// The graph of the last commit that is remembered.
    pub(super) fn newest_moment(&self) -> Option<Arc<Graph>> {
        Some(Arc::clone(&self.moments.back()?.graph))
    }

    /// The graph of the first commit that covers a close, if it is remembered.
    pub(super) fn remembered(&self, close: Time, query: &Registered) -> Option<Arc<Graph>> {
        let covers = |moment: &&CommitMoment| {
            query.reads.iter().all(|stream| {
                let known = moment.vector.iter().find(|(known, _)| known == stream);
                let grain_ms = self.streams.definition(*stream).map_or(1, |it| it.grain_ms);
                let end_ms = close.0 - close.0 % grain_ms;
                known.is_some_and(|(_, point)| point.covered(grain_ms).0 >= end_ms)
            })
        };
        let known = self.moments.iter().find(covers)?;
        Some(Arc::clone(&known.graph))
    }
}
