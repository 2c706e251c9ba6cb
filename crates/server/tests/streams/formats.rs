//! Reports and the answers of live queries in every format that a one-shot query's answer has, behind each door.

use super::client::{Answer, encoded};
use super::served::*;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const REPORTS: &str = "/api/v1/continuous/q/reports";
const CSV: &str = "who,what\r\nhttp://e/p0,http://e/x\r\n";

const GRAPH: &str = "#@ report=close,nonempty
PREFIX : <http://e/>
CONSTRUCT { ?what :likedBy ?who }
FROM NAMED WINDOW :w ON <http://e/likes-stream> [RANGE PT1S STEP PT1S]
WHERE { WINDOW :w { ?who :likes ?what } }";

const ASK: &str = "#@ report=close,nonempty
PREFIX : <http://e/>
ASK FROM NAMED WINDOW :w ON <http://e/likes-stream> [RANGE PT1S STEP PT1S]
WHERE { WINDOW :w { ?who :likes ?what } }";

const REVISED: &str = "#@ report=close,nonempty late=revise lateness=10s
PREFIX : <http://e/>
SELECT (COUNT(*) AS ?likes)
FROM NAMED WINDOW :w ON <http://e/likes-stream> [RANGE PT1S STEP PT1S]
WHERE { WINDOW :w { ?who :likes ?what } }";

impl Served {
    fn reports_as(&self, query: &str, parameters: &str, accept: &str) -> Answer {
        let line = format!("GET /api/v1/continuous/{query}/reports{parameters}");
        let accept = format!("Accept: {accept}");
        let fields: &[&str] = if accept.len() > "Accept: ".len() {
            &[&accept]
        } else {
            &[]
        };
        self.send(&line, fields, "")
    }
}

/// Query, media type, name of the format, how the document begins, and what it holds.
#[rustfmt::skip]
const DOCUMENTS: [[&str; 5]; 12] = [
    ["q", "text/csv", "csv", "who,what\r\n", "http://e/p0,http://e/x"],
    ["q", "text/tab-separated-values", "tsv", "?who\t?what\n", "<http://e/p0>\t<http://e/x>"],
    ["q", "application/sparql-results+xml", "xml", "<?xml", "<uri>http://e/p0</uri>"],
    ["q", "application/sparql-results+json", "json", "{\"head\"", "\"http://e/p0\""],
    ["graph", "text/turtle", "turtle", "<http://e/x>", "<http://e/p0>"],
    ["graph", "application/n-triples", "nt", "<http://e/x>", "<http://e/likedBy> <http://e/p0> .\n"],
    ["graph", "application/n-quads", "nquads", "<http://e/x>", "<http://e/p0> .\n"],
    ["graph", "application/trig", "trig", "<http://e/x>", "<http://e/p0>"],
    ["graph", "application/rdf+xml", "rdfxml", "<?xml", "http://e/p0"],
    ["graph", "application/ld+json", "jsonld", "[", "http://e/p0"],
    ["ask", "text/csv", "csv", "true", "true"],
    ["ask", "application/sparql-results+xml", "xml", "<?xml", "<boolean>true</boolean>"],
];

#[test]
fn a_report_is_a_document_in_the_format_asked_for() {
    let served = Served::asked();
    served.register("graph", GRAPH);
    served.register("ask", ASK);
    served.like_in(0..2);
    for [query, accept, format, begins, holds] in DOCUMENTS {
        let by_accept = served.reports_as(query, "", accept);
        assert_eq!(by_accept.status, 200, "{by_accept:?}");
        let media_type = by_accept.field("content-type");
        assert!(media_type.starts_with(accept), "{media_type}");
        let text = by_accept.text();
        assert!(
            text.starts_with(begins) && text.contains(holds),
            "{accept}: {text}"
        );
        for (name, value) in [
            ("report", "1"),
            ("close", "1000"),
            ("query", query),
            ("missed", "0"),
        ] {
            assert_eq!(
                by_accept.field(&format!("somersault-{name}")),
                value,
                "{name}"
            );
        }
        let by_name = served.reports_as(query, &format!("?format={format}"), "");
        assert_eq!(by_name.text(), text, "{format}");
        let next = served.reports_as(query, &format!("?after=1&format={format}"), "");
        assert_eq!(next.field("somersault-report"), "2");
    }
}

#[test]
fn what_is_not_offered_is_refused_with_what_is() {
    let served = Served::asked();
    served.register("graph", GRAPH);
    for (query, parameters, accept, offered) in [
        ("q", "", "image/png", "text/csv"),
        ("q", "", "text/turtle", "application/json"),
        ("q", "?format=turtle", "", "text/event-stream"),
        ("graph", "", "text/csv", "text/turtle"),
        ("graph", "?format=csv", "", "application/ld+json"),
        ("q", "?format=turtle", "text/event-stream", "text/csv"),
    ] {
        let problem = served.reports_as(query, parameters, accept).problem(406);
        let listed = problem["offered"].as_array().unwrap();
        assert!(listed.contains(&json!(offered)), "{problem}");
    }
    let refused = served.handshake(&format!("{REPORTS}?format=turtle"), &[]);
    refused.err().unwrap().problem(406);
    served.reports_as("q", "?format=nonsense", "").problem(400);
    served.reports_as("q", "?part=told", "").problem(400);
    served.reports_as("none", "?format=csv", "").problem(404);
    // JSON of our own is what is given where nothing else is asked for, or it is.
    for accept in ["", "*/*", "application/json", "text/html, */*;q=0.8"] {
        let answer = served.reports_as("q", "", accept);
        assert_eq!(answer.json()["last"], 0, "{accept}");
    }
}

#[test]
fn a_long_poll_waits_for_a_document() {
    let served = Served::asked();
    let begun = Instant::now();
    let none = served.reports_as("q", "?wait=300ms", "text/csv");
    assert_eq!((none.status, none.body.len()), (204, 0));
    assert!(begun.elapsed() >= Duration::from_millis(300));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| served.reports_as("q", "?wait=20s", "text/csv"));
        served.until_consumers(1);
        served.like_in(0..1);
        assert_eq!(waiting.join().unwrap().text(), CSV);
    });
    let head = served.send(&format!("HEAD {REPORTS}?format=csv"), &[], "");
    assert_eq!((head.status, head.field("somersault-report")), (200, "1"));
}

#[test]
fn events_have_documents_line_by_line() {
    let served = Served::asked();
    let mut events = served.events("?format=csv", &[]);
    served.like_in(0..2);
    assert_eq!(
        events.block(),
        [
            "id: 1",
            "close: 1000",
            "query: q",
            "data: who,what",
            "data: http://e/p0,http://e/x"
        ]
    );
    assert_eq!(events.block()[..2], ["id: 2", "close: 2000"]);
    // Who comes back goes on.
    let mut resumed = served.events("?format=tsv", &["Last-Event-ID: 1"]);
    assert_eq!(
        resumed.block(),
        [
            "id: 2",
            "close: 2000",
            "query: q",
            "data: ?who\t?what",
            "data: <http://e/p1>\t<http://e/x>"
        ]
    );
}

#[test]
fn messages_have_a_document_as_a_member() {
    let served = Served::asked();
    let mut socket = served.socket(&format!("{REPORTS}?format=csv"), &[]);
    served.like_in(0..1);
    assert_eq!(
        socket.json(),
        json!({ "number": 1, "close": 1000, "query": "q", "format": "text/csv", "document": CSV })
    );
}

#[test]
fn a_revision_has_what_is_told_and_what_is_taken_back() {
    let served = Served::new();
    served.stream(LIKES, json!({}));
    served.register("r", REVISED);
    served.like_in(0..2);
    let late = "600\t<http://e/late> <http://e/likes> <http://e/x> .\n";
    assert_eq!(served.pushed("", TS, late)["late"], 1);
    let revision = served.reports_as("r", "?after=2&format=csv&wait=10s", "");
    assert_eq!(revision.field("somersault-revision"), "1");
    assert_eq!(
        (revision.text(), revision.field("somersault-close")),
        ("likes\r\n2\r\n", "1000")
    );
    let removed = served.reports_as("r", "?after=2&format=csv&part=removed", "");
    assert_eq!(removed.text(), "likes\r\n1\r\n");
    served
        .reports_as("r", "?format=csv&part=removed", "")
        .problem(404);
    served
        .reports_as("r", "?format=csv&part=both", "")
        .problem(400);
    let mut events = served.events_of("GET /api/v1/continuous/r/reports?format=csv&after=2", &[]);
    let fields = ["close: 1000", "query: r", "revision: 1", "data: likes"];
    assert_eq!(
        events.block(),
        [&["event: removed"], &fields[..], &["data: 1"]].concat()
    );
    assert_eq!(
        events.block(),
        [&["id: 3"], &fields[..], &["data: 2"]].concat()
    );
    let path = "/api/v1/continuous/r/reports?format=csv&after=2";
    let message = served.socket(path, &[]).json();
    assert_eq!(
        message,
        json!({
            "number": 3, "close": 1000, "query": "r", "revision": 1, "format": "text/csv",
            "document": "likes\r\n2\r\n", "removed": "likes\r\n1\r\n",
        })
    );
}

const ALL: &str = "SELECT ?o { ?s <http://e/p> ?o }";

fn live(query: &str, parameters: &str) -> String {
    format!("/api/v1/subscribe?query={}{parameters}", encoded(query))
}

fn insert(served: &Served, number: u64) {
    let text = format!("INSERT DATA {{ <http://e/s> <http://e/p> {number} }}");
    let field = ["Content-Type: application/sparql-update"];
    assert_eq!(served.send("POST /update", &field, &text).status, 204);
}

#[test]
fn a_live_query_is_a_document_as_often_as_its_answer_is_another() {
    let served = Served::new();
    let get = |path: &str, fields: &[&str]| served.send(&format!("GET {path}"), fields, "");
    let answer = get(&live(ALL, ""), &["Accept: text/csv"]);
    assert_eq!((answer.status, answer.text()), (200, "o\r\nhttp://e/o\r\n"));
    let id = answer.field("somersault-event").to_owned();
    let after = format!("&format=csv&after={id}&wait=300ms");
    assert_eq!(get(&live(ALL, &after), &[]).status, 204);
    insert(&served, 7);
    let answer = get(&live(ALL, &after), &[]);
    assert_eq!(answer.status, 200);
    let mut lines: Vec<&str> = answer.text().lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["7", "http://e/o", "o"]);
    assert_ne!(answer.field("somersault-event"), id);
    let graph = "CONSTRUCT { ?s <http://e/has> ?o } WHERE { ?s <http://e/p> ?o }";
    let answer = get(&live(graph, ""), &["Accept: application/n-triples"]);
    assert_eq!(answer.text().lines().count(), 2);
    let ask = get(&live("ASK { ?s ?p 7 }", "&format=csv"), &[]);
    assert_eq!(ask.text().trim_end(), "true");
    for (query, parameters, accept) in [
        (ALL, "&format=turtle", ""),
        (ALL, "", "Accept: image/png"),
        (graph, "&format=csv", ""),
        (ALL, "&format=turtle", EVENTS),
    ] {
        let fields: &[&str] = if accept.is_empty() { &[] } else { &[accept] };
        let problem = get(&live(query, parameters), fields).problem(406);
        let listed = problem["offered"].as_array().unwrap();
        assert!(listed.contains(&json!("application/json")), "{problem}");
    }
    get(&live(ALL, "&format=nonsense"), &[]).problem(400);
}

#[test]
fn differences_are_two_documents() {
    let served = Served::new();
    let mut events = served.events_of(&format!("GET {}", live(ALL, "&format=csv")), &[]);
    let answer = events.block();
    assert_eq!(answer[0], "event: answer");
    assert_eq!(answer[2..], ["snapshot: 0", "data: o", "data: http://e/o"]);
    let mut socket = served.socket(&live(ALL, "&format=tsv"), &[]);
    let answer = socket.json();
    assert_eq!(
        (&answer["type"], &answer["document"], &answer["format"]),
        (
            &json!("answer"),
            &json!("?o\n<http://e/o>\n"),
            &json!("text/tab-separated-values")
        )
    );
    insert(&served, 7);
    let removed = events.block();
    assert_eq!(
        removed,
        ["event: removed", "snapshot: 1", "since: 0", "data: o"]
    );
    let added = events.block();
    assert_eq!(added[0], "event: added");
    assert!(added[1].starts_with("id: 1-"), "{added:?}");
    assert_eq!(
        added[2..],
        ["snapshot: 1", "since: 0", "data: o", "data: 7"]
    );
    let change = socket.json();
    assert_eq!(
        (
            &change["type"],
            &change["added"],
            &change["removed"],
            &change["since"]
        ),
        (
            &json!("difference"),
            &json!("?o\n7\n"),
            &json!("?o\n"),
            &json!(0)
        )
    );
    let mut ask = served.socket(&live("ASK { ?s ?p 8 }", "&format=csv"), &[]);
    let told = |message: Value| (message["type"].clone(), message["document"].clone());
    assert_eq!(
        told(ask.json()).1.as_str().map(str::trim_end),
        Some("false")
    );
    insert(&served, 8);
    let (kind, document) = told(ask.json());
    assert_eq!(
        (kind, document.as_str().map(str::trim_end)),
        (json!("difference"), Some("true"))
    );
}
