//! A location as bytes, and back: it comes from another node, so nothing of it is believed.
//!
//! Words of 8 bytes, little-endian: sizes, and then the lists that they count. A reader allocates no more than came.

use super::{Location, Misplaced, misplaced};
use crate::format::{ChunkEntry, ChunkKind};
use crate::segment::planes::Encoding;
use crate::segment::raw::index::check_directory;

/// No graph column, no offsets.
const NONE: u64 = u64::MAX;

impl Location {
    /// As [`Location::decode`] reads it.
    pub fn encode(&self) -> Vec<u8> {
        let (bases, plane_bits) = match &self.neighbours {
            Encoding::Codes { bases, plane_bits } => (&bases[..], u64::from(*plane_bits)),
            Encoding::Ids => (&[][..], NONE),
        };
        let graphs = self.graphs.as_deref();
        let mut words = vec![
            self.keys,
            self.rows,
            self.keys_bytes,
            self.offset_width.map_or(NONE, u64::from),
            plane_bits,
            bases.len() as u64,
            graphs.map_or(NONE, |graphs| graphs.len() as u64),
            self.chunks.len() as u64,
            self.changed.len() as u64,
        ];
        words.extend(bases);
        words.extend(graphs.unwrap_or_default());
        for chunk in &self.chunks {
            words.extend([chunk.first, chunk.last, chunk.at_and_kind, chunk.ordinal]);
        }
        words.extend(self.changed.iter().flat_map(|range| [range.0, range.1]));
        words.into_iter().flat_map(u64::to_le_bytes).collect()
    }

    /// Reads what came from elsewhere; an error where it contradicts itself.
    pub fn decode(bytes: &[u8]) -> Result<Location, Misplaced> {
        let (words, []) = bytes.as_chunks::<8>() else {
            return Err(misplaced("it is cut within a word"));
        };
        let mut words = Words(words);
        let [keys, rows, keys_bytes] = words.take()?;
        let [offset_width, plane_bits, bases] = words.take()?;
        let [graphs, chunks, changed] = words.take()?;
        let bases = words.list(bases)?;
        let neighbours = match u32::try_from(plane_bits) {
            Ok(plane_bits) => encoding(bases, plane_bits)?,
            Err(_) if plane_bits == NONE && bases.is_empty() => Encoding::Ids,
            Err(_) => return Err(misplaced("planes of no kind")),
        };
        let graphs = match graphs {
            NONE => None,
            count => Some(words.list(count)?),
        };
        let chunks = words.chunks(chunks)?;
        let changed = words.pairs(changed)?;
        if !words.0.is_empty() {
            return Err(misplaced("more bytes than it has"));
        }
        let location = Location {
            keys,
            rows,
            offset_width: match offset_width {
                NONE => None,
                width @ 0..=3 => Some(width as u32),
                _ => return Err(misplaced("offsets of no width")),
            },
            neighbours,
            graphs,
            chunks,
            keys_bytes,
            changed,
        };
        location.check()?;
        Ok(location)
    }

    /// Whether its parts fit together. After that no size of a column overflows, and each chunk lies in the keys.
    fn check(&self) -> Result<(), Misplaced> {
        const ITEMS_MAX: u64 = 1 << 56;
        let most = self.keys_bytes.max(self.rows);
        if most >= ITEMS_MAX || self.keys > self.rows {
            return Err(misplaced(
                "more keys than rows, or more rows than there can be",
            ));
        }
        if self.offset_width.is_none() && self.rows != self.keys {
            return Err(misplaced("a functional segment with other rows than keys"));
        }
        let graphs = self.graphs.as_deref().unwrap_or_default();
        if !graphs.is_sorted_by(|one, next| one < next) {
            return Err(misplaced("graphs that do not ascend"));
        }
        let is_apart = |one: &(u64, u64), next: &(u64, u64)| one.1 < next.0;
        let is_range = |range: &(u64, u64)| range.0 <= range.1;
        if !self.changed.is_sorted_by(is_apart) || !self.changed.iter().all(is_range) {
            return Err(misplaced("changed keys that do not ascend"));
        }
        if self.keys == 0 {
            let is_empty = self.chunks.is_empty() && self.rows == 0;
            return is_empty.then_some(()).ok_or(misplaced("chunks of no key"));
        }
        check_directory(&self.chunks, self.keys, self.keys_bytes).map_err(misplaced)?;
        let counts = |(place, chunk): (usize, &ChunkEntry)| {
            let ordinals = self.ordinals_of(place);
            let ids = chunk.last - chunk.first;
            chunk.kind() != Some(ChunkKind::Dense) || ordinals.end - ordinals.start - 1 <= ids
        };
        if !self.chunks.iter().enumerate().all(counts) {
            return Err(misplaced("a chunk with more keys than ids"));
        }
        Ok(())
    }
}

fn encoding(bases: Vec<u64>, plane_bits: u32) -> Result<Encoding, Misplaced> {
    let planes_max = 1_u64.checked_shl(plane_bits).unwrap_or(0);
    let is_one = plane_bits == 0 && bases.len() == 1;
    let are_many = (1..32).contains(&plane_bits) && bases.len() as u64 <= planes_max;
    if !(is_one || are_many) || !bases.is_sorted_by(|one, next| one < next) {
        return Err(misplaced("planes that do not fit their codes"));
    }
    Ok(Encoding::Codes { bases, plane_bits })
}

/// The words that are left.
struct Words<'b>(&'b [[u8; 8]]);

impl Words<'_> {
    fn take<const COUNT: usize>(&mut self) -> Result<[u64; COUNT], Misplaced> {
        let (taken, rest) = self
            .0
            .split_first_chunk::<COUNT>()
            .ok_or(misplaced("it ends too early"))?;
        self.0 = rest;
        Ok(taken.map(u64::from_le_bytes))
    }

    fn list(&mut self, count: u64) -> Result<Vec<u64>, Misplaced> {
        let count = usize::try_from(count)
            .ok()
            .filter(|count| *count <= self.0.len());
        let count = count.ok_or(misplaced("it ends too early"))?;
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        Ok(taken.iter().map(|word| u64::from_le_bytes(*word)).collect())
    }

    fn pairs(&mut self, count: u64) -> Result<Vec<(u64, u64)>, Misplaced> {
        let words = self.list(count.saturating_mul(2))?;
        let (pairs, _) = words.as_chunks::<2>();
        Ok(pairs.iter().map(|pair| (pair[0], pair[1])).collect())
    }

    fn chunks(&mut self, count: u64) -> Result<Vec<ChunkEntry>, Misplaced> {
        let words = self.list(count.saturating_mul(4))?;
        let (entries, _) = words.as_chunks::<4>();
        let entry = |[first, last, at_and_kind, ordinal]: &[u64; 4]| ChunkEntry {
            first: *first,
            last: *last,
            at_and_kind: *at_and_kind,
            ordinal: *ordinal,
        };
        Ok(entries.iter().map(entry).collect())
    }
}
