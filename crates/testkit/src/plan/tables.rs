//! Steps that look at rows, alone or together, but not at the graph.

use super::value::number;
use super::{Row, World, cut};
use query::plan::{Action, ConstantId, Node, Slot};
use std::collections::BTreeSet;

impl World<'_> {
    pub(super) fn of_rows(&self, action: &Action, mut table: Vec<Row>) -> Vec<Row> {
        match action {
            // The statement is about another snapshot: this one lets every row pass.
            Action::Never { .. } | Action::Order { .. } => {}
            Action::Same { left, right } => {
                table.retain(|row| {
                    self.known(Node::Slot(*left), row) == self.known(Node::Slot(*right), row)
                });
            }
            Action::Filter(filter) => table.retain(|row| self.truth(filter, row) == Some(true)),
            Action::Distinct { columns } => {
                let rows = table.into_iter().map(|row| cut(row, columns));
                let distinct: BTreeSet<Row> = rows.collect();
                return distinct.into_iter().collect();
            }
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
            Action::Values { columns, rows } => return self.values(columns, rows, &table),
            Action::Aggregate { keys, aggregates } => {
                return self.aggregate(&table, keys, aggregates);
            }
            Action::Count { distinct, into } => {
                return vec![counted(distinct.as_ref(), *into, table)];
            }
            Action::Slice { offset, limit } => {
                let rest = table.into_iter().skip(*offset as usize);
                let limit = limit.map_or(usize::MAX, |limit| limit as usize);
                return rest.take(limit).collect();
            }
            other => panic!("neither texts nor random plans have {other:?}"),
        }
        table
    }

    fn values(
        &self,
        columns: &[Slot],
        rows: &[Vec<Option<ConstantId>>],
        table: &[Row],
    ) -> Vec<Row> {
        let mut grown = Vec::new();
        for row in table {
            for cells in rows {
                let mut row = row.clone();
                for (slot, cell) in columns.iter().zip(cells) {
                    if let Some(cell) = cell {
                        let before = row.insert(*slot, self.constant(*cell));
                        assert!(before.is_none(), "{slot:?} is new");
                    }
                }
                grown.push(row);
            }
        }
        grown
    }
}

fn counted(distinct: Option<&Vec<Slot>>, into: Slot, table: Vec<Row>) -> Row {
    let count = match distinct {
        None => table.len(),
        Some(columns) => {
            let rows = table.into_iter().map(|row| cut(row, columns));
            rows.collect::<BTreeSet<Row>>().len()
        }
    };
    Row::from([(into, number(count))])
}
