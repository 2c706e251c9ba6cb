//! Values of the XML Schema datatypes: how they are read and written.
//!
//! Dates, their parts and durations are those of `oxsdatatypes`, the integers' derived types are ranges. Integers are
//! 64 bits and decimals [`Fixed`]; a larger one is no [`Scalar`] but a [`super::value::Value::Large`].
//! Two written forms of a floating number: [`Scalar::write`] is what
//! computed literals get, [`Scalar::write_as_string`] is what a cast to `xsd:string` gives (XPath and
//! XQuery Functions and Operators section 19.1.2).

use super::fixed::Fixed;
use oxrdf::vocab::xsd;
use oxsdatatypes::{
    Boolean, Date, DateTime, DayTimeDuration, Double, Duration, Float, GDay, GMonth, GMonthDay,
    GYear, GYearMonth, Time, YearMonthDuration,
};
use rdf::{VertexId, inline};
use std::fmt::Write as _;
use std::str::FromStr;

/// The namespace of the datatypes with values.
pub(super) const XSD: &str = "http://www.w3.org/2001/XMLSchema#";

/// A value of one of the XML Schema datatypes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scalar {
    Boolean(bool),
    Integer(i64),
    Decimal(Fixed),
    Float(Float),
    Double(Double),
    DateTime(DateTime),
    Date(Date),
    Time(Time),
    Duration(Duration),
    YearMonth(YearMonthDuration),
    DayTime(DayTimeDuration),
    GYear(GYear),
    GYearMonth(GYearMonth),
    GMonthDay(GMonthDay),
    GMonth(GMonth),
    GDay(GDay),
}

impl Scalar {
    /// The value of a lexical form; `None` where the datatype has no values here or the form is
    /// none of it.
    pub(crate) fn parse(lexical: &str, datatype: &str) -> Option<Scalar> {
        Some(match datatype.strip_prefix(XSD)? {
            "boolean" => Scalar::Boolean(lexical.parse::<Boolean>().ok()?.into()),
            "integer" => Scalar::Integer(lexical.parse().ok()?),
            "decimal" => Scalar::Decimal(Fixed::parse(lexical)?),
            "float" => Scalar::Float(floating(lexical)?),
            "double" => Scalar::Double(floating(lexical)?),
            "dateTime" => Scalar::DateTime(lexical.parse().ok()?),
            "date" => Scalar::Date(lexical.parse().ok()?),
            "time" => Scalar::Time(lexical.parse().ok()?),
            "duration" => Scalar::Duration(duration(lexical)?),
            "yearMonthDuration" => Scalar::YearMonth(duration(lexical)?),
            "dayTimeDuration" => Scalar::DayTime(duration(lexical)?),
            "gYear" => Scalar::GYear(lexical.parse().ok()?),
            "gYearMonth" => Scalar::GYearMonth(lexical.parse().ok()?),
            "gMonthDay" => Scalar::GMonthDay(month_day(lexical)?),
            "gMonth" => Scalar::GMonth(lexical.parse().ok()?),
            "gDay" => Scalar::GDay(lexical.parse().ok()?),
            "dateTimeStamp" => {
                let value: DateTime = lexical.parse().ok()?;
                value.timezone_offset()?;
                Scalar::DateTime(value)
            }
            derived => {
                let (least, greatest) = integer_range(derived)?;
                let value: i64 = lexical.parse().ok()?;
                if !(least..=greatest).contains(&value) {
                    return None;
                }
                Scalar::Integer(value)
            }
        })
    }

    /// The value of an inline id; `None` where the bits hold none.
    pub(crate) fn of_inline(id: VertexId) -> Option<Scalar> {
        Some(match id.tag()? {
            rdf::Tag::Integer => Scalar::Integer(inline::integer(id)?),
            rdf::Tag::Boolean => Scalar::Boolean(inline::boolean(id)?),
            rdf::Tag::Decimal => Scalar::Decimal(inline::decimal(id)?.into()),
            rdf::Tag::Double => Scalar::Double(inline::double(id)?.into()),
            rdf::Tag::Date => Scalar::Date(inline::date(id)?),
            rdf::Tag::DateTime => Scalar::DateTime(inline::date_time(id)?),
            _ => return None,
        })
    }

    /// Whether `isNUMERIC` holds.
    pub(crate) fn is_numeric(self) -> bool {
        use Scalar::{Decimal, Double, Float, Integer};
        matches!(self, Integer(_) | Decimal(_) | Float(_) | Double(_))
    }

    /// Appends the form of a computed literal; `None` for a duration whose parts differ in sign,
    /// which has none.
    pub(crate) fn write(self, into: &mut String) -> Option<()> {
        match self {
            Scalar::Boolean(value) => write!(into, "{value}"),
            Scalar::Integer(value) => write!(into, "{value}"),
            Scalar::Decimal(value) => write!(into, "{value}"),
            Scalar::Float(value) => write!(into, "{value}"),
            Scalar::Double(value) => write!(into, "{value}"),
            Scalar::DateTime(value) => write!(into, "{value}"),
            Scalar::Date(value) => write!(into, "{value}"),
            Scalar::Time(value) => write!(into, "{value}"),
            Scalar::Duration(value) => write!(into, "{value}"),
            Scalar::YearMonth(value) => write!(into, "{value}"),
            Scalar::DayTime(value) => write!(into, "{value}"),
            Scalar::GYear(value) => write!(into, "{value}"),
            Scalar::GYearMonth(value) => write!(into, "{value}"),
            Scalar::GMonthDay(value) => write!(into, "{value}"),
            Scalar::GMonth(value) => write!(into, "{value}"),
            Scalar::GDay(value) => write!(into, "{value}"),
        }
        .ok()
    }

    /// Appends what a cast to `xsd:string` gives: as [`Scalar::write`], but large and small floating
    /// numbers with an exponent.
    pub(crate) fn write_as_string(self, into: &mut String) -> Option<()> {
        let scientific = |magnitude: f64| {
            magnitude.is_finite() && magnitude != 0.0 && !(1e-6..1e6).contains(&magnitude)
        };
        let start = into.len();
        match self {
            Scalar::Float(value) if scientific(f64::from(value).abs()) => {
                write!(into, "{:E}", f32::from(value)).ok()?;
            }
            Scalar::Double(value) if scientific(f64::from(value).abs()) => {
                write!(into, "{:E}", f64::from(value)).ok()?;
            }
            _ => return self.write(into),
        }
        // `1E7` is written `1.0E7`.
        let exponent = start + into[start..].find('E')?;
        if !into[start..exponent].contains('.') {
            into.insert_str(exponent, ".0");
        }
        Some(())
    }

    /// The instant at which a part of a date begins, with its time zone if it has one: that of a month or
    /// a day in the year and month of reference (XML Schema part 2, section E.3.3).
    pub(crate) fn beginning(self) -> Option<DateTime> {
        let (mut bytes, zone) = match self {
            Scalar::GYear(value) => (value.to_be_bytes(), value.timezone_offset()),
            Scalar::GYearMonth(value) => (value.to_be_bytes(), value.timezone_offset()),
            Scalar::GMonthDay(value) => (value.to_be_bytes(), value.timezone_offset()),
            Scalar::GMonth(value) => (value.to_be_bytes(), value.timezone_offset()),
            Scalar::GDay(value) => (value.to_be_bytes(), value.timezone_offset()),
            _ => return None,
        };
        // The bytes of the timezone -00:01 are those of none: it is given UTC's, which keep the instant.
        if zone.is_some() {
            let (_, offset) = bytes.split_at_mut(size_of::<i128>());
            offset.fill(0);
        }
        let instant = DateTime::from_be_bytes(bytes);
        if zone.is_some() {
            instant.adjust(zone)
        } else {
            Some(instant)
        }
    }

    /// The datatype IRI of a computed one.
    pub(crate) fn datatype(self) -> &'static str {
        match self {
            Scalar::Boolean(_) => xsd::BOOLEAN,
            Scalar::Integer(_) => xsd::INTEGER,
            Scalar::Decimal(_) => xsd::DECIMAL,
            Scalar::Float(_) => xsd::FLOAT,
            Scalar::Double(_) => xsd::DOUBLE,
            Scalar::DateTime(_) => xsd::DATE_TIME,
            Scalar::Date(_) => xsd::DATE,
            Scalar::Time(_) => xsd::TIME,
            Scalar::Duration(_) => xsd::DURATION,
            Scalar::YearMonth(_) => xsd::YEAR_MONTH_DURATION,
            Scalar::DayTime(_) => xsd::DAY_TIME_DURATION,
            Scalar::GYear(_) => xsd::G_YEAR,
            Scalar::GYearMonth(_) => xsd::G_YEAR_MONTH,
            Scalar::GMonthDay(_) => xsd::G_MONTH_DAY,
            Scalar::GMonth(_) => xsd::G_MONTH,
            Scalar::GDay(_) => xsd::G_DAY,
        }
        .as_str()
    }
}

/// A floating number by the lexical mapping of XML Schema: the parser knows more names of infinities.
pub(crate) fn floating<T: FromStr>(lexical: &str) -> Option<T> {
    let is_named = lexical
        .bytes()
        .any(|byte| byte.is_ascii_alphabetic() && !matches!(byte, b'e' | b'E'));
    let is_known = !is_named || matches!(lexical, "INF" | "-INF" | "+INF" | "NaN");
    is_known.then(|| lexical.parse().ok()).flatten()
}

/// A duration of any of the three types. The library also takes `P1YT`, `PT1.S` and `PT.5S`, which are no
/// forms of one (XML Schema 1.1 part 2, section 3.3.6.2).
pub(super) fn duration<T: FromStr>(lexical: &str) -> Option<T> {
    let is_digit = |character: char| character.is_ascii_digit();
    let is_whole = lexical
        .split_once('.')
        .is_none_or(|(before, after)| before.ends_with(is_digit) && after.starts_with(is_digit));
    (is_whole && !lexical.ends_with('T')).then(|| lexical.parse().ok())?
}

/// A day of a year: the library does not read the one of leap years.
pub(super) fn month_day(lexical: &str) -> Option<GMonthDay> {
    let Some(zone) = lexical.strip_prefix("--02-29") else {
        return lexical.parse().ok();
    };
    let of_leap_year: Date = format!("1972-02-29{zone}").parse().ok()?;
    Some(of_leap_year.into())
}

/// The values of the types derived from `xsd:integer` (XML Schema part 2, section 3.4), as far as
/// 64 bits go.
pub(super) fn integer_range(local: &str) -> Option<(i64, i64)> {
    Some(match local {
        "byte" => (i8::MIN.into(), i8::MAX.into()),
        "short" => (i16::MIN.into(), i16::MAX.into()),
        "int" => (i32::MIN.into(), i32::MAX.into()),
        "long" => (i64::MIN, i64::MAX),
        "unsignedByte" => (0, u8::MAX.into()),
        "unsignedShort" => (0, u16::MAX.into()),
        "unsignedInt" => (0, u32::MAX.into()),
        "unsignedLong" | "nonNegativeInteger" => (0, i64::MAX),
        "positiveInteger" => (1, i64::MAX),
        "nonPositiveInteger" => (i64::MIN, 0),
        "negativeInteger" => (i64::MIN, -1),
        _ => return None,
    })
}
