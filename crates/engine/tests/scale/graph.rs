//! A LUBM graph in memory, and its cut into parts with a node for each.

use super::costs::Costs;
use super::drive::Cluster;
use super::network::Network;
use engine::budget::Pool;
use engine::parts::runner::PartHost;
use engine::parts::{PartNode, part_node};
use oxrdf::Term;
use rdf::dictionary::part::{PartDictionary, cut_in_memory};
use rdf::{Lexicon, VertexId};
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::cut::{Cut, Deal};
use store::delta::GraphVersion;
use store::load::{LoadOptions, LoadWatch, Source, Unwatched, load_in_memory};
use workload::lubm::{Lubm, Parameters, Syntax};

/// Memory of all nodes' queries together.
const POOL_BYTES: u64 = 8 << 30;

/// Walkers of a node.
const WALKERS: usize = 1;

/// A whole graph.
pub struct Whole {
    graph: GraphVersion,
    pub universities: u32,
    pub parameters: Parameters,
}

impl Whole {
    /// LUBM of so many universities.
    pub fn lubm(universities: u32) -> Whole {
        let parameters = Parameters::standard(universities);
        let lubm = Lubm::new(parameters.clone(), Syntax::NTriples).expect("parameters are right");
        let reader = lubm.reader(1).expect("threads can be had");
        let source = Source::reader("lubm.nt", reader);
        let origin = Instant::now();
        let watch = LoadWatch {
            progress: &Unwatched,
            clock: &move || origin.elapsed(),
        };
        let loaded = load_in_memory(vec![source], &LoadOptions::new(2, [7; 16]), watch);
        let (snapshot, dictionary, _) = loaded.expect("what is generated can be loaded");
        let graph = GraphVersion::new(snapshot, dictionary, 0).expect("it was just loaded");
        Whole {
            graph,
            universities,
            parameters,
        }
    }

    /// The id of a term.
    pub fn id(&self, term: &Term) -> Option<VertexId> {
        let mut ids = Vec::new();
        let found = self.graph.dictionary.ids(&[term.as_ref()], &mut ids);
        found.expect("it is in memory");
        ids[0]
    }

    /// Distinct edges.
    pub fn quads(&self) -> u64 {
        self.graph.quads
    }

    /// The same in parts, each with a node behind a network that costs so much. `shift`: ids of one kind that lie together are two to
    /// the power of it; as a cut chooses where nothing is said.
    pub fn cut(&self, nodes: u16, costs: Costs, shift: Option<u8>) -> Cluster {
        let whole = self.graph.snapshot.base();
        let deal = Deal::Evenly { nodes, shift };
        let placement = deal.placement(whole, self.graph.dictionary.counts().iris);
        let placement = placement.expect("there are such nodes");
        let cut = Cut::new(whole, placement.clone(), 7).expect("it is whole");
        let parts = cut.in_memory().expect("memory can be had");
        let terms = cut_in_memory(&self.graph.dictionary, &placement).expect("memory can be had");
        let kind = self.graph.snapshot.type_vertex();
        let network = Network::new(nodes, costs);
        let pool = Pool::new(POOL_BYTES);
        let sides = network.fabrics().into_iter();
        let node = |((part, terms), side)| {
            let terms = PartDictionary::open(terms).expect("it was just cut");
            let host = PartHost::new(Arc::clone(&pool), None, WALKERS);
            let node = part_node(part, terms, side, kind, &host);
            Arc::new(node.expect("it was just cut"))
        };
        let nodes: Vec<Arc<PartNode>> = parts.into_iter().zip(terms).zip(sides).map(node).collect();
        Cluster::new(network, nodes, WALKERS)
    }
}

/// A duration in microseconds.
pub fn microseconds(ns: u64) -> f64 {
    Duration::from_nanos(ns).as_secs_f64() * 1e6
}
