//! A graph cut into parts by a placement: one for each node of a cluster, each a store of its own.
//!
//! ```text
//!  whole   segments-out  [keys of all nodes]        part 0  [keys of node 0]  [keys of node 0]
//!          segments-in   [keys of all nodes]   ->   part 1  [keys of node 1]  [keys of node 1]
//! ```
//!
//! Which edges lie in a part is said by its mark ([`PartOf`]): the whole's segments, filtered. Rows of a segment ascend, so
//! nothing is sorted, and a part's segments are written by the writers of a load. Parts number predicates as the whole does,
//! and name all that it has an edge of ([`PartView`]);
//! the named graphs of a part are those that it has an edge in.
//!
//! Invariants: each edge of the whole is in exactly one part; a part's bytes depend on the whole's content, the placement and
//! the node alone. [`check::PartsCheck`](crate::check::PartsCheck) looks at both over parts that are there.
//!
//! Cost: parts are written one after the other, so memory is that of writing one of them: a number for each of its vertices,
//! a few buffers. For each part all keys of the whole are read, and of the rows those that it gets (of the classes' members
//! all), twice: a column's spans come before its rows.
//!
//! - [`Cut`]: from graph to graphs, on a disk or in memory; [`PartView`]: a part as a node sees it that knows of all;
//! - [`deal`]: which node gets which slots, so that parts are even;
//! - [`sizes`]: how even the parts are, and what crosses between them;
//! - [`store`]: from a store directory to one of parts.

pub mod deal;
mod dictionary;
mod graphs;
pub mod part_of;
mod rows;
pub mod sizes;
pub mod store;
mod view;

pub use deal::Deal;
pub use dictionary::open_part_dictionary;
pub use part_of::PartOf;
pub use sizes::{CutSizes, PartSizes};
pub use store::{CutStoreError, cut_store, is_part_name, open_part, part_name};
pub use view::PartView;

use crate::error::ViewError;
use crate::parts::{AppendFile, MemoryParts, PartError, PartFiles, PartName, PartSummary};
use crate::segment::planes::Spans;
use crate::segment::writer::{GraphWriter, SegmentShape, write_tables};
use crate::snapshot::{Snapshot, SnapshotError};
use crate::source::Fault;
use crate::view::{GraphView, SegmentKey};
use rdf::placement::{Placement, PlacementError};
use rdf::{Direction, PredicateId, Tag, VertexId};
use rows::HeldRows;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Blocks of a placement from which on a part's vertices are dense: two to the power of it. Smaller ones would touch nearly
/// all of the whole's pages (see [`States`](crate::signature)).
const DENSE_SHIFT: u8 = 12;

/// Why a graph could not be cut.
#[derive(Debug, thiserror::Error)]
pub enum CutError {
    /// The whole is damaged, or it was damaged while it was read.
    #[error(transparent)]
    View(#[from] ViewError),
    /// A part could not be written.
    #[error(transparent)]
    Part(#[from] PartError),
    /// Memory could not be had for a part.
    #[error("memory for a part: {0}")]
    Memory(io::Error),
    /// A part that was just written could not be opened.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// There are no such nodes or blocks.
    #[error(transparent)]
    Placement(PlacementError),
    /// The graph is a part itself.
    #[error("it is part {node} of {nodes} of a graph: only a whole graph can be cut")]
    IsPart {
        /// Whose part it is.
        node: u16,
        /// How many parts there are.
        nodes: u16,
    },
}

impl From<Fault> for CutError {
    fn from(fault: Fault) -> CutError {
        CutError::View(*fault)
    }
}

/// Only what is whole can be cut.
fn refuse_part(whole: &Snapshot) -> Result<(), CutError> {
    whole.part_of().map_or(Ok(()), |part| {
        Err(CutError::IsPart {
            node: part.node(),
            nodes: part.placement().nodes(),
        })
    })
}

/// A graph that is being cut.
pub struct Cut<'g> {
    whole: &'g Snapshot,
    placement: Placement,
    fingerprint: u128,
}

impl<'g> Cut<'g> {
    /// Of a whole graph. `fingerprint`: what tells it from others; parts of two graphs are not put together.
    pub fn new(
        whole: &'g Snapshot,
        placement: Placement,
        fingerprint: u128,
    ) -> Result<Cut<'g>, CutError> {
        refuse_part(whole)?;
        Ok(Cut {
            whole,
            placement,
            fingerprint,
        })
    }

    /// Writes the graph's part of one node (asserted to be one of the placement's), with its mark.
    pub fn part(&self, node: u16, files: &dyn PartFiles) -> Result<PartSizes, CutError> {
        let part = PartOf::new(self.placement.clone(), node, self.fingerprint);
        let files = &Counting {
            files,
            bytes: AtomicU64::new(0),
        };
        let graphs: Arc<[VertexId]> = graphs::graphs_of(self.whole, &part)?.into();
        let writing = PartWriting {
            whole: self.whole,
            part: &part,
            graphs: &graphs,
            files,
        };
        write_tables(files, &self.predicates(), &graphs)?;
        self.whole.prefixes().write(files)?;
        let mut sizes = PartSizes {
            node,
            ..PartSizes::default()
        };
        for direction in [Direction::Out, Direction::In] {
            writing.direction(direction, &mut sizes)?;
        }
        part.write(files)?;
        // Damage that came while the whole was read would be zeros in the part.
        if let Some(damage) = self.whole.damage() {
            return Err(damage.into());
        }
        sizes.bytes = files.bytes.load(Ordering::Relaxed);
        Ok(sizes)
    }

    /// The predicates that the whole has an edge of, by its numbers: the table of each part.
    fn predicates(&self) -> Vec<VertexId> {
        let table = self.whole.predicate_table().iter();
        let known = |vertex: &VertexId| match self.whole.predicate_id(*vertex) {
            Some(_) => *vertex,
            None => VertexId::UNBOUND,
        };
        table.map(known).collect()
    }

    /// All parts, by node, in the memory of this process.
    pub fn in_memory(&self) -> Result<Vec<Snapshot>, CutError> {
        let nodes = 0..self.placement.nodes();
        let part = |node| {
            let files = MemoryParts::new();
            self.part(node, &files)?;
            let parts = files.freeze().map_err(CutError::Memory)?;
            Ok(Snapshot::open(&parts)?)
        };
        nodes.map(part).collect()
    }
}

/// A part that is being written.
struct PartWriting<'p> {
    whole: &'p Snapshot,
    part: &'p PartOf,
    graphs: &'p Arc<[VertexId]>,
    files: &'p dyn PartFiles,
}

impl PartWriting<'_> {
    fn direction(&self, direction: Direction, sizes: &mut PartSizes) -> Result<(), CutError> {
        let graphs = Arc::clone(self.graphs);
        let mut writer = if self.part.placement().shift() < DENSE_SHIFT {
            GraphWriter::create_sparse(self.files, direction, graphs, u64::MAX)?
        } else {
            GraphWriter::create(self.files, direction, graphs)?
        };
        for (number, vertex) in (0..).zip(self.whole.predicate_table()) {
            if !vertex.is_unbound() {
                self.segment(PredicateId(number), direction, &mut writer, sizes)?;
            }
        }
        let summary = writer.finish(self.files)?;
        sizes.keys += summary.keys;
        match direction {
            Direction::Out => (sizes.out_edges, sizes.subjects) = (summary.rows, summary.vertices),
            Direction::In => (sizes.in_edges, sizes.objects) = (summary.rows, summary.vertices),
        }
        graphs::write_index(self.whole, self.part, self.graphs, direction, self.files)
    }

    fn segment(
        &self,
        predicate: PredicateId,
        direction: Direction,
        writer: &mut GraphWriter,
        sizes: &mut PartSizes,
    ) -> Result<(), CutError> {
        let segment = SegmentKey {
            predicate,
            direction,
        };
        let rows = HeldRows::new(self.whole, self.part, segment);
        let mut shape = SegmentShape {
            rows_max: 0,
            neighbours: Spans::default(),
        };
        rows.each(|edges| {
            shape.rows_max += edges.len() as u64;
            for edge in edges {
                shape.neighbours.observe(edge.neighbour);
            }
            Ok::<_, CutError>(())
        })?;
        if shape.rows_max == 0 {
            return Ok(());
        }
        writer.begin(predicate, &shape)?;
        let is_counted = direction == Direction::Out && predicate != PredicateId::TYPE;
        rows.each(|edges| {
            if is_counted {
                let (placement, here) = (self.part.placement(), self.part.node());
                let links = edges
                    .iter()
                    .filter(|edge| edge.key.has_tag(Tag::Iri) && edge.neighbour.has_tag(Tag::Iri));
                for link in links {
                    sizes.links += 1;
                    sizes.crossing += u64::from(placement.owner(link.neighbour) != here);
                }
            }
            Ok::<_, CutError>(writer.push(edges)?)
        })
    }
}

/// Files whose bytes are counted.
struct Counting<'f> {
    files: &'f dyn PartFiles,
    bytes: AtomicU64,
}

impl PartFiles for Counting<'_> {
    fn create(&self, name: &PartName) -> io::Result<Box<dyn AppendFile>> {
        self.files.create(name)
    }

    fn completed(&self, part: PartSummary) {
        self.bytes.fetch_add(part.length_bytes, Ordering::Relaxed);
        self.files.completed(part);
    }
}
