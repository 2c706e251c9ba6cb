//! Where the lists of a segment lie, for whoever reads them from elsewhere: a node of a cluster, by one-sided reads.
//!
//! ```text
//!  owner                                   reader
//!  GraphView::located --> Located::Here    Location::decode --> Lookup::new(location, keys, scope)
//!    location (bytes) -------------------->                       | wanted() -> pieces of columns
//!    columns (memory) <-- one-sided reads ------------------------| take(bytes)
//!                                                                 v FoundLists
//! ```
//!
//! A [`Location`] is what a reader keeps: sizes, widths and planes of a segment's columns, the directory of its key index, and
//! which keys layers may hold. It is Wukong's location cache (OSDI'16 section 4.3), for a layout without a hash table: one
//! entry a segment and not one a key. From it a [`Lookup`] takes so many reads one after the other:
//!
//! | read | bytes a key | unless |
//! |---|---|---|
//! | of the key index: a rank block, or a list of at most some 8 KiB | 64 | the reader has a copy of the index |
//! | of the offsets | 2 to 16 | the segment is functional, or the reader has a copy of the offsets |
//! | of neighbours, and of graphs beside them | 4 or 8 a row, and 4 | |
//!
//! So two or three where only the directory is at hand, and one where the index and the offsets were copied: the floor, since
//! the rows themselves are not cached. All keys of a batch share a read.
//!
//! **What is believed.** An owner gives memory whose blocks it has compared with their checksums, and the ranges of this
//! segment alone. A reader believes nothing of it: each position is held against the column's length, an ordinal against the
//! number of keys, offsets against each other and the number of rows, rows that are filtered against each other. That the rows of
//! a list that is given as it is ascend, is looked at by whoever takes it.
//!
//! **Layers** are not read so: they are many small allocations that each commit changes. A location names the ranges of keys
//! that they may hold ([`Location::may_be_changed`]), and those are asked of their owner.

mod bytes;
mod lookup;
mod owner;

use crate::format::{ChunkEntry, DEFAULT_GRAPH_CODE};
use crate::segment::planes::Encoding;
pub use lookup::{Copies, FoundLists, Lookup, Wanted};
use memory::Region;
use rdf::VertexId;

/// Columns of a segment, in the order of [`ListColumn`].
pub const COLUMNS: usize = 4;

/// A column that lists are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListColumn {
    /// The data of the key index.
    Keys,
    /// The first row of each key.
    Offsets,
    /// The neighbours, by row.
    Neighbours,
    /// The codes of graphs, by row.
    Graphs,
}

impl ListColumn {
    /// All of them.
    pub const ALL: [ListColumn; COLUMNS] = [
        ListColumn::Keys,
        ListColumn::Offsets,
        ListColumn::Neighbours,
        ListColumn::Graphs,
    ];
}

/// What an owner says of a segment.
#[derive(Default)]
pub enum Located {
    /// Its lists have to be asked for.
    #[default]
    Nowhere,
    /// They can be read once more of its blocks have been compared with their checksums: by asking again.
    Later,
    /// They can be read.
    Here(Box<LocatedSegment>),
}

impl Located {
    /// Of a segment without an edge.
    pub(crate) fn of_no_edges() -> Located {
        Located::Here(Box::new(LocatedSegment {
            location: Location::of_no_edges(),
            columns: [const { None }; COLUMNS],
        }))
    }
}

/// A segment that can be read from elsewhere.
pub struct LocatedSegment {
    /// Where lists lie in the columns.
    pub location: Location,
    /// The memory of each column, exactly; `None` where the segment has no such column. It was verified.
    pub columns: [Option<Region>; COLUMNS],
}

/// See the [module](self).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    keys: u64,
    rows: u64,
    /// Binary logarithm of the bytes of an offset; `None`: each key has one row.
    offset_width: Option<u32>,
    neighbours: Encoding,
    /// The named graphs by code, ascending, where the segment has a graph column.
    graphs: Option<Vec<u64>>,
    /// Positions are within the column of keys.
    chunks: Vec<ChunkEntry>,
    keys_bytes: u64,
    /// Keys that layers may hold: ranges, both ends included, ascending and apart.
    changed: Vec<(u64, u64)>,
}

/// Bytes of a location or of a column that are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a segment read from elsewhere: {what}")]
pub struct Misplaced {
    /// What was found.
    pub what: &'static str,
}

fn misplaced(what: &'static str) -> Misplaced {
    Misplaced { what }
}

impl Location {
    /// Of a segment without an edge: each list is empty, and nothing is read.
    pub fn of_no_edges() -> Location {
        Location {
            keys: 0,
            rows: 0,
            offset_width: None,
            neighbours: Encoding::Ids,
            graphs: None,
            chunks: Vec::new(),
            keys_bytes: 0,
            changed: Vec::new(),
        }
    }

    /// Number of keys.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// The length of a column in bytes; 0 where there is none.
    pub fn column_bytes(&self, column: ListColumn) -> u64 {
        let row_bytes = match self.neighbours {
            Encoding::Codes { .. } => 4,
            Encoding::Ids => 8,
        };
        match column {
            ListColumn::Keys => self.keys_bytes,
            ListColumn::Offsets => self
                .offset_width
                .map_or(0, |width| (self.keys + 1) << width),
            ListColumn::Neighbours => self.rows * row_bytes,
            ListColumn::Graphs => self.graphs.as_ref().map_or(0, |_| self.rows * 4),
        }
    }

    /// Bytes that it takes in memory.
    pub fn memory_bytes(&self) -> u64 {
        let bases = match &self.neighbours {
            Encoding::Codes { bases, .. } => size_of_val(&bases[..]),
            Encoding::Ids => 0,
        };
        let graphs = self.graphs.as_deref().map_or(0, size_of_val);
        let lists = size_of_val(&self.chunks[..]) + size_of_val(&self.changed[..]);
        (size_of::<Location>() + bases + graphs + lists) as u64
    }

    /// Whether layers may hold something of some key.
    pub fn has_changes(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Whether layers may hold something of a key, so that its list is not all in the columns. O(log ranges).
    pub fn may_be_changed(&self, key: VertexId) -> bool {
        let place = self.changed.partition_point(|range| range.1 < key.bits());
        let range = self.changed.get(place);
        range.is_some_and(|range| range.0 <= key.bits())
    }

    /// The chunk that would hold a key.
    fn chunk_of(&self, id: u64) -> Option<usize> {
        let begun = self.chunks.partition_point(|chunk| chunk.first <= id);
        let chunk = begun.checked_sub(1)?;
        (id <= self.chunks[chunk].last).then_some(chunk)
    }

    /// The ordinals of a chunk.
    fn ordinals_of(&self, chunk: usize) -> std::ops::Range<u64> {
        let next = self.chunks.get(chunk + 1);
        self.chunks[chunk].ordinal..next.map_or(self.keys, |next| next.ordinal)
    }

    /// The graph of a code that a filter which binds graphs has admitted.
    fn graph(&self, code: u32) -> Result<VertexId, Misplaced> {
        let graphs = self.graphs.as_deref().unwrap_or_default();
        let graph = graphs.get(code as usize).copied();
        debug_assert!(
            code != DEFAULT_GRAPH_CODE,
            "such a filter admits named graphs"
        );
        graph
            .map(VertexId::from_bits)
            .ok_or(misplaced("a graph beyond the table"))
    }
}
