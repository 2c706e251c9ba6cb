//! The order of exploration: cost-based, by dynamic programming or greedily.
//!
//! Cost is the number of paths explored, weighted by the cost of the steps that explore them
//! (OSDI'16 section 5 explores in the order of the query; the papers' planner weighs likewise). The
//! join graph falls into components that share no variable. A component of up to
//! [`DYNAMIC_PATTERNS_MAX`] patterns is ordered by dynamic programming over its connected subsets
//! (at most 4,096 subsets, 12 extensions each); a larger one greedily, by the pattern that
//! multiplies the rows least, in time near linear in the patterns. What is heavy and small is ordered
//! again by what samples find ([`refine`]). Components follow each other by
//! cross product, the one that multiplies least for its cost first.

pub(super) mod component;
mod corrections;
mod dynamic;
mod greedy;
pub(super) mod refine;

use super::intersect;
use super::problem::Problem;
use crate::plan::Slot;
use component::{Component, Ordered};
use dynamic::{Subsets, VARIABLES_MAX, dynamic};
use greedy::{Greedy, greedy};
use refine::{Sampling, refine};

/// The largest component that is ordered exhaustively.
const DYNAMIC_PATTERNS_MAX: usize = 12;
const _: () = assert!(
    DYNAMIC_PATTERNS_MAX < usize::BITS as usize && DYNAMIC_PATTERNS_MAX <= u8::MAX as usize,
    "a set of patterns is a number, and a pattern of it one of 8 bits"
);

/// The order of all patterns. With `sampling`, heavy components are ordered by what samples find.
pub(super) fn order(
    problem: &Problem<'_>,
    mut sampling: Option<&mut Sampling<'_>>,
) -> Vec<Ordered> {
    let mut components: Vec<Component> = components(problem)
        .into_iter()
        .map(|patterns| {
            let mut component = if is_small(problem, &patterns) {
                small(problem, &patterns, sampling.as_deref_mut())
            } else {
                let mut component = greedy(problem, &patterns);
                intersect::mark(problem, &mut component.order, |slot| {
                    has_arrived(problem, slot)
                });
                component
            };
            if let Some(first) = component.order.first_mut() {
                first.begins = true;
            }
            component
        })
        .collect();
    // a before b when a.cost + a.rows * b.cost < b.cost + b.rows * a.cost.
    let rank = |c: &Component| (c.rows - 1.0) / c.cost.max(1.0);
    components.sort_by(|a, b| rank(a).total_cmp(&rank(b)));
    components.into_iter().flat_map(|c| c.order).collect()
}

fn small(
    problem: &Problem<'_>,
    patterns: &[usize],
    sampling: Option<&mut Sampling<'_>>,
) -> Component {
    let mut subsets = Subsets::new(problem, patterns);
    let component = dynamic(&mut subsets);
    match sampling {
        Some(sampling) => refine(subsets, component, sampling),
        None => component,
    }
}

fn is_small(problem: &Problem<'_>, patterns: &[usize]) -> bool {
    let variables = |&pattern: &usize| problem.patterns[pattern].variables.len();
    patterns.len() <= DYNAMIC_PATTERNS_MAX
        && patterns.iter().map(variables).sum::<usize>() <= VARIABLES_MAX
}

/// The order of the text, but that what needs another's variable waits for it.
pub(super) fn as_written(problem: &Problem<'_>) -> Vec<Ordered> {
    let mut walk = Greedy::new(problem);
    let mut order: Vec<Ordered> = Vec::with_capacity(problem.patterns.len());
    let mut waiting: Vec<usize> = Vec::new();
    let mut take = |walk: &mut Greedy<'_>, pattern: usize| {
        let candidate = walk.candidate(pattern);
        let begins = order.is_empty();
        order.push(Ordered {
            begins,
            ..walk.take(candidate)
        });
    };
    for pattern in 0..problem.patterns.len() {
        if !walk.is_ready(pattern) {
            waiting.push(pattern);
            continue;
        }
        take(&mut walk, pattern);
        while let Some(at) = waiting.iter().position(|&waits| walk.is_ready(waits)) {
            take(&mut walk, waiting.remove(at));
        }
    }
    for pattern in waiting {
        take(&mut walk, pattern);
    }
    intersect::mark(problem, &mut order, |slot| has_arrived(problem, slot));
    order
}

/// Whether the table has a variable before the join.
fn has_arrived(problem: &Problem<'_>, slot: Slot) -> bool {
    let mut variables = problem.variables.iter();
    variables.any(|variable| variable.slot == slot && variable.arrived)
}

/// Patterns that hang together by variables, each list ascending, in the order of their first patterns.
fn components(problem: &Problem<'_>) -> Vec<Vec<usize>> {
    // By variable one that it hangs together with, until one hangs together with itself.
    let mut linked: Vec<usize> = (0..problem.variables.len()).collect();
    for sized in &problem.patterns {
        if let Some((first, others)) = sized.variables.split_first() {
            for other in others {
                let (one, other) = (end_of(&mut linked, *first), end_of(&mut linked, *other));
                linked[one.max(other)] = one.min(other);
            }
        }
    }
    let mut component_of: Vec<Option<usize>> = vec![None; linked.len()];
    let mut components: Vec<Vec<usize>> = Vec::new();
    for (pattern, sized) in problem.patterns.iter().enumerate() {
        let of_variable = sized.variables.first();
        let mut known = of_variable.map(|first| &mut component_of[end_of(&mut linked, *first)]);
        if let Some(Some(known)) = known {
            components[*known].push(pattern);
            continue;
        }
        if let Some(known) = &mut known {
            **known = Some(components.len());
        }
        // Most joins are one component.
        let mut component = Vec::new();
        if components.is_empty() {
            component.reserve(problem.patterns.len());
        }
        component.push(pattern);
        components.push(component);
    }
    let patterns: usize = components.iter().map(Vec::len).sum();
    assert_eq!(
        patterns,
        problem.patterns.len(),
        "a pattern is in one component"
    );
    components
}

/// The variable at the end of a chain, which is made shorter.
fn end_of(linked: &mut [usize], variable: usize) -> usize {
    let mut at = variable;
    while linked[at] != at {
        linked[at] = linked[linked[at]];
        at = linked[at];
    }
    at
}
