//! A base that is a part of a graph: which lists of it are the whole graph's.
//!
//! A part has all edges of the vertices that it owns, in either direction, and of one segment, that of class members, a piece of each
//! list: its own members. Sections over a part take no step that looks at anything else. Which column's vertices are the part's own is
//! said for rows that are loaded, and known of a seed that the part itself has found.

use query::plan::Slot;
use rdf::VertexId;

/// See the head of this file.
#[derive(Clone, Copy)]
pub struct OwnPart<'p> {
    /// Whether all edges of a vertex are here.
    pub owns: &'p dyn Fn(VertexId) -> bool,
    /// The predicate whose lists lie in pieces towards the subjects, each part's own subjects.
    pub in_pieces: Option<VertexId>,
    /// Whether such a piece is what steps ask for, rather than the whole list.
    pub takes_pieces: bool,
    /// The column of the loaded rows whose vertices it owns.
    pub at: Option<Slot>,
}
