//! The seam between the walk and the graph: whose neighbours?
//!
//! [`GraphView`] is asked per batch, never per row, and answers in sorted sets and lists that stay
//! where they are. The walk is written once, on these handles, whoever answers: a store snapshot
//! now; a remote view, a window over a stream later. Local calls are monomorphised, so the seam
//! costs nothing.
//!
//! | handle | what it is | made by |
//! |---|---|---|
//! | [`VertexSet`] | an ordered set of vertices: an index vertex of the papers | [`GraphView::keys`], [`GraphView::neighbours`], [`GraphView::vertices`] |
//! | [`Lists`] | the neighbour lists of a batch of keys, all of one segment | [`GraphView::lists`] |
//!
//! A lookup that has to wait for bytes answers [`Progress::Pending`], and the walk suspends. The questions that
//! have no such answer are [asked ahead](GraphView::fetch); predicates and their numbers are known to every view. A
//! store's views are always [`Progress::Ready`], which the compiler sees.
//!
//! Errors are per batch: a damaged block fails the query that touches it and is never served.

pub use crate::error::ViewError;
use crate::lists::Lists;
use crate::segment::location::Located;
use crate::vertex_set::VertexSet;
use rdf::{Direction, PredicateId, VertexId};
pub use rdf::{Progress, Ticket};
use std::time::Duration;

/// One predicate in one direction: what the store keeps together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentKey {
    /// The predicate.
    pub predicate: PredicateId,
    /// Which end is the key: subjects for [`Direction::Out`].
    pub direction: Direction,
}

/// The graphs in which a pattern is matched. Lists are sorted, so it is told here whether the
/// graph of each edge is wanted or only its existence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphScope<'a> {
    /// The default graph of the store.
    Default,
    /// One named graph.
    Named(VertexId),
    /// The merge of these graphs, ascending (`FROM`): neighbours are distinct. The default graph of
    /// the store is meant by [`GraphScope::DEFAULT_GRAPH`].
    Merge(&'a [VertexId]),
    /// The merge of all graphs, the default graph and every named one: neighbours are distinct. Every key
    /// of a segment has a neighbour in it.
    Union,
    /// Each edge in any named graph, with its graph: a neighbour comes once for each graph.
    EachNamed,
    /// Each edge in one of these named graphs, ascending, with its graph (`FROM NAMED`).
    EachOf(&'a [VertexId]),
}

impl GraphScope<'_> {
    /// How the default graph stands in a graph column and in [`GraphScope::Merge`].
    pub const DEFAULT_GRAPH: VertexId = VertexId::UNBOUND;

    /// Whether the graph of each edge is part of the answer.
    pub const fn binds_graph(self) -> bool {
        matches!(self, GraphScope::EachNamed | GraphScope::EachOf(_))
    }
}

/// What a view will be asked, by a method that answers at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need<'a> {
    /// [`GraphView::keys`].
    Keys(SegmentKey),
    /// [`GraphView::vertices`].
    Vertices(Direction),
    /// [`GraphView::keys_of_graph`].
    KeysOfGraph(SegmentKey, VertexId),
    /// [`GraphView::named_graphs`].
    NamedGraphs,
    /// [`GraphView::edges`].
    Edges(SegmentKey, GraphScope<'a>),
    /// [`GraphView::neighbours`].
    Neighbours(SegmentKey, VertexId, GraphScope<'a>),
}

/// A graph that can be walked. Every method is called per batch, from any thread.
pub trait GraphView: Sync {
    /// The number of the last commit in it, where commits are numbered: what statistics of that version
    /// prove holds for it.
    fn commit_number(&self) -> Option<u64> {
        None
    }

    /// Says what will be asked by methods that cannot be told to wait; once that is ready they answer it. Whoever had to
    /// wait asks from its beginning again, so what has come, batches of lists included, has to be kept until a plan is
    /// prepared and a batch of rows is through, or nothing ever gets further. By default everything is there.
    #[inline]
    fn fetch(&self, needs: &[Need<'_>]) -> Result<Progress, ViewError> {
        let _ = needs;
        Ok(Progress::Ready)
    }

    /// Blocks until a ticket completes that this view gave out, or the lexicon beside it, but not much longer than
    /// `patience`: for whoever has a thread to spare, and looks after its query's limits in between. Says whether the
    /// ticket has completed. One that did so before has, whoever waited for it, and so has one whose answer will not
    /// come: whoever asks again is told why. Called from any thread, several for one ticket perhaps; a ticket need not be
    /// waited for. By default none was given out, so it panics.
    fn wait(&self, ticket: Ticket, patience: Duration) -> bool {
        let _ = patience;
        unreachable!("a view that never lets wait gave out {ticket:?}")
    }

    /// What was found damaged of it after it had been verified: whatever was read of it may be of bytes that are not there.
    /// Looked at after the last answer that is believed. By default nothing can be.
    fn damage(&self) -> Option<ViewError> {
        None
    }

    /// The dense number of a predicate, or `None` where no edge has it. O(1).
    fn predicate_id(&self, vertex: VertexId) -> Option<PredicateId>;

    /// The predicate as a vertex. Asserts that the number was given out by this view.
    fn predicate_vertex(&self, predicate: PredicateId) -> VertexId;

    /// All predicates, ascending, without [`PredicateId::SIGNATURE`].
    fn predicates(&self) -> Vec<PredicateId>;

    /// All named graphs that hold an edge, ascending.
    fn named_graphs(&self) -> Result<Vec<VertexId>, ViewError>;

    /// The keys of a segment, over all graphs: the papers' predicate index. Empty where there is no
    /// such segment.
    fn keys(&self, segment: SegmentKey) -> Result<VertexSet<'_>, ViewError>;

    /// All vertices with an edge in this direction, over all graphs.
    fn vertices(&self, direction: Direction) -> Result<VertexSet<'_>, ViewError>;

    /// The keys of a segment within one named graph, from the graph index, so that it costs the
    /// graph's own size. Appends them ascending.
    fn keys_of_graph(
        &self,
        segment: SegmentKey,
        graph: VertexId,
        keys: &mut Vec<VertexId>,
    ) -> Result<(), ViewError>;

    /// How many edges of a segment are in this scope, where that is known without looking at them: none,
    /// or all of the segment's, whose keys in the scope are then those of [`GraphView::keys`]. `None`: some
    /// may be and some not. More than `None` is said only
    /// for scopes of one graph, and for the union of all. O(layers).
    fn edges(&self, segment: SegmentKey, scope: GraphScope<'_>) -> Result<Option<u64>, ViewError>;

    /// The distinct neighbours of one vertex as a set (for a class, its members). Only for scopes
    /// that do not bind the graph. Where edges have to be filtered by graph the set owns its
    /// elements, else it borrows the list.
    fn neighbours(
        &self,
        segment: SegmentKey,
        vertex: VertexId,
        scope: GraphScope<'_>,
    ) -> Result<VertexSet<'_>, ViewError>;

    /// The neighbour lists of a batch of keys: `lists` is refilled with one list per key, in order,
    /// empty for vertices that are not keys. Whatever the keys, none included, the lists say
    /// whether the scope filters the segment ([`Lists::is_exact`]). Cost: about one cache miss per key for a functional
    /// segment, two for others, overlapped within the batch.
    fn lists<'v>(
        &'v self,
        segment: SegmentKey,
        keys: &[VertexId],
        scope: GraphScope<'_>,
        lists: &mut Lists<'v>,
    ) -> Result<Progress, ViewError>;

    /// Predicates of each vertex in this direction, over all graphs, by its signature. Appends the
    /// predicates of all vertices one after the other, and to `ends` the end of each vertex's run; while pending, nothing.
    fn predicates_of(
        &self,
        direction: Direction,
        vertices: &[VertexId],
        predicates: &mut Vec<PredicateId>,
        ends: &mut Vec<u32>,
    ) -> Result<Progress, ViewError>;

    /// Whether looking a column up in this vertex's list costs more than looking for the vertex in the lists of the column's
    /// vertices, however long these are: the list lies elsewhere, and few rows come. Both find the same.
    #[inline]
    fn is_far(&self, segment: SegmentKey, vertex: VertexId) -> bool {
        let _ = (segment, vertex);
        false
    }

    /// Whether what it is asked for may have to come from elsewhere, so that much that is asked for at once comes sooner than bit by bit.
    #[inline]
    fn asks_others(&self) -> bool {
        false
    }

    /// Where a segment's lists lie, for whoever reads them from elsewhere ([`location`](crate::location)). The blocks that hold
    /// them are compared with their checksums before, `verify_bytes` of them at most in one call. An error: some are damaged.
    /// By default nothing can be read so.
    fn located(&self, segment: SegmentKey, verify_bytes: u64) -> Result<Located, ViewError> {
        let _ = (segment, verify_bytes);
        Ok(Located::Nowhere)
    }
}
