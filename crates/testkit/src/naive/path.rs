//! Property paths by their definitions (SPARQL 1.1 Query section 18.4): the multiset of pairs that a
//! path connects in one graph.
//!
//! Sequences and alternatives keep duplicates; `?`, `*` and `+` give sets, found by the
//! specification's procedure ALP, so cycles end. A path of no length connects a constant end with
//! itself even if the graph does not know it, and without a constant end every term that is a
//! subject or an object of the graph. A negated set gives a pair for each triple, as one would
//! write it with a variable and a filter.

use super::NaiveError;
use super::basic::PatternTerm;
use super::dataset::Graph;
use super::evaluator::{Context, Evaluator};
use super::solution::Solution;
use oxrdf::{NamedNode, Term};
use spargebra::algebra::PropertyPathExpression as Path;
use spargebra::term::TermPattern;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

type Pair = (Rc<Term>, Rc<Term>);
type End<'a> = Option<&'a Rc<Term>>;

impl Evaluator<'_> {
    /// The solutions of a path pattern, joined with the input.
    pub(super) fn path(
        &self,
        subject: &TermPattern,
        path: &Path,
        object: &TermPattern,
        context: &Context,
    ) -> Result<Vec<Solution>, NaiveError> {
        let (subject, object) = (self.place(subject), self.place(object));
        let pairs = self.pairs(path, constant(&subject), constant(&object), &context.graph)?;
        self.note_deviations(path, &pairs, context);
        let matched = |(start, end): &Pair| {
            let mut solution = context.input.clone();
            (subject.bind(start, &mut solution) && object.bind(end, &mut solution))
                .then_some(solution)
        };
        Ok(pairs.iter().filter_map(matched).collect())
    }

    fn note_deviations(&self, path: &Path, pairs: &[Pair], context: &Context) {
        let distinct: HashSet<&Pair> = pairs.iter().collect();
        if distinct.len() < pairs.len() {
            self.notes
                .spareval_differs("how often a path connects two ends depends on its plan");
        }
        let nodes: HashSet<Rc<Term>> = nodes(&context.graph).into_iter().collect();
        let is_outside = |(start, end): &Pair| start == end && !nodes.contains(start);
        if pairs.iter().any(is_outside) {
            self.notes
                .spareval_differs("a path of no length needs a term of the graph there");
        }
        if !context.graph_slots.is_empty() && is_closure(path) {
            self.notes
                .spareval_differs("closures over all graphs at once repeat ends");
        }
    }

    /// The pairs that a path connects, as far as they agree with the constant ends.
    fn pairs(
        &self,
        path: &Path,
        start: End<'_>,
        end: End<'_>,
        graph: &Graph,
    ) -> Result<Vec<Pair>, NaiveError> {
        Ok(match path {
            Path::NamedNode(iri) => {
                let is_it = |predicate: &Term| *predicate == Term::from(iri.clone());
                self.edges(&is_it, start, end, graph)?
            }
            Path::NegatedPropertySet(iris) => {
                let is_other =
                    |predicate: &Term| !iris.iter().any(|iri: &NamedNode| is(iri, predicate));
                self.edges(&is_other, start, end, graph)?
            }
            Path::Reverse(inner) => {
                let pairs = self.pairs(inner, end, start, graph)?;
                pairs.into_iter().map(|(one, other)| (other, one)).collect()
            }
            Path::Sequence(first, second) => {
                let first = self.pairs(first, start, None, graph)?;
                let second = self.pairs(second, None, end, graph)?;
                self.spend(first.len() + second.len())?;
                joined(&first, &second)
            }
            Path::Alternative(one, other) => {
                let mut pairs = self.pairs(one, start, end, graph)?;
                pairs.extend(self.pairs(other, start, end, graph)?);
                pairs
            }
            Path::ZeroOrOne(inner) => {
                let mut pairs = of_no_length(start, end, graph);
                pairs.extend(self.pairs(inner, start, end, graph)?);
                distinct(pairs)
            }
            Path::ZeroOrMore(inner) => self.closure(inner, true, start, end, graph)?,
            Path::OneOrMore(inner) => self.closure(inner, false, start, end, graph)?,
        })
    }

    fn edges(
        &self,
        is_allowed: &dyn Fn(&Term) -> bool,
        start: End<'_>,
        end: End<'_>,
        graph: &Graph,
    ) -> Result<Vec<Pair>, NaiveError> {
        self.spend(graph.len())?;
        let fits = |wanted: End<'_>, term: &Rc<Term>| wanted.is_none_or(|wanted| wanted == term);
        let edges = graph.iter().filter(|[subject, predicate, object]| {
            is_allowed(predicate) && fits(start, subject) && fits(end, object)
        });
        Ok(edges
            .map(|[subject, _, object]| (Rc::clone(subject), Rc::clone(object)))
            .collect())
    }

    /// ALP from each start; backwards, where only the end is known.
    fn closure(
        &self,
        inner: &Path,
        allows_no_length: bool,
        start: End<'_>,
        end: End<'_>,
        graph: &Graph,
    ) -> Result<Vec<Pair>, NaiveError> {
        if let (None, Some(_)) = (start, end) {
            let inverse = Path::Reverse(Box::new(inner.clone()));
            let pairs = self.closure(&inverse, allows_no_length, end, None, graph)?;
            return Ok(pairs.into_iter().map(|(one, other)| (other, one)).collect());
        }
        let starts = match start {
            Some(start) => vec![Rc::clone(start)],
            None => nodes(graph),
        };
        let mut pairs = Vec::new();
        for start in starts {
            let reached = self.reached(inner, allows_no_length, &start, graph)?;
            let ends = reached
                .into_iter()
                .filter(|each| end.is_none_or(|end| end == each));
            pairs.extend(ends.map(|each| (Rc::clone(&start), each)));
        }
        Ok(pairs)
    }

    fn reached(
        &self,
        inner: &Path,
        allows_no_length: bool,
        start: &Rc<Term>,
        graph: &Graph,
    ) -> Result<Vec<Rc<Term>>, NaiveError> {
        let mut seen: HashSet<Rc<Term>> = HashSet::new();
        let mut reached = Vec::new();
        let mut next = vec![Rc::clone(start)];
        if allows_no_length {
            seen.insert(Rc::clone(start));
            reached.push(Rc::clone(start));
        }
        while let Some(from) = next.pop() {
            for (_, to) in self.pairs(inner, Some(&from), None, graph)? {
                if seen.insert(Rc::clone(&to)) {
                    reached.push(Rc::clone(&to));
                    next.push(to);
                }
            }
        }
        Ok(reached)
    }
}

fn is(iri: &NamedNode, term: &Term) -> bool {
    matches!(term, Term::NamedNode(other) if other == iri)
}

fn constant(place: &PatternTerm) -> End<'_> {
    match place {
        PatternTerm::Constant(term) => Some(term),
        PatternTerm::Variable(_) | PatternTerm::Triple(_) => None,
    }
}

/// All subjects and objects of a graph, each once.
fn nodes(graph: &Graph) -> Vec<Rc<Term>> {
    let mut seen = HashSet::new();
    let ends = graph
        .iter()
        .flat_map(|[subject, _, object]| [subject, object]);
    ends.filter(|term| seen.insert(Rc::clone(term)))
        .cloned()
        .collect()
}

fn of_no_length(start: End<'_>, end: End<'_>, graph: &Graph) -> Vec<Pair> {
    let twice = |term: &Rc<Term>| (Rc::clone(term), Rc::clone(term));
    match (start, end) {
        (Some(start), Some(end)) if start != end => Vec::new(),
        (Some(term), _) | (None, Some(term)) => vec![twice(term)],
        (None, None) => nodes(graph).iter().map(twice).collect(),
    }
}

fn distinct(pairs: Vec<Pair>) -> Vec<Pair> {
    let mut seen = HashSet::new();
    pairs
        .into_iter()
        .filter(|pair| seen.insert(pair.clone()))
        .collect()
}

fn joined(first: &[Pair], second: &[Pair]) -> Vec<Pair> {
    let mut from: HashMap<&Rc<Term>, Vec<&Rc<Term>>> = HashMap::new();
    for (middle, end) in second {
        from.entry(middle).or_default().push(end);
    }
    let ends = |(start, middle): &Pair| -> Vec<Pair> {
        let ends = from.get(middle).into_iter().flatten();
        ends.map(|end| (Rc::clone(start), Rc::clone(end))).collect()
    };
    first.iter().flat_map(ends).collect()
}

fn is_closure(path: &Path) -> bool {
    match path {
        Path::NamedNode(_) | Path::NegatedPropertySet(_) => false,
        Path::Reverse(inner) | Path::ZeroOrOne(inner) => is_closure(inner),
        Path::Sequence(one, other) | Path::Alternative(one, other) => {
            is_closure(one) || is_closure(other)
        }
        Path::OneOrMore(_) | Path::ZeroOrMore(_) => true,
    }
}
