//! Arithmetic on points in time and durations (SEP-0002), by XPath's operators of the same names.
//!
//! The arithmetic itself is `oxsdatatypes`'; here is which operator applies to which types.

use super::value::Value;
use oxrdf::Literal;
use oxsdatatypes::{Date, DateTime, DayTimeDuration, Duration, Time};

/// `+` and `-` before a duration; `None` is an error, as in all of this file.
pub(super) fn signed(value: &Value<'_>, is_minus: bool) -> Option<Literal> {
    Some(match (value, is_minus) {
        (Value::DayTime(value), true) => value.checked_neg()?.into(),
        (Value::YearMonth(value), true) => value.checked_neg()?.into(),
        (Value::Duration(value), true) => value.checked_neg()?.into(),
        (Value::DayTime(value), false) => (*value).into(),
        (Value::YearMonth(value), false) => (*value).into(),
        (Value::Duration(value), false) => (*value).into(),
        _ => return None,
    })
}

/// A duration and a duration, or a point in time and a duration.
pub(super) fn sum(left: &Value<'_>, right: &Value<'_>) -> Option<Literal> {
    Some(match (left, right) {
        (Value::DayTime(left), Value::DayTime(right)) => left.checked_add(*right)?.into(),
        (Value::YearMonth(left), Value::YearMonth(right)) => left.checked_add(*right)?.into(),
        (Value::DateTime(time), by) => moved_date_time(*time, by.duration()?)?.into(),
        (Value::Date(date), by) => moved_date(*date, by.duration()?)?.into(),
        (Value::Time(time), by) => moved_time(*time, by)?.into(),
        (left, right) => left.duration()?.checked_add(right.duration()?)?.into(),
    })
}

/// Of two durations, of two points in time of one type, or of a point in time and a duration.
pub(super) fn difference(left: &Value<'_>, right: &Value<'_>) -> Option<Literal> {
    let between: Option<DayTimeDuration> = match (left, right) {
        (Value::DateTime(left), Value::DateTime(right)) => Some(left.checked_sub(*right)?),
        (Value::Date(left), Value::Date(right)) => Some(left.checked_sub(*right)?),
        (Value::Time(left), Value::Time(right)) => Some(left.checked_sub(*right)?),
        _ => None,
    };
    if let Some(between) = between {
        return Some(between.into());
    }
    match right {
        Value::DayTime(by) => sum(left, &Value::DayTime(by.checked_neg()?)),
        Value::YearMonth(by) => sum(left, &Value::YearMonth(by.checked_neg()?)),
        Value::Duration(by) => sum(left, &Value::Duration(by.checked_neg()?)),
        _ => None,
    }
}

fn moved_date_time(time: DateTime, by: Duration) -> Option<DateTime> {
    time.checked_add_duration(by)
}

fn moved_date(date: Date, by: Duration) -> Option<Date> {
    date.checked_add_duration(by)
}

/// A time of day knows no months.
fn moved_time(time: Time, by: &Value<'_>) -> Option<Time> {
    match by {
        Value::DayTime(by) => time.checked_add_day_time_duration(*by),
        Value::Duration(by) => time.checked_add_duration(*by),
        _ => None,
    }
}
