//! `CONSTRUCT`: from rows of terms to triples, by the template.
//!
//! A triple with an unbound part, or a part that RDF does not allow in its place, is left out (SPARQL
//! 1.1 Query section 16.2). A blank node of the template is a new one for each row. Its label is made
//! of a number drawn for the query, the row and its number in the template, so it meets no label of
//! the store or of another answer; or else of the row's terms ([`Labels::OfSolution`]), so that the same
//! solutions give the same graph whenever they are asked for.
//!
//! The answer is a graph, so a triple that was given out is not given out again, as long as it is
//! remembered: [`REMEMBERED_MAX`] of the last different triples are, by ids. Beyond that an answer may
//! hold a triple twice, which is the same graph in every format; memory stays bounded.

use crate::budget::Budget;
use crate::error::QueryError;
use crate::output::Rows;
use explore::{Chunk, MemoryBudget, WalkError};
use oxrdf::{NamedNode, NamedOrBlankNode, Term, TermRef, Triple};
use query::plan::{Slot, TemplateTerm};
use rdf::{TermBuffer, VertexId};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Triples that are remembered.
const REMEMBERED_MAX: usize = 1 << 18;
/// Bytes of all that are remembered, the table's slack included.
const REMEMBERED_BYTES: u64 = (REMEMBERED_MAX * 2 * size_of::<[u64; 3]>()) as u64;

/// Bytes of a solution that is remembered, the table's slack included.
const SOLUTION_BYTES: u64 = 2 * size_of::<(u128, u64)>() as u64;

/// Triples that are given together, at most.
const BATCH_TRIPLES: usize = 1 << 12;
/// Text of triples after which they are given.
const BATCH_BYTES: usize = 1 << 20;

/// What the labels of a template's blank nodes are made of.
pub(crate) enum Labels {
    /// A number drawn for the answer, and the number of the row.
    Drawn(u64),
    /// The terms of the columns that the template reads, and how many rows before have the same. 50 bytes are remembered
    /// for each different row.
    OfSolution,
}

/// Makes triples of rows.
pub(crate) struct Construction<'c> {
    template: &'c [[TemplateTerm; 3]],
    constants: &'c [Term],
    /// The columns that are decoded, ascending.
    slots: Vec<Slot>,
    /// What was made and not yet given.
    triples: Rows,
    /// What the buffers of these were drawn for.
    drawn_bytes: u64,
    label: String,
    row: u64,
    /// Where labels are those of solutions: how often each came, by its hash.
    solutions: Option<HashMap<u128, u64>>,
    seen: Option<HashSet<[u64; 3]>>,
    budget: &'c Budget,
}

impl<'c> Construction<'c> {
    /// For a template.
    pub(crate) fn new(
        template: &'c [[TemplateTerm; 3]],
        constants: &'c [Term],
        labels: &Labels,
        budget: &'c Budget,
    ) -> Construction<'c> {
        let (label, solutions) = match labels {
            Labels::Drawn(chance) => (format!("c{chance:016x}"), None),
            Labels::OfSolution => {
                let has_blank = template.iter().flatten().any(has_blank);
                (String::new(), has_blank.then(HashMap::new))
            }
        };
        let mut slots = Vec::new();
        template
            .iter()
            .flatten()
            .for_each(|term| read(term, &mut slots));
        slots.sort_unstable();
        slots.dedup();
        let mut triples = Rows::default();
        triples.columns.resize_with(3, TermBuffer::for_output);
        let remembers = budget.try_reserve(REMEMBERED_BYTES).is_ok();
        Construction {
            template,
            constants,
            slots,
            triples,
            drawn_bytes: 0,
            label,
            row: 0,
            solutions,
            seen: remembers.then(HashSet::new),
            budget,
        }
    }

    /// The columns whose terms are needed, in the order in which [`Construction::make`] takes them.
    pub(crate) fn slots(&self) -> Vec<Slot> {
        self.slots.clone()
    }

    /// Makes the triples of decoded rows, which are those of `chunk` from `first` on, and gives them to
    /// `each`, some at a time: a template may make many times the text of its rows, of constants or by
    /// repetition.
    pub(crate) fn make(
        &mut self,
        rows: &Rows,
        chunk: &Chunk,
        first: usize,
        each: &mut dyn FnMut(&Rows) -> Result<(), QueryError>,
    ) -> Result<(), QueryError> {
        for row in 0..rows.len {
            self.name(rows, row)?;
            for triple in self.template {
                self.triple(triple, rows, row, chunk, first + row);
                if self.triples.len >= BATCH_TRIPLES || self.text_bytes() > BATCH_BYTES {
                    self.give(each)?;
                }
            }
            self.row += 1;
        }
        self.give(each)
    }

    /// Where labels are those of solutions, the one of this row.
    fn name(&mut self, rows: &Rows, row: usize) -> Result<(), QueryError> {
        let Some(solutions) = &mut self.solutions else {
            return Ok(());
        };
        let key = hash(rows, row);
        if !solutions.contains_key(&key) {
            self.budget
                .try_reserve(SOLUTION_BYTES)
                .map_err(WalkError::from)?;
        }
        let count = solutions.entry(key).or_insert(0);
        self.label = format!("s{key:032x}");
        self.row = *count;
        *count += 1;
        Ok(())
    }

    fn text_bytes(&self) -> usize {
        let columns = self.triples.columns.iter();
        columns.map(TermBuffer::text_bytes).sum()
    }

    /// Gives the triples that were made and forgets them.
    fn give(
        &mut self,
        each: &mut dyn FnMut(&Rows) -> Result<(), QueryError>,
    ) -> Result<(), QueryError> {
        let columns = self.triples.columns.iter();
        let held: usize = columns.map(TermBuffer::bytes).sum();
        let made = self.triples.len;
        assert!(
            self.triples
                .columns
                .iter()
                .all(|column| column.len() == made),
            "a triple has a cell in each column"
        );
        if held as u64 > self.drawn_bytes {
            let more = held as u64 - self.drawn_bytes;
            self.budget.try_reserve(more).map_err(WalkError::from)?;
            self.drawn_bytes = held as u64;
        }
        if self.triples.len > 0 {
            each(&self.triples)?;
        }
        self.triples.columns.iter_mut().for_each(TermBuffer::clear);
        self.triples.len = 0;
        Ok(())
    }

    fn triple(
        &mut self,
        triple: &[TemplateTerm; 3],
        rows: &Rows,
        row: usize,
        chunk: &Chunk,
        at: usize,
    ) {
        let [subject, predicate, object] = triple;
        let made = [subject, predicate, object].map(|part| self.term(part, rows, row));
        let [Some(subject), Some(predicate), Some(object)] = made else {
            return;
        };
        let is_subject = matches!(
            subject,
            BuiltTerm::Is(TermRef::NamedNode(_) | TermRef::BlankNode(_))
        ) || matches!(subject, BuiltTerm::Made(Term::BlankNode(_)));
        let is_predicate = matches!(predicate, BuiltTerm::Is(TermRef::NamedNode(_)));
        if !is_subject || !is_predicate || self.was_given(triple, chunk, at) {
            return;
        }
        let columns = self.triples.columns.iter_mut();
        for (column, part) in columns.zip([subject, predicate, object]) {
            match part {
                BuiltTerm::Is(term) => column.push(term),
                BuiltTerm::Made(term) => column.push(term.as_ref()),
            }
        }
        self.triples.len += 1;
    }

    /// Whether the triple is remembered; it is from now on.
    fn was_given(&mut self, triple: &[TemplateTerm; 3], chunk: &Chunk, at: usize) -> bool {
        let Some(seen) = &mut self.seen else {
            return false;
        };
        let mut key = [0; 3];
        for (key, part) in key.iter_mut().zip(triple) {
            *key = match part {
                TemplateTerm::Slot(slot) => match chunk.column(*slot) {
                    Some(cells) => cells[at].bits(),
                    None => VertexId::UNBOUND.bits(),
                },
                // No id of the graph has all of its upper bits set.
                TemplateTerm::Constant(constant) => !u64::from(constant.0),
                TemplateTerm::Blank(_) | TemplateTerm::Triple(_) => return false,
            };
        }
        if seen.len() >= REMEMBERED_MAX {
            seen.clear();
        }
        !seen.insert(key)
    }

    fn term<'t>(&self, part: &TemplateTerm, rows: &'t Rows, row: usize) -> Option<BuiltTerm<'t>>
    where
        'c: 't,
    {
        Some(match part {
            TemplateTerm::Slot(slot) => {
                let column = self.slots.binary_search(slot).ok()?;
                BuiltTerm::Is(rows.columns[column].get(row)?)
            }
            TemplateTerm::Constant(constant) => {
                BuiltTerm::Is(self.constants.get(constant.0 as usize)?.as_ref())
            }
            TemplateTerm::Blank(number) => {
                let label = format!("{}r{}n{number}", self.label, self.row);
                BuiltTerm::Made(oxrdf::BlankNode::new_unchecked(label).into())
            }
            TemplateTerm::Triple(parts) => {
                let [subject, predicate, object] =
                    [0, 1, 2].map(|at| self.term(&parts[at], rows, row).map(BuiltTerm::into_owned));
                let subject: NamedOrBlankNode = match subject? {
                    Term::NamedNode(iri) => iri.into(),
                    Term::BlankNode(blank) => blank.into(),
                    _ => return None,
                };
                let predicate: NamedNode = match predicate? {
                    Term::NamedNode(iri) => iri,
                    _ => return None,
                };
                BuiltTerm::Made(Triple::new(subject, predicate, object?).into())
            }
        })
    }
}

impl Drop for Construction<'_> {
    fn drop(&mut self) {
        let remembered = self.seen.as_ref().map_or(0, |_| REMEMBERED_BYTES);
        let solutions = self.solutions.as_ref().map_or(0, HashMap::len);
        let remembered = remembered + solutions as u64 * SOLUTION_BYTES;
        self.budget.release(remembered + self.drawn_bytes);
    }
}

/// A part of a triple.
enum BuiltTerm<'t> {
    Is(TermRef<'t>),
    Made(Term),
}

impl BuiltTerm<'_> {
    fn into_owned(self) -> Term {
        match self {
            BuiltTerm::Is(term) => term.into_owned(),
            BuiltTerm::Made(term) => term,
        }
    }
}

/// A number of 128 bits that the terms of a row alone decide.
fn hash(rows: &Rows, row: usize) -> u128 {
    let [low, high] = [1u8, 2].map(|salt| {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        for cell in rows.row(row) {
            cell.hash(&mut hasher);
        }
        hasher.finish()
    });
    u128::from(high) << 64 | u128::from(low)
}

fn has_blank(term: &TemplateTerm) -> bool {
    match term {
        TemplateTerm::Blank(_) => true,
        TemplateTerm::Slot(_) | TemplateTerm::Constant(_) => false,
        TemplateTerm::Triple(parts) => parts.iter().any(has_blank),
    }
}

fn read(term: &TemplateTerm, slots: &mut Vec<Slot>) {
    match term {
        TemplateTerm::Slot(slot) => slots.push(*slot),
        TemplateTerm::Constant(_) | TemplateTerm::Blank(_) => {}
        TemplateTerm::Triple(parts) => parts.iter().for_each(|part| read(part, slots)),
    }
}
