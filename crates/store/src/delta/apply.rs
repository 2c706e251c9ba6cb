//! Records applied to a version: the state machine of a store.
//!
//! ```text
//! graph at n, records n+1 .. m  -->  graph at m
//! ```
//!
//! A record says what was to be deleted and inserted; applied to the version before it, that has
//! the effect that it had then. Many small records are summed up first (the last one that names a
//! quad decides), because a layer for each would cost more than the records themselves. Applying
//! is deterministic: from equal graphs the same records lead to equal ones, with the same ids, however the records are
//! divided among [replays](Replay) (the state machine approach; Schneider, ACM Computing Surveys 22(4), 1990). So a
//! store that is opened twice, or another one that applies the same log, answers the same.
//!
//! Nothing here knows who orders records, who waits for them and who reads meanwhile. Terms that are new go to the
//! dictionary that the graph is a view of, so one replay at a time may be over it, and nobody else adds terms.
//!
//! Cost: a few hashes a term and quad, then what a layer costs ([`Layer::build`]) for each [`QUADS`] quads. Memory is
//! asked for before a record is read and before a layer is built ([`Account`]).

use super::account::{Account, Unlimited};
use super::change::{Change, STAGING_BYTES};
use super::changed_graphs::ChangedGraphs;
use super::error::DeltaError;
use super::graph_version::GraphVersion;
use super::layer::Layer;
use super::rows::IdQuad;
use crate::error::ViewError;
use crate::record::{self, RecordChunk, RecordError, RecordReader};
use crate::view::GraphScope;
use rdf::dictionary::{GrowError, LiveDictionary};
use rdf::{LexiconError, Tag, VertexId};
use std::collections::HashMap;
use std::sync::Arc;

/// Quads after which what was summed up becomes a layer (count).
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

/// Why the quads of a chunk have no ids.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// The dictionary takes no more terms, or not these.
    #[error(transparent)]
    Dictionary(#[from] GrowError),
    /// A subject, predicate or graph is a term that cannot stand there.
    #[error("a record holds a quad that is not RDF")]
    NotRdf,
}

/// Why a record could not be applied. `R`: why an account refuses memory.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError<R> {
    /// Its bytes are no record.
    #[error("record {number} of the log: a record of changes: {error}")]
    Unreadable {
        /// Its number.
        number: u64,
        /// What is wrong, and where in it.
        error: RecordError,
    },
    /// Its terms or quads were not accepted.
    #[error(transparent)]
    Quads(#[from] ResolveError),
    /// The dictionary could not be asked.
    #[error(transparent)]
    Lexicon(#[from] LexiconError),
    /// The graph before it could not be read, or a layer not be built.
    #[error(transparent)]
    Layer(#[from] DeltaError),
    /// Memory was refused.
    #[error("{0}")]
    Refused(R),
}

impl<R> From<ViewError> for ApplyError<R> {
    fn from(error: ViewError) -> ApplyError<R> {
        ApplyError::Layer(error.into())
    }
}

/// Applies records to a graph, one after the other.
pub struct Replay<A = Unlimited> {
    graph: GraphVersion,
    /// Whether each quad that was named is there in the end.
    sums: HashMap<IdQuad, bool>,
    /// The last record that was applied.
    number: u64,
    /// The records that `sums` holds begin with this one.
    first: u64,
    chunk: RecordChunk,
    changed: ChangedGraphs,
    account: A,
    /// Bytes of the account that are for records which are in no layer yet.
    reading: u64,
    /// Bytes of the terms in memory that are counted elsewhere, or in the account already.
    terms: u64,
}

/// A graph with the records that were applied.
pub struct Replayed<A = Unlimited> {
    /// The graph after the last record.
    pub graph: GraphVersion,
    /// The graphs that the records have changed.
    pub changed: ChangedGraphs,
    /// Granted of it is the memory of the new layers and terms.
    pub account: A,
}

/// Bytes that reading a record may take.
fn reading_bytes(record: &[u8]) -> u64 {
    let bytes = record.len() as u64;
    bytes.min(DENSE_BYTES) * READING_FACTOR + bytes.saturating_sub(DENSE_BYTES) * TEXT_FACTOR
}

impl<A: Account> Replay<A> {
    /// Over a graph; memory is taken from `account`.
    pub fn new(graph: GraphVersion, account: A) -> Replay<A> {
        let number = graph.snapshot.number();
        Replay {
            terms: graph.dictionary.live().bytes(),
            graph,
            sums: HashMap::new(),
            number,
            first: number + 1,
            chunk: RecordChunk::default(),
            changed: ChangedGraphs::default(),
            account,
            reading: 0,
        }
    }

    /// Applies the next record, whose number follows that of the one before (asserted). After an error the replay is
    /// of no more use; the graph that it began with is as it was, but for terms in its dictionary that no edge has.
    pub fn apply(&mut self, number: u64, record: &[u8]) -> Result<(), ApplyError<A::Refusal>> {
        assert!(
            number == self.number + 1,
            "a log gives its records in order"
        );
        let placed = |error| ApplyError::Unreadable { number, error };
        let bytes = reading_bytes(record);
        self.account.grow(bytes).map_err(ApplyError::Refused)?;
        self.reading += bytes;
        let live = Arc::clone(self.graph.dictionary.live());
        let mut reader = RecordReader::new(record).map_err(placed)?;
        if reader.commit().is_some_and(|commit| commit != number) {
            let what = "the number of its place in the log";
            return Err(placed(RecordError { offset: 1, what }));
        }
        let blanks = reader.new_blanks().end;
        live.reserve_blank_nodes(blanks)
            .map_err(ResolveError::from)?;
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

    /// The graph after the last record that was applied. It costs a layer, so ask where it is needed only.
    pub fn settled(&mut self) -> Result<&GraphVersion, ApplyError<A::Refusal>> {
        if self.number >= self.first || !self.sums.is_empty() {
            self.flush()?;
        }
        Ok(&self.graph)
    }

    /// Makes a layer of what was summed up.
    fn flush(&mut self) -> Result<(), ApplyError<A::Refusal>> {
        assert!(
            self.first <= self.number + 1,
            "a layer's records follow those of the layer before"
        );
        if self.sums.is_empty() {
            // Records of messages, or of nothing.
            self.account.shrink(std::mem::take(&mut self.reading));
            self.graph = self.graph.at(self.number);
            self.first = self.number + 1;
            return Ok(());
        }
        let staging = (self.sums.len() * STAGING_BYTES) as u64;
        self.account.grow(staging).map_err(ApplyError::Refused)?;
        let change: Change = self.sums.drain().collect();
        let commits = self.first.min(self.number)..=self.number;
        self.graph = self.graph.with_layer(self.number, |before, rdf_type| {
            let effect = change.effect(before)?;
            self.changed.add(&effect);
            let layer = Layer::build(before, &effect, rdf_type, commits)?;
            let terms = self.graph.dictionary.live().bytes();
            let grown = layer.bytes() + terms.saturating_sub(self.terms);
            self.account.shrink(staging + self.reading);
            (self.reading, self.terms) = (0, terms);
            self.account.grow(grown).map_err(ApplyError::Refused)?;
            Ok::<_, ApplyError<A::Refusal>>(layer)
        })?;
        self.first = self.number + 1;
        Ok(())
    }

    /// The graph after the last record.
    pub fn finish(mut self) -> Result<Replayed<A>, ApplyError<A::Refusal>> {
        self.settled()?;
        Ok(Replayed {
            graph: self.graph,
            changed: self.changed,
            account: self.account,
        })
    }
}

/// The quads of a chunk; its new terms get the next ids of `live`. `ids`: one for each term of the chunk, in the
/// order of its table.
pub fn change_of(
    chunk: &RecordChunk,
    live: &LiveDictionary,
    ids: &mut Vec<VertexId>,
) -> Result<Change, ResolveError> {
    let terms: Vec<_> = chunk.terms.iter().flatten().collect();
    ids.clear();
    live.intern(&terms, ids)?;
    let quad = |quad: &record::PlaceQuad| record::id_quad(*quad, ids);
    let change = Change {
        deletes: chunk.deletes.iter().map(quad).collect(),
        inserts: chunk.inserts.iter().map(quad).collect(),
    };
    let is_rdf = |quad: &IdQuad| {
        let is_node = |id: VertexId| id.has_tag(Tag::Iri) || id.has_tag(Tag::Blank);
        let is_graph = quad.3 == GraphScope::DEFAULT_GRAPH || is_node(quad.3);
        is_node(quad.0) && quad.1.has_tag(Tag::Iri) && is_graph
    };
    if change.deletes.iter().chain(&change.inserts).all(is_rdf) {
        Ok(change)
    } else {
        Err(ResolveError::NotRdf)
    }
}
