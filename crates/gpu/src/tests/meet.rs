//! Seeds that are met with other sets of ids.

use super::forms::{KINDS, Keys, Kind};
use super::rig::{LONG, Rig, SEEDS};
use crate::layout::{Index, Level, Meet, SETS};
use device::Kernel;
use std::ops::Range;
use testkit::random::Random;
use testkit::seeds;

/// A set with about a part of these ids and some others near them, in one chunk of a kind that has room for them, or several.
fn set_near(random: &mut Random, ids: &[u64]) -> Keys {
    let share = *random.pick(&[2, 50, 98]);
    let mut keys: Vec<u64> = ids.to_vec();
    keys.retain(|_| random.chance(share));
    for _ in 0..random.between(1, 40) {
        let near = *random.pick(ids);
        let off = random.bits() % 130;
        keys.push((near + off).saturating_sub(65));
    }
    keys.sort_unstable();
    keys.dedup();
    let span = keys[keys.len() - 1] - keys[0];
    if random.chance(75) && span < 1 << 22 {
        return Keys::one(Kind::Dense, keys);
    }
    if u32::try_from(span).is_ok() && random.chance(50) {
        return Keys::one(Kind::Near, keys);
    }
    // Chunks of one range of 2^16 ids each.
    let ranges = keys.chunk_by(|a, b| a >> 16 == b >> 16);
    let kinds = [Kind::Dense, Kind::Sparse, Kind::Near, Kind::Far];
    Keys {
        chunks: ranges
            .map(|keys| (*random.pick(&kinds), keys.to_vec()))
            .collect(),
        first_ordinal: *random.pick(&[0, 7, 1 << 33]),
        jump: false,
    }
}

/// Compares what a strip, given by places among all ids of the first set, has in common with the others.
fn run(rig: &Rig, random: &mut Random, first: &Keys, sets: &[Keys], strip: Range<usize>) {
    let all = first.all();
    let of_sets: Vec<Vec<u64>> = sets.iter().map(Keys::all).collect();
    let is_in_all = |id: &u64| -> bool { of_sets.iter().all(|set| set.binary_search(id).is_ok()) };
    let expected: Vec<u64> = all[strip.clone()]
        .iter()
        .copied()
        .filter(is_in_all)
        .collect();
    let is_wide = all[all.len() - 1] - all[0] > 1 << 31 || random.chance(30);
    let is_kept = random.chance(80);
    let base = all[0].saturating_sub(7);
    // Only those of the strip have room.
    let room = rig.room(expected.len() as u64 * if is_wide { 8 } else { 4 });
    let mut meet = Meet {
        index: first.image(rig),
        begin: first.first_ordinal + strip.start as u64,
        end: first.first_ordinal + strip.end as u64,
        level: rig.room_with(&Level { rows: 0, tiles: 44 }),
        out: if is_kept { room } else { 0 },
        base: if is_wide { u64::MAX } else { base },
        wide: u32::from(is_wide),
        sets: sets.len() as u32,
        set: [Index::default(); SETS],
    };
    for (place, set) in meet.set.iter_mut().zip(sets) {
        *place = set.image(rig);
    }
    rig.run(Kernel::Meet, *random.pick(&[1, 2, 5]), &meet);
    let level: Level = rig.read(meet.level, 1)[0];
    assert_eq!((level.rows, level.tiles), (expected.len() as u64, 44));
    if !is_kept {
        return;
    }
    let mut found: Vec<u64> = if is_wide {
        rig.read(room, expected.len())
    } else {
        let codes: Vec<u32> = rig.read(room, expected.len());
        codes
            .into_iter()
            .map(|code| base + u64::from(code))
            .collect()
    };
    found.sort_unstable();
    assert!(found == expected, "other ids came");
}

/// All of a first set, none, and some strips of it, met with up to as many sets as there may be.
fn run_strips(seed: u64, kinds: &[Kind]) {
    let Some(rig) = Rig::whole(seed) else { return };
    let mut random = Random::new(seed);
    let most = *random.pick(&[1, 3, 33, 300, 1500]);
    let first = Keys::random(&mut random, kinds, most);
    let all = first.all();
    let count = random.below(SETS + 1);
    let sets: Vec<Keys> = (0..count).map(|_| set_near(&mut random, &all)).collect();
    let (from, to) = (random.below(all.len() + 1), random.below(all.len() + 1));
    let some = from.min(to)..from.max(to);
    for strip in [0..all.len(), some, 0..0, all.len() - 1..all.len()] {
        run(&rig, &mut random, &first, &sets, strip);
    }
}

#[test]
fn ids_of_all_sets_come() {
    for seed in seeds::chosen(SEEDS, LONG) {
        for kind in KINDS {
            run_strips(seed, &[kind]);
        }
    }
}

/// Words of two sets that begin at other ids: each of the first set's has bits of two of the other's, up to the last one.
#[test]
fn the_last_word_of_a_set_is_looked_at() {
    for begin in [937, 1000, 1001, 1003, 1063, 1500] {
        let Some(rig) = Rig::whole(begin) else { return };
        let mut random = Random::new(begin);
        let first = Keys::one(Kind::Dense, (1000..3000).collect());
        let set = Keys::one(Kind::Dense, (begin..begin + 448).collect());
        run(&rig, &mut random, &first, &[set], 0..2000);
    }
}

#[test]
fn ids_of_several_chunks_come() {
    for seed in seeds::chosen(SEEDS, LONG) {
        let mut random = Random::new(seed);
        let count = random.between(2, 9);
        let kinds: Vec<Kind> = (0..count).map(|_| *random.pick(&KINDS)).collect();
        run_strips(seed, &kinds);
    }
}
