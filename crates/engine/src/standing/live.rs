//! Streams and standing queries of a database that is served: the hub with a lock, a clock, and what it reported.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `hub` | whoever pushes, registers or drops; the ticker, some times a second; each with its lock | the same |
//! | `waiting` | whoever wants the lock of `hub` | whoever lets it go between turns |
//! | `journals` | whoever has the hub, under their own lock ([`super::journal`]) | consumers, with that lock |
//! | `last` | whoever has the hub, under its own lock | whoever lists queries, with that lock |
//! | `arrived` | told under the lock of `journals` | consumers that wait |
//! | `figures` | the ticker, once a second | whoever must not wait for the hub |
//! | `told` | called after each report and each query that is gone, with the query's name | whoever cannot wait on a thread |
//!
//! A push returns when what it made possible has been done: its seals are committed and the reports that they complete are
//! in the journals. So a source feels what it costs, and slows down by itself (back-pressure).
//!
//! **Turns.** What has millions of closes to evaluate lets the hub go after each turn of them, so that whoever asks for something
//! is answered meanwhile. A push that comes while others catch up takes one turn of that work, and returns: its own
//! windows come after those.
//!
//! **What is kept.** Where the database has a log, all of it comes again after a stop, however that came ([`Live::open`]):
//! streams with what they hold, queries, how far they have come, and their reports with the same numbers. What was pushed
//! is durable when a push returns. Checkpoints keep an image of it ([`Keeper`]).

use super::costs::HubCosts;
use super::hub::{Hub, ReadInstances, ReadTemplate, Reported, no_query};
use super::info::{HubStream, LastReport, QueryInfo, StreamFigures, StreamInfo};
use super::instances::Bindings;
use super::items::{Positions, TimedQuads};
use super::journal::{Journal, JournalRead, Journals};
use super::reading::read_standing;
use super::recovery::{Recovered, Recovery};
use super::report::StandingReport;
use crate::change::{Image, Keeper};
use crate::database::Database;
use crate::error::{Kind, QueryError};
use crate::open_error::OpenError;
use crate::options::Options;
use crate::sync::{Condvar, Mutex, MutexGuard};
use std::any::Any;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use store::disk::{Disk, RealDisk};

/// How far ahead of the clock an item may be (milliseconds): clocks of sources differ, and days do not.
const AHEAD_MAX_MS: u64 = 24 * 60 * 60 * 1000;
/// How often time is told to the streams.
const TICK: Duration = Duration::from_millis(20);
/// How long somebody who lets others have the hub waits for them at once, and how often.
const LETS: Duration = Duration::from_micros(200);
const LETS_MAX: u32 = 50;
/// Figures of streams are noted every so many ticks: once a second.
const FIGURES_TICKS: u32 = 50;

/// What became of a push.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pushed {
    /// Items that were taken (count).
    pub taken: usize,
    /// Items that came too late for any window (count).
    pub late: usize,
    /// What is before this is decided (milliseconds since the epoch).
    pub settled_ms: u64,
    /// The time of the latest item that was brought (milliseconds), taken before or now.
    pub latest_ms: Option<u64>,
    /// Whether they are in a log, and so outlive the process.
    pub is_durable: bool,
    /// The position that the source's next item has, where it counts them.
    pub next_position: Option<u64>,
    /// Positions between the source's items before and these (count): where it counts them, and left some out. Whoever was told of a
    /// failure instead, and sends the same again, is not told.
    pub missing: u64,
}

struct LiveInner {
    database: Database,
    hub: Mutex<Hub>,
    /// How many wait for the hub (count).
    waiting: AtomicUsize,
    journals: Arc<Journals>,
    /// The last report of each query that had one since this was made.
    last: Mutex<BTreeMap<String, LastReport>>,
    arrived: Condvar,
    told: Box<Told>,
    /// How streams stood a moment ago.
    figures: Mutex<Arc<[StreamFigures]>>,
}

/// Is told that a query has a new report, or is gone. It must not block, nor call [`Live`].
type Told = dyn Fn(&str) + Send + Sync;

/// See the head of this file. Cheap to clone, shared by all threads.
#[derive(Clone)]
pub struct Live {
    inner: Arc<LiveInner>,
}

impl Live {
    /// Opens a store directory for reading and changing, with its streams and standing queries as they stood; an empty one
    /// is made where there is none. They go on as soon as a [`Live`] is made of the database: what was ready and not
    /// reported when the store was closed is reported then. Needs `query::STACK_BYTES_MIN` (2 MiB) of stack.
    pub fn open(location: &Path, options: &Options) -> Result<Database, OpenError> {
        Live::open_on(Arc::new(RealDisk), location, options)
    }

    /// [`Live::open`] on another disk.
    pub fn open_on(
        disk: Arc<dyn Disk>,
        location: &Path,
        options: &Options,
    ) -> Result<Database, OpenError> {
        let mut recovery = Recovery::new(options);
        let database = Database::open_told(disk, location, options, &mut recovery)?;
        if let Some(recovered) = recovery.finish() {
            let has_any = !(recovered.0.streams().is_empty() && recovered.0.queries().is_empty());
            let recovered: Box<dyn Any + Send> = Box::new(recovered);
            database.leave_beside(has_any.then_some(recovered));
        }
        Ok(database)
    }

    /// Whether a database was opened with streams that stand still until a [`Live`] is made of it.
    pub fn is_awaited(database: &Database) -> bool {
        database.has_left_beside()
    }

    /// The streams of a database, as [`Live::open`] found them. A thread of its own tells the time until the last handle
    /// is gone. A store that keeps streams and was opened otherwise takes none.
    pub fn new(database: Database) -> Live {
        Live::telling(database, |_| {})
    }

    /// The same, for consumers that do not wait on a thread of their own: `told` is called with a query's name when it
    /// has a new report and when it is gone. It must neither block nor call this. Needs `query::STACK_BYTES_MIN` (2 MiB)
    /// of stack.
    pub fn telling(database: Database, told: impl Fn(&str) + Send + Sync + 'static) -> Live {
        let live = Live::standing(database, told);
        let weak = Arc::downgrade(&live.inner);
        let ticker = std::thread::Builder::new().name("streams".to_owned());
        // Without the thread items still bring their own time; only idle and arrival-time streams stand.
        drop(ticker.spawn(move || tick(&weak)));
        live
    }

    /// The same, whose time stands still: what the last stop has left is done, and nothing comes after it. For whoever opens a
    /// store to write into its files what only its log holds, that of streams included.
    pub fn still(database: Database) -> Live {
        Live::standing(database, |_| {})
    }

    fn standing(database: Database, told: impl Fn(&str) + Send + Sync + 'static) -> Live {
        let left = database.take_beside();
        let recovered = left.and_then(|left| left.downcast::<Recovered>().ok());
        let (mut hub, journals) = if let Some(recovered) = recovered {
            *recovered
        } else {
            let journals = Journals::new(database.shared().options.memory_pool_bytes);
            (Hub::new(database.clone()), Arc::new(journals))
        };
        hub.attach(database.clone());
        let live = Live::over(database, hub, journals, told);
        // What the last stop has left comes before anything new: a later change is not seen by an earlier close. What fails
        // is tried again with the next tick.
        drop(live.inner.advance(live.hub()));
        live
    }

    fn over(
        database: Database,
        mut hub: Hub,
        journals: Arc<Journals>,
        told: impl Fn(&str) + Send + Sync + 'static,
    ) -> Live {
        hub.keep_in(Arc::clone(&journals));
        let inner = Arc::new(LiveInner {
            hub: Mutex::new(hub),
            waiting: AtomicUsize::new(0),
            database,
            figures: Mutex::new(Arc::default()),
            journals,
            last: Mutex::new(BTreeMap::new()),
            arrived: Condvar::new(),
            told: Box::new(told),
        });
        let weak = Arc::downgrade(&inner);
        inner.database.keep_beside(weak);
        Live { inner }
    }

    /// Makes a stream that begins at this moment (milliseconds): items before it are late, and no window is reported that opens
    /// before it. Where none is said it begins now; one whose items have the time of their arrival has always been, and was empty.
    pub fn create(&self, stream: &HubStream, begin_ms: Option<u64>) -> Result<(), QueryError> {
        if let Some(begin_ms) = begin_ms {
            Live::check_time(begin_ms)?;
        }
        let mut hub = self.hub();
        let begin_ms = begin_ms.unwrap_or_else(|| if stream.arrival_time { 0 } else { now_ms() });
        hub.create(stream, begin_ms)?;
        hub.tick(now_ms());
        drop(self.inner.advance(hub));
        Ok(())
    }

    /// What the streams' work has cost so far.
    pub fn costs(&self) -> HubCosts {
        self.hub().costs()
    }

    /// Forgets a stream.
    pub fn drop_stream(&self, name: &str) -> Result<(), QueryError> {
        self.hub().drop_stream(name)
    }

    /// The streams, by name.
    pub fn streams(&self) -> Vec<StreamInfo> {
        self.hub().streams()
    }

    /// What they held at most about a second ago, by name, for whoever must not wait: streams may be busy for some time.
    pub fn figures(&self) -> Arc<[StreamFigures]> {
        Arc::clone(&self.inner.figures())
    }

    /// A stream by its name.
    pub fn stream(&self, name: &str) -> Result<StreamInfo, QueryError> {
        self.hub().stream_info(name)
    }

    /// What the text of a query probably did not mean: spans of its windows that are no multiple of the grain of their
    /// streams.
    pub fn warnings(&self, name: &str) -> Result<Vec<String>, QueryError> {
        self.hub().warnings(name)
    }

    /// Registers a query by its text; gives its name. `name` is used where the text gives none. Needs
    /// `query::STACK_BYTES_MIN` (2 MiB) of stack.
    pub fn register(&self, text: &str, name: &str) -> Result<String, QueryError> {
        let query = read_standing(&self.inner.database, text)?;
        let mut hub = self.hub();
        let at_ms = hub.reached_ms(&query)?;
        let name = hub.register_text(query, None, name, Some(text), at_ms)?;
        // With the lock of the hub, as `unregister`: a journal is there exactly as long as its query.
        self.inner.journals.open(&name);
        drop(hub);
        Ok(name)
    }

    /// Registers a template, see [`Hub::register_table`], from where its streams are. The reports of all instances are
    /// those of the template; see also [`Live::reports_of`].
    pub fn register_table(
        &self,
        text: &str,
        name: &str,
        bindings: Bindings<'_>,
    ) -> Result<(String, u64), QueryError> {
        let free = |given: Option<&str>| self.hub().free_name(given.unwrap_or(name));
        // Without the lock of the streams, which go on meanwhile.
        let read = ReadTemplate::read(&self.inner.database, text, bindings, free)?;
        let mut hub = self.hub();
        let (name, instances) = hub.register_read(read, name, text, None)?;
        self.inner.journals.open(&name);
        drop(hub);
        Ok((name, instances))
    }

    /// Adds instances to a template; see [`Hub::add_instances`].
    pub fn add_instances(&self, template: &str, bindings: Bindings<'_>) -> Result<u64, QueryError> {
        let shape = self.hub().template_shape(template)?;
        // Without the lock of the streams, which go on meanwhile.
        let read = ReadInstances::read(&self.inner.database, template, shape, bindings)?;
        self.hub().add_read(template, read)
    }

    /// Forgets an instance of a template.
    pub fn remove_instance(&self, template: &str, instance: &str) -> Result<(), QueryError> {
        self.hub().remove_instance(template, instance)
    }

    /// Forgets a query and its reports.
    pub fn unregister(&self, name: &str) -> Result<(), QueryError> {
        let mut hub = self.hub();
        hub.unregister(name)?;
        self.inner.journals.close(name);
        self.inner.last().remove(name);
        drop(hub);
        // Whoever waits for its reports sees that there is no such query.
        self.inner.arrived.notify_all();
        (self.inner.told)(name);
        Ok(())
    }

    /// Stops evaluating a query.
    pub fn pause(&self, name: &str) -> Result<(), QueryError> {
        self.hub().pause(name)
    }

    /// Goes on evaluating a query, from the next close on.
    pub fn resume(&self, name: &str) -> Result<(), QueryError> {
        self.hub().resume(name)
    }

    /// Whether a query is a `CONSTRUCT`: the rows of its reports are triples.
    pub fn gives_graphs(&self, name: &str) -> Result<bool, QueryError> {
        self.hub().gives_graphs(name)
    }

    /// A name for a query that has none. Somebody else may take it meanwhile.
    pub fn free_name(&self) -> String {
        self.hub().unused_name()
    }

    /// Whether items of a stream have the time of their arrival.
    pub fn has_arrival_time(&self, stream: &str) -> Result<bool, QueryError> {
        self.hub().has_arrival_time(stream)
    }

    /// What a stream holds (bytes).
    pub fn held_bytes(&self, stream: &str) -> Result<u64, QueryError> {
        self.hub().held_bytes(stream)
    }

    /// The registered queries, by name.
    pub fn queries(&self) -> Vec<QueryInfo> {
        let mut infos = self.hub().queries();
        let journals = self.inner.journals.lock();
        for info in &mut infos {
            info.reports = journals.get(&info.name).map_or(0, Journal::last);
        }
        drop(journals);
        let last = self.inner.last();
        for info in &mut infos {
            info.last = last.get(&info.name).copied();
        }
        infos
    }

    /// Counts items of a push that could not be read, and so are not among those that are fed.
    pub fn count_rejected(&self, stream: &str, rejected: u64) -> Result<(), QueryError> {
        self.hub().count_rejected(stream, rejected)
    }

    /// The plan of a query as it was made last; `None` before its first evaluation.
    pub fn explain(&self, name: &str) -> Result<Option<String>, QueryError> {
        self.hub().explain(name)
    }

    /// Takes items of a source, all or none, and does what they make possible. Blank nodes mean the same within an item.
    /// An item without a time has that of its arrival in streams that say so.
    pub fn push(
        &self,
        stream: &str,
        source: &str,
        items: &[TimedQuads],
    ) -> Result<Pushed, QueryError> {
        self.feed(stream, source, items, None, None)
    }

    /// The same, and then the source promises that its later items have at least the time `watermark_ms`. A source that
    /// counts its items may send them again: what is here already is passed over, and what it leaves out is counted. `positions`: where
    /// these stand.
    pub fn feed(
        &self,
        stream: &str,
        source: &str,
        items: &[TimedQuads],
        watermark_ms: Option<u64>,
        positions: Option<Positions<'_>>,
    ) -> Result<Pushed, QueryError> {
        let times = items.iter().map(|item| item.time_ms).chain(watermark_ms);
        if let Some(time_ms) = times.max() {
            Live::check_time(time_ms)?;
        }
        let mut hub = self.hub();
        let is_behind = hub.is_behind();
        hub.tick(now_ms());
        let next = hub.position(stream, source)?.unwrap_or(0);
        let brings = positions.filter(|them| them.count > 0);
        let missing = brings.map_or(0, |them| them.first.saturating_sub(next));
        let (mut taken, mut late) = (0, 0);
        if !items.is_empty() || positions.is_some_and(|them| them.count > 0) {
            let accepted = hub.push(stream, source, None, items, positions)?;
            (taken, late) = (accepted.taken, accepted.late.len());
        }
        if let Some(time_ms) = watermark_ms {
            hub.watermark(stream, source, time_ms)?;
        }
        // The items are taken, whatever becomes of what they make possible: a commit that fails is tried again.
        let mut hub = if is_behind {
            drop(self.inner.take_turn(&mut hub));
            hub
        } else {
            self.inner.advance(hub).0
        };
        hub.tell(true)?;
        let latest_ms = if hub.has_arrival_time(stream)? {
            items.first().map(|_| hub.now_ms())
        } else {
            items.iter().map(|item| item.time_ms).max()
        };
        Ok(Pushed {
            taken,
            late,
            settled_ms: hub.covered_ms(stream)?,
            latest_ms,
            is_durable: hub.keeps_log(),
            next_position: hub.position(stream, source)?,
            missing,
        })
    }

    /// An error where no item may have this time (milliseconds) now, because it is more than a day ahead of the clock.
    pub fn check_time(time_ms: u64) -> Result<(), QueryError> {
        if time_ms <= now_ms().saturating_add(AHEAD_MAX_MS) {
            return Ok(());
        }
        let message = format!("the time {time_ms} ms is more than a day ahead");
        Err(QueryError::new(Kind::Syntax, message)
            .with_hint("times are milliseconds since 1970; all before them would be over"))
    }

    /// A source promises that its later items have at least this time.
    pub fn watermark(&self, stream: &str, source: &str, time_ms: u64) -> Result<(), QueryError> {
        self.feed(stream, source, &[], Some(time_ms), None)
            .map(|_| ())
    }

    /// An error where a template has no such instance.
    pub fn need_instance(&self, template: &str, instance: &str) -> Result<(), QueryError> {
        self.hub().need_instance(template, instance)
    }

    /// As [`Live::reports`], those of one instance of a template alone, and those of all its instances that failed. Their
    /// numbers are those that they have among the template's. An instance that is not there has none
    /// ([`Live::need_instance`]).
    pub fn reports_of(
        &self,
        template: &str,
        instance: &str,
        seen: u64,
        max: usize,
        patience: Duration,
    ) -> Result<JournalRead, QueryError> {
        self.read(template, Some(instance), seen, max, patience)
    }

    /// Reports of a query behind the one with number `seen`, at most `max`; waits until there is one, but not longer than
    /// `patience`. A number that no report has yet is of a query of this name that is gone: all reports are behind it.
    pub fn reports(
        &self,
        name: &str,
        seen: u64,
        max: usize,
        patience: Duration,
    ) -> Result<JournalRead, QueryError> {
        self.read(name, None, seen, max, patience)
    }

    fn read(
        &self,
        name: &str,
        instance: Option<&str>,
        seen: u64,
        max: usize,
        patience: Duration,
    ) -> Result<JournalRead, QueryError> {
        let begun = Instant::now();
        let mut journals = self.inner.journals.lock();
        loop {
            let journal = journals.get(name).ok_or_else(|| no_query(name))?;
            let read = journal.after(seen, instance, max);
            let left = patience.checked_sub(begun.elapsed());
            match left {
                Some(left) if read.entries.is_empty() && !left.is_zero() => {
                    let waited = self.inner.arrived.wait_timeout(journals, left);
                    journals = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                _ => return Ok(read),
            }
        }
    }

    fn hub(&self) -> MutexGuard<'_, Hub> {
        self.inner.hub()
    }
}

impl LiveInner {
    fn figures(&self) -> MutexGuard<'_, Arc<[StreamFigures]>> {
        self.figures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn last(&self) -> MutexGuard<'_, BTreeMap<String, LastReport>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what is said of the last report of a query.
    fn note_last(&self, report: &StandingReport) {
        let last = LastReport {
            close_ms: report.close_ms,
            rows: report.rows.len() as u64,
            items: report.items,
            exec: report.exec,
            told_ms: now_ms(),
        };
        let mut all = self.last();
        match all.get_mut(&report.query) {
            Some(known) => *known = last,
            None => drop(all.insert(report.query.clone(), last)),
        }
    }

    fn hub(&self) -> MutexGuard<'_, Hub> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let hub = self.hub.lock();
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        hub.unwrap_or_else(PoisonError::into_inner)
    }

    /// Does all that has become possible, and lets others have the hub between turns.
    fn advance<'l>(
        &'l self,
        mut hub: MutexGuard<'l, Hub>,
    ) -> (MutexGuard<'l, Hub>, Result<(), QueryError>) {
        loop {
            match self.take_turn(&mut hub) {
                Ok(false) => {}
                done => return (hub, done.map(drop)),
            }
            drop(hub);
            self.let_others();
            hub = self.hub();
        }
    }

    /// Waits until nobody waits for the hub, but not for long: a lock that is taken again at once is nobody else's.
    fn let_others(&self) {
        for _ in 0..LETS_MAX {
            if self.waiting.load(Ordering::Relaxed) == 0 {
                return;
            }
            std::thread::sleep(LETS);
        }
    }

    /// Does what has become possible, as far as it is done in a turn, and keeps the reports; false: there is more to do.
    fn take_turn(&self, hub: &mut Hub) -> Result<bool, QueryError> {
        let mut keep = |Reported { report, line }: Reported| {
            let line = if let Some(line) = line {
                line
            } else {
                let line = report.json();
                let line = line.map_err(|error| QueryError::new(Kind::Internal, error));
                line?.into()
            };
            self.journals
                .add(&report.query, line, report.instance.clone());
            self.note_last(&report);
            self.arrived.notify_all();
            (self.told)(&report.query);
            Ok(ControlFlow::Continue(()))
        };
        hub.advance_for_a_turn(&mut keep)
    }
}

impl Keeper for LiveInner {
    fn hold(&self, freeze: &mut dyn FnMut()) -> Result<Box<dyn Image>, QueryError> {
        // What is ready is reported first: its moment is not kept.
        let (mut hub, advanced) = self.advance(self.hub());
        advanced?;
        let mut image = hub.image()?;
        image.journals = self.journals.lock().clone();
        freeze();
        Ok(Box::new(image))
    }
}

/// Tells the streams the time until nobody is left.
fn tick(live: &Weak<LiveInner>) {
    let mut is_done = true;
    for tick in 0_u32.. {
        if is_done {
            std::thread::sleep(TICK);
        }
        let Some(live) = live.upgrade() else {
            return;
        };
        let mut hub = live.hub();
        hub.tick(now_ms());
        // What fails is a query's own, and its next evaluation says so again.
        is_done = live.take_turn(&mut hub).unwrap_or(true);
        if tick % FIGURES_TICKS == 0 {
            *live.figures() = hub.figures().into();
        }
        drop(hub);
        if !is_done {
            live.let_others();
        }
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

#[cfg(test)]
mod tests;
