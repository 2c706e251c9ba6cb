//! Images of segments in the device's memory: uploaded once, at first need, and described to kernels.

use crate::arena::{ALIGNMENT, Arena};
use crate::error::GpuError;
use crate::layout;
use device::{Device, Region, Slice, Stream};
use std::collections::HashMap;
use std::sync::Arc;
use store::raw::{RawIndex, RawNeighbours, RawSegment};
use store::{SegmentKey, Snapshot};

/// A segment on the device.
pub(crate) struct Image {
    /// As kernels are told of it.
    pub(crate) segment: layout::Segment,
    /// The bases of its neighbours' planes, as the host decodes them.
    pub(crate) bases: Vec<u64>,
    /// Rows of the longest list.
    pub(crate) longest: u64,
    /// The last key.
    pub(crate) last_key: u64,
    /// Lists that are kept as key indexes too, ascending by the ordinals of their keys.
    dense: Vec<(u64, layout::Index)>,
    /// Whether edges are in several graphs, which no kernel tells apart.
    pub(crate) has_graphs: bool,
    /// Where it lies: a section may outlive the [`Gpu`](crate::Gpu) that it is of.
    _memory: Region,
}

impl Image {
    /// The neighbours of the key with this ordinal as an index, where they are kept so.
    pub(crate) fn dense(&self, ordinal: u64) -> Option<&layout::Index> {
        let place = self.dense.binary_search_by_key(&ordinal, |list| list.0);
        place.ok().map(|place| &self.dense[place].1)
    }
}

/// The images of one base.
pub(crate) struct Images {
    arena: Arena,
    images: HashMap<SegmentKey, Option<Arc<Image>>>,
}

impl Images {
    /// None yet.
    pub(crate) fn new(arena: Arena) -> Images {
        Images {
            arena,
            images: HashMap::new(),
        }
    }

    /// Bytes of all images.
    pub(crate) fn used(&self) -> u64 {
        self.arena.used()
    }

    /// The image of a segment, uploaded where it is asked for first; `None` where no edge has the predicate.
    pub(crate) fn segment(
        &mut self,
        device: &dyn Device,
        stream: &Stream,
        snapshot: &Snapshot,
        key: SegmentKey,
    ) -> Result<Option<Arc<Image>>, GpuError> {
        if let Some(image) = self.images.get(&key) {
            return Ok(image.clone());
        }
        let image = match snapshot.raw_segment(key)? {
            None => None,
            Some(raw) => {
                let bytes = bytes_of(&raw);
                if bytes > self.arena.free() {
                    let free = self.arena.free();
                    return Err(GpuError::NoRoom { asked: bytes, free });
                }
                let mut upload = Upload {
                    device,
                    stream,
                    arena: &mut self.arena,
                };
                Some(Arc::new(upload.image(&raw)?))
            }
        };
        self.images.insert(key, image.clone());
        Ok(image)
    }
}

/// Bytes of a segment's image, so that one is uploaded whole or not at all.
fn bytes_of(raw: &RawSegment<'_>) -> u64 {
    let padded = |bytes: usize| (bytes as u64).next_multiple_of(ALIGNMENT);
    let index = |index: &RawIndex<'_>| {
        padded(index.data.len())
            + padded(size_of_val(&index.chunks[..]))
            + padded(size_of_val(index.jump))
    };
    let neighbours = match &raw.neighbours {
        RawNeighbours::Codes { codes, bases, .. } => {
            padded(size_of_val(*codes)) + padded(size_of_val(*bases))
        }
        RawNeighbours::Ids(ids) => padded(size_of_val(*ids)),
    };
    let offsets = raw
        .offsets
        .as_ref()
        .map_or(0, |offsets| padded(offsets.bytes().len()));
    let dense = raw.dense.iter().map(|list| index(&list.members));
    index(&raw.index) + neighbours + offsets + dense.sum::<u64>()
}

/// Puts parts into the arena.
struct Upload<'u> {
    device: &'u dyn Device,
    stream: &'u Stream,
    arena: &'u mut Arena,
}

impl Upload<'_> {
    fn image(&mut self, raw: &RawSegment<'_>) -> Result<Image, GpuError> {
        let index = self.index(&raw.index)?;
        let neighbours = match &raw.neighbours {
            RawNeighbours::Codes {
                codes,
                bases,
                plane_bits,
            } => layout::Column {
                cells: self.put(bytemuck::cast_slice(codes))?,
                bases: self.put(bytemuck::cast_slice(bases))?,
                base: bases.first().copied().unwrap_or(0),
                wide: 0,
                plane_bits: *plane_bits,
            },
            RawNeighbours::Ids(ids) => layout::Column {
                cells: self.put(bytemuck::cast_slice(ids))?,
                wide: 1,
                ..layout::Column::default()
            },
        };
        let (offsets, width) = match &raw.offsets {
            None => (0, 0),
            Some(offsets) => (
                self.put(offsets.bytes())?,
                offsets.width_bytes().trailing_zeros(),
            ),
        };
        let mut dense = Vec::with_capacity(raw.dense.len());
        for list in &raw.dense {
            dense.push((list.ordinal, self.index(&list.members)?));
        }
        Ok(Image {
            segment: layout::Segment {
                index,
                neighbours,
                offsets,
                rows: raw.rows,
                width,
                functional: u32::from(raw.offsets.is_none()),
            },
            bases: match &raw.neighbours {
                RawNeighbours::Codes { bases, .. } => bases.to_vec(),
                RawNeighbours::Ids(_) => Vec::new(),
            },
            longest: raw.key_rows_max,
            last_key: raw.index.chunks.last().map_or(0, |chunk| chunk.last),
            dense,
            has_graphs: raw.graphs.is_some(),
            _memory: self.arena.region().clone(),
        })
    }

    fn index(&mut self, raw: &RawIndex<'_>) -> Result<layout::Index, GpuError> {
        let chunks: Vec<layout::Chunk> = raw
            .chunks
            .iter()
            .map(|chunk| layout::Chunk {
                first: chunk.first,
                last: chunk.last,
                at: chunk.at_and_kind,
                ordinal: chunk.ordinal,
            })
            .collect();
        Ok(layout::Index {
            data: self.put(raw.data)?,
            chunks: self.put(bytemuck::cast_slice(&chunks))?,
            jump: self.put(bytemuck::cast_slice(raw.jump))?,
            keys: raw.keys,
            count: u32::try_from(chunks.len()).expect("chunks are counted in 32 bits on disk"),
            jumps: u32::try_from(raw.jump.len())
                .expect("a jump table has 8 entries a chunk at most"),
            first: chunks.first().copied().unwrap_or_default(),
        })
    }

    /// The address of a part's copy; 0 for no bytes.
    fn put(&mut self, bytes: &[u8]) -> Result<u64, GpuError> {
        if bytes.is_empty() {
            return Ok(0);
        }
        let slice: Slice = self.arena.take(bytes.len() as u64)?;
        self.device.upload(self.stream, &slice, bytes)?;
        Ok(slice.address())
    }
}
