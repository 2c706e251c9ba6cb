//! What is said of a query beside its text: the same as a text that says it.

use super::algebra_text::text_of;
use crate::options::Given;
use crate::{ParseErrorKind, ParseOptions, parse, scan, term};
use oxrdf::Term;

fn with(text: &str, given: &Given) -> Result<crate::Query, crate::ParseError> {
    let options = ParseOptions::default();
    scan(text, &options)?.parse_with(&options, given)
}

fn terms(pairs: &[(&str, &str)]) -> Given {
    let read = |&(name, text): &(&str, &str)| {
        let term = term(text, &ParseOptions::default()).unwrap();
        (name.to_owned(), term)
    };
    Given {
        terms: pairs.iter().map(read).collect(),
        ..Given::default()
    }
}

#[test]
fn a_term_for_a_variable_is_a_row_of_values_before_everything_else() {
    let texts = [
        "SELECT ?s ?x WHERE { @ ?s ?p ?x }",
        "SELECT ?s WHERE { @ ?s ?p ?x . ?x ?q ?s }",
        "SELECT DISTINCT ?s WHERE { @ ?s ?p ?x FILTER(?x > 3) } ORDER BY ?s LIMIT 3 OFFSET 2",
        "SELECT (COUNT(*) AS ?n) WHERE { @ ?s ?p ?x } GROUP BY ?s HAVING (COUNT(?x) > 1)",
        "SELECT ?s ?x WHERE { @ OPTIONAL { ?s ?p ?x } }",
        "SELECT ?s ?x WHERE { @ ?s ?p ?o OPTIONAL { ?s ?q ?x FILTER(?o < ?x) } }",
        "SELECT ?s ?x WHERE { @ { ?s ?p ?x } UNION { ?x ?p ?s } }",
        "SELECT ?s ?x WHERE { @ { ?s ?p ?x FILTER(?x = 1) } ?s ?q ?o }",
        "SELECT ?s ?x WHERE { @ ?s ?p ?o MINUS { ?s ?q ?x } }",
        "SELECT ?s ?x WHERE { @ ?s ?p ?o FILTER NOT EXISTS { ?s ?q ?x } }",
        "SELECT ?s ?x WHERE { @ BIND(1 AS ?y) ?s ?p ?x }",
        "SELECT ?s ?x WHERE { @ GRAPH ?x { ?s ?p ?o } }",
        "SELECT ?s ?x WHERE { @ ?s <http://e/p>+ ?x }",
        "SELECT ?s ?x WHERE { @ { SELECT ?s (MAX(?x) AS ?m) { ?s ?p ?x } GROUP BY ?s } }",
        "SELECT ?s ?x WHERE { @ ?s ?p ?x } VALUES ?s { <http://e/a> <http://e/b> }",
        "SELECT ?s ?x WHERE { @ VALUES ?x { 1 2 } ?s ?p ?x }",
        "CONSTRUCT { ?s ?p ?x } WHERE { @ ?s ?p ?x } LIMIT 2",
        "ASK { @ ?s ?p ?x }",
        "DESCRIBE ?s WHERE { @ ?s ?p ?x }",
        "DESCRIBE <http://e/a> ?x WHERE { @ ?s ?p ?x }",
    ];
    let given = [
        terms(&[("x", "5")]),
        terms(&[("x", "<http://e/x>")]),
        terms(&[("x", "\"a\\n\"@en")]),
    ];
    for text in texts {
        let plain = text.replace('@', "");
        for given in &given {
            let values = format!("VALUES ?x {{ {} }}", given.terms[0].1);
            let written = parse(&text.replace('@', &values), &ParseOptions::default()).unwrap();
            let bound = with(&plain, given).unwrap();
            assert_eq!(text_of(&bound), text_of(&written), "{text}");
        }
    }
    let two = terms(&[("x", "5"), ("s", "<http://e/s>")]);
    let written = "SELECT ?s ?p ?x { VALUES (?x ?s) { (5 <http://e/s>) } ?s ?p ?x }";
    assert_eq!(
        text_of(&with("SELECT ?s ?p ?x { ?s ?p ?x }", &two).unwrap()),
        text_of(&parse(written, &ParseOptions::default()).unwrap())
    );
}

/// What is given is the variable's value in each group that has it: as a text that begins each of these with it.
#[test]
fn a_term_for_a_variable_reaches_each_group_that_has_it() {
    for text in [
        // The first group in braces is one of them, as is any other.
        "SELECT ?s ?o { { @ ?s ?p ?o FILTER(?o > ?x) } ?s ?q ?y }",
        "SELECT ?s ?o { @ ?s ?q ?y { @ ?s ?p ?o FILTER(?o > ?x) } }",
        "SELECT ?s { @ ?s ?p ?o { ?s ?q ?y { @ ?y ?r ?z FILTER(?z > ?x) } } }",
        "SELECT ?s { @ ?s ?p ?o { @ ?s ?q ?y OPTIONAL { ?y ?r ?x } } }",
        "SELECT ?s { @ ?s ?p ?o OPTIONAL { @ ?s ?q ?y OPTIONAL { ?y ?r ?x } } }",
        "SELECT ?s { @ { @ ?s ?p ?o FILTER(?o = ?x) } UNION { ?s ?q ?x } }",
        "SELECT ?s { @ ?s ?p ?o MINUS { @ ?s ?q ?y OPTIONAL { ?y ?r ?x } } }",
        "SELECT ?s { @ ?s ?p ?o GRAPH ?g { @ ?s ?q ?y FILTER(?y != ?x) } }",
        "SELECT ?s { @ ?s ?p ?o { @ ?s ?q ?y BIND(?y + ?x AS ?z) } }",
        "SELECT ?s { @ ?s ?p ?o { @ ?s ?q ?y FILTER NOT EXISTS { ?y ?r ?x } } }",
        "SELECT ?s { @ ?s ?p ?o { SELECT ?x ?o { @ ?o ?q ?x } LIMIT 1 } }",
        "SELECT ?s { @ ?s ?p ?o { SELECT ?x (COUNT(*) AS ?n) { @ ?o ?q ?x } GROUP BY ?x } }",
        // Where no filter and no part of the solutions looks, the join says it.
        "SELECT ?s { @ ?s ?p ?o { ?s ?q ?x } UNION { ?x ?q ?s } }",
        "SELECT ?s { @ ?s ?p ?o { ?s ?q ?x OPTIONAL { ?s ?r ?y } } }",
        "SELECT ?s { @ ?s ?p ?o { SELECT DISTINCT ?x ?o { ?o ?q ?x } } }",
        // What a sub-query does not project is another variable, and what a group computes is not given.
        "SELECT ?s { @ ?s ?p ?x { SELECT ?s { ?s ?q ?x FILTER(?x > 3) } } }",
        "SELECT ?s { @ ?s ?p ?o { ?s ?q ?y BIND(?y + 1 AS ?x) } }",
    ] {
        let given = terms(&[("x", "5")]);
        let written = text.replace('@', "VALUES ?x { 5 }");
        let written = parse(&written, &ParseOptions::default()).unwrap();
        let bound = with(&text.replace('@', ""), &given).unwrap();
        assert_eq!(text_of(&bound), text_of(&written), "{text}");
    }
    // A group is given what it has of several.
    let text = "SELECT ?s { @ ?s ?p ?o { # ?s ?q ?y FILTER(?y > ?x) } }";
    let written = text
        .replace('@', "VALUES (?x ?o) { (5 6) }")
        .replace('#', "VALUES ?x { 5 }");
    let written = parse(&written, &ParseOptions::default()).unwrap();
    let plain = text.replace(['@', '#'], "");
    let bound = with(&plain, &terms(&[("x", "5"), ("o", "6")])).unwrap();
    assert_eq!(text_of(&bound), text_of(&written));
    for text in [
        "SELECT * { ?s ?p ?o BIND(?o AS ?x) }",
        "SELECT (COUNT(*) AS ?x) { ?s ?p ?o }",
        "SELECT * { { BIND(1 AS ?x) } ?s ?p ?o }",
    ] {
        let error = with(text, &terms(&[("x", "5")])).unwrap_err();
        assert_eq!(error.kind, ParseErrorKind::Option);
        assert!(error.message.contains("computes ?x"), "{error}");
    }
}

#[test]
fn a_part_of_the_solutions_is_taken_of_those_that_the_text_leaves() {
    let given = |offset, limit| Given {
        offset,
        limit,
        ..Given::default()
    };
    let same = [
        ("", given(0, Some(7)), "LIMIT 7"),
        ("", given(3, None), "OFFSET 3"),
        ("LIMIT 10", given(3, Some(20)), "OFFSET 3 LIMIT 7"),
        ("LIMIT 10 OFFSET 5", given(3, Some(2)), "OFFSET 8 LIMIT 2"),
        ("LIMIT 2", given(5, None), "OFFSET 5 LIMIT 0"),
        (
            "ORDER BY ?s",
            given(1, Some(1)),
            "ORDER BY ?s OFFSET 1 LIMIT 1",
        ),
    ];
    for (end, given, written) in same {
        let bound = with(&format!("SELECT ?s {{ ?s ?p ?x }} {end}"), &given).unwrap();
        let written = format!("SELECT ?s {{ ?s ?p ?x }} {written}");
        let written = parse(&written, &ParseOptions::default()).unwrap();
        assert_eq!(text_of(&bound), text_of(&written), "{end} {given:?}");
    }
    let error = with("ASK { ?s ?p ?x }", &given(1, None)).unwrap_err();
    assert_eq!(error.kind, ParseErrorKind::Option);
}

#[test]
fn variables_that_the_text_does_not_have_are_refused() {
    let error = with("SELECT * { ?s ?p ?x }", &terms(&[("y", "1")])).unwrap_err();
    assert_eq!(error.kind, ParseErrorKind::Option);
    assert!(error.message.contains("no variable ?y"), "{error}");
    assert!(error.message.contains("it has ?p, ?s, ?x"), "{error}");
}

#[test]
fn terms_as_values_has_them() {
    let read = |text: &str| term(text, &ParseOptions::default()).map(|term: Term| term.to_string());
    let integer = "\"5\"^^<http://www.w3.org/2001/XMLSchema#integer>";
    for (text, expected) in [
        ("<http://e/a>", "<http://e/a>"),
        (" 5 # five", integer),
        (integer, integer),
        ("\"a\"@en", "\"a\"@en"),
        ("'it''", "?"),
        (
            "TRUE",
            "\"true\"^^<http://www.w3.org/2001/XMLSchema#boolean>",
        ),
        ("<<( <http://e/a> <http://e/b> 5 )>>", "?"),
    ] {
        match read(text) {
            Ok(found) if expected != "?" => assert_eq!(found, expected),
            Ok(found) => assert!(found.starts_with("<<("), "{text}: {found}"),
            Err(error) => assert_eq!((text, error.position.line), ("'it''", 1)),
        }
    }
    for bad in [
        "",
        "1 2",
        "UNDEF",
        "?x",
        "_:b",
        "<http://e/a b>",
        "ex:a",
        "(1)",
        "1 } ?s ?p ?o {",
        "1 }} VALUES ?u {{ 2",
        "1 } VALUES ?t { 2",
        "1 } } ORDER BY ?t #",
        "1}} LIMIT 1 #",
        "\"open",
        "#",
    ] {
        assert!(read(bad).is_err(), "{bad}: {:?}", read(bad));
    }
    let nested = "<<( <http://e/a> <http://e/b> ".repeat(5000);
    assert!(read(&nested).is_err());
    let error = read("<http://e/a b>").unwrap_err();
    assert!(error.position.column <= 14, "{error}");
}
