//! `+ - * /` and the numeric functions (SPARQL 1.1 Query sections 17.3 and 17.4.4).
//!
//! Numbers are promoted as for comparisons; integers divide to a decimal; division by zero of exact
//! numbers is an error, floating numbers follow IEEE 754. Dates and durations combine as XPath says
//! (`op:add-dayTimeDuration-to-dateTime` and its kin). Everything is a few nanoseconds, on copies, but
//! for numbers that 64 bits of an integer or 128 of a decimal do not hold ([`super::large`]).

use super::compare::{Numbers, floating};
use super::fixed::Fixed;
use super::large::{Computed, Large};
use super::scalar::Scalar;
use super::value::Value;
use query::expression::{Arithmetic, Function};

/// A binary operator; `None` is an error.
pub(crate) fn combine(
    operator: Arithmetic,
    left: &Value<'_>,
    right: &Value<'_>,
) -> Option<Computed> {
    let (&Value::Scalar(one, _), &Value::Scalar(other, _)) = (left, right) else {
        return combine_large(operator, left, right);
    };
    let scalar = match Numbers::promote(one, other) {
        Some(numbers) => match combine_numbers(operator, &numbers) {
            Some(scalar) => scalar,
            None => return combine_large(operator, left, right),
        },
        None => match operator {
            Arithmetic::Add => add_durations(one, other)?,
            Arithmetic::Subtract => subtract_times(one, other)?,
            Arithmetic::Multiply | Arithmetic::Divide => return None,
        },
    };
    Some(Computed::Scalar(scalar))
}

/// The same where an operand or the result is no scalar.
#[cold]
fn combine_large(operator: Arithmetic, left: &Value<'_>, right: &Value<'_>) -> Option<Computed> {
    if let (Some(left), Some(right)) = (Large::of(left), Large::of(right)) {
        return left.combine(operator, &right);
    }
    let [left, right] = [floating(left, right)?, floating(right, left)?];
    let numbers = Numbers::promote(left, right)?;
    combine_numbers(operator, &numbers).map(Computed::Scalar)
}

/// `None`: the result is no scalar, or an error.
fn combine_numbers(operator: Arithmetic, numbers: &Numbers) -> Option<Scalar> {
    Some(match *numbers {
        Numbers::Integer(left, right) => match operator {
            Arithmetic::Add => Scalar::Integer(left.checked_add(right)?),
            Arithmetic::Subtract => Scalar::Integer(left.checked_sub(right)?),
            Arithmetic::Multiply => Scalar::Integer(left.checked_mul(right)?),
            Arithmetic::Divide if right == 0 => return None,
            Arithmetic::Divide => Scalar::Decimal(Fixed::ratio(left.into(), right.into())?),
        },
        Numbers::Decimal(left, right) => Scalar::Decimal(match operator {
            Arithmetic::Add => left.plus(right)?,
            Arithmetic::Subtract => left.minus(right)?,
            Arithmetic::Multiply => left.times(right)?,
            Arithmetic::Divide if right.is_zero() => return None,
            Arithmetic::Divide => left.by(right)?,
        }),
        Numbers::Float(left, right) => Scalar::Float(match operator {
            Arithmetic::Add => left + right,
            Arithmetic::Subtract => left - right,
            Arithmetic::Multiply => left * right,
            Arithmetic::Divide => left / right,
        }),
        Numbers::Double(left, right) => Scalar::Double(match operator {
            Arithmetic::Add => left + right,
            Arithmetic::Subtract => left - right,
            Arithmetic::Multiply => left * right,
            Arithmetic::Divide => left / right,
        }),
    })
}

fn add_durations(left: Scalar, right: Scalar) -> Option<Scalar> {
    use Scalar as S;
    Some(match (left, right) {
        (S::Duration(left), S::Duration(right)) => S::Duration(left.checked_add(right)?),
        (S::Duration(left), S::YearMonth(right)) => S::Duration(left.checked_add(right)?),
        (S::Duration(left), S::DayTime(right)) => S::Duration(left.checked_add(right)?),
        (S::YearMonth(left), S::YearMonth(right)) => S::YearMonth(left.checked_add(right)?),
        (S::DayTime(left), S::DayTime(right)) => S::DayTime(left.checked_add(right)?),
        (S::YearMonth(_) | S::DayTime(_), S::Duration(_) | S::YearMonth(_) | S::DayTime(_)) => {
            let left = super::compare::duration(left)?;
            S::Duration(left.checked_add(super::compare::duration(right)?)?)
        }
        (S::DateTime(left), S::Duration(right)) => S::DateTime(left.checked_add_duration(right)?),
        (S::DateTime(left), S::YearMonth(right)) => {
            S::DateTime(left.checked_add_year_month_duration(right)?)
        }
        (S::DateTime(left), S::DayTime(right)) => {
            S::DateTime(left.checked_add_day_time_duration(right)?)
        }
        (S::Date(left), S::Duration(right)) => S::Date(left.checked_add_duration(right)?),
        (S::Date(left), S::YearMonth(right)) => {
            S::Date(left.checked_add_year_month_duration(right)?)
        }
        (S::Date(left), S::DayTime(right)) => S::Date(left.checked_add_day_time_duration(right)?),
        (S::Time(left), S::Duration(right)) => S::Time(left.checked_add_duration(right)?),
        (S::Time(left), S::DayTime(right)) => S::Time(left.checked_add_day_time_duration(right)?),
        _ => return None,
    })
}

fn subtract_times(left: Scalar, right: Scalar) -> Option<Scalar> {
    use Scalar as S;
    Some(match (left, right) {
        (S::DateTime(left), S::DateTime(right)) => S::DayTime(left.checked_sub(right)?),
        (S::Date(left), S::Date(right)) => S::DayTime(left.checked_sub(right)?),
        (S::Time(left), S::Time(right)) => S::DayTime(left.checked_sub(right)?),
        (S::YearMonth(left), S::YearMonth(right)) => S::YearMonth(left.checked_sub(right)?),
        (S::DayTime(left), S::DayTime(right)) => S::DayTime(left.checked_sub(right)?),
        (
            S::Duration(_) | S::YearMonth(_) | S::DayTime(_),
            S::Duration(_) | S::YearMonth(_) | S::DayTime(_),
        ) => {
            let left = super::compare::duration(left)?;
            S::Duration(left.checked_sub(super::compare::duration(right)?)?)
        }
        (S::DateTime(left), S::Duration(right)) => S::DateTime(left.checked_sub_duration(right)?),
        (S::DateTime(left), S::YearMonth(right)) => {
            S::DateTime(left.checked_sub_year_month_duration(right)?)
        }
        (S::DateTime(left), S::DayTime(right)) => {
            S::DateTime(left.checked_sub_day_time_duration(right)?)
        }
        (S::Date(left), S::Duration(right)) => S::Date(left.checked_sub_duration(right)?),
        (S::Date(left), S::YearMonth(right)) => {
            S::Date(left.checked_sub_year_month_duration(right)?)
        }
        (S::Date(left), S::DayTime(right)) => S::Date(left.checked_sub_day_time_duration(right)?),
        (S::Time(left), S::Duration(right)) => S::Time(left.checked_sub_duration(right)?),
        (S::Time(left), S::DayTime(right)) => S::Time(left.checked_sub_day_time_duration(right)?),
        _ => return None,
    })
}

/// Unary plus; `None` is an error.
pub(crate) fn plus(value: &Value<'_>) -> Option<Computed> {
    use Scalar::{DayTime, Duration, YearMonth};
    let &Value::Scalar(scalar, _) = value else {
        return Large::of(value)?.finish();
    };
    (scalar.is_numeric() || matches!(scalar, Duration(_) | YearMonth(_) | DayTime(_)))
        .then_some(Computed::Scalar(scalar))
}

/// Unary minus; `None` is an error.
pub(crate) fn minus(value: &Value<'_>) -> Option<Computed> {
    let &Value::Scalar(scalar, _) = value else {
        return Large::of(value)?.negated();
    };
    let negated = match scalar {
        Scalar::Integer(value) => value.checked_neg().map(Scalar::Integer),
        Scalar::Decimal(value) => value.negated().map(Scalar::Decimal),
        Scalar::Float(value) => Some(Scalar::Float(-value)),
        Scalar::Double(value) => Some(Scalar::Double(-value)),
        Scalar::Duration(value) => Some(Scalar::Duration(value.checked_neg()?)),
        Scalar::YearMonth(value) => Some(Scalar::YearMonth(value.checked_neg()?)),
        Scalar::DayTime(value) => Some(Scalar::DayTime(value.checked_neg()?)),
        _ => None,
    };
    match negated {
        Some(scalar) => Some(Computed::Scalar(scalar)),
        None => Large::of(value)?.negated(),
    }
}

/// `ABS`, `ROUND`, `CEIL`, `FLOOR`; `None` is an error.
pub(crate) fn round(function: Function, value: &Value<'_>) -> Option<Computed> {
    let &Value::Scalar(scalar, _) = value else {
        return Large::of(value)?.round(function);
    };
    let rounded = match scalar {
        Scalar::Integer(value) if function == Function::Abs => {
            value.checked_abs().map(Scalar::Integer)
        }
        Scalar::Integer(value) => Some(Scalar::Integer(value)),
        Scalar::Decimal(value) => match function {
            Function::Abs => value.magnitude(),
            Function::Round => value.rounded(),
            Function::Ceil => value.ceiling(),
            _ => value.floor(),
        }
        .map(Scalar::Decimal),
        Scalar::Float(value) => Some(Scalar::Float(match function {
            Function::Abs => value.abs(),
            Function::Round => value.round(),
            Function::Ceil => value.ceil(),
            _ => value.floor(),
        })),
        Scalar::Double(value) => Some(Scalar::Double(match function {
            Function::Abs => value.abs(),
            Function::Round => value.round(),
            Function::Ceil => value.ceil(),
            _ => value.floor(),
        })),
        _ => None,
    };
    match rounded {
        Some(scalar) => Some(Computed::Scalar(scalar)),
        None => Large::of(value)?.round(function),
    }
}
