//! The algebra by its definition: each group evaluated on its own, joins by comparing all rows with
//! all rows. Small tables only. What plans mean is compared with it (see [`super::meaning`]).

use crate::algebra::{Element, Group, Pattern};
use crate::expression::{Comparison, Expression};
use crate::path::Path;
use crate::plan::{Aggregate, ConstantId, Node, Slot};
use std::collections::{BTreeMap, BTreeSet};

/// A term: a number of the small world, or one of the booleans.
pub(super) type Value = u32;
pub(super) const TRUE: Value = 1001;
pub(super) const FALSE: Value = 1000;
/// Counts begin here.
pub(super) const NUMBER: Value = 2000;

pub(super) type Row = BTreeMap<Slot, Value>;

/// Edges of the default graph (`None`) and of named graphs.
#[derive(Clone, Debug, Default)]
pub(super) struct World {
    pub edges: BTreeSet<(Value, Value, Value, Option<Value>)>,
    /// By constant of the query.
    pub constants: Vec<Value>,
}

impl World {
    pub(super) fn constant(&self, id: ConstantId) -> Value {
        self.constants[id.0 as usize]
    }

    pub(super) fn graphs(&self) -> BTreeSet<Value> {
        self.edges.iter().filter_map(|edge| edge.3).collect()
    }

    pub(super) fn value(&self, node: Node, row: &Row) -> Option<Value> {
        match node {
            Node::Slot(slot) => row.get(&slot).copied(),
            Node::Constant(id) => Some(self.constant(id)),
        }
    }

    /// Puts a value at a node, if it may stand there.
    pub(super) fn put(&self, row: &mut Row, node: Node, value: Value) -> bool {
        match (self.value(node, row), node) {
            (Some(known), _) => known == value,
            (None, Node::Slot(slot)) => {
                row.insert(slot, value);
                true
            }
            (None, Node::Constant(_)) => false,
        }
    }

    /// The pairs that a path connects in a graph; the vertices of the graph.
    pub(super) fn pairs(
        &self,
        path: &Path,
        graph: Option<Value>,
        more: &[Value],
    ) -> Vec<(Value, Value)> {
        let edges = || self.edges.iter().filter(move |edge| edge.3 == graph);
        let mut vertices: BTreeSet<Value> = edges().flat_map(|e| [e.0, e.2]).collect();
        vertices.extend(more);
        let same = || vertices.iter().map(|v| (*v, *v));
        match path {
            Path::Predicate(id) => {
                let predicate = self.constant(*id);
                edges()
                    .filter(|e| e.1 == predicate)
                    .map(|e| (e.0, e.2))
                    .collect()
            }
            Path::Inverse(inner) => {
                let pairs = self.pairs(inner, graph, more).into_iter();
                pairs.map(|(a, b)| (b, a)).collect()
            }
            Path::ZeroOrMore(inner) => {
                let mut all = self.closure(inner, graph, more);
                all.extend(same());
                all.into_iter().collect()
            }
            Path::OneOrMore(inner) => self.closure(inner, graph, more).into_iter().collect(),
            Path::ZeroOrOne(inner) => {
                let mut all: BTreeSet<_> = self.pairs(inner, graph, more).into_iter().collect();
                all.extend(same());
                all.into_iter().collect()
            }
            Path::Alternative(parts) => parts
                .iter()
                .flat_map(|part| self.pairs(part, graph, more))
                .collect(),
            Path::Sequence(parts) => {
                let mut pairs: Vec<(Value, Value)> = same().collect();
                for part in parts {
                    let next = self.pairs(part, graph, more);
                    pairs = pairs
                        .iter()
                        .flat_map(|(a, b)| {
                            next.iter().filter(move |n| n.0 == *b).map(|n| (*a, n.1))
                        })
                        .collect();
                }
                pairs
            }
            Path::Negated { .. } => panic!("the texts have none"),
        }
    }

    fn closure(
        &self,
        inner: &Path,
        graph: Option<Value>,
        more: &[Value],
    ) -> BTreeSet<(Value, Value)> {
        let step: BTreeSet<_> = self.pairs(inner, graph, more).into_iter().collect();
        let mut all = step.clone();
        loop {
            let longer: Vec<_> = all
                .iter()
                .flat_map(|(a, b)| step.iter().filter(move |s| s.0 == *b).map(|s| (*a, s.1)))
                .collect();
            let before = all.len();
            all.extend(longer);
            if all.len() == before {
                return all;
            }
        }
    }

    pub(super) fn evaluate(&self, expression: &Expression, row: &Row) -> Option<Value> {
        let truth = |value: bool| Some(if value { TRUE } else { FALSE });
        let of = |e: &Expression| self.evaluate(e, row);
        match expression {
            Expression::Slot(slot) => row.get(slot).copied(),
            Expression::Constant(id) => Some(self.constant(*id)),
            Expression::Bound(slot) => truth(row.contains_key(slot)),
            Expression::Or(parts) => {
                let values: Vec<_> = parts.iter().map(|part| self.truth(part, row)).collect();
                if values.contains(&Some(true)) {
                    truth(true)
                } else if values.contains(&None) {
                    None
                } else {
                    truth(false)
                }
            }
            Expression::And(parts) => {
                let values: Vec<_> = parts.iter().map(|part| self.truth(part, row)).collect();
                if values.contains(&Some(false)) {
                    truth(false)
                } else if values.contains(&None) {
                    None
                } else {
                    truth(true)
                }
            }
            Expression::Not(inner) => truth(!self.truth(inner, row)?),
            Expression::SameTerm(a, b) => truth(of(a)? == of(b)?),
            Expression::Compare(comparison, a, b) => {
                let (a, b) = (of(a)?, of(b)?);
                truth(match comparison {
                    Comparison::Equal => a == b,
                    Comparison::NotEqual => a != b,
                    Comparison::Less => a < b,
                    Comparison::LessOrEqual => a <= b,
                    Comparison::Greater => a > b,
                    Comparison::GreaterOrEqual => a >= b,
                })
            }
            Expression::Coalesce(parts) => parts.iter().find_map(of),
            Expression::If(a, b, c) => of(if self.truth(a, row)? { b } else { c }),
            other => panic!("the texts have no {other:?}"),
        }
    }

    /// The effective boolean value.
    pub(super) fn truth(&self, expression: &Expression, row: &Row) -> Option<bool> {
        match self.evaluate(expression, row)? {
            TRUE => Some(true),
            FALSE => Some(false),
            _ => None,
        }
    }

    /// The solutions of a group that sees a row. So do the groups within it: what a sub-query does
    /// not project has other slots.
    pub(super) fn solve(&self, group: &Group, seen: &Row) -> Vec<Row> {
        let mut table = vec![seen.clone()];
        for element in &group.elements {
            table = self.element(element, table, seen);
        }
        table
    }

    fn element(&self, element: &Element, table: Vec<Row>, seen: &Row) -> Vec<Row> {
        let grown = |rows: &dyn Fn(&Row) -> Vec<Row>| table.iter().flat_map(rows).collect();
        match element {
            Element::Pattern(pattern) => grown(&|row| self.matches(pattern, row)),
            Element::Path(path) => grown(&|row| {
                let graphs: Vec<Option<Value>> = match path.graph {
                    None => vec![None],
                    Some(_) => self.graphs().into_iter().map(Some).collect(),
                };
                let mut rows = Vec::new();
                for graph in graphs {
                    let ends = [path.subject, path.object];
                    // Only a term of the pattern itself is connected with itself in any graph.
                    let named: Vec<Value> = ends
                        .iter()
                        .filter(|end| matches!(end, Node::Constant(_)))
                        .filter_map(|end| self.value(*end, row))
                        .collect();
                    for (a, b) in self.pairs(&path.path, graph, &named) {
                        let mut row = row.clone();
                        let fits = self.put(&mut row, path.subject, a)
                            && self.put(&mut row, path.object, b)
                            && path
                                .graph
                                .is_none_or(|node| self.put(&mut row, node, graph.unwrap()));
                        rows.extend(fits.then_some(row));
                    }
                }
                rows
            }),
            Element::Graph(node) => grown(&|row| {
                let graphs = self.graphs().into_iter();
                graphs
                    .filter_map(|graph| {
                        let mut row = row.clone();
                        self.put(&mut row, *node, graph).then_some(row)
                    })
                    .collect()
            }),
            Element::Values { columns, rows } => {
                let row = |cells: &Vec<Option<ConstantId>>| -> Row {
                    let cells = columns.iter().zip(cells);
                    cells
                        .filter_map(|(slot, cell)| Some((*slot, self.constant((*cell)?))))
                        .collect()
                };
                join(&table, &rows.iter().map(row).collect::<Vec<_>>())
            }
            Element::Join(group) => join(&table, &self.solve(group, seen)),
            Element::Union(groups) => {
                let rows: Vec<Row> = groups
                    .iter()
                    .flat_map(|group| self.solve(group, seen))
                    .collect();
                join(&table, &rows)
            }
            other => self.of_rows(other, table, seen),
        }
    }

    pub(super) fn matches(&self, pattern: &Pattern, row: &Row) -> Vec<Row> {
        let mut rows = Vec::new();
        for (subject, predicate, object, graph) in &self.edges {
            let mut row = row.clone();
            let fits = match (pattern.graph, graph) {
                (None, None) => true,
                (Some(node), Some(graph)) => self.put(&mut row, node, *graph),
                _ => false,
            };
            let fits = fits
                && self.put(&mut row, pattern.subject, *subject)
                && self.put(&mut row, pattern.predicate, *predicate)
                && self.put(&mut row, pattern.object, *object);
            rows.extend(fits.then_some(row));
        }
        rows
    }

    fn of_rows(&self, element: &Element, mut table: Vec<Row>, seen: &Row) -> Vec<Row> {
        match element {
            Element::Optional { group, condition } => {
                let right = self.solve(group, seen);
                let mut rows = Vec::new();
                for row in table {
                    let mut merged = join(std::slice::from_ref(&row), &right);
                    for element in condition {
                        merged = self.element(element, merged, &Row::new());
                    }
                    if merged.is_empty() {
                        merged.push(row);
                    }
                    rows.extend(merged);
                }
                return rows;
            }
            Element::Minus(group) => {
                // What is seen from outside is no variable of the group.
                let mut right = self.solve(group, seen);
                let mine = super::slots_of_group(group);
                for row in &mut right {
                    row.retain(|slot, _| mine.contains(slot));
                }
                table.retain(|row| {
                    let removes = |other: &Row| {
                        merge(row, other).is_some()
                            && other.keys().any(|slot| row.contains_key(slot))
                    };
                    !right.iter().any(removes)
                });
            }
            Element::Lateral(group) => {
                let group = match &group.elements[..] {
                    [Element::Join(only)] => only,
                    _ => group,
                };
                let rows = table.iter();
                return rows
                    .flat_map(|row| join(std::slice::from_ref(row), &self.solve(group, row)))
                    .collect();
            }
            Element::Exists { group, negated } => {
                table.retain(|row| self.exists(group, row) != *negated);
            }
            Element::Mark { group, into } => {
                for row in &mut table {
                    let value = if self.exists(group, row) { TRUE } else { FALSE };
                    row.insert(*into, value);
                }
            }
            Element::Filter(filter) => table.retain(|row| self.truth(filter, row) == Some(true)),
            Element::Bind { expression, into } => {
                for row in &mut table {
                    if let Some(value) = self.evaluate(expression, row) {
                        row.insert(*into, value);
                    }
                }
            }
            modifier => return self.modifier(modifier, table),
        }
        table
    }

    fn modifier(&self, element: &Element, mut table: Vec<Row>) -> Vec<Row> {
        match element {
            Element::Aggregate { keys, aggregates } => {
                return self.aggregate(&table, keys, aggregates);
            }
            Element::Project(slots) => {
                for row in &mut table {
                    row.retain(|slot, _| slots.contains(slot));
                }
            }
            Element::Distinct => {
                let distinct: BTreeSet<Row> = table.into_iter().collect();
                return distinct.into_iter().collect();
            }
            Element::Order(_) => {}
            other => panic!("the texts have no {other:?}"),
        }
        table
    }

    fn exists(&self, group: &Group, row: &Row) -> bool {
        let rows = self.solve(group, row);
        rows.iter().any(|other| merge(row, other).is_some())
    }

    /// Counts only.
    pub(super) fn aggregate(
        &self,
        table: &[Row],
        keys: &[Slot],
        aggregates: &[(Aggregate, Slot)],
    ) -> Vec<Row> {
        let mut groups: BTreeMap<Row, Vec<&Row>> = BTreeMap::new();
        if keys.is_empty() {
            groups.insert(Row::new(), Vec::new());
        }
        for row in table {
            let key = row.iter().filter(|(slot, _)| keys.contains(slot));
            let key: Row = key.map(|(slot, value)| (*slot, *value)).collect();
            groups.entry(key).or_default().push(row);
        }
        let mut rows = Vec::new();
        for (mut row, members) in groups {
            for (aggregate, into) in aggregates {
                let count = match (&aggregate.argument, &aggregate.distinct) {
                    (None, None) => members.len(),
                    (None, Some(columns)) => {
                        let cut = |row: &&Row| -> Vec<Option<Value>> {
                            columns.iter().map(|slot| row.get(slot).copied()).collect()
                        };
                        members.iter().map(cut).collect::<BTreeSet<_>>().len()
                    }
                    (Some(argument), distinct) => {
                        let values = members
                            .iter()
                            .filter_map(|row| self.evaluate(argument, row));
                        match distinct {
                            None => values.count(),
                            Some(_) => values.collect::<BTreeSet<_>>().len(),
                        }
                    }
                };
                row.insert(*into, NUMBER + count as Value);
            }
            rows.push(row);
        }
        rows
    }
}

/// Two compatible rows as one.
pub(super) fn merge(a: &Row, b: &Row) -> Option<Row> {
    let mut row = a.clone();
    for (slot, value) in b {
        if *row.entry(*slot).or_insert(*value) != *value {
            return None;
        }
    }
    Some(row)
}

pub(super) fn join(left: &[Row], right: &[Row]) -> Vec<Row> {
    let pairs = left
        .iter()
        .flat_map(|a| right.iter().map(move |b| merge(a, b)));
    pairs.flatten().collect()
}
