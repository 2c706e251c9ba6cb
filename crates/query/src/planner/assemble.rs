//! An order of patterns to a list of steps.
//!
//! * A filter stands right after the step that binds the last of its variables; one without
//!   variables stands first.
//! * A graph variable is bound by the first expand or check of its patterns; later patterns look
//!   only in that graph.
//! * Modifiers follow in the order of SPARQL 1.1 section 18.2.5: order, projection, distinct, slice.
//!   Where DISTINCT keeps every column that ORDER BY reads, it goes before the sort (equal rows have
//!   equal keys), so the sort is of fewer rows and can be a top-k; else it goes after it, keeping
//!   the first of equal rows.
//! * At the end a pass from the last step to the first finds which columns live on after each.

use super::access::{self, Flow, Move};
use super::costs;
use super::order::Ordered;
use super::problem::{Problem, Sized, selectivity};
use crate::expression::Expression;
use crate::plan::{Action, Estimate, Form, Node, Plan, Scope, Slot, Step, Weight};
use crate::query::Query;
use rdf::Direction;
use std::collections::{BTreeSet, HashSet};

/// The plan for an order.
pub(super) fn assemble(query: &Query, problem: &Problem<'_>, order: &[Ordered]) -> Plan {
    let mut assembly = Assembly::new(query);
    assembly.place_filters(query);
    for ordered in order {
        assembly.pattern(problem, *ordered);
        assembly.place_filters(query);
    }
    for graph in &query.graphs {
        assembly.graph(*graph, problem.index.statistics.named_graphs as f64);
        assembly.place_filters(query);
    }
    // What is left has a variable that nothing binds: the translator leaves none.
    assembly.place_rest(query);
    let walked = assembly.cost();
    assembly.modifiers(query);
    let weight = assembly.weight(query, walked);
    keep_live(&mut assembly.steps, &assembly.result);
    Plan {
        variables: assembly.variables,
        constants: query.constants.clone(),
        dataset: query.dataset.clone(),
        base: None,
        steps: assembly.steps,
        form: query.form.clone(),
        weight,
    }
}

/// The steps so far.
struct Assembly {
    variables: Vec<String>,
    steps: Vec<Step>,
    bound: HashSet<Slot>,
    /// Filters not placed yet: number, and variables not bound yet.
    waiting: Vec<(usize, HashSet<Slot>)>,
    /// Estimated rows of the table.
    rows: f64,
    /// Rows before the component being walked.
    base: f64,
    /// Share of rows that the component's filters have let pass.
    passed: f64,
    leading: Option<Slot>,
    /// The columns that the form reads.
    result: Vec<Slot>,
}

impl Assembly {
    fn new(query: &Query) -> Assembly {
        let waiting = query.filters.iter().enumerate().map(|(number, filter)| {
            let mut slots = HashSet::new();
            filter.for_each_slot(&mut |slot| {
                slots.insert(slot);
            });
            (number, slots)
        });
        Assembly {
            variables: query.variables.clone(),
            steps: Vec::new(),
            bound: HashSet::new(),
            waiting: waiting.collect(),
            rows: 1.0,
            base: 1.0,
            passed: 1.0,
            leading: None,
            result: Vec::new(),
        }
    }

    fn push(&mut self, action: Action, rows: f64, cost_ns: f64) {
        self.rows = rows;
        self.steps.push(Step {
            action,
            keep: Vec::new(),
            estimate: Estimate { rows, cost_ns },
        });
    }

    fn cost(&self) -> f64 {
        self.steps.iter().map(|step| step.estimate.cost_ns).sum()
    }

    /// The moves of one pattern.
    fn pattern(&mut self, problem: &Problem<'_>, ordered: Ordered) {
        let sized = &problem.patterns[ordered.pattern];
        if ordered.begins {
            self.base = self.rows;
            self.passed = 1.0;
        }
        let bound = |slot: Slot| self.bound.contains(&slot);
        let moves = access::moves(sized, bound, ordered.keys);
        for step in moves.into_iter().flatten() {
            let flow = Flow {
                rows_in: self.rows,
                rows_out: (self.base * ordered.rows * self.passed).min(access::ROWS_MAX),
                leading: self.leading,
            };
            let predicates = problem.index.predicates();
            let (rows, cost) = access::estimate(sized, step, flow, predicates);
            self.take(sized, step, rows, cost);
            self.leading = self.leading.or(access::binds(sized, step));
        }
    }

    /// Writes one move.
    fn take(&mut self, sized: &Sized, step: Move, rows: f64, cost: f64) {
        let pattern = &sized.pattern;
        let into = access::binds(sized, step);
        let scope = self.scope(pattern.graph);
        let (subject, predicate, object) = (pattern.subject, pattern.predicate, pattern.object);
        let from = |direction| match direction {
            Direction::Out => subject,
            Direction::In => object,
        };
        let action = match (step, into) {
            (Move::AllPredicates, Some(into)) => Action::AllPredicates { into },
            (Move::Predicates(direction), Some(into)) => Action::ExpandPredicates {
                from: from(direction),
                direction,
                into,
            },
            (Move::Keys(direction), Some(into)) => Action::ExpandKeys {
                predicate,
                direction,
                scope: self.apart(scope, into),
                into,
            },
            (Move::Expand(direction), Some(into)) => {
                return self.expand(
                    from(direction),
                    predicate,
                    direction,
                    scope,
                    into,
                    rows,
                    cost,
                );
            }
            _ => Action::Check {
                subject,
                predicate,
                object,
                scope,
            },
        };
        let binds_graph = matches!(action, Action::Check { .. });
        self.push(action, rows, cost);
        self.bound.extend(into);
        if let (Scope::Bind(graph), true) = (scope, binds_graph) {
            self.bound.insert(graph);
        }
    }

    /// An expand; where the new end is also the graph, the graph is bound apart and compared.
    #[expect(clippy::too_many_arguments, reason = "the fields of one action")]
    fn expand(
        &mut self,
        from: Node,
        predicate: Node,
        direction: Direction,
        scope: Scope,
        into: Slot,
        rows: f64,
        cost_ns: f64,
    ) {
        let scope_apart = self.apart(scope, into);
        let action = Action::Expand {
            from,
            predicate,
            direction,
            scope: scope_apart,
            into,
        };
        self.push(action, rows, cost_ns);
        self.bound.insert(into);
        if let Scope::Bind(graph) = scope_apart {
            self.bound.insert(graph);
            if scope_apart != scope {
                let same = Action::Same {
                    left: into,
                    right: graph,
                };
                self.push(same, rows, rows * costs::SAME);
            }
        }
    }

    /// A scope that binds another slot than the step itself does.
    fn apart(&mut self, scope: Scope, into: Slot) -> Scope {
        match scope {
            Scope::Bind(graph) if graph == into => Scope::Bind(self.hidden()),
            scope => scope,
        }
    }

    fn scope(&self, graph: Option<Node>) -> Scope {
        match graph {
            None => Scope::Default,
            Some(Node::Slot(slot)) if !self.bound.contains(&slot) => Scope::Bind(slot),
            Some(node) => Scope::Named(node),
        }
    }

    /// A graph that has to be one of the dataset's.
    fn graph(&mut self, graph: Node, graphs: f64) {
        let rows = (self.rows * graphs).min(access::ROWS_MAX);
        let listed = match graph {
            Node::Slot(slot) if !self.bound.contains(&slot) => slot,
            _ => self.hidden(),
        };
        self.push(Action::AllGraphs { into: listed }, rows, rows * costs::ROW);
        self.bound.insert(listed);
        match graph {
            Node::Slot(slot) if slot == listed => {}
            Node::Slot(slot) => {
                let same = Action::Same {
                    left: slot,
                    right: listed,
                };
                self.push(same, rows / graphs.max(1.0), rows * costs::SAME);
            }
            Node::Constant(constant) => {
                let is_graph = Expression::SameTerm(
                    Box::new(Expression::Slot(listed)),
                    Box::new(Expression::Constant(constant)),
                );
                let filter = Action::Filter(is_graph);
                self.push(filter, rows / graphs.max(1.0), rows * costs::FILTER);
            }
        }
    }

    fn hidden(&mut self) -> Slot {
        let slot = Slot(self.variables.len() as u16);
        self.variables.push(format!(".{}", slot.0));
        slot
    }

    /// Places the filters whose variables are all bound.
    fn place_filters(&mut self, query: &Query) {
        let bound = &self.bound;
        let mut ready = Vec::new();
        self.waiting.retain_mut(|(number, needs)| {
            needs.retain(|slot| !bound.contains(slot));
            let waits = !needs.is_empty();
            if !waits {
                ready.push(*number);
            }
            waits
        });
        for number in ready {
            self.filter(&query.filters[number]);
        }
    }

    fn place_rest(&mut self, query: &Query) {
        for (number, _) in std::mem::take(&mut self.waiting) {
            self.filter(&query.filters[number]);
        }
    }

    fn filter(&mut self, filter: &Expression) {
        let share = selectivity(filter);
        self.passed *= share;
        let cost = self.rows * costs::FILTER;
        self.push(Action::Filter(filter.clone()), self.rows * share, cost);
    }

    /// Count, or order, distinct and slice; then what the form needs.
    fn modifiers(&mut self, query: &Query) {
        if let Some(count) = &query.count {
            let distinct = count.distinct.clone();
            let per_row = if distinct.is_some() {
                costs::DISTINCT
            } else {
                costs::COUNT
            };
            let into = count.into;
            let cost = self.rows * per_row;
            self.push(Action::Count { distinct, into }, 1.0, cost);
            self.bound = HashSet::from([into]);
            self.slice(query.offset, query.limit);
            self.result = vec![into];
            return;
        }
        let Form::Select(projected) = &query.form else {
            let limit = query.limit.unwrap_or(1).min(1);
            self.slice(query.offset, Some(limit));
            return;
        };
        let bound = projected.iter().filter(|slot| self.bound.contains(slot));
        let columns: Vec<Slot> = bound
            .copied()
            .collect::<BTreeSet<Slot>>()
            .into_iter()
            .collect();
        let mut keys_are_kept = true;
        for key in &query.order {
            key.expression
                .for_each_slot(&mut |slot| keys_are_kept &= columns.contains(&slot));
        }
        let distinct_first = query.distinct && keys_are_kept;
        if distinct_first {
            self.distinct(columns.clone());
        }
        if !query.order.is_empty() {
            let needed = query.limit.map(|limit| limit.saturating_add(query.offset));
            let is_last = !query.distinct || distinct_first;
            self.order(query, needed.filter(|_| is_last));
        }
        if query.distinct && !distinct_first {
            self.distinct(columns.clone());
        }
        self.slice(query.offset, query.limit);
        self.result = columns;
    }

    fn distinct(&mut self, columns: Vec<Slot>) {
        let cost = self.rows * costs::DISTINCT;
        self.push(Action::Distinct { columns }, self.rows, cost);
    }

    fn order(&mut self, query: &Query, limit: Option<u64>) {
        let rows = limit.map_or(self.rows, |limit| self.rows.min(limit as f64));
        let compared = self.rows * rows.max(2.0).log2();
        let keys = query.order.clone();
        self.push(
            Action::Order { keys, limit },
            rows,
            compared * costs::COMPARE,
        );
    }

    fn slice(&mut self, offset: u64, limit: Option<u64>) {
        if offset == 0 && limit.is_none() {
            return;
        }
        let rows = (self.rows - offset as f64).max(0.0);
        let rows = limit.map_or(rows, |limit| rows.min(limit as f64));
        self.push(Action::Slice { offset, limit }, rows, 0.0);
    }

    /// Light or heavy. A walk that stops at its first rows costs its share, unless something has to
    /// see all rows first.
    fn weight(&self, query: &Query, walked: f64) -> Weight {
        let needed = match (&query.form, query.limit) {
            (Form::Ask, _) => Some(1.0),
            (_, Some(limit)) => Some(limit.saturating_add(query.offset) as f64),
            _ => None,
        };
        let stops_early = query.order.is_empty() && query.count.is_none();
        let all_rows = self.base_rows();
        let cost = match needed {
            Some(needed) if stops_early && needed < all_rows => walked * needed / all_rows,
            _ => self.cost(),
        };
        if cost >= costs::HEAVY_NS {
            Weight::Heavy
        } else {
            Weight::Light
        }
    }

    /// Rows that the walk gives before the modifiers cut them.
    fn base_rows(&self) -> f64 {
        let before = |step: &&Step| {
            !matches!(
                step.action,
                Action::Slice { .. } | Action::Order { .. } | Action::Count { .. }
            )
        };
        let last = self.steps.iter().take_while(before).last();
        last.map_or(1.0, |step| step.estimate.rows)
    }
}

/// Fills `keep` of every step, from the last to the first: what the result or a later step reads.
/// Every slot that is read was bound by an earlier step.
fn keep_live(steps: &mut [Step], result: &[Slot]) {
    let mut needed: BTreeSet<Slot> = result.iter().copied().collect();
    for step in steps.iter_mut().rev() {
        step.keep = needed.iter().copied().collect();
        step.action.for_each_write(&mut |slot| {
            needed.remove(&slot);
        });
        step.action.for_each_read(&mut |slot| {
            needed.insert(slot);
        });
    }
}
