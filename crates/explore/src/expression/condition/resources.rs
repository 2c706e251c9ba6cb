//! `=` and `!=` of two columns, where rows hold IRIs and blank nodes.
//!
//! Two of those are equal exactly if they are one term (SPARQL 1.1 Query section 17.4.1.7), and within a walk a term has one id,
//! stored or transient. So such a row costs a comparison of ids and no term is read. Rows that hold something else, a literal
//! or a term that the query has computed, take the other form, only they.

use super::super::batch::Batch;
use super::{Condition, Truth};
use crate::error::WalkError;
use query::plan::Slot;
use rdf::{Tag, VertexId};

/// See the head of this file.
#[derive(Clone, Debug)]
pub(crate) struct ResourceComparison {
    pub(crate) left: Slot,
    pub(crate) right: Slot,
    /// What is said of two that are one term: true of `=`, false of `!=`.
    pub(crate) if_same: bool,
    /// The comparison of rows that ids do not decide.
    pub(in crate::expression) general: Condition,
}

/// Whether it is an IRI or a blank node by its tag.
fn is_resource(id: VertexId) -> bool {
    matches!(id.tag(), Some(Tag::Iri | Tag::TransientIri | Tag::Blank))
}

impl ResourceComparison {
    /// Appends what is said of each row.
    pub(super) fn evaluate(
        &self,
        batch: &Batch<'_>,
        at: &[u32],
        truths: &mut Vec<Truth>,
    ) -> Result<(), WalkError> {
        let (mut others, mut places) = (Vec::new(), Vec::new());
        for (place, &row) in at.iter().enumerate() {
            let (left, right) = (batch.id(self.left, row), batch.id(self.right, row));
            if !(is_resource(left) && is_resource(right)) {
                others.push(row);
                places.push(place);
            }
            truths.push(Truth::from((left == right) == self.if_same));
        }
        if !others.is_empty() {
            let mut answers = Vec::new();
            self.general.evaluate(batch, &others, &mut answers)?;
            for (place, answer) in places.into_iter().zip(answers) {
                truths[place] = answer;
            }
        }
        Ok(())
    }
}
