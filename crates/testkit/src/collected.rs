//! What the rows of a walk come to: solutions, a truth value, or a graph, by the definitions (SPARQL 1.1 Query section 16).
//!
//! `engine` makes them of rows on their way out; here a row is a map from slots to terms, and nothing is fast.

use crate::Row;
use crate::suite::Results;
use oxrdf::{BlankNode, NamedOrBlankNode, Term, Triple};
use query::plan::{Form, Node, Plan, Slot, TemplateTerm};
use rdf::VertexId;
use std::collections::HashSet;

/// What a walk's rows come to.
pub struct Collected<'p> {
    plan: &'p Plan,
    ids: &'p [Option<VertexId>],
    rows: Vec<Row>,
    count: usize,
    triples: HashSet<Triple>,
    /// What `DESCRIBE` is asked about.
    pub described: Vec<VertexId>,
}

impl<'p> Collected<'p> {
    /// Nothing yet.
    pub fn new(plan: &'p Plan, ids: &'p [Option<VertexId>]) -> Self {
        Collected {
            plan,
            ids,
            rows: Vec::new(),
            count: 0,
            triples: HashSet::new(),
            described: Vec::new(),
        }
    }

    /// Adds rows, given by their columns.
    pub fn add<'c>(
        &mut self,
        rows: u64,
        column: impl Fn(Slot) -> Option<&'c [VertexId]>,
        term: &dyn Fn(VertexId) -> Option<Term>,
    ) {
        for row in 0..rows as usize {
            let cell = |slot: Slot| column(slot).map(|cells| cells[row]);
            let value = |slot: Slot| cell(slot).and_then(term);
            match &self.plan.form {
                Form::Ask => {}
                Form::Select(slots) => {
                    self.rows
                        .push(slots.iter().map(|slot| value(*slot)).collect());
                }
                Form::Construct(template) => {
                    let solution = Solution {
                        number: self.count,
                        constants: &self.plan.constants,
                        value: &value,
                    };
                    let made = template.iter().filter_map(|triple| solution.made(triple));
                    self.triples.extend(made);
                }
                Form::Describe(nodes) => {
                    let named = |node: &Node| match node {
                        Node::Slot(slot) => cell(*slot),
                        Node::Constant(constant) => self.ids[constant.0 as usize],
                    };
                    self.described.extend(nodes.iter().filter_map(named));
                }
            }
            self.count += 1;
        }
    }

    /// Adds edges that describe what was asked about: subjects, predicates, objects.
    pub fn add_edges(
        &mut self,
        [subjects, predicates, objects]: &[Vec<VertexId>; 3],
        term: &dyn Fn(VertexId) -> Option<Term>,
    ) {
        for ((subject, predicate), object) in subjects.iter().zip(predicates).zip(objects) {
            let parts = [subject, predicate, object].map(|id| term(*id).expect("it is stored"));
            let made = triple_of(parts).expect("an edge is a triple");
            self.triples.insert(made);
        }
    }

    /// What it comes to.
    pub fn into_results(self) -> Results {
        match &self.plan.form {
            Form::Ask => Results::Boolean(self.count > 0),
            Form::Construct(_) | Form::Describe(_) => {
                Results::Graph(self.triples.into_iter().collect())
            }
            Form::Select(slots) => Results::Solutions {
                variables: slots
                    .iter()
                    .map(|slot| self.plan.variables[usize::from(slot.0)].clone())
                    .collect(),
                rows: self.rows,
            },
        }
    }
}

/// One solution, and which it is.
struct Solution<'s> {
    number: usize,
    constants: &'s [Term],
    value: &'s dyn Fn(Slot) -> Option<Term>,
}

impl Solution<'_> {
    /// The triple of a template; `None` where a part is unbound or impossible.
    fn made(&self, template: &[TemplateTerm; 3]) -> Option<Triple> {
        let [subject, predicate, object] = template;
        triple_of([
            self.part(subject)?,
            self.part(predicate)?,
            self.part(object)?,
        ])
    }

    fn part(&self, part: &TemplateTerm) -> Option<Term> {
        match part {
            TemplateTerm::Slot(slot) => (self.value)(*slot),
            TemplateTerm::Constant(constant) => Some(self.constants[constant.0 as usize].clone()),
            TemplateTerm::Blank(blank) => {
                let label = format!("made{}x{blank}", self.number);
                Some(BlankNode::new_unchecked(label).into())
            }
            TemplateTerm::Triple(parts) => Some(self.made(parts)?.into()),
        }
    }
}

/// The triple with these parts, if they may be its parts.
fn triple_of([subject, predicate, object]: [Term; 3]) -> Option<Triple> {
    let subject = match subject {
        Term::NamedNode(iri) => NamedOrBlankNode::from(iri),
        Term::BlankNode(blank) => blank.into(),
        Term::Literal(_) | Term::Triple(_) => return None,
    };
    match predicate {
        Term::NamedNode(predicate) => Some(Triple::new(subject, predicate, object)),
        _ => None,
    }
}
