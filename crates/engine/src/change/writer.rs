//! Staging, group commit, publishing.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `turn`: `Staged` | whoever has the turn: a request that is staged, maintenance for the exchange of a pointer | the same |
//! | `beside` | whoever opens streams, once | checkpoints |
//! | `home.log` | appended to in the turn; synced by whoever waits for durability, without it | any thread, for figures |
//! | `watches` | begun and noted in by whoever has the turn; ended by the request whose watch it is | whoever has the turn |
//! | `last` | whoever has the turn | any thread |
//! | `news` | whoever has the turn, and whoever publishes, when its locks are given back | who evaluates after commits |
//! | `pending` | added to in the turn; taken from by whoever publishes; both under its lock | the same |
//! | `kept` | whoever has the lock of `pending`, and maintenance; under a lock of its own | readers of older versions |
//! | `published` | whoever has the lock of `pending` | readers, for the time of cloning a pointer |
//! | `advanced` | told under the lock of `pending` | whoever waits for a commit, with that lock |
//! | a commit's [`Fate`] | whoever has the next turn, once, before the log goes on | whoever waits for that commit's durability |
//! | `lost` | maintenance, once | any thread |
//! | `failing` | whoever waited for durability | any thread, for the health |
//! | `tally` | requests | any thread, for figures |
//!
//! Invariant: commits are staged in the order of their numbers, which are their positions in the
//! log, and published in that order, none before it is durable. So nothing is published that a crash could
//! take back.
//!
//! **A write that fails** (a full disk) gives up every commit that is not durable: they are answered with
//! the same error. Whoever has the turn next goes back to the last durable version and lets the log go on
//! ([`Writer::go_on`]); numbers are then given again. A commit that still waits knows by its [`Fate`] that
//! it was given up, however late it looks: the fate is sealed before the log goes on.
//!
//! **A sync that fails, and a store that was removed** end all changes until the store is opened again.
//! [`Writer::look`] notices the second without a change, too.
//!
//! **Where somebody else commits** ([`follow`](super::follow)) the writer has no home and no requests: the
//! follower takes the turn and publishes what is durable already. All the rest (merging, statistics, who waits
//! for a commit, which commit changed a graph last) is as it is for commits of one's own.

pub(crate) mod beside;
pub(crate) mod kept;
pub(crate) mod news;

use self::beside::Beside;
use super::committed::{Committed, Tally};
use super::draft::{Drafted, RecordPart};
use super::last::LastChanges;
use super::wakeup::Wakeup;
use super::write_lock::{WriteGuard, WriteLock};
use super::write_set::Watches;
use crate::budget::Pool;
use crate::error::{Kind, QueryError};
use crate::health::ChangeHealth;
use crate::moment::Graph;
use crate::moment::planning::planned_in_time;
use crate::moment::vector::SnapshotVector;
use crate::stop::StopToken;
use crate::sync::{Condvar, Mutex, MutexGuard, RwLock};
use kept::KeptVersions;
use news::News;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use store::delta::merge::{INLINE_QUADS, plan_merge};
use store::delta::{ChangedGraphs, DeltaError, Layer, merge};
use store::directory::WriterLock;
use store::disk::Disk;
use store::log::{Log, LogError, LogFigures};
use store::record::RecordHead;

/// Where the store lies.
pub(crate) struct StoreHandle {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) location: PathBuf,
    pub(crate) lock: WriterLock,
    pub(crate) log: Box<dyn Log>,
}

/// What becomes of the commits that are staged until the next are given up: the last one that was
/// durable then, and why the others are not.
pub(crate) type Fate = OnceLock<(u64, LogError)>;

/// What whoever has the turn works on.
pub(crate) struct Staged {
    /// The newest version, perhaps not durable yet.
    pub(crate) graph: Arc<Graph>,
    /// Layers up to this commit are being written elsewhere and must not be merged with later ones.
    pub(crate) frozen: u64,
    /// Of commits that are staged now.
    pub(crate) fate: Arc<Fate>,
}

/// Sees a version that was staged, under the turn.
pub(crate) type Observer<'o> = dyn Fn(&Staged) + 'o;

/// The writing side of a database.
pub(crate) struct Writer {
    pub(crate) turn: WriteLock<Staged>,
    /// Requests that are evaluated before their turn.
    pub(super) watches: Watches,
    pub(crate) tally: Tally,
    /// Which commits changed the graphs last.
    pub(crate) last: LastChanges,
    /// Told of every version that readers see, and of what each commit touches.
    pub(crate) news: Arc<News>,
    /// Staged and not published, oldest first.
    pending: Mutex<VecDeque<Arc<Graph>>>,
    /// Told what changes hold in memory.
    pool: Arc<Pool>,
    published: Arc<RwLock<Arc<Graph>>>,
    /// What was published before.
    pub(crate) kept: Arc<KeptVersions>,
    /// Something was published.
    advanced: Condvar,
    /// `None` for a graph in memory, which is as durable as it will be.
    pub(crate) home: Option<StoreHandle>,
    pub(crate) wakeup: Wakeup,
    /// What the log and generations keep beside the graph.
    pub(crate) beside: Beside,
    /// The store is not where it was opened: said once, final.
    lost: OnceLock<String>,
    /// Why the last commit could not be kept, if it could not.
    failing: Mutex<Option<String>>,
}

impl Writer {
    /// A writer over what is published.
    pub(crate) fn new(
        published: Arc<RwLock<Arc<Graph>>>,
        kept: Arc<KeptVersions>,
        home: Option<StoreHandle>,
        beside: Beside,
        pool: Arc<Pool>,
    ) -> Writer {
        let graph = Arc::clone(&published.read().unwrap_or_else(PoisonError::into_inner));
        Writer {
            last: LastChanges::since(graph.snapshot.number()),
            news: Arc::default(),
            turn: WriteLock::new(Staged {
                graph,
                frozen: 0,
                fate: Arc::default(),
            }),
            pool,
            watches: Watches::default(),
            tally: Tally::default(),
            pending: Mutex::default(),
            published,
            kept,
            advanced: Condvar::new(),
            home,
            beside,
            wakeup: Wakeup::default(),
            lost: OnceLock::new(),
            failing: Mutex::default(),
        }
    }

    /// Waits for the turn, and makes good what a failed write has left behind.
    pub(super) fn take_turn(
        &self,
        token: &StopToken,
    ) -> Result<WriteGuard<'_, Staged>, QueryError> {
        let mut staged = self.turn.take(token)?;
        self.go_on(&mut staged)?;
        Ok(staged)
    }

    /// Commits what was drafted over the staged version, and gives the turn on. Returns when the commit is
    /// durable and published; where it is not awaited, as soon as it is in the log, and a later commit that is awaited
    /// publishes it. What changes nothing is no commit.
    pub(super) fn stage(
        &self,
        mut staged: WriteGuard<'_, Staged>,
        drafted: Drafted,
        (is_awaited, observer): (bool, Option<&Observer<'_>>),
    ) -> Result<Committed, QueryError> {
        let mut committed = Committed {
            inserted: drafted.inserted,
            deleted: drafted.deleted,
            ..Committed::default()
        };
        let Some(graph) = drafted.graph else {
            // What the request has seen may not be durable yet, and its answer says that it is.
            committed.snapshot = staged.graph.snapshot.number();
            if let Some(observe) = observer {
                observe(&staged);
            }
            let fate = Arc::clone(&staged.fate);
            drop(staged);
            committed.synced = self.settle(committed.snapshot, &fate)?;
            return Ok(committed);
        };
        let number = graph.snapshot.number();
        let layers = graph.snapshot.layers().to_vec();
        let graph = tidied(graph, staged.frozen)?;
        assert_eq!(
            graph.snapshot.number(),
            staged.graph.snapshot.number() + 1,
            "a commit follows the version that it was drafted over"
        );
        // What the request has read may have been zeros in place of a file's bytes.
        graph.sound()?;
        if let Some(home) = &self.home {
            let head = RecordHead {
                number,
                epoch: 0,
                first_blank: drafted.blanks.start,
                blanks: drafted.blanks.end - drafted.blanks.start,
                messages: &drafted.messages,
            };
            let head = head.encode();
            let chunks = drafted.record.iter().map(RecordPart::bytes);
            let parts: Vec<&[u8]> = std::iter::once(&head[..]).chain(chunks).collect();
            let appended = home.log.append(&parts);
            let position = appended.map_err(|error| self.failed(home, error))?;
            assert!(
                position == number,
                "a commit's number is its place in the log"
            );
        }
        if let Some(touched) = &drafted.touched {
            self.watches.note(touched);
        }
        self.last.note(&drafted.changed, number);
        self.news.note(&layers, number - 1, number);
        drop(layers);
        staged.graph = Arc::clone(&graph);
        let mut pending = self.lock_pending();
        let is_next = |last: &Arc<Graph>| last.snapshot.number() < number;
        assert!(
            pending.back().is_none_or(is_next),
            "versions are staged in order"
        );
        pending.push_back(graph);
        drop(pending);
        if let Some(observe) = observer {
            observe(&staged);
        }
        let fate = Arc::clone(&staged.fate);
        drop(staged);
        drop((drafted.record, drafted.held));
        committed.snapshot = number;
        if is_awaited {
            committed.synced = self.settle(number, &fate)?;
        }
        self.wakeup.wake();
        Ok(committed)
    }

    /// Waits until commit `number` is durable, and publishes all that are. `fate`: that of the commits
    /// which were staged with it. Gives what the disk took.
    pub(super) fn settle(&self, number: u64, fate: &Fate) -> Result<Duration, QueryError> {
        let mut waited = Duration::ZERO;
        let durable = match &self.home {
            Some(home) => {
                let begun = Instant::now();
                let synced = home.log.sync(number);
                waited = begun.elapsed();
                // The log may have given the number to another commit by now.
                if let Some((durable, cause)) = fate.get()
                    && number > *durable
                {
                    return Err(self.failed(home, cause.clone()));
                }
                synced.map_err(|error| self.failed(home, error))?;
                *self.lock_failing() = None;
                home.log.durable()
            }
            None => number,
        };
        assert!(durable >= number, "a sync that succeeded covers the commit");
        self.publish(durable);
        Ok(waited)
    }

    /// Goes back to the last durable version where commits were given up, and lets the log go on. An error
    /// where nothing can be changed any more. The caller has the turn.
    pub(super) fn go_on(&self, staged: &mut Staged) -> Result<(), QueryError> {
        let Some(home) = &self.home else {
            return Ok(());
        };
        if let Some(lost) = self.lost.get() {
            return Err(QueryError::new(Kind::ReadOnly, lost));
        }
        let Some(cause) = home.log.given_up() else {
            return Ok(());
        };
        let durable = home.log.durable();
        // Before the log goes on: it will give the same numbers again.
        let sealed = std::mem::take(&mut staged.fate).set((durable, cause));
        assert!(sealed.is_ok(), "commits are given up once");
        let mut pending = self.lock_pending();
        pending.retain(|graph| graph.snapshot.number() <= durable);
        let newest = pending.back().cloned();
        staged.graph = newest.unwrap_or_else(|| self.published());
        drop(pending);
        // What was given up has changed nothing.
        self.last.forget(durable);
        self.news.forget_behind(durable);
        let resumed = home.log.resume();
        let next = resumed.map_err(|error| self.failed(home, error))?;
        assert!(
            next == staged.graph.snapshot.number() + 1,
            "the last durable version is the newest that is left"
        );
        Ok(())
    }

    /// A failure of the log in the words for a change; noted for [`Writer::health`].
    fn failed(&self, home: &StoreHandle, error: LogError) -> QueryError {
        let mut failure = QueryError::from(error);
        if home.log.refusal().is_some() {
            failure.kind = Kind::ReadOnly;
            failure.hint = None;
        }
        *self.lock_failing() = Some(failure.message.clone());
        failure
    }

    /// Looks whether the store is where it was opened, and its files as long as they were. From then on
    /// changes are refused, or queries that read what is cut. Some system calls, no bytes are read.
    pub(crate) fn look(&self) {
        self.published().look();
        let Some(home) = &self.home else {
            return;
        };
        if let Err(lost) = home.lock.look(&*home.disk) {
            // Only the first is kept.
            let _ = self.lost.set(lost.to_string());
        }
        // The log keeps what it finds.
        drop(home.log.look());
    }

    /// Notes durably how far the log goes, where nobody has anything else to do.
    pub(crate) fn rest(&self) {
        if let Some(home) = &self.home {
            // A count that a power cut takes back says less, and nothing wrong.
            drop(home.log.rest());
        }
    }

    /// Notes durably that the log ends here. The database is being closed.
    pub(crate) fn close(&self) {
        let Some(home) = &self.home else {
            return;
        };
        // What lies there now may be another store.
        if self.lost.get().is_none() && home.lock.look(&*home.disk).is_ok() {
            drop(home.log.close());
        }
    }

    /// Whether changes are taken, and if not, why. A few locks that nobody holds for long.
    pub(crate) fn health(&self) -> ChangeHealth {
        let refused = self.home.as_ref().and_then(|home| home.log.refusal());
        let refused = refused.map(|cause| cause.to_string());
        if let Some(cause) = self.lost.get().cloned().or(refused) {
            return ChangeHealth::Refused(cause);
        }
        match self.lock_failing().clone() {
            Some(cause) => ChangeHealth::Failing(cause),
            None => ChangeHealth::Taken,
        }
    }

    /// Publishes the newest of the pending versions that is durable; the others are kept for a while.
    fn publish(&self, durable: u64) {
        let mut pending = self.lock_pending();
        let is_durable = |graph: &&Arc<Graph>| graph.snapshot.number() <= durable;
        let count = pending.iter().take_while(is_durable).count();
        let mut versions = vec![self.published()];
        versions.extend(pending.drain(..count));
        let newest = versions.pop().filter(|_| count > 0);
        if let Some(graph) = newest {
            assert!(
                self.published().snapshot.number() < graph.snapshot.number(),
                "versions are published in order"
            );
            self.kept.supersede(&versions, &graph);
            self.set_published(graph);
            self.advanced.notify_all();
            drop(pending);
            self.news.ring();
        }
    }

    /// Tells the pool what is in no file yet.
    fn note_held(&self, graph: &Graph) {
        let layers = graph.snapshot.layers().iter();
        let layers: u64 = layers.map(|layer| layer.bytes()).sum();
        let terms = graph.dictionary.live().bytes();
        self.pool
            .set_changes(layers + terms + self.kept.bytes_beside(graph));
    }

    /// Lets go of older versions whose time is over.
    pub(super) fn expire_kept(&self) {
        if self.kept.expire() {
            self.note_left();
        }
    }

    /// The same after a change that left terms behind; nothing is published meanwhile.
    pub(super) fn note_left(&self) {
        let publishing = self.lock_pending();
        self.note_held(&self.published());
        drop(publishing);
    }

    fn set_published(&self, graph: Arc<Graph>) {
        self.note_held(&graph);
        let mut published = self
            .published
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *published, graph);
        drop(published);
        // Perhaps the last reader of old layers was this one: freed outside of the lock.
        drop(before);
    }

    /// Publishes what somebody else has committed and made durable, and changed in these graphs. The
    /// caller has the turn.
    pub(super) fn advance(
        &self,
        staged: WriteGuard<'_, Staged>,
        graph: Graph,
        changed: &ChangedGraphs,
    ) -> Result<(), QueryError> {
        let layers = graph.snapshot.layers().to_vec();
        let graph = tidied(Arc::new(graph), staged.frozen)?;
        // What the records were applied to may have been zeros in place of a file's bytes.
        graph.sound()?;
        assert!(
            graph.snapshot.number() >= staged.graph.snapshot.number(),
            "records of others lead forward"
        );
        self.last.note(changed, graph.snapshot.number());
        let before = staged.graph.snapshot.number();
        self.news.note(&layers, before, graph.snapshot.number());
        self.show(staged, graph);
        Ok(())
    }

    /// Publishes a graph that was opened anew: its terms have other ids, which nothing that was noted knows.
    pub(super) fn change_base(&self, graph: Graph) {
        let staged = self.turn.wait();
        self.last.forget(graph.snapshot.number());
        self.news.forget();
        self.kept.forget();
        self.show(staged, Arc::new(graph));
    }

    fn show(&self, mut staged: WriteGuard<'_, Staged>, graph: Arc<Graph>) {
        staged.graph = Arc::clone(&graph);
        let pending = self.lock_pending();
        assert!(
            pending.is_empty(),
            "who follows a store stages nothing of its own"
        );
        self.kept.supersede(&[self.published()], &graph);
        self.set_published(graph);
        self.advanced.notify_all();
        drop((pending, staged));
        self.wakeup.wake();
        self.news.ring();
    }

    /// The newest version holds streams up to here.
    pub(super) fn reach(&self, vector: &SnapshotVector) {
        let mut staged = self.turn.wait();
        let newest = staged.graph.snapshot.number();
        self.exchange(&mut staged, &|graph| {
            let is_newest = graph.snapshot.number() == newest && graph.vector != *vector;
            is_newest.then(|| graph.with_vector(Arc::clone(vector)))
        });
    }

    /// What readers see now.
    pub(crate) fn published(&self) -> Arc<Graph> {
        Arc::clone(
            &self
                .published
                .read()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    /// Waits until readers see commit `number`; false where that took longer than `timeout`.
    pub(crate) fn wait_for(&self, number: u64, timeout: Duration) -> bool {
        let begun = Instant::now();
        let mut pending = self.lock_pending();
        while self.published().snapshot.number() < number {
            let Some(left) = timeout.checked_sub(begun.elapsed()) else {
                return false;
            };
            let waited = self.advanced.wait_timeout(pending, left);
            pending = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Replaces every version that holds layers up to commit `number` by what `exchange` makes of
    /// it. The caller has the turn.
    pub(crate) fn exchange(&self, staged: &mut Staged, exchange: &dyn Fn(&Graph) -> Option<Graph>) {
        let mut pending = self.lock_pending();
        let replaced = |graph: &Arc<Graph>| match exchange(graph) {
            Some(new) => {
                let is_same = new.snapshot.number() == graph.snapshot.number();
                assert!(
                    is_same && new.quads == graph.quads,
                    "it holds the same quads"
                );
                Arc::new(new)
            }
            None => Arc::clone(graph),
        };
        let published = self.published();
        let newest = pending.back().cloned();
        for graph in pending.iter_mut() {
            *graph = replaced(graph);
        }
        let is_staged = Arc::ptr_eq(&published, &staged.graph);
        let published = replaced(&published);
        staged.graph = match (pending.back(), newest) {
            (Some(graph), Some(newest)) if Arc::ptr_eq(&newest, &staged.graph) => Arc::clone(graph),
            _ if is_staged => Arc::clone(&published),
            _ => replaced(&staged.graph),
        };
        assert!(
            published.snapshot.number() <= staged.graph.snapshot.number(),
            "nothing is published that was not staged"
        );
        self.set_published(published);
    }

    /// Numbers of the log, where there is one.
    pub(crate) fn log_figures(&self) -> Option<LogFigures> {
        self.home.as_ref().map(|home| home.log.figures())
    }

    fn lock_failing(&self) -> MutexGuard<'_, Option<String>> {
        self.failing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_pending(&self) -> MutexGuard<'_, VecDeque<Arc<Graph>>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Layers whose sum is not below this are merged by maintenance, which every commit wakes and which waits for a pause: it costs the committing thread half
/// a microsecond a quad, and beside streams a quarter of its time (2026-11-26).
const TURN_QUADS: u64 = 512;
/// Where there are more layers, maintenance does not keep up, and those below [`INLINE_QUADS`] are merged by the committing
/// thread.
pub(super) const TURN_LAYERS: usize = 16;
const _: () = assert!(TURN_QUADS < INLINE_QUADS, "a commit waits for little");

/// The same content with small layers merged, and statistics that are not too old.
fn tidied(graph: Arc<Graph>, frozen: u64) -> Result<Arc<Graph>, QueryError> {
    let mut layers = graph.snapshot.layers().to_vec();
    let fixed = frozen_layers(&layers, frozen);
    let mut is_merged = false;
    loop {
        let sizes: Vec<u64> = layers[fixed..].iter().map(|layer| layer.quads()).collect();
        let Some(range) = plan_merge(&sizes) else {
            break;
        };
        let most = if sizes.len() > TURN_LAYERS {
            INLINE_QUADS
        } else {
            TURN_QUADS
        };
        if sizes[range.clone()].iter().sum::<u64>() >= most {
            break;
        }
        let range = range.start + fixed..range.end + fixed;
        let merged = merge(&layers[range.clone()], &|| false)?;
        assert!(
            *merged.commits().start() > frozen,
            "what a checkpoint writes is not merged with later commits"
        );
        layers.splice(range, [Arc::new(merged)]);
        is_merged = true;
    }
    let mut graph = graph;
    if is_merged {
        graph = Arc::new(graph.with_snapshot(graph.snapshot.with_layers(layers)));
    }
    planned_in_time(graph)
}

/// How many of the layers must stay as they are.
pub(crate) fn frozen_layers(layers: &[Arc<Layer>], frozen: u64) -> usize {
    layers
        .iter()
        .take_while(|layer| *layer.commits().start() <= frozen)
        .count()
}

impl From<LogError> for QueryError {
    fn from(error: LogError) -> QueryError {
        QueryError::of_cause(&error, Kind::ReadOnly, &error)
    }
}

impl From<DeltaError> for QueryError {
    fn from(error: DeltaError) -> QueryError {
        match &error {
            DeltaError::Part(_) => QueryError::of_cause(&error, Kind::Memory, &error),
            DeltaError::View(_) => QueryError::new(Kind::Damaged, error),
            DeltaError::Halted => QueryError::new(Kind::Cancelled, error),
        }
    }
}
