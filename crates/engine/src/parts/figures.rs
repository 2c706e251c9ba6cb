//! What each node of this process did and sees, for metrics.

use super::{Figures, PartNode, PartNodes};
use cluster::Node;
use fabric::{Counts, NodeId, Presence};
use std::sync::Arc;

/// What a node did and sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeFigures {
    /// Its number.
    pub node: u16,
    /// Queries that it walks now.
    pub queries: usize,
    /// What it did.
    pub figures: Figures,
    /// What its fabric has sent and read.
    pub counts: Counts,
    /// The other nodes of the graph.
    pub peers: u16,
    /// Those of them that are there.
    pub peers_up: u16,
}

/// What the fabric between nodes asks for what it carries (ns).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prices {
    /// A message.
    pub message_ns: u64,
    /// A KiB of a message or a read.
    pub kib_ns: u64,
    /// A piece that is read by a load; 0 where there are none.
    pub load_ns: u64,
}

impl PartNodes {
    /// What the fabric between the nodes of this process asks, as it was measured.
    pub fn prices(&self) -> Prices {
        let facts = self.nodes[0].ground().fabric().facts();
        Prices {
            message_ns: facts.round_trip_ns / 2,
            kib_ns: facts.ns_per_kib,
            load_ns: facts.load_ns.unwrap_or(0),
        }
    }

    /// Figures of the nodes of this process, in their order.
    pub fn figures(&self) -> Vec<NodeFigures> {
        self.nodes.iter().map(of_node).collect()
    }
}

fn of_node(node: &Arc<PartNode>) -> NodeFigures {
    let node: &Node<_, _> = node;
    let ground = node.ground();
    let (here, fabric) = (ground.here(), ground.fabric());
    let others = (0..fabric.nodes()).filter(|other| *other != here);
    let is_up = |other: &u16| matches!(fabric.presence(NodeId(*other)), Presence::Up(_));
    NodeFigures {
        node: here,
        queries: node.queries(),
        figures: node.figures(),
        counts: fabric.counts(),
        peers: fabric.nodes().saturating_sub(1),
        peers_up: others.filter(is_up).count() as u16,
    }
}
