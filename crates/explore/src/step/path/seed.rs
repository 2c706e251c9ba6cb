//! The vertices at which a path with no end known may begin.
//!
//! A path of at least one edge begins at the keys of its first edges' segments; more than needed are
//! given, and the search from each decides. A path that may have no length connects every subject and
//! object of its graph with itself, so these are given exactly: a named graph's from its own index, the
//! default graph's and merges' from the store's two sets of vertices, each looked at for an edge in the
//! graph unless the store has no other.
//!
//! Sets are merged in order, a batch at a time; none is copied.

use super::automaton::Label;
use super::fetch::{Fetched, NeighbourFetch};
use super::{Edges, PathScope, cell};
use crate::ask;
use crate::error::WalkError;
use crate::limits::{Limits, Reservation};
use crate::scope::FixedScope;
use crate::step::{Context, Flow, StepOutcome};
use query::plan::{Slot, Source};
use rdf::{Direction, PredicateId, VertexId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use store::VertexSet;
use store::view::{GraphView, Need, Progress, SegmentKey, Ticket};

/// Vertices of a set decoded at once.
const DECODED: u64 = 1024;

/// Which vertices.
pub(crate) struct SeedPolicy {
    pub(crate) seeds: PathSeeds,
    pub(crate) scope: PathScope,
    pub(crate) source: Source,
    /// The new column; `None`: nobody needs it.
    pub(crate) into: Option<Slot>,
}

/// What a path begins with.
pub(crate) enum PathSeeds {
    /// An edge with any of these labels.
    Edges(Vec<Label>),
    /// Any subject or object.
    Vertices,
}

impl PathSeeds {
    /// The segments whose keys a path within one graph may begin at.
    fn segments(&self, predicates: &[PredicateId]) -> impl Iterator<Item = SegmentKey> {
        let (labels, ends): (&[Label], &[Direction]) = match self {
            PathSeeds::Edges(labels) => (labels, &[]),
            PathSeeds::Vertices => (&[], &[Direction::Out, Direction::In]),
        };
        let others = labels.iter().filter_map(|label| match label {
            Label::Other(direction, _) => Some(*direction),
            Label::One(_) => None,
        });
        let all = ends.iter().copied().chain(others).flat_map(|direction| {
            predicates.iter().map(move |&predicate| SegmentKey {
                predicate,
                direction,
            })
        });
        let ones = labels.iter().filter_map(|label| match label {
            Label::One(segment) => Some(*segment),
            Label::Other(..) => None,
        });
        all.chain(ones)
    }
}

/// Where paths with a first edge of this label begin, in any graph.
fn need_of(label: &Label) -> Need<'static> {
    match label {
        Label::One(segment) => Need::Keys(*segment),
        Label::Other(direction, _) => Need::Vertices(*direction),
    }
}

/// The state of one walk.
pub(crate) struct PathSeeding<'p, 'a> {
    policy: &'p SeedPolicy,
    row: u64,
    open: Option<Merge<'a>>,
    batch: Vec<VertexId>,
    exists: Vec<bool>,
    /// The direction whose edges are being looked for.
    looking: usize,
    is_fetching: bool,
    fetch: NeighbourFetch<'a>,
}

/// Sets on their way into one.
struct Merge<'a> {
    sets: Vec<Merged<'a>>,
    heap: BinaryHeap<Reverse<(VertexId, usize)>>,
    /// The graph in which vertices have to be looked for.
    verify: Edges,
    reservation: Reservation<'a>,
}

struct Merged<'a> {
    set: VertexSet<'a>,
    ordinal: u64,
    decoded: Vec<VertexId>,
    at: usize,
}

impl<'p, 'a> PathSeeding<'p, 'a> {
    pub(crate) fn new(policy: &'p SeedPolicy, limits: Limits<'a>) -> Self {
        PathSeeding {
            policy,
            row: 0,
            open: None,
            batch: Vec::new(),
            exists: Vec::new(),
            looking: 0,
            is_fetching: false,
            fetch: NeighbourFetch::new(limits),
        }
    }
}

impl<'a> PathSeeding<'_, 'a> {
    /// Gives one batch per call.
    pub(crate) fn run<V: GraphView, L>(
        &mut self,
        context: Context<'_, 'a, V, L>,
        flow: &mut Flow<'_>,
    ) -> Result<StepOutcome, WalkError> {
        while self.row < flow.input.rows() {
            if self.batch.is_empty() {
                if self.open.is_none() {
                    self.open = self.open(context, flow)?;
                }
                if let Some(merge) = &mut self.open {
                    merge.next(flow.room(), &mut self.batch)?;
                }
                if self.batch.is_empty() {
                    self.open = None;
                    self.row += 1;
                    continue;
                }
                self.exists.clear();
                self.exists.resize(self.batch.len(), false);
                self.looking = 0;
                self.is_fetching = false;
            }
            if let Some(ticket) = self.verify(context)? {
                return Ok(StepOutcome::Pending(ticket));
            }
            if let Some(slot) = self.policy.into {
                flow.output.cells_mut(slot).extend_from_slice(&self.batch);
            }
            flow.output
                .repeat(flow.input, flow.carried, self.row, self.batch.len());
            flow.output.add_rows(self.batch.len() as u64)?;
            self.batch.clear();
            return Ok(StepOutcome::More);
        }
        self.row = 0;
        Ok(StepOutcome::Drained)
    }

    /// The sets of the current row.
    fn open<V: GraphView, L>(
        &self,
        context: Context<'_, 'a, V, L>,
        flow: &Flow<'_>,
    ) -> Result<Option<Merge<'a>>, WalkError> {
        let edges = match &self.policy.scope {
            PathScope::Fixed(edges) => Some(*edges),
            PathScope::PerRow(slot, named) => {
                let graph = cell(flow.input, *slot, self.row as u32);
                named.edges(context.scene.dataset(self.policy.source), graph)
            }
        };
        let Some(Some(scope)) = edges else {
            return Ok(None);
        };
        let mut merge = Merge {
            sets: Vec::new(),
            heap: BinaryHeap::new(),
            verify: None,
            reservation: Reservation::new(context.limits),
        };
        let view = context.view(self.policy.source);
        match (scope, &self.policy.seeds) {
            (FixedScope::Named(graph), seeds) => merge.add_graph(view, graph, seeds, context)?,
            (_, PathSeeds::Edges(labels)) => {
                ask::need_all(view, labels.iter().map(need_of))?;
                for label in labels {
                    merge.add(match label {
                        Label::One(segment) => ask::keys(view, *segment)?,
                        Label::Other(direction, _) => ask::vertices(view, *direction)?,
                    })?;
                }
            }
            (scope, PathSeeds::Vertices) => {
                let ends = [Direction::Out, Direction::In].map(Need::Vertices);
                let graphs = matches!(scope, FixedScope::Default).then_some(Need::NamedGraphs);
                ask::need_all(view, ends.into_iter().chain(graphs))?;
                merge.add(ask::vertices(view, Direction::Out)?)?;
                merge.add(ask::vertices(view, Direction::In)?)?;
                let holds_all = match scope {
                    FixedScope::Union => true,
                    FixedScope::Default => ask::named_graphs(view)?.is_empty(),
                    _ => false,
                };
                merge.verify = Some(scope).filter(|_| !holds_all);
            }
        }
        Ok(Some(merge))
    }

    /// Drops vertices of the batch without an edge in the graph.
    fn verify<V: GraphView, L>(
        &mut self,
        context: Context<'_, 'a, V, L>,
    ) -> Result<Option<Ticket>, WalkError> {
        let Some(scope) = self.open.as_ref().and_then(|merge| merge.verify) else {
            return Ok(None);
        };
        let graphs = context.scene.dataset(self.policy.source).graphs(scope);
        for (number, direction) in [Direction::Out, Direction::In].into_iter().enumerate() {
            if number < self.looking {
                continue;
            }
            let any = Label::Other(direction, Vec::new());
            if !self.is_fetching {
                let asked =
                    self.fetch
                        .begin(context.view(self.policy.source), &any, &self.batch)?;
                if let Progress::Pending(ticket) = asked {
                    return Ok(Some(ticket));
                }
                self.is_fetching = true;
            }
            loop {
                context.limits.check()?;
                let exists = &mut self.exists;
                match self
                    .fetch
                    .next_existing(context.view(self.policy.source), graphs, exists)?
                {
                    Fetched::Piece => {}
                    Fetched::Done => break,
                    Fetched::Pending(ticket) => return Ok(Some(ticket)),
                }
            }
            self.is_fetching = false;
            self.looking += 1;
        }
        assert_eq!(
            self.exists.len(),
            self.batch.len(),
            "a vertex is looked at once"
        );
        let mut exists = self.exists.iter();
        self.batch.retain(|_| exists.next() == Some(&true));
        Ok(None)
    }
}

impl<'a> Merge<'a> {
    /// Adds a set.
    fn add(&mut self, set: VertexSet<'a>) -> Result<(), WalkError> {
        let mut merged = Merged {
            set,
            ordinal: 0,
            decoded: Vec::new(),
            at: 0,
        };
        if let Some(first) = merged.next()? {
            self.heap.push(Reverse((first, self.sets.len())));
            self.sets.push(merged);
        }
        Ok(())
    }

    /// Adds the keys of one named graph.
    fn add_graph<V: GraphView, L>(
        &mut self,
        view: &'a V,
        graph: VertexId,
        seeds: &PathSeeds,
        context: Context<'_, 'a, V, L>,
    ) -> Result<(), WalkError> {
        let predicates = view.predicates();
        let need = |segment| Need::KeysOfGraph(segment, graph);
        ask::need_all(view, seeds.segments(&predicates).map(need))?;
        let mut bytes = 0;
        for segment in seeds.segments(&predicates) {
            context.limits.check()?;
            let mut keys = Vec::new();
            ask::keys_of_graph(view, segment, graph, &mut keys)?;
            bytes += (keys.len() * size_of::<VertexId>()) as u64;
            self.reservation.cover(bytes)?;
            self.add(VertexSet::from_sorted(keys))?;
        }
        Ok(())
    }

    /// Appends at most `count` more vertices, each once, ascending.
    fn next(&mut self, count: usize, batch: &mut Vec<VertexId>) -> Result<(), WalkError> {
        assert!(self.heap.len() <= self.sets.len(), "a set has one head");
        while let Some(mut top) = self.heap.peek_mut() {
            let Reverse((vertex, set)) = *top;
            if batch.last() != Some(&vertex) {
                if batch.len() == count {
                    return Ok(());
                }
                batch.push(vertex);
            }
            match self.sets[set].next()? {
                Some(next) => *top = Reverse((next, set)),
                None => drop(std::collections::binary_heap::PeekMut::pop(top)),
            }
        }
        Ok(())
    }
}

impl Merged<'_> {
    /// The next vertex.
    fn next(&mut self) -> Result<Option<VertexId>, WalkError> {
        if self.at == self.decoded.len() {
            self.decoded.clear();
            self.at = 0;
            let to = self.ordinal + DECODED;
            self.set.decode(self.ordinal, to, &mut self.decoded)?;
            self.ordinal = to;
        }
        let vertex = self.decoded.get(self.at).copied();
        self.at += 1;
        Ok(vertex)
    }
}
