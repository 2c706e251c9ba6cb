//! What an expression costs for each row: `cargo run --release -p explore --example expressions`.
//!
//! Two tables: people with names in the manner of LUBM (400,000 rows, some 2,000 distinct names in a
//! real dictionary, no two alike in a row) and a million integers in `VALUES`. Each expression is run as a filter
//! or a `BIND` over the whole table on one thread, five times; the best counts. Printed are
//! nanoseconds a row for the whole walk, and for the expression's step alone, which is the walk less the
//! same walk without it.

use explore::{Chunk, Environment, Limits, Options, Prepared, Status, Walk, prepare};
use oxrdf::{Literal, NamedNode, Term, TermRef};
use query::expression::{Arithmetic, Comparison, Expression, Function};
use query::plan::{
    Action, ConstantId, DatasetClause, Estimate, Form, Node, Plan, Scope, Slot, Source, Step,
    Weight,
};
use rdf::dictionary::{Dictionary, DictionaryBuilder};
use rdf::{Direction, Lexicon};
use std::time::Instant;
use store::GraphScope;
use store::testing::{IdQuad, snapshot_of};
use store::view::GraphView;

const PEOPLE: usize = 400_000;
const INTEGERS: usize = 1_000_000;
const RUNS: usize = 5;

/// Constants that expressions name, by position.
const TEXTS: [&str; 8] = ["x", "7$", "^graduate.*1", "i", "Student", "er", "", "abc"];
const NUMBERS: [i64; 4] = [1, 2, 5, 7];

fn text(at: usize) -> Expression {
    Expression::Constant(ConstantId(at as u32))
}

fn number(at: usize) -> Expression {
    text(TEXTS.len() + at)
}

fn constants() -> Vec<Term> {
    let texts = TEXTS.map(|text| Literal::new_simple_literal(text).into());
    let numbers = NUMBERS.map(|number| Literal::from(number).into());
    [texts.to_vec(), numbers.to_vec()].concat()
}

fn step(action: Action, keep: &[Slot]) -> Step {
    Step {
        action,
        keep: keep.to_vec(),
        estimate: Estimate::default(),
    }
}

fn plan(steps: Vec<Step>, constants: Vec<Term>, result: Slot) -> Plan {
    Plan {
        variables: (0..4).map(|at| format!("v{at}")).collect(),
        constants,
        dataset: DatasetClause::default(),
        base: None,
        steps,
        form: Form::Select(vec![result]),
        weight: Weight::Light,
    }
}

/// What is asked of a row.
enum Asked {
    Filter(Expression),
    Bind(Expression),
}

/// Adds the step, which sees `value` and gives `Slot(3)` where it binds.
fn asked(steps: &mut Vec<Step>, asked: Option<Asked>, value: Slot) -> Slot {
    match asked {
        None => value,
        Some(Asked::Filter(expression)) => {
            steps.push(step(Action::Filter(expression), &[value]));
            value
        }
        Some(Asked::Bind(expression)) => {
            let into = Slot(3);
            steps.push(step(Action::Bind { expression, into }, &[into]));
            into
        }
    }
}

fn drain<V: GraphView, L: Lexicon>(prepared: &Prepared<'_>, view: &V, lexicon: &L) -> u64 {
    let options = Options::default();
    let mut walk = Walk::new(prepared, view, lexicon, Limits::none(), options);
    let (mut chunk, mut rows) = (Chunk::new(), 0);
    while walk.next(&mut chunk).expect("no limit") == Status::Rows {
        rows += chunk.rows();
    }
    rows
}

/// Nanoseconds of the best run, and its rows.
fn measure<V: GraphView, L: Lexicon>(plan: &Plan, view: &V, lexicon: &L) -> (f64, u64) {
    let terms: Vec<TermRef<'_>> = plan.constants.iter().map(Term::as_ref).collect();
    let mut ids = Vec::new();
    lexicon.ids(&terms, &mut ids).expect("it answers");
    let environment = Environment::fixed();
    let (mut best, mut rows) = (f64::INFINITY, 0);
    for _ in 0..RUNS {
        let prepared = prepare(plan, &ids, view, Limits::none(), &environment).expect("no limit");
        let start = Instant::now();
        rows = drain(&prepared, view, lexicon);
        best = best.min(start.elapsed().as_nanos() as f64);
    }
    (best, rows)
}

fn call(function: Function, arguments: &[Expression]) -> Expression {
    Expression::Call(function, arguments.to_vec())
}

fn on_names() -> Vec<(&'static str, Asked)> {
    use Asked::{Bind, Filter};
    let name = || Expression::Slot(Slot(1));
    let lower = || call(Function::LCase, &[name()]);
    vec![
        (
            "REGEX(?n, \"7$\")",
            Filter(call(Function::Regex, &[name(), text(1)])),
        ),
        (
            "REGEX(?n, \"^graduate.*1\", \"i\")",
            Filter(call(Function::Regex, &[name(), text(2), text(3)])),
        ),
        (
            "CONTAINS(LCASE(?n), \"x\")",
            Filter(call(Function::Contains, &[lower(), text(0)])),
        ),
        (
            "CONTAINS(?n, \"Student\")",
            Filter(call(Function::Contains, &[name(), text(4)])),
        ),
        (
            "STRSTARTS(?n, \"Student\")",
            Filter(call(Function::StrStarts, &[name(), text(4)])),
        ),
        (
            "STRLEN(?n) > 5",
            Filter(Expression::Compare(
                Comparison::Greater,
                Box::new(call(Function::StrLen, &[name()])),
                Box::new(number(2)),
            )),
        ),
        ("BIND(STRLEN(?n))", Bind(call(Function::StrLen, &[name()]))),
        ("BIND(?n)", Bind(name())),
        ("BIND(UCASE(?n))", Bind(call(Function::UCase, &[name()]))),
        (
            "BIND(CONCAT(?n, \"abc\"))",
            Bind(call(Function::Concat, &[name(), text(7)])),
        ),
        (
            "BIND(SUBSTR(?n, 2, 5))",
            Bind(call(Function::SubStr, &[name(), number(1), number(2)])),
        ),
        (
            "BIND(REPLACE(?n, \"er\", \"x\"))",
            Bind(call(Function::Replace, &[name(), text(5), text(0)])),
        ),
        ("BIND(MD5(?n))", Bind(call(Function::Md5, &[name()]))),
        ("BIND(SHA256(?n))", Bind(call(Function::Sha256, &[name()]))),
        ("BIND(STRUUID())", Bind(call(Function::StrUuid, &[]))),
        ("BIND(RAND())", Bind(call(Function::Rand, &[]))),
    ]
}

fn on_integers() -> Vec<(&'static str, Asked)> {
    use Asked::{Bind, Filter};
    let x = || Box::new(Expression::Slot(Slot(1)));
    let tree = || {
        let twice = Expression::Arithmetic(Arithmetic::Multiply, x(), Box::new(number(1)));
        Expression::Arithmetic(Arithmetic::Add, Box::new(twice), Box::new(number(0)))
    };
    let half = || Expression::Arithmetic(Arithmetic::Divide, x(), Box::new(number(1)));
    let above = |left: Expression| {
        Expression::Compare(Comparison::Greater, Box::new(left), Box::new(number(2)))
    };
    vec![
        ("BIND(?x * 2 + 1)", Bind(tree())),
        ("FILTER(?x * 2 + 1 > 5)", Filter(above(tree()))),
        ("FILTER(?x > 5)", Filter(above(*x()))),
        ("FILTER(?x / 2 > 5)", Filter(above(half()))),
        ("BIND(?x / 2)", Bind(half())),
        ("BIND(STR(?x))", Bind(call(Function::Str, &[*x()]))),
    ]
}

fn report(name: &str, whole: f64, floor: f64, rows: usize) {
    let rows = rows as f64;
    println!(
        "{name:<36}{:>10.1}{:>10.1}",
        whole / rows,
        (whole - floor) / rows
    );
}

/// The dictionary, and who has which name.
fn people(predicate: &NamedNode) -> (Dictionary, Vec<IdQuad>) {
    let mut builder = DictionaryBuilder::new();
    let predicate = builder.id(predicate.as_ref().into());
    let kinds = [
        "UndergraduateStudent",
        "GraduateStudent",
        "FullProfessor",
        "Course",
    ];
    let quads = (0..PEOPLE).map(|at| {
        let subject = NamedNode::new_unchecked(format!("http://example.com/person/{at}"));
        let subject = builder.id(subject.as_ref().into());
        let name = Literal::new_simple_literal(format!("{}{}", kinds[at % 4], at / 4 % 530));
        let name = builder.id(TermRef::from(name.as_ref()));
        (subject, predicate, name, GraphScope::DEFAULT_GRAPH)
    });
    let quads = quads.collect();
    (builder.finish().expect("it fits"), quads)
}

#[allow(clippy::too_many_lines, reason = "a list of measurements")]
fn main() {
    println!("{:<36}{:>10}{:>10}", "ns a row", "walk", "step");
    let predicate = NamedNode::new_unchecked("http://example.com/name");
    let (dictionary, quads) = people(&predicate);
    let view = snapshot_of(&quads, None);
    measure_names(&predicate, &view, &dictionary);
    measure_integers(&view, &dictionary);
}

fn measure_names<V: GraphView, L: Lexicon>(predicate: &NamedNode, view: &V, lexicon: &L) {
    let names = |what: Option<Asked>| {
        let mut all = constants();
        all.push(predicate.clone().into());
        let node = Node::Constant(ConstantId(all.len() as u32 - 1));
        let (direction, scope) = (Direction::Out, Scope::Default);
        let mut steps = vec![
            step(
                Action::ExpandKeys {
                    predicate: node,
                    direction,
                    scope,
                    into: Slot(0),
                    source: Source::STORE,
                },
                &[Slot(0)],
            ),
            step(
                Action::Expand {
                    from: Node::Slot(Slot(0)),
                    predicate: node,
                    direction,
                    scope,
                    into: Slot(1),
                    source: Source::STORE,
                },
                &[Slot(1)],
            ),
        ];
        let result = asked(&mut steps, what, Slot(1));
        measure(&plan(steps, all, result), view, lexicon)
    };
    let (floor, rows) = names(None);
    assert_eq!(rows, PEOPLE as u64);
    report("names", floor, floor, PEOPLE);
    for (name, what) in on_names() {
        report(name, names(Some(what)).0, floor, PEOPLE);
    }
}

fn measure_integers<V: GraphView, L: Lexicon>(view: &V, lexicon: &L) {
    let integers = |what: Option<Asked>| {
        let mut all = constants();
        let first = all.len();
        all.extend((0..INTEGERS).map(|at| Term::from(Literal::from(at as i64 * 7 % 1000))));
        let cell = |at: usize| vec![Some(ConstantId((first + at) as u32))];
        let values = Action::Values {
            columns: vec![Slot(1)],
            rows: (0..INTEGERS).map(cell).collect(),
        };
        let mut steps = vec![step(values, &[Slot(1)])];
        let result = asked(&mut steps, what, Slot(1));
        measure(&plan(steps, all, result), view, lexicon)
    };
    let (floor, rows) = integers(None);
    assert_eq!(rows, INTEGERS as u64);
    report("integers", floor, floor, INTEGERS);
    for (name, what) in on_integers() {
        report(name, integers(Some(what)).0, floor, INTEGERS);
    }
}
