//! The queries that run now: listed, and cancelled by their id.
//!
//! A query enters when it starts and leaves when its [`Entry`] is dropped, whatever ends it: so the
//! list holds no query that is over, after a panic neither. Ids are counted, never reused within a
//! process, so that whoever cancels by an id he saw cannot hit another query. One lock, taken twice
//! in a query's life and held for a table's insertion; queries take longer than that by far.
//!
//! | field | written by | read by |
//! |---|---|---|
//! | `Running::table` | any thread with its lock: queries that enter and leave | whoever lists or cancels, with the lock |

use crate::stop::StopToken;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Names a query of one database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueryId(pub u64);

impl fmt::Display for QueryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "q{:08x}", self.0)
    }
}

/// What is known of a running query.
#[derive(Clone, Debug)]
pub struct RunningQuery {
    /// Its id.
    pub id: QueryId,
    /// Its text, cut to a readable length.
    pub text: String,
    /// How long it has been running.
    pub elapsed: Duration,
}

#[derive(Debug, Default)]
struct Table {
    last: u64,
    queries: BTreeMap<QueryId, (String, StopToken)>,
}

/// All running queries of one database.
#[derive(Clone, Debug, Default)]
pub struct Running {
    table: Arc<Mutex<Table>>,
}

impl Running {
    const TEXT_BYTES_MAX: usize = 2000;

    /// Enters a query.
    pub fn enter(&self, text: &str, token: StopToken) -> Entry {
        let text = text[..text.floor_char_boundary(Self::TEXT_BYTES_MAX)].to_owned();
        let mut table = self.table();
        table.last += 1;
        let id = QueryId(table.last);
        let before = table.queries.insert(id, (text, token));
        assert!(before.is_none(), "an id is given once");
        Entry {
            id,
            running: self.clone(),
        }
    }

    /// The queries that run now, oldest first.
    pub fn list(&self) -> Vec<RunningQuery> {
        let table = self.table();
        table
            .queries
            .iter()
            .map(|(id, (text, token))| RunningQuery {
                id: *id,
                text: text.clone(),
                elapsed: token.elapsed(),
            })
            .collect()
    }

    /// Cancels a query or a change; `None` where none with this id is running, false where it is a change that
    /// is being committed, and will be.
    pub fn cancel(&self, id: QueryId) -> Option<bool> {
        let table = self.table();
        let (_, token) = table.queries.get(&id)?;
        Some(token.cancel())
    }

    /// Whether nothing runs.
    pub fn is_empty(&self) -> bool {
        self.table().queries.is_empty()
    }

    /// Cancels every query, for shutdown.
    pub fn cancel_all(&self) {
        for (_, token) in self.table().queries.values() {
            token.cancel();
        }
    }

    /// The table holds whole entries at every moment, so a panic elsewhere leaves it usable.
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A query's place in the list; leaving is dropping it.
#[derive(Debug)]
pub struct Entry {
    id: QueryId,
    running: Running,
}

impl Entry {
    /// The query's id.
    pub fn id(&self) -> QueryId {
        self.id
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.running.table().queries.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_enter_are_cancelled_and_leave() {
        let running = Running::default();
        let token = StopToken::starting_now(None);
        let entry = running.enter("ASK {}", token.clone());
        assert_eq!(running.list().len(), 1);
        assert_eq!(running.cancel(entry.id()), Some(true));
        assert!(token.reason().is_some());
        drop(entry);
        assert!(running.list().is_empty());
        assert_eq!(running.cancel(QueryId(1)), None);
        let committing = StopToken::starting_now(None);
        let entry = running.enter("CLEAR ALL", committing.clone());
        assert!(committing.begin_commit());
        assert_eq!(running.cancel(entry.id()), Some(false));
    }
}
