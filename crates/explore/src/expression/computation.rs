//! Values of rows: computations are evaluated to one value or error per row, column-wise.
//!
//! An [`Operand`] is a column, or one value that all rows share, so that a constant is looked at
//! once. `IF` and `COALESCE` evaluate an operand only over the rows that need it. Which function is
//! called is decided once per column.

use super::arithmetic;
use super::batch::{Batch, Column};
use super::condition::{Condition, Matcher};
use super::text;
use super::value::{Scalar, Value};
use crate::error::WalkError;
use crate::limits::STRING_BYTES_MAX;
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

    /// As a column of this many rows.
    pub(crate) fn into_column(self, rows: usize) -> Column<'b> {
        match self {
            Operand::One(value) => vec![value; rows],
            Operand::Many(values) => values,
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
        if matches!(operand, Operand::Many(_)) {
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
            Computation::Arithmetic(operator, left, right) => {
                binary(left, right, batch, at, |left, right| {
                    arithmetic::combine(*operator, left, right).map(Value::computed)
                })?
            }
            Computation::Plus(operand) => scalars(operand, batch, at, arithmetic::plus)?,
            Computation::Minus(operand) => scalars(operand, batch, at, arithmetic::minus)?,
            Computation::If(condition, yes, no) => choose(condition, yes, no, batch, at)?,
            Computation::Coalesce(operands) => coalesce(operands, batch, at)?,
            Computation::Replace(text, matcher, replacement) => {
                replace(text, matcher, replacement, batch, at)?
            }
            Computation::Call(function, arguments) => call(*function, arguments, batch, at)?,
        })
    }
}

fn call<'b>(
    function: Function,
    arguments: &[Computation],
    batch: &Batch<'b>,
    at: &[u32],
) -> Result<Operand<'b>, WalkError> {
    use Function as F;
    let first = arguments.first();
    let (first, rest) = match (first, function) {
        (_, F::Concat) => return concatenate(arguments, batch, at),
        (_, F::SubStr) => return substring(arguments, batch, at),
        (Some(first), _) => (first, &arguments[1..]),
        (None, _) => return Ok(Operand::One(None)),
    };
    match function {
        F::Str => unary(first, batch, at, text::text_of),
        F::Lang => unary(first, batch, at, text::language_of),
        F::Datatype => unary(first, batch, at, |value| value.datatype().map(Value::Iri)),
        F::StrLen => unary(first, batch, at, |value| {
            text::length(value).map(Value::computed)
        }),
        F::UCase | F::LCase => unary(first, batch, at, |value| text::case(function, value)),
        F::EncodeForUri => unary(first, batch, at, text::encode_for_uri),
        F::StrBefore => binary(first, &rest[0], batch, at, text::before),
        F::StrAfter => binary(first, &rest[0], batch, at, text::after),
        F::Abs | F::Round | F::Ceil | F::Floor => scalars(first, batch, at, |scalar| {
            arithmetic::round(function, scalar)
        }),
        F::Year | F::Month | F::Day | F::Hours | F::Minutes | F::Seconds => {
            scalars(first, batch, at, |scalar| {
                arithmetic::date_part(function, scalar)
            })
        }
        _ => unreachable!("functions that give a boolean are compiled to conditions"),
    }
}

/// Applies a function to each value; errors stay errors.
fn unary<'b>(
    operand: &Computation,
    batch: &Batch<'b>,
    at: &[u32],
    function: impl Fn(&Value<'b>) -> Option<Value<'b>>,
) -> Result<Operand<'b>, WalkError> {
    let apply = |value: Option<&Value<'b>>| -> Result<Option<Value<'b>>, WalkError> {
        let value = value.and_then(&function);
        account(value.as_ref(), batch)?;
        Ok(value)
    };
    Ok(match operand.evaluate(batch, at)? {
        Operand::One(value) => Operand::One(apply(value.as_ref())?),
        Operand::Many(values) => {
            let mut results = Vec::with_capacity(values.len());
            for value in &values {
                results.push(apply(value.as_ref())?);
            }
            Operand::Many(results)
        }
    })
}

fn scalars<'b>(
    operand: &Computation,
    batch: &Batch<'b>,
    at: &[u32],
    function: impl Fn(Scalar) -> Option<Scalar>,
) -> Result<Operand<'b>, WalkError> {
    unary(operand, batch, at, |value| match value {
        Value::Scalar(scalar, _) => function(*scalar).map(Value::computed),
        _ => None,
    })
}

fn binary<'b>(
    left: &Computation,
    right: &Computation,
    batch: &Batch<'b>,
    at: &[u32],
    function: impl Fn(&Value<'b>, &Value<'b>) -> Option<Value<'b>>,
) -> Result<Operand<'b>, WalkError> {
    let (left, right) = (left.evaluate(batch, at)?, right.evaluate(batch, at)?);
    let mut results = Vec::with_capacity(at.len());
    for row in 0..at.len() {
        let both = left.get(row).zip(right.get(row));
        let value = both.and_then(|(left, right)| function(left, right));
        account(value.as_ref(), batch)?;
        results.push(value);
    }
    Ok(Operand::Many(results))
}

/// Draws the text that a value owns on the memory budget.
fn account(value: Option<&Value<'_>>, batch: &Batch<'_>) -> Result<(), WalkError> {
    match value.map_or(0, Value::owned_bytes) {
        0 => Ok(()),
        bytes => batch.computed(bytes),
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
    if let Operand::One(Some(value)) = &values
        && value.owned_bytes() > 0
    {
        for &place in places {
            batch.computed(value.owned_bytes())?;
            results[place] = Some(value.clone());
        }
    } else {
        for (&place, value) in places.iter().zip(values.into_column(rows.len())) {
            results[place] = value;
        }
    }
    batch.drop_columns(held);
    Ok(())
}

fn concatenate<'b>(
    arguments: &[Computation],
    batch: &Batch<'b>,
    at: &[u32],
) -> Result<Operand<'b>, WalkError> {
    let mut joined = Vec::with_capacity(at.len());
    joined.resize_with(at.len(), || Some(text::Concatenation::default()));
    for argument in arguments {
        let held = batch.columns();
        let operand = argument.evaluate(batch, at)?;
        for (row, all) in joined.iter_mut().enumerate() {
            let (Some(so_far), value) = (all.as_mut(), operand.get(row)) else {
                continue;
            };
            let before = so_far.capacity();
            if value.and_then(|value| so_far.push(value)).is_none() {
                *all = None;
                continue;
            }
            if so_far.len() > STRING_BYTES_MAX {
                return Err(too_long());
            }
            match so_far.capacity() - before {
                0 => {}
                more => batch.computed(more.min(STRING_BYTES_MAX))?,
            }
        }
        batch.drop_columns(held);
    }
    let values = joined
        .into_iter()
        .map(|all| all.map(text::Concatenation::finish));
    Ok(Operand::Many(values.collect()))
}

fn substring<'b>(
    arguments: &[Computation],
    batch: &Batch<'b>,
    at: &[u32],
) -> Result<Operand<'b>, WalkError> {
    let operands = evaluate_all(arguments, batch, at)?;
    let mut results = Vec::with_capacity(at.len());
    for row in 0..at.len() {
        let value = match operands.as_slice() {
            [source, start] => source
                .get(row)
                .zip(start.get(row))
                .and_then(|(source, start)| text::substring(source, start, None)),
            [source, start, length] => source
                .get(row)
                .zip(start.get(row))
                .zip(length.get(row))
                .and_then(|((source, start), length)| text::substring(source, start, Some(length))),
            _ => None,
        };
        account(value.as_ref(), batch)?;
        results.push(value);
    }
    Ok(Operand::Many(results))
}

fn evaluate_all<'b>(
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
    let mut results = Vec::with_capacity(at.len());
    for row in 0..at.len() {
        let text = texts.get(row).and_then(text::string);
        let replacement = replacements.get(row).and_then(text::plain);
        let (Some((text, language)), Some(replacement)) = (text, replacement) else {
            results.push(None);
            continue;
        };
        let Some(pattern) = patterns.get(row, batch)? else {
            results.push(None);
            continue;
        };
        batch.spend(text.len() as u64 + 64)?;
        let value = match pattern.template(replacement) {
            None => None,
            Some(template) => match pattern.replace(text, &template, STRING_BYTES_MAX) {
                Some(replaced) => Some(text::with_language(replaced, language)),
                None => return Err(too_long()),
            },
        };
        account(value.as_ref(), batch)?;
        results.push(value);
    }
    Ok(Operand::Many(results))
}

fn too_long() -> WalkError {
    WalkError::StringTooLong {
        limit_bytes: STRING_BYTES_MAX as u64,
    }
}
