//! Conditions on a row, as programs have them: what is looked at, and what it is compared with.

use crate::layout::{self, CheckKind};
use query::plan::Slot;
use rdf::VertexId;
use std::ops::Range;

/// A condition on a row.
pub(crate) struct ProgramCheck {
    pub(crate) kind: CheckKind,
    pub(crate) segment: layout::Segment,
    pub(crate) rows: Range<u64>,
    pub(crate) left: Operand,
    pub(crate) right: Operand,
}

/// What a step or a check reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    Column(Slot),
    Constant(VertexId),
}
