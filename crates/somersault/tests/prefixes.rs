//! Seeded runs in virtual time: streams and queries come and go while items flow and others change the store, and every
//! snapshot that is made is compared with a set of quads that follows from its vector.
//!
//! Held of each run: a snapshot holds exactly what the snapshot before it held, and of each stream what it absorbs of the
//! items between the two vectors, or the effect of one update (requirement C-4); no vector goes back (C-3); what is timing
//! is in no snapshot, and what is timeless is there once (C-7); a query that comes while items flow reports every close
//! from then on, none left out, over exactly the items of its window, whoever else comes and goes (C-1, C-2, C-6). In the end
//! every snapshot that is kept is read again by its number and is as it was.

use oxrdf::{GraphName, NamedNode, Quad};
use somersault::load::{self, Source, Unwatched};
use somersault::{
    Database, Hub, HubStream, Options, Reported, SnapshotInfo, StandingReport, TimedQuads,
    UpdateRequest, read_standing,
};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::time::Duration;
use testkit::random::Random;
use testkit::seeds;

/// Steps of a run.
const STEPS: usize = 40;
/// Whoever brings items of a stream.
const SOURCES: [&str; 2] = ["a", "b"];
/// What streams absorb where they do not absorb all or nothing.
const TIMELESS: &str = "http://e/p0";

type Quads = BTreeSet<String>;

/// A stream, as a list of all that ever came.
struct Stream {
    settings: HubStream,
    begin_ms: u64,
    /// Each of its sources has promised this.
    promised_ms: [u64; 2],
    items: Vec<TimedQuads>,
    is_dropped: bool,
}

impl Stream {
    /// What the graph gets of the items of a span.
    fn absorbed(&self, from_ms: u64, until_ms: u64) -> impl Iterator<Item = String> {
        let items = self.items.iter();
        let items = items.filter(move |item| (from_ms..until_ms).contains(&item.time_ms));
        let is_stored = move |quad: &&Quad| match &self.settings.absorb {
            None => true,
            Some(predicates) => predicates.iter().any(|it| it == quad.predicate.as_str()),
        };
        let into = move |quad: &Quad| {
            let mut quad = quad.clone();
            if let (GraphName::DefaultGraph, Some(graph)) = (&quad.graph_name, &self.settings.into)
            {
                quad.graph_name = NamedNode::new_unchecked(graph).into();
            }
            quad.to_string()
        };
        items.flat_map(move |item| item.quads.iter().filter(is_stored).map(into))
    }

    /// How many distinct triples of [`TIMELESS`] a window `[open, close)` holds.
    fn held(&self, open_ms: u64, close_ms: u64) -> usize {
        let items = self.items.iter();
        let items = items.filter(|item| (open_ms..close_ms).contains(&item.time_ms));
        let quads = items.flat_map(|item| &item.quads);
        let quads = quads.filter(|it| it.predicate.as_str() == TIMELESS);
        let pairs = quads.map(|it| (&it.subject, &it.object));
        pairs.collect::<HashSet<_>>().len()
    }
}

/// A query that counts what its window holds.
struct Counting {
    stream: String,
    range_ms: u64,
    step_ms: u64,
    registered_ms: u64,
    is_dropped: bool,
    closes: Vec<u64>,
}

struct Run {
    random: Random,
    database: Database,
    hub: Hub,
    streams: BTreeMap<String, Stream>,
    queries: BTreeMap<String, Counting>,
    /// What every snapshot holds that was seen.
    seen: BTreeMap<u64, Quads>,
    /// The newest of them, and how far it holds streams.
    last: (u64, BTreeMap<String, u64>),
    counts: Counts,
}

#[derive(Default, Debug)]
struct Counts {
    snapshots: usize,
    absorbed: usize,
    pushed: usize,
    reports: usize,
    told: usize,
}

/// Those of one predicate may be in a named graph.
fn quad(random: &mut Random) -> Quad {
    let node = |name: &str, number| NamedNode::new_unchecked(format!("http://e/{name}{number}"));
    let predicate = random.below(3);
    Quad::new(
        node("s", random.below(5)),
        node("p", predicate),
        node("s", random.below(5)),
        if predicate == 2 && random.chance(50) {
            node("g", random.below(2)).into()
        } else {
            GraphName::DefaultGraph
        },
    )
}

fn content(database: &Database, number: u64) -> Quads {
    let graph = database.graph_at(number).expect("the snapshot is kept");
    let mut quads = Vec::new();
    let mut take = |quad: oxrdf::QuadRef<'_>| {
        quads.push(quad.to_string());
        Ok(())
    };
    somersault::dump::all(&graph, &mut take).expect("a graph in memory");
    let count = quads.len();
    let quads: Quads = quads.into_iter().collect();
    assert_eq!(quads.len(), count, "a quad is there once");
    assert_eq!(graph.quads as usize, count, "and is counted once");
    quads
}

fn vector(snapshot: &SnapshotInfo) -> BTreeMap<String, u64> {
    let points = snapshot.vector.iter().flat_map(|points| points.iter());
    points
        .map(|point| (point.stream.to_string(), point.covered_ms))
        .collect()
}

impl Run {
    fn new(seed: u64) -> Run {
        let mut random = Random::new(seed);
        let mut text = String::new();
        for _ in 0..random.below(8) {
            let _ = writeln!(text, "{} .", quad(&mut random));
        }
        let options = Options {
            memory_is_writable: true,
            keep_snapshots: Duration::from_hours(1),
            query_threads: 1,
            ..Options::default()
        };
        let source = Source::reader("stored.nq", text.as_bytes());
        let request = load::Request {
            threads: 1,
            ..load::Request::default()
        };
        let loaded = load::load_in_memory(vec![source], &request, &options, &Unwatched);
        let database = loaded.expect("it loads").0;
        let number = database.snapshot_number();
        let mut run = Run {
            hub: Hub::new(database.clone()),
            seen: [(number, content(&database, number))].into(),
            last: (number, BTreeMap::new()),
            database,
            random,
            streams: BTreeMap::new(),
            queries: BTreeMap::new(),
            counts: Counts::default(),
        };
        run.create();
        run
    }

    fn create(&mut self) {
        let random = &mut self.random;
        let name = format!("http://e/stream{}", self.streams.len());
        let settings = HubStream {
            grain_ms: *random.pick(&[10, 25, 100]),
            lateness_ms: *random.pick(&[0, 0, 30]),
            idle_ms: None,
            absorb: match random.below(3) {
                0 => None,
                1 => Some(Vec::new()),
                _ => Some(vec![TIMELESS.to_owned()]),
            },
            into: random.chance(50).then(|| "http://e/into".to_owned()),
            ..HubStream::new(&name)
        };
        let begin_ms = *random.pick(&[0, 100, 137]);
        self.hub.create(&settings, begin_ms).expect("it is made");
        for source in SOURCES {
            let told = self.hub.watermark(&name, source, begin_ms);
            told.expect("it is there");
        }
        let stream = Stream {
            settings,
            begin_ms,
            promised_ms: [begin_ms; 2],
            items: Vec::new(),
            is_dropped: false,
        };
        self.streams.insert(name, stream);
    }

    /// The name of a stream that is there.
    fn stream(&mut self) -> Option<String> {
        let there = self.streams.iter().filter(|(_, it)| !it.is_dropped);
        let names: Vec<&String> = there.map(|(name, _)| name).collect();
        (!names.is_empty()).then(|| (*self.random.pick(&names)).clone())
    }

    fn drop_stream(&mut self) {
        let Some(name) = self.stream() else { return };
        let is_read = |query: &Counting| query.stream == name && !query.is_dropped;
        let is_read = self.queries.values().any(is_read);
        assert_eq!(self.hub.drop_stream(&name).is_err(), is_read, "{name}");
        if !is_read {
            self.streams.get_mut(&name).expect("it is there").is_dropped = true;
        }
    }

    fn push(&mut self) {
        let Some(name) = self.stream() else { return };
        let (random, stream) = (&mut self.random, self.streams.get_mut(&name));
        let stream = stream.expect("it is there");
        let place = random.below(2);
        let source = SOURCES[place];
        let promised_ms = stream.promised_ms[place];
        let items = (0..random.below(5)).map(|_| TimedQuads {
            time_ms: promised_ms + random.below(120) as u64,
            quads: (0..=random.below(2)).map(|_| quad(random)).collect(),
        });
        let mut items: Vec<TimedQuads> = items.collect();
        items.sort_by_key(|item| item.time_ms);
        let accepted = self.hub.push(&name, source, None, &items, None);
        let accepted = accepted.expect("they are taken");
        assert!(accepted.late.is_empty(), "none is before what was promised");
        // What an item says for itself is a promise, too.
        let latest = items.iter().map(|item| item.time_ms).max().unwrap_or(0);
        let latest = latest.saturating_sub(stream.settings.lateness_ms);
        let promise = promised_ms.max(latest) + random.below(60) as u64;
        stream.items.extend(items);
        stream.promised_ms[place] = promise;
        self.hub
            .watermark(&name, source, promise)
            .expect("it is there");
    }

    fn register(&mut self) {
        let Some(stream) = self.stream() else { return };
        let random = &mut self.random;
        let (range_ms, step_ms) = (100 * random.between(1, 4), 100 * random.between(1, 2));
        let text = format!(
            "#@ bounds=lcro report=close partial_first=yes\n\
             SELECT (COUNT(*) AS ?n) FROM NAMED WINDOW <urn:w> ON <{stream}> \
             [RANGE PT0.{range_ms:03}S STEP PT0.{step_ms:03}S] WHERE {{ WINDOW <urn:w> {{ ?s <{TIMELESS}> ?o }} }}"
        );
        let query = read_standing(&self.database, &text).expect("it is a query");
        let registered_ms = self.hub.reached_ms(&query).expect("its stream is there");
        let name = format!("q{}", self.queries.len());
        self.hub
            .register(query, &name, registered_ms)
            .expect("it is registered");
        let counting = Counting {
            stream,
            range_ms: range_ms as u64,
            step_ms: step_ms as u64,
            registered_ms,
            is_dropped: false,
            closes: Vec::new(),
        };
        self.queries.insert(name, counting);
    }

    fn unregister(&mut self) {
        let there = self.queries.iter_mut().filter(|(_, it)| !it.is_dropped);
        let mut there: Vec<_> = there.collect();
        if there.is_empty() {
            return;
        }
        let place = self.random.below(there.len());
        let (name, query) = &mut there[place];
        self.hub.unregister(name).expect("it is there");
        query.is_dropped = true;
    }

    /// Somebody else changes the store; the snapshot that it makes is noted.
    fn update(&mut self) {
        self.look();
        let quad = quad(&mut self.random);
        let inserts = self.random.chance(50);
        let verb = if inserts { "INSERT" } else { "DELETE" };
        let triple = format!("{} {} {} .", quad.subject, quad.predicate, quad.object);
        let data = match &quad.graph_name {
            GraphName::NamedNode(graph) => format!("GRAPH {graph} {{ {triple} }}"),
            _ => triple,
        };
        let text = format!("{verb} DATA {{ {data} }}");
        let request = UpdateRequest {
            text: &text,
            ..UpdateRequest::default()
        };
        let mut quads = self.seen[&self.last.0].clone();
        let number = self.database.update(&request).expect("it is done").snapshot;
        if inserts {
            quads.insert(quad.to_string());
        } else {
            quads.remove(&quad.to_string());
        }
        let snapshot = self.database.snapshot(number).expect("it is the newest");
        assert_eq!(vector(&snapshot), self.last.1, "an update moves no stream");
        assert_eq!(content(&self.database, number), quads, "{text}");
        self.seen.insert(number, quads);
        self.last.0 = number;
    }

    fn advance(&mut self) {
        let mut reports = Vec::new();
        let advanced = self.hub.advance(&mut |Reported { report, .. }| {
            reports.push(report);
            Ok(ControlFlow::Continue(()))
        });
        assert!(advanced.expect("it goes on").is_continue());
        for report in reports {
            self.reported(&report);
        }
        self.look();
    }

    /// Compares what was made since the last look.
    fn look(&mut self) {
        let known = self.last.0;
        let snapshots = self.database.snapshots();
        for snapshot in snapshots.iter().filter(|it| it.number >= known) {
            self.compare(snapshot);
        }
    }

    /// Compares a snapshot that streams made, or the newest, whose vector may have moved, with what follows from the one before.
    fn compare(&mut self, snapshot: &SnapshotInfo) {
        let (before, number) = (self.last.0, snapshot.number);
        let mut quads = self.seen[&before].clone();
        let now = vector(snapshot);
        for (name, until_ms) in &now {
            let stream = &self.streams[name];
            // A stream that begins within a batch has come to the start of it.
            let from_ms = self.last.1.get(name).copied().unwrap_or(0);
            assert!(from_ms <= *until_ms, "{name} went back");
            let count = quads.len();
            quads.extend(stream.absorbed(from_ms, *until_ms));
            self.counts.absorbed += quads.len() - count;
        }
        let are_gone = self.last.1.keys().filter(|name| !now.contains_key(*name));
        for name in are_gone {
            assert!(self.streams[name].is_dropped, "{name} is forgotten");
        }
        let found = content(&self.database, number);
        assert_eq!(found, quads, "snapshot {number} after {before}: {now:?}");
        self.counts.snapshots += usize::from(number != before);
        self.seen.insert(number, quads);
        self.last = (number, now);
    }

    fn reported(&mut self, report: &StandingReport) {
        assert!(report.failure.is_none(), "{report:?}");
        let query = self.queries.get_mut(&report.query).expect("it is there");
        assert!(!query.is_dropped, "{report:?}");
        let stream = &self.streams[&query.stream];
        let close_ms = report.close_ms;
        let first = query.registered_ms.next_multiple_of(query.step_ms);
        let expected = query.closes.last().map(|last| last + query.step_ms);
        match expected {
            Some(expected) => assert_eq!(close_ms, expected, "{report:?}"),
            None => assert!(
                close_ms >= first
                    && close_ms <= first.max(stream.begin_ms) + query.range_ms + query.step_ms,
                "registered at {first}, begun at {}: {report:?}",
                stream.begin_ms
            ),
        }
        query.closes.push(close_ms);
        self.counts.reports += 1;
        let open_ms = close_ms.saturating_sub(query.range_ms);
        let whole = stream.held(open_ms, close_ms);
        let oxrdf::Term::Literal(count) = report.rows[0].0[0].clone().expect("a count") else {
            panic!("no number: {report:?}");
        };
        let told: usize = count.value().parse().expect("a number");
        let least = report
            .incomplete_before_ms
            .map_or(whole, |from_ms| stream.held(from_ms.max(open_ms), close_ms));
        assert!(
            (least..=whole).contains(&told),
            "{least} of {whole}: {report:?}"
        );
        self.counts.told += told;
    }

    fn step(&mut self) {
        match self.random.below(20) {
            0 if self.streams.len() < 6 => self.create(),
            1 => self.drop_stream(),
            2 | 3 => self.register(),
            4 => self.unregister(),
            5..8 => self.update(),
            _ => self.push(),
        }
        if self.random.chance(80) {
            self.advance();
        }
    }

    fn finish(mut self) -> Counts {
        self.advance();
        for (name, stream) in &self.streams {
            if stream.is_dropped {
                continue;
            }
            let covered_ms = self.hub.stream_info(name).expect("it is there").covered_ms;
            // What no source can add to any more, to the end of its batch, is seen.
            let promised = stream.promised_ms.into_iter().min().unwrap_or(0);
            let settled = promised.saturating_sub(stream.settings.lateness_ms);
            let whole = settled / stream.settings.grain_ms * stream.settings.grain_ms;
            assert!(covered_ms >= whole, "{name}: {covered_ms} of {settled}");
            let of_query = |query: &&Counting| query.stream == *name && !query.is_dropped;
            for query in self.queries.values().filter(of_query) {
                let last = query.closes.last().copied().unwrap_or(0);
                let first = query.registered_ms.max(stream.begin_ms) + query.range_ms;
                let is_due = covered_ms >= first + query.step_ms;
                assert!(
                    !is_due || last + query.step_ms > covered_ms,
                    "{name} is covered to {covered_ms}, and the last close is {last}"
                );
            }
        }
        for stream in self.streams.values() {
            let quads = stream.items.iter().flat_map(|item| &item.quads);
            self.counts.pushed += quads.count();
        }
        for snapshot in self.database.snapshots() {
            let found = content(&self.database, snapshot.number);
            assert_eq!(Some(&found), self.seen.get(&snapshot.number));
        }
        self.counts
    }
}

#[test]
fn every_snapshot_is_a_prefix_of_every_stream() {
    let mut sum = Counts::default();
    let seeds = seeds::chosen(300, 100_000);
    let is_sample = seeds.end - seeds.start >= 300;
    for seed in seeds {
        let ran = std::panic::catch_unwind(|| {
            let mut run = Run::new(seed);
            for _ in 0..STEPS {
                run.step();
            }
            run.finish()
        });
        let Ok(counts) = ran else {
            panic!("SOMERSAULT_SEED={seed}")
        };
        sum.snapshots += counts.snapshots;
        sum.absorbed += counts.absorbed;
        sum.pushed += counts.pushed;
        sum.reports += counts.reports;
        sum.told += counts.told;
    }
    eprintln!("{sum:?}");
    let is_telling = sum.snapshots > 1000
        && sum.absorbed > 1000
        && sum.pushed > sum.absorbed
        && sum.reports > 1000
        && sum.told > sum.reports;
    assert!(!is_sample || is_telling, "too little was made: {sum:?}");
}
