//! Models of queries that come, compute, wait and go, checked by `shuttle`.
//!
//! | model | threads | they do | invariant |
//! |---|---|---|---|
//! | `everybody_has_a_turn` | 5 | four queries of two clients enter, compute fresh and with a share, wait for others and for their client, end; one observes | the counts add up whenever the lock is free; nobody hangs; in the end the table is empty |
//! | `whoever_gives_up_leaves_the_queue` | 4 | as before with one place; those who wait lose patience, or are dropped | the same |
//!
//! Each is run twice: in a world in which no time passes, so that being woken alone must do; and in one in which slices
//! end, shares are overdue and places are taken from clients that stall.
//!
//! Planted and found: nobody is woken; a query that never gives its place back. Run by `cargo xtask model`.

use super::super::tests::client;
use super::super::{Admission, Permit};
use super::{Bounds, Inner, State};
use crate::run::sync::model::{Fault, World, check, finds};
use shuttle::future::block_on;
use shuttle::thread;
use somersault::stop::Wait;
use std::sync::Arc;
use std::time::Duration;

/// More queries than may start, and more that have started than may compute.
const BOUNDS: Bounds = Bounds {
    shares: 1,
    started: 3,
    started_per_client: 2,
    long_per_client: 1,
    open_per_client: 1,
    waiting: 10,
    stalled: 0,
};
const PATIENT: Duration = Duration::from_hours(1000);
const NEVER: &dyn Fn() -> Duration = &|| Duration::MAX;

impl Inner {
    /// Asserts what holds whenever the lock is free.
    fn assert_whole(&self, bounds: Bounds) {
        let held = |entry: &super::Entry| match entry.state {
            State::Running(shares) => shares,
            _ => 0,
        };
        let held: usize = self.queries.values().map(held).sum();
        assert_eq!(self.shares_free + held, bounds.shares, "shares");
        let is_fresh = |entry: &&super::Entry| entry.state == State::Fresh;
        let fresh = self.queries.values().filter(is_fresh).count();
        assert_eq!(self.fresh, fresh, "fresh queries");
        assert!(fresh <= bounds.fresh() && self.queries.len() <= bounds.started);
        let mut queued = 0;
        for (place, account) in self.clients.all() {
            let entries = || self.queries.values().filter(|entry| entry.client == place);
            assert_eq!(account.started, entries().count(), "started of a client");
            assert_eq!(account.fresh, entries().filter(is_fresh).count());
            let overdue = |entry: &&super::Entry| entry.state == State::Running(0);
            assert_eq!(account.overdue, entries().filter(overdue).count());
            assert_eq!(
                account.long,
                entries().filter(|entry| entry.is_long).count()
            );
            assert_eq!(
                account.open,
                entries().filter(|entry| entry.is_open).count()
            );
            assert!(account.started <= bounds.started_per_client);
            queued += account.queue.len();
        }
        assert_eq!(self.queued, queued, "queued");
    }

    fn assert_empty(&self, bounds: Bounds) {
        self.assert_whole(bounds);
        assert!(self.queries.is_empty() && self.queued == 0 && self.stalled.is_empty());
        assert_eq!((self.shares_free, self.fresh), (bounds.shares, 0));
        assert_eq!(self.clients.all().count(), 0, "accounts are closed");
        assert_eq!(self.watcher, None);
    }
}

fn look_at(admission: &Admission) {
    admission.board.lock().assert_whole(admission.board.bounds);
}

/// One query's life, in which it waits for everything that there is to wait for.
fn live(admission: &Admission, turn: &Permit) {
    let pace = turn.pace();
    pace.look(NEVER);
    pace.expect_heavy(1, NEVER);
    look_at(admission);
    pace.look(NEVER);
    pace.suspend(Wait::Other);
    thread::yield_now();
    pace.resume(Wait::Other, NEVER);
    pace.look(NEVER);
    turn.step_aside();
    thread::yield_now();
    turn.come_back(NEVER);
    pace.look(NEVER);
    look_at(admission);
}

fn enter(admission: &Admission, number: u8) -> Permit {
    block_on(admission.enter(client(number), PATIENT)).unwrap()
}

/// Runs queries of two clients, and one that observes them.
fn queries(bounds: Bounds, query: fn(&Admission, u8)) {
    let admission = Arc::new(Admission::new(bounds));
    let start = |number| {
        let admission = Arc::clone(&admission);
        thread::spawn(move || query(&admission, number))
    };
    let threads: Vec<_> = [1, 1, 2, 2].into_iter().map(start).collect();
    for _ in 0..4 {
        look_at(&admission);
        thread::yield_now();
    }
    for thread in threads {
        thread.join().unwrap();
    }
    admission.board.lock().assert_empty(bounds);
}

fn all_live() {
    queries(BOUNDS, |admission, number| {
        let turn = enter(admission, number);
        live(admission, &turn);
    });
}

fn some_give_up() {
    let bounds = Bounds {
        started: 1,
        ..BOUNDS
    };
    queries(bounds, |admission, number| {
        // Where no time passes this is never over; dropping the future is what a client does that goes away.
        let patience = Duration::from_millis(60);
        let entering = admission.enter(client(number), patience);
        let Some(entered) = block_on(unless_gone(entering)) else {
            return;
        };
        if let Ok(turn) = entered {
            live(admission, &turn);
        }
    });
}

/// A future, unless it is dropped before it is ready.
async fn unless_gone<F: Future>(future: F) -> Option<F::Output> {
    use shuttle::rand::{Rng, thread_rng};
    use std::task::Poll;
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if thread_rng().gen_ratio(1, 4) => Poll::Ready(None),
        Poll::Pending => Poll::Pending,
    })
    .await
}

fn one_forgets() {
    queries(BOUNDS, |admission, number| {
        let turn = enter(admission, number);
        live(admission, &turn);
        std::mem::forget(turn);
    });
}

const STILL: World = World {
    time_passes: false,
    fault: None,
};
const PASSING: World = World {
    time_passes: true,
    fault: None,
};

#[test]
fn everybody_has_a_turn() {
    check("turns without time", STILL, all_live);
    check("turns while time passes", PASSING, all_live);
}

#[test]
fn whoever_gives_up_leaves_the_queue() {
    check("giving up without time", STILL, some_give_up);
    check("giving up while time passes", PASSING, some_give_up);
}

#[test]
fn a_wake_up_that_is_lost_is_found() {
    let fault = Some(Fault::NoThreadWoken);
    finds("nobody is woken", World { fault, ..STILL }, all_live);
}

#[test]
fn a_place_that_is_never_given_back_is_found() {
    finds("a place is kept", STILL, one_forgets);
}
