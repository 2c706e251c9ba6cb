//! A term of a chunk: its kind and its number within the kind, in 32 bits.
//!
//! ```text
//! LocalTerm   31..29 kind   28..0 number within the kind
//! ```
//!
//! The [table](super::table) gives these numbers and the chunk's statements are made of them, so they stand below both.
//! Such a number means nothing outside its chunk: encoding writes codes of the store instead.

use rdf::Tag;

/// Number of kinds of local terms.
pub const KINDS: usize = 5;
/// Number of kinds that have ordinals of their own.
pub const ORDINAL_KINDS: usize = 4;

/// What a local term is; the first four are numbered as their [`Tag`]s are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TermKind {
    /// An IRI; its key is its text.
    Iri = 0,
    /// A blank node; its key is its label.
    Blank = 1,
    /// A literal of the dictionary; its key is `rdf::key`'s.
    Literal = 2,
    /// A triple term; its key is its components as local terms.
    Triple = 3,
    /// An inline value; its key is its id.
    Inline = 4,
}

impl TermKind {
    /// All kinds, in order.
    pub const ALL: [TermKind; KINDS] = [
        TermKind::Iri,
        TermKind::Blank,
        TermKind::Literal,
        TermKind::Triple,
        TermKind::Inline,
    ];
    /// The kinds with ordinals, in order.
    pub const ORDINAL: [TermKind; ORDINAL_KINDS] = [
        TermKind::Iri,
        TermKind::Blank,
        TermKind::Literal,
        TermKind::Triple,
    ];

    /// The tag of ids of this kind; inline ids have theirs already.
    pub const fn tag(self) -> Option<Tag> {
        match self {
            TermKind::Iri => Some(Tag::Iri),
            TermKind::Blank => Some(Tag::Blank),
            TermKind::Literal => Some(Tag::Literal),
            TermKind::Triple => Some(Tag::TripleTerm),
            TermKind::Inline => None,
        }
    }
}

const _: () = assert!(
    (KINDS as u32) <= LocalTerm::NONE.0 >> LocalTerm::NUMBER_BITS,
    "no kind of term has the bits of none"
);

/// A term of a chunk: its kind and its number within the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(transparent)]
pub struct LocalTerm(u32);

impl LocalTerm {
    /// No term; as a graph, the default graph.
    pub const NONE: LocalTerm = LocalTerm(u32::MAX);
    const NUMBER_BITS: u32 = 29;

    /// The term of this kind with this number. A chunk of less than 512 MiB, the largest there is,
    /// cannot have too many.
    #[inline]
    pub fn new(kind: TermKind, number: u32) -> LocalTerm {
        assert!(
            number < 1 << Self::NUMBER_BITS,
            "a chunk has fewer terms than bytes"
        );
        LocalTerm((kind as u32) << Self::NUMBER_BITS | number)
    }

    /// The kind.
    #[inline]
    pub fn kind(self) -> TermKind {
        match self.0 >> Self::NUMBER_BITS {
            0 => TermKind::Iri,
            1 => TermKind::Blank,
            2 => TermKind::Literal,
            3 => TermKind::Triple,
            _ => TermKind::Inline,
        }
    }

    /// The number within the kind.
    #[inline]
    pub fn number(self) -> u32 {
        self.0 & ((1 << Self::NUMBER_BITS) - 1)
    }

    /// The bits, as they stand in the key of a triple term.
    pub fn bits(self) -> u32 {
        self.0
    }

    /// The term with these bits.
    pub fn from_bits(bits: u32) -> LocalTerm {
        LocalTerm(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_term_comes_back() {
        for kind in TermKind::ALL {
            let term = LocalTerm::new(kind, 12_345);
            assert_eq!((term.kind(), term.number()), (kind, 12_345));
            assert_eq!(LocalTerm::from_bits(term.bits()), term);
            assert_ne!(term, LocalTerm::NONE);
        }
    }
}
