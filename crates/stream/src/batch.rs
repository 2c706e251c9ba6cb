//! Open batches: items that came and are not sealed yet.
//!
//! A batch is *settled* when the watermark has passed its end and the stream's lateness: from then on an item of it is
//! late. Settled batches come out as [`Seal`]s, in order, each once. A seal is of one batch, of the edge of one, of the
//! rest of one whose edge was sealed, or of a span in which nothing came:
//!
//! ```text
//!  from (3)          until (5)   until (6)   until (7, edge)
//!  | nothing came    |  batch 5  |  batch 6  |E|  batch 7 ...
//!  '---- seal 1 -----'- seal 2 --'- seal 3 --' '- seal 4
//! ```
//!
//! So a close of a window that lies before a batch is covered before that batch is sealed, and the commits that absorb
//! seals can stand between. Invariants: `from` of a seal is `until` of the one before; the items of a seal are exactly
//! those of its span that were not late. Cost: O(log open batches) an item, nothing for a batch in which nothing came.

use std::collections::BTreeMap;

use crate::items::{self, Items};
use crate::time::{SealPoint, Time};
use rdf::transient::Renamed;

/// Items that were decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settled {
    /// Where the span begins.
    pub(crate) from: SealPoint,
    /// Where it ends.
    pub(crate) until: SealPoint,
    /// Its items, by time.
    pub(crate) items: Items,
}

/// The open batches of one stream.
#[derive(Clone, Debug)]
pub(crate) struct OpenBatches {
    grain_ms: u64,
    /// Batches that have items, by number.
    open: BTreeMap<u64, Items>,
    /// What is before this is decided.
    settled: SealPoint,
    /// What is before this came out.
    sealed: SealPoint,
    bytes: u64,
}

impl OpenBatches {
    /// Of a stream of this grain, from the batch on in which `begin` lies.
    pub(crate) fn new(grain_ms: u64, begin: Time) -> OpenBatches {
        OpenBatches::sealed_until(grain_ms, SealPoint::before(begin, grain_ms, false))
    }

    /// Of a stream of this grain, all before `point` decided and out.
    pub(crate) fn sealed_until(grain_ms: u64, point: SealPoint) -> OpenBatches {
        OpenBatches {
            grain_ms,
            open: BTreeMap::new(),
            settled: point,
            sealed: point,
            bytes: 0,
        }
    }

    /// What open items hold (bytes).
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The items of each open batch, ascending by batch.
    pub(crate) fn open(&self) -> impl Iterator<Item = &Items> {
        self.open.values()
    }

    /// Puts stored ids in place of transient ones.
    pub(crate) fn rename(&mut self, renamed: &Renamed) {
        for items in self.open.values_mut() {
            items.rename(renamed);
        }
    }

    /// An item before this moment is late.
    pub(crate) fn settled(&self) -> Time {
        self.settled.covered(self.grain_ms)
    }

    /// The same as a point.
    pub(crate) fn settled_point(&self) -> SealPoint {
        self.settled
    }

    /// How far seals came out.
    pub(crate) fn sealed(&self) -> SealPoint {
        self.sealed
    }

    /// Takes items; those that are late come back.
    pub(crate) fn add(&mut self, items: &Items) -> Items {
        let settled = self.settled();
        let mut late = Items::new();
        for (time, quads) in items.iter() {
            if time < settled {
                late.add(time, quads);
                continue;
            }
            let batch = self.open.entry(time.0 / self.grain_ms).or_default();
            batch.add(time, quads);
            self.bytes += items::bytes_of(1, quads.len());
        }
        late
    }

    /// All items before `time` are decided. With `edges`, that of a batch is decided before the rest.
    pub(crate) fn settle(&mut self, time: Time, edges: bool) {
        let point = SealPoint::before(time, self.grain_ms, edges);
        self.settled = self.settled.max(point);
    }

    /// A seal of this stream was made elsewhere or earlier: what is before it is decided.
    pub(crate) fn obey(&mut self, point: SealPoint) {
        self.settled = self.settled.max(point);
    }

    /// Where the next seal ends, if there is one.
    pub(crate) fn next_end(&self) -> Option<SealPoint> {
        self.next_end_within(self.settled)
    }

    /// The same if no more were decided than this.
    fn next_end_within(&self, settled: SealPoint) -> Option<SealPoint> {
        if self.sealed >= settled {
            return None;
        }
        let first = self.open.keys().next().copied();
        let Some(batch) = first.filter(|&batch| batch <= settled.batches) else {
            return Some(settled);
        };
        Some(if batch > self.sealed.batches {
            SealPoint::whole(batch)
        } else if batch < settled.batches {
            SealPoint::whole(batch + 1)
        } else {
            settled
        })
    }

    /// The next seal, if there is one.
    pub(crate) fn next_settled(&mut self) -> Option<Settled> {
        self.next_settled_within(self.settled)
    }

    /// The next seal that a stream gave or will give when no more is decided than this, if there is one.
    pub(crate) fn next_settled_within(&mut self, limit: SealPoint) -> Option<Settled> {
        let until = self.next_end_within(limit.min(self.settled))?;
        let from = std::mem::replace(&mut self.sealed, until);
        let items = self.take(from, until).sorted();
        self.bytes -= items.bytes();
        Some(Settled { from, until, items })
    }

    /// The items of a span of at most one batch.
    fn take(&mut self, from: SealPoint, until: SealPoint) -> Items {
        let batch = from.batches;
        if until.batches > batch {
            return self.open.remove(&batch).unwrap_or_default();
        }
        let Some(items) = self.open.get_mut(&batch) else {
            return Items::new();
        };
        let edge = items.take_at(Time(batch * self.grain_ms));
        if items.is_empty() {
            self.open.remove(&batch);
        }
        edge
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::random::Random;
    use testkit::seeds;

    fn at(times: &[u64]) -> Items {
        let mut items = Items::new();
        for &time in times {
            items.add(Time(time), &[]);
        }
        items
    }

    fn seals(batches: &mut OpenBatches) -> Vec<(Time, Time, Vec<u64>)> {
        let grain_ms = batches.grain_ms;
        let next = || batches.next_settled();
        std::iter::from_fn(next)
            .map(|seal| {
                let times = seal.items.times().iter().map(|time| time.0).collect();
                (
                    seal.from.covered(grain_ms),
                    seal.until.covered(grain_ms),
                    times,
                )
            })
            .collect()
    }

    #[test]
    fn a_batch_is_sealed_alone_and_a_gap_before_it() {
        let mut batches = OpenBatches::new(10, Time(0));
        assert!(batches.add(&at(&[57, 50, 61, 70, 75])).is_empty());
        batches.settle(Time(71), true);
        let expected = [
            (Time(0), Time(50), vec![]),
            (Time(50), Time(60), vec![50, 57]),
            (Time(60), Time(70), vec![61]),
            (Time(70), Time(71), vec![70]),
        ];
        assert_eq!(seals(&mut batches), expected);
        assert_eq!(batches.add(&at(&[70, 71, 69])), at(&[70, 69]));
        batches.settle(Time(80), true);
        assert_eq!(seals(&mut batches), [(Time(71), Time(80), vec![71, 75])]);
        assert_eq!(batches.bytes(), 0);
    }

    #[test]
    fn a_million_empty_batches_are_one_seal() {
        let mut batches = OpenBatches::new(1, Time(0));
        batches.settle(Time(1_000_000_000), true);
        assert_eq!(
            seals(&mut batches),
            [(Time(0), Time(1_000_000_000), vec![])]
        );
    }

    /// Whatever comes in whatever order: each item comes out once, in its span or as late, and spans are gapless.
    #[test]
    fn seals_are_a_gapless_cut_of_what_was_not_late() {
        for seed in seeds::chosen(300, 10_000) {
            let mut random = Random::new(seed);
            let grain_ms = random.between(1, 12) as u64;
            let mut batches = OpenBatches::new(grain_ms, Time(0));
            let (mut kept, mut out, mut end, mut settled) = (Vec::new(), Vec::new(), Time(0), 0);
            for _ in 0..40 {
                let times: Vec<u64> = (0..random.below(6))
                    .map(|_| settled / 2 + random.below(100) as u64)
                    .collect();
                let late = batches.add(&at(&times));
                let limit = batches.settled();
                let (before, after): (Vec<u64>, Vec<u64>) =
                    times.iter().partition(|&&time| Time(time) < limit);
                assert_eq!(late, at(&before), "seed {seed}");
                kept.extend(after);
                settled += random.below(30) as u64;
                batches.settle(Time(settled), random.chance(50));
                for (from, until, times) in seals(&mut batches) {
                    assert_eq!(from, end, "seed {seed}");
                    assert!(until > from && until.0 <= settled, "seed {seed}");
                    assert!(times.is_sorted() && times.iter().all(|&t| from.0 <= t && t < until.0));
                    out.extend(times);
                    end = until;
                }
            }
            kept.sort_unstable();
            kept.retain(|&time| Time(time) < end);
            assert_eq!(out, kept, "seed {seed}");
        }
    }
}
