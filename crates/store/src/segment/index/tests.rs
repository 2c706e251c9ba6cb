//! Key indexes of every shape against the plain list of their keys.

use super::*;
use crate::format::PartKind;
use crate::parts::{MemoryParts, PartSource, PartWriter};
use crate::segment::index_writer::IndexWriter;
use proptest::prelude::*;
use rdf::Tag;

fn build(keys: &[u64]) -> (CheckedRegion, IndexPlace) {
    let files = MemoryParts::new();
    let mut part = PartWriter::create(&files, PartKind::Keys, None).unwrap();
    let mut writer = IndexWriter::default();
    for &key in keys {
        writer.push(&mut part, key).unwrap();
    }
    let summary = writer.finish(&mut part).unwrap();
    let place = IndexPlace {
        directory_at: summary.directory_at,
        keys: summary.keys,
        chunks: summary.chunks,
        jump: summary.jump,
    };
    part.finish(&files).unwrap();
    let region = files.freeze().unwrap().part("keys.bin").unwrap();
    (region, place)
}

/// Builds the index of these keys, asks it everything, and gives its chunks' kinds.
fn check(mut keys: Vec<u64>) -> (Vec<ChunkKind>, bool) {
    keys.sort_unstable();
    keys.dedup();
    let (region, place) = build(&keys);
    let index = Index::open(&region, place).unwrap();
    let mut found = Vec::new();
    index.verify(|key| found.push(key.bits())).unwrap();
    assert_eq!(found, keys);
    let around = keys
        .iter()
        .flat_map(|&key| [key.wrapping_sub(1), key, key + 1]);
    let asked: Vec<VertexId> = around
        .chain([0, u64::MAX])
        .map(VertexId::from_bits)
        .collect();
    let mut ordinals = Vec::new();
    index.ordinals(&asked, &mut ordinals).unwrap();
    for (key, ordinal) in asked.iter().zip(&ordinals) {
        let wanted = keys
            .binary_search(&key.bits())
            .map_or(ABSENT, |place| place as u64);
        assert_eq!((*ordinal, index.ordinal(*key).unwrap()), (wanted, wanted));
        let below = keys.partition_point(|&other| other < key.bits()) as u64;
        assert_eq!(index.keys_below(*key).unwrap(), below);
    }
    for from in [
        0,
        1,
        keys.len() / 3,
        keys.len() / 2,
        keys.len().saturating_sub(1),
    ] {
        let to = (from + 700).min(keys.len());
        let mut some = Vec::new();
        index.decode(from as u64, to as u64, &mut some).unwrap();
        let some: Vec<u64> = some.iter().map(|key| key.bits()).collect();
        assert_eq!(some, keys[from.min(to)..to]);
    }
    (
        index
            .chunks
            .iter()
            .map(|chunk| chunk.kind().unwrap())
            .collect(),
        place.jump,
    )
}

#[test]
fn all_ids_of_a_kind_are_one_chunk() {
    assert_eq!(
        check((1000..300_000).collect()),
        (vec![ChunkKind::Dense], false)
    );
    assert_eq!(
        check((0..200_000).map(|id| id * 5).collect()),
        (vec![ChunkKind::Dense], false)
    );
    assert_eq!(check(vec![]), (vec![], false));
}

#[test]
fn two_kinds_are_two_chunks() {
    let literals = VertexId::new(Tag::Literal, 0).bits();
    let keys = (0..70_000).chain(literals + 3..literals + 5000).collect();
    assert_eq!(check(keys), (vec![ChunkKind::Dense; 2], false));
}

/// Blocks of ids that are dealt out to nodes in turn: the index of one node has the bytes of its own blocks.
#[test]
fn an_index_does_not_grow_over_the_blocks_of_other_nodes() {
    let whole = 1 << 20;
    let bytes = |keys: &[u64]| build(keys).0.len();
    let of_all = bytes(&(0..whole).collect::<Vec<_>>());
    for (nodes, most) in [(2, 0.8), (4, 0.27), (8, 0.14), (16, 0.07)] {
        let is_mine = |id: &u64| (id >> 14) % nodes == 1;
        let keys: Vec<u64> = (0..whole).filter(is_mine).collect();
        let share = bytes(&keys) as f64 / of_all as f64;
        assert!(share < most, "{nodes} nodes: {share}");
        let kinds = check(keys).0;
        assert!(kinds.iter().all(|kind| *kind == ChunkKind::Dense));
    }
    // A gap that costs less than a chunk does not end one.
    let gap = (0..100_000).chain(100_000 + 16 * 448..200_000);
    assert_eq!(check(gap.collect()).0, [ChunkKind::Dense]);
}

#[test]
fn few_keys_are_one_list() {
    assert_eq!(
        check((0..50).map(|id| id * 20_011).collect()),
        (vec![ChunkKind::Near], false)
    );
    let doubles = VertexId::new(Tag::Double, 0).bits();
    assert_eq!(
        check((0..50).map(|id| doubles + (id << 52)).collect()),
        (vec![ChunkKind::Far], false)
    );
    assert_eq!(
        check(vec![VertexId::new(Tag::DateTime, 7).bits()]),
        (vec![ChunkKind::Near], false)
    );
}

#[test]
fn thin_keys_are_sparse_with_a_jump_table() {
    let (kinds, jump) = check((0..4000).map(|id| id * 1013).collect());
    assert!(kinds.len() > 8 && kinds.iter().all(|kind| *kind == ChunkKind::Sparse) && jump);
}

#[test]
fn long_lists_are_cut_and_a_gap_ends_a_dense_chunk() {
    let (kinds, _) = check((0..9000).map(|id| id * 40_009).collect());
    assert!(kinds.len() >= 8 && kinds.iter().all(|kind| *kind == ChunkKind::Near));
    let (kinds, _) = check((0..5000).chain(40_000_000..40_005_000).collect());
    assert_eq!(kinds, [ChunkKind::Dense; 2]);
}

#[test]
fn a_word_of_a_dense_chunk_says_nothing_of_the_next_chunk() {
    // The last word of the dense chunk reaches into the range of the one after it.
    let thin = (65_536..).step_by(1013).take(400);
    let (kinds, _) = check((5..65_536).chain(thin).collect());
    assert!(kinds.contains(&ChunkKind::Dense) && kinds.contains(&ChunkKind::Sparse));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_mixture_comes_back(
        runs in prop::collection::vec((0..10u64, 0..1u64 << 22, 1..3000u64, 1..60_000u64), 0..8)
    ) {
        let mut keys = Vec::new();
        for (tag, start, count, step) in runs {
            let start = tag << VertexId::PAYLOAD_BITS | start;
            let step = if step % 2 == 0 { step % 9 + 1 } else { step };
            keys.extend((0..count).map(|place| start + place * step));
        }
        check(keys);
    }
}
