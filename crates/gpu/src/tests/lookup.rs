//! Which keys an index has, and which ordinals: each key, its neighbours in number, and the ends of all chunks are asked for.

use super::forms::{Cells, Edges, KINDS, Keys, Kind};
use super::rig::{LONG, Rig, SEEDS};
use super::steps::{Asked, Table, Whose, of};
use crate::layout::CheckKind;
use testkit::random::Random;
use testkit::seeds;

/// Ids that are keys, and ids that are nearly keys.
fn probes(random: &mut Random, keys: &Keys) -> Vec<u64> {
    let mut probes = vec![0, 1, u64::MAX >> 4];
    for (_, chunk) in &keys.chunks {
        for (place, &key) in chunk.iter().enumerate() {
            if chunk.len() < 400 || place % 7 == 0 || place + 2 > chunk.len() {
                probes.extend([key.saturating_sub(1), key, key + 1]);
            }
        }
        let (first, last) = (chunk[0], chunk[chunk.len() - 1]);
        for distance in [448, 1 << 16, 1 << 32, 1 << 33] {
            probes.extend([first.saturating_sub(distance), first + distance]);
            probes.extend([last.saturating_sub(distance), last + distance]);
        }
        for _ in 0..20 {
            probes.push(first + random.bits() % (last - first + 1));
        }
    }
    random.shuffle(&mut probes);
    probes
}

/// Asks for keys by a check of a filter, and for ordinals by a segment whose neighbours are them.
fn ask(seed: u64, keys: Keys) {
    let Some(rig) = Rig::new(seed) else { return };
    let mut random = Random::new(seed);
    let all = keys.all();
    let asked = probes(&mut random, &keys);
    let table = Table::of(&mut random, vec![asked]);
    let lists = (0..all.len() as u64).map(|ordinal| vec![1000 + ordinal]);
    let edges = Edges {
        lists: lists.collect(),
        cells: Cells::Planes {
            bits: 0,
            bases: vec![1000],
        },
        width: None,
        first_row: keys.first_ordinal,
        keys,
    };
    let mut by_check = Asked::all(&table);
    by_check.checks = vec![of(CheckKind::Key, &edges, 0, 0)];
    by_check.run(&rig, 2);
    let mut by_expansion = Asked::all(&table);
    by_expansion.expansion = Some((edges, Whose::Column(0)));
    by_expansion.run(&rig, 2);
}

#[test]
fn each_kind_of_chunk_knows_its_keys_and_their_ordinals() {
    for seed in seeds::chosen(SEEDS, LONG) {
        for kind in KINDS {
            let mut random = Random::new(seed);
            let most = *random.pick(&[1, 3, 70, 1200]);
            ask(seed, Keys::random(&mut random, &[kind], most));
        }
    }
}

#[test]
fn the_right_one_of_several_chunks_is_asked() {
    for seed in seeds::chosen(SEEDS, LONG) {
        let mut random = Random::new(seed);
        let count = random.between(2, 12);
        let kinds: Vec<Kind> = (0..count).map(|_| *random.pick(&KINDS)).collect();
        let most = *random.pick(&[1, 2, 40, 300]);
        ask(seed, Keys::random(&mut random, &kinds, most));
    }
}

#[test]
fn blocks_that_are_full_count_all_their_members() {
    for gap in [2, 97, 449, 10_000] {
        let keys: Vec<u64> = (9..1500).filter(|key| key % gap != 0).collect();
        ask(gap, Keys::one(Kind::Dense, keys));
    }
}

#[test]
fn an_index_without_keys_has_none() {
    let Some(rig) = Rig::new(1) else { return };
    let mut random = Random::new(1);
    let table = Table::of(&mut random, vec![vec![0, 1, 5, 1 << 40]]);
    let edges = Edges::new(&mut random, Keys::none(), Vec::new());
    let mut asked = Asked::all(&table);
    asked.checks = vec![of(CheckKind::Key, &edges, 0, 0)];
    assert_eq!(asked.run(&rig, 1), 0);
    asked.checks.clear();
    asked.expansion = Some((edges, Whose::Column(0)));
    assert_eq!(asked.run(&rig, 1), 0);
}
