//! Live queries of the database, and waiting for their changes without a thread.
//!
//! A consumer holds no thread: whoever evaluates its query wakes it. An event's id is `SNAPSHOT-MARK`; the mark is made of
//! the request and of a number that each start of a server draws by chance, so that an id says nothing of another
//! query, nor of a database that was there before.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `SubscriptionDoor::all` | whoever subscribes first, once | all requests |
//! | `SubscriptionDoor::is_ending` | the accept loop, once | consumers |

use crate::run::job::Engine;
use somersault::{
    LiveChange, QueryError, ReportKind, Request, Subscriber, SubscriptionLimits, Subscriptions,
};
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// The live queries of a server.
pub(crate) struct SubscriptionDoor {
    all: OnceLock<Option<Subscriptions>>,
    is_ending: watch::Sender<bool>,
    marks: RandomState,
}

/// What an event's id says of the request that it is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark(u64);

/// A snapshot that no answer is of.
const UNKNOWN: u64 = u64::MAX;

impl SubscriptionDoor {
    /// Nothing is made before somebody asks for it.
    pub fn new() -> SubscriptionDoor {
        SubscriptionDoor {
            all: OnceLock::new(),
            is_ending: watch::Sender::new(false),
            marks: RandomState::new(),
        }
    }

    /// The live queries of a database; `None` where it has none.
    pub fn of(&self, engine: &dyn Engine, limits: SubscriptionLimits) -> Option<&Subscriptions> {
        let all = self.all.get_or_init(|| engine.subscriptions(limits));
        all.as_ref()
    }

    /// The same, where somebody has asked for them.
    pub fn begun(&self) -> Option<&Subscriptions> {
        self.all.get()?.as_ref()
    }

    /// Consumers are let go from now on.
    pub fn end(&self) {
        self.is_ending.send_replace(true);
        if let Some(all) = self.begun() {
            all.end();
        }
    }

    /// The mark of a request.
    pub fn mark(&self, request: &Request<'_>) -> Mark {
        let dataset = (&request.default_graphs, &request.named_graphs);
        let rows = (&request.bindings, request.offset, request.limit);
        Mark(
            self.marks
                .hash_one((request.text, request.base, dataset, rows)),
        )
    }
}

impl Mark {
    /// The id of an answer.
    pub fn id(self, snapshot: u64) -> String {
        format!("{snapshot}-{:016x}", self.0)
    }

    /// The snapshot that an id names, one that nobody knows where it is of another request or server; `None` where it is
    /// no id.
    pub fn snapshot(self, id: &str) -> Option<u64> {
        let (snapshot, mark) = id.trim().split_once('-')?;
        let (snapshot, mark) = (snapshot.parse().ok()?, u64::from_str_radix(mark, 16).ok()?);
        Some(if mark == self.0 { snapshot } else { UNKNOWN })
    }
}

/// A consumer that waits for the changes of a live query; it leaves when it is dropped.
pub(crate) struct Consumer {
    subscriber: Subscriber,
    told: watch::Receiver<()>,
    ending: watch::Receiver<bool>,
}

impl Consumer {
    /// Subscribes, on a thread that may compute. What comes from now on is not missed.
    pub fn begin(
        door: &SubscriptionDoor,
        all: &Subscriptions,
        request: &Request<'_>,
        seen: Option<u64>,
    ) -> Result<Consumer, QueryError> {
        let (sender, told) = watch::channel(());
        let ending = door.is_ending.subscribe();
        let subscriber = all.subscribe(request, seen, move || {
            sender.send_replace(());
        })?;
        Ok(Consumer {
            subscriber,
            told,
            ending,
        })
    }

    /// What is new. Waits for it at most so long, and for an answer that is as new as the request at most `longest`; not
    /// while the server ends.
    pub async fn next(
        &mut self,
        patience: Duration,
        longest: Duration,
    ) -> Result<Option<LiveChange>, QueryError> {
        let begun = Instant::now();
        loop {
            self.told.borrow_and_update();
            let change = self.subscriber.poll()?;
            let patience = if self.subscriber.is_current() {
                patience
            } else {
                patience.max(longest)
            };
            let is_over = begun.elapsed() >= patience;
            if change.is_some() || is_over || *self.ending.borrow_and_update() {
                return Ok(change);
            }
            tokio::select! {
                // Neither sender goes before its receivers.
                _ = self.told.changed() => {}
                _ = self.ending.changed() => {}
                () = tokio::time::sleep_until(begun + patience) => {}
            }
        }
    }

    /// What the rows of the answers are.
    pub fn kind(&self) -> ReportKind {
        self.subscriber.kind()
    }

    /// Whether the server is about to end.
    pub fn is_ending(&self) -> bool {
        *self.ending.borrow()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_of_one_request_and_one_server() {
        let (door, other) = (SubscriptionDoor::new(), SubscriptionDoor::new());
        let request = Request::new("ASK {}");
        let mark = door.mark(&request);
        let id = mark.id(17);
        assert_eq!(mark.snapshot(&id), Some(17));
        assert_eq!(other.mark(&request).snapshot(&id), Some(UNKNOWN));
        assert_eq!(
            door.mark(&Request::new("ASK { }")).snapshot(&id),
            Some(UNKNOWN)
        );
        for wrong in ["", "17", "17-", "x-1", "17-xyz", "-17"] {
            assert_eq!(mark.snapshot(wrong), None, "{wrong}");
        }
    }
}
