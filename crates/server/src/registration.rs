//! A node of a cluster in etcd: it registers where it is reached, and learns where the others are.
//!
//! ```text
//!  PREFIX/nodes/part-0001   {"node":1,"part":"part-0001","nodes":3,"address":"10.0.0.2:7373","graph":"..","placement":"..", ..}
//! ```
//!
//! A key is the part's name, so a part can be there once. It stands under a lease of [`LEASE`], which is kept alive every [`KEEP`]; a
//! node that died is gone from there when its lease has ended, and until then a successor at the same address takes its key over, while
//! one at another address waits. All keys are read every [`LOOK`]: a node that comes back elsewhere is dialled there from then on.
//!
//! Nothing is believed of an address but that it is worth a try: key and graph are proven by the greeting between two nodes. What is
//! registered of the graph is compared beforehand, so that two clusters under one prefix are told from a node that is lost.
//!
//! etcd is needed to find each other, not to answer: links stand while it is away, and what is wrong is told and shown
//! (`Member::registry`). Cost: two or three requests of a few hundred bytes a second and node.

use crate::etcd::{Entry, Etcd, EtcdError, Lease};
use serde_json::{Value, json};
use somersault::nodes::{Identity, Member};
use somersault::parts::part_name;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a node that died stays registered.
const LEASE: Duration = Duration::from_secs(3);

/// How often the lease is kept alive.
const KEEP: Duration = Duration::from_secs(1);

/// How often it is looked where the others are.
const LOOK: Duration = Duration::from_millis(500);

const _: () = assert!(
    KEEP.as_millis() + 2 * LOOK.as_millis() < LEASE.as_millis(),
    "one request may be late before the lease ends"
);

/// A node that is registered until this is dropped; see the module's documentation.
pub struct Registration {
    /// Dropped, it ends the thread.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration").finish_non_exhaustive()
    }
}

impl Registration {
    /// Begins to register the node below a prefix, as reached at this address: `host:port`. Whatever goes wrong from then on is
    /// told to the node.
    ///
    /// # Errors
    /// There is no thread for it.
    pub fn start(
        member: Arc<Member>,
        etcd: Etcd,
        prefix: &str,
        address: String,
    ) -> io::Result<Registration> {
        let (end, ended) = channel();
        member.reached_at(member.here(), &address);
        let registrar = Registrar {
            folder: format!("{}/nodes/", prefix.trim_end_matches('/')),
            own: Card {
                identity: member.identity(),
                address,
            },
            member,
            etcd,
            lease: None,
            kept: Instant::now(),
            held: None,
        };
        let thread = std::thread::Builder::new().name("registration".to_owned());
        let thread = thread.spawn(move || registrar.run(&ended))?;
        Ok(Registration {
            end: Some(end),
            thread: Some(thread),
        })
    }
}

impl Drop for Registration {
    /// Takes the node out of etcd, as far as that answers.
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // A panic there has been reported by the thread.
            drop(thread.join());
        }
    }
}

struct Registrar {
    member: Arc<Member>,
    etcd: Etcd,
    /// What all keys of nodes begin with.
    folder: String,
    own: Card,
    lease: Option<Lease>,
    /// When the lease was kept alive last.
    kept: Instant,
    /// Under which lease the node has been registered.
    held: Option<Lease>,
}

impl Registrar {
    fn run(mut self, ended: &Receiver<()>) {
        loop {
            let now = self.look();
            self.member.registry(now);
            if ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Disconnected) {
                break;
            }
        }
        if let Some(lease) = self.lease {
            // Else it ends by itself.
            let _ = self.etcd.revoke(lease);
        }
    }

    /// Keeps the lease, looks who is there, and registers the node where it is not. An error is for people.
    fn look(&mut self) -> Result<(), String> {
        let lease = self.lease().map_err(|error| away(&error))?;
        let entries = self.etcd.under(&self.folder);
        let entries = entries.map_err(|error| away(&error))?;
        let key = format!("{}{}", self.folder, part_name(self.member.here()));
        let (own, others): (Vec<Entry>, Vec<Entry>) =
            entries.into_iter().partition(|it| it.key == key);
        for entry in &others {
            self.meet(entry);
        }
        let revision = match own.first() {
            Some(entry) if entry.lease == lease => {
                self.held = Some(lease);
                return Ok(());
            }
            Some(_) if self.held == Some(lease) => {
                return Err(format!(
                    "another node with the part and the address of this one has registered itself in its place ({key}): stop one of the two"
                ));
            }
            Some(entry) => self.predecessor(entry)?,
            None => 0,
        };
        let value = self.own.document().to_string();
        let put = self.etcd.put_if(&key, value.as_bytes(), lease, revision);
        if put.map_err(|error| away(&error))? {
            self.held = Some(lease);
            return Ok(());
        }
        Err(format!(
            "{key} in etcd is changed by somebody else at the same time"
        ))
    }

    /// The lease, kept alive where that is due; another one where it has ended.
    fn lease(&mut self) -> Result<Lease, EtcdError> {
        if let Some(lease) = self.lease {
            if self.kept.elapsed() < KEEP {
                return Ok(lease);
            }
            if self.etcd.keep_alive(lease)? {
                self.kept = Instant::now();
                return Ok(lease);
            }
            self.member.registry(Err(format!(
                "the node's lease in etcd has ended: it was not kept alive for {} s, by this node or by etcd; it is registered anew",
                LEASE.as_secs()
            )));
        }
        let lease = self.etcd.grant(LEASE)?;
        (self.lease, self.kept) = (Some(lease), Instant::now());
        Ok(lease)
    }

    /// The revision of what this node's predecessor left, which it may take over; an error: it is somebody else's.
    fn predecessor(&self, entry: &Entry) -> Result<i64, String> {
        let part = part_name(self.member.here());
        let other =
            Card::read(&entry.value).map_err(|what| format!("{} in etcd: {what}", entry.key))?;
        if other == self.own {
            return Ok(entry.revision);
        }
        let difference = self.own.identity.difference(&other.identity);
        Err(difference.map_or_else(
            || {
                format!(
                    "another node with {part} is registered, at {}: if it runs, stop one of the two; if it has ended, its lease does \
                     so within {} s",
                    other.address,
                    LEASE.as_secs()
                )
            },
            |difference| of_another(&other, &difference),
        ))
    }

    /// Takes note of where another node is, or of why it is none of this cluster.
    fn meet(&self, entry: &Entry) {
        let name = &entry.key[self.folder.len()..];
        let who = || format!("{} in etcd", entry.key);
        let card = match Card::read(&entry.value) {
            Ok(card) if part_name(card.identity.node) == name => card,
            Ok(card) => {
                let what = format!(
                    "it is said to be node {}, whose key ends with {}",
                    card.identity.node,
                    part_name(card.identity.node)
                );
                return self.member.refuse(&who(), &what);
            }
            Err(what) => return self.member.refuse(&who(), &what),
        };
        match self.own.identity.difference(&card.identity) {
            None => self.member.reached_at(card.identity.node, &card.address),
            Some(difference) => self.member.refuse(&who(), &of_another(&card, &difference)),
        }
    }
}

fn away(error: &EtcdError) -> String {
    format!(
        "etcd is asked in vain where the nodes are: {error}: check cluster.etcd, and that it runs; nodes that are linked stay so"
    )
}

fn of_another(card: &Card, difference: &str) -> String {
    format!(
        "node {} at {} belongs to another cluster: {difference}; give each cluster a prefix of its own (cluster.prefix)",
        card.identity.node, card.address
    )
}

/// What stands in etcd of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Card {
    identity: Identity,
    address: String,
}

impl Card {
    fn document(&self) -> Value {
        let Identity {
            node,
            nodes,
            graph,
            placement,
        } = self.identity;
        json!({
            "node": node,
            "part": part_name(node),
            "nodes": nodes,
            "address": self.address,
            "graph": format!("{graph:032x}"),
            "placement": format!("{placement:016x}"),
            "release": env!("CARGO_PKG_VERSION"),
        })
    }

    /// What does not belong to it is left aside: another release may say more.
    fn read(bytes: &[u8]) -> Result<Card, String> {
        let document: Value = serde_json::from_slice(bytes).unwrap_or_default();
        let number = |name: &str| {
            document[name]
                .as_u64()
                .and_then(|it| u16::try_from(it).ok())
        };
        let text = |name: &str| document[name].as_str();
        let read = || {
            Some(Card {
                identity: Identity {
                    node: number("node")?,
                    nodes: number("nodes")?,
                    graph: u128::from_str_radix(text("graph")?, 16).ok()?,
                    placement: u64::from_str_radix(text("placement")?, 16).ok()?,
                },
                address: text("address")?.to_owned(),
            })
        };
        read().ok_or_else(|| "what stands there is no node".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_read_as_it_was_written_and_nothing_else_is_one() {
        let card = Card {
            identity: Identity {
                node: 1,
                nodes: 3,
                graph: 7 << 90,
                placement: u64::MAX,
            },
            address: "a:1".to_owned(),
        };
        let mut document = card.document();
        assert_eq!(Card::read(document.to_string().as_bytes()), Ok(card));
        for (name, value) in [
            ("node", json!(70_000)),
            ("graph", json!("x")),
            ("address", json!(null)),
        ] {
            let before = std::mem::replace(&mut document[name], value);
            assert!(
                Card::read(document.to_string().as_bytes()).is_err(),
                "{name}"
            );
            document[name] = before;
        }
        assert!(Card::read(b"\xff").is_err());
    }
}
