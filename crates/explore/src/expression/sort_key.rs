//! The order of `ORDER BY` (SPARQL 1.1 Query section 15.1) as a total order.
//!
//! unbound or error < blank nodes < IRIs < literals < triple terms. Blank nodes by label, IRIs by
//! their characters. Literals whose values `<` can compare stand in that order; the specification
//! leaves the rest open. Here a literal's class decides first:
//!
//! boolean < number < NaN < dateTime < date < time < gYear < gYearMonth < gMonthDay < gMonth < gDay
//! < duration < string < tagged string < other
//!
//! and values that `<` finds equal are equal here too, so that the next key decides between `1`,
//! `1.0` and `01`. Where the values' own order is partial (a dateTime without timezone against one
//! with) it is made total: as if the timezone were UTC, then the one without first. Being total is
//! what sorting needs; the pairwise rule "by value if comparable, else by lexical form" has cycles
//! (`2 < 10`, `10 < "10"`, `"10" < 2`).
//!
//! A key owns its text. It is made once per row and key, so a comparison decodes nothing.

use super::compare::duration;
use super::fixed::{Fixed, UNIT};
use super::large::Large;
use super::scalar::Scalar;
use super::value::Value;
use oxrdf::{NamedOrBlankNode, TermRef, Triple};
use oxsdatatypes::{DateTime, Decimal, Duration, Time, TimezoneOffset};
use rdf::{Tag, VertexId};
use std::cmp::Ordering;
use std::ops::RangeInclusive;

/// Bytes of a triple term's key besides its text: a block of three keys for each level of nesting.
const TRIPLE_BYTES: usize = 2048;

/// What a row is sorted by.
#[derive(Clone, Debug)]
pub(crate) enum SortKey {
    Nothing,
    Blank(Box<str>),
    Iri(Box<str>),
    Boolean(bool),
    /// The nearest double, then the exact value.
    Number(f64, Exact),
    NotANumber,
    DateTime(DateTime, bool),
    /// The instant at which the day begins.
    Date(DateTime, bool),
    /// Seconds since the day began in UTC, negative where it began earlier.
    Time(Decimal, bool),
    /// Which part of a date, and the instant at which it begins.
    Part(u8, DateTime, bool),
    /// A reference instant later by the duration, and its months.
    Duration(DateTime, Duration),
    Text(Box<str>),
    Language(Box<str>, Box<str>, Option<bool>),
    Other(Box<str>, Box<str>),
    Triple(Box<[SortKey; 3]>),
}

/// The exact value of a number, among those with the same nearest double.
#[derive(Clone, Debug)]
pub(crate) enum Exact {
    /// A floating number that is no multiple of a unit; before those that are known.
    Unknown,
    /// In units of 10^-18.
    Units(i128),
    /// What is no multiple of a unit, or too large.
    Large(Box<Large>),
}

impl Ord for Exact {
    fn cmp(&self, other: &Exact) -> Ordering {
        let large = |units: i128| Large::of_fixed(Fixed::from_units(units));
        match (self, other) {
            (Exact::Unknown, Exact::Unknown) => Ordering::Equal,
            (Exact::Unknown, _) => Ordering::Less,
            (_, Exact::Unknown) => Ordering::Greater,
            (Exact::Units(one), Exact::Units(other)) => one.cmp(other),
            (Exact::Large(one), Exact::Large(other)) => one.cmp(other),
            (Exact::Units(one), Exact::Large(other)) => large(*one).cmp(other),
            (Exact::Large(one), Exact::Units(other)) => (**one).cmp(&large(*other)),
        }
    }
}

impl PartialOrd for Exact {
    fn partial_cmp(&self, other: &Exact) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Exact {
    fn eq(&self, other: &Exact) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Exact {}

impl SortKey {
    /// The key of a value; `None` is an unbound cell or an error.
    pub(crate) fn of(value: Option<&Value<'_>>) -> SortKey {
        match value {
            None => SortKey::Nothing,
            Some(Value::Iri(iri)) => SortKey::Iri(Box::from(*iri)),
            Some(Value::Blank(label)) => SortKey::Blank(Box::from(*label)),
            Some(Value::Text(text) | Value::Derived(text, _)) => SortKey::Text(Box::from(*text)),
            Some(Value::Language(text, language)) => SortKey::Language(
                Box::from(*text),
                Box::from(language.tag),
                language.rightward,
            ),
            Some(value @ Value::Scalar(scalar, _)) => {
                SortKey::of_scalar(*scalar).unwrap_or_else(|| SortKey::lexical(value))
            }
            Some(value @ Value::Large(..)) => {
                large_number(value).unwrap_or_else(|| SortKey::lexical(value))
            }
            Some(value @ Value::Other(..)) => SortKey::lexical(value),
            Some(Value::Triple(triple)) => SortKey::of_triple(triple),
        }
    }

    fn lexical(value: &Value<'_>) -> SortKey {
        let lexical = value.lexical_form().unwrap_or_default();
        SortKey::Other(
            Box::from(&*lexical),
            Box::from(value.datatype().unwrap_or_default()),
        )
    }

    fn of_scalar(scalar: Scalar) -> Option<SortKey> {
        Some(match scalar {
            Scalar::Boolean(value) => SortKey::Boolean(value),
            Scalar::Integer(value) => {
                SortKey::Number(value as f64, Exact::Units(i128::from(value) * UNIT))
            }
            Scalar::Decimal(value) => {
                SortKey::Number(value.to_double(), Exact::Units(value.units()))
            }
            Scalar::Float(value) => binary_number(f64::from(value)),
            Scalar::Double(value) => binary_number(f64::from(value)),
            Scalar::DateTime(value) => {
                let zoned = value.timezone_offset().is_some();
                SortKey::DateTime(value.adjust(Some(TimezoneOffset::UTC))?, zoned)
            }
            Scalar::Date(value) => {
                let zoned = value.timezone_offset().is_some();
                let begin = DateTime::try_from(value).ok()?;
                SortKey::Date(begin.adjust(Some(TimezoneOffset::UTC))?, zoned)
            }
            Scalar::Time(value) => {
                let zoned = value.timezone_offset().is_some();
                SortKey::Time(seconds_in_utc(value)?, zoned)
            }
            Scalar::GYear(_) => SortKey::of_part(0, scalar)?,
            Scalar::GYearMonth(_) => SortKey::of_part(1, scalar)?,
            Scalar::GMonthDay(_) => SortKey::of_part(2, scalar)?,
            Scalar::GMonth(_) => SortKey::of_part(3, scalar)?,
            Scalar::GDay(_) => SortKey::of_part(4, scalar)?,
            Scalar::Duration(_) | Scalar::YearMonth(_) | Scalar::DayTime(_) => {
                let duration = duration(scalar)?;
                let epoch: DateTime = "1969-09-01T00:00:00Z".parse().ok()?;
                SortKey::Duration(epoch.checked_add_duration(duration)?, duration)
            }
        })
    }

    /// The key of a part of a date; parts of the same kind mix.
    fn of_part(kind: u8, scalar: Scalar) -> Option<SortKey> {
        let begins = scalar.beginning()?;
        let zoned = begins.timezone_offset().is_some();
        Some(SortKey::Part(
            kind,
            begins.adjust(Some(TimezoneOffset::UTC))?,
            zoned,
        ))
    }

    fn of_triple(triple: &Triple) -> SortKey {
        let subject = match &triple.subject {
            NamedOrBlankNode::NamedNode(iri) => TermRef::NamedNode(iri.as_ref()),
            NamedOrBlankNode::BlankNode(blank) => TermRef::BlankNode(blank.as_ref()),
        };
        let parts = [
            subject,
            triple.predicate.as_ref().into(),
            triple.object.as_ref(),
        ];
        SortKey::Triple(Box::new(
            parts.map(|part| SortKey::of(Some(&Value::of_term(part)))),
        ))
    }

    /// The bytes that the key of a value takes beside itself, or more.
    pub(crate) fn bytes_of(value: &Value<'_>) -> usize {
        match value {
            Value::Scalar(..) => 0,
            Value::Triple(_) => value.form_bytes() + TRIPLE_BYTES,
            value => value.form_bytes(),
        }
    }

    /// Bytes beside the key itself.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            SortKey::Blank(text) | SortKey::Iri(text) | SortKey::Text(text) => text.len(),
            SortKey::Language(text, tag, _) => text.len() + tag.len(),
            SortKey::Other(lexical, datatype) => lexical.len() + datatype.len(),
            SortKey::Triple(parts) => {
                size_of::<[SortKey; 3]>() + parts.iter().map(SortKey::bytes).sum::<usize>()
            }
            SortKey::Number(_, Exact::Large(large)) => size_of::<Large>() + large.bytes(),
            _ => 0,
        }
    }

    /// How a value stands to this key, where both are of the same kind of text; `None` where it takes a key to
    /// tell. [`Ordering::Greater`]: it comes later.
    pub(crate) fn compare_text(&self, value: Option<&Value<'_>>) -> Option<Ordering> {
        match (value?, self) {
            (Value::Iri(text), SortKey::Iri(other))
            | (Value::Blank(text), SortKey::Blank(other))
            | (Value::Text(text) | Value::Derived(text, _), SortKey::Text(other)) => {
                Some((**text).cmp(other))
            }
            _ => None,
        }
    }

    /// The classes between which the key of an id's term is, as far as the id tells.
    pub(crate) fn classes_of(id: VertexId) -> RangeInclusive<u8> {
        match id.tag() {
            Some(Tag::Unbound) => 0..=0,
            Some(Tag::Blank) => 1..=1,
            Some(Tag::Iri | Tag::TransientIri) => 2..=2,
            Some(Tag::TripleTerm | Tag::TransientTriple) => 18..=18,
            Some(Tag::Literal | Tag::TransientLiteral) => 3..=17,
            Some(tag) if tag.is_inline() => 3..=17,
            _ => 0..=18,
        }
    }

    /// The rank of its kind.
    pub(crate) fn class(&self) -> u8 {
        match self {
            SortKey::Nothing => 0,
            SortKey::Blank(_) => 1,
            SortKey::Iri(_) => 2,
            SortKey::Boolean(_) => 3,
            SortKey::Number(..) => 4,
            SortKey::NotANumber => 5,
            SortKey::DateTime(..) => 6,
            SortKey::Date(..) => 7,
            SortKey::Time(..) => 8,
            SortKey::Part(kind, ..) => 9 + kind,
            SortKey::Duration(..) => 14,
            SortKey::Text(_) => 15,
            SortKey::Language(..) => 16,
            SortKey::Other(..) => 17,
            SortKey::Triple(_) => 18,
        }
    }
}

impl Ord for SortKey {
    fn cmp(&self, other: &SortKey) -> Ordering {
        use SortKey as K;
        match (self, other) {
            (K::Blank(left), K::Blank(right))
            | (K::Iri(left), K::Iri(right))
            | (K::Text(left), K::Text(right)) => left.cmp(right),
            (K::Boolean(left), K::Boolean(right)) => left.cmp(right),
            (K::Number(left, left_exact), K::Number(right, right_exact)) => left
                .total_cmp(right)
                .then_with(|| left_exact.cmp(right_exact)),
            (K::DateTime(left, zoned), K::DateTime(right, other))
            | (K::Date(left, zoned), K::Date(right, other)) => {
                instants(left, right).then_with(|| zoned.cmp(other))
            }
            (K::Part(kind, left, zoned), K::Part(other_kind, right, other)) => kind
                .cmp(other_kind)
                .then_with(|| instants(left, right))
                .then_with(|| zoned.cmp(other)),
            (K::Time(left, zoned), K::Time(right, other)) => {
                left.cmp(right).then_with(|| zoned.cmp(other))
            }
            (K::Duration(left, duration), K::Duration(right, other)) => {
                let months = |duration: &Duration| (duration.years(), duration.months());
                instants(left, right).then_with(|| months(duration).cmp(&months(other)))
            }
            (K::Language(left, tag, to), K::Language(right, other, other_to)) => {
                (left, tag, to).cmp(&(right, other, other_to))
            }
            (K::Other(left, datatype), K::Other(right, other)) => {
                (left, datatype).cmp(&(right, other))
            }
            (K::Triple(left), K::Triple(right)) => left.cmp(right),
            _ => self.class().cmp(&other.class()),
        }
    }
}

impl PartialOrd for SortKey {
    fn partial_cmp(&self, other: &SortKey) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for SortKey {
    fn eq(&self, other: &SortKey) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for SortKey {}

/// Seconds from the beginning of a time's day to it, both in UTC: `01:00:00+02:00` is an hour before
/// midnight of its day, as `<` has it. Adjusting the time itself would wrap around.
fn seconds_in_utc(time: Time) -> Option<Decimal> {
    let whole = i64::from(time.hour()) * 3600 + i64::from(time.minute()) * 60;
    let local = Decimal::from(whole).checked_add(time.second())?;
    match time.timezone() {
        Some(offset) => local.checked_sub(offset.as_seconds()),
        None => Some(local),
    }
}

/// Instants in UTC are totally ordered.
fn instants(left: &DateTime, right: &DateTime) -> Ordering {
    left.partial_cmp(right).unwrap_or(Ordering::Equal)
}

/// The key of a number that no scalar holds. Its nearest double grows with it, so all numbers mix.
fn large_number(value: &Value<'_>) -> Option<SortKey> {
    let large = Large::of(value)?;
    Some(SortKey::Number(
        large.to_double()?,
        Exact::Large(Box::new(large)),
    ))
}

fn binary_number(value: f64) -> SortKey {
    if value.is_nan() {
        return SortKey::NotANumber;
    }
    let exact = exact_units(value).map_or(Exact::Unknown, Exact::Units);
    SortKey::Number(value + 0.0, exact)
}

/// The double in units, where it is a multiple of one and small enough.
fn exact_units(value: f64) -> Option<i128> {
    const LARGEST: f64 = 1e20;
    const SMALLEST_EXPONENT: i32 = -60;
    if value == 0.0 {
        return Some(0);
    }
    if value.abs() >= LARGEST {
        return None;
    }
    let bits = value.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i32 - 1075;
    let fraction = i128::from(bits & ((1 << 52) - 1));
    let mantissa = if exponent == -1075 {
        return None;
    } else {
        fraction | (1 << 52)
    };
    let zeros = mantissa.trailing_zeros() as i32;
    let (mantissa, exponent) = (mantissa >> zeros, exponent + zeros);
    if exponent < SMALLEST_EXPONENT {
        return None;
    }
    let scaled = mantissa.checked_mul(UNIT)?;
    let units = if exponent >= 0 {
        scaled.checked_mul(1_i128.checked_shl(exponent as u32)?)?
    } else {
        let divisor = 1_i128 << -exponent;
        if scaled % divisor != 0 {
            return None;
        }
        scaled / divisor
    };
    Some(if value < 0.0 { -units } else { units })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::compare::compare;
    use oxrdf::{BlankNode, Literal, NamedNode, Term};
    use query::expression::Comparison;

    const TYPED: &[(&str, &[&str])] = &[
        ("boolean", &["false", "true", "x"]),
        (
            "integer",
            &["1", "01", "3", "-7", "9007199254740993", "9007199254740992"],
        ),
        (
            "decimal",
            &[
                "1.0",
                "0.1",
                "-7.5",
                "0.3",
                "9007199254740992.5",
                "170141183460469231731",
                "170141183460469231732",
                "1.00000000000000000000001",
                "-123456789012345678901234567890",
            ],
        ),
        (
            "double",
            &[
                "1e0",
                "0.1e0",
                "0.3",
                "1e300",
                "-INF",
                "NaN",
                "-0.0",
                "0",
                "9007199254740992",
            ],
        ),
        ("float", &["1", "0.1", "INF", "NaN"]),
        (
            "dateTime",
            &[
                "2020-01-01T00:00:00",
                "2020-01-01T00:00:00Z",
                "2020-01-01T02:00:00+02:00",
                "2020-01-01T20:00:00-02:00",
                "1960-01-01T00:00:00",
            ],
        ),
        (
            "date",
            &[
                "2020-01-01",
                "2020-01-01Z",
                "2019-12-31+05:00",
                "2020-01-02+02:00",
            ],
        ),
        (
            "time",
            &["00:00:00Z", "01:00:00+02:00", "23:59:59Z", "12:00:00"],
        ),
        ("time", &["00:00:00", "10:00:00Z", "12:00:00+02:00"]),
        (
            "duration",
            &["P1M", "P30D", "P1Y", "P365D", "P12M", "-P1D", "PT0S"],
        ),
        ("gYear", &["2020", "2020Z", "2019-14:00", "-0044"]),
        ("gYearMonth", &["2020-01", "2020-01Z", "2019-12"]),
        ("gMonthDay", &["--02-29", "--12-31+14:00"]),
        ("gMonth", &["--01", "--12Z"]),
        ("gDay", &["---01", "---31"]),
        ("token", &["b", "a b", " x"]),
        ("anyURI", &["b", "http://e/a"]),
        ("byte", &["1", "128"]),
        ("yearMonthDuration", &["P1Y", "P2Y"]),
        ("dayTimeDuration", &["P1D", "PT24H", "PT1S"]),
    ];

    fn terms() -> Vec<Term> {
        let mut terms: Vec<Term> = vec![
            NamedNode::new_unchecked("http://e/b").into(),
            NamedNode::new_unchecked("http://e/a").into(),
            BlankNode::new_unchecked("b").into(),
            BlankNode::new_unchecked("a").into(),
            Literal::new_simple_literal("").into(),
            Literal::new_simple_literal("b").into(),
            Literal::new_simple_literal("\u{e9}").into(),
            Literal::new_language_tagged_literal_unchecked("b", "en").into(),
            Literal::new_language_tagged_literal_unchecked("a", "fr").into(),
            Literal::new_language_tagged_literal_unchecked("a", "en").into(),
        ];
        for (datatype, forms) in TYPED {
            let datatype = format!("http://www.w3.org/2001/XMLSchema#{datatype}");
            terms.extend(forms.iter().map(|form| {
                Literal::new_typed_literal(*form, NamedNode::new_unchecked(&datatype)).into()
            }));
        }
        terms
    }

    #[test]
    fn the_order_is_total() {
        let terms = terms();
        let keys: Vec<SortKey> = terms
            .iter()
            .map(|term| SortKey::of(Some(&Value::of_term(term.as_ref()))))
            .collect();
        for a in &keys {
            assert_eq!(a.cmp(a), Ordering::Equal);
            assert_eq!(SortKey::Nothing.cmp(a), Ordering::Less);
            for b in &keys {
                assert_eq!(a.cmp(b), b.cmp(a).reverse(), "{a:?} {b:?}");
                for c in keys.iter().filter(|c| b.cmp(c).is_le() && a.cmp(b).is_le()) {
                    assert!(a.cmp(c).is_le(), "{a:?} {b:?} {c:?}");
                }
            }
        }
    }

    #[test]
    fn the_order_is_that_of_the_operators() {
        let terms = terms();
        for left in &terms {
            for right in &terms {
                let values = [left, right].map(|term| Value::of_term(term.as_ref()));
                let [a, b] = &values;
                let order = SortKey::of(Some(a)).cmp(&SortKey::of(Some(b)));
                if compare(Comparison::Less, a, b) == Some(true) {
                    assert_eq!(order, Ordering::Less, "{left} {right}");
                }
                let exact = !matches!(order, Ordering::Equal)
                    && compare(Comparison::Equal, a, b) == Some(true);
                let rounded = |term: &Term| {
                    term.to_string().contains("double") || term.to_string().contains("float")
                };
                assert!(!exact || rounded(left) || rounded(right), "{left} {right}");
            }
        }
    }
}
