//! Expressions of the algebra to expressions over slots.
//!
//! Chains of `&&` and `||` become one list each, so that evaluation does not recurse along them.
//! A variable that the expression's group does not bind is written [`error`], and `BOUND` of it
//! `false`; see [`super::pattern`].

use super::Translator;
use crate::expression::{Arithmetic, Comparison, Expression, Function};
use crate::parse::ParseError;
use crate::plan::Slot;
use oxrdf::{Literal, Term, Variable};
use spargebra::algebra::{Expression as Algebra, Function as AlgebraFunction};
use std::collections::HashSet;

/// The variables that an expression can see.
pub(super) struct Visible {
    /// Bound in every row.
    pub bound: HashSet<Slot>,
    /// The variable of the GRAPH around the group, which is refused.
    pub graph: Option<Slot>,
}

/// An expression that is always an error: `COALESCE` of nothing.
pub(super) fn error() -> Expression {
    Expression::Coalesce(Vec::new())
}

impl Translator<'_> {
    /// Translates an expression. A frame of stack per nested operator.
    pub(super) fn expression(
        &mut self,
        expression: &Algebra,
        visible: &Visible,
    ) -> Result<Expression, ParseError> {
        match expression {
            Algebra::NamedNode(node) => Ok(Expression::Constant(
                self.constant(Term::from(node.clone())),
            )),
            Algebra::Literal(literal) => Ok(Expression::Constant(
                self.constant(Term::from(literal.clone())),
            )),
            Algebra::Variable(variable) => {
                let slot = self.visible_slot(variable, visible)?;
                Ok(slot.map_or_else(error, Expression::Slot))
            }
            Algebra::Bound(variable) => match self.visible_slot(variable, visible)? {
                Some(slot) => Ok(Expression::Bound(slot)),
                None => Ok(Expression::Constant(
                    self.constant(Literal::from(false).into()),
                )),
            },
            Algebra::And(..) | Algebra::Or(..) => self.chain(expression, visible),
            Algebra::Not(inner) => self.negation(inner, visible),
            Algebra::UnaryPlus(inner) => Ok(Expression::Plus(self.boxed(inner, visible)?)),
            Algebra::UnaryMinus(inner) => Ok(Expression::Minus(self.boxed(inner, visible)?)),
            Algebra::In(value, list) => Ok(Expression::In(
                self.boxed(value, visible)?,
                self.list(list, visible)?,
            )),
            Algebra::If(condition, then, otherwise) => Ok(Expression::If(
                self.boxed(condition, visible)?,
                self.boxed(then, visible)?,
                self.boxed(otherwise, visible)?,
            )),
            Algebra::Coalesce(list) => Ok(Expression::Coalesce(self.list(list, visible)?)),
            Algebra::FunctionCall(function, arguments) => {
                let Some(name) = builtin(function) else {
                    return Err(self.unsupported_function(function));
                };
                Ok(Expression::Call(name, self.list(arguments, visible)?))
            }
            Algebra::Exists(_) => Err(self.unsupported("EXISTS", &["EXISTS"])),
            _ => self.binary(expression, visible),
        }
    }

    /// Operators with two operands.
    fn binary(
        &mut self,
        expression: &Algebra,
        visible: &Visible,
    ) -> Result<Expression, ParseError> {
        use Arithmetic::{Add, Divide, Multiply, Subtract};
        use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual};
        type Build = fn(Box<Expression>, Box<Expression>) -> Expression;
        let (left, right, build): (_, _, Build) = match expression {
            Algebra::Equal(a, b) => (a, b, |a, b| Expression::Compare(Equal, a, b)),
            Algebra::Less(a, b) => (a, b, |a, b| Expression::Compare(Less, a, b)),
            Algebra::LessOrEqual(a, b) => (a, b, |a, b| Expression::Compare(LessOrEqual, a, b)),
            Algebra::Greater(a, b) => (a, b, |a, b| Expression::Compare(Greater, a, b)),
            Algebra::GreaterOrEqual(a, b) => {
                (a, b, |a, b| Expression::Compare(GreaterOrEqual, a, b))
            }
            Algebra::SameTerm(a, b) => (a, b, Expression::SameTerm),
            Algebra::Add(a, b) => (a, b, |a, b| Expression::Arithmetic(Add, a, b)),
            Algebra::Subtract(a, b) => (a, b, |a, b| Expression::Arithmetic(Subtract, a, b)),
            Algebra::Multiply(a, b) => (a, b, |a, b| Expression::Arithmetic(Multiply, a, b)),
            Algebra::Divide(a, b) => (a, b, |a, b| Expression::Arithmetic(Divide, a, b)),
            _ => return Err(self.unsupported("this expression", &["FILTER", "ORDER"])),
        };
        Ok(build(
            self.boxed(left, visible)?,
            self.boxed(right, visible)?,
        ))
    }

    /// `!a`; the parser writes `a != b` as `!(a = b)`.
    fn negation(&mut self, inner: &Algebra, visible: &Visible) -> Result<Expression, ParseError> {
        let inner = self.expression(inner, visible)?;
        Ok(match inner {
            Expression::Compare(Comparison::Equal, a, b) => {
                Expression::Compare(Comparison::NotEqual, a, b)
            }
            inner => Expression::Not(Box::new(inner)),
        })
    }

    /// A chain of `&&` or of `||`, in the order of the text.
    fn chain(&mut self, expression: &Algebra, visible: &Visible) -> Result<Expression, ParseError> {
        let is_and = matches!(expression, Algebra::And(..));
        let mut links = Vec::new();
        let mut pending = vec![expression];
        while let Some(next) = pending.pop() {
            match next {
                Algebra::And(left, right) if is_and => pending.extend([&**right, &**left]),
                Algebra::Or(left, right) if !is_and => pending.extend([&**right, &**left]),
                link => links.push(self.expression(link, visible)?),
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
        visible: &Visible,
    ) -> Result<Box<Expression>, ParseError> {
        Ok(Box::new(self.expression(expression, visible)?))
    }

    fn list(&mut self, list: &[Algebra], visible: &Visible) -> Result<Vec<Expression>, ParseError> {
        list.iter()
            .map(|expression| self.expression(expression, visible))
            .collect()
    }

    /// The slot of a variable where the expression can see it.
    fn visible_slot(
        &self,
        variable: &Variable,
        visible: &Visible,
    ) -> Result<Option<Slot>, ParseError> {
        let slot = self.slots.get(variable.as_str()).copied();
        match slot {
            Some(slot) if visible.bound.contains(&slot) => Ok(Some(slot)),
            Some(slot) if visible.graph == Some(slot) => Err(self.unsupported(
                &format!("FILTER on ?{} within its own GRAPH", variable.as_str()),
                &["FILTER"],
            )),
            _ => Ok(None),
        }
    }
}

/// The builtins that this release evaluates.
fn builtin(function: &AlgebraFunction) -> Option<Function> {
    Some(match function {
        AlgebraFunction::IsIri => Function::IsIri,
        AlgebraFunction::IsBlank => Function::IsBlank,
        AlgebraFunction::IsLiteral => Function::IsLiteral,
        AlgebraFunction::IsNumeric => Function::IsNumeric,
        AlgebraFunction::Str => Function::Str,
        AlgebraFunction::Lang => Function::Lang,
        AlgebraFunction::Datatype => Function::Datatype,
        AlgebraFunction::StrLen => Function::StrLen,
        AlgebraFunction::SubStr => Function::SubStr,
        AlgebraFunction::UCase => Function::UCase,
        AlgebraFunction::LCase => Function::LCase,
        AlgebraFunction::StrStarts => Function::StrStarts,
        AlgebraFunction::StrEnds => Function::StrEnds,
        AlgebraFunction::Contains => Function::Contains,
        AlgebraFunction::StrBefore => Function::StrBefore,
        AlgebraFunction::StrAfter => Function::StrAfter,
        AlgebraFunction::EncodeForUri => Function::EncodeForUri,
        AlgebraFunction::Concat => Function::Concat,
        AlgebraFunction::LangMatches => Function::LangMatches,
        AlgebraFunction::Regex => Function::Regex,
        AlgebraFunction::Replace => Function::Replace,
        AlgebraFunction::Abs => Function::Abs,
        AlgebraFunction::Round => Function::Round,
        AlgebraFunction::Ceil => Function::Ceil,
        AlgebraFunction::Floor => Function::Floor,
        AlgebraFunction::Year => Function::Year,
        AlgebraFunction::Month => Function::Month,
        AlgebraFunction::Day => Function::Day,
        AlgebraFunction::Hours => Function::Hours,
        AlgebraFunction::Minutes => Function::Minutes,
        AlgebraFunction::Seconds => Function::Seconds,
        _ => return None,
    })
}
