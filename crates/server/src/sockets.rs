//! The open connections: how many, whose, and which of them goes when there is no room for another.
//!
//! A connection costs a descriptor and some memory whether it is used or not, so their number is bounded;
//! but who holds a thousand of them and sends nothing must not keep others out. Whoever comes always gets
//! in: where there is no room, the idlest connection of the peer with the most is closed, which is what
//! any server does with connections that are kept alive, only sooner. Where none is idle, because each has
//! a request that is being read or answered, the newcomer gets a place of a small reserve, in which
//! `/health` and `/metrics` are answered, and everything else is 503.
//!
//! One peer may have [`SocketBounds::per_peer`] connections beside those of the reserve; beyond, it loses its own
//! idlest. A proxy that is configured speaks for many, and has no bound of its own.
//!
//! | who | touches | when |
//! |---|---|---|
//! | the accept loop | the table | a connection comes |
//! | a connection's task | the table | it ends |
//! | the same | `Socket::idle_since_ns` | a request comes; its response has been sent, or dropped |

use crate::request::access::Client;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::Notify;

/// [`Socket::idle_since_ns`] while there is a request.
const BUSY: u64 = u64::MAX;

/// How many connections there may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SocketBounds {
    /// In all (count).
    pub connections: usize,
    /// Of one peer (count).
    pub per_peer: usize,
    /// Besides, for requests to `/health` and `/metrics` (count).
    pub reserve: usize,
}

/// The table.
#[derive(Debug)]
pub(crate) struct Sockets {
    bounds: SocketBounds,
    base: Instant,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    last: u64,
    full: Room,
    reserve: Room,
}

/// Connections of one kind.
#[derive(Debug, Default)]
struct Room {
    sockets: BTreeMap<u64, Arc<Socket>>,
    peers: HashMap<Client, usize>,
}

/// One connection, as the table knows it.
#[derive(Debug)]
pub(crate) struct Socket {
    number: u64,
    peer: Client,
    base: Instant,
    /// In nanoseconds since `base`; [`BUSY`].
    idle_since_ns: AtomicU64,
    /// Told when its place is another's.
    end: Notify,
}

/// What a connection may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Everything.
    Full,
    /// `/health` and `/metrics`.
    Reserve,
}

/// A connection's place, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct SocketPermit {
    sockets: Arc<Sockets>,
    /// Shared with the requests of the connection.
    pub socket: Arc<Socket>,
    /// What for.
    pub purpose: Use,
}

/// A request, or its response, is under way.
#[derive(Debug)]
pub(crate) struct InFlight(Arc<Socket>);

impl Sockets {
    pub fn new(bounds: SocketBounds) -> Arc<Sockets> {
        Arc::new(Sockets {
            bounds,
            base: Instant::now(),
            inner: Mutex::default(),
        })
    }

    /// A place for a new connection; `None` where the reserve is full of requests too. A peer without
    /// bound is one of our proxies.
    pub fn enter(self: &Arc<Sockets>, peer: Client, is_bounded: bool) -> Option<SocketPermit> {
        let inner = &mut *self.lock();
        inner.last += 1;
        let number = inner.last;
        let own_max = if is_bounded {
            self.bounds.per_peer
        } else {
            self.bounds.connections
        };
        let room = &mut inner.full;
        let own_is_full = room.peers.get(&peer).is_some_and(|count| *count >= own_max);
        let has_room = if own_is_full {
            room.end_idlest(Some(peer))
        } else {
            room.sockets.len() < self.bounds.connections || room.end_idlest(None)
        };
        let (room, purpose) = if has_room {
            (&mut inner.full, Use::Full)
        } else {
            let room = &mut inner.reserve;
            if room.sockets.len() >= self.bounds.reserve && !room.end_idlest(None) {
                return None;
            }
            (room, Use::Reserve)
        };
        let socket = Arc::new(Socket {
            number,
            peer,
            base: self.base,
            idle_since_ns: AtomicU64::new(self.base.elapsed().as_nanos() as u64),
            end: Notify::new(),
        });
        room.sockets.insert(number, Arc::clone(&socket));
        *room.peers.entry(peer).or_default() += 1;
        let most = match purpose {
            Use::Full => self.bounds.connections,
            Use::Reserve => self.bounds.reserve,
        };

        assert!(
            room.sockets.len() <= most,
            "a connection has a place of its own"
        );
        assert!(
            room.peers.len() <= room.sockets.len(),
            "a peer has a connection"
        );
        Some(SocketPermit {
            sockets: Arc::clone(self),
            socket,
            purpose,
        })
    }

    /// Closes the idlest connection: descriptors are short.
    pub fn make_room(&self) {
        self.lock().full.end_idlest(None);
    }

    /// Whole at every moment, so a poisoned lock holds no harm.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Room {
    /// Takes its place from the connection that has been idle for longest: of this peer, or of the one
    /// with the most idle ones. False where none is idle.
    fn end_idlest(&mut self, peer: Option<Client>) -> bool {
        let idle = |socket: &&Arc<Socket>| socket.idle_since() != BUSY;
        let peer = peer.or_else(|| {
            let mut counts: HashMap<Client, usize> = HashMap::new();
            for socket in self.sockets.values().filter(idle) {
                *counts.entry(socket.peer).or_default() += 1;
            }
            let most = counts.into_iter().max_by_key(|(_, count)| *count);
            most.map(|(peer, _)| peer)
        });
        let own = |socket: &&Arc<Socket>| Some(socket.peer) == peer;
        let sockets = self.sockets.values().filter(own).filter(idle);
        let Some(idlest) = sockets.min_by_key(|socket| socket.idle_since()).cloned() else {
            return false;
        };
        self.remove(&idlest);
        idlest.end.notify_one();
        true
    }

    fn remove(&mut self, socket: &Socket) {
        if self.sockets.remove(&socket.number).is_none() {
            return;
        }
        if let Some(count) = self.peers.get_mut(&socket.peer) {
            *count -= 1;
            if *count == 0 {
                self.peers.remove(&socket.peer);
            }
        }
    }
}

impl Socket {
    /// A request has come.
    pub fn begin(self: &Arc<Socket>) -> InFlight {
        self.idle_since_ns.store(BUSY, Ordering::Relaxed);
        InFlight(Arc::clone(self))
    }

    /// Waits until the place is given to another connection.
    pub async fn ended(&self) {
        self.end.notified().await;
    }

    fn idle_since(&self) -> u64 {
        self.idle_since_ns.load(Ordering::Relaxed)
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let now = self.0.base.elapsed().as_nanos() as u64;
        self.0.idle_since_ns.store(now, Ordering::Relaxed);
    }
}

impl Drop for SocketPermit {
    fn drop(&mut self) {
        let inner = &mut *self.sockets.lock();
        // Numbers are of both rooms, so it is in one of them, or its place has been taken.
        inner.full.remove(&self.socket);
        inner.reserve.remove(&self.socket);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr};

    const BOUNDS: SocketBounds = SocketBounds {
        connections: 4,
        per_peer: 3,
        reserve: 1,
    };

    fn peer(number: u8) -> Client {
        Client::at(IpAddr::V4(Ipv4Addr::new(192, 0, 2, number)))
    }

    fn enter(sockets: &Arc<Sockets>, number: u8) -> SocketPermit {
        sockets.enter(peer(number), true).unwrap()
    }

    async fn is_ended(place: &SocketPermit) -> bool {
        let now = std::time::Duration::from_millis(1);
        tokio::time::timeout(now, place.socket.ended())
            .await
            .is_ok()
    }

    #[tokio::test]
    async fn a_peer_with_too_many_loses_its_own_idlest() {
        let sockets = Sockets::new(BOUNDS);
        let first = enter(&sockets, 1);
        let busy = first.socket.begin();
        let (second, third) = (enter(&sockets, 1), enter(&sockets, 1));
        let fourth = enter(&sockets, 1);
        assert!(is_ended(&second).await);
        assert!(!is_ended(&first).await && !is_ended(&third).await);
        assert_eq!(fourth.purpose, Use::Full);
        drop(busy);
    }

    #[tokio::test]
    async fn where_all_is_full_the_peer_with_the_most_idle_ones_loses_one() {
        let sockets = Sockets::new(BOUNDS);
        let other = enter(&sockets, 2);
        let many: Vec<SocketPermit> = (0..3).map(|_| enter(&sockets, 1)).collect();
        let newcomer = enter(&sockets, 3);
        assert_eq!(newcomer.purpose, Use::Full);
        assert!(is_ended(&many[0]).await && !is_ended(&other).await);
        drop((many, other, newcomer));
        assert!(sockets.lock().full.sockets.is_empty() && sockets.lock().full.peers.is_empty());
    }

    #[tokio::test]
    async fn where_none_is_idle_there_is_a_reserve() {
        let sockets = Sockets::new(BOUNDS);
        let places: Vec<SocketPermit> = (0..4).map(|number| enter(&sockets, number)).collect();
        let busy: Vec<InFlight> = places.iter().map(|place| place.socket.begin()).collect();
        let first = enter(&sockets, 9);
        assert_eq!(first.purpose, Use::Reserve);
        // Idle itself, it makes room for the next; busy, it does not.
        let second = enter(&sockets, 9);
        assert!(is_ended(&first).await);
        let asking = second.socket.begin();
        assert!(sockets.enter(peer(9), true).is_none());
        drop((busy, asking));
        assert_eq!(enter(&sockets, 9).purpose, Use::Full);
    }

    #[test]
    fn proxies_of_ours_have_no_bound_of_their_own() {
        let sockets = Sockets::new(BOUNDS);
        let places = (0..4).map(|_| sockets.enter(peer(1), false).unwrap());
        let places: Vec<SocketPermit> = places.collect();
        assert_eq!(sockets.lock().full.sockets.len(), places.len());
    }
}
