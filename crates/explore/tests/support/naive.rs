//! Runs a plan by trying every quad for every row.

use super::{DEFAULT, Numbered, Quad};
use oxrdf::Term;
use query::expression::{Comparison, Expression};
use query::plan::{Action, ConstantId, Mode, Node, Plan, Scope, Side, Size, Slot, Source, Step};
use rdf::{Direction, Tag, VertexId, inline};
use std::collections::BTreeSet;

/// A row: a value per slot.
pub type Row = Vec<VertexId>;

/// Evaluates plans over quads.
pub struct Naive<'a> {
    /// Those of each source.
    pub quads: Vec<BTreeSet<Quad>>,
    pub plan: &'a Plan,
    pub constants: &'a [Option<VertexId>],
}

impl Naive<'_> {
    /// The rows after each of the first `steps` steps, with dead columns unbound.
    pub fn rows(&self, steps: usize) -> Vec<Row> {
        let unit = vec![VertexId::UNBOUND; self.plan.variables.len()];
        self.walk(&self.plan.steps[..steps], vec![unit])
    }

    /// The rows after these steps.
    fn walk(&self, steps: &[Step], mut rows: Vec<Row>) -> Vec<Row> {
        for step in steps {
            rows = self.step(&step.action, rows);
            for row in &mut rows {
                for (slot, cell) in (0_u16..).zip(row) {
                    if !step.keep.contains(&Slot(slot)) {
                        *cell = VertexId::UNBOUND;
                    }
                }
            }
        }
        rows
    }

    /// An id that no quad holds, one per absent constant, in order.
    fn absent(&self, constant: ConstantId) -> VertexId {
        let before = &self.constants[..constant.0 as usize];
        let number = before.iter().filter(|id| id.is_none()).count();
        VertexId::new(Tag::QueryLocal, number as u64)
    }

    fn constant(&self, constant: ConstantId) -> VertexId {
        self.constants[constant.0 as usize].unwrap_or_else(|| self.absent(constant))
    }

    fn node(&self, node: Node, row: &Row) -> VertexId {
        match node {
            Node::Slot(slot) => row[usize::from(slot.0)],
            Node::Constant(constant) => self.constant(constant),
        }
    }

    fn quads(&self, source: Source) -> &BTreeSet<Quad> {
        &self.quads[usize::from(source.0)]
    }

    /// The dataset clause, which is of the store alone.
    fn clause(&self, source: Source) -> Option<&(Vec<ConstantId>, Vec<ConstantId>)> {
        let clause = self.plan.dataset.graphs.as_ref();
        clause.filter(|_| source.is_store())
    }

    /// The triples a scope of a source sees, each with the graph it binds.
    fn triples(
        &self,
        (scope, source): (Scope, Source),
        row: &Row,
    ) -> BTreeSet<(VertexId, VertexId, VertexId, VertexId)> {
        let clause = self.clause(source);
        let ids = |graphs: &[ConstantId]| -> Vec<VertexId> {
            graphs.iter().map(|&graph| self.constant(graph)).collect()
        };
        let (merge, named) = match clause {
            None if self.plan.dataset.union_default || !source.is_store() => {
                (self.quads(source).iter().map(|quad| quad.3).collect(), None)
            }
            None => (vec![DEFAULT], None),
            Some((merge, named)) => (ids(merge), Some(ids(named))),
        };
        let is_named = |graph: VertexId| match &named {
            None => graph != DEFAULT,
            Some(named) => named.contains(&graph),
        };
        let sees = |graph: VertexId| match scope {
            Scope::Default => merge.contains(&graph),
            Scope::Named(node) => {
                graph != DEFAULT && self.node(node, row) == graph && is_named(graph)
            }
            Scope::Bind(_) => is_named(graph),
        };
        let bound = |graph| {
            if matches!(scope, Scope::Bind(_)) {
                graph
            } else {
                DEFAULT
            }
        };
        let seen = self.quads(source).iter().filter(|quad| sees(quad.3));
        seen.map(|&(s, p, o, g)| (s, p, o, bound(g))).collect()
    }

    fn step(&self, action: &Action, rows: Vec<Row>) -> Vec<Row> {
        match action {
            Action::Filter(expression) => rows
                .into_iter()
                .filter(|row| self.truth(expression, row) == Some(true))
                .collect(),
            Action::Same { left, right } => rows
                .into_iter()
                .filter(|row| row[usize::from(left.0)] == row[usize::from(right.0)])
                .collect(),
            Action::Distinct { .. } => rows
                .into_iter()
                .collect::<BTreeSet<Row>>()
                .into_iter()
                .collect(),
            Action::Order { .. } => rows,
            Action::Slice { offset, limit } => {
                let rest = rows.into_iter().skip(*offset as usize);
                rest.take(limit.map_or(usize::MAX, |limit| limit as usize))
                    .collect()
            }
            Action::Count { distinct, into } => {
                let count = match distinct {
                    None => rows.len(),
                    Some(columns) => {
                        let cells = |row: &Row| -> Row {
                            columns
                                .iter()
                                .map(|slot| row[usize::from(slot.0)])
                                .collect()
                        };
                        rows.iter().map(cells).collect::<BTreeSet<_>>().len()
                    }
                };
                let mut row = vec![VertexId::UNBOUND; self.plan.variables.len()];
                row[usize::from(into.0)] = inline::from_integer(count as i64).expect("small");
                vec![row]
            }
            by_row => rows
                .iter()
                .flat_map(|row| match by_row {
                    Action::Nested { .. } => self.nested(by_row, row),
                    Action::Probe { .. }
                    | Action::Unify { .. }
                    | Action::Bind { .. }
                    | Action::Values { .. } => self.composed(by_row, row),
                    Action::Sizes { .. } | Action::Degree { .. } => self.counted(by_row, row),
                    pattern => self.pattern(pattern, row),
                })
                .collect(),
        }
    }

    /// Each branch is walked from this row alone.
    fn nested(&self, action: &Action, row: &Row) -> Vec<Row> {
        let Action::Nested {
            mode,
            branches,
            imports,
            row: number,
            exports,
            ..
        } = action
        else {
            unreachable!("the caller looked")
        };
        let mut within = vec![VertexId::UNBOUND; row.len()];
        for slot in imports {
            within[usize::from(slot.0)] = row[usize::from(slot.0)];
        }
        within[usize::from(number.0)] = inline::from_integer(0).expect("small");
        let found = branches
            .iter()
            .flat_map(|branch| self.walk(branch, vec![within.clone()]));
        let joined: Vec<Row> = found
            .map(|found| {
                let mut joined = row.clone();
                for slot in exports {
                    joined[usize::from(slot.0)] = found[usize::from(slot.0)];
                }
                joined
            })
            .collect();
        match mode {
            Mode::Left | Mode::Anti if joined.is_empty() => vec![row.clone()],
            Mode::Semi if !joined.is_empty() => vec![row.clone()],
            Mode::Inner | Mode::Left => joined,
            Mode::Semi | Mode::Anti => vec![],
            Mode::Mark(mark) => {
                let mut row = row.clone();
                row[usize::from(mark.0)] = inline::from_boolean(!joined.is_empty());
                vec![row]
            }
        }
    }

    fn composed(&self, action: &Action, row: &Row) -> Vec<Row> {
        let cell = |slot: &Slot| row[usize::from(slot.0)];
        let with = |cells: Vec<(Slot, VertexId)>| {
            let mut row = row.clone();
            for (slot, cell) in cells {
                row[usize::from(slot.0)] = cell;
            }
            row
        };
        match action {
            Action::Probe {
                table,
                keys,
                exports,
            } => {
                let unit = vec![VertexId::UNBOUND; row.len()];
                let table = self.walk(table, vec![unit]).into_iter();
                let matches = |found: &Row| {
                    keys.iter().all(|key| {
                        !cell(key).is_unbound() && cell(key) == found[usize::from(key.0)]
                    })
                };
                let cells = |found: Row| {
                    let cell = |slot: &Slot| (*slot, found[usize::from(slot.0)]);
                    exports.iter().map(cell).collect()
                };
                table
                    .filter(matches)
                    .map(|found| with(cells(found)))
                    .collect()
            }
            Action::Unify { into, from } => {
                let (left, right) = (cell(into), cell(from));
                let compatible = left == right || left.is_unbound() || right.is_unbound();
                let bound = if left.is_unbound() { right } else { left };
                compatible
                    .then(|| with(vec![(*into, bound)]))
                    .into_iter()
                    .collect()
            }
            Action::Bind { expression, into } => {
                let value = self.value(expression, row).unwrap_or(VertexId::UNBOUND);
                vec![with(vec![(*into, value)])]
            }
            Action::Values { columns, rows } => {
                let term = |cell: &Option<ConstantId>| {
                    cell.map_or(VertexId::UNBOUND, |constant| self.constant(constant))
                };
                let cells = |cells: &Vec<Option<ConstantId>>| {
                    columns
                        .iter()
                        .copied()
                        .zip(cells.iter().map(term))
                        .collect()
                };
                rows.iter().map(|row| with(cells(row))).collect()
            }
            _ => unreachable!("the caller looked"),
        }
    }

    /// The row with numbers, if it stays.
    fn counted(&self, action: &Action, row: &Row) -> Vec<Row> {
        let number = |count: usize| inline::from_integer(count as i64).expect("small");
        let mut row = row.clone();
        match action {
            Action::Sizes {
                predicate,
                scope,
                sizes,
                keeps_empty,
                source,
            } => {
                let wanted = predicate.map(|node| self.node(node, &row));
                let mut triples = self.triples((*scope, *source), &row);
                triples.retain(|triple| wanted.is_none_or(|wanted| triple.1 == wanted));
                for (size, into) in sizes {
                    let end = |triple: &(VertexId, VertexId, VertexId, VertexId)| match size {
                        Size::Subjects => triple.0,
                        Size::Predicates => triple.1,
                        _ => triple.2,
                    };
                    let count = match size {
                        Size::Edges => triples.len(),
                        _ => triples.iter().map(end).collect::<BTreeSet<_>>().len(),
                    };
                    row[usize::from(into.0)] = number(count);
                }
                let stays = *keeps_empty || !triples.is_empty();
                stays.then_some(row).into_iter().collect()
            }
            Action::Degree {
                from,
                predicate,
                direction,
                scope,
                into,
                source,
            } => {
                let (from, predicate) = (row[usize::from(from.0)], self.constant(*predicate));
                let triples = self.triples((*scope, *source), &row).into_iter();
                let of = |triple: &(VertexId, VertexId, VertexId, VertexId)| {
                    ends(*direction, triple.0, triple.2).0 == from && triple.1 == predicate
                };
                let count = triples.filter(of).count();
                for into in into {
                    row[usize::from(into.0)] = number(count);
                }
                (count > 0).then_some(row).into_iter().collect()
            }
            _ => unreachable!("the caller looked"),
        }
    }

    fn intersection(&self, sides: [Side; 2], into: Slot, row: &Row) -> Vec<Row> {
        let [near, far] = sides.map(|side| {
            let (from, predicate) = (row[usize::from(side.from.0)], side.predicate);
            let triples = self.triples((side.scope, side.source), row).into_iter();
            let of = triples.filter(|&(s, p, o, _)| {
                ends(side.direction, s, o).0 == from && p == self.constant(predicate)
            });
            of.map(|(s, _, o, _)| ends(side.direction, s, o).1)
                .collect::<BTreeSet<_>>()
        });
        bind(row, into, near.intersection(&far).copied())
    }

    fn pattern(&self, action: &Action, row: &Row) -> Vec<Row> {
        match *action {
            Action::Expand {
                from,
                predicate,
                direction,
                scope,
                into,
                source,
            } => {
                let (from, predicate) = (self.node(from, row), self.node(predicate, row));
                let triples = self.triples((scope, source), row).into_iter();
                let of = triples
                    .filter(|&(s, p, o, _)| ends(direction, s, o).0 == from && p == predicate);
                of.map(|(s, _, o, g)| with(row, scope, g, Some((into, ends(direction, s, o).1))))
                    .collect()
            }
            Action::Intersect { sides, into } => self.intersection(sides, into, row),
            Action::ExpandKeys {
                predicate,
                direction,
                scope,
                into,
                source,
            } => {
                let predicate = self.node(predicate, row);
                let triples = self.triples((scope, source), row).into_iter();
                let of = triples.filter(|triple| triple.1 == predicate);
                bind(row, into, of.map(|(s, _, o, _)| ends(direction, s, o).0))
            }
            Action::Check {
                subject,
                predicate,
                object,
                scope,
                source,
                ..
            } => {
                let wanted = [subject, predicate, object].map(|node| self.node(node, row));
                let triples = self.triples((scope, source), row).into_iter();
                let found = triples.filter(|&(s, p, o, _)| [s, p, o] == wanted);
                found
                    .map(|(_, _, _, g)| with(row, scope, g, None))
                    .collect()
            }
            _ => self.names(action, row),
        }
    }

    /// A row for each predicate or graph.
    fn names(&self, action: &Action, row: &Row) -> Vec<Row> {
        match *action {
            Action::ExpandPredicates {
                from,
                direction,
                into,
                source,
            } => {
                let from = self.node(from, row);
                let of = self
                    .quads(source)
                    .iter()
                    .filter(|quad| ends(direction, quad.0, quad.2).0 == from);
                bind(row, into, of.map(|quad| quad.1))
            }
            Action::AllPredicates { into, source } => {
                bind(row, into, self.quads(source).iter().map(|quad| quad.1))
            }
            Action::AllGraphs { into, source } => {
                if let Some((_, named)) = self.clause(source) {
                    return bind(row, into, named.iter().map(|&graph| self.constant(graph)));
                }
                let graphs = self.quads(source).iter().map(|quad| quad.3);
                bind(row, into, graphs.filter(|&graph| graph != DEFAULT))
            }
            _ => unreachable!("handled before"),
        }
    }

    /// The few forms of expressions that random plans use.
    fn truth(&self, expression: &Expression, row: &Row) -> Option<bool> {
        match expression {
            Expression::Bound(slot) => Some(!row[usize::from(slot.0)].is_unbound()),
            Expression::Not(one) => self.truth(one, row).map(|truth| !truth),
            Expression::Or(all) => {
                let truths: Vec<_> = all.iter().map(|one| self.truth(one, row)).collect();
                if truths.contains(&Some(true)) {
                    Some(true)
                } else {
                    (!truths.contains(&None)).then_some(false)
                }
            }
            Expression::And(all) => {
                let truths: Vec<_> = all.iter().map(|one| self.truth(one, row)).collect();
                if truths.contains(&Some(false)) {
                    Some(false)
                } else {
                    (!truths.contains(&None)).then_some(true)
                }
            }
            Expression::SameTerm(left, right) => {
                Some(self.value(left, row)? == self.value(right, row)?)
            }
            Expression::Compare(comparison, left, right) => {
                let (left, right) = (self.value(left, row)?, self.value(right, row)?);
                match comparison {
                    Comparison::Equal => Some(left == right),
                    Comparison::NotEqual => Some(left != right),
                    _ => {
                        let pair = inline::integer(left).zip(inline::integer(right));
                        let strings = || {
                            let text = |id| match self.term(id) {
                                Term::Literal(literal) if !id.tag().is_some_and(Tag::is_inline) => {
                                    Some(literal.value().to_owned())
                                }
                                _ => None,
                            };
                            Some(text(left)?.cmp(&text(right)?))
                        };
                        let same = || (left == right).then_some(std::cmp::Ordering::Equal);
                        let booleans = inline::boolean(left).zip(inline::boolean(right));
                        let order = pair
                            .map(|(left, right)| left.cmp(&right))
                            .or_else(|| Some(booleans?.0.cmp(&booleans?.1)))
                            .or_else(strings)
                            .or_else(same)?;
                        Some(match comparison {
                            Comparison::Less => order.is_lt(),
                            Comparison::LessOrEqual => order.is_le(),
                            Comparison::Greater => order.is_gt(),
                            _ => order.is_ge(),
                        })
                    }
                }
            }
            _ => unreachable!("random plans have no other conditions"),
        }
    }

    fn value(&self, expression: &Expression, row: &Row) -> Option<VertexId> {
        let id = match expression {
            Expression::Slot(slot) => row[usize::from(slot.0)],
            Expression::Constant(constant) => self.constant(*constant),
            _ => unreachable!("random plans have no other operands"),
        };
        (!id.is_unbound()).then_some(id)
    }

    fn term(&self, id: VertexId) -> Term {
        match id.tag() {
            Some(Tag::QueryLocal) => {
                let mut absent =
                    (0..self.constants.len()).filter(|&at| self.constants[at].is_none());
                let at = absent.nth(id.payload() as usize).expect("a constant");
                self.plan.constants[at].clone()
            }
            _ => Numbered::term(id),
        }
    }
}

/// The row with a new column, and the graph if it is bound.
fn with(row: &Row, scope: Scope, graph: VertexId, new: Option<(Slot, VertexId)>) -> Row {
    let mut row = row.clone();
    if let Scope::Bind(slot) = scope {
        row[usize::from(slot.0)] = graph;
    }
    if let Some((slot, value)) = new {
        row[usize::from(slot.0)] = value;
    }
    row
}

/// A row for each distinct value.
fn bind(row: &Row, into: Slot, values: impl Iterator<Item = VertexId>) -> Vec<Row> {
    let values: BTreeSet<_> = values.collect();
    values
        .into_iter()
        .map(|value| with(row, Scope::Default, DEFAULT, Some((into, value))))
        .collect()
}

fn ends(direction: Direction, subject: VertexId, object: VertexId) -> (VertexId, VertexId) {
    match direction {
        Direction::Out => (subject, object),
        Direction::In => (object, subject),
    }
}
