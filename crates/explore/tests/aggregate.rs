//! `GROUP BY` and the aggregates of SPARQL 1.1 Query section 18.5.1: against maps over random rows,
//! against `spareval`, and at their edges.

use crate::support;

use explore::limits::Unlimited;
use explore::{
    Chunk, Environment, Limits, MemoryBudget, MemoryExceeded, Options, Status, Walk, WalkError,
    prepare,
};
use oxrdf::{NamedNode, Term};
use query::expression::{Arithmetic, Expression};
use query::plan::{
    Action, Aggregate, AggregateFunction, ConstantId, DatasetClause, Estimate, Form, Node, Plan,
    Scope, Slot, Source, Step, Weight,
};
use rdf::{Direction, Lexicon, TermBuffer, VertexId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use store::testing::snapshot_of;
use support::filters::{literal, tagged, text};
use support::{DEFAULT, PlainTerms, Quad, Random, constants};

const ROW: Slot = Slot(0);
pub(crate) const KEY: Slot = Slot(1);
pub(crate) const VALUE: Slot = Slot(2);
pub(crate) const RESULT: Slot = Slot(3);

fn iri(name: &str) -> Term {
    NamedNode::new_unchecked(format!("ex:{name}")).into()
}

/// Rows of two terms, as edges of one subject for each row.
pub(crate) struct Table {
    pub(crate) lexicon: PlainTerms,
    pub(crate) quads: Vec<Quad>,
}

impl Table {
    pub(crate) fn new(rows: &[(Term, Term)]) -> Table {
        let mut lexicon = PlainTerms::default();
        let [key, value] = [iri("key"), iri("value")].map(|term| lexicon.id(&term));
        let mut quads = Vec::new();
        for (number, row) in rows.iter().enumerate() {
            let subject = lexicon.id(&iri(&format!("row{number}")));
            let (one, other) = (lexicon.id(&row.0), lexicon.id(&row.1));
            quads.push((subject, key, one, DEFAULT));
            quads.push((subject, value, other, DEFAULT));
        }
        Table { lexicon, quads }
    }

    /// `?row ex:key ?key ; ex:value ?value`, then the aggregation.
    #[allow(clippy::unused_self, reason = "reads like its kin")]
    pub(crate) fn plan(&self, keep: &[Slot], action: Action, result: &[Slot]) -> Plan {
        let step = |action, keep: &[Slot]| Step {
            action,
            keep: keep.to_vec(),
            estimate: Estimate::default(),
        };
        let scope = Scope::Default;
        let direction = Direction::Out;
        let [key, value] = [0, 1].map(|number| Node::Constant(ConstantId(number)));
        let expand = |predicate, into| Action::Expand {
            from: Node::Slot(ROW),
            predicate,
            direction,
            scope,
            into,
            source: Source::STORE,
        };
        let keys = Action::ExpandKeys {
            predicate: key,
            direction,
            scope,
            into: ROW,
            source: Source::STORE,
        };
        Plan {
            variables: ["row", "key", "value", "result", "other"]
                .map(str::to_owned)
                .to_vec(),
            constants: vec![iri("key"), iri("value"), literal("1", "integer")],
            dataset: DatasetClause::default(),
            base: None,
            steps: vec![
                step(keys, &[ROW]),
                step(expand(key, KEY), &[ROW, KEY]),
                step(expand(value, VALUE), keep),
                step(action, result),
            ],
            form: Form::Select(result.to_vec()),
            weight: Weight::Heavy,
        }
    }

    /// The rows of a plan, as terms of these columns.
    fn rows(
        &self,
        plan: &Plan,
        chunk_rows: usize,
        limits: Limits<'_>,
    ) -> Result<Vec<Vec<Option<Term>>>, WalkError> {
        let ids = constants(plan, &self.lexicon);
        let view = snapshot_of(&self.quads, None);
        let environment = Environment::fixed();
        let prepared = prepare(plan, &ids, &view, limits, &environment)?;
        let options = Options {
            chunk_rows,
            ..Options::default()
        };
        let mut walk = Walk::new(&prepared, &view, &self.lexicon, limits, options);
        let term = |id: VertexId| {
            if let Some(term) = prepared.locals().term(id) {
                return Some(term);
            }
            let mut terms = TermBuffer::new();
            self.lexicon.terms(&[id], &mut terms).expect("a known id");
            terms.get(0).map(oxrdf::TermRef::into_owned)
        };
        let Form::Select(projection) = &plan.form else {
            unreachable!("a SELECT")
        };
        let (mut chunk, mut rows) = (Chunk::new(), Vec::new());
        while walk.next(&mut chunk)? == Status::Rows {
            for row in 0..chunk.rows() as usize {
                let cell = |&slot: &Slot| chunk.column(slot).and_then(|cells| term(cells[row]));
                rows.push(projection.iter().map(cell).collect());
            }
        }
        Ok(rows)
    }

    /// One aggregate for each key.
    pub(crate) fn by_key(
        &self,
        function: &AggregateFunction,
        argument: Option<Expression>,
        distinct: bool,
        chunk_rows: usize,
    ) -> BTreeMap<String, Option<Term>> {
        let aggregate = Aggregate {
            function: function.clone(),
            argument,
            distinct: distinct.then(|| vec![KEY, VALUE]),
        };
        let action = Action::Aggregate {
            keys: vec![KEY],
            aggregates: vec![(aggregate, RESULT)],
        };
        let plan = self.plan(&[KEY, VALUE], action, &[KEY, RESULT]);
        let rows = self
            .rows(&plan, chunk_rows, Limits::none())
            .expect("no limit");
        let pairs = rows.into_iter().map(|mut row| {
            let result = row.pop().expect("two cells");
            (row[0].as_ref().expect("bound").to_string(), result)
        });
        pairs.collect()
    }
}

pub(crate) fn functions() -> Vec<AggregateFunction> {
    vec![
        AggregateFunction::Count,
        AggregateFunction::Sum,
        AggregateFunction::Avg,
        AggregateFunction::Min,
        AggregateFunction::Max,
        AggregateFunction::GroupConcat("|".to_owned()),
        AggregateFunction::Sample,
    ]
}

/// Values that `spareval` keeps as they are written, of one kind each.
pub(crate) fn kinds() -> Vec<Vec<Term>> {
    let typed = |datatype: &str, forms: &[&str]| -> Vec<Term> {
        forms.iter().map(|form| literal(form, datatype)).collect()
    };
    let integers = typed("integer", &["1", "2", "-7", "0", "123456789012345"]);
    let decimals = typed("decimal", &["0.5", "2.25", "-7.5"]);
    let doubles = typed("double", &["0.25", "100", "-2"]);
    let large = typed(
        "integer",
        &["9223372036854775807", "1", "-9223372036854775808"],
    );
    let strings: Vec<Term> = ["a", "b", "", "zz"].map(text).to_vec();
    let tags = vec![tagged("a", "en"), tagged("b", "en")];
    let iris = vec![iri("a"), iri("b")];
    let days = typed(
        "dateTime",
        &["2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z"],
    );
    vec![
        integers.clone(),
        [integers.clone(), decimals.clone()].concat(),
        [integers.clone(), doubles.clone()].concat(),
        [decimals, doubles].concat(),
        large,
        strings,
        tags,
        iris.clone(),
        days,
        [integers, iris].concat(),
    ]
}

pub(crate) fn random_rows(random: &mut Random, values: &[Term], count: usize) -> Vec<(Term, Term)> {
    let row = |_| {
        let key = iri(&format!("k{}", random.below(3)));
        (key, values[random.below(values.len())].clone())
    };
    (0..count).map(row).collect()
}

fn peer_text(function: &AggregateFunction, distinct: bool, argument: &str) -> String {
    let distinct = if distinct { "DISTINCT " } else { "" };
    let name = match function {
        AggregateFunction::Count => "COUNT",
        AggregateFunction::Sum => "SUM",
        AggregateFunction::Avg => "AVG",
        AggregateFunction::Min => "MIN",
        AggregateFunction::Max => "MAX",
        AggregateFunction::Sample => "SAMPLE",
        AggregateFunction::GroupConcat(_) => {
            // It takes strings only.
            return format!("GROUP_CONCAT({distinct}STR({argument}); SEPARATOR='|')");
        }
    };
    format!("{name}({distinct}{argument})")
}

fn peer(table: &Table, query: &str) -> BTreeMap<String, Option<Term>> {
    use spareval::{QueryEvaluator, QueryResults};
    let mut dataset = oxrdf::Dataset::new();
    let term = |id: VertexId| {
        let mut terms = TermBuffer::new();
        table.lexicon.terms(&[id], &mut terms).expect("known");
        terms.get(0).expect("bound").into_owned()
    };
    for &(s, p, o, _) in &table.quads {
        let (Term::NamedNode(s), Term::NamedNode(p)) = (term(s), term(p)) else {
            unreachable!("IRIs")
        };
        let graph = oxrdf::GraphName::DefaultGraph;
        dataset.insert(&oxrdf::Quad::new(s, p, term(o), graph));
    }
    let parsed = spargebra::SparqlParser::new()
        .parse_query(query)
        .expect("it parses");
    let results = QueryEvaluator::new().prepare(&parsed).execute(&dataset);
    let Ok(QueryResults::Solutions(solutions)) = results else {
        unreachable!("a SELECT")
    };
    solutions
        .map(|row| {
            let row = row.expect("a solution");
            let key = row.get("key").expect("bound").to_string();
            (key, row.get("result").cloned())
        })
        .collect()
}

/// The parts of a text in order, because groups are bags.
fn sorted(term: Option<Term>, function: &AggregateFunction) -> Option<Term> {
    match (&term, function) {
        (Some(Term::Literal(literal)), AggregateFunction::GroupConcat(_)) => {
            let mut parts: Vec<&str> = literal.value().split('|').collect();
            parts.sort_unstable();
            // It keeps a language that all parts have; section 18.5.1.7 gives a simple literal.
            Some(text(&parts.join("|")))
        }
        _ => term,
    }
}

#[test]
fn spareval_agrees() {
    for seed in 0..40 {
        let mut random = Random::new(seed);
        for values in kinds() {
            let count = random.below(30);
            let table = Table::new(&random_rows(&mut random, &values, count));
            for function in functions() {
                if function == AggregateFunction::Sample {
                    continue;
                }
                for distinct in [false, true] {
                    let call = peer_text(&function, distinct, "?value");
                    let query = format!(
                        "SELECT ?key ({call} AS ?result) {{ ?row <ex:key> ?key ; <ex:value> ?value }} GROUP BY ?key"
                    );
                    let expected: BTreeMap<_, _> = peer(&table, &query)
                        .into_iter()
                        .map(|(key, term)| (key, sorted(term, &function)))
                        .collect();
                    for chunk_rows in [1, 3, 1024] {
                        let argument = Some(Expression::Slot(VALUE));
                        let found = table.by_key(&function, argument, distinct, chunk_rows);
                        let found: BTreeMap<_, _> = found
                            .into_iter()
                            .map(|(key, term)| (key, sorted(term, &function)))
                            .collect();
                        // Its sums are bounded and its quotients cut; the oracle of exact rationals has those.
                        let is_other = match function {
                            AggregateFunction::Avg => true,
                            AggregateFunction::Sum => {
                                values.iter().any(|one| one.to_string().contains("9223"))
                            }
                            _ => false,
                        };
                        if !is_other {
                            assert_eq!(found, expected, "seed {seed}: {query}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn samples_are_members() {
    let mut random = Random::new(7);
    for values in kinds() {
        let rows = random_rows(&mut random, &values, 25);
        let table = Table::new(&rows);
        for distinct in [false, true] {
            let argument = Some(Expression::Slot(VALUE));
            let found = table.by_key(&AggregateFunction::Sample, argument, distinct, 2);
            assert!(!found.is_empty());
            for (key, sample) in found {
                let sample = sample.expect("no error is among the values");
                let mut members = rows.iter().filter(|row| row.0.to_string() == key);
                assert!(members.any(|row| row.1 == sample), "{key} {sample}");
            }
        }
    }
}

/// `?value + 1`: an error for what is no number.
fn plus_one() -> Expression {
    Expression::Arithmetic(
        Arithmetic::Add,
        Box::new(Expression::Slot(VALUE)),
        Box::new(Expression::Constant(ConstantId(2))),
    )
}

#[test]
fn group_concat_joins_the_text_of_every_value() {
    let blank = Term::BlankNode(oxrdf::BlankNode::new_unchecked("b"));
    let table = Table::new(&[
        (iri("number"), literal("007", "integer")),
        (iri("inline"), literal("7", "integer")),
        (iri("iri"), iri("a")),
        (iri("tagged"), tagged("x", "en")),
        (iri("other"), literal("y", "language")),
        (iri("date"), literal("2020-01-01", "date")),
        (iri("blank"), blank),
        (iri("two"), text("z")),
        (iri("two"), literal("1.5", "decimal")),
    ]);
    let concat = AggregateFunction::GroupConcat("|".to_owned());
    let found = table.by_key(&concat, Some(Expression::Slot(VALUE)), false, 1024);
    let found = |key: &str| sorted(found[&iri(key).to_string()].clone(), &concat);
    for (key, expected) in [
        ("number", "007"),
        ("inline", "7"),
        ("tagged", "x"),
        ("other", "y"),
        ("date", "2020-01-01"),
        ("two", "1.5|z"),
    ] {
        assert_eq!(found(key), Some(text(expected)), "{key}");
    }
    let Term::NamedNode(name) = iri("a") else {
        unreachable!("an IRI")
    };
    assert_eq!(found("iri"), Some(text(name.as_str())));
    assert_eq!(found("blank"), None);
}

/// Errors among the values: `COUNT` and `SAMPLE` skip them, the others become one.
#[test]
fn errors_are_what_section_18_5_1_says() {
    let rows = [
        ("clean", literal("1", "integer")),
        ("clean", literal("4", "integer")),
        ("mixed", text("x")),
        ("mixed", literal("4", "integer")),
        ("bad", text("x")),
    ];
    let rows: Vec<(Term, Term)> = rows
        .into_iter()
        .map(|(key, value)| (iri(key), value))
        .collect();
    let table = Table::new(&rows);
    let integer = |value: &str| Some(literal(value, "integer"));
    let cases = [
        (
            AggregateFunction::Count,
            [integer("2"), integer("1"), integer("0")],
        ),
        (AggregateFunction::Sum, [integer("7"), None, None]),
        (
            AggregateFunction::Avg,
            [Some(literal("3.5", "decimal")), None, None],
        ),
        (AggregateFunction::Min, [integer("2"), None, None]),
        (AggregateFunction::Max, [integer("5"), None, None]),
        (
            AggregateFunction::GroupConcat(" ".to_owned()),
            [Some(text("2 5")), None, None],
        ),
    ];
    for (function, expected) in cases {
        for distinct in [false, true] {
            for chunk_rows in [1, 1024] {
                let found = table.by_key(&function, Some(plus_one()), distinct, chunk_rows);
                for (key, expected) in ["clean", "mixed", "bad"].into_iter().zip(&expected) {
                    let found = &found[&iri(key).to_string()];
                    assert_eq!(found, expected, "{function:?} of {key}");
                }
            }
        }
    }
    let samples = table.by_key(&AggregateFunction::Sample, Some(plus_one()), false, 1024);
    assert_eq!(samples[&iri("mixed").to_string()], integer("5"));
    assert_eq!(samples[&iri("bad").to_string()], None);
}

#[test]
fn sums_are_exact_beyond_64_bits() {
    let key = || iri("k");
    let large = || literal("9223372036854775807", "integer");
    let least = || literal("-9223372036854775808", "integer");
    let table = Table::new(&[(key(), large()), (key(), large()), (key(), least())]);
    let argument = || Some(Expression::Slot(VALUE));
    let found = table.by_key(&AggregateFunction::Sum, argument(), false, 1024);
    assert_eq!(
        found[&key().to_string()],
        Some(literal("9223372036854775806", "integer"))
    );
    let table = Table::new(&[(key(), large()), (key(), large())]);
    let found = table.by_key(&AggregateFunction::Sum, argument(), false, 1024);
    assert_eq!(
        found[&key().to_string()],
        Some(literal("18446744073709551614", "integer"))
    );
}

#[test]
fn no_rows_are_one_group_without_keys_and_none_with() {
    let table = Table::new(&[]);
    let aggregates: Vec<(Aggregate, Slot)> = (3..)
        .zip(functions())
        .map(|(slot, function)| {
            let argument = Some(Expression::Slot(VALUE));
            let distinct = None;
            let aggregate = Aggregate {
                function,
                argument,
                distinct,
            };
            (aggregate, Slot(slot))
        })
        .collect();
    let slots: Vec<Slot> = aggregates.iter().map(|(_, slot)| *slot).collect();
    let with_keys = |keys: Vec<Slot>| {
        let action = Action::Aggregate {
            keys,
            aggregates: aggregates.clone(),
        };
        let mut plan = table.plan(&[KEY, VALUE], action, &slots);
        plan.variables = (0..10).map(|slot| format!("v{slot}")).collect();
        table.rows(&plan, 1024, Limits::none()).expect("no limit")
    };
    assert!(with_keys(vec![KEY]).is_empty());
    let zero = || Some(literal("0", "integer"));
    let expected = vec![zero(), zero(), zero(), None, None, Some(text("")), None];
    assert_eq!(with_keys(Vec::new()), vec![expected]);
}

/// Rows without columns are counted, not looked at; what is computed of each is computed for each.
#[test]
fn a_mere_count_is_one_group() {
    let rows: Vec<(Term, Term)> = (0..3000).map(|_| (iri("k"), text("v"))).collect();
    let table = Table::new(&rows);
    let one = || Some(Expression::Constant(ConstantId(2)));
    let aggregate = |function, argument, distinct| Aggregate {
        function,
        argument,
        distinct,
    };
    let result = |aggregates: Vec<Aggregate>| {
        let aggregates: Vec<_> = aggregates.into_iter().zip([RESULT, Slot(4)]).collect();
        let slots: Vec<Slot> = aggregates.iter().map(|(_, slot)| *slot).collect();
        let keys = Vec::new();
        let plan = table.plan(&[], Action::Aggregate { keys, aggregates }, &slots);
        let rows = table.rows(&plan, 1024, Limits::none()).expect("no limit");
        assert_eq!(rows.len(), 1);
        rows.into_iter().flatten().collect::<Vec<_>>()
    };
    let integer = |value: &str| Some(literal(value, "integer"));
    let count = || aggregate(AggregateFunction::Count, None, None);
    let distinct = || aggregate(AggregateFunction::Count, None, Some(Vec::new()));
    assert_eq!(
        result(vec![count(), distinct()]),
        [integer("3000"), integer("1")]
    );
    let sum = aggregate(AggregateFunction::Sum, one(), None);
    assert_eq!(
        result(vec![count(), sum]),
        [integer("3000"), integer("3000")]
    );
    let sum = aggregate(AggregateFunction::Sum, one(), Some(Vec::new()));
    assert_eq!(result(vec![sum]), [integer("1")]);
}

/// Many groups, several aggregates, keys of two columns, an unneeded aggregate.
#[test]
fn many_groups_are_what_maps_say() {
    let mut random = Random::new(11);
    let mut rows = Vec::new();
    for _ in 0..20_000 {
        let key = iri(&format!("k{}", random.below(7000)));
        let value = literal(&random.below(20).to_string(), "integer");
        rows.push((key, value));
    }
    let table = Table::new(&rows);
    let mut expected: BTreeMap<String, (i64, BTreeSet<String>, i64)> = BTreeMap::new();
    for (key, value) in &rows {
        let Term::Literal(literal) = value else {
            unreachable!("a number")
        };
        let number: i64 = literal.value().parse().expect("a number");
        let group = expected.entry(key.to_string()).or_default();
        group.0 += 1;
        group.1.insert(value.to_string());
        group.2 += number;
    }
    let argument = || Some(Expression::Slot(VALUE));
    let number = |term: &Option<Term>| match term {
        Some(Term::Literal(literal)) => literal.value().parse::<i64>().expect("a number"),
        other => unreachable!("{other:?}"),
    };
    let found = |function, argument, distinct| table.by_key(&function, argument, distinct, 512);
    let counts = found(AggregateFunction::Count, None, false);
    let values = found(AggregateFunction::Count, argument(), true);
    let sums = found(AggregateFunction::Sum, argument(), false);
    let rows = found(AggregateFunction::Count, None, true);
    assert_eq!(counts.len(), expected.len());
    for (key, (count, distinct, sum)) in expected {
        assert_eq!(number(&counts[&key]), count);
        assert_eq!(number(&values[&key]), distinct.len() as i64);
        assert_eq!(number(&rows[&key]), distinct.len() as i64);
        assert_eq!(number(&sums[&key]), sum);
    }
    let count = Aggregate {
        function: AggregateFunction::Count,
        argument: None,
        distinct: None,
    };
    let action = Action::Aggregate {
        keys: vec![KEY, VALUE],
        aggregates: vec![(count, RESULT)],
    };
    let plan = table.plan(&[KEY, VALUE], action, &[KEY, VALUE]);
    let pairs = table.rows(&plan, 512, Limits::none()).expect("no limit");
    let distinct: BTreeSet<String> = pairs.iter().map(|row| format!("{row:?}")).collect();
    assert_eq!(distinct.len(), pairs.len());
    let total: usize = rows_of(&values).sum();
    assert_eq!(pairs.len(), total);
}

fn rows_of(counts: &BTreeMap<String, Option<Term>>) -> impl Iterator<Item = usize> {
    counts.values().map(|count| match count {
        Some(Term::Literal(literal)) => literal.value().parse().expect("a number"),
        other => unreachable!("{other:?}"),
    })
}

struct Budget {
    limit_bytes: u64,
    used: AtomicU64,
}

impl MemoryBudget for Budget {
    fn try_reserve(&self, bytes: u64) -> Result<(), MemoryExceeded> {
        let used_bytes = self.used.load(Ordering::Relaxed);
        if used_bytes + bytes > self.limit_bytes {
            return Err(MemoryExceeded {
                limit_bytes: self.limit_bytes,
                used_bytes,
                of_all: false,
            });
        }
        self.used.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    fn release(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

#[test]
fn groups_keep_to_the_budget() {
    let rows: Vec<(Term, Term)> = (0..10_000)
        .map(|n| (iri(&format!("k{n}")), text(&format!("some text {n}"))))
        .collect();
    let table = Table::new(&rows);
    for (keys, function, distinct) in [
        (vec![KEY], AggregateFunction::Count, false),
        (vec![], AggregateFunction::Count, true),
        (
            vec![],
            AggregateFunction::GroupConcat(" ".to_owned()),
            false,
        ),
    ] {
        let result = |limit_bytes| {
            let aggregate = Aggregate {
                function: function.clone(),
                argument: Some(Expression::Slot(VALUE)),
                distinct: distinct.then(Vec::new),
            };
            let aggregates = vec![(aggregate, RESULT)];
            let keys = keys.clone();
            let action = Action::Aggregate { keys, aggregates };
            let plan = table.plan(&[KEY, VALUE], action, &[RESULT]);
            let budget = Budget {
                limit_bytes,
                used: AtomicU64::new(0),
            };
            let (memory, stop) = (&budget, &Unlimited);
            let rows = table.rows(&plan, 256, Limits { memory, stop });
            assert_eq!(budget.used.load(Ordering::Relaxed), 0, "all is given back");
            rows
        };
        assert!(result(4 << 20).is_ok(), "{function:?}");
        let refused = result(100 << 10);
        assert!(
            matches!(refused, Err(WalkError::OutOfMemory { .. })),
            "{function:?}: {refused:?}"
        );
    }
}

#[test]
fn a_text_that_is_too_long_ends_the_query() {
    let long = "x".repeat(9 << 20);
    let table = Table::new(&[
        (iri("k"), text(&long)),
        (iri("k"), text(&format!("{long}y"))),
    ]);
    let aggregate = Aggregate {
        function: AggregateFunction::GroupConcat(" ".to_owned()),
        argument: Some(Expression::Slot(VALUE)),
        distinct: None,
    };
    let action = Action::Aggregate {
        keys: vec![KEY],
        aggregates: vec![(aggregate, RESULT)],
    };
    let plan = table.plan(&[KEY, VALUE], action, &[KEY, RESULT]);
    let rows = table.rows(&plan, 1024, Limits::none());
    assert!(matches!(rows, Err(WalkError::StringTooLong { .. })));
}
