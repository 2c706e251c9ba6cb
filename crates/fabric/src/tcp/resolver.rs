//! Names of hosts are looked up in a thread of their own, because that may take seconds and must keep no heartbeat waiting.
//!
//! Literal addresses need none. The thread ends when its questions do.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use mio::Waker;

use crate::node::NodeId;

/// Where somebody is, or why that is not known.
pub(super) type Answer = (NodeId, Result<SocketAddr, String>);

/// The other side of the thread.
pub(super) struct Resolver {
    questions: Sender<(NodeId, String)>,
    answers: Receiver<Answer>,
}

impl Resolver {
    /// Starts the thread, which wakes the asking one when it knows something.
    pub(super) fn start(waker: Arc<Waker>) -> io::Result<Resolver> {
        let (questions, asked) = mpsc::channel::<(NodeId, String)>();
        let (tell, answers) = mpsc::channel();
        let look_up = move || {
            for (node, address) in asked {
                if tell.send((node, resolve(&address))).is_err() || waker.wake().is_err() {
                    return;
                }
            }
        };
        thread::Builder::new()
            .name("fabric-names".to_owned())
            .spawn(look_up)?;
        Ok(Resolver { questions, answers })
    }

    /// Asks where a node is. The answer may be there at once.
    pub(super) fn ask(&self, node: NodeId, address: &str) -> Option<Answer> {
        if let Ok(address) = address.parse() {
            return Some((node, Ok(address)));
        }
        let asked = self.questions.send((node, address.to_owned()));
        asked.err().map(|_| {
            (
                node,
                Err("the thread that looks up names has ended".to_owned()),
            )
        })
    }

    /// The answers that have come.
    pub(super) fn answers(&self) -> Vec<Answer> {
        self.answers.try_iter().collect()
    }
}

fn resolve(address: &str) -> Result<SocketAddr, String> {
    let mut found = address
        .to_socket_addrs()
        .map_err(|error| format!("the address `{address}` is not known: {error}"))?;
    found
        .next()
        .ok_or_else(|| format!("the address `{address}` is not known"))
}
