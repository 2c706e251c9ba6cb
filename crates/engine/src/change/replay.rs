//! The log's tail when a store is opened: records applied in order.
//!
//! A record says what was to be deleted and inserted; applied to the version before it, that has
//! the effect that it had then. Many small records are summed up first (the last one that names a
//! quad decides), because a layer for each would cost more than the records themselves. Replaying
//! is deterministic, so a store that is opened twice, or another one that applies the same log,
//! answers the same.
//!
//! Whoever [follows](super::follow) a log applies what has come to what is shown. Then a [`Charge`] is asked
//! before memory is used, and given back when the layers are counted as those of changes.

use super::charge::Charge;
use super::draft::{STAGING_BYTES, change_of, refused, unreadable};
use super::last::ChangedGraphs;
use crate::error::QueryError;
use crate::moment::{Graph, type_vertex};
use std::collections::HashMap;
use std::sync::Arc;
use store::delta::{Change, IdQuad, Layer, Version};
use store::record::{RecordChunk, RecordReader};

/// Quads after which what was summed up becomes a layer.
const QUADS: usize = 1 << 18;

/// Bytes from which on a record is cut into layers: a quad takes four bytes at least, so a smaller one
/// has at most as many quads as a layer.
const CUT_BYTES: usize = QUADS * 4;

/// Bytes that reading a record takes for each of its own: its terms and quads as values, and the sums of
/// its quads. A quad takes four bytes of a record at least and some 130 here; the larger a record is, the more
/// of it is text.
const READING_FACTOR: u64 = 32;
const TEXT_FACTOR: u64 = 4;
/// Bytes of a record up to which it may be quads and nothing else.
const DENSE_BYTES: u64 = 2 << 20;

/// Applies records to a version, one after the other.
pub(crate) struct Replay {
    graph: Graph,
    /// Whether each quad that was named is there in the end.
    sums: HashMap<IdQuad, bool>,
    /// The last record that was applied.
    number: u64,
    /// The records that `sums` holds begin with this one.
    first: u64,
    chunk: RecordChunk,
    changed: ChangedGraphs,
    /// Asked before memory is used; `None` where a store is opened, which takes what it needs.
    account: Option<Account>,
}

/// What a replay has taken.
struct Account {
    charge: Charge,
    /// Of that, for records that are in no layer yet.
    reading: u64,
    /// Bytes of the terms in memory that are counted elsewhere, or here already.
    terms: u64,
}

/// A version with the records that were applied.
pub(crate) struct Replayed {
    pub(crate) graph: Graph,
    /// The graphs that the records have changed.
    pub(crate) changed: ChangedGraphs,
    /// The memory of the new layers and terms.
    pub(crate) charge: Option<Charge>,
}

/// Bytes that reading a record may take.
fn reading_bytes(record: &[u8]) -> u64 {
    let bytes = record.len() as u64;
    bytes.min(DENSE_BYTES) * READING_FACTOR + bytes.saturating_sub(DENSE_BYTES) * TEXT_FACTOR
}

impl Replay {
    /// Over a graph as its checkpoint holds it.
    pub(crate) fn new(graph: Graph) -> Replay {
        let number = graph.snapshot.number();
        Replay {
            graph,
            sums: HashMap::new(),
            number,
            first: number + 1,
            chunk: RecordChunk::default(),
            changed: ChangedGraphs::default(),
            account: None,
        }
    }

    /// Over a graph as it is shown; memory is taken from `charge`.
    pub(crate) fn over(graph: &Graph, charge: Charge) -> Replay {
        let version = &graph.snapshot;
        let same = graph.with_snapshot(version.with_layers(version.layers().to_vec()));
        let terms = graph.dictionary.live().bytes();
        Replay {
            account: Some(Account {
                charge,
                reading: 0,
                terms,
            }),
            ..Replay::new(same)
        }
    }

    /// Applies the next record.
    pub(crate) fn apply(&mut self, number: u64, record: &[u8]) -> Result<(), QueryError> {
        assert!(
            number == self.number + 1,
            "a log gives its records in order"
        );
        let placed = |error| {
            let mut error: QueryError = unreadable(error);
            error.message = format!("record {number} of the log: {}", error.message);
            error
        };
        if let Some(account) = &mut self.account {
            let bytes = reading_bytes(record);
            account.charge.grow(bytes)?;
            account.reading += bytes;
        }
        let live = Arc::clone(self.graph.dictionary.live());
        let mut reader = RecordReader::new(record).map_err(placed)?;
        let blanks = reader.new_blanks().end;
        live.reserve_blank_nodes(blanks).map_err(refused)?;
        let mut ids = Vec::new();
        // A record that is cut has layers of its own, which all carry its number: ranges of commits
        // follow one another or are the same.
        let is_cut = record.len() >= CUT_BYTES;
        if is_cut && self.number >= self.first {
            self.flush()?;
        }
        self.number = number;
        while reader.next(&mut self.chunk).map_err(placed)? {
            let change = change_of(&self.chunk, &live, &mut ids)?;
            self.sums
                .extend(change.deletes.into_iter().map(|quad| (quad, false)));
            self.sums
                .extend(change.inserts.into_iter().map(|quad| (quad, true)));
            if is_cut && self.sums.len() >= QUADS {
                self.flush()?;
            }
        }
        if self.sums.len() >= QUADS || is_cut && !self.sums.is_empty() {
            self.flush()?;
        }
        Ok(())
    }

    /// Makes a layer of what was summed up.
    fn flush(&mut self) -> Result<(), QueryError> {
        assert!(
            self.first <= self.number + 1,
            "a layer's records follow those of the layer before"
        );
        let staging = (self.sums.len() * STAGING_BYTES) as u64;
        if let Some(account) = &mut self.account {
            account.charge.grow(staging)?;
        }
        let mut change = Change::default();
        for (quad, is_there) in self.sums.drain() {
            if is_there {
                change.inserts.push(quad);
            } else {
                change.deletes.push(quad);
            }
        }
        let live = self.graph.dictionary.live();
        let dictionary = live.view(live.counts());
        let rdf_type = type_vertex(&dictionary)?;
        let mut version: Version = self
            .graph
            .snapshot
            .with_layers(self.graph.snapshot.layers().to_vec());
        if let Some(vertex) = rdf_type {
            version = version.with_type_vertex(vertex);
        }
        let effect = change.effect(&version)?;
        self.changed.add(&effect);
        let commits = self.first.min(self.number)..=self.number;
        let layer = Layer::build(&version, &effect, rdf_type, commits)?;
        if let Some(account) = &mut self.account {
            let terms = self.graph.dictionary.live().bytes();
            let grown = layer.bytes() + terms.saturating_sub(account.terms);
            assert!(
                account.charge.bytes() >= staging + account.reading,
                "what reading took was charged"
            );
            account.charge.shrink(staging + account.reading);
            (account.reading, account.terms) = (0, terms);
            account.charge.grow(grown)?;
        }
        let (added, deleted) = (layer.added(), layer.deleted());
        let version = version.with_layer(Arc::new(layer), self.number);
        self.first = self.number + 1;
        self.graph = Graph {
            dictionary,
            quads: (self.graph.quads + added).saturating_sub(deleted),
            ..self.graph.with_snapshot(version)
        };
        Ok(())
    }

    /// The graph after the last record, with statistics of its own.
    pub(crate) fn finish(self) -> Result<Graph, QueryError> {
        let graph = self.replayed()?.graph;
        if graph.planned.number < graph.snapshot.number() {
            return graph.planned_anew();
        }
        Ok(graph)
    }

    /// The graph after the last record, with the statistics from before.
    pub(crate) fn replayed(mut self) -> Result<Replayed, QueryError> {
        if self.number >= self.first || !self.sums.is_empty() {
            self.flush()?;
        }
        Ok(Replayed {
            graph: self.graph,
            changed: self.changed,
            charge: self.account.map(|account| account.charge),
        })
    }
}
