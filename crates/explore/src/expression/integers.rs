//! Arithmetic on columns of inline integers, without a value per row.
//!
//! A tree of `+ - *`, negation and `ABS` over columns and integer constants is evaluated on plain
//! `i64` columns with checked operations: about a nanosecond for each operator and row. One mask for
//! the whole tree says for which rows that was not possible, because a cell holds something else than
//! an inline integer, or a result overflowed; only those rows go through the general form, which knows
//! all numbers and their promotion. So both forms agree by construction: what this one gives is the
//! exact integer, and everything else is left to the other.
//!
//! After vectorized execution (Boncz, Zukowski, Nes, "MonetDB/X100", CIDR 2005, section 4.1):
//! primitives over columns with the decision of types outside of the loop.

use super::batch::Batch;
use super::compile::Constants;
use super::computation::{Computation, Operand};
use super::condition::{Condition, Truth};
use super::scalar::Scalar;
use super::value::Value;
use crate::error::WalkError;
use query::expression::{Arithmetic, Comparison, Expression, Function};
use query::plan::Slot;
use rdf::{VertexId, inline};

/// A tree over inline integers.
#[derive(Clone, Debug)]
pub(crate) enum Integers {
    /// A column.
    Slot(Slot),
    /// A constant.
    Constant(i64),
    /// Addition, subtraction or multiplication.
    Binary(Arithmetic, Box<Integers>, Box<Integers>),
    /// `-a`
    Minus(Box<Integers>),
    /// `ABS`
    Absolute(Box<Integers>),
}

/// A column of integers.
#[derive(Default)]
struct Column {
    values: Vec<i64>,
    /// Rows whose value is not known; one mask for the whole tree.
    is_open: Vec<bool>,
}

impl Integers {
    /// The tree of an expression; `None` where it holds something else.
    pub(crate) fn compile(expression: &Expression, constants: Constants<'_>) -> Option<Integers> {
        let one = |operand: &Expression| Integers::compile(operand, constants).map(Box::new);
        Some(match expression {
            Expression::Slot(slot) => Integers::Slot(*slot),
            Expression::Constant(constant) => {
                Integers::Constant(inline::integer(constants.id(*constant))?)
            }
            Expression::Arithmetic(Arithmetic::Divide, ..) => return None,
            Expression::Arithmetic(operator, left, right) => {
                Integers::Binary(*operator, one(left)?, one(right)?)
            }
            Expression::Plus(operand) => *one(operand)?,
            Expression::Minus(operand) => Integers::Minus(one(operand)?),
            Expression::Call(Function::Abs, arguments) => Integers::Absolute(one(&arguments[0])?),
            _ => return None,
        })
    }

    /// Whether it computes something from a column.
    pub(crate) fn is_worthwhile(&self) -> bool {
        !matches!(self, Integers::Slot(_) | Integers::Constant(_)) && self.reads_column()
    }

    /// Whether it reads a column.
    pub(crate) fn reads_column(&self) -> bool {
        match self {
            Integers::Slot(_) => true,
            Integers::Constant(_) => false,
            Integers::Binary(_, left, right) => left.reads_column() || right.reads_column(),
            Integers::Minus(operand) | Integers::Absolute(operand) => operand.reads_column(),
        }
    }

    /// About how many nanoseconds a row takes.
    fn effort(&self) -> u64 {
        match self {
            Integers::Slot(_) | Integers::Constant(_) => 1,
            Integers::Binary(_, left, right) => 1 + left.effort() + right.effort(),
            Integers::Minus(operand) | Integers::Absolute(operand) => 1 + operand.effort(),
        }
    }

    fn column(&self, batch: &Batch<'_>, at: &[u32]) -> Result<Column, WalkError> {
        batch.spend(at.len() as u64 * self.effort())?;
        let mut column = Column {
            values: Vec::with_capacity(at.len()),
            is_open: vec![false; at.len()],
        };
        self.fill(batch, at, &mut column.values, &mut column.is_open);
        assert_eq!(column.values.len(), at.len(), "a row has its value");
        Ok(column)
    }

    fn fill(&self, batch: &Batch<'_>, at: &[u32], into: &mut Vec<i64>, is_open: &mut [bool]) {
        match self {
            Integers::Slot(slot) => match batch.column(*slot) {
                None => {
                    into.resize(at.len(), 0);
                    is_open.fill(true);
                }
                Some(ids) => {
                    let values = at.iter().zip(is_open).map(|(&row, is_open)| {
                        let value = inline::integer(ids[batch.position(row) as usize]);
                        *is_open |= value.is_none();
                        value.unwrap_or(0)
                    });
                    into.extend(values);
                }
            },
            Integers::Constant(value) => into.resize(at.len(), *value),
            Integers::Binary(operator, left, right) => {
                left.fill(batch, at, into, is_open);
                if let Integers::Constant(right) = **right {
                    combine(*operator, into, std::iter::repeat(right), is_open);
                } else {
                    let mut other = Vec::with_capacity(at.len());
                    right.fill(batch, at, &mut other, is_open);
                    combine(*operator, into, other.into_iter(), is_open);
                }
            }
            Integers::Minus(operand) => {
                operand.fill(batch, at, into, is_open);
                map(into, is_open, i64::overflowing_neg);
            }
            Integers::Absolute(operand) => {
                operand.fill(batch, at, into, is_open);
                map(into, is_open, i64::overflowing_abs);
            }
        }
    }

    /// The values, with those of `general` where this form has none.
    pub(crate) fn evaluate<'b>(
        &self,
        general: &Computation,
        batch: &Batch<'b>,
        at: &[u32],
    ) -> Result<Operand<'b>, WalkError> {
        let column = self.column(batch, at)?;
        let value = |value: i64| Some(Value::computed(Scalar::Integer(value)));
        let mut values: Vec<_> = column.values.into_iter().map(value).collect();
        if let Some((places, rows)) = open_rows(&column.is_open, at) {
            let others = general.evaluate(batch, &rows)?;
            for (index, place) in places.into_iter().enumerate() {
                values[place] = others.get(index).copied();
            }
        }
        Ok(Operand::Many(values))
    }

    /// Appends the ids of the values, with those of `general` where this form has none.
    pub(crate) fn ids(
        &self,
        general: &Computation,
        batch: &Batch<'_>,
        at: &[u32],
        ids: &mut Vec<VertexId>,
    ) -> Result<(), WalkError> {
        let mut column = self.column(batch, at)?;
        let start = ids.len();
        let rows = column.values.iter().zip(&mut column.is_open);
        ids.extend(rows.map(|(&value, is_open)| {
            inline::from_integer(value).unwrap_or_else(|| {
                *is_open = true;
                VertexId::UNBOUND
            })
        }));
        if let Some((places, rows)) = open_rows(&column.is_open, at) {
            let mut others = Vec::with_capacity(rows.len());
            general.ids(batch, &rows, &mut others)?;
            for (place, id) in places.into_iter().zip(others) {
                ids[start + place] = id;
            }
        }
        Ok(())
    }
}

/// The places of the rows that are open, and the rows; `None` where there is none.
fn open_rows(is_open: &[bool], at: &[u32]) -> Option<(Vec<usize>, Vec<u32>)> {
    if !is_open.contains(&true) {
        return None;
    }
    let places = (0..at.len()).filter(|&place| is_open[place]);
    Some(places.map(|place| (place, at[place])).unzip())
}

fn combine(
    operator: Arithmetic,
    into: &mut [i64],
    right: impl Iterator<Item = i64>,
    is_open: &mut [bool],
) {
    fn each(
        into: &mut [i64],
        right: impl Iterator<Item = i64>,
        is_open: &mut [bool],
        operate: impl Fn(i64, i64) -> (i64, bool),
    ) {
        for ((left, right), is_open) in into.iter_mut().zip(right).zip(is_open) {
            let (value, overflows) = operate(*left, right);
            *left = value;
            *is_open |= overflows;
        }
    }
    match operator {
        Arithmetic::Add => each(into, right, is_open, i64::overflowing_add),
        Arithmetic::Subtract => each(into, right, is_open, i64::overflowing_sub),
        Arithmetic::Multiply => each(into, right, is_open, i64::overflowing_mul),
        Arithmetic::Divide => unreachable!("a quotient of integers is a decimal"),
    }
}

fn map(into: &mut [i64], is_open: &mut [bool], operate: impl Fn(i64) -> (i64, bool)) {
    for (value, is_open) in into.iter_mut().zip(is_open) {
        let (result, overflows) = operate(*value);
        *value = result;
        *is_open |= overflows;
    }
}

/// A comparison of two such trees.
#[derive(Clone, Debug)]
pub(crate) struct IntegerComparison {
    /// The operator.
    pub(crate) comparison: Comparison,
    /// What stands on its left.
    pub(crate) left: Integers,
    /// What stands on its right.
    pub(crate) right: Integers,
    /// The same for all values.
    pub(crate) general: Condition,
}

impl IntegerComparison {
    /// Sets `truths` to what it says of each of these rows of the batch.
    pub(crate) fn evaluate(
        &self,
        batch: &Batch<'_>,
        at: &[u32],
        truths: &mut Vec<Truth>,
    ) -> Result<(), WalkError> {
        let mut column = self.left.column(batch, at)?;
        if let Integers::Constant(right) = self.right {
            self.compare(&column.values, std::iter::repeat(right), truths);
        } else {
            let mut right = Vec::with_capacity(at.len());
            self.right.fill(batch, at, &mut right, &mut column.is_open);
            self.compare(&column.values, right.into_iter(), truths);
        }
        if let Some((places, rows)) = open_rows(&column.is_open, at) {
            let mut others = Vec::with_capacity(rows.len());
            self.general.evaluate(batch, &rows, &mut others)?;
            for (place, truth) in places.into_iter().zip(others) {
                truths[place] = truth;
            }
        }
        Ok(())
    }

    fn compare(&self, left: &[i64], right: impl Iterator<Item = i64>, truths: &mut Vec<Truth>) {
        fn each(
            left: &[i64],
            right: impl Iterator<Item = i64>,
            truths: &mut Vec<Truth>,
            test: impl Fn(&i64, &i64) -> bool,
        ) {
            let rows = left.iter().zip(right);
            truths.extend(rows.map(|(left, right)| Truth::from(test(left, &right))));
        }
        match self.comparison {
            Comparison::Equal => each(left, right, truths, i64::eq),
            Comparison::NotEqual => each(left, right, truths, i64::ne),
            Comparison::Less => each(left, right, truths, i64::lt),
            Comparison::LessOrEqual => each(left, right, truths, i64::le),
            Comparison::Greater => each(left, right, truths, i64::gt),
            Comparison::GreaterOrEqual => each(left, right, truths, i64::ge),
        }
    }
}
