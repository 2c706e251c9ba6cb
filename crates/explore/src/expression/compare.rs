//! `=`, `<` and their kin on values (SPARQL 1.1 Query section 17.3, operator mapping).
//!
//! Numbers are promoted integer -> decimal -> float -> double. `=` is an error where a literal of an
//! unknown datatype meets a different literal, because they might denote the same value
//! (RDFterm-equal, section 17.4.1.7); two known datatypes without a common value are simply unequal.
//! Extensions that only replace errors (section 17.3.1): strings of one language are ordered, a term is
//! `<=` and `>=` itself, what is derived from `xsd:string` compares as the string that it is, and the
//! parts of dates (`xsd:gYear` and its kin) are ordered by the instant at which they begin, where XPath
//! gives them equality alone.

use super::fixed::Fixed;
use super::large::Large;
use super::scalar::Scalar;
use super::value::Value;
use oxrdf::{Term, Triple};
use oxsdatatypes::{Double, Float};
use query::expression::Comparison;
use std::cmp::Ordering;

/// Two numbers of one type.
pub(crate) enum Numbers {
    Integer(i64, i64),
    Decimal(Fixed, Fixed),
    Float(Float, Float),
    Double(Double, Double),
}

impl Numbers {
    /// Promotes two scalars to their least common type; `None` where one is no number.
    pub(crate) fn promote(left: Scalar, right: Scalar) -> Option<Numbers> {
        use Scalar as S;
        Some(match (left, right) {
            (S::Integer(left), S::Integer(right)) => Numbers::Integer(left, right),
            (S::Integer(left), S::Decimal(right)) => Numbers::Decimal(left.into(), right),
            (S::Decimal(left), S::Integer(right)) => Numbers::Decimal(left, right.into()),
            (S::Decimal(left), S::Decimal(right)) => Numbers::Decimal(left, right),
            (S::Double(left), _) => Numbers::Double(left, double(right)?),
            (_, S::Double(right)) => Numbers::Double(double(left)?, right),
            (S::Float(left), _) => Numbers::Float(left, float(right)?),
            (_, S::Float(right)) => Numbers::Float(float(left)?, right),
            _ => return None,
        })
    }

    fn order(&self) -> Option<Ordering> {
        match self {
            Numbers::Integer(left, right) => Some(left.cmp(right)),
            Numbers::Decimal(left, right) => Some(left.cmp(right)),
            Numbers::Float(left, right) => left.partial_cmp(right),
            Numbers::Double(left, right) => left.partial_cmp(right),
        }
    }
}

/// The nearest double.
pub(super) fn double(scalar: Scalar) -> Option<Double> {
    Some(match scalar {
        Scalar::Integer(value) => (value as f64).into(),
        Scalar::Decimal(value) => value.to_double().into(),
        Scalar::Float(value) => value.into(),
        Scalar::Double(value) => value,
        _ => return None,
    })
}

/// The nearest float of an exact number.
pub(super) fn float(scalar: Scalar) -> Option<Float> {
    Some(match scalar {
        Scalar::Integer(value) => (value as f32).into(),
        Scalar::Decimal(value) => value.to_float().into(),
        Scalar::Float(value) => value,
        _ => return None,
    })
}

/// The comparison of two values; `None` is an error.
pub(crate) fn compare(comparison: Comparison, left: &Value<'_>, right: &Value<'_>) -> Option<bool> {
    Some(match comparison {
        Comparison::Equal => equals(left, right)?,
        Comparison::NotEqual => !equals(left, right)?,
        Comparison::Less => order(left, right)?.is_some_and(Ordering::is_lt),
        Comparison::LessOrEqual => order(left, right)?.is_some_and(Ordering::is_le),
        Comparison::Greater => order(left, right)?.is_some_and(Ordering::is_gt),
        Comparison::GreaterOrEqual => order(left, right)?.is_some_and(Ordering::is_ge),
    })
}

/// The `=` operator; `None` is an error.
pub(crate) fn equals(left: &Value<'_>, right: &Value<'_>) -> Option<bool> {
    match (left, right) {
        (Value::Scalar(left, _), Value::Scalar(right, _)) => equal_scalars(*left, *right),
        (Value::Large(..), Value::Large(..) | Value::Scalar(..))
        | (Value::Scalar(..), Value::Large(..)) => {
            Some(order_large(left, right).flatten() == Some(Ordering::Equal))
        }
        (Value::Derived(..), _) | (_, Value::Derived(..)) => equal_derived(left, right),
        (Value::Other(..), Value::Other(..)) => left.is_same_term(right).then_some(true),
        (Value::Other(..), Value::Text(_) | Value::Scalar(..) | Value::Large(..))
        | (Value::Text(_) | Value::Scalar(..) | Value::Large(..), Value::Other(..)) => None,
        (Value::Triple(left), Value::Triple(right)) => match objects(left, right) {
            Some((left, right)) => equals(&left, &right),
            None => Some(false),
        },
        _ => Some(left.is_same_term(right)),
    }
}

/// `=` where one is of a datatype derived from `xsd:string`: of the texts, as of two `xsd:string`.
fn equal_derived(left: &Value<'_>, right: &Value<'_>) -> Option<bool> {
    match (left.plain_text(), right.plain_text()) {
        (Some(left), Some(right)) => Some(left == right),
        _ if matches!((left, right), (Value::Other(..), _) | (_, Value::Other(..))) => None,
        _ => Some(false),
    }
}

/// The innermost objects of two triple terms that agree in every subject and predicate up to there;
/// `None` where they do not. A loop, not recursion: how deep triple terms nest comes from data.
fn objects<'a, 'b>(mut left: &'a Triple, mut right: &'b Triple) -> Option<(Value<'a>, Value<'b>)> {
    loop {
        if left.subject != right.subject || left.predicate != right.predicate {
            return None;
        }
        match (&left.object, &right.object) {
            (Term::Triple(inner), Term::Triple(other)) => (left, right) = (inner, other),
            (object, other) => {
                return Some((
                    Value::of_term(object.as_ref()),
                    Value::of_term(other.as_ref()),
                ));
            }
        }
    }
}

/// `None` is an error: a moment without a time zone against one with, less than 14 hours apart, may be
/// the same or not (XML Schema part 2, section 3.2.7.4).
fn equal_scalars(left: Scalar, right: Scalar) -> Option<bool> {
    use Scalar as S;
    let moments = match (left, right) {
        (S::DateTime(left), S::DateTime(right)) => left.partial_cmp(&right),
        (S::Date(left), S::Date(right)) => left.partial_cmp(&right),
        (S::Time(left), S::Time(right)) => left.partial_cmp(&right),
        (S::GYear(left), S::GYear(right)) => left.partial_cmp(&right),
        (S::GYearMonth(left), S::GYearMonth(right)) => left.partial_cmp(&right),
        (S::GMonthDay(left), S::GMonthDay(right)) => left.partial_cmp(&right),
        (S::GMonth(left), S::GMonth(right)) => left.partial_cmp(&right),
        (S::GDay(left), S::GDay(right)) => left.partial_cmp(&right),
        (S::Boolean(left), S::Boolean(right)) => return Some(left == right),
        _ => {
            return Some(match Numbers::promote(left, right) {
                Some(numbers) => numbers.order() == Some(Ordering::Equal),
                None => duration(left).is_some_and(|left| duration(right) == Some(left)),
            });
        }
    };
    moments.map(Ordering::is_eq)
}

/// The order of two values: the outer `None` is an error, the inner one an order that both types
/// have but not these values (NaN).
#[expect(
    clippy::option_option,
    reason = "an error differs from being unordered"
)]
fn order(left: &Value<'_>, right: &Value<'_>) -> Option<Option<Ordering>> {
    match (left, right) {
        (Value::Scalar(left, _), Value::Scalar(right, _)) => order_scalars(*left, *right),
        (Value::Large(..), Value::Large(..) | Value::Scalar(..))
        | (Value::Scalar(..), Value::Large(..)) => order_large(left, right),
        (Value::Text(left), Value::Text(right)) => Some(Some(left.cmp(right))),
        (Value::Derived(..), Value::Derived(..) | Value::Text(_))
        | (Value::Text(_), Value::Derived(..)) => {
            Some(Some(left.plain_text()?.cmp(right.plain_text()?)))
        }
        (Value::Language(left, language), Value::Language(right, other)) => {
            (language == other).then(|| Some(left.cmp(right)))
        }
        (Value::Triple(left), Value::Triple(right)) => {
            let (left, right) = objects(left, right)?;
            order(&left, &right)
        }
        _ => left.is_same_term(right).then_some(Some(Ordering::Equal)),
    }
}

#[expect(
    clippy::option_option,
    reason = "an error differs from being unordered"
)]
fn order_scalars(left: Scalar, right: Scalar) -> Option<Option<Ordering>> {
    use Scalar as S;
    let order = match (left, right) {
        (S::Boolean(left), S::Boolean(right)) => Some(left.cmp(&right)),
        (S::DateTime(left), S::DateTime(right)) => left.partial_cmp(&right),
        (S::Date(left), S::Date(right)) => left.partial_cmp(&right),
        (S::Time(left), S::Time(right)) => left.partial_cmp(&right),
        (S::GYear(left), S::GYear(right)) => left.partial_cmp(&right),
        (S::GYearMonth(left), S::GYearMonth(right)) => left.partial_cmp(&right),
        (S::GMonthDay(left), S::GMonthDay(right)) => left.partial_cmp(&right),
        (S::GMonth(left), S::GMonth(right)) => left.partial_cmp(&right),
        (S::GDay(left), S::GDay(right)) => left.partial_cmp(&right),
        _ => match Numbers::promote(left, right) {
            Some(numbers) => return Some(numbers.order()),
            None => order_durations(left, right),
        },
    };
    order.map(Some)
}

fn order_durations(left: Scalar, right: Scalar) -> Option<Ordering> {
    use Scalar as S;
    match (left, right) {
        (S::YearMonth(left), S::YearMonth(right)) => Some(left.cmp(&right)),
        (S::DayTime(left), S::DayTime(right)) => Some(left.cmp(&right)),
        (S::Duration(left), S::Duration(right)) if left == right => Some(Ordering::Equal),
        _ => {
            let (left, right) = (duration(left)?, duration(right)?);
            let ((months, seconds), (others, others_seconds)) = (parts(left), parts(right));
            match (months.cmp(&others), seconds.cmp(&others_seconds)) {
                // The sums that the partial order is defined by may be beyond the dates that there are.
                (order, Ordering::Equal) | (Ordering::Equal, order) => Some(order),
                (order, same) if order == same => Some(order),
                _ => left.partial_cmp(&right),
            }
        }
    }
}

/// Months, and seconds in units of 10^-18.
fn parts(duration: oxsdatatypes::Duration) -> (i64, i128) {
    let bytes = duration.to_be_bytes();
    let (months, seconds) = bytes.split_at(size_of::<i64>());
    (
        i64::from_be_bytes(months.try_into().expect("eight bytes")),
        i128::from_be_bytes(seconds.try_into().expect("sixteen bytes")),
    )
}

/// The order of two numbers of which one is no scalar, by their common type; the outer `None`: the other
/// is no number.
#[expect(
    clippy::option_option,
    reason = "an error differs from being unordered"
)]
fn order_large(left: &Value<'_>, right: &Value<'_>) -> Option<Option<Ordering>> {
    if let (Some(left), Some(right)) = (Large::of(left), Large::of(right)) {
        return Some(Some(left.cmp(&right)));
    }
    let [left, right] = [floating(left, right)?, floating(right, left)?];
    Numbers::promote(left, right).map(|numbers| numbers.order())
}

/// A number as what it is promoted to beside another one, which is a floating number.
pub(super) fn floating(value: &Value<'_>, beside: &Value<'_>) -> Option<Scalar> {
    match (value, beside) {
        (Value::Scalar(scalar, _), _) => Some(*scalar),
        (Value::Large(..), Value::Scalar(Scalar::Float(_), _)) => {
            Some(Scalar::Float(Large::of(value)?.to_float()?.into()))
        }
        _ => Some(Scalar::Double(Large::of(value)?.to_double()?.into())),
    }
}

/// Any duration as the general one.
pub(crate) fn duration(scalar: Scalar) -> Option<oxsdatatypes::Duration> {
    Some(match scalar {
        Scalar::Duration(value) => value,
        Scalar::YearMonth(value) => value.into(),
        Scalar::DayTime(value) => value.into(),
        _ => return None,
    })
}
