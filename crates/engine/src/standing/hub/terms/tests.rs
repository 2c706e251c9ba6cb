//! Terms that only windows hold: that they die, that they join as if they were stored, and what becomes of them when they are.

use crate::change::{Image, Keeper, TakePiece};
use crate::error::QueryError;
use crate::standing::hub::Hub;
use crate::standing::{HubStream, StandingReport, read_standing, recorded};
use crate::{Database, Options, UpdateRequest, testing};
use rdf::dictionary::{DictionaryView, TermCounts};
use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use store::disk::{SimDisk, SimFaults};

const STREAM: &str = "urn:s";
const OTHER: &str = "urn:other";

/// Keeps nothing of a hub in a checkpoint.
struct Forgetful;

impl Keeper for Forgetful {
    fn hold(&self, freeze: &mut dyn FnMut()) -> Result<Box<dyn Image>, QueryError> {
        freeze();
        Ok(Box::new(Forgetful))
    }
}

impl Image for Forgetful {
    fn is_empty(&self) -> bool {
        true
    }

    fn encode(&self, _: &DictionaryView, _: &mut TakePiece<'_>) -> Result<(), QueryError> {
        Ok(())
    }
}

/// A hub with a stream that stores nothing, and another one that stores all.
struct Bench {
    database: Database,
    hub: Hub,
}

fn writable() -> Options {
    Options {
        memory_is_writable: true,
        ..Options::default()
    }
}

impl Bench {
    fn new() -> Bench {
        Bench::over(testing::empty(&writable()))
    }

    fn over(database: Database) -> Bench {
        let mut hub = Hub::new(database.clone());
        let passing = HubStream {
            absorb: Some(Vec::new()),
            ..HubStream::new(STREAM)
        };
        hub.create(&passing, 0).unwrap();
        hub.create(&HubStream::new(OTHER), 0).unwrap();
        Bench { database, hub }
    }

    /// Registers a query with a window of so many seconds over the stream that stores nothing.
    fn ask(&mut self, name: &str, seconds: u32, head: &str, body: &str) {
        let text = format!(
            "#@ report=close partial_first=yes\n{head} FROM NAMED WINDOW <urn:w> ON <{STREAM}> \
             [RANGE PT{seconds}S STEP PT1S] WHERE {{ {body} }}"
        );
        self.register(name, &text);
    }

    fn register(&mut self, name: &str, text: &str) {
        let query = read_standing(&self.database, text).unwrap();
        self.hub.register(query, name, 0).unwrap();
    }

    /// Lines of milliseconds, a tab and a statement.
    fn push(&mut self, stream: &str, lines: &str) {
        let items = recorded(Some("test"), lines.as_bytes());
        let items: Vec<_> = items.collect::<Result<_, _>>().unwrap();
        self.hub.push(stream, "", None, &items, None).unwrap();
    }

    /// All streams have come so far; what is reported, as `query@close: rows`, each row as its terms.
    fn until(&mut self, time_ms: u64) -> Vec<String> {
        for stream in [STREAM, OTHER] {
            self.hub.watermark(stream, "", time_ms).unwrap();
        }
        let mut told = Vec::new();
        let taken = self.hub.advance(&mut |report| {
            // What is before the beginning of the streams is empty.
            if report.report.close_ms > 0 {
                told.push(shown(&report.report));
            }
            Ok(ControlFlow::Continue(()))
        });
        assert!(taken.unwrap().is_continue());
        told
    }

    fn update(&self, text: &str) {
        let request = UpdateRequest {
            text,
            ..UpdateRequest::default()
        };
        self.database.update(&request).unwrap();
    }

    /// Terms that the dictionary ever gave ids.
    fn counts(&self) -> TermCounts {
        self.database.graph().dictionary.live().counts()
    }

    fn transient_terms(&self) -> usize {
        self.hub.terms.transient.len()
    }
}

fn shown(report: &StandingReport) -> String {
    assert_eq!(report.failure, None);
    let mut rows: Vec<String> = Vec::new();
    for row in &report.rows {
        let cells = row.0.iter().map(|cell| match cell {
            Some(term) => term.to_string(),
            None => "-".to_owned(),
        });
        rows.push(cells.collect::<Vec<_>>().join(" "));
    }
    format!("{}@{}: {}", report.query, report.close_ms, rows.join(" | "))
}

/// Positions of people, each of them new: the dictionary stays as it is, and the table as large as a window.
#[test]
fn a_million_terms_that_pass_by_leave_nothing_behind() {
    let mut bench = Bench::new();
    let count = "SELECT (COUNT(DISTINCT ?where) AS ?n)";
    bench.ask("q", 1, count, "WINDOW <urn:w> { ?who <urn:at> ?where }");
    bench.push(STREAM, "1\t<urn:erik> <urn:at> <urn:home> .");
    let before = bench.counts();
    let (mut most, mut reports) = (0, 0);
    // 50 seconds of 10,000 positions, each of two new terms.
    for tenth in 0..500_u64 {
        let mut lines = String::new();
        for person in 0..1_000 {
            let time = tenth * 100 + person / 10;
            let at = tenth * 1_000 + person;
            let _ = writeln!(
                lines,
                "{time}\t<urn:fix:{at}> <urn:at> \"{at}.0625 7.25 {time}\" ."
            );
        }
        bench.push(STREAM, &lines);
        for report in bench.until(tenth * 100) {
            let expected = if reports == 0 { 10_001 } else { 10_000 };
            reports += 1;
            let wanted = format!("q@{}: \"{expected}\"^^", reports * 1000);
            assert!(report.starts_with(&wanted), "{report}, not {wanted}");
        }
        most = most.max(bench.hub.terms.transient.bytes());
        let held = bench.hub.stream_info(STREAM).unwrap();
        assert!(held.term_bytes > 0 && held.term_bytes < held.held_bytes);
        assert!(held.term_bytes < 12 << 20, "{} bytes", held.term_bytes);
    }
    assert_eq!(reports, 49);
    assert_eq!(bench.counts(), before);
    assert!(most < 16 << 20, "{most} bytes for 20,000 terms");
    bench.until(100_000);
    bench.hub.sweep_terms();
    assert_eq!(bench.transient_terms(), 0);
    assert!(bench.hub.terms.transient.bytes() < 1 << 10);
    assert_eq!(bench.hub.stream_info(STREAM).unwrap().term_bytes, 0);
}

/// Slices were made when the term was transient; then an update stores it.
#[test]
fn a_term_that_an_update_stores_joins_with_older_slices() {
    let mut bench = Bench::new();
    let body = "WINDOW <urn:w> { ?who <urn:at> ?place } ?place <urn:name> ?name";
    bench.ask("q", 3, "SELECT ?who ?name", body);
    bench.push(STREAM, "100\t<urn:a> <urn:at> <urn:x> .");
    assert_eq!(bench.until(1000), ["q@1000: "]);
    bench.push(STREAM, "1100\t<urn:b> <urn:at> <urn:x> .");
    let transient = bench.transient_terms();
    bench.update("INSERT DATA { <urn:x> <urn:name> \"X\" }");
    // Items of both ids of the term in one window, and in open batches.
    bench.push(STREAM, "1200\t<urn:c> <urn:at> <urn:x> .");
    let told = bench.until(2000);
    let mut rows: Vec<&str> = told[0].split(": ").nth(1).unwrap().split(" | ").collect();
    rows.sort_unstable();
    assert_eq!(rows, ["<urn:a> \"X\"", "<urn:b> \"X\"", "<urn:c> \"X\""]);
    assert_eq!(
        bench.transient_terms(),
        transient,
        "one came, one is stored"
    );
    bench.update("DELETE DATA { <urn:x> <urn:name> \"X\" }");
    assert_eq!(bench.until(3000), ["q@3000: "]);
}

/// A draft that is given up leaves its terms in the dictionary, though no graph has them.
#[test]
fn a_term_that_no_graph_has_but_the_dictionary_joins() {
    let mut bench = Bench::new();
    let body = "WINDOW <urn:w> { ?who <urn:at> ?place . ?place <urn:in> ?town }";
    bench.ask("q", 2, "SELECT ?who ?town", body);
    bench.push(STREAM, "100\t<urn:a> <urn:at> <urn:x> .");
    assert_eq!(bench.until(1000), ["q@1000: "]);
    bench.update("INSERT DATA { <urn:x> <urn:p> 1 } ; DELETE DATA { <urn:x> <urn:p> 1 }");
    bench.push(STREAM, "1100\t<urn:x> <urn:in> <urn:town> .");
    assert_eq!(bench.until(2000), ["q@2000: <urn:a> <urn:town>"]);
}

/// The same batch names a term in a stream that stores nothing, and in one that stores it.
#[test]
fn a_term_that_another_stream_stores_in_the_same_commit_joins() {
    for passing_first in [true, false] {
        let mut bench = Bench::new();
        let body = "WINDOW <urn:w> { ?who <urn:at> ?place } ?place <urn:name> ?name";
        bench.ask("q", 1, "SELECT ?who ?name", body);
        let passing = (STREAM, "100\t<urn:a> <urn:at> <urn:x> .");
        let stored = (OTHER, "100\t<urn:x> <urn:name> \"X\" .");
        let mut pushes = [passing, stored];
        if !passing_first {
            pushes.reverse();
        }
        for (stream, lines) in pushes {
            bench.push(stream, lines);
        }
        assert_eq!(bench.until(1000), ["q@1000: <urn:a> \"X\""]);
    }
}

#[test]
fn a_term_that_was_freed_and_is_named_again_is_itself() {
    let mut bench = Bench::new();
    let body = "WINDOW <urn:w> { ?who <urn:at> ?place . ?other <urn:at> ?place } \
                FILTER (?who != ?other)";
    bench.ask("q", 1, "SELECT DISTINCT ?place", body);
    let mut ids = Vec::new();
    for second in 0..4 {
        let time = second * 2000 + 100;
        let lines = format!(
            "{time}\t<urn:a> <urn:at> <urn:x> .\n{}\t<urn:b> <urn:at> <urn:x> .",
            time + 500
        );
        bench.push(STREAM, &lines);
        let named = oxrdf::NamedNode::new_unchecked("urn:x");
        ids.push(bench.hub.terms.transient.find(named.as_ref().into()));
        let told = bench.until((second + 1) * 2000);
        let [full, empty] = &told[..] else {
            panic!("{told:?}")
        };
        assert!(full.ends_with(": <urn:x>"), "{full}");
        assert!(empty.ends_with(": "), "{empty}");
        bench.hub.sweep_terms();
        assert_eq!(bench.transient_terms(), 0);
    }
    ids.sort_unstable();
    ids.dedup();
    assert!(ids.len() == 4 && ids[0].is_some(), "{ids:?}");
}

/// What a text names is found in windows before it is stored, and afterwards.
#[test]
fn constants_are_what_they_are_at_each_evaluation() {
    let mut bench = Bench::new();
    let before = bench.counts();
    let body = "WINDOW <urn:w> { <urn:a> <urn:at> ?place }";
    bench.ask("window", 1, "SELECT ?place", body);
    let body = "WINDOW <urn:w> { ?who <urn:at> ?place } <urn:a> <urn:name> ?name";
    bench.ask("store", 1, "SELECT ?name", body);
    assert_eq!(bench.counts(), before, "a text stores nothing");
    assert_eq!(bench.until(1000), ["window@1000: ", "store@1000: "]);
    bench.push(STREAM, "1100\t<urn:a> <urn:at> <urn:x> .");
    let told = bench.until(2000);
    assert_eq!(told, ["window@2000: <urn:x>", "store@2000: "]);
    bench.update("INSERT DATA { <urn:a> <urn:name> \"A\" }");
    bench.push(STREAM, "2100\t<urn:a> <urn:at> <urn:y> .");
    let told = bench.until(3000);
    assert_eq!(told, ["window@3000: <urn:y>", "store@3000: \"A\""]);
    bench.hub.sweep_terms();
    bench.push(STREAM, "3100\t<urn:a> <urn:at> <urn:z> .");
    let told = bench.until(4000);
    assert_eq!(told, ["window@4000: <urn:z>", "store@4000: \"A\""]);
}

/// Every kind of term, in the bodies of [`QUESTIONS`].
const ITEMS: &str = "100\t<urn:a> <urn:at> <urn:x> .
150\t<urn:b> <urn:at> <urn:x> <urn:named> .
200\t<urn:a> <urn:says> \"Hello\" .
250\t<urn:b> <urn:says> \"hello\"@en .
300\t<urn:c> <urn:says> \"12.50\"^^<http://www.w3.org/2001/XMLSchema#decimal> .
350\t<urn:c> <urn:says> \"12345.678901234567E0\"^^<http://www.w3.org/2001/XMLSchema#double> .
400\t<urn:a> <urn:knows> <urn:b> .
450\t<urn:b> <urn:knows> <urn:c> .
500\t<urn:c> <urn:knows> _:d .
550\t<urn:a> <urn:claims> <<( <urn:b> <urn:knows> <urn:c> )>> .
600\t<urn:b> <urn:claims> <<( <urn:b> <urn:says> \"hello\"@en )>> .
650\t<urn:b> <urn:claims> <<( <urn:q> <urn:says> <<( <urn:b> <urn:knows> \"7\"^^<http://www.w3.org/2001/XMLSchema#integer> )>> )>> .
700\t<urn:c> <urn:says> \"7\"^^<http://www.w3.org/2001/XMLSchema#integer> .";

/// Heads and what a window has to match.
const QUESTIONS: [(&str, &str); 16] = [
    ("SELECT ?s ?o", "?s <urn:says> ?o"),
    (
        "SELECT ?s (STR(?o) AS ?t)",
        "?s <urn:says> ?o FILTER isLiteral(?o)",
    ),
    ("SELECT ?o", "?s <urn:says> ?o FILTER (?o > 10)"),
    ("SELECT ?o", "?s <urn:says> ?o FILTER (?o = \"Hello\")"),
    ("SELECT ?o", "?s ?p ?o FILTER isIRI(?o)"),
    ("SELECT DISTINCT ?o", "?s <urn:at> ?o"),
    ("SELECT ?s ?g", "GRAPH ?g { ?s <urn:at> ?o }"),
    (
        "SELECT ?s",
        "BIND(IRI(CONCAT(\"urn:\", \"x\")) AS ?x) ?s <urn:at> ?x",
    ),
    (
        "SELECT ?s ?x",
        "VALUES ?x { <urn:x> <urn:never> } ?s <urn:at> ?x",
    ),
    ("SELECT ?x", "<urn:a> <urn:knows>+ ?x FILTER isIRI(?x)"),
    (
        "SELECT ?p (COUNT(*) AS ?n) (MIN(?o) AS ?least) (SAMPLE(?p) AS ?same)",
        "?s ?p ?o FILTER (!isBlank(?o) && ?p != <urn:claims>)",
    ),
    ("SELECT ?s ?t", "?s <urn:claims> ?t FILTER isTriple(?t)"),
    (
        "SELECT ?s ?b ?x",
        "?s <urn:claims> <<( ?b <urn:knows> ?x )>> . ?y <urn:knows> ?x",
    ),
    (
        "SELECT ?o",
        "?s <urn:claims> ?t . BIND(OBJECT(?t) AS ?o) ?b <urn:says> ?o",
    ),
    (
        "CONSTRUCT { ?o <urn:met> ?s . ?s <urn:had> <urn:made> }",
        "?s <urn:at> ?o",
    ),
    (
        "SELECT ?s",
        "?s <urn:says> ?o OPTIONAL { ?s <urn:at> ?x } FILTER (BOUND(?x) && LANG(?o) = \"en\")",
    ),
];

/// The same questions of a stream that stores nothing and of one that stores all in a graph of its own.
#[test]
fn transient_terms_answer_as_stored_ones_do() {
    let told = [Some(Vec::new()), None].map(|absorb| {
        let database = testing::empty(&writable());
        let mut hub = Hub::new(database.clone());
        let stream = HubStream {
            absorb,
            into: Some("urn:kept".to_owned()),
            ..HubStream::new(STREAM)
        };
        hub.create(&stream, 0).unwrap();
        hub.create(&HubStream::new(OTHER), 0).unwrap();
        let mut bench = Bench { database, hub };
        for (number, (head, body)) in QUESTIONS.iter().enumerate() {
            let group = if head.contains("COUNT") {
                " GROUP BY ?p ORDER BY ?p ?n"
            } else if head.starts_with("SELECT ?s ?o") {
                " ORDER BY DESC(?o) ?s"
            } else {
                ""
            };
            let text = format!(
                "{head} FROM NAMED WINDOW <urn:w> ON <{STREAM}> [RANGE PT1S STEP PT1S] \
                 WHERE {{ WINDOW <urn:w> {{ {body} }} }}{group}"
            );
            bench.register(&format!("q{number}"), &text);
        }
        bench.push(STREAM, ITEMS);
        let mut told = bench.until(1000);
        for (number, report) in told.iter_mut().enumerate() {
            let (head, rows) = report.split_once(": ").unwrap();
            let mut rows: Vec<&str> = rows.split(" | ").collect();
            if !QUESTIONS[number].0.starts_with("SELECT ?s ?o") {
                rows.sort_unstable();
            }
            *report = format!("{head}: {}", rows.join(" | "));
        }
        told
    });
    let [transient, stored] = &told;
    assert_eq!(transient.len(), QUESTIONS.len());
    for ((transient, stored), question) in transient.iter().zip(stored).zip(QUESTIONS) {
        assert_eq!(transient, stored, "{question:?}");
        assert!(!transient.ends_with(": "), "{question:?} has an answer");
    }
}

/// What a query writes into a stream that stores nothing is not stored either.
#[test]
fn a_construct_into_a_stream_gives_transient_ids() {
    let mut bench = Bench::new();
    let before = bench.counts();
    bench.register(
        "writes",
        "REGISTER STREAM <urn:made> AS CONSTRUCT { ?place <urn:was> ?new } \
         FROM NAMED WINDOW <urn:w> ON <urn:s> [RANGE PT1S STEP PT1S] WHERE { \
         WINDOW <urn:w> { ?who <urn:at> ?place } BIND(IRI(CONCAT(STR(?place), \"/new\")) AS ?new) }",
    );
    bench.register(
        "reads",
        "SELECT ?place ?new FROM NAMED WINDOW <urn:v> ON <urn:made> [RANGE PT1S STEP PT1S] \
         WHERE { WINDOW <urn:v> { ?place <urn:was> ?new } }",
    );
    bench.push(STREAM, "100\t<urn:a> <urn:at> <urn:x> .");
    let mut told = bench.until(1000);
    bench.push(STREAM, "2100\t<urn:b> <urn:at> <urn:y> .");
    told.extend(bench.until(4000));
    let has_read = told
        .iter()
        .any(|report| report.ends_with("<urn:x> <urn:x/new>"));
    assert!(has_read, "{told:?}");
    assert_eq!(bench.counts(), before);
}

/// Of an item of two quads one is stored: its terms alone are.
#[test]
fn what_is_stored_of_a_stream_is_in_the_dictionary_and_nothing_else() {
    let database = testing::empty(&writable());
    let mut hub = Hub::new(database.clone());
    let stream = HubStream {
        absorb: Some(vec!["urn:name".to_owned()]),
        ..HubStream::new(STREAM)
    };
    hub.create(&stream, 0).unwrap();
    hub.create(&HubStream::new(OTHER), 0).unwrap();
    let mut bench = Bench { database, hub };
    let body =
        "WINDOW <urn:w> { ?who <urn:at> ?place . ?place <urn:name> ?name } ?place <urn:name> ?name";
    bench.ask("q", 1, "SELECT ?who ?name", body);
    let before = bench.counts();
    bench.push(
        STREAM,
        "100\t<urn:a> <urn:at> <urn:x> .\n100\t<urn:x> <urn:name> \"X\" .",
    );
    let after = bench.counts();
    assert_eq!(
        (after.iris - before.iris, after.literals - before.literals),
        (1, 1)
    );
    assert_eq!(bench.until(1000), ["q@1000: <urn:a> \"X\""]);
    assert_eq!(bench.counts(), after);
}

/// Terms count to the budget; what passed by makes room.
#[test]
fn terms_that_pass_by_make_room_for_others() {
    let database = testing::empty(&writable());
    let mut hub = Hub::new(database.clone());
    let stream = HubStream {
        absorb: Some(Vec::new()),
        budget_bytes: 100_000,
        ..HubStream::new(STREAM)
    };
    hub.create(&stream, 0).unwrap();
    hub.create(&HubStream::new(OTHER), 0).unwrap();
    let mut bench = Bench { database, hub };
    let body = "WINDOW <urn:w> { ?who <urn:says> ?what }";
    bench.ask("q", 1, "SELECT (COUNT(*) AS ?n)", body);
    let item = |time: u64| {
        format!(
            "{time}\t<urn:a> <urn:says> \"{time}{}\" .",
            "x".repeat(20_000)
        )
    };
    for time in 0..40 {
        // Each second four of them, which is most of the budget.
        for part in 0..4 {
            bench.push(STREAM, &item(time * 1000 + part));
        }
        bench.until(time * 1000 + 1000);
    }
    let full = (0..9).map(|part| item(41_000 + part));
    let items = full.collect::<Vec<_>>().join("\n");
    let items: Vec<_> = recorded(Some("test"), items.as_bytes())
        .map(Result::unwrap)
        .collect();
    let refused = bench.hub.push(STREAM, "", None, &items, None).unwrap_err();
    assert_eq!(refused.kind, crate::error::Kind::Memory, "{refused}");
    bench.push(STREAM, &item(41_000));
}

/// A checkpoint puts another dictionary into the place of the one that there is.
#[test]
fn a_checkpoint_leaves_transient_terms_alone() {
    let disk = SimDisk::new(1, Path::new("/sim"), SimFaults::default());
    let database = Database::open_writable_on(Arc::new(disk), Path::new("/sim/store"), &writable());
    let database = database.unwrap();
    let keeper: Arc<dyn Keeper> = Arc::new(Forgetful);
    database.keep_beside(Arc::downgrade(&keeper));
    let mut bench = Bench::over(database);
    let body = "WINDOW <urn:w> { ?who <urn:at> ?place } OPTIONAL { ?place <urn:name> ?name }";
    bench.ask("q", 5, "SELECT ?who ?place ?name", body);
    let checkpoint = |bench: &Bench| bench.database.writer().unwrap().checkpoint().unwrap();
    bench.update("INSERT DATA { <urn:y> <urn:name> \"Y\" }");
    bench.push(STREAM, "100\t<urn:a> <urn:at> <urn:x> .");
    checkpoint(&bench);
    assert_eq!(bench.until(1000), ["q@1000: <urn:a> <urn:x> -"]);
    bench.update("INSERT DATA { <urn:x> <urn:name> \"X\" }");
    checkpoint(&bench);
    assert_eq!(bench.until(2000), ["q@2000: <urn:a> <urn:x> \"X\""]);
    bench.push(
        STREAM,
        "2100\t<urn:a> <urn:at> <urn:z> .\n2200\t<urn:b> <urn:at> <urn:y> .",
    );
    checkpoint(&bench);
    bench.update("INSERT DATA { <urn:z> <urn:name> \"Z\" }");
    let told = bench.until(3000);
    for row in [
        "<urn:a> <urn:x> \"X\"",
        "<urn:a> <urn:z> \"Z\"",
        "<urn:b> <urn:y> \"Y\"",
    ] {
        assert!(told[0].contains(row), "{row} in {told:?}");
    }
}

/// A question of the store alone knows nothing of what passes by.
#[test]
fn a_question_of_the_store_sees_no_transient_id() {
    let mut bench = Bench::new();
    bench.ask(
        "q",
        1,
        "SELECT ?who",
        "WINDOW <urn:w> { ?who <urn:at> ?place }",
    );
    bench.update("INSERT DATA { <urn:a> <urn:p> 1 }");
    bench.push(STREAM, "100\t<urn:a> <urn:at> <urn:x> .");
    assert!(bench.transient_terms() > 0);
    // Twice: the second time a plan is kept.
    for _ in 0..2 {
        let request = crate::Request {
            text: "SELECT ?o { <urn:a> <urn:p> ?o . <urn:x> <urn:at> ?y }",
            ..crate::Request::default()
        };
        let query = bench.database.start(&request).unwrap();
        let known: Vec<bool> = query.constants.iter().map(Option::is_some).collect();
        assert_eq!(known.iter().filter(|is_known| **is_known).count(), 2);
        let mut ids = query.constants.iter().flatten();
        assert!(ids.all(|id| id.is_stored()));
    }
    assert_eq!(bench.until(1000), ["q@1000: <urn:a>"]);
}
