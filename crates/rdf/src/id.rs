//! Compact ids: what a term is inside the engine.
//!
//! A [`VertexId`] is 64 bits: a 4-bit [`Tag`] above a 60-bit payload. The tag says what kind of
//! term it is and how the payload is to be read; equality of ids is equality of terms within a
//! query, so joins, `DISTINCT` and `sameTerm` never look at text.
//!
//! ```text
//!  63   60 59                                                           0
//! +-------+--------------------------------------------------------------+
//! |  tag  |  payload: dictionary ordinal, number of a blank node, value   |
//! +-------+--------------------------------------------------------------+
//! ```
//!
//! Each kind of dictionary term (IRI, blank node, literal, triple term) has a tag and a dense
//! sequence of ordinals of its own, given in order of first appearance. So key sets over
//! subjects are denser than if literals shared their sequence, `isIRI` and `isLiteral` are
//! answered by the tag, and the dictionary falls into one stream per kind. The price is that a
//! column of mixed kinds needs [planes](../../store) in its 4-byte code.
//!
//! Inline tags hold a value wherever the inline form gives back exactly the same lexical form and
//! datatype (see `rdf::inline`); every other literal goes to the dictionary, so a term has exactly
//! one id.
//!
//! The order of ids within a tag is meaningful: dictionary ids by first appearance, inline
//! integers by value. Nothing may rely on an order between tags except that it is fixed.

use std::fmt;

/// How the payload of a [`VertexId`] is to be read. The numbers are part of the file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Tag {
    /// An IRI of the dictionary; the payload is its ordinal.
    Iri = 0,
    /// A blank node; the payload is its number, its label is made from it.
    Blank = 1,
    /// A literal of the dictionary; the payload is its ordinal.
    Literal = 2,
    /// An RDF 1.2 triple term of the dictionary; the payload is its ordinal.
    TripleTerm = 3,
    /// An inline `xsd:integer` in canonical form, biased so that ids order as values do.
    Integer = 4,
    /// An inline `xsd:boolean`, `"false"` or `"true"`.
    Boolean = 5,
    /// An inline `xsd:decimal`: mantissa and scale.
    Decimal = 6,
    /// An inline `xsd:double`.
    Double = 7,
    /// An inline `xsd:date`.
    Date = 8,
    /// An inline `xsd:dateTime`.
    DateTime = 9,
    /// An IRI that only windows hold; the payload is its number in [their table](crate::transient).
    TransientIri = 10,
    /// A literal that only windows hold.
    TransientLiteral = 11,
    /// An RDF 1.2 triple term that only windows hold.
    TransientTriple = 12,
    /// A term that exists in one query only; the payload indexes the query's own table.
    QueryLocal = 14,
    /// No term at all; only [`VertexId::UNBOUND`] carries it.
    Unbound = 15,
}

impl Tag {
    /// Every tag that a stored term can carry, in order.
    pub const STORED: [Tag; 10] = [
        Tag::Iri,
        Tag::Blank,
        Tag::Literal,
        Tag::TripleTerm,
        Tag::Integer,
        Tag::Boolean,
        Tag::Decimal,
        Tag::Double,
        Tag::Date,
        Tag::DateTime,
    ];

    /// The tag with this number, if there is one.
    pub const fn from_number(number: u8) -> Option<Tag> {
        Some(match number {
            0 => Tag::Iri,
            1 => Tag::Blank,
            2 => Tag::Literal,
            3 => Tag::TripleTerm,
            4 => Tag::Integer,
            5 => Tag::Boolean,
            6 => Tag::Decimal,
            7 => Tag::Double,
            8 => Tag::Date,
            9 => Tag::DateTime,
            10 => Tag::TransientIri,
            11 => Tag::TransientLiteral,
            12 => Tag::TransientTriple,
            14 => Tag::QueryLocal,
            15 => Tag::Unbound,
            _ => return None,
        })
    }

    /// Whether ids with this tag are answered by the dictionary's text.
    pub const fn is_dictionary(self) -> bool {
        matches!(self, Tag::Iri | Tag::Literal | Tag::TripleTerm)
    }

    /// Whether the payload is the value itself.
    pub const fn is_inline(self) -> bool {
        (self as u8) >= 4 && (self as u8) <= 9
    }

    /// Whether ids with this tag are answered by the table of terms that only windows hold.
    pub const fn is_transient(self) -> bool {
        (self as u8) >= 10 && (self as u8) <= 12
    }
}

/// A term inside the engine. 8 bytes, `Copy`, ordered by tag and payload.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct VertexId(u64);

const _: () = assert!(
    VertexId::UNBOUND.has_tag(Tag::Unbound)
        && Tag::Unbound as u64 == u64::MAX >> VertexId::PAYLOAD_BITS,
    "no id with a payload is unbound: its tag is the last"
);
const _: () = {
    let mut number = 0;
    while number < Tag::STORED.len() {
        let tag = Tag::STORED[number];
        assert!(
            tag as usize == number,
            "tags that are stored are numbered in order"
        );
        assert!(
            !(tag.is_inline() && tag.is_dictionary()),
            "an id is a value or has a text"
        );
        number += 1;
    }
};

impl VertexId {
    /// Number of payload bits.
    pub const PAYLOAD_BITS: u32 = 60;
    /// The largest payload.
    pub const PAYLOAD_MAX: u64 = (1 << Self::PAYLOAD_BITS) - 1;
    /// The cell of a binding table that holds no term.
    pub const UNBOUND: VertexId = VertexId(u64::MAX);

    /// The id with this tag and payload.
    ///
    /// Asserts that the payload fits: ordinals are counted, not read from input.
    #[inline]
    pub const fn new(tag: Tag, payload: u64) -> VertexId {
        assert!(payload <= Self::PAYLOAD_MAX, "payload exceeds 60 bits");
        VertexId(((tag as u64) << Self::PAYLOAD_BITS) | payload)
    }

    /// The id with these bits, as they stand in files and columns. Any bits are accepted: whoever
    /// reads a file checks what it needs with [`VertexId::tag`].
    #[inline]
    pub const fn from_bits(bits: u64) -> VertexId {
        VertexId(bits)
    }

    /// The bits, as they stand in files and columns.
    #[inline]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The tag's number, 0 to 15, without checking that it names a tag.
    #[inline]
    pub const fn tag_number(self) -> u8 {
        (self.0 >> Self::PAYLOAD_BITS) as u8
    }

    /// The tag, if the bits hold a known one.
    #[inline]
    pub const fn tag(self) -> Option<Tag> {
        Tag::from_number(self.tag_number())
    }

    /// The payload.
    #[inline]
    pub const fn payload(self) -> u64 {
        self.0 & Self::PAYLOAD_MAX
    }

    /// Whether this is [`VertexId::UNBOUND`].
    #[inline]
    pub const fn is_unbound(self) -> bool {
        self.0 == u64::MAX
    }

    /// Whether a stored graph may have this id: its tag is one of [`Tag::STORED`].
    #[inline]
    pub const fn is_stored(self) -> bool {
        self.0 < (Tag::STORED.len() as u64) << Self::PAYLOAD_BITS
    }

    /// Whether this is the id of a term that only windows hold; see [`crate::transient`].
    #[inline]
    pub const fn is_transient(self) -> bool {
        matches!(self.tag_number(), 10..=12)
    }

    /// Whether this is an id with the given tag.
    #[inline]
    pub const fn has_tag(self, tag: Tag) -> bool {
        self.tag_number() == tag as u8
    }
}

impl fmt::Debug for VertexId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.tag() {
            Some(Tag::Unbound) => write!(f, "unbound"),
            Some(tag) => write!(f, "{tag:?}:{}", self.payload()),
            None => write!(f, "tag{}:{}", self.tag_number(), self.payload()),
        }
    }
}

/// A predicate's dense number, besides its [`VertexId`]. Numbers 0 and 1 are the papers' reserved
/// ones (OSDI'16 section 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct PredicateId(pub u32);

impl PredicateId {
    /// "The predicates of a vertex": the pseudo predicate whose segments are the signatures.
    pub const SIGNATURE: PredicateId = PredicateId(0);
    /// `rdf:type`.
    pub const TYPE: PredicateId = PredicateId(1);
    /// The first number given to other predicates, in order of first appearance as a predicate.
    pub const FIRST_FREE: PredicateId = PredicateId(2);
}

/// Along or against an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Direction {
    /// From subjects to objects.
    Out = 0,
    /// From objects to subjects.
    In = 1,
}

impl Direction {
    /// The other direction.
    #[must_use]
    pub const fn reversed(self) -> Direction {
        match self {
            Direction::Out => Direction::In,
            Direction::In => Direction::Out,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tag_and_payload_come_back() {
        for tag in Tag::STORED {
            for payload in [0, 1, VertexId::PAYLOAD_MAX] {
                let id = VertexId::new(tag, payload);
                assert_eq!(id.tag(), Some(tag));
                assert_eq!(id.payload(), payload);
                assert_eq!(VertexId::from_bits(id.bits()), id);
            }
        }
    }

    #[test]
    fn what_is_stored_and_what_is_transient_is_told_by_the_tag() {
        for number in 0..16 {
            let id = VertexId::from_bits(u64::from(number) << VertexId::PAYLOAD_BITS | 7);
            let tag = Tag::from_number(number);
            assert_eq!(
                id.is_stored(),
                tag.is_some_and(|tag| Tag::STORED.contains(&tag))
            );
            assert_eq!(id.is_transient(), tag.is_some_and(Tag::is_transient));
        }
    }

    #[test]
    fn unbound_is_no_stored_id() {
        assert_eq!(VertexId::UNBOUND.tag(), Some(Tag::Unbound));
        assert!(VertexId::UNBOUND.is_unbound());
    }

    #[test]
    #[should_panic(expected = "payload exceeds 60 bits")]
    fn payload_too_large_is_refused() {
        let _ = VertexId::new(Tag::Iri, 1 << 60);
    }
}
