//! What looks at all rows: grouping, sorting, projection, distinct rows, slices.
//!
//! Sorting, projection, distinct rows and a slice follow each other in this order (SPARQL 1.1 Query
//! section 18.2.5). Where DISTINCT keeps every column that ORDER BY reads, it goes before the sort
//! (equal rows have equal keys), so the sort is of fewer rows and can be a top-k; else it goes after
//! it, keeping the first of equal rows. Projection is no step: columns that nobody reads die anyway.

use super::block::Block;
use super::costs;
use super::facts::slots_of;
use super::summary;
use crate::algebra::Element;
use crate::expression::Expression;
use crate::plan::{Action, Aggregate, AggregateFunction, OrderKey, Slot};
use crate::slots::Slots;

/// Modifiers of one query, after grouping.
#[derive(Default)]
struct Tail {
    order: Vec<OrderKey>,
    project: Option<Vec<Slot>>,
    distinct: bool,
    slice: Option<(u64, Option<u64>)>,
}

impl Tail {
    /// Takes a modifier that may follow those taken.
    fn take(&mut self, element: Element) -> Result<(), Element> {
        let (sliced, distinct) = (self.slice.is_some(), self.distinct);
        match element {
            Element::Order(keys)
                if !sliced && !distinct && self.project.is_none() && self.order.is_empty() =>
            {
                self.order = keys;
            }
            Element::Project(slots) if !sliced && !distinct && self.project.is_none() => {
                self.project = Some(slots);
            }
            Element::Distinct if !sliced => self.distinct = true,
            Element::Slice { offset, limit } if !sliced => self.slice = Some((offset, limit)),
            other => return Err(other),
        }
        Ok(())
    }
}

/// Appends the steps of modifiers that follow each other.
pub(super) fn modifiers(block: &mut Block, modifiers: Vec<Element>) {
    let mut tail = Tail::default();
    for modifier in modifiers {
        let Err(modifier) = tail.take(modifier) else {
            continue;
        };
        write(block, std::mem::take(&mut tail));
        match modifier {
            Element::Aggregate { keys, aggregates } => aggregate(block, keys, aggregates),
            other => {
                let taken = tail.take(other);
                assert!(taken.is_ok(), "a modifier begins a new tail");
            }
        }
    }
    write(block, tail);
}

fn aggregate(block: &mut Block, keys: Vec<Slot>, aggregates: Vec<(Aggregate, Slot)>) {
    if summary::aggregate(block, &keys, &aggregates) {
        return;
    }
    if let Some((distinct, into)) = count(block, &keys, &aggregates) {
        if let Some(columns) = &distinct {
            summary::different_only(block, &columns.iter().copied().collect());
        }
        let per_row = match distinct {
            Some(_) => costs::DISTINCT,
            None => costs::COUNT,
        };
        let cost = block.rows * per_row;
        block.push(Action::Count { distinct, into }, 1.0, cost);
        block.certain = [into].into_iter().collect();
        block.maybe = Slots::default();
        return;
    }
    let mut read: Slots = keys.iter().copied().collect();
    for (aggregate, _) in &aggregates {
        aggregate.for_each_slot(&mut |slot| {
            read.insert(slot);
        });
    }
    block.ensure(&read);
    let rows = if keys.is_empty() {
        1.0
    } else {
        block.rows.sqrt().max(1.0)
    };
    let cost = block.rows * costs::AGGREGATE * aggregates.len().max(1) as f64;
    let kept: Slots = keys.iter().copied().collect();
    let made: Vec<(bool, Slot)> = aggregates
        .iter()
        .map(|(aggregate, into)| (aggregate.argument.is_none(), *into))
        .collect();
    block.push(Action::Aggregate { keys, aggregates }, rows, cost);
    block.certain.intersect(&kept);
    block.maybe.intersect(&kept);
    for (is_sure, into) in made {
        if is_sure {
            block.bind(into);
        } else {
            block.bind_maybe(into);
        }
    }
}

/// A lone count of rows, which needs no groups: its columns if they are to be distinct.
fn count(
    block: &Block,
    keys: &[Slot],
    aggregates: &[(Aggregate, Slot)],
) -> Option<(Option<Vec<Slot>>, Slot)> {
    let [(aggregate, into)] = aggregates else {
        return None;
    };
    if !keys.is_empty() || !block.is_whole || aggregate.function != AggregateFunction::Count {
        return None;
    }
    let there = |slots: &Vec<Slot>| {
        let slots = slots.iter().copied().filter(|slot| block.has(*slot));
        slots.collect::<Slots>().to_vec()
    };
    match (&aggregate.argument, &aggregate.distinct) {
        (None, distinct) => Some((distinct.as_ref().map(there), *into)),
        (Some(Expression::Slot(slot)), distinct) if block.certain.contains(*slot) => {
            Some((distinct.as_ref().map(|_| vec![*slot]), *into))
        }
        _ => None,
    }
}

fn write(block: &mut Block, tail: Tail) {
    let Tail {
        order,
        project,
        distinct: is_distinct,
        slice: cut,
    } = tail;
    let mut columns = block.columns();
    if let Some(slots) = &project {
        columns.intersect(&slots.iter().copied().collect());
    }
    let mut read = Slots::default();
    for key in &order {
        read.add(&slots_of(&key.expression));
    }
    let distinct_first = is_distinct && read.is_within(&columns);
    if distinct_first {
        distinct(block, &columns);
    }
    if !order.is_empty() {
        let needed = cut.and_then(|(offset, limit)| Some(limit?.saturating_add(offset)));
        let is_last = !is_distinct || distinct_first;
        block.ensure(&read);
        sort(block, order, needed.filter(|_| is_last));
    }
    if is_distinct && !distinct_first {
        distinct(block, &columns);
    }
    if let Some((offset, limit)) = cut {
        slice(block, offset, limit);
    }
    if project.is_some() {
        block.certain.intersect(&columns);
        block.maybe.intersect(&columns);
    }
}

fn distinct(block: &mut Block, columns: &Slots) {
    if summary::distinct(block, columns) {
        return;
    }
    summary::different_only(block, columns);
    let cost = block.rows * costs::DISTINCT;
    let columns = columns.to_vec();
    block.push(Action::Distinct { columns }, block.rows, cost);
}

fn sort(block: &mut Block, keys: Vec<OrderKey>, limit: Option<u64>) {
    let rows = limit.map_or(block.rows, |limit| block.rows.min(limit as f64));
    let compared = block.rows * rows.max(2.0).log2();
    block.push(
        Action::Order { keys, limit },
        rows,
        compared * costs::COMPARE,
    );
}

/// Skips and cuts rows.
pub(super) fn slice(block: &mut Block, offset: u64, limit: Option<u64>) {
    if offset == 0 && limit.is_none() {
        return;
    }
    let rows = (block.rows - offset as f64).max(0.0);
    let rows = limit.map_or(rows, |limit| rows.min(limit as f64));
    block.push(Action::Slice { offset, limit }, rows, 0.0);
}
