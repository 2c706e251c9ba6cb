//! Large queries: every pattern is walked once, and columns are bound before they are read.

use super::invariants::check_plan;
use super::lubm::{plan_of, plan_query, query};
use crate::algebra::Query;
use crate::plan::{Action, Plan, Step};
use crate::statistics::Statistics;
use crate::{ParseOptions, PlanOptions, parse};
use proptest::prelude::*;
use std::fmt::Write;

/// Expands and checks.
fn walks(plan: &Plan) -> usize {
    let is_walk =
        |step: &&Step| matches!(step.action, Action::Expand { .. } | Action::Check { .. });
    plan.steps.iter().filter(is_walk).count()
}

/// A query of `n` patterns, each made from its number.
fn many(n: usize, pattern: impl Fn(usize) -> String) -> Query {
    let mut text = "SELECT * {".to_owned();
    for at in 0..n {
        let _ = write!(text, "{} . ", pattern(at));
    }
    query(&(text + "}"))
}

const PREDICATES: [&str; 5] = [
    "a",
    "ub:name",
    "ub:advisor",
    "ub:takesCourse",
    "ub:memberOf",
];

#[test]
fn a_thousand_patterns_are_planned() {
    let queries = [
        many(1000, |n| format!("?x{n} ub:advisor ?x{}", n + 1)),
        many(1000, |n| format!("?x ub:name ?o{n}")),
        many(1000, |n| format!("?x {} ?o{n}", PREDICATES[n % 5])),
        many(1000, |n| {
            format!("?x{} {} ?x{}", n / 2, PREDICATES[n % 5], n + 1)
        }),
        many(1000, |n| format!("?x{n} ?p{n} ?x{}", n + 1)),
        many(1000, |n| format!("?x{n} ?p ?y{n}")),
        many(1000, |n| format!("?x{n} ub:name ?y{n}")),
        many(1000, |n| format!("?x{} ub:advisor ?x{}", n % 31, n / 31)),
    ];
    for query in &queries {
        let plan = plan_query(query, 160);
        assert_eq!(walks(&plan), query.patterns().len());
        check_plan(&plan);
    }
}

fn node() -> impl Strategy<Value = String> {
    prop_oneof![
        5 => (0..6_u8).prop_map(|n| format!("?v{n}")),
        1 => (0..3_u8).prop_map(|n| format!("<http://n{n}>")),
        1 => Just("\"x\"".to_owned()),
        1 => Just("[]".to_owned()),
    ]
}

fn predicate() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (0..5_usize).prop_map(|n| PREDICATES[n].to_owned()),
        1 => (0..6_u8).prop_map(|n| format!("?v{n}")),
        1 => Just("ub:absent".to_owned()),
        1 => Just("^ub:advisor/ub:name".to_owned()),
    ]
}

fn group(depth: u32) -> BoxedStrategy<String> {
    let triple = (node(), predicate(), node()).prop_map(|(s, p, o)| format!("{s} {p} {o} ."));
    let filter = prop_oneof![
        (0..8_u8).prop_map(|n| format!("FILTER(?v{n} > 1)")),
        (0..8_u8, 0..8_u8).prop_map(|(a, b)| format!("FILTER(?v{a} = ?v{b} && BOUND(?v{a}))")),
        Just("FILTER(1 < 2)".to_owned()),
    ];
    if depth == 0 {
        return prop_oneof![4 => triple, 1 => filter].boxed();
    }
    let inner = prop::collection::vec(group(depth - 1), 0..5);
    let nested = (inner, 0..6_u8).prop_map(|(parts, kind)| {
        let content = parts.join(" ");
        match kind {
            0 => format!("GRAPH ?v5 {{ {content} }}"),
            1 => format!("GRAPH ?g {{ {content} }}"),
            2 => format!("GRAPH <http://g> {{ {content} }}"),
            _ => format!("{{ {content} }}"),
        }
    });
    prop_oneof![3 => triple, 1 => filter, 2 => nested].boxed()
}

pub(super) fn text() -> impl Strategy<Value = String> {
    let modifiers = prop_oneof![
        Just(""),
        Just("LIMIT 3"),
        Just("ORDER BY ?v0 OFFSET 2"),
        Just("ORDER BY DESC(?v1 + 1) LIMIT 2"),
    ];
    let head = prop_oneof![
        Just("SELECT *"),
        Just("SELECT DISTINCT ?v0 ?v7"),
        Just("SELECT ?v1 ?v2"),
        Just("ASK"),
        Just("SELECT (COUNT(*) AS ?n)"),
        Just("SELECT (COUNT(DISTINCT *) AS ?n)"),
    ];
    let body = prop::collection::vec(group(2), 0..8);
    (head, body, modifiers)
        .prop_map(|(head, body, modifiers)| format!("{head} {{ {} }} {modifiers}", body.join(" ")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn plans_are_well_formed(text in text(), keep_order: bool) {
        let options = ParseOptions {
            prefixes: vec![("ub".to_owned(), super::lubm::UB.to_owned())],
            ..ParseOptions::default()
        };
        if let Ok(query) = parse(&text, &options) {
            let plan = plan_of(&text, 1, PlanOptions {
 keep_order,
 ..PlanOptions::DEFAULT
 });
            check_plan(&plan);
            // Without statistics, and with all constants absent.
            let ids = vec![None; query.constants().len()];
            let options = PlanOptions {
 keep_order,
 ..PlanOptions::DEFAULT
 };
            let plan = crate::plan(&query, &ids, &Statistics::default(), &[], options).unwrap();
            check_plan(&plan);
        }
    }
}

/// Opening and closing of a group within a group.
const NESTINGS: [(&str, &str); 9] = [
    ("{ ?a ub:name ?b ", "}"),
    ("?a ub:name ?b OPTIONAL { ", "}"),
    ("OPTIONAL { ?a ub:name ?b . ?c ub:advisor ?a . ", "}"),
    ("?a ub:name ?b MINUS { ?b ub:advisor ?c . ", "}"),
    ("{ ?a ub:name ?b } UNION { ?a ub:advisor ?b . ", "}"),
    ("?a ub:name ?b FILTER EXISTS { ?b ub:advisor ?c . ", "}"),
    (
        "OPTIONAL { ?a ub:name ?b } ?b ub:advisor ?c . FILTER NOT EXISTS { OPTIONAL { ?a ub:name ?d } ",
        "}",
    ),
    ("?a ub:name ?b LATERAL { ?b ub:advisor ?c . ", "}"),
    ("{ SELECT DISTINCT ?a ?b { ?a ub:name ?b . ", "} }"),
];

#[test]
fn deep_texts_are_planned_in_bounded_time_and_stack() {
    let plan_nested = || {
        for (opens, closes) in NESTINGS {
            for depth in [20, 120, 250] {
                let text = format!(
                    "SELECT * {{ {} ?a ub:memberOf ?z {} }}",
                    opens.repeat(depth),
                    closes.repeat(depth)
                );
                let options = ParseOptions {
                    prefixes: vec![("ub".to_owned(), super::lubm::UB.to_owned())],
                    ..ParseOptions::default()
                };
                let Ok(query) = parse(&text, &options) else {
                    continue;
                };
                let plan = plan_query(&query, 160);
                check_plan(&plan);
                plan.explain();
            }
        }
    };
    let thread = std::thread::Builder::new().stack_size(crate::STACK_BYTES_MIN);
    thread.spawn(plan_nested).unwrap().join().unwrap();
}
