//! The commits of a hub: seals of one moment are one, and the last are remembered for evaluations that see an earlier
//! graph than the newest.

use super::super::registered::Registered;
use super::{CommitMoment, Hub, refused};
use crate::change::absorb;
use crate::error::QueryError;
use crate::moment::Graph;
use query::standing::Freshness;
use std::sync::Arc;
use store::delta::IdQuad;
use stream::{PartId, Seal, Time};

/// Commits that are remembered. A close within a batch sees the commit before that batch's; the others are for streams of
/// different grains.
const MOMENTS_MAX: usize = 8;

impl Hub {
    /// Commits what is stored of the next seals, all that end at one moment; false where there is none. If it fails, the
    /// seals are committed next time.
    pub(super) fn commit(&mut self) -> Result<bool, QueryError> {
        if self.taken.is_empty() {
            let Some(first) = self.held.take().or_else(|| self.streams.next_seal()) else {
                return Ok(false);
            };
            let end = self.end_of(&first)?;
            self.taken.push(first);
            while let Some(next) = self.streams.next_seal() {
                if self.end_of(&next)? > end {
                    self.held = Some(next);
                    break;
                }
                self.taken.push(next);
            }
        }
        let mut quads: Vec<IdQuad> = Vec::new();
        for seal in &self.taken {
            let definition = self.streams.definition(seal.stream).map_err(refused)?;
            quads.extend(definition.absorbed(&seal.items));
        }
        if self.moments.is_empty() {
            self.note_moment();
        }
        if !quads.is_empty() {
            absorb(&self.database, &quads)?;
        }
        for seal in std::mem::take(&mut self.taken) {
            self.streams
                .sealed(PartId(0), seal.stream, seal.until)
                .map_err(refused)?;
        }
        self.note_moment();
        Ok(true)
    }

    pub(super) fn note_moment(&mut self) {
        if self.moments.len() == MOMENTS_MAX {
            self.moments.pop_front();
        }
        self.moments.push_back(CommitMoment {
            vector: self.streams.vector(),
            graph: self.database.graph(),
        });
    }

    /// The graph that an evaluation sees: that of the first commit which covers every batch of the query's streams that ends
    /// by its close, as far as it is remembered; else the newest.
    pub(super) fn graph_at(&self, close: Time, query: &Registered) -> Arc<Graph> {
        let covers = |moment: &&CommitMoment| {
            query.reads.iter().all(|stream| {
                let known = moment.vector.iter().find(|(known, _)| known == stream);
                let grain_ms = self.streams.definition(*stream).map_or(1, |it| it.grain_ms);
                let end_ms = close.0 - close.0 % grain_ms;
                known.is_some_and(|(_, point)| point.covered(grain_ms).0 >= end_ms)
            })
        };
        let known = self.moments.iter().find(covers);
        match (query.planned.query.freshness, known) {
            (Freshness::Aligned, Some(moment)) => Arc::clone(&moment.graph),
            _ => self.database.graph(),
        }
    }

    /// The moment that a seal covers.
    pub(super) fn end_of(&self, seal: &Seal) -> Result<Time, QueryError> {
        let definition = self.streams.definition(seal.stream).map_err(refused)?;
        Ok(seal.until.covered(definition.grain_ms))
    }
}
