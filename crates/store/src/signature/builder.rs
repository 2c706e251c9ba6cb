//! Builds signatures while segments are written: a trie of sets, hash-consed.
//!
//! Predicates come in ascending order, so the set of a vertex only ever grows at its end: its next
//! set is `child(set, predicate)`, and equal sets are the same node by construction. One step per
//! key, no sort by vertex, memory of four bytes a vertex and some 40 bytes a node. Types come
//! first of all (predicate 1), each class as a symbol of its own: out sets get them from the edges
//! of their vertices, in sets from the members that each class lists. A member may have no edge in
//! this direction, so the types of members are kept apart until its first one
//! ([`SignatureBuilder::push_member`]).
//!
//! Two limits keep memory in bounds on graphs without structure; both depend on the input alone,
//! so the same input gives the same bytes:
//!
//! - types that make more than [`TYPE_NODES_MAX`] sets (or a vertex with more than
//!   [`VERTEX_TYPES_MAX`]) are not recorded at all;
//! - vertices whose set would be a node beyond [`NODES_MAX`] get the *unknown* set: their
//!   predicates are probed when asked for.
//!
//! Edges per set are estimates: a node counts the vertices and edges that arrive at it, and a set
//! is given its share of each node on its path. That is exact where vertices with the same
//! beginning of their sets have the same number of edges; an exact count would need all segments
//! to be read again.

use super::sets::{SetRecord, SetsWriter};
use super::states::{Order, States};
use crate::parts::{PartError, PartWriter};
use hashbrown::HashMap;
use rdf::{PredicateId, VertexId};

/// Nodes of the trie beyond which sets are unknown. About 300 MB.
const NODES_MAX: usize = 1 << 23;
/// Nodes after the types alone beyond which types are not recorded.
const TYPE_NODES_MAX: usize = 1 << 18;
/// Types of one vertex beyond which types are not recorded.
pub(crate) const VERTEX_TYPES_MAX: usize = 256;
/// The state of a vertex whose set is unknown.
const UNKNOWN: u32 = u32::MAX;
/// Marks a symbol as a class instead of a predicate.
const CLASS: u32 = 1 << 31;
const _: () = assert!(
    NODES_MAX < UNKNOWN as usize && TYPE_NODES_MAX < CLASS as usize,
    "no node is taken for the unknown set, and no class for a predicate"
);
/// Entries of the cache of children within one segment.
const CACHE: usize = 64;

/// One set, as its last symbol and the set without it.
struct Node {
    parent: u32,
    symbol: u32,
    arrivals: u64,
    edges: u64,
}

/// The finished signatures of one direction.
pub(crate) struct Signatures {
    states: States,
    order: Order,
    /// Node -> number of its set; the last one is the unknown set's.
    numbers: Vec<u32>,
    /// Number of sets.
    pub sets: u32,
}

impl Signatures {
    /// Every vertex with the number of its set, ascending.
    pub(crate) fn ascending(&self) -> impl Iterator<Item = (VertexId, u32)> + '_ {
        let unknown = self.numbers.len() - 1;
        self.states
            .ascending(&self.order)
            .map(move |(vertex, state)| {
                let state = if state == UNKNOWN {
                    unknown
                } else {
                    state as usize
                };
                (vertex, self.numbers[state])
            })
    }
}

/// The sets of one direction while it is written.
pub(crate) struct SignatureBuilder {
    states: States,
    nodes: Vec<Node>,
    children: HashMap<(u32, u32), u32>,
    classes: Vec<VertexId>,
    class_numbers: HashMap<VertexId, u32>,
    types_recorded: bool,
    /// The sets of types of vertices that may have no edge yet; see
    /// [`SignatureBuilder::push_member`].
    member_types: States,
    /// For the current symbol: set -> child.
    cache: [(u32, u32); CACHE],
    cached: u32,
    /// [`NODES_MAX`], but for tests.
    pub(crate) nodes_max: usize,
}

impl SignatureBuilder {
    /// No vertices yet. Sets name the types of their vertices.
    pub(crate) fn new() -> SignatureBuilder {
        SignatureBuilder::with_states(States::default())
    }

    /// The same for a graph with few of the vertices that its ids span: at most so many.
    pub(crate) fn sparse(vertices_max: u64) -> SignatureBuilder {
        SignatureBuilder::with_states(States::sparse(vertices_max))
    }

    fn with_states(states: States) -> SignatureBuilder {
        let root = Node {
            parent: 0,
            symbol: 0,
            arrivals: 0,
            edges: 0,
        };
        SignatureBuilder {
            member_types: states.cleared(),
            states,
            nodes: vec![root],
            children: HashMap::new(),
            classes: Vec::new(),
            class_numbers: HashMap::new(),
            types_recorded: true,
            cache: [(u32::MAX, 0); CACHE],
            cached: PredicateId::SIGNATURE.0,
            nodes_max: NODES_MAX,
        }
    }

    /// The vertex has this many edges of the predicate. Predicates ascend over all calls, vertices
    /// within a predicate.
    #[inline]
    pub(crate) fn push(&mut self, vertex: VertexId, predicate: PredicateId, edges: u64) {
        if predicate.0 != self.cached {
            assert!(
                predicate.0 > self.cached || self.cached & CLASS != 0,
                "predicates ascend"
            );
            self.start_symbol(predicate.0);
        }
        let mut set = *self.states.get_mut(vertex);
        if set == 0 && !self.member_types.is_empty() {
            set = *self.member_types.get_mut(vertex);
        }
        let child = self.cached_child(set, predicate.0);
        *self.states.get_mut(vertex) = child;
        if let Some(node) = self.nodes.get_mut(child as usize) {
            node.arrivals += 1;
            node.edges += edges;
        }
    }

    #[inline]
    fn cached_child(&mut self, set: u32, symbol: u32) -> u32 {
        let slot = set as usize % CACHE;
        match self.cache[slot] {
            (cached, child) if cached == set && set != u32::MAX => child,
            _ => {
                let child = self.child(set, symbol);
                self.cache[slot] = (set, child);
                child
            }
        }
    }

    fn start_symbol(&mut self, symbol: u32) {
        self.cached = symbol;
        self.cache = [(u32::MAX, 0); CACHE];
    }

    /// The vertex is a member of the class, whether or not it has an edge in this direction.
    /// Before all predicates; classes ascend over all calls, members within a class.
    #[inline]
    pub(crate) fn push_member(&mut self, class: VertexId, member: VertexId) {
        if !self.types_recorded {
            return;
        }
        if self.classes.last() != Some(&class) {
            assert!(
                self.cached == PredicateId::SIGNATURE.0 || self.cached & CLASS != 0,
                "members come before all predicates"
            );
            assert!(
                self.classes.last().is_none_or(|&before| before < class),
                "classes ascend"
            );
            self.classes.push(class);
            self.start_symbol(CLASS | (self.classes.len() - 1) as u32);
        }
        let set = *self.member_types.get_mut(member);
        let nodes = self.nodes.len();
        let child = self.cached_child(set, self.cached);
        *self.member_types.get_mut(member) = child;
        // One node less than out sets have, whose types stand behind `rdf:type`.
        let grew = self.nodes.len() > nodes;
        if grew && (self.nodes.len() >= TYPE_NODES_MAX || self.depth(child) > VERTEX_TYPES_MAX) {
            self.types_recorded = false;
            self.nodes.truncate(1);
            self.children = HashMap::new();
            self.classes = Vec::new();
            self.member_types = self.member_types.cleared();
        }
    }

    /// Number of symbols of a set.
    fn depth(&self, mut set: u32) -> usize {
        let mut depth = 0;
        while set != 0 && set != UNKNOWN {
            depth += 1;
            set = self.nodes[set as usize].parent;
        }
        depth
    }

    /// The vertex, just pushed with `rdf:type`, has exactly these types, ascending; `None` where
    /// they were too many to collect.
    pub(crate) fn push_types(&mut self, vertex: VertexId, types: Option<&[VertexId]>) {
        if !self.types_recorded {
            return;
        }
        let Some(types) = types else {
            return self.forget_types();
        };
        let mut set = *self.states.get_mut(vertex);
        for &class in types {
            let next = self.classes.len() as u32;
            let number = *self.class_numbers.entry(class).or_insert(next);
            if number == next {
                self.classes.push(class);
            }
            set = self.child(set, CLASS | number);
            if let Some(node) = self.nodes.get_mut(set as usize) {
                node.arrivals += 1;
            }
        }
        *self.states.get_mut(vertex) = set;
        if self.nodes.len() > TYPE_NODES_MAX {
            self.forget_types();
        }
    }

    /// Goes back to sets that only say that there are types.
    fn forget_types(&mut self) {
        self.types_recorded = false;
        self.nodes.truncate(2);
        self.children.retain(|_, child| *child < 2);
        self.classes = Vec::new();
        self.class_numbers = HashMap::new();
        self.states.replace_all(1);
    }

    fn child(&mut self, set: u32, symbol: u32) -> u32 {
        if set == UNKNOWN {
            return UNKNOWN;
        }
        if let Some(&child) = self.children.get(&(set, symbol)) {
            return child;
        }
        if self.nodes.len() >= self.nodes_max {
            return UNKNOWN;
        }
        let child = self.nodes.len() as u32;
        self.nodes.push(Node {
            parent: set,
            symbol,
            arrivals: 0,
            edges: 0,
        });
        self.children.insert((set, symbol), child);
        child
    }

    /// Numbers the sets by their first vertices and writes their table.
    pub(crate) fn finish(mut self, out: &mut PartWriter) -> Result<Signatures, PartError> {
        self.children = HashMap::new();
        let unknown = self.nodes.len();
        let mut numbers = vec![u32::MAX; self.nodes.len() + 1];
        let mut order = Vec::new();
        let mut vertices = Vec::new();
        let ascending = self.states.order();
        for (_, state) in self.states.ascending(&ascending) {
            let state = if state == UNKNOWN {
                unknown
            } else {
                state as usize
            };
            if numbers[state] == u32::MAX {
                numbers[state] = order.len() as u32;
                order.push(state);
                vertices.push(0u64);
            }
            vertices[numbers[state] as usize] += 1;
        }
        let mut writer = SetsWriter::new(&self.classes, self.types_recorded);
        let mut record = SetRecord::default();
        for (&state, &vertices) in order.iter().zip(&vertices) {
            record.clear();
            record.vertices = vertices;
            record.is_unknown = state == unknown;
            if !record.is_unknown {
                self.fill(state as u32, &mut record);
            }
            writer.push(out, &record)?;
        }
        writer.finish(out)?;
        Ok(Signatures {
            states: self.states,
            order: ascending,
            numbers,
            sets: order.len() as u32,
        })
    }

    /// The path to a node as a record.
    fn fill(&self, mut state: u32, record: &mut SetRecord) {
        while state != 0 {
            let node = &self.nodes[state as usize];
            if node.symbol & CLASS != 0 {
                record
                    .types
                    .push(self.classes[(node.symbol & !CLASS) as usize]);
            } else {
                let share = u128::from(node.edges) * u128::from(record.vertices);
                let edges = share / u128::from(node.arrivals.max(1));
                record.predicates.push(PredicateId(node.symbol));
                record.edges.push((edges as u64).max(record.vertices));
            }
            state = node.parent;
        }
        record.predicates.reverse();
        record.edges.reverse();
        record.types.sort_unstable();
    }
}
