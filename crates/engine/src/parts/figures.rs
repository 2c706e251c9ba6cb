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

impl PartNodes {
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
