//! The walk: a resumable state machine over a plan's steps.
//!
//! A walk is the [chain](crate::chain) of the plan's top steps with the [views](crate::views) and the limits that it
//! runs under. Three kinds: of the whole plan; of its first [`Prepared::part_steps`] over a part of the
//! [seed](Seed), which many workers do at once; of a section, any range of its steps over rows that are
//! pushed, of which the steps from [`Prepared::cut`] on are the case that those workers need.

use crate::chain::Chain;
use crate::chunk::Chunk;
use crate::error::WalkError;
use crate::limits::Limits;
use crate::options::{Options, Status};
use crate::prepare::{Prepared, Seed, SeedPart};
use crate::profile::StepProfile;
use crate::step::{Context, Operator};
use crate::views::Views;
use rdf::Lexicon;
use std::ops::Range;
use store::view::GraphView;

/// A walk; see the module's documentation. `'p` is the prepared plan's borrow, `'a` that of the views
/// and of everything else that outlives the query.
pub struct Walk<'p, 'a, V, L> {
    context: Context<'p, 'a, V, L>,
    chain: Chain<'p, 'a>,
    start: usize,
}

impl<'p, 'a, V: GraphView, L: Lexicon> Walk<'p, 'a, V, L> {
    /// A walk of the whole plan.
    pub fn new(
        prepared: &'p Prepared<'a>,
        views: impl Into<Views<'a, V>>,
        lexicon: &'a L,
        limits: Limits<'a>,
        options: Options<'p>,
    ) -> Self {
        let steps = 0..prepared.steps().len();
        Walk::section(prepared, views, lexicon, limits, options, steps)
    }

    /// A walk of these steps of the plan. One from the first step on starts with the one row without
    /// columns, as the plan does; any other works on rows that are [pushed](Walk::push), and asks for them
    /// by [`Status::Starved`]. The rows of the plan are those of its sections one after the other, each
    /// over what the one before it gave. Asserts that the plan has the steps.
    pub fn section(
        prepared: &'p Prepared<'a>,
        views: impl Into<Views<'a, V>>,
        lexicon: &'a L,
        limits: Limits<'a>,
        options: Options<'p>,
        steps: Range<usize>,
    ) -> Self {
        assert!(
            steps.start <= steps.end && steps.end <= prepared.steps().len(),
            "a section is of the plan's steps"
        );
        let mut walk = Walk::of_steps(prepared, views, lexicon, limits, options, steps);
        if walk.start == 0 {
            walk.chain.begin();
        } else {
            walk.chain.open();
        }
        walk
    }

    /// A walk of [`Prepared::part_steps`] over a range of the plan's seed that is not empty. The rows of all
    /// parts are the rows of the whole, or those of them that [`Walk::tail`] needs; where they are a choice, a
    /// part leaves out what other parts of this seed have better rows for. Asserts that the range is within the
    /// seed.
    pub fn over(
        prepared: &'p Prepared<'a>,
        views: impl Into<Views<'a, V>>,
        lexicon: &'a L,
        limits: Limits<'a>,
        options: Options<'p>,
        seed: &'p Seed<'a>,
        range: Range<u64>,
    ) -> Self {
        let end = prepared.part_steps();
        let mut walk = Walk::beginning(
            prepared,
            views,
            lexicon,
            limits,
            options,
            (seed, range),
            end,
        );
        if end > prepared.cut() {
            match walk.chain.operator(prepared.cut()) {
                Operator::Order(ordering) => ordering.share(seed.choice()),
                _ => unreachable!("what parts do together is a choice"),
            }
        }
        walk
    }

    /// A walk of the first steps of the plan, up to `end`, over a range of the plan's seed that is not empty: what whoever
    /// walks on from there has no rows of. Asserts that the range is within the seed, and the seed in those steps.
    pub fn beginning(
        prepared: &'p Prepared<'a>,
        views: impl Into<Views<'a, V>>,
        lexicon: &'a L,
        limits: Limits<'a>,
        options: Options<'p>,
        (seed, range): (&'p Seed<'a>, Range<u64>),
        end: usize,
    ) -> Self {
        let mut walk = Walk::of_steps(prepared, views, lexicon, limits, options, 0..end);
        let SeedPart {
            step,
            elements,
            keys,
        } = seed.part(range);
        match walk.chain.operator(step) {
            Operator::Set(expansion) => expansion.restrict(elements.clone(), seed.arrangement()),
            _ => unreachable!("a seed is a set"),
        }
        if let Some(keys) = keys {
            match walk.chain.operator(step + 1) {
                Operator::Keys(expansion) => {
                    expansion.restrict(elements.end - elements.start, keys);
                }
                _ => unreachable!("a seed of keys is listed after its predicates"),
            }
        }
        walk.chain.begin();
        walk
    }

    /// The same over a range of a seed that is a mere set, whose elements are numbered by their order. Asserts that it is one, and
    /// that the range is not empty and within.
    pub(crate) fn beginning_of_set(
        prepared: &'p Prepared<'a>,
        (views, lexicon): (Views<'a, V>, &'a L),
        limits: Limits<'a>,
        options: Options<'p>,
        range: Range<u64>,
        end: usize,
    ) -> Result<Self, WalkError> {
        let mut walk = Walk::of_steps(prepared, views, lexicon, limits, options, 0..end);
        let seed = prepared.seed(views)?.expect("the caller has seen it");
        let SeedPart {
            step,
            elements,
            keys,
        } = seed.part(range);
        assert!(
            keys.is_none() && seed.arrangement().is_none(),
            "it is a mere set"
        );
        match walk.chain.operator(step) {
            Operator::Set(expansion) => expansion.restrict(elements, None),
            _ => unreachable!("a seed is a set"),
        }
        walk.chain.begin();
        Ok(walk)
    }

    /// A walk of the steps from [`Prepared::cut`] on, over rows that are pushed.
    pub fn tail(
        prepared: &'p Prepared<'a>,
        views: impl Into<Views<'a, V>>,
        lexicon: &'a L,
        limits: Limits<'a>,
        options: Options<'p>,
    ) -> Self {
        let steps = prepared.cut()..prepared.steps().len();
        let mut walk = Walk::of_steps(prepared, views, lexicon, limits, options, steps);
        walk.chain.open();
        walk
    }

    /// Asks for rows from now on, whatever its first step is.
    pub(crate) fn open(&mut self) {
        self.chain.open();
    }

    pub(crate) fn of_steps(
        prepared: &'p Prepared<'a>,
        views: impl Into<Views<'a, V>>,
        lexicon: &'a L,
        limits: Limits<'a>,
        options: Options<'p>,
        steps: Range<usize>,
    ) -> Self {
        let context = Context {
            views: views.into(),
            lexicon,
            scene: prepared.scene(),
            limits,
            chunk_rows: options.chunk_rows,
        };
        Walk {
            context,
            start: steps.start,
            chain: Chain::new(context, prepared.top(), steps, options),
        }
    }

    /// Gives a section more rows, taken out of `rows`: a chunk that a walk of the steps before it filled.
    /// The section must have asked for it: it starts so, and after [`Status::Starved`]. Asserts that the
    /// columns are those before its first step.
    pub fn push(&mut self, rows: &mut Chunk) -> Result<(), WalkError> {
        self.chain.push(rows)
    }

    /// Says that nothing more is pushed.
    pub fn end_input(&mut self) {
        self.chain.end_input();
    }

    /// Whether no input can change the answer any more: a limit was reached, or one row answers the
    /// query.
    pub fn is_satisfied(&self) -> bool {
        self.chain.is_satisfied()
    }

    /// The counters of this walk's steps; the first is that of step number [`Walk::start`]. What a
    /// step's own blocks do is counted as the step's.
    pub fn profile(&self) -> &[StepProfile] {
        self.chain.profile()
    }

    /// The counters, when the walk is over.
    pub fn into_profile(self) -> Vec<StepProfile> {
        self.chain.into_profile()
    }

    /// The number in the plan of the first step walked.
    pub fn start(&self) -> usize {
        self.start
    }

    /// Fills `out` with the next rows. After [`Status::Done`] or an error there are no more; after
    /// an error the walk is to be dropped.
    pub fn next(&mut self, out: &mut Chunk) -> Result<Status, WalkError> {
        self.chain.next(self.context, out)
    }
}
