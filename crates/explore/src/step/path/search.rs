//! Breadth-first search in the product of graph and automaton, from one vertex.
//!
//! The frontier is a list of vertices for each state; it is looked up in batches of [`BATCH`], so that
//! the view overlaps the misses of a batch, and neighbours come in pieces of at most [`PIECE`]. Each
//! (vertex, state) is entered once, so cycles end, and a search is linear in the edges it sees. Nothing
//! is allocated per vertex: what the lists and sets take is kept for the next search.
//!
//! Floor: a plain search over two arrays has three cache misses a vertex and one an edge. Here it
//! is one more a vertex (ids that are not ordinals are looked up in the key index), and the test
//! whether a vertex was visited costs two reads where one of a bitmap by ordinal would do. Measured
//! (`examples/walk_paths.rs`, one thread of a shared 2-core Xeon VM, 2026-11-21) on a random graph of a
//! million vertices and five million edges: 20 ns an edge, 18 for the plain search.
//!
//! Memory, drawn on the budget: the sets (see [`super::visited`]) and 8 bytes for each vertex of two
//! levels of the search.

use super::super::aggregate::paged::Meter;
use super::automaton::Automaton;
use super::fetch::{Fetched, NeighbourFetch};
use super::visited::Visited;
use crate::error::WalkError;
use crate::limits::{Effort, Limits};
use crate::scope::{Dataset, FixedScope};
use rdf::VertexId;
use store::view::{GraphScope, GraphView, Progress, Ticket};

/// Vertices looked up at once.
const BATCH: usize = 1024;

/// Neighbours looked at between two steps.
const PIECE: usize = 4096;
const _: () = assert!(
    BATCH > 0 && BATCH <= PIECE,
    "a piece has room for a neighbour of each"
);

/// About the nanoseconds of a step besides its neighbours, and of each.
const STEP_UNITS: u64 = 200;
const NEIGHBOUR_UNITS: u64 = 5;

/// What a step of a search came to.
pub(crate) enum Advance {
    /// It went on; [`Search::fresh`] are new.
    On,
    /// There is nowhere to go.
    Done,
    /// A lookup is under way.
    Pending(Ticket),
}

/// The search.
pub(crate) struct Search<'p, 'a> {
    automaton: &'p Automaton,
    /// The graph; `None`: one without edges.
    edges: Option<FixedScope>,
    visited: Vec<Visited>,
    /// What was accepted, where several states accept.
    accepted: Option<Visited>,
    frontier: Vec<Vec<VertexId>>,
    next: Vec<Vec<VertexId>>,
    /// Where it stands in the frontier.
    state: usize,
    at: usize,
    way: usize,
    is_fetching: bool,
    fetch: NeighbourFetch<'a>,
    /// The (vertex, state) pairs entered by the last step.
    fresh: Vec<VertexId>,
    fresh_state: usize,
    found: Vec<VertexId>,
    meter: Meter<'a>,
    limits: Limits<'a>,
    effort: Effort,
}

impl<'p, 'a> Search<'p, 'a> {
    /// No search yet.
    pub(crate) fn new(automaton: &'p Automaton, limits: Limits<'a>) -> Search<'p, 'a> {
        let states = automaton.states.len();
        let accepting = automaton.states.iter().filter(|state| state.accepts);
        Search {
            automaton,
            edges: None,
            visited: (0..states).map(|_| Visited::new()).collect(),
            accepted: (accepting.count() > 1).then(Visited::new),
            frontier: vec![Vec::new(); states],
            next: vec![Vec::new(); states],
            state: 0,
            at: 0,
            way: 0,
            is_fetching: false,
            fetch: NeighbourFetch::new(limits),
            fresh: Vec::new(),
            fresh_state: 0,
            found: Vec::new(),
            meter: Meter::new(limits),
            limits,
            effort: Effort::default(),
        }
    }

    /// Begins anew from a vertex, in a graph (`None`: one without edges).
    pub(crate) fn begin(
        &mut self,
        start: VertexId,
        edges: Option<FixedScope>,
    ) -> Result<(), WalkError> {
        self.begin_all(&[start], edges)
    }

    /// Begins anew from several vertices at once, each another one: what is reached is what any of them reaches.
    pub(crate) fn begin_all(
        &mut self,
        starts: &[VertexId],
        edges: Option<FixedScope>,
    ) -> Result<(), WalkError> {
        for visited in self.visited.iter_mut().chain(&mut self.accepted) {
            visited.clear(&mut self.meter);
        }
        for list in self.frontier.iter_mut().chain(&mut self.next) {
            list.clear();
        }
        self.found.clear();
        self.edges = edges;
        (self.state, self.at, self.way) = (0, 0, 0);
        self.is_fetching = false;
        let automaton = self.automaton;
        for &state in &automaton.starts {
            self.fresh.clear();
            self.fresh.extend_from_slice(starts);
            self.fresh_state = state as usize;
            for &start in starts {
                self.visited[state as usize].insert(start, &mut self.meter)?;
            }
            self.enter()?;
        }
        std::mem::swap(&mut self.frontier, &mut self.next);
        self.fresh.clear();
        Ok(())
    }

    /// Takes the fresh pairs into the next level and the result.
    fn enter(&mut self) -> Result<(), WalkError> {
        let state = &self.automaton.states[self.fresh_state];
        if !state.moves.is_empty() {
            let next = &mut self.next[self.fresh_state];
            reserve(next, self.fresh.len(), &mut self.meter)?;
            next.extend_from_slice(&self.fresh);
        }
        if !state.accepts {
            return Ok(());
        }
        match &mut self.accepted {
            None => self.found.extend_from_slice(&self.fresh),
            Some(accepted) => {
                for &vertex in &self.fresh {
                    if accepted.insert(vertex, &mut self.meter)? {
                        self.found.push(vertex);
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes one step: at most a piece of neighbours.
    pub(crate) fn advance<V: GraphView>(
        &mut self,
        view: &'a V,
        dataset: &Dataset,
    ) -> Result<Advance, WalkError> {
        self.fresh.clear();
        let Some(edges) = self.edges else {
            return Ok(Advance::Done);
        };
        let graphs = dataset.graphs(edges);
        loop {
            if !self.is_fetching {
                if !self.next_batch() {
                    return Ok(Advance::Done);
                }
                let (label, _) = self.automaton.states[self.state].moves[self.way];
                let label = &self.automaton.labels[label as usize];
                let frontier = &self.frontier[self.state];
                let batch = &frontier[self.at..frontier.len().min(self.at + BATCH)];
                if let Progress::Pending(ticket) = self.fetch.begin(view, label, batch)? {
                    return Ok(Advance::Pending(ticket));
                }
                self.is_fetching = true;
            }
            let seen = match self.step(view, graphs)? {
                Fetched::Pending(ticket) => return Ok(Advance::Pending(ticket)),
                Fetched::Done => {
                    self.is_fetching = false;
                    self.way += 1;
                    0
                }
                Fetched::Piece => self.fresh.len(),
            };
            self.effort.spend(STEP_UNITS, &self.limits)?;
            if seen > 0 {
                self.enter()?;
                return Ok(Advance::On);
            }
        }
    }

    /// Finds vertices that are left in the frontier, or the next level's; whether there are any.
    fn next_batch(&mut self) -> bool {
        loop {
            let ways = self.automaton.states[self.state].moves.len();
            assert!(self.way <= ways, "a batch goes each way once");
            if self.way == ways {
                self.way = 0;
                self.at += BATCH;
            }
            if self.at < self.frontier[self.state].len() {
                return true;
            }
            (self.at, self.way) = (0, 0);
            self.state += 1;
            if self.state < self.frontier.len() {
                continue;
            }
            self.state = 0;
            self.frontier.iter_mut().for_each(Vec::clear);
            std::mem::swap(&mut self.frontier, &mut self.next);
            if self.frontier.iter().all(Vec::is_empty) {
                return false;
            }
        }
    }

    /// Looks at a piece of neighbours.
    fn step<V: GraphView>(
        &mut self,
        view: &'a V,
        graphs: GraphScope<'_>,
    ) -> Result<Fetched, WalkError> {
        let (_, target) = self.automaton.states[self.state].moves[self.way];
        self.fresh_state = target as usize;
        let visited = &mut self.visited[self.fresh_state];
        let (fresh, meter) = (&mut self.fresh, &mut self.meter);
        let (effort, limits) = (&mut self.effort, &self.limits);
        self.fetch.next(view, graphs, PIECE, |piece| {
            fresh.reserve(piece.neighbours.len());
            for &vertex in piece.neighbours {
                if visited.insert(vertex, meter)? {
                    fresh.push(vertex);
                }
            }
            effort.spend(piece.neighbours.len() as u64 * NEIGHBOUR_UNITS, limits)
        })
    }

    /// How many (vertex, state) pairs the last step entered.
    pub(crate) fn fresh(&self) -> usize {
        self.fresh.len()
    }

    /// What was reached since [`Search::forget_found`], each vertex once.
    pub(crate) fn found(&self) -> &[VertexId] {
        &self.found
    }

    /// Says that what was found has been given out.
    pub(crate) fn forget_found(&mut self) {
        self.found.clear();
    }

    /// Whether a vertex was reached.
    pub(crate) fn has_reached(&self, vertex: VertexId) -> bool {
        if let Some(accepted) = &self.accepted {
            return accepted.contains(vertex);
        }
        let states = self.automaton.states.iter().zip(&self.visited);
        let mut accepting = states.filter(|(state, _)| state.accepts);
        accepting.any(|(_, visited)| visited.contains(vertex))
    }

    /// Whether the last step entered a vertex in a state where the other search has been too. The
    /// other's automaton is this one turned around.
    pub(crate) fn meets(&self, other: &Search<'_, '_>) -> bool {
        assert_eq!(
            self.visited.len(),
            other.visited.len(),
            "both searches have the same states"
        );
        let visited = &other.visited[self.fresh_state];
        self.fresh.iter().any(|&vertex| visited.contains(vertex))
    }

    /// Whether the beginnings of two searches meet.
    pub(crate) fn begins_at(&self, start: VertexId, other: &Search<'_, '_>) -> bool {
        let mut starts = self.automaton.starts.iter();
        starts.any(|&state| other.visited[state as usize].contains(start))
    }

    /// Vertices that are still to be looked up on this level.
    pub(crate) fn width(&self) -> usize {
        self.frontier.iter().map(Vec::len).sum::<usize>()
            + self.next.iter().map(Vec::len).sum::<usize>()
    }
}

/// Makes room for more vertices.
fn reserve(list: &mut Vec<VertexId>, more: usize, meter: &mut Meter<'_>) -> Result<(), WalkError> {
    let held = list.capacity();
    let length = list.len() + more;
    if length > held {
        let wanted = length.max(2 * held);
        meter.grow(wanted * size_of::<VertexId>())?;
        list.reserve_exact(wanted - list.len());
        meter.shrink(held * size_of::<VertexId>());
    }
    Ok(())
}
