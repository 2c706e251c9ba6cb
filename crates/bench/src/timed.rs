//! A graph with a time beside every neighbour: what the windows of a stream are measured against.
//!
//! Wukong+S compares its stream index with Wukong/Ext (SOSP'17, section 6.2, table 4): a store that absorbs all streams,
//! keeps the time of every edge beside it, and reads a window by looking at times. This is that store with the segments of
//! ours: one segment for a predicate and a direction, with sorted keys, offsets and a column of neighbours in codes of four
//! bytes. It adds a column of [`Stamp`]s of four bytes.
//!
//! ```text
//!   keys       rank blocks of 64 ids, or ids of 8 bytes       -> ordinal
//!   offsets    ordinal -> first row                              u32
//!   neighbours row -> code from a base (ids if these lie apart)  u32 or u64
//!   stamps     row -> when it came, and in which stream          u32
//!   arrivals   stamps and keys of all rows in order of time      u32 and u64, by time only
//! ```
//!
//! A window is read in one of two ways ([`ListOrder`]): lists in order of neighbours are scanned for the times of the window,
//! or lists in order of time are searched for them. The second way also has the keys of all rows in order of time, as a vertex
//! of Wukong's index with times would have them. Both give distinct neighbours ascending, as a `GraphView` does.
//!
//! The rival is made strong where that is cheap: a scan compares 32 stamps at a time, and a search begins at the newest
//! row and doubles its step, since windows lie at the end. [`growing`] has lists that grow in place, which append cheaply.
//!
//! Invariant: keys ascend; the rows of a key ascend by (neighbour, stamp) or by (stamp, neighbour), all distinct.

pub mod growing;
mod keys;

use keys::Keys;
use std::ops::Range;

/// Rows whose stamps are compared at a time.
const SCANNED: usize = 32;

/// When an edge came and in which stream; stamps order by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp(u32);

impl Stamp {
    /// The stamp of what was stored before all streams.
    pub const STORED: Stamp = Stamp(0);
    const STREAM_BITS: u32 = 3;

    /// The stamp of a stream, from 1 to 7, and a time below 2^29 ms, which is six days. Asserts both.
    pub fn new(stream: u8, time_ms: u32) -> Stamp {
        assert!((1..8).contains(&stream), "streams are numbered from 1 to 7");
        Stamp::at(stream, time_ms)
    }

    fn at(stream: u8, time_ms: u32) -> Stamp {
        assert!(
            time_ms >> (32 - Stamp::STREAM_BITS) == 0,
            "a time is below 2^29 ms"
        );
        Stamp(time_ms << Stamp::STREAM_BITS | u32::from(stream))
    }

    fn stream(self) -> u32 {
        self.0 & ((1 << Stamp::STREAM_BITS) - 1)
    }
}

/// What came in one stream in `[from, until)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeWindow {
    stream: u32,
    from: Stamp,
    until: Stamp,
}

impl TimeWindow {
    /// A window over a stream, from 1 to 7, of these times (milliseconds). Asserts what [`Stamp::new`] does.
    pub fn new(stream: u8, times_ms: Range<u32>) -> TimeWindow {
        assert!((1..8).contains(&stream), "streams are numbered from 1 to 7");
        TimeWindow {
            stream: stream.into(),
            from: Stamp::at(0, times_ms.start),
            until: Stamp::at(0, times_ms.end),
        }
    }

    #[inline]
    fn has_time(&self, stamp: Stamp) -> bool {
        stamp.0.wrapping_sub(self.from.0) < self.until.0 - self.from.0
    }

    /// Whether what came then is in the window.
    #[inline]
    pub fn has(&self, stamp: Stamp) -> bool {
        self.has_time(stamp) && stamp.stream() == self.stream
    }

    /// Where the window's times are among ascending stamps. O(log of the distance from the end).
    #[inline]
    fn within<T>(&self, rows: &[T], stamp: impl Fn(&T) -> Stamp) -> Range<usize> {
        let until = newest_below(rows, |row| stamp(row) < self.until);
        newest_below(&rows[..until], |row| stamp(row) < self.from)..until
    }
}

/// How many rows come before the first that is not below, where those below come first: steps from the end, each twice the one
/// before, and a binary search within the last step.
#[inline]
fn newest_below<T>(rows: &[T], is_below: impl Fn(&T) -> bool) -> usize {
    let (mut end, mut step) = (rows.len(), 1);
    while end > 0 {
        let probe = end.saturating_sub(step);
        if is_below(&rows[probe]) {
            return probe + 1 + rows[probe + 1..end].partition_point(is_below);
        }
        end = probe;
        step *= 2;
    }
    0
}

/// An edge of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedEdge {
    /// The end that is looked up.
    pub key: u64,
    /// The other end.
    pub neighbour: u64,
    /// When it came.
    pub stamp: Stamp,
}

/// How a list lies, and so how a window is found in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListOrder {
    /// By neighbour: a window is found by a scan.
    ByNeighbour,
    /// By time: a window is found by a search, and its neighbours are sorted then.
    ByTime,
}

impl ListOrder {
    fn sort(self, edges: &mut Vec<TimedEdge>) {
        // Stable sorts merge runs that ascend already.
        match self {
            ListOrder::ByNeighbour => edges.sort_by_key(|it| (it.key, it.neighbour, it.stamp)),
            ListOrder::ByTime => edges.sort_by_key(|it| (it.key, it.stamp, it.neighbour)),
        }
        edges.dedup();
    }
}

#[derive(Clone, Debug)]
enum Neighbours {
    Codes { base: u64, codes: Vec<u32> },
    Ids(Vec<u64>),
}

impl Neighbours {
    fn of(edges: &[TimedEdge]) -> Neighbours {
        let ids = || edges.iter().map(|edge| edge.neighbour);
        let base = ids().min().unwrap_or(0);
        if ids().all(|id| u32::try_from(id - base).is_ok()) {
            let codes = ids().map(|id| (id - base) as u32).collect();
            return Neighbours::Codes { base, codes };
        }
        Neighbours::Ids(ids().collect())
    }

    #[inline]
    fn get(&self, row: usize) -> u64 {
        match self {
            Neighbours::Codes { base, codes } => base + u64::from(codes[row]),
            Neighbours::Ids(ids) => ids[row],
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Neighbours::Codes { codes, .. } => size_of_val(&codes[..]),
            Neighbours::Ids(ids) => size_of_val(&ids[..]),
        }
    }
}

/// One predicate in one direction; see the module's documentation.
#[derive(Clone, Debug)]
pub struct TimedSegment {
    order: ListOrder,
    keys: Keys,
    /// One more than keys.
    offsets: Vec<u32>,
    neighbours: Neighbours,
    stamps: Vec<Stamp>,
    /// In order of time; none where lists are by neighbour.
    arrival_stamps: Vec<Stamp>,
    arrival_keys: Vec<u64>,
}

impl TimedSegment {
    /// The segment of edges in any order. An edge that came twice at one time in one stream counts once. Asserts that there
    /// are fewer than 2^32. O(edges x log).
    pub fn of(mut edges: Vec<TimedEdge>, order: ListOrder) -> TimedSegment {
        order.sort(&mut edges);
        let rows = u32::try_from(edges.len()).expect("a segment has fewer than 2^32 edges");
        let (mut keys, mut offsets) = (Vec::new(), Vec::new());
        for (row, edge) in (0..rows).zip(&edges) {
            if keys.last() != Some(&edge.key) {
                keys.push(edge.key);
                offsets.push(row);
            }
        }
        offsets.push(rows);
        let mut arrivals: Vec<(Stamp, u64)> = match order {
            ListOrder::ByNeighbour => Vec::new(),
            ListOrder::ByTime => edges.iter().map(|edge| (edge.stamp, edge.key)).collect(),
        };
        arrivals.sort_unstable();
        arrivals.dedup();
        TimedSegment {
            order,
            keys: Keys::of(keys),
            offsets,
            neighbours: Neighbours::of(&edges),
            stamps: edges.iter().map(|edge| edge.stamp).collect(),
            arrival_stamps: arrivals.iter().map(|arrival| arrival.0).collect(),
            arrival_keys: arrivals.iter().map(|arrival| arrival.1).collect(),
        }
    }

    /// Its edges, in the order in which they lie.
    pub fn edges(&self) -> Vec<TimedEdge> {
        let mut edges = Vec::with_capacity(self.stamps.len());
        for (ordinal, key) in self.keys.ids().into_iter().enumerate() {
            edges.extend(self.rows(ordinal).map(|row| TimedEdge {
                key,
                neighbour: self.neighbours.get(row),
                stamp: self.stamps[row],
            }));
        }
        edges
    }

    /// The segment with more edges, which is how an immutable segment takes a batch. O(edges of both).
    #[must_use]
    pub fn merged(&self, batch: &[TimedEdge]) -> TimedSegment {
        let mut edges = self.edges();
        edges.extend_from_slice(batch);
        TimedSegment::of(edges, self.order)
    }

    /// The segment without the times before this one (milliseconds): an edge stays, and what is left of its times before is that
    /// it is stored. This is the collection of garbage that the paper calls costly. O(edges).
    #[must_use]
    pub fn forgetting(&self, before_ms: u32) -> TimedSegment {
        let before = Stamp::at(0, before_ms);
        let mut edges = self.edges();
        for edge in &mut edges {
            if edge.stamp < before {
                edge.stamp = Stamp::STORED;
            }
        }
        TimedSegment::of(edges, self.order)
    }

    /// Rows: an edge counts for each time at which it came.
    pub fn rows_count(&self) -> usize {
        self.stamps.len()
    }

    /// Bytes of memory of its columns.
    pub fn bytes(&self) -> usize {
        self.keys.bytes()
            + size_of_val(&self.offsets[..])
            + self.neighbours.bytes()
            + size_of_val(&self.stamps[..])
            + size_of_val(&self.arrival_stamps[..])
            + size_of_val(&self.arrival_keys[..])
    }

    /// Appends all neighbours of a key, in the order in which they lie.
    pub fn all(&self, key: u64, out: &mut Vec<u64>) {
        if let Some(ordinal) = self.keys.ordinal(key) {
            out.extend(self.rows(ordinal).map(|row| self.neighbours.get(row)));
        }
    }

    /// Appends the neighbours of a key that came in a window, distinct and ascending.
    #[inline]
    pub fn list(&self, key: u64, window: TimeWindow, out: &mut Vec<u64>) {
        let Some(ordinal) = self.keys.ordinal(key) else {
            return;
        };
        let (rows, begin) = (self.rows(ordinal), out.len());
        match self.order {
            ListOrder::ByNeighbour => self.scan(rows, window, |row| {
                out.push(self.neighbours.get(row));
            }),
            ListOrder::ByTime => {
                let within = window.within(&self.stamps[rows.clone()], |stamp| *stamp);
                let rows = rows.start + within.start..rows.start + within.end;
                let found = rows.filter(|row| window.has(self.stamps[*row]));
                out.extend(found.map(|row| self.neighbours.get(row)));
                out[begin..].sort_unstable();
            }
        }
        distinct_from(out, begin);
    }

    /// Appends the keys of which something came in a window, distinct and ascending.
    pub fn keys(&self, window: TimeWindow, out: &mut Vec<u64>) {
        let begin = out.len();
        match self.order {
            ListOrder::ByNeighbour => {
                let mut ordinal = 0;
                self.scan(0..self.stamps.len(), window, |row| {
                    let after = &self.offsets[ordinal + 1..];
                    let passed = after.partition_point(|offset| *offset as usize <= row);
                    if passed > 0 || out.len() == begin {
                        ordinal += passed;
                        out.push(self.keys.id(ordinal));
                    }
                });
            }
            ListOrder::ByTime => {
                let within = window.within(&self.arrival_stamps, |stamp| *stamp);
                let found = within.filter(|row| window.has(self.arrival_stamps[*row]));
                out.extend(found.map(|row| self.arrival_keys[row]));
                out[begin..].sort_unstable();
            }
        }
        distinct_from(out, begin);
    }

    #[inline]
    fn rows(&self, ordinal: usize) -> Range<usize> {
        self.offsets[ordinal] as usize..self.offsets[ordinal + 1] as usize
    }

    /// Gives the rows of a window, ascending. Groups of rows without one cost a comparison a row, without branches.
    #[inline]
    fn scan(&self, rows: Range<usize>, window: TimeWindow, mut found: impl FnMut(usize)) {
        for (group, stamps) in self.stamps[rows.clone()].chunks(SCANNED).enumerate() {
            let has_some = stamps
                .iter()
                .fold(false, |some, stamp| some | window.has_time(*stamp));
            if !has_some {
                continue;
            }
            let first = rows.start + group * SCANNED;
            for (row, stamp) in (first..).zip(stamps) {
                if window.has(*stamp) {
                    found(row);
                }
            }
        }
    }
}

/// Removes repeated numbers from the end of a vector, which ascends from there on.
fn distinct_from(out: &mut Vec<u64>, begin: usize) {
    let mut kept = begin;
    for at in begin..out.len() {
        if kept == begin || out[kept - 1] != out[at] {
            out[kept] = out[at];
            kept += 1;
        }
    }
    out.truncate(kept);
}

#[cfg(test)]
mod tests {
    use super::growing::GrowingSegment;
    use super::*;
    use std::collections::BTreeSet;
    use testkit::random::Random;

    /// Keys near each other or far apart, some with long lists, times repeated.
    fn random_edges(random: &mut Random, count: usize) -> Vec<TimedEdge> {
        let spread = [1, 1 << 20][random.below(2)];
        let far = [1, 1 << 40][random.below(2)];
        let edges = (0..count).map(|_| {
            let time_ms = random.below(60) as u32;
            TimedEdge {
                key: 7 + random.below(9).pow(2) as u64 * spread,
                neighbour: 5 + random.below(40) as u64 * far,
                stamp: match random.below(4) {
                    0 => Stamp::STORED,
                    stream => Stamp::new(stream as u8, time_ms),
                },
            }
        });
        edges.collect()
    }

    fn random_window(random: &mut Random) -> TimeWindow {
        let start = random.below(62) as u32;
        let times = start..start + random.below(20) as u32;
        TimeWindow::new(random.between(1, 3) as u8, times)
    }

    /// By definition.
    fn filtered(edges: &[TimedEdge], window: TimeWindow) -> Vec<TimedEdge> {
        let is_in = |edge: &&TimedEdge| {
            let (stream, time) = (edge.stamp.0 % 8, edge.stamp.0 / 8);
            stream == window.stream && (window.from.0 / 8..window.until.0 / 8).contains(&time)
        };
        edges.iter().filter(is_in).copied().collect()
    }

    fn compare(segment: &TimedSegment, edges: &[TimedEdge], window: TimeWindow) {
        let expected = filtered(edges, window);
        let keys: BTreeSet<u64> = edges.iter().map(|edge| edge.key).chain([0, 8]).collect();
        for key in keys {
            let of_key = expected.iter().filter(|edge| edge.key == key);
            let expected: BTreeSet<u64> = of_key.map(|edge| edge.neighbour).collect();
            let mut list = vec![u64::MAX];
            segment.list(key, window, &mut list);
            assert_eq!(list[1..], Vec::from_iter(expected), "{key} {window:?}");
        }
        let expected: BTreeSet<u64> = expected.iter().map(|edge| edge.key).collect();
        let mut keys = vec![u64::MAX];
        segment.keys(window, &mut keys);
        assert_eq!(keys[1..], Vec::from_iter(expected), "{window:?}");
    }

    #[test]
    fn windows_are_what_a_filter_by_time_gives() {
        let mut random = Random::new(1);
        for _ in 0..300 {
            let count = random.below(400);
            let edges = random_edges(&mut random, count);
            for order in [ListOrder::ByNeighbour, ListOrder::ByTime] {
                let segment = TimedSegment::of(edges.clone(), order);
                for _ in 0..9 {
                    compare(&segment, &edges, random_window(&mut random));
                }
            }
        }
    }

    #[test]
    fn a_batch_is_merged_and_old_times_are_forgotten() {
        let mut random = Random::new(2);
        for _ in 0..200 {
            let [old, new] = [0, 1].map(|_| {
                let count = random.below(200);
                random_edges(&mut random, count)
            });
            let both = [&old[..], &new[..]].concat();
            for order in [ListOrder::ByNeighbour, ListOrder::ByTime] {
                let merged = TimedSegment::of(old.clone(), order).merged(&new);
                compare(&merged, &both, random_window(&mut random));
                let forgetting = merged.forgetting(30);
                let kept = both.iter().filter(|edge| edge.stamp >= Stamp::at(0, 30));
                let kept: Vec<TimedEdge> = kept.copied().collect();
                compare(&forgetting, &kept, random_window(&mut random));
                let ends = |edges: &[TimedEdge]| {
                    let ends = edges.iter().map(|edge| (edge.key, edge.neighbour));
                    ends.collect::<BTreeSet<_>>()
                };
                assert_eq!(ends(&forgetting.edges()), ends(&both), "no edge is lost");
            }
        }
    }

    #[test]
    fn lists_that_grow_give_the_same() {
        let mut random = Random::new(3);
        for _ in 0..200 {
            let count = random.below(300);
            let mut edges = random_edges(&mut random, count);
            edges.sort_by_key(|edge| edge.stamp);
            let mut growing = GrowingSegment::default();
            for edge in &edges {
                growing.push(*edge);
            }
            let segment = TimedSegment::of(edges, ListOrder::ByTime);
            for _ in 0..9 {
                let window = random_window(&mut random);
                let (mut expected, mut keys) = (Vec::new(), Vec::new());
                segment.keys(window, &mut expected);
                growing.keys(window, &mut keys);
                assert_eq!(keys, expected);
                for key in segment.keys.ids() {
                    let (mut expected, mut list) = (Vec::new(), Vec::new());
                    segment.list(key, window, &mut expected);
                    growing.list(key, window, &mut list);
                    assert_eq!(list, expected);
                }
            }
        }
    }
}
