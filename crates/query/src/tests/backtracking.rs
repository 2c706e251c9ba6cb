//! Nested texts with an error at the end: what the limits allow is read in a time linear in its length,
//! whatever brackets are nested in whatever order.
//!
//! A parser that goes back may read the inside of a bracket once for each form that the bracket can take;
//! nested, that is exponential, and this search found such forms in the one that the project had first.

use crate::{ParseOptions, parse};
use proptest::prelude::*;

/// What opens a bracket where patterns stand.
const OF_GROUPS: [&str; 30] = [
    "{",
    "OPTIONAL {",
    "MINUS {",
    "{} UNION {",
    "FILTER(",
    "FILTER",
    "FILTER <a:f>(",
    "FILTER EXISTS {",
    "FILTER NOT EXISTS {",
    "GRAPH ?g {",
    "SERVICE SILENT ?g {",
    "BIND(",
    "?s ?p ?o ~ {|",
    "?s ?p ?o ~ ?x {| ?p",
    "?s ?p ?o {| ?p",
    "[ ?p",
    "?s ?p [ ?p",
    "?s ?p (",
    "<< ?s ?p",
    "?s ?p <<( ?s ?p",
    "?s ^(",
    "?s !(",
    "SELECT * {",
    "SELECT (",
    "SELECT * {} ORDER BY <a:f>(",
    "SELECT * {} GROUP BY <a:f>(",
    "SELECT * {} GROUP BY (",
    "SELECT * {} HAVING (",
    "LATERAL {",
    "?s ?p ?o; ?p [ ?p",
];

/// What opens a bracket where expressions stand.
const OF_EXPRESSIONS: [&str; 24] = [
    "(",
    "!(",
    "!",
    "STR(",
    "IF(1,",
    "REGEX(",
    "REGEX('a',",
    "SUBSTR(",
    "REPLACE(1,",
    "COALESCE(",
    "<a:f>(",
    "<a:f>(1,",
    "1 IN (",
    "1 NOT IN (",
    "1 + (",
    "1 * -(",
    "EXISTS {",
    "NOT EXISTS {",
    "COUNT(",
    "COUNT(DISTINCT",
    "GROUP_CONCAT(",
    "<<( ?s ?p",
    "CONCAT(1,",
    "1 = (",
];

/// A few openers that fit into each other, to be repeated.
fn unit() -> impl Strategy<Value = String> {
    prop::collection::vec((0..OF_GROUPS.len(), 0..OF_EXPRESSIONS.len()), 1..5).prop_map(|list| {
        let mut unit = String::new();
        let mut in_group = true;
        for (group, expression) in list {
            let opener = if in_group {
                OF_GROUPS[group]
            } else {
                OF_EXPRESSIONS[expression]
            };
            unit.push_str(opener);
            unit.push(' ');
            let goes_on = in_group && opener.starts_with(['?', '[']);
            in_group = opener.ends_with('{') || goes_on;
        }
        if !in_group {
            unit.push_str("EXISTS { ");
        }
        unit
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_nesting_stalls_the_parser(
        unit in unit(),
        times in 6..36_usize,
        end in prop::sample::select(vec!["", "&", "1", "?x", "?s ?p ?o", "?s <a:p>/<b:q> ?o ,"]),
    ) {
        let open = format!("SELECT * {{ {}{end}", unit.repeat(times));
        // What is not closed is refused at its end, so close it: the error stands inside.
        let mut closers = Vec::new();
        for (at, byte) in open.bytes().enumerate() {
            match byte {
                b'(' if open[..at].ends_with("<<") => closers.push(")>>"),
                b'(' => closers.push(")"),
                b'[' => closers.push("]"),
                b'{' if open[at + 1..].starts_with('|') => closers.push("|}"),
                b'{' => closers.push("}"),
                b'<' if open[at + 1..].starts_with("< ") => closers.push(">>"),
                b'}' | b')' => { closers.pop(); }
                _ => {}
            }
        }
        let closed: String = closers.into_iter().rev().collect();
        let _ = parse(&format!("{open} {closed}"), &ParseOptions::default());
    }
}
