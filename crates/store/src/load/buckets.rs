//! Records spread over numbered buckets by many threads, in memory or, above the budget, in a
//! temporary file.
//!
//! The one spilling structure of the loader: hashes of terms are spread by their top bits,
//! repetitions by chunk, edges by predicate. Each bucket is then read by whoever sorts it, so the
//! order in which threads add blocks is lost, and with it any trace of how many threads there were.
//!
//! ```text
//! thread: Spreader   one open block per bucket (8 KiB)
//!                        | full
//!                        v
//! bucket:            blocks in memory | extents in the file    (a lock per bucket)
//! ```
//!
//! Invariant: a bucket holds exactly the records that were spread to it, once each. A bucket over
//! the budget goes to the file when it has gathered 32 KiB, so writes are large and the overshoot is
//! at most that per bucket.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `Buckets::cells` | workers whose block is full, with the lock of its bucket | the phase after |

use super::budget::{Budget, Share};
use super::error::LoadError;
use super::radix::SortRecord;
use super::scratch::{Extent, Spill};
use std::sync::{PoisonError, RwLock};

/// Bytes of a block: what a spreader gathers for a bucket before it takes the bucket's lock.
const BLOCK_BYTES: usize = 8 << 10;
/// Bytes of a bucket that are worth a write.
const SPILLED_FROM_BYTES: usize = 32 << 10;
/// Records read back from a file at a time.
const READ_BYTES: usize = 256 << 10;
const _: () = assert!(
    BLOCK_BYTES <= SPILLED_FROM_BYTES && SPILLED_FROM_BYTES <= READ_BYTES,
    "what is written and read is larger than what is gathered"
);

/// Buckets of records; see the module's documentation.
pub struct Buckets<'l, R: SortRecord> {
    cells: Vec<RwLock<Cell<R>>>,
    spill: Spill<'l>,
    share: Share<'l>,
}

struct Cell<R> {
    blocks: Vec<Vec<R>>,
    blocks_bytes: usize,
    extents: Vec<Extent>,
    records: usize,
}

impl<R> Default for Cell<R> {
    fn default() -> Self {
        Cell {
            blocks: Vec::new(),
            blocks_bytes: 0,
            extents: Vec::new(),
            records: 0,
        }
    }
}

impl<'l, R: SortRecord> Buckets<'l, R> {
    /// This many empty buckets, spilling to `spill`.
    pub fn new(buckets: usize, spill: Spill<'l>, budget: &'l Budget) -> Buckets<'l, R> {
        let cells = (0..buckets).map(|_| RwLock::default()).collect();
        Buckets {
            cells,
            spill,
            share: budget.share(),
        }
    }

    /// Number of buckets.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Number of records in a bucket.
    pub fn records(&self, bucket: usize) -> usize {
        self.read_cell(bucket).records
    }

    /// Adds records to a bucket.
    pub fn add(&self, bucket: usize, mut block: Vec<R>) -> Result<(), LoadError> {
        if block.is_empty() {
            return Ok(());
        }
        block.shrink_to_fit();
        let bytes = block.capacity() * size_of::<R>();
        let stays = self.share.charge(bytes);
        let mut cell = self.cells[bucket]
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        cell.records += block.len();
        cell.blocks_bytes += bytes;
        cell.blocks.push(block);
        if !stays && cell.blocks_bytes >= SPILLED_FROM_BYTES {
            self.write_out(&mut cell)?;
        }
        Ok(())
    }

    /// Calls `visit` with all records of a bucket, in slices, in no particular order.
    pub fn visit<F>(&self, bucket: usize, mut visit: F) -> Result<(), LoadError>
    where
        F: FnMut(&[R]) -> Result<(), LoadError>,
    {
        let cell = self.read_cell(bucket);
        let held = cell.blocks.iter().map(Vec::len);
        let written = cell.extents.iter().map(|extent| extent.records);
        assert_eq!(
            held.chain(written).sum::<usize>(),
            cell.records,
            "a bucket holds what was spread to it, once"
        );
        let step = READ_BYTES / size_of::<R>();
        let mut read = Vec::new();
        for extent in &cell.extents {
            for start in (0..extent.records).step_by(step) {
                read.clear();
                self.spill.read(
                    *extent,
                    start..(start + step).min(extent.records),
                    &mut read,
                )?;
                visit(&read)?;
            }
        }
        cell.blocks.iter().try_for_each(|block| visit(block))
    }

    /// All records of a bucket, in no particular order.
    pub fn collect(&self, bucket: usize) -> Result<Vec<R>, LoadError> {
        let mut records = Vec::with_capacity(self.records(bucket));
        self.visit(bucket, |slice| {
            records.extend_from_slice(slice);
            Ok(())
        })?;
        Ok(records)
    }

    /// Forgets a bucket's records and gives its memory back. Its part of the file stays.
    pub fn release(&self, bucket: usize) {
        let mut cell = self.cells[bucket]
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        self.share.release(cell.blocks_bytes);
        *cell = Cell::default();
    }

    fn write_out(&self, cell: &mut Cell<R>) -> Result<(), LoadError> {
        let records: Vec<R> = cell.blocks.concat();
        cell.extents.push(self.spill.write(&records)?);
        cell.blocks.clear();
        self.share.release(std::mem::take(&mut cell.blocks_bytes));
        Ok(())
    }

    fn read_cell(&self, bucket: usize) -> std::sync::RwLockReadGuard<'_, Cell<R>> {
        self.cells[bucket]
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl<R: SortRecord> Drop for Buckets<'_, R> {
    fn drop(&mut self) {
        (0..self.cells.len()).for_each(|bucket| self.release(bucket));
    }
}

/// One thread's way into buckets. What it still holds is added by [`Spreader::finish`].
pub struct Spreader<'b, 'l, R: SortRecord> {
    buckets: &'b Buckets<'l, R>,
    open: Vec<Vec<R>>,
}

impl<'b, 'l, R: SortRecord> Spreader<'b, 'l, R> {
    const BLOCK_RECORDS: usize = BLOCK_BYTES / size_of::<R>();

    /// A way into `buckets`. Holds up to 8 KiB per bucket.
    pub fn new(buckets: &'b Buckets<'l, R>) -> Spreader<'b, 'l, R> {
        Spreader {
            buckets,
            open: vec![Vec::new(); buckets.len()],
        }
    }

    /// Adds a record to a bucket.
    #[inline]
    pub fn push(&mut self, bucket: usize, record: R) -> Result<(), LoadError> {
        let block = &mut self.open[bucket];
        if block.capacity() == 0 {
            block.reserve_exact(Self::BLOCK_RECORDS);
        }
        block.push(record);
        if block.len() >= Self::BLOCK_RECORDS {
            let full = std::mem::take(block);
            self.buckets.add(bucket, full)?;
        }
        Ok(())
    }

    /// Adds what is left.
    pub fn finish(mut self) -> Result<(), LoadError> {
        let open = std::mem::take(&mut self.open);
        open.into_iter()
            .enumerate()
            .try_for_each(|(bucket, block)| self.buckets.add(bucket, block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::scratch::tests::MemoryScratch;
    use crate::load::workers;

    fn check(limit_bytes: Option<u64>, threads: usize) {
        let budget = Budget::new(limit_bytes);
        let scratch = MemoryScratch::default();
        let buckets = Buckets::new(7, Spill::new(&scratch, "t"), &budget);
        workers::for_each(threads, 10, |task| {
            let mut spreader = Spreader::new(&buckets);
            for i in 0..200_000_u64 {
                let number = i * 10 + task as u64;
                spreader.push((number % 7) as usize, [number])?;
            }
            spreader.finish()
        })
        .unwrap();
        for bucket in 0..7 {
            let mut records = buckets.collect(bucket).unwrap();
            records.sort_unstable();
            let expected = (bucket as u64..2_000_000).step_by(7).map(|number| [number]);
            assert!(records.into_iter().eq(expected));
            assert_eq!(buckets.records(bucket), (2_000_000 - bucket).div_ceil(7));
        }
        if limit_bytes.is_some() {
            assert!(budget.peak_bytes() < 1 << 20);
        }
        drop(buckets);
        assert_eq!(budget.held_bytes(), 0);
    }

    #[test]
    fn what_is_spread_comes_back() {
        check(None, 1);
        check(None, 3);
    }

    #[test]
    fn what_is_spilled_comes_back() {
        check(Some(1), 1);
        check(Some(1), 3);
    }
}
