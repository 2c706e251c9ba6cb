//! Steps by predicates that are not known: every row that has one comes once for each, and nothing else is written.

use super::forms::Edges;
use super::rig::{LONG, Rig, SEEDS};
use super::steps::{Pool, Table};
use crate::layout::{self, CONSTANT, Level, Outcome};
use device::Kernel;
use testkit::random::Random;
use testkit::seeds;

/// Ids of predicates: some that are parts and some that are none.
const PREDICATES: u64 = 9;

/// What is asked.
struct Asked<'t> {
    /// The parts, ascending by predicates.
    parts: Vec<(u64, Edges)>,
    table: &'t Table,
    /// The column of the vertex, or the vertex.
    from: Result<usize, u64>,
    /// The column of predicates, where neighbours are wanted.
    by: Option<usize>,
    /// The column of a neighbour, or the neighbour, where rows are kept that have it.
    to: Option<Result<usize, u64>>,
    kept: Vec<bool>,
    keeps_made: bool,
}

impl Asked<'_> {
    /// What a row becomes: predicates, or neighbours.
    fn made(&self, row: &[u64]) -> Vec<u64> {
        let vertex = self.from.map_or_else(|id| id, |column| row[column]);
        let parts = self.parts.iter();
        match self.by {
            // A key has neighbours in every graph; here it may have none.
            None => parts
                .filter(|(_, edges)| edges.keys.all().contains(&vertex))
                .map(|(id, _)| *id)
                .collect(),
            Some(by) if self.to.is_some() => parts
                .filter(|(id, edges)| {
                    *id == row[by] && edges.list(vertex).contains(&self.sought(row))
                })
                .map(|_| 0)
                .collect(),
            Some(by) => parts
                .filter(|(id, _)| *id == row[by])
                .flat_map(|(_, edges)| edges.list(vertex).to_vec())
                .collect(),
        }
    }

    fn sought(&self, row: &[u64]) -> u64 {
        let to = self.to.expect("it is looked for");
        to.map_or_else(|id| id, |column| row[column])
    }

    /// The rows that are to come, ascending.
    fn expected(&self) -> Vec<Vec<u64>> {
        let mut expected = Vec::new();
        for row in self.table.all_rows() {
            for made in self.made(&row) {
                let kept = row.iter().zip(&self.kept).filter(|(_, kept)| **kept);
                let mut out: Vec<u64> = kept.map(|(id, _)| *id).collect();
                out.extend(self.keeps_made.then_some(made));
                expected.push(out);
            }
        }
        expected.sort_unstable();
        expected
    }

    fn arguments(&self, rig: &Rig, capacity: u64, overflow: u64) -> layout::SpreadStep {
        let described = |(predicate, edges): &(u64, Edges)| layout::Part {
            predicate: *predicate,
            segment: edges.image(rig),
        };
        let parts: Vec<layout::Part> = self.parts.iter().map(described).collect();
        let mut spread = layout::SpreadStep {
            input: rig.room_with(&Level {
                rows: self.table.rows as u64,
                tiles: 3,
            }),
            output: rig.room_with(&Level { rows: 0, tiles: 4 }),
            outcome: rig.room_with(&Outcome {
                overflow,
                arrived: 5,
                checksum: 6,
                unused: 7,
            }),
            capacity,
            parts: rig.put(&parts),
            count: parts.len() as u32,
            number: 4,
            columns: self.table.columns.len() as u32,
            from: self.from.map_or(CONSTANT, |column| column as u32),
            by: self.by.unwrap_or(0) as u32,
            constant: self.from.err().unwrap_or(0),
            right: self
                .to
                .map_or(0, |to| to.map_or(CONSTANT, |column| column as u32)),
            sought: self.to.and_then(Result::err).unwrap_or(0),
            ..layout::SpreadStep::default()
        };
        if self.keeps_made {
            spread.made = rig.room(capacity * 8);
        }
        for (place, (ids, cells)) in self.table.columns.iter().enumerate() {
            spread.columns_in[place] = cells.column(rig, cells.put(rig, ids));
            if self.kept[place] {
                spread.columns_out[place] = rig.room(capacity * cells.bytes());
            }
        }
        spread
    }

    /// The rows that came, ascending.
    fn rows(&self, rig: &Rig, spread: &layout::SpreadStep, count: usize) -> Vec<Vec<u64>> {
        let mut columns = Vec::new();
        for (place, (_, cells)) in self.table.columns.iter().enumerate() {
            if self.kept[place] {
                columns.push(cells.read(rig, spread.columns_out[place], count));
            }
        }
        if self.keeps_made {
            columns.push(rig.read(spread.made, count));
        }
        let row = |at: usize| columns.iter().map(|column| column[at]).collect();
        let mut rows: Vec<Vec<u64>> = (0..count).map(row).collect();
        rows.sort_unstable();
        rows
    }

    /// Runs it with so many rows of room more or fewer than come, and behind an earlier step that had room or had not.
    fn run(&self, rig: &Rig, grid: u32, room: i64, overflow: u64) {
        let expected = self.expected();
        let rows = expected.len() as u64;
        let capacity = rows.saturating_add_signed(room);
        let spread = self.arguments(rig, capacity, overflow);
        let kernel = match (self.by, self.to) {
            (None, _) => Kernel::Predicates,
            (Some(_), None) => Kernel::ExpandBy,
            (Some(_), Some(_)) => Kernel::CheckBy,
        };
        rig.run(kernel, grid, &spread);
        let level: Level = rig.read(spread.output, 1)[0];
        let outcome: Outcome = rig.read(spread.outcome, 1)[0];
        assert_eq!(level.tiles, 4, "tiles of the next step are taken by it");
        assert_eq!((outcome.arrived, outcome.checksum), (5, 6));
        if overflow != 0 {
            assert_eq!((level.rows, outcome.overflow), (0, overflow));
        } else if capacity < rows {
            assert!(level.rows > capacity, "more rows than there is room for");
            assert_eq!(outcome.overflow, 5);
        } else {
            assert_eq!((level.rows, outcome.overflow), (rows, 0));
            let found = self.rows(rig, &spread, expected.len());
            assert!(found == expected, "other rows came");
        }
    }
}

/// What is wanted of a vertex.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Predicates,
    Neighbours,
    Edge,
}

fn run(seed: u64, rows: usize, wanted: Wanted) {
    let Some(rig) = Rig::whole(seed) else { return };
    let mut random = Random::new(seed);
    let pool = Pool::random(&mut random);
    let longest = *random.pick(&[3, 40, 600]);
    let base = random.bits() >> random.between(8, 50);
    let mut parts: Vec<(u64, Edges)> = Vec::new();
    for number in 0..PREDICATES {
        if random.chance(70) {
            parts.push((base + number * 3, pool.edges(&mut random, longest)));
        }
    }
    // A predicate without edges is no part.
    parts.retain(|(_, edges)| !edges.lists.is_empty());
    let width = random.between(2, 5);
    let mut columns: Vec<Vec<u64>> = (0..width)
        .map(|_| (0..rows).map(|_| pool.any(&mut random)).collect())
        .collect();
    let by = width - 1;
    for cell in &mut columns[by] {
        let is_near = random.chance(90);
        let number = random.bits() % (PREDICATES * 3);
        *cell = if is_near {
            base + number / 3 * 3
        } else {
            base + number
        };
    }
    let table = Table::of(&mut random, columns);
    let is_constant = random.chance(30);
    let to = if random.chance(30) {
        Err(pool.any(&mut random))
    } else {
        Ok(random.below(by))
    };
    let asked = Asked {
        parts,
        table: &table,
        from: if is_constant {
            Err(pool.any(&mut random))
        } else {
            Ok(random.below(by))
        },
        by: (wanted != Wanted::Predicates).then_some(by),
        to: (wanted == Wanted::Edge).then_some(to),
        kept: (0..width).map(|_| random.chance(70)).collect(),
        keeps_made: wanted != Wanted::Edge && random.chance(85),
    };
    let grid = *random.pick(&[1, 2, 5]);
    asked.run(&rig, grid, *random.pick(&[0, 0, 100]), 0);
    asked.run(&rig, grid, -1, 0);
    asked.run(&rig, grid, 0, 2);
}

#[test]
fn a_vertex_has_its_predicates() {
    for seed in seeds::chosen(SEEDS, LONG) {
        for rows in [0, 1, 33, 256, 700] {
            run(seed, rows, Wanted::Predicates);
        }
    }
}

#[test]
fn neighbours_are_those_by_the_row_s_predicate() {
    for seed in seeds::chosen(SEEDS, LONG) {
        for rows in [0, 1, 31, 32, 255, 256, 257, 700] {
            run(seed, rows, Wanted::Neighbours);
        }
    }
}

#[test]
fn rows_stay_whose_edge_exists_by_their_predicate() {
    for seed in seeds::chosen(SEEDS, LONG) {
        for rows in [0, 1, 33, 256, 700] {
            run(seed, rows, Wanted::Edge);
        }
    }
}
