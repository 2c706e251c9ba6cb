//! Moments of a stream at which something should have come and did not: it was made, and found no room.
//!
//! A window that holds such a moment says so (`window_incomplete`), as one does that reaches back further than what is kept.
//!
//! Invariant: spans ascend and do not overlap, and each moment that was noted lies in one until it is dropped. Where there are
//! more than [`SPANS_MAX`], the two oldest are one from then on: a window between them may say that it lacks something when it
//! does not, and never the other way round. So a stream that nothing finds room in for years holds some KiB for it.
//!
//! Cost: O(log spans) a look and a note.

use std::collections::VecDeque;
use std::ops::Range;

use crate::time::Time;

/// Spans that are told apart (count).
const SPANS_MAX: usize = 1024;

/// See the head of this file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gaps {
    /// The first moment of each, and the last.
    spans: VecDeque<(Time, Time)>,
}

impl Gaps {
    /// Those of an image.
    pub(crate) fn of(spans: &[(Time, Time)]) -> Gaps {
        Gaps {
            spans: spans.iter().copied().collect(),
        }
    }

    /// The first and the last moment of each, ascending.
    pub(crate) fn spans(&self) -> Vec<(Time, Time)> {
        self.spans.iter().copied().collect()
    }

    /// Something is missing at this moment.
    pub(crate) fn note(&mut self, time: Time) {
        let place = self.spans.partition_point(|(first, _)| *first <= time);
        let is_known = place > 0 && self.spans[place - 1].1 >= time;
        if is_known {
            return;
        }
        self.spans.insert(place, (time, time));
        if self.spans.len() > SPANS_MAX
            && let Some((first, _)) = self.spans.pop_front()
        {
            self.spans[0].0 = first;
        }
    }

    /// The last moment in a span of time at which something is missing.
    pub(crate) fn last_in(&self, span: &Range<Time>) -> Option<Time> {
        let place = self.spans.partition_point(|(first, _)| *first < span.end);
        let (_, last) = *self.spans.get(place.checked_sub(1)?)?;
        (last >= span.start).then(|| last.min(span.end.earlier(1)))
    }

    /// Nobody looks at what is before this any more.
    pub(crate) fn drop_until(&mut self, floor: Time) {
        while self.spans.front().is_some_and(|(_, last)| *last < floor) {
            self.spans.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use testkit::random::Random;
    use testkit::seeds;

    #[test]
    fn a_span_of_time_finds_what_is_missing_in_it() {
        for seed in seeds::chosen(100, 5_000) {
            let mut random = Random::new(seed);
            let (mut gaps, mut naive) = (Gaps::default(), BTreeSet::new());
            for _ in 0..40 {
                let time = random.below(60) as u64;
                gaps.note(Time(time));
                naive.insert(time);
                let start = random.below(60) as u64;
                let end = start + random.below(20) as u64;
                let found = gaps.last_in(&(Time(start)..Time(end)));
                let expected = naive.range(start..end).next_back();
                assert_eq!(found, expected.map(|time| Time(*time)), "seed {seed}");
                if random.chance(5) {
                    gaps.drop_until(Time(start));
                    naive = naive.split_off(&start);
                }
            }
            assert_eq!(Gaps::of(&gaps.spans()), gaps);
        }
    }

    #[test]
    fn many_gaps_hold_little_and_none_is_forgotten() {
        let mut gaps = Gaps::default();
        let moments = || (0..10 * SPANS_MAX as u64).map(|place| Time(2 * place));
        moments().for_each(|time| gaps.note(time));
        assert_eq!(gaps.spans().len(), SPANS_MAX);
        for time in moments() {
            assert_eq!(gaps.last_in(&(time..time.later(1))), Some(time));
        }
        let last = 20 * SPANS_MAX as u64;
        assert_eq!(gaps.last_in(&(Time(last - 1)..Time(last))), None);
    }
}
