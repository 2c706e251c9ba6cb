//! `MINUS`.
//!
//! `MINUS` removes a row only for a compatible one that shares a bound variable with it (SPARQL 1.1
//! Query section 18.5). **Within GRAPH ?g**, `?g` is no variable of either side: it is bound outside of
//! the group. Written into the patterns it would be shared by all rows. **Within EXISTS and LATERAL** so
//! would be a variable of the row outside which one side names only. Where another variable is bound in
//! every row of both sides that makes no difference. Where none can be shared, `MINUS` removes nothing.
//! Otherwise its group gets variables of its own and becomes `NOT EXISTS`, with what compatible means
//! written out.
//!
//! That `NOT EXISTS` sees the row of the left side, and the group of `MINUS` only the row outside. Where
//! the row outside may lack a variable that the left side binds, the two differ. Then the group has a
//! variable of its own for this one too, which begins with what the row outside had:
//!
//! ```text
//!   EXISTS { A MINUS { B } }     the row may lack ?v, A binds it, B names it
//!
//!   EXISTS  { kept = ?v  LATERAL { A  NOT EXISTS { .v = kept  LATERAL { B(.v) }  FILTER(compatible) } } }
//! ```

use super::group::{Pipeline, is_modifier};
use super::names::{NameScope, Passes};
use super::{Context, Lowering, Outer};
use crate::algebra::{Element, Group};
use crate::error::ParseError;
use crate::expression::Expression;
use crate::grammar::abstract_query::{GraphPattern, Name, TermPattern, TriplePattern};
use crate::plan::{Node, Slot};
use hashbrown::HashMap;
use std::rc::Rc;

impl Lowering<'_> {
    pub(super) fn minus(
        &mut self,
        right: &GraphPattern,
        context: &Context,
        table: &mut Pipeline,
    ) -> Result<(), ParseError> {
        let mut visible = table.maybe.clone();
        visible.add(&context.outer.maybe);
        let is_within =
            matches!(context.graph, Some(Node::Slot(_))) || !context.outer.maybe.is_empty();
        if is_within && !self.shares_for_sure(right, table)? {
            return self.minus_within(right, context, table);
        }
        self.scopes.push(NameScope::new(Passes::Visible(visible)));
        let group = self.group(right, context);
        self.scopes.pop();
        let group = group?;
        let mut shared = group.maybe.clone();
        shared.intersect(&table.maybe);
        if shared.is_empty() {
            self.idle.add(&group.maybe);
        } else {
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

    fn minus_within(
        &mut self,
        right: &GraphPattern,
        context: &Context,
        table: &mut Pipeline,
    ) -> Result<(), ParseError> {
        let apart = self.apart(context, table)?;
        let mut outer = Outer::clone(&context.outer);
        for (left, own) in apart.values() {
            outer.maybe.remove(*left);
            outer.maybe.insert(*own);
        }
        let visible = outer.maybe.clone();
        let within = Context {
            graph_is_given: true,
            outer: Rc::new(outer),
            ..context.clone()
        };
        let own = apart.iter().map(|(name, (_, own))| (*name, *own));
        let scope = NameScope::new(Passes::Visible(visible)).with_apart(own.collect());
        self.scopes.push(scope);
        let group = self.seeing(right, &within);
        let scope = self.scopes.pop();
        let mut group = group?;
        let mut pairs: Vec<(Slot, Slot)> = Vec::new();
        let mut begun: Vec<(Slot, Slot)> = Vec::new();
        for (name, slot) in scope.iter().flat_map(NameScope::names) {
            if let Some((left, own)) = apart.get(&name)
                && *own == slot
            {
                begun.push((*left, slot));
            }
            if group.maybe.contains(slot)
                && let Some(left) = self.known(name)?
                && table.maybe.contains(left)
            {
                pairs.push((left, slot));
            }
        }
        pairs.sort_unstable();
        begun.sort_unstable();
        if pairs.is_empty() {
            self.idle.add(&group.maybe);
            return Ok(());
        }
        let elements = std::mem::take(&mut group.elements);
        group.elements = self.begun(begun, elements)?;
        group.elements.extend(compatible(&pairs));
        table.elements.push(Element::Exists {
            group: group.into_group(),
            negated: true,
        });
        Ok(())
    }

    /// The variables that the row outside may lack and that the table may bind: by name, with a slot
    /// of its own for the group of `MINUS`.
    fn apart(
        &mut self,
        context: &Context,
        table: &Pipeline,
    ) -> Result<HashMap<Name, (Slot, Slot)>, ParseError> {
        let is_apart = |slot: Slot| {
            context.outer.maybe.contains(slot)
                && !context.outer.sure.contains(slot)
                && table.maybe.contains(slot)
        };
        let names = self.scopes.iter().next_back().map(NameScope::names);
        let names = names.into_iter().flatten();
        let mut names: Vec<(Name, Slot)> = names.filter(|(_, slot)| is_apart(*slot)).collect();
        names.sort_unstable_by_key(|(name, _)| (self.terms.text(*name), *name));
        let mut apart = HashMap::with_capacity(names.len());
        for (name, slot) in names {
            let own = self.another(name)?;
            apart.insert(name, (slot, own));
        }
        Ok(apart)
    }

    /// The group of `MINUS`, where it reads the row outside by slots of its own (right) and that row
    /// had others (left).
    fn begun(
        &mut self,
        begun: Vec<(Slot, Slot)>,
        elements: Vec<Element>,
    ) -> Result<Vec<Element>, ParseError> {
        if begun.is_empty() {
            if elements.iter().any(is_modifier) {
                // They let nothing of the row outside pass.
                return Ok(vec![Element::Join(Group { elements })]);
            }
            return Ok(elements);
        }
        let mut kept = Vec::with_capacity(begun.len());
        for (left, own) in begun {
            kept.push((self.kept(left)?, own));
        }
        Ok(beginning_with(kept, elements))
    }

    /// A group that sees a row.
    pub(super) fn seeing(
        &mut self,
        pattern: &GraphPattern,
        context: &Context,
    ) -> Result<Pipeline, ParseError> {
        self.kept.push(Vec::new());
        let group = self.group(pattern, context);
        let kept = self.kept.pop().unwrap_or_default();
        let mut group = group?;
        if !kept.is_empty() {
            group.elements = beginning_with(kept, group.elements);
        }
        Ok(group)
    }

    /// The slot that holds what the row outside had in this one, whatever is bound beside it.
    fn kept(&mut self, slot: Slot) -> Result<Slot, ParseError> {
        assert!(!self.kept.is_empty(), "a group that sees a row is around");
        let known = self.kept.last().into_iter().flatten();
        let known = known.into_iter().find(|(of, _)| *of == slot);
        if let Some((_, kept)) = known {
            return Ok(*kept);
        }
        let kept = self.hidden()?;
        if let Some(group) = self.kept.last_mut() {
            group.push((slot, kept));
        }
        Ok(kept)
    }
}

/// A group that sees a row with more columns: copies of others.
fn beginning_with(copies: Vec<(Slot, Slot)>, elements: Vec<Element>) -> Vec<Element> {
    let copies = copies.into_iter().map(|(of, into)| Element::Bind {
        expression: Expression::Slot(of),
        into,
    });
    let group = Element::Lateral(Group { elements });
    copies.chain([group]).collect()
}

/// What makes a row of the right side one that removes a row of the left side, over the columns of
/// each variable that both name.
fn compatible(pairs: &[(Slot, Slot)]) -> Vec<Element> {
    assert!(
        !pairs.is_empty(),
        "without a shared variable nothing is removed"
    );
    let not_bound = |slot| Expression::Not(Box::new(Expression::Bound(slot)));
    let mut filters = Vec::new();
    for &(left, right) in pairs.iter().filter(|(left, right)| left != right) {
        let same = Expression::SameTerm(
            Box::new(Expression::Slot(left)),
            Box::new(Expression::Slot(right)),
        );
        let compatible = vec![not_bound(left), not_bound(right), same];
        filters.push(Element::Filter(Expression::Or(compatible)));
    }
    let both_bound = |&(left, right): &(Slot, Slot)| {
        Expression::And(vec![Expression::Bound(left), Expression::Bound(right)])
    };
    let mut shared: Vec<Expression> = pairs.iter().map(both_bound).collect();
    let shares = match shared.len() {
        1 => shared.swap_remove(0),
        _ => Expression::Or(shared),
    };
    filters.push(Element::Filter(shares));
    filters
}

/// Names of variables that every solution of a pattern binds; not all of them.
fn sure_names(pattern: &GraphPattern, names: &mut Vec<Name>) {
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
            GraphPattern::Bgp(triples) => {
                names.extend(triples.iter().flat_map(names_of));
                None
            }
            _ => None,
        };
    }
}

fn names_of(triple: &TriplePattern) -> impl Iterator<Item = Name> {
    let ends = [&triple.subject, &triple.object].into_iter();
    ends.filter_map(|term| match term {
        TermPattern::Variable(variable) => Some(*variable),
        _ => None,
    })
}
