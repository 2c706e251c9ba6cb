//! The plans and rows whose bytes are kept: every action, every form of all else, every kind of term.

use crate::expression::{Arithmetic, Comparison, Expression, Function};
use crate::node::{ConstantId, Node, Slot};
use crate::path::Path;
use crate::plan::{
    Action, Aggregate, AggregateFunction, BLOCKS_MAX, DEPTH_MAX, DatasetClause, Estimate, Form,
    Mode, OrderKey, Plan, Scope, Side, Size, Source, Step, TableId, TemplateTerm, Weight,
};
use oxrdf::{BaseDirection, BlankNode, Literal, NamedNode, Term, Triple};
use rdf::{Direction, Tag, VertexId};

fn iri(iri: &str) -> NamedNode {
    NamedNode::new_unchecked(iri)
}

/// A term of each kind.
pub(super) fn terms() -> Vec<Term> {
    let triple = Triple::new(
        BlankNode::new_unchecked("b0"),
        iri("http://e/p"),
        Triple::new(
            iri("http://e/s"),
            iri("http://e/p"),
            Literal::new_simple_literal("x"),
        ),
    );
    let tagged = Literal::new_language_tagged_literal_unchecked;
    let directed = Literal::new_directional_language_tagged_literal_unchecked;
    vec![
        iri("http://e/p").into(),
        BlankNode::new_unchecked("b0").into(),
        Literal::new_simple_literal("a\0\n\u{1f600}").into(),
        Literal::new_typed_literal("01", iri("http://www.w3.org/2001/XMLSchema#integer")).into(),
        tagged("a", "en-GB").into(),
        directed("a", "he", BaseDirection::Ltr).into(),
        directed("", "ar", BaseDirection::Rtl).into(),
        triple.into(),
    ]
}

/// An id of the kind of a term; none for strings.
pub(super) fn id_of(term: &Term) -> Option<VertexId> {
    let tag = match term {
        Term::NamedNode(_) => Tag::Iri,
        Term::BlankNode(_) => Tag::Blank,
        Term::Literal(literal) if literal.language().is_none() => return None,
        Term::Literal(_) => Tag::Literal,
        Term::Triple(_) => Tag::TripleTerm,
    };
    Some(VertexId::new(tag, 300 + term.to_string().len() as u64))
}

pub(super) fn step(action: Action, keep: &[u16]) -> Step {
    Step {
        action,
        keep: keep.iter().copied().map(Slot).collect(),
        estimate: Estimate::default(),
    }
}

/// A plan of two variables and one constant.
pub(super) fn small(steps: Vec<Step>, form: Form) -> Plan {
    Plan {
        variables: vec!["x".to_owned(), "y".to_owned()],
        constants: vec![iri("http://e/p").into()],
        dataset: DatasetClause::default(),
        base: None,
        steps,
        form,
        weight: Weight::Light,
    }
}

const P: Node = Node::Constant(ConstantId(0));

fn slot(number: u16) -> Expression {
    Expression::Slot(Slot(number))
}

fn boxed(number: u16) -> Box<Expression> {
    Box::new(slot(number))
}

/// Appends steps that keep all that there is.
#[derive(Default)]
struct Maker {
    steps: Vec<Step>,
    alive: Vec<Slot>,
}

impl Maker {
    fn add(&mut self, action: Action) {
        match &action {
            Action::Aggregate { keys, .. } => self.alive.clone_from(keys),
            Action::Count { .. } => self.alive.clear(),
            _ => {}
        }
        action.for_each_write(&mut |slot| {
            if !self.alive.contains(&slot) {
                self.alive.push(slot);
            }
        });
        self.alive.sort();
        let number = self.steps.len() as f64;
        self.steps.push(Step {
            action,
            keep: self.alive.clone(),
            estimate: Estimate {
                rows: if self.steps.is_empty() {
                    f64::NAN
                } else {
                    number
                },
                cost_ns: if self.steps.is_empty() {
                    f64::INFINITY
                } else {
                    number / 3.0
                },
                is_sampled: self.steps.len() % 2 == 1,
            },
        });
    }

    fn patterns(&mut self) {
        let expand = |from, predicate, (scope, source), into| Action::Expand {
            from,
            predicate,
            direction: Direction::Out,
            scope,
            into: Slot(into),
            source: Source(source),
        };
        self.add(Action::AllPredicates {
            into: Slot(0),
            source: Source(3),
        });
        self.add(Action::ExpandKeys {
            predicate: Node::Slot(Slot(0)),
            direction: Direction::In,
            scope: Scope::Default,
            into: Slot(1),
            source: Source(4),
        });
        self.add(expand(
            Node::Slot(Slot(1)),
            Node::Slot(Slot(0)),
            (Scope::Default, 0),
            2,
        ));
        self.add(expand(P, P, (Scope::Bind(Slot(3)), 1), 4));
        self.add(expand(P, P, (Scope::Named(Node::Slot(Slot(3))), 300), 300));
        self.add(Action::ExpandPredicates {
            from: Node::Slot(Slot(2)),
            direction: Direction::In,
            into: Slot(5),
            source: Source(5),
        });
        self.add(Action::Never { snapshot: u64::MAX });
        self.add(Action::AllGraphs {
            into: Slot(6),
            source: Source(6),
        });
        self.add(Action::Check {
            subject: Node::Slot(Slot(1)),
            predicate: P,
            object: Node::Slot(Slot(2)),
            from: Direction::In,
            scope: Scope::Named(P),
            source: Source(7),
        });
        let side = |from, direction, (scope, source)| Side {
            from: Slot(from),
            predicate: ConstantId(0),
            direction,
            scope,
            source: Source(source),
        };
        self.add(Action::Intersect {
            sides: [
                side(1, Direction::Out, (Scope::Default, 0)),
                side(2, Direction::In, (Scope::Named(P), 1)),
            ],
            into: Slot(301),
        });
    }

    fn numbers(&mut self) {
        self.add(Action::Same {
            left: Slot(1),
            right: Slot(2),
        });
        self.add(Action::Degree {
            from: Slot(1),
            predicate: ConstantId(0),
            direction: Direction::Out,
            scope: Scope::Default,
            into: vec![Slot(7), Slot(8)],
            source: Source(9),
        });
        let sizes = [Size::Edges, Size::Subjects, Size::Predicates, Size::Objects];
        self.add(Action::Sizes {
            predicate: None,
            scope: Scope::Named(P),
            sizes: sizes.into_iter().zip([9, 10, 11, 12].map(Slot)).collect(),
            keeps_empty: true,
            source: Source(10),
        });
    }

    fn paths(&mut self) {
        let one = || Path::Predicate(ConstantId(0));
        let path = Path::Sequence(vec![
            Path::Inverse(Box::new(one())),
            Path::Alternative(vec![
                Path::ZeroOrMore(Box::new(one())),
                Path::OneOrMore(Box::new(one())),
                Path::ZeroOrOne(Box::new(one())),
            ]),
            Path::Negated {
                forward: Some(vec![ConstantId(0)]),
                backward: None,
            },
        ]);
        self.add(Action::PathSeed {
            path: path.clone(),
            direction: Direction::Out,
            scope: Scope::Default,
            into: Slot(13),
            source: Source(11),
        });
        self.add(Action::PathExpand {
            from: Node::Slot(Slot(13)),
            path: path.clone(),
            direction: Direction::In,
            scope: Scope::Named(P),
            into: Slot(14),
            source: Source(12),
        });
        self.add(Action::PathCheck {
            subject: P,
            path,
            object: Node::Slot(Slot(14)),
            scope: Scope::Default,
            source: Source(13),
        });
    }

    fn terms(&mut self) {
        self.add(Action::Unpack {
            term: Slot(2),
            subject: Slot(15),
            predicate: Slot(16),
            object: Slot(17),
        });
        self.add(Action::Bind {
            expression: expression(),
            into: Slot(18),
        });
        self.add(Action::Filter(Expression::Bound(Slot(18))));
        self.add(Action::Values {
            columns: vec![Slot(19), Slot(20)],
            rows: vec![vec![Some(ConstantId(1)), None], vec![None, None]],
        });
        self.add(Action::Given {
            table: TableId(0),
            columns: vec![Slot(19), Slot(40)],
            keys: vec![Slot(19)],
        });
        self.add(Action::Service {
            endpoint: P,
            silent: true,
            text: "SELECT ?a { ?a ?b ?c }".to_owned(),
            columns: vec![("a".to_owned(), Slot(21))],
        });
    }

    fn blocks(&mut self) {
        let row = Slot(30);
        let modes = [
            Mode::Inner,
            Mode::Left,
            Mode::Semi,
            Mode::Anti,
            Mode::Mark(Slot(29)),
        ];
        for (mode, into) in modes.into_iter().zip((22..).map(Slot)) {
            let gives = matches!(mode, Mode::Inner | Mode::Left);
            let action = Action::Bind {
                expression: slot(1),
                into,
            };
            let keep: &[u16] = if gives { &[into.0, row.0] } else { &[row.0] };
            // A branch without steps ends with what it imports, so it imports nothing.
            let branches = if gives {
                vec![vec![step(action, keep)]]
            } else {
                vec![vec![]; 2]
            };
            self.add(Action::Nested {
                mode,
                branches,
                imports: if gives { vec![Slot(1)] } else { Vec::new() },
                row,
                exports: if gives { vec![into] } else { Vec::new() },
                row_by_row: gives,
            });
        }
        self.add(Action::Probe {
            table: vec![step(
                Action::AllGraphs {
                    into: Slot(6),
                    source: Source::STORE,
                },
                &[6],
            )],
            keys: vec![Slot(6)],
            exports: Vec::new(),
        });
        self.add(Action::Unify {
            into: Slot(1),
            from: Slot(2),
        });
    }

    fn ends(&mut self) {
        self.add(Action::Distinct {
            columns: vec![Slot(1), Slot(18)],
        });
        self.add(Action::Order {
            keys: vec![OrderKey {
                expression: slot(1),
                descending: true,
            }],
            limit: Some(7),
        });
        self.add(Action::Slice {
            offset: 1 << 40,
            limit: None,
        });
        let functions = [
            AggregateFunction::Count,
            AggregateFunction::Sum,
            AggregateFunction::Avg,
            AggregateFunction::Min,
            AggregateFunction::Max,
            AggregateFunction::Sample,
            AggregateFunction::GroupConcat(", ".to_owned()),
        ];
        let aggregate = |(function, into): (AggregateFunction, u16)| {
            let is_count = function == AggregateFunction::Count;
            let aggregate = Aggregate {
                argument: (!is_count).then(|| slot(1)),
                distinct: is_count.then(|| vec![Slot(1), Slot(2)]),
                function,
            };
            (aggregate, Slot(into))
        };
        self.add(Action::Aggregate {
            keys: vec![Slot(1)],
            aggregates: functions.into_iter().zip(40..).map(aggregate).collect(),
        });
        self.add(Action::Count {
            distinct: Some(vec![Slot(1)]),
            into: Slot(0),
        });
    }
}

/// An expression with each form.
fn expression() -> Expression {
    let constant = || Expression::Constant(ConstantId(3));
    let comparisons = [
        Comparison::Equal,
        Comparison::NotEqual,
        Comparison::Less,
        Comparison::LessOrEqual,
        Comparison::Greater,
        Comparison::GreaterOrEqual,
    ];
    let compared = comparisons.map(|it| Expression::Compare(it, boxed(1), Box::new(constant())));
    let operators = [
        Arithmetic::Add,
        Arithmetic::Subtract,
        Arithmetic::Multiply,
        Arithmetic::Divide,
    ];
    let computed = operators.map(|it| Expression::Arithmetic(it, boxed(1), boxed(2)));
    let cast = Function::Cast(crate::expression::Cast::GMonthDay);
    Expression::If(
        Box::new(Expression::And(vec![
            Expression::Or(compared.to_vec()),
            Expression::Not(Box::new(Expression::Bound(Slot(300)))),
            Expression::SameTerm(boxed(1), boxed(2)),
            Expression::In(boxed(1), vec![constant(), slot(2)]),
        ])),
        Box::new(Expression::Coalesce(computed.to_vec())),
        Box::new(Expression::Call(
            Function::Concat,
            vec![
                Expression::Plus(boxed(1)),
                Expression::Minus(boxed(1)),
                Expression::Call(cast, vec![slot(1)]),
                Expression::Call(Function::IsIri, vec![slot(1)]),
            ],
        )),
    )
}

/// The plans, by the names of the files that keep their bytes.
pub(super) fn golden_plans() -> Vec<(&'static str, Plan)> {
    let mut maker = Maker::default();
    maker.patterns();
    maker.numbers();
    maker.paths();
    maker.terms();
    maker.blocks();
    maker.ends();
    let every = Plan {
        variables: (0..302)
            .map(|at| {
                if at < 26 {
                    format!("v{at}")
                } else {
                    ".".to_owned()
                }
            })
            .collect(),
        constants: terms(),
        dataset: DatasetClause {
            graphs: Some((vec![ConstantId(0)], vec![])),
            union_default: true,
        },
        base: Some("http://e/base".to_owned()),
        steps: maker.steps,
        form: Form::Select(vec![Slot(0), Slot(25), Slot(0)]),
        weight: Weight::Heavy,
    };
    let template = TemplateTerm::Triple(Box::new([
        TemplateTerm::Blank(200),
        TemplateTerm::Constant(ConstantId(0)),
        TemplateTerm::Slot(Slot(1)),
    ]));
    let parts = [
        TemplateTerm::Slot(Slot(0)),
        TemplateTerm::Constant(ConstantId(0)),
        template,
    ];
    vec![
        ("select.bin", every),
        ("ask.bin", small(Vec::new(), Form::Ask)),
        (
            "construct.bin",
            small(Vec::new(), Form::Construct(vec![parts])),
        ),
        (
            "describe.bin",
            small(Vec::new(), Form::Describe(vec![P, Node::Slot(Slot(1))])),
        ),
    ]
}

/// The terms of local ids 5, 6, ...
pub(super) fn local_terms() -> Vec<Term> {
    terms().split_off(3)
}

/// Three rows: a stored id, an inline one, unbound cells, local ids in no order.
pub(super) fn golden_rows() -> Vec<(Slot, Vec<VertexId>)> {
    let local = |number| VertexId::new(Tag::QueryLocal, number);
    let inline = rdf::inline::from_integer(-7).expect("it is small");
    vec![
        (
            Slot(2),
            vec![VertexId::new(Tag::Iri, 1), inline, VertexId::UNBOUND],
        ),
        (Slot(300), vec![local(9), VertexId::UNBOUND, local(5)]),
        (Slot(301), vec![local(6), local(9), local(7)]),
    ]
}

/// Expressions as deep as they may be, of each form that nests.
pub(super) fn deepest_expressions() -> Vec<Expression> {
    let end = || Expression::Constant(ConstantId(0));
    let around: [fn(Expression) -> Expression; 7] = [
        |it| Expression::Not(Box::new(it)),
        |it| Expression::And(vec![Expression::Constant(ConstantId(0)), it]),
        |it| {
            Expression::Arithmetic(
                Arithmetic::Add,
                Box::new(it),
                Box::new(Expression::Constant(ConstantId(0))),
            )
        },
        |it| Expression::Call(Function::Str, vec![it]),
        |it| Expression::In(Box::new(Expression::Constant(ConstantId(0))), vec![it]),
        |it| {
            let end = || Box::new(Expression::Constant(ConstantId(0)));
            Expression::If(end(), end(), Box::new(it))
        },
        |it| Expression::Coalesce(vec![it]),
    ];
    let deep = |wrap: &fn(Expression) -> Expression| (1..DEPTH_MAX).fold(end(), |it, _| wrap(it));
    around.iter().map(deep).collect()
}

/// Paths as deep as they may be.
pub(super) fn deepest_paths() -> Vec<Path> {
    let end = || Path::Predicate(ConstantId(0));
    let around: [fn(Path) -> Path; 3] = [
        |it| Path::ZeroOrMore(Box::new(it)),
        |it| Path::Sequence(vec![it, Path::Predicate(ConstantId(0))]),
        |it| Path::Alternative(vec![Path::Predicate(ConstantId(0)), it]),
    ];
    let deep = |wrap: &fn(Path) -> Path| (1..DEPTH_MAX).fold(end(), |it, _| wrap(it));
    around.iter().map(deep).collect()
}

/// Blocks within blocks, as deep as they may be, the innermost with the deepest expression.
pub(super) fn deepest_blocks() -> Vec<Step> {
    let end = || Expression::Constant(ConstantId(0));
    let innermost = (1..DEPTH_MAX - BLOCKS_MAX).fold(end(), |it, _| {
        Expression::Arithmetic(Arithmetic::Add, Box::new(it), Box::new(end()))
    });
    let mut steps = vec![step(Action::Filter(innermost), &[])];
    for _ in 0..BLOCKS_MAX {
        let probe = Action::Probe {
            table: steps,
            keys: Vec::new(),
            exports: Vec::new(),
        };
        steps = vec![step(probe, &[])];
    }
    steps
}
