//! Named graphs by their codes: graph columns hold 4 bytes a row, and each graph of parts numbers its
//! named graphs for itself.

use crate::source::{Fault, inconsistent};
use memory::CheckedRegion;
use rdf::VertexId;

/// The named graphs by their codes.
#[derive(Clone, Copy)]
pub(crate) struct NamedGraphs<'v> {
    region: &'v CheckedRegion,
    ids: &'v [u64],
}

impl<'v> NamedGraphs<'v> {
    /// Verifies the part at its first use: 8 bytes a graph.
    pub(crate) fn open(region: &'v CheckedRegion) -> Result<NamedGraphs<'v>, Fault> {
        let bytes = region.all().map_err(crate::source::damaged)?;
        let ids = bytes
            .get(crate::format::HEADER_BYTES as usize..)
            .and_then(memory::cast);
        let ids = ids.ok_or_else(|| inconsistent(region, "a cut table of graphs"))?;
        Ok(NamedGraphs { region, ids })
    }

    /// All of them, ascending.
    pub(crate) fn all(&self) -> impl Iterator<Item = VertexId> + 'v {
        self.ids.iter().map(|&id| VertexId::from_bits(id))
    }

    /// Number of graphs.
    pub(crate) fn count(&self) -> u64 {
        self.ids.len() as u64
    }

    /// The code of a graph that holds an edge.
    pub(crate) fn code(&self, graph: VertexId) -> Option<u32> {
        self.ids
            .binary_search(&graph.bits())
            .ok()
            .map(|code| code as u32)
    }

    /// The graph with this code.
    #[inline]
    pub(crate) fn vertex(&self, code: u32) -> Result<VertexId, Fault> {
        match self.ids.get(code as usize) {
            Some(&id) => Ok(VertexId::from_bits(id)),
            None => Err(inconsistent(
                self.region,
                "a graph column names a graph beyond the table",
            )),
        }
    }
}
