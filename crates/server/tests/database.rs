//! The server over the real engine: answers of each form and format, and the inputs that end other
//! servers, while it goes on answering others.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[allow(dead_code, reason = "shared with the unit tests, which use more of it")]
#[path = "../src/tests/client.rs"]
mod client;

use client::{Answer, encoded};
use server::outbound::{AllowList, HttpServices};
use server::{Server, ServerOptions};
use somersault::load::{self, Source, Syntax, Unwatched};
use somersault::{Database, Options};
use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

const PEOPLE: usize = 2000;

/// People who know each other, with names; a graph of its own for one statement.
fn data() -> Vec<u8> {
    let mut text = String::new();
    for person in 0..PEOPLE {
        let next = (person + 1) % PEOPLE;
        writeln!(
            text,
            "<http://e/p{person}> <http://e/knows> <http://e/p{next}> ."
        )
        .unwrap();
        writeln!(
            text,
            "<http://e/p{person}> <http://e/name> \"Person {person}\"@en ."
        )
        .unwrap();
    }
    writeln!(
        text,
        "<http://e/p0> <http://e/likes> \"a,b\\tc\\n\" <http://e/graph> ."
    )
    .unwrap();
    text.into_bytes()
}

struct Served {
    address: SocketAddr,
    database: Database,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    fn new() -> Served {
        Served::with(&Options {
            query_memory_bytes: 64 << 20,
            ..Options::default()
        })
    }

    fn with(options: &Options) -> Served {
        let source = Source::chunks("people", Syntax::NQuads, std::iter::once(data()));
        let request = load::Request {
            threads: 1,
            ..load::Request::default()
        };
        let loaded = load::load_in_memory(vec![source], &request, options, &Unwatched);
        let (database, _) = loaded.unwrap();
        let bind = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let server = Server::bind(ServerOptions {
            bind,
            ..ServerOptions::default()
        })
        .unwrap();
        let address = server.address();
        let (end, ended) = oneshot::channel::<()>();
        let serving = database.clone();
        let thread = std::thread::spawn(move || {
            server.serve(serving, async { drop(ended.await) }).unwrap();
        });
        Served {
            address,
            database,
            end: Some(end),
            thread: Some(thread),
        }
    }

    fn query_as(&self, accept: &str, text: &str) -> Answer {
        let line = format!("GET /sparql?query={}", encoded(text));
        client::send(self.address, &line, &[&format!("Accept: {accept}")], b"")
    }

    fn query(&self, text: &str) -> Answer {
        self.query_as("application/sparql-results+json", text)
    }

    fn post(&self, parameters: &str, text: &str) -> Answer {
        let line = format!("POST /sparql{parameters}");
        let fields = ["Content-Type: application/sparql-query"];
        client::send(self.address, &line, &fields, text.as_bytes())
    }

    #[track_caller]
    fn still_answers(&self) {
        let answer = self.query("ASK { ?s ?p ?o }");
        assert_eq!(
            (answer.status, &answer.json()["boolean"]),
            (200, &true.into())
        );
        self.gives_back();
    }

    /// The answer does not wait for a query that gives back what it holds.
    #[track_caller]
    fn gives_back(&self) {
        let begun = Instant::now();
        while self.database.pool().used_bytes() > 0 {
            let is_soon = begun.elapsed() < Duration::from_secs(10);
            assert!(is_soon, "memory was not given back");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

#[test]
fn names_that_are_not_there_are_told() {
    let served = Served::new();
    let slip = "SELECT ?s ?nme WHERE { ?s <http://e/nmae> ?name }";
    // From the third time on the plan is kept, from the fifth on its spelling.
    for _ in 0..6 {
        let answer = served.query(slip);
        assert_eq!(
            (answer.status, answer.field("somersault-warnings")),
            (200, "2")
        );
        let told = [
            "no statement has <http://e/nmae>; <http://e/name> has 2,000",
            "?nme is bound nowhere; did you mean ?name",
        ];
        assert_eq!(answer.json()["warnings"], serde_json::json!(told));
        assert_eq!(answer.json()["results"]["bindings"], serde_json::json!([]));
    }
    for accept in ["text/csv", "application/sparql-results+xml"] {
        let answer = served.query_as(accept, slip);
        assert_eq!(answer.field("somersault-warnings"), "2");
        assert!(!answer.text().contains("no statement"), "{}", answer.text());
    }
    let graph = "ASK { GRAPH <http://e/grpah> { ?s ?p ?o } }";
    let answer = served.query(graph);
    assert_eq!(
        answer.json(),
        serde_json::json!({
            "head": {}, "boolean": false,
            "warnings": ["no graph <http://e/grpah> holds anything; there is <http://e/graph>"],
        })
    );
    let answer = served.query_as("text/turtle", "CONSTRUCT WHERE { ?s <http://e/likse> ?o }");
    assert_eq!(answer.field("somersault-warnings"), "1");
    for well in [
        "SELECT ?o { <http://e/p1> <http://e/knows> ?o }",
        "ASK { ?s ?p ?o }",
    ] {
        for _ in 0..6 {
            let answer = served.query(well);
            assert!(!answer.has("somersault-warnings"), "{answer:?}");
            assert!(answer.json().get("warnings").is_none(), "{}", answer.text());
        }
    }
}

#[test]
fn plans_are_told_instead_of_answers() {
    let served = Served::new();
    let text = "SELECT ?n { <http://e/p7> <http://e/knows> ?x . ?x <http://e/name> ?n }";
    let asked = |method: &str, explain: &str, text: &str| {
        let line = format!("{method} /sparql?explain={explain}&query={}", encoded(text));
        client::send(served.address, &line, &["Accept: text/csv"], b"")
    };
    // A plan that is kept is told of as well.
    for _ in 0..5 {
        let answer = asked("GET", "plan", text);
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.field("content-type"), "application/json");
        assert!(!answer.has("etag"), "{answer:?}");
        let plan = answer.json();
        let steps = plan["steps"].as_array().unwrap();
        assert_eq!((steps.len(), &plan["weight"]), (2, &"light".into()));
        assert_eq!(steps[0]["operator"], "expand");
        assert!(steps[0]["step"].as_str().unwrap().contains("<http://e/p7>"));
        assert!(steps[0]["expected"]["rows"].as_f64().unwrap() > 0.0);
        assert!(steps[0].get("found").is_none());
    }
    let plan = asked("GET", "profile", text).json();
    let found: Vec<&serde_json::Value> = plan["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| &step["found"]["rows"])
        .collect();
    assert_eq!(found, [1, 1]);
    let nested = "SELECT * { ?x <http://e/likes> ?y OPTIONAL { ?x <http://e/name> ?n } }";
    let plan = asked("GET", "plan", nested).json();
    let steps = plan["steps"].as_array().unwrap().iter();
    let branches = steps.map(|step| step["branches"].as_array().unwrap().len());
    assert_eq!(branches.sum::<usize>(), 1, "{plan}");
    assert_eq!(
        asked("HEAD", "plan", text).field("content-type"),
        "application/json"
    );
    let posted = served.post("?explain=profile", "ASK { ?s ?p ?o }").json();
    assert!(
        posted["steps"][0]["found"]["rows"].as_u64().unwrap() > 0,
        "{posted}"
    );
    asked("GET", "everything", text).problem(400);
    asked("GET", "plan", "SELECT ?n {").problem(400);
    served.still_answers();
}

#[test]
fn answers_in_each_format() {
    let served = Served::new();
    let name = "SELECT ?n WHERE { <http://e/p7> <http://e/name> ?n }";
    let table = [
        ("text/csv", "n\r\nPerson 7\r\n"),
        ("text/tab-separated-values", "?n\n\"Person 7\"@en\n"),
        ("application/sparql-results+json", r#""value":"Person 7""#),
        (
            "application/sparql-results+xml",
            r#"<literal xml:lang="en">Person 7</literal>"#,
        ),
    ];
    for (accept, part) in table {
        let answer = served.query_as(accept, name);
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert!(answer.text().contains(part), "{}", answer.text());
        assert!(answer.field("server-timing").contains("exec;dur="));
    }
    let likes = "SELECT ?o WHERE { GRAPH <http://e/graph> { ?s ?p ?o } }";
    assert_eq!(
        served.query_as("text/csv", likes).text(),
        "o\r\n\"a,b\tc\n\"\r\n"
    );
    assert_eq!(
        served.query_as("text/tab-separated-values", likes).text(),
        "?o\n\"a,b\\tc\\n\"\n"
    );
}

#[test]
fn large_answers_arrive_whole() {
    let served = Served::new();
    let answer = served.query("SELECT * WHERE { ?s ?p ?o }");
    assert!(answer.whole);
    assert_eq!(
        answer.json()["results"]["bindings"]
            .as_array()
            .unwrap()
            .len(),
        2 * PEOPLE
    );
    let pairs = "SELECT ?a ?b WHERE { ?a <http://e/name> ?x . ?b <http://e/name> ?y } LIMIT 100000";
    let answer = served.query_as("text/csv", pairs);
    assert!(answer.whole);
    assert_eq!(answer.text().lines().count(), 100_001);
}

#[test]
fn what_a_format_cannot_carry_is_refused_before_the_first_byte() {
    let served = Served::new();
    let part = |last: &str| {
        format!(
            "CONSTRUCT {{ ?s <http://e/x> ?o }} WHERE {{ {{ ?s <http://e/name> ?o }} UNION {{ {last} }} }}"
        )
    };
    let with_triple = part("VALUES ?s { <http://e/s> } BIND(TRIPLE(?s, <http://e/p>, 1) AS ?o)");
    let without = part("?s <http://e/knows> ?o");
    for (text, accept, status) in [
        (&with_triple, "application/ld+json", 406),
        (&without, "application/ld+json", 200),
        (&with_triple, "text/turtle", 200),
    ] {
        let answer = served.query_as(accept, text);
        assert_eq!(answer.status, status, "{accept}: {}", answer.text());
        assert!(answer.whole && answer.body.len() > 100);
        // What is finished first has a length.
        let is_counted = answer.has("content-length");
        assert!(is_counted || accept == "text/turtle", "{accept}");
    }
    served.still_answers();
}

#[test]
fn the_dataset_of_the_protocol() {
    let served = Served::new();
    let count = |answer: &Answer| {
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()["results"]["bindings"][0]["n"]["value"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let all = "SELECT (COUNT(*) AS ?n) WHERE { ?s ?p ?o }";
    let named = "SELECT (COUNT(*) AS ?n) WHERE { GRAPH ?g { ?s ?p ?o } }";
    assert_eq!(count(&served.post("", all)), (2 * PEOPLE).to_string());
    assert_eq!(
        count(&served.post("?default-graph-uri=http://e/graph", all)),
        "1"
    );
    assert_eq!(
        count(&served.post("?default-graph-uri=http://e/none", all)),
        "0"
    );
    assert_eq!(count(&served.post("", named)), "1");
    assert_eq!(
        count(&served.post("?named-graph-uri=http://e/none", named)),
        "0"
    );
    assert_eq!(
        count(&served.post("?named-graph-uri=http://e/graph", named)),
        "1"
    );
}

#[test]
fn what_does_not_parse_is_said_with_its_place() {
    let served = Served::new();
    let problem = served.query("SELECT *\nWHERE { ?s ?p }").problem(400);
    assert_eq!(problem["position"]["line"], 2, "{problem}");
    served
        .query("INSERT DATA { <http://e/a> <http://e/b> 1 }")
        .problem(400);
    let unknown = "SELECT * { ?s ?p ?o FILTER(<http://e/f>(?o)) }";
    let problem = served.query(unknown).problem(422);
    assert!(problem["position"].is_object(), "{problem}");
    let problem = served.query("CONSTRUCT WHERE { ?s ?p ?o }").problem(406);
    let offered = problem["offered"].as_array().map_or(0, Vec::len);
    assert_eq!(offered, 6, "{problem}");
    served.still_answers();
}

#[test]
fn a_bad_constant_pattern_is_an_error_of_the_text_with_its_place() {
    let served = Served::new();
    for (expression, said) in [
        (r#"REGEX(?o, "a[")"#, "a class is not closed"),
        (
            r#"REGEX(STR(?o), "(a", "i")"#,
            "a parenthesis is not closed",
        ),
        (r#"REGEX(?o, "a", "k")"#, "the flags may be"),
        (r#"REPLACE(?o, "*", "b") = "b""#, "nothing before it"),
        (
            r#"BOUND(?s) || REPLACE(?o, "a", "b", "?") = "b""#,
            "the flags may be",
        ),
    ] {
        let select = format!("SELECT * {{\n ?s ?p ?o\n FILTER({expression}) }}");
        let problem = served.query(&select).problem(400);
        assert_eq!(problem["position"]["line"], 3, "{problem}");
        let column = problem["position"]["column"].as_u64();
        assert!(column.is_some_and(|column| column > 8), "{problem}");
        let detail = problem["detail"].as_str().unwrap_or_default();
        assert!(detail.contains(said), "{problem}");
        // Nobody asks for the rows: the text is refused before any is looked at.
        let nothing = format!("ASK {{ <http://e/none> <http://e/none> ?o FILTER({expression}) }}");
        served.query(&nothing).problem(400);
    }
    // The same pattern out of a row is an error of this row only.
    let computed = r#"ASK { VALUES ?pattern { "a[" "a" } FILTER(REGEX("a", ?pattern)) }"#;
    assert_eq!(served.query(computed).status, 200);
    served.still_answers();
}

#[test]
fn deep_and_large_texts_are_refused() {
    let served = Served::new();
    let nested = |open: &str, close: &str, depth: usize| {
        format!(
            "ASK {{ ?s ?p ?o FILTER({}true{}) }}",
            open.repeat(depth),
            close.repeat(depth)
        )
    };
    served.post("", &nested("(", ")", 10_000)).problem(422);
    served.post("", &nested("!", "", 10_000)).problem(422);
    let groups = format!("ASK {}{}", "{".repeat(10_000), "}".repeat(10_000));
    served.post("", &groups).problem(422);
    served
        .post("", &format!("ASK {{ }} #{}", "x".repeat(2 << 20)))
        .problem(413);
    served.still_answers();
}

#[test]
fn an_endless_cross_product_ends_at_its_deadline() {
    let served = Served::new();
    let endless = "SELECT (COUNT(*) AS ?n) WHERE { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }";
    let begun = Instant::now();
    let problem = served.post("?timeout=0.5", endless).problem(504);
    let taken = begun.elapsed();
    assert!(
        taken >= Duration::from_millis(500) && taken < Duration::from_secs(10),
        "{taken:?}"
    );
    assert_eq!(
        (&problem["limit"], &problem["unit"]),
        (&500.into(), &"ms".into())
    );
    served.still_answers();
}

#[test]
fn sorting_what_is_endless_ends_at_its_memory_or_its_deadline() {
    let served = Served::with(&Options {
        query_memory_bytes: 4 << 20,
        ..Options::default()
    });
    let sorted = "SELECT * WHERE { ?a ?b ?c . ?d ?e ?f } ORDER BY ?c ?f";
    let begun = Instant::now();
    let problem = served.post("?timeout=20", sorted).problem(507);
    assert!(
        problem["limit"].is_number() && problem["used"].is_number(),
        "{problem}"
    );
    assert!(begun.elapsed() < Duration::from_secs(15));
    served.still_answers();
}

/// A product that no operator may outlive.
const PRODUCT: &str = "?a ?b ?c . ?d ?e ?f . ?g ?h ?i";

/// Queries that end at their deadline or their memory, whatever operator holds them.
fn endless() -> Vec<String> {
    let doubling: Vec<String> = (0..30)
        .map(|step| format!("BIND(CONCAT(?x{step}, ?x{step}) AS ?x{})", step + 1))
        .collect();
    let values: Vec<String> = (0..6)
        .map(|column| {
            let cells: Vec<String> = (0..200).map(|cell| cell.to_string()).collect();
            format!("VALUES ?v{column} {{ {} }}", cells.join(" "))
        })
        .collect();
    vec![
        format!("SELECT * {{ {PRODUCT} }} ORDER BY ?a ?d"),
        format!("SELECT ?a ?d (COUNT(*) AS ?n) {{ {PRODUCT} }} GROUP BY ?a ?d ?g"),
        format!("SELECT (GROUP_CONCAT(STR(?c)) AS ?n) {{ {PRODUCT} }}"),
        format!("SELECT (SUM(STRLEN(?c)) AS ?n) {{ {PRODUCT} FILTER(?a != ?d) }}"),
        format!("SELECT * {{ {PRODUCT} MINUS {{ ?a ?x ?y . ?g ?z ?w }} }}"),
        format!("SELECT (COUNT(*) AS ?n) {{ {PRODUCT} FILTER EXISTS {{ ?x ?y ?i . ?k ?l ?m FILTER(?x != ?k) }} }}"),
        "SELECT (COUNT(*) AS ?n) { ?a ?b ?c OPTIONAL { ?d ?e ?f OPTIONAL { ?g ?h ?i FILTER(STR(?i) > STR(?f)) } } }".to_owned(),
        "SELECT (COUNT(*) AS ?n) { ?a (!<x:y>|!^<x:y>)* ?b . ?c (!<x:y>)+ ?d }".to_owned(),
        format!("SELECT * {{ {{ SELECT ?a ?d {{ {PRODUCT} }} ORDER BY ?d LIMIT 10 }} ?a ?b ?c }}"),
        format!("SELECT (COUNT(*) AS ?n) {{ {} FILTER(?v0 + ?v1 + ?v2 + ?v3 + ?v4 + ?v5 = 7) }}", values.join(" ")),
        format!("SELECT (COUNT(?a) AS ?n) {{ {{ {PRODUCT} }} UNION {{ {PRODUCT} FILTER(?a = ?g) }} }}"),
        "SELECT * { ?a ?b ?c LATERAL { SELECT ?d { ?d ?e ?f . ?g ?h ?i FILTER(?i != ?c) } ORDER BY ?i LIMIT 1 } }".to_owned(),
        format!("SELECT ?x30 {{ BIND(\"xxxxxxxxxxxxxxxx\" AS ?x0) {} }}", doubling.join(" ")),
    ]
}

#[test]
fn no_operator_outlives_its_query() {
    let served = Served::new();
    for text in endless() {
        let begun = Instant::now();
        let answer = served.post("?timeout=0.3", &text);
        let status = answer.status;
        assert!(
            matches!(status, 504 | 507),
            "{status} for {text}: {}",
            answer.text()
        );
        assert!(begun.elapsed() < Duration::from_secs(10), "{text}");
        served.gives_back();
    }
    served.still_answers();
}

#[test]
fn a_client_that_goes_frees_everything_at_once() {
    let served = Served::new();
    let queries = [
        "SELECT * WHERE { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }",
        "SELECT (COUNT(*) AS ?n) WHERE { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }",
    ];
    for text in queries {
        let mut stream = client::connect(served.address);
        let line = format!("GET /sparql?query={}", encoded(text));
        client::request(&mut stream, &line, &[], b"");
        let begun = Instant::now();
        while served.database.running().list().is_empty() {
            assert!(begun.elapsed() < Duration::from_secs(5));
        }
        std::thread::sleep(Duration::from_millis(100));
        let begun = Instant::now();
        drop(stream);
        while !served.database.running().list().is_empty() {
            assert!(begun.elapsed() < Duration::from_secs(10), "{text}");
            std::thread::sleep(Duration::from_millis(1));
        }
        served.still_answers();
    }
}

/// Accepts connections and says nothing.
fn silent_endpoint() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/sparql", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let mut open = Vec::new();
        while let Ok((stream, _)) = listener.accept() {
            open.push(stream);
        }
    });
    address
}

#[test]
fn a_call_of_service_that_hangs_goes_with_its_client() {
    let endpoint = silent_endpoint();
    let allowed = AllowList::new([endpoint.as_str()]).unwrap();
    let served = Served::with(&Options {
        service: Some(std::sync::Arc::new(HttpServices::new(allowed))),
        ..Options::default()
    });
    for silent in ["", "SILENT"] {
        let text = format!("SELECT * {{ ?a ?b ?c SERVICE {silent} <{endpoint}> {{ ?d ?e ?f }} }}");
        let mut stream = client::connect(served.address);
        let line = format!("GET /sparql?query={}", encoded(&text));
        client::request(&mut stream, &line, &[], b"");
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(served.database.running().list().len(), 1, "it waits");
        let begun = Instant::now();
        drop(stream);
        while !served.database.running().list().is_empty() {
            assert!(begun.elapsed() < Duration::from_secs(20), "{text}");
            std::thread::sleep(Duration::from_millis(1));
        }
        served.still_answers();
    }
}

#[test]
fn the_description_names_the_graphs() {
    let served = Served::new();
    let fields = ["Accept: application/n-triples"];
    let answer = client::send(served.address, "GET /sparql", &fields, b"");
    let text = answer.text();
    let name = "<http://www.w3.org/ns/sparql-service-description#name> <http://e/graph> .";
    assert!(text.contains(name), "{text}");
    // Statements of all graphs are not the default graph's.
    assert!(!text.contains("void#triples"), "{text}");
}

#[test]
fn metrics_show_the_store() {
    let served = Served::new();
    let metrics = client::send(served.address, "GET /metrics", &[], b"");
    let quads = format!("somersault_store_quads {}\n", 2 * PEOPLE + 1);
    assert!(metrics.text().contains(&quads), "{}", metrics.text());
}

/// The first texts of a shape are answered by an engine thread, later ones by the thread that reads them;
/// nobody can tell but by the time.
#[test]
fn a_known_shape_is_answered_alike() {
    let served = Served::new();
    let ask = |person: usize| {
        let text = format!("SELECT ?o {{ <http://e/p{person}> <http://e/knows> ?o }}");
        let answer = served.query_as("text/tab-separated-values", &text);
        assert_eq!(answer.status, 200);
        let head = ["query-id", "server-timing", "somersault-snapshot", "vary"];
        let names = head.map(|name| !answer.field(name).is_empty());
        (answer.text().lines().count(), names)
    };
    let first = ask(1);
    assert_eq!(first.1, [true; 4]);
    for _ in 0..5 {
        assert_eq!(ask(1), first);
    }
    let nobody = ask(999_999);
    assert_eq!((nobody.0, nobody.1), (1, first.1));
    assert!(served.database.plan_figures().hits >= 4);
    served.still_answers();
}

/// What a thread with other connections cannot be held up by goes to an engine thread: a long answer,
/// and a walk that takes longer than its plan's estimate.
#[test]
fn a_known_shape_may_still_have_a_long_answer() {
    let served = Served::new();
    let text = "SELECT * { ?s ?p ?o }";
    let first = served.query_as("text/csv", text);
    assert!(first.body.len() > 70_000, "{}", first.body.len());
    for _ in 0..4 {
        let again = served.query_as("text/csv", text);
        assert_eq!((again.status, again.body.len()), (200, first.body.len()));
    }
    let long = "SELECT (COUNT(*) AS ?n) { ?a <http://e/knows> ?b . ?c <http://e/knows> ?d \
                FILTER(STRLEN(CONCAT(STR(?b), STR(?c))) > 3) }";
    for _ in 0..4 {
        let line = format!("GET /sparql?timeout=1&query={}", encoded(long));
        let answer = client::send(served.address, &line, &[], b"");
        assert!(matches!(answer.status, 200 | 504), "{}", answer.status);
    }
    served.still_answers();
}

#[test]
fn variables_are_bound_by_parameters() {
    let served = Served::new();
    let query = encoded("SELECT ?p ?x { ?p <http://e/knows> ?x OPTIONAL { ?x <http://e/no> ?y } }");
    let csv = |parameters: &str| {
        let line = format!("GET /sparql?query={query}&format=csv&{parameters}");
        let answer = client::send(served.address, &line, &[], b"");
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.text().to_owned()
    };
    let x = encoded("<http://e/p7>");
    assert_eq!(
        csv(&format!("$x={x}")),
        "p,x\r\nhttp://e/p6,http://e/p7\r\n"
    );
    assert_eq!(csv(&format!("$x={x}&$p={x}")), "p,x\r\n");
    assert_eq!(csv("$x=5"), "p,x\r\n");
    assert_eq!(csv("limit=3").lines().count(), 4);
    assert_eq!(csv("limit=3&offset=1999").lines().count(), 2);
    // One that is kept as a plan is asked with and without.
    for _ in 0..3 {
        assert_eq!(csv("").lines().count(), PEOPLE + 1);
    }
    assert_eq!(csv(&format!("$x={x}")).lines().count(), 2);
    for bad in [
        "$z=5",
        "$x=5+6",
        "$x=_:b",
        "$x=%3Chttp://e/%20%3E",
        "$x=e:x",
        "$x=1%20%7D",
    ] {
        let line = format!("GET /sparql?query={query}&{bad}");
        client::send(served.address, &line, &[], b"").problem(400);
    }
    let ask = encoded("ASK { ?p ?q ?x }");
    let line = format!("GET /sparql?query={ask}&limit=1");
    client::send(served.address, &line, &[], b"").problem(400);
}

/// A value for a variable is what the term is in its place, however the text is grouped.
#[test]
fn a_value_for_a_variable_is_seen_in_all_groups() {
    let served = Served::new();
    let knows = "<http://e/knows>";
    let term = "<http://e/p7>";
    let csv = |query: &str, parameter: &str| {
        let line = format!("GET /sparql?query={}&format=csv{parameter}", encoded(query));
        let answer = client::send(served.address, &line, &[], b"");
        assert_eq!(answer.status, 200, "{query}: {}", answer.text());
        answer.text().to_owned()
    };
    for (query, rows) in [
        ("SELECT ?s { { ?s K ?o FILTER(?o = ?x) } ?o K ?y }", 1),
        ("SELECT ?s { ?o K ?y { ?s K ?o FILTER(?o = ?x) } }", 1),
        (
            "SELECT ?s { ?s K ?x { ?x K ?y OPTIONAL { ?y K ?z FILTER(?z != ?x) } } }",
            1,
        ),
        (
            "SELECT ?s ?y { ?s K ?y { ?y K ?o OPTIONAL { ?o K ?x } } FILTER(?s = <http://e/p1>) }",
            1,
        ),
        (
            "SELECT ?y { ?s K ?y { ?y K ?o MINUS { ?y K ?x } } FILTER(?s IN (<http://e/p5>, <http://e/p1>)) }",
            1,
        ),
        (
            "SELECT ?s { { ?s K ?o FILTER(?o = ?x) } UNION { ?x K ?s } }",
            2,
        ),
        ("SELECT ?s { ?s K ?x { SELECT ?x { ?y K ?x } LIMIT 1 } }", 1),
    ] {
        let query = query.replace('K', knows);
        let given = csv(&query, &format!("&$x={}", encoded(term)));
        assert_eq!(given.lines().count(), rows + 1, "{query}: {given}");
        // A sub-query cannot project a term.
        if !query.contains("SELECT ?x") {
            assert_eq!(given, csv(&query.replace("?x", term), ""), "{query}");
        }
    }
    // Another variable of that name.
    let query = format!(
        "SELECT ?s {{ ?s {knows} ?x {{ SELECT ?s {{ ?s {knows} ?x FILTER(?x != {term}) }} }} }}"
    );
    let given = csv(&query, &format!("&$x={}", encoded(term)));
    assert_eq!(given.lines().count(), 1, "{given}");
    let line = format!(
        "GET /sparql?$x=1&query={}",
        encoded("SELECT * { BIND(1 AS ?x) }")
    );
    client::send(served.address, &line, &[], b"").problem(400);
}
