//! What others hold of the table: a place in a queue, a query's place, and what its threads look at.
//!
//! Who touches which of it stands at the head of [`board`](super).

use super::{Board, Entry, Inner, State};
use crate::request::access::Client;
use crate::run::admission::LOOK;
use crate::run::give_back;
use crate::run::sync::{AtomicBool, AtomicU64, Condvar, now};
use crate::runtime;
use somersault::stop::{Pace, Wait};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot::Receiver;

/// What a query's threads share.
#[derive(Debug)]
pub(crate) struct Share {
    board: Arc<Board>,
    pub(super) number: u64,
    /// Nanoseconds since [`Board::base`] up to which a look finds nothing to do.
    pub(super) slice_end_ns: AtomicU64,
    /// Told when the query may compute again. Used with the lock of the board.
    pub(super) granted: Condvar,
    /// Where its thread waits for its client; told when it is over.
    room: Arc<Condvar>,
    /// Another query has taken its place, because its client took nothing.
    is_over: AtomicBool,
}

/// One started query's place, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    share: Arc<Share>,
    is_aside: AtomicBool,
}

/// A place in a client's queue, given up when it is dropped.
pub(crate) struct Queued {
    board: Arc<Board>,
    client: Client,
    number: u64,
    has_left: bool,
}

/// A place in a queue, and what it becomes.
pub(crate) type Applied = (Queued, Receiver<Permit>);

impl Queued {
    pub(super) fn new(board: &Arc<Board>, client: Client, number: u64) -> Queued {
        Queued {
            board: Arc::clone(board),
            client,
            number,
            has_left: false,
        }
    }

    /// It was let in, or lost its place: it is in no queue any more.
    pub fn leave(mut self) {
        self.has_left = true;
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        if self.has_left {
            return;
        }
        self.board.with(|inner, _| {
            let Some(place) = inner.clients.find(self.client) else {
                return;
            };
            let queue = &mut inner.clients[place].queue;
            let before = queue.len();
            queue.retain(|(number, _)| *number != self.number);
            inner.queued -= before - queue.len();
            inner.clients.close_if_empty(place);
        });
    }
}

impl Share {
    /// Of a query that begins now.
    pub(super) fn new(board: &Arc<Board>, number: u64, slice_end_ns: u64) -> Share {
        Share {
            board: Arc::clone(board),
            number,
            slice_end_ns: AtomicU64::new(slice_end_ns),
            granted: Condvar::new(),
            room: Arc::default(),
            is_over: AtomicBool::new(false),
        }
    }

    /// Ends the query in favour of others.
    pub(super) fn be_over(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.granted.notify_all();
        self.room.notify_all();
    }

    /// Changes the state of this query.
    fn with<T>(&self, change: impl FnOnce(&mut Inner, Instant) -> T) -> T {
        self.board.with(|inner, _| {
            let now = now();
            inner.count(self.number, now);
            change(inner, now)
        })
    }

    /// Blocks the calling thread while its query would compute and may not.
    ///
    /// One of all that wait wakes when the first that compute may be overdue, and gives out what they hold;
    /// the others wake when they are told, when their time is over, and each [`LOOK`] to see whether they
    /// were cancelled.
    fn wait(&self, left: &dyn Fn() -> Duration) {
        let mut inner = self.board.lock();
        let waits = |inner: &Inner| {
            let entry = inner.queries.get(&self.number);
            entry.is_some_and(|entry| entry.state == State::Waiting)
        };
        let mut has_given_back = false;
        while waits(&inner) && !self.is_over.load(Ordering::Relaxed) {
            let left = left();
            if left.is_zero() {
                break;
            }
            // There are more that would compute than processors: whoever serves connections goes first.
            runtime::stand_back();
            let watches = *inner.watcher.get_or_insert(self.number) == self.number;
            let until = if watches {
                inner.until_overdue(&self.board)
            } else {
                LOOK
            };
            let woken = self.granted.wait_timeout(inner, until.min(left));
            let (again, timeout) = woken.unwrap_or_else(PoisonError::into_inner);
            inner = again;
            if timeout.timed_out() {
                drop(inner);
                if watches {
                    self.board.give_out();
                }
                has_given_back = has_given_back || give_back::before_a_wait();
                inner = self.board.lock();
            }
        }
        inner.leave_watch(self.number);
    }

    /// Ends a slice: the query queues again, at the head where nobody else is due.
    fn end_slice(&self) {
        self.with(|inner, now| {
            let Some(entry) = inner.queries.get(&self.number) else {
                return;
            };
            let is_due = self.board.nanos(now) >= self.slice_end_ns.load(Ordering::Relaxed);
            if is_due && matches!(entry.state, State::Fresh | State::Running(_)) {
                inner.set(self.number, State::Waiting);
            }
        });
    }
}

impl Pace for Share {
    fn look(&self, left: &dyn Fn() -> Duration) {
        let now = self.board.nanos(now());
        if now < self.slice_end_ns.load(Ordering::Relaxed) {
            return;
        }
        self.end_slice();
        self.wait(left);
    }

    fn suspend(&self, wait: Wait) {
        let mut inner = self.board.lock();
        let Some(entry) = inner.queries.get_mut(&self.number) else {
            return;
        };
        entry.computing = entry.computing.saturating_sub(1);
        entry.outside += usize::from(wait == Wait::Other);
        if !entry.is_idle() {
            return;
        }
        drop(inner);
        self.with(|inner, _| {
            let is_idle = |entry: &Entry| entry.is_idle();
            if inner.queries.get(&self.number).is_some_and(is_idle) {
                inner.set(self.number, State::Idle);
            }
        });
    }

    fn resume(&self, wait: Wait, left: &dyn Fn() -> Duration) {
        let mut inner = self.board.lock();
        let Some(entry) = inner.queries.get_mut(&self.number) else {
            return;
        };
        assert!(
            entry.outside >= usize::from(wait == Wait::Other),
            "who has waited for somebody else was counted"
        );
        entry.computing += 1;
        entry.outside -= usize::from(wait == Wait::Other);
        let (was_idle, must_wait) = match entry.state {
            State::Idle => (true, true),
            state => (false, state == State::Waiting),
        };
        if was_idle {
            inner.set(self.number, State::Waiting);
        }
        drop(inner);
        if was_idle {
            self.board.give_out();
        }
        if must_wait {
            self.wait(left);
        }
    }

    fn expect_heavy(&self, threads: usize, left: &dyn Fn() -> Duration) {
        self.with(|inner, _| {
            let Some(entry) = inner.queries.get_mut(&self.number) else {
                return;
            };
            entry.threads = threads;
            entry.is_heavy = true;
            if matches!(entry.state, State::Fresh | State::Running(0)) {
                inner.set(self.number, State::Waiting);
            }
        });
        self.wait(left);
    }
}

impl Permit {
    pub(super) fn of(share: Arc<Share>) -> Permit {
        Permit {
            share,
            is_aside: AtomicBool::new(false),
        }
    }

    /// Where the query's thread is to wait for its client: it is woken there when its place is taken.
    pub fn room(&self) -> Arc<Condvar> {
        Arc::clone(&self.share.room)
    }

    /// The pace of the query, for its token.
    pub fn pace(&self) -> Arc<dyn Pace> {
        Arc::clone(&self.share) as Arc<dyn Pace>
    }

    /// The client is behind: the calling thread computes nothing until [`Permit::come_back`]. Said again, it
    /// looks whether a client has been behind for so long that its query ends.
    pub fn step_aside(&self) {
        let is_aside = self.is_aside.swap(true, Ordering::Relaxed);
        if !is_aside {
            self.share.suspend(Wait::Other);
        }
        self.share.board.with(|inner, bounds| {
            if !is_aside {
                inner.stalled.push_back((self.share.number, now()));
            }
            inner.end_stalled(bounds);
        });
    }

    /// The client goes on: waits for a share. Nothing is waited for where it did not stand aside.
    pub fn come_back(&self, left: &dyn Fn() -> Duration) {
        if self.is_aside.swap(false, Ordering::Relaxed) {
            self.leave_stalled();
            self.share.resume(Wait::Other, left);
        }
    }

    /// Whether this query lost its place to another one.
    pub fn is_over(&self) -> bool {
        self.share.is_over.load(Ordering::Relaxed)
    }

    /// Gives everything back for good.
    pub fn end(&self) {
        let number = self.share.number;
        self.leave_stalled();
        self.share.with(|inner, _| {
            inner.leave_watch(number);
            inner.set(number, State::Idle);
            let Some(entry) = inner.queries.remove(&number) else {
                return;
            };
            let account = &mut inner.clients[entry.client];
            account.started = account.started.saturating_sub(1);
            account.open -= usize::from(entry.is_open);
            inner.clients.close_if_empty(entry.client);
        });
    }

    fn leave_stalled(&self) {
        let number = self.share.number;
        let stalled = &mut self.share.board.lock().stalled;
        stalled.retain(|(other, _)| *other != number);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.end();
    }
}
