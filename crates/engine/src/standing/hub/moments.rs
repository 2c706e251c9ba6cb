//! The graphs that evaluations to come may see: those of commits of streams, by what each commit covers.
//!
//! An evaluation at a close sees the graph of the *first* commit that covers every batch of its streams that ends by the
//! close. A close within a batch is evaluated when that batch is sealed, and until then streams of a finer grain may have
//! made any number of commits. So commits are kept by need:
//!
//! ```text
//!  closes that a commit covers, of a query      5600     5700     6000     6000     6000
//!  commits                                    ---o--------o--------o--------o--------o---   the last is kept in any case
//!  the query's next close is 5650                          ^ needed ^ needed
//! ```
//!
//! A commit is needed where some query's next close is covered by it, and it covers later closes of that query than the
//! one before it. The others are no first commit of any close to come.
//!
//! Invariant: what [`Moments::first`] gives is the first of *all* commits that were noted since the first one, or it is
//! an error. Commits that are needed are let go where they are too many ([`MOMENTS_MAX`]) or hold too much
//! ([`HELD_BYTES_MAX`]); closes that would have seen one of them are told from others.
//!
//! Cost: a look at all commits and all cohorts of queries where there are twice as many commits as after the last look, or they
//! hold an eighth more. What they hold is counted with each while they are few, and then now and again: old layers that were merged since
//! may be much.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use stream::{SealPoint, StreamId, Time};

/// So many commits are kept without a look at who needs them (count), where they hold at most so much (bytes).
const MOMENTS_FEW: usize = 32;
const HELD_BYTES_FEW: u64 = 4 << 20;
/// Commits that are kept for those who need them (count): 7 minutes of a stream of 100 ms.
const MOMENTS_MAX: usize = 1 << 12;
/// What they may hold beside the newest (bytes).
const HELD_BYTES_MAX: u64 = 256 << 20;
const _: () = assert!(MOMENTS_FEW < MOMENTS_MAX, "few are fewer than the most");

/// How far each stream is sealed.
pub(super) type Sealed = Vec<(StreamId, SealPoint)>;

/// Who sees streams together: for each set of streams that some query reads, the earliest close that is not evaluated yet.
pub(super) type NextCloses = BTreeMap<BTreeSet<StreamId>, Time>;

/// A commit of streams and what it covers.
struct Moment<G> {
    sealed: Sealed,
    graph: G,
}

/// See the head of this file. `G`: a graph.
pub(super) struct Moments<G> {
    kept: VecDeque<Moment<G>>,
    /// It is looked who needs them where there are more.
    look_at: usize,
    /// The same, where they hold more (bytes).
    look_at_bytes: u64,
    /// What they hold beside the newest, as of the last count (bytes).
    held_bytes: u64,
    /// How far the last one reached that was needed and let go.
    lost: Option<Sealed>,
}

/// The commit that a close sees was let go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Forgotten {
    /// Those that are kept (count).
    pub(super) kept: usize,
    /// What they hold (bytes).
    pub(super) bytes: u64,
}

/// What is known about streams and graphs by whoever keeps moments.
pub(super) struct Known<'k, G> {
    /// The grain of a stream (milliseconds).
    pub(super) grain_ms: &'k dyn Fn(StreamId) -> u64,
    /// What these graphs hold that the newest one, the last, does not (bytes).
    pub(super) bytes: &'k dyn Fn(&mut dyn Iterator<Item = &G>) -> u64,
    /// See there.
    pub(super) next: &'k dyn Fn() -> NextCloses,
}

impl<G> Default for Moments<G> {
    fn default() -> Self {
        Moments {
            kept: VecDeque::new(),
            look_at: MOMENTS_FEW,
            look_at_bytes: HELD_BYTES_FEW,
            held_bytes: 0,
            lost: None,
        }
    }
}

impl<G: Clone> Moments<G> {
    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// The graph of the last commit.
    pub(super) fn newest(&self) -> Option<&G> {
        Some(&self.kept.back()?.graph)
    }

    /// What they hold beside the newest, as of the last count (bytes).
    pub(super) fn held_bytes(&self) -> u64 {
        self.held_bytes
    }

    /// The graph of the last commit is sealed further than was noted: what was sealed since changed nothing of it.
    pub(super) fn extend(&mut self, sealed: Sealed, graph: G) {
        if let Some(last) = self.kept.back_mut() {
            *last = Moment { sealed, graph };
        }
    }

    /// Notes a commit, later than all others.
    pub(super) fn note(&mut self, sealed: Sealed, graph: G, known: &Known<'_, G>) {
        self.kept.push_back(Moment { sealed, graph });
        if self.kept.len() <= MOMENTS_FEW || self.kept.len().is_multiple_of(MOMENTS_FEW) {
            self.weigh(known);
        }
        if self.kept.len() <= self.look_at && self.held_bytes <= self.look_at_bytes {
            return;
        }
        self.keep_needed(known);
        self.weigh(known);
        while self.kept.len() > MOMENTS_MAX
            || self.kept.len() > 1 && self.held_bytes > HELD_BYTES_MAX
        {
            let share = (self.kept.len() / 8).max(1);
            let lost = self.kept.drain(..share).next_back();
            self.lost = lost.map(|moment| moment.sealed).or(self.lost.take());
            self.weigh(known);
        }
        let twice = 2 * self.kept.len();
        self.look_at = twice.clamp(MOMENTS_FEW, MOMENTS_MAX);
        self.look_at_bytes = self.held_bytes + HELD_BYTES_FEW.max(self.held_bytes / 8);
    }

    fn weigh(&mut self, known: &Known<'_, G>) {
        let mut graphs = self.kept.iter().map(|moment| &moment.graph);
        self.held_bytes = (known.bytes)(&mut graphs);
    }

    fn keep_needed(&mut self, known: &Known<'_, G>) {
        let next = (known.next)();
        let mut before: Option<Sealed> = None;
        let last = self.kept.len() - 1;
        let mut place = 0;
        self.kept.retain(|moment| {
            let is_last = place == last;
            place += 1;
            let is_needed = is_last
                || next.iter().any(|(streams, close)| {
                    let ends = covered_before(&moment.sealed, streams, known.grain_ms);
                    let ended = before
                        .as_ref()
                        .map(|sealed| covered_before(sealed, streams, known.grain_ms));
                    *close < ends && ended.is_none_or(|ended| ended < ends)
                });
            if is_needed {
                before = Some(moment.sealed.clone());
            }
            is_needed
        });
    }

    /// The graph of the first commit that covers a close of these streams; none where no commit does yet.
    pub(super) fn first(
        &self,
        close: Time,
        streams: &BTreeSet<StreamId>,
        grain_ms: &dyn Fn(StreamId) -> u64,
    ) -> Result<Option<&G>, Forgotten> {
        let covers = |sealed: &Sealed| close < covered_before(sealed, streams, grain_ms);
        if self.lost.as_ref().is_some_and(covers) {
            return Err(Forgotten {
                kept: self.kept.len(),
                bytes: self.held_bytes,
            });
        }
        let mut moments = self.kept.iter();
        let known = moments.find(|moment| covers(&moment.sealed));
        Ok(known.map(|moment| &moment.graph))
    }
}

/// Closes before this are covered: of each stream every batch is sealed that ends by then.
fn covered_before(
    sealed: &Sealed,
    streams: &BTreeSet<StreamId>,
    grain_ms: &dyn Fn(StreamId) -> u64,
) -> Time {
    let end = |stream: &StreamId| {
        let known = sealed.iter().find(|(known, _)| known == stream);
        let grain_ms = grain_ms(*stream);
        known.map_or(Time(0), |(_, point)| {
            SealPoint::whole(point.batches.saturating_add(1)).covered(grain_ms)
        })
    };
    streams.iter().map(end).min().unwrap_or(Time::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::random::Random;
    use testkit::seeds;

    /// Grains of three streams (milliseconds).
    const GRAINS_MS: [u64; 3] = [1000, 100, 10];

    fn grain_ms(stream: StreamId) -> u64 {
        GRAINS_MS[stream.0 as usize]
    }

    fn set(streams: &[u32]) -> BTreeSet<StreamId> {
        streams.iter().copied().map(StreamId).collect()
    }

    fn sealed_at(times: [u64; 3]) -> Sealed {
        let streams = (0..).map(StreamId).zip(times);
        let sealed = streams.map(|(id, time)| (id, SealPoint::whole(time / grain_ms(id))));
        sealed.collect()
    }

    fn noted(moments: &mut Moments<u64>, sealed: Sealed, graph: u64, next: &NextCloses) {
        let known = Known {
            grain_ms: &grain_ms,
            bytes: &|graphs| graphs.count() as u64,
            next: &|| next.clone(),
        };
        moments.note(sealed, graph, &known);
    }

    /// A stream of 10 ms beside a query over a stream of 1 s that closes within its batches.
    #[test]
    fn a_commit_is_kept_for_as_long_as_a_close_may_see_it() {
        let mut moments = Moments::default();
        let next = NextCloses::from([(set(&[0]), Time(5500))]);
        for graph in 0..100_000 {
            let fine = 5000 + 10 * graph;
            noted(&mut moments, sealed_at([5000, 5000, fine]), graph, &next);
        }
        assert_eq!(
            moments.first(Time(5500), &set(&[0]), &grain_ms),
            Ok(Some(&0))
        );
        assert_eq!(moments.first(Time(6000), &set(&[0]), &grain_ms), Ok(None));
        assert!(moments.kept.len() <= 2 * MOMENTS_FEW, "only one is needed");
        // What came later is seen by who reads the fine stream, from its next close on.
        assert_eq!(moments.newest(), Some(&99_999));
    }

    /// Graphs of 1 MiB each that nobody needs go before there are many of them; those that are needed stay.
    #[test]
    fn few_commits_that_hold_much_are_let_go() {
        let mut moments = Moments::default();
        let mut note = |needed: u64, fine: u64| {
            let known = Known {
                grain_ms: &grain_ms,
                bytes: &|graphs| (graphs.count() as u64 - 1) << 20,
                next: &|| NextCloses::from([(set(&[2]), Time(needed))]),
            };
            moments.note(sealed_at([0, 0, fine]), fine, &known);
            (moments.kept.len(), moments.held_bytes())
        };
        for fine in 1..1000 {
            let (kept, held_bytes) = note(20_000, 10 * fine);
            assert_eq!(held_bytes, (kept as u64 - 1) << 20);
            assert!(held_bytes <= HELD_BYTES_FEW, "{kept} are kept");
        }
        for fine in 1000..1020 {
            assert!(note(10_000, 10 * fine).0 >= fine as usize - 999);
        }
    }

    #[test]
    fn too_many_commits_are_said_and_not_mistaken() {
        let mut moments = Moments::default();
        // The coarse stream stands still, and the query waits for it with closes of the fine one.
        let next = NextCloses::from([(set(&[0]), Time(5500)), (set(&[2]), Time(5000))]);
        let count = 3 * MOMENTS_MAX as u64;
        for graph in 0..count {
            let fine = 5000 + 10 * graph;
            noted(&mut moments, sealed_at([5000, 5000, fine]), graph, &next);
        }
        assert!(moments.kept.len() <= MOMENTS_MAX);
        let lost = moments
            .first(Time(5500), &set(&[0]), &grain_ms)
            .unwrap_err();
        assert!(lost.kept > MOMENTS_MAX / 2, "{lost:?}");
        let last = 5000 + 10 * (count - 1);
        assert_eq!(
            moments.first(Time(last), &set(&[2]), &grain_ms),
            Ok(Some(&(count - 1)))
        );
        assert_eq!(
            moments.first(Time(last + 10), &set(&[2]), &grain_ms),
            Ok(None)
        );
        // What is sealed later is not concerned.
        noted(&mut moments, sealed_at([9_000_000; 3]), count, &next);
        assert_eq!(
            moments.first(Time(8_999_999), &set(&[0]), &grain_ms),
            Ok(Some(&count))
        );
    }

    /// What is kept gives the same as all that were noted.
    #[test]
    fn commits_that_are_kept_answer_as_all_would() {
        for seed in seeds::chosen(200, 5_000) {
            let mut random = Random::new(seed);
            let sets = [set(&[0]), set(&[0, 2]), set(&[1]), set(&[0, 1, 2])];
            let mut closes = [0_u64; 4];
            let (mut moments, mut all) = (Moments::default(), Vec::new());
            let mut times = [0_u64; 3];
            for graph in 0..400 {
                let moved = random.below(3);
                times[moved] += GRAINS_MS[moved] * (1 + random.below(3) as u64);
                let sealed = sealed_at(times);
                all.push((sealed.clone(), graph));
                let next: NextCloses = sets.iter().cloned().zip(closes.map(Time)).collect();
                noted(&mut moments, sealed, graph, &next);
                for (close, set) in closes.iter_mut().zip(&sets) {
                    let mut first = all.iter();
                    let covers =
                        |it: &&(Sealed, u64)| Time(*close) < covered_before(&it.0, set, &grain_ms);
                    let expected = first.find(covers).map(|it| &it.1);
                    let found = moments.first(Time(*close), set, &grain_ms);
                    assert_eq!(
                        found,
                        Ok(expected),
                        "seed {seed}, graph {graph}, {close} ms"
                    );
                    if expected.is_some() && random.chance(30) {
                        *close += 1 + random.below(700) as u64;
                    }
                }
            }
        }
    }
}
