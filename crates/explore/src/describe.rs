//! `DESCRIBE`: the concise bounded description of vertices, found breadth-first.
//!
//! A description of a vertex is every edge that leaves it in the default graph of the query's
//! dataset, and, for each blank node that such an edge leads to, that node's description too (CBD,
//! W3C member submission of 2005-06-03, without its clause on reified statements). SPARQL 1.1 Query
//! section 16.4 leaves the choice to the engine.
//!
//! Costs the edges given out. Vertices come level by level, so no stack grows with the data; the set
//! of those that were seen and the levels draw on the budget before they grow, and neither takes long
//! to grow or to be freed.

use crate::ask::{self, wait_for};
use crate::drawn_lists::DrawnLists;
use crate::error::WalkError;
use crate::limits::Limits;
use crate::prepare::Prepared;
use crate::scope::{FixedScope, ResolvedScope};
use crate::step::aggregate::paged::{Meter, Paged};
use crate::step::path::visited::Visited;
use query::plan::{Scope, Source};
use rdf::{Direction, Tag, VertexId};
use store::ListCursor;
use store::view::{GraphView, SegmentKey};

/// Edges given out together.
const BATCH: usize = 1024;
/// Some edges: a column each of subjects, predicates and objects, of the same length.
pub type Edges = [Vec<VertexId>; 3];

/// The vertices to be described, each once, and those that were met since.
pub struct Seeds<'a> {
    visited: Visited,
    /// The vertices whose edges are still to be given.
    next: Paged<VertexId>,
    meter: Meter<'a>,
}

impl<'a> Seeds<'a> {
    /// None yet.
    pub fn new(limits: Limits<'a>) -> Seeds<'a> {
        Seeds {
            visited: Visited::new(),
            next: Paged::default(),
            meter: Meter::new(limits),
        }
    }

    /// Adds the vertices of a column. Unbound cells and query-local ids have no edges and are left out.
    pub fn add(&mut self, column: &[VertexId]) -> Result<(), WalkError> {
        column.iter().try_for_each(|&vertex| self.visit(vertex))
    }

    fn visit(&mut self, vertex: VertexId) -> Result<(), WalkError> {
        let is_stored = !vertex.is_unbound() && !vertex.has_tag(Tag::QueryLocal);
        if is_stored && self.visited.insert(vertex, &mut self.meter)? {
            self.next.push(vertex, &mut self.meter)?;
        }
        Ok(())
    }
}

/// Shows `each` the edges of the descriptions of `seeds`, every edge once. The view is the store's.
pub fn describe<V: GraphView>(
    prepared: &Prepared<'_>,
    view: &V,
    limits: Limits<'_>,
    seeds: &mut Seeds<'_>,
    each: &mut dyn FnMut(&Edges) -> Result<(), WalkError>,
) -> Result<(), WalkError> {
    let ResolvedScope::Fixed(scope) = prepared
        .scene()
        .dataset(Source::STORE)
        .resolve(Scope::Default, &[])
    else {
        return Ok(());
    };
    let mut search = Search {
        prepared,
        view,
        limits,
        scope,
        seeds,
        edges: Edges::default(),
    };
    while search.seeds.next.len() > 0 {
        let level = std::mem::take(&mut search.seeds.next);
        for place in 0..level.len() {
            search.vertex(*level.get(place), each)?;
        }
        search.seeds.meter.shrink(level.bytes());
    }
    if !search.edges[0].is_empty() {
        each(&search.edges)?;
    }
    Ok(())
}

struct Search<'s, 'a, 'b, V> {
    prepared: &'s Prepared<'a>,
    view: &'s V,
    limits: Limits<'s>,
    scope: FixedScope,
    seeds: &'s mut Seeds<'b>,
    edges: Edges,
}

impl<V: GraphView> Search<'_, '_, '_, V> {
    fn vertex(
        &mut self,
        vertex: VertexId,
        each: &mut dyn FnMut(&Edges) -> Result<(), WalkError>,
    ) -> Result<(), WalkError> {
        self.limits.check()?;
        let (mut predicates, mut ends) = (Vec::new(), Vec::new());
        let direction = Direction::Out;
        wait_for(self.view, &self.limits, || {
            let (predicates, ends) = (&mut predicates, &mut ends);
            ask::ready(
                self.view
                    .predicates_of(direction, &[vertex], predicates, ends)?,
            )
        })?;
        let mut lists = DrawnLists::default();
        for predicate in predicates {
            let segment = SegmentKey {
                predicate,
                direction,
            };
            let scope = self
                .prepared
                .scene()
                .dataset(Source::STORE)
                .graphs(self.scope);
            wait_for(self.view, &self.limits, || {
                ask::ready(lists.ask(self.view, self.limits, segment, &[vertex], scope)?)
            })?;
            let name = self.view.predicate_vertex(predicate);
            let mut cursor = ListCursor::default();
            let mut rows = Vec::new();
            loop {
                let from = self.edges[2].len();
                rows.clear();
                let done = lists.expand(&mut cursor, BATCH, &mut rows, &mut self.edges[2], None)?;
                let found = self.edges[2].len();
                assert_eq!(rows.len(), found - from, "a neighbour has its list");
                self.edges[0].resize(found, vertex);
                self.edges[1].resize(found, name);
                for at in from..found {
                    let object = self.edges[2][at];
                    if object.has_tag(Tag::Blank) {
                        self.seeds.visit(object)?;
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
