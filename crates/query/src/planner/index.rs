//! Statistics turned around for the planner: by predicate, by class, by set of types.
//!
//! Built once per snapshot ([`crate::Planner::new`]), in time linear in the statistics, so that
//! planning a light query looks only at the sets that hold its predicates.
//!
//! A **block** is all vertices with one set of types. Out-sets and in-sets of the same vertices are
//! known only apart; within a block they are taken as independent. That is what links the two ends
//! of a walk: whoever is reached as an `advisor` is a professor, and all professors teach.

use super::demand::Demand;
use crate::statistics::{CharacteristicSet, PredicateStatistics, Statistics};
use hashbrown::HashMap;
use rdf::{Direction, VertexId};

/// The sets of one direction.
#[derive(Clone, Debug, Default)]
pub(super) struct DirectionSets {
    /// By block.
    pub sets: Vec<SetSummary>,
    /// The sets that have a predicate, ascending, each with its edges of it a vertex.
    pub by_predicate: HashMap<VertexId, Vec<(u32, f64)>>,
}

/// One set, without its predicates.
#[derive(Clone, Copy, Debug)]
pub(super) struct SetSummary {
    pub block: u32,
    pub vertices: f64,
    /// Edges over all its predicates.
    pub edges: f64,
}

/// All vertices with one set of types.
#[derive(Clone, Debug)]
pub(super) struct TypeBlock {
    /// Ascending.
    pub types: Vec<VertexId>,
    pub vertices: f64,
}

/// The statistics, indexed.
#[derive(Clone, Debug)]
pub(super) struct Index {
    pub statistics: Statistics,
    pub blocks: Vec<TypeBlock>,
    /// The blocks that have a class.
    pub by_class: HashMap<VertexId, Vec<u32>>,
    pub out: DirectionSets,
    pub into: DirectionSets,
    /// How many vertices there are, about; at least 1.
    pub vertices: f64,
    /// Vertices that have a predicate, as subjects and as objects, on average.
    pub keys: [f64; 2],
    /// Whether the sets record types.
    pub has_types: bool,
}

impl Index {
    pub(super) fn new(statistics: Statistics) -> Index {
        let is_ordered = statistics.predicates.is_sorted_by_key(|it| it.vertex);
        assert!(is_ordered, "predicates are looked up by their vertex");
        let mut sets = statistics.out_sets.iter().chain(&statistics.in_sets);
        let are_ordered = sets.all(|set| set.types.is_sorted());
        assert!(are_ordered, "the types of a set are looked up");
        let mut index = Index {
            has_types: statistics.out_sets.iter().any(|set| !set.types.is_empty()),
            blocks: Vec::new(),
            by_class: HashMap::new(),
            out: DirectionSets::default(),
            into: DirectionSets::default(),
            vertices: 1.0,
            keys: [0.0; 2],
            statistics: Statistics::default(),
        };
        let mut numbers = HashMap::new();
        index.out = index.side(
            &statistics.out_sets,
            &statistics.predicates,
            Direction::Out,
            &mut numbers,
        );
        index.into = index.side(
            &statistics.in_sets,
            &statistics.predicates,
            Direction::In,
            &mut numbers,
        );
        index.statistics = statistics;
        index.count_blocks();
        let vertices: f64 = index.blocks.iter().map(|block| block.vertices).sum();
        index.vertices = vertices.max(1.0);
        let predicates = &index.statistics.predicates;
        let subjects: u64 = predicates.iter().map(|it| it.subjects).sum();
        let objects: u64 = predicates.iter().map(|it| it.objects).sum();
        index.keys = [subjects, objects].map(|keys| keys as f64 / index.predicates());
        index
    }

    /// The sets of a direction; where none are recorded, one that has every predicate.
    fn side(
        &mut self,
        sets: &[CharacteristicSet],
        predicates: &[PredicateStatistics],
        direction: Direction,
        numbers: &mut HashMap<Vec<VertexId>, u32>,
    ) -> DirectionSets {
        let assumed;
        let sets = if sets.is_empty() {
            assumed = [assumed_set(predicates, direction)];
            &assumed[..]
        } else {
            sets
        };
        let numbered = sets.iter().map(|set| {
            let block = *numbers.entry(set.types.clone()).or_insert_with(|| {
                self.blocks.push(TypeBlock {
                    types: set.types.clone(),
                    vertices: 0.0,
                });
                self.blocks.len() as u32 - 1
            });
            (block, set)
        });
        let mut by_block: Vec<(u32, &CharacteristicSet)> = numbered.collect();
        by_block.sort_by_key(|(block, _)| *block);
        let mut side = DirectionSets::default();
        for (number, (block, set)) in by_block.into_iter().enumerate() {
            let vertices = set.vertices as f64;
            for &(predicate, edges) in &set.predicates {
                let list = side.by_predicate.entry(predicate).or_default();
                list.push((number as u32, edges as f64 / vertices.max(1.0)));
            }
            side.sets.push(SetSummary {
                block,
                vertices,
                edges: set.predicates.iter().map(|&(_, edges)| edges as f64).sum(),
            });
        }
        side
    }

    /// A block has the vertices of the side that knows more of them.
    fn count_blocks(&mut self) {
        let mut vertices = [vec![0.0; self.blocks.len()], vec![0.0; self.blocks.len()]];
        for (side, counts) in [&self.out, &self.into].into_iter().zip(&mut vertices) {
            for set in &side.sets {
                counts[set.block as usize] += set.vertices;
            }
        }
        for (number, block) in self.blocks.iter_mut().enumerate() {
            block.vertices = f64::max(vertices[0][number], vertices[1][number]);
            for &class in &block.types {
                self.by_class.entry(class).or_default().push(number as u32);
            }
        }
    }

    pub(super) fn side_of(&self, direction: Direction) -> &DirectionSets {
        match direction {
            Direction::Out => &self.out,
            Direction::In => &self.into,
        }
    }

    /// Solutions of one demand alone.
    pub(super) fn solutions(&self, demand: Demand) -> f64 {
        match demand {
            Demand::Predicate(_, predicate) => self
                .predicate(predicate)
                .map_or(0.0, |known| known.edges as f64),
            Demand::Any(_) => self.statistics.quads as f64,
            Demand::Type(class) => {
                let blocks = self.by_class.get(&class).into_iter().flatten();
                blocks
                    .map(|&block| self.blocks[block as usize].vertices)
                    .sum()
            }
        }
    }

    /// Sizes of a predicate, if there are edges of it.
    pub(super) fn predicate(&self, vertex: VertexId) -> Option<&PredicateStatistics> {
        let predicates = &self.statistics.predicates;
        predicates
            .binary_search_by_key(&vertex, |predicate| predicate.vertex)
            .ok()
            .map(|at| &predicates[at])
    }

    pub(super) fn predicates(&self) -> f64 {
        self.statistics.predicates.len().max(1) as f64
    }
}

/// One set that has every predicate, which proves nothing empty.
fn assumed_set(predicates: &[PredicateStatistics], direction: Direction) -> CharacteristicSet {
    let keys = |predicate: &PredicateStatistics| match direction {
        Direction::Out => predicate.subjects,
        Direction::In => predicate.objects,
    };
    CharacteristicSet {
        predicates: predicates.iter().map(|p| (p.vertex, p.edges)).collect(),
        types: Vec::new(),
        vertices: predicates.iter().map(keys).max().unwrap_or(0),
    }
}
