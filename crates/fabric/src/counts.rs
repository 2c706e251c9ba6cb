//! What a node has sent and read so far: for metrics, and for tests that prove by counts how something was done.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counted since the node started. Heartbeats and the fabric's own headers are not in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages that were accepted for sending.
    pub messages_sent: u64,
    /// Their bytes.
    pub bytes_sent: u64,
    /// Messages that were handed out by poll.
    pub messages_received: u64,
    /// Their bytes.
    pub bytes_received: u64,
    /// Batches of reads that succeeded.
    pub reads: u64,
    /// Their pieces.
    pub pieces_read: u64,
    /// Their bytes.
    pub bytes_read: u64,
    /// Batches of writes that succeeded.
    pub writes: u64,
    /// Their bytes.
    pub bytes_written: u64,
}

/// The same, counted by several threads.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    messages_sent: AtomicU64,
    bytes_sent: AtomicU64,
    messages_received: AtomicU64,
    bytes_received: AtomicU64,
    reads: AtomicU64,
    pieces_read: AtomicU64,
    bytes_read: AtomicU64,
    writes: AtomicU64,
    bytes_written: AtomicU64,
}

impl Counters {
    pub(crate) fn sent(&self, bytes: usize) {
        add(&self.messages_sent, 1);
        add(&self.bytes_sent, bytes as u64);
    }

    pub(crate) fn received(&self, bytes: usize) {
        add(&self.messages_received, 1);
        add(&self.bytes_received, bytes as u64);
    }

    pub(crate) fn read(&self, pieces: usize, bytes: u64) {
        add(&self.reads, 1);
        add(&self.pieces_read, pieces as u64);
        add(&self.bytes_read, bytes);
    }

    pub(crate) fn written(&self, bytes: u64) {
        add(&self.writes, 1);
        add(&self.bytes_written, bytes);
    }

    pub(crate) fn get(&self) -> Counts {
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            messages_sent: value(&self.messages_sent),
            bytes_sent: value(&self.bytes_sent),
            messages_received: value(&self.messages_received),
            bytes_received: value(&self.bytes_received),
            reads: value(&self.reads),
            pieces_read: value(&self.pieces_read),
            bytes_read: value(&self.bytes_read),
            writes: value(&self.writes),
            bytes_written: value(&self.bytes_written),
        }
    }
}

/// Counters order nothing: whoever reads them wants to know how many, not what happened before.
fn add(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}
