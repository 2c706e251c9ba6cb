//! What layers have made of one segment of the base, put together: edges that came and edges that went.
//!
//! For whoever walks [images](crate::raw) of a base elsewhere. However many layers there are, they are two lists: an edge is there
//! that the base has and no list of those that went has, or that came. Layers hold weights, so the sum of an edge's is 1 where it came
//! and the base has it not, -1 where it went and the base has it, and 0 where it came and went; no look at the base is needed.
//!
//! Both lists are given in the form of images, with one chunk of ids of 8 bytes: they are small beside the base's.
//!
//! Cost: a merge of the layers' rows, some 10 ns each; 16 bytes a row are held, 16 a key besides.

use super::layer::Layer;
use super::sources::sources;
use super::stream::{RowStream, merge_rows};
use super::version::Version;
use crate::error::ViewError;
use crate::format::ChunkKind;
use crate::segment::raw::{RawIndex, RawIndexChunk, RawNeighbours, RawNumbers, RawSegment};
use crate::source::Fault;
use crate::view::{GraphScope, SegmentKey};
use rdf::VertexId;
use std::ops::Range;
use std::sync::{Arc, Weak};

/// Edges of one segment, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OverlayEdges {
    keys: Vec<u64>,
    /// The first row of each key, and at the end the number of rows.
    offsets: Vec<u64>,
    neighbours: Vec<u64>,
    longest: u64,
}

/// See the head of this file.
pub struct Overlay {
    segment: SegmentKey,
    /// Those that have the segment. Named by where they lie, which is nobody else's as long as these are held.
    layers: Vec<Weak<Layer>>,
    came: OverlayEdges,
    went: OverlayEdges,
    has_graphs: bool,
}

/// Keys of a segment that are none of the base's, and keys of the base's that are none any more; each as
/// edges of a key to itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OverlayKeys {
    /// Those that came.
    pub came: OverlayEdges,
    /// Those that went.
    pub went: OverlayEdges,
}

impl OverlayEdges {
    fn push(&mut self, key: VertexId, neighbour: VertexId) {
        if self.keys.last() != Some(&key.bits()) {
            self.end_key();
            self.keys.push(key.bits());
            self.offsets.push(self.neighbours.len() as u64);
        }
        self.neighbours.push(neighbour.bits());
    }

    fn end_key(&mut self) {
        let begun = self.offsets.last().copied().unwrap_or(0);
        self.longest = self.longest.max(self.neighbours.len() as u64 - begun);
    }

    fn end(&mut self) {
        self.end_key();
        self.offsets.push(self.neighbours.len() as u64);
    }

    /// Edges.
    pub fn rows(&self) -> u64 {
        self.neighbours.len() as u64
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.neighbours.is_empty()
    }

    /// The neighbours in some rows. Asserts that there are such.
    pub fn neighbours_in(&self, rows: Range<u64>) -> impl Iterator<Item = VertexId> {
        let rows = rows.start as usize..rows.end as usize;
        self.neighbours[rows]
            .iter()
            .copied()
            .map(VertexId::from_bits)
    }

    /// The neighbours, by row.
    pub fn neighbours(&self) -> impl Iterator<Item = VertexId> {
        self.neighbours.iter().copied().map(VertexId::from_bits)
    }

    /// The keys, ascending.
    pub fn keys(&self) -> impl Iterator<Item = VertexId> {
        self.keys.iter().copied().map(VertexId::from_bits)
    }

    /// The rows of a key; none, where it is none.
    pub fn rows_of(&self, key: VertexId) -> Range<u64> {
        match self.keys.binary_search(&key.bits()) {
            Ok(place) => self.offsets[place]..self.offsets[place + 1],
            Err(_) => 0..0,
        }
    }

    /// Their image; `None` where there are none.
    pub fn raw(&self) -> Option<RawSegment<'_>> {
        let (first, last) = (*self.keys.first()?, *self.keys.last()?);
        let chunk = RawIndexChunk {
            first,
            last,
            at_and_kind: ChunkKind::Far as u64,
            ordinal: 0,
        };
        Some(RawSegment {
            index: RawIndex {
                keys: self.keys.len() as u64,
                chunks: vec![chunk],
                jump: &[],
                data: bytemuck::cast_slice(&self.keys),
            },
            rows: self.rows(),
            key_rows_max: self.longest,
            offsets: (self.longest > 1).then_some(RawNumbers::U64(&self.offsets)),
            neighbours: RawNeighbours::Ids(&self.neighbours),
            graphs: None,
            dense: Vec::new(),
        })
    }

    fn bytes(&self) -> u64 {
        let words = self.keys.capacity() + self.offsets.capacity() + self.neighbours.capacity();
        8 * words as u64
    }
}

impl OverlayKeys {
    /// Bytes of memory held.
    pub fn bytes(&self) -> u64 {
        self.came.bytes() + self.went.bytes()
    }
}

impl Overlay {
    /// Edges that are there and not in the base.
    pub fn came(&self) -> &OverlayEdges {
        &self.came
    }

    /// Edges of the base that are not there any more.
    pub fn went(&self) -> &OverlayEdges {
        &self.went
    }

    /// Whether layers have changed edges of named graphs; the lists do not say which edges those are.
    pub fn has_graphs(&self) -> bool {
        self.has_graphs
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> u64 {
        self.came.bytes() + self.went.bytes()
    }

    /// Whether it is what this version has: the same layers have changed the segment. O(layers).
    pub fn is_of(&self, version: &Version) -> bool {
        let own = self.layers.iter().map(Weak::as_ptr);
        own.eq(layers_of(version, self.segment).map(Arc::as_ptr))
    }
}

/// The layers of a version that have the segment, oldest first.
fn layers_of(version: &Version, segment: SegmentKey) -> impl Iterator<Item = &Arc<Layer>> {
    let vertex = version.vertex_of(segment.predicate);
    let name = vertex.map(|vertex| (vertex, segment.direction));
    let layers = version.layers.iter();
    layers.filter(move |layer| {
        let has = |name| {
            layer
                .graphs()
                .any(|(graph, _)| graph.segment_of(name).is_some())
        };
        name.is_some_and(has)
    })
}

impl Version {
    /// Edges of a segment that layers have, those that cancel as well: as many has its [overlay](Version::overlay) at most.
    /// O(layers).
    pub fn overlay_rows_max(&self, segment: SegmentKey) -> Result<u64, ViewError> {
        let Some(vertex) = self.vertex_of(segment.predicate) else {
            return Ok(0);
        };
        let rows = sources(None, &self.layers).into_iter().map(|source| {
            let found = source.segment(vertex, segment.direction)?;
            Ok(found.map_or(0, |segment| segment.descriptor.rows))
        });
        rows.sum::<Result<u64, Fault>>().map_err(|fault| *fault)
    }

    /// What the layers have made of a segment of the base. O(edges of the layers).
    pub fn overlay(&self, segment: SegmentKey) -> Result<Overlay, ViewError> {
        self.overlay_of(segment).map_err(|fault| *fault)
    }

    fn overlay_of(&self, segment: SegmentKey) -> Result<Overlay, Fault> {
        let mut overlay = Overlay {
            segment,
            layers: layers_of(self, segment).map(Arc::downgrade).collect(),
            came: OverlayEdges::default(),
            went: OverlayEdges::default(),
            has_graphs: false,
        };
        let mut streams = Vec::new();
        if let Some(vertex) = self.vertex_of(segment.predicate) {
            for source in &sources(None, &self.layers) {
                streams.extend(RowStream::open(source, vertex, segment.direction)?);
            }
        }
        merge_rows(streams, |edges, weight| {
            for edge in edges {
                overlay.has_graphs |= edge.graph != GraphScope::DEFAULT_GRAPH;
                match weight {
                    1.. => overlay.came.push(edge.key, edge.neighbour),
                    0 => {}
                    ..0 => overlay.went.push(edge.key, edge.neighbour),
                }
            }
            Ok::<(), Fault>(())
        })?;
        overlay.came.end();
        overlay.went.end();
        Ok(overlay)
    }

    /// Which keys came and went by an overlay of this version. O(keys of the overlay), each looked up in the base.
    pub fn overlay_keys(&self, overlay: &Overlay) -> Result<OverlayKeys, ViewError> {
        let mut keys = OverlayKeys::default();
        let rows = |key| {
            let rows = self.base.raw_rows(overlay.segment, key)?;
            Ok::<_, ViewError>(rows.map_or(0, |(_, rows)| rows.end - rows.start))
        };
        for key in overlay.came.keys() {
            if rows(key)? == 0 {
                keys.came.push(key, key);
            }
        }
        let length = |rows: Range<u64>| rows.end - rows.start;
        for key in overlay.went.keys() {
            let gone = length(overlay.went.rows_of(key));
            if overlay.came.rows_of(key).is_empty() && rows(key)? == gone {
                keys.went.push(key, key);
            }
        }
        keys.came.end();
        keys.went.end();
        Ok(keys)
    }
}
