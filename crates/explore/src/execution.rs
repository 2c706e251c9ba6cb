//! A query under way as a value: it owns all that its walk borrows, so a queue can hold it and any thread go on with it.
//!
//! A [`Walk`] borrows the prepared plan, which borrows the plan, the view and the surroundings; whoever runs one keeps them
//! all on its stack. That is right for a query that is walked to its end at once. One that waits for another node, for a
//! device or for the next window would hold a thread so. An execution holds them in the heap instead, one within the
//! other:
//!
//! ```text
//!  Ground + plan + limits  <-- Environment  <-- Prepared  <-- Walk
//!  `------- owner -------'      each borrows what stands before it
//! ```
//!
//! **Life.** It begins unprepared; [`Execution::next`] prepares it, which may have to wait, and then walks. Between two
//! calls it is parked: nothing runs, it may be moved to another thread, or dropped, which frees everything. A call costs
//! one virtual call more than [`Walk::next`].
//!
//! The cells are `self_cell`'s, whose `unsafe` is its own.

pub mod offload;

use crate::chunk::Chunk;
use crate::environment::{Environment, Service};
use crate::error::WalkError;
use crate::limits::{Limits, MemoryBudget, Stop};
use crate::options::{Options, Status};
use crate::prepare::{Prepared, prepare_steps};
use crate::profile::StepProfile;
use crate::walk::Walk;
use offload::{OffloadedWalk, Offloader};
use oxsdatatypes::DateTime;
use query::plan::Plan;
use rdf::{Lexicon, VertexId};
use self_cell::self_cell;
use std::ops::Range;
use std::sync::Arc;
use store::view::GraphView;

/// Where an execution walks: graphs and the terms of their ids, kept for as long as it is.
pub trait Ground: Send + Sync + 'static {
    /// A graph.
    type View: GraphView;
    /// Their terms.
    type Lexicon: Lexicon;

    /// A graph for each source of the plan, see [`Views`](crate::views); the same ones at each call.
    fn views(&self) -> &[Self::View];

    /// Their terms; the same ones at each call.
    fn lexicon(&self) -> &Self::Lexicon;
}

impl<V, L> Ground for (Arc<V>, Arc<L>)
where
    V: GraphView + Send + 'static,
    L: Lexicon + Send + 'static,
{
    type View = V;
    type Lexicon = L;

    fn views(&self) -> &[V] {
        std::slice::from_ref(&self.0)
    }

    fn lexicon(&self) -> &L {
        &self.1
    }
}

impl<V, L> Ground for (Arc<[V]>, Arc<L>)
where
    V: GraphView + Send + 'static,
    L: Lexicon + Send + 'static,
{
    type View = V;
    type Lexicon = L;

    fn views(&self) -> &[V] {
        &self.0
    }

    fn lexicon(&self) -> &L {
        &self.1
    }
}

/// What an execution is made of.
pub struct Origin<G> {
    /// The graphs and their terms.
    pub ground: G,
    /// The plan.
    pub plan: Arc<Plan>,
    /// For each constant of the plan the id that the lexicon has for it; asserted in number.
    pub constants: Vec<Option<VertexId>>,
    /// The steps that are walked; `None`: all. See [`Walk::section`].
    pub steps: Option<Range<usize>>,
    /// Tells the time.
    pub clock: Arc<dyn Fn() -> DateTime + Send + Sync>,
    /// What random numbers follow from.
    pub seed: u64,
    /// Who asks other endpoints; `None`: `SERVICE` is refused.
    pub service: Option<Arc<dyn Service + Send>>,
    /// Where memory comes from.
    pub memory: Arc<dyn MemoryBudget + Send>,
    /// Who says stop.
    pub stop: Arc<dyn Stop + Send>,
    /// How it is walked.
    pub options: Options<'static>,
    /// A clock in nanoseconds, for the profile, in place of the one of `options`.
    pub ticks: Option<Arc<Ticks>>,
    /// Who may do the first of these steps; `None`: nobody.
    pub offloader: Option<Box<dyn Offloader>>,
}

/// A clock in nanoseconds.
pub type Ticks = dyn Fn() -> u64 + Send + Sync;

/// An [`Origin`] whose ground is of any kind.
trait Owner: Send + Sync {
    fn environment(&self) -> Environment<'_>;

    fn prepare<'a>(&'a self, environment: &'a Environment<'a>) -> Result<Prepared<'a>, WalkError>;

    fn walk<'p, 'a: 'p>(&'a self, prepared: &'p Prepared<'a>) -> AnyWalk<'p>;
}

impl<G: Ground> Owner for Origin<G> {
    fn environment(&self) -> Environment<'_> {
        let service = self.service.as_deref();
        Environment::new(
            &*self.clock,
            self.seed,
            service.map(|it| it as &dyn Service),
        )
    }

    fn prepare<'a>(&'a self, environment: &'a Environment<'a>) -> Result<Prepared<'a>, WalkError> {
        let views = self.ground.views();
        prepare_steps(
            &self.plan,
            &self.constants,
            views,
            self.limits(),
            environment,
            self.walked(),
        )
    }

    fn walk<'p, 'a: 'p>(&'a self, prepared: &'p Prepared<'a>) -> AnyWalk<'p> {
        let steps = self.walked();
        let (views, lexicon) = (self.ground.views(), self.ground.lexicon());
        let limits = self.limits();
        let mut options: Options<'p> = self.options;
        if let Some(ticks) = &self.ticks {
            options.clock = Some(&**ticks);
        }
        let begun = self.offloader.as_deref().and_then(|offloader| {
            let ground = (views.into(), lexicon);
            OffloadedWalk::begun(offloader, prepared, ground, limits, options, steps.clone())
        });
        if let Some(walk) = begun {
            return Box::new(walk);
        }
        Box::new(Walk::section(
            prepared, views, lexicon, limits, options, steps,
        ))
    }
}

impl<G> Origin<G> {
    fn walked(&self) -> Range<usize> {
        let steps = self.steps.clone();
        steps.unwrap_or_else(|| 0..self.plan.steps.len())
    }

    fn limits(&self) -> Limits<'_> {
        Limits {
            memory: &*self.memory,
            stop: &*self.stop,
        }
    }
}

/// A [`Walk`] over any kind of ground.
trait Walking: Send {
    fn next(&mut self, out: &mut Chunk) -> Result<Status, WalkError>;
    fn push(&mut self, rows: &mut Chunk) -> Result<(), WalkError>;
    fn end_input(&mut self);
    fn is_satisfied(&self) -> bool;
    fn profile(&self) -> Vec<StepProfile>;

    /// See [`Execution::strips`].
    fn strips(&self) -> u64 {
        0
    }

    /// See [`Execution::rows_wanted`].
    fn rows_wanted(&self) -> Option<u64> {
        None
    }
}

impl<V: GraphView, L: Lexicon> Walking for Walk<'_, '_, V, L> {
    fn next(&mut self, out: &mut Chunk) -> Result<Status, WalkError> {
        Walk::next(self, out)
    }

    fn push(&mut self, rows: &mut Chunk) -> Result<(), WalkError> {
        Walk::push(self, rows)
    }

    fn end_input(&mut self) {
        Walk::end_input(self);
    }

    fn is_satisfied(&self) -> bool {
        Walk::is_satisfied(self)
    }

    fn profile(&self) -> Vec<StepProfile> {
        Walk::profile(self).to_vec()
    }
}

impl<V: GraphView, L: Lexicon> Walking for OffloadedWalk<'_, '_, V, L> {
    fn next(&mut self, out: &mut Chunk) -> Result<Status, WalkError> {
        OffloadedWalk::next(self, out)
    }

    fn push(&mut self, rows: &mut Chunk) -> Result<(), WalkError> {
        OffloadedWalk::push(self, rows)
    }

    fn end_input(&mut self) {
        OffloadedWalk::end_input(self);
    }

    fn is_satisfied(&self) -> bool {
        OffloadedWalk::is_satisfied(self)
    }

    fn profile(&self) -> Vec<StepProfile> {
        OffloadedWalk::profile(self)
    }

    fn strips(&self) -> u64 {
        OffloadedWalk::strips(self)
    }

    fn rows_wanted(&self) -> Option<u64> {
        Some(OffloadedWalk::rows_wanted(self))
    }
}

type AnyOwner = Box<dyn Owner>;
type AnyWalk<'p> = Box<dyn Walking + 'p>;

self_cell!(
    /// An owner with what a query of it may know of the world.
    struct Surrounded {
        owner: AnyOwner,
        #[covariant]
        dependent: Environment,
    }
);

self_cell!(
    /// The same with its plan prepared.
    struct Ready {
        owner: Surrounded,
        #[not_covariant]
        dependent: Prepared,
    }
);

self_cell!(
    /// The same with its walk.
    struct Underway {
        owner: Ready,
        #[not_covariant]
        dependent: AnyWalk,
    }
);

/// How far an execution is.
enum Stage {
    Unprepared(Surrounded),
    Underway(Underway),
    /// An error has ended it.
    Failed,
}

/// A query under way; see the module's documentation.
pub struct Execution {
    stage: Stage,
}

impl Execution {
    /// A query that nothing is done of yet.
    pub fn new<G: Ground>(origin: Origin<G>) -> Execution {
        let owner: AnyOwner = Box::new(origin);
        Execution {
            stage: Stage::Unprepared(Surrounded::new(owner, |owner| owner.environment())),
        }
    }

    /// Fills `out` with the next rows, as [`Walk::next`] does. [`Status::Pending`] may also mean that the plan is not
    /// prepared yet. After an error there are no more rows.
    pub fn next(&mut self, out: &mut Chunk) -> Result<Status, WalkError> {
        if let Some(status) = self.prepare()? {
            return Ok(status);
        }
        let next = self.walk(|walk| walk.next(out));
        if next.is_err() {
            self.stage = Stage::Failed;
        }
        next
    }

    /// Prepares the plan where that is not done, as [`Execution::next`] does first; a status where it has to be waited for.
    pub fn prepare(&mut self) -> Result<Option<Status>, WalkError> {
        let surrounded = match std::mem::replace(&mut self.stage, Stage::Failed) {
            Stage::Unprepared(surrounded) => surrounded,
            stage => {
                self.stage = stage;
                return Ok(None);
            }
        };
        let prepared = Ready::try_new_or_recover(surrounded, |surrounded| {
            let environment = surrounded.borrow_dependent();
            surrounded.borrow_owner().prepare(environment)
        });
        match prepared {
            Ok(ready) => {
                self.stage = Stage::Underway(Underway::new(ready, |ready| {
                    ready.with_dependent(|surrounded, prepared| {
                        surrounded.borrow_owner().walk(prepared)
                    })
                }));
                Ok(None)
            }
            Err((surrounded, WalkError::Pending(ticket))) => {
                self.stage = Stage::Unprepared(surrounded);
                Ok(Some(Status::Pending(ticket)))
            }
            Err((_, error)) => Err(error),
        }
    }

    /// Whether no input can change the answer any more; see [`Walk::is_satisfied`]. False before it is prepared.
    pub fn is_satisfied(&mut self) -> bool {
        matches!(self.stage, Stage::Underway(_)) && self.walk(|walk| walk.is_satisfied())
    }

    /// Gives a section more rows; see [`Walk::push`]. Asserts that it has asked for them.
    pub fn push(&mut self, rows: &mut Chunk) -> Result<(), WalkError> {
        self.walk(|walk| walk.push(rows))
    }

    /// Says that nothing more is pushed. Asserts that it has asked for rows.
    pub fn end_input(&mut self) {
        self.walk(|walk| walk.end_input());
    }

    fn walk<T>(&mut self, act: impl FnOnce(&mut dyn Walking) -> T) -> T {
        match &mut self.stage {
            Stage::Underway(underway) => underway.with_dependent_mut(|_, walk| act(&mut **walk)),
            Stage::Unprepared(_) | Stage::Failed => {
                unreachable!("a walk is asked for once it is prepared, and never after an error")
            }
        }
    }

    /// Shows the prepared plan, whose local terms are those of ids in its rows; `None` before it is prepared.
    pub fn prepared<T>(&self, show: impl FnOnce(&Prepared<'_>) -> T) -> Option<T> {
        match &self.stage {
            Stage::Underway(underway) => {
                let ready = underway.borrow_owner();
                Some(ready.with_dependent(|_, prepared| show(prepared)))
            }
            Stage::Unprepared(_) | Stage::Failed => None,
        }
    }

    /// The counters of its steps; none before it is prepared. See [`Walk::profile`].
    pub fn profile(&self) -> Vec<StepProfile> {
        match &self.stage {
            Stage::Underway(underway) => underway.with_dependent(|_, walk| walk.profile()),
            Stage::Unprepared(_) | Stage::Failed => Vec::new(),
        }
    }

    /// How often the [`Offloader`] was set to work so far.
    pub fn strips(&self) -> u64 {
        match &self.stage {
            Stage::Underway(underway) => underway.with_dependent(|_, walk| walk.strips()),
            Stage::Unprepared(_) | Stage::Failed => 0,
        }
    }

    /// How many rows are best pushed at once, where that is for the [`Offloader`] to say.
    pub fn rows_wanted(&self) -> Option<u64> {
        match &self.stage {
            Stage::Underway(underway) => underway.with_dependent(|_, walk| walk.rows_wanted()),
            Stage::Unprepared(_) | Stage::Failed => None,
        }
    }
}

/// A queue holds it, and any thread goes on with it.
const _: () = {
    const fn is_sent<T: Send>() {}
    is_sent::<Execution>();
};
