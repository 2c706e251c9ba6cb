//! Steps whose predicate is not known before they run: what a device is told of all segments that they may ask.
//!
//! | action | on the device |
//! |---|---|
//! | `ExpandPredicates` | one row for each part that has the vertex as a key |
//! | `Expand` by a column | one row for each neighbour in the part of the row's predicate |
//! | `Check` by a column | is the other end in the list of the part? |
//!
//! Invariant: the parts are all predicates of the base in one direction, ascending by the predicates' ids; one that is not among
//! them has no edge in the base. Over a version with layers no step is a spread: they may have brought others.
//!
//! What is made are ids of 8 bytes: each part has its own codes. Cost: the images of all these segments, and a lookup for each row
//! and predicate; so graphs with many predicates stay on the processors, which read signatures.

use crate::condition::Operand;
use crate::image::Image;
use crate::layout;
use device::Kernel;
use query::plan::Slot;
use rdf::VertexId;
use std::sync::Arc;

/// Predicates of the graph, at most: each is asked for each row, and described in the arguments of a launch.
pub(crate) const PARTS_MAX: usize = 64;

/// See the head of this file.
pub(crate) struct Spread {
    /// Whose predicates or neighbours.
    pub(crate) of: Operand,
    pub(crate) what: Wanted,
    /// Each predicate with its segment.
    pub(crate) parts: Vec<(VertexId, Arc<Image>)>,
}

/// What is wanted of a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Its predicates, as a new column.
    Predicates(Slot),
    /// Its neighbours by the predicate in a column, as a new one.
    Neighbours { by: Slot, into: Slot },
    /// Whether this is one of them.
    Edge { by: Slot, to: Operand },
}

impl Spread {
    /// The kernel that does it.
    pub(crate) fn kernel(&self) -> Kernel {
        match self.what {
            Wanted::Predicates(_) => Kernel::Predicates,
            Wanted::Neighbours { .. } => Kernel::ExpandBy,
            Wanted::Edge { .. } => Kernel::CheckBy,
        }
    }

    /// Bytes that its parts take among the arguments.
    pub(crate) fn part_bytes(&self) -> usize {
        self.parts.len() * size_of::<layout::Part>()
    }

    /// The parts as kernels read them.
    pub(crate) fn described(&self) -> Vec<layout::Part> {
        let described = |(predicate, image): &(VertexId, Arc<Image>)| layout::Part {
            predicate: predicate.bits(),
            segment: image.segment,
        };
        self.parts.iter().map(described).collect()
    }

    /// The new column, but for its place.
    pub(crate) fn made(&self) -> Option<(Slot, layout::Column)> {
        let column = layout::Column {
            wide: 1,
            ..layout::Column::default()
        };
        match self.what {
            Wanted::Predicates(into) | Wanted::Neighbours { into, .. } => Some((into, column)),
            Wanted::Edge { .. } => None,
        }
    }

    /// What its kernel is told of its own, with where columns stand in the input.
    pub(crate) fn arguments(&self, parts: u64, place: impl Fn(Slot) -> u32) -> layout::SpreadStep {
        let operand = |operand: Operand| match operand {
            Operand::Column(slot) => (place(slot), 0),
            Operand::Constant(id) => (layout::CONSTANT, id.bits()),
        };
        let (from, constant) = operand(self.of);
        let mut arguments = layout::SpreadStep {
            parts,
            count: self.parts.len() as u32,
            from,
            constant,
            ..layout::SpreadStep::default()
        };
        match self.what {
            Wanted::Predicates(_) => {}
            Wanted::Neighbours { by, .. } => arguments.by = place(by),
            Wanted::Edge { by, to } => {
                arguments.by = place(by);
                (arguments.right, arguments.sought) = operand(to);
            }
        }
        arguments
    }
}
