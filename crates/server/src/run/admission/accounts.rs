//! What is known of the clients that have queries here: an account for each, by a number.
//!
//! Whoever looks for the next to compute looks at the accounts of all that wait, some hundreds, at every
//! change of turns: an index costs a nanosecond there, the hash of a client twenty.

use super::SLICE_MIN;
use super::bounds::Bounds;
use crate::request::access::Client;
use std::collections::{HashMap, VecDeque};
use std::ops::{Index, IndexMut};
use std::time::Duration;

/// The place of a client's account, as long as it has queries here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AccountIndex(usize);

/// What is known of a client that has queries here. `W`: what a query in its queue is told by.
#[derive(Debug)]
pub(super) struct Account<W> {
    /// Whose it is; of nobody once it is closed.
    client: Option<Client>,
    /// Service of its queries, times the shares that they held.
    pub service: Duration,
    /// Its queries that have started and not ended (count).
    pub started: usize,
    /// Of these, those that compute without a share.
    pub fresh: usize,
    /// Of these, those among the long ones that alternate.
    pub long: usize,
    /// Of these, the heavy ones that have begun to walk.
    pub open: usize,
    /// Of these, those that compute on although what they held is another's.
    pub overdue: usize,
    /// Its queries that wait to be started, by number.
    pub queue: VecDeque<(u64, W)>,
}

impl<W> Account<W> {
    /// The account of a client without queries.
    fn new(client: Client, service: Duration) -> Account<W> {
        Account {
            client: Some(client),
            service,
            started: 0,
            fresh: 0,
            long: 0,
            open: 0,
            overdue: 0,
            queue: VecDeque::new(),
        }
    }

    /// Whether one of its queries waits to be started and may be, by these bounds of one client. `front` is
    /// the least service of a client that computes with a share, or would.
    pub fn has_next(&self, bounds: Bounds, front: Option<Duration>) -> bool {
        !self.queue.is_empty()
            && self.started < bounds.started_per_client
            && self.overdue < 2 * bounds.shares
            && self.may_be_fresh(front)
    }

    /// Whether another of its queries may compute without a share. A client that has had more than one at the
    /// front has one at a time: else a hundred new queries of it would take what that one's share is worth.
    pub fn may_be_fresh(&self, front: Option<Duration>) -> bool {
        let is_behind = front.is_some_and(|front| front + SLICE_MIN < self.service);
        self.fresh == 0 || !is_behind
    }
}

/// All accounts.
#[derive(Debug)]
pub(super) struct ClientAccounts<W> {
    /// By place; closed ones are used again.
    by_place: Vec<Account<W>>,
    closed: Vec<usize>,
    places: HashMap<Client, AccountIndex>,
}

impl<W> Default for ClientAccounts<W> {
    fn default() -> ClientAccounts<W> {
        ClientAccounts {
            by_place: Vec::new(),
            closed: Vec::new(),
            places: HashMap::new(),
        }
    }
}

impl<W> ClientAccounts<W> {
    /// The place of a client's account, if it has one.
    pub fn find(&self, client: Client) -> Option<AccountIndex> {
        self.places.get(&client).copied()
    }

    /// The place of a client's account. A client that comes begins where the others are: what it did not
    /// use earlier is gone.
    pub fn open(&mut self, client: Client) -> AccountIndex {
        if let Some(place) = self.find(client) {
            return place;
        }
        let services = self.all().map(|(_, account)| account.service);
        let account = Account::new(client, services.min().unwrap_or_default());
        let place = if let Some(place) = self.closed.pop() {
            self.by_place[place] = account;
            AccountIndex(place)
        } else {
            self.by_place.push(account);
            AccountIndex(self.by_place.len() - 1)
        };
        self.places.insert(client, place);
        self.check();
        place
    }

    /// Closes an account that has nothing any more.
    pub fn close_if_empty(&mut self, place: AccountIndex) {
        let account = &mut self[place];
        if account.started > 0 || !account.queue.is_empty() {
            return;
        }
        let held = account.fresh + account.long + account.open + account.overdue;
        assert!(
            held == 0 || std::thread::panicking(),
            "a client without queries holds nothing"
        );
        if let Some(client) = account.client.take() {
            self.places.remove(&client);
            self.closed.push(place.0);
            self.check();
        }
    }

    /// Every place has its client, or is closed.
    fn check(&self) {
        let known = self.places.len() + self.closed.len();
        assert!(
            self.by_place.len() == known || std::thread::panicking(),
            "a place is one client's"
        );
    }

    /// All that are open.
    pub fn all(&self) -> impl Iterator<Item = (AccountIndex, &Account<W>)> {
        let numbered = self.by_place.iter().enumerate();
        numbered
            .filter(|(_, account)| account.client.is_some())
            .map(|(place, account)| (AccountIndex(place), account))
    }
}

impl<W> Index<AccountIndex> for ClientAccounts<W> {
    type Output = Account<W>;

    fn index(&self, place: AccountIndex) -> &Account<W> {
        &self.by_place[place.0]
    }
}

impl<W> IndexMut<AccountIndex> for ClientAccounts<W> {
    fn index_mut(&mut self, place: AccountIndex) -> &mut Account<W> {
        &mut self.by_place[place.0]
    }
}
