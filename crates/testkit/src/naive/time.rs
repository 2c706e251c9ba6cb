//! Arithmetic on points in time and durations (SEP-0002), by XPath's operators of the same names.

use super::duration::{Duration, Span};
use super::moment::{Kind, Moment};
use super::value::Value;
use oxrdf::Literal;

/// `+` and `-` before a duration; `None` is an error, as in all of this file.
pub(super) fn signed(value: &Value<'_>, is_minus: bool) -> Option<Literal> {
    match value {
        Value::Duration(value) if is_minus => Some(value.negated()?.literal()),
        Value::Duration(value) => Some(value.literal()),
        _ => None,
    }
}

/// A duration and a duration, or a point in time and a duration.
pub(super) fn sum(left: &Value<'_>, right: &Value<'_>) -> Option<Literal> {
    match (left, right) {
        (Value::Duration(left), Value::Duration(right)) => Some(left.plus(right)?.literal()),
        (Value::Moment(moment), Value::Duration(by)) => moved(moment, by),
        _ => None,
    }
}

/// Of two durations, of two points in time of one type, or of a point in time and a duration.
pub(super) fn difference(left: &Value<'_>, right: &Value<'_>) -> Option<Literal> {
    match (left, right) {
        (Value::Moment(left), Value::Moment(right)) => {
            Some(Duration::of_seconds(left.since(right)?)?.literal())
        }
        (left, Value::Duration(by)) => sum(left, &Value::Duration(by.negated()?)),
        _ => None,
    }
}

/// A time of day knows no months.
fn moved(moment: &Moment, by: &Duration) -> Option<Literal> {
    if moment.kind == Kind::Time && by.span == Span::YearMonth {
        return None;
    }
    Some(moment.plus(&by.months, &by.seconds)?.literal())
}
