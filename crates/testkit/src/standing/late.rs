//! Items that come late, by definition.
//!
//! Items are pushed one by one, in the order of the case. An item is late if its time is before what its stream has
//! decided by then: the latest time before it, less the lateness, cut to batches (and one millisecond more where windows
//! `(o, c]` ask for the edge of a batch). A late item is in no window. What of it is stored is stored with the next
//! commit; and it is in its stream's side stream, at the moment that was decided when it came.
//!
//! So a case with late items is one without them: other items, items of side streams, and what is stored from some instant
//! on ([`settled`]). Nothing here knows of seals; whether a batch is decided is worked out from all items before.

use super::{Item, PlainStream, ReportPace, StandingCase};
use crate::random::Random;
use oxrdf::Quad;
use query::standing::Bounds;

/// What is stored of a late item, and from which instant on a question sees it (milliseconds).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LateQuad {
    /// The first instant whose commit comes after it.
    pub from_ms: u64,
    /// As it is stored.
    pub quad: Quad,
}

/// A case of which some items wait, perhaps longer than their stream does.
pub fn shuffled(case: &StandingCase, random: &mut Random) -> StandingCase {
    let mut case = case.clone();
    for _ in 0..random.between(1, 6) {
        if case.items.is_empty() {
            break;
        }
        let from = random.below(case.items.len());
        let item = case.items.remove(from);
        let to = from + random.below(case.items.len() + 1 - from);
        case.items.insert(to, item);
    }
    case
}

/// The same, and some windows are of side streams.
pub fn delayed(case: &StandingCase, random: &mut Random) -> StandingCase {
    let mut case = shuffled(case, random);
    for window in &mut case.question.windows {
        if case.question.is_merged || !random.chance(30) {
            continue;
        }
        let main = window.stream;
        let is_it = |stream: &PlainStream| stream.side_of == Some(main);
        let known = case.streams.iter().position(is_it);
        window.stream = known.unwrap_or_else(|| {
            case.streams.push(side_of(&case.streams[main], main));
            case.streams.len() - 1
        });
    }
    case
}

/// The side stream of a stream.
fn side_of(stream: &PlainStream, main: usize) -> PlainStream {
    PlainStream {
        iri: oxrdf::NamedNode::new_unchecked(format!("{}/late", stream.iri.as_str())),
        begin_ms: stream.begin_ms / stream.grain_ms * stream.grain_ms,
        absorbed: super::Absorbed::Nothing,
        lateness_ms: 0,
        side_of: Some(main),
        ..stream.clone()
    }
}

/// The same case without late items: what they leave is in side streams and in what is stored.
pub fn settled(case: &StandingCase) -> StandingCase {
    let mut latest: Vec<u64> = case.streams.iter().map(|stream| stream.begin_ms).collect();
    let mut items = Vec::new();
    let mut late = Vec::new();
    for item in &case.items {
        let decided = decided_ms(case, item.stream, latest[item.stream]);
        if item.time_ms >= decided {
            latest[item.stream] = latest[item.stream].max(item.time_ms);
            items.push(item.clone());
            continue;
        }
        let from_ms = next_commit_ms(case, &latest);
        let stream = &case.streams[item.stream];
        let stored = item.quads.iter().filter_map(|quad| stream.absorbs(quad));
        late.extend(stored.map(|quad| LateQuad { from_ms, quad }));
        let is_side = |stream: &PlainStream| stream.side_of == Some(item.stream);
        if let Some(side) = case.streams.iter().position(is_side) {
            items.push(Item {
                stream: side,
                time_ms: decided,
                quads: item.quads.clone(),
            });
        }
    }
    StandingCase {
        items,
        late,
        ..case.clone()
    }
}

/// Up to when a stream is decided whose latest time so far is this (milliseconds).
fn decided_ms(case: &StandingCase, stream: usize, latest_ms: u64) -> u64 {
    let plain = &case.streams[stream];
    let begin = plain.begin_ms / plain.grain_ms * plain.grain_ms;
    let passed = latest_ms.saturating_sub(plain.lateness_ms);
    let whole = passed / plain.grain_ms * plain.grain_ms;
    let has_edge = case.question.bounds == Bounds::RightClosed
        && case.question.pace != ReportPace::Change
        && case.question.windows.iter().any(|it| it.stream == stream);
    begin.max(whole + u64::from(has_edge && passed > whole))
}

/// The first instant that is not covered by now in all streams of the question.
fn next_commit_ms(case: &StandingCase, latest: &[u64]) -> u64 {
    let windows = case.question.windows.iter();
    let mains = windows.map(|it| {
        (
            it.stream,
            case.streams[it.stream].side_of.unwrap_or(it.stream),
        )
    });
    let uncovered = mains.map(|(stream, main)| {
        let decided = decided_ms(case, main, latest[main]);
        let grain = case.streams[stream].grain_ms;
        // The first whole batch that ends behind what is decided.
        (decided / grain + 1) * grain
    });
    uncovered.min().unwrap_or(u64::MAX)
}
