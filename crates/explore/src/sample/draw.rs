//! One question: rows are looked up, partners counted, and some of them taken.

use super::{Drawn, Sample};
use crate::ask::{self, wait_for};
use crate::drawn_lists::DrawnLists;
use crate::error::WalkError;
use crate::limits::Limits;
use query::plan::Slot;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rdf::{Direction, PredicateId, VertexId};
use store::view::{GraphScope, GraphView, SegmentKey};
use store::{ListCursor, Lists, VertexSet};

/// Keys listed for each row of a first sample.
const KEYS_PER_ROW: u64 = 4;
/// Up to this length a list is read whole, and rows are taken out of it; in a longer one they are looked up.
const READ_WHOLE_MAX: u64 = 64;
/// Spreads seeds over all 64 bits: those of one query differ by little.
const SPREAD: u64 = 0xd134_2543_de82_ef95;
/// Edges that are read, at most, to find those of a graph.
pub(super) const FILTERED_MAX: u64 = 1 << 14;

/// One question, made ready.
pub(super) struct Draw<'d, 'a, V> {
    pub view: &'a V,
    pub limits: Limits<'a>,
    pub predicate: PredicateId,
    pub scope: GraphScope<'d>,
    pub rows_max: u64,
    pub seed: u64,
}

impl<'a, V: GraphView> Draw<'_, 'a, V> {
    fn segment(&self, direction: Direction) -> SegmentKey {
        SegmentKey {
            predicate: self.predicate,
            direction,
        }
    }

    /// Places of some of so many things.
    fn places(&self, total: u64) -> Vec<u64> {
        strata(total, self.rows_max, self.seed)
    }

    /// The neighbours of a constant; `None` where they are too many to be filtered.
    fn neighbours(
        &self,
        vertex: VertexId,
        direction: Direction,
    ) -> Result<Option<VertexSet<'a>>, WalkError> {
        let segment = self.segment(direction);
        let lists = self.lists(segment, &[vertex])?;
        if is_long(&lists) {
            return Ok(None);
        }
        Ok(Some(self.neighbours_of(segment, vertex)?))
    }

    fn lists(&self, segment: SegmentKey, keys: &[VertexId]) -> Result<DrawnLists<'a>, WalkError> {
        let mut lists = DrawnLists::default();
        wait_for(self.view, &self.limits, || {
            ask::ready(lists.ask(self.view, self.limits, segment, keys, self.scope)?)
        })?;
        Ok(lists)
    }

    fn neighbours_of(
        &self,
        segment: SegmentKey,
        vertex: VertexId,
    ) -> Result<VertexSet<'a>, WalkError> {
        wait_for(self.view, &self.limits, || {
            ask::neighbours(self.view, segment, vertex, self.scope)
        })
    }

    fn keys(&self, direction: Direction) -> Result<VertexSet<'a>, WalkError> {
        wait_for(self.view, &self.limits, || {
            ask::keys(self.view, self.segment(direction))
        })
    }

    pub(super) fn first(
        &self,
        from: VertexId,
        direction: Direction,
        into: Slot,
    ) -> Result<Option<Drawn>, WalkError> {
        let Some(set) = self.neighbours(from, direction)? else {
            return Ok(None);
        };
        let found = set.len();
        let mut sample = Sample::default();
        sample.push(into, taken(&set, &self.places(found))?);
        Ok(Some(Drawn {
            touched: 1 + sample.rows as u64,
            sample,
            rows_in: 1,
            found: found as f64,
        }))
    }

    /// Edges of a predicate: of the end with more keys some are listed.
    pub(super) fn first_edges(&self, ends: [Slot; 2]) -> Result<Option<Drawn>, WalkError> {
        let out = self.keys(Direction::Out)?;
        let into = self.keys(Direction::In)?;
        let [subject, object] = ends;
        let (direction, keys, from, to) = if out.len() >= into.len() {
            (Direction::Out, out, subject, object)
        } else {
            (Direction::In, into, object, subject)
        };
        let wanted = KEYS_PER_ROW * self.rows_max;
        let listed = taken(&keys, &strata(keys.len(), wanted, self.seed))?;
        let rows_in = listed.len();
        let mut before = Sample::default();
        before.push(from, listed);
        let column = &before.columns[0];
        let drawn = if from == to {
            self.check(&before, column, column)?
        } else {
            self.expand(&before, column, direction, to)?
        };
        Ok(drawn.map(|drawn| Drawn {
            rows_in: 1,
            found: drawn.found * keys.len() as f64 / rows_in.max(1) as f64,
            ..drawn
        }))
    }

    pub(super) fn expand(
        &self,
        before: &Sample,
        from: &[VertexId],
        direction: Direction,
        into: Slot,
    ) -> Result<Option<Drawn>, WalkError> {
        let segment = self.segment(direction);
        let lists = self.lists(segment, from)?;
        if is_long(&lists) {
            return Ok(None);
        }
        assert_eq!(lists.len(), from.len(), "a key has its list");
        assert_eq!(
            before.rows,
            from.len(),
            "the keys are a column of the sample"
        );
        let mut degrees = Vec::new();
        if lists.is_exact() {
            degrees.extend((0..lists.len()).map(|list| lists.edges(list)));
        } else {
            lists.degrees(&mut degrees)?;
        }
        let found: u64 = degrees.iter().sum();
        let mut partners = Partners::default();
        let places = self.places(found);
        let mut places = &places[..];
        assert!(
            places.len() as u64 <= found.min(self.rows_max),
            "a sample is within bounds"
        );
        let mut begin = 0;
        for (list, &degree) in degrees.iter().enumerate() {
            let end = begin + degree;
            let (mine, rest) = places.split_at(places.partition_point(|place| *place < end));
            places = rest;
            if !mine.is_empty() {
                let offsets: Vec<u64> = mine.iter().map(|place| place - begin).collect();
                let length = degree;
                if length <= READ_WHOLE_MAX || !lists.is_exact() {
                    partners.read(&lists, list, length, &offsets)?;
                } else {
                    let set = self.neighbours_of(segment, from[list])?;
                    partners.look_up(&set, list, &offsets)?;
                }
            }
            begin = end;
        }
        let Partners { rows, neighbours } = partners;
        assert!(
            rows.len() as u64 <= self.rows_max,
            "a sample is within bounds"
        );
        let mut sample = before.gather(&rows);
        sample.push(into, neighbours);
        let filtered = if lists.is_exact() {
            0
        } else {
            lists.total_edges()
        };
        Ok(Some(Drawn {
            touched: (before.rows + 2 * sample.rows) as u64 + filtered,
            sample,
            rows_in: before.rows as u64,
            found: found as f64,
        }))
    }

    pub(super) fn check(
        &self,
        before: &Sample,
        subjects: &[VertexId],
        objects: &[VertexId],
    ) -> Result<Option<Drawn>, WalkError> {
        let lists = self.lists(self.segment(Direction::Out), subjects)?;
        let mut rows = Vec::new();
        lists.select(objects, &mut rows)?;
        Ok(Some(kept(before, &rows)))
    }

    pub(super) fn check_constant(
        &self,
        before: &Sample,
        constant: VertexId,
        direction: Direction,
        column: &[VertexId],
    ) -> Result<Option<Drawn>, WalkError> {
        let Some(set) = self.neighbours(constant, direction)? else {
            return Ok(None);
        };
        let mut rows = Vec::new();
        set.select(column, &mut rows)?;
        Ok(Some(kept(before, &rows)))
    }
}

/// What was taken: of which row, and which neighbour.
#[derive(Default)]
struct Partners {
    rows: Vec<u32>,
    neighbours: Vec<VertexId>,
}

impl Partners {
    /// Takes the neighbours at these places out of a list, which is read.
    fn read(
        &mut self,
        lists: &Lists<'_>,
        list: usize,
        length: u64,
        offsets: &[u64],
    ) -> Result<(), WalkError> {
        let (mut of, mut all) = (Vec::new(), Vec::new());
        let mut cursor = ListCursor::at(list as u32);
        lists.expand(&mut cursor, length as usize, &mut of, &mut all, None)?;
        let there = offsets
            .iter()
            .filter_map(|offset| all.get(*offset as usize));
        self.neighbours.extend(there);
        self.rows.resize(self.neighbours.len(), list as u32);
        Ok(())
    }

    /// Takes the neighbours at these places out of a set.
    fn look_up(
        &mut self,
        set: &VertexSet<'_>,
        list: usize,
        offsets: &[u64],
    ) -> Result<(), WalkError> {
        self.neighbours.append(&mut taken(set, offsets)?);
        self.rows.resize(self.neighbours.len(), list as u32);
        Ok(())
    }
}

/// Whether lists would have to be filtered, and are too long for it.
fn is_long(lists: &Lists<'_>) -> bool {
    !lists.is_exact() && lists.total_edges() > FILTERED_MAX
}

/// The elements with these ordinals.
fn taken(set: &VertexSet<'_>, ordinals: &[u64]) -> Result<Vec<VertexId>, WalkError> {
    let mut vertices = Vec::with_capacity(ordinals.len());
    for &ordinal in ordinals {
        set.decode(ordinal, ordinal + 1, &mut vertices)?;
    }
    Ok(vertices)
}

/// The rows that pass.
fn kept(before: &Sample, rows: &[u32]) -> Drawn {
    let sample = before.gather(rows);
    Drawn {
        rows_in: before.rows as u64,
        found: sample.rows as f64,
        touched: (before.rows + sample.rows) as u64,
        sample,
    }
}

/// Ascending places of at most `wanted` of `total` things, one out of each of as many strata.
fn strata(total: u64, wanted: u64, seed: u64) -> Vec<u64> {
    if total <= wanted {
        return (0..total).collect();
    }
    let edge = |stratum: u64| (u128::from(stratum) * u128::from(total) / u128::from(wanted)) as u64;
    let mut random = SplitMix64::seed_from_u64(seed.wrapping_mul(SPREAD));
    let place = |stratum: u64| {
        let (from, to) = (edge(stratum), edge(stratum + 1));
        from + random.next_u64() % (to - from)
    };
    (0..wanted).map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::strata;

    #[test]
    fn all_of_few_and_one_of_each_stratum_of_many() {
        assert_eq!(strata(3, 5, 7), [0, 1, 2]);
        assert!(strata(0, 5, 7).is_empty());
        let places = strata(1_000, 10, 7);
        let strata_of: Vec<u64> = places.iter().map(|place| place / 100).collect();
        assert_eq!(strata_of, (0..10).collect::<Vec<u64>>());
        assert_eq!(places, strata(1_000, 10, 7));
        assert_ne!(places, strata(1_000, 10, 8));
        assert_eq!(strata(u64::MAX, 2, 0).len(), 2);
    }
}
