//! Admission: who may start, and who computes now.
//!
//! ```text
//! enter -> (queue per client) -> fresh -> running <-> waiting -> end
//!                                  |         |           ^
//!                                  +-> idle <+-----------+   waits for its client, for SERVICE
//! ```
//!
//! Two things are scarce, and each has its own count. *Places*: a started query has a thread and memory,
//! so their number is bounded, in all and per client. *Shares*: as many as processors. A query computes
//! only with a share, in slices of [`SLICE`]: its threads look up between chunks, and give the share to
//! whoever is due (worker-obliger, OSDI'16 section 5.4). Whoever waits for others holds no share.
//!
//! Three rules decide who is due. A query that is new computes at once for [`FRESH`] beside those that
//! have shares, because most queries are over by then; a client that had more than one that waits for a share
//! does so with one at a time, unless processors are free. Otherwise the client that has had least computes
//! next, so one client's two hundred heavy queries do not outvote another's single one. Among one client's
//! queries those below [`SHORT`] of service come first, in the order of their arrival, and of those beyond
//! it only a few ([`Bounds::long_per_client`]) alternate, so that the rest keeps its memory small.
//!
//! Nothing here is preemptive. A query that does not look computes on, but its share is given to another
//! [`OVERDUE`] after its slice, and the system divides the processors between them; a client with several
//! of these gets nothing more until they look. A client is an address, or a token ([`Client`]).
//!
//! | who | touches | when |
//! |---|---|---|
//! | requests | `Board::inner` | entering, and leaving the queue |
//! | engine threads | `Share::slice_end_ns` (read) | between chunks |
//! | engine threads | `Board::inner` | when a slice is over; when they begin and end to wait |
//!
//! Cost: a look within a slice is a clock and an atomic load (30 ns); a change of turns takes the lock and
//! looks at all that wait, a few hundred at most, some fifty times a second and share.

mod accounts;
mod board;
mod bounds;

use crate::request::access::Client;
use crate::run::sync::{now, since, sleep, timeout};
use board::Board;
pub(crate) use board::Permit;
pub(crate) use bounds::Bounds;
use std::pin::pin;
use std::time::Duration;

/// Service that a query gets at once, before it needs a share.
const FRESH: Duration = Duration::from_millis(10);
/// Service up to which a query goes before its client's longer ones.
const SHORT: Duration = Duration::from_millis(100);
/// The time after which a computing query looks whether another one is due.
const SLICE: Duration = Duration::from_millis(20);
/// The time for which it computes at least, whoever comes: less is lost in cold caches.
const SLICE_MIN: Duration = Duration::from_millis(4);
/// The time after the end of its slice from which a query that does not look loses its share all the same.
const OVERDUE: Duration = Duration::from_millis(10);
/// The time after which one that waits to be started looks whether others are overdue, unless somebody has
/// just looked; the next time after twice as long, up to [`ASK_MAX`], because hundreds may wait.
const ASK: Duration = Duration::from_millis(25);
const ASK_MAX: Duration = Duration::from_millis(100);
/// How long one that comes waits where somebody else has the table.
const RETRY: Duration = Duration::from_millis(1);
/// The longest time after which a waiting thread sees that its query was cancelled.
const LOOK: Duration = Duration::from_millis(200);
/// A client that took nothing for so long may lose its query to others.
pub(crate) const STALLED_MIN: Duration = Duration::from_secs(1);
const _: () = {
    assert!(
        FRESH.as_nanos() < SHORT.as_nanos(),
        "a fresh query is a short one"
    );
    assert!(
        SLICE_MIN.as_nanos() <= SLICE.as_nanos(),
        "a slice has its least"
    );
    assert!(
        OVERDUE.as_nanos() <= LOOK.as_nanos(),
        "the bounds of a wait are in order"
    );
    assert!(
        ASK.as_nanos() <= ASK_MAX.as_nanos(),
        "pauses grow up to the longest"
    );
};

/// The admission of queries.
#[derive(Debug)]
pub(crate) struct Admission {
    board: std::sync::Arc<Board>,
}

/// Why a query was not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turned {
    /// Too many wait already.
    Away,
    /// Its time was over before its turn came.
    TooLate,
}

impl Admission {
    /// Admission within these bounds.
    pub fn new(bounds: Bounds) -> Admission {
        Admission {
            board: Board::new(bounds),
        }
    }

    /// Waits for a place, at most so long. Dropping the future gives the place in the queue up.
    pub async fn enter(&self, client: Client, patience: Duration) -> Result<Permit, Turned> {
        let begun = now();
        let (queued, turn) = loop {
            if let Some(applied) = self.board.try_apply(client) {
                break applied?;
            }
            if since(begun) >= patience {
                return Err(Turned::TooLate);
            }
            sleep(RETRY).await;
        };
        let mut turn = pin!(turn);
        let mut ask = ASK;
        loop {
            let left = patience.saturating_sub(since(begun));
            match timeout(left.min(ask), turn.as_mut()).await {
                Ok(turn) => {
                    queued.leave();
                    return turn.map_err(|_| Turned::Away);
                }
                Err(_) if left <= ask => {
                    drop(queued);
                    return Err(Turned::TooLate);
                }
                Err(_) => self.board.give_out_if_not_since(ASK / 2),
            }
            ask = ASK_MAX.min(2 * ask);
        }
    }

    /// How many wait: for a place, or for a share.
    pub fn waiting(&self) -> usize {
        self.board.waiting()
    }

    /// How many wait for their clients to take more of the answer.
    pub fn stalled(&self) -> usize {
        self.board.stalled()
    }

    /// How many have started and not ended.
    pub fn started(&self) -> usize {
        self.board.started()
    }
}

/// A query that is alone.
#[cfg(test)]
pub(crate) fn alone() -> Permit {
    let applied = Board::new(tests::BOUNDS).try_apply(tests::client(1));
    let (_queued, mut turn) = applied.unwrap().unwrap();
    turn.try_recv().unwrap()
}

#[cfg(test)]
mod tests;
