//! Groups within groups: `OPTIONAL`, `UNION`, `LATERAL`, `GRAPH`, and those of windows.

use super::expression::View;
use super::group::{Pipeline, absorb};
use super::{Context, Lowering};
use crate::algebra::Element;
use crate::error::ParseError;
use crate::expression::Expression;
use crate::grammar::abstract_query::{Expression as Algebra, GraphPattern, Name, NamePattern};
use crate::plan::{Node, Slot, Source};
use crate::slots::Slots;

impl Lowering<'_> {
    pub(super) fn optional(
        &mut self,
        right: &GraphPattern,
        condition: Option<&Algebra>,
        context: &Context,
        table: &mut Pipeline,
    ) -> Result<(), ParseError> {
        let group = self.group(right, context)?;
        let mut elements = Vec::new();
        if let Some(condition) = condition {
            let view = View {
                also: Some(&group.maybe),
                ..View::of(table, context)
            };
            self.conjuncts(condition, &view, &mut elements)?;
        }
        table.maybe.add(&group.maybe);
        table.elements.push(Element::Optional {
            group: group.into_group(),
            condition: elements,
        });
        Ok(())
    }

    pub(super) fn lateral(
        &mut self,
        right: &GraphPattern,
        context: &Context,
        table: &mut Pipeline,
    ) -> Result<(), ParseError> {
        let within = context.within(&table.maybe, &table.sure);
        let group = self.seeing(right, &within)?;
        table.maybe.add(&group.maybe);
        table.sure.add(&group.sure);
        table.elements.push(Element::Lateral(group.into_group()));
        Ok(())
    }

    /// `A UNION B UNION ...`, which the parser nests to the left.
    pub(super) fn union(
        &mut self,
        pattern: &GraphPattern,
        context: &Context,
        table: &mut Pipeline,
    ) -> Result<(), ParseError> {
        let mut branches = Vec::new();
        let mut first = pattern;
        while let GraphPattern::Union { left, right } = first {
            branches.push(&**right);
            first = left;
        }
        branches.push(first);
        let mut pipelines = Vec::with_capacity(branches.len());
        for branch in branches.into_iter().rev() {
            pipelines.push(self.group(branch, context)?);
        }
        join_union(table, pipelines);
        Ok(())
    }

    /// `GRAPH name { ... }`; the graph around it means nothing inside.
    pub(super) fn named_graph(
        &mut self,
        name: NamePattern,
        inner: &GraphPattern,
        context: &Context,
        table: &mut Pipeline,
    ) -> Result<(), ParseError> {
        let graph = self.name(name)?;
        // Named graphs of what stands outside of all windows are the store's.
        let source = if context.source == self.outside {
            Source::STORE
        } else {
            context.source
        };
        let within = Context {
            graph: Some(graph),
            source,
            graph_is_given: context.graph_is_given && context.graph == Some(graph),
            ..context.clone()
        };
        let (mut group, own) = match (name, graph) {
            (NamePattern::Variable(variable), Node::Slot(slot)) if !is_join(inner) => {
                self.within_graph(variable, slot, inner, &within)?
            }
            _ => (self.group(inner, &within)?, None),
        };
        if !group.in_graph && !within.graph_is_given {
            let nested = std::mem::take(&mut group);
            group.elements.push(Element::Graph(graph, source));
            absorb(&mut group, nested);
        }
        if let Node::Slot(slot) = graph {
            group.maybe.insert(slot);
            group.sure.insert(slot);
        }
        // Of another graph it says nothing.
        group.in_graph = context.graph == Some(graph);
        absorb(table, group);
        if let Some(own) = own {
            table.maybe.remove(own);
            table.sure.remove(own);
        }
        Ok(())
    }

    /// A group in the default graph of windows; the graph around it means nothing inside.
    pub(super) fn window(
        &mut self,
        source: Source,
        inner: &GraphPattern,
        context: &Context,
        table: &mut Pipeline,
    ) -> Result<(), ParseError> {
        let within = Context {
            graph: None,
            graph_is_given: false,
            source,
            ..context.clone()
        };
        let mut group = self.group(inner, &within)?;
        // Of another graph it says nothing.
        group.in_graph = false;
        absorb(table, group);
        Ok(())
    }

    /// The group of `GRAPH ?g`. Within it `?g` is a variable like any other, of its own; what it binds
    /// there is joined with the graph after it. Gives also the slot of that variable, which outside of
    /// the group is none.
    fn within_graph(
        &mut self,
        variable: Name,
        graph: Slot,
        inner: &GraphPattern,
        within: &Context,
    ) -> Result<(Pipeline, Option<Slot>), ParseError> {
        self.mask(variable);
        let group = self.group(inner, within);
        let own = self.unmask(variable, graph);
        let mut group = group?;
        if let Some(own) = own
            && group.maybe.contains(own)
        {
            let not_bound = Expression::Not(Box::new(Expression::Bound(own)));
            let same = Expression::SameTerm(
                Box::new(Expression::Slot(own)),
                Box::new(Expression::Slot(graph)),
            );
            Self::ensure_graph(within, &mut group);
            let compatible = Expression::Or(vec![not_bound, same]);
            group.elements.push(Element::Filter(compatible));
        }
        Ok((group, own))
    }
}

/// Joins with the concatenation of these.
pub(super) fn join_union(table: &mut Pipeline, branches: Vec<Pipeline>) {
    assert!(!branches.is_empty(), "a union has a branch");
    let mut maybe = Slots::default();
    let mut sure: Option<Slots> = None;
    let mut in_graph = true;
    let mut groups = Vec::with_capacity(branches.len());
    for branch in branches {
        maybe.add(&branch.maybe);
        match &mut sure {
            Some(sure) => sure.intersect(&branch.sure),
            None => sure = Some(branch.sure.clone()),
        }
        in_graph &= branch.in_graph;
        groups.push(branch.into_group());
    }
    table.elements.push(Element::Union(groups));
    table.maybe.add(&maybe);
    table.sure.add(&sure.unwrap_or_default());
    table.in_graph |= in_graph;
}

/// Whether a pattern is made of joins and unions alone: there it makes no difference when a variable
/// is joined.
fn is_join(pattern: &GraphPattern) -> bool {
    let mut pending = vec![pattern];
    while let Some(next) = pending.pop() {
        match next {
            GraphPattern::Bgp(_)
            | GraphPattern::Path { .. }
            | GraphPattern::Values { .. }
            | GraphPattern::Given { .. } => {}
            GraphPattern::Join { left, right } | GraphPattern::Union { left, right } => {
                pending.extend([&**left, &**right]);
            }
            GraphPattern::Graph { inner, .. } | GraphPattern::Window { inner, .. } => {
                pending.push(inner);
            }
            _ => return false,
        }
    }
    true
}
