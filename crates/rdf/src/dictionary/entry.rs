//! How one key is written as its difference from the key before it.
//!
//! A key shares its beginning with the key before it (IRIs of one department), its end (mail
//! addresses of one department), or is the same but for a number that grew by one (students,
//! publications, rows of a table: much data is numbered by whoever made it). So an entry is
//!
//! ```text
//! code 0..8     the key before with its code-th run of decimal digits, counted from the end,
//!               greater by one: "p9@d0.u1" -code 2-> "p10@d0.u1"
//! code 8..256   code - 8 = 31 * end + middle (31 * 8 = 248)
//!               end     0..7  bytes shared at the end, 7: a count of those beyond 7 follows
//!               middle  0..30 bytes of the middle,    30: a count of those beyond 30 follows
//!               then a count of bytes shared at the beginning, then the middle's bytes
//! ```
//!
//! Invariant: beginning and end shared do not overlap within the key before, so an entry makes a
//! key at most as long as the one before plus the entry's own bytes, and damaged bytes cannot
//! make decoding take memory out of proportion. A run that grows is what [`find_run`] finds and [`add`]
//! makes of it, and nothing else: encoder and decoder call them both.
//!
//! Cost, on LUBM-40 on 2026-11-21: 2.84 bytes an IRI and 1.19 a literal, beside the first keys of
//! blocks; with the shared beginning only it was 4.58 and 30.42. Sharing with the best of the last
//! 4 keys would give 1.93 and 1.15 and was left: it would save 0.6 bytes of 10 a term, and it
//! helps nothing but generated data.

use super::format::take_bytes;
use crate::varint;
use std::ops::Range;

/// Runs of digits that an entry can count up: those nearest the end.
const RUNS: usize = 8;
/// The first code of an entry that has a middle.
const MIDDLE_FIRST: usize = RUNS;
/// Codes for lengths of the middle, the last for longer ones.
const MIDDLE_CODES: usize = 31;
/// Codes for lengths of the shared end, the last for longer ones.
const END_CODES: usize = 8;
const _: () = assert!(
    MIDDLE_FIRST + MIDDLE_CODES * END_CODES == 256,
    "codes fill a byte"
);

/// Appends the entry that makes `key` out of `before`. O(length of both).
///
/// `scratch` is used and left with any content.
pub(super) fn push_entry(out: &mut Vec<u8>, before: &[u8], key: &[u8], scratch: &mut Vec<u8>) {
    let start = shared_start(before, key);
    if let Some(run) = run_that_grew(before, key, start, scratch) {
        out.push(run as u8);
        return;
    }
    let shared_end = shared_end(&before[start..], &key[start..]);
    let middle = &key[start..key.len() - shared_end];
    let end_code = shared_end.min(END_CODES - 1);
    let middle_code = middle.len().min(MIDDLE_CODES - 1);
    out.push((MIDDLE_FIRST + MIDDLE_CODES * end_code + middle_code) as u8);
    if end_code == END_CODES - 1 {
        varint::write(out, (shared_end - end_code) as u64);
    }
    if middle_code == MIDDLE_CODES - 1 {
        varint::write(out, (middle.len() - middle_code) as u64);
    }
    varint::write(out, start as u64);
    out.extend_from_slice(middle);
}

/// Bytes that keys may be longer than the first of their block before memory is asked for again: most are not.
const ROOM: usize = 64;

/// A key, and what entries make of it one after another.
#[derive(Debug, Default)]
pub(super) struct EntryKey {
    bytes: Vec<u8>,
    /// The run that the last entry made grow, and where it stands: mostly the next one's too.
    grown: Option<(usize, Range<usize>)>,
}

impl EntryKey {
    /// The key's bytes.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Puts another key in its place.
    pub(super) fn set(&mut self, key: &[u8]) {
        self.bytes.clear();
        self.bytes.reserve(key.len() + ROOM);
        self.bytes.extend_from_slice(key);
        self.grown = None;
    }

    /// Applies up to `entries` entries off the front of `bytes`. `None` where the bytes are no
    /// entries of this key; it is then anything. O(bytes read + bytes of keys changed): a
    /// sequence of entries that count up the same run is one addition.
    #[inline]
    pub(super) fn apply(&mut self, bytes: &mut &[u8], entries: u64) -> Option<()> {
        let mut left = entries;
        while left > 0 {
            let (&code, rest) = bytes.split_first()?;
            if usize::from(code) < RUNS {
                let same = bytes
                    .iter()
                    .take(left as usize)
                    .take_while(|&&next| next == code)
                    .count();
                self.grow(usize::from(code), same)?;
                *bytes = &bytes[same..];
                left -= same as u64;
            } else {
                *bytes = rest;
                self.grown = None;
                apply_middle(&mut self.bytes, bytes, usize::from(code) - MIDDLE_FIRST)?;
                left -= 1;
            }
        }
        Some(())
    }

    /// Adds `amount` to a run. `None` where there is no such run.
    #[inline]
    fn grow(&mut self, run: usize, amount: usize) -> Option<()> {
        let (_, digits) = match &mut self.grown {
            Some(grown) if grown.0 == run => grown,
            other => other.insert((run, find_run(&self.bytes, run)?)),
        };
        add(&mut self.bytes, digits, amount);
        Some(())
    }
}

/// Applies one entry with a middle, whose code was taken off already.
fn apply_middle(key: &mut Vec<u8>, bytes: &mut &[u8], code: usize) -> Option<()> {
    let mut end = code / MIDDLE_CODES;
    if end == END_CODES - 1 {
        end = end.checked_add(varint::read_length(bytes)?)?;
    }
    let mut middle = code % MIDDLE_CODES;
    if middle == MIDDLE_CODES - 1 {
        middle = middle.checked_add(varint::read_length(bytes)?)?;
    }
    let start = varint::read_length(bytes)?;
    let middle = take_bytes(bytes, middle)?;
    let end_from = key.len().checked_sub(end)?;
    let room = end_from.checked_sub(start)?;
    if room == middle.len() {
        key[start..end_from].copy_from_slice(middle);
    } else if end == 0 {
        key.truncate(start);
        key.extend_from_slice(middle);
    } else {
        replace(key, start..end_from, middle);
    }
    Some(())
}

/// Puts `middle`, of another length, in place of a range of the key.
fn replace(key: &mut Vec<u8>, range: Range<usize>, middle: &[u8]) {
    let before = key.len();
    let after = before - range.len() + middle.len();
    let end_to = range.start + middle.len();
    if after > before {
        key.resize(after, 0);
    }
    key.copy_within(range.end..before, end_to);
    key.truncate(after);
    key[range.start..end_to].copy_from_slice(middle);
}

/// Adds `amount` to the number of decimal digits that stand there. Leading zeros stay while the number
/// fits; a carry out of the first digit puts a digit before it.
#[inline]
fn add(key: &mut Vec<u8>, digits: &mut Range<usize>, amount: usize) {
    let mut carry = amount;
    for digit in key[digits.clone()].iter_mut().rev() {
        let sum = usize::from(*digit - b'0') + carry;
        *digit = b'0' + (sum % 10) as u8;
        carry = sum / 10;
        if carry == 0 {
            return;
        }
    }
    while carry > 0 {
        key.insert(digits.start, b'0' + (carry % 10) as u8);
        digits.end += 1;
        carry /= 10;
    }
}

/// Where the `run`-th run of digits from the end stands, 0 the last. `None` where there is no such run.
fn find_run(key: &[u8], run: usize) -> Option<Range<usize>> {
    let mut end = key.len();
    for skipped in 0.. {
        end = key[..end].iter().rposition(u8::is_ascii_digit)? + 1;
        let start = key[..end]
            .iter()
            .rposition(|byte| !byte.is_ascii_digit())
            .map_or(0, |at| at + 1);
        if skipped == run {
            return Some(start..end);
        }
        end = start;
    }
    None
}

/// The run of digits of `before` that must grow by one to give `key`, if one does. `start` is the
/// number of bytes that the two share at the beginning.
fn run_that_grew(before: &[u8], key: &[u8], start: usize, scratch: &mut Vec<u8>) -> Option<usize> {
    // The first byte that differs is a digit of the run: only one run can be meant.
    if !before.get(start)?.is_ascii_digit() || !key.get(start)?.is_ascii_digit() {
        return None;
    }
    if key.len() != before.len() && key.len() != before.len() + 1 {
        return None;
    }
    let run = runs_after(&before[start..])?;
    scratch.clear();
    scratch.extend_from_slice(before);
    let mut digits = find_run(scratch, run)?;
    add(scratch, &mut digits, 1);
    (scratch == key).then_some(run)
}

/// Number of runs of digits after the one that `bytes` begin with, or `None` where it is too
/// large for an entry.
fn runs_after(bytes: &[u8]) -> Option<usize> {
    let begins = bytes
        .windows(2)
        .filter(|pair| !pair[0].is_ascii_digit() && pair[1].is_ascii_digit());
    let runs = begins.take(RUNS).count();
    (runs < RUNS).then_some(runs)
}

/// Number of bytes shared at the beginning; compares 8 at a time.
fn shared_start(left: &[u8], right: &[u8]) -> usize {
    let (left_words, _) = left.as_chunks::<8>();
    let (right_words, _) = right.as_chunks::<8>();
    let words = left_words
        .iter()
        .zip(right_words)
        .take_while(|(left, right)| left == right);
    let start = 8 * words.count();
    let rest = left[start..].iter().zip(&right[start..]);
    start + rest.take_while(|(left, right)| left == right).count()
}

/// Number of bytes shared at the end; compares 8 at a time.
fn shared_end(left: &[u8], right: &[u8]) -> usize {
    let (_, left_words) = left.as_rchunks::<8>();
    let (_, right_words) = right.as_rchunks::<8>();
    let words = left_words.iter().rev().zip(right_words.iter().rev());
    let end = 8 * words.take_while(|(left, right)| left == right).count();
    let left = left[..left.len() - end].iter().rev();
    let rest = left.zip(right[..right.len() - end].iter().rev());
    end + rest.take_while(|(left, right)| left == right).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key_of(bytes: &[u8]) -> EntryKey {
        let mut key = EntryKey::default();
        key.set(bytes);
        key
    }

    /// Bytes of the entry from `before` to `key`, after checking that it gives `key` back.
    fn entry(before: &[u8], key: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        push_entry(&mut bytes, before, key, &mut Vec::new());
        let mut made = key_of(before);
        let mut rest = &bytes[..];
        made.apply(&mut rest, 1)
            .expect("an entry applies to its key");
        assert_eq!(made.bytes(), key);
        assert!(rest.is_empty());
        bytes
    }

    #[test]
    fn numbers_that_grow_cost_one_byte() {
        assert_eq!(entry(b"p9", b"p10"), [0]);
        assert_eq!(entry(b"p19/x", b"p20/x"), [0]);
        assert_eq!(entry(b"S9@d0.u1", b"S10@d0.u1"), [2]);
        assert_eq!(entry(b"099", b"100"), [0]);
        assert_eq!(entry(b"99", b"100"), [0]);
        assert_eq!(entry(b"1-2-3-4-5-6-7-8", b"2-2-3-4-5-6-7-8"), [7]);
        assert!(entry(b"1-2-3-4-5-6-7-8-9", b"2-2-3-4-5-6-7-8-9").len() > 1);
        assert!(entry(b"p10", b"p9").len() > 1);
    }

    #[test]
    fn both_ends_are_shared() {
        assert_eq!(entry(b"ab-same", b"xyz-same").len(), 2 + 3);
        assert_eq!(entry(b"same-ab", b"same-xyz").len(), 2 + 3);
        assert_eq!(entry(b"a-long-same-end", b"b-long-same-end").len(), 3 + 1);
        assert_eq!(entry(b"aaa", b"aaaa").len(), 2 + 1);
        assert_eq!(entry(b"same", b"same").len(), 2);
        assert_eq!(entry(b"", b"").len(), 2);
        entry(b"", &vec![b'x'; 1 << 20]);
        entry(&vec![b'x'; 1 << 20], &vec![b'x'; (1 << 20) - 1]);
    }

    #[test]
    fn a_sequence_is_one_addition() {
        let mut key = key_of(b"row7;v1");
        let mut bytes = &[1, 1, 1, 1, 0, 0][..];
        key.apply(&mut bytes, 5).unwrap();
        assert_eq!((key.bytes(), bytes), (&b"row11;v2"[..], &[0][..]));
        let mut key = key_of(b"9");
        key.apply(&mut &[0; 200][..], 200).unwrap();
        assert_eq!(key.bytes(), b"209");
    }

    #[test]
    fn a_run_is_found_where_the_entry_before_has_moved_it() {
        let keys: [&[u8]; 9] = [
            b"a9-98-1",
            b"a9-99-1",
            b"a9-100-1",
            b"a9-101-1",
            b"a10-101-1",
            b"a10-102-1",
            b"b-9",
            b"b-10",
            b"b-1x2",
        ];
        let mut bytes = Vec::new();
        for pair in keys.windows(2) {
            push_entry(&mut bytes, pair[0], pair[1], &mut Vec::new());
        }
        let mut key = key_of(keys[0]);
        let mut rest = &bytes[..];
        for expected in &keys[1..] {
            key.apply(&mut rest, 1).unwrap();
            assert_eq!(key.bytes(), *expected);
        }
        key.set(b"7.7");
        key.apply(&mut &[1][..], 1).unwrap();
        assert_eq!(key.bytes(), b"8.7");
    }

    #[test]
    fn nonsense_is_refused() {
        let refuse = |before: &[u8], bytes: &[u8]| {
            assert_eq!(key_of(before).apply(&mut { bytes }, 1), None);
        };
        refuse(b"abc", b"");
        refuse(b"abc", &[0]);
        refuse(b"a1", &[1]);
        refuse(b"abc", &[8, 4]);
        refuse(b"abc", &[8 + 2 * 31, 2]);
        refuse(b"abc", &[9, 0]);
        refuse(
            b"abc",
            &[
                255, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0,
            ],
        );
    }

    proptest! {
        #[test]
        fn any_two_keys(before in "[a-b0-29]{0,12}", key in "[a-b0-29]{0,12}") {
            entry(before.as_bytes(), key.as_bytes());
        }

        #[test]
        fn any_bytes_never_panic(
            key in "[a-b0-29]{0,12}",
            bytes in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let mut made = key_of(key.as_bytes());
            let mut rest = &bytes[..];
            let _ = made.apply(&mut rest, 20);
            prop_assert!(made.bytes().len() <= key.len() + bytes.len());
        }
    }
}
