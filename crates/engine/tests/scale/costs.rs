//! What a network costs: the only numbers of the model that are not counted or measured while it runs.
//!
//! A message takes its sender's processor, the sender's line, the way, the receiver's line and the receiver's processor; whoever
//! slept has to be woken. A one-sided read takes the reader's processor, the way there and back and the owner's line, and
//! nothing of the owner's processor.

use fabric::{Facts, Limits};

/// One-sided reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadCosts {
    /// Of a batch, there and back, of no length (ns).
    pub ns: u64,
    /// Of each piece, for the reader's processor (ns).
    pub post_ns: u64,
}

/// See the module's documentation. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// What figures call it.
    pub name: &'static str,
    /// From the end of sending to the arrival of a message without length; that the poller is woken is in it.
    pub one_way_ns: u64,
    /// A KiB on a node's line, in each direction.
    pub line_ns_per_kib: u64,
    /// For the sender's processor: a message, and each KiB of it.
    pub send_ns: u64,
    pub send_ns_per_kib: u64,
    /// For the receiver's.
    pub receive_ns: u64,
    pub receive_ns_per_kib: u64,
    /// Until a thread that waited walks on.
    pub wake_ns: u64,
    /// `None`: lists are asked for by message.
    pub read: Option<ReadCosts>,
}

/// Bytes of a frame beside the message.
const FRAME_BYTES: u64 = 64;

/// Reads of 2 us and lines of 7 GB/s (the numbers). A message is written into the receiver's memory, one way, and found by
/// a thread that looks for it, so nobody is woken; its bytes are copied once at each end.
pub const RDMA: Costs = Costs {
    name: "rdma",
    one_way_ns: 1_500,
    line_ns_per_kib: 146,
    send_ns: 300,
    send_ns_per_kib: 50,
    receive_ns: 300,
    receive_ns_per_kib: 50,
    wake_ns: 0,
    read: Some(ReadCosts {
        ns: 2_000,
        post_ns: 150,
    }),
};

/// `fabric::tcp` over the loopback of two cores (2026-11-27, alone), as `tcp::measured` finds it: a round trip of 64 us, 13.5 us
/// of processors a message where many come in a row, and nothing for lines, which there are none of.
pub const TCP: Costs = Costs {
    name: "tcp",
    one_way_ns: 18_500,
    line_ns_per_kib: 0,
    send_ns: 6_500,
    send_ns_per_kib: 740,
    receive_ns: 7_000,
    receive_ns_per_kib: 740,
    wake_ns: 18_000,
    read: None,
};

/// All that have a name. A line of 25 Gbit/s with its cards and one switch adds some 10 us a way.
pub const ALL: [Costs; 3] = [TCP, TCP.behind("tcp-25g", 25, 10_000), RDMA];

impl Costs {
    /// The same with messages alone.
    pub const fn without_reads(self) -> Costs {
        Costs { read: None, ..self }
    }

    /// The same behind a line of so many Gbit/s, whose way takes so much longer.
    pub const fn behind(self, name: &'static str, gigabits: u64, way_ns: u64) -> Costs {
        Costs {
            name,
            one_way_ns: self.one_way_ns + way_ns,
            line_ns_per_kib: 8 * 1024 / gigabits,
            ..self
        }
    }

    /// What a message of so many bytes takes of its sender's processor.
    pub fn send(&self, bytes: usize) -> u64 {
        self.send_ns + per_kib(self.send_ns_per_kib, bytes as u64)
    }

    /// And of its receiver's.
    pub fn receive(&self, bytes: usize) -> u64 {
        self.receive_ns + per_kib(self.receive_ns_per_kib, bytes as u64)
    }

    /// How long a line is taken by it.
    pub fn line(&self, bytes: usize) -> u64 {
        per_kib(self.line_ns_per_kib, bytes as u64 + FRAME_BYTES)
    }

    /// What a node is told of it, by which it chooses between ways.
    pub fn facts(&self) -> Facts {
        let a_message = self.send_ns + self.one_way_ns + self.receive_ns;
        Facts {
            name: self.name,
            is_one_sided: self.read.is_some(),
            round_trip_ns: 2 * a_message,
            ns_per_kib: self.line_ns_per_kib + self.send_ns_per_kib + self.receive_ns_per_kib,
            // A read is a completion there.
            load_ns: None,
            limits: Limits::DEFAULT,
        }
    }
}

fn per_kib(ns: u64, bytes: u64) -> u64 {
    ns * bytes / 1024
}
