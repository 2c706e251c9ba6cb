//! Values of rows: computations are evaluated to one value or error per row, column-wise.
//!
//! An [`Operand`] is a column, or one value that all rows share, so that a constant is looked at
//! once. `IF` and `COALESCE` evaluate an operand only over the rows that need it. Functions are
//! dispatched in [`super::call`], once per column.

use super::arithmetic;
use super::batch::{Batch, Column};
use super::call;
use super::column::{Made, write_column};
use super::condition::{Condition, Matcher};
use super::integers::Integers;
use super::text;
use super::value::Value;
use crate::error::WalkError;
use query::expression::{Arithmetic, Function};
use query::plan::{ConstantId, Slot};

/// A compiled expression that is asked for its value.
#[derive(Clone, Debug)]
pub(crate) enum Computation {
    /// A column.
    Slot(Slot),
    /// A constant.
    Constant(ConstantId),
    /// A condition as a boolean.
    Condition(Box<Condition>),
    /// Arithmetic on integers, and the same for all values.
    Integers(Box<(Integers, Computation)>),
    /// `+ - * /`
    Arithmetic(Arithmetic, Box<Computation>, Box<Computation>),
    /// `+a`
    Plus(Box<Computation>),
    /// `-a`
    Minus(Box<Computation>),
    /// `IF(condition, then, else)`
    If(Box<Condition>, Box<Computation>, Box<Computation>),
    /// `COALESCE(a, ...)`
    Coalesce(Vec<Computation>),
    /// `REPLACE(text, pattern, replacement, flags)`
    Replace(Box<Computation>, Box<Matcher>, Box<Computation>),
    /// Any other function.
    Call(Function, Vec<Computation>),
}

/// The values of some rows; `None` is an error.
pub(crate) enum Operand<'b> {
    /// The same for all.
    One(Option<Value<'b>>),
    /// One for each.
    Many(Column<'b>),
}

impl<'b> Operand<'b> {
    /// The value of a row.
    pub(crate) fn get(&self, row: usize) -> Option<&Value<'b>> {
        match self {
            Operand::One(value) => value.as_ref(),
            Operand::Many(values) => values[row].as_ref(),
        }
    }
}

impl Computation {
    /// The values of these rows of the batch.
    pub(crate) fn evaluate<'b>(
        &self,
        batch: &Batch<'b>,
        at: &[u32],
    ) -> Result<Operand<'b>, WalkError> {
        let held = batch.columns();
        batch.add_column(at.len())?;
        let operand = self.evaluate_column(batch, at)?;
        batch.drop_columns(held);
        if let Operand::Many(values) = &operand {
            assert_eq!(values.len(), at.len(), "a row has its value");
            batch.add_column(at.len())?;
        }
        Ok(operand)
    }

    fn evaluate_column<'b>(&self, batch: &Batch<'b>, at: &[u32]) -> Result<Operand<'b>, WalkError> {
        Ok(match self {
            Computation::Slot(slot) => Operand::Many(batch.values(*slot, at)?),
            Computation::Constant(constant) => Operand::One(Some(batch.constant(*constant))),
            Computation::Condition(condition) => {
                let mut truths = Vec::with_capacity(at.len());
                condition.evaluate(batch, at, &mut truths)?;
                let values = truths.iter().map(|truth| truth.value().map(Value::from));
                Operand::Many(values.collect())
            }
            Computation::Integers(forms) => forms.0.evaluate(&forms.1, batch, at)?,
            Computation::Arithmetic(operator, left, right) => {
                call::combine(*operator, left, right, batch, at)?
            }
            Computation::Plus(operand) => call::numbers(operand, batch, at, arithmetic::plus)?,
            Computation::Minus(operand) => call::numbers(operand, batch, at, arithmetic::minus)?,
            Computation::If(condition, yes, no) => choose(condition, yes, no, batch, at)?,
            Computation::Coalesce(operands) => coalesce(operands, batch, at)?,
            Computation::Replace(text, matcher, replacement) => {
                replace(text, matcher, replacement, batch, at)?
            }
            Computation::Call(function, arguments) => call::call(*function, arguments, batch, at)?,
        })
    }
}

fn choose<'b>(
    condition: &Condition,
    yes: &Computation,
    no: &Computation,
    batch: &Batch<'b>,
    at: &[u32],
) -> Result<Operand<'b>, WalkError> {
    let mut truths = Vec::with_capacity(at.len());
    condition.evaluate(batch, at, &mut truths)?;
    let mut results: Column<'b> = vec![None; at.len()];
    for (wanted, branch) in [(true, yes), (false, no)] {
        let chosen = |place: &usize| truths[*place].value() == Some(wanted);
        let places: Vec<usize> = (0..at.len()).filter(chosen).collect();
        scatter(branch, batch, at, &places, &mut results)?;
    }
    Ok(Operand::Many(results))
}

fn coalesce<'b>(
    operands: &[Computation],
    batch: &Batch<'b>,
    at: &[u32],
) -> Result<Operand<'b>, WalkError> {
    let mut results: Column<'b> = vec![None; at.len()];
    let mut open: Vec<usize> = (0..at.len()).collect();
    for operand in operands {
        scatter(operand, batch, at, &open, &mut results)?;
        open.retain(|&place| results[place].is_none());
    }
    Ok(Operand::Many(results))
}

/// Evaluates over the rows at some places and puts the values there.
fn scatter<'b>(
    operand: &Computation,
    batch: &Batch<'b>,
    at: &[u32],
    places: &[usize],
    results: &mut Column<'b>,
) -> Result<(), WalkError> {
    if places.is_empty() {
        return Ok(());
    }
    let rows: Vec<u32> = places.iter().map(|&place| at[place]).collect();
    let held = batch.columns();
    let values = operand.evaluate(batch, &rows)?;
    for (index, &place) in places.iter().enumerate() {
        results[place] = values.get(index).copied();
    }
    batch.drop_columns(held);
    Ok(())
}

/// The values of each operand.
pub(crate) fn evaluate_all<'b>(
    operands: &[Computation],
    batch: &Batch<'b>,
    at: &[u32],
) -> Result<Vec<Operand<'b>>, WalkError> {
    operands
        .iter()
        .map(|operand| operand.evaluate(batch, at))
        .collect()
}

fn replace<'b>(
    text: &Computation,
    matcher: &Matcher,
    replacement: &Computation,
    batch: &Batch<'b>,
    at: &[u32],
) -> Result<Operand<'b>, WalkError> {
    let texts = text.evaluate(batch, at)?;
    let patterns = matcher.evaluate(batch, at)?;
    let replacements = replacement.evaluate(batch, at)?;
    let column = write_column(batch, at.len(), |row, into| {
        let text = texts.get(row).and_then(text::string);
        let replacement = replacements.get(row).and_then(text::plain);
        let (Some((text, language)), Some(replacement)) = (text, replacement) else {
            return Ok(None);
        };
        let Some(pattern) = patterns.get(row, batch)? else {
            return Ok(None);
        };
        batch.spend(text.len() as u64 + 64)?;
        let Some(template) = pattern.template(replacement) else {
            return Ok(None);
        };
        let append = |piece: &str| {
            batch.spend(piece.len() as u64 + 64)?;
            into.push_str(piece)
        };
        let is_replaced = pattern.replace(text, &template, append)?;
        Ok(Some(if is_replaced {
            Made::string(language)
        } else {
            Made::Value(text::with_language(text, language))
        }))
    })?;
    Ok(Operand::Many(column))
}
