//! A reader of raw images as a kernel would be written: arithmetic on bytes, and no check of bounds but Rust's.

use rdf::Direction;
use store::format::{ChunkKind, DEFAULT_GRAPH_CODE};
use store::raw::{RawIndex, RawNeighbours, RawSegment};
use store::{GraphView, SegmentKey, Snapshot, ViewError};

pub const DIRECTIONS: [Direction; 2] = [Direction::Out, Direction::In];

/// Items of a chunk's data, as they would be read elsewhere.
fn items<T: bytemuck::Pod>(index: &RawIndex<'_>, at: u64, count: u64) -> Vec<T> {
    let at = at as usize;
    bytemuck::pod_collect_to_vec(&index.data[at..at + count as usize * size_of::<T>()])
}

fn keys_in(index: &RawIndex<'_>, chunk: usize) -> u64 {
    let next = index.chunks.get(chunk + 1);
    next.map_or(index.keys, |next| next.ordinal) - index.chunks[chunk].ordinal
}

/// The ordinal of a key, by arithmetic on the image alone.
pub fn ordinal(index: &RawIndex<'_>, id: u64) -> Option<u64> {
    let range = (id >> 16).wrapping_sub(index.chunks[0].first >> 16);
    let place = if index.jump.is_empty() {
        let begun = index.chunks.partition_point(|chunk| chunk.first <= id);
        begun.checked_sub(1)?
    } else {
        *index.jump.get(usize::try_from(range).ok()?)? as usize
    };
    let (chunk, keys) = (index.chunks[place], keys_in(index, place));
    if id < chunk.first || id > chunk.last {
        return None;
    }
    let within = match chunk.kind() {
        ChunkKind::Dense => {
            let (block, bit) = ((id - chunk.first) / 448, (id - chunk.first) % 448);
            let block: Vec<u64> = items(index, chunk.at() + block * 64, 8);
            let (word, bit) = (1 + bit as usize / 64, bit % 64);
            let full: u32 = block[1..word].iter().map(|word| word.count_ones()).sum();
            let below = (block[word] & ((1 << bit) - 1)).count_ones();
            let ordinal = (block[0] & ((1 << 46) - 1)) + u64::from(full + below);
            return (block[word] >> bit & 1 == 1).then_some(ordinal);
        }
        ChunkKind::Sparse => items::<u16>(index, chunk.at(), keys).binary_search(&(id as u16)),
        ChunkKind::Near => {
            items::<u32>(index, chunk.at(), keys).binary_search(&((id - chunk.first) as u32))
        }
        ChunkKind::Far => items::<u64>(index, chunk.at(), keys).binary_search(&id),
    };
    within.ok().map(|within| chunk.ordinal + within as u64)
}

/// All keys of an image, ascending.
pub fn keys_of(index: &RawIndex<'_>) -> Vec<u64> {
    let mut found = Vec::new();
    for (place, chunk) in index.chunks.iter().enumerate() {
        let keys = keys_in(index, place);
        match chunk.kind() {
            ChunkKind::Dense => {
                let blocks = (chunk.last - chunk.first) / 448 + 1;
                for (block, words) in (0..).zip(items::<[u64; 8]>(index, chunk.at(), blocks)) {
                    let bits = (0..448).filter(|bit| words[1 + bit / 64] >> (bit % 64) & 1 == 1);
                    found.extend(bits.map(|bit| chunk.first + block * 448 + bit as u64));
                }
            }
            ChunkKind::Sparse => {
                let lows = items::<u16>(index, chunk.at(), keys);
                found.extend(
                    lows.iter()
                        .map(|&low| chunk.first >> 16 << 16 | u64::from(low)),
                );
            }
            ChunkKind::Near => {
                let nears = items::<u32>(index, chunk.at(), keys);
                found.extend(nears.iter().map(|&near| chunk.first + u64::from(near)));
            }
            ChunkKind::Far => found.extend(items::<u64>(index, chunk.at(), keys)),
        }
    }
    found
}

/// The rows of a vertex: neighbour and code of the graph.
pub fn rows(image: &RawSegment<'_>, id: u64) -> Vec<(u64, u32)> {
    let Some(ordinal) = ordinal(&image.index, id) else {
        return Vec::new();
    };
    let range = match &image.offsets {
        None => ordinal..ordinal + 1,
        Some(offsets) => offsets.get(ordinal).unwrap()..offsets.get(ordinal + 1).unwrap(),
    };
    let neighbour = |row: usize| match image.neighbours {
        RawNeighbours::Ids(ids) => ids[row],
        RawNeighbours::Codes {
            codes,
            bases,
            plane_bits,
        } => {
            let code = u64::from(codes[row]);
            let shift = 32 - plane_bits;
            bases[(code >> shift) as usize].wrapping_add(code & ((1 << shift) - 1))
        }
    };
    let graph = |row: usize| {
        image
            .graphs
            .map_or(DEFAULT_GRAPH_CODE, |graphs| graphs[row])
    };
    range
        .map(|row| (neighbour(row as usize), graph(row as usize)))
        .collect()
}

/// Both directions of every predicate.
pub fn segments_of(snapshot: &Snapshot) -> Vec<SegmentKey> {
    let both = |predicate| {
        DIRECTIONS.map(|direction| SegmentKey {
            predicate,
            direction,
        })
    };
    snapshot.predicates().into_iter().flat_map(both).collect()
}

/// Every image, or the error.
pub type Images = Vec<Result<Vec<(u64, Vec<(u64, u32)>)>, ViewError>>;

/// Walks what the images of a snapshot give, without a check of bounds.
pub fn walk(snapshot: &Snapshot) -> Images {
    let read = |image: Option<RawSegment<'_>>| {
        let Some(image) = image else {
            return Vec::new();
        };
        let keys = keys_of(&image.index);
        assert!(keys.is_sorted_by(|a, b| a < b));
        let all = (0..).zip(&keys);
        for (place, &key) in all {
            assert_eq!(ordinal(&image.index, key), Some(place));
        }
        for list in &image.dense {
            assert!(list.ordinal < image.index.keys);
            let members = keys_of(&list.members);
            let rows = rows(&image, keys[list.ordinal as usize]);
            assert!(members.len() as u64 == list.members.keys && members.len() <= rows.len());
        }
        let all = keys.iter().map(|&key| (key, rows(&image, key)));
        all.inspect(|(_, rows)| {
            assert!(!rows.is_empty() && rows.len() as u64 <= image.key_rows_max);
        })
        .collect()
    };
    let mut images: Images = segments_of(snapshot)
        .into_iter()
        .map(|segment| snapshot.raw_segment(segment).map(read))
        .collect();
    for direction in DIRECTIONS {
        images.push(snapshot.raw_signatures(direction).map(|image| {
            let Some(image) = image else {
                return Vec::new();
            };
            let value = |(place, key)| {
                let set = image.sets.get(place).unwrap();
                assert!(set < image.sets_count);
                (key, vec![(set, 0)])
            };
            (0..).zip(keys_of(&image.index)).map(value).collect()
        }));
    }
    images
}
