//! Literals whose id is their value: no dictionary entry, no lookup in filters and sorts.
//!
//! Invariant: [`decode`] after [`encode`] gives back exactly the same lexical form and datatype, so
//! two different literals never share an id; and no other bits decode to the same literal, so a
//! literal has one id. Whatever does not fit ("05", "+5", an invalid date) goes to the dictionary.
//! Datatypes: exactly `xsd:integer`, `boolean`, `decimal`, `double`, `date` and `dateTime`; derived
//! types such as `xsd:int` go to the dictionary.
//!
//! | tag | inline when | payload |
//! |---|---|---|
//! | integer | canonical, within ±2^59 | value + 2^59, so ids order like values |
//! | boolean | `false`, `true` | 0, 1 |
//! | decimal | optional minus, no superfluous leading zero, up to 15 decimals | mantissa and scale |
//! | double | see `inline::number` | digits and exponent as they were written |
//! | date, dateTime | years 0001 to 9999, up to 3 decimals of seconds, see `inline::time` | mixed radix |
//!
//! Costs: encode and decode are a few tens of nanoseconds, the accessors a few.

mod number;
mod time;

use crate::id::{Tag, VertexId};
use crate::terms::TermBuffer;
use oxrdf::LiteralRef;
use oxsdatatypes::{Date, DateTime, Decimal};

const XSD: &str = "http://www.w3.org/2001/XMLSchema#";

/// An id that holds no inline literal: another tag, or a payload that [`encode`] never gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("id {0:?} holds no inline literal")]
pub struct NotInline(pub VertexId);

/// The inline id of `literal`, or `None` where it must go to the dictionary.
pub fn encode(literal: LiteralRef<'_>) -> Option<VertexId> {
    if literal.language().is_some() {
        return None;
    }
    let local = literal.datatype().as_str().strip_prefix(XSD)?;
    let lexical = literal.value().as_bytes();
    let (tag, payload) = match local {
        "integer" => (Tag::Integer, number::encode_integer(lexical)?),
        "boolean" => (Tag::Boolean, encode_boolean(lexical)?),
        "decimal" => (Tag::Decimal, number::encode_decimal(lexical)?),
        "double" => (Tag::Double, number::encode_double(lexical)?),
        "date" => (Tag::Date, time::encode_date(lexical)?),
        "dateTime" => (Tag::DateTime, time::encode_date_time(lexical)?),
        _ => return None,
    };
    Some(VertexId::new(tag, payload))
}

/// Appends the literal of an inline id to `terms` as one cell. On an error nothing is appended:
/// ids come from files too.
pub fn decode(id: VertexId, terms: &mut TermBuffer) -> Result<(), NotInline> {
    let mut text = Text::new();
    let local = lexical_form(id, &mut text).ok_or(NotInline(id))?;
    terms.push_typed_in(text.as_str(), XSD, local);
    Ok(())
}

/// The value of an inline integer.
#[inline]
pub fn integer(id: VertexId) -> Option<i64> {
    id.has_tag(Tag::Integer)
        .then(|| number::integer(id.payload()))
}

/// The value of an inline boolean.
#[inline]
pub fn boolean(id: VertexId) -> Option<bool> {
    (id.has_tag(Tag::Boolean) && id.payload() < 2).then(|| id.payload() == 1)
}

/// The value of an inline decimal.
#[inline]
pub fn decimal(id: VertexId) -> Option<Decimal> {
    if !id.has_tag(Tag::Decimal) {
        return None;
    }
    number::decimal(id.payload())
}

/// The value of an inline double, the one that parsing its lexical form gives.
#[inline]
pub fn double(id: VertexId) -> Option<f64> {
    if !id.has_tag(Tag::Double) {
        return None;
    }
    number::double(id.payload())
}

/// The value of an inline date.
#[inline]
pub fn date(id: VertexId) -> Option<Date> {
    if !id.has_tag(Tag::Date) {
        return None;
    }
    time::date(id.payload())
}

/// The value of an inline dateTime.
#[inline]
pub fn date_time(id: VertexId) -> Option<DateTime> {
    if !id.has_tag(Tag::DateTime) {
        return None;
    }
    time::date_time(id.payload())
}

/// The inline id of an integer, where it is within ±2^59: what a computed value is looked up as.
#[inline]
pub fn from_integer(value: i64) -> Option<VertexId> {
    number::integer_payload(value).map(|payload| VertexId::new(Tag::Integer, payload))
}

/// The id of a boolean.
#[inline]
pub fn from_boolean(value: bool) -> VertexId {
    VertexId::new(Tag::Boolean, u64::from(value))
}

/// Writes the lexical form of an inline id and names its datatype within XSD.
fn lexical_form(id: VertexId, text: &mut Text) -> Option<&'static str> {
    let payload = id.payload();
    Some(match id.tag()? {
        Tag::Integer => {
            text.signed(number::integer(payload));
            "integer"
        }
        Tag::Boolean => {
            text.push_str(if boolean(id)? { "true" } else { "false" });
            "boolean"
        }
        Tag::Decimal => {
            number::write_decimal(payload, text)?;
            "decimal"
        }
        Tag::Double => {
            number::write_double(payload, text)?;
            "double"
        }
        Tag::Date => {
            time::write_date(payload, text)?;
            "date"
        }
        Tag::DateTime => {
            time::write_date_time(payload, text)?;
            "dateTime"
        }
        _ => return None,
    })
}

fn encode_boolean(lexical: &[u8]) -> Option<u64> {
    match lexical {
        b"false" => Some(0),
        b"true" => Some(1),
        _ => None,
    }
}

/// The lexical form of one inline literal: ASCII, on the stack.
struct Text {
    bytes: [u8; Text::CAPACITY],
    length: usize,
}

impl Text {
    /// The longest form is a dateTime, `9999-12-31T23:59:59.999+14:00`, 29 bytes.
    const CAPACITY: usize = 32;

    fn new() -> Text {
        Text {
            bytes: [0; Text::CAPACITY],
            length: 0,
        }
    }

    fn as_str(&self) -> &str {
        str::from_utf8(&self.bytes[..self.length]).expect("only ASCII is written")
    }

    fn push(&mut self, byte: u8) {
        debug_assert!(byte.is_ascii());
        self.bytes[self.length] = byte;
        self.length += 1;
    }

    fn push_str(&mut self, text: &str) {
        text.bytes().for_each(|byte| self.push(byte));
    }

    /// `value` in decimal, with leading zeros up to `width` digits.
    fn unsigned(&mut self, value: u64, width: usize) {
        let mut digits = [b'0'; 20];
        let mut start = digits.len();
        let mut rest = value;
        while rest > 0 || start + width > digits.len() {
            start -= 1;
            digits[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        digits[start..].iter().for_each(|&digit| self.push(digit));
    }

    /// `value` in decimal, canonical.
    fn signed(&mut self, value: i64) {
        if value < 0 {
            self.push(b'-');
        }
        self.unsigned(value.unsigned_abs(), 1);
    }
}

#[cfg(test)]
mod tests;
