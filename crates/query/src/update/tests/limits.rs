//! Long and deep updates: what is bounded, by which limit, on the stack that is promised.

use crate::limits::Limit;
use crate::update::{Operation, Update};
use crate::{ParseError, ParseErrorKind, ParseOptions, STACK_BYTES_MIN, parse, parse_update};
use std::fmt::Write as _;

/// Reads on a thread with the stack that is promised to do.
fn on_small_stack(text: String) -> Result<Update, ParseError> {
    let mut options = ParseOptions::default();
    options.limits.text_bytes = 1 << 26;
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES_MIN);
    let read = thread.spawn(move || parse_update(&text, &options));
    read.unwrap().join().unwrap()
}

fn many(start: &str, item: impl Fn(usize) -> String, end: &str, count: usize) -> String {
    let mut text = start.to_owned();
    for number in 0..count {
        let _ = write!(text, "{} ", item(number));
    }
    text + end
}

#[test]
fn data_are_bounded_by_their_length_alone() {
    let count = 100_000;
    let texts = [
        many(
            "INSERT DATA {",
            |n| format!("<a:s{n}> <a:p> {n} ."),
            "}",
            count,
        ),
        many(
            "DELETE DATA {",
            |n| format!("<a:s{n}> <a:p> {n} ."),
            "}",
            count,
        ),
        many(
            "INSERT DATA { <a:s> <a:p> 1",
            |n| format!(", {n}"),
            "}",
            count - 1,
        ),
        many(
            "INSERT DATA {",
            |n| format!("GRAPH <a:g> {{ <a:s> <a:p> {n} }}"),
            "}",
            count,
        ),
        many("INSERT DATA {", |n| format!("[] <a:p> {n} ."), "}", count),
        many(
            "INSERT DATA { <a:s> <a:p> (",
            |n| n.to_string(),
            ") }",
            count / 2,
        ),
        many(
            "INSERT DATA {",
            |n| format!("<a:s> <a:p> {n} {{| <a:q> 1 |}} ."),
            "}",
            count / 3,
        ),
        many(
            "INSERT {",
            |n| format!("<a:s{n}> <a:p> {n} ."),
            "} WHERE { ?s ?p ?o }",
            count,
        ),
        many(
            "INSERT {",
            |n| format!("<a:s{n}> <a:p> ?x{n} ."),
            "} WHERE { ?s ?p ?o }",
            count,
        ),
    ];
    for text in texts {
        let start: String = text.chars().take(60).collect();
        let update = on_small_stack(text).unwrap_or_else(|error| panic!("{start}: {error}"));
        let [operation] = &update.operations[..] else {
            panic!("{start}: one operation");
        };
        match operation {
            Operation::InsertData { data } | Operation::DeleteData { data } => {
                assert!(data.len() >= count - 1, "{start}: {}", data.len());
            }
            Operation::Modify(modify) => {
                let expected = if start.contains("?x") { 0 } else { count };
                assert_eq!(modify.insert.len(), expected, "{start}");
            }
            other => panic!("{start}: {other:?}"),
        }
    }
}

#[test]
fn operations_are_counted_one_by_one() {
    let update = on_small_stack(many("", |_| "CLEAR ALL ;".to_owned(), "", 20_000)).unwrap();
    assert_eq!(update.operations.len(), 20_000);
    let where_ = |_| "DELETE WHERE { ?a ?b ?c ; ?d ?e . GRAPH ?g { ?a ?b ?c } } ;".to_owned();
    let update = on_small_stack(many("", where_, "", 2_000)).unwrap();
    assert_eq!(update.operations.len(), 2_000);
    let prefixes = |n: usize| format!("PREFIX p{n}: <a:{n}> CREATE GRAPH p{n}:x ;");
    let update = on_small_stack(many("", prefixes, "", 20_000)).unwrap();
    assert_eq!(update.operations.len(), 20_000);
}

/// Shapes without bound, and the limit that each runs into.
#[test]
fn what_is_not_data_has_limits() {
    let nested = |open: &str, middle: &str, close: &str, n: usize| {
        format!("{}{middle}{}", open.repeat(n), close.repeat(n))
    };
    let filter = |n| {
        format!(
            "DELETE {{}} WHERE {{ FILTER({}) }}",
            nested("(", "1", ")", n)
        )
    };
    let cases: [(Limit, String); 9] = [
        (Limit::Nesting, filter(10_000)),
        (Limit::Nesting, format!("CLEAR ALL; {}", filter(10_000))),
        (
            Limit::Nesting,
            format!(
                "INSERT DATA {{ <a:s> <a:p> {} }}",
                nested("(", "1", ")", 10_000)
            ),
        ),
        (
            Limit::Nesting,
            format!(
                "INSERT DATA {{ <a:s> <a:p> {} }}",
                nested("[ <a:p> ", "1", "]", 10_000)
            ),
        ),
        (
            Limit::Nesting,
            format!(
                "INSERT {{ <a:s> <a:p> {} }} WHERE {{}}",
                nested("<<( <a:s> <a:p> ", "1", ")>>", 10_000)
            ),
        ),
        (
            Limit::Nesting,
            format!(
                "INSERT DATA {{ <a:s> <a:p> 1 {} }}",
                nested("{| <a:p> 1", "", "|}", 10_000)
            ),
        ),
        (
            Limit::TriplePatterns,
            many("DELETE WHERE {", |n| format!("?s{n} ?p ?o ."), "}", 2_000),
        ),
        (
            Limit::Depth,
            many("DELETE WHERE {", |_| "GRAPH ?g {}".to_owned(), "}", 2_000),
        ),
        (
            Limit::Depth,
            many(
                "INSERT {} WHERE {",
                |_| "OPTIONAL {}".to_owned(),
                "}",
                2_000,
            ),
        ),
    ];
    for (limit, text) in cases {
        let start: String = text.chars().take(60).collect();
        match on_small_stack(text).map_err(|error| error.kind) {
            Err(ParseErrorKind::Limit { limit: found, .. }) => assert_eq!(found, limit, "{start}"),
            other => panic!("{start}: {other:?}"),
        }
    }
}

/// The largest texts that the limits let through, on the stack that is promised.
#[test]
fn at_the_limits() {
    let deep = "(".repeat(250) + "1" + &")".repeat(250);
    let texts = [
        format!("DELETE {{}} WHERE {{ FILTER({deep}) }}"),
        format!("INSERT DATA {{ <a:s> <a:p> {deep} }}"),
        format!(
            "INSERT DATA {{ <a:s> <a:p> {}1{} }}",
            "<<( <a:s> <a:p> ".repeat(250),
            ")>>".repeat(250)
        ),
        format!(
            "INSERT {{ {}<a:s>{} <a:p> ?o }} WHERE {{ ?s ?p ?o }}",
            "<< ".repeat(250),
            " <a:p> <a:o> >>".repeat(250)
        ),
        many(
            "DELETE WHERE { GRAPH ?g {",
            |n| format!("?s{n} ?p ?o ."),
            "} }",
            990,
        ),
        many(
            "DELETE WHERE {",
            |n| format!("GRAPH ?g {{ ?s{n} ?p ?o }}"),
            "}",
            500,
        ),
    ];
    for text in texts {
        let start: String = text.chars().take(60).collect();
        if let Err(error) = on_small_stack(text) {
            panic!("{start}: {error}");
        }
    }
}

/// Short texts that mean gigabytes, and have to be written out.
#[test]
fn copies_are_counted_before_they_are_made() {
    let long = "x".repeat(300_000);
    let names = |name: &str| format!("{name} ").repeat(100_000);
    let texts = [
        format!(
            "PREFIX p: <a:{long}> INSERT DATA {{ <a:s> <a:p> ({}) }}",
            names("p:")
        ),
        format!(
            "PREFIX p: <a:{long}> INSERT DATA {{ <a:s> <a:p> 0{} }}",
            many("", |n| format!(", p:{n}"), "", 10_000)
        ),
        format!(
            "BASE <a:{long}/> INSERT DATA {{ <a:s> <a:p> ({}) }}",
            names("<>")
        ),
        format!("BASE <a:{long}/> {}", "CREATE GRAPH <a:b> ;".repeat(30_000)),
        format!(
            "INSERT DATA {{ <a:s> <a:p> {} }}",
            names(&format!(", <<( _:b <a:p> '{}' )>>", "x".repeat(3_000))).replacen(',', "", 1)
        ),
        "BASE <a/> ".repeat(90_000),
        format!("INSERT DATA {{ _:a <a:{long}> _:b {} }}", names("~")),
        format!(
            "INSERT {{ ?s ?p {}?x{} {} }} WHERE {{}}",
            "<<( <a:s> <a:p> ".repeat(250),
            " )>>".repeat(250),
            names("~")
        ),
        format!(
            "BASE <http://e/{long}/> {}",
            many(
                "",
                |n| format!("PREFIX p{n}: <{n}> INSERT DATA {{}} ;"),
                "",
                2_000
            )
        ),
        format!(
            "INSERT {{ ?s ?p ?o }} WHERE {{ SERVICE <a:e> {{ <a:{long}> <a:p> ?a{} }} }}",
            ", ?a".repeat(990)
        ),
        format!(
            "INSERT {{ ?s ?p ?o }} WHERE {{ SERVICE <a:e> {{ ?s <a:{long}> ?a{} }} }}",
            ", ?a".repeat(990)
        ),
    ];
    let mut options = ParseOptions {
        base: Some("http://e/".to_owned()),
        ..ParseOptions::default()
    };
    options.limits.text_bytes = 1 << 29;
    for text in texts {
        let Err(error) = parse_update(&text, &options) else {
            panic!("{}", &text[..60]);
        };
        let limit = Limit::ExpandedBytes;
        assert!(
            matches!(error.kind, ParseErrorKind::Limit { limit: found, .. } if found == limit),
            "{}: {error}",
            &text[..60]
        );
    }
    let query = format!(
        "PREFIX p: <a:{long}> SELECT * {{ VALUES ?x {{ {} }} }}",
        names("p:")
    );
    let error = parse(&query, &options).unwrap_err();
    assert!(error.message.contains("written out"), "{error}");
}

/// IRIs that `DESCRIBE` lists are nested one in another.
#[test]
fn a_list_of_described_terms_is_bounded() {
    let text = format!("PREFIX a: <b:> DESCRIBE {}", "a:x ".repeat(100_000));
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES_MIN);
    let read = thread.spawn(move || parse(&text, &ParseOptions::default()).map(drop));
    let error = read.unwrap().join().unwrap().unwrap_err();
    let is_listed = matches!(
        error.kind,
        ParseErrorKind::Limit {
            limit: Limit::ListedNames,
            ..
        }
    );
    assert!(is_listed, "{error}");
}

/// What a text repeats is made once.
#[test]
fn repetitions_are_no_copies() {
    let long = "x".repeat(300_000);
    let names = |name: &str| format!("{name} ").repeat(100_000);
    let texts = [
        format!("INSERT DATA {{ <a:{long}> <a:p> 0{} }}", names(", 1")),
        format!("INSERT DATA {{ <a:s> <a:{long}> 0{} }}", names(", 1")),
        format!("INSERT DATA {{ <a:{long}> <a:p> 0{} }}", names("; <a:q> 1")),
        format!(
            "INSERT DATA {{ GRAPH <a:{long}> {{ <a:s> <a:p> 0{} }} }}",
            names(", 1")
        ),
        format!(
            "WITH <a:{long}> INSERT {{ <a:s> <a:p> 0{} }} WHERE {{}}",
            names(", 1")
        ),
        format!("INSERT DATA {{ <a:s> <a:p> '{long}' {} }}", names("~")),
        format!(
            "INSERT DATA {{ <a:s> <a:p> '{long}' {} }}",
            names("{| <a:q> 1 |}")
        ),
        format!(
            "INSERT DATA {{ <a:s> <a:p> 1 ~ <a:{long}> {{| <a:q> 1{} |}} }}",
            names(", 1")
        ),
        format!(
            "INSERT DATA {{ <a:s> <a:p> <<( <a:s> <a:p> '{long}' )>> {} }}",
            names("~")
        ),
    ];
    let mut options = ParseOptions::default();
    options.limits.text_bytes = 1 << 22;
    for text in texts {
        let update = match parse_update(&text, &options) {
            Ok(update) => update,
            Err(error) => panic!("{}: {error}", &text[..60]),
        };
        if let [Operation::InsertData { data }] = &update.operations[..] {
            assert!(data.len() >= 100_000, "{}", &text[..60]);
            assert!(data.bytes() < 64 << 20, "{}: {}", &text[..60], data.bytes());
        }
    }
    let query = format!("SELECT * {{ <a:{long}> <a:p> ?a{} }}", ", ?a".repeat(990));
    assert_eq!(parse(&query, &options).unwrap().patterns().len(), 991);
}

#[test]
fn plain_data_are_not_refused_for_their_copies() {
    let prefix = "PREFIX p: <http://a.name.space.of/usual/length/and/some/more#>";
    let start = format!("{prefix} INSERT DATA {{ p:subject p:predicate 0");
    on_small_stack(many(&start, |n| format!(", {n}"), "}", 200_000)).unwrap();
    let long = "x".repeat(1 << 19);
    on_small_stack(many(
        &format!("INSERT DATA {{ <a:s> <a:p> '{long}' ."),
        |n| format!("<a:s> <a:p> {n} ."),
        "}",
        50_000,
    ))
    .unwrap();
}
