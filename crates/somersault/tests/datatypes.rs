//! Derived and partial datatypes against the naive evaluator: every pair compared, every cast tried, every
//! part asked for; as computed values, and as stored terms, where filters and sorts look at ids first.

use crate::support;

use oxrdf::Dataset;
use somersault::Database;
use std::fmt::Write as _;
use testkit::compare::{self, Blanks};
use testkit::graph::{self, Format};
use testkit::naive;

const XSD: &str = "http://www.w3.org/2001/XMLSchema#";
const WORK_MAX: u64 = 1 << 30;

/// Literals in the form that casts and operators give them.
const CANONICAL: [(&str, &str); 44] = [
    ("2020", "gYear"),
    ("2020Z", "gYear"),
    ("2019", "gYear"),
    ("-0044", "gYear"),
    ("12020+14:00", "gYear"),
    ("2020-02", "gYearMonth"),
    ("2020-02-05:00", "gYearMonth"),
    ("2020-11", "gYearMonth"),
    ("--02-29", "gMonthDay"),
    ("--12-31", "gMonthDay"),
    ("--02", "gMonth"),
    ("--11Z", "gMonth"),
    ("---29", "gDay"),
    ("---31", "gDay"),
    ("2020-02-29", "date"),
    ("2020-02-29Z", "date"),
    ("2020-02-29T23:30:00", "dateTime"),
    ("2020-02-29T23:30:00-02:00", "dateTime"),
    ("23:30:00", "time"),
    ("P1Y", "yearMonthDuration"),
    ("P1D", "dayTimeDuration"),
    ("P1M", "duration"),
    ("a", "string"),
    ("", "string"),
    ("a b", "string"),
    (" a\t b ", "string"),
    ("http://e/a#b", "string"),
    ("en-GB", "string"),
    ("2020", "string"),
    ("--02-30", "string"),
    ("128", "string"),
    ("a", "token"),
    ("a b", "token"),
    ("a", "normalizedString"),
    ("en-GB", "language"),
    ("2020", "NMTOKEN"),
    ("a", "Name"),
    ("a:b", "Name"),
    ("a", "NCName"),
    ("http://e/a#b", "anyURI"),
    ("2020", "integer"),
    ("-1", "integer"),
    ("true", "boolean"),
    ("1.5", "decimal"),
];

/// Other forms, and what is of no value.
const OTHER: [(&str, &str); 22] = [
    ("2020+00:00", "gYear"),
    ("0000", "gYear"),
    ("20", "gYear"),
    ("--13", "gMonth"),
    ("--02-30", "gMonthDay"),
    ("127", "byte"),
    ("128", "byte"),
    ("+5", "int"),
    ("5", "long"),
    ("0", "positiveInteger"),
    ("255", "unsignedByte"),
    ("-1", "unsignedInt"),
    ("18446744073709551616", "unsignedLong"),
    ("-1", "negativeInteger"),
    (" a", "token"),
    ("a  b", "token"),
    ("1a", "Name"),
    ("a:b", "NCName"),
    ("a b", "NMTOKEN"),
    ("2020-02-29T23:30:00", "dateTimeStamp"),
    ("2020-02-29T23:30:00Z", "dateTimeStamp"),
    ("a", "unheardOf"),
];

const CASTS: [&str; 37] = [
    "boolean",
    "integer",
    "decimal",
    "float",
    "double",
    "string",
    "dateTime",
    "date",
    "time",
    "duration",
    "yearMonthDuration",
    "dayTimeDuration",
    "gYear",
    "gYearMonth",
    "gMonthDay",
    "gMonth",
    "gDay",
    "byte",
    "short",
    "int",
    "long",
    "unsignedByte",
    "unsignedShort",
    "unsignedInt",
    "unsignedLong",
    "positiveInteger",
    "negativeInteger",
    "nonPositiveInteger",
    "nonNegativeInteger",
    "normalizedString",
    "token",
    "language",
    "NMTOKEN",
    "Name",
    "NCName",
    "anyURI",
    "dateTimeStamp",
];

fn literal((form, datatype): &(&str, &str)) -> String {
    let form = form.replace('\t', "\\t");
    format!("\"{form}\"^^<{XSD}{datatype}>")
}

fn literals() -> Vec<String> {
    CANONICAL.iter().chain(&OTHER).map(literal).collect()
}

fn check(database: &Database, dataset: &Dataset, query: &str) {
    let blanks = Blanks::of_markers(&[]).expect("there are none");
    let verdict = naive::answer_within(dataset, query, WORK_MAX)
        .map_err(|error| format!("no expected answer: {error:?}"))
        .and_then(|expected| {
            let given = support::answer(database, query, 1).map_err(support::NoAnswer::message)?;
            compare::check(&expected, &given, &blanks)
        });
    if let Err(complaint) = verdict {
        panic!("{complaint}\n{query}");
    }
}

#[test]
fn every_pair_compares_as_the_naive_evaluator_says() {
    let all = literals();
    let database = support::loaded("", Format::Turtle, 1).unwrap();
    let right = all.join(" ");
    for left in &all {
        check(
            &database,
            &Dataset::new(),
            &format!(
                "SELECT ?a ?b (?a = ?b AS ?equal) (?a != ?b AS ?other) (?a < ?b AS ?less) (?a >= ?b AS ?not) \
                 (sameTerm(?a, ?b) AS ?same) (CONCAT(?a, ?b) AS ?both) (?a IN (\"a\", ?b) AS ?in) \
                 {{ VALUES ?a {{ {left} }} VALUES ?b {{ {right} }} }}"
            ),
        );
    }
}

#[test]
fn stored_terms_compare_as_computed_ones() {
    let all = literals();
    let mut text = String::new();
    for (number, literal) in all.iter().enumerate() {
        writeln!(text, "<http://e/{number}> <http://e/p> {literal} .").unwrap();
    }
    let database = support::loaded(&text, Format::NQuads, 1).unwrap();
    let dataset = graph::read(&text, Format::NQuads).unwrap();
    for one in &all {
        for filter in [
            format!("?o = {one}"),
            format!("!(?o = {one})"),
            format!("?o != {one}"),
            format!("?o IN ({one}, \"a\", <http://e/a>)"),
            format!("?o >= {one}"),
        ] {
            let stored = format!("SELECT ?s ?o {{ ?s <http://e/p> ?o FILTER({filter}) }}");
            check(&database, &dataset, &stored);
            let computed = format!(
                "SELECT ?o {{ VALUES ?o {{ {} }} FILTER({filter}) }}",
                all.join(" ")
            );
            check(&database, &dataset, &computed);
        }
    }
    for query in [
        "SELECT ?o { ?s <http://e/p> ?o } ORDER BY ?o",
        "SELECT ?a ?b { ?s <http://e/p> ?a . ?t <http://e/p> ?b FILTER(?a = ?b && ?a > \"\") }",
    ] {
        check(&database, &dataset, query);
    }
}

#[test]
fn casts_and_parts_are_those_of_the_naive_evaluator() {
    let canonical: Vec<String> = CANONICAL.iter().map(literal).collect();
    let database = support::loaded("", Format::Turtle, 1).unwrap();
    for name in CASTS {
        // How a value was written is left open where it becomes a string.
        let values = if name.starts_with(char::is_uppercase)
            || ["string", "normalizedString", "token", "language", "anyURI"].contains(&name)
        {
            canonical.clone()
        } else {
            literals()
        };
        let values: Vec<String> = values
            .into_iter()
            .filter(|it| !it.contains("\\t"))
            .collect();
        check(
            &database,
            &Dataset::new(),
            &format!(
                "SELECT ?a (<{XSD}{name}>(?a) AS ?c) {{ VALUES ?a {{ {} }} }}",
                values.join(" ")
            ),
        );
    }
    check(
        &database,
        &Dataset::new(),
        &format!(
            "SELECT ?a (YEAR(?a) AS ?y) (MONTH(?a) AS ?m) (DAY(?a) AS ?d) (TZ(?a) AS ?z) \
             (TIMEZONE(?a) AS ?zone) (STR(?a) AS ?s) (DATATYPE(?a) AS ?t) (STRLEN(?a) AS ?l) \
             (UCASE(?a) AS ?u) (CONTAINS(?a, \"a\") AS ?has) (isNUMERIC(?a) AS ?n) (IF(?a, 1, 0) AS ?if) \
             (REGEX(?a, \"^a\") AS ?r) (?a + 1 AS ?plus) (STRBEFORE(?a, \"b\") AS ?before) \
             {{ VALUES ?a {{ {} }} }}",
            literals().join(" ")
        ),
    );
}
