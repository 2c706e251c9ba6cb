//! Queries whose first steps no device does come to it late: the answers are the processors', whatever fails.

use super::{
    MEMORY, beside, explained, fails_at, figures, loaded, profiled, ring, rows, support, twin,
    until_there,
};
use device::Device;
use device::twin::Twin;
use somersault::device::{Accelerator, Memory, Offload, Opened};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// They begin with a path, a table of values, what is computed, a union, any predicate, a sub-query; rows may be unbound, or have terms that are nowhere else.
const ASKED: [&str; 9] = [
    "SELECT ?b ?c ?d { <urn:n0> (<urn:q>/<urn:q>)* ?b . ?b <urn:p> ?c . ?c <urn:q> ?d }",
    "SELECT ?a ?c { VALUES ?a { <urn:n1> <urn:n2> <urn:none> <urn:n1> } ?a <urn:p> ?b . ?b <urn:p> ?c }",
    "SELECT ?x ?c { BIND(7 + 4 AS ?x) <urn:n3> <urn:p> ?b . ?b <urn:p> ?c FILTER(?b != ?c) }",
    "SELECT ?a ?b ?c { { ?a <urn:q> <urn:n9> } UNION { ?a <urn:p> <urn:n20> } ?a <urn:p> ?b OPTIONAL { ?b <urn:none> ?c } }",
    "SELECT ?a ?p ?d { ?a ?p <urn:n4> . ?a <urn:q> ?c . ?c <urn:p> ?d FILTER NOT EXISTS { ?d <urn:q> ?a } }",
    "SELECT ?a ?n ?c { { SELECT ?a (COUNT(*) AS ?n) { ?a <urn:p> ?b } GROUP BY ?a } ?a <urn:q> ?b . ?b <urn:p> ?c }",
    "SELECT ?c (COUNT(*) AS ?n) { <urn:n0> <urn:q>* ?b . ?b <urn:p> ?c } GROUP BY ?c",
    "SELECT ?s ?c { VALUES ?a { <urn:n1> <urn:n2> } BIND(STR(?a) AS ?s) ?a <urn:p> ?b . ?b <urn:q> ?c . BIND(1 AS ?one) }",
    "ASK { <urn:n0> <urn:q>+ ?b . ?b <urn:p> ?c . ?c <urn:none> ?d }",
];

/// Of first steps that are little beside what follows.
const HEAVY: &str = "SELECT (COUNT(*) AS ?n) { { SELECT DISTINCT ?a { ?a <urn:q>+ ?x FILTER(?x = <urn:n7>) } } ?a <urn:p> ?b . ?b <urn:p> ?c . ?c <urn:p> ?d }";

fn open(twin: Twin, memory: Memory) -> Accelerator {
    beside(Arc::new(twin), memory, Offload::Always)
}

#[test]
fn later_steps_are_a_devices() {
    let text = ring(60, 5);
    let on_processors = loaded(&text, None);
    let small = Memory {
        tables: 8 << 10,
        ..MEMORY
    };
    let mut begun = 0;
    for query in ASKED {
        let expected = rows(&on_processors, query);
        for memory in [MEMORY, small] {
            let Some(twin) = twin() else { return };
            let database = loaded(&text, Some(open(twin, memory)));
            for _ in 0..2 {
                assert_eq!(rows(&database, query), expected, "{query}");
            }
            begun += figures(&database).queries;
        }
    }
    assert!(begun >= 32, "{begun} of 36 came to it");
}

#[test]
fn whatever_call_fails_the_answer_is_the_processors() {
    let text = ring(60, 5);
    let on_processors = loaded(&text, None);
    for query in [ASKED[0], ASKED[3]] {
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

#[test]
fn a_device_that_hangs_is_lost_and_the_query_is_answered() {
    let text = ring(60, 5);
    let expected = rows(&loaded(&text, None), ASKED[0]);
    let Some(hanging) = twin() else { return };
    let database = loaded(&text, Some(open(hanging.slow(u64::MAX), MEMORY)));
    assert_eq!(rows(&database, ASKED[0]), expected);
    let figures = figures(&database);
    assert!(figures.is_lost && figures.failures == 1, "{figures:?}");
}

#[test]
fn plans_say_which_steps_and_why_not_the_first() {
    let Some(twin) = twin() else { return };
    let database = loaded(&ring(60, 5), Some(open(twin, MEMORY)));
    let asked = explained(&database, ASKED[0]);
    let (document, said) = profiled(&database, ASKED[0]);
    let places: Vec<bool> = document["steps"]
        .as_array()
        .expect("nothing fails")
        .iter()
        .map(|step| step["on_device"] == true)
        .collect();
    assert_eq!(places, [false, true, true], "{said}");
    assert!(
        asked.contains("device: would be asked for steps 2 to 3\n"),
        "{asked}"
    );
    assert_eq!(asked.matches("   (device)").count(), 2, "{asked}");
    let line = "device: steps 2 to 3, 30 rows, 1 launch; those before on the processors: the device does not begin this plan: of step 1, path-expand is not done there\n";
    assert!(said.contains(line), "{said}");
    assert_eq!(document["steps"][2]["found"]["rows"], 30, "{said}");
}

/// One that is expected to gain waits for no data, and is there when they are; a second thread is worth more than the device is of a plan that is mostly its first steps.
#[test]
fn what_gains_comes_late_once_its_data_are_there() {
    let text = ring(400, 12);
    let expected = rows(&loaded(&text, None), HEAVY);
    let Some(twin) = twin() else { return };
    let database = loaded(&text, Some(beside(Arc::new(twin), MEMORY, Offload::Auto)));
    assert_eq!(rows(&database, HEAVY), expected);
    assert_eq!(figures(&database).queries, 0, "it waits for no data");
    until_there(&database, HEAVY, &expected);
    let walked = "SELECT (COUNT(*) AS ?n) { ?a <urn:p>+ ?b . ?b <urn:q> ?c }";
    let before = figures(&database).queries;
    support::answer(&database, walked, 1).expect("nothing fails");
    assert_eq!(figures(&database).queries, before, "its path is all of it");
}

/// The query ends in time, whoever is at work for it.
#[test]
fn a_query_ends_at_its_deadline() {
    let Some(twin) = twin() else { return };
    let devices: Vec<Arc<dyn Device>> = vec![Arc::new(twin.slow(u64::MAX))];
    let opened = Opened {
        devices,
        memory: MEMORY,
    };
    let accelerator = Accelerator::new(vec![opened], Offload::Always);
    let database = loaded(&ring(60, 5), Some(accelerator));
    let request = somersault::Request {
        timeout: Some(Duration::from_millis(50)),
        ..somersault::Request::new(ASKED[0])
    };
    let began = Instant::now();
    let mut query = database.start(&request).expect("nothing fails");
    let ended = query.run(&mut somersault::output::Collected::default());
    assert_eq!(ended.unwrap_err().kind, somersault::Kind::Timeout);
    assert!(
        began.elapsed() < Duration::from_secs(1),
        "it was waited for"
    );
}
