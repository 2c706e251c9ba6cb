//! The commits of a hub: seals of one moment are one, and those that evaluations to come may see are remembered
//! ([`super::moments`]).

use super::super::costs::timed;
use super::super::log::codec::Put;
use super::super::log::messages::Message;
use super::super::registered::Registered;
use super::moments::{Forgotten, Known};
use super::{Hub, refused};
use crate::error::{Kind, QueryError};
use crate::moment::Graph;
use query::standing::Freshness;
use std::collections::HashSet;
use std::sync::Arc;
use store::delta::{IdQuad, Layer};
use stream::{PartId, StreamId, Streams, Time};

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
        let graph = self.costing(|costs| &mut costs.storing, Hub::keep_seals)?;
        timed(&mut self.costs.sealing, || {
            std::mem::take(&mut self.taken)
                .iter()
                .try_for_each(|seal| self.streams.sealed(PartId(0), seal.stream, seal.until))
        })
        .map_err(refused)?;
        if let Some(graph) = graph {
            self.note_moment(graph);
        }
        Ok(true)
    }

    /// One record says what is sealed and what was not said before, and changes what is stored of it. It is durable
    /// before a query sees the seals: what it reports is not to be decided again. Gives the graph that
    /// covers them; `None` where nothing came and the next record will say it.
    fn keep_seals(&mut self) -> Result<Option<Arc<Graph>>, QueryError> {
        if self.are_quiet() {
            let until = self.taken.iter().map(|seal| (seal.stream, seal.until));
            self.quiet.extend(until);
            self.reach(&self.taken);
            return Ok(None);
        }
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
        let graph = if !messages.bytes.is_empty() || !quads.is_empty() {
            let vector = self.reached(&self.taken);
            self.record_with(&messages.bytes, quads, is_awaited, &vector)?
        } else {
            self.reach(&self.taken);
            self.base.database()?.graph()
        };
        self.late_quads.clear();
        Ok(Some(graph))
    }

    /// Remembers the graph as it is with what is sealed. Seals of which nothing was stored anew have left it as it was: they are
    /// no commit of their own.
    pub(super) fn note_moment(&mut self, graph: Arc<Graph>) {
        let Hub {
            moments, streams, ..
        } = self;
        let sealed = streams.vector();
        let newest = moments.newest();
        if newest.is_some_and(|it| it.snapshot.number() == graph.snapshot.number()) {
            return moments.extend(sealed, graph);
        }
        let known = Known {
            grain_ms: &|stream| grain_ms(streams, stream),
            bytes: &bytes_beside_newest,
            next: &|| streams.next_closes(),
        };
        moments.note(sealed, graph, &known);
    }

    /// The graph that an evaluation sees: that of the first commit which covers every batch of the query's streams that ends
    /// by its close; the newest where no commit does, where the query asks for it, and where it reads nothing that is stored.
    /// An error where that commit is not remembered any more.
    pub(super) fn graph_at(
        &self,
        close: Time,
        query: &Registered,
        newest: &Arc<Graph>,
    ) -> Result<Arc<Graph>, QueryError> {
        let asked = &query.planned.query;
        let known = match asked.freshness {
            Freshness::Aligned if asked.sees_stored => self.remembered(close, query)?,
            Freshness::Aligned | Freshness::Latest => None,
        };
        Ok(known.unwrap_or_else(|| Arc::clone(newest)))
    }

    /// The graph of the last commit that is remembered.
    pub(super) fn newest_moment(&self) -> Option<Arc<Graph>> {
        self.moments.newest().map(Arc::clone)
    }

    /// The graph of the first commit that covers a close, if there is one.
    pub(super) fn remembered(
        &self,
        close: Time,
        query: &Registered,
    ) -> Result<Option<Arc<Graph>>, QueryError> {
        let grain_ms = |stream| grain_ms(&self.streams, stream);
        let first = self.moments.first(close, &query.reads, &grain_ms);
        match first {
            Ok(graph) => Ok(graph.map(Arc::clone)),
            Err(forgotten) => Err(not_remembered(close, forgotten)),
        }
    }
}

fn grain_ms(streams: &Streams, stream: StreamId) -> u64 {
    streams.definition(stream).map_or(1, |it| it.grain_ms)
}

/// What graphs hold in memory that the last of them does not.
fn bytes_beside_newest(graphs: &mut dyn Iterator<Item = &Arc<Graph>>) -> u64 {
    let graphs: Vec<&Arc<Graph>> = graphs.collect();
    let Some((newest, others)) = graphs.split_last() else {
        return 0;
    };
    let own = newest.snapshot.layers().iter();
    let mut seen: HashSet<*const Layer> = own.map(Arc::as_ptr).collect();
    let layers = others.iter().flat_map(|graph| graph.snapshot.layers());
    let held = layers.filter(|layer| seen.insert(Arc::as_ptr(layer)));
    held.map(|layer| layer.bytes()).sum()
}

fn not_remembered(close: Time, forgotten: Forgotten) -> QueryError {
    let Forgotten { kept, bytes } = forgotten;
    let message = format!(
        "the graph that the close at {} ms sees is not remembered any more: since the commit that covered it streams of a \
         finer grain have made too many ({kept} are kept, {bytes} bytes)",
        close.0
    );
    QueryError::new(Kind::Unavailable, message).with_hint(
        "let windows close at the ends of batches, give the query's streams a finer grain, or ask for `freshness=latest`",
    )
}

#[cfg(test)]
mod tests;
