//! Strips of an index's keys as a column.

use super::forms::{Cells, KINDS, Keys, Kind};
use super::rig::{LONG, Rig, SEEDS};
use crate::layout::{Column, Index, Joined, Level, Seed};
use device::Kernel;
use std::ops::Range;
use testkit::random::Random;
use testkit::seeds;

/// Compares the cells of a strip, given by places among all keys.
fn run(rig: &Rig, keys: &Keys, strip: Range<usize>, is_wide: bool, grid: u32) {
    let all = keys.all();
    let base = all[0].saturating_sub(7);
    let count = strip.len();
    let seed = Seed {
        index: keys.image(rig),
        begin: keys.first_ordinal + strip.start as u64,
        end: keys.first_ordinal + strip.end as u64,
        level: rig.room_with(&Level {
            rows: 99,
            tiles: 44,
        }),
        out: rig.room(count as u64 * if is_wide { 8 } else { 4 }),
        base: if is_wide { u64::MAX } else { base },
        wide: u32::from(is_wide),
        page_bits: rig.pages().1,
        pages: rig.pages().0,
    };
    rig.run(Kernel::Seed, grid, &seed);
    let level: Level = rig.read(seed.level, 1)[0];
    assert_eq!((level.rows, level.tiles), (count as u64, 44));
    let expected = &all[strip];
    if is_wide {
        assert_eq!(rig.read::<u64>(seed.out, count), expected);
    } else {
        let codes: Vec<u32> = expected.iter().map(|key| (key - base) as u32).collect();
        assert_eq!(rig.read::<u32>(seed.out, count), codes);
    }
}

/// Compares the cells of a strip of rows, which lie in pages.
fn run_rows(rig: &Rig, ids: &[u64], strip: Range<usize>, grid: u32) {
    let count = strip.len();
    let first_row = 1u64 << 35;
    let index = Index {
        data: rig.put_part(ids).wrapping_sub(8 * first_row),
        ..Index::default()
    };
    let seed = Seed {
        index,
        begin: first_row + strip.start as u64,
        end: first_row + strip.end as u64,
        level: rig.room_with(&Level {
            rows: 99,
            tiles: 44,
        }),
        out: rig.room(8 * count as u64),
        base: 3,
        wide: 1,
        page_bits: rig.pages().1,
        pages: rig.pages().0,
    };
    rig.run(Kernel::SeedRowsPaged, grid, &seed);
    let level: Level = rig.read(seed.level, 1)[0];
    assert_eq!((level.rows, level.tiles), (count as u64, 44));
    assert_eq!(rig.read::<u64>(seed.out, count), &ids[strip]);
}

/// All keys, none, and some strips of them.
fn run_strips(seed: u64, kinds: &[Kind]) {
    let Some(rig) = Rig::new(seed) else { return };
    let mut random = Random::new(seed);
    let most = *random.pick(&[1, 3, 33, 300, 1500]);
    let keys = Keys::random(&mut random, kinds, most);
    let all = keys.all();
    let is_wide = all[all.len() - 1] - all[0] > 1 << 31 || random.chance(30);
    let (from, to) = (random.below(all.len() + 1), random.below(all.len() + 1));
    let some = from.min(to)..from.max(to);
    for strip in [0..all.len(), some, 0..0, all.len() - 1..all.len()] {
        run(&rig, &keys, strip, is_wide, *random.pick(&[1, 2, 5]));
    }
}

#[test]
fn a_strip_has_its_keys_in_their_order() {
    for seed in seeds::chosen(SEEDS, LONG) {
        for kind in KINDS {
            run_strips(seed, &[kind]);
        }
    }
}

#[test]
fn a_strip_goes_over_several_chunks() {
    for seed in seeds::chosen(SEEDS, LONG) {
        let mut random = Random::new(seed);
        let count = random.between(2, 9);
        let kinds: Vec<Kind> = (0..count).map(|_| *random.pick(&KINDS)).collect();
        run_strips(seed, &kinds);
    }
}

#[test]
fn a_strip_of_rows_is_copied_from_their_pages() {
    for seed in seeds::chosen(SEEDS, LONG) {
        // Rigs with pages have odd numbers.
        let Some(rig) = Rig::new(2 * seed + 1) else {
            return;
        };
        let mut random = Random::new(seed);
        let count = *random.pick(&[1, 31, 33, 300, 1500]);
        let ids: Vec<u64> = (0..count).map(|_| random.bits()).collect();
        let (from, to) = (random.below(count + 1), random.below(count + 1));
        for strip in [0..count, from.min(to)..from.max(to), 0..0] {
            run_rows(&rig, &ids, strip, *random.pick(&[1, 2, 5]));
        }
    }
}

/// Compares the cells of a strip of two runs of rows.
fn run_joined(
    rig: &Rig,
    runs: [(&[u64], &Cells, usize); 2],
    strip: Range<usize>,
    is_made_elsewhere: bool,
    grid: u32,
) {
    let count = strip.len();
    let column =
        |(ids, cells, _): (&[u64], &Cells, usize)| cells.column(rig, cells.put_part(rig, ids));
    let [first, second] = runs;
    let seed = Joined {
        begin: strip.start as u64,
        end: strip.end as u64,
        level: rig.room_with(&Level {
            rows: 99,
            tiles: 44,
        }),
        out: rig.room(8 * count as u64),
        first: if is_made_elsewhere {
            Column::default()
        } else {
            column(first)
        },
        second: column(second),
        first_row: first.2 as u64,
        second_row: second.2 as u64,
        first_rows: (first.0.len() - first.2) as u64,
        pages: rig.pages().0,
        page_bits: rig.pages().1,
        unused: 7,
    };
    rig.run(Kernel::SeedJoined, grid, &seed);
    let level: Level = rig.read(seed.level, 1)[0];
    assert_eq!((level.rows, level.tiles), (count as u64, 44));
    let untouched: Vec<u64> = rig.read(rig.room(8 * count as u64), count);
    let all: Vec<u64> = first.0[first.2..]
        .iter()
        .chain(&second.0[second.2..])
        .copied()
        .collect();
    let found = rig.read::<u64>(seed.out, count);
    for (place, id) in found.into_iter().enumerate() {
        let is_first = strip.start + place < first.0.len() - first.2;
        if is_made_elsewhere && is_first {
            assert_eq!(id, untouched[place], "it is another kernel's");
        } else {
            assert_eq!(id, all[strip.start + place]);
        }
    }
}

#[test]
fn a_strip_of_two_runs_has_one_behind_the_other() {
    for seed in seeds::chosen(SEEDS, LONG) {
        let Some(rig) = Rig::new(seed) else { return };
        let mut random = Random::new(seed);
        let run = |random: &mut Random| {
            let count = *random.pick(&[1, 31, 33, 300, 1500]);
            let ids: Vec<u64> = (0..count).map(|_| random.bits() >> 20).collect();
            let cells = Cells::of(random, &ids);
            let from = random.below(count + 1);
            (ids, cells, from)
        };
        let runs = [run(&mut random), run(&mut random)];
        let all: usize = runs.iter().map(|(ids, _, from)| ids.len() - from).sum();
        let (from, to) = (random.below(all + 1), random.below(all + 1));
        let given = || {
            let [first, second] = &runs;
            [
                (&first.0[..], &first.1, first.2),
                (&second.0[..], &second.1, second.2),
            ]
        };
        for strip in [0..all, from.min(to)..from.max(to), 0..0] {
            let (elsewhere, grid) = (random.chance(30), *random.pick(&[1, 2, 5]));
            run_joined(&rig, given(), strip, elsewhere, grid);
        }
    }
}
