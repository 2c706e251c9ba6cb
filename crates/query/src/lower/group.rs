//! The spine of a group, from its first element outwards, as a pipeline.
//!
//! The parser nests a group's elements to the left, so the table so far is the left operand and each
//! link adds one element. What a row can bind is kept beside: an expression sees the variables of its
//! own group (SPARQL 1.1 Query section 18.2.2.2) and of the rows outside that its group sees.
//!
//! **GRAPH.** Patterns carry the graph around them. Before anything but a join (an expression, an
//! `OPTIONAL`, a grouping), and at the end of a group, each row must have its graph: where no pattern
//! has bound it, [`Element::Graph`] does. Within `GRAPH ?g { ... }` the name `?g` means a variable of
//! that group, which is joined with the graph afterwards (section 18.6, and the suite's tests
//! `graph-variable-scope` and `graph-optional`): a filter there sees it unbound.

use super::expression::View;
use super::having::after_aliases;
use super::{Context, Lowering};
use crate::algebra::{Element, Group};
use crate::error::ParseError;
use crate::expression::{Expression, Function};
use crate::grammar::abstract_query::{self, Expression as Algebra, GraphPattern, Name};
use crate::plan::{Node, OrderKey, Slot};
use crate::planner::facts::{Facts, slots_of};
use crate::slots::Slots;

/// Elements, and what is known of their rows.
#[derive(Default)]
pub(super) struct Pipeline {
    pub(super) elements: Vec<Element>,
    /// What some row may bind. Without a graph variable that only patterns' graphs bind.
    pub(super) maybe: Slots,
    /// What every row binds; as above.
    pub(super) sure: Slots,
    /// Every row has gone through a pattern in the graph around the group.
    pub(super) in_graph: bool,
    /// A blank node that names the row, where an expression has needed one.
    pub(super) solution: Option<Slot>,
}

impl Pipeline {
    pub(super) fn into_group(self) -> Group {
        Group {
            elements: self.elements,
        }
    }

    /// Adds an element that every row binds these with.
    pub(super) fn join(&mut self, element: Element, nodes: &[Node]) {
        for node in nodes {
            if let Node::Slot(slot) = node {
                self.maybe.insert(*slot);
                self.sure.insert(*slot);
            }
        }
        self.elements.push(element);
    }
}

impl Lowering<'_> {
    /// A group that is evaluated on its own: with its graph, as a pipeline.
    pub(super) fn group(
        &mut self,
        pattern: &GraphPattern,
        context: &Context,
    ) -> Result<Pipeline, ParseError> {
        let mut table = self.spine(pattern, context)?;
        if let [Element::Join(_)] = table.elements[..]
            && let Some(Element::Join(only)) = table.elements.pop()
        {
            table.elements = only.elements;
        }
        Self::ensure_graph(context, &mut table);
        Ok(table)
    }

    /// The elements of a group, first to last.
    pub(super) fn spine(
        &mut self,
        pattern: &GraphPattern,
        context: &Context,
    ) -> Result<Pipeline, ParseError> {
        let mut links = Vec::new();
        let mut first = pattern;
        loop {
            let before = match first {
                GraphPattern::Join { left, .. }
                | GraphPattern::LeftJoin { left, .. }
                | GraphPattern::Lateral { left, .. }
                | GraphPattern::Minus { left, .. } => left,
                GraphPattern::Filter { inner, .. }
                | GraphPattern::Extend { inner, .. }
                | GraphPattern::OrderBy { inner, .. }
                | GraphPattern::Group { inner, .. } => inner,
                _ => break,
            };
            links.push(first);
            first = before;
        }
        after_aliases(&mut links);
        let mut table = Pipeline::default();
        self.element(first, context, &mut table)?;
        for link in links.into_iter().rev() {
            self.link(link, context, &mut table)?;
        }
        Ok(table)
    }

    /// What stands around the table so far.
    fn link(
        &mut self,
        link: &GraphPattern,
        context: &Context,
        table: &mut Pipeline,
    ) -> Result<(), ParseError> {
        if let GraphPattern::Join { right, .. } = link {
            return self.element(right, context, table);
        }
        Self::ensure_graph(context, table);
        match link {
            GraphPattern::LeftJoin {
                right, condition, ..
            } => self.optional(right, condition.as_ref(), context, table),
            GraphPattern::Lateral { right, .. } => self.lateral(right, context, table),
            GraphPattern::Minus { right, .. } => self.minus(right, context, table),
            GraphPattern::Filter { condition, .. } => self.filter(condition, context, table),
            GraphPattern::Extend {
                variable,
                expression,
                ..
            } => self.bind(*variable, expression, context, table),
            GraphPattern::OrderBy { keys, .. } => self.order(keys, context, table),
            GraphPattern::Group {
                variables,
                aggregates,
                ..
            } => self.aggregate(variables, aggregates, context, table),
            _ => unreachable!("the spine has no other links"),
        }
    }

    /// What is joined with the table so far.
    fn element(
        &mut self,
        pattern: &GraphPattern,
        context: &Context,
        table: &mut Pipeline,
    ) -> Result<(), ParseError> {
        match pattern {
            GraphPattern::Bgp(triples) => {
                for triple in triples {
                    self.triple(triple, context, table)?;
                }
                Ok(())
            }
            GraphPattern::Path {
                subject,
                path,
                object,
            } => self.path(subject, path, object, context, table),
            GraphPattern::Values { variables, rows } => self.values(variables, rows, table),
            GraphPattern::Given { variables } => self.given(variables, table),
            GraphPattern::Union { .. } => self.union(pattern, context, table),
            GraphPattern::Graph { name, inner } => self.named_graph(*name, inner, context, table),
            GraphPattern::Window { source, inner } => self.window(*source, inner, context, table),
            GraphPattern::Service {
                name,
                inner,
                silent,
            } => self.service(*name, inner, *silent, table),
            GraphPattern::Slice { .. }
            | GraphPattern::Distinct { .. }
            | GraphPattern::Reduced { .. }
            | GraphPattern::Project { .. } => self.sub_select(pattern, context, table),
            GraphPattern::Join { .. }
            | GraphPattern::LeftJoin { .. }
            | GraphPattern::Lateral { .. }
            | GraphPattern::Filter { .. }
            | GraphPattern::Extend { .. }
            | GraphPattern::Minus { .. }
            | GraphPattern::OrderBy { .. }
            | GraphPattern::Group { .. } => {
                let nested = self.spine(pattern, context)?;
                absorb(table, nested);
                Ok(())
            }
        }
    }

    /// Binds the graph around the group where no pattern has.
    pub(super) fn ensure_graph(context: &Context, table: &mut Pipeline) {
        if let Some(graph @ Node::Slot(_)) = context.graph
            && !context.graph_is_given
            && !table.in_graph
        {
            table.elements.push(Element::Graph(graph, context.source));
            table.in_graph = true;
        }
    }

    /// `FILTER`: conjunct by conjunct, `EXISTS` among them as a step of its own.
    fn filter(
        &mut self,
        condition: &Algebra,
        context: &Context,
        table: &mut Pipeline,
    ) -> Result<(), ParseError> {
        let mut filters = Vec::new();
        self.conjuncts(condition, &View::of(table, context), &mut filters)?;
        table.elements.append(&mut filters);
        Ok(())
    }

    /// `BIND`, `AS`.
    fn bind(
        &mut self,
        variable: Name,
        expression: &Algebra,
        context: &Context,
        table: &mut Pipeline,
    ) -> Result<(), ParseError> {
        let mut before = Vec::new();
        let view = View::of(table, context);
        let mut expression = self.expression(expression, &view, &mut before)?;
        table.elements.append(&mut before);
        self.name_solution(&mut expression, table)?;
        let mut into = self.variable(variable)?;
        let is_grouped = |element: &Element| matches!(element, Element::Aggregate { .. });
        if context.outer.maybe.contains(into) && table.elements.iter().any(is_grouped) {
            // Groups have lost what the row outside has: the sub-query gives it what was computed.
            into = self.hidden()?;
            self.rename(variable, into);
        }
        table.elements.push(Element::Bind { expression, into });
        table.maybe.insert(into);
        Ok(())
    }

    /// `BNODE(string)` gives one node for equal strings within a solution (SPARQL 1.1 Query section
    /// 17.4.2.9), also where it stands in several expressions: they share a blank node of the row.
    fn name_solution(
        &mut self,
        expression: &mut Expression,
        table: &mut Pipeline,
    ) -> Result<(), ParseError> {
        let mut calls = Vec::new();
        expression.for_each_call_mut(&mut |function, arguments| {
            if function == Function::BNode && arguments.len() == 1 {
                calls.push(());
            }
        });
        if calls.is_empty() {
            return Ok(());
        }
        let slot = match table.solution {
            Some(slot) => slot,
            None => self.hidden()?,
        };
        if table.solution.replace(slot).is_none() {
            let expression = Expression::Call(Function::BNode, Vec::new());
            table.elements.push(Element::Bind {
                expression,
                into: slot,
            });
            table.maybe.insert(slot);
        }
        expression.for_each_call_mut(&mut |function, arguments| {
            if function == Function::BNode && arguments.len() == 1 {
                arguments.push(Expression::Slot(slot));
            }
        });
        Ok(())
    }

    fn order(
        &mut self,
        keys: &[abstract_query::OrderKey],
        context: &Context,
        table: &mut Pipeline,
    ) -> Result<(), ParseError> {
        let mut before = Vec::new();
        let mut order = Vec::with_capacity(keys.len());
        for key in keys {
            let view = View::of(table, context);
            let expression = self.expression(&key.expression, &view, &mut before)?;
            // What is an error in every row orders nothing.
            if expression != super::expression::error() {
                order.push(OrderKey {
                    expression,
                    descending: key.descending,
                });
            }
        }
        table.elements.append(&mut before);
        if !order.is_empty() {
            table.elements.push(Element::Order(order));
        }
        Ok(())
    }
}

/// Joins with a nested group: element by element where that means the same, which is where it is made
/// of joins, and of filters over what the joins before them bind in all rows. (What a later one binds a filter does
/// not see: a group that stood first in the nested one lies there filter and all.)
pub(super) fn absorb(table: &mut Pipeline, nested: Pipeline) {
    let facts = Facts::of(&nested.elements);
    let is_sure = |element: &Element| match element {
        Element::Filter(condition) => slots_of(condition).is_within(&nested.sure),
        _ => true,
    };
    let is_free = facts.is_plain && !facts.blocks && nested.elements.iter().all(is_sure);
    let is_step = |element: &Element| !is_modifier(element);
    let first = table.elements.is_empty();
    if is_free || (first && nested.elements.iter().all(is_step)) {
        table.elements.extend(nested.elements);
    } else {
        table.elements.push(Element::Join(Group {
            elements: nested.elements,
        }));
    }
    table.maybe.add(&nested.maybe);
    table.sure.add(&nested.sure);
    table.in_graph |= nested.in_graph;
}

/// Whether it looks at all rows, or at some of their columns.
pub(super) fn is_modifier(element: &Element) -> bool {
    matches!(
        element,
        Element::Aggregate { .. }
            | Element::Order(_)
            | Element::Project(_)
            | Element::Distinct
            | Element::Slice { .. }
    )
}
