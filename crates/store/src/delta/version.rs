//! One version of the graph: a base and the layers over it, walked as one graph.
//!
//! Predicates keep their numbers from one version to the next (a plan outlives no version, but the
//! tables that are carried along do): those of the base first, those that layers brought after them.
//! Layers number predicates for themselves; a batch translates once, through the vertex.

use super::kept_keys::KeySets;
use super::kept_lists::KeptLists;
use super::layer::Layer;
use crate::error::ViewError;
use crate::snapshot::Snapshot;
use crate::source::Fault;
use crate::view::GraphView;
use rdf::{Direction, PredicateId, VertexId};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Numbers of predicates beyond the base's.
#[derive(Clone, Default)]
pub(crate) struct Names {
    /// By number, from [`Version::first_added`] on.
    pub added: Vec<VertexId>,
    /// The numbers of predicates that the base has no edge of.
    pub by_vertex: HashMap<VertexId, PredicateId>,
    /// Predicates whose last edge went.
    pub dead: HashSet<VertexId>,
}

/// A graph at one moment. `Send` and `Sync`; cheap to make from another one. A clone shares the key sets that were
/// found; versions made from either of the two may take them over.
pub struct Version {
    pub(crate) base: Arc<Snapshot>,
    /// Oldest first; commits ascend.
    pub(crate) layers: Vec<Arc<Layer>>,
    pub(crate) names: Arc<Names>,
    pub(crate) type_vertex: Option<VertexId>,
    pub(super) keys: KeySets,
    pub(super) lists: KeptLists,
    number: u64,
}

impl Clone for Version {
    fn clone(&self) -> Version {
        self.with_layers(self.layers.clone())
    }
}

impl Version {
    /// A version without layers. `type_vertex`: `rdf:type`, where the dictionary has it, so that a
    /// first edge of it gets [`PredicateId::TYPE`].
    pub fn new(base: Arc<Snapshot>, number: u64, type_vertex: Option<VertexId>) -> Version {
        Version {
            type_vertex: type_of(&base).or(type_vertex),
            base,
            layers: Vec::new(),
            names: Arc::default(),
            keys: KeySets::default(),
            lists: KeptLists::default(),
            number,
        }
    }

    /// The version after a commit, whose layer is put over the others: its commits follow those of this
    /// version, or it is another part of the last one, and the last of them is `number` (asserted). Sets of
    /// keys that were found are handed on where this is the newest version made from its base.
    /// O(layers), and the layer's predicates.
    #[must_use]
    pub fn with_layer(&self, layer: Arc<Layer>, number: u64) -> Version {
        assert_eq!(
            *layer.commits.end(),
            number,
            "a version is of the last commit in it"
        );
        assert!(
            match self.layers.last() {
                Some(last) => last.is_followed_by(&layer),
                None => *layer.commits.start() > self.number,
            },
            "commits ascend"
        );
        let mut next = Version {
            base: Arc::clone(&self.base),
            layers: self.layers.clone(),
            names: Arc::clone(&self.names),
            type_vertex: self.type_vertex,
            keys: self.keys.of_next(&layer),
            lists: KeptLists::default(),
            number,
        };
        let newest = Arc::clone(&layer);
        next.layers.push(layer);
        next.name(&newest);
        next
    }

    /// The version after a commit that changed no quad.
    #[must_use]
    pub fn at(&self, number: u64) -> Version {
        assert!(number >= self.number, "commits ascend");
        Version {
            number,
            keys: self.keys.of_same(),
            ..self.clone()
        }
    }

    /// The same content, its layers merged into these, which are of the same commits (asserted).
    #[must_use]
    pub fn with_layers(&self, layers: Vec<Arc<Layer>>) -> Version {
        assert!(are_in_order(&layers), "commits ascend");
        assert_eq!(
            commits_of(&layers),
            commits_of(&self.layers),
            "merged layers are of the commits that were merged"
        );
        Version {
            base: Arc::clone(&self.base),
            layers,
            names: Arc::clone(&self.names),
            type_vertex: self.type_vertex,
            keys: self.keys.of_same(),
            lists: KeptLists::default(),
            number: self.number,
        }
    }

    /// The same content for a draft. The layers that the draft puts over it are not handed on, so the
    /// versions that other writers make from this one keep the key sets found so far.
    #[must_use]
    pub fn branch(&self) -> Version {
        Version {
            keys: self.keys.of_branch(),
            ..self.clone()
        }
    }

    /// The same content over a new base, into which some of the layers went; these, the latest, are left
    /// (their last commit is none behind the version's: asserted). Predicates are numbered afresh.
    #[must_use]
    pub fn rebased(&self, base: Arc<Snapshot>, layers: Vec<Arc<Layer>>) -> Version {
        assert!(are_in_order(&layers), "commits ascend");
        assert!(
            commits_of(&layers).is_none_or(|(_, last)| last <= self.number),
            "the oldest layers go into a base, the latest are left"
        );
        let mut next = Version::new(base, self.number, self.type_vertex);
        next.layers = layers;
        for layer in next.layers.clone() {
            next.name(&layer);
        }
        next
    }

    /// With another vertex for `rdf:type`, which the dictionary has got since: no edge has it yet.
    #[must_use]
    pub fn with_type_vertex(&self, type_vertex: VertexId) -> Version {
        let mut next = self.clone();
        next.type_vertex = Some(self.type_vertex.unwrap_or(type_vertex));
        next
    }

    /// The same where the vertex of `rdf:type` has become known, this one otherwise.
    pub(super) fn typed(&self, rdf_type: Option<VertexId>) -> Cow<'_, Version> {
        match rdf_type {
            Some(vertex) if self.type_vertex.is_none() => Cow::Owned(self.with_type_vertex(vertex)),
            _ => Cow::Borrowed(self),
        }
    }

    /// The vertex of `rdf:type`, as far as it is known here.
    pub fn type_vertex(&self) -> Option<VertexId> {
        self.type_vertex
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

    /// The graphs that hold edges of it, oldest first: the base, and what layers added. Each with the place of the
    /// first layer that is newer.
    pub(super) fn adding(&self) -> impl Iterator<Item = (&Snapshot, usize)> {
        let layers = (1..).zip(&self.layers);
        let added = layers.filter_map(|(place, layer)| Some((layer.adds()?, place)));
        std::iter::once((&*self.base, 0)).chain(added)
    }

    /// Distinct quads; of a part of a graph those whose out-edges lie there. O(predicates).
    pub fn quads(&self) -> Result<u64, ViewError> {
        let mut quads = 0u64;
        for predicate in self.base.predicates() {
            let edges = self.base.edges_of(predicate, Direction::Out);
            quads += edges.map_err(|fault| *fault)?;
        }
        let added: u64 = self.layers.iter().map(|layer| layer.added()).sum();
        let deleted: u64 = self.layers.iter().map(|layer| layer.deleted()).sum();
        Ok((quads + added).saturating_sub(deleted))
    }

    /// Verifies every block of the base not verified yet; layers are in memory. O(bytes).
    pub fn verify_all(&self) -> Result<(), ViewError> {
        self.base.verify_all()
    }

    /// Damage of the base's files that came after they had been verified ([`Snapshot::damage`]).
    pub fn damage(&self) -> Option<ViewError> {
        self.base.damage()
    }

    /// Looks for such damage ([`Snapshot::look`]).
    pub fn look(&self) {
        self.base.look();
    }

    /// The first number that is free for predicates of layers.
    fn first_added(&self) -> usize {
        let taken = self.base.predicate_table().len();
        taken.max(PredicateId::FIRST_FREE.0 as usize)
    }

    /// The vertex of a predicate that this view gave a number, now or in an earlier version.
    pub(super) fn vertex_of(&self, predicate: PredicateId) -> Option<VertexId> {
        let number = predicate.0 as usize;
        if let Some(added) = number.checked_sub(self.first_added()) {
            return self.names.added.get(added).copied();
        }
        if predicate == PredicateId::TYPE {
            return self.type_vertex;
        }
        let vertex = self.base.predicate_table().get(number).copied();
        vertex.filter(|vertex| !vertex.is_unbound())
    }

    /// The number of a predicate that has or had an edge.
    pub(super) fn number_of(&self, vertex: VertexId) -> Option<PredicateId> {
        let number = self.base.predicate_id(vertex);
        number.or_else(|| self.names.by_vertex.get(&vertex).copied())
    }

    /// Gives numbers to the predicates of a layer that have none, and finds out which predicates
    /// it left without edges.
    fn name(&mut self, layer: &Layer) {
        let with_edges = |graph: Option<&Snapshot>| -> Vec<VertexId> {
            let numbers = graph.map(GraphView::predicates).unwrap_or_default();
            let vertex = |number| graph.map(|graph| graph.predicate_vertex(number));
            numbers.into_iter().filter_map(vertex).collect()
        };
        for vertex in with_edges(layer.adds()) {
            if self.number_of(vertex).is_none() {
                let number = self.free_number(vertex);
                Arc::make_mut(&mut self.names)
                    .by_vertex
                    .insert(vertex, number);
            }
            if self.names.dead.contains(&vertex) {
                Arc::make_mut(&mut self.names).dead.remove(&vertex);
            }
        }
        for vertex in with_edges(layer.dels()) {
            if self.has_no_edge(vertex).is_ok_and(|is_dead| is_dead) {
                Arc::make_mut(&mut self.names).dead.insert(vertex);
            }
        }
        assert!(
            self.names.added.len() <= self.names.by_vertex.len(),
            "each added predicate is one vertex's"
        );
    }

    fn free_number(&mut self, vertex: VertexId) -> PredicateId {
        if self.type_vertex == Some(vertex) {
            return PredicateId::TYPE;
        }
        let mut table = self.base.predicate_table().iter();
        if let Some(number) = table.position(|&known| known == vertex) {
            return PredicateId(number as u32);
        }
        let number = self.first_added() + self.names.added.len();
        Arc::make_mut(&mut self.names).added.push(vertex);
        PredicateId(u32::try_from(number).expect("fewer than 2^32 predicates"))
    }

    /// Whether no quad has this predicate; of a part of a graph, whether no edge there has it. O(layers).
    fn has_no_edge(&self, vertex: VertexId) -> Result<bool, Fault> {
        Ok(self.edges_of(vertex, Direction::Out)? == 0
            && (self.base.part_of().is_none() || self.edges_of(vertex, Direction::In)? == 0))
    }

    /// Distinct edges of this predicate in a direction. O(layers).
    pub(crate) fn edges_of(&self, vertex: VertexId, direction: Direction) -> Result<u64, Fault> {
        let of = |graph: Option<&Snapshot>| -> Result<u64, Fault> {
            let Some(graph) = graph else { return Ok(0) };
            let number = graph.predicate_id(vertex);
            number.map_or(Ok(0), |number| graph.edges_of(number, direction))
        };
        let (mut plus, mut minus) = (of(Some(&self.base))?, 0);
        for layer in &self.layers {
            plus += of(layer.adds())?;
            minus += of(layer.dels())?;
        }
        Ok(plus.saturating_sub(minus))
    }
}

/// Whether the commits of layers, oldest first, follow one another.
pub(super) fn are_in_order(layers: &[Arc<Layer>]) -> bool {
    let mut pairs = layers.windows(2);
    pairs.all(|pair| pair[0].is_followed_by(&pair[1]))
}

/// The first and the last commit of layers, oldest first.
fn commits_of(layers: &[Arc<Layer>]) -> Option<(u64, u64)> {
    let (first, last) = layers.first().zip(layers.last())?;
    Some((*first.commits.start(), *last.commits.end()))
}

/// The vertex that the base's table of predicates keeps the number of `rdf:type` for.
fn type_of(base: &Snapshot) -> Option<VertexId> {
    let table = base.predicate_table();
    let vertex = table.get(PredicateId::TYPE.0 as usize).copied();
    vertex.filter(|vertex| !vertex.is_unbound())
}
