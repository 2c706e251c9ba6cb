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
//! evaluation costs a handful of products; the grouping costs the sets that have them. A star of one
//! pattern, as most variables have, is counted by the statistics as it stands.

use super::index::Index;
use rdf::{Direction, VertexId};

/// Bounds the products of fan-outs, so that ratios of them stay numbers.
const WEIGHT_MAX: f64 = 1e100;

/// How many groups are looked at for one to merge a set into.
const GROUPS_SEARCHED_MAX: usize = 64;

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

impl Demand {
    /// The direction of the sets that answer it; `None` for a class.
    fn direction(self) -> Option<Direction> {
        match self {
            Demand::Predicate(direction, _) | Demand::Any(direction) => Some(direction),
            Demand::Type(_) => None,
        }
    }
}

/// The star of one variable.
#[derive(Clone, Debug, Default)]
pub(super) struct Star {
    /// The demands, each once.
    demands: Vec<Demand>,
    /// Patterns and their demands, ascending by pattern; a pattern may stand here twice.
    pub incident: Vec<(usize, usize)>,
    /// The solutions of a star of one pattern, which needs no sets.
    alone: Option<f64>,
    /// Ascending by number of the index's block.
    blocks: Vec<Block>,
}

/// The vertices of one set of types, as this star sees them.
#[derive(Clone, Debug)]
struct Block {
    number: u32,
    vertices: f64,
    /// By demand: whether the block has the type. Empty where no demand is a class.
    has_type: Vec<bool>,
    /// Groups of out-sets and of in-sets.
    groups: [Vec<Group>; 2],
}

/// Sets of a block that have the same of the star's predicates.
#[derive(Clone, Debug)]
struct Group {
    /// Share of the block's vertices.
    share: f64,
    /// By demand: edges per vertex.
    fans: Vec<f64>,
}

/// A set that answers a demand.
#[derive(Clone, Copy)]
struct Answer {
    block: u32,
    set: u32,
    demand: usize,
    fan: f64,
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
        if let [(_, demand)] = self.incident[..] {
            self.alone = Some(index.solutions(self.demands[demand]));
            return;
        }
        for direction in [Direction::Out, Direction::In] {
            let answers = self.answers(index, direction);
            for sets in answers.chunk_by(|a, b| a.set == b.set) {
                self.group(index, direction, sets);
            }
        }
        if self.demands.iter().any(|d| matches!(d, Demand::Type(_))) {
            self.note_types(index);
        }
    }

    /// The sets of a direction that answer any demand, by block and set.
    fn answers(&self, index: &Index, direction: Direction) -> Vec<Answer> {
        let side = index.side_of(direction);
        let mut answers = Vec::new();
        let mut note = |set: u32, demand: usize, edges: f64| {
            let summary = side.sets[set as usize];
            answers.push(Answer {
                block: summary.block,
                set,
                demand,
                fan: edges / summary.vertices.max(1.0),
            });
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
        answers.sort_unstable_by_key(|answer| (answer.block, answer.set, answer.demand));
        answers
    }

    /// Adds a set, by what it answers, to the group of its block that has the same predicates.
    fn group(&mut self, index: &Index, direction: Direction, answers: &[Answer]) {
        let demands = self.demands.len();
        let Some(first) = answers.first() else { return };
        let vertices = index.side_of(direction).sets[first.set as usize].vertices;
        let block = self.block(index, first.block);
        let share = vertices / block.vertices.max(1.0);
        let groups = &mut block.groups[direction as usize];
        let has_the_same = |group: &&mut Group| {
            let has = group.fans.iter().filter(|fan| **fan > 0.0).count();
            has == answers.len() && answers.iter().all(|a| group.fans[a.demand] > 0.0)
        };
        // Not merging changes nothing but the time that evaluations take.
        let known = groups
            .iter_mut()
            .rev()
            .take(GROUPS_SEARCHED_MAX)
            .find(has_the_same);
        if let Some(group) = known {
            group.merge(share, answers);
            return;
        }
        let mut group = Group {
            share,
            fans: vec![0.0; demands],
        };
        for answer in answers {
            group.fans[answer.demand] = answer.fan;
        }
        groups.push(group);
    }

    fn block(&mut self, index: &Index, number: u32) -> &mut Block {
        let at = self
            .blocks
            .binary_search_by_key(&number, |block| block.number);
        let at = at.unwrap_or_else(|at| {
            let block = Block {
                number,
                vertices: index.blocks[number as usize].vertices,
                has_type: Vec::new(),
                groups: [Vec::new(), Vec::new()],
            };
            self.blocks.insert(at, block);
            at
        });
        &mut self.blocks[at]
    }

    /// Notes which blocks are of the classes demanded.
    fn note_types(&mut self, index: &Index) {
        for class in self.demands.clone() {
            let Demand::Type(class) = class else { continue };
            for &block in index.by_class.get(&class).into_iter().flatten() {
                self.block(index, block);
            }
        }
        let demands = &self.demands;
        for block in &mut self.blocks {
            let types = &index.blocks[block.number as usize].types;
            let has = |demand: &Demand| match demand {
                Demand::Type(class) => types.binary_search(class).is_ok(),
                _ => false,
            };
            block.has_type = demands.iter().map(has).collect();
        }
    }

    /// Whether no vertex has all that is demanded.
    pub(super) fn is_empty(&self) -> bool {
        let demands: Vec<usize> = (0..self.demands.len()).collect();
        self.solutions(&demands) == 0.0
    }

    /// `W` of patterns given by their demands; 1 for none.
    pub(super) fn solutions(&self, demands: &[usize]) -> f64 {
        if demands.is_empty() {
            return 1.0;
        }
        if let Some(alone) = self.alone {
            return alone;
        }
        let uses = |direction| {
            let mut of = demands
                .iter()
                .map(|&demand| self.demands[demand].direction());
            of.any(|of| of == Some(direction))
        };
        let used = [uses(Direction::Out), uses(Direction::In)];
        let mut sum = 0.0;
        for block in &self.blocks {
            let is_type = |&demand: &usize| match self.demands[demand] {
                Demand::Type(_) => block.has_type[demand],
                _ => true,
            };
            if demands.iter().all(is_type) {
                sum += block.vertices
                    * self.ways(block, Direction::Out, used, demands)
                    * self.ways(block, Direction::In, used, demands);
            }
        }
        sum
    }

    /// Solutions per vertex of a block in one direction.
    fn ways(&self, block: &Block, direction: Direction, used: [bool; 2], demands: &[usize]) -> f64 {
        if !used[direction as usize] {
            return 1.0;
        }
        let fans = |group: &Group| {
            let mut product = 1.0;
            for &demand in demands {
                if self.demands[demand].direction() == Some(direction) {
                    product *= group.fans[demand];
                    // Most groups have not all of the predicates.
                    if product == 0.0 {
                        break;
                    }
                }
            }
            group.share * product
        };
        block.groups[direction as usize].iter().map(fans).sum()
    }
}

impl Group {
    /// Adds a set with the same predicates: fan-outs are averages over vertices.
    fn merge(&mut self, share: f64, answers: &[Answer]) {
        let sum = (self.share + share).max(f64::MIN_POSITIVE);
        for answer in answers {
            let mine = &mut self.fans[answer.demand];
            *mine = (*mine * self.share + answer.fan * share) / sum;
        }
        self.share = sum;
    }
}

/// A star with some of its patterns chosen, for adding one after the other.
#[derive(Clone, Debug)]
pub(super) struct StarState {
    /// By block, then by direction, then by group: share times the fan-outs so far. A block without
    /// a demanded type has no groups left.
    weights: Vec<f64>,
    alive: Vec<bool>,
    used: [bool; 2],
    /// Whether any pattern is chosen.
    pub is_used: bool,
}

impl StarState {
    pub(super) fn new(star: &Star) -> StarState {
        let groups = star
            .blocks
            .iter()
            .flat_map(|block| block.groups.iter().flatten());
        StarState {
            weights: groups.map(|group| group.share).collect(),
            alive: vec![true; star.blocks.len()],
            used: [false; 2],
            is_used: false,
        }
    }

    /// Chooses a pattern with this demand.
    pub(super) fn demand(&mut self, star: &Star, demand: usize) {
        self.is_used = true;
        let direction = star.demands[demand].direction();
        if let Some(direction) = direction {
            self.used[direction as usize] = true;
        }
        let mut weights = self.weights.iter_mut();
        for (block, alive) in star.blocks.iter().zip(&mut self.alive) {
            *alive &= direction.is_some() || block.has_type[demand];
            for (of, groups) in [Direction::Out, Direction::In]
                .into_iter()
                .zip(&block.groups)
            {
                for (group, weight) in groups.iter().zip(&mut weights) {
                    if direction == Some(of) {
                        *weight = (*weight * group.fans[demand]).min(WEIGHT_MAX);
                    }
                }
            }
        }
    }

    /// `W` of what is chosen.
    pub(super) fn solutions(&self, star: &Star) -> f64 {
        if !self.is_used {
            return 1.0;
        }
        if let Some(alone) = star.alone {
            return alone;
        }
        let mut weights = &self.weights[..];
        let mut sum = 0.0;
        for (block, alive) in star.blocks.iter().zip(&self.alive) {
            let mut ways = [1.0; 2];
            for (direction, groups) in block.groups.iter().enumerate() {
                let (mine, rest) = weights.split_at(groups.len());
                weights = rest;
                if self.used[direction] {
                    ways[direction] = mine.iter().sum();
                }
            }
            if *alive {
                sum += block.vertices * ways[0] * ways[1];
            }
        }
        sum
    }
}
