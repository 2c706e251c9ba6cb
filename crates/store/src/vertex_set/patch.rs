//! What changed in an ordered set, beside the set as it stands.
//!
//! A patch holds the elements that came, each with the number of older elements below it, and the
//! ordinals of those that went. So lengths, ordinals and ranks are arithmetic over binary searches
//! in what changed, and reading on copies runs of the older set.
//!
//! Patches stand over each other so that a small change of a set that has changed a lot costs the
//! small change: [`push`] joins the last two while the older one is not [`GROWTH`] times as large,
//! as log-structured merge trees do, so there are at most [`DEPTH_MAX`] and an element is copied a
//! few times in all.

use super::{Elements, VertexSet};
use crate::source::Fault;
use rdf::VertexId;
use std::ops::Range;
use std::sync::Arc;

/// A patch is this many times as large as the one over it.
const GROWTH: usize = 8;
/// Patches up to this size are joined whatever is over them.
const SMALL: usize = 64;
/// Patches over a set.
const DEPTH_MAX: usize = 8;
/// Elements from one change to the next from which on they are copied straight.
const STRAIGHT_MIN: u64 = 64;
/// Bits of a filter for each change: one in so many answers of "perhaps" is wrong.
const FILTER_BITS: usize = 16;
/// Elements of the older set that are read together where changes are close.
const PIECE: u64 = 1024;
const _: () = assert!(
    STRAIGHT_MIN <= PIECE,
    "a run that is not copied straight lies in one piece"
);

/// Changes of a set of distinct vertices.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Patch {
    /// Elements that came, ascending.
    adds: Vec<VertexId>,
    /// Of each, the number of older elements below.
    places: Vec<u64>,
    /// Elements that went, ascending.
    minus: Vec<VertexId>,
    /// Their ordinals in the older set.
    ordinals: Vec<u64>,
    /// Of all that came or went.
    filter: Filter,
}

/// Says of most vertices that did not change that they did not, by one bit: asking a set about
/// vertices at random stays a matter of a line each, where two binary searches would cost some
/// hundred nanoseconds. ([Bloom's filter](https://doi.org/10.1145/362686.362692) with one hash.)
#[derive(Debug, Default, PartialEq, Eq)]
struct Filter {
    /// As many as a power of two; none where nothing changed.
    words: Vec<u64>,
    shift: u32,
}

impl Filter {
    fn of(changes: [&[VertexId]; 2]) -> Filter {
        let count = changes[0].len() + changes[1].len();
        if count == 0 {
            return Filter::default();
        }
        let bits = (count * FILTER_BITS).next_power_of_two().max(64);
        let mut filter = Filter {
            words: vec![0; bits / 64],
            shift: 64 - bits.trailing_zeros(),
        };
        for &vertex in changes.into_iter().flatten() {
            let place = filter.place(vertex);
            filter.words[place / 64] |= 1 << (place % 64);
        }
        filter
    }

    #[inline]
    fn place(&self, vertex: VertexId) -> usize {
        (vertex.bits().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    /// Appends the positions of vertices that may have changed, without a branch on whether.
    fn select(&self, vertices: &[VertexId], positions: &mut Vec<u32>) {
        if self.words.is_empty() {
            return;
        }
        positions.resize(vertices.len(), 0);
        let mut count = 0;
        for (position, &vertex) in (0..).zip(vertices) {
            let place = self.place(vertex);
            positions[count] = position;
            count += (self.words[place / 64] >> (place % 64) & 1) as usize;
        }
        positions.truncate(count);
    }
}

impl Patch {
    /// The patch that brings and takes these over `older`. Both ascend; the older set has none of
    /// `adds` and all of `minus`.
    pub(crate) fn over(
        older: &VertexSet<'_>,
        adds: Vec<VertexId>,
        minus: Vec<VertexId>,
    ) -> Result<Patch, Fault> {
        let ascends = |vertices: &[VertexId]| vertices.is_sorted_by(|one, next| one < next);
        assert!(
            ascends(&adds) && ascends(&minus),
            "what came and what went is searched for"
        );
        let below = |vertices: &[VertexId]| -> Result<Vec<u64>, Fault> {
            let each = vertices.iter();
            each.map(|&vertex| older.elements_below(vertex)).collect()
        };
        Ok(Patch {
            places: below(&adds)?,
            ordinals: below(&minus)?,
            filter: Filter::of([&adds, &minus]),
            adds,
            minus,
        })
    }

    /// Elements that came or went.
    pub(crate) fn changes(&self) -> usize {
        self.adds.len() + self.minus.len()
    }

    /// The length of a set of `older` elements with these changes.
    pub(super) fn len_over(&self, older: u64) -> u64 {
        (older + self.adds.len() as u64).saturating_sub(self.minus.len() as u64)
    }

    /// The elements below a vertex, `older` of them in the older set.
    pub(super) fn below_over(&self, older: u64, vertex: VertexId) -> u64 {
        let below =
            |vertices: &[VertexId]| vertices.partition_point(|&other| other < vertex) as u64;
        (older + below(&self.adds)).saturating_sub(below(&self.minus))
    }

    /// Whether the vertex is an element, where it changed.
    pub(super) fn verdict(&self, vertex: VertexId) -> Option<bool> {
        if self.adds.binary_search(&vertex).is_ok() {
            return Some(true);
        }
        self.minus.binary_search(&vertex).is_ok().then_some(false)
    }

    /// Corrects the positions of elements, from the `start`-th position on.
    pub(super) fn select(&self, vertices: &[VertexId], positions: &mut Vec<u32>, start: usize) {
        let mut asked = Vec::new();
        self.filter.select(vertices, &mut asked);
        let verdicts = asked.into_iter().filter_map(|position| {
            let verdict = self.verdict(vertices[position as usize])?;
            Some((position, verdict))
        });
        let (came, went): (Vec<_>, Vec<_>) = verdicts.partition(|(_, came)| *came);
        let mut went = went.into_iter().peekable();
        if went.peek().is_some() {
            let mut kept = start;
            for place in start..positions.len() {
                let position = positions[place];
                while went.next_if(|went| went.0 < position).is_some() {}
                if went.peek().is_none_or(|went| went.0 != position) {
                    positions[kept] = position;
                    kept += 1;
                }
            }
            positions.truncate(kept);
        }
        if !came.is_empty() {
            positions.extend(came.into_iter().map(|(position, _)| position));
            positions[start..].sort_unstable();
        }
    }

    /// Older elements before the element with this ordinal, and new ones.
    fn split(&self, ordinal: u64) -> (u64, usize) {
        let (mut low, mut high) = (0, self.adds.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let gone = self.gone_below(self.places[middle]) as u64;
            if self.places[middle].saturating_sub(gone) + (middle as u64) < ordinal {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        // So many older elements are left before; those gone among them come on top.
        let live = ordinal.saturating_sub(low as u64);
        let (mut first, mut last) = (0, self.ordinals.len());
        while first < last {
            let middle = first + (last - first) / 2;
            if self.ordinals[middle].saturating_sub(middle as u64) <= live {
                first = middle + 1;
            } else {
                last = middle;
            }
        }
        (live + first as u64, low)
    }

    /// How many older elements with ordinals below this one went.
    fn gone_below(&self, ordinal: u64) -> usize {
        self.ordinals.partition_point(|&gone| gone < ordinal)
    }
}

/// Appends the elements with these ordinals, which exist, of `elements` with `patches`.
pub(super) fn decode(
    elements: &Elements<'_>,
    patches: &[Arc<Patch>],
    ordinals: Range<u64>,
    out: &mut Vec<VertexId>,
) -> Result<(), Fault> {
    let Some((patch, below)) = patches.split_last() else {
        return elements.decode(ordinals, out);
    };
    let mut left = ordinals.end - ordinals.start;
    out.reserve(left as usize);
    let end = below
        .iter()
        .fold(elements.len(), |length, patch| patch.len_over(length));
    let (mut older, mut add) = patch.split(ordinals.start);
    let mut gone = patch.gone_below(older);
    let mut piece = Vec::new();
    let mut piece_at = 0;
    while left > 0 {
        let place = patch.places.get(add).copied().unwrap_or(end);
        let went = patch.ordinals.get(gone).copied().unwrap_or(end);
        let next = place.min(went).min(older + left).min(end);
        if next > older {
            if next - older >= STRAIGHT_MIN {
                decode(elements, below, older..next, out)?;
            } else {
                if next > piece_at + piece.len() as u64 || older < piece_at {
                    piece.clear();
                    piece_at = older;
                    decode(
                        elements,
                        below,
                        older..(older + left.min(PIECE)).min(end),
                        &mut piece,
                    )?;
                }
                let run = (older - piece_at) as usize..(next - piece_at) as usize;
                out.extend_from_slice(&piece[run]);
            }
            left -= next - older;
            older = next;
        } else if add < patch.adds.len() && place <= older {
            out.push(patch.adds[add]);
            add += 1;
            left -= 1;
        } else if gone < patch.ordinals.len() && went == older {
            older += 1;
            gone += 1;
        } else {
            break;
        }
    }
    Ok(())
}

/// Puts a patch over `patches`, joining it with those that are not much larger. `ground` is the set
/// under all of them.
pub(crate) fn push(
    ground: &VertexSet<'_>,
    patches: &mut Vec<Arc<Patch>>,
    mut patch: Patch,
) -> Result<(), Fault> {
    if patch.changes() == 0 {
        return Ok(());
    }
    while let Some(older) = patches.last() {
        let is_small = older.changes() <= SMALL;
        if !is_small && older.changes() > GROWTH * patch.changes() && patches.len() < DEPTH_MAX {
            break;
        }
        let older = Arc::clone(older);
        patches.pop();
        let under = ground.clone().patched(patches.clone());
        patch = join(&under, &older, &patch)?;
    }
    if patch.changes() > 0 {
        patches.push(Arc::new(patch));
    }
    assert!(patches.len() <= DEPTH_MAX, "patches are joined in time");
    Ok(())
}

/// One patch over `under` for two. What came and went again, or went and came again, is in neither
/// list.
fn join(under: &VertexSet<'_>, older: &Patch, newer: &Patch) -> Result<Patch, Fault> {
    let known = |vertices: &[VertexId], ordinals: &[u64], except: &[VertexId]| {
        let pairs = vertices.iter().copied().zip(ordinals.iter().copied());
        pairs
            .filter(|(vertex, _)| except.binary_search(vertex).is_err())
            .collect::<Vec<_>>()
    };
    let fresh = |vertices: &[VertexId], except: &[VertexId]| -> Result<Vec<_>, Fault> {
        let kept = vertices
            .iter()
            .filter(|vertex| except.binary_search(vertex).is_err());
        kept.map(|&vertex| Ok((vertex, under.elements_below(vertex)?)))
            .collect()
    };
    let (adds, places) = merge(
        known(&older.adds, &older.places, &newer.minus),
        fresh(&newer.adds, &older.minus)?,
    );
    let (minus, ordinals) = merge(
        known(&older.minus, &older.ordinals, &newer.adds),
        fresh(&newer.minus, &older.adds)?,
    );
    Ok(Patch {
        filter: Filter::of([&adds, &minus]),
        adds,
        places,
        minus,
        ordinals,
    })
}

/// Two ascending lists of distinct pairs as one, as columns.
fn merge(left: Vec<(VertexId, u64)>, right: Vec<(VertexId, u64)>) -> (Vec<VertexId>, Vec<u64>) {
    let mut columns = (
        Vec::with_capacity(left.len() + right.len()),
        Vec::with_capacity(left.len() + right.len()),
    );
    let mut right = right.into_iter().peekable();
    for pair in left {
        while let Some(lower) = right.next_if(|lower| lower.0 < pair.0) {
            columns.extend([lower]);
        }
        columns.extend([pair]);
    }
    columns.extend(right);
    columns
}
