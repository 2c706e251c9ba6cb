//! The spelling of a text: its [shape](crate::shape) found without cutting it into tokens.
//!
//! ```text
//!  first text   SELECT ?x { ?x ub:worksFor <.../Department0> . ?x a ub:FullProfessor }
//!  what is kept SELECT ?x { ?x ub:worksFor |    parameter 0  | . ?x a ub:FullProfessor }
//!  next text    SELECT ?x { ?x ub:worksFor <.../Department7> . ?x a ub:FullProfessor }
//! ```
//!
//! A program writes its texts from a template, so texts of one shape are mostly the same bytes besides
//! their parameters. Cutting a light query into tokens and comparing these took a third of its time
//! (LUBM q4, 24,000 of 72,000 instructions, 2026-11-22); comparing bytes takes a twentieth of that.
//!
//! **Why that is right.** The lexer reads from left to right, and what it makes of a byte depends
//! on no token before it. So let a text agree with one
//! that was read up to a parameter, and let an IRI or a string stand there that the lexer's own rules end
//! within the text: then both texts have the same tokens up to there, and if the bytes from there on agree
//! again, so do all further tokens. The limits count tokens, but for the length of the text, which is
//! compared. A parameter has to be one by the rules of [`crate::shape`] (plain, absolute), and the same
//! parameters have to be equal. What differs otherwise (blanks, comments, other quotes of a fixed string)
//! is another spelling; a text without a known spelling is read as ever. Tests hold both ways against each
//! other.

use crate::grammar::lexer::iri_length;
use crate::grammar::lexer::token::TokenKind;
use crate::options::ParseOptions;
use crate::shape::{Shape, TEXT_BYTES_MAX, between, is_absolute};
use oxrdf::{LiteralRef, NamedNodeRef, TermRef};

/// A text that was read, and the places of its parameters.
#[derive(Clone, Debug)]
pub struct Spelling {
    text: Box<str>,
    options: ParseOptions,
    places: Box<[ParameterSpan]>,
}

#[derive(Clone, Copy, Debug)]
struct ParameterSpan {
    start: u32,
    end: u32,
    /// Which of the shape's parameters.
    number: u32,
    /// What it begins with: an angle bracket or one of the two quotes.
    opening: u8,
}

impl Spelling {
    /// That of a text of this shape; `None` where a parameter is written with a prefix, which does not
    /// say where it ends.
    pub fn new(text: &str, shape: &Shape, options: &ParseOptions) -> Option<Spelling> {
        let place = |(token, number): &(crate::grammar::lexer::token::Token, usize)| {
            let is_delimited = matches!(token.kind, TokenKind::Iri | TokenKind::String);
            is_delimited.then_some(ParameterSpan {
                start: token.start,
                end: token.end,
                number: *number as u32,
                opening: text.as_bytes()[token.start as usize],
            })
        };
        let end = shape.places().last().map_or(0, |(token, _)| token.end);
        assert!(end as usize <= text.len(), "the shape is this text's");
        let places = shape.places().iter().map(place);
        Some(Spelling {
            places: places.collect::<Option<_>>()?,
            text: text.into(),
            options: options.clone(),
        })
    }

    /// The parameters of a text, in the order of its shape, if it is spelled so and read with the same
    /// options. O(bytes of the text).
    pub fn parameters<'t>(
        &self,
        text: &'t str,
        options: &ParseOptions,
    ) -> Option<Vec<TermRef<'t>>> {
        if text.len() as u64 > options.limits.text_bytes || text.len() > TEXT_BYTES_MAX {
            return None;
        }
        let mut found: Vec<TermRef<'t>> = Vec::with_capacity(self.places.len());
        let (mut rest, mut from) = (text, 0);
        for place in &self.places {
            rest = rest.strip_prefix(&self.text[from..place.start as usize])?;
            let (term, length) = match place.opening {
                b'<' => iri(rest)?,
                quote => string(rest, quote)?,
            };
            match found.get(place.number as usize) {
                Some(earlier) if *earlier == term => {}
                None if !found.contains(&term) => found.push(term),
                // Equal where they were different, or the other way round.
                _ => return None,
            }
            rest = &rest[length..];
            from = place.end as usize;
        }
        (*rest == self.text[from..] && self.options == *options).then_some(found)
    }

    /// Bytes of what it keeps, about.
    pub fn bytes(&self) -> usize {
        self.text.len() + self.places.len() * size_of::<ParameterSpan>() + size_of::<Spelling>()
    }
}

/// An absolute IRI in angle brackets without escapes, and its length as a token.
fn iri(rest: &str) -> Option<(TermRef<'_>, usize)> {
    let length = rest.starts_with('<').then(|| iri_length(rest))??;
    let iri = between(&rest[..length]);
    let is_plain = is_absolute(iri) && !iri.contains('\\');
    is_plain.then(|| (NamedNodeRef::new_unchecked(iri).into(), length))
}

/// A string in one pair of quotes without escapes, and its length as a token.
fn string(rest: &str, quote: u8) -> Option<(TermRef<'_>, usize)> {
    let bytes = rest.as_bytes();
    if bytes.first() != Some(&quote) || bytes.starts_with(&[quote; 3]) {
        return None;
    }
    let inside = inside_length(bytes, quote)?;
    let literal = LiteralRef::new_simple_literal(&rest[1..=inside]);
    Some((literal.into(), inside + 2))
}

/// Bytes between the quote that a text begins with and the next one on its line, with no escape between.
fn inside_length(bytes: &[u8], quote: u8) -> Option<usize> {
    let stops = |byte: &u8| *byte == quote || matches!(byte, b'\\' | b'\n' | b'\r');
    let inside = bytes[1..].iter().position(stops)?;
    (bytes[1 + inside] == quote).then_some(inside)
}

/// A hash that texts of one spelling share: of all bytes but those within angle brackets and quotes. It
/// knows nothing of tokens, so texts of several spellings may share it too. O(bytes of the text).
pub fn skeleton(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let (mut hash, mut from) = (0, 0);
    let mut at = 0;
    while let Some(ahead) = memchr::memchr3(b'<', b'"', b'\'', &bytes[at..]) {
        let opens = at + ahead;
        let inside = match bytes[opens] {
            b'<' => iri_length(&text[opens..]).map(|length| length - 2),
            quote => inside_length(&bytes[opens..], quote),
        };
        at = opens + 1;
        if let Some(inside) = inside {
            hash = folded(hash, &bytes[from..=opens]);
            from = at + inside;
            at = from + 1;
        }
    }
    folded(hash, &bytes[from..])
}

/// Sixteen bytes a multiplication, of which both halves are kept.
fn folded(hash: u64, bytes: &[u8]) -> u64 {
    const FACTORS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xa076_1d64_78bd_642f];
    let fold = |hash: u64, block: [u8; 16]| {
        let block = u128::from_le_bytes(block);
        let (low, high) = (block as u64, (block >> 64) as u64);
        let product = u128::from(low ^ hash ^ FACTORS[0]) * u128::from(high ^ FACTORS[1]);
        product as u64 ^ (product >> 64) as u64
    };
    let (blocks, tail) = bytes.as_chunks::<16>();
    let hash = blocks.iter().fold(hash, |hash, block| fold(hash, *block));
    let mut last = [0; 16];
    last[..tail.len()].copy_from_slice(tail);
    fold(hash ^ bytes.len() as u64, last)
}
