//! The rows of neighbour lists, read out of wherever they stand.

use rdf::VertexId;
use std::ops::Range;
use store::view::{GraphScope, ViewError};
use store::{ListCursor, Lists, OwnedLists};

/// Puts the rows of all lists into columns that are empty; gives where each list ends in them.
pub(crate) fn read(
    lists: &Lists<'_>,
    scope: GraphScope<'_>,
    (neighbours, graphs): (&mut Vec<VertexId>, &mut Vec<VertexId>),
) -> Result<Vec<usize>, ViewError> {
    let mut numbers = Vec::new();
    let graphs = scope.binds_graph().then_some(graphs);
    let mut cursor = ListCursor::default();
    lists.expand(&mut cursor, usize::MAX, &mut numbers, neighbours, graphs)?;
    let mut end = 0;
    let ends = (0..lists.len()).map(|list| {
        let is_own = |number: &&u32| **number as usize == list;
        end += numbers[end..].iter().take_while(is_own).count();
        end
    });
    Ok(ends.collect())
}

/// Lists in plain columns, with the place of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rows {
    pub(crate) neighbours: Vec<VertexId>,
    /// A graph for each neighbour under a scope that binds it, else none.
    pub(crate) graphs: Vec<VertexId>,
    /// Where each list ends.
    pub(crate) ends: Vec<usize>,
}

impl Rows {
    /// The rows of all lists.
    pub(crate) fn of(lists: &Lists<'_>, scope: GraphScope<'_>) -> Result<Rows, ViewError> {
        let mut rows = Rows::default();
        rows.ends = read(lists, scope, (&mut rows.neighbours, &mut rows.graphs))?;
        Ok(rows)
    }

    /// Lists.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Where a list lies.
    pub(crate) fn range(&self, list: usize) -> Range<usize> {
        let start = list.checked_sub(1).map_or(0, |before| self.ends[before]);
        start..self.ends[list]
    }

    /// Appends the rows of a list of these; gives where it lies.
    pub(crate) fn copy(&self, list: usize, into: &mut OwnedLists) -> Range<usize> {
        let range = self.range(list);
        let start = into.neighbours.len();
        into.neighbours
            .extend_from_slice(&self.neighbours[range.clone()]);
        if !self.graphs.is_empty() {
            into.graphs.extend_from_slice(&self.graphs[range]);
        }
        start..into.neighbours.len()
    }

    /// Appends one of the lists of other rows.
    pub(crate) fn push(&mut self, rows: &Rows, list: usize) {
        let range = rows.range(list);
        self.neighbours
            .extend_from_slice(&rows.neighbours[range.clone()]);
        if !rows.graphs.is_empty() {
            self.graphs.extend_from_slice(&rows.graphs[range]);
        }
        self.ends.push(self.neighbours.len());
    }

    /// Appends the lists with this number of several rows, put together: their rows ascending.
    pub(crate) fn push_merged<'r>(&mut self, list: usize, pieces: impl Iterator<Item = &'r Rows>) {
        let mut merged: Vec<(VertexId, Option<VertexId>)> = Vec::new();
        for piece in pieces {
            let row = |at: usize| (piece.neighbours[at], piece.graphs.get(at).copied());
            merged.extend(piece.range(list).map(row));
        }
        merged.sort_unstable();
        merged.dedup();
        self.neighbours.extend(merged.iter().map(|row| row.0));
        self.graphs.extend(merged.iter().filter_map(|row| row.1));
        self.ends.push(self.neighbours.len());
    }

    /// Whether they can be lists of so many keys under this scope: for rows that came from elsewhere.
    pub(crate) fn is_sound(&self, keys: usize, binds_graph: bool) -> bool {
        let end = self.ends.last().copied().unwrap_or(0);
        let graphs = if binds_graph { end } else { 0 };
        let is_sorted = |list: usize| {
            let range = self.range(list);
            if binds_graph {
                let pairs = range.map(|at| (self.neighbours[at], self.graphs[at]));
                return pairs.is_sorted_by(|one, next| one < next);
            }
            self.neighbours[range].is_sorted_by(|one, next| one < next)
        };
        self.ends.len() == keys
            && self.ends.is_sorted()
            && end == self.neighbours.len()
            && graphs == self.graphs.len()
            && (0..keys).all(is_sorted)
    }
}
