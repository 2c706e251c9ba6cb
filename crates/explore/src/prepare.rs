//! A plan made ready to run over its views: constants resolved, a policy chosen for each step.
//!
//! Done once per query and shared by its workers. It costs a few allocations a step and one lookup
//! for each constant end, so a few microseconds for a light query. Everything that could be tested
//! per row is decided here instead:
//!
//! - a pattern with a term that is not stored is *nothing*, one of constants only is *pass* or
//!   *nothing*;
//! - a constant end becomes a set (its neighbours), a seed that workers cut if it stands first;
//! - a check with one constant end looks in that set if it is dense or small, else in the lists of
//!   the other end; with two columns, in the lists of the end that the plan says;
//! - an intersection whose lists have to be filtered by graph is an expansion and a check after all;
//! - all vertices of one end, each wanted once, become the set that the store keeps of them;
//! - the columns that a step passes on are those that `keep` names and that were alive before it.
//!
//! Whoever walks a section of a plan ([`prepare_steps`]) asks for nothing that other steps need: of these the columns are
//! known, and nothing else.
//!
//! Whatever is asked here of a view is asked of that of the pattern's source, and a policy keeps the source: its
//! segments are numbered there.
//!
//! Asserts that the plan keeps the contract of [`query::plan`], that there is a view for each of its sources, and a given
//! table with the indexes that it needs for each that it names ([`Plan::tables`]): plans
//! come from our planner, or were looked at when they were decoded.

mod blocks;
mod intersection;
pub mod on_ids;
mod paths;
mod patterns;
mod seed;
mod vertices;

pub use on_ids::{IdCondition, TagSet};
pub use seed::Seed;
pub(crate) use seed::SeedPart;

use crate::ask;
use crate::chunk::Collapse;
use crate::environment::Environment;
use crate::error::WalkError;
use crate::expression::Constants;
use crate::given::GivenTable;
use crate::limits::{Limits, Reservation};
use crate::local::LocalTerms;
use crate::scene::Scene;
use crate::scope::{Dataset, Datasets, FixedScope, ResolvedScope};
use crate::step::Policy;
use crate::views::Views;
use query::plan::{Action, Plan, Scope, Slot, Source, Step};
use rdf::{Ticket, VertexId};
use std::cell::Cell;
use std::ops::Range;
use store::view::{GraphScope, GraphView, Progress, SegmentKey};
use store::{Lists, VertexSet};

/// Steps that are prepared between two looks at the limits.
const STEPS_PER_LOOK: usize = 16;

/// A plan that can be walked; see the module's documentation.
pub struct Prepared<'a> {
    scene: Scene<'a>,
    top: Block<'a>,
    /// Sets that the steps own, not borrow.
    _reservations: [Reservation<'a>; 2],
}

/// A step's policy and columns.
pub(crate) struct PreparedStep<'a> {
    pub(crate) policy: Policy<'a>,
    /// The columns alive after it.
    pub(crate) keep: &'a [Slot],
    /// Those of them that were alive before it: a part of [`Block::carried`].
    carried: Range<usize>,
}

/// Prepares a plan for its views: one view, or one for each source. [`WalkError::Pending`]: something has to be waited
/// for, call it again when the ticket completes; it asks for all that it comes to before it says so. `constants` gives for each constant of the plan the id that the
/// lexicon has for it, `None` where it has none. Asserts that there is one for each, and as many views as the plan
/// [needs](Plan::views).
pub fn prepare<'a, V: GraphView + 'a>(
    plan: &'a Plan,
    constants: &[Option<VertexId>],
    views: impl Into<Views<'a, V>>,
    limits: Limits<'a>,
    environment: &'a Environment<'a>,
) -> Result<Prepared<'a>, WalkError> {
    let steps = 0..plan.steps.len();
    prepare_steps(plan, constants, views, limits, environment, steps)
}

/// The same for a walk of these steps of the plan alone ([`Walk::section`](crate::Walk::section)): nothing is asked for the
/// others. Asserts besides that the plan has them.
pub fn prepare_steps<'a, V: GraphView + 'a>(
    plan: &'a Plan,
    constants: &[Option<VertexId>],
    views: impl Into<Views<'a, V>>,
    limits: Limits<'a>,
    environment: &'a Environment<'a>,
    steps: Range<usize>,
) -> Result<Prepared<'a>, WalkError> {
    assert!(
        steps.start <= steps.end && steps.end <= plan.steps.len(),
        "what is prepared is of the plan's steps"
    );
    assert_eq!(
        plan.constants.len(),
        constants.len(),
        "one id for each constant"
    );
    let locals = LocalTerms::new(limits);
    let mut constant_bytes = Reservation::new(limits);
    constant_bytes.cover((constants.len() * 2 * size_of::<VertexId>()) as u64)?;
    let missing = plan.constants.iter().zip(constants);
    let missing = missing.filter_map(|(term, id)| id.is_none().then_some(term.as_ref()));
    let mut own = Vec::new();
    locals.ids_of(missing, &mut own)?;
    let mut own = own.into_iter();
    let known = constants.iter().copied();
    let ids: Vec<VertexId> = known
        .map(|id| id.or_else(|| own.next()).expect("one id for each"))
        .collect();
    assert!(
        own.next().is_none(),
        "only what is stored nowhere has an id of the query"
    );
    let datasets = Datasets::new(&plan.dataset, &ids);
    let compiled_bytes = Cell::new(0);
    let mut builder = Builder {
        plan,
        given: environment.given(),
        ids: &ids,
        datasets: &datasets,
        views: views.into(),
        limits,
        reservation: Reservation::new(limits),
        owned_bytes: 0,
        cells: 0,
        policies: 0,
        compiled_bytes: &compiled_bytes,
        compiled_drawn: 0,
        waits: Cell::new(None),
    };
    let mut top = builder.block(&plan.steps, Vec::new(), steps)?;
    if let Some(ticket) = builder.waits.get() {
        return Err(WalkError::Pending(ticket));
    }
    top.is_top = true;
    let (reservation, cells) = (builder.reservation, builder.cells);
    Ok(Prepared {
        scene: Scene {
            plan,
            ids,
            locals,
            environment,
            datasets,
            cells,
        },
        top,
        _reservations: [reservation, constant_bytes],
    })
}

/// Steps that are walked as one chain: the plan's own, or those that a step of it holds.
pub(crate) struct Block<'a> {
    steps: Vec<PreparedStep<'a>>,
    /// The columns that the steps pass on, step by step.
    carried: Vec<Slot>,
    /// The columns of the rows that come in.
    before: Vec<Slot>,
    /// The first step that looks at rows together, or the number of steps.
    cut: usize,
    is_top: bool,
}

impl<'a> Block<'a> {
    pub(crate) fn steps(&self) -> &[PreparedStep<'a>] {
        &self.steps
    }

    /// The columns that a step passes on.
    pub(crate) fn carried(&self, step: &PreparedStep<'a>) -> &[Slot] {
        &self.carried[step.carried.clone()]
    }

    /// The columns of the rows that come to a step.
    pub(crate) fn columns_before(&self, step: usize) -> &[Slot] {
        match step {
            0 => &self.before,
            step => self.steps[step - 1].keep,
        }
    }

    /// Whether these are the plan's own steps.
    pub(crate) fn is_top(&self) -> bool {
        self.is_top
    }

    /// Whether a step looks at rows together.
    pub(crate) fn is_global(&self) -> bool {
        self.cut < self.steps.len()
    }

    /// Whether a slice may end the walk early.
    pub(crate) fn limits_rows(&self) -> bool {
        self.steps[self.cut..]
            .iter()
            .any(|step| matches!(&step.policy, Policy::Slice(slice) if slice.limit.is_some()))
    }
}

impl<'a> Prepared<'a> {
    /// The columns of the rows that come to a step, ascending: what a section from there on is [pushed](crate::Walk::push).
    /// Not always the plan's, because steps that are done together hand nothing over. Asserts that there is such a step, or
    /// that it is the end.
    pub fn columns_before(&self, step: usize) -> &[Slot] {
        self.top.columns_before(step)
    }

    /// Whether a step that comes first in a section takes rows that are equal as one, and how. Asserts that there is such a step.
    pub fn collapse(&self, step: usize) -> Option<Collapse> {
        match &self.top.steps[step].policy {
            Policy::Distinct(_) => Some(Collapse::Once),
            Policy::Count(policy) => policy.distinct.is_some().then_some(Collapse::Once),
            Policy::Aggregate(policy) => policy.collapse(),
            _ => None,
        }
    }

    /// The plan.
    pub fn plan(&self) -> &'a Plan {
        self.scene.plan
    }

    /// The graphs that a pattern of this scope and source looks at, where they are the same for all rows and there are any.
    pub fn graphs(&self, scope: Scope, source: Source) -> Option<GraphScope<'_>> {
        let dataset = self.scene.datasets.of(source);
        match dataset.resolve(scope, &self.scene.ids) {
            ResolvedScope::Fixed(fixed) => Some(dataset.graphs(fixed)),
            ResolvedScope::Nothing | ResolvedScope::PerRow(_) => None,
        }
    }

    /// The id of each constant of the plan: the lexicon's, or one of this query where the lexicon has none.
    pub fn ids(&self) -> &[VertexId] {
        &self.scene.ids
    }

    /// The terms of query-local ids in its rows.
    pub fn locals(&self) -> &LocalTerms<'a> {
        &self.scene.locals
    }

    /// What was chosen for each step, in words, for `--profile`.
    pub fn policies(&self) -> impl Iterator<Item = &'static str> {
        self.top.steps.iter().map(|step| step.policy.name())
    }

    /// The first step that looks at rows together (`DISTINCT`, sorting, slicing, counting), or the
    /// number of steps. What stands before may be run by many walks, each over a part of the seed.
    pub fn cut(&self) -> usize {
        self.top.cut
    }

    /// Whether the rows in the answer depend on the order in which they come to the [cut](Prepared::cut): a
    /// slice takes the first of them, and so does an order with a limit among those of equal keys.
    pub fn chooses_rows(&self) -> bool {
        let chooses = |policy: &Policy<'_>| match policy {
            Policy::Slice(_) => true,
            Policy::Order(order) => order.limit.is_some(),
            _ => false,
        };
        self.top.steps[self.top.cut..]
            .iter()
            .any(|step| chooses(&step.policy))
    }

    pub(crate) fn steps(&self) -> &[PreparedStep<'a>] {
        &self.top.steps
    }

    /// The plan's own steps.
    pub(crate) fn top(&self) -> &Block<'a> {
        &self.top
    }

    /// What its steps work in.
    pub(crate) fn scene(&self) -> &Scene<'a> {
        &self.scene
    }
}

/// Chooses policies.
struct Builder<'b, 'a, V> {
    plan: &'a Plan,
    given: &'a [&'a GivenTable],
    ids: &'b [VertexId],
    datasets: &'b Datasets,
    views: Views<'a, V>,
    limits: Limits<'a>,
    reservation: Reservation<'a>,
    owned_bytes: u64,
    /// Columns of all chunks so far.
    cells: usize,
    /// Policies chosen so far.
    policies: usize,
    /// Bytes of patterns compiled so far, and of those that were drawn on the budget.
    compiled_bytes: &'b Cell<u64>,
    compiled_drawn: u64,
    /// Something was not there yet. What is prepared is then thrown away, but to its end, so that all questions that
    /// it leads to are on their way at once.
    waits: Cell<Option<Ticket>>,
}

impl<'b, 'a, V: GraphView> Builder<'b, 'a, V> {
    #[inline]
    fn view(&self, source: Source) -> &'a V {
        self.views.of(source)
    }

    /// What was asked; nothing, where it has to be waited for.
    #[inline]
    fn there<T: Default>(&self, asked: Result<T, WalkError>) -> Result<T, WalkError> {
        match asked {
            Err(WalkError::Pending(ticket)) => {
                self.waits.set(Some(ticket));
                Ok(T::default())
            }
            asked => asked,
        }
    }

    /// The graphs that patterns of a source are matched in.
    #[inline]
    fn dataset(&self, source: Source) -> &'b Dataset {
        self.datasets.of(source)
    }

    #[inline]
    fn keys_of(&self, source: Source, segment: SegmentKey) -> Result<VertexSet<'a>, WalkError> {
        self.there(ask::keys(self.view(source), segment))
    }

    /// The lists of these keys, put into `lists`; none, where they have to be waited for.
    #[inline]
    fn lists_of(
        &self,
        source: Source,
        segment: SegmentKey,
        keys: &[VertexId],
        scope: FixedScope,
        lists: &mut Lists<'a>,
    ) -> Result<(), WalkError> {
        let graphs = self.dataset(source).graphs(scope);
        if let Progress::Pending(ticket) = self.view(source).lists(segment, keys, graphs, lists)? {
            self.waits.set(Some(ticket));
            *lists = Lists::new();
        }
        Ok(())
    }

    /// Prepares steps that begin with rows of these columns; those outside of `walked` are passed by.
    fn block(
        &mut self,
        plan: &'a [Step],
        before: Vec<Slot>,
        walked: Range<usize>,
    ) -> Result<Block<'a>, WalkError> {
        let mut steps: Vec<PreparedStep<'a>> = Vec::with_capacity(plan.len());
        let mut carried = Vec::with_capacity(plan.iter().map(|step| step.keep.len()).sum());
        let mut is_dead = false;
        self.cells += before.len();
        let mut vertices = self.vertices(plan, &before)?;
        for (at, step) in plan.iter().enumerate() {
            let live = steps.last().map_or(&before[..], |step| step.keep);
            let mut keep = &step.keep[..];
            let policy = if let Some(chosen) = vertices.as_mut().and_then(|all| all.policy(at)) {
                // What named the predicates is not there, and nobody reads it.
                keep = if at == 0 { &[] } else { keep };
                chosen
            } else if !walked.contains(&at) {
                Policy::Pass
            } else if is_dead && is_of_a_row(&step.action) {
                Policy::Nothing
            } else {
                self.policy(step, live)?
            };
            is_dead = match step.action {
                Action::Never { .. } => is_dead || matches!(policy, Policy::Nothing),
                // They may make a row of none.
                Action::Aggregate { .. } | Action::Count { .. } => false,
                _ => is_dead,
            };
            let first = carried.len();
            carried.extend(keep.iter().filter(|slot| live.contains(slot)));
            step.action.for_each_write(&mut |new| {
                if let Some(at) = carried[first..].iter().position(|slot| *slot == new) {
                    carried.remove(first + at);
                }
            });
            if walked.contains(&at) {
                self.cells += keep.len();
            }
            steps.push(PreparedStep {
                policy,
                keep,
                carried: first..carried.len(),
            });
        }
        let is_global = |step: &PreparedStep<'_>| step.policy.is_global();
        let cut = steps.iter().position(is_global).unwrap_or(steps.len());
        assert_eq!(steps.len(), plan.len(), "a step is prepared once");
        Ok(Block {
            steps,
            carried,
            before,
            cut,
            is_top: false,
        })
    }

    fn policy(&mut self, step: &'a Step, live: &[Slot]) -> Result<Policy<'a>, WalkError> {
        if self.policies.is_multiple_of(STEPS_PER_LOOK) {
            self.limits.check()?;
        }
        self.policies += 1;
        // A step that comes to nothing asks no view, and its plan is as wrong.
        step.action.for_each_source(&mut |source| {
            self.view(source);
        });
        let policy = self.policy_of(step, live)?;
        let compiled = self.compiled_bytes.get();
        if compiled > self.compiled_drawn {
            self.owned_bytes += compiled - self.compiled_drawn;
            self.compiled_drawn = compiled;
            self.reservation.cover(self.owned_bytes)?;
        }
        Ok(policy)
    }

    fn policy_of(&mut self, step: &'a Step, live: &[Slot]) -> Result<Policy<'a>, WalkError> {
        if let Some(policy) = Policy::of_rows(step, self.constants())? {
            return Ok(policy);
        }
        match &step.action {
            Action::Never { snapshot } if self.views.store().commit_number() == Some(*snapshot) => {
                Ok(Policy::Nothing)
            }
            Action::Never { .. } => Ok(Policy::Pass),
            Action::PathSeed { .. } | Action::PathExpand { .. } | Action::PathCheck { .. } => {
                self.path(step)
            }
            _ => self.composed(step, live),
        }
    }

    fn constants(&self) -> Constants<'_> {
        Constants {
            terms: &self.plan.constants,
            ids: self.ids,
            compiled_bytes: self.compiled_bytes,
        }
    }
}

/// Whether a step without rows has nothing to do: it neither counts rows nor holds a block.
fn is_of_a_row(action: &Action) -> bool {
    matches!(
        action,
        Action::Expand { .. }
            | Action::Intersect { .. }
            | Action::ExpandKeys { .. }
            | Action::ExpandPredicates { .. }
            | Action::Check { .. }
            | Action::Filter(_)
            | Action::Bind { .. }
    )
}
