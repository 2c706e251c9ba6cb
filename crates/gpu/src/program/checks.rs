//! Checks and filters of a plan, in the words of kernels.

use super::{Compiler, Stop, layered};
use crate::access::Accessed;
use crate::cache::What;
use crate::condition::{Operand, ProgramCheck};
use crate::error::NotCovered;
use crate::layout;
use explore::TagSet;
use query::plan::{Action, ConstantId, Node, Scope, Slot, Source, Step};
use rdf::{Direction, VertexId};

/// Comparisons of a filter, at most: each four are a pass over the table, and a processor looks for one of many ids by a search.
const CONDITIONS_MAX: usize = 2 * layout::CHECKS;

impl Compiler<'_, '_, '_> {
    /// The comparisons that a filter is.
    pub(super) fn filter(&self, at: usize) -> Result<Vec<ProgramCheck>, NotCovered> {
        let tags = |slot: Slot| {
            let made = self.tags.iter().rev().find(|(made, _)| *made == slot);
            made.map_or(TagSet::STORED, |(_, tags)| *tags)
        };
        let conditions = self.prepared.on_ids(at, &tags);
        let conditions = conditions.ok_or(NotCovered::Condition)?;
        if conditions.len() > CONDITIONS_MAX {
            return Err(NotCovered::Condition);
        }
        Ok(conditions.into_iter().map(ProgramCheck::of_ids).collect())
    }

    /// The checks that a check is: one, where layers have not changed its segment.
    pub(super) fn check(&mut self, step: &Step) -> Result<Vec<ProgramCheck>, Stop> {
        let Action::Check {
            subject,
            predicate,
            object,
            from,
            scope,
            source,
        } = step.action
        else {
            unreachable!("the caller has looked");
        };
        match (subject, object) {
            (Node::Slot(subject), Node::Slot(object)) => {
                let (key, images) = self.segment((predicate, What::Edges), from, scope, source)?;
                self.looks_at_changes(&images, None);
                let (left, right) = match from {
                    Direction::Out => (subject, object),
                    Direction::In => (object, subject),
                };
                self.has_list(key, Operand::Column(left))?;
                self.accesses_edge(&images);
                Ok(layered::edge(&images, left, Operand::Column(right)))
            }
            (Node::Slot(subject), Node::Constant(object)) => {
                let end = (object, Direction::In);
                self.check_constant(predicate, end, subject, from, (scope, source))
            }
            (Node::Constant(subject), Node::Slot(object)) => {
                let end = (subject, Direction::Out);
                self.check_constant(predicate, end, object, from, (scope, source))
            }
            (Node::Constant(_), Node::Constant(_)) => Err(NotCovered::Shape.into()),
        }
    }

    /// A check with one constant end; `direction` is that in which the constant is the key.
    fn check_constant(
        &mut self,
        predicate: Node,
        (constant, direction): (ConstantId, Direction),
        column: Slot,
        from: Direction,
        (scope, source): (Scope, Source),
    ) -> Result<Vec<ProgramCheck>, Stop> {
        let (key, images) = self.segment((predicate, What::Edges), direction, scope, source)?;
        let found = self.rows_of(key, constant)?;
        let id = self.id(constant);
        self.looks_at_changes(&images, Some(id));
        let is_here = self.has_list(key, Operand::Constant(id)).is_ok();
        let dense = found
            .as_ref()
            .filter(|_| is_here)
            .and_then(|(ordinal, _)| images.base.dense(*ordinal));
        let ordinal = found.as_ref().map_or(0, |(ordinal, _)| *ordinal);
        let of_base = if let Some(index) = dense {
            self.accesses(&images, Accessed::Dense(ordinal));
            ProgramCheck::key(*index, column)
        } else if !is_here {
            return self.check_elsewhere(predicate, (id, direction), column, (scope, source));
        } else if from != direction && found.is_some() {
            let (_, other) = self.segment((predicate, What::Edges), from, scope, source)?;
            self.accesses(&other, Accessed::Edge);
            ProgramCheck::edge(&other.base, column, Operand::Constant(id))
        } else {
            let rows = found.map_or(0..0, |(_, rows)| rows);
            self.accesses(&images, Accessed::Among(rows.clone()));
            ProgramCheck::rows(&images.base, rows, column)
        };
        self.accesses_changes(&images, &Accessed::Edge);
        Ok(layered::with_constant(of_base, &images, id, column))
    }

    /// The same where the constant's list may not all be here: in the lists of the column's vertices.
    fn check_elsewhere(
        &mut self,
        predicate: Node,
        (constant, direction): (VertexId, Direction),
        column: Slot,
        (scope, source): (Scope, Source),
    ) -> Result<Vec<ProgramCheck>, Stop> {
        let looked = (predicate, What::Edges);
        let (key, images) = self.segment(looked, direction.reversed(), scope, source)?;
        self.has_list(key, Operand::Column(column))?;
        self.accesses_edge(&images);
        Ok(layered::edge(&images, column, Operand::Constant(constant)))
    }
}
