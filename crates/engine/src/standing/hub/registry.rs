//! The registered queries, by number and by name.
//!
//! Invariant: names are distinct, and a query keeps its name and the stream that it writes as long as it is here. So a name
//! leads to its query, and those that write a stream are known, without a look at each: a hundred thousand may be here,
//! and both are asked at every commit or registration.

use super::super::registered::Registered;
use std::collections::btree_map::ValuesMut;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use stream::QueryId;

/// See the head of this file.
#[derive(Default)]
pub(super) struct Registry {
    queries: BTreeMap<QueryId, Registered>,
    names: BTreeMap<String, QueryId>,
    writers: BTreeSet<QueryId>,
}

impl Registry {
    /// Keeps a query whose name nobody has.
    pub(super) fn insert(&mut self, id: QueryId, query: Registered) {
        self.names.insert(query.name.clone(), id);
        if query.writes.is_some() {
            self.writers.insert(id);
        }
        self.queries.insert(id, query);
    }

    pub(super) fn remove(&mut self, id: QueryId) -> Option<Registered> {
        let query = self.queries.remove(&id)?;
        self.names.remove(&query.name);
        self.writers.remove(&id);
        Some(query)
    }

    /// The number of the query that has a name.
    pub(super) fn find(&self, name: &str) -> Option<QueryId> {
        self.names.get(name).copied()
    }

    pub(super) fn get_mut(&mut self, id: QueryId) -> Option<&mut Registered> {
        self.queries.get_mut(&id)
    }

    pub(super) fn values_mut(&mut self) -> ValuesMut<'_, QueryId, Registered> {
        self.queries.values_mut()
    }

    /// Those that write a stream.
    pub(super) fn writers(&self) -> impl Iterator<Item = (QueryId, &Registered)> {
        let writers = self.writers.iter();
        writers.filter_map(|id| Some((*id, self.queries.get(id)?)))
    }
}

impl Deref for Registry {
    type Target = BTreeMap<QueryId, Registered>;

    fn deref(&self) -> &BTreeMap<QueryId, Registered> {
        &self.queries
    }
}
