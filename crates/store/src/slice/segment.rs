//! One segment of a slice: where its columns stand, and how they are read.
//!
//! Invariant: an [`SliceEntry`] describes ranges that lie within its slice's arrays, and keys and the neighbours of each key
//! ascend. A writer makes it so, and bytes from elsewhere are looked at before there is a slice of them ([`super::bytes`]).

use super::Slice;
use crate::delta::rows::Row;
use crate::segment::planes::{Decode, ManyPlanes, OnePlane};
use crate::view::GraphScope;
use rdf::VertexId;
use std::ops::Range;

/// Keys are [`SliceEntry::keys`] ids of 8 bytes.
const WIDE_KEYS: u8 = 1;
/// Neighbours are ids of 8 bytes.
const WIDE_NEIGHBOURS: u8 = 2;
/// Rows have a code of their graph.
const GRAPHS: u8 = 4;
/// Rows have when and how often they came ([`super::arrivals`]).
const ARRIVALS: u8 = 8;
/// Times of arrival are 8 bytes each.
const WIDE_TIMES: u8 = 16;
/// Neighbours are codes of 2 bytes.
const NEAR_NEIGHBOURS: u8 = 32;
/// All flags.
pub(super) const FLAGS: u8 =
    WIDE_KEYS | WIDE_NEIGHBOURS | GRAPHS | ARRIVALS | WIDE_TIMES | NEAR_NEIGHBOURS;

/// Bytes that a chunk of keys takes beside its keys.
const CHUNK_BYTES: usize = 12;

/// What is where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SliceEntry {
    predicate: VertexId,
    /// The places of its first element in the arrays of 2, 4 and 8 bytes.
    at: [u32; 3],
    keys: u32,
    rows: u32,
    /// Chunks of keys; 0 where keys are wide.
    chunks: u16,
    /// Bases of neighbours; 0 where they are wide.
    planes: u16,
    plane_bits: u8,
    flags: u8,
}

impl SliceEntry {
    /// Asserts that an array has fewer than 2^32 elements, which are 8 GB at least: budgets of streams are far below.
    pub(super) fn new(predicate: VertexId, at: [usize; 3]) -> SliceEntry {
        SliceEntry {
            predicate,
            at: at.map(|at| u32::try_from(at).expect("a slice has fewer than 2^32 elements")),
            keys: 0,
            rows: 0,
            chunks: 0,
            planes: 0,
            plane_bits: 0,
            flags: 0,
        }
    }

    pub(super) fn set_rows(&mut self, rows: usize) {
        self.rows = u32::try_from(rows).expect("a slice has fewer than 2^32 edges");
    }

    /// Chooses what takes less memory: 2 bytes a key and some for each chunk, or 8 bytes a key.
    pub(super) fn set_keys(&mut self, keys: usize, chunks: usize) {
        self.keys = keys as u32;
        match u16::try_from(chunks) {
            Ok(few) if chunks * CHUNK_BYTES <= 6 * keys => self.chunks = few,
            _ => self.flags |= WIDE_KEYS,
        }
    }

    pub(super) fn set_planes(&mut self, planes: usize, plane_bits: u32) {
        self.planes = u16::try_from(planes).expect("an encoding has some hundred planes at most");
        self.plane_bits = plane_bits as u8;
    }

    pub(super) fn set_wide_neighbours(&mut self) {
        self.flags |= WIDE_NEIGHBOURS;
    }

    /// Neighbours lie within 2^16 ids from one base.
    pub(super) fn set_near_neighbours(&mut self) {
        self.planes = 1;
        self.flags |= NEAR_NEIGHBOURS;
    }

    pub(super) fn set_graphs(&mut self) {
        self.flags |= GRAPHS;
    }

    pub(super) fn set_arrivals(&mut self, has_wide_times: bool) {
        self.flags |= ARRIVALS | if has_wide_times { WIDE_TIMES } else { 0 };
    }

    /// An entry from its words, whatever they say.
    pub(super) fn from_words(words: [u64; 5]) -> SliceEntry {
        let half = |word: u64| [word as u32, (word >> 32) as u32];
        let [first, second] = half(words[1]);
        let [third, keys] = half(words[2]);
        let [rows, counts] = half(words[3]);
        SliceEntry {
            predicate: VertexId::from_bits(words[0]),
            at: [first, second, third],
            keys,
            rows,
            chunks: counts as u16,
            planes: (counts >> 16) as u16,
            plane_bits: words[4] as u8,
            flags: (words[4] >> 8) as u8,
        }
    }

    /// Its words.
    pub(super) fn words(&self) -> [u64; 5] {
        let both = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let counts = u32::from(self.chunks) | u32::from(self.planes) << 16;
        [
            self.predicate.bits(),
            both(self.at[0], self.at[1]),
            both(self.at[2], self.keys),
            both(self.rows, counts),
            u64::from(self.plane_bits) | u64::from(self.flags) << 8,
        ]
    }

    pub(super) fn predicate(&self) -> VertexId {
        self.predicate
    }

    pub(super) fn rows(&self) -> u32 {
        self.rows
    }

    pub(super) fn keys(&self) -> u32 {
        self.keys
    }

    pub(super) fn at(&self) -> [u32; 3] {
        self.at
    }

    pub(super) fn flags(&self) -> u8 {
        self.flags
    }

    /// Whether codes of neighbours can be decoded: without bits for planes there is one plane.
    pub(super) fn has_sound_planes(&self) -> bool {
        let is_one = self.plane_bits == 0 && self.planes == 1;
        match (self.has_wide_neighbours(), self.has_near_neighbours()) {
            (true, is_near) => !is_near,
            (false, true) => is_one,
            (false, false) => is_one || (1..32).contains(&self.plane_bits),
        }
    }

    pub(super) fn chunks(&self) -> u16 {
        self.chunks
    }

    pub(super) fn has_wide_keys(&self) -> bool {
        self.flags & WIDE_KEYS != 0
    }

    fn has_wide_neighbours(&self) -> bool {
        self.flags & WIDE_NEIGHBOURS != 0
    }

    fn has_near_neighbours(&self) -> bool {
        self.flags & NEAR_NEIGHBOURS != 0
    }

    pub(super) fn has_graphs(&self) -> bool {
        self.flags & GRAPHS != 0
    }

    pub(super) fn has_arrivals(&self) -> bool {
        self.flags & ARRIVALS != 0
    }

    pub(super) fn has_wide_times(&self) -> bool {
        self.flags & WIDE_TIMES != 0
    }

    /// Elements of 4 and of 8 bytes of the column of arrivals.
    fn arrivals_lengths(&self) -> [u64; 2] {
        let rows = u64::from(self.rows);
        match (self.has_arrivals(), self.has_wide_times()) {
            (false, _) => [0, 0],
            (true, false) => [2 * rows, 1],
            (true, true) => [rows, rows],
        }
    }

    /// Where the column of arrivals begins among the elements of 4 and of 8 bytes of the slice, if there is one.
    pub(super) fn arrivals_at(&self) -> Option<[usize; 2]> {
        let [_, words, ids] = self.lengths();
        let [own_words, own_ids] = self.arrivals_lengths();
        let at = [
            u64::from(self.at[1]) + words - own_words,
            u64::from(self.at[2]) + ids - own_ids,
        ];
        self.has_arrivals().then(|| at.map(|at| at as usize))
    }

    /// Whether each key has one row, so that there are no offsets.
    pub(super) fn is_functional(&self) -> bool {
        self.keys == self.rows
    }

    /// Whether offsets take two bytes.
    pub(super) fn has_narrow_offsets(&self) -> bool {
        u16::try_from(self.rows).is_ok()
    }

    /// How many elements of 2, 4 and 8 bytes are its own.
    pub(super) fn lengths(&self) -> [u64; 3] {
        let [keys, rows, chunks, planes] = [
            u64::from(self.keys),
            u64::from(self.rows),
            u64::from(self.chunks),
            u64::from(self.planes),
        ];
        let mut lengths = [0; 3];
        if self.has_wide_keys() {
            lengths[2] += keys;
        } else {
            lengths[0] += keys;
            lengths[1] += chunks;
            lengths[2] += chunks;
        }
        if !self.is_functional() {
            lengths[usize::from(!self.has_narrow_offsets())] += keys + 1;
        }
        if self.has_wide_neighbours() {
            lengths[2] += rows;
        } else {
            lengths[usize::from(!self.has_near_neighbours())] += rows;
            lengths[2] += planes;
        }
        if self.has_graphs() {
            lengths[1] += rows;
        }
        let [words, ids] = self.arrivals_lengths();
        lengths[1] += words;
        lengths[2] += ids;
        lengths
    }
}

/// The keys of a segment, as they stand.
#[derive(Clone, Copy)]
enum Keys<'s> {
    Chunked {
        /// The upper 48 bits of each chunk's keys, ascending.
        highs: &'s [u64],
        /// The number of each chunk's first key.
        starts: &'s [u32],
        /// The lower 16 bits of each key.
        lows: &'s [u16],
    },
    Wide(&'s [u64]),
}

/// Where each key's rows begin.
#[derive(Clone, Copy)]
enum Offsets<'s> {
    One,
    Narrow(&'s [u16]),
    Wide(&'s [u32]),
}

/// The neighbours, as they stand.
#[derive(Clone, Copy)]
enum Neighbours<'s> {
    Codes {
        codes: &'s [u32],
        bases: &'s [u64],
        plane_bits: u32,
    },
    Near {
        codes: &'s [u16],
        base: u64,
    },
    Ids(&'s [u64]),
}

/// A segment of a slice: a predicate in a direction.
#[derive(Clone, Copy)]
pub(crate) struct SliceSegment<'s> {
    predicate: VertexId,
    keys: Keys<'s>,
    offsets: Offsets<'s>,
    neighbours: Neighbours<'s>,
    /// A code for each row; empty where all rows are of the default graph.
    graph_codes: &'s [u32],
    /// What codes of graphs stand for, from 1 on.
    graphs: &'s [VertexId],
    keys_count: u32,
    rows_count: u32,
}

/// Takes the next elements of an array.
struct Taking<'s, T> {
    rest: &'s [T],
}

impl<'s, T> Taking<'s, T> {
    fn new(all: &'s [T], at: u32) -> Taking<'s, T> {
        Taking {
            rest: &all[at as usize..],
        }
    }

    fn take(&mut self, count: usize) -> &'s [T] {
        let (taken, rest) = self.rest.split_at(count);
        self.rest = rest;
        taken
    }
}

impl<'s> SliceSegment<'s> {
    #[inline]
    pub(super) fn new(slice: &'s Slice, entry: &SliceEntry) -> SliceSegment<'s> {
        let mut halves = Taking::new(&slice.halves, entry.at[0]);
        let mut words = Taking::new(&slice.words, entry.at[1]);
        let mut ids = Taking::new(&slice.ids, entry.at[2]);
        let (count, rows) = (entry.keys as usize, entry.rows as usize);
        let keys = if entry.has_wide_keys() {
            Keys::Wide(ids.take(count))
        } else {
            Keys::Chunked {
                highs: ids.take(entry.chunks.into()),
                starts: words.take(entry.chunks.into()),
                lows: halves.take(count),
            }
        };
        let offsets = match (entry.is_functional(), entry.has_narrow_offsets()) {
            (true, _) => Offsets::One,
            (false, true) => Offsets::Narrow(halves.take(count + 1)),
            (false, false) => Offsets::Wide(words.take(count + 1)),
        };
        let neighbours = if entry.has_wide_neighbours() {
            Neighbours::Ids(ids.take(rows))
        } else if entry.has_near_neighbours() {
            Neighbours::Near {
                codes: halves.take(rows),
                base: ids.take(1)[0],
            }
        } else {
            Neighbours::Codes {
                codes: words.take(rows),
                bases: ids.take(entry.planes.into()),
                plane_bits: entry.plane_bits.into(),
            }
        };
        let graph_codes = words.take(if entry.has_graphs() { rows } else { 0 });
        SliceSegment {
            predicate: entry.predicate,
            keys,
            offsets,
            neighbours,
            graph_codes,
            graphs: &slice.graphs,
            keys_count: entry.keys,
            rows_count: entry.rows,
        }
    }

    pub(crate) fn predicate(&self) -> VertexId {
        self.predicate
    }

    /// Number of keys.
    pub(crate) fn keys_count(&self) -> u32 {
        self.keys_count
    }

    /// Number of edges.
    pub(crate) fn rows_count(&self) -> u32 {
        self.rows_count
    }

    /// Whether all rows are of the default graph.
    pub(crate) fn is_plain(&self) -> bool {
        self.graph_codes.is_empty()
    }

    /// The rows of a key; none where it is none. A binary search over chunks and one within a chunk.
    #[inline]
    pub(crate) fn rows_of(&self, key: VertexId) -> Range<u32> {
        self.ordinal(key).map_or(0..0, |ordinal| self.rows(ordinal))
    }

    #[inline]
    fn ordinal(&self, key: VertexId) -> Option<u32> {
        match self.keys {
            Keys::Wide(keys) => {
                let place = keys.binary_search(&key.bits()).ok()?;
                Some(place as u32)
            }
            Keys::Chunked {
                highs,
                starts,
                lows,
            } => {
                let chunk = highs.binary_search(&(key.bits() >> 16)).ok()?;
                let start = starts[chunk] as usize;
                let end = starts
                    .get(chunk + 1)
                    .map_or(lows.len(), |end| *end as usize);
                let place = lows[start..end].binary_search(&(key.bits() as u16)).ok()?;
                Some((start + place) as u32)
            }
        }
    }

    /// The rows of the key with this number.
    #[inline]
    pub(crate) fn rows(&self, ordinal: u32) -> Range<u32> {
        let place = ordinal as usize;
        match self.offsets {
            Offsets::One => ordinal..ordinal + 1,
            Offsets::Narrow(offsets) => offsets[place].into()..offsets[place + 1].into(),
            Offsets::Wide(offsets) => offsets[place]..offsets[place + 1],
        }
    }

    /// Its first and last key. It has one: a segment has an edge.
    pub(crate) fn key_bounds(&self) -> (VertexId, VertexId) {
        let (first, last) = match self.keys {
            Keys::Wide(keys) => (keys[0], keys[keys.len() - 1]),
            Keys::Chunked { highs, lows, .. } => (
                highs[0] << 16 | u64::from(lows[0]),
                highs[highs.len() - 1] << 16 | u64::from(lows[lows.len() - 1]),
            ),
        };
        (VertexId::from_bits(first), VertexId::from_bits(last))
    }

    /// Appends all keys, ascending.
    pub(crate) fn append_keys(&self, out: &mut Vec<VertexId>) {
        match self.keys {
            Keys::Wide(keys) => out.extend(keys.iter().copied().map(VertexId::from_bits)),
            Keys::Chunked {
                highs,
                starts,
                lows,
            } => {
                for (chunk, high) in highs.iter().enumerate() {
                    let start = starts[chunk] as usize;
                    let end = starts
                        .get(chunk + 1)
                        .map_or(lows.len(), |end| *end as usize);
                    let lows = lows[start..end].iter();
                    out.extend(lows.map(|low| VertexId::from_bits(high << 16 | u64::from(*low))));
                }
            }
        }
    }

    /// Appends the neighbours of some rows.
    #[inline]
    pub(crate) fn append_neighbours(&self, rows: Range<u32>, out: &mut Vec<VertexId>) {
        let rows = rows.start as usize..rows.end as usize;
        match self.neighbours {
            Neighbours::Ids(ids) => {
                out.extend(ids[rows].iter().copied().map(VertexId::from_bits));
            }
            Neighbours::Near { codes, base } => {
                let decode = OnePlane(base);
                out.extend(codes[rows].iter().map(|&code| decode.id(code.into())));
            }
            Neighbours::Codes {
                codes,
                bases: &[base],
                ..
            } => {
                let decode = OnePlane(base);
                out.extend(codes[rows].iter().map(|&code| decode.id(code)));
            }
            Neighbours::Codes {
                codes,
                bases,
                plane_bits,
            } => {
                let decode = ManyPlanes { bases, plane_bits };
                out.extend(codes[rows].iter().map(|&code| decode.id(code)));
            }
        }
    }

    /// The graph of a row.
    #[inline]
    pub(crate) fn graph(&self, row: u32) -> VertexId {
        match self.graph_codes.get(row as usize) {
            None | Some(0) => GraphScope::DEFAULT_GRAPH,
            Some(&code) => self.graphs[code as usize - 1],
        }
    }

    /// Whether chunks of keys follow one another, none of them empty.
    pub(super) fn starts_ascend(&self) -> bool {
        let Keys::Chunked { starts, lows, .. } = self.keys else {
            return true;
        };
        let ends = starts
            .iter()
            .map(|start| *start as usize)
            .chain([lows.len()]);
        starts.first() == Some(&0) && ends.is_sorted_by(|start, end| start < end)
    }

    /// Whether each key has rows, and all rows have a key.
    pub(super) fn offsets_ascend(&self) -> bool {
        let first_and_last = |first: u32, last: u32| (first, last) == (0, self.rows_count);
        match self.offsets {
            Offsets::One => true,
            Offsets::Narrow(offsets) => {
                first_and_last(offsets[0].into(), offsets[offsets.len() - 1].into())
                    && offsets.is_sorted_by(|start, end| start < end)
            }
            Offsets::Wide(offsets) => {
                first_and_last(offsets[0], offsets[offsets.len() - 1])
                    && offsets.is_sorted_by(|start, end| start < end)
            }
        }
    }

    /// Whether all codes of graphs stand for one.
    pub(super) fn has_known_graphs(&self) -> bool {
        let codes = self.graph_codes.iter();
        codes
            .max()
            .is_none_or(|most| *most as usize <= self.graphs.len())
    }

    /// The key that has a row.
    fn key_of(&self, row: u32) -> u64 {
        let ordinal = match self.offsets {
            Offsets::One => row as usize,
            Offsets::Narrow(offsets) => {
                offsets.partition_point(|offset| u32::from(*offset) <= row) - 1
            }
            Offsets::Wide(offsets) => offsets.partition_point(|offset| *offset <= row) - 1,
        };
        match self.keys {
            Keys::Wide(keys) => keys[ordinal],
            Keys::Chunked {
                highs,
                starts,
                lows,
            } => {
                let chunk = starts.partition_point(|start| *start as usize <= ordinal) - 1;
                highs[chunk] << 16 | u64::from(lows[ordinal])
            }
        }
    }

    /// The neighbour of a row.
    pub(super) fn neighbour(&self, row: u32) -> u64 {
        let row = row as usize;
        match self.neighbours {
            Neighbours::Ids(ids) => ids[row],
            Neighbours::Near { codes, base } => OnePlane(base).id(codes[row].into()).bits(),
            Neighbours::Codes {
                codes,
                bases: &[base],
                ..
            } => OnePlane(base).id(codes[row]).bits(),
            Neighbours::Codes {
                codes,
                bases,
                plane_bits,
            } => ManyPlanes { bases, plane_bits }.id(codes[row]).bits(),
        }
    }

    /// One of its rows: two binary searches.
    pub(super) fn row(&self, row: u32) -> Row {
        [
            self.predicate.bits(),
            self.key_of(row),
            self.neighbour(row),
            self.graph(row).bits(),
        ]
    }

    /// Appends its rows, ascending.
    pub(crate) fn append_rows(&self, out: &mut Vec<Row>) {
        let (mut keys, mut neighbours) = (Vec::new(), Vec::new());
        self.append_keys(&mut keys);
        self.append_neighbours(0..self.rows_count, &mut neighbours);
        out.reserve(neighbours.len());
        for (ordinal, key) in (0..).zip(keys) {
            for row in self.rows(ordinal) {
                let neighbour = neighbours[row as usize];
                let graph = self.graph(row);
                out.push([
                    self.predicate.bits(),
                    key.bits(),
                    neighbour.bits(),
                    graph.bits(),
                ]);
            }
        }
    }
}
