//! Constant patterns that are none or cannot be evaluated, found when a query is prepared.
//!
//! Of a constant pattern it is known before the first row that it cannot be used ([`super::pattern`]), so
//! the query is refused then, whether or not a row would have reached it. What the grammar of patterns
//! tells is refused earlier, when the text is read; what is left is the size.

use super::computation::Computation;
use super::condition::{Condition, Matcher};
use super::pattern;
use crate::error::WalkError;
use query::xpath_pattern::Refusal;

impl Condition {
    /// An error where a constant pattern in it cannot be used.
    pub(crate) fn check(&self) -> Result<(), WalkError> {
        refuse(self.refused())
    }

    fn refused(&self) -> Option<(Refusal, &str)> {
        match self {
            Condition::Or(operands) | Condition::And(operands) => {
                operands.iter().find_map(Condition::refused)
            }
            Condition::Not(operand) => operand.refused(),
            Condition::Compare(_, left, right)
            | Condition::SameTerm(left, right)
            | Condition::Texts(_, left, right) => left.refused().or_else(|| right.refused()),
            Condition::In(needle, candidates) => needle
                .refused()
                .or_else(|| candidates.iter().find_map(Computation::refused)),
            Condition::IsKind(_, operand)
            | Condition::IsNumeric(operand)
            | Condition::Truth(operand) => operand.refused(),
            Condition::Matches(text, matcher) => matcher.refused().or_else(|| text.refused()),
            Condition::Resources(comparison) => comparison.general.refused(),
            Condition::Bound(_)
            | Condition::IsId(..)
            | Condition::IsOneOf(..)
            | Condition::IsText(..)
            | Condition::SameIds(..)
            | Condition::Kind(..)
            | Condition::Integer { .. }
            | Condition::Integers(_) => None,
        }
    }
}

impl Computation {
    /// An error where a constant pattern in it cannot be used.
    pub(crate) fn check(&self) -> Result<(), WalkError> {
        refuse(self.refused())
    }

    fn refused(&self) -> Option<(Refusal, &str)> {
        match self {
            Computation::Slot(_) | Computation::Constant(_) | Computation::Integers(_) => None,
            Computation::Condition(condition) => condition.refused(),
            Computation::Arithmetic(_, left, right) => left.refused().or_else(|| right.refused()),
            Computation::Plus(operand) | Computation::Minus(operand) => operand.refused(),
            Computation::If(condition, yes, no) => condition
                .refused()
                .or_else(|| yes.refused())
                .or_else(|| no.refused()),
            Computation::Coalesce(operands) | Computation::Call(_, operands) => {
                operands.iter().find_map(Computation::refused)
            }
            Computation::Replace(text, matcher, replacement) => matcher
                .refused()
                .or_else(|| text.refused())
                .or_else(|| replacement.refused()),
        }
    }
}

impl Matcher {
    fn refused(&self) -> Option<(Refusal, &str)> {
        match self {
            Matcher::Constant(Err((refusal, pattern))) => Some((*refusal, pattern)),
            Matcher::Constant(Ok(_)) => None,
            Matcher::Computed(pattern, flags) => {
                let in_flags = || flags.as_ref().and_then(Computation::refused);
                pattern.refused().or_else(in_flags)
            }
        }
    }
}

fn refuse(refused: Option<(Refusal, &str)>) -> Result<(), WalkError> {
    match refused {
        None => Ok(()),
        Some((refusal, pattern)) => Err(pattern::refuse(refusal, pattern)),
    }
}
