//! One look at the whole graph from a node: what a query is told is kept for as long as it is, whoever of it asked.
//!
//! What is no step of a walk (the ids of a text's constants, degrees, descriptions, the terms of an answer) asks through the
//! same visit as the walk, so nothing is fetched twice.

use crate::ask::Asks;
use crate::ground::Ground;
use crate::home::share::Share;
use crate::lexicon::RemoteLexicon;
use crate::session::{Fetched, KeyPage, Session, Slot};
use crate::terms::PartTerms;
use crate::view::RemoteView;
use explore::MemoryBudget;
use query::statistics::Statistics;
use rdf::{Progress, Ticket};
use std::sync::Arc;
use std::time::Duration;
use store::view::{GraphView, SegmentKey, ViewError};

/// See the module's documentation. A copy is the same visit.
pub struct Visit<P, T> {
    ground: Arc<Ground<P, T>>,
    session: Arc<Session>,
}

impl<P, T> Clone for Visit<P, T> {
    fn clone(&self) -> Self {
        Visit {
            ground: Arc::clone(&self.ground),
            session: Arc::clone(&self.session),
        }
    }
}

impl<P: GraphView + Send + Sync + 'static, T: PartTerms> Visit<P, T> {
    /// A visit whose answers are drawn on this memory.
    pub fn new(ground: &Arc<Ground<P, T>>, memory: Arc<dyn MemoryBudget + Send>) -> Self {
        Visit {
            ground: Arc::clone(ground),
            session: Arc::new(Session::new(memory)),
        }
    }

    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    /// The whole graph.
    pub fn view(&self) -> RemoteView<P, T> {
        RemoteView::new(&self.ground, &self.session, Share::Whole)
    }

    /// The whole graph for a plan that is walked by this node alone ([`Ground::walks_alone`]).
    pub fn view_alone(&self) -> RemoteView<P, T> {
        let nodes = self.ground.placement().nodes();
        RemoteView::new(&self.ground, &self.session, Share::of_one(nodes)).of_few_rows()
    }

    /// Its terms.
    pub fn lexicon(&self) -> RemoteLexicon<P, T> {
        RemoteLexicon::new(&self.ground, &self.session)
    }

    /// What a planner is told of all parts; `None`: it comes with this ticket, and is then to be asked for again.
    pub fn statistics(&self) -> Result<Result<Arc<Statistics>, Ticket>, ViewError> {
        loop {
            if let Some(statistics) = self.ground.common_statistics() {
                return Ok(Ok(statistics));
            }
            let mut asks = Asks::new(&self.ground, &self.session)?;
            asks.statistics();
            if let Progress::Pending(ticket) = asks.send() {
                return Ok(Err(ticket));
            }
        }
    }

    /// Pages of the keys that nodes have of a segment, each of a node, from a place on, in their order: so many keys each, fewer
    /// where they end. An error within: they come with this ticket, and are then to be asked
    /// for again. At most 8192 keys come of a node.
    pub fn key_pages(
        &self,
        segment: SegmentKey,
        pages: &[(u16, u64)],
        len: u64,
    ) -> Result<Result<Vec<KeyPage>, Ticket>, ViewError> {
        let mut asks = Asks::new(&self.ground, &self.session)?;
        asks.key_pages(segment, pages, len);
        if let Progress::Pending(ticket) = asks.send() {
            return Ok(Err(ticket));
        }
        let kept = self.session.kept();
        kept.failure()?;
        let page = |(node, from): &(u16, u64)| match kept.pages.get(&(segment, *node, *from)) {
            Some(Slot::Here(page)) => Arc::clone(page),
            _ => unreachable!("pages are asked for before they are read"),
        };
        Ok(Ok(pages.iter().map(page).collect()))
    }

    /// Blocks until a ticket of this node completes, but not much longer than `patience`; whether it has.
    pub fn wait(&self, ticket: Ticket, patience: Duration) -> bool {
        self.ground.wait(ticket, patience)
    }

    /// What was asked of other nodes so far.
    pub fn fetched(&self) -> Fetched {
        self.session.kept().fetched
    }
}
