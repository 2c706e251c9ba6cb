//! A segment as it is asked: its keys, the rows of keys, its columns.
//!
//! Opening one reads its descriptor and its directory: some tens of nanoseconds, paid per batch.
//! All handles borrow from the parts and copy nothing.

use super::index::{ABSENT, GROUP, Index, IndexPlace};
use super::planes::{Decode, Ids, ManyPlanes, OnePlane};
use crate::format::{ListEntry, PartKind, SegmentDescriptor, flags};
use crate::parts::{PartError, PartSource};
use crate::source::{ByteSource, Checked, Fault, Plain, inconsistent, with_source};
use memory::CheckedRegion;
use rdf::{Direction, PredicateId, VertexId};
use smallvec::SmallVec;
use std::ops::Range;

/// The parts of one direction.
pub(crate) struct Side {
    pub segments: CheckedRegion,
    pub keys: CheckedRegion,
    pub offsets: CheckedRegion,
    pub neighbours: CheckedRegion,
    pub edge_graphs: CheckedRegion,
    pub lists: CheckedRegion,
    pub sets: CheckedRegion,
    pub graph_index: CheckedRegion,
}

impl Side {
    /// Finds the parts.
    pub(crate) fn open(source: &dyn PartSource, direction: Direction) -> Result<Side, PartError> {
        let part = |kind: PartKind| source.part(kind.file_name(Some(direction)));
        Ok(Side {
            segments: part(PartKind::Segments)?,
            keys: part(PartKind::Keys)?,
            offsets: part(PartKind::Offsets)?,
            neighbours: part(PartKind::Neighbours)?,
            edge_graphs: part(PartKind::EdgeGraphs)?,
            lists: part(PartKind::Lists)?,
            sets: part(PartKind::Sets)?,
            graph_index: part(PartKind::GraphIndex)?,
        })
    }

    /// All of them, with their kinds.
    pub(crate) fn parts(&self) -> [(PartKind, &CheckedRegion); 8] {
        [
            (PartKind::Segments, &self.segments),
            (PartKind::Keys, &self.keys),
            (PartKind::Offsets, &self.offsets),
            (PartKind::Neighbours, &self.neighbours),
            (PartKind::EdgeGraphs, &self.edge_graphs),
            (PartKind::Lists, &self.lists),
            (PartKind::Sets, &self.sets),
            (PartKind::GraphIndex, &self.graph_index),
        ]
    }

    /// The segment of a predicate; `None` where it has no edges.
    pub(crate) fn segment(&self, predicate: PredicateId) -> Result<Option<Segment<'_>>, Fault> {
        let at = crate::format::HEADER_BYTES
            + u64::from(predicate.0) * size_of::<SegmentDescriptor>() as u64;
        if at >= self.segments.len() {
            return Ok(None);
        }
        let descriptor: &[SegmentDescriptor] =
            with_source!(&self.segments, |source| source.items(at, 1))?;
        let descriptor = descriptor[0];
        Ok((descriptor.keys > 0).then_some(Segment {
            side: self,
            descriptor,
        }))
    }
}

/// One predicate in one direction.
#[derive(Clone, Copy)]
pub(crate) struct Segment<'v> {
    pub side: &'v Side,
    pub descriptor: SegmentDescriptor,
}

impl<'v> Segment<'v> {
    /// Its key index.
    pub(crate) fn index(&self) -> Result<Index<'v>, Fault> {
        let descriptor = &self.descriptor;
        Index::open(
            &self.side.keys,
            IndexPlace {
                directory_at: descriptor.directory_at,
                keys: descriptor.keys,
                chunks: descriptor.chunks,
                jump: descriptor.flags & flags::JUMP != 0,
            },
        )
    }

    /// Whether every key has exactly one row.
    #[inline]
    pub(crate) fn is_functional(&self) -> bool {
        self.descriptor.flags & flags::FUNCTIONAL != 0
    }

    /// Whether some edge is in a named graph.
    #[inline]
    pub(crate) fn has_graphs(&self) -> bool {
        self.descriptor.graphs_at != 0
    }

    /// Its neighbour column.
    pub(crate) fn column(&self) -> Result<Column<'v>, Fault> {
        let descriptor = &self.descriptor;
        let region = &self.side.neighbours;
        let at = descriptor.neighbours_at;
        let is_wide = descriptor.flags & flags::WIDE_NEIGHBOURS != 0;
        let row_bytes = if is_wide { 8 } else { 4 };
        if descriptor.rows > region.len() / row_bytes {
            return Err(inconsistent(region, "fewer rows than the segment says"));
        }
        if is_wide {
            return Ok(Column::new(region, at, ColumnKind::Ids));
        }
        let planes = u64::from(descriptor.flags >> flags::PLANES_SHIFT);
        let plane_bits = descriptor.flags >> flags::PLANE_BITS_SHIFT & 0xff;
        let bases: &[u64] = with_source!(region, |source| source.items(at, planes))?;
        let kind = match bases {
            [base] if plane_bits == 0 => ColumnKind::One(OnePlane(*base)),
            _ if (1..32).contains(&plane_bits) => {
                ColumnKind::Many(ManyPlanes { bases, plane_bits })
            }
            _ => return Err(inconsistent(region, "planes that do not fit their codes")),
        };
        Ok(Column::new(region, at.wrapping_add(8 * planes), kind))
    }

    /// Its graph column, where some edge is in a named graph.
    pub(crate) fn graph_column(&self) -> Option<GraphColumn<'v>> {
        self.has_graphs().then_some(GraphColumn {
            region: &self.side.edge_graphs,
            at: self.descriptor.graphs_at,
        })
    }

    /// Gives the rows of each key in order, an empty range for what is no key. The misses of a
    /// group of keys overlap: index lines, then offset lines, then (only asked for) the rows'.
    pub(crate) fn rows_of(
        &self,
        keys: &[VertexId],
        column: &Column<'v>,
        give: impl FnMut(Range<u64>),
    ) -> Result<(), Fault> {
        let index = self.index()?;
        if self.is_functional() {
            return self.rows_functional(&index, keys, column, give);
        }
        match self.descriptor.flags >> flags::OFFSET_WIDTH_SHIFT & 3 {
            0 => self.rows_by_offsets::<u8>(&index, keys, column, give),
            1 => self.rows_by_offsets::<u16>(&index, keys, column, give),
            2 => self.rows_by_offsets::<u32>(&index, keys, column, give),
            _ => self.rows_by_offsets::<u64>(&index, keys, column, give),
        }
    }

    /// Appends what [`Segment::rows_of`] gives. That one is compiled anew for each caller, some 40 KiB of code
    /// for the widths of offsets and the sources of bytes: it is for the walk over a single layer, this for all others.
    pub(crate) fn ranges_of(
        &self,
        keys: &[VertexId],
        column: &Column<'v>,
        ranges: &mut Vec<Range<u64>>,
    ) -> Result<(), Fault> {
        self.each_range(keys, column, &mut |range| ranges.push(range))
    }

    fn each_range(
        &self,
        keys: &[VertexId],
        column: &Column<'v>,
        give: &mut dyn FnMut(Range<u64>),
    ) -> Result<(), Fault> {
        self.rows_of(keys, column, give)
    }

    /// [`Segment::rows_of`] where many keys are none of this segment, as in one layer of many: a group
    /// that lies between its keys is not looked up, nor is a key again that stands side by side with
    /// itself. It is called for each layer, mostly for a key or two, so it asks for no memory.
    pub(crate) fn rows_of_few(
        &self,
        keys: &[VertexId],
        column: &Column<'v>,
        mut give: impl FnMut(Range<u64>),
    ) -> Result<(), Fault> {
        let index = self.index()?;
        let mut distinct = SmallVec::<[VertexId; GROUP]>::new();
        let mut ranges = SmallVec::<[(u64, u64); GROUP]>::new();
        for group in keys.chunks(GROUP) {
            distinct.clear();
            distinct.extend_from_slice(group);
            distinct.dedup();
            let least = distinct.iter().copied().fold(group[0], VertexId::min);
            let most = distinct.iter().copied().fold(group[0], VertexId::max);
            if !index.may_hold(least, most) {
                for _ in group {
                    give(0..0);
                }
                continue;
            }
            ranges.clear();
            self.each_range(&distinct, column, &mut |range| {
                ranges.push((range.start, range.end));
            })?;
            for (&(start, end), same) in ranges.iter().zip(group.chunk_by(VertexId::eq)) {
                for _ in same {
                    give(start..end);
                }
            }
        }
        Ok(())
    }

    /// [`Segment::rows_of`] for those keys that may be of this segment, by a filter of its keys: gives the place of each
    /// such key, and its rows. It asks for no memory.
    pub(crate) fn rows_of_some(
        &self,
        keys: &[VertexId],
        column: &Column<'v>,
        may_hold: impl Fn(VertexId) -> bool,
        mut give: impl FnMut(usize, Range<u64>),
    ) -> Result<(), Fault> {
        let mut distinct = SmallVec::<[VertexId; GROUP]>::new();
        let mut ranges = SmallVec::<[Range<u64>; GROUP]>::new();
        for (number, group) in keys.chunks(GROUP).enumerate() {
            // Few pass, and which ones cannot be foreseen: so nothing branches on it.
            let (mut passed, mut count) = ([0_u8; GROUP], 0);
            for (place, &key) in (0..).zip(group) {
                passed[count] = place;
                count += usize::from(may_hold(key));
            }
            if count == 0 {
                continue;
            }
            let passed = passed[..count].iter().map(|&place| usize::from(place));
            distinct.clear();
            distinct.extend(passed.clone().map(|place| group[place]));
            distinct.dedup();
            ranges.clear();
            self.each_range(&distinct, column, &mut |rows| ranges.push(rows))?;
            let mut at = 0;
            for place in passed {
                at += usize::from(group[place] != distinct[at]);
                give(number * GROUP + place, ranges[at].clone());
            }
        }
        Ok(())
    }

    fn rows_functional(
        &self,
        index: &Index<'v>,
        keys: &[VertexId],
        column: &Column<'v>,
        mut give: impl FnMut(Range<u64>),
    ) -> Result<(), Fault> {
        let rows = self.descriptor.rows;
        with_source!(&self.side.keys, |source| {
            for group in keys.chunks(GROUP) {
                index.group(source, group, |ordinal| {
                    if ordinal < rows {
                        column.prefetch(ordinal);
                        give(ordinal..ordinal + 1);
                    } else {
                        give(0..0);
                    }
                })?;
            }
            Ok(())
        })
    }

    fn rows_by_offsets<W: Offset>(
        &self,
        index: &Index<'v>,
        keys: &[VertexId],
        column: &Column<'v>,
        mut give: impl FnMut(Range<u64>),
    ) -> Result<(), Fault> {
        let mut ordinals = [ABSENT; GROUP];
        with_source!(&self.side.keys, |key_source| {
            with_source!(&self.side.offsets, |source| {
                for group in keys.chunks(GROUP) {
                    let mut place = 0;
                    index.group(key_source, group, |ordinal| {
                        ordinals[place] = ordinal;
                        place += 1;
                        if ordinal != ABSENT {
                            source.prefetch(self.offset_at::<W>(ordinal));
                        }
                    })?;
                    for &ordinal in &ordinals[..place] {
                        let rows = self.rows_at::<W, _>(source, ordinal)?;
                        column.prefetch(rows.start);
                        give(rows);
                    }
                }
                Ok(())
            })
        })
    }

    #[inline]
    fn offset_at<W: Offset>(&self, ordinal: u64) -> u64 {
        let distance = ordinal.wrapping_mul(size_of::<W>() as u64);
        self.descriptor.offsets_at.wrapping_add(distance)
    }

    #[inline]
    fn rows_at<W: Offset, S: ByteSource<'v>>(
        &self,
        source: S,
        ordinal: u64,
    ) -> Result<Range<u64>, Fault> {
        if ordinal == ABSENT {
            return Ok(0..0);
        }
        let pair: &[W] = source.items(self.offset_at::<W>(ordinal), 2)?;
        let (start, end) = (pair[0].widen(), pair[1].widen());
        if start > end || end > self.descriptor.rows {
            return Err(inconsistent(&self.side.offsets, "offsets do not ascend"));
        }
        Ok(start..end)
    }

    /// The rows of the key with this ordinal, which is below the number of keys.
    pub(crate) fn rows_of_ordinal(&self, ordinal: u64) -> Result<Range<u64>, Fault> {
        if self.is_functional() {
            return Ok(ordinal..ordinal + 1);
        }
        with_source!(&self.side.offsets, |source| {
            match self.descriptor.flags >> flags::OFFSET_WIDTH_SHIFT & 3 {
                0 => self.rows_at::<u8, _>(source, ordinal),
                1 => self.rows_at::<u16, _>(source, ordinal),
                2 => self.rows_at::<u32, _>(source, ordinal),
                _ => self.rows_at::<u64, _>(source, ordinal),
            }
        })
    }

    /// Appends where the rows of each of these keys end; their ordinals are below the number of
    /// keys.
    pub(crate) fn row_ends(&self, ordinals: Range<u64>, ends: &mut Vec<u64>) -> Result<(), Fault> {
        assert!(
            ordinals.start <= ordinals.end && ordinals.end <= self.descriptor.keys,
            "the caller's ordinals are those of keys"
        );
        if self.is_functional() {
            ends.extend(ordinals.start + 1..=ordinals.end);
            return Ok(());
        }
        match self.descriptor.flags >> flags::OFFSET_WIDTH_SHIFT & 3 {
            0 => self.ends_by_offsets::<u8>(ordinals, ends),
            1 => self.ends_by_offsets::<u16>(ordinals, ends),
            2 => self.ends_by_offsets::<u32>(ordinals, ends),
            _ => self.ends_by_offsets::<u64>(ordinals, ends),
        }
    }

    fn ends_by_offsets<W: Offset>(
        &self,
        ordinals: Range<u64>,
        ends: &mut Vec<u64>,
    ) -> Result<(), Fault> {
        let count = ordinals.end - ordinals.start;
        let offsets: &[W] = with_source!(&self.side.offsets, |source| {
            source.items(self.offset_at::<W>(ordinals.start), count + 1)
        })?;
        let first = offsets[0].widen();
        let begin = ends.len();
        ends.extend(offsets[1..].iter().map(|offset| offset.widen()));
        let ends = &ends[begin..];
        let are_whole = ends.is_sorted()
            && ends.first().is_none_or(|&end| end >= first)
            && ends.last().is_none_or(|&end| end <= self.descriptor.rows);
        if !are_whole {
            return Err(inconsistent(&self.side.offsets, "offsets do not ascend"));
        }
        Ok(())
    }

    /// The table of dense lists, ascending by ordinal.
    pub(crate) fn dense_lists(&self) -> Result<&'v [ListEntry], Fault> {
        let at = self.descriptor.lists_at;
        if at == 0 {
            return Ok(&[]);
        }
        with_source!(&self.side.lists, |source| {
            let count: &[u64] = source.items(at, 1)?;
            source.items(at.wrapping_add(8), count[0])
        })
    }

    /// The rank blocks of one key's neighbours, where its list is kept so.
    pub(crate) fn dense_list(&self, ordinal: u64) -> Result<Option<Index<'v>>, Fault> {
        let lists = self.dense_lists()?;
        match lists.binary_search_by_key(&ordinal, |list| list.ordinal) {
            Ok(found) => self.open_list(&lists[found]).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// Opens the index of a dense list.
    pub(crate) fn open_list(&self, list: &ListEntry) -> Result<Index<'v>, Fault> {
        Index::open(
            &self.side.lists,
            IndexPlace {
                directory_at: list.directory_at,
                keys: list.members,
                chunks: list.chunks,
                jump: list.flags & flags::JUMP != 0,
            },
        )
    }
}

/// A number as it stands in an offsets column.
pub(crate) trait Offset: bytemuck::Pod {
    /// The number.
    fn widen(self) -> u64;
}

macro_rules! offsets {
    ($($number:ty),*) => {
        $(impl Offset for $number {
            #[inline]
            fn widen(self) -> u64 {
                u64::from(self)
            }
        })*
    };
}
offsets!(u8, u16, u32, u64);

/// The neighbours of a segment, by row.
#[derive(Clone, Copy)]
pub(crate) struct Column<'v> {
    pub region: &'v CheckedRegion,
    at: u64,
    pub kind: ColumnKind<'v>,
    /// The bytes from `at` on, verified or not: rows are asked for ahead in them, which is done once a key.
    lines: &'v [u8],
    /// The bytes of a row, as a power of two.
    row_shift: u32,
}

/// How a column is decoded.
#[derive(Clone, Copy)]
pub(crate) enum ColumnKind<'v> {
    One(OnePlane),
    Many(ManyPlanes<'v>),
    Ids,
}

impl<'v> Column<'v> {
    fn new(region: &'v CheckedRegion, at: u64, kind: ColumnKind<'v>) -> Column<'v> {
        Column {
            region,
            at,
            kind,
            lines: region
                .region()
                .bytes()
                .get(at as usize..)
                .unwrap_or_default(),
            row_shift: match kind {
                ColumnKind::Ids => 3,
                ColumnKind::One(_) | ColumnKind::Many(_) => 2,
            },
        }
    }

    /// Asks for the line of a row.
    #[inline]
    pub(crate) fn prefetch(&self, row: u64) {
        memory::prefetch(self.lines, (row << self.row_shift) as usize);
    }

    /// The codes of these rows.
    #[inline]
    pub(crate) fn codes<S: ByteSource<'v>, D: Decode>(
        &self,
        source: S,
        _: D,
        rows: Range<u64>,
    ) -> Result<&'v [D::Code], Fault> {
        let width = size_of::<D::Code>() as u64;
        let at = self.at.wrapping_add(rows.start.wrapping_mul(width));
        source.items(at, rows.end - rows.start)
    }

    /// Runs `run` with the fastest source and the column's decoding.
    pub(crate) fn run<R: ColumnRun<'v>>(&self, run: R) -> R::Output {
        match Plain::new(self.region) {
            Some(source) => self.run_in(source, run),
            None => self.run_in(Checked(self.region), run),
        }
    }

    fn run_in<S: ByteSource<'v>, R: ColumnRun<'v>>(&self, source: S, run: R) -> R::Output {
        match self.kind {
            ColumnKind::One(decode) => run.run(source, decode),
            ColumnKind::Many(decode) => run.run(source, decode),
            ColumnKind::Ids => run.run(source, Ids),
        }
    }

    /// Appends the neighbours of these rows.
    pub(crate) fn decode(&self, rows: Range<u64>, out: &mut Vec<VertexId>) -> Result<(), Fault> {
        struct Run<'a, 'v>(&'a Column<'v>, Range<u64>, &'a mut Vec<VertexId>);
        impl<'v> ColumnRun<'v> for Run<'_, 'v> {
            type Output = Result<(), Fault>;
            fn run<S: ByteSource<'v>, D: Decode>(self, source: S, decode: D) -> Self::Output {
                let codes = self.0.codes(source, decode, self.1)?;
                self.2.extend(codes.iter().map(|&code| decode.id(code)));
                Ok(())
            }
        }
        self.run(Run(self, rows, out))
    }
}

/// A loop over a column, compiled for each way to reach and decode it.
pub(crate) trait ColumnRun<'v> {
    /// What the loop gives.
    type Output;
    /// The loop.
    fn run<S: ByteSource<'v>, D: Decode>(self, source: S, decode: D) -> Self::Output;
}

/// The graphs of a segment's rows.
#[derive(Clone, Copy)]
pub(crate) struct GraphColumn<'v> {
    region: &'v CheckedRegion,
    at: u64,
}

impl<'v> GraphColumn<'v> {
    /// The graph codes of these rows.
    #[inline]
    pub(crate) fn codes(&self, rows: Range<u64>) -> Result<&'v [u32], Fault> {
        with_source!(self.region, |source| {
            source.items(self.at + rows.start * 4, rows.end - rows.start)
        })
    }
}
