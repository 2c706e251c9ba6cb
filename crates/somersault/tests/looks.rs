//! How long a query computes without looking whether it has to end, or to let others compute.
//!
//! Each thread of a query looks through its [`Pace`]; here one notes the longest time between two looks of
//! a thread. What matters in a release build is a few milliseconds; the bound has room for a debug build
//! on a busy machine, and for nothing that grows with the data.

use somersault::load::{self, Source, Unwatched};
use somersault::output::{ResultFormat, ResultWriter};
use somersault::stop::{Pace, Wait};
use somersault::{Database, Kind, Options, Request};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::io;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

/// Longest time between two looks of a thread.
const GAP_MAX: Duration = Duration::from_millis(if cfg!(debug_assertions) { 400 } else { 100 });

#[derive(Debug, Default)]
struct Gaps(Mutex<(HashMap<ThreadId, Instant>, Duration)>);

impl Gaps {
    fn note(&self, goes_on: bool) {
        let mut gaps = self.0.lock().expect("no look panics");
        let now = Instant::now();
        let before = gaps.0.remove(&thread::current().id());
        if let Some(before) = before {
            gaps.1 = gaps.1.max(now - before);
        }
        if goes_on {
            gaps.0.insert(thread::current().id(), now);
        }
    }
}

impl Pace for Gaps {
    fn look(&self, _: &dyn Fn() -> Duration) {
        self.note(true);
    }

    fn suspend(&self, _: Wait) {
        self.note(false);
    }

    fn resume(&self, _: Wait, _: &dyn Fn() -> Duration) {
        // Whoever begins a thread counts it among those that compute, and may not be that thread.
    }

    fn expect_heavy(&self, _: usize, _: &dyn Fn() -> Duration) {
        self.note(true);
    }
}

/// People with names, friends and places: products of them are as large as one likes.
fn data() -> String {
    let mut text = String::new();
    for person in 0..20_000 {
        let (friend, place) = (person * 7 % 20_000, person % 100);
        let _ = writeln!(
            text,
            "<http://example.org/person/{person}> <http://example.org/knows> \
             <http://example.org/person/{friend}> ; <http://example.org/lives> \
             <http://example.org/place/{place}> ; <http://example.org/name> \"the name of {person}\" ."
        );
    }
    text
}

const QUERIES: [(&str, &str); 9] = [
    (
        "product",
        "SELECT (COUNT(*) AS ?n) { ?a e:knows ?b . ?c e:knows ?d . ?x e:knows ?y }",
    ),
    (
        "comparison of texts",
        "SELECT (COUNT(*) AS ?n) { ?x e:knows ?c . ?y e:knows ?d . ?x e:lives ?m . ?y e:lives ?m \
         FILTER(STR(?x) < STR(?d)) }",
    ),
    (
        "strings",
        "SELECT (MAX(CONCAT(STR(?x), STR(?y))) AS ?n) { ?x e:lives ?p . ?y e:knows ?z \
         FILTER(STRLEN(STR(?x)) > STRLEN(STR(?y))) }",
    ),
    (
        "regex",
        "SELECT (COUNT(*) AS ?n) { ?x e:name ?p . ?y e:name ?q FILTER REGEX(?p, \"1.*2.*3\") }",
    ),
    (
        "order",
        "SELECT * { ?x e:name ?p . ?y e:lives ?q } ORDER BY DESC(?p) ?y",
    ),
    (
        "distinct",
        "SELECT DISTINCT ?x ?y { ?x e:knows ?p . ?y e:lives ?q }",
    ),
    (
        "groups",
        "SELECT ?x (GROUP_CONCAT(?q) AS ?all) { ?x e:lives ?p . ?y e:name ?q } GROUP BY ?x",
    ),
    (
        "path",
        "SELECT (COUNT(*) AS ?n) { ?x (e:knows|e:lives)* ?y }",
    ),
    (
        "minus",
        "SELECT (COUNT(*) AS ?n) { ?x e:knows ?p . ?y e:lives ?q MINUS { ?x e:name ?p } }",
    ),
];

fn database(threads: usize) -> Database {
    let source = Source::reader("data.ttl", io::Cursor::new(data()));
    let options = Options {
        query_threads: threads,
        query_memory_bytes: 1 << 30,
        memory_pool_bytes: 1 << 30,
        ..Options::default()
    };
    let request = load::Request::default();
    let loaded = load::load_in_memory(vec![source], &request, &options, &Unwatched);
    loaded.expect("the data is whole").0
}

#[test]
fn every_thread_of_a_query_looks_often() {
    let database = database(2);
    for (name, query) in QUERIES {
        let gaps = Arc::new(Gaps::default());
        let text = format!("PREFIX e: <http://example.org/> {query}");
        let request = Request {
            timeout: Some(Duration::from_millis(700)),
            pace: Some(Arc::clone(&gaps) as Arc<dyn Pace>),
            ..Request::new(&text)
        };
        let mut writer = ResultWriter::new(ResultFormat::Tsv, io::sink());
        let mut query = database.start(&request).expect(name);
        let ended = query.run(&mut writer);
        let kind = ended.map(drop).map_err(|error| error.kind);
        assert!(
            matches!(kind, Ok(()) | Err(Kind::Timeout | Kind::Memory)),
            "{name}: {kind:?}"
        );
        let longest = gaps.0.lock().expect("no look panics").1;
        eprintln!("{name}: {longest:?} between two looks, {kind:?}");
        assert!(longest < GAP_MAX, "{name}: {longest:?} without a look");
    }
}
