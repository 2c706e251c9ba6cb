//! All errors of a text at once: those that people make together, and what holds for any text.

use crate::grammar::lexer;
use crate::grammar::parser::{self, ERRORS_MAX};
use crate::limits::Limits;
use crate::parse::further_errors;
use crate::update::{self, parse_update};
use crate::{ParseError, ParseOptions, parse};

fn places(errors: &[ParseError]) -> Vec<(u32, u32)> {
    let place = |error: &ParseError| (error.position.line, error.position.column);
    errors.iter().map(place).collect()
}

fn of_query(text: &str) -> Vec<ParseError> {
    let options = ParseOptions::default();
    let first = parse(text, &options).expect_err(text);
    let further = further_errors(text, &options, &first);
    [vec![first], further].concat()
}

fn of_update(text: &str) -> Vec<ParseError> {
    let options = ParseOptions::default();
    let first = parse_update(text, &options).expect_err(text);
    let further = update::further_errors(text, &options, &first);
    [vec![first], further].concat()
}

#[test]
fn each_element_and_clause_has_its_error() {
    let text = "PREFIX ex <http://e/>\nSELECT ?x WHERE {\n  ?x ex:p ;; ?y .\n  OPTINAL { ?x ex:q ?z }\n  \
                FILTER(?x = )\n}\nODER BY ?x";
    let errors = of_query(text);
    assert_eq!(
        places(&errors),
        [(1, 8), (3, 11), (4, 3), (5, 15), (7, 1)],
        "{errors:#?}"
    );
    assert!(errors[2].message.contains("OPTIONAL") && errors[4].message.contains("ORDER"));
}

#[test]
fn what_is_skipped_ends_where_the_next_thing_begins() {
    for (text, expected) in [
        // A dot is missing, which is taken as if it stood there.
        (
            "SELECT * { ?s ?p ?o ?a ?b ?c . ?d ?e }",
            vec![(1, 21), (1, 38)],
        ),
        (
            "SELECT ?x, ?y WHERE { ?x ?p } LIMIT ten",
            vec![(1, 10), (1, 29), (1, 37)],
        ),
        // Brackets in what is skipped are skipped with what is in them.
        (
            "SELECT * { ?s [ ?p ?o ; ] ?x 1 2 . ?s ?p }",
            vec![(1, 15), (1, 42)],
        ),
        (
            "SELECT * { FILTER(?x == 3) . ?s ?p }",
            vec![(1, 23), (1, 36)],
        ),
        (
            "SELECT * { { SELECT ?x { ?x } ORDER } ?s ?p }",
            vec![(1, 29), (1, 37), (1, 45)],
        ),
        (
            "CONSTRUCT { ?s ?p } WHERE { ?s ?p }",
            vec![(1, 19), (1, 35)],
        ),
        // No consequences: of what stands beside, of a bracket that is missing, of the end behind another error.
        ("SELECT * { ?s ?p ?o ?z }", vec![(1, 21)]),
        ("SELECT * WHERE ?s ?p ?o }", vec![(1, 16)]),
        ("PREFIX e: http://e/ns# SELECT * { }", vec![(1, 11)]),
        (
            "SELECT * { ?s ?p ; FILTER(?x) ?y OPTIONAL { ?s } ",
            vec![(1, 18), (1, 10)],
        ),
        // What is within it is no error of its own.
        (
            "SELECT * { ?s <http://e.org/ns.a ?o . ?s ?p }",
            vec![(1, 15), (1, 45)],
        ),
        // What is taken for a comment may close it.
        ("SELECT * { ?s <http://e/a#b ?o }", vec![(1, 15)]),
        (
            "SELECT * { ?s <http://www.w3.org/1999/02/22-rdf-syntax-ns#type ?o }",
            vec![(1, 15)],
        ),
        (
            "SELECT * { OPTIONAL { ?s <http://e/a#b ?o }\n} ORDER BY ?s",
            vec![(1, 26)],
        ),
        (
            "SELECT * { ?s <http://e/a#b ?o }\n } LIMIT x",
            vec![(1, 15), (2, 10)],
        ),
        // Only one: of meaning, of the end, of an undeclared prefix.
        ("SELECT ?x { BIND(1 AS ?x) BIND(2 AS ?x) }", vec![(1, 37)]),
        ("SELECT * { ?s ?p ?o ", vec![(1, 10)]),
        ("SELECT * { ?s ex:p ?o }", vec![(1, 15)]),
    ] {
        let errors = of_query(text);
        assert_eq!(places(&errors), expected, "{text}: {errors:#?}");
    }
}

#[test]
fn operations_are_read_behind_one_that_is_wrong() {
    let text = "INSERT DATA { <a:s> <a:p> } ;\nCLEAR ALL ;\nDELETE WHER { ?s ?p ?o } ;\nCLEAR ALLL";
    let errors = of_update(text);
    assert_eq!(places(&errors), [(1, 27), (3, 8), (4, 7)], "{errors:#?}");
    assert!(errors[1].message.ends_with(", in operation 3"));
    // The end of an operation behind an error is none, wherever the operation stands.
    let text = "PREFIX e: e:x INSERTT DATA { } ;\nCLEAR ALL";
    assert_eq!(places(&of_update(text)), [(1, 11)]);
}

/// Texts with a token taken out, twice there, or changed for another.
fn spoilt(text: &str) -> impl Iterator<Item = String> {
    let tokens = lexer::scan(text, &Limits::default()).unwrap();
    let slices: Vec<String> = tokens
        .tokens
        .iter()
        .map(|token| tokens.slice(*token).to_owned())
        .collect();
    let others = [
        "{", "}", "(", ")", ".", ";", "SELECT", "FILTER", "1", "?x", "UNION",
    ];
    let count = slices.len();
    (0..count).flat_map(move |at| {
        let with = |replacement: &[&str]| {
            let before = slices[..at].iter().map(String::as_str);
            let after = slices[at + 1..].iter().map(String::as_str);
            let all: Vec<&str> = before
                .chain(replacement.iter().copied())
                .chain(after)
                .collect();
            all.join(" ")
        };
        let mut texts = vec![with(&[]), with(&[&slices[at], &slices[at]])];
        texts.extend(others.iter().map(|other| with(&[other])));
        texts.extend(others.iter().map(|other| with(&[&slices[at], other])));
        texts
    })
}

#[test]
fn the_first_error_is_that_of_the_first_reading_and_no_text_has_none() {
    let limits = Limits::default();
    let mut counts = [0; ERRORS_MAX + 1];
    for text in [
        "PREFIX e: <http://e/> SELECT DISTINCT ?x (COUNT(*) AS ?n) FROM <a:g> WHERE { ?x a e:A ; e:p/e:q* ?y , 2 . \
         OPTIONAL { ?y e:r [ e:s ?z ] FILTER(?z > 1 && !BOUND(?y)) } { ?x ?p ?o } UNION { GRAPH ?g { ?x ?p (1 2) } } \
         VALUES (?x ?y) { (1 UNDEF) } BIND(IF(?x IN (1, 2), ?x, ?y) AS ?w) MINUS { ?x ?q ?r } } \
         GROUP BY ?x HAVING (COUNT(*) > 1) ORDER BY DESC(?n) LIMIT 10 OFFSET 5",
        "ASK { { SELECT * { <<?s ?p ?o>> ?q ?r {| ?a ?b |} } LIMIT 1 } FILTER NOT EXISTS { ?s ?p ?o } }",
        "CONSTRUCT { ?s ?p ?o . ?o ?p ?s } WHERE { ?s ?p ?o }",
    ] {
        for spoilt in spoilt(text) {
            let Ok(tokens) = lexer::scan(&spoilt, &limits) else {
                continue;
            };
            let first = parser::query(&tokens, &limits).err();
            let errors = parser::errors_of_query(&tokens, &limits);
            assert_eq!(errors.first(), first.as_ref(), "{spoilt}");
            assert!(errors.len() <= ERRORS_MAX, "{spoilt}");
            counts[errors.len()] += 1;
        }
    }
    // Most slips are one error, and few of them make many.
    let with_errors: usize = counts[1..].iter().sum();
    assert!(counts[1] * 2 > with_errors, "{counts:?}");
    assert!(
        counts[4..].iter().sum::<usize>() * 20 < with_errors,
        "{counts:?}"
    );
}
