//! The harness of the W3C's suites, validated: `spareval`, which others wrote and check by the same
//! suites, must pass nearly all of them through it. Where it does not, [`DEVIATIONS`] says why, so
//! that neither a comparison that is too strict nor one that is too lax stays unnoticed: every
//! answer must also be refused once a row of it is changed. Updates, which `spareval` does not know, are
//! the naive evaluator's.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use oxrdf::{Dataset, Literal, Term, Triple};
use spareval::{QueryEvaluator, QueryResults};
use spargebra::{Query, SparqlParser};
use testkit::suite::report::Skip;
use testkit::suite::{
    self, CaseKind, ExpectedResults, Report, Results, SuiteCase, Verdict, compare, data,
};

/// Tests that `spareval` is known to deviate from, each with its reason.
const DEVIATIONS: &[Skip] = &[
    (
        "sparql10-expr-builtin",
        "dawg-str-1",
        "its values forget the lexical form",
    ),
    (
        "sparql10-expr-builtin",
        "dawg-str-2",
        "its values forget the lexical form",
    ),
    (
        "sparql10-expr-builtin",
        "case-insensitive-booleans",
        "the parser refuses TRUE in capitals",
    ),
    (
        "sparql10-graph",
        "graph-variable-scope",
        "GRAPH ?g binds its variable before the filter inside, not after",
    ),
    (
        "sparql10-graph",
        "graph-optional",
        "GRAPH ?g binds its variable before the group inside, not after",
    ),
    (
        "sparql10-open-world",
        "date-2",
        "compares dates with and without a time zone",
    ),
    (
        "sparql10-syntax-sparql3",
        "syn-bad-26",
        "its tokens are not the longest ones",
    ),
    (
        "sparql11-aggregates",
        "agg-empty-group-count-graph",
        "an aggregate without groups inside GRAPH ?g is taken over all graphs",
    ),
    (
        "sparql11-aggregates",
        "agg-groupconcat-04",
        "GROUP_CONCAT keeps language tags",
    ),
    (
        "sparql11-aggregates",
        "agg-groupconcat-06",
        "GROUP_CONCAT keeps language tags",
    ),
    (
        "sparql11-bindings",
        "graph",
        "GRAPH ?g over VALUES does not bind its variable",
    ),
    (
        "sparql11-functions",
        "bnode01",
        "BNODE of one string is one node in all solutions",
    ),
    (
        "sparql11-negation",
        "graph-minus",
        "MINUS within GRAPH ?g sees the graph's variable",
    ),
    (
        "sparql11-property-path",
        "zero_or_more_set_start",
        "a path from a term that is not in the graph has no row",
    ),
    (
        "sparql11-property-path",
        "zero_or_more_set_end",
        "a path to a term that is not in the graph has no row",
    ),
    (
        "sparql11-property-path",
        "zero_or_one_set_start",
        "a path from a term that is not in the graph has no row",
    ),
    (
        "sparql11-property-path",
        "zero_or_one_set_end",
        "a path to a term that is not in the graph has no row",
    ),
    (
        "sparql12-grouping",
        "select-variable-reuse",
        "the parser refuses a variable of the same SELECT beside an aggregate",
    ),
    (
        "sparql12-syntax",
        "nested-aggregate-functions",
        "the parser accepts an aggregate in an aggregate",
    ),
    (
        "sparql12-syntax-triple-terms-negative",
        "tripleterm-subject-03",
        "the parser accepts any term as a subject in an expression",
    ),
    (
        "sparql12-syntax-triple-terms-negative",
        "tripleterm-subject-06",
        "the parser accepts any term as a subject in an expression",
    ),
];

#[test]
fn sparql_1_0() {
    run("sparql10");
}

#[test]
fn sparql_1_1() {
    run("sparql11");
}

#[test]
fn sparql_1_2() {
    run("sparql12");
}

/// Tests of updates that the naive evaluator or the parser is known to deviate from.
const UPDATE_DEVIATIONS: &[Skip] = &[
    ("sparql11-add", "add06", MISSING),
    ("sparql11-update-silent", "copy-silent", MISSING),
    ("sparql11-update-silent", "copy-to-default-silent", MISSING),
    ("sparql11-update-silent", "move-silent", MISSING),
    ("sparql11-update-silent", "move-to-default-silent", MISSING),
    ("sparql11-update-silent", "add-silent", MISSING),
    ("sparql11-update-silent", "add-to-default-silent", MISSING),
];

/// The parser does not tell what comes from `SILENT` here.
const MISSING: &str = "the naive evaluator leaves open what a graph that is not there is copied as";

/// The naive evaluator, and a dataset that is spoilt afterwards.
struct Naive {
    spoils: bool,
}

impl suite::Updates for Naive {
    fn update(&self, before: &Dataset, request: &str, base: &str) -> Result<Dataset, String> {
        let left = testkit::naive::update::updated(before, request, Some(base));
        let mut left = left.map_err(|error| error.to_string())?;
        if self.spoils {
            let blank = oxrdf::BlankNode::default();
            let strange = Triple::new(blank, oxrdf::vocab::rdf::TYPE, Literal::from("strange"));
            left.insert(&strange.in_graph(oxrdf::GraphName::DefaultGraph));
        }
        Ok(left)
    }

    fn accepts(&self, request: &str, base: &str) -> Result<bool, String> {
        let parser = SparqlParser::new().with_base_iri(base);
        let parser = parser.map_err(|error| error.to_string())?;
        Ok(parser.parse_update(request).is_ok())
    }
}

#[test]
fn updates() {
    let Some(root) = suite::root() else {
        eprintln!("SKIPPED: the W3C tests are not there");
        return;
    };
    let check = |case: &SuiteCase| -> Verdict {
        suite::update::check(case, &Naive { spoils: false })?;
        if case.kind == CaseKind::UpdateEvaluation
            && suite::update::check(case, &Naive { spoils: true }).is_ok()
        {
            return Err("another dataset is accepted as well".to_owned());
        }
        Ok(())
    };
    let (mut failures, mut tests) = (0, 0);
    for version in ["sparql11", "sparql12"] {
        for suite in suite::manifest::of_version(&root, version).unwrap() {
            let chosen = |case: &SuiteCase| case.kind.is_update();
            let report = Report::of(&suite, UPDATE_DEVIATIONS, chosen, check);
            let Some(report) = report else { continue };
            println!("{}", report.text());
            failures += report.failed.len();
            tests += report.passed;
        }
    }
    assert_eq!(failures, 0, "see above");
    assert!(tests > 140, "only {tests} tests");
}

#[test]
fn no_suite_is_left_out() {
    // An older form of `graph-store-protocol`, which no manifest leads to.
    const SUPERSEDED: &str = "sparql11-http-rdf-update";
    let Some(root) = suite::root() else {
        eprintln!("SKIPPED: the W3C tests are not there");
        return;
    };
    for version in ["sparql10", "sparql11", "sparql12"] {
        let suites = suite::manifest::of_version(&root, version).unwrap();
        for folder in std::fs::read_dir(root.join(version)).unwrap() {
            let folder = folder.unwrap();
            let name = format!("{version}-{}", folder.file_name().to_str().unwrap());
            let has_tests = folder.path().join("manifest.ttl").is_file();
            let is_read = suites.iter().any(|suite| suite.name == name);
            assert!(!has_tests || is_read || name == SUPERSEDED, "{name}");
        }
    }
}

fn run(version: &str) {
    let Some(root) = suite::root() else {
        eprintln!("SKIPPED: the W3C tests are not there");
        return;
    };
    let suites = suite::manifest::of_version(&root, version);
    let suites = suites.unwrap_or_else(|error| panic!("{error}"));
    let mut failures = 0;
    let mut tests = 0;
    for suite in &suites {
        // Other endpoints are left to those who have an engine for them.
        let is_alone = |case: &SuiteCase| case.services.is_empty();
        let chosen =
            |case: &SuiteCase| case.kind.is_syntax() || case.kind.is_evaluation() && is_alone(case);
        let Some(report) = Report::of(suite, DEVIATIONS, chosen, check) else {
            continue;
        };
        println!("{}", report.text());
        failures += report.failed.len();
        tests += report.passed;
    }
    assert_eq!(failures, 0, "{version}: see above");
    assert!(tests > 100, "{version} has only {tests} tests");
}

fn check(case: &SuiteCase) -> Verdict {
    let parsed = parse(case);
    if case.kind.is_syntax() {
        return match (case.kind, parsed) {
            (CaseKind::PositiveSyntax, Err(error)) => Err(error),
            (CaseKind::NegativeSyntax, Ok(_)) => Err("accepted".to_owned()),
            _ => Ok(()),
        };
    }
    let expected = ExpectedResults::of(case)?;
    let mut given = answer(case, &parsed?)?;
    if case.kind == CaseKind::CsvResult {
        given = suite::results::csv(&suite::results::to_csv(&given)?)?;
    }
    compare::check(&expected, &given)?;
    match compare::check(&expected, &spoilt(given)) {
        Err(_) => Ok(()),
        Ok(()) => Err("another answer is accepted as well".to_owned()),
    }
}

fn parse(case: &SuiteCase) -> Result<Query, String> {
    let parser = SparqlParser::new().with_base_iri(case.base());
    let parser = parser.map_err(|error| error.to_string())?;
    parser
        .parse_query(&case.text()?)
        .map_err(|error| error.to_string())
}

/// Another answer, which no test expects.
fn spoilt(results: Results) -> Results {
    let strange = Term::from(Literal::from("no such literal"));
    match results {
        Results::Boolean(value) => Results::Boolean(!value),
        Results::Graph(mut triples) => {
            let blank = oxrdf::BlankNode::default();
            triples.push(Triple::new(blank, oxrdf::vocab::rdf::TYPE, strange));
            Results::Graph(triples)
        }
        Results::Solutions {
            variables,
            mut rows,
        } => {
            match rows.last_mut().and_then(|row| row.last_mut()) {
                Some(cell) => *cell = Some(strange),
                None => rows.push(vec![Some(strange); variables.len()]),
            }
            Results::Solutions { variables, rows }
        }
    }
}

fn answer(case: &SuiteCase, query: &Query) -> Result<Results, String> {
    let mut dataset = data::dataset(case)?;
    if let Some(clause) = query.dataset() {
        dataset = testkit::spareval_oracle::narrow(&dataset, clause);
    }
    let mut query = query.clone();
    match &mut query {
        Query::Select { dataset, .. }
        | Query::Ask { dataset, .. }
        | Query::Construct { dataset, .. }
        | Query::Describe { dataset, .. } => *dataset = None,
    }
    let evaluator = QueryEvaluator::new();
    let prepared = evaluator.prepare(&query);
    let results = prepared
        .execute(&dataset)
        .map_err(|error| error.to_string())?;
    match results {
        QueryResults::Boolean(value) => Ok(Results::Boolean(value)),
        QueryResults::Graph(triples) => {
            let triples: Result<Vec<_>, _> = triples.collect();
            Ok(Results::Graph(triples.map_err(|error| error.to_string())?))
        }
        QueryResults::Solutions(solutions) => {
            let names = solutions.variables().iter();
            let variables: Vec<String> = names.map(|name| name.as_str().to_owned()).collect();
            let mut rows = Vec::new();
            for solution in solutions {
                let solution = solution.map_err(|error| error.to_string())?;
                rows.push(
                    variables
                        .iter()
                        .map(|name| solution.get(name.as_str()).cloned())
                        .collect(),
                );
            }
            Ok(Results::Solutions { variables, rows })
        }
    }
}
