//! Raw images: the segments of a base as verified byte ranges, for whoever walks them elsewhere.
//!
//! A GPU, or anything that copies a segment before it walks it, wants the parts of the segment as they lie in their
//! files, each with its meaning. [`Snapshot::raw_segment`] gives them for one predicate in one direction, and
//! [`Snapshot::raw_signatures`] for the vertices of a direction with their characteristic sets. Only the directory of
//! a key index is copied, 32 bytes a chunk, because its positions are made relative to the copied data. Everything
//! else is borrowed.
//!
//! **What holds.** Every byte of an image was compared with its checksum. A file may still contradict itself behind a
//! right checksum, so the image is also checked in itself: a walk needs no check of bounds.
//!
//! | of | holds |
//! |---|---|
//! | chunks | ascend; none is empty; no range of 2^16 ids is in two; ordinals begin at 0, ascend, and end below the number of keys |
//! | data of a chunk | lie within [`RawIndex::data`]; rank blocks begin at multiples of 64 |
//! | keys | ascend; the first and last key of a chunk are those that the chunk names; every key's ordinal is its place; rank blocks have no member behind the last key |
//! | jump table | has an entry for each range from the first key's to the last key's, and each is right |
//! | offsets | are one more than the keys; begin at 0, ascend strictly, and end with the number of rows |
//! | functional segments | have as many rows as keys |
//! | codes of neighbours | name a plane that exists; bases ascend |
//! | codes of graphs | are below the number of named graphs of the base, or [`DEFAULT_GRAPH_CODE`] |
//! | dense lists | ascend by ordinals, which are below the number of keys; have no more members than their key has rows |
//! | numbers of sets | are below the number of sets |
//!
//! What does not hold by itself: that the rows of a key ascend, that ids are known terms, and that a dense list has the
//! neighbours of its key. A reader of the store believes the same; [`check`](crate::check) looks at all of it.
//!
//! **Of a version.** Images are those of a base. A version keeps the numbers of its base's predicates, so a
//! [`SegmentKey`] of either means the same segment of the base, and a predicate that layers brought has no image.
//! [`Version::is_base_alone`](crate::delta::Version::is_base_alone) says whether the image is all of the version's
//! segment. Codes of graphs are places in the base's [`named_graphs`](crate::GraphView::named_graphs), not in the
//! version's.
//!
//! **Cost.** The first image of a part's blocks reads them for their checksums. Then it is one pass over each column at
//! the speed of memory, by as many threads as the caller says; uploads are rare. Damage that comes later is not seen here: bytes that a file lost while they
//! were copied are zeros, so whoever copied an image asks [`Snapshot::damage`] before the copy is believed.

mod columns;
pub(crate) mod index;
mod pieces;
mod rows;

use crate::error::ViewError;
use crate::format::DEFAULT_GRAPH_CODE;
use crate::segment::reader::Segment;
use crate::signature::sets::Sets;
use crate::snapshot::Snapshot;
use crate::source::{Fault, inconsistent};
use crate::view::SegmentKey;
pub use columns::{RawNeighbours, RawNumbers};
pub use index::{RawIndex, RawIndexChunk};
use rdf::{Direction, PredicateId};

/// One predicate in one direction as it lies in the base.
#[derive(Clone, Debug)]
pub struct RawSegment<'v> {
    /// Its keys.
    pub index: RawIndex<'v>,
    /// Rows: (neighbour, graph) pairs over all keys. At least one a key.
    pub rows: u64,
    /// The most rows that one key has.
    pub key_rows_max: u64,
    /// The first row of each ordinal, and at the end the number of rows. `None` where the segment is functional: the
    /// key with ordinal *i* has row *i* alone.
    pub offsets: Option<RawNumbers<'v>>,
    /// By row; those of a key ascend.
    pub neighbours: RawNeighbours<'v>,
    /// The code of each row's graph; `None` where every edge is in the default graph.
    pub graphs: Option<&'v [u32]>,
    /// Long lists that are kept as key indexes too, ascending by ordinals.
    pub dense: Vec<RawDenseList<'v>>,
}

/// The distinct neighbours of one key, as a key index.
#[derive(Clone, Debug)]
pub struct RawDenseList<'v> {
    /// Ordinal of the key.
    pub ordinal: u64,
    /// The neighbours.
    pub members: RawIndex<'v>,
}

/// The vertices with an edge in one direction, each with the number of its characteristic set.
#[derive(Clone, Debug)]
pub struct RawSignatures<'v> {
    /// The vertices.
    pub index: RawIndex<'v>,
    /// By ordinal, the number of the vertex's set.
    pub sets: RawNumbers<'v>,
    /// Number of sets.
    pub sets_count: u64,
}

impl Snapshot {
    /// The image of a segment, verified as the [module](self) says; `None` where no edge has the predicate, and for
    /// [`PredicateId::SIGNATURE`]. A damaged block is [`ViewError::Damaged`], as for every other reader; parts that
    /// contradict each other are [`ViewError::Inconsistent`]. O(bytes of the segment).
    pub fn raw_segment(&self, segment: SegmentKey) -> Result<Option<RawSegment<'_>>, ViewError> {
        self.raw_segment_by(segment, 1)
    }

    /// The same, looked through by so many threads, of which the caller's is one. None outlives the call.
    pub fn raw_segment_by(
        &self,
        segment: SegmentKey,
        threads: usize,
    ) -> Result<Option<RawSegment<'_>>, ViewError> {
        self.image_of(segment, threads).map_err(|fault| *fault)
    }

    /// The image of a segment that [`Snapshot::raw_segment`] has given before, which is not looked through again: what held then
    /// holds. `key_rows_max` is 0. O(chunks) once its blocks were compared with their checksums.
    pub fn raw_segment_again(
        &self,
        segment: SegmentKey,
    ) -> Result<Option<RawSegment<'_>>, ViewError> {
        self.known_image_of(segment).map_err(|fault| *fault)
    }

    /// The image of a direction's signatures; `None` where there is no edge. Errors and cost are those of
    /// [`Snapshot::raw_segment`].
    pub fn raw_signatures(
        &self,
        direction: Direction,
    ) -> Result<Option<RawSignatures<'_>>, ViewError> {
        let segment = self.side(direction).segment(PredicateId::SIGNATURE);
        let image = segment.and_then(|segment| segment.map(signatures_of).transpose());
        image.map_err(|fault| *fault)
    }

    fn image_of(
        &self,
        segment: SegmentKey,
        threads: usize,
    ) -> Result<Option<RawSegment<'_>>, Fault> {
        if segment.predicate == PredicateId::SIGNATURE {
            return Ok(None);
        }
        let Some(segment) = self.segment(segment)? else {
            return Ok(None);
        };
        let (offsets, key_rows_max) = columns::offsets_of(&segment, threads)?;
        let dense = dense_lists_of(&segment, offsets.as_ref(), threads)?;
        Ok(Some(RawSegment {
            index: index::image_of(&segment.index()?, threads)?,
            rows: segment.descriptor.rows,
            key_rows_max,
            offsets,
            neighbours: columns::neighbours_of(&segment, threads)?,
            graphs: self.graph_codes(&segment)?,
            dense,
        }))
    }

    fn known_image_of(&self, segment: SegmentKey) -> Result<Option<RawSegment<'_>>, Fault> {
        if segment.predicate == PredicateId::SIGNATURE {
            return Ok(None);
        }
        let Some(segment) = self.segment(segment)? else {
            return Ok(None);
        };
        let mut dense = Vec::new();
        for entry in segment.dense_lists()? {
            dense.push(RawDenseList {
                ordinal: entry.ordinal,
                members: index::known_image_of(&segment.open_list(entry)?)?,
            });
        }
        let graphs = segment.graph_column();
        Ok(Some(RawSegment {
            index: index::known_image_of(&segment.index()?)?,
            rows: segment.descriptor.rows,
            key_rows_max: 0,
            offsets: columns::known_offsets_of(&segment)?,
            neighbours: columns::known_neighbours_of(&segment)?,
            graphs: graphs
                .map(|column| column.codes(0..segment.descriptor.rows))
                .transpose()?,
            dense,
        }))
    }

    /// The graph column, every code of which names a graph.
    fn graph_codes<'v>(&'v self, segment: &Segment<'v>) -> Result<Option<&'v [u32]>, Fault> {
        let Some(column) = segment.graph_column() else {
            return Ok(None);
        };
        let codes = column.codes(0..segment.descriptor.rows)?;
        let graphs = self.graphs()?.count();
        let is_known = |&code: &u32| code == DEFAULT_GRAPH_CODE || u64::from(code) < graphs;
        if !codes.iter().all(is_known) {
            return Err(inconsistent(
                &segment.side.edge_graphs,
                "a graph column names a graph beyond the table",
            ));
        }
        Ok(Some(codes))
    }
}

fn dense_lists_of<'v>(
    segment: &Segment<'v>,
    offsets: Option<&RawNumbers<'_>>,
    threads: usize,
) -> Result<Vec<RawDenseList<'v>>, Fault> {
    let entries = segment.dense_lists()?;
    let keys = segment.descriptor.keys;
    let are_keys = entries.last().is_none_or(|last| last.ordinal < keys);
    if !are_keys || !entries.is_sorted_by(|a, b| a.ordinal < b.ordinal) {
        return Err(inconsistent(
            &segment.side.lists,
            "a list of no key, or lists that do not ascend",
        ));
    }
    let mut lists = Vec::with_capacity(entries.len());
    for entry in entries {
        if entry.members > rows_of(offsets, entry.ordinal) {
            return Err(inconsistent(
                &segment.side.lists,
                "a list's index has more members than its key has rows",
            ));
        }
        lists.push(RawDenseList {
            ordinal: entry.ordinal,
            members: index::image_of(&segment.open_list(entry)?, threads)?,
        });
    }
    Ok(lists)
}

/// How many rows the key with this ordinal has.
fn rows_of(offsets: Option<&RawNumbers<'_>>, ordinal: u64) -> u64 {
    let Some(offsets) = offsets else { return 1 };
    let ends = offsets.get(ordinal).zip(offsets.get(ordinal + 1));
    ends.map_or(0, |(start, end)| end - start)
}

fn signatures_of(segment: Segment<'_>) -> Result<RawSignatures<'_>, Fault> {
    let side = segment.side;
    let sets_count = Sets::open(&side.sets)?.count();
    let sets = columns::values_of(&segment)?;
    if sets.most().is_some_and(|most| most >= sets_count) {
        return Err(inconsistent(&side.neighbours, "a set beyond the table"));
    }
    Ok(RawSignatures {
        index: index::image_of(&segment.index()?, 1)?,
        sets,
        sets_count,
    })
}
