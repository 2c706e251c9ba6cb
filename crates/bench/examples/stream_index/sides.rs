//! The sides that are compared: a window of slices, and three stores with a time beside every neighbour.

use crate::data::{BATCH_MS, Data, Item};
use bench::stats::Latencies;
use bench::timed::growing::GrowingSegment;
use bench::timed::{ListOrder, Stamp, TimeWindow, TimedEdge, TimedSegment};
use rdf::{Direction, VertexId};
use std::hint::black_box;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;
use store::delta::IdQuad;
use store::{GraphScope, GraphView, ListCursor, Lists, SegmentKey, Slice, Window};

/// Windows of more batches are made of panes; of how many batches one is. As in the crate `stream`.
const SINGLE_MAX: u32 = 16;
const PANE_BATCHES: u32 = 8;
/// Batches whose costs are measured (count).
const BATCHES: u32 = 9;

/// A predicate and a direction.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The number of its segment.
    pub number: usize,
    pub predicate: u64,
    pub direction: Direction,
}

/// Who answers what is asked of windows.
pub trait Side {
    fn name(&self) -> &'static str;

    /// Appends the neighbours of a key in the window over a stream, distinct and ascending.
    fn list(&mut self, place: Place, stream: u8, key: u64, out: &mut Vec<u64>);

    /// Appends the neighbours of keys, each with the place of its key.
    fn lists(&mut self, place: Place, stream: u8, keys: &[u64], out: &mut Vec<(u32, u64)>);

    /// Appends the keys in the window over a stream, distinct and ascending.
    fn keys(&mut self, place: Place, stream: u8, out: &mut Vec<u64>);

    /// Appends predicate and object of all that a subject has in the window over a stream.
    fn all(&mut self, stream: u8, subject: u64, out: &mut Vec<(u64, u64)>);
}

/// Windows of slices, one for each stream.
pub struct Sliced {
    name: &'static str,
    windows: Vec<Window>,
    singles: Vec<Arc<Slice>>,
    numbers: Vec<u32>,
    neighbours: Vec<VertexId>,
}

fn quads<'i>(items: impl Iterator<Item = &'i Item>) -> Vec<IdQuad> {
    let id = VertexId::from_bits;
    let quads = items.map(|item| {
        let [subject, predicate, object] = item.triple;
        (
            id(subject),
            id(predicate),
            id(object),
            GraphScope::DEFAULT_GRAPH,
        )
    });
    quads.collect()
}

impl Sliced {
    /// Windows of these times (milliseconds).
    pub fn new(data: &Data, times: Range<u32>) -> Sliced {
        Sliced::with(data, times, &[])
    }

    /// The same with items beside those of the data.
    fn with(data: &Data, times: Range<u32>, more: &[Item]) -> Sliced {
        let batches = times.start / BATCH_MS..times.end / BATCH_MS;
        let mut all = Vec::new();
        let windows = (1..=5).map(|stream| {
            let singles = batches.clone().map(|batch| {
                let (from, until) = (batch * BATCH_MS, (batch + 1) * BATCH_MS);
                let own = more
                    .iter()
                    .filter(|item| item.stream == stream && (from..until).contains(&item.time_ms));
                Arc::new(Slice::of(&quads(
                    data.between(stream, from, until).chain(own),
                )))
            });
            let singles: Vec<Arc<Slice>> = singles.collect();
            all.extend(singles.iter().cloned());
            Window::new(panes(batches.start, &singles))
        });
        let windows = windows.collect();
        Sliced {
            name: "slices",
            windows,
            singles: all,
            numbers: Vec::new(),
            neighbours: Vec::new(),
        }
    }

    /// The same windows, each of one slice that has been united of all.
    pub fn united(&self) -> Sliced {
        let windows = self.windows.iter().map(|window| {
            let parts: Vec<&Slice> = window.slices().iter().map(AsRef::as_ref).collect();
            Window::new(vec![Arc::new(Slice::union(&parts))])
        });
        Sliced {
            name: "united",
            windows: windows.collect(),
            singles: Vec::new(),
            numbers: Vec::new(),
            neighbours: Vec::new(),
        }
    }

    /// What single batches take, and their triples.
    pub fn bytes_and_triples(&self) -> (u64, u64) {
        let bytes = self.singles.iter().map(|slice| slice.bytes()).sum();
        let triples = self.singles.iter().map(|slice| slice.edges(Direction::Out));
        (bytes, triples.sum())
    }

    fn segment(&self, place: Place, stream: u8) -> Option<(usize, SegmentKey)> {
        let number = usize::from(stream) - 1;
        let predicate = self.windows[number].predicate_id(VertexId::from_bits(place.predicate))?;
        let direction = place.direction;
        Some((
            number,
            SegmentKey {
                predicate,
                direction,
            },
        ))
    }

    /// Fills the columns.
    fn ask(&mut self, window: usize, segment: SegmentKey, keys: &[VertexId]) {
        self.numbers.clear();
        self.neighbours.clear();
        let mut lists = Lists::new();
        let window = &self.windows[window];
        let asked = window.lists(segment, keys, GraphScope::Default, &mut lists);
        let _ = asked.expect("a window in memory answers");
        expand(&lists, &mut self.numbers, &mut self.neighbours);
    }
}

/// Slices of batches that follow one another, as the engine makes windows of them: aligned panes where there are many.
fn panes(first: u32, singles: &[Arc<Slice>]) -> Vec<Arc<Slice>> {
    if singles.len() as u32 <= SINGLE_MAX {
        return singles.to_vec();
    }
    let (mut slices, mut at) = (Vec::new(), 0);
    while at < singles.len() {
        let left = singles.len() - at;
        let aligned = 1
            << (first + at as u32)
                .trailing_zeros()
                .min(PANE_BATCHES.ilog2());
        let fitting = 1 << left.ilog2();
        let length = usize::min(aligned, fitting);
        let parts: Vec<&Slice> = singles[at..at + length].iter().map(AsRef::as_ref).collect();
        slices.push(Arc::new(Slice::union(&parts)));
        at += length;
    }
    slices
}

impl Side for Sliced {
    fn name(&self) -> &'static str {
        self.name
    }

    fn list(&mut self, place: Place, stream: u8, key: u64, out: &mut Vec<u64>) {
        if let Some((window, segment)) = self.segment(place, stream) {
            self.ask(window, segment, &[VertexId::from_bits(key)]);
            out.extend(self.neighbours.iter().map(|it| it.bits()));
        }
    }

    fn lists(&mut self, place: Place, stream: u8, keys: &[u64], out: &mut Vec<(u32, u64)>) {
        if let Some((window, segment)) = self.segment(place, stream) {
            let keys: Vec<VertexId> = keys.iter().copied().map(VertexId::from_bits).collect();
            self.ask(window, segment, &keys);
            let neighbours = self.neighbours.iter().map(|it| it.bits());
            out.extend(self.numbers.iter().copied().zip(neighbours));
        }
    }

    fn keys(&mut self, place: Place, stream: u8, out: &mut Vec<u64>) {
        if let Some((window, segment)) = self.segment(place, stream) {
            let keys = self.windows[window].keys(segment);
            let keys = keys.expect("a window in memory answers");
            self.neighbours.clear();
            let decoded = keys.decode(0, keys.len(), &mut self.neighbours);
            decoded.expect("a window in memory answers");
            out.extend(self.neighbours.iter().map(|it| it.bits()));
        }
    }

    fn all(&mut self, stream: u8, subject: u64, out: &mut Vec<(u64, u64)>) {
        let (mut predicates, mut ends) = (Vec::new(), Vec::new());
        let number = usize::from(stream) - 1;
        let subject = [VertexId::from_bits(subject)];
        let window = &self.windows[number];
        let asked = window.predicates_of(Direction::Out, &subject, &mut predicates, &mut ends);
        let _ = asked.expect("a window in memory answers");
        for predicate in predicates {
            let direction = Direction::Out;
            self.ask(
                number,
                SegmentKey {
                    predicate,
                    direction,
                },
                &subject,
            );
            let vertex = self.windows[number].predicate_vertex(predicate).bits();
            out.extend(self.neighbours.iter().map(|it| (vertex, it.bits())));
        }
    }
}

/// What a store with times answers with.
pub trait Stamped {
    fn list(&self, key: u64, window: TimeWindow, out: &mut Vec<u64>);
    fn keys(&self, window: TimeWindow, out: &mut Vec<u64>);
}

impl Stamped for TimedSegment {
    fn list(&self, key: u64, window: TimeWindow, out: &mut Vec<u64>) {
        TimedSegment::list(self, key, window, out);
    }

    fn keys(&self, window: TimeWindow, out: &mut Vec<u64>) {
        TimedSegment::keys(self, window, out);
    }
}

impl Stamped for GrowingSegment {
    fn list(&self, key: u64, window: TimeWindow, out: &mut Vec<u64>) {
        GrowingSegment::list(self, key, window, out);
    }

    fn keys(&self, window: TimeWindow, out: &mut Vec<u64>) {
        GrowingSegment::keys(self, window, out);
    }
}

/// The segments of a store, two for each predicate: out, in.
pub struct Segments<S> {
    all: Vec<S>,
    /// By stream: the predicates of the streams, which the store is told.
    vocabulary: Vec<Vec<(u64, usize)>>,
}

/// A store with times, asked for a window through the seam's lists, as slices are.
pub struct Timed<'g, S> {
    name: &'static str,
    segments: &'g Segments<S>,
    times: Range<u32>,
    list: Vec<u64>,
    numbers: Vec<u32>,
    neighbours: Vec<VertexId>,
}

impl<'g, S: Stamped> Timed<'g, S> {
    pub fn new(name: &'static str, segments: &'g Segments<S>, times: Range<u32>) -> Self {
        Timed {
            name,
            segments,
            times,
            list: Vec::new(),
            numbers: Vec::new(),
            neighbours: Vec::new(),
        }
    }

    /// Fills the columns.
    fn ask(&mut self, segment: usize, stream: u8, keys: &[u64]) {
        self.numbers.clear();
        self.neighbours.clear();
        let window = TimeWindow::new(stream, self.times.clone());
        let segment = &self.segments.all[segment];
        let mut lists = Lists::new();
        lists.refill_owned(true, |owned| {
            for &key in keys {
                let begin = owned.neighbours.len();
                self.list.clear();
                segment.list(key, window, &mut self.list);
                let ids = self.list.iter().copied().map(VertexId::from_bits);
                owned.neighbours.extend(ids);
                owned.push_from(begin);
            }
        });
        expand(&lists, &mut self.numbers, &mut self.neighbours);
    }
}

fn expand(lists: &Lists<'_>, numbers: &mut Vec<u32>, neighbours: &mut Vec<VertexId>) {
    let mut cursor = ListCursor::default();
    let expanded = lists.expand(&mut cursor, usize::MAX, numbers, neighbours, None);
    expanded.expect("lists in memory are given");
}

impl<S: Stamped> Side for Timed<'_, S> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn list(&mut self, place: Place, stream: u8, key: u64, out: &mut Vec<u64>) {
        self.ask(place.number, stream, &[key]);
        out.extend(self.neighbours.iter().map(|it| it.bits()));
    }

    fn lists(&mut self, place: Place, stream: u8, keys: &[u64], out: &mut Vec<(u32, u64)>) {
        self.ask(place.number, stream, keys);
        let neighbours = self.neighbours.iter().map(|it| it.bits());
        out.extend(self.numbers.iter().copied().zip(neighbours));
    }

    fn keys(&mut self, place: Place, stream: u8, out: &mut Vec<u64>) {
        let window = TimeWindow::new(stream, self.times.clone());
        self.segments.all[place.number].keys(window, out);
    }

    fn all(&mut self, stream: u8, subject: u64, out: &mut Vec<(u64, u64)>) {
        let segments = self.segments;
        for &(predicate, number) in &segments.vocabulary[usize::from(stream)] {
            self.ask(2 * number, stream, &[subject]);
            out.extend(self.neighbours.iter().map(|it| (predicate, it.bits())));
        }
    }
}

/// The stores with times, and what is stored, without times.
pub struct Graph {
    predicates: Vec<u64>,
    pub stored: Vec<TimedSegment>,
    pub scanned: Segments<TimedSegment>,
    pub searched: Segments<TimedSegment>,
    pub growing: Segments<GrowingSegment>,
}

/// What a batch costs (microseconds).
pub struct Costs {
    pub batches: u32,
    pub rows: usize,
    pub slices_us: f64,
    pub uniting_us: f64,
    pub growing_us: f64,
    pub merging_us: f64,
    pub dropping_us: f64,
    pub forgetting_us: f64,
}

impl Graph {
    pub fn of(data: &Data) -> Graph {
        let predicates = data.predicates.clone();
        let edges = edges_by_segment(data, 0..data.end_ms());
        let of = |order| {
            edges
                .iter()
                .map(move |edges| TimedSegment::of(edges.clone(), order))
        };
        let stored = edges.iter().map(|edges| {
            let is_stored = |edge: &&TimedEdge| edge.stamp == Stamp::STORED;
            let edges = edges.iter().filter(is_stored).copied().collect();
            TimedSegment::of(edges, ListOrder::ByNeighbour)
        });
        let mut vocabulary = vec![Vec::new(); 6];
        for (number, predicate) in predicates.iter().enumerate() {
            for stream in 1..=5 {
                let end = data.end_ms();
                let mut items = data.between(stream, end - 10_000, end);
                if items.any(|item| item.triple[1] == *predicate) {
                    vocabulary[usize::from(stream)].push((*predicate, number));
                }
            }
        }
        let segments = |all| Segments {
            all,
            vocabulary: vocabulary.clone(),
        };
        let stored = stored.collect();
        let scanned = segments(of(ListOrder::ByNeighbour).collect());
        let searched = segments(of(ListOrder::ByTime).collect());
        let growing = edges.into_iter().map(grown).collect();
        let growing = Segments {
            all: growing,
            vocabulary,
        };
        Graph {
            predicates,
            stored,
            scanned,
            searched,
            growing,
        }
    }

    pub fn place(&self, predicate: u64, direction: Direction) -> Place {
        let number = self.predicates.binary_search(&predicate);
        let number = number.expect("the data have this predicate");
        let number = 2 * number + direction as usize;
        Place {
            number,
            predicate,
            direction,
        }
    }

    pub fn rows(&self) -> usize {
        self.scanned.all.iter().map(TimedSegment::rows_count).sum()
    }

    /// Bytes a row: scanned, searched, growing.
    pub fn bytes_a_row(&self) -> [f64; 3] {
        let bytes = [
            self.scanned
                .all
                .iter()
                .map(TimedSegment::bytes)
                .sum::<usize>(),
            self.searched.all.iter().map(TimedSegment::bytes).sum(),
            self.growing.all.iter().map(GrowingSegment::bytes).sum(),
        ];
        bytes.map(|bytes| bytes as f64 / self.rows() as f64)
    }

    /// What the last batches cost each side.
    pub fn costs(&self, data: &Data) -> Costs {
        let mut times: [Latencies; 6] = std::array::from_fn(|_| Latencies::new());
        // Vectors as they are while a store grows: a copy of theirs would have no room left.
        let before = data.end_ms() - BATCHES * BATCH_MS;
        let mut growing: Vec<GrowingSegment> = edges_by_segment(data, 0..before)
            .into_iter()
            .map(grown)
            .collect();
        let mut rows = 0;
        for batch in 0..BATCHES {
            let from = data.end_ms() - (BATCHES - batch) * BATCH_MS;
            let by_stream: Vec<Vec<IdQuad>> = (1..=5)
                .map(|stream| quads(data.between(stream, from, from + BATCH_MS)))
                .collect();
            let [slicing, uniting, pushing, merging, dropping, forgetting] = &mut times;
            let until = from + BATCH_MS;
            let sliced = Sliced::new(data, until - 1000..until);
            timed(uniting, || black_box(sliced.united()));
            let slices: Vec<Slice> = timed(slicing, || {
                by_stream.iter().map(|quads| Slice::of(quads)).collect()
            });
            timed(dropping, || drop(slices));
            let mut edges = edges_by_segment_of_streams(data, from..from + BATCH_MS);
            rows = edges.iter().map(Vec::len).sum();
            for edges in &mut edges {
                edges.sort_by_key(|edge| edge.stamp);
            }
            timed(pushing, || {
                for (segment, edges) in growing.iter_mut().zip(&edges) {
                    for edge in edges {
                        segment.push(*edge);
                    }
                }
            });
            if batch == 0 {
                timed(merging, || {
                    for (segment, edges) in self.searched.all.iter().zip(&edges) {
                        if !edges.is_empty() {
                            black_box(segment.merged(edges));
                        }
                    }
                });
                timed(forgetting, || {
                    for segment in &self.searched.all {
                        black_box(segment.forgetting(from));
                    }
                });
            }
        }
        let median = |times: &Latencies| times.median().unwrap_or_default().as_nanos() as f64 / 1e3;
        let us = times.each_ref().map(median);
        Costs {
            batches: BATCHES,
            rows,
            slices_us: us[0],
            uniting_us: us[1],
            growing_us: us[2],
            merging_us: us[3],
            dropping_us: us[4],
            forgetting_us: us[5],
        }
    }
}

fn timed<T>(times: &mut Latencies, run: impl FnOnce() -> T) -> T {
    let begun = Instant::now();
    let result = run();
    times.record(begun.elapsed());
    result
}

/// Edges, pushed in the order of their times.
fn grown(mut edges: Vec<TimedEdge>) -> GrowingSegment {
    edges.sort_by_key(|edge| edge.stamp);
    let mut growing = GrowingSegment::default();
    for edge in edges {
        growing.push(edge);
    }
    growing
}

/// The edges of stored data and streams, by segment.
fn edges_by_segment(data: &Data, times: Range<u32>) -> Vec<Vec<TimedEdge>> {
    let mut edges = edges_by_segment_of_streams(data, times);
    for triple in &data.stored {
        add(data, &mut edges, *triple, Stamp::STORED);
    }
    edges
}

fn edges_by_segment_of_streams(data: &Data, times: Range<u32>) -> Vec<Vec<TimedEdge>> {
    let mut edges = vec![Vec::new(); 2 * data.predicates.len()];
    for stream in 1..=5 {
        for item in data.between(stream, times.start, times.end) {
            add(
                data,
                &mut edges,
                item.triple,
                Stamp::new(stream, item.time_ms),
            );
        }
    }
    edges
}

fn add(data: &Data, edges: &mut [Vec<TimedEdge>], triple: [u64; 3], stamp: Stamp) {
    let [subject, predicate, object] = triple;
    let number = data.predicates.binary_search(&predicate);
    let number = number.expect("the data have their predicates");
    for (direction, key, neighbour) in [(0, subject, object), (1, object, subject)] {
        edges[2 * number + direction].push(TimedEdge {
            key,
            neighbour,
            stamp,
        });
    }
}

/// A user whose likes are many, beside all other likes.
pub struct Hub {
    pub vertex: u64,
    pub like: Place,
    items: Vec<Item>,
    stores: [Segments<TimedSegment>; 2],
    growing: Segments<GrowingSegment>,
}

impl Hub {
    /// With so many old likes, before the last second, and one in each batch of it.
    pub fn new(data: &Data, graph: &Graph, old: u32) -> Hub {
        let like = graph.place(data.predicate("like"), Direction::Out);
        let vertex = data.unused(0);
        let recent = data.end_ms() - 1000;
        let times =
            (0..old).map(|number| (u64::from(number) * u64::from(recent) / u64::from(old)) as u32);
        let times = times.chain((0..10).map(|batch| recent + batch * BATCH_MS));
        let items = times.zip(1..).map(|(time_ms, post)| Item {
            time_ms,
            stream: crate::data::POST_LIKES,
            triple: [vertex, like.predicate, data.unused(post)],
        });
        let items: Vec<Item> = items.collect();
        let more = items.iter().map(|item| TimedEdge {
            key: vertex,
            neighbour: item.triple[2],
            stamp: Stamp::new(item.stream, item.time_ms),
        });
        let more: Vec<TimedEdge> = more.collect();
        let all = [&graph.scanned, &graph.searched];
        let stores = all.map(|segments| only(segments.all[like.number].merged(&more)));
        let mut edges = graph.searched.all[like.number].edges();
        edges.extend(&more);
        let growing = grown(edges);
        let like = Place { number: 0, ..like };
        Hub {
            vertex,
            like,
            items,
            stores,
            growing: only(growing),
        }
    }

    pub fn sides(&self, data: &Data, times: Range<u32>) -> Vec<Box<dyn Side + '_>> {
        let [scanned, searched] = &self.stores;
        let sliced = Sliced::with(data, times.clone(), &self.items);
        let united = sliced.united();
        vec![
            Box::new(sliced),
            Box::new(united),
            Box::new(Timed::new("scanned", scanned, times.clone())),
            Box::new(Timed::new("searched", searched, times.clone())),
            Box::new(Timed::new("growing", &self.growing, times)),
        ]
    }
}

/// A store of one segment.
fn only<S>(segment: S) -> Segments<S> {
    Segments {
        all: vec![segment],
        vocabulary: Vec::new(),
    }
}
