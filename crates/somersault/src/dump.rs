//! A whole graph as text: every quad, predicate by predicate, in batches.
//!
//! Memory is bounded by a batch, whatever the store's size. Quads come grouped by predicate, then
//! by subject: the order in which they lie, so that reading is sequential. Each quad comes once.

use crate::database::Graph;
use oxrdf::{GraphNameRef, NamedNodeRef, NamedOrBlankNodeRef, QuadRef, TermRef};
use rdf::{Direction, Lexicon, LexiconError, PredicateId, TermBuffer, VertexId};
use std::io;
use store::view::{GraphScope, GraphView, Progress, SegmentKey, ViewError};
use store::{ListCursor, Lists};

/// Keys looked up together, and rows decoded together.
const BATCH: usize = 4096;

/// Why a dump ended before its last quad.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    /// The graph could not be read.
    #[error(transparent)]
    View(#[from] ViewError),
    /// A term could not be read.
    #[error(transparent)]
    Lexicon(#[from] LexiconError),
    /// The quads could not be written.
    #[error("cannot write: {0}")]
    Output(#[from] io::Error),
    /// The store holds what RDF does not allow in this place.
    #[error("predicate {0:?}: a stored quad is not RDF; run `somersault check`")]
    NotRdf(PredicateId),
    /// No graph has this name.
    #[error("there is no graph <{0}>")]
    NoSuchGraph(String),
}

/// What is dumped.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    Default,
    EachNamed,
    Named(VertexId),
}

/// Gives every quad of a part to `take`, those of a named graph as quads of the default graph.
pub(crate) fn part(
    graph: &Graph,
    part: Part,
    take: &mut dyn FnMut(QuadRef<'_>) -> io::Result<()>,
) -> Result<u64, DumpError> {
    let mut dump = Dump::new(graph, take);
    dump.part(part)?;
    Ok(dump.quads)
}

/// Gives every quad to `take`.
pub fn all(
    graph: &Graph,
    take: &mut dyn FnMut(QuadRef<'_>) -> io::Result<()>,
) -> Result<u64, DumpError> {
    let mut dump = Dump::new(graph, take);
    dump.part(Part::Default)?;
    if !graph.snapshot.named_graphs()?.is_empty() {
        dump.part(Part::EachNamed)?;
    }
    Ok(dump.quads)
}

/// Gives every triple of one named graph to `take`, as quads of the default graph.
pub fn named(
    graph: &Graph,
    name: &str,
    take: &mut dyn FnMut(QuadRef<'_>) -> io::Result<()>,
) -> Result<u64, DumpError> {
    part(graph, Part::Named(find(graph, name)?), take)
}

/// The id of a named graph that holds something; [`DumpError::NoSuchGraph`] where there is none.
pub fn find(graph: &Graph, name: &str) -> Result<VertexId, DumpError> {
    let mut ids = Vec::new();
    let term = NamedNodeRef::new(name).map_err(|_| DumpError::NoSuchGraph(name.to_owned()))?;
    graph.dictionary.ids(&[term.into()], &mut ids)?;
    let known = graph.snapshot.named_graphs()?;
    let found = ids[0].filter(|id| known.binary_search(id).is_ok());
    found.ok_or_else(|| DumpError::NoSuchGraph(name.to_owned()))
}

struct Dump<'g, 't> {
    graph: &'g Graph,
    take: &'t mut dyn FnMut(QuadRef<'_>) -> io::Result<()>,
    quads: u64,
    keys: Vec<VertexId>,
    rows: Vec<u32>,
    /// Subjects, objects and graphs of a batch of rows.
    ids: [Vec<VertexId>; 3],
    terms: [TermBuffer; 3],
}

impl<'g, 't> Dump<'g, 't> {
    fn new(graph: &'g Graph, take: &'t mut dyn FnMut(QuadRef<'_>) -> io::Result<()>) -> Self {
        Dump {
            graph,
            take,
            quads: 0,
            keys: Vec::new(),
            rows: Vec::new(),
            ids: Default::default(),
            terms: Default::default(),
        }
    }

    fn part(&mut self, part: Part) -> Result<(), DumpError> {
        for predicate in self.graph.snapshot.predicates() {
            self.predicate(part, predicate)?;
        }
        Ok(())
    }

    fn predicate(&mut self, part: Part, predicate: PredicateId) -> Result<(), DumpError> {
        let mut name = TermBuffer::new();
        let vertex = self.graph.snapshot.predicate_vertex(predicate);
        self.graph.dictionary.terms(&[vertex], &mut name)?;
        let Some(TermRef::NamedNode(name)) = name.get(0) else {
            return Err(DumpError::NotRdf(predicate));
        };
        let segment = SegmentKey {
            predicate,
            direction: Direction::Out,
        };
        if let Part::Named(graph) = part {
            let mut keys = Vec::new();
            self.graph
                .snapshot
                .keys_of_graph(segment, graph, &mut keys)?;
            for batch in keys.chunks(BATCH) {
                self.keys.clear();
                self.keys.extend_from_slice(batch);
                self.batch(part, segment, name)?;
            }
            return Ok(());
        }
        let keys = self.graph.snapshot.keys(segment)?;
        let mut from = 0;
        while from < keys.len() {
            let to = keys.len().min(from + BATCH as u64);
            self.keys.clear();
            keys.decode(from, to, &mut self.keys)?;
            self.batch(part, segment, name)?;
            from = to;
        }
        Ok(())
    }

    fn batch(
        &mut self,
        part: Part,
        segment: SegmentKey,
        name: NamedNodeRef<'_>,
    ) -> Result<(), DumpError> {
        let scope = match part {
            Part::Default => GraphScope::Default,
            Part::EachNamed => GraphScope::EachNamed,
            Part::Named(graph) => GraphScope::Named(graph),
        };
        let mut lists = Lists::new();
        let progress = self
            .graph
            .snapshot
            .lists(segment, &self.keys, scope, &mut lists)?;
        assert_eq!(progress, Progress::Ready, "the local view never waits");
        let mut cursor = ListCursor::default();
        loop {
            self.rows.clear();
            self.ids.iter_mut().for_each(Vec::clear);
            let [subjects, objects, graphs] = &mut self.ids;
            let bound = scope.binds_graph().then_some(&mut *graphs);
            let done = lists.expand(&mut cursor, BATCH, &mut self.rows, objects, bound)?;
            subjects.extend(self.rows.iter().map(|row| self.keys[*row as usize]));
            if !scope.binds_graph() {
                graphs.resize(objects.len(), VertexId::UNBOUND);
            }
            self.emit(segment.predicate, name)?;
            if done {
                return Ok(());
            }
        }
    }

    fn emit(&mut self, predicate: PredicateId, name: NamedNodeRef<'_>) -> Result<(), DumpError> {
        for (ids, terms) in self.ids.iter().zip(&mut self.terms) {
            terms.clear();
            self.graph.dictionary.terms(ids, terms)?;
        }
        let [subjects, objects, graphs] = &self.terms;
        for row in 0..subjects.len() {
            let quad = quad(subjects.get(row), name, objects.get(row), graphs.get(row));
            (self.take)(quad.ok_or(DumpError::NotRdf(predicate))?)?;
            self.quads += 1;
        }
        Ok(())
    }
}

fn quad<'t>(
    subject: Option<TermRef<'t>>,
    predicate: NamedNodeRef<'t>,
    object: Option<TermRef<'t>>,
    graph: Option<TermRef<'t>>,
) -> Option<QuadRef<'t>> {
    let subject: NamedOrBlankNodeRef<'t> = match subject? {
        TermRef::NamedNode(iri) => iri.into(),
        TermRef::BlankNode(blank) => blank.into(),
        _ => return None,
    };
    let graph = match graph {
        None => GraphNameRef::DefaultGraph,
        Some(TermRef::NamedNode(iri)) => iri.into(),
        Some(TermRef::BlankNode(blank)) => blank.into(),
        Some(_) => return None,
    };
    Some(QuadRef::new(subject, predicate, object?, graph))
}
