//! What `ORDER BY` promises (SPARQL 1.1 Query section 15.1), and no more.
//!
//! Unbound comes before blank nodes, before IRIs, before literals (before triple terms, in 1.2).
//! IRIs are ordered by their text, literals where `<` orders their values. So a cell has a *rank*,
//! and within its rank a *class* inside which all cells are ordered: numbers, strings, strings of
//! one language, points in time with a zone, and so on. Cells of one rank and two classes have no
//! promised order. Invariant: within a class the order is a weak order, so ties are groups.

use super::duration::Span;
use super::notes::Notes;
use super::number::Number;
use super::value::{Order, Value, order};
use oxrdf::Term;
use std::cmp::Ordering;

/// One cell of a sort key: `None` is unbound, or an error.
pub type Cell = Option<Term>;

/// Cells that are ordered among each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// No value.
    Unbound,
    /// All IRIs.
    Iri,
    /// `xsd:string`.
    Text,
    /// Strings with this language tag and base direction.
    Language(String, Option<oxrdf::BaseDirection>),
    /// Numbers, NaN aside.
    Number,
    /// Booleans.
    Boolean,
    /// Points in time, by datatype and whether they have a time zone.
    Time(&'static str, bool),
    /// Nothing but this very term: blank nodes, NaN, literals without a known value, triples.
    Only(Box<Term>),
}

/// The place of a cell among unbound, blank nodes, IRIs, literals and triple terms.
pub fn rank(cell: &Cell) -> u8 {
    match cell {
        None => 0,
        Some(Term::BlankNode(_)) => 1,
        Some(Term::NamedNode(_)) => 2,
        Some(Term::Literal(_)) => 3,
        Some(Term::Triple(_)) => 4,
    }
}

/// The class of a cell.
pub fn class(cell: &Cell) -> Class {
    let Some(term) = cell else {
        return Class::Unbound;
    };
    if term.is_named_node() {
        return Class::Iri;
    }
    match Value::of(term) {
        Value::Text(_) => Class::Text,
        Value::Language(_, (language, direction)) => {
            Class::Language(language.to_owned(), direction)
        }
        Value::Boolean(_) => Class::Boolean,
        Value::Number(number) if Number::order(&number, &number).is_some() => Class::Number,
        Value::Moment(moment) => Class::Time(moment.kind.name(), moment.zone.is_some()),
        Value::Duration(duration) if duration.span == Span::DayTime => {
            Class::Time("dayTimeDuration", false)
        }
        _ => Class::Only(Box::new(term.clone())),
    }
}

/// The order of two cells of one class.
pub fn within_class(left: &Cell, right: &Cell) -> Ordering {
    let (Some(left), Some(right)) = (left, right) else {
        return Ordering::Equal;
    };
    if let (Term::NamedNode(left), Term::NamedNode(right)) = (left, right) {
        return left.as_str().cmp(right.as_str());
    }
    match order(left, right, &Notes::default()) {
        Order::Is(ordering) => ordering,
        Order::Neither | Order::Error => Ordering::Equal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxrdf::Literal;

    #[test]
    fn numbers_of_all_types_are_one_class() {
        let cell = |literal: Literal| Some(Term::from(literal));
        let (one, half) = (cell(1.into()), cell(0.5.into()));
        assert_eq!(class(&one), class(&half));
        assert_eq!(within_class(&half, &one), Ordering::Less);
        assert_ne!(class(&cell(f64::NAN.into())), class(&half));
        assert_ne!(class(&cell("1".into())), class(&one));
        assert_eq!(rank(&cell("1".into())), rank(&one));
        assert!(rank(&None) < rank(&one));
    }
}
