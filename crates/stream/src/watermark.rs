//! Watermarks: what the sources of a stream promise, and when one of them is not waited for any more.
//!
//! A source's watermark `W` promises that its later items have a time of at least `W` (and the stream's lateness
//! forgives as much as it says). An item is a promise, too: of its own time. The stream's watermark is the minimum of
//! its active sources. It never goes back: neither a source that promises less nor one that comes later can take a
//! promise back that was acted upon.
//!
//! A source that was silent for the stream's `idle_ms` is idle, and no minimum counts it until it speaks. When all are
//! idle, nobody is left to be waited for, and the stream's watermark is the latest of theirs, as in Flink
//! (`StatusWatermarkValve`). Silence is measured by the edge's clock, which is an argument.
//!
//! A source that nobody waits for may be forgotten ([`Watermarks::may_forget`]) where no watermark of the stream, now or
//! later, would be another one without it. If it comes again, it is a new source.
//!
//! Cost: O(log sources) a message. A tick costs O(log sources) for each source that it finds silent.

use std::collections::{BTreeMap, BTreeSet};

use crate::time::Time;

/// Who brings items to a stream. The number is the caller's, of one stream, and says nothing here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId(pub u64);

/// One source.
#[derive(Clone, Copy, Debug)]
struct Voice {
    /// Its watermark.
    promised: Time,
    /// When it last spoke, by the edge's clock.
    heard: Time,
    is_idle: bool,
}

/// How a source of a stream stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceStatus {
    /// Who it is.
    pub source: SourceId,
    /// Its watermark.
    pub promised: Time,
    /// Whether nobody waits for it, because it was silent for too long.
    pub is_idle: bool,
}

/// The sources of one stream.
#[derive(Clone, Debug)]
pub(crate) struct Watermarks {
    idle_ms: Option<u64>,
    /// When the stream was made, by the edge's clock: from then on it waits for its first source.
    made: Time,
    voices: BTreeMap<SourceId, Voice>,
    /// Active sources by their promises.
    promises: BTreeSet<(Time, SourceId)>,
    /// Active sources by when they were heard.
    silences: BTreeSet<(Time, SourceId)>,
    /// Idle sources by their promises.
    idles: BTreeSet<(Time, SourceId)>,
    watermark: Time,
    is_idle: bool,
}

impl Watermarks {
    /// Of a stream that begins at `begin` and has no source yet.
    pub(crate) fn new(idle_ms: Option<u64>, begin: Time, now: Time) -> Watermarks {
        Watermarks {
            idle_ms,
            made: now,
            voices: BTreeMap::new(),
            promises: BTreeSet::new(),
            silences: BTreeSet::new(),
            idles: BTreeSet::new(),
            watermark: begin,
            is_idle: false,
        }
    }

    /// The stream's watermark.
    pub(crate) fn watermark(&self) -> Time {
        self.watermark
    }

    /// Whether no source is active, and none was for long enough.
    pub(crate) fn is_idle(&self) -> bool {
        self.is_idle
    }

    /// Whether the stream waits for this source, or does not know it.
    pub(crate) fn waits_for(&self, source: SourceId) -> bool {
        let Some(voice) = self.voices.get(&source) else {
            return true;
        };
        voice.is_idle || voice.promised <= self.watermark
    }

    /// What each source promises, by its number.
    pub(crate) fn promises(&self) -> Vec<(SourceId, Time)> {
        let promised = self
            .voices
            .iter()
            .map(|(source, voice)| (*source, voice.promised));
        promised.collect()
    }

    /// How each source stands, by its number.
    pub(crate) fn sources(&self) -> impl ExactSizeIterator<Item = SourceStatus> {
        self.voices.iter().map(|(source, voice)| SourceStatus {
            source: *source,
            promised: voice.promised,
            is_idle: voice.is_idle,
        })
    }

    /// A source is there, before it speaks: from now on it is waited for.
    pub(crate) fn join(&mut self, source: SourceId, now: Time) {
        self.hear(source, Time(0), now);
    }

    /// A source promises this, or said it once and is still there.
    pub(crate) fn hear(&mut self, source: SourceId, promised: Time, now: Time) {
        let before = self.voices.get(&source).copied();
        if let Some(voice) = before {
            self.silence(source, voice);
        }
        let voice = Voice {
            promised: before.map_or(promised, |voice| voice.promised.max(promised)),
            heard: now,
            is_idle: false,
        };
        self.voices.insert(source, voice);
        self.promises.insert((voice.promised, source));
        self.silences.insert((now, source));
        self.settle(now);
    }

    /// A source is gone and promises nothing more.
    pub(crate) fn leave(&mut self, source: SourceId, now: Time) {
        if let Some(voice) = self.voices.remove(&source) {
            self.silence(source, voice);
            self.settle(now);
        }
    }

    /// Whether a source can be forgotten and no watermark is another one for that: nobody waits for it, and another source
    /// promises as much. With `by_arrival` the clock makes the watermark, so a source that is active holds nobody up either:
    /// it can be forgotten where another one promises as little.
    pub(crate) fn may_forget(&self, source: SourceId, by_arrival: bool) -> bool {
        let Some(voice) = self.voices.get(&source) else {
            return true;
        };
        let own = (voice.promised, source);
        let others = |it: &&(Time, SourceId)| **it != own;
        let latest = self.promises.iter().rev().find(others);
        let latest = latest.max(self.idles.iter().rev().find(others));
        if latest.is_none_or(|&(promised, _)| promised < voice.promised) {
            return false;
        }
        let least = self.promises.iter().find(others);
        voice.is_idle
            || (by_arrival && least.is_some_and(|&(promised, _)| promised <= voice.promised))
    }

    /// The edge's clock says this.
    pub(crate) fn tick(&mut self, now: Time) {
        let Some(idle_ms) = self.idle_ms else {
            return;
        };
        while let Some(&(heard, source)) = self.silences.first() {
            if heard.later(idle_ms) > now {
                break;
            }
            if let Some(mut voice) = self.voices.get(&source).copied() {
                self.silence(source, voice);
                voice.is_idle = true;
                self.idles.insert((voice.promised, source));
                self.voices.insert(source, voice);
            }
        }
        self.settle(now);
    }

    /// All that comes later has at least this time, whoever says so.
    pub(crate) fn advance(&mut self, watermark: Time) {
        self.watermark = self.watermark.max(watermark);
    }

    /// A source is counted no more as it was.
    fn silence(&mut self, source: SourceId, voice: Voice) {
        self.idles.remove(&(voice.promised, source));
        self.promises.remove(&(voice.promised, source));
        self.silences.remove(&(voice.heard, source));
    }

    fn settle(&mut self, now: Time) {
        let least = self.promises.first().map(|&(promised, _)| promised);
        let idle_since = |idle_ms| self.made.later(idle_ms) <= now;
        self.is_idle = least.is_none() && self.idle_ms.is_some_and(idle_since);
        // Where no source is active, all are idle.
        let latest = || self.idles.last().map(|&(promised, _)| promised);
        if let Some(watermark) = least.or_else(latest) {
            self.advance(watermark);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::random::Random;
    use testkit::seeds;

    const A: SourceId = SourceId(1);
    const B: SourceId = SourceId(2);

    #[test]
    fn the_slowest_source_decides_and_nothing_goes_back() {
        let mut marks = Watermarks::new(None, Time(50), Time(0));
        marks.hear(A, Time(10), Time(0));
        assert_eq!(marks.watermark(), Time(50), "the stream began later");
        marks.hear(A, Time(100), Time(0));
        assert_eq!(marks.watermark(), Time(100));
        marks.join(B, Time(0));
        marks.hear(A, Time(200), Time(0));
        assert_eq!(
            marks.watermark(),
            Time(100),
            "one joined that has said nothing"
        );
        marks.hear(B, Time(150), Time(0));
        marks.hear(B, Time(120), Time(0));
        assert_eq!(marks.watermark(), Time(150));
        assert!(marks.waits_for(B) && !marks.waits_for(A));
        marks.leave(B, Time(0));
        assert_eq!(marks.watermark(), Time(200));
        marks.tick(Time::MAX);
        assert!(!marks.is_idle(), "no source of it is ever idle");
    }

    #[test]
    fn a_silent_source_is_not_waited_for_until_it_speaks() {
        let mut marks = Watermarks::new(Some(10), Time(0), Time(0));
        marks.hear(B, Time(40), Time(0));
        marks.hear(A, Time(200), Time(9));
        marks.tick(Time(9));
        assert_eq!(marks.watermark(), Time(40));
        marks.tick(Time(10));
        assert_eq!(marks.watermark(), Time(200));
        let stand = |source, promised, is_idle| SourceStatus {
            source,
            promised: Time(promised),
            is_idle,
        };
        let sources: Vec<SourceStatus> = marks.sources().collect();
        assert_eq!(sources, [stand(A, 200, false), stand(B, 40, true)]);
        marks.hear(B, Time(60), Time(11));
        marks.hear(A, Time(300), Time(12));
        assert_eq!(marks.watermark(), Time(200), "it is back, and late");
        marks.hear(B, Time(250), Time(13));
        assert_eq!(marks.watermark(), Time(250));
        marks.tick(Time(30));
        assert_eq!((marks.watermark(), marks.is_idle()), (Time(300), true));
        marks.hear(A, Time(0), Time(31));
        assert!(!marks.is_idle(), "a heartbeat is enough");
    }

    #[test]
    fn a_stream_without_a_source_is_idle_after_a_while() {
        let mut marks = Watermarks::new(Some(10), Time(0), Time(5));
        marks.tick(Time(14));
        assert!(!marks.is_idle());
        marks.tick(Time(15));
        assert!(marks.is_idle());
        assert_eq!(marks.watermark(), Time(0));
    }

    /// Whoever forgets sources has the same watermarks as whoever does not, whatever the others say afterwards.
    #[test]
    fn what_may_be_forgotten_changes_no_watermark() {
        let mut forgotten = 0;
        for seed in seeds::chosen(400, 20_000) {
            let mut random = Random::new(seed);
            let by_arrival = random.chance(30);
            let idle_ms = (!by_arrival || random.chance(50)).then_some(20);
            let mut all = Watermarks::new(idle_ms, Time(0), Time(0));
            let mut fewer = all.clone();
            let mut gone = BTreeSet::new();
            let mut now = 0;
            for _ in 0..120 {
                now += random.below(8) as u64;
                let source = SourceId(random.below(8) as u64);
                let promised = if by_arrival {
                    0
                } else {
                    now + random.below(40) as u64
                };
                let is_there = !gone.contains(&source);
                if is_there {
                    all.hear(source, Time(promised), Time(now));
                    fewer.hear(source, Time(promised), Time(now));
                }
                for marks in [&mut all, &mut fewer] {
                    marks.tick(Time(now));
                    if by_arrival {
                        marks.advance(Time(now));
                    }
                }
                let other = SourceId(random.below(8) as u64);
                if random.chance(20)
                    && !gone.contains(&other)
                    && fewer.may_forget(other, by_arrival)
                {
                    forgotten += usize::from(fewer.voices.contains_key(&other));
                    fewer.leave(other, Time(now));
                    gone.insert(other);
                }
                // A stream that goes by the clock is never idle.
                let stands = |it: &Watermarks| (it.watermark(), !by_arrival && it.is_idle());
                assert_eq!(stands(&fewer), stands(&all), "seed {seed}");
            }
        }
        assert!(forgotten > 300, "{forgotten} were forgotten");
    }

    #[test]
    fn the_watermark_is_the_minimum_that_a_scan_finds() {
        for seed in seeds::chosen(200, 10_000) {
            let mut random = Random::new(seed);
            let mut marks = Watermarks::new(Some(20), Time(0), Time(0));
            let mut known: BTreeMap<SourceId, (u64, u64)> = BTreeMap::new();
            let (mut now, mut expected) = (0, 0);
            for _ in 0..100 {
                now += random.below(8) as u64;
                let source = SourceId(random.below(4) as u64);
                let promised = now + random.below(30) as u64;
                if random.chance(10) {
                    known.remove(&source);
                    marks.leave(source, Time(now));
                } else {
                    let before = known.get(&source).map_or(0, |voice| voice.0);
                    known.insert(source, (before.max(promised), now));
                    marks.hear(source, Time(promised), Time(now));
                }
                marks.tick(Time(now));
                let active = known.values().filter(|voice| voice.1 + 20 > now);
                let least = active.map(|voice| voice.0).min();
                let latest = known.values().map(|voice| voice.0).max();
                expected = expected.max(least.or(latest).unwrap_or(0));
                assert_eq!(marks.watermark(), Time(expected), "seed {seed}");
            }
        }
    }
}
