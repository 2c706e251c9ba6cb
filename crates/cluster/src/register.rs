//! The queries of a node: those that are walked here, those that rows have come for before they began, and those that have
//! ended, of which nothing is believed any more.
//!
//! Rows before their query are bounded in number and in bytes. What has ended is remembered for as long as thousands of others
//! take to end; what could not begin is remembered with the reason, for whoever sends more of it.

use crate::error::Failure;
use crate::figures::Figures;
use crate::held::{Held, Memory};
use crate::message::{Message, QueryId};
use crate::run::Run;
use hashbrown::HashMap;
use rdf::NodeError;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// Queries that have ended of which is remembered that they have.
const ENDED_MAX: usize = 4096;

/// Messages for queries that are not known yet, kept until they begin: what all senders may have under way for one.
const EARLY_MAX: usize = 4096;

/// What such a message takes beside its rows.
const EARLY_BYTES: u64 = size_of::<Early>() as u64;

/// A message that came before its query.
pub(crate) struct Early {
    pub(crate) from: u16,
    pub(crate) message: Message,
    _held: Held,
}

/// What becomes of a message about a query.
pub(crate) enum Placed {
    /// Its query is walked here, or was asked here.
    Known(Message),
    /// It is kept until its query begins, whether it is the first of it.
    Kept { is_first: bool },
    /// It is not kept, because of this.
    Refused(NodeError),
    /// Its query could not begin here, because of this.
    GivenUp(NodeError),
    /// Its query has ended.
    Ended,
}

/// See the module's documentation.
pub(crate) struct Register<P, T> {
    pub(crate) last: u64,
    pub(crate) runs: HashMap<QueryId, Arc<Run<P, T>>>,
    early: HashMap<QueryId, Vec<Early>>,
    early_messages: usize,
    /// Those that have ended here; and why, where they could not begin.
    ended: HashMap<QueryId, Option<NodeError>>,
    ended_order: VecDeque<QueryId>,
    pub(crate) figures: Figures,
}

impl<P, T> Default for Register<P, T> {
    fn default() -> Self {
        Register {
            last: 0,
            runs: HashMap::new(),
            early: HashMap::new(),
            early_messages: 0,
            ended: HashMap::new(),
            ended_order: VecDeque::new(),
            figures: Figures::default(),
        }
    }
}

impl<P, T> Register<P, T> {
    /// Forgets a query: its run, and who sent rows before it began.
    pub(crate) fn end(
        &mut self,
        id: QueryId,
        why: Option<NodeError>,
    ) -> (Option<Arc<Run<P, T>>>, BTreeSet<u16>) {
        if self.ended.insert(id, why).is_none() {
            self.ended_order.push_back(id);
            if self.ended_order.len() > ENDED_MAX
                && let Some(oldest) = self.ended_order.pop_front()
            {
                self.ended.remove(&oldest);
            }
        }
        let early = self.take_early(id);
        let senders = early.iter().map(|early| early.from).collect();
        (self.runs.remove(&id), senders)
    }

    /// Keeps rows of a query that is not known yet, of so many bytes.
    pub(crate) fn place(
        &mut self,
        (query, from, bytes): (QueryId, u16, usize),
        message: Message,
        here: u16,
        memory: &Memory,
    ) -> Placed {
        if self.runs.contains_key(&query) || query.home == here {
            return Placed::Known(message);
        }
        match self.ended.get(&query) {
            Some(Some(why)) => return Placed::GivenUp(why.clone()),
            Some(None) => return Placed::Ended,
            None => {}
        }
        if self.early_messages >= EARLY_MAX {
            let what = "too much has come for queries that have not begun";
            return Placed::Refused(NodeError::away(here, what));
        }
        let held = match Held::of(memory, bytes as u64 + EARLY_BYTES) {
            Ok(held) => held,
            Err(refused) => {
                return Placed::Refused(Failure::Memory(refused).told_by(here));
            }
        };
        self.early_messages += 1;
        let early = self.early.entry(query).or_default();
        early.push(Early {
            from,
            message,
            _held: held,
        });
        Placed::Kept {
            is_first: early.len() == 1,
        }
    }

    /// Whether a query is walked here, or has been.
    pub(crate) fn knows(&self, query: QueryId) -> bool {
        self.runs.contains_key(&query) || self.ended.contains_key(&query)
    }

    /// Why a query could not begin here, if so.
    pub(crate) fn given_up(&self, query: QueryId) -> Option<NodeError> {
        self.ended.get(&query).cloned().flatten()
    }

    /// The messages that came before this query.
    pub(crate) fn take_early(&mut self, query: QueryId) -> Vec<Early> {
        let early = self.early.remove(&query).unwrap_or_default();
        self.early_messages -= early.len();
        early
    }

    /// Queries of a node that rows have come for, and nothing else.
    pub(crate) fn unknown_of(&self, home: u16) -> Vec<QueryId> {
        let unknown = self.early.keys().filter(|query| query.home == home);
        unknown.copied().collect()
    }
}
