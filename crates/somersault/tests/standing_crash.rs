//! Power cuts under streams and standing queries.
//!
//! A run makes streams, registers queries, pushes items, changes the store beside them and makes checkpoints, on a simulated
//! disk that forgets what was not synced. It is repeated with the power cut at each sync that it makes. After the cut the
//! store is opened again, and whoever was not answered says again what it said: sources by the positions of their items.
//! Whatever happens: no acknowledged item is lost, none is there twice, and reports have the numbers and the bytes of a run
//! without a cut. Reports that were seen before the cut are the same afterwards.

mod clock;
mod full_disk;

use oxrdf::{GraphName, Literal, NamedNode, Quad, QuadRef, Term};
use somersault::{
    Binding, Bindings, Database, HubStream, Kind, Live, Options, Positions, QueryError, TimedQuads,
    UpdateRequest,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use store::disk::{SimDisk, SimFaults};
use testkit::random::Random;
use testkit::seeds;

const HOME: &str = "/disk/store";
/// Steps of a run behind its beginning.
const STEPS: usize = 24;
const STREAMS: [&str; 3] = ["urn:kept", "urn:passing", "urn:made"];

/// One thing that somebody does. Done twice it is as if it had been done once.
#[derive(Clone, Debug)]
enum Step {
    Stream(HubStream),
    Query(&'static str, String),
    /// A template, with these instances.
    Template(&'static str, String, &'static [usize]),
    Instance(&'static str, usize),
    DropInstance(&'static str, usize),
    Push {
        stream: &'static str,
        source: &'static str,
        first: u64,
        items: Vec<TimedQuads>,
    },
    Promise {
        stream: &'static str,
        source: &'static str,
        time_ms: u64,
    },
    Update(String),
    Checkpoint,
    Pause(&'static str),
    Resume(&'static str),
    Drop(&'static str),
}

fn node(name: &str, number: usize) -> NamedNode {
    NamedNode::new_unchecked(format!("urn:{name}{number}"))
}

fn item(random: &mut Random, time_ms: u64) -> TimedQuads {
    let quads = (0..=random.below(2)).map(|_| {
        let subject = node("s", random.below(4));
        let predicate = node("p", random.below(2));
        let object: Term = match random.below(3) {
            0 => Literal::from(random.below(5) as i64).into(),
            _ => node("s", random.below(4)).into(),
        };
        Quad::new(subject, predicate, object, GraphName::DefaultGraph)
    });
    TimedQuads {
        time_ms,
        quads: quads.collect(),
    }
}

fn beginning() -> Vec<Step> {
    let passing = HubStream {
        absorb: Some(Vec::new()),
        lateness_ms: 100,
        ..HubStream::new(STREAMS[1])
    };
    let window = "[RANGE 400ms STEP 200ms]";
    let kept = format!("FROM STREAM <urn:kept> {window}");
    let both = format!("{kept} FROM STREAM <urn:passing> {window}");
    let texts = [
        (
            "rows",
            format!("SELECT ?s ?o {kept} WHERE {{ GRAPH <urn:kept> {{ ?s <urn:p0> ?o }} }}"),
        ),
        (
            "inserted",
            format!(
                "#@ r2s=istream\nSELECT ?s ?o {both} WHERE {{ GRAPH <urn:passing> {{ ?s ?p ?o }} ?s <urn:p0> ?any }}"
            ),
        ),
        (
            "deleted",
            format!(
                "#@ r2s=dstream\nSELECT (COUNT(*) AS ?n) {kept} WHERE {{ GRAPH <urn:kept> {{ ?s ?p ?o }} }}"
            ),
        ),
        (
            "makes",
            format!(
                "REGISTER STREAM <urn:made> AS CONSTRUCT {{ ?s <urn:q> ?o }} {kept} WHERE {{ GRAPH <urn:kept> {{ ?s ?p ?o }} }}"
            ),
        ),
        (
            "made",
            format!(
                "SELECT ?s ?o FROM STREAM <urn:made> {window} WHERE {{ GRAPH <urn:made> {{ ?s <urn:q> ?o }} ?s <urn:p1> ?stored }}"
            ),
        ),
    ];
    let late = [
        (
            "revised",
            format!(
                "#@ late=revise lateness=300ms\nSELECT ?s ?o {kept} WHERE {{ GRAPH <urn:kept> {{ ?s ?p ?o }} }}"
            ),
        ),
        (
            "side",
            format!(
                "SELECT ?s ?o FROM STREAM <urn:kept/late> {window} WHERE {{ GRAPH <urn:kept/late> {{ ?s ?p ?o }} }}"
            ),
        ),
    ];
    let mut steps = vec![
        Step::Stream(HubStream::new(STREAMS[0])),
        Step::Stream(passing),
    ];
    let texts = texts.into_iter().chain(late);
    steps.extend(texts.map(|(name, text)| Step::Query(name, text)));
    let many = format!(
        "#@ report=close,rows r2s=istream\nSELECT ?o {kept} WHERE {{ GRAPH <urn:kept> {{ ?s <urn:p0> ?o }} }}"
    );
    steps.push(Step::Template("many", many, &[0, 2]));
    steps
}

fn script(seed: u64) -> Vec<Step> {
    let mut random = Random::new(seed);
    let mut steps = beginning();
    let mut times = [0_u64; 2];
    let mut next: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    while steps.len() < beginning().len() + STEPS {
        let place = random.below(2);
        let stream = STREAMS[place];
        let source = ["a", "b"][random.below(2)];
        times[place] += random.below(180) as u64;
        let time_ms = times[place];
        steps.push(match random.below(12) {
            0..=5 => {
                let items: Vec<TimedQuads> = (0..=random.below(3))
                    .map(|_| {
                        let most = if random.chance(15) { 400 } else { 90 };
                        let back = random.below(most) as u64;
                        item(&mut random, time_ms.saturating_sub(back))
                    })
                    .collect();
                let next = next.entry((stream, source)).or_default();
                let first = *next;
                *next += items.len() as u64;
                Step::Push {
                    stream,
                    source,
                    first,
                    items,
                }
            }
            6 | 7 => Step::Promise {
                stream,
                source,
                time_ms,
            },
            8 | 9 => Step::Update(format!(
                "INSERT DATA {{ <urn:s{}> <urn:p{}> {} }}",
                random.below(4),
                random.below(2),
                random.below(9)
            )),
            10 if random.chance(60) => Step::Checkpoint,
            10 if random.chance(50) => Step::Instance("many", random.below(4)),
            10 => Step::DropInstance("many", random.below(4)),
            _ if random.chance(50) => Step::Pause("rows"),
            _ => Step::Resume("rows"),
        });
    }
    for stream in &STREAMS[..2] {
        for source in ["a", "b"] {
            let time_ms = times[0].max(times[1]) + 2000;
            steps.push(Step::Promise {
                stream,
                source,
                time_ms,
            });
        }
    }
    steps
}

fn options() -> Options {
    Options {
        // A checkpoint is made where the script says so.
        checkpoint_log_bytes: u64::MAX / 32,
        ..Options::default()
    }
}

fn open(disk: &SimDisk) -> Result<(Database, Live), String> {
    open_with(disk, &options())
}

fn open_with(disk: &SimDisk, options: &Options) -> Result<(Database, Live), String> {
    let opened = Live::open_on(Arc::new(disk.clone()), Path::new(HOME), options);
    let database = opened.map_err(|error| error.to_string())?;
    let live = Live::new(database.clone());
    Ok((database, live))
}

/// Named instances, one for each of these vertices.
fn bindings<'b>(numbers: &[usize]) -> Bindings<'b> {
    let binding = |number: &usize| {
        Ok(Binding {
            name: Some(format!("of {number}")),
            terms: vec![node("s", *number).into()],
        })
    };
    let rows: Vec<_> = numbers.iter().map(binding).collect();
    Bindings {
        parameters: vec!["s".to_owned()],
        rows: Box::new(rows.into_iter()),
    }
}

/// Does a step; what was done already is done.
fn done(database: &Database, live: &Live, step: &Step) -> Result<(), QueryError> {
    let done = match step {
        Step::Stream(stream) => live.create(stream, Some(0)),
        Step::Query(name, text) => live.register(text, name).map(drop),
        Step::Template(name, text, instances) => live
            .register_table(text, name, bindings(instances))
            .map(drop),
        Step::Instance(name, number) => live.add_instances(name, bindings(&[*number])).map(drop),
        Step::DropInstance(name, number) => live
            .remove_instance(name, &format!("of {number}"))
            .or_else(|error| match error.kind {
                Kind::NotFound => Ok(()),
                _ => Err(error),
            }),
        Step::Push {
            stream,
            source,
            first,
            items,
        } => {
            let positions = Positions {
                first: *first,
                count: items.len() as u64,
                rejected: &[],
            };
            live.feed(stream, source, items, None, Some(positions))
                .map(drop)
        }
        Step::Promise {
            stream,
            source,
            time_ms,
        } => live.watermark(stream, source, *time_ms),
        Step::Update(text) => {
            let request = UpdateRequest {
                text,
                ..UpdateRequest::default()
            };
            database.update(&request).map(drop)
        }
        // It may fail; nothing is lost by it.
        Step::Checkpoint => {
            drop(database.compact());
            Ok(())
        }
        Step::Pause(name) => live.pause(name),
        Step::Resume(name) => live.resume(name),
        Step::Drop(name) => live.drop_stream(name),
    };
    match (done, step) {
        (Err(error), _) if error.kind == Kind::Conflict => Ok(()),
        // It is gone, or not there yet.
        (Err(error), Step::Drop(_) | Step::Push { .. } | Step::Promise { .. })
            if error.kind == Kind::NotFound =>
        {
            Ok(())
        }
        (done, _) => done,
    }
}

/// The reports of each query, and the stored triples.
type Outcome = (BTreeMap<String, Vec<(u64, String)>>, Vec<String>);

fn reports(live: &Live) -> BTreeMap<String, Vec<(u64, String)>> {
    let mut all = BTreeMap::new();
    for query in live.queries() {
        let read = live.reports(&query.name, 0, usize::MAX, Duration::ZERO);
        let entries = read.expect("it is registered").entries.into_iter();
        let entries = entries.map(|entry| (entry.number, sorted(&entry.line)));
        all.insert(query.name, entries.collect());
    }
    all
}

/// A report with its rows in one order: what is not ordered comes in that of ids, and those are others after a recovery.
fn sorted(line: &str) -> String {
    let mut report: serde_json::Value = serde_json::from_str(line).expect("a report is JSON");
    if let Some(rows) = report["results"]["bindings"].as_array_mut() {
        rows.sort_by_key(ToString::to_string);
    }
    report.to_string()
}

/// Where two runs differ first.
fn difference(found: &Outcome, expected: &Outcome) -> Option<String> {
    for (query, reports) in &expected.0 {
        let none = Vec::new();
        let others = found.0.get(query).unwrap_or(&none);
        let pairs = reports.iter().zip(others).find(|(one, other)| one != other);
        if let Some((one, other)) = pairs {
            return Some(format!("expected {one:?}\n   found {other:?}"));
        }
        if reports.len() != others.len() {
            let (one, other) = (reports.len(), others.len());
            return Some(format!("{query}: {other} reports for {one}"));
        }
    }
    (found != expected)
        .then(|| format!("stored: expected {:?}\n   found {:?}", expected.1, found.1))
}

fn outcome(database: &Database, live: &Live) -> Outcome {
    let mut triples: Vec<String> = Vec::new();
    let mut take = |quad: QuadRef<'_>| {
        triples.push(quad.to_string());
        Ok(())
    };
    somersault::dump::all(&database.graph(), &mut take).expect("a graph in memory");
    triples.sort();
    (reports(live), triples)
}

/// Runs a script on a disk from this step on, as far as it gets; gives the steps that were acknowledged, and what was
/// reported to those who looked.
fn run(disk: &SimDisk, steps: &[Step], from: usize) -> Result<(usize, Outcome), (usize, Outcome)> {
    let Ok((database, live)) = open(disk) else {
        return Err((from, Outcome::default()));
    };
    for (number, step) in steps.iter().enumerate().skip(from) {
        if done(&database, &live, step).is_err() {
            return Err((number, (reports(&live), Vec::new())));
        }
    }
    if disk.is_off() {
        // What the last step made possible was cut.
        return Err((steps.len(), (reports(&live), Vec::new())));
    }
    Ok((steps.len(), outcome(&database, &live)))
}

fn disk(seed: u64, faults: SimFaults) -> SimDisk {
    SimDisk::new(seed, Path::new("/disk"), faults)
}

/// An instance that comes between a report and a stop was not answered at that report: all that it finds next is new to it.
#[test]
fn instances_that_came_after_a_close_had_no_answer_at_it() {
    let text = "#@ report=close,rows r2s=istream\nSELECT ?o FROM STREAM <urn:kept> [RANGE 400ms STEP 200ms] \
                WHERE { GRAPH <urn:kept> { ?s <urn:p0> ?o } }";
    let push = |first: u64, time_ms: u64, object: usize| {
        let quads = [0, 3].map(|subject| {
            let (subject, object) = (node("s", subject), node("s", object));
            Quad::new(subject, node("p", 0), object, GraphName::DefaultGraph)
        });
        Step::Push {
            stream: STREAMS[0],
            source: "a",
            first,
            items: vec![TimedQuads {
                time_ms,
                quads: quads.to_vec(),
            }],
        }
    };
    let promise = |time_ms| Step::Promise {
        stream: STREAMS[0],
        source: "a",
        time_ms,
    };
    let before = [
        Step::Stream(HubStream::new(STREAMS[0])),
        Step::Template("many", text.to_owned(), &[0]),
        push(0, 250, 1),
        promise(400),
        Step::Instance("many", 3),
    ];
    let after = [push(1, 450, 2), promise(600)];
    let outcome = |restarts: bool| {
        let mut disk = disk(1, SimFaults::default());
        let (mut database, mut live) = open(&disk).expect("it opens");
        for step in &before {
            done(&database, &live, step).expect("it is done");
        }
        if restarts {
            drop((database, live));
            disk = disk.restart(SimFaults::default());
            (database, live) = open(&disk).expect("it opens again");
        }
        for step in &after {
            done(&database, &live, step).expect("it is done");
        }
        reports(&live).remove("many").expect("it is registered")
    };
    let expected = outcome(false);
    let of_three = expected.iter().filter(|(_, line)| line.contains("of 3"));
    let rows = of_three.map(|(_, line)| line.matches("urn:s").count());
    assert_eq!(rows.collect::<Vec<_>>(), [2], "{expected:?}");
    assert_eq!(outcome(true), expected);
}

/// One item of the first stream, of these vertices.
fn push_of(first: u64, time_ms: u64, subjects: std::ops::Range<usize>) -> Step {
    let quad = |number| {
        let (subject, object) = (node("s", number), node("s", 0));
        Quad::new(subject, node("p", 0), object, GraphName::DefaultGraph)
    };
    Step::Push {
        stream: STREAMS[0],
        source: "a",
        first,
        items: vec![TimedQuads {
            time_ms,
            quads: subjects.map(quad).collect(),
        }],
    }
}

fn promise_of(time_ms: u64) -> Step {
    Step::Promise {
        stream: STREAMS[0],
        source: "a",
        time_ms,
    }
}

/// The reports of a query that is asked first, with a stop between two parts of a run or without one.
fn told_with(text: &str, parts: [&[Step]; 2], has_stop: bool) -> Vec<(u64, String)> {
    let options = Options {
        query_memory_bytes: 4 << 20,
        ..options()
    };
    let mut disk = disk(1, SimFaults::default());
    let (mut database, mut live) = open_with(&disk, &options).expect("it opens");
    let beginning = [
        Step::Stream(HubStream::new(STREAMS[0])),
        Step::Query("asked", text.to_owned()),
    ];
    for step in beginning.iter().chain(parts[0]) {
        done(&database, &live, step).expect("it is done");
    }
    if has_stop {
        drop((database, live));
        disk = disk.restart(SimFaults::default());
        (database, live) = open_with(&disk, &options).expect("it opens again");
    }
    for step in parts[1] {
        done(&database, &live, step).expect("it is done");
    }
    reports(&live).remove("asked").expect("it is registered")
}

/// After a stop a report is compared with the last answer that was made: not with that of an evaluation that failed, nor of one
/// that was kept back because nothing came, and over the graph that it saw.
#[test]
fn differences_go_on_behind_a_stop_with_the_last_answer() {
    let window = "FROM STREAM <urn:kept> [RANGE 200ms STEP 200ms]";
    let failing = format!(
        "#@ r2s=istream\nSELECT ?s {window} WHERE {{ GRAPH <urn:kept> {{ ?s ?p ?o . ?a ?b ?c . ?d ?e ?f }} }}"
    );
    let fails = [
        push_of(0, 150, 0..2),
        promise_of(200),
        push_of(1, 350, 0..200),
        promise_of(400),
    ];
    let works = [push_of(2, 550, 0..2), promise_of(600)];
    let past = "#@ report=change,nonempty r2s=istream\nSELECT ?s \
                FROM NAMED WINDOW <urn:w> ON <urn:kept> [FROM NOW-PT2S TO NOW-PT1S STEP PT0.1S] \
                WHERE { WINDOW <urn:w> { ?s ?p ?o } }";
    let is_empty_last = [
        push_of(0, 150, 0..2),
        promise_of(200),
        push_of(1, 1650, 5..6),
        promise_of(1700),
        push_of(2, 5150, 0..2),
        promise_of(5200),
    ];
    let has_more = [push_of(3, 6650, 7..8), promise_of(6700)];
    let latest = format!(
        "#@ freshness=latest bounds=lorc r2s=istream\nSELECT ?s ?v {window} \
         WHERE {{ GRAPH <urn:kept> {{ ?s <urn:p0> ?o }} ?s <urn:p1> ?v }}"
    );
    let between = [
        push_of(0, 150, 1..2),
        promise_of(200),
        Step::Update("INSERT DATA { <urn:s1> <urn:p1> 7 }".to_owned()),
        promise_of(300),
    ];
    let again = [push_of(1, 350, 1..2), promise_of(400), promise_of(500)];
    let cases: [(&str, &str, [&[Step]; 2]); 3] = [
        ("failed", &failing, [&fails, &works]),
        ("empty", past, [&is_empty_last, &has_more]),
        ("latest", &latest, [&between, &again]),
    ];
    for (name, text, parts) in cases {
        let expected = told_with(text, parts, false);
        let last = expected.last().expect("there are reports");
        let has_rows = |line: &str| line.contains("urn:s");
        assert!(
            expected.iter().any(|(_, line)| has_rows(line)),
            "{name}: {expected:?}"
        );
        assert!(!has_rows(&last.1), "{name}: {expected:?}");
        assert_eq!(told_with(text, parts, true), expected, "{name}");
    }
}

/// What a query had for a stream and found no room there is missing after a stop, too, and consumers of the stream are told so.
#[test]
fn a_gap_of_a_stream_outlives_a_stop() {
    let made = HubStream {
        absorb: Some(Vec::new()),
        budget_bytes: 4 << 10,
        ..HubStream::new("urn:made")
    };
    let mut beginning = beginning();
    let before = [
        beginning.remove(0),
        Step::Stream(made),
        beginning.remove(5 - 1),
        beginning.remove(5 - 1),
        Step::Update("INSERT DATA { <urn:s1> <urn:p1> 1 }".to_owned()),
        push_of(0, 150, 0..1),
        promise_of(200),
        push_of(1, 350, 0..500),
        promise_of(400),
    ];
    let names = before.iter().filter_map(|step| match step {
        Step::Query(name, _) => Some(*name),
        _ => None,
    });
    assert_eq!(names.collect::<Vec<_>>(), ["makes", "made"]);
    for has_checkpoint in [false, true] {
        let mut disk = disk(1, SimFaults::default());
        let (mut database, mut live) = open(&disk).expect("it opens");
        for step in &before {
            done(&database, &live, step).expect("it is done");
        }
        let queries = live.queries();
        let makes = queries.iter().find(|query| query.output.is_some());
        assert_eq!(makes.expect("it writes").failures, 1);
        if has_checkpoint {
            database.compact().expect("a checkpoint");
        }
        drop((database, live));
        disk = disk.restart(SimFaults::default());
        (database, live) = open(&disk).expect("it opens again");
        done(&database, &live, &promise_of(1000)).expect("it is done");
        let told = reports(&live).remove("made").expect("it is registered");
        let missing: Vec<(u64, u64)> = told
            .iter()
            .filter_map(|(_, line)| {
                let report: serde_json::Value = serde_json::from_str(line).expect("JSON");
                let missing = report["window_incomplete"].as_u64()?;
                Some((report["close"].as_u64()?, missing))
            })
            .collect();
        // What was made at 400 and 600 is too large. The window has 400 ms.
        assert_eq!(
            missing,
            [(600, 401), (800, 601), (1000, 601)],
            "checkpoint: {has_checkpoint}: {told:?}"
        );
    }
}

#[test]
fn power_cuts_lose_nothing_and_change_no_report() {
    let seeds = seeds::chosen(3, 60);
    let is_sample = seeds.end - seeds.start > 1;
    let mut telling: BTreeSet<String> = BTreeSet::new();
    for seed in seeds {
        let steps = script(seed);
        let whole = disk(seed, SimFaults::default());
        let expected = match run(&whole, &steps, 0) {
            Ok((_, expected)) => expected,
            Err((step, _)) => panic!("seed {seed}: step {step} failed: {:?}", steps[step]),
        };
        let has_rows = |reports: &Vec<(u64, String)>| {
            let empty = r#""bindings":[]"#;
            reports.iter().any(|(_, line)| !line.contains(empty))
        };
        let told = expected.0.iter().filter(|(_, reports)| has_rows(reports));
        telling.extend(told.map(|(query, _)| query.clone()));
        // The cuts of a second one, too: a recovery must survive one.
        for sync in 1..=whole.syncs() {
            let mut disk = disk(
                seed * 1000 + sync,
                SimFaults {
                    power_cut_at_sync: Some(sync),
                    ..SimFaults::default()
                },
            );
            let (mut from, mut seen) = (0, Vec::new());
            for again in 0.. {
                match run(&disk, &steps, from) {
                    Ok((_, found)) => {
                        if let Some(what) = difference(&found, &expected) {
                            panic!("seed {seed}, cut at sync {sync}, again {again}: {what}");
                        }
                        break;
                    }
                    Err((step, (reported, _))) => {
                        seen.push(reported);
                        from = step;
                        let faults = SimFaults {
                            power_cut_at_sync: (again == 0).then_some(sync % 7 + 1),
                            ..SimFaults::default()
                        };
                        disk = disk.restart(faults);
                    }
                }
                assert!(again < 4, "seed {seed}, cut at sync {sync}: no end");
            }
            for (query, reports) in seen.iter().flatten() {
                let last = &expected.0[query];
                assert!(
                    reports.iter().all(|report| last.contains(report)),
                    "seed {seed}, cut at sync {sync}: a report of {query} was taken back"
                );
            }
        }
    } // All but `makes`, which is called by its stream.
    assert!(!is_sample || telling.len() >= 8, "{telling:?}");
}

/// What a registration or a resumption makes ready at once is told once, though no seal comes with it in the log.
#[test]
fn what_is_ready_when_it_is_registered_comes_once() {
    let mut disk = disk(1, SimFaults::default());
    let promise = |time_ms| Step::Promise {
        stream: STREAMS[0],
        source: "a",
        time_ms,
    };
    let rows = beginning().remove(2);
    let durable = || Step::Update("INSERT DATA { <urn:s> <urn:p> 1 }".to_owned());
    // Each moment is a close of the query. What promises nothing new seals nothing.
    let lives = [
        vec![
            Step::Stream(HubStream::new(STREAMS[0])),
            promise(1000),
            rows,
            promise(1000),
            durable(),
        ],
        vec![
            Step::Pause("rows"),
            promise(2000),
            Step::Resume("rows"),
            promise(2000),
            durable(),
        ],
        vec![promise(2200)],
        vec![],
    ];
    let expected = [
        vec![1000],
        vec![1000, 2000],
        vec![1000, 2000, 2200],
        vec![1000, 2000, 2200],
    ];
    for (steps, expected) in lives.iter().zip(expected) {
        let (found, _) = run(&disk, steps, 0).map(|it| it.1).expect("nothing is cut");
        let closes = found["rows"].iter().map(|(number, line)| {
            let report: serde_json::Value = serde_json::from_str(line).expect("JSON");
            (*number, report["close"].as_u64().unwrap_or(0))
        });
        let expected: Vec<(u64, u64)> = (1..).zip(expected).collect();
        assert_eq!(closes.collect::<Vec<_>>(), expected);
        disk = disk.restart(SimFaults::default());
    }
}
