//! The whole graph as one node sees it that holds a part: what it owns is at hand, the rest is fetched from its owners.
//!
//! Every question is answered, so a walk over it is right wherever it is; what was not at hand is counted ([`Ledger`]). A
//! question has one of three meanings, because the same step asks for another thing where every node takes its share of it:
//!
//! | [`Share`] | keys, vertices | lists of `(rdf:type, in)` | for |
//! |---|---|---|---|
//! | `Whole` | everybody's | everybody's | steps that nobody shares: blocks, paths, tables, columns that are known |
//! | `Keys` | those owned here | everybody's | a seed of keys that starts on all nodes |
//! | `Members` | those owned here | the members here | a class that starts on all nodes; a check of a member's class |
//!
//! The keys of `(rdf:type, in)` are owned by the classes' owners, though their lists are with the members: so the keys of all
//! nodes are the graph's, each once.
//!
//! Whether a scope filters a segment, and how many edges it has, is a question about all parts: nodes that answered it for
//! themselves would choose differently.

use crate::cut::{Cut, OwnedRows};
use crate::waiting::{OwnedScope, owned};
use rdf::{Direction, PredicateId, VertexId};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use store::view::{GraphScope, GraphView, Progress, SegmentKey, ViewError};
use store::{Lists, OwnedLists, VertexSet};

/// What a node's questions mean; see the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Share {
    /// All there is.
    Whole,
    /// Keys that are owned here.
    Keys,
    /// Members that are here, of any class.
    Members,
}

/// What a question is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Purpose {
    /// To prepare a plan.
    #[default]
    Preparing,
    /// For the second lists of intersections.
    Sides,
    /// For anything else.
    Walking,
}

/// What was fetched for one purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fetched {
    /// Questions that were not answered here alone.
    pub questions: u64,
    /// Keys whose lists were asked for, those included that had come before.
    pub keys: u64,
    /// Lists that came.
    pub lists: u64,
    /// Bytes of all that came: lists, sets.
    pub bytes: u64,
}

/// What was fetched, by purpose; for all nodes of a query.
#[derive(Debug, Default)]
pub struct Ledger {
    state: Mutex<(Purpose, BTreeMap<Purpose, Fetched>)>,
}

impl Ledger {
    /// Says what comes next.
    pub fn now(&self, purpose: Purpose) {
        self.state.lock().expect("nobody panics with it").0 = purpose;
    }

    /// What was fetched for a purpose.
    pub fn fetched(&self, purpose: Purpose) -> Fetched {
        let state = self.state.lock().expect("nobody panics with it");
        state.1.get(&purpose).copied().unwrap_or_default()
    }

    fn add(&self, add: impl FnOnce(&mut Fetched)) {
        let mut state = self.state.lock().expect("nobody panics with it");
        let purpose = state.0;
        add(state.1.entry(purpose).or_default());
    }
}

/// A list that came.
type Rows = (Vec<VertexId>, Vec<VertexId>);

/// Lists that have come, by their segment, scope and key.
type Kept = HashMap<(SegmentKey, OwnedScope, VertexId), Arc<Rows>>;

/// One node; see the module's documentation. Made for a query: what it fetched stays.
#[derive(Debug)]
pub struct Node<'c, P> {
    cut: &'c Cut<P>,
    here: usize,
    share: Share,
    ledger: &'c Ledger,
    kept: Mutex<Kept>,
}

impl<'c, P: GraphView> Node<'c, P> {
    /// The node that holds this part.
    pub fn new(cut: &'c Cut<P>, here: usize, share: Share, ledger: &'c Ledger) -> Self {
        Node {
            cut,
            here,
            share,
            ledger,
            kept: Mutex::default(),
        }
    }

    fn part(&self) -> &'c P {
        &self.cut.parts[self.here]
    }

    fn owns(&self, vertex: VertexId) -> bool {
        self.cut.placement.is_owned(vertex, self.here)
    }

    fn is_in_pieces(&self, segment: SegmentKey) -> bool {
        self.cut.pieces() == Some(segment)
    }

    /// The other parts, each of which is asked a question that all parts answer.
    fn everybody(&self) -> impl Iterator<Item = &'c P> {
        let others = self.cut.parts.len() as u64 - 1;
        self.ledger.add(|fetched| fetched.questions += others);
        self.cut.parts.iter()
    }

    /// Puts together what every part answers.
    fn union(
        &self,
        asked: impl Fn(&'c P, &mut Vec<VertexId>) -> Result<(), ViewError>,
    ) -> Result<Vec<VertexId>, ViewError> {
        let mut all = BTreeSet::new();
        let mut answer = Vec::new();
        for (number, part) in self.everybody().enumerate() {
            answer.clear();
            asked(part, &mut answer)?;
            if number != self.here {
                let bytes = size_of_val(&answer[..]) as u64;
                self.ledger.add(|fetched| fetched.bytes += bytes);
            }
            all.extend(answer.iter().copied());
        }
        Ok(all.into_iter().collect())
    }

    /// The elements of a set that are this node's share.
    fn shared(&self, mut vertices: Vec<VertexId>) -> VertexSet<'static> {
        if self.share != Share::Whole {
            vertices.retain(|vertex| self.owns(*vertex));
        }
        VertexSet::from_sorted(vertices)
    }

    fn classes(&self) -> Result<Vec<VertexId>, ViewError> {
        match self.cut.pieces() {
            None => Ok(Vec::new()),
            Some(pieces) => self.union(|part, into| all_of(&part.keys(pieces)?, into)),
        }
    }

    fn is_exact(&self, segment: SegmentKey, scope: GraphScope<'_>) -> Result<bool, ViewError> {
        let mut lists = Lists::new();
        for part in &self.cut.parts {
            at_once(part.lists(segment, &[], scope, &mut lists)?);
            if !lists.is_exact() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A list of each of these keys, in order.
    fn rows(
        &self,
        segment: SegmentKey,
        keys: &[VertexId],
        scope: GraphScope<'_>,
    ) -> Result<Vec<Arc<Rows>>, ViewError> {
        let mut kept = self.kept.lock().expect("nobody panics with it");
        let name = |key: VertexId| (segment, owned(scope), key);
        let missing = keys.iter().filter(|key| !kept.contains_key(&name(**key)));
        let missing: BTreeSet<VertexId> = missing.copied().collect();
        let mut came: BTreeMap<VertexId, Vec<(VertexId, Option<VertexId>)>> = BTreeMap::new();
        let is_split = self.is_in_pieces(segment) && self.share == Share::Members;
        for (number, part) in self.cut.parts.iter().enumerate() {
            if is_split && number != self.here {
                continue;
            }
            let has_some = |key: &VertexId| {
                self.is_in_pieces(segment) || self.cut.placement.owner(*key) == number
            };
            let asked: Vec<VertexId> = missing.iter().copied().filter(has_some).collect();
            if asked.is_empty() {
                continue;
            }
            let mut rows = OwnedRows::default();
            let mut lists = Lists::new();
            at_once(part.lists(segment, &asked, scope, &mut lists)?);
            rows.read(&lists, scope)?;
            for (list, key) in asked.iter().enumerate() {
                let row = |row: usize| (rows.neighbours[row], rows.graphs.get(row).copied());
                let list = rows.list(list).map(row);
                came.entry(*key).or_default().extend(list);
            }
            if number != self.here {
                let bytes = (rows.neighbours.len() + rows.graphs.len()) * size_of::<VertexId>();
                self.ledger.add(|fetched| {
                    fetched.questions += 1;
                    fetched.lists += asked.len() as u64;
                    fetched.bytes += bytes as u64;
                });
            }
        }
        for (key, mut rows) in came {
            rows.sort_unstable();
            let graphs = rows.iter().filter_map(|row| row.1).collect();
            let rows = (rows.iter().map(|row| row.0).collect(), graphs);
            kept.insert(name(key), Arc::new(rows));
        }
        let is_away = |key: &&VertexId| !is_split && !self.owns(**key);
        let away = keys.iter().filter(is_away).count() as u64;
        self.ledger.add(|fetched| fetched.keys += away);
        Ok(keys
            .iter()
            .map(|key| Arc::clone(&kept[&name(*key)]))
            .collect())
    }
}

fn all_of(set: &VertexSet<'_>, into: &mut Vec<VertexId>) -> Result<(), ViewError> {
    set.decode(0, set.len(), into)
}

fn at_once(progress: Progress) {
    assert_eq!(progress, Progress::Ready, "a part lets nobody wait");
}

impl<P: GraphView> GraphView for Node<'_, P> {
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
        self.union(|part, into| {
            into.extend(part.named_graphs()?);
            Ok(())
        })
    }

    fn keys(&self, segment: SegmentKey) -> Result<VertexSet<'_>, ViewError> {
        if segment.predicate == PredicateId::SIGNATURE {
            return self.vertices(segment.direction);
        }
        if self.share == Share::Whole || self.is_in_pieces(segment) {
            let keys = self.union(|part, into| all_of(&part.keys(segment)?, into))?;
            return Ok(self.shared(keys));
        }
        self.part().keys(segment)
    }

    fn vertices(&self, direction: Direction) -> Result<VertexSet<'_>, ViewError> {
        let mut vertices = Vec::new();
        if self.share == Share::Whole {
            vertices = self.union(|part, into| all_of(&part.vertices(direction)?, into))?;
        } else {
            all_of(&self.part().vertices(direction)?, &mut vertices)?;
            if direction == Direction::In {
                // A class has its members elsewhere, perhaps.
                vertices.extend(self.classes()?);
                vertices.sort_unstable();
                vertices.dedup();
            }
        }
        Ok(self.shared(vertices))
    }

    fn keys_of_graph(
        &self,
        segment: SegmentKey,
        graph: VertexId,
        keys: &mut Vec<VertexId>,
    ) -> Result<(), ViewError> {
        if self.share == Share::Whole || self.is_in_pieces(segment) {
            let mut found = self.union(|part, into| part.keys_of_graph(segment, graph, into))?;
            found.retain(|key| self.share == Share::Whole || self.owns(*key));
            keys.extend(found);
            return Ok(());
        }
        self.part().keys_of_graph(segment, graph, keys)
    }

    /// Added up. A part without an edge of the segment says nothing; one whose edges are in the scope and one whose edges
    /// are not are a segment of which some are.
    fn edges(&self, segment: SegmentKey, scope: GraphScope<'_>) -> Result<Option<u64>, ViewError> {
        let (mut sum, mut is_empty_somewhere) = (0, false);
        for part in &self.cut.parts {
            match part.edges(segment, scope)? {
                None => return Ok(None),
                Some(0) if part.keys(segment)?.is_empty() => {}
                Some(0) => is_empty_somewhere = true,
                Some(edges) => sum += edges,
            }
        }
        Ok((sum == 0 || !is_empty_somewhere).then_some(sum))
    }

    fn neighbours(
        &self,
        segment: SegmentKey,
        vertex: VertexId,
        scope: GraphScope<'_>,
    ) -> Result<VertexSet<'_>, ViewError> {
        let is_here = if self.is_in_pieces(segment) {
            self.share == Share::Members
        } else {
            self.owns(vertex)
        };
        if is_here {
            return self.part().neighbours(segment, vertex, scope);
        }
        let rows = self.rows(segment, &[vertex], scope)?;
        Ok(VertexSet::from_sorted(rows[0].0.clone()))
    }

    fn lists<'v>(
        &'v self,
        segment: SegmentKey,
        keys: &[VertexId],
        scope: GraphScope<'_>,
        lists: &mut Lists<'v>,
    ) -> Result<Progress, ViewError> {
        let is_here = if self.is_in_pieces(segment) {
            self.share == Share::Members
        } else {
            keys.iter().all(|key| self.owns(*key))
        };
        let is_exact = self.is_exact(segment, scope)?;
        if is_here {
            let progress = self.part().lists(segment, keys, scope, lists)?;
            if lists.is_exact() == is_exact {
                return Ok(progress);
            }
        }
        let rows = self.rows(segment, keys, scope)?;
        lists.refill_owned(is_exact, |owned| {
            let OwnedLists {
                neighbours,
                ends,
                graphs,
            } = owned;
            for rows in &rows {
                neighbours.extend_from_slice(&rows.0);
                graphs.extend_from_slice(&rows.1);
                ends.push(neighbours.len());
            }
        });
        Ok(Progress::Ready)
    }

    fn predicates_of(
        &self,
        direction: Direction,
        vertices: &[VertexId],
        predicates: &mut Vec<PredicateId>,
        ends: &mut Vec<u32>,
    ) -> Result<Progress, ViewError> {
        let kind = self.cut.pieces().filter(|_| direction == Direction::In);
        let classes = match kind {
            None => Vec::new(),
            Some(_) => self.classes()?,
        };
        for &vertex in vertices {
            let owner = &self.cut.parts[self.cut.placement.owner(vertex)];
            let (mut of_vertex, mut end) = (Vec::new(), Vec::new());
            at_once(owner.predicates_of(direction, &[vertex], &mut of_vertex, &mut end)?);
            if let Some(kind) = kind {
                of_vertex.retain(|predicate| *predicate != kind.predicate);
                let is_class = classes.binary_search(&vertex).is_ok();
                of_vertex.extend(is_class.then_some(kind.predicate));
            }
            if !self.owns(vertex) {
                let bytes = size_of_val(&of_vertex[..]) as u64;
                self.ledger.add(|fetched| {
                    fetched.keys += 1;
                    fetched.bytes += bytes;
                });
            }
            predicates.extend(of_vertex);
            ends.push(predicates.len() as u32);
        }
        Ok(Progress::Ready)
    }
}
