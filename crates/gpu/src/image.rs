//! Images of segments: where the parts of a segment lie, and how kernels are told of it.
//!
//! ```text
//!  directory                 data, each part at a multiple of 256 bytes
//!  | chunks | jump | bases | index data | offsets | neighbours | data of dense lists ... |
//! ```
//!
//! The directory is small and is always read where it lies. The data lie behind it in one run of the device's memory, or in pages.
//! An [`Outline`] has the places of all parts from the beginning of either, and outlives the bytes; with two addresses it gives
//! an [`Image`]. [`Contents`] are the bytes, borrowed from the store.
//!
//! Invariant: no number and no rank block crosses a multiple of 256 bytes of the data, so none crosses a page.

use crate::access::{Access, Parts};
use crate::arena::ALIGNMENT;
use crate::graphs::Graphs;
use crate::layout::{self, Column};
use explore::TagSet;
use rdf::VertexId;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use store::raw::{RawIndex, RawNeighbours, RawSegment};

/// A segment as kernels are told of it.
pub(crate) struct Image {
    /// Its parts.
    pub(crate) segment: layout::Segment,
    /// The bases of its neighbours' planes, as the host decodes them.
    pub(crate) bases: Vec<u64>,
    /// Rows of the longest list.
    pub(crate) longest: u64,
    /// The last key.
    pub(crate) last_key: u64,
    /// Lists that are kept as key indexes too, ascending by the ordinals of their keys.
    dense: Vec<(u64, layout::Index)>,
    /// Where its edges are.
    pub(crate) graphs: Graphs,
}

impl Image {
    /// The neighbours of the key with this ordinal as an index, where they are kept so.
    pub(crate) fn dense(&self, ordinal: u64) -> Option<&layout::Index> {
        let place = self.dense.binary_search_by_key(&ordinal, |list| list.0);
        place.ok().map(|place| &self.dense[place].1)
    }

    /// What kinds of terms its neighbours may be.
    pub(crate) fn neighbour_tags(&self) -> TagSet {
        let Column {
            wide, plane_bits, ..
        } = self.segment.neighbours;
        if wide != 0 {
            return TagSet::STORED;
        }
        let most = u64::from(u32::MAX) >> plane_bits;
        let of_plane = |base: &u64| {
            let last = base.saturating_add(most);
            TagSet::between(VertexId::from_bits(*base), VertexId::from_bits(last))
        };
        let planes = self.bases.iter().map(of_plane);
        planes.fold(TagSet::NONE, TagSet::with)
    }

    /// What kinds of terms its keys may be.
    pub(crate) fn key_tags(&self) -> TagSet {
        let ends = [self.segment.index.first.first, self.last_key];
        let [first, last] = ends.map(VertexId::from_bits);
        TagSet::between(first, last)
    }
}

/// See the head of this file. Addresses in it are places: those of chunks, jump tables and bases from the directory's
/// beginning, the others from the data's; those of no bytes are `NOTHING`.
pub(crate) struct Outline {
    segment: layout::Segment,
    bases: Vec<u64>,
    longest: u64,
    last_key: u64,
    dense: Vec<(u64, layout::Index)>,
    graphs: Graphs,
    directory_bytes: u64,
    data_bytes: u64,
    parts: Parts,
}

/// The place of a part without bytes.
const NOTHING: u64 = u64::MAX;

impl Outline {
    /// The outline of a segment whose data begin at a page's beginning, and whose edges are in these graphs.
    pub(crate) fn of(raw: &RawSegment<'_>, page_bytes: u64, graphs: Graphs) -> Outline {
        let mut drawn = Drawn::default();
        let index = drawn.index(&raw.index);
        let offset_bytes = raw.offsets.as_ref();
        let offset_bytes = offset_bytes.map_or(0, |offsets| offsets.bytes().len() as u64);
        let offsets = drawn.data(offset_bytes);
        let mut neighbours = layout::Column::default();
        let mut bases = Vec::new();
        match &raw.neighbours {
            RawNeighbours::Codes {
                codes,
                bases: of_planes,
                plane_bits,
            } => {
                neighbours.cells = drawn.data(size_of_val(*codes) as u64);
                neighbours.bases = drawn.directory(size_of_val(*of_planes) as u64);
                neighbours.base = of_planes.first().copied().unwrap_or(0);
                neighbours.plane_bits = *plane_bits;
                bases = of_planes.to_vec();
            }
            RawNeighbours::Ids(ids) => {
                neighbours.cells = drawn.data(size_of_val(*ids) as u64);
                neighbours.bases = NOTHING;
                neighbours.wide = 1;
            }
        }
        let lists = raw.dense.iter();
        let dense = lists.map(|list| (list.ordinal, drawn.index(&list.members)));
        let dense: Vec<_> = dense.collect();
        let part = |at: u64, bytes: u64| if bytes == 0 { 0..0 } else { at..at + bytes };
        let cell_bytes = neighbours.cell_bytes();
        let lists = raw.dense.iter().zip(&dense);
        let lists = lists.map(|(list, (ordinal, index))| {
            let bytes = list.members.data.len() as u64;
            (*ordinal, part(index.data, bytes))
        });
        let parts = Parts {
            keys: part(index.data, raw.index.data.len() as u64),
            offsets: part(offsets, offset_bytes),
            cells: part(neighbours.cells, raw.rows * cell_bytes),
            cell_bytes,
            list_bytes: (raw.rows * cell_bytes) as f64 / raw.index.keys.max(1) as f64,
            dense: lists.collect(),
        };
        Outline {
            segment: layout::Segment {
                index,
                neighbours,
                offsets,
                rows: raw.rows,
                width: raw
                    .offsets
                    .map_or(0, |offsets| offsets.width_bytes().trailing_zeros()),
                functional: u32::from(raw.offsets.is_none()),
            },
            bases,
            longest: raw.key_rows_max,
            last_key: raw.index.chunks.last().map_or(0, |chunk| chunk.last),
            dense,
            graphs,
            directory_bytes: drawn.directory_bytes.next_multiple_of(page_bytes),
            data_bytes: drawn.data_bytes,
            parts,
        }
    }

    /// Bytes of what is always read where it lies: whole pages.
    pub(crate) fn directory_bytes(&self) -> u64 {
        self.directory_bytes
    }

    /// Bytes of the data.
    pub(crate) fn data_bytes(&self) -> u64 {
        self.data_bytes
    }

    /// Bytes of all.
    pub(crate) fn bytes(&self) -> u64 {
        self.directory_bytes + self.data_bytes
    }

    /// The image with its directory and its data at these addresses.
    pub(crate) fn image(&self, directory: u64, data: u64) -> Image {
        let at = |place: u64, base: u64| {
            if place == NOTHING { 0 } else { base + place }
        };
        let index = |index: &layout::Index| layout::Index {
            data: at(index.data, data),
            chunks: at(index.chunks, directory),
            jump: at(index.jump, directory),
            ..*index
        };
        let segment = &self.segment;
        Image {
            segment: layout::Segment {
                index: index(&segment.index),
                neighbours: layout::Column {
                    cells: at(segment.neighbours.cells, data),
                    bases: at(segment.neighbours.bases, directory),
                    ..segment.neighbours
                },
                offsets: at(segment.offsets, data),
                ..*segment
            },
            bases: self.bases.clone(),
            longest: self.longest,
            last_key: self.last_key,
            dense: self
                .dense
                .iter()
                .map(|(ordinal, list)| (*ordinal, index(list)))
                .collect(),
            graphs: self.graphs,
        }
    }

    /// For each page of the data, the bytes that are read of it by these accesses to this segment ([`Parts::page_reads`]).
    pub(crate) fn page_reads<'a>(
        &self,
        page_bytes: u64,
        accesses: impl Iterator<Item = &'a Access>,
        is_paired: bool,
    ) -> Vec<f64> {
        let lengths = (self.data_bytes, page_bytes);
        self.parts.page_reads(lengths, accesses, is_paired)
    }
}

/// Places as they are given out.
#[derive(Default)]
struct Drawn {
    directory_bytes: u64,
    data_bytes: u64,
}

impl Drawn {
    fn directory(&mut self, bytes: u64) -> u64 {
        if bytes == 0 {
            return NOTHING;
        }
        let at = self.directory_bytes;
        self.directory_bytes += bytes.next_multiple_of(ALIGNMENT);
        at
    }

    fn data(&mut self, bytes: u64) -> u64 {
        if bytes == 0 {
            return NOTHING;
        }
        let at = self.data_bytes;
        self.data_bytes += bytes.next_multiple_of(ALIGNMENT);
        at
    }

    fn index(&mut self, raw: &RawIndex<'_>) -> layout::Index {
        let first = raw.chunks.first();
        layout::Index {
            data: self.data(raw.data.len() as u64),
            chunks: self.directory(size_of_val(&raw.chunks[..]) as u64),
            jump: self.directory(size_of_val(raw.jump) as u64),
            keys: raw.keys,
            count: u32::try_from(raw.chunks.len()).expect("chunks are counted in 32 bits on disk"),
            jumps: u32::try_from(raw.jump.len())
                .expect("a jump table has 8 entries a chunk at most"),
            first: first.map_or(layout::Chunk::default(), |chunk| layout::Chunk {
                first: chunk.first,
                last: chunk.last,
                at: chunk.at_and_kind,
                ordinal: chunk.ordinal,
            }),
        }
    }
}

/// The bytes of an image: the directory's, behind them the data's.
pub(crate) struct Contents<'r> {
    /// Where each part begins, ascending.
    parts: Vec<(u64, &'r [u8])>,
}

impl<'r> Contents<'r> {
    /// Those of a segment, in the order in which its outline was drawn.
    pub(crate) fn of(raw: &'r RawSegment<'_>, outline: &Outline) -> Contents<'r> {
        let mut directory = Vec::new();
        let mut data = Vec::new();
        let mut index = |index: &'r RawIndex<'_>, places: &layout::Index| {
            data.push((places.data, index.data));
            directory.push((places.chunks, bytemuck::cast_slice(&index.chunks)));
            directory.push((places.jump, bytemuck::cast_slice(index.jump)));
        };
        index(&raw.index, &outline.segment.index);
        for (list, (_, places)) in raw.dense.iter().zip(&outline.dense) {
            index(&list.members, places);
        }
        if let Some(offsets) = &raw.offsets {
            data.push((outline.segment.offsets, offsets.bytes()));
        }
        let places = &outline.segment.neighbours;
        match &raw.neighbours {
            RawNeighbours::Codes { codes, bases, .. } => {
                data.push((places.cells, bytemuck::cast_slice(codes)));
                directory.push((places.bases, bytemuck::cast_slice(bases)));
            }
            RawNeighbours::Ids(ids) => data.push((places.cells, bytemuck::cast_slice(ids))),
        }
        let behind = outline.directory_bytes;
        let data = data.into_iter();
        let data = data.map(|(at, bytes)| (at.saturating_add(behind), bytes));
        let mut parts: Vec<(u64, &[u8])> = directory.into_iter().chain(data).collect();
        parts.retain(|(_, bytes)| !bytes.is_empty());
        parts.sort_unstable_by_key(|part| part.0);
        Contents { parts }
    }

    /// Writes a range, which begins at a multiple of 8 bytes, to the beginning of `words`. What lies between parts stays as it is.
    pub(crate) fn fill(&self, range: Range<u64>, words: &[AtomicU64]) {
        for (at, bytes) in &self.parts {
            let from = range.start.max(*at);
            let to = range.end.min(at + bytes.len() as u64);
            if from < to {
                let place = ((from - range.start) / 8) as usize;
                write(
                    &bytes[(from - at) as usize..(to - at) as usize],
                    &words[place..],
                );
            }
        }
    }
}

fn write(bytes: &[u8], words: &[AtomicU64]) {
    let (whole, rest) = bytes.as_chunks::<8>();
    for (word, bytes) in words.iter().zip(whole) {
        word.store(u64::from_ne_bytes(*bytes), Ordering::Relaxed);
    }
    if !rest.is_empty() {
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        words[whole.len()].store(u64::from_ne_bytes(last), Ordering::Relaxed);
    }
}
