//! Indexes, columns and segments in every form, written by hand from docs/formats/store-layout.md.

use super::rig::Rig;
use crate::layout::{Chunk, Column, Index, Segment};
use testkit::random::Random;

/// What a chunk of an index can be, with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(super) enum Kind {
    Dense,
    Sparse,
    Near,
    Far,
}

pub(super) const KINDS: [Kind; 4] = [Kind::Dense, Kind::Sparse, Kind::Near, Kind::Far];

/// Ids of which the upper bits are one: a key of one range has no key in another chunk.
const RANGE: u64 = 1 << 16;

/// The keys of an index, chunk by chunk, ascending.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    pub(super) chunks: Vec<(Kind, Vec<u64>)>,
    /// The ordinal of the first.
    pub(super) first_ordinal: u64,
    /// Whether the index has a jump table.
    pub(super) jump: bool,
}

impl Keys {
    /// Chunks of these kinds, of up to so many keys each.
    pub(super) fn random(random: &mut Random, kinds: &[Kind], most: usize) -> Keys {
        let mut from = random.bits() >> random.between(8, 60);
        let mut chunks = Vec::new();
        for &kind in kinds {
            let count = random.between(1, most);
            let keys = keys_of(random, kind, from, count);
            let last = *keys.last().expect("a chunk has keys");
            from = (last / RANGE + 1 + random.bits() % 3) * RANGE + random.bits() % 500;
            chunks.push((kind, keys));
        }
        let ranges = from / RANGE - chunks[0].1[0] / RANGE;
        Keys {
            chunks,
            first_ordinal: *random.pick(&[0, 0, 0, 1, 300, 70_000, 1 << 33]),
            jump: kinds.len() > 1 && ranges < 100_000 && random.chance(60),
        }
    }

    /// Chunks of random kinds.
    pub(super) fn any(random: &mut Random, most: usize) -> Keys {
        let count = *random.pick(&[1, 1, 2, 3, 9]);
        let kinds: Vec<Kind> = (0..count).map(|_| *random.pick(&KINDS)).collect();
        Keys::random(random, &kinds, most)
    }

    /// These keys in one chunk.
    pub(super) fn one(kind: Kind, keys: Vec<u64>) -> Keys {
        Keys {
            chunks: vec![(kind, keys)],
            first_ordinal: 0,
            jump: false,
        }
    }

    /// No key.
    pub(super) fn none() -> Keys {
        Keys {
            chunks: Vec::new(),
            first_ordinal: 0,
            jump: false,
        }
    }

    /// All of them.
    pub(super) fn all(&self) -> Vec<u64> {
        let keys = self.chunks.iter().flat_map(|(_, keys)| keys);
        keys.copied().collect()
    }

    /// As kernels are told of them.
    pub(super) fn image(&self, rig: &Rig) -> Index {
        let (mut data, mut chunks, mut ordinal) = (Vec::new(), Vec::new(), self.first_ordinal);
        for (kind, keys) in &self.chunks {
            chunks.push(Chunk {
                first: keys[0],
                last: keys[keys.len() - 1],
                at: data.len() as u64 | *kind as u64,
                ordinal,
            });
            match kind {
                Kind::Dense => write_blocks(keys, ordinal, &mut data),
                Kind::Sparse => write(keys.iter().map(|&key| key as u16), &mut data),
                Kind::Near => write(keys.iter().map(|&key| (key - keys[0]) as u32), &mut data),
                Kind::Far => write(keys.iter().copied(), &mut data),
            }
            data.resize(data.len().next_multiple_of(8), 0xee);
            ordinal += keys.len() as u64;
        }
        let jump = if self.jump {
            jumps(&chunks)
        } else {
            Vec::new()
        };
        Index {
            data: rig.put_part(&data),
            chunks: rig.put(&chunks),
            jump: rig.put(&jump),
            keys: ordinal,
            count: chunks.len() as u32,
            jumps: jump.len() as u32,
            first: chunks.first().copied().unwrap_or_default(),
        }
    }
}

fn keys_of(random: &mut Random, kind: Kind, from: u64, count: usize) -> Vec<u64> {
    let room = RANGE - from % RANGE;
    let spread = match kind {
        Kind::Dense => *random.pick(&[1, 2, 3, 40]),
        Kind::Sparse => (room / count as u64).clamp(1, 200),
        Kind::Near => *random.pick(&[2, 50, 10_000]),
        Kind::Far => *random.pick(&[3, 1 << 20, 1 << 36]),
    };
    let mut keys = vec![from];
    for _ in 1..count {
        keys.push(keys[keys.len() - 1] + 1 + random.bits() % spread);
    }
    if kind == Kind::Near && random.chance(50) {
        keys.push(from + u64::from(u32::MAX));
    }
    if kind == Kind::Sparse {
        keys.retain(|key| key / RANGE == from / RANGE);
    }
    keys
}

fn write<T: bytemuck::Pod>(items: impl Iterator<Item = T>, data: &mut Vec<u8>) {
    for item in items {
        data.extend_from_slice(bytemuck::bytes_of(&item));
    }
}

/// Rank blocks of 448 ids: a word that counts, seven of members.
fn write_blocks(keys: &[u64], ordinal: u64, data: &mut Vec<u8>) {
    let first = keys[0];
    let mut before = 0;
    for block in 0..=(keys[keys.len() - 1] - first) / 448 {
        let mut words = [0u64; 8];
        let inside = keys[before..].iter().map(|key| key - first - block * 448);
        for bit in inside.take_while(|&bit| bit < 448) {
            words[1 + bit as usize / 64] |= 1 << (bit % 64);
        }
        let members = |words: &[u64]| words.iter().map(|word| u64::from(word.count_ones())).sum();
        let (three, five): (u64, u64) = (members(&words[1..4]), members(&words[1..6]));
        words[0] = (ordinal + before as u64) | three << 46 | five << 55;
        let all: u64 = members(&words[1..]);
        before += all as usize;
        data.extend_from_slice(bytemuck::cast_slice(&words));
    }
}

/// For each range from the first key's on, the last chunk that begins in it or before.
fn jumps(chunks: &[Chunk]) -> Vec<u32> {
    let range = |id: u64| id / RANGE;
    let last = range(chunks[chunks.len() - 1].last);
    let chunk_of = |at: u64| chunks.iter().rposition(|chunk| range(chunk.first) <= at);
    let ranges = range(chunks[0].first)..=last;
    ranges
        .map(|at| chunk_of(at).expect("the first") as u32)
        .collect()
}

/// How ids of a column stand in its cells: whole, or by these planes' bases.
#[derive(Clone, Debug)]
pub(super) enum Cells {
    Wide,
    Planes { bits: u32, bases: Vec<u64> },
}

impl Cells {
    /// A form that these ids have room in.
    pub(super) fn of(random: &mut Random, ids: &[u64]) -> Cells {
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        ids.dedup();
        if random.chance(15) {
            return Cells::Wide;
        }
        for bits in random.below(7) as u32..=6 {
            if let Some(bases) = bases_of(random, &ids, bits) {
                return Cells::Planes { bits, bases };
            }
        }
        Cells::Wide
    }

    /// Bytes of a cell.
    pub(super) fn bytes(&self) -> u64 {
        if matches!(self, Cells::Wide) { 8 } else { 4 }
    }

    /// The ids as cells of a table.
    pub(super) fn put(&self, rig: &Rig, ids: &[u64]) -> u64 {
        match self {
            Cells::Wide => rig.put(ids),
            Cells::Planes { bits, bases } => rig.put(&codes_of(ids, *bits, bases)),
        }
    }

    /// The ids as cells of a segment.
    pub(super) fn put_part(&self, rig: &Rig, ids: &[u64]) -> u64 {
        match self {
            Cells::Wide => rig.put_part(ids),
            Cells::Planes { bits, bases } => rig.put_part(&codes_of(ids, *bits, bases)),
        }
    }

    /// The column that begins at these cells.
    pub(super) fn column(&self, rig: &Rig, cells: u64) -> Column {
        match self {
            Cells::Wide => Column {
                cells,
                wide: 1,
                ..Column::default()
            },
            Cells::Planes { bits: 0, bases } => Column {
                cells,
                base: bases[0],
                ..Column::default()
            },
            Cells::Planes { bits, bases } => Column {
                cells,
                bases: rig.put(bases),
                // Nobody reads it where there are several.
                base: 0xdead_beef,
                wide: 0,
                plane_bits: *bits,
            },
        }
    }

    /// The ids of cells in a room.
    pub(super) fn read(&self, rig: &Rig, cells: u64, count: usize) -> Vec<u64> {
        match self {
            Cells::Wide => rig.read(cells, count),
            Cells::Planes { bits, bases } => {
                let codes: Vec<u32> = rig.read(cells, count);
                let id = |code: u32| {
                    let plane = u64::from(code) >> (32 - bits);
                    let base = bases.get(plane as usize).copied();
                    let rest = u64::from(code) & ((1 << (32 - bits)) - 1);
                    base.unwrap_or(u64::MAX).wrapping_add(rest)
                };
                codes.into_iter().map(id).collect()
            }
        }
    }
}

fn codes_of(ids: &[u64], bits: u32, bases: &[u64]) -> Vec<u32> {
    let code = |&id: &u64| {
        let plane = bases.partition_point(|&base| base <= id) - 1;
        let above = (plane as u64).checked_shl(32 - bits).unwrap_or(0);
        (above | (id - bases[plane])) as u32
    };
    ids.iter().map(code).collect()
}

/// Bases of 2^bits planes at most such that each id lies behind one of them by less than a plane's length.
fn bases_of(random: &mut Random, ids: &[u64], bits: u32) -> Option<Vec<u64>> {
    let length = 1u64 << (32 - bits);
    let mut bases: Vec<u64> = Vec::new();
    for &id in ids {
        let is_beyond = bases.last().is_none_or(|base| id - base >= length);
        if is_beyond || (bases.len() < 1 << bits && random.chance(30)) {
            let below = bases.last().map_or(0, |base| base + 1);
            let slack = (id - below.min(id)).min(random.bits() % 1000);
            bases.push(id - slack);
        }
        if bases.len() > 1 << bits {
            return None;
        }
    }
    if bases.is_empty() {
        bases.push(77);
    }
    Some(bases)
}

/// A segment: each key has a list, which ascends.
#[derive(Clone, Debug)]
pub(super) struct Edges {
    pub(super) keys: Keys,
    pub(super) lists: Vec<Vec<u64>>,
    pub(super) cells: Cells,
    /// 2^width bytes an offset; none, where each list has one neighbour.
    pub(super) width: Option<u32>,
    /// The row of the first neighbour.
    pub(super) first_row: u64,
}

impl Edges {
    /// The list of each key, in any form that has room for them.
    pub(super) fn new(random: &mut Random, keys: Keys, lists: Vec<Vec<u64>>) -> Edges {
        let rows: u64 = lists.iter().map(|list| list.len() as u64).sum();
        let cells = Cells::of(random, &lists.concat());
        let is_functional = lists.iter().all(|list| list.len() == 1) && random.chance(70);
        let widths: Vec<u32> = [8, 16, 32, 60]
            .iter()
            .zip(0..)
            .filter(|(bits, _)| rows < 1 << **bits)
            .map(|(_, width)| width)
            .collect();
        let width = (!is_functional).then(|| *random.pick(&widths));
        let first_row = match width {
            // The row is the ordinal.
            None => keys.first_ordinal,
            Some(width) => {
                let most = [u64::from(u8::MAX), 65_535, u64::from(u32::MAX), 1 << 38];
                let most = most[width as usize] - rows;
                *random.pick(&[0, most, most / 2])
            }
        };
        Edges {
            keys,
            lists,
            cells,
            width,
            first_row,
        }
    }

    /// The neighbours of a key.
    pub(super) fn list(&self, key: u64) -> &[u64] {
        let place = self.keys.all().binary_search(&key);
        place.map_or(&[], |place| &self.lists[place])
    }

    /// The rows of the key at this place.
    pub(super) fn rows(&self, place: usize) -> std::ops::Range<u64> {
        let before: usize = self.lists[..place].iter().map(Vec::len).sum();
        let from = self.first_row + before as u64;
        from..from + self.lists[place].len() as u64
    }

    /// As kernels are told of it. Its parts begin before the memory that they have, as far as the first row and the first
    /// ordinal are: so numbers beyond 32 bits take no memory.
    pub(super) fn image(&self, rig: &Rig) -> Segment {
        let ids = self.lists.concat();
        let before = self.first_row * self.cells.bytes();
        let cells = self.cells.put_part(rig, &ids).wrapping_sub(before);
        let mut offsets = vec![self.first_row];
        for list in &self.lists {
            offsets.push(offsets[offsets.len() - 1] + list.len() as u64);
        }
        let width = self.width.unwrap_or(0);
        let mut bytes = Vec::new();
        for offset in offsets {
            bytes.extend_from_slice(&offset.to_le_bytes()[..1 << width]);
        }
        let offsets = self.width.map_or(0, |_| {
            let before = self.keys.first_ordinal << width;
            rig.put_part(&bytes).wrapping_sub(before)
        });
        Segment {
            index: self.keys.image(rig),
            neighbours: self.cells.column(rig, cells),
            offsets,
            rows: ids.len() as u64,
            width,
            functional: u32::from(self.width.is_none()),
        }
    }
}
