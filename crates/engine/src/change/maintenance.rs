//! What is done beside readers and writers: merging layers, and checkpoints.
//!
//! One thread for a database that can be changed or [follows](super::follow) one, and another one while a
//! checkpoint is written. It works on versions that nobody changes and has the turn only for the exchange of a
//! pointer, so it holds up nobody; readers of what it replaces keep that as long as they like.
//!
//! - **Merges**: once nobody has written for [`SETTLED`], layers that are too large for the committing thread, as
//!   `store::delta::merge` plans it; and once nobody has written for [`QUIET`], what is left into one layer, because each
//!   one costs every lookup another search. A large layer is not written again for a few quads
//!   ([`is_worth_it`]). Streams commit in bursts, one for each batch, and are never quiet: between two bursts
//!   ([`LULL`]) the newest layers are merged as far as they are small beside each other ([`in_lull`]).
//! - **Checkpoints**: when the log has grown past [`CheckpointLimits::log_bytes`] and a share of the store, or
//!   on request: base and layers are written as a new generation, whose manifest names the last
//!   commit that it holds; then the log is trimmed. A crash anywhere leaves the old generation with
//!   the whole log, or the new one with a log of which it needs the end.
//! - **Statistics** of what is published ([`planning`](crate::moment::planning)).
//! - **Rest**: once nobody has written for [`IDLE`], the log's count of durable records is synced.
//! - **In memory** a checkpoint becomes a new base in memory.
//! - **Looks** whether the store is still where it was opened, and its files as long as they were
//!   ([`Writer::look`]): a folder that was removed is noticed without a change, too.
//!
//! What goes wrong here costs time and memory, no data: it is said in the figures, and tried again.

use super::writer::beside::Kept;
use super::writer::{Staged, StoreHandle, TURN_LAYERS, Writer, frozen_layers};
use crate::error::{Kind, QueryError};
use crate::moment::files::write_graph;
use crate::moment::planner_statistics::plan_statistics;
use crate::moment::{Graph, StatisticsVersion};
use crate::panics::{guarded, panicked};
use query::planner::Planner;
use rdf::dictionary::Dictionary;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use store::Snapshot;
use store::delta::checkpoint::write_base;
use store::delta::dictionary::Spilling;
use store::delta::merge::plan_merge;
use store::delta::{Layer, merge};
use store::directory::beside::BesideWriter;
use store::directory::{self, LostError, begin_locked};
use store::load::open_parts;
use store::parts::MemoryParts;

/// How long the thread sleeps when nothing wakes it.
const IDLE: Duration = Duration::from_secs(5);
/// How long nobody has written when the layers are merged into one.
const QUIET: Duration = Duration::from_millis(100);
/// How long nobody has written between two bursts of commits: a quarter of the time from batch to batch.
const LULL: Duration = Duration::from_millis(25);
const _: () = assert!(
    LULL.as_millis() < QUIET.as_millis(),
    "a lull comes before quiet"
);
/// How long nobody has written before layers are merged at all. A burst of commits lies in
/// fewer merges then, and is not disturbed: where all processors are busy, a merge begun at a commit takes that of the
/// thread which commits. Of five streams in real time on two processors the third batch of a step was visible after 1.0 ms, 0.4
/// of them a merge (2026-11-27).
const SETTLED: Duration = Duration::from_millis(5);
/// How often that is waited for: where somebody always writes, layers are merged every 50 ms.
const SETTLED_TIMES: u32 = 10;
/// With so many layers it is not waited for: each one costs every reader, and with twice as many the committing threads merge.
const SETTLED_LAYERS: usize = TURN_LAYERS / 2;
const _: () = assert!(
    SETTLED.as_millis() < LULL.as_millis(),
    "a lull is longer than what is waited for before a merge"
);
/// In a lull, layers whose sum is not above this are merged whatever their sizes (quads): some 8 ms.
const LULL_QUADS: u64 = 1 << 14;
/// In a lull, an older layer is merged with all newer ones from this share of its size on. By a simulation of 400 steps of
/// LSBench's batches, layers at the lull and times that a quad is written again by this thread: 6.0 and 4.4 without
/// lulls, 3.3 and 6.9 at a half, 2.7 and 9.5 at a quarter, 2.2 and 13.7 at an eighth (2026-11-26).
const LULL_SHARE: u64 = 4;
/// A layer of fewer quads is merged whatever is merged with it: some tenths of a second.
const ALWAYS_QUADS: u64 = 1 << 19;
/// The share of a larger layer that has to be merged with it.
const WORTH_SHARE: u64 = 32;
/// How long what has failed is not tried again, and how often the thread looks meanwhile whether it is
/// to end.
const PAUSE: Duration = Duration::from_secs(30);
const RESTING: Duration = Duration::from_millis(100);
/// How often the thread looks whether the store is still there: some 50 microseconds a look. Where
/// nothing wakes it, it looks every [`IDLE`].
const LOOK: Duration = Duration::from_secs(1);
/// Maintenance rests so many times as long as its last statistics took.
const REST: u32 = 32;
/// How long it rests after statistics that could not be read.
const UNREAD_PAUSE: Duration = Duration::from_secs(30);

/// Memory in which a checkpoint sorts the dictionary's hashes.
const SORT_BYTES: u64 = 256 << 20;

/// When checkpoints are made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CheckpointLimits {
    /// Bytes of log after which a checkpoint is due.
    pub(crate) log_bytes: u64,
    /// Quads in layers after which a base in memory is made anew.
    pub(crate) memory_quads: u64,
}

impl Default for CheckpointLimits {
    fn default() -> CheckpointLimits {
        CheckpointLimits {
            log_bytes: 64 << 20,
            memory_quads: 1 << 20,
        }
    }
}

/// The maintenance thread: until the database closes.
pub(crate) fn maintain(writer: &Writer, pace: CheckpointLimits) {
    let mut calm = Calm::Quiet;
    let mut failed: Option<Instant> = None;
    let mut rest = StatisticsPause::over();
    let mut looked = Instant::now();
    while !writer.wakeup.is_closing() {
        let is_woken = writer.wakeup.wait(calm.pause());
        if is_woken {
            writer.let_settle(&|| false);
        }
        writer.expire_kept();
        if looked.elapsed() >= LOOK {
            writer.look();
            looked = Instant::now();
        }
        if !is_woken && calm == Calm::Quiet {
            writer.rest();
        }
        // Every commit wakes the thread: what failed is not tried again at each of them.
        if let Some(since) = failed
            && since.elapsed() < PAUSE
        {
            calm = Calm::Quiet;
            if is_woken {
                writer.wakeup.sleep(RESTING);
            }
            continue;
        }
        calm = calm.after(is_woken);
        let round = writer.round(calm, pace, &mut rest);
        failed = round.is_err().then(Instant::now);
    }
}

/// For how long nobody has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Calm {
    /// Somebody just has.
    Busy,
    /// For [`LULL`].
    Lull,
    /// For [`QUIET`].
    Quiet,
}

impl Calm {
    /// How long it is waited for somebody who writes.
    fn pause(self) -> Duration {
        match self {
            Calm::Busy => LULL,
            Calm::Lull => QUIET.saturating_sub(LULL),
            Calm::Quiet => IDLE,
        }
    }

    /// After that time, or as soon as somebody wrote.
    fn after(self, is_woken: bool) -> Calm {
        match (is_woken, self) {
            (true, _) => Calm::Busy,
            (false, Calm::Busy) => Calm::Lull,
            (false, Calm::Lull | Calm::Quiet) => Calm::Quiet,
        }
    }

    fn plan(self) -> Plan {
        match self {
            Calm::Busy => plan_merge,
            Calm::Lull => in_lull,
            Calm::Quiet => is_worth_it,
        }
    }
}

/// Which layers to merge, by their quads.
type Plan = fn(&[u64]) -> Option<Range<usize>>;

/// The newest layers, each of which is small beside the sum of those behind it. So sizes ascend by a factor from the newest
/// layer to the oldest, and a quad is written again some times for each factor.
fn in_lull(sizes: &[u64]) -> Option<Range<usize>> {
    let (mut start, mut newer) = (sizes.len(), 0);
    while let Some(&older) = start.checked_sub(1).and_then(|place| sizes.get(place)) {
        if newer + older > LULL_QUADS && older > newer * LULL_SHARE {
            break;
        }
        newer += older;
        start -= 1;
    }
    let range = start..sizes.len();
    (range.len() > 1).then_some(range)
}

/// All layers from the first one on that is not too large to be written again for those behind it.
fn is_worth_it(sizes: &[u64]) -> Option<Range<usize>> {
    let is_too_large = |place: usize| {
        let newer: u64 = sizes[place + 1..].iter().sum();
        sizes[place] > ALWAYS_QUADS && newer < sizes[place] / WORTH_SHARE
    };
    let start = (0..sizes.len()).find(|&place| !is_too_large(place))?;
    let range = start..sizes.len();
    (range.len() > 1).then_some(range)
}

/// Whether a layer holds commits up to this one and later ones, too.
fn straddles(layer: &Layer, number: u64) -> bool {
    *layer.commits().start() <= number && *layer.commits().end() > number
}

impl Writer {
    /// Waits until nobody has written for [`SETTLED`], unless layers are many or `is_enough`.
    fn let_settle(&self, is_enough: &dyn Fn() -> bool) {
        let are_many = || self.published().snapshot.layers().len() > SETTLED_LAYERS;
        self.wakeup
            .settle(SETTLED, SETTLED_TIMES, &|| is_enough() || are_many());
    }

    /// Merges and writes out what is due, and notes whether that failed. `calm`: for how long nobody has written.
    fn round(
        &self,
        calm: Calm,
        pace: CheckpointLimits,
        rest: &mut StatisticsPause,
    ) -> Result<(), ()> {
        let is_quiet = calm == Calm::Quiet;
        let merged = guarded(|| self.merge_all(calm.plan()));
        let written = if !self.wakeup.is_closing() && self.is_due(pace) {
            self.checkpoint_beside_merges()
        } else {
            Ok(())
        };
        let planned = guarded(|| self.plan_anew(is_quiet, rest));
        // What is closed in the middle of its work has not failed.
        let outcome = merged.and(written);
        let has_failed = outcome.is_err() && !self.wakeup.is_closing();
        let failure = outcome.and(planned).err();
        let failure = failure.filter(|_| !self.wakeup.is_closing());
        self.wakeup
            .note_failure(failure.map(|error| error.to_string()));
        if has_failed { Err(()) } else { Ok(()) }
    }

    /// A checkpoint takes seconds in which writers go on: their layers are merged meanwhile, because
    /// each one costs every reader another search.
    fn checkpoint_beside_merges(&self) -> Result<(), QueryError> {
        let write = || {
            let written = guarded(|| self.checkpoint());
            self.wakeup.wake();
            // Somebody else is writing one.
            written.or_else(|error| match error.kind {
                Kind::Conflict => Ok(()),
                _ => Err(error),
            })
        };
        std::thread::scope(|scope| {
            let writing = std::thread::Builder::new()
                .name("checkpoint".to_owned())
                .spawn_scoped(scope, write);
            let Ok(writing) = writing else {
                return write();
            };
            let mut merged = Ok(());
            let mut calm = Calm::Busy;
            while !writing.is_finished() && !self.wakeup.is_closing() {
                // It is looked often whether the checkpoint has ended.
                let is_woken = self.wakeup.wait(calm.pause().min(QUIET));
                if is_woken {
                    self.let_settle(&|| writing.is_finished());
                }
                calm = calm.after(is_woken);
                if calm != Calm::Quiet && merged.is_ok() {
                    merged = guarded(|| self.merge_all(calm.plan()));
                }
            }
            let written = writing.join().unwrap_or_else(|panic| Err(panicked(&panic)));
            written.and(merged)
        })
    }

    fn merge_all(&self, plan: Plan) -> Result<(), QueryError> {
        while !self.wakeup.is_closing() && self.merge_some(plan)? {}
        Ok(())
    }

    /// Whether enough has changed for a checkpoint.
    fn is_due(&self, pace: CheckpointLimits) -> bool {
        if self.beside.forbids() {
            return false;
        }
        let graph = self.published();
        let layers = graph.snapshot.layers();
        let delta: u64 = layers.iter().map(|layer| layer.quads()).sum();
        match self.log_figures() {
            None => delta > pace.memory_quads.max(graph.quads / 4),
            // A quarter of the base: what is written again and again stays in proportion.
            Some(figures) => {
                let is_long = figures.kept_bytes > pace.log_bytes;
                let is_very_long = figures.kept_bytes > pace.log_bytes * 16;
                // What streams say is in the log, whether it changes the graph or not.
                let says_something = !layers.is_empty() || self.beside.is_alive();
                says_something && (is_very_long || is_long && delta * 4 > graph.quads)
            }
        }
    }

    /// Merges one run of layers beside the writers; false where nothing was to be merged.
    fn merge_some(&self, plan: Plan) -> Result<bool, QueryError> {
        let (layers, fixed) = {
            let staged = self.turn.wait();
            let layers = staged.graph.snapshot.layers().to_vec();
            let fixed = frozen_layers(&layers, staged.frozen);
            (layers, fixed)
        };
        let sizes: Vec<u64> = layers[fixed..].iter().map(|layer| layer.quads()).collect();
        let Some(range) = plan(&sizes) else {
            return Ok(false);
        };
        let run = &layers[range.start + fixed..range.end + fixed];
        let merged = Arc::new(merge(run, &|| self.wakeup.is_closing())?);
        assert!(run.len() > 1, "a merge leaves fewer layers");
        self.put(run, &merged);
        Ok(true)
    }

    /// Puts the sum of some layers into their place, unless a checkpoint has begun since they were chosen
    /// and takes some of their commits with it.
    fn put(&self, run: &[Arc<Layer>], merged: &Arc<Layer>) {
        let mut staged = self.turn.wait();
        if straddles(merged, staged.frozen) {
            return;
        }
        self.exchange(&mut staged, &|graph| {
            let layers = replaced(graph.snapshot.layers(), run, merged)?;
            Some(graph.with_snapshot(graph.snapshot.with_layers(layers)))
        });
        self.wakeup.merges.fetch_add(1, Ordering::Relaxed);
    }

    /// What is published, whose commits must not be merged with later ones until this has been written.
    fn freeze(&self) -> Result<Arc<Graph>, QueryError> {
        let mut staged = self.turn.wait();
        if staged.frozen != 0 {
            let message = "a checkpoint is being made already";
            return Err(QueryError::new(Kind::Conflict, message));
        }
        // What is staged may have been merged with what is published already. A log that has failed
        // leaves what is published as it is.
        let fate = Arc::clone(&staged.fate);
        let gone_on = self.go_on(&mut staged);
        let settled = gone_on.and_then(|()| self.settle(staged.graph.snapshot.number(), &fate));
        let graph = self.published();
        let number = graph.snapshot.number();
        let mut layers = staged.graph.snapshot.layers().iter();
        assert!(
            number <= staged.graph.snapshot.number(),
            "nothing is published that was not staged"
        );
        if layers.any(|layer| straddles(layer, number)) {
            settled?;
            let message = "a layer holds commits that are published and others that are not";
            return Err(QueryError::new(Kind::Internal, message));
        }
        staged.frozen = number;
        Ok(graph)
    }

    /// Writes what is published as a new base, and lets go of the log and the layers that it holds.
    pub(crate) fn checkpoint(&self) -> Result<(), QueryError> {
        let (graph, kept) = self.beside.frozen(&|| self.freeze())?;
        let number = graph.snapshot.number();
        let _thaw = Thaw(self, number);
        if graph.snapshot.layers().is_empty() && kept.is_empty() {
            return Ok(());
        }
        let (base, dictionary, stored_bytes) = match &self.home {
            Some(home) => {
                let (base, dictionary, bytes) = self.write_generation(home, &graph, &kept)?;
                (base, Some(Arc::new(dictionary)), bytes)
            }
            None => (self.base_in_memory(&graph)?, None, 0),
        };
        let base = Arc::new(base);
        let mut staged = self.turn.wait();
        let layers = staged.graph.snapshot.layers();
        assert_eq!(
            staged.frozen, number,
            "layers stay frozen until they are written"
        );
        if layers.iter().any(|layer| straddles(layer, number)) {
            let message = "a layer holds commits of the checkpoint and later ones";
            return Err(QueryError::new(Kind::Internal, message));
        }
        let live = match dictionary {
            Some(dictionary) => Arc::new(staged.graph.dictionary.live().rebased(dictionary)),
            None => Arc::clone(staged.graph.dictionary.live()),
        };
        self.exchange(&mut staged, &|graph| {
            let layers = graph.snapshot.layers();
            let later = layers[frozen_layers(layers, number)..].to_vec();
            assert!(
                later.iter().all(|layer| *layer.commits().start() > number),
                "what was written is in the base, and nothing else"
            );
            let version = graph.version.rebased(Arc::clone(&base), later, &live);
            // The content is the same, so what the planner knows of it still holds. It is read anew when
            // nobody waits for that.
            let planned = StatisticsVersion {
                number: 0,
                ..graph.planned
            };
            Some(Graph {
                planned,
                stored_bytes,
                ..graph.with_version(version)
            })
        });
        drop(staged);
        self.wakeup.wake();
        if let Some(home) = &self.home {
            home.log.trim(number + 1)?;
        }
        self.wakeup.checkpoints.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Writes and opens a new generation of the store; its bytes are with it.
    fn write_generation(
        &self,
        home: &StoreHandle,
        graph: &Graph,
        kept: &Kept,
    ) -> Result<(Snapshot, Dictionary, u64), QueryError> {
        let lost = |error: LostError| QueryError::new(Kind::ReadOnly, error);
        // What lies there now may be another store, which is not ours to write into.
        home.lock.look(&*home.disk).map_err(lost)?;
        let generation = begin_locked(&*home.disk, &home.lock).map_err(failed)?;
        let spilling = Spilling::Above {
            limit_bytes: SORT_BYTES,
            disk: &*home.disk,
            directory: generation.directory(),
        };
        write_graph(graph, &generation, spilling, &|| self.wakeup.is_closing())?;
        let mut beside = BesideWriter::new(&generation);
        kept.write(&graph.dictionary, &mut |piece| {
            beside.append(piece).map_err(failed)
        })?;
        beside.finish().map_err(failed)?;
        // What was written may have been zeros in place of a file's bytes.
        graph.sound()?;
        home.lock.look(&*home.disk).map_err(lost)?;
        generation.commit(graph.manifest_counts()).map_err(failed)?;
        let opened = directory::open(&*home.disk, &home.location).map_err(failed)?;
        let (base, dictionary) = open_parts(&opened).map_err(failed)?;
        // Verified now, so that readers find trusted blocks; what was just written is in memory.
        base.verify_all()?;
        for file in dictionary.files() {
            file.verify_all().map_err(failed)?;
        }
        let bytes = opened.sizes().iter().map(|(_, bytes)| bytes).sum();
        Ok((base, dictionary, bytes))
    }

    fn base_in_memory(&self, graph: &Graph) -> Result<Snapshot, QueryError> {
        let files = MemoryParts::new();
        write_base(&graph.snapshot, &graph.prefixes(), &files, &|| {
            self.wakeup.is_closing()
        })?;
        let parts = files.freeze().map_err(failed)?;
        Snapshot::open(&parts).map_err(failed)
    }

    /// Gives what is published statistics of its own where they are due. `is_quiet`: nobody writes.
    fn plan_anew(&self, is_quiet: bool, rest: &mut StatisticsPause) -> Result<(), QueryError> {
        let graph = self.published();
        let is_old = is_quiet && graph.planned != StatisticsVersion::of(&graph);
        let begun = Instant::now();
        if begun < rest.until || !(is_old || graph.has_drifted()) {
            return Ok(());
        }
        rest.until = begun + UNREAD_PAUSE;
        let planner = Arc::new(Planner::new(plan_statistics(&graph.snapshot)?));
        rest.until = Instant::now() + begun.elapsed() * REST;
        let planned = StatisticsVersion::of(&graph);
        let mut staged = self.turn.wait();
        self.exchange(&mut staged, &|graph| {
            let is_newer = graph.planned.number < planned.number;
            is_newer.then(|| graph.planned_by(Arc::clone(&planner), planned))
        });
        Ok(())
    }
}

/// When maintenance may read statistics again.
struct StatisticsPause {
    until: Instant,
}

impl StatisticsPause {
    fn over() -> StatisticsPause {
        StatisticsPause {
            until: Instant::now(),
        }
    }
}

/// The layers with `run` replaced by `merged`; `None` where it is not among them.
fn replaced(
    layers: &[Arc<Layer>],
    run: &[Arc<Layer>],
    merged: &Arc<Layer>,
) -> Option<Vec<Arc<Layer>>> {
    let is_run = |window: &[Arc<Layer>]| {
        window
            .iter()
            .zip(run)
            .all(|(left, right)| Arc::ptr_eq(left, right))
    };
    let start = layers.windows(run.len()).position(is_run)?;
    let mut layers = layers.to_vec();
    layers.splice(start..start + run.len(), [Arc::clone(merged)]);
    Some(layers)
}

/// Ends the freezing of layers up to this commit, however the checkpoint ended.
struct Thaw<'w>(&'w Writer, u64);

impl Drop for Thaw<'_> {
    fn drop(&mut self) {
        let mut staged = self.0.turn.wait();
        let Staged { frozen, .. } = &mut *staged;
        // A version before the first commit freezes nothing, and another checkpoint may have begun meanwhile.
        if *frozen == self.1 {
            *frozen = 0;
        }
    }
}

#[allow(clippy::needless_pass_by_value)] // for `map_err`
fn failed(error: impl std::error::Error + 'static) -> QueryError {
    let message = format!("no checkpoint could be made: {error}");
    QueryError::of_cause(&error, Kind::ReadOnly, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use crate::{Database, Options, UpdateRequest};

    #[test]
    fn a_panic_is_a_failure() {
        assert!(guarded(|| Ok(())).is_ok());
        let error = guarded::<()>(|| panic!("no such layer")).unwrap_err();
        assert!(error.to_string().contains("no such layer"), "{error}");
    }

    fn empty() -> Database {
        let options = Options {
            memory_is_writable: true,
            ..Options::default()
        };
        testing::empty(&options)
    }

    /// One of a version without commits freezes nothing, so another may begin before it ends.
    #[test]
    fn a_checkpoint_thaws_what_it_has_frozen() {
        let database = empty();
        let writer = database.writer().unwrap();
        let frozen = || writer.turn.wait().frozen;
        let first = Thaw(&writer, writer.freeze().unwrap().snapshot.number());
        let request = UpdateRequest {
            text: "INSERT DATA { <http://e/s> <http://e/p> 1 }",
            ..UpdateRequest::default()
        };
        database.update(&request).unwrap();
        let number = writer.freeze().unwrap().snapshot.number();
        let second = Thaw(&writer, number);
        assert!(number > 0 && frozen() == number);
        drop(first);
        assert_eq!(frozen(), number);
        drop(second);
        assert_eq!(frozen(), 0);
    }

    /// A merge that began before a checkpoint and ended in it would take later commits away with it.
    #[test]
    fn layers_are_not_merged_across_a_checkpoint_that_has_begun() {
        let database = empty();
        let writer = database.writer().unwrap();
        let layers = || writer.published().snapshot.layers().to_vec();
        // Maintenance merges what lies there for a while, so there is not always something to merge.
        for number in 0..1000 {
            let text = format!("INSERT DATA {{ <http://e/s> <http://e/p> {number} }}");
            let request = UpdateRequest {
                text: &text,
                ..UpdateRequest::default()
            };
            database.update(&request).unwrap();
            let run = layers();
            if run.len() < 2 {
                continue;
            }
            let merged = Arc::new(merge(&run, &|| false).unwrap());
            writer.turn.wait().frozen = *run[0].commits().end();
            writer.put(&run, &merged);
            let is_there = layers().iter().any(|layer| Arc::ptr_eq(layer, &merged));
            assert!(!is_there);
            writer.turn.wait().frozen = 0;
            return;
        }
        panic!("layers were always merged at once");
    }

    /// The batches of LSBench's streams that are stored, every 100 ms, without a moment of quiet.
    #[test]
    fn layers_beside_streams_are_few() {
        let mut sizes: Vec<u64> = Vec::new();
        let (mut layers, mut total, mut written) = (0, 0, 0);
        let mut merge_all = |sizes: &mut Vec<u64>, plan: Plan| {
            while let Some(range) = plan(sizes) {
                assert!(range.len() > 1 && range.end == sizes.len());
                let sum: u64 = sizes[range.clone()].iter().sum();
                sizes.splice(range, [sum]);
                written += sum;
            }
        };
        let mut calm = Calm::Quiet;
        for _ in 0..400 {
            for quads in [1_000, 860, 1_000, 187] {
                sizes.push(quads);
                total += quads;
                calm = calm.after(true);
                merge_all(&mut sizes, calm.plan());
            }
            assert!(calm.pause() < Duration::from_millis(50), "between bursts");
            calm = calm.after(false);
            merge_all(&mut sizes, calm.plan());
            layers += sizes.len();
        }
        let (layers, times) = (layers as f64 / 400.0, written as f64 / total as f64);
        assert!(
            layers < 3.0 && times < 12.0,
            "{layers} layers on average, each quad written {times} times"
        );
        assert_eq!(calm.after(false), Calm::Quiet);
        assert_eq!(in_lull(&[]), None);
        assert_eq!(in_lull(&[1 << 20]), None);
        assert_eq!(in_lull(&[LULL_QUADS, 1]), None);
        assert_eq!(in_lull(&[1 << 20, LULL_QUADS, 1]), None);
        assert_eq!(in_lull(&[1 << 20, LULL_QUADS - 1, 1]), Some(1..3));
        assert_eq!(in_lull(&[1 << 20, 1 << 16, LULL_QUADS, 1]), None);
        assert_eq!(in_lull(&[1 << 20, 1 << 16, 1 << 14, 1 << 12]), Some(1..4));
    }

    #[test]
    fn a_large_layer_is_not_written_again_for_a_few_quads() {
        assert_eq!(is_worth_it(&[]), None);
        assert_eq!(is_worth_it(&[7]), None);
        assert_eq!(is_worth_it(&[7, 1]), Some(0..2));
        assert_eq!(is_worth_it(&[ALWAYS_QUADS, 1]), Some(0..2));
        let large = ALWAYS_QUADS * 64;
        assert_eq!(is_worth_it(&[large, 1]), None);
        assert_eq!(is_worth_it(&[large, 1, 1]), Some(1..3));
        assert_eq!(is_worth_it(&[large, large / 16, 1]), Some(0..3));
        assert_eq!(is_worth_it(&[large, large / 64, large / 40]), Some(0..3));
    }
}
