//! What many workers share of one walk: the elements that it starts from.
//!
//! ```text
//!  a set (keys of a predicate, neighbours of a constant)        its elements
//!  all predicates, then the keys of each: (p0 k0 k1 k2)(p1 k0)  the keys one after the other
//! ```
//!
//! A part of it is a range of them, and the rows of all parts are the rows of the whole. Predicates alone
//! would make few and uneven parts of what is most of a graph.
//!
//! Walks over the parts that choose the first rows in an order share where their choices end.

use super::Prepared;
use crate::ask;
use crate::error::WalkError;
use crate::step::PatternOperand;
use crate::step::Policy;
use crate::step::order::Shared;
use crate::step::set::ArrangedSet;
use crate::views::Views;
use rdf::VertexId;
use std::ops::Range;
use store::view::{GraphView, Need, SegmentKey};

/// Predicates up to which their keys are counted, some 100 ns each; more are a seed by themselves.
const PREDICATES_MAX: u64 = 4096;

/// The elements that a walk starts from; see the module's documentation. For one run: what walks over its
/// parts have chosen is in it.
#[derive(Debug)]
pub struct Seed<'a> {
    /// The step that holds the set.
    step: usize,
    len: u64,
    /// Where the keys of each predicate end; empty for a mere set.
    ends: Vec<u64>,
    /// What walks over parts that end in a choice share.
    choice: Shared<'a>,
    /// How elements are numbered, where that is not by their order.
    arranged: Option<ArrangedSet<'a>>,
}

/// What a walk over a part of a seed starts from.
pub(crate) struct SeedPart {
    /// The step that holds the set.
    pub(crate) step: usize,
    /// Elements of the set.
    pub(crate) elements: Range<u64>,
    /// The first key of the first element's, and the end of those of the last, for the step after it.
    pub(crate) keys: Option<Range<u64>>,
}

impl<'a> Seed<'a> {
    /// Number of elements, or of keys; at least as many as rows come from them, but for those of graphs that
    /// are not asked for.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is nothing to start from.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether it is a mere set, not the keys of several predicates.
    pub fn is_set(&self) -> bool {
        self.ends.is_empty()
    }

    /// The same elements, numbered so: for whoever walks parts of it elsewhere and numbers them so there. Asserts that it is a mere
    /// set, not the keys of several predicates.
    #[must_use]
    pub fn arranged(self, arranged: ArrangedSet<'a>) -> Seed<'a> {
        assert!(self.ends.is_empty(), "keys are numbered by predicates");
        Seed {
            len: arranged.len(),
            arranged: Some(arranged),
            ..self
        }
    }

    /// How its elements are numbered, where that is not by their order.
    pub(crate) fn arrangement(&self) -> Option<&ArrangedSet<'a>> {
        self.arranged.as_ref()
    }

    /// Where the choices of walks over its parts end.
    pub(crate) fn choice(&self) -> &Shared<'a> {
        &self.choice
    }

    /// What lies in a range of it that is not empty.
    pub(crate) fn part(&self, range: Range<u64>) -> SeedPart {
        assert!(
            range.start < range.end && range.end <= self.len,
            "a seed is cut within its length"
        );
        if self.ends.is_empty() {
            return SeedPart {
                step: self.step,
                elements: range,
                keys: None,
            };
        }
        let element_of = |key: u64| self.ends.partition_point(|end| *end <= key);
        let start_of = |element: usize| match element {
            0 => 0,
            element => self.ends[element - 1],
        };
        let first = element_of(range.start);
        let last = element_of(range.end - 1);
        SeedPart {
            step: self.step,
            elements: first as u64..last as u64 + 1,
            keys: Some(range.start - start_of(first)..range.end - start_of(last)),
        }
    }
}

impl<'a> Prepared<'a> {
    /// What workers may cut into ranges. `None`: the walk starts from no set, so only one can run it.
    /// [`WalkError::Pending`]: to be called again when the ticket completes.
    pub fn seed<'v, V: GraphView + 'v>(
        &self,
        views: impl Into<Views<'v, V>>,
    ) -> Result<Option<Seed<'a>>, WalkError> {
        let steps = &self.top.steps[..self.top.cut];
        let is_passed = |policy: &Policy<'_>| matches!(policy, Policy::Pass);
        let Some(step) = steps.iter().position(|step| !is_passed(&step.policy)) else {
            return Ok(None);
        };
        let Policy::Set(set) = &steps[step].policy else {
            return Ok(None);
        };
        let mut seed = Seed {
            step,
            len: set.set.len(),
            ends: Vec::new(),
            choice: Shared::default(),
            arranged: None,
        };
        let Some(Policy::Keys(keys)) = steps.get(step + 1).map(|step| &step.policy) else {
            return Ok(Some(seed));
        };
        let is_of_each = set
            .into
            .is_some_and(|slot| keys.predicate == PatternOperand::Slot(slot));
        if !is_of_each || !keys.lists_segments() || seed.len > PREDICATES_MAX {
            return Ok(Some(seed));
        }
        let view = views.into().of(keys.source);
        let mut predicates = Vec::new();
        set.set.decode(0, seed.len, &mut predicates)?;
        seed.len = 0;
        let segment = |vertex: &VertexId| {
            Some(SegmentKey {
                predicate: view.predicate_id(*vertex)?,
                direction: keys.direction,
            })
        };
        let segments: Vec<Option<SegmentKey>> = predicates.iter().map(segment).collect();
        ask::need_all(view, segments.iter().flatten().copied().map(Need::Keys))?;
        for segment in segments {
            if let Some(segment) = segment {
                seed.len += ask::keys(view, segment)?.len();
            }
            seed.ends.push(seed.len);
        }
        Ok(Some(seed))
    }

    /// The steps that a worker walks over its parts: those before the [cut](Prepared::cut), and a choice of
    /// the first few in an order that stands there, because the first of all are among the first of each part.
    pub fn part_steps(&self) -> usize {
        let steps = &self.top.steps;
        let Some(step) = steps.get(self.top.cut) else {
            return self.top.cut;
        };
        let is_choice = matches!(&step.policy, Policy::Order(order) if order.chooses_few());
        let passes_all = self.top.columns_before(self.top.cut) == step.keep;
        self.top.cut + usize::from(is_choice && passes_all)
    }
}
