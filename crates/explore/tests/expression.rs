//! Expressions against `spareval`: random ones over random terms. Where the specification is followed
//! instead: `specification.rs`.
//!
//! Every case goes through a plan: rows whose columns hold the terms and what is expected of each
//! row, a filter that compares. So the cheap forms, the fetch of text and the batches are met too.

use crate::support;

use explore::WalkError;
use oxrdf::{Literal, NamedNode, Term};
use query::expression::{Arithmetic, Comparison, Expression, Function};
use query::plan::{ConstantId, Slot};
use spargebra::algebra::{Expression as Peer, Function as PeerFunction};
use support::Random;
use support::filters::{iri, kept_rows, literal, tagged, text};
use support::peer::{peer_term, peer_values, variable};

/// Columns that hold terms.
const COLUMNS: usize = 3;
/// Rows of a case.
const ROWS: usize = 12;
/// Random cases.
const CASES: u64 = 2500;

/// Terms whose form is canonical, so that the peer, which keeps values only, gives them back. Moments
/// have a timezone: where one has not, the peer differs (see `functions.rs`).
fn canonical_terms() -> Vec<Term> {
    let mut terms = vec![
        iri("http://example.com/a"),
        iri("http://example.com/b c"),
        text(""),
        text("abc"),
        text("b"),
        text("ABC"),
        text("12"),
        text("l\u{e9}gume \u{1f955}z"),
        text("en-GB"),
        text("*"),
        tagged("abc", "en"),
        tagged("abc", "en-scouse"),
        tagged("bcd", "en"),
        tagged("", "fr"),
        Literal::new_typed_literal("x", NamedNode::new_unchecked("http://example.com/t")).into(),
        Literal::new_typed_literal("y", NamedNode::new_unchecked("http://example.com/t")).into(),
        literal("x", "integer"),
    ];
    let typed = [
        ("integer", &["0", "1", "2", "-3", "12"][..]),
        ("decimal", &["0.5", "1.5", "-2.5", "100000.25"]),
        ("double", &["0.1", "-3.5", "1000000"]),
        ("float", &["0.5", "-2.5", "3.25"]),
        (
            "dateTime",
            &[
                "2020-01-31T10:11:12.5Z",
                "2020-01-31T10:11:12Z",
                "1999-12-31T23:59:59+02:00",
            ],
        ),
        ("date", &["2020-01-31Z", "2019-02-28Z"]),
        ("time", &["10:11:12Z", "23:00:00Z"]),
        ("duration", &["P1Y2M3DT4H", "P1D"]),
        ("yearMonthDuration", &["P1Y", "-P2M"]),
        ("dayTimeDuration", &["P1D", "PT1M30S"]),
    ];
    for (datatype, forms) in typed {
        terms.extend(forms.iter().map(|form| literal(form, datatype)));
    }
    terms
}

/// Terms of other forms and of derived types, for operators that look at values only.
fn odd_terms() -> Vec<Term> {
    vec![
        literal("01", "integer"),
        literal("+5", "integer"),
        literal("1.50", "decimal"),
        literal(".5", "decimal"),
        literal("1e0", "double"),
        literal("1.0E2", "double"),
        literal("12", "int"),
        literal("255", "unsignedByte"),
        literal("-1", "nonPositiveInteger"),
        literal("2020-01-31T10:11:12.500Z", "dateTime"),
        literal("2020-01-31T24:00:00Z", "dateTime"),
        literal("not a date", "date"),
    ]
}

/// Builds an expression for both.
struct Generator<'r> {
    random: &'r mut Random,
    constants: Vec<Term>,
    /// Only operators that look at values.
    values_only: bool,
}

type Pair = (Expression, Peer);

impl Generator<'_> {
    fn leaf(&mut self) -> Pair {
        if self.random.chance(70) {
            let slot = self.random.below(COLUMNS);
            (
                Expression::Slot(Slot(slot as u16)),
                Peer::Variable(variable(slot)),
            )
        } else {
            let at = self.random.below(self.constants.len());
            (
                Expression::Constant(ConstantId(at as u32)),
                peer_term(&self.constants[at]),
            )
        }
    }

    fn constant(&mut self, term: Term) -> Pair {
        let peer = peer_term(&term);
        self.constants.push(term);
        (
            Expression::Constant(ConstantId(self.constants.len() as u32 - 1)),
            peer,
        )
    }

    /// An expression whose value is no boolean.
    fn value(&mut self, depth: usize) -> Pair {
        if depth == 0 || self.random.chance(20) {
            return self.leaf();
        }
        let below = if self.values_only { 5 } else { 8 };
        match self.random.below(below) {
            0 | 1 => self.arithmetic(depth),
            2 => {
                let (test, yes, no) = (
                    self.condition(depth - 1),
                    self.value(depth - 1),
                    self.value(depth - 1),
                );
                (
                    Expression::If(Box::new(test.0), Box::new(yes.0), Box::new(no.0)),
                    Peer::If(Box::new(test.1), Box::new(yes.1), Box::new(no.1)),
                )
            }
            3 => {
                let all = [self.value(depth - 1), self.value(depth - 1)];
                let (ours, peers) = all.into_iter().unzip();
                (Expression::Coalesce(ours), Peer::Coalesce(peers))
            }
            4 => self.number_function(depth),
            _ => self.text_function(depth),
        }
    }

    fn arithmetic(&mut self, depth: usize) -> Pair {
        let (left, right) = (self.value(depth - 1), self.value(depth - 1));
        let (ours, peers) = (
            (Box::new(left.0), Box::new(right.0)),
            (Box::new(left.1), Box::new(right.1)),
        );
        let operators = [
            (
                Arithmetic::Add,
                Peer::Add as fn(Box<Peer>, Box<Peer>) -> Peer,
            ),
            (Arithmetic::Subtract, Peer::Subtract),
            (Arithmetic::Multiply, Peer::Multiply),
        ];
        // No quotients: the peer cuts them (`somersault/tests/numbers.rs` has them).
        match self.random.below(5) {
            3 => (Expression::Minus(ours.0), Peer::UnaryMinus(peers.0)),
            4 => (Expression::Plus(ours.0), Peer::UnaryPlus(peers.0)),
            operator => {
                let (our, peer) = operators[operator];
                (
                    Expression::Arithmetic(our, ours.0, ours.1),
                    peer(peers.0, peers.1),
                )
            }
        }
    }

    fn call(functions: (Function, PeerFunction), arguments: Vec<Pair>) -> Pair {
        let (ours, peers) = arguments.into_iter().unzip();
        (
            Expression::Call(functions.0, ours),
            Peer::FunctionCall(functions.1, peers),
        )
    }

    fn number_function(&mut self, depth: usize) -> Pair {
        let functions = [
            (Function::Abs, PeerFunction::Abs),
            (Function::Round, PeerFunction::Round),
            (Function::Ceil, PeerFunction::Ceil),
            (Function::Floor, PeerFunction::Floor),
            (Function::Year, PeerFunction::Year),
            (Function::Month, PeerFunction::Month),
            (Function::Day, PeerFunction::Day),
            (Function::Hours, PeerFunction::Hours),
            (Function::Minutes, PeerFunction::Minutes),
            (Function::Seconds, PeerFunction::Seconds),
        ];
        let function = functions[self.random.below(functions.len())].clone();
        let argument = self.value(depth - 1);
        Self::call(function, vec![argument])
    }

    fn text_function(&mut self, depth: usize) -> Pair {
        let unary = [
            (Function::Str, PeerFunction::Str),
            (Function::Lang, PeerFunction::Lang),
            (Function::Datatype, PeerFunction::Datatype),
            (Function::StrLen, PeerFunction::StrLen),
            (Function::UCase, PeerFunction::UCase),
            (Function::LCase, PeerFunction::LCase),
            (Function::EncodeForUri, PeerFunction::EncodeForUri),
        ];
        let binary = [
            (Function::StrBefore, PeerFunction::StrBefore),
            (Function::StrAfter, PeerFunction::StrAfter),
            (Function::Concat, PeerFunction::Concat),
        ];
        match self.random.below(12) {
            choice @ 0..7 => {
                let argument = self.value(depth - 1);
                Self::call(unary[choice].clone(), vec![argument])
            }
            choice @ 7..10 => {
                let arguments = vec![self.value(depth - 1), self.value(depth - 1)];
                Self::call(binary[choice - 7].clone(), arguments)
            }
            10 => {
                let mut arguments = vec![self.value(depth - 1)];
                for _ in 0..=self.random.below(2) {
                    let number = self.random.below(8) as i64 - 2;
                    arguments.push(self.constant(Literal::from(number).into()));
                }
                Self::call((Function::SubStr, PeerFunction::SubStr), arguments)
            }
            _ => {
                let replacements = ["", "-", "[$1]", "$0$0"];
                let mut arguments = vec![self.value(depth - 1)];
                let (pattern, _) = self.pattern();
                arguments.push(pattern);
                let replacement = replacements[self.random.below(replacements.len())];
                arguments.push(self.constant(text(replacement)));
                Self::call((Function::Replace, PeerFunction::Replace), arguments)
            }
        }
    }

    /// A pattern that does not match the empty string, and flags.
    fn pattern(&mut self) -> (Pair, Pair) {
        let patterns = ["a", "(b|c)", "[a-z]+", "(.)b", "x\\(", "z$", "^AB", "\\d"];
        let flags = ["", "i", "s", "q", "im"];
        let pattern = patterns[self.random.below(patterns.len())];
        let flags = flags[self.random.below(flags.len())];
        (self.constant(text(pattern)), self.constant(text(flags)))
    }

    fn condition(&mut self, depth: usize) -> Pair {
        let depth = depth.saturating_sub(1);
        match self.random.below(if depth == 0 { 4 } else { 12 }) {
            0 | 1 => self.comparison(depth),
            2 => {
                let (needle, all) = (self.value(depth), [self.leaf(), self.leaf(), self.leaf()]);
                let (ours, peers) = all.into_iter().unzip();
                (
                    Expression::In(Box::new(needle.0), ours),
                    Peer::In(Box::new(needle.1), peers),
                )
            }
            3 => {
                let slot = self.random.below(COLUMNS);
                (
                    Expression::Bound(Slot(slot as u16)),
                    Peer::Bound(variable(slot)),
                )
            }
            4 | 5 => {
                let (left, right) = (self.condition(depth), self.condition(depth));
                (
                    Expression::Or(vec![left.0, right.0]),
                    Peer::Or(Box::new(left.1), Box::new(right.1)),
                )
            }
            6 | 7 => {
                let (left, right) = (self.condition(depth), self.condition(depth));
                (
                    Expression::And(vec![left.0, right.0]),
                    Peer::And(Box::new(left.1), Box::new(right.1)),
                )
            }
            8 => {
                let operand = self.condition(depth);
                (
                    Expression::Not(Box::new(operand.0)),
                    Peer::Not(Box::new(operand.1)),
                )
            }
            _ if self.values_only => self.comparison(depth),
            9 => self.test(depth),
            _ => self.text_test(depth),
        }
    }

    fn comparison(&mut self, depth: usize) -> Pair {
        let (left, right) = (self.value(depth), self.value(depth));
        let (ours, peers) = (
            (Box::new(left.0), Box::new(right.0)),
            (Box::new(left.1), Box::new(right.1)),
        );
        let (comparison, peer) = match self.random.below(6) {
            0 => (Comparison::Equal, Peer::Equal(peers.0, peers.1)),
            1 => (
                Comparison::NotEqual,
                Peer::Not(Box::new(Peer::Equal(peers.0, peers.1))),
            ),
            2 => (Comparison::Less, Peer::Less(peers.0, peers.1)),
            3 => (Comparison::LessOrEqual, Peer::LessOrEqual(peers.0, peers.1)),
            4 => (Comparison::Greater, Peer::Greater(peers.0, peers.1)),
            _ => (
                Comparison::GreaterOrEqual,
                Peer::GreaterOrEqual(peers.0, peers.1),
            ),
        };
        (Expression::Compare(comparison, ours.0, ours.1), peer)
    }

    fn test(&mut self, depth: usize) -> Pair {
        let tests = [
            (Function::IsIri, PeerFunction::IsIri),
            (Function::IsBlank, PeerFunction::IsBlank),
            (Function::IsLiteral, PeerFunction::IsLiteral),
            (Function::IsNumeric, PeerFunction::IsNumeric),
        ];
        let argument = self.value(depth);
        match self.random.below(5) {
            4 => {
                let other = self.leaf();
                (
                    Expression::SameTerm(Box::new(argument.0), Box::new(other.0)),
                    Peer::SameTerm(Box::new(argument.1), Box::new(other.1)),
                )
            }
            test => Self::call(tests[test].clone(), vec![argument]),
        }
    }

    fn text_test(&mut self, depth: usize) -> Pair {
        let tests = [
            (Function::StrStarts, PeerFunction::StrStarts),
            (Function::StrEnds, PeerFunction::StrEnds),
            (Function::Contains, PeerFunction::Contains),
            (Function::LangMatches, PeerFunction::LangMatches),
        ];
        let test = self.random.below(6);
        if let Some(test) = tests.get(test) {
            let arguments = vec![self.value(depth), self.value(depth)];
            return Self::call(test.clone(), arguments);
        }
        let (pattern, flags) = self.pattern();
        let mut arguments = vec![self.value(depth), pattern];
        if self.random.chance(30) {
            arguments[1] = self.value(1);
        }
        if self.random.chance(60) {
            arguments.push(flags);
        }
        Self::call((Function::Regex, PeerFunction::Regex), arguments)
    }
}

fn random_rows(random: &mut Random, pool: &[Term]) -> Vec<Vec<Term>> {
    let mut row = || {
        (0..COLUMNS)
            .map(|_| pool[random.below(pool.len())].clone())
            .collect()
    };
    (0..ROWS).map(|_| row()).collect()
}

#[test]
fn values_are_those_of_the_peer() {
    let pool = canonical_terms();
    let mut some = 0;
    for seed in 0..CASES {
        let mut random = Random::new(seed);
        let mut rows = random_rows(&mut random, &pool);
        let mut generator = Generator {
            random: &mut random,
            constants: pool.clone(),
            values_only: false,
        };
        let (ours, peer) = if seed % 2 == 0 {
            generator.value(3)
        } else {
            generator.condition(3)
        };
        let (marker, _) = generator.constant(text("it is an error"));
        let constants = generator.constants;
        let shown = format!("seed {seed}: {peer}");
        let expected = peer_values(peer, &rows, None);
        some += expected.iter().flatten().count();
        for (row, value) in rows.iter_mut().zip(&expected) {
            row.push(value.clone().unwrap_or_else(|| text("it is an error")));
        }
        let value = Expression::Coalesce(vec![ours, marker]);
        let expected_slot = Expression::Slot(Slot(COLUMNS as u16));
        let filter = Expression::SameTerm(Box::new(value), Box::new(expected_slot));
        let kept = match kept_rows(filter, constants, &rows, 1 + random.below(20)) {
            // A constant of the pool that is no pattern stands where one is wanted.
            Err(WalkError::RefusedPattern { .. }) => continue,
            kept => kept.expect("no limit"),
        };
        for (at, row) in rows.iter().enumerate() {
            assert!(
                kept.contains(&at),
                "{shown} of {:?}",
                row.iter().map(Term::to_string).collect::<Vec<_>>()
            );
        }
    }
    assert!(some > 3000, "only {some} values are no errors");
}

#[test]
fn conditions_are_those_of_the_peer() {
    let pool = [canonical_terms(), odd_terms()].concat();
    let mut some = 0;
    for seed in 0..CASES {
        let mut random = Random::new(seed ^ 0x5eed_0000);
        let rows = random_rows(&mut random, &pool);
        let mut generator = Generator {
            random: &mut random,
            constants: pool.clone(),
            values_only: true,
        };
        let (ours, peer) = generator.condition(4);
        let constants = generator.constants;
        let shown = format!("seed {seed}: {peer}");
        let truth = Term::from(Literal::from(true));
        let values = peer_values(peer, &rows, None);
        let expected: Vec<usize> = (0..rows.len())
            .filter(|&row| values[row].as_ref() == Some(&truth))
            .collect();
        some += expected.len();
        let kept = kept_rows(ours, constants, &rows, 1 + random.below(20)).expect("no limit");
        let show = |row: &Vec<Term>| row.iter().map(Term::to_string).collect::<Vec<_>>();
        assert_eq!(
            kept,
            expected,
            "{shown} of {:#?}",
            rows.iter().map(show).collect::<Vec<_>>()
        );
    }
    assert!(some > 3000, "only {some} conditions are true");
}
