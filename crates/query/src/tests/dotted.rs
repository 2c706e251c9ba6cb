//! Prefixed names with several dots, wherever names may stand, and the places of errors beside them.

use crate::options::ParseOptions;
use crate::parse;
use crate::update::parse_update;

const PREFIX: &str = "PREFIX ec: <http://e/ec/> PREFIX : <http://e/> ";

/// What a text means, with every name written as an IRI or as a prefixed name.
fn algebra(text: &str) -> String {
    let text = format!("{PREFIX}{text}");
    let query = parse::parse(&text, &ParseOptions::default());
    format!(
        "{:?}",
        query.unwrap_or_else(|error| panic!("{text}: {error}"))
    )
}

#[test]
fn a_local_name_may_have_dots_anywhere_within() {
    for (name, iri) in [
        ("ec:2.6.1.62", "<http://e/ec/2.6.1.62>"),
        ("ec:2.6.1.-", "<http://e/ec/2.6.1.->"),
        ("ec:a..b.c", "<http://e/ec/a..b.c>"),
        ("ec:2.6\\.1.62", "<http://e/ec/2.6.1.62>"),
        (":v.1.2.3%20x", "<http://e/v.1.2.3%20x>"),
        ("ec:é.è.à", "<http://e/ec/é.è.à>"),
    ] {
        for text in [
            "SELECT * { ?s ?p NAME . NAME ?p ?o }",
            "SELECT * { ?s NAME|^NAME ?o. ?o ?p NAME.}",
            "SELECT * { VALUES ?x { NAME NAME } FILTER(?x IN (NAME) && STR(NAME) = \"a.b.c\") }",
            "SELECT (1 AS ?a) (?a + 1 AS ?b) { GRAPH NAME { ?s ?p \"x\"^^NAME } }",
            "ASK { ?s ?p NAME FILTER(TRUE) }",
        ] {
            let [short, long] = [name, iri].map(|term| algebra(&text.replace("NAME", term)));
            assert_eq!(short, long, "{text} with {name}");
        }
    }
    let update = |term: &str| {
        let text = format!("{PREFIX}INSERT {{ ?s ?p {term} }} WHERE {{ ?s ?p {term} }}");
        format!(
            "{:?}",
            parse_update(&text, &ParseOptions::default()).expect("it is one")
        )
    };
    assert_eq!(update("ec:2.6.1.62"), update("<http://e/ec/2.6.1.62>"));
}

#[test]
fn errors_beside_such_names_keep_their_places() {
    for text in [
        "SELECT * {\n ?s ?p NAME . NAME ?p }",
        "SELECT * {\n ?s ?p NAME FILTER(?x <) }",
        "SELECT * {\n ?s ?p NAME , NAME . ?x nope:a ?y }",
        "SELECT * {\n NAME NAME NAME NAME }",
    ] {
        let error = |name: &str| {
            let text = format!("{PREFIX}{}", text.replace("NAME", name));
            parse::parse(&text, &ParseOptions::default()).expect_err("it is none")
        };
        // A name of the same length without dots.
        let (dotted, plain) = (error("ec:2.6.1.62"), error("ec:2_6_1_62"));
        assert_eq!(dotted.position, plain.position, "{text}: {dotted}");
        let message = dotted.message.replace("2.6.1.62", "2_6_1_62");
        assert_eq!(message, plain.message, "{text}");
    }
}
