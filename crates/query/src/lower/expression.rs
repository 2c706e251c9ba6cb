//! Expressions over slots, and `EXISTS` in them.
//!
//! Chains of `&&` and `||` become one list each. A variable that no row can bind where the expression
//! stands is written [`error`], and `BOUND` of it `false`. `EXISTS` as a conjunct of a filter is an
//! element; anywhere else it is a column, made before the expression that reads it.

use super::group::Pipeline;
use super::names::{NameScope, Passes};
use super::{Context, Lowering};
use crate::algebra::{Element, Group};
use crate::error::ParseError;
use crate::expression::{Arithmetic, Comparison, Expression};
use crate::grammar::abstract_query::{Expression as Algebra, GraphPattern, Name, Operator};
use crate::plan::Slot;
use crate::slots::Slots;
use oxrdf::Literal;

/// What an expression sees.
pub(super) struct View<'v> {
    /// What its own rows can bind.
    pub(super) maybe: &'v Slots,
    /// What they bind for sure.
    pub(super) sure: &'v Slots,
    /// What the other side of an `OPTIONAL` can bind.
    pub(super) also: Option<&'v Slots>,
    pub(super) context: &'v Context,
}

impl<'v> View<'v> {
    pub(super) fn of(table: &'v Pipeline, context: &'v Context) -> View<'v> {
        View {
            maybe: &table.maybe,
            sure: &table.sure,
            also: None,
            context,
        }
    }

    fn contains(&self, slot: Slot) -> bool {
        self.maybe.contains(slot)
            || self.also.is_some_and(|also| also.contains(slot))
            || self.context.outer.maybe.contains(slot)
    }

    /// All of it.
    fn row(&self) -> Slots {
        let mut row = self.maybe.clone();
        if let Some(also) = self.also {
            row.add(also);
        }
        row.add(&self.context.outer.maybe);
        row
    }
}

/// An expression that is always an error: `COALESCE` of nothing.
pub(super) fn error() -> Expression {
    Expression::Coalesce(Vec::new())
}

impl Lowering<'_> {
    /// The conjuncts of a condition as elements, in the order of the text.
    pub(super) fn conjuncts(
        &mut self,
        condition: &Algebra,
        view: &View<'_>,
        into: &mut Vec<Element>,
    ) -> Result<(), ParseError> {
        let mut pending = vec![condition];
        while let Some(conjunct) = pending.pop() {
            if let Algebra::And(left, right) = conjunct {
                pending.extend([&**right, &**left]);
                continue;
            }
            let (mut inner, mut negated) = (conjunct, false);
            while let Algebra::Not(within) = inner {
                inner = within;
                negated = !negated;
            }
            if let Algebra::Exists(pattern) = inner {
                let group = self.exists(pattern, view)?;
                into.push(Element::Exists { group, negated });
            } else {
                let condition = self.expression(conjunct, view, into)?;
                into.push(Element::Filter(condition));
            }
        }
        Ok(())
    }

    /// The group of an `EXISTS`: it sees the row, and has its other variables for itself.
    fn exists(&mut self, pattern: &GraphPattern, view: &View<'_>) -> Result<Group, ParseError> {
        let row = view.row();
        let context = view.context.within(&row, view.sure);
        self.scopes.push(NameScope::new(Passes::Visible(row)));
        let group = self.seeing(pattern, &context);
        self.scopes.pop();
        Ok(group?.into_group())
    }

    /// Translates an expression; the marks that it reads are added to `before`. A frame of stack per
    /// nested operator.
    pub(super) fn expression(
        &mut self,
        expression: &Algebra,
        view: &View<'_>,
        before: &mut Vec<Element>,
    ) -> Result<Expression, ParseError> {
        match expression {
            Algebra::Constant(constant) => Ok(Expression::Constant(self.constant(*constant))),
            Algebra::Variable(variable) => {
                let slot = self.visible(*variable, view)?;
                Ok(slot.map_or_else(error, Expression::Slot))
            }
            Algebra::Bound(variable) => {
                let slot = self.visible(*variable, view)?;
                Ok(slot.map_or_else(|| self.no(), Expression::Bound))
            }
            Algebra::And(..) | Algebra::Or(..) => self.chain(expression, view, before),
            Algebra::Not(inner) => {
                let inner = self.expression(inner, view, before)?;
                Ok(negation(inner))
            }
            Algebra::UnaryPlus(inner) => Ok(Expression::Plus(self.boxed(inner, view, before)?)),
            Algebra::UnaryMinus(inner) => Ok(Expression::Minus(self.boxed(inner, view, before)?)),
            Algebra::In(value, list) => Ok(Expression::In(
                self.boxed(value, view, before)?,
                self.list(list, view, before)?,
            )),
            Algebra::If(condition, then, otherwise) => Ok(Expression::If(
                self.boxed(condition, view, before)?,
                self.boxed(then, view, before)?,
                self.boxed(otherwise, view, before)?,
            )),
            Algebra::Coalesce(list) => Ok(Expression::Coalesce(self.list(list, view, before)?)),
            Algebra::Call(function, arguments) => Ok(Expression::Call(
                *function,
                self.list(arguments, view, before)?,
            )),
            // It stands within SERVICE alone, which is not translated.
            Algebra::CallOther(..) => Ok(error()),
            Algebra::Exists(pattern) => self.mark(pattern, view, before),
            Algebra::Binary(operator, a, b) => {
                let left = self.boxed(a, view, before)?;
                let right = self.boxed(b, view, before)?;
                Ok(binary(*operator, left, right))
            }
        }
    }

    fn no(&mut self) -> Expression {
        let no = self.terms.constant(Literal::from(false).into());
        Expression::Constant(self.constant(no))
    }

    fn mark(
        &mut self,
        pattern: &GraphPattern,
        view: &View<'_>,
        before: &mut Vec<Element>,
    ) -> Result<Expression, ParseError> {
        let group = self.exists(pattern, view)?;
        let into = self.hidden()?;
        before.push(Element::Mark { group, into });
        Ok(Expression::Slot(into))
    }

    /// A chain of `&&` or of `||`, in the order of the text.
    fn chain(
        &mut self,
        expression: &Algebra,
        view: &View<'_>,
        before: &mut Vec<Element>,
    ) -> Result<Expression, ParseError> {
        let is_and = matches!(expression, Algebra::And(..));
        let mut links = Vec::new();
        let mut pending = vec![expression];
        while let Some(next) = pending.pop() {
            match next {
                Algebra::And(left, right) if is_and => pending.extend([&**right, &**left]),
                Algebra::Or(left, right) if !is_and => pending.extend([&**right, &**left]),
                link => links.push(self.expression(link, view, before)?),
            }
        }
        Ok(if is_and {
            Expression::And(links)
        } else {
            Expression::Or(links)
        })
    }

    fn boxed(
        &mut self,
        expression: &Algebra,
        view: &View<'_>,
        before: &mut Vec<Element>,
    ) -> Result<Box<Expression>, ParseError> {
        Ok(Box::new(self.expression(expression, view, before)?))
    }

    fn list(
        &mut self,
        list: &[Algebra],
        view: &View<'_>,
        before: &mut Vec<Element>,
    ) -> Result<Vec<Expression>, ParseError> {
        list.iter()
            .map(|expression| self.expression(expression, view, before))
            .collect()
    }

    /// The slot of a variable where the expression can see it.
    fn visible(&mut self, variable: Name, view: &View<'_>) -> Result<Option<Slot>, ParseError> {
        let slot = self.known(variable)?;
        Ok(slot.filter(|slot| view.contains(*slot)))
    }
}

/// Operators with two operands.
fn binary(operator: Operator, a: Box<Expression>, b: Box<Expression>) -> Expression {
    let comparison = match operator {
        Operator::Equal => Comparison::Equal,
        Operator::Less => Comparison::Less,
        Operator::LessOrEqual => Comparison::LessOrEqual,
        Operator::Greater => Comparison::Greater,
        Operator::GreaterOrEqual => Comparison::GreaterOrEqual,
        Operator::Add => return Expression::Arithmetic(Arithmetic::Add, a, b),
        Operator::Subtract => return Expression::Arithmetic(Arithmetic::Subtract, a, b),
        Operator::Multiply => return Expression::Arithmetic(Arithmetic::Multiply, a, b),
        Operator::Divide => return Expression::Arithmetic(Arithmetic::Divide, a, b),
        Operator::SameTerm => return Expression::SameTerm(a, b),
    };
    Expression::Compare(comparison, a, b)
}

/// `!a`; the parser writes `a != b` as `!(a = b)`.
fn negation(inner: Expression) -> Expression {
    match inner {
        Expression::Compare(Comparison::Equal, a, b) => {
            Expression::Compare(Comparison::NotEqual, a, b)
        }
        inner => Expression::Not(Box::new(inner)),
    }
}
