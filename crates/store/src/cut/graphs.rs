//! The named graphs of a part, and its graph index, from the graph index of the whole.
//!
//! The index lists, by graph and predicate, the keys with an edge in the graph, and the owner of a key follows from it. But
//! members of classes lie with the members: which classes are keys in a part is asked of the members that are listed along
//! the out-edges, by graph, so a class with many members is not read for each graph that has one.
//!
//! Cost: a look at each entry of the whole's index, twice; and the types of each member that is held.

use super::CutError;
use crate::cut::part_of::PartOf;
use crate::lists::Lists;
use crate::parts::PartFiles;
use crate::segment::graph_index::{GraphIndex, GraphIndexWriter, GraphKey, PredicateKeys};
use crate::snapshot::Snapshot;
use crate::source::Fault;
use crate::view::{GraphScope, GraphView, SegmentKey};
use rdf::{Direction, PredicateId, VertexId};
use std::sync::Arc;

/// Entries handed to the index at a time.
const BATCH_KEYS: usize = 1 << 12;
/// Members whose types are asked for together.
const BATCH_MEMBERS: usize = 1 << 10;

/// One graph of the whole's index in one direction.
#[derive(Clone, Copy)]
struct GraphOf<'v> {
    whole: &'v Snapshot,
    part: &'v PartOf,
    graph: VertexId,
    code: u32,
}

/// The named graphs that a part has an edge in, ascending.
pub(super) fn graphs_of(whole: &Snapshot, part: &PartOf) -> Result<Vec<VertexId>, Fault> {
    let mut graphs = Vec::new();
    for (code, graph) in (0..).zip(whole.graphs()?.all()) {
        let graph_of = GraphOf {
            whole,
            part,
            graph,
            code,
        };
        if graph_of.has_edge(Direction::Out)? || graph_of.has_edge(Direction::In)? {
            graphs.push(graph);
        }
    }
    Ok(graphs)
}

/// Writes the graph index of a part in one direction. `graphs`: those that it has an edge in.
pub(super) fn write_index(
    whole: &Snapshot,
    part: &PartOf,
    graphs: &Arc<[VertexId]>,
    direction: Direction,
    files: &dyn PartFiles,
) -> Result<(), CutError> {
    let mut writer = GraphIndexWriter::create(files, direction, Arc::clone(graphs))?;
    let mut batch = Vec::with_capacity(BATCH_KEYS);
    for (code, graph) in (0..).zip(whole.graphs()?.all()) {
        let graph_of = GraphOf {
            whole,
            part,
            graph,
            code,
        };
        for run in graph_of.runs(direction)? {
            let predicate = run.predicate;
            graph_of.each_key(direction, &run, |key| {
                batch.push(GraphKey {
                    graph,
                    predicate,
                    key,
                });
                if batch.len() == BATCH_KEYS {
                    writer.push(&batch)?;
                    batch.clear();
                }
                Ok(())
            })?;
        }
    }
    writer.push(&batch)?;
    writer.finish(files)?;
    Ok(())
}

impl<'v> GraphOf<'v> {
    /// Its predicates with their keys.
    fn runs(&self, direction: Direction) -> Result<Vec<PredicateKeys<'v>>, Fault> {
        let index = GraphIndex::open(&self.whole.side(direction).graph_index)?;
        let mut runs = Vec::new();
        index.runs(self.code, |run| runs.push(run))?;
        Ok(runs)
    }

    fn is_mine(&self, vertex: VertexId) -> bool {
        self.part.placement().owner(vertex) == self.part.node()
    }

    /// Whether the part has an edge of the graph in this direction. Members of classes are seen along out-edges.
    fn has_edge(&self, direction: Direction) -> Result<bool, Fault> {
        let region = &self.whole.side(direction).graph_index;
        for run in self.runs(direction)? {
            if direction == Direction::In && run.predicate == PredicateId::TYPE {
                continue;
            }
            for key in run.stream(region) {
                if self.is_mine(key?) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Gives the keys of one predicate that the part has an edge of in the graph, ascending.
    fn each_key(
        &self,
        direction: Direction,
        run: &PredicateKeys<'v>,
        mut give: impl FnMut(VertexId) -> Result<(), CutError>,
    ) -> Result<(), CutError> {
        if direction == Direction::In && run.predicate == PredicateId::TYPE {
            return self.classes()?.into_iter().try_for_each(give);
        }
        for key in run.stream(&self.whole.side(direction).graph_index) {
            let key = key?;
            if self.is_mine(key) {
                give(key)?;
            }
        }
        Ok(())
    }

    /// The classes of the members in the graph that lie in the part, ascending.
    fn classes(&self) -> Result<Vec<VertexId>, CutError> {
        let mut classes = Classes {
            graph_of: *self,
            members: Vec::with_capacity(BATCH_MEMBERS),
            found: Vec::new(),
        };
        for run in self.runs(Direction::Out)? {
            if run.predicate == PredicateId::TYPE {
                self.each_key(Direction::Out, &run, |member| classes.add(member))?;
            }
        }
        classes.ask()?;
        Ok(classes.found)
    }
}

/// The classes of some members in a graph.
struct Classes<'v> {
    graph_of: GraphOf<'v>,
    /// Those that were not asked for their types yet.
    members: Vec<VertexId>,
    /// Ascending, distinct.
    found: Vec<VertexId>,
}

impl Classes<'_> {
    fn add(&mut self, member: VertexId) -> Result<(), CutError> {
        self.members.push(member);
        if self.members.len() == BATCH_MEMBERS {
            self.ask()?;
        }
        Ok(())
    }

    fn ask(&mut self) -> Result<(), CutError> {
        let types = SegmentKey {
            predicate: PredicateId::TYPE,
            direction: Direction::Out,
        };
        let scope = GraphScope::Named(self.graph_of.graph);
        let mut lists = Lists::new();
        let whole = self.graph_of.whole;
        let _ = whole.lists(types, &self.members, scope, &mut lists)?;
        self.found.extend(lists.all_neighbours()?);
        self.found.sort_unstable();
        self.found.dedup();
        self.members.clear();
        Ok(())
    }
}
