//! `DESCRIBE`: the concise bounded description of vertices, found breadth-first.
//!
//! A description of a vertex is every edge that leaves it in the default graph of the query's
//! dataset, and, for each blank node that such an edge leads to, that node's description too (CBD,
//! W3C member submission of 2005-06-03, without its clause on reified statements). SPARQL 1.1 Query
//! section 16.4 leaves the choice to the engine.
//!
//! Costs the edges given out; the visited set draws on the budget. Vertices come level by level, so
//! no stack grows with the data.

use crate::error::WalkError;
use crate::limits::{Limits, Reservation};
use crate::prepare::Prepared;
use crate::scope::{FixedScope, ResolvedScope};
use hashbrown::HashSet;
use query::plan::Scope;
use rdf::{Direction, Tag, VertexId};
use store::view::{GraphView, Progress, SegmentKey};
use store::{ListCursor, Lists};

/// Edges given out together.
const BATCH: usize = 1024;
/// Bytes of a visited vertex: its cell, at a load of a half, and its place in the queue.
const VISITED_BYTES: u64 = 32;

/// Some edges: a column each of subjects, predicates and objects, of the same length.
pub type Edges = [Vec<VertexId>; 3];

/// Shows `each` the edges of the descriptions of `seeds`, every edge once. Seeds may hold equal
/// vertices, unbound cells and query-local ids, which have no edges.
pub fn describe<V: GraphView>(
    prepared: &Prepared<'_>,
    view: &V,
    limits: Limits<'_>,
    seeds: &[VertexId],
    each: &mut dyn FnMut(&Edges) -> Result<(), WalkError>,
) -> Result<(), WalkError> {
    let ResolvedScope::Fixed(scope) = prepared.dataset().resolve(Scope::Default, &[]) else {
        return Ok(());
    };
    let mut search = Search {
        prepared,
        view,
        limits,
        scope,
        visited: HashSet::new(),
        reservation: Reservation::new(limits),
        next: Vec::new(),
        edges: Edges::default(),
    };
    for &seed in seeds {
        search.visit(seed)?;
    }
    while !search.next.is_empty() {
        for vertex in std::mem::take(&mut search.next) {
            search.vertex(vertex, each)?;
        }
    }
    if !search.edges[0].is_empty() {
        each(&search.edges)?;
    }
    Ok(())
}

struct Search<'s, 'a, V> {
    prepared: &'s Prepared<'a>,
    view: &'s V,
    limits: Limits<'s>,
    scope: FixedScope,
    visited: HashSet<VertexId>,
    reservation: Reservation<'s>,
    /// The next level.
    next: Vec<VertexId>,
    edges: Edges,
}

impl<V: GraphView> Search<'_, '_, V> {
    fn visit(&mut self, vertex: VertexId) -> Result<(), WalkError> {
        let is_stored = !vertex.is_unbound() && !vertex.has_tag(Tag::QueryLocal);
        if is_stored && self.visited.insert(vertex) {
            self.reservation
                .cover(self.visited.len() as u64 * VISITED_BYTES)?;
            self.next.push(vertex);
        }
        Ok(())
    }

    fn vertex(
        &mut self,
        vertex: VertexId,
        each: &mut dyn FnMut(&Edges) -> Result<(), WalkError>,
    ) -> Result<(), WalkError> {
        self.limits.check()?;
        let (mut predicates, mut ends) = (Vec::new(), Vec::new());
        let direction = Direction::Out;
        let progress = self
            .view
            .predicates_of(direction, &[vertex], &mut predicates, &mut ends)?;
        assert_eq!(progress, Progress::Ready, "a local view answers at once");
        let mut lists = Lists::new();
        for predicate in predicates {
            let segment = SegmentKey {
                predicate,
                direction,
            };
            let scope = self.prepared.dataset().graphs(self.scope);
            let progress = self.view.lists(segment, &[vertex], scope, &mut lists)?;
            assert_eq!(progress, Progress::Ready, "a local view answers at once");
            let name = self.view.predicate_vertex(predicate);
            let mut cursor = ListCursor::default();
            let mut rows = Vec::new();
            loop {
                let from = self.edges[2].len();
                rows.clear();
                let done = lists.expand(&mut cursor, BATCH, &mut rows, &mut self.edges[2], None)?;
                let found = self.edges[2].len();
                self.edges[0].resize(found, vertex);
                self.edges[1].resize(found, name);
                for at in from..found {
                    let object = self.edges[2][at];
                    if object.has_tag(Tag::Blank) {
                        self.visit(object)?;
                    }
                }
                if found >= BATCH {
                    each(&self.edges)?;
                    self.edges.iter_mut().for_each(Vec::clear);
                    self.limits.check()?;
                }
                if done {
                    break;
                }
            }
        }
        Ok(())
    }
}
