//! The naive evaluator on questions whose answers are plain to see.

use super::*;
use crate::graph;

const GRAPH: &str = r#"PREFIX : <http://example.org/>
    :a :knows :b . :b :knows :c . :c :knows :a . :a :knows :a .
    :a :age 30 . :b :age 030 . :c :age "x"@en .
    GRAPH :g { :a :knows :b . :d :knows :a }
    GRAPH :h { :a :knows :b }"#;

fn ask(query: &str) -> Expected {
    let dataset = graph::parse(GRAPH).unwrap();
    answer(&dataset, &format!("PREFIX : <http://example.org/> {query}")).unwrap()
}

fn count(query: &str) -> usize {
    ask(query).given()
}

#[test]
fn basic_patterns() {
    assert_eq!(count("SELECT * { ?x :knows ?y }"), 4);
    assert_eq!(count("SELECT * { ?x :knows ?x }"), 1);
    assert_eq!(
        count("SELECT * { ?x :knows ?y . ?y :knows ?z . ?z :knows ?x }"),
        4
    );
    assert_eq!(count("SELECT * { ?x :age ?n . ?y :age ?n }"), 3);
    assert_eq!(count("SELECT * { _:x :knows ?y . ?y :knows _:x }"), 1);
    assert_eq!(count("SELECT * {}"), 1);
}

#[test]
fn graphs_and_datasets() {
    assert_eq!(count("SELECT * { GRAPH ?g { ?x :knows ?y } }"), 3);
    assert_eq!(count("SELECT * { GRAPH :g { ?x :knows ?y } }"), 2);
    assert_eq!(count("SELECT * { GRAPH :none {} }"), 0);
    assert_eq!(count("SELECT * FROM :g FROM :h { ?x :knows ?y }"), 2);
    assert_eq!(count("SELECT * FROM :g { GRAPH ?g {} }"), 0);
    assert_eq!(
        count("SELECT * FROM NAMED :g FROM NAMED :g { GRAPH ?g {} }"),
        1
    );
    assert_eq!(count("SELECT * FROM NAMED :g { ?x :knows ?y }"), 0);
}

#[test]
fn filters_see_their_group_only() {
    assert_eq!(count("SELECT * { ?x :age ?n FILTER(?n = 30.0) }"), 2);
    assert_eq!(count("SELECT * { ?x :age ?n FILTER(sameTerm(?n, 30)) }"), 1);
    assert_eq!(
        count("SELECT * { ?x :age ?n { ?x :knows ?y FILTER(?n = 30) } }"),
        0
    );
    assert_eq!(
        count("SELECT * { ?x :age ?n { ?x :knows ?y } FILTER(?n = 30) }"),
        3
    );
    assert_eq!(count("SELECT * { ?x :age ?n FILTER(!bound(?z)) }"), 3);
}

#[test]
fn modifiers() {
    assert_eq!(count("SELECT DISTINCT ?x { ?x :knows ?y }"), 3);
    assert_eq!(count("SELECT ?x { ?x :knows ?y } OFFSET 1 LIMIT 2"), 2);
    assert_eq!(count("SELECT ?x { ?x :knows ?y } OFFSET 3 LIMIT 2"), 1);
    assert!(ask("SELECT REDUCED ?x { ?x :knows ?y }").is_reduced);
    let counted = ask("SELECT (COUNT(*) AS ?n) { ?x :knows ?x . ?x :nothing ?y }");
    assert_eq!(counted.rows, [[Some(oxrdf::Literal::from(0).into())]]);
    assert_eq!(ask("ASK { ?x :knows ?x }").boolean, Some(true));
    assert_eq!(ask("ASK { ?x :hates ?x }").boolean, Some(false));
}

#[test]
fn an_order_that_distinct_hides_is_none() {
    assert!(
        ask("SELECT DISTINCT ?x { ?x :knows ?y } ORDER BY ?x")
            .ordering
            .is_some()
    );
    assert!(
        ask("SELECT DISTINCT ?x { ?x :knows ?y } ORDER BY ?y")
            .ordering
            .is_none()
    );
}

#[test]
fn what_it_cannot_do_is_an_error() {
    let dataset = graph::parse(GRAPH).unwrap();
    let error = |query| answer(&dataset, query).unwrap_err();
    assert!(matches!(error("SELECT"), NaiveError::Parse(_)));
    assert!(matches!(
        error("SELECT * { SERVICE <http://example.org/sparql> {} }"),
        NaiveError::Unsupported(_)
    ));
    assert!(matches!(
        error("SELECT (RAND() AS ?r) {}"),
        NaiveError::Unsupported(_)
    ));
    assert!(matches!(
        error("SELECT * { { SELECT ?s { ?s ?p ?o } LIMIT 1 } }"),
        NaiveError::Undetermined(_)
    ));
    let cross = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n ?o . ?p ?q ?r .
        ?s ?t ?u }";
    assert_eq!(error(cross), NaiveError::TooLarge);
}
