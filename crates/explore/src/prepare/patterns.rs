//! The choice of policies for patterns: expansions and checks.

use super::Builder;
use crate::ask;
use crate::error::WalkError;
use crate::scope::{FixedScope, ResolvedScope};
use crate::step::degree::DegreePolicy;
use crate::step::groups::{GroupBy, GroupsPolicy};
use crate::step::in_groups::InGroupsPolicy;
use crate::step::in_lists::{InListsPolicy, InSetPolicy};
use crate::step::keys::KeysPolicy;
use crate::step::list::{ListPolicy, Targets};
use crate::step::one_list::OneListPolicy;
use crate::step::predicates::PredicatesPolicy;
use crate::step::set::SetPolicy;
use crate::step::sizes::SizesPolicy;
use crate::step::{PatternOperand, Policy};
use query::plan::{Action, Node, Scope, Slot, Source, Step};
use rdf::{Direction, PredicateId, Tag, VertexId};
use store::view::{GraphView, SegmentKey};
use store::{Lists, VertexSet};

/// A set of so many elements is searched within the first two cache levels (8 KiB), so that looking
/// there is as cheap as looking in a list of each row.
const SMALL_SET: u64 = 1024;

/// Edges that have to be filtered by graph up to which a set of the survivors is made for a check.
const FILTERED_SET_EDGES_MAX: u64 = 4096;

/// What [`Action::Check`] looks for, and from which end.
#[derive(Clone, Copy)]
struct CheckedPattern {
    subject: Node,
    predicate: Node,
    object: Node,
    from: Direction,
}

/// A predicate as far as it is known.
enum Predicate {
    Known(PredicateId),
    PerRow(Slot),
    Nothing,
}

impl<'a, V: GraphView> Builder<'_, 'a, V> {
    /// The policy of an expansion or a check.
    pub(super) fn pattern(&mut self, step: &'a Step) -> Result<Policy<'a>, WalkError> {
        match step.action {
            Action::Expand {
                from,
                predicate,
                direction,
                scope,
                source,
                into,
            } => {
                let targets = targets(step, Some(into), scope);
                self.expand(from, predicate, direction, (scope, source), targets)
            }
            Action::Intersect { ref sides, into } => self.intersection(sides, step.kept(into)),
            Action::ExpandKeys {
                predicate,
                direction,
                scope,
                source,
                into,
            } => self.keys(predicate, direction, (scope, source), step.kept(into)),
            Action::ExpandPredicates {
                from,
                direction,
                source,
                into,
            } => Ok(self.place(from).map_or(Policy::Nothing, |from| {
                let into = step.kept(into);
                Policy::Predicates(PredicatesPolicy {
                    from,
                    direction,
                    source,
                    into,
                })
            })),
            Action::Sizes { .. } => Ok(self.sizes(step)),
            Action::Degree { .. } => Ok(self.degree(step)),
            Action::AllPredicates { source, into } => {
                let view = self.view(source);
                let predicates = view.predicates();
                let vertices = predicates.iter().map(|&one| view.predicate_vertex(one));
                self.owned_set(vertices.collect(), step.kept(into))
            }
            Action::AllGraphs { source, into } => {
                let graphs = match self.dataset(source).declared() {
                    Some(declared) => declared.to_vec(),
                    None => self.there(ask::named_graphs(self.view(source)))?,
                };
                self.owned_set(graphs, step.kept(into))
            }
            Action::Check {
                subject,
                predicate,
                object,
                from,
                scope,
                source,
            } => {
                let pattern = CheckedPattern {
                    subject,
                    predicate,
                    object,
                    from,
                };
                self.check(pattern, (scope, source), targets(step, None, scope))
            }
            _ => unreachable!("the caller handles the other actions"),
        }
    }

    fn sizes(&self, step: &Step) -> Policy<'a> {
        let Action::Sizes {
            predicate,
            scope,
            source,
            ref sizes,
            keeps_empty,
        } = step.action
        else {
            unreachable!("the caller has looked");
        };
        // What is stored nowhere is no predicate.
        let nothing = PatternOperand::Constant(VertexId::UNBOUND);
        let sizes = sizes.iter().filter(|(_, into)| step.keep.contains(into));
        Policy::Sizes(SizesPolicy {
            predicate: predicate.map(|node| self.place(node).unwrap_or(nothing)),
            scope: self.dataset(source).resolve(scope, self.ids),
            source,
            sizes: sizes.copied().collect(),
            keeps_empty,
        })
    }

    fn degree(&self, step: &Step) -> Policy<'a> {
        let Action::Degree {
            from,
            predicate,
            direction,
            scope,
            source,
            ref into,
        } = step.action
        else {
            unreachable!("the caller has looked");
        };
        let predicate = self.predicate(source, Node::Constant(predicate));
        let scope = self.dataset(source).resolve(scope, self.ids);
        let (Predicate::Known(predicate), ResolvedScope::Fixed(scope)) = (predicate, scope) else {
            return Policy::Nothing;
        };
        let into = into.iter().filter(|into| step.keep.contains(into));
        Policy::Degree(DegreePolicy {
            from,
            segment: SegmentKey {
                predicate,
                direction,
            },
            scope,
            source,
            into: into.copied().collect(),
        })
    }

    fn expand(
        &mut self,
        from: Node,
        predicate: Node,
        direction: Direction,
        (scope, source): (Scope, Source),
        targets: Targets,
    ) -> Result<Policy<'a>, WalkError> {
        let Some(from) = self.place(from) else {
            return Ok(Policy::Nothing);
        };
        let scope = self.dataset(source).resolve(scope, self.ids);
        let predicate = match (self.predicate(source, predicate), scope) {
            (Predicate::Nothing, _) | (_, ResolvedScope::Nothing) => return Ok(Policy::Nothing),
            (Predicate::Known(predicate), ResolvedScope::Fixed(scope)) => {
                let segment = SegmentKey {
                    predicate,
                    direction,
                };
                return match from {
                    PatternOperand::Slot(from) => Ok(Policy::List(ListPolicy {
                        from,
                        segment,
                        scope,
                        source,
                        targets,
                    })),
                    PatternOperand::Constant(from) => {
                        self.expand_constant(from, segment, (scope, source), targets)
                    }
                };
            }
            (Predicate::Known(predicate), _) => {
                PatternOperand::Constant(self.view(source).predicate_vertex(predicate))
            }
            (Predicate::PerRow(slot), _) => PatternOperand::Slot(slot),
        };
        let by = GroupBy {
            predicate,
            direction,
            scope,
            source,
        };
        Ok(Policy::Groups(GroupsPolicy { from, by, targets }))
    }

    /// The neighbours of a constant: a set, unless graphs are bound.
    fn expand_constant(
        &mut self,
        from: VertexId,
        segment: SegmentKey,
        (scope, source): (FixedScope, Source),
        targets: Targets,
    ) -> Result<Policy<'a>, WalkError> {
        if targets.binds_graph {
            return Ok(Policy::OneList(OneListPolicy {
                from,
                segment,
                scope,
                source,
                to: None,
                targets,
            }));
        }
        let set = self.neighbours_of(segment, from, (scope, source))?;
        if !self.needs_no_filter(segment, (scope, source))? {
            self.own(set.len())?;
        }
        Ok(Policy::Set(SetPolicy {
            set,
            into: targets.into,
        }))
    }

    fn keys(
        &mut self,
        predicate: Node,
        direction: Direction,
        (scope, source): (Scope, Source),
        into: Option<Slot>,
    ) -> Result<Policy<'a>, WalkError> {
        let scope = self.dataset(source).resolve(scope, self.ids);
        let predicate = match (self.predicate(source, predicate), scope) {
            (Predicate::Nothing, _) | (_, ResolvedScope::Nothing) => return Ok(Policy::Nothing),
            (Predicate::PerRow(slot), _) => PatternOperand::Slot(slot),
            (Predicate::Known(predicate), ResolvedScope::Fixed(scope)) => {
                let segment = SegmentKey {
                    predicate,
                    direction,
                };
                if let Some(set) = self.key_set(segment, (scope, source))? {
                    return Ok(Policy::Set(SetPolicy { set, into }));
                }
                PatternOperand::Constant(self.view(source).predicate_vertex(predicate))
            }
            (Predicate::Known(predicate), ResolvedScope::PerRow(_)) => {
                PatternOperand::Constant(self.view(source).predicate_vertex(predicate))
            }
        };
        Ok(Policy::Keys(KeysPolicy {
            predicate,
            direction,
            scope,
            source,
            into,
        }))
    }

    /// The keys of a segment as one set, where no key has to be looked at.
    fn key_set(
        &mut self,
        segment: SegmentKey,
        (scope, source): (FixedScope, Source),
    ) -> Result<Option<VertexSet<'a>>, WalkError> {
        Ok(match scope {
            FixedScope::EachNamed | FixedScope::EachOf | FixedScope::Union => {
                Some(self.keys_of(source, segment)?)
            }
            FixedScope::Named(graph) => {
                let mut keys = Vec::new();
                self.there(ask::keys_of_graph(
                    self.view(source),
                    segment,
                    graph,
                    &mut keys,
                ))?;
                self.own(keys.len() as u64)?;
                Some(VertexSet::from_sorted(keys))
            }
            FixedScope::Default | FixedScope::Merge => {
                self.unfiltered_keys(segment, (scope, source))?
            }
        })
    }

    /// All keys of a segment, or none, where its first key tells that no edge is filtered: a key has
    /// an edge in some graph, so exact lists hold it or the scope holds nothing of the segment.
    fn unfiltered_keys(
        &self,
        segment: SegmentKey,
        (scope, source): (FixedScope, Source),
    ) -> Result<Option<VertexSet<'a>>, WalkError> {
        let keys = self.keys_of(source, segment)?;
        let mut first = Vec::new();
        keys.decode(0, keys.len().min(1), &mut first)?;
        let mut lists = Lists::new();
        self.lists_of(source, segment, &first, scope, &mut lists)?;
        Ok(match (lists.is_exact(), lists.total_edges()) {
            (false, _) => None,
            (true, 0) => Some(VertexSet::empty()),
            (true, _) => Some(keys),
        })
    }

    fn check(
        &mut self,
        pattern: CheckedPattern,
        (scope, source): (Scope, Source),
        targets: Targets,
    ) -> Result<Policy<'a>, WalkError> {
        let ends = (self.place(pattern.subject), self.place(pattern.object));
        let (Some(subject), Some(object)) = ends else {
            return Ok(Policy::Nothing);
        };
        let scope = self.dataset(source).resolve(scope, self.ids);
        let predicate = match (self.predicate(source, pattern.predicate), scope) {
            (Predicate::Nothing, _) | (_, ResolvedScope::Nothing) => return Ok(Policy::Nothing),
            (Predicate::Known(predicate), ResolvedScope::Fixed(scope)) => {
                let both = (subject, object);
                let seen = SegmentKey {
                    predicate,
                    direction: pattern.from,
                };
                if let Some(policy) = self.check_known(both, seen, (scope, source), targets)? {
                    return Ok(policy);
                }
                PatternOperand::Constant(self.view(source).predicate_vertex(predicate))
            }
            (Predicate::Known(predicate), _) => {
                PatternOperand::Constant(self.view(source).predicate_vertex(predicate))
            }
            (Predicate::PerRow(slot), _) => PatternOperand::Slot(slot),
        };
        Ok(Policy::InGroups(InGroupsPolicy {
            subject,
            object,
            by: GroupBy {
                predicate,
                direction: Direction::Out,
                scope,
                source,
            },
            binds_graph: targets.binds_graph,
            graph: targets.graph,
        }))
    }

    /// A check by one segment; `None` where graphs are bound for a column.
    fn check_known(
        &mut self,
        (subject, object): (PatternOperand, PatternOperand),
        seen: SegmentKey,
        (scope, source): (FixedScope, Source),
        targets: Targets,
    ) -> Result<Option<Policy<'a>>, WalkError> {
        let [out, in_] =
            [Direction::Out, Direction::In].map(|direction| SegmentKey { direction, ..seen });
        let (keys, targets_place, segment) = match (subject, object) {
            (PatternOperand::Constant(from), PatternOperand::Constant(to)) => {
                return self
                    .check_constants(from, to, out, (scope, source), targets)
                    .map(Some);
            }
            _ if targets.binds_graph => return Ok(None),
            (PatternOperand::Constant(constant), PatternOperand::Slot(slot)) => {
                if let Some(set) = self.checkable_set(out, constant, (scope, source))? {
                    return Ok(Some(Policy::InSet(InSetPolicy { slot, set })));
                }
                (object, subject, in_)
            }
            (PatternOperand::Slot(slot), PatternOperand::Constant(constant)) => {
                if let Some(set) = self.checkable_set(in_, constant, (scope, source))? {
                    return Ok(Some(Policy::InSet(InSetPolicy { slot, set })));
                }
                (subject, object, out)
            }
            (PatternOperand::Slot(_), PatternOperand::Slot(_)) => match seen.direction {
                Direction::Out => (subject, object, out),
                Direction::In => (object, subject, in_),
            },
        };
        Ok(Some(Policy::InLists(InListsPolicy {
            segment,
            scope,
            source,
            keys,
            targets: targets_place,
        })))
    }

    fn check_constants(
        &mut self,
        from: VertexId,
        to: VertexId,
        segment: SegmentKey,
        (scope, source): (FixedScope, Source),
        targets: Targets,
    ) -> Result<Policy<'a>, WalkError> {
        if targets.binds_graph {
            let to = Some(to);
            return Ok(Policy::OneList(OneListPolicy {
                from,
                segment,
                scope,
                source,
                to,
                targets,
            }));
        }
        let set = self.neighbours_of(segment, from, (scope, source))?;
        Ok(if set.contains(to)? {
            Policy::Pass
        } else {
            Policy::Nothing
        })
    }

    /// The neighbours of a constant, where looking a column up in them is cheap.
    fn checkable_set(
        &mut self,
        segment: SegmentKey,
        constant: VertexId,
        (scope, source): (FixedScope, Source),
    ) -> Result<Option<VertexSet<'a>>, WalkError> {
        if self.view(source).is_far(segment, constant) {
            return Ok(None);
        }
        if !self.needs_no_filter(segment, (scope, source))? {
            let mut lists = Lists::new();
            self.lists_of(source, segment, &[constant], scope, &mut lists)?;
            if lists.total_edges() > FILTERED_SET_EDGES_MAX {
                return Ok(None);
            }
        }
        let set = self.neighbours_of(segment, constant, (scope, source))?;
        Ok((set.is_dense() || set.len() <= SMALL_SET).then_some(set))
    }

    /// Whether all edges of a segment are in the scope.
    pub(super) fn needs_no_filter(
        &self,
        segment: SegmentKey,
        (scope, source): (FixedScope, Source),
    ) -> Result<bool, WalkError> {
        let mut lists = Lists::new();
        self.lists_of(source, segment, &[], scope, &mut lists)?;
        Ok(lists.is_exact())
    }

    #[inline]
    fn neighbours_of(
        &self,
        segment: SegmentKey,
        vertex: VertexId,
        (scope, source): (FixedScope, Source),
    ) -> Result<VertexSet<'a>, WalkError> {
        let graphs = self.dataset(source).graphs(scope);
        self.there(ask::neighbours(self.view(source), segment, vertex, graphs))
    }

    fn owned_set(
        &mut self,
        mut vertices: Vec<VertexId>,
        into: Option<Slot>,
    ) -> Result<Policy<'a>, WalkError> {
        vertices.sort_unstable();
        self.own(vertices.len() as u64)?;
        Ok(Policy::Set(SetPolicy {
            set: VertexSet::from_sorted(vertices),
            into,
        }))
    }

    /// Draws on the budget for a set that is not borrowed from the view.
    fn own(&mut self, elements: u64) -> Result<(), WalkError> {
        if elements > FILTERED_SET_EDGES_MAX {
            self.limits.check()?;
        }
        self.owned_bytes += elements * size_of::<VertexId>() as u64;
        self.reservation.cover(self.owned_bytes)
    }

    /// Where a term comes from; `None` for a constant that is stored nowhere.
    fn place(&self, node: Node) -> Option<PatternOperand> {
        match node {
            Node::Slot(slot) => Some(PatternOperand::Slot(slot)),
            Node::Constant(constant) => {
                let id = self.ids[constant.0 as usize];
                (!id.has_tag(Tag::QueryLocal)).then_some(PatternOperand::Constant(id))
            }
        }
    }

    fn predicate(&self, source: Source, node: Node) -> Predicate {
        match self.place(node) {
            None => Predicate::Nothing,
            Some(PatternOperand::Slot(slot)) => Predicate::PerRow(slot),
            Some(PatternOperand::Constant(vertex)) => self
                .view(source)
                .predicate_id(vertex)
                .map_or(Predicate::Nothing, Predicate::Known),
        }
    }
}

/// The columns that a pattern fills.
fn targets(step: &Step, into: Option<Slot>, scope: Scope) -> Targets {
    let into = into.and_then(|slot| step.kept(slot));
    match scope {
        Scope::Bind(graph) => Targets {
            into,
            graph: step.kept(graph),
            binds_graph: true,
        },
        Scope::Default | Scope::Named(_) => Targets {
            into,
            graph: None,
            binds_graph: false,
        },
    }
}
