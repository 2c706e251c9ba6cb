//! What a node has asked others and waits for: requests, and the tickets of those who wait.
//!
//! ```text
//!  ticket 7 -- request 20 -> node 1
//!          \-- request 21 -> node 2      done when both have been answered, or will not be
//! ```
//!
//! A ticket is a journey: whatever is asked together has one, whoever it is asked of. It completes once, answered or not; who
//! asks again is told which.
//!
//! Invariant: what is told that a ticket completed is told after its answers are kept, and never within a lock of this desk.

use crate::held::Held;
use crate::session::Asked;
use explore::MemoryExceeded;
use hashbrown::HashMap;
use rdf::Ticket;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Told when a ticket completes.
pub(crate) type Waker = Box<dyn FnOnce() + Send>;

/// See the module's documentation.
#[derive(Default)]
pub(crate) struct Desk {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    last: u64,
    requests: HashMap<u64, Request>,
    /// Those that are not complete.
    tickets: HashMap<u64, Waiting>,
}

/// A question under way.
struct Request {
    to: u16,
    ticket: Ticket,
    asked: Arc<Asked>,
    /// Which of those that were asked it is.
    place: usize,
    /// What has come of the answer, and its memory.
    bytes: Vec<u8>,
    held: Held,
}

#[derive(Default)]
struct Waiting {
    left: usize,
    wakers: Vec<Waker>,
}

/// An answer that has come whole, or will not come.
pub(crate) struct Arrived {
    pub(crate) ticket: Ticket,
    pub(crate) asked: Arc<Asked>,
    pub(crate) place: usize,
    pub(crate) bytes: Vec<u8>,
    /// Where there was no memory for more of it.
    pub(crate) refused: Option<MemoryExceeded>,
    _held: Held,
}

impl Desk {
    /// A desk of a node in one of its lives: what was asked in another one may still be answered, so numbers begin elsewhere.
    pub(crate) fn new(life: u64) -> Desk {
        let desk = Desk::default();
        desk.state().last = (life.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 34) << 32;
        desk
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // What a panic leaves is whole: each change is one insertion or removal.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A ticket that stays open until [`Desk::done`] was said once, and once for each of its requests.
    pub(crate) fn open(&self) -> Ticket {
        let mut state = self.state();
        state.last += 1;
        let ticket = Ticket(state.last);
        let waiting = Waiting {
            left: 1,
            wakers: Vec::new(),
        };
        state.tickets.insert(ticket.0, waiting);
        ticket
    }

    /// The number of another request of a ticket that is open.
    pub(crate) fn request(&self, to: u16, ticket: Ticket, asked: &Arc<Asked>, place: usize) -> u64 {
        let mut state = self.state();
        state.last += 1;
        let number = state.last;
        let waiting = state.tickets.get_mut(&ticket.0);
        waiting.expect("whoever opened it has not closed it").left += 1;
        let request = Request {
            to,
            ticket,
            asked: Arc::clone(asked),
            place,
            bytes: Vec::new(),
            held: Held::nothing(asked.memory()),
        };
        state.requests.insert(number, request);
        number
    }

    /// A piece of an answer; given back when it was the last, or there is no memory for it. Pieces that nobody asked for are
    /// dropped, and those that nobody waits for any more.
    pub(crate) fn piece(
        &self,
        from: u16,
        number: u64,
        is_last: bool,
        bytes: &[u8],
    ) -> Option<Arrived> {
        let mut state = self.state();
        let request = state.requests.get_mut(&number);
        let request = request.filter(|request| request.to == from)?;
        let is_idle = request.asked.is_idle();
        let grown = request.held.grow(bytes.len() as u64);
        if grown.is_ok() && !is_idle {
            request.bytes.extend_from_slice(bytes);
            if !is_last {
                return None;
            }
        }
        let mut arrived = state.requests.remove(&number).map(arrived)?;
        arrived.refused = grown.err();
        Some(arrived)
    }

    /// Takes back a request, whatever has come.
    pub(crate) fn withdraw(&self, number: u64) -> Option<Arrived> {
        self.state().requests.remove(&number).map(arrived)
    }

    /// Takes back all that was asked of a node.
    pub(crate) fn withdraw_all(&self, of: u16) -> Vec<Arrived> {
        let requests = &mut self.state().requests;
        let lost = requests.extract_if(|_, request| request.to == of);
        lost.map(|(_, request)| arrived(request)).collect()
    }

    /// Forgets who waits for what: the node is over.
    pub(crate) fn forget(&self) {
        let forgotten = std::mem::take(&mut *self.state());
        // Within the lock somebody who was waited for might ask for it.
        drop(forgotten);
        self.changed.notify_all();
    }

    /// One of a ticket's requests is done with, and what came is kept.
    pub(crate) fn done(&self, ticket: Ticket) {
        let mut state = self.state();
        let Some(waiting) = state.tickets.get_mut(&ticket.0) else {
            return;
        };
        waiting.left -= 1;
        if waiting.left > 0 {
            return;
        }
        let waiting = state.tickets.remove(&ticket.0).unwrap_or_default();
        drop(state);
        self.changed.notify_all();
        waiting.wakers.into_iter().for_each(|wake| wake());
    }

    /// Calls back when a ticket completes; at once where it has.
    pub(crate) fn when_done(&self, ticket: Ticket, wake: Waker) {
        let mut state = self.state();
        if let Some(waiting) = state.tickets.get_mut(&ticket.0) {
            waiting.wakers.push(wake);
        } else {
            drop(state);
            wake();
        }
    }

    /// Blocks until a ticket completes, but not much longer than `patience`; whether it has.
    pub(crate) fn wait(&self, ticket: Ticket, patience: Duration) -> bool {
        let is_open = |state: &mut State| state.tickets.contains_key(&ticket.0);
        let waited = self
            .changed
            .wait_timeout_while(self.state(), patience, is_open);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !is_open(&mut state)
    }
}

fn arrived(request: Request) -> Arrived {
    Arrived {
        ticket: request.ticket,
        asked: request.asked,
        place: request.place,
        bytes: request.bytes,
        refused: None,
        _held: request.held,
    }
}
