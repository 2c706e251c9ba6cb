//! Dates, times, their parts and durations against the naive evaluator, which counts days and seconds in
//! exact numbers of its own.
//!
//! Literals of all eleven datatypes, drawn where mistakes live: the years around 0 and of many digits, leap
//! days, the end of the day, timezones at their bounds and without, long fractions, forms that nearly are
//! ones. Each is combined with each, as computed values and as stored terms, whose ids hold the usual dates
//! themselves. 110 x 110 in an ordinary run, 300 x 300 with `SOMERSAULT_LONG=1`; `SOMERSAULT_SEED=N` draws
//! others.

use crate::support;

use oxrdf::Dataset;
use somersault::Database;
use std::fmt::Write as _;
use testkit::compare::{self, Blanks};
use testkit::graph::{self, Format};
use testkit::naive;
use testkit::random::Random;
use testkit::seeds;

const XSD: &str = "http://www.w3.org/2001/XMLSchema#";
const WORK_MAX: u64 = 1 << 30;

/// Forms that every run has.
const KNOWN: [(&str, &str); 48] = [
    ("2000-02-29T24:00:00", "dateTime"),
    ("1999-12-31T24:00:00.000Z", "dateTime"),
    ("2000-01-01T00:00:00Z", "dateTime"),
    ("2000-01-01T00:00:00-00:00", "dateTime"),
    ("0000-01-01T00:00:00Z", "dateTime"),
    ("0000-02-29T12:00:00", "dateTime"),
    ("-0001-12-31T23:59:59.999999999999999999+14:00", "dateTime"),
    ("-0004-02-29T00:00:00-14:00", "dateTime"),
    ("0001-01-01T00:00:00+14:00", "dateTime"),
    ("9999-12-31T23:59:59.999-14:00", "dateTime"),
    ("10000-01-01T00:00:00Z", "dateTime"),
    ("-292277022399-01-01T00:00:00Z", "dateTime"),
    ("5000000000000-01-01T00:00:00Z", "dateTime"),
    ("99999999999999999999-01-01T00:00:00Z", "dateTime"),
    ("2016-12-31T23:59:60Z", "dateTime"),
    ("2020-01-01T24:00:01", "dateTime"),
    ("2020-06-15T10:00:00.1234567890123456789", "dateTime"),
    ("2020-06-15T10:00:00.100000000000000000000", "dateTime"),
    ("2020-06-15t10:00:00", "dateTime"),
    ("2020-06-15T10:00", "dateTime"),
    ("2020-06-15T10:00:00+14:01", "dateTime"),
    ("2020-06-15T10:00:00Z", "dateTimeStamp"),
    ("2020-06-15T10:00:00", "dateTimeStamp"),
    ("1900-02-29", "date"),
    ("-0000-03-01", "date"),
    ("2020-00-00", "date"),
    ("2020-02-29-14:00", "date"),
    ("2020-03-01+14:00", "date"),
    ("24:00:00", "time"),
    ("00:00:00", "time"),
    ("00:00:00-14:00", "time"),
    ("P1YT", "duration"),
    ("P1DT", "dayTimeDuration"),
    ("P1YT", "yearMonthDuration"),
    ("PT", "duration"),
    ("P", "duration"),
    ("PT1.S", "dayTimeDuration"),
    ("PT.5S", "duration"),
    ("P1Y1D", "duration"),
    ("P1M", "duration"),
    ("P28D", "duration"),
    ("P31D", "dayTimeDuration"),
    ("-PT14H", "dayTimeDuration"),
    ("PT14H1M", "dayTimeDuration"),
    ("PT0.5S", "dayTimeDuration"),
    ("P9223372036854775807M", "yearMonthDuration"),
    ("P9223372036854775808M", "yearMonthDuration"),
    ("PT170141183460469231731S", "dayTimeDuration"),
];

fn year(random: &mut Random) -> String {
    match random.below(6) {
        0 => format!("{:04}", random.below(12)),
        1 => format!("-{:04}", random.below(500)),
        2 => format!("{}", 10_000 + random.below(90_000_000)),
        3 => (*random.pick(&["1900", "2000", "2100", "0004", "-0001", "1600"])).to_owned(),
        _ => format!("{:04}", 1970 + random.below(80)),
    }
}

fn month_and_day(random: &mut Random) -> String {
    match random.below(4) {
        0 => (*random.pick(&[
            "02-28", "02-29", "03-01", "12-31", "01-01", "04-30", "04-31",
        ]))
        .to_owned(),
        _ => format!("{:02}-{:02}", 1 + random.below(12), 1 + random.below(31)),
    }
}

fn time(random: &mut Random) -> String {
    let whole = match random.below(8) {
        0 => "24:00:00".to_owned(),
        1 => "23:59:59".to_owned(),
        2 => "00:00:00".to_owned(),
        _ => format!(
            "{:02}:{:02}:{:02}",
            random.below(24),
            random.below(60),
            random.below(60)
        ),
    };
    match random.below(4) {
        0 => format!("{whole}.{}", random.below(1000)),
        1 if !whole.starts_with("24") => format!("{whole}.{:018}", random.below(1 << 40)),
        _ => whole,
    }
}

fn zone(random: &mut Random) -> String {
    match random.below(8) {
        0 => "Z".to_owned(),
        1 => {
            (*random.pick(&["+14:00", "-14:00", "+00:00", "-00:00", "-00:01", "+13:59"])).to_owned()
        }
        2 => format!(
            "{}{:02}:{:02}",
            random.pick(&["+", "-"]),
            random.below(14),
            random.below(60)
        ),
        _ => String::new(),
    }
}

fn duration(random: &mut Random, has_months: bool, has_seconds: bool) -> String {
    let mut form = format!("{}P", random.pick(&["", "", "-"]));
    if has_months {
        form += &(random.below(100).to_string() + "M");
    }
    if has_seconds {
        let (days, hours) = (random.below(70), random.below(30));
        let (seconds, fraction) = (random.below(200), random.below(100));
        let time = format!("{days}DT{hours}H{seconds}.{fraction}S");
        form += &time;
    }
    form
}

/// A literal as SPARQL writes it.
fn literal(random: &mut Random) -> String {
    let zone = zone(random);
    let (form, datatype) = match random.below(14) {
        0..=2 => (
            format!(
                "{}-{}T{}{zone}",
                year(random),
                month_and_day(random),
                time(random)
            ),
            "dateTime",
        ),
        3 | 4 => (
            format!("{}-{}{zone}", year(random), month_and_day(random)),
            "date",
        ),
        5 => (format!("{}{zone}", time(random)), "time"),
        6 => (format!("{}{zone}", year(random)), "gYear"),
        7 => (
            format!("{}-{:02}{zone}", year(random), 1 + random.below(13)),
            "gYearMonth",
        ),
        8 => (format!("--{}{zone}", month_and_day(random)), "gMonthDay"),
        9 => (format!("--{:02}{zone}", 1 + random.below(12)), "gMonth"),
        10 => (format!("---{:02}{zone}", 1 + random.below(31)), "gDay"),
        11 => (duration(random, true, false), "yearMonthDuration"),
        12 => (duration(random, false, true), "dayTimeDuration"),
        _ => (duration(random, true, true), "duration"),
    };
    format!("\"{form}\"^^<{XSD}{datatype}>")
}

fn literals(random: &mut Random, count: usize) -> Vec<String> {
    let known = KNOWN
        .iter()
        .map(|(form, datatype)| format!("\"{form}\"^^<{XSD}{datatype}>"));
    let mut all: Vec<String> = known.collect();
    while all.len() < count {
        let next = literal(random);
        if !all.contains(&next) {
            all.push(next);
        }
    }
    all
}

fn check(database: &Database, dataset: &Dataset, query: &str) -> Result<(), String> {
    let expected = naive::answer_within(dataset, query, WORK_MAX)
        .map_err(|error| format!("no expected answer: {error:?}\n{query}"))?;
    let given = support::answer(database, query, 1).map_err(support::NoAnswer::message)?;
    compare::check(&expected, &given, &Blanks::of_markers(&[])?)
}

fn drawn() -> (u64, Vec<String>) {
    let seed = std::env::var("SOMERSAULT_SEED").ok();
    let seed = seed.and_then(|seed| seed.parse().ok()).unwrap_or(5);
    let count = if seeds::is_long() { 300 } else { 110 };
    (seed, literals(&mut Random::new(seed), count))
}

fn first_lines(text: &str) -> String {
    let lines = text.lines().take(12);
    lines
        .map(|line| line.chars().take(400).collect::<String>() + "\n")
        .collect()
}

fn report(seed: u64, failures: &[String]) {
    let first: Vec<String> = failures
        .iter()
        .take(8)
        .map(|text| first_lines(text))
        .collect();
    assert!(
        failures.is_empty(),
        "seed {seed}: {} of the queries\n{}",
        failures.len(),
        first.join("\n")
    );
}

#[test]
fn computed_values_are_those_of_the_naive_evaluator() {
    let (seed, literals) = drawn();
    let database = support::loaded("", Format::Turtle, 1).unwrap();
    let all = literals.join(" ");
    let mut failures = Vec::new();
    for one in &literals {
        for query in [
            format!(
                "SELECT ?a ?b (?a + ?b AS ?sum) (?a - ?b AS ?difference) (?a = ?b AS ?equal) (?a < ?b AS ?less) \
                 (?a >= ?b AS ?not) (ADJUST(?a, ?b) AS ?adjusted) {{ VALUES ?a {{ {one} }} VALUES ?b {{ {all} }} }}"
            ),
            format!(
                "PREFIX xsd: <{XSD}> SELECT ?a (YEAR(?a) AS ?y) (MONTH(?a) AS ?m) (DAY(?a) AS ?d) (HOURS(?a) AS ?h) \
                 (MINUTES(?a) AS ?n) (SECONDS(?a) AS ?s) (TZ(?a) AS ?z) (TIMEZONE(?a) AS ?zone) (-?a AS ?minus) \
                 (xsd:dateTime(?a) AS ?c1) (xsd:date(?a) AS ?c2) (xsd:time(?a) AS ?c3) (xsd:gYear(?a) AS ?c4) \
                 (xsd:gYearMonth(?a) AS ?c5) (xsd:gMonthDay(?a) AS ?c6) (xsd:gMonth(?a) AS ?c7) (xsd:gDay(?a) AS ?c8) \
                 (xsd:duration(?a) AS ?c9) (xsd:yearMonthDuration(?a) AS ?c10) (xsd:dayTimeDuration(?a) AS ?c11) \
                 (xsd:dateTimeStamp(?a) AS ?c12) (STR(?a) AS ?text) {{ VALUES ?a {{ {one} }} }}"
            ),
            format!(
                "PREFIX xsd: <{XSD}> SELECT ?a (xsd:dateTime(STR(?a)) AS ?c1) (xsd:date(STR(?a)) AS ?c2) \
                 (xsd:time(STR(?a)) AS ?c3) (xsd:gYear(STR(?a)) AS ?c4) (xsd:gMonthDay(STR(?a)) AS ?c6) \
                 (xsd:duration(STR(?a)) AS ?c9) (xsd:yearMonthDuration(STR(?a)) AS ?c10) \
                 (xsd:dayTimeDuration(STR(?a)) AS ?c11) {{ VALUES ?a {{ {one} }} }}"
            ),
        ] {
            failures.extend(check(&database, &Dataset::new(), &query).err());
        }
    }
    report(seed, &failures);
}

#[test]
fn stored_terms_are_those_of_the_naive_evaluator() {
    let (seed, literals) = drawn();
    let mut text = String::new();
    for (number, literal) in literals.iter().enumerate() {
        writeln!(text, "<http://e/{number}> <http://e/p> {literal} .").unwrap();
    }
    let database = support::loaded(&text, Format::NQuads, 1).unwrap();
    let dataset = graph::read(&text, Format::NQuads).unwrap();
    let mut failures = Vec::new();
    for one in &literals {
        for filter in [
            format!("?o = {one}"),
            format!("?o < {one}"),
            format!("?o >= {one}"),
            format!("?o IN ({one})"),
            format!("YEAR(?o) = YEAR({one})"),
        ] {
            let query = format!("SELECT ?s ?o {{ ?s <http://e/p> ?o FILTER({filter}) }}");
            failures.extend(check(&database, &dataset, &query).err());
        }
    }
    for query in [
        "SELECT ?o { ?s <http://e/p> ?o } ORDER BY ?o",
        "SELECT ?o { ?s <http://e/p> ?o } ORDER BY DESC(?o)",
        "SELECT ?y (COUNT(*) AS ?n) { ?s <http://e/p> ?o } GROUP BY (YEAR(?o) AS ?y)",
    ] {
        failures.extend(check(&database, &dataset, query).err());
    }
    report(seed, &failures);
}
