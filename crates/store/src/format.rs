//! What stands in the files of a graph: names, headers, descriptors.
//!
//! `docs/formats/store-layout.md` draws every byte; this module holds the same layout as types
//! whose bytes are read in place. Everything is little-endian and position independent: a position
//! is a number of bytes from the beginning of its part.
//!
//! A part begins with a [`PartHeader`] of 64 bytes, so that a file that lost its name is still
//! recognised and no position is 0. All structures are a multiple of 8 bytes and parts are padded
//! to a multiple of 8, so a part is viewed as a slice of `u64` without checks per access.

use rdf::Direction;

/// First bytes of every file of a store.
pub const MAGIC: [u8; 8] = *b"SOMERSLT";
/// Version of the layout. Another version is refused at open, with what to do about it.
pub const VERSION: u16 = 1;
/// Bytes of a vertex id.
pub const ID_BYTES: u8 = 8;
/// Bits of features of a generation that this version knows. A set bit that is not known is refused at open.
pub const FEATURES: u64 = FEATURE_PART;
/// The generation is a part of a graph: whoever takes it for a whole one answers with some of the rows.
pub const FEATURE_PART: u64 = 1;
/// Bytes of a [`PartHeader`], and so the first position that holds data.
pub const HEADER_BYTES: u64 = 64;

/// Code of the default graph in a graph column. The largest code, as the default graph is the
/// largest id there, so that codes order as ids do.
pub const DEFAULT_GRAPH_CODE: u32 = u32::MAX;

/// What a file of a graph holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PartKind {
    /// A [`SegmentDescriptor`] per predicate, by its number.
    Segments,
    /// Key indexes.
    Keys,
    /// Offsets of the rows of each key.
    Offsets,
    /// Neighbour columns with their planes, and the values of signatures.
    Neighbours,
    /// Graph columns.
    EdgeGraphs,
    /// Rank blocks of dense neighbour lists, and the tables that find them.
    Lists,
    /// The table of characteristic sets.
    Sets,
    /// Named graph -> predicates and keys.
    GraphIndex,
    /// The predicates as vertices, by number. Of no direction.
    Predicates,
    /// The named graphs, ascending: the index is the code in graph columns. Of no direction.
    Graphs,
}

impl PartKind {
    /// The parts that exist once for each direction.
    pub const DIRECTED: [PartKind; 8] = [
        PartKind::Segments,
        PartKind::Keys,
        PartKind::Offsets,
        PartKind::Neighbours,
        PartKind::EdgeGraphs,
        PartKind::Lists,
        PartKind::Sets,
        PartKind::GraphIndex,
    ];

    /// The parts that exist once.
    pub const COMMON: [PartKind; 2] = [PartKind::Predicates, PartKind::Graphs];

    /// The four letters in the header.
    pub const fn letters(self) -> [u8; 4] {
        *match self {
            PartKind::Segments => b"segm",
            PartKind::Keys => b"keys",
            PartKind::Offsets => b"offs",
            PartKind::Neighbours => b"neig",
            PartKind::EdgeGraphs => b"egra",
            PartKind::Lists => b"list",
            PartKind::Sets => b"sets",
            PartKind::GraphIndex => b"gidx",
            PartKind::Predicates => b"pred",
            PartKind::Graphs => b"grap",
        }
    }

    /// The file's name within its generation: out, in, or of neither direction.
    pub const fn file_name(self, direction: Option<Direction>) -> &'static str {
        /// Constants: a commit asks for dozens of names.
        macro_rules! names {
            ($stem:literal) => {
                [
                    concat!($stem, "-out.bin"),
                    concat!($stem, "-in.bin"),
                    concat!($stem, ".bin"),
                ]
            };
        }
        let names = match self {
            PartKind::Segments => names!("segments"),
            PartKind::Keys => names!("keys"),
            PartKind::Offsets => names!("offsets"),
            PartKind::Neighbours => names!("neighbours"),
            PartKind::EdgeGraphs => names!("edge-graphs"),
            PartKind::Lists => names!("lists"),
            PartKind::Sets => names!("sets"),
            PartKind::GraphIndex => names!("graph-index"),
            PartKind::Predicates => names!("predicates"),
            PartKind::Graphs => names!("graphs"),
        };
        match direction {
            Some(Direction::Out) => names[0],
            Some(Direction::In) => names[1],
            None => names[2],
        }
    }
}

/// The first 64 bytes of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct PartHeader {
    /// [`MAGIC`].
    pub magic: [u8; 8],
    /// [`VERSION`].
    pub version: u16,
    /// [`ID_BYTES`].
    pub id_bytes: u8,
    /// 0 out, 1 in, 2 neither.
    pub direction: u8,
    /// [`PartKind::letters`].
    pub kind: [u8; 4],
    /// 0: the features of a generation stand in its manifest.
    pub features: u64,
    /// Zeros.
    pub reserved: [u64; 5],
}

const _: () = assert!(size_of::<PartHeader>() as u64 == HEADER_BYTES);

impl PartHeader {
    /// The header of a part as this version writes it.
    pub fn new(kind: PartKind, direction: Option<Direction>) -> PartHeader {
        PartHeader {
            magic: MAGIC,
            version: VERSION,
            id_bytes: ID_BYTES,
            direction: direction.map_or(2, |direction| direction as u8),
            kind: kind.letters(),
            features: 0,
            reserved: [0; 5],
        }
    }
}

/// One segment: one predicate in one direction. The predicate is the descriptor's index.
///
/// A predicate without edges has all zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct SegmentDescriptor {
    /// Widths and what is present, see [`flags`].
    pub flags: u32,
    /// Number of chunks of the key index.
    pub chunks: u32,
    /// Number of keys.
    pub keys: u64,
    /// Number of rows: (neighbour, graph) pairs over all keys.
    pub rows: u64,
    /// Where the key index's directory begins in the part `keys`.
    pub directory_at: u64,
    /// Where the offsets begin in the part `offsets`; 0 where functional.
    pub offsets_at: u64,
    /// Where planes and neighbours begin in the part `neighbours`.
    pub neighbours_at: u64,
    /// Where the graph column begins in the part `edge-graphs`; 0 where all is default graph.
    pub graphs_at: u64,
    /// Where the table of dense lists begins in the part `lists`; 0 where there is none.
    pub lists_at: u64,
}

const _: () = assert!(size_of::<SegmentDescriptor>() == 64);

/// Bits of [`SegmentDescriptor::flags`].
pub mod flags {
    /// The key index has a jump table.
    pub const JUMP: u32 = 1;
    /// Every key has exactly one row: no offsets.
    pub const FUNCTIONAL: u32 = 1 << 1;
    /// Bits 2 and 3: binary logarithm of the bytes of an offset.
    pub const OFFSET_WIDTH_SHIFT: u32 = 2;
    /// Neighbours are ids of 8 bytes instead of codes of 4.
    pub const WIDE_NEIGHBOURS: u32 = 1 << 4;
    const _: () = assert!(
        PLANE_BITS_SHIFT + 8 == PLANES_SHIFT && PLANES_SHIFT + 16 == u32::BITS,
        "the fields of the flags do not overlap"
    );
    /// Bits 8 to 15: number of bits of a code that choose its plane.
    pub const PLANE_BITS_SHIFT: u32 = 8;
    /// Bits 16 to 31: number of planes (0 where neighbours are wide).
    pub const PLANES_SHIFT: u32 = 16;
    /// For signatures: bits 2 and 3 are the binary logarithm of the bytes of a value.
    pub const VALUE_WIDTH_SHIFT: u32 = OFFSET_WIDTH_SHIFT;
}

/// One chunk of a key index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct ChunkEntry {
    /// Its first key.
    pub first: u64,
    /// Its last key.
    pub last: u64,
    /// Position of its data, a multiple of 8, with the [`ChunkKind`] in the low three bits.
    pub at_and_kind: u64,
    /// Ordinal of its first key.
    pub ordinal: u64,
}

const _: () = assert!(size_of::<ChunkEntry>() == 32);

/// How a chunk holds its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ChunkKind {
    /// [Rank blocks](crate::segment) of 448 ids each; the first begins at the chunk's first key.
    Dense = 0,
    /// Sorted `u16`: the low halves of keys of one range of 2^16 ids.
    Sparse = 1,
    /// Sorted `u32`: distances from the chunk's first key.
    Near = 2,
    /// Sorted `u64`: ids.
    Far = 3,
}

impl ChunkEntry {
    /// Where the data begins.
    #[inline]
    pub const fn at(self) -> u64 {
        self.at_and_kind & !7
    }

    /// How the keys are held; `None` for numbers that this version does not know.
    #[inline]
    pub const fn kind(self) -> Option<ChunkKind> {
        Some(match self.at_and_kind & 7 {
            0 => ChunkKind::Dense,
            1 => ChunkKind::Sparse,
            2 => ChunkKind::Near,
            3 => ChunkKind::Far,
            _ => return None,
        })
    }
}

/// One entry of a segment's table of dense lists, ascending by ordinal. The table begins with
/// its length as `u64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct ListEntry {
    /// Ordinal of the key whose list this is.
    pub ordinal: u64,
    /// Where the directory of the list's index begins in the part `lists`.
    pub directory_at: u64,
    /// Number of distinct neighbours.
    pub members: u64,
    /// Number of chunks.
    pub chunks: u32,
    /// [`flags::JUMP`] or 0.
    pub flags: u32,
}

const _: () = assert!(size_of::<ListEntry>() == 32);

/// The head of the part `sets`, behind its [`PartHeader`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct SetsHead {
    /// Number of sets.
    pub sets: u64,
    /// Number of classes in the table of types.
    pub classes: u64,
    /// Where the table of types begins: ids, ascending by first use.
    pub classes_at: u64,
    /// Where the positions begin: one `u64` for every [`SETS_PER_POSITION`] sets.
    pub positions_at: u64,
    /// Bit 0: types are recorded. Bit 1: some set is not known ("overflow").
    pub flags: u64,
}

/// Sets between two recorded positions.
pub const SETS_PER_POSITION: u64 = 16;
/// Bit of [`SetsHead::flags`]: the sets of this direction name types.
pub const SETS_HAVE_TYPES: u64 = 1;
/// Bit of [`SetsHead::flags`]: some vertices' predicates are not recorded and must be probed.
pub const SETS_OVERFLOW: u64 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_letters_are_distinct() {
        let all: Vec<PartKind> = [&PartKind::DIRECTED[..], &PartKind::COMMON[..]].concat();
        let names: std::collections::BTreeSet<_> =
            all.iter().map(|kind| kind.file_name(None)).collect();
        let letters: std::collections::BTreeSet<_> =
            all.iter().map(|kind| kind.letters()).collect();
        assert_eq!((names.len(), letters.len()), (all.len(), all.len()));
    }
}
