//! Instances as bytes, for the log and for generations of the store: their constants as text.
//!
//! ```text
//! instances = parameters: count, text*; instances that ever were, count, (number, name?, a term a parameter)*
//! ```
//!
//! Numbers ascend, and none comes twice: what is added later says the numbers that it had.

use super::{BATCH, Instances};
use crate::error::QueryError;
use crate::standing::items::too_large;
use crate::standing::log::codec::{Mistake, Put, Take};
use oxrdf::{Term, TermRef};
use rdf::dictionary::LiveDictionary;
use rdf::{Lexicon, TermBuffer, VertexId};

impl Instances {
    /// Those with numbers above `after`.
    pub(in crate::standing) fn encode(
        &self,
        after: u64,
        lexicon: &impl Lexicon,
    ) -> Result<Vec<u8>, QueryError> {
        let mut put = Put::default();
        put.number(self.parameters.len() as u64);
        self.parameters.iter().for_each(|name| put.text(name));
        put.number(self.made);
        let kept: Vec<(u64, u32)> = self.rows().filter(|(number, _)| *number > after).collect();
        put.number(kept.len() as u64);
        let width = self.parameters.len();
        for batch in kept.chunks(BATCH) {
            let ids: Vec<VertexId> = batch.iter().flat_map(|(_, row)| self.cells(*row)).collect();
            let mut terms = TermBuffer::new();
            lexicon.terms(&ids, &mut terms)?;
            for (place, (number, _)) in batch.iter().enumerate() {
                put.number(*number);
                let name = self.given_name(*number);
                put.flag(name.is_some());
                if let Some(name) = name {
                    put.text(name);
                }
                for cell in place * width..(place + 1) * width {
                    put.term(terms.get(cell).ok_or(Mistake("the term of an id"))?);
                }
            }
        }
        Ok(put.bytes)
    }

    /// The parameters that encoded instances have.
    pub(in crate::standing) fn parameters_of(bytes: &[u8]) -> Result<Vec<String>, Mistake> {
        let mut take = Take::new(bytes);
        (0..take.count()?).map(|_| take.text()).collect()
    }

    /// Adds what was encoded, with its numbers; new terms get ids of `live`.
    pub(in crate::standing) fn restore(
        &mut self,
        bytes: &[u8],
        live: &LiveDictionary,
    ) -> Result<(), QueryError> {
        let mut take = Take::new(bytes);
        for _ in 0..take.count()? {
            take.text()?;
        }
        let made = take.number()?;
        let mut left = take.count()?;
        let width = self.parameters.len();
        while left > 0 {
            let count = left.min(BATCH);
            let mut named = Vec::with_capacity(count);
            let mut terms: Vec<Term> = Vec::with_capacity(count * width);
            for _ in 0..count {
                let number = take.number()?;
                let name = take.flag()?.then(|| take.text()).transpose()?;
                named.push((number, name));
                for _ in 0..width {
                    terms.push(take.term()?);
                }
            }
            let terms: Vec<TermRef<'_>> = terms.iter().map(Term::as_ref).collect();
            let mut ids = Vec::with_capacity(terms.len());
            live.intern(&terms, &mut ids).map_err(too_large)?;
            for ((number, name), cells) in named.into_iter().zip(ids.chunks_exact(width)) {
                if number <= self.made {
                    return Err(Mistake("a number that ascends").into());
                }
                self.made = number - 1;
                self.add_one(name.map(Into::into), cells);
            }
            left -= count;
        }
        self.made = self.made.max(made);
        self.account()
    }
}
