//! Memory of queries: one pool for all, a share for each.
//!
//! Every operator that keeps rows asks before it grows. A query draws on its own limit and on the
//! pool of all queries together; when either is exhausted it ends with a clear error and gives
//! back everything when its [`Budget`] is dropped. Accounting is by capacity asked for, so it is a
//! bound from above up to what the allocator adds.
//!
//! | who | touches | when |
//! |---|---|---|
//! | any thread of a query | `Budget::used`, `Pool::used` by compare-exchange | growing, shrinking |
//! | the owner of the query | drop of `Budget` | once, after its threads have ended |
//! | whoever has the streams | `Pool::streams` by compare-exchange | a push asks; afterwards what is held is said |
//!
//! What changes and streams hold is less for queries, and what queries and changes hold is less for streams. A quarter of the
//! pool is left to queries in any case, and a quarter to streams: neither can shut the other out.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Who holds no more than this may take the last of the pool.
const SMALL_BYTES: u64 = 2 << 20;
/// The part of the pool, one in so many, that is kept for them: so that a pool which heavy queries have
/// used up does not end light ones.
const RESERVE: u64 = 16;
const _: () = assert!(RESERVE > 1, "most of the pool is for those who hold more");
/// The part of what streams may hold together, one in so many, that is kept for small ones: so that one which floods does not
/// stop the others.
const STREAM_RESERVE: u64 = 8;
/// A stream is small if it holds no more than one in so many of what all may hold.
const SMALL_STREAM: u64 = 32;

/// A limit of memory was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("out of memory: {used} bytes in use, {asked} more asked for, limit {limit} bytes")]
pub struct Exhausted {
    /// Bytes asked for.
    pub asked: u64,
    /// Bytes in use when it was asked.
    pub used: u64,
    /// The limit that was reached.
    pub limit: u64,
    /// It is the pool's, and not the query's.
    pub of_all: bool,
}

/// The pool that all queries of one database draw on.
#[derive(Debug)]
pub struct Pool {
    used: AtomicU64,
    /// What changes that are in no file yet hold in memory.
    changes: AtomicU64,
    /// What streams hold: items, slices, terms and reports.
    streams: AtomicU64,
    limit: u64,
}

impl Pool {
    /// A pool of so many bytes.
    pub fn new(limit_bytes: u64) -> Arc<Pool> {
        Arc::new(Pool {
            used: AtomicU64::new(0),
            changes: AtomicU64::new(0),
            streams: AtomicU64::new(0),
            limit: limit_bytes,
        })
    }

    /// Bytes that queries hold now, and pages of a GPU in this machine.
    pub fn used_bytes(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Bytes that streams hold now.
    pub fn stream_bytes(&self) -> u64 {
        self.streams.load(Ordering::Relaxed)
    }

    /// The pool's size: what it was made with, less what changes and streams hold; a quarter of it is left in any case.
    pub fn limit_bytes(&self) -> u64 {
        let changes = self.changes.load(Ordering::Relaxed);
        let others = changes.saturating_add(self.stream_bytes());
        self.limit.saturating_sub(others).max(self.limit / 4)
    }

    /// What streams may hold together: what changes and queries leave, a quarter in any case.
    fn stream_limit_bytes(&self) -> u64 {
        let changes = self.changes.load(Ordering::Relaxed);
        let others = changes.saturating_add(self.used_bytes());
        self.limit.saturating_sub(others).max(self.limit / 4)
    }

    /// Bytes that changes hold which are in no file yet, and versions that are kept for readers.
    pub fn change_bytes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// Says what changes that are in no file yet hold in memory (bytes): so much less is left for queries.
    pub(crate) fn set_changes(&self, bytes: u64) {
        self.changes.store(bytes, Ordering::Relaxed);
    }
}

/// What the streams of one owner hold of a [`Pool`]. It is given back when this is dropped.
#[derive(Debug)]
pub(crate) struct StreamShare {
    pool: Arc<Pool>,
    held: u64,
}

impl StreamShare {
    /// Nothing yet.
    pub(crate) fn new(pool: &Arc<Pool>) -> StreamShare {
        StreamShare {
            pool: Arc::clone(pool),
            held: 0,
        }
    }

    /// Takes bytes for what is about to come to a stream that holds `own` bytes, or none of them. What is then held is to be
    /// said ([`StreamShare::set`]).
    pub(crate) fn ask(&mut self, bytes: u64, own: u64) -> Result<(), Exhausted> {
        let all = self.pool.stream_limit_bytes();
        let limit = if own.saturating_add(bytes) <= all / SMALL_STREAM {
            all
        } else {
            all - all / STREAM_RESERVE
        };
        let taken = add_below(&self.pool.streams, bytes, limit);
        taken.map_err(|exhausted| Exhausted {
            of_all: true,
            ..exhausted
        })?;
        self.held += bytes;
        Ok(())
    }

    /// What one stream may hold at most, if nobody else held anything (bytes).
    pub(crate) fn most(&self) -> u64 {
        self.pool.limit - self.pool.limit / STREAM_RESERVE
    }

    /// Says what is held, be there room for it or not.
    pub(crate) fn set(&mut self, bytes: u64) {
        let before = std::mem::replace(&mut self.held, bytes);
        if bytes >= before {
            self.pool
                .streams
                .fetch_add(bytes - before, Ordering::Relaxed);
        } else {
            self.pool
                .streams
                .fetch_sub(before - bytes, Ordering::Relaxed);
        }
    }
}

impl Drop for StreamShare {
    fn drop(&mut self) {
        self.set(0);
    }
}

/// One query's share of a [`Pool`].
#[derive(Debug)]
pub struct Budget {
    pool: Arc<Pool>,
    used: AtomicU64,
    limit: u64,
    peak: AtomicU64,
}

impl Budget {
    /// A share of at most `limit_bytes`.
    pub fn new(pool: &Arc<Pool>, limit_bytes: u64) -> Budget {
        Budget {
            pool: Arc::clone(pool),
            used: AtomicU64::new(0),
            limit: limit_bytes,
            peak: AtomicU64::new(0),
        }
    }

    /// Takes bytes, from the share and from the pool, or neither.
    pub fn take(&self, bytes: u64) -> Result<(), Exhausted> {
        let used = add_below(&self.used, bytes, self.limit)?;
        let all = self.pool.limit_bytes();
        let limit = if used <= SMALL_BYTES {
            all
        } else {
            all - all / RESERVE
        };
        if let Err(exhausted) = add_below(&self.pool.used, bytes, limit) {
            self.used.fetch_sub(bytes, Ordering::Relaxed);
            return Err(Exhausted {
                of_all: true,
                ..exhausted
            });
        }
        self.peak.fetch_max(used, Ordering::Relaxed);
        Ok(())
    }

    /// Gives bytes back.
    pub fn give_back(&self, bytes: u64) {
        let before = self.used.fetch_sub(bytes, Ordering::Relaxed);
        // Said by whoever unwinds, it would end the process.
        assert!(
            before >= bytes || std::thread::panicking(),
            "a query gave back more memory than it took"
        );
        self.pool.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// The most that was held at once, in bytes.
    pub fn peak_bytes(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }
}

impl Drop for Budget {
    fn drop(&mut self) {
        let left = self.used.load(Ordering::Relaxed);
        self.pool.used.fetch_sub(left, Ordering::Relaxed);
    }
}

/// Adds unless the sum would pass the limit; gives the sum.
fn add_below(counter: &AtomicU64, bytes: u64, limit: u64) -> Result<u64, Exhausted> {
    let update = counter.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
        used.checked_add(bytes).filter(|sum| *sum <= limit)
    });
    match update {
        Ok(before) => Ok(before + bytes),
        Err(used) => Err(Exhausted {
            asked: bytes,
            used,
            limit,
            of_all: false,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_stays_below_its_share() {
        let pool = Pool::new(1000);
        let budget = Budget::new(&pool, 100);
        budget.take(60).unwrap();
        assert_eq!(
            budget.take(50),
            Err(Exhausted {
                asked: 50,
                used: 60,
                limit: 100,
                of_all: false,
            })
        );
        assert_eq!(pool.used_bytes(), 60);
        budget.give_back(20);
        budget.take(50).unwrap();
        assert_eq!(budget.peak_bytes(), 90);
    }

    #[test]
    fn all_queries_stay_below_the_pool_and_give_everything_back() {
        let pool = Pool::new(100);
        let first = Budget::new(&pool, 100);
        let second = Budget::new(&pool, 100);
        first.take(80).unwrap();
        assert!(second.take(30).is_err());
        drop(first);
        second.take(30).unwrap();
        drop(second);
        assert_eq!(pool.used_bytes(), 0);
    }

    #[test]
    fn what_changes_hold_is_not_there_for_queries() {
        let pool = Pool::new(100 << 20);
        let budget = Budget::new(&pool, u64::MAX);
        budget.take(50 << 20).unwrap();
        pool.set_changes(60 << 20);
        let refused = budget.take(10 << 20).unwrap_err();
        assert!(refused.of_all && refused.limit < 40 << 20);
        pool.set_changes(u64::MAX);
        assert_eq!(pool.limit_bytes(), 25 << 20);
        pool.set_changes(0);
        budget.take(10 << 20).unwrap();
    }

    #[test]
    fn streams_and_queries_leave_each_other_a_quarter() {
        let pool = Pool::new(128 << 20);
        let mut streams = StreamShare::new(&pool);
        streams.ask(60 << 20, 0).unwrap();
        assert_eq!(pool.limit_bytes(), 68 << 20);
        let refused = streams.ask(60 << 20, 60 << 20).unwrap_err();
        assert!(refused.of_all && refused.limit == 112 << 20, "{refused}");
        let budget = Budget::new(&pool, u64::MAX);
        budget.take(40 << 20).unwrap();
        assert!(streams.ask(20 << 20, 60 << 20).is_err(), "a query has it");
        streams.set(120 << 20);
        assert_eq!(pool.limit_bytes(), 32 << 20);
        streams.set(10 << 20);
        pool.set_changes(u64::MAX);
        streams.ask(18 << 20, 10 << 20).unwrap();
        assert!(streams.ask(1 << 20, 28 << 20).is_err());
        assert_eq!(pool.stream_bytes(), 28 << 20);
        drop(streams);
        assert_eq!((pool.stream_bytes(), pool.used_bytes()), (0, 40 << 20));
    }

    #[test]
    fn a_stream_that_floods_leaves_something_for_small_ones() {
        let pool = Pool::new(128 << 20);
        let mut streams = StreamShare::new(&pool);
        let mut own = 0;
        while streams.ask(1 << 20, own).is_ok() {
            own += 1 << 20;
        }
        assert_eq!(own, 112 << 20);
        for other in 0..4 {
            streams.ask(2 << 20, (2 * (other % 2)) << 20).unwrap();
        }
        assert!(streams.ask(1, own).is_err());
    }
}
