//! Which segments a plan's steps name, before anything is known of them.

use super::nested;
use crate::layout;
use crate::spread::PARTS_MAX;
use explore::{Prepared, TagSet};
use query::plan::{Action, ConstantId, Node, Scope, Source, Step};
use rdf::Direction;
use std::ops::Range;
use store::{GraphView, SegmentKey, Snapshot};

/// The segments that a program of these steps begins by looking at, each once: up to the first step that none has, or by any predicate, where it
/// has none such. It may come to others, or stop at a filter before.
pub(crate) fn keys(
    prepared: &Prepared<'_>,
    snapshot: &Snapshot,
    (steps, may_spread): (Range<usize>, bool),
) -> Vec<SegmentKey> {
    let plan = &prepared.plan().steps;
    let end = steps.end.min(plan.len());
    let mut keys: Vec<SegmentKey> = Vec::new();
    let mut may_spread = may_spread;
    for (at, step) in plan.iter().enumerate().take(end).skip(steps.start) {
        let Some(named) = named(prepared, &step.action) else {
            break;
        };
        // All predicates of a direction are not looked through for a step that may well not come.
        may_spread &= !matches!(step.action, Action::Filter(_));
        let is_any = |named: &(Option<ConstantId>, Direction)| named.0.is_none();
        if named.iter().any(is_any) && (at == 0 || !may_spread) {
            break;
        }
        for (predicate, direction) in named {
            let predicates = match predicate {
                Some(constant) => snapshot
                    .predicate_id(prepared.ids()[constant.0 as usize])
                    .into_iter()
                    .collect(),
                None => snapshot.predicates(),
            };
            if predicates.len() > PARTS_MAX {
                return keys;
            }
            let segments = predicates.into_iter().map(|predicate| SegmentKey {
                predicate,
                direction,
            });
            for key in segments {
                if !keys.contains(&key) {
                    keys.push(key);
                }
            }
        }
    }
    keys
}

/// Stretches of a plan's steps, each as long as may be, that a device may do over rows that are [loaded](crate::Section::load), by what kinds of steps they
/// are: without the plan's first step, and before rows have an order, which a device does not keep. One of them may turn out to be none of a device's.
pub fn stretches(prepared: &Prepared<'_>) -> Vec<Range<usize>> {
    let steps = &prepared.plan().steps;
    let mut orders = steps.iter();
    let end = orders.position(|step| matches!(step.action, Action::Order { .. }));
    let end = end.unwrap_or(steps.len());
    let may_be = |at: &usize| match &steps[*at].action {
        Action::ExpandKeys { .. } => false,
        Action::Filter(_) => prepared.on_ids(*at, &|_| TagSet::STORED).is_some(),
        action => named(prepared, action).is_some(),
    };
    let mut stretches: Vec<Range<usize>> = Vec::new();
    for at in (1..end).filter(may_be) {
        match stretches.last_mut().filter(|stretch| stretch.end == at) {
            Some(stretch) => stretch.end += 1,
            None => stretches.push(at..at + 1),
        }
    }
    for stretch in &mut stretches {
        // Of what is loaded little is known, so ids decide few filters of it, and a filter alone is not worth a launch.
        let mut filters = steps[stretch.clone()].iter();
        let is_filter = |step: &Step| matches!(step.action, Action::Filter(_));
        stretch.start = filters
            .position(|step| !is_filter(step))
            .map_or(stretch.end, |filters| stretch.start + filters);
    }
    stretches.retain(|stretch| {
        let columns = 1..=layout::COLUMNS;
        !stretch.is_empty()
            && stretch.start > 0
            && columns.contains(&prepared.columns_before(stretch.start).len())
    });
    stretches
}

/// The predicates of a step, any where none is said, with the direction in which it asks for them; `None`: no program has such a step.
fn named(prepared: &Prepared<'_>, action: &Action) -> Option<Vec<(Option<ConstantId>, Direction)>> {
    let of = |node: &Node, direction: Direction| match node {
        Node::Constant(predicate) => vec![(Some(*predicate), direction)],
        Node::Slot(_) => vec![(None, direction)],
    };
    let is_here = |scope: Scope, source: Source| {
        let is_known = matches!(scope, Scope::Default | Scope::Named(Node::Constant(_)));
        source.is_store() && is_known && prepared.graphs(scope, source).is_some()
    };
    match action {
        Action::Expand {
            predicate,
            direction,
            scope,
            source,
            ..
        }
        | Action::ExpandKeys {
            predicate,
            direction,
            scope,
            source,
            ..
        } => is_here(*scope, *source).then(|| of(predicate, *direction)),
        Action::ExpandPredicates {
            direction, source, ..
        } => is_here(Scope::Default, *source).then(|| vec![(None, *direction)]),
        Action::Check {
            subject,
            predicate,
            object,
            from,
            scope,
            source,
        } => {
            let direction = match (predicate, subject, object) {
                (Node::Slot(_), ..) => *from,
                (_, Node::Constant(_), _) => Direction::Out,
                (_, _, Node::Constant(_)) => Direction::In,
                _ => *from,
            };
            is_here(*scope, *source).then(|| of(predicate, direction))
        }
        Action::Intersect { sides, .. } => {
            let are_here = sides.iter().all(|it| is_here(it.scope, it.source));
            let sides = sides.iter();
            are_here.then(|| sides.map(|it| (Some(it.predicate), it.direction)).collect())
        }
        Action::Same { .. } | Action::Filter(_) => Some(Vec::new()),
        Action::Nested { .. } => {
            let patterns = nested::patterns(action)?.into_iter();
            let named = patterns.map(|pattern| named(prepared, &pattern.action));
            named.collect::<Option<Vec<_>>>().map(|all| all.concat())
        }
        _ => None,
    }
}
