//! Slices as bytes, to be sent to another node.
//!
//! The arrays of a slice go as they stand, little endian, behind their lengths. The encoding is canonical: equal slices
//! have equal bytes. Whoever reads bytes builds the slice again from its rows and compares; what is not the same is
//! refused, so a slice that was read keeps every invariant of one that was built.
//!
//! ```text
//!  u32 version | u32 x 6: graphs, out segments, in segments, halves, words, ids
//!  graphs (u64) | segments (5 x u64 each) | ids (u64) | words (u32) | halves (u16)
//! ```
//!
//! Cost: of writing a copy, of reading about that of building.

use super::Slice;
use super::arrivals::Arrival;
use super::segment::{FLAGS, SliceEntry, SliceSegment};
use crate::delta::rows::Row;
use crate::view::GraphScope;
use rdf::{Direction, VertexId};

/// The first word of encoded slices.
const VERSION: u32 = 2;
/// Words before the arrays.
const HEADER_WORDS: usize = 7;
/// Words of a segment.
const ENTRY_WORDS: usize = 5;

/// Why bytes are no slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SliceError {
    /// They were written by something else.
    #[error("the bytes are no slice of version {VERSION}")]
    Version,
    /// There are fewer or more than their header says.
    #[error("the slice has {found} bytes, and {expected} by its header")]
    Length {
        /// Bytes that there are.
        found: u64,
        /// Bytes that the header asks for.
        expected: u64,
    },
    /// They contradict themselves.
    #[error("the slice contradicts itself: {0}")]
    Inconsistent(&'static str),
}

impl Slice {
    /// Appends its bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let [outgoing, incoming] = &self.segments;
        let lengths = [
            self.graphs.len(),
            outgoing.len(),
            incoming.len(),
            self.halves.len(),
            self.words.len(),
            self.ids.len(),
        ];
        out.extend(VERSION.to_le_bytes());
        for length in lengths {
            let length = u32::try_from(length).expect("a slice has fewer than 2^32 elements");
            out.extend(length.to_le_bytes());
        }
        let long = |word: u64| word.to_le_bytes();
        out.extend(self.graphs.iter().flat_map(|graph| long(graph.bits())));
        let entries = outgoing.iter().chain(incoming);
        out.extend(entries.flat_map(SliceEntry::words).flat_map(long));
        out.extend(self.ids.iter().copied().flat_map(long));
        out.extend(self.words.iter().flat_map(|word| word.to_le_bytes()));
        out.extend(self.halves.iter().flat_map(|half| half.to_le_bytes()));
    }

    /// The slice of these bytes, all of them. Memory is asked for only as much as the bytes have.
    pub fn decode(bytes: &[u8]) -> Result<Slice, SliceError> {
        let slice = arrays(bytes)?;
        slice.check_entries()?;
        let mut rows = [Vec::new(), Vec::new()];
        for (direction, rows) in [Direction::Out, Direction::In].into_iter().zip(&mut rows) {
            for segment in slice.segments(direction) {
                segment.check()?;
                segment.append_rows(rows);
            }
            if !rows.is_sorted_by(|one, next| one < next) {
                return Err(SliceError::Inconsistent("its rows do not ascend"));
            }
        }
        let [out, into] = &rows;
        let arrivals = slice.checked_arrivals()?;
        let canonical = rebuilt([out, into], arrivals.as_deref())?;
        if canonical != slice {
            return Err(SliceError::Inconsistent(
                "it is not written as its rows are",
            ));
        }
        Ok(canonical)
    }

    /// The columns of arrivals, which all out segments have or none, and no in segment; entries have been looked at.
    fn checked_arrivals(&self) -> Result<Option<Vec<Arrival>>, SliceError> {
        let [out, into] = &self.segments;
        let is_somewhere = out.iter().chain(into).any(SliceEntry::has_arrivals);
        let is_wide = |entry: &SliceEntry| entry.has_wide_times() && !entry.has_arrivals();
        if out.iter().chain(into).any(is_wide) {
            return Err(SliceError::Inconsistent("times are wide and not there"));
        }
        if !is_somewhere {
            return Ok(None);
        }
        if into.iter().any(SliceEntry::has_arrivals) || !self.has_arrivals() {
            return Err(SliceError::Inconsistent(
                "some segments say when quads came",
            ));
        }
        let arrivals = self.arrived_checked();
        let arrivals = arrivals.ok_or(SliceError::Inconsistent("a time is past all times"))?;
        if arrivals.iter().any(|arrival| arrival.count == 0) {
            return Err(SliceError::Inconsistent("a quad came no time"));
        }
        Ok(Some(arrivals))
    }

    /// Whether the columns of all segments follow one another and fill the arrays.
    fn check_entries(&self) -> Result<(), SliceError> {
        let mut at = [0_u64; 3];
        for entry in self.segments.iter().flatten() {
            if entry.at().map(u64::from) != at {
                return Err(SliceError::Inconsistent("a segment is elsewhere"));
            }
            let is_known = entry.flags() & !FLAGS == 0 && entry.has_sound_planes();
            if !is_known || entry.keys() == 0 || entry.rows() < entry.keys() {
                return Err(SliceError::Inconsistent("a segment is not described"));
            }
            if !entry.has_wide_keys() && entry.chunks() == 0 {
                return Err(SliceError::Inconsistent("keys have no chunk"));
            }
            for (at, length) in at.iter_mut().zip(entry.lengths()) {
                *at += length;
            }
            let ends = [self.halves.len(), self.words.len(), self.ids.len()];
            if at.iter().zip(ends).any(|(at, end)| *at > end as u64) {
                return Err(SliceError::Inconsistent("a segment does not end"));
            }
        }
        let ends = [self.halves.len(), self.words.len(), self.ids.len()];
        if at != ends.map(|end| end as u64) {
            return Err(SliceError::Inconsistent("something is of no segment"));
        }
        Ok(())
    }
}

/// The slice of rows, which may need more memory than 2^32 elements only if the bytes had.
fn rebuilt(rows: [&[Row]; 2], arrivals: Option<&[Arrival]>) -> Result<Slice, SliceError> {
    let default = GraphScope::DEFAULT_GRAPH.bits();
    let is_vertex = |bits: u64| {
        let id = VertexId::from_bits(bits);
        // Nor is a transient term one: its id means something to the table that gave it alone.
        id.is_stored()
    };
    let are_vertices = |row: &Row| {
        row[..3].iter().all(|bits| is_vertex(*bits)) && (row[3] == default || is_vertex(row[3]))
    };
    if !rows.iter().all(|rows| rows.iter().all(are_vertices)) {
        return Err(SliceError::Inconsistent("a part of a quad is no vertex"));
    }
    Ok(Slice::of_rows(rows, arrivals))
}

/// The arrays as they stand in the bytes.
fn arrays(bytes: &[u8]) -> Result<Slice, SliceError> {
    let mut header = [0_u32; HEADER_WORDS];
    let (head, _) = bytes
        .split_at_checked(HEADER_WORDS * 4)
        .ok_or(SliceError::Version)?;
    for (word, bytes) in header.iter_mut().zip(head.chunks_exact(4)) {
        *word = u32::from_le_bytes(bytes.try_into().expect("four bytes"));
    }
    let [version, graphs, outs, ins, halves, words, ids] = header;
    if version != VERSION {
        return Err(SliceError::Version);
    }
    let [graphs, outs, ins] = [graphs, outs, ins].map(|count| count as usize);
    let [halves, words, ids] = [halves, words, ids].map(|count| count as usize);
    let longs = graphs + (outs + ins) * ENTRY_WORDS + ids;
    let expected = HEADER_WORDS * 4 + longs * 8 + words * 4 + halves * 2;
    if bytes.len() != expected {
        return Err(SliceError::Length {
            found: bytes.len() as u64,
            expected: expected as u64,
        });
    }
    let (longs, rest) = bytes[HEADER_WORDS * 4..].split_at(longs * 8);
    let (words, halves) = rest.split_at(words * 4);
    let long = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let mut longs = longs.chunks_exact(8).map(long);
    let graphs = longs
        .by_ref()
        .take(graphs)
        .map(VertexId::from_bits)
        .collect();
    let mut entries = |count: usize| -> Result<Vec<SliceEntry>, SliceError> {
        let entries = (0..count).map(|_| {
            let words = std::array::from_fn(|_| longs.next().unwrap_or(0));
            let entry = SliceEntry::from_words(words);
            let is_all = entry.words() == words;
            is_all.then_some(entry).ok_or(SliceError::Inconsistent(
                "a segment says more than there is to say",
            ))
        });
        entries.collect()
    };
    let segments = [entries(outs)?, entries(ins)?];
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
    let half = |bytes: &[u8]| u16::from_le_bytes(bytes.try_into().expect("two bytes"));
    Ok(Slice {
        graphs,
        segments,
        halves: halves.chunks_exact(2).map(half).collect(),
        words: words.chunks_exact(4).map(word).collect(),
        ids: longs.collect(),
    })
}

impl SliceSegment<'_> {
    /// Whether every read stays within the columns; whether they ascend is seen by the rows.
    fn check(&self) -> Result<(), SliceError> {
        if !self.starts_ascend() {
            return Err(SliceError::Inconsistent("chunks do not follow one another"));
        }
        if !self.offsets_ascend() {
            return Err(SliceError::Inconsistent("rows do not follow one another"));
        }
        if !self.has_known_graphs() {
            return Err(SliceError::Inconsistent("a graph has no name"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slice::tests::random_quads;
    use testkit::random::Random;
    use testkit::seeds;

    #[test]
    fn slices_come_back() {
        let mut random = Random::new(3);
        for _ in 0..200 {
            let count = random.below(80);
            let slice = Slice::of(&random_quads(&mut random, count));
            let mut bytes = Vec::new();
            slice.encode(&mut bytes);
            assert_eq!(Slice::decode(&bytes), Ok(slice));
        }
    }

    #[test]
    fn damaged_bytes_are_refused_or_are_another_slice() {
        let mut refused = 0;
        for seed in seeds::chosen(400, 40_000) {
            let mut random = Random::new(seed);
            let count = 1 + random.below(30);
            let slice = Slice::of(&random_quads(&mut random, count));
            let mut bytes = Vec::new();
            slice.encode(&mut bytes);
            for _ in 0..random.between(1, 3) {
                let at = random.below(bytes.len());
                bytes[at] = random.below(256) as u8;
            }
            if random.chance(20) {
                bytes.truncate(random.below(bytes.len()));
            }
            match Slice::decode(&bytes) {
                Err(_) => refused += 1,
                Ok(read) => {
                    let mut again = Vec::new();
                    read.encode(&mut again);
                    assert_eq!(again, bytes, "seed {seed}: what is read is canonical");
                }
            }
        }
        assert!(refused > 100, "{refused} were refused");
    }
}
