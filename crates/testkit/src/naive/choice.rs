//! Values of which the specification leaves the choice to whoever evaluates: `SAMPLE`, the order in
//! `GROUP_CONCAT`, one of several equal minima.
//!
//! Such a value is a marker: a literal of a datatype of its own whose text is the number of the
//! choice. It may pass through the head of a query to a result, where [`crate::compare`] holds it
//! against what was given; whatever looks inside it makes the whole answer undetermined.

use oxrdf::{Literal, NamedNode, Term};

/// The datatype of markers.
const DATATYPE: &str = "urn:testkit:choice";

/// The values that are right.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// Any of these terms.
    Member(Vec<Term>),
    /// These texts in any order, with the separator between them.
    Joined {
        /// The texts.
        parts: Vec<String>,
        /// What stands between them.
        separator: String,
    },
}

impl Choice {
    /// Whether a given value is one of them.
    pub fn allows(&self, given: &Term) -> bool {
        match self {
            Choice::Member(terms) => terms.contains(given),
            Choice::Joined { parts, separator } => match given {
                Term::Literal(literal) if *literal == Literal::from(literal.value()) => {
                    is_joined(literal.value(), &mut parts.clone(), separator)
                }
                _ => false,
            },
        }
    }
}

/// Whether a text is these parts, joined in some order.
fn is_joined(text: &str, parts: &mut Vec<String>, separator: &str) -> bool {
    if parts.len() <= 1 {
        return parts.first().is_none_or(|last| last == text)
            && (parts.len() == 1 || text.is_empty());
    }
    let mut tried: Vec<String> = Vec::new();
    for index in 0..parts.len() {
        let part = parts.swap_remove(index);
        let rest = text
            .strip_prefix(&*part)
            .and_then(|rest| rest.strip_prefix(separator));
        let is_new = !tried.contains(&part);
        let fits = is_new && rest.is_some_and(|rest| is_joined(rest, parts, separator));
        if is_new {
            tried.push(part.clone());
        }
        parts.push(part);
        let last = parts.len() - 1;
        parts.swap(index, last);
        if fits {
            return true;
        }
    }
    false
}

/// The marker of a choice.
pub(super) fn marker(number: usize) -> Term {
    Literal::new_typed_literal(number.to_string(), NamedNode::new_unchecked(DATATYPE)).into()
}

/// The number of the choice that a term stands for.
pub fn number(term: &Term) -> Option<usize> {
    match term {
        Term::Literal(literal) if literal.datatype().as_str() == DATATYPE => {
            literal.value().parse().ok()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_texts_come_in_any_order_and_no_other_way() {
        let joined = |parts: &[&str], separator: &str| Choice::Joined {
            parts: parts.iter().map(|&part| part.to_owned()).collect(),
            separator: separator.to_owned(),
        };
        let allows = |choice: &Choice, text: &str| choice.allows(&Literal::from(text).into());
        let three = joined(&["a", "b", "a"], ", ");
        assert!(allows(&three, "a, b, a") && allows(&three, "b, a, a"));
        assert!(!allows(&three, "a, b") && !allows(&three, "a, b, b") && !allows(&three, "a,b,a"));
        let unclear = joined(&["a", "ab", ""], "");
        assert!(allows(&unclear, "aba") && allows(&unclear, "aab") && !allows(&unclear, "baa"));
        assert!(allows(&joined(&[], "x"), "") && !allows(&joined(&[], "x"), "x"));
        let tagged = Literal::new_language_tagged_literal_unchecked("a, b, a", "en");
        assert!(!three.allows(&tagged.into()));
    }

    #[test]
    fn markers_are_told_from_other_terms() {
        assert_eq!(number(&marker(7)), Some(7));
        assert_eq!(number(&Literal::from(7).into()), None);
        let member = Choice::Member(vec![Literal::from(1).into(), Literal::from(2).into()]);
        assert!(
            member.allows(&Literal::from(2).into()) && !member.allows(&Literal::from(3).into())
        );
    }
}
