//! The graph index: named graph -> predicates and keys.
//!
//! Where segments have a graph column, finding the edges of one graph by them would cost the whole
//! store. The index lists, per named graph and direction, each predicate with the keys that have
//! an edge of it in that graph; so reading or clearing a graph costs its own size.
//!
//! ```text
//! part graph-index  [header][blob of graph 0][blob of graph 1]...[positions: u64 x (graphs + 1)][graphs: u64]
//! blob              per predicate: predicate - last predicate, number of keys, bytes of its keys,
//!                   keys: first id, then differences
//! ```
//!
//! Numbers are of variable length: most graphs are small, and a fixed entry of 24 bytes would
//! outweigh its keys. A graph's predicates are skipped by their lengths.

use crate::format::{HEADER_BYTES, PartKind};
use crate::parts::{PartError, PartFiles, PartSummary, PartWriter};
use crate::source::{ByteSource, Fault, damaged, inconsistent, with_source};
use memory::CheckedRegion;
use rdf::{Direction, PredicateId, VertexId, varint};
use std::sync::Arc;

/// One entry of the graph index. Orders as the index is sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GraphKey {
    /// The named graph.
    pub graph: VertexId,
    /// The predicate.
    pub predicate: PredicateId,
    /// A key that has an edge of the predicate in the graph.
    pub key: VertexId,
}

/// Writes the graph index of one direction.
pub struct GraphIndexWriter {
    part: PartWriter,
    graphs: Arc<[VertexId]>,
    /// Where each graph's blob begins, for the graphs that were begun.
    positions: Vec<u64>,
    last: Option<GraphKey>,
    last_predicate: u32,
    keys: u64,
    bytes: Vec<u8>,
    head: Vec<u8>,
}

impl GraphIndexWriter {
    /// Begins the index. `graphs`: the named graphs that hold an edge, ascending.
    pub fn create(
        files: &dyn PartFiles,
        direction: Direction,
        graphs: Arc<[VertexId]>,
    ) -> Result<GraphIndexWriter, PartError> {
        assert!(
            graphs.is_sorted_by(|a, b| a < b),
            "named graphs ascend and are distinct"
        );
        Ok(GraphIndexWriter {
            part: PartWriter::create(files, PartKind::GraphIndex, Some(direction))?,
            graphs,
            positions: Vec::new(),
            last: None,
            last_predicate: 0,
            keys: 0,
            bytes: Vec::new(),
            head: Vec::new(),
        })
    }

    /// Appends entries, ascending over all calls (asserted); repetitions are left out.
    pub fn push(&mut self, entries: &[GraphKey]) -> Result<(), PartError> {
        for entry in entries {
            let mut base = 0;
            if let Some(last) = self.last {
                if last == *entry {
                    continue;
                }
                assert!(last < *entry, "entries ascend");
                if (last.graph, last.predicate) == (entry.graph, entry.predicate) {
                    base = last.key.bits();
                } else {
                    self.end_run(last.predicate)?;
                }
            }
            if self.last.is_none_or(|last| last.graph != entry.graph) {
                self.begin_graph(entry.graph);
            }
            varint::write(&mut self.bytes, entry.key.bits() - base);
            self.keys += 1;
            self.last = Some(*entry);
        }
        Ok(())
    }

    /// Completes the part.
    pub fn finish(mut self, files: &dyn PartFiles) -> Result<PartSummary, PartError> {
        if let Some(last) = self.last {
            self.end_run(last.predicate)?;
        }
        self.part.align(8)?;
        assert!(
            self.positions.len() <= self.graphs.len() && self.bytes.is_empty(),
            "every graph that was begun was announced, and its last run ended"
        );
        self.positions
            .resize(self.graphs.len() + 1, self.part.position());
        self.part.append(bytemuck::cast_slice(&self.positions))?;
        self.part
            .append(&(self.graphs.len() as u64).to_le_bytes())?;
        self.part.finish(files)
    }

    fn begin_graph(&mut self, graph: VertexId) {
        let code = self
            .graphs
            .binary_search(&graph)
            .expect("every named graph was announced");
        assert!(
            self.positions.len() <= code,
            "graphs ascend, each begun once"
        );
        self.positions.resize(code + 1, self.part.position());
        self.last_predicate = 0;
    }

    fn end_run(&mut self, predicate: PredicateId) -> Result<(), PartError> {
        assert!(
            predicate.0 > self.last_predicate && self.keys > 0,
            "a graph's predicates ascend from 1, and each has a key: zeros are the padding"
        );
        self.head.clear();
        varint::write(&mut self.head, u64::from(predicate.0 - self.last_predicate));
        varint::write(&mut self.head, self.keys);
        varint::write(&mut self.head, self.bytes.len() as u64);
        self.part.append(&self.head)?;
        self.part.append(&self.bytes)?;
        self.bytes.clear();
        self.keys = 0;
        self.last_predicate = predicate.0;
        Ok(())
    }
}

/// The index as it stands in its part.
#[derive(Clone, Copy)]
pub(crate) struct GraphIndex<'v> {
    region: &'v CheckedRegion,
    positions_at: u64,
    graphs: u64,
}

/// The keys of one predicate in one graph, not decoded yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PredicateKeys<'v> {
    pub predicate: PredicateId,
    pub keys: u64,
    bytes: &'v [u8],
}

impl<'v> GraphIndex<'v> {
    /// Opens the index.
    pub(crate) fn open(region: &'v CheckedRegion) -> Result<GraphIndex<'v>, Fault> {
        let end = region.len().saturating_sub(8);
        let graphs = with_source!(region, |source| source.items::<u64>(end, 1))?[0];
        let table = graphs.saturating_add(1).saturating_mul(8);
        let positions_at = end.checked_sub(table).filter(|&at| at >= HEADER_BYTES);
        let positions_at = positions_at.ok_or_else(|| inconsistent(region, "a cut graph index"))?;
        Ok(GraphIndex {
            region,
            positions_at,
            graphs,
        })
    }

    /// Number of graphs.
    pub(crate) fn graphs(&self) -> u64 {
        self.graphs
    }

    /// Gives each predicate's keys in the graph with this code, ascending by predicate.
    pub(crate) fn runs(
        &self,
        code: u32,
        mut give: impl FnMut(PredicateKeys<'v>),
    ) -> Result<(), Fault> {
        if u64::from(code) >= self.graphs {
            return Ok(());
        }
        let at = self.positions_at + 8 * u64::from(code);
        let pair: &[u64] = with_source!(self.region, |source| source.items(at, 2))?;
        let end = pair[1].max(pair[0]).min(self.positions_at);
        let mut rest = self.region.bytes(pair[0].min(end)..end).map_err(damaged)?;
        let mut predicate = 0u32;
        // The last graph's blob is padded with zeros, and no run has predicate 0.
        while rest.iter().any(|&byte| byte != 0) || rest.len() >= 8 {
            let run = take_run(&mut rest, predicate);
            let run = run.ok_or_else(|| inconsistent(self.region, "a cut graph index"))?;
            predicate = run.predicate.0;
            give(run);
        }
        Ok(())
    }
}

fn take_run<'v>(rest: &mut &'v [u8], last: u32) -> Option<PredicateKeys<'v>> {
    let difference = u32::try_from(varint::read(rest)?)
        .ok()
        .filter(|&difference| difference > 0)?;
    let predicate = PredicateId(last.checked_add(difference)?);
    let keys = varint::read(rest)?;
    let length = usize::try_from(varint::read(rest)?).ok()?;
    let (bytes, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(PredicateKeys {
        predicate,
        keys,
        bytes,
    })
}

impl<'v> PredicateKeys<'v> {
    /// The keys, ascending, decoded as they are taken.
    pub(crate) fn stream(
        &self,
        region: &'v CheckedRegion,
    ) -> impl Iterator<Item = Result<VertexId, Fault>> + use<'v> {
        let mut rest = self.bytes;
        let mut key = 0u64;
        (0..self.keys).map(move |_| {
            let next = varint::read(&mut rest).and_then(|difference| key.checked_add(difference));
            key = next.ok_or_else(|| inconsistent(region, "a cut graph index"))?;
            Ok(VertexId::from_bits(key))
        })
    }

    /// Appends the keys, ascending.
    pub(crate) fn decode(
        &self,
        region: &CheckedRegion,
        out: &mut Vec<VertexId>,
    ) -> Result<(), Fault> {
        let mut rest = self.bytes;
        let mut key = 0u64;
        for _ in 0..self.keys {
            let next = varint::read(&mut rest).and_then(|difference| key.checked_add(difference));
            key = next.ok_or_else(|| inconsistent(region, "a cut graph index"))?;
            out.push(VertexId::from_bits(key));
        }
        Ok(())
    }
}
