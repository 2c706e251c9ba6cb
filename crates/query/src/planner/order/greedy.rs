//! Large components: the pattern that multiplies the rows least, again and again.
//!
//! A heap of candidates that share a variable with what is walked. A candidate is worked out when
//! one of its variables becomes bound, and again only when it comes up and one of its variables has
//! gained a pattern since; if it is still the best then, it is taken. So the work is near linear in
//! the patterns where stars are small, and one star of 1,000 patterns takes milliseconds.

use super::component::{Component, Ordered, keys};
use crate::plan::Slot;
use crate::planner::access::{self, Flow};
use crate::planner::problem::{Problem, Uses};
use crate::planner::star::StarState;
use hashbrown::{HashMap, HashSet};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A pattern that could come next: by how much it multiplies the rows.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Candidate {
    pattern: usize,
    multiplies: f64,
    /// Sum of the versions of its variables when it was worked out.
    version: u64,
}

impl Eq for Candidate {}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Candidate) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The greatest is the best: it multiplies least; of equals the first of the text.
impl Ord for Candidate {
    fn cmp(&self, other: &Candidate) -> Ordering {
        other
            .multiplies
            .total_cmp(&self.multiplies)
            .then(other.pattern.cmp(&self.pattern))
    }
}

/// A greedy walk in progress.
pub(super) struct Greedy<'p> {
    problem: &'p Problem<'p>,
    /// By variable: its star so far, how else it is used, how often it changed.
    stars: HashMap<usize, (StarState, Uses, u64)>,
    bound: Vec<bool>,
    rows: f64,
    cost: f64,
    leading: Option<Slot>,
}

/// The pattern that multiplies the rows least, again and again. Each pattern enters the heap once for
/// each of its variables that becomes bound, and is worked out anew when it comes up stale.
pub(super) fn greedy(problem: &Problem<'_>, patterns: &[usize]) -> Component {
    let mut walk = Greedy::new(problem);
    let mut of_variable: HashMap<usize, Vec<usize>> = HashMap::new();
    for &pattern in patterns {
        for &variable in &problem.patterns[pattern].variables {
            of_variable.entry(variable).or_default().push(pattern);
        }
    }
    let touches = |pattern: &&usize| {
        let variables = &problem.patterns[**pattern].variables;
        variables
            .iter()
            .any(|&variable| problem.variables[variable].arrived)
    };
    let touching: Vec<usize> = patterns.iter().filter(touches).copied().collect();
    let mut heap = if touching.is_empty() {
        let seeds = patterns.iter().map(|&pattern| walk.candidate(pattern));
        BinaryHeap::from([seeds.max().expect("a component has patterns")])
    } else {
        let seeds = touching.iter();
        seeds.map(|&pattern| walk.candidate(pattern)).collect()
    };
    let mut done: HashSet<usize> = HashSet::new();
    let mut order = Vec::with_capacity(patterns.len());
    while let Some(mut best) = heap.pop() {
        if done.contains(&best.pattern) {
            continue;
        }
        if best.version != walk.version(best.pattern) {
            best = walk.candidate(best.pattern);
            if heap.peek().is_some_and(|other| *other > best) {
                heap.push(best);
                continue;
            }
        }
        done.insert(best.pattern);
        order.push(walk.take(best));
        for variable in &problem.patterns[best.pattern].variables {
            // Empty from the second time on: its patterns have entered.
            for next in of_variable.remove(variable).into_iter().flatten() {
                if !done.contains(&next) {
                    heap.push(walk.candidate(next));
                }
            }
        }
    }
    assert_eq!(order.len(), patterns.len(), "a component hangs together");
    Component {
        order,
        cost: walk.cost,
        rows: walk.rows,
    }
}

impl<'p> Greedy<'p> {
    pub(super) fn new(problem: &'p Problem<'p>) -> Greedy<'p> {
        Greedy {
            problem,
            stars: HashMap::new(),
            bound: problem.variables.iter().map(|it| it.arrived).collect(),
            rows: 1.0,
            cost: 0.0,
            leading: None,
        }
    }

    fn version(&self, pattern: usize) -> u64 {
        let variables = self.problem.patterns[pattern].variables.iter();
        variables
            .map(|variable| {
                self.stars
                    .get(variable)
                    .map_or(0, |(_, _, version)| *version)
            })
            .sum()
    }

    pub(super) fn candidate(&self, pattern: usize) -> Candidate {
        let problem = self.problem;
        let sized = &problem.patterns[pattern];
        let mut multiplies = sized.factor;
        for &variable in &sized.variables {
            let fresh;
            let (state, uses) = if let Some((state, uses, _)) = self.stars.get(&variable) {
                (state, *uses)
            } else {
                fresh = StarState::new(&problem.variables[variable].star);
                (&fresh, Uses::default())
            };
            let (next, more) = self.with(pattern, variable, state);
            let before = problem.contribution(
                variable,
                state.solutions(&problem.variables[variable].star),
                state.is_used,
                uses,
            );
            let after = problem.contribution(
                variable,
                next.solutions(&problem.variables[variable].star),
                next.is_used,
                uses.plus(more),
            );
            multiplies *= if before == 0.0 { 0.0 } else { after / before };
        }
        if !self.is_ready(pattern) {
            multiplies = f64::MAX;
        }
        Candidate {
            pattern,
            multiplies,
            version: self.version(pattern),
        }
    }

    /// Whether what the item needs is bound.
    pub(super) fn is_ready(&self, pattern: usize) -> bool {
        let sized = &self.problem.patterns[pattern];
        let is_bound = |slot: Slot| {
            let mut variables = sized.variables.iter();
            variables.any(|&v| self.problem.variables[v].slot == slot && self.bound[v])
        };
        let other = sized.other.as_ref();
        other.is_none_or(|other| other.is_ready(&is_bound))
    }

    /// A star with one more pattern, and how often that has the variable as predicate.
    fn with(&self, pattern: usize, variable: usize, state: &StarState) -> (StarState, Uses) {
        let star = &self.problem.variables[variable].star;
        let mut next = state.clone();
        let start = star.incident.partition_point(|&(p, _)| p < pattern);
        for &(_, demand) in star.incident[start..]
            .iter()
            .take_while(|&&(p, _)| p == pattern)
        {
            next.demand(star, demand);
        }
        (next, self.problem.uses(variable, pattern))
    }

    /// Walks a pattern.
    pub(super) fn take(&mut self, candidate: Candidate) -> Ordered {
        let problem = self.problem;
        let sized = &problem.patterns[candidate.pattern];
        let keys = keys(problem, candidate.pattern);
        let flow = Flow {
            rows_in: self.rows,
            rows_out: (self.rows * candidate.multiplies).min(access::ROWS_MAX),
            leading: self.leading,
        };
        let is_bound = |slot: Slot| {
            let variable = sized
                .variables
                .iter()
                .find(|&&v| problem.variables[v].slot == slot);
            variable.is_some_and(|&v| self.bound[v])
        };
        let (cost, leading) = if let Some(other) = &sized.other {
            (access::cost_of_other(other, &is_bound, flow), flow.leading)
        } else {
            let known = access::known(sized, is_bound);
            access::cost(sized, known, keys, flow)
        };
        self.cost += cost;
        self.leading = leading;
        self.rows = flow.rows_out;
        for &variable in &sized.variables {
            self.bound[variable] = true;
            let known = self.stars.remove(&variable);
            let (state, uses, version) = known.unwrap_or_else(|| {
                (
                    StarState::new(&problem.variables[variable].star),
                    Uses::default(),
                    0,
                )
            });
            let (next, more) = self.with(candidate.pattern, variable, &state);
            self.stars
                .insert(variable, (next, uses.plus(more), version + 1));
        }
        Ordered {
            pattern: candidate.pattern,
            rows: self.rows,
            keys,
            begins: false,
            is_sampled: false,
            is_met: false,
        }
    }
}
