//! The paper's own example (SOSP'17 section 2): Logan posts at 802 s, Erik likes it at 806 s, a query over ten seconds of
//! tweets and five of likes is registered at 809 s, and the stored graph absorbs both.

use super::client::encoded;
use super::driven::empty;
use super::served::*;
use serde_json::{Value, json};

const PROLOGUE: &str = "PREFIX : <http://e/>\n";
/// The stored graph of figure 1, in part.
const STORED: &str = "<http://e/Logan> <http://e/fo> <http://e/Erik> .
<http://e/Erik> <http://e/fo> <http://e/Logan> .
<http://e/Logan> <http://e/po> <http://e/T-12> .
<http://e/Logan> <http://e/po> <http://e/T-13> .
<http://e/T-12> <http://e/ht> <http://e/sosp17> .
<http://e/T-13> <http://e/ht> <http://e/sosp17> .
<http://e/Erik> <http://e/li> <http://e/T-13> .
";
/// `Qc`: what is posted and liked by two who follow each other.
const QUESTIONS: [(&str, &str, &[u64]); 4] = [
    (
        "published",
        "REGISTER QUERY published AS SELECT ?x ?y ?z
FROM STREAM <http://e/Tweet> [RANGE 10s STEP 1s]
FROM STREAM <http://e/Like> [RANGE 5s STEP 1s]
WHERE { GRAPH <http://e/Tweet> { ?x :po ?z } ?x :fo ?y . GRAPH <http://e/Like> { ?y :li ?z } }",
        &[810, 811],
    ),
    (
        "rspql",
        "REGISTER RSTREAM :rspql AS SELECT ?x ?y ?z
FROM NAMED WINDOW :tweets ON :Tweet [RANGE PT10S STEP PT1S]
FROM NAMED WINDOW :likes ON :Like [RANGE PT5S STEP PT1S]
WHERE { WINDOW :tweets { ?x :po ?z } ?x :fo ?y . WINDOW :likes { ?y :li ?z } }",
        &[810, 811],
    ),
    (
        "rightclosed",
        "#@ bounds=lorc
REGISTER QUERY rightclosed AS SELECT ?x ?y ?z
FROM STREAM <http://e/Tweet> [RANGE 10s STEP 1s]
FROM STREAM <http://e/Like> [RANGE 5s STEP 1s]
WHERE { GRAPH <http://e/Tweet> { ?x :po ?z } ?x :fo ?y . GRAPH <http://e/Like> { ?y :li ?z } }",
        &[810],
    ),
    (
        "cqels",
        "#@ bounds=lcro report=close r2s=rstream
SELECT ?x ?y ?z WHERE {
  STREAM :Tweet [RANGE 10s SLIDE 1s] { ?x :po ?z } ?x :fo ?y . STREAM :Like [RANGE 5s SLIDE 1s] { ?y :li ?z } }",
        &[810, 811],
    ),
];

/// What holds ten seconds of both streams.
const HOLDER: &str = "REGISTER QUERY holder AS SELECT (COUNT(*) AS ?n)
FROM STREAM <http://e/Tweet> [RANGE 10s STEP 1s]
FROM STREAM <http://e/Like> [RANGE 10s STEP 1s]
WHERE { GRAPH <http://e/Tweet> { ?x ?p ?y } GRAPH <http://e/Like> { ?z ?q ?y } }";

/// The tweets by Logan with a hash tag that Erik likes, at a snapshot; `None`: at the newest.
fn liked(served: &Served, snapshot: Option<u64>) -> Vec<String> {
    let text = format!("{PROLOGUE}SELECT ?t {{ :Logan :po ?t . ?t :ht :sosp17 . :Erik :li ?t }}");
    let at = snapshot.map_or_else(String::new, |number| format!("&snapshot={number}"));
    let line = format!("GET /sparql?query={}{at}", encoded(&text));
    let answer = served.send(&line, &["Accept: application/sparql-results+json"], "");
    assert_eq!(answer.status, 200, "{answer:?}");
    let document = answer.json();
    let rows = document["results"]["bindings"].as_array().unwrap();
    let mut tweets: Vec<String> = rows
        .iter()
        .map(|row| row["t"]["value"].as_str().unwrap().to_owned())
        .collect();
    tweets.sort();
    tweets
}

/// The seconds at which a query has told of the tweet, and nothing else at the others.
fn seconds(served: &Served, query: &str) -> Vec<u64> {
    let read = served.get(&format!(
        "/api/v1/continuous/{}/reports?limit=1000",
        encoded(query)
    ));
    assert_eq!(read["missed"], 0);
    let mut told = Vec::new();
    for report in read["reports"].as_array().unwrap() {
        let report = &report["report"];
        let rows = report["results"]["bindings"].as_array().unwrap();
        let of = |name: &str| ["x", "y", "z"].map(|it| rows[0][it]["value"] == name);
        match rows.len() {
            0 => {}
            1 => {
                assert!(
                    of("http://e/Logan")[0] && of("http://e/Erik")[1] && of("http://e/T-15")[2]
                );
                told.push(report["close"].as_u64().unwrap() / 1000);
            }
            _ => panic!("{report}"),
        }
    }
    told
}

#[test]
fn the_example_of_the_paper_is_reported_and_absorbed() {
    let served = empty();
    let triples = ["Content-Type: application/n-triples"];
    let put = served.send("PUT /store?default", &triples, STORED);
    assert!(matches!(put.status, 201 | 204), "{put:?}");
    for stream in ["http://e/Tweet", "http://e/Like"] {
        served.stream(
            stream,
            json!({ "begin": 790_000, "grain": "100ms", "idle": "never" }),
        );
    }
    let push = |stream: &str, watermark_ms: u64, lines: &str| -> Value {
        let line = format!("POST {}?watermark={watermark_ms}", items(stream));
        let answer = served.send(&line, &[TS], lines);
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    };
    let tweet = "802000\t<http://e/Logan> <http://e/po> <http://e/T-15> .
802000\t<http://e/T-15> <http://e/ht> <http://e/sosp17> .\n";
    let like = "806000\t<http://e/Erik> <http://e/li> <http://e/T-15> .\n";
    push("http://e/Tweet", 802_000, "");
    push("http://e/Like", 802_000, "");
    assert_eq!(liked(&served, None), ["http://e/T-13"]);
    // Somebody asks about the last ten seconds already, so they are held when the others come.
    let held = format!("{PROLOGUE}{HOLDER}");
    let answer = served.send("POST /api/v1/continuous", &[TEXT], &held);
    assert_eq!(answer.status, 201, "{answer:?}");
    push("http://e/Tweet", 809_100, tweet);
    push("http://e/Like", 809_100, like);
    let mut names = Vec::new();
    for (name, text, _) in QUESTIONS {
        let (pragma, text) = match text.split_once('\n') {
            Some((pragma, text)) if pragma.starts_with("#@") => (pragma, text),
            _ => ("", text),
        };
        let text = format!("{pragma}\n{PROLOGUE}{text}");
        let line = format!("POST /api/v1/continuous?name={name}");
        let answer = served.send(&line, &[TEXT], &text);
        assert_eq!(answer.status, 201, "{answer:?}");
        names.push(answer.json()["name"].as_str().unwrap().to_owned());
    }
    for second in 810..816 {
        push("http://e/Tweet", second * 1000 + 1, "");
        push("http://e/Like", second * 1000 + 1, "");
    }
    for (name, (_, _, wanted)) in names.iter().zip(QUESTIONS) {
        assert_eq!(seconds(&served, name), wanted, "{name}");
    }
    // What streams brought is stored, and a snapshot of before does not have it.
    assert_eq!(liked(&served, None), ["http://e/T-13", "http://e/T-15"]);
    let all = served.get("/api/v1/snapshots");
    let mut is_absorbed = false;
    for snapshot in all["snapshots"].as_array().unwrap() {
        let number = snapshot["snapshot"].as_u64().unwrap();
        let point = |stream: &str| {
            let vector = snapshot["vector"].as_array().unwrap();
            let point = vector.iter().find(|point| point["stream"] == stream);
            point.map_or(0, |point| point["until"].as_u64().unwrap())
        };
        let has_both = point("http://e/Tweet") > 802_000 && point("http://e/Like") > 806_000;
        let tweets = usize::from(snapshot["quads"].as_u64() >= Some(7));
        assert_eq!(
            liked(&served, Some(number)).len(),
            tweets + usize::from(has_both),
            "{snapshot}"
        );
        is_absorbed |= has_both;
    }
    assert!(is_absorbed);
}
