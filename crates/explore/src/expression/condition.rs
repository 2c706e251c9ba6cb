//! Truth of rows: conditions are evaluated to one [`Truth`] per row, column-wise.
//!
//! `||` and `&&` evaluate a later operand only over the rows that the earlier ones left undecided,
//! with the three-valued logic of section 17.2: an error is overruled by a true operand of `||` and
//! a false one of `&&`.
//!
//! The cheap forms work on ids alone: 1 to 2 ns a row for identity and inline integers, as against
//! some 50 ns and the text's fetch for a comparison of values. Rows for which ids do not decide
//! (an integer column that also holds decimals) go through the general form, only they.

mod resources;

pub(super) use resources::ResourceComparison;

use super::batch::Batch;
use super::call::spend_on;
use super::compare;
use super::computation::{Computation, Operand};
use super::integers::IntegerComparison;
use super::pattern::{self, COMPILE_EFFORT, Pattern};
use super::same_text::SameText;
use super::text;
use super::value::Value;
use crate::error::WalkError;
use memchr::memmem;
use query::expression::{Comparison, Function};
use query::plan::{ConstantId, Slot};
use query::xpath_pattern::Refusal;
use rdf::{Tag, VertexId};
use std::ops::Deref;
use std::sync::Arc;

/// What a condition says of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Truth {
    /// False.
    False,
    /// True.
    True,
    /// A type error.
    Error,
}

impl From<bool> for Truth {
    fn from(value: bool) -> Truth {
        if value { Truth::True } else { Truth::False }
    }
}

impl From<Option<bool>> for Truth {
    fn from(value: Option<bool>) -> Truth {
        value.map_or(Truth::Error, Truth::from)
    }
}

impl Truth {
    /// As a boolean; `None` is an error.
    pub(crate) fn value(self) -> Option<bool> {
        match self {
            Truth::False => Some(false),
            Truth::True => Some(true),
            Truth::Error => None,
        }
    }

    fn negated(self) -> Truth {
        match self {
            Truth::False => Truth::True,
            Truth::True => Truth::False,
            Truth::Error => Truth::Error,
        }
    }
}

/// A compiled expression that is asked for its effective boolean value.
#[derive(Clone, Debug)]
pub(crate) enum Condition {
    /// `BOUND(?x)`.
    Bound(Slot),
    /// The column holds exactly this id.
    IsId(Slot, VertexId),
    /// The column holds one of these ids, ascending.
    IsOneOf(Slot, Vec<VertexId>),
    /// The column equals one of some constants, of which some are strings.
    IsText(Slot, SameText),
    /// Both columns hold the same id.
    SameIds(Slot, Slot),
    /// The column holds a term of this kind, which the tag tells.
    Kind(Slot, Kind),
    /// The column compared with an inline integer.
    Integer {
        /// The column.
        slot: Slot,
        /// The operator, the column on its left.
        comparison: Comparison,
        /// The inline id of the integer.
        bound: VertexId,
        /// The same constant.
        constant: ConstantId,
    },
    /// Whether two columns hold the same IRI or blank node.
    Resources(Box<ResourceComparison>),
    /// A comparison of trees over inline integers.
    Integers(Box<IntegerComparison>),
    /// `a || b || ...`
    Or(Vec<Condition>),
    /// `a && b && ...`
    And(Vec<Condition>),
    /// `!a`
    Not(Box<Condition>),
    /// A comparison of values.
    Compare(Comparison, Computation, Computation),
    /// `sameTerm(a, b)`
    SameTerm(Computation, Computation),
    /// `a IN (b, ...)`
    In(Computation, Vec<Computation>),
    /// `isIRI` and its kin of something computed, `hasLANG`, `hasLANGDIR`.
    IsKind(Kind, Computation),
    /// `isNUMERIC`
    IsNumeric(Computation),
    /// `STRSTARTS`, `STRENDS`, `CONTAINS`, `langMATCHES`.
    Texts(Function, Computation, Computation),
    /// `REGEX`.
    Matches(Computation, Matcher),
    /// The effective boolean value of something computed.
    Truth(Computation),
}

/// A kind of term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Iri,
    Blank,
    Literal,
    Triple,
    /// A tagged string.
    Tagged,
    /// A tagged string with a base direction.
    Directed,
}

/// A regular expression: compiled once, or per row from these.
#[derive(Clone, Debug)]
pub(crate) enum Matcher {
    /// Constant, or why it was refused and its text.
    Constant(Result<Pattern, (Refusal, String)>),
    /// Pattern and flags.
    Computed(Computation, Option<Computation>),
}

impl Condition {
    /// Sets `truths` to what the condition says of each of these rows of the batch.
    pub(crate) fn evaluate(
        &self,
        batch: &Batch<'_>,
        at: &[u32],
        truths: &mut Vec<Truth>,
    ) -> Result<(), WalkError> {
        truths.clear();
        match self {
            Condition::Bound(slot) => {
                truths.extend(
                    at.iter()
                        .map(|&row| Truth::from(!batch.id(*slot, row).is_unbound())),
                );
            }
            Condition::IsId(slot, wanted) => ids(batch, *slot, at, truths, |id| id == *wanted),
            Condition::IsOneOf(slot, wanted) => {
                ids(batch, *slot, at, truths, |id| {
                    wanted.binary_search(&id).is_ok()
                });
            }
            Condition::IsText(slot, constants) => {
                constants.evaluate(*slot, batch, at, truths)?;
            }
            Condition::SameIds(left, right) => {
                truths.extend(at.iter().map(|&row| {
                    let (left, right) = (batch.id(*left, row), batch.id(*right, row));
                    let bound = !left.is_unbound() && !right.is_unbound();
                    Truth::from(bound.then_some(left == right))
                }));
            }
            Condition::Kind(slot, kind) => {
                ids(batch, *slot, at, truths, |id| kind.is_of_id(id, batch));
            }
            Condition::Integer { .. } => self.compare_integers(batch, at, truths)?,
            Condition::Integers(comparison) => comparison.evaluate(batch, at, truths)?,
            Condition::Resources(comparison) => comparison.evaluate(batch, at, truths)?,
            Condition::Or(operands) => connect(operands, Truth::True, batch, at, truths)?,
            Condition::And(operands) => connect(operands, Truth::False, batch, at, truths)?,
            Condition::Not(operand) => {
                operand.evaluate(batch, at, truths)?;
                for truth in truths.iter_mut() {
                    *truth = truth.negated();
                }
            }
            general => {
                let held = batch.columns();
                general.evaluate_values(batch, at, truths)?;
                batch.drop_columns(held);
            }
        }
        assert_eq!(truths.len(), at.len(), "a row has its truth");
        Ok(())
    }

    /// The forms that look at values.
    fn evaluate_values(
        &self,
        batch: &Batch<'_>,
        at: &[u32],
        truths: &mut Vec<Truth>,
    ) -> Result<(), WalkError> {
        match self {
            Condition::Compare(comparison, left, right) => {
                pairs(left, right, batch, at, truths, |left, right| {
                    compare::compare(*comparison, left, right)
                })
            }
            Condition::SameTerm(left, right) => {
                pairs(left, right, batch, at, truths, |left, right| {
                    Some(left.is_same_term(right))
                })
            }
            Condition::Texts(Function::LangMatches, left, right) => {
                pairs(left, right, batch, at, truths, text::language_matches)
            }
            Condition::Texts(Function::Contains, left, right) => {
                contains(left, right, batch, at, truths)
            }
            Condition::Texts(function, left, right) => {
                pairs(left, right, batch, at, truths, |left, right| {
                    text::has_part(*function, left, right)
                })
            }
            Condition::In(needle, candidates) => is_in(needle, candidates, batch, at, truths),
            Condition::IsKind(kind, operand) => singles(operand, batch, at, truths, |value| {
                Some(kind.is_of_value(value))
            }),
            Condition::IsNumeric(operand) => {
                singles(operand, batch, at, truths, |value| Some(value.is_numeric()))
            }
            Condition::Matches(text, matcher) => matches(text, matcher, batch, at, truths),
            Condition::Truth(operand) => singles(operand, batch, at, truths, Value::truth),
            _ => unreachable!("the forms on ids were evaluated before"),
        }
    }

    /// Inline integers order as their ids; any other term takes the general way.
    fn compare_integers(
        &self,
        batch: &Batch<'_>,
        at: &[u32],
        truths: &mut Vec<Truth>,
    ) -> Result<(), WalkError> {
        let Condition::Integer {
            slot,
            comparison,
            bound,
            constant,
        } = self
        else {
            unreachable!("called for this form only");
        };
        let mut others = Vec::new();
        let mut places = Vec::new();
        for (place, &row) in at.iter().enumerate() {
            let id = batch.id(*slot, row);
            if !id.has_tag(Tag::Integer) {
                others.push(row);
                places.push(place);
            }
            truths.push(Truth::from(match comparison {
                Comparison::Equal => id == *bound,
                Comparison::NotEqual => id != *bound,
                Comparison::Less => id < *bound,
                Comparison::LessOrEqual => id <= *bound,
                Comparison::Greater => id > *bound,
                Comparison::GreaterOrEqual => id >= *bound,
            }));
        }
        if !others.is_empty() {
            let right = batch.constant(*constant);
            let values = batch.values(*slot, &others)?;
            for (place, value) in places.into_iter().zip(values) {
                let truth = value.and_then(|left| compare::compare(*comparison, &left, &right));
                truths[place] = Truth::from(truth);
            }
        }
        Ok(())
    }
}

impl Kind {
    fn is_of_id(self, id: VertexId, batch: &Batch<'_>) -> bool {
        match id.tag() {
            Some(Tag::Iri | Tag::TransientIri) => self == Kind::Iri,
            Some(Tag::Blank) => self == Kind::Blank,
            Some(Tag::Literal | Tag::TransientLiteral) => self == Kind::Literal,
            Some(Tag::TripleTerm | Tag::TransientTriple) => self == Kind::Triple,
            Some(Tag::QueryLocal) => batch
                .local_term(id)
                .is_some_and(|term| self.is_of_value(&Value::of_term(term))),
            Some(tag) => tag.is_inline() && self == Kind::Literal,
            None => false,
        }
    }

    fn is_of_value(self, value: &Value<'_>) -> bool {
        match self {
            Kind::Iri => matches!(value, Value::Iri(_)),
            Kind::Blank => matches!(value, Value::Blank(_)),
            Kind::Literal => value.is_literal(),
            Kind::Triple => matches!(value, Value::Triple(_)),
            Kind::Tagged => matches!(value, Value::Language(..)),
            Kind::Directed => {
                matches!(value, Value::Language(_, language) if language.rightward.is_some())
            }
        }
    }
}

/// A test of ids; unbound is an error.
fn ids(
    batch: &Batch<'_>,
    slot: Slot,
    at: &[u32],
    truths: &mut Vec<Truth>,
    test: impl Fn(VertexId) -> bool,
) {
    truths.extend(at.iter().map(|&row| {
        let id = batch.id(slot, row);
        Truth::from((!id.is_unbound()).then(|| test(id)))
    }));
}

/// `||` and `&&`: `decisive` in one operand decides the row.
fn connect(
    operands: &[Condition],
    decisive: Truth,
    batch: &Batch<'_>,
    at: &[u32],
    truths: &mut Vec<Truth>,
) -> Result<(), WalkError> {
    truths.resize(at.len(), decisive.negated());
    let mut open: Vec<u32> = at.to_vec();
    let mut places: Vec<usize> = (0..at.len()).collect();
    let mut answers = Vec::new();
    for operand in operands {
        if open.is_empty() {
            break;
        }
        operand.evaluate(batch, &open, &mut answers)?;
        let mut kept = 0;
        for (index, &answer) in answers.iter().enumerate() {
            let (row, place) = (open[index], places[index]);
            if answer != decisive.negated() {
                truths[place] = answer;
            }
            if answer != decisive {
                (open[kept], places[kept]) = (row, place);
                kept += 1;
            }
        }
        open.truncate(kept);
        places.truncate(kept);
    }
    Ok(())
}

fn singles<'b>(
    operand: &Computation,
    batch: &Batch<'b>,
    at: &[u32],
    truths: &mut Vec<Truth>,
    test: impl Fn(&Value<'b>) -> Option<bool>,
) -> Result<(), WalkError> {
    let values = operand.evaluate(batch, at)?;
    truths.extend((0..at.len()).map(|row| Truth::from(values.get(row).and_then(&test))));
    Ok(())
}

fn pairs<'b>(
    left: &Computation,
    right: &Computation,
    batch: &Batch<'b>,
    at: &[u32],
    truths: &mut Vec<Truth>,
    test: impl Fn(&Value<'b>, &Value<'b>) -> Option<bool>,
) -> Result<(), WalkError> {
    let (left, right) = (left.evaluate(batch, at)?, right.evaluate(batch, at)?);
    for row in 0..at.len() {
        let both = left.get(row).zip(right.get(row));
        if let Some((left, right)) = both {
            spend_on(left, batch)?;
            spend_on(right, batch)?;
        }
        truths.push(Truth::from(
            both.and_then(|(left, right)| test(left, right)),
        ));
    }
    Ok(())
}

/// `CONTAINS`; a part that all rows share is prepared for searching once.
fn contains(
    text: &Computation,
    part: &Computation,
    batch: &Batch<'_>,
    at: &[u32],
    truths: &mut Vec<Truth>,
) -> Result<(), WalkError> {
    let (texts, parts) = (text.evaluate(batch, at)?, part.evaluate(batch, at)?);
    let shared = match &parts {
        Operand::One(part) => part.as_ref().and_then(text::string),
        Operand::Many(_) => None,
    };
    let finder = shared.map(|(part, _)| memmem::Finder::new(part));
    let mut bytes = 0;
    for row in 0..at.len() {
        let both = texts.get(row).zip(parts.get(row));
        let compatible = both.and_then(|(text, part)| text::compatible(text, part));
        truths.push(Truth::from(compatible.map(|(text, part, _)| {
            bytes += text.len();
            match &finder {
                Some(finder) => finder.find(text.as_bytes()).is_some(),
                None => text.contains(part),
            }
        })));
    }
    batch.spend(bytes as u64)
}

/// `IN` is the `||` of `=` with each candidate (section 17.4.1.9).
fn is_in(
    needle: &Computation,
    candidates: &[Computation],
    batch: &Batch<'_>,
    at: &[u32],
    truths: &mut Vec<Truth>,
) -> Result<(), WalkError> {
    let needles = needle.evaluate(batch, at)?;
    truths.resize(at.len(), Truth::False);
    let mut open: Vec<usize> = (0..at.len()).collect();
    for candidate in candidates {
        if open.is_empty() {
            break;
        }
        let rows: Vec<u32> = open.iter().map(|&place| at[place]).collect();
        let held = batch.columns();
        let values = candidate.evaluate(batch, &rows)?;
        batch.drop_columns(held);
        let mut index = 0;
        let mut spent = Ok(());
        open.retain(|&place| {
            let both = needles.get(place).zip(values.get(index));
            index += 1;
            if let (Ok(()), Some((left, right))) = (&spent, both) {
                spent = spend_on(left, batch).and_then(|()| spend_on(right, batch));
            }
            if spent.is_err() {
                return true;
            }
            let truth = Truth::from(both.and_then(|(left, right)| compare::equals(left, right)));
            if truth != Truth::False {
                truths[place] = truth;
            }
            truth != Truth::True
        });
        spent?;
        batch.spend(rows.len() as u64 * 16)?;
    }
    Ok(())
}

fn matches(
    text: &Computation,
    matcher: &Matcher,
    batch: &Batch<'_>,
    at: &[u32],
    truths: &mut Vec<Truth>,
) -> Result<(), WalkError> {
    let texts = text.evaluate(batch, at)?;
    let patterns = matcher.evaluate(batch, at)?;
    let is_shared = matches!(patterns, Patterns::Constant(_));
    let mut last: Option<(&str, Truth)> = None;
    for row in 0..at.len() {
        let text = texts.get(row).and_then(text::string);
        if let (Some((text, _)), Some((before, truth))) = (text, last)
            && is_shared
            && std::ptr::eq(text, before)
        {
            truths.push(truth);
            continue;
        }
        let truth = match (text, patterns.get(row, batch)?) {
            (Some((text, _)), Some(pattern)) => {
                batch.spend(text.len() as u64 + 32)?;
                Truth::from(pattern.is_match(text))
            }
            _ => Truth::Error,
        };
        truths.push(truth);
        last = text.map(|(text, _)| (text, truth));
    }
    Ok(())
}

/// The patterns of some rows.
pub(crate) enum Patterns<'m, 'b> {
    Constant(&'m Result<Pattern, (Refusal, String)>),
    Computed(Operand<'b>, Option<Operand<'b>>),
}

/// A compiled pattern that is kept elsewhere: cloning one would give it a cache of its own.
pub(crate) enum Found<'m> {
    Constant(&'m Pattern),
    Cached(Arc<Pattern>),
}

impl Deref for Found<'_> {
    type Target = Pattern;

    fn deref(&self) -> &Pattern {
        match self {
            Found::Constant(pattern) => pattern,
            Found::Cached(pattern) => pattern,
        }
    }
}

impl Matcher {
    /// The patterns of these rows of the batch, compiled when asked for.
    pub(crate) fn evaluate<'m, 'b>(
        &'m self,
        batch: &Batch<'b>,
        at: &[u32],
    ) -> Result<Patterns<'m, 'b>, WalkError> {
        Ok(match self {
            Matcher::Constant(pattern) => Patterns::Constant(pattern),
            Matcher::Computed(pattern, flags) => Patterns::Computed(
                pattern.evaluate(batch, at)?,
                flags
                    .as_ref()
                    .map(|flags| flags.evaluate(batch, at))
                    .transpose()?,
            ),
        })
    }
}

impl Patterns<'_, '_> {
    /// The pattern of a row; `None` is an error.
    pub(crate) fn get(
        &self,
        row: usize,
        batch: &Batch<'_>,
    ) -> Result<Option<Found<'_>>, WalkError> {
        let (pattern, flags) = match self {
            Patterns::Constant(Ok(pattern)) => return Ok(Some(Found::Constant(pattern))),
            Patterns::Constant(Err((refusal, text))) => {
                return Err(pattern::refuse(*refusal, text));
            }
            Patterns::Computed(pattern, flags) => (pattern, flags),
        };
        let flags = match flags {
            None => Some(""),
            Some(flags) => flags.get(row).and_then(text::plain),
        };
        let (Some(pattern), Some(flags)) = (pattern.get(row).and_then(text::plain), flags) else {
            return Ok(None);
        };
        let (compiled, is_new) = batch.patterns().borrow_mut().get(pattern, flags);
        if is_new {
            batch.charge(compiled.as_ref().map_or(0, |compiled| compiled.bytes()) as u64)?;
            batch.spend(COMPILE_EFFORT + 100 * pattern.len() as u64)?;
        }
        match compiled {
            Ok(compiled) => Ok(Some(Found::Cached(compiled))),
            // Whatever is wrong with it, it is this row's own.
            Err(_) => Ok(None),
        }
    }
}
