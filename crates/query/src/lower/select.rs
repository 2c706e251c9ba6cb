//! Sub-queries, grouping, modifiers.
//!
//! A sub-query within `GRAPH ?g` is one for each graph. Where it has no more than a projection, the
//! graph becomes one of its columns; where it counts or cuts rows, the graphs are listed before and it
//! is evaluated beside each ([`Element::Lateral`]). Of the row it may see the graph alone: where it
//! projects what stands beside it too, graphs and sub-query are a group of their own, which is joined.
//!
//! A sub-query in `EXISTS` or `LATERAL` gives what it projects of the row outside, whether its pattern
//! names it or not.

use super::expression::View;
use super::group::Pipeline;
use super::names::{NameScope, Passes};
use super::{Context, Lowering, row_order};
use crate::algebra::{Element, Group};
use crate::error::ParseError;
use crate::expression::Expression;
use crate::grammar::abstract_query::{self, AggregateName, GraphPattern, Name};
use crate::plan::{Aggregate, AggregateFunction, Node, Slot};
use crate::slots::Slots;

/// The modifiers around the pattern of a query, and what they stand around.
pub(super) struct Modifiers<'a> {
    pub(super) offset: u64,
    pub(super) limit: Option<u64>,
    pub(super) distinct: bool,
    pub(super) projected: &'a [Name],
    pub(super) inner: &'a GraphPattern,
}

impl<'a> Modifiers<'a> {
    /// Takes them off, outermost first. `REDUCED` permits the removal of duplicates, and permits
    /// leaving them.
    pub(super) fn of(pattern: &'a GraphPattern) -> Modifiers<'a> {
        let mut modifiers = Modifiers {
            offset: 0,
            limit: None,
            distinct: false,
            projected: &[],
            inner: pattern,
        };
        if let GraphPattern::Slice {
            inner,
            start,
            length,
        } = modifiers.inner
        {
            modifiers.offset = *start;
            modifiers.limit = *length;
            modifiers.inner = inner;
        }
        match modifiers.inner {
            GraphPattern::Distinct { inner } => {
                modifiers.distinct = true;
                modifiers.inner = inner;
            }
            GraphPattern::Reduced { inner } => modifiers.inner = inner,
            _ => {}
        }
        if let GraphPattern::Project { inner, variables } = modifiers.inner {
            modifiers.projected = variables;
            modifiers.inner = inner;
        }
        modifiers
    }

    fn slices(&self) -> bool {
        self.offset > 0 || self.limit.is_some()
    }

    /// Whether rows are grouped.
    fn groups(&self) -> bool {
        let mut next = self.inner;
        loop {
            next = match next {
                GraphPattern::Group { .. } => return true,
                GraphPattern::OrderBy { inner, .. }
                | GraphPattern::Extend { inner, .. }
                | GraphPattern::Filter { inner, .. } => inner,
                GraphPattern::Join { left, .. } => left,
                _ => return false,
            };
        }
    }

    /// `DISTINCT`, `OFFSET`, `LIMIT`.
    pub(super) fn finish(&self, elements: &mut Vec<Element>) {
        if self.distinct {
            elements.push(Element::Distinct);
        }
        self.slice(elements);
    }

    pub(super) fn slice(&self, elements: &mut Vec<Element>) {
        if self.slices() {
            elements.push(Element::Slice {
                offset: self.offset,
                limit: self.limit,
            });
        }
    }
}

impl Lowering<'_> {
    pub(super) fn sub_select(
        &mut self,
        pattern: &GraphPattern,
        context: &Context,
        table: &mut Pipeline,
    ) -> Result<(), ParseError> {
        let modifiers = Modifiers::of(pattern);
        let is_in_any = matches!(context.graph, Some(Node::Slot(_))) && !context.graph_is_given;
        let by_graph = is_in_any && (modifiers.slices() || modifiers.groups());
        let within = Context {
            graph_is_given: context.graph_is_given || by_graph,
            ..context.clone()
        };
        let names = modifiers.projected.iter().copied().collect();
        let depth = self.scopes.len();
        self.scopes.push(NameScope::new(Passes::Projected(names)));
        let group = self.select(&modifiers, &within);
        self.scopes.pop();
        let mut group = group?;
        assert_eq!(self.scopes.len(), depth, "a scope ends with its sub-query");
        let columns = self.slots(modifiers.projected)?;
        let is_beside = columns.iter().any(|column| table.maybe.contains(*column));
        let is_given = |column: &Slot| context.outer.maybe.contains(*column);
        for given in columns.into_iter().filter(is_given) {
            group.maybe.insert(given);
        }
        if !by_graph {
            beside(table, group, Element::Join);
        } else if is_beside {
            let mut graphs = Pipeline::default();
            Self::ensure_graph(context, &mut graphs);
            beside(&mut graphs, group, Element::Lateral);
            beside(table, graphs, Element::Join);
        } else {
            Self::ensure_graph(context, table);
            beside(table, group, Element::Lateral);
        }
        Ok(())
    }

    /// The pipeline of a sub-query, in its own scope.
    fn select(
        &mut self,
        modifiers: &Modifiers<'_>,
        context: &Context,
    ) -> Result<Pipeline, ParseError> {
        let mut columns = self.slots(modifiers.projected)?;
        let mut table = self.spine(modifiers.inner, context)?;
        Self::ensure_graph(context, &mut table);
        let mut kept = Slots::default();
        for column in &columns {
            kept.insert(*column);
        }
        table.maybe.intersect(&kept);
        table.sure.intersect(&kept);
        let mut given = Vec::new();
        for (column, name) in columns.iter_mut().zip(modifiers.projected) {
            let computed = self.variable(*name)?;
            if computed != *column {
                table.maybe.insert(*column);
                given.push((computed, *column));
                *column = computed;
            }
        }
        if let Some(Node::Slot(graph)) = context.graph
            && !context.graph_is_given
            && !kept.contains(graph)
        {
            columns.push(graph);
        }
        table.elements.push(Element::Project(columns));
        modifiers.finish(&mut table.elements);
        if !given.is_empty() {
            let elements = std::mem::take(&mut table.elements);
            table.elements.push(Element::Join(Group { elements }));
            let given = given.into_iter().map(|(computed, into)| Element::Bind {
                expression: Expression::Slot(computed),
                into,
            });
            table.elements.extend(given);
        }
        Ok(table)
    }

    pub(super) fn slots(&mut self, variables: &[Name]) -> Result<Vec<Slot>, ParseError> {
        let variables = variables.iter();
        variables.map(|variable| self.variable(*variable)).collect()
    }

    /// `GROUP BY`, or aggregates without one.
    pub(super) fn aggregate(
        &mut self,
        variables: &[Name],
        aggregates: &[(Name, abstract_query::Aggregate)],
        context: &Context,
        table: &mut Pipeline,
    ) -> Result<(), ParseError> {
        let mut keys = Vec::with_capacity(variables.len());
        let mut kept = Slots::default();
        for slot in self.slots(variables)? {
            if !kept.contains(slot) {
                kept.insert(slot);
                keys.push(slot);
            }
        }
        let mut before = Vec::new();
        let mut computed = Vec::with_capacity(aggregates.len());
        for (variable, aggregate) in aggregates {
            let aggregate = self.one_aggregate(aggregate, context, table, &mut before)?;
            computed.push((aggregate, self.variable(*variable)?));
        }
        table.elements.append(&mut before);
        row_order::keep(&mut table.elements, &computed);
        table.maybe.intersect(&kept);
        table.sure.intersect(&kept);
        for (aggregate, into) in &computed {
            table.maybe.insert(*into);
            if aggregate.function == AggregateFunction::Count {
                table.sure.insert(*into);
            }
        }
        // Without keys there is a row even of no rows.
        table.in_graph &= !keys.is_empty();
        table.elements.push(Element::Aggregate {
            keys,
            aggregates: computed,
        });
        Ok(())
    }

    fn one_aggregate(
        &mut self,
        aggregate: &abstract_query::Aggregate,
        context: &Context,
        table: &Pipeline,
        before: &mut Vec<Element>,
    ) -> Result<Aggregate, ParseError> {
        let (function, argument, distinct) = match aggregate {
            abstract_query::Aggregate::CountSolutions { distinct } => {
                let columns = table.maybe.iter().filter(|slot| self.is_written(*slot));
                return Ok(Aggregate {
                    function: AggregateFunction::Count,
                    argument: None,
                    distinct: distinct.then(|| columns.collect()),
                });
            }
            abstract_query::Aggregate::Call {
                function,
                argument,
                distinct,
            } => (function, argument, *distinct),
        };
        let function = match function {
            AggregateName::Known(function) => function.clone(),
            // It stands within SERVICE alone, which is not translated.
            AggregateName::Other(_) => AggregateFunction::Sample,
        };
        let argument = self.expression(argument, &View::of(table, context), before)?;
        Ok(Aggregate {
            function,
            argument: Some(argument),
            distinct: distinct.then(Vec::new),
        })
    }
}

/// Adds a group, as one element.
fn beside(table: &mut Pipeline, group: Pipeline, element: fn(Group) -> Element) {
    table.maybe.add(&group.maybe);
    table.sure.add(&group.sure);
    table.in_graph |= group.in_graph;
    table.elements.push(element(group.into_group()));
}
