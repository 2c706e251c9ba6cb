//! A walk that starts from no set that could be cut, by several threads: the rows of its first steps are handed out.
//!
//! ```text
//!  first steps, by whoever wants rows -- some rows --> worker -- chunks --> tail, on the calling thread
//! ```
//!
//! A plan that begins with a path, a table of values, a union, a sub-query or a handful of vertices has no [seed](explore::Seed) for its workers, and of 772
//! queries of public projects 124 begin so. Its first steps are one walk behind a lock: a worker takes the next of their rows, walks on with them to where rows are looked
//! at together, and comes back for more. So nobody waits but for rows, and what one takes is a part of what lies there, so that a hundred rows of which
//! a million come are many parts.
//!
//! Which steps are the first ones is the plan's estimates' to say ([`handing`]): as few as give rows enough to share. Rows are handed on in no order, so a
//! query that chooses among them is walked by one thread.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `First::hand` | workers, with its lock, when they take rows | the same |
//! | the channel of chunks | workers | the tail |

use super::{Consumer, Execution, Halt, Halting, add, clock, panicked, parts};
use crate::error::QueryError;
use crossbeam_channel::Sender;
use explore::{Chunk, Prepared, Status, StepProfile, Walk};
use query::plan::{Slot, Step};
use rdf::{Lexicon, VertexId};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use store::delta::GraphVersion;
use store::view::GraphView;

/// Parts for each worker of the rows that lie there: enough that uneven parts even out.
const PARTS_PER_WORKER: u64 = 4;

/// Chunks on their way from each worker.
const CHUNKS_PER_WORKER: usize = 4;

/// How much more than an average row's is expected of the one that is the last to be done.
const SKEW: f64 = 8.0;

/// Expected nanoseconds of handing a row on, and of a thread that begins and ends.
const ROW_NS: f64 = 30.0;
const THREAD_NS: f64 = 5e4;

/// The rows of the first steps, handed out.
struct First<'p, 'a, V, L> {
    hand: Mutex<Hand<'p, 'a, V, L>>,
    workers: u64,
    width: usize,
}

struct Hand<'p, 'a, V, L> {
    walk: Walk<'p, 'a, V, L>,
    /// Rows that it gave, so many of which somebody took.
    rows: u64,
    columns: Vec<(Slot, Vec<VertexId>)>,
    taken: u64,
    is_over: bool,
}

impl<'p, 'a, V, L> First<'p, 'a, V, L> {
    /// No more rows for anybody.
    fn end(&self) {
        let mut hand = self.hand.lock().unwrap_or_else(PoisonError::into_inner);
        hand.is_over = true;
        hand.taken = hand.rows;
    }

    /// The lock, and nobody's turn while it is waited for.
    fn hand(&self, halt: &Halt<'_>) -> MutexGuard<'_, Hand<'p, 'a, V, L>> {
        match self.hand.try_lock() {
            Ok(hand) => hand,
            Err(TryLockError::Poisoned(hand)) => hand.into_inner(),
            Err(TryLockError::WouldBlock) => {
                let hand = halt.token.waiting_for_own(|| self.hand.lock());
                hand.unwrap_or_else(PoisonError::into_inner)
            }
        }
    }
}

impl<V, L> Hand<'_, '_, V, L> {
    /// So many rows at most of those that nobody took.
    fn take(&mut self, most: u64, width: usize) -> Chunk {
        let left = self.rows - self.taken;
        let rows = if self.columns.is_empty() {
            left
        } else {
            left.min(most)
        };
        let range = self.taken as usize..(self.taken + rows) as usize;
        self.taken += rows;
        let cut = |(slot, cells): &(Slot, Vec<VertexId>)| (*slot, cells[range.clone()].to_vec());
        let columns = self.columns.iter().map(cut);
        Chunk::from_columns(width, rows, columns).expect("columns of one chunk")
    }
}

/// The query ends when a thread panics.
struct EndOnPanic<'f, 'p, 'a, V, L>(&'f First<'p, 'a, V, L>);

impl<V, L> Drop for EndOnPanic<'_, '_, '_, V, L> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end();
        }
    }
}

/// The step before which rows are best handed to so many threads, with what all steps are expected to take then, in nanoseconds; `None`: one thread is sooner, or
/// is to choose among the rows.
pub(super) fn handing(prepared: &Prepared<'_>, workers: usize) -> Option<(usize, f64)> {
    if workers <= 1 || prepared.chooses_rows() {
        return None;
    }
    let steps = &prepared.plan().steps;
    let sum = |steps: &[Step]| -> f64 { steps.iter().map(|step| step.estimate.cost_ns).sum() };
    let cut = prepared.cut().min(steps.len());
    let handed = |at: usize| {
        let rows = steps[at - 1].estimate.rows;
        let before = sum(&steps[..at]) + rows * ROW_NS + workers as f64 * THREAD_NS;
        // While the last row is walked on with, nobody else has anything to do.
        let share = 1.0 / workers as f64 + SKEW / rows.max(1.0);
        let own = sum(&steps[at..cut]) * share.min(1.0);
        (at, before + own + sum(&steps[cut..]))
    };
    let has_rows = |at: &usize| !prepared.columns_before(*at).is_empty();
    let best = (1..cut).filter(has_rows).map(handed);
    let best = best.min_by(|one, other| one.1.total_cmp(&other.1))?;
    (best.1 < sum(steps)).then_some(best)
}

impl<'a> Execution<'_, 'a> {
    /// Walks the plan, its steps from this one on by so many threads.
    pub(super) fn handed(
        &self,
        workers: usize,
        from: usize,
        consume: &mut Consumer<'_>,
    ) -> Result<Vec<StepProfile>, QueryError> {
        let GraphVersion {
            snapshot,
            dictionary,
            ..
        } = &self.graph.version;
        let clock = clock();
        let (prepared, limits) = (self.prepared, self.limits);
        let options = self.options(&clock);
        let walk = Walk::section(prepared, snapshot, dictionary, limits, options, 0..from);
        let first = First {
            hand: Mutex::new(Hand {
                walk,
                rows: 0,
                columns: Vec::new(),
                taken: 0,
                is_over: false,
            }),
            workers: workers as u64,
            width: prepared.plan().variables.len(),
        };
        let (sender, mut chunks) = parts::unordered(workers * CHUNKS_PER_WORKER);
        let mut profile = std::thread::scope(|scope| {
            let spawned: Vec<_> = (0..workers)
                .map(|_| {
                    let computing = self.halt.token.computing();
                    let (first, sender) = (&first, sender.clone());
                    scope.spawn(move || {
                        let _computing = computing;
                        self.work_on(first, from, &sender)
                    })
                })
                .collect();
            drop(sender);
            let tail = {
                let _halting = Halting(self.halt);
                self.tail(&mut chunks, consume)
            };
            drop(chunks);
            let mut profile = vec![StepProfile::default(); prepared.plan().steps.len()];
            let mut failed = None;
            for worker in spawned {
                match worker.join().map_err(|panic| panicked(&panic)) {
                    Ok(Ok(steps)) => add(&mut profile, from, &steps),
                    Ok(Err(error)) | Err(error) => failed = failed.or(Some(error)),
                }
            }
            if let Some(error) = failed {
                return Err(error);
            }
            add(&mut profile, prepared.cut(), &tail?);
            Ok(profile)
        })?;
        let hand = first.hand.into_inner();
        let hand = hand.unwrap_or_else(PoisonError::into_inner);
        add(&mut profile, 0, hand.walk.profile());
        Ok(profile)
    }

    /// One worker: walks on with rows until there are no more, or the query has ended.
    fn work_on<V: GraphView, L: Lexicon>(
        &self,
        first: &First<'_, 'a, V, L>,
        from: usize,
        chunks: &Sender<Chunk>,
    ) -> Result<Vec<StepProfile>, QueryError> {
        let _end_on_panic = EndOnPanic(first);
        let GraphVersion {
            snapshot,
            dictionary,
            ..
        } = &self.graph.version;
        let clock = clock();
        let (prepared, limits) = (self.prepared, self.limits);
        let steps = from..prepared.cut();
        let options = self.options(&clock);
        let mut rest = Walk::section(prepared, snapshot, dictionary, limits, options, steps);
        match self.walk_on(first, &mut rest, chunks) {
            Err(error) if !self.halt.halted.load(Ordering::Relaxed) => {
                self.halt.halted.store(true, Ordering::Relaxed);
                first.end();
                Err(error)
            }
            _ => Ok(rest.into_profile()),
        }
    }

    fn walk_on<V: GraphView, L: Lexicon, W: GraphView, M: Lexicon>(
        &self,
        first: &First<'_, 'a, V, L>,
        rest: &mut Walk<'_, 'a, W, M>,
        chunks: &Sender<Chunk>,
    ) -> Result<(), QueryError> {
        loop {
            let mut chunk = Chunk::new();
            match self.come(rest.next(&mut chunk))? {
                Status::Rows => {
                    if !self.send(chunks, chunk) {
                        return Ok(());
                    }
                }
                Status::Starved => match self.next_rows(first)? {
                    Some(mut rows) => rest.push(&mut rows)?,
                    None => rest.end_input(),
                },
                Status::Done => return Ok(()),
                Status::Yield | Status::Pending(_) => {}
            }
        }
    }

    /// Some rows of the first steps; `None`: there are no more.
    fn next_rows<V: GraphView, L: Lexicon>(
        &self,
        first: &First<'_, 'a, V, L>,
    ) -> Result<Option<Chunk>, QueryError> {
        let mut hand = first.hand(self.halt);
        loop {
            let left = hand.rows - hand.taken;
            if left > 0 {
                let share = left.div_ceil(first.workers * PARTS_PER_WORKER);
                return Ok(Some(hand.take(share, first.width)));
            }
            if hand.is_over {
                return Ok(None);
            }
            let mut chunk = Chunk::new();
            let came = self.come(hand.walk.next(&mut chunk));
            if came.is_err() {
                // Nobody asks it again.
                hand.is_over = true;
            }
            match came? {
                Status::Rows => {
                    (hand.rows, hand.taken) = (chunk.rows(), 0);
                    hand.columns = chunk.into_columns().collect();
                }
                Status::Done => hand.is_over = true,
                Status::Yield | Status::Pending(_) => {}
                Status::Starved => unreachable!("first steps feed themselves"),
            }
        }
    }
}
