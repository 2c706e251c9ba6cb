//! Functions that make terms: what no peer gives alike, because it is by chance, by the row, or because
//! the specification is followed where the peer is not asked.

use crate::support;

use explore::{Limits, MemoryBudget, MemoryExceeded, WalkError};
use oxrdf::{BlankNode, Literal, Term};
use query::expression::{Arithmetic, Cast, Comparison, Expression, Function};
use query::plan::{ConstantId, Slot};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use support::filters::{iri, kept_rows, literal, tagged, text};
use support::values::Table;

fn slot(at: u16) -> Expression {
    Expression::Slot(Slot(at))
}

fn constant(at: u32) -> Expression {
    Expression::Constant(ConstantId(at))
}

fn call(function: Function, arguments: &[Expression]) -> Expression {
    Expression::Call(function, arguments.to_vec())
}

fn rows(terms: &[Term]) -> Vec<Vec<Option<Term>>> {
    terms.iter().map(|term| vec![Some(term.clone())]).collect()
}

fn values(terms: &[Term], expressions: &[Expression]) -> Vec<Vec<Option<Term>>> {
    let table = Table {
        rows: &rows(terms),
        constants: &[],
        base: None,
        chunk_rows: 2,
    };
    table.values(expressions)
}

fn labels(column: &[Option<Term>]) -> Vec<&str> {
    column
        .iter()
        .map(|term| match term {
            Some(Term::BlankNode(blank)) => blank.as_str(),
            other => panic!("{other:?} is no blank node"),
        })
        .collect()
}

#[test]
fn a_blank_node_of_a_string_is_one_within_a_row() {
    let names = ["a", "b", "a", "a", "b"].map(text);
    let of_name = |name: Expression| call(Function::BNode, &[name]);
    let same = Expression::SameTerm(Box::new(of_name(slot(0))), Box::new(of_name(slot(0))));
    let found = values(&names, &[of_name(slot(0)), same]);
    let distinct: HashSet<&str> = labels(&found[0]).into_iter().collect();
    assert_eq!(distinct.len(), names.len(), "rows share a blank node");
    let truth = Some(Term::from(Literal::from(true)));
    assert!(found[1].iter().all(|value| *value == truth));
    assert_eq!(
        values(&[iri("http://example.com/a")], &[of_name(slot(0))])[0],
        [None]
    );
}

#[test]
fn a_blank_node_of_a_named_solution_is_one_across_expressions() {
    let names = ["a", "b", "a"].map(text);
    let solution = call(Function::BNode, &[]);
    let of_name = call(Function::BNode, &[slot(0), slot(1)]);
    let found = values(&names, &[solution, of_name.clone(), of_name]);
    assert_eq!(found[1], found[2]);
    let all: HashSet<&str> = labels(&found[0])
        .into_iter()
        .chain(labels(&found[1]))
        .collect();
    assert_eq!(all.len(), 6);
}

#[test]
fn chance_is_new_in_every_row_and_of_the_right_shape() {
    let terms: Vec<Term> = (0..50)
        .map(|number: i64| Literal::from(number).into())
        .collect();
    let found = values(
        &terms,
        &[Function::Uuid, Function::StrUuid, Function::Rand].map(|function| call(function, &[])),
    );
    let shape =
        regex::Regex::new("^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
            .unwrap();
    for (row, uuid) in found[0].iter().enumerate() {
        let Some(Term::NamedNode(uuid)) = uuid else {
            panic!("{uuid:?} is no IRI")
        };
        let Some(Term::Literal(string)) = &found[1][row] else {
            panic!("no string")
        };
        assert!(shape.is_match(uuid.as_str().strip_prefix("urn:uuid:").unwrap()));
        assert!(shape.is_match(string.value()));
        let Some(Term::Literal(number)) = &found[2][row] else {
            panic!("no number")
        };
        let value: f64 = number.value().parse().unwrap();
        assert!((0.0..1.0).contains(&value), "{value}");
    }
    for column in &found {
        let distinct: HashSet<&Option<Term>> = column.iter().collect();
        assert_eq!(distinct.len(), terms.len());
    }
}

#[test]
fn now_is_one_moment() {
    let terms = ["a", "b", "c"].map(text);
    let found = values(&terms, &[call(Function::Now, &[])]);
    let now = Some(literal("2020-01-01T00:00:00Z", "dateTime"));
    assert!(found[0].iter().all(|value| *value == now));
}

type Case = (Expression, Term, Option<Term>);

fn check(cases: impl IntoIterator<Item = Case>) {
    let lang_string = "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString";
    let constants = [
        iri(lang_string),
        iri("http://www.w3.org/2001/XMLSchema#integer"),
        text("en-GB"),
        literal(&i64::MIN.to_string(), "integer"),
        literal(&i64::MAX.to_string(), "integer"),
    ];
    for (expression, argument, expected) in cases {
        let table = Table {
            rows: &rows(std::slice::from_ref(&argument)),
            constants: &constants,
            base: None,
            chunk_rows: 4,
        };
        let shown = format!("{expression:?} of {argument}");
        assert_eq!(table.values(&[expression]), [[expected]], "{shown}");
    }
}

#[test]
fn casts_where_the_peer_is_not_followed() {
    let cast = |to: Cast| call(Function::Cast(to), &[slot(0)]);
    check([
        // F&O 19.2: white space around a string is not there.
        (
            cast(Cast::Integer),
            text(" 12\n"),
            Some(literal("12", "integer")),
        ),
        (
            cast(Cast::Boolean),
            text("\t1 "),
            Some(literal("true", "boolean")),
        ),
        (cast(Cast::Integer), text("1 2"), None),
        // XML Schema part 2 section 3.3.5: the names of what is not finite.
        (cast(Cast::Double), text("inf"), None),
        (cast(Cast::Double), text("infinity"), None),
        (cast(Cast::Float), text("nan"), None),
        (cast(Cast::Double), text("-NaN"), None),
        (
            call(Function::IsNumeric, &[slot(0)]),
            literal("inf", "double"),
            Some(Literal::from(false).into()),
        ),
        // F&O 19.1.2.2: floating numbers as strings.
        (
            cast(Cast::String),
            literal("1e7", "double"),
            Some(text("1.0E7")),
        ),
        (
            cast(Cast::String),
            literal("-1.5e-9", "double"),
            Some(text("-1.5E-9")),
        ),
        (
            cast(Cast::String),
            literal("123456.5", "double"),
            Some(text("123456.5")),
        ),
        (cast(Cast::String), literal("1e0", "float"), Some(text("1"))),
        (
            cast(Cast::String),
            literal("INF", "float"),
            Some(text("INF")),
        ),
        (
            cast(Cast::String),
            literal("01.50", "decimal"),
            Some(text("1.5")),
        ),
        (
            cast(Cast::String),
            literal("1", "boolean"),
            Some(text("true")),
        ),
        // F&O 19.1.4: a special duration keeps its part of a general one.
        (
            cast(Cast::YearMonthDuration),
            literal("P1Y2M3DT4H", "duration"),
            Some(literal("P1Y2M", "yearMonthDuration")),
        ),
        (
            cast(Cast::DayTimeDuration),
            literal("P1Y2M3DT4H", "duration"),
            Some(literal("P3DT4H", "dayTimeDuration")),
        ),
        (
            cast(Cast::DayTimeDuration),
            literal("P1Y", "yearMonthDuration"),
            Some(literal("PT0S", "dayTimeDuration")),
        ),
    ]);
}

#[test]
fn functions_where_the_peer_is_not_followed() {
    check([
        // RDF 1.1 Concepts section 3.3: only tagged strings have these datatypes.
        (
            call(
                Function::StrDt,
                &[call(Function::Str, &[slot(0)]), constant(0)],
            ),
            text("a"),
            None,
        ),
        // What was given is kept: STRDT makes a term, not a value.
        (
            call(
                Function::Str,
                &[call(Function::StrDt, &[slot(0), constant(1)])],
            ),
            text("012"),
            Some(text("012")),
        ),
        // Tags are in lower case, and compare without regard to it.
        (
            call(Function::StrLang, &[slot(0), constant(2)]),
            text("a"),
            Some(tagged("a", "en-gb")),
        ),
        // XPath: a start far below the string leaves what the length reaches.
        (
            call(Function::SubStr, &[slot(0), constant(3)]),
            text("abc"),
            Some(text("abc")),
        ),
        (
            call(Function::SubStr, &[slot(0), constant(4), constant(4)]),
            text("abc"),
            Some(text("")),
        ),
        (
            call(Function::SubStr, &[slot(0), constant(3), constant(4)]),
            text("abc"),
            Some(text("")),
        ),
        // One argument: the implicit timezone, which is that of NOW.
        (
            call(Function::Adjust, &[slot(0)]),
            literal("2020-01-01T00:00:00+02:00", "dateTime"),
            Some(literal("2019-12-31T22:00:00Z", "dateTime")),
        ),
    ]);
}

#[test]
fn relative_iris_are_resolved_against_the_base() {
    let texts = ["../c", "#f", "", "http://other/x", "a b", "<", "http://["].map(text);
    let table = Table {
        rows: &rows(&texts),
        constants: &[],
        base: Some("http://example.com/a/b/"),
        chunk_rows: 3,
    };
    let found = table.values(&[call(Function::Iri, &[slot(0)])]).remove(0);
    let expected = [
        Some(iri("http://example.com/a/c")),
        Some(iri("http://example.com/a/b/#f")),
        Some(iri("http://example.com/a/b/")),
        Some(iri("http://other/x")),
        None,
        None,
        None,
    ];
    assert_eq!(found, expected);
}

/// Pairs of integers and other terms, at the edges of the inline range and of 64 bits.
fn pairs() -> Vec<Vec<Option<Term>>> {
    let numbers = [
        0,
        1,
        -1,
        7,
        1 << 58,
        (1 << 59) - 1,
        -(1 << 59),
        1 << 59,
        i64::MAX,
        i64::MIN,
        i64::MAX / 2,
    ];
    let mut terms: Vec<Term> = numbers
        .map(|number: i64| Literal::from(number).into())
        .to_vec();
    terms.extend([
        literal("1.5", "decimal"),
        literal("2e0", "double"),
        literal("007", "integer"),
        literal("5", "int"),
        text("12"),
        iri("http://example.com/a"),
        BlankNode::new_unchecked("x").into(),
    ]);
    let mut cells: Vec<Vec<Option<Term>>> = Vec::new();
    for left in &terms {
        cells.extend(
            terms
                .iter()
                .map(|right| vec![Some(left.clone()), Some(right.clone())]),
        );
        cells.push(vec![Some(left.clone()), None]);
    }
    cells
}

/// Integer columns that also hold other terms, and results that leave 64 bits or the inline range.
#[test]
fn integers_by_columns_are_the_general_form() {
    let cells = pairs();
    let two = || Box::new(constant(0));
    let [x, y] = [|| Box::new(slot(0)), || Box::new(slot(1))];
    let arithmetic = |operator, left, right| Expression::Arithmetic(operator, left, right);
    let trees = [
        arithmetic(Arithmetic::Add, x(), y()),
        arithmetic(Arithmetic::Subtract, x(), y()),
        arithmetic(Arithmetic::Multiply, x(), y()),
        arithmetic(
            Arithmetic::Add,
            Box::new(arithmetic(Arithmetic::Multiply, x(), two())),
            Box::new(constant(1)),
        ),
        arithmetic(
            Arithmetic::Subtract,
            two(),
            Box::new(Expression::Minus(x())),
        ),
        call(Function::Abs, &[arithmetic(Arithmetic::Subtract, x(), y())]),
    ];
    // A function that gives its argument back keeps the tree from being one of integers.
    let hidden =
        |tree: &Expression| replaced(tree, &|slot| Expression::Coalesce(vec![slot.clone()]));
    let constants = [Literal::from(2).into(), Literal::from(1).into()];
    let table = Table {
        rows: &cells,
        constants: &constants,
        base: None,
        chunk_rows: 16,
    };
    for tree in &trees {
        let found = table.values(&[tree.clone(), hidden(tree)]);
        assert_eq!(found[0], found[1], "{tree:?}");
        assert!(found[0].iter().flatten().count() > 50);
        for comparison in [
            Comparison::Equal,
            Comparison::NotEqual,
            Comparison::Less,
            Comparison::LessOrEqual,
            Comparison::Greater,
            Comparison::GreaterOrEqual,
        ] {
            let compared = Expression::Compare(comparison, Box::new(tree.clone()), y());
            let found = table.values(&[compared.clone(), hidden(&compared)]);
            assert_eq!(found[0], found[1], "{compared:?}");
        }
    }
}

/// The expression with something else in place of each slot.
fn replaced(expression: &Expression, by: &dyn Fn(&Expression) -> Expression) -> Expression {
    let one = |operand: &Expression| Box::new(replaced(operand, by));
    match expression {
        Expression::Slot(_) => by(expression),
        Expression::Arithmetic(operator, left, right) => {
            Expression::Arithmetic(*operator, one(left), one(right))
        }
        Expression::Compare(comparison, left, right) => {
            Expression::Compare(*comparison, one(left), one(right))
        }
        Expression::Minus(operand) => Expression::Minus(one(operand)),
        Expression::Call(function, arguments) => Expression::Call(
            *function,
            arguments
                .iter()
                .map(|argument| replaced(argument, by))
                .collect(),
        ),
        other => other.clone(),
    }
}

/// Runs of one term, errors between them, and values that `IF` mixes under one text.
#[test]
fn a_run_of_one_term_is_answered_like_single_ones() {
    let run = ["b", "Ab", "Ab", "Ab", "\u{c9}x", "\u{c9}x", "b", "b"].map(text);
    let mut cells = rows(&run);
    cells.insert(3, vec![None]);
    cells.insert(6, vec![Some(iri("http://example.com/A"))]);
    let lower = call(Function::LCase, &[slot(0)]);
    let is_short = Expression::Compare(
        Comparison::Equal,
        Box::new(call(Function::StrLen, &[slot(0)])),
        Box::new(constant(0)),
    );
    let mixed = Expression::If(
        Box::new(is_short),
        Box::new(slot(0)),
        Box::new(call(Function::StrLang, &[slot(0), constant(1)])),
    );
    let expressions = [
        call(
            Function::Concat,
            &[lower.clone(), call(Function::Md5, &[slot(0)])],
        ),
        call(Function::UCase, &[mixed]),
        lower,
    ];
    let constants = [Literal::from(1).into(), text("en")];
    let found = |chunk_rows| {
        let table = Table {
            rows: &cells,
            constants: &constants,
            base: None,
            chunk_rows,
        };
        table.values(&expressions)
    };
    let single = found(1);
    assert_eq!(found(100), single);
    assert_eq!(single[2][1], Some(text("ab")));
    assert_eq!(single[2][3], None);
    assert_eq!(single[1][0], Some(text("B")));
    assert_eq!(single[1][1], Some(tagged("AB", "en")));
}

/// Many arguments are gathered another way than few.
#[test]
fn many_parts_are_joined_like_few() {
    let terms = [
        text("a"),
        tagged("b", "en"),
        iri("http://example.com/a"),
        text("\u{e9}"),
    ];
    let few = call(Function::Concat, &[slot(0), slot(0)]);
    let pairs = vec![few; 3];
    let nested = call(Function::Concat, &pairs);
    let flat = call(Function::Concat, &vec![slot(0); 6]);
    let mixed = [vec![slot(0); 5], vec![call(Function::Str, &[slot(0)])]].concat();
    let found = values(&terms, &[nested, flat, call(Function::Concat, &mixed)]);
    assert_eq!(found[0], found[1]);
    assert_eq!(found[0][1], Some(tagged("bbbbbb", "en")));
    assert_eq!(found[2][1], Some(text("bbbbbb")));
    assert_eq!(found[2][2], None);
}

/// Grants so many bytes and notes the most that was drawn.
struct Budget {
    limit: u64,
    used: AtomicU64,
    most: AtomicU64,
}

impl Budget {
    fn new(limit: u64) -> Budget {
        Budget {
            limit,
            used: AtomicU64::new(0),
            most: AtomicU64::new(0),
        }
    }
}

impl MemoryBudget for Budget {
    fn try_reserve(&self, bytes: u64) -> Result<(), MemoryExceeded> {
        let used = self.used.fetch_add(bytes, Ordering::Relaxed);
        if used + bytes > self.limit {
            self.used.fetch_sub(bytes, Ordering::Relaxed);
            return Err(MemoryExceeded {
                limit_bytes: self.limit,
                used_bytes: used,
                of_all: false,
            });
        }
        self.most.fetch_max(used + bytes, Ordering::Relaxed);
        Ok(())
    }

    fn release(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

fn drawn(expression: &Expression, terms: &[Term], limit: u64) -> Result<u64, WalkError> {
    let budget = Budget::new(limit);
    let limits = Limits {
        memory: &budget,
        stop: Limits::none().stop,
    };
    let table = Table {
        rows: &rows(terms),
        constants: &[],
        base: None,
        chunk_rows: 1024,
    };
    let found = table.values_within(std::slice::from_ref(expression), limits);
    assert_eq!(
        budget.used.load(Ordering::Relaxed),
        0,
        "something is not given back"
    );
    found.map(|_| budget.most.load(Ordering::Relaxed))
}

#[test]
fn fetched_and_computed_text_draws_on_the_budget() {
    let long = "x".repeat(1 << 20);
    let terms: Vec<Term> = (0..16)
        .map(|number| text(&format!("{number}{long}")))
        .collect();
    let length = call(Function::StrLen, &[slot(0)]);
    let fetched = drawn(&length, &terms, u64::MAX).unwrap();
    assert!(fetched > 24 << 20, "{fetched}");
    let upper = call(Function::StrLen, &[call(Function::UCase, &[slot(0)])]);
    let computed = drawn(&upper, &terms, u64::MAX).unwrap();
    assert!(computed > fetched + (15 << 20), "{computed}");
    let shared = Expression::Coalesce(vec![call(Function::Concat, &[slot(0), slot(0)])]);
    for expression in [upper, shared] {
        let refused = drawn(&expression, &terms, 20 << 20);
        assert!(
            matches!(refused, Err(WalkError::OutOfMemory { .. })),
            "{refused:?}"
        );
    }
}

/// A string that all rows share is held once, not once for each row.
#[test]
fn a_shared_string_is_held_once() {
    let long = text(&"x".repeat(1 << 20));
    let terms: Vec<Term> = (0..1000)
        .map(|number: i64| Literal::from(number).into())
        .collect();
    let upper = call(Function::UCase, &[constant(0)]);
    let is_small = Expression::Compare(Comparison::Less, Box::new(slot(0)), Box::new(constant(1)));
    let chosen = Expression::If(Box::new(is_small), Box::new(upper.clone()), Box::new(upper));
    let length = call(Function::StrLen, &[Expression::Coalesce(vec![chosen])]);
    let budget = Budget::new(16 << 20);
    let limits = Limits {
        memory: &budget,
        stop: Limits::none().stop,
    };
    let table = Table {
        rows: &rows(&terms),
        constants: &[long, Literal::from(500).into()],
        base: None,
        chunk_rows: 1024,
    };
    let found = table
        .values_within(&[length], limits)
        .expect("within the budget");
    let expected = Some(Term::from(Literal::from(1 << 20)));
    assert!(found[0].iter().all(|value| *value == expected));
}

#[test]
fn a_constant_pattern_is_refused_before_the_first_row() {
    let pattern = text("^(a)\\1$");
    let regex = call(
        Function::Regex,
        &[call(Function::Str, &[slot(0)]), constant(0)],
    );
    let unreached = Expression::Or(vec![Expression::Bound(Slot(0)), regex.clone()]);
    for filter in [regex, unreached] {
        let result = kept_rows(filter, vec![pattern.clone()], &[vec![text("aa")]], 4);
        assert!(
            matches!(result, Err(WalkError::RefusedPattern { .. })),
            "{result:?}"
        );
    }
    let flags = call(Function::Regex, &[slot(0), constant(0), slot(0)]);
    let kept = kept_rows(flags, vec![pattern], &[vec![text("k")]], 4);
    assert_eq!(kept.expect("the flags are an error"), [0_usize; 0]);
}

#[test]
fn a_pattern_from_the_data_is_an_error_of_its_row() {
    let long = "a".repeat(1 << 17);
    let patterns = ["^(a)\\1$", "(((a{1000}){1000}){1000})", &long, "^a"];
    let terms = patterns.map(text);
    let each: Vec<Vec<Term>> = terms.iter().map(|term| vec![term.clone()]).collect();
    let regex = call(Function::Regex, &[constant(0), slot(0)]);
    let kept = kept_rows(regex.clone(), vec![text("ab")], &each, 4).expect("no error");
    assert_eq!(kept, [3]);
    let not = Expression::Not(Box::new(regex));
    let kept = kept_rows(not, vec![text("b")], &each, 4).expect("no error");
    assert_eq!(kept, [3], "an error is not false");
    let table = Table {
        rows: &rows(&terms),
        constants: &[text("ab"), text("x")],
        base: None,
        chunk_rows: 1024,
    };
    let replaced = call(Function::Replace, &[constant(0), slot(0), constant(1)]);
    let found = table.values_within(&[replaced], Limits::none());
    let found = found.expect("no error");
    assert_eq!(found[0], [None, None, None, Some(text("xb"))]);
}
