//! Steps that hold steps.

use super::value::number;
use super::{Row, World, merge};
use query::plan::{Action, Mode, Node, Slot, Step};
use rdf::{VertexId, inline};
use std::collections::BTreeMap;

impl World<'_> {
    /// Joins with a table that does not depend on the row.
    pub(super) fn probe(
        &self,
        block: &[Step],
        keys: &[Slot],
        exports: &[Slot],
        table: &[Row],
    ) -> Vec<Row> {
        let right = self.walk(block, vec![Row::new()]);
        let mut grown = Vec::new();
        for row in table {
            for other in &right {
                let same = |key: &Slot| {
                    let [mine, theirs] = [row, other].map(|row| self.known(Node::Slot(*key), row));
                    mine.is_some() && mine == theirs
                };
                if keys.iter().all(same) {
                    assert!(exports.iter().all(|slot| !row.contains_key(slot)));
                    grown.extend(merge(row, other));
                }
            }
        }
        grown
    }

    /// Walks branches from the rows of a table.
    pub(super) fn nested(&self, action: &Action, table: &[Row]) -> Vec<Row> {
        let Action::Nested {
            mode,
            branches,
            imports,
            row: number_of,
            exports,
            row_by_row,
        } = action
        else {
            panic!("{action:?} has another place");
        };
        let begin = |(at, row): (usize, &Row)| -> Row {
            let imported = row.iter().filter(|(slot, _)| imports.contains(slot));
            let mut begin: Row = imported.map(|(slot, value)| (*slot, *value)).collect();
            begin.insert(*number_of, number(at));
            begin
        };
        let mut left: BTreeMap<VertexId, Vec<Row>> = BTreeMap::new();
        for branch in branches {
            let begins: Vec<Row> = table.iter().enumerate().map(begin).collect();
            let ends = if *row_by_row {
                self.walk_row_by_row(branch, begins, *number_of)
            } else {
                self.walk(branch, begins)
            };
            for end in ends {
                left.entry(end[number_of]).or_default().push(end);
            }
        }
        let rows = table.iter().enumerate();
        rows.flat_map(|(at, row)| {
            let ends = left.remove(&number(at)).unwrap_or_default();
            leaves(*mode, exports, row, &ends)
        })
        .collect()
    }

    /// Each row is walked to the end on its own, and gets its number back.
    fn walk_row_by_row(&self, branch: &[Step], begins: Vec<Row>, number_of: Slot) -> Vec<Row> {
        let mut ends = Vec::new();
        for begin in begins {
            let number = begin[&number_of];
            for mut end in self.walk(branch, vec![begin]) {
                end.insert(number_of, number);
                ends.push(end);
            }
        }
        ends
    }
}

/// What becomes of a row with the rows that left its branches.
fn leaves(mode: Mode, exports: &[Slot], row: &Row, ends: &[Row]) -> Vec<Row> {
    let made = |end: &Row| {
        let mut row = row.clone();
        for slot in exports {
            match end.get(slot) {
                Some(value) => row.insert(*slot, *value),
                None => row.remove(slot),
            };
        }
        row
    };
    let itself = |stays: bool| stays.then(|| row.clone()).into_iter().collect();
    match mode {
        Mode::Left if ends.is_empty() => itself(true),
        Mode::Inner | Mode::Left => ends.iter().map(made).collect(),
        Mode::Semi => itself(!ends.is_empty()),
        Mode::Anti => itself(ends.is_empty()),
        Mode::Mark(mark) => {
            let mut row = row.clone();
            row.insert(mark, inline::from_boolean(!ends.is_empty()));
            vec![row]
        }
    }
}
