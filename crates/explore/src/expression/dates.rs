//! Functions on dates and times (SPARQL 1.1 Query section 17.4.5, and SEP-0002, which gives them to dates
//! and times beside dateTimes and adds `ADJUST`); the parts of dates (`xsd:gYear` and its kin) have those
//! that they name.

use super::column::Made;
use super::scalar::Scalar;
use super::value::Value;
use oxsdatatypes::{DateTime, TimezoneOffset};
use query::expression::Function;
use std::fmt::Write as _;

/// `YEAR`, `MONTH`, `DAY`, `HOURS`, `MINUTES`, `SECONDS`; `None` is an error.
pub(crate) fn date_part(function: Function, scalar: Scalar) -> Option<Scalar> {
    let part: i64 = match (function, scalar) {
        (Function::Year, Scalar::DateTime(value)) => value.year(),
        (Function::Year, Scalar::Date(value)) => value.year(),
        (Function::Year, Scalar::GYear(value)) => value.year(),
        (Function::Year, Scalar::GYearMonth(value)) => value.year(),
        (Function::Month, Scalar::DateTime(value)) => value.month().into(),
        (Function::Month, Scalar::Date(value)) => value.month().into(),
        (Function::Month, Scalar::GYearMonth(value)) => value.month().into(),
        (Function::Month, Scalar::GMonthDay(value)) => value.month().into(),
        (Function::Month, Scalar::GMonth(value)) => value.month().into(),
        (Function::Day, Scalar::DateTime(value)) => value.day().into(),
        (Function::Day, Scalar::Date(value)) => value.day().into(),
        (Function::Day, Scalar::GMonthDay(value)) => value.day().into(),
        (Function::Day, Scalar::GDay(value)) => value.day().into(),
        (Function::Hours, Scalar::DateTime(value)) => value.hour().into(),
        (Function::Hours, Scalar::Time(value)) => value.hour().into(),
        (Function::Minutes, Scalar::DateTime(value)) => value.minute().into(),
        (Function::Minutes, Scalar::Time(value)) => value.minute().into(),
        (Function::Seconds, Scalar::DateTime(value)) => {
            return Some(Scalar::Decimal(value.second().into()));
        }
        (Function::Seconds, Scalar::Time(value)) => {
            return Some(Scalar::Decimal(value.second().into()));
        }
        _ => return None,
    };
    Some(Scalar::Integer(part))
}

/// The outer `None`: it has no place for one.
#[expect(clippy::option_option, reason = "two ways of having none")]
fn timezone_of(scalar: Scalar) -> Option<Option<TimezoneOffset>> {
    Some(match scalar {
        Scalar::DateTime(value) => value.timezone_offset(),
        Scalar::Date(value) => value.timezone_offset(),
        Scalar::Time(value) => value.timezone_offset(),
        part => part.beginning()?.timezone_offset(),
    })
}

/// `TIMEZONE`: the offset as a duration; `None` is an error, also where there is no timezone.
pub(crate) fn timezone(scalar: Scalar) -> Option<Scalar> {
    Some(Scalar::DayTime(timezone_of(scalar)??.into()))
}

/// `TZ`: the timezone as it is written, empty where there is none; `None` is an error.
pub(crate) fn tz<'b>(value: &Value<'b>, into: &mut String) -> Option<Made<'b>> {
    let Value::Scalar(scalar, _) = value else {
        return None;
    };
    if let Some(offset) = timezone_of(*scalar)? {
        write!(into, "{offset}").ok()?;
    }
    Some(Made::Text)
}

/// `ADJUST`: the same instant in another timezone; a moment without timezone is given it. `None` is an
/// error.
pub(crate) fn adjust(moment: Scalar, offset: TimezoneOffset) -> Option<Scalar> {
    Some(match moment {
        Scalar::DateTime(value) => Scalar::DateTime(value.adjust(Some(offset))?),
        Scalar::Date(value) => Scalar::Date(value.adjust(Some(offset))?),
        Scalar::Time(value) => Scalar::Time(value.adjust(Some(offset))?),
        _ => return None,
    })
}

/// The timezone that a duration stands for; `None` is an error.
pub(crate) fn offset(duration: Scalar) -> Option<TimezoneOffset> {
    match duration {
        Scalar::DayTime(value) => value.try_into().ok(),
        Scalar::Duration(value) => value.try_into().ok(),
        _ => None,
    }
}

/// The implicit timezone of XPath's dynamic context: that of `NOW`.
pub(crate) fn implicit_offset(now: DateTime) -> TimezoneOffset {
    now.timezone_offset().unwrap_or(TimezoneOffset::UTC)
}
