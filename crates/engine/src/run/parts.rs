//! A seed handed out in parts, and the way of the parts' chunks to the calling thread.
//!
//! ```text
//!  as they come:    worker, worker -- one channel ---------------> tail
//!  in their order:  worker -- a channel of its part's own -------> tail, which empties one after the other
//! ```
//!
//! Where the answer keeps some of the rows (`LIMIT`, `OFFSET`), which ones must not depend on which worker was
//! first: somebody who turns pages would see rows twice and others never. Parts are handed out in their order,
//! so the part that the tail waits for is always in somebody's hands, and it never waits for another one.
//! What a worker is ahead by is bounded by its channel. Elsewhere nobody waits for an order that nobody sees.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `Parts::hand` | workers, with its lock, when they take a part | the same |
//! | a part's channel | the worker that has the part | the tail |
//! | `Chunks` | the tail | the tail |

use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded, unbounded};
use explore::Chunk;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Parts of the seed for each worker: enough that uneven parts even out.
const PARTS_PER_WORKER: u64 = 32;
/// A part is not made smaller than this.
pub(super) const PART_LEN_MIN: u64 = 64;
/// Chunks on their way from each worker.
const CHUNKS_PER_WORKER: usize = 4;

/// The seed, handed out in parts.
pub(super) struct Parts {
    hand: Mutex<Hand>,
    part_len: u64,
    seed_len: u64,
}

struct Hand {
    /// Where the next part begins.
    next: u64,
    /// Where chunks go as they come.
    shared: Option<Sender<Chunk>>,
    /// The channels of the parts, in their order; closed with the last part.
    order: Option<Sender<Receiver<Chunk>>>,
}

/// A part in a worker's hands.
pub(super) struct Part {
    /// Elements of the seed; not empty.
    pub(super) range: Range<u64>,
    /// Where its chunks go.
    pub(super) chunks: Sender<Chunk>,
}

/// The tail's end of it.
pub(super) struct Chunks {
    current: Option<Receiver<Chunk>>,
    order: Receiver<Receiver<Chunk>>,
}

/// The parts of a seed for so many workers, and where their chunks come out: in the order of the parts, or as
/// they come.
pub(super) fn parts(seed_len: u64, workers: usize, is_ordered: bool) -> (Parts, Chunks) {
    assert!(workers > 0, "somebody walks the parts");
    let part_len = seed_len
        .div_ceil(workers as u64 * PARTS_PER_WORKER)
        .max(PART_LEN_MIN);
    let (order, coming) = unbounded();
    let (shared, current) = bounded(workers * CHUNKS_PER_WORKER);
    let hand = Hand {
        next: 0,
        shared: (!is_ordered).then_some(shared),
        order: Some(order),
    };
    let parts = Parts {
        hand: Mutex::new(hand),
        part_len,
        seed_len,
    };
    let chunks = Chunks {
        current: Some(current),
        order: coming,
    };
    (parts, chunks)
}

/// A way of chunks to the tail, as they come, for so many that wait.
pub(super) fn unordered(waiting: usize) -> (Sender<Chunk>, Chunks) {
    let (sender, current) = bounded(waiting);
    let (_, order) = bounded(0);
    let chunks = Chunks {
        current: Some(current),
        order,
    };
    (sender, chunks)
}

impl Parts {
    /// The next part, if there is one.
    pub(super) fn next(&self) -> Option<Part> {
        let mut hand = self.hand();
        let range = hand.next..self.seed_len.min(hand.next + self.part_len);
        hand.next = range.end;
        if range.is_empty() {
            hand.close();
        }
        let order = hand.order.as_ref()?;
        assert!(!range.is_empty(), "a part that is handed out has elements");
        let chunks = hand.shared.clone().or_else(|| {
            let (sender, receiver) = bounded(CHUNKS_PER_WORKER);
            order.send(receiver).ok().map(|()| sender)
        })?;
        Some(Part { range, chunks })
    }

    /// No more parts for anybody.
    pub(super) fn end(&self) {
        self.hand().close();
    }

    fn hand(&self) -> MutexGuard<'_, Hand> {
        self.hand.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hand {
    fn close(&mut self) {
        self.shared = None;
        self.order = None;
    }
}

impl Chunks {
    /// The next chunk, if it is there.
    pub(super) fn try_next(&mut self) -> Result<Chunk, TryRecvError> {
        loop {
            if let Some(current) = &self.current {
                match current.try_recv() {
                    Err(TryRecvError::Disconnected) => {}
                    result => return result,
                }
            }
            self.current = Some(self.order.try_recv()?);
        }
    }

    /// The next chunk, waited for; none when all parts have ended.
    pub(super) fn next(&mut self) -> Option<Chunk> {
        loop {
            if let Some(chunk) = self.current.as_ref().and_then(|it| it.recv().ok()) {
                return Some(chunk);
            }
            self.current = Some(self.order.recv().ok()?);
        }
    }
}

/// Ends the handing out of parts when a worker panics.
pub(super) struct EndOnPanic<'p>(pub(super) &'p Parts);

impl Drop for EndOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.end();
        }
    }
}
