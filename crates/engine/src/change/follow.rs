//! Following a store that another process changes: what is durable there is shown here within
//! [`POLL`] and the time that applying it takes.
//!
//! ```text
//!          every 100 ms
//! follower ------------> DURABLE says more --> records applied to what is shown --> published
//!                   \--> CURRENT names another generation --> opened anew ----------/
//! ```
//!
//! One thread for a database that was [opened so](crate::Database::open_following). It takes no lock of the
//! store and changes nothing there.
//!
//! - **Records** are applied as they are at the opening ([`replay`](super::replay)), many at once into one layer,
//!   and published together: what a query sees is one whole commit, though not every commit is seen. Only what
//!   the count beside the log names is read, so nothing is shown that a crash or a full disk could take
//!   back, and numbers are those of the writer.
//! - **A checkpoint**, or a load, makes another generation, which is opened anew. So layers and new terms do not
//!   grow without bound, removed files are let go, and the log may be trimmed behind it. Until it is open,
//!   what is mapped is shown. Terms have other ids then ([`Graph::ids`]): the writer's
//!   generation may hold terms of requests that came to nothing, which are in no record.
//! - **Memory** is asked for before a record is applied. Where none is free, it is tried again; what the
//!   writer's next checkpoint holds needs none.
//! - **What fails** is said once, and by [`Database::health`](crate::Database::health). Queries go on with what is
//!   shown. It is tried again, ever more rarely, up to [`PAUSE_MAX`].
//!
//! Merging, statistics, who waits for a commit and the last changes of graphs are the
//! [writer's](super::writer) business, as with commits of one's own.
//!
//! | field of what is shared | written by | read by |
//! |---|---|---|
//! | `failure` | the follower, with its lock | any thread, with the lock, for the health |
//! | `closing`, and `woken` after it | whoever closes the database | the follower |
//! | `commits`, `durable`, `reopened` | the follower | any thread, for figures |
//!
//! Why polling, and the count: docs/decisions/2026-11-23-following.md.

use super::charge::Charge;
use super::open::{ReadPosition, for_following};
use super::replay::{Advanced, Applying};
use super::writer::Writer;
use crate::budget::{Budget, Pool};
use crate::error::{Kind, QueryError};
use crate::health::FollowHealth;
use crate::moment::Graph;
use crate::moment::scrub::Scrub;
use crate::open_error::OpenError;
use crate::panics::guarded;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use store::directory;
use store::disk::{Disk, Folder};
use store::log::LogError;

/// How long nobody looks: two small files are read then.
const POLL: Duration = Duration::from_millis(100);
/// The longest time after a failure.
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// How long whoever closes the database waits for the thread. It ends between two steps of opening a generation,
/// and before the next record; one step may take longer, of a large store on a slow disk. Then it is left behind: it holds no
/// lock, writes nothing and shows nothing any more.
const PATIENCE: Duration = Duration::from_secs(1);

/// Told of what is not shown, and of its being shown again: a line for people.
pub type Notice = Box<dyn Fn(&str) + Send>;

/// What has come of following.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FollowFigures {
    /// Commits of others that were shown since the opening.
    pub commits: u64,
    /// Durable commits that are not shown yet, as far as it is known.
    pub behind: u64,
    /// How often the store was opened anew, because of a checkpoint or a load.
    pub reopened: u64,
}

/// A store that is followed, as it was opened.
pub(crate) struct Followed {
    disk: Arc<dyn Disk>,
    location: PathBuf,
    /// `None` where the disk cannot tell directories from each other.
    folder: Option<Box<dyn Folder>>,
    place: ReadPosition,
    told: Notice,
}

impl Followed {
    /// Opens a store.
    pub(crate) fn open(
        disk: Arc<dyn Disk>,
        location: &Path,
        told: Notice,
    ) -> Result<(Graph, Followed), OpenError> {
        directory::refuse_unfinished(&*disk, location)?;
        let folder = disk.folder(location).ok();
        let (graph, place) = for_following(&*disk, location, &|| false)?;
        let followed = Followed {
            disk,
            location: location.to_owned(),
            folder,
            place,
            told,
        };
        Ok((graph, followed))
    }
}

/// What the thread and the database share.
#[derive(Default)]
pub(crate) struct Following {
    failure: Mutex<Option<FollowHealth>>,
    closing: AtomicBool,
    woken: Condvar,
    commits: AtomicU64,
    durable: AtomicU64,
    reopened: AtomicU64,
}

impl Following {
    /// Whether commits of others are shown.
    pub(crate) fn health(&self) -> FollowHealth {
        self.lock().clone().unwrap_or(FollowHealth::Shown)
    }

    /// `shown`: the number of the snapshot that queries see.
    pub(crate) fn figures(&self, shown: u64) -> FollowFigures {
        FollowFigures {
            commits: self.commits.load(Ordering::Relaxed),
            behind: self.durable.load(Ordering::Relaxed).saturating_sub(shown),
            reopened: self.reopened.load(Ordering::Relaxed),
        }
    }

    fn close(&self) {
        self.closing.store(true, Ordering::SeqCst);
        drop(self.lock());
        self.woken.notify_all();
    }

    fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    /// Lets time pass, unless the database is being closed.
    fn sleep(&self, time: Duration) {
        let failure = self.lock();
        let waited = self
            .woken
            .wait_timeout_while(failure, time, |_| !self.is_closing());
        drop(waited);
    }

    fn lock(&self) -> MutexGuard<'_, Option<FollowHealth>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The thread; ended when it is dropped.
pub(crate) struct RunningFollower {
    pub(crate) shared: Arc<Following>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for RunningFollower {
    fn drop(&mut self) {
        self.shared.close();
        let Some(thread) = self.thread.take() else {
            return;
        };
        let begun = Instant::now();
        while !thread.is_finished() && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
        if thread.is_finished() {
            // What it panicked with, it has said.
            drop(thread.join());
        }
    }
}

/// Follows a store from now on.
pub(crate) fn follow(
    followed: Followed,
    writer: Arc<Writer>,
    pool: Arc<Pool>,
    scrub: Arc<Scrub>,
) -> RunningFollower {
    let shared: Arc<Following> = Arc::default();
    let mut follower = Follower {
        followed,
        writer,
        pool,
        scrub,
        shared: Arc::clone(&shared),
    };
    let thread = std::thread::Builder::new().name("follower".to_owned());
    let thread = thread.spawn(move || follower.run());
    if let Err(error) = &thread {
        let why = format!("no thread could be begun for it: {error}");
        *shared.lock() = Some(FollowHealth::Lost(why));
    }
    RunningFollower {
        shared,
        thread: thread.ok(),
    }
}

/// The thread's own.
struct Follower {
    followed: Followed,
    writer: Arc<Writer>,
    pool: Arc<Pool>,
    scrub: Arc<Scrub>,
    shared: Arc<Following>,
}

impl Follower {
    fn run(&mut self) {
        let mut pause = POLL;
        loop {
            self.shared.sleep(pause);
            if self.shared.is_closing() {
                return;
            }
            // What is met in the middle of a checkpoint, or of a cut, is not met again.
            let mut step = self.step();
            if step.is_err() && !self.shared.is_closing() {
                step = self.step();
            }
            pause = match &step {
                Ok(()) => POLL,
                Err(_) => (2 * pause).min(PAUSE_MAX),
            };
            self.note(step.err());
        }
    }

    /// Keeps what is to be said of following, and says what is new.
    fn note(&self, failure: Option<FollowHealth>) {
        if self.shared.is_closing() {
            return;
        }
        let before = std::mem::replace(&mut *self.shared.lock(), failure.clone());
        let number = self.writer.published().snapshot.number();
        let store = self.followed.location.display();
        let tell = |what: &str| (self.followed.told)(what);
        match (before, failure) {
            (None, Some(FollowHealth::Failing(why) | FollowHealth::Lost(why))) => tell(&format!(
                "{store}: changes behind snapshot {number} are not shown: {why}"
            )),
            (Some(_), None) => tell(&format!("{store}: changes are shown again")),
            _ => {}
        }
    }

    /// Shows what is new. After an error, what was shown before is.
    fn step(&mut self) -> Result<(), FollowHealth> {
        let stepped = guarded(|| Ok(self.look()));
        stepped.unwrap_or_else(|panic| Err(FollowHealth::Failing(panic.to_string())))
    }

    fn look(&mut self) -> Result<(), FollowHealth> {
        let Followed {
            disk,
            location,
            folder,
            place,
            ..
        } = &mut self.followed;
        if let Some(folder) = folder
            && matches!(folder.is_at(location), Ok(false))
        {
            let why = "it was removed or replaced while it is open; put it back, or start again";
            return Err(FollowHealth::Lost(why.to_owned()));
        }
        let current = directory::current(&**disk, location);
        let current = current.map_err(|error| of_opening(error.into()))?;
        if current != place.current {
            return self.open_anew();
        }
        let durable = place.log.durable(&**disk).map_err(of_log)?;
        self.shared.durable.store(durable, Ordering::Relaxed);
        if durable < place.log.next() {
            return Ok(());
        }
        self.apply(durable)
    }

    /// Applies the records up to one that is durable.
    fn apply(&mut self, durable: u64) -> Result<(), FollowHealth> {
        let mut log = self.followed.place.log.clone();
        let staged = self.writer.turn.wait();
        let before = staged.graph.snapshot.number();
        let budget = Arc::new(Budget::new(&self.pool, u64::MAX));
        let shown = staged.graph.with_version(staged.graph.version.clone());
        let mut replay = Applying::new(shown, Charge::new(&budget));
        let shared = &self.shared;
        let read = log.read(&*self.followed.disk, durable, &mut |number, record| {
            if shared.is_closing() {
                return ControlFlow::Break(());
            }
            replay.apply(number, record)
        });
        let read = read.map_err(of_log)?;
        let Advanced {
            graph,
            changed,
            account,
        } = replay.advanced().map_err(of_change)?;
        if read.is_break() {
            // It is being closed.
            return Ok(());
        }
        let advanced = self.writer.advance(staged, graph, &changed);
        advanced.map_err(of_change)?;
        // What is published is counted as that of changes.
        drop(account);
        self.followed.place.log = log;
        self.shared
            .commits
            .fetch_add(durable.saturating_sub(before), Ordering::Relaxed);
        Ok(())
    }

    /// Opens the generation that is current now, with the records behind it.
    fn open_anew(&mut self) -> Result<(), FollowHealth> {
        let Followed { disk, location, .. } = &self.followed;
        let is_stopped = || self.shared.is_closing();
        let opened = for_following(&**disk, location, &is_stopped);
        let (graph, place) = opened.map_err(of_opening)?;
        let shown = self.writer.published();
        let (before, number) = (shown.snapshot.number(), graph.snapshot.number());
        if number < before {
            let why = format!(
                "the store has gone back to snapshot {number}, which is another history; start again"
            );
            return Err(FollowHealth::Lost(why));
        }
        let graph = Graph {
            ids: shown.ids + 1,
            ..graph
        };
        drop(shown);
        if self.shared.is_closing() {
            return Ok(());
        }
        self.writer.change_base(graph);
        self.followed.place = place;
        self.scrub.begin(self.writer.published());
        self.shared.reopened.fetch_add(1, Ordering::Relaxed);
        self.shared
            .commits
            .fetch_add(number - before, Ordering::Relaxed);
        Ok(())
    }
}

#[allow(clippy::needless_pass_by_value)] // for `map_err`
fn of_opening(error: OpenError) -> FollowHealth {
    if error.is_damage() || error.is_absent() {
        FollowHealth::Lost(error.to_string())
    } else {
        FollowHealth::Failing(error.to_string())
    }
}

#[allow(clippy::needless_pass_by_value)] // for `map_err`
fn of_log(error: LogError) -> FollowHealth {
    of_opening(OpenError::from(error))
}

#[allow(clippy::needless_pass_by_value)] // for `map_err`
fn of_change(error: QueryError) -> FollowHealth {
    let why = error.to_string();
    match error.kind {
        Kind::Damaged => FollowHealth::Lost(why),
        _ => FollowHealth::Failing(why),
    }
}
