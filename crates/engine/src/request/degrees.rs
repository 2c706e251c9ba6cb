//! What the planner asks of a graph: how many neighbours the constants of a query have.
//!
//! Plans and kept shapes ask the same questions, so the answers stand below both. An answer costs one lookup for each
//! list that its question is about.

use crate::error::QueryError;
use explore::{Limits, wait};
use query::statistics::DegreeQuestion;
use store::Lists;
use store::view::{GraphScope, GraphView, Progress, SegmentKey};

/// Answers the planner's questions about constants, over all graphs.
pub(crate) fn degrees<V: GraphView>(
    view: &V,
    limits: &Limits<'_>,
    questions: impl IntoIterator<Item = DegreeQuestion>,
) -> Result<Vec<u64>, QueryError> {
    let mut lists = Lists::new();
    let mut answers = Vec::new();
    let mut predicates = Vec::new();
    for question in questions {
        predicates.clear();
        if let Some(vertex) = question.predicate {
            predicates.extend(view.predicate_id(vertex));
        } else {
            let mut ends = Vec::new();
            let vertices = [question.vertex];
            let direction = question.direction;
            while let Progress::Pending(ticket) =
                view.predicates_of(direction, &vertices, &mut predicates, &mut ends)?
            {
                wait(view, ticket, limits)?;
            }
        }
        let mut edges = 0;
        for predicate in &predicates {
            let segment = SegmentKey {
                predicate: *predicate,
                direction: question.direction,
            };
            let keys = [question.vertex];
            while let Progress::Pending(ticket) =
                view.lists(segment, &keys, GraphScope::Default, &mut lists)?
            {
                wait(view, ticket, limits)?;
            }
            edges += lists.edges(0);
        }
        answers.push(edges);
    }
    Ok(answers)
}
