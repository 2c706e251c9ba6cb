//! What fails, and what of it a client may notice.

use std::time::Instant;

/// Something that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A node's process is killed, and started anew.
    Killed(u16),
    /// A node's process stands still, and closes nothing.
    Frozen(u16),
    /// The cable of a node's host is pulled.
    CutOff(u16),
    /// All that a node says and hears comes 100 ms later.
    Late(u16),
    /// All that a node says and hears goes at the pace of an old modem line.
    Slow(u16),
    /// All connections of a node are reset, again and again.
    Reset(u16),
    /// What the first says does not reach the second, and nothing ends.
    Deaf(u16, u16),
}

impl Fault {
    /// Each kind, of a node or two.
    pub fn all(one: u16, other: u16) -> [Fault; 7] {
        [
            Fault::Killed(one),
            Fault::Frozen(one),
            Fault::CutOff(one),
            Fault::Late(one),
            Fault::Slow(one),
            Fault::Reset(one),
            Fault::Deaf(one, other),
        ]
    }

    /// The kind's name.
    pub fn name(self) -> &'static str {
        match self {
            Fault::Killed(_) => "killed",
            Fault::Frozen(_) => "frozen",
            Fault::CutOff(_) => "cut off",
            Fault::Late(_) => "late",
            Fault::Slow(_) => "slow",
            Fault::Reset(_) => "reset",
            Fault::Deaf(..) => "deaf",
        }
    }

    /// Whether a node's process does not run, so that it keeps no deadline.
    pub fn stops(self, node: u16) -> bool {
        matches!(self, Fault::Killed(it) | Fault::Frozen(it) if it == node)
    }

    /// Whether one node may say of another that it is away. A link that is late or slow is none that ends.
    pub fn explains(self, asked: u16, named: u16) -> bool {
        match self {
            Fault::Killed(it) | Fault::Frozen(it) => named == it,
            Fault::CutOff(it) => (asked == it) != (named == it),
            Fault::Late(_) | Fault::Slow(_) => false,
            Fault::Reset(_) => true,
            Fault::Deaf(one, other) => named == one || named == other,
        }
    }
}

/// A fault, and when it was.
#[derive(Clone, Copy, Debug)]
pub struct Failing {
    pub fault: Fault,
    pub begun: Instant,
    /// When its cause was mended: a process that was killed, when another was started.
    pub healed: Instant,
    /// When all nodes had answered what needs all nodes.
    pub resumed: Instant,
}
