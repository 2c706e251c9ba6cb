//! A database beside a device: which queries begin there, and that nobody sees a difference in answers.
//!
//! The device is the host twin, whose calls can be made to fail by number. Without a C++ compiler there is none, and tests
//! say that they were skipped.

mod brought;
mod changes;
mod late;
mod nodes;

use crate::support;
use device::twin::Twin;
use device::{Device, DeviceError};
use somersault::config::{Config, Layers, Machine};
use somersault::device::{
    Accelerator, CacheOptions, DeviceApart, DeviceFigures, Memory, Offload, Opened, configured,
};
use somersault::load::{Request as LoadRequest, Source, Syntax, Unwatched, load_in_memory};
use somersault::output::Collected;
use somersault::{Database, Kind, Options, PlanDocument, Request};
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use testkit::Answer;
use testkit::graph::Format;
use workload::lubm::{Lubm, Parameters, Syntax as LubmSyntax};
use workload::queries::QUERIES;

const MEMORY: Memory = Memory {
    images: 16 << 20,
    host: 16 << 20,
    tables: 1 << 20,
    sections: 2,
};

/// Expected to take more than the 2 ms from which a query is worth a launch.
const HEAVY: &str = "SELECT (COUNT(*) AS ?n) { ?a <urn:p> ?b . ?b <urn:p> ?c . ?c <urn:p> ?d }";

const LIGHT: &str = "SELECT ?b ?c { <urn:n0> <urn:p> ?b . ?b <urn:p> ?c }";

/// What is asked of the failing device: rows, sums, order, a tail that the kernels do not cover.
const ASKED: [&str; 4] = [
    LIGHT,
    "SELECT ?a ?b ?c { ?a <urn:p> ?b . ?b <urn:p> ?c . ?a <urn:q> ?c }",
    "SELECT ?a (COUNT(?c) AS ?n) { ?a <urn:p> ?b . ?b <urn:p> ?c } GROUP BY ?a ORDER BY ?a",
    "SELECT ?a ?c ?d { ?a <urn:p> ?b . ?b <urn:q> ?c OPTIONAL { ?c <urn:q> ?d } }",
];

/// A graph in which each of `vertices` has `degree` neighbours.
fn ring(vertices: u32, degree: u32) -> String {
    let mut text = String::new();
    for vertex in 0..vertices {
        for step in 1..=degree {
            let next = (vertex + step * step) % vertices;
            let _ = writeln!(text, "<urn:n{vertex}> <urn:p> <urn:n{next}> .");
        }
        let next = (vertex + 5) % vertices;
        let _ = writeln!(text, "<urn:n{vertex}> <urn:q> <urn:n{next}> .");
    }
    text
}

fn twin() -> Option<Twin> {
    match Twin::new(64 << 20, 7) {
        Ok(twin) => Some(twin),
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            None
        }
    }
}

fn beside(device: Arc<dyn Device>, memory: Memory, offload: Offload) -> Accelerator {
    Accelerator::new(vec![Opened::one(device, memory)], offload)
}

fn loaded(text: &str, accelerator: Option<Accelerator>) -> Database {
    let accelerator = accelerator.map(Arc::new);
    support::loaded_with(text, Format::NTriples, 1, accelerator).expect("nothing fails")
}

/// The rows of an answer as a bag.
fn rows(database: &Database, text: &str) -> Vec<String> {
    let answer = support::answer(database, text, 1);
    match answer.unwrap_or_else(|error| panic!("{text}: {}", error.message())) {
        Answer::Boolean(value) => vec![value.to_string()],
        Answer::Rows { rows, .. } => {
            let mut rows: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
            rows.sort_unstable();
            rows
        }
    }
}

fn figures(database: &Database) -> DeviceFigures {
    database.device_figures().expect("it has a device")
}

/// The plan's document after a run that was profiled, and the plan for people.
fn profiled(database: &Database, text: &str) -> (serde_json::Value, String) {
    let mut query = database.start(&Request::new(text)).expect("nothing fails");
    query.enable_profile();
    query.run(&mut Collected::default()).expect("nothing fails");
    let document = query.plan_document();
    let text = query.explain_profile();
    let read = PlanDocument::read(&document).expect("it is one");
    assert_eq!(read.explain_profile(), text, "read back it is the same");
    (
        serde_json::from_str(&document).expect("nothing fails"),
        text,
    )
}

fn explained(database: &Database, text: &str) -> String {
    database
        .start(&Request::new(text))
        .expect("nothing fails")
        .explain()
}

/// Asks until the query's data were brought beside it, and it begins on the device.
fn until_there(database: &Database, text: &str, expected: &[String]) {
    let until = Instant::now() + Duration::from_mins(1);
    let before = figures(database).queries;
    while figures(database).queries == before {
        assert_eq!(rows(database, text), expected);
        assert!(Instant::now() < until, "its data are brought");
    }
}

#[test]
fn only_what_is_wanted_begins_there() {
    let text = ring(400, 12);
    let expected = rows(&loaded(&text, None), HEAVY);
    for (offload, light, heavy) in [
        (Offload::Never, 0, 0),
        (Offload::Auto, 0, 1),
        (Offload::Always, 1, 1),
    ] {
        let Some(twin) = twin() else { return };
        let device = beside(Arc::new(twin), MEMORY, offload);
        let database = loaded(&text, Some(device));
        let started = database.start(&Request::new(HEAVY)).expect("nothing fails");
        let steps = started.plan().steps.iter();
        let expected_ns: f64 = steps.map(|step| step.estimate.cost_ns).sum();
        assert!(expected_ns > 2e6, "{expected_ns} ns are worth a launch");
        drop(started);
        rows(&database, LIGHT);
        assert_eq!(figures(&database).queries, light, "{offload:?}");
        assert_eq!(rows(&database, HEAVY), expected);
        if let Offload::Auto = offload {
            assert_eq!(figures(&database).queries, 0, "it waits for no data");
            until_there(&database, HEAVY, &expected);
        }
        assert_eq!(figures(&database).queries, light + heavy, "{offload:?}");
        let has_images = figures(&database).image_bytes > 0;
        assert_eq!(has_images, light + heavy > 0, "{offload:?}");
    }
}

/// What so many threads do sooner than a launch takes is not the device's, and nothing is brought to it.
#[test]
fn what_is_not_worth_it_brings_nothing() {
    let Some(twin) = twin() else { return };
    let device = beside(Arc::new(twin), MEMORY, Offload::Auto);
    let database = loaded(&ring(400, 12), Some(device));
    let answered = support::answer(&database, HEAVY, 256);
    assert!(answered.is_ok(), "the processors do it");
    let before = figures(&database);
    assert_eq!((before.queries, before.image_bytes), (0, 0));
    let expected = rows(&database, HEAVY);
    until_there(&database, HEAVY, &expected);
    let after = figures(&database);
    assert!(
        after.queries == 1 && after.image_bytes > 0,
        "one thread would take longer"
    );
}

#[test]
fn plans_say_what_ran_there_and_nothing_without_one() {
    let text = ring(100, 4);
    let grouped = ASKED[2];
    let (document, said) = profiled(&loaded(&text, None), grouped);
    assert!(document.get("device").is_none() && !said.contains("device"));
    assert!(document["steps"][0].get("on_device").is_none());

    let Some(device) = twin() else { return };
    let device = beside(Arc::new(device), MEMORY, Offload::Always);
    let database = loaded(&text, Some(device));
    let asked = explained(&database, grouped);
    let foreseen = "\ndevice: would be asked for steps 1 to 3; step 4 on the processors: it looks at rows together\n";
    assert!(asked.contains(foreseen), "{asked}");
    assert_eq!(asked.matches("   (device)").count(), 3, "{asked}");
    let (document, said) = profiled(&database, grouped);
    let places: Vec<_> = document["steps"]
        .as_array()
        .expect("nothing fails")
        .iter()
        .collect();
    let on_device = places.iter().take_while(|step| step["on_device"] == true);
    let covered = on_device.count();
    assert!(covered >= 2, "{said}");
    assert!(covered < places.len(), "groups are made here: {said}");
    assert_eq!(places[covered]["on_device"], false);
    assert!(places[0].get("found").is_none(), "it is not told: {said}");
    assert_eq!(places[covered - 1]["found"]["rows"], 1600, "{said}");
    let line = format!("\ndevice: steps 1 to {covered}, 1600 rows, ");
    assert!(said.contains(&line), "{said}");
    let why = format!("; step {} on the processors: ", covered + 1);
    assert!(said.contains(&why), "{said}");
    assert_eq!(said.matches("   (device)").count(), covered, "{said}");

    let Some(device) = twin() else { return };
    let device = beside(Arc::new(device), MEMORY, Offload::Auto);
    let database = loaded(&text, Some(device));
    let light = "device: not asked: the plan is expected to take less than 2 ms\n";
    assert!(explained(&database, LIGHT).contains(light));
    let (document, said) = profiled(&database, LIGHT);
    assert!(said.contains(light), "{said}");
    assert!(document["steps"][0].get("on_device").is_none());
}

/// Every call of the device in turn fails, once or for good.
#[test]
fn whatever_call_fails_the_answer_is_the_processors() {
    let text = ring(60, 5);
    let on_processors = loaded(&text, None);
    for query in ASKED {
        let expected = rows(&on_processors, query);
        for is_lost in [false, true] {
            let mut call = 0;
            while fails_at(call, is_lost, &text, query, &expected) {
                call += 1;
            }
            assert!(call > 10, "{query}: only {call} calls could fail");
        }
    }
}

/// The rows of an answer that three threads look for, as a bag.
fn rows_of_three(database: &Database, text: &str) -> Vec<String> {
    match support::answer(database, text, 3) {
        Ok(Answer::Rows { rows, .. }) => {
            let mut rows: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
            rows.sort_unstable();
            rows
        }
        Ok(Answer::Boolean(value)) => vec![value.to_string()],
        Err(error) => panic!("{text}: {}", error.message()),
    }
}

/// Two devices and three threads take one seed; what the first device fails at is done by the others, once.
#[test]
fn several_devices_and_threads_share_a_seed_whatever_call_fails() {
    let text = ring(60, 5);
    let on_processors = loaded(&text, None);
    for query in &ASKED[1..] {
        let expected = rows(&on_processors, query);
        for (is_lost, is_together) in [(false, false), (true, false), (false, true), (true, true)] {
            for call in 0.. {
                let error = as_planned(is_lost);
                let (Some(first), Some(second)) = (twin(), twin()) else {
                    return;
                };
                let first = Arc::new(first.failing(call, error));
                let devices: [Arc<dyn Device>; 2] = [Arc::clone(&first) as _, Arc::new(second)];
                let opened = if is_together {
                    vec![Opened {
                        devices: devices.to_vec(),
                        memory: MEMORY,
                    }]
                } else {
                    let one = |device| Opened::one(device, MEMORY);
                    devices.into_iter().map(one).collect()
                };
                let accelerator = Accelerator::new(opened, Offload::Always).sharing_all();
                let database = loaded(&text, Some(accelerator));
                for turn in 0..3 {
                    let found = rows_of_three(&database, query);
                    assert_eq!(found, expected, "call {call} of {query}, turn {turn}");
                }
                let figures = figures(&database);
                let has_failed = first.calls() > call;
                if !(is_together && has_failed) {
                    // What they have together none has alone.
                    assert_eq!((figures.queries, figures.shared), (3, 3), "call {call}");
                }
                assert_eq!(figures.failures > 0, has_failed, "call {call}");
                if !has_failed {
                    assert!(call > 10, "{query}: only {call} calls could fail");
                    break;
                }
            }
        }
    }
}

#[test]
fn a_device_that_hangs_is_lost_and_the_query_is_answered() {
    let text = ring(400, 5);
    let query = ASKED[1];
    let expected = rows(&loaded(&text, None), query);
    for threads in [1, 3] {
        let Some(hanging) = twin() else { return };
        let device: Arc<dyn Device> = Arc::new(hanging.slow(u64::MAX));
        let memory = MEMORY;
        let opened = vec![Opened::one(device, memory)];
        let accelerator = Accelerator::new(opened, Offload::Always).sharing_all();
        let database = loaded(&text, Some(accelerator));
        // Threads may have walked all before the device has begun.
        let until = Instant::now() + Duration::from_mins(1);
        while figures(&database).failures == 0 && Instant::now() < until {
            let found = match threads {
                1 => rows(&database, query),
                _ => rows_of_three(&database, query),
            };
            assert_eq!(found, expected, "{threads} threads");
        }
        let figures = figures(&database);
        assert!(figures.is_lost, "{figures:?}");
        assert_eq!(figures.failures, 1);
    }
}

/// Nobody waits for a device longer than for the query.
#[test]
fn a_query_ends_at_its_deadline_whatever_its_device_does() {
    let text = ring(60, 5);
    let Some(hanging) = twin() else { return };
    let device = beside(Arc::new(hanging.slow(u64::MAX)), MEMORY, Offload::Always);
    let database = loaded(&text, Some(device));
    let request = Request {
        timeout: Some(Duration::from_millis(50)),
        ..Request::new(ASKED[1])
    };
    let began = Instant::now();
    let mut query = database.start(&request).expect("nothing fails");
    let error = query.run(&mut Collected::default()).unwrap_err();
    assert_eq!(error.kind, Kind::Timeout, "{error}");
    assert!(
        began.elapsed() < Duration::from_secs(1),
        "it was waited for"
    );
    assert!(!figures(&database).is_lost, "nobody knows that yet");
}

fn as_planned(is_lost: bool) -> DeviceError {
    let reason = "as planned".to_owned();
    if is_lost {
        DeviceError::Lost { reason }
    } else {
        let call = "do it";
        DeviceError::Refused { call, reason }
    }
}

/// Asks with a device whose call of this number fails; whether there was such a call.
fn fails_at(call: u64, is_lost: bool, text: &str, query: &str, expected: &[String]) -> bool {
    let error = as_planned(is_lost);
    let Some(twin) = twin() else { return false };
    let twin = Arc::new(twin.failing(call, error));
    let device: Arc<dyn Device> = Arc::clone(&twin) as _;
    let database = loaded(text, Some(beside(device, MEMORY, Offload::Always)));
    assert_eq!(rows(&database, query), expected, "call {call} of {query}");
    let has_failed = twin.calls() > call;
    let after = figures(&database);
    assert_eq!(after.failures > 0, has_failed, "call {call} of {query}");
    assert_eq!(after.is_lost, has_failed && is_lost);
    if !has_failed {
        return false;
    }
    assert_eq!(rows(&database, query), expected, "call {call}, once more");
    let again = figures(&database);
    if is_lost {
        let calls = twin.calls();
        assert_eq!(again, after, "it is not asked again");
        rows(&database, query);
        assert_eq!(twin.calls(), calls, "nor called");
    } else {
        assert!(
            again.queries > after.queries,
            "call {call} of {query}: one that works is"
        );
    }
    true
}

#[test]
fn it_is_opened_beside_the_first_query_that_is_worth_it_and_again_after_a_loss() {
    if twin().is_none() {
        return;
    }
    let opened = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&opened);
    let opener = move || {
        let device = Twin::new(64 << 20, 7)?;
        let reason = "as planned".to_owned();
        let device = match count.fetch_add(1, Ordering::Relaxed) {
            0 => device.failing(9, DeviceError::Lost { reason }),
            _ => device,
        };
        let device: Arc<dyn Device> = Arc::new(device);
        let memory = MEMORY;
        Ok(Opened::one(device, memory))
    };
    let (tell, told) = std::sync::mpsc::channel();
    let teller = move |what: &str| drop(tell.send(what.to_owned()));
    let device = Accelerator::lazy(vec![Box::new(opener)], Box::new(teller), Offload::Auto);
    let database = loaded(&ring(400, 12), Some(device));
    let expected = ring_count(400, 12);
    rows(&database, LIGHT);
    assert_eq!(
        opened.load(Ordering::Relaxed),
        0,
        "a light one opens nothing"
    );
    let asked = explained(&database, HEAVY);
    let line = "device: would be opened, for the queries after this one\n";
    assert!(asked.contains(line), "{asked}");
    assert_eq!(
        opened.load(Ordering::Relaxed),
        0,
        "nor does one that is explained"
    );
    let (_, said) = profiled(&database, HEAVY);
    assert!(
        said.contains("device: not asked: it is being opened\n"),
        "{said}"
    );

    let until = Instant::now() + Duration::from_mins(1);
    while figures(&database).failures == 0 {
        assert!(rows(&database, HEAVY)[0].contains(&expected));
        assert!(Instant::now() < until, "the device is opened");
    }
    let lost = Instant::now();
    let what = told
        .recv_timeout(Duration::from_mins(1))
        .expect("nothing fails");
    assert_eq!(
        what,
        "the device is lost: as planned; the processors serve all queries, and it is tried again after 1 s"
    );
    assert!(figures(&database).is_lost);
    let (_, said) = profiled(&database, HEAVY);
    let line = "device: not asked: it is lost, or did not open\n";
    assert!(
        said.contains(line) || lost.elapsed() > Duration::from_secs(1),
        "{said}"
    );
    let queries = figures(&database).queries;
    while figures(&database).queries == queries {
        assert!(rows(&database, HEAVY)[0].contains(&expected));
        assert!(Instant::now() < until, "it is opened again");
    }
    assert_eq!(opened.load(Ordering::Relaxed), 2);
    assert!(!figures(&database).is_lost);
}

/// How many paths of three edges a ring has, as a row says it.
fn ring_count(vertices: u64, degree: u64) -> String {
    format!("\"{}\"", vertices * degree.pow(3))
}

/// Counts without groups read no row back: only rows that are told apart are.
#[test]
fn counts_read_no_rows() {
    let text = ring(300, 7);
    for (query, columns) in [
        (
            "SELECT (COUNT(*) AS ?n) { ?a <urn:p> ?b . ?b <urn:q> ?c }",
            0,
        ),
        (
            "SELECT (COUNT(?c) AS ?n) { ?a <urn:p> ?b . ?b <urn:q> ?c }",
            0,
        ),
        ("ASK { ?a <urn:p> ?b . ?b <urn:q> ?c }", 0),
        (
            "SELECT (COUNT(DISTINCT ?c) AS ?n) { ?a <urn:p> ?b . ?b <urn:q> ?c }",
            1,
        ),
    ] {
        let Some(twin) = twin() else { return };
        let twin = Arc::new(twin);
        let device: Arc<dyn Device> = Arc::clone(&twin) as _;
        let database = loaded(&text, Some(beside(device, MEMORY, Offload::Always)));
        let expected = rows(&loaded(&text, None), query);
        // Images are there now.
        assert_eq!(rows(&database, query), expected);
        let before = figures(&database).queries;
        let (calls, read) = (twin.calls(), twin.downloads());
        assert_eq!(rows(&database, query), expected);
        assert_eq!(figures(&database).queries, before + 1, "{query}");
        assert!(twin.calls() > calls, "{query}");
        let strips_read = twin.downloads() - read;
        assert_eq!(
            strips_read > 0,
            columns > 0,
            "{query}: {strips_read} columns read"
        );
    }
}

/// A ring whose vertices have values, integers and decimals.
fn valued(vertices: u32) -> String {
    let mut text = ring(vertices, 8);
    for vertex in 0..vertices {
        let value = match vertex % 3 {
            0 => format!(
                "\"{}.5\"^^<http://www.w3.org/2001/XMLSchema#decimal>",
                vertex % 11
            ),
            _ => format!(
                "\"{}\"^^<http://www.w3.org/2001/XMLSchema#integer>",
                vertex % 7
            ),
        };
        let _ = writeln!(text, "<urn:n{vertex}> <urn:v> {value} .");
    }
    text
}

/// Where groups are made of a device's rows, or each row is wanted once, rows that are equal come as one, whoever walks beside it.
#[test]
fn equal_rows_come_as_one() {
    let text = valued(1000);
    let on_processors = loaded(&text, None);
    let pattern = "{ ?a <urn:p> ?b . ?b <urn:p> ?c }";
    let valued = "{ ?a <urn:p> ?b . ?b <urn:p> ?c . ?b <urn:v> ?v }";
    for (query, left) in [
        (format!("SELECT DISTINCT ?c {pattern}"), Some(1000)),
        (
            format!("SELECT (COUNT(DISTINCT ?c) AS ?n) {pattern}"),
            Some(1000),
        ),
        (
            format!("SELECT ?b (COUNT(*) AS ?n) {pattern} GROUP BY ?b"),
            Some(1000),
        ),
        (
            format!(
                "SELECT ?c (COUNT(?a) AS ?n) (SAMPLE(?c) AS ?s) {pattern} GROUP BY ?c HAVING (?n > 8)"
            ),
            None,
        ),
        (format!("SELECT (COUNT(DISTINCT *) AS ?n) {pattern}"), None),
        (
            format!("SELECT (SUM(?v) AS ?s) (AVG(?v) AS ?m) (MAX(?v) AS ?x) {valued}"),
            Some(18),
        ),
        (
            format!(
                "SELECT ?b (SUM(?v) AS ?s) (AVG(DISTINCT ?v) AS ?m) (SUM(?b) AS ?e) {valued} GROUP BY ?b"
            ),
            Some(1000),
        ),
        // Each value counts, however often it comes.
        (
            format!("SELECT ?b (GROUP_CONCAT(?b) AS ?t) {pattern} GROUP BY ?b"),
            None,
        ),
    ] {
        let expected = rows(&on_processors, &query);
        let Some(device) = twin() else { return };
        let one = beside(Arc::new(device), MEMORY, Offload::Always);
        let database = loaded(&text, Some(one));
        assert_eq!(rows(&database, &query), expected, "{query}");
        let (_, told) = profiled(&database, &query);
        assert!(told.contains("64000 rows"), "{query}: {told}");
        if let Some(left) = left {
            let said = format!("({left} without equal ones)");
            assert!(told.contains(&said), "{query}: {told}");
        }
        let Some(other) = twin() else { return };
        let two = [device_of(other), device_of(twin().expect("there is one"))];
        let shared = Accelerator::new(two.into(), Offload::Always).sharing_all();
        let database = loaded(&text, Some(shared));
        for turn in 0..3 {
            assert_eq!(
                rows_of_three(&database, &query),
                expected,
                "{query}, {turn}"
            );
        }
    }
}

fn device_of(twin: Twin) -> Opened {
    Opened::one(Arc::new(twin), MEMORY)
}

#[test]
fn a_configuration_without_a_device_is_none() {
    let machine = Machine {
        cores: 1,
        free_memory_bytes: 1 << 30,
    };
    let mut layers = Layers::new();
    layers
        .add_flag("--gpu", "gpu.use", "never".to_owned())
        .expect("nothing fails");
    let config: Config = layers.check(machine).expect("nothing fails");
    assert!(
        configured(&config, Box::new(|_| {}))
            .expect("nothing fails")
            .is_none()
    );
    assert!(Options::from(&config).accelerator.is_none());
}

/// Of LUBM-1 q1 and q3 are planned to find nothing, and these begin with the predicates of a constant: a device has what follows.
const COVERED: [&str; 7] = ["q2", "q4", "q5", "q6", "q7", "q8", "q12"];
const LATE: [&str; 3] = ["q9", "q10", "q11"];

/// LUBM-1, loaded.
fn lubm(accelerator: Option<Accelerator>) -> Database {
    let lubm = Lubm::new(Parameters::default(), LubmSyntax::NTriples).expect("nothing fails");
    let source = Source::reader("lubm", lubm.reader(1).expect("nothing fails"))
        .with_syntax(Syntax::NTriples);
    let options = Options {
        accelerator: accelerator.map(Arc::new),
        ..Options::default()
    };
    let request = LoadRequest::default();
    let loaded = load_in_memory(vec![source], &request, &options, &Unwatched);
    loaded.expect("it loads").0
}

#[test]
fn lubm_has_the_same_answers_there() {
    let Some(twin) = twin() else { return };
    let device = beside(Arc::new(twin), MEMORY, Offload::Always);
    let (beside, alone) = (lubm(Some(device)), lubm(None));
    let (mut all, mut there) = (0, 0);
    for query in QUERIES {
        let expected = rows(&alone, query.text);
        assert_eq!(rows(&beside, query.text), expected, "{}", query.name);
        let (document, said) = profiled(&beside, query.text);
        let steps = document["steps"].as_array().expect("nothing fails");
        let covered = steps
            .iter()
            .filter(|step| step["on_device"] == true)
            .count();
        eprintln!(
            "{}: {covered} of {} steps: {}",
            query.name,
            steps.len(),
            document["device"]
        );
        let expected = match query.name {
            name if COVERED.contains(&name) => steps.len(),
            name if LATE.contains(&name) => steps.len() - 1,
            _ => 0,
        };
        assert_eq!(covered, expected, "{}: {said}", query.name);
        if covered > 0 {
            let rows = query.rows(1).expect("somebody counted them");
            let last = &steps[steps.len() - 1];
            assert_eq!(last["found"]["rows"], rows, "{said}");
        }
        (all, there) = (all + steps.len(), there + covered);
    }
    eprintln!("{there} of {all} steps on the device");
    let DeviceFigures {
        queries, failures, ..
    } = figures(&beside);
    let came = (COVERED.len() + LATE.len()) as u64;
    assert_eq!((queries, failures), (2 * came, 0));
    for name in ["q1", "q3"] {
        let query = QUERIES.iter().find(|query| query.name == name);
        what_is_proven_empty_is_walked_there(&beside, query.expect("there is one").text);
    }
}

/// Without the proof, for whoever measures, all of the plan is the device's.
fn what_is_proven_empty_is_walked_there(beside: &Database, text: &str) {
    let asked = Request {
        keep_empty: true,
        ..Request::new(text)
    };
    let mut query = beside.start(&asked).expect("nothing fails");
    query.enable_profile();
    let mut found = Collected::default();
    query.run(&mut found).expect("nothing fails");
    assert!(found.rows.is_empty());
    let said = query.explain_profile();
    eprintln!("{said}");
    let steps = query.plan().steps.len();
    assert_eq!(said.matches("   (device)").count(), steps, "{said}");
    let runs = query.run_on_device(1).expect("it is the device's");
    assert_eq!((runs.covered, runs.folded.rows), (steps, 0));
}

/// Whatever part of its data has room there, a query finds the same; and what has none is copied or read in place.
#[test]
fn a_device_with_less_memory_than_data_finds_the_same() {
    let Some(twin) = twin() else { return };
    let database = loaded(&ring(400, 12), None);
    let device: Arc<dyn Device> = Arc::new(twin);
    let started = ASKED[1..].iter().map(|text| {
        let started = database.start(&Request::new(text));
        started.expect("nothing fails")
    });
    let started: Vec<_> = started.collect();
    let apart = |images, options| {
        let memory = Memory {
            images,
            sections: 1,
            ..MEMORY
        };
        let apart = started[0].device_apart(Arc::clone(&device), memory, options);
        apart.expect("there is room")
    };
    let options = CacheOptions {
        page_bits: Some(9),
        ..CacheOptions::default()
    };
    let whole = apart(MEMORY.images, options);
    let found = |apart: &DeviceApart| {
        let run = |query: &somersault::Query| {
            let mut walk = query.device_walk_on(apart).expect("it is covered");
            let folded = walk.run().expect("no call fails");
            (folded.rows, folded.checksum)
        };
        started.iter().map(run).collect::<Vec<_>>()
    };
    let expected = found(&whole);
    let needed = whole.image_bytes();
    let mut copied = Vec::new();
    for percent in [5, 25, 54, 100, 200] {
        let apart = apart(needed * percent / 100, options);
        for turn in 0..3 {
            assert_eq!(found(&apart), expected, "{percent} %, turn {turn}");
        }
        copied.push(apart.traffic().copied_bytes);
    }
    eprintln!("{needed} bytes; copied in three turns {copied:?}");
    assert!(copied[4] <= needed * 2, "what has room is copied once");
}

/// Pages in this machine's memory are there between queries, so they are drawn on what queries have together.
#[test]
fn pages_in_this_machines_memory_are_drawn_on_the_pool() {
    let Some(twin) = twin() else { return };
    let text = ring(400, 12);
    let memory = Memory {
        images: 4 << 10,
        ..MEMORY
    };
    let device = beside(Arc::new(twin), memory, Offload::Always);
    let database = loaded(&text, Some(device));
    let used = || database.pool().used_bytes();
    assert_eq!(
        rows(&database, ASKED[1]),
        rows(&loaded(&text, None), ASKED[1])
    );
    assert_eq!(figures(&database).queries, 1, "it began there");
    let slab = used();
    assert!(slab > 0 && slab <= memory.host, "{slab} bytes");
    rows(&database, ASKED[1]);
    assert_eq!(used(), slab, "they are taken once");
}
