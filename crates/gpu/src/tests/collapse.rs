//! Equal rows become one, with their number.

use super::forms::{Cells, Keys};
use super::rig::{LONG, Rig, SEEDS};
use crate::layout::{COLUMNS, Collapse, Column, Level, Outcome};
use device::Kernel;
use std::collections::BTreeMap;
use testkit::random::Random;
use testkit::seeds;

/// A table, and what is to become of it.
struct Case {
    /// The columns' ids.
    table: Vec<Vec<u64>>,
    cells: Vec<Cells>,
    slots: u64,
    capacity: u64,
    /// Columns that go on.
    kept: Vec<bool>,
    counted: bool,
    overflow: u64,
}

impl Case {
    fn rows(&self) -> usize {
        self.table[0].len()
    }

    /// Each row that there is, with how often it is there.
    fn expected(&self) -> BTreeMap<Vec<u64>, u64> {
        let mut bag = BTreeMap::new();
        for row in 0..self.rows() {
            let ids = self.table.iter().map(|ids| ids[row]).collect();
            *bag.entry(ids).or_default() += 1;
        }
        bag
    }

    /// Runs the kernels: the outcome, and the rows that came out, of all columns that go on, with their numbers.
    fn run(&self, rig: &Rig, random: &mut Random) -> (Outcome, Vec<(Vec<u64>, u64)>) {
        let capacity = self.capacity;
        let mut arguments = Collapse {
            input: rig.room_with(&Level {
                rows: self.rows() as u64,
                tiles: 0,
            }),
            output: rig.room_with(&Level::default()),
            outcome: rig.room_with(&Outcome {
                overflow: self.overflow,
                ..Outcome::default()
            }),
            slots: rig.room(8 * self.slots),
            mask: self.slots - 1,
            capacity,
            counts: if self.counted {
                rig.room(4 * capacity)
            } else {
                0
            },
            columns: self.table.len() as u32,
            number: 6,
            columns_in: [Column::default(); COLUMNS],
            columns_out: [0; COLUMNS],
        };
        for (place, (ids, cells)) in self.table.iter().zip(&self.cells).enumerate() {
            arguments.columns_in[place] = cells.column(rig, cells.put(rig, ids));
            if self.kept[place] {
                arguments.columns_out[place] = rig.room(cells.bytes() * capacity);
            }
        }
        for kernel in [
            Kernel::CollapseClear,
            Kernel::CollapseRows,
            Kernel::CollapseOut,
        ] {
            rig.run(kernel, *random.pick(&[1, 2, 5]), &arguments);
        }
        let outcome: Outcome = rig.read(arguments.outcome, 1)[0];
        let rows = rig.read::<Level>(arguments.output, 1)[0].rows;
        let count = rows.min(capacity) as usize;
        let kept = (0..self.table.len()).filter(|place| self.kept[*place]);
        let columns: Vec<Vec<u64>> = kept
            .map(|place| self.cells[place].read(rig, arguments.columns_out[place], count))
            .collect();
        let counts: Vec<u64> = if self.counted {
            let counts = rig.read::<u32>(arguments.counts, count);
            counts.into_iter().map(u64::from).collect()
        } else {
            vec![0; count]
        };
        let row = |row: usize| columns.iter().map(|ids| ids[row]).collect();
        (
            outcome,
            (0..count).map(|at| (row(at), counts[at])).collect(),
        )
    }
}

/// A random table of so many rows, of which so many at most differ.
fn case(random: &mut Random, rows: usize, different: usize) -> Case {
    let pool = Keys::any(random, 400).all();
    let columns = *random.pick(&[1, 1, 2, 3, COLUMNS]);
    let mut rows_of: Vec<Vec<u64>> = Vec::new();
    for _ in 0..different {
        let mut ids: Vec<u64> = (0..columns).map(|_| *random.pick(&pool)).collect();
        if random.chance(50) && !rows_of.is_empty() {
            // One that differs in a single column.
            ids.clone_from(random.pick(&rows_of));
            ids[random.below(columns)] = *random.pick(&pool);
        }
        rows_of.push(ids);
    }
    let skewed = random.chance(30);
    let table: Vec<Vec<u64>> = (0..rows)
        .map(|_| {
            if random.chance(90) && skewed {
                rows_of[0].clone()
            } else {
                random.pick(&rows_of).clone()
            }
        })
        .collect();
    let table: Vec<Vec<u64>> = (0..columns)
        .map(|column| table.iter().map(|row| row[column]).collect())
        .collect();
    let cells = table.iter().map(|ids| Cells::of(random, ids)).collect();
    Case {
        cells,
        kept: (0..columns).map(|_| random.chance(80)).collect(),
        counted: random.chance(60),
        slots: (2 * different as u64).next_power_of_two() << random.below(3),
        capacity: different as u64 + random.below(3) as u64,
        overflow: 0,
        table,
    }
}

#[test]
fn equal_rows_become_one_with_their_number() {
    for seed in seeds::chosen(SEEDS, LONG) {
        let mut random = Random::new(seed);
        for (rows, different) in [
            (1, 1),
            (33, 2),
            (300, 300),
            (2500, 1),
            (2500, 40),
            (5000, 2000),
        ] {
            let Some(rig) = Rig::whole(seed) else { return };
            let case = case(&mut random, rows, different);
            let (outcome, found) = case.run(&rig, &mut random);
            assert_eq!(outcome.overflow, 0, "seed {seed}: there is room");
            let mut expected: Vec<(Vec<u64>, u64)> = Vec::new();
            for (ids, count) in case.expected() {
                let kept = ids.into_iter().zip(&case.kept);
                let ids = kept.filter(|(_, kept)| **kept).map(|(id, _)| id).collect();
                expected.push((ids, if case.counted { count } else { 0 }));
            }
            expected.sort();
            let mut found = found;
            found.sort();
            assert!(found == expected, "seed {seed}, {rows} rows");
        }
    }
}

#[test]
fn too_few_slots_or_places_are_said() {
    for seed in seeds::chosen(SEEDS, LONG) {
        let mut random = Random::new(seed);
        let mut case = case(&mut random, 2000, 1500);
        let different = case.expected().len() as u64;
        let Some(rig) = Rig::whole(seed) else { return };
        assert!(different > 1, "seed {seed}: some rows are not equal");
        // Fewer than rows.
        case.slots = 1 << random.below(8).min((different - 1).ilog2() as usize);
        let (outcome, _) = case.run(&rig, &mut random);
        assert_eq!(outcome.overflow, 7, "seed {seed}: the step is named");
        case.slots = 4096;
        case.capacity = different - 1;
        let (outcome, _) = case.run(&rig, &mut random);
        assert_eq!(outcome.overflow, 7, "seed {seed}: the step is named");
    }
}

#[test]
fn nothing_comes_of_a_table_that_had_no_room() {
    for seed in seeds::chosen(SEEDS, LONG) {
        let mut random = Random::new(seed);
        let Some(rig) = Rig::whole(seed) else { return };
        let mut case = case(&mut random, 700, 30);
        case.overflow = 3;
        let (outcome, found) = case.run(&rig, &mut random);
        assert_eq!((outcome.overflow, found.len()), (3, 0), "seed {seed}");
    }
}
