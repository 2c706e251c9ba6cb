//! `+ - * /` and the numeric functions (SPARQL 1.1 Query sections 17.3 and 17.4.4).
//!
//! Numbers are promoted as for comparisons; integers divide to a decimal; overflow and division by
//! zero of exact numbers are errors, floating numbers follow IEEE 754. Dates and durations combine
//! as XPath says (`op:add-dayTimeDuration-to-dateTime` and its kin). Everything is a few
//! nanoseconds, on copies.

use super::compare::Numbers;
use super::scalar::Scalar;
use super::value::Value;
use oxsdatatypes::Decimal;
use query::expression::{Arithmetic, Function};

/// A binary operator; `None` is an error.
pub(crate) fn combine(operator: Arithmetic, left: &Value<'_>, right: &Value<'_>) -> Option<Scalar> {
    let (&Value::Scalar(left, _), &Value::Scalar(right, _)) = (left, right) else {
        return None;
    };
    match Numbers::promote(left, right) {
        Some(numbers) => combine_numbers(operator, &numbers),
        None => match operator {
            Arithmetic::Add => add_durations(left, right),
            Arithmetic::Subtract => subtract_times(left, right),
            Arithmetic::Multiply | Arithmetic::Divide => None,
        },
    }
}

fn combine_numbers(operator: Arithmetic, numbers: &Numbers) -> Option<Scalar> {
    Some(match *numbers {
        Numbers::Integer(left, right) => match operator {
            Arithmetic::Add => Scalar::Integer(left.checked_add(right)?),
            Arithmetic::Subtract => Scalar::Integer(left.checked_sub(right)?),
            Arithmetic::Multiply => Scalar::Integer(left.checked_mul(right)?),
            Arithmetic::Divide => Scalar::Decimal(Decimal::from(left).checked_div(right)?),
        },
        Numbers::Decimal(left, right) => Scalar::Decimal(match operator {
            Arithmetic::Add => left.checked_add(right)?,
            Arithmetic::Subtract => left.checked_sub(right)?,
            Arithmetic::Multiply => left.checked_mul(right)?,
            Arithmetic::Divide => left.checked_div(right)?,
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
pub(crate) fn plus(scalar: Scalar) -> Option<Scalar> {
    use Scalar::{DayTime, Duration, YearMonth};
    (scalar.is_numeric() || matches!(scalar, Duration(_) | YearMonth(_) | DayTime(_)))
        .then_some(scalar)
}

/// Unary minus; `None` is an error.
pub(crate) fn minus(scalar: Scalar) -> Option<Scalar> {
    Some(match scalar {
        Scalar::Integer(value) => Scalar::Integer(value.checked_neg()?),
        Scalar::Decimal(value) => Scalar::Decimal(value.checked_neg()?),
        Scalar::Float(value) => Scalar::Float(-value),
        Scalar::Double(value) => Scalar::Double(-value),
        Scalar::Duration(value) => Scalar::Duration(value.checked_neg()?),
        Scalar::YearMonth(value) => Scalar::YearMonth(value.checked_neg()?),
        Scalar::DayTime(value) => Scalar::DayTime(value.checked_neg()?),
        _ => return None,
    })
}

/// `ABS`, `ROUND`, `CEIL`, `FLOOR`; `None` is an error.
pub(crate) fn round(function: Function, scalar: Scalar) -> Option<Scalar> {
    Some(match scalar {
        Scalar::Integer(value) if function == Function::Abs => {
            Scalar::Integer(value.checked_abs()?)
        }
        Scalar::Integer(value) => Scalar::Integer(value),
        Scalar::Decimal(value) => Scalar::Decimal(match function {
            Function::Abs => value.checked_abs()?,
            Function::Round => value.checked_round()?,
            Function::Ceil => value.checked_ceil()?,
            _ => value.checked_floor()?,
        }),
        Scalar::Float(value) => Scalar::Float(match function {
            Function::Abs => value.abs(),
            Function::Round => value.round(),
            Function::Ceil => value.ceil(),
            _ => value.floor(),
        }),
        Scalar::Double(value) => Scalar::Double(match function {
            Function::Abs => value.abs(),
            Function::Round => value.round(),
            Function::Ceil => value.ceil(),
            _ => value.floor(),
        }),
        _ => return None,
    })
}
