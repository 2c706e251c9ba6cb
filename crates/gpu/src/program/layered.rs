//! Segments that layers have changed, in the words of kernels.
//!
//! Of an edge that is there the base has it and no layer took it away, or a layer brought it: never both. So what expands lists has
//! a branch for the base's, whose rows are checked against what went, and one for what came; what meets two lists, one for each
//! pair. A check becomes up to three that belong together. A seed has what came behind what the base has, and a step that takes away
//! what went.

use super::{Branch, PlanSeed, ProgramJoined, ProgramSeed, ProgramStep, Whose};
use crate::changes::Changes;
use crate::condition::{Operand, ProgramCheck};
use crate::image::Image;
use crate::layout::Joins;
use crate::versioned::Layered;
use query::plan::{Slot, Step};
use rdf::{Direction, VertexId};
use std::ops::Range;
use std::sync::Arc;
use store::delta::{OverlayEdges, Version};
use store::{GraphView, SegmentKey};

/// Whether a step may be by any predicate: layers have edges by none.
pub(crate) fn may_spread(version: Option<&Version>) -> bool {
    let Some(version) = version else {
        return true;
    };
    let is_brought = |predicate| {
        let segment = |direction| SegmentKey {
            predicate,
            direction,
        };
        let mut segments = [Direction::Out, Direction::In].map(segment).into_iter();
        segments.any(|segment| !version.is_base_alone(segment))
    };
    !version.predicates().into_iter().any(is_brought)
}

/// The lists of a column's vertices.
pub(super) fn of_column(images: &Layered, from: Slot, into: Slot) -> Vec<Branch> {
    let went = images.went.as_ref();
    let went = went.map(|went| ProgramCheck::edge(went, from, Operand::Column(into)));
    let came = images.came.as_ref();
    let came = came.map(|came| (came, Whose::Column(from)));
    branches((&images.base, Whose::Column(from)), came, went)
}

/// The list of a constant, of which the base has these rows.
pub(super) fn of_constant(
    images: &Layered,
    (constant, rows): (VertexId, Range<u64>),
    into: Slot,
) -> Vec<Branch> {
    let went = images.went_of(constant);
    let went = went.map(|(went, rows)| ProgramCheck::rows(went, rows, into));
    let came = images.came_of(constant);
    let came = came.map(|(came, rows)| (came, Whose::Rows(rows)));
    branches((&images.base, Whose::Rows(rows)), came, went)
}

fn branches(
    (base, whose): (&Arc<Image>, Whose),
    came: Option<(&Arc<Image>, Whose)>,
    went: Option<ProgramCheck>,
) -> Vec<Branch> {
    let went = went.map(|went| went.joined(Joins::Unless));
    let base = Branch {
        image: Arc::clone(base),
        whose,
        checks: went.into_iter().collect(),
    };
    let came = came.map(|(image, whose)| Branch {
        image: Arc::clone(image),
        whose,
        checks: Vec::new(),
    });
    std::iter::once(base).chain(came).collect()
}

/// What the lists of two columns have both.
pub(super) fn of_both([first, second]: [(&Layered, Slot); 2], into: Slot) -> Vec<Branch> {
    let (images, from) = second;
    let edge = |image: &Image| ProgramCheck::edge(image, from, Operand::Column(into));
    let mut all = Vec::with_capacity(4);
    let went = images.went.as_ref();
    for branch in of_column(first.0, first.1, into) {
        all.push(Branch {
            image: Arc::clone(&branch.image),
            whose: branch.whose.clone(),
            checks: branch.checks.clone(),
        });
        let own = &mut all.last_mut().expect("it was just put there").checks;
        own.extend(went.map(|went| edge(went).joined(Joins::Unless)));
        own.push(edge(&images.base));
        if let Some(came) = &images.came {
            let mut checks = branch.checks;
            checks.push(edge(came));
            all.push(Branch { checks, ..branch });
        }
    }
    all
}

/// Whether the operand is a neighbour of the column's vertex.
pub(super) fn edge(images: &Layered, left: Slot, right: Operand) -> Vec<ProgramCheck> {
    let edge = |image: &Image| ProgramCheck::edge(image, left, right);
    let went = images.went.as_ref();
    let came = images.came.as_ref();
    together(
        edge(&images.base),
        went.map(|went| edge(went)),
        came.map(|came| edge(came)),
    )
}

/// Whether a column is in the list of a constant, where this says it of the base.
pub(super) fn with_constant(
    of_base: ProgramCheck,
    images: &Layered,
    constant: VertexId,
    column: Slot,
) -> Vec<ProgramCheck> {
    let rows = |(image, rows): (&Arc<Image>, Range<u64>)| ProgramCheck::rows(image, rows, column);
    let went = images.went_of(constant).map(rows);
    let came = images.came_of(constant).map(rows);
    together(of_base, went, came)
}

/// Whether a column is among the keys, where these are images of keys.
pub(super) fn key(images: &Layered, column: Slot) -> Vec<ProgramCheck> {
    let key = |image: &Arc<Image>| ProgramCheck::key(image.segment.index, column);
    let went = images.went.as_ref().map(key);
    let came = images.came.as_ref().map(key);
    together(key(&images.base), went, came)
}

/// That such checks, which belong together, do not hold: what went is of the base, and what came is of neither.
pub(super) fn none_of(checks: Vec<ProgramCheck>) -> Vec<ProgramCheck> {
    let opposite = |check: ProgramCheck| {
        let joins = match check.joins {
            Joins::And | Joins::Or => Joins::Unless,
            Joins::Unless => Joins::Or,
        };
        check.joined(joins)
    };
    let are_corrected = checks.iter().any(|check| check.joins == Joins::Unless);
    // A row that a check before these refused does not come back by what went.
    let first = are_corrected.then(ProgramCheck::always);
    first
        .into_iter()
        .chain(checks.into_iter().map(opposite))
        .collect()
}

fn together(
    base: ProgramCheck,
    went: Option<ProgramCheck>,
    came: Option<ProgramCheck>,
) -> Vec<ProgramCheck> {
    let went = went.map(|went| went.joined(Joins::Unless));
    let came = came.map(|came| came.joined(Joins::Or));
    std::iter::once(base).chain(went).chain(came).collect()
}

/// How a seed over a changed set is numbered: the base's elements, some of which are none any more, then those that came. Whoever walks
/// a part of it elsewhere takes the same.
#[derive(Clone)]
pub struct Arranged {
    segment: SegmentKey,
    of: Option<VertexId>,
    changes: Arc<Changes>,
    came: Range<u64>,
    went: Range<u64>,
}

impl Arranged {
    /// The segment of the base whose elements come first.
    pub fn segment(&self) -> SegmentKey {
        self.segment
    }

    /// The key whose neighbours they are; `None`: the keys.
    pub fn of(&self) -> Option<VertexId> {
        self.of
    }

    /// Those behind them.
    pub fn came(&self) -> Vec<VertexId> {
        let came = self.changes.came();
        came.neighbours_in(self.came.clone()).collect()
    }

    /// Bytes of both lists below.
    pub fn bytes(&self) -> u64 {
        let ids = self.came.end - self.came.start + self.none();
        ids * size_of::<VertexId>() as u64
    }

    /// How many of the base's elements are none.
    pub fn none(&self) -> u64 {
        self.went.end - self.went.start
    }

    /// Those of the base's that are none; ascending.
    pub fn went(&self) -> Vec<VertexId> {
        let went = self.changes.went();
        went.neighbours_in(self.went.clone()).collect()
    }
}

/// The seed of a set that layers have changed: the base's elements, then what came, and what is taken away of it. It is the list of a
/// constant, of which the base has these rows, or the keys. `None`, where they have not changed it.
pub(super) fn seed(
    images: &Layered,
    (segment, of): (SegmentKey, Option<(VertexId, &Range<u64>)>),
    (step, into): (&Step, Slot),
) -> Option<PlanSeed> {
    let changes = images.changes()?;
    let all = |edges: &OverlayEdges| 0..edges.rows();
    let [came, went] = match of {
        Some((key, _)) => [changes.came().rows_of(key), changes.went().rows_of(key)],
        None => [all(changes.came()), all(changes.went())],
    };
    if came.is_empty() && went.is_empty() {
        return None;
    }
    let arranged = Arranged {
        segment,
        of: of.map(|(key, _)| key),
        changes: Arc::clone(changes),
        came: came.clone(),
        went: went.clone(),
    };
    let base = Arc::clone(&images.base);
    let rows = of.map(|(_, rows)| rows.clone());
    let made_of = match (images.came.as_ref().filter(|_| !came.is_empty()), rows) {
        (Some(image), rows) => ProgramSeed::Joined(ProgramJoined {
            first: (base, rows),
            second: (Arc::clone(image), came),
        }),
        (None, Some(rows)) => ProgramSeed::Rows(base, rows),
        (None, None) => ProgramSeed::Keys(base),
    };
    let image = images.went.as_ref().filter(|_| !went.is_empty());
    let check = image.map(|image| match of {
        Some(_) => ProgramCheck::rows(image, went, into),
        None => ProgramCheck::key(image.segment.index, into),
    });
    let kept = step.kept(into);
    // Until it was looked at what is taken away.
    let slot = if check.is_some() { Some(into) } else { kept };
    let keep = kept.into_iter().collect();
    Some(PlanSeed {
        made_of,
        slot,
        met: None,
        went: check.map(|check| ProgramStep::of_checks(vec![check.joined(Joins::Unless)], keep)),
        arranged: Some(arranged),
    })
}
