//! A segment: one predicate in one direction.
//!
//! ```text
//! part keys        [chunk data ...][directory: ChunkEntry x chunks][jump: u32 x ranges]
//! part offsets     [ordinal -> first row, keys + 1 numbers of 1, 2, 4 or 8 bytes]
//! part neighbours  [planes: u64 x n][codes: u32 x rows]  or  [ids: u64 x rows]
//! part edge-graphs [codes: u32 x rows]
//! part lists       [indexes of dense lists][table: count, ListEntry x count]
//! ```
//!
//! Invariants: keys ascend; a key's rows ascend by (neighbour, graph), all distinct; offsets
//! ascend; ordinal *i* is the *i*-th key. OSDI'16 section 4 keeps one hash table instead; the
//! figures that decided are in `docs/formats/store-layout.md`.
//!
//! - [`index_writer`] and [`index`]: the key index, its chunks chosen by density;
//! - [`graph_index`]: the keys of each named graph;
//! - [`planes`]: neighbours as 4-byte codes that order as ids do;
//! - [`writer`]: a sorted stream of edges becomes segments;
//! - [`reader`]: a segment as it is asked;
//! - [`raw`]: a segment as verified bytes, for whoever walks it elsewhere;
//! - [`location`]: where its lists lie, for whoever reads them out of its memory from elsewhere.

pub(crate) mod graph_index;
pub(crate) mod index;
pub(crate) mod index_writer;
pub mod location;
pub(crate) mod planes;
pub mod raw;
pub(crate) mod reader;
pub(crate) mod writer;

/// Ids that one rank block covers.
///
/// ```text
///  word 0                                    words 1..=7
/// +-----------+-----------+----------------+---------------------------+
/// | 63 .. 55  | 54 .. 46  | 45 .. 0        | membership, bit i of word |
/// | members in| members in| members before | 1 + i / 64 is id i        |
/// | words 1-5 | words 1-3 | this block     |                           |
/// +-----------+-----------+----------------+---------------------------+
/// ```
///
/// Membership and ordinal of an id thus cost one cache line, and at most three words are counted
/// (the baseline CPU has no instruction for it, and counting seven took half of a lookup).
pub(crate) const BLOCK_IDS: u64 = 448;
/// Bits of the number of members before a block.
pub(crate) const BEFORE_BITS: u32 = 46;
/// Bits of each of the two counts above it.
pub(crate) const GROUP_BITS: u32 = 9;
/// Words of a block.
pub(crate) const BLOCK_WORDS: usize = 8;
const _: () = assert!(
    BLOCK_IDS == 64 * (BLOCK_WORDS as u64 - 1),
    "a block's words but the first are members"
);
const _: () = assert!(
    BEFORE_BITS + 2 * GROUP_BITS == 64 && 5 * 64 < 1 << GROUP_BITS,
    "three counts fill a word, and the members of five words fit theirs"
);
/// Ids of a range: chunks are chosen range by range.
pub(crate) const RANGE_BITS: u32 = 16;
const _: () = assert!(RANGE_BITS == u16::BITS, "a key's low half is a `u16`");

/// A list of at least this many distinct neighbours may get an index of its own.
pub(crate) const DENSE_LIST_MIN: usize = 1024;
/// ... if its first [`DENSE_LIST_MIN`] neighbours span at most this many ids, so that rank blocks
/// cost about 2 bytes a member beside the 4 of its code. (At 8 bytes the indexes of LUBM-160 took
/// 8.9 MB, most of them for literals that some hundred thousand publications share.)
pub(crate) const DENSE_LIST_SPAN_MAX: u64 = DENSE_LIST_MIN as u64 * 2 / 64 * BLOCK_IDS;
/// The same for members of classes, at 8 bytes: they are intersected in nearly every query.
pub(crate) const DENSE_CLASS_SPAN_MAX: u64 = DENSE_LIST_MIN as u64 * 8 / 64 * BLOCK_IDS;
