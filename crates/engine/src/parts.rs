//! A graph in parts: this process is a node of it, or several.
//!
//! A database over parts answers as one over a whole graph does, from the same texts through the same plans to the same
//! formats; what differs is where it looks ([`Visit`] for what is no walk) and how it is walked ([`walk`]). Documents of whole
//! graphs are read in batches. Changes, streams and whatever reads the files of a whole store are refused.
//!
//! The node that is asked plans with the statistics of all parts, which prove nothing, and without samples.
//!
//! | module | about |
//! |---|---|
//! | `figures` | what each node of this process did, for metrics |
//! | `found` | what a section did on each node |
//! | `open` | how the nodes come to be |
//! | `member` | this process as one node of many: it joins, waits and leaves |
//! | `reading`, `scan`, `statements` | every statement of the graph, for documents |
//! | `roster` | which nodes are there, since when, and who was refused |
//! | `spans` | what nodes did of queries that are followed, for whoever exports it |
//! | [`runner`] | the threads of the nodes of this process |
//! | `sections` | what a plan says of its sections, before and after it was walked |
//! | [`walk`] | a query, walked over the parts |

mod figures;
mod found;
mod member;
mod open;
mod reading;
mod roster;
pub mod runner;
mod scan;
pub(crate) mod sections;
mod spans;
pub(crate) mod statements;
pub(crate) mod terms;
mod walk;

pub use cluster::{
    Fetched, Figures, KeptLocations, Mode, QueryId, SectionFigures, Shipped, Span, Trace,
};
pub use fabric::Counts;
pub use figures::{NodeFigures, Prices};
pub use member::{ClusterState, Identity, Member, MemberError, MemberOptions};
pub use open::{Between, NodeOptions, part_node};
pub use roster::{MemberState, RefusedState, Seen, Teller, node_at};
pub use spans::{SpanAt, Spans};

use crate::budget::{Budget, Pool};
use crate::open_error::OpenError;
use cluster::Visit;
use query::plan::Plan;
use query::statistics::Statistics;
use rdf::dictionary::TermCounts;
use rdf::dictionary::part::PartDictionary;
use rdf::{Direction, VertexId};
use runner::Runner;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use store::Snapshot;
use store::cut::PartView;
use store::view::{GraphScope, GraphView, Need, Progress, SegmentKey, ViewError};

/// The edges that a node has.
pub type Part = PartView<Snapshot>;

/// A node of a graph in parts.
pub type PartNode = cluster::Node<Part, PartDictionary>;

/// One look at the whole graph.
pub(crate) type PartVisit = Visit<Part, PartDictionary>;

/// How long nodes may take to tell each other what planners have to know, when a database opens.
const OPENING: Duration = Duration::from_secs(30);

/// Predicates of which is asked beforehand how much there is: all of most graphs, and half of what a node keeps.
const PREDICATES_MAX: usize = 1024;

/// How long a thread waits until it looks around.
const LOOK: Duration = Duration::from_millis(20);

/// Which node of this process is asked what a query needs before it is walked: ids of its terms, degrees. Its walk begins at
/// the owner of the vertex that it starts from, where that is a node of this process, whoever was asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AskedAt {
    /// The owner, as far as it is a node of this process.
    #[default]
    Owner,
    /// One after another.
    Turn,
    /// This one.
    Node(u16),
}

/// The nodes of this process; see the module's documentation.
pub struct PartNodes {
    nodes: Vec<Arc<PartNode>>,
    mode: Mode,
    asked: AskedAt,
    /// Memory of all queries of this process.
    pool: Arc<Pool>,
    /// Which of them is asked next.
    turn: AtomicUsize,
    _runner: Runner,
}

impl fmt::Debug for PartNodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartNodes")
            .field("nodes", &self.nodes.len())
            .field("mode", &self.mode)
            .finish_non_exhaustive()
    }
}

impl PartNodes {
    /// The nodes of this process, in order, which run from now on; at least one (asserted).
    pub(crate) fn new(
        nodes: Vec<Arc<PartNode>>,
        (mode, asked): (Mode, AskedAt),
        pool: Arc<Pool>,
        runner: Runner,
    ) -> PartNodes {
        assert!(!nodes.is_empty(), "a process is a node or several");
        PartNodes {
            nodes,
            mode,
            asked,
            pool,
            turn: AtomicUsize::new(0),
            _runner: runner,
        }
    }

    /// The nodes of this process.
    pub fn nodes(&self) -> &[Arc<PartNode>] {
        &self.nodes
    }

    /// Memory of all queries of this process.
    pub(crate) fn pool(&self) -> &Arc<Pool> {
        &self.pool
    }

    /// How rows come to what they need, where a query does not say.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// What was found damaged of the graph's parts here, after their blocks had been verified.
    pub(crate) fn damage(&self) -> Option<ViewError> {
        let mut nodes = self.nodes.iter();
        nodes.find_map(|node| node.ground().part().part().damage())
    }

    /// Terms of each kind in the whole graph.
    pub(crate) fn terms(&self) -> TermCounts {
        self.nodes[0].ground().terms().counts()
    }

    /// The node of this process at which a plan starts, if it starts at one, else the one whose turn it is; and a look at
    /// the graph from there.
    pub(crate) fn visit_for(
        &self,
        plan: &Plan,
        ids: &[Option<VertexId>],
        budget: &Arc<Budget>,
    ) -> (Arc<PartNode>, PartVisit) {
        let ground = self.nodes[0].ground();
        let start = cluster::start(plan, ids, ground.kind());
        match start {
            Some(vertex) => self.visit_at(vertex, budget),
            None => self.visit(budget),
        }
    }

    /// The node that is asked, if it is not the owner; `asked`: where a query says so.
    fn asked_node(&self, asked: Option<AskedAt>) -> Option<&Arc<PartNode>> {
        match asked.unwrap_or(self.asked) {
            AskedAt::Owner => None,
            AskedAt::Turn => Some(self.next_node()),
            AskedAt::Node(number) => self.node(number),
        }
    }

    fn next_node(&self) -> &Arc<PartNode> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        &self.nodes[turn % self.nodes.len()]
    }

    /// A look at the graph by who is asked something before a query is walked; `owner`: who knows it.
    pub(crate) fn visit_before(
        &self,
        owner: Option<&Arc<PartNode>>,
        asked: Option<AskedAt>,
        budget: &Arc<Budget>,
    ) -> PartVisit {
        match self.asked_node(asked).or(owner) {
            Some(node) => Visit::new(node.ground(), Arc::clone(budget) as Arc<_>),
            None => self.visit(budget).1,
        }
    }

    /// Whether the owner is asked, of a node of this process directly.
    pub(crate) fn asks_owner(&self, asked: Option<AskedAt>) -> bool {
        asked.unwrap_or(self.asked) == AskedAt::Owner
    }

    /// The node of this process with this number, if it is one.
    pub(crate) fn node(&self, number: u16) -> Option<&Arc<PartNode>> {
        let is_it = |node: &&Arc<PartNode>| node.ground().here() == number;
        // All nodes of a graph lie at their numbers.
        let there = self.nodes.get(usize::from(number)).filter(is_it);
        there.or_else(|| self.nodes.iter().find(is_it))
    }

    /// A query's look at the graph, from the owner of a vertex where that is a node of this process, else from the node whose turn
    /// it is.
    pub(crate) fn visit_at(
        &self,
        vertex: VertexId,
        budget: &Arc<Budget>,
    ) -> (Arc<PartNode>, PartVisit) {
        let owner = self.nodes[0].ground().placement().owner(vertex);
        match self.node(owner) {
            Some(node) => (
                Arc::clone(node),
                Visit::new(node.ground(), Arc::clone(budget) as Arc<_>),
            ),
            None => self.visit(budget),
        }
    }

    /// A query's look at the graph, from the node whose turn it is.
    pub(crate) fn visit(&self, budget: &Arc<Budget>) -> (Arc<PartNode>, PartVisit) {
        let node = Arc::clone(self.next_node());
        let visit = Visit::new(node.ground(), Arc::clone(budget) as Arc<_>);
        (node, visit)
    }

    /// What a planner is told of all parts. Waits until each node has said it.
    pub(crate) fn statistics(&self) -> Result<Arc<Statistics>, OpenError> {
        let started = Instant::now();
        let is_over = || started.elapsed() >= OPENING;
        loop {
            let what = match self.ask_statistics(is_over) {
                Ok(Some(statistics)) => return Ok(statistics),
                Ok(None) => "they do not tell each other what they have".to_owned(),
                Err(error) => error.to_string(),
            };
            if is_over() {
                return Err(OpenError::Cluster(what));
            }
            // A node that has not come up yet may do so.
            std::thread::sleep(LOOK);
        }
    }

    /// The same; `None` once it is over before all have told. An error: a node is away, or cannot tell.
    fn ask_statistics(
        &self,
        is_over: impl Fn() -> bool,
    ) -> Result<Option<Arc<Statistics>>, ViewError> {
        let memory = Arc::new(explore::limits::Unlimited);
        let visit = Visit::new(self.nodes[0].ground(), memory);
        while !is_over() {
            match visit.statistics()? {
                Ok(statistics) => return Ok(Some(statistics)),
                Err(ticket) => while !visit.wait(ticket, LOOK) && !is_over() {},
            }
        }
        Ok(None)
    }

    /// Asks all nodes what most queries ask of everybody, which is kept: how much of each segment a scope takes, which
    /// named graphs there are. So a query that needs nothing else of a node that went away afterwards is answered.
    fn ask_common(&self, scope: GraphScope<'_>) -> Result<(), ViewError> {
        let memory = Arc::new(explore::limits::Unlimited);
        let visit = Visit::new(self.nodes[0].ground(), memory);
        let view = visit.view();
        let predicates = view.predicates().into_iter().take(PREDICATES_MAX);
        let of = |predicate, direction| SegmentKey {
            predicate,
            direction,
        };
        let segments = predicates.flat_map(|it| [of(it, Direction::Out), of(it, Direction::In)]);
        let mut needs: Vec<Need<'_>> = segments.map(|it| Need::Edges(it, scope)).collect();
        needs.push(Need::NamedGraphs);
        while let Progress::Pending(ticket) = view.fetch(&needs)? {
            visit.wait(ticket, LOOK);
        }
        Ok(())
    }
}
