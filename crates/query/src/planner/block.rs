//! A block of steps in the making: what its table holds so far, and the moves of patterns.
//!
//! * A filter stands right after the step that binds the last of its variables; one without
//!   variables stands first.
//! * A graph variable is bound by the first expand or check of its patterns; later patterns look
//!   only in that graph.

use super::access::{self, Flow, Move};
use super::costs;
use super::facts::{slot_of, slots_of};
use super::intersect::{self, Intersection};
use super::known::Known;
use super::order::component::Ordered;
use super::order::refine::Sampling;
use super::problem::{Problem, Sized, selectivity};
use super::{PlanError, index::Index};
use crate::expression::Expression;
use crate::plan::{Action, Estimate, Node, Scope, Slot, Source, Step, TableId};
use crate::slots::Slots;
use hashbrown::HashMap;
use rdf::Direction;

/// What all blocks of one plan share.
pub(super) struct Planning<'p> {
    pub index: &'p Index,
    pub known: Known<'p>,
    /// Elements in the order of the text, tables of their own wherever they are right.
    pub keep_order: bool,
    /// Who walks samples; `None`: statistics alone decide.
    pub sampling: Option<Sampling<'p>>,
    pub variables: Vec<String>,
    /// Slots were asked for beyond what numbers can name.
    pub error: Option<PlanError>,
}

impl Planning<'_> {
    /// A new slot. Where there is none left, any one, and planning fails.
    pub(super) fn hidden(&mut self) -> Slot {
        let Ok(number) = u16::try_from(self.variables.len()) else {
            self.error = Some(PlanError::TooManyVariables);
            return Slot(u16::MAX);
        };
        self.variables.push(format!(".{number}"));
        Slot(number)
    }
}

/// A filter that stands as soon as its variables are bound.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    filter: Expression,
    slots: Slots,
}

impl Waiting {
    pub(super) fn into_filter(self) -> Expression {
        self.filter
    }
}

/// A given table all of whose columns are bound where it is joined: it keeps some rows and adds none.
#[derive(Clone, Debug)]
struct Early {
    table: TableId,
    columns: Vec<Slot>,
    /// Share of rows that it keeps.
    share: f64,
}

/// The steps so far, and what is known of the table after them.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    pub steps: Vec<Step>,
    /// Bound in every row.
    pub certain: Slots,
    /// Columns that are unbound in some rows.
    pub maybe: Slots,
    /// What the steps of this block have made or changed.
    pub written: Slots,
    /// Variables of the row outside that groups within see too (`EXISTS`, `LATERAL`).
    pub seen: Slots,
    /// By a variable that is seen but may be unbound: the column that holds what the row outside had.
    pub kept: HashMap<Slot, Slot>,
    /// The table is the unit table.
    pub is_unit: bool,
    /// It began as the unit table, so its steps may look at all its rows together.
    pub is_whole: bool,
    /// Columns whose values are subjects or objects of a source's graph, until a step writes them anew.
    vertices: Vec<(Source, Option<Node>, Slot)>,
    /// Estimated rows of the table.
    pub rows: f64,
    /// Filters not placed yet.
    pub waiting: Vec<Waiting>,
    /// A table that keeps rows only, placed once its columns are bound.
    early: Option<Early>,
    /// Rows before the component being walked.
    pub base: f64,
    /// Share of rows that the component's filters have let pass.
    passed: f64,
    /// The first column of the walk, which is sorted.
    leading: Option<Slot>,
    /// Unions over a variable that may be unbound that this block lies in.
    pub guards: u8,
}

impl Block {
    /// A block that begins with the unit table.
    pub(super) fn whole() -> Block {
        Block {
            is_unit: true,
            is_whole: true,
            rows: 1.0,
            base: 1.0,
            passed: 1.0,
            ..Block::default()
        }
    }

    /// A block that begins with this one's rows.
    pub(super) fn within(&self) -> Block {
        Block {
            steps: Vec::new(),
            certain: self.certain.clone(),
            maybe: self.maybe.clone(),
            written: Slots::default(),
            seen: self.seen.clone(),
            kept: self.kept.clone(),
            is_unit: self.is_unit,
            vertices: self.vertices.clone(),
            is_whole: false,
            rows: self.rows,
            waiting: Vec::new(),
            early: None,
            base: self.rows,
            passed: 1.0,
            leading: self.leading,
            guards: self.guards,
        }
    }

    pub(super) fn push(&mut self, action: Action, rows: f64, cost_ns: f64) {
        let rows = rows.clamp(0.0, access::ROWS_MAX);
        self.rows = rows;
        self.is_unit = false;
        action.for_each_write(&mut |slot| {
            self.written.insert(slot);
            let reads =
                |node: &Option<Node>| matches!(node, Some(Node::Slot(graph)) if *graph == slot);
            self.vertices
                .retain(|(_, graph, vertex)| *vertex != slot && !reads(graph));
        });
        self.steps.push(Step {
            action,
            keep: Vec::new(),
            estimate: Estimate {
                rows,
                cost_ns: cost_ns.min(access::ROWS_MAX),
                is_sampled: false,
            },
        });
    }

    /// Notes that a column's values are subjects or objects of a source's graph; says whether that is new.
    pub(super) fn note_vertex(&mut self, source: Source, graph: Option<Node>, slot: Slot) -> bool {
        let is_new = !self.vertices.contains(&(source, graph, slot));
        if is_new {
            self.vertices.push((source, graph, slot));
        }
        is_new
    }

    pub(super) fn cost(&self) -> f64 {
        self.steps.iter().map(|step| step.estimate.cost_ns).sum()
    }

    pub(super) fn bind(&mut self, slot: Slot) {
        self.certain.insert(slot);
        self.maybe.remove(slot);
    }

    pub(super) fn bind_maybe(&mut self, slot: Slot) {
        if !self.certain.contains(slot) {
            self.maybe.insert(slot);
        }
    }

    pub(super) fn has(&self, slot: Slot) -> bool {
        self.certain.contains(slot) || self.maybe.contains(slot)
    }

    /// All columns.
    pub(super) fn columns(&self) -> Slots {
        self.certain.or(&self.maybe)
    }

    /// A column that is unbound in every row, where there is none: expressions may read it then.
    pub(super) fn ensure(&mut self, slots: &Slots) {
        for slot in slots.iter() {
            if !self.has(slot) {
                let expression = Expression::Coalesce(Vec::new());
                let into = slot;
                self.push(Action::Bind { expression, into }, self.rows, costs::STEP);
                self.maybe.insert(slot);
            }
        }
    }

    pub(super) fn wait(&mut self, filter: Expression) {
        let slots = slots_of(&filter);
        self.waiting.push(Waiting { filter, slots });
    }

    /// The filters that wait.
    pub(super) fn filters(&self) -> impl Iterator<Item = &Expression> {
        self.waiting.iter().map(|waiting| &waiting.filter)
    }

    /// Places the filters whose variables are all bound.
    pub(super) fn place_filters(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let waiting = std::mem::take(&mut self.waiting);
        let is_ready = |waiting: &Waiting| waiting.slots.is_within(&self.certain);
        let (ready, waiting): (Vec<_>, Vec<_>) = waiting.into_iter().partition(is_ready);
        self.waiting = waiting;
        for ready in ready {
            self.filter(ready.filter);
        }
    }

    pub(super) fn filter(&mut self, filter: Expression) {
        self.ensure(&slots_of(&filter));
        let share = selectivity(&filter);
        self.passed *= share;
        let cost = self.rows * costs::FILTER;
        self.push(Action::Filter(filter), self.rows * share, cost);
    }

    pub(super) fn unify(&mut self, into: Slot, from: Slot) {
        let cost = self.rows * costs::SAME;
        self.push(Action::Unify { into, from }, self.rows, cost);
        if self.certain.contains(from) {
            self.bind(into);
        } else {
            self.bind_maybe(into);
        }
    }

    /// An item of an order comes.
    pub(super) fn begin(&mut self, ordered: Ordered) {
        if ordered.begins {
            self.base = self.rows;
            self.passed = 1.0;
        }
    }

    /// Rows expected after it.
    pub(super) fn expected(&self, ordered: Ordered) -> f64 {
        (self.base * ordered.rows * self.passed).min(access::ROWS_MAX)
    }

    /// The end of a pattern that a filter waits for, where none waits for the other alone: listed first, each
    /// of its terms is tested once, and those that fail are not expanded.
    fn filtered_end(&self, sized: &Sized) -> Option<Direction> {
        let waits_for = |node: Node| {
            let mut known = self.certain.clone();
            known.extend(slot_of(node));
            let is_new = |slots: &Slots| !slots.is_within(&self.certain) && slots.is_within(&known);
            self.waiting.iter().any(|waiting| is_new(&waiting.slots))
        };
        match [sized.pattern.subject, sized.pattern.object].map(waits_for) {
            [true, false] => Some(Direction::Out),
            [false, true] => Some(Direction::In),
            _ => None,
        }
    }

    /// The moves of one pattern, none of whose variables may be unbound in the table.
    pub(super) fn pattern(
        &mut self,
        planning: &mut Planning<'_>,
        problem: &Problem<'_>,
        sized: &Sized,
        ordered: Ordered,
    ) {
        let known = access::known(sized, |slot| self.certain.contains(slot));
        let keys = match problem.patterns.len() {
            1 => self.filtered_end(sized).unwrap_or(ordered.keys),
            _ => ordered.keys,
        };
        let moves = access::moves(sized, known, keys);
        for (at, step) in moves.enumerate() {
            if at > 0 {
                // What a key is dropped for is not asked of each of its edges.
                self.place_filters();
                self.place_early();
            }
            let flow = self.flow(ordered);
            let (rows, cost) = access::estimate(sized, step, flow);
            self.take(planning, sized, step, rows, cost);
            self.leading = self.leading.or(access::binds(sized, step));
        }
        self.place_early();
        self.note_pattern(sized, ordered);
    }

    /// Lets a given table whose columns the next pattern binds be looked up as soon as they are bound; false where the
    /// pattern does not bind them all.
    pub(super) fn begin_early(
        &mut self,
        sized: &Sized,
        [pattern, given]: [Ordered; 2],
        (table, columns): (TableId, &[Slot]),
    ) -> bool {
        let ends = [
            sized.pattern.subject,
            sized.pattern.object,
            sized.pattern.predicate,
        ];
        let binds = |slot: &Slot| self.certain.contains(*slot) || ends.contains(&Node::Slot(*slot));
        let is_new = columns.iter().any(|slot| !self.has(*slot));
        let fits = is_new && !given.begins && columns.iter().all(binds);
        fits.then(|| {
            self.early = Some(Early {
                table,
                columns: columns.to_vec(),
                share: (given.rows / pattern.rows.max(f64::MIN_POSITIVE)).min(1.0),
            });
        });
        fits
    }

    /// Places the table that waits for its columns, if they are bound.
    fn place_early(&mut self) {
        let is_bound = |early: &mut Early| {
            let mut columns = early.columns.iter();
            columns.all(|slot| self.certain.contains(*slot))
        };
        if let Some(early) = self.early.take_if(is_bound) {
            let rows = self.rows * early.share;
            self.passed *= early.share;
            let keys: Slots = early.columns.iter().copied().collect();
            let action = Action::Given {
                table: early.table,
                columns: early.columns,
                keys: keys.to_vec(),
            };
            let cost = costs::STEP + self.rows * costs::LOOKUP + rows * costs::ROW;
            self.push(action, rows, cost);
        }
    }

    /// The intersection of two patterns of an order, where the table binds what it needs.
    fn intersection(
        &self,
        problem: &Problem<'_>,
        [near, far]: [Ordered; 2],
    ) -> Option<Intersection> {
        let link = |ordered: Ordered| problem.patterns[ordered.pattern].link;
        let (expanded, checked) = (link(near)?, link(far)?);
        let ends = [expanded.ends(), checked.ends()].concat();
        let is_sure = !ends.iter().any(|slot| self.maybe.contains(*slot));
        let is_bound = |slot| self.certain.contains(slot);
        is_sure.then(|| intersect::intersection(&expanded, &checked, near.keys, is_bound))?
    }

    /// Writes the expansion of a pattern and the check of the one behind it as one step; false where that cannot be.
    pub(super) fn intersect(
        &mut self,
        planning: &mut Planning<'_>,
        problem: &Problem<'_>,
        pair: [Ordered; 2],
    ) -> bool {
        let Some(intersection) = self.intersection(problem, pair) else {
            return false;
        };
        self.begin(pair[0]);
        let sized = pair.map(|ordered| &problem.patterns[ordered.pattern]);
        if let Some(keys) = intersection.keys {
            let flow = self.flow(pair[0]);
            let step = Move::Keys(keys);
            let (rows, cost) = access::estimate(sized[0], step, flow);
            self.take(planning, sized[0], step, rows, cost);
            self.leading = self.leading.or(access::binds(sized[0], step));
            self.place_filters();
        }
        let (expanded, flow) = (self.expected(pair[0]), self.flow(pair[1]));
        let cost = intersection.step_cost(problem, pair[1].pattern, expanded, flow);
        let (sides, into) = (intersection.sides, intersection.into);
        self.push(Action::Intersect { sides, into }, flow.rows_out, cost);
        self.bind(into);
        self.leading = self.leading.or(Some(into));
        self.note_pattern(sized[0], pair[0]);
        self.note_pattern(sized[1], pair[1]);
        true
    }

    /// The rows of the table, and those that are expected after an item.
    fn flow(&self, ordered: Ordered) -> Flow {
        Flow {
            rows_in: self.rows,
            rows_out: self.expected(ordered),
            leading: self.leading,
        }
    }

    /// Notes of the steps of a pattern, the last of which is the table's last, what they say.
    fn note_pattern(&mut self, sized: &Sized, ordered: Ordered) {
        if let Some(last) = self.steps.last_mut() {
            last.estimate.is_sampled = ordered.is_sampled;
        }
        let ends = [sized.pattern.subject, sized.pattern.object].into_iter();
        for slot in ends.filter_map(slot_of) {
            self.note_vertex(sized.pattern.source, sized.pattern.graph, slot);
        }
    }

    /// Writes one move.
    fn take(
        &mut self,
        planning: &mut Planning<'_>,
        sized: &Sized,
        step: Move,
        rows: f64,
        cost: f64,
    ) {
        let pattern = &sized.pattern;
        let into = access::binds(sized, step);
        let (scope, source) = (self.scope(pattern.graph), pattern.source);
        assert_eq!(
            into.is_none(),
            step == Move::Check,
            "what is not known is bound, and nothing else"
        );
        let (subject, predicate, object) = (pattern.subject, pattern.predicate, pattern.object);
        let from = |direction| match direction {
            Direction::Out => subject,
            Direction::In => object,
        };
        let action = match (step, into) {
            (Move::AllPredicates, Some(into)) => Action::AllPredicates { source, into },
            (Move::Predicates(direction), Some(into)) => Action::ExpandPredicates {
                from: from(direction),
                direction,
                source,
                into,
            },
            (Move::Keys(direction), Some(into)) => Action::ExpandKeys {
                predicate,
                direction,
                scope: apart(planning, scope, into),
                source,
                into,
            },
            (Move::Expand(direction), Some(into)) => Action::Expand {
                from: from(direction),
                predicate,
                direction,
                scope: apart(planning, scope, into),
                source,
                into,
            },
            _ => Action::Check {
                subject,
                predicate,
                object,
                from: looked_from(sized),
                scope,
                source,
            },
        };
        let bound_apart = match &action {
            Action::Expand { scope: mine, .. } if *mine != scope => match mine {
                Scope::Bind(graph) => Some(*graph),
                _ => None,
            },
            _ => None,
        };
        if let Action::Expand { scope, .. } | Action::Check { scope, .. } = &action
            && let Scope::Bind(graph) = scope
        {
            self.bind(*graph);
        }
        self.push(action, rows, cost);
        if let Some(into) = into {
            self.bind(into);
            if let Some(graph) = bound_apart {
                // The new end is also the graph.
                let (left, right) = (into, graph);
                self.push(Action::Same { left, right }, rows, rows * costs::SAME);
            }
        }
    }

    fn scope(&self, graph: Option<Node>) -> Scope {
        match graph {
            None => Scope::Default,
            Some(Node::Slot(slot)) if !self.certain.contains(slot) => Scope::Bind(slot),
            Some(node) => Scope::Named(node),
        }
    }
}

/// The end of a check whose lists are searched: a column's rather than a constant's, and of two columns that with more
/// keys, whose lists are shorter.
fn looked_from(sized: &Sized) -> Direction {
    let pattern = &sized.pattern;
    let is_column = |node: Node| matches!(node, Node::Slot(_));
    match [pattern.subject, pattern.object].map(is_column) {
        [false, true] => Direction::In,
        [true, true] if sized.keys[1] > sized.keys[0] => Direction::In,
        _ => Direction::Out,
    }
}

/// A scope that binds another slot than the step itself does.
fn apart(planning: &mut Planning<'_>, scope: Scope, into: Slot) -> Scope {
    match scope {
        Scope::Bind(graph) if graph == into => Scope::Bind(planning.hidden()),
        scope => scope,
    }
}
