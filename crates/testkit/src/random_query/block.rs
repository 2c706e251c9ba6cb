//! Basic graph patterns: quads that hang together, with variables in the place of their terms.

use super::Writer;
use oxrdf::{Quad, Term};

/// How the quads of a block hang together.
#[derive(Clone, Copy)]
enum Shape {
    /// All have the first one's subject.
    Star,
    /// All have the first one's object.
    Sink,
    /// Each begins where the last one ends.
    Chain,
    /// Both ends are met already.
    Cycle,
    /// Some term is shared, be it a predicate.
    Any,
    /// Nothing need be shared.
    Cross,
}

impl Writer<'_> {
    /// One to six triple patterns.
    pub(super) fn block(&mut self, quads: &[&Quad]) -> String {
        if self.random.chance(7) {
            return self.free_block();
        }
        let count = *self.random.pick(&[1, 1, 1, 2, 2, 2, 3, 3, 4, 5, 6]);
        let chosen = self.walk(quads, count);
        let anonymous = self.anonymous_term(&chosen);
        let mut lines: Vec<String> = chosen
            .iter()
            .map(|quad| self.pattern(quad, anonymous.as_ref()))
            .collect();
        if self.random.chance(50) {
            self.random.shuffle(&mut lines);
        }
        lines.join(" ")
    }

    /// Quads, some of them perhaps twice, each sharing something with those before it.
    pub(super) fn walk<'q>(&mut self, quads: &[&'q Quad], count: usize) -> Vec<&'q Quad> {
        let shapes = [
            Shape::Star,
            Shape::Star,
            Shape::Sink,
            Shape::Chain,
            Shape::Chain,
            Shape::Any,
        ];
        let main = *self.random.pick(&shapes);
        let mut chosen = vec![*self.random.pick(quads)];
        while chosen.len() < count {
            let shape = match self.random.below(20) {
                0 => Shape::Cross,
                1..4 => Shape::Any,
                4..8 => Shape::Cycle,
                _ => main,
            };
            let fits = |quad: &&&Quad| fits(shape, quad, &chosen);
            let fitting: Vec<&'q Quad> = quads.iter().filter(fits).copied().collect();
            let from = if fitting.is_empty() { quads } else { &fitting };
            chosen.push(*self.random.pick(from));
        }
        chosen
    }

    /// At times one term is a blank node of the query: a variable that nobody sees outside.
    pub(super) fn anonymous_term(&mut self, chosen: &[&Quad]) -> Option<Term> {
        if !self.random.chance(6) {
            return None;
        }
        let term = Term::from(self.random.pick(chosen).subject.clone());
        let is_free = self.names.iter().all(|(known, _)| *known != term);
        self.anonymous += 1;
        is_free.then_some(term)
    }

    pub(super) fn pattern(&mut self, quad: &Quad, anonymous: Option<&Term>) -> String {
        let subject = self.place(&quad.subject.clone().into(), 80, anonymous);
        let predicate = if self.random.chance(3) {
            crate::random_graph::iri("unknown").to_string()
        } else {
            self.place(&quad.predicate.clone().into(), 15, None)
        };
        let object = self.place(&quad.object, 75, anonymous);
        format!("{subject} {predicate} {object} .")
    }

    /// What stands for a term: a variable in so many of a hundred cases, or itself.
    pub(super) fn place(
        &mut self,
        term: &Term,
        variables: usize,
        anonymous: Option<&Term>,
    ) -> String {
        if anonymous == Some(term) {
            return format!("_:a{}", self.anonymous);
        }
        match self.random.below(100) {
            0 => return self.other_constant(variables == 80),
            1..3 if !self.variables.is_empty() => return self.random.pick(&self.variables).clone(),
            _ => {}
        }
        let is_known = self.names.iter().any(|(known, _)| known == term);
        let share = if is_known { 93 } else { variables };
        if !is_written(term) || self.random.chance(share) {
            return self.variable_of(term);
        }
        term.to_string()
    }

    /// A constant that has nothing to do with the quad; a literal only where one may stand.
    fn other_constant(&mut self, is_resource: bool) -> String {
        let vocabulary = self.vocabulary;
        match self.random.below(3) {
            0 => crate::random_graph::iri("unknown").to_string(),
            1 if is_resource || vocabulary.literals.is_empty() => {
                self.random.pick(&vocabulary.iris).to_string()
            }
            1 => self.random.pick(&vocabulary.iris).to_string(),
            _ => self.random.pick(&vocabulary.predicates).to_string(),
        }
    }

    /// Patterns of few variables and predicates, wherever they may lead.
    fn free_block(&mut self) -> String {
        let mut lines = Vec::new();
        let names = ["?a", "?b", "?c"];
        for _ in 0..self.random.between(1, 3) {
            let subject = *self.random.pick(&names);
            let object = *self.random.pick(&names);
            let predicate = if self.random.chance(35) {
                (*self.random.pick(&["?p", "?q", "?a"])).to_owned()
            } else {
                self.random.pick(&self.vocabulary.predicates).to_string()
            };
            self.note(subject);
            self.note(object);
            if predicate.starts_with('?') {
                self.note(&predicate);
            }
            lines.push(format!("{subject} {predicate} {object} ."));
        }
        lines.join(" ")
    }
}

fn fits(shape: Shape, quad: &Quad, chosen: &[&Quad]) -> bool {
    let ends = |quad: &Quad| [Term::from(quad.subject.clone()), quad.object.clone()];
    let first = chosen[0];
    let last = chosen[chosen.len() - 1];
    match shape {
        Shape::Star => quad.subject == first.subject,
        Shape::Sink => quad.object == first.object,
        Shape::Chain => Term::from(quad.subject.clone()) == last.object,
        Shape::Cycle => {
            let is_met = |end: &Term| chosen.iter().any(|quad| ends(quad).contains(end));
            !chosen.contains(&quad) && ends(quad).iter().all(is_met)
        }
        Shape::Any => chosen.iter().any(|other| shares(quad, other)),
        Shape::Cross => true,
    }
}

fn shares(one: &Quad, other: &Quad) -> bool {
    let terms = |quad: &Quad| {
        [
            quad.subject.clone().into(),
            quad.predicate.clone().into(),
            quad.object.clone(),
        ]
    };
    let others: [Term; 3] = terms(other);
    terms(one).iter().any(|term: &Term| others.contains(term))
}

/// Whether a term can be written in a query of this release as what it is in the data.
pub(super) fn is_written(term: &Term) -> bool {
    matches!(term, Term::NamedNode(_) | Term::Literal(_))
}
