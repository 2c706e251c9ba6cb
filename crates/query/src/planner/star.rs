//! The star of a variable: all patterns that it stands in, and how many solutions a choice of them
//! has at this variable alone, whatever is at their other ends.
//!
//! For a star with patterns M the estimate is
//!
//! ```text
//!            blocks            out-sets of the block            in-sets of the block
//!   W(M)  =   SUM   vertices * ( SUM  share * PROD fan-out ) * ( SUM  share * PROD fan-in )
//!          that have            that have all out-              that have all in-
//!          the types            predicates of M                 predicates of M
//! ```
//!
//! Exact for patterns of one direction (Neumann and Moerkotte, "Characteristic sets", ICDE'11);
//! the two directions are taken as independent within a block of equal types. Zero is a proof: no
//! vertex has the set. Sets are grouped once per query by which of its predicates they have, so an
//! evaluation costs a handful of products; the grouping costs the sets that have them.

use super::index::Index;
use rdf::{Direction, VertexId};
use std::collections::HashMap;

/// Bounds the products of fan-outs, so that ratios of them stay numbers.
const WEIGHT_MAX: f64 = 1e100;

/// What a pattern demands of the variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Demand {
    /// An edge of this predicate ([`Direction::Out`]: the variable is the subject).
    Predicate(Direction, VertexId),
    /// An edge of any predicate.
    Any(Direction),
    /// To be of this class.
    Type(VertexId),
}

/// The star of one variable.
#[derive(Clone, Debug, Default)]
pub(super) struct Star {
    /// The demands, each once.
    demands: Vec<Demand>,
    /// Patterns and their demands, ascending by pattern; a pattern may stand here twice.
    pub incident: Vec<(usize, usize)>,
    blocks: Vec<Block>,
}

/// The vertices of one set of types, as this star sees them.
#[derive(Clone, Debug)]
struct Block {
    vertices: f64,
    /// By demand: whether the block has the type.
    has_type: Vec<bool>,
    out: Vec<Group>,
    into: Vec<Group>,
}

/// Sets of a block that have the same of the star's predicates.
#[derive(Clone, Debug)]
struct Group {
    /// Share of the block's vertices.
    share: f64,
    /// By demand: edges per vertex.
    fans: Vec<f64>,
}

impl Star {
    pub(super) fn add(&mut self, pattern: usize, demand: Demand) {
        let known = self.demands.iter().position(|known| *known == demand);
        let number = known.unwrap_or_else(|| {
            self.demands.push(demand);
            self.demands.len() - 1
        });
        self.incident.push((pattern, number));
    }

    /// Groups the statistics' sets by the demands that were added.
    pub(super) fn prepare(&mut self, index: &Index) {
        let mut blocks: HashMap<u32, Block> = HashMap::new();
        for direction in [Direction::Out, Direction::In] {
            self.group_sets(index, direction, &mut blocks);
        }
        if self.demands.iter().any(|d| matches!(d, Demand::Type(_))) {
            for (number, block) in index.blocks.iter().enumerate() {
                let has = |demand: &Demand| match demand {
                    Demand::Type(class) => block.types.binary_search(class).is_ok(),
                    _ => false,
                };
                let has_type: Vec<bool> = self.demands.iter().map(has).collect();
                if has_type.contains(&true) {
                    self.block(index, number as u32, &mut blocks).has_type = has_type;
                }
            }
        }
        let mut numbered: Vec<(u32, Block)> = blocks.into_iter().collect();
        numbered.sort_unstable_by_key(|(number, _)| *number);
        self.blocks = numbered.into_iter().map(|(_, block)| block).collect();
    }

    fn group_sets(&self, index: &Index, direction: Direction, blocks: &mut HashMap<u32, Block>) {
        let side = index.side_of(direction);
        // By set: edges per vertex of each demand.
        let mut fans: HashMap<u32, Vec<f64>> = HashMap::new();
        let demands = self.demands.len();
        let mut note = |set: u32, demand: usize, edges: f64| {
            let vertices = side.sets[set as usize].vertices.max(1.0);
            fans.entry(set).or_insert_with(|| vec![0.0; demands])[demand] = edges / vertices;
        };
        for (number, demand) in self.demands.iter().enumerate() {
            match demand {
                Demand::Predicate(of, predicate) if *of == direction => {
                    for &(set, edges) in side.by_predicate.get(predicate).into_iter().flatten() {
                        note(set, number, edges);
                    }
                }
                Demand::Any(of) if *of == direction => {
                    for (set, summary) in side.sets.iter().enumerate() {
                        note(set as u32, number, summary.edges);
                    }
                }
                _ => {}
            }
        }
        let mut sets: Vec<(u32, Vec<f64>)> = fans.into_iter().collect();
        sets.sort_unstable_by_key(|(set, _)| *set);
        let mut groups: HashMap<(u32, Vec<bool>), usize> = HashMap::new();
        for (set, fans) in sets {
            let summary = side.sets[set as usize];
            let block = self.block(index, summary.block, blocks);
            let share = summary.vertices / block.vertices.max(1.0);
            let list = match direction {
                Direction::Out => &mut block.out,
                Direction::In => &mut block.into,
            };
            let has: Vec<bool> = fans.iter().map(|fan| *fan > 0.0).collect();
            let known = *groups.entry((summary.block, has)).or_insert(list.len());
            if let Some(group) = list.get_mut(known) {
                group.merge(share, &fans);
            } else {
                list.push(Group { share, fans });
            }
        }
    }

    fn block<'b>(
        &self,
        index: &Index,
        number: u32,
        blocks: &'b mut HashMap<u32, Block>,
    ) -> &'b mut Block {
        blocks.entry(number).or_insert_with(|| Block {
            vertices: index.blocks[number as usize].vertices,
            has_type: vec![false; self.demands.len()],
            out: Vec::new(),
            into: Vec::new(),
        })
    }

    /// `W` of the patterns for which `chosen` holds; 1 where none is chosen.
    pub(super) fn solutions(&self, chosen: impl Fn(usize) -> bool) -> f64 {
        let mut state = StarState::new(self);
        let mut any = false;
        for &(pattern, demand) in &self.incident {
            if chosen(pattern) {
                any = true;
                state.demand(self, demand);
            }
        }
        if any { state.solutions(self) } else { 1.0 }
    }
}

impl Group {
    /// Adds sets with the same predicates: fan-outs are averages over vertices.
    fn merge(&mut self, share: f64, fans: &[f64]) {
        let sum = self.share + share;
        for (mine, theirs) in self.fans.iter_mut().zip(fans) {
            *mine = (*mine * self.share + theirs * share) / sum.max(f64::MIN_POSITIVE);
        }
        self.share = sum;
    }
}

/// A star with some of its patterns chosen, for adding one after the other.
#[derive(Clone, Debug)]
pub(super) struct StarState {
    /// By block, then by group: share times the fan-outs so far; a dead block has none.
    blocks: Vec<Option<(Vec<f64>, Vec<f64>)>>,
    has_out: bool,
    has_in: bool,
    /// Whether any pattern is chosen.
    pub is_used: bool,
}

impl StarState {
    pub(super) fn new(star: &Star) -> StarState {
        let shares = |groups: &[Group]| groups.iter().map(|group| group.share).collect();
        StarState {
            blocks: star
                .blocks
                .iter()
                .map(|block| Some((shares(&block.out), shares(&block.into))))
                .collect(),
            has_out: false,
            has_in: false,
            is_used: false,
        }
    }

    /// Chooses a pattern with this demand.
    pub(super) fn demand(&mut self, star: &Star, demand: usize) {
        self.is_used = true;
        let kind = star.demands[demand];
        match kind {
            Demand::Type(_) => {}
            Demand::Predicate(Direction::Out, _) | Demand::Any(Direction::Out) => {
                self.has_out = true;
            }
            Demand::Predicate(Direction::In, _) | Demand::Any(Direction::In) => self.has_in = true,
        }
        for (state, block) in self.blocks.iter_mut().zip(&star.blocks) {
            let Some((out, into)) = state else { continue };
            let (weights, groups) = match kind {
                Demand::Type(_) => {
                    if !block.has_type[demand] {
                        *state = None;
                    }
                    continue;
                }
                Demand::Predicate(Direction::Out, _) | Demand::Any(Direction::Out) => {
                    (out, &block.out)
                }
                Demand::Predicate(Direction::In, _) | Demand::Any(Direction::In) => {
                    (into, &block.into)
                }
            };
            for (weight, group) in weights.iter_mut().zip(groups) {
                *weight = (*weight * group.fans[demand]).min(WEIGHT_MAX);
            }
        }
    }

    /// `W` of what is chosen.
    pub(super) fn solutions(&self, star: &Star) -> f64 {
        if !self.is_used {
            return 1.0;
        }
        let mut sum = 0.0;
        for (state, block) in self.blocks.iter().zip(&star.blocks) {
            if let Some((out, into)) = state {
                let out = if self.has_out { out.iter().sum() } else { 1.0 };
                let into = if self.has_in { into.iter().sum() } else { 1.0 };
                sum += block.vertices * out * into;
            }
        }
        sum
    }
}
