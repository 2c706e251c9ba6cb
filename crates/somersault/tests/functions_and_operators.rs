//! The rows of `testdata/functions_and_operators.txt`, through the façade and by the naive evaluator.
//!
//! A row is asked as a constant, and again with its literals in a column, because the engine computes the
//! two by different code: constants are known when the plan is made, columns are computed in batches.

use crate::support;

use oxrdf::vocab::{rdf, xsd};
use oxrdf::{Dataset, NamedNodeRef, Term};
use query::function::{Arguments, Function, Kind};
use somersault::Database;
use std::fmt::Write as _;
use std::path::Path;
use testkit::Answer;
use testkit::graph::{self, Format};
use testkit::naive::{self, NaiveError};
use testkit::random::Random;
use testkit::random_graph::{Shape, random_dataset};
use testkit::random_query::{Vocabulary, random_wide_query};

const PROLOGUE: &str =
    "BASE <http://www.example.com/a/b> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> ";

/// Rows that a file must have, so that none is lost silently.
const ROWS_MIN: usize = 300;

struct Row {
    line: usize,
    section: String,
    expression: String,
    expected: Option<Term>,
}

fn rows() -> Vec<Row> {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/functions_and_operators.txt");
    let text = std::fs::read_to_string(path).expect("the table is there");
    let mut section = String::new();
    let mut rows = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        if let Some(heading) = text.strip_prefix("== ") {
            heading.clone_into(&mut section);
        } else if !text.is_empty() && !text.starts_with('#') {
            let (expression, term) = text
                .rsplit_once(" => ")
                .unwrap_or_else(|| panic!("line {line} is no row: {text}"));
            rows.push(Row {
                line,
                section: section.clone(),
                expression: expression.to_owned(),
                expected: (term != "error").then(|| term_of(line, term)),
            });
        }
    }
    rows
}

fn term_of(line: usize, text: &str) -> Term {
    let text = format!("{PROLOGUE} <s> <p> {text} .");
    let dataset = graph::parse(&text).unwrap_or_else(|error| panic!("line {line}: {error}"));
    let quad = dataset.iter().next().expect("there is a triple");
    quad.object.into_owned()
}

/// Where a literal that begins with a quotation mark ends, its language or datatype included.
fn end_of_literal(text: &str) -> usize {
    let mut is_escaped = false;
    let close = text.bytes().skip(1).position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    let close = close.expect("a string ends") + 2;
    let rest = &text[close..];
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b':';
    let suffix = if rest.starts_with("^^") {
        2
    } else {
        usize::from(rest.starts_with('@'))
    };
    let name = rest[suffix..]
        .bytes()
        .take_while(|byte| suffix > 0 && is_name(*byte));
    close + suffix + name.count()
}

/// The query with the quoted literals of the expression as variables that `VALUES` binds, in two rows.
fn in_a_column(expression: &str) -> String {
    let (mut literals, mut columns, mut rest) = (Vec::new(), String::new(), expression);
    while let Some(start) = rest.find('"') {
        let (before, literal) = rest.split_at(start);
        let (literal, after) = literal.split_at(end_of_literal(literal));
        literals.push(literal);
        write!(columns, "{before}?l{}", literals.len()).expect("a string takes everything");
        rest = after;
    }
    columns.push_str(rest);
    let variables: Vec<String> = (1..=literals.len()).map(|at| format!("?l{at}")).collect();
    format!(
        "{PROLOGUE} SELECT ({columns} AS ?v) {{ VALUES ({names}) {{ ({row}) ({row}) }} }}",
        names = variables.join(" "),
        row = literals.join(" "),
    )
}

fn value(database: &Database, query: &str) -> Result<Vec<Option<Term>>, String> {
    match support::answer(database, query, 1).map_err(support::NoAnswer::message)? {
        Answer::Rows { mut rows, .. } => Ok(rows.iter_mut().map(|row| row.remove(0)).collect()),
        Answer::Boolean(_) => Err("an ASK".to_owned()),
    }
}

fn complaint(row: &Row, how: &str, given: Option<&Term>) -> Option<String> {
    let shown = |term: Option<&Term>| term.map_or("error".to_owned(), ToString::to_string);
    (given != row.expected.as_ref()).then(|| {
        format!(
            "line {}, {}: {} {how} gives {} instead of {}",
            row.line,
            row.section,
            row.expression,
            shown(given),
            shown(row.expected.as_ref())
        )
    })
}

#[test]
fn the_engine_gives_the_terms_of_the_table() {
    let database = support::loaded("", Format::Turtle, 1).expect("nothing is RDF");
    let rows = rows();
    assert!(rows.len() >= ROWS_MIN, "{} rows", rows.len());
    let mut complaints = Vec::new();
    for row in &rows {
        let constant = format!("{PROLOGUE} SELECT ({} AS ?v) {{}}", row.expression);
        for (how, query) in [
            ("as a constant", constant),
            ("in a column", in_a_column(&row.expression)),
        ] {
            match value(&database, &query) {
                Ok(cells) => {
                    let wrong = cells
                        .iter()
                        .filter_map(|cell| complaint(row, how, cell.as_ref()));
                    complaints.extend(wrong);
                }
                Err(error) => complaints.push(format!("line {}: {error}\n{query}", row.line)),
            }
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn the_naive_evaluator_gives_the_terms_of_the_table() {
    let (mut asked, mut complaints) = (0, Vec::new());
    for row in rows() {
        // The oracle knows the regular expressions of a library, not those of XPath.
        if row.section.starts_with("5.6") {
            continue;
        }
        let query = format!("{PROLOGUE} SELECT ({} AS ?v) {{}}", row.expression);
        match naive::answer(&Dataset::new(), &query) {
            Ok(expected) => {
                asked += 1;
                complaints.extend(complaint(
                    &row,
                    "by the oracle",
                    expected.rows[0][0].as_ref(),
                ));
            }
            Err(NaiveError::Undetermined(_)) => {}
            // The library that it parses with need not know all that we have.
            Err(NaiveError::Parse(_)) if called(&row.expression).is_some() => {}
            Err(error) => complaints.push(format!("line {}: {error}", row.line)),
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    assert!(asked >= ROWS_MIN - 60, "{asked} asked");
}

/// The builtin that is the whole expression, if it is one call.
fn called(expression: &str) -> Option<Function> {
    let (name, rest) = expression.split_once('(')?;
    let (function, _) = Function::of_name(&name.to_ascii_uppercase())?;
    let mut open = 1;
    let end = rest.find(|letter| {
        open += match letter {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        open == 0
    });
    (end? + 1 == rest.len()).then_some(function)
}

/// Whether a term is what functions of this kind give.
fn is_of_kind(term: &Term, kind: Kind) -> bool {
    let Term::Literal(literal) = term else {
        return kind == Kind::Term;
    };
    let is_one_of = |types: &[NamedNodeRef<'_>]| types.contains(&literal.datatype());
    match kind {
        Kind::TermTest | Kind::TextTest => is_one_of(&[xsd::BOOLEAN]),
        Kind::Text => is_one_of(&[xsd::STRING, rdf::LANG_STRING, rdf::DIR_LANG_STRING]),
        Kind::Number => is_one_of(&[xsd::INTEGER, xsd::DECIMAL, xsd::FLOAT, xsd::DOUBLE]),
        Kind::Time => is_one_of(&[
            xsd::DATE_TIME,
            xsd::DATE,
            xsd::TIME,
            xsd::DURATION,
            xsd::DAY_TIME_DURATION,
            xsd::YEAR_MONTH_DURATION,
        ]),
        Kind::Term => true,
    }
}

#[test]
fn builtins_give_what_their_rows_say() {
    let mut seen = Vec::new();
    for row in rows() {
        if let (Some(function), Some(term)) = (called(&row.expression), &row.expected) {
            assert!(is_of_kind(term, function.kind()), "line {}", row.line);
            seen.push(function);
        }
    }
    for kind in [Kind::TextTest, Kind::Text, Kind::Number, Kind::Time] {
        assert!(
            seen.iter().any(|function| function.kind() == kind),
            "{kind:?}"
        );
    }
}

/// Builtins that random queries leave out: their value is another each time, or that of the clock.
fn has_no_expected_value(function: Function) -> bool {
    function.gives_new() || function == Function::Now
}

/// Whether the oracle's grammar has it.
fn is_known_to_the_oracle(function: Function) -> bool {
    let given = match function.arguments() {
        Arguments::Between(least, _) => least,
        Arguments::Any | Arguments::Variable => 1,
    };
    let name = function.name().expect("a builtin has a name");
    let query = format!(
        "SELECT ({name}({}) AS ?v) {{}}",
        vec!["?x"; given].join(", ")
    );
    let answer = naive::answer(&Dataset::new(), &query);
    !matches!(answer, Err(NaiveError::Parse(_)))
}

#[test]
fn random_queries_have_every_builtin() {
    let mut random = Random::new(7);
    let shape = Shape {
        graphs: 2,
        literals: 30,
        ..Shape::random(&mut random)
    };
    let vocabulary = Vocabulary::of(&random_dataset(&shape, &mut random));
    let mut texts = String::new();
    for _ in 0..4000 {
        texts += &random_wide_query(&vocabulary, &mut random).to_ascii_uppercase();
    }
    for function in Function::NAMED {
        if has_no_expected_value(*function) || !is_known_to_the_oracle(*function) {
            continue;
        }
        let name = function.name().expect("a builtin has a name");
        let call = format!("{}(", name.to_ascii_uppercase());
        assert!(texts.contains(&call), "no random query has {name}");
    }
}
