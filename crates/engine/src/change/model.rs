//! Models of writers, readers and maintenance, checked by `shuttle`: many orders of their steps, each from a seed.
//!
//! | model | threads | they do | invariant |
//! |---|---|---|---|
//! | `commits_are_published_when_they_are_durable` | 6 | three writers commit two quads each; a reader looks; one waits for the last commit; maintenance merges | published versions ascend, are whole and durable; whoever waits is woken; everything is there in the end |
//! | `writers_before_their_turn_lose_nothing` | 3 | each reads how many quads there are and inserts the next, evaluated before its turn | the commits are those of some order one after another |
//! | `a_sync_that_fails_gives_up_whole_commits` | 4 | as the first; a sync fails | an acknowledged commit is there, another one is not; the next one goes on |
//! | `a_change_is_cancelled_or_committed` | 2 | one commits, one cancels | who was told that it was cancelled finds nothing changed |
//! | `a_checkpoint_beside_writers` | 4 | two writers; a checkpoint in memory; maintenance | nothing is lost, nothing twice |
//!
//! The writer, its turn, its watches and what wakes maintenance are those that run everywhere. The log is a double, whose
//! syncs take time, are shared as those of [`store::log::FileLog`] are, and fail where a test says so.
//!
//! Planted and found: nobody is woken; a log that calls durable what is only appended; an update that does not say what
//! it read. Run by `cargo xtask model`; `SOMERSAULT_LONG=1` tries fifty times as many orders.

use super::commit::Job;
use super::draft::Draft;
use super::maintenance::{CheckpointLimits, maintain};
use super::open;
use super::read_set::{ReadGraph, ReadSet};
use super::writer::beside::Beside;
use super::writer::kept::KeptVersions;
use super::writer::{StoreHandle, Writer};
use crate::budget::{Budget, Pool};
use crate::error::{Kind, QueryError};
use crate::moment::Graph;
use crate::stop::StopToken;
use crate::sync::model::{Fault, with_fault};
use crate::sync::{Condvar, Mutex, MutexGuard, RwLock};
use oxrdf::{Literal, NamedNode, Term, TermRef};
use rdf::dictionary::DictionaryBuilder;
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::{Config, Runner, thread};
use std::io;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use store::directory::lock_writer;
use store::disk::{Disk, SimDisk, SimFaults};
use store::log::{Log, LogError, LogFigures};
use store::testing::snapshot_of;
use store::view::GraphScope;

/// Orders that are tried (count), by each of two ways to choose them.
const ORDERS: usize = 1000;
const ORDERS_LONG: usize = 50 * ORDERS;
/// The first order; the others follow from it.
const SEED: u64 = 20_261_125;
/// Interruptions of a thread that could go on, of the second way to choose orders (count).
const INTERRUPTIONS: usize = 3;
/// A graph is made and changed on this stack.
const STACK_BYTES: usize = 1 << 20;
const STORE: &str = "/disk/store";
/// Longer than any test runs.
const LONG: Duration = Duration::from_hours(1);
const MEMORY_BYTES: u64 = 1 << 30;

/// What goes wrong in a model.
#[derive(Clone, Copy, Default)]
struct Wrong {
    fault: Option<Fault>,
    /// The log calls durable what is only appended.
    lies: bool,
    /// This sync fails.
    failing_sync: Option<u64>,
}

/// Runs a model in many orders.
fn check(name: &str, wrong: Wrong, model: fn(&Arc<Fixture>)) {
    let is_long = std::env::var_os("SOMERSAULT_LONG").is_some();
    let orders = if is_long { ORDERS_LONG } else { ORDERS };
    let disk = SimDisk::new(0, Path::new("/disk"), SimFaults::default());
    open::create(&disk, Path::new(STORE)).unwrap();
    let disk: Arc<dyn Disk> = Arc::new(disk);
    let run = |scheduler: Box<dyn Scheduler + Send>| {
        let mut config = Config::new();
        config.stack_size = STACK_BYTES;
        config.silence_warnings = true;
        config
            .ungraceful_shutdown_config
            .immediately_return_on_panic = true;
        let disk = Arc::clone(&disk);
        Runner::new(scheduler, config).run(move || model(&Arc::new(Fixture::new(&disk, wrong))))
    };
    with_fault(wrong.fault, || {
        let random = run(Box::new(RandomScheduler::new_from_seed(SEED, orders)));
        let few = PctScheduler::new_from_seed(SEED, INTERRUPTIONS, orders);
        let interrupted = run(Box::new(few));
        println!("model {name}: {} orders", random + interrupted);
    });
}

/// A model in which this goes wrong must fail.
fn finds(name: &str, wrong: Wrong, model: fn(&Arc<Fixture>)) {
    let checked = catch_unwind(AssertUnwindSafe(|| check(name, wrong, model)));
    with_fault(None, || {});
    assert!(checked.is_err(), "{name} finds nothing");
}

/// A database that changes, without its façade.
struct Fixture {
    writer: Writer,
    pool: Arc<Pool>,
    log: ModelLog,
}

impl Fixture {
    fn new(disk: &Arc<dyn Disk>, wrong: Wrong) -> Fixture {
        let log = ModelLog::new(wrong);
        let home = StoreHandle {
            disk: Arc::clone(disk),
            location: STORE.into(),
            lock: lock_writer(&**disk, Path::new(STORE)).unwrap(),
            log: Box::new(log.clone()),
        };
        Fixture::over(Some(home), log)
    }

    /// Without a log.
    fn in_memory() -> Fixture {
        Fixture::over(None, ModelLog::new(Wrong::default()))
    }

    fn over(home: Option<StoreHandle>, log: ModelLog) -> Fixture {
        let dictionary = DictionaryBuilder::new().finish().unwrap();
        let graph = Graph::new(snapshot_of(&[], None), dictionary, 0, 0).unwrap();
        let pool = Pool::new(MEMORY_BYTES);
        let published = Arc::new(RwLock::new(Arc::new(graph)));
        Fixture {
            writer: Writer::new(
                published,
                Arc::new(KeptVersions::new(Duration::ZERO, MEMORY_BYTES)),
                home,
                Beside::unread(Vec::new(), false),
                Arc::clone(&pool),
            ),
            pool,
            log,
        }
    }

    /// Commits what `number` says for the number of quads that it finds there; gives the commit's number.
    fn insert(
        &self,
        token: &StopToken,
        (slice, reads): (Duration, fn() -> ReadSet),
        number: impl Fn(u64) -> u64,
    ) -> Result<u64, QueryError> {
        let budget = Arc::new(Budget::new(&self.pool, MEMORY_BYTES));
        let job = Job {
            token,
            budget: &budget,
            slice,
            turn_quads: 1 << 10,
            is_awaited: true,
            reads: &reads,
            staged: None,
        };
        let committed = self.writer.commit(&job, &mut |draft| {
            let there = draft.graph()?.quads;
            insert_number(draft, number(there))
        })?;
        Ok(committed.snapshot)
    }

    /// Commits a number under the turn.
    fn insert_in_turn(&self, number: u64) -> Result<u64, QueryError> {
        let token = StopToken::starting_now(None);
        self.insert(&token, (LONG, ReadSet::default), |_| number)
    }

    /// What readers see is whole and durable. Each commit inserts one quad that no other does.
    fn look(&self) -> u64 {
        let graph = self.writer.published();
        let number = graph.snapshot.number();
        assert_eq!(graph.quads, number, "a version is whole commits");
        if self.writer.home.is_some() {
            let durable = self.log.lock().durable;
            assert!(number <= durable, "{number} is seen, {durable} is durable");
        }
        number
    }
}

fn insert_number(draft: &mut Draft, number: u64) -> Result<(), QueryError> {
    let terms: [Term; 3] = [
        NamedNode::new_unchecked("e:s").into(),
        NamedNode::new_unchecked("e:p").into(),
        Literal::from(number).into(),
    ];
    let terms: Vec<TermRef<'_>> = terms.iter().map(Term::as_ref).collect();
    let mut ids = Vec::new();
    draft.live().intern(&terms, &mut ids).unwrap();
    draft.name(
        vec![(ids[0], ids[1], ids[2], GraphScope::DEFAULT_GRAPH)],
        true,
    )
}

fn everything() -> ReadSet {
    let mut reads = ReadSet::default();
    reads.add_graph(ReadGraph::Default);
    reads
}

/// Looks a few times; what is seen ascends.
fn read(fixture: &Fixture) {
    let mut before = 0;
    for _ in 0..3 {
        let number = fixture.look();
        assert!(number >= before, "a reader never goes back");
        before = number;
        thread::yield_now();
    }
}

/// Threads that use one fixture.
struct Threads(Arc<Fixture>, Vec<thread::JoinHandle<()>>);

impl Threads {
    fn with(fixture: &Arc<Fixture>) -> Threads {
        Threads(Arc::clone(fixture), Vec::new())
    }

    fn start(&mut self, work: impl FnOnce(&Fixture) + Send + 'static) {
        let fixture = Arc::clone(&self.0);
        self.1.push(thread::spawn(move || work(&fixture)));
    }

    fn join(self) {
        for thread in self.1 {
            thread.join().unwrap();
        }
    }
}

fn maintenance(fixture: &Arc<Fixture>) -> thread::JoinHandle<()> {
    let fixture = Arc::clone(fixture);
    thread::spawn(move || maintain(&fixture.writer, CheckpointLimits::default()))
}

fn writers_and_readers(fixture: &Arc<Fixture>) {
    const WRITERS: u64 = 3;
    let maintenance = maintenance(fixture);
    let mut threads = Threads::with(fixture);
    for writer in 0..WRITERS {
        threads.start(move |fixture| {
            for number in [2 * writer, 2 * writer + 1] {
                let snapshot = fixture.insert_in_turn(number).unwrap();
                assert!(fixture.look() >= snapshot, "what is acknowledged is seen");
            }
        });
    }
    threads.start(read);
    threads.start(|fixture| {
        assert!(fixture.writer.wait_for(2 * WRITERS, LONG));
        assert_eq!(fixture.look(), 2 * WRITERS);
    });
    threads.join();
    fixture.writer.wakeup.close();
    maintenance.join().unwrap();
    assert_eq!(fixture.look(), 2 * WRITERS);
}

fn counting(fixture: &Arc<Fixture>, reads: fn() -> ReadSet) {
    const WRITERS: u64 = 3;
    let mut threads = Threads::with(fixture);
    for _ in 0..WRITERS {
        threads.start(move |fixture| {
            let token = StopToken::starting_now(None);
            let inserted = fixture.insert(&token, (Duration::ZERO, reads), |there| there + 1);
            inserted.unwrap();
        });
    }
    threads.join();
    assert_eq!(fixture.look(), WRITERS, "an update is lost");
}

fn honest_counting(fixture: &Arc<Fixture>) {
    counting(fixture, everything);
}

fn blind_counting(fixture: &Arc<Fixture>) {
    counting(fixture, ReadSet::default);
}

fn failing_sync(fixture: &Arc<Fixture>) {
    let acknowledged = Arc::new(Mutex::new(0));
    let mut threads = Threads::with(fixture);
    for writer in 0..3 {
        let acknowledged = Arc::clone(&acknowledged);
        threads.start(move |fixture| {
            for number in [2 * writer, 2 * writer + 1] {
                match fixture.insert_in_turn(number) {
                    Ok(snapshot) => {
                        assert!(fixture.look() >= snapshot, "what is acknowledged is seen");
                        *acknowledged.lock().unwrap() += 1;
                    }
                    Err(error) => assert_eq!(error.kind, Kind::DiskFull, "{error}"),
                }
            }
        });
    }
    threads.start(read);
    threads.join();
    let acknowledged = *acknowledged.lock().unwrap();
    assert_eq!(fixture.look(), acknowledged, "given up and not there");
    assert_eq!(fixture.insert_in_turn(1000).unwrap(), acknowledged + 1);
}

fn cancelling(fixture: &Arc<Fixture>) {
    let token = StopToken::starting_now(None);
    let cancelling = {
        let token = token.clone();
        thread::spawn(move || token.cancel())
    };
    let inserted = fixture.insert(&token, (LONG, ReadSet::default), |_| 7);
    let is_cancelled = cancelling.join().unwrap();
    match inserted {
        Ok(number) => assert!(!is_cancelled && fixture.look() == number),
        Err(error) => {
            assert_eq!(error.kind, Kind::Cancelled);
            assert!(is_cancelled && fixture.look() == 0);
        }
    }
}

fn checkpointing(_: &Arc<Fixture>) {
    let fixture = Arc::new(Fixture::in_memory());
    let maintenance = maintenance(&fixture);
    let mut threads = Threads::with(&fixture);
    for writer in 0..2 {
        threads.start(move |fixture| {
            for number in [2 * writer, 2 * writer + 1] {
                fixture.insert_in_turn(number).unwrap();
            }
        });
    }
    threads.start(|fixture| fixture.writer.checkpoint().unwrap());
    threads.join();
    fixture.writer.wakeup.close();
    maintenance.join().unwrap();
    assert_eq!(fixture.look(), 4);
}

#[test]
fn commits_are_published_when_they_are_durable() {
    check("commits", Wrong::default(), writers_and_readers);
}

#[test]
fn writers_before_their_turn_lose_nothing() {
    check("before their turn", Wrong::default(), honest_counting);
}

#[test]
fn a_sync_that_fails_gives_up_whole_commits() {
    for sync in 1..=3 {
        let wrong = Wrong {
            failing_sync: Some(sync),
            ..Wrong::default()
        };
        check("a sync that fails", wrong, failing_sync);
    }
}

#[test]
fn a_change_is_cancelled_or_committed() {
    check("a cancel", Wrong::default(), cancelling);
}

#[test]
fn a_checkpoint_beside_writers() {
    check("a checkpoint", Wrong::default(), checkpointing);
}

#[test]
fn a_wake_up_that_is_lost_is_found() {
    let wrong = Wrong {
        fault: Some(Fault::NobodyWoken),
        ..Wrong::default()
    };
    finds("nobody is woken", wrong, writers_and_readers);
}

#[test]
fn a_log_that_lies_is_found() {
    let wrong = Wrong {
        lies: true,
        ..Wrong::default()
    };
    finds("a log that lies", wrong, writers_and_readers);
}

#[test]
fn an_update_that_hides_what_it_reads_is_found() {
    finds("blind updates", Wrong::default(), blind_counting);
}

/// A log without files. Whoever comes first syncs for all that is appended by then.
#[derive(Clone)]
struct ModelLog {
    state: Arc<Mutex<LogState>>,
    turned: Arc<Condvar>,
    wrong: Wrong,
}

#[derive(Default)]
struct LogState {
    appended: u64,
    durable: u64,
    syncs: u64,
    is_syncing: bool,
    /// Records were given up, and nobody has resumed since.
    is_given_up: bool,
    times_given_up: u64,
}

impl ModelLog {
    fn new(wrong: Wrong) -> ModelLog {
        ModelLog {
            state: Arc::default(),
            turned: Arc::default(),
            wrong,
        }
    }

    fn lock(&self) -> MutexGuard<'_, LogState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Syncs for everybody; the file is busy meanwhile and the lock is free.
    fn lead(&self, mut state: MutexGuard<'_, LogState>) -> Result<(), LogError> {
        state.is_syncing = true;
        state.syncs += 1;
        let (target, number) = (state.appended, state.syncs);
        drop(state);
        thread::yield_now();
        let mut state = self.lock();
        state.is_syncing = false;
        let has_failed = self.wrong.failing_sync == Some(number);
        if has_failed {
            state.appended = state.durable;
            state.is_given_up = true;
            state.times_given_up += 1;
        } else {
            state.durable = target;
        }
        drop(state);
        self.turned.notify_all();
        if has_failed { Err(full()) } else { Ok(()) }
    }
}

fn full() -> LogError {
    LogError::Io {
        file: STORE.into(),
        source: Arc::new(io::ErrorKind::StorageFull.into()),
    }
}

impl Log for ModelLog {
    fn next(&self) -> u64 {
        self.lock().appended + 1
    }

    fn append(&self, _: &[&[u8]]) -> Result<u64, LogError> {
        let mut state = self.lock();
        if state.is_given_up {
            return Err(full());
        }
        state.appended += 1;
        Ok(state.appended)
    }

    fn sync(&self, position: u64) -> Result<(), LogError> {
        if self.wrong.lies {
            return Ok(());
        }
        let mut state = self.lock();
        if position > state.appended {
            return Err(full());
        }
        let times = state.times_given_up;
        while state.durable < position {
            if state.is_given_up || state.times_given_up != times {
                return Err(full());
            }
            if state.is_syncing {
                let waited = self.turned.wait_timeout(state, LONG);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            } else {
                self.lead(state)?;
                state = self.lock();
            }
        }
        Ok(())
    }

    fn durable(&self) -> u64 {
        let state = self.lock();
        if self.wrong.lies {
            state.appended
        } else {
            state.durable
        }
    }

    fn resume(&self) -> Result<u64, LogError> {
        let mut state = self.lock();
        state.is_given_up = false;
        Ok(state.appended + 1)
    }

    fn given_up(&self) -> Option<LogError> {
        self.lock().is_given_up.then(full)
    }

    fn refusal(&self) -> Option<Arc<str>> {
        None
    }

    fn look(&self) -> Result<(), LogError> {
        Ok(())
    }

    fn read(
        &self,
        _: u64,
        _: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
    ) -> Result<(), LogError> {
        Ok(())
    }

    fn rest(&self) -> Result<(), LogError> {
        Ok(())
    }

    fn close(&self) -> Result<(), LogError> {
        Ok(())
    }

    fn trim(&self, _: u64) -> Result<(), LogError> {
        Ok(())
    }

    fn figures(&self) -> LogFigures {
        LogFigures::default()
    }
}
