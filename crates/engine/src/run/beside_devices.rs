//! A walk whose first steps are devices', while several threads walk what follows over their rows, and parts of the seed.
//!
//! ```text
//!  seed -- from its beginning, strips --> device -- pieces of rows --> worker -- chunks --> tail, on the calling thread
//!    \---- from its end, parts ---------------------------------------> worker --/
//! ```
//!
//! Each device has a thread that launches and reads. A worker takes a piece where one waits, else a part of the seed: so all
//! end together (Wukong+G, ATC'18, has a heavy query on the GPU or on the processors). A device that fails gives back
//! what it had given nothing out of, and workers stay until no device can do so any more. The order of rows is nobody's: a query
//! that chooses among its rows is not walked so.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `Shares` | agents and workers, with its lock, when they take or give back | the same |
//! | the channel of pieces | agents | workers |
//! | the channel of chunks | workers | the tail |

use super::on_device::{PieceMemory, chunk_of, lost};
use super::parts::{self, Part};
use super::{Consumer, Execution, Halt, Halting, add, clock, panicked};
use crate::accelerator::{Accelerator, Begun, DeviceReport, Took};
use crate::error::QueryError;
use crossbeam_channel::{Receiver, Sender, bounded};
use explore::{Chunk, Seed, Status, StepProfile, Walk, WalkError};
use gpu::GpuError;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use store::delta::GraphVersion;

/// Parts of the seed for each worker: short ones, for devices may have done all else by then.
const PARTS_PER_WORKER: u64 = 256;

/// Expected nanoseconds of what follows the device's steps from which threads are worth starting for it.
const REST_NS: f64 = 2e6;

/// Expected nanoseconds of the device's steps, on one thread, from which a seed is shared with the processors, and among devices.
const SHARED_NS: f64 = 2e8;

/// Pieces that wait for a worker, for so many workers.
fn waiting(workers: usize) -> usize {
    workers / 2 + 1
}

/// The seed, from both ends.
struct Shares {
    /// Ranges that nobody has taken, none of them empty.
    left: Mutex<VecDeque<Range<u64>>>,
    part: u64,
}

impl Shares {
    fn new(seed: u64, workers: usize) -> Shares {
        let part = seed.div_ceil(workers as u64 * PARTS_PER_WORKER);
        let whole = (seed > 0).then_some(0..seed);
        Shares {
            left: Mutex::new(whole.into_iter().collect()),
            part: part.max(parts::PART_LEN_MIN),
        }
    }

    /// So many elements at most, for a device.
    fn front(&self, most: u64) -> Option<Range<u64>> {
        let mut left = self.left();
        let first = left.front_mut()?;
        let taken = first.start..first.end.min(first.start + most.max(1));
        first.start = taken.end;
        if first.is_empty() {
            left.pop_front();
        }
        Some(taken)
    }

    /// A part for a worker.
    fn back(&self) -> Option<Range<u64>> {
        let mut left = self.left();
        let last = left.back_mut()?;
        let taken = last.end.saturating_sub(self.part).max(last.start)..last.end;
        last.end = taken.start;
        if last.is_empty() {
            left.pop_back();
        }
        Some(taken)
    }

    /// What a device took and gave nothing out of.
    fn give_back(&self, range: Range<u64>) {
        if !range.is_empty() {
            self.left().push_front(range);
        }
    }

    /// Nothing for anybody any more.
    fn end(&self) {
        self.left().clear();
    }

    fn left(&self) -> MutexGuard<'_, VecDeque<Range<u64>>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The query ends when a thread panics.
struct EndOnPanic<'s, 'h, 'q>(&'s Shares, &'h Halt<'q>);

impl Drop for EndOnPanic<'_, '_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.1.halted.store(true, Ordering::Relaxed);
            self.0.end();
        }
    }
}

/// What a device did.
#[derive(Default)]
struct Done {
    steps: StepProfile,
    /// Rows that were read from it.
    read: u64,
    failed: Option<GpuError>,
}

/// What the workers did: of each step, and elements of the seed.
type Worked = (Vec<StepProfile>, u64);

impl<'a> Execution<'_, 'a> {
    /// Walks the plan from a device on: by several threads where that is worth it and they may have the memory for it, else on this
    /// one. The seed is the section's.
    pub(super) fn on_devices(
        &self,
        accelerator: &Accelerator,
        begun: Begun,
        workers: usize,
        seed: &Seed<'a>,
        consume: &mut Consumer<'_>,
    ) -> Result<(Vec<StepProfile>, DeviceReport), QueryError> {
        if workers <= 1 || !self.is_for_several(accelerator, &begun) {
            return self.on_device(accelerator, begun, seed, consume);
        }
        let others = accelerator.begin_elsewhere(&begun, &self.graph.snapshot, self.prepared);
        let mut all = vec![begun];
        all.extend(others);
        match self.memory_for_pieces(&all, workers) {
            Ok(_held) => self.beside_devices(accelerator, all, workers, seed, consume),
            Err(_) => self.on_device(accelerator, all.swap_remove(0), seed, consume),
        }
    }

    /// Whether threads are worth starting for what follows a device's steps, or for a share of the seed.
    fn is_for_several(&self, accelerator: &Accelerator, begun: &Begun) -> bool {
        let covered = begun.section.covered();
        let plan = self.prepared.plan();
        let cost = |steps: &[query::plan::Step]| -> f64 {
            steps.iter().map(|step| step.estimate.cost_ns).sum()
        };
        let rest = covered..self.prepared.cut().max(covered);
        !self.prepared.chooses_rows()
            && (accelerator.shares_all()
                || cost(&plan.steps[rest]) >= REST_NS
                || cost(&plan.steps[..covered]) >= SHARED_NS)
    }

    /// Memory for the pieces that there are at once: those that wait for a worker and for the tail, one in the hands of each worker, and two of each device. An error says
    /// that the query may not have so much; on one thread it needs two.
    fn memory_for_pieces(
        &self,
        begun: &[Begun],
        workers: usize,
    ) -> Result<PieceMemory<'a>, WalkError> {
        let most = begun.iter().map(|it| it.section.piece_bytes()).max();
        // Those that wait for the tail may be whole pieces.
        let pieces = 2 * waiting(workers) + workers + 2 * begun.len();
        PieceMemory::new(self.limits, most.unwrap_or(0) * pieces as u64)
    }

    /// Walks the plan. The seed is that of all sections, which do the same steps. The memory of pieces is the caller's.
    fn beside_devices(
        &self,
        accelerator: &Accelerator,
        mut begun: Vec<Begun>,
        workers: usize,
        seed: &Seed<'a>,
        consume: &mut Consumer<'_>,
    ) -> Result<(Vec<StepProfile>, DeviceReport), QueryError> {
        accelerator.count(true);
        let covered = begun[0].section.covered();
        let shares = &Shares::new(seed.len(), workers);
        let (send, pieces) = bounded(waiting(workers));
        let (sender, mut chunks) = parts::unordered(waiting(workers));
        let (mut steps, done, here) = std::thread::scope(|scope| {
            let agents: Vec<_> = begun
                .iter_mut()
                .map(|begun| {
                    let send = send.clone();
                    scope.spawn(move || self.attend(accelerator, begun, shares, &send))
                })
                .collect();
            drop(send);
            let spawned: Vec<_> = (0..workers)
                .map(|_| {
                    let computing = self.halt.token.computing();
                    let (pieces, sender) = (pieces.clone(), sender.clone());
                    scope.spawn(move || {
                        let _computing = computing;
                        self.work_beside(seed, covered, shares, &pieces, &sender)
                    })
                })
                .collect();
            drop((pieces, sender));
            let tail = {
                let _halting = Halting(self.halt);
                self.tail(&mut chunks, consume)
            };
            drop(chunks);
            let agents = agents.into_iter().map(std::thread::ScopedJoinHandle::join);
            let spawned = spawned.into_iter().map(std::thread::ScopedJoinHandle::join);
            // All are waited for before the first failure is told.
            let done: Vec<_> = agents.map(|it| it.map_err(|it| panicked(&it))).collect();
            let worked: Vec<_> = spawned.map(|it| it.map_err(|it| panicked(&it))).collect();
            let mut steps = vec![StepProfile::default(); self.prepared.plan().steps.len()];
            let done = done
                .into_iter()
                .map(|it| it.and_then(|it| it))
                .collect::<Result<Vec<Done>, _>>()?;
            let mut here = 0;
            for worked in worked {
                let (of_worker, elements) = worked.and_then(|it| it)?;
                add(&mut steps, 0, &of_worker);
                here += elements;
            }
            add(&mut steps, self.prepared.cut(), &tail?);
            Ok::<_, QueryError>((steps, done, here))
        })?;
        let mut took = Took::of(&begun, here);
        for done in &done {
            steps[covered - 1].add(&done.steps);
            took.rows += done.steps.rows;
            took.read += done.read;
            took.failed = took.failed.or(done.failed.as_ref());
        }
        let report = DeviceReport::ran(&begun[0].section, &took, self.profiling);
        Ok((steps, report))
    }

    /// One device: walks strips of the seed there until there are none left, and hands their rows to the workers.
    fn attend(
        &self,
        accelerator: &Accelerator,
        begun: &mut Begun,
        shares: &Shares,
        pieces: &Sender<Chunk>,
    ) -> Result<Done, QueryError> {
        let _end_on_panic = EndOnPanic(shares, self.halt);
        let mut done = Done::default();
        while let Some(range) = shares.front(begun.section.strip()) {
            let walked = match self.strip(begun, range.clone(), &mut done.steps) {
                Ok(walked) => walked,
                Err(_) if self.halt.halted.load(Ordering::Relaxed) => break,
                Err(error) => return Err(self.ended(shares, error)),
            };
            let failed = match walked {
                Ok((ran, to)) => {
                    shares.give_back(to..range.end);
                    match self.send_rows(begun, ran, pieces) {
                        Ok(true) => {
                            done.steps.rows += ran.walked;
                            done.read += ran.rows;
                            continue;
                        }
                        Ok(false) => break,
                        Err(SendError::Nothing(error)) => {
                            shares.give_back(range.start..to);
                            error
                        }
                        Err(SendError::Some(error)) => {
                            accelerator.note(begun, &error);
                            return Err(self.ended(shares, lost(&error)));
                        }
                    }
                }
                Err(error) => {
                    shares.give_back(range);
                    error
                }
            };
            accelerator.note(begun, &failed);
            done.failed = Some(failed);
            break;
        }
        Ok(done)
    }

    /// Ends the query for all threads because of an error.
    fn ended(&self, shares: &Shares, error: QueryError) -> QueryError {
        self.halt.halted.store(true, Ordering::Relaxed);
        shares.end();
        error
    }

    /// Reads a strip's rows and sends them; false where nobody takes them any more.
    fn send_rows(
        &self,
        begun: &Begun,
        ran: gpu::Ran,
        pieces: &Sender<Chunk>,
    ) -> Result<bool, SendError> {
        let width = self.prepared.plan().variables.len();
        let mut rows = begun.section.rows(ran);
        let mut is_first = true;
        loop {
            let piece = rows.piece(&mut self.patience()).map_err(|error| {
                if is_first {
                    SendError::Nothing(error)
                } else {
                    SendError::Some(error)
                }
            })?;
            let Some(piece) = piece else {
                return Ok(true);
            };
            let chunk = chunk_of(width, piece);
            // It computes nothing, so it gives no share up while it waits.
            if pieces.send(chunk).is_err() {
                return Ok(false);
            }
            is_first = false;
        }
    }

    /// One worker: walks on over pieces, and over parts of the seed while no piece waits.
    fn work_beside(
        &self,
        seed: &Seed<'a>,
        covered: usize,
        shares: &Shares,
        pieces: &Receiver<Chunk>,
        chunks: &Sender<Chunk>,
    ) -> Result<Worked, QueryError> {
        let _end_on_panic = EndOnPanic(shares, self.halt);
        let clock = clock();
        let GraphVersion {
            snapshot,
            dictionary,
            ..
        } = &self.graph.version;
        let (prepared, limits) = (self.prepared, self.limits);
        let mut rest = (covered < prepared.cut()).then(|| {
            let steps = covered..prepared.cut();
            let options = self.options(&clock);
            Walk::section(prepared, snapshot, dictionary, limits, options, steps)
        });
        let mut profile = vec![StepProfile::default(); prepared.part_steps()];
        let mut here = 0;
        loop {
            let went = if let Ok(piece) = pieces.try_recv() {
                self.over_piece(piece, rest.as_mut(), chunks)
            } else if let Some(range) = shares.back() {
                here += range.end - range.start;
                let chunks = chunks.clone();
                self.over_part(seed, Part { range, chunks }, &mut profile)
            } else if let Ok(piece) = self.halt.token.waiting_for_own(|| pieces.recv()) {
                self.over_piece(piece, rest.as_mut(), chunks)
            } else if shares.left().is_empty() {
                break;
            } else {
                // A device has given back what it failed at.
                Ok(true)
            };
            match went {
                Ok(true) => {}
                Ok(false) => break,
                Err(_) if self.halt.halted.load(Ordering::Relaxed) => break,
                Err(error) => return Err(self.ended(shares, error)),
            }
        }
        if let Some(rest) = rest {
            add(&mut profile, covered, rest.profile());
        }
        Ok((profile, here))
    }

    /// Walks on over rows of a device; false where nobody takes what comes of them any more.
    fn over_piece<V: store::GraphView, L: rdf::Lexicon>(
        &self,
        mut piece: Chunk,
        rest: Option<&mut Walk<'_, 'a, V, L>>,
        chunks: &Sender<Chunk>,
    ) -> Result<bool, QueryError> {
        let Some(rest) = rest else {
            return Ok(self.send(chunks, piece));
        };
        rest.push(&mut piece)?;
        loop {
            let mut chunk = Chunk::new();
            match self.come(rest.next(&mut chunk))? {
                Status::Rows if !self.send(chunks, chunk) => return Ok(false),
                Status::Rows | Status::Yield | Status::Pending(_) => {}
                Status::Starved => return Ok(true),
                Status::Done => return Ok(false),
            }
        }
    }
}

/// Why a strip's rows did not go on.
enum SendError {
    /// The device failed before any of them did.
    Nothing(GpuError),
    /// It failed after some had.
    Some(GpuError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_taken_once_from_both_ends() {
        let shares = Shares::new(100_000, 2);
        let mut taken = Vec::new();
        for turn in 0u64.. {
            let range = match turn % 3 {
                0 => shares.back(),
                _ => shares.front(turn * 7),
            };
            let Some(range) = range else { break };
            if turn % 5 == 1 && !range.is_empty() {
                // Half of it is given back.
                let middle = range.start.midpoint(range.end);
                shares.give_back(middle..range.end);
                taken.extend(range.start..middle);
                continue;
            }
            taken.extend(range);
        }
        taken.sort_unstable();
        assert!(taken.iter().copied().eq(0..100_000));
        assert!(shares.front(1).is_none() && shares.back().is_none());
    }
}
