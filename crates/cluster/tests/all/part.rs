//! A part of a graph in one of four forms: plain vectors, segments as a store has them, the same with a layer over them, or
//! segments whose memory does not hold what is said of it.

use fabric::{Fabric, Local, MemoryKind};
use rdf::{Direction, Placement, PredicateId, VertexId};
use std::collections::BTreeSet;
use std::sync::Arc;
use store::cut::{Cut, PartView};
use store::delta::{KeyChanges, Layer, Version};
use store::location::{COLUMNS, ListColumn, Located};
use store::testing::{snapshot_of, version_of};
use store::view::{GraphScope, GraphView, Progress, SegmentKey, ViewError};
use store::{Lists, Snapshot, VertexSet};
use testkit::plain_graph::{PlainGraph, Quad};

/// What a part is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Plain,
    Stored,
    /// Segments of a base, over which layers add the last so many quads that were told.
    Layered(usize),
    /// The memory that it gives of this column holds nothing but this byte.
    Forged(ListColumn, u8),
}

/// See the module's documentation.
pub enum HeldPart {
    Plain(PlainGraph),
    Stored(PartView<Snapshot>),
    Layered(PartView<Version>),
    Forged(PartView<Snapshot>, ListColumn, u8),
}

impl HeldPart {
    /// What a node has of a graph.
    pub fn new(
        form: Form,
        quads: &[Quad],
        placement: &Placement,
        kind: VertexId,
        here: u16,
    ) -> HeldPart {
        if form == Form::Plain {
            return HeldPart::Plain(plain(quads, placement, kind, here));
        }
        let added = match form {
            Form::Layered(added) => added,
            _ => 0,
        };
        let (base, added) = quads.split_at(quads.len() - added);
        let whole = snapshot_of(base, Some(kind));
        let cut = Cut::new(&whole, placement.clone(), 7).expect("a graph that can be cut");
        let parts = cut.in_memory().expect("memory can be had");
        let part = parts.into_iter().nth(here.into());
        let part = part.expect("a part for each node");
        if let Form::Layered(_) = form {
            return HeldPart::Layered(layered(part, added, kind));
        }
        let part = PartView::unchanged(part);
        match form {
            Form::Forged(column, byte) => HeldPart::Forged(part, column, byte),
            _ => HeldPart::Stored(part),
        }
    }
}

impl HeldPart {
    /// Has a part of plain vectors say from now on that it was damaged.
    pub fn damage_it(&self) {
        let HeldPart::Plain(part) = self else {
            panic!("files are damaged where they lie");
        };
        part.damage_it();
    }
}

/// A part with a layer over it: for lists alone, since it adds edges to both ends.
fn layered(part: Snapshot, added: &[Quad], kind: VertexId) -> PartView<Version> {
    let layer = Layer::of(added, &[], KeyChanges::default(), Some(kind), 1..=1);
    let version = version_of(&Arc::new(part), &[Arc::new(layer)], Some(kind));
    let mut predicates = Vec::new();
    for predicate in version.predicates() {
        let number = predicate.0 as usize;
        predicates.resize(predicates.len().max(number + 1), VertexId::UNBOUND);
        predicates[number] = version.predicate_vertex(predicate);
    }
    PartView::new(version, predicates)
}

fn plain(quads: &[Quad], placement: &Placement, kind: VertexId, here: u16) -> PlainGraph {
    let predicates: BTreeSet<VertexId> = quads.iter().map(|quad| quad.1).collect();
    let owned = |end: &dyn Fn(&Quad) -> VertexId| -> Vec<Quad> {
        let quads = quads.iter().copied();
        quads
            .filter(|quad| placement.owner(end(quad)) == here)
            .collect()
    };
    let outgoing = owned(&|quad| quad.0);
    let incoming = owned(&|quad| if quad.1 == kind { quad.0 } else { quad.2 });
    PlainGraph::of_halves(predicates, &outgoing, &incoming)
}

/// Runs an expression with the part, whatever its form.
macro_rules! with_part {
    ($held:expr, |$part:ident| $body:expr) => {
        match $held {
            HeldPart::Plain($part) => $body,
            HeldPart::Stored($part) | HeldPart::Forged($part, ..) => $body,
            HeldPart::Layered($part) => $body,
        }
    };
}

impl GraphView for HeldPart {
    fn damage(&self) -> Option<ViewError> {
        with_part!(self, |part| part.damage())
    }

    fn predicate_id(&self, vertex: VertexId) -> Option<PredicateId> {
        with_part!(self, |part| part.predicate_id(vertex))
    }

    fn predicate_vertex(&self, predicate: PredicateId) -> VertexId {
        with_part!(self, |part| part.predicate_vertex(predicate))
    }

    fn predicates(&self) -> Vec<PredicateId> {
        with_part!(self, |part| part.predicates())
    }

    fn named_graphs(&self) -> Result<Vec<VertexId>, ViewError> {
        with_part!(self, |part| part.named_graphs())
    }

    fn keys(&self, segment: SegmentKey) -> Result<VertexSet<'_>, ViewError> {
        with_part!(self, |part| part.keys(segment))
    }

    fn vertices(&self, direction: Direction) -> Result<VertexSet<'_>, ViewError> {
        with_part!(self, |part| part.vertices(direction))
    }

    fn keys_of_graph(
        &self,
        segment: SegmentKey,
        graph: VertexId,
        keys: &mut Vec<VertexId>,
    ) -> Result<(), ViewError> {
        with_part!(self, |part| part.keys_of_graph(segment, graph, keys))
    }

    fn edges(&self, segment: SegmentKey, scope: GraphScope<'_>) -> Result<Option<u64>, ViewError> {
        with_part!(self, |part| part.edges(segment, scope))
    }

    fn neighbours(
        &self,
        segment: SegmentKey,
        vertex: VertexId,
        scope: GraphScope<'_>,
    ) -> Result<VertexSet<'_>, ViewError> {
        with_part!(self, |part| part.neighbours(segment, vertex, scope))
    }

    fn lists<'v>(
        &'v self,
        segment: SegmentKey,
        keys: &[VertexId],
        scope: GraphScope<'_>,
        lists: &mut Lists<'v>,
    ) -> Result<Progress, ViewError> {
        with_part!(self, |part| part.lists(segment, keys, scope, lists))
    }

    fn predicates_of(
        &self,
        direction: Direction,
        vertices: &[VertexId],
        predicates: &mut Vec<PredicateId>,
        ends: &mut Vec<u32>,
    ) -> Result<Progress, ViewError> {
        with_part!(self, |part| part
            .predicates_of(direction, vertices, predicates, ends))
    }

    fn located(&self, segment: SegmentKey, verify_bytes: u64) -> Result<Located, ViewError> {
        let located = with_part!(self, |part| part.located(segment, verify_bytes))?;
        match (self, located) {
            (HeldPart::Forged(_, column, byte), Located::Here(mut here)) => {
                let memory: &mut [_; COLUMNS] = &mut here.columns;
                if let Some(region) = &mut memory[*column as usize] {
                    let node = Local::nodes(1).remove(0);
                    let forged = node.allocate(region.len(), MemoryKind::Host);
                    let mut forged = forged.expect("memory can be had");
                    forged.bytes_mut().fill(*byte);
                    *region = forged.freeze();
                }
                Ok(Located::Here(here))
            }
            (_, located) => Ok(located),
        }
    }
}
