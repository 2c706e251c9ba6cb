//! A sealed batch: its items, and the slices of its parts.
//!
//! Items come as they were pushed, and are columns beside a pane from the moment on at which a slice of them is made; see
//! [`crate::columns`]. What is kept beside the pane are the slices of the batch's edge and of the rest without it, while
//! windows `(o, c]` ask for them.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::panes::{PaneId, Panes, Place};
use crate::columns::Columns;
use crate::items::Items;
use crate::time::Time;
use rdf::VertexId;
use store::slice::Slice;

/// How a batch has its items.
#[derive(Clone, Debug)]
pub(super) enum Kept {
    /// As they came, by time.
    Plain(Arc<Items>),
    /// As columns beside a pane.
    Columns(Columns, PaneId),
}

impl Kept {
    /// The places of all its quads in the pane that it stands on.
    pub(super) fn places(&self) -> impl Iterator<Item = u32> {
        let columns = match self {
            Kept::Plain(_) => None,
            Kept::Columns(columns, _) => Some(columns),
        };
        columns.into_iter().flat_map(|it| it.places(0..it.len()))
    }
}

/// See the head of this file.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    pub(super) number: u64,
    /// How many items of the stream are before its first.
    pub(super) first: u64,
    pub(super) kept: Kept,
    /// How many of its items are its edge.
    pub(super) edge_items: usize,
    /// The newest transient term that it names (its number).
    pub(super) newest_transient: Option<u64>,
    /// Whether its rest is sealed, too.
    pub(super) is_whole: bool,
    edge: Option<Arc<Slice>>,
    rest: Option<Arc<Slice>>,
    /// Whether windows asked for its parts since the last sweep.
    is_asked: bool,
}

impl Batch {
    /// Of items that were sealed, so many others before them.
    pub(super) fn new(number: u64, grain_ms: u64, first: u64, items: Arc<Items>) -> Batch {
        Batch {
            number,
            first,
            edge_items: items.before(Time(number * grain_ms).later(1)),
            newest_transient: items.transients().map(VertexId::payload).max(),
            kept: Kept::Plain(items),
            is_whole: false,
            edge: None,
            rest: None,
            is_asked: false,
        }
    }

    /// Takes the rest of a batch whose edge was sealed before.
    pub(super) fn append(&mut self, items: &Items) {
        let newest = items.transients().map(VertexId::payload).max();
        self.newest_transient = self.newest_transient.max(newest);
        let Kept::Plain(own) = &mut self.kept else {
            unreachable!("a batch is sliced when it is whole")
        };
        Arc::make_mut(own).append(items);
    }

    /// How many items.
    pub(super) fn len(&self) -> usize {
        match &self.kept {
            Kept::Plain(items) => items.len(),
            Kept::Columns(columns, _) => columns.len(),
        }
    }

    /// The time of an item. Asserts that there is one.
    pub(super) fn time(&self, item: usize) -> Time {
        match &self.kept {
            Kept::Plain(items) => items.times()[item],
            Kept::Columns(columns, _) => columns.time(item),
        }
    }

    /// How many items are before `time`.
    pub(super) fn before(&self, time: Time) -> usize {
        match &self.kept {
            Kept::Plain(items) => items.before(time),
            Kept::Columns(columns, _) => columns.before(time),
        }
    }

    /// Its items.
    pub(super) fn items(&self, panes: &Panes) -> Cow<'_, Items> {
        match &self.kept {
            Kept::Plain(items) => Cow::Borrowed(items),
            Kept::Columns(columns, pane) => {
                Cow::Owned(columns.items(0..columns.len(), panes.slice(*pane)))
            }
        }
    }

    /// The pane that it stands on.
    pub(super) fn pane(&self) -> Option<PaneId> {
        match &self.kept {
            Kept::Plain(_) => None,
            Kept::Columns(_, pane) => Some(*pane),
        }
    }

    /// Its items, its columns and the slices of its parts (bytes), without the pane that it stands on.
    pub(super) fn bytes(&self) -> u64 {
        let slices = [&self.edge, &self.rest].into_iter().flatten();
        self.item_bytes() + slices.map(|slice| slice.bytes()).sum::<u64>()
    }

    /// Its items or its columns (bytes).
    pub(super) fn item_bytes(&self) -> u64 {
        let items = match &self.kept {
            Kept::Plain(items) => items.bytes(),
            Kept::Columns(columns, _) => columns.bytes(),
        };
        items + size_of::<Batch>() as u64
    }

    /// How many quads its items have, as often as they came.
    pub(super) fn quads(&self) -> usize {
        match &self.kept {
            Kept::Plain(items) => items.quads().len(),
            Kept::Columns(columns, _) => columns.quads(),
        }
    }

    /// Gives up the slices of its parts.
    pub(super) fn drop_parts(&mut self) {
        (self.edge, self.rest) = (None, None);
    }

    /// Gives them up if nobody asked for them since the last time.
    pub(super) fn sweep(&mut self) {
        if !std::mem::take(&mut self.is_asked) {
            self.drop_parts();
        }
    }

    /// The slice of all its items, which is to be a pane.
    pub(super) fn slice(&self, panes: &Panes, has_arrivals: bool) -> Slice {
        assert!(
            self.is_whole,
            "a window has whole batches only when they are sealed"
        );
        match &self.kept {
            Kept::Columns(_, pane) if !has_arrivals => {
                let places = self.kept.places().collect();
                panes.slice(*pane).part(&ascending(places))
            }
            _ => self.slice_of(panes, 0..self.len(), has_arrivals),
        }
    }

    /// The slice of some of its items, but not of all of a whole batch; kept where windows will ask again.
    pub(super) fn part(
        &mut self,
        panes: &Panes,
        items: Range<usize>,
        has_arrivals: bool,
    ) -> Arc<Slice> {
        self.is_asked = true;
        let is_end = self.is_whole && items.end == self.len();
        let is_edge = items == (0..self.edge_items);
        let is_rest = items.start == self.edge_items && is_end;
        let kept = match (is_edge, is_rest) {
            (true, _) => &self.edge,
            (false, true) => &self.rest,
            (false, false) => &None,
        };
        if let Some(kept) = kept {
            return Arc::clone(kept);
        }
        let slice = Arc::new(self.slice_of(panes, items, has_arrivals));
        match (is_edge, is_rest) {
            (true, _) => self.edge = Some(Arc::clone(&slice)),
            (false, true) => self.rest = Some(Arc::clone(&slice)),
            (false, false) => {}
        }
        slice
    }

    fn slice_of(&self, panes: &Panes, range: Range<usize>, has_arrivals: bool) -> Slice {
        match &self.kept {
            Kept::Plain(items) => slice_of(items, range, has_arrivals),
            Kept::Columns(columns, pane) => {
                let items = columns.items(range, panes.slice(*pane));
                slice_of(&items, 0..items.len(), has_arrivals)
            }
        }
    }

    /// From now on its items are columns beside a pane that has their quads.
    pub(super) fn stand_on(&mut self, panes: &mut Panes, pane: PaneId, grain_ms: u64) {
        if let Kept::Plain(items) = &self.kept {
            let begin = Time(self.number * grain_ms);
            let columns = Columns::of(begin, items, panes.slice(pane));
            self.stand(panes, Kept::Columns(columns, pane));
        }
    }

    /// Moves it from the pane that it stands on to another; `places` says where the quads of the one are in the other.
    pub(super) fn move_to(&mut self, panes: &mut Panes, pane: PaneId, places: &[Option<u32>]) {
        if let Kept::Columns(columns, _) = &self.kept {
            let moved = columns.moved(places);
            self.stand(panes, Kept::Columns(moved, pane));
        }
    }

    /// From now on it has these items, with other ids than before.
    pub(super) fn replace(&mut self, panes: &mut Panes, items: Items) {
        self.stand(panes, Kept::Plain(Arc::new(items)));
    }

    /// It is dropped: it stands on nothing.
    pub(super) fn leave(&mut self, panes: &mut Panes) {
        self.stand(panes, Kept::Plain(Arc::default()));
    }

    fn stand(&mut self, panes: &mut Panes, kept: Kept) {
        let before = self.pane();
        self.kept = kept;
        if let Some(pane) = self.pane() {
            panes.stand_on(pane);
        }
        if let Some(before) = before {
            panes.leave(before);
        }
    }

    /// Its place among panes.
    pub(super) fn place(&self) -> Place {
        Place::single(self.number)
    }
}

/// Places in order, each once.
pub(super) fn ascending(mut places: Vec<u32>) -> Vec<u32> {
    places.sort_unstable();
    places.dedup();
    places
}

/// The slice of some items.
pub(super) fn slice_of(items: &Items, range: Range<usize>, has_arrivals: bool) -> Slice {
    if !has_arrivals {
        return Slice::of(items.quads_of(range));
    }
    Slice::of_arrivals(range.map(|item| {
        let time_ms = items.times()[item].0;
        (time_ms, items.quads_of(item..item + 1))
    }))
}
