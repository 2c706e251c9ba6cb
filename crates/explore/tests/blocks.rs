//! Steps that hold steps, at their edges: mere counts, deep nesting, early ends, other endpoints,
//! triple terms.

use crate::support;

use explore::environment::EachSolution;
use explore::limits::Unlimited;
use explore::{
    Chunk, Environment, GivenTable, Limits, Options, Service, ServiceError, Status, Stop,
    StopReason, Walk, WalkError, prepare,
};
use oxrdf::{BlankNode, Literal, NamedNode, Term, TermRef, Triple};
use oxsdatatypes::DateTime;
use query::expression::Expression;
use query::plan::{
    Action, ConstantId, DatasetClause, Estimate, Form, Mode, Node, OrderKey, Plan, Scope, Slot,
    Source, Step, TableId, Weight,
};
use rdf::{Direction, Lexicon, LexiconError, Progress, TermBuffer, VertexId, inline};
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use store::testing::snapshot_of;
use support::{DEFAULT, Numbered, PlainTerms, Quad, constants, integer, iri};
use testkit::plain_graph::PlainGraph;
use testkit::waiting::Waiting;

const X: Slot = Slot(0);
const Y: Slot = Slot(1);
const Z: Slot = Slot(2);
const ROW: Slot = Slot(3);

/// Number of subjects of the one predicate; each has three objects.
const SUBJECTS: u64 = 1000;

fn graph() -> Vec<Quad> {
    (0..SUBJECTS)
        .flat_map(|n| (0..3).map(move |m| (iri(100 + n), iri(0), integer(m), DEFAULT)))
        .collect()
}

fn step(action: Action, keep: &[Slot]) -> Step {
    Step {
        action,
        keep: keep.to_vec(),
        estimate: Estimate::default(),
    }
}

fn plan_of(steps: Vec<Step>) -> Plan {
    let names = ["x", "y", "z", ".row", "a", "b", "c", "d"];
    Plan {
        variables: names.map(str::to_owned).to_vec(),
        constants: vec![
            Numbered::term(iri(0)),
            Numbered::term(iri(1)),
            support::absent(),
        ],
        dataset: DatasetClause::default(),
        base: None,
        form: Form::Select(
            steps
                .last()
                .map(|step| step.keep.clone())
                .unwrap_or_default(),
        ),
        steps,
        weight: Weight::Light,
    }
}

fn constant(number: u32) -> Node {
    Node::Constant(ConstantId(number))
}

fn keys(into: Slot, keep: &[Slot]) -> Step {
    let action = Action::ExpandKeys {
        predicate: constant(0),
        direction: Direction::Out,
        scope: Scope::Default,
        into,
        source: Source::STORE,
    };
    step(action, keep)
}

fn expand(from: Slot, into: Slot, keep: &[Slot]) -> Step {
    let action = Action::Expand {
        from: Node::Slot(from),
        predicate: constant(0),
        direction: Direction::Out,
        scope: Scope::Default,
        into,
        source: Source::STORE,
    };
    step(action, keep)
}

fn nested(mode: Mode, branches: Vec<Vec<Step>>, columns: [&[Slot]; 3]) -> Step {
    let [imports, exports, keep] = columns;
    let action = Action::Nested {
        mode,
        branches,
        imports: imports.to_vec(),
        row: ROW,
        exports: exports.to_vec(),
        row_by_row: false,
    };
    step(action, keep)
}

fn count() -> Step {
    let action = Action::Count {
        distinct: None,
        into: X,
    };
    step(action, &[X])
}

fn slice(limit: u64, keep: &[Slot]) -> Step {
    let action = Action::Slice {
        offset: 0,
        limit: Some(limit),
    };
    step(action, keep)
}

/// Says stop after it was asked a number of times.
struct After(AtomicU64);

impl Stop for After {
    fn reason(&self) -> Option<StopReason> {
        let left = self.0.load(Ordering::Relaxed);
        self.0.store(left.saturating_sub(1), Ordering::Relaxed);
        (left == 0).then_some(StopReason::Deadline)
    }
}

type Rows = Vec<Vec<VertexId>>;

/// The rows of the plan's last columns, with a limited number of looks at the clock.
fn run(plan: &Plan) -> Result<Rows, WalkError> {
    run_in(plan, &graph(), &Numbered, &Environment::fixed(), |_| ())
}

fn run_in(
    plan: &Plan,
    quads: &[Quad],
    lexicon: &impl Lexicon,
    environment: &Environment<'_>,
    mut see: impl FnMut(&explore::Prepared<'_>),
) -> Result<Rows, WalkError> {
    let stop = After(AtomicU64::new(100_000));
    let limits = Limits {
        memory: &Unlimited,
        stop: &stop,
    };
    let view = snapshot_of(quads, None);
    let ids = constants(plan, lexicon);
    let prepared = prepare(plan, &ids, &view, limits, environment)?;
    let mut walk = Walk::new(&prepared, &view, lexicon, limits, Options::default());
    let (mut chunk, mut rows) = (Chunk::new(), Vec::new());
    let Form::Select(columns) = &plan.form else {
        unreachable!("a SELECT")
    };
    while walk.next(&mut chunk)? == Status::Rows {
        for row in 0..chunk.rows() as usize {
            let cell = |slot: &Slot| chunk.column(*slot).map_or(VertexId::UNBOUND, |c| c[row]);
            rows.push(columns.iter().map(cell).collect());
        }
    }
    see(&prepared);
    Ok(rows)
}

fn counted(steps: Vec<Step>) -> i64 {
    let rows = run(&plan_of(steps)).expect("the count is there before the deadline");
    assert_eq!(rows.len(), 1);
    inline::integer(rows[0][0]).expect("a count")
}

/// Many rows without columns.
fn product(times: usize) -> Vec<Step> {
    (0..times).map(|_| keys(X, &[])).collect()
}

#[test]
fn blocks_of_mere_counts_are_walked_once() {
    let subjects = SUBJECTS as i64;
    let found = || vec![keys(Y, &[ROW])];
    let mut missing = vec![keys(Y, &[ROW])];
    let nowhere = Action::Check {
        subject: constant(1),
        predicate: constant(0),
        object: constant(1),
        from: Direction::Out,
        scope: Scope::Default,
        source: Source::STORE,
    };
    missing.push(step(nowhere, &[ROW]));
    let cases = [
        (Mode::Inner, vec![found(), found()], subjects.pow(4) * 2),
        (Mode::Inner, vec![missing.clone()], 0),
        (Mode::Left, vec![found()], subjects.pow(4)),
        (Mode::Left, vec![missing.clone()], subjects.pow(3)),
        (Mode::Semi, vec![found()], subjects.pow(3)),
        (Mode::Semi, vec![missing.clone()], 0),
        (Mode::Anti, vec![found()], 0),
        (Mode::Anti, vec![missing.clone()], subjects.pow(3)),
        (Mode::Mark(Z), vec![missing.clone()], subjects.pow(3)),
    ];
    for (mode, branches, expected) in cases {
        let mut steps = product(3);
        steps.push(nested(mode, branches, [&[], &[], &[]]));
        steps.push(count());
        assert_eq!(counted(steps), expected, "{mode:?}");
    }
}

#[test]
fn rows_of_mere_counts_are_repeated_as_they_are_wanted() {
    let nothing = || vec![slice(0, &[ROW])];
    let cases = [
        (Mode::Inner, vec![vec![keys(Y, &[Y, ROW])]], iri(100)),
        (Mode::Left, vec![nothing()], VertexId::UNBOUND),
        (Mode::Mark(Y), vec![nothing()], inline::from_boolean(false)),
        (Mode::Mark(Y), vec![vec![]], inline::from_boolean(true)),
    ];
    for (mode, branches, expected) in cases {
        let exports: &[Slot] = if matches!(mode, Mode::Mark(_)) {
            &[]
        } else {
            &[Y]
        };
        let mut steps = product(3);
        steps.push(nested(mode, branches, [&[], exports, &[Y]]));
        steps.push(slice(3000, &[Y]));
        let rows = run(&plan_of(steps)).expect("before the deadline");
        assert_eq!(rows, vec![vec![expected]; 3000], "{mode:?}");
    }
}

#[test]
fn tables_multiply_without_being_walked() {
    let mut steps = product(3);
    let table = vec![keys(Y, &[Y])];
    let (keys, exports) = (vec![], vec![Y]);
    let probe = Action::Probe {
        table,
        keys,
        exports,
    };
    steps.push(step(probe, &[]));
    let rows = vec![vec![Some(ConstantId(0))], vec![None]];
    let columns = vec![Z];
    steps.push(step(Action::Values { columns, rows }, &[]));
    steps.push(count());
    assert_eq!(counted(steps), 2 * (SUBJECTS as i64).pow(4));
}

#[test]
fn a_table_without_rows_ends_what_is_before_it() {
    let table = vec![keys(Y, &[Y]), slice(0, &[Y])];
    let probe = Action::Probe {
        table,
        keys: vec![],
        exports: vec![Y],
    };
    let mut steps = vec![keys(X, &[X]), keys(Z, &[X, Z]), keys(Y, &[X, Y, Z])];
    steps.push(step(probe, &[X, Y]));
    assert_eq!(run(&plan_of(steps)).expect("before the deadline").len(), 0);
}

/// The largest object of each subject, by a block that sorts and slices.
#[test]
fn a_block_is_walked_to_its_end_for_each_row() {
    let key = OrderKey {
        expression: Expression::Slot(Y),
        descending: true,
    };
    let order = Action::Order {
        keys: vec![key],
        limit: Some(1),
    };
    let branch = vec![
        expand(X, Y, &[Y, ROW]),
        step(order, &[Y, ROW]),
        slice(1, &[Y, ROW]),
    ];
    let mut largest = nested(Mode::Inner, vec![branch], [&[X], &[Y], &[X, Y]]);
    let Action::Nested { row_by_row, .. } = &mut largest.action else {
        unreachable!()
    };
    *row_by_row = true;
    let rows = run(&plan_of(vec![keys(X, &[X]), largest])).expect("before the deadline");
    let expected: Rows = (0..SUBJECTS)
        .map(|n| vec![iri(100 + n), integer(2)])
        .collect();
    assert_eq!(rows, expected);
}

/// `{ A OPTIONAL { B OPTIONAL { C ...` as deep as the limits of the text allow, on the stack
/// that it promises.
#[test]
fn blocks_within_blocks_need_little_stack_and_time() {
    const DEPTH: usize = 256;
    let deep = || {
        let mut plan = plan_of(Vec::new());
        plan.variables = (0..2 * DEPTH + 4).map(|n| format!("v{n}")).collect();
        let column = |depth: usize| Slot(4 + 2 * depth as u16);
        let row = |depth: usize| Slot(5 + 2 * depth as u16);
        let mut within: Vec<Step> = Vec::new();
        for depth in (0..DEPTH).rev() {
            let (into, row) = (column(depth), row(depth));
            let around = (depth > 0).then(|| [column(depth - 1), Slot(row.0 - 2)]);
            let mut branch = vec![expand(X, into, &[X, into, row])];
            branch.append(&mut within);
            let mut exports = vec![into];
            if depth + 1 < DEPTH {
                exports.push(column(depth + 1));
            }
            let mut keep = exports.clone();
            keep.push(X);
            keep.extend(around.into_iter().flatten());
            keep.sort();
            within = vec![step(
                Action::Nested {
                    mode: Mode::Left,
                    branches: vec![branch],
                    imports: vec![X],
                    row,
                    exports,
                    row_by_row: false,
                },
                &keep,
            )];
        }
        plan.steps = vec![keys(X, &[X])];
        plan.steps.append(&mut within);
        plan.steps.push(slice(4000, &[X]));
        plan.form = Form::Select(vec![X]);
        run(&plan).expect("before the deadline").len()
    };
    let thread = std::thread::Builder::new().stack_size(query::STACK_BYTES_MIN);
    let rows = thread
        .spawn(deep)
        .expect("a thread")
        .join()
        .expect("no overflow");
    assert_eq!(rows, 4000);
}

/// An endpoint that gives two solutions, or what is asked for.
#[derive(Default)]
struct Endpoint {
    asked: Mutex<Vec<String>>,
}

impl Service for Endpoint {
    fn select(
        &self,
        endpoint: &str,
        text: &str,
        variables: &[String],
        each: &mut EachSolution<'_>,
    ) -> Result<(), ServiceError> {
        assert_eq!(
            (text, variables),
            ("SELECT", &["a".to_owned(), "b".to_owned()][..])
        );
        self.asked
            .lock()
            .expect("nobody panics")
            .push(endpoint.to_owned());
        let blank: Term = BlankNode::new_unchecked("b0").into();
        each(&[Some(blank.clone()), None]).map_err(ServiceError::Walk)?;
        if endpoint == "ex:101" {
            return Err(ServiceError::Failed("gone".to_owned()));
        }
        let triple = Triple::new(
            BlankNode::new_unchecked("b0"),
            NamedNode::new_unchecked("ex:0"),
            blank,
        );
        let second = [Some(Literal::from(7).into()), Some(triple.into())];
        each(&second).map_err(ServiceError::Walk)
    }
}

/// `SERVICE` for the first subjects, each its own endpoint, or one constant.
fn service(endpoint: Node, silent: bool, subjects: u64) -> Plan {
    let columns = vec![("a".to_owned(), Y), ("b".to_owned(), Z)];
    let (text, keep) = ("SELECT".to_owned(), [X, Y, Z]);
    let action = Action::Service {
        endpoint,
        silent,
        text,
        columns,
    };
    plan_of(vec![
        keys(X, &[X]),
        slice(subjects, &[X]),
        step(action, &keep),
    ])
}

fn ask(plan: &Plan, endpoint: Option<&dyn Service>) -> Result<(Rows, Vec<Term>), WalkError> {
    let environment = Environment::new(&|| DateTime::MIN, 0, endpoint);
    let mut terms = Vec::new();
    let rows = run_in(plan, &graph(), &Numbered, &environment, |prepared| {
        let locals = prepared.locals().terms();
        terms.extend(locals.map(|(_, term)| term.into_owned()));
    })?;
    Ok((rows, terms))
}

#[test]
fn an_endpoint_is_asked_once_and_its_blank_nodes_are_its_own() {
    let endpoint = Endpoint::default();
    let plan = service(constant(1), false, 40);
    let (rows, locals) = ask(&plan, Some(&endpoint)).expect("it answers");
    assert_eq!(*endpoint.asked.lock().expect("nobody panics"), ["ex:1"]);
    assert_eq!(rows.len(), 80);
    assert_eq!(rows[1][1], integer(7));
    let label = |term: &Term| match term {
        Term::BlankNode(blank) => blank.as_str().to_owned(),
        other => panic!("{other}"),
    };
    let first = |of: fn(&&Term) -> bool| locals.iter().find(of).expect("it was answered");
    let blank = first(|term| matches!(term, Term::BlankNode(_)));
    let triple = first(|term| matches!(term, Term::Triple(_)));
    assert_ne!(label(blank), "b0");
    let Term::Triple(triple) = triple else {
        panic!("{triple}")
    };
    assert_eq!(triple.object, *blank);
    assert_eq!(Term::from(triple.subject.clone()), *blank);
}

#[test]
fn endpoints_differ_by_row_and_fail_apart() {
    let endpoint = Endpoint::default();
    let plan = service(Node::Slot(X), true, 3);
    let (rows, locals) = ask(&plan, Some(&endpoint)).expect("silent");
    assert_eq!(endpoint.asked.lock().expect("nobody panics").len(), 3);
    let failed = vec![iri(101), VertexId::UNBOUND, VertexId::UNBOUND];
    assert_eq!(rows.len(), 5);
    assert_eq!(rows[2], failed, "what came before the failure is dropped");
    assert_ne!(rows[0][1], rows[3][1], "{locals:?}");
    let loud = ask(&service(Node::Slot(X), false, 3), Some(&endpoint));
    assert!(matches!(loud, Err(WalkError::ServiceFailed { endpoint, .. }) if endpoint == "ex:101"));
}

/// An endpoint with many solutions: terms that are stored, that are not, and of its own.
struct Many(u64);

impl Service for Many {
    fn select(
        &self,
        _endpoint: &str,
        _text: &str,
        _variables: &[String],
        each: &mut EachSolution<'_>,
    ) -> Result<(), ServiceError> {
        for number in 0..self.0 {
            let other: Option<Term> = match number % 4 {
                0 => None,
                1 => Some(Literal::new_simple_literal(format!("new{}", number % 40)).into()),
                2 => Some(BlankNode::new_unchecked(format!("b{}", number % 40)).into()),
                _ => Some(Literal::from(number as i64).into()),
            };
            let stored = NamedNode::new_unchecked(format!("ex:{number}"));
            each(&[Some(stored.into()), other]).map_err(ServiceError::Walk)?;
        }
        Ok(())
    }
}

/// What an endpoint gives to one row, as terms, and how many terms the query has of its own then.
fn joined(endpoint: &Many, lexicon: &impl Lexicon) -> (Vec<Vec<Option<Term>>>, usize) {
    let environment = Environment::new(&|| DateTime::MIN, 0, Some(endpoint));
    let plan = service(constant(1), false, 1);
    let view = snapshot_of(&graph(), None);
    let ids = constants(&plan, &Numbered);
    let prepared = prepare(&plan, &ids, &view, Limits::none(), &environment).expect("no limit");
    let mut walk = Walk::new(
        &prepared,
        &view,
        lexicon,
        Limits::none(),
        Options::default(),
    );
    let (mut chunk, mut rows) = (Chunk::new(), Vec::new());
    loop {
        match walk.next(&mut chunk).expect("it answers") {
            Status::Rows => {
                let term = |id: VertexId| match prepared.locals().term(id) {
                    // Its label begins with how often endpoints were about to be asked.
                    Some(Term::BlankNode(blank)) => {
                        let (_, label) = blank.as_str().split_once('.').expect("a new label");
                        Some(BlankNode::new_unchecked(label).into())
                    }
                    Some(own) => Some(own),
                    None => (!id.is_unbound()).then(|| Numbered::term(id)),
                };
                let cell = |slot: Slot, row: usize| chunk.column(slot).map(|cells| cells[row]);
                rows.extend((0..chunk.rows() as usize).map(|row| {
                    let cells = [Y, Z].map(|slot| cell(slot, row).and_then(term));
                    cells.to_vec()
                }));
            }
            Status::Yield | Status::Pending(_) => {}
            Status::Done | Status::Starved => break,
        }
    }
    (rows, prepared.locals().terms().count())
}

/// Counts the terms whose ids were asked.
struct Counted<'l, L>(&'l L, AtomicU64);

impl<L: Lexicon> Lexicon for Counted<'_, L> {
    fn fetch(&self, ids: &[VertexId], terms: &[TermRef<'_>]) -> Result<Progress, LexiconError> {
        self.0.fetch(ids, terms)
    }

    fn ids(
        &self,
        terms: &[TermRef<'_>],
        ids: &mut Vec<Option<VertexId>>,
    ) -> Result<(), LexiconError> {
        self.1.fetch_add(terms.len() as u64, Ordering::Relaxed);
        self.0.ids(terms, ids)
    }

    fn terms(&self, ids: &[VertexId], terms: &mut TermBuffer) -> Result<(), LexiconError> {
        self.0.terms(ids, terms)
    }
}

#[test]
fn what_an_endpoint_says_is_looked_up_together_and_once() {
    let view = PlainGraph::default();
    for (solutions, tickets) in [(0, 1), (1, 2), (100, 2), (30_000, 16)] {
        let endpoint = Many(solutions);
        let (expected, own) = joined(&endpoint, &Numbered);
        assert_eq!(expected.len() as u64, solutions);
        let before = joined(&Many(0), &Numbered).1;
        assert!(own <= before + 20, "others are stored");
        let waiting = Waiting::new(&view, &Numbered);
        let counted = Counted(&waiting, AtomicU64::new(0));
        let (rows, _) = joined(&endpoint, &counted);
        // Names, and a quarter of them with a string.
        let asked = counted.1.into_inner();
        assert_eq!(asked, solutions + (solutions + 2) / 4, "each is asked once");
        assert!(rows == expected, "{solutions} solutions");
        assert_eq!(waiting.tickets(), tickets, "{solutions} solutions");
    }
}

#[test]
fn no_endpoint_is_asked_unless_it_is_allowed() {
    let refused = ask(&service(constant(1), false, 1), None);
    assert!(
        matches!(refused, Err(WalkError::ServiceRefused { endpoint, .. }) if endpoint == "ex:1")
    );
    let (rows, _) = ask(&service(constant(1), true, 2), None).expect("silent");
    assert_eq!(rows.len(), 2);
    assert!(rows[0][1].is_unbound());
}

#[test]
fn triple_terms_are_taken_apart() {
    let mut lexicon = PlainTerms::default();
    let name = |name: &str| NamedNode::new_unchecked(format!("http://example.com/{name}"));
    let stored = Triple::new(name("s"), name("p"), Literal::from(3));
    let nested = Triple::new(name("s"), name("q"), Term::from(stored.clone()));
    let local: Term = Triple::new(name("s"), name("new"), Literal::from("new")).into();
    let [s, p, q] = ["s", "p", "q"].map(|local| lexicon.id(&name(local).into()));
    let stored_id = lexicon.id(&stored.clone().into());
    let nested_id = lexicon.id(&nested.clone().into());
    let columns = vec![X];
    let rows = (0..4).map(|n| vec![Some(ConstantId(n))]).collect();
    let unpack = Action::Unpack {
        term: X,
        subject: Slot(4),
        predicate: Slot(5),
        object: Slot(6),
    };
    let mut plan = plan_of(vec![
        step(Action::Values { columns, rows }, &[X]),
        step(unpack, &[X, Slot(4), Slot(5), Slot(6)]),
    ]);
    plan.constants = vec![nested.into(), name("s").into(), local, stored.into()];
    let mut terms = HashMap::new();
    let rows = run_in(&plan, &[], &lexicon, &Environment::fixed(), |prepared| {
        let locals = prepared.locals().terms();
        terms.extend(locals.map(|(id, term)| (id, term.to_string())));
    });
    let rows = rows.expect("nothing fails");
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[0], [nested_id, s, q, stored_id]);
    assert_eq!(rows[2], [stored_id, s, p, integer(3)]);
    assert_eq!(rows[1][1], s);
    let term = |id: VertexId| terms[&id].as_str();
    assert_eq!(term(rows[1][2]), "<http://example.com/new>");
    assert_eq!(term(rows[1][3]), "\"new\"");
}

/// Subjects with a number each; every third row names one that is not there.
fn numbers() -> GivenTable {
    let mut table = GivenTable::new(2);
    for n in 0..3000 {
        let subject = if n % 3 == 0 { 5000 + n } else { 100 + n % 50 };
        table.insert(&[iri(subject), integer(n as i64)]);
    }
    table.index(&[0]);
    table
}

fn run_given(plan: &Plan, table: &GivenTable) -> Rows {
    let tables = [table];
    let environment = Environment::fixed().with_given(&tables);
    let rows = run_in(plan, &graph(), &Numbered, &environment, |_| {});
    rows.expect("nothing fails")
}

fn given(columns: [Slot; 2], keys: &[Slot], keep: &[Slot]) -> Step {
    let action = Action::Given {
        table: TableId(0),
        columns: columns.to_vec(),
        keys: keys.to_vec(),
    };
    step(action, keep)
}

#[test]
fn rows_are_looked_up_in_a_given_table() {
    let table = numbers();
    let has = |row: &usize| table.column(0)[*row].payload() < 100 + SUBJECTS;
    let mut expected: Rows = (0..table.rows())
        .filter(has)
        .map(|row| vec![table.column(0)[row], table.column(1)[row]])
        .collect();
    expected.sort_unstable();
    assert_eq!(expected.len(), 2000, "each row of a subject is found once");
    let plan = plan_of(vec![keys(X, &[X]), given([X, Y], &[X], &[X, Y])]);
    assert_eq!(plan.tables(), [(TableId(0), vec![0])]);
    let mut found = run_given(&plan, &table);
    found.sort_unstable();
    assert_eq!(found, expected);
    // From the table to the graph, which drops the others.
    let check = Action::Check {
        subject: Node::Slot(X),
        predicate: constant(0),
        object: Node::Slot(Z),
        from: Direction::Out,
        scope: Scope::Default,
        source: Source::STORE,
    };
    let values = Action::Values {
        columns: vec![Z],
        rows: vec![vec![Some(ConstantId(3))]],
    };
    let mut plan = plan_of(vec![
        given([X, Y], &[], &[X, Y]),
        step(values, &[X, Y, Z]),
        step(check, &[X, Y]),
    ]);
    plan.constants.push(Numbered::term(integer(2)));
    let mut found = run_given(&plan, &table);
    found.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn a_given_table_keeps_rows_counts_them_and_ends_what_is_before_it() {
    let table = numbers();
    let all = [
        given([X, Y], &[], &[X, Y]),
        given([X, Y], &[X, Y], &[X]),
        given([Z, Y], &[], &[]),
        count(),
    ];
    let rows = run_given(&plan_of(all.to_vec()), &table);
    let squared = (table.rows() * table.rows()) as i64;
    assert_eq!(rows, [[integer(squared)]]);
    let empty = GivenTable::new(2);
    let steps = vec![
        keys(X, &[X]),
        keys(Z, &[X, Z]),
        given([Slot(4), Y], &[], &[X]),
    ];
    assert_eq!(run_given(&plan_of(steps), &empty), Rows::new());
}
