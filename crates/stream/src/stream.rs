//! One stream: its sources, its open and its sealed batches, how far it is visible, and who waits for it.
//!
//! ```text
//!   push -> open batches --watermark--> settled --seal--> sealed --every part--> visible -> windows
//!              late <- items before it
//! ```
//!
//! Three moments follow each other and none goes back: what is *settled* (an item before it is late), what is *sealed*
//! (it was handed out to be logged), and what is *visible* (every part has it, and queries see it).

mod resumed;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::batch::{OpenBatches, Settled};
use crate::definition::Definition;
use crate::error::{StreamError, unsealed};
use crate::items::Items;
use crate::reach::Sight;
use crate::retention::Retained;
use crate::schedule::{CohortId, StreamId};
use crate::time::{SealPoint, Time};
use crate::vector::{PartId, Vector};
use crate::watermark::{SourceId, Watermarks};
use rdf::VertexId;
use rdf::transient::Renamed;

/// The slowest source may exceed the budget by this share, because only its items let the stream go on.
const RESERVE_SHARE: u64 = 8;

/// A seal: which items a span of a stream has, once and for all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seal {
    /// The stream.
    pub stream: StreamId,
    /// Where the span begins: where the seal before ended.
    pub from: SealPoint,
    /// Where it ends: one batch later, or its edge, or after batches in which nothing came.
    pub until: SealPoint,
    /// Its items, by time; those of one time in the order in which they came.
    pub items: Arc<Items>,
}

/// What came late in a stream and revises what was evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LateSeal {
    /// The stream.
    pub stream: StreamId,
    /// Items, by time.
    pub items: Arc<Items>,
}

/// What became of pushed items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// How many were taken.
    pub taken: usize,
    /// Those that came too late, in their order: no window will have them but those that are revised.
    pub late: Items,
    /// What is before this is decided: the stream's settled moment after the push.
    pub settled: Time,
}

/// One stream; see the head of this file.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(crate) definition: Definition,
    begin: Time,
    pub(crate) watermarks: Watermarks,
    pub(crate) open: OpenBatches,
    pub(crate) retained: Retained,
    pub(crate) vector: Vector,
    /// Queries that name it, by cohort, as all that follow.
    pub(crate) readers: BTreeSet<CohortId>,
    /// Those of them that ask for edges.
    pub(crate) edge_readers: BTreeSet<CohortId>,
    /// Those of them that ask when and how often quads came.
    pub(crate) arrival_readers: BTreeSet<CohortId>,
    /// Those of them that late items revise, by how late those may be (milliseconds).
    pub(crate) revisers: BTreeSet<(u64, CohortId)>,
    /// Late items that revise and were not handed out yet.
    late: Items,
    /// How much longer than the stream its queries wait for what is late (milliseconds).
    pub(crate) patience: BTreeSet<(u64, CohortId)>,
    /// Queries that wait until it is covered up to a moment.
    pub(crate) waiting: BTreeSet<(Time, CohortId)>,
    /// Queries that wait for something to come.
    pub(crate) listening: BTreeSet<CohortId>,
    /// From which moment on queries may see it.
    pub(crate) floors: BTreeSet<(Time, CohortId)>,
    /// Its queries are not all registered yet: nothing is dropped.
    pub(crate) is_resuming: bool,
    /// Where it stands among the streams that have a seal to give.
    pub(crate) offered: Option<Time>,
    /// What somebody else holds for it: its terms (bytes).
    pub(crate) beside_bytes: u64,
}

impl Stream {
    /// One that begins at `begin` and lies at so many parts.
    pub(crate) fn new(definition: Definition, begin: Time, now: Time, parts: u16) -> Stream {
        let open = OpenBatches::new(definition.grain_ms, begin);
        Stream {
            begin,
            watermarks: Watermarks::new(definition.idle_ms, begin, now),
            vector: Vector::new(parts, open.sealed()),
            open,
            retained: Retained::new(definition.grain_ms),
            definition,
            readers: BTreeSet::new(),
            edge_readers: BTreeSet::new(),
            arrival_readers: BTreeSet::new(),
            revisers: BTreeSet::new(),
            late: Items::new(),
            patience: BTreeSet::new(),
            waiting: BTreeSet::new(),
            listening: BTreeSet::new(),
            floors: BTreeSet::new(),
            is_resuming: false,
            offered: None,
            beside_bytes: 0,
        }
    }

    /// What queries may see of it.
    pub(crate) fn sight(&self) -> Sight<'_> {
        Sight {
            retained: &self.retained,
            covered: self.covered(),
            begin: self.begin,
        }
    }

    /// All before this is visible.
    pub(crate) fn covered(&self) -> Time {
        self.vector.visible().covered(self.definition.grain_ms)
    }

    /// How far it is visible.
    pub(crate) fn visible(&self) -> SealPoint {
        self.vector.visible()
    }

    /// When it begins.
    pub(crate) fn begin(&self) -> Time {
        self.begin
    }

    /// Its watermark.
    pub(crate) fn watermark(&self) -> Time {
        self.watermarks.watermark()
    }

    /// Whether it has no active source, and had none for long enough.
    pub(crate) fn is_idle(&self) -> bool {
        self.watermarks.is_idle() && !self.definition.arrival_time
    }

    /// What it holds (bytes), what is held elsewhere for it included.
    pub(crate) fn bytes(&self) -> u64 {
        self.open.bytes() + self.retained.bytes() + self.late.bytes() + self.beside_bytes
    }

    /// Gives each transient id that an item names, as often as items do.
    pub(crate) fn name_transients(&self, name: &mut dyn FnMut(VertexId)) {
        let open = self.open.open().chain([&self.late]);
        open.flat_map(Items::transients).for_each(&mut *name);
        self.retained.name_transients(name);
    }

    /// Puts stored ids in place of transient ones.
    pub(crate) fn rename(&mut self, renamed: &Renamed) {
        self.open.rename(renamed);
        self.late.rename(renamed);
        self.retained.rename(renamed);
    }

    /// Takes items of a source, all of them or none.
    pub(crate) fn push(
        &mut self,
        source: SourceId,
        items: &Items,
        now: Time,
    ) -> Result<Accepted, StreamError> {
        self.make_room(source, items.bytes())?;
        let (late, promised) = if self.definition.arrival_time {
            let mut stamped = Items::new();
            items.iter().for_each(|(_, quads)| stamped.add(now, quads));
            (self.open.add(&stamped), Time(0))
        } else {
            let latest = items.times().iter().max().copied();
            (self.open.add(items), latest.unwrap_or_default())
        };
        self.note_late(&late);
        self.hear(source, promised, now);
        Ok(Accepted {
            taken: items.len() - late.len(),
            late,
            settled: self.open.settled(),
        })
    }

    /// Keeps late items that revise something.
    fn note_late(&mut self, late: &Items) {
        let Some(&(longest_ms, _)) = self.revisers.last() else {
            return;
        };
        let kept = self.covered().earlier(longest_ms);
        let kept = kept.max(self.retained.dropped().unwrap_or_default());
        for (time, quads) in late.iter() {
            if time >= kept.max(self.begin) {
                self.late.add(time, quads);
            }
        }
    }

    /// Whether there are late items that revise.
    pub(crate) fn has_late(&self) -> bool {
        !self.late.is_empty()
    }

    /// Late items that revise, all that came since they were taken last.
    pub(crate) fn take_late(&mut self) -> Option<Items> {
        let late = std::mem::take(&mut self.late);
        (!late.is_empty()).then(|| late.sorted())
    }

    /// A source promises that its later items have at least this time.
    pub(crate) fn hear(&mut self, source: SourceId, promised: Time, now: Time) {
        self.watermarks.hear(source, promised, now);
        self.settle();
    }

    /// A source will come.
    pub(crate) fn join(&mut self, source: SourceId, now: Time) {
        self.watermarks.join(source, now);
    }

    /// A source is gone.
    pub(crate) fn leave(&mut self, source: SourceId, now: Time) {
        self.watermarks.leave(source, now);
        self.settle();
    }

    /// The edge's clock says this.
    pub(crate) fn tick(&mut self, now: Time) {
        self.watermarks.tick(now);
        if self.definition.arrival_time {
            self.watermarks.advance(now);
        }
        self.settle();
    }

    /// Decides all that the watermark and the lateness let.
    pub(crate) fn settle(&mut self) {
        let patience_ms = self
            .patience
            .last()
            .map_or(0, |&(longest_ms, _)| longest_ms);
        let lateness_ms = self.definition.lateness_ms.saturating_add(patience_ms);
        let time = self.watermarks.watermark().earlier(lateness_ms);
        self.open.settle(time, !self.edge_readers.is_empty());
    }

    /// Decides all before `time` though no source says so: the stream is idle, and another one has come so far.
    pub(crate) fn follow(&mut self, time: Time) {
        let grain_ms = self.definition.grain_ms;
        let point = SealPoint::before(time, grain_ms, !self.edge_readers.is_empty());
        self.open.obey(if point.covered(grain_ms) < time {
            SealPoint::whole(point.batches + 1)
        } else {
            point
        });
    }

    /// Decides all before a point that is known from elsewhere.
    pub(crate) fn obey(&mut self, point: SealPoint) {
        self.open.obey(point);
    }

    /// When the next seal ends, if there is one.
    pub(crate) fn next_seal_end(&self) -> Option<Time> {
        let end = self.open.next_end()?;
        Some(end.covered(self.definition.grain_ms))
    }

    /// The next seal, if there is one.
    pub(crate) fn next_seal(&mut self, stream: StreamId) -> Option<Seal> {
        let settled = self.open.next_settled()?;
        Some(self.sealed_as(stream, settled))
    }

    /// The next seal if no more were decided than this: a log may say a seal behind what has decided more.
    pub(crate) fn next_seal_within(&mut self, stream: StreamId, limit: SealPoint) -> Option<Seal> {
        let settled = self.open.next_settled_within(limit)?;
        Some(self.sealed_as(stream, settled))
    }

    fn sealed_as(&mut self, stream: StreamId, settled: Settled) -> Seal {
        let items = Arc::new(settled.items);
        self.retained.seal(settled.until, Arc::clone(&items));
        Seal {
            stream,
            from: settled.from,
            until: settled.until,
            items,
        }
    }

    /// The part that is here has sealed no more than it handed out.
    pub(crate) fn check_sealed(&self, until: SealPoint) -> Result<(), StreamError> {
        let sealed = self.open.sealed();
        if until <= sealed {
            return Ok(());
        }
        let Definition { name, grain_ms, .. } = &self.definition;
        Err(unsealed(name, *grain_ms, sealed, until))
    }

    /// A part has sealed its share. Whether that made something visible that came. Where a query reads the stream, whole
    /// batches that are visible have their slices then.
    pub(crate) fn seal(&mut self, part: PartId, until: SealPoint) -> Result<bool, StreamError> {
        let before = self.visible();
        let visible = self.vector.seal(part, until);
        let visible = visible.ok_or(StreamError::NoPart(part))?;
        // A batch whose edge was visible before has changed when it is whole, even if its rest is empty.
        let start = SealPoint::whole(before.batches).covered(self.definition.grain_ms);
        let came = self.retained.first_from(start);
        if !self.readers.is_empty() {
            self.retained.slice_until(visible.batches);
        }
        Ok(visible > before && came.is_some_and(|came| came < self.covered()))
    }

    /// Drops what no window will see and nobody wants to keep.
    pub(crate) fn forget(&mut self) {
        if self.is_resuming {
            return;
        }
        let kept = self.covered().earlier(self.definition.retain_ms);
        self.forget_until(kept);
    }

    fn forget_until(&mut self, time: Time) {
        let seen = self.floors.first().map_or(time, |&(floor, _)| floor);
        self.retained.drop_until(seen.min(time));
    }

    /// Gives up what can be made again and what is kept for nobody in particular.
    pub(crate) fn give_up(&mut self) {
        self.retained.drop_panes();
        self.forget_until(self.covered());
    }

    /// Makes room for so many bytes: first what can be made again goes, then what is kept for nobody in particular.
    pub(crate) fn make_room(
        &mut self,
        source: SourceId,
        more_bytes: u64,
    ) -> Result<(), StreamError> {
        let budget_bytes = self.definition.budget_bytes;
        let reserve_bytes = if self.watermarks.waits_for(source) {
            budget_bytes / RESERVE_SHARE
        } else {
            0
        };
        let fits = |stream: &Stream| {
            stream.bytes().saturating_add(more_bytes) <= budget_bytes.saturating_add(reserve_bytes)
        };
        if fits(self) {
            return Ok(());
        }
        self.give_up();
        if fits(self) {
            return Ok(());
        }
        Err(StreamError::Full {
            name: self.definition.name.clone(),
            held_bytes: self.bytes().saturating_add(more_bytes),
            budget_bytes,
        })
    }
}
