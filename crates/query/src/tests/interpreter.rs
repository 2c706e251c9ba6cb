//! Plans by the contract of [`crate::plan`], row after row, for small worlds.

use super::reference::{FALSE, NUMBER, Row, TRUE, Value, World, merge};
use crate::plan::{Action, Mode, Node, Scope, Size, Slot, Step};
use rdf::Direction;
use std::collections::{BTreeMap, BTreeSet};

impl World {
    /// The last table of a block.
    pub(super) fn walk(&self, steps: &[Step], begins: Vec<Row>) -> Vec<Row> {
        let mut table = begins;
        for step in steps {
            table = self.action(&step.action, table);
            for row in &mut table {
                row.retain(|slot, _| step.keep.contains(slot));
            }
        }
        table
    }

    fn known(&self, node: Node, row: &Row) -> Value {
        self.value(node, row).expect("a node is bound")
    }

    /// Edges that a scope sees from a row, with the row and the graph it binds.
    fn seen(&self, scope: Scope, row: &Row) -> Vec<(Value, Value, Value, Row)> {
        let edges = self.edges.iter().filter_map(|(s, p, o, graph)| {
            let mut row = row.clone();
            let fits = match (scope, graph) {
                (Scope::Default, None) => true,
                (Scope::Named(node), Some(graph)) => self.known(node, &row) == *graph,
                (Scope::Bind(slot), Some(graph)) => row.insert(slot, *graph).is_none(),
                _ => false,
            };
            fits.then_some((*s, *p, *o, row))
        });
        edges.collect()
    }

    fn action(&self, action: &Action, table: Vec<Row>) -> Vec<Row> {
        let grown = |rows: &dyn Fn(&Row) -> Vec<Row>| table.iter().flat_map(rows).collect();
        match action {
            Action::Expand {
                from,
                predicate,
                direction,
                scope,
                into,
            } => grown(&|row| {
                let (from, predicate) = (self.known(*from, row), self.known(*predicate, row));
                let edges = self.seen(*scope, row).into_iter();
                edges
                    .filter_map(|(s, p, o, row)| {
                        let (near, far) = turned(*direction, s, o);
                        (near == from && p == predicate).then(|| with(&row, *into, far))
                    })
                    .collect()
            }),
            Action::ExpandKeys {
                predicate,
                direction,
                scope,
                into,
            } => grown(&|row| {
                let predicate = self.known(*predicate, row);
                let edges = self.seen(*scope, row).into_iter();
                let keys: BTreeSet<Value> = edges
                    .filter(|edge| edge.1 == predicate)
                    .map(|(s, _, o, _)| turned(*direction, s, o).0)
                    .collect();
                keys.into_iter().map(|key| with(row, *into, key)).collect()
            }),
            Action::Sizes { .. } | Action::Degree { .. } => self.sizes(action, &table),
            // It says nothing of other snapshots, and this is one.
            Action::Never { .. } => table,
            Action::ExpandPredicates { .. }
            | Action::AllPredicates { .. }
            | Action::AllGraphs { .. } => self.names(action, &table),
            Action::Check {
                subject,
                predicate,
                object,
                scope,
            } => grown(&|row| {
                let wanted = [subject, predicate, object].map(|node| self.known(*node, row));
                let edges = self.seen(*scope, row).into_iter();
                let fits = edges.filter(|edge| [edge.0, edge.1, edge.2] == wanted);
                fits.map(|edge| edge.3).collect()
            }),
            Action::PathSeed { .. } | Action::PathExpand { .. } | Action::PathCheck { .. } => {
                self.path(action, &table)
            }
            other => self.of_rows_of_plan(other, table),
        }
    }

    fn sizes(&self, action: &Action, table: &[Row]) -> Vec<Row> {
        let number = |count: usize| NUMBER + count as Value;
        let of_row = |row: &Row| -> Option<Row> {
            let mut row = row.clone();
            match action {
                Action::Sizes {
                    predicate,
                    scope,
                    sizes,
                    keeps_empty,
                } => {
                    let mut edges = self.seen(*scope, &row);
                    if let Some(predicate) = predicate {
                        let predicate = self.known(*predicate, &row);
                        edges.retain(|edge| edge.1 == predicate);
                    }
                    for (size, into) in sizes {
                        let term = |edge: &(Value, Value, Value, Row)| match size {
                            Size::Subjects => edge.0,
                            Size::Predicates => edge.1,
                            Size::Objects | Size::Edges => edge.2,
                        };
                        let distinct: BTreeSet<Value> = edges.iter().map(term).collect();
                        let count = match size {
                            Size::Edges => edges.len(),
                            _ => distinct.len(),
                        };
                        row.insert(*into, number(count));
                    }
                    (*keeps_empty || !edges.is_empty()).then_some(row)
                }
                Action::Degree {
                    from,
                    predicate,
                    direction,
                    scope,
                    into,
                } => {
                    let predicate = self.known(Node::Constant(*predicate), &row);
                    let from = row[from];
                    let edges = self.seen(*scope, &row).into_iter();
                    let edges = edges.filter(|(s, p, o, _)| {
                        *p == predicate && turned(*direction, *s, *o).0 == from
                    });
                    let count = edges.count();
                    row.extend(into.iter().map(|into| (*into, number(count))));
                    (count > 0).then_some(row)
                }
                _ => unreachable!("the caller handles the other actions"),
            }
        };
        table.iter().filter_map(of_row).collect()
    }

    fn names(&self, action: &Action, table: &[Row]) -> Vec<Row> {
        let grown = |rows: &dyn Fn(&Row) -> Vec<Row>| table.iter().flat_map(rows).collect();
        match action {
            Action::ExpandPredicates {
                from,
                direction,
                into,
            } => grown(&|row| {
                let from = self.known(*from, row);
                let edges = self.edges.iter();
                let edges = edges.filter(|edge| turned(*direction, edge.0, edge.2).0 == from);
                let predicates: BTreeSet<Value> = edges.map(|edge| edge.1).collect();
                predicates
                    .into_iter()
                    .map(|p| with(row, *into, p))
                    .collect()
            }),
            Action::AllPredicates { into } => grown(&|row| {
                let predicates: BTreeSet<Value> = self.edges.iter().map(|edge| edge.1).collect();
                predicates
                    .into_iter()
                    .map(|p| with(row, *into, p))
                    .collect()
            }),
            Action::AllGraphs { into } => grown(&|row| {
                self.graphs()
                    .into_iter()
                    .map(|g| with(row, *into, g))
                    .collect()
            }),
            other => panic!("{other:?} has another place"),
        }
    }

    fn path(&self, action: &Action, table: &[Row]) -> Vec<Row> {
        let grown = |rows: &dyn Fn(&Row) -> Vec<Row>| table.iter().flat_map(rows).collect();
        match action {
            Action::PathSeed {
                path,
                direction,
                scope,
                into,
            } => grown(&|row| {
                let pairs = self
                    .pairs(path, self.graph_of(*scope, row), &[])
                    .into_iter();
                let starts: BTreeSet<Value> =
                    pairs.map(|(a, b)| turned(*direction, a, b).0).collect();
                starts
                    .into_iter()
                    .map(|start| with(row, *into, start))
                    .collect()
            }),
            Action::PathExpand {
                from,
                path,
                direction,
                scope,
                into,
            } => grown(&|row| {
                let from = self.known(*from, row);
                let pairs = self
                    .pairs(path, self.graph_of(*scope, row), &[from])
                    .into_iter();
                let ends = pairs.map(|(a, b)| turned(*direction, a, b));
                ends.filter(|end| end.0 == from)
                    .map(|end| with(row, *into, end.1))
                    .collect()
            }),
            Action::PathCheck {
                subject,
                path,
                object,
                scope,
            } => grown(&|row| {
                let ends = (self.known(*subject, row), self.known(*object, row));
                let more = [ends.0, ends.1];
                let pairs = self
                    .pairs(path, self.graph_of(*scope, row), &more)
                    .into_iter();
                pairs
                    .filter(|pair| *pair == ends)
                    .map(|_| row.clone())
                    .collect()
            }),
            other => panic!("{other:?} has another place"),
        }
    }

    fn graph_of(&self, scope: Scope, row: &Row) -> Option<Value> {
        match scope {
            Scope::Default => None,
            Scope::Named(node) => Some(self.known(node, row)),
            Scope::Bind(_) => panic!("paths bind no graph"),
        }
    }

    fn of_rows_of_plan(&self, action: &Action, mut table: Vec<Row>) -> Vec<Row> {
        match action {
            Action::Same { left, right } => table.retain(|row| row[left] == row[right]),
            Action::Filter(filter) => table.retain(|row| self.truth(filter, row) == Some(true)),
            Action::Distinct { columns } => {
                let rows = table.into_iter().map(|row| cut(row, columns));
                let distinct: BTreeSet<Row> = rows.collect();
                return distinct.into_iter().collect();
            }
            Action::Order { .. } => {}
            Action::Bind { expression, into } => {
                for row in &mut table {
                    if let Some(value) = self.evaluate(expression, row) {
                        assert!(row.insert(*into, value).is_none(), "{into:?} is new");
                    }
                }
            }
            Action::Unify { into, from } => {
                table.retain_mut(|row| match (row.get(into), row.get(from)) {
                    (Some(a), Some(b)) => a == b,
                    (None, Some(b)) => {
                        let value = *b;
                        row.insert(*into, value);
                        true
                    }
                    (_, None) => true,
                });
            }
            Action::Aggregate { keys, aggregates } => {
                return self.aggregate(&table, keys, aggregates);
            }
            Action::Nested {
                mode,
                branches,
                imports,
                row,
                exports,
                row_by_row,
            } => {
                let block = Nested {
                    mode: *mode,
                    branches,
                    imports,
                    row: *row,
                    exports,
                };
                return self.nested(&block, *row_by_row, &table);
            }
            other => return self.of_tables(other, table),
        }
        table
    }

    fn of_tables(&self, action: &Action, table: Vec<Row>) -> Vec<Row> {
        match action {
            Action::Values { columns, rows } => {
                let mut grown = Vec::new();
                for row in &table {
                    for cells in rows {
                        let mut row = row.clone();
                        for (slot, cell) in columns.iter().zip(cells) {
                            if let Some(cell) = cell {
                                assert!(row.insert(*slot, self.constant(*cell)).is_none());
                            }
                        }
                        grown.push(row);
                    }
                }
                grown
            }
            Action::Count { distinct, into } => {
                let count = match distinct {
                    None => table.len(),
                    Some(columns) => {
                        let rows = table.into_iter().map(|row| cut(row, columns));
                        rows.collect::<BTreeSet<Row>>().len()
                    }
                };
                vec![Row::from([(*into, NUMBER + count as Value)])]
            }
            Action::Probe {
                table: block,
                keys,
                exports,
            } => {
                let right = self.walk(block, vec![Row::new()]);
                let mut grown = Vec::new();
                for row in &table {
                    for other in &right {
                        let same = |key: &Slot| row[key] == other[key];
                        if keys.iter().all(same) {
                            assert!(exports.iter().all(|slot| !row.contains_key(slot)));
                            grown.extend(merge(row, other));
                        }
                    }
                }
                grown
            }
            other => panic!("the texts have no {other:?}"),
        }
    }

    fn nested(&self, block: &Nested<'_>, row_by_row: bool, table: &[Row]) -> Vec<Row> {
        let mut grown = Vec::new();
        let cut = |(number, row): (usize, &Row)| -> Row {
            let imported = row.iter().filter(|(slot, _)| block.imports.contains(slot));
            let mut cut: Row = imported.map(|(slot, value)| (*slot, *value)).collect();
            cut.insert(block.row, number as Value);
            cut
        };
        let mut left: BTreeMap<Value, Vec<Row>> = BTreeMap::new();
        for branch in block.branches {
            let begins: Vec<Row> = table.iter().enumerate().map(cut).collect();
            let ends = if row_by_row {
                let mut ends = Vec::new();
                for begin in begins {
                    let number = begin[&block.row];
                    for mut end in self.walk(branch, vec![begin]) {
                        end.insert(block.row, number);
                        ends.push(end);
                    }
                }
                ends
            } else {
                self.walk(branch, begins)
            };
            for end in ends {
                left.entry(end[&block.row]).or_default().push(end);
            }
        }
        for (number, row) in table.iter().enumerate() {
            let ends = left.remove(&(number as Value)).unwrap_or_default();
            let mut made = ends.iter().map(|end| {
                let mut row = row.clone();
                for slot in block.exports {
                    match end.get(slot) {
                        Some(value) => row.insert(*slot, *value),
                        None => row.remove(slot),
                    };
                }
                row
            });
            match block.mode {
                Mode::Inner => grown.extend(made),
                Mode::Left if ends.is_empty() => grown.push(row.clone()),
                Mode::Left => grown.extend(made.by_ref()),
                Mode::Semi => grown.extend((!ends.is_empty()).then(|| row.clone())),
                Mode::Anti => grown.extend(ends.is_empty().then(|| row.clone())),
                Mode::Mark(mark) => {
                    let mut row = row.clone();
                    row.insert(mark, if ends.is_empty() { FALSE } else { TRUE });
                    grown.push(row);
                }
            }
        }
        grown
    }
}

/// The fields of the action.
struct Nested<'a> {
    mode: Mode,
    branches: &'a [Vec<Step>],
    imports: &'a [Slot],
    row: Slot,
    exports: &'a [Slot],
}

fn turned(direction: Direction, subject: Value, object: Value) -> (Value, Value) {
    match direction {
        Direction::Out => (subject, object),
        Direction::In => (object, subject),
    }
}

/// A row with one more column.
fn with(row: &Row, slot: Slot, value: Value) -> Row {
    let mut row = row.clone();
    assert!(row.insert(slot, value).is_none(), "{slot:?} is new");
    row
}

/// Some columns of a row.
fn cut(row: Row, columns: &[Slot]) -> Row {
    row.into_iter()
        .filter(|(slot, _)| columns.contains(slot))
        .collect()
}
