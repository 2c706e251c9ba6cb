//! What layers have made of segments, as segments of their own beside the base's.
//!
//! A version is a base and layers; images are of the base. For a segment that layers have changed the edges that came and those that
//! went ([`Overlay`]) are put together in the host's memory, and are brought to the device as any segment is: whole where there is room, in
//! pages else. So kernels ask up to three segments where one was changed, however many layers there are.
//!
//! Two overlays of a segment are known, of the versions that were looked at last: commits go on, and few queries look at a moment that has
//! gone by. What an earlier one had on the device goes once no section looks at it; its number is the next one's then.
//!
//! An overlay that is large beside its segment costs more to put together than is gained, and a checkpoint is not far: queries over
//! such a segment stay on the processors.

use super::{Cache, Entry};
use crate::account::Drawn;
use crate::changes::Changes;
use crate::error::GpuError;
use crate::graphs::Graphs;
use crate::image::Outline;
use crate::versioned::Numbers;
use std::sync::Arc;
use store::delta::{OverlayEdges, Version};
use store::raw::RawSegment;
use store::{SegmentKey, Snapshot, ViewError};

/// Changes of a segment that are brought whatever its length is, and the most that ever are: a merge of some 10 ns each.
const ROWS: (u64, u64) = (1 << 16, 1 << 20);

/// The part of a segment, one edge in so many, that may have changed.
const PART: u64 = 8;

/// Overlays of a segment that are known.
const KEPT: usize = 2;

/// Bytes of a changed row at most while changes are put together: a key, its first row and a neighbour of 8 bytes each, in vectors
/// twice as long; the same of keys.
const ROW_BYTES: u64 = 2 * 2 * 3 * 8;

/// Which changes of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum What {
    /// Edges.
    Edges,
    /// Keys, each as an edge to itself.
    Keys,
}

/// Where the bytes of a segment come from.
#[derive(Clone)]
pub(super) enum Source {
    Base,
    Came(Arc<Changes>),
    Went(Arc<Changes>),
    /// No section looks at it any more.
    Nowhere,
}

/// Those of the version that was looked at last, and their numbers.
pub(super) struct Overlaid {
    changes: Arc<Changes>,
    came: Option<u32>,
    went: Option<u32>,
}

impl Entry {
    /// Its parts.
    pub(super) fn raw<'e>(&'e self, base: &'e Snapshot) -> Result<RawSegment<'e>, ViewError> {
        let raw = match &self.source {
            Source::Base => base.raw_segment_again(self.key)?,
            Source::Nowhere => None,
            Source::Came(changes) => changes.came().raw(),
            Source::Went(changes) => changes.went().raw(),
        };
        Ok(raw.expect("a segment that has an outline"))
    }
}

impl Cache {
    /// The numbers of what a segment of this version is made of; `None` where no edge of the base has the predicate. Changes that were not
    /// put together yet are, or it is [`GpuError::Busy`].
    pub(crate) fn numbers_in(
        &mut self,
        (key, what): (SegmentKey, What),
        version: Option<&Version>,
        may_make: bool,
    ) -> Result<Option<Numbers>, GpuError> {
        let Some(base) = self.number(key)? else {
            return Ok(None);
        };
        let mut numbers = Numbers {
            base,
            came: None,
            went: None,
            changes: None,
        };
        if let Some(version) = version.filter(|version| !version.is_base_alone(key)) {
            if self.entries[base as usize].described.graphs != Graphs::DEFAULT {
                // Of what layers have changed nobody knows the graphs.
                return Err(GpuError::Layered);
            }
            let overlaid = self.overlaid((key, what), base, version, may_make)?;
            numbers.came = overlaid.came;
            numbers.went = overlaid.went;
            numbers.changes = Some(Arc::clone(&overlaid.changes));
        }
        Ok(Some(numbers))
    }

    fn overlaid(
        &mut self,
        name: (SegmentKey, What),
        base: u32,
        version: &Version,
        may_make: bool,
    ) -> Result<&Overlaid, GpuError> {
        let known = self.overlaid.entry(name).or_default();
        let place = known
            .iter()
            .position(|it| it.changes.edges().is_of(version));
        if let Some(place) = place {
            known[place..].rotate_left(1);
        } else if may_make {
            self.retire(name, KEPT - 1);
            self.leave_retired()?;
            let changes = match self.changes(name, base, version) {
                Err(GpuError::NoRoom { .. }) => {
                    self.retire(name, 0);
                    self.leave_retired()?;
                    self.changes(name, base, version)
                }
                made => made,
            };
            let changes = changes.map_err(|error| match error {
                // What is not given is not brought: the section ends there.
                GpuError::NoRoom { .. } => GpuError::Layered,
                error => error,
            })?;
            let made = self.enter(name.0, changes);
            self.overlaid.entry(name).or_default().push(made);
        } else {
            return Err(GpuError::Busy);
        }
        let newest = self.overlaid[&name].last();
        Ok(newest.expect("one was found or made"))
    }

    /// Keeps so many overlays of a segment, those that were looked at last.
    fn retire(&mut self, name: (SegmentKey, What), kept: usize) {
        let known = self.overlaid.entry(name).or_default();
        let gone = known.len().saturating_sub(kept);
        for old in known.drain(..gone) {
            self.retired.extend(old.came.into_iter().chain(old.went));
        }
    }

    /// Puts together what layers have made of a segment.
    fn changes(
        &mut self,
        (key, what): (SegmentKey, What),
        base: u32,
        version: &Version,
    ) -> Result<Changes, GpuError> {
        let rows = self.entries[base as usize].described.segment.rows;
        let most = (rows / PART).clamp(ROWS.0, ROWS.1);
        let changed = version.overlay_rows_max(key)?;
        if changed > most {
            return Err(GpuError::Layered);
        }
        let drawn = Drawn::new(self.host.account(), changed * ROW_BYTES)?;
        let other = match what {
            What::Edges => What::Keys,
            What::Keys => What::Edges,
        };
        let known = self.overlaid.get(&(key, other)).into_iter().flatten();
        let mut known = known.map(|known| known.changes.edges());
        let edges = match known.find(|edges| edges.is_of(version)) {
            Some(edges) => Arc::clone(edges),
            None => Arc::new(version.overlay(key)?),
        };
        let keys = match what {
            What::Edges => None,
            What::Keys => Some(version.overlay_keys(&edges)?),
        };
        Ok(Changes::new(edges, keys, drawn))
    }

    /// Takes the places of what no version has any more and no section looks at.
    fn leave_retired(&mut self) -> Result<(), GpuError> {
        if let Some(space) = &mut self.space {
            space.settle(&*self.device)?;
        }
        for place in 0..self.retired.len() {
            let number = self.retired[place];
            if self.entries[number as usize].pins == 0 {
                self.forget(number)?;
                self.entries[number as usize].source = Source::Nowhere;
            }
        }
        Ok(())
    }

    /// No section looks at this one any more: if no version has it, its place is free, and its bytes are given back.
    pub(super) fn leave(&mut self, number: u32) {
        let entry = &self.entries[number as usize];
        // One with pages in the table goes when somebody waits for the table anyway.
        if self.retired.contains(&number) && entry.view.is_none() && self.forget(number).is_ok() {
            self.entries[number as usize].source = Source::Nowhere;
        }
    }

    fn enter(&mut self, key: SegmentKey, changes: Changes) -> Overlaid {
        let changes = Arc::new(changes);
        let page_bytes = 1 << self.arena.bits();
        let mut number = |edges: &OverlayEdges, source: Source| {
            let outline = Outline::of(&edges.raw()?, page_bytes, Graphs::DEFAULT);
            Some(self.entered(key, source, outline))
        };
        let came = number(changes.came(), Source::Came(Arc::clone(&changes)));
        let went = number(changes.went(), Source::Went(Arc::clone(&changes)));
        Overlaid {
            changes,
            came,
            went,
        }
    }
}
