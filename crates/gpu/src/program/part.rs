//! What a program over a part of a graph may look at: lists of which the part has all ([`OwnPart`](crate::OwnPart)).

use super::Compiler;
use crate::condition::Operand;
use crate::error::NotCovered;
use query::plan::Slot;
use rdf::Direction;
use store::{GraphView, SegmentKey};

impl Compiler<'_, '_, '_> {
    /// Whether the lists of a segment lie in pieces.
    pub(super) fn is_in_pieces(&self, key: SegmentKey) -> bool {
        let pieces = self.part.and_then(|part| part.in_pieces);
        key.direction == Direction::In
            && pieces.is_some_and(|it| self.snapshot.predicate_vertex(key.predicate) == it)
    }

    /// An error where the part may lack some of this list, or of some vertex' in this column.
    pub(super) fn has_list(&self, key: SegmentKey, whose: Operand) -> Result<(), NotCovered> {
        if self.is_in_pieces(key) {
            let takes = self.part.is_some_and(|part| part.takes_pieces);
            return takes.then_some(()).ok_or(NotCovered::Part);
        }
        self.owns(whose)
    }

    /// An error where others may have edges of this vertex, or of one in this column.
    pub(super) fn owns(&self, whose: Operand) -> Result<(), NotCovered> {
        let Some(part) = self.part else {
            return Ok(());
        };
        let is_own = match whose {
            Operand::Column(slot) => self.owned.contains(&slot),
            Operand::Constant(vertex) => (part.owns)(vertex),
        };
        is_own.then_some(()).ok_or(NotCovered::Part)
    }

    /// The part owns the vertices of a column.
    pub(super) fn owned(&mut self, slot: Slot) {
        if self.part.is_some() {
            self.owned.push(slot);
        }
    }
}
