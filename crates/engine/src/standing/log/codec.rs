//! Numbers, texts and terms as bytes, for what the log and generations keep of streams.
//!
//! Reading is total: what is none gives a [`Mistake`], and no count is believed before its bytes are there.

use crate::error::{Kind, QueryError};
use oxrdf::{BlankNode, NamedNode, NamedOrBlankNode, Term, TermRef, Triple};
use rdf::dictionary::TRIPLE_TERM_DEPTH_MAX;
use rdf::{TermBuffer, key, varint};

/// Bytes that are not what they should be: what was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::standing) struct Mistake(pub(in crate::standing) &'static str);

impl From<Mistake> for QueryError {
    fn from(mistake: Mistake) -> QueryError {
        let Mistake(what) = mistake;
        let message = format!("what the store keeps of streams is damaged: {what} is missing");
        QueryError::new(Kind::Damaged, message)
            .with_hint("restore a backup; `somersault check` names all that is wrong")
    }
}

/// Writes.
#[derive(Debug, Default)]
pub(in crate::standing) struct Put {
    pub(in crate::standing) bytes: Vec<u8>,
}

impl Put {
    pub(in crate::standing) fn number(&mut self, number: u64) {
        varint::write(&mut self.bytes, number);
    }

    /// One above the number, or 0 for none.
    pub(in crate::standing) fn maybe(&mut self, number: Option<u64>) {
        self.flag(number.is_some());
        if let Some(number) = number {
            self.number(number);
        }
    }

    pub(in crate::standing) fn flag(&mut self, flag: bool) {
        self.bytes.push(u8::from(flag));
    }

    pub(in crate::standing) fn raw(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    pub(in crate::standing) fn text(&mut self, text: &str) {
        self.raw(text.as_bytes());
    }

    pub(in crate::standing) fn term(&mut self, term: TermRef<'_>) {
        match term {
            TermRef::NamedNode(node) => {
                self.bytes.push(IRI);
                self.text(node.as_str());
            }
            TermRef::BlankNode(node) => {
                self.bytes.push(BLANK);
                self.text(node.as_str());
            }
            TermRef::Literal(literal) => {
                let mut bytes = Vec::new();
                key::encode_literal(literal, &mut bytes);
                self.bytes.push(LITERAL);
                self.raw(&bytes);
            }
            TermRef::Triple(triple) => {
                self.bytes.push(TRIPLE);
                self.term(triple.subject.as_ref().into());
                self.term(triple.predicate.as_ref().into());
                self.term(triple.object.as_ref());
            }
        }
    }
}

const IRI: u8 = 0;
const BLANK: u8 = 1;
const LITERAL: u8 = 2;
const TRIPLE: u8 = 3;

/// Reads.
#[derive(Clone, Copy, Debug)]
pub(in crate::standing) struct Take<'b> {
    rest: &'b [u8],
}

impl<'b> Take<'b> {
    pub(in crate::standing) fn new(bytes: &'b [u8]) -> Take<'b> {
        Take { rest: bytes }
    }

    pub(in crate::standing) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(in crate::standing) fn byte(&mut self) -> Result<u8, Mistake> {
        let (byte, rest) = self.rest.split_first().ok_or(Mistake("a byte"))?;
        self.rest = rest;
        Ok(*byte)
    }

    pub(in crate::standing) fn number(&mut self) -> Result<u64, Mistake> {
        varint::read(&mut self.rest).ok_or(Mistake("a number"))
    }

    /// A count of things that take a byte each at least.
    pub(in crate::standing) fn count(&mut self) -> Result<usize, Mistake> {
        let count = usize::try_from(self.number()?).unwrap_or(usize::MAX);
        if count > self.rest.len() {
            return Err(Mistake("what was counted"));
        }
        Ok(count)
    }

    pub(in crate::standing) fn maybe(&mut self) -> Result<Option<u64>, Mistake> {
        Ok(if self.flag()? {
            Some(self.number()?)
        } else {
            None
        })
    }

    pub(in crate::standing) fn flag(&mut self) -> Result<bool, Mistake> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Mistake("a yes or no")),
        }
    }

    pub(in crate::standing) fn raw(&mut self) -> Result<&'b [u8], Mistake> {
        let count = self.count()?;
        let (bytes, rest) = self.rest.split_at(count);
        self.rest = rest;
        Ok(bytes)
    }

    pub(in crate::standing) fn text(&mut self) -> Result<String, Mistake> {
        let text = std::str::from_utf8(self.raw()?).map_err(|_| Mistake("a text in UTF-8"))?;
        Ok(text.to_owned())
    }

    pub(in crate::standing) fn term(&mut self) -> Result<Term, Mistake> {
        self.nested(0)
    }

    fn nested(&mut self, depth: usize) -> Result<Term, Mistake> {
        Ok(match self.byte()? {
            IRI => NamedNode::new_unchecked(self.text()?).into(),
            BLANK => BlankNode::new_unchecked(self.text()?).into(),
            LITERAL => {
                let mut terms = TermBuffer::new();
                key::decode_literal(self.raw()?, &mut terms).map_err(|_| Mistake("a literal"))?;
                let literal = terms.get(0).map(TermRef::into_owned);
                literal.ok_or(Mistake("a literal"))?
            }
            TRIPLE if depth < TRIPLE_TERM_DEPTH_MAX => {
                let subject: NamedOrBlankNode = match self.nested(depth + 1)? {
                    Term::NamedNode(node) => node.into(),
                    Term::BlankNode(node) => node.into(),
                    Term::Literal(_) | Term::Triple(_) => return Err(Mistake("a subject")),
                };
                let Term::NamedNode(predicate) = self.nested(depth + 1)? else {
                    return Err(Mistake("a predicate"));
                };
                Triple::new(subject, predicate, self.nested(depth + 1)?).into()
            }
            _ => return Err(Mistake("a kind of term")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxrdf::Literal;

    #[test]
    fn terms_come_back_and_cut_ones_do_not() {
        let node = NamedNode::new_unchecked("http://e/p");
        let nested = Triple::new(
            BlankNode::new_unchecked("b7"),
            node.clone(),
            Literal::from(1.5),
        );
        let terms: Vec<Term> = vec![
            node.clone().into(),
            BlankNode::new_unchecked("x").into(),
            Literal::new_simple_literal("").into(),
            Literal::new_language_tagged_literal_unchecked("x", "de").into(),
            nested.into(),
        ];
        let mut put = Put::default();
        for term in &terms {
            put.term(term.as_ref());
        }
        put.maybe(None);
        put.maybe(Some(u64::MAX));
        let mut take = Take::new(&put.bytes);
        for term in &terms {
            assert_eq!(take.term().as_ref(), Ok(term));
        }
        assert_eq!((take.maybe(), take.maybe()), (Ok(None), Ok(Some(u64::MAX))));
        assert!(take.is_empty());
        for length in 0..put.bytes.len() {
            let mut take = Take::new(&put.bytes[..length]);
            let read = terms.iter().try_for_each(|_| take.term().map(drop));
            let whole = read.and_then(|()| take.maybe()).and_then(|_| take.maybe());
            assert!(whole.is_err(), "{length}");
        }
    }
}
