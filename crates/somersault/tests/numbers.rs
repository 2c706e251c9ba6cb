//! Arithmetic, comparisons, casts, rounding, sums and forms of numbers against exact rationals.
//!
//! Literals of every numeric type, drawn where mistakes live: at the bounds of 64 and 128 bits, at 18
//! digits, at halves, in hundreds of digits, as people and programs write them. Each is combined with
//! each by the engine and by the naive evaluator, whose numbers are another library's rationals; what is
//! compared is the term, so forms are compared too. 120 x 120 in an ordinary run, 300 x 300 with
//! `SOMERSAULT_LONG=1`; `SOMERSAULT_SEED=N` draws others.

use crate::support;

use oxrdf::Dataset;
use somersault::Database;
use std::fmt::Write as _;
use testkit::compare::{self, Blanks};
use testkit::graph::Format;
use testkit::naive;
use testkit::random::Random;
use testkit::seeds;

const XSD: &str = "http://www.w3.org/2001/XMLSchema#";
const WORK_MAX: u64 = 1 << 30;

/// Literals that were wrong once, or are drawn too rarely.
const KNOWN: [(&str, &str); 39] = [
    ("1.000000000000000001", "decimal"),
    ("-1.000000000000000003", "decimal"),
    ("2", "integer"),
    ("1e5", "double"),
    ("995675286560.4821237", "decimal"),
    ("2.5", "decimal"),
    ("-2.5", "decimal"),
    ("0", "integer"),
    ("0.0", "decimal"),
    ("-0.0", "double"),
    ("0", "float"),
    ("1.01", "decimal"),
    ("12345678901.234567890123456789", "decimal"),
    ("3", "integer"),
    ("30", "unsignedByte"),
    ("9223372036854775807", "integer"),
    ("-9223372036854775808", "long"),
    ("9223372036854775808", "integer"),
    ("18446744073709551615", "unsignedLong"),
    ("-18446744073709551616", "negativeInteger"),
    ("9007199254740993", "integer"),
    ("16777217", "decimal"),
    ("170141183460469231731.687303715884105727", "decimal"),
    ("170141183460469231731.687303715884105728", "decimal"),
    ("0.000000000000000001", "decimal"),
    ("0.0000000000000000005", "decimal"),
    ("-0.5", "double"),
    ("2.5", "float"),
    ("0.1", "double"),
    ("0.1", "float"),
    ("NaN", "double"),
    ("INF", "float"),
    ("-INF", "double"),
    ("5e-324", "double"),
    ("1.7976931348623157e308", "double"),
    ("3.4028235e38", "float"),
    ("+007", "int"),
    (".5", "decimal"),
    ("5.", "decimal"),
];

fn digits(random: &mut Random, most: usize) -> String {
    let count = random.below(most) + 1;
    let digit = |random: &mut Random| char::from(b'0' + random.below(10) as u8);
    (0..count).map(|_| digit(random)).collect()
}

fn sign(random: &mut Random) -> &'static str {
    ["", "", "", "-", "-", "+"][random.below(6)]
}

/// A literal as SPARQL writes it.
fn literal(random: &mut Random) -> String {
    let (form, datatype) = match random.below(12) {
        0 => (format!("{}{}", sign(random), random.below(21)), "integer"),
        1 => (format!("{}{}", sign(random), digits(random, 20)), "integer"),
        2 => (format!("{}{}", sign(random), digits(random, 60)), "integer"),
        3 => (digits(random, 25), "nonNegativeInteger"),
        4 => (format!("-1{}", digits(random, 22)), "nonPositiveInteger"),
        5 => (
            format!(
                "{}{}.{}",
                sign(random),
                digits(random, 3),
                digits(random, 3)
            ),
            "decimal",
        ),
        6 => (
            format!(
                "{}{}.{}",
                sign(random),
                digits(random, 24),
                digits(random, 21)
            ),
            "decimal",
        ),
        7 => {
            let zeros = "0".repeat(random.below(40));
            (
                format!("{}0.{zeros}{}", sign(random), digits(random, 20)),
                "decimal",
            )
        }
        8 => (
            format!("{}{}.5", sign(random), digits(random, 8)),
            ["decimal", "double", "float"][random.below(3)],
        ),
        9 => {
            let exponent = random.below(640) as i32 - 330;
            (
                format!(
                    "{}{}.{}e{exponent}",
                    sign(random),
                    random.below(10),
                    digits(random, 17)
                ),
                "double",
            )
        }
        10 => {
            let exponent = random.below(90) as i32 - 48;
            (
                format!(
                    "{}{}.{}E{exponent}",
                    sign(random),
                    random.below(10),
                    digits(random, 9)
                ),
                "float",
            )
        }
        _ => {
            let (form, datatype) = *random.pick(&KNOWN);
            (form.to_owned(), datatype)
        }
    };
    format!("\"{form}\"^^<{XSD}{datatype}>")
}

fn literals(random: &mut Random, count: usize) -> Vec<String> {
    let known = KNOWN
        .iter()
        .map(|(form, datatype)| format!("\"{form}\"^^<{XSD}{datatype}>"));
    let long = [
        format!("\"{}\"^^<{XSD}integer>", "7".repeat(300)),
        format!("\"0.{}3\"^^<{XSD}decimal>", "0".repeat(200)),
    ];
    let mut all: Vec<String> = known.chain(long).collect();
    while all.len() < count {
        let next = literal(random);
        if !all.contains(&next) {
            all.push(next);
        }
    }
    all
}

fn check(database: &Database, query: &str) -> Result<(), String> {
    let expected = naive::answer_within(&Dataset::new(), query, WORK_MAX)
        .map_err(|error| format!("no expected answer: {error:?}"))?;
    let given = support::answer(database, query, 1).map_err(support::NoAnswer::message)?;
    compare::check(&expected, &given, &Blanks::of_markers(&[])?)
}

fn values(variable: &str, literals: &[String]) -> String {
    format!("VALUES ?{variable} {{ {} }}", literals.join(" "))
}

fn first_lines(text: &str) -> String {
    let mut short = String::new();
    for line in text.lines().take(12) {
        let line: String = line.chars().take(600).collect();
        writeln!(short, "{line}").expect("a string takes everything");
    }
    short
}

#[test]
fn numbers_are_right_to_the_last_digit() {
    let is_long = seeds::is_long();
    let seed = std::env::var("SOMERSAULT_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let seed: u64 = seed.unwrap_or(12);
    let mut random = Random::new(seed);
    let literals = literals(&mut random, if is_long { 300 } else { 120 });
    let database = support::loaded("", Format::Turtle, 1).unwrap();
    let mut failures = Vec::new();
    let mut ask = |query: &str| {
        if let Err(complaint) = check(&database, query) {
            failures.push(first_lines(&complaint));
        }
    };
    for one in &literals {
        let (left, right) = (
            values("a", std::slice::from_ref(one)),
            values("b", &literals),
        );
        ask(&format!(
            "SELECT ?a ?b (?a + ?b AS ?sum) (?a - ?b AS ?difference) (?a * ?b AS ?product) \
             (?a / ?b AS ?quotient) (?a = ?b AS ?equal) (?a < ?b AS ?less) {{ {left} {right} }}"
        ));
        ask(&format!(
            "PREFIX xsd: <{XSD}> SELECT ?a (xsd:integer(?a) AS ?i) (xsd:decimal(?a) AS ?d) \
             (xsd:float(?a) AS ?f) (xsd:double(?a) AS ?e) (xsd:boolean(?a) AS ?t) \
             (xsd:string(?a + 0) AS ?s) (xsd:integer(STR(?a)) AS ?j) (xsd:decimal(STR(?a)) AS ?k) \
             (xsd:double(STR(?a)) AS ?l) (ABS(?a) AS ?m) (ROUND(?a) AS ?r) (CEIL(?a) AS ?c) \
             (FLOOR(?a) AS ?g) (-?a AS ?n) (+?a AS ?p) (isNUMERIC(?a) AS ?q) \
             (IF(?a, 1, 2) AS ?truth) (SUBSTR(\"abc\", ?a) AS ?u) {{ {left} }}"
        ));
    }
    let exact: Vec<String> = literals
        .iter()
        .filter(|literal| !literal.contains("#double") && !literal.contains("#float"))
        .cloned()
        .collect();
    for _ in 0..literals.len() {
        let some: Vec<String> = (0..=random.below(6))
            .map(|_| random.pick(&exact).clone())
            .collect();
        let some = values("a", &some);
        ask(&format!(
            "SELECT (SUM(?a) AS ?sum) (AVG(?a) AS ?average) (MIN(?a) AS ?least) (MAX(?a) AS ?most) \
             {{ {some} }}"
        ));
        ask(&format!("SELECT ?a {{ {some} }} ORDER BY ?a"));
    }
    assert!(
        failures.is_empty(),
        "seed {seed}: {} of the queries, the first\n{}",
        failures.len(),
        failures[..failures.len().min(8)].join("\n")
    );
}
