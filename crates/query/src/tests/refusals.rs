//! Texts that are refused: what the error says and where.

use crate::{ParseErrorKind, ParseOptions, parse};

/// Checks the error of a text; the kind is told by how the message begins.
fn check(text: &str, expected: &str) {
    let error = parse(text, &ParseOptions::default()).expect_err(text);
    assert_eq!(error.to_string(), expected, "{text}");
    let kind = if expected.starts_with("not supported yet") {
        ParseErrorKind::Unsupported
    } else if expected.contains("is an update") {
        ParseErrorKind::Update
    } else {
        ParseErrorKind::Syntax
    };
    assert_eq!(error.kind, kind, "{text}");
}

#[test]
fn what_is_not_supported_yet() {
    check(
        "SELECT * {
  ?s ?p ?o
  OPTIONAL { ?o ?q ?r }
}",
        "not supported yet: OPTIONAL at line 3, column 3",
    );
    check(
        "SELECT * { {?s ?p ?o} UNION {?o ?p ?s} }",
        "not supported yet: UNION at line 1, column 23",
    );
    check(
        "SELECT * { ?s ?p ?o MINUS { ?o ?p ?s } }",
        "not supported yet: MINUS at line 1, column 21",
    );
    check(
        "SELECT * { ?s ?p ?o FILTER EXISTS { ?o ?p ?s } }",
        "not supported yet: EXISTS at line 1, column 28",
    );
    check(
        "SELECT * { ?s ?p ?o FILTER NOT EXISTS { ?o ?p ?s } }",
        "not supported yet: EXISTS at line 1, column 32",
    );
    check(
        "SELECT * { ?s ?p ?o BIND(1 AS ?x) }",
        "not supported yet: BIND at line 1, column 21",
    );
    check(
        "SELECT (1 + ?o AS ?x) { ?s ?p ?o }",
        "not supported yet: an expression in SELECT at line 1, column 16",
    );
    check(
        "SELECT * { VALUES ?s { 1 } ?s ?p ?o }",
        "not supported yet: VALUES at line 1, column 12",
    );
    check(
        "SELECT * { ?s ?p ?o } VALUES ?s { 1 }",
        "not supported yet: VALUES at line 1, column 23",
    );
    check(
        "SELECT * { ?s <a:p>* ?o }",
        "not supported yet: property paths other than ^ and / at line 1, column 20",
    );
    check(
        "SELECT * { ?s <a:p>/<a:q>|<a:r> ?o }",
        "not supported yet: property paths other than ^ and / at line 1, column 26",
    );
    check(
        "SELECT * { ?s !<a:p> ?o }",
        "not supported yet: property paths other than ^ and / at line 1, column 15",
    );
    check(
        "SELECT (SUM(?o) AS ?x) { ?s ?p ?o }",
        "not supported yet: aggregate SUM at line 1, column 9",
    );
    check(
        "SELECT ?s (COUNT(*) AS ?x) { ?s ?p ?o } GROUP BY ?s",
        "not supported yet: GROUP BY at line 1, column 41",
    );
    check(
        "SELECT (COUNT(*) AS ?x) (COUNT(*) AS ?y) { ?s ?p ?o }",
        "not supported yet: aggregates other than a lone COUNT at line 1, column 9",
    );
    check(
        "SELECT (COUNT(*) + 1 AS ?x) { ?s ?p ?o }",
        "not supported yet: aggregates other than a lone COUNT at line 1, column 9",
    );
    check(
        "SELECT (COUNT(*) AS ?x) { ?s ?p ?o } HAVING (COUNT(*) > 1)",
        "not supported yet: aggregates other than a lone COUNT at line 1, column 9",
    );
    check(
        "SELECT (COUNT(*) AS ?x) { ?s ?p ?o } ORDER BY ?x",
        "not supported yet: ORDER BY with an aggregate at line 1, column 38",
    );
    check(
        "SELECT (COUNT(?z) AS ?x) { ?s ?p ?o }",
        "not supported yet: COUNT of an unbound variable at line 1, column 9",
    );
    check(
        "SELECT (COUNT(?o + 1) AS ?x) { ?s ?p ?o }",
        "not supported yet: aggregate COUNT at line 1, column 9",
    );
    check(
        r#"SELECT (GROUP_CONCAT(?o; SEPARATOR=",") AS ?x) { ?s ?p ?o }"#,
        "not supported yet: aggregate GROUP_CONCAT at line 1, column 9",
    );
    check(
        "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }",
        "not supported yet: CONSTRUCT at line 1, column 1",
    );
    check(
        "CONSTRUCT WHERE { ?s ?p ?o }",
        "not supported yet: CONSTRUCT at line 1, column 1",
    );
    check(
        "DESCRIBE <a:b>",
        "not supported yet: DESCRIBE at line 1, column 1",
    );
    check(
        "SELECT * { SERVICE <a:b> { ?s ?p ?o } }",
        "not supported yet: SERVICE at line 1, column 12",
    );
    check(
        "SELECT * { ?s ?p <<( ?a ?b ?c )>> }",
        "not supported yet: triple terms at line 1, column 18",
    );
    check(
        "SELECT * { << ?a ?b ?c >> ?p ?o }",
        "not supported yet: triple terms at line 1, column 12",
    );
    check(
        "SELECT * { ?s ?p ?o {| ?q ?r |} }",
        "not supported yet: triple terms at line 1, column 21",
    );
    check(
        "SELECT * { ?s ?p ?o LATERAL { ?o ?p ?q } }",
        "not supported yet: LATERAL at line 1, column 21",
    );
    check(
        "SELECT * { { SELECT ?s { ?s ?p ?o } LIMIT 1 } ?s ?p ?q }",
        "not supported yet: sub-SELECT at line 1, column 14",
    );
    check(
        "ASK { { SELECT ?s { ?s ?p ?o } LIMIT 1 } }",
        "not supported yet: sub-SELECT at line 1, column 9",
    );
    check(
        r#"SELECT * { ?s ?p ?o FILTER(MD5(?o) = "x") }"#,
        "not supported yet: function MD5 at line 1, column 28",
    );
    check(
        "SELECT * { ?s ?p ?o FILTER(<http://www.w3.org/2001/XMLSchema#integer>(?o) = 1) }",
        "not supported yet: function <http://www.w3.org/2001/XMLSchema#integer> at line 1, column 28",
    );
    check(
        "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
SELECT * { ?s ?p ?o FILTER(xsd:integer(?o) = 1) }",
        "not supported yet: function <http://www.w3.org/2001/XMLSchema#integer> at line 2, column 28",
    );
    check(
        "SELECT * { ?s ?p ?o FILTER(NOW() > ?o) }",
        "not supported yet: function NOW at line 1, column 28",
    );
    check(
        "SELECT * { GRAPH ?g { ?s ?p ?o FILTER(?g = <a:b>) } }",
        "not supported yet: FILTER on ?g within its own GRAPH at line 1, column 32",
    );
}

#[test]
fn updates() {
    check(
        "PREFIX x: <a:b>
INSERT DATA { x:a x:b x:c }",
        "INSERT is an update, not a query at line 2, column 1",
    );
    check(
        "DELETE WHERE { ?s ?p ?o }",
        "DELETE is an update, not a query at line 1, column 1",
    );
    check(
        "LOAD <a:b>",
        "LOAD is an update, not a query at line 1, column 1",
    );
}

#[test]
fn syntax() {
    check("SELECT * {", "`{` is not closed at line 1, column 10");
    check(
        "SELECT * { ?s ?p ?o ) }",
        "unexpected `)`, expected `}` at line 1, column 21",
    );
    check(
        r#"SELECT * { ?s ?p "abc }"#,
        r#"`"` is not closed at line 1, column 18"#,
    );
    check(
        "SELECT * { ?s ?p '''abc }",
        "`'''` is not closed at line 1, column 18",
    );
    check(
        "SELECT * { ?s ?p ex:o }",
        "prefix `ex:` is not declared at line 1, column 18",
    );
    check("SELECT * { ?s ?p }", "unexpected `}` at line 1, column 18");
    check(
        "SELECT ?s ?s { ?s ?p ?o }",
        "duplicated variable name in select at line 1, column 1",
    );
    check(
        "SELECT * { ?s <a b> ?o }",
        "`<a b>` is not a valid absolute IRI at line 1, column 15",
    );
    check(
        "SELECT * { ?s <ab> ?o }",
        "`<ab>` is not a valid absolute IRI at line 1, column 15",
    );
    check(
        "SELECT * WHERE { ?s ?p ?o } LIMIT x",
        "unexpected `x` at line 1, column 35",
    );
    check(
        "SELECT * { ?s ?p ?o }
GARBAGE",
        "unexpected `GARBAGE` at line 2, column 1",
    );
    check(
        "ASK { ?s ?p ?o FILTER(?o ! 3) }",
        "unexpected `!` at line 1, column 26",
    );
    check(
        "SELECT *
{ ?s ?p ?o .
  ?s ?p é }",
        "unexpected `é` at line 3, column 9",
    );
    check(
        "SELECT (COUNT(*) AS ?x) (?s AS ?y) { ?s ?p ?o }",
        "the select contains an expression with a variable that is unbound at line 1, column 1",
    );
    check("hello", "unexpected `hello` at line 1, column 1");
    check(
        r#"SELECT * { ?s ?p "a"@123 }"#,
        "unexpected `@123` at line 1, column 21",
    );
    check(
        "SELECT * { _:a ?p ?o { _:a ?q ?r } }",
        "unexpected `_:a` at line 1, column 24",
    );
}

#[test]
fn options_are_checked() {
    let options = ParseOptions {
        base: Some("no iri".to_owned()),
        ..ParseOptions::default()
    };
    let error = parse("ASK {}", &options).unwrap_err();
    assert_eq!(error.kind, ParseErrorKind::Option);
    assert!(
        error.message.starts_with("base <no iri> is not an IRI"),
        "{error}"
    );
}

#[test]
fn base_and_prefixes_are_used() {
    let options = ParseOptions {
        base: Some("http://example.org/a/".to_owned()),
        prefixes: vec![("ex".to_owned(), "http://example.org/ex#".to_owned())],
        ..ParseOptions::default()
    };
    let query = parse("PREFIX my: <http://my/> ASK { <b> ex:c my:d }", &options).unwrap();
    let constants: Vec<String> = query.constants().iter().map(ToString::to_string).collect();
    assert_eq!(
        constants,
        [
            "<http://example.org/a/b>",
            "<http://example.org/ex#c>",
            "<http://my/d>"
        ]
    );
    let prefixes: Vec<&str> = query.prefixes().iter().map(|(p, _)| p.as_str()).collect();
    assert_eq!(prefixes, ["ex", "my"]);
}
