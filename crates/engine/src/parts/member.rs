//! This process as one node of many: it opens one part, joins the other processes by TCP, and answers once all have told
//! what planners have to know.
//!
//! ```text
//!  prepare   the mark of the part, the list of members, the key and the address are checked; nobody is asked
//!  join      the part is opened, the fabric starts, statistics of all are waited for      -> a database
//!  leave     the others are told
//! ```
//!
//! Which part a node has is its name: the number is in the mark that the cut left. What two nodes tell each other before
//! anything else is the fingerprint of the graph that was cut, the placement's, their numbers and how many there are. So a
//! part of another graph, of another cut, or one that is there twice is refused at the greeting, on both sides, before any
//! row of it is believed.

use super::roster::{MemberState, RefusedState, Roster, Seen, Teller, node_at};
use super::runner::{PartHost, Watch};
use super::{LOOK, NodeOptions, PartNodes, part_node};
use crate::budget::Pool;
use crate::database::Database;
use crate::open_error::OpenError;
use crate::options::Options;
use fabric::tcp::{Key, KeyTooShort, Tcp, TcpConfig, TcpError};
use fabric::{Event, Fabric, Limits, NodeId, Presence};
use rdf::Placement;
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use store::cut::{PartOf, open_part, part_name};
use store::directory::{self, Opened};
use store::disk::RealDisk;
use store::view::{GraphScope, ViewError};

/// What a node of many is told.
#[derive(Clone, Debug)]
pub struct MemberOptions {
    /// The directory of its part.
    pub part: PathBuf,
    /// Its number, where that is to be compared with the part's.
    pub number: Option<u16>,
    /// Where each node is reached, at its number: `host:port`; `None`: that is told later ([`Member::reached_at`]).
    pub members: Option<Vec<String>>,
    /// Where it listens for the others: `host:port`; `None`: where they reach it, as the list says.
    pub listen: Option<String>,
    /// The secret of the cluster.
    pub key: Vec<u8>,
}

/// Why a node does not begin.
#[derive(Debug, thiserror::Error)]
pub enum MemberError {
    /// The part could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It is a whole graph.
    #[error(
        "{path}: it is a whole graph, and no part of one: cut it (somersault cut), and name one of the parts"
    )]
    Whole {
        /// Where.
        path: PathBuf,
    },
    /// It is another node's part.
    #[error(
        "{path}: it is {} of the graph, so this is node {found} and not node {wanted}: name the directory of {}, or the \
         other number",
        part_name(*found),
        part_name(*wanted)
    )]
    Number {
        /// Where.
        path: PathBuf,
        /// Whose part it is.
        found: u16,
        /// Which node this is said to be.
        wanted: u16,
    },
    /// There are more or fewer parts than nodes.
    #[error(
        "{path}: the graph was cut into {parts} parts, and the list has {nodes} nodes: name one address for each part, in \
         the order of the parts"
    )]
    Count {
        /// Where.
        path: PathBuf,
        /// How many parts there are.
        parts: u16,
        /// How many nodes the list has.
        nodes: usize,
    },
    /// The secret could be guessed.
    #[error(transparent)]
    Key(#[from] KeyTooShort),
    /// The address cannot be listened at.
    #[error("cannot listen for the other nodes at {address}: {source}")]
    Listen {
        /// Which.
        address: String,
        /// What the system said.
        source: io::Error,
    },
}

/// Which node of which cluster a process is: what nodes have to agree on, and the number by which they differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its number, which is that of its part.
    pub node: u16,
    /// How many nodes there are.
    pub nodes: u16,
    /// The fingerprint of the graph that was cut.
    pub graph: u128,
    /// The fingerprint of the placement.
    pub placement: u64,
}

impl Identity {
    /// Why two are no nodes of one cluster; `None`: they may be.
    pub fn difference(&self, other: &Identity) -> Option<String> {
        let (graph, its) = (self.graph, other.graph);
        if graph != its {
            return Some(format!(
                "its part is of graph {its:032x}, and this node's of graph {graph:032x}"
            ));
        }
        let is_one_cut = (self.nodes, self.placement) == (other.nodes, other.placement);
        (!is_one_cut).then(|| "its part is of another cut of the same graph".to_owned())
    }
}

/// What a node says of the cluster.
#[derive(Clone, Debug)]
pub struct ClusterState {
    /// Its own number.
    pub here: u16,
    /// Whether it answers queries: all nodes have told what planners have to know.
    pub is_ready: bool,
    /// Why not yet, where a node that is there could not tell.
    pub hindrance: Option<String>,
    /// What is wrong with where nodes are registered, where they are.
    pub registry: Option<String>,
    /// The fingerprint of the graph that was cut: the same on all nodes that are there.
    pub graph: u128,
    /// The number of the generation that its part is at.
    pub generation: u64,
    /// Who owns what.
    pub placement: Placement,
    /// All nodes, in order.
    pub members: Vec<MemberState>,
    /// Who was refused lately, the oldest first.
    pub refused: Vec<RefusedState>,
}

impl ClusterState {
    /// Whether all nodes are there, whatever else hinders it.
    pub fn are_all_there(&self) -> bool {
        let is_there = |member: &MemberState| matches!(member.seen, Seen::Here | Seen::Up);
        self.members.iter().all(is_there)
    }

    /// Which nodes are not there and why, or what else is waited for; `None`: nothing.
    pub fn missing(&self) -> Option<String> {
        let missing = self.members.iter().filter_map(|member| match &member.seen {
            Seen::Down(cause) => Some(format!(
                "{}, which has {}, is away: {cause}",
                node_at(member.number, &member.address),
                part_name(member.number)
            )),
            Seen::Here | Seen::Up => None,
        });
        let wrong = self.hindrance.iter().chain(&self.registry);
        let missing: Vec<String> = missing.chain(wrong.cloned()).collect();
        (!missing.is_empty()).then(|| missing.join("; "))
    }
}

/// See the module's documentation.
pub struct Member {
    mark: PartOf,
    generation: u64,
    roster: Arc<Roster>,
    /// Taken when it joins.
    begun: Mutex<Option<Begun>>,
    tcp: OnceLock<Arc<Tcp>>,
    is_ready: AtomicBool,
    has_left: AtomicBool,
    hindrance: Mutex<Option<String>>,
    /// As it was told last; `None`: nothing was.
    registry: Mutex<Option<Result<(), String>>>,
    listens_at: SocketAddr,
}

struct Begun {
    opened: Opened,
    listener: TcpListener,
    config: TcpConfig,
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member")
            .field("here", &self.here())
            .finish_non_exhaustive()
    }
}

impl Member {
    /// A node that has asked nobody yet, but listens. `tell` is told who comes, goes and is refused.
    pub fn prepare(options: MemberOptions, tell: Teller) -> Result<Arc<Member>, MemberError> {
        let path = options.part;
        let key = Key::new(&options.key)?;
        let opened = directory::open(&RealDisk, &path).map_err(OpenError::from)?;
        let mark = PartOf::open(&opened).map_err(OpenError::from)?;
        let Some(mark) = mark else {
            return Err(MemberError::Whole { path });
        };
        let (found, parts) = (mark.node(), mark.placement().nodes());
        if let Some(wanted) = options.number.filter(|wanted| *wanted != found) {
            return Err(MemberError::Number {
                path,
                found,
                wanted,
            });
        }
        let members = options.members;
        let members = members.unwrap_or_else(|| vec![String::new(); usize::from(parts)]);
        let nodes = members.len();
        if nodes != usize::from(parts) {
            return Err(MemberError::Count { path, parts, nodes });
        }
        let reached = &members[usize::from(found)];
        let address = options.listen.as_ref().unwrap_or(reached);
        let failed = |source| MemberError::Listen {
            address: address.clone(),
            source,
        };
        let listener = TcpListener::bind(address).map_err(failed)?;
        let listens_at = listener.local_addr().map_err(failed)?;
        let config = TcpConfig {
            here: NodeId(found),
            // Filled in when it joins: until then another place may be told.
            members: Vec::new(),
            cluster: mark.whole().to_be_bytes(),
            epoch: fingerprint(mark.placement()),
            key,
            limits: Limits::DEFAULT,
        };
        Ok(Arc::new(Member {
            generation: opened.manifest().generation,
            roster: Arc::new(Roster::new(found, members, tell)),
            begun: Mutex::new(Some(Begun {
                opened,
                listener,
                config,
            })),
            tcp: OnceLock::new(),
            is_ready: AtomicBool::new(false),
            has_left: AtomicBool::new(false),
            hindrance: Mutex::default(),
            registry: Mutex::default(),
            listens_at,
            mark,
        }))
    }

    /// Its number.
    pub fn here(&self) -> u16 {
        self.mark.node()
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> u16 {
        self.mark.placement().nodes()
    }

    /// Where it listens for the others, with the port that the system chose.
    pub fn listens_at(&self) -> SocketAddr {
        self.listens_at
    }

    /// What others have to agree on.
    pub fn identity(&self) -> Identity {
        Identity {
            node: self.here(),
            nodes: self.nodes(),
            graph: self.mark.whole(),
            placement: fingerprint(self.mark.placement()),
        }
    }

    /// A node is reached at this address from now on (`host:port`); known or not, it proves who it is when it is linked.
    pub fn reached_at(&self, node: u16, address: &str) {
        if self.roster.reached_at(node, address)
            && let Some(tcp) = self.fabric()
        {
            tcp.reached_at(NodeId(node), address);
        }
    }

    /// Somebody is registered as a node and is none of this cluster: told once for each cause.
    pub fn refuse(&self, who: &str, reason: &str) {
        self.roster.refused(who, reason);
    }

    /// How it stands with where nodes are registered: an error is what is wrong. Told when it changes.
    pub fn registry(&self, now: Result<(), String>) {
        let mut known = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref() == Some(&now) {
            return;
        }
        let line = match &now {
            Ok(()) => "this node is registered, and sees the others that are",
            Err(trouble) => trouble,
        };
        self.roster.tell(line);
        *known = Some(now);
    }

    /// What is wrong with where nodes are registered.
    fn registry_trouble(&self) -> Option<String> {
        let known = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        known.clone()?.err()
    }

    /// The fabric's side of it, once it has begun to join.
    fn fabric(&self) -> Option<&Arc<Tcp>> {
        self.tcp.get()
    }

    fn hindrance(&self) -> MutexGuard<'_, Option<String>> {
        self.hindrance
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// What it sees of the cluster now.
    pub fn state(&self) -> ClusterState {
        let latest = |node| match self.fabric()?.presence(NodeId(node)) {
            Presence::Up(_) => None,
            Presence::Down(cause) => Some(cause.to_string()),
        };
        ClusterState {
            here: self.here(),
            is_ready: self.is_ready.load(Ordering::Acquire),
            hindrance: self.hindrance().clone(),
            registry: self.registry_trouble(),
            graph: self.mark.whole(),
            generation: self.generation,
            placement: self.mark.placement().clone(),
            members: self.roster.members(latest),
            refused: self.roster.last_refused(),
        }
    }

    /// Opens the part, joins the others, and waits until all have told what planners have to know, however long that takes;
    /// an error also where it has left meanwhile. Called once (asserted).
    pub fn join(&self, nodes: &NodeOptions, options: &Options) -> Result<Database, OpenError> {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let Begun {
            opened,
            listener,
            mut config,
        } = begun.take().expect("a node joins once");
        drop(begun);
        let (snapshot, dictionary) = open_part(&opened)?;
        if dictionary.placement() != self.mark.placement() || dictionary.node() != self.here() {
            let what = "the part's dictionary and its edges are not of one cut: copy the part's directory anew";
            return Err(failed(&what));
        }
        let kind = snapshot.type_vertex_of_whole();
        config.members = self.roster.addresses();
        let tcp = Tcp::start(listener, config).map_err(|error: TcpError| failed(&error))?;
        let tcp = Arc::clone(self.tcp.get_or_init(|| tcp));
        // What was told meanwhile.
        for (node, address) in (0..).zip(self.roster.addresses()) {
            tcp.reached_at(NodeId(node), &address);
        }
        let pool = Pool::new(options.memory_pool_bytes);
        let host = PartHost::configured(&pool, options, nodes, 0);
        let fabric: Arc<dyn Fabric> = tcp;
        let node = part_node(snapshot, dictionary, fabric, kind, &host)?;
        let roster = Arc::clone(&self.roster);
        let watch: Watch = Arc::new(move |event: &Event| roster.saw(event));
        let started = vec![(Arc::new(node), host)];
        let parts = PartNodes::start(started, (nodes.mode, nodes.asked), pool, Some(&watch))?;
        let scope = if options.union_default_graph {
            GraphScope::Union
        } else {
            GraphScope::Default
        };
        self.wait_for_all(&parts, scope)?;
        let database = Database::over_parts(parts, options)?;
        self.is_ready.store(true, Ordering::Release);
        Ok(database)
    }

    /// Waits until all nodes have told what they have.
    fn wait_for_all(&self, parts: &PartNodes, scope: GraphScope<'_>) -> Result<(), OpenError> {
        loop {
            if self.has_left.load(Ordering::Acquire) {
                return Err(failed(&"this node has left"));
            }
            if self.roster.are_all_there() {
                let told = parts.ask_statistics(|| self.has_left.load(Ordering::Acquire));
                let told = told.and_then(|told| match told {
                    Some(_) => parts.ask_common(scope).map(|()| true),
                    None => Ok(false),
                });
                self.is_hindered(told.as_ref().err().map(ViewError::to_string));
                if let Ok(true) = told {
                    return Ok(());
                }
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Why it does not begin although all are there, or that nothing hinders it. Told when it changes.
    fn is_hindered(&self, now: Option<String>) {
        let mut known = self.hindrance();
        if let Some(why) = now.as_ref().filter(|_| *known != now) {
            self.roster.tell(&format!("this node cannot begin: {why}"));
        }
        *known = now;
    }

    /// Leaves the others in good order: they are told, which takes two seconds at most.
    pub fn leave(&self) {
        self.has_left.store(true, Ordering::Release);
        if let Some(tcp) = self.fabric() {
            tcp.leave_and_wait();
        }
    }
}

fn failed(error: &dyn fmt::Display) -> OpenError {
    OpenError::Cluster(error.to_string())
}

/// What tells placements from each other (FNV-1a).
fn fingerprint(placement: &Placement) -> u64 {
    let mut bytes = Vec::new();
    placement.encode(&mut bytes);
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn who_is_missing_is_told_apart_from_what_hinders() {
        let member = |number: u16, seen: Seen| MemberState {
            number,
            address: format!("host-{number}:1"),
            seen,
            since: SystemTime::UNIX_EPOCH,
        };
        let mut state = ClusterState {
            here: 0,
            is_ready: false,
            hindrance: Some("a file is damaged".to_owned()),
            registry: None,
            graph: 1,
            generation: 1,
            placement: Placement::in_turn(2, 1, 64).expect("a placement"),
            members: vec![member(0, Seen::Here), member(1, Seen::Up)],
            refused: Vec::new(),
        };
        assert!(state.are_all_there());
        assert_eq!(state.missing().as_deref(), Some("a file is damaged"));
        state.members[1].seen = Seen::Down("it has left".to_owned());
        assert!(!state.are_all_there());
        let missing = state.missing().expect("a node is");
        assert!(
            missing.contains("host-1:1") && missing.contains("it has left"),
            "{missing}"
        );
    }
}
