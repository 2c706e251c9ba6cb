//! Random plans that keep the contract of `query::plan`.

use super::{Numbered, Random, absent, absent_string, integer, iri, string};
use query::expression::{Comparison, Expression};
use query::plan::{
    Action, ConstantId, DatasetClause, Estimate, Form, Node, OrderKey, Plan, Scope, Slot, Step,
    Weight,
};
use rdf::Direction;

/// Builds one plan.
pub struct Builder<'r> {
    random: &'r mut Random,
    plan: Plan,
    bound: Vec<Slot>,
    actions: Vec<Action>,
}

/// A random plan of patterns and filters; `tail` adds distinct, order, slice or count.
pub fn plan(random: &mut Random, tail: bool) -> Plan {
    let mut constants: Vec<_> = (0..7).map(|n| Numbered::term(iri(n))).collect();
    constants.extend((0..3).map(|n| Numbered::term(integer(n))));
    constants.push(Numbered::term(string(0)));
    constants.push(absent());
    constants.push(absent_string());
    let graphs = random.chance(12).then(|| {
        let mut some = || {
            (0..random.below(3))
                .map(|_| ConstantId(3 + random.below(4) as u32))
                .collect()
        };
        (some(), some())
    });
    let plan = Plan {
        variables: Vec::new(),
        constants,
        dataset: DatasetClause { graphs },
        base: None,
        steps: Vec::new(),
        form: Form::Ask,
        weight: Weight::Light,
    };
    let mut builder = Builder {
        random,
        plan,
        bound: Vec::new(),
        actions: Vec::new(),
    };
    builder.build(tail);
    builder.plan
}

impl Builder<'_> {
    fn build(&mut self, tail: bool) {
        for _ in 0..=self.random.below(4) {
            self.pattern();
            if self.random.chance(15) && !self.bound.is_empty() {
                let filter = self.condition(2);
                self.actions.push(Action::Filter(filter));
            }
        }
        let mut projection: Vec<Slot> = self.bound.clone();
        projection.retain(|_| self.random.chance(60));
        if tail {
            self.tail(&mut projection);
        }
        self.plan.form = Form::Select(projection.clone());
        self.keep(&projection);
    }

    fn fresh(&mut self) -> Slot {
        let slot = Slot(self.plan.variables.len() as u16);
        self.plan.variables.push(format!("v{}", slot.0));
        slot
    }

    fn bound_slot(&mut self) -> Slot {
        self.random.pick(&self.bound)
    }

    fn constant(&mut self, below: usize) -> Node {
        let rare = self.random.chance(1);
        Node::Constant(ConstantId(if rare {
            11
        } else {
            self.random.below(below) as u32
        }))
    }

    fn term(&mut self) -> Node {
        if self.bound.is_empty() || self.random.chance(15) {
            let below = if self.random.chance(20) { 11 } else { 6 };
            self.constant(below)
        } else {
            Node::Slot(self.bound_slot())
        }
    }

    fn predicate(&mut self) -> Node {
        if self.bound.is_empty() || self.random.chance(92) {
            let below = if self.random.chance(5) { 4 } else { 3 };
            self.constant(below)
        } else {
            Node::Slot(self.bound_slot())
        }
    }

    fn direction(&mut self) -> Direction {
        self.random.pick(&[Direction::Out, Direction::In])
    }

    fn scope(&mut self, may_bind: bool) -> Scope {
        match self.random.below(18) {
            0 => Scope::Named(Node::Constant(ConstantId(4 + self.random.below(2) as u32))),
            1 if !self.bound.is_empty() && self.random.chance(50) => {
                Scope::Named(Node::Slot(self.bound_slot()))
            }
            2 | 3 if may_bind => Scope::Bind(self.fresh()),
            _ => Scope::Default,
        }
    }

    fn bind(&mut self, scope: Scope, into: Option<Slot>) {
        if let Scope::Bind(slot) = scope {
            self.bound.push(slot);
        }
        self.bound.extend(into);
    }

    fn pattern(&mut self) {
        match self.random.below(22) {
            0..=8 => {
                let (from, predicate) = (self.term(), self.predicate());
                self.expand(from, predicate);
            }
            9..=12 => {
                let (predicate, direction) = (self.predicate(), self.direction());
                let scope = self.scope(false);
                let into = self.fresh();
                self.actions.push(Action::ExpandKeys {
                    predicate,
                    direction,
                    scope,
                    into,
                });
                self.bind(scope, Some(into));
            }
            13 => {
                let (from, direction, into) = (self.term(), self.direction(), self.fresh());
                self.actions.push(Action::ExpandPredicates {
                    from,
                    direction,
                    into,
                });
                self.bound.push(into);
                self.expand(from, Node::Slot(into));
            }
            14 => {
                let into = self.fresh();
                self.actions.push(Action::AllPredicates { into });
                self.bound.push(into);
            }
            15 => {
                let into = self.fresh();
                self.actions.push(Action::AllGraphs { into });
                self.bound.push(into);
            }
            16 | 17 if !self.bound.is_empty() => self.triangle(),
            18 if !self.bound.is_empty() => {
                let (left, right) = (self.bound_slot(), self.bound_slot());
                self.actions.push(Action::Same { left, right });
            }
            _ if self.bound.is_empty() && self.random.chance(80) => {
                let (from, predicate) = (self.term(), self.predicate());
                self.expand(from, predicate);
            }
            _ => {
                let (subject, predicate, object) = (self.term(), self.predicate(), self.term());
                let scope = self.scope(true);
                self.actions.push(Action::Check {
                    subject,
                    predicate,
                    object,
                    scope,
                });
                self.bind(scope, None);
            }
        }
    }

    fn expand(&mut self, from: Node, predicate: Node) {
        let direction = self.direction();
        let scope = self.scope(true);
        let into = self.fresh();
        self.actions.push(Action::Expand {
            from,
            predicate,
            direction,
            scope,
            into,
        });
        self.bind(scope, Some(into));
    }

    /// An expansion and a check of its new column against another.
    fn triangle(&mut self) {
        let (from, other) = (Node::Slot(self.bound_slot()), Node::Slot(self.bound_slot()));
        let predicate = self.constant(3);
        self.expand(from, predicate);
        let new = Node::Slot(*self.bound.last().expect("the expansion bound it"));
        if self.random.chance(30) {
            let filter = self.condition(1);
            self.actions.push(Action::Filter(filter));
        }
        let ends = if self.random.chance(50) {
            (new, other)
        } else {
            (other, new)
        };
        let (subject, object) = ends;
        let (predicate, scope) = (self.constant(3), Scope::Default);
        self.actions.push(Action::Check {
            subject,
            predicate,
            object,
            scope,
        });
    }

    fn operand(&mut self) -> Expression {
        match self.random.below(3) {
            0 => Expression::Constant(ConstantId(self.random.below(13) as u32)),
            _ => Expression::Slot(self.bound_slot()),
        }
    }

    fn condition(&mut self, depth: usize) -> Expression {
        let comparisons = [
            Comparison::Equal,
            Comparison::NotEqual,
            Comparison::Less,
            Comparison::LessOrEqual,
            Comparison::Greater,
            Comparison::GreaterOrEqual,
        ];
        match self.random.below(if depth == 0 { 6 } else { 9 }) {
            0 => Expression::Bound(self.bound_slot()),
            1 => Expression::SameTerm(Box::new(self.operand()), Box::new(self.operand())),
            2..=5 => {
                let comparison = self.random.pick(&comparisons);
                Expression::Compare(
                    comparison,
                    Box::new(self.operand()),
                    Box::new(self.operand()),
                )
            }
            6 => Expression::Not(Box::new(self.condition(depth - 1))),
            7 => Expression::Or(vec![self.condition(depth - 1), self.condition(depth - 1)]),
            _ => Expression::And(vec![self.condition(depth - 1), self.condition(depth - 1)]),
        }
    }

    fn tail(&mut self, projection: &mut Vec<Slot>) {
        projection.sort();
        projection.dedup();
        match self.random.below(5) {
            0 => self.actions.push(Action::Distinct {
                columns: projection.clone(),
            }),
            1 => {
                let distinct = self.random.chance(50).then(|| projection.clone());
                let into = self.fresh();
                self.actions.push(Action::Count { distinct, into });
                *projection = vec![into];
            }
            2 => self.slice(),
            _ => {
                let mut keys: Vec<OrderKey> = Vec::new();
                for &slot in &*projection {
                    let expression = Expression::Slot(slot);
                    keys.push(OrderKey {
                        expression,
                        descending: self.random.chance(50),
                    });
                }
                let limit = self.random.chance(50).then(|| self.random.below(8) as u64);
                self.actions.push(Action::Order { keys, limit });
                if let Some(limit) = limit {
                    self.actions.push(Action::Slice {
                        offset: 0,
                        limit: Some(limit),
                    });
                }
            }
        }
    }

    fn slice(&mut self) {
        let offset = self.random.below(4) as u64;
        let limit = self.random.chance(70).then(|| self.random.below(6) as u64);
        self.actions.push(Action::Slice { offset, limit });
    }

    /// Turns the actions into steps; a column lives as long as somebody reads it.
    fn keep(&mut self, projection: &[Slot]) {
        let mut needed: Vec<Slot> = projection.to_vec();
        let mut steps = Vec::new();
        let mut defined = Vec::new();
        for action in &self.actions {
            let mut before: Vec<Slot> = defined.last().cloned().unwrap_or_default();
            if let Action::Count { .. } = action {
                before.clear();
            }
            before.extend(defines(action));
            defined.push(before);
        }
        for (action, defined) in self.actions.drain(..).zip(defined).rev() {
            needed.sort();
            needed.dedup();
            let mut keep = needed.clone();
            keep.retain(|slot| defined.contains(slot));
            let new = defines(&action);
            needed.retain(|slot| !new.contains(slot));
            needed.extend(uses(&action));
            steps.push(Step {
                action,
                keep,
                estimate: Estimate::default(),
            });
        }
        steps.reverse();
        self.plan.steps = steps;
    }
}

fn defines(action: &Action) -> Vec<Slot> {
    let graph = |scope: &Scope| match scope {
        Scope::Bind(slot) => vec![*slot],
        _ => vec![],
    };
    match action {
        Action::Expand { scope, into, .. } => [graph(scope), vec![*into]].concat(),
        Action::ExpandKeys { into, .. }
        | Action::ExpandPredicates { into, .. }
        | Action::AllPredicates { into }
        | Action::AllGraphs { into }
        | Action::Count { into, .. } => vec![*into],
        Action::Check { scope, .. } => graph(scope),
        _ => vec![],
    }
}

fn uses(action: &Action) -> Vec<Slot> {
    let mut slots = Vec::new();
    let mut node = |node: &Node| {
        if let Node::Slot(slot) = node {
            slots.push(*slot);
        }
    };
    match action {
        Action::Expand {
            from,
            predicate,
            scope,
            ..
        } => {
            node(from);
            node(predicate);
            if let Scope::Named(graph) = scope {
                node(graph);
            }
        }
        Action::ExpandKeys {
            predicate, scope, ..
        } => {
            node(predicate);
            if let Scope::Named(graph) = scope {
                node(graph);
            }
        }
        Action::ExpandPredicates { from, .. } => node(from),
        Action::Check {
            subject,
            predicate,
            object,
            scope,
        } => {
            [subject, predicate, object].into_iter().for_each(&mut node);
            if let Scope::Named(graph) = scope {
                node(graph);
            }
        }
        Action::Same { left, right } => slots.extend([*left, *right]),
        Action::Filter(expression) => expression_slots(expression, &mut slots),
        Action::Distinct { columns }
        | Action::Count {
            distinct: Some(columns),
            ..
        } => {
            slots.extend(columns);
        }
        Action::Order { keys, .. } => {
            for key in keys {
                expression_slots(&key.expression, &mut slots);
            }
        }
        _ => {}
    }
    slots
}

fn expression_slots(expression: &Expression, slots: &mut Vec<Slot>) {
    match expression {
        Expression::Slot(slot) | Expression::Bound(slot) => slots.push(*slot),
        Expression::Not(one) => expression_slots(one, slots),
        Expression::Or(all) | Expression::And(all) => {
            for one in all {
                expression_slots(one, slots);
            }
        }
        Expression::SameTerm(left, right) | Expression::Compare(_, left, right) => {
            expression_slots(left, slots);
            expression_slots(right, slots);
        }
        _ => {}
    }
}
