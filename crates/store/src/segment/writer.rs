//! Writes the segments of one direction from sorted edges, in one pass.
//!
//! The two directions of a graph are two [`GraphWriter`]s with files of their own, so they can be
//! fed by two threads. A writer holds one buffer per part, one range of keys, a number per vertex
//! for the signatures and 64 bytes per predicate; nothing grows with a segment.
//!
//! What is not known before the end of a segment is decided as late as possible and filled in
//! backwards: offsets begin with the first key that has a second row (those before it are
//! 0, 1, 2...), the graph column with the first edge in a named graph. What would need two passes
//! is told by the caller beforehand ([`SegmentShape`]): how wide offsets must be and in which spans
//! the neighbours lie.
//!
//! Invariant: bytes depend on the edges and shapes alone. Edges that come twice count once.

use super::index_writer::{IndexSummary, IndexWriter};
use super::planes::{Encoding, Spans};
use super::{DENSE_CLASS_SPAN_MAX, DENSE_LIST_MIN, DENSE_LIST_SPAN_MAX};
use crate::format::{DEFAULT_GRAPH_CODE, ListEntry, PartKind, SegmentDescriptor, flags};
use crate::parts::{PartError, PartFiles, PartWriter};
use crate::signature::builder::{SignatureBuilder, VERTEX_TYPES_MAX};
use crate::view::GraphScope;
use rdf::{Direction, PredicateId, VertexId};
use std::sync::Arc;

/// One edge as a segment sees it. Orders as segments are sorted.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, bytemuck::Pod, bytemuck::Zeroable,
)]
#[repr(C)]
pub struct Edge {
    /// The end that is looked up.
    pub key: VertexId,
    /// The other end.
    pub neighbour: VertexId,
    /// The named graph, or [`GraphScope::DEFAULT_GRAPH`].
    pub graph: VertexId,
}

/// What a writer must know of a segment before its first edge.
#[derive(Clone, Copy, Debug)]
pub struct SegmentShape {
    /// At least the number of edges (repeated ones may count). Decides the width of offsets, so it
    /// must depend on the input alone where stores are to be the same byte for byte.
    pub rows_max: u64,
    /// Spans that hold every neighbour.
    pub neighbours: Spans,
}

/// What a writer has written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectionSummary {
    /// Distinct edges: (key, neighbour, graph) over all predicates.
    pub rows: u64,
    /// Keys over all segments.
    pub keys: u64,
    /// Vertices with an edge in this direction.
    pub vertices: u64,
    /// Predicates with an edge.
    pub predicates: u64,
}

/// Writes one direction of a graph.
pub struct GraphWriter {
    parts: Parts,
    descriptors: Vec<SegmentDescriptor>,
    index: IndexWriter,
    signatures: SignatureBuilder,
    graphs: GraphCodes,
    lists: ListWriter,
    open: Option<OpenSegment>,
    direction: Direction,
    /// Types of the open key, of out edges.
    types: Vec<VertexId>,
    /// Classes with their edges, of in edges: kept until all their members are known.
    classes: Vec<(VertexId, u64)>,
    summary: DirectionSummary,
}

struct Parts {
    segments: PartWriter,
    keys: PartWriter,
    offsets: PartWriter,
    neighbours: PartWriter,
    edge_graphs: PartWriter,
    lists: PartWriter,
    sets: PartWriter,
}

/// The segment that is being written.
struct OpenSegment {
    predicate: PredicateId,
    encoding: Encoding,
    offset_width: u32,
    rows_max: u64,
    last: Option<Edge>,
    /// First row of the open key.
    key_start: u64,
    keys: u64,
    rows: u64,
    offsets_at: u64,
    neighbours_at: u64,
    graphs_at: u64,
    /// The segment of `rdf:type`, in this direction.
    types: Option<Direction>,
}

impl GraphWriter {
    /// Begins a direction. `graphs`: the named graphs that hold an edge, ascending.
    pub fn create(
        files: &dyn PartFiles,
        direction: Direction,
        graphs: Arc<[VertexId]>,
    ) -> Result<GraphWriter, PartError> {
        GraphWriter::with_signatures(files, direction, graphs, SignatureBuilder::new())
    }

    /// The same, for a graph with few of the vertices that its ids span, at most so many: its memory is that of its
    /// vertices. The bytes written are the same.
    pub(crate) fn create_sparse(
        files: &dyn PartFiles,
        direction: Direction,
        graphs: Arc<[VertexId]>,
        vertices_max: u64,
    ) -> Result<GraphWriter, PartError> {
        let signatures = SignatureBuilder::sparse(vertices_max);
        GraphWriter::with_signatures(files, direction, graphs, signatures)
    }

    fn with_signatures(
        files: &dyn PartFiles,
        direction: Direction,
        graphs: Arc<[VertexId]>,
        signatures: SignatureBuilder,
    ) -> Result<GraphWriter, PartError> {
        assert!(
            graphs.is_sorted_by(|a, b| a < b),
            "named graphs ascend and are distinct"
        );
        assert!(
            graphs.len() < DEFAULT_GRAPH_CODE as usize,
            "fewer than 2^32 - 1 named graphs"
        );
        let part = |kind| PartWriter::create(files, kind, Some(direction));
        Ok(GraphWriter {
            parts: Parts {
                segments: part(PartKind::Segments)?,
                keys: part(PartKind::Keys)?,
                offsets: part(PartKind::Offsets)?,
                neighbours: part(PartKind::Neighbours)?,
                edge_graphs: part(PartKind::EdgeGraphs)?,
                lists: part(PartKind::Lists)?,
                sets: part(PartKind::Sets)?,
            },
            descriptors: vec![SegmentDescriptor::default()],
            index: IndexWriter::default(),
            signatures,
            graphs: GraphCodes {
                graphs,
                last: (GraphScope::DEFAULT_GRAPH, DEFAULT_GRAPH_CODE),
            },
            lists: ListWriter::default(),
            open: None,
            direction,
            types: Vec::new(),
            classes: Vec::new(),
            summary: DirectionSummary::default(),
        })
    }

    /// Ends the segment before and begins that of `predicate`. Predicates ascend and are not
    /// [`PredicateId::SIGNATURE`] (asserted). A predicate that is left out has no edges.
    pub fn begin(&mut self, predicate: PredicateId, shape: &SegmentShape) -> Result<(), PartError> {
        self.end_segment()?;
        let number = predicate.0 as usize;
        assert!(number >= self.descriptors.len(), "predicates ascend");
        self.descriptors
            .resize(number, SegmentDescriptor::default());
        let neighbours = &mut self.parts.neighbours;
        neighbours.align(8)?;
        let neighbours_at = neighbours.position();
        let encoding = Encoding::for_spans(&shape.neighbours);
        if let Encoding::Codes { bases, .. } = &encoding {
            neighbours.append(bytemuck::cast_slice(bases))?;
        }
        self.lists.span_max = match predicate {
            PredicateId::TYPE => DENSE_CLASS_SPAN_MAX,
            _ => DENSE_LIST_SPAN_MAX,
        };
        self.open = Some(OpenSegment {
            predicate,
            encoding,
            offset_width: width_of(shape.rows_max),
            rows_max: shape.rows_max,
            last: None,
            key_start: 0,
            keys: 0,
            rows: 0,
            offsets_at: 0,
            neighbours_at,
            graphs_at: 0,
            types: (predicate == PredicateId::TYPE).then_some(self.direction),
        });
        Ok(())
    }

    /// Appends edges to the open segment, ascending over all calls (asserted); repetitions are
    /// left out.
    pub fn push(&mut self, edges: &[Edge]) -> Result<(), PartError> {
        let mut open = self.open.take().expect("a segment was begun");
        let result = edges
            .iter()
            .try_for_each(|edge| self.push_edge(&mut open, edge));
        self.open = Some(open);
        result
    }

    #[inline]
    fn push_edge(&mut self, open: &mut OpenSegment, edge: &Edge) -> Result<(), PartError> {
        let mut is_new_neighbour = true;
        if let Some(last) = open.last {
            if last == *edge {
                return Ok(());
            }
            assert!(last < *edge, "edges ascend");
            if last.key == edge.key {
                is_new_neighbour = last.neighbour != edge.neighbour;
            } else {
                self.end_key(open, last.key)?;
            }
        }
        open.last = Some(*edge);
        let neighbours = &mut self.parts.neighbours;
        match &open.encoding {
            Encoding::Codes { bases, plane_bits } => {
                let code = Encoding::code(bases, *plane_bits, edge.neighbour.bits());
                neighbours.append(&code.to_le_bytes())?;
            }
            Encoding::Ids => neighbours.append(&edge.neighbour.bits().to_le_bytes())?,
        }
        if open.graphs_at != 0 || edge.graph != GraphScope::DEFAULT_GRAPH {
            self.push_graph(open, edge.graph)?;
        }
        open.rows += 1;
        if is_new_neighbour {
            self.lists
                .push(&mut self.parts.lists, edge.neighbour.bits())?;
            match open.types {
                None => {}
                Some(Direction::Out) if self.types.len() > VERTEX_TYPES_MAX => {}
                Some(Direction::Out) => self.types.push(edge.neighbour),
                Some(Direction::In) => self.signatures.push_member(edge.key, edge.neighbour),
            }
        }
        Ok(())
    }

    fn push_graph(&mut self, open: &mut OpenSegment, graph: VertexId) -> Result<(), PartError> {
        let part = &mut self.parts.edge_graphs;
        if open.graphs_at == 0 {
            part.align(8)?;
            open.graphs_at = part.position();
            for _ in 0..open.rows {
                part.append(&DEFAULT_GRAPH_CODE.to_le_bytes())?;
            }
        }
        part.append(&self.graphs.code(graph).to_le_bytes())
    }

    /// The rows of the last key are complete.
    fn end_key(&mut self, open: &mut OpenSegment, key: VertexId) -> Result<(), PartError> {
        let rows = open.rows - open.key_start;
        self.index.push(&mut self.parts.keys, key.bits())?;
        let offsets = &mut self.parts.offsets;
        if rows > 1 && open.offsets_at == 0 {
            offsets.align(8)?;
            open.offsets_at = offsets.position();
            for row in 0..=open.keys {
                append_number(offsets, row, open.offset_width)?;
            }
        }
        if open.offsets_at != 0 {
            append_number(offsets, open.rows, open.offset_width)?;
        }
        self.lists.end_list(&mut self.parts.lists, open.keys)?;
        match open.types {
            None => self.signatures.push(key, open.predicate, rows),
            Some(Direction::Out) => {
                self.signatures.push(key, open.predicate, rows);
                let all = self.types.len() <= VERTEX_TYPES_MAX;
                self.signatures.push_types(key, all.then_some(&self.types));
                self.types.clear();
            }
            Some(Direction::In) => self.classes.push((key, rows)),
        }
        open.keys += 1;
        open.key_start = open.rows;
        Ok(())
    }

    fn end_segment(&mut self) -> Result<(), PartError> {
        let Some(mut open) = self.open.take() else {
            return Ok(());
        };
        let Some(last) = open.last else {
            self.descriptors.push(SegmentDescriptor::default());
            return Ok(());
        };
        self.end_key(&mut open, last.key)?;
        for (class, rows) in std::mem::take(&mut self.classes) {
            self.signatures.push(class, open.predicate, rows);
        }
        assert!(
            open.rows <= open.rows_max,
            "no more edges than were announced"
        );
        assert!(self.types.is_empty(), "types go with their vertex");
        self.assert_columns(&open);
        let index = self.index.finish(&mut self.parts.keys)?;
        assert!(index.keys == open.keys, "every key is in the index");
        let lists_at = self.lists.finish(&mut self.parts.lists)?;
        self.summary.rows += open.rows;
        self.summary.keys += open.keys;
        self.summary.predicates += 1;
        self.descriptors.push(open.descriptor(&index, lists_at));
        Ok(())
    }

    /// Asserts of a segment whose last key has ended that every column is as long as its rows or keys are many.
    fn assert_columns(&self, open: &OpenSegment) {
        let (rows, keys) = (open.rows, open.keys);
        let neighbours_bytes = match &open.encoding {
            Encoding::Codes { bases, .. } => 8 * bases.len() as u64 + 4 * rows,
            Encoding::Ids => 8 * rows,
        };
        assert_eq!(
            self.parts.neighbours.position(),
            open.neighbours_at + neighbours_bytes,
            "a neighbour for each row"
        );
        if open.offsets_at == 0 {
            assert_eq!(rows, keys, "keys without offsets have a row each");
        } else {
            assert_eq!(
                self.parts.offsets.position(),
                open.offsets_at + ((keys + 1) << open.offset_width),
                "an offset for each key, and one behind the last"
            );
        }
        if open.graphs_at != 0 {
            assert_eq!(
                self.parts.edge_graphs.position(),
                open.graphs_at + 4 * rows,
                "a graph for each row"
            );
        }
    }

    /// Writes signatures and descriptors, and completes every part.
    pub fn finish(mut self, files: &dyn PartFiles) -> Result<DirectionSummary, PartError> {
        self.end_segment()?;
        let GraphWriter {
            mut parts,
            mut descriptors,
            mut index,
            signatures,
            mut summary,
            ..
        } = self;
        let signatures = signatures.finish(&mut parts.sets)?;
        let width = width_of(u64::from(signatures.sets.saturating_sub(1)));
        parts.neighbours.align(8)?;
        let neighbours_at = parts.neighbours.position();
        for (vertex, set) in signatures.ascending() {
            index.push(&mut parts.keys, vertex.bits())?;
            append_number(&mut parts.neighbours, u64::from(set), width)?;
        }
        let index = index.finish(&mut parts.keys)?;
        assert_eq!(
            parts.neighbours.position(),
            neighbours_at + (index.keys << width),
            "a set for each vertex"
        );
        summary.vertices = index.keys;
        descriptors[0] = SegmentDescriptor {
            flags: index_flags(&index) | flags::FUNCTIONAL | width << flags::VALUE_WIDTH_SHIFT,
            chunks: index.chunks,
            keys: index.keys,
            rows: index.keys,
            directory_at: index.directory_at,
            neighbours_at,
            ..SegmentDescriptor::default()
        };
        parts.segments.append(bytemuck::cast_slice(&descriptors))?;
        let Parts {
            segments,
            keys,
            offsets,
            neighbours,
            edge_graphs,
            lists,
            sets,
        } = parts;
        for part in [
            segments,
            keys,
            offsets,
            neighbours,
            edge_graphs,
            lists,
            sets,
        ] {
            part.finish(files)?;
        }
        Ok(summary)
    }
}

impl OpenSegment {
    fn descriptor(&self, index: &IndexSummary, lists_at: u64) -> SegmentDescriptor {
        let mut bits = index_flags(index) | self.offset_width << flags::OFFSET_WIDTH_SHIFT;
        if self.offsets_at == 0 {
            bits |= flags::FUNCTIONAL;
        }
        bits |= match &self.encoding {
            Encoding::Codes { bases, plane_bits } => {
                plane_bits << flags::PLANE_BITS_SHIFT | (bases.len() as u32) << flags::PLANES_SHIFT
            }
            Encoding::Ids => flags::WIDE_NEIGHBOURS,
        };
        SegmentDescriptor {
            flags: bits,
            chunks: index.chunks,
            keys: self.keys,
            rows: self.rows,
            directory_at: index.directory_at,
            offsets_at: self.offsets_at,
            neighbours_at: self.neighbours_at,
            graphs_at: self.graphs_at,
            lists_at,
        }
    }
}

fn index_flags(index: &IndexSummary) -> u32 {
    if index.jump { flags::JUMP } else { 0 }
}

/// Binary logarithm of the bytes that hold every number up to `most`.
fn width_of(most: u64) -> u32 {
    match most {
        0..=0xff => 0,
        0x100..=0xffff => 1,
        0x1_0000..=0xffff_ffff => 2,
        _ => 3,
    }
}

#[inline]
fn append_number(part: &mut PartWriter, number: u64, width: u32) -> Result<(), PartError> {
    part.append(&number.to_le_bytes()[..1 << width])
}

/// Codes of graphs, remembering the last.
struct GraphCodes {
    graphs: Arc<[VertexId]>,
    last: (VertexId, u32),
}

impl GraphCodes {
    #[inline]
    fn code(&mut self, graph: VertexId) -> u32 {
        if self.last.0 != graph {
            let code = if graph == GraphScope::DEFAULT_GRAPH {
                DEFAULT_GRAPH_CODE
            } else {
                self.graphs
                    .binary_search(&graph)
                    .expect("every named graph was announced") as u32
            };
            self.last = (graph, code);
        }
        self.last.1
    }
}

/// Keeps long lists in narrow spans as indexes too.
#[derive(Default)]
struct ListWriter {
    /// Ids that the first neighbours may span.
    span_max: u64,
    /// The first neighbours of the open list, until it is decided.
    head: Vec<u64>,
    is_indexed: bool,
    index: IndexWriter,
    entries: Vec<ListEntry>,
}

impl ListWriter {
    #[inline]
    fn push(&mut self, out: &mut PartWriter, neighbour: u64) -> Result<(), PartError> {
        if self.is_indexed {
            return self.index.push(out, neighbour);
        }
        if self.head.len() < DENSE_LIST_MIN {
            self.head.push(neighbour);
            if self.head.len() == DENSE_LIST_MIN && neighbour - self.head[0] < self.span_max {
                self.is_indexed = true;
                for id in self.head.drain(..) {
                    self.index.push(out, id)?;
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn end_list(&mut self, out: &mut PartWriter, ordinal: u64) -> Result<(), PartError> {
        self.head.clear();
        if self.is_indexed {
            self.is_indexed = false;
            let index = self.index.finish(out)?;
            assert!(
                index.keys >= DENSE_LIST_MIN as u64,
                "only long lists are indexed"
            );
            assert!(
                self.entries
                    .last()
                    .is_none_or(|before| before.ordinal < ordinal),
                "lists ascend, because they are searched for"
            );
            self.entries.push(ListEntry {
                ordinal,
                directory_at: index.directory_at,
                members: index.keys,
                chunks: index.chunks,
                flags: index_flags(&index),
            });
        }
        Ok(())
    }

    /// Writes the segment's table; 0 where no list is indexed.
    fn finish(&mut self, out: &mut PartWriter) -> Result<u64, PartError> {
        if self.entries.is_empty() {
            return Ok(0);
        }
        out.align(8)?;
        let at = out.position();
        out.append(&(self.entries.len() as u64).to_le_bytes())?;
        out.append(bytemuck::cast_slice(&self.entries))?;
        self.entries.clear();
        Ok(at)
    }
}

/// Writes the two parts that both directions share. `predicates`: by [`PredicateId`], with
/// [`VertexId::UNBOUND`] for [`PredicateId::SIGNATURE`] and, where the graph does not know
/// `rdf:type`, for [`PredicateId::TYPE`]. `graphs`: as for [`GraphWriter::create`].
pub fn write_tables(
    files: &dyn PartFiles,
    predicates: &[VertexId],
    graphs: &[VertexId],
) -> Result<(), PartError> {
    assert!(
        predicates.len() >= PredicateId::FIRST_FREE.0 as usize,
        "reserved numbers are present"
    );
    assert!(
        graphs.is_sorted_by(|a, b| a < b),
        "named graphs ascend and are distinct"
    );
    for (kind, ids) in [
        (PartKind::Predicates, predicates),
        (PartKind::Graphs, graphs),
    ] {
        let mut part = PartWriter::create(files, kind, None)?;
        part.append(bytemuck::cast_slice(ids))?;
        part.finish(files)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
