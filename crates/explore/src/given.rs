//! Tables that are given to a walk from outside, and outlive it: rows of ids with hash indexes that change with them.
//!
//! ```text
//!  columns            an index over some columns
//!  +------+------+    slots: 8 bytes each          only where rows share keys
//!  | user | tag  |    +------------+---------+     +------+------+
//!  |  17  |   3  | <- | 32 of hash | row + 1 |     | next | prev |  rows with equal keys
//!  |  23  |   3  |    +------------+---------+     +------+------+
//!  +------+------+
//! ```
//!
//! Whoever registers many queries that differ in constants keeps their constants here, and walks the plan of all of them
//! once. So a look-up that finds nothing must be cheap: it reads one cache line of slots, and no column.
//!
//! **Invariants.** Rows are distinct and have no unbound cell. Rows are numbered from 0 without gaps: a row that is removed
//! gives its number to the last one. An index has a slot for each distinct key, by linear probing from the low bits of its
//! 32 bits of hash, without tombstones; rows with equal keys are chained.
//!
//! **Cost.** 8 bytes a cell; an index takes 12 to 24 bytes a key, and 8 more a row where it is not over all columns. A
//! change costs some 100 ns an index, a look-up a cache miss.

use query::statistics::TableStatistics;
use rdf::VertexId;
use std::collections::HashSet;

/// The most rows of a table: a row has a number of 32 bits, and one number stands for none.
pub const GIVEN_ROWS_MAX: usize = (u32::MAX - 1) as usize;

/// No row.
const NONE: u32 = u32::MAX;
/// Slots of the smallest index. A power of two.
const SLOTS_MIN: usize = 16;
const _: () = assert!(SLOTS_MIN.is_power_of_two(), "a mask cuts a hash to a slot");

/// See the head of this file.
#[derive(Clone, Debug)]
pub struct GivenTable {
    rows: usize,
    columns: Vec<Vec<VertexId>>,
    /// The first is over all columns.
    indexes: Vec<Index>,
}

/// What became of a row that was inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inserted {
    /// Its number.
    pub row: u32,
    /// Whether it was not there before.
    pub is_new: bool,
}

impl GivenTable {
    /// An empty table. Asserts that it has a column.
    pub fn new(columns: usize) -> GivenTable {
        assert!(columns > 0, "a given table has a column");
        GivenTable {
            rows: 0,
            columns: vec![Vec::new(); columns],
            indexes: vec![Index::new((0..columns).collect(), columns)],
        }
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The cells of a column, by row.
    pub fn column(&self, column: usize) -> &[VertexId] {
        &self.columns[column]
    }

    /// Adds a row, unless it is there. Asserts that it has a bound cell for each column, and that there is a number left.
    pub fn insert(&mut self, cells: &[VertexId]) -> Inserted {
        assert_eq!(cells.len(), self.columns.len(), "a cell for each column");
        assert!(
            cells.iter().all(|cell| !cell.is_unbound()),
            "a given table has no unbound cell"
        );
        if let Some(row) = self.find(cells) {
            return Inserted { row, is_new: false };
        }
        assert!(self.rows < GIVEN_ROWS_MAX, "a row has a number");
        let row = self.rows as u32;
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.push(*cell);
        }
        self.rows += 1;
        for index in &mut self.indexes {
            index.insert(&self.columns, row);
        }
        Inserted { row, is_new: true }
    }

    /// The number of a row with these cells.
    pub fn find(&self, cells: &[VertexId]) -> Option<u32> {
        let all = &self.indexes[0];
        let tag = tag_of(cells.iter().copied());
        all.find(&self.columns, tag, |at| cells[at])
    }

    /// Removes a row. Gives the old number of the row that has its number now, if there is one. Asserts that it is there.
    pub fn remove(&mut self, row: u32) -> Option<u32> {
        assert!((row as usize) < self.rows, "a row is removed that is there");
        let last = (self.rows - 1) as u32;
        for index in &mut self.indexes {
            index.remove(&self.columns, row);
            if last != row {
                index.renumber(&self.columns, last, row);
            }
            index.cut(last);
        }
        for column in &mut self.columns {
            column.swap_remove(row as usize);
        }
        self.rows -= 1;
        (last != row).then_some(last)
    }

    /// Makes an index over these columns, unless there is one. Asserts that they ascend and are columns.
    pub fn index(&mut self, keys: &[usize]) {
        if keys.is_empty() || self.index_over(keys).is_some() {
            return;
        }
        assert!(
            keys.is_sorted_by(|one, other| one < other) && keys.iter().all(|at| *at < self.width()),
            "keys are columns, each once"
        );
        let mut index = Index::new(keys.to_vec(), self.width());
        for row in 0..self.rows as u32 {
            index.insert(&self.columns, row);
        }
        self.indexes.push(index);
    }

    /// The index over these columns.
    pub(crate) fn index_over(&self, keys: &[usize]) -> Option<&Index> {
        self.indexes.iter().find(|index| index.keys == keys)
    }

    /// For the planner. O(cells) where there are several columns.
    pub fn statistics(&self) -> TableStatistics {
        let distinct = |column: &Vec<VertexId>| match self.columns.len() {
            1 => self.rows as u64,
            _ => column.iter().collect::<HashSet<_>>().len() as u64,
        };
        TableStatistics {
            rows: self.rows as u64,
            distinct: self.columns.iter().map(distinct).collect(),
        }
    }

    /// What it holds, in bytes.
    pub fn bytes(&self) -> u64 {
        let cells: usize = self.columns.iter().map(Vec::capacity).sum();
        let indexes: usize = self.indexes.iter().map(Index::bytes).sum();
        (cells * size_of::<VertexId>() + indexes) as u64
    }
}

/// From keys to rows; see the head of this file.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    /// The columns compared, ascending.
    keys: Vec<usize>,
    /// The high half is what is kept of the hash, the low half the number of a row and one; 0 where there is none.
    slots: Vec<u64>,
    used: usize,
    /// Rows with equal keys; `None` where rows differ in their keys.
    chains: Option<Chains>,
}

/// By row the next and the previous with equal keys, [`NONE`] at the ends.
#[derive(Clone, Debug, Default)]
struct Chains {
    next: Vec<u32>,
    previous: Vec<u32>,
}

impl Index {
    fn new(keys: Vec<usize>, width: usize) -> Index {
        let chains = (keys.len() < width).then(Chains::default);
        Index {
            keys,
            slots: vec![0; SLOTS_MIN],
            used: 0,
            chains,
        }
    }

    fn bytes(&self) -> usize {
        let chains = self.chains.as_ref();
        let links = chains.map_or(0, |it| it.next.capacity() + it.previous.capacity());
        self.slots.capacity() * size_of::<u64>() + links * size_of::<u32>()
    }

    /// The row that a row of keys begins with, for each of these rows: [`NONE`] where there is none. `keys[i]` are the cells
    /// of the index's i-th column.
    pub(crate) fn find_all(&self, table: &GivenTable, keys: &[&[VertexId]], found: &mut Vec<u32>) {
        found.clear();
        let rows = keys.first().map_or(0, |cells| cells.len());
        let mask = self.slots.len() - 1;
        found.extend((0..rows).map(|row| tag_of(keys.iter().map(|cells| cells[row]))));
        // No load waits for another here, so that cache misses overlap.
        let first: Vec<u64> = found
            .iter()
            .map(|tag| self.slots[*tag as usize & mask])
            .collect();
        for (row, (tag, slot)) in found.iter_mut().zip(first).enumerate() {
            let head = match slot {
                0 => None,
                _ => self.find(&table.columns, *tag, |at| keys[at][row]),
            };
            *tag = head.unwrap_or(NONE);
        }
    }

    /// The row behind one that has the same keys.
    pub(crate) fn next(&self, row: u32) -> Option<u32> {
        let next = self
            .chains
            .as_ref()
            .map_or(NONE, |it| it.next[row as usize]);
        (next != NONE).then_some(next)
    }

    /// Whether a row of [`Index::find_all`] is one.
    pub(crate) fn is_row(row: u32) -> bool {
        row != NONE
    }

    /// The first row with these keys.
    fn find(
        &self,
        columns: &[Vec<VertexId>],
        tag: u32,
        key: impl Fn(usize) -> VertexId,
    ) -> Option<u32> {
        let at = self.slot_of(columns, tag, key);
        row_of(self.slots[at])
    }

    /// The slot of these keys, or the empty one where they belong.
    fn slot_of(
        &self,
        columns: &[Vec<VertexId>],
        tag: u32,
        key: impl Fn(usize) -> VertexId,
    ) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = tag as usize & mask;
        loop {
            let slot = self.slots[at];
            let Some(row) = row_of(slot) else {
                return at;
            };
            let has_keys = || {
                let mut keys = self.keys.iter().enumerate();
                keys.all(|(place, column)| columns[*column][row as usize] == key(place))
            };
            if tag_in(slot) == tag && has_keys() {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    fn slot_of_row(&self, columns: &[Vec<VertexId>], row: u32) -> (usize, u32) {
        let key = |place: usize| columns[self.keys[place]][row as usize];
        let tag = tag_of((0..self.keys.len()).map(key));
        (self.slot_of(columns, tag, key), tag)
    }

    /// Adds a row that the columns have already.
    fn insert(&mut self, columns: &[Vec<VertexId>], row: u32) {
        if (self.used + 1) * 3 > self.slots.len() * 2 {
            self.grow();
        }
        let (at, tag) = self.slot_of_row(columns, row);
        let head = row_of(self.slots[at]);
        if let Some(chains) = &mut self.chains {
            assert_eq!(chains.next.len(), row as usize, "rows come in order");
            chains.next.push(head.unwrap_or(NONE));
            chains.previous.push(NONE);
            if let Some(head) = head {
                chains.previous[head as usize] = row;
            }
        } else {
            assert!(head.is_none(), "rows of a given table are distinct");
        }
        self.slots[at] = slot(tag, row);
        self.used += usize::from(head.is_none());
    }

    /// Forgets a row that the columns still have.
    fn remove(&mut self, columns: &[Vec<VertexId>], row: u32) {
        let (at, tag) = self.slot_of_row(columns, row);
        let Some(chains) = &mut self.chains else {
            return self.empty(at);
        };
        let (next, previous) = (chains.next[row as usize], chains.previous[row as usize]);
        if next != NONE {
            chains.previous[next as usize] = previous;
        }
        if previous != NONE {
            chains.next[previous as usize] = next;
        } else if next != NONE {
            self.slots[at] = slot(tag, next);
        } else {
            self.empty(at);
        }
    }

    /// Lets a row have another number, that of one which was removed.
    fn renumber(&mut self, columns: &[Vec<VertexId>], from: u32, to: u32) {
        let (at, tag) = self.slot_of_row(columns, from);
        if row_of(self.slots[at]) == Some(from) {
            self.slots[at] = slot(tag, to);
        }
        if let Some(chains) = &mut self.chains {
            let (next, previous) = (chains.next[from as usize], chains.previous[from as usize]);
            (chains.next[to as usize], chains.previous[to as usize]) = (next, previous);
            if next != NONE {
                chains.previous[next as usize] = to;
            }
            if previous != NONE {
                chains.next[previous as usize] = to;
            }
        }
    }

    /// Forgets the number of the last row, which no row has any more.
    fn cut(&mut self, last: u32) {
        if let Some(chains) = &mut self.chains {
            chains.next.truncate(last as usize);
            chains.previous.truncate(last as usize);
        }
    }

    /// Empties a slot, and moves those behind it up that would not be found any more.
    fn empty(&mut self, at: usize) {
        let mask = self.slots.len() - 1;
        let mut hole = at;
        let mut next = (at + 1) & mask;
        while self.slots[next] != 0 {
            let home = tag_in(self.slots[next]) as usize & mask;
            // It may stand in the hole where that is not before its home, on the way round.
            if next.wrapping_sub(home) & mask >= next.wrapping_sub(hole) & mask {
                self.slots[hole] = self.slots[next];
                hole = next;
            }
            next = (next + 1) & mask;
        }
        self.slots[hole] = 0;
        self.used -= 1;
    }

    fn grow(&mut self) {
        let larger = vec![0; self.slots.len() * 2];
        let mask = larger.len() - 1;
        for slot in std::mem::replace(&mut self.slots, larger) {
            if slot != 0 {
                let mut at = tag_in(slot) as usize & mask;
                while self.slots[at] != 0 {
                    at = (at + 1) & mask;
                }
                self.slots[at] = slot;
            }
        }
    }
}

fn slot(tag: u32, row: u32) -> u64 {
    u64::from(tag) << 32 | u64::from(row + 1)
}

fn tag_in(slot: u64) -> u32 {
    (slot >> 32) as u32
}

fn row_of(slot: u64) -> Option<u32> {
    (slot as u32).checked_sub(1)
}

/// 32 bits of a hash of keys.
fn tag_of(keys: impl Iterator<Item = VertexId>) -> u32 {
    const FACTOR: u128 = 0x9e37_79b9_7f4a_7c15;
    const OFFSET: u64 = 0xa076_1d64_78bd_642f;
    let hash = keys.fold(0_u64, |hash, key| {
        let product = u128::from(hash.rotate_left(23) ^ key.bits() ^ OFFSET) * FACTOR;
        product as u64 ^ (product >> 64) as u64
    });
    (hash >> 32) as u32 ^ hash as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use rdf::Tag;
    use testkit::random::Random;
    use testkit::seeds;

    fn id(number: usize) -> VertexId {
        VertexId::new(Tag::Iri, number as u64)
    }

    /// The rows that an index finds by these keys are those that a scan finds.
    fn check(table: &GivenTable, keys: &[usize], key: &[VertexId], model: &[Vec<VertexId>]) {
        let index = table.index_over(keys).expect("an index was made");
        let cells: Vec<&[VertexId]> = key.iter().map(std::slice::from_ref).collect();
        let mut heads = Vec::new();
        index.find_all(table, &cells, &mut heads);
        let mut next = heads.first().copied().filter(|row| Index::is_row(*row));
        let mut found = Vec::new();
        while let Some(row) = next {
            let row_cells = (0..table.width()).map(|at| table.column(at)[row as usize]);
            found.push(row_cells.collect::<Vec<_>>());
            next = index.next(row);
        }
        let fits = |row: &&Vec<VertexId>| keys.iter().zip(key).all(|(at, key)| row[*at] == *key);
        let mut expected: Vec<Vec<VertexId>> = model.iter().filter(fits).cloned().collect();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }

    #[test]
    fn indexes_find_what_a_scan_finds_through_all_changes() {
        for seed in seeds::chosen(60, 5_000) {
            let mut random = Random::new(seed);
            let width = 1 + random.below(3);
            let terms = 1 + random.below(30);
            let mut table = GivenTable::new(width);
            let mut model: Vec<Vec<VertexId>> = Vec::new();
            let mut indexed = vec![(0..width).collect::<Vec<usize>>()];
            for _ in 0..300 {
                let mut cells: Vec<VertexId> = Vec::new();
                cells.extend((0..width).map(|_| id(random.below(terms))));
                match random.below(10) {
                    0 => {
                        let keys: Vec<usize> =
                            (0..width).filter(|_| random.below(2) == 0).collect();
                        table.index(&keys);
                        if !keys.is_empty() {
                            indexed.push(keys);
                        }
                    }
                    1..=4 if !model.is_empty() => {
                        let gone = random.below(model.len());
                        let moved = table.remove(gone as u32);
                        model.swap_remove(gone);
                        let expected = (gone < model.len()).then_some(model.len() as u32);
                        assert_eq!(moved, expected, "seed {seed}");
                    }
                    _ => {
                        let known = model.iter().position(|row| *row == cells);
                        let inserted = table.insert(&cells);
                        assert_eq!(inserted.is_new, known.is_none(), "seed {seed}");
                        let row = known.unwrap_or(model.len());
                        assert_eq!(inserted.row as usize, row, "seed {seed}");
                        if inserted.is_new {
                            model.push(cells.clone());
                        }
                    }
                }
                assert_eq!(table.rows(), model.len());
                let keys = &indexed[random.below(indexed.len())];
                let key: Vec<VertexId> = keys.iter().map(|_| id(random.below(terms))).collect();
                check(&table, keys, &key, &model);
            }
        }
    }

    #[test]
    fn it_says_how_large_it_is() {
        let mut table = GivenTable::new(2);
        let before = table.bytes();
        for number in 0..1000 {
            table.insert(&[id(number), id(number % 10)]);
        }
        let expected = TableStatistics {
            rows: 1000,
            distinct: vec![1000, 10],
        };
        assert_eq!(table.statistics(), expected);
        assert!(table.bytes() >= before + 1000 * 2 * 8);
    }
}
