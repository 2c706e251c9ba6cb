//! Other slots for some of a group's variables, wherever they stand in it.

use crate::algebra::{Element, Group};
use crate::expression::Expression;
use crate::plan::{Node, Slot};
use std::collections::BTreeMap;

/// Which slot takes the place of which.
#[derive(Clone, Debug, Default)]
pub(super) struct Renaming {
    pub(super) to: BTreeMap<Slot, Slot>,
}

impl Renaming {
    pub(super) fn slot(&self, slot: &mut Slot) {
        if let Some(new) = self.to.get(slot) {
            *slot = *new;
        }
    }

    pub(super) fn slots(&self, slots: &mut [Slot]) {
        for slot in slots {
            self.slot(slot);
        }
    }

    pub(super) fn node(&self, node: &mut Node) {
        if let Node::Slot(slot) = node {
            self.slot(slot);
        }
    }

    pub(super) fn group(&self, group: &mut Group) {
        self.elements(&mut group.elements);
    }

    pub(super) fn elements(&self, elements: &mut [Element]) {
        for element in elements {
            self.element(element);
        }
    }

    pub(super) fn element(&self, element: &mut Element) {
        match element {
            Element::Pattern(pattern) => {
                self.node(&mut pattern.subject);
                self.node(&mut pattern.predicate);
                self.node(&mut pattern.object);
                pattern.graph.iter_mut().for_each(|node| self.node(node));
            }
            Element::Path(path) => {
                self.node(&mut path.subject);
                self.node(&mut path.object);
                path.graph.iter_mut().for_each(|node| self.node(node));
            }
            Element::Graph(node, _) => self.node(node),
            Element::TripleTerm {
                term,
                subject,
                predicate,
                object,
            } => {
                self.slot(term);
                for node in [subject, predicate, object] {
                    self.node(node);
                }
            }
            Element::Values { columns, .. } | Element::Given { columns, .. } => self.slots(columns),
            Element::Service(service) => {
                self.node(&mut service.endpoint);
                let columns = service.columns.iter_mut();
                columns.for_each(|(_, slot)| self.slot(slot));
            }
            other => self.composed(other),
        }
    }

    fn composed(&self, element: &mut Element) {
        match element {
            Element::Join(group)
            | Element::Minus(group)
            | Element::Lateral(group)
            | Element::Exists { group, .. } => self.group(group),
            Element::Union(groups) => groups.iter_mut().for_each(|group| self.group(group)),
            Element::Optional { group, condition } => {
                self.group(group);
                self.elements(condition);
            }
            Element::Mark { group, into } => {
                self.group(group);
                self.slot(into);
            }
            Element::Filter(expression) => self.expression(expression),
            Element::Bind { expression, into } => {
                self.expression(expression);
                self.slot(into);
            }
            Element::Aggregate { keys, aggregates } => {
                self.slots(keys);
                for (aggregate, into) in aggregates {
                    let arguments = aggregate.argument.iter_mut();
                    arguments.for_each(|argument| self.expression(argument));
                    let columns = aggregate.distinct.iter_mut();
                    columns.for_each(|columns| self.slots(columns));
                    self.slot(into);
                }
            }
            Element::Order(keys) => {
                for key in keys {
                    self.expression(&mut key.expression);
                }
            }
            Element::Project(slots) => self.slots(slots),
            Element::Distinct | Element::Slice { .. } => {}
            Element::Pattern(_)
            | Element::Path(_)
            | Element::Graph(..)
            | Element::TripleTerm { .. }
            | Element::Values { .. }
            | Element::Given { .. }
            | Element::Service(_) => unreachable!("it is renamed by `element`"),
        }
    }

    pub(super) fn expression(&self, expression: &mut Expression) {
        match expression {
            Expression::Slot(slot) | Expression::Bound(slot) => self.slot(slot),
            Expression::Constant(_) => {}
            Expression::Or(list)
            | Expression::And(list)
            | Expression::Coalesce(list)
            | Expression::Call(_, list) => list.iter_mut().for_each(|e| self.expression(e)),
            Expression::Not(a) | Expression::Plus(a) | Expression::Minus(a) => self.expression(a),
            Expression::Compare(_, a, b)
            | Expression::SameTerm(a, b)
            | Expression::Arithmetic(_, a, b) => {
                self.expression(a);
                self.expression(b);
            }
            Expression::In(a, list) => {
                self.expression(a);
                for operand in list {
                    self.expression(operand);
                }
            }
            Expression::If(a, b, c) => {
                self.expression(a);
                self.expression(b);
                self.expression(c);
            }
        }
    }
}
