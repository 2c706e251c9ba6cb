//! One live query: its answer, how that came to be, and who reads it.
//!
//! ```text
//!            a commit touches it, and somebody reads it
//!  Resting ----------------------------------------------> Evaluating --- fails ---> Ended
//!     ^                                                        |
//!     '------------------ the bag, a difference ---------------'
//! ```
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `State` | whoever evaluates, before and after; consumers that come, read and go; under the lock | the same |
//! | the bag | whoever evaluates, who has taken it out | consumers that want a whole answer, while it rests |
//! | `changed` | told after each evaluation | consumers that wait on a thread |
//!
//! Invariant: `at` is the snapshot in which the present answer was found first, and up to snapshot `holds` nothing has
//! changed it. A consumer reads nothing while `holds` is less than what was published when it came, so nobody reads an
//! answer that was old when it was asked for.

use super::bag::{Bag, Weights};
use super::change::{LiveChange, WeightedRow};
use super::evaluation::{evaluate, kind, variables};
use super::history::History;
use super::question::{KnownPredicates, Question};
use crate::budget::Budget;
use crate::change::writer::news::News;
use crate::error::QueryError;
use crate::moment::Graph;
use crate::panics::guarded;
use crate::request::shared::Shared;
use crate::standing::report::ReportKind;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Is told that there may be something to read. It must not block, nor call anything here.
pub(super) type Told = Box<dyn Fn() + Send + Sync>;

/// Names a consumer of one subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ConsumerId(u64);

/// See the head of this file.
pub(super) struct Subscription {
    pub(super) question: Question,
    kind: ReportKind,
    variables: Arc<[String]>,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    phase: Phase,
    /// In which snapshot the answer was found first; `None`: there is none yet.
    at: Option<u64>,
    /// Up to which snapshot it holds.
    holds: u64,
    /// What it reads, in the graph whose terms have the ids of this number.
    known: Option<(u64, Option<KnownPredicates>)>,
    history: History,
    consumers: BTreeMap<ConsumerId, Consumer>,
    last_consumer: u64,
    /// Since when nobody reads.
    left: Option<Instant>,
    /// It is not evaluated before.
    rests_until: Option<Instant>,
    evaluations: u64,
    skips: u64,
}

enum Phase {
    Resting(Bag),
    Evaluating,
    Ended(QueryError),
}

struct Consumer {
    /// The snapshot of the answer that it has.
    seen: Option<u64>,
    /// The snapshot that this answer was told with: an older one where what came and went since has cancelled.
    told_as: Option<u64>,
    /// It had an answer that is not known any more.
    is_reset: bool,
    /// It reads nothing older.
    least: u64,
    told: Told,
}

/// What is to be done with a subscription now.
pub(super) enum Due {
    /// It is as it should be, or being evaluated.
    Nothing,
    /// What was committed does not touch it.
    Skipped,
    /// It is to be evaluated with this.
    Evaluate(Bag),
    /// Not before.
    Later(Instant),
    /// Nobody has read it for long, or it has ended: it is to be forgotten.
    Forget,
}

/// What has come of a subscription, for people and metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscriptionInfo {
    /// The text of the query.
    pub text: String,
    /// Who reads it (count).
    pub consumers: usize,
    /// How often it was evaluated.
    pub evaluations: u64,
    /// How often a look at what was committed showed that it need not be.
    pub skips: u64,
    /// The snapshot in which the answer was found first; `None`: there is none yet.
    pub snapshot: Option<u64>,
}

impl Subscription {
    /// What the rows of its answer are.
    pub(super) fn kind(&self) -> ReportKind {
        self.kind
    }

    /// One that is being evaluated for the first time by whoever makes it, with the bag that comes back.
    pub(super) fn new(shared: &Shared, question: Question, bytes_max: u64) -> (Subscription, Bag) {
        let budget = Arc::new(Budget::new(&shared.pool, u64::MAX));
        let kind = kind(&question);
        let bag = Bag::new(bytes_max, Arc::clone(&budget), kind == ReportKind::Graph);
        let subscription = Subscription {
            kind,
            variables: variables(&question),
            question,
            state: Mutex::new(State {
                phase: Phase::Evaluating,
                at: None,
                holds: 0,
                known: None,
                history: History::new(bytes_max, budget),
                consumers: BTreeMap::new(),
                last_consumer: 0,
                left: None,
                rests_until: None,
                evaluations: 0,
                skips: 0,
            }),
            changed: Condvar::new(),
        };
        (subscription, bag)
    }

    /// A consumer comes that had the answer of snapshot `seen`, and reads nothing older than `least`.
    pub(super) fn enter(&self, seen: Option<u64>, least: u64, told: Told) -> ConsumerId {
        let mut state = self.state();
        state.last_consumer += 1;
        let id = ConsumerId(state.last_consumer);
        let is_known = |seen: &u64| {
            let at = state.at;
            at.is_some_and(|at| state.history.since(*seen, at).is_some())
        };
        let known = seen.filter(is_known);
        let consumer = Consumer {
            is_reset: seen.is_some() && known.is_none(),
            seen: known,
            told_as: known,
            least,
            told,
        };
        state.consumers.insert(id, consumer);
        state.left = None;
        id
    }

    /// A consumer goes.
    pub(super) fn leave(&self, id: ConsumerId) {
        let mut state = self.state();
        state.consumers.remove(&id);
        if state.consumers.is_empty() {
            state.left = Some(Instant::now());
        }
    }

    /// What is new for a consumer; `None`: nothing yet. After the subscription has ended its error.
    pub(super) fn read(&self, id: ConsumerId) -> Result<Option<LiveChange>, QueryError> {
        self.read_of(&mut self.state(), id)
    }

    /// Whether a consumer reads what is as new as it was to be.
    pub(super) fn is_current(&self, id: ConsumerId) -> bool {
        let state = self.state();
        let least = state.consumers.get(&id).map_or(0, |it| it.least);
        state.at.is_some() && state.holds >= least
    }

    /// The same as [`Subscription::read`]; waits for it, at most so long.
    pub(super) fn wait(
        &self,
        id: ConsumerId,
        patience: Duration,
        is_ending: &dyn Fn() -> bool,
    ) -> Result<Option<LiveChange>, QueryError> {
        let due = Instant::now() + patience;
        let mut state = self.state();
        loop {
            if let Some(change) = self.read_of(&mut state, id)? {
                return Ok(Some(change));
            }
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() || is_ending() {
                return Ok(None);
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn read_of(&self, state: &mut State, id: ConsumerId) -> Result<Option<LiveChange>, QueryError> {
        if let Phase::Ended(error) = &state.phase {
            return Err(error.clone());
        }
        let Some(at) = state.at else {
            return Ok(None);
        };
        let holds = state.holds;
        let Some(consumer) = state.consumers.get_mut(&id) else {
            return Ok(None);
        };
        if consumer.least > holds {
            return Ok(None);
        }
        let (seen, since) = (consumer.seen, consumer.told_as);
        let behind = seen.and_then(|seen| state.history.since(seen, at));
        let (added, removed) = match (&behind, &state.phase) {
            (Some(weights), _) => split(weights),
            (None, Phase::Resting(bag)) => {
                let row = |(row, count)| WeightedRow { row, count };
                (bag.rows().map(row).collect(), Vec::new())
            }
            // The bag comes back, and its rows are others then.
            (None, _) => return Ok(None),
        };
        let is_reset = behind.is_none() && (consumer.is_reset || since.is_some());
        (consumer.seen, consumer.is_reset) = (Some(at), false);
        if behind.is_some_and(|weights| weights.is_empty()) {
            return Ok(None);
        }
        consumer.told_as = Some(at);
        Ok(Some(LiveChange {
            snapshot: at,
            since: since.filter(|_| !is_reset),
            is_reset,
            kind: self.kind,
            variables: Arc::clone(&self.variables),
            added,
            removed,
        }))
    }

    /// What is to be done. `linger`: how long it stays when nobody reads it.
    pub(super) fn look(&self, graph: &Graph, news: Option<&News>, linger: Duration) -> Due {
        let mut state = self.state();
        let now = Instant::now();
        if matches!(state.phase, Phase::Ended(_)) {
            return Due::Forget;
        }
        if matches!(state.phase, Phase::Evaluating) {
            return Due::Nothing;
        }
        if let Some(left) = state.left {
            // It is looked at when somebody comes back.
            let until = left + linger;
            return if until <= now {
                Due::Forget
            } else {
                Due::Later(until)
            };
        }
        let number = graph.snapshot.number();
        if state.holds >= number {
            return Due::Nothing;
        }
        if !self.is_touched(&mut state, graph, news) {
            state.holds = number;
            state.skips += 1;
            self.tell(&state);
            return Due::Skipped;
        }
        if let Some(until) = state.rests_until.filter(|until| *until > now) {
            return Due::Later(until);
        }
        match std::mem::replace(&mut state.phase, Phase::Evaluating) {
            Phase::Resting(bag) => Due::Evaluate(bag),
            Phase::Evaluating | Phase::Ended(_) => unreachable!("it was looked at above"),
        }
    }

    /// Whether what was committed since may have changed the answer.
    fn is_touched(&self, state: &mut State, graph: &Graph, news: Option<&News>) -> bool {
        let Some(news) = news else {
            return true;
        };
        let is_current = |(ids, known): &(u64, Option<KnownPredicates>)| {
            *ids == graph.ids && known.as_ref().is_none_or(|known| known.are_all)
        };
        if !state.known.as_ref().is_some_and(is_current) {
            // A predicate that the graph has not had may have come. What cannot be looked up, the walk will say.
            let Ok(known) = self.question.reads.ids(graph) else {
                return true;
            };
            state.known = Some((graph.ids, known));
        }
        match &state.known {
            Some((_, Some(known))) => {
                news.are_touched(&known.known, state.holds, graph.snapshot.number())
            }
            _ => true,
        }
    }

    /// Evaluates, and tells all who read. An error is why it has ended.
    pub(super) fn evaluate(&self, shared: &Arc<Shared>, mut bag: Bag) -> Result<(), QueryError> {
        let begun = Instant::now();
        let evaluated = guarded(|| {
            let graph = evaluate(shared, &self.question, &mut bag)?;
            Ok((graph.snapshot.number(), bag.turn()))
        });
        let took = begun.elapsed();
        let mut state = self.state();
        state.evaluations += 1;
        let outcome = match evaluated {
            Ok((number, weights)) => {
                state.turn(number, weights);
                state.phase = Phase::Resting(bag);
                state.rests_until = Some(Instant::now() + took);
                Ok(())
            }
            Err(error) => {
                state.phase = Phase::Ended(error.clone());
                Err(error)
            }
        };
        self.tell(&state);
        outcome
    }

    /// What has come of it.
    pub(super) fn info(&self) -> SubscriptionInfo {
        let state = self.state();
        SubscriptionInfo {
            text: self.question.asked.text().to_owned(),
            consumers: state.consumers.len(),
            evaluations: state.evaluations,
            skips: state.skips,
            snapshot: state.at,
        }
    }

    /// Whether it has ended, or nobody reads it.
    pub(super) fn is_over(&self) -> bool {
        let state = self.state();
        state.consumers.is_empty() || matches!(state.phase, Phase::Ended(_))
    }

    /// Whoever waits looks again.
    pub(super) fn wake(&self) {
        self.tell(&self.state());
    }

    fn tell(&self, state: &State) {
        self.changed.notify_all();
        state.consumers.values().for_each(|it| (it.told)());
    }

    /// Every change of the state is whole before it can panic.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The answer of a snapshot, which differs so from the one before.
    fn turn(&mut self, number: u64, weights: Weights) {
        self.holds = number;
        match self.at {
            None => self.at = Some(number),
            Some(_) if weights.is_empty() => {}
            Some(at) => {
                let seen: BTreeSet<u64> =
                    self.consumers.values().filter_map(|it| it.seen).collect();
                self.history.add(at, number, weights, &seen);
                self.at = Some(number);
            }
        }
    }
}

/// Rows that came, and rows that went.
fn split(weights: &Weights) -> (Vec<WeightedRow>, Vec<WeightedRow>) {
    let (mut added, mut removed) = (Vec::new(), Vec::new());
    for (row, weight) in weights {
        let list = if *weight > 0 {
            &mut added
        } else {
            &mut removed
        };
        list.push(WeightedRow {
            row: Arc::clone(row),
            count: weight.unsigned_abs(),
        });
    }
    (added, removed)
}
