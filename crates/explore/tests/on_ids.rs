//! Filters that ids decide keep the rows that a walk keeps: random filters over random columns of few kinds of terms.

use crate::support::{PlainTerms, constants};
use explore::{Chunk, Environment, IdCondition, Limits, Options, Status, TagSet, Walk, prepare};
use oxrdf::vocab::xsd;
use oxrdf::{BlankNode, Literal, NamedNode, Term, Triple};
use query::expression::{Comparison, Expression, Function};
use query::plan::{Action, ConstantId, DatasetClause, Estimate, Form, Plan, Slot, Step, Weight};
use rdf::VertexId;
use store::testing::snapshot_of;
use testkit::random::Random;
use testkit::seeds;

const SEEDS: u64 = 3000;
const LONG: u64 = 300_000;
const ROWS: usize = 24;

/// Terms of one kind each.
fn kinds() -> Vec<Vec<Term>> {
    let iri = |name: &str| Term::from(NamedNode::new_unchecked(format!("http://e/{name}")));
    let typed = |text: &str, datatype| Term::from(Literal::new_typed_literal(text, datatype));
    let integers = (-3..6).map(|number: i64| Term::from(Literal::from(number)));
    let triple = Triple::new(
        NamedNode::new_unchecked("http://e/a"),
        NamedNode::new_unchecked("http://e/b"),
        NamedNode::new_unchecked("http://e/c"),
    );
    vec![
        vec![iri("a"), iri("b"), iri("c"), iri("d")],
        ["x", "y"]
            .map(|name| BlankNode::new_unchecked(name).into())
            .to_vec(),
        integers.collect(),
        vec![
            Literal::new_simple_literal("a").into(),
            Literal::new_simple_literal("3").into(),
            Literal::new_language_tagged_literal_unchecked("a", "en").into(),
            typed("3", xsd::INT),
            typed("03", xsd::INTEGER),
            typed("7", NamedNode::new_unchecked("http://e/type").as_ref()),
        ],
        vec![typed("1.5", xsd::DECIMAL), typed("2.0", xsd::DECIMAL)],
        vec![typed("2.0E0", xsd::DOUBLE)],
        vec![typed("true", xsd::BOOLEAN), typed("false", xsd::BOOLEAN)],
        vec![typed("2020-01-01", xsd::DATE)],
        vec![triple.into()],
    ]
}

/// What expressions are made of.
struct Maker<'r> {
    random: &'r mut Random,
    constants: Vec<Term>,
    pool: Vec<Term>,
}

impl Maker<'_> {
    fn slot(&mut self) -> Expression {
        Expression::Slot(Slot(self.random.below(2) as u16))
    }

    fn constant(&mut self) -> Expression {
        let term = match self.random.below(6) {
            // Stored nowhere, and beyond what an id holds.
            0 => NamedNode::new_unchecked("http://e/nowhere").into(),
            1 => Literal::new_typed_literal("9223372036854775807", xsd::INTEGER).into(),
            2 | 3 => Literal::from(self.random.below(8) as i64 - 3).into(),
            _ => self.random.pick(&self.pool).clone(),
        };
        self.constants.push(term);
        Expression::Constant(ConstantId(self.constants.len() as u32 - 1))
    }

    fn operand(&mut self) -> Expression {
        if self.random.chance(50) {
            self.slot()
        } else {
            self.constant()
        }
    }

    fn condition(&mut self, depth: usize) -> Expression {
        let both = |maker: &mut Self| (0..2).map(|_| maker.condition(depth - 1)).collect();
        match self.random.below(if depth == 0 { 8 } else { 14 }) {
            0..4 => {
                let comparison = *self.random.pick(&[
                    Comparison::Equal,
                    Comparison::NotEqual,
                    Comparison::Less,
                    Comparison::LessOrEqual,
                    Comparison::Greater,
                    Comparison::GreaterOrEqual,
                ]);
                let (left, right) = (self.slot(), self.operand());
                let (left, right) = (Box::new(left), Box::new(right));
                if self.random.chance(50) {
                    Expression::Compare(comparison, left, right)
                } else {
                    Expression::Compare(comparison, right, left)
                }
            }
            4 => Expression::SameTerm(Box::new(self.slot()), Box::new(self.operand())),
            5 => {
                let count = self.random.between(1, 4);
                let needle = Box::new(self.slot());
                Expression::In(needle, (0..count).map(|_| self.constant()).collect())
            }
            6 => Expression::Bound(Slot(self.random.below(2) as u16)),
            7 => {
                let tests = [
                    Function::IsIri,
                    Function::IsBlank,
                    Function::IsLiteral,
                    Function::IsTriple,
                ];
                let test = *self.random.pick(&tests);
                Expression::Call(test, vec![self.slot()])
            }
            8..11 => Expression::Not(Box::new(self.condition(depth - 1))),
            11 => Expression::Or(both(self)),
            _ => Expression::And(both(self)),
        }
    }
}

/// Rows of two columns and their number, of which a filter keeps some.
fn plan(rows: &[[usize; 2]], constants: Vec<Term>, filter: Expression) -> Plan {
    let columns = vec![Slot(0), Slot(1), Slot(2)];
    let numbers = constants.len() - rows.len();
    let cell = |at: usize| Some(ConstantId(at as u32));
    let row =
        |(at, row): (usize, &[usize; 2])| vec![cell(row[0]), cell(row[1]), cell(numbers + at)];
    let step = |action| Step {
        action,
        keep: columns.clone(),
        estimate: Estimate::default(),
    };
    Plan {
        variables: ["a", "b", "number"].map(str::to_owned).to_vec(),
        steps: vec![
            step(Action::Values {
                columns: columns.clone(),
                rows: rows.iter().enumerate().map(row).collect(),
            }),
            step(Action::Filter(filter)),
        ],
        constants,
        dataset: DatasetClause::default(),
        base: None,
        form: Form::Select(columns.clone()),
        weight: Weight::Light,
    }
}

fn holds(condition: &IdCondition, row: &[VertexId; 2]) -> bool {
    let id = |slot: Slot| row[slot.0 as usize];
    match *condition {
        IdCondition::Within {
            slot,
            first,
            last,
            is_in,
        } => (id(slot) >= first && id(slot) <= last) == is_in,
        IdCondition::Same {
            left,
            right,
            are_same,
        } => (id(left) == id(right)) == are_same,
    }
}

/// The rows that a walk of the plan keeps, by their numbers.
fn kept(
    prepared: &explore::Prepared<'_>,
    view: &store::Snapshot,
    lexicon: &PlainTerms,
) -> Vec<i64> {
    let mut walk = Walk::new(prepared, view, lexicon, Limits::none(), Options::default());
    let (mut chunk, mut kept) = (Chunk::new(), Vec::new());
    while walk.next(&mut chunk).expect("no limit") == Status::Rows {
        let numbers = chunk.column(Slot(2)).expect("it is kept");
        kept.extend(
            numbers
                .iter()
                .map(|id| rdf::inline::integer(*id).expect("a number")),
        );
    }
    kept.sort_unstable();
    kept
}

#[test]
fn what_ids_decide_is_what_a_walk_decides() {
    let kinds = kinds();
    let (mut decided, mut some, mut all) = (0, 0, 0);
    for seed in seeds::chosen(SEEDS, LONG) {
        let mut random = Random::new(seed);
        let count = random.between(1, 4);
        let pool: Vec<Term> = (0..count)
            .flat_map(|_| random.pick(&kinds).clone())
            .collect();
        let rows: Vec<[usize; 2]> = (0..ROWS)
            .map(|_| [(); 2].map(|()| random.below(pool.len())))
            .collect();
        let mut maker = Maker {
            random: &mut random,
            constants: pool.clone(),
            pool: pool.clone(),
        };
        let filter = maker.condition(3);
        let mut terms = maker.constants;
        terms.extend((0..ROWS as i64).map(|number| Term::from(Literal::from(number))));
        let plan = plan(&rows, terms, filter);
        let mut lexicon = PlainTerms::default();
        for term in &pool {
            lexicon.id(term);
        }
        let ids = constants(&plan, &lexicon);
        let view = snapshot_of(&[], None);
        let environment = Environment::fixed();
        let prepared = prepare(&plan, &ids, &view, Limits::none(), &environment);
        let prepared = prepared.expect("no limit");
        let rows: Vec<[VertexId; 2]> = rows
            .iter()
            .map(|row| row.map(|place| prepared.ids()[place]))
            .collect();
        let tags = |slot: Slot| {
            let cells = rows.iter().map(|row| row[usize::from(slot.0 == 1)]);
            let own = cells.map(|id| TagSet::between(id, id));
            own.fold(TagSet::NONE, TagSet::with)
        };
        all += 1;
        let Some(conditions) = prepared.on_ids(1, &tags) else {
            continue;
        };
        decided += 1;
        let by_ids = (0i64..).zip(&rows);
        let by_ids =
            by_ids.filter(|(_, row)| conditions.iter().all(|condition| holds(condition, row)));
        let by_ids: Vec<i64> = by_ids.map(|(number, _)| number).collect();
        some += usize::from(!by_ids.is_empty() && by_ids.len() < ROWS);
        let by_walk = kept(&prepared, &view, &lexicon);
        assert_eq!(
            by_ids, by_walk,
            "seed {seed}: {:?} as {conditions:?}",
            plan.steps[1].action
        );
    }
    eprintln!("{decided} of {all} filters, {some} of which keep some rows");
    assert!(all < SEEDS as usize || (decided > all / 5 && some > all / 20));
}
