//! Which commit changed a graph last: what says whether somebody who has read it holds what it holds now.
//!
//! | who | touches | when |
//! |---|---|---|
//! | whoever has the turn | [`LastChanges::note`], [`LastChanges::forget`] | staging a commit; when ids are others, or commits were given up |
//! | readers, and whoever has the turn | [`LastChanges::of`] | at any time |
//!
//! Invariant: a graph holds the same in every snapshot from the number given for it up to the newest one that
//! is staged. The number may be too large, never too small: what the store held when it was opened counts
//! as changed then, and what is forgotten as changed at that moment. So a number that a reader of snapshot
//! *n* is given may lie beyond *n*, where a commit is staged and not published.
//!
//! Graphs are named by their ids. A checkpoint keeps them ([`rdf::dictionary::LiveDictionary::rebased`]), so what
//! is known outlives it. A generation that somebody else wrote, and that is opened anew, has others: then everything
//! is forgotten before a reader can meet them, because a number from before for an id from after would be another
//! graph's. Commits that were given up are forgotten, too: their numbers lie beyond the newest snapshot until others
//! get them, and of a graph with such a number nothing that a client has read would hold.
//!
//! Cost: 16 bytes a graph that was changed, [`GRAPHS_MAX`] of them, and what [`ChangedGraphs`] cost.

use crate::sync::{Mutex, MutexGuard};
use rdf::VertexId;
use std::collections::HashMap;
use std::sync::PoisonError;
use store::delta::ChangedGraphs;

/// Graphs whose last changes are kept. Of more, all are forgotten.
const GRAPHS_MAX: usize = ChangedGraphs::MAX;

/// The last changes of all graphs.
#[derive(Debug)]
pub(crate) struct LastChanges {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// All other graphs were changed then at the latest.
    others: u64,
    known: HashMap<VertexId, u64>,
}

impl LastChanges {
    /// Nothing is known before this commit.
    pub(crate) fn since(number: u64) -> LastChanges {
        LastChanges {
            state: Mutex::new(State {
                others: number,
                known: HashMap::new(),
            }),
        }
    }

    /// Notes what commit `number` changes. The caller has the turn.
    pub(crate) fn note(&self, changed: &ChangedGraphs, number: u64) {
        let mut state = self.state();
        assert!(state.others <= number, "commits are noted in order");
        match changed.graphs() {
            Some(graphs) if state.known.len() + graphs.len() <= GRAPHS_MAX => {
                state
                    .known
                    .extend(graphs.iter().map(|&graph| (graph, number)));
            }
            _ => state.forget(number),
        }
    }

    /// Forgets all; commits up to `number` are staged. The caller has the turn.
    pub(crate) fn forget(&self, number: u64) {
        self.state().forget(number);
    }

    /// The number for a graph.
    pub(crate) fn of(&self, graph: VertexId) -> u64 {
        let state = self.state();
        state.known.get(&graph).copied().unwrap_or(state.others)
    }

    /// Every change of the state is whole before it can panic.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn forget(&mut self, number: u64) {
        self.others = number;
        self.known = HashMap::new();
    }
}
