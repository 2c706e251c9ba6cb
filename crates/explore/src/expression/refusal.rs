//! Constant patterns that cannot be evaluated, found when a query is prepared.
//!
//! Of a constant pattern it is known before the first row that the `regex` crate cannot express it
//! ([`super::pattern`]), so the query is refused then, whether or not a row would have reached it.

use super::computation::Computation;
use super::condition::{Condition, Matcher};
use super::pattern;
use super::xpath_pattern::Refusal;
use crate::error::WalkError;

impl Condition {
    /// An error where a constant pattern in it is not supported.
    pub(crate) fn check(&self) -> Result<(), WalkError> {
        refuse(self.unsupported())
    }

    fn unsupported(&self) -> Option<&str> {
        match self {
            Condition::Or(operands) | Condition::And(operands) => {
                operands.iter().find_map(Condition::unsupported)
            }
            Condition::Not(operand) => operand.unsupported(),
            Condition::Compare(_, left, right)
            | Condition::SameTerm(left, right)
            | Condition::Texts(_, left, right) => {
                left.unsupported().or_else(|| right.unsupported())
            }
            Condition::In(needle, candidates) => needle
                .unsupported()
                .or_else(|| candidates.iter().find_map(Computation::unsupported)),
            Condition::IsKind(_, operand)
            | Condition::IsNumeric(operand)
            | Condition::Truth(operand) => operand.unsupported(),
            Condition::Matches(text, matcher) => {
                matcher.unsupported().or_else(|| text.unsupported())
            }
            Condition::Bound(_)
            | Condition::IsId(..)
            | Condition::IsOneOf(..)
            | Condition::SameIds(..)
            | Condition::Kind(..)
            | Condition::Integer { .. }
            | Condition::Integers(_) => None,
        }
    }
}

impl Computation {
    /// An error where a constant pattern in it is not supported.
    pub(crate) fn check(&self) -> Result<(), WalkError> {
        refuse(self.unsupported())
    }

    fn unsupported(&self) -> Option<&str> {
        match self {
            Computation::Slot(_) | Computation::Constant(_) | Computation::Integers(_) => None,
            Computation::Condition(condition) => condition.unsupported(),
            Computation::Arithmetic(_, left, right) => {
                left.unsupported().or_else(|| right.unsupported())
            }
            Computation::Plus(operand) | Computation::Minus(operand) => operand.unsupported(),
            Computation::If(condition, yes, no) => condition
                .unsupported()
                .or_else(|| yes.unsupported())
                .or_else(|| no.unsupported()),
            Computation::Coalesce(operands) | Computation::Call(_, operands) => {
                operands.iter().find_map(Computation::unsupported)
            }
            Computation::Replace(text, matcher, replacement) => matcher
                .unsupported()
                .or_else(|| text.unsupported())
                .or_else(|| replacement.unsupported()),
        }
    }
}

impl Matcher {
    fn unsupported(&self) -> Option<&str> {
        match self {
            Matcher::Constant(Err((Refusal::Unsupported, pattern))) => Some(pattern),
            Matcher::Constant(_) => None,
            Matcher::Computed(pattern, flags) => {
                let in_flags = || flags.as_ref().and_then(Computation::unsupported);
                pattern.unsupported().or_else(in_flags)
            }
        }
    }
}

fn refuse(unsupported: Option<&str>) -> Result<(), WalkError> {
    match unsupported {
        None => Ok(()),
        Some(pattern) => pattern::refuse::<()>(Refusal::Unsupported, pattern).map(|_| ()),
    }
}
