//! Small components: dynamic programming over connected subsets.
//!
//! The best walk to a subset is the best walk to a smaller one and one more pattern, because the rows
//! of a subset do not depend on its order (see [`crate::planner::problem`]) and a step's cost depends only on
//! the rows, on what is bound, and on which column is sorted; the last is kept with the best walk,
//! which is the one approximation. At most 4,096 subsets with 12 extensions each; rows and star
//! solutions are worked out once a subset. Where samples were walked, rows are what they found or what
//! [`super::corrections`] makes of it. A walk that always takes the cheapest step comes first: what costs
//! more than it need not be looked at.

use super::component::{Component, Ordered, keys};
use super::corrections::Corrections;
use crate::plan::{Node, Slot};
use crate::planner::access::{self, Flow};
use crate::planner::costs;
use crate::planner::intersect;
use crate::planner::link::Link;
use crate::planner::problem::{Problem, Uses};
use rdf::Direction;
use smallvec::{SmallVec, smallvec};

/// Components with more variables than bits are ordered greedily.
pub(super) const VARIABLES_MAX: usize = 64;
const _: () = assert!(
    VARIABLES_MAX == u64::BITS as usize,
    "a set of variables is a number"
);

/// The best walk to a subset.
#[derive(Clone, Copy)]
struct Best {
    cost: f64,
    /// Its last pattern, by its place.
    last: u8,
    /// The pattern that was checked within the expansion of the last.
    met: Option<u8>,
    leading: Option<Slot>,
}

impl Best {
    /// To no pattern.
    const EMPTY: Best = Best {
        cost: 0.0,
        last: 0,
        met: None,
        leading: None,
    };

    /// The patterns of its last step, as bits.
    fn taken(self) -> usize {
        1 << self.last | self.met.map_or(0, |met| 1 << met)
    }
}

/// Dynamic programming over the connected subsets of up to 12 patterns.
pub(super) fn dynamic(subsets: &mut Subsets<'_>) -> Component {
    let patterns = subsets.patterns;
    let full = (1_usize << patterns.len()) - 1;
    let enough = nearest(subsets, full);
    let mut best = walks(subsets, full, enough);
    // The kept column may have cost the walk of `enough` its place.
    if best[full].is_none_or(|found| found.cost > enough) {
        best = walks(subsets, full, f64::INFINITY);
    }
    let order = order_of(&best, full);
    debug_assert_eq!(
        order,
        order_of(&walks(subsets, full, f64::INFINITY), full),
        "what is left out changes nothing"
    );
    let ordered = order.into_iter().map(|taken| Ordered {
        pattern: patterns[taken.at],
        rows: subsets.unfiltered(taken.subset),
        keys: subsets.members[taken.at].keys,
        begins: false,
        is_sampled: subsets.corrections.is_found(taken.subset),
        is_met: taken.is_met,
    });
    let order = ordered.collect();
    Component {
        order,
        cost: best[full].expect("the component is connected").cost,
        rows: subsets.rows(full),
    }
}

/// A pattern of a walk.
#[derive(Debug, PartialEq)]
struct Taken {
    at: usize,
    /// The subset that it completes.
    subset: usize,
    is_met: bool,
}

/// The best walk to all patterns.
fn order_of(best: &[Option<Best>], full: usize) -> Vec<Taken> {
    let mut order = Vec::new();
    let mut subset = full;
    while subset != 0 {
        let last = best[subset].expect("subsets of a walk were reached");
        let patterns = [(last.met, true), (Some(last.last), false)].into_iter();
        for (at, is_met) in patterns.filter_map(|(at, is_met)| Some((at?, is_met))) {
            let at = usize::from(at);
            order.push(Taken { at, subset, is_met });
            subset &= !(1 << at);
        }
    }
    order.reverse();
    assert_eq!(
        order.len(),
        full.count_ones() as usize,
        "a walk takes each pattern once"
    );
    order
}

/// The cost of the walk that always takes the cheapest step.
fn nearest(subsets: &mut Subsets<'_>, full: usize) -> f64 {
    let mut here = Best::EMPTY;
    let mut subset = 0;
    while subset != full {
        let mut nearest: Option<Best> = None;
        subsets.for_each_step(subset, here, &mut |_, step| {
            if nearest.is_none_or(|known| step.cost < known.cost) {
                nearest = Some(step);
            }
        });
        here = nearest.expect("something may always come next");
        subset |= here.taken();
    }
    here.cost
}

/// By subset the best walk to it. Those from which no walk to all patterns costs `enough` are not followed.
///
/// No step costs less than [`costs::STEP`] for each of its patterns, so what is left out is part of no walk to all patterns that costs
/// `enough` or less, and what is kept is what would be kept without the limit. A selective pattern among
/// many thus leaves little to look at: the subsets without it are dear.
fn walks(subsets: &mut Subsets<'_>, full: usize, enough: f64) -> Vec<Option<Best>> {
    /// Sums of costs differ by their order.
    const ROUNDED: f64 = 1.0 + 1e-9;
    let mut best: Vec<Option<Best>> = vec![None; full + 1];
    best[0] = Some(Best::EMPTY);
    for subset in 0..full {
        let Some(here) = best[subset] else { continue };
        let left = f64::from((full ^ subset).count_ones());
        if here.cost + left * costs::STEP > enough * ROUNDED {
            continue;
        }
        subsets.for_each_step(subset, here, &mut |next, step| {
            if best[next].is_none_or(|known| step.cost < known.cost) {
                best[next] = Some(step);
            }
        });
    }
    best
}

/// Rows of subsets of one small component, each worked out once. A subset is a set of bits, one for each
/// place in `patterns`.
pub(super) struct Subsets<'p> {
    pub problem: &'p Problem<'p>,
    pub patterns: &'p [usize],
    /// What samples found.
    pub corrections: Corrections,
    members: Vec<Member>,
    /// By subset: the variables that it binds.
    bound: Vec<u64>,
    /// By subset, by statistics.
    rows: Vec<f64>,
    /// By variable of the component, as their bits.
    contributions: Vec<Contributions>,
    /// Filters within the component.
    filters: Vec<(u64, f64)>,
    /// Whether links close a cycle, so that an expansion may meet a check.
    is_cyclic: bool,
    /// What may come next; memory for the next subset.
    extensions: Vec<usize>,
}

/// One of the patterns, with its variables as bits.
struct Member {
    variables: u64,
    /// Of its subject, predicate and object; none for a constant.
    ends: [u64; 3],
    /// Of what is no pattern: its variables one by one.
    places: Vec<(Slot, u64)>,
    /// Which end is listed when neither is known.
    keys: Direction,
    factor: f64,
    link: Option<Link>,
}

impl Member {
    fn new(problem: &Problem<'_>, pattern: usize, bit: impl Fn(usize) -> u64) -> Member {
        let sized = &problem.patterns[pattern];
        let variables = sized.variables.iter();
        let places = variables.map(|&variable| (problem.variables[variable].slot, bit(variable)));
        let bit_of = |node: Node| match node {
            Node::Slot(slot) => {
                let found = places.clone().find(|(of, _)| *of == slot);
                debug_assert!(found.is_some(), "a pattern's variables are its ends");
                found
            }
            Node::Constant(_) => None,
        };
        Member {
            variables: places.clone().fold(0, |bits, (_, bit)| bits | bit),
            ends: access::nodes(sized).map(|node| bit_of(node).map_or(0, |(_, bit)| bit)),
            places: match sized.other {
                Some(_) => places.collect(),
                None => Vec::new(),
            },
            keys: keys(problem, pattern),
            factor: sized.factor,
            link: sized.link,
        }
    }

    /// The columns of a link, as bits.
    fn link_ends(&self) -> Option<[u64; 2]> {
        self.link.map(|_| [self.ends[0], self.ends[2]])
    }

    /// Whether a variable of what is no pattern is among these.
    fn is_bound(&self, bound: u64, slot: Slot) -> bool {
        let mut places = self.places.iter();
        places.any(|(of, bit)| *of == slot && bound & bit != 0)
    }
}

impl<'p> Subsets<'p> {
    pub(super) fn new(problem: &'p Problem<'p>, patterns: &'p [usize]) -> Subsets<'p> {
        let mut local: Vec<usize> = patterns
            .iter()
            .flat_map(|&pattern| problem.patterns[pattern].variables.iter().copied())
            .collect();
        local.sort_unstable();
        local.dedup();
        assert!(
            local.len() <= VARIABLES_MAX,
            "a set of variables is a number"
        );
        let bit = |variable: usize| local.binary_search(&variable).map_or(0, |at| 1_u64 << at);
        let of_patterns = patterns.iter();
        let members: Vec<Member> = of_patterns
            .map(|&at| Member::new(problem, at, bit))
            .collect();
        let arrived = local.iter().enumerate();
        let arrived = arrived.filter(|(_, variable)| problem.variables[**variable].arrived);
        let arrived = arrived.fold(0, |bits, (at, _)| bits | 1_u64 << at);
        let mut bound = vec![arrived; 1 << patterns.len()];
        for subset in 1..bound.len() {
            let lowest = subset.trailing_zeros() as usize;
            bound[subset] = bound[subset & (subset - 1)] | members[lowest].variables;
        }
        // One that reads another component's variables is none of this one's.
        let is_within = |variables: &[usize]| variables.iter().all(|&v| bit(v) != 0);
        let filters = problem.filters.iter().filter(|f| is_within(&f.variables));
        let filters = filters.map(|filter| {
            let variables = filter.variables.iter();
            let needs = variables.fold(0, |bits, &variable| bits | bit(variable));
            (needs, filter.selectivity)
        });
        Subsets {
            is_cyclic: closes_cycle(members.iter().filter_map(Member::link_ends), arrived),
            filters: filters.collect(),
            extensions: Vec::with_capacity(patterns.len()),
            contributions: local
                .iter()
                .map(|&variable| Contributions::new(problem, patterns, variable))
                .collect(),
            rows: vec![f64::NAN; 1 << patterns.len()],
            corrections: Corrections::default(),
            problem,
            patterns,
            members,
            bound,
        }
    }

    /// Rows of a subset before filters.
    pub(super) fn unfiltered(&mut self, subset: usize) -> f64 {
        let factor = self.corrections.factor(subset);
        self.by_statistics(subset) * factor
    }

    /// The same, whatever samples found.
    pub(super) fn by_statistics(&mut self, subset: usize) -> f64 {
        if self.rows[subset].is_nan() {
            self.rows[subset] = self.work_out(subset);
        }
        self.rows[subset]
    }

    fn work_out(&mut self, subset: usize) -> f64 {
        let mut rows = 1.0;
        for (at, member) in self.members.iter().enumerate() {
            if subset & 1 << at != 0 {
                rows *= member.factor;
            }
        }
        if rows == 0.0 {
            return 0.0;
        }
        let bound = self.bound[subset];
        for (variable, contributions) in self.contributions.iter_mut().enumerate() {
            if bound & 1 << variable != 0 {
                rows *= contributions.of(self.problem, subset);
            }
        }
        rows
    }

    /// Rows of a subset after its filters.
    fn rows(&mut self, subset: usize) -> f64 {
        let rows = self.unfiltered(subset);
        if self.filters.is_empty() {
            return rows;
        }
        let bound = self.bound[subset];
        let passing = self.filters.iter().filter(|(needs, _)| needs & !bound == 0);
        let share: f64 = passing.map(|(_, share)| share).product();
        rows * share
    }

    /// Those of a subset that share a variable with one of the patterns.
    pub(super) fn linked(&self, subset: usize, at: usize) -> usize {
        let mine = self.members[at].variables;
        let all = self.members.iter().enumerate();
        all.filter(|(at, member)| subset & 1 << at != 0 && member.variables & mine != 0)
            .fold(0, |bits, (at, _)| bits | 1 << at)
    }

    /// Shows what a walk may come to next: the subset, and the walk to it.
    fn for_each_step(&mut self, subset: usize, here: Best, each: &mut impl FnMut(usize, Best)) {
        let bound = self.bound[subset];
        let rows_in = self.rows(subset);
        let mut extensions = std::mem::take(&mut self.extensions);
        self.extend(subset, &mut extensions);
        for &at in &extensions {
            let next = subset | 1 << at;
            let flow = Flow {
                rows_in,
                rows_out: self.rows(next),
                leading: here.leading,
            };
            let (cost, leading) = self.step(at, bound, flow);
            let cost = here.cost + cost;
            let last = at as u8;
            each(
                next,
                Best {
                    cost,
                    last,
                    met: None,
                    leading,
                },
            );
        }
        if self.is_cyclic {
            for &at in &extensions {
                self.for_each_intersection(subset, at, here, each);
            }
        }
        self.extensions = extensions;
    }

    /// Shows the steps that expand a pattern and check another at once.
    fn for_each_intersection(
        &mut self,
        subset: usize,
        at: usize,
        here: Best,
        each: &mut impl FnMut(usize, Best),
    ) {
        for met in 0..self.patterns.len() {
            if met == at || subset & 1 << met != 0 {
                continue;
            }
            let Some((cost, leading)) = self.intersection(subset, [at, met], here.leading) else {
                continue;
            };
            let step = Best {
                cost: here.cost + cost,
                last: at as u8,
                met: Some(met as u8),
                leading,
            };
            each(subset | step.taken(), step);
        }
    }

    /// What it costs to expand a pattern after a subset and check another at once; `None` where that cannot be.
    fn intersection(
        &mut self,
        subset: usize,
        [at, met]: [usize; 2],
        leading: Option<Slot>,
    ) -> Option<(f64, Option<Slot>)> {
        let (expanded, checked) = (self.members[at].link?, self.members[met].link?);
        let bound = self.bound[subset];
        let is_bound = |slot| {
            let mut places = self.places_of_link(at).chain(self.places_of_link(met));
            places.any(|(of, bit)| of == slot && bound & bit != 0)
        };
        let keys = self.members[at].keys;
        let intersection = intersect::intersection(&expanded, &checked, keys, is_bound)?;
        let flow = Flow {
            rows_in: self.rows(subset),
            rows_out: self.rows(subset | 1 << at | 1 << met),
            leading,
        };
        let rows = self.unfiltered(subset);
        let times = self.unfiltered(subset | 1 << at) / if rows > 0.0 { rows } else { 1.0 };
        let patterns = [at, met].map(|at| self.patterns[at]);
        Some(intersection.cost(self.problem, patterns, flow.rows_in * times, flow))
    }

    /// The columns of a link, with their bits.
    fn places_of_link(&self, at: usize) -> impl Iterator<Item = (Slot, u64)> {
        let member = &self.members[at];
        let ends = member.link.map(|link| link.ends());
        let bits = [member.ends[0], member.ends[2]];
        ends.into_iter()
            .flat_map(move |ends| ends.into_iter().zip(bits))
    }

    /// A walk in a given order, with what is known of its rows now.
    pub(super) fn walked_so(&mut self, order: &[Ordered]) -> Component {
        let mut walked = Component::default();
        let (mut subset, mut leading) = (0, None);
        let place = |ordered: &Ordered| {
            let mut patterns = self.patterns.iter();
            patterns.position(|&pattern| pattern == ordered.pattern)
        };
        let places: Vec<_> = order.iter().map(place).collect();
        for (number, (ordered, at)) in order.iter().zip(&places).enumerate() {
            let Some(at) = *at else { continue };
            let next = subset | 1 << at;
            let met = order.get(number + 1).filter(|next| next.is_met);
            let met = met.and_then(|_| places[number + 1]);
            let together = met.and_then(|met| self.intersection(subset, [at, met], leading));
            let flow = Flow {
                rows_in: self.rows(subset),
                rows_out: self.rows(next),
                leading,
            };
            let (cost, first) = match together {
                Some(step) => step,
                None if ordered.is_met => (0.0, leading),
                None => self.step(at, self.bound[subset], flow),
            };
            walked.cost += cost;
            walked.order.push(Ordered {
                rows: self.unfiltered(next),
                is_sampled: self.corrections.is_found(next),
                ..*ordered
            });
            (subset, leading) = (next, first);
        }
        walked.rows = self.rows(subset);
        walked
    }

    /// What may come next: what is linked to the walk and has what it needs. Where nothing is both (all
    /// that links a triple term to the table may be one of its parts), what has what it needs.
    fn extend(&self, subset: usize, next: &mut Vec<usize>) {
        let bound = self.bound[subset];
        let left = || (0..self.patterns.len()).filter(move |at| subset & 1 << at == 0);
        let is_ready = |at: &usize| {
            let sized = &self.problem.patterns[self.patterns[*at]];
            let other = sized.other.as_ref();
            other
                .is_none_or(|other| other.is_ready(&|slot| self.members[*at].is_bound(bound, slot)))
        };
        let is_linked = |at: &usize| {
            bound & self.members[*at].variables != 0
                || subset == 0 && (bound == 0 || self.members[*at].variables == 0)
        };
        next.clear();
        next.extend(left().filter(is_linked).filter(is_ready));
        if next.is_empty() {
            next.extend(left().filter(is_ready));
        }
        if next.is_empty() {
            next.extend(left());
        }
    }

    fn step(&self, at: usize, bound: u64, flow: Flow) -> (f64, Option<Slot>) {
        let problem = self.problem;
        let member = &self.members[at];
        let sized = &problem.patterns[self.patterns[at]];
        if let Some(other) = &sized.other {
            let is_bound = |slot: Slot| member.is_bound(bound, slot);
            return (access::cost_of_other(other, &is_bound, flow), flow.leading);
        }
        let known = member.ends.map(|bit| bound & bit == bit);
        access::cost(sized, known, member.keys, flow)
    }
}

/// Whether links, as pairs of bits, close a cycle. What has arrived hangs together already.
fn closes_cycle(links: impl Iterator<Item = [u64; 2]>, arrived: u64) -> bool {
    // Sets of variables that hang together, none of them twice.
    let mut sets: SmallVec<[u64; 8]> = SmallVec::new();
    sets.extend((arrived != 0).then_some(arrived));
    for [left, right] in links {
        let mut joined = left | right;
        let mut is_closed = false;
        sets.retain(|set| {
            let is_touched = *set & (left | right) != 0;
            is_closed |= *set & left != 0 && *set & right != 0;
            joined |= if is_touched { *set } else { 0 };
            !is_touched
        });
        if is_closed {
            return true;
        }
        sets.push(joined);
    }
    false
}

/// What one variable contributes to the rows of subsets.
struct Contributions {
    variable: usize,
    patterns: SmallVec<[Use; 1]>,
    /// By subset of those patterns.
    known: SmallVec<[f64; 2]>,
    /// The demands of one of those subsets; memory for the next.
    demands: SmallVec<[usize; 4]>,
}

/// An item that a variable stands in.
struct Use {
    /// As a bit of subsets.
    bit: usize,
    /// What it demands of the star.
    demands: SmallVec<[usize; 2]>,
    /// How else it uses the variable.
    uses: Uses,
}

impl Contributions {
    fn new(problem: &Problem<'_>, patterns: &[usize], variable: usize) -> Contributions {
        let used_in = |(at, pattern): (usize, &usize)| {
            let stands_in = problem.patterns[*pattern].variables.contains(&variable);
            stands_in.then(|| {
                let incident = problem.variables[variable].star.incident.iter();
                let here = incident.filter(|(p, _)| p == pattern);
                Use {
                    bit: 1 << at,
                    demands: here.map(|&(_, demand)| demand).collect(),
                    uses: problem.uses(variable, *pattern),
                }
            })
        };
        let patterns: SmallVec<_> = patterns.iter().enumerate().filter_map(used_in).collect();
        Contributions {
            variable,
            known: smallvec![f64::NAN; 1 << patterns.len()],
            patterns,
            demands: SmallVec::new(),
        }
    }

    fn of(&mut self, problem: &Problem<'_>, subset: usize) -> f64 {
        let mut number = 0;
        for (at, used) in self.patterns.iter().enumerate() {
            number |= usize::from(subset & used.bit != 0) << at;
        }
        if self.known[number].is_nan() {
            self.known[number] = self.work_out(problem, subset);
        }
        self.known[number]
    }

    fn work_out(&mut self, problem: &Problem<'_>, subset: usize) -> f64 {
        let demands = &mut self.demands;
        demands.clear();
        let mut uses = Uses::default();
        for used in self.patterns.iter().filter(|it| subset & it.bit != 0) {
            used.demands.iter().for_each(|demand| demands.push(*demand));
            uses = uses.plus(used.uses);
        }
        let solutions = problem.variables[self.variable].star.solutions(demands);
        problem.contribution(self.variable, solutions, !demands.is_empty(), uses)
    }
}
