//! The records of a bin in order, each once, whatever the bin's size.
//!
//! A bin that fits the working memory is read, sorted and walked. A larger one is read in pieces
//! that fit, each sorted and written to a temporary file as a run; runs are then merged. Both give
//! the same sequence.
//!
//! Cost: a piece and a second buffer for its sorting; merging reads and writes each record once
//! more and compares it about log2(runs) times.

use super::buckets::Buckets;
use super::error::LoadError;
use super::radix::{self, SortRecord};
use super::scratch::{Extent, Spill};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Records of a run that are read at a time.
const RUN_READ_BYTES: usize = 64 << 10;

/// Memory that is used again from bin to bin.
pub struct Buffers<R> {
    records: Vec<R>,
    scratch: Vec<R>,
}

impl<R> Default for Buffers<R> {
    fn default() -> Self {
        Buffers {
            records: Vec::new(),
            scratch: Vec::new(),
        }
    }
}

/// Records in ascending order, with repetitions.
pub enum Sorted<'b, 'l, R: SortRecord> {
    /// All in memory.
    Memory(&'b [R]),
    /// Runs in a file.
    Runs(Spill<'l>, Vec<Extent>),
}

/// Sorts a bucket, each record changed by `change` first. At most `piece_records` are in memory at
/// a time (and as many again as scratch); at least one (asserted).
pub fn sort<'b, 'l, R: SortRecord>(
    buckets: &Buckets<'l, R>,
    bucket: usize,
    change: impl Fn(R) -> R,
    piece_records: usize,
    spill: Spill<'l>,
    buffers: &'b mut Buffers<R>,
) -> Result<Sorted<'b, 'l, R>, LoadError> {
    assert!(piece_records > 0, "a piece takes a record");
    let Buffers { records, scratch } = buffers;
    records.clear();
    records.reserve_exact(buckets.records(bucket).min(piece_records));
    let mut runs = Vec::new();
    buckets.visit(bucket, |mut slice| {
        while !slice.is_empty() {
            let (now, later) = slice.split_at(slice.len().min(piece_records - records.len()));
            records.extend(now.iter().map(|&record| change(record)));
            slice = later;
            if records.len() == piece_records {
                radix::sort(records, scratch);
                runs.push(spill.write(records)?);
                records.clear();
            }
        }
        Ok(())
    })?;
    radix::sort(records, scratch);
    let written: usize = runs.iter().map(|run: &Extent| run.records).sum();
    assert_eq!(
        written + records.len(),
        buckets.records(bucket),
        "each record of the bucket is in a run"
    );
    if runs.is_empty() {
        return Ok(Sorted::Memory(records));
    }
    runs.push(spill.write(records)?);
    records.clear();
    Ok(Sorted::Runs(spill, runs))
}

impl<R: SortRecord> Sorted<'_, '_, R> {
    /// Calls `give` with each distinct record, ascending. May be called again.
    #[inline]
    pub fn each_distinct<F>(&self, mut give: F) -> Result<(), LoadError>
    where
        F: FnMut(R) -> Result<(), LoadError>,
    {
        match self {
            Sorted::Memory(records) => {
                let mut before = None;
                for &record in *records {
                    if before != Some(record) {
                        give(record)?;
                        before = Some(record);
                    }
                }
                Ok(())
            }
            Sorted::Runs(spill, runs) => merge(spill, runs, give),
        }
    }
}

/// The part of a run that is in memory.
struct Cursor<R> {
    run: Extent,
    next: usize,
    buffer: Vec<R>,
    at: usize,
}

impl<R: SortRecord> Cursor<R> {
    fn next(&mut self, spill: &Spill<'_>) -> Result<Option<R>, LoadError> {
        if self.at == self.buffer.len() {
            let end = (self.next + RUN_READ_BYTES / size_of::<R>()).min(self.run.records);
            self.buffer.clear();
            self.at = 0;
            if self.next == end {
                return Ok(None);
            }
            spill.read(self.run, self.next..end, &mut self.buffer)?;
            self.next = end;
        }
        self.at += 1;
        Ok(Some(self.buffer[self.at - 1]))
    }
}

fn merge<R: SortRecord, F>(spill: &Spill<'_>, runs: &[Extent], mut give: F) -> Result<(), LoadError>
where
    F: FnMut(R) -> Result<(), LoadError>,
{
    let mut cursors: Vec<Cursor<R>> = runs
        .iter()
        .map(|&run| Cursor {
            run,
            next: 0,
            buffer: Vec::new(),
            at: 0,
        })
        .collect();
    let mut heads = BinaryHeap::with_capacity(runs.len());
    for (number, cursor) in cursors.iter_mut().enumerate() {
        heads.extend(cursor.next(spill)?.map(|record| Reverse((record, number))));
    }
    let mut before = None;
    while let Some(mut head) = heads.peek_mut() {
        let Reverse((record, number)) = *head;
        if before != Some(record) {
            give(record)?;
            before = Some(record);
        }
        match cursors[number].next(spill)? {
            Some(next) => *head = Reverse((next, number)),
            None => drop(std::collections::binary_heap::PeekMut::pop(head)),
        }
    }
    let is_read = |cursor: &Cursor<R>| cursor.next == cursor.run.records;
    assert!(cursors.iter().all(is_read), "each run is read to its end");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::budget::Budget;
    use crate::load::scratch::tests::MemoryScratch;

    #[test]
    fn pieces_do_not_matter() {
        let budget = Budget::new(Some(1));
        let scratch = MemoryScratch::default();
        let buckets = Buckets::new(2, Spill::new(&scratch, "b"), &budget);
        let records: Vec<[u64; 1]> = (0..50_000_u64)
            .map(|i| [i.wrapping_mul(i) % 30_011])
            .collect();
        for slice in records.chunks(777) {
            buckets.add(1, slice.to_vec()).unwrap();
        }
        let change = |record: [u64; 1]| [record[0] ^ 5];
        let mut expected: Vec<_> = records.iter().map(|&record| change(record)).collect();
        expected.sort_unstable();
        expected.dedup();
        for piece in [1_000, 7_001, 49_999, 50_000, 1 << 20] {
            let mut buffers = Buffers::default();
            let spill = Spill::new(&scratch, "runs");
            let sorted = sort(&buckets, 1, change, piece, spill, &mut buffers).unwrap();
            assert_eq!(matches!(sorted, Sorted::Memory(_)), piece > 50_000);
            for _ in 0..2 {
                let mut given = Vec::new();
                sorted
                    .each_distinct(|record| {
                        given.push(record);
                        Ok(())
                    })
                    .unwrap();
                assert_eq!(given, expected);
            }
        }
    }
}
