//! Tests of checked regions: damage is found at first touch, named, and never served.

use super::*;
use crate::sums::BlockSums;

const BLOCK: u64 = BLOCK_BYTES as u64;

fn sample(len: usize) -> Vec<u8> {
    (0..len).map(|i| ((i * 7) >> 2) as u8).collect()
}

fn sums_of(bytes: &[u8]) -> Vec<u64> {
    let mut sums = BlockSums::new();
    sums.update(bytes);
    sums.finish()
}

/// A region whose bytes were changed at `at` after its checksums were made.
fn changed(len: usize, at: &[usize]) -> CheckedRegion {
    let mut bytes = sample(len);
    let sums = sums_of(&bytes);
    for &at in at {
        bytes[at] ^= 1;
    }
    CheckedRegion::new("part", Region::heap(&bytes).unwrap(), sums).unwrap()
}

#[test]
fn sound_bytes_are_served_and_become_trusted() {
    let len = 2 * BLOCK_BYTES + 10;
    let region = changed(len, &[]);
    assert!(region.trusted().is_none());
    let across = BLOCK - 3..BLOCK + 5;
    assert_eq!(
        region.bytes(across.clone()).unwrap(),
        &sample(len)[across.start as usize..across.end as usize]
    );
    assert!(region.trusted().is_none());
    assert!(region.verified(across.clone()).is_some());
    assert!(region.verified(across.start..2 * BLOCK + 1).is_none());
    region.verify_all().unwrap();
    assert!(region.verified(across.start..2 * BLOCK + 1).is_some());
    assert!(region.verified(0..region.len() + 1).is_none());
    assert_eq!(region.trusted().unwrap(), sample(len));
    assert_eq!(region.damaged_blocks().count(), 0);
}

#[test]
fn a_damaged_block_is_named_and_its_neighbours_are_served() {
    let region = changed(2 * BLOCK_BYTES + 10, &[BLOCK_BYTES + 4]);
    assert!(region.bytes(0..BLOCK).is_ok());
    let error = region.bytes(BLOCK..BLOCK + 1).unwrap_err();
    assert_eq!(
        (error.block, error.offset, error.damage),
        (1, BLOCK, Damage::Checksum)
    );
    assert_eq!(
        error.to_string(),
        "part: block 1 at byte 65536 is damaged: its checksum does not match"
    );
    assert!(region.bytes(BLOCK - 1..2 * BLOCK + 1).is_err());
    assert!(region.bytes(2 * BLOCK..2 * BLOCK + 10).is_ok());
    assert!(region.verify_all().is_err());
    assert!(region.trusted().is_none());
}

#[test]
fn check_lists_every_damaged_block() {
    let region = changed(2 * BLOCK_BYTES + 10, &[0, 2 * BLOCK_BYTES]);
    let blocks: Vec<u64> = region
        .damaged_blocks()
        .map(|damaged| damaged.block)
        .collect();
    assert_eq!(blocks, [0, 2]);
}

#[test]
fn ranges_beyond_the_end_are_errors() {
    let region = changed(100, &[]);
    assert_eq!(region.bytes(90..101).unwrap_err().damage, Damage::Beyond);
    assert_eq!(
        region.bytes(u64::MAX - 1..u64::MAX).unwrap_err().damage,
        Damage::Beyond
    );
    #[allow(clippy::reversed_empty_ranges)]
    let reversed = 20..10;
    assert!(region.bytes(reversed).is_err());
    assert_eq!(region.bytes(100..100).unwrap(), b"");
}

#[test]
fn a_table_of_another_length_is_refused() {
    let bytes = Region::heap(&sample(100)).unwrap();
    let error = CheckedRegion::new("part", bytes.clone(), vec![1, 2]).unwrap_err();
    assert_eq!((error.block, error.damage), (1, Damage::Length));
    assert!(CheckedRegion::new("part", bytes, Vec::new()).is_err());
}

#[test]
fn empty_and_unchecked_regions_are_trusted() {
    let empty = CheckedRegion::new("none", Region::heap(&[]).unwrap(), Vec::new()).unwrap();
    assert_eq!(empty.trusted(), Some(&[][..]));
    assert!(empty.is_empty());
    let built = CheckedRegion::unchecked("built", Region::heap(b"abc").unwrap());
    assert_eq!(built.trusted(), Some(&b"abc"[..]));
    assert_eq!(built.bytes(1..2).unwrap(), b"b");
}

#[test]
fn threads_may_touch_the_same_blocks() {
    let blocks = if cfg!(miri) { 2 } else { 130 };
    let region = changed(blocks * BLOCK_BYTES, &[]);
    std::thread::scope(|scope| {
        for reader in 0..2 {
            let region = &region;
            scope.spawn(move || {
                for step in 0..blocks {
                    let block = if reader == 0 { step } else { blocks - 1 - step };
                    let at = block as u64 * BLOCK;
                    assert_eq!(
                        region.bytes(at..at + 1).unwrap()[0],
                        ((at as usize * 7) >> 2) as u8
                    );
                }
            });
        }
    });
    assert!(region.trusted().is_some());
}

#[test]
#[cfg(not(miri))]
fn a_mapped_file_cut_short_is_an_error_and_no_signal() {
    use std::io::Write;
    let mut file = tempfile::tempfile().unwrap();
    let bytes = sample(3 * BLOCK_BYTES);
    file.write_all(&bytes).unwrap();
    let region = CheckedRegion::new("cut", Region::map(&file).unwrap(), sums_of(&bytes)).unwrap();
    assert_eq!(region.bytes(0..4).unwrap(), &bytes[..4]);
    file.set_len(2 * BLOCK).unwrap();
    let error = region.bytes(2 * BLOCK..2 * BLOCK + 1).unwrap_err();
    assert_eq!(
        error.damage,
        Damage::Unreadable(io::ErrorKind::UnexpectedEof)
    );
}
