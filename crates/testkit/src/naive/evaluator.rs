//! Graph patterns, evaluated by definition (SPARQL 1.1 Query sections 18.5 and 18.6): bottom-up,
//! multisets of partial mappings, every pair compared.
//!
//! Two places look at a row from outside: `EXISTS` and `LATERAL`. There the row is joined at each
//! leaf of the pattern (basic graph pattern, path, `VALUES`, `GRAPH ?g`), which is the substitution
//! of the current row, with the values still visible to filters; a sub-query gets those variables
//! only that it projects. `GRAPH ?g` joins its group with the graph's name afterwards (section 18.6).
//! A variable that came from outside counts as shared in `MINUS` where both sides name it.

use super::basic;
use super::choice::{self, Choice};
use super::dataset::{self, Graph, Named};
use super::expression::Scope;
use super::having;
use super::notes::Notes;
use super::solution::Solution;
use super::{Beside, NaiveError};
use oxrdf::{Dataset, Literal, Term, Variable};
use spargebra::algebra::{Expression, GraphPattern, QueryDataset};
use spargebra::term::{GroundTerm, NamedNodePattern};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// Where a pattern is evaluated.
#[derive(Clone)]
pub(super) struct Context {
    /// The active graph.
    pub(super) graph: Graph,
    /// What the leaves are joined with.
    pub(super) input: Solution,
    /// Variables of the `GRAPH`s around this place.
    pub(super) graph_slots: Vec<usize>,
}

/// Evaluates patterns over one dataset.
pub(super) struct Evaluator<'a> {
    pub(super) notes: &'a Notes,
    default: Graph,
    named: Named,
    /// Graphs that only their own name finds.
    beside: Named,
    /// When triples came.
    given: &'a Beside,
    slots: RefCell<HashMap<String, usize>>,
    choices: RefCell<Vec<Choice>>,
    work_left: Cell<u64>,
    pub(super) base: Option<&'a Resolve<'a>>,
}

/// Resolves a relative IRI.
pub(super) type Resolve<'r> = dyn Fn(&str) -> Option<Term> + 'r;

impl<'a> Evaluator<'a> {
    pub(super) fn new(
        dataset: &Dataset,
        clause: Option<&QueryDataset>,
        beside: &'a Beside,
        notes: &'a Notes,
        work_max: u64,
        base: Option<&'a Resolve<'a>>,
    ) -> Evaluator<'a> {
        let (default, named) = dataset::graphs(dataset, clause);
        let other = beside.default.clone().map(dataset::bag);
        Evaluator {
            notes,
            default: other.unwrap_or(default),
            named,
            beside: dataset::beside(&beside.graphs),
            given: beside,
            slots: RefCell::default(),
            choices: RefCell::default(),
            work_left: Cell::new(work_max),
            base,
        }
    }

    /// The time of a triple of these three terms, or what stands for none; `None` is an error.
    pub(super) fn time_of(&self, terms: &[Option<Term>]) -> Option<Term> {
        let time = match terms {
            [Some(subject), Some(predicate), Some(object)] => {
                match basic::triple_term(subject, predicate, object) {
                    Some(Term::Triple(triple)) => self.given.times.get(&*triple).copied(),
                    _ => None,
                }
            }
            _ => None,
        };
        match time {
            Some(time_ms) => Some(Literal::from(i64::try_from(time_ms).ok()?).into()),
            None => self.given.is_compat.then(|| Literal::from(false).into()),
        }
    }

    /// The default graph, nothing known.
    pub(super) fn outside(&self) -> Context {
        Context {
            graph: Rc::clone(&self.default),
            input: Solution::default(),
            graph_slots: Vec::new(),
        }
    }

    /// The number of a variable.
    pub(super) fn slot(&self, variable: &Variable) -> usize {
        self.slot_of(variable.as_str())
    }

    pub(super) fn slot_of(&self, name: &str) -> usize {
        let mut slots = self.slots.borrow_mut();
        let next = slots.len();
        *slots.entry(name.to_owned()).or_insert(next)
    }

    /// The variables in scope, numbered.
    pub(super) fn slots_in_scope(&self, pattern: &GraphPattern) -> Vec<usize> {
        let mut slots = Vec::new();
        pattern.on_in_scope_variable(|variable| slots.push(self.slot(variable)));
        slots.sort_unstable();
        slots.dedup();
        slots
    }

    /// Whether some pattern so far has blank nodes.
    pub(super) fn has_blank_slots(&self) -> bool {
        self.slots
            .borrow()
            .keys()
            .any(|name| name.starts_with("_:"))
    }

    /// The value of a variable in a solution.
    pub(super) fn value(&self, variable: &Variable, solution: &Solution) -> Option<Term> {
        solution.term(*self.slots.borrow().get(variable.as_str())?)
    }

    pub(super) fn spend(&self, work: usize) -> Result<(), NaiveError> {
        let left = self.work_left.get().checked_sub(work as u64);
        self.work_left.set(left.unwrap_or(0));
        left.map(|_| ()).ok_or(NaiveError::TooLarge)
    }

    /// A value of which any of these is right.
    pub(super) fn chosen(&self, choice: Choice) -> Term {
        let mut choices = self.choices.borrow_mut();
        choices.push(choice);
        choice::marker(choices.len() - 1)
    }

    /// All choices so far.
    pub(super) fn choices(&self) -> Vec<Choice> {
        self.choices.borrow().clone()
    }

    /// The bag of solutions of a pattern.
    pub(super) fn evaluate(
        &self,
        pattern: &GraphPattern,
        context: &Context,
    ) -> Result<Vec<Solution>, NaiveError> {
        self.spend(1)?;
        match pattern {
            GraphPattern::Bgp { patterns } => self.basic(patterns, &context.graph, &context.input),
            GraphPattern::Path {
                subject,
                path,
                object,
            } => self.path(subject, path, object, context),
            GraphPattern::Join { left, right } => {
                let left = self.evaluate(left, context)?;
                let right = self.evaluate(right, context)?;
                self.join(&left, &right)
            }
            GraphPattern::LeftJoin {
                left,
                right,
                expression,
            } => self.left_join(left, right, expression.as_ref(), context),
            GraphPattern::Lateral { left, right } => self.lateral(left, right, context),
            GraphPattern::Filter { expr, inner } => {
                let solutions = self.evaluate(inner, context)?;
                self.filter(solutions, expr, context)
            }
            GraphPattern::Union { left, right } => {
                let mut union = self.evaluate(left, context)?;
                union.extend(self.evaluate(right, context)?);
                Ok(union)
            }
            GraphPattern::Graph { name, inner } => self.graph(name, inner, context),
            GraphPattern::Extend {
                inner,
                variable,
                expression,
            } => {
                if let Some(later) = having::after_alias(pattern) {
                    self.notes.spareval_differs("its HAVING sees no alias");
                    return self.evaluate(&later, context);
                }
                let solutions = self.evaluate(inner, context)?;
                self.extend(solutions, variable, expression, context)
            }
            GraphPattern::Minus { left, right } => self.minus(left, right, context),
            GraphPattern::Values {
                variables,
                bindings,
            } => self.values(variables, bindings, context),
            GraphPattern::OrderBy { .. }
            | GraphPattern::Project { .. }
            | GraphPattern::Distinct { .. }
            | GraphPattern::Reduced { .. }
            | GraphPattern::Slice { .. } => self.sub_query(pattern, context),
            GraphPattern::Group {
                inner,
                variables,
                aggregates,
            } => {
                let solutions = self.evaluate(inner, context)?;
                self.group(inner, &solutions, variables, aggregates, context)
            }
            GraphPattern::Service { .. } => Err(NaiveError::Unsupported("SERVICE")),
        }
    }

    /// All pairs that agree.
    fn join(&self, left: &[Solution], right: &[Solution]) -> Result<Vec<Solution>, NaiveError> {
        self.spend(left.len() * right.len())?;
        self.refuse_choices(left)?;
        self.refuse_choices(right)?;
        let pairs = left
            .iter()
            .flat_map(|one| right.iter().map(move |other| (one, other)));
        Ok(pairs.filter_map(|(one, other)| one.merged(other)).collect())
    }

    /// Compatible pairs for which the condition holds over both, and rows that have none.
    fn left_join(
        &self,
        left: &GraphPattern,
        right: &GraphPattern,
        condition: Option<&Expression>,
        context: &Context,
    ) -> Result<Vec<Solution>, NaiveError> {
        let left = self.evaluate(left, context)?;
        let right = self.evaluate(right, context)?;
        self.spend(left.len() * right.len())?;
        let mut joined = Vec::new();
        for one in &left {
            let before = joined.len();
            for merged in right.iter().filter_map(|other| one.merged(other)) {
                let holds =
                    condition.is_none_or(|condition| self.holds(condition, &merged, context));
                joined.extend(holds.then_some(merged));
            }
            self.notes.check()?;
            if joined.len() == before {
                joined.push(one.clone());
            }
        }
        Ok(joined)
    }

    /// For each row of the left side the solutions of the right side that know the row.
    fn lateral(
        &self,
        left: &GraphPattern,
        right: &GraphPattern,
        context: &Context,
    ) -> Result<Vec<Solution>, NaiveError> {
        let mut all = Vec::new();
        for row in self.evaluate(left, context)? {
            let here = Context {
                input: row.clone(),
                ..context.clone()
            };
            let found = self.evaluate(right, &here)?;
            all.extend(found.iter().filter_map(|each| row.merged(each)));
        }
        Ok(all)
    }

    /// Rows that no row of the right side is compatible with while sharing a variable.
    fn minus(
        &self,
        left: &GraphPattern,
        right: &GraphPattern,
        context: &Context,
    ) -> Result<Vec<Solution>, NaiveError> {
        let (in_left, in_right) = (self.slots_in_scope(left), self.slots_in_scope(right));
        let left = self.evaluate(left, context)?;
        let right = self.evaluate(right, context)?;
        self.spend(left.len() * right.len())?;
        let is_named = |slot: &usize| in_left.contains(slot) && in_right.contains(slot);
        let is_removed = |row: &Solution| {
            right.iter().any(|other| {
                let mut shared = row
                    .bound()
                    .filter(|&slot| other.get(slot).is_some())
                    .peekable();
                if row.merged(other).is_none() {
                    return false;
                }
                if shared.peek().is_none() {
                    if !context.graph_slots.is_empty() {
                        self.notes
                            .spareval_differs("in MINUS it counts the variable of GRAPH");
                    }
                    return false;
                }
                let counts =
                    shared.any(|slot| context.input.get(slot).is_none() || is_named(&slot));
                if !counts {
                    self.notes
                        .spareval_differs("in MINUS it counts variables that came from outside");
                }
                counts
            })
        };
        Ok(left.into_iter().filter(|row| !is_removed(row)).collect())
    }

    fn values(
        &self,
        variables: &[Variable],
        bindings: &[Vec<Option<GroundTerm>>],
        context: &Context,
    ) -> Result<Vec<Solution>, NaiveError> {
        self.spend(bindings.len())?;
        let slots: Vec<usize> = variables
            .iter()
            .map(|variable| self.slot(variable))
            .collect();
        let row = |row: &Vec<Option<GroundTerm>>| {
            let mut solution = context.input.clone();
            let mut cells = slots.iter().zip(row);
            cells
                .all(|(&slot, cell)| match cell {
                    Some(term) => solution.bind(slot, &Rc::new(Term::from(term.clone()))),
                    None => true,
                })
                .then_some(solution)
        };
        Ok(bindings.iter().filter_map(row).collect())
    }

    /// Whether an expression is true of a solution.
    pub(super) fn holds(
        &self,
        expression: &Expression,
        solution: &Solution,
        context: &Context,
    ) -> bool {
        self.scope(solution, context).truth(expression) == Some(true)
    }

    pub(super) fn scope<'s>(&'s self, solution: &'s Solution, context: &'s Context) -> Scope<'s> {
        Scope {
            evaluator: self,
            context,
            solution,
        }
    }

    /// Whether a pattern has a solution, seen from a row.
    pub(super) fn exists(
        &self,
        pattern: &GraphPattern,
        row: &Solution,
        context: &Context,
    ) -> Option<bool> {
        let here = Context {
            input: row.clone(),
            ..context.clone()
        };
        match self.evaluate(pattern, &here) {
            Ok(solutions) => Some(!solutions.is_empty()),
            Err(error) => {
                self.notes.fail(error);
                None
            }
        }
    }

    fn filter(
        &self,
        solutions: Vec<Solution>,
        expression: &Expression,
        context: &Context,
    ) -> Result<Vec<Solution>, NaiveError> {
        self.spend(solutions.len())?;
        let holds = |solution: &Solution| self.holds(expression, solution, context);
        let kept = solutions.into_iter().filter(holds).collect();
        self.notes.check()?;
        Ok(kept)
    }

    /// A named graph, or the union over all of them, each joined with the graph variable's value.
    fn graph(
        &self,
        name: &NamedNodePattern,
        inner: &GraphPattern,
        context: &Context,
    ) -> Result<Vec<Solution>, NaiveError> {
        if has_graph(inner) {
            self.notes
                .spareval_differs("of nested GRAPHs it looks at the innermost only");
        }
        if !looks_into_graph(inner, name) {
            self.notes
                .spareval_differs("it forgets the graph where no triple pattern is in it");
        }
        let mut union = Vec::new();
        let beside = match name {
            NamedNodePattern::NamedNode(_) => self.beside.as_slice(),
            NamedNodePattern::Variable(_) => &[],
        };
        for (iri, graph) in self.named.iter().chain(beside) {
            let mut here = Context {
                graph: Rc::clone(graph),
                ..context.clone()
            };
            let mut row = Solution::default();
            match name {
                NamedNodePattern::NamedNode(wanted) => {
                    if **iri != Term::from(wanted.clone()) {
                        continue;
                    }
                }
                NamedNodePattern::Variable(variable) => {
                    let slot = self.slot(variable);
                    assert!(row.bind(slot, iri), "an empty solution binds anything");
                    if here.input.get(slot).is_some_and(|outside| outside != iri) {
                        continue;
                    }
                    if names(inner, variable) {
                        self.notes
                            .spareval_differs("within GRAPH ?g it has ?g bound");
                    }
                    here.graph_slots.push(slot);
                }
            }
            if graph.is_empty() {
                self.notes
                    .spareval_differs("our narrowed dataset has no empty graphs");
            }
            let solutions = self.evaluate(inner, &here)?;
            union.extend(solutions.iter().filter_map(|each| each.merged(&row)));
        }
        Ok(union)
    }

    /// `BIND` and the projected expressions; an error leaves the variable unbound.
    fn extend(
        &self,
        solutions: Vec<Solution>,
        variable: &Variable,
        expression: &Expression,
        context: &Context,
    ) -> Result<Vec<Solution>, NaiveError> {
        self.spend(solutions.len())?;
        let slot = self.slot(variable);
        let mut extended = Vec::with_capacity(solutions.len());
        for mut solution in solutions {
            if solution.get(slot).is_some() {
                return Err(NaiveError::Undetermined("a variable that is bound twice"));
            }
            let value = match expression {
                // A choice passes through the head of a query unseen.
                Expression::Variable(from) => self.value(from, &solution),
                other => self.scope(&solution, context).evaluate(other),
            };
            self.notes.check()?;
            if let Some(value) = value {
                assert!(solution.bind(slot, &Rc::new(value)), "it was unbound");
            }
            extended.push(solution);
        }
        Ok(extended)
    }

    /// Fails where a value may be one of several and it would matter which one.
    pub(super) fn refuse_choices(&self, solutions: &[Solution]) -> Result<(), NaiveError> {
        if self.choices.borrow().is_empty() {
            return Ok(());
        }
        let is_open =
            |solution: &Solution| solution.terms().any(|term| choice::number(term).is_some());
        if solutions.iter().any(is_open) {
            return Err(NaiveError::Undetermined(
                "the value of an aggregate is looked at",
            ));
        }
        Ok(())
    }
}

/// Whether a variable stands somewhere in a pattern.
fn names(pattern: &GraphPattern, variable: &Variable) -> bool {
    let text = pattern.to_string();
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(variable.as_str()).any(|(at, name)| {
        text[..at].ends_with('?') && !text[at + name.len()..].starts_with(is_name)
    })
}

/// Whether a `GRAPH` stands somewhere in a pattern, be it in its filters.
fn has_graph(pattern: &GraphPattern) -> bool {
    pattern.to_string().contains("GRAPH ")
}

/// Whether every solution of a pattern comes from a leaf that lies in the graph and, where it is a
/// variable, keeps it.
fn looks_into_graph(pattern: &GraphPattern, name: &NamedNodePattern) -> bool {
    match pattern {
        GraphPattern::Bgp { .. } | GraphPattern::Path { .. } | GraphPattern::Graph { .. } => true,
        GraphPattern::Join { left, right }
        | GraphPattern::Lateral { left, right }
        | GraphPattern::LeftJoin { left, right, .. }
        | GraphPattern::Minus { left, right }
        | GraphPattern::Union { left, right } => {
            looks_into_graph(left, name) && looks_into_graph(right, name)
        }
        GraphPattern::Filter { inner, .. }
        | GraphPattern::Extend { inner, .. }
        | GraphPattern::OrderBy { inner, .. }
        | GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner }
        | GraphPattern::Slice { inner, .. } => looks_into_graph(inner, name),
        GraphPattern::Project { inner, variables } => {
            let is_kept = match name {
                NamedNodePattern::NamedNode(_) => true,
                NamedNodePattern::Variable(variable) => variables.contains(variable),
            };
            is_kept && looks_into_graph(inner, name)
        }
        GraphPattern::Values { .. } | GraphPattern::Group { .. } | GraphPattern::Service { .. } => {
            false
        }
    }
}
