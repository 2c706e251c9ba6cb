//! The graphs that commits change: what a cache or a precondition of one graph has to know of a commit.
//!
//! Graphs are named by their ids, so the names mean something as long as the ids do. Of more than
//! [`ChangedGraphs::MAX`] graphs nothing is told but that it may be any: the list is read at every commit, and a
//! load of millions of small graphs must not be held up, or held in memory, by it.
//!
//! Cost: a look at the graph of each edge of an effect, and a sort of the graphs.

use super::change::Effect;
use rdf::VertexId;

/// The graphs that commits change; perhaps more.
#[derive(Debug, Default)]
pub struct ChangedGraphs {
    graphs: Vec<VertexId>,
    /// There are more than are named.
    is_all: bool,
}

impl ChangedGraphs {
    /// Graphs that are named at most (count): 512 KiB of ids.
    pub const MAX: usize = 1 << 16;

    /// Adds those of an effect.
    pub fn add(&mut self, effect: &Effect) {
        let mut last = None;
        for graph in effect.graphs() {
            if last == Some(graph) || self.is_all {
                continue;
            }
            last = Some(graph);
            self.graphs.push(graph);
            if self.graphs.len() >= 2 * ChangedGraphs::MAX {
                self.settle();
            }
        }
        self.settle();
    }

    /// The graphs, ascending, each once; the default one is
    /// [`GraphScope::DEFAULT_GRAPH`](crate::GraphScope::DEFAULT_GRAPH). `None`: it may be any.
    pub fn graphs(&self) -> Option<&[VertexId]> {
        (!self.is_all).then_some(&self.graphs)
    }

    /// Each once.
    fn settle(&mut self) {
        self.graphs.sort_unstable();
        self.graphs.dedup();
        if self.graphs.len() > ChangedGraphs::MAX {
            self.is_all = true;
            self.graphs = Vec::new();
        }
    }
}
