//! Random cases: streams, items that arrive out of order, stored data that shares terms with them, and a question over
//! the whole algebra with most of its groups in windows.
//!
//! Biased to where engines go wrong: items on the exact boundaries of batches and windows, several at one time, triples
//! that come again, silences longer than a window, ranges and steps that are no multiples of the batch or of one
//! another, windows over one stream twice, streams that are stored and streams that are not.
//! Invariant: the same numbers give the same case. Left out: blank nodes, whose scope is the item's; `DESCRIBE`; and
//! differences of answers with sums, which depend on the order of floating additions.

use super::{
    Absorbed, Item, PlainExtent, PlainOrigin, PlainStream, PlainWindow, Question, ReportPace,
    StandingCase, window_iri,
};
use crate::naive::expression::TIMESTAMP;
use crate::random::Random;
use crate::random_graph::{Shape, iri, random_dataset};
use crate::random_query::{QueryParts, Vocabulary, random_wide_parts};
use oxrdf::{Dataset, GraphName, NamedNode, Quad, Triple};
use query::standing::{Bounds, Difference, Relation};
use std::collections::BTreeSet;

/// Items of a stream at most.
const ITEMS_MAX: usize = 24;
/// The time that items are spread over, in batches.
const BATCHES: usize = 24;

/// A random case that some dialect can say, and until when it is looked at (milliseconds): a while after its last item.
pub fn random_standing(random: &mut Random) -> (StandingCase, u64) {
    loop {
        let (case, until_ms) = drawn(random);
        let is_told_apart = !asks_graphs_of_windows(&case.question.body);
        if is_told_apart && !case.question.texts(&case.streams).is_empty() {
            return (case, until_ms);
        }
    }
}

/// Whether a `GRAPH` of the stored data stands within a window. To an engine it is then a graph of the window, and to
/// SPARQL one of the dataset, so the two are not the same question.
fn asks_graphs_of_windows(body: &str) -> bool {
    let mut rest = body;
    // For each brace that is open, whether a window is around.
    let mut within = vec![false];
    let mut opens = false;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '"' => string_end(rest),
            '<' => rest.find(['>', ' ']).map_or(rest.len(), |end| end + 1),
            _ => first.len_utf8(),
        };
        let is_within = within.last().copied().unwrap_or_default();
        match first {
            'G' if rest.starts_with("GRAPH <urn:window:") => opens = true,
            'G' if rest.starts_with("GRAPH ") && is_within => return true,
            '{' => within.push(is_within || std::mem::take(&mut opens)),
            '}' => {
                within.pop();
            }
            _ => {}
        }
        rest = &rest[end..];
    }
    false
}

/// Where a string ends that a text begins with.
fn string_end(text: &str) -> usize {
    let mut is_escaped = true;
    for (at, sign) in text.char_indices() {
        match sign {
            '"' if !is_escaped => return at + 1,
            '\\' if !is_escaped => is_escaped = true,
            _ => is_escaped = false,
        }
    }
    text.len()
}

fn drawn(random: &mut Random) -> (StandingCase, u64) {
    let shape = Shape {
        blanks: 0,
        ..Shape::small(random)
    };
    let mut pool: Vec<Quad> = random_dataset(&shape, random)
        .iter()
        .map(oxrdf::QuadRef::into_owned)
        .collect();
    pool.sort_by_cached_key(ToString::to_string);
    let stored: Dataset = pool.iter().filter(|_| random.chance(55)).collect();
    let begin_ms = *random.pick(&[0, 0, 10_000, 1_447_758_448_000]);
    let mut streams = streams(&pool, begin_ms, random);
    let windows = windows(&streams, random);
    for (place, stream) in streams.iter_mut().enumerate() {
        // How far other streams are stored when an answer is made is nobody's promise.
        if !windows.iter().any(|window| window.stream == place) {
            stream.absorbed = Absorbed::Nothing;
        }
    }
    let times = Times {
        begin_ms,
        marks_ms: marks(&streams, &windows),
        end_ms: begin_ms + streams[0].grain_ms * BATCHES as u64,
    };
    let mut arrivals = Vec::new();
    for (stream, plain) in streams.iter().enumerate() {
        arrivals.push(items(stream, plain, &pool, &times, random));
    }
    let items = interleaved(arrivals, random);
    let question = question(&stored, &streams, &items, windows, &times, random);
    let case = StandingCase {
        late: Vec::new(),
        stored,
        streams,
        items,
        question,
    };
    let until_ms = times.end_ms + times.marks_ms.last().copied().unwrap_or(0).min(2_000);
    (case, until_ms)
}

/// Where in time things happen.
#[expect(clippy::struct_field_names, reason = "names end in their unit")]
struct Times {
    begin_ms: u64,
    /// Batches, ranges and steps: multiples of these are boundaries.
    marks_ms: Vec<u64>,
    end_ms: u64,
}

impl Times {
    /// A time of an item, after the beginning; in many cases a boundary.
    fn random(&self, random: &mut Random) -> u64 {
        let time = self.begin_ms + 1 + random.bits() % (self.end_ms - self.begin_ms);
        let mark = *random.pick(&self.marks_ms);
        let boundary = time / mark * mark;
        if boundary > self.begin_ms && random.chance(45) {
            boundary
        } else {
            time
        }
    }
}

fn streams(pool: &[Quad], begin_ms: u64, random: &mut Random) -> Vec<PlainStream> {
    let grain = *random.pick(&[50, 100, 100, 250, 1_000]);
    let count = *random.pick(&[1, 1, 2, 2, 3]);
    let stream = |place: usize| PlainStream {
        iri: iri(&format!("stream{place}")),
        begin_ms,
        grain_ms: if random.chance(75) { grain } else { grain * 2 },
        lateness_ms: *random.pick(&[0, 0, grain / 2, grain, grain * 3]),
        absorbed: match random.below(3) {
            0 => Absorbed::All,
            1 => Absorbed::Nothing,
            _ => {
                let some = pool.iter().filter(|_| random.chance(30));
                let predicates: BTreeSet<NamedNode> =
                    some.map(|quad| quad.predicate.clone()).collect();
                Absorbed::Only(predicates.into_iter().collect())
            }
        },
        side_of: None,
        into: if random.chance(75) {
            GraphName::DefaultGraph
        } else {
            iri("absorbed").into()
        },
    };
    (0..count).map(stream).collect()
}

fn windows(streams: &[PlainStream], random: &mut Random) -> Vec<PlainWindow> {
    let grain = streams[0].grain_ms;
    let step_ms = grain * random.between(1, 5) as u64;
    let count = *random.pick(&[1, 1, 2, 2, 3]);
    let window = |_| PlainWindow {
        stream: random.below(streams.len()),
        extent: extent(grain, step_ms, random),
    };
    (0..count).map(window).collect()
}

/// What a window holds: mostly time, mostly in steps that its question's other windows have, too.
fn extent(grain: u64, step_ms: u64, random: &mut Random) -> PlainExtent {
    let step_ms = match random.below(10) {
        0..7 => step_ms,
        7 | 8 => grain * random.between(1, 5) as u64,
        _ => grain / 2 + random.below(100) as u64 + 1,
    };
    let range_ms = match random.below(10) {
        0..3 => step_ms,
        3..8 => step_ms * random.between(2, 5) as u64,
        8 => grain * random.between(1, 9) as u64,
        _ => step_ms + random.below(150) as u64 + 1,
    };
    match random.below(20) {
        0 | 1 => {
            let items = random.between(1, 6);
            let step = *random.pick(&[1, items, random.clone().between(1, 4)]);
            PlainExtent::Count { items, step }
        }
        2 => PlainExtent::Past {
            from_ms: range_ms + step_ms,
            to_ms: step_ms,
            step_ms,
        },
        3 => PlainExtent::Now,
        4 => PlainExtent::All,
        5 => PlainExtent::Sliding { range_ms },
        _ => PlainExtent::Time { range_ms, step_ms },
    }
}

fn marks(streams: &[PlainStream], windows: &[PlainWindow]) -> Vec<u64> {
    let mut marks: Vec<u64> = streams.iter().map(|stream| stream.grain_ms).collect();
    for window in windows {
        match window.extent {
            PlainExtent::Time { range_ms, step_ms } => marks.extend([range_ms, step_ms]),
            PlainExtent::Past {
                from_ms,
                to_ms,
                step_ms,
            } => marks.extend([from_ms, to_ms, step_ms]),
            PlainExtent::Sliding { range_ms } => marks.push(range_ms),
            PlainExtent::Count { .. } | PlainExtent::Now | PlainExtent::All => {}
        }
    }
    marks.sort_unstable();
    marks
}

/// The items of a stream in an order of arrival that its lateness allows.
fn items(
    stream: usize,
    plain: &PlainStream,
    pool: &[Quad],
    times: &Times,
    random: &mut Random,
) -> Vec<Item> {
    let mut at: Vec<u64> = (0..random.between(0, ITEMS_MAX))
        .map(|_| times.random(random))
        .collect();
    if let Some(&time) = at.first() {
        at.extend((0..random.below(3)).map(|_| time));
    }
    let silence = times.random(random);
    at.retain(|time| {
        !(silence..silence + plain.grain_ms * 5).contains(time) || time % plain.grain_ms == 0
    });
    at.sort_unstable();
    // Each item waits for less than the lateness; who has waited longest goes first.
    let mut waiting: Vec<(u64, u64)> = at
        .into_iter()
        .map(|time| (time + random.bits() % (plain.lateness_ms / 2 + 1), time))
        .collect();
    waiting.sort_by_key(|(arrival, _)| *arrival);
    let item = |(_, time_ms): (u64, u64)| Item {
        stream,
        time_ms,
        quads: (0..*random.pick(&[1, 1, 1, 2, 3]))
            .map(|_| arriving(pool, random))
            .collect(),
    };
    waiting.into_iter().map(item).collect()
}

/// A quad of the pool, mostly without its graph.
fn arriving(pool: &[Quad], random: &mut Random) -> Quad {
    let quad = random.pick(pool).clone();
    if random.chance(10) {
        return quad;
    }
    Triple::from(quad).in_graph(GraphName::DefaultGraph)
}

/// The arrivals of all streams in one order that keeps each stream's: by time, more or less.
fn interleaved(arrivals: Vec<Vec<Item>>, random: &mut Random) -> Vec<Item> {
    let mut left: Vec<std::collections::VecDeque<Item>> =
        arrivals.into_iter().map(Into::into).collect();
    let mut all = Vec::new();
    loop {
        let fronts = left.iter().enumerate();
        let earliest = fronts
            .filter_map(|(stream, items)| Some((items.front()?.time_ms, stream)))
            .min();
        let Some((_, stream)) = earliest else {
            return all;
        };
        let chosen = random.below(left.len());
        let stream = if random.chance(15) && !left[chosen].is_empty() {
            chosen
        } else {
            stream
        };
        all.extend(left[stream].pop_front());
    }
}

/// A question that looks into a window, or at all of them merged.
fn question(
    stored: &Dataset,
    streams: &[PlainStream],
    items: &[Item],
    windows: Vec<PlainWindow>,
    times: &Times,
    random: &mut Random,
) -> Question {
    let is_timed = |window: &PlainWindow| matches!(window.extent, PlainExtent::Time { .. });
    let is_merged = windows.iter().all(is_timed) && random.chance(20);
    let pace = pace(&windows, streams[0].grain_ms, random);
    let relation = *random.pick(&[
        Relation::Rows,
        Relation::Rows,
        Relation::Insertions,
        Relation::Deletions,
    ]);
    let vocabulary = vocabulary(stored, streams, items, &windows, is_merged);
    let asks_times = random.chance(20);
    let parts = if asks_times {
        timed(&windows, is_merged, relation, times, random)
    } else {
        parts(&vocabulary, relation, is_merged, random)
    };
    let step = times.marks_ms[0];
    Question {
        registered_ms: if random.chance(75) {
            times.begin_ms
        } else {
            times.random(random)
        },
        prologue: String::new(),
        head: parts.head,
        from: parts.from,
        from_named: parts.from_named,
        body: parts.body,
        windows,
        is_merged,
        bounds: *random.pick(&[Bounds::LeftClosed, Bounds::RightClosed]),
        origin: match random.below(10) {
            0..2 => PlainOrigin::Epoch(random.bits() % step),
            2..4 if is_merged => PlainOrigin::FirstItem,
            _ => PlainOrigin::Epoch(0),
        },
        partial_first: random.chance(40),
        pace,
        nonempty: random.chance(50),
        rows: random.chance(25),
        relation,
        difference: *random.pick(&[Difference::Multiset, Difference::Multiset, Difference::Set]),
        is_multiset: random.chance(25),
        is_compat: asks_times && random.chance(25),
    }
}

/// A question about the times of triples, in each place where an expression may stand.
fn timed(
    windows: &[PlainWindow],
    is_merged: bool,
    relation: Relation,
    times: &Times,
    random: &mut Random,
) -> QueryParts {
    let mut within = |pattern: &str| {
        if is_merged {
            return format!("{pattern} .");
        }
        let window = window_iri(random.below(windows.len()));
        format!("GRAPH {window} {{ {pattern} }}")
    };
    let [one, other] = [within("?s ?p ?o"), within("?s ?q ?v")];
    let (time, next) = (
        format!("<{TIMESTAMP}>(?s, ?p, ?o)"),
        format!("<{TIMESTAMP}>(?s, ?q, ?v)"),
    );
    let moment = times.random(random);
    let (head, body) = match random.below(9) {
        0 => (
            "SELECT ?s ?p ?o ?t",
            format!("{{ {one} BIND({time} AS ?t) }}"),
        ),
        1 => (
            "SELECT ?s ?o",
            format!("{{ {one} FILTER({time} >= {moment}) }}"),
        ),
        2 => (
            "SELECT *",
            format!("{{ {one} {other} FILTER({time} < {next}) }}"),
        ),
        3 => (
            "SELECT ?s (MAX(?t) AS ?m)",
            format!("{{ {one} BIND({time} AS ?t) }} GROUP BY ?s"),
        ),
        4 if relation == Relation::Rows => (
            "SELECT ?s ?p ?o",
            format!("{{ {one} }} ORDER BY DESC({time}) ?s LIMIT 3"),
        ),
        5 => (
            "SELECT ?s (COUNT(*) AS ?n)",
            format!("{{ {one} }} GROUP BY ?s HAVING(MIN({time}) >= {moment})"),
        ),
        6 => (
            "CONSTRUCT { ?s <urn:came> ?t }",
            format!("{{ {one} BIND({time} AS ?t) }}"),
        ),
        7 => (
            "SELECT ?s ?p ?o ?v",
            format!("{{ {one} OPTIONAL {{ {other} FILTER({time} = {next}) }} }}"),
        ),
        // What is stored has no time unless it came, too.
        _ => (
            "SELECT ?s ?q ?v ?t",
            format!("{{ ?s ?q ?v . FILTER EXISTS {{ {one} }} BIND({next} AS ?t) }}"),
        ),
    };
    QueryParts {
        head: head.to_owned(),
        from: Vec::new(),
        from_named: Vec::new(),
        body,
    }
}

/// A pace at which each window has a content.
fn pace(windows: &[PlainWindow], grain: u64, random: &mut Random) -> ReportPace {
    let has =
        |wanted: fn(&PlainExtent) -> bool| windows.iter().any(|window| wanted(&window.extent));
    if has(|extent| matches!(extent, PlainExtent::Past { .. })) {
        return ReportPace::Close;
    }
    let closes =
        has(|extent| matches!(extent, PlainExtent::Time { .. } | PlainExtent::Count { .. }));
    let slides = has(|extent| matches!(extent, PlainExtent::Sliding { .. }));
    match random.below(10) {
        0..6 if closes && !slides => ReportPace::Close,
        6 | 7 if !slides => ReportPace::Periodic(grain * random.between(1, 7) as u64),
        _ => ReportPace::Change,
    }
}

/// What there is to ask about: all that is or may once be stored, and of each window all that its stream brings.
fn vocabulary(
    stored: &Dataset,
    streams: &[PlainStream],
    items: &[Item],
    windows: &[PlainWindow],
    is_merged: bool,
) -> Vocabulary {
    let mut all = stored.clone();
    let mut names = Vec::new();
    for item in items {
        all.extend(
            item.quads
                .iter()
                .filter_map(|quad| streams[item.stream].absorbs(quad)),
        );
        for (place, window) in windows.iter().enumerate() {
            let graph = if is_merged {
                GraphName::DefaultGraph
            } else {
                window_iri(place).into()
            };
            let of_window = item.quads.iter().filter(|_| window.stream == item.stream);
            all.extend(of_window.map(|quad| Triple::from(quad.clone()).in_graph(graph.clone())));
        }
    }
    if all.is_empty() {
        all.insert(&Triple::new(iri("v0"), iri("p0"), iri("v1")).in_graph(GraphName::DefaultGraph));
    }
    if !is_merged {
        names = (0..windows.len()).map(window_iri).collect();
    }
    Vocabulary::of(&all).with_windows(names)
}

/// A query that can stand, drawn until there is one.
fn parts(
    vocabulary: &Vocabulary,
    relation: Relation,
    is_merged: bool,
    random: &mut Random,
) -> QueryParts {
    loop {
        let parts = random_wide_parts(vocabulary, random);
        let text = parts.text();
        let has_rows = !text.starts_with("ASK") && !text.starts_with("DESCRIBE");
        let is_related = has_rows
            && !["SUM(", "AVG(", "LIMIT", "OFFSET"]
                .iter()
                .any(|word| text.contains(word));
        let is_fit = if relation == Relation::Rows {
            !text.starts_with("DESCRIBE")
        } else {
            is_related
        };
        let is_placed = if is_merged {
            !text.contains("GRAPH") && parts.from_named.is_empty()
        } else {
            parts.body.contains(super::WINDOW_PREFIX)
        };
        if is_fit && is_placed {
            return parts;
        }
    }
}
