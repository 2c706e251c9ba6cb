//! What a query names, and which of its variables nothing binds.

use crate::options::ParseOptions;
use crate::parse::parse;

/// Predicates, classes, graphs, unbound variables: by their local names.
fn mentioned(text: &str) -> [Vec<String>; 4] {
    let text = format!("PREFIX : <http://e/> {text}");
    let query = parse(&text, &ParseOptions::default()).expect(&text);
    let mentions = query.mentions();
    let names = |list: &[crate::plan::ConstantId]| -> Vec<String> {
        let terms = list.iter().map(|id| &query.constants()[id.0 as usize]);
        let local = |term: &oxrdf::Term| {
            let text = term.to_string();
            text.trim_matches(['<', '>'])
                .rsplit(['/', '#'])
                .next()
                .unwrap_or_default()
                .to_owned()
        };
        terms.map(local).collect()
    };
    let unbound = mentions.unbound.iter().map(|name| (*name).to_owned());
    [
        names(&mentions.predicates),
        names(&mentions.classes),
        names(&mentions.graphs),
        unbound.collect(),
    ]
}

#[test]
fn names_are_found_wherever_they_stand() {
    let [predicates, classes, graphs, unbound] = mentioned(
        "SELECT ?s FROM :d FROM NAMED :n { ?s a :C ; :p ?o OPTIONAL { ?s :q/^:r* ?x } \
         GRAPH :g { ?o !:no ?y } MINUS { ?s :m 1 } FILTER EXISTS { ?s :e ?o } \
         { SELECT ?s { { ?s :u :C2 } UNION { ?s a :D } } } }",
    );
    assert_eq!(predicates, ["type", "p", "q", "r", "m", "u", "e"]);
    assert_eq!(classes, ["C", "D"]);
    assert_eq!(graphs, ["d", "n", "g"]);
    assert_eq!(unbound, Vec::<String>::new());
}

#[test]
fn variables_that_nothing_binds() {
    for (text, names) in [
        ("SELECT ?nme { ?s :p ?name }", &["nme"][..]),
        ("SELECT ?s { ?s :p ?name FILTER(?nme > 1) }", &["nme"]),
        ("SELECT (COUNT(?nme) AS ?n) { ?s :p ?name }", &["nme"]),
        ("SELECT ?s { ?s :p ?name } ORDER BY ?nme", &["nme"]),
        ("CONSTRUCT { ?s :q ?nme } WHERE { ?s :p ?name }", &["nme"]),
        ("DESCRIBE ?nme { ?s :p ?name }", &["nme"]),
        ("SELECT ?s (?o + 1 AS ?m) { ?s :p ?o BIND(?o AS ?k) }", &[]),
        ("SELECT ?s ?v { ?s :p ?o VALUES ?v { 1 } }", &[]),
        ("SELECT ?g { GRAPH ?g {} OPTIONAL { ?a :p ?b } }", &[]),
        ("SELECT ?x { SERVICE <http://x/> { ?x ?y ?z } }", &[]),
        (
            "SELECT ?k (MAX(?o) AS ?m) { ?k :p ?o } GROUP BY ?k HAVING(?m > 1)",
            &[],
        ),
        (
            "SELECT ?s { ?s :p ?o OPTIONAL { ?s :q ?x } FILTER(!BOUND(?x)) }",
            &[],
        ),
        ("SELECT * { ?s :p [] }", &[]),
        ("SELECT ?s { { SELECT ?s { ?s :p ?within } } }", &[]),
        (
            "SELECT ?s { ?s :p ?o FILTER NOT EXISTS { ?s :q ?own } MINUS { ?s :r ?other } }",
            &[],
        ),
        ("SELECT ?o { { SELECT ?s { ?s :p ?o } } }", &["o"]),
        (
            "SELECT ?x { SERVICE <http://x/> { { SELECT ?x { ?x ?y ?z } } } }",
            &[],
        ),
        ("ASK { ?s :p ?o }", &[]),
        ("SELECT ?s { ?s :p ?o MINUS { ?x :q ?y } }", &[]),
    ] {
        assert_eq!(mentioned(text)[3], names, "{text}");
    }
}

#[test]
fn a_minus_that_shares_no_variable_is_idle() {
    for (text, is_idle) in [
        ("ASK { ?s :p ?o MINUS { ?x :q ?y } }", true),
        ("ASK { ?s :p ?o MINUS { ?x :q ?y FILTER(?s = ?x) } }", true),
        ("ASK { GRAPH ?g { ?s :p ?o MINUS { ?x :q ?y } } }", true),
        ("ASK { ?s :p ?o MINUS { ?x :q ?o } }", false),
        ("ASK { ?s :p ?o FILTER NOT EXISTS { ?x :q ?y } }", false),
        ("ASK { GRAPH ?g { ?s :p ?o MINUS { ?s :q ?y } } }", false),
    ] {
        let query = parse(
            &format!("PREFIX : <http://e/> {text}"),
            &ParseOptions::default(),
        );
        assert_eq!(
            query.expect(text).mentions().has_idle_minus,
            is_idle,
            "{text}"
        );
    }
}

#[test]
fn the_default_graph_is_asked_for_outside_of_graph_only() {
    let asks = |text: &str, union_default_graph: bool| {
        let options = ParseOptions {
            union_default_graph,
            ..ParseOptions::default()
        };
        parse(text, &options).expect(text).mentions().asks_default
    };
    assert!(asks("ASK { ?s ?p ?o }", false));
    assert!(!asks("ASK { ?s ?p ?o }", true));
    assert!(!asks("ASK { GRAPH ?g { ?s ?p ?o } }", false));
    assert!(!asks("ASK FROM <http://e/g> { ?s ?p ?o }", false));
}
