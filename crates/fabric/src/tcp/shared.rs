//! What the fabric's thread and the callers of a node share.
//!
//! | what | who may touch it, when |
//! |---|---|
//! | the table of wires | the fabric's thread changes it; all read it, under its lock, for a look-up |
//! | a wire | under its lock: the fabric's thread, and a sender that finds it free |
//! | where members are reached | any thread, under its lock, for one address |
//! | the station | as its file says; its locks may be taken under a wire's, never the other way round |

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, TryLockError};

use mio::Waker;

use super::key::Tls;
use super::wire::Wire;
use crate::clock::Clock;
use crate::link::ConnectionId;
use crate::node::NodeId;
use crate::station::Station;

/// What a sender sends itself, in bytes; what is longer, the fabric's thread sends.
const DIRECT_BYTES: usize = 64 << 10;

pub(super) type SharedWire = Arc<Mutex<Wire>>;

/// See the head of this file.
pub(super) struct Shared {
    pub(super) station: Station,
    pub(super) clock: Clock,
    pub(super) tls: Tls,
    pub(super) waker: Arc<Waker>,
    /// Where each member is reached, at its number; empty where that is not known.
    members: Mutex<Vec<String>>,
    wires: RwLock<BTreeMap<ConnectionId, SharedWire>>,
}

impl Shared {
    pub(super) fn new(
        station: Station,
        clock: Clock,
        tls: Tls,
        waker: Arc<Waker>,
        members: Vec<String>,
    ) -> Shared {
        let members = Mutex::new(members);
        let wires = RwLock::default();
        Shared {
            station,
            clock,
            tls,
            waker,
            members,
            wires,
        }
    }

    fn members(&self) -> MutexGuard<'_, Vec<String>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where a member is reached; empty where that is not known.
    pub(super) fn address(&self, node: NodeId) -> String {
        self.members()
            .get(node.index())
            .cloned()
            .unwrap_or_default()
    }

    pub(super) fn reached_at(&self, node: NodeId, address: &str) {
        if let Some(known) = self.members().get_mut(node.index()) {
            address.clone_into(known);
        }
    }

    pub(super) fn wires(&self) -> RwLockReadGuard<'_, BTreeMap<ConnectionId, SharedWire>> {
        self.wires.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// All wires, to be looked at without the table's lock.
    pub(super) fn all(&self) -> Vec<(ConnectionId, SharedWire)> {
        let wires = self.wires();
        wires
            .iter()
            .map(|(&id, wire)| (id, Arc::clone(wire)))
            .collect()
    }

    pub(super) fn wire(&self, id: ConnectionId) -> Option<SharedWire> {
        self.wires().get(&id).cloned()
    }

    pub(super) fn insert(&self, id: ConnectionId, wire: Wire) {
        let mut wires = self.wires.write().unwrap_or_else(PoisonError::into_inner);
        wires.insert(id, Arc::new(Mutex::new(wire)));
    }

    pub(super) fn remove(&self, id: ConnectionId) -> Option<SharedWire> {
        let mut wires = self.wires.write().unwrap_or_else(PoisonError::into_inner);
        wires.remove(&id)
    }

    /// Sends what was queued for a peer, here if it is little and nobody else is at it, else in the fabric's thread.
    pub(super) fn flush(&self, node: NodeId, bytes: usize) {
        let Some(id) = self.station.talkative(node) else {
            return;
        };
        if bytes > DIRECT_BYTES || !self.flush_here(id) {
            self.wake();
        }
    }

    /// Says whether nothing is left for the fabric's thread.
    fn flush_here(&self, id: ConnectionId) -> bool {
        let Some(wire) = self.wire(id) else {
            return false;
        };
        let mut wire = match wire.try_lock() {
            Ok(wire) => wire,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        if wire.has_ended() || wire.failed.is_some() {
            return false;
        }
        match wire.flush(self.clock.now(), &self.station, DIRECT_BYTES) {
            Ok(is_more) => !is_more,
            Err(cause) => {
                wire.failed = Some(cause);
                false
            }
        }
    }

    /// Wakes the fabric's thread. That fails only where it has ended.
    pub(super) fn wake(&self) {
        let _ = self.waker.wake();
    }
}

pub(super) fn lock(wire: &SharedWire) -> MutexGuard<'_, Wire> {
    wire.lock().unwrap_or_else(PoisonError::into_inner)
}
