//! The lists of a batch of keys, found by reads.
//!
//! A lookup is a value that is given bytes: it knows no fabric, and whoever drives it may wait between reads or not. In each
//! stage it names the pieces that it needs next ([`Lookup::wanted`]) and takes their bytes ([`Lookup::take`]), until it has
//! all. Pieces that touch are one, and keys of one block share it: keys that ascend read least.
//!
//! Cost: a search in the directory a key, and the bytes of the rows twice, read and decoded.

use super::{COLUMNS, ListColumn, Location, Misplaced, misplaced};
use crate::format::ChunkKind;
use crate::lists::Filter;
use crate::segment::index::{ABSENT, rank};
use crate::segment::planes::{Decode, Encoding, Ids, ManyPlanes, OnePlane};
use crate::segment::{BLOCK_IDS, BLOCK_WORDS};
use crate::view::GraphScope;
use rdf::VertexId;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of a rank block.
const BLOCK_BYTES: u64 = 8 * BLOCK_WORDS as u64;

/// Copies of whole columns that a reader has, in the order of [`ListColumn`]. Those of rows are never asked for.
pub type Copies = [Option<Arc<[u8]>>; COLUMNS];

/// Some bytes of a column that are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Which column.
    pub column: ListColumn,
    /// Where they begin in it (bytes).
    pub offset: u64,
    /// How many (bytes); not 0.
    pub length: u64,
}

/// Lists in plain columns, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundLists {
    /// The neighbours of all lists.
    pub neighbours: Vec<VertexId>,
    /// A graph for each neighbour under a scope that binds it, else none.
    pub graphs: Vec<VertexId>,
    /// Where each list ends, one for each key.
    pub ends: Vec<usize>,
}

/// What is read now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Keys,
    Offsets,
    Rows,
    Done,
}

/// See the [module](self).
pub struct Lookup {
    location: Arc<Location>,
    copies: Copies,
    keys: Vec<VertexId>,
    filter: Filter,
    stage: Stage,
    /// Of each key its ordinal, or [`ABSENT`], once the stage of keys is over.
    ordinals: Vec<u64>,
    /// Of each key its rows, once that of offsets is over.
    rows: Vec<Range<u64>>,
    /// Where each key's bytes of this stage begin, in `bytes` or in a copy.
    places: Vec<usize>,
    /// Where the codes of graphs begin.
    graph_places: Vec<usize>,
    pieces: Vec<Wanted>,
    /// Bytes of all pieces.
    pieces_bytes: u64,
    /// What has been read of them.
    bytes: Vec<u8>,
    /// Pieces that have been read whole, and bytes of the next one.
    read: (usize, u64),
}

impl Lookup {
    /// A lookup of these keys, of which layers hold none ([`Location::may_be_changed`]).
    pub fn new(
        location: Arc<Location>,
        copies: Copies,
        keys: &[VertexId],
        scope: GraphScope<'_>,
    ) -> Result<Lookup, Misplaced> {
        let mut lookup = Lookup {
            filter: location.filter(scope),
            copies,
            keys: keys.to_vec(),
            stage: Stage::Keys,
            ordinals: Vec::new(),
            rows: Vec::new(),
            places: Vec::new(),
            graph_places: Vec::new(),
            pieces: Vec::new(),
            pieces_bytes: 0,
            bytes: Vec::new(),
            read: (0, 0),
            location,
        };
        if lookup.location.keys == 0 || lookup.filter == Filter::Nothing {
            lookup.rows = vec![0..0; keys.len()];
            lookup.stage = Stage::Done;
        } else {
            lookup.want_keys();
            lookup.go_on()?;
        }
        Ok(lookup)
    }

    /// Whether all has been read.
    pub fn is_done(&self) -> bool {
        self.stage == Stage::Done
    }

    /// What is to be read next, at most so many bytes and pieces (neither is 0): empty once all has been.
    pub fn wanted(&self, bytes_max: u64, pieces_max: usize) -> Vec<Wanted> {
        let (mut begun, mut left, mut wanted) = (self.read.1, bytes_max, Vec::new());
        for piece in &self.pieces[self.read.0..] {
            if left == 0 || wanted.len() == pieces_max {
                break;
            }
            let length = (piece.length - begun).min(left);
            wanted.push(Wanted {
                offset: piece.offset + begun,
                length,
                ..*piece
            });
            left -= length;
            begun = 0;
        }
        wanted
    }

    /// Takes the bytes of what was [wanted](Lookup::wanted), all of it. An error: they are none of such a segment.
    pub fn take(&mut self, bytes: &[u8]) -> Result<(), Misplaced> {
        self.bytes
            .reserve(self.pieces_bytes as usize - self.bytes.len());
        self.bytes.extend_from_slice(bytes);
        let mut left = bytes.len() as u64;
        while left > 0 {
            let piece = self.pieces.get(self.read.0);
            let piece = piece.ok_or(misplaced("more bytes than were asked for"))?;
            let rest = piece.length - self.read.1;
            if left < rest {
                self.read.1 += left;
                break;
            }
            left -= rest;
            self.read = (self.read.0 + 1, 0);
        }
        self.go_on()
    }

    /// The lists. Asserts that all has been read.
    pub fn found(&self) -> Result<FoundLists, Misplaced> {
        assert!(self.is_done(), "all has been read");
        let mut found = FoundLists::default();
        match &self.location.neighbours {
            Encoding::Ids => self.decode(Ids, u64::from_le_bytes, &mut found)?,
            Encoding::Codes {
                bases,
                plane_bits: 0,
            } => {
                let base = bases.first().copied().unwrap_or(0);
                self.decode(OnePlane(base), u32::from_le_bytes, &mut found)?;
            }
            Encoding::Codes { bases, plane_bits } => {
                let planes = ManyPlanes {
                    bases,
                    plane_bits: *plane_bits,
                };
                self.decode(planes, u32::from_le_bytes, &mut found)?;
            }
        }
        Ok(found)
    }

    /// Works off stages of which all bytes are here.
    fn go_on(&mut self) -> Result<(), Misplaced> {
        while self.stage != Stage::Done && self.read.0 == self.pieces.len() {
            match self.stage {
                Stage::Keys => {
                    self.find_ordinals()?;
                    self.begin(Stage::Offsets);
                    self.want_offsets();
                }
                Stage::Offsets => {
                    self.find_rows()?;
                    self.begin(Stage::Rows);
                    self.want_rows();
                }
                Stage::Rows | Stage::Done => self.stage = Stage::Done,
            }
        }
        Ok(())
    }

    fn begin(&mut self, stage: Stage) {
        self.stage = stage;
        self.places.clear();
        self.pieces.clear();
        self.bytes.clear();
        self.pieces_bytes = 0;
        self.read = (0, 0);
    }

    /// Wants some bytes of a column, and says where they will be.
    fn want(&mut self, column: ListColumn, range: Range<u64>) -> usize {
        if self.copies[column as usize].is_some() {
            return range.start as usize;
        }
        if range.is_empty() {
            return self.pieces_bytes as usize;
        }
        if let Some(last) = self.pieces.last_mut().filter(|last| last.column == column) {
            let end = last.offset + last.length;
            if (last.offset..=end).contains(&range.start) {
                let place = self.pieces_bytes - (end - range.start);
                let more = range.end.saturating_sub(end);
                last.length += more;
                self.pieces_bytes += more;
                return place as usize;
            }
        }
        let place = self.pieces_bytes;
        self.pieces.push(Wanted {
            column,
            offset: range.start,
            length: range.end - range.start,
        });
        self.pieces_bytes += range.end - range.start;
        place as usize
    }

    /// The bytes of a column that were wanted.
    fn bytes_at(&self, column: ListColumn, place: usize, length: u64) -> Result<&[u8], Misplaced> {
        let bytes = self.copies[column as usize]
            .as_deref()
            .unwrap_or(&self.bytes);
        let end = place.checked_add(length as usize);
        let bytes = end.and_then(|end| bytes.get(place..end));
        bytes.ok_or(misplaced("a reference beyond the end"))
    }

    fn want_keys(&mut self) {
        for place in 0..self.keys.len() {
            let id = self.keys[place].bits();
            let range = match self.location.chunk_of(id) {
                Some(chunk) => self.location.data_of(chunk, id),
                None => 0..0,
            };
            let at = self.want(ListColumn::Keys, range);
            self.places.push(at);
        }
    }

    fn find_ordinals(&mut self) -> Result<(), Misplaced> {
        let mut ordinals = Vec::with_capacity(self.keys.len());
        for (key, place) in self.keys.iter().zip(&self.places) {
            let id = key.bits();
            ordinals.push(match self.location.chunk_of(id) {
                Some(chunk) => {
                    let range = self.location.data_of(chunk, id);
                    let bytes = self.bytes_at(ListColumn::Keys, *place, range.end - range.start)?;
                    self.location.probe(chunk, id, bytes)?
                }
                None => ABSENT,
            });
        }
        self.ordinals = ordinals;
        Ok(())
    }

    fn want_offsets(&mut self) {
        let Some(width) = self.location.offset_width else {
            return;
        };
        for place in 0..self.ordinals.len() {
            let range = match self.ordinals[place] {
                ABSENT => 0..0,
                ordinal => ordinal << width..(ordinal + 2) << width,
            };
            let at = self.want(ListColumn::Offsets, range);
            self.places.push(at);
        }
    }

    fn find_rows(&mut self) -> Result<(), Misplaced> {
        let mut rows = Vec::with_capacity(self.keys.len());
        for (place, &ordinal) in self.ordinals.iter().enumerate() {
            rows.push(match (ordinal, self.location.offset_width) {
                (ABSENT, _) => 0..0,
                (ordinal, None) => ordinal..ordinal + 1,
                (_, Some(width)) => {
                    let at = self.places[place];
                    let pair = self.bytes_at(ListColumn::Offsets, at, 2 << width)?;
                    let (first, second) = pair.split_at(1 << width);
                    let (start, end) = (word_of(first), word_of(second));
                    if start >= end || end > self.location.rows {
                        return Err(misplaced("offsets that do not ascend"));
                    }
                    start..end
                }
            });
        }
        self.rows = rows;
        Ok(())
    }

    fn want_rows(&mut self) {
        let row_bytes = self.location.row_bytes();
        for place in 0..self.rows.len() {
            let rows = self.rows[place].clone();
            let at = self.want(
                ListColumn::Neighbours,
                rows.start * row_bytes..rows.end * row_bytes,
            );
            self.places.push(at);
        }
        self.graph_places.clear();
        if self.filter == Filter::Every {
            return;
        }
        for place in 0..self.rows.len() {
            let rows = self.rows[place].clone();
            let at = self.want(ListColumn::Graphs, rows.start * 4..rows.end * 4);
            self.graph_places.push(at);
        }
    }

    fn decode<D: Decode, const BYTES: usize>(
        &self,
        decode: D,
        code: impl Fn([u8; BYTES]) -> D::Code,
        found: &mut FoundLists,
    ) -> Result<(), Misplaced> {
        let total: u64 = self.rows.iter().map(|rows| rows.end - rows.start).sum();
        found.neighbours.reserve(total as usize);
        found.ends.reserve(self.rows.len());
        for (place, rows) in self.rows.iter().enumerate() {
            let count = rows.end - rows.start;
            if count > 0 {
                let at = self.places[place];
                let codes = self.bytes_at(ListColumn::Neighbours, at, count * BYTES as u64)?;
                let codes = codes.as_chunks::<BYTES>().0.iter();
                let neighbours = codes.map(|bytes| decode.id(code(*bytes)));
                if self.filter == Filter::Every {
                    found.neighbours.extend(neighbours);
                } else {
                    let at = self.graph_places[place];
                    let graphs = self.bytes_at(ListColumn::Graphs, at, count * 4)?;
                    self.admit(neighbours, graphs, found)?;
                }
            }
            found.ends.push(found.neighbours.len());
        }
        Ok(())
    }

    /// Appends the rows of a list that are within the scope. An error: all of its rows do not ascend.
    fn admit(
        &self,
        neighbours: impl Iterator<Item = VertexId>,
        graphs: &[u8],
        found: &mut FoundLists,
    ) -> Result<(), Misplaced> {
        let start = found.neighbours.len();
        let graphs = graphs.as_chunks::<4>().0.iter();
        let codes = graphs.map(|bytes| u32::from_le_bytes(*bytes));
        let mut before = None;
        for (neighbour, graph) in neighbours.zip(codes) {
            // Rows that are one where their neighbour is the same would hide that.
            if before.replace((neighbour, graph)) >= Some((neighbour, graph)) {
                return Err(misplaced("rows that do not ascend"));
            }
            if !self.filter.admits(graph) {
                continue;
            }
            if self.filter.binds_graph() {
                found.neighbours.push(neighbour);
                found.graphs.push(self.location.graph(graph)?);
            } else if found.neighbours[start..].last() != Some(&neighbour) {
                found.neighbours.push(neighbour);
            }
        }
        Ok(())
    }
}

impl Location {
    /// What a scope admits of the rows.
    fn filter(&self, scope: GraphScope<'_>) -> Filter {
        let Some(graphs) = &self.graphs else {
            return Filter::of_default_graph(scope);
        };
        Filter::of_scope(scope, |graph| {
            let found = graphs.binary_search(&graph.bits());
            found.ok().map(|code| code as u32)
        })
    }

    fn row_bytes(&self) -> u64 {
        match self.neighbours {
            Encoding::Codes { .. } => 4,
            Encoding::Ids => 8,
        }
    }

    /// The bytes of a chunk that say whether an id, which lies within it, is a key.
    fn data_of(&self, chunk: usize, id: u64) -> Range<u64> {
        let entry = &self.chunks[chunk];
        let ordinals = self.ordinals_of(chunk);
        let count = ordinals.end - ordinals.start;
        let bytes = match entry.kind() {
            Some(ChunkKind::Dense) => {
                let block = (id - entry.first) / BLOCK_IDS;
                let start = entry.at() + block * BLOCK_BYTES;
                return start..start + BLOCK_BYTES;
            }
            Some(ChunkKind::Sparse) => count * 2,
            Some(ChunkKind::Near) => count * 4,
            Some(ChunkKind::Far) | None => count * 8,
        };
        entry.at()..entry.at() + bytes
    }

    /// The ordinal of an id by the bytes of its chunk, or [`ABSENT`].
    fn probe(&self, chunk: usize, id: u64, bytes: &[u8]) -> Result<u64, Misplaced> {
        let entry = &self.chunks[chunk];
        let ordinals = self.ordinals_of(chunk);
        let found = match entry.kind() {
            Some(ChunkKind::Dense) => {
                let mut block = [0; BLOCK_WORDS];
                for (word, bytes) in block.iter_mut().zip(bytes.as_chunks::<8>().0) {
                    *word = u64::from_le_bytes(*bytes);
                }
                let ordinal = rank(&block, (id - entry.first) % BLOCK_IDS);
                if ordinal != ABSENT && !ordinals.contains(&ordinal) {
                    return Err(misplaced("a rank block with an ordinal of another chunk"));
                }
                return Ok(ordinal);
            }
            Some(ChunkKind::Sparse) => search::<2>(bytes, id & 0xffff),
            Some(ChunkKind::Near) => search::<4>(bytes, id - entry.first),
            Some(ChunkKind::Far) | None => search::<8>(bytes, id),
        };
        Ok(found.map_or(ABSENT, |place| ordinals.start + place as u64))
    }
}

/// The place of a number in a list of such numbers of so many bytes.
fn search<const BYTES: usize>(bytes: &[u8], number: u64) -> Option<usize> {
    let (items, _) = bytes.as_chunks::<BYTES>();
    items
        .binary_search_by_key(&number, |item| word_of(item))
        .ok()
}

/// A number of 1, 2, 4 or 8 bytes.
fn word_of(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}
