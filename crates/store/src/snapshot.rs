//! The local view: an immutable graph, answered from its parts.
//!
//! A snapshot holds its parts open, the predicates by number and by vertex, and nothing else:
//! opening one costs a few block reads and 20 bytes a predicate, whatever the graph's size.
//! It never changes, so it is shared between threads without locks.

use crate::cut::part_of::PartOf;
use crate::error::ViewError;
use crate::format::{HEADER_BYTES, PartHeader, PartKind, flags};
use crate::lists::{Columns, Filter, Lists, NamedGraphs};
use crate::parts::{PartError, PartSource};
use crate::prefixes::Prefixes;
use crate::segment::graph_index::GraphIndex;
use crate::segment::index::ABSENT;
use crate::segment::location::Located;
use crate::segment::reader::{Segment, Side};
use crate::signature::sets::{SetRecord, Sets};
use crate::source::{ByteSource, Fault, damaged, inconsistent, with_source};
use crate::vertex_set::VertexSet;
use crate::view::{GraphScope, GraphView, Progress, SegmentKey};
use hashbrown::HashMap;
use memory::CheckedRegion;
use rdf::{Direction, PredicateId, VertexId};
use std::sync::Arc;

/// Why a graph's parts could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// A part is missing or cannot be read.
    #[error(transparent)]
    Part(#[from] PartError),
    /// A part is damaged or contradicts another.
    #[error(transparent)]
    View(#[from] ViewError),
}

/// An immutable graph. `Send` and `Sync`.
pub struct Snapshot {
    out: Side,
    into: Side,
    predicates_part: CheckedRegion,
    graphs_part: CheckedRegion,
    /// By number; [`VertexId::UNBOUND`] where the number is not in use.
    predicates: Vec<VertexId>,
    by_vertex: HashMap<VertexId, PredicateId>,
    /// Those with an edge, ascending.
    present: Vec<PredicateId>,
    prefixes: Prefixes,
    part: Option<Arc<PartOf>>,
}

impl Snapshot {
    /// Opens the graph whose parts are found in `source`. Headers are checked, and the table of
    /// predicates is read; nothing else is touched. O(predicates).
    pub fn open(source: &dyn PartSource) -> Result<Snapshot, SnapshotError> {
        let common = |kind: PartKind| source.part(kind.file_name(None));
        let mut snapshot = Snapshot {
            out: Side::open(source, Direction::Out)?,
            into: Side::open(source, Direction::In)?,
            predicates_part: common(PartKind::Predicates)?,
            graphs_part: common(PartKind::Graphs)?,
            predicates: Vec::new(),
            by_vertex: HashMap::new(),
            present: Vec::new(),
            prefixes: Prefixes::open(source),
            part: PartOf::open(source)?.map(Arc::new),
        };
        snapshot.check_headers().map_err(|fault| *fault)?;
        snapshot.read_predicates().map_err(|fault| *fault)?;
        Ok(snapshot)
    }

    /// Prefixes that loaded documents declare.
    pub fn prefixes(&self) -> &Prefixes {
        &self.prefixes
    }

    /// What part of a graph this is; `None`: a whole graph, whose two directions hold the same quads.
    pub fn part_of(&self) -> Option<&Arc<PartOf>> {
        self.part.as_ref()
    }

    /// The parts with their kinds and directions.
    pub(crate) fn parts(
        &self,
    ) -> impl Iterator<Item = (PartKind, Option<Direction>, &CheckedRegion)> {
        let side = |direction: Direction| {
            let parts = self.side(direction).parts();
            parts
                .into_iter()
                .map(move |(kind, region)| (kind, Some(direction), region))
        };
        side(Direction::Out).chain(side(Direction::In)).chain([
            (PartKind::Predicates, None, &self.predicates_part),
            (PartKind::Graphs, None, &self.graphs_part),
        ])
    }

    /// Verifies every block not verified yet: queries are fastest once this is done. The first
    /// damaged block ends it. O(bytes).
    pub fn verify_all(&self) -> Result<(), ViewError> {
        self.parts()
            .try_for_each(|(_, _, region)| region.verify_all().map_err(|block| *damaged(block)))
    }

    /// Damage that came after blocks had been verified: whatever was read of this snapshot may hold zeros
    /// in place of a file's bytes. O(parts); see [`CheckedRegion::damage`].
    pub fn damage(&self) -> Option<ViewError> {
        let mut damages = self.parts().filter_map(|(_, _, region)| region.damage());
        damages.next().map(|block| *damaged(block))
    }

    /// Looks whether a file has become shorter than it was, which then is [damage](Snapshot::damage).
    /// One system call a part.
    pub fn look(&self) {
        self.parts().for_each(|(_, _, region)| {
            region.region().is_shortened();
        });
    }

    /// Tells the kernel that the whole graph will be read soon.
    pub fn advise_will_need(&self) {
        self.parts()
            .for_each(|(_, _, region)| region.region().advise_will_need());
    }

    fn check_headers(&self) -> Result<(), Fault> {
        for (kind, direction, region) in self.parts() {
            let header = with_source!(region, |source| source.items::<PartHeader>(0, 1))?;
            if header[0] != PartHeader::new(kind, direction) {
                return Err(inconsistent(region, "its header is not that of this part"));
            }
        }
        Ok(())
    }

    fn read_predicates(&mut self) -> Result<(), Fault> {
        let region = &self.predicates_part;
        let bytes = region.all().map_err(damaged)?;
        let ids: Option<&[VertexId]> = memory::cast(&bytes[HEADER_BYTES as usize..]);
        self.predicates = ids
            .ok_or_else(|| inconsistent(region, "a cut table of predicates"))?
            .to_vec();
        let mut by_vertex = HashMap::with_capacity(self.predicates.len());
        let mut present = Vec::with_capacity(self.predicates.len());
        for (number, &vertex) in (0..).zip(&self.predicates) {
            let predicate = PredicateId(number);
            if vertex.is_unbound() {
                continue;
            }
            // A part of a graph may have the in-edges of a predicate alone.
            if self.out.segment(predicate)?.is_some() || self.into.segment(predicate)?.is_some() {
                by_vertex.insert(vertex, predicate);
                present.push(predicate);
            }
        }
        self.by_vertex = by_vertex;
        self.present = present;
        Ok(())
    }

    /// One direction's parts.
    pub(crate) fn side(&self, direction: Direction) -> &Side {
        match direction {
            Direction::Out => &self.out,
            Direction::In => &self.into,
        }
    }

    /// The segment, where there is one. Signatures are not asked for here.
    pub(crate) fn segment(&self, segment: SegmentKey) -> Result<Option<Segment<'_>>, Fault> {
        self.side(segment.direction).segment(segment.predicate)
    }

    /// The named graphs by code.
    pub(crate) fn graphs(&self) -> Result<NamedGraphs<'_>, Fault> {
        NamedGraphs::open(&self.graphs_part)
    }

    /// The predicates by number.
    pub(crate) fn predicate_table(&self) -> &[VertexId] {
        &self.predicates
    }

    /// The number of a predicate with an edge, by the vertex that names its key sets.
    pub(crate) fn number_of(&self, name: VertexId) -> Option<PredicateId> {
        match name {
            VertexId::UNBOUND => Some(PredicateId::SIGNATURE),
            vertex => self.predicate_id(vertex),
        }
    }

    /// Distinct edges of this predicate in a direction: of out-edges there are as many as quads.
    pub(crate) fn edges_of(
        &self,
        predicate: PredicateId,
        direction: Direction,
    ) -> Result<u64, Fault> {
        let segment = self.side(direction).segment(predicate)?;
        Ok(segment.map_or(0, |segment| segment.descriptor.rows))
    }

    /// The vertex of `rdf:type`, where the graph has an edge of it.
    pub fn type_vertex(&self) -> Option<VertexId> {
        let vertex = self.predicates.get(PredicateId::TYPE.0 as usize).copied()?;
        self.by_vertex.get(&vertex).map(|_| vertex)
    }

    /// The vertex of `rdf:type` where the graph that this was cut from names it, with an edge of it here or without.
    pub fn type_vertex_of_whole(&self) -> Option<VertexId> {
        let vertex = self.predicates.get(PredicateId::TYPE.0 as usize).copied();
        vertex.filter(|vertex| !vertex.is_unbound())
    }

    /// What a scope admits of a segment's rows.
    fn filter(&self, segment: &Segment<'_>, scope: GraphScope<'_>) -> Result<Filter, Fault> {
        if !segment.has_graphs() {
            return Ok(Filter::of_default_graph(scope));
        }
        let named = self.graphs()?;
        Ok(Filter::of_scope(scope, |graph| named.code(graph)))
    }

    /// A segment as lists are read from it; `None` where the scope holds nothing of it.
    pub(crate) fn list_source(
        &self,
        segment: SegmentKey,
        scope: GraphScope<'_>,
    ) -> Result<Option<ListSource<'_>>, Fault> {
        if segment.predicate == PredicateId::SIGNATURE {
            return Ok(None);
        }
        let Some(segment) = self.segment(segment)? else {
            return Ok(None);
        };
        let filter = self.filter(&segment, scope)?;
        if filter == Filter::Nothing {
            return Ok(None);
        }
        Ok(Some(ListSource {
            columns: self.columns(&segment)?,
            segment,
            filter,
        }))
    }

    /// See [`GraphView::edges`].
    pub(crate) fn known_edges(
        &self,
        segment: SegmentKey,
        scope: GraphScope<'_>,
    ) -> Result<Option<u64>, Fault> {
        use GraphScope::{Default, Named, Union};
        if !matches!(scope, Default | Named(_) | Union) {
            return Ok(None);
        }
        let Some(segment) = self.segment(segment)? else {
            return Ok(Some(0));
        };
        Ok(match self.filter(&segment, scope)? {
            Filter::Nothing => Some(0),
            Filter::Every => Some(segment.descriptor.rows),
            _ => None,
        })
    }

    fn columns<'v>(&'v self, segment: &Segment<'v>) -> Result<Columns<'v>, Fault> {
        Ok(Columns {
            neighbours: segment.column()?,
            graphs: segment.graph_column(),
            named: &self.graphs_part,
        })
    }

    pub(crate) fn set_of_keys(&self, segment: SegmentKey) -> Result<VertexSet<'_>, Fault> {
        Ok(match self.segment(segment)? {
            Some(segment) => VertexSet::of_index(segment.index()?),
            None => VertexSet::empty(),
        })
    }

    pub(crate) fn set_of_neighbours(
        &self,
        segment: SegmentKey,
        vertex: VertexId,
        scope: GraphScope<'_>,
    ) -> Result<VertexSet<'_>, Fault> {
        assert!(!scope.binds_graph(), "a set has no place for graphs");
        let Some(source) = self.list_source(segment, scope)? else {
            return Ok(VertexSet::empty());
        };
        if source.filter == Filter::Every {
            return source.set_of(vertex);
        }
        let mut lists = Lists::new();
        source.fill(&[vertex], &mut lists)?;
        Ok(VertexSet::from_sorted(lists.all_neighbours()?))
    }

    pub(crate) fn fill_lists<'v>(
        &'v self,
        segment: SegmentKey,
        keys: &[VertexId],
        scope: GraphScope<'_>,
        lists: &mut Lists<'v>,
    ) -> Result<(), Fault> {
        let Some(source) = self.list_source(segment, scope)? else {
            lists.refill_empty(keys.len(), true);
            return Ok(());
        };
        source.fill(keys, lists)
    }

    pub(crate) fn graph_keys(
        &self,
        segment: SegmentKey,
        graph: VertexId,
        keys: &mut Vec<VertexId>,
    ) -> Result<(), Fault> {
        let Some(code) = self.graphs()?.code(graph) else {
            return Ok(());
        };
        let region = &self.side(segment.direction).graph_index;
        let mut found = None;
        GraphIndex::open(region)?.runs(code, |run| {
            if run.predicate == segment.predicate {
                found = Some(run);
            }
        })?;
        found.map_or(Ok(()), |run| run.decode(region, keys))
    }

    pub(crate) fn append_predicates(
        &self,
        direction: Direction,
        vertices: &[VertexId],
        predicates: &mut Vec<PredicateId>,
        ends: &mut Vec<u32>,
    ) -> Result<(), Fault> {
        let side = self.side(direction);
        let Some(signatures) = side.segment(PredicateId::SIGNATURE)? else {
            ends.resize(ends.len() + vertices.len(), predicates.len() as u32);
            return Ok(());
        };
        let mut ordinals = Vec::new();
        signatures.index()?.ordinals(vertices, &mut ordinals)?;
        let sets = Sets::open(&side.sets)?;
        let mut record = SetRecord::default();
        let mut recorded = None;
        for (&vertex, &ordinal) in vertices.iter().zip(&ordinals) {
            if ordinal != ABSENT {
                let set = signatures.signature_value(ordinal)?;
                if recorded != Some(set) {
                    sets.read(set, &mut record)?;
                    recorded = Some(set);
                }
                if record.is_unknown {
                    self.probe_predicates(side, vertex, predicates)?;
                } else {
                    predicates.extend_from_slice(&record.predicates);
                }
            }
            ends.push(predicates.len() as u32);
        }
        Ok(())
    }

    /// The predicates of a vertex whose set is unknown: asks every segment.
    fn probe_predicates(
        &self,
        side: &Side,
        vertex: VertexId,
        predicates: &mut Vec<PredicateId>,
    ) -> Result<(), Fault> {
        for number in PredicateId::TYPE.0..self.predicates.len() as u32 {
            let predicate = PredicateId(number);
            if let Some(segment) = side.segment(predicate)?
                && segment.index()?.ordinal(vertex)? != ABSENT
            {
                predicates.push(predicate);
            }
        }
        Ok(())
    }
}

/// A segment as lists are read from it within a scope.
pub(crate) struct ListSource<'v> {
    pub segment: Segment<'v>,
    pub columns: Columns<'v>,
    /// Admits something.
    pub filter: Filter,
}

impl<'v> ListSource<'v> {
    /// Refills `lists` from this segment, which is one of several; `is_exact`: none of them is filtered.
    pub(crate) fn fill_first(
        self,
        keys: &[VertexId],
        is_exact: bool,
        lists: &mut Lists<'v>,
    ) -> Result<(), Fault> {
        let (segment, columns) = (self.segment, self.columns);
        let filled = lists.refill(columns, self.filter, keys.len(), |rows, total| {
            segment.rows_of_few(keys, &columns.neighbours, |range| {
                *total += range.end - range.start;
                rows.push((range.start, range.end));
            })
        });
        lists.note_exactness(is_exact);
        filled
    }

    /// Refills `lists` from this segment alone.
    pub(crate) fn fill(self, keys: &[VertexId], lists: &mut Lists<'v>) -> Result<(), Fault> {
        let columns = self.columns;
        let ListSource { segment, .. } = self;
        lists.refill(columns, self.filter, keys.len(), |rows, total| {
            segment.rows_of(keys, &columns.neighbours, |range| {
                *total += range.end - range.start;
                rows.push((range.start, range.end));
            })
        })
    }

    /// Adds rows of this segment to `lists`, or takes them away. It has none of the keys before `first`. `may_hold`:
    /// whether a key may be one of the segment, where its keys are filtered.
    pub(crate) fn fill_further(
        self,
        is_minus: bool,
        may_hold: Option<impl Fn(VertexId) -> bool>,
        first: usize,
        keys: &[VertexId],
        lists: &mut Lists<'v>,
    ) -> Result<(), Fault> {
        let column = self.columns.neighbours;
        lists.begin_further(self.columns, self.filter, is_minus);
        let keys = &keys[first..];
        if let Some(may_hold) = may_hold {
            let give = |place, rows| lists.set_further(first + place, rows);
            return self.segment.rows_of_some(keys, &column, may_hold, give);
        }
        let mut lists_of = first..;
        self.segment.rows_of_few(keys, &column, |rows| {
            if let Some(list) = lists_of.next() {
                lists.set_further(list, rows);
            }
        })
    }

    /// All rows of one key as a set; the filter admits every row.
    pub(crate) fn set_of(&self, key: VertexId) -> Result<VertexSet<'v>, Fault> {
        let ordinal = self.segment.index()?.ordinal(key)?;
        if ordinal == ABSENT {
            return Ok(VertexSet::empty());
        }
        if let Some(index) = self.segment.dense_list(ordinal)? {
            return Ok(VertexSet::of_index(index));
        }
        let rows = self.segment.rows_of_ordinal(ordinal)?;
        Ok(VertexSet::of_rows(self.columns.neighbours, rows))
    }

    /// The rows of one key, an empty range for what is no key.
    pub(crate) fn rows(&self, key: VertexId) -> Result<std::ops::Range<u64>, Fault> {
        match self.segment.index()?.ordinal(key)? {
            ABSENT => Ok(0..0),
            ordinal => self.segment.rows_of_ordinal(ordinal),
        }
    }
}

impl Segment<'_> {
    /// The set number of the vertex with this ordinal, where this is a signature segment.
    pub(crate) fn signature_value(&self, ordinal: u64) -> Result<u64, Fault> {
        let width = self.descriptor.flags >> flags::VALUE_WIDTH_SHIFT & 3;
        let at = self.descriptor.neighbours_at + (ordinal << width);
        with_source!(&self.side.neighbours, |source| Ok(match width {
            0 => source.items::<u8>(at, 1)?[0].into(),
            1 => source.items::<u16>(at, 1)?[0].into(),
            2 => source.items::<u32>(at, 1)?[0].into(),
            _ => source.items::<u64>(at, 1)?[0],
        }))
    }
}

impl GraphView for Snapshot {
    fn damage(&self) -> Option<ViewError> {
        Snapshot::damage(self)
    }

    fn predicate_id(&self, vertex: VertexId) -> Option<PredicateId> {
        self.by_vertex.get(&vertex).copied()
    }

    fn predicate_vertex(&self, predicate: PredicateId) -> VertexId {
        let vertex = self.predicates.get(predicate.0 as usize).copied();
        vertex
            .filter(|vertex| !vertex.is_unbound())
            .expect("the view gave this number out")
    }

    fn predicates(&self) -> Vec<PredicateId> {
        self.present.clone()
    }

    fn named_graphs(&self) -> Result<Vec<VertexId>, ViewError> {
        self.graphs()
            .map(|graphs| graphs.all().collect())
            .map_err(|fault| *fault)
    }

    fn keys(&self, segment: SegmentKey) -> Result<VertexSet<'_>, ViewError> {
        self.set_of_keys(segment).map_err(|fault| *fault)
    }

    fn vertices(&self, direction: Direction) -> Result<VertexSet<'_>, ViewError> {
        self.keys(SegmentKey {
            predicate: PredicateId::SIGNATURE,
            direction,
        })
    }

    fn keys_of_graph(
        &self,
        segment: SegmentKey,
        graph: VertexId,
        keys: &mut Vec<VertexId>,
    ) -> Result<(), ViewError> {
        self.graph_keys(segment, graph, keys)
            .map_err(|fault| *fault)
    }

    fn edges(&self, segment: SegmentKey, scope: GraphScope<'_>) -> Result<Option<u64>, ViewError> {
        self.known_edges(segment, scope).map_err(|fault| *fault)
    }

    fn neighbours(
        &self,
        segment: SegmentKey,
        vertex: VertexId,
        scope: GraphScope<'_>,
    ) -> Result<VertexSet<'_>, ViewError> {
        self.set_of_neighbours(segment, vertex, scope)
            .map_err(|fault| *fault)
    }

    fn lists<'v>(
        &'v self,
        segment: SegmentKey,
        keys: &[VertexId],
        scope: GraphScope<'_>,
        lists: &mut Lists<'v>,
    ) -> Result<Progress, ViewError> {
        self.fill_lists(segment, keys, scope, lists)
            .map_err(|fault| *fault)?;
        Ok(Progress::Ready)
    }

    fn located(&self, segment: SegmentKey, verify_bytes: u64) -> Result<Located, ViewError> {
        self.locate(segment, verify_bytes).map_err(|fault| *fault)
    }

    fn predicates_of(
        &self,
        direction: Direction,
        vertices: &[VertexId],
        predicates: &mut Vec<PredicateId>,
        ends: &mut Vec<u32>,
    ) -> Result<Progress, ViewError> {
        self.append_predicates(direction, vertices, predicates, ends)
            .map_err(|fault| *fault)?;
        Ok(Progress::Ready)
    }
}
