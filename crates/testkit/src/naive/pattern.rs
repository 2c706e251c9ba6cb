//! Graph patterns, evaluated by definition (SPARQL 1.1 Query sections 18.3, 18.5 and 18.6).
//!
//! The dataset is cut into its graphs first, as the dataset clause says: the default graph is the
//! merge of the `FROM` graphs, so a triple that two of them share is one triple. Blank nodes of a
//! query are variables that nothing outside their basic graph pattern sees; the grammar forbids
//! their labels anywhere else.

use super::NaiveError;
use super::expression::Scope;
use super::notes::Notes;
use super::solution::Solution;
use oxrdf::{Dataset, GraphName, GraphNameRef, Literal, NamedNode, Term, Variable};
use spargebra::algebra::{AggregateExpression, Expression, GraphPattern, QueryDataset};
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};
use std::collections::HashMap;
use std::rc::Rc;

/// A triple of the data.
type Triple = [Rc<Term>; 3];

/// The triples of a graph.
type Graph = Rc<Vec<Triple>>;

/// A position of a triple pattern.
enum Place {
    Constant(Term),
    Variable(usize),
    /// A triple term with variables inside.
    Triple(Box<[Place; 3]>),
}

/// Evaluates patterns over one dataset.
pub(super) struct Evaluator<'a> {
    pub(super) notes: &'a Notes,
    default: Graph,
    named: Vec<(Rc<Term>, Graph)>,
    slots: HashMap<String, usize>,
    work_left: u64,
}

impl<'a> Evaluator<'a> {
    pub(super) fn new(
        dataset: &Dataset,
        clause: Option<&QueryDataset>,
        notes: &'a Notes,
        work_max: u64,
    ) -> Evaluator<'a> {
        let (default, named) = graphs(dataset, clause);
        Evaluator {
            notes,
            default,
            named,
            slots: HashMap::new(),
            work_left: work_max,
        }
    }

    /// The number of a variable.
    pub(super) fn slot(&mut self, variable: &Variable) -> usize {
        self.slot_of(variable.as_str())
    }

    fn slot_of(&mut self, name: &str) -> usize {
        let next = self.slots.len();
        *self.slots.entry(name.to_owned()).or_insert(next)
    }

    /// The value of a variable in a solution.
    pub(super) fn value(&self, variable: &Variable, solution: &Solution) -> Option<Term> {
        solution.term(*self.slots.get(variable.as_str())?)
    }

    /// The bag of solutions of a pattern in the default graph.
    pub(super) fn evaluate(&mut self, pattern: &GraphPattern) -> Result<Vec<Solution>, NaiveError> {
        let graph = Rc::clone(&self.default);
        self.in_graph(pattern, &graph)
    }

    fn in_graph(
        &mut self,
        pattern: &GraphPattern,
        graph: &Graph,
    ) -> Result<Vec<Solution>, NaiveError> {
        match pattern {
            GraphPattern::Bgp { patterns } => self.basic(patterns, graph),
            GraphPattern::Join { left, right } => {
                let left = self.in_graph(left, graph)?;
                let right = self.in_graph(right, graph)?;
                self.join(&left, &right)
            }
            GraphPattern::Filter { expr, inner } => {
                let solutions = self.in_graph(inner, graph)?;
                Ok(self.filter(solutions, expr))
            }
            GraphPattern::Graph { name, inner } => self.graph(name, inner),
            GraphPattern::Extend {
                inner,
                variable,
                expression,
            } => {
                let solutions = self.in_graph(inner, graph)?;
                self.extend(solutions, variable, expression)
            }
            GraphPattern::Group {
                inner,
                variables,
                aggregates,
            } if variables.is_empty() => {
                let solutions = self.in_graph(inner, graph)?;
                self.count(&solutions, aggregates, inner)
            }
            _ => Err(NaiveError::Unsupported("this pattern")),
        }
    }

    fn spend(&mut self, work: usize) -> Result<(), NaiveError> {
        let left = self
            .work_left
            .checked_sub(work as u64)
            .ok_or(NaiveError::TooLarge)?;
        self.work_left = left;
        Ok(())
    }

    /// All ways to map the patterns onto triples of the graph. A set of patterns has no order, so
    /// the one with the most places known is taken next.
    fn basic(
        &mut self,
        patterns: &[TriplePattern],
        graph: &Graph,
    ) -> Result<Vec<Solution>, NaiveError> {
        let mut left: Vec<[Place; 3]> = patterns
            .iter()
            .map(|pattern| self.places(pattern))
            .collect();
        let mut bound: Vec<usize> = Vec::new();
        let mut solutions = vec![Solution::default()];
        while !left.is_empty() {
            let known =
                |places: &[Place; 3]| places.iter().filter(|each| each.is_known(&bound)).count();
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

    fn places(&mut self, pattern: &TriplePattern) -> [Place; 3] {
        let predicate = match &pattern.predicate {
            NamedNodePattern::NamedNode(iri) => Place::Constant(iri.clone().into()),
            NamedNodePattern::Variable(variable) => Place::Variable(self.slot(variable)),
        };
        [
            self.place(&pattern.subject),
            predicate,
            self.place(&pattern.object),
        ]
    }

    fn place(&mut self, pattern: &TermPattern) -> Place {
        match pattern {
            TermPattern::NamedNode(iri) => Place::Constant(iri.clone().into()),
            TermPattern::Literal(literal) => Place::Constant(literal.clone().into()),
            TermPattern::Variable(variable) => Place::Variable(self.slot(variable)),
            TermPattern::BlankNode(blank) => {
                Place::Variable(self.slot_of(&format!("_:{}", blank.as_str())))
            }
            TermPattern::Triple(triple) => Place::Triple(Box::new(self.places(triple))),
        }
    }

    /// All pairs that agree.
    fn join(&mut self, left: &[Solution], right: &[Solution]) -> Result<Vec<Solution>, NaiveError> {
        self.spend(left.len() * right.len())?;
        let pairs = left
            .iter()
            .flat_map(|one| right.iter().map(move |other| (one, other)));
        Ok(pairs.filter_map(|(one, other)| one.merged(other)).collect())
    }

    fn filter(&self, solutions: Vec<Solution>, expression: &Expression) -> Vec<Solution> {
        let holds = |solution: &Solution| {
            let lookup = |variable: &Variable| self.value(variable, solution);
            Scope {
                lookup: &lookup,
                notes: self.notes,
            }
            .truth(expression)
                == Some(true)
        };
        solutions.into_iter().filter(holds).collect()
    }

    /// A named graph, or the union over all of them, each joined with the graph variable's value.
    fn graph(
        &mut self,
        name: &NamedNodePattern,
        inner: &GraphPattern,
    ) -> Result<Vec<Solution>, NaiveError> {
        if has_graph(inner) {
            self.notes
                .spareval_differs("of nested GRAPHs it looks at the innermost only");
        }
        match name {
            NamedNodePattern::NamedNode(iri) => {
                let iri = Term::from(iri.clone());
                let found = self.named.iter().find(|(name, _)| **name == iri);
                match found.map(|(_, graph)| Rc::clone(graph)) {
                    Some(graph) => self.in_graph(inner, &graph),
                    None => Ok(Vec::new()),
                }
            }
            NamedNodePattern::Variable(variable) => {
                let slot = self.slot(variable);
                let mut union = Vec::new();
                for (name, graph) in self.named.clone() {
                    if graph.is_empty() {
                        self.notes
                            .spareval_differs("our narrowed dataset has no empty graphs");
                    }
                    let mut here = Solution::default();
                    assert!(here.bind(slot, &name), "an empty solution binds anything");
                    let solutions = self.in_graph(inner, &graph)?;
                    union.extend(self.join(&solutions, &[here])?);
                }
                Ok(union)
            }
        }
    }

    /// `BIND` and the projected expressions; an error leaves the variable unbound.
    fn extend(
        &mut self,
        solutions: Vec<Solution>,
        variable: &Variable,
        expression: &Expression,
    ) -> Result<Vec<Solution>, NaiveError> {
        let slot = self.slot(variable);
        let mut extended = Vec::with_capacity(solutions.len());
        for mut solution in solutions {
            let lookup = |variable: &Variable| self.value(variable, &solution);
            let value = Scope {
                lookup: &lookup,
                notes: self.notes,
            }
            .evaluate(expression);
            if let Some(value) = value
                && !solution.bind(slot, &Rc::new(value))
            {
                return Err(NaiveError::Unsupported("a variable that is bound twice"));
            }
            extended.push(solution);
        }
        Ok(extended)
    }

    /// `COUNT(*)` of the one group: one solution, also where nothing is counted.
    fn count(
        &mut self,
        solutions: &[Solution],
        aggregates: &[(Variable, AggregateExpression)],
        inner: &GraphPattern,
    ) -> Result<Vec<Solution>, NaiveError> {
        let mut counted = Solution::default();
        for (variable, aggregate) in aggregates {
            let AggregateExpression::CountSolutions { distinct } = aggregate else {
                return Err(NaiveError::Unsupported("an aggregate other than COUNT(*)"));
            };
            let count = if *distinct {
                self.distinct_count(solutions, inner)
            } else {
                solutions.len()
            };
            let count = Literal::from(count as i64);
            assert!(
                counted.bind(self.slot(variable), &Rc::new(count.into())),
                "each has its own"
            );
        }
        Ok(vec![counted])
    }

    /// Number of solutions that differ in what is in scope.
    fn distinct_count(&self, solutions: &[Solution], inner: &GraphPattern) -> usize {
        if self.slots.keys().any(|name| name.starts_with("_:")) {
            self.notes
                .spareval_differs("it tells solutions by the query's blank nodes too");
        }
        let mut in_scope: Vec<Variable> = Vec::new();
        inner.on_in_scope_variable(|variable| in_scope.push(variable.clone()));
        let row = |solution: &Solution| -> crate::Row {
            in_scope
                .iter()
                .map(|variable| self.value(variable, solution))
                .collect()
        };
        solutions
            .iter()
            .map(row)
            .collect::<std::collections::HashSet<_>>()
            .len()
    }
}

impl Place {
    fn is_known(&self, bound: &[usize]) -> bool {
        match self {
            Place::Constant(_) => true,
            Place::Variable(slot) => bound.contains(slot),
            Place::Triple(places) => places.iter().all(|place| place.is_known(bound)),
        }
    }

    fn note_variables(&self, bound: &mut Vec<usize>) {
        match self {
            Place::Constant(_) => {}
            Place::Variable(slot) => bound.push(*slot),
            Place::Triple(places) => places.iter().for_each(|place| place.note_variables(bound)),
        }
    }

    /// Whether a solution says already that this cannot be the term.
    fn contradicts(&self, term: &Term, solution: &Solution) -> bool {
        match self {
            Place::Constant(constant) => constant != term,
            Place::Variable(slot) => solution.get(*slot).is_some_and(|bound| **bound != *term),
            Place::Triple(_) => !term.is_triple(),
        }
    }

    fn bind(&self, term: &Rc<Term>, solution: &mut Solution) -> bool {
        match (self, &**term) {
            (Place::Constant(constant), term) => constant == term,
            (Place::Variable(slot), _) => solution.bind(*slot, term),
            (Place::Triple(places), Term::Triple(triple)) => {
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
            (Place::Triple(_), _) => false,
        }
    }
}

/// Whether the constants of a pattern are in their places.
fn may_match(places: &[Place; 3], triple: &Triple) -> bool {
    let mut pairs = places.iter().zip(triple);
    pairs.all(|(place, term)| !matches!(place, Place::Constant(constant) if *constant != **term))
}

/// The solution that maps the pattern onto the triple and agrees with the one so far.
fn matched(places: &[Place; 3], triple: &Triple, solution: &Solution) -> Option<Solution> {
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

/// Whether a `GRAPH` stands somewhere in a pattern.
fn has_graph(pattern: &GraphPattern) -> bool {
    match pattern {
        GraphPattern::Graph { .. } => true,
        GraphPattern::Join { left, right } => has_graph(left) || has_graph(right),
        GraphPattern::Filter { inner, .. } => has_graph(inner),
        _ => false,
    }
}

/// The default graph and the named graphs of a query (section 13.2).
fn graphs(dataset: &Dataset, clause: Option<&QueryDataset>) -> (Graph, Vec<(Rc<Term>, Graph)>) {
    let Some(clause) = clause else {
        let mut names: Vec<GraphName> = dataset
            .iter()
            .map(|quad| quad.graph_name.into_owned())
            .collect();
        names.sort_by_key(ToString::to_string);
        names.dedup();
        let default = triples(dataset, &[GraphName::DefaultGraph]);
        return (
            default,
            names
                .into_iter()
                .filter_map(|name| named(dataset, name))
                .collect(),
        );
    };
    let of = |iri: &NamedNode| GraphName::from(iri.clone());
    let default: Vec<GraphName> = clause.default.iter().map(of).collect();
    let mut names: Vec<&NamedNode> = clause.named.iter().flatten().collect();
    names.sort();
    names.dedup();
    let named = names.into_iter().filter_map(|iri| named(dataset, of(iri)));
    (triples(dataset, &default), named.collect())
}

fn named(dataset: &Dataset, name: GraphName) -> Option<(Rc<Term>, Graph)> {
    let term = match &name {
        GraphName::NamedNode(iri) => Term::from(iri.clone()),
        GraphName::BlankNode(blank) => blank.clone().into(),
        GraphName::DefaultGraph => return None,
    };
    Some((Rc::new(term), triples(dataset, &[name])))
}

/// The merge of graphs: each triple once.
fn triples(dataset: &Dataset, names: &[GraphName]) -> Graph {
    let quads = names
        .iter()
        .flat_map(|name| dataset.quads_for_graph_name(GraphNameRef::from(name)));
    let mut triples: Vec<oxrdf::Triple> = quads.map(|quad| quad.into_owned().into()).collect();
    triples.sort_by_cached_key(ToString::to_string);
    triples.dedup();
    let shared = |triple: oxrdf::Triple| {
        [
            triple.subject.into(),
            triple.predicate.into(),
            triple.object,
        ]
        .map(Rc::<Term>::new)
    };
    Rc::new(triples.into_iter().map(shared).collect())
}
