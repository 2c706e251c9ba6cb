//! Blank nodes of an answer, renamed to the labels of the graph that was loaded.
//!
//! An engine gives blank nodes labels of its own, the same ones in every answer over one load. For
//! random graphs the renaming is read off once: each blank node has a marker. For small cases it is
//! searched: every one-to-one renaming of the given labels to the expected ones is tried whose
//! nodes look alike (colour refinement over the rows), until one satisfies the check. Cost of the
//! search: factorial in the number of nodes that look alike, so it gives up at a bound.

use crate::Row;
use oxrdf::{BlankNode, Literal, NamedOrBlankNode, Term, Triple};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Renamings tried before the search gives up.
const TRIES_MAX: usize = 20_000;

/// How the blank nodes of an answer relate to those of the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blanks {
    /// They have the same labels.
    Same,
    /// From the answer's labels to ours.
    Mapped(HashMap<String, String>),
    /// Unknown: any one-to-one renaming will do, for each answer anew.
    Search,
}

impl Blanks {
    /// Reads the renaming off the rows of `SELECT ?blank ?name { ?blank <marker> ?name }`.
    pub fn of_markers(rows: &[Row]) -> Result<Blanks, String> {
        let mut names = HashMap::new();
        for row in rows {
            let [Some(Term::BlankNode(blank)), Some(Term::Literal(name))] = row.as_slice() else {
                return Err(format!(
                    "not a marked blank node: {}",
                    super::shown_row(row)
                ));
            };
            let before = names.insert(blank.as_str().to_owned(), Literal::value(name).to_owned());
            if before.is_some() {
                return Err(format!("{blank} has two markers"));
            }
        }
        let ours: BTreeSet<&String> = names.values().collect();
        if ours.len() < names.len() {
            return Err("two blank nodes have one marker".to_owned());
        }
        Ok(Blanks::Mapped(names))
    }

    /// Calls `check` with the rows renamed, for each renaming there may be, until it is content;
    /// otherwise gives its first complaint.
    pub(super) fn each_renaming(
        &self,
        expected: &[Row],
        rows: &[Row],
        mut check: impl FnMut(&[Row]) -> Result<(), String>,
    ) -> Result<(), String> {
        match self {
            Blanks::Same => check(rows),
            Blanks::Mapped(names) => check(&renamed(rows, names)),
            Blanks::Search => {
                let complaint = match check(rows) {
                    Ok(()) => return Ok(()),
                    Err(complaint) => complaint,
                };
                let mut search = Search::new(expected, rows, check);
                if search.from(0)? {
                    Ok(())
                } else {
                    Err(complaint)
                }
            }
        }
    }
}

struct Search<'a, F> {
    rows: &'a [Row],
    check: F,
    given: Vec<String>,
    candidates: Vec<Vec<String>>,
    names: HashMap<String, String>,
    taken: BTreeSet<String>,
    tries: usize,
}

impl<'a, F: FnMut(&[Row]) -> Result<(), String>> Search<'a, F> {
    fn new(expected: &[Row], rows: &'a [Row], check: F) -> Search<'a, F> {
        let ours = colours(expected);
        let theirs = colours(rows);
        let is_whole = expected.len() == rows.len();
        let alike = |colour: &String| {
            let same = ours
                .iter()
                .filter(|(_, other)| !is_whole || *other == colour);
            same.map(|(label, _)| label.clone()).collect()
        };
        Search {
            rows,
            check,
            candidates: theirs.values().map(alike).collect(),
            given: theirs.into_keys().collect(),
            names: HashMap::new(),
            taken: BTreeSet::new(),
            tries: 0,
        }
    }

    /// Tries all names for the given labels from this one on.
    fn from(&mut self, index: usize) -> Result<bool, String> {
        if index == self.given.len() {
            self.tries += 1;
            if self.tries > TRIES_MAX {
                return Err("too many blank nodes look alike to compare the answers".to_owned());
            }
            return Ok((self.check)(&renamed(self.rows, &self.names)).is_ok());
        }
        for name in self.candidates[index].clone() {
            if !self.taken.insert(name.clone()) {
                continue;
            }
            self.names.insert(self.given[index].clone(), name.clone());
            if self.from(index + 1)? {
                return Ok(true);
            }
            self.taken.remove(&name);
        }
        Ok(false)
    }
}

/// For each blank node how it looks from the rows: its places, and what stands beside it.
fn colours(rows: &[Row]) -> BTreeMap<String, String> {
    let mut labels = BTreeSet::new();
    for row in rows {
        row.iter()
            .flatten()
            .for_each(|term| note_labels(term, &mut labels));
    }
    let mut colours: BTreeMap<String, String> = labels
        .into_iter()
        .map(|label| (label, String::new()))
        .collect();
    for _ in 0..3 {
        let look = |label: &String| {
            let names = colours.iter().map(|(other, colour)| {
                let colour = if other == label { "self" } else { colour };
                (other.clone(), colour.to_owned())
            });
            let seen = renamed(rows, &names.collect());
            let mut lines: Vec<String> = seen
                .iter()
                .map(super::shown_row)
                .filter(|line| line.contains("_:self"))
                .collect();
            lines.sort_unstable();
            lines.join("\n")
        };
        let looks: Vec<String> = colours.keys().map(look).collect();
        let numbers: BTreeSet<&String> = looks.iter().collect();
        let number = |look: &String| numbers.iter().position(|other| *other == look);
        // The number of a look among the sorted looks is the same in both answers if these are.
        let next = looks
            .iter()
            .map(|look| format!("c{}", number(look).unwrap_or(0)));
        colours = colours
            .keys()
            .cloned()
            .zip(next.collect::<Vec<_>>())
            .collect();
    }
    colours
}

fn note_labels(term: &Term, labels: &mut BTreeSet<String>) {
    match term {
        Term::BlankNode(blank) => {
            labels.insert(blank.as_str().to_owned());
        }
        Term::Triple(triple) => {
            note_labels(&triple.subject.clone().into(), labels);
            note_labels(&triple.object, labels);
        }
        Term::NamedNode(_) | Term::Literal(_) => {}
    }
}

fn renamed(rows: &[Row], names: &HashMap<String, String>) -> Vec<Row> {
    let cell = |cell: &Option<Term>| cell.as_ref().map(|term| renamed_term(term, names));
    rows.iter()
        .map(|row| row.iter().map(cell).collect())
        .collect()
}

fn renamed_term(term: &Term, names: &HashMap<String, String>) -> Term {
    match term {
        Term::BlankNode(blank) => renamed_blank(blank, names).into(),
        Term::Triple(triple) => {
            let subject = match &triple.subject {
                NamedOrBlankNode::BlankNode(blank) => renamed_blank(blank, names).into(),
                NamedOrBlankNode::NamedNode(iri) => NamedOrBlankNode::from(iri.clone()),
            };
            let object = renamed_term(&triple.object, names);
            Triple::new(subject, triple.predicate.clone(), object).into()
        }
        Term::NamedNode(_) | Term::Literal(_) => term.clone(),
    }
}

fn renamed_blank(blank: &BlankNode, names: &HashMap<String, String>) -> BlankNode {
    match names.get(blank.as_str()) {
        Some(name) => BlankNode::new_unchecked(name),
        None => blank.clone(),
    }
}
