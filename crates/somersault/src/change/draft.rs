//! The versions within one request, and the record that it becomes.
//!
//! Each change of the request is a layer over the version before it, so that the operation behind
//! it sees it. At the end the layers are merged into one and the record is complete; or the draft
//! is dropped, and nothing has happened. New terms stay in the dictionary either way: they are in
//! no graph, and ids are never reused.

use crate::database::{Graph, type_vertex};
use crate::error::{Kind, QueryError};
use rdf::dictionary::LiveDictionary;
use rdf::{Lexicon, Tag, TermBuffer, VertexId};
use std::sync::Arc;
use store::delta::{Change, Effect, IdQuad, Layer, Version, merge};
use store::record::{self, Blank, Chunk, ChunkWriter, RecordReader, TermPlace};
use store::view::GraphScope;

/// Layers of one request that are not merged yet.
const LAYERS_MAX: usize = 8;

/// What a request has changed so far.
pub(crate) struct Draft {
    /// What the next operation sees.
    graph: Arc<Graph>,
    /// The dictionary that new terms go to.
    live: Arc<LiveDictionary>,
    /// The commit that this becomes.
    number: u64,
    /// Layers of the staged version under the draft's.
    below: usize,
    /// The record's chunks; `None` where nobody keeps a log.
    chunks: Option<Vec<Vec<u8>>>,
    first_blank: u64,
    blanks: u64,
    seed: u64,
    deleted: u64,
    inserted: u64,
}

/// A finished draft.
pub(crate) struct Drafted {
    /// The version with the request's layer; `None` where nothing changed.
    pub(crate) graph: Option<Arc<Graph>>,
    /// Head and chunks of the record; empty where there is no log.
    pub(crate) record: Vec<Vec<u8>>,
    pub(crate) deleted: u64,
    pub(crate) inserted: u64,
}

impl Draft {
    /// A draft of commit `number` over `graph`. `keeps_record`: whether the record is wanted.
    pub(crate) fn new(graph: Arc<Graph>, number: u64, keeps_record: bool, seed: u64) -> Draft {
        let live = Arc::clone(graph.dictionary.live());
        let first_blank = live.counts().blank_nodes;
        Draft {
            below: graph.snapshot.layers().len(),
            graph,
            live,
            number,
            chunks: keeps_record.then(Vec::new),
            first_blank,
            blanks: 0,
            seed,
            deleted: 0,
            inserted: 0,
        }
    }

    /// What the next operation sees.
    pub(crate) fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// The dictionary that new terms go to.
    pub(crate) fn live(&self) -> &Arc<LiveDictionary> {
        &self.live
    }

    /// New blank nodes; gives the number of the first.
    pub(crate) fn fresh_blanks(&mut self, count: u64) -> Result<u64, QueryError> {
        let first = self.live.fresh_blank_nodes(count).map_err(refused)?;
        assert!(
            first == self.first_blank + self.blanks,
            "one writer at a time"
        );
        self.blanks += count;
        Ok(first)
    }

    /// Applies quads; returns whether they had an effect.
    pub(crate) fn apply(&mut self, change: &Change) -> Result<bool, QueryError> {
        let Some(effect) = self.stage(change)? else {
            return Ok(false);
        };
        self.record(&effect)?;
        Ok(true)
    }

    /// Applies chunks of a document, whose new blank nodes have the numbers from `fresh` on.
    pub(crate) fn apply_chunk(&mut self, bytes: Vec<u8>, fresh: u64) -> Result<(), QueryError> {
        // The record counts its blank nodes from its own first one: the first document's chunks
        // can stand in it as they are.
        let is_kept = fresh == self.first_blank;
        let blanks = fresh..self.first_blank + self.blanks;
        let mut reader = RecordReader::of_chunks(blanks, &bytes);
        let mut chunk = Chunk::default();
        let mut ids = Vec::new();
        while reader.next(&mut chunk).map_err(unreadable)? {
            let change = change_of(&chunk, &self.live, &mut ids)?;
            if let (Some(effect), false) = (self.stage(&change)?, is_kept) {
                self.record(&effect)?;
            }
        }
        if let (Some(chunks), true) = (&mut self.chunks, is_kept) {
            chunks.push(bytes);
        }
        Ok(())
    }

    /// Adds an effect to the record.
    fn record(&mut self, effect: &Effect) -> Result<(), QueryError> {
        if self.chunks.is_some() {
            let chunk = self.encode(effect)?;
            self.chunks.get_or_insert_default().push(chunk);
        }
        Ok(())
    }

    /// Puts the effect of a change into a layer of the draft.
    fn stage(&mut self, change: &Change) -> Result<Option<Effect>, QueryError> {
        let effect = change.effect(&self.graph.snapshot)?;
        if effect.is_empty() {
            return Ok(None);
        }
        let dictionary = self.live.view(self.live.counts());
        let rdf_type = type_vertex(&dictionary)?;
        let typed = rdf_type.filter(|_| self.graph.snapshot.type_vertex().is_none());
        let typed = typed.map(|vertex| self.graph.snapshot.with_type_vertex(vertex));
        let before = typed.as_ref().unwrap_or(&self.graph.snapshot);
        let commits = self.number..=self.number;
        let layer = Layer::build(before, &effect, rdf_type, commits)?;
        self.deleted += layer.deleted();
        self.inserted += layer.added();
        let quads = self.graph.quads + layer.added() - layer.deleted();
        let mut version = before.with_layer(Arc::new(layer), self.number);
        if version.layers().len() - self.below > LAYERS_MAX {
            let mut layers = version.layers()[..self.below].to_vec();
            layers.push(self.merged(&version)?);
            version = version.with_layers(layers);
        }
        self.graph = Arc::new(Graph {
            dictionary,
            quads,
            ..self.graph.with_snapshot(version)
        });
        Ok(Some(effect))
    }

    /// The sum of the draft's layers.
    fn merged(&self, version: &Version) -> Result<Arc<Layer>, QueryError> {
        match &version.layers()[self.below..] {
            [layer] => Ok(Arc::clone(layer)),
            layers => Ok(Arc::new(merge(layers, &|| false)?)),
        }
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
        let mut writer = ChunkWriter::new(self.seed);
        let mut places: Vec<TermPlace> = Vec::with_capacity(ids.len());
        for term in terms.iter() {
            let term = term.expect("ids of quads are bound");
            let place = writer.term(term, &mut |label| self.blank(label));
            places.push(place.map_err(|error| QueryError::new(Kind::Internal, error))?);
        }
        let place = |id: VertexId| places[ids.binary_search(&id).expect("every id has a term")];
        let quad = |(subject, predicate, object, graph): IdQuad| {
            let graph = (graph != GraphScope::DEFAULT_GRAPH).then(|| place(graph));
            ([place(subject), place(predicate), place(object)], graph)
        };
        effect.deletes().for_each(|id| writer.delete(quad(id)));
        effect.inserts().for_each(|id| writer.insert(quad(id)));
        Ok(writer.finish())
    }

    /// Which blank node a label of the dictionary means.
    fn blank(&self, label: &str) -> Option<Blank> {
        let number: u64 = label.strip_prefix('b')?.parse().ok()?;
        Some(match number.checked_sub(self.first_blank) {
            Some(new) => Blank::New(new),
            None => Blank::Stored(number),
        })
    }

    /// The draft is complete.
    pub(crate) fn finish(self) -> Result<Drafted, QueryError> {
        let mut drafted = Drafted {
            graph: None,
            record: Vec::new(),
            deleted: self.deleted,
            inserted: self.inserted,
        };
        if self.graph.snapshot.layers().len() == self.below {
            return Ok(drafted);
        }
        let layer = self.merged(&self.graph.snapshot)?;
        if layer.quads() == 0 {
            return Ok(drafted);
        }
        drafted.graph = Some(if self.graph.snapshot.layers().len() - self.below == 1 {
            self.graph
        } else {
            let mut layers = self.graph.snapshot.layers()[..self.below].to_vec();
            layers.push(layer);
            Arc::new(
                self.graph
                    .with_snapshot(self.graph.snapshot.with_layers(layers)),
            )
        });
        if let Some(chunks) = self.chunks {
            drafted
                .record
                .push(record::head(self.first_blank, self.blanks));
            drafted.record.extend(chunks);
        }
        Ok(drafted)
    }
}

/// The quads of a chunk, its terms in the dictionary.
pub(crate) fn change_of(
    chunk: &Chunk,
    live: &LiveDictionary,
    ids: &mut Vec<VertexId>,
) -> Result<Change, QueryError> {
    let terms: Vec<_> = chunk.terms.iter().flatten().collect();
    ids.clear();
    live.intern(&terms, ids).map_err(refused)?;
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
        Err(QueryError::new(
            Kind::Damaged,
            "a record holds a quad that is not RDF",
        ))
    }
}

/// A dictionary that takes no more terms.
#[allow(clippy::needless_pass_by_value)] // for `map_err`
pub(crate) fn refused(error: rdf::dictionary::GrowError) -> QueryError {
    QueryError::new(Kind::Shape, error)
}

/// A record that was written and cannot be read.
#[allow(clippy::needless_pass_by_value)] // for `map_err`
pub(crate) fn unreadable(error: record::RecordError) -> QueryError {
    QueryError::new(Kind::Damaged, format!("a record of changes: {error}"))
}
