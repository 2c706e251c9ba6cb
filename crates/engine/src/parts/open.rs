//! The nodes of a database over parts: several in this process, over parts of a directory or parts
//! that are cut in memory.

use super::runner::{PartHost, Runner, Watch};
use super::{AskedAt, Mode, Part, PartNode, PartNodes};
use crate::budget::Pool;
use crate::moment::planner_statistics::plan_statistics;
use crate::open_error::OpenError;
use crate::options::Options;
use cluster::{Ground, Host, Node};
use fabric::tcp::{KEY_BYTES_MIN, Key, Tcp, TcpConfig};
use fabric::{Fabric, Limits, Local, NodeId};
use rdf::VertexId;
use rdf::dictionary::part::{PartDictionary, cut_in_memory};
use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use store::Snapshot;
use store::cut::{Cut, Deal, PartOf, PartView, open_part, part_name};
use store::delta::{GraphVersion, Version};
use store::directory;
use store::disk::RealDisk;

/// What tells a graph that is cut in memory from others: its parts meet nobody else's.
const OF_THIS_PROCESS: u128 = 0;

/// What carries bytes between nodes of one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Between {
    /// Its memory.
    #[default]
    Memory,
    /// Sockets of this machine, with all that there is between machines: to measure that.
    Loopback,
}

/// How nodes are run.
#[derive(Clone, Debug)]
pub struct NodeOptions {
    /// What carries bytes between those of one process.
    pub between: Between,
    /// Which of them is asked, where a query does not say.
    pub asked: AskedAt,
    /// How rows come to what they need.
    pub mode: Mode,
    /// Threads of each node that walk.
    pub workers: usize,
}

impl Default for NodeOptions {
    fn default() -> NodeOptions {
        NodeOptions {
            between: Between::default(),
            asked: AskedAt::default(),
            mode: Mode::default(),
            workers: 1,
        }
    }
}

fn failed(error: impl std::fmt::Display) -> OpenError {
    OpenError::Cluster(error.to_string())
}

impl PartNodes {
    /// A whole graph, cut into parts in memory, each with a node of this process.
    pub fn in_process(
        graph: &GraphVersion,
        deal: &Deal,
        nodes: &NodeOptions,
        options: &Options,
    ) -> Result<PartNodes, OpenError> {
        let whole = graph.snapshot.base();
        if !graph.snapshot.layers().is_empty() {
            return Err(failed(
                "the store has changes that are not in its files yet: `somersault compact` writes them",
            ));
        }
        let placement = deal.placement(whole, graph.dictionary.counts().iris);
        let placement = &placement.map_err(failed)?;
        let cut = Cut::new(whole, placement.clone(), OF_THIS_PROCESS).map_err(failed)?;
        let snapshots = cut.in_memory().map_err(failed)?;
        let dictionaries = cut_in_memory(&graph.dictionary, placement).map_err(failed)?;
        let kind = graph.snapshot.type_vertex();
        let dictionaries = dictionaries.into_iter().map(PartDictionary::open);
        let dictionaries = dictionaries
            .collect::<Result<Vec<_>, _>>()
            .map_err(failed)?;
        let parts = snapshots.into_iter().zip(dictionaries).collect();
        PartNodes::here(parts, kind, nodes, options)
    }

    /// All parts of a directory (`cut`, `load --parts`), each with a node of this process. Errors: one is missing, is of
    /// another graph, or is damaged.
    pub fn of_directory(
        location: &Path,
        count: u16,
        nodes: &NodeOptions,
        options: &Options,
    ) -> Result<PartNodes, OpenError> {
        let mut parts = Vec::new();
        for node in 0..count {
            let opened = directory::open(&RealDisk, &location.join(part_name(node)))?;
            parts.push(open_part(&opened)?);
        }
        let marks = parts
            .iter()
            .map(|(snapshot, _)| snapshot.part_of().map(Arc::as_ref));
        PartOf::are_one_graph(marks).map_err(failed)?;
        let kind = parts
            .iter()
            .find_map(|(snapshot, _)| snapshot.type_vertex());
        PartNodes::here(parts, kind, nodes, options)
    }

    /// All parts of a graph, by node, each with a node of this process.
    fn here(
        parts: Vec<(Snapshot, PartDictionary)>,
        kind: Option<VertexId>,
        nodes: &NodeOptions,
        options: &Options,
    ) -> Result<PartNodes, OpenError> {
        let fabrics = match nodes.between {
            Between::Memory => in_memory(parts.len() as u16),
            Between::Loopback => over_loopback(parts.len() as u16)?,
        };
        let pool = Pool::new(options.memory_pool_bytes);
        let mut started = Vec::new();
        for (number, ((snapshot, dictionary), fabric)) in parts.into_iter().zip(fabrics).enumerate()
        {
            let host = PartHost::configured(&pool, options, nodes, number);
            let node = part_node(snapshot, dictionary, fabric, kind, &host)?;
            started.push((Arc::new(node), host));
        }
        PartNodes::start(started, (nodes.mode, nodes.asked), pool, None)
    }

    /// Nodes of this process, which run from now on.
    pub(crate) fn start(
        nodes: Vec<(Arc<PartNode>, Arc<PartHost>)>,
        how: (Mode, AskedAt),
        pool: Arc<Pool>,
        watch: Option<&Watch>,
    ) -> Result<PartNodes, OpenError> {
        let here = nodes.iter().map(|(node, _)| Arc::clone(node)).collect();
        let runner = Runner::start(nodes, watch).map_err(failed)?;
        Ok(PartNodes::new(here, how, pool, runner))
    }
}

fn in_memory(count: u16) -> Vec<Arc<dyn Fabric>> {
    let nodes = Local::nodes(count).into_iter();
    nodes.map(|node| node as Arc<dyn Fabric>).collect()
}

/// As between machines. The key is this process's own: nobody else is to join.
fn over_loopback(count: u16) -> Result<Vec<Arc<dyn Fabric>>, OpenError> {
    let secret: Vec<u8> = std::iter::repeat_with(|| RandomState::new().hash_one(count))
        .flat_map(u64::to_le_bytes)
        .take(KEY_BYTES_MIN)
        .collect();
    let key = Key::new(&secret).map_err(failed)?;
    let listeners = (0..count).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)));
    let listeners = listeners.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let members = listeners
        .iter()
        .map(|listener| Ok(listener.local_addr()?.to_string()));
    let members = members
        .collect::<std::io::Result<Vec<_>>>()
        .map_err(failed)?;
    let mut fabrics: Vec<Arc<dyn Fabric>> = Vec::new();
    for (here, listener) in (0..count).zip(listeners) {
        let config = TcpConfig {
            here: NodeId(here),
            members: members.clone(),
            cluster: OF_THIS_PROCESS.to_le_bytes(),
            epoch: 0,
            key: key.clone(),
            limits: Limits::DEFAULT,
        };
        fabrics.push(Tcp::start(listener, config).map_err(failed)?);
    }
    Ok(fabrics)
}

/// A node with a part of a graph, as a cut left it.
pub fn part_node(
    snapshot: Snapshot,
    dictionary: PartDictionary,
    fabric: Arc<dyn Fabric>,
    kind: Option<VertexId>,
    host: &Arc<PartHost>,
) -> Result<PartNode, OpenError> {
    let placement = dictionary.placement().clone();
    let snapshot = Arc::new(snapshot);
    let version = Version::new(Arc::clone(&snapshot), 0, kind);
    let statistics = plan_statistics(&version)?;
    host.has_part(version, (fabric.here().0, &placement), kind);
    let part: Part = PartView::unchanged(snapshot);
    let ground = Ground::new(fabric, placement, kind, part, dictionary, statistics);
    let host = Arc::clone(host) as Arc<dyn Host>;
    Ok(Node::new(ground, host))
}
