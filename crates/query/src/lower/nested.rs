//! Groups within groups: `OPTIONAL`, `UNION`, `MINUS`, `LATERAL`, `GRAPH`.
//!
//! **MINUS within GRAPH ?g.** `MINUS` removes a row only for a compatible one that shares a bound
//! variable with it (SPARQL 1.1 Query section 18.5), and `?g` is no variable of either side: it is
//! bound outside of the group. Written into the patterns it would be shared by all rows. Where another
//! variable is bound in every row of both sides that makes no difference. Where none can be shared,
//! `MINUS` removes nothing. Otherwise its group gets variables of its own and becomes `NOT EXISTS`,
//! with what compatible means written out.

use super::expression::View;
use super::group::{Pipeline, absorb};
use super::names::{Passes, Scope, Slots};
use super::{Context, Lowering};
use crate::algebra::Element;
use crate::expression::Expression;
use crate::parse::ParseError;
use crate::plan::{Node, Slot};
use oxrdf::Variable;
use spargebra::algebra::{Expression as Algebra, GraphPattern};
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};
use std::rc::Rc;

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
        table.maybe.extend(&group.maybe);
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
        let within = context.within(&table.maybe);
        let group = self.group(right, &within)?;
        table.maybe.extend(&group.maybe);
        table.sure.extend(&group.sure);
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
        name: &NamedNodePattern,
        inner: &GraphPattern,
        context: &Context,
        table: &mut Pipeline,
    ) -> Result<(), ParseError> {
        let graph = self.name(name)?;
        let within = Context {
            graph: Some(graph),
            graph_is_given: context.graph_is_given && context.graph == Some(graph),
            outer: Rc::clone(&context.outer),
        };
        let mut group = match (name, graph) {
            (NamedNodePattern::Variable(variable), Node::Slot(slot)) if !is_join(inner) => {
                self.within_graph(variable, slot, inner, &within)?
            }
            _ => self.group(inner, &within)?,
        };
        if !group.in_graph && !within.graph_is_given {
            let nested = std::mem::take(&mut group);
            group.elements.push(Element::Graph(graph));
            absorb(&mut group, nested);
        }
        if let Node::Slot(slot) = graph {
            group.maybe.insert(slot);
            group.sure.insert(slot);
        }
        // Of another graph it says nothing.
        group.in_graph = context.graph == Some(graph);
        absorb(table, group);
        Ok(())
    }

    /// The group of `GRAPH ?g`. Within it `?g` is a variable like any other, of its own; what it binds
    /// there is joined with the graph after it.
    fn within_graph(
        &mut self,
        variable: &Variable,
        graph: Slot,
        inner: &GraphPattern,
        within: &Context,
    ) -> Result<Pipeline, ParseError> {
        self.mask(variable.as_str());
        let group = self.group(inner, within);
        let own = self.unmask(variable.as_str(), graph);
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
        Ok(group)
    }

    pub(super) fn minus(
        &mut self,
        right: &GraphPattern,
        context: &Context,
        table: &mut Pipeline,
    ) -> Result<(), ParseError> {
        let mut visible = table.maybe.clone();
        visible.extend(&context.outer);
        if matches!(context.graph, Some(Node::Slot(_))) && !self.shares_for_sure(right, table)? {
            return self.minus_within_graph(right, context, table);
        }
        self.scopes.push(Scope::new(Passes::Visible(visible)));
        let group = self.group(right, context);
        self.scopes.pop();
        let group = group?;
        let mut shared = group.maybe.clone();
        shared.retain(&table.maybe);
        if shared.iter().next().is_some() {
            table.elements.push(Element::Minus(group.into_group()));
        }
        Ok(())
    }

    /// Whether some variable is bound in every row of both sides.
    fn shares_for_sure(
        &mut self,
        right: &GraphPattern,
        table: &Pipeline,
    ) -> Result<bool, ParseError> {
        let mut names = Vec::new();
        sure_names(right, &mut names);
        for name in names {
            if self
                .known(name)?
                .is_some_and(|slot| table.sure.contains(slot))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn minus_within_graph(
        &mut self,
        right: &GraphPattern,
        context: &Context,
        table: &mut Pipeline,
    ) -> Result<(), ParseError> {
        let within = Context {
            graph: context.graph,
            graph_is_given: true,
            outer: Rc::clone(&context.outer),
        };
        let outer = Slots::clone(&context.outer);
        self.scopes.push(Scope::new(Passes::Visible(outer)));
        let group = self.group(right, &within);
        let scope = self.scopes.pop();
        let mut group = group?;
        let mut pairs: Vec<(Slot, Slot)> = Vec::new();
        for (name, slot) in scope.iter().flat_map(Scope::names) {
            if group.maybe.contains(slot)
                && let Some(left) = self.known(name)?
                && table.maybe.contains(left)
            {
                pairs.push((left, slot));
            }
        }
        pairs.sort_unstable();
        if pairs.is_empty() {
            return Ok(());
        }
        let not_bound = |slot| Expression::Not(Box::new(Expression::Bound(slot)));
        for &(left, right) in pairs.iter().filter(|(left, right)| left != right) {
            let same = Expression::SameTerm(
                Box::new(Expression::Slot(left)),
                Box::new(Expression::Slot(right)),
            );
            let compatible = vec![not_bound(left), not_bound(right), same];
            group
                .elements
                .push(Element::Filter(Expression::Or(compatible)));
        }
        let mut shared: Vec<Expression> = pairs
            .iter()
            .map(|&(left, right)| {
                Expression::And(vec![Expression::Bound(left), Expression::Bound(right)])
            })
            .collect();
        let shares = match shared.len() {
            1 => shared.swap_remove(0),
            _ => Expression::Or(shared),
        };
        group.elements.push(Element::Filter(shares));
        table.elements.push(Element::Exists {
            group: group.into_group(),
            negated: true,
        });
        Ok(())
    }
}

/// Joins with the concatenation of these.
pub(super) fn join_union(table: &mut Pipeline, branches: Vec<Pipeline>) {
    let mut maybe = Slots::default();
    let mut sure: Option<Slots> = None;
    let mut in_graph = true;
    let mut groups = Vec::with_capacity(branches.len());
    for branch in branches {
        maybe.extend(&branch.maybe);
        match &mut sure {
            Some(sure) => sure.retain(&branch.sure),
            None => sure = Some(branch.sure.clone()),
        }
        in_graph &= branch.in_graph;
        groups.push(branch.into_group());
    }
    table.elements.push(Element::Union(groups));
    table.maybe.extend(&maybe);
    table.sure.extend(&sure.unwrap_or_default());
    table.in_graph |= in_graph;
}

/// Whether a pattern is made of joins and unions alone: there it makes no difference when a variable
/// is joined.
fn is_join(pattern: &GraphPattern) -> bool {
    let mut pending = vec![pattern];
    while let Some(next) = pending.pop() {
        match next {
            GraphPattern::Bgp { .. } | GraphPattern::Path { .. } | GraphPattern::Values { .. } => {}
            GraphPattern::Join { left, right } | GraphPattern::Union { left, right } => {
                pending.extend([&**left, &**right]);
            }
            GraphPattern::Graph { inner, .. } => pending.push(inner),
            _ => return false,
        }
    }
    true
}

/// Names of variables that every solution of a pattern binds; not all of them.
fn sure_names<'a>(pattern: &'a GraphPattern, names: &mut Vec<&'a str>) {
    let mut next = Some(pattern);
    while let Some(pattern) = next {
        next = match pattern {
            GraphPattern::Join { left, right } => {
                sure_names(right, names);
                Some(left)
            }
            GraphPattern::LeftJoin { left, .. }
            | GraphPattern::Lateral { left, .. }
            | GraphPattern::Minus { left, .. } => Some(left),
            GraphPattern::Filter { inner, .. } | GraphPattern::Extend { inner, .. } => Some(inner),
            GraphPattern::Bgp { patterns } => {
                names.extend(patterns.iter().flat_map(names_of));
                None
            }
            _ => None,
        };
    }
}

fn names_of(triple: &TriplePattern) -> impl Iterator<Item = &str> {
    let ends = [&triple.subject, &triple.object].into_iter();
    ends.filter_map(|term| match term {
        TermPattern::Variable(variable) => Some(variable.as_str()),
        _ => None,
    })
}
