//! Conditions on a row, as programs have them: what is looked at, and what it is compared with.

use crate::image::Image;
use crate::layout::{self, CheckKind, Joins};
use explore::IdCondition;
use query::plan::Slot;
use rdf::VertexId;
use std::ops::Range;

/// A condition on a row.
#[derive(Clone)]
pub(crate) struct ProgramCheck {
    pub(crate) kind: CheckKind,
    pub(crate) segment: layout::Segment,
    /// Rows of the segment, or the first and the last of some ids.
    pub(crate) rows: Range<u64>,
    pub(crate) left: Operand,
    pub(crate) right: Operand,
    /// How it is put together with those before it.
    pub(crate) joins: Joins,
}

/// What a step or a check reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    Column(Slot),
    Constant(VertexId),
}

impl ProgramCheck {
    /// Whether the operand is a neighbour of the column's vertex.
    pub(crate) fn edge(image: &Image, left: Slot, right: Operand) -> ProgramCheck {
        ProgramCheck {
            kind: CheckKind::Edge,
            segment: image.segment,
            rows: 0..0,
            left: Operand::Column(left),
            right,
            joins: Joins::And,
        }
    }

    /// Whether the column is an index's key.
    pub(crate) fn key(index: layout::Index, column: Slot) -> ProgramCheck {
        let column = Operand::Column(column);
        ProgramCheck {
            segment: layout::Segment {
                index,
                ..layout::Segment::default()
            },
            ..ProgramCheck::of_kind(CheckKind::Key, column, column)
        }
    }

    /// Whether the column is among these rows of a segment.
    pub(crate) fn rows(image: &Image, rows: Range<u64>, column: Slot) -> ProgramCheck {
        let column = Operand::Column(column);
        ProgramCheck {
            segment: image.segment,
            rows,
            ..ProgramCheck::of_kind(CheckKind::Rows, column, column)
        }
    }

    /// The same, put together so with those before it.
    pub(crate) fn joined(self, joins: Joins) -> ProgramCheck {
        ProgramCheck { joins, ..self }
    }

    /// Whether two columns have the same id, or have not.
    pub(crate) fn same(left: Slot, right: Slot, are_same: bool) -> ProgramCheck {
        let kind = if are_same {
            CheckKind::Same
        } else {
            CheckKind::Different
        };
        ProgramCheck::of_kind(kind, Operand::Column(left), Operand::Column(right))
    }

    /// What holds of no row.
    pub(crate) fn never() -> ProgramCheck {
        let nothing = Operand::Constant(VertexId::UNBOUND);
        ProgramCheck::of_kind(CheckKind::Different, nothing, nothing)
    }

    /// What holds of every row.
    pub(crate) fn always() -> ProgramCheck {
        let nothing = Operand::Constant(VertexId::UNBOUND);
        ProgramCheck::of_kind(CheckKind::Same, nothing, nothing)
    }

    /// A comparison of ids.
    pub(crate) fn of_ids(condition: IdCondition) -> ProgramCheck {
        match condition {
            IdCondition::Same {
                left,
                right,
                are_same,
            } => ProgramCheck::same(left, right, are_same),
            IdCondition::Within {
                slot,
                first,
                last,
                is_in,
            } => {
                let kind = if is_in {
                    CheckKind::Within
                } else {
                    CheckKind::Outside
                };
                let column = Operand::Column(slot);
                ProgramCheck {
                    rows: first.bits()..last.bits(),
                    ..ProgramCheck::of_kind(kind, column, column)
                }
            }
        }
    }

    fn of_kind(kind: CheckKind, left: Operand, right: Operand) -> ProgramCheck {
        ProgramCheck {
            kind,
            segment: layout::Segment::default(),
            rows: 0..0,
            left,
            right,
            joins: Joins::And,
        }
    }
}
