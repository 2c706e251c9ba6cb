//! The choice of policies for property paths.
//!
//! Here a path becomes an automaton, in both directions where a check may begin at either end, and
//! its scope a graph with or without edges. A seed that is one segment's keys becomes a set, which
//! workers cut.

use super::Builder;
use crate::ask;
use crate::error::WalkError;
use crate::scope::ResolvedScope;
use crate::step::aggregate::paged::Meter;
use crate::step::path::automaton::{Automaton, Label, other_than};
use crate::step::path::check::CheckPolicy;
use crate::step::path::edges::{EdgesPolicy, PathEnd};
use crate::step::path::expand::ExpandPolicy;
use crate::step::path::seed::{PathSeeds, SeedPolicy};
use crate::step::path::{NamedGraphs, PathScope};
use crate::step::set::SetPolicy;
use crate::step::{PatternOperand, Policy};
use query::path::Path;
use query::plan::{Action, ConstantId, Node, Scope, Source, Step};
use rdf::{Direction, PredicateId};
use store::view::GraphView;

impl<'a, V: GraphView> Builder<'_, 'a, V> {
    /// The policy of a path.
    pub(super) fn path(&mut self, step: &'a Step) -> Result<Policy<'a>, WalkError> {
        match &step.action {
            Action::PathSeed {
                path,
                direction,
                scope,
                source,
                into,
            } => {
                let Some(scope) = self.path_scope((*scope, *source), path)? else {
                    return Ok(Policy::Nothing);
                };
                let automaton = self.automaton(*source, path, *direction)?;
                self.path_seed(&automaton, (scope, *source), step.kept(*into))
            }
            Action::PathExpand {
                from,
                path,
                direction,
                scope,
                source,
                into,
            } => {
                let Some(scope) = self.path_scope((*scope, *source), path)? else {
                    return Ok(Policy::Nothing);
                };
                let (from, into) = (self.end(*from), step.kept(*into));
                let (path, direction) = without_inverses(path, *direction);
                if let Some(labels) = self.negated(*source, path, direction) {
                    return Ok(Policy::PathEdges(EdgesPolicy {
                        from,
                        labels,
                        scope,
                        source: *source,
                        to: PathEnd::New(into),
                    }));
                }
                Ok(Policy::PathExpand(ExpandPolicy {
                    from,
                    automaton: self.automaton(*source, path, direction)?,
                    scope,
                    source: *source,
                    into,
                }))
            }
            Action::PathCheck {
                subject,
                path,
                object,
                scope,
                source,
            } => {
                let Some(scope) = self.path_scope((*scope, *source), path)? else {
                    return Ok(Policy::Nothing);
                };
                let ends = (self.end(*subject), self.end(*object));
                self.path_check(ends, path, (scope, *source))
            }
            _ => unreachable!("the caller handles the other actions"),
        }
    }

    fn path_check(
        &mut self,
        (subject, object): (PatternOperand, PatternOperand),
        path: &Path,
        (scope, source): (PathScope, Source),
    ) -> Result<Policy<'a>, WalkError> {
        let (path, direction) = without_inverses(path, Direction::Out);
        if let Some(labels) = self.negated(source, path, direction) {
            return Ok(Policy::PathEdges(EdgesPolicy {
                from: subject,
                labels,
                scope,
                source,
                to: PathEnd::Known(object),
            }));
        }
        let forward = self.automaton(source, path, direction)?;
        let backward = forward.reversed();
        self.own_moves(&backward)?;
        Ok(Policy::PathCheck(CheckPolicy {
            subject,
            object,
            automata: Box::new([forward, backward]),
            scope,
            source,
        }))
    }

    fn path_seed(
        &mut self,
        automaton: &Automaton,
        (scope, source): (PathScope, Source),
        into: Option<query::plan::Slot>,
    ) -> Result<Policy<'a>, WalkError> {
        if automaton.accepts_nothing() {
            return Ok(Policy::PathSeed(SeedPolicy {
                seeds: PathSeeds::Vertices,
                scope,
                source,
                into,
            }));
        }
        let labels: Vec<Label> = automaton.first_labels().into_iter().cloned().collect();
        let is_named = |scope: &PathScope| {
            use crate::scope::FixedScope;
            !matches!(
                scope,
                PathScope::Fixed(Some(
                    FixedScope::Default | FixedScope::Merge | FixedScope::Union
                ))
            )
        };
        let set = match labels.as_slice() {
            [] => return Ok(Policy::Nothing),
            [_] if is_named(&scope) => None,
            [Label::One(segment)] => Some(self.keys_of(source, *segment)?),
            [Label::Other(direction, _)] => {
                Some(self.there(ask::vertices(self.view(source), *direction))?)
            }
            _ => None,
        };
        Ok(match set {
            Some(set) => Policy::Set(SetPolicy { set, into }),
            None => Policy::PathSeed(SeedPolicy {
                seeds: PathSeeds::Edges(labels),
                scope,
                source,
                into,
            }),
        })
    }

    /// The graph of a path; `None` where the dataset does not have it.
    fn path_scope(
        &self,
        (scope, source): (Scope, Source),
        path: &Path,
    ) -> Result<Option<PathScope>, WalkError> {
        let named = || -> Result<NamedGraphs, WalkError> {
            Ok(if !path.allows_no_length() {
                NamedGraphs::Any
            } else if self.dataset(source).declared().is_some() {
                NamedGraphs::Declared
            } else {
                NamedGraphs::Stored(self.there(ask::named_graphs(self.view(source)))?)
            })
        };
        Ok(match scope {
            Scope::Default => match self.dataset(source).resolve(scope, self.ids) {
                ResolvedScope::Fixed(fixed) => Some(PathScope::Fixed(Some(fixed))),
                ResolvedScope::Nothing | ResolvedScope::PerRow(_) => Some(PathScope::Fixed(None)),
            },
            Scope::Named(Node::Constant(graph)) => {
                let graph = self.ids[graph.0 as usize];
                let edges = named()?.edges(self.dataset(source), graph);
                edges.map(PathScope::Fixed)
            }
            Scope::Named(Node::Slot(slot)) => Some(PathScope::PerRow(slot, named()?)),
            Scope::Bind(_) => unreachable!("a path is asked of one graph at a time"),
        })
    }

    /// The automaton of a path followed in this direction.
    fn automaton(
        &mut self,
        source: Source,
        path: &Path,
        direction: Direction,
    ) -> Result<Automaton, WalkError> {
        let resolve = |constant: ConstantId| self.path_predicate(source, constant);
        let mut meter = Meter::new(self.limits);
        let automaton = Automaton::new(path, &resolve, &mut meter)?;
        let automaton = match direction {
            Direction::Out => automaton,
            Direction::In => automaton.reversed(),
        };
        self.own_moves(&automaton)?;
        Ok(automaton)
    }

    fn own_moves(&mut self, automaton: &Automaton) -> Result<(), WalkError> {
        self.owned_bytes += automaton.bytes() as u64;
        self.reservation.cover(self.owned_bytes)
    }

    /// The labels of a negated set, followed in this direction.
    fn negated(&self, source: Source, path: &Path, direction: Direction) -> Option<Vec<Label>> {
        let Path::Negated { forward, backward } = path else {
            return None;
        };
        let resolve = |constant: ConstantId| self.path_predicate(source, constant);
        let lists = [(forward, direction), (backward, direction.reversed())];
        let labels = lists.into_iter().filter_map(|(excluded, direction)| {
            let excluded = excluded.as_ref()?;
            Some(other_than(excluded, direction, &resolve))
        });
        Some(labels.collect())
    }

    fn path_predicate(&self, source: Source, constant: ConstantId) -> Option<PredicateId> {
        self.view(source)
            .predicate_id(self.ids[constant.0 as usize])
    }

    /// An end of a path: a constant that is stored nowhere is still connected with itself.
    fn end(&self, node: Node) -> PatternOperand {
        match node {
            Node::Slot(slot) => PatternOperand::Slot(slot),
            Node::Constant(constant) => PatternOperand::Constant(self.ids[constant.0 as usize]),
        }
    }
}

/// A path without the inverses around it, and the direction in which it is then followed.
fn without_inverses(mut path: &Path, mut direction: Direction) -> (&Path, Direction) {
    while let Path::Inverse(inner) = path {
        path = inner;
        direction = direction.reversed();
    }
    (path, direction)
}
