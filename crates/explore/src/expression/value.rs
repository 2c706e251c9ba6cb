//! The value of a term, as operators see it (SPARQL 1.1 Query sections 17.1 and 17.2).
//!
//! A value borrows its text: from the lexicon's buffer, the query's constants, or what a batch
//! computed ([`super::batch::Arena`]). So it is copied freely, and a column of values allocates nothing per
//! row. It keeps how its term was written: `STR`, `DATATYPE` and `sameTerm` look at the term, not at
//! its value, so `"01"^^xsd:integer` stays `01`. A literal of a datatype with values whose lexical
//! form is not one of it (`"x"^^xsd:integer`) is [`Value::Other`], as is every literal of an unknown
//! datatype: operators have no opinion on it. Integers and decimals that no [`Scalar`] holds are
//! [`Value::Large`]: their text is what is kept of them, and [`super::large`] computes with it. Of the
//! datatypes derived from `xsd:string` the text is the value ([`super::derived`]).
//!
//! Language tags compare without regard to case (RDF 1.2 Concepts section 3.3); everything else by
//! code points.

use super::derived;
use super::large::is_large;
use super::scalar::{Scalar, XSD};
use oxrdf::vocab::{rdf as rdf_names, xsd};
use oxrdf::{BaseDirection, LiteralRef, NamedNodeRef, TermRef, Triple};
use oxsdatatypes::Boolean;
use rdf::{TermBuffer, VertexId, inline};
use std::borrow::Cow;
use std::fmt::Write as _;

/// Bytes of a computed number or date with its datatype.
const SCALAR_BYTES_MAX: usize = 256;

/// The value of a term.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    /// An IRI.
    Iri(&'a str),
    /// A blank node, by its label.
    Blank(&'a str),
    /// An `xsd:string`.
    Text(&'a str),
    /// A language-tagged string.
    Language(&'a str, Language<'a>),
    /// A literal of a datatype with values.
    Scalar(Scalar, Form<'a>),
    /// An integer or a decimal that no scalar holds: lexical form and datatype.
    Large(&'a str, &'a str),
    /// A literal of a datatype derived from `xsd:string`, or an `xsd:anyURI`: lexical form and datatype.
    Derived(&'a str, &'a str),
    /// Any other literal: lexical form and datatype.
    Other(&'a str, &'a str),
    /// A triple term.
    Triple(&'a Triple),
}

/// What makes a string language-tagged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Language<'a> {
    /// The tag.
    pub(crate) tag: &'a str,
    /// Left-to-right is false, right-to-left true; RDF 1.2.
    pub(crate) rightward: Option<bool>,
}

impl PartialEq for Language<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.tag.eq_ignore_ascii_case(other.tag) && self.rightward == other.rightward
    }
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
            TermRef::NamedNode(iri) => Value::Iri(iri.as_str()),
            TermRef::BlankNode(blank) => Value::Blank(blank.as_str()),
            TermRef::Literal(literal) => Value::of_literal(literal),
            TermRef::Triple(triple) => Value::Triple(triple),
        }
    }

    fn of_literal(literal: LiteralRef<'a>) -> Value<'a> {
        match literal.language() {
            Some(tag) => {
                let direction = literal.direction();
                let rightward = direction.map(|direction| direction == BaseDirection::Rtl);
                Value::Language(literal.value(), Language { tag, rightward })
            }
            None => Value::typed(literal.value(), literal.datatype().as_str()),
        }
    }

    /// The value of a literal with this lexical form and datatype, which is none of the language
    /// types.
    pub(crate) fn typed(lexical: &'a str, datatype: &'a str) -> Value<'a> {
        if datatype == xsd::STRING.as_str() {
            return Value::Text(lexical);
        }
        match Scalar::parse(lexical, datatype) {
            Some(scalar) => Value::Scalar(scalar, Form::Written(lexical, datatype)),
            None => match datatype.strip_prefix(XSD) {
                Some(local_name) if is_large(lexical, local_name) => {
                    Value::Large(lexical, datatype)
                }
                Some(local_name) if derived::has(local_name, lexical) => {
                    Value::Derived(lexical, datatype)
                }
                _ => Value::Other(lexical, datatype),
            },
        }
    }

    /// The value of an inline id; `None` where the bits hold none.
    pub(crate) fn of_inline(id: VertexId) -> Option<Value<'a>> {
        Some(Value::Scalar(Scalar::of_inline(id)?, Form::Inline(id)))
    }

    /// The text of a string without a language: of an `xsd:string`, or of what is derived from it.
    pub(crate) fn plain_text(&self) -> Option<&'a str> {
        match self {
            Value::Text(text) | Value::Derived(text, _) => Some(text),
            _ => None,
        }
    }

    /// The effective boolean value; `None` is an error. By SPARQL 1.2 (section 17.2.2 of its draft, and
    /// the suite's test `not-not`) an ill-formed number or boolean has none, nor has a language-tagged
    /// string; 1.1 took the former for false.
    pub(crate) fn truth(&self) -> Option<bool> {
        Some(match self {
            Value::Text(text) => !text.is_empty(),
            Value::Scalar(Scalar::Boolean(value), _) => *value,
            Value::Scalar(Scalar::Integer(value), _) => *value != 0,
            Value::Scalar(Scalar::Decimal(value), _) => !value.is_zero(),
            // Zero is a scalar.
            Value::Large(..) => true,
            Value::Scalar(Scalar::Float(value), _) => Boolean::from(*value).into(),
            Value::Scalar(Scalar::Double(value), _) => Boolean::from(*value).into(),
            _ => return None,
        })
    }

    /// Whether `isNUMERIC` holds (section 17.4.2.4).
    pub(crate) fn is_numeric(&self) -> bool {
        match self {
            Value::Scalar(scalar, _) => scalar.is_numeric(),
            Value::Large(..) => true,
            _ => false,
        }
    }

    /// About the bytes of the term's text, at least as many as it has.
    pub(crate) fn form_bytes(&self) -> usize {
        match self {
            Value::Iri(text) | Value::Blank(text) | Value::Text(text) => text.len(),
            Value::Language(text, language) => text.len() + language.tag.len(),
            Value::Scalar(_, Form::Written(lexical, datatype))
            | Value::Large(lexical, datatype)
            | Value::Derived(lexical, datatype)
            | Value::Other(lexical, datatype) => lexical.len() + datatype.len(),
            Value::Scalar(..) => SCALAR_BYTES_MAX,
            Value::Triple(triple) => {
                let bytes = crate::local::text_bytes(TermRef::Triple(triple));
                usize::try_from(bytes).unwrap_or(usize::MAX)
            }
        }
    }

    /// The lexical form, where it is text already.
    pub(crate) fn borrowed_form(&self) -> Option<&'a str> {
        match self {
            Value::Text(text) | Value::Language(text, _) => Some(text),
            Value::Scalar(_, Form::Written(lexical, _))
            | Value::Large(lexical, _)
            | Value::Derived(lexical, _)
            | Value::Other(lexical, _) => Some(lexical),
            _ => None,
        }
    }

    /// Appends the lexical form of a literal; `None` for other terms, and where a computed value
    /// has none.
    pub(crate) fn write_form(&self, into: &mut String) -> Option<()> {
        match self {
            Value::Scalar(scalar, Form::Computed) => scalar.write(into),
            Value::Scalar(_, Form::Inline(id)) => {
                write_inline(*id, into);
                Some(())
            }
            other => {
                into.push_str(other.borrowed_form()?);
                Some(())
            }
        }
    }

    /// The lexical form of a literal; `None` for other terms.
    pub(crate) fn lexical_form(&self) -> Option<Cow<'a, str>> {
        if let Some(form) = self.borrowed_form() {
            return Some(Cow::Borrowed(form));
        }
        let mut form = String::new();
        self.write_form(&mut form)?;
        Some(Cow::Owned(form))
    }

    /// The datatype IRI of a literal; `None` for other terms.
    pub(crate) fn datatype(&self) -> Option<&'a str> {
        Some(match self {
            Value::Text(_) => xsd::STRING.as_str(),
            Value::Language(_, language) if language.rightward.is_none() => {
                rdf_names::LANG_STRING.as_str()
            }
            Value::Language(..) => rdf_names::DIR_LANG_STRING.as_str(),
            Value::Scalar(_, Form::Written(_, datatype))
            | Value::Large(_, datatype)
            | Value::Derived(_, datatype)
            | Value::Other(_, datatype) => datatype,
            Value::Scalar(scalar, _) => scalar.datatype(),
            Value::Iri(_) | Value::Blank(_) | Value::Triple(_) => return None,
        })
    }

    /// The term whose text is borrowed already; `None` for scalars that are not written.
    pub(crate) fn borrowed_term(&self) -> Option<TermRef<'a>> {
        Some(match *self {
            Value::Iri(iri) => NamedNodeRef::new_unchecked(iri).into(),
            Value::Blank(label) => oxrdf::BlankNodeRef::new_unchecked(label).into(),
            Value::Text(text) => LiteralRef::new_simple_literal(text).into(),
            Value::Language(text, Language { tag, rightward }) => match rightward {
                None => LiteralRef::new_language_tagged_literal_unchecked(text, tag),
                Some(rightward) => LiteralRef::new_directional_language_tagged_literal_unchecked(
                    text,
                    tag,
                    if rightward {
                        BaseDirection::Rtl
                    } else {
                        BaseDirection::Ltr
                    },
                ),
            }
            .into(),
            Value::Triple(triple) => TermRef::Triple(triple),
            Value::Scalar(_, Form::Written(lexical, datatype))
            | Value::Large(lexical, datatype)
            | Value::Derived(lexical, datatype)
            | Value::Other(lexical, datatype) => {
                let datatype = NamedNodeRef::new_unchecked(datatype);
                LiteralRef::new_typed_literal(lexical, datatype).into()
            }
            Value::Scalar(..) => return None,
        })
    }

    /// The term; `None` where a computed value has no lexical form.
    #[expect(
        clippy::wrong_self_convention,
        reason = "it is large for something that can be copied"
    )]
    pub(crate) fn to_term(&self) -> Option<oxrdf::Term> {
        if let Some(term) = self.borrowed_term() {
            return Some(term.into_owned());
        }
        let (lexical, datatype) = (self.lexical_form()?, self.datatype()?);
        let datatype = NamedNodeRef::new_unchecked(datatype);
        Some(
            LiteralRef::new_typed_literal(&lexical, datatype)
                .into_owned()
                .into(),
        )
    }

    /// Whether it is a literal.
    pub(crate) fn is_literal(&self) -> bool {
        !matches!(self, Value::Iri(_) | Value::Blank(_) | Value::Triple(_))
    }

    /// Whether both are the same term (section 17.4.1.8).
    pub(crate) fn is_same_term(&self, other: &Value<'_>) -> bool {
        match (self, other) {
            (Value::Iri(left), Value::Iri(right))
            | (Value::Text(left), Value::Text(right))
            | (Value::Blank(left), Value::Blank(right)) => left == right,
            (Value::Language(left, language), Value::Language(right, other)) => {
                left == right && language == other
            }
            (Value::Triple(left), Value::Triple(right)) => left == right,
            (Value::Scalar(_, Form::Inline(left)), Value::Scalar(_, Form::Inline(right))) => {
                left == right
            }
            (
                Value::Scalar(..) | Value::Large(..) | Value::Derived(..) | Value::Other(..),
                Value::Scalar(..) | Value::Large(..) | Value::Derived(..) | Value::Other(..),
            ) => self.datatype() == other.datatype() && self.lexical_form() == other.lexical_form(),
            _ => false,
        }
    }

    /// Whether both are the same text at the same place, so that a function of one is the function of
    /// the other. May be false for equal values.
    pub(crate) fn is_identical(&self, other: &Value<'_>) -> bool {
        let same = |left: &str, right: &str| std::ptr::eq(left, right);
        match (self, other) {
            (Value::Iri(left), Value::Iri(right))
            | (Value::Text(left), Value::Text(right))
            | (Value::Blank(left), Value::Blank(right)) => same(left, right),
            (Value::Language(left, language), Value::Language(right, other)) => {
                same(left, right)
                    && same(language.tag, other.tag)
                    && language.rightward == other.rightward
            }
            (Value::Triple(left), Value::Triple(right)) => std::ptr::eq(*left, *right),
            (Value::Scalar(_, Form::Inline(left)), Value::Scalar(_, Form::Inline(right))) => {
                left == right
            }
            (
                Value::Scalar(_, Form::Written(left, datatype)),
                Value::Scalar(_, Form::Written(right, other)),
            )
            | (Value::Large(left, datatype), Value::Large(right, other))
            | (Value::Derived(left, datatype), Value::Derived(right, other))
            | (Value::Other(left, datatype), Value::Other(right, other)) => {
                same(left, right) && same(datatype, other)
            }
            _ => false,
        }
    }
}

/// Appends the lexical form that an inline id stands for.
fn write_inline(id: VertexId, into: &mut String) {
    if let Some(integer) = inline::integer(id) {
        write!(into, "{integer}").expect("a string takes everything");
        return;
    }
    let mut terms = TermBuffer::new();
    inline::decode(id, &mut terms).expect("its value was decoded before its form is asked for");
    match terms.get(0) {
        Some(TermRef::Literal(literal)) => into.push_str(literal.value()),
        _ => unreachable!("an inline id is a literal"),
    }
}
