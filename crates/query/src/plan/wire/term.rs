//! Terms, as their texts.
//!
//! ```text
//!  1 IRI             text
//!  2 blank node      label
//!  3 xsd:string      lexical form
//!  4 typed literal   datatype's IRI, lexical form
//!  5 with language   tag, lexical form             6, 7 the same, left to right, right to left
//!  8 triple term     subject (1 or 2), predicate (an IRI's text), object (any)
//! ```
//!
//! Texts are exact: a tag keeps its case, a lexical form its spelling. Whatever is read can be written as a line of
//! N-Quads, as what lenient readers load ([`rdf::strictness`]): a pass over each IRI, a check of each label and tag. IRIs are
//! not held to RFC 3987, because a store may have others ([`rdf::Strictness::Lenient`]).
//!
//! Triple terms nest in their objects alone, so reading them is a loop. [`TRIPLES_MAX`] is for those who drop and
//! compare them, which recurs.

use super::bytes::{Decoder, Encoder};
use super::error::{DecodeError, DecodeFault, EncodeError, beginning};
use oxrdf::vocab::xsd;
use oxrdf::{
    BaseDirection, BlankNodeRef, LiteralRef, NamedNode, NamedNodeRef, NamedOrBlankNode,
    NamedOrBlankNodeRef, Term, TermRef, Triple,
};
use rdf::strictness::is_loadable_tag;
use rdf::{TermBuffer, is_loadable_iri};

/// How deep triple terms nest, at most; those of texts and files nest less.
pub const TRIPLES_MAX: usize = 1024;

const IRI: u8 = 1;
const BLANK: u8 = 2;
const SIMPLE: u8 = 3;
const TYPED: u8 = 4;
const LANGUAGE: u8 = 5;
const LEFT_TO_RIGHT: u8 = 6;
const RIGHT_TO_LEFT: u8 = 7;
const TRIPLE: u8 = 8;

/// The fewest bytes of a term.
pub(super) const TERM_BYTES_MIN: usize = 2;

const OF_IRI: &str = "IRI that can be written in a line";
const OF_LABEL: &str = "label of a blank node";
const OF_TAG: &str = "language tag";

/// Appends a term, if it can be read back.
pub(super) fn write(mut term: TermRef<'_>, out: &mut Encoder<'_>) -> Result<(), EncodeError> {
    let mut depth = 0;
    while let TermRef::Triple(triple) = term {
        depth += 1;
        if depth > TRIPLES_MAX {
            let (what, max) = ("levels of a triple term", TRIPLES_MAX as u64);
            let found = depth as u64;
            return Err(EncodeError::Large { what, found, max });
        }
        out.form("Term", TRIPLE);
        match triple.subject.as_ref() {
            NamedOrBlankNodeRef::NamedNode(iri) => write_flat(iri.into(), out)?,
            NamedOrBlankNodeRef::BlankNode(blank) => write_flat(blank.into(), out)?,
        }
        write_text(triple.predicate.as_str(), OF_IRI, is_loadable_iri, out)?;
        term = triple.object.as_ref();
    }
    write_flat(term, out)
}

/// A term that is no triple term.
fn write_flat(term: TermRef<'_>, out: &mut Encoder<'_>) -> Result<(), EncodeError> {
    match term {
        TermRef::NamedNode(iri) => {
            out.form("Term", IRI);
            write_text(iri.as_str(), OF_IRI, is_loadable_iri, out)
        }
        TermRef::BlankNode(blank) => {
            out.form("Term", BLANK);
            write_text(blank.as_str(), OF_LABEL, is_label, out)
        }
        TermRef::Literal(literal) => write_literal(literal, out),
        TermRef::Triple(_) => unreachable!("the caller has unwrapped triple terms"),
    }
}

fn write_literal(literal: LiteralRef<'_>, out: &mut Encoder<'_>) -> Result<(), EncodeError> {
    if let Some(tag) = literal.language() {
        let form = match literal.direction() {
            None => LANGUAGE,
            Some(BaseDirection::Ltr) => LEFT_TO_RIGHT,
            Some(BaseDirection::Rtl) => RIGHT_TO_LEFT,
        };
        out.form("Term", form);
        write_text(tag, OF_TAG, is_loadable_tag, out)?;
    } else if literal.datatype() == xsd::STRING {
        out.form("Term", SIMPLE);
    } else {
        out.form("Term", TYPED);
        write_text(literal.datatype().as_str(), OF_IRI, is_loadable_iri, out)?;
    }
    out.text(literal.value());
    Ok(())
}

fn write_text(
    text: &str,
    of: &'static str,
    is_one: fn(&str) -> bool,
    out: &mut Encoder<'_>,
) -> Result<(), EncodeError> {
    if !is_one(text) {
        let text = beginning(text);
        return Err(EncodeError::Text { of, text });
    }
    out.text(text);
    Ok(())
}

/// Reads a term.
pub(super) fn read(bytes: &mut Decoder<'_>) -> Result<Term, DecodeError> {
    let mut around: Vec<(NamedOrBlankNode, NamedNode)> = Vec::new();
    loop {
        let at = bytes.at();
        let form = bytes.byte()?;
        if form != TRIPLE {
            let innermost = read_flat(at, form, bytes)?.into_owned();
            return Ok(around
                .into_iter()
                .rfold(innermost, |object, (subject, predicate)| {
                    Triple::new(subject, predicate, object).into()
                }));
        }
        if around.len() == TRIPLES_MAX {
            let (what, max) = ("triple terms", TRIPLES_MAX);
            return Err(Decoder::fault_at(at, DecodeFault::Deep { what, max }));
        }
        let subject = read_node(bytes)?;
        let predicate = read_text(OF_IRI, is_loadable_iri, bytes)?;
        around.push((subject, NamedNode::new_unchecked(predicate)));
    }
}

/// Reads a term and appends it to others.
pub(super) fn read_into(
    terms: &mut TermBuffer,
    bytes: &mut Decoder<'_>,
) -> Result<(), DecodeError> {
    let mut ahead = bytes.clone();
    let at = ahead.at();
    match ahead.byte()? {
        TRIPLE => terms.push(read(bytes)?.as_ref()),
        form => {
            terms.push(read_flat(at, form, &mut ahead)?);
            *bytes = ahead;
        }
    }
    Ok(())
}

fn read_node(bytes: &mut Decoder<'_>) -> Result<NamedOrBlankNode, DecodeError> {
    let at = bytes.at();
    match bytes.byte()? {
        form @ (IRI | BLANK) => match read_flat(at, form, bytes)? {
            TermRef::NamedNode(iri) => Ok(iri.into_owned().into()),
            TermRef::BlankNode(blank) => Ok(blank.into_owned().into()),
            _ => unreachable!("its form was looked at"),
        },
        number => {
            let of = "the subject of a triple term";
            Err(Decoder::fault_at(at, DecodeFault::Form { of, number }))
        }
    }
}

/// The rest of a term that is no triple term, of a form that stood at `at`.
fn read_flat<'b>(at: usize, form: u8, bytes: &mut Decoder<'b>) -> Result<TermRef<'b>, DecodeError> {
    Ok(match form {
        IRI => {
            let iri = read_text(OF_IRI, is_loadable_iri, bytes)?;
            NamedNodeRef::new_unchecked(iri).into()
        }
        BLANK => BlankNodeRef::new_unchecked(read_text(OF_LABEL, is_label, bytes)?).into(),
        SIMPLE => LiteralRef::new_simple_literal(bytes.text()?).into(),
        TYPED => {
            let of = "datatype of a literal that says its datatype";
            let is_other = |iri: &str| is_loadable_iri(iri) && iri != xsd::STRING.as_str();
            let datatype = NamedNodeRef::new_unchecked(read_text(of, is_other, bytes)?);
            LiteralRef::new_typed_literal(bytes.text()?, datatype).into()
        }
        LANGUAGE => {
            let tag = read_text(OF_TAG, is_loadable_tag, bytes)?;
            LiteralRef::new_language_tagged_literal_unchecked(bytes.text()?, tag).into()
        }
        LEFT_TO_RIGHT => directed(BaseDirection::Ltr, bytes)?,
        RIGHT_TO_LEFT => directed(BaseDirection::Rtl, bytes)?,
        number => {
            let of = "a term";
            return Err(Decoder::fault_at(at, DecodeFault::Form { of, number }));
        }
    })
}

fn directed<'b>(
    direction: BaseDirection,
    bytes: &mut Decoder<'b>,
) -> Result<TermRef<'b>, DecodeError> {
    let tag = read_text(OF_TAG, is_loadable_tag, bytes)?;
    let text = bytes.text()?;
    let literal =
        LiteralRef::new_directional_language_tagged_literal_unchecked(text, tag, direction);
    Ok(literal.into())
}

fn read_text<'b>(
    of: &'static str,
    is_one: impl FnOnce(&str) -> bool,
    bytes: &mut Decoder<'b>,
) -> Result<&'b str, DecodeError> {
    let at = bytes.at();
    let text = bytes.text()?;
    if !is_one(text) {
        let text = beginning(text);
        return Err(Decoder::fault_at(at, DecodeFault::Text { of, text }));
    }
    Ok(text)
}

fn is_label(text: &str) -> bool {
    BlankNodeRef::new(text).is_ok()
}
