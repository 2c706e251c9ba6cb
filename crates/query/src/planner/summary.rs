//! Counts of matches whose ends nobody looks at: written as what a store knows of itself.
//!
//! ```text
//!  what is asked of ?s p ?o, by any names                      steps
//!  COUNT(*), COUNT(DISTINCT ?s), ... of all of it              sizes
//!  the same by ?p; DISTINCT ?p                                 who gives each ?p once, sizes of ?p
//!  COUNT(*) by ?s or ?o of a constant p; DISTINCT of one end   keys, degree
//! ```
//!
//! It is the first that people ask of a graph they do not know: which predicates, how many of each, which
//! classes with how many members. Recognised is the walk that was written for the pattern, so how the text
//! says it is of no account; what stands between the pattern and the aggregate (a filter of `?s`, another
//! pattern of `?o`) makes it another walk, which stays.
//!
//! Right because matches within one graph, or a merge of some, are a set of triples: `?s` and `?o` differ
//! wherever matches of one predicate do, so that a vertex has as many neighbours as edges.

use super::block::Block;
use super::costs;
use super::facts::slots_of;
use crate::expression::Expression;
use crate::plan::{Action, Aggregate, AggregateFunction, Node, Scope, Size, Slot, Source, Step};
use crate::slots::Slots;
use rdf::Direction;

/// Nanoseconds of a look at what a predicate's segments say of themselves.
const LOOK_NS: f64 = 200.0;

/// The walk of a pattern with both ends unknown, at the end of a block.
struct Walk {
    subject: Slot,
    predicate: Node,
    object: Slot,
    scope: Scope,
    source: Source,
    /// Steps before it.
    before: usize,
    /// Estimated rows before it.
    rows_before: f64,
    /// Estimated rows of each direction's keys, as far as they are listed.
    keys: f64,
}

impl Walk {
    fn at_end_of(steps: &[Step]) -> Option<Walk> {
        let [before @ .., keys, expand] = steps else {
            return None;
        };
        let Action::ExpandKeys {
            predicate,
            direction,
            scope,
            source,
            into: near,
        } = keys.action
        else {
            return None;
        };
        let Action::Expand { into: far, .. } = expand.action else {
            return None;
        };
        let continued = Action::Expand {
            from: Node::Slot(near),
            predicate,
            direction,
            scope,
            source,
            into: far,
        };
        let is_fixed = matches!(scope, Scope::Default | Scope::Named(Node::Constant(_)));
        if expand.action != continued || !is_fixed {
            return None;
        }
        let (subject, object) = match direction {
            Direction::Out => (near, far),
            Direction::In => (far, near),
        };
        Some(Walk {
            subject,
            predicate,
            object,
            scope,
            source,
            before: before.len(),
            rows_before: before.last().map_or(1.0, |step| step.estimate.rows),
            keys: keys.estimate.rows,
        })
    }

    /// What a count counts; `None` where it is no count, or not of these matches.
    fn size(&self, aggregate: &Aggregate) -> Option<Size> {
        if aggregate.function != AggregateFunction::Count {
            return None;
        }
        let Some(argument) = &aggregate.argument else {
            return aggregate.distinct.is_none().then_some(Size::Edges);
        };
        let Expression::Slot(slot) = argument else {
            return None;
        };
        let of = match *slot {
            slot if slot == self.subject => Size::Subjects,
            slot if slot == self.object => Size::Objects,
            slot if self.predicate == Node::Slot(slot) => Size::Predicates,
            _ => return None,
        };
        Some(match aggregate.distinct {
            Some(_) => of,
            None => Size::Edges,
        })
    }

    /// The direction in which this end is listed.
    fn direction_of(&self, end: Slot) -> Option<Direction> {
        match end {
            end if end == self.subject => Some(Direction::Out),
            end if end == self.object => Some(Direction::In),
            _ => None,
        }
    }

    /// Whether it is of all triples in its graph.
    fn is_of_all(&self, steps: &[Step]) -> bool {
        match (self.predicate, &steps[..self.before]) {
            (Node::Constant(_), []) => true,
            (Node::Slot(into), [only]) => {
                let source = self.source;
                only.action == Action::AllPredicates { source, into }
            }
            _ => false,
        }
    }

    /// The predicate's column, where each predicate comes once.
    fn each_predicate(&self, steps: &[Step]) -> Option<Slot> {
        let Node::Slot(slot) = self.predicate else {
            return None;
        };
        gives_each_once(&steps[..self.before], slot).then_some(slot)
    }
}

/// Whether these steps give each value of a column once, and no other column.
fn gives_each_once(steps: &[Step], slot: Slot) -> bool {
    let Some((first, rest)) = steps.split_first() else {
        return false;
    };
    let begins = match &first.action {
        Action::AllPredicates { into, .. }
        | Action::Expand {
            from: Node::Constant(_),
            predicate: Node::Constant(_),
            scope: Scope::Default | Scope::Named(Node::Constant(_)),
            into,
            ..
        } => *into == slot,
        Action::Values { columns, rows } => {
            let is_new = |at: usize| rows[at][0].is_some() && !rows[..at].contains(&rows[at]);
            columns[..] == [slot] && rows.len() <= VALUES_MAX && (0..rows.len()).all(is_new)
        }
        _ => false,
    };
    let only: Slots = [slot].into_iter().collect();
    begins
        && rest.iter().all(|step| match &step.action {
            Action::Filter(filter) => slots_of(filter).is_within(&only),
            _ => false,
        })
}

/// Rows of a table in the text that are compared each with each.
const VALUES_MAX: usize = 64;

/// Writes grouping and counting of the last pattern's matches; false where that has to be walked.
pub(super) fn aggregate(
    block: &mut Block,
    keys: &[Slot],
    aggregates: &[(Aggregate, Slot)],
) -> bool {
    let Some(walk) = Walk::at_end_of(&block.steps).filter(|_| block.is_whole) else {
        return false;
    };
    let sizes = aggregates
        .iter()
        .map(|(aggregate, into)| Some((walk.size(aggregate)?, *into)));
    let Some(sizes) = sizes.collect::<Option<Vec<_>>>() else {
        return false;
    };
    match keys {
        [] if walk.is_of_all(&block.steps) => of_all(block, &walk, sizes),
        [key] if walk.each_predicate(&block.steps) == Some(*key) => {
            of_each(block, &walk, *key, sizes);
        }
        [key] => {
            let own = match walk.direction_of(*key) {
                Some(Direction::Out) => Size::Subjects,
                Some(Direction::In) => Size::Objects,
                None => return false,
            };
            // Of its own end there is one.
            let is_degree = |(size, _): &(Size, Slot)| *size != own && *size != Size::Predicates;
            return sizes.iter().all(is_degree)
                && degrees(
                    block,
                    &walk,
                    *key,
                    sizes.iter().map(|(_, into)| *into).collect(),
                );
        }
        _ => return false,
    }
    true
}

/// Writes the distinct values of a column of the last pattern; false where they have to be walked.
pub(super) fn distinct(block: &mut Block, columns: &Slots) -> bool {
    let Some(walk) = Walk::at_end_of(&block.steps).filter(|_| block.is_whole) else {
        return false;
    };
    let [column] = columns.to_vec()[..] else {
        return false;
    };
    if walk.each_predicate(&block.steps) == Some(column) {
        of_each(block, &walk, column, Vec::new());
        return true;
    }
    if degrees(block, &walk, column, Vec::new()) {
        return true;
    }
    lists_its_end(block, &walk, column);
    false
}

/// Turns the last pattern so that the end that is asked for is the one that is listed.
fn lists_its_end(block: &mut Block, walk: &Walk, end: Slot) {
    let Some(direction) = walk.direction_of(end) else {
        return;
    };
    let (keys, expand) = (walk.before, walk.before + 1);
    let Action::ExpandKeys {
        direction: listed,
        into: near,
        ..
    } = block.steps[keys].action
    else {
        return;
    };
    if listed == direction {
        return;
    }
    let rows = block.steps[expand].estimate.rows;
    block.steps.truncate(keys);
    let action = Action::ExpandKeys {
        predicate: walk.predicate,
        direction,
        scope: walk.scope,
        source: walk.source,
        into: end,
    };
    block.push(action, rows, costs::STEP + rows * (costs::KEY + costs::ROW));
    block.certain.remove(near);
    block.maybe.remove(near);
    block.written.remove(near);
}

/// Leaves out a last expansion whose neighbours nobody looks at, where each row before it is of a key that
/// has some: a key that was listed in the same graphs, and whose rows have only been filtered since. The
/// rows are the same but for how often each comes, which who asks for different ones does not see.
pub(super) fn different_only(block: &mut Block, columns: &Slots) {
    let Some((last, before)) = block.steps.split_last() else {
        return;
    };
    let Action::Expand {
        from: Node::Slot(from),
        predicate,
        direction,
        scope: scope @ (Scope::Default | Scope::Named(_)),
        source,
        into,
    } = last.action
    else {
        return;
    };
    let listed = Action::ExpandKeys {
        predicate,
        direction,
        scope,
        source,
        into: from,
    };
    let is_row_of_key = before
        .iter()
        .rev()
        .find(|step| !matches!(step.action, Action::Filter(_)))
        .is_some_and(|step| step.action == listed);
    if !is_row_of_key || columns.contains(into) {
        return;
    }
    let rows = before.last().map_or(1.0, |step| step.estimate.rows);
    block.steps.pop();
    block.rows = rows;
    block.certain.remove(into);
    block.maybe.remove(into);
    block.written.remove(into);
}

/// One row for all matches.
fn of_all(block: &mut Block, walk: &Walk, sizes: Vec<(Size, Slot)>) {
    let (predicate, cost) = match walk.predicate {
        Node::Slot(_) => (None, walk.rows_before * LOOK_NS),
        constant @ Node::Constant(_) => (Some(constant), LOOK_NS),
    };
    block.steps.clear();
    let into = sizes.iter().map(|(_, into)| *into).collect();
    let action = Action::Sizes {
        predicate,
        scope: walk.scope,
        source: walk.source,
        sizes,
        keeps_empty: true,
    };
    end(block, action, into, 1.0, costs::STEP + cost);
}

/// A row for each predicate.
fn of_each(block: &mut Block, walk: &Walk, predicate: Slot, sizes: Vec<(Size, Slot)>) {
    block.steps.truncate(walk.before);
    let mut columns: Slots = sizes.iter().map(|(_, into)| *into).collect();
    columns.insert(predicate);
    let action = Action::Sizes {
        predicate: Some(walk.predicate),
        scope: walk.scope,
        source: walk.source,
        sizes,
        keeps_empty: false,
    };
    let rows = walk.rows_before;
    end(block, action, columns, rows, costs::STEP + rows * LOOK_NS);
}

/// A row for each vertex at one end of a constant predicate's edges.
fn degrees(block: &mut Block, walk: &Walk, key: Slot, into: Vec<Slot>) -> bool {
    let (Some(direction), Node::Constant(constant)) = (walk.direction_of(key), walk.predicate)
    else {
        return false;
    };
    if walk.before > 0 {
        return false;
    }
    let (scope, source, rows) = (walk.scope, walk.source, walk.keys);
    block.steps.clear();
    let keys = Action::ExpandKeys {
        predicate: walk.predicate,
        direction,
        scope,
        source,
        into: key,
    };
    let listed = costs::STEP + rows * (costs::KEY + costs::ROW);
    block.push(keys, rows, listed);
    let mut columns: Slots = into.iter().copied().collect();
    columns.insert(key);
    let action = Action::Degree {
        from: key,
        predicate: constant,
        direction,
        scope,
        source,
        into,
    };
    let looked = costs::STEP + rows * costs::LOOKUP_SORTED;
    end(block, action, columns, rows, looked);
    true
}

/// Writes the last step, after which there are these columns.
fn end(block: &mut Block, action: Action, columns: Slots, rows: f64, cost_ns: f64) {
    block.push(action, rows, cost_ns);
    block.certain = columns;
    block.maybe = Slots::default();
}
