//! What is to be ordered: the patterns with their sizes, and how many rows a choice of them gives.
//!
//! For a set S of patterns the estimate does not depend on the order in which they are walked:
//!
//! ```text
//!   rows(S)  =   PROD  W_v(S)   *   PROD  f(p)
//!              variables v        patterns p
//!
//!   f(p) = 1 / E(p)          both ends variables: each end's star counts the edges once
//!        = degree / E(p)     one end a constant, whose degree was asked
//!        = 1                 a class, which the star's types count exactly
//! ```
//!
//! with `W` of [`super::star`] and `E(p)` the edges of the predicate (all edges for a variable
//! predicate). A variable in predicate position divides by the number of predicates for each
//! further pattern it stands in.

use super::index::Index;
use super::star::{Demand, Star};
use crate::expression::Expression;
use crate::plan::{Node, Slot};
use crate::query::{Pattern, Query};
use crate::statistics::DegreeQuestion;
use rdf::{Direction, VertexId};
use std::collections::HashMap;

/// A pattern with its sizes.
#[derive(Clone, Debug)]
pub(super) struct Sized {
    pub pattern: Pattern,
    /// Its variables, each once, as numbers of [`Problem::slots`].
    pub variables: Vec<usize>,
    /// `f(p)`; zero where nothing matches.
    pub factor: f64,
    /// Vertices that have the predicate, as subjects and as objects.
    pub keys: [f64; 2],
}

/// A filter as far as the order needs it.
#[derive(Clone, Debug)]
pub(super) struct SizedFilter {
    /// Its variables, each once, as numbers of [`Problem::slots`].
    pub variables: Vec<usize>,
    /// Share of rows that pass.
    pub selectivity: f64,
}

/// The join to be ordered.
#[derive(Debug)]
pub(super) struct Problem<'i> {
    pub index: &'i Index,
    pub patterns: Vec<Sized>,
    pub filters: Vec<SizedFilter>,
    /// The variables of patterns.
    pub slots: Vec<Slot>,
    /// By variable: its star.
    pub stars: Vec<Star>,
    /// By variable: the patterns that it is the predicate of.
    pub predicate_of: Vec<Vec<usize>>,
}

impl<'i> Problem<'i> {
    pub(super) fn new(
        query: &Query,
        ids: &[Option<VertexId>],
        answers: &[u64],
        index: &'i Index,
    ) -> Problem<'i> {
        let mut problem = Problem {
            index,
            patterns: Vec::with_capacity(query.patterns.len()),
            filters: Vec::new(),
            slots: Vec::new(),
            stars: Vec::new(),
            predicate_of: Vec::new(),
        };
        let mut numbers = vec![None; query.variables.len()];
        let questions = Questions::new(query, ids);
        for (number, pattern) in query.patterns.iter().enumerate() {
            let variables = pattern
                .slots()
                .map(|slot| problem.number(slot, &mut numbers));
            let variables = variables.collect();
            let degrees = questions.of_pattern[number]
                .map(|question| question.and_then(|at| answers.get(at)).map(|&d| d as f64));
            let sized = problem.size(number, *pattern, variables, ids, degrees, &numbers);
            problem.patterns.push(sized);
        }
        for star in &mut problem.stars {
            star.prepare(index);
        }
        for filter in &query.filters {
            let mut variables = Vec::new();
            filter.for_each_slot(&mut |slot| variables.extend(numbers[slot.0 as usize]));
            variables.sort_unstable();
            variables.dedup();
            problem.filters.push(SizedFilter {
                variables,
                selectivity: selectivity(filter),
            });
        }
        problem
    }

    fn number(&mut self, slot: Slot, numbers: &mut [Option<usize>]) -> usize {
        *numbers[slot.0 as usize].get_or_insert_with(|| {
            self.slots.push(slot);
            self.stars.push(Star::default());
            self.predicate_of.push(Vec::new());
            self.slots.len() - 1
        })
    }

    /// Sizes one pattern and adds what it demands to the stars of its ends.
    fn size(
        &mut self,
        number: usize,
        pattern: Pattern,
        variables: Vec<usize>,
        ids: &[Option<VertexId>],
        degrees: [Option<f64>; 2],
        numbers: &[Option<usize>],
    ) -> Sized {
        let predicate = resolve(pattern.predicate, ids);
        let statistics = match predicate {
            Resolved::Known(vertex) => self.index.predicate(vertex),
            _ => None,
        };
        let quads = self.index.statistics.quads as f64;
        let (edges, keys) = match (predicate, statistics) {
            (Resolved::Variable, _) => (quads, self.average_keys()),
            (_, Some(known)) => {
                let keys = [known.subjects as f64, known.objects as f64];
                (known.edges as f64, keys)
            }
            _ => (0.0, [0.0, 0.0]),
        };
        let ends = [pattern.subject, pattern.object];
        let absent = [pattern.subject, pattern.predicate, pattern.object]
            .into_iter()
            .chain(pattern.graph)
            .any(|node| resolve(node, ids) == Resolved::Absent);
        let class = self.class(&pattern, ids);
        for (end, direction) in ends.into_iter().zip([Direction::Out, Direction::In]) {
            if let Node::Slot(slot) = end {
                let demand = match (class, predicate) {
                    (Some(class), _) => Demand::Type(class),
                    (None, Resolved::Known(vertex)) => Demand::Predicate(direction, vertex),
                    _ => Demand::Any(direction),
                };
                let star = numbers[slot.0 as usize].expect("numbered with its pattern");
                self.stars[star].add(number, demand);
            }
        }
        if let Node::Slot(slot) = pattern.predicate {
            let variable = numbers[slot.0 as usize].expect("numbered with its pattern");
            self.predicate_of[variable].push(number);
        }
        let factor = match degrees {
            _ if absent || edges == 0.0 => 0.0,
            _ if class.is_some() => 1.0,
            [Some(out), Some(into)] => (out * into / edges).min(1.0),
            [Some(degree), None] | [None, Some(degree)] => degree / edges,
            [None, None] => 1.0 / edges,
        };
        Sized {
            pattern,
            variables,
            factor,
            keys,
        }
    }

    /// The class of a pattern `?x rdf:type C`, where the sets record types.
    fn class(&self, pattern: &Pattern, ids: &[Option<VertexId>]) -> Option<VertexId> {
        let rdf_type = self.index.statistics.type_vertex?;
        let is_type = resolve(pattern.predicate, ids) == Resolved::Known(rdf_type);
        match (pattern.subject, resolve(pattern.object, ids)) {
            (Node::Slot(_), Resolved::Known(class)) if is_type && self.index.has_types => {
                Some(class)
            }
            _ => None,
        }
    }

    fn average_keys(&self) -> [f64; 2] {
        let predicates = &self.index.statistics.predicates;
        let subjects: u64 = predicates.iter().map(|p| p.subjects).sum();
        let objects: u64 = predicates.iter().map(|p| p.objects).sum();
        [subjects, objects].map(|keys| keys as f64 / self.index.predicates())
    }

    /// What a variable contributes to `rows(S)` apart from its star's `W`, which is given: the
    /// patterns of S that it is the predicate of have to agree.
    pub(super) fn contribution(&self, solutions: f64, star_is_used: bool, uses: usize) -> f64 {
        let predicates = self.index.predicates();
        match (star_is_used, uses) {
            (_, 0) => solutions,
            (false, uses) => predicates.powi(1 - uses as i32),
            (true, uses) => solutions.min(predicates) * predicates.powi(-(uses as i32)),
        }
    }
}

/// What is known of a node before the walk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Resolved {
    Variable,
    Known(VertexId),
    /// A term that is stored nowhere.
    Absent,
}

pub(super) fn resolve(node: Node, ids: &[Option<VertexId>]) -> Resolved {
    match node {
        Node::Slot(_) => Resolved::Variable,
        Node::Constant(constant) => match ids.get(constant.0 as usize) {
            Some(Some(vertex)) => Resolved::Known(*vertex),
            _ => Resolved::Absent,
        },
    }
}

/// The degree questions of a query, each once, and which of them a pattern's ends ask.
pub(super) struct Questions {
    pub questions: Vec<DegreeQuestion>,
    /// By pattern: the questions of its subject and its object.
    pub of_pattern: Vec<[Option<usize>; 2]>,
}

impl Questions {
    pub(super) fn new(query: &Query, ids: &[Option<VertexId>]) -> Questions {
        let mut numbers: HashMap<DegreeQuestion, usize> = HashMap::new();
        let mut questions = Questions {
            questions: Vec::new(),
            of_pattern: Vec::with_capacity(query.patterns.len()),
        };
        for pattern in &query.patterns {
            let predicate = resolve(pattern.predicate, ids);
            let ends = [
                (pattern.subject, Direction::Out),
                (pattern.object, Direction::In),
            ];
            let asked = ends.map(|(end, direction)| {
                let question = DegreeQuestion {
                    vertex: match resolve(end, ids) {
                        Resolved::Known(vertex) => vertex,
                        _ => return None,
                    },
                    predicate: match predicate {
                        Resolved::Variable => None,
                        Resolved::Known(vertex) => Some(vertex),
                        Resolved::Absent => return None,
                    },
                    direction,
                };
                let list = &mut questions.questions;
                Some(*numbers.entry(question).or_insert_with(|| {
                    list.push(question);
                    list.len() - 1
                }))
            });
            questions.of_pattern.push(asked);
        }
        questions
    }
}

/// Share of rows that a filter lets pass: a guess by its kind.
pub(super) fn selectivity(filter: &Expression) -> f64 {
    use super::costs::selectivity::{EQUAL, OTHER, RANGE, STRING};
    use crate::expression::{Comparison, Function};
    match filter {
        Expression::Compare(Comparison::Equal, ..) | Expression::SameTerm(..) => EQUAL,
        Expression::Compare(Comparison::NotEqual, ..) => 1.0 - EQUAL,
        Expression::Compare(..) => RANGE,
        Expression::In(_, list) => (EQUAL * list.len() as f64).min(OTHER),
        Expression::Not(inner) => 1.0 - selectivity(inner),
        Expression::And(list) => list.iter().map(selectivity).product(),
        Expression::Or(list) => list.iter().map(selectivity).sum::<f64>().min(1.0),
        Expression::Bound(_) => 1.0,
        Expression::Call(
            Function::Regex
            | Function::Contains
            | Function::StrStarts
            | Function::StrEnds
            | Function::LangMatches,
            _,
        ) => STRING,
        _ => OTHER,
    }
}
