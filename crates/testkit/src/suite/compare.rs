//! Whether an answer is the one that a test expects, up to the names of blank nodes.
//!
//! Rows are matched one to one by backtracking: the row with the fewest possible partners is next,
//! and a partner extends the one-to-one renaming of blank nodes. A graph is a bag of rows of three
//! cells, each once. The case of language tags says nothing. Worst case exponential (this is graph isomorphism), so the search gives up
//! at a bound, with a complaint of its own; the suites stay far below it.

use super::results::{ExpectedResults, Results};
use crate::Row;
use crate::compare::{shown_row, with_plain_tags};
use oxrdf::dataset::CanonicalizationAlgorithm;
use oxrdf::vocab::xsd;
use oxrdf::{Dataset, GraphName, Literal, NamedOrBlankNode, Quad, QuadRef, Term, Triple};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

/// Partners tried before the search gives up.
const TRIES_MAX: usize = 100_000;

/// Rows shown in a complaint.
const SHOWN_MAX: usize = 5;

/// Checks an answer; the error is a complaint for people.
pub fn check(expected: &ExpectedResults, given: &Results) -> Result<(), String> {
    match (&expected.results, given) {
        (Results::Boolean(wanted), Results::Boolean(given)) if wanted == given => Ok(()),
        (Results::Graph(wanted), Results::Graph(given)) => {
            let [wanted, given] = [wanted, given].map(|triples| as_rows(triples));
            // Which of the template's objects are computed is not told apart.
            let is_computed = [false, false, !expected.computed.is_empty()];
            check_rows(&wanted, &given, &is_computed, false)
        }
        (
            Results::Solutions { variables, rows },
            Results::Solutions {
                variables: names,
                rows: given,
            },
        ) => {
            let given = in_columns(variables, names, given)?;
            let is_computed = variables
                .iter()
                .map(|name| expected.has_other_forms || expected.computed.contains(name));
            let is_computed: Vec<bool> = is_computed.collect();
            if expected.is_lax {
                check_lax(rows, &given, &is_computed)
            } else {
                check_rows(rows, &given, &is_computed, expected.is_ordered)
            }
        }
        (wanted, given) => Err(format!("expected {}, got {}", shape(wanted), shape(given))),
    }
}

fn shape(results: &Results) -> String {
    match results {
        Results::Solutions { rows, .. } => format!("{} rows", rows.len()),
        Results::Boolean(value) => value.to_string(),
        Results::Graph(triples) => format!("a graph of {} triples", triples.len()),
    }
}

fn as_rows(triples: &[Triple]) -> Vec<Row> {
    let distinct: HashSet<&Triple> = triples.iter().collect();
    let cells = |triple: &Triple| {
        let subject = triple.subject.clone().into();
        let predicate = triple.predicate.clone().into();
        with_plain_tags(vec![
            Some(subject),
            Some(predicate),
            Some(triple.object.clone()),
        ])
    };
    distinct.into_iter().map(cells).collect()
}

/// The rows with their columns in the expected order, which the suites leave open.
fn in_columns(wanted: &[String], given: &[String], rows: &[Row]) -> Result<Vec<Row>, String> {
    let columns = wanted
        .iter()
        .map(|name| given.iter().position(|other| other == name));
    let columns: Option<Vec<usize>> = columns.collect();
    let columns = columns.filter(|columns| columns.len() == given.len());
    let columns = columns.ok_or_else(|| format!("expected variables {wanted:?}, got {given:?}"))?;
    let row = |row: &Row| {
        let cells = columns.iter().map(|&column| row[column].clone());
        with_plain_tags(cells.collect())
    };
    Ok(rows.iter().map(row).collect())
}

/// As often as expected or less, and at least once.
fn check_lax(wanted: &[Row], given: &[Row], is_computed: &[bool]) -> Result<(), String> {
    let [wants, gives] = [wanted, given].map(crate::compare::counts);
    let distinct = |counts: &HashMap<&Row, usize>| -> Vec<Row> {
        counts.keys().map(|&row| row.clone()).collect()
    };
    check_rows(&distinct(&wants), &distinct(&gives), is_computed, false)?;
    match gives
        .iter()
        .find(|(row, count)| wants.get(*row) < Some(count))
    {
        Some((row, count)) => Err(format!(
            "{count} times, which is too often: {}",
            shown_row(row)
        )),
        None => Ok(()),
    }
}

fn check_rows(
    wanted: &[Row],
    given: &[Row],
    is_computed: &[bool],
    is_ordered: bool,
) -> Result<(), String> {
    let is_matched = wanted.len() == given.len() && {
        let mut matching = Matching {
            is_computed,
            names: HashMap::new(),
            tries: 0,
        };
        if is_ordered {
            let mut pairs = wanted.iter().zip(given);
            pairs.all(|(wanted, given)| matching.pair(wanted, given).is_some())
        } else {
            let (mut wanted, mut given) = (wanted.to_vec(), given.to_vec());
            without_equals(&mut wanted, &mut given);
            matching.all(&mut wanted.iter().collect(), &mut given.iter().collect())?
        }
    };
    if is_matched {
        return Ok(());
    }
    let order = if is_ordered { " in this order" } else { "" };
    let mut complaint = format!("expected {} rows{order}, got {}", wanted.len(), given.len());
    let (mut wanted, mut given) = (wanted.to_vec(), given.to_vec());
    if !is_ordered {
        without_equals(&mut wanted, &mut given);
    }
    for (what, rows) in [("expected", wanted), ("got", given)] {
        for row in rows.iter().take(SHOWN_MAX) {
            let _ = write!(complaint, "\n    {what} {}", shown_row(row));
        }
    }
    Err(complaint)
}

/// Takes rows out of both bags that are equal and have no blank nodes.
fn without_equals(wanted: &mut Vec<Row>, given: &mut Vec<Row>) {
    let is_ground = |row: &Row| !row.iter().flatten().any(has_blank);
    wanted.retain(|row| {
        let place = is_ground(row).then(|| given.iter().position(|other| other == row));
        place
            .flatten()
            .map(|place| given.swap_remove(place))
            .is_none()
    });
}

fn has_blank(term: &Term) -> bool {
    match term {
        Term::BlankNode(_) => true,
        Term::Triple(triple) => {
            matches!(triple.subject, NamedOrBlankNode::BlankNode(_)) || has_blank(&triple.object)
        }
        Term::NamedNode(_) | Term::Literal(_) => false,
    }
}

struct Matching<'a> {
    /// For each column.
    is_computed: &'a [bool],
    /// From expected labels (true) and given ones (false) to each other.
    names: HashMap<(bool, String), String>,
    tries: usize,
}

impl Matching<'_> {
    /// Matches all rows; depth of recursion is their number.
    fn all(&mut self, wanted: &mut Vec<&Row>, given: &mut Vec<&Row>) -> Result<bool, String> {
        if wanted.is_empty() {
            return Ok(true);
        }
        let mut fewest: Option<(usize, Vec<usize>)> = None;
        for (place, row) in wanted.iter().enumerate() {
            let partners: Vec<usize> = (0..given.len())
                .filter(|&other| self.can_pair(row, given[other]))
                .collect();
            if fewest
                .as_ref()
                .is_none_or(|(_, best)| partners.len() < best.len())
            {
                fewest = Some((place, partners));
            }
        }
        let (place, partners) = fewest.unwrap_or_default();
        let row = wanted.swap_remove(place);
        for partner in partners {
            self.tries += 1;
            if self.tries > TRIES_MAX {
                return Err("too many blank nodes look alike to compare the answers".to_owned());
            }
            let taken = given.swap_remove(partner);
            if let Some(bound) = self.pair(row, taken) {
                if self.all(wanted, given)? {
                    return Ok(true);
                }
                self.unbind(bound);
            }
            given.push(taken);
            let last = given.len() - 1;
            given.swap(partner, last);
        }
        wanted.push(row);
        let last = wanted.len() - 1;
        wanted.swap(place, last);
        Ok(false)
    }

    fn can_pair(&mut self, wanted: &Row, given: &Row) -> bool {
        let bound = self.pair(wanted, given);
        bound.map(|bound| self.unbind(bound)).is_some()
    }

    /// Extends the renaming so that the rows are the same; gives the names that are new, or nothing
    /// (and changes nothing) if there is no such extension.
    fn pair(&mut self, wanted: &Row, given: &Row) -> Option<Vec<(String, String)>> {
        let mut bound = Vec::new();
        let mut same = wanted.len() == given.len();
        for (column, (wanted, given)) in wanted.iter().zip(given).enumerate() {
            let is_computed = self.is_computed[column];
            same = same
                && match (wanted, given) {
                    (None, None) => true,
                    (Some(Term::Literal(wanted)), Some(Term::Literal(given))) if is_computed => {
                        wanted == given || have_same_value(wanted, given)
                    }
                    (Some(wanted), Some(given)) => self.terms(wanted, given, &mut bound),
                    _ => false,
                };
        }
        if same {
            return Some(bound);
        }
        self.unbind(bound);
        None
    }

    fn unbind(&mut self, bound: Vec<(String, String)>) {
        for (wanted, given) in bound {
            self.names.remove(&(true, wanted));
            self.names.remove(&(false, given));
        }
    }

    fn terms(&mut self, wanted: &Term, given: &Term, bound: &mut Vec<(String, String)>) -> bool {
        match (wanted, given) {
            (Term::BlankNode(wanted), Term::BlankNode(given)) => {
                self.blanks(wanted.as_str(), given.as_str(), bound)
            }
            (Term::Triple(wanted), Term::Triple(given)) => {
                let subjects =
                    [&wanted.subject, &given.subject].map(|term| Term::from(term.clone()));
                wanted.predicate == given.predicate
                    && self.terms(&subjects[0], &subjects[1], bound)
                    && self.terms(&wanted.object, &given.object, bound)
            }
            (wanted, given) => wanted == given,
        }
    }

    fn blanks(&mut self, wanted: &str, given: &str, bound: &mut Vec<(String, String)>) -> bool {
        let forth = (true, wanted.to_owned());
        let back = (false, given.to_owned());
        match (self.names.get(&forth), self.names.get(&back)) {
            (None, None) => {
                self.names.insert(forth, given.to_owned());
                self.names.insert(back, wanted.to_owned());
                bound.push((wanted.to_owned(), given.to_owned()));
                true
            }
            (Some(there), Some(here)) => there == given && here == wanted,
            _ => false,
        }
    }
}

/// Whether two numbers of one datatype are written differently only.
fn have_same_value(one: &Literal, other: &Literal) -> bool {
    let datatype = one.datatype();
    let is_number = [xsd::INTEGER, xsd::DECIMAL, xsd::DOUBLE, xsd::FLOAT].contains(&datatype);
    is_number && datatype == other.datatype() && crate::naive::have_same_number(one, other)
}

/// Checks a dataset, up to the names of blank nodes; the error is a complaint for people.
pub fn check_datasets(wanted: &Dataset, given: &Dataset) -> Result<(), String> {
    if wanted == given {
        return Ok(());
    }
    let [first, second] = [wanted, given].map(|dataset| {
        let mut dataset = dataset.clone();
        dataset.canonicalize(CanonicalizationAlgorithm::Unstable);
        dataset
    });
    if first == second {
        return Ok(());
    }
    let [wanted, given] = [wanted, given].map(quads_as_rows);
    check_rows(&wanted, &given, &[false; 4], false)
}

/// A row of four cells for each quad; the default graph has no name.
fn quads_as_rows(dataset: &Dataset) -> Vec<Row> {
    let mut quads: Vec<Quad> = dataset.iter().map(QuadRef::into_owned).collect();
    quads.sort_by_cached_key(ToString::to_string);
    let graph = |name| match name {
        GraphName::NamedNode(name) => Some(name.into()),
        GraphName::BlankNode(name) => Some(name.into()),
        GraphName::DefaultGraph => None,
    };
    let row = |quad: Quad| {
        vec![
            Some(quad.subject.into()),
            Some(quad.predicate.into()),
            Some(quad.object),
            graph(quad.graph_name),
        ]
    };
    quads.into_iter().map(row).collect()
}
