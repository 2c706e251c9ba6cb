//! A database that takes changes, beside a device: what layers have changed is walked there with the rest.

use super::{
    ASKED, MEMORY, as_planned, beside, figures, profiled, ring, rows, rows_of_three, twin,
};
use device::Device;
use device::twin::Twin;
use somersault::device::{Accelerator, Memory, Offload, Opened};
use somersault::load::{Request as LoadRequest, Source, Unwatched, load_in_memory};
use somersault::{Database, Options, UpdateRequest};
use std::sync::Arc;

/// A database that takes changes, beside a device that begins whatever it can, or without one.
fn changing(text: &str, twin: Option<Twin>) -> Database {
    let device = twin.map(|twin| beside(Arc::new(twin), MEMORY, Offload::Always));
    changing_beside(text, device)
}

pub(super) fn changing_beside(text: &str, accelerator: Option<Accelerator>) -> Database {
    let options = Options {
        accelerator: accelerator.map(Arc::new),
        memory_is_writable: true,
        ..Options::default()
    };
    let source = Source::reader("graph.nt", text.as_bytes());
    let loaded = load_in_memory(vec![source], &LoadRequest::default(), &options, &Unwatched);
    loaded.expect("it loads").0
}

pub(super) fn change(database: &Database, text: &str) {
    let change = UpdateRequest {
        text,
        ..UpdateRequest::default()
    };
    database.update(&change).expect("it is carried out");
}

/// What a change brings has no image of the base, so whoever asks any predicate stays on the processors.
#[test]
fn a_predicate_that_a_change_brings_is_found() {
    let Some(twin) = twin() else { return };
    let database = changing(&ring(60, 5), Some(twin));
    let by_any = "SELECT ?b ?p ?c { <urn:n0> <urn:p> ?b . ?b ?p ?c }";
    let before = rows(&database, by_any);
    assert_eq!((before.len(), figures(&database).queries), (30, 1));
    change(&database, "INSERT DATA { <urn:n1> <urn:new> <urn:n7> }");
    let after = rows(&database, by_any);
    assert_eq!((after.len(), figures(&database).queries), (31, 1));
    let by_one = "SELECT ?b ?c { <urn:n0> <urn:p> ?b . ?b <urn:q> ?c }";
    assert_eq!(rows(&database, by_one).len(), 5);
    assert_eq!(figures(&database).queries, 2, "no layer is of its segments");
}

/// Changes are walked there beside the base, as soon as they are made.
#[test]
fn what_changes_is_walked_there() {
    let Some(twin) = twin() else { return };
    let text = ring(60, 5);
    let (database, mirror) = (changing(&text, Some(twin)), changing(&text, None));
    let asked = [
        "SELECT ?a ?b ?c { ?a <urn:p> ?b . ?b <urn:q> ?c }",
        "SELECT ?a ?b ?c { ?a <urn:p> ?b . ?b <urn:p> ?c . ?a <urn:p> ?c }",
        "SELECT ?a ?c { <urn:n1> <urn:p> ?a . ?a <urn:q> ?c . ?a <urn:p> <urn:n7> }",
    ];
    let mut last = asked.map(|query| rows(&database, query));
    for changes in [
        "INSERT DATA { <urn:n1> <urn:p> <urn:n7>, <urn:n8> . <urn:x> <urn:p> <urn:n1> . <urn:n1> <urn:q> <urn:x> }",
        "DELETE DATA { <urn:n1> <urn:p> <urn:n2> . <urn:n3> <urn:q> <urn:n8> }",
        "INSERT DATA { <urn:n1> <urn:p> <urn:n2> } ; DELETE DATA { <urn:x> <urn:p> <urn:n1> }",
        "DELETE { ?a <urn:p> ?b } WHERE { ?a <urn:p> ?b . ?b <urn:q> <urn:n9> }",
        "DELETE WHERE { <urn:n1> <urn:p> ?b }",
    ] {
        change(&database, changes);
        change(&mirror, changes);
        let before = figures(&database).queries;
        let now = asked.map(|query| rows(&database, query));
        assert_eq!(now, asked.map(|query| rows(&mirror, query)), "{changes}");
        assert_ne!(now, last, "{changes}");
        assert_eq!(figures(&database).queries, before + 3, "{changes}");
        last = now;
    }
    assert_eq!(figures(&database).failures, 0);
}

/// The steps before one whose segment was changed begin there, and those from it on see the change.
#[test]
fn a_change_is_walked_where_it_matters() {
    let Some(twin) = twin() else { return };
    let text = ring(60, 5);
    let written = |accelerator: Option<Accelerator>| {
        let database = changing_beside(&text, accelerator);
        change(
            &database,
            "INSERT DATA { <urn:n3> <urn:q> <urn:n9> . <urn:n4> <urn:r> <urn:n1> } ; DELETE DATA { <urn:n7> <urn:q> <urn:n12> }",
        );
        database
    };
    let device = beside(Arc::new(twin), MEMORY, Offload::Always);
    let (beside, alone) = (written(Some(device)), written(None));
    let untouched = "SELECT ?a ?c ?d { ?a <urn:p> ?b . ?b <urn:p> ?c . ?c <urn:p> ?d }";
    for query in ASKED.into_iter().chain([untouched]) {
        assert_eq!(rows(&beside, query), rows(&alone, query), "{query}");
    }
    let (document, said) = profiled(&beside, untouched);
    let all = document["steps"].as_array().expect("nothing fails").len();
    let there = said.matches("   (device)").count();
    assert_eq!(there, all, "no step of it was changed: {said}");
    let (_, said) = profiled(&beside, ASKED[3]);
    let there = said.matches("   (device)").count();
    assert!(there >= 2, "changes are there, too: {said}");
}

/// Of a seed that was changed, too, a device that fails leaves to the others what it has not walked, and no more.
#[test]
fn a_changed_seed_is_shared_whatever_call_fails() {
    let text = ring(60, 5);
    let changes = "INSERT DATA { <urn:x> <urn:p> <urn:n7>, <urn:n9> . <urn:a> <urn:q> <urn:n1> . <urn:n2> <urn:p> <urn:a>, <urn:x> } ; \
        DELETE WHERE { <urn:n5> <urn:q> ?b } ; DELETE WHERE { <urn:n8> <urn:p> ?b } ; DELETE DATA { <urn:n2> <urn:p> <urn:n3> }";
    let mirror = changing(&text, None);
    change(&mirror, changes);
    for query in [
        "SELECT ?a ?b ?c { ?a <urn:p> ?b . ?b <urn:q> ?c }",
        "SELECT ?a ?b ?c { ?a <urn:p> ?b . ?b <urn:p> ?c . ?a <urn:p> ?c }",
        "SELECT ?a ?c { <urn:n2> <urn:p> ?a . ?a <urn:p> ?c }",
    ] {
        let expected = rows(&mirror, query);
        for call in 0.. {
            let (Some(first), Some(second)) = (twin(), twin()) else {
                return;
            };
            let first = Arc::new(first.failing(call, as_planned(call % 2 == 0)));
            let devices: [Arc<dyn Device>; 2] = [Arc::clone(&first) as _, Arc::new(second)];
            let memory = Memory {
                tables: 4 << 10,
                ..MEMORY
            };
            let opened = |device| Opened::one(device, memory);
            let devices = devices.into_iter().map(opened).collect();
            let accelerator = Accelerator::new(devices, Offload::Always).sharing_all();
            let database = changing_beside(&text, Some(accelerator));
            change(&database, changes);
            for turn in 0..2 {
                let found = rows_of_three(&database, query);
                assert_eq!(found, expected, "call {call} of {query}, turn {turn}");
                assert_eq!(rows(&database, query), expected, "call {call} of {query}");
            }
            if first.calls() <= call {
                let figures = figures(&database);
                assert!(figures.queries >= 4 && figures.shared > 0, "{figures:?}");
                assert!(call > 10, "{query}: only {call} calls could fail");
                break;
            }
        }
    }
}
