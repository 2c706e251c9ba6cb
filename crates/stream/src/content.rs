//! What an evaluation is given: its close, and for each window the slices that it is the union of.
//!
//! Slices are immutable and shared, so whoever evaluates holds what it was given while the streams go on. Where several
//! nodes keep a stream, each has the slices of its own share.

use std::sync::Arc;

use crate::reach::Selection;
use crate::retention::Retained;
use crate::schedule::{QueryId, StreamId};
use crate::time::Time;
use rdf::Direction;
use store::slice::Slice;

/// A query that is ready.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// The query.
    pub query: QueryId,
    /// The instant that it is evaluated at. Instants of one query ascend, but for revisions.
    pub close: Time,
    /// The contents of its windows, in the order of its schedule. Queries of one schedule share them.
    pub windows: Arc<[Content]>,
    /// Whether the query was due at this instant before: something that came late has changed a window since.
    pub is_revision: bool,
}

impl Evaluation {
    /// Whether nothing is in any window.
    pub fn is_empty(&self) -> bool {
        self.windows.iter().all(|window| window.items == 0)
    }
}

/// What is in a window.
#[derive(Clone, Debug)]
pub struct Content {
    /// The stream.
    pub stream: StreamId,
    /// Slices of which the window is the union; none of them is empty. Windows of the same content share one list, as a rule.
    pub slices: Arc<[Arc<Slice>]>,
    /// How many items it has, repeated ones included.
    pub items: u64,
    /// How many edges its slices have together. One that came in several slices counts in each.
    pub edges: u64,
    /// The window begins before this moment, and of what came before it, or should have, something is not there
    /// (`window_incomplete`).
    pub incomplete_before: Option<Time>,
}

impl Content {
    /// What a selection of a stream has, what came late included where that is asked.
    pub(crate) fn of(
        stream: StreamId,
        selection: &Selection,
        retained: &mut Retained,
        sees_late: bool,
    ) -> Content {
        let lost = selection.lost(retained);
        let cuts = selection.cuts(retained);
        let mut pieces = retained.pieces(cuts.start, cuts.end);
        if let Selection::Span(span) = selection
            && sees_late
            && let Some((slice, items)) = retained.late(span)
        {
            pieces.items += items;
            pieces.edges += slice.edges(Direction::Out);
            let late = (!slice.is_empty()).then_some(slice);
            pieces.slices = pieces.slices.iter().cloned().chain(late).collect();
        }
        Content {
            stream,
            slices: pieces.slices,
            items: pieces.items,
            edges: pieces.edges,
            incomplete_before: lost,
        }
    }
}
