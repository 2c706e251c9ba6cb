//! The count and the sum of the last table.

use super::forms::{Cells, Keys};
use super::rig::{LONG, Rig, SEEDS};
use crate::layout::{COLUMNS, Column, Finish, Level, Outcome, Posted};
use device::Kernel;
use testkit::random::Random;
use testkit::seeds;

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// What `explore::Checksum` adds for a row.
fn number_of(row: impl Iterator<Item = u64>) -> u64 {
    let folded = row.fold(0x243f_6a88_85a3_08d3, |sum: u64, id| {
        (sum ^ id).wrapping_mul(GOLDEN).rotate_left(29)
    });
    (folded ^ (folded >> 32)).wrapping_mul(GOLDEN)
}

/// Sums a random table up, behind an outcome that is there already.
fn run(seed: u64, rows: usize, sums: bool, overflow: u64) {
    let Some(rig) = Rig::new(seed) else { return };
    let mut random = Random::new(seed);
    let pool = Keys::any(&mut random, 400).all();
    let columns = *random.pick(&[1, 2, 5, COLUMNS]);
    let mut arguments = Finish {
        input: rig.room_with(&Level {
            rows: rows as u64,
            tiles: 3,
        }),
        outcome: rig.room_with(&Outcome {
            overflow,
            checksum: 0,
            arrived: 0,
            unused: 7,
        }),
        posted: rig.room_with(&Posted::default()),
        sequence: 9,
        walked: rig.room_with(&Level { rows: 77, tiles: 0 }),
        columns: columns as u32,
        sums: u32::from(sums),
        columns_in: [Column::default(); COLUMNS],
    };
    let mut table = Vec::new();
    for place in &mut arguments.columns_in[..columns] {
        let ids: Vec<u64> = (0..rows).map(|_| *random.pick(&pool)).collect();
        let cells = Cells::of(&mut random, &ids);
        *place = cells.column(&rig, cells.put(&rig, &ids));
        table.push(ids);
    }
    let numbers = (0..rows).map(|row| number_of(table.iter().map(|ids| ids[row])));
    let sum = numbers.fold(0, u64::wrapping_add);
    rig.run(Kernel::Finish, *random.pick(&[1, 2, 5]), &arguments);
    let outcome: Outcome = rig.read(arguments.outcome, 1)[0];
    assert_eq!(outcome.unused, 7, "nobody's");
    let posted: Posted = rig.read(arguments.posted, 1)[0];
    let expected = Posted {
        overflow,
        rows: rows as u64,
        checksum: if sums && overflow == 0 { sum } else { 0 },
        sequence: 9,
        walked: 77,
    };
    assert_eq!(posted, expected);
}

#[test]
fn rows_are_counted_and_summed() {
    for seed in seeds::chosen(SEEDS, LONG) {
        for rows in [0, 1, 31, 32, 33, 255, 256, 257, 2000] {
            run(seed, rows, true, 0);
        }
        run(seed, 300, false, 0);
        run(seed, 300, true, 2);
    }
}
