//! A planned query's walk: on the calling thread, or cut at its seed for several.
//!
//! ```text
//!  light, or one thread:   walk ----------------------------------> consumer
//!  heavy:   worker walks over parts of the seed -- chunks --> tail -> consumer
//! ```
//!
//! A heavy plan that starts from no set, or from a small one, has its first steps walked by one thread at a time, and their rows handed out (`handed`).
//!
//! Workers take the next [part](parts) of the seed when they are done with one, so a part that fans out
//! delays nobody else's. The channels between them and the calling thread are short: a slow client slows the
//! walk down, and memory stays at a few chunks a worker. Whatever ends the query early (a limit that is
//! satisfied, an error, a client that has gone) raises `halted`, which every worker sees at its next
//! look; the scope joins them all before this returns, so nothing of a query outlives it.
//!
//! | who | touches | when |
//! |---|---|---|
//! | workers | the next part (a lock), their own walk | always |
//! | calling thread | the tail, the consumer | always |
//! | any of them | `halted`, set once | at the end |
//!
//! With devices there are three ways more: a query's first steps on one, on one thread (`on_device`) or beside several (`beside_devices`), or later ones (`late`).
//!
//! A panic in any of them ends the query with an internal error, never the process.

mod beside_devices;
pub mod device_runs;
mod handed;
mod late;
mod on_device;
mod parts;

use crate::accelerator::{Accelerator, DeviceReport, Stays};
use crate::budget::Budget;
use crate::error::QueryError;
use crate::federation::Federation;
use crate::moment::Graph;
use crate::panics::panicked;
use crate::prepared::{Answered, Query};
use crate::request::walking::{explained, stop_reason};
use crate::stop::StopToken;
use crossbeam_channel::{Sender, TryRecvError, TrySendError};
use explore::{
    Chunk, Environment, Limits, Options, Prepared, Seed, Service, Status, StepProfile, Stop, Walk,
    WalkError, prepare, wait, wait_for,
};
use handed::handing;
pub(crate) use on_device::chunk_of;
use on_device::is_seed_of;
use parts::{Chunks, EndOnPanic, PART_LEN_MIN, Part, Parts};
use query::plan::{Step, Weight};
use std::hash::{BuildHasher, RandomState};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use store::delta::GraphVersion;

/// What a run did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Finished {
    /// Rows of the answer.
    pub rows: u64,
    /// Time of the walk, decoding and writing included.
    pub exec: Duration,
    /// The most memory held at once, in bytes.
    pub peak_bytes: u64,
}

/// The answer as a number: what a benchmark keeps of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Folded {
    /// Rows of the answer.
    pub rows: u64,
    /// A sum over rows that does not depend on their order.
    pub checksum: u64,
}

impl Query {
    /// Walks the plan and shows every chunk of the result to `consume`.
    pub(crate) fn walk(&mut self, consume: &mut Consumer<'_>) -> Result<(), QueryError> {
        self.walk_then(consume, &mut |_, _| Ok(()))
    }

    /// As [`Query::walk`], with something to be done at the end, while the plan is still prepared.
    pub(crate) fn walk_then(
        &mut self,
        consume: &mut Consumer<'_>,
        end: &mut AtEnd<'_>,
    ) -> Result<(), QueryError> {
        let since = self.profiling.then(Instant::now);
        let walked = catch_unwind(AssertUnwindSafe(|| {
            self.walk_unguarded(&self.graph, consume, end)
        }));
        // Zeros may have been read in place of a file's bytes, whatever has come of them.
        self.graph.sound()?;
        let answered = walked.map_err(|panic| panicked(&panic))??;
        self.answered = Some(answered);
        self.timings.answer = since.map_or(Duration::ZERO, |since| since.elapsed());
        Ok(())
    }

    fn walk_unguarded(
        &self,
        graph: &Graph,
        consume: &mut Consumer<'_>,
        end: &mut AtEnd<'_>,
    ) -> Result<Answered, QueryError> {
        if self.plan.weight == Weight::Heavy {
            self.context.token.expect_heavy(self.context.threads);
        }
        if let Some(parts) = &graph.parts {
            return self.walk_parts(parts, consume, end);
        }
        let halt = Halt {
            token: &self.context.token,
            halted: AtomicBool::new(false),
            slice_end: self.slice_end,
        };
        let limits = Limits {
            memory: &*self.context.budget,
            stop: &halt,
        };
        let client = self.context.shared.options.service.clone();
        let federation = client.as_deref().map(|client| Federation {
            client,
            token: &self.context.token,
        });
        let service = federation
            .as_ref()
            .map(|federation| federation as &dyn Service);
        let environment = Environment::new(&crate::clock::now, self.chance(), service);
        let snapshot = &graph.snapshot;
        let prepared = wait_for(snapshot, &limits, || {
            prepare(&self.plan, &self.constants, snapshot, limits, &environment)
        });
        // By reference: it is large, and `map_err` would move it.
        let prepared = match prepared {
            Ok(ref prepared) => prepared,
            Err(error) => return Err(explained(&self.context.token, error.into())),
        };
        let run = Execution {
            graph,
            prepared,
            limits,
            budget: &self.context.budget,
            halt: &halt,
            profiling: self.profiling,
        };
        let accelerator = self.context.shared.options.accelerator.as_ref();
        let answered = run.walk(accelerator, self.workers(), consume);
        // The walk's threads have ended, and what comes after them has not.
        halt.halted.store(false, Ordering::Relaxed);
        let answered = answered.and_then(|answered| end(prepared, limits).map(|()| answered));
        answered.map_err(|error| explained(&self.context.token, error))
    }

    /// Threads that may walk it.
    fn workers(&self) -> usize {
        let accelerator = self.context.shared.options.accelerator.as_deref();
        match self.plan.weight {
            Weight::Heavy => self.context.threads,
            Weight::Light if accelerator.is_some_and(Accelerator::shares_all) => {
                self.context.threads
            }
            Weight::Light => 1,
        }
    }

    /// What would become of it and devices: which steps would be theirs, and why not more. Its plan is prepared for that where a device can tell.
    pub(crate) fn foreseen(&self, accelerator: &Accelerator) -> DeviceReport {
        let unknown = || DeviceReport {
            steps: 0..0,
            words: accelerator.outlook(&self.plan),
        };
        if !accelerator.can_tell(&self.plan) {
            return unknown();
        }
        let (snapshot, limits) = (&self.graph.snapshot, self.context.limits());
        let environment = Environment::new(&crate::clock::now, self.chance(), None);
        let prepared = wait_for(snapshot, &limits, || {
            prepare(&self.plan, &self.constants, snapshot, limits, &environment)
        });
        // What hinders it the walk will say.
        let Ok(prepared) = prepared else {
            return unknown();
        };
        let seed = wait_for(snapshot, &limits, || prepared.seed(snapshot));
        let workers = self.workers();
        let way = Way::of(&prepared, seed.ok().flatten(), workers);
        let here_ns = way.expected_ns(&prepared, workers);
        accelerator.foresight(snapshot, &prepared, (workers, here_ns))
    }

    /// A number that nobody can foresee: the seed of what the query draws.
    pub(crate) fn chance(&self) -> u64 {
        RandomState::new().hash_one(self.id().0)
    }
}

/// Sees the prepared plan when the walk is over.
pub(crate) type AtEnd<'c> = dyn FnMut(&Prepared<'_>, Limits<'_>) -> Result<(), QueryError> + 'c;

/// Takes chunks of the result, on the calling thread.
pub(crate) type Consumer<'c> =
    dyn FnMut(&Prepared<'_>, &Chunk) -> Result<ControlFlow<()>, QueryError> + 'c;

/// Stops a query's threads: its token, or its own end.
struct Halt<'q> {
    token: &'q StopToken,
    halted: AtomicBool,
    slice_end: Option<Instant>,
}

impl Halt<'_> {
    /// Whether the query is to stop, without giving its turn on the processors to anybody.
    fn is_stopped(&self) -> bool {
        self.halted.load(Ordering::Relaxed)
            || self.slice_end.is_some_and(|end| Instant::now() >= end)
            || self.token.reason().is_some()
    }
}

impl Stop for Halt<'_> {
    fn reason(&self) -> Option<explore::StopReason> {
        if self.halted.load(Ordering::Relaxed) {
            return Some(explore::StopReason::Cancelled);
        }
        if self.slice_end.is_some_and(|end| Instant::now() >= end) {
            return Some(explore::StopReason::Cancelled);
        }
        self.token.look().map(stop_reason)
    }

    fn is_stopped(&self) -> bool {
        Halt::is_stopped(self)
    }

    fn waiting(&self, wait: &mut dyn FnMut()) {
        self.token.waiting(wait);
    }
}

/// How processors walk a query.
enum Way<'a> {
    /// Its seed is cut for several threads.
    Shared(Box<Seed<'a>>),
    /// Rows are handed to them before this step; all of it is expected to take so many nanoseconds.
    Handed(usize, f64),
    /// By one thread.
    Alone,
}

impl<'a> Way<'a> {
    /// How so many threads walk a plan with this seed.
    fn of(prepared: &Prepared<'a>, seed: Option<Seed<'a>>, workers: usize) -> Way<'a> {
        match seed.filter(|seed| workers > 1 && seed.len() > PART_LEN_MIN) {
            Some(seed) => Way::Shared(Box::new(seed)),
            None => handing(prepared, workers).map_or(Way::Alone, |(at, ns)| Way::Handed(at, ns)),
        }
    }

    /// What all steps are expected to take with so many threads, in nanoseconds.
    fn expected_ns(&self, prepared: &Prepared<'_>, workers: usize) -> f64 {
        let steps = &prepared.plan().steps;
        let sum = |steps: &[Step]| -> f64 { steps.iter().map(|step| step.estimate.cost_ns).sum() };
        let cut = prepared.cut().min(steps.len());
        match self {
            Way::Shared(_) => sum(&steps[..cut]) / workers.max(1) as f64 + sum(&steps[cut..]),
            Way::Handed(_, ns) => *ns,
            Way::Alone => sum(steps),
        }
    }
}

struct Execution<'r, 'a> {
    graph: &'a Graph,
    prepared: &'r Prepared<'a>,
    limits: Limits<'a>,
    /// The memory of `limits`.
    budget: &'r Arc<Budget>,
    halt: &'r Halt<'a>,
    profiling: bool,
}

impl<'a> Execution<'_, 'a> {
    /// On the device, where the query is to begin there; else on several threads, where its seed is long enough. A light
    /// query without a device is asked none of that.
    fn walk(
        &self,
        accelerator: Option<&Arc<Accelerator>>,
        workers: usize,
        consume: &mut Consumer<'_>,
    ) -> Result<Answered, QueryError> {
        if accelerator.is_none() && workers <= 1 {
            return Ok(Answered {
                profile: self.alone(consume)?,
                ..Answered::default()
            });
        }
        self.walk_widely(accelerator, workers, consume)
    }

    #[inline(never)]
    fn walk_widely(
        &self,
        accelerator: Option<&Arc<Accelerator>>,
        workers: usize,
        consume: &mut Consumer<'_>,
    ) -> Result<Answered, QueryError> {
        let snapshot = &self.graph.snapshot;
        let begun =
            accelerator.map(|device| (device, device.begin(snapshot, self.prepared, workers)));
        let is_shared = workers > 1;
        let seed = if is_shared || matches!(begun, Some((_, Ok(_)))) {
            wait_for(snapshot, &self.limits, || self.prepared.seed(snapshot))?
        } else {
            None
        };
        let (seed, begun) = match (seed, begun) {
            (Some(seed), Some((device, Ok(begun))))
                if is_seed_of(&seed, &begun.section, self.limits) =>
            {
                let (seed, _held) = self.arranged(seed, &begun)?;
                let (profile, report) = self.on_devices(device, begun, workers, &seed, consume)?;
                return Ok(Answered {
                    profile,
                    device: Some(report),
                    ..Answered::default()
                });
            }
            others => others,
        };
        let way = Way::of(self.prepared, seed, workers);
        let mut report = None;
        if let Some((device, begun)) = begun {
            let mut stays = begun.err().unwrap_or(Stays::Seed);
            let here_ns = way.expected_ns(self.prepared, workers);
            if let Some(answered) = self.late(device, &mut stays, here_ns, consume)? {
                return Ok(answered);
            }
            report = Some(DeviceReport::stayed(&stays, self.profiling));
        }
        let profile = match way {
            Way::Shared(seed) => self.shared(workers, &seed, consume),
            Way::Handed(from, _) => match self.workers_with_memory(workers, from) {
                1 => self.alone(consume),
                workers => self.handed(workers, from, consume),
            },
            Way::Alone => self.alone(consume),
        };
        Ok(Answered {
            profile: profile?,
            device: report,
            ..Answered::default()
        })
    }

    fn alone(&self, consume: &mut Consumer<'_>) -> Result<Vec<StepProfile>, QueryError> {
        let clock = clock();
        let GraphVersion {
            snapshot,
            dictionary,
            ..
        } = &self.graph.version;
        let options = self.options(&clock);
        let mut walk = Walk::new(self.prepared, snapshot, dictionary, self.limits, options);
        let mut chunk = Chunk::new();
        loop {
            match self.come(walk.next(&mut chunk))? {
                Status::Rows => {
                    if consume(self.prepared, &chunk)?.is_break() {
                        break;
                    }
                }
                Status::Done => break,
                Status::Yield | Status::Pending(_) => {}
                Status::Starved => unreachable!("a whole walk feeds itself"),
            }
        }
        Ok(walk.into_profile())
    }

    fn shared(
        &self,
        workers: usize,
        seed: &Seed<'a>,
        consume: &mut Consumer<'_>,
    ) -> Result<Vec<StepProfile>, QueryError> {
        let is_ordered = self.prepared.chooses_rows();
        let (parts, mut chunks) = parts::parts(seed.len(), workers, is_ordered);
        std::thread::scope(|scope| {
            let spawned: Vec<_> = (0..workers)
                .map(|_| {
                    // Here, or a tail that waits for threads which have not begun would give its share up.
                    let computing = self.halt.token.computing();
                    let parts = &parts;
                    scope.spawn(move || {
                        let _computing = computing;
                        self.work(seed, parts)
                    })
                })
                .collect();
            let tail = {
                // Raised also when the tail panics, or workers would walk on to their deadline.
                let _halting = Halting(self.halt);
                self.tail(&mut chunks, consume)
            };
            drop(chunks);
            let mut profile = vec![StepProfile::default(); self.prepared.plan().steps.len()];
            let mut failed = None;
            for worker in spawned {
                match worker.join().map_err(|panic| panicked(&panic)) {
                    Ok(Ok(steps)) => add(&mut profile, 0, &steps),
                    Ok(Err(error)) | Err(error) => {
                        failed = failed.or(Some(error));
                    }
                }
            }
            // A worker that failed has stopped the tail, too; one that was stopped has not failed.
            if let Some(error) = failed {
                return Err(error);
            }
            let steps = tail?;
            add(&mut profile, self.prepared.cut(), &steps);
            Ok(profile)
        })
    }

    /// One worker: walks parts of the seed until there are none left or the query has ended.
    fn work(&self, seed: &Seed<'a>, parts: &Parts) -> Result<Vec<StepProfile>, QueryError> {
        let mut profile = vec![StepProfile::default(); self.prepared.part_steps()];
        let _end_on_panic = EndOnPanic(parts);
        while let Some(part) = parts.next() {
            match self.over_part(seed, part, &mut profile) {
                Ok(true) => {}
                Ok(false) => return Ok(profile),
                Err(_) if self.halt.halted.load(Ordering::Relaxed) => return Ok(profile),
                Err(error) => {
                    // What this walk gives back is for nobody else to take: the query has ended.
                    self.halt.halted.store(true, Ordering::Relaxed);
                    parts.end();
                    return Err(error);
                }
            }
        }
        Ok(profile)
    }

    /// Walks a part of the seed; false where nobody takes its chunks any more.
    fn over_part(
        &self,
        seed: &Seed<'a>,
        Part { range, chunks }: Part,
        profile: &mut [StepProfile],
    ) -> Result<bool, QueryError> {
        let clock = clock();
        let GraphVersion {
            snapshot,
            dictionary,
            ..
        } = &self.graph.version;
        let options = self.options(&clock);
        let mut walk = Walk::over(
            self.prepared,
            snapshot,
            dictionary,
            self.limits,
            options,
            seed,
            range,
        );
        loop {
            let mut chunk = Chunk::new();
            match self.come(walk.next(&mut chunk))? {
                Status::Rows if !self.send(&chunks, chunk) => return Ok(false),
                Status::Rows | Status::Yield | Status::Pending(_) => {}
                Status::Done => break,
                Status::Starved => unreachable!("a part feeds itself"),
            }
        }
        add(profile, 0, walk.profile());
        Ok(true)
    }

    /// Sends a chunk to the tail; false where nobody takes it any more. While the tail is behind, mostly
    /// because the client is, the thread computes nothing.
    fn send(&self, sender: &Sender<Chunk>, chunk: Chunk) -> bool {
        match sender.try_send(chunk) {
            Ok(()) => true,
            Err(TrySendError::Full(chunk)) => {
                let token = self.halt.token;
                token.waiting_for_own(|| sender.send(chunk)).is_ok()
            }
            Err(TrySendError::Disconnected(_)) => false,
        }
    }

    /// The next chunk of the workers; none when they have all ended.
    fn receive(&self, chunks: &mut Chunks) -> Option<Chunk> {
        match chunks.try_next() {
            Ok(chunk) => Some(chunk),
            Err(TryRecvError::Empty) => self.halt.token.waiting_for_own(|| chunks.next()),
            Err(TryRecvError::Disconnected) => None,
        }
    }

    /// The steps that look at rows together, over what the workers send.
    fn tail(
        &self,
        chunks: &mut Chunks,
        consume: &mut Consumer<'_>,
    ) -> Result<Vec<StepProfile>, QueryError> {
        let clock = clock();
        let GraphVersion {
            snapshot,
            dictionary,
            ..
        } = &self.graph.version;
        let options = self.options(&clock);
        let mut tail = Walk::tail(self.prepared, snapshot, dictionary, self.limits, options);
        let mut result = Chunk::new();
        loop {
            match self.come(tail.next(&mut result))? {
                Status::Rows => {
                    if consume(self.prepared, &result)?.is_break() {
                        break;
                    }
                }
                Status::Starved => match self.receive(chunks) {
                    Some(mut chunk) => tail.push(&mut chunk)?,
                    None => tail.end_input(),
                },
                Status::Done => break,
                Status::Yield | Status::Pending(_) => {}
            }
        }
        Ok(tail.into_profile())
    }

    /// What a walk said, once it can go on.
    fn come(&self, said: Result<Status, WalkError>) -> Result<Status, WalkError> {
        if let Ok(Status::Pending(ticket)) = said {
            wait(&self.graph.snapshot, ticket, &self.limits)?;
        }
        said
    }

    fn options<'c>(&self, clock: &'c (dyn Fn() -> u64 + Sync)) -> Options<'c> {
        Options {
            clock: self.profiling.then_some(clock),
            ..Options::default()
        }
    }
}

/// Raises `halted` when it is dropped.
struct Halting<'h, 'q>(&'h Halt<'q>);

impl Drop for Halting<'_, '_> {
    fn drop(&mut self) {
        self.0.halted.store(true, Ordering::Relaxed);
    }
}

fn add(profile: &mut [StepProfile], from: usize, steps: &[StepProfile]) {
    assert!(
        from + steps.len() <= profile.len(),
        "every step is one of the plan"
    );
    for (sum, step) in profile[from..].iter_mut().zip(steps) {
        sum.add(step);
    }
}

fn clock() -> impl Fn() -> u64 {
    let origin = Instant::now();
    move || origin.elapsed().as_nanos() as u64
}
