//! A planner's statistics as a document, and plans that are forced.

use crate::support;

use somersault::{Database, Kind, Request};
use testkit::Answer;
use testkit::graph::Format;

const DATA: &str = "
@prefix : <http://e/> .
:a a :Person ; :knows :b , :c ; :name \"a\" .
:b a :Person ; :knows :c .
:c a :Robot ; :made :a , :b .
";

const QUERY: &str = "PREFIX : <http://e/> SELECT ?x ?y ?z { ?x :knows ?y . ?z :made ?x }";

fn database() -> Database {
    support::loaded(DATA, Format::Turtle, 1).expect("the data are right")
}

fn explained(database: &Database, request: &Request<'_>) -> String {
    database.start(request).expect("it is a query").explain()
}

#[test]
fn a_graph_s_own_statistics_plan_as_ever() {
    let database = database();
    let document = database.planner_statistics().expect("they are known");
    let statistics = database
        .read_planner_statistics(&document)
        .expect("it was just written");
    let own = Request::new(QUERY);
    let read = Request {
        statistics: Some(&statistics),
        ..own.clone()
    };
    assert_eq!(explained(&database, &read), explained(&database, &own));
    let parsed: serde_json::Value = serde_json::from_str(&document).expect("JSON");
    assert_eq!(parsed["quads"], 9);
    assert_eq!(parsed["classes"].as_array().map(Vec::len), Some(2));
}

#[test]
fn statistics_of_elsewhere_change_the_plan_and_not_the_answer() {
    let database = database();
    // One of the two predicates has a million edges, the other one.
    let read = |knows: u64, made: u64| {
        let document = format!(
            r#"{{ "version": 1, "quads": 1000002, "named_graphs": 0,
            "terms": ["<http://e/knows>", "<http://e/made>", "<http://e/unheard-of>"],
            "predicates": [[0, {knows}, {knows}, {knows}], [1, {made}, {made}, {made}], [2, 5, 5, 5]],
            "classes": [], "out_sets": [], "in_sets": [] }}"#
        );
        database.read_planner_statistics(&document).expect("valid")
    };
    let (few_know, few_made) = (read(1, 1_000_000), read(1_000_000, 1));
    let own = Request::new(QUERY);
    let first = |request: &Request<'_>| {
        let plan = explained(&database, request);
        plan.lines().nth(2).map(str::to_owned).expect("a step")
    };
    let by = |statistics| Request {
        statistics: Some(statistics),
        ..own.clone()
    };
    let in_order = Request {
        keep_order: true,
        ..by(&few_made)
    };
    assert!(first(&by(&few_know)).contains("knows"));
    assert!(first(&by(&few_made)).contains("made"));
    assert!(first(&in_order).contains("knows"));
    let rows = |request: &Request<'_>| {
        let mut query = database.start(request).expect("it is a query");
        query.run_folded().expect("it runs").checksum
    };
    for request in [by(&few_know), by(&few_made), in_order] {
        assert_eq!(rows(&request), rows(&own));
    }
    let Ok(Answer::Rows { rows, .. }) = support::answer(&database, QUERY, 1) else {
        panic!("a SELECT has rows");
    };
    assert_eq!(rows.len(), 3);
}

#[test]
fn what_is_no_document_is_refused() {
    let database = database();
    for (text, why) in [
        ("", "EOF"),
        ("{}", "version"),
        (
            r#"{ "version": 2, "quads": 0, "named_graphs": 0, "terms": [], "predicates": [],
                "classes": [], "out_sets": [], "in_sets": [] }"#,
            "version 2",
        ),
        (
            r#"{ "version": 1, "quads": 0, "named_graphs": 0, "terms": ["<a"], "predicates": [],
                "classes": [], "out_sets": [], "in_sets": [] }"#,
            "<a",
        ),
        (
            r#"{ "version": 1, "quads": 0, "named_graphs": 0, "terms": [], "predicates": [],
                "classes": [[4, 1]], "out_sets": [], "in_sets": [] }"#,
            "no term 4",
        ),
    ] {
        let error = database.read_planner_statistics(text).unwrap_err();
        assert_eq!(error.kind, Kind::Syntax, "{text}");
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[test]
fn a_run_says_how_far_estimates_were_off() {
    let database = database();
    let mut query = database.start(&Request::new(QUERY)).expect("a query");
    assert!(query.q_errors().is_empty());
    query.enable_profile();
    query.run_folded().expect("it runs");
    let factors = query.q_errors();
    assert!(!factors.is_empty() && factors.iter().all(|factor| *factor >= 1.0));
}
