//! Where an expansion and a later check become one intersection.
//!
//! ```text
//!  expand ?z -memberOf-> ?x            with both ends of the check columns, one of them new,
//!  filter or check ...ends up as...    the other bound before the expansion
//!  check  ?x -degreeFrom-> ?y
//! ```
//!
//! Steps between the two only drop rows, so the check may run before them. It pays when lists are
//! longer than a few: an intersection costs some 100 ns a row whatever its lists, an expanded row
//! that is looked up some 40 ns. The mean length is that of a sample of the segment's keys.

use super::Builder;
use crate::error::WalkError;
use crate::scope::{FixedScope, ResolvedScope};
use crate::step::intersect::{IntersectPolicy, Side};
use query::plan::{Action, Node, Scope, Slot, Step};
use rdf::{Direction, PredicateId};
use store::Lists;
use store::view::{GraphView, SegmentKey};

/// Mean neighbours of a key from which on an intersection is chosen.
const MEAN_ROWS_MIN: u64 = 4;

/// Keys of a sample: this many runs of this many keys.
const SAMPLE_RUNS: u64 = 4;
const SAMPLE_KEYS: u64 = 8;

impl<'a, V: GraphView> Builder<'_, 'a, V> {
    /// The intersection that step `at` begins and the step whose check it does, if there is one.
    /// The columns of `bound` are alive before the step.
    pub(super) fn intersection(
        &self,
        steps: &'a [Step],
        at: usize,
        bound: &[Slot],
    ) -> Result<Option<(IntersectPolicy, usize)>, WalkError> {
        if !self.intersects {
            return Ok(None);
        }
        let Action::Expand {
            from: Node::Slot(from),
            predicate,
            direction,
            scope,
            into,
        } = steps[at].action
        else {
            return Ok(None);
        };
        let Some((check, other)) = find_check(&steps[at + 1..], into, bound) else {
            return Ok(None);
        };
        let sides = (
            self.side(from, predicate, direction, scope)?,
            self.check_side(other)?,
        );
        let (Some(left), Some(right)) = sides else {
            return Ok(None);
        };
        if self.mean_rows(left.segment)? < MEAN_ROWS_MIN {
            return Ok(None);
        }
        let into = steps[at].kept(into);
        Ok(Some((
            IntersectPolicy {
                sides: [left, right],
                into,
            },
            at + 1 + check,
        )))
    }

    fn check_side(&self, check: Check) -> Result<Option<Side>, WalkError> {
        self.side(check.from, check.predicate, check.direction, check.scope)
    }

    /// A side of an intersection, if its segment is known and not filtered.
    fn side(
        &self,
        from: Slot,
        predicate: Node,
        direction: Direction,
        scope: Scope,
    ) -> Result<Option<Side>, WalkError> {
        let Some(predicate) = self.known_predicate(predicate) else {
            return Ok(None);
        };
        let ResolvedScope::Fixed(scope) = self.dataset.resolve(scope, self.ids) else {
            return Ok(None);
        };
        if matches!(scope, FixedScope::EachNamed | FixedScope::EachOf) {
            return Ok(None);
        }
        let segment = SegmentKey {
            predicate,
            direction,
        };
        let is_whole = self.needs_no_filter(segment, scope)?;
        Ok(is_whole.then_some(Side {
            from,
            segment,
            scope,
        }))
    }

    fn known_predicate(&self, predicate: Node) -> Option<PredicateId> {
        let Node::Constant(constant) = predicate else {
            return None;
        };
        self.view.predicate_id(self.ids[constant.0 as usize])
    }

    /// Mean neighbours of some keys of a segment.
    fn mean_rows(&self, segment: SegmentKey) -> Result<u64, WalkError> {
        let keys = self.keys_of(segment)?;
        let mut sample = Vec::new();
        for run in 0..SAMPLE_RUNS {
            let from = keys.len() / SAMPLE_RUNS * run;
            keys.decode(from, (from + SAMPLE_KEYS).min(keys.len()), &mut sample)?;
        }
        let mut lists = Lists::new();
        self.lists_of(segment, &sample, FixedScope::Default, &mut lists)?;
        Ok(lists.total_edges() / (sample.len() as u64).max(1))
    }
}

/// A check seen from its end that was bound before.
#[derive(Clone, Copy)]
struct Check {
    from: Slot,
    predicate: Node,
    direction: Direction,
    scope: Scope,
}

/// The first check between `into` and a slot that is bound before, with only row filters before it.
fn find_check(steps: &[Step], into: Slot, bound: &[Slot]) -> Option<(usize, Check)> {
    for (at, step) in steps.iter().enumerate() {
        match step.action {
            Action::Check {
                scope: Scope::Bind(_),
                ..
            } => return None,
            Action::Check {
                subject,
                predicate,
                object,
                scope,
            } => {
                let seen = |near: Node, far: Node, direction| match (near, far) {
                    (Node::Slot(from), Node::Slot(new)) if new == into && bound.contains(&from) => {
                        Some(Check {
                            from,
                            predicate,
                            direction,
                            scope,
                        })
                    }
                    _ => None,
                };
                let check = seen(subject, object, Direction::Out)
                    .or_else(|| seen(object, subject, Direction::In));
                if let Some(check) = check {
                    return Some((at, check));
                }
            }
            Action::Filter(_) | Action::Same { .. } => {}
            _ => return None,
        }
    }
    None
}
