//! A part as a view that knows which predicates all parts have, numbered alike in each of them.
//!
//! A store says of itself which predicates it has an edge of, and numbers those that came later as it met them. The nodes of
//! a cluster walk one plan alike, so all of them must know a predicate that any of them has an edge of, by one number. Which
//! there are is told to each: by the cut, for parts as it left them ([`PartView::unchanged`]), or by whoever asked all parts.
//!
//! Cost: two tables of four bytes a predicate; a look into one of them for a batch, and for each predicate of a vertex.

use crate::error::ViewError;
use crate::lists::Lists;
use crate::segment::location::Located;
use crate::snapshot::Snapshot;
use crate::vertex_set::VertexSet;
use crate::view::{GraphScope, GraphView, Progress, SegmentKey};
use hashbrown::HashMap;
use rdf::{Direction, PredicateId, VertexId};
use std::sync::Arc;

/// See the module's documentation.
pub struct PartView<V> {
    part: Arc<V>,
    /// By common number; [`VertexId::UNBOUND`] where it is not in use.
    predicates: Vec<VertexId>,
    numbers: HashMap<VertexId, PredicateId>,
    /// By common number, that of the part, where it has an edge.
    here: Vec<Option<PredicateId>>,
    /// By number of the part, the common one.
    common: Vec<PredicateId>,
}

impl PartView<Snapshot> {
    /// A part as a cut left it: its table names the predicates of the whole.
    pub fn unchanged(part: impl Into<Arc<Snapshot>>) -> PartView<Snapshot> {
        let part = part.into();
        let predicates = part.predicate_table().to_vec();
        PartView::new(part, predicates)
    }
}

impl<V: GraphView> PartView<V> {
    /// A part, of a graph with these predicates: by number, distinct, [`VertexId::UNBOUND`] where a number is not in use;
    /// that of [`PredicateId::SIGNATURE`] is not. Asserts that they hold the part's.
    pub fn new(part: impl Into<Arc<V>>, predicates: Vec<VertexId>) -> PartView<V> {
        let part = part.into();
        let bound = (0..).zip(&predicates);
        let bound = bound.filter(|(_, vertex)| !vertex.is_unbound());
        let numbers: HashMap<VertexId, PredicateId> = bound
            .map(|(number, vertex)| (*vertex, PredicateId(number)))
            .collect();
        assert!(
            !numbers
                .values()
                .any(|number| *number == PredicateId::SIGNATURE),
            "that of signatures is no predicate's number"
        );
        let mut here = vec![None; predicates.len()];
        let mut common = Vec::new();
        for own in part.predicates() {
            let number = numbers.get(&part.predicate_vertex(own));
            let number = *number.expect("the predicates of all parts are those of each");
            here[number.0 as usize] = Some(own);
            let place = own.0 as usize;
            if common.len() <= place {
                common.resize(place + 1, PredicateId::SIGNATURE);
            }
            common[place] = number;
        }
        PartView {
            part,
            predicates,
            numbers,
            here,
            common,
        }
    }

    /// The part.
    pub fn part(&self) -> &Arc<V> {
        &self.part
    }

    /// A segment as the part numbers it; `None` where the part has no edge of its predicate.
    fn own(&self, segment: SegmentKey) -> Option<SegmentKey> {
        let predicate = match segment.predicate {
            PredicateId::SIGNATURE => PredicateId::SIGNATURE,
            predicate => self.here.get(predicate.0 as usize).copied().flatten()?,
        };
        Some(SegmentKey {
            predicate,
            ..segment
        })
    }
}

impl<V: GraphView + Send> GraphView for PartView<V> {
    fn commit_number(&self) -> Option<u64> {
        self.part.commit_number()
    }

    fn damage(&self) -> Option<ViewError> {
        self.part.damage()
    }

    fn predicate_id(&self, vertex: VertexId) -> Option<PredicateId> {
        self.numbers.get(&vertex).copied()
    }

    fn predicate_vertex(&self, predicate: PredicateId) -> VertexId {
        let vertex = self.predicates.get(predicate.0 as usize).copied();
        vertex
            .filter(|vertex| !vertex.is_unbound())
            .expect("the view gave this number out")
    }

    fn predicates(&self) -> Vec<PredicateId> {
        let mut all: Vec<PredicateId> = self.numbers.values().copied().collect();
        all.sort_unstable();
        all
    }

    fn named_graphs(&self) -> Result<Vec<VertexId>, ViewError> {
        self.part.named_graphs()
    }

    fn keys(&self, segment: SegmentKey) -> Result<VertexSet<'_>, ViewError> {
        match self.own(segment) {
            Some(segment) => self.part.keys(segment),
            None => Ok(VertexSet::empty()),
        }
    }

    fn vertices(&self, direction: Direction) -> Result<VertexSet<'_>, ViewError> {
        self.part.vertices(direction)
    }

    fn keys_of_graph(
        &self,
        segment: SegmentKey,
        graph: VertexId,
        keys: &mut Vec<VertexId>,
    ) -> Result<(), ViewError> {
        match self.own(segment) {
            Some(segment) => self.part.keys_of_graph(segment, graph, keys),
            None => Ok(()),
        }
    }

    fn edges(&self, segment: SegmentKey, scope: GraphScope<'_>) -> Result<Option<u64>, ViewError> {
        use GraphScope::{Default, Named, Union};
        match self.own(segment) {
            Some(segment) => self.part.edges(segment, scope),
            None => Ok(matches!(scope, Default | Named(_) | Union).then_some(0)),
        }
    }

    fn neighbours(
        &self,
        segment: SegmentKey,
        vertex: VertexId,
        scope: GraphScope<'_>,
    ) -> Result<VertexSet<'_>, ViewError> {
        match self.own(segment) {
            Some(segment) => self.part.neighbours(segment, vertex, scope),
            None => Ok(VertexSet::empty()),
        }
    }

    fn lists<'v>(
        &'v self,
        segment: SegmentKey,
        keys: &[VertexId],
        scope: GraphScope<'_>,
        lists: &mut Lists<'v>,
    ) -> Result<Progress, ViewError> {
        if let Some(segment) = self.own(segment) {
            return self.part.lists(segment, keys, scope, lists);
        }
        lists.refill_empty(keys.len(), true);
        Ok(Progress::Ready)
    }

    fn predicates_of(
        &self,
        direction: Direction,
        vertices: &[VertexId],
        predicates: &mut Vec<PredicateId>,
        ends: &mut Vec<u32>,
    ) -> Result<Progress, ViewError> {
        let (from, ends_from) = (predicates.len(), ends.len());
        let progress = self
            .part
            .predicates_of(direction, vertices, predicates, ends)?;
        for predicate in &mut predicates[from..] {
            *predicate = self.common[predicate.0 as usize];
        }
        let mut start = from;
        for &end in &ends[ends_from..] {
            let run = &mut predicates[start..end as usize];
            if !run.is_sorted() {
                run.sort_unstable();
            }
            start = end as usize;
        }
        Ok(progress)
    }

    fn located(&self, segment: SegmentKey, verify_bytes: u64) -> Result<Located, ViewError> {
        match self.own(segment) {
            Some(segment) => self.part.located(segment, verify_bytes),
            None => Ok(Located::of_no_edges()),
        }
    }
}
