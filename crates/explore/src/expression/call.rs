//! Builtin functions over columns: which function, once per column; then a loop over its rows.
//!
//! Three shapes: functions of values to values ([`unary`], [`binary`]), functions that write text into
//! a buffer that the column shares ([`write_unary`]), and those that make terms ([`super::make`], [`made`]). A
//! function of one text is not evaluated again for a row whose argument is the row before's: joins
//! repeat a vertex many times in a row.

use super::batch::Batch;
use super::column::{Ink, Made, too_long, write_column, write_column_and};
use super::computation::{Computation, Operand, evaluate_all};
use super::large::Computed;
use super::scalar::Scalar;
use super::value::{Language, Value};
use super::{arithmetic, cast, dates, hash, make, text};
use crate::error::WalkError;
use crate::limits::STRING_BYTES_MAX;
use query::expression::{Arithmetic, Cast, Function};

/// The values of a function that gives something else than a boolean.
pub(crate) fn call<'b>(
    function: Function,
    arguments: &[Computation],
    batch: &Batch<'b>,
    at: &[u32],
) -> Result<Operand<'b>, WalkError> {
    use Function as F;
    let argument = |place: usize| &arguments[place];
    match function {
        F::Now => Ok(now(batch)),
        F::Rand => made(arguments, batch, at, make::chances),
        F::Uuid => made(arguments, batch, at, make::uuids),
        F::StrUuid => made(arguments, batch, at, make::uuid_texts),
        F::BNode => made(arguments, batch, at, make::blank_nodes),
        F::Iri => made(arguments, batch, at, make::iris),
        F::StrDt => made(arguments, batch, at, make::typed),
        F::StrLang | F::StrLangDir => made(arguments, batch, at, make::tagged),
        F::Triple => made(arguments, batch, at, make::triples),
        F::Concat => concatenate(arguments, batch, at),
        F::SubStr => substring(arguments, batch, at),
        F::Adjust => adjust(arguments, batch, at),
        F::Str => write_unary(argument(0), batch, at, form_bytes, text::text_of),
        F::Lang => languages(argument(0), batch, at),
        F::LangDir => unary(argument(0), batch, at, text::direction_of),
        F::Datatype => unary(argument(0), batch, at, datatype),
        F::StrLen => unary(argument(0), batch, at, length),
        F::UCase | F::LCase => case(function, argument(0), batch, at),
        F::EncodeForUri => encoded(argument(0), batch, at),
        F::StrBefore => binary(argument(0), argument(1), batch, at, text::before),
        F::StrAfter => binary(argument(0), argument(1), batch, at, text::after),
        F::Abs | F::Round | F::Ceil | F::Floor => {
            numbers(argument(0), batch, at, |it| arithmetic::round(function, it))
        }
        F::Year | F::Month | F::Day | F::Hours | F::Minutes | F::Seconds => {
            scalars(argument(0), batch, at, |it| dates::date_part(function, it))
        }
        F::Timezone => scalars(argument(0), batch, at, dates::timezone),
        F::Tz => write_unary(argument(0), batch, at, form_bytes, dates::tz),
        F::Md5 | F::Sha1 | F::Sha256 | F::Sha384 | F::Sha512 => {
            digests(function, argument(0), batch, at)
        }
        F::Subject | F::Predicate | F::Object => {
            unary(argument(0), batch, at, |it| make::part(function, it))
        }
        F::Cast(to) => casts(to, argument(0), batch, at),
        F::Timestamp => make::times(arguments, batch, at),
        F::Replace => unreachable!("it is compiled to a computation with a matcher"),
        F::IsIri
        | F::IsBlank
        | F::IsLiteral
        | F::IsNumeric
        | F::IsTriple
        | F::HasLang
        | F::HasLangDir
        | F::LangMatches
        | F::Contains
        | F::StrStarts
        | F::StrEnds
        | F::Regex => unreachable!("functions that give a boolean are compiled to conditions"),
    }
}

fn now<'b>(batch: &Batch<'b>) -> Operand<'b> {
    let now = Scalar::DateTime(batch.terms().environment.now());
    Operand::One(Some(Value::computed(now)))
}

fn length<'b>(value: &Value<'b>) -> Option<Value<'b>> {
    text::length(value).map(Value::computed)
}

fn datatype<'b>(value: &Value<'b>) -> Option<Value<'b>> {
    value.datatype().map(Value::Iri)
}

/// The column that a function of [`super::make`] makes of all arguments.
fn made<'b>(
    arguments: &[Computation],
    batch: &Batch<'b>,
    at: &[u32],
    column: impl FnOnce(&[Operand<'b>], &Batch<'b>, &[u32]) -> Result<Vec<Option<Value<'b>>>, WalkError>,
) -> Result<Operand<'b>, WalkError> {
    let operands = evaluate_all(arguments, batch, at)?;
    Ok(Operand::Many(column(&operands, batch, at)?))
}

fn languages<'b>(
    operand: &Computation,
    batch: &Batch<'b>,
    at: &[u32],
) -> Result<Operand<'b>, WalkError> {
    write_unary(operand, batch, at, text::language_bytes, text::language_of)
}

fn encoded<'b>(
    operand: &Computation,
    batch: &Batch<'b>,
    at: &[u32],
) -> Result<Operand<'b>, WalkError> {
    write_unary(
        operand,
        batch,
        at,
        text::encoded_bytes,
        text::encode_for_uri,
    )
}

fn digests<'b>(
    function: Function,
    operand: &Computation,
    batch: &Batch<'b>,
    at: &[u32],
) -> Result<Operand<'b>, WalkError> {
    write_unary(operand, batch, at, form_bytes, |value, into| {
        hash::write_digest(function, text::plain(value)?, into);
        Some(Made::Text)
    })
}

fn casts<'b>(
    to: Cast,
    operand: &Computation,
    batch: &Batch<'b>,
    at: &[u32],
) -> Result<Operand<'b>, WalkError> {
    let bytes = |value: &Value<'_>| cast::bytes(to, value);
    write_unary(operand, batch, at, bytes, |value, into| {
        cast::cast(to, value, into)
    })
}

/// Applies a function to each value; errors stay errors.
fn unary<'b>(
    operand: &Computation,
    batch: &Batch<'b>,
    at: &[u32],
    function: impl Fn(&Value<'b>) -> Option<Value<'b>>,
) -> Result<Operand<'b>, WalkError> {
    Ok(match operand.evaluate(batch, at)? {
        Operand::One(value) => Operand::One(value.as_ref().and_then(function)),
        Operand::Many(mut values) => {
            for value in &mut values {
                *value = value.as_ref().and_then(&function);
            }
            Operand::Many(values)
        }
    })
}

/// Nanoseconds that a byte of a large number costs, about.
const LARGE_NS: u64 = 16;

/// A computed number as a value of the batch: one without bound draws its text on the budget.
pub(super) fn keep<'b>(computed: Computed, batch: &Batch<'b>) -> Result<Value<'b>, WalkError> {
    Ok(match computed {
        Computed::Scalar(scalar) => Value::computed(scalar),
        Computed::Large(form, datatype) => {
            batch.spend(LARGE_NS * form.len() as u64)?;
            Value::Large(batch.keep_text(form)?, datatype)
        }
    })
}

/// What it costs to read a large number (nanoseconds, about); nothing for any other value.
pub(crate) fn effort_of(value: &Value<'_>) -> u64 {
    match value {
        Value::Large(form, _) => LARGE_NS * form.len() as u64,
        _ => 0,
    }
}

/// Says what it will cost to read a large number, before it is read: the result may be an error.
#[inline]
pub(crate) fn spend_on(value: &Value<'_>, batch: &Batch<'_>) -> Result<(), WalkError> {
    match effort_of(value) {
        0 => Ok(()),
        effort => batch.spend(effort),
    }
}

/// Applies a function that computes a number from each value.
pub(super) fn numbers<'b>(
    operand: &Computation,
    batch: &Batch<'b>,
    at: &[u32],
    function: impl Fn(&Value<'b>) -> Option<Computed>,
) -> Result<Operand<'b>, WalkError> {
    let apply = |value: Option<&Value<'b>>| {
        let Some(value) = value else {
            return Ok(None);
        };
        spend_on(value, batch)?;
        let computed = function(value);
        computed.map(|computed| keep(computed, batch)).transpose()
    };
    Ok(match operand.evaluate(batch, at)? {
        Operand::One(value) => Operand::One(apply(value.as_ref())?),
        Operand::Many(mut values) => {
            for value in &mut values {
                *value = apply(value.as_ref())?;
            }
            Operand::Many(values)
        }
    })
}

/// Applies a binary operator to each pair of values; an error in one is an error.
pub(super) fn combine<'b>(
    operator: Arithmetic,
    left: &Computation,
    right: &Computation,
    batch: &Batch<'b>,
    at: &[u32],
) -> Result<Operand<'b>, WalkError> {
    let (left, right) = (left.evaluate(batch, at)?, right.evaluate(batch, at)?);
    let apply = |left: Option<&Value<'b>>, right: Option<&Value<'b>>| {
        let (Some(left), Some(right)) = (left, right) else {
            return Ok(None);
        };
        spend_on(left, batch)?;
        spend_on(right, batch)?;
        let computed = arithmetic::combine(operator, left, right);
        computed.map(|computed| keep(computed, batch)).transpose()
    };
    if let (Operand::One(left), Operand::One(right)) = (&left, &right) {
        return Ok(Operand::One(apply(left.as_ref(), right.as_ref())?));
    }
    let column = (0..at.len()).map(|row| apply(left.get(row), right.get(row)));
    Ok(Operand::Many(column.collect::<Result<_, WalkError>>()?))
}

/// Applies a function of scalars.
pub(super) fn scalars<'b>(
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

/// Applies a function to each pair of values; an error in one is an error.
pub(super) fn binary<'b>(
    left: &Computation,
    right: &Computation,
    batch: &Batch<'b>,
    at: &[u32],
    function: impl Fn(&Value<'b>, &Value<'b>) -> Option<Value<'b>>,
) -> Result<Operand<'b>, WalkError> {
    let (left, right) = (left.evaluate(batch, at)?, right.evaluate(batch, at)?);
    if let (Operand::One(left), Operand::One(right)) = (&left, &right) {
        let both = left.as_ref().zip(right.as_ref());
        return Ok(Operand::One(
            both.and_then(|(left, right)| function(left, right)),
        ));
    }
    let column = (0..at.len()).map(|row| function(left.get(row)?, right.get(row)?));
    Ok(Operand::Many(column.collect()))
}

/// The most bytes that a function writes that gives a digest, or the form of a number or a date.
const FORM_BYTES_MAX: usize = 512;

/// What such a function writes: nothing that is text already.
fn form_bytes(_: &Value<'_>) -> usize {
    FORM_BYTES_MAX
}

/// Applies a function that appends its text to a buffer: at most `bytes` of the value.
fn write_unary<'b>(
    operand: &Computation,
    batch: &Batch<'b>,
    at: &[u32],
    bytes: impl Fn(&Value<'b>) -> usize,
    function: impl Fn(&Value<'b>, &mut String) -> Option<Made<'b>>,
) -> Result<Operand<'b>, WalkError> {
    write_unary_and(operand, batch, at, bytes, function, |_| {})
}

fn write_unary_and<'b>(
    operand: &Computation,
    batch: &Batch<'b>,
    at: &[u32],
    bytes: impl Fn(&Value<'b>) -> usize,
    function: impl Fn(&Value<'b>, &mut String) -> Option<Made<'b>>,
    finish: impl FnMut(&mut String),
) -> Result<Operand<'b>, WalkError> {
    let operand = operand.evaluate(batch, at)?;
    let rows = match &operand {
        Operand::One(_) => 1,
        Operand::Many(values) => values.len(),
    };
    let apply = |row: usize, into: &mut Ink<'_, 'b>| {
        let Some(value) = operand.get(row) else {
            return Ok(None);
        };
        let before = row.checked_sub(1).and_then(|before| operand.get(before));
        if before.is_some_and(|before| value.is_identical(before)) {
            return Ok(Some(Made::Same));
        }
        Ok(function(value, into.room(bytes(value))?))
    };
    let column = write_column_and(batch, rows, apply, finish)?;
    Ok(match operand {
        Operand::One(_) => Operand::One(column.into_iter().next().flatten()),
        Operand::Many(_) => Operand::Many(column),
    })
}

fn case<'b>(
    function: Function,
    operand: &Computation,
    batch: &Batch<'b>,
    at: &[u32],
) -> Result<Operand<'b>, WalkError> {
    write_unary_and(
        operand,
        batch,
        at,
        text::case_bytes,
        |value, into| text::case(function, value, into),
        |buffer| text::ascii_case(function, buffer),
    )
}

/// Arguments of `CONCAT` whose columns are held at once.
const COLUMNS_AT_ONCE: usize = 4;

/// What `CONCAT` knows of a row's language: none yet, else the one that all parts share.
type Shared<'b> = Option<Option<Language<'b>>>;

#[allow(
    clippy::unnecessary_wraps,
    reason = "the first string has nothing before it"
)]
fn share<'b>(before: Shared<'b>, language: Option<Language<'b>>) -> Shared<'b> {
    match before {
        None => Some(language),
        Some(before) if before == language => Some(before),
        Some(_) => Some(None),
    }
}

/// `CONCAT`: the result has the language that all parts share.
fn concatenate<'b>(
    arguments: &[Computation],
    batch: &Batch<'b>,
    at: &[u32],
) -> Result<Operand<'b>, WalkError> {
    if arguments.len() > COLUMNS_AT_ONCE {
        return concatenate_many(arguments, batch, at);
    }
    let parts = evaluate_all(arguments, batch, at)?;
    batch.spend((at.len() * parts.len()) as u64 * 8)?;
    let column = write_column(batch, at.len(), |row, into| {
        let mut shared = None;
        for part in &parts {
            let Some((text, language)) = part.get(row).and_then(text::string) else {
                return Ok(None);
            };
            into.push_str(text)?;
            shared = share(shared, language);
        }
        Ok(Some(Made::string(shared.flatten())))
    })?;
    Ok(Operand::Many(column))
}

/// The same for many arguments: gathered row by row, so that one column is held at a time.
fn concatenate_many<'b>(
    arguments: &[Computation],
    batch: &Batch<'b>,
    at: &[u32],
) -> Result<Operand<'b>, WalkError> {
    batch.charge((at.len() * size_of::<Option<(String, Shared<'b>)>>()) as u64)?;
    let mut rows: Vec<Option<(String, Shared<'b>)>> = vec![Some((String::new(), None)); at.len()];
    for argument in arguments {
        let held = batch.columns();
        let operand = argument.evaluate(batch, at)?;
        batch.spend(at.len() as u64 * 8)?;
        for (row, gathered) in rows.iter_mut().enumerate() {
            let part = operand.get(row).and_then(text::string);
            let (Some((text, shared)), Some((part, language))) = (gathered.as_mut(), part) else {
                *gathered = None;
                continue;
            };
            gather(text, part, batch)?;
            *shared = share(*shared, language);
        }
        batch.drop_columns(held);
    }
    let column = write_column(batch, at.len(), |row, into| {
        let Some((text, shared)) = rows[row].take() else {
            return Ok(None);
        };
        into.push_str(&text)?;
        batch.discharge(text.capacity() as u64);
        Ok(Some(Made::string(shared.flatten())))
    })?;
    Ok(Operand::Many(column))
}

/// Appends to a text of a row that draws on the budget before it grows.
fn gather(text: &mut String, part: &str, batch: &Batch<'_>) -> Result<(), WalkError> {
    let length = text.len() + part.len();
    if length > STRING_BYTES_MAX {
        return Err(too_long());
    }
    batch.spend(part.len() as u64)?;
    let held = text.capacity();
    if length > held {
        let wanted = length.max((2 * held).min(STRING_BYTES_MAX));
        batch.charge(wanted as u64)?;
        text.reserve_exact(wanted - text.len());
        batch.discharge(held as u64);
    }
    text.push_str(part);
    Ok(())
}

fn substring<'b>(
    arguments: &[Computation],
    batch: &Batch<'b>,
    at: &[u32],
) -> Result<Operand<'b>, WalkError> {
    let operands = evaluate_all(arguments, batch, at)?;
    let cut = |row: usize| {
        let [source, start] = [0, 1].map(|place| operands[place].get(row));
        let length = match operands.get(2) {
            Some(length) => Some(length.get(row)?),
            None => None,
        };
        text::substring(source?, start?, length)
    };
    let mut column = Vec::with_capacity(at.len());
    for row in 0..at.len() {
        let value = cut(row);
        let length = value.as_ref().and_then(Value::borrowed_form);
        batch.spend(length.map_or(0, str::len) as u64)?;
        column.push(value);
    }
    Ok(Operand::Many(column))
}

/// `ADJUST`; without a timezone, to the implicit one.
fn adjust<'b>(
    arguments: &[Computation],
    batch: &Batch<'b>,
    at: &[u32],
) -> Result<Operand<'b>, WalkError> {
    match arguments {
        [moment] => {
            let offset = dates::implicit_offset(batch.terms().environment.now());
            scalars(moment, batch, at, |moment| dates::adjust(moment, offset))
        }
        [moment, timezone, ..] => binary(moment, timezone, batch, at, |moment, timezone| {
            let (Value::Scalar(moment, _), Value::Scalar(timezone, _)) = (moment, timezone) else {
                return None;
            };
            let offset = dates::offset(*timezone)?;
            dates::adjust(*moment, offset).map(Value::computed)
        }),
        [] => Ok(Operand::One(None)),
    }
}
