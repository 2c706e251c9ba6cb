//! The versions within one request, and the record that it becomes.
//!
//! What an operation changes is a layer over the version before it, so that the operation behind it
//! sees it. Operations that only name quads (data) look at nothing, so what they name is collected,
//! and becomes one layer when something looks at the graph again. Layers are merged in tiers as those
//! of commits are (`store::delta::merge`), so *n* operations cost about *n* times as much as one. At
//! the end the layers are merged into one and the record is complete; or the draft is dropped, and
//! nothing has happened. New terms stay in the dictionary either way: they are in no graph, and ids
//! are never reused.
//!
//! A draft is made under the turn, over the staged version ([`Draft::in_turn`]); or before the turn,
//! over a snapshot, while others commit ([`Draft::ahead`], `commit`). Blank nodes of drafts that are
//! made at the same time may lie between each other. A record says from which number to which its own
//! lie, and what others have between does not hurt: its blank nodes are named by number.

use super::ahead::Ahead;
use super::charge::Charge;
use super::write_set::WriteSet;
use crate::budget::Budget;
use crate::error::{Kind, QueryError};
use crate::moment::Graph;
use crate::moment::vector::SnapshotVector;
use rdf::dictionary::LiveDictionary;
use rdf::{Lexicon, TermBuffer, VertexId};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;
use store::delta::{
    Change, ChangedGraphs, Effect, IdQuad, Layer, STAGING_BYTES, change_of, merge, plan_merge,
};
use store::record::{self, Blank, ChunkWriter, RecordChunk, RecordReader, TermPlace};
use store::view::GraphScope;

/// Quads that are collected before they become a layer.
const PENDING_QUADS: usize = 1 << 18;

/// How much may be done under the turn if something else can be done, too.
#[derive(Clone, Copy)]
pub(crate) struct TurnLimit {
    /// When it is over.
    pub(crate) until: Instant,
    /// Quads that may be named.
    pub(crate) quads: usize,
}

/// What a request has changed so far.
pub(crate) struct Draft {
    /// What the next operation sees, without what is pending.
    graph: Arc<Graph>,
    /// The dictionary that new terms go to.
    live: Arc<LiveDictionary>,
    /// The commit that this becomes.
    number: u64,
    /// Layers of the staged version under the draft's.
    below: usize,
    /// The record's chunks; `None` where nobody keeps a log.
    chunks: Option<Vec<RecordPart>>,
    /// The numbers of its new blank nodes; others may have some between.
    blanks: Range<u64>,
    /// What others than the graph keep in its record.
    messages: Vec<u8>,
    /// How far it holds streams, where it changes that.
    vector: Option<SnapshotVector>,
    seed: u64,
    /// Quads that data have named since the graph was looked at, in order, and whether each is
    /// inserted.
    pending: Vec<(IdQuad, bool)>,
    /// What the request holds: pending quads, layers, chunks.
    held: Charge,
    /// When the turn is to be given up.
    limit: Option<TurnLimit>,
    /// What is noted where it is made before the turn.
    ahead: Option<Ahead>,
    /// What it changes, where somebody wants to know.
    touched: Option<WriteSet>,
    /// The graphs that it changes.
    changed: ChangedGraphs,
}

/// A finished draft.
pub(crate) struct Drafted {
    /// The version with the request's layer; `None` where nothing changed.
    pub(crate) graph: Option<Arc<Graph>>,
    /// The chunks of the record.
    pub(crate) record: Vec<RecordPart>,
    /// The numbers of its new blank nodes.
    pub(crate) blanks: Range<u64>,
    /// What others than the graph keep in its record.
    pub(crate) messages: Vec<u8>,
    pub(crate) deleted: u64,
    pub(crate) inserted: u64,
    /// What it changes, where somebody wanted to know.
    pub(crate) touched: Option<WriteSet>,
    /// The graphs that it changes.
    pub(crate) changed: ChangedGraphs,
    /// What it holds until it is committed.
    pub(crate) held: Charge,
}

/// A part of a record.
#[derive(Clone)]
pub(crate) enum RecordPart {
    /// In memory.
    Owned(Arc<[u8]>),
    /// In a temporary file.
    Mapped(memory::Region),
}

impl RecordPart {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            RecordPart::Owned(bytes) => bytes,
            RecordPart::Mapped(region) => region.bytes(),
        }
    }
}

impl From<Vec<u8>> for RecordPart {
    fn from(bytes: Vec<u8>) -> RecordPart {
        RecordPart::Owned(bytes.into())
    }
}

/// The turn is to be given up, because what is being done takes too long for it.
pub(crate) fn too_long() -> QueryError {
    QueryError::new(Kind::Cancelled, "the change takes too long for its turn")
}

impl Draft {
    /// A draft over the staged version, by whoever has the turn. `keeps_record`: whether the record is
    /// wanted; `limit`: when evaluation is to be given up.
    pub(crate) fn in_turn(
        graph: Arc<Graph>,
        keeps_record: bool,
        budget: &Arc<Budget>,
        limit: Option<TurnLimit>,
    ) -> Draft {
        let live = Arc::clone(graph.dictionary.live());
        let first_blank = live.counts().blank_nodes;
        let number = graph.snapshot.number() + 1;
        Draft {
            below: graph.snapshot.layers().len(),
            graph,
            live,
            number,
            chunks: keeps_record.then(Vec::new),
            blanks: first_blank..first_blank,
            messages: Vec::new(),
            vector: None,
            seed: RandomState::new().hash_one(number),
            pending: Vec::new(),
            held: Charge::new(budget),
            limit,
            ahead: None,
            touched: None,
            changed: ChangedGraphs::default(),
        }
    }

    /// A draft over a snapshot, while others commit. `turn_quads`: quads that may be left to the turn.
    pub(crate) fn ahead(
        graph: &Graph,
        keeps_record: bool,
        budget: &Arc<Budget>,
        turn_quads: usize,
    ) -> Draft {
        let graph = Arc::new(graph.with_snapshot(graph.snapshot.branch()));
        Draft {
            ahead: Some(Ahead::new(turn_quads)),
            touched: Some(WriteSet::default()),
            ..Draft::in_turn(graph, keeps_record, budget, None)
        }
    }

    /// The number of the version under it.
    pub(crate) fn base_number(&self) -> u64 {
        self.number - 1
    }

    /// From now on what it changes is noted.
    pub(super) fn note_touched(&mut self) {
        assert!(
            self.graph.snapshot.layers().len() == self.below && self.pending.is_empty(),
            "noting begins before the first change"
        );
        self.touched = Some(WriteSet::default());
    }

    /// Takes over the blank nodes of a draft that was made before the turn.
    pub(super) fn take_blanks(&mut self, blanks: Range<u64>) {
        assert!(
            self.blanks.is_empty(),
            "they are taken over before the draft makes its own"
        );
        assert!(
            blanks.start <= blanks.end && blanks.end <= self.live.counts().blank_nodes,
            "they were given out by the same dictionary"
        );
        self.blanks = blanks;
    }

    /// The numbers of its blank nodes.
    pub(super) fn blanks(&self) -> Range<u64> {
        self.blanks.clone()
    }

    /// What was noted before the turn.
    pub(super) fn take_ahead(&mut self) -> Option<Ahead> {
        self.ahead.take()
    }

    /// What the next operation sees.
    pub(crate) fn graph(&mut self) -> Result<&Arc<Graph>, QueryError> {
        self.settle()?;
        Ok(&self.graph)
    }

    /// The dictionary that new terms go to.
    pub(crate) fn live(&self) -> &Arc<LiveDictionary> {
        &self.live
    }

    /// Whether others change the graph meanwhile. Then a term that is not stored yet may come before
    /// the turn does, and what is to be deleted needs an id, too.
    pub(crate) fn is_ahead(&self) -> bool {
        self.ahead.is_some()
    }

    /// When evaluation is to be given up.
    pub(crate) fn until(&self) -> Option<Instant> {
        self.limit.map(|limit| limit.until)
    }

    /// An error where the turn is to be given up, because time is over or so many quads are too many.
    pub(crate) fn may_go_on(&self, quads: usize) -> Result<(), QueryError> {
        let is_over = |limit: TurnLimit| quads > limit.quads || Instant::now() >= limit.until;
        if self.limit.is_some_and(is_over) {
            return Err(too_long());
        }
        Ok(())
    }

    /// New blank nodes; gives the number of the first.
    pub(crate) fn fresh_blanks(&mut self, count: u64) -> Result<u64, QueryError> {
        let first = self.live.fresh_blank_nodes(count).map_err(refused)?;
        if self.blanks.is_empty() {
            self.blanks.start = first;
        }
        assert!(first >= self.blanks.end, "numbers are given out once");
        self.blanks.end = first + count;
        Ok(first)
    }

    /// The version that the draft makes holds streams up to here, if it makes one. For whoever has the turn.
    pub(crate) fn reach(&mut self, vector: SnapshotVector) {
        self.vector = Some(vector);
    }

    /// Keeps messages in the record. Then the draft is a commit though it changes no quad.
    pub(crate) fn say(&mut self, messages: Vec<u8>) -> Result<(), QueryError> {
        assert!(
            self.messages.is_empty() && !messages.is_empty(),
            "a record has one run of messages"
        );
        self.held.grow(messages.len() as u64)?;
        self.messages = messages;
        Ok(())
    }

    /// Deletes or inserts quads of data. They become a layer when something looks.
    pub(crate) fn name(&mut self, quads: Vec<IdQuad>, is_insert: bool) -> Result<(), QueryError> {
        self.may_go_on(self.pending.len() + quads.len())?;
        self.held
            .grow((quads.len() * size_of::<(IdQuad, bool)>()) as u64)?;
        let quads = quads.into_iter().map(|quad| (quad, is_insert));
        self.pending.extend(quads);
        if self.pending.len() >= PENDING_QUADS {
            self.settle()?;
        }
        Ok(())
    }

    /// Makes a layer of what is pending.
    fn settle(&mut self) -> Result<(), QueryError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let pending = std::mem::take(&mut self.pending);
        let bytes = (pending.len() * size_of::<(IdQuad, bool)>()) as u64;
        self.stage_and_record(&summed(pending))?;
        self.held.shrink(bytes);
        Ok(())
    }

    /// Applies quads; what was pending comes first.
    pub(crate) fn apply(&mut self, change: &Change) -> Result<(), QueryError> {
        self.settle()?;
        self.may_go_on(change.deletes.len() + change.inserts.len())?;
        self.stage_and_record(change)
    }

    fn stage_and_record(&mut self, change: &Change) -> Result<(), QueryError> {
        match self.stage(change)? {
            Some(effect) => self.record(&effect),
            None => Ok(()),
        }
    }

    /// Applies chunks of a document, whose new blank nodes have the numbers from `fresh` on.
    pub(crate) fn apply_chunk(&mut self, piece: &RecordPart, fresh: u64) -> Result<(), QueryError> {
        self.settle()?;
        // Terms as text and as keys, and ids.
        let bytes = piece.bytes();
        let transient = bytes.len() as u64 * 4;
        self.held.grow(transient)?;
        // The record counts its blank nodes from its own first one: the first document's chunks
        // can stand in it as they are.
        let is_kept = fresh == self.blanks.start;
        assert!(
            self.blanks.start <= fresh && fresh <= self.blanks.end,
            "the document's blank nodes are the draft's"
        );
        let mut reader = RecordReader::of_chunks(fresh..self.blanks.end.max(fresh), bytes);
        let mut chunk = RecordChunk::default();
        let mut ids = Vec::new();
        while reader.next(&mut chunk).map_err(unreadable)? {
            let change = change_of(&chunk, &self.live, &mut ids)?;
            if let (Some(effect), false) = (self.stage(&change)?, is_kept) {
                self.record(&effect)?;
            }
        }
        self.held.shrink(transient);
        if let (Some(chunks), true) = (&mut self.chunks, is_kept) {
            // Whoever has the document holds its chunks until it is committed.
            chunks.push(piece.clone());
        }
        Ok(())
    }

    /// Adds an effect to the record.
    fn record(&mut self, effect: &Effect) -> Result<(), QueryError> {
        if self.chunks.is_some() {
            let chunk = self.encode(effect)?;
            self.held.grow(chunk.len() as u64)?;
            self.chunks.get_or_insert_default().push(chunk.into());
        }
        Ok(())
    }

    /// Puts the effect of a change into a layer of the draft.
    fn stage(&mut self, change: &Change) -> Result<Option<Effect>, QueryError> {
        let transient = (change.deletes.len() + change.inserts.len()) * STAGING_BYTES;
        self.held.grow(transient as u64)?;
        let effect = match &mut self.ahead {
            None => change.effect(&self.graph.snapshot)?,
            Some(ahead) => {
                let own = &self.graph.snapshot.layers()[self.below..];
                ahead.effect(change, &self.graph.snapshot, own, &mut self.held)?
            }
        };
        if !effect.is_empty() {
            self.put(&effect)?;
        }
        self.held.shrink(transient as u64);
        Ok((!effect.is_empty()).then_some(effect))
    }

    /// Puts a layer of an effect over the others.
    fn put(&mut self, effect: &Effect) -> Result<(), QueryError> {
        if let Some(touched) = &mut self.touched {
            touched.add(effect);
        }
        self.changed.add(effect);
        let commits = self.number..=self.number;
        let held = &mut self.held;
        let mut version = self
            .graph
            .version
            .with_layer(self.number, |before, rdf_type| {
                let layer = Layer::build(before, effect, rdf_type, commits)?;
                held.grow(layer.bytes())?;
                Ok::<_, QueryError>(layer)
            })?;
        while let Some(range) = plan_merge(&sizes(&version.snapshot.layers()[self.below..])) {
            let range = self.below + range.start..self.below + range.end;
            let mut layers = version.snapshot.layers().to_vec();
            let merged = self.merged(&layers[range.clone()])?;
            layers.splice(range, [merged]);
            version.snapshot = version.snapshot.with_layers(layers);
        }
        let number = version.snapshot.number();
        assert_eq!(number, self.number, "a draft is one commit");
        self.graph = Arc::new(self.graph.with_version(version));
        Ok(())
    }

    /// The sum of some of the draft's layers.
    fn merged(&mut self, layers: &[Arc<Layer>]) -> Result<Arc<Layer>, QueryError> {
        if let [layer] = layers {
            return Ok(Arc::clone(layer));
        }
        let before: u64 = layers.iter().map(|layer| layer.bytes()).sum();
        self.held.grow(before)?;
        let merged = Arc::new(merge(layers, &|| false)?);
        self.held.shrink(2 * before - merged.bytes().min(before));
        Ok(merged)
    }

    /// A chunk of the terms and quads of an effect.
    fn encode(&self, effect: &Effect) -> Result<Vec<u8>, QueryError> {
        let mut ids: Vec<VertexId> = Vec::new();
        for (subject, predicate, object, graph) in effect.deletes().chain(effect.inserts()) {
            ids.extend([subject, predicate, object]);
            ids.extend((graph != GraphScope::DEFAULT_GRAPH).then_some(graph));
        }
        ids.sort_unstable();
        ids.dedup();
        let mut terms = TermBuffer::new();
        self.graph.dictionary.terms(&ids, &mut terms)?;
        assert_eq!(
            terms.len(),
            ids.len(),
            "the dictionary gives a term for each id"
        );
        let mut writer = ChunkWriter::new(self.seed);
        writer.reserve(ids.len());
        let mut places: Vec<TermPlace> = Vec::with_capacity(ids.len());
        for term in terms.iter() {
            let term = term.expect("ids of quads are bound");
            let place = writer.term(term, &mut |label| self.blank(label));
            places.push(place.map_err(|error| QueryError::new(Kind::Internal, error))?);
        }
        let place = |id: VertexId| places[ids.binary_search(&id).expect("every id has a term")];
        // An effect's quads come predicate by predicate, and there subject by subject.
        let mut last = [(VertexId::UNBOUND, 0); 2];
        let mut quad = |(subject, predicate, object, graph): IdQuad| {
            for (last, id) in last.iter_mut().zip([subject, predicate]) {
                if last.0 != id {
                    *last = (id, place(id));
                }
            }
            let graph = (graph != GraphScope::DEFAULT_GRAPH).then(|| place(graph));
            ([last[0].1, last[1].1, place(object)], graph)
        };
        effect.deletes().for_each(|id| writer.delete(quad(id)));
        effect.inserts().for_each(|id| writer.insert(quad(id)));
        Ok(writer.finish())
    }

    /// Which blank node a label of the dictionary means.
    fn blank(&self, label: &str) -> Option<Blank> {
        let number: u64 = label.strip_prefix('b')?.parse().ok()?;
        Some(match number.checked_sub(self.blanks.start) {
            Some(new) => Blank::New(new),
            None => Blank::Stored(number),
        })
    }

    /// The draft is complete.
    pub(crate) fn finish(mut self) -> Result<Drafted, QueryError> {
        self.settle()?;
        let vector = self.vector.take();
        let mut drafted = self.finished()?;
        if let Some(vector) = vector {
            let graph = drafted.graph.map(|graph| graph.with_vector(vector));
            drafted.graph = graph.map(Arc::new);
        }
        Ok(drafted)
    }

    fn finished(mut self) -> Result<Drafted, QueryError> {
        let mut drafted = Drafted {
            graph: None,
            record: Vec::new(),
            blanks: self.blanks.clone(),
            messages: std::mem::take(&mut self.messages),
            deleted: 0,
            inserted: 0,
            touched: self.touched.take(),
            changed: std::mem::take(&mut self.changed),
            held: Charge::new(self.held.budget()),
        };
        let mut layers = self.graph.snapshot.layers().to_vec();
        let own = layers.split_off(self.below);
        let is_own = |layer: &Arc<Layer>| layer.commits() == (self.number..=self.number);
        assert!(own.iter().all(is_own), "a draft's layers are of its commit");
        let is_said = !drafted.messages.is_empty();
        if own.is_empty() {
            if is_said {
                let version = self.graph.version.at(self.number);
                drafted.graph = Some(Arc::new(self.graph.with_version(version)));
                drafted.held = self.held;
            }
            return Ok(drafted);
        }
        let layer = self.merged(&own)?;
        if layer.quads() == 0 && !is_said {
            return Ok(drafted);
        }
        (drafted.deleted, drafted.inserted) = (layer.deleted(), layer.added());
        layers.push(layer);
        drafted.graph = Some(if own.len() == 1 {
            self.graph
        } else {
            let merged = self.graph.snapshot.with_layers(layers);
            Arc::new(self.graph.with_snapshot(merged))
        });
        drafted.record = self.chunks.unwrap_or_default();
        drafted.held = self.held;
        Ok(drafted)
    }
}

/// What quads come to that are deleted and inserted in this order: the last one that names a quad
/// decides.
pub(super) fn summed(quads: Vec<(IdQuad, bool)>) -> Change {
    let mut change = Change::default();
    let inserts = quads.iter().filter(|(_, is_insert)| *is_insert).count();
    if inserts == 0 || inserts == quads.len() {
        let named = quads.into_iter().map(|(quad, _)| quad).collect();
        match inserts {
            0 => change.deletes = named,
            _ => change.inserts = named,
        }
        return change;
    }
    let sums: HashMap<IdQuad, bool> = quads.into_iter().collect();
    sums.into_iter().collect()
}

fn sizes(layers: &[Arc<Layer>]) -> Vec<u64> {
    layers.iter().map(|layer| layer.quads()).collect()
}

/// A dictionary that takes no more terms.
#[allow(clippy::needless_pass_by_value)] // for `map_err`
pub(super) fn refused(error: rdf::dictionary::GrowError) -> QueryError {
    QueryError::new(Kind::Shape, error)
}

/// A record that was written and cannot be read.
#[allow(clippy::needless_pass_by_value)] // for `map_err`
fn unreadable(error: record::RecordError) -> QueryError {
    QueryError::new(Kind::Damaged, format!("a record of changes: {error}"))
}
