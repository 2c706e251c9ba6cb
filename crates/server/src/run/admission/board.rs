//! The one table of admission: every started query, every client, and what is free.
//!
//! Invariants, held whenever the lock is free: `shares_free` and the shares held by running queries add up
//! to the bound; `fresh` counts the queries in that state; a query that no thread computes for, and one of
//! whose threads waits for others, is idle and holds nothing; whoever could be given a share or a place has it.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `Board::inner` | any thread with its lock: requests that enter and leave the queue, engine threads that change turns | the same |
//! | `Board::given_out_ns` | whoever gives out, with the lock | requests that wait in the queue, without it |
//! | `Share::slice_end_ns` | whoever changes the table, with the lock | the query's threads at each look, without it |
//! | `Share::granted` | told with the lock, by whoever gives the share, or ends the query | the query's threads wait there, with the lock |
//! | `Share::is_over`, `Share::room` | set once and told by whoever takes the place, with this lock and not the pipe's: a thread in the pipe may miss that until its next look | the query's threads |
//! | `Permit::is_aside` | the engine thread that has the turn | the same |
//! | `Queued::has_left` | the request | the same |

use super::accounts::{AccountIndex, ClientAccounts};
use super::bounds::Bounds;
use super::{FRESH, LOOK, OVERDUE, SHORT, SLICE, SLICE_MIN, STALLED_MIN, Turned};
use crate::request::access::Client;
use crate::run::sync::{AtomicU64, Mutex, MutexGuard, now, since};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError, TryLockError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot::{Sender, channel};
pub(crate) use turn::Permit;
use turn::{Applied, Queued, Share};

#[cfg(all(test, feature = "model"))]
mod model;
mod turn;

/// Everything, behind one lock.
#[derive(Debug)]
pub(crate) struct Board {
    bounds: Bounds,
    base: Instant,
    /// When what was free was given out last, in nanoseconds since [`Board::base`].
    given_out_ns: AtomicU64,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// By number, which is the order of arrival.
    queries: BTreeMap<u64, Entry>,
    clients: ClientAccounts<Sender<Permit>>,
    last: u64,
    /// Queries in the state [`State::Fresh`].
    fresh: usize,
    shares_free: usize,
    /// In the queues of all clients.
    queued: usize,
    /// Queries whose clients take nothing, longest first.
    stalled: VecDeque<(u64, Instant)>,
    /// The query one of whose waiting threads looks whether others are overdue.
    watcher: Option<u64>,
    /// Who was let in and is told so once the lock is free.
    admitted: Vec<(Sender<Permit>, Permit)>,
}

/// A started query.
#[derive(Debug)]
struct Entry {
    client: AccountIndex,
    share: Arc<Share>,
    state: State,
    /// Time for which it computed.
    service: Duration,
    /// Up to when that has been counted, while it computes.
    counted: Instant,
    /// When it could compute last.
    granted: Instant,
    /// Its threads (count).
    threads: usize,
    /// It is expected to need more than [`FRESH`].
    is_heavy: bool,
    /// It is heavy, and has begun to walk.
    is_open: bool,
    /// It is among those of its client that alternate beyond [`SHORT`].
    is_long: bool,
    /// When it had a share last, as a number that only grows.
    ran: u64,
    /// Threads that compute, or would.
    computing: usize,
    /// Threads that wait for somebody else than those.
    outside: usize,
}

/// Service of the client, whether the query is beyond [`SHORT`], its place among its like: least first.
type Rank = (Duration, bool, u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Computes without a share, for [`FRESH`] at most.
    Fresh,
    /// Computes with so many shares.
    Running(usize),
    /// Would compute.
    Waiting,
    /// Waits for somebody else.
    Idle,
}

impl Board {
    pub fn new(bounds: Bounds) -> Arc<Board> {
        let inner = Inner {
            shares_free: bounds.shares,
            ..Inner::default()
        };
        Arc::new(Board {
            bounds,
            base: now(),
            given_out_ns: AtomicU64::new(0),
            inner: Mutex::new(inner),
        })
    }

    /// Queues for a place: [`Turned::Away`] where too many do. The receiver fails where others took the place
    /// in the queue. `None` where somebody else has the table: an engine thread that is not on a processor
    /// for a while may, and whoever serves connections has something else to do meanwhile.
    pub fn try_apply(self: &Arc<Board>, client: Client) -> Option<Result<Applied, Turned>> {
        let (sender, receiver) = channel();
        // Dropped when the lock is free: whoever loses its place in the queue is woken by that.
        let mut evicted = None;
        let number = self.try_with(|inner, bounds| {
            inner.end_stalled(bounds);
            let is_full = inner.queued >= bounds.waiting;
            if is_full && !inner.can_start(client, bounds) {
                evicted = Some(inner.evict(client)?);
            }
            inner.last += 1;
            let place = inner.clients.open(client);
            let queue = &mut inner.clients[place].queue;
            queue.push_back((inner.last, sender));
            inner.queued += 1;
            Some(inner.last)
        })?;
        drop(evicted);
        let applied = number.map(|number| (Queued::new(self, client, number), receiver));
        Some(applied.ok_or(Turned::Away))
    }

    pub fn waiting(&self) -> usize {
        let inner = self.lock();
        let waits = |entry: &&Entry| entry.state == State::Waiting;
        inner.queued + inner.queries.values().filter(waits).count()
    }

    pub fn stalled(&self) -> usize {
        self.lock().stalled.len()
    }

    pub fn started(&self) -> usize {
        self.lock().queries.len()
    }

    /// Changes the table, gives out what has become free, and tells those who were let in.
    fn with<T>(self: &Arc<Board>, change: impl FnOnce(&mut Inner, Bounds) -> T) -> T {
        self.change(self.lock(), change)
    }

    /// The same, unless somebody else has the table.
    fn try_with<T>(self: &Arc<Board>, change: impl FnOnce(&mut Inner, Bounds) -> T) -> Option<T> {
        let inner = match self.inner.try_lock() {
            Ok(inner) => inner,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(self.change(inner, change))
    }

    fn change<T>(
        self: &Arc<Board>,
        mut inner: MutexGuard<'_, Inner>,
        change: impl FnOnce(&mut Inner, Bounds) -> T,
    ) -> T {
        let result = change(&mut inner, self.bounds);
        inner.give_out(self);
        inner.check(self.bounds);
        let admitted = std::mem::take(&mut inner.admitted);
        drop(inner);
        for (sender, turn) in admitted {
            // Who has gone meanwhile gives the place back by dropping it.
            drop(sender.send(turn));
        }
        result
    }

    /// Gives out what has become free since, because a query is overdue.
    pub fn give_out(self: &Arc<Board>) {
        self.with(|_, _| {});
    }

    /// The same, unless that was done so short ago, or somebody has the table: most who do give out.
    pub fn give_out_if_not_since(self: &Arc<Board>, pause: Duration) {
        let given_out_ns = self.given_out_ns.load(Ordering::Relaxed);
        let since_ns = self.nanos(now()).saturating_sub(given_out_ns);
        if since_ns >= pause.as_nanos() as u64 {
            self.try_with(|_, _| {});
        }
    }

    /// What can panic here is an assertion about the table itself. Who comes after it goes on with the table as it
    /// is, and finds the same assertion there.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn nanos(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.base).as_nanos() as u64
    }
}

impl Inner {
    /// What holds after every change: nobody holds what is another's. Not looked at by a thread that ends for a
    /// reason of its own: it gives back what it holds, and a second panic would end the server.
    fn check(&self, bounds: Bounds) {
        if std::thread::panicking() {
            return;
        }
        assert!(
            self.shares_free <= bounds.shares,
            "a share is given back once"
        );
        assert!(
            self.fresh <= bounds.fresh(),
            "queries compute without a share within bounds"
        );
        assert!(
            self.queries.len() <= bounds.started,
            "queries start within bounds"
        );
        assert!(
            self.stalled.len() <= self.queries.len(),
            "a query stalls once, until it ends"
        );
        assert!(
            self.admitted.len() <= self.queries.len(),
            "who is let in has started"
        );
    }

    fn can_start(&self, client: Client, bounds: Bounds) -> bool {
        let place = self.clients.find(client);
        let started = place.map_or(0, |place| self.clients[place].started);
        self.fresh < bounds.fresh()
            && self.queries.len() < bounds.started
            && started < bounds.started_per_client
    }

    /// Makes room in the queue for a newcomer of this client: the client with the most loses its newest,
    /// unless that is the newcomer itself.
    fn evict(&mut self, newcomer: Client) -> Option<Sender<Permit>> {
        let place = self.clients.find(newcomer);
        let own = place.map_or(0, |place| self.clients[place].queue.len());
        let all = self.clients.all();
        let (longest, _) = all.max_by_key(|(_, account)| account.queue.len())?;
        let queue = &mut self.clients[longest].queue;
        if queue.len() <= own + 1 {
            return None;
        }
        let (_, sender) = queue.pop_back()?;
        assert!(self.queued > 0, "whoever queues is counted");
        self.queued -= 1;
        Some(sender)
    }

    /// Counts what a query computed since it was counted last.
    fn count(&mut self, number: u64, now: Instant) {
        let Some(entry) = self.queries.get_mut(&number) else {
            return;
        };
        let shares = match entry.state {
            State::Fresh => 1,
            State::Running(shares) => shares.max(1),
            State::Waiting | State::Idle => return,
        };
        let elapsed = now.saturating_duration_since(entry.counted);
        entry.counted = now;
        entry.service += elapsed;
        self.clients[entry.client].service += elapsed * shares as u32;
    }

    /// Takes from a query what it computes with. The caller gives out what is free.
    fn set(&mut self, number: u64, state: State) {
        let Some(entry) = self.queries.get_mut(&number) else {
            return;
        };
        match entry.state {
            State::Fresh => {
                self.fresh -= 1;
                self.clients[entry.client].fresh -= 1;
            }
            State::Running(0) => self.clients[entry.client].overdue -= 1,
            State::Running(shares) => self.shares_free += shares,
            State::Waiting | State::Idle => {}
        }
        entry.state = state;
        entry.share.slice_end_ns.store(0, Ordering::Relaxed);
        // Who has not begun to walk holds no memory, and may wait for one that waits for this place.
        let waits_to_open = state == State::Waiting && entry.is_heavy && !entry.is_open;
        if (state == State::Idle || waits_to_open) && std::mem::take(&mut entry.is_long) {
            self.clients[entry.client].long -= 1;
        }
    }

    /// Gives every free share and place to whoever is due.
    fn give_out(&mut self, board: &Arc<Board>) {
        let (now, bounds) = (now(), board.bounds);
        board
            .given_out_ns
            .store(board.nanos(now), Ordering::Relaxed);
        loop {
            let has_fresh = self.fresh < bounds.fresh();
            let front = self.front();
            if let Some(number) = self.due_fresh(bounds, front).filter(|_| has_fresh) {
                self.grant(number, board, now);
                continue;
            }
            // Whoever is first gets all the shares that it has threads for, so that it is over soon; nobody
            // behind it gets one meanwhile.
            if let Some((rank, number)) = self.due(bounds) {
                if self.queries[&number].wants(bounds) <= self.shares_free {
                    self.grant(number, board, now);
                    continue;
                }
                self.cut_slices(rank, board, now);
            }
            if let Some((number, client, sender)) = self.next_in_queue(bounds) {
                let turn = self.start(number, client, board, now);
                self.admitted.push((sender, turn));
            } else if !self.reclaim(board, now) {
                return;
            }
        }
    }

    /// Takes what a query holds that has not looked for long, where somebody waits for that: a step that
    /// does not look, or a long text that is parsed, computes on beside the others and must not keep them
    /// from starting. False where nothing is to be had so.
    fn reclaim(&mut self, board: &Board, now: Instant) -> bool {
        let bounds = board.bounds;
        let waits_for_fresh = self.due_fresh(bounds, None).is_some() || self.has_next(bounds, None);
        let waits_for_share = self.due(bounds).is_some();
        let now_ns = board.nanos(now);
        let overdue = self.queries.iter().filter_map(|(number, entry)| {
            let is_wanted = match entry.state {
                State::Fresh => waits_for_fresh,
                State::Running(shares) => shares > 0 && waits_for_share,
                State::Waiting | State::Idle => false,
            };
            let at_ns = entry.overdue_at_ns();
            (is_wanted && now_ns >= at_ns).then_some((at_ns, *number))
        });
        let Some((_, number)) = overdue.min() else {
            return false;
        };
        let entry = self.queries.get_mut(&number).expect("it was found there");
        match entry.state {
            State::Fresh => {
                self.fresh -= 1;
                self.clients[entry.client].fresh -= 1;
            }
            State::Running(shares) => self.shares_free += shares,
            State::Waiting | State::Idle => unreachable!("these hold nothing"),
        }
        entry.state = State::Running(0);
        self.clients[entry.client].overdue += 1;
        true
    }

    /// Who is to compute next without a share.
    fn due_fresh(&self, bounds: Bounds, front: Option<Duration>) -> Option<u64> {
        let due = self.queries.iter().find(|(_, entry)| {
            entry.state == State::Waiting
                && entry.is_fresh()
                && self.may_compute(entry, bounds)
                && self.clients[entry.client].may_be_fresh(front)
        });
        due.map(|(number, _)| *number)
    }

    /// Who is to compute next with a share, and its rank.
    fn due(&self, bounds: Bounds) -> Option<(Rank, u64)> {
        let due = self.queries.iter().filter_map(|(number, entry)| {
            if entry.state != State::Waiting || entry.is_fresh() || !self.may_compute(entry, bounds)
            {
                return None;
            }
            let account = &self.clients[entry.client];
            let is_beyond = entry.service >= SHORT;
            let may_open =
                !entry.is_heavy || entry.is_open || account.open < bounds.open_per_client;
            let may_be_long = !is_beyond || entry.is_long || account.long < bounds.long_per_client;
            let order = if is_beyond { entry.ran } else { *number };
            (may_open && may_be_long).then_some(((account.service, is_beyond, order), *number))
        });
        due.min_by_key(|(rank, _)| *rank)
    }

    /// Whether the client of a query has few that compute on without anything.
    fn may_compute(&self, entry: &Entry, bounds: Bounds) -> bool {
        self.clients[entry.client].overdue < 2 * bounds.shares
    }

    /// Ends the slices of those that are less due than somebody of this rank, once they have had a little.
    fn cut_slices(&mut self, (service, is_beyond, _): Rank, board: &Board, now: Instant) {
        for entry in self.queries.values() {
            let State::Running(shares @ 1..) = entry.state else {
                continue;
            };
            let had = now.saturating_duration_since(entry.counted) * shares as u32;
            let theirs = self.clients[entry.client].service + had;
            let is_longer = service <= theirs && !is_beyond && entry.service >= SHORT;
            if service + SLICE_MIN < theirs || is_longer {
                let end_ns = board.nanos(entry.granted + SLICE_MIN).max(board.nanos(now));
                entry
                    .share
                    .slice_end_ns
                    .fetch_min(end_ns, Ordering::Relaxed);
            }
        }
    }

    fn grant(&mut self, number: u64, board: &Board, now: Instant) {
        let entry = self.queries.get_mut(&number).expect("it was found there");
        assert_eq!(
            entry.state,
            State::Waiting,
            "who computes already is granted nothing"
        );
        let slice = if entry.is_fresh() {
            self.fresh += 1;
            self.clients[entry.client].fresh += 1;
            entry.state = State::Fresh;
            FRESH.saturating_sub(entry.service)
        } else {
            let shares = entry.wants(board.bounds);
            self.shares_free -= shares;
            entry.state = State::Running(shares);
            let account = &mut self.clients[entry.client];
            if entry.service >= SHORT && !entry.is_long {
                entry.is_long = true;
                account.long += 1;
            }
            if entry.is_heavy && !entry.is_open {
                entry.is_open = true;
                account.open += 1;
            }
            self.last += 1;
            entry.ran = self.last;
            SLICE
        };
        (entry.counted, entry.granted) = (now, now);
        let end = board.nanos(now + slice);
        entry.share.slice_end_ns.store(end, Ordering::Relaxed);
        entry.share.granted.notify_all();
    }

    /// The time until somebody who computes may be overdue.
    fn until_overdue(&self, board: &Board) -> Duration {
        let holding = self.queries.values().filter(|entry| entry.holds());
        let now_ns = board.nanos(now());
        let until = holding.map(Entry::overdue_at_ns).min().map(|at_ns| {
            let until = Duration::from_nanos(at_ns.saturating_sub(now_ns));
            until.clamp(OVERDUE, LOOK)
        });
        until.unwrap_or(LOOK)
    }

    /// Lets another query watch in the place of this one, if it did, or if whoever was told to had no need to
    /// wait any more.
    fn leave_watch(&mut self, number: u64) {
        if self.watcher.is_some_and(|watcher| watcher != number) {
            return;
        }
        self.watcher = None;
        let mut others = self.queries.values();
        if let Some(other) =
            others.find(|entry| entry.state == State::Waiting && entry.share.number != number)
        {
            other.share.granted.notify_one();
        }
    }

    fn next_in_queue(&mut self, bounds: Bounds) -> Option<(u64, AccountIndex, Sender<Permit>)> {
        let front = self.front();
        if self.fresh >= bounds.fresh() || !self.has_next(bounds, front) {
            return None;
        }
        let all = self.clients.all();
        let with_next = all.filter(|(_, account)| account.has_next(bounds, front));
        let (place, _) = with_next.min_by_key(|(_, account)| account.service)?;
        let account = &mut self.clients[place];
        let (number, sender) = account.queue.pop_front()?;
        account.started += 1;
        self.queued -= 1;
        Some((number, place, sender))
    }

    /// The least service of a client that computes with a share, or would; `None` where nobody has to care,
    /// because one more that is fresh finds a processor that nobody computes on.
    fn front(&self) -> Option<Duration> {
        if self.fresh < self.shares_free {
            return None;
        }
        let with_shares = self.queries.values().filter(|entry| match entry.state {
            State::Running(shares) => shares > 0,
            State::Waiting => !entry.is_fresh(),
            State::Fresh | State::Idle => false,
        });
        let services = with_shares.map(|entry| self.clients[entry.client].service);
        services.min()
    }

    /// Whether somebody waits to be started, and may be as soon as there is room for a fresh query. `front`
    /// is [`Inner::front`].
    fn has_next(&self, bounds: Bounds, front: Option<Duration>) -> bool {
        self.queued > 0
            && self.queries.len() < bounds.started
            && self
                .clients
                .all()
                .any(|(_, account)| account.has_next(bounds, front))
    }

    fn start(
        &mut self,
        number: u64,
        client: AccountIndex,
        board: &Arc<Board>,
        now: Instant,
    ) -> Permit {
        let started = self.clients[client].started;
        assert!(
            started <= board.bounds.started_per_client,
            "one client starts within bounds"
        );
        let share = Arc::new(Share::new(board, number, board.nanos(now + FRESH)));
        let entry = Entry {
            client,
            share: Arc::clone(&share),
            state: State::Fresh,
            service: Duration::ZERO,
            counted: now,
            granted: now,
            threads: 1,
            is_heavy: false,
            is_open: false,
            is_long: false,
            ran: 0,
            computing: 1,
            outside: 0,
        };
        self.fresh += 1;
        self.clients[client].fresh += 1;
        let before = self.queries.insert(number, entry);
        assert!(before.is_none(), "numbers of queries are never used again");
        Permit::of(share)
    }

    /// Ends the query whose client has taken nothing for longest, where too many do not, or where they
    /// are in the way of newcomers.
    fn end_stalled(&mut self, bounds: Bounds) {
        let is_full = self.stalled.len() > bounds.stalled || self.queries.len() >= bounds.started;
        let Some((number, stalled)) = self.stalled.front().copied() else {
            return;
        };
        if is_full && since(stalled) >= STALLED_MIN {
            self.stalled.pop_front();
            if let Some(entry) = self.queries.get(&number) {
                entry.share.be_over();
            }
        }
    }
}

impl Entry {
    /// When it is overdue, in nanoseconds since [`Board::base`], if it computes.
    fn overdue_at_ns(&self) -> u64 {
        self.share.slice_end_ns.load(Ordering::Relaxed) + OVERDUE.as_nanos() as u64
    }

    /// Shares that it takes: one a thread, as far as there are so many.
    fn wants(&self, bounds: Bounds) -> usize {
        self.threads.clamp(1, bounds.shares)
    }

    /// Whether it computes with something that others wait for.
    fn holds(&self) -> bool {
        matches!(self.state, State::Fresh | State::Running(1..))
    }

    /// Whether nobody computes, because others are waited for.
    fn is_idle(&self) -> bool {
        self.computing == 0 && self.outside > 0
    }

    fn is_fresh(&self) -> bool {
        !self.is_heavy && self.service < FRESH
    }
}
