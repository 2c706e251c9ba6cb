//! Streams and standing queries of a database that is served: the hub with a lock, a clock, and what it reported.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `hub` | whoever pushes, registers or drops; the ticker, some times a second; each with its lock | the same |
//! | `journals` | whoever has the hub, under their own lock | consumers, with that lock |
//! | `last` | whoever has the hub, under its own lock | whoever lists queries, with that lock |
//! | `arrived` | told under the lock of `journals` | consumers that wait |
//! | `journal_bytes` | whoever has the lock of `journals` | whoever has the hub |
//! | `figures` | the ticker, once a second | whoever must not wait for the hub |
//! | `told` | called after each report and each query that is gone, with the query's name | whoever cannot wait on a thread |
//!
//! A push returns when what it made possible has been done: its seals are committed and the reports that they complete are
//! in the journals. So a source feels what it costs, and slows down by itself (back-pressure).
//!
//! **What is kept.** Where the database has a log, all of it comes again after a stop, however that came ([`Live::open`]):
//! streams with what they hold, queries, how far they have come, and their reports with the same numbers. What was pushed
//! is durable when a push returns. Checkpoints keep an image of it ([`Keeper`]).

use super::costs::HubCosts;
use super::hub::{Hub, ReadTemplate, Reported, no_query};
use super::info::{HubStream, LastReport, QueryInfo, StreamInfo};
use super::instances::Bindings;
use super::items::{Positions, TimedQuads};
use super::journal::{Journal, JournalRead};
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
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, Weak};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use store::disk::{Disk, RealDisk};

/// How far ahead of the clock an item may be (milliseconds): clocks of sources differ, and days do not.
const AHEAD_MAX_MS: u64 = 24 * 60 * 60 * 1000;
/// How often time is told to the streams.
const TICK: Duration = Duration::from_millis(20);
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
}

struct LiveInner {
    database: Database,
    hub: Mutex<Hub>,
    journals: Mutex<BTreeMap<String, Journal>>,
    /// The last report of each query that had one since this was made.
    last: Mutex<BTreeMap<String, LastReport>>,
    arrived: Condvar,
    told: Box<Told>,
    /// What journals hold (bytes).
    journal_bytes: AtomicU64,
    /// How streams stood a moment ago.
    figures: Mutex<Arc<[StreamInfo]>>,
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
        let left = database.take_beside();
        let recovered = left.and_then(|left| left.downcast::<Recovered>().ok());
        let (mut hub, journals) = match recovered {
            Some(recovered) => *recovered,
            None => (Hub::new(database.clone()), BTreeMap::new()),
        };
        hub.attach(database.clone());
        let live = Live::over(database, hub, journals, told);
        // What the last stop has left comes before anything new: a later change is not seen by an earlier close. What fails
        // is tried again with the next tick.
        drop(live.inner.advance(&mut live.hub()));
        live
    }

    fn over(
        database: Database,
        hub: Hub,
        journals: BTreeMap<String, Journal>,
        told: impl Fn(&str) + Send + Sync + 'static,
    ) -> Live {
        let journal_bytes = journals.values().map(Journal::bytes).sum();
        let inner = Arc::new(LiveInner {
            hub: Mutex::new(hub),
            database,
            journal_bytes: AtomicU64::new(journal_bytes),
            figures: Mutex::new(Arc::default()),
            journals: Mutex::new(journals),
            last: Mutex::new(BTreeMap::new()),
            arrived: Condvar::new(),
            told: Box::new(told),
        });
        let weak = Arc::downgrade(&inner);
        inner.database.keep_beside(weak.clone());
        let ticker = std::thread::Builder::new().name("streams".to_owned());
        // Without the thread items still bring their own time; only idle and arrival-time streams stand.
        drop(ticker.spawn(move || tick(&weak)));
        Live { inner }
    }

    /// Makes a stream that begins now, or at this moment (milliseconds): items before it are late, and no window is reported
    /// that opens before it.
    pub fn create(&self, stream: &HubStream, begin_ms: Option<u64>) -> Result<(), QueryError> {
        if let Some(begin_ms) = begin_ms {
            Live::check_time(begin_ms)?;
        }
        let mut hub = self.hub();
        hub.create(stream, begin_ms.unwrap_or_else(now_ms))?;
        hub.tick(now_ms());
        drop(self.inner.advance(&mut hub));
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

    /// The same as they stood at most about a second ago, for whoever must not wait: streams may be busy for some time.
    pub fn figures(&self) -> Arc<[StreamInfo]> {
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
        self.inner.journals().entry(name.clone()).or_default();
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
        self.inner.journals().entry(name.clone()).or_default();
        drop(hub);
        Ok((name, instances))
    }

    /// Adds instances to a template; see [`Hub::add_instances`].
    pub fn add_instances(&self, template: &str, bindings: Bindings<'_>) -> Result<u64, QueryError> {
        self.hub().add_instances(template, bindings)
    }

    /// Forgets an instance of a template.
    pub fn remove_instance(&self, template: &str, instance: &str) -> Result<(), QueryError> {
        self.hub().remove_instance(template, instance)
    }

    /// Forgets a query and its reports.
    pub fn unregister(&self, name: &str) -> Result<(), QueryError> {
        let mut hub = self.hub();
        hub.unregister(name)?;
        let gone = self.inner.journals().remove(name);
        let bytes = gone.map_or(0, |journal| journal.bytes());
        self.inner.journal_bytes.fetch_sub(bytes, Ordering::Relaxed);
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
        let journals = self.inner.journals();
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
    /// counts its items may send them again: what is here already is passed over. `positions`: where these stand.
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
        hub.tick(now_ms());
        let (mut taken, mut late) = (0, 0);
        if !items.is_empty() || positions.is_some_and(|them| them.count > 0) {
            let accepted = hub.push(stream, source, None, items, positions)?;
            (taken, late) = (accepted.taken, accepted.late.len());
        }
        if let Some(time_ms) = watermark_ms {
            hub.watermark(stream, source, time_ms)?;
        }
        // The items are taken, whatever becomes of what they make possible: a commit that fails is tried again.
        drop(self.inner.advance(&mut hub));
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
        let mut journals = self.inner.journals();
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
        self.inner
            .hub
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl LiveInner {
    fn figures(&self) -> MutexGuard<'_, Arc<[StreamInfo]>> {
        self.figures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn journals(&self) -> MutexGuard<'_, BTreeMap<String, Journal>> {
        self.journals.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// Does what has become possible, and keeps the reports.
    fn advance(&self, hub: &mut Hub) -> Result<(), QueryError> {
        let mut keep = |Reported { report, line }: Reported| {
            let line = if let Some(line) = line {
                line
            } else {
                let line = report.json();
                let line = line.map_err(|error| QueryError::new(Kind::Internal, error));
                line?.into()
            };
            if let Some(journal) = self.journals().get_mut(&report.query) {
                let before = journal.bytes();
                journal.add(line, report.instance.clone());
                self.journal_bytes
                    .fetch_add(journal.bytes(), Ordering::Relaxed);
                self.journal_bytes.fetch_sub(before, Ordering::Relaxed);
            }
            self.note_last(&report);
            self.arrived.notify_all();
            (self.told)(&report.query);
            Ok(ControlFlow::Continue(()))
        };
        let advanced = hub.advance(&mut keep).map(|_| ());
        hub.hold_reports(self.journal_bytes.load(Ordering::Relaxed));
        advanced
    }
}

impl Keeper for LiveInner {
    fn hold(&self, freeze: &mut dyn FnMut()) -> Result<Box<dyn Image>, QueryError> {
        let mut hub = self.hub.lock().unwrap_or_else(PoisonError::into_inner);
        // What is ready is reported first: its moment is not kept.
        self.advance(&mut hub)?;
        let mut image = hub.image()?;
        image.journals = self.journals().clone();
        freeze();
        Ok(Box::new(image))
    }
}

/// Tells the streams the time until nobody is left.
fn tick(live: &Weak<LiveInner>) {
    for tick in 0_u32.. {
        std::thread::sleep(TICK);
        let Some(live) = live.upgrade() else {
            return;
        };
        let mut hub = live.hub.lock().unwrap_or_else(PoisonError::into_inner);
        hub.tick(now_ms());
        // What fails is a query's own, and its next evaluation says so again.
        drop(live.advance(&mut hub));
        if tick % FIGURES_TICKS == 0 {
            *live.figures() = hub.streams().into();
        }
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}
