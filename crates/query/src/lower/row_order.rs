//! The order of rows for aggregates that look at it.
//!
//! By the letter the rows of a sub-query have no order outside of it, so the planner sorts them only
//! where a slice cuts them, and walks what is joined in any order and by several threads. People write
//! `SELECT (GROUP_CONCAT(?n) AS ?names) { SELECT ?n { ... } ORDER BY ?n }` all the same, because there
//! is no other way to say it. So before a grouping with `GROUP_CONCAT` or `SAMPLE` the rows are sorted
//! by what the sub-queries beneath it sort by, the first one's keys first. No other grouping pays.
//!
//! The keys are carried up, not the rows: whatever order the planner walks in, the sort is the last
//! thing before the groups. For that a sub-query projects the columns of its keys, too. They have slots
//! that nothing else has, so they are joined with nothing. One that is `DISTINCT` cannot have more
//! columns: of it the keys up to the first are taken that it does not project.

use crate::algebra::Element;
use crate::plan::{Aggregate, AggregateFunction, OrderKey, Slot};

/// Sorts the rows before a grouping if one of its aggregates looks at their order.
pub(super) fn keep(elements: &mut Vec<Element>, aggregates: &[(Aggregate, Slot)]) {
    let looks = |(aggregate, _): &(Aggregate, Slot)| {
        use AggregateFunction as F;
        matches!(aggregate.function, F::GroupConcat(_) | F::Sample)
    };
    if !aggregates.iter().any(looks) {
        return;
    }
    let keys = keys(elements);
    if !keys.is_empty() {
        elements.push(Element::Order(keys));
    }
}

/// What the rows of a pipeline are sorted by; its projection lets the columns of these pass.
fn keys(elements: &mut [Element]) -> Vec<OrderKey> {
    let mut sorted: Vec<OrderKey> = Vec::new();
    for element in elements.iter_mut() {
        match element {
            Element::Join(group) | Element::Lateral(group) | Element::Optional { group, .. } => {
                sorted.append(&mut keys(&mut group.elements));
            }
            // It keeps the order of rows with equal keys.
            Element::Order(own) => {
                sorted.splice(..0, own.iter().cloned());
            }
            Element::Aggregate { .. } => sorted.clear(),
            _ => {}
        }
    }
    let is_distinct = elements.contains(&Element::Distinct);
    for element in elements.iter_mut() {
        if let Element::Project(columns) = element {
            let hidden = sorted
                .iter()
                .position(|key| is_distinct && !lacking(key, columns).is_empty());
            sorted.truncate(hidden.unwrap_or(sorted.len()));
            for key in &sorted {
                columns.extend(lacking(key, columns));
            }
        }
    }
    sorted
}

/// The columns of a key that are not among these.
fn lacking(key: &OrderKey, columns: &[Slot]) -> Vec<Slot> {
    let mut lacking = Vec::new();
    key.expression.for_each_slot(&mut |slot| {
        if !columns.contains(&slot) && !lacking.contains(&slot) {
            lacking.push(slot);
        }
    });
    lacking
}
