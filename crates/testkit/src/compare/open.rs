//! What the specification leaves open inside a cell: which value an aggregate chose, and the last
//! bits of a floating sum.
//!
//! Before bags are compared, both sides are made to agree where they may: a choice among the
//! expected cells becomes the value that was given in its place (a maximal matching of expected
//! with given rows, by augmenting paths), and a given floating number becomes the expected one of
//! its column that differs from it by no more than 1e-12 of its size. What cannot be made to agree
//! stays, and is complained about by whoever compares.

use crate::Row;
use crate::naive::Expected;
use crate::naive::choice;
use oxrdf::vocab::xsd;
use oxrdf::{Literal, NamedNodeRef, Term};

/// How far a floating number may be off, relative to its size.
const TOLERANCE: f64 = 1e-12;

/// The given rows with floating numbers of the expected rows where they are close to them.
pub(super) fn rounded(expected: &[Row], given: &[Row]) -> Vec<Row> {
    let columns = expected.first().map_or(0, Vec::len);
    let numbers: Vec<Vec<(f64, &Literal)>> = (0..columns)
        .map(|column| {
            expected
                .iter()
                .filter_map(|row| floating(row[column].as_ref()?))
                .collect()
        })
        .collect();
    let near = |cell: &Option<Term>, column: usize| -> Option<Term> {
        let (value, literal) = floating(cell.as_ref()?)?;
        let same_type = |other: &Literal| other.datatype() == literal.datatype();
        let close = numbers.get(column)?.iter().find(|(other, wanted)| {
            same_type(wanted) && (value - other).abs() <= TOLERANCE * other.abs()
        });
        close.map(|(_, wanted)| Term::from((*wanted).clone()))
    };
    let row = |row: &Row| -> Row {
        let cells = row.iter().enumerate();
        cells
            .map(|(column, cell)| {
                let is_expected = || expected.iter().any(|row| row[column] == *cell);
                if is_expected() {
                    cell.clone()
                } else {
                    near(cell, column).or_else(|| cell.clone())
                }
            })
            .collect()
    };
    if numbers.iter().all(Vec::is_empty) {
        return given.to_vec();
    }
    given.iter().map(row).collect()
}

fn floating(term: &Term) -> Option<(f64, &Literal)> {
    let Term::Literal(literal) = term else {
        return None;
    };
    let is_it = |datatype: NamedNodeRef<'_>| datatype == xsd::DOUBLE || datatype == xsd::FLOAT;
    if !is_it(literal.datatype()) {
        return None;
    }
    let value: f64 = literal.value().parse().ok()?;
    value.is_finite().then_some((value, literal))
}

/// The expected rows with choices replaced by what was given in their places.
pub(super) fn settled(expected: &Expected, given: &[Row]) -> Vec<Row> {
    let mut rows = expected.rows.clone();
    let is_open = |row: &Row| {
        row.iter()
            .flatten()
            .any(|term| choice::number(term).is_some())
    };
    let open: Vec<usize> = (0..rows.len())
        .filter(|&index| is_open(&rows[index]))
        .collect();
    if open.is_empty() {
        return rows;
    }
    let mut matching = Matching {
        expected,
        given,
        of_given: vec![None; given.len()],
    };
    for &index in &open {
        let mut seen = vec![false; given.len()];
        matching.augment(index, &mut seen);
    }
    for (place, of) in matching.of_given.iter().enumerate() {
        if let Some(index) = of {
            rows[*index].clone_from(&given[place]);
        }
    }
    rows
}

struct Matching<'a> {
    expected: &'a Expected,
    given: &'a [Row],
    /// The expected row that a given one stands for.
    of_given: Vec<Option<usize>>,
}

impl Matching<'_> {
    fn augment(&mut self, index: usize, seen: &mut [bool]) -> bool {
        for place in 0..self.given.len() {
            if seen[place] || !self.fits(index, place) {
                continue;
            }
            seen[place] = true;
            let is_free = match self.of_given[place] {
                None => true,
                Some(other) => self.augment(other, seen),
            };
            if is_free {
                self.of_given[place] = Some(index);
                return true;
            }
        }
        false
    }

    fn fits(&self, index: usize, place: usize) -> bool {
        let mut cells = self.expected.rows[index].iter().zip(&self.given[place]);
        cells.all(|(wanted, given)| {
            let number = wanted.as_ref().and_then(choice::number);
            match (
                number.and_then(|number| self.expected.choices.get(number)),
                given,
            ) {
                (None, _) => wanted == given,
                (Some(choice), Some(given)) => choice.allows(given),
                (Some(_), None) => false,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Blanks, check};
    use crate::{Answer, graph, naive};

    fn verdict(query: &str, rows: &[&[Term]]) -> Result<(), String> {
        let graph = r#"PREFIX : <http://e/> :a :p 1, 2 . :b :p 2, 3 . :c :q "x", "y", "x"@en .
            :d :r 0.1e0, 0.2e0, 0.3e0 ."#;
        let query = format!("PREFIX : <http://e/> {query}");
        let expected = naive::answer(&graph::parse(graph).unwrap(), &query).unwrap();
        let cells = |row: &&[Term]| row.iter().cloned().map(Some).collect();
        let given = Answer::Rows {
            variables: expected.variables.clone(),
            rows: rows.iter().map(cells).collect(),
        };
        check(&expected, &given, &Blanks::Same)
    }

    #[test]
    fn a_sample_is_any_member_of_its_own_group() {
        let query = "SELECT (SAMPLE(?o) AS ?any) { ?s :p ?o } GROUP BY ?s";
        let number = |value: i64| [Term::from(Literal::from(value))];
        for (one, other, is_right) in [
            (1, 2, true),
            (2, 1, true),
            (2, 2, true),
            (1, 1, false),
            (3, 3, false),
            (2, 9, false),
        ] {
            let verdict = verdict(query, &[&number(one), &number(other)]);
            assert_eq!(verdict.is_ok(), is_right, "{one} {other}: {verdict:?}");
        }
    }

    #[test]
    fn a_concatenation_is_in_any_order() {
        let query =
            "SELECT (GROUP_CONCAT(?o; SEPARATOR='-') AS ?all) { ?s :q ?o FILTER(LANG(?o) = '') }";
        let text = |text: &str| [Term::from(Literal::from(text))];
        assert_eq!(verdict(query, &[&text("y-x")]), Ok(()));
        assert_eq!(verdict(query, &[&text("x-y")]), Ok(()));
        assert!(
            verdict(query, &[&text("x y")])
                .unwrap_err()
                .contains("missing")
        );
    }

    #[test]
    fn floating_sums_may_be_off_a_little() {
        let query = "SELECT (SUM(?o) AS ?sum) { ?s :r ?o }";
        let number = |value: f64| [Term::from(Literal::from(value))];
        assert_eq!(verdict(query, &[&number(0.600_000_000_000_000_1)]), Ok(()));
        assert_eq!(verdict(query, &[&number(0.6)]), Ok(()));
        assert!(verdict(query, &[&number(0.600_001)]).is_err());
    }
}
