//! Every quad of a part of a graph, as ids, batch by batch, in the order in which they lie.
//!
//! What dumps, the Graph Store Protocol and `CLEAR` read. Memory is that of a batch; the cost of one
//! named graph is its own size, by the graph index.

use super::Graph;
use rdf::{Direction, PredicateId, VertexId};
use store::view::{GraphScope, GraphView, Progress, SegmentKey, ViewError};
use store::{ListCursor, Lists};

/// Keys looked up together, and the most rows of a batch.
const BATCH: usize = 4096;

/// Which quads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuadSelection {
    /// Those of the default graph.
    Default,
    /// Those of all named graphs.
    EachNamed,
    /// Those of this one.
    Named(VertexId),
}

/// Quads of one predicate; columns of equal length.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) subjects: Vec<VertexId>,
    pub(crate) objects: Vec<VertexId>,
    /// [`GraphScope::DEFAULT_GRAPH`] for the default graph.
    pub(crate) graphs: Vec<VertexId>,
}

/// Gives every quad of the part to `take`, whose error ends the scan.
pub(crate) fn scan<E: From<ViewError>>(
    graph: &Graph,
    part: QuadSelection,
    take: &mut dyn FnMut(PredicateId, &Batch) -> Result<(), E>,
) -> Result<(), E> {
    let mut scan = Scan {
        graph,
        part,
        take,
        keys: Vec::new(),
        expansion: Expansion::default(),
    };
    for predicate in graph.snapshot.predicates() {
        scan.predicate(predicate)?;
    }
    Ok(())
}

struct Scan<'s, E> {
    graph: &'s Graph,
    part: QuadSelection,
    take: &'s mut dyn FnMut(PredicateId, &Batch) -> Result<(), E>,
    keys: Vec<VertexId>,
    expansion: Expansion,
}

impl<E: From<ViewError>> Scan<'_, E> {
    fn predicate(&mut self, predicate: PredicateId) -> Result<(), E> {
        let segment = SegmentKey {
            predicate,
            direction: Direction::Out,
        };
        let snapshot = &self.graph.snapshot;
        if let QuadSelection::Named(graph) = self.part {
            let mut keys = Vec::new();
            snapshot.keys_of_graph(segment, graph, &mut keys)?;
            for batch in keys.chunks(BATCH) {
                self.keys.clear();
                self.keys.extend_from_slice(batch);
                self.lists(segment)?;
            }
            return Ok(());
        }
        let keys = snapshot.keys(segment)?;
        let mut from = 0;
        while from < keys.len() {
            let to = keys.len().min(from + BATCH as u64);
            self.keys.clear();
            keys.decode(from, to, &mut self.keys)?;
            self.lists(segment)?;
            from = to;
        }
        Ok(())
    }

    fn lists(&mut self, segment: SegmentKey) -> Result<(), E> {
        let mut lists = Lists::new();
        let snapshot = &self.graph.snapshot;
        let scope = self.part.scope();
        let progress = snapshot.lists(segment, &self.keys, scope, &mut lists)?;
        assert_eq!(progress, Progress::Ready, "the local view never waits");
        let take = &mut *self.take;
        let mut of_predicate = |batch: &Batch| take(segment.predicate, batch);
        self.expansion
            .give(&lists, &self.keys, self.part, &mut of_predicate)
    }
}

impl QuadSelection {
    /// Where its quads are found.
    pub(crate) fn scope(self) -> GraphScope<'static> {
        match self {
            QuadSelection::Default => GraphScope::Default,
            QuadSelection::EachNamed => GraphScope::EachNamed,
            QuadSelection::Named(graph) => GraphScope::Named(graph),
        }
    }
}

/// Lists on their way into batches.
#[derive(Default)]
pub(crate) struct Expansion {
    rows: Vec<u32>,
    batch: Batch,
}

impl Expansion {
    /// Gives the rows of the lists of these keys, which were asked for in the scope of the selection.
    pub(crate) fn give<E: From<ViewError>>(
        &mut self,
        lists: &Lists<'_>,
        keys: &[VertexId],
        selection: QuadSelection,
        take: &mut dyn FnMut(&Batch) -> Result<(), E>,
    ) -> Result<(), E> {
        let binds_graph = selection.scope().binds_graph();
        let mut cursor = ListCursor::default();
        loop {
            let Batch {
                subjects,
                objects,
                graphs,
            } = &mut self.batch;
            self.rows.clear();
            subjects.clear();
            objects.clear();
            graphs.clear();
            let bound = binds_graph.then_some(&mut *graphs);
            let done = lists.expand(&mut cursor, BATCH, &mut self.rows, objects, bound)?;
            subjects.extend(self.rows.iter().map(|row| keys[*row as usize]));
            match selection {
                QuadSelection::EachNamed => {}
                QuadSelection::Default => graphs.resize(objects.len(), GraphScope::DEFAULT_GRAPH),
                QuadSelection::Named(graph) => graphs.resize(objects.len(), graph),
            }
            assert!(
                subjects.len() == objects.len() && graphs.len() == objects.len(),
                "columns of a batch are equally long"
            );
            if !objects.is_empty() {
                take(&self.batch)?;
            }
            if done {
                return Ok(());
            }
        }
    }
}
