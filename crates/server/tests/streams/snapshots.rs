//! Snapshots by their numbers: what they hold of each stream, and queries that read them.

use super::client::encoded;
use super::served::*;
use serde_json::{Value, json};
use server::{Access, ServerOptions};
use somersault::config::Right;
use somersault::load::{self, Unwatched};
use somersault::{Database, Options};
use std::time::Duration;

const COUNT: &str = "SELECT (COUNT(*) AS ?n) { ?who <http://e/likes> ?what }";

/// An empty database whose snapshots are kept for so long.
fn keeping(age: Duration) -> Served {
    let options = Options {
        memory_is_writable: true,
        keep_snapshots: age,
        ..Options::default()
    };
    let request = load::Request::default();
    let loaded = load::load_in_memory(Vec::new(), &request, &options, &Unwatched);
    let access = Access {
        anonymous: Some(Right::Write),
        tokens: Vec::new(),
    };
    Served::of(loaded.unwrap().0, access)
}

/// The newest snapshot's number.
fn newest(served: &Served) -> u64 {
    let answer = served.send("GET /health/live", &[], "");
    answer.field("somersault-snapshot").parse().unwrap()
}

/// How many likes a snapshot has.
#[track_caller]
fn likes(served: &Served, number: u64) -> u64 {
    let line = format!("GET /sparql?snapshot={number}&query={}", encoded(COUNT));
    let answer = served.send(&line, &["Accept: application/sparql-results+json"], "");
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.field("somersault-snapshot"), number.to_string());
    let count = &answer.json()["results"]["bindings"][0]["n"]["value"];
    count.as_str().unwrap().parse().unwrap()
}

fn vector_of(served: &Served, number: u64) -> Value {
    served.get(&format!("/api/v1/snapshots/{number}"))["vector"].clone()
}

#[test]
fn an_older_snapshot_is_read_by_its_number() {
    let served = keeping(Duration::from_hours(1));
    let first = newest(&served);
    assert_eq!(vector_of(&served, first), json!([]), "there are no streams");
    served.stream(LIKES, json!({ "idle": "never" }));
    served.stream(
        "http://e/a-silent-stream",
        json!({ "begin": 700, "idle": "never" }),
    );
    let mut numbers = Vec::new();
    for second in 0..3 {
        served.like_in(second..second + 1);
        let number = newest(&served);
        let point =
            json!({ "stream": LIKES, "batch": 10 * second + 9, "until": 1000 * (second + 1) });
        let silent = json!({ "stream": "http://e/a-silent-stream", "batch": 6, "until": 700 });
        assert_eq!(vector_of(&served, number), json!([silent, point]));
        numbers.push(number);
    }
    for (place, number) in (0_u64..).zip(&numbers) {
        assert_eq!(likes(&served, *number), place + 1);
    }
    assert_eq!(likes(&served, first), 0);
    // A change that is no stream's has the vector of the version before it.
    let insert = "INSERT DATA { <http://e/z> <http://e/likes> <http://e/x> }";
    let update = ["Content-Type: application/sparql-update"];
    assert_eq!(served.send("POST /sparql", &update, insert).status, 204);
    let last = newest(&served);
    assert_eq!(vector_of(&served, last), vector_of(&served, numbers[2]));
    assert_eq!((likes(&served, last), likes(&served, numbers[2])), (4, 3));
    let all = served.get("/api/v1/snapshots");
    let all = all["snapshots"].as_array().unwrap();
    let number = |snapshot: &Value| snapshot["snapshot"].as_u64().unwrap();
    assert!(all.is_sorted_by(|one, other| number(one) < number(other)));
    assert_eq!(number(all.last().unwrap()), last);
    assert_eq!(all.last().unwrap()["quads"], 4);
    for wanted in numbers.iter().chain([&first]) {
        assert!(all.iter().any(|it| number(it) == *wanted), "{all:?}");
    }
}

#[test]
fn what_is_gone_and_what_is_not_there_yet_are_told_apart() {
    let served = keeping(Duration::ZERO);
    served.stream(LIKES, json!({ "idle": "never" }));
    let first = newest(&served);
    served.like_in(0..2);
    let last = newest(&served);
    assert!(first < last);
    let query = encoded(COUNT);
    for number in first..last {
        let gone = served.send(&format!("GET /api/v1/snapshots/{number}"), &[], "");
        let problem = gone.problem(410);
        assert_eq!(problem["type"], "urn:somersault:problem:gone");
        assert!(problem["hint"].as_str().unwrap().contains("keep_snapshots"));
        let line = format!("GET /sparql?query={query}&snapshot={number}");
        served.send(&line, &[], "").problem(410);
    }
    assert_eq!(likes(&served, last), 2);
    let ahead = last + 1;
    let one = format!("GET /api/v1/snapshots/{ahead}");
    served.send(&one, &[], "").problem(404);
    let line = format!("GET /sparql?query={query}&snapshot={ahead}");
    served.send(&line, &[], "").problem(404);
    // Whoever says that it will come waits for it.
    let field = format!("Somersault-Snapshot: {ahead}");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| served.send(&one, &[&field], ""));
        std::thread::sleep(Duration::from_millis(50));
        served.like_in(2..3);
        let status = waiting.join().unwrap().status;
        // It may be gone when the request comes to it.
        assert!(matches!(status, 200 | 410), "{status}");
    });
}

#[test]
fn what_is_asked_of_snapshots_otherwise_is_refused() {
    let served = keeping(Duration::from_hours(1));
    for (line, status, said) in [
        ("GET /api/v1/snapshots/one", 400, "no number"),
        ("GET /api/v1/snapshots/-1", 400, "no number"),
        ("GET /api/v1/snapshots?limit=3", 400, "limit"),
        ("POST /api/v1/snapshots", 405, "POST"),
        ("DELETE /api/v1/snapshots/0", 405, "DELETE"),
        ("GET /sparql?snapshot=x&query=ASK%7B%7D", 400, "snapshot"),
        ("GET /sparql?default&snapshot=0", 400, "queries"),
        (
            "GET /api/v1/subscribe?snapshot=0&query=ASK%7B%7D",
            400,
            "newest",
        ),
        ("POST /update?snapshot=0&update=CLEAR+ALL", 400, "update"),
    ] {
        let fields: &[&str] = if line.starts_with("POST /update") {
            &["Content-Type: application/sparql-update"]
        } else {
            &[]
        };
        let (line, body) = match line.split_once("&update=") {
            Some((line, _)) => (line, "CLEAR ALL"),
            None => (line, ""),
        };
        let problem = served.send(line, fields, body).problem(status);
        let detail = problem["detail"].to_string();
        assert!(detail.contains(said), "{line}: {detail}");
    }
    let head = served.send("HEAD /api/v1/snapshots", &[], "");
    assert_eq!((head.status, head.body.len()), (200, 0));
}

#[test]
fn whoever_may_read_reads_snapshots() {
    let options = ServerOptions {
        access: Access {
            anonymous: None,
            tokens: Vec::new(),
        },
        ..ServerOptions::default()
    };
    let served = Served::with(in_memory(false), options);
    served.send("GET /api/v1/snapshots", &[], "").problem(403);
    let access = Access {
        anonymous: Some(Right::Read),
        tokens: Vec::new(),
    };
    // Nothing can be changed: there is one snapshot, and there are no streams.
    let served = Served::of(in_memory(false), access.clone());
    let all = json!({ "snapshots": [{ "snapshot": 0, "quads": 1, "vector": [] }] });
    assert_eq!(served.get("/api/v1/snapshots"), all);
    // A store that is only read may have streams, which somebody else keeps.
    let folder = tempfile::tempdir().unwrap();
    drop(Database::open_writable(folder.path(), &Options::default()).unwrap());
    let database = Database::open(folder.path(), &Options::default()).unwrap();
    let served = Served::of(database, access);
    let snapshots = served.get("/api/v1/snapshots");
    assert_eq!(snapshots["snapshots"][0]["vector"], json!(null));
}
