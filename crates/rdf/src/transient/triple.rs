//! A triple term as a key: the keys of its parts behind one another, each with its kind and its length.
//!
//! ```text
//!  part:  u8 kind | u32 length | key
//! ```
//!
//! In the dictionary a triple term is its three ids. Here it is its text, because the ids of transient parts come and go,
//! and a part alone needs no id. Invariant: a triple term has one key, as its parts have.

use crate::dictionary::{GrowError, TRIPLE_TERM_DEPTH_MAX};
use crate::key::{decode_literal, encode_literal};
use crate::terms::TermBuffer;
use oxrdf::{BlankNode, NamedNode, NamedOrBlankNode, Term, TermRef, Triple};

const IRI: u8 = 0;
const BLANK: u8 = 1;
const LITERAL: u8 = 2;
const TRIPLE: u8 = 3;

/// Appends the key of a triple term. Errors: it is nested too deep, or too long.
pub(super) fn encode(triple: &Triple, key: &mut Vec<u8>) -> Result<(), GrowError> {
    parts(triple, key, 0)
}

fn parts(triple: &Triple, key: &mut Vec<u8>, depth: usize) -> Result<(), GrowError> {
    if depth == TRIPLE_TERM_DEPTH_MAX {
        return Err(GrowError::TooDeep);
    }
    part(triple.subject.as_ref().into(), key, depth)?;
    part(triple.predicate.as_ref().into(), key, depth)?;
    part(triple.object.as_ref(), key, depth)
}

fn part(term: TermRef<'_>, key: &mut Vec<u8>, depth: usize) -> Result<(), GrowError> {
    let head = key.len();
    key.extend_from_slice(&[0; 5]);
    let kind = match term {
        TermRef::NamedNode(iri) => {
            key.extend_from_slice(iri.as_str().as_bytes());
            IRI
        }
        TermRef::BlankNode(node) => {
            key.extend_from_slice(node.as_str().as_bytes());
            BLANK
        }
        TermRef::Literal(literal) => {
            encode_literal(literal, key);
            LITERAL
        }
        TermRef::Triple(inner) => {
            parts(inner, key, depth + 1)?;
            TRIPLE
        }
    };
    let bytes = key.len() - head - 5;
    let length = u32::try_from(bytes).map_err(|_| GrowError::KeyTooLong { bytes })?;
    key[head] = kind;
    key[head + 1..head + 5].copy_from_slice(&length.to_le_bytes());
    Ok(())
}

/// The triple term of a key; `None` for bytes that are none. Its depth is that of what was encoded.
pub(super) fn decode(key: &[u8]) -> Option<Triple> {
    let mut rest = key;
    let subject = match next(&mut rest)? {
        Term::NamedNode(node) => NamedOrBlankNode::from(node),
        Term::BlankNode(node) => NamedOrBlankNode::from(node),
        Term::Literal(_) | Term::Triple(_) => return None,
    };
    let Term::NamedNode(predicate) = next(&mut rest)? else {
        return None;
    };
    let object = next(&mut rest)?;
    rest.is_empty()
        .then(|| Triple::new(subject, predicate, object))
}

fn next(rest: &mut &[u8]) -> Option<Term> {
    let (head, behind) = rest.split_at_checked(5)?;
    let length = u32::from_le_bytes(head[1..].try_into().ok()?);
    let (key, behind) = behind.split_at_checked(length as usize)?;
    *rest = behind;
    let text = || str::from_utf8(key).ok();
    Some(match head[0] {
        IRI => NamedNode::new_unchecked(text()?).into(),
        BLANK => BlankNode::new_unchecked(text()?).into(),
        LITERAL => {
            let mut terms = TermBuffer::new();
            decode_literal(key, &mut terms).ok()?;
            terms.get(0)?.into_owned()
        }
        TRIPLE => decode(key)?.into(),
        _ => return None,
    })
}
