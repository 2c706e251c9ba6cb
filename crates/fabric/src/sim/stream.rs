//! A stream of bytes over datagrams that are lost, doubled and late: what TCP is to a real fabric, as small as it can be.
//!
//! Bytes are cut into segments, each is sent again until it is acknowledged, and what arrives is put into order. Each side
//! draws a *cookie*; segments carry the other's, so that late datagrams of an earlier stream, or of an earlier life, open
//! nothing (TCP's initial sequence numbers do that). Invariant: what one side takes out is a prefix of what the other put in.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Bytes of a segment, at most.
const SEGMENT_BYTES: usize = 32 << 10;

/// Bytes that are on their way and not acknowledged, at most.
const WINDOW_BYTES: usize = 256 << 10;

/// When a segment is sent again, for the first time and at the longest.
const RESEND_MIN: Duration = Duration::from_millis(20);
/// The same once something of what was lost has come.
const RESEND_SOON: Duration = Duration::from_millis(1);
const RESEND_MAX: Duration = Duration::from_millis(400);

/// How many segments are sent again at once.
const RESEND_SEGMENTS: usize = 4;

/// What one side sends to the other.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    /// The sender's cookie, and the receiver's; zero where the sender does not know it yet.
    pub(crate) from_cookie: u64,
    pub(crate) to_cookie: u64,
    /// Where `bytes` stand in the stream.
    pub(crate) position: u64,
    pub(crate) bytes: Vec<u8>,
    /// Up to where the sender has what the receiver sent.
    pub(crate) acknowledged: u64,
    /// Where the stream ends, once that is known.
    pub(crate) end: Option<u64>,
}

/// One side of a stream.
pub(crate) struct Stream {
    cookie: u64,
    other_cookie: u64,
    /// Sent and not acknowledged, each segment at its position.
    unacknowledged: VecDeque<(u64, Vec<u8>)>,
    unacknowledged_bytes: usize,
    /// Not sent yet: less than a segment.
    pending: Vec<u8>,
    sent_to: u64,
    received_to: u64,
    early: BTreeMap<u64, Vec<u8>>,
    resend_at: Duration,
    resend_after: Duration,
    must_acknowledge: bool,
    is_finished: bool,
    other_end: Option<u64>,
}

impl Stream {
    /// The side that opens it, or one that is opened by a segment with that cookie.
    pub(crate) fn new(cookie: u64, other_cookie: u64) -> Stream {
        Stream {
            cookie,
            other_cookie,
            unacknowledged: VecDeque::new(),
            unacknowledged_bytes: 0,
            pending: Vec::new(),
            sent_to: 0,
            received_to: 0,
            early: BTreeMap::new(),
            resend_at: Duration::MAX,
            resend_after: RESEND_MIN,
            must_acknowledge: false,
            is_finished: false,
            other_end: None,
        }
    }

    /// Whether more may be written.
    pub(crate) fn has_room(&self) -> bool {
        self.unacknowledged_bytes + self.pending.len() < WINDOW_BYTES
    }

    /// Whether all that was written has arrived.
    pub(crate) fn is_flushed(&self) -> bool {
        self.unacknowledged.is_empty() && self.pending.is_empty()
    }

    /// Nothing is written any more. The other side is told.
    pub(crate) fn finish(&mut self) {
        self.is_finished = true;
        self.must_acknowledge = true;
    }

    /// Whether the other side has finished, and all that it wrote has come.
    pub(crate) fn has_ended(&self) -> bool {
        self.other_end == Some(self.received_to)
    }

    /// Appends bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    /// What is to be sent now.
    pub(crate) fn output(&mut self, now: Duration) -> Vec<Segment> {
        let mut segments = Vec::new();
        if now >= self.resend_at {
            let again = self.unacknowledged.iter().take(RESEND_SEGMENTS);
            let again = again
                .map(|(position, bytes)| (*position, bytes.clone()))
                .collect::<Vec<_>>();
            segments.extend(
                again
                    .into_iter()
                    .map(|(position, bytes)| self.segment(position, bytes)),
            );
            self.resend_after = (self.resend_after * 2).min(RESEND_MAX);
            self.resend_at = now + self.resend_after;
        }
        let pending = std::mem::take(&mut self.pending);
        for bytes in pending.chunks(SEGMENT_BYTES) {
            let position = self.sent_to;
            self.sent_to += bytes.len() as u64;
            if self.unacknowledged.is_empty() {
                self.resend_at = now + self.resend_after;
            }
            self.unacknowledged.push_back((position, bytes.to_vec()));
            self.unacknowledged_bytes += bytes.len();
            segments.push(self.segment(position, bytes.to_vec()));
        }
        if segments.is_empty() && self.must_acknowledge {
            segments.push(self.segment(self.sent_to, Vec::new()));
        }
        self.must_acknowledge = false;
        segments
    }

    /// When [`output`](Stream::output) has something to send again.
    pub(crate) fn resend_at(&self) -> Option<Duration> {
        (!self.unacknowledged.is_empty()).then_some(self.resend_at)
    }

    fn segment(&self, position: u64, bytes: Vec<u8>) -> Segment {
        Segment {
            from_cookie: self.cookie,
            to_cookie: self.other_cookie,
            position,
            bytes,
            acknowledged: self.received_to,
            end: self.is_finished.then_some(self.sent_to),
        }
    }

    /// Takes a segment and gives the bytes that are in order now. `None` for one that is not of this stream.
    pub(crate) fn receive(&mut self, segment: Segment, now: Duration) -> Option<Vec<u8>> {
        let is_first = segment.to_cookie == 0 && segment.position == 0;
        let is_to_this = segment.to_cookie == self.cookie || is_first;
        let is_from_other = self.other_cookie == 0 || self.other_cookie == segment.from_cookie;
        if !is_to_this || !is_from_other {
            return None;
        }
        self.other_cookie = segment.from_cookie;
        self.other_end = self.other_end.or(segment.end);
        self.acknowledge(segment.acknowledged, now);
        if !segment.bytes.is_empty() {
            self.must_acknowledge = true;
            if segment.position >= self.received_to {
                self.early.insert(segment.position, segment.bytes);
            }
        }
        let mut bytes = Vec::new();
        while let Some(next) = self.early.remove(&self.received_to) {
            self.received_to += next.len() as u64;
            bytes.extend_from_slice(&next);
        }
        Some(bytes)
    }

    /// The other side has everything up to here.
    fn acknowledge(&mut self, up_to: u64, now: Duration) {
        let before = self.unacknowledged.len();
        while let Some((position, bytes)) = self.unacknowledged.front()
            && position + bytes.len() as u64 <= up_to
        {
            self.unacknowledged_bytes -= bytes.len();
            self.unacknowledged.pop_front();
        }
        if self.unacknowledged.len() < before {
            self.resend_after = RESEND_MIN;
            // What stands behind what was lost is lost, too, mostly: one acknowledgement asks for the next at once, or a
            // backlog of small segments would be made good in steps of that time long after the weather is calm.
            self.resend_at = if self.unacknowledged.is_empty() {
                now + RESEND_MIN
            } else {
                now + RESEND_SOON
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::random::Random;

    #[test]
    fn what_arrives_is_what_was_written_whatever_happens_on_the_way() {
        for seed in 0..200 {
            let mut random = Random::new(seed);
            let mut sides = [Stream::new(7, 0), Stream::new(9, 7)];
            let written: Vec<u8> = (0..200_000).map(|_| random.bits() as u8).collect();
            let mut at = 0;
            let mut arrived = Vec::new();
            let mut on_the_way: Vec<(usize, Segment)> = Vec::new();
            let mut now = Duration::ZERO;
            while arrived.len() < written.len() {
                now += Duration::from_millis(5);
                while sides[0].has_room() && at < written.len() {
                    let end = (at + 1 + random.below(9000) as usize).min(written.len());
                    sides[0].write(&written[at..end]);
                    at = end;
                }
                for side in [0, 1] {
                    for segment in sides[side].output(now) {
                        for _ in 0..random.below(3) {
                            on_the_way.push((1 - side, segment.clone()));
                        }
                    }
                }
                for _ in 0..random.below(8) {
                    if on_the_way.is_empty() {
                        break;
                    }
                    let which = random.below(on_the_way.len() as u64) as usize;
                    let (to, segment) = on_the_way.swap_remove(which);
                    // Before it knows the other's cookie, a side gets no more across than its first segment.
                    let bytes = sides[to].receive(segment, now).unwrap_or_default();
                    arrived.extend(bytes.into_iter().filter(|_| to == 1));
                }
            }
            assert!(arrived == written, "seed {seed}");
        }
    }

    #[test]
    fn segments_of_another_stream_are_not_taken() {
        let mut opener = Stream::new(7, 0);
        opener.write(b"old");
        let old = opener.output(Duration::ZERO).remove(0);
        let mut listener = Stream::new(9, 8);
        assert!(listener.receive(old.clone(), Duration::ZERO).is_none());
        let later = Segment {
            to_cookie: 5,
            from_cookie: 8,
            ..old
        };
        assert!(listener.receive(later, Duration::ZERO).is_none());
    }
}
