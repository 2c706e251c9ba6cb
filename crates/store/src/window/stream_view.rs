//! What a source of a standing query is: the stored graph, a window, or the union of a window and some stored graphs.
//!
//! A walk looks at one view for each source, and they are of one type ([`StreamView`]). Which it is, is asked once a
//! batch.
//!
//! **A union** is what classic C-SPARQL calls its default graph: all windows and the graphs of its `FROM` clauses. Its
//! windows are one [`Window`] over the slices of all; so only a stored share makes a union of two kinds. The stored
//! graphs of the share are merged into the default graph of the union. Named graphs are those of the window. Where the
//! window is a bag, a stored edge is one occurrence beside those of the window.
//!
//! Invariant: a predicate that the store has is numbered as the store numbers it. Others have the window's number above
//! [`OF_WINDOW`].
//!
//! Cost: a question to a union costs what it costs in both, and a copy of what the store answers. For keys and vertices the
//! lists of all stored keys are looked at, so a union is meant for patterns with a bound end.

use super::{Window, occurrences};
use crate::error::ViewError;
use crate::lists::{ListCursor, Lists, OwnedLists};
use crate::vertex_set::VertexSet;
use crate::view::{GraphScope, GraphView, Need, Progress, SegmentKey, Ticket};
use rdf::{Direction, PredicateId, VertexId};
use std::time::Duration;

/// Keys whose lists are asked for together.
const KEYS_ASKED: usize = 1024;
/// How long an answer of the store is waited for before it is asked again.
const PATIENCE: Duration = Duration::from_millis(20);

/// Numbers of predicates that only the window has begin here.
const OF_WINDOW: u32 = 1 << 31;

/// One of the views of a walk; see the module's documentation.
#[derive(Clone, Debug)]
pub enum StreamView<'a, S> {
    /// The stored graph.
    Stored(&'a S),
    /// A window, or several that are looked at as one.
    Window(Window),
    /// Both.
    Union(WindowAndStored<'a, S>),
}

/// A window and some graphs of the store as one graph.
#[derive(Clone, Debug)]
pub struct WindowAndStored<'a, S> {
    /// The window.
    pub window: Window,
    /// The store.
    pub stored: &'a S,
    /// Its graphs that are merged into the union, ascending; the default graph is [`GraphScope::DEFAULT_GRAPH`].
    pub graphs: Vec<VertexId>,
}

impl<S: GraphView> WindowAndStored<'_, S> {
    /// The store's graphs of a scope of the union; `None`: nothing of the store is in it.
    fn stored_scope(&self, scope: GraphScope<'_>) -> Option<GraphScope<'_>> {
        let is_default = match scope {
            _ if self.window.sees_occurrences(scope) => true,
            GraphScope::Default | GraphScope::Union => true,
            GraphScope::Merge(graphs) => graphs.contains(&GraphScope::DEFAULT_GRAPH),
            GraphScope::Named(_) | GraphScope::EachNamed | GraphScope::EachOf(_) => false,
        };
        match self.graphs[..] {
            _ if !is_default => None,
            [] => None,
            [GraphScope::DEFAULT_GRAPH] => Some(GraphScope::Default),
            [graph] => Some(GraphScope::Named(graph)),
            _ => Some(GraphScope::Merge(&self.graphs)),
        }
    }

    /// The segment as the window and as the store number it.
    fn segments(&self, segment: SegmentKey) -> [Option<SegmentKey>; 2] {
        let SegmentKey {
            predicate,
            direction,
        } = segment;
        let key = |predicate| SegmentKey {
            predicate,
            direction,
        };
        if predicate == PredicateId::SIGNATURE {
            return [Some(segment), Some(segment)];
        }
        if let Some(number) = predicate.0.checked_sub(OF_WINDOW) {
            return [Some(key(PredicateId(number))), None];
        }
        let vertex = self.stored.predicate_vertex(predicate);
        [self.window.predicate_id(vertex).map(key), Some(segment)]
    }

    /// The number of one of the window's predicates.
    fn number(&self, predicate: PredicateId) -> PredicateId {
        let vertex = self.window.predicate_vertex(predicate);
        let stored = self.stored.predicate_id(vertex);
        stored.unwrap_or(PredicateId(OF_WINDOW + predicate.0))
    }

    /// Asks both for one set and unites what they say.
    fn united(
        &self,
        segment: SegmentKey,
        ask_window: impl FnOnce(SegmentKey) -> Result<VertexSet<'static>, ViewError>,
        ask_stored: impl FnOnce(SegmentKey, &mut Vec<VertexId>) -> Result<(), ViewError>,
    ) -> Result<VertexSet<'static>, ViewError> {
        let [window, stored] = self.segments(segment);
        let mut all = Vec::new();
        if let Some(segment) = stored {
            ask_stored(segment, &mut all)?;
        }
        if let Some(segment) = window {
            let set = ask_window(segment)?;
            if all.is_empty() {
                return Ok(set);
            }
            set.decode(0, set.len(), &mut all)?;
            // Both ascend, and the stable sort merges two runs.
            all.sort();
            all.dedup();
        }
        Ok(VertexSet::from_sorted(all))
    }

    /// The store's keys of a segment that have an edge in the share's graphs: whoever asks for keys of a union is promised
    /// that each of them has a neighbour there. Blocks while a stored list has to be waited for.
    fn append_stored_keys(
        &self,
        segment: SegmentKey,
        out: &mut Vec<VertexId>,
    ) -> Result<(), ViewError> {
        if segment.predicate == PredicateId::SIGNATURE {
            for predicate in self.stored.predicates() {
                let segment = SegmentKey {
                    predicate,
                    ..segment
                };
                self.append_stored_keys(segment, out)?;
            }
            out.sort();
            out.dedup();
            return Ok(());
        }
        let Some(scope) = self.stored_scope(GraphScope::Union) else {
            return Ok(());
        };
        let mut keys = Vec::new();
        if let GraphScope::Named(graph) = scope {
            return self.stored.keys_of_graph(segment, graph, out);
        }
        copied(&self.stored.keys(segment)?, &mut keys)?;
        let (mut lists, mut degrees) = (Lists::new(), Vec::new());
        for keys in keys.chunks(KEYS_ASKED) {
            while let Progress::Pending(ticket) =
                self.stored.lists(segment, keys, scope, &mut lists)?
            {
                self.stored.wait(ticket, PATIENCE);
            }
            degrees.clear();
            lists.degrees(&mut degrees)?;
            let has_some = keys.iter().zip(&degrees);
            out.extend(
                has_some
                    .filter(|(_, degree)| **degree > 0)
                    .map(|(key, _)| *key),
            );
        }
        Ok(())
    }

    fn append_united(
        &self,
        segment: SegmentKey,
        keys: &[VertexId],
        scope: GraphScope<'_>,
        owned: &mut OwnedLists,
    ) -> Result<Progress, ViewError> {
        let [window, stored] = self.segments(segment);
        let mut of_window = Rows::default();
        if let Some(segment) = window {
            let _ = of_window.read(&self.window, segment, keys, scope)?;
        }
        let mut of_stored = Rows::default();
        if let (Some(segment), Some(scope)) = (stored, self.stored_scope(scope)) {
            let progress = of_stored.read(self.stored, segment, keys, scope)?;
            if progress != Progress::Ready {
                return Ok(progress);
            }
        }
        for list in 0..keys.len() as u32 {
            let begin = owned.neighbours.len();
            let [here, there] = [of_window.take(list), of_stored.take(list)];
            owned
                .neighbours
                .extend_from_slice(&of_window.neighbours[here.clone()]);
            owned
                .neighbours
                .extend_from_slice(&of_stored.neighbours[there.clone()]);
            if scope.binds_graph() {
                let are_both = !here.is_empty() && !there.is_empty();
                owned.graphs.extend_from_slice(&of_window.graphs[here]);
                let stored = std::iter::repeat_n(occurrences::stored_occurrence(), there.len());
                owned.graphs.extend(stored);
                if are_both {
                    sort_bound(owned, begin);
                }
            } else if !here.is_empty() && !there.is_empty() {
                let mut merged = owned.neighbours.split_off(begin);
                merged.sort();
                merged.dedup();
                owned.neighbours.append(&mut merged);
            }
            owned.push_from(begin);
        }
        Ok(Progress::Ready)
    }
}

/// Sorts the rows of the last list by neighbour and graph.
fn sort_bound(owned: &mut OwnedLists, begin: usize) {
    let neighbours = owned.neighbours.drain(begin..);
    let mut rows: Vec<(VertexId, VertexId)> = neighbours.zip(owned.graphs.drain(begin..)).collect();
    rows.sort_unstable();
    owned.neighbours.extend(rows.iter().map(|row| row.0));
    owned.graphs.extend(rows.iter().map(|row| row.1));
}

/// The rows of a batch of lists.
#[derive(Default)]
struct Rows {
    numbers: Vec<u32>,
    neighbours: Vec<VertexId>,
    graphs: Vec<VertexId>,
    taken: usize,
}

impl Rows {
    fn read<V: GraphView>(
        &mut self,
        view: &V,
        segment: SegmentKey,
        keys: &[VertexId],
        scope: GraphScope<'_>,
    ) -> Result<Progress, ViewError> {
        let mut lists = Lists::new();
        let progress = view.lists(segment, keys, scope, &mut lists)?;
        if progress == Progress::Ready {
            let graphs = scope.binds_graph().then_some(&mut self.graphs);
            let mut cursor = ListCursor::default();
            let is_done = lists.expand(
                &mut cursor,
                usize::MAX,
                &mut self.numbers,
                &mut self.neighbours,
                graphs,
            )?;
            assert!(is_done, "there is room for all rows");
        }
        Ok(progress)
    }

    /// The rows of the next list, which is this one.
    fn take(&mut self, list: u32) -> std::ops::Range<usize> {
        let begin = self.taken;
        let own = self.numbers[begin..].iter();
        self.taken += own.take_while(|number| **number == list).count();
        begin..self.taken
    }
}

fn copied(set: &VertexSet<'_>, out: &mut Vec<VertexId>) -> Result<(), ViewError> {
    set.decode(0, set.len(), out)
}

impl<S: GraphView> GraphView for WindowAndStored<'_, S> {
    fn fetch(&self, needs: &[Need<'_>]) -> Result<Progress, ViewError> {
        let mut asked = Vec::with_capacity(needs.len());
        for need in needs {
            let stored = |segment| self.segments(segment)[1];
            asked.extend(match *need {
                Need::Keys(segment) => stored(segment).map(Need::Keys),
                Need::Vertices(direction) => Some(Need::Vertices(direction)),
                Need::Neighbours(segment, vertex, scope) => stored(segment)
                    .zip(self.stored_scope(scope))
                    .map(|(segment, scope)| Need::Neighbours(segment, vertex, scope)),
                Need::Edges(segment, scope) => stored(segment)
                    .zip(self.stored_scope(scope))
                    .map(|(segment, scope)| Need::Edges(segment, scope)),
                Need::KeysOfGraph(..) | Need::NamedGraphs => None,
            });
        }
        match asked[..] {
            [] => Ok(Progress::Ready),
            _ => self.stored.fetch(&asked),
        }
    }

    fn wait(&self, ticket: Ticket, patience: Duration) -> bool {
        self.stored.wait(ticket, patience)
    }

    fn predicate_id(&self, vertex: VertexId) -> Option<PredicateId> {
        let stored = self.stored.predicate_id(vertex);
        stored.or_else(|| {
            let number = self.window.predicate_id(vertex)?;
            Some(PredicateId(OF_WINDOW + number.0))
        })
    }

    fn predicate_vertex(&self, predicate: PredicateId) -> VertexId {
        match predicate.0.checked_sub(OF_WINDOW) {
            Some(number) => self.window.predicate_vertex(PredicateId(number)),
            None => self.stored.predicate_vertex(predicate),
        }
    }

    fn predicates(&self) -> Vec<PredicateId> {
        let mut predicates = self.stored.predicates();
        let window = self.window.predicates();
        predicates.extend(window.into_iter().map(|predicate| self.number(predicate)));
        predicates.sort_unstable();
        predicates.dedup();
        predicates
    }

    fn named_graphs(&self) -> Result<Vec<VertexId>, ViewError> {
        self.window.named_graphs()
    }

    fn keys(&self, segment: SegmentKey) -> Result<VertexSet<'_>, ViewError> {
        self.united(
            segment,
            |segment| Ok(self.window.keys_owned(segment)),
            |segment, out| self.append_stored_keys(segment, out),
        )
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
        match self.segments(segment)[0] {
            Some(segment) => self.window.keys_of_graph(segment, graph, keys),
            None => Ok(()),
        }
    }

    fn edges(&self, segment: SegmentKey, scope: GraphScope<'_>) -> Result<Option<u64>, ViewError> {
        let [window, stored] = self.segments(segment);
        let window = match window {
            Some(segment) => self.window.edges(segment, scope)?,
            None => Some(0),
        };
        let stored = match (stored, self.stored_scope(scope)) {
            (Some(segment), Some(scope)) => self.stored.edges(segment, scope)?,
            _ => Some(0),
        };
        // Two counts do not tell how many edges are in both.
        Ok((window == Some(0) && stored == Some(0)).then_some(0))
    }

    fn neighbours(
        &self,
        segment: SegmentKey,
        vertex: VertexId,
        scope: GraphScope<'_>,
    ) -> Result<VertexSet<'_>, ViewError> {
        self.united(
            segment,
            |segment| Ok(self.window.neighbours_owned(segment, vertex, scope)),
            |segment, out| match self.stored_scope(scope) {
                Some(scope) => copied(&self.stored.neighbours(segment, vertex, scope)?, out),
                None => Ok(()),
            },
        )
    }

    fn lists<'v>(
        &'v self,
        segment: SegmentKey,
        keys: &[VertexId],
        scope: GraphScope<'_>,
        lists: &mut Lists<'v>,
    ) -> Result<Progress, ViewError> {
        let mut filled = Ok(Progress::Ready);
        lists.refill_owned(false, |owned| {
            filled = self.append_united(segment, keys, scope, owned);
            if !matches!(filled, Ok(Progress::Ready)) {
                owned.neighbours.clear();
                owned.graphs.clear();
                owned.lists.clear();
            }
        });
        filled
    }

    fn predicates_of(
        &self,
        direction: Direction,
        vertices: &[VertexId],
        predicates: &mut Vec<PredicateId>,
        ends: &mut Vec<u32>,
    ) -> Result<Progress, ViewError> {
        let (mut stored, mut stored_ends) = (Vec::new(), Vec::new());
        let asked =
            self.stored
                .predicates_of(direction, vertices, &mut stored, &mut stored_ends)?;
        if asked != Progress::Ready {
            return Ok(asked);
        }
        let (mut window, mut window_ends) = (Vec::new(), Vec::new());
        let _ = self
            .window
            .predicates_of(direction, vertices, &mut window, &mut window_ends)?;
        let (mut here, mut there) = (0, 0);
        for (stored_end, window_end) in stored_ends.into_iter().zip(window_ends) {
            let begin = predicates.len();
            predicates.extend(&stored[here..stored_end as usize]);
            let more = window[there..window_end as usize].iter();
            predicates.extend(more.map(|predicate| self.number(*predicate)));
            predicates[begin..].sort_unstable();
            let mut own = predicates.split_off(begin);
            own.dedup();
            predicates.append(&mut own);
            ends.push(predicates.len() as u32);
            (here, there) = (stored_end as usize, window_end as usize);
        }
        Ok(Progress::Ready)
    }
}

/// Lets each kind answer.
macro_rules! each {
    ($self:ident, $view:ident => $answer:expr) => {
        match $self {
            StreamView::Stored($view) => $answer,
            StreamView::Window($view) => $answer,
            StreamView::Union($view) => $answer,
        }
    };
}

impl<S: GraphView> GraphView for StreamView<'_, S> {
    fn commit_number(&self) -> Option<u64> {
        each!(self, view => view.commit_number())
    }

    fn fetch(&self, needs: &[Need<'_>]) -> Result<Progress, ViewError> {
        each!(self, view => view.fetch(needs))
    }

    fn wait(&self, ticket: Ticket, patience: Duration) -> bool {
        each!(self, view => view.wait(ticket, patience))
    }

    fn predicate_id(&self, vertex: VertexId) -> Option<PredicateId> {
        each!(self, view => view.predicate_id(vertex))
    }

    fn predicate_vertex(&self, predicate: PredicateId) -> VertexId {
        each!(self, view => view.predicate_vertex(predicate))
    }

    fn predicates(&self) -> Vec<PredicateId> {
        each!(self, view => view.predicates())
    }

    fn named_graphs(&self) -> Result<Vec<VertexId>, ViewError> {
        each!(self, view => view.named_graphs())
    }

    fn keys(&self, segment: SegmentKey) -> Result<VertexSet<'_>, ViewError> {
        each!(self, view => view.keys(segment))
    }

    fn vertices(&self, direction: Direction) -> Result<VertexSet<'_>, ViewError> {
        each!(self, view => view.vertices(direction))
    }

    fn keys_of_graph(
        &self,
        segment: SegmentKey,
        graph: VertexId,
        keys: &mut Vec<VertexId>,
    ) -> Result<(), ViewError> {
        each!(self, view => view.keys_of_graph(segment, graph, keys))
    }

    fn edges(&self, segment: SegmentKey, scope: GraphScope<'_>) -> Result<Option<u64>, ViewError> {
        each!(self, view => view.edges(segment, scope))
    }

    fn neighbours(
        &self,
        segment: SegmentKey,
        vertex: VertexId,
        scope: GraphScope<'_>,
    ) -> Result<VertexSet<'_>, ViewError> {
        each!(self, view => view.neighbours(segment, vertex, scope))
    }

    fn lists<'v>(
        &'v self,
        segment: SegmentKey,
        keys: &[VertexId],
        scope: GraphScope<'_>,
        lists: &mut Lists<'v>,
    ) -> Result<Progress, ViewError> {
        each!(self, view => view.lists(segment, keys, scope, lists))
    }

    fn predicates_of(
        &self,
        direction: Direction,
        vertices: &[VertexId],
        predicates: &mut Vec<PredicateId>,
        ends: &mut Vec<u32>,
    ) -> Result<Progress, ViewError> {
        each!(self, view => view.predicates_of(direction, vertices, predicates, ends))
    }
}
