//! The steps of a walk: one operator each, from a chunk of rows to a chunk of rows.
//!
//! What a step does is decided once per plan ([`Policy`]), not per row: which end is looked from,
//! whether graphs are filtered, whether a column is needed at all. An [`Operator`] is a policy with
//! the state of one walk: where it stands in its input, even inside a list, so that it can stop at
//! any full chunk and go on later.
//!
//! | policy | step | looks at |
//! |---|---|---|
//! | `Set` | expand from a constant, keys, all predicates, all graphs | one sorted set, by ordinals |
//! | `Keys` | keys where rows or graphs differ | a set per row, verified by lists |
//! | `List` | expand a column by a constant predicate (the hot one) | lists of a batch |
//! | `Intersect` | expand a column and check against another at once | two lists a row |
//! | `OneList` | expand a constant and bind the graph | one list |
//! | `Groups` | expand where predicate or graph differ by row | lists per group of rows |
//! | `Predicates` | predicates of a vertex | signatures |
//! | `Sizes`, `Degree` | how much there is of a pattern, or of a vertex | what the store knows of its segments; lengths of lists |
//! | `InSet`, `InLists`, `InGroups` | check | one set, lists of a batch, lists per group |
//! | `Same`, `Filter`, `Slice`, `Unify`, `Bind` | | rows alone |
//! | `Nested` | optional, union, exists, lateral | the table, through chains of its own |
//! | `Join` | probe, values | a table, by hash |
//! | `Unpack`, `Service` | | triple terms' text; another endpoint |
//! | `Distinct`, `Order`, `Count` | | all rows: memory from the budget |

pub(crate) mod aggregate;
pub(crate) mod bind;
pub(crate) mod count;
pub(crate) mod degree;
pub(crate) mod distinct;
pub(crate) mod filter;
pub(crate) mod groups;
pub(crate) mod in_groups;
pub(crate) mod in_lists;
pub(crate) mod intersect;
pub(crate) mod join;
pub(crate) mod keys;
pub(crate) mod list;
pub(crate) mod nested;
pub(crate) mod one_list;
pub(crate) mod order;
pub(crate) mod path;
pub(crate) mod predicates;
pub(crate) mod row_set;
pub(crate) mod service;
pub(crate) mod set;
pub(crate) mod sizes;
pub(crate) mod slice;
pub(crate) mod unify;
pub(crate) mod unpack;

use crate::chunk::Chunk;
use crate::error::WalkError;
use crate::limits::Limits;
use crate::scene::Scene;
use query::plan::Slot;
use rdf::{Lexicon, VertexId};
use store::VertexSet;
use store::view::{GraphView, Ticket};

/// What a step does, decided once per plan.
pub(crate) enum Policy<'a> {
    /// No row: a pattern with a term or graph that is not there.
    Nothing,
    /// Every row: a pattern of constants that is there.
    Pass,
    Set(set::SetPolicy<'a>),
    Keys(keys::KeysPolicy),
    List(list::ListPolicy),
    Intersect(intersect::IntersectPolicy),
    OneList(one_list::OneListPolicy),
    Groups(groups::GroupsPolicy),
    Predicates(predicates::PredicatesPolicy),
    Sizes(sizes::SizesPolicy),
    Degree(degree::DegreePolicy),
    InSet(Slot, VertexSet<'a>),
    InLists(in_lists::InListsPolicy),
    InGroups(in_groups::InGroupsPolicy),
    Same(Slot, Slot),
    Filter(filter::FilterPolicy),
    Distinct(&'a [Slot]),
    Order(order::OrderPolicy),
    Slice(slice::SlicePolicy),
    Count(count::CountPolicy<'a>),
    Aggregate(aggregate::AggregatePolicy<'a>),
    PathSeed(path::seed::SeedPolicy),
    PathExpand(path::expand::ExpandPolicy),
    PathEdges(path::edges::EdgesPolicy),
    PathCheck(path::check::CheckPolicy),
    Nested(Box<nested::NestedPolicy<'a>>),
    Join(Box<join::JoinPolicy<'a>>),
    Unify(unify::UnifyPolicy),
    Bind(bind::BindPolicy),
    Unpack(unpack::UnpackPolicy),
    Service(Box<service::ServicePolicy<'a>>),
}

impl Policy<'_> {
    /// The policy's name, for people.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Policy::Nothing => "nothing",
            Policy::Pass => "pass",
            Policy::Set(_) => "set",
            Policy::Keys(_) => "keys",
            Policy::List(_) => "list",
            Policy::Intersect(_) => "intersect",
            Policy::OneList(_) => "one list",
            Policy::Groups(_) => "groups",
            Policy::Predicates(_) => "predicates",
            Policy::Sizes(_) => "sizes",
            Policy::Degree(_) => "degree",
            Policy::InSet(..) => "in set",
            Policy::InLists(_) => "in lists",
            Policy::InGroups(_) => "in groups",
            Policy::Same(..) => "same",
            Policy::Filter(_) => "filter",
            Policy::Distinct(_) => "distinct",
            Policy::Order(_) => "order",
            Policy::Slice(_) => "slice",
            Policy::Count(_) => "count",
            Policy::Aggregate(_) => "aggregate",
            Policy::PathSeed(_) => "path seed",
            Policy::PathExpand(_) => "path search",
            Policy::PathEdges(_) => "path edges",
            Policy::PathCheck(_) => "path check",
            Policy::Nested(_) => "nested",
            Policy::Join(_) => "join",
            Policy::Unify(_) => "unify",
            Policy::Bind(_) => "bind",
            Policy::Unpack(_) => "unpack",
            Policy::Service(_) => "service",
        }
    }

    /// Whether the step needs no row at all from before it.
    pub(crate) fn needs_no_input(&self) -> bool {
        match self {
            Policy::Nothing => true,
            Policy::Slice(slice) => slice.limit == Some(0),
            _ => false,
        }
    }

    /// Whether the step looks at rows together, so that it holds something between two inputs.
    pub(crate) fn is_global(&self) -> bool {
        matches!(
            self,
            Policy::Distinct(_)
                | Policy::Order(_)
                | Policy::Slice(_)
                | Policy::Count(_)
                | Policy::Aggregate(_)
        )
    }
}

/// Where a pattern's term comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Slot(Slot),
    Constant(VertexId),
}

impl Place {
    /// Appends its value in each of these rows.
    pub(crate) fn gather(self, input: &Chunk, rows: &[u32], into: &mut Vec<VertexId>) {
        match self {
            Place::Constant(vertex) => into.extend(std::iter::repeat_n(vertex, rows.len())),
            Place::Slot(slot) => {
                let cells = input.live(slot);
                into.extend(rows.iter().map(|&row| cells[row as usize]));
            }
        }
    }

    /// Its value in every row: the column itself, or the constant repeated in `scratch`.
    pub(crate) fn cells<'c>(
        self,
        input: &'c Chunk,
        scratch: &'c mut Vec<VertexId>,
    ) -> &'c [VertexId] {
        match self {
            Place::Slot(slot) => input.live(slot),
            Place::Constant(vertex) => {
                scratch.clear();
                scratch.resize(input.len(), vertex);
                scratch
            }
        }
    }
}

/// What operators work with, besides their own state.
pub(crate) struct Context<'p, 'a, V, L> {
    pub(crate) view: &'a V,
    pub(crate) lexicon: &'a L,
    pub(crate) scene: &'p Scene<'a>,
    pub(crate) limits: Limits<'a>,
    /// Rows of a full chunk, before the bound on all chunks.
    pub(crate) chunk_rows: usize,
}

impl<V, L> Clone for Context<'_, '_, V, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V, L> Copy for Context<'_, '_, V, L> {}

/// One operator's input and output.
pub(crate) struct Flow<'f> {
    /// Rows to work on.
    pub(crate) input: &'f mut Chunk,
    /// Where rows are appended.
    pub(crate) output: &'f mut Chunk,
    /// Rows that the output should not exceed by much.
    pub(crate) capacity: usize,
    /// The columns that are passed on.
    pub(crate) carried: &'f [Slot],
}

impl Flow<'_> {
    /// Rows that may still be appended; at least one.
    pub(crate) fn room(&self) -> usize {
        let rows = usize::try_from(self.output.rows()).unwrap_or(usize::MAX);
        self.capacity.saturating_sub(rows).max(1)
    }

    /// Whether the output is full. A mere count never is.
    pub(crate) fn is_full(&self) -> bool {
        self.output.rows() >= self.capacity as u64
    }

    /// Passes on the rows at these positions.
    pub(crate) fn keep(&mut self, positions: &[u32]) -> Result<(), WalkError> {
        if positions.len() as u64 == self.input.rows() {
            return self.output.absorb(self.input, self.carried);
        }
        self.output.gather(self.input, self.carried, positions);
        self.output.add_rows(positions.len() as u64)
    }
}

/// How far an operator came.
pub(crate) enum Turn {
    /// The input is used up.
    Drained,
    /// The output is full, input is left.
    More,
    /// Lookups are under way; go on when the ticket completes.
    Pending(Ticket),
    /// No further row is wanted from before this step.
    Satisfied,
}

/// A policy and the state of one walk. What is large and rarely stands in a light query is boxed: an
/// operator is moved into its chain, and all are as large as the largest.
pub(crate) enum Operator<'p, 'a> {
    Nothing,
    Pass,
    Set(set::SetExpansion<'p, 'a>),
    Keys(Box<keys::KeysExpansion<'p, 'a>>),
    List(list::ListExpansion<'p, 'a>),
    Intersect(Box<intersect::Intersection<'p, 'a>>),
    OneList(Box<one_list::OneListExpansion<'p, 'a>>),
    Groups(Box<groups::GroupsExpansion<'p, 'a>>),
    Predicates(predicates::PredicatesExpansion<'p>),
    Sizes(Box<sizes::Measuring<'p, 'a>>),
    Degree(Box<degree::Degrees<'p, 'a>>),
    InSet(in_lists::SetCheck<'p, 'a>),
    InLists(in_lists::ListsCheck<'p, 'a>),
    InGroups(Box<in_groups::GroupsCheck<'p, 'a>>),
    Same(filter::SameCheck),
    Filter(Box<filter::FilterCheck<'p, 'a>>),
    Distinct(distinct::DistinctCheck<'a>),
    Order(Box<order::Ordering<'p, 'a>>),
    Slice(slice::Slicing),
    Count(count::Counting<'p, 'a>),
    Aggregate(Box<aggregate::Aggregation<'p, 'a>>),
    PathSeed(Box<path::seed::PathSeeding<'p, 'a>>),
    PathExpand(Box<path::expand::PathExpansion<'p, 'a>>),
    PathEdges(Box<path::edges::EdgesExpansion<'p, 'a>>),
    PathCheck(Box<path::check::PathCheck<'p, 'a>>),
    Nested(Box<nested::Nesting<'p, 'a>>),
    Join(Box<join::Join<'p, 'a>>),
    Unify(unify::UnifyCheck<'p>),
    Bind(Box<bind::Binding<'p, 'a>>),
    Unpack(Box<unpack::Unpacking<'p>>),
    Service(Box<service::Asking<'p, 'a>>),
}

impl<'p, 'a> Operator<'p, 'a> {
    /// An operator at its beginning.
    pub(crate) fn new(policy: &'p Policy<'a>, limits: Limits<'a>) -> Operator<'p, 'a> {
        match policy {
            Policy::Nothing => Operator::Nothing,
            Policy::Pass => Operator::Pass,
            Policy::Set(policy) => Operator::Set(set::SetExpansion::new(policy)),
            Policy::Keys(policy) => Operator::Keys(Box::new(keys::KeysExpansion::new(policy))),
            Policy::List(policy) => Operator::List(list::ListExpansion::new(policy)),
            Policy::Intersect(policy) => {
                Operator::Intersect(Box::new(intersect::Intersection::new(policy, limits)))
            }
            Policy::OneList(policy) => {
                Operator::OneList(Box::new(one_list::OneListExpansion::new(policy)))
            }
            Policy::Groups(policy) => {
                Operator::Groups(Box::new(groups::GroupsExpansion::new(policy)))
            }
            Policy::Predicates(policy) => {
                Operator::Predicates(predicates::PredicatesExpansion::new(policy))
            }
            Policy::Sizes(policy) => {
                Operator::Sizes(Box::new(sizes::Measuring::new(policy, limits)))
            }
            Policy::Degree(policy) => Operator::Degree(Box::new(degree::Degrees::new(policy))),
            Policy::InSet(slot, set) => Operator::InSet(in_lists::SetCheck::new(*slot, set)),
            Policy::InLists(policy) => Operator::InLists(in_lists::ListsCheck::new(policy)),
            Policy::InGroups(policy) => {
                Operator::InGroups(Box::new(in_groups::GroupsCheck::new(policy)))
            }
            Policy::Same(left, right) => Operator::Same(filter::SameCheck::new(*left, *right)),
            Policy::Filter(policy) => {
                Operator::Filter(Box::new(filter::FilterCheck::new(policy, limits)))
            }
            Policy::Distinct(columns) => {
                Operator::Distinct(distinct::DistinctCheck::new(columns, limits))
            }
            Policy::Order(policy) => {
                Operator::Order(Box::new(order::Ordering::new(policy, limits)))
            }
            Policy::Slice(policy) => Operator::Slice(slice::Slicing::new(*policy)),
            Policy::Count(policy) => Operator::Count(count::Counting::new(policy, limits)),
            Policy::Aggregate(policy) => {
                Operator::Aggregate(Box::new(aggregate::Aggregation::new(policy, limits)))
            }
            Policy::PathSeed(policy) => {
                Operator::PathSeed(Box::new(path::seed::PathSeeding::new(policy)))
            }
            Policy::PathExpand(policy) => {
                Operator::PathExpand(Box::new(path::expand::PathExpansion::new(policy, limits)))
            }
            Policy::PathEdges(policy) => {
                Operator::PathEdges(Box::new(path::edges::EdgesExpansion::new(policy)))
            }
            Policy::PathCheck(policy) => {
                Operator::PathCheck(Box::new(path::check::PathCheck::new(policy, limits)))
            }
            Policy::Nested(policy) => {
                Operator::Nested(Box::new(nested::Nesting::new(policy, limits)))
            }
            Policy::Join(policy) => Operator::Join(Box::new(join::Join::new(policy, limits))),
            Policy::Unify(policy) => Operator::Unify(unify::UnifyCheck::new(policy)),
            Policy::Bind(policy) => Operator::Bind(Box::new(bind::Binding::new(policy, limits))),
            Policy::Unpack(policy) => Operator::Unpack(Box::new(unpack::Unpacking::new(policy))),
            Policy::Service(policy) => {
                Operator::Service(Box::new(service::Asking::new(policy, limits)))
            }
        }
    }

    /// Goes back to the beginning, whatever was under way.
    pub(crate) fn reset(&mut self, policy: &'p Policy<'a>, limits: Limits<'a>) {
        match self {
            Operator::Nested(operator) => operator.reset(),
            other => *other = Operator::new(policy, limits),
        }
    }

    /// Works on the input until it is used up or the output is full.
    pub(crate) fn run<V: GraphView, L: Lexicon>(
        &mut self,
        context: Context<'p, 'a, V, L>,
        flow: &mut Flow<'_>,
    ) -> Result<Turn, WalkError> {
        match self {
            Operator::Nothing => Ok(Turn::Satisfied),
            Operator::Pass => {
                flow.output.absorb(flow.input, flow.carried)?;
                Ok(Turn::Drained)
            }
            Operator::Set(operator) => operator.run(flow),
            Operator::Keys(operator) => operator.run(context, flow),
            Operator::List(operator) => operator.run(context, flow),
            Operator::Intersect(operator) => operator.run(context, flow),
            Operator::OneList(operator) => operator.run(context, flow),
            Operator::Groups(operator) => operator.run(context, flow),
            Operator::Predicates(operator) => operator.run(context, flow),
            Operator::Sizes(operator) => operator.run(context, flow),
            Operator::Degree(operator) => operator.run(context, flow),
            Operator::InSet(operator) => operator.run(flow),
            Operator::InLists(operator) => operator.run(context, flow),
            Operator::InGroups(operator) => operator.run(context, flow),
            Operator::Same(operator) => operator.run(flow),
            Operator::Filter(operator) => operator.run(context, flow),
            Operator::Distinct(operator) => operator.run(flow),
            Operator::Order(operator) => operator.run(context, flow),
            Operator::Slice(operator) => operator.run(flow),
            Operator::Count(operator) => operator.run(flow),
            Operator::Aggregate(operator) => operator.run(context, flow),
            Operator::PathSeed(operator) => operator.run(context, flow),
            Operator::PathExpand(operator) => operator.run(context, flow),
            Operator::PathEdges(operator) => operator.run(context, flow),
            Operator::PathCheck(operator) => operator.run(context, flow),
            Operator::Nested(operator) => operator.run(context, flow),
            Operator::Join(operator) => operator.run(context, flow),
            Operator::Unify(operator) => operator.run(flow),
            Operator::Bind(operator) => operator.run(context, flow),
            Operator::Unpack(operator) => operator.run(context, flow),
            Operator::Service(operator) => operator.run(context, flow),
        }
    }

    /// Says that no more input comes; whether the operator now has rows of its own to give.
    pub(crate) fn finish(&mut self) -> bool {
        match self {
            Operator::Order(operator) => operator.finish(),
            Operator::Count(operator) => operator.finish(),
            Operator::Aggregate(operator) => operator.finish(),
            _ => false,
        }
    }
}
