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

use super::demand::Demand;
use super::index::Index;
use rdf::Direction;
use smallvec::SmallVec;
use std::ops::Range;

/// Bounds the products of fan-outs, so that ratios of them stay numbers.
const WEIGHT_MAX: f64 = 1e100;

/// How many groups are looked at for one to merge a set into.
const GROUPS_SEARCHED_MAX: usize = 64;

/// The star of one variable.
#[derive(Clone, Debug, Default)]
pub(super) struct Star {
    /// The demands, each once.
    demands: SmallVec<[Demand; 1]>,
    /// Patterns and their demands, ascending by pattern; a pattern may stand here twice.
    pub incident: SmallVec<[(usize, usize); 1]>,
    /// The solutions of a star of one pattern, which needs no sets.
    alone: Option<f64>,
    /// Ascending by number of the index's block.
    blocks: Vec<Block>,
    /// Those of out-sets, then those of in-sets; each by block.
    groups: Vec<Group>,
    /// How many of the groups are of out-sets.
    outs: usize,
    /// By group, by demand: edges per vertex.
    fans: Vec<f64>,
    /// By block, by demand: whether it is a class and the block has it. Empty where no demand is one.
    has_class: Vec<bool>,
}

/// The vertices of one set of types, as this star sees them.
#[derive(Clone, Debug)]
struct Block {
    number: u32,
    vertices: f64,
    /// Its groups of out-sets and of in-sets.
    groups: [Range<usize>; 2],
    /// What any of them answers, likewise.
    answers: [Mask; 2],
    /// The classes of the demands that it has.
    classes: Mask,
}

/// Sets of a block that have the same of the star's predicates.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// Share of the block's vertices.
    share: f64,
    /// How many that is.
    vertices: f64,
    /// The demands that its fan-outs answer.
    answers: Mask,
    /// The classes of its block.
    classes: Mask,
}

/// A set of demands, a bit each; those beyond the 64th share bits, so that a mask without the bit has not the
/// demand, and one with it may have it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Mask(u64);

impl Mask {
    fn add(&mut self, demand: usize) {
        self.0 |= 1 << (demand % 64);
    }

    /// Whether all of these may be here.
    fn may_have(self, demands: Mask) -> bool {
        demands.0 & !self.0 == 0
    }
}

/// A set that answers a demand.
#[derive(Clone, Copy)]
struct Answer {
    /// Sets are numbered by block.
    set: u32,
    demand: u32,
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
            if direction == Direction::Out {
                self.outs = self.groups.len();
            }
        }
        if self.demands.iter().any(|d| matches!(d, Demand::Type(_))) {
            self.note_classes(index);
        }
        for block in &self.blocks {
            for groups in &block.groups {
                for group in &mut self.groups[groups.clone()] {
                    group.vertices = group.share * block.vertices;
                    group.classes = block.classes;
                }
            }
        }
        let fans = self.groups.len() * self.demands.len();
        assert_eq!(self.fans.len(), fans, "a group has a fan for each demand");
    }

    /// The sets of a direction that answer any demand, ascending, each with its demands ascending.
    fn answers(&self, index: &Index, direction: Direction) -> Vec<Answer> {
        let side = index.side_of(direction);
        let mut answers = Vec::new();
        for (demand, demanded) in (0..).zip(&self.demands) {
            match demanded {
                Demand::Predicate(of, predicate) if *of == direction => {
                    let sets = side.by_predicate.get(predicate).into_iter().flatten();
                    answers.extend(sets.map(|&(set, fan)| Answer { set, demand, fan }));
                }
                Demand::Any(of) if *of == direction => {
                    let sets = (0..).zip(&side.sets);
                    answers.extend(sets.map(|(set, summary)| {
                        let fan = summary.edges / summary.vertices.max(1.0);
                        Answer { set, demand, fan }
                    }));
                }
                _ => {}
            }
        }
        // Those of each demand are ascending already, which a stable sort makes use of.
        answers.sort_by_key(|answer| u64::from(answer.set) << 32 | u64::from(answer.demand));
        answers
    }

    /// Adds a set, by what it answers, to the group of its block that has the same predicates.
    fn group(&mut self, index: &Index, direction: Direction, set: &[Answer]) {
        let Some(first) = set.first() else { return };
        let summary = index.side_of(direction).sets[first.set as usize];
        let block = self.block(index, summary.block);
        let block = &mut self.blocks[block];
        let share = summary.vertices / block.vertices.max(1.0);
        let groups = &mut block.groups[direction as usize];
        let mut answers = Mask::default();
        set.iter()
            .filter(|answer| answer.fan > 0.0)
            .for_each(|answer| answers.add(answer.demand as usize));
        let (demands, fans) = (self.demands.len(), &mut self.fans);
        let has_the_same = |at: usize| {
            let fans = &fans[at * demands..][..demands];
            fans.iter().filter(|fan| **fan > 0.0).count() == set.len()
                && set.iter().all(|a| fans[a.demand as usize] > 0.0)
        };
        // Not merging changes nothing but the time that evaluations take.
        let mut known = groups.clone().rev().take(GROUPS_SEARCHED_MAX);
        let known = known.find(|&at| self.groups[at].answers == answers && has_the_same(at));
        if let Some(at) = known {
            self.groups[at].merge(&mut fans[at * demands..][..demands], share, set);
            return;
        }
        // Those of a block follow each other, as sets come by block.
        if groups.start == groups.end {
            *groups = self.groups.len()..self.groups.len();
        }
        assert_eq!(groups.end, self.groups.len(), "sets come by block");
        groups.end += 1;
        block.answers[direction as usize].0 |= answers.0;
        self.groups.push(Group {
            share,
            vertices: 0.0,
            answers,
            classes: Mask::default(),
        });
        let start = fans.len();
        fans.resize(start + demands, 0.0);
        for answer in set {
            fans[start + answer.demand as usize] = answer.fan;
        }
    }

    /// The place of a block.
    fn block(&mut self, index: &Index, number: u32) -> usize {
        // Sets come by block.
        if let Some(last) = self.blocks.last()
            && last.number == number
        {
            return self.blocks.len() - 1;
        }
        let at = self
            .blocks
            .binary_search_by_key(&number, |block| block.number);
        at.unwrap_or_else(|at| {
            let block = Block {
                number,
                vertices: index.blocks[number as usize].vertices,
                groups: [0..0, 0..0],
                answers: [Mask::default(); 2],
                classes: Mask::default(),
            };
            self.blocks.insert(at, block);
            at
        })
    }

    /// Notes which blocks are of the classes demanded.
    fn note_classes(&mut self, index: &Index) {
        for at in 0..self.demands.len() {
            let Demand::Type(class) = self.demands[at] else {
                continue;
            };
            for &block in index.by_class.get(&class).into_iter().flatten() {
                self.block(index, block);
            }
        }
        self.has_class
            .reserve(self.blocks.len() * self.demands.len());
        for block in &mut self.blocks {
            let types = &index.blocks[block.number as usize].types;
            for (number, demand) in self.demands.iter().enumerate() {
                let has = match demand {
                    Demand::Type(class) => types.binary_search(class).is_ok(),
                    _ => false,
                };
                if has {
                    block.classes.add(number);
                }
                self.has_class.push(has);
            }
        }
        let classes = self.blocks.len() * self.demands.len();
        assert_eq!(
            self.has_class.len(),
            classes,
            "a block says of each demand whether it has it"
        );
    }

    /// Whether a block has the class that is demanded.
    fn has_class(&self, block: usize, demand: usize) -> bool {
        self.has_class[block * self.demands.len() + demand]
    }

    /// Whether no vertex has all that is demanded.
    pub(super) fn is_empty(&self) -> bool {
        if let Some(alone) = self.alone {
            return alone == 0.0;
        }
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
        let mut wanted = [
            DemandSet::default(),
            DemandSet::default(),
            DemandSet::default(),
        ];
        for &demand in demands {
            let kind = self.demands[demand].direction();
            wanted[kind.map_or(2, |direction| direction as usize)].add(demand);
        }
        let [out, into, classes] = &wanted;
        // Within 64 demands a mask says all, and then the sets of one direction need no blocks.
        match [out.mask, into.mask].map(|mask| mask == Mask::default()) {
            [false, true] if self.demands.len() <= 64 => {
                return self.of_one_end(0..self.outs, out, classes.mask);
            }
            [true, false] if self.demands.len() <= 64 => {
                return self.of_one_end(self.outs..self.groups.len(), into, classes.mask);
            }
            _ => {}
        }
        let mut sum = 0.0;
        for (at, block) in self.blocks.iter().enumerate() {
            // Most have not all that is wanted.
            let may_match = block.answers[0].may_have(out.mask)
                && block.answers[1].may_have(into.mask)
                && block.classes.may_have(classes.mask);
            if may_match && classes.demands.iter().all(|&it| self.has_class(at, it)) {
                let [outs, ins] = &block.groups;
                sum += block.vertices * self.ways(outs, out) * self.ways(ins, into);
            }
        }
        sum
    }

    /// Solutions where the sets of one direction are all that is wanted beside classes.
    fn of_one_end(&self, groups: Range<usize>, wanted: &DemandSet, classes: Mask) -> f64 {
        let width = self.demands.len();
        let fans = self.fans[groups.start * width..groups.end * width].chunks_exact(width);
        let demands = &wanted.demands[..];
        let mut sum = 0.0;
        for (group, fans) in self.groups[groups].iter().zip(fans) {
            if group.answers.may_have(wanted.mask) && group.classes.may_have(classes) {
                sum += demands
                    .iter()
                    .fold(group.vertices, |ways, &demand| ways * fans[demand]);
            }
        }
        sum
    }

    /// Solutions per vertex of a block in one direction, whose groups these are.
    #[inline]
    fn ways(&self, groups: &Range<usize>, wanted: &DemandSet) -> f64 {
        if wanted.demands.is_empty() {
            return 1.0;
        }
        let width = self.demands.len();
        let fans = self.fans[groups.start * width..groups.end * width].chunks_exact(width);
        let mut sum = 0.0;
        for (group, fans) in self.groups[groups.clone()].iter().zip(fans) {
            if group.answers.may_have(wanted.mask) {
                let demands = wanted.demands.iter();
                sum += demands.fold(group.share, |product, &demand| product * fans[demand]);
            }
        }
        sum
    }
}

/// Demands of one kind.
#[derive(Default)]
struct DemandSet {
    demands: SmallVec<[usize; 12]>,
    mask: Mask,
}

impl DemandSet {
    fn add(&mut self, demand: usize) {
        self.demands.push(demand);
        self.mask.add(demand);
    }
}

impl Group {
    /// Adds a set with the same predicates: fan-outs are averages over vertices.
    fn merge(&mut self, fans: &mut [f64], share: f64, set: &[Answer]) {
        let sum = (self.share + share).max(f64::MIN_POSITIVE);
        for answer in set {
            let mine = &mut fans[answer.demand as usize];
            *mine = (*mine * self.share + answer.fan * share) / sum;
        }
        self.share = sum;
    }
}

/// A star with some of its patterns chosen, for adding one after the other.
#[derive(Clone, Debug)]
pub(super) struct StarState {
    /// By group: share times the fan-outs so far.
    weights: Vec<f64>,
    /// By block: whether it has the classes chosen.
    alive: Vec<bool>,
    used: [bool; 2],
    /// Whether any pattern is chosen.
    pub is_used: bool,
}

impl StarState {
    pub(super) fn new(star: &Star) -> StarState {
        StarState {
            weights: star.groups.iter().map(|group| group.share).collect(),
            alive: vec![true; star.blocks.len()],
            used: [false; 2],
            is_used: false,
        }
    }

    /// Chooses a pattern with this demand.
    pub(super) fn demand(&mut self, star: &Star, demand: usize) {
        self.is_used = true;
        let groups = match star.demands[demand].direction() {
            None => {
                for (at, alive) in self.alive.iter_mut().enumerate() {
                    *alive &= star.has_class(at, demand);
                }
                return;
            }
            Some(direction) => {
                self.used[direction as usize] = true;
                match direction {
                    Direction::Out => 0..star.outs,
                    Direction::In => star.outs..star.groups.len(),
                }
            }
        };
        for at in groups {
            let fan = star.fans[at * star.demands.len() + demand];
            self.weights[at] = (self.weights[at] * fan).min(WEIGHT_MAX);
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
        let mut sum = 0.0;
        for (block, _) in star
            .blocks
            .iter()
            .zip(&self.alive)
            .filter(|(_, alive)| **alive)
        {
            let ways = [0, 1].map(|direction| {
                let groups = block.groups[direction].clone();
                if self.used[direction] {
                    self.weights[groups].iter().sum()
                } else {
                    1.0
                }
            });
            sum += block.vertices * ways[0] * ways[1];
        }
        sum
    }
}
