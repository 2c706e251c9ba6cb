//! One version of the graph: a base and the layers over it, walked as one graph.
//!
//! Predicates keep their numbers from one version to the next (a plan outlives no version, but the
//! tables that are carried along do): those of the base first, those that layers brought after them.

use super::layer::Layer;
use crate::snapshot::Snapshot;
use crate::view::GraphView;
use rdf::{PredicateId, VertexId};
use std::collections::HashMap;
use std::sync::Arc;

/// Numbers of predicates beyond the base's.
#[derive(Clone, Default)]
pub(crate) struct Names {
    /// By number, from the length of the base's table on.
    pub added: Vec<VertexId>,
    /// Every predicate of base and layers.
    pub by_vertex: HashMap<VertexId, PredicateId>,
}

/// A graph at one moment. `Send` and `Sync`; cheap to make from another one.
pub struct Version {
    pub(crate) base: Arc<Snapshot>,
    /// Oldest first; commits ascend without gaps.
    pub(crate) layers: Vec<Arc<Layer>>,
    pub(crate) names: Arc<Names>,
    pub(crate) type_vertex: Option<VertexId>,
    number: u64,
}

impl Version {
    /// A version without layers. `type_vertex`: `rdf:type`, where the dictionary has it, so that a
    /// first edge of it gets [`PredicateId::TYPE`].
    pub fn new(base: Arc<Snapshot>, number: u64, type_vertex: Option<VertexId>) -> Version {
        let by_vertex = base
            .predicates()
            .into_iter()
            .map(|predicate| (base.predicate_vertex(predicate), predicate))
            .collect();
        let names = Names {
            added: Vec::new(),
            by_vertex,
        };
        Version {
            base,
            layers: Vec::new(),
            names: Arc::new(names),
            type_vertex,
            number,
        }
    }

    /// The number of the last commit that it contains.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// What lies under the layers.
    pub fn base(&self) -> &Arc<Snapshot> {
        &self.base
    }

    /// The layers, oldest first.
    pub fn layers(&self) -> &[Arc<Layer>] {
        &self.layers
    }
}
