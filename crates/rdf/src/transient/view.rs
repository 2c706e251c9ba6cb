//! What an evaluation over windows sees of terms: the dictionary at one moment, and the terms that only windows hold.
//!
//! Invariant: no term has an id in both. Whoever makes a view has asked [`TransientTerms::stored_since`] for the same
//! moment, and has put stored ids in place of the others.

use super::TransientTerms;
use crate::dictionary::DictionaryView;
use crate::id::VertexId;
use crate::lexicon::{Lexicon, LexiconError};
use crate::terms::TermBuffer;
use oxrdf::TermRef;

/// See the head of this file.
#[derive(Clone, Copy, Debug)]
pub struct TransientView<'a> {
    stored: &'a DictionaryView,
    transient: &'a TransientTerms,
}

impl<'a> TransientView<'a> {
    /// Both together.
    pub fn new(stored: &'a DictionaryView, transient: &'a TransientTerms) -> TransientView<'a> {
        TransientView { stored, transient }
    }
}

impl Lexicon for TransientView<'_> {
    fn ids(
        &self,
        terms: &[TermRef<'_>],
        ids: &mut Vec<Option<VertexId>>,
    ) -> Result<(), LexiconError> {
        let first = ids.len();
        self.stored.ids(terms, ids)?;
        if self.transient.is_empty() {
            return Ok(());
        }
        for (term, id) in terms.iter().zip(&mut ids[first..]) {
            if id.is_none() {
                *id = self.transient.find(*term);
            }
        }
        Ok(())
    }

    fn terms(&self, ids: &[VertexId], terms: &mut TermBuffer) -> Result<(), LexiconError> {
        self.terms_within(ids, usize::MAX, terms).map(|_| ())
    }

    fn terms_within(
        &self,
        ids: &[VertexId],
        text_bytes_max: usize,
        terms: &mut TermBuffer,
    ) -> Result<usize, LexiconError> {
        let mut done = 0;
        for run in ids.chunk_by(|one, next| one.is_transient() == next.is_transient()) {
            let read = if run[0].is_transient() {
                self.transient_terms(run, text_bytes_max, terms)?
            } else {
                self.stored.terms_within(run, text_bytes_max, terms)?
            };
            done += read;
            if read < run.len() || terms.text_bytes() > text_bytes_max {
                break;
            }
        }
        Ok(done)
    }
}

impl TransientView<'_> {
    fn transient_terms(
        &self,
        ids: &[VertexId],
        text_bytes_max: usize,
        terms: &mut TermBuffer,
    ) -> Result<usize, LexiconError> {
        for (done, id) in ids.iter().enumerate() {
            self.transient.append(*id, terms)?;
            if terms.text_bytes() > text_bytes_max {
                return Ok(done + 1);
            }
        }
        Ok(ids.len())
    }
}
