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
//! | `ExpandCheck` | the same where lists are filtered by graph | lists of two batches |
//! | `OneList` | expand a constant and bind the graph | one list |
//! | `Groups` | expand where predicate or graph differ by row | lists per group of rows |
//! | `Predicates` | predicates of a vertex | signatures |
//! | `Sizes`, `Degree` | how much there is of a pattern, or of a vertex | what the store knows of its segments; lengths of lists |
//! | `InSet`, `InLists`, `InGroups` | check | one set, lists of a batch, lists per group |
//! | `Same`, `Filter`, `Slice`, `Unify`, `Bind` | | rows alone |
//! | `Nested` | optional, union, exists, lateral | the table, through chains of its own |
//! | `Join` | probe, values | a table, by hash |
//! | `Given` | given | a table from outside, by hash |
//! | `Unpack`, `Service` | | triple terms' text; another endpoint |
//! | `Distinct`, `Order`, `Count` | | all rows: memory from the budget |
//!
//! The list of them is `steps!`, one row each, which makes both enums and their dispatch: static, one match.

pub(crate) mod aggregate;
pub(crate) mod bind;
pub(crate) mod count;
pub(crate) mod degree;
pub(crate) mod distinct;
pub(crate) mod expand_check;
pub(crate) mod filter;
pub(crate) mod given;
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
use crate::expression::Constants;
use crate::limits::Limits;
use crate::scene::Scene;
use crate::views::Views;
use query::plan::{Action, Slot, Source, Step};
use rdf::{Lexicon, VertexId};
use store::view::{GraphView, Ticket};

/// How an operator is held: what is large and rarely stands in a light query is `boxed`, because an operator is
/// moved into its chain, and all are as large as the largest.
macro_rules! held {
    (plain $operator:ty) => {
        $operator
    };
    (boxed $operator:ty) => {
        Box<$operator>
    };
}

/// An operator at its beginning, made of its `policy`, or of that and the `limits` that it draws on.
macro_rules! made {
    (plain $operator:ty, policy, $policy:ident, $limits:ident) => {
        <$operator>::new($policy)
    };
    (plain $operator:ty, limits, $policy:ident, $limits:ident) => {
        <$operator>::new($policy, $limits)
    };
    (boxed $operator:ty, $made:ident, $policy:ident, $limits:ident) => {
        Box::new(made!(plain $operator, $made, $policy, $limits))
    };
}

/// Runs an operator that looks at rows alone (`flow`), or at the graph or terms besides (`context`).
macro_rules! ran {
    (flow, $operator:ident, $context:ident, $flow:ident) => {
        $operator.run($flow)
    };
    (context, $operator:ident, $context:ident, $flow:ident) => {
        $operator.run($context, $flow)
    };
}

/// Whether an operator looks at rows together, so that it holds something between two inputs.
macro_rules! is_global {
    (each) => {
        false
    };
    (all) => {
        true
    };
    (last) => {
        true
    };
}

/// Tells an operator that has rows of its own to give at the end (`last`) that no more input comes.
macro_rules! finished {
    (last, $operator:ident) => {
        $operator.finish()
    };
    ($other:ident, $operator:ident) => {{
        let _ = $operator;
        false
    }};
}

/// Makes [`Policy`] and [`Operator`] of the steps, a row each: the name in code and for people; the policy; how
/// the operator is held, and its type; what it is made of; what it runs with; how it takes rows: `each` for
/// itself, `all` together, or all with rows that it gives at the `last`.
macro_rules! steps {
    ($(
        $step:ident $name:literal ($policy:ty)
            => $held:ident $operator:ty, $made:ident, $run:ident, $rows:ident;
    )*) => {
        /// What a step does, decided once per plan.
        pub(crate) enum Policy<'a> {
            /// No row: a pattern with a term or graph that is not there.
            Nothing,
            /// Every row: a pattern of constants that is there.
            Pass,
            $($step($policy),)*
        }

        impl Policy<'_> {
            /// The policy's name, for people.
            pub(crate) fn name(&self) -> &'static str {
                match self {
                    Policy::Nothing => "nothing",
                    Policy::Pass => "pass",
                    $(Policy::$step(_) => $name,)*
                }
            }

            /// Whether the step looks at rows together, so that it holds something between two inputs.
            pub(crate) fn is_global(&self) -> bool {
                match self {
                    Policy::Nothing | Policy::Pass => false,
                    $(Policy::$step(_) => is_global!($rows),)*
                }
            }
        }

        /// A policy and the state of one walk.
        pub(crate) enum Operator<'p, 'a> {
            Nothing,
            Pass,
            $($step(held!($held $operator)),)*
        }

        impl<'p, 'a> Operator<'p, 'a> {
            /// An operator at its beginning.
            pub(crate) fn new(policy: &'p Policy<'a>, limits: Limits<'a>) -> Operator<'p, 'a> {
                match policy {
                    Policy::Nothing => Operator::Nothing,
                    Policy::Pass => Operator::Pass,
                    $(Policy::$step(policy) => {
                        Operator::$step(made!($held $operator, $made, policy, limits))
                    })*
                }
            }

            /// Works on the input until it is used up or the output is full.
            pub(crate) fn run<V: GraphView, L: Lexicon>(
                &mut self,
                context: Context<'p, 'a, V, L>,
                flow: &mut Flow<'_>,
            ) -> Result<StepOutcome, WalkError> {
                match self {
                    Operator::Nothing => Ok(StepOutcome::Satisfied),
                    Operator::Pass => {
                        flow.output.absorb(flow.input, flow.carried)?;
                        Ok(StepOutcome::Drained)
                    }
                    $(Operator::$step(operator) => ran!($run, operator, context, flow),)*
                }
            }

            /// Says that no more input comes; whether the operator now has rows of its own to give.
            pub(crate) fn finish(&mut self) -> bool {
                match self {
                    Operator::Nothing | Operator::Pass => false,
                    $(Operator::$step(operator) => finished!($rows, operator),)*
                }
            }
        }
    };
}

steps! {
    Set "set" (set::SetPolicy<'a>) => plain set::SetExpansion<'p, 'a>, policy, flow, each;
    Keys "keys" (keys::KeysPolicy) => boxed keys::KeysExpansion<'p, 'a>, policy, context, each;
    List "list" (list::ListPolicy) => plain list::ListExpansion<'p, 'a>, policy, context, each;
    Intersect "intersect" (intersect::IntersectPolicy) => boxed intersect::Intersection<'p, 'a>, limits, context, each;
    ExpandCheck "expand and check" (expand_check::ExpandCheckPolicy) => boxed expand_check::ExpandCheck<'p, 'a>, policy, context, each;
    OneList "one list" (one_list::OneListPolicy) => boxed one_list::OneListExpansion<'p, 'a>, policy, context, each;
    Groups "groups" (groups::GroupsPolicy) => boxed groups::GroupsExpansion<'p, 'a>, policy, context, each;
    Predicates "predicates" (predicates::PredicatesPolicy) => plain predicates::PredicatesExpansion<'p>, policy, context, each;
    Sizes "sizes" (sizes::SizesPolicy) => boxed sizes::Measuring<'p, 'a>, limits, context, each;
    Degree "degree" (degree::DegreePolicy) => boxed degree::Degrees<'p, 'a>, policy, context, each;
    InSet "in set" (in_lists::InSetPolicy<'a>) => plain in_lists::SetCheck<'p, 'a>, policy, flow, each;
    InLists "in lists" (in_lists::InListsPolicy) => plain in_lists::ListsCheck<'p, 'a>, policy, context, each;
    InGroups "in groups" (in_groups::InGroupsPolicy) => boxed in_groups::GroupsCheck<'p, 'a>, policy, context, each;
    Same "same" (filter::SamePolicy) => plain filter::SameCheck, policy, flow, each;
    Filter "filter" (filter::FilterPolicy) => boxed filter::FilterCheck<'p, 'a>, limits, context, each;
    Distinct "distinct" (&'a [Slot]) => plain distinct::DistinctCheck<'a>, limits, flow, all;
    Order "order" (order::OrderPolicy) => boxed order::Ordering<'p, 'a>, limits, context, last;
    Slice "slice" (slice::SlicePolicy) => plain slice::Slicing, policy, flow, all;
    Count "count" (count::CountPolicy<'a>) => plain count::Counting<'p, 'a>, limits, flow, last;
    Aggregate "aggregate" (aggregate::AggregatePolicy<'a>) => boxed aggregate::Aggregation<'p, 'a>, limits, context, last;
    PathSeed "path seed" (path::seed::SeedPolicy) => boxed path::seed::PathSeeding<'p, 'a>, limits, context, each;
    PathExpand "path search" (path::expand::ExpandPolicy) => boxed path::expand::PathExpansion<'p, 'a>, limits, context, each;
    PathEdges "path edges" (path::edges::EdgesPolicy) => boxed path::edges::EdgesExpansion<'p, 'a>, limits, context, each;
    PathCheck "path check" (path::check::CheckPolicy) => boxed path::check::PathCheck<'p, 'a>, limits, context, each;
    Nested "nested" (Box<nested::NestedPolicy<'a>>) => boxed nested::Nesting<'p, 'a>, limits, context, each;
    Join "join" (Box<join::JoinPolicy<'a>>) => boxed join::Join<'p, 'a>, limits, context, each;
    Given "given" (given::GivenPolicy<'a>) => boxed given::GivenJoin<'p, 'a>, limits, flow, each;
    Unify "unify" (unify::UnifyPolicy) => plain unify::UnifyCheck<'p>, policy, flow, each;
    Bind "bind" (bind::BindPolicy) => boxed bind::Binding<'p, 'a>, limits, context, each;
    Unpack "unpack" (unpack::UnpackPolicy) => boxed unpack::Unpacking<'p>, policy, context, each;
    Service "service" (Box<service::ServicePolicy<'a>>) => boxed service::Asking<'p, 'a>, limits, context, each;
}

impl<'a> Policy<'a> {
    /// The policy of a step that its action says all about: it needs no look at the view, at what is alive or at
    /// other steps. `None` for the others, which [`crate::prepare`] decides. An error where an expression has a
    /// constant pattern that is not supported.
    pub(crate) fn of_rows(
        step: &'a Step,
        constants: Constants<'_>,
    ) -> Result<Option<Policy<'a>>, WalkError> {
        Ok(Some(match &step.action {
            Action::Same { left, right } => Policy::Same(filter::SamePolicy {
                left: *left,
                right: *right,
            }),
            Action::Filter(expression) => {
                Policy::Filter(filter::FilterPolicy::of(expression, constants)?)
            }
            Action::Distinct { columns } => Policy::Distinct(columns),
            Action::Order { keys, limit } if keys.is_empty() => Policy::Slice(slice::SlicePolicy {
                offset: 0,
                limit: *limit,
            }),
            Action::Order { keys, limit } => {
                Policy::Order(order::OrderPolicy::of(keys, *limit, constants)?)
            }
            Action::Slice { offset, limit } => Policy::Slice(slice::SlicePolicy {
                offset: *offset,
                limit: *limit,
            }),
            Action::Count { distinct, into } => Policy::Count(count::CountPolicy {
                distinct: distinct.as_deref(),
                into: step.kept(*into),
            }),
            Action::Aggregate { keys, aggregates } => Policy::Aggregate(
                aggregate::AggregatePolicy::of(keys, aggregates, &step.keep, constants)?,
            ),
            Action::Bind { expression, into } => match step.kept(*into) {
                None => Policy::Pass,
                Some(into) => Policy::Bind(bind::BindPolicy::of(expression, into, constants)?),
            },
            Action::Unpack {
                term,
                subject,
                predicate,
                object,
            } => Policy::Unpack(unpack::UnpackPolicy {
                term: *term,
                parts: [*subject, *predicate, *object].map(|slot| step.kept(slot)),
            }),
            Action::Expand { .. }
            | Action::Intersect { .. }
            | Action::ExpandKeys { .. }
            | Action::ExpandPredicates { .. }
            | Action::AllPredicates { .. }
            | Action::AllGraphs { .. }
            | Action::Never { .. }
            | Action::Check { .. }
            | Action::Nested { .. }
            | Action::Probe { .. }
            | Action::Unify { .. }
            | Action::Values { .. }
            | Action::Given { .. }
            | Action::PathSeed { .. }
            | Action::PathExpand { .. }
            | Action::PathCheck { .. }
            | Action::Service { .. }
            | Action::Sizes { .. }
            | Action::Degree { .. } => return Ok(None),
        }))
    }

    /// Whether the step needs no row at all from before it.
    pub(crate) fn needs_no_input(&self) -> bool {
        match self {
            Policy::Nothing => true,
            Policy::Slice(slice) => slice.limit == Some(0),
            _ => false,
        }
    }
}

/// Where a pattern's term comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatternOperand {
    Slot(Slot),
    Constant(VertexId),
}

impl PatternOperand {
    /// Appends its value in each of these rows.
    pub(crate) fn gather(self, input: &Chunk, rows: &[u32], into: &mut Vec<VertexId>) {
        match self {
            PatternOperand::Constant(vertex) => {
                into.extend(std::iter::repeat_n(vertex, rows.len()));
            }
            PatternOperand::Slot(slot) => {
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
            PatternOperand::Slot(slot) => input.live(slot),
            PatternOperand::Constant(vertex) => {
                scratch.clear();
                scratch.resize(input.len(), vertex);
                scratch
            }
        }
    }
}

/// What operators work with, besides their own state.
pub(crate) struct Context<'p, 'a, V, L> {
    pub(crate) views: Views<'a, V>,
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

impl<'a, V, L> Context<'_, 'a, V, L> {
    /// The view that a policy's source is: its segments are numbered there.
    #[inline]
    pub(crate) fn view(&self, source: Source) -> &'a V {
        self.views.of(source)
    }
}

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
        assert!(
            positions.len() as u64 <= self.input.rows(),
            "a row is kept once"
        );
        if positions.len() as u64 == self.input.rows() {
            return self.output.absorb(self.input, self.carried);
        }
        self.output.gather(self.input, self.carried, positions);
        self.output.add_rows(positions.len() as u64)
    }
}

/// How far an operator came.
pub(crate) enum StepOutcome {
    /// The input is used up.
    Drained,
    /// The output is full, input is left.
    More,
    /// Lookups are under way; go on when the ticket completes.
    Pending(Ticket),
    /// No further row is wanted from before this step.
    Satisfied,
}

impl<'p, 'a> Operator<'p, 'a> {
    /// Goes back to the beginning, whatever was under way.
    pub(crate) fn reset(&mut self, policy: &'p Policy<'a>, limits: Limits<'a>) {
        match self {
            Operator::Nested(operator) => operator.reset(),
            other => *other = Operator::new(policy, limits),
        }
    }
}
