//! Expressions, evaluated by definition (SPARQL 1.1 Query section 17): a term or an error.
//!
//! Terms stay terms between operators, so what `STR` and `DATATYPE` see is what was written.
//! `None` is the error of the specification. No compilation, no columns: one row at a time.

use super::choice;
use super::evaluator::{Context, Evaluator};
use super::function;
use super::notes::Notes;
use super::number::Number;
use super::solution::Solution;
use super::time;
use super::value::{self, Order, Value};
use oxrdf::{Literal, Term, Variable};
use spargebra::algebra::{Expression, Function};
use std::cmp::Ordering;

/// The function of a standing query that says when a triple came last in its windows (milliseconds).
pub(crate) const TIMESTAMP: &str = "http://larkc.eu/csparql/sparql/jena/ext#timestamp";

/// Where the variables of an expression get their values.
pub(super) struct Scope<'a> {
    pub(super) evaluator: &'a Evaluator<'a>,
    /// Where the patterns in the expression are evaluated.
    pub(super) context: &'a Context,
    /// The current row.
    pub(super) solution: &'a Solution,
}

/// A boolean as a term.
pub(super) fn boolean(value: bool) -> Term {
    Literal::from(value).into()
}

impl Scope<'_> {
    /// The value of an expression; `None` is an error.
    pub(super) fn evaluate(&self, expression: &Expression) -> Option<Term> {
        use Expression as E;
        Some(match expression {
            E::NamedNode(iri) => iri.clone().into(),
            E::Literal(literal) => literal.clone().into(),
            E::Variable(variable) => self.variable(variable)?,
            E::Bound(variable) => boolean(self.lookup(variable).is_some()),
            E::Or(left, right) => boolean(self.or(left, right)?),
            E::And(left, right) => boolean(self.and(left, right)?),
            E::Not(inner) => boolean(!self.truth(inner)?),
            E::Equal(left, right) => {
                boolean(value::equal(&self.evaluate(left)?, &self.evaluate(right)?)?)
            }
            E::SameTerm(left, right) => self.same_term(left, right)?,
            E::Less(left, right) => boolean(self.compare(left, right, Ordering::is_lt)?),
            E::LessOrEqual(left, right) => boolean(self.compare(left, right, Ordering::is_le)?),
            E::Greater(left, right) => boolean(self.compare(left, right, Ordering::is_gt)?),
            E::GreaterOrEqual(left, right) => {
                boolean(self.compare(left, right, Ordering::is_ge)?)
            }
            E::In(left, list) => boolean(self.is_in(left, list)?),
            E::Add(..) | E::Subtract(..) | E::Multiply(..) | E::Divide(..) => {
                self.arithmetic(expression)?
            }
            E::UnaryPlus(inner) => self.signed(inner, false)?,
            E::UnaryMinus(inner) => self.signed(inner, true)?,
            E::If(condition, then, other) => {
                self.computed(self.evaluate(if self.truth(condition)? { then } else { other })?)
            }
            E::Coalesce(list) => self.computed(list.iter().find_map(|each| self.evaluate(each))?),
            E::FunctionCall(Function::Custom(name), arguments) if name.as_str() == TIMESTAMP => {
                let terms = arguments.iter().map(|argument| self.evaluate(argument));
                self.evaluator.time_of(&terms.collect::<Vec<_>>())?
            }
            E::FunctionCall(name, arguments) => {
                let arguments: Option<Vec<Term>> = arguments
                    .iter()
                    .map(|argument| self.evaluate(argument))
                    .collect();
                self.computed(function::call(name, &arguments?, self.evaluator)?)
            }
            E::Exists(pattern) => {
                let exists = self.evaluator.exists(pattern, self.solution, self.context);
                boolean(exists?)
            }
        })
    }

    fn notes(&self) -> &Notes {
        self.evaluator.notes
    }

    fn lookup(&self, variable: &Variable) -> Option<Term> {
        self.evaluator.value(variable, self.solution)
    }

    fn variable(&self, variable: &Variable) -> Option<Term> {
        let value = self.lookup(variable)?;
        if choice::number(&value).is_some() {
            self.notes()
                .undetermined("the value of an aggregate is looked at");
            return None;
        }
        Some(value)
    }

    /// A value that went through a function, as the other oracle may not give it back.
    fn computed(&self, term: Term) -> Term {
        if !value::is_canonical(&term) {
            self.notes()
                .spareval_differs("it forgets how a value was written");
        }
        term
    }

    /// The effective boolean value of an expression; `None` is an error.
    pub(super) fn truth(&self, expression: &Expression) -> Option<bool> {
        value::truth(&self.evaluate(expression)?)
    }

    /// The truth table of section 17.2.
    fn or(&self, left: &Expression, right: &Expression) -> Option<bool> {
        match (self.truth(left), self.truth(right)) {
            (Some(true), _) | (_, Some(true)) => Some(true),
            (Some(false), Some(false)) => Some(false),
            _ => None,
        }
    }

    fn and(&self, left: &Expression, right: &Expression) -> Option<bool> {
        match (self.truth(left), self.truth(right)) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        }
    }

    fn same_term(&self, left: &Expression, right: &Expression) -> Option<Term> {
        let (left, right) = (self.evaluate(left)?, self.evaluate(right)?);
        if !value::is_canonical(&left) || !value::is_canonical(&right) {
            self.notes()
                .spareval_differs("it forgets how a value was written");
        }
        Some(boolean(left == right))
    }

    fn compare(
        &self,
        left: &Expression,
        right: &Expression,
        holds: fn(Ordering) -> bool,
    ) -> Option<bool> {
        match value::order(&self.evaluate(left)?, &self.evaluate(right)?, self.notes()) {
            Order::Is(ordering) => Some(holds(ordering)),
            Order::Neither => Some(false),
            Order::Error => None,
        }
    }

    /// `a IN (b, c)` is `a = b || a = c` (section 17.4.1.9).
    fn is_in(&self, left: &Expression, list: &[Expression]) -> Option<bool> {
        let left = self.evaluate(left);
        let mut outcome = Some(false);
        for each in list {
            let right = self.evaluate(each);
            match left
                .as_ref()
                .zip(right)
                .and_then(|(left, right)| value::equal(left, &right))
            {
                Some(true) => return Some(true),
                Some(false) => {}
                None => outcome = None,
            }
        }
        outcome
    }

    fn signed(&self, inner: &Expression, is_minus: bool) -> Option<Term> {
        let term = self.evaluate(inner)?;
        Some(match Value::of(&term) {
            Value::Number(number) if is_minus => number.negated().literal().into(),
            Value::Number(number) => number.literal().into(),
            other => time::signed(&other, is_minus)?.into(),
        })
    }

    fn arithmetic(&self, expression: &Expression) -> Option<Term> {
        use Expression as E;
        let (E::Add(left, right)
        | E::Subtract(left, right)
        | E::Multiply(left, right)
        | E::Divide(left, right)) = expression
        else {
            return None;
        };
        let (left, right) = (self.evaluate(left)?, self.evaluate(right)?);
        let (Value::Number(one), Value::Number(other)) = (Value::of(&left), Value::of(&right))
        else {
            let (left, right) = (Value::of(&left), Value::of(&right));
            let result = match expression {
                E::Add(..) => time::sum(&left, &right),
                E::Subtract(..) => time::difference(&left, &right),
                _ => None,
            };
            return Some(result?.into());
        };
        let result = match expression {
            E::Add(..) => one.plus(&other),
            E::Subtract(..) => one.minus(&other),
            E::Multiply(..) => one.times(&other),
            _ => one.by(&other),
        };
        let all = [Some(&one), Some(&other), result.as_ref()];
        let is_small = all
            .iter()
            .all(|number| number.is_some_and(Number::is_small));
        let is_quotient =
            matches!(expression, E::Divide(..)) && matches!(result, Some(Number::Decimal(_)));
        if !is_small || is_quotient {
            self.notes()
                .spareval_differs("its integers and decimals are bounded, its quotients cut");
        }
        Some(result?.literal().into())
    }
}
