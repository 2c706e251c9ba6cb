//! Runs a plan by trying every quad for every row.

use super::{DEFAULT, Numbered, Quad};
use oxrdf::Term;
use query::expression::{Comparison, Expression};
use query::plan::{Action, ConstantId, Node, Plan, Scope, Slot};
use rdf::{Direction, Tag, VertexId, inline};
use std::collections::BTreeSet;

/// A row: a value per slot.
pub type Row = Vec<VertexId>;

/// Evaluates plans over quads.
pub struct Naive<'a> {
    pub quads: BTreeSet<Quad>,
    pub plan: &'a Plan,
    pub constants: &'a [Option<VertexId>],
}

/// An id that no quad holds, one per absent constant.
fn absent(constant: ConstantId) -> VertexId {
    VertexId::new(Tag::QueryLocal, u64::from(constant.0))
}

impl Naive<'_> {
    /// The rows after each of the first `steps` steps, with dead columns unbound.
    pub fn rows(&self, steps: usize) -> Vec<Row> {
        let mut rows = vec![vec![VertexId::UNBOUND; self.plan.variables.len()]];
        for step in &self.plan.steps[..steps] {
            rows = self.step(&step.action, rows);
            for row in &mut rows {
                for slot in 0..row.len() {
                    if !step.keep.contains(&Slot(slot as u16)) {
                        row[slot] = VertexId::UNBOUND;
                    }
                }
            }
        }
        rows
    }

    fn constant(&self, constant: ConstantId) -> VertexId {
        self.constants[constant.0 as usize].unwrap_or_else(|| absent(constant))
    }

    fn node(&self, node: Node, row: &Row) -> VertexId {
        match node {
            Node::Slot(slot) => row[usize::from(slot.0)],
            Node::Constant(constant) => self.constant(constant),
        }
    }

    /// The triples a scope sees, each with the graph it binds.
    fn triples(
        &self,
        scope: Scope,
        row: &Row,
    ) -> BTreeSet<(VertexId, VertexId, VertexId, VertexId)> {
        let clause = self.plan.dataset.graphs.as_ref();
        let ids = |graphs: &[ConstantId]| -> Vec<VertexId> {
            graphs.iter().map(|&graph| self.constant(graph)).collect()
        };
        let (merge, named) = match clause {
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
        let seen = self.quads.iter().filter(|quad| sees(quad.3));
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
                row[usize::from(into.0)] = inline::from_integer(count as i64).unwrap();
                vec![row]
            }
            pattern => rows
                .iter()
                .flat_map(|row| self.pattern(pattern, row))
                .collect(),
        }
    }

    fn pattern(&self, action: &Action, row: &Row) -> Vec<Row> {
        let with = |bindings: &[(Slot, VertexId)]| {
            let mut row = row.clone();
            for (slot, value) in bindings {
                row[usize::from(slot.0)] = *value;
            }
            row
        };
        let graph_of = |scope: Scope, graph| match scope {
            Scope::Bind(slot) => vec![(slot, graph)],
            _ => vec![],
        };
        match *action {
            Action::Expand {
                from,
                predicate,
                direction,
                scope,
                into,
            } => {
                let (from, predicate) = (self.node(from, row), self.node(predicate, row));
                let triples = self.triples(scope, row);
                let mut rows = Vec::new();
                for (s, p, o, g) in triples {
                    let (near, far) = ends(direction, s, o);
                    if near == from && p == predicate {
                        let mut bindings = graph_of(scope, g);
                        bindings.push((into, far));
                        rows.push(with(&bindings));
                    }
                }
                rows
            }
            Action::ExpandKeys {
                predicate,
                direction,
                scope,
                into,
            } => {
                let predicate = self.node(predicate, row);
                let triples = self.triples(scope, row);
                let of = triples.into_iter().filter(|triple| triple.1 == predicate);
                let keys: BTreeSet<_> = of.map(|(s, _, o, _)| ends(direction, s, o).0).collect();
                keys.into_iter().map(|key| with(&[(into, key)])).collect()
            }
            Action::ExpandPredicates {
                from,
                direction,
                into,
            } => {
                let from = self.node(from, row);
                let of = self
                    .quads
                    .iter()
                    .filter(|quad| ends(direction, quad.0, quad.2).0 == from);
                let predicates: BTreeSet<_> = of.map(|quad| quad.1).collect();
                predicates
                    .into_iter()
                    .map(|one| with(&[(into, one)]))
                    .collect()
            }
            Action::AllPredicates { into } => {
                let predicates: BTreeSet<_> = self.quads.iter().map(|quad| quad.1).collect();
                predicates
                    .into_iter()
                    .map(|one| with(&[(into, one)]))
                    .collect()
            }
            Action::AllGraphs { into } => {
                let graphs: BTreeSet<_> = match &self.plan.dataset.graphs {
                    Some((_, named)) => named.iter().map(|&graph| self.constant(graph)).collect(),
                    None => {
                        let graphs = self.quads.iter().map(|quad| quad.3);
                        graphs.filter(|&graph| graph != DEFAULT).collect()
                    }
                };
                graphs.into_iter().map(|one| with(&[(into, one)])).collect()
            }
            Action::Check {
                subject,
                predicate,
                object,
                scope,
            } => {
                let wanted = [subject, predicate, object].map(|node| self.node(node, row));
                let triples = self.triples(scope, row);
                let found = triples
                    .into_iter()
                    .filter(|&(s, p, o, _)| [s, p, o] == wanted);
                found
                    .map(|(_, _, _, g)| with(&graph_of(scope, g)))
                    .collect()
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
                                Term::Literal(literal) if inline::integer(id).is_none() => {
                                    Some(literal.value().to_owned())
                                }
                                _ => None,
                            };
                            Some(text(left)?.cmp(&text(right)?))
                        };
                        let same = || (left == right).then_some(std::cmp::Ordering::Equal);
                        let order = pair
                            .map(|(left, right)| left.cmp(&right))
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
            Some(Tag::QueryLocal) => self.plan.constants[id.payload() as usize].clone(),
            _ => Numbered::term(id),
        }
    }
}

fn ends(direction: Direction, subject: VertexId, object: VertexId) -> (VertexId, VertexId) {
    match direction {
        Direction::Out => (subject, object),
        Direction::In => (object, subject),
    }
}
