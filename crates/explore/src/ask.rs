//! The questions that a view answers at once, each asked for ahead.
//!
//! A view that gets its answers from elsewhere cannot answer such a question unless it knew that it would come
//! ([`GraphView::fetch`]). So nothing in this crate asks a view directly: here it is announced first, and where the
//! answer has to be waited for that is a [`WalkError::Pending`], which leaves whoever asked as it was. What a lexicon is
//! asked is announced where it is asked. A store's views have everything, which the compiler sees.
//!
//! A view knows no limits, so nobody waits for it longer than some milliseconds at once: [`wait`] looks in between, and
//! whoever drives a walk waits by it and by nothing else.

use crate::error::WalkError;
use crate::limits::Limits;
use rdf::{Direction, PredicateId, VertexId};
use std::time::Duration;
use store::VertexSet;
use store::view::{GraphScope, GraphView, Need, Progress, SegmentKey, Ticket};

/// Questions that are announced together: some tens of kilobytes.
const ANNOUNCED: usize = 1024;

/// How long a thread waits until it looks whether its query has to end.
const LOOK: Duration = Duration::from_millis(20);

/// Asks ahead; an error where that has to be waited for.
#[inline]
pub(crate) fn need<V: GraphView>(view: &V, needs: &[Need<'_>]) -> Result<(), WalkError> {
    ready(view.fetch(needs)?)
}

/// Asks ahead for the edges and the keys of these predicates, seen from the subjects.
pub(crate) fn need_edges<V: GraphView>(
    view: &V,
    predicates: &[PredicateId],
    scope: GraphScope<'_>,
) -> Result<(), WalkError> {
    need_all(
        view,
        predicates.iter().flat_map(|&predicate| {
            let segment = SegmentKey {
                predicate,
                direction: Direction::Out,
            };
            [Need::Edges(segment, scope), Need::Keys(segment)]
        }),
    )
}

/// Asks ahead for as many things as there are predicates, perhaps, in pieces.
pub(crate) fn need_all<'n, V: GraphView>(
    view: &V,
    mut needs: impl Iterator<Item = Need<'n>>,
) -> Result<(), WalkError> {
    let mut piece = Vec::new();
    loop {
        piece.clear();
        piece.extend(needs.by_ref().take(ANNOUNCED));
        if piece.is_empty() {
            return Ok(());
        }
        need(view, &piece)?;
    }
}

/// An error where something has to be waited for.
#[inline]
pub(crate) fn ready(progress: Progress) -> Result<(), WalkError> {
    match progress {
        Progress::Ready => Ok(()),
        Progress::Pending(ticket) => Err(WalkError::Pending(ticket)),
    }
}

/// [`GraphView::keys`].
#[inline]
pub(crate) fn keys<V: GraphView>(
    view: &V,
    segment: SegmentKey,
) -> Result<VertexSet<'_>, WalkError> {
    need(view, &[Need::Keys(segment)])?;
    Ok(view.keys(segment)?)
}

/// [`GraphView::vertices`].
#[inline]
pub(crate) fn vertices<V: GraphView>(
    view: &V,
    direction: Direction,
) -> Result<VertexSet<'_>, WalkError> {
    need(view, &[Need::Vertices(direction)])?;
    Ok(view.vertices(direction)?)
}

/// [`GraphView::keys_of_graph`].
#[inline]
pub(crate) fn keys_of_graph<V: GraphView>(
    view: &V,
    segment: SegmentKey,
    graph: VertexId,
    keys: &mut Vec<VertexId>,
) -> Result<(), WalkError> {
    need(view, &[Need::KeysOfGraph(segment, graph)])?;
    Ok(view.keys_of_graph(segment, graph, keys)?)
}

/// [`GraphView::named_graphs`].
#[inline]
pub(crate) fn named_graphs<V: GraphView>(view: &V) -> Result<Vec<VertexId>, WalkError> {
    need(view, &[Need::NamedGraphs])?;
    Ok(view.named_graphs()?)
}

/// [`GraphView::edges`].
#[inline]
pub(crate) fn edges<V: GraphView>(
    view: &V,
    segment: SegmentKey,
    scope: GraphScope<'_>,
) -> Result<Option<u64>, WalkError> {
    need(view, &[Need::Edges(segment, scope)])?;
    Ok(view.edges(segment, scope)?)
}

/// [`GraphView::neighbours`].
#[inline]
pub(crate) fn neighbours<'v, V: GraphView>(
    view: &'v V,
    segment: SegmentKey,
    vertex: VertexId,
    scope: GraphScope<'_>,
) -> Result<VertexSet<'v>, WalkError> {
    need(view, &[Need::Neighbours(segment, vertex, scope)])?;
    Ok(view.neighbours(segment, vertex, scope)?)
}

/// Waits for a ticket, until the query has to end: what becomes of [`crate::Status::Pending`] where a thread may wait. An
/// error then.
pub fn wait<V: GraphView>(view: &V, ticket: Ticket, limits: &Limits<'_>) -> Result<(), WalkError> {
    loop {
        limits.check()?;
        let mut is_complete = false;
        limits
            .stop
            .waiting(&mut || is_complete = view.wait(ticket, LOOK));
        if is_complete {
            return Ok(());
        }
    }
}

/// Asks until there is an answer, with a thread that may wait: for what is no step of a walk.
pub fn wait_for<V: GraphView, T>(
    view: &V,
    limits: &Limits<'_>,
    mut asked: impl FnMut() -> Result<T, WalkError>,
) -> Result<T, WalkError> {
    loop {
        match asked() {
            Err(WalkError::Pending(ticket)) => wait(view, ticket, limits)?,
            answered => return answered,
        }
    }
}
