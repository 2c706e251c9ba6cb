//! `CONSTRUCT` and `DESCRIBE` (SPARQL 1.1 Query sections 16.2 and 16.4): graphs, given as the rows
//! of their triples.
//!
//! A blank node of a template is a new one for each solution; a triple that would not be one is left
//! out. The description of a resource is its concise bounded description: the triples of the
//! default graph that it is the subject of, and those of the blank nodes met as objects.

use super::NaiveError;
use super::basic::triple_term;
use super::evaluator::{Context, Evaluator};
use super::solution::Solution;
use crate::{Row, TRIPLE_COLUMNS};
use oxrdf::{BlankNode, NamedOrBlankNode, Term};
use spargebra::algebra::GraphPattern;
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};
use std::collections::{HashSet, VecDeque};

/// The columns of a graph's rows.
pub(super) fn columns() -> Vec<String> {
    TRIPLE_COLUMNS.map(str::to_owned).to_vec()
}

impl Evaluator<'_> {
    /// The triples that a template makes of the solutions.
    pub(super) fn construct(
        &self,
        template: &[TriplePattern],
        pattern: &GraphPattern,
        context: &Context,
    ) -> Result<Vec<Row>, NaiveError> {
        let selected = self.selected(pattern, context)?;
        let mut graph = HashSet::new();
        for (number, solution) in self.cut(selected)?.iter().enumerate() {
            let triples = template.iter();
            graph.extend(triples.filter_map(|triple| self.made(triple, solution, number)));
        }
        Ok(graph.into_iter().collect())
    }

    fn made(&self, triple: &TriplePattern, solution: &Solution, number: usize) -> Option<Row> {
        let [subject, predicate, object] = self.parts(triple, solution, number)?;
        triple_term(&subject, &predicate, &object)?;
        Some(vec![Some(subject), Some(predicate), Some(object)])
    }

    pub(super) fn parts(
        &self,
        triple: &TriplePattern,
        solution: &Solution,
        number: usize,
    ) -> Option<[Term; 3]> {
        let predicate = match &triple.predicate {
            NamedNodePattern::NamedNode(iri) => iri.clone().into(),
            NamedNodePattern::Variable(variable) => self.value(variable, solution)?,
        };
        Some([
            self.part(&triple.subject, solution, number)?,
            predicate,
            self.part(&triple.object, solution, number)?,
        ])
    }

    fn part(&self, part: &TermPattern, solution: &Solution, number: usize) -> Option<Term> {
        Some(match part {
            TermPattern::NamedNode(iri) => iri.clone().into(),
            TermPattern::Literal(literal) => literal.clone().into(),
            TermPattern::Variable(variable) => self.value(variable, solution)?,
            TermPattern::BlankNode(blank) => {
                BlankNode::new_unchecked(format!("made{number}x{}", blank.as_str())).into()
            }
            TermPattern::Triple(triple) => {
                let [subject, predicate, object] = self.parts(triple, solution, number)?;
                triple_term(&subject, &predicate, &object)?
            }
        })
    }

    /// The concise bounded descriptions of everything in the solutions.
    pub(super) fn describe(
        &self,
        pattern: &GraphPattern,
        context: &Context,
    ) -> Result<Vec<Row>, NaiveError> {
        let selected = self.selected(pattern, context)?;
        let mut wanted: VecDeque<Term> = VecDeque::new();
        for solution in self.cut(selected)? {
            wanted.extend(solution.terms().map(|term| Term::clone(term)));
        }
        let mut described: HashSet<Term> = HashSet::new();
        let mut graph = HashSet::new();
        while let Some(term) = wanted.pop_front() {
            if NamedOrBlankNode::try_from(term.clone()).is_err() || !described.insert(term.clone())
            {
                continue;
            }
            self.spend(context.graph.len())?;
            for triple in context.graph.iter().filter(|triple| *triple[0] == term) {
                if triple[2].is_blank_node() {
                    wanted.push_back(Term::clone(&triple[2]));
                }
                graph.insert(
                    triple
                        .each_ref()
                        .map(|part| Some(Term::clone(part)))
                        .to_vec(),
                );
            }
        }
        Ok(graph.into_iter().collect())
    }
}
