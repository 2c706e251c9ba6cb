//! The whole graph as one node sees it that holds a part: what it owns is at hand, the rest is fetched from its owners.
//!
//! Every question is answered, so a walk over it is right wherever it is: this is the papers' in-place execution (OSDI'16
//! section 5.3), with messages for reads. What a question means where every node takes its share of a step says its
//! [`Share`].
//!
//! Whether a scope filters a segment, and how many edges it has, is a question about all parts: nodes that answered it for
//! themselves would choose differently. Such an [extent](Extent) is asked once for a number of the graph, and kept by the node.
//!
//! Cost of a question whose answer is here: that of the part, and one look into a hash table where the segment's extent is
//! kept; of lists that came, a copy.

use crate::ask::{Asks, Purpose};
use crate::ground::Ground;
use crate::home::share::Share;
use crate::question::rows;
use crate::question::{Extent, OwnedScope, SetName};
use crate::session::{Session, Slot};
use crate::terms::PartTerms;
use rdf::{Direction, PredicateId, VertexId};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use store::view::{GraphScope, GraphView, Need, Progress, SegmentKey, Ticket, ViewError};
use store::{Lists, OwnedLists, VertexSet};

/// See the module's documentation. Made for a query: what was fetched stays with its session.
pub struct RemoteView<P, T> {
    ground: Arc<Ground<P, T>>,
    session: Arc<Session>,
    share: Share,
    /// Whether few rows come, so that a check looks in their lists before it has a whole list of another node's fetched.
    has_few_rows: bool,
    /// Whether a plan is walked by now.
    is_walked: Arc<AtomicBool>,
}

impl<P: GraphView + Send + Sync + 'static, T: PartTerms> RemoteView<P, T> {
    pub(crate) fn new(ground: &Arc<Ground<P, T>>, session: &Arc<Session>, share: Share) -> Self {
        RemoteView {
            is_walked: Arc::default(),
            ground: Arc::clone(ground),
            session: Arc::clone(session),
            share,
            has_few_rows: false,
        }
    }

    /// The same for few rows.
    pub(crate) fn of_few_rows(mut self) -> Self {
        self.has_few_rows = true;
        self
    }

    /// A plan over it is prepared: what is asked from now on counts as asked by a walk.
    pub fn begin_walk(&self) {
        self.is_walked.store(true, Ordering::Relaxed);
    }

    /// To be set when a plan over it is prepared, for the figures.
    pub(crate) fn is_walked(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_walked)
    }

    fn purpose(&self) -> Purpose {
        if self.is_walked.load(Ordering::Relaxed) {
            Purpose::Walk
        } else {
            Purpose::Prepare
        }
    }

    fn part(&self) -> &P {
        self.ground.part()
    }

    fn owns(&self, vertex: VertexId) -> bool {
        self.ground.owns(vertex)
    }

    fn is_in_pieces(&self, segment: SegmentKey) -> bool {
        self.ground.pieces() == Some(segment)
    }

    /// Whether the lists of a segment that this view means are all here.
    fn is_split(&self, segment: SegmentKey) -> bool {
        self.is_in_pieces(segment) && self.share == Share::Members
    }

    /// Whether all that this view means of these vertices' lists is here.
    fn has_lists(&self, segment: SegmentKey, vertices: &[VertexId]) -> bool {
        if self.is_in_pieces(segment) {
            self.is_split(segment)
        } else {
            vertices.iter().all(|vertex| self.owns(*vertex))
        }
    }

    /// The elements of a set that are this node's share.
    fn shared(&self, set: &[VertexId]) -> VertexSet<'static> {
        let is_mine = |vertex: &VertexId| self.share == Share::Whole || self.owns(*vertex);
        VertexSet::from_sorted(set.iter().copied().filter(is_mine).collect())
    }

    /// A set of all parts. Asserts that it was asked ahead.
    fn set(&self, name: &SetName) -> Result<Arc<Vec<VertexId>>, ViewError> {
        let kept = self.session.kept();
        kept.failure()?;
        match kept.sets.get(name) {
            Some(Slot::Here(set)) => Ok(Arc::clone(set)),
            _ => unreachable!("{name:?} is asked ahead"),
        }
    }

    fn extent(&self, segment: SegmentKey, scope: GraphScope<'_>) -> Result<Extent, ViewError> {
        let kept = self.session.kept();
        kept.failure()?;
        match kept.extents.get(&(segment, OwnedScope::of(scope))) {
            Some(Slot::Here(extent)) => Ok(*extent),
            _ => unreachable!("the extent of {segment:?} is asked ahead"),
        }
    }

    /// Whether a set of keys is put together of all parts.
    fn is_of_all(&self, segment: SegmentKey) -> bool {
        self.share == Share::Whole || self.is_in_pieces(segment)
    }

    /// The sets that have to be here before the vertices of a direction are told.
    fn sets_of_vertices(&self, direction: Direction) -> Option<SetName> {
        if self.share == Share::Whole {
            return Some(SetName::Vertices(direction));
        }
        // A class has its members elsewhere, perhaps.
        let classes = self.ground.pieces().map(SetName::Keys);
        classes.filter(|_| direction == Direction::In)
    }

    fn need(&self, asks: &mut Asks<'_, P, T>, need: &Need<'_>) {
        match *need {
            Need::Keys(segment) if segment.predicate == PredicateId::SIGNATURE => {
                self.sets_of_vertices(segment.direction)
                    .into_iter()
                    .for_each(|set| asks.set(set));
            }
            Need::Keys(segment) if self.is_of_all(segment) => asks.set(SetName::Keys(segment)),
            Need::Vertices(direction) => {
                self.sets_of_vertices(direction)
                    .into_iter()
                    .for_each(|set| asks.set(set));
            }
            Need::KeysOfGraph(segment, graph) if self.is_of_all(segment) => {
                asks.set(SetName::KeysOfGraph(segment, graph));
            }
            Need::Keys(_) | Need::KeysOfGraph(..) => {}
            Need::NamedGraphs => asks.set(SetName::NamedGraphs),
            Need::Edges(segment, scope) => asks.extent(segment, scope),
            Need::Neighbours(segment, vertex, scope) => {
                self.need_lists(asks, segment, &[vertex], scope, Purpose::Prepare);
            }
        }
    }

    fn need_lists(
        &self,
        asks: &mut Asks<'_, P, T>,
        segment: SegmentKey,
        keys: &[VertexId],
        scope: GraphScope<'_>,
        purpose: Purpose,
    ) {
        if self.is_split(segment) {
            return;
        }
        if self.is_in_pieces(segment) {
            asks.lists(segment, scope, keys.iter().copied(), true, purpose);
        } else {
            let away = keys.iter().copied().filter(|key| !self.owns(*key));
            asks.lists(segment, scope, away, false, purpose);
        }
    }

    /// The lists of keys of which some are elsewhere, or that are filtered there.
    fn gathered<'v>(
        &'v self,
        segment: SegmentKey,
        keys: &[VertexId],
        scope: GraphScope<'_>,
        is_exact: bool,
        lists: &mut Lists<'v>,
    ) -> Result<(), ViewError> {
        let is_whole_piece = self.is_in_pieces(segment) && !self.is_split(segment);
        let is_here =
            |key: &VertexId| !is_whole_piece && (self.is_split(segment) || self.owns(*key));
        // Rows that come from one often lie side by side: a list is read once for all of them.
        let mut here: Vec<VertexId> = keys.iter().copied().filter(is_here).collect();
        here.dedup();
        let mut of_part = Lists::new();
        if !here.is_empty() {
            let progress = self.part().lists(segment, &here, scope, &mut of_part)?;
            assert_eq!(progress, Progress::Ready, "a part lets nobody wait");
        }
        let fill = |owned: &mut OwnedLists| {
            let columns = (&mut owned.neighbours, &mut owned.graphs);
            let ends = rows::read(&of_part, scope, columns)?;
            // Not before: reading may wait for a disk.
            let kept = self.session.kept();
            kept.failure()?;
            let shelf = kept.shelves.get(&(segment, OwnedScope::of(scope)));
            let starts = std::iter::once(0).chain(ends.iter().copied());
            let mut next_own = starts.zip(&ends).map(|(start, end)| start..*end);
            let (mut own, mut other) = (None, None);
            for key in keys {
                let is_own = is_here(key);
                let last: &mut Option<(VertexId, Range<usize>)> =
                    if is_own { &mut own } else { &mut other };
                if let Some((of, list)) = last
                    && of == key
                {
                    owned.lists.push(list.clone());
                    continue;
                }
                let list = if is_own {
                    next_own.next().expect("a list for each key here")
                } else {
                    let place = shelf.and_then(|shelf| shelf.places.get(key));
                    match (shelf, place) {
                        (Some(shelf), Some(Slot::Here(list))) => shelf.rows.copy(*list, owned),
                        _ => unreachable!("lists are asked for before they are read"),
                    }
                };
                owned.lists.push(list.clone());
                *last = Some((*key, list));
            }
            Ok::<(), ViewError>(())
        };
        let mut filled = Ok(());
        lists.refill_owned(is_exact, |owned| {
            filled = fill(owned);
            if filled.is_err() {
                *owned = OwnedLists::default();
            }
        });
        filled
    }
}

impl<P: GraphView + Send + Sync + 'static, T: PartTerms> GraphView for RemoteView<P, T> {
    fn commit_number(&self) -> Option<u64> {
        self.part().commit_number()
    }

    fn fetch(&self, needs: &[Need<'_>]) -> Result<Progress, ViewError> {
        let mut asks = Asks::new(&self.ground, &self.session)?;
        for need in needs {
            self.need(&mut asks, need);
        }
        Ok(asks.send())
    }

    fn wait(&self, ticket: Ticket, patience: Duration) -> bool {
        self.ground.wait(ticket, patience)
    }

    fn asks_others(&self) -> bool {
        self.ground.placement().nodes() > 1
    }

    fn is_far(&self, segment: SegmentKey, vertex: VertexId) -> bool {
        self.has_few_rows && !self.has_lists(segment, &[vertex])
    }

    fn predicate_id(&self, vertex: VertexId) -> Option<PredicateId> {
        self.part().predicate_id(vertex)
    }

    fn predicate_vertex(&self, predicate: PredicateId) -> VertexId {
        self.part().predicate_vertex(predicate)
    }

    fn predicates(&self) -> Vec<PredicateId> {
        self.part().predicates()
    }

    fn named_graphs(&self) -> Result<Vec<VertexId>, ViewError> {
        Ok(self.set(&SetName::NamedGraphs)?.to_vec())
    }

    fn keys(&self, segment: SegmentKey) -> Result<VertexSet<'_>, ViewError> {
        if segment.predicate == PredicateId::SIGNATURE {
            return self.vertices(segment.direction);
        }
        if self.is_of_all(segment) {
            return Ok(self.shared(&self.set(&SetName::Keys(segment))?));
        }
        self.part().keys(segment)
    }

    fn vertices(&self, direction: Direction) -> Result<VertexSet<'_>, ViewError> {
        let Some(name) = self.sets_of_vertices(direction) else {
            let mut own = Vec::new();
            let set = self.part().vertices(direction)?;
            set.decode(0, set.len(), &mut own)?;
            return Ok(self.shared(&own));
        };
        let set = self.set(&name)?;
        if self.share == Share::Whole {
            return Ok(self.shared(&set));
        }
        let mut vertices = set.to_vec();
        let own = self.part().vertices(direction)?;
        own.decode(0, own.len(), &mut vertices)?;
        vertices.sort_unstable();
        vertices.dedup();
        Ok(self.shared(&vertices))
    }

    fn keys_of_graph(
        &self,
        segment: SegmentKey,
        graph: VertexId,
        keys: &mut Vec<VertexId>,
    ) -> Result<(), ViewError> {
        if !self.is_of_all(segment) {
            return self.part().keys_of_graph(segment, graph, keys);
        }
        let found = self.set(&SetName::KeysOfGraph(segment, graph))?;
        let is_mine = |key: &&VertexId| self.share == Share::Whole || self.owns(**key);
        keys.extend(found.iter().filter(is_mine));
        Ok(())
    }

    fn edges(&self, segment: SegmentKey, scope: GraphScope<'_>) -> Result<Option<u64>, ViewError> {
        Ok(self.extent(segment, scope)?.edges)
    }

    fn neighbours(
        &self,
        segment: SegmentKey,
        vertex: VertexId,
        scope: GraphScope<'_>,
    ) -> Result<VertexSet<'_>, ViewError> {
        if self.has_lists(segment, &[vertex]) {
            return self.part().neighbours(segment, vertex, scope);
        }
        let mut lists = Lists::new();
        self.gathered(segment, &[vertex], scope, true, &mut lists)?;
        Ok(lists.owned_set(0).expect("it was gathered"))
    }

    fn lists<'v>(
        &'v self,
        segment: SegmentKey,
        keys: &[VertexId],
        scope: GraphScope<'_>,
        lists: &mut Lists<'v>,
    ) -> Result<Progress, ViewError> {
        if self.has_lists(segment, keys)
            && let Some(extent) = self.ground.common_extent(&(segment, OwnedScope::of(scope)))
        {
            // All of it is here, as most of the time: nothing is to be asked, and nothing to be put together.
            let progress = self.part().lists(segment, keys, scope, lists)?;
            if lists.is_exact() == extent.is_exact {
                return Ok(progress);
            }
        }
        let mut asks = Asks::new(&self.ground, &self.session)?;
        asks.extent(segment, scope);
        self.need_lists(&mut asks, segment, keys, scope, self.purpose());
        if let pending @ Progress::Pending(_) = asks.send() {
            // What came for another batch lies where this one will.
            lists.refill_owned(true, |_| {});
            return Ok(pending);
        }
        let is_exact = self.extent(segment, scope)?.is_exact;
        if self.has_lists(segment, keys) {
            let progress = self.part().lists(segment, keys, scope, lists)?;
            if lists.is_exact() == is_exact {
                return Ok(progress);
            }
        }
        self.gathered(segment, keys, scope, is_exact, lists)?;
        Ok(Progress::Ready)
    }

    fn predicates_of(
        &self,
        direction: Direction,
        vertices: &[VertexId],
        predicates: &mut Vec<PredicateId>,
        ends: &mut Vec<u32>,
    ) -> Result<Progress, ViewError> {
        let kind = self.ground.pieces().filter(|_| direction == Direction::In);
        let classes = kind.map(SetName::Keys);
        let mut asks = Asks::new(&self.ground, &self.session)?;
        asks.predicates_of(direction, vertices.iter().copied());
        if let Some(classes) = &classes {
            asks.set(classes.clone());
        }
        if let pending @ Progress::Pending(_) = asks.send() {
            return Ok(pending);
        }
        let classes = classes.map(|classes| self.set(&classes)).transpose()?;
        let here: Vec<VertexId> = vertices
            .iter()
            .copied()
            .filter(|one| self.owns(*one))
            .collect();
        let (mut own, mut own_ends) = (Vec::new(), Vec::new());
        let progress = self
            .part()
            .predicates_of(direction, &here, &mut own, &mut own_ends)?;
        assert_eq!(progress, Progress::Ready, "a part lets nobody wait");
        let kept = self.session.kept();
        kept.failure()?;
        let (mut start, mut next_own) = (0, own_ends.iter());
        for &vertex in vertices {
            let run = if self.owns(vertex) {
                let end = *next_own.next().expect("a run for each vertex here") as usize;
                let run = &own[start..end];
                start = end;
                run
            } else {
                match kept.predicates.get(&(direction, vertex)) {
                    Some(Slot::Here(run)) => run,
                    _ => unreachable!("predicates are asked for before they are read"),
                }
            };
            // Its members say which predicates a class has, and they lie anywhere.
            let is_kind =
                |predicate: &PredicateId| kind.is_some_and(|kind| kind.predicate == *predicate);
            predicates.extend(run.iter().filter(|predicate| !is_kind(predicate)));
            let is_class = |classes: &Arc<Vec<VertexId>>| classes.binary_search(&vertex).is_ok();
            if classes.as_ref().is_some_and(is_class) {
                predicates.extend(kind.map(|kind| kind.predicate));
            }
            ends.push(u32::try_from(predicates.len()).expect("a batch has fewer"));
        }
        Ok(Progress::Ready)
    }
}
