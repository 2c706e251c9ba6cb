//! What the tests share: ids, windows in few words, and a driver that keeps every seal at once.

use std::collections::{BTreeMap, BTreeSet};

use query::standing::{Bounds, Extent, Origin, Report, When};
use rdf::{Tag, VertexId};
use store::GraphScope;
use store::delta::IdQuad;
use stream::{
    Content, Definition, Effect, Evaluation, Items, PartId, Schedule, ScheduledWindow, StreamId,
    Streams,
};

pub const HERE: PartId = PartId(0);

pub fn id(number: u64) -> VertexId {
    VertexId::new(Tag::Iri, number)
}

pub fn quad(subject: u64, predicate: u64, object: u64) -> IdQuad {
    let graph = GraphScope::DEFAULT_GRAPH;
    (id(subject), id(predicate), id(object), graph)
}

/// A stream of this grain (milliseconds).
pub fn grained(name: &str, grain_ms: u64) -> Definition {
    Definition {
        grain_ms,
        ..Definition::new(name)
    }
}

pub fn range(stream: StreamId, range_ms: u64, step_ms: u64, bounds: Bounds) -> ScheduledWindow {
    ScheduledWindow {
        stream,
        extent: Extent::Time {
            range_ms,
            step_ms,
            origin: Origin::Epoch { offset_ms: 0 },
        },
        bounds,
        partial_first: false,
    }
}

pub const CLOSE: Report = Report {
    when: When::Close,
    nonempty: false,
    rows: false,
};

pub const NONEMPTY: Report = Report {
    nonempty: true,
    ..CLOSE
};

pub fn schedule(windows: &[ScheduledWindow], report: Report) -> Schedule {
    Schedule {
        windows: windows.to_vec(),
        report,
        every_ms: None,
        lateness_ms: 0,
        asks_arrivals: false,
        sees_stored: false,
        revise_ms: None,
    }
}

/// One item of one quad for each time, numbered in their order.
pub fn at(times: &[u64]) -> Items {
    let quads = (0..).zip(times);
    Items::singles(quads.map(|(number, &time)| (stream::Time(time), quad(number, 0, number))))
}

/// Takes all effects, keeps every seal, and gives the evaluations.
pub fn drain(streams: &mut Streams) -> Vec<Evaluation> {
    let mut ready = Vec::new();
    while let Some(effect) = streams.poll() {
        match effect {
            Effect::Ready(evaluation) => ready.push(evaluation),
            Effect::Sealed(seal) => streams.sealed(HERE, seal.stream, seal.until).unwrap(),
            Effect::Late(late) => streams.revealed(&late).unwrap(),
        }
    }
    ready
}

/// The closes of evaluations.
pub fn closes(ready: &[Evaluation]) -> Vec<u64> {
    ready.iter().map(|evaluation| evaluation.close.0).collect()
}

/// The quads that are in a window.
pub fn quads_of(content: &Content) -> BTreeSet<IdQuad> {
    let slices = content.slices.iter();
    slices.flat_map(|slice| slice.quads()).collect()
}

/// When each quad of a window came last (milliseconds), and how often.
pub fn arrivals_of(content: &Content) -> BTreeMap<IdQuad, (u64, u32)> {
    let mut sums: BTreeMap<IdQuad, (u64, u32)> = BTreeMap::new();
    for (quad, arrival) in content.slices.iter().flat_map(|slice| slice.arrivals()) {
        let sum = sums.entry(quad).or_default();
        *sum = (sum.0.max(arrival.latest_ms), sum.1 + arrival.count);
    }
    sums
}
