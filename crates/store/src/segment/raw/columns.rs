//! The images of columns: offsets, neighbours and the values of signatures, each looked at once.
//!
//! Numbers stand in 1, 2, 4 or 8 bytes, as narrow as they fit. An image keeps that width: copying fewer bytes is what
//! the width was chosen for.

use super::pieces;
use crate::format::flags;
use crate::segment::reader::{ColumnKind, Offset, Segment};
use crate::source::{ByteSource, Fault, inconsistent, with_source};
use memory::CheckedRegion;

/// Numbers of one width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawNumbers<'v> {
    /// Of one byte each.
    U8(&'v [u8]),
    /// Of 2 bytes each.
    U16(&'v [u16]),
    /// Of 4 bytes each.
    U32(&'v [u32]),
    /// Of 8 bytes each.
    U64(&'v [u64]),
}

/// Runs an expression with the slice of the numbers, whatever their width.
macro_rules! with_numbers {
    ($numbers:expr, |$slice:ident| $body:expr) => {
        match $numbers {
            RawNumbers::U8($slice) => $body,
            RawNumbers::U16($slice) => $body,
            RawNumbers::U32($slice) => $body,
            RawNumbers::U64($slice) => $body,
        }
    };
}

impl<'v> RawNumbers<'v> {
    /// Bytes of a number: 1, 2, 4 or 8.
    pub fn width_bytes(&self) -> usize {
        with_numbers!(self, |numbers| width_of(numbers))
    }

    /// All numbers as they stand in the file, little-endian.
    pub fn bytes(&self) -> &'v [u8] {
        with_numbers!(*self, |numbers| bytemuck::cast_slice(numbers))
    }

    /// The number at this place.
    pub fn get(&self, place: u64) -> Option<u64> {
        let place = usize::try_from(place).ok()?;
        with_numbers!(self, |numbers| numbers
            .get(place)
            .map(|number| number.widen()))
    }

    /// The largest number.
    pub(super) fn most(&self) -> Option<u64> {
        with_numbers!(self, |numbers| numbers
            .iter()
            .max()
            .map(|most| most.widen()))
    }

    /// Numbers that stand in a part; `width`: binary logarithm of their bytes.
    fn read(
        region: &'v CheckedRegion,
        at: u64,
        width: u32,
        count: u64,
    ) -> Result<RawNumbers<'v>, Fault> {
        with_source!(region, |source| Ok(match width {
            0 => RawNumbers::U8(source.items(at, count)?),
            1 => RawNumbers::U16(source.items(at, count)?),
            2 => RawNumbers::U32(source.items(at, count)?),
            _ => RawNumbers::U64(source.items(at, count)?),
        }))
    }
}

fn width_of<T>(_: &[T]) -> usize {
    size_of::<T>()
}

/// The neighbours of a segment, by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RawNeighbours<'v> {
    /// Codes, which order as ids do.
    Codes {
        /// A code for each row. Its top `plane_bits` bits are the place of a base, and the id is that base plus the
        /// other bits (wrapping).
        codes: &'v [u32],
        /// Ascending ids, as many as there are planes.
        bases: &'v [u64],
        /// 0, where there is one plane, to 31.
        plane_bits: u32,
    },
    /// An id for each row.
    Ids(&'v [u64]),
}

/// The offsets of a segment, `None` where it is functional, and the most rows that one key has.
pub(super) fn offsets_of<'v>(
    segment: &Segment<'v>,
    threads: usize,
) -> Result<(Option<RawNumbers<'v>>, u64), Fault> {
    let (side, descriptor) = (segment.side, &segment.descriptor);
    if segment.is_functional() {
        if descriptor.rows != descriptor.keys {
            return Err(inconsistent(
                &side.segments,
                "a functional segment has another number of rows than keys",
            ));
        }
        return Ok((None, 1));
    }
    let Some(offsets) = known_offsets_of(segment)? else {
        return Ok((None, 1));
    };
    let longest = with_numbers!(offsets, |offsets| longest(
        offsets,
        descriptor.rows,
        threads
    ));
    match longest {
        Some(longest) => Ok((Some(offsets), longest)),
        None => Err(inconsistent(&side.offsets, "offsets do not ascend")),
    }
}

/// The same offsets, not looked at.
pub(super) fn known_offsets_of<'v>(segment: &Segment<'v>) -> Result<Option<RawNumbers<'v>>, Fault> {
    let (side, descriptor) = (segment.side, &segment.descriptor);
    if segment.is_functional() {
        return Ok(None);
    }
    let width = descriptor.flags >> flags::OFFSET_WIDTH_SHIFT & 3;
    let count = descriptor.keys.saturating_add(1);
    let offsets = RawNumbers::read(&side.offsets, descriptor.offsets_at, width, count)?;
    Ok(Some(offsets))
}

/// The largest difference between offsets that begin at 0, ascend strictly, and end with the number of rows.
fn longest<W: Offset + Sync>(offsets: &[W], rows: u64, threads: usize) -> Option<u64> {
    let ends = (offsets.first()?.widen(), offsets.last()?.widen());
    // The next piece's first offset ends the last list of this one.
    let pieces = pieces::of(offsets, (1, 1), threads, |offsets| {
        let (mut longest, mut ascend) = (0, true);
        for pair in offsets.windows(2) {
            let (start, end) = (pair[0].widen(), pair[1].widen());
            ascend &= start < end;
            longest = longest.max(end.wrapping_sub(start));
        }
        ascend.then_some(longest)
    });
    let longest = pieces
        .into_iter()
        .try_fold(0, |most, piece| Some(most.max(piece?)));
    longest.filter(|_| ends == (0, rows))
}

/// The neighbours of a segment.
pub(super) fn neighbours_of<'v>(
    segment: &Segment<'v>,
    threads: usize,
) -> Result<RawNeighbours<'v>, Fault> {
    let neighbours = known_neighbours_of(segment)?;
    if let RawNeighbours::Codes {
        codes,
        bases,
        plane_bits,
    } = neighbours
    {
        let region = segment.column()?.region;
        if !bases.is_sorted_by(|a, b| a < b) {
            return Err(inconsistent(region, "planes do not ascend"));
        }
        let most = pieces::of(codes, (1, 0), threads, |codes| codes.iter().max().copied());
        let most = most.into_iter().flatten().max().map_or(0, u64::from);
        if most >> (u32::BITS - plane_bits) >= bases.len() as u64 {
            return Err(inconsistent(
                region,
                "a code names a plane that does not exist",
            ));
        }
    }
    Ok(neighbours)
}

/// The same neighbours, not looked at.
pub(super) fn known_neighbours_of<'v>(segment: &Segment<'v>) -> Result<RawNeighbours<'v>, Fault> {
    let column = segment.column()?;
    let descriptor = &segment.descriptor;
    let rows = 0..descriptor.rows;
    with_source!(column.region, |source| {
        let (codes, plane_bits) = match column.kind {
            ColumnKind::Ids => {
                let ids = column.codes(source, crate::segment::planes::Ids, rows)?;
                return Ok(RawNeighbours::Ids(ids));
            }
            ColumnKind::One(plane) => (column.codes(source, plane, rows)?, 0),
            ColumnKind::Many(planes) => (column.codes(source, planes, rows)?, planes.plane_bits),
        };
        let count = u64::from(descriptor.flags >> flags::PLANES_SHIFT);
        let bases: &[u64] = source.items(descriptor.neighbours_at, count)?;
        Ok(RawNeighbours::Codes {
            codes,
            bases,
            plane_bits,
        })
    })
}

/// The values of a signature segment, one a key.
pub(super) fn values_of<'v>(segment: &Segment<'v>) -> Result<RawNumbers<'v>, Fault> {
    let descriptor = &segment.descriptor;
    let width = descriptor.flags >> flags::VALUE_WIDTH_SHIFT & 3;
    RawNumbers::read(
        &segment.side.neighbours,
        descriptor.neighbours_at,
        width,
        descriptor.keys,
    )
}
