//! What a graph knows about itself, as plain values: sizes of predicates and classes, and
//! characteristic sets. The engine turns it into the planner's statistics; `query` and `store`
//! never meet.
//!
//! Cost: O(predicates + classes + sets); no neighbour is read, except to count the members of
//! classes where edges are in named graphs. Graphs without structure have nearly a set per vertex,
//! so the caller says how many sets are worth having.
//!
//! Over layers numbers of quads are exact and sets are complete (`delta::sets`), which costs some 50 ns
//! for each vertex of a layer. All other numbers are estimates: a subject that a layer gave another edge
//! of a predicate counts twice.
//!
//! Of a part of a graph, quads and subjects are counted along its out-edges and objects along its in-edges. So the
//! numbers of all parts add up to those of the whole, but for classes: each part with a member counts its class as an object.
//! Its in-sets are never complete, because what else points at a class is known where the class is owned.

use crate::delta::layer::KeySet;
use crate::delta::{Layer, Version, sets_of};
use crate::error::ViewError;
use crate::segment::reader::Segment;
use crate::signature::sets::{SetRecord, Sets};
use crate::snapshot::Snapshot;
use crate::source::Fault;
use crate::view::GraphView;
use rdf::{Direction, PredicateId, VertexId};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

/// Statistics of one snapshot, or of a version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotStatistics {
    /// Distinct quads.
    pub quads: u64,
    /// Number of named graphs that hold a quad.
    pub named_graphs: u64,
    /// The vertex of `rdf:type`, where the graph has an edge of it.
    pub type_vertex: Option<VertexId>,
    /// Distinct subjects.
    pub subjects: u64,
    /// Distinct objects.
    pub objects: u64,
    /// Every predicate, ascending by vertex.
    pub predicates: Vec<PredicateSizes>,
    /// Every class with its number of members over all graphs, ascending.
    pub classes: Vec<(VertexId, u64)>,
    /// Sets of out-predicates and types.
    pub out_sets: SetSizes,
    /// Sets of in-predicates.
    pub in_sets: SetSizes,
}

/// Sizes of one predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PredicateSizes {
    /// The predicate as a vertex.
    pub vertex: VertexId,
    /// Distinct subjects.
    pub subjects: u64,
    /// Distinct objects.
    pub objects: u64,
    /// Distinct quads.
    pub edges: u64,
}

/// Characteristic sets of one direction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetSizes {
    /// The sets asked for, those of most vertices where not all; otherwise in the order of their
    /// first vertices.
    pub sets: Vec<SetSize>,
    /// Whether these are all sets and each one's predicates are known: only then does a predicate
    /// that no set has prove anything.
    pub is_complete: bool,
    /// Whether sets name the types of their vertices.
    pub has_types: bool,
}

/// One characteristic set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetSize {
    /// Its predicates as vertices, ascending by their numbers, each with the edges that the set's
    /// vertices have of it: an estimate (see `store::signature`), at least one a vertex.
    pub predicates: Vec<(VertexId, u64)>,
    /// The types of its vertices, ascending; empty where types are not recorded.
    pub types: Vec<VertexId>,
    /// Vertices that have exactly this set.
    pub vertices: u64,
}

impl Snapshot {
    /// The snapshot's statistics, with at most `sets_max` sets a direction.
    pub fn statistics(&self, sets_max: usize) -> Result<SnapshotStatistics, ViewError> {
        self.collect_statistics(sets_max).map_err(|fault| *fault)
    }

    fn collect_statistics(&self, sets_max: usize) -> Result<SnapshotStatistics, Fault> {
        let mut statistics = SnapshotStatistics {
            named_graphs: self.graphs()?.count(),
            type_vertex: self.type_vertex(),
            subjects: self.vertices(Direction::Out)?.len(),
            objects: self.vertices(Direction::In)?.len(),
            out_sets: self.set_sizes(Direction::Out, sets_max)?,
            in_sets: self.set_sizes(Direction::In, sets_max)?,
            ..SnapshotStatistics::default()
        };
        // In-edges of a class lie with its members, so no part knows all in-predicates of a class.
        statistics.in_sets.is_complete &= self.part_of().is_none();
        for predicate in self.predicates() {
            let out = self.side(Direction::Out).segment(predicate)?;
            let into = self.side(Direction::In).segment(predicate)?;
            let edges = out.map_or(0, |segment| segment.descriptor.rows);
            statistics.quads += edges;
            statistics.predicates.push(PredicateSizes {
                vertex: self.predicate_vertex(predicate),
                subjects: out.map_or(0, |segment| segment.descriptor.keys),
                objects: into.map_or(0, |segment| segment.descriptor.keys),
                edges,
            });
        }
        statistics
            .predicates
            .sort_unstable_by_key(|sizes| sizes.vertex);
        if let Some(segment) = self.side(Direction::In).segment(PredicateId::TYPE)? {
            statistics.classes = class_sizes(&segment)?;
        }
        Ok(statistics)
    }

    fn set_sizes(&self, direction: Direction, sets_max: usize) -> Result<SetSizes, Fault> {
        let sets = Sets::open(&self.side(direction).sets)?;
        let mut is_complete = true;
        // The smallest of the largest is on top, the later one among equals.
        let mut largest = BinaryHeap::new();
        let mut number = 0u64;
        sets.each(|record| {
            is_complete &= !record.is_unknown;
            if !record.is_unknown {
                largest.push(Reverse((record.vertices, Reverse(number))));
                if largest.len() > sets_max {
                    largest.pop();
                    is_complete = false;
                }
            }
            number += 1;
        })?;
        let mut numbers: Vec<u64> = largest
            .into_iter()
            .map(|Reverse((_, Reverse(set)))| set)
            .collect();
        numbers.sort_unstable();
        let mut sizes = SetSizes {
            is_complete,
            has_types: sets.have_types(),
            sets: Vec::new(),
        };
        let mut record = SetRecord::default();
        for number in numbers {
            sets.read(number, &mut record)?;
            sizes.sets.push(self.set_size(&record));
        }
        Ok(sizes)
    }

    pub(crate) fn set_size(&self, record: &SetRecord) -> SetSize {
        let vertex = |predicate: &PredicateId| {
            let vertex = self.predicate_table().get(predicate.0 as usize);
            vertex.copied().unwrap_or(VertexId::UNBOUND)
        };
        SetSize {
            predicates: record
                .predicates
                .iter()
                .map(vertex)
                .zip(record.edges.iter().copied())
                .collect(),
            types: record.types.clone(),
            vertices: record.vertices,
        }
    }
}

impl Version {
    /// The version's statistics, with at most `sets_max` sets a direction. Exact without layers,
    /// else see the module. O(predicates + classes + sets) of base and layers, and the layers' vertices.
    pub fn statistics(&self, sets_max: usize) -> Result<SnapshotStatistics, ViewError> {
        if self.layers().is_empty() {
            return self.base().statistics(sets_max);
        }
        let mut statistics = self.base().statistics(0)?;
        let sets = sets_of(self, sets_max).map_err(|fault| *fault)?;
        [statistics.out_sets, statistics.in_sets] = sets;
        statistics.in_sets.is_complete &= self.base().part_of().is_none();
        let mut predicates = BTreeMap::new();
        for sizes in statistics.predicates.drain(..) {
            predicates.insert(sizes.vertex, sizes);
        }
        let mut classes: BTreeMap<VertexId, u64> = statistics.classes.drain(..).collect();
        for layer in self.layers() {
            if let Some(adds) = layer.adds() {
                let added = adds.statistics(0)?;
                for sizes in &added.predicates {
                    let sum = predicates.entry(sizes.vertex).or_insert(PredicateSizes {
                        vertex: sizes.vertex,
                        ..PredicateSizes::NONE
                    });
                    sum.edges += sizes.edges;
                    sum.subjects += sizes.subjects;
                    sum.objects += sizes.objects;
                }
                for &(class, members) in &added.classes {
                    *classes.entry(class).or_default() += members;
                }
                statistics.subjects += added.subjects;
                statistics.objects += added.objects;
                statistics.named_graphs += added.named_graphs;
            }
        }
        for layer in self.layers() {
            take_deleted(layer, &mut predicates, &mut classes)?;
        }
        take_gone(self.layers(), &mut statistics, &mut predicates);
        let incoming = self.bound_keys(&mut predicates)?;
        statistics.quads = predicates.values().map(|sizes| sizes.edges).sum();
        statistics.subjects = statistics.subjects.min(statistics.quads);
        statistics.objects = statistics.objects.min(incoming);
        statistics.named_graphs = statistics.named_graphs.min(statistics.quads + incoming);
        let type_vertex = self.type_vertex;
        statistics.type_vertex = type_vertex.filter(|vertex| predicates.contains_key(vertex));
        statistics.predicates = predicates.into_values().collect();
        statistics.classes = classes.into_iter().collect();
        Ok(statistics)
    }

    /// Leaves the predicates that have an edge, each with no more keys than edges; gives the number of in-edges.
    fn bound_keys(
        &self,
        predicates: &mut BTreeMap<VertexId, PredicateSizes>,
    ) -> Result<u64, ViewError> {
        let mut sum = 0;
        let mut dead = Vec::new();
        for (&vertex, sizes) in &mut *predicates {
            let incoming = match self.base().part_of() {
                None => sizes.edges,
                Some(_) => self
                    .edges_of(vertex, Direction::In)
                    .map_err(|fault| *fault)?,
            };
            sum += incoming;
            sizes.subjects = sizes.subjects.clamp(sizes.edges.min(1), sizes.edges);
            sizes.objects = sizes.objects.clamp(incoming.min(1), incoming);
            dead.extend((sizes.edges + incoming == 0).then_some(vertex));
        }
        for vertex in dead {
            predicates.remove(&vertex);
        }
        Ok(sum)
    }
}

/// Takes away the edges that a layer deleted. A class stays listed: whether it has members left is not known.
fn take_deleted(
    layer: &Layer,
    predicates: &mut BTreeMap<VertexId, PredicateSizes>,
    classes: &mut BTreeMap<VertexId, u64>,
) -> Result<(), ViewError> {
    if let Some(dels) = layer.dels() {
        let deleted = dels.statistics(0)?;
        for sizes in &deleted.predicates {
            if let Some(sum) = predicates.get_mut(&sizes.vertex) {
                sum.edges = sum.edges.saturating_sub(sizes.edges);
            }
        }
        for (class, members) in &deleted.classes {
            if let Some(sum) = classes.get_mut(class) {
                *sum = sum.saturating_sub(*members).max(1);
            }
        }
    }
    Ok(())
}

/// Takes away the keys and named graphs that went, each once however many layers say so. One that came back is in
/// the index of a later layer, too, and was counted there.
fn take_gone(
    layers: &[Arc<Layer>],
    statistics: &mut SnapshotStatistics,
    predicates: &mut BTreeMap<VertexId, PredicateSizes>,
) {
    let mut gone: BTreeMap<KeySet, Vec<&[VertexId]>> = BTreeMap::new();
    for layer in layers {
        for (&set, keys) in &layer.keys.gone {
            gone.entry(set).or_default().push(keys);
        }
    }
    for ((name, direction), lists) in gone {
        let (subjects, objects) = if name.is_unbound() {
            (&mut statistics.subjects, &mut statistics.objects)
        } else if let Some(sizes) = predicates.get_mut(&name) {
            (&mut sizes.subjects, &mut sizes.objects)
        } else {
            continue;
        };
        let keys = match direction {
            Direction::Out => subjects,
            Direction::In => objects,
        };
        *keys = keys.saturating_sub(distinct(&lists));
    }
    let graphs: Vec<&[VertexId]> = layers
        .iter()
        .map(|layer| &layer.keys.graphs_gone[..])
        .collect();
    statistics.named_graphs = statistics.named_graphs.saturating_sub(distinct(&graphs));
}

/// How many vertices are in these lists, each of which has a vertex once.
fn distinct(lists: &[&[VertexId]]) -> u64 {
    let filled = || lists.iter().filter(|list| !list.is_empty());
    if filled().count() < 2 {
        return filled().map(|list| list.len() as u64).sum();
    }
    let mut all = lists.concat();
    // The stable sort finds the lists, which ascend, and merges them.
    all.sort();
    all.dedup();
    all.len() as u64
}

impl PredicateSizes {
    const NONE: PredicateSizes = PredicateSizes {
        vertex: VertexId::UNBOUND,
        subjects: 0,
        objects: 0,
        edges: 0,
    };
}

/// Members of each class. Where edges are in named graphs a member may come several times, side by
/// side.
fn class_sizes(segment: &Segment<'_>) -> Result<Vec<(VertexId, u64)>, Fault> {
    let mut classes = Vec::new();
    segment.index()?.decode(0, u64::MAX, &mut classes)?;
    let column = segment.column()?;
    let mut members = Vec::new();
    let mut sizes = Vec::with_capacity(classes.len());
    for (ordinal, &class) in (0..).zip(&classes) {
        let rows = segment.rows_of_ordinal(ordinal)?;
        let mut count = rows.end - rows.start;
        if segment.has_graphs() {
            members.clear();
            column.decode(rows, &mut members)?;
            members.dedup();
            count = members.len() as u64;
        }
        sizes.push((class, count));
    }
    Ok(sizes)
}
