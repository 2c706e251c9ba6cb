//! Looking inside a graph in parts: what a plan says of its sections, before it is walked and after.

use crate::support::loaded;
use serde_json::Value;
use somersault::nodes::{AskedAt, Deal, Mode, NodeOptions, Placement};
use somersault::output::Collected;
use somersault::{Database, Options, PlanDocument, Request};
use testkit::graph::Format;

const TEXT: &str = "PREFIX e: <http://e/> \
    SELECT ?x ?z { ?x a e:C . ?x e:p ?y . ?y e:p ?z . e:9 e:q ?z }";

/// Vertices in a ring, each with a class, and one with edges of its own.
fn graph() -> String {
    let ring = (0..60u64).map(|at| {
        let next = (at * 7 + 1) % 60;
        format!("<http://e/{at}> a <http://e/C> ; <http://e/p> <http://e/{next}> .\n")
    });
    let hub = (0..60).map(|at| format!("<http://e/9> <http://e/q> <http://e/{at}> .\n"));
    ring.chain(hub).collect()
}

/// The graph over so many nodes, in blocks of four ids.
fn spread(nodes: u16) -> Database {
    let placement = Placement::in_turn(nodes, 2, 64).expect("a placement");
    let whole = loaded(&graph(), Format::Turtle, 1).expect("it loads");
    let nodes = NodeOptions::default();
    let spread = whole.in_nodes(&Deal::By(placement), &nodes, &Options::default());
    spread.expect("the nodes start")
}

fn request(execution: Mode) -> Request<'static> {
    Request {
        execution: Some(execution),
        keep_order: true,
        ..Request::new(TEXT)
    }
}

/// The sections of a plan's document, each as its steps, its place, what its questions mean, and how rows come to it.
fn sections(document: &Value) -> Vec<String> {
    let sections = document["parts"]["sections"].as_array();
    let sections = sections.expect("it is over parts").iter();
    let line = |section: &Value| {
        let [walked, questions, rows] =
            ["walked", "questions", "rows"].map(|name| section[name].as_str().unwrap_or("-"));
        format!("{} {walked}; {questions}; {rows}", section["steps"])
    };
    sections.map(line).collect()
}

#[test]
fn a_plan_over_parts_says_where_its_sections_are_walked() {
    let database = spread(3);
    let common = |rows: &str| {
        [
            // Each node finds what it owns, and goes on with it.
            "[0,2] on every node; members; begin there".to_owned(),
            format!("[2,3] by the owner of ?y; members; {rows}"),
            format!("[3,4] by the owner of ?z; members; {rows}"),
            "[4,4] where the query is asked; members; shipped there".to_owned(),
        ]
    };
    let fetched = "stay, and what they need is fetched";
    let chosen = "shipped there, or stay and what they need is fetched: chunk by chunk";
    for (execution, name, rows) in [
        (Mode::InPlace, "in-place", fetched),
        (Mode::ForkJoin, "fork-join", "shipped there"),
        (Mode::Dynamic, "dynamic", chosen),
    ] {
        let query = database.start(&request(execution)).expect("it is planned");
        let document = query.plan_document();
        let read: Value = serde_json::from_str(&document).expect("it is JSON");
        assert_eq!(sections(&read), common(rows), "{}", query.explain());
        let parts = &read["parts"];
        assert_eq!(
            (&parts["nodes"], &parts["execution"]),
            (&3.into(), &name.into())
        );
        let printed = PlanDocument::read(&document).expect("it is one").explain();
        assert_eq!(printed, query.explain(), "read back it is printed alike");
        let head = format!("over 3 nodes, {name}\n");
        assert!(printed.contains(&head), "{printed}");
    }
    let one = "PREFIX e: <http://e/> SELECT * { e:9 e:q ?z }";
    let asked = |execution| {
        let request = Request {
            execution: Some(execution),
            ..Request::new(one)
        };
        let query = database.start(&request).expect("it is planned");
        let read: Value = serde_json::from_str(&query.plan_document()).expect("it is JSON");
        sections(&read)
    };
    let alone = "[0,1] where the query is asked; whole; begin there";
    assert_eq!(
        asked(Mode::Dynamic),
        [alone],
        "it is light, and others' lists are read"
    );
    let first = &asked(Mode::ForkJoin)[0];
    let is_told = first.starts_with("[0,1] by node ") && first.contains(", the owner of e:9; ");
    assert!(is_told && first.ends_with("begin there"), "{first}");
    let whole = loaded(&graph(), Format::Turtle, 1).expect("it loads");
    let query = whole.start(&Request::new(TEXT)).expect("it is planned");
    assert!(!query.plan_document().contains("\"parts\""));
}

/// The plan's document and its text after a run that was profiled, and the rows of the answer.
fn profiled(database: &Database, request: &Request<'_>) -> (Value, u64) {
    let mut query = database.start(request).expect("it is planned");
    query.enable_profile();
    let finished = query
        .run(&mut Collected::default())
        .expect("it is answered");
    let document = query.plan_document();
    let printed = PlanDocument::read(&document).expect("it is one");
    assert_eq!(printed.explain_profile(), query.explain_profile());
    let document = serde_json::from_str(&document).expect("it is JSON");
    (document, finished.rows)
}

/// A figure of a section over all nodes; `name` is a path of its document.
fn sum(section: &Value, name: &str) -> u64 {
    let nodes = section["nodes"].as_array().into_iter().flatten();
    let figure = |node: &Value| node.pointer(name).and_then(Value::as_u64);
    nodes.map(|node| figure(node).expect("a figure")).sum()
}

/// Rows that each step gave.
fn found(document: &Value) -> Vec<u64> {
    let steps = document["steps"].as_array().expect("steps").iter();
    steps
        .map(|step| step["found"]["rows"].as_u64().expect("it was profiled"))
        .collect()
}

/// What all nodes have shipped and fetched, once none of them walks anything.
fn totals(database: &Database) -> [u64; 6] {
    let parts = database.parts().expect("it is in parts");
    while parts.nodes().iter().any(|node| node.queries() > 0) {
        std::thread::yield_now();
    }
    let mut totals = [0; 6];
    for node in parts.nodes() {
        let figures = node.figures();
        let (shipped, fetched) = (figures.shipped, figures.fetched);
        let of_node = [
            shipped.tables,
            shipped.rows,
            shipped.bytes,
            shipped.kept,
            fetched.questions,
            fetched.lists,
        ];
        for (total, one) in totals.iter_mut().zip(of_node) {
            *total += one;
        }
    }
    totals
}

#[test]
fn a_profile_over_parts_agrees_with_what_the_nodes_did() {
    let whole = loaded(&graph(), Format::Turtle, 1).expect("it loads");
    let forced = Request {
        execution: None,
        ..request(Mode::Dynamic)
    };
    let (expected, rows) = profiled(&whole, &forced);
    let database = spread(3);
    for execution in [Mode::InPlace, Mode::ForkJoin, Mode::Dynamic] {
        let before = totals(&database);
        let (document, answered) = profiled(&database, &request(execution));
        let after = totals(&database);
        assert_eq!(answered, rows, "{execution:?}");
        assert_eq!(
            found(&document),
            found(&expected),
            "{execution:?}: rows of steps"
        );
        let sections = document["parts"]["sections"].as_array().expect("sections");
        for pair in sections.windows(2) {
            let (given, taken) = (sum(&pair[0], "/rows_out"), sum(&pair[1], "/rows_in"));
            assert_eq!(taken, given, "{execution:?}: {pair:#?}");
        }
        let last = sections.last().expect("a section");
        assert_eq!(sum(last, "/rows_out"), rows);
        let all = |name: &str| {
            sections
                .iter()
                .map(|section| sum(section, name))
                .sum::<u64>()
        };
        let counted = [
            "/shipped/tables",
            "/shipped/rows",
            "/shipped/bytes",
            "/kept",
            "/fetched/questions",
            "/fetched/lists",
        ]
        .map(all);
        let grown: Vec<u64> = after
            .iter()
            .zip(before)
            .map(|(now, then)| now - then)
            .collect();
        assert_eq!(
            counted[..],
            grown[..],
            "{execution:?}: of sections, of nodes"
        );
        let [_, shipped, _, kept, _, lists] = counted;
        match execution {
            Mode::InPlace => assert!(shipped == 0 && kept > 0 && lists > 0, "{counted:?}"),
            Mode::ForkJoin => assert!(shipped > 0 && kept == 0 && lists == 0, "{counted:?}"),
            Mode::Dynamic => {}
        }
        assert!(
            all("/nanoseconds") > 0 && all("/messages") >= counted[0],
            "{counted:?}"
        );
    }
}

/// Names that nobody asked for before, stored and not, are looked up in the memory of whoever has them: no node is asked.
#[test]
fn names_that_others_have_are_read_and_nobody_is_asked() {
    let names = (0..120).map(|at| format!("<http://e/n{at}> <http://e/r> <http://e/1> .\n"));
    let placement = Placement::in_turn(3, 2, 64).expect("a placement");
    let whole = loaded(&names.collect::<String>(), Format::Turtle, 1).expect("it loads");
    let nodes = NodeOptions {
        asked: AskedAt::Turn,
        ..NodeOptions::default()
    };
    let spread = whole.in_nodes(&Deal::By(placement), &nodes, &Options::default());
    let database = spread.expect("the nodes start");
    let ask = |name: String| {
        let text = format!("SELECT ?y {{ <http://e/{name}> <http://e/r> ?y }}");
        let mut query = database.start(&Request::new(&text)).expect("it is planned");
        let finished = query.run(&mut Collected::default());
        finished.expect("it is answered").rows
    };
    // Where terms and lists lie is asked beside the first of them.
    for name in 0..60 {
        assert_eq!(ask(format!("n{name}")), 1, "{name}");
        assert_eq!(ask(format!("nowhere{name}")), 0);
        std::thread::yield_now();
    }
    let messages = || -> u64 {
        let figures = database.parts().expect("it is in parts").figures();
        figures.iter().map(|node| node.counts.messages_sent).sum()
    };
    let before = messages();
    for name in 60..120 {
        assert_eq!(ask(format!("n{name}")), 1, "{name}");
        assert_eq!(ask(format!("nowhere{name}")), 0);
    }
    assert_eq!(
        messages(),
        before,
        "{before} until where they lie was known"
    );
}

#[test]
fn queries_of_every_kind_are_profiled_and_answered_alike() {
    let whole = loaded(&graph(), Format::Turtle, 1).expect("it loads");
    let database = spread(3);
    let queries = [
        "SELECT * { ?x e:p ?y . ?y e:p ?z } LIMIT 5",
        "SELECT DISTINCT ?c { ?x a ?c . ?x e:p ?y }",
        "SELECT ?c (COUNT(*) AS ?n) { ?x a ?c OPTIONAL { ?x e:q ?y } } GROUP BY ?c",
        "SELECT * { ?x e:p ?y } ORDER BY ?y LIMIT 7",
        "SELECT * { e:1 e:p/e:p ?y }",
        "SELECT * { ?x e:p+ e:8 }",
        "SELECT * { ?x e:p ?y FILTER NOT EXISTS { ?y e:q ?z } }",
        "SELECT * { e:none e:p ?y }",
        "SELECT (1 AS ?one) {}",
        "ASK { ?x e:p ?y . ?y e:p ?x }",
        "CONSTRUCT { ?y e:r ?x } WHERE { ?x e:p ?y . ?y e:p ?z }",
        "DESCRIBE e:9",
    ];
    for text in queries {
        let text = format!("PREFIX e: <http://e/> {text}");
        let (_, rows) = profiled(&whole, &Request::new(&text));
        for execution in [Mode::InPlace, Mode::ForkJoin, Mode::Dynamic] {
            let request = Request {
                execution: Some(execution),
                ..Request::new(&text)
            };
            let (document, answered) = profiled(&database, &request);
            assert_eq!(answered, rows, "{execution:?}: {text}");
            let sections = document["parts"]["sections"].as_array().expect("sections");
            let last = sum(sections.last().expect("a section"), "/rows_out");
            if text.contains("SELECT") {
                assert_eq!(last, rows, "{execution:?}: {text}");
            }
            let steps = document["steps"].as_array().expect("steps").len() as u64;
            let end = &sections.last().expect("a section")["steps"][1];
            assert_eq!(
                end,
                &Value::from(steps),
                "sections are of all steps: {text}"
            );
        }
    }
}
