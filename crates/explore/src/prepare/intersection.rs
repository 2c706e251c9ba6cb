//! An intersection of the plan: of lists as they stand, or, where they have to be filtered by graph, by expansion and check.

use super::Builder;
use crate::error::WalkError;
use crate::scope::ResolvedScope;
use crate::step::Policy;
use crate::step::expand_check::ExpandCheckPolicy;
use crate::step::intersect::{IntersectPolicy, Side};
use query::plan::{Side as PlannedSide, Slot};
use store::view::{GraphView, SegmentKey};

impl<'a, V: GraphView> Builder<'_, 'a, V> {
    /// The policy of an intersection that fills `into`.
    pub(super) fn intersection(
        &self,
        sides: &[PlannedSide; 2],
        into: Option<Slot>,
    ) -> Result<Policy<'a>, WalkError> {
        let [Some(near), Some(far)] = sides.each_ref().map(|side| self.side(side)) else {
            return Ok(Policy::Nothing);
        };
        let sides = [near, far];
        // Both are asked, so that both answers are on their way at once.
        let near_is_whole = self.needs_no_filter(near.segment, (near.scope, near.source))?;
        let far_is_whole = self.needs_no_filter(far.segment, (far.scope, far.source))?;
        Ok(if near_is_whole && far_is_whole {
            Policy::Intersect(IntersectPolicy { sides, into })
        } else {
            Policy::ExpandCheck(ExpandCheckPolicy { sides, into })
        })
    }

    /// The lists of a side; `None` where there are none.
    fn side(&self, side: &PlannedSide) -> Option<Side> {
        let predicate = self
            .view(side.source)
            .predicate_id(self.ids[side.predicate.0 as usize])?;
        let scope = match self.dataset(side.source).resolve(side.scope, self.ids) {
            ResolvedScope::Fixed(scope) => scope,
            ResolvedScope::Nothing => return None,
            ResolvedScope::PerRow { .. } => unreachable!("a side's graph is known"),
        };
        let segment = SegmentKey {
            predicate,
            direction: side.direction,
        };
        Some(Side {
            from: side.from,
            segment,
            scope,
            source: side.source,
        })
    }
}
