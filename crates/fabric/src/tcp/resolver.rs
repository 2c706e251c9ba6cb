//! Names of hosts are looked up in threads of their own, because that may take seconds and must keep no heartbeat waiting.
//!
//! Each question has its thread, so a name that hangs (a container that is gone, behind a server of names that does not answer) keeps no
//! other node away. Nobody asks for a node again before it was answered, so there are no more threads than nodes. Literal addresses
//! need none.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use mio::Waker;

use crate::node::NodeId;

/// Where somebody is, or why that is not known.
pub(super) type Answer = (NodeId, Result<SocketAddr, String>);

/// How a name is looked up.
type LookUp = fn(&str) -> Result<SocketAddr, String>;

/// Where threads answer.
pub(super) struct Resolver {
    waker: Arc<Waker>,
    look_up: LookUp,
    tell: Sender<Answer>,
    answers: Receiver<Answer>,
}

impl Resolver {
    /// One that wakes whoever asks when it knows something.
    pub(super) fn new(waker: Arc<Waker>) -> Resolver {
        Resolver::with(waker, resolve)
    }

    fn with(waker: Arc<Waker>, look_up: LookUp) -> Resolver {
        let (tell, answers) = mpsc::channel();
        Resolver {
            waker,
            look_up,
            tell,
            answers,
        }
    }

    /// Asks where a node is. The answer may be there at once.
    pub(super) fn ask(&self, node: NodeId, address: &str) -> Option<Answer> {
        if let Ok(address) = address.parse() {
            return Some((node, Ok(address)));
        }
        let started = self.start(node, address.to_owned());
        let why = started.err()?;
        Some((
            node,
            Err(format!("the address `{address}` is not looked up: {why}")),
        ))
    }

    fn start(&self, node: NodeId, address: String) -> io::Result<()> {
        let (tell, waker, look_up) = (self.tell.clone(), Arc::clone(&self.waker), self.look_up);
        let thread = thread::Builder::new().name("fabric-names".to_owned());
        thread.spawn(move || {
            // Nobody waits any more where this is not taken.
            if tell.send((node, look_up(&address))).is_ok() {
                let _ = waker.wake();
            }
        })?;
        Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::time::{Duration, Instant};

    /// Held while a name hangs.
    static HANGS: Mutex<()> = Mutex::new(());

    fn one_that_hangs(address: &str) -> Result<SocketAddr, String> {
        if address == "hangs:1" {
            drop(HANGS.lock());
            return Err("too late".to_owned());
        }
        Ok(SocketAddr::from(([127, 0, 0, 1], 7)))
    }

    fn until_answered(resolver: &Resolver) -> Vec<Answer> {
        let since = Instant::now();
        loop {
            let answers = resolver.answers();
            if !answers.is_empty() || since.elapsed() > Duration::from_secs(30) {
                return answers;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_name_that_hangs_keeps_no_other_waiting() {
        let mut poll = mio::Poll::new().expect("there is one");
        let waker = Waker::new(poll.registry(), mio::Token(9)).expect("there is one");
        let resolver = Resolver::with(Arc::new(waker), one_that_hangs);
        let literal = resolver.ask(NodeId(3), "127.0.0.1:9");
        assert!(matches!(literal, Some((NodeId(3), Ok(_)))), "{literal:?}");
        let hanging = HANGS.lock().expect("nobody panicked");
        assert!(resolver.ask(NodeId(0), "hangs:1").is_none());
        assert!(resolver.ask(NodeId(1), "other:1").is_none());
        let found = until_answered(&resolver);
        assert!(matches!(found[..], [(NodeId(1), Ok(_))]), "{found:?}");
        let mut events = mio::Events::with_capacity(4);
        let polled = poll.poll(&mut events, Some(Duration::from_secs(30)));
        assert!(polled.is_ok() && !events.is_empty(), "who asked is woken");
        drop(hanging);
        let late = until_answered(&resolver);
        assert!(matches!(late[..], [(NodeId(0), Err(_))]), "{late:?}");
    }
}
