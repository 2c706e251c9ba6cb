//! Basic graph patterns: all mappings of triple patterns onto triples of one graph (SPARQL 1.1
//! Query section 18.3).
//!
//! Blank nodes of a query are variables that nothing outside their basic graph pattern sees; the
//! grammar forbids their labels anywhere else. A pattern in triple terms (SPARQL 1.2) is matched
//! part by part.

use super::NaiveError;
use super::dataset::{Graph, Triple};
use super::evaluator::Evaluator;
use super::solution::Solution;
use oxrdf::{NamedOrBlankNode, Term};
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};
use std::rc::Rc;

/// A position of a triple pattern.
pub(super) enum PatternTerm {
    Constant(Rc<Term>),
    Variable(usize),
    /// A triple term with variables inside.
    Triple(Box<[PatternTerm; 3]>),
}

impl Evaluator<'_> {
    /// All ways to map the patterns onto triples of the graph that agree with `input`. A set of
    /// patterns has no order, so the one with the most places known is taken next.
    pub(super) fn basic(
        &self,
        patterns: &[TriplePattern],
        graph: &Graph,
        input: &Solution,
    ) -> Result<Vec<Solution>, NaiveError> {
        let mut left: Vec<[PatternTerm; 3]> = patterns
            .iter()
            .map(|pattern| self.places(pattern))
            .collect();
        let mut bound: Vec<usize> = input.bound().collect();
        let mut solutions = vec![input.clone()];
        while !left.is_empty() {
            let known = |places: &[PatternTerm; 3]| {
                places.iter().filter(|each| each.is_known(&bound)).count()
            };
            let next = (0..left.len()).max_by_key(|&index| known(&left[index]));
            let places = left.swap_remove(next.expect("there is one left"));
            let possible: Vec<&Triple> = graph
                .iter()
                .filter(|each| may_match(&places, each))
                .collect();
            self.spend(graph.len() + solutions.len() * possible.len())?;
            let pairs = solutions
                .iter()
                .flat_map(|each| possible.iter().map(move |triple| (each, *triple)));
            solutions = pairs
                .filter_map(|(each, triple)| matched(&places, triple, each))
                .collect();
            for place in &places {
                place.note_variables(&mut bound);
            }
        }
        Ok(solutions)
    }

    fn places(&self, pattern: &TriplePattern) -> [PatternTerm; 3] {
        let predicate = match &pattern.predicate {
            NamedNodePattern::NamedNode(iri) => PatternTerm::Constant(Rc::new(iri.clone().into())),
            NamedNodePattern::Variable(variable) => PatternTerm::Variable(self.slot(variable)),
        };
        [
            self.place(&pattern.subject),
            predicate,
            self.place(&pattern.object),
        ]
    }

    pub(super) fn place(&self, pattern: &TermPattern) -> PatternTerm {
        match pattern {
            TermPattern::NamedNode(iri) => PatternTerm::Constant(Rc::new(iri.clone().into())),
            TermPattern::Literal(literal) => PatternTerm::Constant(Rc::new(literal.clone().into())),
            TermPattern::Variable(variable) => PatternTerm::Variable(self.slot(variable)),
            TermPattern::BlankNode(blank) => {
                PatternTerm::Variable(self.slot_of(&format!("_:{}", blank.as_str())))
            }
            TermPattern::Triple(triple) => {
                let places = self.places(triple);
                match constant_triple(&places) {
                    Some(triple) => PatternTerm::Constant(Rc::new(triple)),
                    None => PatternTerm::Triple(Box::new(places)),
                }
            }
        }
    }
}

/// The triple term of three constants.
fn constant_triple(places: &[PatternTerm; 3]) -> Option<Term> {
    let [
        PatternTerm::Constant(subject),
        PatternTerm::Constant(predicate),
        PatternTerm::Constant(object),
    ] = places
    else {
        return None;
    };
    triple_term(subject, predicate, object)
}

/// The triple term with these parts, if they may be its parts.
pub(super) fn triple_term(subject: &Term, predicate: &Term, object: &Term) -> Option<Term> {
    let subject: NamedOrBlankNode = match subject {
        Term::NamedNode(iri) => iri.clone().into(),
        Term::BlankNode(blank) => blank.clone().into(),
        Term::Literal(_) | Term::Triple(_) => return None,
    };
    let Term::NamedNode(predicate) = predicate else {
        return None;
    };
    Some(oxrdf::Triple::new(subject, predicate.clone(), object.clone()).into())
}

impl PatternTerm {
    fn is_known(&self, bound: &[usize]) -> bool {
        match self {
            PatternTerm::Constant(_) => true,
            PatternTerm::Variable(slot) => bound.contains(slot),
            PatternTerm::Triple(places) => places.iter().all(|place| place.is_known(bound)),
        }
    }

    fn note_variables(&self, bound: &mut Vec<usize>) {
        match self {
            PatternTerm::Constant(_) => {}
            PatternTerm::Variable(slot) => bound.push(*slot),
            PatternTerm::Triple(places) => {
                places.iter().for_each(|place| place.note_variables(bound));
            }
        }
    }

    /// Whether a solution says already that this cannot be the term.
    fn contradicts(&self, term: &Term, solution: &Solution) -> bool {
        match self {
            PatternTerm::Constant(constant) => **constant != *term,
            PatternTerm::Variable(slot) => {
                solution.get(*slot).is_some_and(|bound| **bound != *term)
            }
            PatternTerm::Triple(_) => !term.is_triple(),
        }
    }

    /// Maps the place onto the term, if that agrees with the solution.
    pub(super) fn bind(&self, term: &Rc<Term>, solution: &mut Solution) -> bool {
        match (self, &**term) {
            (PatternTerm::Constant(constant), term) => **constant == *term,
            (PatternTerm::Variable(slot), _) => solution.bind(*slot, term),
            (PatternTerm::Triple(places), Term::Triple(triple)) => {
                let parts = [
                    Term::from(triple.subject.clone()),
                    triple.predicate.clone().into(),
                    triple.object.clone(),
                ];
                places
                    .iter()
                    .zip(parts)
                    .all(|(place, part)| place.bind(&Rc::new(part), solution))
            }
            (PatternTerm::Triple(_), _) => false,
        }
    }
}

/// Whether the constants of a pattern are in their places.
fn may_match(places: &[PatternTerm; 3], triple: &Triple) -> bool {
    let mut pairs = places.iter().zip(triple);
    pairs.all(|(place, term)| !matches!(place, PatternTerm::Constant(constant) if constant != term))
}

/// The solution that maps the pattern onto the triple and agrees with the one so far.
fn matched(places: &[PatternTerm; 3], triple: &Triple, solution: &Solution) -> Option<Solution> {
    let mut pairs = places.iter().zip(triple);
    if pairs
        .clone()
        .any(|(place, term)| place.contradicts(term, solution))
    {
        return None;
    }
    let mut extended = solution.clone();
    pairs
        .all(|(place, term)| place.bind(term, &mut extended))
        .then_some(extended)
}
