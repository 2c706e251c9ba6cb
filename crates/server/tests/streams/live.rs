//! Live queries are followed by events and by long poll, resumed, refused, bounded and let go.

use super::client::encoded;
use super::served::*;
use serde_json::{Value, json};
use server::{Access, ServerOptions};
use somersault::config::{Right, Token};
use somersault::{SubscriptionLimits, UpdateRequest};
use std::time::{Duration, Instant};

const ALL: &str = "SELECT ?o { ?s <http://e/p> ?o }";

fn at(query: &str) -> String {
    format!("/api/v1/subscribe?query={}", encoded(query))
}

impl Served {
    fn follow(&self, query: &str, fields: &[&str]) -> Events {
        self.events_of(&format!("GET {}", at(query)), fields)
    }

    #[track_caller]
    fn update(&self, text: &str) {
        let answer = self.send(
            "POST /update",
            &["Content-Type: application/sparql-update"],
            text,
        );
        assert_eq!(answer.status, 204, "{answer:?}");
    }

    #[track_caller]
    fn insert(&self, number: u64) {
        self.update(&format!(
            "INSERT DATA {{ <http://e/s> <http://e/p> {number} }}"
        ));
    }
}

/// The next event: its name, its id and its data.
#[track_caller]
fn event(events: &mut Events) -> (String, String, Value) {
    let mut line = |begin: &str| {
        let line = events.line().unwrap();
        let rest = line.strip_prefix(begin);
        rest.unwrap_or_else(|| panic!("{line}, not {begin}"))
            .to_owned()
    };
    let (name, id, data) = (line("event: "), line("id: "), line("data: "));
    let data: Value = serde_json::from_str(&data).unwrap_or_else(|error| panic!("{error}: {data}"));
    assert_eq!(
        (data["type"].as_str(), data["id"].as_str()),
        (Some(&*name), Some(&*id))
    );
    (name, id, data)
}

fn rows(value: &Value) -> usize {
    value["bindings"].as_array().unwrap().len()
}

#[test]
fn the_answer_comes_first_then_differences_and_who_comes_back_goes_on() {
    let served = Served::new();
    let mut events = served.follow(ALL, &[]);
    let (name, first, answer) = event(&mut events);
    assert_eq!(
        (&*name, rows(&answer["results"]), &answer["snapshot"]),
        ("answer", 1, &json!(0))
    );
    assert_eq!(answer["head"], json!({ "vars": ["o"] }));
    served.insert(1);
    let (name, second, change) = event(&mut events);
    assert_eq!(
        (&*name, rows(&change["added"]), rows(&change["removed"])),
        ("difference", 1, 0)
    );
    assert_eq!(
        (&change["since"], &change["snapshot"]),
        (&json!(0), &json!(1))
    );
    served.update("INSERT DATA { <http://e/s> <http://e/other> 1 }");
    served.update("DELETE WHERE { ?s <http://e/p> 1 }");
    let (_, third, change) = event(&mut events);
    assert_eq!(
        (
            rows(&change["added"]),
            rows(&change["removed"]),
            &change["snapshot"]
        ),
        (0, 1, &json!(3))
    );
    drop(events);
    served.until_metric("live_query_consumers", 0);
    served.insert(2);
    let field = |id: &str| format!("Last-Event-ID: {id}");
    let mut events = served.follow(ALL, &[&field(&second)]);
    let (name, _, change) = event(&mut events);
    assert_eq!(
        (&*name, rows(&change["added"]), rows(&change["removed"])),
        ("difference", 1, 1)
    );
    // What is added has the present number, and what has is nothing new.
    let mut same = served.follow(ALL, &[&field(&first)]);
    let (_, newest, change) = event(&mut same);
    assert_eq!(
        (
            &change["since"],
            rows(&change["added"]),
            rows(&change["removed"])
        ),
        (&json!(0), 1, 0)
    );
    let mut current = served.follow(ALL, &[&field(&newest)]);
    served.insert(3);
    assert_eq!(event(&mut current).2["since"], change["snapshot"]);
    // An id of another query, or of a server that was there before.
    let mut other = served.follow("SELECT ?s { ?s <http://e/p> ?o }", &[&field(&newest)]);
    let (name, _, answer) = event(&mut other);
    assert_eq!(
        (&*name, &answer["reset"], rows(&answer["results"])),
        ("answer", &json!(true), 3)
    );
    assert_ne!(third, newest);
    let wrong = served.send(
        &format!("GET {}", at(ALL)),
        &[EVENTS, "Last-Event-ID: x"],
        "",
    );
    wrong.problem(400);
}

#[test]
fn a_long_poll_waits_for_a_difference() {
    let served = Served::new();
    let path = at(ALL);
    let answer = served.get(&path);
    assert_eq!(
        (&answer["type"], rows(&answer["results"])),
        (&json!("answer"), 1)
    );
    let after = |id: &Value| format!("{path}&after={}", id.as_str().unwrap());
    let begun = Instant::now();
    let nothing = served.get(&format!("{}&wait=200ms", after(&answer["id"])));
    assert_eq!(nothing, json!({ "type": "unchanged", "id": answer["id"] }));
    assert!(begun.elapsed() >= Duration::from_millis(200));
    // Without `wait` what is there is given, although nobody followed it meanwhile.
    served.insert(1);
    let change = served.get(&after(&answer["id"]));
    assert_eq!(
        (&change["type"], rows(&change["added"])),
        (&json!("difference"), 1)
    );
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| served.get(&format!("{}&wait=30s", after(&change["id"]))));
        served.until_metric("live_query_consumers", 1);
        served.insert(2);
        assert_eq!(waiting.join().unwrap()["since"], change["snapshot"]);
    });
    // The other ways to send a query.
    let form = ["Content-Type: application/x-www-form-urlencoded"];
    let asked = format!("query={}", encoded("ASK { ?s <http://e/p> 2 }"));
    let answer = served.send("POST /api/v1/subscribe", &form, &asked).json();
    assert_eq!(
        (&answer["type"], &answer["boolean"]),
        (&json!("answer"), &json!(true))
    );
    let answer = served.send(
        "QUERY /api/v1/subscribe",
        &[TEXT],
        "CONSTRUCT WHERE { ?s ?p ?o }",
    );
    assert_eq!(
        answer.json()["head"]["vars"],
        json!(["subject", "predicate", "object"])
    );
    let head = served.send(&format!("HEAD {path}"), &[], "");
    assert_eq!((head.status, head.body.len()), (200, 0));
}

#[test]
fn what_cannot_be_followed_is_refused() {
    let served = Served::new();
    for (query, status, said) in [
        ("SELECT ?x { ?x ?p ?o FILTER(?o < NOW()) }", 422, "NOW"),
        ("DESCRIBE <http://e/s>", 422, "DESCRIBE"),
        ("SELECT ?x { ?x ?p }", 400, ""),
    ] {
        let answer = served.send(&format!("GET {}", at(query)), &[EVENTS], "");
        let problem = answer.problem(status);
        assert!(problem["detail"].to_string().contains(said), "{problem}");
        assert!(
            problem.get("line").is_some() || problem.get("position").is_some(),
            "{problem}"
        );
    }
    for (line, status) in [
        ("GET /api/v1/subscribe", 400),
        ("GET /api/v1/subscribe?query=ASK%7B%7D&explain=plan", 400),
        ("GET /api/v1/subscribe?query=ASK%7B%7D&wait=5y", 400),
        ("GET /api/v1/subscribe?query=ASK%7B%7D&afte=5", 400),
        ("GET /api/v1/subscribe?query=ASK%7B%7D&after=5", 400),
        ("PUT /api/v1/subscribe?query=ASK%7B%7D", 405),
    ] {
        served.send(line, &[], "").problem(status);
    }
    let update = ["Content-Type: application/sparql-update"];
    served
        .send("POST /api/v1/subscribe", &update, "CLEAR ALL")
        .problem(415);
}

#[test]
fn the_right_to_read_is_enough_and_needed() {
    let token = Token {
        right: Right::Read,
        secret: "reader-reader-reader".to_owned(),
    };
    let access = Access {
        anonymous: None,
        tokens: vec![token],
    };
    let served = Served::of(in_memory(false), access);
    let line = format!("GET {}", at(ALL));
    served.send(&line, &[EVENTS], "").problem(401);
    served
        .send("POST /api/v1/subscribe", &[TEXT], ALL)
        .problem(401);
    assert_eq!(served.send(&line, &[READER], "").status, 200);
    assert_eq!(
        served
            .send("POST /api/v1/subscribe", &[TEXT, READER], ALL)
            .status,
        200
    );
}

#[test]
fn live_queries_are_bounded_and_say_so() {
    let options = ServerOptions {
        access: Access {
            anonymous: Some(Right::Write),
            tokens: Vec::new(),
        },
        subscriptions: SubscriptionLimits {
            count_max: 1,
            answer_bytes_max: 2000,
            ..SubscriptionLimits::default()
        },
        ..ServerOptions::default()
    };
    let served = Served::with(in_memory(true), options);
    let mut events = served.follow(ALL, &[]);
    event(&mut events);
    let other = served.send(&format!("GET {}", at("ASK {}")), &[EVENTS], "");
    assert_eq!(other.problem(503)["limit"], 1);
    served.update(&format!(
        "INSERT DATA {{ <http://e/s> <http://e/p> {} }}",
        (1..40)
            .map(|number| number.to_string())
            .collect::<Vec<_>>()
            .join(", ")
    ));
    assert_eq!(events.line().as_deref(), Some("event: ended"));
    let data = events.line().unwrap();
    let told: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
    assert_eq!(
        (&told["limit"], &told["unit"]),
        (&json!(2000), &json!("bytes"))
    );
    assert_eq!(events.line(), None);
    let again = served.send(&format!("GET {}", at(ALL)), &[EVENTS], "");
    assert_eq!(again.problem(507)["limit"], 2000);
    served.until_metric("live_queries", 0);
    served.until_metric("live_query_failures_total", 2);
}

#[test]
fn consumers_are_let_go_when_the_server_ends() {
    let database = in_memory(true);
    let access = Access {
        anonymous: Some(Right::Write),
        tokens: Vec::new(),
    };
    let served = Served::of(database.clone(), access);
    let mut events: Vec<Events> = (0..20).map(|_| served.follow(ALL, &[])).collect();
    for events in &mut events {
        event(events);
    }
    served.until_metric("live_query_consumers", 20);
    served.until_metric("live_queries", 1);
    // Twenty consumers are one evaluation.
    served.insert(1);
    for events in &mut events {
        assert_eq!(event(events).0, "difference");
    }
    served.until_metric("live_query_evaluations_total", 2);
    let begun = Instant::now();
    drop(served);
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
    for events in &mut events {
        assert_eq!(events.line(), None);
    }
    // The database is nobody's any more.
    let request = UpdateRequest {
        text: "INSERT DATA { <http://e/s> <http://e/p> 2 }",
        ..UpdateRequest::default()
    };
    database.update(&request).unwrap();
}
