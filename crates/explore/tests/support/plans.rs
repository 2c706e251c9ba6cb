//! Random plans that keep the contract of `query::plan`.

use super::{Numbered, Random, absent, absent_string, integer, iri, string};
use query::expression::{Comparison, Expression};
use query::plan::{
    Action, ConstantId, DatasetClause, Estimate, Form, Mode, Node, OrderKey, Plan, Scope, Side,
    Size, Slot, Source, Step, Weight,
};
use rdf::Direction;

/// Builds one plan.
pub struct Builder<'r> {
    random: &'r mut Random,
    plan: Plan,
    bound: Vec<Slot>,
    actions: Vec<Action>,
    /// Percent of steps that are not patterns: blocks, tables, computed columns.
    composed: usize,
    /// Percent of steps that count what there is of a pattern.
    counted: usize,
    /// Blocks around the one that is built.
    depth: usize,
    /// Sources that patterns are of.
    sources: u16,
}

/// A random plan of patterns and filters; `tail` adds distinct, order, slice or count.
pub fn plan(random: &mut Random, tail: bool) -> Plan {
    build(random, tail, [0, 0], 1)
}

/// A random plan with blocks, tables and computed columns.
pub fn composed(random: &mut Random, tail: bool) -> Plan {
    build(random, tail, [50, 0], 1)
}

/// A random plan with steps that count what there is of a pattern, or of a vertex.
pub fn counted(random: &mut Random, tail: bool) -> Plan {
    build(random, tail, [10, 60], 1)
}

/// A random plan of all these, each pattern of any of so many sources.
pub fn mixed(random: &mut Random, tail: bool, sources: u16) -> Plan {
    build(random, tail, [20, 15], sources)
}

fn build(random: &mut Random, tail: bool, [composed, counted]: [usize; 2], sources: u16) -> Plan {
    let mut constants: Vec<_> = (0..7).map(|n| Numbered::term(iri(n))).collect();
    constants.extend((0..3).map(|n| Numbered::term(integer(n))));
    constants.push(Numbered::term(string(0)));
    constants.push(absent());
    constants.push(absent_string());
    // With several sources it is their own graphs that a clause must not choose.
    let graphs = random.chance(if sources == 1 { 12 } else { 40 }).then(|| {
        let mut some = || {
            (0..random.below(3))
                .map(|_| ConstantId(3 + random.below(4) as u32))
                .collect()
        };
        (some(), some())
    });
    let union_default = random.chance(20);
    let plan = Plan {
        variables: Vec::new(),
        constants,
        dataset: DatasetClause {
            graphs,
            union_default,
        },
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
        composed,
        counted,
        depth: 0,
        sources,
    };
    builder.build(tail);
    builder.plan
}

impl Builder<'_> {
    fn build(&mut self, tail: bool) {
        for _ in 0..=self.random.below(4) {
            self.pattern_or_composed();
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
        let actions = std::mem::take(&mut self.actions);
        self.plan.steps = steps(actions, &[], &projection);
    }

    fn pattern_or_composed(&mut self) {
        if self.counted > 0 && self.random.chance(self.counted) {
            if self.bound.is_empty() || self.random.chance(50) {
                self.sizes();
            } else {
                self.degree();
            }
            return;
        }
        if self.composed == 0 || !self.random.chance(self.composed) {
            return self.pattern();
        }
        match self.random.below(11) {
            0..=4 if self.depth < 2 => self.nested(),
            5 | 6 if self.depth < 2 => self.probe(),
            7 | 8 => self.values(),
            9 => {
                let expression = if self.bound.is_empty() {
                    Expression::Constant(ConstantId(12))
                } else {
                    self.operand()
                };
                let into = self.fresh();
                self.actions.push(Action::Bind { expression, into });
                self.bound.push(into);
            }
            _ => self.unify(),
        }
    }

    /// The scope of what is counted: no column.
    fn fixed_scope(&mut self) -> Scope {
        match self.random.below(3) {
            0 => Scope::Named(Node::Constant(ConstantId(3 + self.random.below(4) as u32))),
            _ => Scope::Default,
        }
    }

    fn sizes(&mut self) {
        let predicate = self.random.chance(60).then(|| self.predicate());
        let scope = self.fixed_scope();
        let mut sizes = Vec::new();
        for size in [Size::Edges, Size::Subjects, Size::Predicates, Size::Objects] {
            if self.random.chance(50) {
                sizes.push((size, self.fresh()));
            }
        }
        self.bound.extend(sizes.iter().map(|(_, into)| *into));
        let keeps_empty = self.random.chance(50);
        let source = self.source();
        self.actions.push(Action::Sizes {
            predicate,
            scope,
            sizes,
            keeps_empty,
            source,
        });
    }

    fn degree(&mut self) {
        let (from, direction) = (self.bound_slot(), self.direction());
        let predicate = ConstantId(self.random.below(4) as u32);
        let scope = self.fixed_scope();
        let into: Vec<Slot> = (0..=self.random.below(2)).map(|_| self.fresh()).collect();
        self.bound.extend(&into);
        let source = self.source();
        self.actions.push(Action::Degree {
            from,
            predicate,
            direction,
            scope,
            into,
            source,
        });
    }

    /// Joins two columns; either may be none that is there.
    fn unify(&mut self) {
        let mut column = || {
            if self.bound.is_empty() || self.random.chance(20) {
                self.fresh()
            } else {
                self.bound_slot()
            }
        };
        let (into, from) = (column(), column());
        self.actions.push(Action::Unify { into, from });
        if !self.bound.contains(&into) {
            self.bound.push(into);
        }
    }

    fn values(&mut self) {
        let columns: Vec<Slot> = (0..=self.random.below(2)).map(|_| self.fresh()).collect();
        let rows = (0..self.random.below(5))
            .map(|_| {
                let mut cell = || {
                    let constant = ConstantId(self.random.below(13) as u32);
                    (!self.random.chance(15)).then_some(constant)
                };
                columns.iter().map(|_| cell()).collect()
            })
            .collect();
        self.bound.extend(&columns);
        self.actions.push(Action::Values { columns, rows });
    }

    /// A block of a few actions that begins with these columns; the columns it ends with.
    fn block(&mut self, before: &[Slot]) -> (Vec<Action>, Vec<Slot>) {
        let bound = std::mem::replace(&mut self.bound, before.to_vec());
        let actions = std::mem::take(&mut self.actions);
        self.depth += 1;
        for _ in 0..=self.random.below(2) {
            if !self.random.chance(10) {
                self.pattern_or_composed();
            }
        }
        self.depth -= 1;
        (
            std::mem::replace(&mut self.actions, actions),
            std::mem::replace(&mut self.bound, bound),
        )
    }

    fn probe(&mut self) {
        let (mut table, new) = self.block(&[]);
        let mut keys = Vec::new();
        if !new.is_empty() && !self.bound.is_empty() {
            for _ in 0..self.random.below(3) {
                let (into, from) = (self.bound_slot(), *self.random.pick(&new));
                if !keys.contains(&into) {
                    table.push(Action::Unify { into, from });
                    keys.push(into);
                }
            }
        }
        keys.sort();
        let exports: Vec<Slot> = new.into_iter().filter(|_| self.random.chance(70)).collect();
        let needed = [keys.clone(), exports.clone()].concat();
        let table = steps(table, &[], &needed);
        self.bound.extend(&exports);
        self.actions.push(Action::Probe {
            table,
            keys,
            exports,
        });
    }

    fn nested(&mut self) {
        let row = self.fresh();
        let mut imports = self.bound.clone();
        imports.retain(|_| self.random.chance(70));
        imports.sort();
        let row_by_row = self.random.chance(20);
        let mut exports: Vec<Slot> = Vec::new();
        let mut branches = Vec::new();
        for _ in 0..=self.random.below(2) {
            let (actions, made) = self.branch(&imports, row, row_by_row);
            exports.extend(&made);
            branches.push((actions, made));
        }
        exports.sort();
        exports.dedup();
        let mode = match self.random.below(8) {
            0..=2 => Mode::Inner,
            3 | 4 => Mode::Left,
            5 => Mode::Semi,
            6 => Mode::Anti,
            _ => Mode::Mark(self.fresh()),
        };
        if !matches!(mode, Mode::Inner | Mode::Left) {
            exports.clear();
        }
        let before = [imports.clone(), vec![row]].concat();
        let branches = branches.into_iter().map(|(actions, made)| {
            // A branch keeps what it makes, and what it was given that another changes.
            let mut needed = match actions.last() {
                Some(Action::Distinct { columns }) => columns.clone(),
                _ => [exports.clone(), vec![row]].concat(),
            };
            needed.retain(|slot| made.contains(slot) || before.contains(slot));
            steps(actions, &before, &needed)
        });
        let branches = branches.collect();
        let new = exports.iter().filter(|slot| !self.bound.contains(slot));
        let new: Vec<Slot> = new.copied().collect();
        self.bound.extend(new);
        if let Mode::Mark(mark) = mode {
            self.bound.push(mark);
        }
        self.actions.push(Action::Nested {
            mode,
            branches,
            imports,
            row,
            exports,
            row_by_row,
        });
    }

    /// The actions of a branch, and what it makes or changes.
    fn branch(
        &mut self,
        imports: &[Slot],
        row: Slot,
        row_by_row: bool,
    ) -> (Vec<Action>, Vec<Slot>) {
        let (mut actions, mut made) = self.block(imports);
        made.retain(|slot| !imports.contains(slot) && self.random.chance(70));
        if !imports.is_empty() && !made.is_empty() && self.random.chance(30) {
            let (into, from) = (*self.random.pick(imports), *self.random.pick(&made));
            actions.push(Action::Unify { into, from });
            made.push(into);
        }
        if self.random.chance(20) {
            let columns = [made.clone(), vec![row]].concat();
            actions.push(Action::Distinct { columns });
        } else if row_by_row && self.random.chance(30) {
            let into = self.fresh();
            actions.push(Action::Count {
                distinct: None,
                into,
            });
            made = vec![into];
        }
        (actions, made)
    }

    fn fresh(&mut self) -> Slot {
        let slot = Slot(self.plan.variables.len() as u16);
        self.plan.variables.push(format!("v{}", slot.0));
        slot
    }

    fn bound_slot(&mut self) -> Slot {
        *self.random.pick(&self.bound)
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

    fn source(&mut self) -> Source {
        match self.sources {
            1 => Source::STORE,
            sources => Source(self.random.below(usize::from(sources)) as u16),
        }
    }

    fn direction(&mut self) -> Direction {
        *self.random.pick(&[Direction::Out, Direction::In])
    }

    fn scope(&mut self, may_bind: bool) -> Scope {
        match self.random.below(if self.sources == 1 { 18 } else { 10 }) {
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
                let source = self.source();
                self.actions.push(Action::ExpandKeys {
                    predicate,
                    direction,
                    scope,
                    into,
                    source,
                });
                self.bind(scope, Some(into));
            }
            13 => {
                let (from, direction, into) = (self.term(), self.direction(), self.fresh());
                let source = self.source();
                self.actions.push(Action::ExpandPredicates {
                    from,
                    direction,
                    into,
                    source,
                });
                self.bound.push(into);
                self.expand(from, Node::Slot(into));
            }
            14 => {
                let into = self.fresh();
                let source = self.source();
                self.actions.push(Action::AllPredicates { into, source });
                self.bound.push(into);
            }
            15 => {
                let into = self.fresh();
                let source = self.source();
                self.actions.push(Action::AllGraphs { into, source });
                self.bound.push(into);
            }
            16 | 17 if !self.bound.is_empty() => match self.random.below(3) {
                0 => self.triangle(),
                _ => self.intersection(),
            },
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
                let (scope, from) = (self.scope(true), self.direction());
                let source = self.source();
                self.actions.push(Action::Check {
                    subject,
                    predicate,
                    object,
                    from,
                    scope,
                    source,
                });
                self.bind(scope, None);
            }
        }
    }

    fn expand(&mut self, from: Node, predicate: Node) {
        let direction = self.direction();
        let scope = self.scope(true);
        let into = self.fresh();
        let source = self.source();
        self.actions.push(Action::Expand {
            from,
            predicate,
            direction,
            scope,
            into,
            source,
        });
        self.bind(scope, Some(into));
    }

    /// An expansion that meets a check, as one step.
    fn intersection(&mut self) {
        let mut side = || Side {
            from: self.bound_slot(),
            predicate: match self.constant(3) {
                Node::Constant(predicate) => predicate,
                Node::Slot(_) => unreachable!("it is asked for a constant"),
            },
            direction: self.direction(),
            scope: match self.random.below(6) {
                0 => Scope::Named(Node::Constant(ConstantId(4 + self.random.below(2) as u32))),
                _ => Scope::Default,
            },
            source: self.source(),
        };
        let sides = [side(), side()];
        let into = self.fresh();
        self.actions.push(Action::Intersect { sides, into });
        self.bound.push(into);
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
        let from = self.direction();
        let source = self.source();
        self.actions.push(Action::Check {
            subject,
            predicate,
            object,
            from,
            scope,
            source,
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
                let comparison = *self.random.pick(&comparisons);
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
}

/// Turns actions into steps; a column lives as long as somebody reads it.
fn steps(actions: Vec<Action>, before: &[Slot], needed: &[Slot]) -> Vec<Step> {
    let mut needed: Vec<Slot> = needed.to_vec();
    let mut steps = Vec::new();
    let mut defined: Vec<Vec<Slot>> = Vec::new();
    for action in &actions {
        let mut after: Vec<Slot> = defined.last().map_or(before, Vec::as_slice).to_vec();
        if let Action::Count { .. } = action {
            after.clear();
        }
        action.for_each_write(&mut |slot| after.push(slot));
        defined.push(after);
    }
    for (action, defined) in actions.into_iter().zip(defined).rev() {
        needed.sort();
        needed.dedup();
        let mut keep = needed.clone();
        keep.retain(|slot| defined.contains(slot));
        action.for_each_write(&mut |new| needed.retain(|slot| *slot != new));
        action.for_each_read(&mut |slot| needed.push(slot));
        steps.push(Step {
            action,
            keep,
            estimate: Estimate::default(),
        });
    }
    steps.reverse();
    steps
}
