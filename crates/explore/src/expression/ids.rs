//! From values to ids: what `BIND`, aggregates and `VALUES` put into columns.
//!
//! A computed term gets an inline id where there is one, else the dictionary's, else one of the
//! query's own ([`crate::local::LocalTerms`]), so that equality of ids stays equality of terms.

use super::batch::{Batch, Terms};
use super::computation::Computation;
use crate::error::WalkError;
use oxrdf::TermRef;
use rdf::VertexId;

/// The id of a term.
pub(crate) fn id_of(term: TermRef<'_>, terms: &Terms<'_>) -> Result<VertexId, WalkError> {
    let mut ids = Vec::with_capacity(1);
    terms.lexicon.ids(&[term], &mut ids)?;
    match ids.first().copied().flatten() {
        Some(id) => Ok(id),
        None => terms.locals.id_of(term),
    }
}

impl Computation {
    /// Appends to `ids` the id of each of these rows of the batch, unbound for an error.
    pub(crate) fn ids(
        &self,
        batch: &Batch<'_>,
        at: &[u32],
        ids: &mut Vec<VertexId>,
    ) -> Result<(), WalkError> {
        let operand = self.evaluate(batch, at)?;
        for row in 0..at.len() {
            ids.push(
                match operand.get(row).and_then(super::value::Value::to_term) {
                    None => VertexId::UNBOUND,
                    Some(term) => id_of(term.as_ref(), batch.terms())?,
                },
            );
        }
        Ok(())
    }
}
