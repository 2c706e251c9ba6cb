//! Property paths of every form, mostly over predicates that the data has, with ends that are
//! variables, constants, or twice the same variable.

use super::Writer;
use oxrdf::{Quad, Term};

impl Writer<'_> {
    /// A path pattern that starts or ends somewhere in the data.
    pub(super) fn path_pattern(&mut self, quads: &[&Quad]) -> String {
        let depth = self.random.between(0, 2);
        let path = self.path(depth);
        let (subject, object) = match quads {
            [] => ("?a".to_owned(), "?b".to_owned()),
            quads => {
                let (start, end) = (*self.random.pick(quads), *self.random.pick(quads));
                let subject = self.path_end(&start.subject.clone().into());
                let object = self.path_end(&end.object);
                (subject, object)
            }
        };
        let object = if self.random.chance(12) {
            subject.clone()
        } else {
            object
        };
        for end in [&subject, &object] {
            if end.starts_with('?') {
                self.note(end);
            }
        }
        format!("{subject} {path} {object} .")
    }

    fn path_end(&mut self, term: &Term) -> String {
        match self.random.below(10) {
            0 => format!("?{}", self.random.pick(&["a", "b"])),
            1..3 if !self.variables.is_empty() => self.random.pick(&self.variables).clone(),
            3..6 if matches!(term, Term::NamedNode(_)) => term.to_string(),
            6 if self.random.chance(30) => crate::random_graph::iri("unknown").to_string(),
            _ => self.variable_of(term),
        }
    }

    fn path(&mut self, depth: usize) -> String {
        if depth == 0 {
            return match self.random.below(8) {
                0 => self.negated_set(),
                1 => format!("^{}", self.predicate()),
                _ => {
                    let closure = *self.random.pick(&["*", "+", "?", "*", "+", ""]);
                    format!("{}{closure}", self.predicate())
                }
            };
        }
        let deeper = depth - 1;
        match self.random.below(6) {
            0 | 1 => format!("({}/{})", self.path(deeper), self.path(deeper)),
            2 | 3 => format!("({}|{})", self.path(deeper), self.path(deeper)),
            4 => format!("^({})", self.path(deeper)),
            _ => {
                let closure = *self.random.pick(&["*", "+", "?"]);
                format!("({}){closure}", self.path(deeper))
            }
        }
    }

    fn negated_set(&mut self) -> String {
        let mut parts = Vec::new();
        for _ in 0..self.random.between(1, 3) {
            let inverse = if self.random.chance(30) { "^" } else { "" };
            parts.push(format!("{inverse}{}", self.predicate()));
        }
        format!("!({})", parts.join("|"))
    }

    fn predicate(&mut self) -> String {
        self.random.pick(&self.vocabulary.predicates).to_string()
    }
}
