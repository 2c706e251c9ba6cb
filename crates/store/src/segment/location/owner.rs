//! The owner's side: which memory holds the lists of a segment, and that it was verified.
//!
//! Blocks are compared with their checksums before their memory is given, some at a time: an owner says so where it answers
//! others, and must not be long about it. 64 KiB take some 15 us.

use super::{COLUMNS, ListColumn, Located, LocatedSegment, Location};
use crate::format::{ChunkEntry, flags};
use crate::segment::planes::Encoding;
use crate::segment::raw::index::extent_of;
use crate::segment::reader::{ColumnKind, Segment};
use crate::snapshot::Snapshot;
use crate::source::{Fault, damaged, inconsistent};
use crate::view::SegmentKey;
use memory::CheckedRegion;
use rdf::PredicateId;
use std::ops::Range;

/// Named graphs that are told with a segment (count): 512 KiB. Segments of a graph with more are asked for.
const GRAPHS_MAX: u64 = 1 << 16;

/// Ranges of changed keys that are told with a segment (count).
const CHANGED_MAX: usize = 1 << 10;

impl Snapshot {
    /// Where a segment's lists lie, as [`GraphView::located`](crate::GraphView::located) says it.
    pub(crate) fn locate(&self, segment: SegmentKey, verify_bytes: u64) -> Result<Located, Fault> {
        if segment.predicate == PredicateId::SIGNATURE || self.damage().is_some() {
            return Ok(Located::Nowhere);
        }
        let Some(segment) = self.segment(segment)? else {
            return Ok(Located::of_no_edges());
        };
        if segment.has_graphs() && self.graphs()?.count() > GRAPHS_MAX {
            return Ok(Located::Nowhere);
        }
        let mut left = verify_bytes;
        for (region, range) in places(&segment)?.into_iter().flatten() {
            if !region.verify_some(range, &mut left).map_err(damaged)? {
                return Ok(Located::Later);
            }
        }
        let mut columns = [const { None }; COLUMNS];
        for (column, place) in columns.iter_mut().zip(places(&segment)?) {
            let Some((region, range)) = place else {
                continue;
            };
            let slice = region
                .region()
                .slice(range.start as usize..range.end as usize);
            let beyond = || inconsistent(region, "a reference beyond the end");
            *column = Some(slice.ok_or_else(beyond)?);
        }
        let graphs = if segment.has_graphs() {
            Some(self.graphs()?.all().map(rdf::VertexId::bits).collect())
        } else {
            None
        };
        let location = location_of(&segment, graphs)?;
        Ok(Located::Here(Box::new(LocatedSegment {
            location,
            columns,
        })))
    }
}

/// A file and some of its bytes.
type FilePlace<'v> = (&'v CheckedRegion, Range<u64>);

/// Where the columns of a segment stand in the files, in the order of [`ListColumn`].
fn places<'v>(segment: &Segment<'v>) -> Result<[Option<FilePlace<'v>>; COLUMNS], Fault> {
    let (side, descriptor) = (segment.side, &segment.descriptor);
    let column = |region: &'v CheckedRegion, at: u64, count: u64, bytes: u64| {
        let end = count
            .checked_mul(bytes)
            .and_then(|length| at.checked_add(length));
        match end {
            Some(end) if end <= region.len() => Ok(Some((region, at..end))),
            _ => Err(inconsistent(region, "a reference beyond the end")),
        }
    };
    let keys = (&side.keys, extent_of(&segment.index()?)?);
    let offsets = if segment.is_functional() {
        None
    } else {
        let width = descriptor.flags >> flags::OFFSET_WIDTH_SHIFT & 3;
        let count = descriptor.keys.saturating_add(1);
        column(&side.offsets, descriptor.offsets_at, count, 1 << width)?
    };
    let (planes, row_bytes) = match segment.column()?.kind {
        ColumnKind::Ids => (0, 8),
        ColumnKind::One(_) => (1, 4),
        ColumnKind::Many(planes) => (planes.bases.len() as u64, 4),
    };
    let rows_at = descriptor.neighbours_at.saturating_add(8 * planes);
    let neighbours = column(&side.neighbours, rows_at, descriptor.rows, row_bytes)?;
    let graphs = if segment.has_graphs() {
        column(&side.edge_graphs, descriptor.graphs_at, descriptor.rows, 4)?
    } else {
        None
    };
    let places = [Some(keys), offsets, neighbours, graphs];
    debug_assert_eq!(places.len(), ListColumn::ALL.len());
    Ok(places)
}

fn location_of(segment: &Segment<'_>, graphs: Option<Vec<u64>>) -> Result<Location, Fault> {
    let descriptor = &segment.descriptor;
    let index = segment.index()?;
    let extent = extent_of(&index)?;
    let chunk = |entry: &ChunkEntry| ChunkEntry {
        at_and_kind: entry.at_and_kind - extent.start,
        ..*entry
    };
    let neighbours = match segment.column()?.kind {
        ColumnKind::Ids => Encoding::Ids,
        ColumnKind::One(plane) => Encoding::Codes {
            bases: vec![plane.0],
            plane_bits: 0,
        },
        ColumnKind::Many(planes) => Encoding::Codes {
            bases: planes.bases.to_vec(),
            plane_bits: planes.plane_bits,
        },
    };
    let width = descriptor.flags >> flags::OFFSET_WIDTH_SHIFT & 3;
    Ok(Location {
        keys: descriptor.keys,
        rows: descriptor.rows,
        offset_width: (!segment.is_functional()).then_some(width),
        neighbours,
        graphs,
        chunks: index.directory().0.iter().map(chunk).collect(),
        keys_bytes: extent.end - extent.start,
        changed: Vec::new(),
    })
}

impl Location {
    /// Notes which keys layers may hold, in any order; `None`: they are too many to be told.
    pub(crate) fn with_changed(mut self, mut changed: Vec<(u64, u64)>) -> Option<Location> {
        changed.sort_unstable();
        for (first, last) in changed {
            match self.changed.last_mut() {
                Some(range) if first <= range.1 => range.1 = range.1.max(last),
                _ => self.changed.push((first, last)),
            }
        }
        (self.changed.len() <= CHANGED_MAX).then_some(self)
    }
}
