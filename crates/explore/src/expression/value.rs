//! The value of a term, as operators see it (SPARQL 1.1 Query sections 17.1 and 17.2).
//!
//! A value borrows the text of its term wherever it can, and keeps how the term was written:
//! `STR`, `DATATYPE` and `sameTerm` look at the term, not at its value, so `"01"^^xsd:integer` stays
//! `01`. A literal of a datatype with values whose lexical form is not one of it (`"x"^^xsd:integer`)
//! is [`Value::Other`], as is every literal of an unknown datatype: operators have no opinion on it.
//!
//! Integers are 64 bits and decimals 128, as in `oxsdatatypes`; larger ones are `Other` too, but still
//! numbers for `isNUMERIC` and for sorting.

use oxrdf::vocab::{rdf as rdf_names, xsd};
use oxrdf::{BaseDirection, LiteralRef, TermRef, Triple};
use oxsdatatypes::{
    Boolean, Date, DateTime, DayTimeDuration, Decimal, Double, Duration, Float, Integer, Time,
    YearMonthDuration,
};
use rdf::{TermBuffer, VertexId, inline};
use std::borrow::Cow;
use std::fmt::Write as _;

/// The namespace of the datatypes with values.
const XSD: &str = "http://www.w3.org/2001/XMLSchema#";

/// The value of a term.
#[derive(Clone, Debug)]
pub(crate) enum Value<'a> {
    /// An IRI.
    Iri(Cow<'a, str>),
    /// A blank node, by its label.
    Blank(&'a str),
    /// An `xsd:string`.
    Text(Cow<'a, str>),
    /// A language-tagged string.
    Language(Cow<'a, str>, Language<'a>),
    /// A literal of a datatype with values.
    Scalar(Scalar, Form<'a>),
    /// Any other literal: lexical form and datatype.
    Other(&'a str, &'a str),
    /// A triple term.
    Triple(&'a Triple),
}

/// What makes a string language-tagged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Language<'a> {
    /// The tag, in lower case.
    pub(crate) tag: &'a str,
    /// Left-to-right is false, right-to-left true; RDF 1.2.
    pub(crate) rightward: Option<bool>,
}

/// How a scalar was written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form<'a> {
    /// It was computed: its canonical form and datatype.
    Computed,
    /// As the inline id says.
    Inline(VertexId),
    /// Lexical form and datatype.
    Written(&'a str, &'a str),
}

/// A value of one of the XML Schema datatypes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scalar {
    Boolean(bool),
    Integer(Integer),
    Decimal(Decimal),
    Float(Float),
    Double(Double),
    DateTime(DateTime),
    Date(Date),
    Time(Time),
    Duration(Duration),
    YearMonth(YearMonthDuration),
    DayTime(DayTimeDuration),
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Value::computed(Scalar::Boolean(value))
    }
}

impl<'a> Value<'a> {
    /// A computed scalar.
    pub(crate) fn computed(scalar: Scalar) -> Value<'a> {
        Value::Scalar(scalar, Form::Computed)
    }

    /// The value of a term.
    pub(crate) fn of_term(term: TermRef<'a>) -> Value<'a> {
        match term {
            TermRef::NamedNode(iri) => Value::Iri(Cow::Borrowed(iri.as_str())),
            TermRef::BlankNode(blank) => Value::Blank(blank.as_str()),
            TermRef::Literal(literal) => Value::of_literal(literal),
            TermRef::Triple(triple) => Value::Triple(triple),
        }
    }

    fn of_literal(literal: LiteralRef<'a>) -> Value<'a> {
        let (lexical, datatype) = (literal.value(), literal.datatype());
        if let Some(tag) = literal.language() {
            let rightward = literal
                .direction()
                .map(|direction| direction == BaseDirection::Rtl);
            return Value::Language(Cow::Borrowed(lexical), Language { tag, rightward });
        }
        if datatype == xsd::STRING {
            return Value::Text(Cow::Borrowed(lexical));
        }
        let datatype = datatype.as_str();
        match Scalar::parse(lexical, datatype) {
            Some(scalar) => Value::Scalar(scalar, Form::Written(lexical, datatype)),
            None => Value::Other(lexical, datatype),
        }
    }

    /// The value of an inline id; `None` where the bits hold none.
    pub(crate) fn of_inline(id: VertexId) -> Option<Value<'a>> {
        Some(Value::Scalar(Scalar::of_inline(id)?, Form::Inline(id)))
    }

    /// The effective boolean value (section 17.2.2); `None` is an error.
    pub(crate) fn truth(&self) -> Option<bool> {
        Some(match self {
            Value::Text(text) | Value::Language(text, _) => !text.is_empty(),
            Value::Scalar(Scalar::Boolean(value), _) => *value,
            Value::Scalar(Scalar::Integer(value), _) => Boolean::from(*value).into(),
            Value::Scalar(Scalar::Decimal(value), _) => Boolean::from(*value).into(),
            Value::Scalar(Scalar::Float(value), _) => Boolean::from(*value).into(),
            Value::Scalar(Scalar::Double(value), _) => Boolean::from(*value).into(),
            Value::Other(_, datatype) if is_boolean_or_numeric(datatype) => false,
            _ => return None,
        })
    }

    /// Whether `isNUMERIC` holds (section 17.4.2.4).
    pub(crate) fn is_numeric(&self) -> bool {
        match self {
            Value::Scalar(scalar, _) => scalar.is_numeric(),
            Value::Other(lexical, datatype) => large_number(lexical, datatype).is_some(),
            _ => false,
        }
    }

    /// The lexical form of a literal; `None` for other terms.
    pub(crate) fn lexical_form(&self) -> Option<Cow<'a, str>> {
        Some(match self {
            Value::Text(text) | Value::Language(text, _) => text.clone(),
            Value::Scalar(scalar, form) => match form {
                Form::Computed => Cow::Owned(scalar.canonical_form()?),
                Form::Inline(id) => Cow::Owned(inline_form(*id)),
                Form::Written(lexical, _) => Cow::Borrowed(lexical),
            },
            Value::Other(lexical, _) => Cow::Borrowed(lexical),
            Value::Iri(_) | Value::Blank(_) | Value::Triple(_) => return None,
        })
    }

    /// The datatype IRI of a literal; `None` for other terms.
    pub(crate) fn datatype(&self) -> Option<Cow<'a, str>> {
        Some(Cow::Borrowed(match self {
            Value::Text(_) => xsd::STRING.as_str(),
            Value::Language(
                _,
                Language {
                    rightward: None, ..
                },
            ) => rdf_names::LANG_STRING.as_str(),
            Value::Language(..) => rdf_names::DIR_LANG_STRING.as_str(),
            Value::Scalar(_, Form::Written(_, datatype)) | Value::Other(_, datatype) => datatype,
            Value::Scalar(scalar, _) => scalar.datatype(),
            Value::Iri(_) | Value::Blank(_) | Value::Triple(_) => return None,
        }))
    }

    /// The term; `None` where a computed value has no lexical form.
    pub(crate) fn to_term(&self) -> Option<oxrdf::Term> {
        use oxrdf::{BlankNode, Literal, NamedNode};
        Some(match self {
            Value::Iri(iri) => NamedNode::new_unchecked(iri.as_ref()).into(),
            Value::Blank(label) => BlankNode::new_unchecked(*label).into(),
            Value::Language(text, language) => {
                let tag = language.tag.to_owned();
                match language.rightward {
                    None => Literal::new_language_tagged_literal_unchecked(text.as_ref(), tag),
                    Some(rightward) => {
                        let direction = if rightward {
                            BaseDirection::Rtl
                        } else {
                            BaseDirection::Ltr
                        };
                        Literal::new_directional_language_tagged_literal_unchecked(
                            text.as_ref(),
                            tag,
                            direction,
                        )
                    }
                }
                .into()
            }
            Value::Triple(triple) => oxrdf::Term::from((*triple).clone()),
            literal => {
                let lexical = literal.lexical_form()?;
                let datatype = NamedNode::new_unchecked(literal.datatype()?.as_ref());
                Literal::new_typed_literal(lexical.as_ref(), datatype).into()
            }
        })
    }

    /// Whether it is a literal.
    pub(crate) fn is_literal(&self) -> bool {
        !matches!(self, Value::Iri(_) | Value::Blank(_) | Value::Triple(_))
    }

    /// Whether both are the same term (section 17.4.1.8).
    pub(crate) fn is_same_term(&self, other: &Value<'_>) -> bool {
        match (self, other) {
            (Value::Iri(left), Value::Iri(right)) | (Value::Text(left), Value::Text(right)) => {
                left == right
            }
            (Value::Blank(left), Value::Blank(right)) => left == right,
            (Value::Language(left, language), Value::Language(right, other)) => {
                left == right && language == other
            }
            (Value::Triple(left), Value::Triple(right)) => left == right,
            (Value::Scalar(..) | Value::Other(..), Value::Scalar(..) | Value::Other(..)) => {
                self.datatype() == other.datatype() && self.lexical_form() == other.lexical_form()
            }
            _ => false,
        }
    }

    /// Bytes of text that this value owns, for the accounting of memory.
    pub(crate) fn owned_bytes(&self) -> usize {
        match self {
            Value::Iri(Cow::Owned(text))
            | Value::Text(Cow::Owned(text))
            | Value::Language(Cow::Owned(text), _) => text.capacity(),
            _ => 0,
        }
    }
}

impl Scalar {
    /// The value of a lexical form; `None` where the datatype has no values here or the form is
    /// none of it.
    pub(crate) fn parse(lexical: &str, datatype: &str) -> Option<Scalar> {
        Some(match datatype.strip_prefix(XSD)? {
            "boolean" => Scalar::Boolean(lexical.parse::<Boolean>().ok()?.into()),
            "integer" => Scalar::Integer(lexical.parse().ok()?),
            "decimal" => Scalar::Decimal(lexical.parse().ok()?),
            "float" => Scalar::Float(lexical.parse().ok()?),
            "double" => Scalar::Double(lexical.parse().ok()?),
            "dateTime" => Scalar::DateTime(lexical.parse().ok()?),
            "date" => Scalar::Date(lexical.parse().ok()?),
            "time" => Scalar::Time(lexical.parse().ok()?),
            "duration" => Scalar::Duration(lexical.parse().ok()?),
            "yearMonthDuration" => Scalar::YearMonth(lexical.parse().ok()?),
            "dayTimeDuration" => Scalar::DayTime(lexical.parse().ok()?),
            "dateTimeStamp" => {
                let value: DateTime = lexical.parse().ok()?;
                value.timezone_offset()?;
                Scalar::DateTime(value)
            }
            derived => {
                let (least, greatest) = integer_range(derived)?;
                let value: Integer = lexical.parse().ok()?;
                if !(least..=greatest).contains(&i64::from(value)) {
                    return None;
                }
                Scalar::Integer(value)
            }
        })
    }

    fn of_inline(id: VertexId) -> Option<Scalar> {
        Some(match id.tag()? {
            rdf::Tag::Integer => Scalar::Integer(inline::integer(id)?.into()),
            rdf::Tag::Boolean => Scalar::Boolean(inline::boolean(id)?),
            rdf::Tag::Decimal => Scalar::Decimal(inline::decimal(id)?),
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

    /// The canonical form; `None` for a duration whose parts differ in sign, which has none.
    fn canonical_form(self) -> Option<String> {
        let mut form = String::new();
        match self {
            Scalar::Boolean(value) => write!(form, "{value}"),
            Scalar::Integer(value) => write!(form, "{value}"),
            Scalar::Decimal(value) => write!(form, "{value}"),
            Scalar::Float(value) => write!(form, "{value}"),
            Scalar::Double(value) => write!(form, "{value}"),
            Scalar::DateTime(value) => write!(form, "{value}"),
            Scalar::Date(value) => write!(form, "{value}"),
            Scalar::Time(value) => write!(form, "{value}"),
            Scalar::Duration(value) => write!(form, "{value}"),
            Scalar::YearMonth(value) => write!(form, "{value}"),
            Scalar::DayTime(value) => write!(form, "{value}"),
        }
        .ok()
        .map(|()| form)
    }

    fn datatype(self) -> &'static str {
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
        }
        .as_str()
    }
}

/// The lexical form that an inline id stands for.
fn inline_form(id: VertexId) -> String {
    let mut terms = TermBuffer::new();
    inline::decode(id, &mut terms).expect("its value was decoded before its form is asked for");
    match terms.get(0) {
        Some(TermRef::Literal(literal)) => literal.value().to_owned(),
        _ => unreachable!("an inline id is a literal"),
    }
}

/// The values of the types derived from `xsd:integer` (XML Schema part 2, section 3.4), as far as
/// 64 bits go.
fn integer_range(local: &str) -> Option<(i64, i64)> {
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

/// The nearest double of an integer or decimal too large to be a [`Scalar`]; `None` where the form is
/// none of the datatype.
pub(crate) fn large_number(lexical: &str, datatype: &str) -> Option<f64> {
    let local = datatype.strip_prefix(XSD)?;
    let is_negative = lexical.starts_with('-');
    let unsigned = lexical.strip_prefix(['+', '-']).unwrap_or(lexical);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let has_digit = !whole.is_empty() || !fraction.is_empty();
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !has_digit || !are_digits(whole) || !are_digits(fraction) {
        return None;
    }
    let fits = match local {
        "decimal" => true,
        _ if unsigned.contains('.') => false,
        "integer" => true,
        "unsignedLong" => !is_negative && unsigned.parse::<u64>().is_ok(),
        "nonNegativeInteger" | "positiveInteger" => !is_negative,
        "nonPositiveInteger" | "negativeInteger" => is_negative,
        _ => false,
    };
    // A range of 64 bits has decided already what it holds.
    let is_large = local == "decimal" || lexical.parse::<Integer>().is_err();
    (fits && is_large).then(|| lexical.parse().ok()).flatten()
}

/// Whether an ill-formed literal of this type has the effective boolean value false.
fn is_boolean_or_numeric(datatype: &str) -> bool {
    datatype.strip_prefix(XSD).is_some_and(|local| {
        matches!(
            local,
            "boolean" | "integer" | "decimal" | "float" | "double"
        ) || integer_range(local).is_some()
    })
}
