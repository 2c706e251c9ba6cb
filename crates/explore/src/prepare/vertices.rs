//! All subjects or all objects, each once: the set that a store keeps of them.
//!
//! ```text
//!  all predicates ?p -> keys ?o of ?p -> filters of ?o -> distinct ?o
//!  nothing           -> all objects ?o -> the same      -> nothing
//! ```
//!
//! A vertex is a key of each of its predicates (an LUBM vertex of five), so the set is that much shorter, it
//! is sorted, which texts of terms are read by, it is a seed that workers cut, and nothing has to be hashed.
//! Only where every edge is in the scope: the set is of all graphs.

use super::{Builder, Policy};
use crate::ask;
use crate::error::WalkError;
use crate::scope::ResolvedScope;
use crate::step::set::SetPolicy;
use query::plan::{Action, Node, Slot, Source, Step};
use rdf::Direction;
use store::VertexSet;
use store::view::{GraphScope, GraphView, Need, SegmentKey};

/// Predicates up to which it is asked whether all their edges are in the scope, some 100 ns each.
const PREDICATES_MAX: usize = 4096;

/// The set in place of the steps that would have made it.
pub(super) struct Vertices<'a> {
    set: Option<VertexSet<'a>>,
    into: Slot,
    /// The step that drops what comes again.
    distinct: usize,
}

impl<'a> Vertices<'a> {
    /// The policy of a step that was to make the set; `None`: the step stays as it is.
    pub(super) fn policy(&mut self, step: usize) -> Option<Policy<'a>> {
        match step {
            0 => Some(Policy::Pass),
            1 => Some(Policy::Set(SetPolicy {
                set: self.set.take()?,
                into: Some(self.into),
            })),
            _ => (step == self.distinct).then_some(Policy::Pass),
        }
    }
}

impl<'a, V: GraphView> Builder<'_, 'a, V> {
    /// The set that a block begins with, if it begins like that.
    pub(super) fn vertices(
        &self,
        plan: &'a [Step],
        before: &[Slot],
    ) -> Result<Option<Vertices<'a>>, WalkError> {
        let [all, keys, rest @ ..] = plan else {
            return Ok(None);
        };
        let (
            &Action::AllPredicates {
                source: named_by,
                into: named,
            },
            &Action::ExpandKeys {
                predicate,
                direction,
                scope,
                source,
                into,
            },
        ) = (&all.action, &keys.action)
        else {
            return Ok(None);
        };
        let is_filter = |step: &&Step| matches!(step.action, Action::Filter(_));
        let filters = rest.iter().take_while(is_filter).count();
        let drops_same = |step: &Step| match &step.action {
            Action::Distinct { columns } => columns[..] == [into],
            _ => false,
        };
        let is_such = predicate == Node::Slot(named)
            && source == named_by
            && before.is_empty()
            && keys.keep[..] == [into]
            && rest.get(filters).is_some_and(drops_same);
        let ResolvedScope::Fixed(scope) = self.dataset(source).resolve(scope, self.ids) else {
            return Ok(None);
        };
        if !is_such || !self.holds_all(source, self.dataset(source).graphs(scope))? {
            return Ok(None);
        }
        Ok(Some(Vertices {
            set: Some(self.there(ask::vertices(self.view(source), direction))?),
            into,
            distinct: filters + 2,
        }))
    }

    /// Whether every edge is of these graphs. By numbers of edges alone: a node of several has keys of its own, and would
    /// decide otherwise than the next one.
    fn holds_all(&self, source: Source, graphs: GraphScope<'_>) -> Result<bool, WalkError> {
        let view = self.view(source);
        let predicates = view.predicates();
        if predicates.len() > PREDICATES_MAX {
            return Ok(false);
        }
        let segments = predicates.iter().map(|&predicate| SegmentKey {
            predicate,
            direction: Direction::Out,
        });
        let all = GraphScope::Union;
        let needs = segments.clone();
        let needs = needs.flat_map(|one| [Need::Edges(one, graphs), Need::Edges(one, all)]);
        self.there(ask::need_all(view, needs))?;
        for segment in segments {
            let edges = |scope| self.there(ask::edges(view, segment, scope));
            match edges(graphs)? {
                None => return Ok(false),
                Some(0) if edges(all)? != Some(0) => return Ok(false),
                Some(_) => {}
            }
        }
        Ok(true)
    }
}
