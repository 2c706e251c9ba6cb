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
//! Which steps are the first ones is the plan's estimates' to say ([`handing`]): as few as give rows enough to share, and all paths, which are searched once for rows that come
//! together. Rows are handed on in no order, so a query that chooses among them is walked by one thread. Each worker's chunks are drawn on the query's memory: one that has
//! little of it has fewer of them.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `First::hand` | workers, with its lock, when they take rows | the same |
//! | the channel of chunks | workers | the tail |

use super::on_device::PieceMemory;
use super::{Consumer, Execution, Halt, Halting, add, clock, panicked, parts};
use crate::error::QueryError;
use crossbeam_channel::Sender;
use explore::{Chunk, Options, Prepared, Status, StepProfile, Walk};
use query::plan::{Action, Estimate, Slot, Step};
use rdf::{Lexicon, VertexId};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use store::delta::GraphVersion;
use store::view::GraphView;

/// Parts for each worker of the rows that lie there: enough that uneven parts even out.
const PARTS_PER_WORKER: u64 = 4;

/// Rows of a part where many came before: what it takes to hand one on is little beside so many.
const PART_ROWS: u64 = 64;

/// Bytes of a worker beside its walk's chunks: what its steps keep while they look at one.
const WORKER_BYTES: u64 = 128 << 10;

/// Chunks on their way from each worker.
const CHUNKS_PER_WORKER: usize = 4;

/// How much more than an average row's is expected of the one that is the last to be done.
const SKEW: f64 = 8.0;

/// Expected nanoseconds of handing a row on, and of a thread that begins and ends.
const ROW_NS: f64 = 60.0;
const THREAD_NS: f64 = 5e4;

/// The rows of the first steps, handed out.
struct First<'p, 'a, V, L> {
    hand: Mutex<Hand<'p, 'a, V, L>>,
    /// Those that a chunk is taken in, where it has the rows.
    parts: u64,
    width: usize,
}

struct Hand<'p, 'a, V, L> {
    walk: Walk<'p, 'a, V, L>,
    /// Rows that it gave, so many of which somebody took.
    rows: u64,
    columns: Vec<(Slot, Vec<VertexId>)>,
    taken: u64,
    /// How many are taken at once.
    part: u64,
    /// Rows of all chunks before.
    before: u64,
    is_over: bool,
}

impl<'p, 'a, V, L> First<'p, 'a, V, L> {
    /// No more rows for anybody.
    fn end(&self, halt: &Halt<'_>) {
        let mut hand = self.hand(halt);
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
    /// These are the rows that nobody took, for so many parts: few in each until many came.
    fn has(&mut self, chunk: Chunk, parts: u64) {
        self.before += self.rows;
        (self.rows, self.taken) = (chunk.rows(), 0);
        let least = (self.before / parts).min(PART_ROWS);
        self.part = self.rows.div_ceil(parts).max(least);
        self.columns = chunk.into_columns().collect();
    }

    /// A part of the rows that nobody took.
    fn take(&mut self, width: usize) -> Chunk {
        let left = self.rows - self.taken;
        let rows = if self.columns.is_empty() {
            left
        } else {
            left.min(self.part)
        };
        let range = self.taken as usize..(self.taken + rows) as usize;
        self.taken += rows;
        let cut = |(slot, cells): &(Slot, Vec<VertexId>)| (*slot, cells[range.clone()].to_vec());
        let columns = self.columns.iter().map(cut);
        Chunk::from_columns(width, rows, columns).expect("columns of one chunk")
    }
}

/// The query ends when a thread panics.
struct EndOnPanic<'f, 'p, 'a, V, L>(&'f First<'p, 'a, V, L>, &'f Halt<'f>);

impl<V, L> Drop for EndOnPanic<'_, '_, '_, V, L> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.1.halted.store(true, Ordering::Relaxed);
            self.0.end(self.1);
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
    let cut = prepared.cut().min(steps.len());
    let is_path = |step: &Step| {
        let action = &step.action;
        matches!(action, Action::PathExpand { .. } | Action::PathCheck { .. })
    };
    let paths = steps[..cut].iter().rposition(is_path);
    let first = paths.map_or(1, |last| last + 1);
    let has_rows = |at: &usize| !prepared.columns_before(*at).is_empty();
    let estimates: Vec<Estimate> = steps.iter().map(|step| step.estimate).collect();
    best(
        &estimates,
        cut,
        (first..cut).filter(has_rows),
        workers as f64,
    )
}

/// The best of these steps, for so many workers, if one thread is not expected to be sooner.
fn best(
    steps: &[Estimate],
    cut: usize,
    among: impl Iterator<Item = usize>,
    workers: f64,
) -> Option<(usize, f64)> {
    let sum = |steps: &[Estimate]| -> f64 { steps.iter().map(|step| step.cost_ns).sum() };
    let handed = |at: usize| {
        let rows = steps[at - 1].rows;
        let before = sum(&steps[..at]) + rows * ROW_NS + workers * THREAD_NS;
        // While the last row is walked on with, nobody else has anything to do.
        let share = 1.0 / workers + SKEW / rows.max(1.0);
        let own = sum(&steps[at..cut]) * share.min(1.0);
        (at, before + own + sum(&steps[cut..]))
    };
    let best = among.map(handed);
    let best = best.min_by(|one, other| one.1.total_cmp(&other.1))?;
    (best.1 < sum(steps)).then_some(best)
}

impl<'a> Execution<'_, 'a> {
    /// So many of these workers as there is memory for, where each walks on from this step; one at least.
    pub(super) fn workers_with_memory(&self, workers: usize, from: usize) -> usize {
        let columns = (from..=self.prepared.cut()).map(|step| self.prepared.columns_before(step));
        let cells = columns.map(<[Slot]>::len).sum::<usize>() * Options::default().chunk_rows;
        // As much again is left to what follows.
        let bytes = 2 * (cells * size_of::<VertexId>()) as u64 + WORKER_BYTES;
        let has_room = |workers: &usize| {
            let bytes = *workers as u64 * bytes;
            PieceMemory::new(self.limits, bytes).is_ok()
        };
        let halves = std::iter::successors(Some(workers), |workers| Some(workers / 2));
        let mut some = halves.take_while(|workers| *workers > 1);
        some.find(has_room).unwrap_or(1)
    }

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
                part: 1,
                before: 0,
                is_over: false,
            }),
            parts: workers as u64 * PARTS_PER_WORKER,
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
        let _end_on_panic = EndOnPanic(first, self.halt);
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
                first.end(self.halt);
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
            if hand.taken < hand.rows {
                return Ok(Some(hand.take(first.width)));
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
                Status::Rows => hand.has(chunk, first.parts),
                Status::Done => hand.is_over = true,
                Status::Yield | Status::Pending(_) => {}
                Status::Starved => unreachable!("first steps feed themselves"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimates(steps: &[(f64, f64)]) -> Vec<Estimate> {
        let of = |&(rows, cost_ns): &(f64, f64)| Estimate {
            rows,
            cost_ns,
            is_sampled: false,
        };
        steps.iter().map(of).collect()
    }

    #[test]
    fn rows_are_handed_on_where_there_are_enough_and_most_is_to_be_done() {
        let best = |steps: &[(f64, f64)], workers: f64| {
            let steps = estimates(steps);
            let found = best(&steps, steps.len(), 1..steps.len(), workers);
            found.map(|(at, _)| at)
        };
        // Three rows are no work for two; of what they become there is enough.
        let values = [(3.0, 1e2), (2e4, 8e5), (2e5, 1e7), (9e6, 5e7)];
        assert_eq!(best(&values, 2.0), Some(2));
        // So many rows are dearer to hand on than what is left to be done with them.
        let first = [(1.0, 1e2), (1e6, 5e7), (1e6, 1e7)];
        assert_eq!(best(&first, 4.0), None);
        assert_eq!(best(&[(5.0, 1e3), (5.0, 1e6)], 16.0), None);
        assert_eq!(best(&[(f64::NAN, f64::NAN), (1e3, 1e9)], 4.0), None);
        assert_eq!(best(&[(0.0, 0.0), (0.0, 0.0)], 4.0), None);
    }
}
