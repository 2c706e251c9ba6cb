//! What searches from many starts will look up, asked for together before the first of them begins.
//!
//! Over parts of a graph each lookup of a search is a journey to other nodes: searches one after the other make as many as they have
//! levels, each for a few vertices. So one search runs from all starts at once first, whose levels are large, and nothing
//! is done with what it finds: what came stays with the query, and the searches find it there. It visits what any of them visits,
//! each vertex once, so it costs no more than the longest of them where they meet, and no more than all where they do not.
//!
//! It ends after [`VISITED_MAX`] vertices: whoever wants a few rows of searches without end waits for no more. Where nobody has to be
//! waited for, nothing is asked ahead.

use super::Job;
use super::automaton::Automaton;
use super::search::{Advance, Search};
use crate::error::WalkError;
use crate::limits::Limits;
use crate::scope::Dataset;
use rdf::{Ticket, VertexId};
use store::view::GraphView;

/// Vertices, in all states, after which no more is asked ahead.
const VISITED_MAX: usize = 1 << 20;

/// Where it stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing was begun for these jobs.
    Before,
    Searching,
    Over,
}

/// See the head of this file.
pub(crate) struct Ahead<'p, 'a> {
    automaton: &'p Automaton,
    limits: Limits<'a>,
    search: Option<Box<Search<'p, 'a>>>,
    state: State,
    visited: usize,
}

impl<'p, 'a> Ahead<'p, 'a> {
    /// Nothing yet.
    pub(crate) fn new(automaton: &'p Automaton, limits: Limits<'a>) -> Ahead<'p, 'a> {
        Ahead {
            automaton,
            limits,
            search: None,
            state: State::Before,
            visited: 0,
        }
    }

    /// Other jobs come.
    pub(crate) fn again(&mut self) {
        self.state = State::Before;
    }

    /// Asks for what these jobs will look up; where it has to be waited for, this is to be called again then.
    pub(crate) fn ask<V: GraphView>(
        &mut self,
        view: &'a V,
        dataset: &Dataset,
        jobs: &[Job],
    ) -> Result<Option<Ticket>, WalkError> {
        if self.state == State::Before && !self.begin(view, jobs)? {
            self.state = State::Over;
        }
        while self.state == State::Searching && self.visited < VISITED_MAX {
            let search = self.search.as_mut().expect("it was begun");
            match search.advance(view, dataset)? {
                Advance::On => {
                    self.visited += search.fresh();
                    search.forget_found();
                }
                Advance::Done => self.state = State::Over,
                Advance::Pending(ticket) => return Ok(Some(ticket)),
            }
        }
        self.state = State::Over;
        // Its sets are the query's memory.
        self.search = None;
        Ok(None)
    }

    /// Begins with the starts of jobs in one graph, if there are several and others have to be asked.
    fn begin<V: GraphView>(&mut self, view: &'a V, jobs: &[Job]) -> Result<bool, WalkError> {
        let [first, _, ..] = jobs else {
            return Ok(false);
        };
        if !view.asks_others() {
            return Ok(false);
        }
        let of_graph = jobs.iter().filter(|job| job.edges == first.edges);
        let mut starts: Vec<VertexId> = of_graph.map(|job| job.start).collect();
        starts.sort_unstable();
        starts.dedup();
        let mut search = Box::new(Search::new(self.automaton, self.limits));
        search.begin_all(&starts, first.edges)?;
        (self.search, self.state, self.visited) = (Some(search), State::Searching, 0);
        Ok(true)
    }
}
