//! Streams and registered queries of the database, and waiting for reports without a thread.
//!
//! Whatever takes the lock of the streams may wait for a push that another client makes, so it runs on engine threads
//! ([`crate::endpoint::call`]). Only the journals of reports are read on the threads of connections: their lock is held
//! for as long as a report is added.
//!
//! A consumer of reports holds no thread. It listens to one query, and the thread that adds a report wakes the listeners
//! of that query alone: a report costs what its consumers are, not what all are.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `LiveDoor::live` | whoever needs streams first, once | all requests for them |
//! | `Listeners::by_query` | consumers that come and go, with its lock | whoever adds reports, with its lock |
//! | `Listeners::is_ending` | the accept loop, once | consumers |

use crate::run::job::Engine;
use somersault::{JournalRead, Live, QueryError};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// The streams of a server.
pub(crate) struct LiveDoor {
    live: OnceLock<Option<Live>>,
    listeners: Arc<Listeners>,
}

/// Who waits for reports.
pub(crate) struct Listeners {
    by_query: Mutex<HashMap<String, watch::Sender<()>>>,
    is_ending: watch::Sender<bool>,
}

/// A consumer that waits for the reports of one query; it is forgotten when it is dropped.
pub(crate) struct Listening {
    live: Live,
    query: String,
    /// The only instance that is listened to.
    instance: Option<String>,
    told: Option<watch::Receiver<()>>,
    ending: watch::Receiver<bool>,
    listeners: Arc<Listeners>,
}

impl LiveDoor {
    /// Nothing is made before somebody asks for it.
    pub fn new() -> LiveDoor {
        LiveDoor {
            live: OnceLock::new(),
            listeners: Arc::new(Listeners {
                by_query: Mutex::default(),
                is_ending: watch::Sender::new(false),
            }),
        }
    }

    /// The streams of a database; `None` where it is only read.
    pub fn of(&self, engine: &dyn Engine) -> Option<&Live> {
        let make = || {
            let listeners = Arc::clone(&self.listeners);
            engine.live(Box::new(move |query: &str| listeners.tell(query)))
        };
        self.live.get_or_init(make).as_ref()
    }

    /// The streams, if somebody has asked for them.
    pub fn begun(&self) -> Option<&Live> {
        self.live.get()?.as_ref()
    }

    /// Consumers are let go from now on.
    pub fn end(&self) {
        self.listeners.is_ending.send_replace(true);
    }

    /// Says when consumers are let go.
    pub fn ending(&self) -> watch::Receiver<bool> {
        self.listeners.is_ending.subscribe()
    }

    /// How many consumers wait for reports, or are being sent some (count).
    pub fn listening(&self) -> usize {
        let by_query = self.listeners.by_query();
        by_query.values().map(watch::Sender::receiver_count).sum()
    }
}

impl Listeners {
    fn by_query(&self) -> MutexGuard<'_, HashMap<String, watch::Sender<()>>> {
        // Whole at every moment.
        self.by_query.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell(&self, query: &str) {
        if let Some(sender) = self.by_query().get(query) {
            sender.send_replace(());
        }
    }

    fn enter(&self, query: &str) -> watch::Receiver<()> {
        let mut by_query = self.by_query();
        if let Some(sender) = by_query.get(query) {
            return sender.subscribe();
        }
        let (sender, receiver) = watch::channel(());
        by_query.insert(query.to_owned(), sender);
        receiver
    }
}

impl Listening {
    /// Listens to a query, or to one of a template's instances. What comes from now on is not missed.
    pub fn to(door: &LiveDoor, live: &Live, query: &str, instance: Option<String>) -> Listening {
        let listeners = Arc::clone(&door.listeners);
        Listening {
            live: live.clone(),
            query: query.to_owned(),
            instance,
            told: Some(listeners.enter(query)),
            ending: listeners.is_ending.subscribe(),
            listeners,
        }
    }

    /// Whether the server is about to end.
    pub fn is_ending(&self) -> bool {
        *self.ending.borrow()
    }

    /// Reports behind number `seen`, at most `max`. Waits for one, at most so long, and not while the server ends.
    pub async fn next(
        &mut self,
        seen: u64,
        max: usize,
        patience: Duration,
    ) -> Result<JournalRead, QueryError> {
        let due = tokio::time::Instant::now() + patience;
        let (mut seen, mut missed) = (seen, 0);
        loop {
            let (query, none) = (&self.query, Duration::ZERO);
            let mut read = match &self.instance {
                None => self.live.reports(query, seen, max, none)?,
                Some(instance) => self.live.reports_of(query, instance, seen, max, none)?,
            };
            // Those of other instances are not looked at again.
            seen = read.looked;
            missed += read.missed;
            read.missed = missed;
            let told = self
                .told
                .as_mut()
                .expect("it is taken when this is dropped");
            if !read.entries.is_empty() || *self.ending.borrow_and_update() {
                return Ok(read);
            }
            tokio::select! {
                // Neither sender goes before its receivers.
                _ = told.changed() => {}
                _ = self.ending.changed() => {}
                () = tokio::time::sleep_until(due) => return Ok(read),
            }
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let mut by_query = self.listeners.by_query();
        drop(self.told.take());
        if by_query
            .get(&self.query)
            .is_some_and(|sender| sender.receiver_count() == 0)
        {
            by_query.remove(&self.query);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listeners_are_forgotten_with_the_last() {
        let door = LiveDoor::new();
        let first = door.listeners.enter("q");
        let second = door.listeners.enter("q");
        assert_eq!(door.listening(), 2);
        door.listeners.tell("other");
        assert!(!first.has_changed().unwrap());
        door.listeners.tell("q");
        assert!(first.has_changed().unwrap() && second.has_changed().unwrap());
        drop((first, second));
        assert_eq!(door.listening(), 0);
    }
}
