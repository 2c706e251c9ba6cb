//! The registered queries, by number and by name.
//!
//! Invariant: names are distinct, and a query keeps its name and the stream that it writes as long as it is here. So a name
//! leads to its query, and those that write or read a stream are known, without a look at each: a hundred thousand may be here,
//! and all this is asked at every push, commit or registration.

use super::super::registered::Registered;
use std::collections::btree_map::ValuesMut;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use stream::{QueryId, StreamId};

/// See the head of this file.
#[derive(Default)]
pub(super) struct Registry {
    queries: BTreeMap<QueryId, Registered>,
    names: BTreeMap<String, QueryId>,
    writers: BTreeSet<QueryId>,
    readers: BTreeSet<(StreamId, QueryId)>,
    /// All lower numbers are in names of queries ([`Registry::unused_name`]).
    unnamed: u64,
}

impl Registry {
    /// Keeps a query whose name nobody has.
    pub(super) fn insert(&mut self, id: QueryId, query: Registered) {
        self.names.insert(query.name.clone(), id);
        if query.writes.is_some() {
            self.writers.insert(id);
        }
        let readers = query.reads.iter().map(|stream| (*stream, id));
        self.readers.extend(readers);
        self.queries.insert(id, query);
    }

    pub(super) fn remove(&mut self, id: QueryId) -> Option<Registered> {
        let query = self.queries.remove(&id)?;
        self.names.remove(&query.name);
        self.writers.remove(&id);
        for stream in &query.reads {
            self.readers.remove(&(*stream, id));
        }
        self.unnamed = 0;
        Some(query)
    }

    /// `query-N` of the least number that no query has.
    pub(super) fn unused_name(&mut self) -> String {
        loop {
            let name = format!("query-{}", self.unnamed + 1);
            if !self.names.contains_key(&name) {
                return name;
            }
            self.unnamed += 1;
        }
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

    /// Those that read this stream.
    pub(super) fn readers(&self, stream: StreamId) -> impl Iterator<Item = &Registered> {
        let readers = (stream, QueryId(0))..=(stream, QueryId(u64::MAX));
        let readers = self.readers.range(readers);
        readers.filter_map(|(_, id)| self.queries.get(id))
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
